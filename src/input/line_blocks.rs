//! Splits the bytes of a reader into blocks of whole lines. The longest allowed line bounds the
//! memory.
//!
//! Leading and trailing NULs of the text are skipped. NULs before a line are no part of its length.
//! Those that fit into a block, and a line over the limit that does, stay in it; only what would
//! make the buffer grow is skipped.

use std::io::{self, Read};
use std::mem;

use memchr::{memchr, memrchr};

use super::sparse::{count_nuls, leading_nuls, trailing_nuls};

/// A run of whole lines of one input. The chunks of an input are ordered by `offset` and do not
/// overlap.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    /// Offset in the input's text, after decompression.
    pub offset: u64,
    /// The lines.
    pub body: Body<'a>,
}

/// The content of a chunk.
#[derive(Debug, Clone, Copy)]
pub enum Body<'a> {
    /// Lines, each with its newline; the last line of the input may lack it.
    Lines(&'a [u8]),
    /// Text that was skipped.
    Skipped(SkippedText),
}

impl Body<'_> {
    /// Its length in the input.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Lines(lines) => lines.len() as u64,
            Self::Skipped(skipped) => skipped.bytes,
        }
    }
}

/// One line over the length limit, or NULs before a line, which are no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct SkippedText {
    /// Length without the newline.
    pub bytes: u64,
    /// The NULs among them.
    pub nuls: u64,
}

impl SkippedText {
    /// NULs before a line.
    pub(super) fn nuls(nuls: u64) -> Self {
        Self { bytes: nuls, nuls }
    }

    /// Adds text of the same line.
    pub(super) fn add(&mut self, text: &[u8]) {
        self.bytes += text.len() as u64;
        self.nuls += count_nuls(text);
    }

    /// The number of lines: 1, or 0 for NULs.
    #[must_use]
    pub fn lines(&self) -> u64 {
        u64::from(self.nuls < self.bytes)
    }
}

/// Bytes read first after the end of a range: most lines are shorter.
const LOOKAHEAD_BYTES: u64 = 16 << 10;

/// Sizes for the buffer of a [`LineBlockReader`].
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockLimits {
    /// Bytes to read per block.
    pub(super) block: usize,
    /// The longest line that is kept in memory, in bytes without the newline.
    pub(super) max_line: usize,
}

/// A [`Chunk`] that owns its lines, so that another thread can process it.
#[derive(Debug)]
pub(crate) struct LineBlock {
    offset: u64,
    body: BlockBody,
}

#[derive(Debug)]
enum BlockBody {
    /// The first `len` bytes of `buffer`. The buffer keeps its length: truncating it would mean
    /// clearing it again later.
    Lines {
        buffer: Vec<u8>,
        len: usize,
    },
    Skipped(SkippedText),
}

impl LineBlock {
    /// These whole lines.
    pub(crate) fn of_lines(offset: u64, buffer: Vec<u8>) -> Self {
        let len = buffer.len();
        Self {
            offset,
            body: BlockBody::Lines { buffer, len },
        }
    }

    /// Text that was skipped.
    pub(crate) fn of_skipped(offset: u64, skipped: SkippedText) -> Self {
        Self {
            offset,
            body: BlockBody::Skipped(skipped),
        }
    }

    /// The lines as a chunk.
    pub(crate) fn chunk(&self) -> Chunk<'_> {
        let body = match &self.body {
            BlockBody::Lines { buffer, len } => Body::Lines(&buffer[..*len]),
            BlockBody::Skipped(skipped) => Body::Skipped(*skipped),
        };
        Chunk {
            offset: self.offset,
            body,
        }
    }

    /// The buffer, to pass to [`LineBlockReader::recycle`].
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        match self.body {
            BlockBody::Lines { buffer, .. } => buffer,
            BlockBody::Skipped(_) => Vec::new(),
        }
    }
}

/// Whether the source has more bytes.
#[derive(Debug)]
enum SourceState {
    /// There may be more.
    Open,
    /// The source ended normally.
    Reached,
    /// The source failed. The bytes after the last newline are no line.
    Broken(io::Error),
}

/// Reads lines block by block.
#[derive(Debug)]
pub(super) struct LineBlockReader<R> {
    source: R,
    limits: BlockLimits,
    end: SourceState,
    /// `buffer[..filled]` is the text from `offset`; `buffer[..searched]` contains no newline.
    buffer: Vec<u8>,
    filled: usize,
    searched: usize,
    offset: u64,
    /// Lines that start at this offset or later are not returned.
    until: u64,
    /// Offset up to which the source was read.
    seen: u64,
    /// Only NULs were read so far.
    leading: bool,
    hole_bytes: u64,
    spare: Vec<u8>,
}

impl<R: Read> LineBlockReader<R> {
    /// Reads the lines of a whole text, of which `offset` bytes were read already.
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

    /// Reads the lines that start before `until`. The source is at the start of a line, `offset`
    /// bytes into the text.
    pub(super) fn for_range(source: R, offset: u64, until: u64, limits: BlockLimits) -> Self {
        Self {
            until,
            leading: false,
            ..Self::new(source, offset, limits)
        }
    }

