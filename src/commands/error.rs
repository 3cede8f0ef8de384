//! Why a command stops early: one error for all of them, its message and its exit code. Scripts and
//! cron jobs depend on the exit codes.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use thiserror::Error;

use super::message;
use crate::alert_sinks::AlertSinkError;
use crate::block::RangesError;
use crate::formats::builtin::UnknownFormat;
use crate::geoip::GeoIpError;
use crate::os::system::errno_message;
use crate::render::sink::SinkError;
use crate::report::merge::MergeError;
use crate::report::snapshot::SnapshotError;
use crate::report_store::ReportStoreError;
use crate::rules::RuleError;
use crate::state::StateError;
use crate::tui::ScreenError;

/// Why a command stops early.
#[derive(Debug, Error)]
pub(super) enum CommandError {
    #[error("{0}")]
    Usage(String),
    #[error("printed before")]
    Printed(Exit),
    #[error(transparent)]
    Rules(#[from] RuleError),
    #[error("--log-format: {0}")]
    Format(#[from] UnknownFormat),
    #[error("{}: the pattern matches nothing; check the folder, and quote the pattern so that the shell does not expand it", .0.display())]
    NoMatch(PathBuf),
    #[error(
        "--app: no app is called '{name}'{suggestion}; `probewatch rules list --only app` shows them all"
    )]
    NoApp { name: String, suggestion: String },
    #[error("{}: {flag} would overwrite an input; choose another file", path.display())]
    OutputIsInput { path: PathBuf, flag: &'static str },
    #[error(
        "--format partial writes binary data, which is not for a terminal; type --output FILE, or redirect it: > FILE"
    )]
    BinaryOnTerminal,
    #[error("--range reads one file; type: probewatch scan --range 0-64M access.log")]
    RangeOfMany,
    #[error(
        "--range cannot be used with a pipe, which has no ranges; name a file: probewatch scan --range 0-64M access.log"
    )]
    RangeOfStream,
    #[error("{}: --range cannot be used with a compressed file; decompress it first, or remove --range to scan all of it", .0.display())]
    RangeOfCompressed(PathBuf),
    #[error(
        "--source names standard input, which is not read; type: ... | probewatch scan --source NAME -"
    )]
    NoStdin,
    #[error("{}: --emit-rules would overwrite rules that --rules reads; choose another file", .0.display())]
    OutputIsRules(PathBuf),
    #[error("--anonymize: {} {what}", path.display())]
    Key { path: PathBuf, what: String },
    #[error(transparent)]
    GeoIp(#[from] GeoIpError),
    #[error("{0}")]
    Group(String),
    #[error(
        "cannot start {threads} threads: {source}; raise the limit on processes, or let scan and report use fewer with --threads"
    )]
    Threads { threads: usize, source: io::Error },
    #[error("{} {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: SnapshotError,
    },
    #[error(transparent)]
    Merge(#[from] MergeError),
    #[error(transparent)]
    Ranges(#[from] RangesError),
    #[error(
        "the list needs {0} files, because AbuseIPDB takes at most 10,000 lines and 2 MB at once; name the first one with --output"
    )]
    ManyFiles(usize),
    #[error("{}: --block-out is where a log is read; choose another file", .0.display())]
    ListIsInput(PathBuf),
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error(
        "cannot store the lines that matched: {0}; free some space in the folder for temporary files, or set TMPDIR"
    )]
    Spool(#[source] io::Error),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    AlertSink(#[from] AlertSinkError),
    #[error(transparent)]
    Screen(#[from] ScreenError),
    #[error("the terminal cannot be read or drawn on: {0}")]
    Terminal(#[source] io::Error),
    #[error(transparent)]
    ReportStore(#[from] ReportStoreError),
    #[error("{}: {what}; move its folder away; the next run reports the same lines in a new one", path.display())]
    Earlier { path: PathBuf, what: String },
    #[error("{}: the reports cannot be merged: {what}", path.display())]
    Sum { path: PathBuf, what: String },
    #[error(
        "cannot write a report: {0}; nothing was reported, and the next run reads the same lines again"
    )]
    WriteReport(#[source] io::Error),
    #[error("cannot run curl: {0}")]
    Curl(String),
    #[error("--cacert {}: {}; name a file with certificates in PEM format", path.display(), errno_message(source))]
    CaCert { path: PathBuf, source: io::Error },
    #[error("stopped by a signal; no report was written")]
    Stopped(Exit),
    #[error(
        "stopped by a signal; nothing was reported, and the next run reads the same lines again"
    )]
    ReportStopped(Exit),
}

