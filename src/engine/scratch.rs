//! What a worker keeps between lines: buffers, marks, names, and what it has judged before. One a thread. It never changes
//! a verdict.

use super::memory::Memory;
use super::unlisted::Numberer;
use crate::finding::{Findings, RuleId};
use crate::names::Names;
use crate::normalize::Normalizer;
use crate::rules::Marks;
use crate::time::ClfClock;

/// Buffers and memory of one worker.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The names of what was found.
    pub names: Names,
    pub(super) desk: Desk,
    pub(super) memory: Memory,
    pub(super) clock: ClfClock,
    /// What is reported of each list of rules, not answered and answered.
    pub(super) reported: Vec<Option<[Reported; 2]>>,
    pub(super) unlisted: Numberer,
    /// Findings that were read and cleared.
    spare: Findings,
}

/// What one request is taken apart on.
#[derive(Debug, Default)]
pub(super) struct Desk {
    pub(super) target: Normalizer,
    pub(super) referer: Normalizer,
    pub(super) agent: Normalizer,
    pub(super) raw: Vec<u8>,
    pub(super) marks: Marks,
    /// The texts that are being judged.
    pub(super) copy: Vec<u8>,
    /// The rules that match, sorted by id.
    pub(super) rules: Vec<RuleId>,
    /// The normalised path; empty where no rule matches.
    pub(super) path: Vec<u8>,
}

/// What the rules say of a request: numbers in [`Scratch::names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdict {
    /// The list of rules it matches.
    pub rules: u32,
    /// Its normalised path; empty where no rule matches.
    pub path: u32,
}

/// Those rules of a list that a report asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reported {
    /// Their list; `None` where there are none.
    pub(super) rules: Option<u32>,
    /// Whether one of them says that what was asked for is there.
    pub(super) exposes: bool,
}

impl Scratch {
    /// The rules of a verdict, sorted by id.
    #[must_use]
    pub fn rules(&self, verdict: Verdict) -> &[RuleId] {
        self.names.rules.key(verdict.rules)
    }

    /// The verdict on a request, where it is known. `headers` is what stands between the size and the end of the line.
    #[must_use]
    pub fn recall(&self, request: &[u8], headers: &[u8], status: Option<u16>) -> Option<Verdict> {
        self.memory.recall(self.memory.key(request, headers), status)
    }

    /// Numbers what was just judged.
    pub(super) fn conclude(&mut self) -> Verdict {
        let Self { names, desk, .. } = self;
        Verdict { rules: names.rules.number(&*desk.rules, Box::from), path: names.paths.number(&*desk.path, Box::from) }
    }

    /// Empty findings.
    pub(super) fn findings(&mut self) -> Findings {
        std::mem::take(&mut self.spare)
    }

    /// Takes back findings that nobody needs any more, for their room.
    pub fn recycle(&mut self, findings: Findings) {
        self.spare = findings.cleared();
    }
}
