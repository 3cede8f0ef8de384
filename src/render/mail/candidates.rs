//! Gathers block candidates: a line per address, or per network with several candidates.
//!
//! The analysis has decided already who is a candidate.

use std::collections::HashMap;

use ipnet::IpNet;

use crate::analysis::block_candidates::{self, BlockVerdict};
use crate::analysis::labels;
use crate::analysis::model::Report;
use crate::number::counted;

/// One address or network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CandidateLine {
    /// The address or network, as text.
    pub(crate) who: String,
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
}

impl BlockCandidates {
    /// The ordinary requests that blocking them would have cost.
    pub(crate) fn cost(&self) -> String {
        match self.cost {
            0 => "at the cost of no ordinary request".to_owned(),
            n => format!("at the cost of {}", counted(n, "ordinary request", "ordinary requests")),
        }
    }
}

/// Candidates of a /24 that are merged into one line; of a /64 two are.
const MIN_TO_MERGE: u64 = 3;

/// Gathers the candidates of a report.
pub(crate) fn gather(report: &Report<'_>) -> BlockCandidates {
    let mut found = BlockCandidates::default();
    let Some(blocks) = &report.blocks else { return found };
    let candidates = || report.clients.iter().zip(blocks).filter(|(_, block)| block.verdict == BlockVerdict::Candidate);
    let mut of_network: HashMap<IpNet, u64> = HashMap::new();
    for network in candidates().filter_map(|(_, block)| block.network) {
        *of_network.entry(network).or_default() += 1;
    }
    let is_merged = |network: &IpNet| of_network[network] >= if matches!(network, IpNet::V4(_)) { MIN_TO_MERGE } else { 2 };
    let mut merged: HashMap<IpNet, usize> = HashMap::new();
    for (row, block) in candidates() {
        let (Some(client), Some(network)) = (row.key.client(), block.network) else { continue };
        let (at, who) = if is_merged(&network) {
            let at = *merged.entry(network).or_insert(found.lines.len());
            // A network can be blocked only if the whole of it was judged.
            let who = if block.stats.clients > 1 { network.to_string() } else { format!("{} in {network}", of_network[&network]) };
            (at, who)
        } else {
            (found.lines.len(), labels::client(client).into_owned())
        };
        if at == found.lines.len() {
            let (network, country) = (labels::place(row.geo.as_deref()), labels::country(row.geo.as_deref()).into_owned());
            found.lines.push(CandidateLine { who, addresses: 0, hits: 0, paths: 0, cost: 0, network, country });
        }
        let line = &mut found.lines[at];
        line.addresses += 1;
        line.hits += row.hits;
        line.paths = line.paths.max(block.stats.paths);
        // The cost of a network that was judged as one counts once.
        line.cost = if block.stats.clients > 1 { block.stats.ordinary } else { line.cost + block.stats.ordinary };
    }
    found.addresses = found.lines.iter().map(|line| line.addresses).sum();
    found.cost = found.lines.iter().map(|line| line.cost).sum();
    found.left_out = block_candidates::left_out(blocks) as u64;
    found
}
