//! Gathers lines into batches, scans them on all threads, and counts the results.
//!
//! All lines pass through two parallel steps, which read times and match rules. Between them, one thread assigns each
//! batch to a period in order.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use rayon::prelude::*;

use super::accumulator::{MAX_OPEN, PeriodAccumulators, PeriodKey};
use super::line_batch::{BatchLines, CountedRun, LineBatch, OwnedPiece, whole_run};
use super::log::IncrementalLog;
use super::period_splitter::{PeriodRun, PeriodSplitter};
use super::{IncrementalOptions, IncrementalResult};
use crate::engine::LineScanner;
use crate::finding::Findings;
use crate::formats::W3cHeader;
use crate::formats::reader::LineContext;
use crate::input::find::InputOrigin;
use crate::input::read::Body;
use crate::input::tail::{LogView, Notice, Tail};
use crate::scan::ScanJob;
use crate::scan::discovery::layout_notice;
use crate::scan::input_stats::InputStats;
use crate::scan::log_detection::{
    BINARY_PROBLEM, any_line_parses, skipped_message, starts_as_access_log, unknown_client_notices, unparsed_problem,
};
use crate::scan::worker::WorkerPool;
use crate::source::SourceInfo;
use crate::tally::LinePosition;

/// The number of bytes that are scanned in parallel.
pub(super) const BATCH_BYTES: usize = 4 << 20;
/// The maximum number of line batches, if they are small.
const MAX_BATCH_PIECES: usize = 1024;
/// The limit of bytes of one log that wait.
const MAX_WAITING_BYTES: usize = 1 << 20;

/// What is known about a line batch before it is scanned.
struct PreparedBatch {
    runs: Vec<PeriodRun>,
    parses: bool,
}

/// Gathers and scans lines.
#[derive(Debug)]
pub(super) struct BatchScanner<'a> {
    job: &'a ScanJob<'a>,
    options: &'a IncrementalOptions<'a>,
    scanner: LineScanner<'a>,
    /// The number of bytes at which a batch is scanned.
    max_bytes: usize,
    batch: Vec<LineBatch>,
    bytes: usize,
    /// The bytes of all lines so far.
    read_bytes: u64,
    logs: HashMap<u32, IncrementalLog>,
    sources: Vec<SourceInfo>,
    by_path: HashMap<Vec<u8>, u32>,
    parts: PeriodAccumulators,
    /// Takes the buffers of scanned lines, for reuse.
    used: Sender<Vec<u8>>,
}

impl<'a> BatchScanner<'a> {
    /// Scans lines in batches of `max_bytes`. Sends their buffers to `used`.
    pub(super) fn new(job: &'a ScanJob<'a>, options: &'a IncrementalOptions<'a>, max_bytes: usize, used: Sender<Vec<u8>>) -> Self {
        Self {
            job,
            options,
            scanner: LineScanner::new(job.rules, job.scope),
            max_bytes,
            batch: Vec::new(),
            bytes: 0,
            read_bytes: 0,
            logs: HashMap::new(),
            sources: Vec::new(),
            by_path: HashMap::new(),
            parts: PeriodAccumulators::default(),
            used,
        }
    }

    /// Adds a piece of a log; scans the batch if it is full.
    pub(super) fn take(&mut self, owned: OwnedPiece) {
        if self.options.stop.load(Ordering::Relaxed) {
            return;
        }
        let piece = owned.piece();
        let log = self.logs.entry(piece.log).or_insert_with(|| IncrementalLog::new(&piece, self.job));
        let mut header = W3cHeader::None;
        if let Body::Lines(lines) = piece.chunk.body {
            if log.head.is_none() {
                log.record_head(lines, self.job.scope.max_line);
            }
            header = log.advance_header(lines, self.job.scope.max_line);
        }
        let batch = owned.into_batch(header);
        self.bytes += batch.lines.held();
        self.read_bytes += batch.lines.bytes();
        self.batch.push(batch);
        if self.bytes >= self.max_bytes || self.batch.len() >= MAX_BATCH_PIECES {
            self.flush();
        }
    }

    /// Whether the results so far should be used before more is read.
    pub(super) fn is_full(&self) -> bool {
        self.read_bytes >= self.options.max_bytes || self.parts.are_full()
    }

    fn flush(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.bytes = 0;
        let prepare = |batch: &LineBatch| self.prepare(batch);
        let prepared: Vec<PreparedBatch> = match self.options.cut {
            Some(_) => batch.par_iter().with_max_len(1).map(prepare).collect(),
            // Without periods, only the first lines of a log are read here: that takes less time than to wake other threads.
            None => batch.iter().map(prepare).collect(),
        };
        let mut ready = Vec::new();
        for (batch, prepared) in batch.into_iter().zip(prepared) {
            self.assign_periods(batch, prepared, &mut ready);
        }
        self.count(&ready);
        for buffer in ready.into_iter().filter_map(|(batch, _)| batch.lines.into_buffer()) {
            // Fails if the reader is done.
            let _ = self.used.send(buffer);
        }
    }

