//! What each thread keeps for itself while it works, and what they put together when it becomes much.
//!
//! A worker's tally is exact. A full one goes into the tally of all between two runs of lines, which alone lets go of
//! anything: so whether a report is exact does not depend on how many threads there were.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::desk::Desk;
use crate::client::Prefix;
use crate::engine::{SharedCache, WorkerState};
use crate::intern::SymbolTables;
use crate::tally::{Budget, Tally};

/// What the workers of a pool hold together, in cells, clients or paths, before they put it to the whole.
const ROOM: usize = 1 << 17;
/// What one of them may hold at most, and at least.
const MOST: usize = 1 << 16;
const LEAST: usize = 1 << 12;

/// The workers of a pool, by thread. A lock is held for a run of lines at a time, and hardly ever waited for: each thread
/// takes its own.
#[derive(Debug)]
pub(super) struct Workers {
    each: Vec<Worker>,
    /// What full workers handed in.
    whole: Mutex<Tally>,
    /// What one may hold; all where `None`.
    room: Option<usize>,
    /// The whole had to let go of something: a part of the room will do, as there is much more to come.
    is_over: AtomicBool,
}

#[derive(Debug, Default)]
struct Worker {
    scratch: Mutex<WorkerState>,
    tally: Mutex<Tally>,
    desk: Mutex<Desk>,
    /// Findings that are in the numbers of the scratch and not in the tally yet.
    underway: AtomicUsize,
}

/// Findings that are on their way from a scratch to its tally: until they are there, their numbers must stay what they
/// are. Dropped when they have arrived, or when nobody wants them any more.
#[derive(Debug)]
pub(super) struct Underway<'w>(&'w AtomicUsize);

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl Workers {
    /// So many, who keep to a budget, or to none.
    pub(super) fn new(threads: usize, budget: Option<Budget>) -> Self {
        let room = budget.map(|_| (ROOM / threads.max(1)).clamp(LEAST, MOST));
        Self::with_room(threads, budget, room)
    }

    /// The same, of clients of whom those of one IPv6 prefix are one.
    pub(super) fn counting(self, prefix: Option<Prefix>) -> Self {
        for worker in &self.each {
            own(&worker.scratch).names = SymbolTables::with_prefix(prefix);
        }
        self
    }

    fn with_room(threads: usize, budget: Option<Budget>, room: Option<usize>) -> Self {
        let whole = Mutex::new(budget.map_or_else(Tally::default, Tally::bounded));
        let shared = (threads > 1).then(Arc::<SharedCache>::default);
        let worker =
            || Worker { scratch: Mutex::new(shared.clone().map(WorkerState::with_shared_cache).unwrap_or_default()), ..Worker::default() };
        Self { each: (0..threads).map(|_| worker()).collect(), whole, room, is_over: AtomicBool::new(false) }
    }

    /// The number of the worker of the thread that asks.
    pub(super) fn mine() -> usize {
        rayon::current_thread_index().unwrap_or(0)
    }

    /// A worker's scratch.
    pub(super) fn scratch(&self, worker: usize) -> MutexGuard<'_, WorkerState> {
        own(&self.each[worker].scratch)
    }

    /// Where a worker writes lines down again.
    pub(super) fn desk(&self, worker: usize) -> MutexGuard<'_, Desk> {
        own(&self.each[worker].desk)
    }

    /// A worker's tally; its numbers are the names in the scratch.
    pub(super) fn tally(&self, worker: usize) -> MutexGuard<'_, Tally> {
        own(&self.each[worker].tally)
    }

    /// Says that findings of a worker are not tallied yet; to be called while its scratch is held.
    pub(super) fn underway(&self, worker: usize, _held: &WorkerState) -> Underway<'_> {
        let underway = &self.each[worker].underway;
        underway.fetch_add(1, Ordering::Relaxed);
        Underway(underway)
    }

    /// Puts what a worker holds to the whole, if it is much and nothing is underway.
    pub(super) fn make_room(&self, worker: usize) {
        let Some(room) = self.room else { return };
        let room = if self.is_over.load(Ordering::Relaxed) { room / 3 } else { room };
        if let Some(full) = self.each[worker].take_full(room) {
            let mut whole = own(&self.whole);
            whole.merge(full);
            self.is_over.store(!whole.is_exact(), Ordering::Relaxed);
        }
    }

    /// All tallies in one. One after the other, each gone before the next: there may be little room.
    pub(super) fn into_tally(self) -> Tally {
        let mut whole = self.whole.into_inner().unwrap_or_else(PoisonError::into_inner);
        for worker in self.each {
            whole.merge(worker.into_tally());
        }
        whole
    }
}

impl Worker {
    fn take_full(&self, room: usize) -> Option<Tally> {
        let mut scratch = own(&self.scratch);
        let mut tally = own(&self.tally);
        let names = &scratch.names;
        let is_full =
            [tally.len(), tally.minutes().len(), names.clients.len(), names.paths.keys().len()].into_iter().any(|count| count >= room);
        // Findings are underway only from when the scratch was held.
        let is_idle = self.underway.load(Ordering::Acquire) == 0;
        (is_full && is_idle).then(|| mem::take(&mut *tally).named(scratch.reset()))
    }

    fn into_tally(self) -> Tally {
        let scratch = self.scratch.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.tally.into_inner().unwrap_or_else(PoisonError::into_inner).named(scratch.names)
    }
}

/// A lock whose owner cannot have left half a change behind: a panic ends the program.
pub(super) fn own<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Findings;
    use crate::tally::Place;

    const PLACE: Place = Place { input: 0, chunk: 0, offset: 0, line: 0 };

    /// What a worker finds in requests of these clients.
    fn find<'w>(workers: &'w Workers, clients: &[&str]) -> (Findings, Underway<'w>) {
        let mut scratch = workers.scratch(0);
        let mut findings = Findings::default();
        findings.request_clients = clients.iter().map(|client| scratch.names.clients.intern(client.as_bytes())).collect();
        let underway = workers.underway(0, &scratch);
        (findings, underway)
    }

    #[test]
    fn numbers_stay_what_they_are_while_findings_are_underway() {
        let workers = Workers::with_room(1, Some(Budget::STANDARD), Some(2));
        let first = find(&workers, &["192.0.2.1", "192.0.2.2"]);
        let second = find(&workers, &["192.0.2.2", "192.0.2.3"]);
        for (findings, underway) in [second, first] {
            assert!(!workers.scratch(0).names.is_empty(), "handed in before its findings were tallied");
            workers.tally(0).absorb(&findings, PLACE);
            drop(underway);
            workers.make_room(0);
        }
        assert!(workers.scratch(0).names.is_empty(), "full, and not handed in");
        let (findings, underway) = find(&workers, &["192.0.2.3"]);
        workers.tally(0).absorb(&findings, PLACE);
        drop(underway);
        let tally = workers.into_tally();
        let mut counts: Vec<_> = (0..).zip(tally.client_counts()).map(|(n, count)| (tally.client(n).to_string(), count.requests)).collect();
        counts.sort_unstable();
        assert_eq!(counts, [("192.0.2.1".to_owned(), 1), ("192.0.2.2".to_owned(), 2), ("192.0.2.3".to_owned(), 2)]);
    }

    #[test]
    fn without_a_budget_all_stays_where_it_is() {
        let workers = Workers::new(1, None);
        let (findings, underway) = find(&workers, &["192.0.2.1"]);
        workers.tally(0).absorb(&findings, PLACE);
        drop(underway);
        workers.make_room(0);
        assert_eq!(workers.scratch(0).names.clients.len(), 1);
    }
}
