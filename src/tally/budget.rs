//! The limit of a tally's size, and the error bounds of a tally that exceeded it.
//!
//! Up to its budget a tally is exact. Above it, it keeps the largest counts and bounds the error of
//! all others, as the space-saving algorithm does (Metwally, Agrawal, El Abbadi: Efficient
//! Computation of Frequent and Top-k Elements, 2005), but in batches. Pairs of a client and a path,
//! clients, and paths are three independent sets of keys, each with its own *floor*.
//!
//! The floor is the greatest weight of any evicted key. A key that occurs again after its eviction
//! starts with an *error* equal to the floor. So the true count of a key that is present lies
//! between its count and its count plus its error; the true count of an absent key lies between
//! zero and the floor. A prune keeps M or more keys, those of greatest weight (hits plus error),
//! and raises the floor to the greatest weight that it evicts.
//!
//! **The floor is at most N / M for N hits.** Let each key hold max(0, weight - floor). A hit adds
//! at most 1 to the sum over all keys, a new key starts with its one hit only, and a prune that
//! raises the floor by d subtracts d from each of the M keys that it keeps, because each of them
//! weighs at least as much as any evicted key. The sum is never negative, so M times the floor is
//! at most N. A merge adds the floors of both tallies, and a key that is absent in one of them
//! takes the floor of that one as its error: N1 / M + N2 / M is again N / M.
//!
//! The hits of an evicted pair stay with its client and its path, and those of an evicted client
//! stay in cells without a client. So the hits of all cells together are always all hits, by rules,
//! status, input and host. Totals and rows of rules stay exact, with one exception: a rule that
//! counts the distinct paths of a client uses only the pairs that are present.
//!
//! A prune keeps at most [`MAX_CELLS_PER_KEY`] cells of a pair; otherwise the inputs, hosts and
//! sizes of one path could fill the budget. The *overflow* counts the hits of the other cells by
//! rules, status and method, without input, host and size; the same holds for clients and paths.
//! The overflow has its own limit, [`overflow`](Budget::overflow), and only hits beyond it become
//! errors. So one request that is in 100,000 logs is one pair with all its hits. The weight of a
//! key includes its hits in the overflow.
//!
//! **Texts have a budget in bytes.** A client chooses their lengths, so a tally is also pruned when
//! its texts exceed [`text`](Budget::text), however few its cells are. No text of a cell that is
//! kept is cut. Instead, a cell whose texts are longer than the average that the budget allows
//! ([`text_per_cell`](Budget::text_per_cell)) takes the capacity of several: M is lower where keys
//! are long. The rule of eviction stays the same: the lightest go first, and rare answers last.
//! Only the samples of cells that hold evicted hits [are cut](super::cell::MAX_CUT_SAMPLE), because
//! their hits stay in any case.
//!
//! A prune reads all cells, so a scan or a merge prunes a tally only at
//! [`slack_cells`](Budget::slack_cells), and once more at its end.
//!
//! **Requests for unknown names go first.** They are hits only if their client proves to be a
//! prober. So a prune first drops those of clients without any other hit, which are nearly all of
//! an ordinary log, and counts them as requests that no rule matched. If the rest fits, the tally
//! stays exact. Those of clients with a hit stay within the budget as all hits do.
//!
//! Whether a tally is exact depends on what was counted, not on how it was split: either the whole
//! exceeds the budget, or no part of it did. Above the budget, the order of the parts decides which
//! light keys stay and how high the floors are. Heavy keys stay in any order: a key with more than
//! N / M hits is always present.

use foldhash::{HashMap, HashSet};

use super::cell::CellKey;
use super::table::CellTable;
use super::{CellView, Tally};
use crate::collections::intern::SymbolTables;
use crate::log::finding::RuleId;

/// The limit of a tally's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Cells: a client, a path, a list of rules and a kind of response.
    pub cells: usize,
    /// Clients, with and without hits.
    pub clients: usize,
    /// Bytes of all texts: the lines of samples, paths, hosts, and clients without an address.
    pub text: usize,
}

/// The most cells of one pair, one client or one path that a prune keeps, and again the most in its
/// overflow. Those with the fewest hits are evicted first.
pub(super) const MAX_CELLS_PER_KEY: usize = 16;

/// How many times its budget of names a tally may hold until it is pruned. A prune reads all cells
/// and keeps about half the budget.
const SLACK: usize = 2;

/// The most sites, of all apps together, whose evidence a prune keeps: 4 MB. A client may invent
/// any number of host names.
pub(super) const MAX_APP_SITES: usize = 1 << 15;

impl Budget {
    /// The default. A report takes about 1.3 KB per cell while it is built, and the text of its
    /// cells once; a run of two threads stays below 208 MiB in all. On real sites, the texts of a
    /// cell have 250 bytes on average.
    pub const STANDARD: Self = Self {
        cells: 85_000,
        clients: 200_000,
        text: 32 << 20,
    };

