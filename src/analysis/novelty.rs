//! Finds what is new in a report: answers, rules, paths, clients and campaigns that no earlier report had.
//!
//! Compares a finished report with the [history](SeenHistory) of earlier ones. Keys are redacted texts: they contain no
//! secret, and values that differ only in a secret have the same key.

#[cfg(test)]
mod tests;

pub use crate::analysis::seen::NoveltyKind;

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::labels;
use super::model::{Campaign, Report, Row, RowKey, SampleRequest};
use crate::analysis::seen::SeenHistory;
use crate::finding::Severity;
use crate::redact::mask::redacted;
use crate::rules::RuleSet;
use crate::time::LogTime;

/// An item that was never seen before.
#[derive(Debug, Clone)]
pub struct NewItem<'a> {
    /// Its kind.
    pub kind: NoveltyKind,
    /// Its key, safe to print: the host and path of an answer, the id of a rule, a path, a client, or the key of a
    /// campaign.
    pub key: String,
    /// The highest severity of its hits, raised if one was answered.
    pub severity: Severity,
    /// Its hits in this report.
    pub hits: u64,
    /// Its earliest hit.
    pub first_time: Option<LogTime>,
    /// The earliest of its most severe hits.
    pub sample: SampleRequest<'a>,
}

/// Finds the new items of a report, in the order of [`NoveltyKind`] and then of its rows, and records all items of the
/// report.
///
/// `report_seq` and `now` are those of [`SeenHistory::check_and_record`]. The report must be complete.
#[must_use]
pub fn find_new<'a>(report: &Report<'a>, seen: &mut SeenHistory, report_seq: u32, now: i64) -> Vec<NewItem<'a>> {
    let mut found: Vec<NewItem<'a>> = Vec::new();
    // Items that differ only in a redacted part have one key.
    let mut known: HashMap<(NoveltyKind, String), usize> = HashMap::new();
    for item in candidates(report) {
        if !seen.check_and_record(item.kind, item.key.as_bytes(), report_seq, now) {
            continue;
        }
        match known.entry((item.kind, item.key.clone())) {
            Entry::Occupied(at) => found[*at.get()].add(&item),
            Entry::Vacant(place) => {
                place.insert(found.len());
                found.push(item);
            }
        }
    }
    found
}

/// All items of a report, in order.
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

    /// Adds an item with the same key. The first one is the most severe, so its sample stays.
    fn add(&mut self, other: &Self) {
        self.hits += other.hits;
        self.first_time = match (self.first_time, other.first_time) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

/// The key of a row, safe to print.
pub(crate) fn display_key(rules: &RuleSet, key: RowKey<'_>) -> String {
    match key {
        RowKey::Answer(host, path, _) => format!("{}{}", host.map_or(Cow::default(), redacted), shown_path(path)),
        RowKey::Rule(rule) => rules.rule(rule).id.clone(),
        RowKey::Path(path) | RowKey::Pair(_, path, _) => shown_path(path).into_owned(),
        RowKey::Client(client) => labels::client(client).into_owned(),
    }
}

/// A path; `-` where there is none.
fn shown_path(path: &[u8]) -> Cow<'_, str> {
    if path.is_empty() { Cow::Borrowed("-") } else { redacted(path) }
}
