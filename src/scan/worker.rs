//! What each thread keeps for itself while it works, and what they put together when it becomes much.
//!
//! A worker's tally is exact. A full one goes into the tally of all between two runs of lines, which alone lets go of
//! anything: so whether a report is exact does not depend on how many threads there were.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::any_format::AnyFormatScanner;
use crate::client::Ipv6Prefix;
use crate::engine::{SharedCache, WorkerState};
use crate::intern::SymbolTables;
use crate::tally::{Budget, Tally};

/// What the workers of a pool hold together, in cells, clients or paths, before they put it to the merged.
const TOTAL_CAPACITY: usize = 1 << 17;
/// What one of them may hold at most, and at least.
const MAX_WORKER_CAPACITY: usize = 1 << 16;
const MIN_WORKER_CAPACITY: usize = 1 << 12;

/// The workers of a pool, by thread. A lock is held for a run of lines at a time, and hardly ever waited for: each thread
/// takes its lock.
#[derive(Debug)]
pub(super) struct WorkerPool {
    each: Vec<Worker>,
    /// What full workers handed in.
    merged: Mutex<Tally>,
    /// What one may hold; all where `None`.
    capacity: Option<usize>,
    /// The merged had to let go of something: a part of the capacity will do, as there is much more to come.
    has_evicted: AtomicBool,
}

#[derive(Debug, Default)]
struct Worker {
    scratch: Mutex<WorkerState>,
    tally: Mutex<Tally>,
    scanner: Mutex<AnyFormatScanner>,
    /// Findings that are in the numbers of the scratch and not in the tally yet.
    in_flight: AtomicUsize,
}

/// Findings that are on their way from a scratch to its tally: until they are there, their numbers must stay what they
/// are. Dropped when they have arrived, or when nobody wants them any more.
#[derive(Debug)]
pub(super) struct InFlightGuard<'w>(&'w AtomicUsize);

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl WorkerPool {
    /// So many, who keep to a budget, or to none.
    pub(super) fn new(threads: usize, budget: Option<Budget>) -> Self {
        let capacity = budget.map(|_| (TOTAL_CAPACITY / threads.max(1)).clamp(MIN_WORKER_CAPACITY, MAX_WORKER_CAPACITY));
        Self::with_capacity(threads, budget, capacity)
    }

    /// The same, of clients of whom those of one IPv6 prefix are one.
    pub(super) fn with_prefix(self, prefix: Option<Ipv6Prefix>) -> Self {
        for worker in &self.each {
            lock(&worker.scratch).names = SymbolTables::with_prefix(prefix);
        }
        self
    }

    fn with_capacity(threads: usize, budget: Option<Budget>, capacity: Option<usize>) -> Self {
        let merged = Mutex::new(budget.map_or_else(Tally::default, Tally::with_budget));
        let shared = (threads > 1).then(Arc::<SharedCache>::default);
        let worker =
            || Worker { scratch: Mutex::new(shared.clone().map(WorkerState::with_shared_cache).unwrap_or_default()), ..Worker::default() };
        Self { each: (0..threads).map(|_| worker()).collect(), merged, capacity, has_evicted: AtomicBool::new(false) }
    }

    /// The number of the worker of the thread that asks.
    pub(super) fn current_index() -> usize {
        rayon::current_thread_index().unwrap_or(0)
    }

    /// A worker's scratch.
    pub(super) fn scratch(&self, worker: usize) -> MutexGuard<'_, WorkerState> {
        lock(&self.each[worker].scratch)
    }

    /// Where a worker writes lines down again.
    pub(super) fn scanner(&self, worker: usize) -> MutexGuard<'_, AnyFormatScanner> {
        lock(&self.each[worker].scanner)
    }

    /// A worker's tally; its numbers are the names in the scratch.
    pub(super) fn tally(&self, worker: usize) -> MutexGuard<'_, Tally> {
        lock(&self.each[worker].tally)
    }

    /// Says that findings of a worker are not tallied yet; to be called while its scratch is held.
    pub(super) fn in_flight(&self, worker: usize, _held: &WorkerState) -> InFlightGuard<'_> {
        let in_flight = &self.each[worker].in_flight;
        in_flight.fetch_add(1, Ordering::Relaxed);
        InFlightGuard(in_flight)
    }

    /// Puts what a worker holds to the merged, if it is much and nothing is in_flight.
    pub(super) fn flush_if_full(&self, worker: usize) {
        let Some(capacity) = self.capacity else { return };
        let capacity = if self.has_evicted.load(Ordering::Relaxed) { capacity / 3 } else { capacity };
        if let Some(full) = self.each[worker].take_full(capacity) {
            let mut merged = lock(&self.merged);
            merged.merge(full);
            self.has_evicted.store(!merged.is_exact(), Ordering::Relaxed);
        }
    }

    /// All tallies in one. One after the other, each gone before the next: there may be little capacity.
    pub(super) fn into_tally(self) -> Tally {
        let mut merged = self.merged.into_inner().unwrap_or_else(PoisonError::into_inner);
        for worker in self.each {
            merged.merge(worker.into_tally());
        }
        merged
    }
}

