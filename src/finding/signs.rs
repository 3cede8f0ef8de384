//! Who was answered with what shows an app, to a few of each: whether there are enough is all that is asked.
//!
//! Holds no line and decides nothing. Of more than a few it keeps any few, so what it comes to does not depend on who
//! was seen first.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::RuleId;

/// The signs that were seen, by what `K` tells apart besides the app.
#[derive(Debug, Clone)]
pub struct Signs<K = u32> {
    seen: HashMap<(RuleId, K), Few, RandomState>,
}

impl<K> Default for Signs<K> {
    fn default() -> Self {
        Self { seen: HashMap::default() }
    }
}

/// Up to a few distinct clients and sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Few {
    clients: [u32; Few::ENOUGH],
    sizes: [u64; Few::ENOUGH],
    client_count: u8,
    size_count: u8,
}

impl Few {
    /// So many distinct ones are enough.
    pub const ENOUGH: usize = 3;

    /// Whether so many clients were given answers of so many sizes that a site runs the app. A site that says the same
    /// to everything has one size for all.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        usize::from(self.client_count) == Self::ENOUGH && usize::from(self.size_count) == Self::ENOUGH
    }

    /// The clients that are kept.
    #[must_use]
    pub fn kept_clients(&self) -> &[u32] {
        &self.clients[..usize::from(self.client_count)]
    }

    /// A few that were told: those that are listed, enough where `None`. Which clients they were does not matter any more once they
    /// are enough; `any` are clients that there are.
    #[must_use]
    pub fn told(clients: Option<&[u32]>, sizes: Option<&[u64]>, any: [u32; Self::ENOUGH]) -> Self {
        let mut few = Self::default();
        for &client in clients.unwrap_or(&any) {
            put(&mut few.clients, &mut few.client_count, client);
        }
        for &size in sizes.unwrap_or(&[0, 1, 2]) {
            put(&mut few.sizes, &mut few.size_count, size);
        }
        few
    }

    /// The clients while they are not enough. Of more than enough it is chance which are known, so none is told.
    #[must_use]
    pub fn clients(&self) -> Option<&[u32]> {
        let known = usize::from(self.client_count);
        (known < Self::ENOUGH).then_some(&self.clients[..known])
    }

    /// The sizes while they are not enough.
    #[must_use]
    pub fn sizes(&self) -> Option<&[u64]> {
        let known = usize::from(self.size_count);
        (known < Self::ENOUGH).then_some(&self.sizes[..known])
    }

    #[inline]
    fn add(&mut self, client: u32, size: u64) {
        put(&mut self.clients, &mut self.client_count, client);
        put(&mut self.sizes, &mut self.size_count, size);
    }

    fn merge(&mut self, other: &Self, renumbered: impl Fn(u32) -> u32) {
        for &client in &other.clients[..usize::from(other.client_count)] {
            put(&mut self.clients, &mut self.client_count, renumbered(client));
        }
        for &size in &other.sizes[..usize::from(other.size_count)] {
            put(&mut self.sizes, &mut self.size_count, size);
        }
    }
}

/// Adds a value that is not there, where there is room.
#[inline]
fn put<T: Copy + PartialEq>(few: &mut [T; Few::ENOUGH], count: &mut u8, value: T) {
    let known = usize::from(*count);
    if known < Few::ENOUGH && !few[..known].contains(&value) {
        few[known] = value;
        *count += 1;
    }
}

impl<K: Copy + Eq + std::hash::Hash> Signs<K> {
    /// A client got an answer of so many bytes that shows an app.
    #[inline]
    pub fn see(&mut self, app: RuleId, key: K, client: u32, size: u64) {
        self.seen.entry((app, key)).or_default().add(client, size);
    }

    /// Takes in others, whose clients and keys have other numbers.
    pub fn merge<L: Copy>(&mut self, other: &Signs<L>, key: impl Fn(L) -> K, client: impl Fn(u32) -> u32) {
        for (&(app, its_key), few) in &other.seen {
            self.seen.entry((app, key(its_key))).or_default().merge(few, &client);
        }
    }

    /// Takes in what was seen of one app, under another key.
    pub fn gather(&mut self, app: RuleId, key: K, few: &Few) {
        self.seen.entry((app, key)).or_default().merge(few, |client| client);
    }

    /// All that were seen, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (RuleId, K, &Few)> {
        self.seen.iter().map(|(&(app, key), few)| (app, key, few))
    }
}

impl<K> Signs<K> {
    /// Whether none were seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// How many are told apart.
    #[must_use]
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Forgets all, but for the room.
    pub fn clear(&mut self) {
        self.seen.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn enough(signs: &Signs<u8>) -> bool {
        signs.iter().any(|(_, _, few)| few.is_enough())
    }

    #[test]
    fn three_clients_and_three_sizes() {
        let mut signs = Signs::default();
        for (client, size) in [(1, 10), (2, 10), (3, 10), (3, 11)] {
            signs.see(RuleId(0), 0_u8, client, size);
            assert!(!enough(&signs));
        }
        signs.see(RuleId(0), 1, 1, 12);
        assert!(!enough(&signs), "another site");
        signs.see(RuleId(0), 0, 1, 12);
        assert!(enough(&signs));
    }

    proptest! {
        #[test]
        fn a_split_changes_nothing(seen in prop::collection::vec((0_u8..2, 0_u32..5, 0_u64..5), 0..20), cut in any::<prop::sample::Index>()) {
            let of = |part: &[(u8, u32, u64)]| {
                let mut signs = Signs::default();
                for &(key, client, size) in part {
                    signs.see(RuleId(0), key, client, size);
                }
                signs
            };
            let cut = cut.index(seen.len() + 1);
            let mut merged = of(&seen[cut..]);
            merged.merge(&of(&seen[..cut]), |key| key, |client| client);
            let mut one: Vec<_> = of(&seen).iter().map(|(_, key, few)| (key, few.is_enough())).collect();
            let mut other: Vec<_> = merged.iter().map(|(_, key, few)| (key, few.is_enough())).collect();
            one.sort_unstable();
            other.sort_unstable();
            prop_assert_eq!(one, other);
        }
    }
}
