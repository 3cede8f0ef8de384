//! Evidence that a site runs an app: clients and sizes of the app assets that it served, up to a
//! few of each.
//!
//! It stores no lines. Only whether the evidence is sufficient matters, and that does not depend on
//! the order of requests.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::RuleId;

/// App evidence by app and by `K`, such as the site.
#[derive(Debug, Clone)]
pub struct AppEvidence<K = u32> {
    entries: HashMap<(RuleId, K), BoundedSet, RandomState>,
}

impl<K> Default for AppEvidence<K> {
    fn default() -> Self {
        Self {
            entries: HashMap::default(),
        }
    }
}

/// Up to a few distinct clients and sizes, and the magnitudes of the sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BoundedSet {
    clients: [u32; BoundedSet::MIN_DISTINCT],
    sizes: [u64; BoundedSet::MIN_DISTINCT],
    client_count: u8,
    size_count: u8,
    magnitudes: u64,
}

/// An app asset that was served to a client.
#[derive(Debug, Clone, Copy)]
pub struct AppAsset {
    /// The client.
    pub client: u32,
    /// Bytes sent.
    pub size: u64,
    /// The length of the request line, in bytes.
    pub request_len: usize,
}

impl AppAsset {
    /// A bit for the largest power of two below the size. None for an answer of less than four
    /// times the length of its request: a client can choose the size of a page that repeats its
    /// URL.
    fn magnitude(self) -> u64 {
        let repeats = self.size < 4 * self.request_len.max(1) as u64;
        if repeats { 0 } else { 1 << self.size.ilog2() }
    }
}

impl BoundedSet {
    /// Sufficient number of distinct clients and of distinct sizes.
    pub const MIN_DISTINCT: usize = 3;

    /// Sufficient number of magnitudes of sizes, with any clients: assets differ in size, but a
    /// catch-all page does not.
    pub const MIN_MAGNITUDES: u32 = 5;

    /// Whether the answers show that a site runs the app: enough clients and sizes, or enough
    /// magnitudes of sizes. A site that answers everything alike has one size.
    #[must_use]
    pub fn is_sufficient(&self) -> bool {
        let has_clients = usize::from(self.client_count) == Self::MIN_DISTINCT
            && usize::from(self.size_count) == Self::MIN_DISTINCT;
        has_clients || self.magnitudes.count_ones() >= Self::MIN_MAGNITUDES
    }

    /// A bit for each power of two below a size.
    #[must_use]
    pub fn magnitudes(&self) -> u64 {
        self.magnitudes
    }

    /// The clients that are kept.
    #[must_use]
    pub fn kept_clients(&self) -> &[u32] {
        &self.clients[..usize::from(self.client_count)]
    }

    /// The evidence of an earlier report: the listed clients and sizes; `None` means enough. Once
    /// there are enough, it does not matter which clients they were; `any` are existing clients.
    #[must_use]
    pub fn from_listed(
        clients: Option<&[u32]>,
        sizes: Option<&[u64]>,
        magnitudes: u64,
        any: [u32; Self::MIN_DISTINCT],
    ) -> Self {
        let mut evidence = Self {
            magnitudes,
            ..Self::default()
        };
        for &client in clients.unwrap_or(&any) {
            insert_distinct(&mut evidence.clients, &mut evidence.client_count, client);
        }
        for &size in sizes.unwrap_or(&[0, 1, 2]) {
            insert_distinct(&mut evidence.sizes, &mut evidence.size_count, size);
        }
        evidence
    }

    /// The clients, until there are enough. After that the known ones are arbitrary.
    #[must_use]
    pub fn clients(&self) -> Option<&[u32]> {
        let len = usize::from(self.client_count);
        (len < Self::MIN_DISTINCT).then_some(&self.clients[..len])
    }

    /// The sizes, until there are enough.
    #[must_use]
    pub fn sizes(&self) -> Option<&[u64]> {
        let len = usize::from(self.size_count);
        (len < Self::MIN_DISTINCT).then_some(&self.sizes[..len])
    }

    #[inline]
    fn add(&mut self, asset: AppAsset) {
        insert_distinct(&mut self.clients, &mut self.client_count, asset.client);
        insert_distinct(&mut self.sizes, &mut self.size_count, asset.size);
        self.magnitudes |= asset.magnitude();
    }

    fn merge(&mut self, other: &Self, renumbered: impl Fn(u32) -> u32) {
        for &client in &other.clients[..usize::from(other.client_count)] {
            insert_distinct(
                &mut self.clients,
                &mut self.client_count,
                renumbered(client),
            );
        }
        for &size in &other.sizes[..usize::from(other.size_count)] {
            insert_distinct(&mut self.sizes, &mut self.size_count, size);
        }
        self.magnitudes |= other.magnitudes;
    }
}

/// Adds a new value if there is space.
#[inline]
fn insert_distinct<T: Copy + PartialEq>(
    values: &mut [T; BoundedSet::MIN_DISTINCT],
    count: &mut u8,
    value: T,
) {
    let len = usize::from(*count);
    if len < BoundedSet::MIN_DISTINCT && !values[..len].contains(&value) {
        values[len] = value;
        *count += 1;
    }
}

impl<K: Copy + Eq + std::hash::Hash> AppEvidence<K> {
    /// Records an app asset that was served.
    #[inline]
    pub fn record(&mut self, app: RuleId, key: K, asset: AppAsset) {
        self.entries.entry((app, key)).or_default().add(asset);
    }

