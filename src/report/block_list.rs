//! Which addresses and networks a block list names, and the memory of it between runs.
//!
//! A ledger collects the candidates of reports, with what they did and what a block would cost; a
//! list is made of it for an instant. IPv4 is listed by address and IPv6 by /64. Reads no log and
//! blocks nothing. In doubt nothing is listed: not an address that may be a proxy, nor one whose
//! last probe has no time. Who may be a proxy and what a block would cost depend on all requests
//! that the ledger [remembers](super::block_traffic), not on those of one report.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::{Deserialize, Serialize};

use super::block_traffic::{RecentTraffic, RequestCounts};
use super::build::LogAnalysis;
use super::labels;
use super::model::{BlockVerdict, ReportModel, Row};
use crate::block::{BlockPolicy, NeverBlockReason, prefix_network};
use crate::judge::prober::{ClientRequests, unknown_requests};
use crate::log::client::Client;
use crate::log::finding::Severity;
use crate::log::time::LogTime;
use crate::tally::Site;
use crate::text::redact::LogText;

/// The largest number of entries that a ledger keeps between runs. Of more, the latest are kept.
const MAX_ENTRIES: usize = 200_000;

/// Paths that are kept of each entry.
const SAMPLES: usize = 3;

/// The longest path that is kept.
const MAX_SAMPLE_LEN: usize = 200;

/// The shortest own host name that is looked for in paths: shorter ones are in too many other
/// words.
const MIN_HOST_LEN: usize = 4;

/// An address or network that could be blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlockEntry {
    /// What is listed: an IPv4 address, an IPv6 /64, or a /24 of several entries.
    #[serde(with = "network_text")]
    pub network: IpNet,
    /// The address of its first candidate.
    pub address: IpAddr,
    /// Addresses with a hit; between runs a lower bound.
    pub addresses: u64,
    /// Hits.
    pub hits: u64,
    /// Distinct paths; between runs a lower bound.
    pub paths: u64,
    /// Requests that are no probe: those that a block would have affected.
    pub ordinary: u64,
    /// The highest severity of a hit.
    pub severity: Severity,
    /// The classes of the rules, sorted.
    pub classes: Vec<String>,
    /// Some of the paths, masked and escaped: the most severe first.
    pub samples: Vec<String>,
    /// The earliest hit.
    pub first: LogTime,
    /// The latest hit.
    pub last: LogTime,
    /// Another client of its /24 is no candidate.
    has_neighbours: bool,
}

/// What is known of candidates, kept between runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlockLedger {
    /// The latest time of a line.
    until: Option<LogTime>,
    /// Sorted by network.
    entries: Vec<BlockEntry>,
    /// The requests of all clients in the last days of the logs.
    #[serde(default)]
    traffic: RecentTraffic,
}

/// What a list may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockListOptions {
    /// The most ordinary requests of an entry.
    pub max_cost: u64,
    /// The most entries.
    pub max: Option<usize>,
    /// How long an entry stays after its last hit.
    pub ttl: Duration,
    /// Entries in a /24 from which the whole of it is listed.
    pub aggregate: Option<usize>,
    /// The user named the proxies, so that no other address is one.
    pub proxies_are_known: bool,
    /// The instant of the list, in seconds since 1970.
    pub now: i64,
}

/// A list for an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockList {
    /// Sorted by network, IPv4 first.
    pub entries: Vec<BlockEntry>,
    /// The latest time of a line.
    pub until: Option<LogTime>,
    /// Candidates whose block would cost too many ordinary requests.
    pub costly: usize,
    /// Candidates whose last hit is too long ago.
    pub expired: usize,
    /// The candidate that makes nearly all requests and may be a proxy.
    pub possible_proxy: Option<IpNet>,
    /// Candidates beyond the most entries.
    pub left_out: usize,
    /// Candidates of earlier runs that must not be blocked now.
    pub never: BTreeMap<NeverBlockReason, usize>,
    /// The instant of the list, in seconds since 1970.
    pub now: i64,
    /// How long an entry stays after its last hit.
    pub ttl: Duration,
}

