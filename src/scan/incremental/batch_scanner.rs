//! Gathers lines into batches, scans them on all threads, and counts the results.
//!
//! All lines pass through two parallel steps, which read times and match rules. Between them, one
//! thread assigns each batch to a period in order.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use rayon::prelude::*;

use super::accumulator::{MAX_OPEN, PeriodAccumulators, PeriodKey};
use super::line_batch::{CountedRun, LineBatch, PeriodRun, period_runs, whole_run};
use super::{IncrementalOptions, IncrementalResult};
use crate::engine::LineScanner;
use crate::input::read::{Body, Chunk};
use crate::input::tail::{LineChunk, LogView, Notice, Tail};
use crate::log::finding::{Findings, LineCounts};
use crate::log::source::SourceInfo;
use crate::log::time::Period;
use crate::scan::ScanJob;
use crate::scan::any_format::scan_any_format;
use crate::scan::input_stats::InputStats;
use crate::scan::log::ScannedLog;
use crate::scan::worker::WorkerPool;
use crate::tally::LinePosition;

/// The number of bytes that are scanned in parallel.
pub(super) const BATCH_BYTES: usize = 4 << 20;
/// The maximum number of line batches, if they are small.
const MAX_BATCHES: usize = 1024;
/// The limit of bytes of one log that wait for a period.
const MAX_WAITING_BYTES: usize = 1 << 20;

/// A log with new lines.
#[derive(Debug)]
struct IncrementalLog {
    scanned: ScannedLog,
    generation: u64,
    /// The period of the last line.
    period: Option<Period>,
    /// Lines whose period is not known yet, because no line before them has a time.
    waiting: Vec<LineBatch>,
    waiting_bytes: usize,
    counts: LineCounts,
    /// The number of its input, once a line counts.
    input: Option<u32>,
}

impl IncrementalLog {
    fn new(line_chunk: &LineChunk<'_>, job: &ScanJob<'_>) -> Self {
        Self {
            scanned: ScannedLog::of_chunk(line_chunk, job.formats, job.scan_options),
            generation: line_chunk.generation,
            period: None,
            waiting: Vec::new(),
            waiting_bytes: 0,
            counts: LineCounts::default(),
            input: None,
        }
    }

    /// Takes the waiting batches, in order, as runs of a period.
    fn release(&mut self, period: PeriodKey) -> impl Iterator<Item = (LineBatch, Vec<PeriodRun>)> {
        self.waiting_bytes = 0;
        std::mem::take(&mut self.waiting)
            .into_iter()
            .map(move |batch| {
                let runs = whole_run(&batch, period);
                (batch, runs)
            })
    }
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
    notices: Vec<Notice>,
    /// Takes the buffers of scanned lines, for reuse.
    used: Sender<Vec<u8>>,
}

impl<'a> BatchScanner<'a> {
    /// Scans lines in batches of `max_bytes`. Sends their buffers to `used`.
    pub(super) fn new(
        job: &'a ScanJob<'a>,
        options: &'a IncrementalOptions<'a>,
        max_bytes: usize,
        used: Sender<Vec<u8>>,
    ) -> Self {
        Self {
            job,
            options,
            scanner: LineScanner::new(job.rules, job.scan_options),
            max_bytes,
            batch: Vec::new(),
            bytes: 0,
            read_bytes: 0,
            logs: HashMap::new(),
            sources: Vec::new(),
            by_path: HashMap::new(),
            parts: PeriodAccumulators::default(),
            notices: Vec::new(),
            used,
        }
    }

