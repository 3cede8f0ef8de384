//! Counts of hits by time: in buckets of one length, and by hour of the week.
//!
//! The counts are kept per cell, because a report decides per cell what it contains. Most cells
//! need no list: the first hit is at the first time of the cell, and all hits in no list are at its
//! last time. A list has the other hits.
//!
//! All cells of a tally have one [`TimeUnit`], the shortest with at most [`MAX_BUCKETS`] buckets
//! from the first hit to the last. It grows with the tally and never shrinks. Each longer bucket
//! consists of whole shorter ones, so that any split of a log gives the same counts. The memory of
//! all lists is bounded: above [`MAX_TIME_ENTRIES`] the unit grows further, and hours are no longer
//! counted. Sums stay exact.

use std::iter;

use super::cell::CellCounts;
use crate::collections::prefetch::prefetch;
use crate::log::time::{LogTime, PackedTime, TimeSpan};

/// The length of a bucket: a minute, 5 minutes, an hour, a day, a week, 4 weeks, and then twice as
/// long each time. Buckets begin in UTC, those of weeks on a Monday.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeUnit(u8);

/// Lengths in seconds, before the doublings.
const LENGTHS: [i64; 6] = [60, 300, 3_600, 86_400, 604_800, 4 * 604_800];
/// The Monday before the year 0. The buckets of all units are counted from here.
const ORIGIN: i64 = -62_167_651_200;
/// The longest unit. The years 0 to 9999 are two of its buckets.
const MAX_UNIT: u8 = 22;

/// The most buckets from the first hit of a tally to the last.
pub(super) const MAX_BUCKETS: u32 = 400;

/// Hours of a week.
pub(crate) const WEEK_HOURS: usize = 168;

/// Hours come first in a list, and buckets after them.
const HOURS: u32 = WEEK_HOURS as u32;

/// How many cells ahead the entries of a cell are prefetched, and its counts, which point to them,
/// twice as many: enough to overlap cache misses, and far fewer than the cache holds.
const AHEAD: usize = 8;

/// The most entries of the lists of all cells: this number of buckets, and the same number of
/// hours. They take 4 MB.
pub(super) const MAX_TIME_ENTRIES: usize = 1 << 18;

impl TimeUnit {
    /// A day.
    pub(crate) const DAY: Self = Self(3);

    /// In seconds.
    #[must_use]
    pub fn seconds(self) -> i64 {
        let number = usize::from(self.0);
        LENGTHS
            .get(number)
            .copied()
            .unwrap_or_else(|| LENGTHS[5] << (number - 5))
    }

    /// The unit with this length.
    #[must_use]
    pub fn from_seconds(seconds: i64) -> Option<Self> {
        (0..=MAX_UNIT)
            .map(Self)
            .find(|unit| unit.seconds() == seconds)
    }

    /// The number of the bucket with this time.
    #[must_use]
    pub fn bucket(self, utc: i64) -> u32 {
        let number = utc.saturating_sub(ORIGIN).max(0) / self.seconds();
        u32::try_from(number).map_or(u32::MAX - HOURS, |number| number.min(u32::MAX - HOURS))
    }

    /// The start of a bucket, in seconds since 1970.
    #[must_use]
    pub fn start(self, bucket: u32) -> i64 {
        ORIGIN + i64::from(bucket) * self.seconds()
    }

    /// Whether the buckets of a span are not too many. The last number is that of no bucket: times
    /// after it have it too.
    pub(crate) fn fits(self, first: i64, last: i64) -> bool {
        let (first, last) = (self.bucket(first), self.bucket(last));
        (last < u32::MAX - HOURS && last - first < MAX_BUCKETS) || self.0 == MAX_UNIT
    }

    /// The next longer unit.
    pub(crate) fn longer(self) -> Self {
        Self((self.0 + 1).min(MAX_UNIT))
    }
}