/// The candidates of a run that are not in the ledger, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NotListed {
    /// Those that were forgotten, because their last hit is too long ago.
    pub expired: usize,
    /// Clients without the time of a hit.
    pub untimed: usize,
    /// Clients of a log in which clients are not certain.
    pub forwarded: usize,
    /// Those whose hits a page of a third party may have caused.
    pub third_party: usize,
    /// Those with more ordinary requests than hits.
    pub ordinary: usize,
    /// Those that must never be blocked.
    pub never: BTreeMap<NeverBlockReason, usize>,
}

impl NotListed {
    /// Adds those of another report.
    pub(crate) fn add(&mut self, other: Self) {
        self.expired += other.expired;
        self.untimed += other.untimed;
        self.forwarded += other.forwarded;
        self.third_party += other.third_party;
        self.ordinary += other.ordinary;
        other
            .never
            .into_iter()
            .for_each(|(reason, clients)| *self.never.entry(reason).or_default() += clients);
    }
}

impl BlockEntry {
    /// An entry with these hits of one address, for tests of formats.
    #[cfg(test)]
    pub(crate) fn for_test(
        network: IpNet,
        hits: u64,
        samples: &[&str],
        classes: &[&str],
        times: (LogTime, LogTime),
    ) -> Self {
        let address = match network.addr() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() | 1).into(),
            four @ IpAddr::V4(_) => four,
        };
        let mut entry = Self {
            hits,
            paths: hits,
            addresses: 1,
            severity: Severity::High,
            ..Self::new(network, address, times)
        };
        entry.samples = samples.iter().map(ToString::to_string).collect();
        entry.classes = classes.iter().map(ToString::to_string).collect();
        entry
    }

    fn new(network: IpNet, address: IpAddr, (first, last): (LogTime, LogTime)) -> Self {
        Self {
            network,
            address,
            addresses: 0,
            hits: 0,
            paths: 0,
            ordinary: 0,
            severity: Severity::Info,
            classes: Vec::new(),
            samples: Vec::new(),
            first,
            last,
            has_neighbours: false,
        }
    }

    fn add_row(&mut self, report: &ReportModel<'_>, row: &Row<'_>) {
        self.hits += row.hits;
        self.severity = self.severity.max(row.severity);
        self.paths = self.paths.max(row.paths);
        self.add_classes(labels::classes(report.rule_set, &row.rules));
        if let Some((first, last)) = row.first_time.zip(row.last_time) {
            self.first = self.first.min(first);
            self.last = self.last.max(last);
        }
    }

    fn add_classes<S: AsRef<str>>(&mut self, classes: impl IntoIterator<Item = S>) {
        for class in classes {
            if let Err(at) = self
                .classes
                .binary_search_by(|known| known.as_str().cmp(class.as_ref()))
            {
                self.classes.insert(at, class.as_ref().to_owned());
            }
        }
    }

    fn add_sample(&mut self, sample: &str) {
        if self.samples.len() < SAMPLES && !self.samples.iter().any(|known| known == sample) {
            self.samples.push(sample.to_owned());
        }
    }

    /// Adds an entry of the same /24.
    fn merge(&mut self, other: &Self) {
        self.addresses += other.addresses;
        self.hits += other.hits;
        self.ordinary += other.ordinary;
        self.severity = self.severity.max(other.severity);
        self.paths = self.paths.max(other.paths);
        self.add_classes(&other.classes);
        other
            .samples
            .iter()
            .for_each(|sample| self.add_sample(sample));
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }

    /// The worst first.
    fn rank(&self) -> impl Ord + use<> {
        std::cmp::Reverse((
            self.severity,
            self.hits,
            self.last,
            std::cmp::Reverse(self.network),
        ))
    }
}

