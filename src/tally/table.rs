//! A hash table of cells, in two arrays: the counts, which every hit changes, and the samples.
//!
//! Callers that look up many keys [prefetch](CellTable::prefetch) a batch of them first, so that
//! the cache misses overlap.

use std::hint::black_box;
use std::mem;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::cell::{ByteArena, Cell, CellCounts, CellKey, CellSample, HitLine, SampleView};
use super::time_counts::TimeScale;
use crate::collections::intern::{InternSlot, hash_tag};
use crate::log::time::LogTime;

/// Keys per batch.
pub(super) const BATCH: usize = 32;

/// Cells by number.
#[derive(Debug, Clone, Default)]
pub(super) struct CellTable {
    counts: Vec<CellCounts>,
    samples: Vec<CellSample>,
    /// The texts of the samples.
    texts: ByteArena,
    slots: HashTable<InternSlot>,
    state: RandomState,
}

/// The sample of a cell and its error.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellSampleRef<'t> {
    sample: &'t CellSample,
    texts: &'t ByteArena,
}

impl<'t> CellSampleRef<'t> {
    /// The most hits that may be uncounted.
    pub(super) fn error(self) -> u64 {
        self.sample.error
    }

    /// The earliest hit.
    pub(super) fn sample(self) -> SampleView<'t> {
        self.sample.view(self.texts)
    }
}

/// Where a cell of another table belongs.
#[derive(Debug, Clone, Copy)]
struct MergePosition {
    /// The candidate slot of its key.
    lookup: InternSlot,
    /// The cell with the same key.
    found: Option<usize>,
    /// Its sample is the earliest.
    takes_sample: bool,
}

/// No cell has this number.
const NO_CELL: u32 = u32::MAX;

