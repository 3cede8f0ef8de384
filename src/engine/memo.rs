//! What a worker has judged before. A log says the same few things over and over: on real sites seven to nine requests in
//! ten, and nineteen agents in twenty, stood in the log before, and to know one again costs a tenth of searching it.
//!
//! A table without chains: what is new takes the place of what had its slot. Whole keys are compared, so that nobody can
//! smuggle a request past the rules with a hash; hashes are seeded at random, so that nobody can fill one slot.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;

/// Remembers values by the texts they were made of.
#[derive(Debug)]
pub(super) struct Memo<V> {
    slots: Vec<Slot<V>>,
    state: RandomState,
}

#[derive(Debug, Default)]
struct Slot<V> {
    key: Vec<u8>,
    value: V,
    taken: bool,
}

/// A longer key is not worth the room, in bytes.
const LONGEST: usize = 1024;

impl<V: Default> Memo<V> {
    /// A memory of so many slots, a power of two.
    pub(super) fn new(slots: usize) -> Self {
        Self { slots: (0..slots).map(|_| Slot::default()).collect(), state: RandomState::default() }
    }

    /// What is remembered of a key, which comes in parts.
    pub(super) fn get<const N: usize>(&self, key: [&[u8]; N]) -> Option<&V> {
        let slot = &self.slots[self.at(key)];
        (slot.taken && is_joined(&slot.key, key)).then_some(&slot.value)
    }

    /// Remembers something; `value` gets the old value of the slot, to use its room. `None` where the key is too long.
    pub(super) fn put<const N: usize>(&mut self, key: [&[u8]; N], value: impl FnOnce(&mut V)) {
        if key.iter().map(|part| part.len()).sum::<usize>() > LONGEST {
            return;
        }
        let at = self.at(key);
        let slot = &mut self.slots[at];
        slot.key.clear();
        key.iter().for_each(|part| slot.key.extend_from_slice(part));
        value(&mut slot.value);
        slot.taken = true;
    }

    fn at<const N: usize>(&self, key: [&[u8]; N]) -> usize {
        let mut hasher = self.state.build_hasher();
        key.iter().for_each(|part| hasher.write(part));
        hasher.finish() as usize & (self.slots.len() - 1)
    }
}

/// Whether `whole` is the parts one after the other.
fn is_joined<const N: usize>(whole: &[u8], parts: [&[u8]; N]) -> bool {
    let mut rest = whole;
    for part in parts {
        match rest.split_at_checked(part.len()) {
            Some((start, behind)) if start == part => rest = behind,
            _ => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_whole_keys() {
        let mut memo: Memo<u32> = Memo::new(1);
        assert_eq!(memo.get([b""]), None);
        memo.put([b"ab", b"c"], |v| *v = 1);
        assert_eq!(memo.get([b"ab", b"c"]), Some(&1));
        assert_eq!(memo.get([b"ab", b"d"]), None);
        assert_eq!(memo.get([b"ab", b""]), None);
        memo.put([b"x"], |v| *v += 1);
        assert_eq!((memo.get([b"x"]), memo.get([b"abc"])), (Some(&2), None));
    }
}
