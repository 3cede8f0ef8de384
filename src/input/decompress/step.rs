//! What the unpackers have in common: what a step of one comes to, and how a header is read byte by byte.
//!
//! Knows no format.

use std::io::{self, BufRead, Read};

/// What stands where a member may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamStart {
    /// A member; its header was read.
    Stream,
    /// Something without text, which was passed over.
    Skipped,
    /// Nothing that belongs here.
    None,
}

/// What a step came to.
#[derive(Debug)]
pub(super) struct DecodeStep {
    /// Packed bytes that are done.
    pub(super) consumed: usize,
    /// Bytes of text that were unpacked, also before a fault.
    pub(super) produced: usize,
    pub(super) progress: Result<DecodeProgress, DecodeError>,
}

/// How a member goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecodeProgress {
    /// There is more of it, unless the file ends here.
    More,
    /// Its text is all there.
    End,
}

/// Why a member cannot be unpacked further.
#[derive(Debug)]
pub(super) enum DecodeError {
    /// Its data make no sense.
    Corrupt,
    /// They make no sense, or do not give what was packed: the library does not say which.
    CorruptOrOther,
    /// They ask for more than there is; the sentence.
    Refused(String),
}

/// Reads the next byte; `None` at the end.
pub(super) fn next_byte(source: &mut impl BufRead) -> io::Result<Option<u8>> {
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

/// Reads over `magic`; `false` at the first byte that is another one.
///
/// # Errors
///
/// The source fails, or ends within it.
pub(super) fn skip_magic(source: &mut impl BufRead, magic: &[u8]) -> io::Result<bool> {
    for expected in magic {
        match next_byte(source)? {
            Some(byte) if byte == *expected => {}
            Some(_) => return Ok(false),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
    Ok(true)
}

/// Passes over `len` bytes that must be there.
pub(super) fn skip(source: &mut impl BufRead, len: u64) -> io::Result<()> {
    let passed = io::copy(&mut source.by_ref().take(len), &mut io::sink())?;
    if passed < len { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}
