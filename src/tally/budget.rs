//! How much a tally may hold, and what it still promises when there was more.
//!
//! Up to its budget a tally is exact. Above, it keeps the largest and says how much may be missing of any other, as
//! space-saving does (Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k Elements, 2005), but by
//! batches. Three things are kept apart, each with a floor of its own: pairs of a client and a path, clients, and paths.
//!
//! A key that is met again after it was let go starts with an *error*: the floor, which is the most that any key let go
//! may have had. So of every key the truth lies between what was counted and that plus its error; of a key that is not
//! there, between nothing and the floor. A prune keeps the keys of most weight (hits and error), M or more, and the floor
//! becomes the greatest weight that was let go. **The floor is at most N / M for N hits**: let each key hold
//! max(0, weight - floor). A hit adds at most 1 to the sum of it all, a new key begins with nothing but its hit, and
//! a prune that lifts the floor by d takes d from each of the M keys that stay, as all of them weigh at least as much as
//! what went. The sum is never negative, so M times all lifts is at most N. Tallies that merge add their floors, and a key
//! that one of them lacks takes that one's floor as error: N1 / M + N2 / M is N / M again.
//!
//! What is let go of a pair stays with its client and with its path, and of a client with nobody: the hits of all cells
//! together are always all hits, by rules, status, input and host. So sums and the rows of rules stay exact, with one
//! exception: a rule that asks how many paths a client tried sees the pairs that are there.
//!
//! A prune keeps no more than [`KINDS`] cells of a pair, or one client would fill the room with the inputs, hosts and sizes
//! of one path. The hits of the other cells are still those of the pair: the [overflow](super::overflow) counts them by rules,
//! status and method, without input, host and size, and the same for clients and paths. It has room for as many cells again of
//! each, and in all for [`overflow`](Budget::overflow); only what exceeds that is an error. So a request that is in 100,000 logs
//! is one pair with all its hits. The weight of a key is that of all its hits, those in the overflow among them.
//!
//! Whether a tally is exact depends on what was counted, never on how it was split: one is over its budget in the end, or
//! none of its parts was. Above the budget the order in which parts come in decides which light keys stay, and how great
//! the floors are. What is heavy stays in any order: a key with more hits than N / M is always there.

use super::{CellView, Tally};

/// How much a tally may hold before it lets go of anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Cells: what one client got for one path by one set of rules.
    pub cells: usize,
    /// Clients, those that hit and those that did not.
    pub clients: usize,
}

/// Cells of one pair, one client or one path that a prune keeps apart, and as many that the overflow keeps of it; those of fewest
/// hits are let go first.
pub(super) const MAX_CELLS_PER_KEY: usize = 16;

impl Budget {
    /// What a run may hold unless it is told otherwise. A report in JSON takes some 2 KB a cell when it is built: with
    /// all it is made of, a run of two threads stays below 192 MiB.
    pub const STANDARD: Self = Self { cells: 85_000, clients: 200_000 };

    /// Cells of pairs that are kept for their weight.
    pub(super) fn pairs(self) -> usize {
        self.cells / 4
    }

    /// Cells of pairs that are kept besides because they were answered.
    pub(super) fn answered(self) -> usize {
        self.cells / 10
    }

    /// Cells of clients, of what was let go of their pairs; and as many of paths.
    pub(super) fn folded(self) -> usize {
        self.cells / 8
    }

    /// Cells of the overflow: what pairs, clients and paths had besides the cells that are kept of them.
    pub(super) fn overflow(self) -> usize {
        self.cells / 8
    }

    /// Cells of nobody.
    pub(super) fn unattributed(self) -> usize {
        self.cells / 20
    }

    /// Clients that are kept for their hits, and as many for their requests.
    pub(super) fn heavy_clients(self) -> usize {
        self.clients / 8
    }

    /// Paths: those of all cells and of what was let go, and some that only have a name.
    pub(super) fn paths(self) -> usize {
        self.cells * 3 / 2
    }

    /// Counts of requests in minutes, for rules with a `window`: 8 MB, and 5 MB of JSON.
    pub(super) fn minutes(self) -> usize {
        self.cells * 2
    }

