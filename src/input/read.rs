//! Reads one source as chunks of whole lines: opens it, detects by its first bytes what it is, and chooses how to read it.
//!
//! File names do not matter: an uncompressed file called `.gz` is read as text. A compressed file or a pipe is a stream: it is
//! read in order, and its blocks are processed while the rest is still being read. Bytes read from a stream need no check, so
//! every result is committed at once.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use super::decompress::Decompressor;
use super::file_snapshot::FileSnapshot;
use super::find::{InputSource, SourceKind};
use super::line_blocks::{BlockLimits, LineBlock, LineBlockReader};
use super::magic::{Compression, HEAD};
use super::readers::{CancellableReader, CountingReader, PeekReader, PollingReader};
use super::regular_file::read_regular;
use super::{ByteRange, Mmap, magic};
use crate::source::LineSpan;

/// Default for the longest line that is kept in memory, in bytes without the newline.
pub const MAX_LINE: usize = 1 << 20;

/// How to read a source.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions<'a> {
    /// When to map files.
    pub mmap: Mmap,
    /// The longest line that is kept in memory, in bytes without the newline, usually [`MAX_LINE`]. Longer lines are
    /// skipped where keeping them would cost memory.
    pub max_line: usize,
    /// Set by the caller to stop the read. Checked between chunks, and ten times a second while a pipe is silent.
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
    #[error("is no plain file, so a byte range of it cannot be read; scan it whole, without --range")]
    NoRange,
    /// An unsupported compression; its name.
    #[error("is compressed with {0}, which is not supported; decompress it and pass the text, for example on standard input (-)")]
    Unsupported(&'static str),
}

/// Like [`read_observed`], without an observer.
///
/// # Errors
///
/// The same as for [`read_observed`].
#[cfg(any(test, feature = "internals"))]
pub fn read<T, J, K>(source: &InputSource, options: &ReadOptions<'_>, process: &J, commit: &K) -> Result<ReadSummary, OpenError>
where
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    read_observed(source, options, &|_| {}, process, commit)
}

/// Reads `source` to its end, or to the length that a regular file had when it was opened.
///
/// `process` is called for each chunk, on any worker of the rayon pool and in any order; [`Chunk::offset`] gives the
/// order. `commit` receives the result of `process`, also on any worker, once it is certain that the chunk was in the
/// file. Results from a map whose file was truncated meanwhile are dropped. `commit` covers every line at most once,
/// and every line that can still be read.
///
/// `observer` is called for each chunk of a compressed file or a pipe, in order, before the chunk is processed. Plain files are read
/// in parallel, so it is not called for them.
///
/// Call it within the thread pool that does the work. A pipe without a writer occupies the worker that reads it.
///
/// # Errors
///
/// [`OpenError`], before the first call of `process`. Later errors are in [`ReadSummary::damage`].
pub(crate) fn read_observed<T, J, K>(
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
    read_by(source, &ReadContext { options, sizes: WorkSizes::DEFAULT, observer: ChunkObserver(observer), process, commit })
}

/// Like [`read_observed`], for the bytes of any reader. They may be compressed. A read that blocks cannot be stopped.
///
/// # Errors
///
/// The same as for [`read_observed`].
pub(crate) fn read_reader<R, T, J, K>(
    reader: R,
    options: &ReadOptions<'_>,
    observer: &(dyn Fn(Chunk<'_>) + Sync),
    process: &J,
    commit: &K,
) -> Result<ReadSummary, OpenError>
where
    R: Read + Send,
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    read_sequential(reader, &ReadContext { options, sizes: WorkSizes::DEFAULT, observer: ChunkObserver(observer), process, commit })
}

/// A callback that gets the chunks of a sequential text in order.
#[derive(Clone, Copy)]
pub(super) struct ChunkObserver<'a>(pub(super) &'a (dyn Fn(Chunk<'_>) + Sync));

impl std::fmt::Debug for ChunkObserver<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("See")
    }
}

/// Sizes of the units of work. They do not change the result.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkSizes {
    /// Bytes of a regular file that one worker processes at a time. Large enough that the overhead does not matter;
    /// small enough that all workers finish at about the same time, and that the results stay in the cache until they
    /// are committed.
    pub(super) range: u64,
    /// Bytes per read; stays in the cache while the lines are processed.
    pub(super) block: usize,
}

impl WorkSizes {
    /// The sizes outside of tests.
    const DEFAULT: Self = Self { range: 1 << 20, block: 256 << 10 };
}

/// The options and callbacks of a read.
#[derive(Debug)]
pub(super) struct ReadContext<'a, J, K> {
    pub(super) options: &'a ReadOptions<'a>,
    pub(super) sizes: WorkSizes,
    pub(super) observer: ChunkObserver<'a>,
    pub(super) process: &'a J,
    pub(super) commit: &'a K,
}

impl<J, K> ReadContext<'_, J, K> {
    /// Whether the caller stopped the read.
    pub(super) fn stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    /// The limits for line buffers.
    pub(super) fn limits(&self) -> BlockLimits {
        BlockLimits { block: self.sizes.block, max_line: self.options.max_line }
    }

    /// Processes and commits a block that needs no check afterwards.
    fn process_and_commit<T>(&self, block: &LineBlock)
    where
        J: Fn(Chunk<'_>) -> T,
        K: Fn(T),
    {
        (self.commit)((self.process)(block.chunk()));
    }
}

