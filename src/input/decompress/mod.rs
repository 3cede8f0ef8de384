//! Decompresses gzip, zstd, bzip2 and xz files, including concatenated members, and describes damage exactly.
//!
//! Text before the damage is returned first. The rest of a damaged file is not searched for further members. At most
//! [`MAX_WINDOW`] bytes of a text are kept in memory, whatever window the file requests.

mod decoders;
mod zstd;

#[cfg(test)]
pub(super) mod fixture;

use std::io::{BufRead, Read};
use std::{fmt, io};

use self::decoders::{Bzip2Decoder, GzipDecoder, XzDecoder};
use self::zstd::ZstdDecoder;
use super::magic::Compression;

/// Maximum window in bytes: what `zstd --long` and `xz -9` need, and twice that.
const MAX_WINDOW: u64 = 128 << 20;

/// Reads the text of a compressed file.
#[derive(Debug)]
pub(super) struct Decompressor<R> {
    source: R,
    compression: Compression,
    codec: Codec,
    state: DecompressorState,
    /// The input started with valid data of this compression.
    seen_stream: bool,
    members: u64,
    /// Zero bytes since the last member.
    zeros: u64,
    text_bytes: u64,
    damage: Option<String>,
    note: Option<String>,
}

#[derive(Debug)]
enum DecompressorState {
    /// Before a member or the end.
    Between,
    /// Within a member.
    Within,
    /// At the end of the text; the error, if the file did not end there.
    Over(Option<io::Error>),
}

enum Codec {
    Gzip(GzipDecoder),
    Zstd(ZstdDecoder),
    Bzip2(Bzip2Decoder),
    Xz(XzDecoder),
}

impl<R: BufRead> Decompressor<R> {
    /// Decompresses `source`, which starts with the magic bytes of `compression`.
    pub(super) fn new(source: R, compression: Compression) -> Self {
        let codec = match compression {
            Compression::Gzip => Codec::Gzip(GzipDecoder::new()),
            Compression::Zstd => Codec::Zstd(ZstdDecoder::new()),
            Compression::Bzip2 => Codec::Bzip2(Bzip2Decoder::new()),
            Compression::Xz => Codec::Xz(XzDecoder::new()),
        };
        let state = DecompressorState::Between;
        Self { source, compression, codec, state, seen_stream: false, members: 0, zeros: 0, text_bytes: 0, damage: None, note: None }
    }

    /// Damage that did not end the text, as a sentence.
    pub(super) fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Something worth knowing that is not an error, as a sentence.
    pub(super) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The compressed source, at its current position.
    pub(super) fn source(&self) -> &R {
        &self.source
    }

    /// Starts the next member, if there is one. Zeros after the last member are padding, as on tapes.
    fn begin(&mut self) -> io::Result<DecompressorState> {
        if self.seen_stream {
            self.zeros += skip_zeros(&mut self.source)?;
        }
        let name = self.compression.name();
        // Stream padding of xz comes in multiples of four bytes and needs no note (section 2.2).
        let is_usual = self.compression == Compression::Xz && self.zeros.is_multiple_of(4);
        if self.source.fill_buf()?.is_empty() {
            self.note = (self.zeros > 0 && !is_usual).then(|| format!("{} zero bytes follow the {name} stream", self.zeros));
            return Ok(DecompressorState::Over(None));
        }
        let may_begin = self.zeros == 0 || is_usual;
        let seen_stream = if may_begin { self.codec.begin(&mut self.source)? } else { StreamStart::None };
        self.zeros = 0;
        match seen_stream {
            StreamStart::None if self.seen_stream => Err(invalid(format!("data after the {name} stream is not {name} data"))),
            StreamStart::None => Err(invalid(format!("{name} header is damaged"))),
            StreamStart::Skipped => {
                self.seen_stream = true;
                Ok(DecompressorState::Between)
            }
            StreamStart::Stream => {
                self.seen_stream = true;
                self.members += 1;
                Ok(DecompressorState::Within)
            }
        }
    }

    /// Decompresses part of a member into `out`; returns the number of bytes and the next state. Bytes may precede an
    /// error.
    fn step(&mut self, out: &mut [u8]) -> (usize, io::Result<DecompressorState>) {
        let compressed = match self.source.fill_buf() {
            Ok(compressed) => compressed,
            Err(error) => return (0, Err(error)),
        };
        let at_end = compressed.is_empty();
        let DecodeStep { consumed, produced, progress } = self.codec.step(compressed, out);
        self.source.consume(consumed);
        self.text_bytes += produced as u64;
        let next = match progress {
            Ok(DecodeProgress::End) => self.check(),
            Ok(DecodeProgress::More) if at_end && produced == 0 => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(DecodeProgress::More) => Ok(DecompressorState::Within),
            Err(fault) => Err(self.describe(fault)),
        };
        (produced, next)
    }

