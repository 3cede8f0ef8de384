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
use super::chunk::{Chunk, ReadSummary};
use super::decompress::Decompressor;
use super::file_snapshot::FileSnapshot;
use super::find::{InputSource, SourceKind};
use super::line_blocks::{BlockLimits, LineBlock};
use super::magic::{self, Compression, HEAD};
use super::readers::{CountingReader, PeekReader, PollingReader};
use super::regular_file::read_regular;
use super::stream::read_stream;

/// The longest line that is held unless the caller says otherwise, in bytes without the newline.
pub const MAX_LINE: usize = 1 << 20;

/// How to read.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions<'a> {
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
pub enum OpenError {
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
/// `process` is called for each chunk, from any worker of the rayon pool and in any order; [`Chunk::offset`] has the
/// order. `commit` gets what `process` made of it, likewise from any worker, once it is settled that the chunk really was in
/// the file: what was judged from a map whose file was cut short meanwhile is dropped instead. Whoever keeps sees
/// every line at most once, and every line that can still be read.
///
/// Call it within the pool that is to do the work. A pipe that nobody writes to occupies the worker that reads it.
///
/// # Errors
///
/// [`OpenError`], before `process` is called at all. Trouble found later is [`ReadSummary::damage`].
pub fn read<T, J, K>(source: &InputSource, options: &ReadOptions<'_>, process: &J, commit: &K) -> Result<ReadSummary, OpenError>
where
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    read_observed(source, options, &|_| {}, process, commit)
}

/// The same, with a look at what comes in order: `see` is called for each chunk of a text that is not read in parts, a packed
/// one or a pipe's, one after the other and before it is judged. Of a plain file it is called for none.
///
/// # Errors
///
/// As [`read`].
pub fn read_observed<T, J, K>(
    source: &InputSource,
    options: &ReadOptions<'_>,
    observer: &(dyn Fn(Chunk<'_>) + Sync),
    process: &J,
    commit: &K,
) -> Result<ReadSummary, OpenError>
where
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    read_by(source, &ReadContext { options, sizes: WorkSizes::USUAL, observer: ChunkObserver(observer), process, commit })
}

/// Whoever looks at what comes in order.
#[derive(Clone, Copy)]
pub(super) struct ChunkObserver<'a>(pub(super) &'a (dyn Fn(Chunk<'_>) + Sync));

impl std::fmt::Debug for ChunkObserver<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("See")
    }
}

/// The sizes that work is cut into. They change nothing in what is delivered.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkSizes {
    /// Bytes of a regular file that are one worker's at a time: enough that starting costs nothing, few enough that
    /// all end at about the same time, and that what was found in them stays in a core's cache until it is counted.
    pub(super) range: u64,
    /// Bytes read in one go. Stays in a core's cache while the lines are judged.
    pub(super) block: usize,
}

impl WorkSizes {
    /// Outside of tests.
    const USUAL: Self = Self { range: 1 << 20, block: 256 << 10 };
}

/// What the caller gave, and the sizes to go by.
#[derive(Debug)]
pub(super) struct ReadContext<'a, J, K> {
    pub(super) options: &'a ReadOptions<'a>,
    pub(super) sizes: WorkSizes,
    pub(super) observer: ChunkObserver<'a>,
    pub(super) process: &'a J,
    pub(super) commit: &'a K,
}

impl<J, K> ReadContext<'_, J, K> {
    /// Whether the caller wants no more.
    pub(super) fn stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    /// What buffers are made for.
    pub(super) fn limits(&self) -> BlockLimits {
        BlockLimits { block: self.sizes.block, max_line: self.options.max_line }
    }

    /// For what needs no check afterwards.
    pub(super) fn process_and_commit<T>(&self, block: &LineBlock)
    where
        J: Fn(Chunk<'_>) -> T,
        K: Fn(T),
    {
        (self.commit)((self.process)(block.chunk()));
    }
}

/// A file that says it is empty may have content all the same: those of `/proc` do.
pub(super) fn read_by<T, J, K>(source: &InputSource, context: &ReadContext<'_, J, K>) -> Result<ReadSummary, OpenError>
where
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    if source.kind == SourceKind::Stdin {
        return read_pipe(io::stdin(), context);
    }
    let file = open(&source.path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.len() > 0 { read_file(file, context) } else { read_pipe(file, context) }
}

/// Opens without waiting: a named pipe that has no writer yet is waited for where the caller can end it.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

fn read_file<T, J, K>(file: File, context: &ReadContext<'_, J, K>) -> Result<ReadSummary, OpenError>
where
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    let snapshot = FileSnapshot::take(&file)?;
    match magic::detect(&snapshot.head)? {
        None => read_regular(&file, &snapshot, context),
        Some(compression) => {
            read_compressed(CountingReader::new(file, context.options.progress), compression, CountingReader::bytes, context)
        }
    }
}

pub(super) fn read_pipe<F, T, J, K>(fd: F, context: &ReadContext<'_, J, K>) -> Result<ReadSummary, OpenError>
where
    F: AsFd + Send,
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    let pipe = PollingReader { fd, stop: context.options.stop };
    let mut source = PeekReader::new(CountingReader::new(pipe, context.options.progress), HEAD);
    match source.take_initial_error() {
        Some(_) if context.stopped() => return Ok(ReadSummary { stopped: true, ..ReadSummary::default() }),
        Some(error) => return Err(error.into()),
        None => {}
    }
    match magic::detect(source.head())? {
        None => Ok(read_stream(source, context)?.0),
        Some(compression) => read_compressed(source, compression, |source| source.rest().bytes(), context),
    }
}

/// Text that takes this many times the space of its file is worth a note: no log packs so well.
const REMARKABLE_RATIO: u64 = 200;
/// Bytes of packed data read in one go.
const READ_SIZE: usize = 64 << 10;

/// `compressed_bytes` says how much of the source was read.
fn read_compressed<R, T, J, K>(
    source: R,
    compression: Compression,
    compressed_bytes: impl Fn(&R) -> u64,
    context: &ReadContext<'_, J, K>,
) -> Result<ReadSummary, OpenError>
where
    R: Read + Send,
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    let decompressor = Decompressor::new(BufReader::with_capacity(READ_SIZE, source), compression);
    let (mut summary, source) = read_stream(decompressor, context)?;
    let decompressor = source.rest();
    if let Some(damage) = decompressor.damage() {
        summary.damage.get_or_insert_with(|| damage.to_owned());
    }
    summary.notes.extend(decompressor.note().map(str::to_owned));
    let times = summary.bytes / compressed_bytes(decompressor.source().get_ref()).max(1);
    if times > REMARKABLE_RATIO {
        summary.notes.push(format!("unpacks to {times} times its size"));
    }
    Ok(summary)
}
