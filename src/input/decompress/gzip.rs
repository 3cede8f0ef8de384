//! One member of a gzip file (RFC 1952).
//!
//! Ignores the contents of the header.

use std::io::{self, BufRead};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::{DecodeError, DecodeProgress, DecodeStep, StreamStart, skip, skip_magic};

/// Header flags (section 2.3.1): the optional fields, and the bits that must be 0.
const FHCRC: u8 = 1 << 1;
const FEXTRA: u8 = 1 << 2;
const FNAME: u8 = 1 << 3;
const FCOMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// Decodes gzip members.
pub(super) struct GzipDecoder {
    inflate: Decompress,
    crc: Crc,
}

impl GzipDecoder {
    pub(super) fn new() -> Self {
        Self { inflate: Decompress::new(false), crc: Crc::new() }
    }

    /// Reads a header.
    pub(super) fn begin(&mut self, source: &mut impl BufRead) -> io::Result<StreamStart> {
        if !skip_header(source)? {
            return Ok(StreamStart::None);
        }
        self.inflate.reset(false);
        self.crc.reset();
        Ok(StreamStart::Stream)
    }

    /// Decompresses some data.
    pub(super) fn step(&mut self, compressed: &[u8], out: &mut [u8]) -> DecodeStep {
        let (consumed, produced) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(compressed, out, FlushDecompress::None);
        let consumed = (self.inflate.total_in() - consumed) as usize;
        let produced = (self.inflate.total_out() - produced) as usize;
        self.crc.update(&out[..produced]);
        let progress = match status {
            Ok(Status::StreamEnd) => Ok(DecodeProgress::End),
            Ok(_) => Ok(DecodeProgress::More),
            Err(_) => Err(DecodeError::Corrupt),
        };
        DecodeStep { consumed, produced, progress }
    }

    /// Compares the trailer: the CRC and the length of the text (section 2.3.1).
    pub(super) fn check(&self, source: &mut impl BufRead) -> io::Result<bool> {
        let mut trailer = [0; 8];
        source.read_exact(&mut trailer)?;
        let expected = u64::from(self.crc.sum()) | u64::from(self.crc.amount()) << 32;
        Ok(u64::from_le_bytes(trailer) == expected)
    }
}

/// Skips the header of a member; `false` if it is not one.
fn skip_header(source: &mut impl BufRead) -> io::Result<bool> {
    if !skip_magic(source, b"\x1f\x8b\x08")? {
        return Ok(false);
    }
    let mut fixed = [0; 7];
    source.read_exact(&mut fixed)?;
    let flags = fixed[0];
    if flags & RESERVED != 0 {
        return Ok(false);
    }
    if flags & FEXTRA != 0 {
        let mut len = [0; 2];
        source.read_exact(&mut len)?;
        skip(source, u64::from(u16::from_le_bytes(len)))?;
    }
    for name in [FNAME, FCOMMENT] {
        if flags & name != 0 && source.skip_until(0)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    if flags & FHCRC != 0 {
        skip(source, 2)?;
    }
    Ok(true)
}
