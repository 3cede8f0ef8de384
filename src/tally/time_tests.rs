//! Any split of the hits gives the same counts by time, in a bounded number of buckets, and their sums are all hits.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::time_counts::{MAX_BUCKETS, TimeUnit, WEEK_HOURS};
use super::{Budget, LinePosition, ListedTimes, Tally};
use crate::finding::{Findings, Hit, RuleId};
use crate::intern::SymbolTables;
use crate::time::LogTime;

/// A client, a path and a time.
type TimedHit = (u8, u8, Option<LogTime>);

fn tally_of(hits: &[TimedHit], chunk: u64) -> Tally {
    let (mut names, mut findings, mut tally) = (SymbolTables::default(), Findings::default(), Tally::default());
    let rules = names.rules.intern(&[RuleId(0)][..], Box::from);
    for (line, &(client, path, time)) in (0..).zip(hits) {
        let mut hit = Hit::at(line, line.into());
        hit.client = names.clients.intern(format!("192.0.2.{client}").as_bytes());
        hit.path = names.paths.intern(format!("/{path}").as_bytes(), Box::from);
        (hit.rules, hit.time) = (rules, time);
        findings.push(hit, b"a line");
    }
    tally.add_findings(&findings, LinePosition { input: 0, chunk, offset: 0, line: 0 });
    tally.with_names(names)
}

/// Merges parts in the order of `picks`.
fn merged(parts: Vec<Tally>, picks: &[prop::sample::Index]) -> Tally {
    let mut tallies = parts;
    let mut picks = picks.iter().cycle();
    while tallies.len() > 1 {
        let taken = tallies.swap_remove(picks.next().map_or(0, |pick| pick.index(tallies.len())));
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
        let hour = (time.local_seconds() + 3 * 86_400).div_euclid(3_600).rem_euclid(i64::try_from(WEEK_HOURS).unwrap());
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
        cells.entry((format!("192.0.2.{client}"), format!("/{path}"))).or_default().add(unit, *time);
    }
    cells
}

fn counted(tally: &Tally) -> ByCell {
    let mut cells = ByCell::new();
    for view in tally.cells() {
        let path = String::from_utf8_lossy(if view.is_other() { b"" } else { tally.path(view.path) }).into_owned();
        let client = if view.is_other() { String::new() } else { tally.client(view.client).to_string() };
        let counted = cells.entry((client, path)).or_default();
        let unit = tally.time_unit();
        view.cell.by_bucket(unit).for_each(|(bucket, hits)| *counted.buckets.entry(bucket).or_default() += hits);
        if tally.has_hours() {
            view.cell.by_hour().for_each(|(hour, hits)| *counted.hours.entry(hour).or_default() += hits);
        }
        counted.untimed += view.cell.untimed();
    }
    cells
}

/// The sum of all cells.
fn whole(cells: &ByCell) -> Counted {
    let mut sum = Counted::default();
    for cell in cells.values() {
        cell.buckets.iter().for_each(|(bucket, hits)| *sum.buckets.entry(*bucket).or_default() += hits);
        cell.hours.iter().for_each(|(hour, hits)| *sum.hours.entry(*hour).or_default() += hits);
        sum.untimed += cell.untimed;
    }
    sum
}

fn listed(tally: &Tally) -> BTreeMap<String, ListedTimes> {
    let name = |client, path| format!("{} {}", tally.client(client), String::from_utf8_lossy(tally.path(path)));
    tally.cells().map(|view| (name(view.client, view.path), tally.listed_times(&view))).collect()
}

/// Times of one kind of log: an hour, a month, ten years, the ends of the calendar, few seconds.
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
        let time = (time, prop::sample::select(vec![0_i16, 0, 60, -210, 345])).prop_map(|(utc, offset)| LogTime { utc, offset });
        (0_u8..3, 0_u8..3, prop::option::weighted(0.9, time))
    };
    let log = time().prop_flat_map(move |time| prop::collection::vec(prop::collection::vec(hit(time), 0..60), 1..6));
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
    (0..).zip(parts).map(|(chunk, hits)| tally_of(hits, chunk)).collect()
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
        let mut small = Tally::with_budget(Budget { cells: 6, clients: 2 });
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
    let mut unit = TimeUnit::default();
    assert_eq!(unit.seconds(), 60);
    for seconds in [300, 3_600, 86_400, 604_800, 2_419_200, 4_838_400, 9_676_800] {
        let longer = TimeUnit::from_seconds(seconds).unwrap();
        for utc in [-1, 0, 1_793_577_600, 1_793_577_599] {
            let (start, end) = (longer.start(longer.bucket(utc)), longer.start(longer.bucket(utc) + 1));
            assert!(start <= utc && utc < end);
            assert_eq!(unit.start(unit.bucket(start)), start);
        }
        unit = longer;
    }
    let week = TimeUnit::from_seconds(604_800).unwrap();
    // 2026-11-02 is a Monday.
    assert_eq!(week.start(week.bucket(1_793_577_600 + 6 * 86_400)), 1_793_577_600);
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
