//! Scans one input into the tallies and accounts for its lines.

use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::client_position::ClientPositionCache;
use super::discovery::{layout_notice, layouts_in, layouts_of_file};
use super::hit_spool::HitSpool;
use super::input_stats::{HitLines, InputStats};
use super::log_detection::{
    BINARY_PROBLEM, LogHead, nul_bytes_problem, skipped_message, starts_as_access_log, unknown_client_notices, unparsed_problem,
};
use super::w3c_headers::W3cHeaderIndex;
use super::worker::{InFlightGuard, WorkerPool, lock};
use super::{BatchOptions, ScanJob};
use crate::analysis::model::{InputSummary, SkipReason};
use crate::engine::LineScanner;
use crate::finding::{Findings, LineCounts};
use crate::formats::reader::LineContext;
use crate::formats::{ForwardedLines, Layouts};
use crate::input::find::{InputOrigin, InputSource, SourceKind, describe_denied};
use crate::input::read::{self, Body, Chunk, OpenError, ReadOptions, ReadSummary};
use crate::source::{LineSpan, SourceInfo};
use crate::tally::LinePosition;

/// A byte-order mark at the start belongs to no line.
const MAX_BOM_LEN: u64 = 3;

/// The scan of one input, with what it shares with others.
pub(super) struct InputScan<'a> {
    number: usize,
    source: &'a InputSource,
    job: &'a ScanJob<'a>,
    options: &'a BatchOptions<'a>,
    line_scanner: LineScanner<'a>,
    workers: &'a WorkerPool,
    spool: Option<&'a HitSpool>,
    headers: W3cHeaderIndex,
    clients: ClientPositionCache,
    /// The layouts that were discovered in the first lines, which decide before any other line is scanned.
    layouts: OnceLock<Option<Arc<Layouts>>>,
    state: Mutex<InputState<'a>>,
}

/// The result of one input.
pub(super) struct InputResult {
    pub(super) source: SourceInfo,
    pub(super) input: Option<InputSummary>,
    pub(super) notes: ScanNotes,
}

/// What a scan reports once for all its inputs.
#[derive(Default)]
pub(super) struct ScanNotes {
    pub(super) notices: Vec<String>,
    pub(super) without_time: u64,
    pub(super) stopped: bool,
    pub(super) has_forwarded: bool,
    pub(super) hits: HitLines,
}

impl InputResult {
    /// The result of a file in a folder that is not a log.
    fn not_a_log(path: Vec<u8>, what: &str) -> Self {
        let notices = vec![format!("skipped: {what}, not an access log")];
        Self { source: SourceInfo::new(path, 0, Vec::new()), input: None, notes: ScanNotes { notices, ..ScanNotes::default() } }
    }
}

/// What is known about an input so far.
#[derive(Default)]
struct InputState<'w> {
    stats: InputStats,
    /// The byte offset and the number of lines of each chunk.
    runs: Vec<(u64, u64)>,
    head: LogHead,
    /// A sample of the lines.
    forwarded: ForwardedLines,
    /// Findings that are held back until a line parses or the input is known to be a log.
    held: Vec<ChunkResult<'w>>,
    is_log: bool,
    /// The lines of the range that is read.
    span: Option<LineSpan>,
    /// A line at the start of the log parses, before the range that is read.
    is_known_log: bool,
}

/// The findings in one chunk.
struct ChunkResult<'w> {
    worker: usize,
    offset: u64,
    findings: Findings,
    /// The start of the text, for the first chunk.
    head: Option<LogHead>,
    forwarded: ForwardedLines,
    in_flight: Option<InFlightGuard<'w>>,
}

impl InputResult {
    /// The result of an input that is not read.
    pub(super) fn skipped(source: &InputSource, why: SkipReason, progress: &AtomicU64) -> Self {
        progress.fetch_add(source.path.metadata().map_or(0, |metadata| metadata.len()), Ordering::Relaxed);
        let path = source.path.as_os_str().as_bytes().to_vec();
        let input = InputSummary { path: path.clone(), skipped_whole: Some(why), ..InputSummary::default() };
        Self { source: SourceInfo::new(path, 0, Vec::new()), input: Some(input), notes: ScanNotes::default() }
    }
}

