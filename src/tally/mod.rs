//! CellCounts that merge: any split of a log, absorbed in any order, comes to the same tally.
//!
//! The finest cell is what one client got for one path by one set of rules; every row of every report is a sum of cells.
//! Nothing is decided here: whether an answer means something depends on all cells together, and is asked when a report
//! is built.
//!
//! A tally with a [`Budget`] is exact up to it, and above it says by how much it may be too low.

mod budget;
mod cell;
mod counts;
mod evidence;
mod merge;
mod minutes;
mod overflow;
mod prune;
mod rest;
mod table;
#[cfg(test)]
mod tests;
mod texts;
mod told;
mod unlisted;

pub use budget::{Budget, ErrorBound, ErrorFloor};
pub use cell::{Cell, ImportedSample, LinePosition, Sample, SampleContent, SampleContentView, SampleView, Site, union_span};
pub use counts::CellCounts;
pub use evidence::TallyEvidence;
pub use minutes::{MinuteCounts, MinuteKey};
pub use told::{ImportRemap, ImportedKey};
pub use unlisted::{UnmatchedPath, UnmatchedRequests};

use crate::client::Client;
use crate::finding::{AppEvidence, BoundedSet, Findings, Hit, RuleId};
use crate::intern::SymbolTables;
use crate::log_entry::Outcome;
use crate::soft_404::{MethodClass, Response};
use cell::CellKey;
use rest::HitLine;
use table::{BATCH, CellSampleRef, CellTable};

/// All hits, in cells.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    names: SymbolTables,
    clients: Vec<ClientCount>,
    /// Requests that are not in `clients` yet, by client: every line counts one, and numbers alone stay near.
    uncounted_requests: Vec<u64>,
    cells: CellTable,
    /// Requests that are allowed, by the number of the entry that says so.
    allowed: Vec<u64>,
    /// What was answered that shows an app, by input and host.
    app_evidence: AppEvidence<(u32, u32)>,
    /// Home pages, and what cells that were dropped showed of their sites.
    evidence: TallyEvidence,
    /// Requests that rules with a `window` count.
    minutes: MinuteCounts,
    unmatched: UnmatchedRequests,
    /// What it may hold; all where `None`.
    budget: Option<Budget>,
    error_floor: ErrorFloor,
    /// By path: what was let go of its pairs.
    by_path: CellTable,
    /// Hits that a path may have had besides those counted, by its number; those that had none may be missing.
    path_errors: Vec<u64>,
    /// What a client and a path, a client, or a path had besides the cells that a prune kept of it.
    overflow: CellTable,
}

/// CellCounts of one client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientCount {
    /// All its requests.
    pub requests: u64,
    /// Those of them that matched a rule and are allowed.
    pub allowed: u64,
    /// Hits it may have had besides those of its cells.
    pub error: u64,
    /// Requests it may have had besides those counted.
    pub missed: u64,
}

/// A cell with its key spelled out.
#[derive(Debug, Clone, Copy)]
pub struct CellView<'t> {
    /// The client's number in [`Tally::client`], or [`SymbolTables::OTHER`].
    pub client: u32,
    /// The path's number in [`Tally::path`], or [`SymbolTables::OTHER`].
    pub path: u32,
    /// The number of the list of rules in [`Tally::rules`].
    pub rules: u32,
    /// The status code.
    pub status: Option<u16>,
    /// The input's number, or [`SymbolTables::NO_INPUT`].
    pub input: u32,
    /// What answered.
    pub site: Site<'t>,
    /// It was answered, and that exposes something.
    pub answered: bool,
    /// It is a probe for its path: evidence of what the site answers to anything.
    pub is_probe: bool,
    /// The class of the method.
    pub method: MethodClass,
    /// The size of an answer.
    pub bytes: Option<u64>,
    /// Bytes of the target beyond the path, where there is a size.
    pub extra: u8,
    /// The counts.
    pub cell: &'t CellCounts,
    rest: CellSampleRef<'t>,
}

