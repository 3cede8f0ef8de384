//! Reads one source: opens it, sees by its first bytes what it is, and picks the way that fits.
//!
//! Names decide nothing: a plain file called `.gz` is plain. It finds no lines and judges nothing itself.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::Mmap;
use super::chunk::{Chunk, Reading};
use super::decompress::Unpack;
use super::file_snapshot::Snapshot;
use super::find::{Kind, Source};
use super::line_blocks::{Block, Limits};
use super::magic::{self, HEAD, Packing};
use super::peek::Peeked;
use super::pipe::{Counted, Pipe};
use super::regular_file::read_regular;
use super::stream::read_text;

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
    /// Something else altogether; holds what it is.
    #[error("is {0}, and no log")]
    NoLog(&'static str),
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
    read_in_order(source, options, &|_| {}, judge, keep)
}

/// The same, with a look at what comes in order: `see` is called for each chunk of a text that is not read in parts, a packed
/// one or a pipe's, one after the other and before it is judged. Of a plain file it is called for none.
///
/// # Errors
///
/// As [`read`].
pub fn read_in_order<T, J, K>(
    source: &Source,
    options: &Options<'_>,
    see: &(dyn Fn(Chunk<'_>) + Sync),
    judge: &J,
    keep: &K,
) -> Result<Reading, Unread>
where
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    read_by(source, &Caller { options, sizes: Sizes::USUAL, see: See(see), judge, keep })
}

/// Whoever looks at what comes in order.
#[derive(Clone, Copy)]
pub(super) struct See<'a>(pub(super) &'a (dyn Fn(Chunk<'_>) + Sync));

impl std::fmt::Debug for See<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("See")
    }
}

/// The sizes that work is cut into. They change nothing in what is delivered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Bytes of a regular file that are one worker's at a time: enough that starting costs nothing, few enough that
    /// all end at about the same time, and that what was found in them stays in a core's cache until it is counted.
    pub(super) range: u64,
    /// Bytes read in one go. Stays in a core's cache while the lines are judged.
    pub(super) block: usize,
}

impl Sizes {
    /// Outside of tests.
    const USUAL: Self = Self { range: 1 << 20, block: 256 << 10 };
}

/// What the caller gave, and the sizes to go by.
#[derive(Debug)]
pub(super) struct Caller<'a, J, K> {
    pub(super) options: &'a Options<'a>,
    pub(super) sizes: Sizes,
    pub(super) see: See<'a>,
    pub(super) judge: &'a J,
    pub(super) keep: &'a K,
}

impl<J, K> Caller<'_, J, K> {
    /// Whether the caller wants no more.
    pub(super) fn stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    /// What buffers are made for.
    pub(super) fn limits(&self) -> Limits {
        Limits { block: self.sizes.block, max_line: self.options.max_line }
    }

    /// For what needs no check afterwards.
    pub(super) fn judge_and_keep<T>(&self, block: &Block)
    where
        J: Fn(Chunk<'_>) -> T,
        K: Fn(T),
    {
        (self.keep)((self.judge)(block.chunk()));
    }
}

/// A file that says it is empty may have content all the same: those of `/proc` do.
pub(super) fn read_by<T, J, K>(source: &Source, caller: &Caller<'_, J, K>) -> Result<Reading, Unread>
where
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    if source.kind == Kind::Stdin {
        return read_pipe(io::stdin(), caller);
    }
    let file = open(&source.path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.len() > 0 { read_file(file, caller) } else { read_pipe(file, caller) }
}

/// Opens without waiting: a named pipe that has no writer yet is waited for where the caller can end it.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

fn read_file<T, J, K>(file: File, caller: &Caller<'_, J, K>) -> Result<Reading, Unread>
where
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    let snapshot = Snapshot::take(&file)?;
    match magic::packing(&snapshot.head)? {
        None => read_regular(&file, &snapshot, caller),
        Some(packing) => read_packed(Counted::new(file, caller.options.progress), packing, Counted::bytes, caller),
    }
}

pub(super) fn read_pipe<F, T, J, K>(fd: F, caller: &Caller<'_, J, K>) -> Result<Reading, Unread>
where
    F: AsFd + Send,
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    let pipe = Pipe { fd, stop: caller.options.stop };
    let mut source = Peeked::new(Counted::new(pipe, caller.options.progress), HEAD);
    match source.take_refusal() {
        Some(_) if caller.stopped() => return Ok(Reading { stopped: true, ..Reading::default() }),
        Some(error) => return Err(error.into()),
        None => {}
    }
    match magic::packing(source.head())? {
        None => Ok(read_text(source, caller)?.0),
        Some(packing) => read_packed(source, packing, |source| source.rest().bytes(), caller),
    }
}

/// Text that takes this many times the space of its file is worth a note: no log packs so well.
const REMARKABLE: u64 = 200;
/// Bytes of packed data read in one go.
const PACKED: usize = 64 << 10;

/// `packed_bytes` says how much of the source was read.
fn read_packed<R, T, J, K>(
    source: R,
    packing: Packing,
    packed_bytes: impl Fn(&R) -> u64,
    caller: &Caller<'_, J, K>,
) -> Result<Reading, Unread>
where
    R: Read + Send,
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    let unpack = Unpack::new(BufReader::with_capacity(PACKED, source), packing);
    let (mut reading, source) = read_text(unpack, caller)?;
    let unpack = source.rest();
    if let Some(damage) = unpack.damage() {
        reading.damage.get_or_insert_with(|| damage.to_owned());
    }
    reading.notes.extend(unpack.note().map(str::to_owned));
    let times = reading.bytes / packed_bytes(unpack.source().get_ref()).max(1);
    if times > REMARKABLE {
        reading.notes.push(format!("unpacks to {times} times its size"));
    }
    Ok(reading)
}
