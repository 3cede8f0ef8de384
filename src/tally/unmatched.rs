//! Counts of the requests that no rule matched, by client and path. `learn` uses them.
//!
//! Its size grows with the distinct pairs of a client and a path (8 bytes each, plus the slack of a
//! hash table) and with the paths (about 250 bytes each, and more for those of many clients). Any
//! split of a log gives the same result, because this evidence only ever accumulates.
//!
//! A [sample of clients](super::client_sample) may replace it: those of a
//! [level](crate::log::client::Client::sample_level) and above. So the requests for a path are
//! counted by the level of their client, and counts of lower levels can be dropped later. A path is
//! a normal page of the sample if one of its clients followed a link to it, or many of them
//! received it. That is a normal page of each larger sample as well, so requests of lower levels
//! are not stored further. Pairs are stored in any case: the size of a log is measured by them, and
//! it must not depend on the order of the lines.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::cell::is_earlier;
use super::{LinePosition, union_span};
use crate::collections::intern::{ClientInterner, IdRemap, SymbolTables};
use crate::log::finding::{Findings, UnmatchedRequest as Request};
use crate::log::log_entry::Outcome;
use crate::log::time::LogTime;

/// A path that this many clients received is a normal page.
const NORMAL_CLIENTS: u32 = 64;

/// Requests that no rule matched, by path and by client.
#[derive(Debug, Clone, Default)]
pub struct UnmatchedRequests {
    /// By path number.
    paths: Vec<PathState>,
    pairs: HashTable<ClientPathPair>,
    state: RandomState,
    /// Clients of lower levels were dropped.
    level: u8,
}

#[derive(Debug, Clone, Default)]
struct PathState {
    /// It is a normal page of the sample of each level below this one.
    normal_below: u8,
    /// The requests of clients of this level and above, by the level of the client: the highest
    /// first.
    by_level: Vec<LevelRequests>,
}

/// The requests for one path of the clients of one level.
#[derive(Debug, Clone)]
struct LevelRequests {
    level: u8,
    /// The number of clients that received it.
    clients_served: u32,
    requests: UnmatchedPath,
}

/// The requests for one path.
#[derive(Debug, Clone)]
pub struct UnmatchedPath {
    /// The number of requests.
    pub requests: u64,
    /// The number of requests by status, in no order.
    pub statuses: Vec<(Option<u16>, u64)>,
    /// The first and the last time, of the requests that have one.
    pub times: Option<(LogTime, LogTime)>,
    /// The time and the position of the earliest request.
    pub earliest: (Option<LogTime>, LinePosition),
    /// Its target without the query; empty if that is the path itself.
    pub target: Box<[u8]>,
    /// Its status.
    pub status: Option<u16>,
}

/// A client and a path; the upper bits of the path are flags of the response.
#[derive(Debug, Clone, Copy)]
struct ClientPathPair {
    client: u32,
    path_and_flags: u32,
}

/// The status was 2xx or 304.
const SERVED: u32 = 1 << 31;
/// The status was a redirect.
const REDIRECTED: u32 = 1 << 30;
const PATH: u32 = REDIRECTED - 1;

impl ClientPathPair {
    fn path(self) -> u32 {
        self.path_and_flags & PATH
    }

    fn key(self) -> (u32, u32) {
        (self.client, self.path())
    }
}

