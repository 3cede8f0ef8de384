//! What differs between two reports: what answers now and did not, which rules, paths and clients came, went, or were met more
//! or less often.
//!
//! Both are told by the same rules and in the same context, so that what differs lies in the logs. Counts only; a report says the
//! rest.

mod side;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use self::side::DiffSubject;
pub use self::side::ReportIndex;
use super::accuracy::accuracy_note;
use crate::finding::Severity;
use crate::soft_404::Answer;

/// What a row is about. What matters most comes first.
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
    /// Every kind, in the order of the rows.
    pub const ALL: [Self; 4] = [Self::Answer, Self::Rule, Self::Path, Self::Client];

    /// The word reports use.
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

/// How it changed. What matters most comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It was not there.
    New,
    /// There are more hits.
    More,
    /// There are fewer.
    Fewer,
    /// It is not there any more: of a rule, a path or a client, whose hits there are none of.
    Gone,
    /// An answer that is no longer one.
    Now(AnswerNow),
}

/// What became of a path that had a distinct answer and has none now. What matters most comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerNow {
    /// Some answer of it may be distinct.
    Uncertain,
    /// No hit is for it, so it may still be there.
    NotRequested,
    /// It is answered, and no reported rule says that this exposes anything: a page of an app that the site runs.
    Ordinary,
    /// It is neither answered nor refused: a redirect, a bad request, a limit on requests, an error of the server.
    Unanswered,
    /// It gets what the site answers to anything.
    Soft404,
    /// It is refused: not there, or not for the client.
    Refused,
}

impl AnswerNow {
    /// Every fate, in the order of the rows.
    pub const ALL: [Self; 6] = [Self::Uncertain, Self::NotRequested, Self::Ordinary, Self::Unanswered, Self::Soft404, Self::Refused];

    /// The word reports use.
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
    /// The word reports use.
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

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffRow {
    /// What it is about.
    pub kind: DiffKind,
    /// Which, fit for an output.
    pub key: String,
    /// How it changed.
    pub change: Change,
    /// The worst it was, before or after.
    pub severity: Severity,
    /// Hits before; of an answer those that were answered.
    pub before: u64,
    /// Hits after.
    pub after: u64,
    /// Of a path that was requested and has no distinct answer any more the commonest status it got.
    pub status: Option<u16>,
}

/// What differs, most important first.
#[must_use]
pub fn diff(old: &ReportIndex, new: &ReportIndex) -> Vec<DiffRow> {
    let mut both: BTreeMap<&DiffSubject, [(Severity, u64); 2]> = BTreeMap::new();
    for (side, at) in [(old, 0), (new, 1)] {
        for (thing, (severity, hits)) in side.subjects() {
            both.entry(thing).or_insert([(Severity::Info, 0); 2])[at] = (*severity, *hits);
        }
    }
    let row = |(thing, [before, after]): (&DiffSubject, [(Severity, u64); 2])| {
        let (change, status) = match Change::from_counts(before.1, after.1)? {
            Change::Gone if thing.kind() == DiffKind::Answer => {
                let (fate, status) = new.answer_now(thing);
                (Change::Now(fate), status)
            }
            change => (change, None),
        };
        let severity = before.0.max(after.0);
        Some(DiffRow { kind: thing.kind(), key: thing.shown(), change, severity, before: before.1, after: after.1, status })
    };
    let mut rows: Vec<DiffRow> = both.into_iter().filter_map(row).collect();
    // Of rows that are alike in all this the order of their keys stays.
    rows.sort_by_key(|row| (row.kind, row.change, Reverse(row.severity), Reverse(row.before.abs_diff(row.after))));
    rows
}

/// What a reader must know besides where a side is not exact, in words.
#[must_use]
pub fn notes(old: &ReportIndex, new: &ReportIndex) -> Vec<String> {
    let note = |(side, so): (&ReportIndex, &str)| Some(format!("{} {so}", accuracy_note(side.approximate()?)));
    let old = (old, "That is the old report: what is new may have been there before.");
    let new = (new, "That is the new report: what is gone or not requested may still be there.");
    [old, new].into_iter().filter_map(note).collect()
}

#[cfg(test)]
mod tests;