/// How a tally counts times.
#[derive(Debug, Clone)]
pub(super) struct TimeScale {
    /// The unit of all cells. A list may still have a shorter one.
    unit: TimeUnit,
    /// Whether hours of the week are counted.
    has_hours: bool,
    /// The first and the last time of all hits, in seconds since 1970.
    span: Option<(i64, i64)>,
    /// Entries of all lists.
    hours: usize,
    buckets: usize,
}

impl Default for TimeScale {
    fn default() -> Self {
        Self {
            unit: TimeUnit::default(),
            has_hours: true,
            span: None,
            hours: 0,
            buckets: 0,
        }
    }
}

impl TimeScale {
    pub(super) fn unit(&self) -> TimeUnit {
        self.unit
    }

    pub(super) fn has_hours(&self) -> bool {
        self.has_hours
    }

    /// Makes the unit at least this long, and counts hours only if `has_hours`.
    pub(super) fn raise(&mut self, unit: TimeUnit, has_hours: bool) {
        self.unit = self.unit.max(unit);
        self.has_hours &= has_hours;
    }

    /// The scale alone, for cells that will be inserted.
    pub(super) fn without_cells(&self) -> Self {
        Self {
            hours: 0,
            buckets: 0,
            ..self.clone()
        }
    }

    /// Covers the times of another tally. Its cells are added one by one.
    pub(super) fn merge(&mut self, other: &Self) {
        self.raise(other.unit, other.has_hours);
        if let Some((first, last)) = other.span {
            self.cover(first);
            self.cover(last);
        }
    }

    /// Covers a time.
    #[inline]
    pub(super) fn cover(&mut self, utc: i64) {
        if self
            .span
            .is_none_or(|(first, last)| utc < first || utc > last)
        {
            self.extend(utc);
        }
    }

    fn extend(&mut self, utc: i64) {
        let (first, last) = self
            .span
            .map_or((utc, utc), |(first, last)| (first.min(utc), last.max(utc)));
        self.span = Some((first, last));
        while !self.unit.fits(first, last) {
            self.unit = self.unit.longer();
        }
    }

    /// Whether the lists have too many entries.
    #[inline]
    pub(super) fn is_exceeded(&self) -> bool {
        self.hours.max(self.buckets) > MAX_TIME_ENTRIES
    }

    /// Shortens the lists of all cells until they fit. The result depends on the hits only: entries
    /// that a longer unit makes superfluous are removed first.
    pub(super) fn shrink(&mut self, cells: &mut [CellCounts], most: usize) {
        loop {
            (self.hours, self.buckets) = (0, 0);
            for at in 0..cells.len() {
                cells
                    .get(at + 2 * AHEAD)
                    .into_iter()
                    .for_each(CellCounts::prefetch_counts);
                cells
                    .get(at + AHEAD)
                    .into_iter()
                    .for_each(CellCounts::prefetch_entries);
                cells[at].shorten(self);
            }
            if self.hours <= most && (self.buckets <= most || self.unit.0 == MAX_UNIT) {
                return;
            }
            self.has_hours &= self.hours <= most;
            self.unit = if self.buckets > most {
                self.unit.longer()
            } else {
                self.unit
            };
        }
    }

    fn keys(&self, time: PackedTime) -> [u32; 2] {
        let time = time.time();
        [hour_of_week(time), HOURS + self.unit.bucket(time.utc)]
    }

    /// Changes the number of entries by those of a list.
    fn add_entries(&mut self, list: &TimeCounts) {
        let hours = list.hours_len();
        self.hours += hours;
        self.buckets += list.entries.len() - hours;
    }

    fn remove_entries(&mut self, list: &TimeCounts) {
        let hours = list.hours_len();
        self.hours = self.hours.saturating_sub(hours);
        self.buckets = self.buckets.saturating_sub(list.entries.len() - hours);
    }
}

/// The hour of the week from Monday, in the offset of the log.
fn hour_of_week(time: LogTime) -> u32 {
    // The origin is a Monday.
    ((time.local_seconds() - ORIGIN).div_euclid(3_600)).rem_euclid(i64::from(HOURS)) as u32
}

