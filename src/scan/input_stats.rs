//! Line counts of one input or one path, and their form in a report.

use super::unread_fields;
use crate::formats::LogFormat;
use crate::log::finding::{Findings, LineCounts};
use crate::log::time::LogTime;
use crate::scan::input_summary::{InputSummary, LineTotals};
use crate::tally::union_span;
use std::collections::BTreeMap;

/// Line counts, without the hits.
#[derive(Debug, Default)]
pub(crate) struct InputStats {
    pub(crate) bytes: u64,
    pub(crate) lines: LineCounts,
    pub(crate) requests: u64,
    pub(crate) without_time: u64,
    pub(crate) times: Option<(LogTime, LogTime)>,
    pub(crate) hits: HitLines,
}

/// Lines that match a rule by themselves.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct HitLines {
    all: u64,
    /// Those in no known format.
    unparsed: u64,
}

impl HitLines {
    fn of(findings: &Findings) -> Self {
        let certain = || {
            findings
                .hits
                .iter()
                .filter(|hit| !hit.needs_client && !hit.windows.only)
        };
        Self {
            all: certain().count() as u64,
            unparsed: certain().filter(|hit| !hit.parsed).count() as u64,
        }
    }

    /// Adds others.
    pub(crate) fn add(&mut self, other: Self) {
        self.all += other.all;
        self.unparsed += other.unparsed;
    }

    /// Whether those in no known format are at least one in a hundred of a run. Fewer are lines
    /// that broke.
    pub(crate) fn are_much_unparsed(self) -> bool {
        self.unparsed > 0 && self.unparsed * 100 >= self.all
    }

    /// The problem of one log of such a run, if it has such lines.
    pub(crate) fn problem(self) -> Option<String> {
        let Self { all, unparsed } = self;
        (unparsed > 0).then(|| {
            format!(
                "{unparsed} of {all} lines that match a rule are in no known format: whether these requests were answered is unknown; \
                 `probewatch formats FILE` shows how its lines are read"
            )
        })
    }
}

impl InputStats {
    /// Adds a chunk of lines.
    pub(crate) fn add(&mut self, findings: &Findings) {
        self.hits.add(HitLines::of(findings));
        self.lines.add(&findings.lines);
        self.requests += findings.requests();
        self.without_time += findings.without_time;
        self.times = union_span(self.times, findings.times);
    }

    /// Adds other counts.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.hits.add(other.hits);
        self.lines.add(&other.lines);
        self.requests += other.requests;
        self.without_time += other.without_time;
        self.times = union_span(self.times, other.times);
    }

    /// The counts as an input of a report.
    pub(crate) fn input(&self, path: Vec<u8>) -> InputSummary {
        let (first_time, last_time) = self.times.unzip();
        InputSummary {
            path,
            format: LogFormat::most_frequent(&self.lines.parsed, &self.lines.others),
            counts: LineTotals {
                bytes: self.bytes,
                lines: self.lines.lines,
                parsed: self.lines.parsed(),
                unparsed: self.lines.unparsed,
                oversized: self.lines.oversized,
                skipped: self.lines.skipped,
                requests: self.requests,
                ..LineTotals::default()
            },
            formats: self.lines.parsed,
            others: self.lines.others.clone(),
            first_time,
            last_time,
            warning: unread_fields::warning(&self.lines.unread),
            ..InputSummary::default()
        }
    }
}

/// Line counts by path; the lines of rotated logs stay with the path they had.
#[derive(Debug, Default)]
pub(crate) struct PathStats {
    paths: BTreeMap<Vec<u8>, InputStats>,
}

impl PathStats {
    /// Counts lines and their bytes.
    pub(crate) fn count(&mut self, path: &[u8], bytes: u64, findings: &Findings) {
        if !self.paths.contains_key(path) {
            self.paths.insert(path.to_vec(), InputStats::default());
        }
        let Some(stats) = self.paths.get_mut(path) else {
            return;
        };
        stats.add(findings);
        stats.bytes += bytes;
    }

    /// Whether so many lines that match a rule are in no known format that it is a problem.
    pub(crate) fn has_unparsed_hits(&self) -> bool {
        let mut hits = HitLines::default();
        self.paths.values().for_each(|stats| hits.add(stats.hits));
        hits.are_much_unparsed()
    }

    /// The number of all lines.
    pub(crate) fn lines(&self) -> u64 {
        self.paths.values().map(|stats| stats.lines.lines).sum()
    }

    /// The number of lines of one path.
    pub(crate) fn lines_of(&self, path: &[u8]) -> u64 {
        self.paths.get(path).map_or(0, |stats| stats.lines.lines)
    }

    /// The warning about fields of one path that were not read.
    pub(crate) fn warning_of(&self, path: &[u8]) -> Option<String> {
        self.paths
            .get(path)
            .and_then(|stats| unread_fields::warning(&stats.lines.unread))
    }

    /// Lines without a time, if a time range is set.
    pub(crate) fn without_time(&self) -> u64 {
        self.paths.values().map(|stats| stats.without_time).sum()
    }

    /// The inputs by path, each with this number of hits.
    pub(crate) fn inputs(&self, hits: &BTreeMap<Vec<u8>, u64>) -> Vec<InputSummary> {
        let input = |(path, stats): (&Vec<u8>, &InputStats)| {
            let mut input = stats.input(path.clone());
            input.counts.hits = hits.get(path).copied().unwrap_or(0);
            input
        };
        self.paths.iter().map(input).collect()
    }
}
