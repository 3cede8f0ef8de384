//! Which clients of a report could be blocked, why, and how many normal requests a block would
//! affect.
//!
//! Judges the rows of a finished report; blocks nothing. IPv4 is judged by the address, IPv6 by the
//! /64, because one customer usually has the whole /64. In doubt a client is no candidate: a prober
//! does little harm, but a blocked visitor is lost. So a client is none whose few probes a page of
//! others may have made its browser send.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::build::LogAnalysis;
use super::model::{BlockDecision, BlockVerdict, OffenderStats, ReportModel, Row};
use super::third_party::third_party_bounds;
use crate::block::{BlockPolicy, NeverBlockReason, ProxyOperator, prefix_network};
use crate::judge::prober::{ClientRequests, MANY_PROBES, MIN_PROBES, unknown_requests};
use crate::judge::report_input::ReportInput;
use crate::log::client::{Client, Network};
use crate::log::finding::Severity;
use crate::log::log_entry::Outcome;
use crate::text::number::{counted, grouped};
use crate::text::redact::LogText;

/// Judges each client of a report. The rows must be complete. The first `max` candidates are the
/// worst. The judgement of IPv6 networks is better if the report has its pairs.
pub(crate) fn decide_blocks(
    report: &mut ReportModel<'_>,
    analysis: &LogAnalysis<'_>,
    guard: &BlockPolicy<'_>,
    max: Option<usize>,
) {
    let blocks = block_decisions(report, analysis, guard, max);
    for (row, block) in report.clients.iter_mut().zip(blocks) {
        row.block = Some(Box::new(block));
    }
    report.has_blocks = true;
}

/// The decisions of a report, in the order of its clients.
pub(crate) fn blocks<'r>(report: &'r ReportModel<'_>) -> impl Iterator<Item = &'r BlockDecision> {
    report.clients.iter().filter_map(|row| row.block.as_deref())
}

fn block_decisions<'a>(
    report: &ReportModel<'a>,
    analysis: &LogAnalysis<'a>,
    guard: &BlockPolicy<'_>,
    max: Option<usize>,
) -> Vec<BlockDecision> {
    let mut probers: HashMap<Network<'_>, u64> = HashMap::new();
    for client in report.clients.iter().filter_map(|row| row.key.client()) {
        *probers.entry(Network::from_client(client)).or_default() += 1;
    }
    let unknown = unknown_requests(analysis);
    let stats_of_row = |row: &Row<'a>| {
        OffenderStats::from_row(report, row, unknown_of(&analysis.input, &unknown, row))
    };
    let network_stats = network_stats(report, &analysis.input, guard, &unknown, stats_of_row);
    // The address that is judged: the first of an IPv6 network that is judged as one.
    let subject = |client| match client {
        Client::V6(bits) if network_stats.contains_key(&upper(bits)) => {
            Client::V6(u128::from(upper(bits)) << 64)
        }
        client => client,
    };
    let stats_of = |row: &Row<'a>, client| {
        let of_network = if let Client::V6(bits) = client {
            network_stats.get(&upper(bits)).copied()
        } else {
            None
        };
        of_network.unwrap_or_else(|| stats_of_row(row))
    };
    let client_of = |row: &Row<'a>| row.key.client().unwrap_or(Client::Text(b""));
    let of_few_paths = report.clients.iter().filter(|row| {
        let stats = stats_of(row, client_of(row));
        stats.paths < MANY_PROBES && stats.verdict() == BlockVerdict::Candidate
    });
    let of_few_paths: HashSet<Client<'a>> =
        of_few_paths.map(|row| subject(client_of(row))).collect();
    let bounds = if of_few_paths.is_empty() {
        HashMap::new()
    } else {
        third_party_bounds(analysis, |client| {
            Some(subject(client)).filter(|subject| of_few_paths.contains(subject))
        })
    };
    let mut remaining = max.unwrap_or(usize::MAX);
    let decide = |row: &Row<'a>| {
        let client = client_of(row);
        let stats = stats_of(row, client);
        let mut verdict = stats.verdict();
        let is_third_party = bounds
            .get(&subject(client))
            .is_some_and(|bound| stats.paths < *bound);
        if verdict == BlockVerdict::Candidate && is_third_party {
            verdict = BlockVerdict::ThirdParty;
        }
        let is_prober = verdict == BlockVerdict::Candidate;
        verdict = guard
            .never_block_reason(client)
            .map_or(verdict, BlockVerdict::NeverBlock);
        if verdict == BlockVerdict::Candidate {
            match remaining.checked_sub(1) {
                Some(left) => remaining = left,
                None => verdict = BlockVerdict::LeftOut,
            }
        }
        let network_probers = probers[&Network::from_client(client)];
        BlockDecision {
            verdict,
            is_prober,
            network: network(client),
            network_probers,
            stats,
        }
    };
    report.clients.iter().map(decide).collect()
}

