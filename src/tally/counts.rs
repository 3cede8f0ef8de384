//! The part of a cell that every hit of it changes, with the key, in one cache line: a look into a large table costs what
//! it waits for memory.
//!
//! Of proofs it knows nothing.

use super::cell::{CellKey, union_span};
use crate::time::LogTime;

/// A cell but for its proof.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub struct CellCounts {
    pub(super) key: CellKey,
    /// How many hits.
    pub hits: u64,
    pub(super) span: TimeSpan,
}

/// The earliest and the latest time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TimeSpan {
    first: i64,
    last: i64,
    first_offset: i16,
    last_offset: i16,
    is_known: bool,
}

impl CellCounts {
    /// None yet.
    pub(super) fn new(key: CellKey) -> Self {
        Self { key, hits: 0, span: TimeSpan::default() }
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

    /// Adds those of another part of the log.
    pub(super) fn add(&mut self, other: &Self) {
        self.hits += other.hits;
        self.span = TimeSpan::from_times(union_span(self.times(), other.times()));
    }

    /// Those of a cell.
    pub(super) fn from_parts(key: CellKey, hits: u64, times: Option<(LogTime, LogTime)>) -> Self {
        Self { key, hits, span: TimeSpan::from_times(times) }
    }
}

impl TimeSpan {
    fn from_times(times: Option<(LogTime, LogTime)>) -> Self {
        let span = |(first, last): (LogTime, LogTime)| Self {
            first: first.utc,
            last: last.utc,
            first_offset: first.offset,
            last_offset: last.offset,
            is_known: true,
        };
        times.map_or_else(Self::default, span)
    }

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
