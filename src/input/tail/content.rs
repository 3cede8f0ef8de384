//! The fingerprint of a generation's content: its first bytes, the bytes before the offset, and samples in between.
//!
//! It identifies the content wherever a rotation moved it: under another name, in another inode, compressed. Names
//! and times are no proof. The content itself is not stored.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::file_stat::FileId;
use super::inspected_file::InspectedFile;
use crate::source::{Checkpoint, Fingerprint, HEAD, TAIL};

/// Maximum number of samples; when there are more, every second one is dropped.
const MAX_HISTORY: usize = 128;

/// How the content of a file relates to a known content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentMatch {
    /// Different content.
    Different,
    /// A copy that ends before the offset: it has nothing new.
    Prefix,
    /// The same content, at least up to the offset.
    Same,
}

/// Some bytes of the content, or only their fingerprint if they come from a checkpoint.
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

/// How far a content was read, and the samples that identify it.
#[derive(Debug, Clone)]
pub(super) struct ContentFingerprint {
    /// ID of the generation.
    pub(super) generation: u64,
    /// Bytes read, up to just after a newline.
    pub(super) offset: u64,
    /// Lines before `offset`.
    pub(super) lines: u64,
    head: ByteSample,
    tail: ByteSample,
    /// Earlier offsets and the bytes before them, in order. They identify a copy that was made before all was read.
    history: Vec<(u64, Fingerprint)>,
}

impl ContentFingerprint {
    /// Content that starts with `head` and has `before` in front of `offset`.
    pub(super) fn new(generation: u64, head: &[u8], offset: u64, lines: u64, before: &[u8]) -> Self {
        Self { generation, offset, lines, head: ByteSample::new(head), tail: ByteSample::new(before), history: Vec::new() }
    }

    /// The content of a checkpoint.
    pub(super) fn from_checkpoint(checkpoint: &Checkpoint) -> Self {
        let Checkpoint { generation, offset, lines, head, tail, .. } = *checkpoint;
        let sample = |print| ByteSample { print, bytes: Vec::new() };
        Self { generation, offset, lines, head: sample(head), tail: sample(tail), history: Vec::new() }
    }

    /// The checkpoint of this content, for a file at `path`.
    pub(super) fn checkpoint_at(&self, path: &Path, (device, inode): FileId) -> Checkpoint {
        let Self { generation, offset, lines, .. } = *self;
        let path = path.as_os_str().as_bytes().to_vec();
        Checkpoint { generation, path, device, inode, offset, lines, head: self.head.print, tail: self.tail.print }
    }

    /// The fingerprint of the known first bytes.
    pub(super) fn head(&self) -> Fingerprint {
        self.head.print
    }

    /// Whether the text before the offset is not wanted and was not read, so that the offset may be within a line.
    pub(super) fn is_only_recorded(&self) -> bool {
        self.offset > 0 && self.lines == 0
    }

    /// Number of bytes before the offset that [`holds`](Self::holds) needs.
    pub(super) fn tail_len(&self) -> usize {
        self.tail.len()
    }

    /// Whether a file with this head, and with `before` in front of the offset, still has this content.
    pub(super) fn holds(&self, head: &[u8], before: &[u8]) -> bool {
        self.matches_head(head) && Fingerprint::new(before) == self.tail.print
    }

    /// Whether `head` is exactly the known head.
    pub(super) fn has_head(&self, head: &[u8]) -> bool {
        self.head.print == Fingerprint::new(head)
    }

    /// Whether the known head starts with `bytes`. False if only its fingerprint is known.
    pub(super) fn head_starts_with(&self, bytes: &[u8]) -> bool {
        !bytes.is_empty() && self.head.bytes.starts_with(bytes)
    }

    fn matches_head(&self, head: &[u8]) -> bool {
        head.get(..self.head.len()).is_some_and(|head| Fingerprint::new(head) == self.head.print)
    }

    /// Extends the head, which was just verified.
    pub(super) fn extend_head(&mut self, head: &[u8], before: &[u8]) {
        if head.len() > self.head.bytes.len() {
            self.head = ByteSample::new(head);
        }
        if self.tail.bytes.is_empty() {
            self.tail.bytes = before.to_vec();
        }
    }

    /// Advances past `bytes`, which end a line.
    pub(super) fn advance(&mut self, bytes: &[u8], lines: u64) {
        self.offset += bytes.len() as u64;
        self.lines += lines;
        let kept = TAIL.saturating_sub(bytes.len()).min(self.tail.bytes.len());
        let mut tail = self.tail.bytes[self.tail.bytes.len() - kept..].to_vec();
        tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL)..]);
        self.set_tail(&tail);
    }

    /// Advances to `offset`, which `before` precedes.
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

    /// Compares a file with this content.
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
        // Less than a line can be the start of many logs.
        let is_weak = self.head.len() < HEAD && !file.head()[..self.head.len()].contains(&b'\n');
        if is_weak {
            let same = file.known_len() == Some(self.head.len() as u64);
            return Ok(if same { ContentMatch::Same } else { ContentMatch::Different });
        }
        if self.offset == 0 {
            return Ok(ContentMatch::Same);
        }
        if self.tail.len() == 0 {
            // A compressed sibling that existed at the first poll: nothing of it is wanted.
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

    /// Whether a file that ends before the offset is a copy of this content, according to the stored samples.
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
