//! Requests by fixed minutes of the log's time, and which of them are a flood: one way to count for `follow` and for reports.
//!
//! A window of W minutes is judged over W + 1 minutes in a row: it begins within the first of them and ends within the last.
//! So no flood is missed, and one of up to a minute more is called one as well. MinuteCounts add up in any order, which exact window_sums
//! do not.

use super::sliding_window::WindowEntry;
use crate::rules::Window;
use crate::time::LogTime;

/// Seconds of a minute.
const MINUTE: i64 = 60;

/// MinuteCounts of one key that `follow` remembers at least, and windows of them: a log that is read beside distinct, or comes late,
/// has allocated_bytes for its own.
const MIN_MINUTES: usize = 8;
const WINDOWS_PER_KEY: usize = 2;

/// In so many ways the requests of one flood may differ and are still counted apart, or in as many as make a flood.
const MAX_DISTINCT: usize = 32;

/// MinuteCounts in a row whose requests are one flood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flood {
    /// The first minute, since 1970.
    pub first_minute: i64,
    /// The last one.
    pub last_minute: i64,
    /// Requests in all of them.
    pub requests: u64,
}

impl Flood {
    /// From the first minute to the last.
    #[must_use]
    pub fn minutes(&self) -> u64 {
        self.last_minute.abs_diff(self.first_minute) + 1
    }
}

/// The floods among requests by minute, which come sorted and each minute once; in their order.
#[must_use]
pub fn floods(window: Window, minutes: &[(i64, u64)]) -> Vec<Flood> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (start, end, requests) in window_sums(minutes, i64::from(window.minutes())) {
        if requests < u64::from(window.count) {
            continue;
        }
        match found.last_mut() {
            // They share a minute.
            Some((_, last)) if start <= *last => *last = end,
            _ => found.push((start, end)),
        }
    }
    let flood = |(start, end): (usize, usize)| {
        let requests = minutes[start..=end].iter().map(|(_, requests)| requests).sum();
        Flood { first_minute: minutes[start].0, last_minute: minutes[end].0, requests }
    };
    found.into_iter().map(flood).collect()
}

/// For each minute the requests of so many minutes in a row that end with it: the places of the first and the last that are
/// there, and the sum.
fn window_sums(minutes: &[(i64, u64)], span: i64) -> impl Iterator<Item = (usize, usize, u64)> {
    let (mut start, mut sum) = (0, 0);
    minutes.iter().enumerate().map(move |(end, (minute, requests))| {
        sum += requests;
        while minutes[start].0 <= minute - span {
            sum -= minutes[start].1;
            start += 1;
        }
        (start, end, sum)
    })
}

/// The minutes of one key that were counted last.
#[derive(Debug, Default)]
pub(super) struct MinuteCounts {
    /// Sorted by minute.
    minutes: Vec<MinuteCount>,
    turn: u64,
}

/// One minute.
#[derive(Debug)]
struct MinuteCount {
    /// MinuteCounts since 1970.
    number: i64,
    requests: u64,
    first: LogTime,
    last: LogTime,
    /// In how many ways requests differ: two at least, if there are, and as many as there is allocated_bytes for.
    distinct: Vec<u64>,
    /// When it was counted in last.
    turn: u64,
}

/// What a key has counted when it reaches a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FloodCount {
    pub(super) requests: u64,
    pub(super) times: (LogTime, LogTime),
    /// In how many ways requests differ, at least.
    pub(super) distinct: u64,
}

impl MinuteCounts {
    /// MinuteCounts that a key of this window remembers.
    pub(super) fn max_minutes(window: Window) -> usize {
        (window.minutes() as usize * WINDOWS_PER_KEY).max(MIN_MINUTES)
    }

    /// Takes in a request; what the minutes around it come to, where that is enough for a flood.
    pub(super) fn record(&mut self, entry: WindowEntry, window: Window) -> Option<FloodCount> {
        self.count(entry, window);
        let minute = entry.utc.div_euclid(MINUTE);
        let counts: Vec<(i64, u64)> = self.minutes.iter().map(|one| (one.number, one.requests)).collect();
        let around = window_sums(&counts, i64::from(window.minutes()))
            .filter(|&(start, end, _)| (counts[start].0..=counts[end].0).contains(&minute));
        // Of equals the first.
        let (start, end, requests) = around.reduce(|best, sum| if sum.2 > best.2 { sum } else { best })?;
        (requests >= u64::from(window.count)).then(|| self.counted(start, end, requests))
    }

    fn count(&mut self, entry: WindowEntry, window: Window) {
        let (minute, time) = (entry.utc.div_euclid(MINUTE), entry.time());
        self.turn += 1;
        let turn = self.turn;
        match self.minutes.binary_search_by_key(&minute, |one| one.number) {
            Ok(at) => {
                let one = &mut self.minutes[at];
                (one.first, one.last) = (one.first.min(time), one.last.max(time));
                (one.requests, one.turn) = (one.requests + 1, turn);
            }
            Err(at) => {
                // Most keys are counted in one minute or two.
                self.minutes.reserve_exact(1);
                self.minutes.insert(at, MinuteCount { number: minute, requests: 1, first: time, last: time, distinct: Vec::new(), turn });
            }
        }
        let allocated_bytes = MAX_DISTINCT.max(window.count as usize);
        let around = self.minutes.iter().filter(|one| one.number.abs_diff(minute) < u64::from(window.minutes()));
        let has_room = around.map(|one| one.distinct.len()).sum::<usize>() < allocated_bytes;
        if let Ok(at) = self.minutes.binary_search_by_key(&minute, |one| one.number) {
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
        let times = minutes.iter().fold((minutes[0].first, minutes[0].last), |times, one| (times.0.min(one.first), times.1.max(one.last)));
        let mut distinct: Vec<u64> = minutes.iter().flat_map(|one| one.distinct.iter().copied()).collect();
        distinct.sort_unstable();
        distinct.dedup();
        FloodCount { requests, times, distinct: distinct.len() as u64 }
    }

    /// The latest time.
    pub(super) fn latest(&self) -> Option<i64> {
        self.minutes.iter().map(|one| one.last.utc).max()
    }

    /// Bytes it has allocated_bytes for.
    #[cfg(test)]
    pub(super) fn allocated_bytes(&self) -> usize {
        let distinct = self.minutes.iter().map(|one| one.distinct.capacity()).sum::<usize>();
        self.minutes.capacity() * size_of::<MinuteCount>() + distinct * size_of::<u64>()
    }
}