    /// The bytes of text that a cell may have on average.
    pub(super) fn text_per_cell(self) -> usize {
        (self.text / self.cells).max(1)
    }

    /// The capacity that a cell with this many bytes of text takes.
    pub(super) fn capacity_of(self, text: usize) -> usize {
        text.div_ceil(self.text_per_cell()).max(1)
    }

    /// Cells of pairs that are kept for their weight.
    pub(super) fn pairs(self) -> usize {
        self.cells / 4
    }

    /// Further cells of pairs that are kept because they were answered.
    pub(super) fn answered(self) -> usize {
        self.cells / 10
    }

    /// Cells of clients that hold evicted pairs, and as many of paths.
    pub(super) fn folded(self) -> usize {
        self.cells / 8
    }

    /// Cells of the overflow.
    pub(super) fn overflow(self) -> usize {
        self.cells / 8
    }

    /// Cells without a client and a path.
    pub(super) fn unattributed(self) -> usize {
        self.cells / 20
    }

    /// Clients that are kept for their hits, and as many for their requests.
    pub(super) fn heavy_clients(self) -> usize {
        self.clients / 8
    }

    /// Paths: those of all cells and of evicted pairs, and some with a name only.
    pub(super) fn paths(self) -> usize {
        self.cells * 3 / 2
    }

    /// Bytes of clients that are all kept, whether they have cells or not, and as many of paths.
    pub(super) fn text_of_names(self) -> usize {
        self.text / 4
    }

    /// Counts per minute for rules with a `window`: 8 MB, or 5 MB of JSON.
    pub(super) fn minutes(self) -> usize {
        self.cells * 2
    }

    /// The minutes after a prune. Each count may keep the name of a client or a path, and these
    /// names must fit into the budget too.
    pub(super) fn minutes_after_prune(self) -> usize {
        self.cells.min(self.clients) / 4
    }

    /// The most cells before a prune. It is lower once the tally is not exact, because a prune
    /// needs space for its own cells.
    pub(super) fn max_cells(self, tally: &Tally) -> usize {
        if tally.error_floor.is_zero() {
            self.cells
        } else {
            self.cells * 3 / 5
        }
    }

    /// Whether the cells take more than a prune keeps, by their number or by their texts.
    pub(super) fn are_cells_exceeded(self, tally: &Tally) -> bool {
        tally.cells.len() > self.max_cells(tally) || tally.text_bytes() > self.text
    }

    /// Whether a tally exceeds the budget.
    pub(super) fn is_exceeded(self, tally: &Tally) -> bool {
        self.is_exceeded_by(tally, self.max_cells(tally), 1)
    }

    /// The most cells between two prunes. A table has space for a power of two, and 127,500 is just
    /// below one: a cell takes 300 bytes until the report is built.
    pub(super) fn slack_cells(self) -> usize {
        self.cells * 3 / 2
    }

    /// Whether a tally exceeds what it may hold between two prunes.
    pub(super) fn is_slack_exceeded(self, tally: &Tally) -> bool {
        self.is_exceeded_by(tally, self.slack_cells(), SLACK)
    }

    fn is_exceeded_by(self, tally: &Tally, cells: usize, times: usize) -> bool {
        tally.cells.len() > cells
            // Less slack than for cells: a prune copies the texts that stay.
            || tally.text_bytes() > (self.text / 4).saturating_mul(times + 3)
            || tally.app_evidence.len() > MAX_APP_SITES * times
            || tally.names.paths.keys().len() > self.paths() * times
            || tally.names.clients.len() > self.clients * times
    }
}

/// The most that an absent key may have had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
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

/// The error bounds of a tally or a report that is not exact, because memory was limited. Sums over
/// all hits are exact: rows of rules, and totals except for the number of clients and paths. The
/// true count of any key is at most this much above its count, and every key with a greater true
/// count is present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, schemars::JsonSchema, serde::Serialize)]
#[schemars(
    rename = "ApproximateObject",
    description = "How far a count may be too low, in hits unless said otherwise."
)]
pub struct ErrorBound {
    /// Most hits that a row of `pairs` may lack.
    pub pairs: u64,
    /// Most hits that a row of `clients` may lack.
    pub clients: u64,
    /// Most requests that a row of `clients` may lack.
    pub requests: u64,
    /// Most hits that a row of `paths` may lack.
    pub paths: u64,
    /// Hits that no row of `pairs` counts.
    pub rest_hits: u64,
    /// Requests that no minute of a flood counts.
    pub uncounted: u64,
}

impl Tally {
    /// An empty tally that keeps to a budget, once it has names and is merged. A tally without a
    /// budget, the default, is always exact.
    #[must_use]
    pub fn with_budget(budget: Budget) -> Self {
        Self {
            budget: Some(budget),
            ..Self::default()
        }
    }

