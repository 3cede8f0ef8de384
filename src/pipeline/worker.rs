//! What each thread keeps for itself while it works.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use crate::engine::Scratch;
use crate::tally::Tally;

/// The workers of a pool, by thread. A lock is held for a run of lines at a time and never waited for: each thread takes
/// its own.
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

    /// The scratch of the thread that asks.
    pub(super) fn scratch(&self) -> MutexGuard<'_, Scratch> {
        own(&self.mine().scratch)
    }

    /// The tally of the thread that asks.
    pub(super) fn tally(&self) -> MutexGuard<'_, Tally> {
        own(&self.mine().tally)
    }

    fn mine(&self) -> &Worker {
        &self.each[rayon::current_thread_index().unwrap_or(0)]
    }

    /// All tallies in one.
    pub(super) fn into_tally(self) -> Tally {
        let tally = |worker: Worker| worker.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.each.into_par_iter().map(tally).reduce(Tally::default, |mut all, other| {
            all.merge(other);
            all
        })
    }
}

/// A lock whose owner cannot have left half a change behind: a panic ends the program.
pub(super) fn own<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
