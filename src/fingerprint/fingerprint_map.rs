//! The numbers of texts, all of them, in a table that grows.
//!
//! Open addressing, one step after the other, at most half full: nearly always the first slot is the right one, and it lies
//! in one cache line. Nothing is ever taken out.

use super::Fingerprint;
use crate::prefetch::prefetch;

/// Slots at first.
const FEW: usize = 1 << 8;

/// Numbers by the texts that have them.
#[derive(Debug, Clone)]
pub struct FingerprintMap {
    /// As many as a power of two; nobody's fingerprint marks an empty one.
    slots: Vec<(Fingerprint, u32)>,
    len: usize,
}

impl Default for FingerprintMap {
    fn default() -> Self {
        Self { slots: vec![Default::default(); FEW], len: 0 }
    }
}

impl FingerprintMap {
    /// How many texts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Has the number of a text brought near.
    #[inline]
    pub fn prefetch(&self, text: Fingerprint) {
        prefetch(&self.slots[self.first(text)]);
    }

    /// The number of a text, where it has one.
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

    /// Gives a text its number, or another one.
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
                // Few first slots, so that many texts want the same one.
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
