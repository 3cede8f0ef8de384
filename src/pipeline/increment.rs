//! Takes all that came to logs since they were last read, cut into periods where that is asked for.
//!
//! Lines are copied into batches, and those are judged on all threads of the pool it is called in: one reader, many
//! judges. What comes of it does not depend on the size of a batch or on who judged what. It prints nothing, keeps no
//! state, and asks no clock.

mod batch;
mod cutting;
mod item;
mod log;
mod parts;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use self::batch::Collector;
use crate::client::Prefix;
use crate::engine::ScanOptions;
use crate::format::Formats;
use crate::input::tail::{Notice, Tail};
use crate::report::model::Input;
use crate::rules::RuleSet;
use crate::source::SourceText;
use crate::tally::Tally;
use crate::time::{Cut, LogTime, Period};

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// The rules.
    pub rules: &'a RuleSet,
    /// What to look at and what to keep.
    pub scope: &'a ScanOptions,
    /// The formats that are known.
    pub formats: &'a Formats,
    /// Set from outside to end the work.
    pub stop: &'a AtomicBool,
    /// When the run began: lines of a log in which no line has a time belong to that period.
    pub now: LogTime,
    /// Which IPv6 addresses are one client; `None` for each by itself.
    pub prefix: Option<Prefix>,
}

/// What came since the last run.
#[derive(Debug, Default)]
pub struct Increment {
    /// By period; one, without any, where nothing was to be cut. Empty where nothing came.
    pub parts: Vec<Part>,
    /// The logs that lines came from, by path; shared by all parts. Lines are counted from the start of their log.
    pub texts: Vec<SourceText>,
    /// Lines without a time, where a window asked for one.
    pub without_time: u64,
    /// It was stopped before the end: nothing of it is to be kept.
    pub stopped: bool,
    /// All that a person wants to know, of the logs and of their lines; what is wrong with an input, its
    /// [`Input::problem`] says as well. Nothing is left to ask the tail for.
    pub notices: Vec<Notice>,
}

/// What came within one period.
#[derive(Debug)]
pub struct Part {
    /// `None` where nothing was to be cut.
    pub period: Option<Period>,
    /// Its hits.
    pub tally: Tally,
    /// Sums of its lines, by the number of their text. A line that waits for its end is in the latest part of its log.
    pub inputs: Vec<Input>,
    /// Lines that were read, without those that wait for their end.
    pub lines: u64,
}

/// Reads all that is there, on the rayon pool it is called in.
pub fn increment(tail: &mut Tail, job: &Reading<'_>, cut: Option<&Cut>) -> Increment {
    let mut collector = Collector::new(job, cut, batch::BYTES);
    tail.catch_up_until(Instant::now(), job.stop, &mut |piece| collector.take(&piece));
    let stopped = job.stop.load(Ordering::Relaxed);
    Increment { stopped, ..collector.finish(tail) }
}

#[cfg(test)]
mod tests;
