//! One hit as the live view keeps it: owned, short, masked and escaped.
//!
//! The line it came from may be gone when it is shown.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;

use super::text;
use crate::analysis::model::ReportedHit;
use crate::finding::Severity;
use crate::log_entry::Outcome;
use crate::redact::mask;
use crate::rules::RuleSet;
use crate::soft_404::Answer;
use crate::time::LogTime;

/// Rules named in a row; a request that matches more is rare, and says no more by it.
const MAX_RULES: usize = 8;

/// A hit. Two texts that are alike as far as they are kept are one to the view.
#[derive(Debug, Clone)]
pub(super) struct HitRow {
    /// Its place among all hits, from 1.
    pub(super) number: u64,
    pub(super) time: Option<LogTime>,
    pub(super) severity: Severity,
    pub(super) outcome: Outcome,
    pub(super) status: Option<u16>,
    /// Its answer is distinct.
    pub(super) answered: bool,
    pub(super) client: Box<str>,
    pub(super) method: Box<str>,
    pub(super) target: Box<str>,
    /// The normalised path, or the target where there is none.
    pub(super) path: Box<str>,
    pub(super) decoded: Option<Box<str>>,
    /// Ids, the worst first, apart by blanks.
    pub(super) rules: Box<str>,
    pub(super) host: Option<Box<str>>,
    pub(super) agent: Option<Box<str>>,
    /// `access.log:17`.
    pub(super) place: Box<str>,
}

/// A number for a thing, the same in every snapshot of a run.
pub(super) fn stable_id<T: Hash + ?Sized>(thing: &T) -> u64 {
    FixedState::default().hash_one(thing)
}

impl HitRow {
    /// Keeps what the view shows of a hit.
    pub(super) fn new(number: u64, hit: &ReportedHit<'_>, rules: &RuleSet) -> Self {
        let target = text::redact_and_truncate(hit.target);
        let path = if hit.path.is_empty() { target.clone() } else { text::redact_and_truncate(hit.path) };
        let decoded = hit.decoded.map(|decoded| text::truncate_bytes(&mask::redacted_decoded(hit.target, decoded), text::MAX_BYTES));
        Self {
            number,
            time: hit.time,
            severity: hit.severity,
            outcome: hit.outcome,
            status: hit.status,
            answered: hit.answer == Some(Answer::Distinct),
            client: text::client_name(hit.client),
            method: text::redact_and_truncate(hit.method),
            decoded: decoded.filter(|decoded| *decoded != target),
            target,
            path,
            rules: rule_names(hit, rules),
            host: hit.host.map(text::redact_and_truncate),
            agent: hit.user_agent.map(text::redact_and_truncate),
            place: format!("{}:{}", text::escape_and_truncate(hit.source), hit.line).into(),
        }
    }

    /// The ids of its rules.
    pub(super) fn rule_ids(&self) -> impl Iterator<Item = &str> {
        self.rules.split(' ').filter(|id| !id.is_empty())
    }

    /// Whether a text that someone looks for stands in its client, path, target or rules. Letters of ASCII have no case.
    pub(super) fn has(&self, wanted: &str) -> bool {
        [&self.client, &self.path, &self.target, &self.rules].into_iter().any(|text| contains(text, wanted))
    }
}

/// Whether a text holds another; letters of ASCII have no case.
pub(super) fn contains(text: &str, wanted: &str) -> bool {
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    let Some(&first) = wanted.first() else { return true };
    // A filter looks at thousands of rows for every drawing.
    memchr::memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), text)
        .any(|at| text.get(at..at + wanted.len()).is_some_and(|part| part.eq_ignore_ascii_case(wanted)))
}

fn rule_names(hit: &ReportedHit<'_>, rules: &RuleSet) -> Box<str> {
    let mut ids: Vec<_> = hit.rules.iter().map(|&rule| rules.rule(rule)).collect();
    ids.sort_by_key(|rule| std::cmp::Reverse(rule.severity));
    ids.truncate(MAX_RULES);
    let names: Vec<_> = ids.iter().map(|rule| text::truncate_bytes(&rule.id, text::MAX_BYTES)).collect();
    names.join(" ").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_what_lower_case_finds(text in "[aAbB\u{e4}/]{0,12}", wanted in "[aAbB\u{e4}/]{0,3}") {
            prop_assert_eq!(contains(&text, &wanted), text.to_ascii_lowercase().contains(&wanted.to_ascii_lowercase()));
        }
    }
}
