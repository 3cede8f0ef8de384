//! Counts by name, for as many names as there is room for.
//!
//! When there are too many, the half that matters least is forgotten at once: the worst, the answered and the most
//! frequent stay. One that was forgotten and comes again counts from one, so a count is never too high.

use std::cmp::Reverse;
use std::sync::Arc;

use hashbrown::HashMap;

use super::hit_row::{HitRow, stable_id};
use crate::finding::Severity;

/// SymbolTables that stay when room is made; there are never more than twice as many.
pub(super) const KEPT: usize = 1_000;

/// What rows are sorted by.
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

/// What is known of one name.
#[derive(Debug, Clone)]
pub(super) struct TopEntry {
    /// SymbolTables it among others, in every snapshot of a run.
    pub(super) id: u64,
    pub(super) hits: u64,
    /// Hits whose answer means something.
    pub(super) answered: u64,
    /// The worst.
    pub(super) severity: Severity,
    /// The number of the latest hit.
    pub(super) last: u64,
    /// The latest of its worst hits.
    pub(super) sample: Arc<HitRow>,
}

/// The counts.
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
        if self.entries.len() >= 2 * KEPT {
            self.prune();
        }
        self.entries.insert(name.into(), entry);
    }

    fn prune(&mut self) {
        let mut ranks: Vec<_> = self.entries.values().map(rank).collect();
        let (_, &mut least, _) = ranks.select_nth_unstable(KEPT - 1);
        self.entries.retain(|_, entry| rank(entry) <= least);
        self.pruned = true;
    }

    /// Takes back that a hit for a name was answered.
    pub(super) fn remove_answer(&mut self, name: &str) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.answered = entry.answered.saturating_sub(1);
        }
    }

    /// Takes back a hit for a name; a name without hits is dropped.
    pub(super) fn remove_hit(&mut self, name: &str) {
        self.remove_answer(name);
        if let Some(entry) = self.entries.get_mut(name) {
            entry.hits -= 1;
            if entry.hits == 0 {
                self.entries.remove(name);
            }
        }
    }

    /// What is known of a name.
    pub(super) fn get(&self, name: &str) -> Option<&TopEntry> {
        self.entries.get(name)
    }

    /// SymbolTables there are; whether there were more.
    pub(super) fn len(&self) -> (usize, bool) {
        (self.entries.len(), self.pruned)
    }

    /// Every name, sorted; equals by name.
    pub(super) fn sorted(&self, order: SortOrder) -> Vec<(&str, &TopEntry)> {
        let mut sorted: Vec<_> = self.entries.iter().map(|(name, entry)| (&**name, entry)).collect();
        sorted.sort_unstable_by_key(|(name, entry)| (order.key(entry), *name));
        sorted
    }
}

/// What stays is what matters; of equals the latest. No two entries are equal in their ids.
fn rank(entry: &TopEntry) -> (Reverse<(u64, u64, u64)>, Reverse<u64>, u64) {
    (SortOrder::Worst.key(entry), Reverse(entry.last), entry.id)
}
