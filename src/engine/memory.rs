//! What a worker remembers of the requests it has judged, and by what: by the request alone where nothing else was asked
//! for, else with the status, else with the headers as well.
//!
//! It may be asked about any text, but told only of a copy: the bytes of a map may change while they are read. What is
//! found in such a run of lines is thrown away, but what is remembered outlives it, and must be true of the text it is
//! remembered by.

use super::scratch::Verdict;
use crate::finding::RuleId;
use crate::fingerprint::{Fingerprint, Fingerprinter, Memo};
use crate::names::Names;
use crate::rules::{Marks, bit};

/// What was judged before.
#[derive(Debug)]
pub(super) struct Memory {
    take: Fingerprinter,
    /// Referers and agents in which no literal stands.
    silent: Memo<(), 8>,
    /// What headers say, as they stand in the line.
    headers: Memo<Class, 4>,
    requests: Memo<Known, 4>,
}

/// What headers say to the rules: the marks that their literals leave. Nearly all headers leave none, and of the others
/// many leave the same: a request needs judging once for each class of headers, not for each header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Class(u64);

impl Class {
    /// No literal stands in them, and there is no referer.
    const SILENT: Self = Self(0);
    /// The bit of a class that speaks for some rule. Others at most excuse, and only a rule that asks needs to know.
    const SPEAKS: u64 = 1;
    /// The bit of every class with marks.
    const MARKED: u64 = 2;
    /// The bit of a class with a referer. Many rules are excused by one, and most attacks come without.
    const REFERER: u64 = 4;

    /// Whether a literal stands in the headers.
    pub(super) fn is_marked(self) -> bool {
        self.0 & Self::MARKED != 0
    }

    fn speaks(self) -> bool {
        self.0 & Self::SPEAKS != 0
    }
}

/// What is known of a request: a verdict, or by what it is remembered.
type Known = Verdict;

/// The verdict is remembered by the headers as well.
const ASKS_HEADERS: Known = Verdict { rules: u32::MAX, path: 0 };
/// The verdict is remembered by the status as well.
const ASKS_STATUS: Known = Verdict { rules: u32::MAX, path: 1 };
/// The verdict is remembered by the class of the headers as well.
const ASKS_CLASS: Known = Verdict { rules: u32::MAX, path: 2 };

/// What rules asked for besides the request and the marks that literals left. A verdict of no rules that asked for
/// nothing holds whatever the status and the headers are: fewer marks only make rules fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Asked {
    pub(super) status: bool,
    /// What the class of the headers tells: whether the user agent excuses the request, whether there is a referer.
    pub(super) class: bool,
    /// The headers.
    pub(super) headers: bool,
}

/// By what a request may be remembered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Key {
    request: Fingerprint,
    headers: Fingerprint,
}

impl Default for Memory {
    fn default() -> Self {
        let take = Fingerprinter::default();
        let (silent, mut headers) = (Memo::new(1 << 11), Memo::new(1 << 13));
        headers.put(take.of(b""), Class::SILENT);
        Self { take, silent, headers, requests: Memo::new(1 << 14) }
    }
}

impl Memory {
    /// By what a request may be remembered; has what is known of it brought near.
    #[inline]
    pub(super) fn key(&self, request: &[u8], headers: &[u8]) -> Key {
        let key = Key { request: self.take.of(request), headers: self.take.of(headers) };
        self.headers.fetch(key.headers);
        self.requests.fetch(key.request);
        key
    }

    /// The verdict on a request, where it is known.
    #[inline]
    pub(super) fn recall(&self, key: Key, status: Option<u16>) -> Option<Verdict> {
        let class = self.headers.get(key.headers)?;
        let text = if class.speaks() { self.take.of_pair(key.request, class.0) } else { key.request };
        let known = self.requests.get(text)?;
        if known.rules == ASKS_STATUS.rules { self.recall_asked(known, text, key, class, status) } else { Some(known) }
    }

    /// The verdict on a request that is not known by itself.
    fn recall_asked(&self, mut known: Known, mut text: Fingerprint, key: Key, class: Class, status: Option<u16>) -> Option<Verdict> {
        if known == ASKS_STATUS {
            text = self.with_status(text, status);
            known = self.requests.get(text)?;
        }
        if known == ASKS_CLASS {
            text = self.with_class(text, class);
            known = self.requests.get(text)?;
        }
        if known == ASKS_HEADERS { self.requests.get(self.with_headers(text, key)) } else { Some(known) }
    }

    /// Remembers a verdict, and what was asked for to find it.
    pub(super) fn remember(&mut self, key: Key, class: Class, status: Option<u16>, asked: Asked, verdict: Verdict) {
        let mut text = key.request;
        if class.speaks() {
            if verdict.rules == Names::NO_RULES && asked == Asked::default() {
                self.requests.put(text, verdict);
            }
            text = self.take.of_pair(text, class.0);
        }
        // The status first: whether anything else is asked for depends on it more often than not.
        if asked.status {
            self.requests.put(text, ASKS_STATUS);
            text = self.with_status(text, status);
        }
        if asked.class {
            self.requests.put(text, ASKS_CLASS);
            text = self.with_class(text, class);
        }
        if asked.headers {
            self.requests.put(text, ASKS_HEADERS);
            text = self.with_headers(text, key);
        }
        self.requests.put(text, verdict);
    }

    /// The class of headers that were seen before.
    pub(super) fn class(&self, key: Key) -> Option<Class> {
        self.headers.get(key.headers)
    }

    /// The class of headers that left these marks, and in which these rules were found when they were read again.
    pub(super) fn classify(&self, has_referer: bool, marks: &Marks, found: &[RuleId]) -> Class {
        let marked = marks.touched().iter().map(|&rule| (rule, marks.of(rule)));
        let found = found.iter().map(|rule| (rule.0, 0));
        let (mut sum, mut bits) = (0_u64, if has_referer { Class::REFERER } else { 0 });
        for (rule, marks) in marked.chain(found) {
            // A sum, as the order in which they were seen says nothing.
            sum = sum.wrapping_add(self.take.of_pair(Fingerprint::default(), u64::from(rule) << 16 | u64::from(marks)).word());
            bits |= Class::MARKED | if bit::only_excuse(marks) { 0 } else { Class::SPEAKS };
        }
        Class(sum & !(Class::SPEAKS | Class::MARKED | Class::REFERER) | bits)
    }

    /// Whether no literal stands in a referer or in an agent, as far as is known.
    pub(super) fn knows_silent(&self, header: &[u8]) -> bool {
        self.silent.get(self.take.of(header)).is_some()
    }

    /// Remembers that no literal stands in a referer or in an agent.
    pub(super) fn remember_silent(&mut self, header: &[u8]) {
        self.silent.put(self.take.of(header), ());
    }

    /// Remembers what headers say, as they stand in the line.
    pub(super) fn remember_headers(&mut self, headers: &[u8], class: Class) {
        self.headers.put(self.take.of(headers), class);
    }

    fn with_status(&self, text: Fingerprint, status: Option<u16>) -> Fingerprint {
        self.take.of_pair(text, status.unwrap_or(0).into())
    }

    fn with_class(&self, text: Fingerprint, class: Class) -> Fingerprint {
        self.take.of_pair(text, class.0)
    }

    fn with_headers(&self, text: Fingerprint, key: Key) -> Fingerprint {
        self.take.of_pair(text, key.headers.word())
    }
}
