//! Errors of a state, with their consequences and a remedy.
//!
//! Messages contain raw paths: print them through `redact::sanitize`.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use crate::system::errno_message;

/// An error of a state. Each variant has its exit code.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another run holds the lock; the exit code is 5.
    #[error("{}: held by another run{}; wait for its end or choose another --state", path.display(), process(*by))]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The process that holds the lock, if known.
        by: Option<u32>,
    },
    /// Other users could lock, forge or redirect the state; the exit code is 2.
    #[error("{}: {what}; {advice}", path.display())]
    Insecure {
        /// The folder or the file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
        /// The remedy.
        advice: Cow<'static, str>,
    },
    /// The state exists but cannot be trusted or read; the exit code is 2.
    #[error(
        "{}: {what}{}; without it nobody knows how far the logs were read: {reset} (or deleting the file) starts as on the first run, \
         so that lines may be reported twice or not at all",
        path.display(),
        copy(kept.as_deref())
    )]
    Damaged {
        /// The state file, which is left in place.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
        /// A copy of the file, if one could be made.
        kept: Option<PathBuf>,
        /// The flag that resets the state.
        reset: &'static str,
    },
    /// A system call failed; the exit code is 4. The state is intact.
    #[error("cannot {step} {}: {}; {}", path.display(), errno_message(error), advice(error.kind()))]
    Failed {
        /// The operation, such as `write`.
        step: &'static str,
        /// The path it was applied to.
        path: PathBuf,
        /// The system error. It is part of the message, so `source` is not set.
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
