//! What a worker has judged before. A log says the same few things over and over: on real sites seven to nine requests in
//! ten, and nineteen agents in twenty, stood in the log before, and to know one again costs a tenth of searching it.
//!
//! A table without chains: a text has two slots, side by side; what is new takes the first and moves what was there to the
//! second. A text is known by a hash of 64 bits under a seed that is drawn at random for each worker: nobody can look for a
//! text that is taken for another, and by chance it happens once in 10^18 lines.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::RandomState;

/// Remembers values by the texts they were made of.
#[derive(Debug)]
pub(super) struct Memo<V> {
    slots: Vec<(Fingerprint, V)>,
    seed: RandomState,
}

/// Tells texts apart; 0 is nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Fingerprint(u64);

impl<V: Default> Memo<V> {
    /// A memory of so many slots, a power of two and at least two.
    pub(super) fn new(slots: usize) -> Self {
        Self { slots: (0..slots).map(|_| Default::default()).collect(), seed: RandomState::default() }
    }

    /// The fingerprint of a text in parts. Where parts are taken from one place to another, their lengths must be parts
    /// as well.
    pub(super) fn fingerprint<const N: usize>(&self, parts: [&[u8]; N]) -> Fingerprint {
        let mut hasher = self.seed.build_hasher();
        for part in parts {
            hasher.write(part);
        }
        Fingerprint(hasher.finish().max(1))
    }

    /// What is remembered of a text.
    pub(super) fn get(&self, text: Fingerprint) -> Option<&V> {
        let at = self.at(text);
        self.slots[at..at + 2].iter().find(|(known, _)| *known == text).map(|(_, value)| value)
    }

    /// Remembers something; `change` gets an old value, to use its room.
    pub(super) fn put(&mut self, text: Fingerprint, change: impl FnOnce(&mut V)) {
        let at = self.at(text);
        self.slots.swap(at, at + 1);
        self.slots[at].0 = text;
        change(&mut self.slots[at].1);
    }

    fn at(&self, text: Fingerprint) -> usize {
        text.0 as usize & (self.slots.len() - 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_the_last_two_of_a_place() {
        let mut memo: Memo<u32> = Memo::new(2);
        let [a, b, c] = [memo.fingerprint([b"ab", b"c"]), memo.fingerprint([b"abd"]), memo.fingerprint([b"x"])];
        assert_eq!(memo.get(a), None);
        memo.put(a, |v| *v = 1);
        memo.put(b, |v| *v = 2);
        assert_eq!([a, b, c].map(|text| memo.get(text).copied()), [Some(1), Some(2), None]);
        memo.put(c, |v| *v += 10);
        assert_eq!([a, b, c].map(|text| memo.get(text).copied()), [None, Some(2), Some(11)]);
    }
}