impl<'a> InputScan<'a> {
    pub(super) fn new(
        (number, source): (usize, &'a InputSource),
        job: &'a ScanJob<'a>,
        options: &'a BatchOptions<'a>,
        workers: &'a WorkerPool,
        spool: Option<&'a HitSpool>,
    ) -> Self {
        let headers = W3cHeaderIndex::new(source, job.scope.max_line, options.range);
        let line_scanner = LineScanner::new(job.rules, job.scope);
        let clients = ClientPositionCache::default();
        let head = options.range.and_then(|_| LogHead::of_file(&source.path, job.scope.max_line)).unwrap_or_default();
        let layouts = OnceLock::new();
        if source.kind == SourceKind::File {
            layouts.get_or_init(|| layouts_of_file(&source.path, job.formats, job.scope));
        }
        let state = Mutex::new(InputState { head, ..InputState::default() });
        Self { number, source, job, options, line_scanner, workers, spool, headers, clients, layouts, state }
    }

    /// Reads the input to its end.
    pub(super) fn read(self) -> InputResult {
        let observer = &|chunk: Chunk<'_>| self.observe(chunk);
        let reading = read::read_observed(self.source, &self.read_options(), observer, &|chunk| self.scan_chunk(chunk), &|result| {
            self.commit(result);
        });
        self.into_result(reading)
    }

    /// Reads a reader to its end in place of the source.
    pub(super) fn read_from<R: Read + Send>(self, reader: R) -> InputResult {
        let observer = &|chunk: Chunk<'_>| self.observe(chunk);
        let reading =
            read::read_reader(reader, &self.read_options(), observer, &|chunk| self.scan_chunk(chunk), &|result| self.commit(result));
        self.into_result(reading)
    }

    fn read_options(&self) -> ReadOptions<'a> {
        let BatchOptions { mmap, stop, progress, range, .. } = *self.options;
        ReadOptions { mmap, max_line: self.job.scope.max_line, stop, progress, range }
    }

    /// Observes a chunk of an input that is read in order, before it is scanned.
    fn observe(&self, chunk: Chunk<'_>) {
        self.headers.observe(chunk);
        self.clients.observe(chunk);
        if let Body::Lines(lines) = chunk.body {
            self.layouts.get_or_init(|| layouts_in(lines, &self.source.path, self.job.formats, self.job.scope));
        }
    }

    fn scan_chunk(&self, chunk: Chunk<'_>) -> ChunkResult<'a> {
        let worker = WorkerPool::current_index();
        let mut forwarded = ForwardedLines::default();
        let (findings, head, in_flight) = match chunk.body {
            Body::Lines(lines) => {
                let head = (chunk.offset <= MAX_BOM_LEN).then(|| LogHead::new(lines, self.job.scope.max_line));
                forwarded = ForwardedLines::in_sample(lines);
                let mut any_format = self.workers.scanner(worker);
                let mut scratch = self.workers.scratch(worker);
                let mut context = self.context(chunk.offset);
                let mut findings = any_format.scan(self.line_scanner, self.job.scope, lines, &context, &mut scratch);
                if let Some(position) = self.clients.detect(findings.lines.without_client, &self.source.path, false) {
                    context.clients = position;
                    scratch.recycle(findings);
                    findings = any_format.scan(self.line_scanner, self.job.scope, lines, &context, &mut scratch);
                }
                (findings, head, Some(self.workers.in_flight(worker, &scratch)))
            }
            Body::Oversized { .. } => (Findings::of_oversized_line(), None, None),
        };
        ChunkResult { worker, offset: chunk.offset, findings, head, forwarded, in_flight }
    }

    /// The context of the lines from this offset on.
    fn context(&self, offset: u64) -> LineContext<'a> {
        let ScanJob { formats, scope, .. } = *self.job;
        let (first, header, clients) = (formats.preferred_for(&self.source.path), self.headers.at(offset), self.clients.current());
        let layouts = self.layouts.get().cloned().flatten();
        LineContext { formats, preferred: first, header, layouts, clients, max_line: scope.max_line }
    }

    fn commit(&self, result: ChunkResult<'a>) {
        let mut ready = Vec::new();
        {
            let mut state = lock(&self.state);
            state.add(&result, self.origin());
            if state.is_log {
                ready = std::mem::take(&mut state.held);
                ready.push(result);
            } else {
                state.held.push(result);
            }
        }
        self.count(ready);
    }

