//! What a worker remembers of the requests it has judged, and by what: by the request alone where nothing else was asked
//! for, else with the status, else with the headers as well.
//!
//! It may be asked about any text, but told only of a copy: the bytes of a map may change while they are read. What is
//! found in such a run of lines is thrown away, but what is remembered outlives it, and must be true of the text it is
//! remembered by.

use super::memo::{Fingerprint, Fingerprinter, Memo};
use super::scratch::Verdict;
use crate::names::Names;

/// What was judged before.
#[derive(Debug)]
pub(super) struct Memory {
    take: Fingerprinter,
    /// Referers and agents in which no literal stands, each alone and as they stand in the line.
    clean_headers: Memo<(), 8>,
    requests: Memo<Known, 4>,
}

/// What is known of a request: a verdict, or by what it is remembered.
type Known = Verdict;

/// The verdict is remembered by the status and the headers as well.
const ASKS_HEADERS: Known = Verdict { rules: u32::MAX, path: 0 };
/// The verdict is remembered by the status as well.
const ASKS_STATUS: Known = Verdict { rules: u32::MAX, path: 1 };

/// What rules asked for besides the request and the marks that literals left. A verdict of no rules that asked for
/// nothing holds whatever the status and the headers are: fewer marks only make rules fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Asked {
    pub(super) headers: bool,
    pub(super) status: bool,
}

/// By what a request may be remembered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Key {
    request: Fingerprint,
    headers: Fingerprint,
}

impl Default for Memory {
    fn default() -> Self {
        let mut memory = Self { take: Fingerprinter::default(), clean_headers: Memo::new(1 << 12), requests: Memo::new(1 << 14) };
        memory.remember_clean(b"");
        memory
    }
}

impl Memory {
    /// By what a request may be remembered.
    #[inline]
    pub(super) fn key(&self, request: &[u8], headers: &[u8]) -> Key {
        Key { request: self.take.of(request), headers: self.take.of(headers) }
    }

    /// The verdict on a request, where it is known.
    #[inline]
    pub(super) fn recall(&self, key: Key, status: Option<u16>) -> Option<Verdict> {
        if !self.is_clean(key.headers) {
            return self.requests.get(self.whole(key, status));
        }
        let mut known = self.requests.get(key.request)?;
        if known == ASKS_STATUS {
            known = self.requests.get(self.with_status(key.request, status))?;
        }
        if known == ASKS_HEADERS {
            known = self.requests.get(self.whole(key, status))?;
        }
        Some(known)
    }

    /// Remembers a verdict, and what was asked for to find it.
    pub(super) fn remember(&mut self, key: Key, status: Option<u16>, asked: Asked, verdict: Verdict) {
        if !self.is_clean(key.headers) {
            if verdict.rules == Names::NO_RULES && asked == Asked::default() {
                self.requests.put(key.request, verdict);
            }
            self.requests.put(self.whole(key, status), verdict);
            return;
        }
        // The status first: whether the headers are asked for depends on it more often than not.
        let mut text = key.request;
        if asked.status {
            self.requests.put(text, ASKS_STATUS);
            text = self.with_status(text, status);
        }
        if asked.headers {
            self.requests.put(text, ASKS_HEADERS);
            text = self.whole(key, status);
        }
        self.requests.put(text, verdict);
    }

    /// Whether no literal stands in a header, as far as is known.
    pub(super) fn knows_clean(&self, header: &[u8]) -> bool {
        self.is_clean(self.take.of(header))
    }

    /// Remembers that no literal stands in a header.
    pub(super) fn remember_clean(&mut self, header: &[u8]) {
        self.clean_headers.put(self.take.of(header), ());
    }

    #[inline]
    fn is_clean(&self, headers: Fingerprint) -> bool {
        self.clean_headers.get(headers).is_some()
    }

    fn whole(&self, key: Key, status: Option<u16>) -> Fingerprint {
        self.with_status(self.take.of_pair(key.request, key.headers.word()), status)
    }

    fn with_status(&self, text: Fingerprint, status: Option<u16>) -> Fingerprint {
        self.take.of_pair(text, status.unwrap_or(0).into())
    }
}
