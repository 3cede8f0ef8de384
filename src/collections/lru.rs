//! A bounded map that evicts the keys that were not used recently, so that clients cannot exhaust
//! the memory with new keys.
//!
//! It has two generations: used keys are in the young one. When that is full, it becomes the old
//! one, and the keys of the previous old one are dropped. It keeps no order and no times.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::mem;

use foldhash::fast::RandomState;

/// A map of at least the last `half` used keys, and at most twice as many.
#[derive(Debug)]
pub(crate) struct LruMap<K, V> {
    half: usize,
    young: HashMap<K, V, RandomState>,
    old: HashMap<K, V, RandomState>,
}

impl<K: Eq + Hash, V> LruMap<K, V> {
    /// An empty map of at most `keys` keys (at least two). The last used half of them is always
    /// kept.
    #[must_use]
    pub(crate) fn new(keys: usize) -> Self {
        Self {
            half: (keys / 2).max(1),
            young: HashMap::default(),
            old: HashMap::default(),
        }
    }

    /// Changes the bound. Excess keys are dropped when others are used.
    #[must_use]
    pub(crate) fn with_capacity(self, keys: usize) -> Self {
        Self {
            half: (keys / 2).max(1),
            ..self
        }
    }

    /// The value of a key. It does not count as use.
    #[must_use]
    pub(crate) fn peek<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    /// The value of a key, inserted if it is missing. It counts as use.
    pub(crate) fn get_or_insert_with(&mut self, key: K, new: impl FnOnce() -> V) -> &mut V {
        // Before the generations swap: the key may be in the one that is dropped.
        let old_value = self.old.remove(&key);
        if self.young.len() >= self.half && !self.young.contains_key(&key) {
            mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.young
            .entry(key)
            .or_insert_with(|| old_value.unwrap_or_else(new))
    }

    /// Removes a key and returns its value.
    pub(crate) fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.young.remove(key).or_else(|| self.old.remove(key))
    }

    /// The number of keys.
    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// All keys and values, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.young.iter().chain(&self.old)
    }

    /// All values, in no order.
    #[cfg(test)]
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.young.values().chain(self.old.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_last_used_keys_stay_and_the_map_is_bounded(keys in 0_usize..12, used in prop::collection::vec(0_u64..20, 0..200)) {
            let mut map: LruMap<u64, u64> = LruMap::new(keys);
            let half = (keys / 2).max(1);
            for (at, &key) in used.iter().enumerate() {
                let value = map.get_or_insert_with(key, || key + 100);
                prop_assert_eq!(*value, key + 100);
                let mut last: Vec<u64> = Vec::new();
                for &key in used[..=at].iter().rev() {
                    if !last.contains(&key) && last.len() < half {
                        last.push(key);
                    }
                }
                for key in last {
                    prop_assert_eq!(map.peek(&key), Some(&(key + 100)));
                }
                prop_assert!(map.values().count() <= keys.max(2));
            }
        }
    }

    #[test]
    fn a_key_that_is_used_keeps_its_value() {
        let mut map = LruMap::new(4);
        for other in 0..20 {
            *map.get_or_insert_with("kept", || 0) += 1;
            map.get_or_insert_with(["a", "b", "c", "d", "e"][other % 5], || 0);
        }
        assert_eq!(map.peek("kept"), Some(&20));
        assert_eq!(map.remove("kept"), Some(20));
        assert_eq!(map.peek("kept"), None);
    }
}
