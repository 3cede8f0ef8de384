//! One stream of a bzip2 file (the format has no specification but its library: <https://sourceware.org/bzip2/>).
//!
//! A block of up to 900,000 bytes is unpacked when all of it is there, so what is cut off within one is not to be had.

use std::io::{self, BufRead};

use bzip2::{Decompress, Error, Status};

use super::step::{Begun, Fault, Flow, Step, next_byte, pass_magic};

/// Unpacks streams.
pub(super) struct Bzip2 {
    decompress: Decompress,
}

impl Bzip2 {
    pub(super) fn new() -> Self {
        Self { decompress: Decompress::new(false) }
    }

    /// Reads the first four bytes: `BZh` and the size of a block in 100,000 bytes.
    pub(super) fn begin(&mut self, source: &mut impl BufRead) -> io::Result<Begun> {
        if !pass_magic(source, b"BZh")? {
            return Ok(Begun::Nothing);
        }
        let size = match next_byte(source)? {
            Some(size @ b'1'..=b'9') => size,
            Some(_) => return Ok(Begun::Nothing),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        };
        self.decompress = Decompress::new(false);
        let step = self.step(&[b'B', b'Z', b'h', size], &mut []);
        Ok(if step.flow.is_ok() { Begun::Member } else { Begun::Nothing })
    }

    /// Unpacks some of the data. What is wrong with a block may show only behind its text, by its checksum.
    pub(super) fn step(&mut self, packed: &[u8], out: &mut [u8]) -> Step {
        let (taken, given) = (self.decompress.total_in(), self.decompress.total_out());
        let status = self.decompress.decompress(packed, out);
        let flow = match status {
            Ok(Status::StreamEnd) => Ok(Flow::End),
            Ok(Status::MemNeeded) => Err(Fault::Refused("there is no memory to unpack bzip2 data".to_owned())),
            Ok(_) => Ok(Flow::More),
            Err(Error::Data) => Err(Fault::CorruptOrOther),
            Err(_) => Err(Fault::Corrupt),
        };
        let taken = (self.decompress.total_in() - taken) as usize;
        Step { taken, given: (self.decompress.total_out() - given) as usize, flow }
    }
}
