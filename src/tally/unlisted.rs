//! Who asked for what that no rule names, in counts that merge.
//!
//! It grows with the distinct pairs of a client and a path, eight bytes each and the slack of a hash table, and with the
//! paths, some two hundred bytes each. A path that
//! is seen to be ordinary takes no more of them: one that a client was led to by a link, or that many clients were given.
//! Any split of a log comes to the same, as what makes a path ordinary only ever adds up.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::{LinePosition, Sample, union_span};
use crate::finding::{Findings, UnmatchedRequest as Request};
use crate::intern::IdRemap;
use crate::log_entry::Outcome;
use crate::time::LogTime;

/// A path that so many clients were given is ordinary, whoever they are.
const MANY: u32 = 64;

/// Requests that no rule matched, by path and by client.
#[derive(Debug, Clone, Default)]
pub struct UnmatchedRequests {
    /// By the number of the path.
    paths: Vec<PathState>,
    pairs: HashTable<ClientPathPair>,
    state: RandomState,
}

#[derive(Debug, Clone, Default)]
enum PathState {
    #[default]
    Unseen,
    Open(Box<UnmatchedPath>),
    Normal,
}

/// What is known of a path.
#[derive(Debug, Clone)]
pub struct UnmatchedPath {
    /// How often it was asked for.
    pub requests: u64,
    /// How often with which status, in no order.
    pub statuses: Vec<(Option<u16>, u64)>,
    /// The earliest and the latest request, of those with a time.
    pub times: Option<(LogTime, LogTime)>,
    /// The earliest of all: its target without the query, empty where that is the path itself.
    pub sample: Sample,
    /// The status of that one.
    pub status: Option<u16>,
    /// Clients that were given it.
    given: u32,
}

/// A client that asked for a path, and in the upper bits of the path what it got.
#[derive(Debug, Clone, Copy)]
struct ClientPathPair {
    client: u32,
    path_and_flags: u32,
}

/// It got a 2xx or a 304.
const SERVED: u32 = 1 << 31;
/// It was sent elsewhere.
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
    /// Whether none was noted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Adds what was noted in a run of lines.
    pub(super) fn add_findings(&mut self, findings: &Findings, position: LinePosition) {
        for request in &findings.unlisted {
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
            PathState::Open(asked) => asked.count(request, target, position),
            PathState::Unseen => *path = PathState::Open(Box::new(UnmatchedPath::new(request, target, position))),
        }
        let got = match Outcome::of(request.status) {
            Outcome::Answered => SERVED,
            Outcome::Redirected => REDIRECTED,
            _ => 0,
        };
        self.pair(ClientPathPair { client: request.client, path_and_flags: request.path | got });
    }

    /// Adds another one, whose numbers are renumbered.
    pub(super) fn merge(&mut self, other: Self, new: &IdRemap) {
        for (number, path) in other.paths.into_iter().enumerate() {
            let mine = match path {
                PathState::Unseen => continue,
                _ => self.path_mut(new.paths[number]),
            };
            match (&mut *mine, path) {
                (PathState::Normal, _) | (_, PathState::Unseen) => {}
                (_, PathState::Normal) => *mine = PathState::Normal,
                (PathState::Open(mine), PathState::Open(asked)) => mine.merge(*asked),
                // The clients it was given to come with the pairs.
                (PathState::Unseen, PathState::Open(asked)) => *mine = PathState::Open(Box::new(UnmatchedPath { given: 0, ..*asked })),
            }
        }
        for pair in other.pairs {
            let path = new.paths[pair.path() as usize];
            self.pair(ClientPathPair { client: new.clients[pair.client as usize], path_and_flags: path | (pair.path_and_flags & !PATH) });
        }
    }

    /// Adds a pair, unless its path is ordinary or comes to be.
    fn pair(&mut self, pair: ClientPathPair) {
        let Self { paths, pairs, state } = self;
        let number = pair.path() as usize;
        let PathState::Open(asked) = &mut paths[number] else { return };
        let hash = |pair: &ClientPathPair| state.hash_one(pair.key());
        let mut entry = pairs
            .entry(hash(&pair), |known| known.key() == pair.key(), hash)
            .or_insert(ClientPathPair { path_and_flags: pair.path(), ..pair });
        let known = entry.get_mut();
        asked.given += u32::from(pair.path_and_flags & !known.path_and_flags & SERVED != 0);
        known.path_and_flags |= pair.path_and_flags;
        if asked.given >= MANY {
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

    /// What is known of a path by its number; `None` for one that is ordinary or was not noted.
    #[must_use]
    pub fn path(&self, path: u32) -> Option<&UnmatchedPath> {
        match self.paths.get(path as usize) {
            Some(PathState::Open(asked)) => Some(asked),
            _ => None,
        }
    }

    /// The numbers of the paths that are ordinary.
    pub fn normal_paths(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.paths).filter(|(_, path)| matches!(path, PathState::Normal)).map(|(number, _)| number)
    }

    /// Who asked for which of the others, and whether there was something to get: a 2xx or a 3xx. In no order.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32, bool)> {
        let is_open = |pair: &&ClientPathPair| matches!(self.paths[pair.path() as usize], PathState::Open(_));
        self.pairs.iter().filter(is_open).map(|pair| (pair.client, pair.path(), pair.path_and_flags & !PATH != 0))
    }
}

impl UnmatchedPath {
    fn new(request: &Request, target: &[u8], position: LinePosition) -> Self {
        let sample = Sample::from_line(request.time, position, target, true);
        let statuses = vec![(request.status, 1)];
        Self { requests: 1, statuses, times: request.time.map(|t| (t, t)), sample, status: request.status, given: 0 }
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
