//! Merges two tallies and their error bounds.
//!
//! Errors and floors change only where one of the two tallies is not exact.

use foldhash::HashMap;

use super::cell::CellKey;
use super::{Budget, ClientCount, ErrorFloor, Tally, client_sample, prune};
use crate::collections::intern::IdRemap;

/// The error bounds of two tallies, taken before the merge.
struct MergedErrors {
    floors: [ErrorFloor; 2],
    /// The number of clients and paths of the first tally.
    known: (usize, usize),
    /// The errors of the second tally's pairs in both, in the numbers of the first one; an absent
    /// pair has the floor.
    pairs: HashMap<u64, [u64; 2]>,
}

impl Tally {
    /// Adds another tally; both must have names. Afterwards a tally with a budget is pruned to it.
    pub fn merge(&mut self, other: Self) {
        self.merge_deferred(other);
        self.enforce_budget();
    }

    /// Merges, but a prune waits until the tally exceeds its budget several times: it takes as long
    /// for one part as for many. The caller [prunes](Self::enforce_budget) at the end.
    pub fn merge_deferred(&mut self, mut other: Self) {
        if self.sample_budget.is_some() {
            client_sample::align(self, &mut other);
        }
        let cells = self.cells.len() + other.cells.len();
        if self
            .budget
            .is_some_and(|budget| cells > budget.slack_cells())
        {
            self.prune_if(Budget::is_exceeded);
        }
        if self.is_untouched() {
            *self = Self {
                budget: self.budget,
                sample_budget: self.sample_budget,
                unknown: std::mem::take(&mut self.unknown),
                ..other
            };
        } else {
            self.merge_all(other);
        }
        self.enforce_time_entries();
        if let Some(budget) = self
            .budget
            .filter(|budget| self.minutes.len() > budget.minutes())
        {
            self.minutes.trim(budget.minutes(), &self.names, |_| 1);
        }
        self.prune_if(Budget::is_slack_exceeded);
        if let Some(bytes) = self.sample_budget {
            client_sample::enforce(self, bytes);
        }
    }

    /// Prunes what exceeds the budget.
    pub fn enforce_budget(&mut self) {
        self.prune_if(Budget::is_exceeded);
        // A tally that was pruned before has space for several times as many cells.
        for table in [&mut self.cells, &mut self.by_path, &mut self.overflow] {
            table.shrink_if_mostly_unused();
        }
    }

    fn prune_if(&mut self, is_exceeded: impl Fn(Budget, &Self) -> bool) {
        if let Some(budget) = self.budget.filter(|budget| is_exceeded(*budget, self)) {
            debug_assert!(
                self.unmatched.is_empty(),
                "a prune would drop them; they have a sample budget"
            );
            prune::prune(self, budget);
        }
    }

    fn is_untouched(&self) -> bool {
        let Self {
            names,
            clients,
            uncounted,
            cells,
            days,
            allowed,
            app_evidence,
            evidence,
            minutes,
            unmatched,
            error_floor,
            by_path,
            overflow,
            ..
        } = self;
        names.is_empty()
            && clients.is_empty()
            && uncounted.is_empty()
            && cells.is_empty()
            && days.is_empty()
            && allowed.is_empty()
            && app_evidence.is_empty()
            && evidence.is_empty()
            && minutes.is_untouched()
            && unmatched.is_empty()
            && error_floor.is_zero()
            && by_path.is_empty()
            && overflow.is_empty()
    }

