//! Which clients of a report one could block, why, and what it would cost in ordinary requests.
//!
//! Judges rows that are there; blocks nobody. IPv4 is judged by the address, IPv6 by the /64: whoever has one address of it has
//! all. Where in doubt a client is no candidate, since a prober does little harm and a locked-out visitor is one.

use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::build::Material;
use super::model::{Report, Row};
use super::table::number::{counted, grouped};
use crate::block::{Guard, Shelter, group};
use crate::client::{Client, Network};
use crate::finding::Severity;
use crate::log_entry::Outcome;

/// Three guesses in vain are no slip: a visitor, or a search engine on the way of a stale link, may hit upon one or two.
const GUESSES: u64 = 3;
/// Nobody does so much of it by chance, whatever was said to it.
const MUCH: u64 = 10;

/// What was made of one client row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Whether one could block it, and why not.
    pub verdict: Verdict,
    /// The /24 or /64 it belongs to; `None` where it is no address.
    pub network: Option<IpNet>,
    /// Clients of that network that hit something in this report.
    pub network_probers: u64,
    /// What the judged party did: the address, or all addresses of an IPv6 network.
    pub party: Party,
}

/// What an address did, or all addresses of an IPv6 network together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Party {
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
    pub in_vain: u64,
    /// Hits that exposed nothing, whatever was said to them.
    pub fruitless: u64,
    /// The worst of the rules that are certain, as it is before any answer.
    pub worst: Option<Severity>,
}

/// Whether one could block a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// One could.
    Candidate,
    /// One could, but there are more than were asked for.
    LeftOut,
    /// One must not.
    Sheltered(Shelter),
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
pub fn blocks(report: &Report<'_>, material: &Material<'_>, guard: &Guard<'_>, max: Option<usize>) -> Vec<Block> {
    let mut probers: HashMap<Network<'_>, u64> = HashMap::new();
    for client in report.clients.iter().filter_map(|row| row.key.client()) {
        *probers.entry(Network::of(client)).or_default() += 1;
    }
    let parties = parties(report, material, guard);
    let mut room = max.unwrap_or(usize::MAX);
    let judge = |row: &Row<'_>| {
        let client = row.key.client().unwrap_or(Client::Text(b""));
        let of_network = if let Client::V6(bits) = client { parties.get(&upper(bits)).copied() } else { None };
        let party = of_network.unwrap_or_else(|| Party::of(report, row));
        let mut verdict = guard.shelter(client).map_or_else(|| party.verdict(), Verdict::Sheltered);
        if verdict == Verdict::Candidate {
            match room.checked_sub(1) {
                Some(left) => room = left,
                None => verdict = Verdict::LeftOut,
            }
        }
        Block { verdict, network: network(client), network_probers: probers[&Network::of(client)], party }
    };
    report.clients.iter().map(judge).collect()
}

/// How many candidates were left out.
#[must_use]
pub fn left_out(blocks: &[Block]) -> usize {
    blocks.iter().filter(|block| block.verdict == Verdict::LeftOut).count()
}

impl Block {
    /// Of a client whose address is hidden: it says nothing, not even of its network.
    pub(super) const HIDDEN: Self = Self {
        verdict: Verdict::Hidden,
        network: None,
        network_probers: 0,
        party: Party { clients: 0, hits: 0, paths: 0, ordinary: 0, in_vain: 0, fruitless: 0, worst: None },
    };

    /// Whether one could block it.
    #[must_use]
    pub fn is_candidate(&self) -> bool {
        self.verdict == Verdict::Candidate
    }

    /// Why, or why not, in a few words.
    #[must_use]
    pub fn reason(&self) -> String {
        match self.verdict {
            Verdict::Candidate => format!("{}; {}", self.party.deeds(), self.party.cost()),
            Verdict::LeftOut => format!("over --max-block: {}; {}", self.party.deeds(), self.party.cost()),
            Verdict::Sheltered(shelter) => shelter.to_string(),
            Verdict::Unclear => format!("not clearly a prober: {}", self.party.deeds()),
            Verdict::Served => format!("got all it asked for, as a visitor may: {}", self.party.deeds()),
            Verdict::Hidden => "its address is hidden".to_owned(),
            Verdict::Ordinary => format!("mostly ordinary: {}, but {}", self.party.deeds(), ordinary(self.party.ordinary)),
        }
    }