    /// Prepares a line batch; runs in parallel.
    fn prepare(&self, batch: &LineBatch) -> PreparedBatch {
        let BatchLines::Text(text) = &batch.lines else { return PreparedBatch { runs: Vec::new(), parses: false } };
        let log = self.logs.get(&batch.log);
        let context = self.job.context(batch, log);
        let runs = match self.options.cut {
            Some(cut) => PeriodSplitter::new(cut, self.job.scope, context.clone()).runs(text),
            None => vec![PeriodRun { period: None, start: 0, end: text.len(), lines_before: 0 }],
        };
        let is_known = log.is_none_or(|log| log.is_known);
        PreparedBatch { runs, parses: is_known || any_line_parses(text, &context, self.job.scope.format) }
    }

    /// Decides whether a line batch counts and in which period. If that is not known yet, it waits; otherwise the
    /// waiting batches of its log are released.
    fn assign_periods(&mut self, batch: LineBatch, prepared: PreparedBatch, ready: &mut Vec<(LineBatch, Vec<PeriodRun>)>) {
        let Some(log) = self.logs.get_mut(&batch.log) else { return };
        log.is_known |= prepared.parses && !log.is_report();
        let first = prepared.runs.iter().find_map(|run| run.period);
        let is_waiting = !log.is_known || self.options.cut.is_some() && log.period.or(first).is_none();
        if is_waiting {
            let number = batch.log;
            log.wait(batch);
            if log.waiting_bytes > MAX_WAITING_BYTES {
                self.end_waiting(number, ready);
            }
            return;
        }
        let before = log.period.or(first);
        for batch in log.release() {
            let runs = whole_run(&batch, before);
            ready.push((batch, runs));
        }
        let mut runs = prepared.runs;
        if runs.is_empty() {
            runs = whole_run(&batch, before);
        }
        for run in &mut runs {
            run.period = run.period.or(before);
        }
        log.period = runs.last().and_then(|run| run.period);
        ready.push((batch, runs));
    }

    /// A log has waited too long: it is classified by what is known.
    fn end_waiting(&mut self, number: u32, ready: &mut Vec<(LineBatch, Vec<PeriodRun>)>) {
        let Some(log) = self.logs.get_mut(&number) else { return };
        log.is_known |= !log.is_not_access_log();
        if !log.is_known {
            log.drop_waiting();
            return;
        }
        let period = self.options.cut.map(|cut| cut.period_of(self.options.now));
        log.period = period;
        for batch in log.release() {
            let runs = whole_run(&batch, period);
            ready.push((batch, runs));
        }
    }

    /// Scans the lines that count.
    fn count(&mut self, ready: &[(LineBatch, Vec<PeriodRun>)]) {
        let mut counted = Vec::new();
        for (batch, runs) in ready {
            let Some(input) = self.input_of(batch.log) else { continue };
            for run in runs {
                counted.push(CountedRun { period: run.period, input, log: batch.log, batch, run: *run });
            }
        }
        counted.sort_by_key(|run| run.period);
        let mut rest = counted.as_slice();
        while !rest.is_empty() {
            let periods: BTreeSet<PeriodKey> =
                rest.chunk_by(|one, other| one.period == other.period).take(MAX_OPEN).map(|runs| runs[0].period).collect();
            let end = rest.partition_point(|run| periods.last().is_some_and(|last| run.period <= *last));
            let group;
            (group, rest) = rest.split_at(end);
            self.count_group(group, &periods);
        }
    }

