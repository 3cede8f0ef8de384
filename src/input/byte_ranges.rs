//! Shares a text out among workers: ranges of fixed size, each owning the lines that start behind a newline in it, and
//! the first one the first line too.
//!
//! So a line that starts on the first byte of a range is the one before's, and nobody looks back across a border. Where
//! a line starts and ends is found from the bytes alone, so nobody waits for anybody. A line longer than a range is its
//! owner's to follow; the others look through their own range once and find nothing.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Cuts `span` at multiples of `size`, so that where a range lies does not depend on where the text starts.
#[derive(Debug, Clone)]
pub(super) struct ByteRanges {
    span: Range<u64>,
    size: u64,
    first: u64,
}

impl ByteRanges {
    pub(super) fn new(span: Range<u64>, size: u64) -> Self {
        let first = span.start / size;
        Self { span, size, first }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        if self.span.is_empty() { 0 } else { self.span.end.div_ceil(self.size) - self.first }
    }

    /// The `index`th one.
    pub(super) fn get(&self, index: u64) -> Range<u64> {
        let start = (self.first + index) * self.size;
        start.max(self.span.start)..(start + self.size).min(self.span.end)
    }
}

/// Calls `work` with every index below `count`, by as many workers of the pool as have time, in about that order. Each
/// worker has one `S` of its own. Ends early where `work` gives `false`.
///
/// One that comes late finds nothing left to do, so nothing waits for the busy.
pub(super) fn parallel_for<S: Default>(count: u64, work: &(impl Fn(u64, &mut S) -> bool + Sync)) {
    let next = AtomicU64::new(0);
    let run = || {
        let mut own = S::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count || !work(index, &mut own) {
                break;
            }
        }
    };
    let others = count.min(rayon::current_num_threads() as u64).saturating_sub(1);
    if others == 0 {
        return run();
    }
    rayon::scope(|scope| {
        for _ in 0..others {
            scope.spawn(|_| run());
        }
        run();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn ranges_cover_a_span_without_overlap() {
        for (span, size) in [(0..0, 4), (0..1, 4), (3..9, 4), (4..8, 4), (5..6, 4), (7..(6 << 32), 4 << 20), (9..9, 4)] {
            let ranges = ByteRanges::new(span.clone(), size);
            let mut at = span.start;
            for index in 0..ranges.count() {
                let range = ranges.get(index);
                assert!(range.start == at && range.end > at && range.end - range.start <= size);
                at = range.end;
            }
            assert_eq!(at, span.end);
        }
    }

    #[test]
    fn every_index_is_worked_on_once() {
        for count in [0, 1, 2, 1000] {
            let seen = Mutex::new(Vec::new());
            parallel_for(count, &|index, (): &mut ()| {
                seen.lock().unwrap().push(index);
                true
            });
            let mut seen = seen.into_inner().unwrap();
            seen.sort_unstable();
            assert_eq!(seen, (0..count).collect::<Vec<_>>());
        }
    }
}
