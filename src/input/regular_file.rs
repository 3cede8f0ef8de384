//! Reads a regular, uncompressed file: ranges in parallel, from a map or by reading. The results of
//! a range are committed only after a check that the file is still the one that was opened.
//!
//! Reads up to the length that the file had when it was opened. Ranges that a map cannot be trusted
//! for are read again without it. Lines that are gone by then are reported as damage.
//!
//! A range owns the lines that start after a newline in it; the first range also owns the first
//! line. So a line that starts at the first byte of a range belongs to the range before. Each
//! worker finds its lines from the bytes alone and waits for no other. A line longer than a range
//! is read by its owner; the workers of the ranges in between find no line of their own. A range
//! whose last line may be over the limit is not taken from the map but read, in bounded memory.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use memchr::memchr;
use xxhash_rust::xxh3::xxh3_64;

use super::file_snapshot::FileSnapshot;
use super::filesystem::is_local;
use super::line_blocks::{BlockLimits, Body, Chunk, LineBlockReader};
use super::mmap::GuardedMap;
use super::read_context::{OpenError, ReadContext, ReadSummary};
use super::readers::check_stop;
use super::sparse::{read_full_at, text_span};
use super::{ByteRange, Mmap, failpoint, magic};
use crate::log::source::LineSpan;
use crate::os::system::lock;

/// A file smaller than this is read faster than it is mapped.
const MIN_MMAP_BYTES: u64 = 1 << 20;
/// Ranges this far back are normally no longer in use.
const RELEASE_DISTANCE: usize = 8;
/// Bytes read first to find where a line starts: most lines are shorter.
const FIRST_READ: usize = 4 << 10;
/// Bytes per further read.
const SEARCH_READ: usize = 256 << 10;

/// Reads `file`, whose `snapshot` was just taken.
///
/// # Errors
///
/// The file is not text, or cannot be read at all.
pub(super) fn read_regular<T: Send>(
    file: &File,
    snapshot: &FileSnapshot,
    context: &ReadContext<'_, T>,
) -> Result<ReadSummary, OpenError> {
    let bom = magic::bom_len(&snapshot.head)? as u64;
    let text = text_span(file, bom, snapshot.len)?;
    let generation = xxh3_64(&snapshot.head);
    let whole = LineSpan {
        generation,
        start: 0,
        end: snapshot.len,
        lines: 0,
        log_len: snapshot.len,
    };
    let span = match context.options.range {
        None => None,
        Some(ByteRange { from, to }) => {
            let bound = |at| line_bound(file, at, &text, snapshot.len, context.options.stop);
            let (start, end) = (bound(from)?, bound(to)?);
            Some(LineSpan {
                start,
                end,
                ..whole
            })
        }
    };
    let LineSpan { start, end, .. } = span.unwrap_or(whole);
    let lines = start.clamp(text.start, text.end)..end.clamp(text.start, text.end);
    let mut summary = ReadSummary {
        generation,
        span,
        ..ReadSummary::default()
    };
    let map = if lines.is_empty() {
        None
    } else {
        map(file, snapshot, context.options.mmap, &mut summary.notes)
    };
    let outside = end.saturating_sub(start) - (lines.end - lines.start);
    let text = RegularFileReader {
        file,
        snapshot,
        context,
        ranges: ByteRanges::new(lines.clone(), context.sizes.range),
        span: lines,
        bytes_outside_lines: outside,
        kept: AtomicU64::new(0),
        reread: AtomicBool::new(false),
        error: Mutex::new(None),
    };
    text.read_all(map);
    text.finish(&mut summary);
    summary.hole_bytes = outside.saturating_sub(bom);
    Ok(summary)
}