    fn count_group(&mut self, group: &[CountedRun<'_>], periods: &BTreeSet<PeriodKey>) {
        let Self { job, scanner, parts, logs, .. } = self;
        let workers = parts.open(periods, rayon::current_num_threads(), job.prefix);
        let done: Vec<InputStats> = group.par_iter().with_max_len(1).map(|run| scan_run(*scanner, job, logs, run, &workers)).collect();
        for (run, stats) in group.iter().zip(done) {
            parts.count(run.period, run.input, run.bytes(), &stats);
            if let Some(log) = self.logs.get_mut(&run.log) {
                log.counts.add(&stats.lines);
            }
        }
        self.parts.measure();
    }

    /// The number of the input of a log.
    fn input_of(&mut self, number: u32) -> Option<u32> {
        let log = self.logs.get_mut(&number)?;
        if let Some(input) = log.input {
            return Some(input);
        }
        let path = log.path.as_os_str().as_bytes().to_vec();
        let new = self.sources.len() as u32;
        let input = *self.by_path.entry(path.clone()).or_insert(new);
        if input == new {
            self.sources.push(SourceInfo::new(path, log.generation, Vec::new()));
        }
        log.input = Some(input);
        if log.skipped.0 > 0 {
            self.parts.count_skipped(log.period, input, log.skipped);
        }
        Some(input)
    }

    /// Scans the rest and returns the results.
    pub(super) fn finish(mut self, tail: &mut Tail) -> IncrementalResult {
        self.flush();
        let mut notices = tail.notices();
        let mut ready = Vec::new();
        let mut numbers: Vec<u32> = self.logs.keys().copied().collect();
        numbers.sort_unstable();
        for number in &numbers {
            self.classify_log(*number, &mut notices);
            self.end_waiting(*number, &mut ready);
        }
        self.count(&ready);
        for number in numbers {
            self.add_log_notices(number, &mut notices);
        }
        self.add_line_notices(&mut notices);
        // After a pause, the rest of the line is there and will be read.
        let is_pending = |log: &LogView<'_>| log.pending && !self.is_full();
        let pending: Vec<_> = tail.logs().filter(is_pending).map(|log| log.path.to_owned()).collect();
        for path in pending {
            if let Some(input) = self.by_path.get(path.as_os_str().as_bytes()) {
                self.parts.count_pending(*input);
            }
        }
        let without_time = self.parts.without_time();
        IncrementalResult {
            parts: self.parts.into_parts(&self.sources),
            sources: self.sources,
            without_time,
            stopped: false,
            notices,
            has_more: false,
        }
    }

    /// Decides whether a log without parsed lines counts.
    fn classify_log(&mut self, number: u32, notices: &mut Vec<Notice>) {
        let ScanJob { scope, formats, .. } = *self.job;
        let Some(log) = self.logs.get_mut(&number).filter(|log| !log.is_known) else { return };
        log.is_known = log.is_continued && starts_as_access_log(&log.path, formats, scope);
        let Some(head) = log.head.as_ref().filter(|_| !log.is_known && log.is_not_access_log() && log.fresh) else { return };
        let is_requested = log.by == InputOrigin::Name && head.is_binary;
        let what = if is_requested { BINARY_PROBLEM.to_owned() } else { skipped_message(head) };
        notices.push(Notice { path: log.path.clone(), what, problem: is_requested });
    }

    /// Adds notices about a counted log: no line parses, or the client of some lines is unknown.
    fn add_log_notices(&mut self, number: u32, notices: &mut Vec<Notice>) {
        let Some(log) = self.logs.get(&number) else { return };
        let ScanJob { scope, formats, .. } = *self.job;
        let unknown = unknown_client_notices(&log.counts, formats, &log.path);
        let layouts = layout_notice(&log.counts, log.layouts.as_ref());
        notices.extend(unknown.chain(layouts).map(|what| Notice { path: log.path.clone(), what, problem: false }));
        let is_doubtful = log.is_known && log.counts.lines > log.counts.skipped && log.counts.parsed() == 0;
        if is_doubtful && !(log.is_continued && starts_as_access_log(&log.path, formats, scope)) {
            let what = unparsed_problem(log.lines(), log.first_line(), scope.format, formats);
            notices.push(Notice { path: log.path.clone(), what, problem: true });
        }
    }

    /// Adds problems of a log to its line counts, and those that its lines show to the notices.
    fn add_line_notices(&mut self, notices: &mut Vec<Notice>) {
        for notice in notices.iter().filter(|notice| notice.problem) {
            if let Some(input) = self.by_path.get(notice.path.as_os_str().as_bytes()) {
                self.parts.set_problem(*input, &notice.what);
            }
        }
        for (input, what) in self.parts.line_problems() {
            let path = Path::new(std::ffi::OsStr::from_bytes(&self.sources[input as usize].path)).to_owned();
            self.parts.set_problem(input, &what);
            // Its first problem says enough.
            if !notices.iter().any(|notice| notice.problem && notice.path == path) {
                notices.push(Notice { path, what, problem: true });
            }
        }
    }
}

/// Scans a run of lines with the workers of its period. An oversized line is only counted.
fn scan_run(
    scanner: LineScanner<'_>,
    job: &ScanJob<'_>,
    logs: &HashMap<u32, IncrementalLog>,
    run: &CountedRun<'_>,
    workers: &BTreeMap<PeriodKey, &WorkerPool>,
) -> InputStats {
    let mut stats = InputStats::default();
    let worker = WorkerPool::current_index();
    let range = run.run.start..run.run.end;
    let (BatchLines::Text(text), Some(workers)) = (&run.batch.lines, workers.get(&run.period)) else {
        stats.add(&Findings::of_oversized_line());
        return stats;
    };
    let log = logs.get(&run.log);
    let batch_context = job.context(run.batch, log);
    let header = batch_context.header.clone().after(&text[..range.start], job.scope.max_line);
    let mut context = LineContext { header, ..batch_context };
    let mut any_format = workers.scanner(worker);
    let mut scratch = workers.scratch(worker);
    let mut findings = any_format.scan(scanner, job.scope, &text[range.clone()], &context, &mut scratch);
    if let Some(position) = log.and_then(|log| log.clients.detect(findings.lines.without_client, &log.path, false)) {
        context.clients = position;
        scratch.recycle(findings);
        findings = any_format.scan(scanner, job.scope, &text[range], &context, &mut scratch);
    }
    let chunk = run.batch.offset + run.run.start as u64;
    let position = LinePosition { input: run.input, chunk, offset: 0, line: run.batch.lines_before + run.run.lines_before };
    workers.tally(worker).add_findings(&findings, position);
    stats.add(&findings);
    scratch.recycle(findings);
    drop(scratch);
    workers.flush_if_full(worker);
    stats
}
