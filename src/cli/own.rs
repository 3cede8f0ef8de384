//! What single subcommands can be told besides what `scan` can, in one place: variables and the configuration file may hold
//! any of it.

use clap::Args;

use super::follow::FollowOwnArgs;
use super::learn::LearnOwnArgs;

/// The flags that only one subcommand has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct OwnArgs {
    /// Those of `learn`.
    #[command(flatten)]
    pub learn: LearnOwnArgs,
    /// Those of `follow`.
    #[command(flatten)]
    pub follow: FollowOwnArgs,
}

impl OwnArgs {
    /// These, and what `below` says where they say nothing.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        Self { learn: self.learn.or(below.learn), follow: self.follow.or(below.follow) }
    }
}

impl From<LearnOwnArgs> for OwnArgs {
    fn from(learn: LearnOwnArgs) -> Self {
        Self { learn, ..Self::default() }
    }
}

impl From<FollowOwnArgs> for OwnArgs {
    fn from(follow: FollowOwnArgs) -> Self {
        Self { follow: follow.as_given(), ..Self::default() }
    }
}
