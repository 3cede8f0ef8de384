//! Times as they are typed for `--since`, `--until` and `--newer-than`, and the time bounds that
//! result.
//!
//! Reads no clock: the start of the run is passed in. A time without an offset is compared with
//! each line's own local time.

use std::fmt;
use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::value::parse_duration;
use crate::log::time::TimeBound;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// A time, with its spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimeSpec {
    text: String,
    point: TimePoint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimePoint {
    Fixed(TimeBound),
    /// Seconds before the start of the run.
    Ago(i64),
}

impl TimeSpec {
    /// The bound, for a run that started `now` seconds after 1970-01-01T00:00:00Z.
    #[must_use]
    pub(crate) fn bound(&self, now: i64) -> TimeBound {
        match self.point {
            TimePoint::Fixed(bound) => bound,
            TimePoint::Ago(seconds) => TimeBound::Instant(now.saturating_sub(seconds)),
        }
    }

    /// The instant in seconds since 1970-01-01T00:00:00Z, for a comparison with the times of files.
    /// A time without an offset is in `zone`, or in UTC; of a local time that occurs twice there,
    /// the first is used.
    #[must_use]
    pub(crate) fn instant(&self, now: i64, zone: impl FnOnce() -> Option<TimeZone>) -> i64 {
        let local = match self.bound(now) {
            TimeBound::Instant(seconds) => return seconds,
            TimeBound::Local(seconds) => seconds,
        };
        let timestamp = EPOCH.checked_add(SignedDuration::from_secs(local)).ok();
        let instant = zone()
            .zip(timestamp)
            .and_then(|(zone, timestamp)| zone.to_ambiguous_timestamp(timestamp).compatible().ok());
        instant.map_or(local, Timestamp::as_second)
    }
}

impl fmt::Display for TimeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for TimeSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let point = age(text).or_else(|| fixed(text)).ok_or(
            "not a time; type an age (90s, 1h30m, 24h, 7d, 2w), a date (2026-11-01) \
             or a time (2026-11-01T08:00, 2026-11-01T08:00:00+01:00)",
        )?;
        Ok(Self {
            text: text.to_owned(),
            point,
        })
    }
}

fn age(text: &str) -> Option<TimePoint> {
    i64::try_from(parse_duration(text)?.as_secs())
        .ok()
        .map(TimePoint::Ago)
}

/// Lines have whole seconds, so a fraction of a second is rounded up to the next.
fn fixed(text: &str) -> Option<TimePoint> {
    if let Ok(instant) = text.parse::<Timestamp>() {
        let up = i64::from(instant.subsec_nanosecond() > 0);
        return Some(TimePoint::Fixed(TimeBound::Instant(
            instant.as_second() + up,
        )));
    }
    // Only a time may follow the date: jiff would ignore an offset or a zone here.
    if text
        .get(10..)
        .is_none_or(|rest| rest.contains(['+', '-', 'Z', 'z', '[']))
    {
        return None;
    }
    let since_epoch = text.parse::<DateTime>().ok()?.duration_since(EPOCH);
    let up = i64::from(since_epoch.subsec_nanos() > 0);
    Some(TimePoint::Fixed(TimeBound::Local(
        since_epoch.as_secs() + up,
    )))
}

/// Whether no time is between the two. A local time and an instant cannot be compared.
#[must_use]
pub(crate) fn is_empty(since: TimeBound, until: TimeBound) -> bool {
    match (since, until) {
        (TimeBound::Local(from), TimeBound::Local(to))
        | (TimeBound::Instant(from), TimeBound::Instant(to)) => from >= to,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-02T12:00:00Z.
    const NOW: i64 = 1_793_620_800;
    /// 2026-11-01T00:00:00Z.
    const FIRST: i64 = 1_793_491_200;

    fn bound(text: &str) -> Option<TimeBound> {
        text.parse::<TimeSpec>().ok().map(|when| when.bound(NOW))
    }

    #[test]
    fn dates_and_times_without_offset_are_local() {
        assert_eq!(bound("2026-11-01"), Some(TimeBound::Local(FIRST)));
        assert_eq!(
            bound("2026-11-01T08:00"),
            Some(TimeBound::Local(FIRST + 8 * 3_600))
        );
        assert_eq!(
            bound("2026-11-01 08:00:30"),
            Some(TimeBound::Local(FIRST + 8 * 3_600 + 30))
        );
        assert_eq!(
            bound("2026-11-01T08:00:30.5"),
            Some(TimeBound::Local(FIRST + 8 * 3_600 + 31))
        );
        assert_eq!(bound("1969-12-31T23:59:59"), Some(TimeBound::Local(-1)));
    }

    #[test]
    fn times_with_offset_are_instants() {
        assert_eq!(
            bound("2026-11-01T08:00:00Z"),
            Some(TimeBound::Instant(FIRST + 8 * 3_600))
        );
        assert_eq!(
            bound("2026-11-01T08:00:00+01:00"),
            Some(TimeBound::Instant(FIRST + 7 * 3_600))
        );
        assert_eq!(
            bound("2026-11-01T08:00:00.001-00:30"),
            Some(TimeBound::Instant(FIRST + 8 * 3_600 + 1_801))
        );
        assert_eq!(bound("1969-12-31T23:59:59.5Z"), Some(TimeBound::Instant(0)));
    }

    #[test]
    fn ages_count_back_from_the_start_of_the_run() {
        for (text, seconds) in [
            ("90s", 90),
            ("30m", 1_800),
            ("24h", 86_400),
            ("7d", 604_800),
            ("2w", 1_209_600),
            ("0s", 0),
            ("1h30m", 5_400),
        ] {
            assert_eq!(
                bound(text),
                Some(TimeBound::Instant(NOW - seconds)),
                "{text}"
            );
        }
    }

    #[test]
    fn a_date_for_files_is_in_the_time_zone_of_the_system() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let instant = |text: &str, zone: Option<&TimeZone>| {
            text.parse::<TimeSpec>()
                .unwrap()
                .instant(NOW, || zone.cloned())
        };
        assert_eq!(instant("2026-11-01", Some(&berlin)), FIRST - 3_600);
        assert_eq!(instant("2026-11-01", None), FIRST);
        // Clocks go back from 3 to 2 at 01:00 UTC, a week earlier.
        assert_eq!(
            instant("2026-10-25T02:30", Some(&berlin)),
            FIRST - 7 * 86_400 + 1_800
        );
        for (text, seconds) in [
            ("2d", NOW - 172_800),
            ("2026-11-01T08:00:00+01:00", FIRST + 7 * 3_600),
        ] {
            assert_eq!(instant(text, Some(&berlin)), seconds, "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let wrong = [
            "",
            "h",
            "-1h",
            "1h ago",
            "1y",
            "1mo",
            "2026",
            "2026-11",
            "2026-02-30",
            "2026-11-01T25:00",
            "2026-11-01T08:00+99:00",
            "2026-11-01T08:00[Europe/Berlin]",
            "2026-11-01T08:00 x",
            "99999999999999999999s",
            "9223372036854775807w",
            "1é",
            "yesterday",
        ];
        for text in wrong {
            assert_eq!(bound(text), None, "{text}");
        }
    }

    #[test]
    fn only_bounds_of_the_same_kind_are_compared() {
        assert!(is_empty(TimeBound::Local(1), TimeBound::Local(1)));
        assert!(is_empty(TimeBound::Instant(2), TimeBound::Instant(1)));
        assert!(!is_empty(TimeBound::Instant(1), TimeBound::Instant(2)));
        assert!(!is_empty(TimeBound::Local(2), TimeBound::Instant(1)));
    }
}
