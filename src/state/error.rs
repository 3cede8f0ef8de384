//! Why a state cannot be had or kept, in words that say what it costs and what to do.
//!
//! Messages hold paths as they are: show them through `report::sanitize`.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use crate::system::errno_message;

/// What is wrong with a state. Each kind has its exit code.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another run holds it; the exit code is 5.
    #[error("{}: held by another run{}; wait for its end or choose another --state", path.display(), process(*by))]
    Held {
        /// The lock file.
        path: PathBuf,
        /// The process that holds it, where it says so.
        by: Option<u32>,
    },
    /// Others could hold, forge or redirect it; the exit code is 2.
    #[error("{}: {what}; {advice}", path.display())]
    Insecure {
        /// The folder or the file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
        /// What to do about it.
        advice: Cow<'static, str>,
    },
    /// It is there and cannot be trusted or read; the exit code is 2.
    #[error(
        "{}: {what}{}; without it nobody knows how far the logs were read: {reset} (or deleting the file) starts as on the first run, \
         so that lines may be reported twice or not at all",
        path.display(),
        copy(kept.as_deref())
    )]
    Damaged {
        /// The state file; it stays where it is.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
        /// A copy of it, where one could be made.
        kept: Option<PathBuf>,
        /// The flag that forgets it.
        reset: &'static str,
    },
    /// The system would not let us; the exit code is 4. The state is whole.
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

impl StateError {
    pub(super) fn failed(step: &'static str, path: &Path, error: impl Into<io::Error>) -> Self {
        Self::Failed { step, path: path.to_owned(), error: error.into() }
    }

    pub(super) fn insecure(path: &Path, what: impl Into<String>, advice: impl Into<Cow<'static, str>>) -> Self {
        Self::Insecure { path: path.to_owned(), what: what.into(), advice: advice.into() }
    }
}

fn process(by: Option<u32>) -> String {
    by.map_or_else(String::new, |by| format!(" (process {by})"))
}

fn copy(kept: Option<&Path>) -> String {
    kept.map_or_else(String::new, |kept| format!(" (a copy is kept as {})", kept.display()))
}

fn advice(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space or choose another --state",
        io::ErrorKind::FileTooLarge => "raise the file size limit (ulimit -f)",
        io::ErrorKind::NotFound => "make the folder above it first or choose another --state",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "choose a --state in a folder that is yours to write to",
        _ => "choose another --state",
    }
}
