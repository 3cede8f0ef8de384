//! Numbers distinct keys in the order they are first seen, so that tables hold numbers and each text is held once.
//!
//! Hashes are seeded at random: a client cannot choose addresses that all fall into one place.

mod clients;
mod symbols;

pub use self::clients::ClientInterner;
pub use self::symbols::{IdRemap, SymbolTables};

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::{Equivalent, HashTable};

/// Distinct keys, by number.
#[derive(Debug, Clone)]
pub struct Interner<K> {
    keys: Vec<K>,
    slots: HashTable<Slot>,
    state: RandomState,
}

/// A number in a hash table, and a part of its key's hash: no wrong number is followed, and a table grows without a look at
/// the keys.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    /// The uppermost 32 bits of the hash.
    pub tag: u32,
    /// The key's number.
    pub number: u32,
}

impl Slot {
    /// Its place for a hash table, which looks at the lower bits and at the uppermost.
    #[must_use]
    #[inline]
    pub fn place(self) -> u64 {
        place(self.tag)
    }

    /// The number of the key with such a tag that `is_key` says it is.
    #[inline]
    pub fn find(slots: &HashTable<Self>, tag: u32, is_key: impl Fn(u32) -> bool) -> Option<u32> {
        slots.find(place(tag), |slot| slot.tag == tag && is_key(slot.number)).map(|slot| slot.number)
    }
}

fn place(tag: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(tag)
}

/// The tag of a key.
#[inline]
pub fn hash_tag<Q: Hash + ?Sized>(state: &RandomState, key: &Q) -> u32 {
    (state.hash_one(key) >> 32) as u32
}

/// Keys of another interner that are looked for side by side.
const BATCH: usize = 32;

impl<K> Default for Interner<K> {
    fn default() -> Self {
        Self { keys: Vec::new(), slots: HashTable::new(), state: RandomState::default() }
    }
}

impl<K: Hash + Eq> Interner<K> {
    /// The number of a key; a key not seen before is copied by `own` and gets the next one.
    #[inline]
    pub fn intern<'q, Q>(&mut self, key: &'q Q, own: impl FnOnce(&'q Q) -> K) -> u32
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let tag = hash_tag(&self.state, key);
        if let Some(number) = Slot::find(&self.slots, tag, |n| key.equivalent(&self.keys[n as usize])) {
            return number;
        }
        // Four thousand million keys do not fit into any memory.
        let number = self.keys.len() as u32;
        self.keys.push(own(key));
        self.slots.insert_unique(place(tag), Slot { tag, number }, |slot| slot.place());
        number
    }

    /// The number of a key, where it has one.
    #[must_use]
    pub fn find<Q>(&self, key: &Q) -> Option<u32>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        Slot::find(&self.slots, hash_tag(&self.state, key), |n| key.equivalent(&self.keys[n as usize]))
    }

    /// The key with a number.
    #[must_use]
    pub fn resolve(&self, number: u32) -> &K {
        &self.keys[number as usize]
    }

    /// All keys, by number.
    #[must_use]
    pub fn keys(&self) -> &[K] {
        &self.keys
    }

    /// Takes in other keys; the new number of each, by its old one.
    pub fn merge(&mut self, other: &Self) -> Vec<u32>
    where
        K: Clone + Equivalent<K>,
    {
        let mut numbers = Vec::with_capacity(other.keys.len());
        for keys in other.keys.chunks(BATCH) {
            let mut likely = [0; BATCH];
            for (likely, key) in likely.iter_mut().zip(keys) {
                *likely = hash_tag(&self.state, key);
            }
            for likely in &mut likely[..keys.len()] {
                *likely = Slot::find(&self.slots, *likely, |_| true).unwrap_or(u32::MAX);
            }
            for (key, likely) in keys.iter().zip(likely) {
                let is_it = self.keys.get(likely as usize).is_some_and(|known| known == key);
                numbers.push(if is_it { likely } else { self.intern(key, K::clone) });
            }
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_keys_have_equal_ids(texts in prop::collection::vec("[ab]{0,3}", 0..60)) {
            let mut interner: Interner<Box<str>> = Interner::default();
            let numbers: Vec<_> = texts.iter().map(|t| interner.intern(t.as_str(), Box::from)).collect();
            for (text, number) in texts.iter().zip(numbers) {
                prop_assert_eq!(&**interner.resolve(number), text.as_str());
                prop_assert_eq!(interner.intern(text.as_str(), Box::from), number);
            }
        }

        #[test]
        fn merge_assigns_the_same_ids_as_interning_one_by_one(
            mine in prop::collection::vec("[ab]{0,3}", 0..60), others in prop::collection::vec("[a-c]{0,3}", 0..90),
        ) {
            let numbered = |texts: &[String]| {
                let mut interner: Interner<Box<str>> = Interner::default();
                for text in texts {
                    interner.intern(text.as_str(), Box::from);
                }
                interner
            };
            let (mut one, mut other) = (numbered(&mine), numbered(&mine));
            let others = numbered(&others);
            let numbers: Vec<u32> = others.keys().iter().map(|key| other.intern(&**key, Box::from)).collect();
            prop_assert_eq!(one.merge(&others), numbers);
            prop_assert_eq!(one.keys(), other.keys());
        }
    }
}
