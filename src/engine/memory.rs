//! What a worker remembers of the requests it has judged, and what it learns from others: a verdict, found by the request
//! alone where nothing else was asked for, and else by that as well.
//!
//! It may be asked about any text, but told only of a copy: the bytes of a map may change while they are read. What is
//! found in such a run of lines is thrown away, but what is remembered outlives it, and must be true of the text it is
//! remembered by.

use std::sync::Arc;

use super::key::{Asks, Class, Key, Keys};
use super::picked::Picked;
use super::scratch::Verdict;
use super::shared::{Rules, Said, Shared};
use crate::finding::RuleId;
use crate::fingerprint::{Fingerprint, SetAssocCache};
use crate::intern::SymbolTables;
use crate::rules::Marks;

/// What was judged before.
#[derive(Debug)]
pub(super) struct Memory {
    keys: Keys,
    /// Referers and agents in which no literal stands.
    silent: SetAssocCache<(), 8>,
    /// What headers say, as they stand in the line.
    headers: SetAssocCache<Class, 4>,
    requests: SetAssocCache<Known, 4>,
    /// What other workers judged.
    shared: Option<Arc<Shared>>,
}

/// What is known of a request: a verdict, or what was asked for. Both take the room of a verdict.
type Known = Verdict;

/// Stands for the rules where something was asked for; what, stands for the path.
const ASKS: u32 = u32::MAX;
/// Stands for the rules where nothing is known.
const UNKNOWN: Known = Known { rules: u32::MAX - 1, path: 0 };