/// The start of the first line at `at` or later, in a file of `len` bytes with its lines in `text`.
/// What precedes the first line belongs to it, and what follows the last line belongs to that one:
/// so ranges that meet at any byte meet here too.
fn line_bound(
    file: &File,
    at: u64,
    text: &Range<u64>,
    len: u64,
    stop: &AtomicBool,
) -> io::Result<u64> {
    if at <= text.start && at < text.end {
        return Ok(0);
    }
    let source = FileRangeReader {
        file,
        span: at.saturating_sub(1).min(text.end)..text.end,
        stop,
    };
    let next = line_after_newline(source, &mut vec![0; SEARCH_READ])?;
    Ok(next.filter(|next| *next < text.end).unwrap_or(len))
}

/// The start of the first line after a newline in `source`.
fn line_after_newline(
    mut source: FileRangeReader<'_>,
    buffer: &mut [u8],
) -> io::Result<Option<u64>> {
    let mut step = FIRST_READ.min(buffer.len());
    loop {
        let from = source.span.start;
        let read = source.read(&mut buffer[..step])?;
        if read == 0 {
            return Ok(None);
        }
        if let Some(newline) = memchr(b'\n', &buffer[..read]) {
            return Ok(Some(from + newline as u64 + 1));
        }
        step = buffer.len();
    }
}

/// Maps the file, if it should be mapped and can be.
fn map(
    file: &File,
    snapshot: &FileSnapshot,
    wanted: Mmap,
    notes: &mut Vec<String>,
) -> Option<GuardedMap> {
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

/// A file that is being read.
struct RegularFileReader<'a, T> {
    file: &'a File,
    snapshot: &'a FileSnapshot,
    context: &'a ReadContext<'a, T>,
    /// The span of its lines.
    span: Range<u64>,
    /// Bytes before and after the lines that are read with them: holes and a byte-order mark.
    bytes_outside_lines: u64,
    ranges: ByteRanges,
    /// Bytes of lines that were committed.
    kept: AtomicU64,
    /// Whether any range was read a second time.
    reread: AtomicBool,
    /// The first system error.
    error: Mutex<Option<String>>,
}

