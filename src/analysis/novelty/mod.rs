//! What a report holds that no report before it did: answers, rules, paths, clients and campaigns never seen before.
//!
//! Looks at a finished report and a [memory](Seen) of what earlier ones held, and judges nothing. Keys are texts as reports
//! show them, masked and escaped: a secret is in none of them, and what differs only in its secret is one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::labels;
use super::model::{Campaign, Key, Report, Row, Sample};
pub use crate::analysis::seen::Kind;
use crate::analysis::seen::Seen;
use crate::finding::Severity;
use crate::redact::mask::redacted;
use crate::rules::RuleSet;
use crate::time::LogTime;

/// Something that was never seen before.
#[derive(Debug, Clone)]
pub struct News<'a> {
    /// What it is.
    pub kind: Kind,
    /// Which one, fit for an output: the host and path of an answer, the id of a rule, a path, a client, the key of a
    /// campaign.
    pub key: String,
    /// The worst of its hits, raised where one was answered.
    pub severity: Severity,
    /// Its hits in this report.
    pub hits: u64,
    /// The earliest of them.
    pub first_time: Option<LogTime>,
    /// Of the most severe of them the earliest.
    pub sample: Sample<'a>,
}

/// What is new in a report, in the order of [`Kind`], then of the report's rows; remembers all that the report holds.
///
/// `mark` and `now` are those of [`Seen::look`]. The report is to be whole: what its lists leave out is not looked at.
#[must_use]
pub fn news<'a>(report: &Report<'a>, seen: &mut Seen, mark: u32, now: i64) -> Vec<News<'a>> {
    let mut found: Vec<News<'a>> = Vec::new();
    // What differs only in what is masked has one key.
    let mut known: HashMap<(Kind, String), usize> = HashMap::new();
    for one in everything(report) {
        if !seen.look(one.kind, one.key.as_bytes(), mark, now) {
            continue;
        }
        match known.entry((one.kind, one.key.clone())) {
            Entry::Occupied(at) => found[*at.get()].add(&one),
            Entry::Vacant(place) => {
                place.insert(found.len());
                found.push(one);
            }
        }
    }
    found
}

/// All that may be new, in its order.
fn everything<'r, 'a>(report: &'r Report<'a>) -> impl Iterator<Item = News<'a>> + 'r {
    let of = |rows: &'r [Row<'a>], kind| rows.iter().map(move |row| News::of_row(report.rule_set, kind, row));
    let rows = of(&report.answered, Kind::Answer).chain(of(&report.rules, Kind::Rule));
    let rows = rows.chain(of(&report.paths, Kind::Path)).chain(of(&report.clients, Kind::Client));
    rows.chain(report.campaigns.iter().map(News::of_campaign))
}

impl<'a> News<'a> {
    fn of_row(rules: &RuleSet, kind: Kind, row: &Row<'a>) -> Self {
        Self { kind, key: key_of(rules, row.key), severity: row.severity, hits: row.hits, first_time: row.first_time, sample: row.sample }
    }

    fn of_campaign(campaign: &Campaign<'a>) -> Self {
        let Campaign { ref key, severity, hits, first_time, sample, .. } = *campaign;
        Self { kind: Kind::Campaign, key: key.clone(), severity, hits, first_time, sample }
    }

    /// Adds another with the same key. Rows come the worst first, so the proof is this one's.
    fn add(&mut self, other: &Self) {
        self.hits += other.hits;
        self.first_time = match (self.first_time, other.first_time) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

/// What names it, fit for an output.
pub(crate) fn key_of(rules: &RuleSet, key: Key<'_>) -> String {
    match key {
        Key::Answer(host, path, _) => format!("{}{}", host.map_or(Cow::default(), redacted), shown_path(path)),
        Key::Rule(rule) => rules.rule(rule).id.clone(),
        Key::Path(path) | Key::Pair(_, path, _) => shown_path(path).into_owned(),
        Key::Client(client) => labels::client(client).into_owned(),
    }
}

/// A path; `-` where what was asked for has none.
fn shown_path(path: &[u8]) -> Cow<'_, str> {
    if path.is_empty() { Cow::Borrowed("-") } else { redacted(path) }
}

#[cfg(test)]
mod tests;
