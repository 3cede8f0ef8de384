//! Where lines went, of one input or of one path: a sum of findings, and how a report lists it.

use crate::analysis::model::InputSummary;
use crate::finding::{Findings, LineCounts};
use crate::formats::LogFormat;
use crate::tally::union_span;
use crate::time::LogTime;

/// What was found in some lines, without the hits.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) lines: LineCounts,
    pub(super) requests: u64,
    pub(super) without_time: u64,
    pub(super) times: Option<(LogTime, LogTime)>,
}

impl Account {
    /// Adds a run of lines.
    pub(super) fn add(&mut self, findings: &Findings) {
        self.lines.add(&findings.lines);
        self.requests += findings.requests();
        self.without_time += findings.without_time;
        self.times = union_span(self.times, findings.times);
    }

    /// Adds what another account holds.
    pub(super) fn merge(&mut self, other: &Self) {
        self.lines.add(&other.lines);
        self.requests += other.requests;
        self.without_time += other.without_time;
        self.times = union_span(self.times, other.times);
    }

    /// The same as a report lists it.
    pub(super) fn input(&self, path: Vec<u8>, bytes: u64) -> InputSummary {
        let (first_time, last_time) = self.times.unzip();
        InputSummary {
            path,
            format: LogFormat::most_of(&self.lines.parsed, &self.lines.others),
            bytes,
            lines: self.lines.lines,
            parsed: self.lines.parsed(),
            formats: self.lines.parsed,
            others: self.lines.others.clone(),
            unparsed: self.lines.unparsed,
            oversized: self.lines.oversized,
            skipped: self.lines.skipped,
            requests: self.requests,
            first_time,
            last_time,
            ..InputSummary::default()
        }
    }
}
