//! The overflow: what a client and a path, a client, or a path had besides the [`KINDS`](super::budget::KINDS) cells that a prune
//! keeps of it.
//!
//! A prune lets go of these cells: their hits go to another client or path, or to none. The overflow counts them a second time, for
//! their owner: its row is exact with it. A cell of the overflow has no input, host and size, or the overflow would itself be of as
//! many cells as there are inputs. So it is no evidence of what a site answers, and no part of any sum over all cells.

use foldhash::{HashMap, HashSet};

use super::cell::{Cell, CellKey};
use super::table::CellTable;
use crate::intern::SymbolTables;

type Cells = Vec<(CellKey, Cell)>;

/// Whose cells one of the overflow exceeds.
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

/// The overflow while a prune changes it.
pub(super) struct OverflowUpdate(CellTable);

/// What one pair, client or path has in the overflow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OverflowWeight {
    pub(super) hits: u64,
    /// Hits that the pair may have had besides.
    pub(super) error: u64,
}

impl OverflowUpdate {
    pub(super) fn new(cells: CellTable) -> Self {
        Self(cells)
    }

    /// What each pair has, by [`CellKey::pair`].
    pub(super) fn pair_weights(&self) -> HashMap<u64, OverflowWeight> {
        let mut weights: HashMap<u64, OverflowWeight> = HashMap::default();
        for (counts, rest) in self.0.iter().filter(|(counts, _)| counts.key.is_pair()) {
            let weight = weights.entry(counts.key.pair()).or_default();
            weight.hits += counts.hits;
            weight.error = rest.error();
        }
        weights
    }

    /// Adds the cells that a prune let go of owners of one kind that stay, and drops those of owners that do not. `kept` is what
    /// stays of the owners of that kind, and `loose` what does not. The hits that no owner holds any more go to `count_lost`.
    pub(super) fn add_dropped(&mut self, owner: OverflowOwner, kept: &Cells, loose: &Cells, mut count_lost: impl FnMut(&CellKey, u64)) {
        let stays: HashSet<u64> = kept.iter().map(|(key, _)| key.pair()).collect();
        let goes = |(key, _): &(CellKey, Cell)| OverflowOwner::from_key(key) == owner && !stays.contains(&key.pair());
        let (gone, left): (Cells, Cells) = std::mem::take(&mut self.0).into_cells().partition(goes);
        self.0 = left.into_iter().collect();
        for (key, cell) in &gone {
            count_lost(key, cell.hits);
        }
        for (key, cell) in loose {
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
