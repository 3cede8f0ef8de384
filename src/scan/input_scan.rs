//! Scans one input into the tallies and accounts for its lines.

use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use super::any_format::scan_any_format;
use super::hit_spool::HitSpool;
use super::input_stats::{HitLines, InputStats};
use super::log::ScannedLog;
use super::log_detection::nul_bytes_problem;
use super::w3c_headers::W3cHeaderIndex;
use super::worker::{InFlightGuard, WorkerPool};
use super::{BatchOptions, ScanJob};
use crate::engine::LineScanner;
use crate::formats::ForwardedLines;
use crate::input::find::{InputOrigin, InputSource, SourceKind, describe_denied};
use crate::input::read::{self, Body, Chunk, OpenError, ReadOptions, ReadSummary};
use crate::log::finding::Findings;
use crate::log::source::{LineSpan, SourceInfo};
use crate::os::system::lock;
use crate::scan::input_summary::{InputSummary, SkipReason};
use crate::tally::LinePosition;

/// The lines of each chunk after the first that are searched for forwarded clients. A log of 1 MB
/// has four chunks, so a change of its format is seen; with as many as of the first chunk, the
/// search took 4 % of the time of a scan.
const LATER_SAMPLE: usize = 4;

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
    /// Known before any line is scanned.
    log: OnceLock<ScannedLog>,
    state: Mutex<InputState>,
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
    pub(super) has_forwarded: bool,
    pub(super) hits: HitLines,
}

impl InputResult {
    /// The result of a file in a folder that is not a log.
    fn not_a_log(path: Vec<u8>, notice: Option<String>) -> Self {
        let notices = Vec::from_iter(notice);
        Self {
            source: SourceInfo::new(path, 0, Vec::new()),
            input: None,
            notes: ScanNotes {
                notices,
                ..ScanNotes::default()
            },
        }
    }
}

/// What is known about the lines of an input so far.
#[derive(Default)]
struct InputState {
    stats: InputStats,
    /// The byte offset and the number of lines of each chunk.
    runs: Vec<(u64, u64)>,
    /// A sample of the lines.
    forwarded: ForwardedLines,
}

/// The findings in one chunk.
struct ChunkResult<'w> {
    worker: usize,
    offset: u64,
    findings: Findings,
    forwarded: ForwardedLines,
    in_flight: Option<InFlightGuard<'w>>,
}

impl InputResult {
    /// The result of an input that is not read.
    pub(super) fn skipped(source: &InputSource, why: SkipReason, progress: &AtomicU64) -> Self {
        progress.fetch_add(
            source.path.metadata().map_or(0, |metadata| metadata.len()),
            Ordering::Relaxed,
        );
        let path = source.path.as_os_str().as_bytes().to_vec();
        let input = InputSummary {
            path: path.clone(),
            skipped_whole: Some(why),
            ..InputSummary::default()
        };
        Self {
            source: SourceInfo::new(path, 0, Vec::new()),
            input: Some(input),
            notes: ScanNotes::default(),
        }
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
        let headers = W3cHeaderIndex::new(source, job.scan_options.max_line, options.range);
        let line_scanner = LineScanner::new(job.rules, job.scan_options);
        let log = OnceLock::new();
        if source.kind == SourceKind::File {
            log.get_or_init(|| {
                ScannedLog::of_file(&source.path, source.origin, job.formats, job.scan_options)
            });
        }
        Self {
            number,
            source,
            job,
            options,
            line_scanner,
            workers,
            spool,
            headers,
            log,
            state: Mutex::default(),
        }
    }

    /// Reads the input to its end, or `reader` in its place.
    pub(super) fn read(self, reader: Option<&mut (dyn Read + Send)>) -> InputResult {
        if let Some(log) = self.log.get().filter(|log| !log.is_access_log())
            && self.source.origin == InputOrigin::Folder
        {
            self.options.progress.fetch_add(
                self.source
                    .path
                    .metadata()
                    .map_or(0, |metadata| metadata.len()),
                Ordering::Relaxed,
            );
            return InputResult::not_a_log(
                self.source.path.as_os_str().as_bytes().to_vec(),
                log.skipped(),
            );
        }
        let observer = &|chunk: Chunk<'_>| self.observe(chunk);
        let reading = read::read_observed(
            self.source,
            reader,
            &self.read_options(),
            observer,
            &|chunk| self.scan_chunk(chunk),
            &|result| {
                self.commit(result);
            },
        );
        self.into_result(reading)
    }

