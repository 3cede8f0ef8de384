//! Counts that merge: any split of a log, absorbed in any order, comes to the same tally.
//!
//! The finest cell is what one client got for one path by one set of rules; every row of every report is a sum of cells.
//! Nothing is decided here: whether an answer means something depends on all cells together, and is asked when a report
//! is built.

mod cell;
mod unlisted;

pub use cell::{Cell, Place, Sample, Scope, Site, span};
pub use unlisted::{Asked, Unlisted};

use crate::client::Client;
use crate::finding::{Findings, Hit, RuleId};
use crate::intern::Interner;
use crate::names::Names;
use crate::record::Outcome;
use cell::CellKey;

/// All hits, in cells.
#[derive(Debug, Default)]
pub struct Tally {
    names: Names,
    clients: Vec<ClientCount>,
    sites: Interner<Site>,
    keys: Interner<CellKey>,
    /// By the number of their key.
    cells: Vec<Cell>,
    unlisted: Unlisted,
}

/// Counts of one client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientCount {
    /// All its requests.
    pub requests: u64,
    /// Those of them that matched a rule, reported or not.
    pub matched: u64,
}

/// A cell with its key spelled out.
#[derive(Debug, Clone, Copy)]
pub struct CellView<'t> {
    /// The client's number in [`Tally::client`].
    pub client: u32,
    /// The path's number in [`Tally::path`].
    pub path: u32,
    /// The number of the list of rules in [`Tally::rules`].
    pub rules: u32,
    /// The status code.
    pub status: Option<u16>,
    /// Where an answer that exposes something came from, and its size.
    pub answer: Option<(&'t Site, Option<u64>)>,
    /// The counts.
    pub cell: &'t Cell,
}

impl Tally {
    /// Adds what was found in a run of lines by the worker whose tally this is.
    pub fn absorb(&mut self, findings: &Findings, place: Place) {
        for &client in &findings.askers {
            self.count_mut(client).requests += 1;
        }
        for &client in &findings.probers {
            self.count_mut(client).matched += 1;
        }
        for hit in &findings.hits {
            self.add(findings, hit, place);
        }
        self.unlisted.absorb(findings, place);
    }

    fn add(&mut self, findings: &Findings, hit: &Hit, place: Place) {
        let answered = hit.exposes && Outcome::of(hit.status) == Outcome::Answered;
        let site = answered.then(|| Site::of(findings.host(hit), place.input));
        let answer = site.map(|site| (self.sites.number(&site, Site::clone), hit.bytes));
        let key = CellKey { client: hit.client, path: hit.path, rules: hit.rules, status: hit.status, answer };
        let place = Place { line: u64::from(hit.line), offset: hit.offset, ..place };
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

    /// Adds another tally; both have their names.
    pub fn merge(&mut self, other: Self) {
        let new = self.names.merge(&other.names);
        let sites = self.sites.merge(&other.sites);
        for (client, count) in new.clients.iter().zip(&other.clients) {
            let sum = self.count_mut(*client);
            sum.requests += count.requests;
            sum.matched += count.matched;
        }
        for (key, cell) in other.keys.keys().iter().zip(other.cells) {
            let key = CellKey {
                client: new.clients[key.client as usize],
                path: new.paths[key.path as usize],
                rules: new.rules[key.rules as usize],
                status: key.status,
                answer: key.answer.map(|(site, bytes)| (sites[site as usize], bytes)),
            };
            match self.cells.get_mut(self.keys.number(&key, |key| *key) as usize) {
                Some(mine) => mine.merge(cell),
                None => self.cells.push(cell),
            }
        }
        self.unlisted.merge(other.unlisted, &new);
    }

    /// All cells, in no order.
    pub fn cells(&self) -> impl Iterator<Item = CellView<'_>> {
        self.keys.keys().iter().zip(&self.cells).map(|(key, cell)| CellView {
            client: key.client,
            path: key.path,
            rules: key.rules,
            status: key.status,
            answer: key.answer.map(|(site, bytes)| (self.sites.key(site), bytes)),
            cell,
        })
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

    /// What that client asked for.
    #[must_use]
    pub fn client_count(&self, number: u32) -> ClientCount {
        self.clients.get(number as usize).copied().unwrap_or_default()
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