/// The hits of a cell that are neither at its first nor at its last time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimeCounts {
    unit: TimeUnit,
    /// Hits without a time, of a cell that has hits with a time.
    untimed: u64,
    /// Hits in the list, by hour and by bucket.
    listed: [u64; 2],
    /// Sorted by key. If a count is too large for an entry, several have the same key, and all but
    /// the last of them are full.
    entries: Vec<TimeEntry>,
}

/// The hour of the week, or the number of the bucket after all hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TimeEntry {
    key: u32,
    hits: u32,
}

/// The lists of a cell in the unit of its tally, as a snapshot stores them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedTimes {
    /// Hits without a time, of a cell that has hits with a time.
    pub untimed: u64,
    /// Hours of the week and their hits, sorted.
    pub hours: Vec<(u32, u64)>,
    /// Buckets and their hits, sorted.
    pub buckets: Vec<(u32, u64)>,
}

impl ListedTimes {
    /// Whether there is nothing to store.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl TimeCounts {
    /// The lists of an earlier report.
    #[must_use]
    pub fn from_listed(unit: TimeUnit, listed: &ListedTimes) -> Self {
        let mut counts = Self {
            unit,
            untimed: listed.untimed,
            ..Self::default()
        };
        for &(hour, hits) in &listed.hours {
            counts.insert(hour.min(HOURS - 1), hits);
        }
        for &(bucket, hits) in &listed.buckets {
            counts.insert(HOURS + bucket.min(u32::MAX - HOURS), hits);
        }
        counts
    }

    fn hours_len(&self) -> usize {
        self.entries.partition_point(|entry| entry.key < HOURS)
    }

    /// Adds hits.
    fn insert(&mut self, key: u32, hits: u64) {
        self.listed[usize::from(key >= HOURS)] += hits;
        let mut at = if self.entries.last().is_none_or(|last| last.key <= key) {
            self.entries.len()
        } else {
            self.entries.partition_point(|entry| entry.key <= key)
        };
        let mut left = hits;
        if let Some(entry) = self.entries[..at]
            .last_mut()
            .filter(|entry| entry.key == key)
        {
            left -= entry.add(hits);
        }
        while left > 0 {
            let mut entry = TimeEntry { key, hits: 0 };
            left -= entry.add(left);
            self.entries.insert(at, entry);
            at += 1;
        }
    }

    /// Adds the entries of another list with the same unit.
    fn merge(&mut self, other: &Self) {
        (0..2).for_each(|list| self.listed[list] += other.listed[list]);
        self.entries.extend_from_slice(&other.entries);
        // Two sorted runs, which the stable sort merges in one pass.
        self.entries.sort_by_key(|entry| entry.key);
        self.join_equal_keys();
    }

    /// Changes the unit, and removes the entries with the keys of the last time.
    fn shorten(&mut self, scale: &TimeScale, last: [u32; 2]) {
        let unit = std::mem::replace(&mut self.unit, scale.unit);
        if unit != scale.unit {
            let first = self.hours_len();
            for entry in &mut self.entries[first..] {
                entry.key = HOURS + scale.unit.bucket(unit.start(entry.key - HOURS));
            }
        }
        self.entries
            .retain(|entry| !last.contains(&entry.key) && (scale.has_hours || entry.key >= HOURS));
        self.join_equal_keys();
        let sum = |entries: &[TimeEntry]| entries.iter().map(|entry| u64::from(entry.hits)).sum();
        let (hours, buckets) = self.entries.split_at(self.hours_len());
        self.listed = [sum(hours), sum(buckets)];
        // Lists are short and many: moving each of them would take longer than all else here.
        if self.entries.capacity() > 2 * self.entries.len() {
            self.entries.shrink_to_fit();
        }
    }

    /// Joins neighbours with the same key; all but the last of them are full then.
    fn join_equal_keys(&mut self) {
        self.entries.dedup_by(|next, entry| {
            let is_equal = next.key == entry.key;
            if is_equal {
                next.hits -= entry.add(next.hits.into()) as u32;
            }
            is_equal && next.hits == 0
        });
    }
}