impl BlockLedger {
    /// Adds the candidates of a report, and what known entries did in it. The report must have all
    /// its clients with their decisions, and be neither redacted nor shortened.
    pub(crate) fn add_report(
        &mut self,
        report: &ReportModel<'_>,
        analysis: &LogAnalysis<'_>,
        policy: &BlockPolicy<'_>,
        is_forwarded: bool,
    ) -> NotListed {
        if let Some(last) = report.totals.last_time {
            self.until = self.until.max(Some(last));
            self.traffic.advance(last.utc);
        }
        let mut not_listed = NotListed::default();
        let mut seen = HashSet::new();
        let mut new = Vec::new();
        for row in &report.clients {
            let (Some(client), Some(decision)) = (row.key.client(), &row.block) else {
                continue;
            };
            let place = listed_network(client).zip(client.first_address());
            // Several addresses of an IPv6 network are one candidate.
            if place.is_some_and(|(network, _)| {
                self.index(&network).is_some() || seen.contains(&network)
            }) {
                continue;
            }
            let never = match decision.verdict {
                BlockVerdict::NeverBlock(reason) => Some(reason),
                _ => place.and_then(|(network, _)| policy.network_reason(&network)),
            };
            match (place, row.first_time.zip(row.last_time)) {
                _ if decision.verdict == BlockVerdict::ThirdParty => not_listed.third_party += 1,
                _ if decision.verdict == BlockVerdict::Ordinary => not_listed.ordinary += 1,
                _ if !decision.is_prober => continue,
                _ if let Some(reason) = never => *not_listed.never.entry(reason).or_default() += 1,
                _ if is_forwarded => not_listed.forwarded += 1,
                (Some((network, address)), Some(times)) => {
                    let ordinary = self.traffic.ordinary(&network);
                    new.push(BlockEntry {
                        ordinary,
                        ..BlockEntry::new(network, address, times)
                    });
                }
                _ => not_listed.untimed += 1,
            }
            seen.extend(place.map(|(network, _)| network));
        }
        self.entries.append(&mut new);
        self.entries.sort_unstable_by_key(|entry| entry.network);
        let counts = request_counts(report, analysis);
        self.add_activity(report, &counts);
        let public = counts
            .iter()
            .filter(|(network, _)| policy.network_reason(network).is_none());
        self.traffic.add(report.totals.sum.requests, public);
        self.add_paths(report, &own_hosts(analysis));
        not_listed
    }

    fn index(&self, network: &IpNet) -> Option<usize> {
        self.entries
            .binary_search_by_key(network, |entry| entry.network)
            .ok()
    }

    /// Counts hits and ordinary requests of the entries, and looks for other clients in their
    /// networks.
    fn add_activity(&mut self, report: &ReportModel<'_>, counts: &HashMap<IpNet, RequestCounts>) {
        let mut addresses: HashMap<usize, u64> = HashMap::new();
        for row in &report.clients {
            let network = row.key.client().and_then(listed_network);
            if let Some(index) = network.and_then(|network| self.index(&network)) {
                self.entries[index].add_row(report, row);
                *addresses.entry(index).or_default() += 1;
            }
        }
        let mut shared: HashSet<Ipv4Net> = HashSet::new();
        for (network, counts) in counts {
            match self.index(network) {
                Some(index) => self.entries[index].ordinary += counts.ordinary,
                None if counts.requests > 0 => shared.extend(neighbourhood(network)),
                None => {}
            }
        }
        for (index, addresses) in addresses {
            let entry = &mut self.entries[index];
            entry.addresses = entry.addresses.max(addresses);
        }
        for entry in &mut self.entries {
            entry.has_neighbours |=
                neighbourhood(&entry.network).is_some_and(|network| shared.contains(&network));
        }
    }

    /// Counts the paths of the entries, and keeps some of them.
    fn add_paths(&mut self, report: &ReportModel<'_>, own: &[Vec<u8>]) {
        let mut paths: HashMap<usize, HashSet<LogText<'_>>> = HashMap::new();
        for row in &report.pairs {
            let network = row.key.client().and_then(listed_network);
            let Some((index, path)) = network
                .and_then(|network| self.index(&network))
                .zip(row.key.path())
            else {
                continue;
            };
            if paths.entry(index).or_default().insert(path)
                && self.entries[index].samples.len() < SAMPLES
                && is_shown(path.raw(), own)
            {
                self.entries[index].add_sample(&path.redacted());
            }
        }
        for (index, paths) in paths {
            let entry = &mut self.entries[index];
            entry.paths = entry.paths.max(paths.len() as u64);
        }
    }

