//! Numbers distinct keys in the order they are first seen, so that tables hold numbers and each text is held once.
//!
//! Hashes are seeded at random: a client cannot choose addresses that all fall into one place.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::{Equivalent, HashTable};

/// Distinct keys, by number.
#[derive(Debug, Clone)]
pub struct Interner<K> {
    keys: Vec<K>,
    table: HashTable<u32>,
    state: RandomState,
}

impl<K> Default for Interner<K> {
    fn default() -> Self {
        Self { keys: Vec::new(), table: HashTable::new(), state: RandomState::default() }
    }
}

impl<K: Hash + Eq> Interner<K> {
    /// The number of a key; a key not seen before is copied by `own` and gets the next one.
    #[inline]
    pub fn number<'q, Q>(&mut self, key: &'q Q, own: impl FnOnce(&'q Q) -> K) -> u32
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let hash = self.state.hash_one(key);
        if let Some(&number) = self.table.find(hash, |&n| key.equivalent(&self.keys[n as usize])) {
            return number;
        }
        // Four thousand million keys do not fit into any memory.
        let number = self.keys.len() as u32;
        self.keys.push(own(key));
        self.table.insert_unique(hash, number, |&n| self.state.hash_one(&self.keys[n as usize]));
        number
    }

    /// The number of a key, where it has one.
    #[must_use]
    pub fn find<Q>(&self, key: &Q) -> Option<u32>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.table.find(self.state.hash_one(key), |&n| key.equivalent(&self.keys[n as usize])).copied()
    }

    /// The key with a number.
    #[must_use]
    pub fn key(&self, number: u32) -> &K {
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
        K: Clone,
    {
        other.keys.iter().map(|key| self.number(key, K::clone)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_keys_have_equal_numbers(texts in prop::collection::vec("[ab]{0,3}", 0..60)) {
            let mut interner: Interner<Box<str>> = Interner::default();
            let numbers: Vec<_> = texts.iter().map(|t| interner.number(t.as_str(), Box::from)).collect();
            for (text, number) in texts.iter().zip(numbers) {
                prop_assert_eq!(&**interner.key(number), text.as_str());
                prop_assert_eq!(interner.number(text.as_str(), Box::from), number);
            }
        }
    }
}
