//! How many attempts to log in are guesses, however slow they are:
//! `guess = { count = 20, others = 150 }`.
//!
//! A user's login is followed by pages, so what a client requests besides its attempts shows
//! whether it is a user, not their rate. A client with `count` attempts and little else is a
//! guesser by itself. Clients with fewer are guessers only together: a botnet spreads its attempts
//! over hundreds of addresses. Reports and `follow` judge by this alike.

use std::fmt;
use std::hash::Hash;

use foldhash::HashSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The highest count.
const MAX_COUNT: u32 = 1_000;

/// How many attempts of one client are guesses, in whatever time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(deny_unknown_fields)]
pub(crate) struct Guess {
    /// Least requests, from 2.
    pub count: u32,
    /// The most other requests of the client, in percent of its attempts: a login that is followed
    /// by pages is one of a user.
    pub others: u32,
}

impl Guess {
    /// Whether its values are valid.
    #[must_use]
    pub(crate) fn is_valid(self) -> bool {
        self.check().is_ok()
    }

    /// Checks its numbers.
    pub(super) fn check(self) -> Result<(), String> {
        match self.count {
            2..=MAX_COUNT => Ok(()),
            count => Err(format!(
                "guess: count is {count}; it is from 2 to {MAX_COUNT}"
            )),
        }
    }
}

impl fmt::Display for Guess {
    /// `20 requests by one client that sends little else`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requests by one client that sends little else",
            self.count
        )
    }
}

/// Whether a client with this number of other requests sends little else than these: at most
/// `percent` of them.
#[must_use]
pub(crate) fn is_little_else(others: u64, requests: u64, percent: u32) -> bool {
    u128::from(others) * 100 <= u128::from(requests) * u128::from(percent)
}

/// The fewest attempts of a client that is a guesser only together with others. Users mistype a
/// password once or twice, and a user whose pages are in another log sends one attempt and nothing
/// else.
const MIN_ATTEMPTS: u64 = 3;

/// The fewest networks of such clients together ...
const MIN_NETWORKS: usize = 10;

/// ... and the fewest attempts. Users who fail three times and leave are rarely as many within a
/// log.
const MIN_TOTAL: u64 = 100;

/// The most attempts of one client that count: a few clients with many attempts do not make those
/// with a few suspicious.
const MAX_WEIGHT: u64 = 20;

/// Such clients are guessers only if they make one of this many attempts. On a large site the few
/// users who give up are many too, but they make less than one of a hundred attempts.
const MAX_SHARE: u64 = 20;

/// The clients of one rule that send little else than attempts.
#[derive(Debug)]
pub(crate) struct GuessStats {
    networks: usize,
    /// Attempts that count.
    attempts: u64,
    /// Attempts that do not.
    excess: u64,
}

impl GuessStats {
    /// The fewest networks of a campaign. Two may be one person at home and at work.
    pub(crate) const CAMPAIGN_NETWORKS: usize = 3;

    /// Sums up clients, by network and attempts.
    pub(crate) fn new<N: Eq + Hash>(clients: impl Iterator<Item = (N, u64)>) -> Self {
        let (mut networks, mut attempts, mut excess) = (HashSet::default(), 0, 0);
        for (network, of_client) in clients {
            let counted = of_client.min(MAX_WEIGHT);
            excess += of_client - counted;
            if of_client >= MIN_ATTEMPTS {
                networks.insert(network);
                attempts += counted;
            }
        }
        Self {
            networks: networks.len(),
            attempts,
            excess,
        }
    }

    /// Whether all of them are guessers, those with one or two attempts too. `total` are the
    /// attempts of all clients.
    pub(crate) fn are_together(&self, total: u64) -> bool {
        let is_notable =
            self.attempts.saturating_mul(MAX_SHARE) >= total.saturating_sub(self.excess);
        self.networks >= MIN_NETWORKS && self.attempts >= MIN_TOTAL && is_notable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_have_a_number_and_little_else() {
        let guess: Guess = toml::from_str("count = 20\nothers = 150").unwrap();
        assert_eq!(
            guess.to_string(),
            "20 requests by one client that sends little else"
        );
        assert!(
            guess.is_valid()
                && [0, 1, 1_001]
                    .into_iter()
                    .all(|count| !Guess { count, ..guess }.is_valid())
        );
        assert!(is_little_else(30, 20, 150) && !is_little_else(31, 20, 150));
        assert!(is_little_else(u64::MAX, u64::MAX, 150), "no overflow");
    }

    #[test]
    fn clients_with_few_attempts_are_guessers_together() {
        let are_together = |clients: u64, attempts: u64, total: u64| {
            GuessStats::new((0..clients).map(|client| (client, attempts))).are_together(total)
        };
        assert!(are_together(10, 10, 2_000));
        assert!(!are_together(9, 12, 108), "nine networks are too few");
        assert!(
            !are_together(33, 3, 99) && are_together(34, 3, 102),
            "a hundred attempts"
        );
        assert!(
            !are_together(100, 2, 200),
            "two attempts are a mistyped password"
        );
        assert!(!are_together(10, 10, 2_001), "one of twenty attempts");
        let one = |client: u64| {
            if client == 0 {
                (client, 10_000)
            } else {
                (client, 4)
            }
        };
        assert!(
            !GuessStats::new((0..20).map(one)).are_together(10_076),
            "one client with many attempts is not all"
        );
        assert!(GuessStats::new((0..21).map(one)).are_together(10_080));
    }
}
