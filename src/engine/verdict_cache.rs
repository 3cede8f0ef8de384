//! The verdicts that a worker caches, and those it gets from other workers. The cache key is the
//! request alone if the verdict depends on nothing else, else the request with the status, with the
//! class of its headers, or with the headers themselves.
//!
//! Look up any text, but insert only copies: the bytes of a memory map may change while they are
//! read. Findings of such a chunk are discarded, but cache entries outlive it and must be correct
//! for their key.
//!
//! [`SharedCache`] holds the verdicts of all workers of a run, so that each request is matched
//! once. It is used only when a worker's own cache misses; a lookup costs a hundredth of matching.
//! A full shard is cleared. No cache changes a verdict.

use std::sync::{Arc, Mutex, MutexGuard};

use foldhash::HashMap;

use crate::collections::fingerprint::{Fingerprint, Fingerprinter, SetAssocCache};
use crate::collections::intern::SymbolTables;
use crate::formats::Headers;
use crate::log::finding::RuleId;
use crate::os::system::lock;
use crate::rules::{LiteralHits, bit};

/// The verdict of a request: ids in
/// [`WorkerState::names`](super::worker_state::WorkerState::names).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdict {
    /// The list of rules that match.
    pub rules: u32,
    /// The normalised path; empty if no rule matches.
    pub path: u32,
}

/// The verdict cache of a worker.
#[derive(Debug)]
pub(super) struct VerdictCache {
    /// Makes the keys, and the fingerprints of requests together with their dependencies.
    fingerprinter: Fingerprinter,
    /// Referers and user agents without a literal hit.
    empty_headers: SetAssocCache<(), 8>,
    /// Classes of headers as logged.
    headers: SetAssocCache<HeaderClass, 4>,
    requests: SetAssocCache<CachedVerdict, 4>,
    /// Verdicts of other workers.
    pub(super) shared: Option<Arc<SharedCache>>,
    sharing: SharingPolicy,
}

/// A verdict, or its dependencies in the same space.
type CachedVerdict = Verdict;

/// Marks an entry of dependencies; they are in `path`.
const NEEDS_MORE: u32 = u32::MAX;
/// Marks a missing entry.
const UNKNOWN: CachedVerdict = CachedVerdict {
    rules: u32::MAX - 1,
    path: 0,
};

fn needs_more(dependencies: Dependencies) -> CachedVerdict {
    CachedVerdict {
        rules: NEEDS_MORE,
        path: dependencies.0,
    }
}

impl Default for VerdictCache {
    fn default() -> Self {
        Self::with_shared_cache(None)
    }
}

impl VerdictCache {
    /// A cache that exchanges verdicts with other workers.
    pub(super) fn with_shared_cache(shared: Option<Arc<SharedCache>>) -> Self {
        let fingerprinter = shared
            .as_ref()
            .map(|shared| shared.fingerprinter.clone())
            .unwrap_or_default();
        let mut headers = SetAssocCache::new(1 << 13);
        headers.insert(fingerprinter.fingerprint(b""), HeaderClass::EMPTY);
        let (empty_headers, requests) = (SetAssocCache::new(1 << 11), SetAssocCache::new(1 << 14));
        Self {
            fingerprinter,
            empty_headers,
            headers,
            requests,
            shared,
            sharing: SharingPolicy::default(),
        }
    }