impl<'t> CellView<'t> {
    /// What the site answered.
    #[must_use]
    pub fn response(&self) -> Response {
        Response { method: self.method, status: self.status, bytes: self.bytes, extra: self.extra }
    }

    /// Whether it holds what was let go of other cells: its client, its path or both are [`SymbolTables::OTHER`].
    #[must_use]
    pub fn is_other(&self) -> bool {
        self.client == SymbolTables::OTHER || self.path == SymbolTables::OTHER
    }

    /// Whether it is one of the [`overflow_cells`](Tally::overflow_cells).
    #[must_use]
    pub fn is_overflow(&self) -> bool {
        self.input == SymbolTables::NO_INPUT
    }

    /// Hits that its client and path together may have had before any were counted; 0 where the tally is exact. All cells
    /// of a client and a path have the same.
    #[must_use]
    pub fn error(&self) -> u64 {
        self.rest.error()
    }

    /// The earliest hit.
    #[must_use]
    pub fn sample(&self) -> SampleView<'t> {
        self.rest.sample()
    }
}

impl Tally {
    /// Adds what was found in a run of lines by the worker whose tally this is.
    pub fn add_findings(&mut self, findings: &Findings, position: LinePosition) {
        if let Some(&most) = findings.request_clients.iter().max() {
            self.uncounted_requests.resize(self.uncounted_requests.len().max(most as usize + 1), 0);
        }
        for &client in &findings.request_clients {
            self.uncounted_requests[client as usize] += 1;
        }
        for &client in &findings.mentioned {
            self.count_mut(client).requests += 1;
        }
        for &(entry, client) in &findings.allowed {
            self.count_mut(client).allowed += 1;
            self.count_allowed(entry, 1);
        }
        self.app_evidence.merge(&findings.signs, |host| (position.input, host), |client| client);
        for (host, bytes) in findings.home.iter() {
            self.evidence.record_home((position.input, host), bytes);
        }
        for hits in findings.hits.chunks(BATCH) {
            self.add(findings, hits, position);
        }
        findings.hits.iter().for_each(|hit| self.minutes.count(hit));
        self.unmatched.add_findings(findings, position);
    }

    fn count_allowed(&mut self, entry: u16, requests: u64) {
        let at = usize::from(entry);
        self.allowed.resize(self.allowed.len().max(at + 1), 0);
        self.allowed[at] += requests;
    }

    fn add(&mut self, findings: &Findings, hits: &[Hit], position: LinePosition) {
        let mut keys = [CellKey::default(); BATCH];
        for (key, hit) in keys.iter_mut().zip(hits) {
            *key = cell_key(hit, position.input);
        }
        let lookups = self.cells.prefetch(&keys[..hits.len()]);
        for ((hit, key), lookup) in hits.iter().zip(&keys).zip(lookups) {
            let position = LinePosition { line: position.line + u64::from(hit.line), offset: hit.offset, ..position };
            let line = HitLine { time: hit.time, position, text: findings.text(hit), parsed: hit.parsed };
            self.cells.count(key, lookup, &line);
        }
    }

    #[inline]
    fn count_mut(&mut self, client: u32) -> &mut ClientCount {
        let at = client as usize;
        if at >= self.clients.len() {
            self.clients.resize(at + 1, ClientCount::default());
        }
        &mut self.clients[at]
    }

    /// The same, with the names that its numbers stand for.
    #[must_use]
    pub fn with_names(mut self, names: SymbolTables) -> Self {
        for (client, requests) in (0..).zip(std::mem::take(&mut self.uncounted_requests)) {
            self.count_mut(client).requests += requests;
        }
        Self { names, ..self }
    }

