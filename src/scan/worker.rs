//! The state and tally of each thread, and how full tallies are merged.
//!
//! The tally of a worker is exact. When it is full, it is merged into the shared tally between two
//! chunks. Only the shared tally evicts entries, so the accuracy of a report does not depend on the
//! number of threads.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::collections::intern::SymbolTables;
use crate::engine::{SharedCache, WorkerState};
use crate::formats::reader::LogReader;
use crate::log::client::Ipv6Prefix;
use crate::os::system::lock;
use crate::tally::{Budget, Tally};

/// The number of cells, clients or paths that all workers may hold together. Each of two workers
/// may hold just more cells than the standard [`Budget`] keeps, so that a tally that stays exact is
/// merged once, at the end.
const TOTAL_CAPACITY: usize = 2 * 86_000;
/// The largest and the smallest capacity of one worker.
const MAX_WORKER_CAPACITY: usize = TOTAL_CAPACITY / 2;
const MIN_WORKER_CAPACITY: usize = 1 << 12;

/// The bytes of text that all workers may hold together: with the 250 bytes that a cell of a real
/// site has, that many cells of [`TOTAL_CAPACITY`] fit. With a third of it, a scan of ordinary logs
/// merges so often that it takes a tenth longer.
const TOTAL_TEXT: usize = Budget::STANDARD.text * 3 / 2;

/// The workers of a pool, by thread. A lock is held for one chunk at a time and is rarely
/// contended, because each thread uses its own worker.
#[derive(Debug)]
pub(super) struct WorkerPool {
    each: Vec<Worker>,
    /// The tallies that full workers have flushed.
    merged: Mutex<Tally>,
    /// The capacity of a worker.
    capacity: usize,
    /// The merged tally has evicted entries. Workers then flush earlier, as much more data is
    /// expected.
    has_evicted: AtomicBool,
}

#[derive(Debug, Default)]
struct Worker {
    state: Mutex<WorkerState>,
    tally: Mutex<Tally>,
    log_reader: Mutex<LogReader>,
    /// The number of findings that use IDs of the state and are not tallied yet.
    in_flight: AtomicUsize,
}

/// Guards findings between the scan and the tally: their IDs must not be reassigned. Dropped when
/// they are tallied or discarded.
#[derive(Debug)]
pub(super) struct InFlightGuard<'w>(&'w AtomicUsize);

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl WorkerPool {
    /// Creates workers that hand in their tallies to `merged`, which is empty and has a budget.
    pub(super) fn new(threads: usize, merged: Tally) -> Self {
        let capacity =
            (TOTAL_CAPACITY / threads.max(1)).clamp(MIN_WORKER_CAPACITY, MAX_WORKER_CAPACITY);
        Self::with_capacity(threads, merged, capacity)
    }

    /// Counts clients by this IPv6 prefix.
    pub(super) fn with_prefix(self, prefix: Option<Ipv6Prefix>) -> Self {
        for worker in &self.each {
            lock(&worker.state).names = SymbolTables::with_prefix(prefix);
        }
        self
    }

    fn with_capacity(threads: usize, merged: Tally, capacity: usize) -> Self {
        // A worker that hands in a full tally starts with empty caches, so a single one needs them
        // too: they have its earlier verdicts.
        let shared = Arc::<SharedCache>::default();
        let worker = || Worker {
            state: Mutex::new(WorkerState::with_shared_cache(Arc::clone(&shared))),
            ..Worker::default()
        };
        Self {
            each: (0..threads).map(|_| worker()).collect(),
            merged: Mutex::new(merged),
            capacity,
            has_evicted: AtomicBool::new(false),
        }
    }

    /// The number of the current thread's worker.
    pub(super) fn current_index() -> usize {
        rayon::current_thread_index().unwrap_or(0)
    }

    /// The state of a worker.
    pub(super) fn worker_state(&self, worker: usize) -> MutexGuard<'_, WorkerState> {
        lock(&self.each[worker].state)
    }

    /// The reader of a worker.
    pub(super) fn log_reader(&self, worker: usize) -> MutexGuard<'_, LogReader> {
        lock(&self.each[worker].log_reader)
    }

    /// The tally of a worker; its IDs refer to the names in the state.
    pub(super) fn tally(&self, worker: usize) -> MutexGuard<'_, Tally> {
        lock(&self.each[worker].tally)
    }

    /// Marks findings of a worker as not tallied yet. Must be called while its state is
    /// locked.
    pub(super) fn in_flight(&self, worker: usize, _held: &WorkerState) -> InFlightGuard<'_> {
        let in_flight = &self.each[worker].in_flight;
        in_flight.fetch_add(1, Ordering::Relaxed);
        InFlightGuard(in_flight)
    }

    /// Flushes the tally of a worker if it is full and no findings are in flight.
    pub(super) fn flush_if_full(&self, worker: usize) {
        let text = TOTAL_TEXT / self.each.len().max(2);
        let has_evicted = self.has_evicted.load(Ordering::Relaxed);
        let [capacity, text] =
            [self.capacity, text].map(|full| if has_evicted { full / 3 } else { full });
        if let Some(full) = self.each[worker].take_full(capacity, text) {
            let mut merged = lock(&self.merged);
            merged.merge_deferred(full);
            let has_evicted = !merged.is_exact() || merged.unmatched().level() > 0;
            self.has_evicted.store(has_evicted, Ordering::Relaxed);
        }
    }

    /// The bytes that its tallies take, about.
    pub(super) fn bytes(&self) -> usize {
        let worker =
            |worker: &Worker| lock(&worker.state).names.all_bytes() + lock(&worker.tally).bytes();
        lock(&self.merged).bytes() + self.each.iter().map(worker).sum::<usize>()
    }

    /// Merges all tallies, one after the other to limit memory.
    pub(super) fn into_tally(self) -> Tally {
        let mut merged = mem::take(&mut *lock(&self.merged));
        for worker in self.each {
            merged.merge_deferred(worker.take_tally());
        }
        merged.enforce_budget();
        merged
    }
}

