//! Types and functions shared by the decoders: the result of a step, and reading headers byte by byte.

use std::io::{self, BufRead, Read};

/// What was found where a member may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamStart {
    /// A member; its header was read.
    Stream,
    /// Data without text, such as a skippable frame, which was skipped.
    Skipped,
    /// Nothing valid.
    None,
}

/// The result of one decoding step.
#[derive(Debug)]
pub(super) struct DecodeStep {
    /// Compressed bytes consumed.
    pub(super) consumed: usize,
    /// Bytes of text produced, including those before an error.
    pub(super) produced: usize,
    pub(super) progress: Result<DecodeProgress, DecodeError>,
}

/// Whether a member continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecodeProgress {
    /// There is more, unless the file ends here.
    More,
    /// The member's text is complete.
    End,
}

/// Why a member cannot be decompressed further.
#[derive(Debug)]
pub(super) enum DecodeError {
    /// Invalid data.
    Corrupt,
    /// Invalid data or a checksum mismatch: the library does not tell which.
    CorruptOrOther,
    /// The data needs more memory than allowed, or an unsupported feature; the message.
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

/// Skips `magic`; `false` at the first byte that differs.
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

/// Skips `len` bytes, which must exist.
pub(super) fn skip(source: &mut impl BufRead, len: u64) -> io::Result<()> {
    let skipped = io::copy(&mut source.by_ref().take(len), &mut io::sink())?;
    if skipped < len { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}
