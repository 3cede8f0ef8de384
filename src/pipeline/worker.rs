//! What each thread keeps for itself while it works.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use crate::engine::Scratch;
use crate::tally::Tally;

/// The workers of a pool, by thread. A lock is held for a run of lines at a time, and hardly ever waited for: each thread
/// takes its own.
#[derive(Debug)]
pub(super) struct Workers {
    each: Vec<Worker>,
}

#[derive(Debug, Default)]
struct Worker {
    scratch: Mutex<Scratch>,
    tally: Mutex<Tally>,
}

impl Workers {
    pub(super) fn new(threads: usize) -> Self {
        Self { each: (0..threads).map(|_| Worker::default()).collect() }
    }

    /// The number of the worker of the thread that asks.
    pub(super) fn mine() -> usize {
        rayon::current_thread_index().unwrap_or(0)
    }

    /// A worker's scratch.
    pub(super) fn scratch(&self, worker: usize) -> MutexGuard<'_, Scratch> {
        own(&self.each[worker].scratch)
    }

    /// A worker's tally; its numbers are the names in the scratch.
    pub(super) fn tally(&self, worker: usize) -> MutexGuard<'_, Tally> {
        own(&self.each[worker].tally)
    }

    /// All tallies in one.
    pub(super) fn into_tally(self) -> Tally {
        let merge = |mut all: Tally, other| {
            all.merge(other);
            all
        };
        self.each.into_par_iter().map(Worker::into_tally).reduce_with(merge).unwrap_or_default()
    }
}

impl Worker {
    fn into_tally(self) -> Tally {
        let scratch = self.scratch.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.tally.into_inner().unwrap_or_else(PoisonError::into_inner).named(scratch.names)
    }
}

/// A lock whose owner cannot have left half a change behind: a panic ends the program.
pub(super) fn own<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
