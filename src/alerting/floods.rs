//! Counts requests by fixed minutes of the log's time and finds floods among them, in the same way
//! for `follow` and for reports.
//!
//! A window of W minutes is checked over W + 1 consecutive minutes, as it begins within the first
//! of them and ends within the last. So no flood is missed, but a flood over up to one minute more
//! counts as well. Counts by minute can be added in any order, unlike exact windows.

use super::sliding_window::WindowEntry;
use crate::log::time::LogTime;
use crate::rules::Window;

/// Seconds in a minute.
const MINUTE: i64 = 60;

/// How many minutes of one key `follow` remembers: at least `MIN_MINUTES`, or `WINDOWS_PER_KEY`
/// windows. Logs that are read in parallel, or late, need minutes of their own.
const MIN_MINUTES: usize = 8;
const WINDOWS_PER_KEY: usize = 2;

/// At least this many distinct values of a flood are counted, or as many as make a flood.
const MAX_DISTINCT: usize = 32;

/// Consecutive minutes whose requests are one flood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flood {
    /// The first minute, since 1970.
    pub first_minute: i64,
    /// The last minute.
    pub last_minute: i64,
    /// Requests in all of these minutes.
    pub requests: u64,
}

impl Flood {
    /// Length in minutes, including the first and the last.
    #[must_use]
    pub(crate) fn minutes(&self) -> u64 {
        self.last_minute.abs_diff(self.first_minute) + 1
    }
}

/// Finds the floods in `minutes`, which are pairs of a minute and its requests, sorted and without
/// duplicates.
#[must_use]
pub(crate) fn floods(window: Window, minutes: &[(i64, u64)]) -> Vec<Flood> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for (start, end, requests) in window_sums(minutes, i64::from(window.minutes())) {
        if requests < u64::from(window.count) {
            continue;
        }
        match spans.last_mut() {
            // The two windows share a minute.
            Some((_, last)) if start <= *last => *last = end,
            _ => spans.push((start, end)),
        }
    }
    let flood = |(start, end): (usize, usize)| {
        let requests = minutes[start..=end]
            .iter()
            .map(|(_, requests)| requests)
            .sum();
        Flood {
            first_minute: minutes[start].0,
            last_minute: minutes[end].0,
            requests,
        }
    };
    spans.into_iter().map(flood).collect()
}

/// For each minute, the sum of the requests in the `span` minutes that end with it, with the
/// indices of the first and the last of them.
fn window_sums(minutes: &[(i64, u64)], span: i64) -> impl Iterator<Item = (usize, usize, u64)> {
    let (mut start, mut sum) = (0, 0);
    minutes
        .iter()
        .enumerate()
        .map(move |(end, (minute, requests))| {
            sum += requests;
            while minutes[start].0 <= minute - span {
                sum -= minutes[start].1;
                start += 1;
            }
            (start, end, sum)
        })
}

/// The most recent minutes of one key.
#[derive(Debug, Default)]
pub(super) struct RecentMinutes {
    /// Sorted by minute.
    minutes: Vec<MinuteCount>,
    turn: u64,
}

/// One minute of one key.
#[derive(Debug)]
struct MinuteCount {
    /// Minutes since 1970.
    number: i64,
    requests: u64,
    first: LogTime,
    last: LogTime,
    /// Distinct values, such as the paths of a client: at least two if there are two, and otherwise
    /// limited.
    distinct: Vec<u64>,
    /// When it was last updated.
    turn: u64,
}

/// The count of a key that reached its threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FloodCount {
    pub(super) requests: u64,
    pub(super) times: (LogTime, LogTime),
    /// Distinct values, a lower bound.
    pub(super) distinct: u64,
}

impl RecentMinutes {
    /// How many minutes are remembered for each key.
    pub(super) fn max_minutes(window: Window) -> usize {
        (window.minutes() as usize * WINDOWS_PER_KEY).max(MIN_MINUTES)
    }

