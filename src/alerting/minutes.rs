//! Requests by fixed minutes of the log's time, and which of them are a flood: one way to count for `follow` and for reports.
//!
//! A window of W minutes is judged over W + 1 minutes in a row: it begins within the first of them and ends within the last.
//! So no flood is missed, and one of up to a minute more is called one as well. Minutes add up in any order, which exact spans
//! do not.

use super::span::Mark;
use crate::rules::Window;
use crate::time::LogTime;

/// Seconds of a minute.
const MINUTE: i64 = 60;

/// Minutes of one key that `follow` remembers at least, and windows of them: a log that is read beside others, or comes late,
/// has room for its own.
const LEAST_KEPT: usize = 8;
const WINDOWS_KEPT: usize = 2;

/// In so many ways the requests of one flood may differ and are still counted apart, or in as many as make a flood.
const OTHERS: usize = 32;

/// Minutes in a row whose requests are one flood.
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
    for (start, end, requests) in spans(minutes, i64::from(window.minutes())) {
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
fn spans(minutes: &[(i64, u64)], span: i64) -> impl Iterator<Item = (usize, usize, u64)> {
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
pub(super) struct Minutes {
    /// Sorted by minute.
    minutes: Vec<Minute>,
    turn: u64,
}

/// One minute.
#[derive(Debug)]
struct Minute {
    /// Minutes since 1970.
    number: i64,
    requests: u64,
    first: LogTime,
    last: LogTime,
    /// In how many ways requests differ: two at least, if there are, and as many as there is room for.
    others: Vec<u64>,
    /// When it was counted in last.
    turn: u64,
}

/// What a key has counted when it reaches a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) requests: u64,
    pub(super) times: (LogTime, LogTime),
    /// In how many ways requests differ, at least.
    pub(super) others: u64,
}

impl Minutes {
    /// Minutes that a key of this window remembers.
    pub(super) fn most(window: Window) -> usize {
        (window.minutes() as usize * WINDOWS_KEPT).max(LEAST_KEPT)
    }

    /// Takes in a request; what the minutes around it come to, where that is enough for a flood.
    pub(super) fn take(&mut self, mark: Mark, window: Window) -> Option<Counted> {
        self.count(mark, window);
        let minute = mark.utc.div_euclid(MINUTE);
        let counts: Vec<(i64, u64)> = self.minutes.iter().map(|one| (one.number, one.requests)).collect();
        let around =
            spans(&counts, i64::from(window.minutes())).filter(|&(start, end, _)| (counts[start].0..=counts[end].0).contains(&minute));
        // Of equals the first.
        let (start, end, requests) = around.reduce(|most, one| if one.2 > most.2 { one } else { most })?;
        (requests >= u64::from(window.count)).then(|| self.counted(start, end, requests))
    }

    fn count(&mut self, mark: Mark, window: Window) {
        let (minute, time) = (mark.utc.div_euclid(MINUTE), mark.time());
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
                self.minutes.insert(at, Minute { number: minute, requests: 1, first: time, last: time, others: Vec::new(), turn });
            }
        }
        let room = OTHERS.max(window.count as usize);
        let around = self.minutes.iter().filter(|one| one.number.abs_diff(minute) < u64::from(window.minutes()));
        let has_room = around.map(|one| one.others.len()).sum::<usize>() < room;
        if let Ok(at) = self.minutes.binary_search_by_key(&minute, |one| one.number) {
            let others = &mut self.minutes[at].others;
            if (has_room || others.len() < 2) && !others.contains(&mark.other) {
                others.push(mark.other);
            }
        }
        if self.minutes.len() > Self::most(window) {
            let oldest = (0..self.minutes.len()).min_by_key(|&at| self.minutes[at].turn);
            oldest.map(|at| self.minutes.remove(at));
        }
    }

    fn counted(&self, start: usize, end: usize, requests: u64) -> Counted {
        let minutes = &self.minutes[start..=end];
        let times = minutes.iter().fold((minutes[0].first, minutes[0].last), |times, one| (times.0.min(one.first), times.1.max(one.last)));
        let mut others: Vec<u64> = minutes.iter().flat_map(|one| one.others.iter().copied()).collect();
        others.sort_unstable();
        others.dedup();
        Counted { requests, times, others: others.len() as u64 }
    }

    /// The latest time.
    pub(super) fn latest(&self) -> Option<i64> {
        self.minutes.iter().map(|one| one.last.utc).max()
    }

    /// Bytes it has room for.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        let others = self.minutes.iter().map(|one| one.others.capacity()).sum::<usize>();
        self.minutes.capacity() * size_of::<Minute>() + others * size_of::<u64>()
    }
}