    /// Adds findings to the tallies of their workers.
    fn count(&self, ready: Vec<ChunkResult<'a>>) {
        for ChunkResult { worker, offset, findings, in_flight, .. } in ready {
            let position = LinePosition { input: self.number as u32, chunk: offset, offset: 0, line: 0 };
            self.workers.tally(worker).add_findings(&findings, position);
            let mut scratch = self.workers.scratch(worker);
            if let Some(spool) = self.spool {
                spool.push(&findings, &scratch.names, position);
            }
            scratch.recycle(findings);
            drop(scratch);
            drop(in_flight);
            self.workers.flush_if_full(worker);
        }
    }

    /// How the input was found.
    fn origin(&self) -> InputOrigin {
        InputOrigin::new(self.source.named, !self.source.literal)
    }

    fn into_result(self, reading: Result<ReadSummary, OpenError>) -> InputResult {
        let path = self.source.path.as_os_str().as_bytes().to_vec();
        let (reading, unread) = match reading {
            Ok(reading) => (reading, None),
            Err(OpenError::NoLog(what)) if !self.source.named => return InputResult::not_a_log(path, what),
            Err(OpenError::Unreadable(error)) if error.kind() == ErrorKind::PermissionDenied => {
                (ReadSummary::default(), Some(describe_denied(&self.source.path)))
            }
            Err(unread) => (ReadSummary::default(), Some(unread.to_string())),
        };
        let mut state = std::mem::take(&mut *lock(&self.state));
        if let Some(span) = reading.span {
            // The head of the log is in another range.
            state.is_log |= self.origin() == InputOrigin::Name && !state.head.is_binary;
            state.span = Some(LineSpan { lines: state.stats.lines.lines, ..span });
            state.is_known_log = state.is_log && starts_as_access_log(&self.source.path, self.job.formats, self.job.scope);
        }
        let lines = state.stats.lines.lines;
        let is_not_access_log = lines > 0 && !state.is_log && state.head.is_not_access_log(&path, self.origin());
        let held = std::mem::take(&mut state.held);
        if !is_not_access_log {
            self.count(held);
        }
        let source = SourceInfo::new(path.clone(), reading.generation, state.runs.clone());
        let mut notices = reading.notes.clone();
        let (stopped, without_time) = (reading.stopped, state.stats.without_time);
        let is_binary = is_not_access_log && state.head.is_binary && self.source.named;
        let is_passed_over = is_not_access_log && !is_binary;
        notices.extend(is_passed_over.then(|| skipped_message(&state.head)));
        notices.extend(layout_notice(&state.stats.lines, self.layouts.get().and_then(Option::as_ref)));
        let has_forwarded = state.forwarded.are_most();
        let hits = if is_not_access_log { HitLines::default() } else { state.stats.hits };
        notices.extend(unknown_client_notices(&state.stats.lines, self.job.formats, &self.source.path));
        let unread = unread.or_else(|| is_binary.then(|| BINARY_PROBLEM.to_owned()));
        let input = (!is_passed_over).then(|| state.input(path, &reading, unread, self.job));
        InputResult { source, input, notes: ScanNotes { notices, without_time, stopped, has_forwarded, hits } }
    }
}

impl<'w> InputState<'w> {
    fn add(&mut self, result: &ChunkResult<'w>, by: InputOrigin) {
        let findings = &result.findings;
        self.stats.add(findings);
        self.forwarded.add(result.forwarded);
        self.runs.push((result.offset, findings.lines.lines));
        if let Some(head) = &result.head {
            self.head.clone_from(head);
            self.is_log |= by == InputOrigin::Name && !head.is_binary;
        }
        self.is_log |= findings.lines.parsed() > 0 && (by == InputOrigin::Name || !self.head.is_report);
    }

    fn input(self, path: Vec<u8>, reading: &ReadSummary, unread: Option<String>, job: &ScanJob<'_>) -> InputSummary {
        let problem = unread.or_else(|| self.problem(reading, job));
        InputSummary { problem, spans: self.span.into_iter().collect(), ..self.stats.input(path, reading.bytes) }
    }

    fn problem(&self, reading: &ReadSummary, job: &ScanJob<'_>) -> Option<String> {
        let LineCounts { lines, nul_bytes, skipped, .. } = self.stats.lines;
        if let Some(damage) = &reading.damage {
            return Some(damage.clone());
        }
        if lines == 0 && reading.hole_bytes > 0 {
            return Some(format!("contains only {} NUL bytes", reading.hole_bytes));
        }
        if lines > skipped && self.stats.lines.parsed() == 0 && !self.is_known_log {
            return Some(unparsed_problem(lines, &self.head.first_line, job.scope.format, job.formats));
        }
        nul_bytes_problem(nul_bytes)
    }
}