impl TimeEntry {
    /// Adds hits as far as the entry can hold them. Returns how many it took.
    fn add(&mut self, hits: u64) -> u64 {
        let taken = hits.min((u32::MAX - self.hits).into());
        self.hits += taken as u32;
        taken
    }
}

impl CellCounts {
    /// Hits without a time.
    #[must_use]
    pub fn untimed(&self) -> u64 {
        if self.span.ends().is_none() {
            self.hits
        } else {
            self.listed_untimed()
        }
    }

    fn listed_untimed(&self) -> u64 {
        self.counts.as_ref().map_or(0, |counts| counts.untimed)
    }

    /// Counts the time of a hit, which is counted already.
    #[inline]
    pub(super) fn count_time(&mut self, time: PackedTime, scale: &mut TimeScale) {
        let is_near = self.span.first().is_some_and(|first| first <= time)
            && self
                .span
                .last()
                .is_some_and(|last| last.is_same_minute(time));
        if !is_near {
            self.count_distant_time(time, scale);
        }
        self.span.add(time);
    }

    /// Counts a hit without a time.
    #[cold]
    pub(super) fn count_untimed(&mut self) {
        self.counts.get_or_insert_default().untimed += 1;
    }

    /// Counts a time in another minute than the last one, before that becomes the last one.
    fn count_distant_time(&mut self, time: PackedTime, scale: &mut TimeScale) {
        scale.cover(time.time().utc);
        let (Some(first), Some(last)) = (self.span.first(), self.span.last()) else {
            if self.hits > 1 {
                self.counts.get_or_insert_default().untimed = self.hits - 1;
            }
            return;
        };
        // The hit at the first time and those at the last time are in no list, so one of these
        // moves into the lists.
        let moved = if time > last { last } else { time.max(first) };
        let (keys, of_last) = (scale.keys(moved), scale.keys(last.max(time)));
        if keys == of_last {
            return;
        }
        let timed = self.hits - 1 - self.listed_untimed();
        let hits = if time > last {
            self.at_last(timed)
        } else {
            [u64::from(time >= first || timed > 1); 2]
        };
        self.list(keys, hits, of_last, scale);
    }

    /// Hits at the last time, by hour and by bucket, of `timed` hits with a time.
    fn at_last(&self, timed: u64) -> [u64; 2] {
        let listed = self.counts.as_ref().map_or([0; 2], |counts| counts.listed);
        listed.map(|listed| timed.saturating_sub(1 + listed))
    }

    /// Adds hits to the lists, but for those with the keys of the last time.
    fn list(&mut self, keys: [u32; 2], hits: [u64; 2], of_last: [u32; 2], scale: &mut TimeScale) {
        for (at, (key, hits)) in keys.into_iter().zip(hits).enumerate() {
            if hits == 0 || of_last.contains(&key) || (at == 0 && !scale.has_hours) {
                continue;
            }
            let counts = self.counts_in_unit(of_last, scale);
            let before = counts.entries.len();
            counts.insert(key, hits);
            *(if at == 0 {
                &mut scale.hours
            } else {
                &mut scale.buckets
            }) += counts.entries.len() - before;
        }
    }

    /// The lists, in the unit of the scale.
    fn counts_in_unit(&mut self, of_last: [u32; 2], scale: &mut TimeScale) -> &mut TimeCounts {
        let counts = self.counts.get_or_insert_default();
        if counts.unit < scale.unit {
            scale.remove_entries(counts);
            counts.shorten(scale, of_last);
            scale.add_entries(counts);
        }
        counts
    }

