//! One stream of a bzip2 file (the format has no specification but its library: <https://sourceware.org/bzip2/>).
//!
//! The library decompresses a block of up to 900,000 bytes once it is complete, so a truncated block is lost.

use std::io::{self, BufRead};

use bzip2::{Decompress, Error, Status};

use super::{DecodeError, DecodeProgress, DecodeStep, StreamStart, next_byte, skip_magic};

/// Decodes bzip2 streams.
pub(super) struct Bzip2Decoder {
    decompress: Decompress,
}

impl Bzip2Decoder {
    pub(super) fn new() -> Self {
        Self { decompress: Decompress::new(false) }
    }

    /// Reads the first four bytes: `BZh` and the size of a block in 100,000 bytes.
    pub(super) fn begin(&mut self, source: &mut impl BufRead) -> io::Result<StreamStart> {
        if !skip_magic(source, b"BZh")? {
            return Ok(StreamStart::None);
        }
        let size = match next_byte(source)? {
            Some(size @ b'1'..=b'9') => size,
            Some(_) => return Ok(StreamStart::None),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        };
        self.decompress = Decompress::new(false);
        let step = self.step(&[b'B', b'Z', b'h', size], &mut []);
        Ok(if step.progress.is_ok() { StreamStart::Stream } else { StreamStart::None })
    }

    /// Decompresses some data. A checksum mismatch of a block may show only after its text.
    pub(super) fn step(&mut self, compressed: &[u8], out: &mut [u8]) -> DecodeStep {
        let (consumed, produced) = (self.decompress.total_in(), self.decompress.total_out());
        let status = self.decompress.decompress(compressed, out);
        let progress = match status {
            Ok(Status::StreamEnd) => Ok(DecodeProgress::End),
            Ok(Status::MemNeeded) => Err(DecodeError::Refused("not enough memory to decompress bzip2 data".to_owned())),
            Ok(_) => Ok(DecodeProgress::More),
            Err(Error::Data) => Err(DecodeError::CorruptOrOther),
            Err(_) => Err(DecodeError::Corrupt),
        };
        let consumed = (self.decompress.total_in() - consumed) as usize;
        DecodeStep { consumed, produced: (self.decompress.total_out() - produced) as usize, progress }
    }
}