    /// Merges other evidence, with its keys and clients mapped.
    pub fn merge<L: Copy>(
        &mut self,
        other: &AppEvidence<L>,
        key: impl Fn(L) -> K,
        client: impl Fn(u32) -> u32,
    ) {
        for (&(app, other_key), evidence) in &other.entries {
            self.entries
                .entry((app, key(other_key)))
                .or_default()
                .merge(evidence, &client);
        }
    }

    /// Merges evidence of one app under another key.
    pub fn gather(&mut self, app: RuleId, key: K, evidence: &BoundedSet) {
        self.entries
            .entry((app, key))
            .or_default()
            .merge(evidence, |client| client);
    }

    /// All evidence, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (RuleId, K, &BoundedSet)> {
        self.entries
            .iter()
            .map(|(&(app, key), evidence)| (app, key, evidence))
    }
}

impl<K> AppEvidence<K> {
    /// The number of apps and keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Keeps this many entries, those of the lowest rank.
    pub fn truncate<R: Ord>(&mut self, most: usize, rank: impl Fn(RuleId, &K, &BoundedSet) -> R)
    where
        K: Copy + Eq + std::hash::Hash,
    {
        if self.entries.len() <= most {
            return;
        }
        let mut ranked: Vec<_> = self
            .entries
            .drain()
            .map(|((app, key), set)| (rank(app, &key, &set), (app, key), set))
            .collect();
        ranked.select_nth_unstable_by(most, |one, other| one.0.cmp(&other.0));
        ranked.truncate(most);
        self.entries
            .extend(ranked.into_iter().map(|(_, key, set)| (key, set)));
        self.entries.shrink_to_fit();
    }

    /// Whether there is no evidence.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Clears it, but keeps its capacity.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn enough(evidence: &AppEvidence<u8>) -> bool {
        evidence
            .iter()
            .any(|(_, _, evidence)| evidence.is_sufficient())
    }

    const fn asset(client: u32, size: u64) -> AppAsset {
        AppAsset {
            client,
            size,
            request_len: 50,
        }
    }

    /// Whether answers of these sizes to requests of these lengths, by one client, are sufficient.
    fn shows_to_one(answers: &[(u64, usize)]) -> bool {
        let mut evidence = AppEvidence::default();
        for &(size, request_len) in answers {
            evidence.record(
                RuleId(0),
                0,
                AppAsset {
                    client: 1,
                    size,
                    request_len,
                },
            );
        }
        enough(&evidence)
    }

    #[test]
    fn one_client_and_five_magnitudes() {
        assert!(shows_to_one(&[
            (300, 60),
            (700, 60),
            (3_000, 60),
            (40_000, 60),
            (290_000, 60)
        ]));
        assert!(
            !shows_to_one(&[
                (300, 60),
                (700, 60),
                (3_000, 60),
                (3_900, 60),
                (290_000, 60)
            ]),
            "four magnitudes"
        );
        assert!(
            !shows_to_one(&[
                (120, 60),
                (700, 60),
                (3_000, 60),
                (40_000, 60),
                (290_000, 60)
            ]),
            "too short for its request"
        );
        assert!(!shows_to_one(&[(0, 60), (u64::MAX, 60)]));
    }

    #[test]
    fn a_page_that_repeats_the_address_shows_no_app() {
        for (page, times) in [(40, 1), (500, 2), (5_000, 3)] {
            let answers: Vec<_> = (3..14)
                .map(|bits| 1_usize << bits)
                .map(|request_len| (page + times * request_len as u64, request_len))
                .collect();
            assert!(
                !shows_to_one(&answers),
                "{page} bytes and the address {times} times"
            );
        }
    }

    #[test]
    fn three_clients_and_three_sizes() {
        let mut evidence = AppEvidence::default();
        for (client, size) in [(1, 10), (2, 10), (3, 10), (3, 11)] {
            evidence.record(RuleId(0), 0_u8, asset(client, size));
            assert!(!enough(&evidence));
        }
        evidence.record(RuleId(0), 1, asset(1, 12));
        assert!(!enough(&evidence), "another site");
        evidence.record(RuleId(0), 0, asset(1, 12));
        assert!(enough(&evidence));
    }

    proptest! {
        #[test]
        fn a_split_changes_nothing(entries in prop::collection::vec((0_u8..2, 0_u32..5, 0_u32..16), 0..20), cut in any::<prop::sample::Index>()) {
            let of = |part: &[(u8, u32, u32)]| {
                let mut evidence = AppEvidence::default();
                for &(key, client, bits) in part {
                    evidence.record(RuleId(0), key, asset(client, 1 << bits));
                }
                evidence
            };
            let cut = cut.index(entries.len() + 1);
            let mut merged = of(&entries[cut..]);
            merged.merge(&of(&entries[..cut]), |key| key, |client| client);
            let mut one: Vec<_> = of(&entries).iter().map(|(_, key, evidence)| (key, evidence.is_sufficient())).collect();
            let mut other: Vec<_> = merged.iter().map(|(_, key, evidence)| (key, evidence.is_sufficient())).collect();
            one.sort_unstable();
            other.sort_unstable();
            prop_assert_eq!(one, other);
        }
    }
}
