//! Where the lines of live logs went, by path: exact however long it runs.

use std::collections::BTreeMap;

use crate::analysis::model::{InputSummary, Report};
use crate::finding::Findings;
use crate::scan::account::Account;

/// Lines by the path of their log; rotated ones count to the path they had.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    /// With the bytes of each.
    paths: BTreeMap<Vec<u8>, (Account, u64)>,
}

impl Accounts {
    /// Counts a run of lines of so many bytes.
    pub(super) fn count(&mut self, path: &[u8], bytes: u64, findings: &Findings) {
        if !self.paths.contains_key(path) {
            self.paths.insert(path.to_vec(), Default::default());
        }
        let Some((account, sum)) = self.paths.get_mut(path) else { return };
        account.add(findings);
        *sum += bytes;
    }

    /// All lines.
    pub(super) fn lines(&self) -> u64 {
        self.paths.values().map(|(account, _)| account.lines.lines).sum()
    }

    /// The lines of one path.
    pub(super) fn lines_of(&self, path: &[u8]) -> u64 {
        self.paths.get(path).map_or(0, |(account, _)| account.lines.lines)
    }

    /// Lines without a time, where a window asked for one.
    pub(super) fn without_time(&self) -> u64 {
        self.paths.values().map(|(account, _)| account.without_time).sum()
    }

    /// Puts them in the place of a report's inputs, which know only their hits.
    pub(super) fn put_into(&self, report: &mut Report<'_>) {
        let mut hits: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for input in report.inputs.drain(..) {
            *hits.entry(input.path).or_default() += input.hits;
        }
        let input = |(path, (account, bytes)): (&Vec<u8>, &(Account, u64))| InputSummary {
            hits: hits.get(path).copied().unwrap_or(0),
            ..account.input(path.clone(), *bytes)
        };
        report.inputs = self.paths.iter().map(input).collect();
        report.recount();
    }
}
