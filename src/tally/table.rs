//! Cells by their keys, each key once, in two rows: what every hit changes, and the rest.
//!
//! Who looks up many keys asks for all [`leads`](Table::leads) first, and follows them then: the looks into memory wait
//! together. Counts nothing by itself.

use std::hint::black_box;
use std::mem;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::cell::{Cell, CellKey, SampleView};
use super::counts::Counts;
use super::rest::{Line, Rest};
use super::texts::Texts;
use crate::intern::{InternSlot, hash_tag};

/// Keys that are looked up together.
pub(super) const BATCH: usize = 32;

/// Cells by number.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    counts: Vec<Counts>,
    rests: Vec<Rest>,
    /// Those of the proofs.
    texts: Texts,
    slots: HashTable<InternSlot>,
    state: RandomState,
}

/// The part of a cell that is not counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellRest<'t> {
    rest: &'t Rest,
    texts: &'t Texts,
}

impl<'t> CellRest<'t> {
    /// Hits that there may have been besides those counted.
    pub(super) fn error(self) -> u64 {
        self.rest.error
    }

    /// The earliest hit.
    pub(super) fn sample(self) -> SampleView<'t> {
        self.rest.view(self.texts)
    }
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

    /// All cells, by number: how often, how far that may be too low, and what proves it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Counts, CellRest<'_>)> {
        self.counts.iter().zip(self.rests.iter().map(|rest| CellRest { rest, texts: &self.texts }))
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
        let Self { counts, rests, texts, .. } = self;
        counts.into_iter().zip(rests).map(move |(counts, rest)| {
            let cell = Cell { hits: counts.hits, error: rest.error, times: counts.times(), sample: rest.into_sample(&texts) };
            (counts.key, cell)
        })
    }

    /// Where keys may be, no more than a batch of them.
    #[inline]
    pub(super) fn leads(&self, keys: &[CellKey]) -> [Lead; BATCH] {
        let mut leads = [Lead::default(); BATCH];
        for (lead, key) in leads.iter_mut().zip(keys) {
            lead.tag = hash_tag(&self.state, key);
        }
        for lead in &mut leads[..keys.len()] {
            lead.number = InternSlot::find(&self.slots, lead.tag, |_| true).unwrap_or(NOWHERE);
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
        InternSlot::find(&self.slots, lead.tag, is_key).map(|number| number as usize)
    }

    /// Counts a hit.
    #[inline]
    pub(super) fn count(&mut self, key: &CellKey, lead: Lead, line: &Line<'_>) {
        let number = self.find(key, lead).unwrap_or_else(|| {
            let rest = Rest::of_line(line, &mut self.texts);
            self.push(Counts::new(*key), lead, rest)
        });
        if self.counts[number].count(line.time) && self.rests[number].is_later(line) {
            self.rests[number].replace(Rest::of_line(line, &mut self.texts), &mut self.texts);
            self.tidy();
        }
    }

    fn push(&mut self, counts: Counts, lead: Lead, rest: Rest) -> usize {
        let number = self.counts.len();
        // Four thousand million cells do not fit into any memory.
        let slot = InternSlot { tag: lead.tag, number: number as u32 };
        self.slots.insert_unique(slot.place(), slot, |slot| slot.place());
        self.counts.push(counts);
        self.rests.push(rest);
        number
    }

    /// Adds the cells of another table, by new keys.
    pub(super) fn merge(&mut self, other: Self, new: impl Fn(&CellKey) -> CellKey) {
        let before = self.texts.take_in(other.texts);
        let moved = |mut rest: Rest| {
            if let Some(text) = rest.text_mut() {
                *text = text.behind(before);
            }
            rest
        };
        let mut rests = other.rests.into_iter().map(moved);
        for counts in other.counts.chunks(BATCH) {
            let mut keys = [CellKey::default(); BATCH];
            for (key, counts) in keys.iter_mut().zip(counts) {
                *key = new(&counts.key);
            }
            let leads = self.leads(&keys[..counts.len()]);
            let near = |lead: &Lead| self.rests.get(lead.number as usize).map_or(0, |rest| rest.place.line);
            black_box(leads[..counts.len()].iter().map(near).fold(0, u64::wrapping_add));
            for (((counts, key), lead), rest) in counts.iter().zip(keys).zip(leads).zip(&mut rests) {
                self.add(Counts { key, ..*counts }, lead, rest);
            }
        }
        self.tidy();
    }

    /// Lets go of the texts that no cell needs, once they are many.
    fn tidy(&mut self) {
        if !self.texts.is_mostly_spent() {
            return;
        }
        let old = mem::take(&mut self.texts);
        for text in self.rests.iter_mut().filter_map(Rest::text_mut) {
            *text = self.texts.put(old.get(*text));
        }
    }

    /// Adds a cell to the one of the same key.
    pub(super) fn put(&mut self, key: CellKey, cell: Cell) {
        let lead = Lead { tag: hash_tag(&self.state, &key), number: NOWHERE };
        let rest = Rest::of_sample(cell.error, cell.sample, &mut self.texts);
        self.add(Counts::of(key, cell.hits, cell.times), lead, rest);
        self.tidy();
    }

    /// Of two proofs the earlier one stays.
    fn add(&mut self, counts: Counts, lead: Lead, rest: Rest) {
        let Some(number) = self.find(&counts.key, lead) else {
            self.push(counts, lead, rest);
            return;
        };
        self.counts[number].add(&counts);
        let mine = &mut self.rests[number];
        if rest.is_before(mine, &self.texts) {
            mine.replace(rest, &mut self.texts);
        } else {
            rest.spend(&mut self.texts);
        }
    }
}

impl FromIterator<(CellKey, Cell)> for Table {
    fn from_iter<I: IntoIterator<Item = (CellKey, Cell)>>(cells: I) -> Self {
        let mut table = Self::default();
        cells.into_iter().for_each(|(key, cell)| table.put(key, cell));
        table
    }
}

#[cfg(test)]
mod tests {
    use super::super::Place;
    use super::*;
    use crate::time::LogTime;

    #[test]
    fn proofs_that_earlier_ones_replace_take_no_room() {
        let (mut table, text) = (Table::default(), [b'x'; 1000]);
        for n in 0..20_000 {
            // A log that goes back in time.
            let place = Place { input: 0, chunk: 0, offset: n, line: n };
            let line = Line { time: Some(LogTime { utc: -i64::try_from(n).unwrap(), offset: 0 }), place, text: &text, parsed: true };
            let key = CellKey { client: n as u32 % 2, ..CellKey::default() };
            let [lead, ..] = table.leads(&[key]);
            table.count(&key, lead, &line);
        }
        let samples: Vec<_> = table.iter().map(|(counts, rest)| (counts.hits, rest.sample().place.line)).collect();
        assert_eq!(samples, [(10_000, 19_998), (10_000, 19_999)]);
        assert!(table.texts.held() < 4 << 20, "{}", table.texts.held());
    }
}
