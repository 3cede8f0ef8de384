//! What a worker keeps between lines: buffers, marks, and header texts that it has seen to hold nothing.
//!
//! One a thread. It never changes a verdict.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::finding::RuleId;
use crate::normalize::Normalizer;
use crate::rules::Marks;
use crate::time::ClfClock;

/// Buffers of one worker.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) target: Normalizer,
    pub(super) referer: Normalizer,
    pub(super) agent: Normalizer,
    pub(super) raw: Vec<u8>,
    pub(super) marks: Marks,
    pub(super) matched: Vec<RuleId>,
    pub(super) clean: CleanTexts,
    pub(super) clock: ClfClock,
}

/// Header texts in which no literal stands. A log holds the same few agents and referers over and over: to know one
/// again costs a tenth of searching it.
///
/// A table without chains: a new text takes the place of the old one with its hash. Whole texts are compared, so that
/// nobody can smuggle an agent past the rules with a hash.
#[derive(Debug)]
pub(super) struct CleanTexts {
    slots: Vec<Vec<u8>>,
    state: RandomState,
}

/// Slots of [`CleanTexts`]; a power of two. Half a megabyte when full of common agents: it stays in the second-level cache.
const SLOTS: usize = 4096;
/// Longer texts are not worth the room, in bytes.
const LONGEST: usize = 512;

impl Default for CleanTexts {
    fn default() -> Self {
        Self { slots: vec![Vec::new(); SLOTS], state: RandomState::default() }
    }
}

impl CleanTexts {
    /// Whether `text` is known to hold no literal.
    pub(super) fn knows(&self, text: &[u8]) -> bool {
        text.len() <= LONGEST && self.slots[self.slot(text)] == text
    }

    /// Remembers that `text` holds no literal.
    pub(super) fn remember(&mut self, text: &[u8]) {
        if text.len() <= LONGEST {
            let at = self.slot(text);
            let slot = &mut self.slots[at];
            slot.clear();
            slot.extend_from_slice(text);
        }
    }

    fn slot(&self, text: &[u8]) -> usize {
        self.state.hash_one(text) as usize % SLOTS
    }
}
