//! The result of `learn`.
//!
//! Paths are printable ASCII here; logged texts are redacted like everywhere.

use std::borrow::Cow;

use super::model::InputSummary;
use crate::finding::Severity;
use crate::log_entry::Outcome;
use crate::redact::mask;
use crate::time::LogTime;

/// All proposals of a run.
#[derive(Debug, Default)]
pub struct Proposals<'a> {
    /// The inputs, in their order.
    pub inputs: Vec<InputSummary>,
    /// The proposals, those with most probers first.
    pub proposals: Vec<Proposal<'a>>,
    /// Paths that were left out because they look machine-generated.
    pub random: u64,
    /// Clients that are known probers.
    pub probers: u64,
    /// Independent probers that a proposal needs.
    pub min_probers: u64,
    /// Lines without a time that were kept, if a time range was given.
    pub without_time: u64,
}

/// A path for a new rule.
#[derive(Debug, Clone)]
pub struct Proposal<'a> {
    /// The path in lower case, printable ASCII.
    pub path: &'a str,
    /// The id of the proposed rule.
    pub rule: String,
    /// The title of that rule.
    pub title: String,
    /// Its suggested class.
    pub class: &'static str,
    /// Its suggested severity.
    pub severity: Severity,
    /// Independent probers that requested it.
    pub probers: u64,
    /// Independent other clients that requested it.
    pub others: u64,
    /// All their requests.
    pub requests: u64,
    /// Requests by status, sorted.
    pub statuses: Vec<(Option<u16>, u64)>,
    /// The earliest time.
    pub first_time: Option<LogTime>,
    /// The latest time.
    pub last_time: Option<LogTime>,
    /// The earliest request.
    pub example: ProposalExample<'a>,
}

/// One request for a path.
#[derive(Debug, Clone, Default)]
pub struct ProposalExample<'a> {
    /// The path of the input.
    pub source: &'a [u8],
    /// The number of the line, from 1.
    pub line: u64,
    /// The target as logged, without its query.
    pub target: &'a [u8],
    /// The status code.
    pub status: Option<u16>,
}

impl Default for Proposal<'_> {
    fn default() -> Self {
        Self {
            path: "",
            rule: String::new(),
            title: String::new(),
            class: "",
            severity: Severity::Low,
            probers: 0,
            others: 0,
            requests: 0,
            statuses: Vec::new(),
            first_time: None,
            last_time: None,
            example: ProposalExample::default(),
        }
    }
}

impl Proposal<'_> {
    /// Requests that were answered.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.statuses.iter().filter(|(status, _)| Outcome::of(*status) == Outcome::Answered).map(|(_, n)| n).sum()
    }

    /// The statuses as text.
    pub(crate) fn status_words(&self) -> Vec<String> {
        self.statuses.iter().map(|(status, _)| status.map_or_else(|| "-".to_owned(), |status| status.to_string())).collect()
    }
}

impl ProposalExample<'_> {
    pub(crate) fn shown_target(&self) -> Cow<'_, str> {
        mask::redacted(self.target)
    }
}
