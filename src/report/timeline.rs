//! When hits occurred: counts by time and outcome, and by hour of the week.
//!
//! Plain data for renderers, and their sums over the reported cells. Counting is in
//! [`crate::tally`].

use std::collections::BTreeMap;

use foldhash::HashSet;

use super::model::{DayRow, Row, Timeline, TimelineBucket};
use super::rows::RowItem;
use crate::collections::intern::SymbolTables;
use crate::log::days::DAY;
use crate::log::time::LogTime;
use crate::tally::{Tally, TimeUnit};

impl Timeline {
    /// The timeline of reported cells.
    pub(crate) fn new(tally: &Tally, items: &[RowItem<'_>]) -> Self {
        let unit = tally.time_unit();
        let first = items
            .iter()
            .filter_map(|item| item.view.cell.times())
            .map(|(first, _)| unit.bucket(first.utc))
            .min();
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
        let seconds = first.map_or(0, |_| u32::try_from(unit.seconds()).unwrap_or(u32::MAX));
        Self {
            buckets,
            unit: seconds,
            answered_at: Vec::new(),
            hours,
        }
    }

    /// Adds the times of distinct answers, from their rows.
    pub(crate) fn with_answers(self, answered: &[Row<'_>]) -> Self {
        let mut answered_at: Vec<LogTime> =
            answered.iter().filter_map(|row| row.first_time).collect();
        answered_at.sort_unstable();
        Self {
            answered_at,
            ..self
        }
    }

    /// The buckets with a time.
    pub(crate) fn timed(&self) -> &[TimelineBucket] {
        let end = self
            .buckets
            .iter()
            .rposition(|bucket| bucket.from.is_some())
            .map_or(0, |last| last + 1);
        &self.buckets[..end]
    }
}

/// The requests and the hits of each day with a request or a hit.
pub(crate) fn day_rows(tally: &Tally, items: &[RowItem<'_>]) -> Vec<DayRow> {
    let day = TimeUnit::DAY;
    let Some(requests) = tally.days().counts().filter(|_| tally.time_unit() <= day) else {
        return Vec::new();
    };
    let mut rows: BTreeMap<i64, DayRow> = BTreeMap::new();
    for (&number, &requests) in requests {
        rows.entry(i64::from(number) * DAY).or_default().requests = requests;
    }
    let mut clients: HashSet<(u32, u32)> = HashSet::default();
    for item in items {
        for (bucket, hits) in item.view.cell.by_bucket(day) {
            let row = rows.entry(day.start(bucket)).or_default();
            row.hits += hits;
            let client = item.view.client;
            row.clients +=
                u64::from(client != SymbolTables::OTHER && clients.insert((bucket, client)));
        }
    }
    rows.into_iter()
        .map(|(start, row)| DayRow { from: start, ..row })
        .collect()
}

/// A timeline that grows hit by hit, for the live view. It has as many buckets as that of a report.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveTimeline {
    unit: TimeUnit,
    /// Hits by outcome, and those with a distinct answer, by the number of the bucket.
    buckets: BTreeMap<u32, ([u64; 8], u64)>,
    span: Option<(i64, i64)>,
}

impl LiveTimeline {
    /// Adds a hit with a time.
    pub(crate) fn add(&mut self, time: LogTime, outcome: usize, is_answered: bool) {
        let (first, last) = self.span.map_or((time.utc, time.utc), |(first, last)| {
            (first.min(time.utc), last.max(time.utc))
        });
        self.span = Some((first, last));
        while !self.unit.fits(first, last) {
            self.lengthen();
        }
        let (outcomes, answered) = self.buckets.entry(self.unit.bucket(time.utc)).or_default();
        outcomes[outcome] += 1;
        *answered += u64::from(is_answered);
    }

    /// Changes the grade of a hit that was added.
    pub(crate) fn regrade(&mut self, time: LogTime, is_answered: bool) {
        if let Some((_, answered)) = self.buckets.get_mut(&self.unit.bucket(time.utc)) {
            *answered = if is_answered {
                *answered + 1
            } else {
                answered.saturating_sub(1)
            };
        }
    }

    fn lengthen(&mut self) {
        let (old, unit) = (self.unit, self.unit.longer());
        self.unit = unit;
        for (bucket, (outcomes, answered)) in std::mem::take(&mut self.buckets) {
            let (sums, all_answered) = self
                .buckets
                .entry(unit.bucket(old.start(bucket)))
                .or_default();
            for (sum, hits) in sums.iter_mut().zip(outcomes) {
                *sum += hits;
            }
            *all_answered += answered;
        }
    }

    /// The timeline so far, without hours of the week. An answer is at the start of its bucket.
    pub(crate) fn timeline(&self) -> Timeline {
        let unit = self.unit;
        let numbers = self
            .buckets
            .keys()
            .next()
            .copied()
            .zip(self.buckets.keys().next_back().copied());
        let bucket = |number: u32| {
            let outcomes = self
                .buckets
                .get(&number)
                .map_or([0; 8], |(outcomes, _)| *outcomes);
            TimelineBucket {
                from: Some(unit.start(number)),
                to: Some(unit.start(number + 1)),
                hits: outcomes.iter().sum(),
                outcomes,
            }
        };
        let buckets = numbers
            .into_iter()
            .flat_map(|(first, last)| first..=last)
            .map(bucket)
            .collect();
        let answered = self
            .buckets
            .iter()
            .filter(|(_, (_, answered))| *answered > 0);
        Timeline {
            buckets,
            unit: numbers.map_or(0, |_| u32::try_from(unit.seconds()).unwrap_or(u32::MAX)),
            answered_at: answered
                .map(|(number, _)| LogTime {
                    utc: unit.start(*number),
                    offset: 0,
                })
                .collect(),
            ..Timeline::default()
        }
    }
}

impl TimelineBucket {
    fn add(&mut self, outcome: usize, hits: u64) {
        self.hits += hits;
        self.outcomes[outcome] += hits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_timeline_is_that_of_a_tally_of_its_hits() {
        let times = [
            600_000_i64,
            600_030,
            600_000 + 399 * 60,
            600_000 + 400 * 60,
            600_000 + 86_400 * 30,
            0,
        ];
        let mut live = LiveTimeline::default();
        for (number, utc) in times.into_iter().enumerate() {
            live.add(LogTime { utc, offset: 60 }, number % 8, number == 1);
        }
        let timeline = live.timeline();
        assert_eq!(timeline.unit, 86_400, "a month of days");
        assert_eq!(
            timeline
                .buckets
                .iter()
                .map(|bucket| bucket.hits)
                .sum::<u64>(),
            6
        );
        assert_eq!(
            timeline
                .buckets
                .first()
                .map(|bucket| (bucket.from, bucket.hits)),
            Some((Some(0), 1))
        );
        assert_eq!(timeline.buckets.len(), 37);
        assert_eq!(
            timeline.answered_at,
            [LogTime {
                utc: 518_400,
                offset: 0
            }]
        );
        live.regrade(
            LogTime {
                utc: 600_030,
                offset: 60,
            },
            false,
        );
        assert_eq!(live.timeline().answered_at, []);
        assert_eq!(LiveTimeline::default().timeline(), Timeline::default());
    }
}
