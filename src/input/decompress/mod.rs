//! Unpacks gzip, zstd, bzip2 and xz, member after member, and says exactly what is wrong with a file that is not whole.
//!
//! Whatever could be unpacked before the damage is handed on first. It does not look for a further member behind
//! damaged data, takes nothing from a header but what is needed to read on, and holds no more than [`MOST_HELD`] of a
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

use self::bzip2::Bzip2;
use self::gzip::Gzip;
use self::step::{Begun, Fault, Flow, Step};
use self::xz::Xz;
use self::zstd::Zstd;
use super::magic::Packing;

/// Bytes of a text that are held at most so that what repeats them can be unpacked: what `zstd --long` and `xz -9` ask
/// for, and twice that.
const MOST_HELD: u64 = 128 << 20;

/// The text of a packed file.
#[derive(Debug)]
pub(super) struct Unpack<R> {
    source: R,
    packing: Packing,
    codec: Codec,
    state: State,
    /// Something of this packing stood at the start.
    begun: bool,
    members: u64,
    /// Zeros since the last member.
    zeros: u64,
    text_bytes: u64,
    damage: Option<String>,
    note: Option<String>,
}

#[derive(Debug)]
enum State {
    /// Before a member, or the end.
    Between,
    /// Within a member.
    Within,
    /// No more text; why, if not because the file ends.
    Over(Option<io::Error>),
}

enum Codec {
    Gzip(Gzip),
    Zstd(Zstd),
    Bzip2(Bzip2),
    Xz(Xz),
}

impl<R: BufRead> Unpack<R> {
    /// The text of `source`, which starts as `packing` says.
    pub(super) fn new(source: R, packing: Packing) -> Self {
        let codec = match packing {
            Packing::Gzip => Codec::Gzip(Gzip::new()),
            Packing::Zstd => Codec::Zstd(Zstd::new()),
            Packing::Bzip2 => Codec::Bzip2(Bzip2::new()),
            Packing::Xz => Codec::Xz(Xz::new()),
        };
        let state = State::Between;
        Self { source, packing, codec, state, begun: false, members: 0, zeros: 0, text_bytes: 0, damage: None, note: None }
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
    fn begin(&mut self) -> io::Result<State> {
        if self.begun {
            self.zeros += pass_zeros(&mut self.source)?;
        }
        let name = self.packing.name();
        // Between xz streams there may be zeros by fours, and that is nothing to speak of (section 2.2).
        let is_usual = self.packing == Packing::Xz && self.zeros.is_multiple_of(4);
        if self.source.fill_buf()?.is_empty() {
            self.note = (self.zeros > 0 && !is_usual).then(|| format!("{} zero bytes follow the {name} stream", self.zeros));
            return Ok(State::Over(None));
        }
        let may_begin = self.zeros == 0 || is_usual;
        let begun = if may_begin { self.codec.begin(&mut self.source)? } else { Begun::Nothing };
        self.zeros = 0;
        match begun {
            Begun::Nothing if self.begun => Err(invalid(format!("what follows the {name} stream is no {name} data"))),
            Begun::Nothing => Err(invalid(format!("{name} header is damaged"))),
            Begun::Passed => {
                self.begun = true;
                Ok(State::Between)
            }
            Begun::Member => {
                self.begun = true;
                self.members += 1;
                Ok(State::Within)
            }
        }
    }

    /// Unpacks some of a member into `out`; gives the bytes and what is next. There may be bytes before an error.
    fn step(&mut self, out: &mut [u8]) -> (usize, io::Result<State>) {
        let packed = match self.source.fill_buf() {
            Ok(packed) => packed,
            Err(error) => return (0, Err(error)),
        };
        let at_end = packed.is_empty();
        let Step { taken, given, flow } = self.codec.step(packed, out);
        self.source.consume(taken);
        self.text_bytes += given as u64;
        let next = match flow {
            Ok(Flow::End) => self.check(),
            Ok(Flow::More) if at_end && given == 0 => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(Flow::More) => Ok(State::Within),
            Err(fault) => Err(self.describe(fault)),
        };
        (given, next)
    }

    /// Compares what stands behind a member. A mismatch ends nothing.
    fn check(&mut self) -> io::Result<State> {
        let is_right = self.codec.check(&mut self.source)?;
        if !is_right && self.damage.is_none() {
            let (name, unit) = (self.packing.name(), self.packing.unit());
            self.damage = Some(format!("{name} checksum mismatch in {unit} {}: its text may not be what was packed", self.members));
        }
        Ok(State::Between)
    }

    fn describe(&self, fault: Fault) -> io::Error {
        let (name, bytes) = (self.packing.name(), self.text_bytes);
        invalid(match fault {
            Fault::Corrupt => format!("{name} data is corrupt behind {bytes} bytes of text"),
            Fault::CorruptOrOther => {
                format!(
                    "{name} data is corrupt or fails its checksum, behind {bytes} bytes of text: the last of them may not be what was packed"
                )
            }
            Fault::Refused(what) => what,
        })
    }

    /// Names the error that a source gives when it ends too soon.
    fn name(&self, error: io::Error) -> io::Error {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            let what = format!("{} stream ends early, after {} bytes of text", self.packing.name(), self.text_bytes);
            return io::Error::new(io::ErrorKind::UnexpectedEof, what);
        }
        error
    }
}

impl<R: BufRead> Read for Unpack<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            let (given, next) = match &mut self.state {
                State::Between => (0, self.begin()),
                State::Within => self.step(out),
                State::Over(why) => return why.take().map_or(Ok(0), Err),
            };
            match next {
                Ok(state) => self.state = state,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.state = State::Over(Some(self.name(error))),
            }
            if given > 0 {
                return Ok(given);
            }
        }
    }
}

impl Codec {
    fn begin(&mut self, source: &mut impl BufRead) -> io::Result<Begun> {
        match self {
            Self::Gzip(gzip) => gzip.begin(source),
            Self::Zstd(zstd) => zstd.begin(source),
            Self::Bzip2(bzip2) => bzip2.begin(source),
            Self::Xz(xz) => xz.begin(source),
        }
    }

    fn step(&mut self, packed: &[u8], out: &mut [u8]) -> Step {
        match self {
            Self::Gzip(gzip) => gzip.step(packed, out),
            Self::Zstd(zstd) => zstd.step(packed, out),
            Self::Bzip2(bzip2) => bzip2.step(packed, out),
            Self::Xz(xz) => xz.step(packed, out),
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
fn pass_zeros(source: &mut impl BufRead) -> io::Result<u64> {
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
