//! Looks into a file that may hold a text known already, plain or packed.
//!
//! Reads by position only, so that nobody else who holds the file is disturbed, and never more than it is asked for.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use super::claim::{Claim, is_only_member};
use super::stamp::Stamp;
use crate::input::hole::{read_full_at, trailing_nuls};
use crate::input::magic::{self, Packing};
use crate::input::packed::Unpack;
use crate::source::{HEAD, TAIL};

/// Bytes unpacked in one go.
const BLOCK: usize = 64 << 10;
/// The text of a packed file, from its start.
pub(super) type Unpacked = Unpack<BufReader<FromStart>>;

/// A file, from its start, whatever others do with its position.
#[derive(Debug)]
pub(super) struct FromStart {
    file: Arc<File>,
    at: u64,
}

impl Read for FromStart {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(out, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Unpacks `file` from its start.
pub(super) fn unpack(file: &Arc<File>, packing: Packing) -> Unpacked {
    Unpack::new(BufReader::with_capacity(BLOCK, FromStart { file: Arc::clone(file), at: 0 }), packing)
}

/// A file that is looked into.
#[derive(Debug)]
pub(super) struct Probe {
    file: Arc<File>,
    /// Its first bytes, unpacked.
    head: Vec<u8>,
    packing: Option<Packing>,
    /// The length of its text, where that is known.
    len: Option<u64>,
    /// What a packed file says of that.
    claim: Option<Claim>,
    /// Why its head could not be unpacked.
    trouble: Option<String>,
    /// Its text behind that many bytes: whoever reads on there need not unpack them again.
    ahead: Option<(u64, Unpacked)>,
}

impl Probe {
    /// Looks at the first bytes of `file`.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub(super) fn new(file: &Arc<File>) -> io::Result<Self> {
        let file = Arc::clone(file);
        let len = file.metadata()?.len();
        let head = head_of(&file)?;
        let packing = magic::packing(&head).ok().flatten();
        let mut probe = Self { file, head, packing, len: Some(len), claim: None, trouble: None, ahead: None };
        if let Some(packing) = packing {
            probe.look_inside(packing, len);
        }
        Ok(probe)
    }

    fn look_inside(&mut self, packing: Packing, len: u64) {
        let mut head = vec![0; HEAD];
        let mut filled = 0;
        let mut text = unpack(&self.file, packing);
        let mut ended = false;
        while filled < HEAD && !ended && self.trouble.is_none() {
            match text.read(&mut head[filled..]) {
                Ok(0) => ended = true,
                Ok(read) => filled += read,
                Err(error) => self.trouble = Some(error.to_string()),
            }
        }
        head.truncate(filled);
        self.claim = Claim::of(&self.file, packing, len);
        self.head = head;
        self.len = ended.then_some(filled as u64);
    }

    /// The first bytes of its text, at most [`HEAD`].
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Whether it is packed.
    pub(super) fn packed(&self) -> bool {
        self.packing.is_some()
    }

    /// Why not even its first bytes could be unpacked.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// The file.
    pub(super) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Its text, if it is packed, with the bytes of it that were passed over: `offset`, or all there are.
    pub(super) fn unpacked_from(&mut self, offset: u64) -> Option<(u64, Unpacked)> {
        let packing = self.packing?;
        if let Some(ahead) = self.ahead.take_if(|(at, _)| *at == offset) {
            return Some(ahead);
        }
        let mut text = unpack(&self.file, packing);
        let (at, _) = pass(&mut text, offset);
        Some((at, text))
    }

    /// The length of its text, where that is known.
    pub(super) fn known_len(&self) -> Option<u64> {
        self.len
    }

    /// The length of its text, or what a packed file says of it; 0 where it says nothing.
    pub(super) fn likely_len(&self) -> u64 {
        self.len.or(self.claim.map(Claim::least)).unwrap_or(0)
    }

    /// The length of its text, unpacked for that where nothing else says it; `None` of a packed file that is not whole.
    pub(super) fn full_len(&mut self) -> Option<u64> {
        let Some(packing) = self.packing.filter(|_| self.len.is_none()) else { return self.len };
        let mut text = unpack(&self.file, packing);
        let (len, _) = pass(&mut text, u64::MAX);
        self.len = text.damage().is_none().then_some(len);
        self.len
    }

    /// Whether it is packed and says that its text has just this length.
    pub(super) fn claims(&mut self, len: u64) -> bool {
        if self.trouble.is_some() || !self.claim.is_some_and(|claim| claim.allows(len)) {
            return false;
        }
        // Members may all have one length, so the last one says nothing of how many there are.
        if matches!(self.claim, Some(Claim::Low(_))) && !is_only_member(&self.file) {
            self.claim = None;
        }
        self.claim.is_some()
    }

    /// The `count` bytes before `offset`; `None` where the text ends before that.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn before(&mut self, offset: u64, count: usize) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; count.min(usize::try_from(offset).unwrap_or(count))];
        let Some(packing) = self.packing else {
            let at = offset - bytes.len() as u64;
            let read = read_full_at(&self.file, &mut bytes, at)?;
            return Ok((read == bytes.len()).then_some(bytes));
        };
        let mut text = unpack(&self.file, packing);
        let (passed, last) = pass(&mut text, offset);
        if passed < offset {
            self.len = Some(passed);
            return Ok(None);
        }
        self.ahead = Some((offset, text));
        Ok(Some(last[last.len().saturating_sub(bytes.len())..].to_vec()))
    }

    /// Whether a packed file is whole: nobody is still writing it, as far as can be told.
    pub(super) fn is_whole(&self) -> bool {
        let Some(packing) = self.packing.filter(|_| !self.has_settled()) else { return true };
        let mut text = unpack(&self.file, packing);
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
    pub(super) fn has_settled(&self) -> bool {
        self.file.metadata().is_ok_and(|found| !Stamp::of(&found).is_young())
    }
}

/// Reads past the first `count` bytes of a text, or all there are; gives their number and the last of them.
pub(super) fn pass(text: &mut impl Read, count: u64) -> (u64, Vec<u8>) {
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
pub(super) fn open(path: &Path) -> io::Result<(Arc<File>, Stamp)> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a file; only files are followed"));
    }
    Ok((Arc::new(file), Stamp::of(&metadata)))
}