impl<'a, T: Send> RegularFileReader<'a, T> {
    /// Processes all ranges from the map, if there is one, and then reads those that the map could
    /// not be trusted for.
    fn read_all(&self, map: Option<GuardedMap>) {
        self.progress(self.bytes_outside_lines);
        let unread = Mutex::new(Vec::new());
        parallel_for(self.ranges.count(), &|index, spare| {
            let range = self.ranges.get(index);
            if self.context.stopped() {
                return false;
            }
            match &map {
                None => self.process_read(&range, spare),
                Some(map) => {
                    match self.owned_lines(map, &range) {
                        Some(lines) if self.process_mapped(map, &range, &lines) => {}
                        // Its last line is too long for the memory that a map may take.
                        None if !map.faulted() => self.process_read(&range, spare),
                        _ => lock(&unread).push(range.clone()),
                    }
                    release_processed(map, range.start as usize..range.end as usize);
                }
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

    /// The lines in the map that the non-empty `range` owns; `None` if the last of them may be over
    /// the limit.
    fn owned_lines(&self, map: &GuardedMap, range: &Range<u64>) -> Option<Range<usize>> {
        let (from, to) = (range.start as usize, range.end as usize);
        let (text, text_end) = (map.bytes(), self.span.end as usize);
        let start = if range.start == self.span.start {
            from
        } else {
            memchr(b'\n', &text[from..to]).map_or(text_end, |at| from + at + 1)
        };
        if start == text_end {
            return Some(to..to);
        }
        let searched = text_end.min(to + self.context.options.max_line + 1);
        match memchr(b'\n', &text[to..searched]) {
            Some(at) => Some(start..to + at + 1),
            None => (searched == text_end).then_some(start..text_end),
        }
    }

    /// Processes these lines of `range` in the map; returns whether they could be committed.
    fn process_mapped(&self, map: &GuardedMap, range: &Range<u64>, lines: &Range<usize>) -> bool {
        if map.faulted() {
            return false;
        }
        let (end, bytes) = (range.end.max(lines.end as u64), lines.len() as u64);
        let result = (bytes > 0).then(|| {
            (self.context.process)(Chunk {
                offset: lines.start as u64,
                body: Body::Lines(&map.bytes()[lines.clone()]),
            })
        });
        failpoint::after_chunk();
        let believed = self.snapshot.holds(self.file, end).unwrap_or(false) && !map.faulted();
        if believed {
            result.into_iter().for_each(self.context.commit);
            self.kept.fetch_add(bytes, Ordering::Relaxed);
        }
        believed
    }

    /// Reads and processes the lines of `range` that are still in the file. Reuses the buffer
    /// `spare`.
    fn process_read(&self, range: &Range<u64>, spare: &mut Vec<u8>) {
        if let Err(error) = self.try_process_read(range, spare)
            && !self.context.stopped()
            && error.kind() != io::ErrorKind::UnexpectedEof
        {
            lock(&self.error).get_or_insert_with(|| error.to_string());
        }
    }

    fn try_process_read(&self, range: &Range<u64>, spare: &mut Vec<u8>) -> io::Result<()> {
        let Some(start) = self.first_line(range, spare)? else {
            return Ok(());
        };
        let limits = BlockLimits {
            block: self.block(),
            ..self.context.limits()
        };
        let mut lines = LineBlockReader::for_range(
            self.source(start..self.span.end),
            start,
            range.end + 1,
            limits,
        );
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
            self.kept
                .fetch_add(lines.offset() - start, Ordering::Relaxed);
        }
        *spare = lines.into_buffer();
        end
    }

    /// The start of the first line that `range` owns, if there is one.
    fn first_line(&self, range: &Range<u64>, buffer: &mut Vec<u8>) -> io::Result<Option<u64>> {
        if range.start == self.span.start {
            return Ok(Some(range.start));
        }
        buffer.resize(buffer.len().max(self.block()), 0);
        line_after_newline(self.source(range.clone()), buffer)
    }

    /// Bytes per read, at most the length of the text.
    fn block(&self) -> usize {
        self.context
            .sizes
            .block
            .min(usize::try_from(self.span.end - self.span.start).unwrap_or(usize::MAX))
    }

    fn source(&self, span: Range<u64>) -> FileRangeReader<'a> {
        FileRangeReader {
            file: self.file,
            span,
            stop: self.context.options.stop,
        }
    }

    fn progress(&self, bytes: u64) {
        self.context
            .options
            .progress
            .fetch_add(bytes, Ordering::Relaxed);
    }

    /// Completes the summary.
    fn finish(&self, summary: &mut ReadSummary) {
        let kept = self.kept.load(Ordering::Relaxed);
        let complete = kept == self.span.end - self.span.start;
        // A line whose newline was overwritten may cover others, so the sum can exceed the length.
        summary.bytes = (self.bytes_outside_lines + kept).min(self.snapshot.len);
        summary.stopped = !complete && self.context.stopped();
        if summary.stopped {
            return;
        }
        summary.damage = lock(&self.error).take();
        if summary.damage.is_none()
            && let Some(how) = self.describe_change(complete)
        {
            summary.damage = Some(format!(
                "{how} during the scan: {} of {} bytes were read",
                summary.bytes, self.snapshot.len
            ));
        } else if self.reread.load(Ordering::Relaxed) {
            summary.notes.push(
                "its memory map could not be trusted; the rest was read without it".to_owned(),
            );
        }
    }

    /// What happened to the file, if lines are missing or other text may be among them.
    fn describe_change(&self, complete: bool) -> Option<&'static str> {
        // A check that fails counts as a change.
        let same = |check: io::Result<bool>| check.unwrap_or(false);
        let shorter = self
            .file
            .metadata()
            .is_ok_and(|now| now.len() < self.snapshot.len);
        if complete && (shorter || same(self.snapshot.same_tail(self.file))) {
            // Truncation after all lines were read does no harm.
            return None;
        }
        match (shorter, same(self.snapshot.same_head(self.file))) {
            (true, _) => Some("truncated"),
            (false, true) => Some("rewritten"),
            // Every range was checked against the head, so a replacement after the last one does no
            // harm either.
            (false, false) => (!complete).then_some("replaced"),
        }
    }
}

/// Releases the memory of ranges that are done, many at a time, because each release interrupts all
/// threads. Pages still in use are read again.
fn release_processed(map: &GuardedMap, range: Range<usize>) {
    let step = RELEASE_DISTANCE * range.len();
    if range.start % step < range.len() {
        map.release(range.start.saturating_sub(2 * step)..range.start.saturating_sub(step));
    }
}

/// A range of a file, read without moving its position. Fails with
/// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file ends before the range does, so that
/// a truncated line is not taken for the last line.
#[derive(Debug)]
struct FileRangeReader<'a> {
    file: &'a File,
    /// The part that is not read yet.
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
            Err(error) => Err(io::Error::new(
                error.kind(),
                format!("cannot be read after byte {at}: {error}"),
            )),
        }
    }
}