    /// Verifies the checksum after a member. A mismatch does not end the text.
    fn check(&mut self) -> io::Result<DecompressorState> {
        let is_right = self.codec.check(&mut self.source)?;
        if !is_right && self.damage.is_none() {
            let (name, unit) = (self.compression.name(), self.compression.unit());
            self.damage = Some(format!("{name} checksum mismatch in {unit} {}: its text may be wrong", self.members));
        }
        Ok(DecompressorState::Between)
    }

    fn describe(&self, fault: DecodeError) -> io::Error {
        let (name, bytes) = (self.compression.name(), self.text_bytes);
        invalid(match fault {
            DecodeError::Corrupt => format!("{name} data is corrupt after {bytes} bytes of text"),
            DecodeError::CorruptOrOther => {
                format!("{name} data is corrupt or fails its checksum, after {bytes} bytes of text: the last of them may be wrong")
            }
            DecodeError::Refused(what) => what,
        })
    }

    /// Describes an unexpected end of the source.
    fn describe_early_end(&self, error: io::Error) -> io::Error {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            let what = format!("{} stream ends early, after {} bytes of text", self.compression.name(), self.text_bytes);
            return io::Error::new(io::ErrorKind::UnexpectedEof, what);
        }
        error
    }
}

impl<R: BufRead> Read for Decompressor<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            let (produced, next) = match &mut self.state {
                DecompressorState::Between => (0, self.begin()),
                DecompressorState::Within => self.step(out),
                DecompressorState::Over(why) => return why.take().map_or(Ok(0), Err),
            };
            match next {
                Ok(state) => self.state = state,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.state = DecompressorState::Over(Some(self.describe_early_end(error))),
            }
            if produced > 0 {
                return Ok(produced);
            }
        }
    }
}

impl Codec {
    fn begin(&mut self, source: &mut impl BufRead) -> io::Result<StreamStart> {
        match self {
            Self::Gzip(gzip) => gzip.begin(source),
            Self::Zstd(zstd) => zstd.begin(source),
            Self::Bzip2(bzip2) => bzip2.begin(source),
            Self::Xz(xz) => xz.begin(source),
        }
    }

    fn step(&mut self, compressed: &[u8], out: &mut [u8]) -> DecodeStep {
        match self {
            Self::Gzip(gzip) => gzip.step(compressed, out),
            Self::Zstd(zstd) => zstd.step(compressed, out),
            Self::Bzip2(bzip2) => bzip2.step(compressed, out),
            Self::Xz(xz) => xz.step(compressed, out),
        }
    }

    /// Whether the text matches the checksum after it. The libraries for bzip2 and xz check that themselves.
    fn check(&mut self, source: &mut impl BufRead) -> io::Result<bool> {
        match self {
            Self::Gzip(gzip) => gzip.check(source),
            Self::Zstd(zstd) => zstd.check(source),
            Self::Bzip2(_) | Self::Xz(_) => Ok(true),
        }
    }
}

/// The state of the decoder libraries cannot be printed.
impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Codec")
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Skips zero bytes; returns their number.
fn skip_zeros(source: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let bytes = match source.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let zeros = super::sparse::leading_nuls(bytes);
        let more = zeros > 0 && zeros == bytes.len();
        source.consume(zeros);
        skipped += zeros as u64;
        if !more {
            return Ok(skipped);
        }
    }
}

/// What was found where a member may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamStart {
    /// A member; its header was read.
    Stream,
    /// Data without text, such as a skippable frame, which was skipped.
    Skipped,
    /// Nothing valid.
    None,
}

/// The result of one decoding step.
#[derive(Debug)]
struct DecodeStep {
    /// Compressed bytes consumed.
    consumed: usize,
    /// Bytes of text produced, including those before an error.
    produced: usize,
    progress: Result<DecodeProgress, DecodeError>,
}

/// Whether a member continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DecodeProgress {
    /// There is more, unless the file ends here.
    More,
    /// The member's text is complete.
    End,
}

/// Why a member cannot be decompressed further.
#[derive(Debug)]
enum DecodeError {
    /// Invalid data.
    Corrupt,
    /// Invalid data or a checksum mismatch: the library does not tell which.
    CorruptOrOther,
    /// The data needs more memory than allowed, or an unsupported feature; the message.
    Refused(String),
}

/// Reads the next byte; `None` at the end.
fn next_byte(source: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        match source.fill_buf() {
            Ok(bytes) => {
                let byte = bytes.first().copied();
                source.consume(usize::from(byte.is_some()));
                return Ok(byte);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Skips `magic`; `false` at the first byte that differs.
///
/// # Errors
///
/// The source fails, or ends within it.
fn skip_magic(source: &mut impl BufRead, magic: &[u8]) -> io::Result<bool> {
    for expected in magic {
        match next_byte(source)? {
            Some(byte) if byte == *expected => {}
            Some(_) => return Ok(false),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
    Ok(true)
}

/// Skips `len` bytes, which must exist.
fn skip(source: &mut impl BufRead, len: u64) -> io::Result<()> {
    let skipped = io::copy(&mut source.by_ref().take(len), &mut io::sink())?;
    if skipped < len { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
