//! The overflow of a tally: the hits of a pair, a client or a path beyond the
//! [`MAX_CELLS_PER_KEY`](super::budget::MAX_CELLS_PER_KEY) cells that a prune keeps.
//!
//! A prune evicts these cells: their hits move to another client or path, or to none. The overflow counts them a second
//! time for their owner, so that the owner's row stays exact. Its cells have no input, host and size; otherwise it
//! would need as many cells as there are inputs. So they are no evidence of a site's responses, and no part of a sum
//! over all cells.

use foldhash::{HashMap, HashSet};

use super::cell::{Cell, CellKey};
use super::table::CellTable;
use crate::intern::SymbolTables;

type Cells = Vec<(CellKey, Cell)>;

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

/// The overflow during a prune.
pub(super) struct OverflowUpdate(CellTable);

/// The overflow of one pair, client or path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OverflowWeight {
    pub(super) hits: u64,
    /// The most hits of the pair that may be uncounted.
    pub(super) error: u64,
}

impl OverflowUpdate {
    pub(super) fn new(cells: CellTable) -> Self {
        Self(cells)
    }

    /// The overflow of each pair, by [`CellKey::pair`].
    pub(super) fn pair_weights(&self) -> HashMap<u64, OverflowWeight> {
        let mut weights: HashMap<u64, OverflowWeight> = HashMap::default();
        for (counts, rest) in self.0.iter().filter(|(counts, _)| counts.key.is_pair()) {
            let weight = weights.entry(counts.key.pair()).or_default();
            weight.hits += counts.hits;
            weight.error = rest.error();
        }
        weights
    }

    /// Adds the evicted cells of owners that stay, and drops the overflow of owners that do not. `kept` and `dropped` are
    /// the kept and the evicted cells of all owners of this kind. Calls `count_lost` for hits that no owner counts any
    /// more.
    pub(super) fn add_dropped(&mut self, owner: OverflowOwner, kept: &Cells, dropped: &Cells, mut count_lost: impl FnMut(&CellKey, u64)) {
        let stays: HashSet<u64> = kept.iter().map(|(key, _)| key.pair()).collect();
        let goes = |(key, _): &(CellKey, Cell)| OverflowOwner::from_key(key) == owner && !stays.contains(&key.pair());
        let (gone, left): (Cells, Cells) = std::mem::take(&mut self.0).into_cells().partition(goes);
        self.0 = left.into_iter().collect();
        for (key, cell) in &gone {
            count_lost(key, cell.hits);
        }
        for (key, cell) in dropped {
            if stays.contains(&key.pair()) {
                self.0.insert(key.overflow(), cell.clone());
            } else {
                count_lost(key, cell.hits);
            }
        }
    }

    pub(super) fn into_cells(self) -> Cells {
        self.0.into_cells().collect()
    }
}
