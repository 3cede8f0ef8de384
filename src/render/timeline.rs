//! The timeline in text: a line of bars, and below it marks at the times of answered hits.
//!
//! Fits the given width. Hits without a time are in no bar, and a timeline of one bucket is not
//! drawn. The peak is that of a column, which has several buckets where the page has fewer columns.

use std::fmt::Write as _;
use std::iter::repeat_n;

use super::layout::minute;
use crate::log::time::LogTime;
use crate::report::model::Timeline;
use crate::text::number::grouped;

/// The bar for no hits, and those for hits, the lowest first.
pub(crate) const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The fewest columns of bars beside the labels. With fewer the labels are left out.
const MIN_COLUMNS: usize = 16;
/// Seconds of a day. The buckets of days are UTC, so they have a date and no time.
const DAY: u32 = 86_400;

/// The lines, without trailing spaces.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TimelineText {
    /// A bar per column, and the peak.
    pub(crate) bars: String,
    /// Marks below the bars, if something answered.
    pub(crate) marks: Option<String>,
}

impl TimelineText {
    /// Draws a timeline. Times of hours and minutes have the `offset` of the log, in minutes east
    /// of UTC.
    pub(crate) fn new(timeline: &Timeline, offset: i16, width: usize) -> Option<Self> {
        let buckets = timeline.timed();
        if buckets.len() < 2 || width == 0 {
            return None;
        }
        // The label depends on the columns, and these on the width that it leaves. A sum has at
        // most as many digits as all hits.
        let digits = grouped(buckets.iter().map(|bucket| bucket.hits).sum()).len();
        let beside_labels = width.saturating_sub("  peak , 2026-11-02 08:01".len() + digits);
        let has_labels = beside_labels >= MIN_COLUMNS;
        let available = if has_labels { beside_labels } else { width };
        // The buckets of a column, and its characters.
        let each = buckets.len().div_ceil(available);
        let hits: Vec<u64> = buckets
            .chunks(each)
            .map(|some| some.iter().map(|bucket| bucket.hits).sum())
            .collect();
        let characters = (available / hits.len()).max(1);
        let highest = hits.iter().copied().max().unwrap_or_default();
        let mut bars: String = hits
            .iter()
            .flat_map(|&hits| repeat_n(bar(hits, highest), characters))
            .collect();
        let start = |bucket: usize| buckets[bucket].from.unwrap_or_default();
        let mut marks = vec![' '; hits.len() * characters];
        for answered in &timeline.answered_at {
            let bucket = (answered.utc - start(0)) / i64::from(timeline.unit.max(1));
            let column = usize::try_from(bucket).map_or(usize::MAX, |bucket| bucket / each);
            if let Some(mark) = marks.get_mut(column.saturating_mul(characters)) {
                *mark = '^';
            }
        }
        let has_marks = marks.contains(&'^');
        let mut marks: String = marks.into_iter().collect();
        if has_labels {
            let peak = hits.iter().position(|hits| *hits == highest).unwrap_or(0);
            let when = bucket_start(start(peak * each), timeline.unit, offset);
            // Writing to a `String` does not fail.
            let _ = write!(bars, "  peak {}, {when}", grouped(highest));
            marks += "  ^ answered";
        }
        Some(Self {
            bars: bars.trim_end().to_owned(),
            marks: has_marks.then(|| marks.trim_end().to_owned()),
        })
    }
}

/// A bar in proportion to the highest. One hit is always visible.
fn bar(hits: u64, highest: u64) -> char {
    let eighths = (u128::from(hits) * 8).div_ceil(u128::from(highest.max(1)));
    BARS[eighths.min(8) as usize]
}

/// The start of a bucket, as exact as its unit.
pub(super) fn bucket_start(from: i64, unit: u32, offset: i16) -> String {
    if unit >= DAY {
        let full = LogTime {
            utc: from,
            offset: 0,
        }
        .rfc3339();
        return full.get(..10).unwrap_or(&full).to_owned();
    }
    minute(LogTime { utc: from, offset })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::TimelineBucket;

    fn timeline(unit: u32, hits: &[u64], answered: &[i64]) -> Timeline {
        let bucket = |(number, &hits): (i64, &u64)| {
            let from = number * i64::from(unit);
            TimelineBucket {
                from: Some(from),
                to: Some(from + i64::from(unit)),
                hits,
                ..TimelineBucket::default()
            }
        };
        let untimed = TimelineBucket {
            hits: 1_000,
            ..TimelineBucket::default()
        };
        let buckets = (0..).zip(hits).map(bucket).chain([untimed]).collect();
        let answered_at = answered
            .iter()
            .map(|&utc| LogTime { utc, offset: 0 })
            .collect();
        Timeline {
            buckets,
            unit,
            answered_at,
            ..Timeline::default()
        }
    }

    fn lines(timeline: &Timeline, width: usize) -> Vec<String> {
        TimelineText::new(timeline, 60, width).map_or_else(Vec::new, |text| {
            [text.bars].into_iter().chain(text.marks).collect()
        })
    }

    #[test]
    fn names_the_peak_and_marks_answers() {
        let hours = timeline(3_600, &[1, 0, 8_000, 4_000], &[7_200, 7_300, 10_800]);
        assert_eq!(
            lines(&hours, 60),
            [
                "▁▁▁▁▁▁▁       ███████▄▄▄▄▄▄▄  peak 8,000, 1970-01-01 03:00",
                "              ^      ^        ^ answered"
            ]
        );
        assert_eq!(
            lines(&timeline(DAY, &[1, 2], &[]), 50),
            ["▄▄▄▄▄▄▄▄▄▄▄▄████████████  peak 2, 1970-01-02"]
        );
    }

    #[test]
    fn few_columns_have_several_buckets_and_no_labels() {
        let minutes = timeline(60, &[1; 40], &[0, 39 * 60]);
        assert_eq!(
            lines(&minutes, 20),
            ["█".repeat(20), format!("^{}^", " ".repeat(18))]
        );
    }

    #[test]
    fn a_single_bucket_is_not_drawn() {
        assert_eq!(lines(&timeline(60, &[7], &[0]), 80), [""; 0]);
        assert_eq!(lines(&timeline(60, &[], &[]), 80), [""; 0]);
    }
}