    /// Forgets entries whose last hit is at least this long ago, and the oldest if there are too
    /// many. Returns how many are too old.
    pub(crate) fn expire(&mut self, now: i64, ttl: Duration) -> usize {
        let before = self.entries.len();
        self.entries.retain(|entry| is_fresh(entry, now, ttl));
        let expired = before - self.entries.len();
        if self.entries.len() > MAX_ENTRIES {
            self.entries
                .sort_unstable_by_key(|entry| std::cmp::Reverse((entry.last, entry.network)));
            self.entries.truncate(MAX_ENTRIES);
            self.entries.sort_unstable_by_key(|entry| entry.network);
        }
        expired
    }

    /// The list for an instant. Entries that the policy shelters now are left out.
    #[must_use]
    pub(crate) fn list(&self, options: &BlockListOptions, policy: &BlockPolicy<'_>) -> BlockList {
        let mut never = BTreeMap::new();
        let public =
            self.entries
                .iter()
                .filter(|entry| match policy.network_reason(&entry.network) {
                    Some(reason) => {
                        *never.entry(reason).or_default() += 1;
                        false
                    }
                    None => true,
                });
        let (mut fresh, expired): (Vec<_>, Vec<_>) =
            public.partition(|entry| is_fresh(entry, options.now, options.ttl));
        let possible_proxy = if options.proxies_are_known {
            None
        } else {
            self.traffic.possible_proxy()
        };
        let possible_proxy =
            possible_proxy.filter(|proxy| fresh.iter().any(|entry| entry.network == *proxy));
        fresh.retain(|entry| Some(entry.network) != possible_proxy);
        let (cheap, costly): (Vec<_>, Vec<_>) = fresh
            .into_iter()
            .partition(|entry| entry.ordinary <= options.max_cost.min(entry.hits));
        let mut entries = match options.aggregate {
            Some(min_entries) => self.aggregated(&cheap, min_entries, policy),
            None => cheap.into_iter().cloned().collect(),
        };
        let left_out = options
            .max
            .map_or(0, |max| entries.len().saturating_sub(max));
        if left_out > 0 {
            entries.sort_by_cached_key(BlockEntry::rank);
            entries.truncate(entries.len() - left_out);
        }
        entries.sort_unstable_by_key(|entry| entry.network);
        BlockList {
            entries,
            until: self.until,
            costly: costly.len(),
            expired: expired.len(),
            possible_proxy,
            left_out,
            never,
            now: options.now,
            ttl: options.ttl,
        }
    }

    /// Replaces entries by their /24 where there are enough of them and no other client.
    fn aggregated(
        &self,
        listed: &[&BlockEntry],
        min_entries: usize,
        policy: &BlockPolicy<'_>,
    ) -> Vec<BlockEntry> {
        let mut entry_counts: HashMap<Ipv4Net, usize> = HashMap::new();
        for network in self
            .entries
            .iter()
            .filter_map(|entry| neighbourhood(&entry.network))
        {
            *entry_counts.entry(network).or_default() += 1;
        }
        let mut groups: HashMap<Ipv4Net, Vec<&BlockEntry>> = HashMap::new();
        let mut entries = Vec::new();
        for entry in listed {
            match neighbourhood(&entry.network) {
                Some(network) => groups.entry(network).or_default().push(entry),
                None => entries.push((*entry).clone()),
            }
        }
        for (network, members) in groups {
            let (first, rest) = (members[0], &members[1..]);
            let is_complete = entry_counts.get(&network) == Some(&members.len())
                && members.iter().all(|entry| !entry.has_neighbours);
            if members.len() < min_entries.max(2)
                || !is_complete
                || policy.network_reason(&network.into()).is_some()
            {
                entries.extend(members.into_iter().cloned());
                continue;
            }
            let mut aggregate = BlockEntry {
                network: network.into(),
                ..first.clone()
            };
            for entry in rest {
                aggregate.merge(entry);
            }
            entries.push(aggregate);
        }
        entries
    }
}

