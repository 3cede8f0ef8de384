//! Interners: ids for distinct keys in order of first use, so that tables hold ids and each text is
//! stored once. [`SymbolTables`] has one for clients, paths, hosts and rule lists each, so that a
//! hit is a few numbers.
//!
//! Hash seeds are random, so clients cannot construct collisions. Each worker has its own tables
//! and only adds to them: an id stays valid as long as the worker lives.
//!
//! Different spellings of an address have one id: `192.0.2.7` and `::ffff:192.0.2.7`. If IPv6
//! addresses of one prefix count as one client, they have one id, that of their prefix. Each line
//! is looked up here, so the text of a known client is found by its fingerprint, without parsing
//! the address.
//!
//! A client writes most of these texts, so the [bytes](SymbolTables::bytes) of all keys are
//! counted, and the owner of a table limits them. A host or a client without an address that is
//! longer than any host name is cut: see [`MAX_NAME`].

use std::hash::{BuildHasher, Hash};
use std::hint::black_box;

use foldhash::fast::RandomState;
use hashbrown::{Equivalent, HashTable};
use xxhash_rust::xxh3::xxh3_128;

use crate::collections::fingerprint::{Fingerprint, FingerprintMap, Fingerprinter};
use crate::log::client::{Client, ClientKey, Ipv6Prefix};
use crate::log::finding::RuleId;

/// Distinct keys, by id.
#[derive(Debug, Clone)]
pub struct Interner<K> {
    keys: Vec<K>,
    slots: HashTable<InternSlot>,
    state: RandomState,
    /// The bytes of all keys.
    bytes: usize,
}

/// A key whose size in memory is known.
pub trait InternKey {
    /// The bytes that it has allocated; none by default.
    fn allocated_bytes(&self) -> usize {
        0
    }
}

impl<T> InternKey for Box<[T]> {
    fn allocated_bytes(&self) -> usize {
        size_of_val(&**self)
    }
}

impl InternKey for ClientKey {
    fn allocated_bytes(&self) -> usize {
        match self {
            Self::V4(_) | Self::V6(_) => 0,
            Self::Text(text) => text.len(),
        }
    }
}

/// An id in a hash table with a part of its key's hash: few keys are compared in vain, and the
/// table grows without hashing keys.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InternSlot {
    /// The uppermost 32 bits of the hash.
    pub tag: u32,
    /// The id.
    pub number: u32,
}

impl InternSlot {
    /// Its hash for a hash table, which uses the lowest and the uppermost bits.
    #[must_use]
    #[inline]
    pub(crate) fn hash(self) -> u64 {
        hash(self.tag)
    }

    /// Adds an id whose key is new.
    #[inline]
    pub(crate) fn insert(self, slots: &mut HashTable<Self>) {
        slots.insert_unique(self.hash(), self, |slot| slot.hash());
    }

    /// The id with this tag for which `is_key` returns true.
    #[inline]
    pub(crate) fn find(
        slots: &HashTable<Self>,
        tag: u32,
        is_key: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        slots
            .find(hash(tag), |slot| slot.tag == tag && is_key(slot.number))
            .map(|slot| slot.number)
    }
}

fn hash(tag: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(tag)
}

/// The tag of a key.
#[inline]
pub(crate) fn hash_tag<Q: Hash + ?Sized>(state: &RandomState, key: &Q) -> u32 {
    (state.hash_one(key) >> 32) as u32
}

/// Keys that a merge looks up at a time.
const BATCH: usize = 32;

impl<K> Default for Interner<K> {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            slots: HashTable::new(),
            state: RandomState::default(),
            bytes: 0,
        }
    }
}

impl<K> Interner<K> {
    /// The bytes of the texts of all keys.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl<K: Hash + Eq + InternKey> Interner<K> {
    /// The id of a key. A new key is copied by `make_key` and gets the next id.
    #[inline]
    pub fn intern<'q, Q>(&mut self, key: &'q Q, make_key: impl FnOnce(&'q Q) -> K) -> u32
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let tag = hash_tag(&self.state, key);
        if let Some(number) =
            InternSlot::find(&self.slots, tag, |n| key.equivalent(&self.keys[n as usize]))
        {
            return number;
        }
        // 2^32 keys do not fit into memory.
        let number = self.keys.len() as u32;
        let key = make_key(key);
        self.bytes += key.allocated_bytes();
        self.keys.push(key);
        InternSlot { tag, number }.insert(&mut self.slots);
        number
    }

