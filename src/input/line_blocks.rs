//! Cuts anything that can be read into blocks of whole lines, in memory that the longest line bounds.
//!
//! Looks for newlines and, at the two ends of a text, for NULs. A line over the limit that lies within a block is left
//! there; only one that would make the buffer grow is streamed past.

use std::io::{self, Read};
use std::mem;

use memchr::{memchr, memrchr};

use super::chunk::{Body, Chunk};
use super::sparse::{leading_nuls, trailing_nuls};

/// Bytes read behind the end of a range at first: most lines are shorter.
const OVERHANG: u64 = 16 << 10;

/// What the buffer of a [`Lines`] is made for.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockLimits {
    /// Bytes read before the next block is cut.
    pub(super) block: usize,
    /// The longest line that is held, in bytes without the newline.
    pub(super) max_line: usize,
}

/// A [`Chunk`] that owns its lines, so that another thread may judge it.
#[derive(Debug)]
pub(super) struct LineBlock {
    offset: u64,
    body: BlockBody,
}

#[derive(Debug)]
enum BlockBody {
    /// The first `len` bytes of a buffer that stays as long as it is: to shorten it would mean to clear it again later.
    Lines { buffer: Vec<u8>, len: usize },
    /// A line that was not held.
    Oversized { bytes: u64 },
}

impl LineBlock {
    /// What is to be judged.
    pub(super) fn chunk(&self) -> Chunk<'_> {
        let body = match &self.body {
            BlockBody::Lines { buffer, len } => Body::Lines(&buffer[..*len]),
            BlockBody::Oversized { bytes } => Body::Oversized { bytes: *bytes },
        };
        Chunk { offset: self.offset, body }
    }

    /// The buffer, for [`Lines::recycle`].
    pub(super) fn into_buffer(self) -> Vec<u8> {
        match self.body {
            BlockBody::Lines { buffer, .. } => buffer,
            BlockBody::Oversized { .. } => Vec::new(),
        }
    }
}

/// How far the source has come.
#[derive(Debug)]
enum SourceState {
    /// There may be more.
    Open,
    /// It ended as it should.
    Reached,
    /// It broke off; what is behind its last newline is no line.
    Broken(io::Error),
}

/// The lines of a reader, block by block.
#[derive(Debug)]
pub(super) struct LineBlockReader<R> {
    source: R,
    limits: BlockLimits,
    end: SourceState,
    /// The first `filled` bytes are the text from `offset` on; the first `searched` hold no newline.
    buffer: Vec<u8>,
    filled: usize,
    searched: usize,
    offset: u64,
    /// Lines that start here or later are not wanted.
    until: u64,
    /// Everything up to here was read.
    seen: u64,
    /// Nothing but NULs was read so far.
    leading: bool,
    hole_bytes: u64,
    spare: Vec<u8>,
}

impl<R: Read> LineBlockReader<R> {
    /// The lines of a whole text, of which `offset` bytes are read already.
    pub(super) fn new(source: R, offset: u64, limits: BlockLimits) -> Self {
        Self {
            source,
            limits,
            end: SourceState::Open,
            buffer: Vec::new(),
            filled: 0,
            searched: 0,
            offset,
            until: u64::MAX,
            seen: offset,
            leading: true,
            hole_bytes: 0,
            spare: Vec::new(),
        }
    }

    /// The lines that start before `until`, of a source that stands at the start of a line, `offset` bytes into the text.
    pub(super) fn for_range(source: R, offset: u64, until: u64, limits: BlockLimits) -> Self {
        Self { until, leading: false, ..Self::new(source, offset, limits) }
    }

    /// The next lines; `None` behind the last ones.
    ///
    /// # Errors
    ///
    /// The source failed. Every whole line before that was delivered.
    pub(super) fn next(&mut self) -> io::Result<Option<LineBlock>> {
        while self.offset < self.until {
            self.fill(self.step());
            if self.leading {
                self.skip_leading_nuls();
            }
            if let Some(len) = self.next_block_len() {
                return Ok(Some(self.take_block(len)));
            }
            if !matches!(self.end, SourceState::Open) {
                break;
            }
            self.searched = self.filled;
            if self.filled > self.limits.max_line
                && let Some(block) = self.skip_long_line()
            {
                return Ok(Some(block));
            }
        }
        match mem::replace(&mut self.end, SourceState::Reached) {
            SourceState::Broken(error) if self.offset < self.until => Err(error),
            _ => Ok(None),
        }
    }

    /// Takes back the buffer of a block for one of the next.
    pub(super) fn recycle(&mut self, buffer: Vec<u8>) {
        if buffer.len() > self.spare.len() {
            self.spare = buffer;
        }
    }

    /// Where the next block starts: everything before it was delivered or is a hole.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of text read so far.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// NULs passed over at the start and the end of the text.
    pub(super) fn hole_bytes(&self) -> u64 {
        self.hole_bytes
    }

