//! Counts of the requests that no rule matched, by client and path. `learn` uses them.
//!
//! Its size grows with the distinct pairs of a client and a path (8 bytes each, plus the slack of a hash table) and
//! with the paths (about 200 bytes each). A path that turns out to be a normal page of the site is not stored further:
//! a client followed a link to it, or many clients received it. Any split of a log gives the same result, because this
//! evidence only ever accumulates.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::{LinePosition, Sample, union_span};
use crate::finding::{Findings, UnmatchedRequest as Request};
use crate::intern::IdRemap;
use crate::log_entry::Outcome;
use crate::time::LogTime;

/// A path that this many clients received is a normal page.
const NORMAL_CLIENTS: u32 = 64;

/// Requests that no rule matched, by path and by client.
#[derive(Debug, Clone, Default)]
pub struct UnmatchedRequests {
    /// By path number.
    paths: Vec<PathState>,
    pairs: HashTable<ClientPathPair>,
    state: RandomState,
}

#[derive(Debug, Clone, Default)]
enum PathState {
    #[default]
    Unseen,
    Counted(Box<UnmatchedPath>),
    Normal,
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
    /// The earliest request: its target without the query, or empty if that is the path itself.
    pub sample: Sample,
    /// The status of the sample.
    pub status: Option<u16>,
    /// The number of clients that received it.
    clients_served: u32,
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
    /// Whether no request was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Adds the unmatched requests of one run of lines.
    pub(super) fn add_findings(&mut self, findings: &Findings, position: LinePosition) {
        for request in &findings.unmatched {
            let position = LinePosition { line: request.line.into(), offset: request.offset, ..position };
            self.add(request, findings.target(request), position);
        }
    }

    fn add(&mut self, request: &Request, target: &[u8], position: LinePosition) {
        let path = self.path_mut(request.path);
        if request.linked {
            *path = PathState::Normal;
        }
        match path {
            PathState::Normal => return,
            PathState::Counted(known_path) => known_path.count(request, target, position),
            PathState::Unseen => *path = PathState::Counted(Box::new(UnmatchedPath::new(request, target, position))),
        }
        let flags = match Outcome::from_status(request.status) {
            Outcome::Answered => SERVED,
            Outcome::Redirected => REDIRECTED,
            _ => 0,
        };
        self.insert_pair(ClientPathPair { client: request.client, path_and_flags: request.path | flags });
    }

    /// Adds those of another tally, renumbered.
    pub(super) fn merge(&mut self, other: Self, new: &IdRemap) {
        for (number, path) in other.paths.into_iter().enumerate() {
            let mine = match path {
                PathState::Unseen => continue,
                _ => self.path_mut(new.paths[number]),
            };
            match (&mut *mine, path) {
                (PathState::Normal, _) | (_, PathState::Unseen) => {}
                (_, PathState::Normal) => *mine = PathState::Normal,
                (PathState::Counted(mine), PathState::Counted(known_path)) => mine.merge(*known_path),
                // The clients that received it are counted with the pairs.
                (PathState::Unseen, PathState::Counted(known_path)) => {
                    *mine = PathState::Counted(Box::new(UnmatchedPath { clients_served: 0, ..*known_path }));
                }
            }
        }
        for pair in other.pairs {
            let path = new.paths[pair.path() as usize];
            self.insert_pair(ClientPathPair {
                client: new.clients[pair.client as usize],
                path_and_flags: path | (pair.path_and_flags & !PATH),
            });
        }
    }

    /// Adds a pair, unless its path is or becomes a normal page.
    fn insert_pair(&mut self, pair: ClientPathPair) {
        let Self { paths, pairs, state } = self;
        let number = pair.path() as usize;
        let PathState::Counted(known_path) = &mut paths[number] else { return };
        let hash = |pair: &ClientPathPair| state.hash_one(pair.key());
        let mut entry = pairs
            .entry(hash(&pair), |known| known.key() == pair.key(), hash)
            .or_insert(ClientPathPair { path_and_flags: pair.path(), ..pair });
        let known = entry.get_mut();
        known_path.clients_served += u32::from(pair.path_and_flags & !known.path_and_flags & SERVED != 0);
        known.path_and_flags |= pair.path_and_flags;
        if known_path.clients_served >= NORMAL_CLIENTS {
            paths[number] = PathState::Normal;
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
    pub fn path(&self, path: u32) -> Option<&UnmatchedPath> {
        match self.paths.get(path as usize) {
            Some(PathState::Counted(known_path)) => Some(known_path),
            _ => None,
        }
    }

    /// The paths that are normal pages, by number.
    pub fn normal_paths(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.paths).filter(|(_, path)| matches!(path, PathState::Normal)).map(|(number, _)| number)
    }

    /// The clients of each other path, and whether the response was a 2xx or a 3xx; in no order.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32, bool)> {
        let is_open = |pair: &&ClientPathPair| matches!(self.paths[pair.path() as usize], PathState::Counted(_));
        self.pairs.iter().filter(is_open).map(|pair| (pair.client, pair.path(), pair.path_and_flags & !PATH != 0))
    }
}

impl UnmatchedPath {
    fn new(request: &Request, target: &[u8], position: LinePosition) -> Self {
        let sample = Sample::from_line(request.time, position, target, true);
        let statuses = vec![(request.status, 1)];
        Self { requests: 1, statuses, times: request.time.map(|t| (t, t)), sample, status: request.status, clients_served: 0 }
    }

    fn count(&mut self, request: &Request, target: &[u8], position: LinePosition) {
        self.requests += 1;
        self.count_status(request.status, 1);
        self.times = union_span(self.times, request.time.map(|t| (t, t)));
        if self.sample.is_later_than(request.time, position) {
            self.sample = Sample::from_line(request.time, position, target, true);
            self.status = request.status;
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
        if self.sample.is_later_than(other.sample.time, other.sample.position) {
            (self.sample, self.status) = (other.sample, other.status);
        }
    }
}
