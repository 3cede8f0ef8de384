//! By what a request is remembered: by itself where nothing else was asked for, else with the status, with what the headers
//! say, or with the headers themselves.
//!
//! It remembers nothing.

use crate::finding::RuleId;
use crate::fingerprint::{Fingerprint, Fingerprinter};
use crate::rules::{Marks, bit};

/// A request and its headers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Key {
    pub(super) request: Fingerprint,
    /// What stands between the size and the end of the line.
    pub(super) headers: Fingerprint,
}

/// What headers say to the rules: the marks that their literals leave. Nearly all headers leave none, and of the others
/// many leave the same: a request needs judging once for each class of headers, not for each header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Class(u64);

impl Class {
    /// No literal stands in them, and there is no referer.
    pub(super) const SILENT: Self = Self(0);
    /// The bit of a class that speaks for some rule. Others at most excuse, and only a rule that asks needs to know.
    const SPEAKS: u64 = 1;
    /// The bit of every class with marks.
    const MARKED: u64 = 2;
    /// The bit of a class with a referer. Many rules are excused by one where nothing was answered, and most attacks come without.
    const REFERER: u64 = 4;

    /// Whether a literal stands in the headers.
    pub(super) fn is_marked(self) -> bool {
        self.0 & Self::MARKED != 0
    }

    /// Whether one stands there that is no excuse.
    #[inline]
    pub(super) fn speaks(self) -> bool {
        self.0 & Self::SPEAKS != 0
    }
}

/// What rules asked for besides the request and the marks that literals left. A verdict of no rules that asked for
/// nothing holds whatever the status and the headers are: fewer marks only make rules fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Asks(u32);

impl Asks {
    /// For the status.
    const STATUS: u32 = 1;
    /// For what the class of the headers tells: whether the user agent excuses the request, whether there is a referer.
    const CLASS: u32 = 2;
    /// For the headers. What else was asked for is known by then.
    pub(super) const HEADERS: Self = Self(4);

    /// For these two things, or for nothing.
    pub(super) fn of(status: bool, class: bool) -> Self {
        Self(if status { Self::STATUS } else { 0 } | if class { Self::CLASS } else { 0 })
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn is_nothing(self) -> bool {
        self.0 == 0
    }

    /// As a number, and back.
    pub(super) fn word(self) -> u32 {
        self.0
    }

    #[inline]
    pub(super) fn of_word(word: u32) -> Self {
        Self(word)
    }
}

/// Makes keys, and the fingerprints of requests along with what was asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys(Fingerprinter);

impl Keys {
    pub(super) fn key(&self, request: &[u8], headers: &[u8]) -> Key {
        Key { request: self.of(request), headers: self.of(headers) }
    }

    #[inline]
    pub(super) fn of(&self, text: &[u8]) -> Fingerprint {
        self.0.of(text)
    }

    #[inline]
    pub(super) fn of_each<'t>(&self, texts: impl Iterator<Item = &'t [u8]>, fingerprints: &mut [Fingerprint]) {
        self.0.of_each(texts, fingerprints);
    }

    /// What is looked for first.
    #[inline]
    pub(super) fn first(&self, key: Key, class: Class) -> Fingerprint {
        if class.speaks() { self.0.of_pair(key.request, class.0) } else { key.request }
    }

    /// What is looked for next, where `text` says that this was asked for.
    #[inline]
    pub(super) fn next(&self, text: Fingerprint, asks: Asks, key: Key, class: Class, status: Option<u16>) -> Fingerprint {
        let given = |what: u32, word: u64| if asks.0 & what != 0 { word } else { 0 };
        if asks == Asks::HEADERS {
            return self.0.of_pair(text, key.headers.word());
        }
        let text = self.0.of_pair(text, given(Asks::STATUS, 1 + u64::from(status.unwrap_or(0))));
        self.0.of_pair(text, given(Asks::CLASS, class.0))
    }

    /// The class of headers that left these marks, and in which these rules were found when they were read again.
    pub(super) fn class(&self, has_referer: bool, marks: &Marks, found: &[RuleId]) -> Class {
        let marked = marks.touched().iter().map(|&rule| (rule, marks.of(rule)));
        let found = found.iter().map(|rule| (rule.0, 0));
        let (mut sum, mut bits) = (0_u64, if has_referer { Class::REFERER } else { 0 });
        for (rule, marks) in marked.chain(found) {
            // A sum, as the order in which they were seen says nothing.
            sum = sum.wrapping_add(self.0.of_pair(Fingerprint::default(), u64::from(rule) << 16 | u64::from(marks)).word());
            bits |= Class::MARKED | if bit::only_excuse(marks) { 0 } else { Class::SPEAKS };
        }
        Class(sum & !(Class::SPEAKS | Class::MARKED | Class::REFERER) | bits)
    }
}