    /// Adds the times of another cell with the same key, before its hits are added.
    pub(super) fn merge_times(&mut self, other: &mut Self, scale: &mut TimeScale) {
        let untimed = self.untimed() + other.untimed();
        let others = other.counts.take();
        if self.span.ends().is_none() {
            (self.span, self.counts) = (other.span, others);
            self.enter(scale);
        } else if let Some(((first, last), (other_first, other_last))) =
            self.ends().zip(other.ends())
        {
            let mine = self.at_last(self.hits - self.listed_untimed());
            let timed = other.hits - others.as_ref().map_or(0, |counts| counts.untimed);
            let listed = others.as_ref().map_or([0; 2], |counts| counts.listed);
            let theirs = listed.map(|listed| timed.saturating_sub(1 + listed));
            let of_last = scale.keys(last.max(other_last));
            let (earlier, rest) = if last < other_last {
                (last, mine)
            } else {
                (other_last, theirs)
            };
            self.list(scale.keys(first.max(other_first)), [1; 2], of_last, scale);
            self.list(scale.keys(earlier), rest, of_last, scale);
            if let Some(mut others) = others {
                others.shorten(scale, of_last);
                if !others.entries.is_empty() {
                    let counts = self.counts_in_unit(of_last, scale);
                    scale.remove_entries(counts);
                    counts.merge(&others);
                    scale.add_entries(counts);
                }
            }
            self.span.add(other_first);
            self.span.add(other_last);
        }
        if self.span.ends().is_some() && untimed != self.listed_untimed() {
            self.counts.get_or_insert_default().untimed = untimed;
        }
    }

    fn ends(&self) -> Option<(PackedTime, PackedTime)> {
        self.span.first().zip(self.span.last())
    }

    /// Prefetches the counts of the lists.
    #[inline]
    pub(super) fn prefetch_counts(&self) {
        if let Some(counts) = &self.counts {
            prefetch(&**counts);
        }
    }

    /// Prefetches the lists, after their counts.
    #[inline]
    pub(super) fn prefetch_entries(&self) {
        if let Some(entry) = self
            .counts
            .as_ref()
            .and_then(|counts| counts.entries.first())
        {
            prefetch(entry);
        }
    }

    /// Keeps what is necessary, and adds its entries to those of the scale.
    fn shorten(&mut self, scale: &mut TimeScale) {
        let (Some(counts), Some(last)) = (&mut self.counts, self.span.last()) else {
            return;
        };
        counts.shorten(scale, scale.keys(last));
        scale.add_entries(counts);
        if counts.untimed == 0 && counts.entries.is_empty() {
            self.counts = None;
        }
    }

    /// Adds the entries of a new cell to those of the scale.
    pub(super) fn enter(&self, scale: &mut TimeScale) {
        if let Some(counts) = &self.counts {
            scale.add_entries(counts);
        }
    }

    /// The lists in the unit of the tally.
    pub(super) fn listed_times(&self, scale: &TimeScale) -> ListedTimes {
        let (Some(counts), Some(last)) = (&self.counts, self.span.last()) else {
            return ListedTimes::default();
        };
        let mut counts = counts.clone();
        counts.shorten(scale, scale.keys(last));
        let sums = |entries: &[TimeEntry], first: u32| -> Vec<(u32, u64)> {
            let equal = entries.chunk_by(|a, b| a.key == b.key);
            equal
                .map(|equal| {
                    (
                        equal[0].key - first,
                        equal.iter().map(|entry| u64::from(entry.hits)).sum(),
                    )
                })
                .collect()
        };
        let (hours, buckets) = counts.entries.split_at(counts.hours_len());
        ListedTimes {
            untimed: counts.untimed,
            hours: sums(hours, 0),
            buckets: sums(buckets, HOURS),
        }
    }

    /// Buckets of this unit, which must not be shorter than that of the tally, and their hits, in
    /// no order.
    pub fn by_bucket(&self, unit: TimeUnit) -> impl Iterator<Item = (u32, u64)> {
        let listed = self.counts.iter().flat_map(move |counts| {
            let bucket = move |key: u32| unit.bucket(counts.unit.start(key - HOURS));
            counts.entries[counts.hours_len()..]
                .iter()
                .map(move |entry| (bucket(entry.key), entry.hits.into()))
        });
        self.first_and_last(1)
            .map(move |(time, hits)| (unit.bucket(time.utc), hits))
            .chain(listed)
    }

