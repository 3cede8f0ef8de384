//! Why reports cannot be filed, in words that say what to do.
//!
//! Messages hold paths as they are: show them through `report::sanitize`.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::system::errno_message;

/// What went wrong with the folder of `--out`. The exit code is 4, but for [`Held`](Self::Held) and [`Shared`](Self::Shared).
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A run with another state writes there; the exit code is 5.
    #[error("{}: another run writes there; wait for its end, and give every --state an --out of its own", path.display())]
    Held {
        /// The folder of `--out`.
        path: PathBuf,
    },
    /// Another state reports there; the exit code is 2.
    #[error(
        "{}: the state {} reports to this folder; give every --state an --out of its own, or delete this file if that one is used no more",
        path.display(),
        owner.display()
    )]
    Shared {
        /// The file in the folder of `--out` that says so.
        path: PathBuf,
        /// The other state's file.
        owner: PathBuf,
    },
    /// Something has a place that no report may take. Nothing of it was touched.
    #[error("{}: {what}; {advice}", path.display())]
    InTheWay {
        /// The place.
        path: PathBuf,
        /// What is there.
        what: &'static str,
        /// What to do about it.
        advice: &'static str,
    },
    /// A run was committed, and its reports were taken away before they had their place.
    #[error("{}: removed while the run went on; its lines are counted as reported, and only --reset reads them again", path.display())]
    Lost {
        /// The folder that should be there.
        path: PathBuf,
    },
    /// The system would not let us.
    #[error("cannot {step} {}: {}; {}", path.display(), errno_message(error), advice(error.kind()))]
    Failed {
        /// What was being done: `write`, say.
        step: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said. Part of the message, and so no `source` that would say it twice.
        error: io::Error,
    },
}

impl ArchiveError {
    pub(super) fn failed(step: &'static str, path: PathBuf, error: impl Into<io::Error>) -> Self {
        Self::Failed { step, path, error: error.into() }
    }

    pub(super) fn in_the_way(path: PathBuf, what: &'static str, advice: &'static str) -> Self {
        Self::InTheWay { path, what, advice }
    }

    /// A place under a name of ours that holds what we did not put there.
    pub(super) fn foreign(path: PathBuf, what: &'static str) -> Self {
        Self::in_the_way(path, what, "move it away or choose another --out")
    }

    /// Something vanished that this run had made.
    pub(super) fn vanished(path: &Path) -> Self {
        Self::failed("write", path.to_owned(), io::Error::new(ErrorKind::NotFound, "it was removed while the run went on"))
    }

    /// The folder cannot be emptied for now: someone works in it, or reads from it over a network.
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