    /// The keys of requests and their headers, at most `MOST`, and whether each [may be
    /// unknown](Self::key). Prefetches their entries.
    #[inline]
    pub(super) fn keys<'t, const MOST: usize>(
        &self,
        texts: impl ExactSizeIterator<Item = (&'t [u8], Headers<'t>, bool)> + Clone,
    ) -> [CacheKey; MOST] {
        let (mut requests, mut headers) = (
            [Fingerprint::default(); MOST],
            [Fingerprint::default(); MOST],
        );
        self.fingerprinter
            .of_each(texts.clone().map(|(request, ..)| request), &mut requests);
        self.fingerprinter.of_each(
            texts.clone().map(|(_, headers, _)| headers.key().0),
            &mut headers,
        );
        let mut keys = [CacheKey::default(); MOST];
        for (((key, request), headers), (_, text, may_be_unknown)) in
            keys.iter_mut().zip(requests).zip(headers).zip(texts)
        {
            let (request, headers) = (
                request.salted(may_be_unknown),
                self.of_headers(headers, text),
            );
            self.headers.prefetch(headers);
            self.requests.prefetch(request);
            *key = CacheKey { request, headers };
        }
        keys
    }

    /// The key of a request. One that was refused or redirected may match a rule with `unknown`, so
    /// its verdict is another; the status is no part of the key of others.
    pub(super) fn key(
        &self,
        request: &[u8],
        headers: Headers<'_>,
        may_be_unknown: bool,
    ) -> CacheKey {
        let [request, first] =
            [request, headers.key().0].map(|text| self.fingerprinter.fingerprint(text));
        CacheKey {
            request: request.salted(may_be_unknown),
            headers: self.of_headers(first, headers),
        }
    }

    /// The fingerprint of headers, whose first text has the fingerprint `first`.
    #[inline]
    fn of_headers(&self, first: Fingerprint, headers: Headers<'_>) -> Fingerprint {
        headers.key().1.map_or(first, |second| {
            let second = self.fingerprinter.fingerprint(second);
            self.fingerprinter.of_pair(first, second.word())
        })
    }

    /// The fingerprint of the first lookup.
    #[inline]
    fn first(&self, key: CacheKey, class: HeaderClass) -> Fingerprint {
        if class.has_evidence() {
            self.fingerprinter.of_pair(key.request, class.0)
        } else {
            key.request
        }
    }

    /// The fingerprint of the next lookup, if the entry of `text` has these dependencies.
    #[inline]
    fn next(
        &self,
        text: Fingerprint,
        dependencies: Dependencies,
        key: CacheKey,
        class: HeaderClass,
        status: Option<u16>,
    ) -> Fingerprint {
        let if_needed = |dependency: Dependencies, word: u64| {
            if dependencies.has(dependency) {
                word
            } else {
                0
            }
        };
        if dependencies == Dependencies::HEADERS {
            return self.fingerprinter.of_pair(text, key.headers.word());
        }
        // With the dependencies, because these may change: a verdict that depends on the class must
        // not be found by the status alone.
        let status = if_needed(Dependencies::STATUS, 1 + u64::from(status.unwrap_or(0)));
        let text = self
            .fingerprinter
            .of_pair(text, u64::from(dependencies.0) << u32::BITS | status);
        self.fingerprinter
            .of_pair(text, if_needed(Dependencies::CLASS, class.0))
    }
    /// The cached verdicts of requests. Nearly all have no dependencies. For the others the second
    /// lookup is prefetched for all before it is made, and selected without branches.
    #[inline]
    pub(super) fn get_each<const MOST: usize>(
        &self,
        keys: &[CacheKey],
        status: impl Fn(usize) -> Option<u16>,
        verdicts: &mut CachedVerdicts<MOST>,
    ) {
        let mut needs_more = SelectedIndices::<MOST>::default();
        for (n, (key, known)) in keys.iter().zip(&mut verdicts.0).enumerate() {
            *known = self.peek(*key);
            needs_more.push_if(n, known.rules == NEEDS_MORE);
        }
        let mut texts = [Fingerprint::default(); MOST];
        for n in needs_more.iter() {
            texts[n] = self.next_key(verdicts.0[n], keys[n], status(n));
            self.requests.prefetch(texts[n]);
        }
        for n in needs_more.iter() {
            verdicts.0[n] = self.get_by_key(texts[n], keys[n]);
        }
    }

    /// The cached verdict of a request.
    pub(super) fn get(&self, key: CacheKey, status: Option<u16>) -> Option<Verdict> {
        let mut cached = CachedVerdicts::<1>::default();
        self.get_each(&[key], |_| status, &mut cached);
        cached.get(0)
    }

    /// The entry of the request alone.
    #[expect(clippy::inline_always, reason = "in the line loop")]
    #[inline(always)]
    fn peek(&self, key: CacheKey) -> CachedVerdict {
        let class = self.headers.get(key.headers);
        let verdict = self
            .requests
            .get(self.first(key, class.unwrap_or(HeaderClass::EMPTY)));
        verdict.filter(|_| class.is_some()).unwrap_or(UNKNOWN)
    }

    /// The key of the second lookup.
    #[inline]
    fn next_key(
        &self,
        dependencies: CachedVerdict,
        key: CacheKey,
        status: Option<u16>,
    ) -> Fingerprint {
        let class = self.headers.get(key.headers).unwrap_or(HeaderClass::EMPTY);
        self.next(
            self.first(key, class),
            Dependencies(dependencies.path),
            key,
            class,
            status,
        )
    }

    /// The entry of the second lookup.
    fn get_by_key(&self, text: Fingerprint, key: CacheKey) -> CachedVerdict {
        match self.requests.get(text) {
            None => UNKNOWN,
            Some(verdict) if verdict.rules != NEEDS_MORE => verdict,
            Some(_) => {
                let text = self.next(text, Dependencies::HEADERS, key, HeaderClass::EMPTY, None);
                self.requests
                    .get(text)
                    .filter(|verdict| verdict.rules != NEEDS_MORE)
                    .unwrap_or(UNKNOWN)
            }
        }
    }

    /// Copies the entries of a request from the shared cache; the verdict, if it is there.
    pub(super) fn fetch_shared(
        &mut self,
        key: CacheKey,
        status: Option<u16>,
        names: &mut SymbolTables,
    ) -> Option<Verdict> {
        // Workers contend for the reference count, so it is changed only if the cache is used.
        let shared = Arc::clone(
            self.shared
                .as_ref()
                .filter(|_| self.sharing.includes(key.request))?,
        );
        let verdict = self.fetch_from(&shared, key, status, names);
        self.sharing.record(verdict.is_some());
        verdict
    }

    fn fetch_from(
        &mut self,
        shared: &SharedCache,
        key: CacheKey,
        status: Option<u16>,
        names: &mut SymbolTables,
    ) -> Option<Verdict> {
        let class = if let Some(class) = self.headers.get(key.headers) {
            class
        } else {
            let class = shared.class(key.headers)?;
            self.headers.insert(key.headers, class);
            class
        };
        let mut text = self.first(key, class);
        loop {
            match shared.get(text)? {
                CacheEntry::Dependencies(dependencies) => {
                    self.requests.insert(text, needs_more(dependencies));
                    text = self.next(text, dependencies, key, class, status);
                }
                CacheEntry::Rules(entry) => {
                    let (rules, path) = entry
                        .as_deref()
                        .map_or_else(Default::default, |(rules, path)| (&**rules, &**path));
                    let verdict = Verdict {
                        rules: names.rules.intern(rules, Box::from),
                        path: names.paths.intern(path, Box::from),
                    };
                    self.requests.insert(text, verdict);
                    return Some(verdict);
                }
            }
        }
    }

    /// Inserts a verdict and its dependencies.
    pub(super) fn insert(
        &mut self,
        key: CacheKey,
        class: HeaderClass,
        status: Option<u16>,
        used: Dependencies,
        verdict: Verdict,
        names: &SymbolTables,
    ) {
        let mut text = self.first(key, class);
        if class.has_evidence()
            && verdict.rules == SymbolTables::EMPTY_RULES
            && used == Dependencies::default()
        {
            self.store(key, key.request, verdict, names);
        }
        // Dependencies of other verdicts on this request are added: then one more lookup finds any
        // of them.
        let earlier = self
            .requests
            .get(text)
            .filter(|verdict| verdict.rules == NEEDS_MORE)
            .map(|verdict| Dependencies(verdict.path));
        let dependencies = used.without_headers().union(earlier.unwrap_or_default());
        if dependencies != Dependencies::default() {
            self.store(key, text, needs_more(dependencies), names);
            text = self.next(text, dependencies, key, class, status);
        }
        if used.has(Dependencies::HEADERS) {
            self.store(key, text, needs_more(Dependencies::HEADERS), names);
            text = self.next(text, Dependencies::HEADERS, key, class, status);
        }
        self.store(key, text, verdict, names);
    }

    /// Inserts an entry of a request.
    fn store(
        &mut self,
        key: CacheKey,
        text: Fingerprint,
        verdict: CachedVerdict,
        names: &SymbolTables,
    ) {
        self.requests.insert(text, verdict);
        if let Some(shared) = self
            .shared
            .as_ref()
            .filter(|_| self.sharing.includes(key.request))
        {
            let entry = if verdict.rules == NEEDS_MORE {
                CacheEntry::Dependencies(Dependencies(verdict.path))
            } else {
                let path = names.paths.resolve(verdict.path);
                if path.len() > MAX_SHARED_PATH {
                    return;
                }
                let rules = names.rules.resolve(verdict.rules);
                let is_nothing = rules.is_empty() && path.is_empty();
                CacheEntry::Rules((!is_nothing).then(|| Arc::new((rules.clone(), path.clone()))))
            };
            shared.insert(text, entry);
        }
    }

    /// The cached class of headers.
    pub(super) fn class(&self, key: CacheKey) -> Option<HeaderClass> {
        self.headers.get(key.headers)
    }

    /// The class of headers with these literal hits, and with these rules found in their
    /// alternative decodings.
    pub(super) fn classify(
        &self,
        has_referer: bool,
        literal_hits: &LiteralHits,
        redecoded: &[RuleId],
    ) -> HeaderClass {
        let found = literal_hits
            .touched()
            .iter()
            .map(|&rule| (rule, literal_hits.of(rule)));
        let redecoded = redecoded.iter().map(|rule| (rule.0, 0));
        let (mut sum, mut bits) = (0_u64, if has_referer { HeaderClass::REFERER } else { 0 });
        for (rule, literals) in found.chain(redecoded) {
            // A sum, as the order of hits does not matter.
            sum = sum.wrapping_add(
                self.fingerprinter
                    .of_pair(
                        Fingerprint::default(),
                        u64::from(rule) << 16 | u64::from(literals),
                    )
                    .word(),
            );
            bits |= HeaderClass::HAS_LITERAL
                | if bit::only_exception(literals) {
                    0
                } else {
                    HeaderClass::EVIDENCE
                };
        }
        HeaderClass(
            sum & !(HeaderClass::EVIDENCE | HeaderClass::HAS_LITERAL | HeaderClass::REFERER) | bits,
        )
    }

    /// Whether a referer or user agent is known to have no literal hit.
    pub(super) fn is_empty_header(&self, header: &[u8]) -> bool {
        self.empty_headers
            .get(self.fingerprinter.fingerprint(header))
            .is_some()
    }

    /// Records that a referer or user agent has no literal hit.
    pub(super) fn insert_empty_header(&mut self, header: &[u8]) {
        self.empty_headers
            .insert(self.fingerprinter.fingerprint(header), ());
    }

    /// Inserts the class of headers as logged.
    pub(super) fn insert_headers(&mut self, key: CacheKey, class: HeaderClass) {
        self.headers.insert(key.headers, class);
        if let Some(shared) = &self.shared {
            shared.insert_class(key.headers, class);
        }
    }
}