    /// Names the rules of unknown requests: above the budget, the cells of these rules alone are
    /// dropped where their client has no other, and counted as requests that no rule matched.
    #[must_use]
    pub(crate) fn with_unknown(self, rules: &[RuleId]) -> Self {
        Self {
            unknown: rules.to_vec(),
            ..self
        }
    }

    /// The bytes of its texts, and of what it stores for each.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        let tables = [&self.cells, &self.by_path, &self.overflow];
        self.names.bytes() + tables.into_iter().map(CellTable::text_bytes).sum::<usize>()
    }

    /// Its error bounds; `None` where it is exact.
    #[must_use]
    pub fn error_bound(&self) -> Option<ErrorBound> {
        let hits = |views: &mut dyn Iterator<Item = CellView<'_>>| {
            views.map(|view| view.cell.hits).sum::<u64>()
        };
        let rest_hits = hits(&mut self.cells().filter(CellView::is_other));
        let in_overflow = hits(&mut self.overflow_cells().filter(|view| !view.is_other()));
        let most = |floor: u64, errors: &mut dyn Iterator<Item = u64>| errors.fold(floor, u64::max);
        let bound = ErrorBound {
            pairs: most(
                self.error_floor.pairs,
                &mut self
                    .cells
                    .iter()
                    .chain(self.overflow.iter())
                    .map(|(_, sample)| sample.error()),
            ),
            clients: most(
                self.error_floor.clients,
                &mut self.clients.iter().map(|count| count.error),
            ),
            requests: most(
                self.error_floor.requests,
                &mut self.clients.iter().map(|count| count.missed),
            ),
            paths: most(
                self.error_floor.paths,
                &mut self.path_errors.iter().copied(),
            ),
            // A tally that was read from a snapshot may count more in the overflow.
            rest_hits: rest_hits.saturating_sub(in_overflow),
            uncounted: self.minutes.dropped(),
        };
        (bound != ErrorBound::default()).then_some(bound)
    }

    /// The most that an absent key may have had.
    #[must_use]
    pub fn error_floor(&self) -> ErrorFloor {
        self.error_floor
    }

    /// The most uncounted hits of each path, by number; paths without any may be absent.
    #[must_use]
    pub fn path_errors(&self) -> &[u64] {
        &self.path_errors
    }

    /// The most hits of a path that its cells and its [`path_cells`](Self::path_cells) may lack.
    #[must_use]
    pub fn path_error(&self, path: u32) -> u64 {
        self.path_errors.get(path as usize).copied().unwrap_or(0)
    }
}

/// The kind of key that an overflow cell belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OverflowOwner {
    Pair,
    Client,
    Path,
}

impl OverflowOwner {
    /// The owner of a cell of the overflow.
    pub(super) fn from_key(key: &CellKey) -> Self {
        match key.client {
            _ if key.is_pair() => Self::Pair,
            SymbolTables::OTHER => Self::Path,
            _ => Self::Client,
        }
    }
}

/// The overflow of one pair, client or path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OverflowWeight {
    pub(super) hits: u64,
    /// The most hits of the pair that may be uncounted.
    pub(super) error: u64,
}

/// The overflow during a prune.
impl CellTable {
    /// The overflow of each pair, by [`CellKey::pair`].
    pub(super) fn pair_weights(&self) -> HashMap<u64, OverflowWeight> {
        let mut weights: HashMap<u64, OverflowWeight> = HashMap::default();
        for (counts, sample) in self.iter().filter(|(counts, _)| counts.key.is_pair()) {
            let weight = weights.entry(counts.key.pair()).or_default();
            weight.hits += counts.hits;
            weight.error = sample.error();
        }
        weights
    }

    /// Adds the evicted cells of owners that stay, and drops the overflow of owners that do not.
    /// `kept` and `dropped` are the kept and the evicted cells of all owners of this kind, in
    /// `table`. Calls `count_lost` for hits that no owner counts any more.
    pub(super) fn add_dropped(
        &mut self,
        owner: OverflowOwner,
        table: &CellTable,
        [kept, dropped]: [&[u32]; 2],
        mut count_lost: impl FnMut(&CellKey, u64),
    ) {
        let stays: HashSet<u64> = kept
            .iter()
            .map(|&number| table.key(number).pair())
            .collect();
        let is_gone =
            |key: &CellKey| OverflowOwner::from_key(key) == owner && !stays.contains(&key.pair());
        let (evicted, kept): (Vec<u32>, Vec<u32>) = self
            .numbers()
            .partition(|&number| is_gone(self.key(number)));
        if !evicted.is_empty() {
            for number in evicted {
                count_lost(self.key(number), self.hits(number));
            }
            self.retain(kept, |key| *key, None);
        }
        for &number in dropped {
            let key = table.key(number);
            if stays.contains(&key.pair()) {
                self.insert_copy(key.overflow(), table, number);
            } else {
                count_lost(key, table.hits(number));
            }
        }
    }
}