impl UnmatchedRequests {
    /// Whether no request was recorded or dropped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.level == 0
    }

    /// The number of pairs of a client and a path.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// The [level](crate::log::client::Client::sample_level) of its clients: it has all requests of
    /// those of this level and above, and no others. 0 is all clients.
    #[must_use]
    pub fn level(&self) -> u8 {
        self.level
    }

    /// Adds the unmatched requests of one run of lines.
    pub(super) fn add_findings(&mut self, findings: &Findings, position: LinePosition) {
        for request in &findings.unmatched {
            let position = LinePosition {
                line: request.line.into(),
                offset: request.offset,
                ..position
            };
            self.add(request, findings.target(request), position);
        }
    }

    fn add(&mut self, request: &Request, target: &[u8], position: LinePosition) {
        let path = self.path_mut(request.path);
        if request.linked {
            path.set_normal_below(request.level + 1);
        }
        if !path.is_normal(request.level) {
            match path.find(request.level) {
                Ok(at) => path.by_level[at].requests.count(request, target, position),
                Err(at) => path.insert(
                    at,
                    request.level,
                    UnmatchedPath::new(request, target, position),
                ),
            }
        }
        let flags = match Outcome::from_status(request.status) {
            Outcome::Answered => SERVED,
            Outcome::Redirected => REDIRECTED,
            _ => 0,
        };
        self.insert_pair(
            ClientPathPair {
                client: request.client,
                path_and_flags: request.path | flags,
            },
            request.level,
        );
    }

    /// Adds those of another tally of the same level, renumbered. `clients` are those of both.
    pub(super) fn merge(&mut self, other: Self, new: &IdRemap, clients: &ClientInterner) {
        debug_assert_eq!(
            self.level, other.level,
            "both were restricted to the higher level"
        );
        for (path, number) in other.paths.into_iter().zip(&new.paths) {
            if *number == SymbolTables::OTHER
                || (path.by_level.is_empty() && path.normal_below == 0)
            {
                continue;
            }
            let mine = self.path_mut(*number);
            mine.set_normal_below(path.normal_below);
            // The clients that received it are counted with the pairs.
            for LevelRequests {
                level, requests, ..
            } in path.by_level
            {
                mine.merge(level, requests);
            }
        }
        for pair in other.pairs {
            let (client, path) = (new.client(pair.client), new.path(pair.path()));
            self.insert_pair(
                ClientPathPair {
                    client,
                    path_and_flags: path | (pair.path_and_flags & !PATH),
                },
                clients.resolve(client).sample_level(),
            );
        }
    }

    /// Drops clients of a lower level and renumbers the others; paths without a client are dropped.
    /// `clients` have the new numbers.
    pub(super) fn restricted(mut self, level: u8, new: &IdRemap, clients: &ClientInterner) -> Self {
        for path in &mut self.paths {
            path.by_level.retain(|known| known.level >= level);
        }
        self.pairs.retain(|pair| match new.client(pair.client) {
            SymbolTables::OTHER => false,
            client => clients.resolve(client).sample_level() >= level,
        });
        let mut restricted = Self {
            level,
            ..Self::default()
        };
        restricted.merge(Self { level, ..self }, new, clients);
        restricted
    }

    /// Adds a pair, and makes its path a normal page if enough clients received it. `level` is that
    /// of the client.
    fn insert_pair(&mut self, pair: ClientPathPair, level: u8) {
        let Self {
            paths,
            pairs,
            state,
            ..
        } = self;
        let hash = |pair: &ClientPathPair| state.hash_one(pair.key());
        let mut entry = pairs
            .entry(hash(&pair), |known| known.key() == pair.key(), hash)
            .or_insert(ClientPathPair {
                path_and_flags: pair.path(),
                ..pair
            });
        let known = entry.get_mut();
        let is_newly_served = pair.path_and_flags & !known.path_and_flags & SERVED != 0;
        known.path_and_flags |= pair.path_and_flags;
        if is_newly_served {
            paths[pair.path() as usize].count_served(level);
        }
    }

    fn path_mut(&mut self, number: u32) -> &mut PathState {
        let at = number as usize;
        if at >= self.paths.len() {
            self.paths.resize_with(at + 1, PathState::default);
        }
        &mut self.paths[at]
    }

    /// The requests for a path; `None` for a normal page or an unknown path.
    #[must_use]
    pub fn path(&self, path: u32) -> Option<UnmatchedPath> {
        let path = self
            .paths
            .get(path as usize)
            .filter(|path| !path.is_normal(self.level))?;
        path.by_level
            .iter()
            .map(|known| known.requests.clone())
            .reduce(|mut sum, requests| {
                sum.merge(requests);
                sum
            })
    }

    /// The paths that are normal pages, by number.
    pub fn normal_paths(&self) -> impl Iterator<Item = u32> {
        (0..)
            .zip(&self.paths)
            .filter(|(_, path)| path.is_normal(self.level))
            .map(|(number, _)| number)
    }

    /// The clients of each other path, and whether the response was a 2xx or a 3xx; in no order.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32, bool)> {
        let is_open =
            |pair: &&ClientPathPair| !self.paths[pair.path() as usize].is_normal(self.level);
        self.pairs
            .iter()
            .filter(is_open)
            .map(|pair| (pair.client, pair.path(), pair.path_and_flags & !PATH != 0))
    }

    /// The client and the path of all pairs, in no order.
    pub(super) fn all_pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        self.pairs.iter().map(|pair| pair.key())
    }
}

