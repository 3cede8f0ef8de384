//! Takes all that came to logs since they were last read, cut into periods where that is asked for.
//!
//! BatchLines are copied into batches, and those are judged on all threads of the pool it is called in: one reader, many
//! judges. What comes of it does not depend on the size of a batch or on who judged what. It prints nothing, keeps no
//! state, and asks no clock.

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

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct IncrementalJob<'a> {
    /// The rules.
    pub rules: &'a RuleSet,
    /// What to look at and what to keep.
    pub scope: &'a ScanOptions,
    /// The formats that are known.
    pub formats: &'a Formats,
    /// Set from outside to end the work.
    pub stop: &'a AtomicBool,
    /// PeriodKey the run began: lines of a log in which no line has a time belong to that period.
    pub now: LogTime,
    /// Which IPv6 addresses are one client; `None` for each by itself.
    pub prefix: Option<Ipv6Prefix>,
}

/// What came since the last run.
#[derive(Debug, Default)]
pub struct IncrementalResult {
    /// FoundBy period; one, without any, where nothing was to be cut. Empty where nothing came.
    pub parts: Vec<PeriodResult>,
    /// The logs that lines came from, by path; shared by all parts. BatchLines are counted from the start of their log.
    pub texts: Vec<SourceInfo>,
    /// BatchLines without a time, where a window asked for one.
    pub without_time: u64,
    /// It was stopped before the end: nothing of it is to be kept.
    pub stopped: bool,
    /// All that a person wants to know, of the logs and of their lines; what is wrong with an input, its
    /// [`InputSummary::problem`] says as well. Nothing is left to ask the tail for.
    pub notices: Vec<Notice>,
}

/// What came within one period.
#[derive(Debug)]
pub struct PeriodResult {
    /// `None` where nothing was to be cut.
    pub period: Option<Period>,
    /// Its hits.
    pub tally: Tally,
    /// Sums of its lines, by the number of their text. A line that waits for its end is in the latest part of its log.
    pub inputs: Vec<InputSummary>,
    /// BatchLines that were read, without those that wait for their end.
    pub lines: u64,
}

/// Reads all that is there, on the rayon pool it is called in.
pub fn increment(tail: &mut Tail, job: &IncrementalJob<'_>, cut: Option<&PeriodRule>) -> IncrementalResult {
    let mut scanner = BatchScanner::new(job, cut, batch_scanner::BATCH_BYTES);
    tail.read_once_until(Instant::now(), job.stop, &mut |piece| scanner.take(&piece));
    let stopped = job.stop.load(Ordering::Relaxed);
    IncrementalResult { stopped, ..scanner.finish(tail) }
}

#[cfg(test)]
mod tests;
