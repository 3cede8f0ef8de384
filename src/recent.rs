//! A map that forgets what was not asked for lately, so that nobody can fill the memory by asking for ever new things.
//!
//! Two halves: what is used moves to the young one; when that is full, it becomes the old one and what lay there is gone.
//! It keeps no order and knows no time.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::mem;

use foldhash::fast::RandomState;

/// At least the last `room` keys that were used, and at most twice as many.
#[derive(Debug)]
pub struct Recent<K, V> {
    room: usize,
    young: HashMap<K, V, RandomState>,
    old: HashMap<K, V, RandomState>,
}

impl<K: Eq + Hash, V> Recent<K, V> {
    /// Room for so many keys.
    #[must_use]
    pub fn new(room: usize) -> Self {
        Self { room, young: HashMap::default(), old: HashMap::default() }
    }

    /// The value of a key, where it is still known. Does not count as use.
    #[must_use]
    pub fn peek<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    /// The value of a key, made where there is none.
    pub fn value(&mut self, key: K, new: impl FnOnce() -> V) -> &mut V {
        if self.young.len() >= self.room && !self.young.contains_key(&key) {
            self.old = mem::take(&mut self.young);
        }
        let known = self.old.remove(&key);
        self.young.entry(key).or_insert_with(|| known.unwrap_or_else(new))
    }

    /// Takes a key and its value out.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.young.remove(key).or_else(|| self.old.remove(key))
    }

    /// Keys that are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn knows_the_last_and_never_too_many(room in 1_usize..6, keys in prop::collection::vec(0_u8..12, 0..80)) {
            let mut recent = Recent::new(room);
            for (at, &key) in keys.iter().enumerate() {
                *recent.value(key, || 0) += 1;
                prop_assert!(recent.len() <= 2 * room);
                let mut last: Vec<u8> = keys[..=at].iter().rev().fold(Vec::new(), |mut last, key| {
                    if !last.contains(key) {
                        last.push(*key);
                    }
                    last
                });
                last.truncate(room);
                prop_assert!(last.iter().all(|key| recent.peek(key).is_some()));
            }
        }
    }

    #[test]
    fn a_key_that_is_used_keeps_its_value() {
        let mut recent = Recent::new(2);
        for other in 0..10 {
            *recent.value("kept", || 0) += 1;
            recent.value(if other % 2 == 0 { "a" } else { "b" }, || 0);
        }
        assert_eq!(recent.peek("kept"), Some(&10));
        assert_eq!(recent.remove("kept"), Some(10));
        assert_eq!(recent.peek("kept"), None);
    }
}
