//! Why nothing was reported.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::commands::run;
use crate::commands::{Exit, message};
use crate::report_store::ArchiveError;
use crate::state::StateError;

/// What ends a run.
#[derive(Debug, Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Run(#[from] run::Failure),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("{0}")]
    Group(String),
    #[error("{}: {what}; move its folder away, and the next run reports the same lines in a new one", path.display())]
    Earlier { path: PathBuf, what: String },
    #[error("{}: the reports cannot be added up: {what}", path.display())]
    Sum { path: PathBuf, what: String },
    #[error("cannot write a report: {0}; nothing was reported, and the next run reads the same lines again")]
    Write(#[from] io::Error),
    #[error("stopped by a signal; nothing was reported, and the next run reads the same lines again")]
    Stopped(Exit),
}

impl Failure {
    /// Says why, and how the run ends.
    pub(super) fn tell(&self) -> Exit {
        message::error(&message::shown_lines(&self.to_string()));
        if let Self::State(StateError::Locked { .. }) = self {
            message::hint("--wait waits for it");
        }
        self.exit()
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Run(failure) => failure.exit(),
            Self::State(StateError::Locked { .. }) | Self::Archive(ArchiveError::Held { .. }) => Exit::Locked,
            Self::State(StateError::Insecure { .. } | StateError::Damaged { .. })
            | Self::Archive(ArchiveError::Shared { .. })
            | Self::Group(_) => Exit::Usage,
            Self::State(StateError::Failed { .. }) | Self::Archive(_) | Self::Earlier { .. } | Self::Sum { .. } | Self::Write(_) => {
                Exit::Output
            }
            Self::Stopped(exit) => *exit,
        }
    }
}