    /// The next block of lines; `None` after the last one.
    ///
    /// # Errors
    ///
    /// The source failed. Every whole line before the error was returned.
    pub(super) fn next(&mut self) -> io::Result<Option<LineBlock>> {
        while self.offset < self.until {
            self.fill(self.step());
            if self.leading {
                self.hole_bytes += self.drop_nuls();
                self.leading = self.filled == 0;
            }
            if let Some(len) = self.next_block_len() {
                return Ok(Some(self.take_block(len)));
            }
            if !matches!(self.end, SourceState::Open) {
                break;
            }
            self.searched = self.filled;
            if self.filled > self.limits.max_line
                && let Some(block) = self.skip()
            {
                return Ok(Some(block));
            }
        }
        match mem::replace(&mut self.end, SourceState::Reached) {
            SourceState::Broken(error) if self.offset < self.until => Err(error),
            _ => Ok(None),
        }
    }

    /// Takes back the buffer of a block for reuse.
    pub(super) fn recycle(&mut self, buffer: Vec<u8>) {
        if buffer.len() > self.spare.len() {
            self.spare = buffer;
        }
    }

    /// Where the next block starts. Everything before it was returned or is a hole.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of text read so far.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// NULs skipped at the start and the end of the text.
    pub(super) fn hole_bytes(&self) -> u64 {
        self.hole_bytes
    }

    /// A buffer for reuse elsewhere.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        if self.spare.len() > self.buffer.len() {
            self.spare
        } else {
            self.buffer
        }
    }

    /// The source, at its current position.
    pub(super) fn into_source(self) -> R {
        self.source
    }

    /// Bytes to read next: a block, but not far past the end of the range.
    fn step(&self) -> usize {
        let left = self.until.saturating_sub(self.offset + self.filled as u64);
        usize::try_from(left.max(LOOKAHEAD_BYTES))
            .unwrap_or(usize::MAX)
            .min(self.limits.block)
    }

    /// Appends up to `more` bytes to the buffer.
    fn fill(&mut self, more: usize) {
        let target = self.filled + more;
        if self.buffer.is_empty() {
            // Freshly allocated zeroed memory costs nothing for pages that a short text does not
            // reach.
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

    /// Drops NULs before the first line in the buffer as they come, since a hole may be of any
    /// size. Returns their number.
    fn drop_nuls(&mut self) -> u64 {
        let nuls = leading_nuls(&self.buffer[..self.filled]);
        self.buffer.copy_within(nuls..self.filled, 0);
        self.filled -= nuls;
        self.offset += nuls as u64;
        nuls as u64
    }

    /// The length of the next block; `None` until it contains a whole line.
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

    /// Takes the first `len` bytes as a block and moves the rest to another buffer.
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
        LineBlock {
            offset,
            body: BlockBody::Lines { buffer, len },
        }
    }

    /// Skips NULs, or else a line, that fill the buffer. Returns `None` if the source failed within
    /// them, or ended within the NULs.
    fn skip(&mut self) -> Option<LineBlock> {
        let mut nuls = self.drop_nuls();
        if nuls == 0 {
            return self.skip_long_line();
        }
        self.searched = 0;
        while self.filled == 0 {
            if !matches!(self.end, SourceState::Open) {
                self.hole_bytes += nuls;
                return None;
            }
            self.fill(self.limits.block);
            nuls += self.drop_nuls();
        }
        // The line began before the NULs.
        self.until = self.until.max(self.offset + 1);
        Some(LineBlock::of_skipped(
            self.offset - nuls,
            SkippedText::nuls(nuls),
        ))
    }

    /// Skips a line that fills the buffer. Returns `None` if the source failed within it.
    ///
    /// The first `max_line` bytes are kept: without the NULs at the end of the text, the line may
    /// be short enough after all.
    fn skip_long_line(&mut self) -> Option<LineBlock> {
        let kept = self.limits.max_line;
        let mut line = SkippedText::default();
        line.add(&self.buffer[..self.filled]);
        let mut nuls = trailing_nuls(&self.buffer[..self.filled]) as u64;
        self.searched = 0;
        loop {
            self.filled = kept;
            self.fill(self.limits.block);
            let fresh = &self.buffer[kept..self.filled];
            if let Some(at) = memchr(b'\n', fresh) {
                line.add(&fresh[..at]);
                let rest = kept + at + 1..self.filled;
                self.filled = rest.len();
                self.buffer.copy_within(rest, 0);
                return Some(self.skip_line(line, 1));
            }
            let run = trailing_nuls(fresh) as u64;
            nuls = if run == fresh.len() as u64 {
                nuls + run
            } else {
                run
            };
            line.add(fresh);
            match self.end {
                SourceState::Open => {}
                SourceState::Reached => {
                    line.bytes -= nuls;
                    line.nuls -= nuls;
                    return Some(self.finish_long_line(line, nuls));
                }
                SourceState::Broken(_) => {
                    self.filled = 0;
                    return None;
                }
            }
        }
    }

    /// Ends a text whose last line was skipped and ended in `nuls` NULs.
    fn finish_long_line(&mut self, line: SkippedText, nuls: u64) -> LineBlock {
        self.hole_bytes += nuls;
        self.filled = 0;
        if line.bytes > self.limits.max_line as u64 {
            return self.skip_line(line, nuls);
        }
        self.filled = line.bytes as usize;
        self.take_block(self.filled)
    }

    /// Skips a line, and the `extra` bytes after it.
    fn skip_line(&mut self, line: SkippedText, extra: u64) -> LineBlock {
        let offset = self.offset;
        self.offset += line.bytes + extra;
        LineBlock::of_skipped(offset, line)
    }
}
