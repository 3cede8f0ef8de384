//! Detects clients that guess passwords, however slowly, as reports do: they send attempts and
//! little else.
//!
//! A client that reaches the `guess` of a rule is one alert. From three networks on, or where many
//! clients with a few attempts each make a notable part of all attempts, all clients of the rule
//! are one campaign. What a client requests besides is known from the number of its requests so
//! far. Attempts more than a week after the last one of their client count anew.

use std::collections::HashSet;

use super::{AlertKind, Detection, ObservedHit};
use crate::collections::lru::LruMap;
use crate::log::finding::{RuleId, Severity};
use crate::log::time::LogTime;
use crate::rules::{Guess, GuessStats, RuleSet, is_little_else};

/// Seconds without an attempt after which the attempts of a client are dropped.
const MAX_PAUSE: i64 = 7 * 86_400;

/// A campaign is searched for so rarely that this many clients are read for each attempt.
const READS_PER_ATTEMPT: u64 = 16;

/// Clients and rules with attempts.
#[derive(Debug)]
pub(super) struct GuessDetector {
    keys: usize,
    /// Sorted by rule.
    rules: Vec<JudgedRule>,
    clients: LruMap<u64, JudgedClient>,
}

/// A rule that judges its clients by what else they request.
#[derive(Debug)]
struct JudgedRule {
    rule: RuleId,
    /// The hash of the rule's ID.
    id: u64,
    guess: Option<Guess>,
    severity: Severity,
    clients: LruMap<u64, Attempts>,
    /// Attempts of all clients.
    attempts: u64,
}

/// The requests of one client.
#[derive(Debug, Default)]
struct JudgedClient {
    /// The last known number of requests; the source of these numbers starts anew from time to
    /// time.
    last_known: u64,
    /// All requests.
    requests: u64,
    /// Attempts of all rules with a `guess`.
    attempts: u64,
    /// Reported hits that are no attempts.
    attacks: u64,
}

impl JudgedClient {
    fn others(&self) -> u64 {
        self.requests.saturating_sub(self.attempts + self.attacks)
    }
}

/// The attempts of one client.
#[derive(Debug, Clone, Copy)]
struct Attempts {
    count: u64,
    network: u64,
    times: (LogTime, LogTime),
    /// The path, if it is always the same.
    path: Option<u64>,
}

impl GuessDetector {
    /// Remembers at most `keys` clients, and as many of each rule.
    pub(super) fn new(keys: usize) -> Self {
        Self {
            keys,
            rules: Vec::new(),
            clients: LruMap::new(keys),
        }
    }

    /// Replaces the rules. The attempts of a rule are kept if its `guess` is the same.
    pub(super) fn set_rules(&mut self, rules: &RuleSet, id: impl Fn(&str) -> u64) {
        let mut old_rules = std::mem::take(&mut self.rules);
        for (number, rule) in (0..).zip(rules.rules()) {
            if rule.judges_clients() {
                let id = id(&rule.id);
                let old = old_rules
                    .iter()
                    .position(|old| (old.id, old.guess) == (id, rule.guess))
                    .map(|at| old_rules.swap_remove(at));
                let (clients, attempts) = old.map_or_else(
                    || (LruMap::new(self.keys), 0),
                    |old| (old.clients, old.attempts),
                );
                self.rules.push(JudgedRule {
                    rule: RuleId(number),
                    id,
                    guess: rule.guess,
                    severity: rule.severity,
                    clients,
                    attempts,
                });
            }
        }
    }

    /// Counts a request of a client that has attempts, or that sends one now. The client, its
    /// network and the path are hashes.
    pub(super) fn count(
        &mut self,
        hit: &ObservedHit<'_>,
        client_key: u64,
        network: u64,
        path: u64,
    ) {
        let matched = || {
            self.rules
                .iter()
                .filter(|judged| hit.matched.contains(&judged.rule))
        };
        let is_attempt = matched().any(|judged| judged.guess.is_some());
        let is_judged = matched().next().is_some();
        if !is_judged && (hit.reported.is_empty() || self.clients.peek(&client_key).is_none()) {
            return;
        }
        let client = self
            .clients
            .get_or_insert_with(client_key, JudgedClient::default);
        client.requests += hit
            .requests
            .checked_sub(client.last_known)
            .unwrap_or(hit.requests);
        client.last_known = hit.requests;
        client.attempts += u64::from(is_attempt);
        client.attacks += u64::from(!is_judged);
        let Some(time) = hit.time else { return };
        for judged in self
            .rules
            .iter_mut()
            .filter(|judged| hit.matched.contains(&judged.rule))
        {
            judged.attempts += 1;
            let new = Attempts {
                count: 0,
                network,
                times: (time, time),
                path: Some(path),
            };
            let attempts = judged.clients.get_or_insert_with(client_key, || new);
            if time.utc.saturating_sub(attempts.times.1.utc) > MAX_PAUSE {
                *attempts = new;
            }
            attempts.count += 1;
            attempts.times = (attempts.times.0.min(time), attempts.times.1.max(time));
            attempts.path = attempts.path.filter(|&known| known == path);
        }
    }