    /// The same behind a prune: each may keep the name of a client or a path, and these must fit beside all others.
    pub(super) fn minutes_after_prune(self) -> usize {
        self.cells.min(self.clients) / 4
    }

    /// Cells that a tally may hold; less once it is not exact any more, as a prune needs room for itself.
    pub(super) fn max_cells(self, tally: &Tally) -> usize {
        if tally.error_floor.is_zero() { self.cells } else { self.cells * 3 / 5 }
    }

    /// Whether a tally holds more.
    pub(super) fn is_exceeded(self, tally: &Tally) -> bool {
        tally.cells.len() > self.max_cells(tally)
            || tally.names.paths.keys().len() > self.paths()
            || tally.names.clients.len() > self.clients
    }
}

/// The most that any key may have had that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErrorFloor {
    /// Hits of a pair of a client and a path.
    pub pairs: u64,
    /// Hits of a client.
    pub clients: u64,
    /// Requests of a client.
    pub requests: u64,
    /// Hits of a path.
    pub paths: u64,
}

impl ErrorFloor {
    pub(super) fn is_zero(self) -> bool {
        self == Self::default()
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            pairs: self.pairs + other.pairs,
            clients: self.clients + other.clients,
            requests: self.requests + other.requests,
            paths: self.paths + other.paths,
        }
    }
}

/// By how much a tally that is not exact may be too low: of any key, there or not, the truth is at most so much above what
/// is counted, and a key with more than that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErrorBound {
    /// Hits of a pair of a client and a path.
    pub pairs: u64,
    /// Hits of a client.
    pub clients: u64,
    /// Requests of a client.
    pub requests: u64,
    /// Hits of a path.
    pub paths: u64,
    /// Hits that no pair holds any more.
    pub rest_hits: u64,
    /// Requests that rules with a `window` do not count any more.
    pub uncounted: u64,
}

impl Tally {
    /// An empty one that holds no more than its budget, once it has names and is merged. One without a budget, as by
    /// default, is always exact.
    #[must_use]
    pub fn with_budget(budget: Budget) -> Self {
        Self { budget: Some(budget), ..Self::default() }
    }

    /// How far it is from exact; `None` where it is exact.
    #[must_use]
    pub fn error_bound(&self) -> Option<ErrorBound> {
        let hits = |views: &mut dyn Iterator<Item = CellView<'_>>| views.map(|view| view.cell.hits).sum::<u64>();
        let rest_hits = hits(&mut self.cells().filter(CellView::is_other));
        let in_overflow = hits(&mut self.overflow_cells().filter(|view| !view.is_other()));
        let most = |floor: u64, errors: &mut dyn Iterator<Item = u64>| errors.fold(floor, u64::max);
        let bound = ErrorBound {
            pairs: most(self.error_floor.pairs, &mut self.cells.iter().chain(self.overflow.iter()).map(|(_, rest)| rest.error())),
            clients: most(self.error_floor.clients, &mut self.clients.iter().map(|count| count.error)),
            requests: most(self.error_floor.requests, &mut self.clients.iter().map(|count| count.missed)),
            paths: most(self.error_floor.paths, &mut self.path_errors.iter().copied()),
            // What was read back may count more in the overflow.
            rest_hits: rest_hits.saturating_sub(in_overflow),
            uncounted: self.minutes.dropped(),
        };
        (bound != ErrorBound::default()).then_some(bound)
    }

    /// The most that any key may have had that is not there.
    #[must_use]
    pub fn error_floor(&self) -> ErrorFloor {
        self.error_floor
    }

    /// The same of all paths, by number; those that had none may be missing.
    #[must_use]
    pub fn path_errors(&self) -> &[u64] {
        &self.path_errors
    }

    /// Hits that a path may have had besides those of its cells and [`path_cells`](Self::path_cells).
    #[must_use]
    pub fn path_error(&self, path: u32) -> u64 {
        self.path_errors.get(path as usize).copied().unwrap_or(0)
    }
}
