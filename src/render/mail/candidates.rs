//! Whom one could block, a line an address, or a network where several of its addresses are candidates.
//!
//! Judges nobody: that was done before.

use std::collections::HashMap;

use ipnet::IpNet;

use crate::analysis::block_candidates::{self, BlockVerdict};
use crate::analysis::labels;
use crate::analysis::model::Report;
use crate::number::counted;

/// One address or network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CandidateLine {
    /// Its text.
    pub(crate) who: String,
    /// BlockCandidates it stands for.
    pub(crate) addresses: u64,
    pub(crate) hits: u64,
    /// Distinct paths, at least.
    pub(crate) paths: u64,
    /// Ordinary requests.
    pub(crate) cost: u64,
}

/// All of them, and what they come to.
#[derive(Debug, Default)]
pub(crate) struct BlockCandidates {
    /// The worst first.
    pub(crate) lines: Vec<CandidateLine>,
    pub(crate) addresses: u64,
    pub(crate) cost: u64,
    /// BlockCandidates beyond `--max-block`.
    pub(crate) left_out: u64,
}

impl BlockCandidates {
    /// What blocking them would have cost.
    pub(crate) fn cost(&self) -> String {
        match self.cost {
            0 => "at the cost of no ordinary request".to_owned(),
            n => format!("at the cost of {}", counted(n, "ordinary request", "ordinary requests")),
        }
    }
}

/// So many candidates of a /24 are told as one; a /64 is one party in any case.
const MIN_TO_MERGE: u64 = 3;

/// Gathers the candidates of a report.
pub(crate) fn gather(report: &Report<'_>) -> BlockCandidates {
    let mut found = BlockCandidates::default();
    let Some(judged) = &report.blocks else { return found };
    let candidates = || report.clients.iter().zip(judged).filter(|(_, block)| block.verdict == BlockVerdict::Candidate);
    let mut of_network: HashMap<IpNet, u64> = HashMap::new();
    for network in candidates().filter_map(|(_, block)| block.network) {
        *of_network.entry(network).or_default() += 1;
    }
    let is_told = |network: &IpNet| of_network[network] >= if matches!(network, IpNet::V4(_)) { MIN_TO_MERGE } else { 2 };
    let mut told: HashMap<IpNet, usize> = HashMap::new();
    for (row, block) in candidates() {
        let (Some(client), Some(network)) = (row.key.client(), block.network) else { continue };
        let (at, who) = if is_told(&network) {
            let at = *told.entry(network).or_insert(found.lines.len());
            // Only what was judged as a whole can be blocked as a whole.
            let who = if block.stats.clients > 1 { network.to_string() } else { format!("{} in {network}", of_network[&network]) };
            (at, who)
        } else {
            (found.lines.len(), labels::client(client).into_owned())
        };
        if at == found.lines.len() {
            found.lines.push(CandidateLine { who, addresses: 0, hits: 0, paths: 0, cost: 0 });
        }
        let line = &mut found.lines[at];
        line.addresses += 1;
        line.hits += row.hits;
        line.paths = line.paths.max(block.stats.paths);
        // What was judged as one network costs what that costs, once.
        line.cost = if block.stats.clients > 1 { block.stats.ordinary } else { line.cost + block.stats.ordinary };
    }
    found.addresses = found.lines.iter().map(|line| line.addresses).sum();
    found.cost = found.lines.iter().map(|line| line.cost).sum();
    found.left_out = block_candidates::left_out(judged) as u64;
    found
}