/// The number of candidates beyond the requested number.
#[must_use]
pub(crate) fn left_out(report: &ReportModel<'_>) -> usize {
    blocks(report)
        .filter(|block| block.verdict == BlockVerdict::LeftOut)
        .count()
}

/// How many edges of content delivery networks would be candidates, by operator: a sentence each.
pub(crate) fn edges_left_out(report: &ReportModel<'_>) -> impl Iterator<Item = String> + use<> {
    let mut edges: BTreeMap<ProxyOperator, usize> = BTreeMap::new();
    for block in blocks(report).filter(|block| block.is_prober) {
        if let BlockVerdict::NeverBlock(NeverBlockReason::Edge(operator)) = block.verdict {
            *edges.entry(operator).or_default() += 1;
        }
    }
    edges
        .into_iter()
        .map(|(operator, edges)| operator.left_out(edges))
}

impl BlockDecision {
    /// For a client with a hidden address; reveals nothing about it or its network.
    pub(crate) const HIDDEN: Self = Self {
        verdict: BlockVerdict::Hidden,
        is_prober: false,
        network: None,
        network_probers: 0,
        stats: OffenderStats {
            clients: 0,
            hits: 0,
            paths: 0,
            others: 0,
            unknown: 0,
            unsuccessful: 0,
            without_exposure: 0,
            worst: None,
        },
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
            BlockVerdict::LeftOut => format!(
                "over --max-block: {}; {}",
                self.stats.activity(),
                self.stats.cost()
            ),
            BlockVerdict::NeverBlock(shelter) => shelter.to_string(),
            BlockVerdict::Unclear => format!("not clearly a prober: {}", self.stats.activity()),
            BlockVerdict::Served => format!(
                "received every page it requested, as a visitor may: {}",
                self.stats.activity()
            ),
            BlockVerdict::ThirdParty => format!(
                "a page of others may have made its browser send this: {}",
                self.stats.activity()
            ),
            BlockVerdict::Hidden => "its address is hidden".to_owned(),
            BlockVerdict::Ordinary => format!(
                "mostly ordinary: {}, but {}",
                self.stats.activity(),
                ordinary(self.stats.ordinary())
            ),
        }
    }

    /// Whether it may be blocked, in one or two words.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self.verdict {
            BlockVerdict::Candidate | BlockVerdict::LeftOut => "yes",
            BlockVerdict::NeverBlock(_) => "never",
            BlockVerdict::Unclear => "unclear",
            BlockVerdict::Served | BlockVerdict::ThirdParty => "a visitor?",
            BlockVerdict::Ordinary => "ordinary",
            BlockVerdict::Hidden => "hidden",
        }
    }

    /// The network in the notation of firewalls.
    #[must_use]
    pub fn network_text(&self) -> String {
        self.network
            .map(|network| network.to_string())
            .unwrap_or_default()
    }
}

