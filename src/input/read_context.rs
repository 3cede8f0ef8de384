//! How a source is read, what is done with its chunks, and the result. Reads nothing itself.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::line_blocks::{BlockLimits, Chunk, LineBlock};
use super::{ByteRange, Mmap};
use crate::log::source::LineSpan;

/// Default for the longest line that is kept in memory, in bytes without the newline.
pub const MAX_LINE: usize = 1 << 20;

/// How to read a source.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions<'a> {
    /// When to map files.
    pub mmap: Mmap,
    /// The longest line that is kept in memory, in bytes without the newline, usually [`MAX_LINE`].
    /// Longer lines are skipped where keeping them would cost memory.
    pub max_line: usize,
    /// Set by the caller to stop the read. Checked between chunks, and ten times a second while a
    /// pipe is silent.
    pub stop: &'a AtomicBool,
    /// Counts the bytes of the *file* that are done, compressed bytes for a compressed file.
    pub progress: &'a AtomicU64,
    /// Reads only the lines of this range, which only an uncompressed regular file has.
    pub range: Option<ByteRange>,
}

/// Why a source cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A system error.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// Text in an unsupported encoding; the message.
    #[error("{0}")]
    NotText(&'static str),
    /// Not a log; what it is.
    #[error("is {0}, not a log")]
    NoLog(&'static str),
    /// A byte range of something else than a plain file.
    #[error(
        "is no plain file, so a byte range of it cannot be read; scan it whole, without --range"
    )]
    NoRange,
    /// An archive: its name, and the command that writes the text of its members.
    #[error("is a {0} archive, and its members are not read; type: {1} FILE | probewatch scan -")]
    Archive(&'static str, &'static str),
    /// An unsupported compression; its name.
    #[error(
        "is compressed with {0}, which is not supported; decompress it and pass the text, for example on standard input (-)"
    )]
    Unsupported(&'static str),
}

/// Sizes of the units of work. They do not change the result.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkSizes {
    /// Bytes of a regular file that one worker processes at a time. Large enough that the overhead
    /// does not matter; small enough that all workers finish at about the same time, and that the
    /// results stay in the cache until they are committed.
    pub(super) range: u64,
    /// Bytes per read; stays in the cache while the lines are processed.
    pub(super) block: usize,
}

impl WorkSizes {
    /// The sizes outside of tests.
    pub(super) const DEFAULT: Self = Self {
        range: 1 << 20,
        block: 256 << 10,
    };
}

/// The options and callbacks of a read, which are called once for each chunk.
pub(super) struct ReadContext<'a, T> {
    pub(super) options: &'a ReadOptions<'a>,
    pub(super) sizes: WorkSizes,
    /// Gets the chunks of a sequential text in order.
    pub(super) observer: &'a (dyn Fn(Chunk<'_>) + Sync),
    pub(super) process: &'a (dyn Fn(Chunk<'_>) -> T + Sync),
    pub(super) commit: &'a (dyn Fn(T) + Sync),
}

impl<T> ReadContext<'_, T> {
    /// Whether the caller stopped the read.
    pub(super) fn stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    /// The limits for line buffers.
    pub(super) fn limits(&self) -> BlockLimits {
        BlockLimits {
            block: self.sizes.block,
            max_line: self.options.max_line,
        }
    }

    /// Processes and commits a block that needs no check afterwards.
    pub(super) fn process_and_commit(&self, block: &LineBlock) {
        (self.commit)((self.process)(block.chunk()));
    }
}

/// The result of reading one input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSummary {
    /// Bytes of log text read, after decompression, with holes and a byte-order mark.
    pub bytes: u64,
    /// XXH3 of the first 1,024 bytes of the text, or of all if there are fewer, with a byte-order
    /// mark if there is one. Identifies the generation of a log, whether plain, compressed or
    /// piped.
    pub generation: u64,
    /// Bytes of holes and NUL runs that were skipped at the start and the end of the text. A writer
    /// leaves them when it keeps its old offset after `copytruncate`, or when it preallocates
    /// space.
    pub hole_bytes: u64,
    /// What went wrong, as a sentence. The lines that were read still count.
    pub damage: Option<String>,
    /// Things worth knowing that are no errors, such as a fallback or trailing zeros, as sentences.
    pub notes: Vec<String>,
    /// The caller stopped the read before the end. The lines that were read still count.
    pub stopped: bool,
    /// The lines of the requested range, not counted; `None` if the whole text was read.
    pub span: Option<LineSpan>,
}
