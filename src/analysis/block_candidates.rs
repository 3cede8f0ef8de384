//! Which clients of a report one could block, why, and what it would cost in ordinary requests.
//!
//! Judges rows that are there; blocks nobody. IPv4 is judged by the address, IPv6 by the /64: whoever has one address of it has
//! all. Where in doubt a client is no candidate, since a prober does little harm and a locked-out visitor is one.

use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::build::ReportInput;
use super::model::{Report, Row};
use crate::block::{BlockPolicy, NeverBlockReason, prefix_network};
use crate::client::{Client, Network};
use crate::finding::Severity;
use crate::log_entry::Outcome;
use crate::number::{counted, grouped};

/// Three guesses in vain are no slip: a visitor, or a search engine on the way of a stale link, may hit upon one or two.
const MIN_GUESSES: u64 = 3;
/// Nobody does so much of it by chance, whatever was said to it.
const MANY_PROBES: u64 = 10;

/// What was made of one client row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockDecision {
    /// Whether one could block it, and why not.
    pub verdict: BlockVerdict,
    /// The /24 or /64 it belongs to; `None` where it is no address.
    pub network: Option<IpNet>,
    /// Clients of that network that hit something in this report.
    pub network_probers: u64,
    /// What the judged stats did: the address, or all addresses of an IPv6 network.
    pub stats: OffenderStats,
}

/// What an address did, or all addresses of an IPv6 network together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OffenderStats {
    /// Clients in the report.
    pub clients: u64,
    /// Their hits.
    pub hits: u64,
    /// The distinct paths of these; of a network at least so many.
    pub paths: u64,
    /// Requests that matched nothing: what a block would have cost.
    pub ordinary: u64,
    /// Hits that did not get the page they asked for. Who gets all of them may be a visitor on the way of links; that is not so
    /// of guesses.
    pub unsuccessful: u64,
    /// Hits that exposed nothing, whatever was said to them.
    pub without_exposure: u64,
    /// The worst of the rules that are certain, as it is before any answer.
    pub worst: Option<Severity>,
}

/// Whether one could block a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockVerdict {
    /// One could.
    Candidate,
    /// One could, but there are more than were asked for.
    LeftOut,
    /// One must not.
    NeverBlock(NeverBlockReason),
    /// It did too little to tell.
    Unclear,
    /// It got all it asked for, as who follows links does.
    Served,
    /// It asked more often for ordinary things.
    Ordinary,
    /// It is not told who it is.
    Hidden,
}

/// Judges each client of a report, in the order of its rows, which must be whole; candidates are the first `max`, which are
/// the worst. IPv6 networks are judged better where the report has its pairs.
#[must_use]
pub fn block_decisions(
    report: &Report<'_>,
    material: &ReportInput<'_>,
    policy: &BlockPolicy<'_>,
    max: Option<usize>,
) -> Vec<BlockDecision> {
    let mut probers: HashMap<Network<'_>, u64> = HashMap::new();
    for client in report.clients.iter().filter_map(|row| row.key.client()) {
        *probers.entry(Network::from_client(client)).or_default() += 1;
    }
    let network_stats = network_stats(report, material, policy);
    let mut room = max.unwrap_or(usize::MAX);
    let judge = |row: &Row<'_>| {
        let client = row.key.client().unwrap_or(Client::Text(b""));
        let of_network = if let Client::V6(bits) = client { network_stats.get(&upper(bits)).copied() } else { None };
        let stats = of_network.unwrap_or_else(|| OffenderStats::from_row(report, row));
        let mut verdict = policy.never_block_reason(client).map_or_else(|| stats.verdict(), BlockVerdict::NeverBlock);
        if verdict == BlockVerdict::Candidate {
            match room.checked_sub(1) {
                Some(left) => room = left,
                None => verdict = BlockVerdict::LeftOut,
            }
        }
        BlockDecision { verdict, network: network(client), network_probers: probers[&Network::from_client(client)], stats }
    };
    report.clients.iter().map(judge).collect()
}

