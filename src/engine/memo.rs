//! What a worker has judged before. A log says the same few things over and over: on real sites seven to nine requests in
//! ten, and nineteen agents in twenty, stood in the log before, and to know one again costs a hundredth of judging it.
//!
//! A table without chains: a text has the slots of one cache line, and what is new there pushes out what was put there
//! first. A text is known by a hash of 64 bits under a seed that is drawn at random for each worker: nobody can look for a
//! text that is taken for another, and by chance it happens once in 10^18 lines.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::RandomState;

/// Remembers values by the texts they were made of. `WAYS` is how many fit into a cache line.
#[derive(Debug)]
pub(super) struct Memo<V, const WAYS: usize> {
    sets: Vec<Set<V, WAYS>>,
}

/// What shares a cache line, the newest first.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Set<V, const WAYS: usize>([(Fingerprint, V); WAYS]);

/// Tells texts apart; 0 is nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Fingerprint(u64);

/// Takes fingerprints.
#[derive(Debug, Default)]
pub(super) struct Fingerprinter(RandomState);

impl Fingerprinter {
    /// The fingerprint of a text.
    #[inline]
    pub(super) fn of(&self, text: &[u8]) -> Fingerprint {
        let mut hasher = self.0.build_hasher();
        hasher.write(text);
        Fingerprint(hasher.finish().max(1))
    }

    /// The fingerprint of a text along with something else: `of_pair(a, b)` is not `of_pair(b, a)`.
    #[inline]
    pub(super) fn of_pair(&self, text: Fingerprint, other: u64) -> Fingerprint {
        let mut hasher = self.0.build_hasher();
        hasher.write_u64(text.0);
        hasher.write_u64(other);
        Fingerprint(hasher.finish().max(1))
    }
}

impl Fingerprint {
    pub(super) fn word(self) -> u64 {
        self.0
    }
}

impl<V: Copy + Default, const WAYS: usize> Memo<V, WAYS> {
    /// A memory of so many sets, a power of two.
    pub(super) fn new(sets: usize) -> Self {
        Self { sets: vec![Set([Default::default(); WAYS]); sets] }
    }

    /// What is remembered of a text.
    #[inline]
    pub(super) fn get(&self, text: Fingerprint) -> Option<V> {
        // All slots are looked at: which one it is nobody could foretell.
        let mut found = None;
        for (known, value) in &self.sets[self.at(text)].0 {
            found = if *known == text { Some(*value) } else { found };
        }
        found
    }

    /// Remembers something.
    pub(super) fn put(&mut self, text: Fingerprint, value: V) {
        let at = self.at(text);
        let slots = &mut self.sets[at].0;
        let old = slots.iter().position(|(known, _)| *known == text).unwrap_or(WAYS - 1);
        slots.copy_within(..old, 1);
        slots[0] = (text, value);
    }

    #[inline]
    fn at(&self, text: Fingerprint) -> usize {
        text.0 as usize & (self.sets.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_the_last_four_of_a_place() {
        let take = Fingerprinter::default();
        let mut memo: Memo<u32, 4> = Memo::new(1);
        let texts = [take.of(b"ab"), take.of(b"abd"), take.of_pair(take.of(b"ab"), 1), take.of_pair(take.of(b"ab"), 2), take.of(b"")];
        assert_eq!(texts.map(|text| memo.get(text)), [None; 5]);
        (0..).zip(texts).for_each(|(n, text)| memo.put(text, n));
        assert_eq!(texts.map(|text| memo.get(text)), [None, Some(1), Some(2), Some(3), Some(4)]);
        memo.put(texts[1], 11);
        memo.put(texts[0], 10);
        assert_eq!(texts.map(|text| memo.get(text)), [Some(10), Some(11), None, Some(3), Some(4)]);
    }
}
