//! Cells by their keys, each key once, in two rows: what every hit changes, and the rest.
//!
//! Who looks up many keys asks for all [`leads`](Table::leads) first, and follows them then: the looks into memory wait
//! together. Counts nothing by itself.

use std::hint::black_box;
use std::mem;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::cell::{Cell, CellKey, Proof};
use super::counts::{Counts, Rest};
use crate::intern::{Slot, tag};

/// Keys that are looked up together.
pub(super) const BATCH: usize = 32;

/// Cells by number.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    counts: Vec<Counts>,
    rests: Vec<Rest>,
    slots: HashTable<Slot>,
    state: RandomState,
}

/// Where a key may be.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lead {
    tag: u32,
    number: u32,
}

/// No cell has this number.
const NOWHERE: u32 = u32::MAX;

impl Table {
    /// How many cells there are.
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// All cells, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Counts, &Rest)> {
        self.counts.iter().zip(&self.rests)
    }

    /// The same, to change how far they may be too low.
    pub(super) fn errors_mut(&mut self) -> impl Iterator<Item = (&CellKey, &mut u64)> {
        self.counts.iter().map(|counts| &counts.key).zip(self.rests.iter_mut().map(|rest| &mut rest.error))
    }

    /// All keys, by number.
    pub(super) fn keys(&self) -> impl Iterator<Item = &CellKey> {
        self.counts.iter().map(|counts| &counts.key)
    }

    /// All cells with their keys.
    pub(super) fn into_cells(self) -> impl Iterator<Item = (CellKey, Cell)> {
        self.counts.into_iter().zip(self.rests).map(|(counts, rest)| (counts.key, counts.cell(rest)))
    }

    /// Where keys may be, no more than a batch of them.
    #[inline]
    pub(super) fn leads(&self, keys: &[CellKey]) -> [Lead; BATCH] {
        let mut leads = [Lead::default(); BATCH];
        for (lead, key) in leads.iter_mut().zip(keys) {
            lead.tag = tag(&self.state, key);
        }
        for lead in &mut leads[..keys.len()] {
            lead.number = Slot::find(&self.slots, lead.tag, |_| true).unwrap_or(NOWHERE);
        }
        // A first look, on which nothing waits, brings them near.
        let near = |lead: &Lead| self.counts.get(lead.number as usize).map_or(0, |counts| counts.hits);
        black_box(leads[..keys.len()].iter().map(near).fold(0, u64::wrapping_add));
        leads
    }

    /// The number of a key.
    #[inline]
    fn find(&self, key: &CellKey, lead: Lead) -> Option<usize> {
        let is_key = |number: u32| self.counts.get(number as usize).is_some_and(|counts| counts.key == *key);
        if is_key(lead.number) {
            return Some(lead.number as usize);
        }
        Slot::find(&self.slots, lead.tag, is_key).map(|number| number as usize)
    }

    /// The cell of a key; one that was not there has no hits yet, and `rest`.
    #[inline]
    pub(super) fn get_or_add(&mut self, key: &CellKey, lead: Lead, rest: impl FnOnce() -> Rest) -> (&mut Counts, &mut Rest) {
        let number = self.find(key, lead).unwrap_or_else(|| self.push(Counts::new(*key), lead, rest()));
        (&mut self.counts[number], &mut self.rests[number])
    }

    fn push(&mut self, counts: Counts, lead: Lead, rest: Rest) -> usize {
        let number = self.counts.len();
        // Four thousand million cells do not fit into any memory.
        let slot = Slot { tag: lead.tag, number: number as u32 };
        self.slots.insert_unique(slot.place(), slot, |slot| slot.place());
        self.counts.push(counts);
        self.rests.push(rest);
        number
    }

    /// Adds the cells of another table, by new keys. Proofs that are not the earliest are spent.
    pub(super) fn merge(&mut self, other: Self, new: impl Fn(&CellKey) -> CellKey, spent: &mut Vec<Proof>) {
        let mut rests = other.rests.into_iter();
        for counts in other.counts.chunks(BATCH) {
            let mut keys = [CellKey::default(); BATCH];
            for (key, counts) in keys.iter_mut().zip(counts) {
                *key = new(&counts.key);
            }
            let leads = self.leads(&keys[..counts.len()]);
            let near = |lead: &Lead| self.rests.get(lead.number as usize).map_or(0, |rest| rest.sample.place.line);
            black_box(leads[..counts.len()].iter().map(near).fold(0, u64::wrapping_add));
            for (((counts, key), lead), rest) in counts.iter().zip(keys).zip(leads).zip(&mut rests) {
                spent.extend(self.add(Counts { key, ..*counts }, lead, rest));
            }
        }
    }

    /// Adds a cell to the one of the same key.
    pub(super) fn put(&mut self, key: CellKey, cell: Cell) {
        let lead = Lead { tag: tag(&self.state, &key), number: NOWHERE };
        let (counts, rest) = Counts::of(key, cell);
        self.add(counts, lead, rest);
    }

    /// Gives the proof that is not the earliest, if there are two.
    fn add(&mut self, counts: Counts, lead: Lead, mut rest: Rest) -> Option<Proof> {
        let Some(number) = self.find(&counts.key, lead) else {
            self.push(counts, lead, rest);
            return None;
        };
        self.counts[number].add(&counts);
        let mine = &mut self.rests[number].sample;
        if rest.sample.order(mine).is_lt() {
            mem::swap(mine, &mut rest.sample);
        }
        Some(rest.sample.proof)
    }
}

impl FromIterator<(CellKey, Cell)> for Table {
    fn from_iter<I: IntoIterator<Item = (CellKey, Cell)>>(cells: I) -> Self {
        let mut table = Self::default();
        cells.into_iter().for_each(|(key, cell)| table.put(key, cell));
        table
    }
}
