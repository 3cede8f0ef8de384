//! All requests by day, for the share of them that are probes.
//!
//! Days begin at midnight UTC, as buckets of hits do. Requests without a time are in no day. A log
//! of more than [`MAX_DAYS`] days has no counts by day: a client cannot make the list longer.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::time::PackedTime;

/// As many as a timeline has buckets.
pub(crate) const MAX_DAYS: usize = 400;

/// The seconds of a day.
pub(crate) const DAY: i64 = 86_400;

/// The number of a day, from 1970-01-01.
pub(crate) type Day = i32;

/// The day of a time, in seconds since 1970. Years of log times have four digits, so it fits.
#[must_use]
fn day_of(utc: i64) -> Day {
    utc.div_euclid(DAY) as Day
}

/// Requests by day. The same for any split of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestDays(
    /// `None` if there are more than [`MAX_DAYS`].
    Option<BTreeMap<Day, u64>>,
);

impl Default for RequestDays {
    fn default() -> Self {
        Self(Some(BTreeMap::new()))
    }
}

impl RequestDays {
    /// Counts requests.
    pub(crate) fn add(&mut self, day: Day, requests: u64) {
        let Some(days) = &mut self.0 else { return };
        *days.entry(day).or_default() += requests;
        if days.len() > MAX_DAYS {
            self.0 = None;
        }
    }

    /// Adds the counts of another part of the log.
    pub(crate) fn merge(&mut self, other: &Self) {
        match &other.0 {
            Some(days) => days
                .iter()
                .for_each(|(day, requests)| self.add(*day, *requests)),
            None => self.0 = None,
        }
    }

    /// The requests of each day; `None` if there are too many days.
    pub(crate) fn counts(&self) -> Option<&BTreeMap<Day, u64>> {
        self.0.as_ref()
    }

    /// Whether nothing was counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_some_and(BTreeMap::is_empty)
    }
}

/// Counts the requests of a run of lines by day. Nearly all are of the day of the line before.
#[derive(Debug)]
pub(crate) struct DayCounter {
    today: Range<PackedTime>,
    requests: u64,
    days: Vec<(Day, u64)>,
}

impl Default for DayCounter {
    fn default() -> Self {
        Self {
            today: PackedTime::first_of(0)..PackedTime::first_of(0),
            requests: 0,
            days: Vec::new(),
        }
    }
}

impl DayCounter {
    /// Counts a request.
    #[inline]
    pub(crate) fn add(&mut self, time: PackedTime) {
        if !self.today.contains(&time) {
            self.begin(time);
        }
        self.requests += 1;
    }

    #[cold]
    fn begin(&mut self, time: PackedTime) {
        self.end_day();
        let start = i64::from(day_of(time.time().utc)) * DAY;
        self.today = PackedTime::first_of(start)..PackedTime::first_of(start + DAY);
    }

    fn end_day(&mut self) {
        if self.requests > 0 {
            let day = day_of(self.today.start.time().utc);
            self.days.push((day, std::mem::take(&mut self.requests)));
        }
    }

    /// The days so far, in the order of the lines; a day may occur more than once.
    pub(crate) fn take(&mut self) -> Vec<(Day, u64)> {
        self.end_day();
        std::mem::take(&mut self.days)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::time::LogTime;

    fn count(times: &[(i64, i16)]) -> RequestDays {
        let mut counter = DayCounter::default();
        for &(utc, offset) in times {
            counter.add(PackedTime::new(LogTime { utc, offset }));
        }
        let mut days = RequestDays::default();
        counter
            .take()
            .into_iter()
            .for_each(|(day, requests)| days.add(day, requests));
        assert_eq!(counter.take(), [], "each request is taken once");
        days
    }

    #[test]
    fn days_begin_at_midnight_utc_whatever_the_offset() {
        let times = [
            (0, 0),
            (DAY - 1, -720),
            (DAY, 840),
            (DAY, -720),
            (-1, 840),
            (0, -720),
            (2 * DAY - 1, 840),
        ];
        assert_eq!(
            count(&times).counts(),
            Some(&BTreeMap::from([(-1, 1), (0, 3), (1, 3)]))
        );
    }

    #[test]
    fn a_split_changes_nothing_and_too_many_days_are_none() {
        let times: Vec<_> = (0..1_000).map(|n| (n * 37 % 399 * DAY + n, 60)).collect();
        let (one, other) = times.split_at(300);
        let mut merged = count(one);
        merged.merge(&count(other));
        assert_eq!(merged, count(&times));
        merged.add(400, 1);
        assert_eq!(merged.counts().map(BTreeMap::len), Some(MAX_DAYS));
        let mut reverse = count(&[(DAY * 1_000, 0)]);
        reverse.merge(&merged);
        merged.add(1_000, 1);
        assert_eq!((merged.counts(), &reverse), (None, &merged));
        for days in [count(&times), merged] {
            let saved = serde_json::to_string(&days).unwrap();
            assert_eq!(serde_json::from_str::<RequestDays>(&saved).unwrap(), days);
        }
    }
}