    /// Hours of the week and their hits, in no order. Only of a tally that counts hours.
    pub fn by_hour(&self) -> impl Iterator<Item = (u32, u64)> {
        let listed = self
            .counts
            .iter()
            .flat_map(|counts| counts.entries[..counts.hours_len()].iter());
        self.first_and_last(0)
            .map(|(time, hits)| (hour_of_week(time), hits))
            .chain(listed.map(|entry| (entry.key, entry.hits.into())))
    }

    /// The hits in no list: at the first time, and at the last.
    fn first_and_last(&self, list: usize) -> impl Iterator<Item = (LogTime, u64)> {
        let hits = |(first, last): (LogTime, LogTime)| {
            let rest = self.at_last(self.hits - self.listed_untimed().min(self.hits))[list];
            iter::once((first, 1)).chain((rest > 0).then_some((last, rest)))
        };
        self.span.ends().map(hits).into_iter().flatten()
    }
}

/// An empty span, or that of two times.
pub(super) fn span_of(times: Option<(LogTime, LogTime)>) -> TimeSpan {
    let mut span = TimeSpan::default();
    if let Some((first, last)) = times {
        span.add(PackedTime::new(first));
        span.add(PackedTime::new(last));
    }
    span
}

#[cfg(test)]
mod tests {
    //! Any split of the hits gives the same counts by time, in a bounded number of buckets, and
    //! their sums are all hits.

    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{ListedTimes, MAX_BUCKETS, TimeUnit, WEEK_HOURS};
    use crate::collections::intern::SymbolTables;
    use crate::log::finding::{Findings, Hit, RuleId};
    use crate::log::time::LogTime;
    use crate::tally::{Budget, LinePosition, Tally};

    /// A client, a path and a time.
    type TimedHit = (u8, u8, Option<LogTime>);

    fn tally_of(hits: &[TimedHit], chunk: u64) -> Tally {
        let (mut names, mut findings, mut tally) = (
            SymbolTables::default(),
            Findings::default(),
            Tally::default(),
        );
        let rules = names.rules.intern(&[RuleId(0)][..], Box::from);
        for (line, &(client, path, time)) in (0..).zip(hits) {
            let mut hit = Hit::at(line, line.into());
            hit.client = names.clients.intern(format!("192.0.2.{client}").as_bytes());
            hit.path = names.paths.intern(format!("/{path}").as_bytes(), Box::from);
            (hit.rules, hit.time) = (rules, time);
            findings.push(hit, b"a line");
        }
        tally.add_findings(
            &findings,
            LinePosition {
                input: 0,
                chunk,
                offset: 0,
                line: 0,
            },
        );
        tally.with_names(names)
    }

    /// Merges parts in the order of `picks`.
    fn merged(parts: Vec<Tally>, picks: &[prop::sample::Index]) -> Tally {
        let mut tallies = parts;
        let mut picks = picks.iter().cycle();
        while tallies.len() > 1 {
            let taken =
                tallies.swap_remove(picks.next().map_or(0, |pick| pick.index(tallies.len())));
            let into = picks.next().map_or(0, |pick| pick.index(tallies.len()));
            tallies[into].merge(taken);
        }
        tallies.pop().unwrap_or_default()
    }

