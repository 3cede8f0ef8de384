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
use super::byte_ranges::{ByteRanges, parallel_for};
use super::chunk::{Chunk, ReadSummary};
use super::failpoint;
use super::file_snapshot::FileSnapshot;
use super::filesystem::is_local;
use super::line_blocks::{BlockLimits, LineBlockReader};
use super::magic;
use super::mmap::GuardedMap;
use super::mmap_lines::owned_lines;
use super::read::{OpenError, ReadContext};
use super::readers::check_stop;
use super::sparse::{read_full_at, text_span};

/// Below this many bytes, mapping a file costs more than reading it.
const MIN_MMAP_BYTES: u64 = 1 << 20;
/// How many ranges back nobody reads any more, as a rule.
const RELEASE_DISTANCE: usize = 32;
/// Bytes read at first to find where a line starts: most lines are shorter.
const FIRST_READ: usize = 4 << 10;

/// Reads `file`, of which `snapshot` was just taken.
///
/// # Errors
///
/// It is no text of bytes, or cannot be read at all.
pub(super) fn read_regular<T, J, K>(file: &File, snapshot: &FileSnapshot, context: &ReadContext<'_, J, K>) -> Result<ReadSummary, OpenError>
where
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    let bom = magic::bom_len(&snapshot.head)? as u64;
    let span = text_span(file, bom, snapshot.len)?;
    let mut summary = ReadSummary { generation: xxh3_64(&snapshot.head), ..ReadSummary::default() };
    let map = if span.is_empty() { None } else { map(file, snapshot, context.options.mmap, &mut summary.notes) };
    let text = RegularFileReader::new(file, snapshot, context, span);
    text.read_all(map);
    text.finish(&mut summary);
    summary.hole_bytes = text.bytes_outside_lines() - bom;
    Ok(summary)
}

