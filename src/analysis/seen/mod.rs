//! What earlier runs saw, so that a report can say what is new.
//!
//! Keeps hashes, never a text: who reads the memory learns no path and no client from it. It is bounded. What was not seen
//! for long is [pruned](SeenHistory::prune), and over the budget of its kind what was seen last the longest ago goes first; both
//! may then be called new again. Nothing here knows what a rule or a campaign is: a key is bytes.

mod clock;
mod memory;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use self::clock::RunClock;
use self::memory::SeenKeys;

/// What can be new, what matters most first.
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
    /// A list of paths that many worked through.
    Campaign,
}

impl NoveltyKind {
    /// Every kind, in its order.
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

/// What was seen in earlier runs: at most 8,000 answers, 12,000 rules, 72,000 paths, 40,000 clients and 4,000 campaigns.
///
/// Written as JSON it is never larger than 3 MB. Within a run it may grow beyond its budget, by what is looked at: a run
/// ends with [`prune`](Self::prune).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenHistory {
    /// Nobody who does not know it can make two keys one.
    seed: u64,
    clock: RunClock,
    answers: SeenKeys<8_000>,
    rules: SeenKeys<12_000>,
    paths: SeenKeys<72_000>,
    clients: SeenKeys<40_000>,
    campaigns: SeenKeys<4_000>,
}

impl SeenHistory {
    /// Nothing seen yet. The seed is to be random, and stays with the memory.
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

    /// Whether a key is new, and remembers it: it was never seen, or first seen under this same mark.
    ///
    /// A mark says which report a key is news of, and later reports have higher ones: the number of the run or, for reports
    /// of periods, the hour since 1970 in which the period starts, so that a report that is made anew says the same again.
    /// A late line may bring a key into an earlier period than the one it was first seen in. Then it is new in the earlier
    /// one and no longer in the later one, where they lie at most 31 days apart.
    ///
    /// `now` is the machine's time in seconds since 1970. It only says how long ago a key was seen.
    pub fn check_and_record(&mut self, kind: NoveltyKind, key: &[u8], mark: u32, now: i64) -> bool {
        let (hash, hour) = (xxh3_64_with_seed(key, self.seed), self.clock.hour(now));
        match kind {
            NoveltyKind::Answer => self.answers.check_and_record(hash, mark, hour),
            NoveltyKind::Rule => self.rules.check_and_record(hash, mark, hour),
            NoveltyKind::Path => self.paths.check_and_record(hash, mark, hour),
            NoveltyKind::Client => self.clients.check_and_record(hash, mark, hour),
            NoveltyKind::Campaign => self.campaigns.check_and_record(hash, mark, hour),
        }
    }

    /// Forgets what was not seen for longer than `keep`, and of each kind what is over its budget, the longest unseen
    /// first.
    ///
    /// A clock that is set back forgets nothing, then or when it is set right again. One that jumps ahead makes everything
    /// older by eight days at most, and after it was set right nothing grows older until the time has come that it said.
    pub fn prune(&mut self, now: i64, keep: Duration) {
        let keep = u32::try_from(keep.as_secs().div_ceil(3_600)).unwrap_or(u32::MAX);
        let oldest = self.clock.hour(now).saturating_sub(keep);
        self.answers.prune(oldest);
        self.rules.prune(oldest);
        self.paths.prune(oldest);
        self.clients.prune(oldest);
        self.campaigns.prune(oldest);
    }

    /// Whether nothing is remembered: then all is new, and that is no news.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.rules.is_empty() && self.paths.is_empty() && self.clients.is_empty() && self.campaigns.is_empty()
    }
}

#[cfg(test)]
mod tests;
