//! Counts that merge: any split of a log, absorbed in any order, comes to the same tally.
//!
//! The finest cell is what one client got for one path by one set of rules; every row of every report is a sum of cells.
//! Nothing is decided here: whether an answer means something depends on all cells together, and is asked when a report
//! is built.

mod cell;
mod unlisted;

pub use cell::{Cell, Place, Sample, Scope, span};
pub use unlisted::{Asked, Unlisted};

use crate::client::Client;
use crate::finding::{Few, Findings, Hit, RuleId, Signs};
use crate::intern::Interner;
use crate::names::Names;
use crate::record::Outcome;
use cell::CellKey;

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
}

/// Counts of one client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientCount {
    /// All its requests.
    pub requests: u64,
    /// Those of them that matched a rule and are allowed.
    pub allowed: u64,
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

    /// Adds another tally; both have their names.
    pub fn merge(&mut self, other: Self) {
        let new = self.names.merge(&other.names);
        for (client, count) in new.clients.iter().zip(&other.clients) {
            let sum = self.count_mut(*client);
            sum.requests += count.requests;
            sum.allowed += count.allowed;
        }
        for (entry, requests) in (0..).zip(&other.allowed) {
            self.count_allowed(entry, *requests);
        }
        let host = |host: u32| new.hosts[host as usize];
        self.signs.merge(&other.signs, |(input, its_host)| (input, host(its_host)), |client| new.clients[client as usize]);
        for (key, cell) in other.keys.keys().iter().zip(other.cells) {
            let key = CellKey {
                client: new.clients[key.client as usize],
                path: new.paths[key.path as usize],
                rules: new.rules[key.rules as usize],
                host: host(key.host),
                ..*key
            };
            match self.cells.get_mut(self.keys.number(&key, |key| *key) as usize) {
                Some(mine) => mine.merge(cell),
                None => self.cells.push(cell),
            }
        }
        self.unlisted.merge(other.unlisted, &new);
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

    /// All cells, in no order.
    pub fn cells(&self) -> impl Iterator<Item = CellView<'_>> {
        self.keys.keys().iter().zip(&self.cells).map(|(key, cell)| CellView {
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