/// A file of length 0 may have content all the same, as in `/proc`.
pub(super) fn read_by<T, J, K>(source: &InputSource, context: &ReadContext<'_, J, K>) -> Result<ReadSummary, OpenError>
where
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    if source.kind == SourceKind::Stdin {
        if context.options.range.is_some() {
            return Err(OpenError::NoRange);
        }
        return read_pipe(io::stdin(), context);
    }
    let file = open(&source.path)?;
    let metadata = file.metadata()?;
    match context.options.range {
        _ if metadata.is_file() && metadata.len() > 0 => read_file(file, context),
        None => read_pipe(file, context),
        Some(_) if metadata.is_file() => Ok(ReadSummary { generation: xxh3_64(&[]), ..ReadSummary::default() }),
        Some(_) => Err(OpenError::NoRange),
    }
}

/// Opens without blocking: a named pipe without a writer is waited for later, where the caller can stop it.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

/// Whether a source is a regular, uncompressed file, so that a byte range of it can be read.
///
/// # Errors
///
/// It cannot be read, or is no text.
pub(crate) fn has_byte_ranges(source: &InputSource) -> Result<bool, OpenError> {
    if source.kind != SourceKind::File {
        return Ok(false);
    }
    let snapshot = FileSnapshot::take(&open(&source.path)?)?;
    Ok(magic::detect(&snapshot.head)?.is_none())
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
        Some(_) if context.options.range.is_some() => Err(OpenError::NoRange),
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
    read_sequential(PollingReader { fd, stop: context.options.stop }, context)
}

/// Reads from start to end what can be neither mapped nor read in parts.
fn read_sequential<R, T, J, K>(reader: R, context: &ReadContext<'_, J, K>) -> Result<ReadSummary, OpenError>
where
    R: Read + Send,
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    let mut source = PeekReader::new(CountingReader::new(reader, context.options.progress), HEAD);
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

/// Text this many times larger than its file is worth a note: logs do not compress so well.
const REMARKABLE_RATIO: u64 = 200;
/// Bytes of compressed data per read.
const READ_SIZE: usize = 64 << 10;

/// `compressed_bytes` returns how many bytes of the source were read.
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
        summary.notes.push(format!("decompresses to {times} times its size"));
    }
    Ok(summary)
}

/// A run of whole lines of one input. The chunks of an input are ordered by `offset` and do not overlap.
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
    /// One line over the length limit. Its text was skipped.
    Oversized {
        /// Length without the newline.
        bytes: u64,
    },
}

/// The result of reading one input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSummary {
    /// Bytes of log text read, after decompression, with holes and a byte-order mark.
    pub bytes: u64,
    /// XXH3 of the first 1,024 bytes of the text, or of all if there are fewer, with a byte-order mark if there is
    /// one. Identifies the generation of a log, whether plain, compressed or piped.
    pub generation: u64,
    /// Bytes of holes and NUL runs that were skipped at the start and the end of the text. A writer leaves them when
    /// it keeps its old offset after `copytruncate`, or when it preallocates space.
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

/// Reads a text to its end, and returns the source after it.
///
/// # Errors
///
/// It is not text.
fn read_stream<R, T, J, K>(source: R, context: &ReadContext<'_, J, K>) -> Result<(ReadSummary, PeekReader<R>), OpenError>
where
    R: Read + Send,
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    let mut source = PeekReader::new(source, HEAD);
    let bom = magic::bom_len(source.head())?;
    let generation = xxh3_64(source.head());
    source.skip(bom);
    let mut lines = LineBlockReader::new(CancellableReader { source, stop: context.options.stop }, bom as u64, context.limits());
    let end = process_all(&mut lines, context);
    let mut summary = ReadSummary { bytes: lines.seen(), generation, hole_bytes: lines.hole_bytes(), ..ReadSummary::default() };
    if let Err(error) = end {
        summary.stopped = context.stopped();
        summary.damage = (!summary.stopped).then(|| describe(&error, summary.bytes));
    }
    Ok((summary, lines.into_source().source))
}

/// The error as a sentence.
fn describe(error: &io::Error, at: u64) -> String {
    match error.raw_os_error() {
        Some(_) => format!("cannot be read after byte {at}: {error}"),
        None => error.to_string(),
    }
}

/// Blocks that may wait for each worker. The reader processes a block itself only while this many wait; meanwhile the
/// others process at most two each, so no worker is idle.
const WAITING_PER_WORKER: usize = 2;
/// Blocks that may wait in total, since every worker may read a text of its own.
const MAX_WAITING: usize = 32;

/// Reads block by block; idle workers of the pool process blocks meanwhile.
///
/// If too many blocks wait already, the reader processes the block itself, which bounds the memory.
fn process_all<R, T, J, K>(lines: &mut LineBlockReader<R>, context: &ReadContext<'_, J, K>) -> io::Result<()>
where
    R: Read + Send,
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    let (waiting, spare) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let (waiting, spare) = (&waiting, &spare);
    let max_waiting = MAX_WAITING.min(WAITING_PER_WORKER * (rayon::current_num_threads() - 1));
    rayon::scope(|scope| {
        while let Some(block) = lines.next()? {
            (context.observer.0)(block.chunk());
            if waiting.load(Ordering::Relaxed) >= max_waiting {
                context.process_and_commit(&block);
                lines.recycle(block.into_buffer());
                continue;
            }
            waiting.fetch_add(1, Ordering::Relaxed);
            scope.spawn(move |_| {
                waiting.fetch_sub(1, Ordering::Relaxed);
                context.process_and_commit(&block);
                put_buffer(spare, block);
            });
            lines.recycle(take_buffer(spare));
        }
        Ok(())
    })
}

/// Buffers are only reused to save work, so a list that a panic poisoned is ignored.
fn put_buffer(spare: &Mutex<Vec<Vec<u8>>>, block: LineBlock) {
    if let Ok(mut spare) = spare.lock() {
        spare.push(block.into_buffer());
    }
}

fn take_buffer(spare: &Mutex<Vec<Vec<u8>>>) -> Vec<u8> {
    spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default()
}
