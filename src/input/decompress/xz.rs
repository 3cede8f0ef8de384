//! One stream of an xz file (The .xz File Format 1.2.1, <https://tukaani.org/xz/xz-file-format.txt>).
//!
//! A stream that asks for a larger dictionary than may be held is refused by name.

use std::io::{self, BufRead};

use liblzma::stream::{Action, Error, Status, Stream};

use super::MOST_HELD;
use super::step::{Begun, Fault, Flow, Step, pass_magic};

/// The header's magic bytes (section 2.1.1.1).
const MAGIC: &[u8] = b"\xfd7zXZ\0";
/// What the library needs beside a dictionary, and more: its tables take less than 100 KiB.
const BESIDE: u64 = 1 << 20;

/// Unpacks streams.
pub(super) struct Xz {
    /// `None` before the first.
    stream: Option<Stream>,
}

impl Xz {
    pub(super) fn new() -> Self {
        Self { stream: None }
    }

    /// Reads the magic bytes.
    pub(super) fn begin(&mut self, source: &mut impl BufRead) -> io::Result<Begun> {
        if !pass_magic(source, MAGIC)? {
            return Ok(Begun::Nothing);
        }
        self.stream = Some(Stream::new_stream_decoder(MOST_HELD + BESIDE, 0)?);
        let step = self.step(MAGIC, &mut []);
        Ok(if step.flow.is_ok() { Begun::Member } else { Begun::Nothing })
    }

    /// Unpacks some of the data. What is wrong with a block may show only behind its text, by its checksum.
    pub(super) fn step(&mut self, packed: &[u8], out: &mut [u8]) -> Step {
        let Some(stream) = &mut self.stream else { return Step { taken: 0, given: 0, flow: Err(Fault::Corrupt) } };
        let (taken, given) = (stream.total_in(), stream.total_out());
        let status = stream.process(packed, out, Action::Run);
        let taken = (stream.total_in() - taken) as usize;
        let given = (stream.total_out() - given) as usize;
        let flow = match status {
            Ok(Status::StreamEnd) => Ok(Flow::End),
            Ok(_) => Ok(Flow::More),
            Err(error) => Err(fault(error)),
        };
        Step { taken, given, flow }
    }
}

fn fault(error: Error) -> Fault {
    match error {
        Error::Data => Fault::CorruptOrOther,
        Error::MemLimit => Fault::Refused(format!(
            "needs an xz dictionary of more than {} MiB, which is the most that is held; unpack it and give the text: xz -dc FILE | \
             probewatch scan -",
            MOST_HELD >> 20
        )),
        Error::Options | Error::UnsupportedCheck => Fault::Refused(
            "is packed with an xz filter that cannot be read; unpack it and give the text: xz -dc FILE | probewatch scan -".to_owned(),
        ),
        Error::Mem => Fault::Refused("there is no memory to unpack xz data".to_owned()),
        Error::Format | Error::Program | Error::NoCheck => Fault::Corrupt,
    }
}
