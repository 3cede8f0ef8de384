//! The names of report folders, with a run's number and time or a period, and those of what is
//! written before it is published.
//!
//! Only names in exactly this form are accepted; folders with other names are never touched.

use std::time::SystemTime;

use jiff::SignedDuration;
use jiff::civil::DateTime;

/// The name of a report folder. Later names of the same kind are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ReportDirName {
    /// A run: `000012-20261121T000500Z`.
    Run {
        /// The run's number, from 1.
        number: u64,
        /// The time of the run.
        time: DateTime,
    },
    /// A day: `2026-11-20`.
    Day(DateTime),
    /// An hour: `2026-11-20T13`.
    Hour(DateTime),
}

/// The prefix of the second name of a replacement's report in `.run-N.tmp`.
const REPLACEMENT_PREFIX: &str = ".new-";

/// The form of the time of a run, in UTC.
const RUN_TIME: &str = "%Y%m%dT%H%M%SZ";
/// The most digits of a run's number.
const MAX_RUN_DIGITS: usize = 15;

/// The name of a run's folder: the number with at least six digits, and the time in UTC.
#[must_use]
pub(crate) fn run_folder_name(number: u64, now: SystemTime) -> String {
    let since = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let time = epoch()
        .checked_add(SignedDuration::try_from(since).unwrap_or(SignedDuration::MAX))
        .unwrap_or(DateTime::MAX);
    format!("{number:06}-{}", time.strftime(RUN_TIME))
}

impl ReportDirName {
    /// Parses a name; `None` if it is not the name of a report folder.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let parsed = match name.len() {
            10 => Self::Day(time(name, "%Y-%m-%d")?),
            13 => Self::Hour(time(name, "%Y-%m-%dT%H")?),
            _ => {
                let (number, rest) = name.split_once('-')?;
                Self::Run {
                    number: run_number(number)?,
                    time: time(rest, RUN_TIME)?,
                }
            }
        };
        Some(parsed)
    }

    /// Whether both are runs, days, or hours.
    pub(super) fn is_same_kind(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    pub(super) fn is_run(self) -> bool {
        matches!(self, Self::Run { .. })
    }

    /// The time of the run, or the end of the period, in seconds since 1970. Periods are taken as
    /// UTC, as hours do not matter here.
    pub(super) fn end(self) -> u64 {
        let (start, length) = match self {
            Self::Run { time, .. } => (time, 0),
            Self::Day(time) => (time, 24),
            Self::Hour(time) => (time, 1),
        };
        let end = start.duration_since(epoch()) + SignedDuration::from_hours(length);
        u64::try_from(end.as_secs()).unwrap_or(0)
    }
}

/// A run's number, with at least six digits and no further leading zeros.
fn run_number(digits: &str) -> Option<u64> {
    let number = digits
        .parse()
        .ok()
        .filter(|_| digits.len() <= MAX_RUN_DIGITS)?;
    (format!("{number:06}") == digits && number > 0).then_some(number)
}

fn epoch() -> DateTime {
    DateTime::constant(1970, 1, 1, 0, 0, 0, 0)
}

/// Parses a time that is written in exactly this form.
fn time(text: &str, form: &str) -> Option<DateTime> {
    let time = DateTime::strptime(form, text).ok()?;
    // Years before 0 have a sign.
    (text.starts_with(|first: char| first.is_ascii_digit())
        && time.strftime(form).to_string() == text)
        .then_some(time)
}

/// The name of the folder in which a run is staged.
pub(super) fn staging_name(run: u64) -> String {
    format!(".run-{run}.tmp")
}

/// The second name of the report of a folder in `.run-N.tmp`, which distinguishes it from the
/// folder it was swapped with.
pub(super) fn replacement_name(folder: &str) -> String {
    format!("{REPLACEMENT_PREFIX}{folder}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::report_store::name::*;
    use proptest::prelude::*;

    fn seconds(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn formats_names_of_runs() {
        assert_eq!(
            run_folder_name(12, seconds(1_795_219_500)),
            "000012-20261121T000500Z"
        );
        assert_eq!(
            run_folder_name(12_345_678, SystemTime::UNIX_EPOCH - Duration::from_secs(1)),
            "12345678-19700101T000000Z"
        );
        assert_eq!(
            run_folder_name(1, seconds(1 << 62)),
            "000001-99991231T235959Z",
            "a clock that is far off"
        );
    }

    #[test]
    fn rejects_names_in_other_forms() {
        let others = [
            "",
            "latest",
            "000000-20261121T000500Z",
            "00012-20261121T000500Z",
            "0000012-20261121T000500Z",
            "+00012-20261121T000500Z",
            "000012-20261121T000500",
            "000012-20261321T000500Z",
            "000012-20261121T240500Z",
            "000012-20261121t000500z",
            "9999999999999999-20261121T000500Z",
            "2026-02-29",
            "2026-1-01 ",
            "2026-11-20T24",
            "2026-11-20 13",
            "2026/11/20",
            "２０26-11",
        ];
        for other in others {
            assert_eq!(ReportDirName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn later_names_are_greater() {
        let name = |text: &str| ReportDirName::parse(text).unwrap();
        assert!(
            name("000009-20271121T000500Z") < name("000010-20261121T000500Z"),
            "whatever the clock says"
        );
        assert!(name("1000000-20261121T000500Z") > name("999999-20261121T000500Z"));
        assert!(
            name("2026-11-09") < name("2026-11-10")
                && name("2026-11-20T09") < name("2026-11-20T10")
        );
        let end = |text: &str| name(text).end();
        assert_eq!(end("000012-20261121T000500Z"), 1_795_219_500);
        assert_eq!(
            (end("2026-11-20"), end("2026-11-20T13")),
            (1_795_219_500 - 300, 1_795_219_500 - 36_300)
        );
        assert_eq!(end("1969-12-30"), 0);
    }

    proptest! {
        #[test]
        fn formatted_names_are_parsed(number in 1..1_000_000_000_000_000_u64, time in 0..253_402_300_799_u64) {
            let text = run_folder_name(number, seconds(time));
            let read = ReportDirName::parse(&text);
            prop_assert!(matches!(read, Some(ReportDirName::Run { number: n, .. }) if n == number), "{}", text);
            prop_assert_eq!(read.map(ReportDirName::end), Some(time));
        }

        #[test]
        fn parsing_never_panics(text: String, almost in "[0-9]{4,7}-[0-9]{2,8}[T-][0-9]{2,6}Z?") {
            let _ = (ReportDirName::parse(&text), ReportDirName::parse(&almost));
        }
    }
}
