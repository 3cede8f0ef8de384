//! Counts by name, for a bounded number of names.
//!
//! If there are too many, the less important half is dropped: the most severe, answered and
//! frequent names stay. A dropped name that returns counts from one, so a count is never too high.

use std::cmp::Reverse;
use std::sync::Arc;

use hashbrown::HashMap;

use super::row::{HitRow, stable_id};
use crate::log::finding::Severity;

/// Names that are kept when others are dropped. There are at most twice as many.
pub(super) const KEPT_NAMES: usize = 1_000;

/// The order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SortOrder {
    /// Severity, then answers, then hits: the order of every report.
    #[default]
    Worst,
    /// Hits.
    Most,
    /// The latest hit.
    Latest,
}

impl SortOrder {
    pub(super) fn next(self) -> Self {
        match self {
            Self::Worst => Self::Most,
            Self::Most => Self::Latest,
            Self::Latest => Self::Worst,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Worst => "worst first",
            Self::Most => "most hits first",
            Self::Latest => "latest first",
        }
    }

    fn key(self, entry: &TopEntry) -> Reverse<(u64, u64, u64)> {
        let severity = entry.severity as u64;
        Reverse(match self {
            Self::Worst => (severity, entry.answered, entry.hits),
            Self::Most => (entry.hits, severity, entry.answered),
            Self::Latest => (entry.last, severity, entry.hits),
        })
    }
}

/// The counts of a name.
#[derive(Debug, Clone)]
pub(super) struct TopEntry {
    /// Identifies it in every snapshot of a run.
    pub(super) id: u64,
    pub(super) hits: u64,
    /// Hits with a distinct answer.
    pub(super) answered: u64,
    /// The highest severity.
    pub(super) severity: Severity,
    /// The number of the latest hit.
    pub(super) last: u64,
    /// The latest of its most severe hits.
    pub(super) sample: Arc<HitRow>,
}

/// Counts by name.
#[derive(Debug, Clone, Default)]
pub(super) struct TopTable {
    entries: HashMap<Box<str>, TopEntry>,
    pruned: bool,
}

impl TopTable {
    /// Counts a hit for a name.
    pub(super) fn count(&mut self, name: &str, row: &Arc<HitRow>) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.hits += 1;
            entry.answered += u64::from(row.answered);
            entry.last = row.number;
            if row.severity >= entry.severity {
                entry.severity = row.severity;
                entry.sample = Arc::clone(row);
            }
            return;
        }
        let entry = TopEntry {
            id: stable_id(name),
            hits: 1,
            answered: u64::from(row.answered),
            severity: row.severity,
            last: row.number,
            sample: Arc::clone(row),
        };
        if self.entries.len() >= 2 * KEPT_NAMES {
            self.prune();
        }
        self.entries.insert(name.into(), entry);
    }

    fn prune(&mut self) {
        let mut ranks: Vec<_> = self.entries.values().map(rank).collect();
        let (_, &mut least, _) = ranks.select_nth_unstable(KEPT_NAMES - 1);
        self.entries.retain(|_, entry| rank(entry) <= least);
        self.pruned = true;
    }

    /// Uncounts an answer of a name.
    pub(super) fn remove_answer(&mut self, name: &str) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.answered = entry.answered.saturating_sub(1);
        }
    }

    /// Uncounts an answered hit of a name; a name without hits is removed.
    pub(super) fn remove_hit(&mut self, name: &str) {
        self.remove_answer(name);
        if let Some(entry) = self.entries.get_mut(name) {
            entry.hits -= 1;
            if entry.hits == 0 {
                self.entries.remove(name);
            }
        }
    }

    /// The entry of a name.
    pub(super) fn get(&self, name: &str) -> Option<&TopEntry> {
        self.entries.get(name)
    }

    /// The number of names; whether names were dropped.
    pub(super) fn len(&self) -> (usize, bool) {
        (self.entries.len(), self.pruned)
    }

    /// All names, sorted; equal ones by name.
    pub(super) fn sorted(&self, order: SortOrder) -> Vec<(&str, &TopEntry)> {
        let mut sorted: Vec<_> = self
            .entries
            .iter()
            .map(|(name, entry)| (&**name, entry))
            .collect();
        sorted.sort_unstable_by_key(|(name, entry)| (order.key(entry), *name));
        sorted
    }
}

/// Entries of the lowest rank stay: the most important, of equal ones the latest. IDs are unique.
fn rank(entry: &TopEntry) -> (Reverse<(u64, u64, u64)>, Reverse<u64>, u64) {
    (SortOrder::Worst.key(entry), Reverse(entry.last), entry.id)
}
