//! Clients that guess passwords, however slowly: they log in again and again and request little
//! else. `rules` has the limits.
//!
//! All numbers are sums over the cells of the tally, so any split of a log gives the same guessers.

use foldhash::{HashMap, HashSet};

use crate::collections::intern::SymbolTables;
use crate::log::client::Network;
use crate::log::finding::RuleId;
use crate::rules::{By, GuessStats, RuleSet, is_little_else};
use crate::tally::{CellView, Tally};

/// What clients with attempts to log in requested, by client number.
#[derive(Debug, Default)]
pub(crate) struct LoginClients {
    /// The hits of each rule that judges its clients.
    matched: HashMap<(RuleId, u32), u64>,
    clients: HashMap<u32, LoginRequests>,
    /// All hits of each rule, those of evicted and unknown clients included.
    totals: HashMap<RuleId, u64>,
}

/// The requests of one client.
#[derive(Debug, Clone, Copy, Default)]
struct LoginRequests {
    /// Attempts of all rules with a `guess`.
    attempts: u64,
    /// Attacks, which are no pages.
    attacks: u64,
    /// Requests that are neither.
    others: u64,
}

impl LoginClients {
    /// Sums up the cells. `is_attack` is whether a hit is a finding by its line alone.
    pub(crate) fn new(
        rules: &RuleSet,
        tally: &Tally,
        is_attack: impl Fn(&CellView<'_>) -> bool,
    ) -> Self {
        let judges = |rule: RuleId| rules.rule(rule).judges_clients();
        let judging: Vec<Vec<RuleId>> = tally
            .rule_lists()
            .iter()
            .map(|list| list.iter().copied().filter(|&rule| judges(rule)).collect())
            .collect();
        let mut logins = Self::default();
        if judging.iter().all(Vec::is_empty) {
            return logins;
        }
        for view in tally.cells() {
            let judging = &judging[view.rules as usize];
            let is_known =
                view.client != SymbolTables::OTHER && !tally.client(view.client).is_unknown();
            for &rule in judging {
                *logins.totals.entry(rule).or_default() += view.cell.hits;
                if is_known {
                    *logins.matched.entry((rule, view.client)).or_default() += view.cell.hits;
                }
            }
            if is_known && !judging.is_empty() {
                let is_attempt = judging.iter().any(|&rule| rules.rule(rule).guess.is_some());
                logins.clients.entry(view.client).or_default().attempts +=
                    if is_attempt { view.cell.hits } else { 0 };
            }
        }
        for view in tally
            .cells()
            .filter(|view| judging[view.rules as usize].is_empty())
        {
            if let Some(client) = logins.clients.get_mut(&view.client)
                && is_attack(&view)
            {
                client.attacks += view.cell.hits;
            }
        }
        for (&client, requests) in &mut logins.clients {
            let count = tally.client_counts()[client as usize];
            requests.others = count
                .requests
                .saturating_sub(count.allowed + requests.attempts + requests.attacks);
        }
        logins
    }

    /// Whether the client sends at most `percent` other requests than those that match a rule and
    /// attempts.
    pub(crate) fn sends_little_else(
        &self,
        rules: &RuleSet,
        rule: RuleId,
        client: u32,
        percent: u32,
    ) -> bool {
        let (Some(&matched), Some(requests)) =
            (self.matched.get(&(rule, client)), self.clients.get(&client))
        else {
            return false;
        };
        if rules.rule(rule).guess.is_some() {
            return is_little_else(requests.others, requests.attempts, percent);
        }
        // Its own hits are among those.
        is_little_else(
            (requests.others + requests.attempts).saturating_sub(matched),
            matched,
            percent,
        )
    }

    /// Whether the client sends no other request at all.
    fn sends_nothing_else(&self, client: u32) -> bool {
        self.clients
            .get(&client)
            .is_some_and(|requests| requests.others + requests.attacks == 0)
    }
}

/// The guessers of each rule.
#[derive(Debug, Default)]
pub(crate) struct GuessIndex {
    by_rule: HashMap<RuleId, Guessers>,
}

/// The guessers of one rule.
#[derive(Debug, Default)]
pub(crate) struct Guessers {
    /// By number.
    pub(crate) clients: HashSet<u32>,
    /// Their networks.
    pub(crate) networks: usize,
    /// How many of them send nothing else.
    pub(crate) nothing_else: usize,
}

impl Guessers {
    /// Whether they are one campaign, and not a client or two.
    pub(crate) fn is_campaign(&self) -> bool {
        self.networks >= GuessStats::CAMPAIGN_NETWORKS
    }
}

impl GuessIndex {
    /// Finds the guessers among clients with attempts.
    pub(crate) fn new(rules: &RuleSet, tally: &Tally, logins: &LoginClients) -> Self {
        let mut clients: HashMap<RuleId, Vec<(u32, u64)>> = HashMap::default();
        for (&(rule, client), &attempts) in &logins.matched {
            if let Some(guess) = rules.rule(rule).guess
                && logins.sends_little_else(rules, rule, client, guess.others)
            {
                clients.entry(rule).or_default().push((client, attempts));
            }
        }
        let network = |client: u32| Network::from_client(tally.client(client));
        let guessers = |(rule, clients): (RuleId, Vec<(u32, u64)>)| {
            let count = u64::from(rules.rule(rule).guess?.count);
            let stats = GuessStats::new(
                clients
                    .iter()
                    .map(|&(client, attempts)| (network(client), attempts)),
            );
            let together = stats.are_together(logins.totals[&rule]);
            let is_guesser = |&(_, attempts): &(u32, u64)| together || attempts >= count;
            let clients: HashSet<u32> = clients
                .into_iter()
                .filter(is_guesser)
                .map(|(client, _)| client)
                .collect();
            let networks = clients
                .iter()
                .map(|&client| network(client))
                .collect::<HashSet<_>>()
                .len();
            let nothing_else = clients
                .iter()
                .filter(|&&client| logins.sends_nothing_else(client))
                .count();
            (!clients.is_empty()).then_some((
                rule,
                Guessers {
                    clients,
                    networks,
                    nothing_else,
                },
            ))
        };
        Self {
            by_rule: clients.into_iter().filter_map(guessers).collect(),
        }
    }

    /// Whether a client guesses what this rule matches.
    pub(crate) fn has(&self, rule: RuleId, client: u32) -> bool {
        self.by_rule
            .get(&rule)
            .is_some_and(|guessers| guessers.clients.contains(&client))
    }

    /// Whether a client is one of a campaign.
    pub(crate) fn is_in_campaign(&self, rule: RuleId, client: u32) -> bool {
        self.campaign(rule)
            .is_some_and(|guessers| guessers.clients.contains(&client))
    }

    /// The guessers of a rule, if they are a campaign.
    pub(crate) fn campaign(&self, rule: RuleId) -> Option<&Guessers> {
        self.by_rule
            .get(&rule)
            .filter(|guessers| guessers.is_campaign())
    }
}

/// Whether a window of a rule judges a client: one that requests much else is a user of the site.
pub(crate) fn is_excused(
    rules: &RuleSet,
    logins: &LoginClients,
    rule: RuleId,
    client: u32,
) -> bool {
    let window = rules
        .rule(rule)
        .window
        .filter(|window| window.by == By::Client);
    window
        .and_then(|window| window.others)
        .is_some_and(|percent| !logins.sends_little_else(rules, rule, client, percent))
}
