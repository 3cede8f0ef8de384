//! Unpacks gzip (RFC 1952), member after member, and says exactly what is wrong with a file that is not whole.
//!
//! Whatever could be unpacked before the damage is handed on first. It does not look for a further member behind
//! damaged data, and takes nothing from a header but where it ends.

use std::io::{self, BufRead, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

/// The bits of the header's flags (section 2.3.1): what comes behind the fixed part, and what must be 0.
const FHCRC: u8 = 1 << 1;
const FEXTRA: u8 = 1 << 2;
const FNAME: u8 = 1 << 3;
const FCOMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// The text of a gzip file.
#[derive(Debug)]
pub(super) struct Gunzip<R> {
    source: R,
    inflate: Decompress,
    state: State,
    /// Of the present member.
    crc: Crc,
    members: u64,
    text_bytes: u64,
    damage: Option<String>,
    note: Option<String>,
}

#[derive(Debug)]
enum State {
    /// Before a header, or the end.
    Between,
    /// Within a member.
    Within,
    /// No more text; why, if not because the file ends.
    Over(Option<io::Error>),
}

impl<R: BufRead> Gunzip<R> {
    /// The text of `source`, which starts with a gzip header.
    pub(super) fn new(source: R) -> Self {
        Self {
            source,
            inflate: Decompress::new(false),
            state: State::Between,
            crc: Crc::new(),
            members: 0,
            text_bytes: 0,
            damage: None,
            note: None,
        }
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
        let next = self.source.fill_buf()?.first().copied();
        if self.members > 0 && next == Some(0) {
            let zeros = pass_zeros(&mut self.source)?;
            self.note = Some(format!("{zeros} zero bytes follow the gzip stream"));
        }
        if self.source.fill_buf()?.is_empty() {
            return Ok(State::Over(None));
        }
        if self.note.is_some() || !pass_header(&mut self.source)? {
            let what = if self.members == 0 { "gzip header is damaged" } else { "what follows the gzip stream is no gzip data" };
            return Err(invalid(what.to_owned()));
        }
        self.members += 1;
        self.inflate.reset(false);
        self.crc.reset();
        Ok(State::Within)
    }

    /// Unpacks some of a member into `out`; gives the bytes and what is next. There may be bytes before an error.
    fn inflate(&mut self, out: &mut [u8]) -> (usize, io::Result<State>) {
        let packed = match self.source.fill_buf() {
            Ok(packed) => packed,
            Err(error) => return (0, Err(error)),
        };
        let at_end = packed.is_empty();
        let (taken, given) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(packed, out, FlushDecompress::None);
        let taken = (self.inflate.total_in() - taken) as usize;
        let given = (self.inflate.total_out() - given) as usize;
        self.source.consume(taken);
        self.crc.update(&out[..given]);
        self.text_bytes += given as u64;
        let next = match status {
            Ok(Status::StreamEnd) => self.check(),
            Ok(_) if at_end && given == 0 => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(State::Within),
            Err(_) => Err(invalid(format!("gzip data is corrupt behind {} bytes of text", self.text_bytes))),
        };
        (given, next)
    }

    /// Compares the trailer: the CRC and the length of the text (section 2.3.1). A mismatch ends nothing.
    fn check(&mut self) -> io::Result<State> {
        let mut trailer = [0; 8];
        self.source.read_exact(&mut trailer)?;
        let expected = u64::from(self.crc.sum()) | u64::from(self.crc.amount()) << 32;
        if u64::from_le_bytes(trailer) != expected {
            let what = || format!("gzip checksum mismatch in member {}: its text may not be what was packed", self.members);
            self.damage.get_or_insert_with(what);
        }
        Ok(State::Between)
    }

    /// Names the error that a source gives when it ends too soon.
    fn name(&self, error: io::Error) -> io::Error {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            let what = format!("gzip stream ends early, after {} bytes of text", self.text_bytes);
            return io::Error::new(io::ErrorKind::UnexpectedEof, what);
        }
        error
    }
}

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let (given, next) = match &mut self.state {
                State::Between => (0, self.begin()),
                State::Within => self.inflate(out),
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

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Passes over a member's header; `false` if it is none.
fn pass_header(source: &mut impl BufRead) -> io::Result<bool> {
    let mut fixed = [0; 10];
    if source.fill_buf()?.first() != Some(&0x1f) {
        return Ok(false);
    }
    source.read_exact(&mut fixed)?;
    let flags = fixed[3];
    if !fixed.starts_with(b"\x1f\x8b\x08") || flags & RESERVED != 0 {
        return Ok(false);
    }
    if flags & FEXTRA != 0 {
        let mut len = [0; 2];
        source.read_exact(&mut len)?;
        pass(source, u64::from(u16::from_le_bytes(len)))?;
    }
    for name in [FNAME, FCOMMENT] {
        if flags & name != 0 && source.skip_until(0)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    if flags & FHCRC != 0 {
        pass(source, 2)?;
    }
    Ok(true)
}

/// Passes over `len` bytes that must be there.
fn pass(source: &mut impl BufRead, len: u64) -> io::Result<()> {
    let passed = io::copy(&mut source.take(len), &mut io::sink())?;
    if passed < len { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

/// Passes over zeros; gives their number.
fn pass_zeros(source: &mut impl BufRead) -> io::Result<u64> {
    let mut passed = 0;
    loop {
        let bytes = source.fill_buf()?;
        let zeros = super::hole::leading_nuls(bytes);
        let more = zeros > 0 && zeros == bytes.len();
        source.consume(zeros);
        passed += zeros as u64;
        if !more {
            return Ok(passed);
        }
    }
}
