//! When hits occurred: counts by time and outcome, and by hour of the week.
//!
//! Plain data for renderers. Counting is in [`crate::tally`].

use crate::time::LogTime;

/// Hits over time. The sum of all buckets equals the hits in the totals of the report, by outcome too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Buckets from the first hit to the last, also empty ones between them; then hits without a time, if there are any.
    pub buckets: Vec<TimelineBucket>,
    /// Seconds of a bucket; 0 if no hit has a time.
    pub unit: u32,
    /// The times of the first hits of distinct answers, sorted.
    pub answered_at: Vec<LogTime>,
    /// Hits by weekday, from Monday, and hour, in the offset of the log.
    pub hours: [[u64; 24]; 7],
}

/// Hits of one span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimelineBucket {
    /// The start, in seconds since 1970-01-01T00:00:00Z; `None` for hits without a time.
    pub from: Option<i64>,
    /// The end, which is not part of the bucket; `None` like `from`.
    pub to: Option<i64>,
    /// Hits.
    pub hits: u64,
    /// Hits by outcome, in the order of [`Outcome::ALL`](crate::log_entry::Outcome::ALL).
    pub outcomes: [u64; 8],
}