fn asking(asks: Asks) -> Known {
    Known { rules: ASKS, path: asks.word() }
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
        let mut headers = SetAssocCache::new(1 << 13);
        headers.put(keys.of(b""), Class::SILENT);
        Self { keys, silent: SetAssocCache::new(1 << 11), headers, requests: SetAssocCache::new(1 << 14), shared }
    }

    /// What others know.
    pub(super) fn shared(&self) -> Option<Arc<Shared>> {
        self.shared.clone()
    }

    /// By what requests may be remembered, given with their headers, no more than so many; has what is known of them brought near.
    #[inline]
    pub(super) fn keys<'t, const MOST: usize>(&self, texts: impl ExactSizeIterator<Item = (&'t [u8], &'t [u8])> + Clone) -> [Key; MOST] {
        let count = texts.len();
        let (mut requests, mut headers) = ([Fingerprint::default(); MOST], [Fingerprint::default(); MOST]);
        self.keys.of_each(texts.clone().map(|(request, _)| request), &mut requests);
        self.keys.of_each(texts.map(|(_, headers)| headers), &mut headers);
        let mut keys = [Key::default(); MOST];
        for ((key, request), headers) in keys[..count].iter_mut().zip(requests).zip(headers) {
            self.headers.prefetch(headers);
            self.requests.prefetch(request);
            *key = Key { request, headers };
        }
        keys
    }

    /// By what a request may be remembered.
    pub(super) fn key(&self, request: &[u8], headers: &[u8]) -> Key {
        self.keys.key(request, headers)
    }

    /// The verdicts on requests, where they are known. Nearly all are known by themselves; for the others the next look is
    /// prepared for all before it is made, and nothing branches on which they are.
    #[inline]
    pub(super) fn recall_each<const MOST: usize>(
        &self,
        keys: &[Key],
        status: impl Fn(usize) -> Option<u16>,
        verdicts: &mut Recalled<MOST>,
    ) {
        let mut asking = Picked::<MOST>::default();
        for (n, (key, known)) in keys.iter().zip(&mut verdicts.0).enumerate() {
            *known = self.glance(*key);
            asking.pick_if(n, known.rules == ASKS);
        }
        let mut texts = [Fingerprint::default(); MOST];
        for n in asking.iter() {
            texts[n] = self.text_behind(verdicts.0[n], keys[n], status(n));
            self.requests.prefetch(texts[n]);
        }
        for n in asking.iter() {
            verdicts.0[n] = self.known_by(texts[n], keys[n]);
        }
    }

    /// The verdict on a request, where it is known.
    pub(super) fn recall(&self, key: Key, status: Option<u16>) -> Option<Verdict> {
        let mut recalled = Recalled::<1>::default();
        self.recall_each(&[key], |_| status, &mut recalled);
        recalled.get(0)
    }

    /// What is known of a request by itself.
    #[inline]
    fn glance(&self, key: Key) -> Known {
        let class = self.headers.get(key.headers);
        let known = self.requests.get(self.keys.first(key, class.unwrap_or(Class::SILENT)));
        known.filter(|_| class.is_some()).unwrap_or(UNKNOWN)
    }

    /// By what a request is known where something was asked for.
    #[inline]
    fn text_behind(&self, asks: Known, key: Key, status: Option<u16>) -> Fingerprint {
        let class = self.headers.get(key.headers).unwrap_or(Class::SILENT);
        self.keys.next(self.keys.first(key, class), Asks::of_word(asks.path), key, class, status)
    }

    /// What is known by that.
    fn known_by(&self, text: Fingerprint, key: Key) -> Known {
        match self.requests.get(text) {
            None => UNKNOWN,
            Some(known) if known.rules != ASKS => known,
            Some(_) => {
                let text = self.keys.next(text, Asks::HEADERS, key, Class::SILENT, None);
                self.requests.get(text).filter(|known| known.rules != ASKS).unwrap_or(UNKNOWN)
            }
        }
    }

    /// Learns from others what there is to know of a request; whether it can be [recalled](Self::recall) now.
    pub(super) fn learn(&mut self, key: Key, status: Option<u16>, names: &mut SymbolTables) -> Option<Verdict> {
        let shared = self.shared.clone()?;
        let class = if let Some(class) = self.headers.get(key.headers) {
            class
        } else {
            let class = shared.class(key.headers)?;
            self.headers.put(key.headers, class);
            class
        };
        let mut text = self.keys.first(key, class);
        loop {
            match shared.said(text)? {
                Said::Asks(asks) => {
                    self.requests.put(text, asking(asks));
                    text = self.keys.next(text, asks, key, class, status);
                }
                Said::Rules(said) => {
                    let (rules, path) = said.as_deref().map_or_else(Default::default, Rules::parts);
                    let verdict = Verdict { rules: names.rules.intern(rules, Box::from), path: names.paths.intern(path, Box::from) };
                    self.requests.put(text, verdict);
                    return Some(verdict);
                }
            }
        }
    }

    /// Remembers a verdict, and what was asked for to find it.
    pub(super) fn remember(&mut self, key: Key, class: Class, status: Option<u16>, asked: Asked, verdict: Verdict, names: &SymbolTables) {
        let mut text = self.keys.first(key, class);
        if class.speaks() && verdict.rules == SymbolTables::EMPTY_RULES && asked == Asked::default() {
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

    fn put(&mut self, text: Fingerprint, known: Known, names: &SymbolTables) {
        self.requests.put(text, known);
        if let Some(shared) = &self.shared {
            let said = if known.rules == ASKS {
                Said::Asks(Asks::of_word(known.path))
            } else {
                Said::rules(names.rules.resolve(known.rules), names.paths.resolve(known.path))
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

/// Verdicts that were known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recalled<const MOST: usize>([Known; MOST]);

impl<const MOST: usize> Default for Recalled<MOST> {
    fn default() -> Self {
        Self([UNKNOWN; MOST])
    }
}

impl<const MOST: usize> Recalled<MOST> {
    /// The verdict on a request, where it was known.
    pub(super) fn get(&self, n: usize) -> Option<Verdict> {
        Some(self.0[n]).filter(|known| *known != UNKNOWN)
    }

    /// Whether a request is known to match no rule.
    #[inline]
    pub(super) fn is_known_to_match_nothing(&self, n: usize) -> bool {
        self.0[n].rules == SymbolTables::EMPTY_RULES
    }
}

/// What rules asked for to come to a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Asked {
    pub(super) status: bool,
    pub(super) class: bool,
    pub(super) headers: bool,
}

impl Asked {
    /// What two readings of one request depend on.
    pub(super) fn and(self, other: Self) -> Self {
        Self { status: self.status || other.status, class: self.class || other.class, headers: self.headers || other.headers }
    }
}