impl CellTable {
    /// How many cells there are.
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// All cells, by number: counts, error and sample.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&CellCounts, CellSampleRef<'_>)> {
        self.counts
            .iter()
            .zip(self.samples.iter().map(|sample| CellSampleRef {
                sample,
                texts: &self.texts,
            }))
    }

    /// The keys of the cells, each with its error, mutable.
    pub(super) fn errors_mut(&mut self) -> impl Iterator<Item = (&CellKey, &mut u64)> {
        self.counts
            .iter()
            .map(|counts| &counts.key)
            .zip(self.samples.iter_mut().map(|sample| &mut sample.error))
    }

    /// The numbers of all cells.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.counts.len() as u32
    }

    /// The key of a cell.
    pub(super) fn key(&self, number: u32) -> &CellKey {
        &self.counts[number as usize].key
    }

    /// The first and the last time of a cell, of the hits that have one.
    pub(super) fn times(&self, number: u32) -> Option<(LogTime, LogTime)> {
        self.counts[number as usize].times()
    }

    /// The hits of a cell.
    pub(super) fn hits(&self, number: u32) -> u64 {
        self.counts[number as usize].hits
    }

    /// The error of a cell.
    pub(super) fn error(&self, number: u32) -> u64 {
        self.samples[number as usize].error
    }

    /// The bytes of the text of a cell's sample.
    pub(super) fn text_len(&self, number: u32) -> usize {
        self.samples[number as usize].text_len()
    }

    /// The bytes of the texts of all samples.
    pub(super) fn text_bytes(&self) -> usize {
        self.samples.iter().map(CellSample::text_len).sum()
    }

    /// The bytes that texts take, with those of texts that were replaced. Imported texts are not
    /// included.
    pub(super) fn held_bytes(&self) -> usize {
        self.texts.held()
    }

    /// Cuts the sample of a cell if it is too long for one of evicted hits.
    pub(super) fn cut_sample(&mut self, number: u32) {
        self.samples[number as usize].cut(&mut self.texts);
    }

    /// Cuts the samples of all cells.
    pub(super) fn cut_samples(&mut self) {
        self.numbers().for_each(|number| self.cut_sample(number));
        self.compact();
    }

    /// [`error`](Self::error), mutable.
    pub(super) fn error_mut(&mut self, number: u32) -> &mut u64 {
        &mut self.samples[number as usize].error
    }

    /// The part of each cell that has its sample.
    pub(super) fn samples_mut(&mut self) -> impl Iterator<Item = &mut CellSample> {
        self.samples.iter_mut()
    }

    /// All keys, by number.
    pub(super) fn keys(&self) -> impl Iterator<Item = &CellKey> {
        self.counts.iter().map(|counts| &counts.key)
    }

    /// Finds the candidate slots of at most one batch of keys.
    #[inline]
    pub(super) fn prefetch(&self, keys: &[CellKey]) -> [InternSlot; BATCH] {
        let mut lookups = [InternSlot::default(); BATCH];
        for (lookup, key) in lookups.iter_mut().zip(keys) {
            lookup.tag = hash_tag(&self.state, key);
        }
        for lookup in &mut lookups[..keys.len()] {
            lookup.number = InternSlot::find(&self.slots, lookup.tag, |_| true).unwrap_or(NO_CELL);
        }
        // A read without a dependency loads the cache line.
        let near = |lookup: &InternSlot| {
            self.counts
                .get(lookup.number as usize)
                .map_or(0, |counts| counts.hits)
        };
        black_box(
            lookups[..keys.len()]
                .iter()
                .map(near)
                .fold(0, u64::wrapping_add),
        );
        lookups
    }

    /// Keeps these cells, in the order of their numbers, under new keys. Distinct keys must stay
    /// distinct. The others may have been [moved](Self::insert_moved). The memory is kept for other
    /// cells.
    pub(super) fn retain(
        &mut self,
        mut kept: Vec<u32>,
        new: impl Fn(&CellKey) -> CellKey,
        mut scale: Option<&mut TimeScale>,
    ) {
        kept.sort_unstable();
        self.slots.clear();
        for (index, number) in kept.iter().enumerate() {
            self.counts.swap(index, *number as usize);
            self.samples.swap(index, *number as usize);
            let counts = &mut self.counts[index];
            counts.key = new(&counts.key);
            if let Some(scale) = scale.as_deref_mut() {
                counts.enter(scale);
            }
            InternSlot {
                tag: hash_tag(&self.state, &counts.key),
                number: index as u32,
            }
            .insert(&mut self.slots);
        }
        self.counts.truncate(kept.len());
        for dropped in self.samples.drain(kept.len()..) {
            dropped.free(&mut self.texts);
        }
        self.compact();
    }

    /// Returns unused memory if it is most of the table.
    pub(super) fn shrink_if_mostly_unused(&mut self) {
        if self.counts.len() > self.counts.capacity() / 2 {
            return;
        }
        self.counts.shrink_to_fit();
        self.samples.shrink_to_fit();
        self.slots.shrink_to_fit(|slot| slot.hash());
    }

    /// Changes the key and the input of the sample of all cells. Distinct keys must stay distinct.
    pub(super) fn rekey(&mut self, new: impl Fn(&CellKey) -> CellKey, input: impl Fn(u32) -> u32) {
        self.slots.clear();
        for (number, (counts, sample)) in (0..).zip(self.counts.iter_mut().zip(&mut self.samples)) {
            counts.key = new(&counts.key);
            sample.position.input = input(sample.position.input);
            InternSlot {
                tag: hash_tag(&self.state, &counts.key),
                number,
            }
            .insert(&mut self.slots);
        }
    }

    /// Shortens the lists of times until they fit.
    pub(super) fn shrink_times(&mut self, scale: &mut TimeScale, most: usize) {
        scale.shrink(&mut self.counts, most);
    }

    /// The number of a key.
    #[inline]
    fn find(&self, key: &CellKey, lookup: InternSlot) -> Option<usize> {
        let is_key = |number: u32| {
            self.counts
                .get(number as usize)
                .is_some_and(|counts| counts.key == *key)
        };
        if is_key(lookup.number) {
            return Some(lookup.number as usize);
        }
        InternSlot::find(&self.slots, lookup.tag, is_key).map(|number| number as usize)
    }

    /// Counts a hit.
    #[inline]
    pub(super) fn count(
        &mut self,
        key: &CellKey,
        lookup: InternSlot,
        line: &HitLine<'_>,
        scale: &mut TimeScale,
    ) {
        let number = self.find(key, lookup).unwrap_or_else(|| {
            let sample = CellSample::from_line(line, &mut self.texts);
            self.push(CellCounts::new(*key), lookup, sample)
        });
        if self.counts[number].count(line.time, scale) && self.samples[number].is_later_than(line) {
            self.samples[number].replace(
                CellSample::from_line(line, &mut self.texts),
                &mut self.texts,
            );
            self.compact();
        }
    }

    fn push(&mut self, counts: CellCounts, lookup: InternSlot, sample: CellSample) -> usize {
        let number = self.counts.len();
        // A tally never has 2^32 cells.
        InternSlot {
            number: number as u32,
            ..lookup
        }
        .insert(&mut self.slots);
        self.counts.push(counts);
        self.samples.push(sample);
        number
    }

    /// Adds the cells of another table, under new keys. A table of copies of cells has no scale.
    pub(super) fn merge(
        &mut self,
        mut other: Self,
        new: impl Fn(&CellKey) -> CellKey,
        mut scale: Option<&mut TimeScale>,
    ) {
        let before = self.texts.append(other.texts);
        let moved = |mut sample: CellSample| {
            if let Some(text) = sample.text_mut() {
                *text = text.shifted(before);
            }
            sample
        };
        let mut samples = other.samples.into_iter().map(moved);
        for counts in other.counts.chunks_mut(BATCH) {
            let mut keys = [CellKey::default(); BATCH];
            for (key, counts) in keys.iter_mut().zip(&*counts) {
                *key = new(&counts.key);
            }
            let lookups = self.prefetch(&keys[..counts.len()]);
            let near = |lookup: &InternSlot| {
                self.samples
                    .get(lookup.number as usize)
                    .map_or(0, |sample| sample.position.line)
            };
            black_box(
                lookups[..counts.len()]
                    .iter()
                    .map(near)
                    .fold(0, u64::wrapping_add),
            );
            let mine = || {
                lookups[..counts.len()]
                    .iter()
                    .filter_map(|lookup| self.counts.get(lookup.number as usize))
            };
            mine().chain(&*counts).for_each(CellCounts::prefetch_counts);
            mine()
                .chain(&*counts)
                .for_each(CellCounts::prefetch_entries);
            for (((counts, key), lookup), sample) in
                counts.iter_mut().zip(keys).zip(lookups).zip(&mut samples)
            {
                let counts = CellCounts {
                    key,
                    counts: counts.counts.take(),
                    ..*counts
                };
                self.add(counts, lookup, sample, scale.as_deref_mut());
            }
        }
        self.compact();
    }

    /// Copies the used texts into new blocks once most bytes are free.
    fn compact(&mut self) {
        if !self.texts.is_mostly_free() {
            return;
        }
        let old = mem::take(&mut self.texts);
        for text in self.samples.iter_mut().filter_map(CellSample::text_mut) {
            *text = self.texts.insert(old.get(*text));
        }
    }

    /// Adds a cell, or adds to the cell with the same key. A table of copies of cells has no scale.
    pub(super) fn insert(&mut self, key: CellKey, cell: Cell, scale: Option<&mut TimeScale>) {
        let lookup = InternSlot {
            tag: hash_tag(&self.state, &key),
            number: NO_CELL,
        };
        let sample = CellSample::from_imported(cell.error, cell.sample);
        let counts = cell.counts.filter(|_| scale.is_some());
        self.add(
            CellCounts::from_parts(key, cell.hits, cell.times, counts),
            lookup,
            sample,
            scale,
        );
        self.compact();
    }

    /// Adds a copy of a cell of another table, under a new key and without its times between the
    /// first and the last.
    pub(super) fn insert_copy(&mut self, key: CellKey, from: &Self, number: u32) {
        let CellCounts { hits, span, .. } = from.counts[number as usize];
        let position = self.merge_position(&key, from, number);
        let sample = position
            .takes_sample
            .then(|| from.samples[number as usize].copied(&from.texts, &mut self.texts));
        self.add_at(
            position,
            CellCounts {
                key,
                hits,
                span,
                counts: None,
            },
            sample,
            None,
        );
    }

    /// Moves a cell of another table here, under a new key. In its old place it has no sample any
    /// more. A table of copies of cells has no scale.
    pub(super) fn insert_moved(
        &mut self,
        key: CellKey,
        from: &mut Self,
        number: u32,
        scale: Option<&mut TimeScale>,
    ) {
        let position = self.merge_position(&key, from, number);
        let sample = position
            .takes_sample
            .then(|| from.samples[number as usize].moved(&from.texts, &mut self.texts));
        let counts = &mut from.counts[number as usize];
        let counts = CellCounts {
            key,
            counts: counts.counts.take().filter(|_| scale.is_some()),
            ..*counts
        };
        self.add_at(position, counts, sample, scale);
    }

    /// Where a cell of another table belongs.
    fn merge_position(&self, key: &CellKey, from: &Self, number: u32) -> MergePosition {
        let lookup = InternSlot {
            tag: hash_tag(&self.state, key),
            number: NO_CELL,
        };
        let found = self.find(key, lookup);
        MergePosition {
            lookup,
            found,
            takes_sample: found
                .is_none_or(|found| from.view(number as usize).order(&self.view(found)).is_lt()),
        }
    }

    fn view(&self, number: usize) -> SampleView<'_> {
        self.samples[number].view(&self.texts)
    }

    /// Adds the counts of a cell, and its sample if the position takes it.
    fn add_at(
        &mut self,
        position: MergePosition,
        counts: CellCounts,
        sample: Option<CellSample>,
        scale: Option<&mut TimeScale>,
    ) {
        match (position.found, sample) {
            (Some(found), sample) => {
                self.counts[found].add(counts, scale);
                if let Some(sample) = sample {
                    self.samples[found].replace(sample, &mut self.texts);
                    self.compact();
                }
            }
            (None, Some(sample)) => self.push_new(counts, position.lookup, sample, scale),
            // A new cell takes the sample.
            (None, None) => {}
        }
    }

    fn push_new(
        &mut self,
        counts: CellCounts,
        lookup: InternSlot,
        sample: CellSample,
        scale: Option<&mut TimeScale>,
    ) {
        if let Some(scale) = scale {
            counts.enter(scale);
        }
        self.push(counts, lookup, sample);
    }

    /// The earlier sample stays.
    fn add(
        &mut self,
        counts: CellCounts,
        lookup: InternSlot,
        sample: CellSample,
        scale: Option<&mut TimeScale>,
    ) {
        let Some(number) = self.find(&counts.key, lookup) else {
            self.push_new(counts, lookup, sample, scale);
            return;
        };
        self.counts[number].add(counts, scale);
        let mine = &mut self.samples[number];
        if sample.is_before(mine, &self.texts) {
            mine.replace(sample, &mut self.texts);
        } else {
            sample.free(&mut self.texts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::LinePosition;
    use super::*;

    #[test]
    fn replaced_samples_are_freed() {
        let (mut table, text) = (CellTable::default(), [b'x'; 1000]);
        let mut scale = TimeScale::default();
        for n in 0..20_000 {
            // A log whose times decrease.
            let position = LinePosition {
                input: 0,
                chunk: 0,
                offset: n,
                line: n,
            };
            let line = HitLine {
                time: Some(LogTime {
                    utc: -i64::try_from(n).unwrap(),
                    offset: 0,
                }),
                position,
                text: &text,
                parsed: true,
            };
            let key = CellKey {
                client: n as u32 % 2,
                ..CellKey::default()
            };
            let [lookup, ..] = table.prefetch(&[key]);
            table.count(&key, lookup, &line, &mut scale);
        }
        let samples: Vec<_> = table
            .iter()
            .map(|(counts, sample)| (counts.hits, sample.sample().position.line))
            .collect();
        assert_eq!(samples, [(10_000, 19_998), (10_000, 19_999)]);
        assert!(table.texts.held() < 4 << 20, "{}", table.texts.held());
    }
}