    /// The id of a key, if it has one.
    #[must_use]
    pub fn find<Q>(&self, key: &Q) -> Option<u32>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        InternSlot::find(&self.slots, hash_tag(&self.state, key), |n| {
            key.equivalent(&self.keys[n as usize])
        })
    }

    /// The key with an id.
    #[must_use]
    pub fn resolve(&self, number: u32) -> &K {
        &self.keys[number as usize]
    }

    /// All keys, by id.
    #[must_use]
    pub fn keys(&self) -> &[K] {
        &self.keys
    }

    /// Merges other keys; returns the new ids by old ids.
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
                *likely = InternSlot::find(&self.slots, *likely, |_| true).unwrap_or(u32::MAX);
            }
            for (key, likely) in keys.iter().zip(likely) {
                let is_same = self
                    .keys
                    .get(likely as usize)
                    .is_some_and(|existing| existing == key);
                numbers.push(if is_same {
                    likely
                } else {
                    self.intern(key, K::clone)
                });
            }
        }
        numbers
    }
}

/// Most cached texts. There may be more texts than clients, such as one for each port.
const MAX_CACHED_TEXTS: usize = 1 << 18;
/// The longest host, and the longest client without an address, in bytes. A host name has at most
/// 253 bytes, so a longer text is none. It is cut and ends with a hash of the whole, so that it
/// stays distinct.
pub(crate) const MAX_NAME: usize = 255;

/// Cuts a host or a client without an address to [`MAX_NAME`] bytes.
pub(crate) fn bound_name(text: &mut Vec<u8>) {
    if text.len() > MAX_NAME {
        let hash = format!("...{:032x}", xxh3_128(text));
        text.truncate(MAX_NAME - hash.len());
        text.extend_from_slice(hash.as_bytes());
    }
}

/// A client as it is stored; `buffer` holds a text that was cut.
fn bounded<'c>(client: Client<'c>, buffer: &'c mut Vec<u8>) -> Client<'c> {
    match client {
        Client::Text(text) if text.len() > MAX_NAME => {
            buffer.extend_from_slice(text);
            bound_name(buffer);
            Client::Text(buffer)
        }
        client => client,
    }
}

/// Longest client text without an allocation: an IPv6 address in brackets and a port have 47 bytes.
const SHORT: usize = 48;

/// Distinct clients, by id.
#[derive(Debug, Clone, Default)]
pub struct ClientInterner {
    keys: Interner<ClientKey>,
    take: Fingerprinter,
    texts: FingerprintMap,
    prefix: Option<Ipv6Prefix>,
}

impl ClientInterner {
    /// An empty interner; the addresses of one IPv6 prefix count as one client.
    #[must_use]
    pub fn with_prefix(prefix: Option<Ipv6Prefix>) -> Self {
        Self {
            prefix,
            ..Self::default()
        }
    }

    /// The IPv6 prefix that counts as one client; `None` for single addresses.
    #[must_use]
    pub fn prefix(&self) -> Option<Ipv6Prefix> {
        self.prefix
    }

    /// The fingerprints of client texts. Prefetches their entries.
    #[inline]
    pub fn fingerprints<'t>(
        &self,
        texts: impl ExactSizeIterator<Item = &'t [u8]>,
        fingerprints: &mut [Fingerprint],
    ) {
        let fingerprints = &mut fingerprints[..texts.len()];
        self.take.of_each(texts, fingerprints);
        for fingerprint in fingerprints {
            self.texts.prefetch(*fingerprint);
        }
    }

    /// The id of a client, as logged.
    pub fn intern(&mut self, text: &[u8]) -> u32 {
        self.intern_by(self.take.fingerprint(text), text)
    }

    /// The id of a client, as logged, by its [fingerprint](Self::fingerprints).
    #[inline]
    pub fn intern_by(&mut self, fingerprint: Fingerprint, text: &[u8]) -> u32 {
        match self.texts.get(fingerprint) {
            Some(number) => number,
            None => self.intern_new_text(text),
        }
    }

    #[cold]
    fn intern_new_text(&mut self, text: &[u8]) -> u32 {
        // A copy: the bytes of a memory map may change between two reads, and the id is cached.
        match text.len() {
            ..=SHORT => {
                let mut copy = [0; SHORT];
                copy[..text.len()].copy_from_slice(text);
                self.intern_text(&black_box(copy)[..text.len()])
            }
            _ => self.intern_text(&black_box(text.to_vec())),
        }
    }

    fn intern_text(&mut self, text: &[u8]) -> u32 {
        let number = self.intern_grouped(Client::from_log_field(text));
        if self.texts.len() == MAX_CACHED_TEXTS {
            self.texts = FingerprintMap::default();
        }
        self.texts.insert(self.take.fingerprint(text), number);
        number
    }

    /// The id of the prefix of a client, or of the client itself.
    pub fn intern_grouped(&mut self, client: Client<'_>) -> u32 {
        match self.prefix.and_then(|prefix| prefix.prefix_text(client)) {
            Some(group) => self.intern_client(Client::Text(group.as_bytes())),
            None => self.intern_client(client),
        }
    }

    /// The id of a client as given; a prefix is a client text.
    pub fn intern_client(&mut self, client: Client<'_>) -> u32 {
        self.keys
            .intern(&bounded(client, &mut Vec::new()), ClientKey::from)
    }

    /// The bytes of all clients.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.keys.bytes()
    }

    /// The number of clients.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.keys().len()
    }

    /// Whether there are no clients.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.keys().is_empty()
    }

    /// The id of a client, if it has one.
    #[must_use]
    pub fn find(&self, client: Client<'_>) -> Option<u32> {
        self.keys.find(&bounded(client, &mut Vec::new()))
    }

    /// The client with an id.
    #[must_use]
    pub fn resolve(&self, number: u32) -> Client<'_> {
        self.keys.resolve(number).client()
    }

    /// Merges other clients; returns the new ids by old ids.
    pub fn merge(&mut self, other: &Self) -> Vec<u32> {
        self.keys.merge(&other.keys)
    }
}

