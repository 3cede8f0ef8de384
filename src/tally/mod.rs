//! Counts that merge: any split of a log, absorbed in any order, comes to the same tally.
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

pub use budget::{Bound, Budget, Floor};
pub use cell::{Cell, Place, Proof, ProofView, Sample, SampleView, Scope, Told, span};
pub use counts::Counts;
pub use evidence::TallyEvidence;
pub use minutes::{MinuteKey, Minutes};
pub use told::{Renumbered, ToldKey};
pub use unlisted::{Asked, Unlisted};

use crate::client::Client;
use crate::finding::{AppEvidence, BoundedSet, Findings, Hit, RuleId};
use crate::intern::SymbolTables;
use crate::log_entry::Outcome;
use crate::soft_404::{MethodClass, Response};
use cell::CellKey;
use rest::Line;
use table::{BATCH, CellRest, Table};

/// All hits, in cells.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    names: SymbolTables,
    clients: Vec<ClientCount>,
    /// Requests that are not in `clients` yet, by client: every line counts one, and numbers alone stay near.
    asked: Vec<u64>,
    cells: Table,
    /// Requests that are allowed, by the number of the entry that says so.
    allowed: Vec<u64>,
    /// What was answered that shows an app, by input and host.
    signs: AppEvidence<(u32, u32)>,
    /// Home pages, and what cells that were dropped showed of their sites.
    evidence: TallyEvidence,
    /// Requests that rules with a `window` count.
    minutes: Minutes,
    unlisted: Unlisted,
    /// What it may hold; all where `None`.
    budget: Option<Budget>,
    floor: Floor,
    /// By path: what was let go of its pairs.
    by_path: Table,
    /// Hits that a path may have had besides those counted, by its number; those that had none may be missing.
    path_errors: Vec<u64>,
    /// What a client and a path, a client, or a path had besides the cells that a prune kept of it.
    overflow: Table,
}

/// Counts of one client.
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
    pub site: Scope<'t>,
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
    pub cell: &'t Counts,
    rest: CellRest<'t>,
}

impl<'t> CellView<'t> {
    /// What the site answered.
    #[must_use]
    pub fn response(&self) -> Response {
        Response { method: self.method, status: self.status, bytes: self.bytes, extra: self.extra }
    }

    /// Whether it holds what was let go of other cells: its client, its path or both are [`SymbolTables::OTHER`].
    #[must_use]
    pub fn is_rest(&self) -> bool {
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
    pub fn absorb(&mut self, findings: &Findings, place: Place) {
        if let Some(&most) = findings.request_clients.iter().max() {
            self.asked.resize(self.asked.len().max(most as usize + 1), 0);
        }
        for &client in &findings.request_clients {
            self.asked[client as usize] += 1;
        }
        for &client in &findings.mentioned {
            self.count_mut(client).requests += 1;
        }
        for &(entry, client) in &findings.allowed {
            self.count_mut(client).allowed += 1;
            self.count_allowed(entry, 1);
        }
        self.signs.merge(&findings.signs, |host| (place.input, host), |client| client);
        for (host, bytes) in findings.home.iter() {
            self.evidence.record_home((place.input, host), bytes);
        }
        for hits in findings.hits.chunks(BATCH) {
            self.add(findings, hits, place);
        }
        findings.hits.iter().for_each(|hit| self.minutes.count(hit));
        self.unlisted.absorb(findings, place);
    }

    fn count_allowed(&mut self, entry: u16, requests: u64) {
        let at = usize::from(entry);
        self.allowed.resize(self.allowed.len().max(at + 1), 0);
        self.allowed[at] += requests;
    }

    fn add(&mut self, findings: &Findings, hits: &[Hit], place: Place) {
        let mut keys = [CellKey::default(); BATCH];
        for (key, hit) in keys.iter_mut().zip(hits) {
            *key = key_of(hit, place.input);
        }
        let leads = self.cells.leads(&keys[..hits.len()]);
        for ((hit, key), lead) in hits.iter().zip(&keys).zip(leads) {
            let place = Place { line: place.line + u64::from(hit.line), offset: hit.offset, ..place };
            let line = Line { time: hit.time, place, text: findings.text(hit), parsed: hit.parsed };
            self.cells.count(key, lead, &line);
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
    pub fn named(mut self, names: SymbolTables) -> Self {
        for (client, requests) in (0..).zip(std::mem::take(&mut self.asked)) {
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

    fn views<'t>(&'t self, cells: &'t Table) -> impl Iterator<Item = CellView<'t>> {
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

    fn site(&self, input: u32, host: u32) -> Scope<'_> {
        if host == SymbolTables::NO_HOST { Scope::Input(input) } else { Scope::Host(self.names.hosts.resolve(host)) }
    }

    /// Requests that are allowed, by the number of the entry that says so; those that allowed none may be missing.
    #[must_use]
    pub fn allowed(&self) -> &[u64] {
        &self.allowed
    }

    /// The apps that were seen, where, and by how many.
    pub fn signs(&self) -> impl Iterator<Item = (RuleId, Scope<'_>, &BoundedSet)> {
        self.signs.iter().map(|(app, (input, host), few)| (app, self.site(input, host), few))
    }

    /// The number of a client, where it has one.
    #[must_use]
    pub fn number_of(&self, client: Client<'_>) -> Option<u32> {
        self.names.clients.find(client)
    }

    /// The requests that rules with a `window` count.
    #[must_use]
    pub fn minutes(&self) -> &Minutes {
        &self.minutes
    }

    /// All lists of rules, by number.
    #[must_use]
    pub fn lists(&self) -> &[Box<[RuleId]>] {
        self.names.rules.keys()
    }

    /// The requests that no rule matched, where the run noted them.
    #[must_use]
    pub fn unlisted(&self) -> &Unlisted {
        &self.unlisted
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
    pub fn rules(&self, number: u32) -> &[RuleId] {
        self.names.rules.resolve(number)
    }
}

/// The cell that a hit belongs to.
fn key_of(hit: &Hit, input: u32) -> CellKey {
    let Hit { client, path, rules, status, host, method, extra, .. } = *hit;
    let is_answered = Outcome::of(status) == Outcome::Answered;
    // An ordinary request that only counts among many is no probe.
    let is_probe = (hit.exposes || !hit.has_query) && !hit.windows.only;
    let answered = hit.exposes && is_answered;
    // Of others the size is kept where it shows what the site answers to anything.
    let bytes = hit.bytes.filter(|&bytes| answered || (is_answered && is_probe && bytes > 0));
    ToldKey { client, path, rules, status, input, host, answered, is_probe, method, bytes, extra }.into()
}
