//! What all workers of a run have judged: what one has worked out another need not.
//!
//! Looked at only where a worker's own memory does not know a request, which costs a hundredth of judging it. It forgets all
//! of a part that is full, and never changes a verdict.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;

use super::key::{Asks, Class, Keys};
use crate::finding::RuleId;
use crate::fingerprint::Fingerprint;

/// Parts, each with a lock of its own.
const PARTS: usize = 16;
/// Requests and headers that a part holds at most.
const MOST: usize = 1 << 11;

/// What workers share; they make their keys alike.
#[derive(Debug, Default)]
pub struct Shared {
    keys: Keys,
    parts: [Mutex<Part>; PARTS],
}

#[derive(Debug, Default)]
struct Part {
    headers: HashMap<u64, Class>,
    requests: HashMap<u64, Said>,
}

/// What is known of a request.
#[derive(Debug, Clone)]
pub(super) enum Said {
    /// Something was asked for.
    Asks(Asks),
    /// The verdict; `None` where no rule matches, as for most.
    Rules(Option<Arc<Rules>>),
}

/// A verdict without a worker's numbers.
#[derive(Debug)]
pub(super) struct Rules {
    rules: Box<[RuleId]>,
    path: Box<[u8]>,
}

impl Rules {
    pub(super) fn parts(&self) -> (&[RuleId], &[u8]) {
        (&self.rules, &self.path)
    }
}

impl Said {
    pub(super) fn rules(rules: &[RuleId], path: &[u8]) -> Self {
        let is_nothing = rules.is_empty() && path.is_empty();
        Self::Rules((!is_nothing).then(|| Arc::new(Rules { rules: rules.into(), path: path.into() })))
    }
}

impl Shared {
    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// What is known of a request by its fingerprint.
    pub(super) fn said(&self, text: Fingerprint) -> Option<Said> {
        self.part(text).requests.get(&text.word()).cloned()
    }

    pub(super) fn say(&self, text: Fingerprint, said: Said) {
        put(&mut self.part(text).requests, text, said);
    }

    /// The class of headers by their fingerprint.
    pub(super) fn class(&self, headers: Fingerprint) -> Option<Class> {
        self.part(headers).headers.get(&headers.word()).copied()
    }

    pub(super) fn say_class(&self, headers: Fingerprint, class: Class) {
        put(&mut self.part(headers).headers, headers, class);
    }

    fn part(&self, text: Fingerprint) -> MutexGuard<'_, Part> {
        // The lower bits choose a place within the tables.
        self.parts[(text.word() >> 60) as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds what is known of a text; what is full forgets all else first.
fn put<V>(known: &mut HashMap<u64, V>, text: Fingerprint, value: V) {
    if known.len() == MOST {
        known.clear();
    }
    known.insert(text.word(), value);
}
