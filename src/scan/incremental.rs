//! Scans everything that was added to logs since they were last read, optionally split into periods.
//!
//! Lines are copied into batches that are scanned on all threads of the current pool. The result does not depend on the
//! batch size or on scheduling. Nothing is printed and no state is kept; the clock is not read.

mod accumulator;
mod batch_scanner;
mod line_batch;
mod log;
mod period_splitter;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use self::batch_scanner::BatchScanner;
use crate::analysis::model::InputSummary;
use crate::client::Ipv6Prefix;
use crate::engine::ScanOptions;
use crate::formats::Formats;
use crate::input::tail::{Notice, Tail};
use crate::rules::RuleSet;
use crate::source::SourceInfo;
use crate::tally::Tally;
use crate::time::{LogTime, Period, PeriodRule};

/// The settings of an incremental scan.
#[derive(Debug, Clone, Copy)]
pub struct IncrementalJob<'a> {
    /// The rules.
    pub rules: &'a RuleSet,
    /// What to scan for and what to keep.
    pub scope: &'a ScanOptions,
    /// The known formats.
    pub formats: &'a Formats,
    /// Set by another thread to stop the scan.
    pub stop: &'a AtomicBool,
    /// When the run started: a log without any time is counted in this period.
    pub now: LogTime,
    /// The IPv6 prefix that counts as one client; `None` for single addresses.
    pub prefix: Option<Ipv6Prefix>,
}

/// Everything that was added since the last run.
#[derive(Debug, Default)]
pub struct IncrementalResult {
    /// The results by period; a single one if the scan is not split. Empty if nothing was added.
    pub parts: Vec<PeriodResult>,
    /// The logs with new lines, by path; shared by all periods. Lines are numbered from the start of the log.
    pub texts: Vec<SourceInfo>,
    /// Lines without a time, if a time range is set.
    pub without_time: u64,
    /// The scan was stopped early: its results must be dropped.
    pub stopped: bool,
    /// Notices about logs and lines for the user. Problems with an input are in [`InputSummary::problem`] too. The notices
    /// of the tail are included.
    pub notices: Vec<Notice>,
}

/// The lines of one period.
#[derive(Debug)]
pub struct PeriodResult {
    /// `None` if the scan is not split.
    pub period: Option<Period>,
    /// The hits.
    pub tally: Tally,
    /// Line counts by input number. An incomplete last line is counted in the latest period of its log.
    pub inputs: Vec<InputSummary>,
    /// Lines that were read, without incomplete last lines.
    pub lines: u64,
}

/// Scans everything new on the current rayon pool.
pub fn scan_new_lines(tail: &mut Tail, job: &IncrementalJob<'_>, cut: Option<&PeriodRule>) -> IncrementalResult {
    let mut scanner = BatchScanner::new(job, cut, batch_scanner::BATCH_BYTES);
    tail.read_once_until(Instant::now(), job.stop, &mut |piece| scanner.take(&piece));
    let stopped = job.stop.load(Ordering::Relaxed);
    IncrementalResult { stopped, ..scanner.finish(tail) }
}

#[cfg(test)]
mod tests;
