//! Reads a regular file of plain text: ranges in parallel, from a map or by reading, each believed only once the file
//! proves to be the one that was opened.
//!
//! Ends where the file ended when it was opened. What a map cannot vouch for is read again without it; what is gone by
//! then is said to be, and never made up.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use memchr::memchr;
use xxhash_rust::xxh3::xxh3_64;

use super::Mmap;
use super::byte_ranges::{Ranges, share_out};
use super::chunk::{Chunk, Reading};
use super::failpoint;
use super::file_snapshot::Snapshot;
use super::filesystem::is_local;
use super::line_blocks::{Limits, Lines};
use super::magic;
use super::mmap::GuardedMap;
use super::mmap_lines::owned_lines;
use super::read::{Caller, Unread};
use super::sparse::{read_full_at, text_span};
use super::stop;

/// Below this many bytes, mapping a file costs more than reading it.
const WORTH_MAPPING: u64 = 1 << 20;
/// How many ranges back nobody reads any more, as a rule.
const LONG_DONE: usize = 32;
/// Bytes read at first to find where a line starts: most lines are shorter.
const GLANCE: usize = 4 << 10;

/// Reads `file`, of which `snapshot` was just taken.
///
/// # Errors
///
/// It is no text of bytes, or cannot be read at all.
pub(super) fn read_regular<T, J, K>(file: &File, snapshot: &Snapshot, caller: &Caller<'_, J, K>) -> Result<Reading, Unread>
where
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    let bom = magic::bom(&snapshot.head)? as u64;
    let span = text_span(file, bom, snapshot.len)?;
    let mut reading = Reading { generation: xxh3_64(&snapshot.head), ..Reading::default() };
    let map = if span.is_empty() { None } else { map(file, snapshot, caller.options.mmap, &mut reading.notes) };
    let text = Text::new(file, snapshot, caller, span);
    text.read_all(map);
    text.sum_up(&mut reading);
    reading.hole_bytes = text.outside() - bom;
    Ok(reading)
}

/// The file's map, where there shall be one and can be one.
fn map(file: &File, snapshot: &Snapshot, wanted: Mmap, notes: &mut Vec<String>) -> Option<GuardedMap> {
    let wanted = match wanted {
        Mmap::Auto => snapshot.len >= WORTH_MAPPING && is_local(file),
        Mmap::Always => true,
        Mmap::Never => false,
    };
    let len = usize::try_from(snapshot.len).ok().filter(|_| wanted)?;
    GuardedMap::new(file, len).unwrap_or_else(|error| {
        notes.push(format!("cannot be mapped ({error}); it was read instead"));
        None
    })
}

/// A file while it is read.
struct Text<'a, J, K> {
    file: &'a File,
    snapshot: &'a Snapshot,
    caller: &'a Caller<'a, J, K>,
    /// Where its lines are.
    span: Range<u64>,
    ranges: Ranges,
    /// Bytes of lines that were kept.
    kept: AtomicU64,
    /// Whether any range had to be read twice.
    doubted: AtomicBool,
    /// The first error of the system.
    error: Mutex<Option<String>>,
}

