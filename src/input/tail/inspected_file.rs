//! Looks into a file that may hold a text known already, plain or packed.
//!
//! Reads by position only, so that nobody else who holds the file is disturbed, and never more than it is asked for.

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

/// Bytes unpacked in one go.
const BLOCK: usize = 64 << 10;
/// The text of a packed file, from its start.
pub(super) type DecompressedFile = Decompressor<BufReader<PositionedReader>>;

/// A file, from its start, whatever others do with its position.
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

/// Unpacks `file` from its start.
pub(super) fn open_decompressed(file: &Arc<File>, compression: Compression) -> DecompressedFile {
    Decompressor::new(BufReader::with_capacity(BLOCK, PositionedReader { file: Arc::clone(file), at: 0 }), compression)
}

/// A file that is looked into.
#[derive(Debug)]
pub(super) struct InspectedFile {
    file: Arc<File>,
    /// Its first bytes, unpacked.
    head: Vec<u8>,
    compression: Option<Compression>,
    /// The length of its text, where that is known.
    len: Option<u64>,
    /// What a packed file says of that.
    claimed: Option<ClaimedLength>,
    /// Why its head could not be unpacked.
    head_error: Option<String>,
    /// Its text behind that many bytes: whoever reads on there need not unpack them again.
    ahead: Option<(u64, DecompressedFile)>,
}

impl InspectedFile {
    /// Looks at the first bytes of `file`.
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

    /// Whether it is packed.
    pub(super) fn compressed(&self) -> bool {
        self.compression.is_some()
    }

    /// Why not even its first bytes could be unpacked.
    pub(super) fn head_error(&self) -> Option<&str> {
        self.head_error.as_deref()
    }

    /// The file.
    pub(super) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Its text, if it is packed, with the bytes of it that were passed over: `offset`, or all there are.
    pub(super) fn decompressed_from(&mut self, offset: u64) -> Option<(u64, DecompressedFile)> {
        let compression = self.compression?;
        if let Some(ahead) = self.ahead.take_if(|(at, _)| *at == offset) {
            return Some(ahead);
        }
        let mut text = open_decompressed(&self.file, compression);
        let (at, _) = skip(&mut text, offset);
        Some((at, text))
    }

    /// The length of its text, where that is known.
    pub(super) fn known_len(&self) -> Option<u64> {
        self.len
    }

    /// The length of its text, or what a packed file says of it; 0 where it says nothing.
    pub(super) fn likely_len(&self) -> u64 {
        self.len.or(self.claimed.map(ClaimedLength::least)).unwrap_or(0)
    }

    /// The length of its text, unpacked for that where nothing else says it; `None` of a packed file that is not whole.
    pub(super) fn full_len(&mut self) -> Option<u64> {
        let Some(compression) = self.compression.filter(|_| self.len.is_none()) else { return self.len };
        let mut text = open_decompressed(&self.file, compression);
        let (len, _) = skip(&mut text, u64::MAX);
        self.len = text.damage().is_none().then_some(len);
        self.len
    }

    /// Whether it is packed and says that its text has just this length.
    pub(super) fn claims_length(&mut self, len: u64) -> bool {
        if self.head_error.is_some() || !self.claimed.is_some_and(|claim| claim.allows(len)) {
            return false;
        }
        // Members may all have one length, so the last one says nothing of how many there are.
        if matches!(self.claimed, Some(ClaimedLength::LastMember(_))) && !is_only_member(&self.file) {
            self.claimed = None;
        }
        self.claimed.is_some()
    }

    /// The `count` bytes before `offset`; `None` where the text ends before that.
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
        let (passed, last) = skip(&mut text, offset);
        if passed < offset {
            self.len = Some(passed);
            return Ok(None);
        }
        self.ahead = Some((offset, text));
        Ok(Some(last[last.len().saturating_sub(bytes.len())..].to_vec()))
    }

    /// Whether a packed file is whole: nobody is still writing it, as far as can be told.
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

    /// By the time of its last change, which no tool sets back.
    pub(super) fn is_stable(&self) -> bool {
        self.file.metadata().is_ok_and(|found| !FileStat::from_metadata(&found).is_recent())
    }
}

/// Reads past the first `count` bytes of a text, or all there are; gives their number and the last of them.
pub(super) fn skip(text: &mut impl Read, count: u64) -> (u64, Vec<u8>) {
    let mut block = vec![0; BLOCK];
    let mut last = Vec::new();
    let mut passed = 0;
    while passed < count {
        let want = block.len().min(usize::try_from(count - passed).unwrap_or(usize::MAX));
        match text.read(&mut block[..want]) {
            Ok(read @ 1..) => {
                passed += read as u64;
                last.extend_from_slice(&block[..read]);
                last.drain(..last.len().saturating_sub(TAIL));
            }
            _ => break,
        }
    }
    (passed, last)
}

/// The first bytes of a plain file, less the NULs behind its text where it is allocated ahead.
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

/// Opens a regular file, without waiting for anything and without taking a terminal.
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