/// Which verdicts a worker shares. All of them while other workers' verdicts are found, else a
/// sample: if no request comes again, to look up, copy and drop them takes a sixth of the time.
#[derive(Debug, Default)]
struct SharingPolicy {
    lookups: u32,
    found: u32,
    is_sample: bool,
}

impl SharingPolicy {
    /// Lookups after which the policy is decided again.
    const LOOKUPS: u32 = 1024;

    /// Sharing pays if at least one of this many lookups finds a verdict: to match a request takes
    /// as long as that many lookups and insertions.
    const LOOKUPS_PER_MATCH: u32 = 16;

    /// One of this many requests is in the sample, which shows whether requests come again.
    const SAMPLE: u64 = 16;

    /// Whether a request is shared. The bits are neither those of a shard nor those of a slot.
    fn includes(&self, request: Fingerprint) -> bool {
        !self.is_sample || (request.word() >> u32::BITS).is_multiple_of(Self::SAMPLE)
    }

    /// Records a lookup.
    fn record(&mut self, is_found: bool) {
        self.lookups += 1;
        self.found += u32::from(is_found);
        if self.lookups == Self::LOOKUPS {
            *self = Self {
                is_sample: self.found * Self::LOOKUPS_PER_MATCH < self.lookups,
                ..Self::default()
            };
        }
    }
}

