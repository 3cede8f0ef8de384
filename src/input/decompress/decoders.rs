//! The decoders of single members, streams and frames. Libraries do almost all of it.
//!
//! - One member of a gzip file (RFC 1952): the contents of the header are ignored.
//! - One stream of a bzip2 file (the format has no specification but its library:
//!   <https://sourceware.org/bzip2/>): the library decompresses a block of up to 900,000 bytes once
//!   it is complete, so a truncated block is lost.
//! - One stream of an xz file (The .xz File Format 1.2.1,
//!   <https://tukaani.org/xz/xz-file-format.txt>): a stream that needs a larger dictionary than
//!   allowed is refused.
//! - One frame of a zstd file (RFC 8878): the header is parsed here, so that a window that is too
//!   large is refused before it is allocated. The library gets one block at a time, because the
//!   text of a failed call is lost. Dictionaries are not supported.

use std::io::{self, BufRead};

use flate2::{Crc, FlushDecompress};
use liblzma::stream::{Action, Stream};
use xxhash_rust::xxh64::Xxh64;
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

use super::{
    DecodeError, DecodeProgress, DecodeStep, MAX_WINDOW, StreamStart, next_byte, skip, skip_magic,
};

/// Header flags of gzip (section 2.3.1): the optional fields, and the bits that must be 0.
const FHCRC: u8 = 1 << 1;
const FEXTRA: u8 = 1 << 2;
const FNAME: u8 = 1 << 3;
const FCOMMENT: u8 = 1 << 4;
const GZIP_RESERVED: u8 = 0b1110_0000;

/// The magic bytes of an xz header (section 2.1.1.1).
const XZ_MAGIC: &[u8] = b"\xfd7zXZ\0";
/// Memory that the xz library needs in addition to a dictionary, rounded up: its tables take less
/// than 100 KiB.
const XZ_OVERHEAD: u64 = 1 << 20;

/// Magic number of a zstd frame (section 3.1.1).
const ZSTD_MAGIC: [u8; 4] = *b"\x28\xb5\x2f\xfd";
/// Magic number of a skippable frame without its first byte, which is 0x50 to 0x5f (section 3.1.2).
const SKIPPABLE_FRAME_MAGIC: [u8; 3] = *b"\x2a\x4d\x18";
/// Bits of the frame header descriptor (section 3.1.1.1.1).
const SINGLE_SEGMENT: u8 = 1 << 5;
const ZSTD_RESERVED: u8 = 1 << 3;
const CHECKSUM: u8 = 1 << 2;
/// Size of a block header, and the type of a block that repeats one byte (section 3.1.1.2).
const BLOCK_HEADER: usize = 3;
const RLE_BLOCK: u32 = 1;

/// Decodes gzip members.
pub(super) struct GzipDecoder {
    inflate: flate2::Decompress,
    crc: Crc,
}

