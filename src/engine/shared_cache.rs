//! The verdicts of all workers of a run, so that each request is matched once.
//!
//! Used only when a worker's own cache misses; a lookup costs a hundredth of matching. A full shard is cleared. The cache never
//! changes a verdict.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;

use super::cache_key::{CacheDependencies, CacheKeys, HeaderClass};
use crate::finding::RuleId;
use crate::fingerprint::Fingerprint;

/// Shards, each with its own lock.
const PARTS: usize = 16;
/// Most requests, and most headers, of a shard.
const MOST: usize = 1 << 11;

/// The cache that workers share; their keys have the same seed.
#[derive(Debug, Default)]
pub struct SharedCache {
    keys: CacheKeys,
    parts: [Mutex<Shard>; PARTS],
}

#[derive(Debug, Default)]
struct Shard {
    headers: HashMap<u64, HeaderClass>,
    requests: HashMap<u64, CacheEntry>,
}

/// An entry for a request.
#[derive(Debug, Clone)]
pub(super) enum CacheEntry {
    /// The verdict has dependencies.
    Dependencies(CacheDependencies),
    /// The verdict; `None` if no rule matches, the most common case.
    Rules(Option<Arc<CachedRules>>),
}

/// A verdict by value, without the ids of a worker.
#[derive(Debug)]
pub(super) struct CachedRules {
    rules: Box<[RuleId]>,
    path: Box<[u8]>,
}

impl CachedRules {
    pub(super) fn parts(&self) -> (&[RuleId], &[u8]) {
        (&self.rules, &self.path)
    }
}

impl CacheEntry {
    pub(super) fn rules(rules: &[RuleId], path: &[u8]) -> Self {
        let is_nothing = rules.is_empty() && path.is_empty();
        Self::Rules((!is_nothing).then(|| Arc::new(CachedRules { rules: rules.into(), path: path.into() })))
    }
}

impl SharedCache {
    pub(super) fn keys(&self) -> &CacheKeys {
        &self.keys
    }

    /// The entry of a request.
    pub(super) fn get(&self, text: Fingerprint) -> Option<CacheEntry> {
        self.part(text).requests.get(&text.word()).cloned()
    }

    pub(super) fn insert(&self, text: Fingerprint, entry: CacheEntry) {
        put(&mut self.part(text).requests, text, entry);
    }

    /// The class of headers.
    pub(super) fn class(&self, headers: Fingerprint) -> Option<HeaderClass> {
        self.part(headers).headers.get(&headers.word()).copied()
    }

    pub(super) fn insert_class(&self, headers: Fingerprint, class: HeaderClass) {
        put(&mut self.part(headers).headers, headers, class);
    }

    fn part(&self, text: Fingerprint) -> MutexGuard<'_, Shard> {
        // The lower bits select a slot of the tables.
        self.parts[(text.word() >> 60) as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Inserts an entry; a full table is cleared first.
fn put<V>(known: &mut HashMap<u64, V>, text: Fingerprint, value: V) {
    if known.len() == MOST {
        known.clear();
    }
    known.insert(text.word(), value);
}
