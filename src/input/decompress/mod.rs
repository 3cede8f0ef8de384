//! Unpacks gzip, zstd, bzip2 and xz, member after member, and says exactly what is wrong with a file that is not whole.
//!
//! Whatever could be unpacked before the damage is handed on first. It does not look for a further member behind
//! damaged data, takes nothing from a header but what is needed to read on, and holds no more than [`MAX_WINDOW`] of a
//! text, however far back its packer looked.

mod bzip2;
#[cfg(test)]
pub(super) mod fixture;
mod gzip;
mod step;
#[cfg(test)]
mod tests;
mod xz;
mod zstd;

use std::fmt;
use std::io::{self, BufRead, Read};

use self::bzip2::Bzip2Decoder;
use self::gzip::GzipDecoder;
use self::step::{DecodeError, DecodeProgress, DecodeStep, StreamStart};
use self::xz::XzDecoder;
use self::zstd::ZstdDecoder;
use super::magic::Compression;

/// Bytes of a text that are held at most so that what repeats them can be unpacked: what `zstd --long` and `xz -9` ask
/// for, and twice that.
const MAX_WINDOW: u64 = 128 << 20;

/// The text of a packed file.
#[derive(Debug)]
pub(super) struct Decompressor<R> {
    source: R,
    compression: Compression,
    codec: Codec,
    state: DecompressorState,
    /// Something of this packing stood at the start.
    seen_stream: bool,
    members: u64,
    /// Zeros since the last member.
    zeros: u64,
    text_bytes: u64,
    damage: Option<String>,
    note: Option<String>,
}

#[derive(Debug)]
enum DecompressorState {
    /// Before a member, or the end.
    Between,
    /// Within a member.
    Within,
    /// No more text; why, if not because the file ends.
    Over(Option<io::Error>),
}

enum Codec {
    Gzip(GzipDecoder),
    Zstd(ZstdDecoder),
    Bzip2(Bzip2Decoder),
    Xz(XzDecoder),
}

impl<R: BufRead> Decompressor<R> {
    /// The text of `source`, which starts as `compression` says.
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

    /// Damage that did not end the text, in a sentence.
    pub(super) fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// What is worth knowing though nothing is wrong, in a sentence.
    pub(super) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The packed bytes, wherever they stand.
    pub(super) fn source(&self) -> &R {
        &self.source
    }

    /// Goes on to the next member, if there is one. Behind the last one zeros are padding, as on tapes.
    fn begin(&mut self) -> io::Result<DecompressorState> {
        if self.seen_stream {
            self.zeros += skip_zeros(&mut self.source)?;
        }
        let name = self.compression.name();
        // Between xz streams there may be zeros by fours, and that is nothing to speak of (section 2.2).
        let is_usual = self.compression == Compression::Xz && self.zeros.is_multiple_of(4);
        if self.source.fill_buf()?.is_empty() {
            self.note = (self.zeros > 0 && !is_usual).then(|| format!("{} zero bytes follow the {name} stream", self.zeros));
            return Ok(DecompressorState::Over(None));
        }
        let may_begin = self.zeros == 0 || is_usual;
        let seen_stream = if may_begin { self.codec.begin(&mut self.source)? } else { StreamStart::None };
        self.zeros = 0;
        match seen_stream {
            StreamStart::None if self.seen_stream => Err(invalid(format!("what follows the {name} stream is no {name} data"))),
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

    /// Unpacks some of a member into `out`; gives the bytes and what is next. There may be bytes before an error.
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

    /// Compares what stands behind a member. A mismatch ends nothing.
    fn check(&mut self) -> io::Result<DecompressorState> {
        let is_right = self.codec.check(&mut self.source)?;
        if !is_right && self.damage.is_none() {
            let (name, unit) = (self.compression.name(), self.compression.unit());
            self.damage = Some(format!("{name} checksum mismatch in {unit} {}: its text may not be what was packed", self.members));
        }
        Ok(DecompressorState::Between)
    }

    fn describe(&self, fault: DecodeError) -> io::Error {
        let (name, bytes) = (self.compression.name(), self.text_bytes);
        invalid(match fault {
            DecodeError::Corrupt => format!("{name} data is corrupt behind {bytes} bytes of text"),
            DecodeError::CorruptOrOther => {
                format!(
                    "{name} data is corrupt or fails its checksum, behind {bytes} bytes of text: the last of them may not be what was packed"
                )
            }
            DecodeError::Refused(what) => what,
        })
    }

    /// Names the error that a source gives when it ends too soon.
    fn name(&self, error: io::Error) -> io::Error {
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
                Err(error) => self.state = DecompressorState::Over(Some(self.name(error))),
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

    /// Whether what was unpacked is what was packed, as far as is told behind it. bzip2 and xz see to that themselves.
    fn check(&mut self, source: &mut impl BufRead) -> io::Result<bool> {
        match self {
            Self::Gzip(gzip) => gzip.check(source),
            Self::Zstd(zstd) => zstd.check(source),
            Self::Bzip2(_) | Self::Xz(_) => Ok(true),
        }
    }
}

/// What a library holds of a text is nothing to show.
impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Codec")
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Passes over zeros; gives their number.
fn skip_zeros(source: &mut impl BufRead) -> io::Result<u64> {
    let mut passed = 0;
    loop {
        let bytes = match source.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let zeros = super::sparse::leading_nuls(bytes);
        let more = zeros > 0 && zeros == bytes.len();
        source.consume(zeros);
        passed += zeros as u64;
        if !more {
            return Ok(passed);
        }
    }
}
