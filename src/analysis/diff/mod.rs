//! The differences of two reports: new and former answers, and rules, paths and clients with more or fewer hits.
//!
//! Both reports are analysed with the same rules, so that differences come from the logs. Only counts are compared.

mod report_index;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use self::report_index::DiffSubject;
pub use self::report_index::ReportIndex;
use super::notes::accuracy_note;
use crate::finding::Severity;
use crate::soft_404::Answer;

/// The kind of a row. The most important comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiffKind {
    /// A path that answered, with its host in front where one is logged.
    Answer,
    /// A rule.
    Rule,
    /// A path.
    Path,
    /// A client.
    Client,
}

impl DiffKind {
    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Rule => "rule",
            Self::Path => "path",
            Self::Client => "client",
        }
    }
}

/// How a count changed. The most important comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It has hits only after.
    New,
    /// It has more hits.
    More,
    /// It has fewer hits.
    Fewer,
    /// It has no hits any more; for rules, paths and clients.
    Gone,
    /// It was an answer and is none any more.
    Now(AnswerNow),
}

/// The present condition of a path that had a distinct answer. The most important comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerNow {
    /// It may still have a distinct answer.
    Uncertain,
    /// No hit requested it, so the answer may still be there.
    NotRequested,
    /// It is answered, but no reported rule says that this exposes anything: a page of an app that the site runs.
    Ordinary,
    /// It is neither answered nor refused: a redirect, a bad request, a rate limit, a server error.
    Unanswered,
    /// It receives the site's answer to unknown paths.
    Soft404,
    /// It is refused: not found, or not permitted.
    Refused,
}

impl AnswerNow {
    /// Every value, in the order of the rows.
    #[cfg(test)]
    pub const ALL: [Self; 6] = [Self::Uncertain, Self::NotRequested, Self::Ordinary, Self::Unanswered, Self::Soft404, Self::Refused];

    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Uncertain => Answer::Uncertain.as_str(),
            Self::NotRequested => "not_requested",
            Self::Ordinary => "ordinary",
            Self::Unanswered => "unanswered",
            Self::Soft404 => Answer::Soft404.as_str(),
            Self::Refused => "refused",
        }
    }
}

impl Change {
    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::More => "more",
            Self::Fewer => "fewer",
            Self::Gone => "gone",
            Self::Now(fate) => fate.as_str(),
        }
    }

    fn from_counts(before: u64, after: u64) -> Option<Self> {
        match (before, after) {
            (same, other) if same == other => None,
            (0, _) => Some(Self::New),
            (_, 0) => Some(Self::Gone),
            _ if after > before => Some(Self::More),
            _ => Some(Self::Fewer),
        }
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffRow {
    /// Its kind.
    pub kind: DiffKind,
    /// Its key, safe to print.
    pub key: String,
    /// How it changed.
    pub change: Change,
    /// The highest severity, before or after.
    pub severity: Severity,
    /// Hits before; for an answer, answered hits.
    pub before: u64,
    /// Hits after.
    pub after: u64,
    /// For a path that was requested but has no distinct answer any more: its most frequent status.
    pub status: Option<u16>,
}

/// Lists the differences, most important first.
#[must_use]
pub fn diff(old: &ReportIndex, new: &ReportIndex) -> Vec<DiffRow> {
    let mut both: BTreeMap<&DiffSubject, [(Severity, u64); 2]> = BTreeMap::new();
    for (report, at) in [(old, 0), (new, 1)] {
        for (subject, (severity, hits)) in report.subjects() {
            both.entry(subject).or_insert([(Severity::Info, 0); 2])[at] = (*severity, *hits);
        }
    }
    let row = |(subject, [before, after]): (&DiffSubject, [(Severity, u64); 2])| {
        let (change, status) = match Change::from_counts(before.1, after.1)? {
            Change::Gone if subject.kind() == DiffKind::Answer => {
                let (fate, status) = new.answer_now(subject);
                (Change::Now(fate), status)
            }
            change => (change, None),
        };
        let severity = before.0.max(after.0);
        Some(DiffRow { kind: subject.kind(), key: subject.shown(), change, severity, before: before.1, after: after.1, status })
    };
    let mut rows: Vec<DiffRow> = both.into_iter().filter_map(row).collect();
    // The sort is stable, so rows that are equal in all this stay sorted by key.
    rows.sort_by_key(|row| (row.kind, row.change, Reverse(row.severity), Reverse(row.before.abs_diff(row.after))));
    rows
}

/// Notes for a report that is not exact.
#[must_use]
pub fn notes(old: &ReportIndex, new: &ReportIndex) -> Vec<String> {
    let note = |(report, so): (&ReportIndex, &str)| Some(format!("{} {so}", accuracy_note(report.approximate()?)));
    let old = (old, "That is the old report: what is new may have been there before.");
    let new = (new, "That is the new report: what is gone or not requested may still be there.");
    [old, new].into_iter().filter_map(note).collect()
}

#[cfg(test)]
mod tests;
