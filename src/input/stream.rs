//! Judges a text that comes in order, while the rest of it still comes.
//!
//! What was read from a stream was in it, so every result is kept at once. Nothing is read twice and nothing is waited
//! for but the source.

use std::io::{self, Read};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use super::chunk::{Chunk, Reading};
use super::line_blocks::{Block, Lines};
use super::magic::{self, HEAD};
use super::peek::Peeked;
use super::read::{Caller, Unread};
use super::stop::UntilStopped;

/// Reads a text to its end; gives the source back behind it.
///
/// # Errors
///
/// It is no text of bytes.
pub(super) fn read_text<R, T, J, K>(source: R, caller: &Caller<'_, J, K>) -> Result<(Reading, Peeked<R>), Unread>
where
    R: Read + Send,
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    let mut source = Peeked::new(source, HEAD);
    let bom = magic::bom(source.head())?;
    let generation = xxh3_64(source.head());
    source.pass(bom);
    let mut lines = Lines::of_text(UntilStopped { source, stop: caller.options.stop }, bom as u64, caller.limits());
    let end = judge_all(&mut lines, caller);
    let mut reading = Reading { bytes: lines.seen(), generation, hole_bytes: lines.hole_bytes(), ..Reading::default() };
    if let Err(error) = end {
        reading.stopped = caller.stopped();
        reading.damage = (!reading.stopped).then(|| describe(&error, reading.bytes));
    }
    Ok((reading, lines.into_source().source))
}

/// What is wrong, in a sentence. The system's errors are not yet one.
fn describe(error: &io::Error, at: u64) -> String {
    match error.raw_os_error() {
        Some(_) => format!("cannot be read behind byte {at}: {error}"),
        None => error.to_string(),
    }
}

/// Blocks that may wait for each worker. While the reader judges one itself and gets the next, which it does only as long
/// as judging takes longer than that, the others judge no more than two each: so nobody runs out of work.
const WAITING: usize = 2;
/// Blocks that may wait in all, as every worker may be the reader of a text of its own.
const MOST_WAITING: usize = 32;

/// Judges block by block; idle workers of the pool take blocks over while this one reads on.
///
/// A block waits for them only while few wait already, which bounds the memory. Otherwise everyone is busy, and the reader
/// judges it itself.
fn judge_all<R, T, J, K>(lines: &mut Lines<R>, caller: &Caller<'_, J, K>) -> io::Result<()>
where
    R: Read + Send,
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    let (waiting, spare) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let (waiting, spare) = (&waiting, &spare);
    let most = MOST_WAITING.min(WAITING * (rayon::current_num_threads() - 1));
    rayon::scope(|scope| {
        while let Some(block) = lines.next()? {
            (caller.see.0)(block.chunk());
            if waiting.load(Ordering::Relaxed) >= most {
                caller.judge_and_keep(&block);
                lines.recycle(block.into_buffer());
                continue;
            }
            waiting.fetch_add(1, Ordering::Relaxed);
            scope.spawn(move |_| {
                waiting.fetch_sub(1, Ordering::Relaxed);
                caller.judge_and_keep(&block);
                put(spare, block);
            });
            lines.recycle(take(spare));
        }
        Ok(())
    })
}

/// Buffers are only saved work: a list that a panic left behind is not worth another.
fn put(spare: &Mutex<Vec<Vec<u8>>>, block: Block) {
    if let Ok(mut spare) = spare.lock() {
        spare.push(block.into_buffer());
    }
}

fn take(spare: &Mutex<Vec<Vec<u8>>>) -> Vec<u8> {
    spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default()
}