impl Worker {
    fn take_full(&self, capacity: usize) -> Option<Tally> {
        let mut scratch = lock(&self.scratch);
        let mut tally = lock(&self.tally);
        let names = &scratch.names;
        let is_full =
            [tally.len(), tally.minutes().len(), names.clients.len(), names.paths.keys().len()].into_iter().any(|count| count >= capacity);
        // Findings are in_flight only from when the scratch was held.
        let is_idle = self.in_flight.load(Ordering::Acquire) == 0;
        (is_full && is_idle).then(|| mem::take(&mut *tally).with_names(scratch.reset()))
    }

    fn into_tally(self) -> Tally {
        let scratch = self.scratch.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.tally.into_inner().unwrap_or_else(PoisonError::into_inner).with_names(scratch.names)
    }
}

/// A lock whose owner cannot have left half a change behind: a panic ends the program.
pub(super) fn lock<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use crate::finding::Findings;
    use crate::scan::worker::*;
    use crate::tally::LinePosition;

    const PLACE: LinePosition = LinePosition { input: 0, chunk: 0, offset: 0, line: 0 };

    /// What a worker finds in requests of these clients.
    fn find<'w>(workers: &'w WorkerPool, clients: &[&str]) -> (Findings, InFlightGuard<'w>) {
        let mut scratch = workers.scratch(0);
        let mut findings = Findings::default();
        findings.request_clients = clients.iter().map(|client| scratch.names.clients.intern(client.as_bytes())).collect();
        let in_flight = workers.in_flight(0, &scratch);
        (findings, in_flight)
    }

    #[test]
    fn numbers_stay_what_they_are_while_findings_are_underway() {
        let workers = WorkerPool::with_capacity(1, Some(Budget::STANDARD), Some(2));
        let first = find(&workers, &["192.0.2.1", "192.0.2.2"]);
        let second = find(&workers, &["192.0.2.2", "192.0.2.3"]);
        for (findings, in_flight) in [second, first] {
            assert!(!workers.scratch(0).names.is_empty(), "handed in before its findings were tallied");
            workers.tally(0).add_findings(&findings, PLACE);
            drop(in_flight);
            workers.flush_if_full(0);
        }
        assert!(workers.scratch(0).names.is_empty(), "full, and not handed in");
        let (findings, in_flight) = find(&workers, &["192.0.2.3"]);
        workers.tally(0).add_findings(&findings, PLACE);
        drop(in_flight);
        let tally = workers.into_tally();
        let mut counts: Vec<_> = (0..).zip(tally.client_counts()).map(|(n, count)| (tally.client(n).to_string(), count.requests)).collect();
        counts.sort_unstable();
        assert_eq!(counts, [("192.0.2.1".to_owned(), 1), ("192.0.2.2".to_owned(), 2), ("192.0.2.3".to_owned(), 2)]);
    }

    #[test]
    fn without_a_budget_all_stays_where_it_is() {
        let workers = WorkerPool::new(1, None);
        let (findings, in_flight) = find(&workers, &["192.0.2.1"]);
        workers.tally(0).add_findings(&findings, PLACE);
        drop(in_flight);
        workers.flush_if_full(0);
        assert_eq!(workers.scratch(0).names.clients.len(), 1);
    }
}
