//! Cells by their keys, each key once.
//!
//! Counts nothing: equal keys are merged.

use super::cell::{Cell, CellKey};
use crate::intern::Interner;

/// Cells by the number of their key.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    pub(super) keys: Interner<CellKey>,
    pub(super) cells: Vec<Cell>,
}

impl Table {
    /// Adds a cell to the one of the same key.
    pub(super) fn put(&mut self, key: CellKey, cell: Cell) {
        match self.cells.get_mut(self.keys.number(&key, |key| *key) as usize) {
            Some(mine) => mine.merge(cell),
            None => self.cells.push(cell),
        }
    }

    /// All cells with their keys.
    pub(super) fn into_cells(self) -> Vec<(CellKey, Cell)> {
        self.keys.keys().to_vec().into_iter().zip(self.cells).collect()
    }
}

impl FromIterator<(CellKey, Cell)> for Table {
    fn from_iter<I: IntoIterator<Item = (CellKey, Cell)>>(cells: I) -> Self {
        let mut table = Self::default();
        cells.into_iter().for_each(|(key, cell)| table.put(key, cell));
        table
    }
}
