//! What a worker keeps between lines: buffers, marks, and what it has judged before. One a thread. It never changes a
//! verdict.

use super::memo::Memo;
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
}

/// What the rules say of a request.
#[derive(Debug, Default, Clone)]
pub struct Verdict {
    /// The rules it matches, sorted by id.
    pub rules: Vec<RuleId>,
    /// Its normalised path; empty where no rule matches.
    pub path: Vec<u8>,
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
            memory: Memory { clean_requests: Memo::new(8192), clean_headers: Memo::new(4096), verdicts: Memo::new(4096) },
            clock: ClfClock::default(),
        }
    }
}
