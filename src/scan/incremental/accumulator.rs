//! Accumulates results by period: tallies and line counts.
//!
//! Only a few periods have workers at a time, because each worker caches requests. When a period is
//! closed, its workers are merged into its tally.

use std::collections::{BTreeMap, BTreeSet};

use super::{MAX_PERIOD_BYTES, PeriodResult};
use crate::log::source::SourceInfo;
use crate::log::time::Period;
use crate::scan::ScanJob;
use crate::scan::input_stats::{HitLines, InputStats};
use crate::scan::input_summary::{InputSummary, LineTotals};
use crate::scan::log_detection::nul_bytes_problem;
use crate::scan::worker::WorkerPool;
use crate::tally::{Budget, Tally};

/// The maximum number of periods with workers.
pub(super) const MAX_OPEN: usize = 8;

/// The period of some lines, if the scan is split.
pub(super) type PeriodKey = Option<Period>;

/// The accumulators of all periods.
#[derive(Debug, Default)]
pub(super) struct PeriodAccumulators {
    parts: BTreeMap<PeriodKey, PeriodAccumulator>,
    turn: u64,
    /// Whether several periods together take as much memory as they may.
    are_full: bool,
}

/// The results of one period.
#[derive(Debug)]
struct PeriodAccumulator {
    workers: Option<WorkerPool>,
    /// When the workers were last used.
    used: u64,
    tally: Tally,
    sums: BTreeMap<u32, SourceStats>,
}

/// The line counts of one input.
#[derive(Debug, Default)]
struct SourceStats {
    stats: InputStats,
    pending: u64,
    problem: Option<String>,
}

impl PeriodAccumulators {
    /// The workers of these periods, at most [`MAX_OPEN`].
    pub(super) fn open(
        &mut self,
        periods: &BTreeSet<PeriodKey>,
        threads: usize,
        job: &ScanJob<'_>,
    ) -> BTreeMap<PeriodKey, &WorkerPool> {
        self.turn += 1;
        let turn = self.turn;
        for period in periods {
            let part = self.parts.entry(*period).or_default();
            part.used = turn;
            let tally = || Tally::with_budget(Budget::STANDARD).with_unknown(job.rules.unknown());
            part.workers
                .get_or_insert_with(|| WorkerPool::new(threads, tally()).with_prefix(job.prefix));
        }
        let mut open: Vec<_> = self
            .parts
            .values_mut()
            .filter(|part| part.workers.is_some())
            .collect();
        open.sort_by_key(|part| part.used);
        let surplus = open.len().saturating_sub(MAX_OPEN);
        for part in open.into_iter().take(surplus) {
            part.close();
        }
        let workers =
            |period: &PeriodKey| Some((*period, self.parts.get(period)?.workers.as_ref()?));
        periods.iter().filter_map(workers).collect()
    }

    /// Whether the periods take as much memory as they may. A single one is limited by its budget.
    pub(super) fn are_full(&self) -> bool {
        self.are_full
    }

    /// Measures the periods, after lines were scanned.
    pub(super) fn measure(&mut self) {
        if self.parts.len() < 2 {
            return;
        }
        let (sum, largest) = self
            .parts
            .values()
            .map(PeriodAccumulator::bytes)
            .fold((0, 0), |(sum, largest), n| (sum + n, n.max(largest)));
        self.are_full = sum + 2 * largest >= MAX_PERIOD_BYTES;
    }

    /// Counts lines.
    pub(super) fn count(&mut self, period: PeriodKey, input: u32, stats: &InputStats) {
        self.parts
            .entry(period)
            .or_default()
            .sums
            .entry(input)
            .or_default()
            .stats
            .merge(stats);
    }

    /// Counts an incomplete last line in the latest period of its input.
    pub(super) fn count_pending(&mut self, input: u32) {
        if let Some(sum) = self.latest(input) {
            sum.pending += 1;
        }
    }

    /// Records a problem of an input in its latest period.
    pub(super) fn set_problem(&mut self, input: u32, problem: &str) {
        if let Some(sum) = self.latest(input) {
            sum.problem.get_or_insert_with(|| problem.to_owned());
        }
    }

    /// The problems of each input that its lines show.
    pub(super) fn line_problems(&self) -> Vec<(u32, String)> {
        let mut sums: BTreeMap<u32, (u64, HitLines)> = BTreeMap::new();
        for (input, sum) in self.parts.values().flat_map(|part| &part.sums) {
            let (nul_bytes, hits) = sums.entry(*input).or_default();
            *nul_bytes += sum.stats.lines.nul_bytes;
            hits.add(sum.stats.hits);
        }
        let mut all_hits = HitLines::default();
        for (_, hits) in sums.values() {
            all_hits.add(*hits);
        }
        let problems = |(input, (nul_bytes, hits)): (u32, (u64, HitLines))| {
            let unparsed = if all_hits.are_much_unparsed() {
                hits.problem()
            } else {
                None
            };
            [unparsed, nul_bytes_problem(nul_bytes)]
                .into_iter()
                .flatten()
                .map(move |problem| (input, problem))
        };
        sums.into_iter().flat_map(problems).collect()
    }

    fn latest(&mut self, input: u32) -> Option<&mut SourceStats> {
        self.parts
            .values_mut()
            .rev()
            .find_map(|part| part.sums.get_mut(&input))
    }

    /// Lines without a time, if a time range is set.
    pub(super) fn without_time(&self) -> u64 {
        self.parts
            .values()
            .flat_map(|part| part.sums.values())
            .map(|sum| sum.stats.without_time)
            .sum()
    }

    /// The results by period, the earliest first.
    pub(super) fn into_parts(self, sources: &[SourceInfo]) -> Vec<PeriodResult> {
        self.parts
            .into_iter()
            .map(|(period, part)| part.finish(period, sources))
            .collect()
    }
}

impl Default for PeriodAccumulator {
    fn default() -> Self {
        Self {
            workers: None,
            used: 0,
            tally: Tally::with_budget(Budget::STANDARD),
            sums: BTreeMap::new(),
        }
    }
}

impl PeriodAccumulator {
    fn close(&mut self) {
        if let Some(workers) = self.workers.take() {
            self.tally.merge(workers.into_tally());
        }
    }

    /// The bytes of its tallies, about.
    fn bytes(&self) -> usize {
        self.tally.bytes() + self.workers.as_ref().map_or(0, WorkerPool::bytes)
    }

    fn finish(mut self, period: PeriodKey, sources: &[SourceInfo]) -> PeriodResult {
        self.close();
        let lines = self.sums.values().map(|sum| sum.stats.lines.lines).sum();
        let nothing = SourceStats::default();
        let input = |(number, source): (u32, &SourceInfo)| {
            self.sums
                .get(&number)
                .unwrap_or(&nothing)
                .input(&source.path)
        };
        let inputs = (0..).zip(sources).map(input).collect();
        PeriodResult {
            period,
            tally: self.tally,
            inputs,
            lines,
        }
    }
}

impl SourceStats {
    fn input(&self, path: &[u8]) -> InputSummary {
        let input = self.stats.input(path.to_vec());
        InputSummary {
            counts: LineTotals {
                lines: input.counts.lines + self.pending,
                pending: self.pending,
                ..input.counts
            },
            problem: self
                .problem
                .clone()
                .or_else(|| nul_bytes_problem(self.stats.lines.nul_bytes)),
            ..input
        }
    }
}
