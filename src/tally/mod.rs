//! Counts that merge: any split of a log, absorbed in any order, comes to the same tally.
//!
//! The finest cell is what one client got for one path by one set of rules; every row of every report is a sum of cells.
//! Nothing is decided here: whether an answer means something depends on all cells together, and is asked when a report
//! is built.

mod cell;

pub use cell::{Cell, Place, Sample, Scope, Site, span};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::client::Client;
use crate::clients::{ClientCount, Clients};
use crate::finding::{Findings, Hit, RuleId};
use crate::intern::Interner;
use crate::record::Outcome;
use cell::CellKey;

/// All hits, in cells.
#[derive(Debug, Default)]
pub struct Tally {
    clients: Clients,
    paths: Interner<Box<[u8]>>,
    rules: Interner<Box<[RuleId]>>,
    sites: Interner<Site>,
    cells: HashMap<CellKey, Cell, RandomState>,
}

/// A cell with its key spelled out.
#[derive(Debug, Clone, Copy)]
pub struct CellView<'t> {
    /// The client's number in [`Tally::client`].
    pub client: usize,
    /// The path's number in [`Tally::path`].
    pub path: usize,
    /// The number of the list of rules in [`Tally::rules`].
    pub rules: usize,
    /// The status code.
    pub status: Option<u16>,
    /// Where an answer that exposes something came from, and its size.
    pub answer: Option<(&'t Site, Option<u64>)>,
    /// The counts.
    pub cell: &'t Cell,
}

impl Tally {
    /// Adds what was found in a run of lines.
    pub fn absorb(&mut self, findings: &Findings, place: Place) {
        self.clients.absorb(&findings.clients);
        for hit in &findings.hits {
            self.add(findings, hit, place);
        }
    }

    fn add(&mut self, findings: &Findings, hit: &Hit, place: Place) {
        let answered = hit.exposes && Outcome::of(hit.status) == Outcome::Answered;
        let site = answered.then(|| Site::of(findings.host(hit), place.input));
        let key = CellKey {
            client: self.clients.number(Client::parse(findings.client(hit))) as u32,
            path: self.paths.number(findings.path(hit), Box::from) as u32,
            rules: self.rules.number(findings.rules(hit), Box::from) as u32,
            status: hit.status,
            answer: site.map(|site| (self.sites.number(&site, Site::clone) as u32, hit.bytes)),
        };
        let place = Place { line: u64::from(hit.line), offset: hit.offset, ..place };
        let cell = self.cells.entry(key).or_insert_with(|| Cell::new(findings, hit, place));
        cell.count(findings, hit, place);
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: Self) {
        let clients = self.clients.absorb(&other.clients);
        let paths: Vec<_> = other.paths.keys().iter().map(|p| self.paths.number(&**p, Box::from)).collect();
        let rules: Vec<_> = other.rules.keys().iter().map(|r| self.rules.number(&**r, Box::from)).collect();
        let sites: Vec<_> = other.sites.keys().iter().map(|s| self.sites.number(s, Site::clone)).collect();
        for (key, cell) in other.cells {
            let key = CellKey {
                client: clients[key.client as usize] as u32,
                path: paths[key.path as usize] as u32,
                rules: rules[key.rules as usize] as u32,
                status: key.status,
                answer: key.answer.map(|(site, bytes)| (sites[site as usize] as u32, bytes)),
            };
            match self.cells.entry(key) {
                hashbrown::hash_map::Entry::Occupied(mut mine) => mine.get_mut().merge(cell),
                hashbrown::hash_map::Entry::Vacant(none) => {
                    none.insert(cell);
                }
            }
        }
    }

    /// All cells, in no order.
    pub fn cells(&self) -> impl Iterator<Item = CellView<'_>> {
        self.cells.iter().map(|(key, cell)| CellView {
            client: key.client as usize,
            path: key.path as usize,
            rules: key.rules as usize,
            status: key.status,
            answer: key.answer.map(|(site, bytes)| (self.sites.key(site as usize), bytes)),
            cell,
        })
    }

    /// The client with a number.
    #[must_use]
    pub fn client(&self, number: usize) -> Client<'_> {
        self.clients.client(number)
    }

    /// What that client asked for.
    #[must_use]
    pub fn client_count(&self, number: usize) -> ClientCount {
        self.clients.count(number)
    }

    /// The path with a number.
    #[must_use]
    pub fn path(&self, number: usize) -> &[u8] {
        self.paths.key(number)
    }

    /// The list of rules with a number, sorted.
    #[must_use]
    pub fn rules(&self, number: usize) -> &[RuleId] {
        self.rules.key(number)
    }
}
