//! What is remembered from one run to the next: how far each log was read, in a folder that one run holds at a time.
//!
//! A state is the old one or the new one at every instant, and what cannot be trusted is refused: damaged, of another
//! version, a link, in reach of others. Nothing here starts afresh by itself, and nothing here knows logs: whether a
//! checkpoint still fits its log is the business of whoever reads the log.

mod error;
mod folder;
mod ledger;
mod lock;
mod written;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::analysis::site::SiteHistory;
use crate::source::Checkpoint;
pub use error::StateError;
pub use folder::StateFolder;
pub use ledger::Ledger;

/// How long a log that was not found is remembered, unless someone knows better: longer than logs are kept as a rule,
/// so that one that comes back from a backup is known.
pub const KEEP_ABSENT: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// What a state can be. Each command has its own, and its own versions of it.
pub trait Kept: Serialize + DeserializeOwned {
    /// The form that is written.
    const VERSION: u32;

    /// The oldest form that is read: the one before [`VERSION`](Self::VERSION), once there is one.
    const OLDEST: u32;

    /// The flag that forgets it, for messages.
    const RESET: &'static str;

    /// Reads it back from JSON of a version that is known. An older form is read into its own type and turned into this.
    ///
    /// # Errors
    ///
    /// It is something else.
    fn read(_version: u32, body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }
}

/// What one run leaves to the next.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The hash of the rules by which was judged: others may judge otherwise what lies behind.
    pub rules: u64,
    /// Logs that were not found when last looked for: their generation, and since when, in seconds since 1970.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<u64, u64>,
    /// How far each log was read.
    pub checkpoints: Vec<Checkpoint>,
    /// What the sites answered; of `report` it is in its own state.
    #[serde(default, skip_serializing_if = "SiteHistory::is_empty")]
    pub sites: SiteHistory,
}

impl Kept for State {
    const VERSION: u32 = 2;
    const OLDEST: u32 = 2;
    const RESET: &'static str = "--reset-state";
}

impl State {
    /// Forgets the logs that have been missing for at least `after`, so that a state does not grow for ever. To be told
    /// which are there, and the time, in seconds since 1970. Returns how many were forgotten.
    ///
    /// A clock that was set back makes a log stay longer, never go earlier.
    pub fn forget_absent(&mut self, is_there: impl Fn(&Checkpoint) -> bool, now: u64, after: Duration) -> usize {
        let before = self.checkpoints.len();
        let mut absent = BTreeMap::new();
        self.checkpoints.retain(|checkpoint| {
            if is_there(checkpoint) {
                return true;
            }
            let since = self.absent.get(&checkpoint.generation).copied().unwrap_or(now);
            let keep = now.saturating_sub(since) < after.as_secs();
            if keep {
                absent.insert(checkpoint.generation, since);
            }
            keep
        });
        self.absent = absent;
        before - self.checkpoints.len()
    }
}

#[cfg(test)]
mod tests;
