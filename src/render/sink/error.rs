//! Errors of an output, with advice.
//!
//! The output is named as the user named it, escaped.

use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::redact::sanitize::escape;
use crate::system::errno_message;

/// An output could not be written.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The reader of the output is gone. Nothing is printed; the exit code is 141.
    #[error("the reader of {output} is gone")]
    BrokenPipe {
        /// The output.
        output: String,
    },
    /// Anything else; the exit code is 4.
    #[error("cannot {step} {output}: {reason}; {advice}", reason = errno_message(error))]
    Failed {
        /// The output, as the user named it.
        output: String,
        /// The step that failed: `open`, `write` or `replace`.
        step: &'static str,
        /// What to do about it.
        advice: &'static str,
        /// The error of the system. It is part of the message, so it is not a `source`, which would print it twice.
        error: io::Error,
    },
}

/// A step of writing an output.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SinkStep {
    Open,
    Write,
    Replace,
}

impl SinkError {
    pub(crate) fn new(path: Option<&Path>, step: SinkStep, error: io::Error) -> Self {
        let output = path.map_or_else(|| "standard output".into(), |path| escape(path.as_os_str().as_bytes()).into_owned());
        if error.kind() == ErrorKind::BrokenPipe {
            return Self::BrokenPipe { output };
        }
        let step = match step {
            SinkStep::Open => "open",
            SinkStep::Write => "write",
            SinkStep::Replace => "replace",
        };
        Self::Failed { advice: advice(error.kind(), path.is_some()), output, step, error }
    }
}

fn advice(kind: ErrorKind, is_file: bool) -> &'static str {
    match (kind, is_file) {
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, true) => "free some space or choose another --output",
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, false) => "free some space or write elsewhere",
        (ErrorKind::FileTooLarge, _) => "raise the file size limit (ulimit -f) or narrow the report with --top",
        (ErrorKind::NotFound | ErrorKind::NotADirectory, true) => "make the folder first or choose another --output",
        (ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem, true) => "choose an --output in a folder you may write to",
        (_, true) => "choose another --output; `-` is standard output",
        (_, false) => "choose a file with --output",
    }
}
