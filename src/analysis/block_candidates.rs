//! Which clients of a report could be blocked, why, and how many normal requests a block would affect.
//!
//! Judges the rows of a finished report; blocks nothing. IPv4 is judged by the address, IPv6 by the /64, because one
//! customer usually has the whole /64. In doubt a client is no candidate: a prober does little harm, but a blocked
//! visitor is lost.

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

/// Three failed guesses are no accident: a visitor or a search engine with an outdated link may cause one or two.
const MIN_GUESSES: u64 = 3;
/// This many probes are never an accident, whatever the responses were.
const MANY_PROBES: u64 = 10;

/// The decision for one client row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockDecision {
    /// Whether it could be blocked, or why not.
    pub verdict: BlockVerdict,
    /// Its /24 or /64; `None` if it is no address.
    pub network: Option<IpNet>,
    /// Clients of that network with a hit in this report.
    pub network_probers: u64,
    /// What was judged: the address, or all addresses of an IPv6 network.
    pub stats: OffenderStats,
}

/// The activity of one address, or of all addresses of an IPv6 network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OffenderStats {
    /// Clients in the report.
    pub clients: u64,
    /// Their hits.
    pub hits: u64,
    /// Their distinct paths; for a network a lower bound.
    pub paths: u64,
    /// Requests that matched no rule: those that a block would have affected.
    pub ordinary: u64,
    /// Hits that did not receive the requested page. A client that receives every page may be a visitor who follows
    /// links; a guess usually fails.
    pub unsuccessful: u64,
    /// Hits that exposed nothing, whatever the response was.
    pub without_exposure: u64,
    /// The highest severity of its certain rules, before any answer raises it.
    pub worst: Option<Severity>,
}

/// Whether a client could be blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockVerdict {
    /// It could be blocked.
    Candidate,
    /// It could be blocked, but the requested number of candidates is reached.
    LeftOut,
    /// It must never be blocked.
    NeverBlock(NeverBlockReason),
    /// It did too little to be judged.
    Unclear,
    /// It received every page it requested, like a client that follows links.
    Served,
    /// It sent more normal requests than hits.
    Ordinary,
    /// Its address is hidden.
    Hidden,
}

/// Judges each client of a report, in the order of its rows. The rows must be complete. The first `max` candidates are
/// the worst. The judgement of IPv6 networks is better if the report has its pairs.
#[must_use]
pub(crate) fn block_decisions(
    report: &Report<'_>,
    report_input: &ReportInput<'_>,
    guard: &BlockPolicy<'_>,
    max: Option<usize>,
) -> Vec<BlockDecision> {
    let mut probers: HashMap<Network<'_>, u64> = HashMap::new();
    for client in report.clients.iter().filter_map(|row| row.key.client()) {
        *probers.entry(Network::from_client(client)).or_default() += 1;
    }
    let network_stats = network_stats(report, report_input, guard);
    let mut room = max.unwrap_or(usize::MAX);
    let decide = |row: &Row<'_>| {
        let client = row.key.client().unwrap_or(Client::Text(b""));
        let of_network = if let Client::V6(bits) = client { network_stats.get(&upper(bits)).copied() } else { None };
        let stats = of_network.unwrap_or_else(|| OffenderStats::from_row(report, row));
        let mut verdict = guard.never_block_reason(client).map_or_else(|| stats.verdict(), BlockVerdict::NeverBlock);
        if verdict == BlockVerdict::Candidate {
            match room.checked_sub(1) {
                Some(left) => room = left,
                None => verdict = BlockVerdict::LeftOut,
            }
        }
        BlockDecision { verdict, network: network(client), network_probers: probers[&Network::from_client(client)], stats }
    };
    report.clients.iter().map(decide).collect()
}

/// The number of candidates beyond the requested number.
#[must_use]
pub(crate) fn left_out(blocks: &[BlockDecision]) -> usize {
    blocks.iter().filter(|block| block.verdict == BlockVerdict::LeftOut).count()
}

impl BlockDecision {
    /// For a client with a hidden address; reveals nothing about it or its network.
    pub(crate) const HIDDEN: Self = Self {
        verdict: BlockVerdict::Hidden,
        network: None,
        network_probers: 0,
        stats: OffenderStats { clients: 0, hits: 0, paths: 0, ordinary: 0, unsuccessful: 0, without_exposure: 0, worst: None },
    };

    /// Whether it could be blocked.
    #[must_use]
    pub fn is_candidate(&self) -> bool {
        self.verdict == BlockVerdict::Candidate
    }

    /// The reason, in a few words.
    #[must_use]
    pub fn reason(&self) -> String {
        match self.verdict {
            BlockVerdict::Candidate => format!("{}; {}", self.stats.activity(), self.stats.cost()),
            BlockVerdict::LeftOut => format!("over --max-block: {}; {}", self.stats.activity(), self.stats.cost()),
            BlockVerdict::NeverBlock(shelter) => shelter.to_string(),
            BlockVerdict::Unclear => format!("not clearly a prober: {}", self.stats.activity()),
            BlockVerdict::Served => format!("received every page it requested, as a visitor may: {}", self.stats.activity()),
            BlockVerdict::Hidden => "its address is hidden".to_owned(),
            BlockVerdict::Ordinary => format!("mostly ordinary: {}, but {}", self.stats.activity(), ordinary(self.stats.ordinary)),
        }
    }

    /// The decision, in one or two words.
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

    /// The network in the notation of firewalls.
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

    /// Whether it clearly probes. Search engines follow links that attackers plant, and revisit pages that are gone. So
    /// one request for a page that a link may lead to is not enough; one attempt to take over the host is.
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

/// Statistics of the IPv6 networks with several clients in the report, by their upper 64 bits. A network with an
/// address that must never be blocked is left out; its addresses are judged one by one.
fn network_stats(report: &Report<'_>, report_input: &ReportInput<'_>, guard: &BlockPolicy<'_>) -> HashMap<u64, OffenderStats> {
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
    network_stats.retain(|&upper, stats| stats.clients > 1 && !guard.overlaps(&network_of(upper)));
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
    add_neighbours(report, report_input, &mut network_stats);
    network_stats
}

/// Adds the requests of clients in these networks that have no hit, and so no row.
fn add_neighbours(report: &Report<'_>, report_input: &ReportInput<'_>, network_stats: &mut HashMap<u64, OffenderStats>) {
    let rows: HashSet<Client<'_>> = report.clients.iter().filter_map(|row| row.key.client()).collect();
    for (number, count) in (0..).zip(report_input.tally.client_counts()) {
        let client = report_input.tally.client(number);
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
    // 64 is a valid prefix length.
    Ipv6Net::new_assert(Ipv6Addr::from_bits(u128::from(upper) << 64), 64).into()
}

/// The network of a client: its /24 or /64, or the prefix by which clients are counted.
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