    /// Adds a chunk of a log; scans the batch if it is full. The lines of a file that is no access
    /// log are dropped.
    pub(super) fn take(&mut self, mut batch: LineBatch) {
        if self.options.stop.load(Ordering::Relaxed) {
            return;
        }
        let line_chunk = batch.line_chunk();
        let is_first = !self.logs.contains_key(&line_chunk.log);
        let log = self
            .logs
            .entry(line_chunk.log)
            .or_insert_with(|| IncrementalLog::new(&line_chunk, self.job));
        let header = log
            .scanned
            .advance_header(line_chunk.chunk.body, self.job.scan_options.max_line);
        if !log.scanned.is_access_log() {
            if is_first && line_chunk.fresh {
                self.notices
                    .extend(log.scanned.skipped().map(|what| Notice {
                        path: line_chunk.path.to_owned(),
                        what,
                        problem: log.scanned.is_named_binary(),
                    }));
            }
            return;
        }
        batch.header = header;
        self.bytes += batch.lines().len();
        self.read_bytes += batch.block.chunk().body.bytes();
        self.batch.push(batch);
        if self.bytes >= self.max_bytes || self.batch.len() >= MAX_BATCHES {
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
        let runs = |batch: &LineBatch| self.runs(batch);
        let all_runs: Vec<Vec<PeriodRun>> = match self.options.period_rule {
            Some(_) => batch.par_iter().with_max_len(1).map(runs).collect(),
            None => batch.iter().map(runs).collect(),
        };
        let mut ready = Vec::new();
        for (batch, runs) in batch.into_iter().zip(all_runs) {
            self.assign_periods(batch, runs, &mut ready);
        }
        self.count(&ready);
        for buffer in ready
            .into_iter()
            .filter_map(|(batch, _)| batch.into_buffer())
        {
            // Fails if the reader is done.
            let _ = self.used.send(buffer);
        }
    }

    /// The runs of lines of one period in a batch.
    fn runs(&self, batch: &LineBatch) -> Vec<PeriodRun> {
        let (Some(period_rule), Body::Lines(text)) =
            (self.options.period_rule, batch.block.chunk().body)
        else {
            return whole_run(batch, None);
        };
        let ScanJob {
            formats,
            scan_options,
            ..
        } = *self.job;
        period_runs(
            text,
            period_rule,
            scan_options,
            self.logs[&batch.log]
                .scanned
                .context(formats, scan_options, batch.header.clone()),
        )
    }

    /// Decides in which period the runs of a batch count: lines without a time are in the period of
    /// the line before them. A batch before the first time of a log waits for it.
    fn assign_periods(
        &mut self,
        batch: LineBatch,
        mut runs: Vec<PeriodRun>,
        ready: &mut Vec<(LineBatch, Vec<PeriodRun>)>,
    ) {
        let log = log_mut(&mut self.logs, batch.log);
        let before = log
            .period
            .or_else(|| runs.iter().find_map(|run| run.period));
        if self.options.period_rule.is_some() && before.is_none() {
            let number = batch.log;
            log.waiting_bytes += batch.lines().len();
            log.waiting.push(batch);
            if log.waiting_bytes > MAX_WAITING_BYTES {
                self.end_waiting(number, ready);
            }
            return;
        }
        ready.extend(log.release(before));
        for run in &mut runs {
            run.period = run.period.or(before);
        }
        log.period = runs.last().and_then(|run| run.period);
        ready.push((batch, runs));
    }

    /// A log has waited too long for a time: its lines count in the period of the clock.
    fn end_waiting(&mut self, number: u32, ready: &mut Vec<(LineBatch, Vec<PeriodRun>)>) {
        let log = log_mut(&mut self.logs, number);
        let period = self
            .options
            .period_rule
            .map(|period_rule| period_rule.period_of(self.options.now));
        if !log.waiting.is_empty() {
            log.period = period;
        }
        ready.extend(log.release(period));
    }

    /// Scans the lines that count.
    fn count(&mut self, ready: &[(LineBatch, Vec<PeriodRun>)]) {
        let mut counted = Vec::new();
        for (batch, runs) in ready {
            let input = self.input_of(batch.log);
            for run in runs {
                counted.push(CountedRun {
                    period: run.period,
                    input,
                    log: batch.log,
                    batch,
                    run: *run,
                });
            }
        }
        counted.sort_by_key(|run| run.period);
        let mut rest = counted.as_slice();
        while !rest.is_empty() {
            let periods: BTreeSet<PeriodKey> = rest
                .chunk_by(|one, other| one.period == other.period)
                .take(MAX_OPEN)
                .map(|runs| runs[0].period)
                .collect();
            let end =
                rest.partition_point(|run| periods.last().is_some_and(|last| run.period <= *last));
            let group;
            (group, rest) = rest.split_at(end);
            self.count_group(group, &periods);
        }
    }

    fn count_group(&mut self, group: &[CountedRun<'_>], periods: &BTreeSet<PeriodKey>) {
        let Self {
            job,
            scanner,
            parts,
            logs,
            ..
        } = self;
        let workers = parts.open(periods, rayon::current_num_threads(), job);
        let done: Vec<InputStats> = group
            .par_iter()
            .with_max_len(1)
            .map(|run| scan_run(*scanner, job, logs, run, &workers))
            .collect();
        for (run, stats) in group.iter().zip(done) {
            parts.count(run.period, run.input, &stats);
            log_mut(&mut self.logs, run.log).counts.add(&stats.lines);
        }
        self.parts.measure();
    }

    /// The number of the input of a log.
    fn input_of(&mut self, number: u32) -> u32 {
        let log = log_mut(&mut self.logs, number);
        if let Some(input) = log.input {
            return input;
        }
        let path = log.scanned.path.as_os_str().as_bytes().to_vec();
        let new = self.sources.len() as u32;
        let input = *self.by_path.entry(path.clone()).or_insert(new);
        if input == new {
            self.sources
                .push(SourceInfo::new(path, log.generation, Vec::new()));
        }
        log.input = Some(input);
        input
    }

    /// Scans the rest and returns the results.
    pub(super) fn finish(mut self, tail: &mut Tail) -> IncrementalResult {
        self.flush();
        let mut notices = tail.notices();
        notices.append(&mut self.notices);
        let mut ready = Vec::new();
        let mut numbers: Vec<u32> = self.logs.keys().copied().collect();
        numbers.sort_unstable();
        for number in &numbers {
            self.end_waiting(*number, &mut ready);
        }
        self.count(&ready);
        for number in numbers {
            self.add_log_notices(number, &mut notices);
        }
        self.add_line_notices(&mut notices);
        // After a pause, the rest of the line is there and will be read.
        let is_pending = |log: &LogView<'_>| log.pending && !self.is_full();
        let pending: Vec<_> = tail
            .logs()
            .filter(is_pending)
            .map(|log| log.path.to_owned())
            .collect();
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
            notices,
            has_more: false,
        }
    }

    /// Adds notices about a counted log: no line parses, or the client of some lines is unknown.
    fn add_log_notices(&mut self, number: u32, notices: &mut Vec<Notice>) {
        let IncrementalLog {
            scanned, counts, ..
        } = &self.logs[&number];
        let ScanJob {
            scan_options,
            formats,
            ..
        } = *self.job;
        let mut add = |what, problem| {
            notices.push(Notice {
                path: scanned.path.clone(),
                what,
                problem,
            });
        };
        scanned
            .notices(counts, formats)
            .for_each(|what| add(what, false));
        scanned
            .unparsed_problem(counts, formats, scan_options)
            .into_iter()
            .for_each(|what| add(what, true));
    }

    /// Adds problems of a log to its line counts, and those that its lines show to the notices.
    fn add_line_notices(&mut self, notices: &mut Vec<Notice>) {
        for notice in notices.iter().filter(|notice| notice.problem) {
            if let Some(input) = self.by_path.get(notice.path.as_os_str().as_bytes()) {
                self.parts.set_problem(*input, &notice.what);
            }
        }
        for (input, what) in self.parts.line_problems() {
            let path = Path::new(std::ffi::OsStr::from_bytes(
                &self.sources[input as usize].path,
            ))
            .to_owned();
            self.parts.set_problem(input, &what);
            // Its first problem says enough.
            if !notices
                .iter()
                .any(|notice| notice.problem && notice.path == path)
            {
                notices.push(Notice {
                    path,
                    what,
                    problem: true,
                });
            }
        }
    }
}

/// The log of a chunk.
#[expect(
    clippy::expect_used,
    reason = "logs are added with their first chunk and never removed"
)]
fn log_mut(logs: &mut HashMap<u32, IncrementalLog>, number: u32) -> &mut IncrementalLog {
    logs.get_mut(&number).expect("the log of a chunk is known")
}

