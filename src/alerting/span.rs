//! The latest requests of one key: as many as a threshold asks for, and none that lies outside its span.
//!
//! The span ends with the latest request of the key, by the log's time, in whatever order the lines came. A span of 60
//! seconds holds 60 seconds of a log: a request counts if it lies less than 60 seconds before the latest. One that came
//! too late to count is dropped, and so is one that more than enough later ones make needless.

use std::collections::VecDeque;

use crate::finding::Severity;
use crate::time::LogTime;

/// A threshold. Requests that are alike in [`Mark::other`] count once, as the latest of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    /// Requests it takes.
    pub(super) count: usize,
    /// The span in seconds.
    pub(super) within: u32,
}

/// One request, as far as it is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) utc: i64,
    /// The hash of what requests of the key may differ in: the path of a client, the client of a path.
    pub(super) other: u64,
    /// Of the time, in minutes east of UTC.
    pub(super) offset: i16,
    pub(super) severity: Severity,
}

impl Mark {
    pub(super) fn time(&self) -> LogTime {
        LogTime { utc: self.utc, offset: self.offset }
    }
}

/// The requests that count, by time; those of one time in the order they came.
#[derive(Debug, Default)]
pub(super) struct Span {
    marks: VecDeque<Mark>,
}

impl Span {
    /// Takes in a request; whether it counts and the threshold is reached.
    pub(super) fn take(&mut self, mark: Mark, limit: Limit) -> bool {
        let latest = self.marks.back().map_or(mark.utc, |last| last.utc.max(mark.utc));
        let end = latest.saturating_sub(i64::from(limit.within));
        if mark.utc <= end {
            return false;
        }
        while self.marks.front().is_some_and(|first| first.utc <= end) {
            self.marks.pop_front();
        }
        if self.is_latest_of_its_kind(mark) {
            self.insert(mark, limit.count);
        }
        self.marks.len() >= limit.count
    }

    /// Whether no later request is like this one; an earlier one is dropped.
    fn is_latest_of_its_kind(&mut self, mark: Mark) -> bool {
        match self.marks.iter().position(|known| known.other == mark.other) {
            Some(at) if self.marks[at].utc > mark.utc => false,
            Some(at) => self.marks.remove(at).is_some(),
            None => true,
        }
    }

    fn insert(&mut self, mark: Mark, count: usize) {
        let (len, most) = (self.marks.len(), count + 1);
        if len == self.marks.capacity() {
            // Most keys are seen once or twice, and none needs more room than this.
            self.marks.reserve_exact(len.max(2).min(most.saturating_sub(len)));
        }
        let at = self.marks.iter().rposition(|known| known.utc <= mark.utc).map_or(0, |at| at + 1);
        self.marks.insert(at, mark);
        if self.marks.len() > count {
            self.marks.pop_front();
        }
    }

    /// The latest time; `None` where there is no request.
    pub(super) fn latest(&self) -> Option<i64> {
        self.marks.back().map(|mark| mark.utc)
    }

    /// The requests that count, the earliest first.
    pub(super) fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.marks.iter()
    }

    /// Bytes it has room for.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.marks.capacity() * size_of::<Mark>()
    }
}

/// What requests come to together.
#[derive(Debug)]
pub(super) struct Sum {
    /// The worst; `info` where there are none.
    pub(super) severity: Severity,
    /// The earliest and the latest time.
    pub(super) times: Option<(LogTime, LogTime)>,
    pub(super) hits: u64,
    /// In how many ways they differ.
    pub(super) others: u64,
}

impl Sum {
    /// The sum over the requests of keys.
    pub(super) fn of<'s>(spans: impl IntoIterator<Item = &'s Span>) -> Self {
        let mut sum = Self { severity: Severity::Info, times: None, hits: 0, others: 0 };
        let mut others = Vec::new();
        for mark in spans.into_iter().flat_map(|span| &span.marks) {
            let time = mark.time();
            sum.times = Some(sum.times.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
            sum.severity = sum.severity.max(mark.severity);
            sum.hits += 1;
            others.push(mark.other);
        }
        others.sort_unstable();
        others.dedup();
        Self { others: others.len() as u64, ..sum }
    }
}
