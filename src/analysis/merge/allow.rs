//! The entries of allow lists that reports tell of, in one order.

use super::MergeError;
use crate::analysis::snapshot::AllowOrigin;
use crate::rules::AllowList;

/// MergedAllowEntries by file, line and reason.
#[derive(Debug, Default)]
pub(crate) struct MergedAllowEntries {
    each: Vec<AllowOrigin>,
}

impl MergedAllowEntries {
    pub(crate) fn len(&self) -> usize {
        self.each.len()
    }

    /// Adds others; the new numbers of those that were here, and of those that came.
    pub(crate) fn add(&mut self, others: &[AllowOrigin]) -> Result<(Vec<u16>, Vec<u16>), MergeError> {
        let mut all: Vec<AllowOrigin> = self.each.iter().chain(others).cloned().collect();
        all.sort();
        all.dedup();
        if all.len() > usize::from(u16::MAX) {
            return Err(MergeError::TooManyEntries(u16::MAX.into()));
        }
        let number = |entry: &AllowOrigin| all.partition_point(|known| known < entry) as u16;
        let numbers = (self.each.iter().map(number).collect(), others.iter().map(number).collect());
        self.each = all;
        Ok(numbers)
    }

    pub(crate) fn into_list(self) -> AllowList {
        AllowList::from_report(self.each.into_iter().map(|entry| (entry.file, entry.line, entry.reason)))
    }
}
