//! A hash map from fingerprints to ids.
//!
//! Open addressing with linear probing, at most half full: nearly always the first slot is the right one. Entries are never
//! removed.

use super::Fingerprint;
use crate::prefetch::prefetch;

/// Initial number of slots.
const FEW: usize = 1 << 8;

/// Ids by the fingerprints of their texts.
#[derive(Debug, Clone)]
pub struct FingerprintMap {
    /// A power of two; the fingerprint 0 marks an empty slot.
    slots: Vec<(Fingerprint, u32)>,
    len: usize,
}

impl Default for FingerprintMap {
    fn default() -> Self {
        Self { slots: vec![Default::default(); FEW], len: 0 }
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
    pub fn prefetch(&self, text: Fingerprint) {
        prefetch(&self.slots[self.first(text)]);
    }

    /// The id of a text.
    #[must_use]
    #[inline]
    pub fn get(&self, text: Fingerprint) -> Option<u32> {
        let mut at = self.first(text);
        loop {
            let (known, number) = self.slots[at];
            if known == text {
                return Some(number);
            }
            if known == Fingerprint::default() {
                return None;
            }
            at = self.next(at);
        }
    }

    /// Sets the id of a text.
    pub fn put(&mut self, text: Fingerprint, number: u32) {
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
        for (text, number) in old.into_iter().filter(|(text, _)| *text != Fingerprint::default()) {
            self.put(text, number);
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::super::Fingerprinter;
    use super::*;

    proptest! {
        #[test]
        fn is_a_map(texts in prop::collection::vec((0_u16..2_000, any::<u32>()), 0..2_000)) {
            let take = Fingerprinter::default();
            let (mut numbers, mut map) = (FingerprintMap::default(), HashMap::new());
            for (text, number) in texts {
                // Few first slots, so that many texts collide.
                let text = Fingerprint(take.of(&text.to_le_bytes()).word() & !0xff | 1);
                prop_assert_eq!(numbers.get(text), map.get(&text.word()).copied());
                numbers.put(text, number);
                map.insert(text.word(), number);
                prop_assert_eq!(numbers.len(), map.len());
            }
            for (text, number) in map {
                prop_assert_eq!(numbers.get(Fingerprint(text)), Some(number));
            }
        }
    }
}
