//! The metrics of a `follow`: counts hits and lines, and replaces the file of `--metrics`.
//!
//! A failure to write it is printed once and does not end the run.

use std::time::{Duration, Instant};

use crate::analysis::class_hits::MetricCounters;
use crate::analysis::hit::LiveHit;
use crate::commands::FollowSettings;
use crate::commands::error::CommandError;
use crate::commands::metrics_file::{Backlog, MetricsFile, now};
use crate::input::tail::Tail;
use crate::rules::RuleSet;
use crate::scan::live::PieceStats;

/// How often the file is replaced while nothing is counted, for its times.
const IDLE_INTERVAL: Duration = Duration::from_secs(15);

/// The counters of a run, and their file if there is one.
#[derive(Debug)]
pub(super) struct FollowMetrics {
    file: Option<MetricsFile>,
    counters: MetricCounters,
    written: Option<Instant>,
    is_changed: bool,
    has_failed: bool,
}

impl FollowMetrics {
    /// Continues to count where the last run with the same state stopped.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn new(settings: &FollowSettings, mut counters: MetricCounters) -> Result<Self, CommandError> {
        let file = MetricsFile::open(settings.metrics.as_deref(), "follow", &settings.state)?;
        counters.start(now());
        Ok(Self { file, counters, written: None, is_changed: true, has_failed: false })
    }

    /// The counts of all runs, for the state.
    pub(super) fn counters(&self) -> &MetricCounters {
        &self.counters
    }

    /// Counts the lines of a piece of a log.
    pub(super) fn lines(&mut self, stats: &PieceStats) {
        self.counters.add_lines(stats.lines, stats.unparsed);
        self.is_changed |= stats.lines > 0;
    }

    /// Counts a hit that is reported.
    pub(super) fn hit(&mut self, live: &LiveHit<'_>, rules: &RuleSet) {
        self.counters.add_live(live, rules);
        self.is_changed = true;
    }

    /// Replaces the file if something was counted, or after a while. Returns a notice about the first failure in a row.
    pub(super) fn write_if_due(&mut self, now: Instant, rules: &RuleSet, tail: &Tail, running: Duration) -> Option<String> {
        let is_idle = self.written.is_some_and(|written| now.saturating_duration_since(written) < IDLE_INTERVAL);
        if is_idle && !self.is_changed { None } else { self.write(rules, tail, running) }
    }

    /// Replaces the file. Returns a notice about the first failure in a row.
    pub(super) fn write(&mut self, rules: &RuleSet, tail: &Tail, running: Duration) -> Option<String> {
        let file = self.file.as_ref()?;
        let written = file.write(&self.counters, rules, backlog(tail), running);
        (self.written, self.is_changed) = (Some(Instant::now()), false);
        let is_first = !self.has_failed;
        self.has_failed = written.is_err();
        written.err().filter(|_| is_first).map(|error| error.to_string())
    }
}

/// What was not read of the logs that are followed.
fn backlog(tail: &Tail) -> Backlog {
    tail.logs().fold(Backlog::default(), |sum, log| Backlog { files: sum.files + u64::from(log.live), lag: sum.lag + log.lag })
}
