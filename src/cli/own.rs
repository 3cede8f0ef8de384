//! What single subcommands can be told besides what `scan` can, in one place: variables and the configuration file may hold
//! any of it.

use clap::Args;

use super::follow::FollowOwnArgs;
use super::learn::LearnOwnArgs;
use super::report::ReportOwnArgs;
use super::state::StateArgs;

/// The flags that `scan` does not have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct OwnArgs {
    /// Those of `learn`.
    #[command(flatten)]
    pub learn: LearnOwnArgs,
    /// Those of `follow` and `report`.
    #[command(flatten)]
    pub state: StateArgs,
    /// Those of `follow`.
    #[command(flatten)]
    pub follow: FollowOwnArgs,
    /// Those of `report`.
    #[command(flatten)]
    pub report: ReportOwnArgs,
}

impl OwnArgs {
    /// These, and what `below` says where they say nothing.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        Self {
            learn: self.learn.or(below.learn),
            state: self.state.or(below.state),
            follow: self.follow.or(below.follow),
            report: self.report.or(below.report),
        }
    }
}

impl From<LearnOwnArgs> for OwnArgs {
    fn from(learn: LearnOwnArgs) -> Self {
        Self { learn, ..Self::default() }
    }
}
