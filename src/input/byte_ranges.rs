//! Divides a text into ranges of fixed size that workers process in parallel.
//!
//! A range owns the lines that start after a newline in it; the first range also owns the first line. So a line that
//! starts at the first byte of a range belongs to the range before. Each worker finds its lines from the bytes alone
//! and waits for no other. A line longer than a range is read by its owner; the workers of the ranges in between find
//! no line of their own.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Divides `span` at multiples of `size`, so that range borders do not depend on where the text starts.
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

    /// The number of ranges.
    pub(super) fn count(&self) -> u64 {
        if self.span.is_empty() { 0 } else { self.span.end.div_ceil(self.size) - self.first }
    }

    /// The range at `index`.
    pub(super) fn get(&self, index: u64) -> Range<u64> {
        let start = (self.first + index) * self.size;
        start.max(self.span.start)..(start + self.size).min(self.span.end)
    }
}

/// Calls `work` with every index below `count`, on the idle workers of the pool, in about that order. Each worker has
/// its own `S`. Ends early if `work` returns `false`.
///
/// A worker that starts late finds nothing left to do, so nothing waits for busy workers.
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
