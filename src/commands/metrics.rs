//! The file of `--metrics`: checked before the first line is read, and replaced atomically when
//! there is something to write.
//!
//! Its mode is 0644 whatever the umask, because `node_exporter` reads it as another user. It
//! contains no client and no path of a request. In a `follow`, a failure to write it is printed
//! once and does not end the run.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::CommandError;
use super::{FollowSettings, StateSettings};
use crate::input::tail::Tail;
use crate::os::system::unix_now;
use crate::render::prometheus::{RunMetrics, of_run};
use crate::render::sink::{Sink, SinkError};
use crate::report::class_hits::MetricCounters;
use crate::report::hit::LiveHit;
use crate::report::live_scan::ChunkStats;
use crate::rules::RuleSet;

/// A file of metrics.
#[derive(Debug)]
pub(super) struct MetricsFile {
    path: PathBuf,
    command: &'static str,
    state: Vec<u8>,
}

/// What was not read of the logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Backlog {
    /// Logs that are read.
    pub(super) files: u64,
    /// Bytes of them that were not read yet.
    pub(super) lag: u64,
}

impl MetricsFile {
    /// The file at `path`, if there is one.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(super) fn open(
        path: Option<&Path>,
        command: &'static str,
        state: &StateSettings,
    ) -> Result<Option<Self>, CommandError> {
        let Some(path) = path else { return Ok(None) };
        // Never committed: this only checks the folder.
        drop(Sink::public_file(path).map_err(with_advice)?);
        let state = state
            .dir
            .as_deref()
            .map(|dir| dir.as_os_str().as_encoded_bytes().to_vec())
            .unwrap_or_default();
        Ok(Some(Self {
            path: path.to_owned(),
            command,
            state,
        }))
    }

    /// Replaces the file.
    pub(super) fn write(
        &self,
        counters: &MetricCounters,
        rules: &RuleSet,
        Backlog { files, lag }: Backlog,
        duration: Duration,
    ) -> Result<(), CommandError> {
        let metrics = RunMetrics {
            command: self.command,
            state: &self.state,
            rules,
            counters,
            lag,
            files,
            now: unix_now(),
            duration,
        };
        let mut sink = Sink::public_file(&self.path).map_err(with_advice)?;
        sink.write_all(of_run(&metrics).as_bytes())
            .map_err(|error| with_advice(sink.explain(error)))?;
        Ok(sink.commit().map_err(with_advice)?)
    }
}

/// The error with advice that names the right flag.
fn with_advice(error: SinkError) -> SinkError {
    match error {
        SinkError::Failed {
            output,
            step,
            error,
            ..
        } => SinkError::Failed {
            output,
            step,
            advice: "check the folder of --metrics and the space on its disk",
            error,
        },
        error @ SinkError::BrokenPipe { .. } => error,
    }
}

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
    pub(super) fn new(
        settings: &FollowSettings,
        mut counters: MetricCounters,
    ) -> Result<Self, CommandError> {
        let file = MetricsFile::open(settings.metrics.as_deref(), "follow", &settings.state)?;
        counters.start(unix_now());
        Ok(Self {
            file,
            counters,
            written: None,
            is_changed: true,
            has_failed: false,
        })
    }

    /// The counts of all runs, for the state.
    pub(super) fn counters(&self) -> &MetricCounters {
        &self.counters
    }

    /// Counts the lines of a chunk of a log.
    pub(super) fn lines(&mut self, stats: &ChunkStats) {
        self.counters.add_lines(stats.lines, stats.unparsed);
        self.is_changed |= stats.lines > 0;
    }

    /// Counts a hit that is reported.
    pub(super) fn hit(&mut self, live: &LiveHit<'_>, rules: &RuleSet) {
        self.counters.add_live(live, rules);
        self.is_changed = true;
    }

    /// Replaces the file if something was counted, or after a while. Returns a notice about the
    /// first failure in a row.
    pub(super) fn write_if_due(
        &mut self,
        now: Instant,
        rules: &RuleSet,
        tail: &Tail,
        running: Duration,
    ) -> Option<String> {
        let is_idle = self
            .written
            .is_some_and(|written| now.saturating_duration_since(written) < IDLE_INTERVAL);
        if is_idle && !self.is_changed {
            None
        } else {
            self.write(rules, tail, running)
        }
    }

    /// Replaces the file. Returns a notice about the first failure in a row.
    pub(super) fn write(
        &mut self,
        rules: &RuleSet,
        tail: &Tail,
        running: Duration,
    ) -> Option<String> {
        let file = self.file.as_ref()?;
        let written = file.write(&self.counters, rules, backlog(tail), running);
        (self.written, self.is_changed) = (Some(Instant::now()), false);
        let is_first = !self.has_failed;
        self.has_failed = written.is_err();
        written
            .err()
            .filter(|_| is_first)
            .map(|error| error.to_string())
    }
}

/// What was not read of the logs that are followed.
fn backlog(tail: &Tail) -> Backlog {
    tail.logs().fold(Backlog::default(), |sum, log| Backlog {
        files: sum.files + u64::from(log.live),
        lag: sum.lag + log.lag,
    })
}