/// Divides `span` at multiples of `size`, so that range borders do not depend on where the text
/// starts.
#[derive(Debug, Clone)]
pub(super) struct ByteRanges {
    span: Range<u64>,
    size: u64,
    first: u64,
}

impl ByteRanges {
    pub(super) fn new(span: Range<u64>, size: u64) -> Self {
        let first = span.start / size;
        Self { span, size, first }
    }

    /// The number of ranges.
    pub(super) fn count(&self) -> u64 {
        if self.span.is_empty() {
            0
        } else {
            self.span.end.div_ceil(self.size) - self.first
        }
    }

    /// The range at `index`.
    pub(super) fn get(&self, index: u64) -> Range<u64> {
        let start = (self.first + index) * self.size;
        start.max(self.span.start)..(start + self.size).min(self.span.end)
    }
}

/// Calls `work` with every index below `count`, on the idle workers of the pool, in about that
/// order. Each worker has its own `S`. Ends early if `work` returns `false`.
///
/// A worker that starts late finds nothing left to do, so nothing waits for busy workers.
fn parallel_for<S: Default>(count: u64, work: &(impl Fn(u64, &mut S) -> bool + Sync)) {
    let next = AtomicU64::new(0);
    let run = || {
        let mut own = S::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count || !work(index, &mut own) {
                break;
            }
        }
    };
    let others = count
        .min(rayon::current_num_threads() as u64)
        .saturating_sub(1);
    if others == 0 {
        return run();
    }
    rayon::scope(|scope| {
        for _ in 0..others {
            scope.spawn(|_| run());
        }
        run();
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn ranges_cover_a_span_without_overlap() {
        for (span, size) in [
            (0..0, 4),
            (0..1, 4),
            (3..9, 4),
            (4..8, 4),
            (5..6, 4),
            (7..(6 << 32), 4 << 20),
            (9..9, 4),
        ] {
            let ranges = ByteRanges::new(span.clone(), size);
            let mut at = span.start;
            for index in 0..ranges.count() {
                let range = ranges.get(index);
                assert!(range.start == at && range.end > at && range.end - range.start <= size);
                at = range.end;
            }
            assert_eq!(at, span.end);
        }
    }

    #[test]
    fn every_index_is_worked_on_once() {
        for count in [0, 1, 2, 1000] {
            let seen = Mutex::new(Vec::new());
            parallel_for(count, &|index, (): &mut ()| {
                seen.lock().unwrap().push(index);
                true
            });
            let mut seen = seen.into_inner().unwrap();
            seen.sort_unstable();
            assert_eq!(seen, (0..count).collect::<Vec<_>>());
        }
    }
}
