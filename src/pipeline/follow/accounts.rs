//! Where the lines of live logs went, by path: exact however long it runs.

use std::collections::BTreeMap;

use crate::finding::{Findings, LineCounts};
use crate::format::LogFormat;
use crate::report::model::{Input, Report};
use crate::tally::span;
use crate::time::LogTime;

/// Lines by the path of their log; rotated ones count to the path they had.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    paths: BTreeMap<Vec<u8>, Account>,
    without_time: u64,
}

#[derive(Debug, Default)]
struct Account {
    lines: LineCounts,
    bytes: u64,
    requests: u64,
    times: Option<(LogTime, LogTime)>,
}

impl Accounts {
    /// Counts a run of lines of so many bytes.
    pub(super) fn count(&mut self, path: &[u8], bytes: u64, findings: &Findings) {
        self.without_time += findings.without_time;
        if !self.paths.contains_key(path) {
            self.paths.insert(path.to_vec(), Account::default());
        }
        let Some(account) = self.paths.get_mut(path) else { return };
        account.lines.add(&findings.lines);
        account.bytes += bytes;
        account.requests += findings.requests();
        account.times = span(account.times, findings.times);
    }

    /// All lines.
    pub(super) fn lines(&self) -> u64 {
        self.paths.values().map(|account| account.lines.lines).sum()
    }

    /// The lines of one path.
    pub(super) fn lines_of(&self, path: &[u8]) -> u64 {
        self.paths.get(path).map_or(0, |account| account.lines.lines)
    }

    /// Lines without a time, where a window asked for one.
    pub(super) fn without_time(&self) -> u64 {
        self.without_time
    }

    /// Puts them in the place of a report's inputs, which know only their hits.
    pub(super) fn put_into(&self, report: &mut Report<'_>) {
        let mut hits: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for input in report.inputs.drain(..) {
            *hits.entry(input.path).or_default() += input.hits;
        }
        let input = |(path, account): (&Vec<u8>, &Account)| Input { hits: hits.get(path).copied().unwrap_or(0), ..account.input(path) };
        report.inputs = self.paths.iter().map(input).collect();
        report.recount();
    }
}

impl Account {
    fn input(&self, path: &[u8]) -> Input {
        let (first_time, last_time) = self.times.unzip();
        let most = LogFormat::ALL.into_iter().zip(self.lines.parsed).filter(|(_, lines)| *lines > 0).max_by_key(|(_, lines)| *lines);
        Input {
            path: path.to_vec(),
            format: most.map(|(format, _)| format.as_str()),
            bytes: self.bytes,
            lines: self.lines.lines,
            parsed: self.lines.parsed(),
            unparsed: self.lines.unparsed,
            oversized: self.lines.oversized,
            requests: self.requests,
            first_time,
            last_time,
            ..Input::default()
        }
    }
}
