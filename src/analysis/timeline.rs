//! When hits occurred: counts by time and outcome, and by hour of the week.
//!
//! Plain data for renderers, and their sums over the reported cells. Counting is in [`crate::tally`].

use super::model::Row;
use super::rows::RowItem;
use crate::tally::Tally;
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
    /// Hits by weekday, from Monday, and hour, in the offset of the log. Empty for a tally with too many of them, see
    /// [`Tally::has_hours`].
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

impl Timeline {
    /// The timeline of reported cells and of the rows of distinct answers.
    pub(crate) fn new(tally: &Tally, items: &[RowItem<'_>], answered: &[Row<'_>]) -> Self {
        let unit = tally.time_unit();
        let first = items.iter().filter_map(|item| item.view.cell.times()).map(|(first, _)| unit.bucket(first.utc)).min();
        let (mut buckets, mut untimed) = (Vec::new(), TimelineBucket::default());
        let mut hours = [[0; 24]; 7];
        for item in items {
            let cell = item.view.cell;
            for (bucket, hits) in cell.by_bucket(unit) {
                let at = (bucket - first.unwrap_or(bucket)) as usize;
                buckets.resize(buckets.len().max(at + 1), TimelineBucket::default());
                buckets[at].add(item.outcome as usize, hits);
            }
            untimed.add(item.outcome as usize, cell.untimed());
            if tally.has_hours() {
                for (hour, hits) in cell.by_hour() {
                    hours[hour as usize / 24][hour as usize % 24] += hits;
                }
            }
        }
        for (bucket, number) in buckets.iter_mut().zip(first.unwrap_or(0)..) {
            (bucket.from, bucket.to) = (Some(unit.start(number)), Some(unit.start(number + 1)));
        }
        buckets.extend((untimed.hits > 0).then_some(untimed));
        let mut answered_at: Vec<LogTime> = answered.iter().filter_map(|row| row.first_time).collect();
        answered_at.sort_unstable();
        let seconds = first.map_or(0, |_| u32::try_from(unit.seconds()).unwrap_or(u32::MAX));
        Self { buckets, unit: seconds, answered_at, hours }
    }

    /// The buckets with a time.
    pub(crate) fn timed(&self) -> &[TimelineBucket] {
        let end = self.buckets.iter().rposition(|bucket| bucket.from.is_some()).map_or(0, |last| last + 1);
        &self.buckets[..end]
    }
}

impl TimelineBucket {
    fn add(&mut self, outcome: usize, hits: u64) {
        self.hits += hits;
        self.outcomes[outcome] += hits;
    }
}