/// The results of a batch of lookups.
#[derive(Debug, Clone, Copy)]
pub(super) struct CachedVerdicts<const MOST: usize>([CachedVerdict; MOST]);

impl<const MOST: usize> Default for CachedVerdicts<MOST> {
    fn default() -> Self {
        Self([UNKNOWN; MOST])
    }
}

impl<const MOST: usize> CachedVerdicts<MOST> {
    /// The verdict of a request, if it was cached.
    pub(super) fn get(&self, n: usize) -> Option<Verdict> {
        Some(self.0[n]).filter(|known| *known != UNKNOWN)
    }

    /// Whether a request is known to match no rule.
    #[inline]
    pub(super) fn is_known_to_match_nothing(&self, n: usize) -> bool {
        self.0[n].rules == SymbolTables::EMPTY_RULES
    }
}

/// What a verdict depends on besides the request and its literal hits. An empty verdict without
/// dependencies is valid for any status and headers: fewer hits only make rules fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Dependencies(u32);

impl Dependencies {
    /// On the status.
    pub(super) const STATUS: Self = Self(1);

    /// On the class of the headers: whether the user agent is an exception, whether there is a
    /// referer.
    pub(super) const CLASS: Self = Self(2);

    /// On the headers. In a cache, other dependencies are known by then.
    pub(super) const HEADERS: Self = Self(4);

