//! The history of reported items, so that a report can list what is new.
//!
//! It stores hashes and no text, so it reveals no path and no client. Its size is limited: old keys are
//! [pruned](SeenHistory::prune), and each kind has a budget, from which the keys that were not seen for the longest
//! time are dropped first. Dropped keys may be reported as new again. Keys are opaque bytes here.

mod keys;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use self::keys::SeenKeys;

/// The kinds of items that can be new, the most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoveltyKind {
    /// A path that answered, with its host where one is logged.
    Answer,
    /// A rule that matched.
    Rule,
    /// A path that was probed.
    Path,
    /// A client that probed.
    Client,
    /// A list of paths that several networks requested.
    Campaign,
}

impl NoveltyKind {
    /// Every kind, in its order.
    #[cfg(test)]
    pub const ALL: [Self; 5] = [Self::Answer, Self::Rule, Self::Path, Self::Client, Self::Campaign];

    /// The word reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Rule => "rule",
            Self::Path => "path",
            Self::Client => "client",
            Self::Campaign => "campaign",
        }
    }
}

/// The items of earlier runs: at most 8,000 answers, 12,000 rules, 72,000 paths, 40,000 clients and 4,000 campaigns.
///
/// As JSON it has at most 3 MB. Within a run it may exceed its budget by the items of that run; a run ends with
/// [`prune`](Self::prune).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenHistory {
    /// A secret seed, so that nobody can construct two keys with the same hash.
    seed: u64,
    clock: RunClock,
    answers: SeenKeys<8_000>,
    rules: SeenKeys<12_000>,
    paths: SeenKeys<72_000>,
    clients: SeenKeys<40_000>,
    campaigns: SeenKeys<4_000>,
}

impl SeenHistory {
    /// An empty history. The seed must be random, and stays the same from then on.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            clock: RunClock::default(),
            answers: SeenKeys::default(),
            rules: SeenKeys::default(),
            paths: SeenKeys::default(),
            clients: SeenKeys::default(),
            campaigns: SeenKeys::default(),
        }
    }

    /// Records a key. Returns whether it is new: it was never seen, or first seen in the same report.
    ///
    /// `report_seq` identifies the report, and increases: it is the number of the run or, for reports of periods, the
    /// hour since 1970 in which the period starts. So a report that is built again lists the same new items. A late
    /// line may add a key to an earlier period than the one in which it was first seen. Then the key is new in the
    /// earlier report and no longer in the later one, if they are at most 31 days apart.
    ///
    /// `now` is the system time in seconds since 1970. It only determines how long ago a key was seen.
    pub fn check_and_record(&mut self, kind: NoveltyKind, key: &[u8], report_seq: u32, now: i64) -> bool {
        let (hash, hour) = (xxh3_64_with_seed(key, self.seed), self.clock.hour(now));
        match kind {
            NoveltyKind::Answer => self.answers.check_and_record(hash, report_seq, hour),
            NoveltyKind::Rule => self.rules.check_and_record(hash, report_seq, hour),
            NoveltyKind::Path => self.paths.check_and_record(hash, report_seq, hour),
            NoveltyKind::Client => self.clients.check_and_record(hash, report_seq, hour),
            NoveltyKind::Campaign => self.campaigns.check_and_record(hash, report_seq, hour),
        }
    }

    /// Drops keys that were not seen for longer than `keep` and, of each kind, keys that exceed the budget, the oldest
    /// first.
    ///
    /// A clock that is set back drops nothing, neither then nor when it is corrected. A clock that jumps ahead ages all
    /// keys by at most eight days; once it is corrected, no key ages until the wrong time is reached.
    pub fn prune(&mut self, now: i64, keep: Duration) {
        let keep = u32::try_from(keep.as_secs().div_ceil(3_600)).unwrap_or(u32::MAX);
        let oldest = self.clock.hour(now).saturating_sub(keep);
        self.answers.prune(oldest);
        self.rules.prune(oldest);
        self.paths.prune(oldest);
        self.clients.prune(oldest);
        self.campaigns.prune(oldest);
    }
}

/// The most hours that count between two runs: a little more than a week, because jobs run at least weekly. After a
/// longer pause, and when the clock jumps ahead, keys are kept longer, which does no harm.
const MOST: i64 = 8 * 24;

/// A clock that only counts hours by which the system time exceeds its earlier maximum. So a clock that is set back
/// ages nothing, neither then nor when it is corrected; after a jump ahead, nothing ages until that time is reached.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunClock {
    hours: u32,
    /// The highest system time so far, in hours since 1970.
    highest: Option<i64>,
}

impl RunClock {
    /// The hour by this clock, at this system time in seconds since 1970.
    pub(crate) fn hour(&mut self, now: i64) -> u32 {
        let now = now.div_euclid(3_600);
        let highest = self.highest.unwrap_or(now);
        let passed = now.saturating_sub(highest).clamp(0, MOST);
        self.hours = self.hours.saturating_add(passed.unsigned_abs() as u32);
        self.highest = Some(now.max(highest));
        self.hours
    }
}

#[cfg(test)]
mod tests;