    /// Whether the client of a request sends at most `percent` other requests than those that match
    /// the rule.
    pub(super) fn sends_little_else(&self, rule: RuleId, client: u64, percent: u32) -> bool {
        let matched = self
            .judged(rule)
            .and_then(|judged| judged.clients.peek(&client))
            .map(|attempts| attempts.count);
        let (Some(matched), Some(requests)) = (matched, self.clients.peek(&client)) else {
            return false;
        };
        is_little_else(
            (requests.others() + requests.attempts).saturating_sub(matched),
            matched,
            percent,
        )
    }

    /// The hash of a rule with a `guess`.
    pub(super) fn id(&self, rule: RuleId) -> Option<u64> {
        self.judged(rule)
            .filter(|judged| judged.guess.is_some())
            .map(|judged| judged.id)
    }

    /// Whether it is time to search for a campaign.
    pub(super) fn is_check_due(&self, rule: RuleId) -> bool {
        self.judged(rule).is_some_and(|judged| {
            judged
                .attempts
                .is_multiple_of((judged.clients.len() as u64 / READS_PER_ATTEMPT).max(1))
        })
    }

    /// The client of an attempt, if it guesses passwords.
    pub(super) fn client(&self, rule: RuleId, client: u64) -> Option<Detection> {
        let judged = self.judged(rule)?;
        let guess = judged.guess?;
        let attempts = judged
            .clients
            .peek(&client)
            .filter(|attempts| attempts.count >= u64::from(guess.count))?;
        self.is_guesser(client, guess)
            .then(|| judged.detection(AlertKind::Threshold(rule), [attempts]))
    }

    /// The campaign of all clients that guess what a rule matches.
    pub(super) fn campaign(&self, rule: RuleId) -> Option<Detection> {
        let judged = self.judged(rule)?;
        let guess = judged.guess?;
        judged.campaign(guess, |client| self.is_guesser(client, guess))
    }

    fn judged(&self, rule: RuleId) -> Option<&JudgedRule> {
        self.rules
            .binary_search_by_key(&rule, |judged| judged.rule)
            .ok()
            .map(|at| &self.rules[at])
    }

    fn is_guesser(&self, client: u64, guess: Guess) -> bool {
        self.clients.peek(&client).is_some_and(|requests| {
            is_little_else(requests.others(), requests.attempts, guess.others)
        })
    }
}

impl JudgedRule {
    fn campaign(&self, guess: Guess, is_guesser: impl Fn(u64) -> bool) -> Option<Detection> {
        let all = || {
            self.clients
                .iter()
                .map(|(&client, attempts)| (client, attempts))
        };
        let guessers = || {
            all()
                .filter(|&(client, _)| is_guesser(client))
                .map(|(_, attempts)| attempts)
        };
        let total = all().map(|(_, attempts)| attempts.count).sum();
        let together =
            GuessStats::new(guessers().map(|attempts| (attempts.network, attempts.count)))
                .are_together(total);
        let members: Vec<&Attempts> = guessers()
            .filter(|attempts| together || attempts.count >= u64::from(guess.count))
            .collect();
        let networks = members
            .iter()
            .map(|attempts| attempts.network)
            .collect::<HashSet<_>>()
            .len();
        (networks >= GuessStats::CAMPAIGN_NETWORKS).then(|| Detection {
            severity: self.severity.escalated(),
            ..self.detection(AlertKind::Guesses(self.rule), members)
        })
    }

    fn detection<'a>(
        &self,
        kind: AlertKind,
        members: impl IntoIterator<Item = &'a Attempts>,
    ) -> Detection {
        let mut times: Option<(LogTime, LogTime)> = None;
        let (mut hits, mut clients, mut paths) = (0, 0, HashSet::new());
        for attempts in members {
            let (first, last) = attempts.times;
            times = Some(times.map_or((first, last), |(earliest, latest)| {
                (earliest.min(first), latest.max(last))
            }));
            hits += attempts.count;
            clients += 1;
            paths.insert(attempts.path);
        }
        // A client with several paths has at least two.
        let paths = (paths.len() + usize::from(paths.contains(&None))) as u64;
        Detection {
            kind,
            severity: self.severity,
            times,
            hits,
            clients,
            paths,
        }
    }
}