/// How many candidates were left out.
#[must_use]
pub fn left_out(blocks: &[BlockDecision]) -> usize {
    blocks.iter().filter(|block| block.verdict == BlockVerdict::LeftOut).count()
}

impl BlockDecision {
    /// Of a client whose address is hidden: it says nothing, not even of its network.
    pub(crate) const HIDDEN: Self = Self {
        verdict: BlockVerdict::Hidden,
        network: None,
        network_probers: 0,
        stats: OffenderStats { clients: 0, hits: 0, paths: 0, ordinary: 0, unsuccessful: 0, without_exposure: 0, worst: None },
    };

    /// Whether one could block it.
    #[must_use]
    pub fn is_candidate(&self) -> bool {
        self.verdict == BlockVerdict::Candidate
    }

    /// Why, or why not, in a few words.
    #[must_use]
    pub fn reason(&self) -> String {
        match self.verdict {
            BlockVerdict::Candidate => format!("{}; {}", self.stats.activity(), self.stats.cost()),
            BlockVerdict::LeftOut => format!("over --max-block: {}; {}", self.stats.activity(), self.stats.cost()),
            BlockVerdict::NeverBlock(shelter) => shelter.to_string(),
            BlockVerdict::Unclear => format!("not clearly a prober: {}", self.stats.activity()),
            BlockVerdict::Served => format!("got all it asked for, as a visitor may: {}", self.stats.activity()),
            BlockVerdict::Hidden => "its address is hidden".to_owned(),
            BlockVerdict::Ordinary => format!("mostly ordinary: {}, but {}", self.stats.activity(), ordinary(self.stats.ordinary)),
        }
    }

    /// The same in a word or two.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self.verdict {
            BlockVerdict::Candidate | BlockVerdict::LeftOut => "could",
            BlockVerdict::NeverBlock(_) => "must not",
            BlockVerdict::Unclear => "unclear",
            BlockVerdict::Served => "a visitor?",
            BlockVerdict::Ordinary => "costly",
            BlockVerdict::Hidden => "hidden",
        }
    }

    /// The network's text, as firewalls take it.
    #[must_use]
    pub fn network_text(&self) -> String {
        self.network.map(|network| network.to_string()).unwrap_or_default()
    }
}

impl OffenderStats {
    fn from_row(report: &Report<'_>, row: &Row<'_>) -> Self {
        let rules = row.rules.iter().map(|&rule| report.rule_set.rule(rule));
        let worst = rules.filter(|rule| rule.is_certain()).map(|rule| rule.severity).max();
        let said_yes = row.outcomes[Outcome::Answered as usize];
        Self {
            clients: 1,
            hits: row.hits,
            paths: row.paths,
            ordinary: row.other_requests,
            unsuccessful: (row.hits + row.soft_404).saturating_sub(said_yes),
            without_exposure: row.hits.saturating_sub(row.answered),
            worst,
        }
    }

    fn add(&mut self, other: Self) {
        self.clients += other.clients;
        self.hits += other.hits;
        self.paths = self.paths.max(other.paths);
        self.ordinary += other.ordinary;
        self.unsuccessful += other.unsuccessful;
        self.without_exposure += other.without_exposure;
        self.worst = self.worst.max(other.worst);
    }

    fn verdict(&self) -> BlockVerdict {
        if !self.is_prober() {
            if self.unsuccessful == 0 { BlockVerdict::Served } else { BlockVerdict::Unclear }
        } else if self.ordinary > self.hits {
            BlockVerdict::Ordinary
        } else {
            BlockVerdict::Candidate
        }
    }