/// The bytes of an id besides its key: in the list of keys, in the hash table with its free slots,
/// and of the allocation.
const ID_BYTES: usize = 48;
/// The bytes of a host besides its name, with the evidence about it that a prune and a report
/// gather: its maps of paths.
const HOST_BYTES: usize = 512;

/// The symbol tables of a worker.
#[derive(Debug, Clone)]
pub struct SymbolTables {
    /// Clients.
    pub clients: ClientInterner,
    /// Normalised paths.
    pub paths: Interner<Box<[u8]>>,
    /// Virtual hosts in lower case; the first one is [`NO_HOST`](Self::NO_HOST).
    pub hosts: Interner<Box<[u8]>>,
    /// Sorted lists of rules; the first one is [`EMPTY_RULES`](Self::EMPTY_RULES).
    pub rules: Interner<Box<[RuleId]>>,
    /// A buffer for a host in lower case.
    folded: Vec<u8>,
}

impl Default for SymbolTables {
    fn default() -> Self {
        let mut rules = Interner::default();
        rules.intern(&[][..], Box::from);
        let mut hosts = Interner::default();
        hosts.intern(&b""[..], Box::from);
        Self {
            clients: ClientInterner::default(),
            paths: Interner::default(),
            hosts,
            rules,
            folded: Vec::new(),
        }
    }
}

/// New ids by old ids, after a merge.
#[derive(Debug)]
pub struct IdRemap {
    /// Client ids.
    pub clients: Vec<u32>,
    /// Path ids.
    pub paths: Vec<u32>,
    /// Host ids.
    pub hosts: Vec<u32>,
    /// Rule list ids.
    pub rules: Vec<u32>,
}

impl IdRemap {
    /// The new number of a client, or of [`SymbolTables::OTHER`].
    #[must_use]
    pub fn client(&self, number: u32) -> u32 {
        self.clients
            .get(number as usize)
            .copied()
            .unwrap_or(SymbolTables::OTHER)
    }

    /// The new number of a path, or of [`SymbolTables::OTHER`].
    #[must_use]
    pub fn path(&self, number: u32) -> u32 {
        self.paths
            .get(number as usize)
            .copied()
            .unwrap_or(SymbolTables::OTHER)
    }
}

impl SymbolTables {
    /// The id of the empty rule list.
    pub const EMPTY_RULES: u32 = 0;
    /// The host id of a line without a host.
    pub const NO_HOST: u32 = 0;
    /// The id of evicted clients and paths.
    pub const OTHER: u32 = u32::MAX;
    /// The id of several inputs together.
    pub const NO_INPUT: u32 = u32::MAX;

    /// Empty tables; the addresses of one IPv6 prefix count as one client.
    #[must_use]
    pub fn with_prefix(prefix: Option<Ipv6Prefix>) -> Self {
        Self {
            clients: ClientInterner::with_prefix(prefix),
            ..Self::default()
        }
    }