    /// Whether nothing was evicted.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.error_floor.is_zero()
            && self.by_path.is_empty()
            && self.overflow.is_empty()
            && self.cells.keys().all(CellKey::is_pair)
    }

    /// The error of each pair, once per cell.
    fn pair_errors(&self) -> impl Iterator<Item = (&CellKey, u64)> {
        let cells = self.cells.iter().chain(self.overflow.iter());
        cells
            .filter(|(counts, _)| counts.key.is_pair())
            .map(|(counts, rest)| (&counts.key, rest.error()))
    }

    fn merge_all(&mut self, other: Self) {
        let known = (self.names.clients.len(), self.names.paths.keys().len());
        let new = self.names.merge(&other.names);
        let errors = (!self.is_exact() || !other.is_exact())
            .then(|| MergedErrors::new(self, &other, known, &new));
        if let Some(errors) = &errors {
            errors.merge_clients(self, &other, &new);
            errors.merge_paths(self, &other, &new);
        }
        for (client, count) in new.clients.iter().zip(&other.clients) {
            let sum = self.count_mut(*client);
            sum.requests += count.requests;
            sum.allowed += count.allowed;
            sum.unmatched.merge(count.unmatched);
        }
        for (entry, requests) in (0..).zip(&other.allowed) {
            self.count_allowed(entry, *requests);
        }
        let host = |host: u32| new.hosts[host as usize];
        self.app_evidence.merge(
            &other.app_evidence,
            |(input, its_host)| (input, host(its_host)),
            |client| new.client(client),
        );
        self.evidence
            .merge(&other.evidence, |(input, its_host)| (input, host(its_host)));
        self.scale.merge(&other.scale);
        self.days.merge(&other.days);
        self.cells.merge(
            other.cells,
            |key| remap_key(key, &new),
            Some(&mut self.scale),
        );
        self.by_path
            .merge(other.by_path, |key| remap_key(key, &new), None);
        self.overflow
            .merge(other.overflow, |key| remap_key(key, &new), None);
        self.minutes.merge(other.minutes, &new);
        self.unmatched
            .merge(other.unmatched, &new, &self.names.clients);
        if let Some(errors) = errors {
            errors.merge_pairs(self);
            self.error_floor = errors.floors[0].plus(errors.floors[1]);
        }
    }
}

pub(super) fn remap_key(key: &CellKey, new: &IdRemap) -> CellKey {
    CellKey {
        client: new.client(key.client),
        path: new.path(key.path),
        rules: new.rules[key.rules as usize],
        host: new.hosts[key.host as usize],
        ..*key
    }
}

impl MergedErrors {
    fn new(mine: &Tally, other: &Tally, known: (usize, usize), new: &IdRemap) -> Self {
        let floors = [mine.error_floor, other.error_floor];
        let theirs = other
            .pair_errors()
            .map(|(key, error)| (remap_key(key, new).pair(), [floors[0].pairs, error]));
        let mut pairs: HashMap<u64, [u64; 2]> = theirs.collect();
        for (key, error) in mine.pair_errors() {
            if let Some([of_mine, _]) = pairs.get_mut(&key.pair()) {
                *of_mine = error;
            }
        }
        Self {
            floors,
            known,
            pairs,
        }
    }

    /// A client that only one tally has may have had up to the other tally's floor there.
    fn merge_clients(&self, mine: &mut Tally, other: &Tally, new: &IdRemap) {
        let [floor, others_floor] = self.floors;
        mine.clients
            .resize(mine.names.clients.len(), ClientCount::default());
        let mut shared = vec![false; mine.clients.len()];
        let none = ClientCount::default();
        let counts = other.clients.iter().chain(std::iter::repeat(&none));
        for (&number, count) in new.clients.iter().zip(counts) {
            let is_new = number as usize >= self.known.0;
            let sum = &mut mine.clients[number as usize];
            sum.error += count.error + if is_new { floor.clients } else { 0 };
            sum.missed += count.missed + if is_new { floor.requests } else { 0 };
            shared[number as usize] = true;
        }
        for (sum, _) in mine
            .clients
            .iter_mut()
            .zip(shared)
            .filter(|(_, shared)| !shared)
        {
            sum.error += others_floor.clients;
            sum.missed += others_floor.requests;
        }
    }

    /// Merges the errors of paths.
    fn merge_paths(&self, mine: &mut Tally, other: &Tally, new: &IdRemap) {
        let [floor, others_floor] = self.floors;
        mine.path_errors.resize(mine.names.paths.keys().len(), 0);
        let mut shared = vec![false; mine.path_errors.len()];
        for (&number, error) in new.paths.iter().zip(
            other
                .path_errors
                .iter()
                .copied()
                .chain(std::iter::repeat(0)),
        ) {
            mine.path_errors[number as usize] += error
                + if number as usize >= self.known.1 {
                    floor.paths
                } else {
                    0
                };
            shared[number as usize] = true;
        }
        for (error, _) in mine
            .path_errors
            .iter_mut()
            .zip(shared)
            .filter(|(_, shared)| !shared)
        {
            *error += others_floor.paths;
        }
    }

    /// Merges the errors of pairs. The cells are merged already.
    fn merge_pairs(&self, merged: &mut Tally) {
        let cells = merged
            .cells
            .errors_mut()
            .chain(merged.overflow.errors_mut());
        for (key, sum) in cells.filter(|(key, _)| key.is_pair()) {
            match self.pairs.get(&key.pair()) {
                Some(errors) => *sum = errors.iter().sum(),
                None => *sum += self.floors[1].pairs,
            }
        }
    }
}
