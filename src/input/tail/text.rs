//! What is known of the text of one generation: its first bytes, the bytes before the offset, and some marks between.
//!
//! By these a text is known again wherever a rotation took it: under another name, in another inode, packed. Names and
//! times prove nothing here, and a text is never held.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::probe::Probe;
use super::stamp::Id;
use crate::source::{Checkpoint, Fingerprint, HEAD, TAIL};

/// Marks that are kept; when there are more, every second one goes.
const MARKS: usize = 128;

/// What a file is to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Likeness {
    /// Another text.
    Other,
    /// A copy that ends before the offset: it holds nothing new.
    Shorter,
    /// The same text, at least up to the offset.
    Same,
}

/// Some bytes of a text, or what is left of them in a state: their print.
#[derive(Debug, Clone, Default)]
struct Sample {
    print: Fingerprint,
    bytes: Vec<u8>,
}

impl Sample {
    fn of(bytes: &[u8]) -> Self {
        Self { print: Fingerprint::new(bytes), bytes: bytes.to_vec() }
    }

    fn len(&self) -> usize {
        self.print.bytes as usize
    }
}

/// How far a text was read, and by what it is known again.
#[derive(Debug, Clone)]
pub(super) struct Text {
    /// Names the generation.
    pub(super) generation: u64,
    /// Bytes that are done, up to just behind a newline.
    pub(super) offset: u64,
    /// Lines before `offset`.
    pub(super) lines: u64,
    head: Sample,
    tail: Sample,
    /// Former offsets and the bytes before them, in order: by these a copy is known that was made before all was read.
    marks: Vec<(u64, Fingerprint)>,
}

impl Text {
    /// A text that begins with `head`, and of which `before` stands before `offset`.
    pub(super) fn new(generation: u64, head: &[u8], offset: u64, lines: u64, before: &[u8]) -> Self {
        Self { generation, offset, lines, head: Sample::of(head), tail: Sample::of(before), marks: Vec::new() }
    }

    /// The text of a checkpoint.
    pub(super) fn of(checkpoint: &Checkpoint) -> Self {
        let Checkpoint { generation, offset, lines, head, tail, .. } = *checkpoint;
        let sample = |print| Sample { print, bytes: Vec::new() };
        Self { generation, offset, lines, head: sample(head), tail: sample(tail), marks: Vec::new() }
    }

    /// The checkpoint of this text, which lies there.
    pub(super) fn checkpoint_at(&self, path: &Path, (device, inode): Id) -> Checkpoint {
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
        self.begins(head) && Fingerprint::new(before) == self.tail.print
    }

    /// Whether it is known by these first bytes and no others.
    pub(super) fn is_begun_by(&self, head: &[u8]) -> bool {
        self.head.print == Fingerprint::new(head)
    }

    /// Whether its first bytes are these, as far as they are known and not only their print.
    pub(super) fn is_begun_with(&self, bytes: &[u8]) -> bool {
        !bytes.is_empty() && self.head.bytes.starts_with(bytes)
    }

    fn begins(&self, head: &[u8]) -> bool {
        head.get(..self.head.len()).is_some_and(|head| Fingerprint::new(head) == self.head.print)
    }

    /// Learns more of the beginning, which was just found to hold.
    pub(super) fn learn(&mut self, head: &[u8], before: &[u8]) {
        if head.len() > self.head.bytes.len() {
            self.head = Sample::of(head);
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
    pub(super) fn jump(&mut self, offset: u64, lines: u64, before: &[u8]) {
        self.offset = offset;
        self.lines += lines;
        self.set_tail(before);
    }

    fn set_tail(&mut self, tail: &[u8]) {
        self.tail = Sample::of(tail);
        if self.marks.len() == MARKS {
            let mut odd = false;
            self.marks.retain(|_| {
                odd = !odd;
                odd
            });
        }
        self.marks.push((self.offset, self.tail.print));
    }

    /// What a file is to this text.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn likeness(&self, file: &mut Probe) -> io::Result<Likeness> {
        if !self.begins(file.head()) {
            let known = self.head.bytes.get(..file.head().len());
            let within = file.head().len() < self.head.len() && file.head().contains(&b'\n') && known == Some(file.head());
            return Ok(if within { Likeness::Shorter } else { Likeness::Other });
        }
        // Less than a line is how other texts begin, too.
        let is_weak = self.head.len() < HEAD && !file.head()[..self.head.len()].contains(&b'\n');
        if is_weak {
            let same = file.known_len() == Some(self.head.len() as u64);
            return Ok(if same { Likeness::Same } else { Likeness::Other });
        }
        if self.offset == 0 {
            return Ok(Likeness::Same);
        }
        if self.tail.len() == 0 {
            // A packed sibling that was there before the first look: nothing of it is wanted.
            return Ok(Likeness::Shorter);
        }
        if self.head.len() == HEAD && file.claims(self.offset) {
            return Ok(Likeness::Same);
        }
        if let Some(before) = file.before(self.offset, self.tail.len())? {
            return Ok(if Fingerprint::new(&before) == self.tail.print { Likeness::Same } else { Likeness::Other });
        }
        self.is_cut_from(file)
    }

    /// Whether a file that ends before the offset ends in this text's bytes, as far as anybody knows.
    fn is_cut_from(&self, file: &mut Probe) -> io::Result<Likeness> {
        let len = file.known_len().unwrap_or(self.offset);
        let at = self.marks.partition_point(|(offset, _)| *offset <= len);
        let Some((offset, print)) = at.checked_sub(1).and_then(|last| self.marks.get(last)) else {
            return Ok(Likeness::Shorter);
        };
        let same = file.before(*offset, print.bytes as usize)?.is_some_and(|before| Fingerprint::new(&before) == *print);
        Ok(if same { Likeness::Shorter } else { Likeness::Other })
    }
}
