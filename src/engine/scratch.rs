//! What a worker keeps between lines: buffers, marks, names, and what it has judged before. One a thread. It never changes
//! a verdict.

use std::sync::Arc;

use super::Shared;
use super::index::Index;
use super::memory::Memory;
use super::unlisted::Numberer;
use crate::finding::{Findings, RuleId, Windows};
use crate::formats::FrameBuffer;
use crate::names::Names;
use crate::normalize::{Normalizer, Reader};
use crate::rules::Marks;
use crate::time::{ClfTimeParser, TimeSpan};

/// Buffers and memory of one worker.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The names of what was found.
    pub names: Names,
    pub(super) desk: Desk,
    pub(super) memory: Memory,
    pub(super) index: Index,
    /// What lines of other formats say.
    pub(super) sheet: FrameBuffer,
    /// The line of a hit, where nobody has written it down yet.
    pub(super) line: Vec<u8>,
    pub(super) clock: ClfTimeParser,
    /// Times of the lines of a run.
    pub(super) span: TimeSpan,
    /// What each list of rules comes to.
    pub(super) readings: Vec<Option<Reading>>,
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
    pub(super) second: SecondLook,
    /// The texts that are being judged.
    pub(super) copy: Vec<u8>,
    /// A request with its fragment as part of its path.
    pub(super) fragment: Vec<u8>,
    /// The rules that match, sorted by id.
    pub(super) rules: Vec<RuleId>,
    /// The normalised path; empty where no rule matches.
    pub(super) path: Vec<u8>,
}

impl Desk {
    /// Makes room for the next request, of so many rules.
    pub(super) fn clear(&mut self, rules: usize) {
        self.marks.clear(rules);
        self.rules.clear();
        self.path.clear();
    }
}

/// What a text is read again with.
#[derive(Debug, Default)]
pub(super) struct SecondLook {
    pub(super) reader: Reader,
    pub(super) marks: Marks,
}

/// What the rules say of a request: numbers in [`Scratch::names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdict {
    /// The list of rules it matches.
    pub rules: u32,
    /// Its normalised path; empty where no rule matches.
    pub path: u32,
}

/// What a list of rules comes to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// The list of those that are signs of apps.
    pub(super) signs: u32,
    /// The list of the others.
    pub(super) rules: u32,
    /// Whether an answer says that what was asked for is there.
    pub(super) exposes: bool,
    /// Whether one of the rules needs nothing but the line.
    pub(super) is_certain: bool,
    /// What the rules with a window count.
    pub(super) windows: Windows,
}

impl Scratch {
    /// That of one who works beside others.
    #[must_use]
    pub fn sharing(shared: Arc<Shared>) -> Self {
        Self { memory: Memory::sharing(Some(shared)), ..Self::default() }
    }

    /// Begins anew: gives the names that it has, and knows nothing but how clients are counted and what others know.
    pub fn begin_anew(&mut self) -> Names {
        let new =
            Self { memory: Memory::sharing(self.memory.shared()), names: Names::counting(self.names.clients.prefix()), ..Self::default() };
        std::mem::replace(self, new).names
    }

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
