//! Plots of a page: bars over time, a heat map of the week, and sparklines.
//!
//! They have no text, because they are stretched to the width of the page: labels are beside them,
//! and a table has the numbers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::tables::{CellLink, TableBuilder, TableCell, TableView};
use crate::log::log_entry::Outcome;
use crate::log::time::LogTime;
use crate::render::layout::minute;
use crate::render::timeline::bucket_start;
use crate::report::model::{Timeline, TimelineBucket};
use crate::text::number::{counted, grouped};

/// The width of a bar and the height of the highest one, in units of the plot.
const BAR: u64 = 10;
const HEIGHT: u64 = 100;

/// The most bars of a sparkline.
const MAX_SPARKLINE_BARS: usize = 40;

const DAY: u32 = 24 * 60 * 60;

/// Hours of the week, from Monday.
type Hours = [[u64; 24]; 7];

const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// The classes of outcomes in the style, in the order of [`Outcome::ALL`].
const CLASSES: [&str; 8] = ["o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7"];

/// Stacked bars.
#[derive(Debug)]
pub(super) struct Plot {
    pub(super) caption: String,
    pub(super) notes: Vec<String>,
    /// The count at the top and in the middle.
    pub(super) top: String,
    pub(super) middle: String,
    pub(super) width: u64,
    /// The class and the path of all bars of one colour.
    pub(super) layers: Vec<(&'static str, String)>,
    /// The tooltip of each bar.
    pub(super) bars: Vec<String>,
    /// Where each mark is, and its tooltip.
    pub(super) marks: Vec<(u64, String)>,
    pub(super) ticks: Vec<String>,
    pub(super) legend: Vec<PlotKey>,
}

/// An item of the legend: its class, its name, and its value.
pub(super) type PlotKey = (&'static str, String, String);

/// One bar: what it is, and the counts of each layer.
pub(super) type PlotItem = (String, Vec<u64>);

impl Plot {
    /// The bars of `items`, in layers of these classes.
    pub(super) fn new(items: &[PlotItem], classes: &[&'static str]) -> Self {
        let highest = items
            .iter()
            .map(|(_, counts)| counts.iter().sum())
            .max()
            .unwrap_or(0);
        let top = round_up(highest);
        let mut paths = vec![String::new(); classes.len()];
        for (at, (_, counts)) in (0..).zip(items) {
            let mut below = 0;
            for (path, &count) in paths
                .iter_mut()
                .zip(counts)
                .filter(|(_, count)| **count > 0)
            {
                let (low, high) = (scaled(below, top), scaled(below + count, top));
                // Writing to a `String` does not fail.
                let _ = write!(
                    path,
                    "M{} {}h9V{}h-9z",
                    at * BAR,
                    tenths(HEIGHT * 10 - low),
                    tenths((HEIGHT * 10 - high).min(HEIGHT * 10 - 10))
                );
                below += count;
            }
        }
        let layers = classes
            .iter()
            .copied()
            .zip(paths)
            .filter(|(_, path)| !path.is_empty());
        Self {
            caption: String::new(),
            notes: Vec::new(),
            top: grouped(top),
            middle: grouped(top / 2),
            width: items.len() as u64 * BAR,
            layers: layers.collect(),
            bars: items.iter().map(|(title, _)| title.clone()).collect(),
            marks: Vec::new(),
            ticks: Vec::new(),
            legend: Vec::new(),
        }
    }

    /// Hits over time; `None` if no hit has a time.
    pub(super) fn from_timeline(timeline: &Timeline) -> Option<Self> {
        let buckets: Vec<(i64, &TimelineBucket)> = timed(timeline).collect();
        let (&(first, _), &(last, _)) = (buckets.first()?, buckets.last()?);
        let unit = timeline.unit;
        let items: Vec<PlotItem> = buckets
            .iter()
            .map(|(from, bucket)| (title(*from, unit, bucket), bucket.outcomes.to_vec()))
            .collect();
        let middle = buckets[buckets.len() / 2].0;
        let (peak_at, peak) = buckets
            .iter()
            .max_by_key(|(from, bucket)| (bucket.hits, std::cmp::Reverse(*from)))?;
        let caption = format!(
            "Hits for each {} of UTC, by what the site answered; the most are {}, {}.",
            unit_name(unit),
            grouped(peak.hits),
            bucket_start(*peak_at, unit, 0)
        );
        let ticks = if buckets.len() > 2 {
            vec![first, middle, last]
        } else {
            buckets.iter().map(|(from, _)| *from).collect()
        };
        let mut plot = Self {
            caption,
            ticks: ticks
                .into_iter()
                .map(|at| bucket_start(at, unit, 0))
                .collect(),
            legend: legend(timeline),
            ..Self::new(&items, &CLASSES)
        };
        plot.mark_answers(timeline, first);
        if let Some(without) = timeline.buckets.iter().find(|bucket| bucket.from.is_none()) {
            plot.notes.push(format!(
                "{} without a time: not in the plot.",
                counted(without.hits, "hit is", "hits are")
            ));
        }
        Some(plot)
    }

    /// Marks the buckets in which an answer was first seen.
    fn mark_answers(&mut self, timeline: &Timeline, first: i64) {
        let mut marks: BTreeMap<u64, Vec<LogTime>> = BTreeMap::new();
        for time in &timeline.answered_at {
            let at = (time.utc - first).div_euclid(i64::from(timeline.unit.max(1)));
            if let Ok(at) = u64::try_from(at) {
                marks.entry(at).or_default().push(*time);
            }
        }
        let last = (self.width / BAR).saturating_sub(1);
        for (at, times) in marks {
            let title = format!(
                "{}: {}",
                minute(times[0]),
                counted(times.len() as u64, "first answer", "first answers")
            );
            self.marks.push((at.min(last) * BAR, title));
        }
        if !self.marks.is_empty() {
            let value = grouped(timeline.answered_at.len() as u64);
            let name = "below: first distinct answer of a path";
            self.legend.push(("mark", name.to_owned(), value));
        }
    }
}

/// Buckets with a time.
fn timed(timeline: &Timeline) -> impl Iterator<Item = (i64, &TimelineBucket)> {
    timeline
        .buckets
        .iter()
        .filter_map(|bucket| Some((bucket.from?, bucket)))
}

/// Outcomes with hits.
fn legend(timeline: &Timeline) -> Vec<PlotKey> {
    let sum = |outcome: usize| {
        timed(timeline)
            .map(|(_, bucket)| bucket.outcomes[outcome])
            .sum::<u64>()
    };
    let keys = Outcome::ALL
        .iter()
        .zip(CLASSES)
        .enumerate()
        .map(|(at, (outcome, class))| (class, word(*outcome), sum(at)));
    keys.filter(|(.., hits)| *hits > 0)
        .map(|(class, name, hits)| (class, name, grouped(hits)))
        .collect()
}

/// The outcome in words.
fn word(outcome: Outcome) -> String {
    match outcome {
        Outcome::Answered => "2xx or 304".to_owned(),
        _ => outcome.as_str().replace('_', " "),
    }
}

fn title(from: i64, unit: u32, bucket: &TimelineBucket) -> String {
    let parts = Outcome::ALL
        .iter()
        .zip(bucket.outcomes)
        .filter(|(_, hits)| *hits > 0);
    let parts: Vec<String> = parts
        .map(|(outcome, hits)| format!("{} {}", grouped(hits), word(*outcome)))
        .collect();
    let detail = if parts.is_empty() {
        String::new()
    } else {
        format!(": {}", parts.join(", "))
    };
    format!(
        "{}, {}{detail}",
        bucket_start(from, unit, 0),
        counted(bucket.hits, "hit", "hits")
    )
}

fn unit_name(unit: u32) -> String {
    match unit {
        0..=60 => "minute".to_owned(),
        61..3_600 => format!("{} minutes", unit / 60),
        3_600 => "hour".to_owned(),
        3_601..DAY => format!("{} hours", unit / 3_600),
        DAY => "day".to_owned(),
        604_800 => "week".to_owned(),
        _ if unit.is_multiple_of(604_800) => format!("{} weeks", unit / 604_800),
        _ => format!("{} days", unit / DAY),
    }
}

/// The next number that is even and has at most two significant digits.
pub(super) fn round_up(n: u64) -> u64 {
    const TENTHS: [u64; 11] = [10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100];
    let digit = 10_u64.saturating_pow(n.max(1).ilog10());
    let rounds = TENTHS.map(|tenths| digit.saturating_mul(tenths) / 10);
    rounds
        .into_iter()
        .find(|round| *round >= n && round.is_multiple_of(2))
        .unwrap_or(n.max(2))
}

/// The height of a count, in tenths of a unit.
fn scaled(count: u64, top: u64) -> u64 {
    (u128::from(count) * u128::from(HEIGHT * 10) / u128::from(top.max(1))) as u64
}

/// Tenths as a number: `12.5`.
fn tenths(n: u64) -> String {
    if n.is_multiple_of(10) {
        (n / 10).to_string()
    } else {
        format!("{}.{}", n / 10, n % 10)
    }
}

/// The numbers of the timeline; buckets without hits are left out.
pub(super) fn timeline_table(
    timeline: &Timeline,
    day_of: impl Fn(i64) -> Option<String>,
) -> Option<TableView> {
    let rows: Vec<&TimelineBucket> = timeline
        .buckets
        .iter()
        .filter(|bucket| bucket.hits > 0)
        .collect();
    let from = |bucket: &TimelineBucket| {
        bucket.from.map_or_else(
            || "no time".to_owned(),
            |from| bucket_start(from, timeline.unit, 0),
        )
    };
    let link = |bucket: &TimelineBucket| {
        bucket
            .from
            .and_then(&day_of)
            .map(|day| CellLink::Pairs(Some(day)))
    };
    let mut table = TableBuilder::new(&rows, usize::MAX)
        .text("from", |bucket| TableCell {
            link: link(bucket),
            ..from(bucket).into()
        })
        .count("hits", |bucket| bucket.hits);
    for (at, outcome) in Outcome::ALL
        .into_iter()
        .enumerate()
        .filter(|(at, _)| rows.iter().any(|bucket| bucket.outcomes[*at] > 0))
    {
        table = table.count(outcome.as_str(), move |bucket| bucket.outcomes[at]);
    }
    table.finish("The timeline in numbers", rows.len() as u64, "")
}

/// Hours of the week as coloured fields.
#[derive(Debug)]
pub(super) struct HeatMap {
    pub(super) caption: String,
    pub(super) days: [&'static str; 7],
    /// Of each hour of the week its colour, from 0, which is no hit, to 8, and its tooltip.
    pub(super) cells: Vec<(u8, String)>,
}

impl HeatMap {
    /// `None` if there are no hits.
    pub(super) fn new(hours: &Hours) -> Option<Self> {
        let hours_of_week = || (0..7).flat_map(|day| (0..24).map(move |hour| (day, hour)));
        let (day, hour) = hours_of_week()
            .max_by_key(|&(day, hour)| (hours[day][hour], std::cmp::Reverse((day, hour))))?;
        let most = hours[day][hour];
        if most == 0 {
            return None;
        }
        let cell = |(day, hour): (usize, usize)| {
            let hits = hours[day][hour];
            let title = format!(
                "{} {hour:02}:00, {}",
                DAYS[day],
                counted(hits, "hit", "hits")
            );
            (level(hits, most), title)
        };
        let caption = format!(
            "Hits by weekday and hour, in the log's own time; the most are {}, {} {hour:02}:00.",
            grouped(most),
            DAYS[day]
        );
        Some(Self {
            caption,
            days: DAYS.map(|day| &day[..3]),
            cells: hours_of_week().map(cell).collect(),
        })
    }
}

/// The colour of a count: its square root, because one hour often has most hits.
fn level(hits: u64, most: u64) -> u8 {
    let share = u128::from(hits) * 64 / u128::from(most.max(1));
    if hits == 0 {
        0
    } else {
        (share.isqrt() as u8).clamp(1, 8)
    }
}

/// The numbers of the heat map.
pub(super) fn hours_table(hours: &Hours) -> Option<TableView> {
    const NAMES: [&str; 24] = [
        "00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14",
        "15", "16", "17", "18", "19", "20", "21", "22", "23",
    ];
    let rows: Vec<_> = DAYS.into_iter().zip(hours).collect();
    let mut table = TableBuilder::new(&rows, usize::MAX).text("day", |(day, _)| *day);
    for (hour, name) in NAMES.into_iter().enumerate() {
        table = table.count(name, move |(_, hours)| hours[hour]);
    }
    table.finish("Weekdays and hours in numbers", rows.len() as u64, "")
}

/// Sums of at most [`MAX_SPARKLINE_BARS`] equal parts of a timeline.
pub(super) fn spark(timeline: &Timeline) -> Vec<u64> {
    let hits: Vec<u64> = timed(timeline).map(|(_, bucket)| bucket.hits).collect();
    let each = hits.len().div_ceil(MAX_SPARKLINE_BARS).max(1);
    hits.chunks(each).map(|part| part.iter().sum()).collect()
}

/// A sparkline of bars, 120 units wide and 20 high.
pub(super) fn spark_path(hits: &[u64]) -> Option<String> {
    let most = hits.iter().copied().max().filter(|most| *most > 0)?;
    let mut path = String::new();
    let bar_width = 1_200 / hits.len() as u64;
    for (at, &hits) in (0..).zip(hits).filter(|(_, hits)| **hits > 0) {
        let height = (u128::from(hits) * 200 / u128::from(most)).max(10) as u64;
        // Writing to a `String` does not fail.
        let _ = write!(
            path,
            "M{} 20h{}v-{}h-{1}z",
            tenths(at * bar_width),
            tenths(bar_width.saturating_sub(5).max(1)),
            tenths(height)
        );
    }
    Some(path)
}
