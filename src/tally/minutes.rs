//! How many requests of each client, or for each path, the rules with a `window` count in each minute of the log's time.
//!
//! Fixed minutes, so that any split of a log comes to the same sums. Whether so many make a flood is not asked here. A
//! request without a time is in no minute. Where there are too many counts, those of clients and paths with the fewest
//! requests are dropped, and how many requests that were is known.

use std::cmp::Reverse;

use foldhash::HashMap;
use xxhash_rust::xxh3::xxh3_64;

use super::prune::tie_break;
use crate::finding::Hit;
use crate::intern::{IdRemap, SymbolTables};

/// Whose requests are counted, and when. Numbers are those of the tally.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MinuteKey {
    /// The client; [`SymbolTables::OTHER`] where the requests for a path are counted.
    pub client: u32,
    /// The path; [`SymbolTables::OTHER`] where those of a client are.
    pub path: u32,
    /// The list of rules that the requests matched.
    pub rules: u32,
    /// MinuteCounts since 1970, UTC.
    pub minute: i64,
}

impl MinuteKey {
    /// Whose requests they are, whatever the minute.
    fn owner(self) -> (u32, u32, u32) {
        (self.client, self.path, self.rules)
    }
}

/// Requests by minute.
#[derive(Debug, Clone, Default)]
pub struct MinuteCounts {
    counts: HashMap<MinuteKey, u64>,
    dropped: u64,
}

impl MinuteCounts {
    /// Seconds of a minute.
    pub const SECONDS: i64 = 60;

    /// Counts a hit, if a rule with a window does.
    #[inline]
    pub(super) fn count(&mut self, hit: &Hit) {
        if let Some(time) = hit.time.filter(|_| hit.windows.by_client || hit.windows.by_path) {
            let minute = time.utc.div_euclid(Self::SECONDS);
            if hit.windows.by_client {
                self.insert(MinuteKey { client: hit.client, path: SymbolTables::OTHER, rules: hit.rules, minute }, 1);
            }
            if hit.windows.by_path {
                self.insert(MinuteKey { client: SymbolTables::OTHER, path: hit.path, rules: hit.rules, minute }, 1);
            }
        }
    }

    /// Adds requests. Those by no rules count for nothing.
    pub(super) fn insert(&mut self, key: MinuteKey, requests: u64) {
        if key.rules != SymbolTables::EMPTY_RULES {
            *self.counts.entry(key).or_default() += requests;
        }
    }

    /// Adds requests that are not counted any more.
    pub(super) fn drop_requests(&mut self, requests: u64) {
        self.dropped += requests;
    }

    /// Requests that are not counted any more.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How many counts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Whether nothing was ever counted.
    pub(super) fn is_untouched(&self) -> bool {
        self.is_empty() && self.dropped == 0
    }

    /// All counts, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (MinuteKey, u64)> {
        self.counts.iter().map(|(key, requests)| (*key, *requests))
    }

    /// Adds others, whose numbers are renumbered. What has no number any more is dropped.
    pub(super) fn merge(&mut self, other: Self, new: &IdRemap) {
        self.dropped += other.dropped;
        for (key, requests) in other.counts {
            let told = MinuteKey { client: new.client(key.client), path: new.path(key.path), rules: new.rules[key.rules as usize], ..key };
            if (told.client, told.path) == (SymbolTables::OTHER, SymbolTables::OTHER) {
                self.dropped += requests;
            } else {
                self.insert(told, requests);
            }
        }
    }

    /// The same with other numbers for lists of rules.
    pub(super) fn with_rule_lists(self, lists: &[u32]) -> Self {
        let mut renumbered = Self { dropped: self.dropped, ..Self::default() };
        for (key, requests) in self.counts {
            renumbered.insert(MinuteKey { rules: lists[key.rules as usize], ..key }, requests);
        }
        renumbered
    }

    /// Drops counts until there are no more than `most`: first those of clients and paths with the fewest requests. Ties are
    /// settled by texts, never by who came first.
    pub(super) fn trim(&mut self, most: usize, names: &SymbolTables) {
        if self.counts.len() <= most {
            return;
        }
        let mut owners: HashMap<(u32, u32, u32), u64> = HashMap::default();
        for (key, requests) in self.iter() {
            *owners.entry(key.owner()).or_default() += requests;
        }
        let tie = |key: MinuteKey| match key.client {
            SymbolTables::OTHER => (1_u8, xxh3_64(names.paths.resolve(key.path))),
            client => (0, tie_break(names.clients.resolve(client))),
        };
        let rank = |key: MinuteKey, requests: u64| {
            (Reverse(owners[&key.owner()]), tie(key), names.rules.resolve(key.rules), Reverse(requests), key.minute)
        };
        let mut ranked: Vec<_> = self.iter().map(|(key, requests)| (rank(key, requests), key)).collect();
        ranked.sort_unstable();
        for (_, key) in ranked.split_off(most) {
            self.dropped += self.counts.remove(&key).unwrap_or(0);
        }
    }
}
