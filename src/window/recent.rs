//! A table with a bound: what was seen last stays, what was seen long ago is forgotten.
//!
//! Two halves, a young one and an old one. What is seen is in the young half; when that is full, it becomes the old one, and
//! what was old and not seen since is gone. So the `keys / 2` keys seen last are always there, and never more than `keys`.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Values by keys that are hashes already.
#[derive(Debug)]
pub(super) struct Recent<V> {
    young: HashMap<u64, V, RandomState>,
    old: HashMap<u64, V, RandomState>,
    half: usize,
}

impl<V: Default> Recent<V> {
    /// An empty table of at most so many keys, two at least.
    pub(super) fn new(keys: usize) -> Self {
        Self { young: HashMap::default(), old: HashMap::default(), half: (keys / 2).max(1) }
    }

    /// The same with another bound. What it holds beyond that goes when others come.
    pub(super) fn of_at_most(self, keys: usize) -> Self {
        Self { half: (keys / 2).max(1), ..self }
    }

    /// The value of a key that is seen now; a new one where it is not known any more.
    pub(super) fn see(&mut self, key: u64) -> &mut V {
        if !self.young.contains_key(&key) {
            let value = self.old.remove(&key).unwrap_or_default();
            if self.young.len() >= self.half {
                std::mem::swap(&mut self.young, &mut self.old);
                self.young.clear();
            }
            self.young.insert(key, value);
        }
        self.young.entry(key).or_default()
    }

    /// The value of a key, which is not seen for that.
    pub(super) fn get(&self, key: u64) -> Option<&V> {
        self.young.get(&key).or_else(|| self.old.get(&key))
    }

    /// All values.
    #[cfg(test)]
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.young.values().chain(self.old.values())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn those_seen_last_are_there_and_never_too_many(keys in 0_usize..12, seen in prop::collection::vec(0_u64..20, 0..200)) {
            let mut recent: Recent<u64> = Recent::new(keys);
            for (at, &key) in seen.iter().enumerate() {
                *recent.see(key) = key + 100;
                let mut last: Vec<u64> = Vec::new();
                for &key in seen[..=at].iter().rev() {
                    if !last.contains(&key) && last.len() < (keys / 2).max(1) {
                        last.push(key);
                    }
                }
                for key in last {
                    prop_assert_eq!(recent.get(key), Some(&(key + 100)));
                }
                prop_assert!(recent.values().count() <= keys.max(2));
            }
        }
    }
}