    /// The counts by bucket and by hour of a cell or of many, and the hits without a time.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    struct Counted {
        buckets: BTreeMap<u32, u64>,
        hours: BTreeMap<u32, u64>,
        untimed: u64,
    }

    impl Counted {
        fn add(&mut self, unit: TimeUnit, time: Option<LogTime>) {
            let Some(time) = time else {
                self.untimed += 1;
                return;
            };
            *self.buckets.entry(unit.bucket(time.utc)).or_default() += 1;
            // 1970 began on a Thursday.
            let hour = (time.local_seconds() + 3 * 86_400)
                .div_euclid(3_600)
                .rem_euclid(i64::try_from(WEEK_HOURS).unwrap());
            *self.hours.entry(u32::try_from(hour).unwrap()).or_default() += 1;
        }

        fn sum(&self) -> u64 {
            self.buckets.values().sum::<u64>() + self.untimed
        }
    }

    type ByCell = BTreeMap<(String, String), Counted>;

    fn expected(hits: &[TimedHit], unit: TimeUnit) -> ByCell {
        let mut cells = ByCell::new();
        for (client, path, time) in hits {
            cells
                .entry((format!("192.0.2.{client}"), format!("/{path}")))
                .or_default()
                .add(unit, *time);
        }
        cells
    }

    fn counted(tally: &Tally) -> ByCell {
        let mut cells = ByCell::new();
        for view in tally.cells() {
            let path = String::from_utf8_lossy(if view.is_other() {
                b""
            } else {
                tally.path(view.path)
            })
            .into_owned();
            let client = if view.is_other() {
                String::new()
            } else {
                tally.client(view.client).to_string()
            };
            let counted = cells.entry((client, path)).or_default();
            let unit = tally.time_unit();
            view.cell
                .by_bucket(unit)
                .for_each(|(bucket, hits)| *counted.buckets.entry(bucket).or_default() += hits);
            if tally.has_hours() {
                view.cell
                    .by_hour()
                    .for_each(|(hour, hits)| *counted.hours.entry(hour).or_default() += hits);
            }
            counted.untimed += view.cell.untimed();
        }
        cells
    }

    /// The sum of all cells.
    fn whole(cells: &ByCell) -> Counted {
        let mut sum = Counted::default();
        for cell in cells.values() {
            cell.buckets
                .iter()
                .for_each(|(bucket, hits)| *sum.buckets.entry(*bucket).or_default() += hits);
            cell.hours
                .iter()
                .for_each(|(hour, hits)| *sum.hours.entry(*hour).or_default() += hits);
            sum.untimed += cell.untimed;
        }
        sum
    }

    fn listed(tally: &Tally) -> BTreeMap<String, ListedTimes> {
        let name = |client, path| {
            format!(
                "{} {}",
                tally.client(client),
                String::from_utf8_lossy(tally.path(path))
            )
        };
        tally
            .cells()
            .map(|view| (name(view.client, view.path), tally.listed_times(&view)))
            .collect()
    }

    /// Times of one kind of log: an hour, a month, ten years, the ends of the calendar, few
    /// seconds.
    fn time() -> impl Strategy<Value = BoxedStrategy<i64>> {
        let start = 1_793_577_600_i64;
        prop::sample::select(vec![
            (start..start + 3_600).boxed(),
            (start..start + 30 * 86_400).boxed(),
            (start..start + 3_652 * 86_400).boxed(),
            prop_oneof![0..7_200_i64, 4_102_444_800..4_102_448_000_i64].boxed(),
            (-62_167_219_200..253_402_300_799_i64).boxed(),
            (start..start + 120).boxed(),
        ])
    }

    /// Hits of one log in parts; the times of half of the logs are sorted.
    fn parts() -> impl Strategy<Value = Vec<Vec<TimedHit>>> {
        let hit = |time: BoxedStrategy<i64>| {
            let time = (time, prop::sample::select(vec![0_i16, 0, 60, -210, 345]))
                .prop_map(|(utc, offset)| LogTime { utc, offset });
            (0_u8..3, 0_u8..3, prop::option::weighted(0.9, time))
        };
        let log = time().prop_flat_map(move |time| {
            prop::collection::vec(prop::collection::vec(hit(time), 0..60), 1..6)
        });
        (log, any::<bool>()).prop_map(|(mut parts, is_sorted)| {
            if is_sorted {
                for part in &mut parts {
                    part.sort_by_key(|hit| hit.2);
                }
            }
            parts
        })
    }

    fn tallies(parts: &[Vec<TimedHit>]) -> Vec<Tally> {
        (0..)
            .zip(parts)
            .map(|(chunk, hits)| tally_of(hits, chunk))
            .collect()
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_counts(parts in parts(), picks in prop::collection::vec(any::<prop::sample::Index>(), 1..8)) {
            let all = parts.concat();
            let (one, merged) = (tally_of(&all, 0), merged(tallies(&parts), &picks));
            prop_assert_eq!(one.time_unit(), merged.time_unit());
            let expected = expected(&all, one.time_unit());
            prop_assert_eq!(&counted(&one), &expected);
            prop_assert_eq!(&counted(&merged), &expected);
            prop_assert_eq!(listed(&one), listed(&merged));
            let sum = whole(&expected);
            prop_assert_eq!(sum.sum(), all.len() as u64);
            let ends = sum.buckets.keys().next().zip(sum.buckets.keys().next_back());
            prop_assert!(ends.is_none_or(|(first, last)| last - first < MAX_BUCKETS));
        }

        #[test]
        fn a_tally_that_is_shortened_keeps_all_sums(
            parts in parts(), picks in prop::collection::vec(any::<prop::sample::Index>(), 1..8), most in 0_usize..40,
        ) {
            let all = parts.concat();
            let shortened = |mut tally: Tally| {
                tally.cells.shrink_times(&mut tally.scale, most);
                tally
            };
            let one = shortened(tally_of(&all, 0));
            let merged = shortened(merged(tallies(&parts).into_iter().map(shortened).collect(), &picks));
            prop_assert_eq!((one.time_unit(), one.has_hours()), (merged.time_unit(), merged.has_hours()));
            prop_assert_eq!(listed(&one), listed(&merged));
            let mut expected = expected(&all, one.time_unit());
            if !one.has_hours() {
                for cell in expected.values_mut() {
                    cell.hours.clear();
                }
            }
            prop_assert_eq!(&counted(&one), &expected);
            prop_assert_eq!(&counted(&merged), &expected);
        }

        #[test]
        fn evicted_hits_keep_their_times(parts in parts(), picks in prop::collection::vec(any::<prop::sample::Index>(), 1..8)) {
            let mut small = Tally::with_budget(Budget { cells: 6, clients: 2, text: usize::MAX });
            small.merge(merged(tallies(&parts), &picks));
            for part in tallies(&parts) {
                small.merge(part);
            }
            let all = [parts.concat(), parts.concat()].concat();
            prop_assert_eq!(whole(&counted(&small)), whole(&expected(&all, small.time_unit())));
        }
    }

    #[test]
    fn buckets_of_all_units_nest_and_weeks_begin_on_monday() {
        assert_eq!(TimeUnit::DAY.seconds(), crate::log::days::DAY);
        let mut unit = TimeUnit::default();
        assert_eq!(unit.seconds(), 60);
        for seconds in [300, 3_600, 86_400, 604_800, 2_419_200, 4_838_400, 9_676_800] {
            let longer = TimeUnit::from_seconds(seconds).unwrap();
            for utc in [-1, 0, 1_793_577_600, 1_793_577_599] {
                let (start, end) = (
                    longer.start(longer.bucket(utc)),
                    longer.start(longer.bucket(utc) + 1),
                );
                assert!(start <= utc && utc < end);
                assert_eq!(unit.start(unit.bucket(start)), start);
            }
            unit = longer;
        }
        let week = TimeUnit::from_seconds(604_800).unwrap();
        // 2026-11-02 is a Monday.
        assert_eq!(
            week.start(week.bucket(1_793_577_600 + 6 * 86_400)),
            1_793_577_600
        );
        assert_eq!(TimeUnit::from_seconds(61), None);
    }

    #[test]
    fn a_cell_with_one_minute_of_hits_has_no_list() {
        let at = |utc| (0, 0, Some(LogTime { utc, offset: 0 }));
        let one_minute = tally_of(&[at(30), at(0), at(59), at(30)], 0);
        let two_times = tally_of(&[at(0), at(7_200)], 0);
        for tally in [one_minute, two_times] {
            assert!(tally.cells().all(|view| view.cell.counts.is_none()));
        }
    }
}