    /// Records a request. Returns the count of the minutes around it if they are a flood.
    pub(super) fn record(&mut self, entry: WindowEntry, window: Window) -> Option<FloodCount> {
        self.count(entry, window);
        let minute = entry.utc.div_euclid(MINUTE);
        let counts: Vec<(i64, u64)> = self
            .minutes
            .iter()
            .map(|minute_count| (minute_count.number, minute_count.requests))
            .collect();
        let around = window_sums(&counts, i64::from(window.minutes()))
            .filter(|&(start, end, _)| (counts[start].0..=counts[end].0).contains(&minute));
        // The first of several equal sums.
        let (start, end, requests) =
            around.reduce(|best, sum| if sum.2 > best.2 { sum } else { best })?;
        (requests >= u64::from(window.count)).then(|| self.counted(start, end, requests))
    }

    fn count(&mut self, entry: WindowEntry, window: Window) {
        let (minute, time) = (entry.utc.div_euclid(MINUTE), entry.time());
        self.turn += 1;
        let turn = self.turn;
        match self
            .minutes
            .binary_search_by_key(&minute, |minute_count| minute_count.number)
        {
            Ok(at) => {
                let minute_count = &mut self.minutes[at];
                (minute_count.first, minute_count.last) =
                    (minute_count.first.min(time), minute_count.last.max(time));
                (minute_count.requests, minute_count.turn) = (minute_count.requests + 1, turn);
            }
            Err(at) => {
                // Most keys are seen in one or two minutes.
                self.minutes.reserve_exact(1);
                self.minutes.insert(
                    at,
                    MinuteCount {
                        number: minute,
                        requests: 1,
                        first: time,
                        last: time,
                        distinct: Vec::new(),
                        turn,
                    },
                );
            }
        }
        let allocated_bytes = MAX_DISTINCT.max(window.count as usize);
        let around = self.minutes.iter().filter(|minute_count| {
            minute_count.number.abs_diff(minute) < u64::from(window.minutes())
        });
        let has_room = around
            .map(|minute_count| minute_count.distinct.len())
            .sum::<usize>()
            < allocated_bytes;
        if let Ok(at) = self
            .minutes
            .binary_search_by_key(&minute, |minute_count| minute_count.number)
        {
            let distinct = &mut self.minutes[at].distinct;
            if (has_room || distinct.len() < 2) && !distinct.contains(&entry.distinct_key) {
                distinct.push(entry.distinct_key);
            }
        }
        if self.minutes.len() > Self::max_minutes(window) {
            let oldest = (0..self.minutes.len()).min_by_key(|&at| self.minutes[at].turn);
            oldest.map(|at| self.minutes.remove(at));
        }
    }

    fn counted(&self, start: usize, end: usize, requests: u64) -> FloodCount {
        let minutes = &self.minutes[start..=end];
        let times = minutes.iter().fold(
            (minutes[0].first, minutes[0].last),
            |times, minute_count| {
                (
                    times.0.min(minute_count.first),
                    times.1.max(minute_count.last),
                )
            },
        );
        let mut distinct: Vec<u64> = minutes
            .iter()
            .flat_map(|minute_count| minute_count.distinct.iter().copied())
            .collect();
        distinct.sort_unstable();
        distinct.dedup();
        FloodCount {
            requests,
            times,
            distinct: distinct.len() as u64,
        }
    }

    /// The latest time recorded.
    pub(super) fn latest(&self) -> Option<i64> {
        self.minutes
            .iter()
            .map(|minute_count| minute_count.last.utc)
            .max()
    }

    /// Allocated bytes.
    #[cfg(test)]
    pub(super) fn allocated_bytes(&self) -> usize {
        let distinct = self
            .minutes
            .iter()
            .map(|minute_count| minute_count.distinct.capacity())
            .sum::<usize>();
        self.minutes.capacity() * size_of::<MinuteCount>() + distinct * size_of::<u64>()
    }
}
