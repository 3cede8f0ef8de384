//! The minutes of clients and paths that make a flood, by rule.
//!
//! [`alerting`] decides which minutes these are.

use foldhash::HashMap;

use super::guesses::{LoginClients, is_excused};
use crate::alerting;
use crate::collections::intern::SymbolTables;
use crate::log::client::Client;
use crate::log::finding::RuleId;
use crate::rules::{By, RuleSet, Window};
use crate::tally::{MinuteKey, Tally};

/// A rule, and the number of the client or path whose requests it counts.
type FloodKey = (RuleId, u32, u32);

/// The floods of each client or path, by rule.
#[derive(Debug, Default)]
pub(crate) struct FloodIndex<'a> {
    floods: HashMap<(RuleId, FloodOwner<'a>), Vec<alerting::Flood>>,
}

impl<'a> FloodIndex<'a> {
    /// Finds the floods in a tally.
    pub(crate) fn new(rules: &RuleSet, tally: &'a Tally, logins: &LoginClients) -> Self {
        let windows: Vec<Vec<(RuleId, Window)>> = tally
            .rule_lists()
            .iter()
            .map(|list| {
                list.iter()
                    .filter_map(|&rule| Some((rule, rules.rule(rule).window?)))
                    .collect()
            })
            .collect();
        let mut counts: Vec<(FloodKey, (i64, u64))> = Vec::new();
        for (
            MinuteKey {
                client,
                path,
                rules,
                minute,
            },
            requests,
        ) in tally.minutes().iter()
        {
            let by = if client == SymbolTables::OTHER {
                By::Path
            } else {
                By::Client
            };
            let is_unknown =
                by == By::Client && matches!(tally.client(client), Client::Text(b"" | b"-"));
            let counting = windows[rules as usize]
                .iter()
                .filter(|(_, window)| window.by == by && !is_unknown);
            counts.extend(counting.map(|(rule, _)| ((*rule, client, path), (minute, requests))));
        }
        counts.sort_unstable();
        let mut index = Self::default();
        for owner in counts.chunk_by(|a, b| a.0 == b.0) {
            let ((rule, client, path), _) = owner[0];
            if is_excused(rules, logins, rule, client) {
                continue;
            }
            let sum = |same: &[(_, (i64, u64))]| {
                (
                    same[0].1.0,
                    same.iter().map(|(_, (_, requests))| requests).sum(),
                )
            };
            let minutes: Vec<(i64, u64)> = owner.chunk_by(|a, b| a.1.0 == b.1.0).map(sum).collect();
            let floods = rules
                .rule(rule)
                .window
                .map(|window| alerting::floods(window, &minutes))
                .unwrap_or_default();
            if !floods.is_empty() {
                let owner = if client == SymbolTables::OTHER {
                    FloodOwner::Path(tally.path(path))
                } else {
                    FloodOwner::Client(client)
                };
                index.floods.insert((rule, owner), floods);
            }
        }
        index
    }

    /// Whether requests of a client for a path belong to a flood of this rule.
    pub(crate) fn has(&self, rule: RuleId, by: By, client: u32, path: &[u8]) -> bool {
        let owner = match by {
            By::Client => FloodOwner::Client(client),
            By::Path => FloodOwner::Path(path),
        };
        self.floods.contains_key(&(rule, owner))
    }

    pub(crate) fn floods(&self, rule: RuleId, owner: FloodOwner<'a>) -> &[alerting::Flood] {
        self.floods.get(&(rule, owner)).map_or(&[], Vec::as_slice)
    }
}

/// The client or path whose requests are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum FloodOwner<'a> {
    Client(u32),
    Path(&'a [u8]),
}