impl Worker {
    /// Takes the tally if it has this many entries of a kind, or this many bytes of text.
    fn take_full(&self, capacity: usize, text: usize) -> Option<Tally> {
        let mut worker_state = lock(&self.state);
        let mut tally = lock(&self.tally);
        let names = &worker_state.names;
        let of_names = [names.clients.len(), names.paths.keys().len()];
        let counts = [
            tally.len(),
            tally.minutes().len(),
            tally.app_sites(),
            tally.unmatched().len(),
        ];
        let is_full = counts
            .into_iter()
            .chain(of_names)
            .any(|count| count >= capacity)
            || names.bytes() + tally.held_bytes() >= text;
        // Findings can only get in flight while the state is locked, which it is here.
        let is_idle = self.in_flight.load(Ordering::Acquire) == 0;
        (is_full && is_idle).then(|| mem::take(&mut *tally).with_names(worker_state.reset()))
    }

    fn take_tally(&self) -> Tally {
        let names = mem::take(&mut lock(&self.state).names);
        mem::take(&mut *lock(&self.tally)).with_names(names)
    }
}

#[cfg(test)]
mod tests {
    use crate::log::finding::{Findings, UnmatchedAnswer};
    use crate::scan::worker::*;
    use crate::tally::LinePosition;

    const PLACE: LinePosition = LinePosition {
        input: 0,
        chunk: 0,
        offset: 0,
        line: 0,
    };

    /// Findings of one worker in requests of these clients.
    fn find<'w>(workers: &'w WorkerPool, clients: &[&str]) -> (Findings, InFlightGuard<'w>) {
        let mut worker_state = workers.worker_state(0);
        let mut findings = Findings::default();
        let requests = clients.iter().map(|client| {
            (
                worker_state.names.clients.intern(client.as_bytes()),
                UnmatchedAnswer::default(),
            )
        });
        findings.requests = requests.collect();
        let in_flight = workers.in_flight(0, &worker_state);
        (findings, in_flight)
    }

    #[test]
    fn ids_are_stable_while_findings_are_in_flight() {
        let workers = WorkerPool::with_capacity(1, Tally::with_budget(Budget::STANDARD), 2);
        let first = find(&workers, &["192.0.2.1", "192.0.2.2"]);
        let second = find(&workers, &["192.0.2.2", "192.0.2.3"]);
        for (findings, in_flight) in [second, first] {
            assert!(
                !workers.worker_state(0).names.is_empty(),
                "handed in before its findings were tallied"
            );
            workers.tally(0).add_findings(&findings, PLACE);
            drop(in_flight);
            workers.flush_if_full(0);
        }
        assert!(
            workers.worker_state(0).names.is_empty(),
            "full, and not handed in"
        );
        let (findings, in_flight) = find(&workers, &["192.0.2.3"]);
        workers.tally(0).add_findings(&findings, PLACE);
        drop(in_flight);
        let tally = workers.into_tally();
        let mut counts: Vec<_> = (0..)
            .zip(tally.client_counts())
            .map(|(n, count)| (tally.client(n).to_string(), count.requests))
            .collect();
        counts.sort_unstable();
        assert_eq!(
            counts,
            [
                ("192.0.2.1".to_owned(), 1),
                ("192.0.2.2".to_owned(), 2),
                ("192.0.2.3".to_owned(), 2)
            ]
        );
    }

    #[test]
    fn each_of_two_workers_can_hold_all_that_is_kept_exactly() {
        let capacity = WorkerPool::new(2, Tally::with_budget(Budget::STANDARD)).capacity;
        // With more than that, memory grows and hardly any merge is saved.
        assert!(
            (Budget::STANDARD.cells + 1..Budget::STANDARD.cells * 6 / 5).contains(&capacity),
            "{capacity}"
        );
    }
}
