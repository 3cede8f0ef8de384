//! Requests per client or per path in each minute of the log's time, for the rules with a `window`.
//!
//! The minutes are fixed, so any split of a log gives the same sums. Which of them make a flood is
//! decided elsewhere. A request without a time is in no minute. If there are too many counts, those
//! of the clients and paths with the fewest requests are dropped, and the number of their requests
//! is kept.

use std::cmp::Reverse;

use foldhash::HashMap;
use xxhash_rust::xxh3::xxh3_64;

use crate::collections::intern::{IdRemap, SymbolTables};
use crate::log::finding::Hit;

/// The client or path whose requests are counted, the rules and the minute. All numbers are those
/// of the tally.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MinuteKey {
    /// The client; [`SymbolTables::OTHER`] if the requests for a path are counted.
    pub client: u32,
    /// The path; [`SymbolTables::OTHER`] if the requests of a client are counted.
    pub path: u32,
    /// The list of rules that the requests matched.
    pub rules: u32,
    /// Minutes since 1970, UTC.
    pub minute: i64,
}

impl MinuteKey {
    /// The key without the minute.
    fn owner(self) -> (u32, u32, u32) {
        (self.client, self.path, self.rules)
    }
}

/// Requests per minute.
#[derive(Debug, Clone, Default)]
pub struct MinuteCounts {
    counts: HashMap<MinuteKey, u64>,
    dropped: u64,
}

impl MinuteCounts {
    /// Seconds per minute.
    pub const SECONDS: i64 = 60;

    /// Counts a hit if a rule with a window matched.
    #[inline]
    pub(super) fn count(&mut self, hit: &Hit) {
        if let Some(time) = hit
            .time
            .filter(|_| hit.windows.by_client || hit.windows.by_path)
        {
            let minute = time.utc.div_euclid(Self::SECONDS);
            if hit.windows.by_client {
                self.insert(
                    MinuteKey {
                        client: hit.client,
                        path: SymbolTables::OTHER,
                        rules: hit.rules,
                        minute,
                    },
                    1,
                );
            }
            if hit.windows.by_path {
                self.insert(
                    MinuteKey {
                        client: SymbolTables::OTHER,
                        path: hit.path,
                        rules: hit.rules,
                        minute,
                    },
                    1,
                );
            }
        }
    }

    /// Adds requests; those of an empty list of rules are ignored.
    pub(super) fn insert(&mut self, key: MinuteKey, requests: u64) {
        if key.rules != SymbolTables::EMPTY_RULES {
            *self.counts.entry(key).or_default() += requests;
        }
    }

    /// Adds requests that are no longer counted.
    pub(super) fn drop_requests(&mut self, requests: u64) {
        self.dropped += requests;
    }

    /// Requests that are no longer counted.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The number of counts.
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

    /// Adds the counts of another tally, renumbered. Counts whose client or path was evicted are
    /// dropped.
    pub(super) fn merge(&mut self, other: Self, new: &IdRemap) {
        self.dropped += other.dropped;
        for (key, requests) in other.counts {
            let remapped = MinuteKey {
                client: new.client(key.client),
                path: new.path(key.path),
                rules: new.rules[key.rules as usize],
                ..key
            };
            if (remapped.client, remapped.path) == (SymbolTables::OTHER, SymbolTables::OTHER) {
                self.dropped += requests;
            } else {
                self.insert(remapped, requests);
            }
        }
    }

    /// Renumbers the lists of rules.
    pub(super) fn with_rule_lists(self, lists: &[u32]) -> Self {
        let mut renumbered = Self {
            dropped: self.dropped,
            ..Self::default()
        };
        for (key, requests) in self.counts {
            renumbered.insert(
                MinuteKey {
                    rules: lists[key.rules as usize],
                    ..key
                },
                requests,
            );
        }
        renumbered
    }

    /// Drops counts until the others take a capacity of at most `max`, first those of the clients
    /// and paths with the fewest requests. `size` returns the capacity of a count by the bytes of
    /// the text of its client or path. The texts of the keys break ties, so the order of merges
    /// does not matter.
    pub(super) fn trim(&mut self, max: usize, names: &SymbolTables, size: impl Fn(usize) -> usize) {
        let size =
            |key: MinuteKey| size(names.text_len(key.client, key.path, SymbolTables::NO_HOST));
        if self.iter().map(|(key, _)| size(key)).sum::<usize>() <= max {
            return;
        }
        let mut owners: HashMap<(u32, u32, u32), u64> = HashMap::default();
        for (key, requests) in self.iter() {
            *owners.entry(key.owner()).or_default() += requests;
        }
        let tie = |key: MinuteKey| match key.client {
            SymbolTables::OTHER => (1_u8, xxh3_64(names.paths.resolve(key.path))),
            client => (0, names.clients.resolve(client).stable_hash()),
        };
        let rank = |key: MinuteKey, requests: u64| {
            (
                Reverse(owners[&key.owner()]),
                tie(key),
                names.rules.resolve(key.rules),
                Reverse(requests),
                key.minute,
            )
        };
        let mut ranked: Vec<_> = self
            .iter()
            .map(|(key, requests)| (rank(key, requests), key))
            .collect();
        ranked.sort_unstable();
        let mut capacity = max;
        let fits = ranked
            .iter()
            .take_while(|&&(_, key)| {
                capacity
                    .checked_sub(size(key))
                    .inspect(|rest| capacity = *rest)
                    .is_some()
            })
            .count();
        for (_, key) in ranked.split_off(fits) {
            self.dropped += self.counts.remove(&key).unwrap_or(0);
        }
    }
}