    fn read_options(&self) -> ReadOptions<'a> {
        let BatchOptions {
            mmap,
            stop,
            progress,
            range,
            ..
        } = *self.options;
        ReadOptions {
            mmap,
            max_line: self.job.scan_options.max_line,
            stop,
            progress,
            range,
        }
    }

    /// Observes a chunk of an input that is read in order, before it is scanned.
    fn observe(&self, chunk: Chunk<'_>) {
        self.headers.observe(chunk);
        self.log(if let Body::Lines(lines) = chunk.body {
            lines
        } else {
            b""
        });
    }

    /// The log, which starts with these lines if it is not known yet.
    fn log(&self, first: &[u8]) -> &ScannedLog {
        let ScanJob {
            formats,
            scan_options,
            ..
        } = *self.job;
        self.log.get_or_init(|| {
            ScannedLog::new(
                &self.source.path,
                self.source.origin,
                first,
                formats,
                scan_options,
            )
        })
    }

    fn scan_chunk(&self, chunk: Chunk<'_>) -> ChunkResult<'a> {
        let ScanJob {
            formats,
            scan_options,
            ..
        } = *self.job;
        let worker = WorkerPool::current_index();
        let mut forwarded = ForwardedLines::default();
        let (findings, in_flight) = match chunk.body {
            Body::Lines(lines) => {
                let count = if chunk.offset == 0 {
                    ForwardedLines::SAMPLE
                } else {
                    LATER_SAMPLE
                };
                forwarded = ForwardedLines::in_sample(lines, count);
                let context =
                    self.log(b"")
                        .context(formats, scan_options, self.headers.at(chunk.offset));
                let mut worker_state = self.workers.worker_state(worker);
                let findings = scan_any_format(
                    &mut self.workers.log_reader(worker),
                    self.line_scanner,
                    scan_options,
                    lines,
                    &context,
                    &mut worker_state,
                );
                (
                    findings,
                    Some(self.workers.in_flight(worker, &worker_state)),
                )
            }
            Body::Skipped(skipped) => (
                Findings::of_skipped_text(skipped.lines(), skipped.nuls),
                None,
            ),
        };
        ChunkResult {
            worker,
            offset: chunk.offset,
            findings,
            forwarded,
            in_flight,
        }
    }

    /// Adds the findings of a chunk to the counts of the input and, if it is a log, to the tally of
    /// their worker.
    fn commit(&self, result: ChunkResult<'a>) {
        let ChunkResult {
            worker,
            offset,
            findings,
            forwarded,
            in_flight,
        } = result;
        {
            let mut state = lock(&self.state);
            state.stats.add(&findings);
            state.forwarded.add(forwarded);
            state.runs.push((offset, findings.lines.lines));
        }
        let is_counted = self.log(b"").is_access_log();
        let position = LinePosition {
            input: self.number as u32,
            chunk: offset,
            offset: 0,
            line: 0,
        };
        if is_counted {
            self.workers.tally(worker).add_findings(&findings, position);
        }
        let mut worker_state = self.workers.worker_state(worker);
        if let Some(spool) = self.spool.filter(|_| is_counted) {
            spool.push(&findings, &worker_state.names, position);
        }
        worker_state.recycle(findings);
        drop(worker_state);
        drop(in_flight);
        self.workers.flush_if_full(worker);
    }

    fn into_result(self, reading: Result<ReadSummary, OpenError>) -> InputResult {
        let path = self.source.path.as_os_str().as_bytes().to_vec();
        let (reading, unread) = match reading {
            Ok(reading) => (reading, None),
            Err(OpenError::NoLog(what)) if self.source.origin == InputOrigin::Folder => {
                return InputResult::not_a_log(
                    path,
                    Some(format!("skipped: {what}, not an access log")),
                );
            }
            Err(OpenError::Unreadable(error)) if error.kind() == ErrorKind::PermissionDenied => (
                ReadSummary::default(),
                Some(describe_denied(&self.source.path)),
            ),
            Err(unread) => (ReadSummary::default(), Some(unread.to_string())),
        };
        let ScanJob {
            formats,
            scan_options,
            ..
        } = *self.job;
        let InputState {
            mut stats,
            runs,
            forwarded,
        } = std::mem::take(&mut *lock(&self.state));
        let log = self.log(b"");
        let lines = stats.lines.lines;
        stats.bytes = reading.bytes;
        let is_skipped = lines > 0 && !log.is_access_log();
        let source = SourceInfo::new(path.clone(), reading.generation, runs);
        let mut notices = reading.notes.clone();
        notices.extend(log.notices(&stats.lines, formats));
        let mut problem = unread;
        if is_skipped {
            let what = log.skipped();
            if !log.is_named_binary() {
                return InputResult::not_a_log(path, what);
            }
            problem = problem.or(what);
        }
        let problem = problem.or_else(|| reading.damage.clone()).or_else(|| {
            let is_hole = lines == 0 && reading.hole_bytes > 0;
            is_hole.then(|| format!("contains only {} NUL bytes", reading.hole_bytes))
        });
        let problem = problem
            .or_else(|| log.unparsed_problem(&stats.lines, formats, scan_options))
            .or_else(|| nul_bytes_problem(stats.lines.nul_bytes));
        let spans = reading
            .span
            .map(|span| LineSpan { lines, ..span })
            .into_iter()
            .collect();
        let notes = ScanNotes {
            notices,
            without_time: stats.without_time,
            has_forwarded: forwarded.are_most(),
            hits: if is_skipped {
                HitLines::default()
            } else {
                stats.hits
            },
        };
        let input = InputSummary {
            problem,
            spans,
            ..stats.input(path)
        };
        InputResult {
            source,
            input: Some(input),
            notes,
        }
    }
}
