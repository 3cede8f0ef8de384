//! The state of a worker thread between lines: buffers, literal hits, symbol tables and cached
//! verdicts. It never changes a verdict.

use std::sync::Arc;

use super::SharedCache;
use super::newline_index::NewlineIndex;
use super::path_interner::PathInterner;
use super::verdict_cache::{Verdict, VerdictCache};
use crate::collections::intern::SymbolTables;
use crate::formats::{EntryBuffer, Headers};
use crate::log::days::DayCounter;
use crate::log::finding::{Findings, RuleId, Windows};
use crate::log::time::{ClfTimeParser, TimeSpan};
use crate::rules::LiteralHits;
use crate::text::normalize::{AltDecoder, Normalizer};

/// Buffers and caches of one worker.
#[derive(Debug, Default)]
pub struct WorkerState {
    /// The symbol tables of its findings.
    pub names: SymbolTables,
    pub(super) buffers: MatchBuffers,
    pub(super) cache: VerdictCache,
    pub(super) index: NewlineIndex,
    /// The fields of lines in other formats.
    pub(super) entries: EntryBuffer,
    pub(super) clock: ClfTimeParser,
    /// Times of the lines of a chunk.
    pub(super) span: TimeSpan,
    /// Requests of a chunk by day.
    pub(super) days: DayCounter,
    /// The summary of each list of rules.
    pub(super) summaries: Vec<Option<RuleSummary>>,
    pub(super) path_ids: PathInterner,
    /// Cleared findings, for reuse.
    spare: Findings,
}

/// Buffers for matching one request.
#[derive(Debug, Default)]
pub(super) struct MatchBuffers {
    pub(super) target: Normalizer,
    pub(super) referer: Normalizer,
    pub(super) agent: Normalizer,
    pub(super) raw: Vec<u8>,
    pub(super) literal_hits: LiteralHits,
    pub(super) redecode: ReDecodeBuffers,
    /// A copy of the request and its headers.
    pub(super) copy: Vec<u8>,
    /// The request with its path read in another way.
    pub(super) reading: Vec<u8>,
    /// A request in an unparsed line, and the first one that a rule matches.
    pub(super) candidate: Vec<u8>,
    pub(super) matched: Vec<u8>,
    /// The rules that match, sorted by id.
    pub(super) rules: Vec<RuleId>,
    /// The normalised path; empty if no rule matches.
    pub(super) path: Vec<u8>,
}

impl MatchBuffers {
    /// Clears the buffers for the next request; `rules` is the size of the rule set.
    pub(super) fn clear(&mut self, rules: usize) {
        self.literal_hits.clear(rules);
        self.rules.clear();
        self.path.clear();
    }
}

/// Buffers for matching alternative decodings.
#[derive(Debug, Default)]
pub(super) struct ReDecodeBuffers {
    pub(super) decoder: AltDecoder,
    pub(super) literal_hits: LiteralHits,
}

/// What follows from a list of matching rules.
#[derive(Debug, Clone, Copy)]
pub(super) struct RuleSummary {
    /// The list of rules that are app evidence.
    pub(super) app_evidence: u32,
    /// The list of the other rules.
    pub(super) rules: u32,
    /// Whether an answer means that the requested resource exists.
    pub(super) exposes: bool,
    /// Whether one of the rules depends on the line alone.
    pub(super) is_certain: bool,
    /// Whether a rule depends on the client, and none on the line alone.
    pub(super) needs_client: bool,
    /// What rules with a window count.
    pub(super) windows: Windows,
}

impl WorkerState {
    /// A state that shares verdicts with other workers.
    #[must_use]
    pub fn with_shared_cache(shared: Arc<SharedCache>) -> Self {
        Self {
            cache: VerdictCache::with_shared_cache(Some(shared)),
            ..Self::default()
        }
    }

    /// Returns the symbol tables and resets the state. The IPv6 prefix and the shared cache stay.
    pub fn reset(&mut self) -> SymbolTables {
        let new = Self {
            cache: VerdictCache::with_shared_cache(self.cache.shared.clone()),
            names: SymbolTables::with_prefix(self.names.clients.prefix()),
            ..Self::default()
        };
        std::mem::replace(self, new).names
    }

    /// The rules of a verdict, sorted.
    #[must_use]
    pub fn rules(&self, verdict: Verdict) -> &[RuleId] {
        self.names.rules.resolve(verdict.rules)
    }

    /// The cached verdict of a request, which [may be unknown](super::Matcher::may_be_unknown).
    #[must_use]
    pub fn cached_verdict(
        &self,
        request: &[u8],
        headers: Headers<'_>,
        status: Option<u16>,
        may_be_unknown: bool,
    ) -> Option<Verdict> {
        self.cache
            .get(self.cache.key(request, headers, may_be_unknown), status)
    }

    /// Interns the verdict in the buffers.
    pub(super) fn intern_verdict(&mut self) -> Verdict {
        let Self { names, buffers, .. } = self;
        Verdict {
            rules: names.rules.intern(&*buffers.rules, Box::from),
            path: names.paths.intern(&*buffers.path, Box::from),
        }
    }

    /// Empty findings, reused if possible.
    pub(super) fn findings(&mut self) -> Findings {
        std::mem::take(&mut self.spare)
    }

    /// Takes findings back to reuse their memory.
    pub fn recycle(&mut self, findings: Findings) {
        self.spare = findings.cleared();
    }
}
