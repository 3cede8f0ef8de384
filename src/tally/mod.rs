//! Counts that merge: any split of a log, absorbed in any order, comes to the same tally.
//!
//! The finest cell is what one client got for one path by one set of rules; every row of every report is a sum of cells.
//! Nothing is decided here: whether an answer means something depends on all cells together, and is asked when a report
//! is built.
//!
//! A tally with a [`Budget`] is exact up to it, and above it says by how much it may be too low.

mod budget;
mod cell;
mod merge;
mod prune;
mod table;
#[cfg(test)]
mod tests;
mod told;
mod unlisted;

pub use budget::{Bound, Budget, Floor};
pub use cell::{Cell, Place, Proof, Sample, Scope, Told, span};
pub use told::{Renumbered, ToldKey};
pub use unlisted::{Asked, Unlisted};

use crate::client::Client;
use crate::finding::{Few, Findings, Hit, RuleId, Signs};
use crate::intern::Interner;
use crate::names::Names;
use crate::record::Outcome;
use cell::CellKey;
use table::Table;

/// All hits, in cells.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    names: Names,
    clients: Vec<ClientCount>,
    keys: Interner<CellKey>,
    /// By the number of their key.
    cells: Vec<Cell>,
    /// Requests that are allowed, by the number of the entry that says so.
    allowed: Vec<u64>,
    /// What was answered that shows an app, by input and host.
    signs: Signs<(u32, u32)>,
    unlisted: Unlisted,
    /// What it may hold; all where `None`.
    budget: Option<Budget>,
    floor: Floor,
    /// By path: what was let go of its pairs.
    by_path: Table,
    /// Hits that a path may have had besides those counted, by its number; those that had none may be missing.
    path_errors: Vec<u64>,
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
    /// The client's number in [`Tally::client`], or [`Names::REST`].
    pub client: u32,
    /// The path's number in [`Tally::path`], or [`Names::REST`].
    pub path: u32,
    /// The number of the list of rules in [`Tally::rules`].
    pub rules: u32,
    /// The status code.
    pub status: Option<u16>,
    /// The input's number.
    pub input: u32,
    /// What answered.
    pub site: Scope<'t>,
    /// It was answered, and that exposes something.
    pub answered: bool,
    /// The size of such an answer.
    pub bytes: Option<u64>,
    /// The counts.
    pub cell: &'t Cell,
}

impl CellView<'_> {
    /// Whether it holds what was let go of other cells: its client, its path or both are [`Names::REST`].
    #[must_use]
    pub fn is_rest(&self) -> bool {
        self.client == Names::REST || self.path == Names::REST
    }
}

impl Tally {
    /// Adds what was found in a run of lines by the worker whose tally this is.
    pub fn absorb(&mut self, findings: &Findings, place: Place) {
        for &client in &findings.askers {
            self.count_mut(client).requests += 1;
        }
        for &(entry, client) in &findings.allowed {
            self.count_mut(client).allowed += 1;
            self.count_allowed(entry, 1);
        }
        self.signs.merge(&findings.signs, |host| (place.input, host), |client| client);
        for hit in &findings.hits {
            self.add(findings, hit, place);
        }
        self.unlisted.absorb(findings, place);
    }

    fn count_allowed(&mut self, entry: u16, requests: u64) {
        let at = usize::from(entry);
        self.allowed.resize(self.allowed.len().max(at + 1), 0);
        self.allowed[at] += requests;
    }

    fn add(&mut self, findings: &Findings, hit: &Hit, place: Place) {
        let answered = hit.exposes && Outcome::of(hit.status) == Outcome::Answered;
        let bytes = hit.bytes.filter(|_| answered);
        let Hit { client, path, rules, status, host, .. } = *hit;
        let key = CellKey { client, path, rules, status, input: place.input, host, answered, bytes };
        let place = Place { line: place.line + u64::from(hit.line), offset: hit.offset, ..place };
        let number = self.keys.number(&key, |key| *key) as usize;
        if number == self.cells.len() {
            self.cells.push(Cell::new(findings, hit, place));
        }
        self.cells[number].count(findings, hit, place);
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
    pub fn named(self, names: Names) -> Self {
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
        self.views(&self.keys, &self.cells)
    }

    /// What was let go of the pairs of each path, in no order, in cells without a client. Their hits are in other
    /// [`cells`](Self::cells) as well.
    pub fn path_cells(&self) -> impl Iterator<Item = CellView<'_>> {
        self.views(&self.by_path.keys, &self.by_path.cells)
    }

    fn views<'t>(&'t self, keys: &'t Interner<CellKey>, cells: &'t [Cell]) -> impl Iterator<Item = CellView<'t>> {
        keys.keys().iter().zip(cells).map(|(key, cell)| CellView {
            client: key.client,
            path: key.path,
            rules: key.rules,
            status: key.status,
            input: key.input,
            site: self.site(key.input, key.host),
            answered: key.answered,
            bytes: key.bytes,
            cell,
        })
    }

    fn site(&self, input: u32, host: u32) -> Scope<'_> {
        if host == Names::NO_HOST { Scope::Input(input) } else { Scope::Host(self.names.hosts.key(host)) }
    }

    /// Requests that are allowed, by the number of the entry that says so; those that allowed none may be missing.
    #[must_use]
    pub fn allowed(&self) -> &[u64] {
        &self.allowed
    }

    /// The apps that were seen, where, and by how many.
    pub fn signs(&self) -> impl Iterator<Item = (RuleId, Scope<'_>, &Few)> {
        self.signs.iter().map(|(app, (input, host), few)| (app, self.site(input, host), few))
    }

    /// The number of a client, where it has one.
    #[must_use]
    pub fn number_of(&self, client: Client<'_>) -> Option<u32> {
        self.names.clients.find(client)
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
        self.names.clients.client(number)
    }

    /// What clients asked for, by number.
    #[must_use]
    pub fn client_counts(&self) -> &[ClientCount] {
        &self.clients
    }

    /// The path with a number.
    #[must_use]
    pub fn path(&self, number: u32) -> &[u8] {
        self.names.paths.key(number)
    }

    /// The list of rules with a number, sorted.
    #[must_use]
    pub fn rules(&self, number: u32) -> &[RuleId] {
        self.names.rules.key(number)
    }
}
