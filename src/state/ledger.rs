//! The state of `report`: how far each log was read, which run was the last one, and what had been seen by then.
//!
//! Saving it is the commit of a run: everything in it is of one instant.

use serde::{Deserialize, Serialize};

use super::{Kept, State};
use crate::analysis::seen::SeenHistory;
use crate::analysis::site::SiteHistory;
use crate::report_store::Run;

/// What one run of `report` leaves to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// How far each log was read.
    pub logs: State,
    /// The last run that made folders; they may still wait for their places.
    pub run: Option<Run>,
    /// The label of the latest period that a line belonged to: lines of an earlier one are late.
    pub newest_period: Option<String>,
    /// What was seen in all runs.
    pub seen: SeenHistory,
    /// What all runs showed of the sites.
    #[serde(default)]
    pub sites: SiteHistory,
}

impl Ledger {
    /// The state before the first run. `seed` is any number that nobody can guess: see [`SeenHistory::new`].
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { logs: State::default(), run: None, newest_period: None, seen: SeenHistory::new(seed), sites: SiteHistory::default() }
    }
}

impl Kept for Ledger {
    const VERSION: u32 = 2;
    const OLDEST: u32 = 2;
    const RESET: &'static str = "--reset";
}
