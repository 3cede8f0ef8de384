//! What came of the lines, by period: tallies, and where lines went.
//!
//! Only a few periods have workers at a time, whatever a log holds: each takes up memory for what it remembers of
//! requests. Those of a period that is not being judged are merged into its tally.

use std::collections::{BTreeMap, BTreeSet};

use super::PeriodResult;
use crate::analysis::model::InputSummary;
use crate::client::Ipv6Prefix;
use crate::scan::input_stats::InputStats;
use crate::scan::log_detection::nul_bytes_problem;
use crate::scan::worker::WorkerPool;
use crate::source::SourceInfo;
use crate::tally::{Budget, Tally};
use crate::time::Period;

/// Periods that have workers at a time.
pub(super) const MAX_OPEN: usize = 8;

/// What a part is about.
pub(super) type PeriodKey = Option<Period>;

/// All parts.
#[derive(Debug, Default)]
pub(super) struct PeriodAccumulators {
    parts: BTreeMap<PeriodKey, PeriodAccumulator>,
    turn: u64,
}

/// A part that is being counted.
#[derive(Debug)]
struct PeriodAccumulator {
    workers: Option<WorkerPool>,
    /// PeriodKey they were last asked for.
    used: u64,
    tally: Tally,
    sums: BTreeMap<u32, SourceStats>,
}

/// Where lines of one text went.
#[derive(Debug, Default)]
struct SourceStats {
    stats: InputStats,
    bytes: u64,
    skipped: u64,
    pending: u64,
    problem: Option<String>,
}

impl PeriodAccumulators {
    /// The workers of these periods, at most [`MAX_OPEN`] of them.
    pub(super) fn open(
        &mut self,
        periods: &BTreeSet<PeriodKey>,
        threads: usize,
        prefix: Option<Ipv6Prefix>,
    ) -> BTreeMap<PeriodKey, &WorkerPool> {
        self.turn += 1;
        let turn = self.turn;
        for period in periods {
            let part = self.parts.entry(*period).or_default();
            part.used = turn;
            part.workers.get_or_insert_with(|| WorkerPool::new(threads, Some(Budget::STANDARD)).with_prefix(prefix));
        }
        let mut open: Vec<_> = self.parts.values_mut().filter(|part| part.workers.is_some()).collect();
        open.sort_by_key(|part| part.used);
        let surplus = open.len().saturating_sub(MAX_OPEN);
        for part in open.into_iter().take(surplus) {
            part.close();
        }
        let workers = |period: &PeriodKey| Some((*period, self.parts.get(period)?.workers.as_ref()?));
        periods.iter().filter_map(workers).collect()
    }

    /// Counts a run of lines.
    pub(super) fn count(&mut self, period: PeriodKey, text: u32, bytes: u64, stats: &InputStats) {
        let sum = self.sum(period, text);
        sum.stats.merge(stats);
        sum.bytes += bytes;
    }

    /// Counts lines that were passed over.
    pub(super) fn count_skipped(&mut self, period: PeriodKey, text: u32, (lines, bytes): (u64, u64)) {
        let sum = self.sum(period, text);
        sum.skipped += lines;
        sum.bytes += bytes;
    }

    /// Counts a line that waits for its end, in the latest part of its text.
    pub(super) fn count_pending(&mut self, text: u32) {
        if let Some(sum) = self.latest(text) {
            sum.pending += 1;
        }
    }

    /// Notes what is wrong with a text, in its latest part.
    pub(super) fn note(&mut self, text: u32, problem: &str) {
        if let Some(sum) = self.latest(text) {
            sum.problem.get_or_insert_with(|| problem.to_owned());
        }
    }

    /// The texts whose lines hold NULs, and how many.
    pub(super) fn nul_bytes(&self) -> BTreeMap<u32, u64> {
        let mut holes = BTreeMap::new();
        for (text, sum) in self.parts.values().flat_map(|part| &part.sums) {
            *holes.entry(*text).or_default() += sum.stats.lines.nul_bytes;
        }
        holes.retain(|_, nuls| *nuls > 0);
        holes
    }

    fn sum(&mut self, period: PeriodKey, text: u32) -> &mut SourceStats {
        self.parts.entry(period).or_default().sums.entry(text).or_default()
    }

    fn latest(&mut self, text: u32) -> Option<&mut SourceStats> {
        self.parts.values_mut().rev().find_map(|part| part.sums.get_mut(&text))
    }

    /// BatchLines without a time, where a window asked for one.
    pub(super) fn without_time(&self) -> u64 {
        self.parts.values().flat_map(|part| part.sums.values()).map(|sum| sum.stats.without_time).sum()
    }

    /// All parts, the earliest first.
    pub(super) fn into_parts(self, texts: &[SourceInfo]) -> Vec<PeriodResult> {
        self.parts.into_iter().map(|(period, part)| part.finish(period, texts)).collect()
    }
}

impl Default for PeriodAccumulator {
    fn default() -> Self {
        Self { workers: None, used: 0, tally: Tally::with_budget(Budget::STANDARD), sums: BTreeMap::new() }
    }
}

impl PeriodAccumulator {
    fn close(&mut self) {
        if let Some(workers) = self.workers.take() {
            self.tally.merge(workers.into_tally());
        }
    }

    fn finish(mut self, period: PeriodKey, texts: &[SourceInfo]) -> PeriodResult {
        self.close();
        let lines = self.sums.values().map(|sum| sum.stats.lines.lines + sum.skipped).sum();
        let nothing = SourceStats::default();
        let input = |(number, text): (u32, &SourceInfo)| self.sums.get(&number).unwrap_or(&nothing).input(&text.path);
        let inputs = (0..).zip(texts).map(input).collect();
        PeriodResult { period, tally: self.tally, inputs, lines }
    }
}

impl SourceStats {
    fn input(&self, path: &[u8]) -> InputSummary {
        let input = self.stats.input(path.to_vec(), self.bytes);
        InputSummary {
            lines: input.lines + self.skipped + self.pending,
            skipped: input.skipped + self.skipped,
            pending: self.pending,
            problem: self.problem.clone().or_else(|| nul_bytes_problem(self.stats.lines.nul_bytes)),
            ..input
        }
    }
}