impl OffenderStats {
    /// `unknown` are its requests for names that do not exist and that are no hit.
    fn from_row(report: &ReportModel<'_>, row: &Row<'_>, unknown: u64) -> Self {
        let rules = row.rules.iter().map(|&rule| report.rule_set.rule(rule));
        let worst = rules
            .filter(|rule| rule.is_certain())
            .map(|rule| rule.severity)
            .max();
        let said_yes = row.outcomes[Outcome::Answered as usize];
        Self {
            clients: 1,
            hits: row.hits,
            paths: row.paths,
            others: row.other_requests,
            unknown,
            unsuccessful: (row.hits + row.soft_404).saturating_sub(said_yes),
            without_exposure: row.hits.saturating_sub(row.answered),
            worst,
        }
    }

    fn add(&mut self, other: Self) {
        self.clients += other.clients;
        self.hits += other.hits;
        self.paths = self.paths.max(other.paths);
        self.others += other.others;
        self.unknown += other.unknown;
        self.unsuccessful += other.unsuccessful;
        self.without_exposure += other.without_exposure;
        self.worst = self.worst.max(other.worst);
    }

    fn verdict(&self) -> BlockVerdict {
        if !self.is_harmful() {
            if self.unsuccessful == 0 {
                BlockVerdict::Served
            } else {
                BlockVerdict::Unclear
            }
        } else if !self.requests().are_of_prober() {
            BlockVerdict::Ordinary
        } else {
            BlockVerdict::Candidate
        }
    }

    fn requests(&self) -> ClientRequests {
        ClientRequests {
            hits: self.hits,
            others: self.others,
            unknown: self.unknown,
        }
    }

    /// The requests that a block would have cost.
    #[must_use]
    pub fn ordinary(&self) -> u64 {
        self.requests().ordinary()
    }

    /// Whether its hits are worth a block. Search engines follow links that attackers plant, and
    /// revisit pages that are gone. So one request for a page that a link may lead to is not
    /// enough; one attempt to take over the host is.
    fn is_harmful(&self) -> bool {
        let at_least = |level| self.worst >= Some(level);
        let guesses = self.unsuccessful >= MIN_PROBES
            && (self.paths >= MIN_PROBES || at_least(Severity::High));
        let attacks = self.unsuccessful > 0 && at_least(Severity::Critical);
        let insists = self.without_exposure >= MANY_PROBES && at_least(Severity::Medium)
            || self.paths >= MANY_PROBES && at_least(Severity::High);
        guesses || attacks || insists
    }

    fn activity(&self) -> String {
        let by = match self.clients {
            1 => String::new(),
            many => format!(" by {} addresses of its /64", grouped(many)),
        };
        format!(
            "{} of {}{by}",
            counted(self.hits, "probe", "probes"),
            counted(self.paths, "path", "paths")
        )
    }

    fn cost(&self) -> String {
        match self.ordinary() {
            0 => "no ordinary request".to_owned(),
            n => format!("would also have blocked {}", ordinary(n)),
        }
    }
}

fn ordinary(n: u64) -> String {
    counted(n, "ordinary request", "ordinary requests")
}