/// Scans a run of lines with the workers of its period. An oversized line is only counted.
fn scan_run(
    scanner: LineScanner<'_>,
    job: &ScanJob<'_>,
    logs: &HashMap<u32, IncrementalLog>,
    run: &CountedRun<'_>,
    workers: &BTreeMap<PeriodKey, &WorkerPool>,
) -> InputStats {
    let mut stats = InputStats {
        bytes: run.bytes(),
        ..InputStats::default()
    };
    let worker = WorkerPool::current_index();
    let range = run.run.start..run.run.end;
    let Chunk { offset, body } = run.batch.block.chunk();
    let text = match body {
        Body::Lines(text) => text,
        Body::Skipped(skipped) => {
            stats.add(&Findings::of_skipped_text(skipped.lines(), skipped.nuls));
            return stats;
        }
    };
    let workers = workers[&run.period];
    let header = run
        .batch
        .header
        .clone()
        .after(&text[..range.start], job.scan_options.max_line);
    let context = logs[&run.log]
        .scanned
        .context(job.formats, job.scan_options, header);
    let mut worker_state = workers.worker_state(worker);
    let findings = scan_any_format(
        &mut workers.log_reader(worker),
        scanner,
        job.scan_options,
        &text[range],
        &context,
        &mut worker_state,
    );
    let chunk = offset + run.run.start as u64;
    let position = LinePosition {
        input: run.input,
        chunk,
        offset: 0,
        line: run.batch.lines_before + run.run.lines_before,
    };
    workers.tally(worker).add_findings(&findings, position);
    stats.add(&findings);
    worker_state.recycle(findings);
    drop(worker_state);
    workers.flush_if_full(worker);
    stats
}
