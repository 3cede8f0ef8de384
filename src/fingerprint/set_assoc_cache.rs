//! A set-associative cache by fingerprint. Logs repeat themselves: on real sites seven to nine requests in ten, and nineteen user
//! agents in twenty, occurred before, and a lookup costs a hundredth of matching.
//!
//! A text maps to the slots of one cache line; a new entry evicts the oldest one of its set.

use super::Fingerprint;
use crate::prefetch::prefetch;

/// Caches values by the fingerprint of a text. `WAYS` is the number of entries in a cache line.
#[derive(Debug)]
pub struct SetAssocCache<V, const WAYS: usize> {
    /// One set until it is full, as many caches are never used; then all.
    sets: Vec<Set<V, WAYS>>,
    most: usize,
}

/// The entries of a cache line, the newest first.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Set<V, const WAYS: usize>([(Fingerprint, V); WAYS]);

impl<V: Copy + Default, const WAYS: usize> SetAssocCache<V, WAYS> {
    /// A cache of `sets` sets, a power of two.
    #[must_use]
    pub fn new(sets: usize) -> Self {
        Self { sets: Self::empty(1), most: sets }
    }

    fn empty(sets: usize) -> Vec<Set<V, WAYS>> {
        vec![Set([Default::default(); WAYS]); sets]
    }

    /// Prefetches the set of a text.
    #[inline]
    pub fn prefetch(&self, text: Fingerprint) {
        prefetch(&self.sets[self.at(text)]);
    }

    /// The value of a text.
    #[must_use]
    #[inline]
    pub fn get(&self, text: Fingerprint) -> Option<V> {
        // Compares all slots and selects an index instead of a value, so that there is no branch: the slot is unpredictable.
        let slots = &self.sets[self.at(text)].0;
        let mut at = 0;
        for (n, (known, _)) in slots.iter().enumerate() {
            at = if *known == text { n } else { at };
        }
        let (known, value) = slots[at];
        (known == text).then_some(value)
    }

    /// Inserts or replaces a value.
    pub fn put(&mut self, text: Fingerprint, value: V) {
        if self.sets.len() < self.most && self.sets[0].0.iter().all(|(known, _)| *known != Fingerprint::default()) {
            self.take_room();
        }
        let at = self.at(text);
        let slots = &mut self.sets[at].0;
        let old = slots.iter().position(|(known, _)| *known == text).unwrap_or(WAYS - 1);
        slots.copy_within(..old, 1);
        slots[0] = (text, value);
    }

    #[cold]
    fn take_room(&mut self) {
        let few = std::mem::replace(&mut self.sets, Self::empty(self.most));
        for (text, value) in few.into_iter().flat_map(|set| set.0).rev() {
            self.put(text, value);
        }
    }

    #[inline]
    fn at(&self, text: Fingerprint) -> usize {
        text.0 as usize & (self.sets.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Fingerprinter;
    use super::*;

    #[test]
    fn entries_survive_the_first_growth() {
        let take = Fingerprinter::default();
        let mut memo: SetAssocCache<u32, 4> = SetAssocCache::new(1 << 10);
        let texts: Vec<_> = (0_u32..6).map(|n| take.of(&n.to_le_bytes())).collect();
        for n in 0..texts.len() {
            memo.put(texts[n], n as u32);
            memo.put(texts[0], 7);
            let known: Vec<_> = texts.iter().map(|text| memo.get(*text)).collect();
            let expected: Vec<_> = (0..texts.len()).map(|m| (m <= n).then_some(if m == 0 { 7 } else { m as u32 })).collect();
            assert_eq!(known, expected);
        }
    }

    #[test]
    fn a_set_keeps_its_last_four_entries() {
        let take = Fingerprinter::default();
        let mut memo: SetAssocCache<u32, 4> = SetAssocCache::new(1);
        let texts = [take.of(b"ab"), take.of(b"abd"), take.of_pair(take.of(b"ab"), 1), take.of_pair(take.of(b"ab"), 2), take.of(b"")];
        assert_eq!(texts.map(|text| memo.get(text)), [None; 5]);
        (0..).zip(texts).for_each(|(n, text)| memo.put(text, n));
        assert_eq!(texts.map(|text| memo.get(text)), [None, Some(1), Some(2), Some(3), Some(4)]);
        memo.put(texts[1], 11);
        memo.put(texts[0], 10);
        assert_eq!(texts.map(|text| memo.get(text)), [Some(10), Some(11), None, Some(3), Some(4)]);
    }
}
