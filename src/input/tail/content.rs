//! What is known of the text of one generation: its first bytes, the bytes before the offset, and some marks between.
//!
//! By these a text is known again wherever a rotation took it: under another name, in another inode, packed. Names and
//! times prove nothing here, and a text is never held.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::file_stat::FileId;
use super::inspected_file::InspectedFile;
use crate::source::{Checkpoint, Fingerprint, HEAD, TAIL};

/// Marks that are kept; when there are more, every second one goes.
const MAX_HISTORY: usize = 128;

/// What a file is to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentMatch {
    /// Another text.
    Different,
    /// A copy that ends before the offset: it holds nothing new.
    Prefix,
    /// The same text, at least up to the offset.
    Same,
}

/// Some bytes of a text, or what is left of them in a state: their print.
#[derive(Debug, Clone, Default)]
struct ByteSample {
    print: Fingerprint,
    bytes: Vec<u8>,
}

impl ByteSample {
    fn new(bytes: &[u8]) -> Self {
        Self { print: Fingerprint::new(bytes), bytes: bytes.to_vec() }
    }

    fn len(&self) -> usize {
        self.print.bytes as usize
    }
}

/// How far a text was read, and by what it is known again.
#[derive(Debug, Clone)]
pub(super) struct ContentFingerprint {
    /// Names the generation.
    pub(super) generation: u64,
    /// Bytes that are done, up to just behind a newline.
    pub(super) offset: u64,
    /// Lines before `offset`.
    pub(super) lines: u64,
    head: ByteSample,
    tail: ByteSample,
    /// Former offsets and the bytes before them, in order: by these a copy is known that was made before all was read.
    history: Vec<(u64, Fingerprint)>,
}

impl ContentFingerprint {
    /// A text that begins with `head`, and of which `before` stands before `offset`.
    pub(super) fn new(generation: u64, head: &[u8], offset: u64, lines: u64, before: &[u8]) -> Self {
        Self { generation, offset, lines, head: ByteSample::new(head), tail: ByteSample::new(before), history: Vec::new() }
    }

    /// The text of a checkpoint.
    pub(super) fn from_checkpoint(checkpoint: &Checkpoint) -> Self {
        let Checkpoint { generation, offset, lines, head, tail, .. } = *checkpoint;
        let sample = |print| ByteSample { print, bytes: Vec::new() };
        Self { generation, offset, lines, head: sample(head), tail: sample(tail), history: Vec::new() }
    }

    /// The checkpoint of this text, which lies there.
    pub(super) fn checkpoint_at(&self, path: &Path, (device, inode): FileId) -> Checkpoint {
        let Self { generation, offset, lines, .. } = *self;
        let path = path.as_os_str().as_bytes().to_vec();
        Checkpoint { generation, path, device, inode, offset, lines, head: self.head.print, tail: self.tail.print }
    }

    /// The print of its first bytes, as far as they are known.
    pub(super) fn head(&self) -> Fingerprint {
        self.head.print
    }

    /// Bytes to read before the offset for [`holds`](Self::holds).
    pub(super) fn tail_len(&self) -> usize {
        self.tail.len()
    }

    /// Whether a file with this beginning, and with `before` before the offset, is still this text.
    pub(super) fn holds(&self, head: &[u8], before: &[u8]) -> bool {
        self.matches_head(head) && Fingerprint::new(before) == self.tail.print
    }

    /// Whether it is known by these first bytes and no others.
    pub(super) fn has_head(&self, head: &[u8]) -> bool {
        self.head.print == Fingerprint::new(head)
    }

    /// Whether its first bytes are these, as far as they are known and not only their print.
    pub(super) fn head_starts_with(&self, bytes: &[u8]) -> bool {
        !bytes.is_empty() && self.head.bytes.starts_with(bytes)
    }

    fn matches_head(&self, head: &[u8]) -> bool {
        head.get(..self.head.len()).is_some_and(|head| Fingerprint::new(head) == self.head.print)
    }

    /// Learns more of the beginning, which was just found to hold.
    pub(super) fn extend_head(&mut self, head: &[u8], before: &[u8]) {
        if head.len() > self.head.bytes.len() {
            self.head = ByteSample::new(head);
        }
        if self.tail.bytes.is_empty() {
            self.tail.bytes = before.to_vec();
        }
    }

    /// Goes on behind `bytes`, which end a line.
    pub(super) fn advance(&mut self, bytes: &[u8], lines: u64) {
        self.offset += bytes.len() as u64;
        self.lines += lines;
        let kept = TAIL.saturating_sub(bytes.len()).min(self.tail.bytes.len());
        let mut tail = self.tail.bytes[self.tail.bytes.len() - kept..].to_vec();
        tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL)..]);
        self.set_tail(&tail);
    }

    /// Goes on at `offset`, before which `before` stands.
    pub(super) fn skip_to(&mut self, offset: u64, lines: u64, before: &[u8]) {
        self.offset = offset;
        self.lines += lines;
        self.set_tail(before);
    }

    fn set_tail(&mut self, tail: &[u8]) {
        self.tail = ByteSample::new(tail);
        if self.history.len() == MAX_HISTORY {
            let mut odd = false;
            self.history.retain(|_| {
                odd = !odd;
                odd
            });
        }
        self.history.push((self.offset, self.tail.print));
    }

    /// What a file is to this text.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn compare(&self, file: &mut InspectedFile) -> io::Result<ContentMatch> {
        if !self.matches_head(file.head()) {
            let known = self.head.bytes.get(..file.head().len());
            let within = file.head().len() < self.head.len() && file.head().contains(&b'\n') && known == Some(file.head());
            return Ok(if within { ContentMatch::Prefix } else { ContentMatch::Different });
        }
        // Less than a line is how other texts begin, too.
        let is_weak = self.head.len() < HEAD && !file.head()[..self.head.len()].contains(&b'\n');
        if is_weak {
            let same = file.known_len() == Some(self.head.len() as u64);
            return Ok(if same { ContentMatch::Same } else { ContentMatch::Different });
        }
        if self.offset == 0 {
            return Ok(ContentMatch::Same);
        }
        if self.tail.len() == 0 {
            // A packed sibling that was there before the first look: nothing of it is wanted.
            return Ok(ContentMatch::Prefix);
        }
        if self.head.len() == HEAD && file.claims_length(self.offset) {
            return Ok(ContentMatch::Same);
        }
        if let Some(before) = file.before(self.offset, self.tail.len())? {
            return Ok(if Fingerprint::new(&before) == self.tail.print { ContentMatch::Same } else { ContentMatch::Different });
        }
        self.compare_truncated(file)
    }

    /// Whether a file that ends before the offset ends in this text's bytes, as far as anybody knows.
    fn compare_truncated(&self, file: &mut InspectedFile) -> io::Result<ContentMatch> {
        let len = file.known_len().unwrap_or(self.offset);
        let at = self.history.partition_point(|(offset, _)| *offset <= len);
        let Some((offset, print)) = at.checked_sub(1).and_then(|last| self.history.get(last)) else {
            return Ok(ContentMatch::Prefix);
        };
        let same = file.before(*offset, print.bytes as usize)?.is_some_and(|before| Fingerprint::new(&before) == *print);
        Ok(if same { ContentMatch::Prefix } else { ContentMatch::Different })
    }
}
