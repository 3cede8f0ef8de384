//! What a worker remembers of the requests it has judged, and what it learns from others: a verdict, found by the request
//! alone where nothing else was asked for, and else by that as well.
//!
//! It may be asked about any text, but told only of a copy: the bytes of a map may change while they are read. What is
//! found in such a run of lines is thrown away, but what is remembered outlives it, and must be true of the text it is
//! remembered by.

use std::sync::Arc;

use super::key::{Asks, Class, Key, Keys};
use super::scratch::Verdict;
use super::shared::{Said, Shared};
use crate::finding::RuleId;
use crate::fingerprint::{Fingerprint, Memo};
use crate::names::Names;
use crate::rules::Marks;

/// What was judged before.
#[derive(Debug)]
pub(super) struct Memory {
    keys: Keys,
    /// Referers and agents in which no literal stands.
    silent: Memo<(), 8>,
    /// What headers say, as they stand in the line.
    headers: Memo<Class, 4>,
    requests: Memo<Known, 4>,
    /// What other workers judged.
    shared: Option<Arc<Shared>>,
}

/// What is known of a request: a verdict, or what was asked for. Both take the room of a verdict.
type Known = Verdict;

/// Stands for the rules where something was asked for; what, stands for the path.
const ASKS: u32 = u32::MAX;

fn asking(asks: Asks) -> Known {
    Known { rules: ASKS, path: asks.word() }
}

/// How far a look has come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Look {
    /// The request was not judged.
    #[default]
    Unknown,
    /// It was.
    Known(Verdict),
    /// What is known of it is known by this.
    By(Fingerprint),
}

impl Default for Memory {
    fn default() -> Self {
        Self::sharing(None)
    }
}

impl Memory {
    /// The memory of one who works beside others.
    pub(super) fn sharing(shared: Option<Arc<Shared>>) -> Self {
        let keys = shared.as_ref().map(|shared| shared.keys().clone()).unwrap_or_default();
        let mut headers = Memo::new(1 << 13);
        headers.put(keys.of(b""), Class::SILENT);
        Self { keys, silent: Memo::new(1 << 11), headers, requests: Memo::new(1 << 14), shared }
    }

    /// What others know.
    pub(super) fn shared(&self) -> Option<Arc<Shared>> {
        self.shared.clone()
    }

    /// By what a request may be remembered; has what is known of it brought near.
    #[inline]
    pub(super) fn key(&self, request: &[u8], headers: &[u8]) -> Key {
        let key = self.keys.key(request, headers);
        self.headers.fetch(key.headers);
        self.requests.fetch(key.request);
        key
    }

    /// The first look: nearly all requests are known by themselves. Has what comes next brought near.
    #[expect(clippy::inline_always, reason = "an answer too large for registers, in the line loop")]
    #[inline(always)]
    pub(super) fn look(&self, key: Key, status: Option<u16>) -> Look {
        let Some(class) = self.headers.get(key.headers) else { return Look::Unknown };
        let text = self.keys.first(key, class);
        match self.requests.get(text) {
            None => Look::Unknown,
            Some(known) if known.rules != ASKS => Look::Known(known),
            Some(asks) => {
                let text = self.keys.next(text, Asks::of_word(asks.path), key, class, status);
                self.requests.fetch(text);
                Look::By(text)
            }
        }
    }

    /// The last look.
    #[inline]
    pub(super) fn finish(&self, look: Look, key: Key) -> Option<Verdict> {
        match look {
            Look::Unknown => None,
            Look::Known(verdict) => Some(verdict),
            Look::By(text) => self.finish_by(text, key),
        }
    }

    fn finish_by(&self, text: Fingerprint, key: Key) -> Option<Verdict> {
        let known = self.requests.get(text)?;
        if known.rules != ASKS {
            return Some(known);
        }
        let text = self.keys.next(text, Asks::HEADERS, key, Class::SILENT, None);
        self.requests.get(text).filter(|known| known.rules != ASKS)
    }

    /// The verdict on a request, where it is known.
    pub(super) fn recall(&self, key: Key, status: Option<u16>) -> Option<Verdict> {
        self.finish(self.look(key, status), key)
    }

    /// Learns from others what there is to know of a request; whether it can be [recalled](Self::recall) now.
    pub(super) fn learn(&mut self, key: Key, status: Option<u16>, names: &mut Names) -> Option<Verdict> {
        let shared = self.shared.clone()?;
        let class = shared.class(key.headers)?;
        self.headers.put(key.headers, class);
        let mut text = self.keys.first(key, class);
        loop {
            match shared.said(text)? {
                Said::Asks(asks) => {
                    self.requests.put(text, asking(asks));
                    text = self.keys.next(text, asks, key, class, status);
                }
                Said::Rules(said) => {
                    let verdict =
                        Verdict { rules: names.rules.number(&*said.rules, Box::from), path: names.paths.number(&*said.path, Box::from) };
                    self.requests.put(text, verdict);
                    return Some(verdict);
                }
            }
        }
    }

    /// Remembers a verdict, and what was asked for to find it.
    pub(super) fn remember(&mut self, key: Key, class: Class, status: Option<u16>, asked: Asked, verdict: Verdict, names: &Names) {
        let mut text = self.keys.first(key, class);
        if class.speaks() && verdict.rules == Names::NO_RULES && asked == Asked::default() {
            self.put(key.request, verdict, names);
        }
        // What was asked for in other cases is asked for in all: one more look tells all of it.
        let others = self.requests.get(text).filter(|known| known.rules == ASKS).map(|known| Asks::of_word(known.path));
        let asks = Asks::of(asked.status, asked.class).and(others.unwrap_or_default());
        if !asks.is_nothing() {
            self.put(text, asking(asks), names);
            text = self.keys.next(text, asks, key, class, status);
        }
        if asked.headers {
            self.put(text, asking(Asks::HEADERS), names);
            text = self.keys.next(text, Asks::HEADERS, key, class, status);
        }
        self.put(text, verdict, names);
    }

    fn put(&mut self, text: Fingerprint, known: Known, names: &Names) {
        self.requests.put(text, known);
        if let Some(shared) = &self.shared {
            let said = if known.rules == ASKS {
                Said::Asks(Asks::of_word(known.path))
            } else {
                Said::rules(names.rules.key(known.rules), names.paths.key(known.path))
            };
            shared.say(text, said);
        }
    }

    /// The class of headers that were seen before.
    pub(super) fn class(&self, key: Key) -> Option<Class> {
        self.headers.get(key.headers)
    }

    /// The class of headers that left these marks, and in which these rules were found when they were read again.
    pub(super) fn classify(&self, has_referer: bool, marks: &Marks, found: &[RuleId]) -> Class {
        self.keys.class(has_referer, marks, found)
    }

    /// Whether no literal stands in a referer or in an agent, as far as is known.
    pub(super) fn knows_silent(&self, header: &[u8]) -> bool {
        self.silent.get(self.keys.of(header)).is_some()
    }

    /// Remembers that no literal stands in a referer or in an agent.
    pub(super) fn remember_silent(&mut self, header: &[u8]) {
        self.silent.put(self.keys.of(header), ());
    }

    /// Remembers what headers say, as they stand in the line.
    pub(super) fn remember_headers(&mut self, key: Key, class: Class) {
        self.headers.put(key.headers, class);
        if let Some(shared) = &self.shared {
            shared.say_class(key.headers, class);
        }
    }
}

/// What rules asked for to come to a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Asked {
    pub(super) status: bool,
    pub(super) class: bool,
    pub(super) headers: bool,
}
