//! Cache keys of verdicts: the request alone if the verdict depends on nothing else, else the request with the status, with the
//! class of its headers, or with the headers themselves.
//!
//! It stores nothing.

use crate::finding::RuleId;
use crate::fingerprint::{Fingerprint, Fingerprinter};
use crate::rules::{LiteralHits, bit};

/// A request and its headers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CacheKey {
    pub(super) request: Fingerprint,
    /// The text between the size and the end of the line.
    pub(super) headers: Fingerprint,
}

/// What rules see in headers: the literal hits. Nearly all headers have none, and many others have the same. So a request is
/// matched once for each class of headers, not for each header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct HeaderClass(u64);

impl HeaderClass {
    /// No literal hit and no referer.
    pub(super) const EMPTY: Self = Self(0);
    /// The bit of a class with a hit for some rule. Other classes hold at most exceptions, which only rules with a check for them
    /// need.
    const EVIDENCE: u64 = 1;
    /// The bit of every class with literal hits.
    const MARKED: u64 = 2;
    /// The bit of a class with a referer. It is an exception of many rules if nothing was answered, and most attacks have none.
    const REFERER: u64 = 4;

    /// Whether the headers have a literal hit.
    pub(super) fn is_marked(self) -> bool {
        self.0 & Self::MARKED != 0
    }

    /// Whether the headers have a literal hit that is no exception.
    #[inline]
    pub(super) fn has_evidence(self) -> bool {
        self.0 & Self::EVIDENCE != 0
    }
}

/// What a verdict depends on besides the request and its literal hits. An empty verdict without dependencies is valid for any
/// status and headers: fewer hits only make rules fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CacheDependencies(u32);

impl CacheDependencies {
    /// On the status.
    const STATUS: u32 = 1;
    /// On the class of the headers: whether the user agent is an exception, whether there is a referer.
    const CLASS: u32 = 2;
    /// On the headers. Other dependencies are known by then.
    pub(super) const HEADERS: Self = Self(4);

    /// On the status, on the header class, on both or on none.
    pub(super) fn new(status: bool, class: bool) -> Self {
        Self(if status { Self::STATUS } else { 0 } | if class { Self::CLASS } else { 0 })
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// As a number.
    pub(super) fn word(self) -> u32 {
        self.0
    }

    #[inline]
    pub(super) fn from_word(word: u32) -> Self {
        Self(word)
    }
}

/// Makes keys, and fingerprints of requests together with their dependencies.
#[derive(Debug, Clone, Default)]
pub(super) struct CacheKeys(Fingerprinter);

impl CacheKeys {
    pub(super) fn key(&self, request: &[u8], headers: &[u8]) -> CacheKey {
        CacheKey { request: self.of(request), headers: self.of(headers) }
    }

    #[inline]
    pub(super) fn of(&self, text: &[u8]) -> Fingerprint {
        self.0.of(text)
    }

    #[inline]
    pub(super) fn of_each<'t>(&self, texts: impl Iterator<Item = &'t [u8]>, fingerprints: &mut [Fingerprint]) {
        self.0.of_each(texts, fingerprints);
    }

    /// The fingerprint of the first lookup.
    #[inline]
    pub(super) fn first(&self, key: CacheKey, class: HeaderClass) -> Fingerprint {
        if class.has_evidence() { self.0.of_pair(key.request, class.0) } else { key.request }
    }

    /// The fingerprint of the next lookup, if the entry of `text` has these dependencies.
    #[inline]
    pub(super) fn next(
        &self,
        text: Fingerprint,
        dependencies: CacheDependencies,
        key: CacheKey,
        class: HeaderClass,
        status: Option<u16>,
    ) -> Fingerprint {
        let given = |what: u32, word: u64| if dependencies.0 & what != 0 { word } else { 0 };
        if dependencies == CacheDependencies::HEADERS {
            return self.0.of_pair(text, key.headers.word());
        }
        let text = self.0.of_pair(text, given(CacheDependencies::STATUS, 1 + u64::from(status.unwrap_or(0))));
        self.0.of_pair(text, given(CacheDependencies::CLASS, class.0))
    }

    /// The class of headers with these literal hits, and with these rules found in their alternative decodings.
    pub(super) fn class(&self, has_referer: bool, marks: &LiteralHits, found: &[RuleId]) -> HeaderClass {
        let marked = marks.touched().iter().map(|&rule| (rule, marks.of(rule)));
        let found = found.iter().map(|rule| (rule.0, 0));
        let (mut sum, mut bits) = (0_u64, if has_referer { HeaderClass::REFERER } else { 0 });
        for (rule, marks) in marked.chain(found) {
            // A sum, as the order of hits does not matter.
            sum = sum.wrapping_add(self.0.of_pair(Fingerprint::default(), u64::from(rule) << 16 | u64::from(marks)).word());
            bits |= HeaderClass::MARKED | if bit::only_exception(marks) { 0 } else { HeaderClass::EVIDENCE };
        }
        HeaderClass(sum & !(HeaderClass::EVIDENCE | HeaderClass::MARKED | HeaderClass::REFERER) | bits)
    }
}
