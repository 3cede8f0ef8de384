//! Fingerprints of texts (64-bit hashes), and a map and a cache by fingerprint that do not store
//! the texts.
//!
//! Seeds are random, so an attacker cannot construct collisions; by chance one occurs once in 10^18
//! lines. The tables are larger than the L1 and L2 caches and used for every line, so callers can
//! [prefetch](SetAssocCache::prefetch) entries.

#[cfg(target_arch = "x86_64")]
mod simd_hash;

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::RandomState;
use simd_hash::SimdHasher;

use crate::collections::prefetch::prefetch;

#[cfg(not(target_arch = "x86_64"))]
mod simd_hash {
    //! There is no SIMD implementation for this architecture.

    #[derive(Debug, Clone, Copy)]
    enum SimdHasher {}

    impl SimdHasher {
        pub(super) fn new() -> Option<Self> {
            None
        }

        pub(super) fn of_each<'t>(
            &self,
            _texts: impl Iterator<Item = &'t [u8]>,
            _fingerprints: &mut [super::Fingerprint],
        ) {
            match *self {}
        }
    }
}

/// The fingerprint of a text, never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fingerprint(u64);

/// Computes fingerprints.
#[derive(Debug, Clone)]
pub(crate) struct Fingerprinter {
    state: RandomState,
    simd: Option<SimdHasher>,
}

impl Default for Fingerprinter {
    fn default() -> Self {
        Self {
            state: RandomState::default(),
            simd: SimdHasher::new(),
        }
    }
}

impl Fingerprinter {
    /// The fingerprint of a text.
    #[must_use]
    #[inline]
    pub(crate) fn fingerprint(&self, text: &[u8]) -> Fingerprint {
        let mut fingerprint = [Fingerprint::default()];
        self.of_each(std::iter::once(text), &mut fingerprint);
        fingerprint[0]
    }

    /// The fingerprints of several texts, faster than one by one.
    #[inline]
    pub(crate) fn of_each<'t>(
        &self,
        texts: impl Iterator<Item = &'t [u8]>,
        fingerprints: &mut [Fingerprint],
    ) {
        match &self.simd {
            Some(simd) => simd.of_each(texts, fingerprints),
            None => texts
                .zip(fingerprints)
                .for_each(|(text, fingerprint)| *fingerprint = self.portable(text)),
        }
    }

    /// The fingerprint of a text, without SIMD.
    fn portable(&self, text: &[u8]) -> Fingerprint {
        let mut hasher = self.state.build_hasher();
        hasher.write(text);
        Fingerprint::new(hasher.finish())
    }

    /// The fingerprint of a text and a number; the order matters.
    #[must_use]
    #[inline]
    pub(crate) fn of_pair(&self, text: Fingerprint, other: u64) -> Fingerprint {
        let mut hasher = self.state.build_hasher();
        hasher.write_u64(text.0);
        hasher.write_u64(other);
        Fingerprint::new(hasher.finish())
    }
}

impl Fingerprint {
    #[inline]
    fn new(hash: u64) -> Self {
        Self(hash.max(1))
    }

    /// Another fingerprint of the text, if `is_other`, without a branch.
    #[must_use]
    #[inline]
    pub(crate) fn salted(self, is_other: bool) -> Self {
        // The golden ratio in 64 bits: it changes the bits of a slot as well as those of a shard.
        Self::new(self.0 ^ (u64::from(is_other) * 0x9e37_79b9_7f4a_7c15))
    }

    /// The hash.
    #[must_use]
    pub fn word(self) -> u64 {
        self.0
    }
}

/// Initial number of slots.
const INITIAL_SLOTS: usize = 1 << 8;

/// Ids by the fingerprints of their texts.
#[derive(Debug, Clone)]
pub(crate) struct FingerprintMap {
    /// A power of two; the fingerprint 0 marks an empty slot.
    slots: Vec<(Fingerprint, u32)>,
    len: usize,
}

impl Default for FingerprintMap {
    fn default() -> Self {
        Self {
            slots: vec![Default::default(); INITIAL_SLOTS],
            len: 0,
        }
    }
}