    /// This dependency if it is used, else none.
    pub(super) fn if_used(self, is_used: bool) -> Self {
        if is_used { self } else { Self::default() }
    }

    /// The dependencies of two verdicts, or of two decodings of one request.
    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has(self, dependency: Self) -> bool {
        self.0 & dependency.0 != 0
    }

    fn without_headers(self) -> Self {
        Self(self.0 & !Self::HEADERS.0)
    }
}

/// Indices of selected members of a batch, at most `MOST`. Selected without branches, as the
/// outcome is unpredictable: a wrong prediction costs as much as twenty instructions.
#[derive(Debug, Clone, Copy)]
pub(super) struct SelectedIndices<const MOST: usize> {
    numbers: [u8; MOST],
    count: usize,
}

impl<const MOST: usize> Default for SelectedIndices<MOST> {
    fn default() -> Self {
        const { assert!(MOST <= 1 << u8::BITS) };
        Self {
            numbers: [0; MOST],
            count: 0,
        }
    }
}

impl<const MOST: usize> SelectedIndices<MOST> {
    /// Appends an index if it is selected. Call it once for each member.
    #[inline]
    pub(super) fn push_if(&mut self, member: usize, is_selected: bool) {
        // Always written; the next call overwrites an index that is not selected.
        self.numbers[self.count] = member as u8;
        self.count += usize::from(is_selected);
    }

    /// The selected indices, in order.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.numbers[..self.count]
            .iter()
            .map(|member| usize::from(*member))
    }
}

/// Shards, each with its own lock.
const SHARDS: usize = 16;
/// Most requests, and most headers, of a shard.
const MAX_SHARD_ENTRIES: usize = 1 << 11;
/// The longest path of a shared verdict. A client chooses its length, and this bounds the paths of
/// all shards to 8 MB. Requests for longer ones are rarely repeated.
const MAX_SHARED_PATH: usize = 256;

/// The cache that workers share; their keys have the same seed.
#[derive(Debug, Default)]
pub struct SharedCache {
    fingerprinter: Fingerprinter,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    headers: HashMap<u64, HeaderClass>,
    requests: HashMap<u64, CacheEntry>,
}

/// The rules and the path of a verdict, without the ids of a worker.
type RulesAndPath = (Box<[RuleId]>, Box<[u8]>);

/// An entry for a request.
#[derive(Debug, Clone)]
pub(super) enum CacheEntry {
    /// The verdict has dependencies.
    Dependencies(Dependencies),
    /// `None` if no rule matches, the most common case.
    Rules(Option<Arc<RulesAndPath>>),
}

impl SharedCache {
    /// The entry of a request.
    pub(super) fn get(&self, text: Fingerprint) -> Option<CacheEntry> {
        self.shard(text).requests.get(&text.word()).cloned()
    }

    pub(super) fn insert(&self, text: Fingerprint, entry: CacheEntry) {
        insert_or_clear(&mut self.shard(text).requests, text, entry);
    }

    /// The class of headers.
    pub(super) fn class(&self, headers: Fingerprint) -> Option<HeaderClass> {
        self.shard(headers).headers.get(&headers.word()).copied()
    }

