//! How much time went by between runs, whatever the machine's clock says.
//!
//! Counts hours that only go up, and only those for which the clock is ahead of all it ever said. So a clock that is set
//! back makes nothing older, then or when it is set right again. One that was ahead stands still until the time has come
//! that it said: meanwhile nothing is forgotten for its age, only for the budget.

use serde::{Deserialize, Serialize};

/// The most hours that may pass between two looks: somewhat more than a week, since hardly a job comes less often. After a
/// longer pause, and when the clock jumps ahead, things are remembered longer, which harms nobody.
const MOST: i64 = 8 * 24;

/// Hours since the first look.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunClock {
    hours: u32,
    /// The highest hour since 1970 that the machine ever said.
    highest: Option<i64>,
}

impl RunClock {
    /// The hour it is, when the machine says so many seconds since 1970.
    pub(crate) fn hour(&mut self, now: i64) -> u32 {
        let now = now.div_euclid(3_600);
        let highest = self.highest.unwrap_or(now);
        let passed = now.saturating_sub(highest).clamp(0, MOST);
        self.hours = self.hours.saturating_add(passed.unsigned_abs() as u32);
        self.highest = Some(now.max(highest));
        self.hours
    }
}