    /// Whether it clearly probes. Search engines follow links that attackers plant, and come back to what once was there: for what
    /// a link may lead to, one request is too little. An attempt to take the machine over is not.
    fn is_prober(&self) -> bool {
        let at_least = |level| self.worst >= Some(level);
        let guesses = self.unsuccessful >= MIN_GUESSES && (self.paths >= MIN_GUESSES || at_least(Severity::High));
        let attacks = self.unsuccessful > 0 && at_least(Severity::Critical);
        let insists =
            self.without_exposure >= MANY_PROBES && at_least(Severity::Medium) || self.paths >= MANY_PROBES && at_least(Severity::High);
        guesses || attacks || insists
    }

    fn activity(&self) -> String {
        let by = match self.clients {
            1 => String::new(),
            many => format!(" by {} addresses of its /64", grouped(many)),
        };
        format!("{} of {}{by}", counted(self.hits, "probe", "probes"), counted(self.paths, "path", "paths"))
    }

    fn cost(&self) -> String {
        match self.ordinary {
            0 => "no ordinary request".to_owned(),
            n => format!("would also have blocked {}", ordinary(n)),
        }
    }
}

fn ordinary(n: u64) -> String {
    counted(n, "ordinary request", "ordinary requests")
}

/// The IPv6 networks that several clients of the report belong to, by their upper half. One in which somebody is sheltered is
/// no stats: its addresses are judged one by one.
fn network_stats(report: &Report<'_>, material: &ReportInput<'_>, policy: &BlockPolicy<'_>) -> HashMap<u64, OffenderStats> {
    let mut network_stats: HashMap<u64, OffenderStats> = HashMap::new();
    let six = |row: &Row<'_>| match row.key.client() {
        Some(Client::V6(bits)) => Some(upper(bits)),
        _ => None,
    };
    for row in &report.clients {
        if let Some(upper) = six(row) {
            network_stats.entry(upper).or_default().add(OffenderStats::from_row(report, row));
        }
    }
    network_stats.retain(|&upper, stats| stats.clients > 1 && !policy.overlaps(&network_of(upper)));
    if network_stats.is_empty() {
        return network_stats;
    }
    let mut paths: HashMap<u64, HashSet<&[u8]>> = HashMap::new();
    for row in &report.pairs {
        if let Some((upper, path)) = six(row).filter(|upper| network_stats.contains_key(upper)).zip(row.key.path()) {
            paths.entry(upper).or_default().insert(path);
        }
    }
    for (upper, paths) in paths {
        network_stats.entry(upper).and_modify(|stats| stats.paths = stats.paths.max(paths.len() as u64));
    }
    add_neighbours(report, material, &mut network_stats);
    network_stats
}

/// Adds what clients of these networks asked for that hit nothing at all, and are in no row.
fn add_neighbours(report: &Report<'_>, material: &ReportInput<'_>, network_stats: &mut HashMap<u64, OffenderStats>) {
    let rows: HashSet<Client<'_>> = report.clients.iter().filter_map(|row| row.key.client()).collect();
    for (number, count) in (0..).zip(material.tally.client_counts()) {
        let client = material.tally.client(number);
        if let Client::V6(bits) = client
            && let Some(stats) = network_stats.get_mut(&upper(bits))
            && !rows.contains(&client)
        {
            stats.ordinary += count.requests.saturating_sub(count.allowed);
        }
    }
}

/// The upper half of an IPv6 address.
fn upper(bits: u128) -> u64 {
    (bits >> 64) as u64
}

fn network_of(upper: u64) -> IpNet {
    // 64 is a length that IPv6 has.
    Ipv6Net::new_assert(Ipv6Addr::from_bits(u128::from(upper) << 64), 64).into()
}

/// What counts as one stats around a client: its /24 or /64, or what was counted as one.
pub(crate) fn network(client: Client<'_>) -> Option<IpNet> {
    if let Some(network) = prefix_network(client) {
        return Some(network);
    }
    match Network::from_client(client) {
        Network::V4(bits) => Some(Ipv4Net::new_assert(Ipv4Addr::from_bits(bits << 8), 24).into()),
        Network::V6(upper) => Some(network_of(upper)),
        Network::Text(_) => None,
    }
}

#[cfg(test)]
mod tests;
