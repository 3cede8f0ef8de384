//! Periods of a log, days or hours: which period a time belongs to, and its label.
//!
//! Periods follow the wall clock: when clocks are set back, the repeated hour is one period.
//! Nothing here reads the clock; named zones come from the system's zone files.

use std::fmt;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::LogTime;

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// How long a period is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PeriodUnit {
    /// From midnight to midnight.
    Day,
    /// From one full hour to the next.
    Hour,
}

/// A day or an hour of the wall clock. Earlier periods sort first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Period {
    /// The start: seconds since 1970-01-01T00:00:00 on the wall clock, like
    /// [`LogTime::local_seconds`].
    pub start: i64,
    /// The length.
    pub unit: PeriodUnit,
}

/// How times are grouped into periods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PeriodRule {
    unit: PeriodUnit,
    /// The zone whose wall clock applies; by default the offset of each line.
    zone: Option<TimeZone>,
}

impl PeriodUnit {
    fn seconds(self) -> i64 {
        match self {
            Self::Day => DAY,
            Self::Hour => HOUR,
        }
    }
}

impl PeriodRule {
    /// Groups by `unit` on the wall clock of a named zone, `Europe/Berlin`, or by the offset of
    /// each line.
    ///
    /// # Errors
    ///
    /// A message: the system has no zone of this name.
    pub(crate) fn new(unit: PeriodUnit, zone: Option<&str>) -> Result<Self, String> {
        let zone = zone
            .map(|name| TimeZone::get(name).map_err(|_| unknown(name)))
            .transpose()?;
        Ok(Self { unit, zone })
    }

    /// The period that a time belongs to.
    #[must_use]
    pub(crate) fn period_of(&self, time: LogTime) -> Period {
        let zone = self
            .zone
            .as_ref()
            .zip(Timestamp::from_second(time.utc).ok());
        let local = match zone {
            Some((zone, instant)) => time.utc + i64::from(zone.to_offset(instant).seconds()),
            None => time.local_seconds(),
        };
        Period {
            start: local - local.rem_euclid(self.unit.seconds()),
            unit: self.unit,
        }
    }
}

fn unknown(name: &str) -> String {
    format!(
        "no time zone is called '{name}' in the zone files of this system; expected a name like Europe/Berlin or UTC"
    )
}

impl Period {
    /// The label, which sorts like the period: `2026-11-20` for a day, `2026-11-20T13` for an hour.
    #[must_use]
    pub(crate) fn label(self) -> String {
        let Ok(local) = EPOCH.checked_add(SignedDuration::from_secs(self.start)) else {
            return format!("@{}", self.start);
        };
        match self.unit {
            PeriodUnit::Day => local.date().to_string(),
            PeriodUnit::Hour => format!("{}T{:02}", local.date(), local.hour()),
        }
    }

    /// The period after it.
    #[must_use]
    pub(crate) fn next(self) -> Self {
        Self {
            start: self.start + self.unit.seconds(),
            ..self
        }
    }