impl<'a, T, J, K> Text<'a, J, K>
where
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    fn new(file: &'a File, snapshot: &'a Snapshot, caller: &'a Caller<'a, J, K>, span: Range<u64>) -> Self {
        let ranges = Ranges::new(span.clone(), caller.sizes.range);
        Self { file, snapshot, caller, span, ranges, kept: AtomicU64::new(0), doubted: AtomicBool::new(false), error: Mutex::new(None) }
    }

    /// Goes through all ranges by the map, if there is one, and then through those that it could not vouch for.
    fn read_all(&self, map: Option<GuardedMap>) {
        self.progress(self.outside());
        let unread = Mutex::new(Vec::new());
        share_out(self.ranges.count(), &|index, spare| {
            let range = self.ranges.get(index);
            if self.caller.stopped() {
                return false;
            }
            match &map {
                Some(map) if self.judge_mapped(map, &range) => {}
                Some(_) => lock(&unread).push(range.clone()),
                None => self.judge_read(&range, spare),
            }
            self.progress(range.end - range.start);
            true
        });
        drop(map);
        let unread = lock(&unread);
        self.doubted.store(!unread.is_empty(), Ordering::Relaxed);
        share_out(unread.len() as u64, &|index, spare| {
            self.judge_read(&unread[index as usize], spare);
            !self.caller.stopped()
        });
    }

    /// Judges the lines of `range` in the map; whether they could be believed.
    fn judge_mapped(&self, map: &GuardedMap, range: &Range<u64>) -> bool {
        if map.faulted() {
            return false;
        }
        let Caller { options, judge, keep, .. } = self.caller;
        let mapped = range.start as usize..range.end as usize;
        let text = self.span.start as usize..self.span.end as usize;
        let Some(owned) = owned_lines(map, &text, &mapped, options.max_line, || self.caller.stopped()) else {
            return true;
        };
        // At most two: what is too long to be held ends the range.
        let mut chunks = owned.chunks(map.bytes());
        let judged = [chunks.next().map(judge), chunks.next().map(judge)];
        failpoint::after_chunk();
        let end = owned.span.end.max(mapped.end) as u64;
        let believed = self.snapshot.holds(self.file, end).unwrap_or(false) && !map.faulted();
        if believed {
            judged.into_iter().flatten().for_each(keep);
            self.kept.fetch_add(owned.span.len() as u64, Ordering::Relaxed);
        }
        release_behind(map, mapped);
        believed
    }

    /// Reads and judges the lines of `range`, as far as they are still there. Uses and leaves a buffer in `spare`.
    fn judge_read(&self, range: &Range<u64>, spare: &mut Vec<u8>) {
        if let Err(error) = self.try_judge_read(range, spare)
            && !self.caller.stopped()
            && error.kind() != io::ErrorKind::UnexpectedEof
        {
            lock(&self.error).get_or_insert_with(|| error.to_string());
        }
    }

    fn try_judge_read(&self, range: &Range<u64>, spare: &mut Vec<u8>) -> io::Result<()> {
        let Some(start) = self.first_line(range, spare)? else { return Ok(()) };
        let limits = Limits { block: self.block(), ..self.caller.limits() };
        let mut lines = Lines::of_range(self.source(start..self.span.end), start, range.end + 1, limits);
        lines.recycle(std::mem::take(spare));
        let mut judged = Vec::new();
        let end = loop {
            match lines.next() {
                Ok(Some(block)) => {
                    judged.push((self.caller.judge)(block.chunk()));
                    failpoint::after_chunk();
                    lines.recycle(block.into_buffer());
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        if self.snapshot.same_head(self.file)? {
            judged.into_iter().for_each(self.caller.keep);
            self.kept.fetch_add(lines.offset() - start, Ordering::Relaxed);
        }
        *spare = lines.into_buffer();
        end
    }

    /// Where the first line that `range` owns starts, if there is one.
    fn first_line(&self, range: &Range<u64>, buffer: &mut Vec<u8>) -> io::Result<Option<u64>> {
        if range.start == self.span.start {
            return Ok(Some(range.start));
        }
        let mut source = self.source(range.clone());
        buffer.resize(buffer.len().max(self.block()), 0);
        let mut step = GLANCE.min(buffer.len());
        loop {
            let at = source.span.start;
            let read = source.read(&mut buffer[..step])?;
            if read == 0 {
                return Ok(None);
            }
            if let Some(newline) = memchr(b'\n', &buffer[..read]) {
                return Ok(Some(at + newline as u64 + 1));
            }
            step = buffer.len();
        }
    }

    /// Bytes to read in one go: no more than there are.
    fn block(&self) -> usize {
        self.caller.sizes.block.min(usize::try_from(self.span.end - self.span.start).unwrap_or(usize::MAX))
    }

    fn source(&self, span: Range<u64>) -> Part<'a> {
        Part { file: self.file, span, stop: self.caller.options.stop }
    }

    /// Bytes of the file that are no lines: holes and a byte-order mark.
    fn outside(&self) -> u64 {
        self.snapshot.len - (self.span.end - self.span.start)
    }

    fn progress(&self, bytes: u64) {
        self.caller.options.progress.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What it all came to.
    fn sum_up(&self, reading: &mut Reading) {
        let kept = self.kept.load(Ordering::Relaxed);
        let complete = kept == self.span.end - self.span.start;
        // A line that swallowed others when its newline was overwritten may make them more.
        reading.bytes = (self.outside() + kept).min(self.snapshot.len);
        reading.stopped = !complete && self.caller.stopped();
        if reading.stopped {
            return;
        }
        reading.damage = lock(&self.error).take();
        if reading.damage.is_none()
            && let Some(how) = self.change(complete)
        {
            reading.damage = Some(format!("{how} during the scan: {} of {} bytes were read", reading.bytes, self.snapshot.len));
        } else if self.doubted.load(Ordering::Relaxed) {
            reading.notes.push("its map could not be trusted; the rest was read without it".to_owned());
        }
    }

    /// What became of the file, if lines are lost or others may have got among them.
    fn change(&self, complete: bool) -> Option<&'static str> {
        // Whatever cannot be asked any more changed too.
        let same = |asked: io::Result<bool>| asked.unwrap_or(false);
        let shorter = self.file.metadata().is_ok_and(|now| now.len() < self.snapshot.len);
        if complete && (shorter || same(self.snapshot.same_tail(self.file))) {
            // Cut short behind the reader's back is no harm.
            return None;
        }
        match (shorter, same(self.snapshot.same_head(self.file))) {
            (true, _) => Some("truncated"),
            (false, true) => Some("rewritten"),
            // Every range was checked against the head: replaced after the last one is no harm either.
            (false, false) => (!complete).then_some("replaced"),
        }
    }
}

/// Gives back the memory of ranges long done, many at a time: each time, every thread has to forget where the pages of the map
/// are. What is still read comes back.
fn release_behind(map: &GuardedMap, range: Range<usize>) {
    let step = LONG_DONE * range.len();
    if range.start % step < range.len() {
        map.release(range.start.saturating_sub(2 * step)..range.start.saturating_sub(step));
    }
}

/// A part of a file, read without moving its position. The file must reach so far: it fails with
/// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if not, so that half a line is not taken for a last line.
#[derive(Debug)]
struct Part<'a> {
    file: &'a File,
    /// What is left of it.
    span: Range<u64>,
    stop: &'a AtomicBool,
}

impl Read for Part<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        stop::check(self.stop)?;
        let left = usize::try_from(self.span.end - self.span.start).unwrap_or(usize::MAX);
        let want = out.len().min(left);
        if want == 0 {
            return Ok(0);
        }
        let at = self.span.start;
        match read_full_at(self.file, &mut out[..want], at) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                self.span.start += read as u64;
                Ok(read)
            }
            Err(error) => Err(io::Error::new(error.kind(), format!("cannot be read behind byte {at}: {error}"))),
        }
    }
}

/// Nobody panics while holding one of these locks: they are held for a push.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
