//! Inspects a file, compressed or not, to find out whether its content is known.
//!
//! Reads by position only, so that other readers of the same open file are not affected, and reads no more than
//! needed.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use super::claimed_length::{ClaimedLength, is_only_member};
use super::file_stat::FileStat;
use crate::input::decompress::Decompressor;
use crate::input::magic::{self, Compression};
use crate::input::sparse::{read_full_at, trailing_nuls};
use crate::source::{HEAD, TAIL};

/// Bytes decompressed at a time.
const BLOCK: usize = 64 << 10;
/// The text of a compressed file, from its start.
pub(super) type DecompressedFile = Decompressor<BufReader<PositionedReader>>;

/// Reads a file from its start, independent of the file's position.
#[derive(Debug)]
pub(super) struct PositionedReader {
    file: Arc<File>,
    at: u64,
}

impl Read for PositionedReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(out, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Decompresses `file` from its start.
pub(super) fn open_decompressed(file: &Arc<File>, compression: Compression) -> DecompressedFile {
    Decompressor::new(BufReader::with_capacity(BLOCK, PositionedReader { file: Arc::clone(file), at: 0 }), compression)
}

/// A file that is inspected.
#[derive(Debug)]
pub(super) struct InspectedFile {
    file: Arc<File>,
    /// The first bytes of its text.
    head: Vec<u8>,
    compression: Option<Compression>,
    /// The length of its text, if known.
    len: Option<u64>,
    /// The length that a compressed file claims.
    claimed: Option<ClaimedLength>,
    /// Why its head could not be decompressed.
    head_error: Option<String>,
    /// A decompressor and its position, so that a reader can continue there.
    ahead: Option<(u64, DecompressedFile)>,
}

impl InspectedFile {
    /// Reads the first bytes of `file`.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub(super) fn new(file: &Arc<File>) -> io::Result<Self> {
        let file = Arc::clone(file);
        let len = file.metadata()?.len();
        let head = head_of(&file)?;
        let compression = magic::detect(&head).ok().flatten();
        let mut inspected = Self { file, head, compression, len: Some(len), claimed: None, head_error: None, ahead: None };
        if let Some(compression) = compression {
            inspected.read_compressed_head(compression, len);
        }
        Ok(inspected)
    }

    fn read_compressed_head(&mut self, compression: Compression, len: u64) {
        let mut head = vec![0; HEAD];
        let mut filled = 0;
        let mut text = open_decompressed(&self.file, compression);
        let mut ended = false;
        while filled < HEAD && !ended && self.head_error.is_none() {
            match text.read(&mut head[filled..]) {
                Ok(0) => ended = true,
                Ok(read) => filled += read,
                Err(error) => self.head_error = Some(error.to_string()),
            }
        }
        head.truncate(filled);
        self.claimed = ClaimedLength::read(&self.file, compression, len);
        self.head = head;
        self.len = ended.then_some(filled as u64);
    }

    /// The first bytes of its text, at most [`HEAD`].
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Whether it is compressed.
    pub(super) fn compressed(&self) -> bool {
        self.compression.is_some()
    }

    /// Why its first bytes could not be decompressed.
    pub(super) fn head_error(&self) -> Option<&str> {
        self.head_error.as_deref()
    }

    /// The file.
    pub(super) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// For a compressed file, a decompressor that skipped `offset` bytes, or all if there are fewer, and the number
    /// skipped.
    pub(super) fn decompressed_from(&mut self, offset: u64) -> Option<(u64, DecompressedFile)> {
        let compression = self.compression?;
        if let Some(ahead) = self.ahead.take_if(|(at, _)| *at == offset) {
            return Some(ahead);
        }
        let mut text = open_decompressed(&self.file, compression);
        let (at, _) = skip(&mut text, offset);
        Some((at, text))
    }

    /// The text of a compressed file, from its start.
    pub(super) fn decompressed(&self) -> Option<DecompressedFile> {
        self.compression.map(|compression| open_decompressed(&self.file, compression))
    }

    /// The length of its text, if known.
    pub(super) fn known_len(&self) -> Option<u64> {
        self.len
    }

    /// The length of its text, or the claimed length of a compressed file; 0 if there is none.
    pub(super) fn likely_len(&self) -> u64 {
        self.len.or(self.claimed.map(ClaimedLength::least)).unwrap_or(0)
    }

    /// The length of its text, decompressed if necessary; `None` for a damaged compressed file.
    pub(super) fn full_len(&mut self) -> Option<u64> {
        let Some(compression) = self.compression.filter(|_| self.len.is_none()) else { return self.len };
        let mut text = open_decompressed(&self.file, compression);
        let (len, _) = skip(&mut text, u64::MAX);
        self.len = text.damage().is_none().then_some(len);
        self.len
    }

    /// Whether it is compressed and claims exactly this length.
    pub(super) fn claims_length(&mut self, len: u64) -> bool {
        if self.head_error.is_some() || !self.claimed.is_some_and(|claim| claim.allows(len)) {
            return false;
        }
        // All members may have the same length, so the last one does not give the total.
        if matches!(self.claimed, Some(ClaimedLength::LastMember(_))) && !is_only_member(&self.file) {
            self.claimed = None;
        }
        self.claimed.is_some()
    }

    /// The `count` bytes before `offset`; `None` if the text ends before that.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn before(&mut self, offset: u64, count: usize) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; count.min(usize::try_from(offset).unwrap_or(count))];
        let Some(compression) = self.compression else {
            let at = offset - bytes.len() as u64;
            let read = read_full_at(&self.file, &mut bytes, at)?;
            return Ok((read == bytes.len()).then_some(bytes));
        };
        let mut text = open_decompressed(&self.file, compression);
        let (skipped, last) = skip(&mut text, offset);
        if skipped < offset {
            self.len = Some(skipped);
            return Ok(None);
        }
        self.ahead = Some((offset, text));
        Ok(Some(last[last.len().saturating_sub(bytes.len())..].to_vec()))
    }

    /// Whether a compressed file is complete, as far as can be determined.
    pub(super) fn is_whole(&self) -> bool {
        let Some(compression) = self.compression.filter(|_| !self.is_stable()) else { return true };
        let mut text = open_decompressed(&self.file, compression);
        let mut block = vec![0; BLOCK];
        loop {
            match text.read(&mut block) {
                Ok(0) => return text.damage().is_none(),
                Ok(_) => {}
                Err(_) => return false,
            }
        }
    }

    /// Determined by the change time, which no tool sets back.
    pub(super) fn is_stable(&self) -> bool {
        self.file.metadata().is_ok_and(|found| !FileStat::from_metadata(&found).is_recent())
    }
}

