//! Reads one source as chunks of whole lines: opens it, detects by its first bytes what it is, and
//! chooses how to read it.
//!
//! File names do not matter: an uncompressed file called `.gz` is read as text. A compressed file
//! or a pipe is a stream: it is read in order, and its blocks are processed while the rest is still
//! being read. Bytes read from a stream need no check, so every result is committed at once.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use super::decompress::Decompressor;
use super::file_snapshot::FileSnapshot;
use super::find::{InputSource, SourceKind};
pub(crate) use super::line_blocks::LineBlock;
use super::line_blocks::LineBlockReader;
pub use super::line_blocks::{Body, Chunk, SkippedText};
use super::magic;
use super::magic::{Compression, HEAD};
pub use super::read_context::{MAX_LINE, OpenError, ReadOptions, ReadSummary};
use super::read_context::{ReadContext, WorkSizes};
use super::readers::{CancellableReader, CountingReader, PeekReader, PollingReader};
use super::regular_file::read_regular;
use crate::os::system::lock;

/// Like [`read_observed`], without an observer.
///
/// # Errors
///
/// As for [`read_observed`].
#[cfg(any(test, feature = "internals"))]
pub fn read<T: Send>(
    source: &InputSource,
    options: &ReadOptions<'_>,
    process: &(dyn Fn(Chunk<'_>) -> T + Sync),
    commit: &(dyn Fn(T) + Sync),
) -> Result<ReadSummary, OpenError> {
    read_observed(source, None, options, &|_| {}, process, commit)
}

/// Reads `source` to its end, or to the length that a regular file had when it was opened; or the
/// bytes of `reader` in its place, which may be compressed. A read of it that blocks cannot be
/// stopped.
///
/// `process` is called for each chunk, on any worker of the rayon pool and in any order;
/// [`Chunk::offset`] gives the order. `commit` receives the result of `process`, also on any
/// worker, once it is certain that the chunk was in the file. Results from a map whose file was
/// truncated meanwhile are dropped. `commit` covers every line at most once, and every line that
/// can still be read.
///
/// `observer` is called for each chunk of a compressed file or a pipe, in order, before the chunk
/// is processed. Plain files are read in parallel, so it is not called for them.
///
/// Call it within the thread pool that does the work. A pipe without a writer occupies the worker
/// that reads it.
///
/// # Errors
///
/// [`OpenError`], before the first call of `process`. Later errors are in [`ReadSummary::damage`].
pub(crate) fn read_observed<T: Send>(
    source: &InputSource,
    reader: Option<&mut (dyn Read + Send)>,
    options: &ReadOptions<'_>,
    observer: &(dyn Fn(Chunk<'_>) + Sync),
    process: &(dyn Fn(Chunk<'_>) -> T + Sync),
    commit: &(dyn Fn(T) + Sync),
) -> Result<ReadSummary, OpenError> {
    let context = ReadContext {
        options,
        sizes: WorkSizes::DEFAULT,
        observer,
        process,
        commit,
    };
    match reader {
        Some(reader) => read_sequential(reader, &context),
        None => read_by(source, &context),
    }
}

/// A file of length 0 may have content all the same, as in `/proc`.
pub(super) fn read_by<T: Send>(
    source: &InputSource,
    context: &ReadContext<'_, T>,
) -> Result<ReadSummary, OpenError> {
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
        Some(_) if metadata.is_file() => Ok(ReadSummary {
            generation: xxh3_64(&[]),
            ..ReadSummary::default()
        }),
        Some(_) => Err(OpenError::NoRange),
    }
}

/// Opens without blocking: a named pipe without a writer is waited for later, where the caller can
/// stop it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
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

fn read_file<T: Send>(file: File, context: &ReadContext<'_, T>) -> Result<ReadSummary, OpenError> {
    let snapshot = FileSnapshot::take(&file)?;
    match magic::detect(&snapshot.head)? {
        None => read_regular(&file, &snapshot, context),
        Some(_) if context.options.range.is_some() => Err(OpenError::NoRange),
        Some(_) => read_sequential(file, context),
    }
}

pub(super) fn read_pipe<F: AsFd + Send, T: Send>(
    fd: F,
    context: &ReadContext<'_, T>,
) -> Result<ReadSummary, OpenError> {
    read_sequential(
        PollingReader {
            fd,
            stop: context.options.stop,
        },
        context,
    )
}

/// Reads from start to end what can be neither mapped nor read in parts.
fn read_sequential<R: Read + Send, T: Send>(
    reader: R,
    context: &ReadContext<'_, T>,
) -> Result<ReadSummary, OpenError> {
    let mut source = PeekReader::new(CountingReader::new(reader, context.options.progress), HEAD);
    match source.take_initial_error() {
        Some(_) if context.stopped() => {
            return Ok(ReadSummary {
                stopped: true,
                ..ReadSummary::default()
            });
        }
        Some(error) => return Err(error.into()),
        None => {}
    }
    match magic::detect(source.head())? {
        None => Ok(read_stream(source, context)?.0),
        Some(compression) => read_compressed(source, compression, context),
    }
}

/// Text this many times larger than its file is worth a note: logs do not compress so well.
const REMARKABLE_RATIO: u64 = 200;
/// Bytes of compressed data per read.
const READ_SIZE: usize = 64 << 10;

fn read_compressed<R: Read + Send, T: Send>(
    source: PeekReader<CountingReader<'_, R>>,
    compression: Compression,
    context: &ReadContext<'_, T>,
) -> Result<ReadSummary, OpenError> {
    let decompressor = Decompressor::new(BufReader::with_capacity(READ_SIZE, source), compression);
    let (mut summary, source) = read_stream(decompressor, context)?;
    let decompressor = source.rest();
    if let Some(damage) = decompressor.damage() {
        summary.damage.get_or_insert_with(|| damage.to_owned());
    }
    summary.notes.extend(decompressor.note().map(str::to_owned));
    let times = summary.bytes / decompressor.source().get_ref().rest().bytes().max(1);
    if times > REMARKABLE_RATIO {
        summary
            .notes
            .push(format!("decompresses to {times} times its size"));
    }
    Ok(summary)
}

/// Reads a text to its end, and returns the source after it.
///
/// # Errors
///
/// It is not text.
fn read_stream<R: Read + Send, T: Send>(
    source: R,
    context: &ReadContext<'_, T>,
) -> Result<(ReadSummary, PeekReader<R>), OpenError> {
    let mut source = PeekReader::new(source, HEAD);
    let bom = magic::bom_len(source.head())?;
    let generation = xxh3_64(source.head());
    source.skip(bom);
    let mut lines = LineBlockReader::new(
        CancellableReader {
            source,
            stop: context.options.stop,
        },
        bom as u64,
        context.limits(),
    );
    let end = process_all(&mut lines, context);
    let mut summary = ReadSummary {
        bytes: lines.seen(),
        generation,
        hole_bytes: lines.hole_bytes(),
        ..ReadSummary::default()
    };
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

/// Blocks that may wait for each worker. The reader processes a block itself only while this many
/// wait; meanwhile the others process at most two each, so no worker is idle.
const WAITING_PER_WORKER: usize = 2;
/// Blocks that may wait in total, since every worker may read a text of its own.
const MAX_WAITING: usize = 32;

/// Reads block by block; idle workers of the pool process blocks meanwhile.
///
/// If too many blocks wait already, the reader processes the block itself, which bounds the memory.
fn process_all<R: Read + Send, T: Send>(
    lines: &mut LineBlockReader<R>,
    context: &ReadContext<'_, T>,
) -> io::Result<()> {
    let (waiting, spare) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let (waiting, spare) = (&waiting, &spare);
    let max_waiting = MAX_WAITING.min(WAITING_PER_WORKER * (rayon::current_num_threads() - 1));
    rayon::scope(|scope| {
        while let Some(block) = lines.next()? {
            (context.observer)(block.chunk());
            if waiting.load(Ordering::Relaxed) >= max_waiting {
                context.process_and_commit(&block);
                lines.recycle(block.into_buffer());
                continue;
            }
            waiting.fetch_add(1, Ordering::Relaxed);
            scope.spawn(move |_| {
                waiting.fetch_sub(1, Ordering::Relaxed);
                context.process_and_commit(&block);
                lock(spare).push(block.into_buffer());
            });
            lines.recycle(lock(spare).pop().unwrap_or_default());
        }
        Ok(())
    })
}
