//! The decoders of gzip, bzip2 and xz, which libraries do almost alone; zstd has a file of its own.
//!
//! - One member of a gzip file (RFC 1952): the contents of the header are ignored.
//! - One stream of a bzip2 file (the format has no specification but its library: <https://sourceware.org/bzip2/>): the library decompresses a block of up to 900,000 bytes once it is complete, so a truncated block is lost.
//! - One stream of an xz file (The .xz File Format 1.2.1, <https://tukaani.org/xz/xz-file-format.txt>): a stream that needs a larger dictionary than allowed is refused.

use std::io::{self, BufRead};

use flate2::{Crc, FlushDecompress};
use liblzma::stream::{Action, Stream};

use super::{DecodeError, DecodeProgress, DecodeStep, MAX_WINDOW, StreamStart, next_byte, skip, skip_magic};

/// Header flags (section 2.3.1): the optional fields, and the bits that must be 0.
const FHCRC: u8 = 1 << 1;
const FEXTRA: u8 = 1 << 2;
const FNAME: u8 = 1 << 3;
const FCOMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// Decodes gzip members.
pub(super) struct GzipDecoder {
    inflate: flate2::Decompress,
    crc: Crc,
}

impl GzipDecoder {
    pub(super) fn new() -> Self {
        Self { inflate: flate2::Decompress::new(false), crc: Crc::new() }
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
            Ok(flate2::Status::StreamEnd) => Ok(DecodeProgress::End),
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

/// Decodes bzip2 streams.
pub(super) struct Bzip2Decoder {
    decompress: bzip2::Decompress,
}

impl Bzip2Decoder {
    pub(super) fn new() -> Self {
        Self { decompress: bzip2::Decompress::new(false) }
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
        self.decompress = bzip2::Decompress::new(false);
        let step = self.step(&[b'B', b'Z', b'h', size], &mut []);
        Ok(if step.progress.is_ok() { StreamStart::Stream } else { StreamStart::None })
    }

    /// Decompresses some data. A checksum mismatch of a block may show only after its text.
    pub(super) fn step(&mut self, compressed: &[u8], out: &mut [u8]) -> DecodeStep {
        let (consumed, produced) = (self.decompress.total_in(), self.decompress.total_out());
        let status = self.decompress.decompress(compressed, out);
        let progress = match status {
            Ok(bzip2::Status::StreamEnd) => Ok(DecodeProgress::End),
            Ok(bzip2::Status::MemNeeded) => Err(DecodeError::Refused("not enough memory to decompress bzip2 data".to_owned())),
            Ok(_) => Ok(DecodeProgress::More),
            Err(bzip2::Error::Data) => Err(DecodeError::CorruptOrOther),
            Err(_) => Err(DecodeError::Corrupt),
        };
        let consumed = (self.decompress.total_in() - consumed) as usize;
        DecodeStep { consumed, produced: (self.decompress.total_out() - produced) as usize, progress }
    }
}

/// The header's magic bytes (section 2.1.1.1).
const XZ_MAGIC: &[u8] = b"\xfd7zXZ\0";
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
        if !skip_magic(source, XZ_MAGIC)? {
            return Ok(StreamStart::None);
        }
        self.stream = Some(Stream::new_stream_decoder(MAX_WINDOW + OVERHEAD, 0)?);
        let step = self.step(XZ_MAGIC, &mut []);
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
            Ok(liblzma::stream::Status::StreamEnd) => Ok(DecodeProgress::End),
            Ok(_) => Ok(DecodeProgress::More),
            Err(error) => Err(decode_error(error)),
        };
        DecodeStep { consumed, produced, progress }
    }
}

fn decode_error(error: liblzma::stream::Error) -> DecodeError {
    match error {
        liblzma::stream::Error::Data => DecodeError::CorruptOrOther,
        liblzma::stream::Error::MemLimit => DecodeError::Refused(format!(
            "needs an xz dictionary of more than {} MiB, which is the limit; decompress it and pass the text: xz -dc FILE | \
             probewatch scan -",
            MAX_WINDOW >> 20
        )),
        liblzma::stream::Error::Options | liblzma::stream::Error::UnsupportedCheck => DecodeError::Refused(
            "is compressed with an xz filter that is not supported; decompress it and pass the text: xz -dc FILE | probewatch scan -"
                .to_owned(),
        ),
        liblzma::stream::Error::Mem => DecodeError::Refused("not enough memory to decompress xz data".to_owned()),
        liblzma::stream::Error::Format | liblzma::stream::Error::Program | liblzma::stream::Error::NoCheck => DecodeError::Corrupt,
    }
}
