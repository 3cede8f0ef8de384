//! What a worker keeps between lines: buffers, marks, and what it has judged before. One a thread. It never changes a
//! verdict.

use super::memo::{Fingerprint, Memo};
use crate::finding::RuleId;
use crate::normalize::Normalizer;
use crate::rules::Marks;
use crate::time::ClfClock;

/// Buffers of one worker.
#[derive(Debug)]
pub struct Scratch {
    pub(super) target: Normalizer,
    pub(super) referer: Normalizer,
    pub(super) agent: Normalizer,
    pub(super) raw: Vec<u8>,
    pub(super) marks: Marks,
    pub(super) verdict: Verdict,
    pub(super) memory: Memory,
    pub(super) clock: ClfClock,
    /// The texts that are being judged.
    pub(super) copy: Vec<u8>,
}

/// What the rules say of a request.
#[derive(Debug, Default)]
pub struct Verdict {
    /// The rules it matches, sorted by id.
    pub rules: Vec<RuleId>,
    /// Its normalised path; empty where no rule matches.
    pub path: Vec<u8>,
}

impl Verdict {
    pub(super) fn clear(&mut self) {
        self.rules.clear();
        self.path.clear();
    }
}

impl Scratch {
    /// Remembers the verdict just given.
    pub(super) fn remember(&mut self, text: Fingerprint) {
        let verdict = &self.verdict;
        self.memory.verdicts.put(text, |slot| {
            slot.rules.clone_from(&verdict.rules);
            slot.path.clone_from(&verdict.path);
        });
    }
}

/// What was judged before.
#[derive(Debug)]
pub(super) struct Memory {
    /// Requests in which no literal stands.
    pub(super) clean_requests: Memo<()>,
    /// Referers and agents in which none stands.
    pub(super) clean_headers: Memo<()>,
    /// Everything a verdict is made of, where some literal stood in it.
    pub(super) verdicts: Memo<Verdict>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            target: Normalizer::default(),
            referer: Normalizer::default(),
            agent: Normalizer::default(),
            raw: Vec::new(),
            marks: Marks::default(),
            verdict: Verdict::default(),
            memory: Memory { clean_requests: Memo::new(1 << 15), clean_headers: Memo::new(1 << 13), verdicts: Memo::new(1 << 14) },
            clock: ClfClock::default(),
            copy: Vec::new(),
        }
    }
}