impl FingerprintMap {
    /// The number of texts.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Prefetches the slot of a text.
    #[inline]
    pub(crate) fn prefetch(&self, text: Fingerprint) {
        prefetch(&self.slots[self.first(text)]);
    }

    /// The id of a text.
    #[must_use]
    #[inline]
    pub(crate) fn get(&self, text: Fingerprint) -> Option<u32> {
        let mut at = self.first(text);
        loop {
            let (stored, number) = self.slots[at];
            if stored == text {
                return Some(number);
            }
            if stored == Fingerprint::default() {
                return None;
            }
            at = self.next(at);
        }
    }

    /// Sets the id of a text.
    pub(crate) fn insert(&mut self, text: Fingerprint, number: u32) {
        if self.len * 2 >= self.slots.len() {
            self.grow();
        }
        let mut at = self.first(text);
        while ![text, Fingerprint::default()].contains(&self.slots[at].0) {
            at = self.next(at);
        }
        self.len += usize::from(self.slots[at].0 != text);
        self.slots[at] = (text, number);
    }

    fn grow(&mut self) {
        let larger = vec![Default::default(); self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, larger);
        self.len = 0;
        for (text, number) in old
            .into_iter()
            .filter(|(text, _)| *text != Fingerprint::default())
        {
            self.insert(text, number);
        }
    }

    #[inline]
    fn first(&self, text: Fingerprint) -> usize {
        text.word() as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }
}

/// How many times as many sets a cache gets when a set is full: a small log touches little memory,
/// a large one has all sets after a few steps.
const GROWTH: usize = 16;

/// Caches values by the fingerprint of a text. `WAYS` is the number of entries in a cache line.
#[derive(Debug)]
pub(crate) struct SetAssocCache<V, const WAYS: usize> {
    /// One set at first, as many caches are never used; [`GROWTH`] times as many when one is full,
    /// up to the maximum.
    sets: Vec<Set<V, WAYS>>,
    max_sets: usize,
}

/// The entries of a cache line, the newest first.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Set<V, const WAYS: usize>([(Fingerprint, V); WAYS]);

impl<V: Copy + Default, const WAYS: usize> SetAssocCache<V, WAYS> {
    /// A cache of `sets` sets, a power of two.
    #[must_use]
    pub(crate) fn new(sets: usize) -> Self {
        Self {
            sets: Self::empty(1),
            max_sets: sets,
        }
    }

    fn empty(sets: usize) -> Vec<Set<V, WAYS>> {
        vec![Set([Default::default(); WAYS]); sets]
    }

    /// Prefetches the set of a text.
    #[inline]
    pub(crate) fn prefetch(&self, text: Fingerprint) {
        prefetch(&self.sets[self.at(text)]);
    }

    /// The value of a text.
    #[must_use]
    #[inline]
    pub(crate) fn get(&self, text: Fingerprint) -> Option<V> {
        // Compares all slots and selects an index instead of a value, so that there is no branch:
        // the slot is unpredictable.
        let slots = &self.sets[self.at(text)].0;
        let mut at = 0;
        for (n, (stored, _)) in slots.iter().enumerate() {
            at = if *stored == text { n } else { at };
        }
        let (stored, value) = slots[at];
        (stored == text).then_some(value)
    }

    /// Inserts or replaces a value.
    pub(crate) fn insert(&mut self, text: Fingerprint, value: V) {
        let mut at = self.at(text);
        if self.sets.len() < self.max_sets
            && self.sets[at]
                .0
                .iter()
                .all(|(stored, _)| *stored != Fingerprint::default())
        {
            self.grow();
            at = self.at(text);
        }
        let slots = &mut self.sets[at].0;
        let old = slots
            .iter()
            .position(|(stored, _)| *stored == text)
            .unwrap_or(WAYS - 1);
        slots.copy_within(..old, 1);
        slots[0] = (text, value);
    }