/// The file's map, where there shall be one and can be one.
fn map(file: &File, snapshot: &FileSnapshot, wanted: Mmap, notes: &mut Vec<String>) -> Option<GuardedMap> {
    let wanted = match wanted {
        Mmap::Auto => snapshot.len >= MIN_MMAP_BYTES && is_local(file),
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
struct RegularFileReader<'a, J, K> {
    file: &'a File,
    snapshot: &'a FileSnapshot,
    context: &'a ReadContext<'a, J, K>,
    /// Where its lines are.
    span: Range<u64>,
    ranges: ByteRanges,
    /// Bytes of lines that were kept.
    kept: AtomicU64,
    /// Whether any range had to be read twice.
    reread: AtomicBool,
    /// The first error of the system.
    error: Mutex<Option<String>>,
}

impl<'a, T, J, K> RegularFileReader<'a, J, K>
where
    T: Send,
    J: Fn(Chunk<'_>) -> T + Sync,
    K: Fn(T) + Sync,
{
    fn new(file: &'a File, snapshot: &'a FileSnapshot, context: &'a ReadContext<'a, J, K>, span: Range<u64>) -> Self {
        let ranges = ByteRanges::new(span.clone(), context.sizes.range);
        Self { file, snapshot, context, span, ranges, kept: AtomicU64::new(0), reread: AtomicBool::new(false), error: Mutex::new(None) }
    }

    /// Goes through all ranges by the map, if there is one, and then through those that it could not vouch for.
    fn read_all(&self, map: Option<GuardedMap>) {
        self.progress(self.bytes_outside_lines());
        let unread = Mutex::new(Vec::new());
        parallel_for(self.ranges.count(), &|index, spare| {
            let range = self.ranges.get(index);
            if self.context.stopped() {
                return false;
            }
            match &map {
                Some(map) if self.process_mapped(map, &range) => {}
                Some(_) => lock(&unread).push(range.clone()),
                None => self.process_read(&range, spare),
            }
            self.progress(range.end - range.start);
            true
        });
        drop(map);
        let unread = lock(&unread);
        self.reread.store(!unread.is_empty(), Ordering::Relaxed);
        parallel_for(unread.len() as u64, &|index, spare| {
            self.process_read(&unread[index as usize], spare);
            !self.context.stopped()
        });
    }

    /// Judges the lines of `range` in the map; whether they could be believed.
    fn process_mapped(&self, map: &GuardedMap, range: &Range<u64>) -> bool {
        if map.faulted() {
            return false;
        }
        let ReadContext { options, process, commit, .. } = self.context;
        let mapped = range.start as usize..range.end as usize;
        let text = self.span.start as usize..self.span.end as usize;
        let Some(owned) = owned_lines(map, &text, &mapped, options.max_line, || self.context.stopped()) else {
            return true;
        };
        // At most two: what is too long to be held ends the range.
        let mut chunks = owned.chunks(map.bytes());
        let results = [chunks.next().map(process), chunks.next().map(process)];
        failpoint::after_chunk();
        let end = owned.span.end.max(mapped.end) as u64;
        let believed = self.snapshot.holds(self.file, end).unwrap_or(false) && !map.faulted();
        if believed {
            results.into_iter().flatten().for_each(commit);
            self.kept.fetch_add(owned.span.len() as u64, Ordering::Relaxed);
        }
        release_behind(map, mapped);
        believed
    }

    /// Reads and judges the lines of `range`, as far as they are still there. Uses and leaves a buffer in `spare`.
    fn process_read(&self, range: &Range<u64>, spare: &mut Vec<u8>) {
        if let Err(error) = self.try_process_read(range, spare)
            && !self.context.stopped()
            && error.kind() != io::ErrorKind::UnexpectedEof
        {
            lock(&self.error).get_or_insert_with(|| error.to_string());
        }
    }

    fn try_process_read(&self, range: &Range<u64>, spare: &mut Vec<u8>) -> io::Result<()> {
        let Some(start) = self.first_line(range, spare)? else { return Ok(()) };
        let limits = BlockLimits { block: self.block(), ..self.context.limits() };
        let mut lines = LineBlockReader::for_range(self.source(start..self.span.end), start, range.end + 1, limits);
        lines.recycle(std::mem::take(spare));
        let mut results = Vec::new();
        let end = loop {
            match lines.next() {
                Ok(Some(block)) => {
                    results.push((self.context.process)(block.chunk()));
                    failpoint::after_chunk();
                    lines.recycle(block.into_buffer());
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        if self.snapshot.same_head(self.file)? {
            results.into_iter().for_each(self.context.commit);
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
        let mut step = FIRST_READ.min(buffer.len());
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
        self.context.sizes.block.min(usize::try_from(self.span.end - self.span.start).unwrap_or(usize::MAX))
    }

    fn source(&self, span: Range<u64>) -> FileRangeReader<'a> {
        FileRangeReader { file: self.file, span, stop: self.context.options.stop }
    }

    /// Bytes of the file that are no lines: holes and a byte-order mark.
    fn bytes_outside_lines(&self) -> u64 {
        self.snapshot.len - (self.span.end - self.span.start)
    }

    fn progress(&self, bytes: u64) {
        self.context.options.progress.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What it all came to.
    fn finish(&self, summary: &mut ReadSummary) {
        let kept = self.kept.load(Ordering::Relaxed);
        let complete = kept == self.span.end - self.span.start;
        // A line that swallowed others when its newline was overwritten may make them more.
        summary.bytes = (self.bytes_outside_lines() + kept).min(self.snapshot.len);
        summary.stopped = !complete && self.context.stopped();
        if summary.stopped {
            return;
        }
        summary.damage = lock(&self.error).take();
        if summary.damage.is_none()
            && let Some(how) = self.describe_change(complete)
        {
            summary.damage = Some(format!("{how} during the scan: {} of {} bytes were read", summary.bytes, self.snapshot.len));
        } else if self.reread.load(Ordering::Relaxed) {
            summary.notes.push("its map could not be trusted; the rest was read without it".to_owned());
        }
    }

    /// What became of the file, if lines are lost or others may have got among them.
    fn describe_change(&self, complete: bool) -> Option<&'static str> {
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
    let step = RELEASE_DISTANCE * range.len();
    if range.start % step < range.len() {
        map.release(range.start.saturating_sub(2 * step)..range.start.saturating_sub(step));
    }
}

/// A part of a file, read without moving its position. The file must reach so far: it fails with
/// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if not, so that half a line is not taken for a last line.
#[derive(Debug)]
struct FileRangeReader<'a> {
    file: &'a File,
    /// What is left of it.
    span: Range<u64>,
    stop: &'a AtomicBool,
}

impl Read for FileRangeReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        check_stop(self.stop)?;
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
