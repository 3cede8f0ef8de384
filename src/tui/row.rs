//! Hits, alerts and notices as the live view stores them: owned, short and redacted. The line of a
//! hit may be gone when it is shown.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;

use super::text;
use crate::alerting::Alert;
use crate::log::finding::Severity;
use crate::log::log_entry::Outcome;
use crate::log::time::LogTime;
use crate::render::live::alert::sentence;
use crate::report::model::ReportedHit;
use crate::rules::RuleSet;
use crate::soft_404::Answer;
use crate::text::redact::LogString;

/// The most rules in a row; more are rare.
const MAX_RULES: usize = 8;

/// A hit. Texts that are equal after cutting count as equal.
#[derive(Debug, Clone)]
pub(super) struct HitRow {
    /// Its number among all hits, from 1.
    pub(super) number: u64,
    pub(super) time: Option<LogTime>,
    pub(super) severity: Severity,
    pub(super) outcome: Outcome,
    pub(super) status: Option<u16>,
    /// Its answer is distinct.
    pub(super) answered: bool,
    /// With its country, if that is known.
    pub(super) client: Box<str>,
    pub(super) method: Box<str>,
    pub(super) target: Box<str>,
    /// The normalised path, or the target if there is none.
    pub(super) path: Box<str>,
    pub(super) decoded: Option<Box<str>>,
    /// Rule IDs, separated by spaces, the most severe first.
    pub(super) rules: Box<str>,
    pub(super) host: Option<Box<str>>,
    pub(super) agent: Option<Box<str>>,
    /// `access.log:17`.
    pub(super) location: Box<str>,
}

/// A number for a value, the same in every snapshot of a run.
pub(super) fn stable_id<T: Hash + ?Sized>(value: &T) -> u64 {
    FixedState::default().hash_one(value)
}

impl HitRow {
    /// The row of a hit.
    pub(super) fn new(number: u64, hit: &ReportedHit<'_>, rules: &RuleSet) -> Self {
        let target = text::stored(hit.target);
        let path = if hit.path.is_empty() {
            target.clone()
        } else {
            text::stored(hit.path)
        };
        let decoded = hit.decoded.map(|decoded| {
            text::truncate_bytes(&hit.target.redacted_decoded(decoded), text::MAX_BYTES)
        });
        Self {
            number,
            time: hit.time,
            severity: hit.severity,
            outcome: hit.outcome,
            status: hit.status,
            answered: hit.answer == Some(Answer::Distinct),
            client: client_name(hit),
            method: text::stored(hit.method),
            decoded: decoded.filter(|decoded| *decoded != target),
            target,
            path,
            rules: rule_names(hit, rules),
            host: hit.host.map(text::stored),
            agent: hit.user_agent.map(text::stored),
            location: format!("{}:{}", text::escape_and_truncate(hit.source), hit.line).into(),
        }
    }

    /// The IDs of its rules.
    pub(super) fn rule_ids(&self) -> impl Iterator<Item = &str> {
        self.rules.split(' ').filter(|id| !id.is_empty())
    }

    /// Whether its client, path, target or rules contain a text. ASCII case does not matter.
    pub(super) fn has(&self, wanted: &str) -> bool {
        [&self.client, &self.path, &self.target, &self.rules]
            .into_iter()
            .any(|text| contains(text, wanted))
    }
}

/// Whether a text contains another. ASCII case does not matter.
pub(super) fn contains(text: &str, wanted: &str) -> bool {
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    let Some(&first) = wanted.first() else {
        return true;
    };
    // A filter checks thousands of rows for every frame.
    memchr::memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), text).any(|at| {
        text.get(at..at + wanted.len())
            .is_some_and(|part| part.eq_ignore_ascii_case(wanted))
    })
}

/// The client, and its country if that is known.
fn client_name(hit: &ReportedHit<'_>) -> Box<str> {
    let name = text::client_name(hit.client);
    match hit.geo.and_then(|geo| geo.country.as_deref()) {
        Some(country) => format!("{name} {}", text::escape_and_truncate(country.as_bytes())).into(),
        None => name,
    }
}

fn rule_names(hit: &ReportedHit<'_>, rules: &RuleSet) -> Box<str> {
    let mut ids: Vec<_> = hit.rules.iter().map(|&rule| rules.rule(rule)).collect();
    ids.sort_by_key(|rule| std::cmp::Reverse(rule.severity));
    ids.truncate(MAX_RULES);
    let names: Vec<_> = ids
        .iter()
        .map(|rule| text::truncate_bytes(&rule.id, text::MAX_BYTES))
        .collect();
    names.join(" ").into()
}

/// An alert.
#[derive(Debug, Clone)]
pub(super) struct AlertRow {
    /// Its number among all alerts, from 1.
    pub(super) number: u64,
    pub(super) time: Option<LogTime>,
    /// The severity; `None` for a notice.
    pub(super) severity: Option<Severity>,
    /// What happened, in one sentence.
    pub(super) text: Box<str>,
    /// The client, if it is about one.
    pub(super) client: Option<Box<str>>,
    /// The path, if it is about one.
    pub(super) path: Option<Box<str>>,
}

impl AlertRow {
    /// The row of an alert.
    pub(super) fn new(number: u64, alert: &Alert, rules: &RuleSet) -> Self {
        let client = alert
            .client
            .as_ref()
            .map(|client| text::client_name(client.client()));
        let path = alert
            .path
            .as_ref()
            .map(LogString::text)
            .filter(|path| !path.is_empty())
            .map(text::stored);
        Self {
            number,
            time: alert.last_time.or(alert.first_time),
            severity: Some(alert.severity),
            text: text::truncate_bytes(&sentence(alert, rules), 2 * text::MAX_BYTES),
            client,
            path,
        }
    }

    /// The row of a notice.
    pub(super) fn notice(number: u64, notice: &str) -> Self {
        Self {
            number,
            time: None,
            severity: None,
            text: text::escape_and_truncate(notice.as_bytes()),
            client: None,
            path: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_search_in_lower_case(text in "[aAbB\u{e4}/]{0,12}", wanted in "[aAbB\u{e4}/]{0,3}") {
            prop_assert_eq!(contains(&text, &wanted), text.to_ascii_lowercase().contains(&wanted.to_ascii_lowercase()));
        }
    }
}
