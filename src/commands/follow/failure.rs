//! Why following ended, or never began.

use std::io;

use thiserror::Error;

use crate::alert_sinks::ActionError;
use crate::commands::run;
use crate::commands::{Exit, message};
use crate::render::sink::SinkError;
use crate::state::StateError;
use crate::tui::ScreenError;

/// What ends a run.
#[derive(Debug, Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Run(#[from] run::Failure),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Action(#[from] ActionError),
    #[error(transparent)]
    Screen(#[from] ScreenError),
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error("the terminal cannot be read or drawn on: {0}")]
    Terminal(#[source] io::Error),
}

impl Failure {
    /// Says why, and how the run ends.
    pub(super) fn tell(&self) -> Exit {
        match self {
            Self::Sink(SinkError::BrokenPipe { .. }) => {}
            other => message::error(&message::shown_lines(&other.to_string())),
        }
        self.exit()
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Run(failure) => failure.exit(),
            Self::State(StateError::Locked { .. }) => Exit::Locked,
            Self::State(StateError::Insecure { .. } | StateError::Damaged { .. })
            | Self::Screen(_)
            | Self::Action(ActionError::Exec { .. }) => Exit::Usage,
            Self::Sink(SinkError::BrokenPipe { .. }) => Exit::BrokenPipe,
            Self::Sink(_) | Self::State(StateError::Failed { .. }) | Self::Action(_) | Self::Terminal(_) => Exit::Output,
        }
    }
}
