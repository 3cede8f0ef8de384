//! Reads a compressed file or a pipe in order, and processes its blocks while the rest is still being read.
//!
//! Bytes read from a stream need no check, so every result is committed at once.

use std::io::{self, Read};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use super::line_blocks::{LineBlock, LineBlockReader};
use super::magic::{self, HEAD};
use super::read::{Chunk, OpenError, ReadContext, ReadSummary};
use super::readers::{CancellableReader, PeekReader};

/// Reads a text to its end, and returns the source after it.
///
/// # Errors
///
/// It is not text.
pub(super) fn read_stream<R, T, J, K>(source: R, context: &ReadContext<'_, J, K>) -> Result<(ReadSummary, PeekReader<R>), OpenError>
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
