//! The part of a cell that every hit of it changes, with the key, in one cache line: a look into a large table costs what
//! it waits for memory.
//!
//! Of proofs it knows nothing.

use super::cell::{Cell, CellKey, Sample};
use crate::time::LogTime;

/// A cell but for its proof.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub struct Counts {
    pub(super) key: CellKey,
    /// How many hits.
    pub hits: u64,
    span: Span,
}

/// The part of a cell that few hits change.
#[derive(Debug, Clone)]
pub(super) struct Rest {
    pub(super) error: u64,
    pub(super) sample: Sample,
}

/// The earliest and the latest time.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    first: i64,
    last: i64,
    first_offset: i16,
    last_offset: i16,
    is_known: bool,
}

impl Counts {
    /// None yet.
    pub(super) fn new(key: CellKey) -> Self {
        Self { key, hits: 0, span: Span::default() }
    }

    /// The earliest and the latest time, of those with a time.
    #[must_use]
    pub fn times(&self) -> Option<(LogTime, LogTime)> {
        self.span.is_known.then(|| (self.span.first(), self.span.last()))
    }

    /// Adds a hit of a log; whether it may be the earliest of all.
    #[inline]
    pub(super) fn count(&mut self, time: Option<LogTime>) -> bool {
        self.hits += 1;
        match time {
            // What has a time is earlier than what has none.
            None => !self.span.is_known,
            Some(time) => self.span.add(time),
        }
    }

    /// Adds other hits.
    pub(super) fn add(&mut self, hits: u64, times: Option<(LogTime, LogTime)>) {
        self.hits += hits;
        if let Some((first, last)) = times {
            self.span.add(first);
            self.span.add(last);
        }
    }

    /// The whole cell.
    pub(super) fn cell(&self, rest: Rest) -> Cell {
        Cell { hits: self.hits, error: rest.error, times: self.times(), sample: rest.sample }
    }
}

impl Span {
    fn first(self) -> LogTime {
        LogTime { utc: self.first, offset: self.first_offset }
    }

    fn last(self) -> LogTime {
        LogTime { utc: self.last, offset: self.last_offset }
    }

    /// Whether nothing in it was earlier.
    #[inline]
    fn add(&mut self, time: LogTime) -> bool {
        let is_first = !self.is_known || time <= self.first();
        if is_first {
            (self.first, self.first_offset) = (time.utc, time.offset);
        }
        if !self.is_known || time > self.last() {
            (self.last, self.last_offset) = (time.utc, time.offset);
        }
        self.is_known = true;
        is_first
    }
}