    /// Makes room. A new set gets texts of one old set alone, so they fit.
    #[cold]
    fn grow(&mut self) {
        let larger = Self::empty(self.max_sets.min(self.sets.len() * GROWTH));
        let few = std::mem::replace(&mut self.sets, larger);
        for (text, value) in few
            .into_iter()
            .flat_map(|set| set.0)
            .rev()
            .filter(|(text, _)| *text != Fingerprint::default())
        {
            self.insert(text, value);
        }
    }

    #[inline]
    fn at(&self, text: Fingerprint) -> usize {
        text.0 as usize & (self.sets.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_portable_hash_distinguishes_texts() {
        let narrow = Fingerprinter {
            simd: None,
            ..Fingerprinter::default()
        };
        for take in [narrow, Fingerprinter::default()] {
            let texts: Vec<String> = (0..600)
                .map(|length| "a".repeat(length))
                .chain(["b".into(), "ab".into()])
                .collect();
            let mut each = vec![Fingerprint::default(); texts.len()];
            take.of_each(texts.iter().map(String::as_bytes), &mut each);
            assert!(
                each.iter()
                    .zip(&texts)
                    .all(|(fingerprint, text)| *fingerprint == take.fingerprint(text.as_bytes()))
            );
            each.sort_by_key(|fingerprint| fingerprint.word());
            each.dedup();
            assert_eq!(each.len(), texts.len());
            assert_ne!(take.of_pair(each[0], 1), take.of_pair(each[0], 2));
        }
    }

    proptest! {
        #[test]
        fn is_a_map(texts in prop::collection::vec((0_u16..2_000, any::<u32>()), 0..2_000)) {
            let take = Fingerprinter::default();
            let (mut numbers, mut map) = (FingerprintMap::default(), HashMap::new());
            for (text, number) in texts {
                // Few first slots, so that many texts collide.
                let text = Fingerprint(take.fingerprint(&text.to_le_bytes()).word() & !0xff | 1);
                prop_assert_eq!(numbers.get(text), map.get(&text.word()).copied());
                numbers.insert(text, number);
                map.insert(text.word(), number);
                prop_assert_eq!(numbers.len(), map.len());
            }
            for (text, number) in map {
                prop_assert_eq!(numbers.get(Fingerprint(text)), Some(number));
            }
        }
    }

    #[test]
    fn entries_survive_the_first_growth() {
        let take = Fingerprinter::default();
        let mut cache: SetAssocCache<u32, 4> = SetAssocCache::new(1 << 10);
        let texts: Vec<_> = (0_u32..6)
            .map(|n| take.fingerprint(&n.to_le_bytes()))
            .collect();
        for n in 0..texts.len() {
            cache.insert(texts[n], n as u32);
            cache.insert(texts[0], 7);
            let stored: Vec<_> = texts.iter().map(|text| cache.get(*text)).collect();
            let expected: Vec<_> = (0..texts.len())
                .map(|m| (m <= n).then_some(if m == 0 { 7 } else { m as u32 }))
                .collect();
            assert_eq!(stored, expected);
        }
    }

    #[test]
    fn a_set_keeps_its_last_four_entries() {
        let take = Fingerprinter::default();
        let mut cache: SetAssocCache<u32, 4> = SetAssocCache::new(1);
        let texts = [
            take.fingerprint(b"ab"),
            take.fingerprint(b"abd"),
            take.of_pair(take.fingerprint(b"ab"), 1),
            take.of_pair(take.fingerprint(b"ab"), 2),
            take.fingerprint(b""),
        ];
        assert_eq!(texts.map(|text| cache.get(text)), [None; 5]);
        (0..).zip(texts).for_each(|(n, text)| cache.insert(text, n));
        assert_eq!(
            texts.map(|text| cache.get(text)),
            [None, Some(1), Some(2), Some(3), Some(4)]
        );
        cache.insert(texts[1], 11);
        cache.insert(texts[0], 10);
        assert_eq!(
            texts.map(|text| cache.get(text)),
            [Some(10), Some(11), None, Some(3), Some(4)]
        );
    }
}
