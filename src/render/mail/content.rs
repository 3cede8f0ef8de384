//! Data that the summary and the mail share. Text of a log is redacted here.
//!
//! Block candidates are a line per address, or per network with several of them. The analysis has
//! decided already who is a candidate.

use std::cmp::Reverse;
use std::collections::HashMap;

use ipnet::IpNet;

use super::RunSummary;
use crate::log::client::{Client, Network};
use crate::render::grades;
use crate::report::model::{BlockVerdict, ReportModel, Row, RowKey};
use crate::report::novelty::{ItemKind, NewItem};
use crate::report::{block_candidates, labels};
use crate::scan::input_summary::InputSummary;
use crate::text::number::counted;

/// A distinct answer: a site's path, or several that are one leak.
#[derive(Debug)]
pub(crate) struct AnsweredPath<'r> {
    pub(crate) row: &'r Row<'r>,
    /// The path, after its host if there are several.
    pub(crate) label: String,
    /// It is a new answer.
    pub(crate) is_new: bool,
}

impl AnsweredPath<'_> {
    /// The status and the size: `200, 412 bytes`.
    pub(crate) fn response(&self) -> String {
        let Some(answer) = &self.row.answer else {
            return String::new();
        };
        let statuses = answer.joined_statuses(" ");
        match answer.bytes {
            Some(bytes) => format!("{statuses}, {}", counted(bytes, "byte", "bytes")),
            None => statuses,
        }
    }
}

/// The answers: new ones first, then by severity.
pub(crate) fn answers<'r>(summary: &RunSummary<'r>) -> Vec<AnsweredPath<'r>> {
    let rows = &summary.report.answered;
    let host = |row: &'r Row<'r>| {
        if let RowKey::Answer(host, ..) = row.key {
            host
        } else {
            None
        }
    };
    let has_several_hosts = rows.windows(2).any(|pair| host(&pair[0]) != host(&pair[1]));
    let answer = |row: &'r Row<'r>| {
        let path = row.path_or_target().redacted();
        let is_new = !summary.is_first
            && news_of(summary, ItemKind::Answer).any(|news| is_key_of_path(&news.key, &path));
        let host = host(row).filter(|_| has_several_hosts).unwrap_or_default();
        AnsweredPath {
            label: format!("{host}{}", grades::paths(row)),
            row,
            is_new,
        }
    };
    let mut answers: Vec<_> = rows.iter().map(answer).collect();
    answers.sort_by_key(|answer| Reverse((answer.is_new, answer.row.severity, answer.row.hits)));
    answers
}

/// New items of one kind.
pub(crate) fn news_of<'p, 'a>(
    summary: &'p RunSummary<'a>,
    kind: ItemKind,
) -> impl Iterator<Item = &'a NewItem<'a>> + use<'p, 'a> {
    summary.news.iter().filter(move |news| news.kind == kind)
}

/// Whether a key is this path, with or without a host.
fn is_key_of_path(key: &str, path: &str) -> bool {
    key.strip_suffix(path)
        .is_some_and(|host| !host.contains('/'))
}

/// A client, or all clients of an IPv6 network, which count as one.
#[derive(Debug)]
pub(crate) struct TopClient<'r> {
    /// The row of the worst client.
    pub(crate) row: &'r Row<'r>,
    pub(crate) clients: u64,
    pub(crate) hits: u64,
    /// Distinct paths, or a lower bound.
    pub(crate) paths: u64,
    pub(crate) answered: u64,
}

impl TopClient<'_> {
    /// The address, or the network.
    pub(crate) fn name(&self) -> String {
        match (self.row.key.client(), self.clients) {
            (Some(client), 1) => client.to_string(),
            (Some(client), _) => block_candidates::network(client)
                .map(|network| network.to_string())
                .unwrap_or_default(),
            (None, _) => String::new(),
        }
    }
}

/// The clients with the most hits.
pub(crate) fn top_clients<'r>(report: &'r ReportModel<'r>, max: usize) -> Vec<TopClient<'r>> {
    let mut top: Vec<TopClient<'r>> = Vec::new();
    let mut networks: HashMap<Network<'r>, usize> = HashMap::new();
    for row in &report.clients {
        let network = row
            .key
            .client()
            .filter(|client| matches!(client, Client::V6(_)))
            .map(Network::from_client);
        let at = network.map_or(top.len(), |network| {
            *networks.entry(network).or_insert(top.len())
        });
        if at == top.len() {
            top.push(TopClient {
                row,
                clients: 0,
                hits: 0,
                paths: 0,
                answered: 0,
            });
        }
        let client = &mut top[at];
        client.clients += 1;
        client.hits += row.hits;
        client.paths = client.paths.max(
            row.block
                .as_ref()
                .map_or(row.paths, |block| block.stats.paths),
        );
        client.answered += row.answered;
    }
    top.sort_by_key(|client| Reverse(client.hits));
    top.truncate(max);
    top
}