/// Skips the first `count` bytes of a text, or all if there are fewer. Returns the number and the last bytes skipped.
pub(super) fn skip(text: &mut impl Read, count: u64) -> (u64, Vec<u8>) {
    let mut block = vec![0; BLOCK];
    let mut last = Vec::new();
    let mut skipped = 0;
    while skipped < count {
        let want = block.len().min(usize::try_from(count - skipped).unwrap_or(usize::MAX));
        match text.read(&mut block[..want]) {
            Ok(read @ 1..) => {
                skipped += read as u64;
                last.extend_from_slice(&block[..read]);
                last.drain(..last.len().saturating_sub(TAIL));
            }
            _ => break,
        }
    }
    (skipped, last)
}

/// The first bytes of a file as it is, without the NULs of preallocated space.
///
/// # Errors
///
/// It cannot be read.
pub(super) fn head_of(file: &File) -> io::Result<Vec<u8>> {
    let mut head = vec![0; HEAD];
    let read = read_full_at(file, &mut head, 0)?;
    head.truncate(read);
    let nuls = trailing_nuls(&head);
    if nuls < head.len() {
        head.truncate(head.len() - nuls);
    }
    Ok(head)
}

/// Opens a regular file without blocking, and without acquiring a controlling terminal.
///
/// # Errors
///
/// It cannot be opened, or is not a regular file.
pub(super) fn open(path: &Path) -> io::Result<(Arc<File>, FileStat)> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a file; only files are followed"));
    }
    Ok((Arc::new(file), FileStat::from_metadata(&metadata)))
}
