//! The file of `--metrics`: checked before the first line is read, and replaced atomically when there is something to write.
//!
//! Its mode is 0644 whatever the umask, because `node_exporter` reads it as another user. It contains no client and no path of a
//! request.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::StateSettings;
use super::error::CommandError;
use crate::analysis::class_hits::MetricCounters;
use crate::render::prometheus::{RunMetrics, write_run};
use crate::render::sink::{Sink, SinkError};
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
    pub(super) fn open(path: Option<&Path>, command: &'static str, state: &StateSettings) -> Result<Option<Self>, CommandError> {
        let Some(path) = path else { return Ok(None) };
        // Never committed: this only checks the folder.
        drop(Sink::public_file(path).map_err(with_advice)?);
        let state = state.dir.as_deref().map(|dir| dir.as_os_str().as_encoded_bytes().to_vec()).unwrap_or_default();
        Ok(Some(Self { path: path.to_owned(), command, state }))
    }

    /// Replaces the file.
    pub(super) fn write(
        &self,
        counters: &MetricCounters,
        rules: &RuleSet,
        Backlog { files, lag }: Backlog,
        duration: Duration,
    ) -> Result<(), CommandError> {
        let metrics = RunMetrics { command: self.command, state: &self.state, rules, counters, lag, files, now: now(), duration };
        let mut sink = Sink::public_file(&self.path).map_err(with_advice)?;
        write_run(&metrics, &mut sink).map_err(|error| with_advice(sink.explain(error)))?;
        Ok(sink.commit().map_err(with_advice)?)
    }
}

/// The same error with advice that names the right flag.
fn with_advice(error: SinkError) -> SinkError {
    match error {
        SinkError::Failed { output, step, error, .. } => {
            SinkError::Failed { output, step, advice: "check the folder of --metrics and the space on its disk", error }
        }
        error @ SinkError::BrokenPipe { .. } => error,
    }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
