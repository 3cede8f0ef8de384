//! Why an output could not be written, in words that say what to do.
//!
//! Names the output as the user named it, escaped like everything else that is printed.

use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::report::sanitize::text;
use crate::system::errno_message;

/// What went wrong with an output.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// Whoever read the output went away. Nothing to say; the exit code is 141.
    #[error("the reader of {output} went away")]
    BrokenPipe {
        /// The output.
        output: String,
    },
    /// Anything else; the exit code is 4.
    #[error("cannot {step} {output}: {reason}; {advice}", reason = errno_message(error))]
    Failed {
        /// The output, as the user named it.
        output: String,
        /// What was being done: `write`, say.
        step: &'static str,
        /// What to do about it.
        advice: &'static str,
        /// What the system said. Part of the message, and so no `source` that would say it twice.
        error: io::Error,
    },
}

/// What was being done.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Open,
    Write,
    Replace,
}

impl SinkError {
    pub(super) fn new(path: Option<&Path>, step: Step, error: io::Error) -> Self {
        let output = path.map_or_else(|| "standard output".into(), |path| text(path.as_os_str().as_bytes()).into_owned());
        if error.kind() == ErrorKind::BrokenPipe {
            return Self::BrokenPipe { output };
        }
        let step = match step {
            Step::Open => "open",
            Step::Write => "write",
            Step::Replace => "replace",
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