    /// Whether the tables are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
            && self.paths.keys().is_empty()
            && self.hosts.keys().len() <= 1
            && self.rules.keys().len() <= 1
    }

    /// The id of a virtual host as logged.
    pub fn host(&mut self, host: Option<&[u8]>) -> u32 {
        let Some(host) = host else {
            return Self::NO_HOST;
        };
        self.folded.clear();
        self.folded.extend_from_slice(host);
        self.folded.make_ascii_lowercase();
        bound_name(&mut self.folded);
        self.hosts.intern(&*self.folded, Box::from)
    }

    /// The bytes of all texts, and of what a host and a list of rules takes besides: unlike clients
    /// and paths, their number has no limit of its own.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let besides = self.hosts.keys().len() * HOST_BYTES + self.rules.keys().len() * ID_BYTES;
        self.clients.bytes()
            + self.paths.bytes()
            + self.hosts.bytes()
            + self.rules.bytes()
            + besides
    }

    /// The bytes of all keys, about.
    #[must_use]
    pub fn all_bytes(&self) -> usize {
        self.bytes() + (self.clients.len() + self.paths.keys().len()) * ID_BYTES
    }

    /// The bytes of the texts of a client, a path and a host.
    #[must_use]
    pub fn text_len(&self, client: u32, path: u32, host: u32) -> usize {
        let client = self
            .clients
            .keys
            .keys()
            .get(client as usize)
            .map_or(0, InternKey::allocated_bytes);
        client
            + [(&self.paths, path), (&self.hosts, host)]
                .map(|(texts, id)| texts.keys().get(id as usize).map_or(0, |text| text.len()))
                .iter()
                .sum::<usize>()
    }

    /// Merges the tables of another worker.
    pub fn merge(&mut self, other: &Self) -> IdRemap {
        IdRemap {
            clients: self.clients.merge(&other.clients),
            paths: self.paths.merge(&other.paths),
            hosts: self.hosts.merge(&other.hosts),
            rules: self.rules.merge(&other.rules),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl InternKey for Box<str> {
        fn allocated_bytes(&self) -> usize {
            self.len()
        }
    }

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
            prop_assert_eq!(one.bytes(), one.keys().iter().map(|key| key.len()).sum::<usize>());
        }
    }

    #[test]
    fn a_name_longer_than_a_host_name_is_cut_and_stays_distinct() {
        let mut names = SymbolTables::default();
        let long = |last: &str| format!("{}{last}", "H".repeat(4_000));
        let [a, b] = ["a", "b"].map(|last| {
            (
                names.host(Some(long(last).as_bytes())),
                names.clients.intern(long(last).as_bytes()),
            )
        });
        assert!(a.0 != b.0 && a.1 != b.1);
        for last in ["a", "b"] {
            let client = Client::Text(names.hosts.resolve(if last == "a" { a.0 } else { b.0 }));
            assert!(
                matches!(client, Client::Text(text) if text.len() == MAX_NAME && text.starts_with(b"hhh")),
                "{client:?}"
            );
            assert_eq!(
                names.clients.find(Client::Text(long(last).as_bytes())),
                Some(if last == "a" { a.1 } else { b.1 })
            );
        }
        assert!(names.bytes() < 8 * MAX_NAME + 4 * HOST_BYTES);
        // The longest host name, and a port.
        let longest = "h".repeat(253);
        let number = names.host(Some(longest.as_bytes()));
        assert_eq!(&**names.hosts.resolve(number), longest.as_bytes());
    }

    #[test]
    fn addresses_of_one_prefix_have_one_id() {
        let mut clients = ClientInterner::with_prefix(Ipv6Prefix::new(64));
        let mut number = |text: &str| clients.intern(text.as_bytes());
        let one = number("2001:db8:1:2::1");
        for same in [
            "2001:db8:1:2::2",
            "2001:db8:1:2:ffff:ffff:ffff:ffff",
            "[2001:db8:1:2::7]:443",
            "2001:db8:1:2::1",
            "2001:db8:1:2::/64",
        ] {
            assert_eq!(number(same), one, "{same}");
        }
        assert_ne!(number("2001:db8:1:3::1"), one);
        let four = number("192.0.2.1");
        assert_eq!(number("::ffff:192.0.2.1"), four);
        assert_ne!(number("192.0.2.2"), four);
        assert_eq!(clients.resolve(one), Client::Text(b"2001:db8:1:2::/64"));
        assert_eq!(clients.resolve(four), Client::parse(b"192.0.2.1"));
        // Cached texts.
        assert_eq!(
            clients.intern(b"2001:db8::1"),
            clients.intern(b"2001:db8::2")
        );
    }

    proptest! {
        #[test]
        fn a_text_has_the_id_of_its_client(texts in prop::collection::vec("(::ffff:)?1[0-2]{0,2}\\.1\\.1\\.1(:80)?|[ab\0]{0,20}", 1..40)) {
            let mut clients = ClientInterner::default();
            for text in texts.iter().chain(&texts) {
                let number = clients.intern(text.as_bytes());
                prop_assert_eq!(clients.resolve(number), Client::from_log_field(text.as_bytes()));
                prop_assert_eq!(clients.intern_client(Client::from_log_field(text.as_bytes())), number);
            }
        }
    }
}
