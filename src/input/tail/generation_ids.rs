//! Gives every generation its numbers: the one that names it for good, and the one it goes by within this run.
//!
//! Neither is ever given twice, and a state keeps the first.

use std::collections::HashSet;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The numbers given so far.
#[derive(Debug, Default)]
pub(super) struct GenerationIds {
    next: u32,
    used: HashSet<u64>,
    /// A generation was named since checkpoints were last given out.
    pub(super) fresh: bool,
}

impl GenerationIds {
    /// These names are given already.
    pub(super) fn note(&mut self, generation: u64) {
        self.used.insert(generation);
    }

    /// The next number within this run.
    pub(super) fn next(&mut self) -> u32 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// A name for a generation that begins with `head`: as `scan` gives it, unless another one has it.
    pub(super) fn generation(&mut self, head: &[u8]) -> u64 {
        self.fresh = true;
        let mut name = xxh3_64(head);
        let mut seed = 0;
        // No name is 0: a checkpoint with that one stands for a path without text.
        while name == 0 || !self.used.insert(name) {
            seed += 1;
            name = xxh3_64_with_seed(head, seed);
        }
        name
    }
}