    fn insert_class(&self, headers: Fingerprint, class: HeaderClass) {
        insert_or_clear(&mut self.shard(headers).headers, headers, class);
    }

    fn shard(&self, text: Fingerprint) -> MutexGuard<'_, Shard> {
        // The lower bits select a slot of the tables.
        lock(&self.shards[(text.word() >> 60) as usize])
    }
}

/// Inserts an entry; a full table is cleared first.
fn insert_or_clear<V>(entries: &mut HashMap<u64, V>, text: Fingerprint, value: V) {
    if entries.len() == MAX_SHARD_ENTRIES {
        entries.clear();
    }
    entries.insert(text.word(), value);
}

/// A request and its headers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CacheKey {
    pub(super) request: Fingerprint,
    /// The text between the size and the end of the line.
    pub(super) headers: Fingerprint,
}

/// What rules see in headers: the literal hits. Nearly all headers have none, and many others have
/// the same. So a request is matched once for each class of headers, not for each header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct HeaderClass(u64);

impl HeaderClass {
    /// No literal hit and no referer.
    const EMPTY: Self = Self(0);
    /// The bit of a class with a hit for some rule. Other classes hold at most exceptions, which
    /// only rules with a check for them need.
    const EVIDENCE: u64 = 1;
    /// The bit of every class with literal hits.
    const HAS_LITERAL: u64 = 2;
    /// The bit of a class with a referer. It is an exception of many rules if nothing was answered,
    /// and most attacks have none.
    const REFERER: u64 = 4;

    /// Whether the headers have a literal hit.
    pub(super) fn is_marked(self) -> bool {
        self.0 & Self::HAS_LITERAL != 0
    }

    /// Whether the headers have a literal hit that is no exception.
    #[inline]
    fn has_evidence(self) -> bool {
        self.0 & Self::EVIDENCE != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_found_only_by_all_its_dependencies() {
        let cache = VerdictCache::default();
        let key = cache.key(b"GET /index.php HTTP/1.1", Headers::default(), false);
        let (of_status, of_class) = (Dependencies::STATUS, Dependencies::CLASS);
        let all = [of_status, of_class, of_status.union(of_class)];
        for (status, class) in [
            (Some(404), HeaderClass::EMPTY),
            (None, HeaderClass::EMPTY),
            (Some(0), HeaderClass(HeaderClass::REFERER)),
        ] {
            let mut found = all.map(|dependencies| {
                cache
                    .next(key.request, dependencies, key, class, status)
                    .word()
            });
            found.sort_unstable();
            assert!(
                found.windows(2).all(|two| two[0] != two[1]),
                "{status:?} {class:?}"
            );
        }
    }

    #[test]
    fn verdicts_that_are_not_found_are_shared_in_a_sample() {
        let fingerprinter = Fingerprinter::default();
        let requests: Vec<_> = (0..10_000)
            .map(|n| fingerprinter.fingerprint(format!("GET /{n} HTTP/1.1").as_bytes()))
            .collect();
        let mut sharing = SharingPolicy::default();
        let shared = |sharing: &SharingPolicy| {
            requests
                .iter()
                .filter(|request| sharing.includes(**request))
                .count()
        };
        let mut record = |is_found: &dyn Fn(u32) -> bool| {
            (0..SharingPolicy::LOOKUPS).for_each(|lookup| sharing.record(is_found(lookup)));
            shared(&sharing)
        };
        assert_eq!(record(&|lookup| lookup.is_multiple_of(16)), requests.len());
        let sample = record(&|lookup| lookup.is_multiple_of(17));
        assert!(
            (400..900).contains(&sample),
            "{sample} of {}",
            requests.len()
        );
        assert_eq!(record(&|_| true), requests.len(), "requests come again");
    }

    #[test]
    fn selects_the_wanted_indices() {
        for wanted in 0..1_u32 << 6 {
            let is_selected = |n: &usize| wanted >> n & 1 == 1;
            let mut picked = SelectedIndices::<6>::default();
            (0..6).for_each(|n| picked.push_if(n, is_selected(&n)));
            assert_eq!(
                picked.iter().collect::<Vec<_>>(),
                (0..6).filter(is_selected).collect::<Vec<_>>()
            );
        }
    }
}