/// Statistics of the IPv6 networks with several clients in the report, by their upper 64 bits. A
/// network with an address that must never be blocked is left out; its addresses are judged one by
/// one.
fn network_stats<'a>(
    report: &ReportModel<'a>,
    report_input: &ReportInput<'a>,
    guard: &BlockPolicy<'_>,
    unknown: &[u64],
    stats_of_row: impl Fn(&Row<'a>) -> OffenderStats,
) -> HashMap<u64, OffenderStats> {
    let mut network_stats: HashMap<u64, OffenderStats> = HashMap::new();
    let six = |row: &Row<'_>| match row.key.client() {
        Some(Client::V6(bits)) => Some(upper(bits)),
        _ => None,
    };
    for row in &report.clients {
        if let Some(upper) = six(row) {
            network_stats
                .entry(upper)
                .or_default()
                .add(stats_of_row(row));
        }
    }
    network_stats.retain(|&upper, stats| stats.clients > 1 && !guard.overlaps(&network_of(upper)));
    if network_stats.is_empty() {
        return network_stats;
    }
    let mut paths: HashMap<u64, HashSet<LogText<'_>>> = HashMap::new();
    for row in &report.pairs {
        if let Some((upper, path)) = six(row)
            .filter(|upper| network_stats.contains_key(upper))
            .zip(row.key.path())
        {
            paths.entry(upper).or_default().insert(path);
        }
    }
    for (upper, paths) in paths {
        network_stats
            .entry(upper)
            .and_modify(|stats| stats.paths = stats.paths.max(paths.len() as u64));
    }
    add_neighbours(report, report_input, unknown, &mut network_stats);
    network_stats
}

/// Adds the requests of clients in these networks that have no hit, and so no row.
fn add_neighbours(
    report: &ReportModel<'_>,
    report_input: &ReportInput<'_>,
    unknown: &[u64],
    network_stats: &mut HashMap<u64, OffenderStats>,
) {
    let rows: HashSet<Client<'_>> = report
        .clients
        .iter()
        .filter_map(|row| row.key.client())
        .collect();
    for ((number, count), unknown) in (0..).zip(report_input.tally.client_counts()).zip(unknown) {
        let client = report_input.tally.client(number);
        if let Client::V6(bits) = client
            && let Some(stats) = network_stats.get_mut(&upper(bits))
            && !rows.contains(&client)
        {
            stats.others += count.requests.saturating_sub(count.allowed);
            stats.unknown += unknown;
        }
    }
}

