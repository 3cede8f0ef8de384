//! What was made of a text before. A log says the same few things over and over: on real sites seven to nine requests in
//! ten, and nineteen agents in twenty, stood in the log before, and to know one again costs a hundredth of judging it.
//!
//! A table without chains: a text has the slots of one cache line, and what is new there pushes out what was put there
//! first.

use super::Fingerprint;
use crate::prefetch::prefetch;

/// Remembers values by the texts they were made of. `WAYS` is how many fit into a cache line.
#[derive(Debug)]
pub struct SetAssocCache<V, const WAYS: usize> {
    /// One until it is full, as many a memory is never needed; then all.
    sets: Vec<Set<V, WAYS>>,
    most: usize,
}

/// What shares a cache line, the newest first.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Set<V, const WAYS: usize>([(Fingerprint, V); WAYS]);

impl<V: Copy + Default, const WAYS: usize> SetAssocCache<V, WAYS> {
    /// A memory of so many sets, a power of two.
    #[must_use]
    pub fn new(sets: usize) -> Self {
        Self { sets: Self::empty(1), most: sets }
    }

    fn empty(sets: usize) -> Vec<Set<V, WAYS>> {
        vec![Set([Default::default(); WAYS]); sets]
    }

    /// Has what is remembered of a text brought near.
    #[inline]
    pub fn prefetch(&self, text: Fingerprint) {
        prefetch(&self.sets[self.at(text)]);
    }

    /// What is remembered of a text.
    #[must_use]
    #[inline]
    pub fn get(&self, text: Fingerprint) -> Option<V> {
        // All slots are looked at, and a number is chosen instead of a value, which is done without a branch: nobody could foretell
        // which slot it is.
        let slots = &self.sets[self.at(text)].0;
        let mut at = 0;
        for (n, (known, _)) in slots.iter().enumerate() {
            at = if *known == text { n } else { at };
        }
        let (known, value) = slots[at];
        (known == text).then_some(value)
    }

    /// Remembers something.
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
