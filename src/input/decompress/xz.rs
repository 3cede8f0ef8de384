//! One stream of an xz file (The .xz File Format 1.2.1, <https://tukaani.org/xz/xz-file-format.txt>).
//!
//! A stream that needs a larger dictionary than allowed is refused.

use std::io::{self, BufRead};

use liblzma::stream::{Action, Error, Status, Stream};

use super::{DecodeError, DecodeProgress, DecodeStep, MAX_WINDOW, StreamStart, skip_magic};

/// The header's magic bytes (section 2.1.1.1).
const MAGIC: &[u8] = b"\xfd7zXZ\0";
/// Memory that the library needs in addition to a dictionary, rounded up: its tables take less than 100 KiB.
const OVERHEAD: u64 = 1 << 20;

/// Decodes xz streams.
pub(super) struct XzDecoder {
    /// `None` before the first stream.
    stream: Option<Stream>,
}

impl XzDecoder {
    pub(super) fn new() -> Self {
        Self { stream: None }
    }

    /// Reads the magic bytes.
    pub(super) fn begin(&mut self, source: &mut impl BufRead) -> io::Result<StreamStart> {
        if !skip_magic(source, MAGIC)? {
            return Ok(StreamStart::None);
        }
        self.stream = Some(Stream::new_stream_decoder(MAX_WINDOW + OVERHEAD, 0)?);
        let step = self.step(MAGIC, &mut []);
        Ok(if step.progress.is_ok() { StreamStart::Stream } else { StreamStart::None })
    }

    /// Decompresses some data. A checksum mismatch of a block may show only after its text.
    pub(super) fn step(&mut self, compressed: &[u8], out: &mut [u8]) -> DecodeStep {
        let Some(stream) = &mut self.stream else { return DecodeStep { consumed: 0, produced: 0, progress: Err(DecodeError::Corrupt) } };
        let (consumed, produced) = (stream.total_in(), stream.total_out());
        let status = stream.process(compressed, out, Action::Run);
        let consumed = (stream.total_in() - consumed) as usize;
        let produced = (stream.total_out() - produced) as usize;
        let progress = match status {
            Ok(Status::StreamEnd) => Ok(DecodeProgress::End),
            Ok(_) => Ok(DecodeProgress::More),
            Err(error) => Err(decode_error(error)),
        };
        DecodeStep { consumed, produced, progress }
    }
}

fn decode_error(error: Error) -> DecodeError {
    match error {
        Error::Data => DecodeError::CorruptOrOther,
        Error::MemLimit => DecodeError::Refused(format!(
            "needs an xz dictionary of more than {} MiB, which is the limit; decompress it and pass the text: xz -dc FILE | \
             probewatch scan -",
            MAX_WINDOW >> 20
        )),
        Error::Options | Error::UnsupportedCheck => DecodeError::Refused(
            "is compressed with an xz filter that is not supported; decompress it and pass the text: xz -dc FILE | probewatch scan -"
                .to_owned(),
        ),
        Error::Mem => DecodeError::Refused("not enough memory to decompress xz data".to_owned()),
        Error::Format | Error::Program | Error::NoCheck => DecodeError::Corrupt,
    }
}