    /// How many cells there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether nothing hit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// All cells, in no order. Each hit is in one of them: what was let go of a pair is in a cell of its client without a
    /// path, and what was let go of a client in one of nobody.
    pub fn cells(&self) -> impl Iterator<Item = CellView<'_>> {
        self.views(&self.cells)
    }

    /// What was let go of the pairs of each path, in no order, in cells without a client. Their hits are in other
    /// [`cells`](Self::cells) as well.
    pub fn path_cells(&self) -> impl Iterator<Item = CellView<'_>> {
        self.views(&self.by_path)
    }

    /// What clients and paths had besides the cells that are kept of them, in no order and without inputs. Those with a client and
    /// a path belong to that pair, those with [`SymbolTables::OTHER`] as path to the client, those with it as client to the path. Their
    /// hits are in other [`cells`](Self::cells) as well: of another client or path, or of none.
    pub fn overflow_cells(&self) -> impl Iterator<Item = CellView<'_>> {
        self.views(&self.overflow)
    }

    fn views<'t>(&'t self, cells: &'t CellTable) -> impl Iterator<Item = CellView<'t>> {
        cells.iter().map(|(cell, rest)| CellView {
            client: cell.key.client,
            path: cell.key.path,
            rules: cell.key.rules,
            status: cell.key.status(),
            input: cell.key.input,
            site: self.site(cell.key.input, cell.key.host),
            answered: cell.key.answered(),
            is_probe: cell.key.is_probe(),
            method: cell.key.method(),
            bytes: cell.key.bytes(),
            extra: cell.key.extra,
            cell,
            rest,
        })
    }

    fn site(&self, input: u32, host: u32) -> Site<'_> {
        if host == SymbolTables::NO_HOST { Site::Input(input) } else { Site::Host(self.names.hosts.resolve(host)) }
    }

    /// Requests that are allowed, by the number of the entry that says so; those that allowed none may be missing.
    #[must_use]
    pub fn allowed(&self) -> &[u64] {
        &self.allowed
    }

    /// The apps that were seen, where, and by how many.
    pub fn app_evidence(&self) -> impl Iterator<Item = (RuleId, Site<'_>, &BoundedSet)> {
        self.app_evidence.iter().map(|(app, (input, host), few)| (app, self.site(input, host), few))
    }

    /// The number of a client, where it has one.
    #[must_use]
    pub fn client_number(&self, client: Client<'_>) -> Option<u32> {
        self.names.clients.find(client)
    }

    /// The requests that rules with a `window` count.
    #[must_use]
    pub fn minutes(&self) -> &MinuteCounts {
        &self.minutes
    }

    /// All lists of rules, by number.
    #[must_use]
    pub fn rule_lists(&self) -> &[Box<[RuleId]>] {
        self.names.rules.keys()
    }

    /// The requests that no rule matched, where the run noted them.
    #[must_use]
    pub fn unmatched(&self) -> &UnmatchedRequests {
        &self.unmatched
    }

    /// The client with a number.
    #[must_use]
    pub fn client(&self, number: u32) -> Client<'_> {
        self.names.clients.resolve(number)
    }

    /// What clients asked for, by number.
    #[must_use]
    pub fn client_counts(&self) -> &[ClientCount] {
        &self.clients
    }

    /// The path with a number.
    #[must_use]
    pub fn path(&self, number: u32) -> &[u8] {
        self.names.paths.resolve(number)
    }

    /// The list of rules with a number, sorted.
    #[must_use]
    pub fn rule_list(&self, number: u32) -> &[RuleId] {
        self.names.rules.resolve(number)
    }
}

/// The cell that a hit belongs to.
fn cell_key(hit: &Hit, input: u32) -> CellKey {
    let Hit { client, path, rules, status, host, method, extra, .. } = *hit;
    let is_answered = Outcome::of(status) == Outcome::Answered;
    // An ordinary request that only counts among many is no probe.
    let is_probe = (hit.exposes || !hit.has_query) && !hit.windows.only;
    let answered = hit.exposes && is_answered;
    // Of others the size is kept where it shows what the site answers to anything.
    let bytes = hit.bytes.filter(|&bytes| answered || (is_answered && is_probe && bytes > 0));
    ImportedKey { client, path, rules, status, input, host, answered, is_probe, method, bytes, extra }.into()
}