/// The requests of each address or IPv6 network. Ordinary ones include normal pages of apps that
/// the sites run, though a rule matches them, and the most that a limited tally may lack.
fn request_counts(
    report: &ReportModel<'_>,
    analysis: &LogAnalysis<'_>,
) -> HashMap<IpNet, RequestCounts> {
    let tally = analysis.input.tally;
    let rows: HashMap<Client<'_>, &Row<'_>> = report
        .clients
        .iter()
        .filter_map(|row| Some((row.key.client()?, row)))
        .collect();
    let unknown = unknown_requests(analysis);
    let mut sums: HashMap<IpNet, (u64, ClientRequests)> = HashMap::new();
    for ((number, count), unknown) in (0..).zip(tally.client_counts()).zip(unknown) {
        let client = tally.client(number);
        let Some(network) = listed_network(client) else {
            continue;
        };
        let (hits, others) = rows.get(&client).map_or_else(
            || (0, count.requests.saturating_sub(count.allowed)),
            |row| (row.hits, row.other_requests),
        );
        let (requests, sum) = sums.entry(network).or_default();
        *requests += count.requests;
        sum.hits += hits;
        sum.others += others + count.error + count.missed;
        sum.unknown += unknown;
    }
    for (view, decision) in analysis.cells() {
        if decision.suppressed_by.is_none() || view.is_other() {
            continue;
        }
        let client = tally.client(view.client);
        // All requests of clients without a row were counted.
        if let Some(network) = listed_network(client).filter(|_| rows.contains_key(&client)) {
            sums.entry(network).or_default().1.others += view.cell.hits;
        }
    }
    sums.into_iter()
        .map(|(network, (requests, sum))| {
            (
                network,
                RequestCounts {
                    requests,
                    ordinary: sum.ordinary(),
                },
            )
        })
        .collect()
}

/// Whether the last hit is less than this long ago.
fn is_fresh(entry: &BlockEntry, now: i64, ttl: Duration) -> bool {
    now.saturating_sub(entry.last.utc) < i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX)
}

/// What is listed for a client: its IPv4 address, its /64, or the shorter prefix by which clients
/// are counted.
fn listed_network(client: Client<'_>) -> Option<IpNet> {
    let prefix = |bits: u128, length| {
        Ipv6Net::new(Ipv6Addr::from_bits(bits), length)
            .ok()
            .map(|network| network.trunc().into())
    };
    match client {
        Client::V4(bits) => Some(IpAddr::V4(Ipv4Addr::from_bits(bits)).into()),
        Client::V6(bits) => prefix(bits, 64),
        Client::Text(_) => match prefix_network(client)? {
            IpNet::V6(network) => prefix(network.network().to_bits(), network.prefix_len().min(64)),
            IpNet::V4(_) => None,
        },
    }
}

/// The /24 of an IPv4 address.
fn neighbourhood(network: &IpNet) -> Option<Ipv4Net> {
    match network {
        IpNet::V4(network) => Ipv4Net::new(network.network(), 24)
            .ok()
            .map(|network| network.trunc()),
        IpNet::V6(_) => None,
    }
}

/// The host names that ordinary requests use, in lower case.
fn own_hosts(analysis: &LogAnalysis<'_>) -> Vec<Vec<u8>> {
    let mut seen = HashSet::new();
    let sites = analysis
        .input
        .tally
        .cells()
        .map(|view| view.site)
        .filter(|site| seen.insert(*site));
    sites
        .filter(|site| analysis.is_known_host(*site))
        .filter_map(Site::host)
        .filter(|host| host.len() >= MIN_HOST_LEN)
        .map(<[u8]>::to_vec)
        .collect()
}

/// Whether a path can be shown to others: it has neither a name of this site nor an address.
fn is_shown(path: &[u8], own: &[Vec<u8>]) -> bool {
    path.starts_with(b"/")
        && path.len() <= MAX_SAMPLE_LEN
        && Client::addresses_in(path).next().is_none()
        && !own
            .iter()
            .any(|host| memchr::memmem::find(&path.to_ascii_lowercase(), host).is_some())
}

/// A network as text.
pub(super) mod network_text {
    use ipnet::IpNet;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::log::client::parse_network;

    pub(in crate::report) fn serialize<S: Serializer>(
        network: &IpNet,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(network)
    }

    pub(in crate::report) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<IpNet, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_network(&text).ok_or_else(|| D::Error::custom("no such network"))
    }
}