impl CommandError {
    /// Prints the error, unless standard output was closed. Returns the exit code.
    pub(super) fn report(&self) -> Exit {
        if !matches!(
            self,
            Self::Printed(_) | Self::Sink(SinkError::BrokenPipe { .. })
        ) {
            message::error(&message::sanitized_lines(&self.to_string()));
        }
        self.exit()
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Usage(_)
            | Self::Rules(_)
            | Self::Format(_)
            | Self::NoMatch(_)
            | Self::NoApp { .. }
            | Self::OutputIsInput { .. }
            | Self::OutputIsRules(_)
            | Self::BinaryOnTerminal
            | Self::RangeOfMany
            | Self::RangeOfStream
            | Self::RangeOfCompressed(_)
            | Self::NoStdin
            | Self::Key { .. }
            | Self::GeoIp(_)
            | Self::Group(_)
            | Self::Threads { .. }
            | Self::Unreadable { .. }
            | Self::Merge(_)
            | Self::Ranges(_)
            | Self::ManyFiles(_)
            | Self::ListIsInput(_)
            | Self::Curl(_)
            | Self::CaCert { .. }
            | Self::Screen(_)
            | Self::State(StateError::Insecure { .. } | StateError::Damaged { .. })
            | Self::AlertSink(AlertSinkError::Exec { .. })
            | Self::ReportStore(ReportStoreError::Shared { .. }) => Exit::Usage,
            Self::State(StateError::Locked { .. })
            | Self::ReportStore(ReportStoreError::Held { .. }) => Exit::Locked,
            Self::Sink(SinkError::BrokenPipe { .. }) => Exit::BrokenPipe,
            Self::Sink(_)
            | Self::Spool(_)
            | Self::State(StateError::Failed { .. })
            | Self::AlertSink(_)
            | Self::Terminal(_)
            | Self::ReportStore(_)
            | Self::Earlier { .. }
            | Self::Sum { .. }
            | Self::WriteReport(_) => Exit::Output,
            Self::Printed(exit) | Self::Stopped(exit) | Self::ReportStopped(exit) => *exit,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything requested was read and written.
    Success = 0,
    /// `--fail-on` was given, and a finding has at least its level; or a site still gives what
    /// `verify` requested.
    Found = 1,
    /// The command line, the environment, the configuration or a rule is wrong.
    Usage = 2,
    /// Finished, but an input was damaged, unreadable, or has no line that parses; or `verify` got
    /// no answer for some path.
    Damaged = 3,
    /// An output could not be written.
    Output = 4,
    /// Another run holds the lock.
    Locked = 5,
    /// Stopped by SIGINT.
    Interrupted = 130,
    /// Standard output was closed.
    BrokenPipe = 141,
    /// Stopped by SIGTERM.
    Terminated = 143,
}

impl Exit {
    /// The exit status as a number.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The exit code for a failed write. A closed pipe is not an error.
    #[must_use]
    pub fn from_write_error(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Output,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_not_an_output_error() {
        assert_eq!(
            Exit::from_write_error(&io::ErrorKind::BrokenPipe.into()),
            Exit::BrokenPipe
        );
        assert_eq!(
            Exit::from_write_error(&io::ErrorKind::StorageFull.into()),
            Exit::Output
        );
        assert_eq!(
            [
                Exit::Success,
                Exit::Interrupted,
                Exit::BrokenPipe,
                Exit::Terminated
            ]
            .map(Exit::code),
            [0, 130, 141, 143]
        );
    }
}