impl GzipDecoder {
    pub(super) fn new() -> Self {
        Self {
            inflate: flate2::Decompress::new(false),
            crc: Crc::new(),
        }
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
        let status = self
            .inflate
            .decompress(compressed, out, FlushDecompress::None);
        let consumed = (self.inflate.total_in() - consumed) as usize;
        let produced = (self.inflate.total_out() - produced) as usize;
        self.crc.update(&out[..produced]);
        let progress = match status {
            Ok(flate2::Status::StreamEnd) => Ok(DecodeProgress::End),
            Ok(_) => Ok(DecodeProgress::More),
            Err(_) => Err(DecodeError::Corrupt),
        };
        DecodeStep {
            consumed,
            produced,
            progress,
        }
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
    if flags & GZIP_RESERVED != 0 {
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
        Self {
            decompress: bzip2::Decompress::new(false),
        }
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
        Ok(StreamStart::after_header(
            &self.step(&[b'B', b'Z', b'h', size], &mut []),
        ))
    }

    /// Decompresses some data. A checksum mismatch of a block may show only after its text.
    pub(super) fn step(&mut self, compressed: &[u8], out: &mut [u8]) -> DecodeStep {
        let (consumed, produced) = (self.decompress.total_in(), self.decompress.total_out());
        let status = self.decompress.decompress(compressed, out);
        let progress = match status {
            Ok(bzip2::Status::StreamEnd) => Ok(DecodeProgress::End),
            Ok(bzip2::Status::MemNeeded) => Err(DecodeError::Refused(
                "not enough memory to decompress bzip2 data".to_owned(),
            )),
            Ok(_) => Ok(DecodeProgress::More),
            Err(bzip2::Error::Data) => Err(DecodeError::CorruptOrOther),
            Err(_) => Err(DecodeError::Corrupt),
        };
        let consumed = (self.decompress.total_in() - consumed) as usize;
        DecodeStep {
            consumed,
            produced: (self.decompress.total_out() - produced) as usize,
            progress,
        }
    }
}

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
        self.stream = Some(Stream::new_stream_decoder(MAX_WINDOW + XZ_OVERHEAD, 0)?);
        Ok(StreamStart::after_header(&self.step(XZ_MAGIC, &mut [])))
    }

    /// Decompresses some data. A checksum mismatch of a block may show only after its text.
    pub(super) fn step(&mut self, compressed: &[u8], out: &mut [u8]) -> DecodeStep {
        let Some(stream) = &mut self.stream else {
            return DecodeStep {
                consumed: 0,
                produced: 0,
                progress: Err(DecodeError::Corrupt),
            };
        };
        let (consumed, produced) = (stream.total_in(), stream.total_out());
        let status = stream.process(compressed, out, Action::Run);
        let consumed = (stream.total_in() - consumed) as usize;
        let produced = (stream.total_out() - produced) as usize;
        let progress = match status {
            Ok(liblzma::stream::Status::StreamEnd) => Ok(DecodeProgress::End),
            Ok(_) => Ok(DecodeProgress::More),
            Err(error) => Err(decode_error(error)),
        };
        DecodeStep {
            consumed,
            produced,
            progress,
        }
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

/// Decodes zstd frames.
pub(super) struct ZstdDecoder {
    library: DCtx<'static>,
    /// Hash of the current frame's text, if the frame has a checksum.
    hash: Option<Xxh64>,
    /// The bytes read so far of the next block header.
    header: Vec<u8>,
    /// Remaining bytes of the current block.
    left: usize,
    /// The library may still hold text of earlier input.
    full: bool,
}

impl ZstdDecoder {
    pub(super) fn new() -> Self {
        let mut library = DCtx::create();
        // `check_limits` refuses such a frame first; this is a second safeguard.
        let _ = library.set_parameter(DParameter::WindowLogMax(MAX_WINDOW.ilog2()));
        Self {
            library,
            hash: None,
            header: Vec::with_capacity(BLOCK_HEADER),
            left: 0,
            full: false,
        }
    }

    /// Reads a frame header, or skips a skippable frame.
    pub(super) fn begin(&mut self, source: &mut impl BufRead) -> io::Result<StreamStart> {
        let Some(first) = next_byte(source)? else {
            return Ok(StreamStart::None);
        };
        if matches!(first, 0x50..=0x5f) {
            return skip_skippable_frame(source);
        }
        if first != ZSTD_MAGIC[0] || !skip_magic(source, &ZSTD_MAGIC[1..])? {
            return Ok(StreamStart::None);
        }
        let mut descriptor = [0];
        source.read_exact(&mut descriptor)?;
        let [descriptor] = descriptor;
        if descriptor & ZSTD_RESERVED != 0 {
            return Ok(StreamStart::None);
        }
        let mut rest = [0; 13];
        let rest = &mut rest[..rest_len(descriptor)];
        source.read_exact(rest)?;
        check_limits(descriptor, rest)?;
        self.hash = (descriptor & CHECKSUM != 0).then(|| Xxh64::new(0));
        self.header.clear();
        (self.left, self.full) = (0, false);
        // With the checksum flag, the library would fail on a mismatch. It is verified in `check`
        // instead.
        let header = [&ZSTD_MAGIC[..], &[descriptor & !CHECKSUM], rest].concat();
        Ok(StreamStart::after_header(&self.feed(&header, &mut [])))
    }

    /// Decompresses part of a block, or reads the next block header.
    pub(super) fn step(&mut self, compressed: &[u8], out: &mut [u8]) -> DecodeStep {
        let wanted = match self.left {
            _ if self.full => 0,
            0 => BLOCK_HEADER - self.header.len(),
            left => left,
        };
        let compressed = &compressed[..wanted.min(compressed.len())];
        let step = self.feed(compressed, out);
        if self.left > 0 {
            self.left -= step.consumed;
        } else {
            self.header.extend_from_slice(&compressed[..step.consumed]);
            self.left = self.block_len();
        }
        self.full = step.produced == out.len();
        if let Some(hash) = &mut self.hash {
            hash.update(&out[..step.produced]);
        }
        step
    }

    /// Compares the lowest four bytes of the text's hash (section 3.1.1).
    pub(super) fn check(&self, source: &mut impl BufRead) -> io::Result<bool> {
        let Some(hash) = &self.hash else {
            return Ok(true);
        };
        let mut checksum = [0; 4];
        source.read_exact(&mut checksum)?;
        Ok(u32::from_le_bytes(checksum) == hash.digest() as u32)
    }

    /// The length of a block, once its header is complete.
    fn block_len(&mut self) -> usize {
        let [low, middle, high] = self.header[..] else {
            return 0;
        };
        self.header.clear();
        let header = u32::from_le_bytes([low, middle, high, 0]);
        if header >> 1 & 0b11 == RLE_BLOCK {
            1
        } else {
            (header >> 3) as usize
        }
    }

    fn feed(&mut self, compressed: &[u8], out: &mut [u8]) -> DecodeStep {
        let mut source = InBuffer::around(compressed);
        let mut target = OutBuffer::around(out);
        let progress = match self.library.decompress_stream(&mut target, &mut source) {
            Ok(0) => Ok(DecodeProgress::End),
            Ok(_) => Ok(DecodeProgress::More),
            Err(_) => Err(DecodeError::Corrupt),
        };
        DecodeStep {
            consumed: source.pos(),
            produced: target.pos(),
            progress,
        }
    }
}

fn skip_skippable_frame(source: &mut impl BufRead) -> io::Result<StreamStart> {
    if !skip_magic(source, &SKIPPABLE_FRAME_MAGIC)? {
        return Ok(StreamStart::None);
    }
    let mut len = [0; 4];
    source.read_exact(&mut len)?;
    skip(source, u64::from(u32::from_le_bytes(len)))?;
    Ok(StreamStart::Skipped)
}

/// Length of a frame header after its descriptor: window, dictionary ID and content size (section
/// 3.1.1.1).
fn rest_len(descriptor: u8) -> usize {
    let is_single = descriptor & SINGLE_SEGMENT != 0;
    usize::from(!is_single) + dictionary_len(descriptor) + size_len(descriptor)
}

fn dictionary_len(descriptor: u8) -> usize {
    [0, 1, 2, 4][usize::from(descriptor & 0b11)]
}

fn size_len(descriptor: u8) -> usize {
    match descriptor >> 6 {
        0 => usize::from(descriptor & SINGLE_SEGMENT != 0),
        flag => 1 << flag,
    }
}

/// Refuses a frame that needs more memory than allowed, or a dictionary.
fn check_limits(descriptor: u8, rest: &[u8]) -> io::Result<()> {
    let (before, size) = rest.split_at(rest.len() - size_len(descriptor));
    let (window, dictionary) = before.split_at(before.len() - dictionary_len(descriptor));
    let window = match window {
        // Without a window descriptor, the window is the whole text. A two-byte size starts at 256,
        // which does not matter here.
        [] => little_endian(size),
        window => window_len(window[0]),
    };
    if window > MAX_WINDOW {
        let (needed, most) = (window.div_ceil(1 << 20), MAX_WINDOW >> 20);
        return Err(super::invalid(format!(
            "needs a zstd window of {needed} MiB, and {most} MiB is the limit; decompress it and pass the text: \
             zstd -dc --long=31 FILE | probewatch scan -"
        )));
    }
    match little_endian(dictionary) {
        0 => Ok(()),
        id => Err(super::invalid(format!(
            "is compressed with zstd and dictionary {id}, which is not available; decompress it and pass the text: \
             zstd -dc -D DICTIONARY FILE | probewatch scan -"
        ))),
    }
}

/// The window size of a frame in bytes (section 3.1.1.1.2).
fn window_len(descriptor: u8) -> u64 {
    let base = 1 << (10 + (descriptor >> 3));
    base + base / 8 * u64::from(descriptor & 0b111)
}

/// A little-endian number of up to eight bytes.
fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}