    /// The same in a word or two.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.verdict {
            Verdict::Candidate | Verdict::LeftOut => "could",
            Verdict::Sheltered(_) => "must not",
            Verdict::Unclear => "unclear",
            Verdict::Served => "a visitor?",
            Verdict::Ordinary => "costly",
            Verdict::Hidden => "hidden",
        }
    }

    /// The network's text, as firewalls take it.
    #[must_use]
    pub fn network_text(&self) -> String {
        self.network.map(|network| network.to_string()).unwrap_or_default()
    }
}

impl Party {
    fn of(report: &Report<'_>, row: &Row<'_>) -> Self {
        let rules = row.rules.iter().map(|&rule| report.rule_set.rule(rule));
        let worst = rules.filter(|rule| rule.is_certain()).map(|rule| rule.severity).max();
        let said_yes = row.outcomes[Outcome::Answered as usize];
        Self {
            clients: 1,
            hits: row.hits,
            paths: row.paths,
            ordinary: row.other_requests,
            in_vain: (row.hits + row.soft_404).saturating_sub(said_yes),
            fruitless: row.hits.saturating_sub(row.answered),
            worst,
        }
    }

    fn add(&mut self, other: Self) {
        self.clients += other.clients;
        self.hits += other.hits;
        self.paths = self.paths.max(other.paths);
        self.ordinary += other.ordinary;
        self.in_vain += other.in_vain;
        self.fruitless += other.fruitless;
        self.worst = self.worst.max(other.worst);
    }

    fn verdict(&self) -> Verdict {
        if !self.is_prober() {
            if self.in_vain == 0 { Verdict::Served } else { Verdict::Unclear }
        } else if self.ordinary > self.hits {
            Verdict::Ordinary
        } else {
            Verdict::Candidate
        }
    }

    /// Whether it clearly probes. Search engines follow links that attackers plant, and come back to what once was there: for what
    /// a link may lead to, one request is too little. An attempt to take the machine over is not.
    fn is_prober(&self) -> bool {
        let at_least = |level| self.worst >= Some(level);
        let guesses = self.in_vain >= GUESSES && (self.paths >= GUESSES || at_least(Severity::High));
        let attacks = self.in_vain > 0 && at_least(Severity::Critical);
        let insists = self.fruitless >= MUCH && at_least(Severity::Medium) || self.paths >= MUCH && at_least(Severity::High);
        guesses || attacks || insists
    }

    fn deeds(&self) -> String {
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
/// no party: its addresses are judged one by one.
fn parties(report: &Report<'_>, material: &Material<'_>, guard: &Guard<'_>) -> HashMap<u64, Party> {
    let mut parties: HashMap<u64, Party> = HashMap::new();
    let six = |row: &Row<'_>| match row.key.client() {
        Some(Client::V6(bits)) => Some(upper(bits)),
        _ => None,
    };
    for row in &report.clients {
        if let Some(upper) = six(row) {
            parties.entry(upper).or_default().add(Party::of(report, row));
        }
    }
    parties.retain(|&upper, party| party.clients > 1 && !guard.touches(&network_of(upper)));
    if parties.is_empty() {
        return parties;
    }
    let mut paths: HashMap<u64, HashSet<&[u8]>> = HashMap::new();
    for row in &report.pairs {
        if let Some((upper, path)) = six(row).filter(|upper| parties.contains_key(upper)).zip(row.key.path()) {
            paths.entry(upper).or_default().insert(path);
        }
    }
    for (upper, paths) in paths {
        parties.entry(upper).and_modify(|party| party.paths = party.paths.max(paths.len() as u64));
    }
    add_neighbours(report, material, &mut parties);
    parties
}

/// Adds what clients of these networks asked for that hit nothing at all, and are in no row.
fn add_neighbours(report: &Report<'_>, material: &Material<'_>, parties: &mut HashMap<u64, Party>) {
    let rows: HashSet<Client<'_>> = report.clients.iter().filter_map(|row| row.key.client()).collect();
    for (number, count) in (0..).zip(material.tally.client_counts()) {
        let client = material.tally.client(number);
        if let Client::V6(bits) = client
            && let Some(party) = parties.get_mut(&upper(bits))
            && !rows.contains(&client)
        {
            party.ordinary += count.requests.saturating_sub(count.allowed);
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

/// What counts as one party around a client: its /24 or /64, or what was counted as one.
pub(super) fn network(client: Client<'_>) -> Option<IpNet> {
    if let Some(network) = group(client) {
        return Some(network);
    }
    match Network::of(client) {
        Network::V4(bits) => Some(Ipv4Net::new_assert(Ipv4Addr::from_bits(bits << 8), 24).into()),
        Network::V6(upper) => Some(network_of(upper)),
        Network::Text(_) => None,
    }
}

#[cfg(test)]
mod tests;