    /// Parses a label; `None` if it is not one.
    #[must_use]
    pub(crate) fn parse(label: &str) -> Option<Self> {
        let (date, hour) = label
            .split_once('T')
            .map_or((label, None), |(date, hour)| (date, Some(hour)));
        let unit = if hour.is_some() {
            PeriodUnit::Hour
        } else {
            PeriodUnit::Day
        };
        let hour: i8 = hour.map_or(Some(0), |hour| hour.parse().ok())?;
        let date: Date = date.parse().ok()?;
        let local = DateTime::new(date.year(), date.month(), date.day(), hour, 0, 0, 0).ok()?;
        let period = Self {
            start: local.duration_since(EPOCH).as_secs(),
            unit,
        };
        // Each period has exactly one label: no signs, no missing zeros.
        (period.label() == label).then_some(period)
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time(text: &str) -> LogTime {
        LogTime::parse_clf(text.as_bytes()).unwrap()
    }

    fn label(rule: &PeriodRule, text: &str) -> String {
        rule.period_of(time(text)).label()
    }

    #[test]
    fn a_day_follows_the_line_or_the_zone() {
        let own = PeriodRule::new(PeriodUnit::Day, None).unwrap();
        let berlin = PeriodRule::new(PeriodUnit::Day, Some("Europe/Berlin")).unwrap();
        let utc = PeriodRule::new(PeriodUnit::Hour, Some("UTC")).unwrap();
        let line = "20/Nov/2026:23:30:00 +0000";
        assert_eq!(label(&own, line), "2026-11-20");
        assert_eq!(label(&berlin, line), "2026-11-21");
        assert_eq!(label(&utc, "21/Nov/2026:00:30:00 +0100"), "2026-11-20T23");
        assert_eq!(label(&own, "31/Dec/1969:23:59:59 +0000"), "1969-12-31");
    }

    #[test]
    fn a_repeated_hour_is_one_period() {
        let hours = PeriodRule::new(PeriodUnit::Hour, Some("Europe/Berlin")).unwrap();
        // Clocks are set back from 3 to 2 at 01:00 UTC.
        assert_eq!(label(&hours, "25/Oct/2026:00:30:00 +0000"), "2026-10-25T02");
        assert_eq!(label(&hours, "25/Oct/2026:01:30:00 +0000"), "2026-10-25T02");
        // Clocks are set forward from 2 to 3: that hour is skipped.
        assert_eq!(label(&hours, "29/Mar/2026:00:59:59 +0000"), "2026-03-29T01");
        assert_eq!(label(&hours, "29/Mar/2026:01:00:00 +0000"), "2026-03-29T03");
    }

    #[test]
    fn an_unknown_zone_is_an_error() {
        let message = PeriodRule::new(PeriodUnit::Day, Some("Europe/Atlantis")).unwrap_err();
        assert!(
            message.contains("'Europe/Atlantis'") && message.contains("Europe/Berlin"),
            "{message}"
        );
        for name in ["../../etc/passwd", "", "/etc/localtime"] {
            assert!(
                PeriodRule::new(PeriodUnit::Day, Some(name)).is_err(),
                "{name}"
            );
        }
    }

    #[test]
    fn only_labels_are_parsed() {
        for label in [
            "2026-11-20",
            "2026-11-20T00",
            "2026-11-20T23",
            "1969-12-31T23",
        ] {
            assert_eq!(Period::parse(label).unwrap().label(), label);
        }
        for label in [
            "",
            "2026-11-20T",
            "2026-11-20T24",
            "2026-11-20T1",
            "2026-11-20T+1",
            "2026-11-31",
            "20261120",
            "2026-11-20T13:00",
            "latest",
        ] {
            assert_eq!(Period::parse(label), None, "{label}");
        }
    }

    proptest! {
        #[test]
        fn a_period_contains_its_times(utc in -50_000_000_000_i64..250_000_000_000, offset in -840_i16..=840, hour: bool) {
            let time = LogTime { utc, offset };
            let unit = if hour { PeriodUnit::Hour } else { PeriodUnit::Day };
            let period = PeriodRule::new(unit, None).unwrap().period_of(time);
            prop_assert!((period.start..period.start + unit.seconds()).contains(&time.local_seconds()));
            prop_assert_eq!(Period::parse(&period.label()), Some(period));
            // A label is a prefix of the local time.
            let (local, label) = (time.rfc3339(), period.label());
            prop_assert!(local.starts_with(&label), "{} {}", local, label);
        }

        #[test]
        fn labels_sort_like_periods(one in 0_i64..250_000_000_000, other in 0_i64..250_000_000_000) {
            let rule = PeriodRule::new(PeriodUnit::Hour, None).unwrap();
            let [one, other] = [one, other].map(|utc| rule.period_of(LogTime { utc, offset: 0 }));
            prop_assert_eq!(one.cmp(&other), one.label().cmp(&other.label()));
        }
    }
}