/// The requests of the client of a row for names that do not exist.
fn unknown_of(report_input: &ReportInput<'_>, unknown: &[u64], row: &Row<'_>) -> u64 {
    let number = row
        .key
        .client()
        .and_then(|client| report_input.tally.client_number(client));
    number
        .and_then(|number| unknown.get(number as usize).copied())
        .unwrap_or(0)
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
mod tests {
    //! Block candidates in small logs: clear probers, protected addresses, and affected normal
    //! requests.

    use std::fmt::Write as _;
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;

    use super::super::build::{LogAnalysis, RowSelection, build};
    use super::super::fixture;
    use super::*;
    use crate::block::parse_trusted_proxy;
    use crate::engine::{LineScanner, ScanOptions, WorkerState};
    use crate::log::source::SourceInfo;
    use crate::render::{GroupBy, OutputFormat, RenderOptions, render};
    use crate::rules::{AllowList, RuleSet, check};
    use crate::scan::input_summary::InputSummary;
    use crate::tally::{LinePosition, Tally};

    const RULES: &str = r#"
[[rule]]
id = "t/attempt"
title = "Attempt"
class = "iot"
severity = "critical"
paths = ["/setup.cgi"]

[[rule]]
id = "t/key"
title = "Key"
class = "webshell"
severity = "high"
paths = ["/hack.php", "/.env", "/k0", "/k1", "/k2", "/k3", "/k4", "/k5", "/k6", "/k7", "/k8", "/k9"]

[[rule]]
id = "t/login"
title = "Login"
class = "wordpress"
severity = "medium"
paths = ["/wp-login.php"]

[[rule]]
id = "t/noise"
title = "Noise"
class = "cms"
severity = "low"
paths = ["/a", "/b", "/c", "/d"]
"#;

    fn rules() -> RuleSet {
        check(Path::new("t.toml"), RULES).unwrap()
    }

    fn line(client: &str, path: &str, status: u16, agent: &str) -> String {
        format!(
            "{client} - - [02/Nov/2026:08:01:00 +0000] \"GET {path} HTTP/1.1\" {status} 9 \"-\" \"{agent}\"\n"
        )
    }

    /// Lines of one client, all with this status.
    fn lines(client: &str, paths: &[&str], status: u16) -> String {
        paths
            .iter()
            .map(|path| line(client, path, status, "x"))
            .collect()
    }

    /// The complete report of a log, with its decisions.
    fn judged<T>(
        log: &str,
        guard: &BlockPolicy<'_>,
        max: Option<usize>,
        then: impl FnOnce(&ReportModel<'_>) -> T,
    ) -> T {
        let (rules, scan_options, allow) = (rules(), ScanOptions::default(), AllowList::default());
        let (mut worker_state, mut tally) = (WorkerState::default(), Tally::default());
        tally.add_findings(
            &LineScanner::new(&rules, &scan_options).scan(log.as_bytes(), &mut worker_state),
            LinePosition {
                input: 0,
                chunk: 0,
                offset: 0,
                line: 0,
            },
        );
        let (tally, sources) = (
            tally.with_names(worker_state.names),
            [SourceInfo::new(b"a.log".to_vec(), 0, vec![(0, 0)])],
        );
        let inputs = [InputSummary::default()];
        let report_input = fixture::report_input(&rules, &tally, &sources, &inputs, &allow);
        let analysis = LogAnalysis::new(&report_input);
        let wanted = RowSelection::COMPLETE;
        let mut report = build(&analysis, wanted);
        decide_blocks(&mut report, &analysis, guard, max);
        assert_eq!(blocks(&report).count(), report.clients.len());
        then(&report)
    }

    /// The decision for each client, by its text: whether it is a candidate, and the reason.
    fn reasons(
        log: &str,
        guard: &BlockPolicy<'_>,
        max: Option<usize>,
    ) -> Vec<(String, bool, String)> {
        judged(log, guard, max, |report| {
            let each = report.clients.iter().zip(blocks(report));
            let mut each: Vec<_> = each
                .map(|(row, block)| {
                    (
                        row.key.client().unwrap().to_string(),
                        block.is_candidate(),
                        block.reason(),
                    )
                })
                .collect();
            each.sort();
            each
        })
    }

    /// The decision for the only client.
    fn reason(log: &str) -> (bool, String) {
        let allow = AllowList::default();
        let (_, candidate, reason) =
            reasons(log, &BlockPolicy::new(&[], &[], &allow), None).remove(0);
        (candidate, reason)
    }

    const CLIENT: &str = "203.0.113.7";

    #[test]
    fn three_failed_guesses_suffice_and_two_do_not() {
        assert_eq!(
            reason(&lines(CLIENT, &["/a", "/b", "/c"], 404)),
            (true, "3 probes of 3 paths; no ordinary request".into())
        );
        assert_eq!(
            reason(&lines(CLIENT, &["/a", "/b"], 404)),
            (false, "not clearly a prober: 2 probes of 2 paths".into())
        );
        assert_eq!(
            reason(&lines(CLIENT, &["/a"; 40], 404)),
            (false, "not clearly a prober: 40 probes of 1 path".into()),
            "noise"
        );
        assert!(
            reason(&lines(CLIENT, &["/.env"; 3], 404)).0,
            "three failed requests for a key"
        );
        assert!(!reason(&lines(CLIENT, &["/.env"; 2], 404)).0);
        assert!(
            reason(&lines(CLIENT, &["/wp-login.php"; 10], 403)).0,
            "ten tries"
        );
        assert!(!reason(&lines(CLIENT, &["/wp-login.php"; 9], 403)).0);
    }

    #[test]
    fn one_attack_suffices_and_a_link_does_not() {
        assert_eq!(
            reason(&line(CLIENT, "/setup.cgi", 404, "x")),
            (true, "1 probe of 1 path; no ordinary request".into())
        );
        assert!(
            !reason(&line(CLIENT, "/hack.php", 404, "Googlebot/2.1")).0,
            "a search engine revisits a removed page"
        );
        let served = reason(&lines(CLIENT, &["/a", "/b", "/c", "/hack.php"], 200));
        assert_eq!(
            served,
            (
                false,
                "received every page it requested, as a visitor may: 4 probes of 4 paths".into()
            )
        );
        let keys: Vec<_> = (0..10).map(|n| format!("/k{n}")).collect();
        let keys: Vec<_> = keys.iter().map(String::as_str).collect();
        assert!(
            reason(&lines(CLIENT, &keys, 200)).0,
            "ten existing keys are no visit"
        );
    }

    #[test]
    fn normal_requests_count_against_a_block_and_are_reported() {
        let probes = lines(CLIENT, &["/a", "/b", "/c"], 404);
        let ordinary = |n| lines(CLIENT, &vec!["/news"; n], 200);
        assert_eq!(
            reason(&(probes.clone() + &ordinary(1))).1,
            "3 probes of 3 paths; would also have blocked 1 ordinary request"
        );
        assert_eq!(
            reason(&(probes.clone() + &ordinary(3))),
            (
                true,
                "3 probes of 3 paths; would also have blocked 3 ordinary requests".into()
            )
        );
        assert_eq!(
            reason(&(probes + &ordinary(4))),
            (
                false,
                "mostly ordinary: 3 probes of 3 paths, but 4 ordinary requests".into()
            )
        );
    }

    #[test]
    fn protected_addresses_are_never_candidates() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("allow.toml");
        let text = "[[allow]]\nreason = 'cdn'\nclients = ['104.16.0.0/13', 'scan.example.net']\n[[allow]]\nreason = 'robots'\nagents = ['Googlebot']\npaths = ['/robots.txt']\n";
        fs::write(&file, text).unwrap();
        let allow = AllowList::load(&[file]).unwrap();
        let own = [
            "203.0.113.1".parse().unwrap(),
            "2001:db8::1".parse().unwrap(),
        ];
        let proxies = [parse_trusted_proxy("2400:cb00::/32").unwrap().0];
        let guard = BlockPolicy::new(&own, &proxies, &allow);
        let sheltered = [
            ("-", "not an address"),
            ("unix:", "not an address"),
            ("bot.example", "not an address"),
            ("scan.example.net", "not an address"),
            ("2130706433", "not an address"),
            ("0127.0.0.1", "not an address"),
            ("127.0.0.1", "not a public address"),
            ("10.1.2.3", "not a public address"),
            ("172.20.0.1", "not a public address"),
            ("192.168.7.7", "not a public address"),
            ("169.254.1.1", "not a public address"),
            ("100.64.0.9", "not a public address"),
            ("::1", "not a public address"),
            ("fc00::9", "not a public address"),
            ("fe80::1%eth0", "not a public address"),
            ("::ffff:10.9.8.7", "not a public address"),
            ("203.0.113.1", "an address of this machine"),
            ("::ffff:203.0.113.1", "an address of this machine"),
            ("2001:db8::1", "an address of this machine"),
            ("104.20.1.1", "named by an allow list"),
            ("2400:cb00::7", "a trusted proxy"),
        ];
        for (client, expected) in sheltered {
            let reasons = reasons(
                &lines(client, &["/a", "/b", "/c", "/setup.cgi"], 404),
                &guard,
                None,
            );
            assert_eq!(reasons.len(), 1, "{client} is reported all the same");
            assert_eq!(
                (reasons[0].1, reasons[0].2.as_str()),
                (false, expected),
                "{client}"
            );
        }
        let fake: String = ["/a", "/b", "/c"]
            .iter()
            .map(|path| line("203.0.113.99", path, 404, "Googlebot/2.1"))
            .collect();
        assert!(
            reasons(&fake, &guard, None)[0].1,
            "a user agent grants nothing"
        );
    }

    #[test]
    fn a_limit_keeps_the_worst_candidates() {
        let mut log = lines("203.0.113.7", &["/a", "/b", "/c"], 404)
            + &line("203.0.113.8", "/setup.cgi", 404, "x");
        log += &lines("203.0.113.9", &["/a", "/b", "/c", "/d"], 404);
        let allow = AllowList::default();
        let guard = BlockPolicy::new(&[], &[], &allow);
        let candidates = |max| -> Vec<_> {
            reasons(&log, &guard, max)
                .into_iter()
                .filter(|(_, candidate, _)| *candidate)
                .map(|(client, ..)| client)
                .collect()
        };
        assert_eq!(
            candidates(None),
            ["203.0.113.7", "203.0.113.8", "203.0.113.9"]
        );
        assert_eq!(candidates(Some(2)), ["203.0.113.8", "203.0.113.9"]);
        assert_eq!(candidates(Some(1)), ["203.0.113.8"]);
        assert!(candidates(Some(0)).is_empty());
        assert_eq!(
            reasons(&log, &guard, Some(0))[0].2,
            "over --max-block: 3 probes of 3 paths; no ordinary request"
        );
        judged(&log, &guard, Some(1), |report| {
            assert_eq!(left_out(report), 2);
        });
    }

    /// One path per address, like an owner of a whole /64, and `visits` normal requests from other
    /// addresses.
    fn network_log(addresses: usize, visits: usize) -> String {
        let probe = |n: usize| {
            line(
                &format!("2001:db8:1:2::{n:x}"),
                ["/a", "/b", "/c", "/d"][n % 4],
                404,
                "x",
            )
        };
        let visit = |n: usize| line(&format!("2001:db8:1:2:ffff::{n:x}"), "/news", 200, "x");
        (1..=addresses)
            .map(probe)
            .chain((1..=visits).map(visit))
            .collect()
    }

    #[test]
    fn a_64_is_judged_as_one() {
        let allow = AllowList::default();
        let guard = BlockPolicy::new(&[], &[], &allow);
        judged(&network_log(2000, 7), &guard, None, |report| {
            let blocks: Vec<_> = blocks(report).collect();
            assert_eq!(blocks.len(), 2000);
            for block in blocks {
                assert_eq!(block.network_text(), "2001:db8:1:2::/64");
                assert_eq!(block.network_probers, 2000);
                let reason = "2,000 probes of 4 paths by 2,000 addresses of its /64; would also have blocked 7 ordinary requests";
                assert_eq!(
                    (block.is_candidate(), block.reason().as_str()),
                    (true, reason)
                );
            }
        });
        let costly = reasons(&network_log(5, 6), &guard, None);
        assert_eq!(
            costly[0].2,
            "mostly ordinary: 5 probes of 4 paths by 5 addresses of its /64, but 6 ordinary requests"
        );
        // If an address of the network is protected, the others are judged one by one.
        let own = ["2001:db8:1:2:ffff::1".parse().unwrap()];
        let apart = reasons(
            &network_log(5, 6),
            &BlockPolicy::new(&own, &[], &allow),
            None,
        );
        assert_eq!(apart[0].2, "not clearly a prober: 1 probe of 1 path");
    }

    #[test]
    fn clients_of_a_24_are_counted_but_judged_alone() {
        let log: String = (1..=4)
            .map(|n| line(&format!("203.0.113.{n}"), "/a", 404, "x"))
            .collect::<String>()
            + &line("-", "/a", 404, "x");
        let allow = AllowList::default();
        judged(&log, &BlockPolicy::new(&[], &[], &allow), None, |report| {
            for (row, block) in report.clients.iter().zip(blocks(report)) {
                let expected = if row.key.client() == Some(Client::Text(b"-")) {
                    ("", 1)
                } else {
                    ("203.0.113.0/24", 4)
                };
                assert_eq!(
                    (block.network_text().as_str(), block.network_probers),
                    expected
                );
                assert!(!block.is_candidate());
            }
        });
    }

    #[test]
    fn outputs_have_block_columns_if_requested() {
        let log = lines(CLIENT, &["/a", "/b", "/c"], 404) + &line("-", "/a", 404, "x");
        let allow = AllowList::default();
        judged(&log, &BlockPolicy::new(&[], &[], &allow), None, |report| {
            let text = |format, by| {
                let mut out = Vec::new();
                render(
                    report,
                    &RenderOptions {
                        format,
                        by: Some(by),
                        ..RenderOptions::default()
                    },
                    &mut out,
                )
                .unwrap();
                String::from_utf8(out).unwrap()
            };
            let clients = text(OutputFormat::Csv, GroupBy::Client);
            let mut rows = clients.lines();
            assert!(
                rows.next()
                    .unwrap()
                    .ends_with(",source,line,block_candidate,block_reason,network,network_probers,floods,country,city,asn,as_name,user")
            );
            assert!(
                rows.next().unwrap().ends_with(
                    ",true,3 probes of 3 paths; no ordinary request,203.0.113.0/24,1,,,,,,"
                ),
                "{clients}"
            );
            assert!(
                rows.next()
                    .unwrap()
                    .ends_with(",false,not an address,,1,,,,,,"),
                "{clients}"
            );
            assert!(
                text(OutputFormat::Csv, GroupBy::Path)
                    .lines()
                    .next()
                    .unwrap()
                    .ends_with(",source,line,user,product")
            );
            let document: serde_json::Value =
                serde_json::from_str(&text(OutputFormat::Json, GroupBy::Client)).unwrap();
            let [first, second] = [0, 1].map(|n| &document["clients"][n]);
            assert_eq!(
                (&first["block_candidate"], &first["network"]),
                (&true.into(), &"203.0.113.0/24".into())
            );
            assert_eq!(
                first["block_reason"],
                "3 probes of 3 paths; no ordinary request"
            );
            assert_eq!(
                (&second["block_candidate"], &second["network"]),
                (&false.into(), &serde_json::Value::Null)
            );
            assert_eq!(second["network_probers"], 1);
            assert!(
                document["paths"][0].get("network").is_none()
                    && document["answered"].as_array().unwrap().is_empty()
            );
        });
    }

    proptest! {
        /// For any log: no candidate is a text or a protected address, there are at most as many as
        /// requested, and the order of lines does not matter.
        #[test]
        fn candidates_are_public_addresses(
            requests in prop::collection::vec((0_usize..12, 0_usize..7, prop::sample::select(vec![200_u16, 301, 403, 404])), 1..60),
            max in prop::option::of(0_usize..4),
        ) {
            const CLIENTS: [&str; 12] = [
                "203.0.113.7", "198.51.100.9", "8.8.8.8", "10.0.0.1", "127.0.0.1", "::1", "2001:db8::5", "2001:db8::6", "fe80::1", "-",
                "bot.example", "192.0.2.1",
            ];
            const PATHS: [&str; 7] = ["/a", "/b", "/c", "/setup.cgi", "/.env", "/news", "/"];
            let each: Vec<_> = requests.iter().map(|&(client, path, status)| line(CLIENTS[client], PATHS[path], status, "x")).collect();
            let allow = AllowList::default();
            let own = ["192.0.2.1".parse().unwrap()];
            let guard = BlockPolicy::new(&own, &[], &allow);
            let forward = reasons(&each.concat(), &guard, max);
            let mut log = String::new();
            for line in each.iter().rev() {
                let _ = write!(log, "{line}");
            }
            prop_assert_eq!(&forward, &reasons(&log, &guard, max));
            let candidates: Vec<_> = forward.iter().filter(|(_, candidate, _)| *candidate).collect();
            prop_assert!(candidates.len() <= max.unwrap_or(usize::MAX));
            for (client, ..) in candidates {
                prop_assert!(["203.0.113.7", "198.51.100.9", "8.8.8.8", "2001:db8::5", "2001:db8::6"].contains(&client.as_str()), "{}", client);
            }
        }
    }
}
