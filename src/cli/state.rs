//! The flags of every command that goes on where its last run stopped.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueHint};
use serde::Deserialize;

/// What is remembered, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Input")]
pub struct StateArgs {
    /// Go on where the last run with this folder stopped
    ///
    /// Also across rotations that happened meanwhile. The folder is made where there is none; one run at a time may use
    /// it. A log that the state knows is read from where it stopped, whatever else is said.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub state: Option<PathBuf>,

    /// Begin with what is in the logs already, the rotated ones too
    ///
    /// Without it and without a state, follow begins at the end of the logs, and report reads those that are named.
    #[arg(long, action = ArgAction::SetTrue)]
    pub from_start: Option<bool>,

    /// Forget the state and begin a new one
    #[arg(long, visible_alias = "reset", action = ArgAction::SetTrue)]
    pub reset_state: Option<bool>,

    /// Use a state folder that others may write to
    #[arg(long, action = ArgAction::SetTrue)]
    pub insecure_state: Option<bool>,
}

impl StateArgs {
    /// These, and what `below` says where they say nothing.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        Self {
            state: self.state.or(below.state),
            from_start: self.from_start.or(below.from_start),
            reset_state: self.reset_state.or(below.reset_state),
            insecure_state: self.insecure_state.or(below.insecure_state),
        }
    }

    /// Forgets the switches that are off: see [`ScanArgs::as_given`](super::scan::ScanArgs::as_given).
    #[must_use]
    pub fn as_given(mut self) -> Self {
        for switch in [&mut self.from_start, &mut self.reset_state, &mut self.insecure_state] {
            switch.take_if(|on| !*on);
        }
        self
    }
}
