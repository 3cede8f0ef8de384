//! The errors of the report store, with advice.
//!
//! Messages contain paths as they are: pass them through `redact::sanitize` before printing.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::system::errno_message;

/// An error about the folder of `--out`. The exit code is 4, except for [`Held`](Self::Held) and [`Shared`](Self::Shared).
#[derive(Debug, thiserror::Error)]
pub enum ReportStoreError {
    /// A run with another state writes to the folder; the exit code is 5.
    #[error("{}: another run writes to this folder; wait for its end, and give every --state an --out of its own", path.display())]
    Held {
        /// The folder of `--out`.
        path: PathBuf,
    },
    /// The folder belongs to another state; the exit code is 2.
    #[error(
        "{}: the state {} reports to this folder; give every --state an --out of its own, or delete this file if that state is no longer used",
        path.display(),
        owner.display()
    )]
    Shared {
        /// The file in the folder of `--out` that names the other state.
        path: PathBuf,
        /// The other state's file.
        owner: PathBuf,
    },
    /// Something exists where a report belongs. It was not touched.
    #[error("{}: {what}; {advice}", path.display())]
    InTheWay {
        /// The path.
        path: PathBuf,
        /// What exists there.
        what: &'static str,
        /// What to do about it.
        advice: &'static str,
    },
    /// A run was committed, but its reports were removed before they were published.
    #[error("{}: removed during the run; its lines are counted as reported, and only --reset reads them again", path.display())]
    Lost {
        /// The missing folder.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("cannot {step} {}: {}; {}", path.display(), errno_message(error), advice(error.kind()))]
    Failed {
        /// The operation, such as `write`.
        step: &'static str,
        /// The path of the operation.
        path: PathBuf,
        /// The system's error. It is part of the message, and so not a `source`.
        error: io::Error,
    },
}

impl ReportStoreError {
    pub(super) fn failed(step: &'static str, path: PathBuf, error: impl Into<io::Error>) -> Self {
        Self::Failed { step, path, error: error.into() }
    }

    pub(super) fn in_the_way(path: PathBuf, what: &'static str, advice: &'static str) -> Self {
        Self::InTheWay { path, what, advice }
    }

    /// Something that is not a report has the name of one.
    pub(super) fn not_a_report(path: PathBuf, what: &'static str) -> Self {
        Self::in_the_way(path, what, "move it away or choose another --out")
    }

    /// Something that this run created was removed by somebody else.
    pub(super) fn vanished(path: &Path) -> Self {
        Self::failed("write", path.to_owned(), io::Error::new(ErrorKind::NotFound, "it was removed during the run"))
    }

    /// The folder cannot be emptied now, because somebody writes to it or reads from it over a network.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self, Self::Failed { error, .. } if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::ResourceBusy))
    }
}

fn advice(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space or choose another --out",
        ErrorKind::FileTooLarge => "raise the file size limit (ulimit -f)",
        ErrorKind::NotFound => "make the folder first or choose another --out",
        ErrorKind::PermissionDenied => "choose an --out that is yours to write to, and a --group you belong to",
        ErrorKind::ReadOnlyFilesystem => "choose an --out that may be written to",
        ErrorKind::CrossesDevices | ErrorKind::ResourceBusy => "move it away or unmount it: what is in --out must lie on one file system",
        _ => "choose another --out",
    }
}
