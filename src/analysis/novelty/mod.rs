//! What a report holds that no report before it did: answers, rules, paths, clients and campaigns never seen before.
//!
//! Looks at a finished report and a [memory](SeenHistory) of what earlier ones held, and judges nothing. Keys are texts as reports
//! show them, masked and escaped: a secret is in none of them, and what differs only in its secret is one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::labels;
use super::model::{Campaign, Report, Row, RowKey, SampleRequest};
pub use crate::analysis::seen::NoveltyKind;
use crate::analysis::seen::SeenHistory;
use crate::finding::Severity;
use crate::redact::mask::redacted;
use crate::rules::RuleSet;
use crate::time::LogTime;

/// Something that was never seen before.
#[derive(Debug, Clone)]
pub struct NewItem<'a> {
    /// What it is.
    pub kind: NoveltyKind,
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
    pub sample: SampleRequest<'a>,
}

/// What is new in a report, in the order of [`NoveltyKind`], then of the report's rows; remembers all that the report holds.
///
/// `mark` and `now` are those of [`SeenHistory::look`]. The report is to be whole: what its lists leave out is not looked at.
#[must_use]
pub fn find_new<'a>(report: &Report<'a>, seen: &mut SeenHistory, mark: u32, now: i64) -> Vec<NewItem<'a>> {
    let mut found: Vec<NewItem<'a>> = Vec::new();
    // What differs only in what is masked has one key.
    let mut known: HashMap<(NoveltyKind, String), usize> = HashMap::new();
    for one in candidates(report) {
        if !seen.check_and_record(one.kind, one.key.as_bytes(), mark, now) {
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
fn candidates<'r, 'a>(report: &'r Report<'a>) -> impl Iterator<Item = NewItem<'a>> + 'r {
    let of = |rows: &'r [Row<'a>], kind| rows.iter().map(move |row| NewItem::from_row(report.rule_set, kind, row));
    let rows = of(&report.answered, NoveltyKind::Answer).chain(of(&report.rules, NoveltyKind::Rule));
    let rows = rows.chain(of(&report.paths, NoveltyKind::Path)).chain(of(&report.clients, NoveltyKind::Client));
    rows.chain(report.campaigns.iter().map(NewItem::from_campaign))
}

impl<'a> NewItem<'a> {
    fn from_row(rules: &RuleSet, kind: NoveltyKind, row: &Row<'a>) -> Self {
        Self {
            kind,
            key: display_key(rules, row.key),
            severity: row.severity,
            hits: row.hits,
            first_time: row.first_time,
            sample: row.sample,
        }
    }

    fn from_campaign(campaign: &Campaign<'a>) -> Self {
        let Campaign { ref key, severity, hits, first_time, sample, .. } = *campaign;
        Self { kind: NoveltyKind::Campaign, key: key.clone(), severity, hits, first_time, sample }
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
pub(crate) fn display_key(rules: &RuleSet, key: RowKey<'_>) -> String {
    match key {
        RowKey::Answer(host, path, _) => format!("{}{}", host.map_or(Cow::default(), redacted), shown_path(path)),
        RowKey::Rule(rule) => rules.rule(rule).id.clone(),
        RowKey::Path(path) | RowKey::Pair(_, path, _) => shown_path(path).into_owned(),
        RowKey::Client(client) => labels::client(client).into_owned(),
    }
}

/// A path; `-` where what was asked for has none.
fn shown_path(path: &[u8]) -> Cow<'_, str> {
    if path.is_empty() { Cow::Borrowed("-") } else { redacted(path) }
}

#[cfg(test)]
mod tests;