impl PathState {
    fn is_normal(&self, level: u8) -> bool {
        self.normal_below > level
    }

    /// Counts of lower levels are part of no sample that does not have it as a normal page.
    fn set_normal_below(&mut self, level: u8) {
        if level > self.normal_below {
            self.normal_below = level;
            self.by_level.retain(|known| known.level >= level);
        }
    }

    fn find(&self, level: u8) -> Result<usize, usize> {
        self.by_level
            .binary_search_by(|known| level.cmp(&known.level))
    }

    fn insert(&mut self, at: usize, level: u8, requests: UnmatchedPath) {
        // Most paths have one client.
        self.by_level.reserve_exact(1);
        self.by_level.insert(
            at,
            LevelRequests {
                level,
                clients_served: 0,
                requests,
            },
        );
    }

    fn merge(&mut self, level: u8, requests: UnmatchedPath) {
        match self.find(level) {
            _ if self.is_normal(level) => {}
            Ok(at) => self.by_level[at].requests.merge(requests),
            Err(at) => self.insert(at, level, requests),
        }
    }

    /// Counts a client that received it.
    fn count_served(&mut self, level: u8) {
        let Ok(at) = self.find(level) else { return };
        self.by_level[at].clients_served += 1;
        let mut served = 0;
        let is_reached = |known: &&LevelRequests| {
            served += known.clients_served;
            served >= NORMAL_CLIENTS
        };
        if let Some(highest) = self
            .by_level
            .iter()
            .find(is_reached)
            .map(|known| known.level)
        {
            self.set_normal_below(highest + 1);
        }
    }
}

impl UnmatchedPath {
    fn new(request: &Request, target: &[u8], position: LinePosition) -> Self {
        let statuses = vec![(request.status, 1)];
        Self {
            requests: 1,
            statuses,
            times: request.time.map(|t| (t, t)),
            earliest: (request.time, position),
            target: target.into(),
            status: request.status,
        }
    }

    fn count(&mut self, request: &Request, target: &[u8], position: LinePosition) {
        self.requests += 1;
        self.count_status(request.status, 1);
        self.times = union_span(self.times, request.time.map(|t| (t, t)));
        if is_earlier((request.time, position), self.earliest) {
            self.earliest = (request.time, position);
            (self.target, self.status) = (target.into(), request.status);
        }
    }

    fn count_status(&mut self, status: Option<u16>, requests: u64) {
        match self.statuses.iter_mut().find(|(known, _)| *known == status) {
            Some((_, sum)) => *sum += requests,
            None => self.statuses.push((status, requests)),
        }
    }

    fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        self.times = union_span(self.times, other.times);
        for (status, requests) in other.statuses {
            self.count_status(status, requests);
        }
        if is_earlier(other.earliest, self.earliest) {
            (self.earliest, self.target, self.status) =
                (other.earliest, other.target, other.status);
        }
    }
}