    /// A buffer that may be of use to others.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        if self.spare.len() > self.buffer.len() { self.spare } else { self.buffer }
    }

    /// The source, wherever it stands.
    pub(super) fn into_source(self) -> R {
        self.source
    }

    /// How much to read next: a block, but little beyond the end of the range.
    fn step(&self) -> usize {
        let left = self.until.saturating_sub(self.offset + self.filled as u64);
        usize::try_from(left.max(OVERHANG)).unwrap_or(usize::MAX).min(self.limits.block)
    }

    /// Reads `more` bytes onto the end of the buffer, or what there is.
    fn fill(&mut self, more: usize) {
        let target = self.filled + more;
        if self.buffer.is_empty() {
            // Memory fresh from the system is zero already and costs nothing where a short text does not reach.
            self.buffer = vec![0; target];
        } else if self.buffer.len() < target {
            self.buffer.resize(target, 0);
        }
        while self.filled < target && matches!(self.end, SourceState::Open) {
            match self.source.read(&mut self.buffer[self.filled..target]) {
                Ok(0) => self.end = SourceState::Reached,
                Ok(read) => {
                    self.filled += read;
                    self.seen += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.end = SourceState::Broken(error),
            }
        }
    }

    /// A hole may be of any size, so it is dropped as it comes.
    fn skip_leading_nuls(&mut self) {
        let nuls = leading_nuls(&self.buffer[..self.filled]);
        self.leading = nuls == self.filled;
        self.buffer.copy_within(nuls..self.filled, 0);
        self.filled -= nuls;
        self.offset += nuls as u64;
        self.hole_bytes += nuls as u64;
    }

    /// Where the next block is to end; `None` while no line is known to be whole.
    fn next_block_len(&mut self) -> Option<usize> {
        let fresh = &self.buffer[self.searched..self.filled];
        let last = memrchr(b'\n', fresh).map(|at| self.searched + at + 1);
        if let Some(last) = last
            && self.offset + last as u64 >= self.until
        {
            let owned = (self.until - 1 - self.offset) as usize;
            return memchr(b'\n', &self.buffer[owned..last]).map(|at| owned + at + 1);
        }
        if !matches!(self.end, SourceState::Reached) {
            return last;
        }
        let nuls = trailing_nuls(&self.buffer[..self.filled]);
        self.filled -= nuls;
        self.hole_bytes += nuls as u64;
        (self.filled > 0).then_some(self.filled)
    }

    /// Hands out the first `len` bytes and moves what is behind them to a fresh buffer.
    fn take_block(&mut self, len: usize) -> LineBlock {
        let rest = &self.buffer[len..self.filled];
        let mut next = mem::take(&mut self.spare);
        if next.len() < rest.len() {
            next.resize(rest.len(), 0);
        }
        next[..rest.len()].copy_from_slice(rest);
        self.filled = rest.len();
        self.searched = self.filled;
        let buffer = mem::replace(&mut self.buffer, next);
        let offset = self.offset;
        self.offset += len as u64;
        LineBlock { offset, body: BlockBody::Lines { buffer, len } }
    }

    /// Streams past a line that fills the buffer. `None` where the source broke off within it or held only NULs.
    ///
    /// The first `max_line` bytes stay: if the text ends in NULs, the line may turn out to be short after all.
    fn skip_long_line(&mut self) -> Option<LineBlock> {
        let kept = self.limits.max_line;
        let mut length = self.filled as u64;
        let mut nuls = trailing_nuls(&self.buffer[..self.filled]) as u64;
        self.searched = 0;
        loop {
            self.filled = kept;
            self.fill(self.limits.block);
            let fresh = &self.buffer[kept..self.filled];
            if let Some(at) = memchr(b'\n', fresh) {
                let rest = kept + at + 1..self.filled;
                self.filled = rest.len();
                self.buffer.copy_within(rest, 0);
                return Some(self.skip_line(length + at as u64, 1));
            }
            let run = trailing_nuls(fresh) as u64;
            nuls = if run == fresh.len() as u64 { nuls + run } else { run };
            length += fresh.len() as u64;
            match self.end {
                SourceState::Open => {}
                SourceState::Reached => return self.finish_long_line(length - nuls, nuls),
                SourceState::Broken(_) => {
                    self.filled = 0;
                    return None;
                }
            }
        }
    }

    /// The text ended in the line that was streamed past, and that ended in `nuls` NULs.
    fn finish_long_line(&mut self, length: u64, nuls: u64) -> Option<LineBlock> {
        self.hole_bytes += nuls;
        self.filled = 0;
        if length > self.limits.max_line as u64 {
            return Some(self.skip_line(length, nuls));
        }
        self.filled = length as usize;
        (length > 0).then(|| self.take_block(length as usize))
    }

    /// A line of `bytes` bytes that is not held, and `behind` more that are no part of it.
    fn skip_line(&mut self, bytes: u64, behind: u64) -> LineBlock {
        let offset = self.offset;
        self.offset += bytes + behind;
        LineBlock { offset, body: BlockBody::Oversized { bytes } }
    }
}
