//! What answered, told by path: pairs of a client and a path say the same thing several times over.
//!
//! Regroups the rows a report already has, for reading; their numbers are the report's.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::client::Client;
use crate::finding::{RuleId, Severity};
use crate::report::model::Row;
use crate::time::LogTime;

/// A path that gave answers.
#[derive(Debug)]
pub(in crate::report) struct Answer<'r> {
    /// The worst row of it, to show.
    pub(in crate::report) row: &'r Row<'r>,
    pub(in crate::report) severity: Severity,
    pub(in crate::report) rules: Vec<RuleId>,
    pub(in crate::report) statuses: Vec<u16>,
    /// Hits whose answer means something.
    pub(in crate::report) answered: u64,
    pub(in crate::report) clients: Vec<Client<'r>>,
    pub(in crate::report) last_time: Option<LogTime>,
}

/// The answers by path, the worst first; rows come in that order.
pub(in crate::report) fn by_path<'r>(rows: &'r [Row<'r>]) -> Vec<Answer<'r>> {
    let mut answers: Vec<Answer<'r>> = Vec::new();
    let mut at = HashMap::new();
    for row in rows {
        let i = *at.entry(row.key.path()).or_insert(answers.len());
        if i == answers.len() {
            answers.push(Answer {
                row,
                severity: row.severity,
                rules: Vec::new(),
                statuses: Vec::new(),
                answered: 0,
                clients: Vec::new(),
                last_time: None,
            });
        }
        answers[i].add(row);
    }
    answers.sort_by_key(|answer| Reverse((answer.severity, answer.answered)));
    answers
}

impl<'r> Answer<'r> {
    fn add(&mut self, row: &'r Row<'r>) {
        self.severity = self.severity.max(row.severity);
        self.answered += row.answered;
        self.last_time = self.last_time.max(row.last_time);
        for rule in &row.rules {
            if !self.rules.contains(rule) {
                self.rules.push(*rule);
            }
        }
        self.statuses.extend(row.status.filter(|status| !self.statuses.contains(status)));
        self.clients.extend(row.key.client());
    }
}