/// The title of a rule; the ID of an unknown rule.
pub(crate) fn rule_title<'r>(report: &ReportModel<'r>, id: &'r str) -> &'r str {
    let rules = report.rule_set;
    rules
        .number_of(id)
        .map_or(id, |rule| &rules.rule(rule).title)
}

/// Notes: problems of inputs first, with each input's `name`, then the other notes.
pub(crate) fn notes(
    summary: &RunSummary<'_>,
    name: impl Fn(&InputSummary) -> String,
) -> Vec<String> {
    let remarks =
        |input| InputSummary::remarks(input).map(|remark| format!("{}: {remark}", name(input)));
    summary
        .report
        .inputs
        .iter()
        .flat_map(remarks)
        .chain(summary.notes.iter().cloned())
        .collect()
}

/// One address or network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CandidateLine {
    /// The address or network, as text.
    pub(crate) name: String,
    /// Its number of candidates.
    pub(crate) addresses: u64,
    pub(crate) hits: u64,
    /// Distinct paths, or a lower bound.
    pub(crate) paths: u64,
    /// Ordinary requests.
    pub(crate) cost: u64,
    /// The autonomous system and the country, if a GeoIP database has them.
    pub(crate) network: String,
    /// The country alone.
    pub(crate) country: String,
}

/// All candidates, and their sums.
#[derive(Debug, Default)]
pub(crate) struct BlockCandidates {
    /// The worst first.
    pub(crate) lines: Vec<CandidateLine>,
    pub(crate) addresses: u64,
    pub(crate) cost: u64,
    /// Candidates beyond `--max-block`.
    pub(crate) left_out: u64,
    /// How many edges of content delivery networks are left out, a sentence each.
    pub(crate) edges: Vec<String>,
}

impl BlockCandidates {
    /// The ordinary requests that blocking them would have cost.
    pub(crate) fn cost(&self) -> String {
        match self.cost {
            0 => "at the cost of no ordinary request".to_owned(),
            n => format!(
                "at the cost of {}",
                counted(n, "ordinary request", "ordinary requests")
            ),
        }
    }
}

/// Candidates of a /24 that are merged into one line; of a /64 two are.
const MIN_TO_MERGE: u64 = 3;

/// Gathers the candidates of a report.
pub(crate) fn gather_candidates(report: &ReportModel<'_>) -> BlockCandidates {
    let mut found = BlockCandidates::default();
    let candidates = || {
        report
            .clients
            .iter()
            .filter_map(|row| Some((row, row.block.as_deref()?)))
            .filter(|(_, block)| block.verdict == BlockVerdict::Candidate)
    };
    let mut of_network: HashMap<IpNet, u64> = HashMap::new();
    for network in candidates().filter_map(|(_, block)| block.network) {
        *of_network.entry(network).or_default() += 1;
    }
    let is_merged = |network: &IpNet| {
        of_network[network]
            >= if matches!(network, IpNet::V4(_)) {
                MIN_TO_MERGE
            } else {
                2
            }
    };
    let mut merged: HashMap<IpNet, usize> = HashMap::new();
    for (row, block) in candidates() {
        let (Some(client), Some(network)) = (row.key.client(), block.network) else {
            continue;
        };
        let (at, name) = if is_merged(&network) {
            let at = *merged.entry(network).or_insert(found.lines.len());
            // A network can be blocked only if it was judged as a whole.
            let name = if block.stats.clients > 1 {
                network.to_string()
            } else {
                format!("{} in {network}", of_network[&network])
            };
            (at, name)
        } else {
            (found.lines.len(), client.to_string())
        };
        if at == found.lines.len() {
            let (network, country) = (
                labels::network_and_country(row.geo.as_deref()),
                labels::country(row.geo.as_deref()).into_owned(),
            );
            found.lines.push(CandidateLine {
                name,
                network,
                country,
                ..CandidateLine::default()
            });
        }
        let line = &mut found.lines[at];
        line.addresses += 1;
        line.hits += row.hits;
        line.paths = line.paths.max(block.stats.paths);
        // The cost of a network that was judged as one counts once.
        line.cost = if block.stats.clients > 1 {
            block.stats.ordinary()
        } else {
            line.cost + block.stats.ordinary()
        };
    }
    found.addresses = found.lines.iter().map(|line| line.addresses).sum();
    found.cost = found.lines.iter().map(|line| line.cost).sum();
    found.left_out = block_candidates::left_out(report) as u64;
    found.edges = block_candidates::edges_left_out(report).collect();
    found
}
