//! The latest requests of one key: at most as many as a threshold needs, all within its window.
//!
//! The window ends with the latest request of the key by the log's time, in whatever order the
//! lines were read. A window of 60 seconds contains the requests less than 60 seconds before the
//! latest. A request that is too late to count is dropped, and so is one that is not needed as
//! enough later ones count.

use std::collections::VecDeque;

use crate::log::finding::Severity;
use crate::log::time::LogTime;

/// A threshold. Of requests with the same [`WindowEntry::distinct_key`], only the latest counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowLimit {
    /// Number of requests that reach the threshold.
    pub(super) count: usize,
    /// Length of the window in seconds.
    pub(super) within: u32,
}

/// What is stored of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WindowEntry {
    pub(super) utc: i64,
    /// The hash of what must differ between requests of a key: the path of a client, or the client
    /// of a path.
    pub(super) distinct_key: u64,
    /// Offset of the time in minutes east of UTC.
    pub(super) offset: i16,
    pub(super) severity: Severity,
}

impl WindowEntry {
    pub(super) fn time(&self) -> LogTime {
        LogTime {
            utc: self.utc,
            offset: self.offset,
        }
    }
}

/// The requests that count, by time; those with equal times in the order they were read.
#[derive(Debug, Default)]
pub(super) struct SlidingWindow {
    entries: VecDeque<WindowEntry>,
}

impl SlidingWindow {
    /// Records a request. Returns whether it counts and the threshold is reached.
    pub(super) fn record(&mut self, entry: WindowEntry, limit: WindowLimit) -> bool {
        let latest = self
            .entries
            .back()
            .map_or(entry.utc, |last| last.utc.max(entry.utc));
        let end = latest.saturating_sub(i64::from(limit.within));
        if entry.utc <= end {
            return false;
        }
        while self.entries.front().is_some_and(|first| first.utc <= end) {
            self.entries.pop_front();
        }
        if self.is_latest_of_its_kind(entry) {
            self.insert(entry, limit.count);
        }
        self.entries.len() >= limit.count
    }

    /// Whether no later request has the same key. An earlier one with the same key is dropped.
    fn is_latest_of_its_kind(&mut self, entry: WindowEntry) -> bool {
        match self
            .entries
            .iter()
            .position(|existing| existing.distinct_key == entry.distinct_key)
        {
            Some(at) if self.entries[at].utc > entry.utc => false,
            Some(at) => self.entries.remove(at).is_some(),
            None => true,
        }
    }

    fn insert(&mut self, entry: WindowEntry, count: usize) {
        let (len, max_len) = (self.entries.len(), count + 1);
        if len == self.entries.capacity() {
            // Most keys are seen once or twice, and none needs more than `count + 1` entries.
            self.entries
                .reserve_exact(len.max(2).min(max_len.saturating_sub(len)));
        }
        let at = self
            .entries
            .iter()
            .rposition(|existing| existing.utc <= entry.utc)
            .map_or(0, |at| at + 1);
        self.entries.insert(at, entry);
        if self.entries.len() > count {
            self.entries.pop_front();
        }
    }

    /// The latest time; `None` without requests.
    pub(super) fn latest(&self) -> Option<i64> {
        self.entries.back().map(|entry| entry.utc)
    }

    /// The requests that count, earliest first.
    pub(super) fn entries(&self) -> impl Iterator<Item = &WindowEntry> {
        self.entries.iter()
    }

    /// Allocated bytes.
    #[cfg(test)]
    pub(super) fn allocated_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<WindowEntry>()
    }
}

/// Totals over the requests of one or more windows.
#[derive(Debug)]
pub(super) struct WindowSummary {
    /// The highest severity; `info` without requests.
    pub(super) severity: Severity,
    /// The earliest and the latest time.
    pub(super) times: Option<(LogTime, LogTime)>,
    pub(super) hits: u64,
    /// Number of distinct keys.
    pub(super) distinct: u64,
}

impl WindowSummary {
    /// Sums up the requests of these windows.
    pub(super) fn from_windows<'s>(spans: impl IntoIterator<Item = &'s SlidingWindow>) -> Self {
        let mut sum = Self {
            severity: Severity::Info,
            times: None,
            hits: 0,
            distinct: 0,
        };
        let mut distinct = Vec::new();
        for entry in spans.into_iter().flat_map(|span| &span.entries) {
            let time = entry.time();
            sum.times = Some(sum.times.map_or((time, time), |(first, last)| {
                (first.min(time), last.max(time))
            }));
            sum.severity = sum.severity.max(entry.severity);
            sum.hits += 1;
            distinct.push(entry.distinct_key);
        }
        distinct.sort_unstable();
        distinct.dedup();
        Self {
            distinct: distinct.len() as u64,
            ..sum
        }
    }
}
