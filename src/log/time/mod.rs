//! Times of log lines: parsed fast, compared exactly, printed as RFC 3339.
//!
//! Times come from the log. Nothing here reads the clock, and only `period` uses named time zones.

mod any_format;
mod period;

pub(crate) use self::period::{Period, PeriodRule, PeriodUnit};

use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize, Serializer};

/// A point in time as written in a log: an instant and its UTC offset.
///
/// Ordered by instant; the offset breaks ties, so that the order is total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "(i64, i16)", try_from = "(i64, i16)")]
pub struct LogTime {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub utc: i64,
    /// Minutes east of UTC.
    pub offset: i16,
}

impl From<LogTime> for (i64, i16) {
    fn from(LogTime { utc, offset }: LogTime) -> Self {
        (utc, offset)
    }
}

impl TryFrom<(i64, i16)> for LogTime {
    type Error = String;

    /// The time, checked to be valid in a log.
    fn try_from((utc, offset): (i64, i16)) -> Result<Self, String> {
        // Seconds of the years 0 to 9999, and one day in minutes.
        let is_valid =
            (-62_167_305_600..253_402_387_200).contains(&utc) && (-1439..1440).contains(&offset);
        if is_valid {
            Ok(Self { utc, offset })
        } else {
            Err(format!(
                "{utc} seconds at {offset} minutes is no time of a log"
            ))
        }
    }
}

/// Writes a time as RFC 3339, if there is one.
pub(crate) fn serialize_rfc3339<S: Serializer>(
    time: &(impl Copy + Into<Option<LogTime>>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    (*time).into().map(LogTime::rfc3339).serialize(serializer)
}

/// Length in bytes of a Common Log Format time, `02/Nov/2026:08:01:00 +0000`.
pub(crate) const CLF_TIME_LEN: usize = 26;

impl LogTime {
    /// Parses a Common Log Format time, `02/Nov/2026:08:01:00 +0000`.
    ///
    /// The format is that of Apache's `%t` and nginx's `$time_local`, without the brackets. A leap
    /// second counts as the first second of the next minute. `None` for anything else: a wrong
    /// month, a day 32, a missing offset.
    #[must_use]
    pub fn parse_clf(text: &[u8]) -> Option<Self> {
        let t: &[u8; CLF_TIME_LEN] = text.try_into().ok()?;
        if [t[2], t[6], t[11], t[14], t[17]] != *b"//:::" {
            return None;
        }
        let day = digits(&t[0..2])?;
        let month = month(&t[3..6])?;
        let year = digits(&t[7..11])?;
        let (hour, minute, second) = (
            digits(&t[12..14])?,
            digits(&t[15..17])?,
            digits(&t[18..20])?,
        );
        let offset = zone_offset(*t.last_chunk()?)?;
        if !(1..=days_in(year, month)).contains(&day) || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let local =
            days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
        Some(Self {
            utc: local - i64::from(offset) * 60,
            offset,
        })
    }

    /// Formats the time in the Common Log Format with its own offset, the inverse of
    /// [`parse_clf`](Self::parse_clf). `None` unless the year has four digits.
    #[must_use]
    pub fn clf(self) -> Option<[u8; CLF_TIME_LEN]> {
        let local = self.utc.checked_add(i64::from(self.offset) * 60)?;
        let (year, month, day) = civil_from_days(local.div_euclid(86_400));
        let seconds = local.rem_euclid(86_400);
        let offset = i64::from(self.offset).abs();
        if !(0..=9999).contains(&year) || offset >= 24 * 60 {
            return None;
        }
        let mut text = *b"00/Jan/0000:00:00:00 +0000";
        text[3..6].copy_from_slice(
            MONTHS
                .chunks_exact(3)
                .nth(usize::try_from(month - 1).ok()?)?,
        );
        for (at, number) in [
            (0, day),
            (7, year / 100),
            (9, year % 100),
            (12, seconds / 3_600),
            (15, seconds / 60 % 60),
            (18, seconds % 60),
            (22, offset / 60),
            (24, offset % 60),
        ] {
            let number = number.unsigned_abs() as u8;
            text[at] = b'0' + number / 10;
            text[at + 1] = b'0' + number % 10;
        }
        if self.offset < 0 {
            text[21] = b'-';
        }
        Some(text)
    }

    /// Seconds since 1970-01-01T00:00:00 on the wall clock of the line's own offset.
    #[must_use]
    pub fn local_seconds(self) -> i64 {
        self.utc + i64::from(self.offset) * 60
    }

    /// RFC 3339 with the line's own offset, `2026-11-02T08:01:00+00:00`.
    #[must_use]
    pub fn rfc3339(self) -> String {
        let mut text = String::with_capacity("2026-11-02T08:01:00+00:00".len());
        self.push_rfc3339(&mut text);
        text
    }

    /// Appends [`rfc3339`](Self::rfc3339) to a text.
    pub(crate) fn push_rfc3339(self, text: &mut String) {
        let seconds = self.local_seconds();
        // A timestamp is faster, and ends two days before the last date.
        let timestamp = Timestamp::from_second(seconds).map(|time| Offset::UTC.to_datetime(time));
        let local = timestamp.or_else(|_| {
            DateTime::constant(1970, 1, 1, 0, 0, 0, 0)
                .checked_add(SignedDuration::from_secs(seconds))
        });
        match local {
            Ok(local) if local.year() >= 0 => push_datetime(local, text),
            Ok(local) => text.push_str(&local.to_string()),
            Err(_) => {
                text.push('@');
                text.push_str(&self.utc.to_string());
                return;
            }
        }
        let minutes = self.offset.unsigned_abs();
        text.push(if self.offset < 0 { '-' } else { '+' });
        push_two_digits((minutes / 60) as u8, text);
        text.push(':');
        push_two_digits((minutes % 60) as u8, text);
    }

    /// RFC 3339 in UTC, `2026-11-02T08:01:00Z`.
    #[must_use]
    pub fn rfc3339_utc(self) -> String {
        let text = Self { offset: 0, ..self }.rfc3339();
        text.strip_suffix("+00:00")
            .map_or_else(|| text.clone(), |local| format!("{local}Z"))
    }
}

/// `2026-11-02T08:01:00`, of a year from 0.
fn push_datetime(local: DateTime, text: &mut String) {
    let year = local.year().unsigned_abs();
    push_two_digits((year / 100) as u8, text);
    push_two_digits((year % 100) as u8, text);
    for (separator, number) in [
        ('-', local.month()),
        ('-', local.day()),
        ('T', local.hour()),
        (':', local.minute()),
        (':', local.second()),
    ] {
        text.push(separator);
        push_two_digits(number.unsigned_abs(), text);
    }
}

fn push_two_digits(number: u8, text: &mut String) {
    text.extend([
        char::from(b'0' + number / 10),
        char::from(b'0' + number % 10),
    ]);
}

/// One end of `--since` or `--until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeBound {
    /// A wall-clock time in the offset of each line, in seconds like [`LogTime::local_seconds`].
    Local(i64),
    /// An instant, in seconds since 1970-01-01T00:00:00Z.
    Instant(i64),
}

impl TimeBound {
    /// Whether `time` is before this bound.
    #[must_use]
    pub fn is_after(self, time: LogTime) -> bool {
        match self {
            Self::Local(seconds) => time.local_seconds() < seconds,
            Self::Instant(seconds) => time.utc < seconds,
        }
    }
}

/// A [`LogTime`] in one word, with the same order. A larger return value is passed in memory and
/// stalls the store that follows it, which costs a tenth of the time per line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PackedTime(i64);

impl PackedTime {
    /// Years of log times have four digits, so the seconds fit in 39 bits.
    #[must_use]
    #[inline]
    pub(crate) fn new(time: LogTime) -> Self {
        Self((time.utc << 16) + i64::from(time.offset))
    }

    /// The first of all times at a second, in any offset.
    #[must_use]
    pub(crate) fn first_of(utc: i64) -> Self {
        Self::new(LogTime {
            utc,
            offset: i16::MIN,
        })
    }

    /// Packs a time; `None` unless its year has four digits.
    #[must_use]
    pub(crate) fn in_four_digit_years(time: LogTime) -> Option<Self> {
        time.clf().map(|_| Self::new(time))
    }

    /// The time.
    #[must_use]
    #[inline]
    pub(crate) fn time(self) -> LogTime {
        let offset = self.0 as i16;
        LogTime {
            utc: (self.0 - i64::from(offset)) >> 16,
            offset,
        }
    }

    /// Whether both are in the same minute and have the same offset.
    #[must_use]
    #[inline]
    pub(crate) fn is_same_minute(self, other: Self) -> bool {
        let (one, other) = (self.time(), other.time());
        one.offset == other.offset && one.utc.div_euclid(60) == other.utc.div_euclid(60)
    }
}

/// A parser that caches the last minute: consecutive lines usually differ only in the seconds. The
/// offset is parsed each time, because logs of several servers may be combined in one file.
#[derive(Debug, Default, Clone)]
pub(crate) struct ClfTimeParser {
    /// `02/Nov/2026:08:0` and the last digit of the minute.
    start: [u8; 16],
    digit: u8,
    /// The start of that minute on the wall clock, in seconds.
    minute: Option<i64>,
}

impl ClfTimeParser {
    /// Parses like [`LogTime::parse_any_format`], faster for times in the Common Log Format.
    #[must_use]
    #[expect(clippy::inline_always, reason = "in the line loop")]
    #[inline(always)]
    pub(crate) fn parse(&mut self, text: &[u8]) -> Option<PackedTime> {
        let Ok(t): Result<&[u8; CLF_TIME_LEN], _> = text.try_into() else {
            return parse_other(text);
        };
        let start = t.first_chunk::<16>()?;
        if let Some(minute) = self.minute
            && *start == self.start
            && [t[16], t[17]] == [self.digit, b':']
            && let [tens @ b'0'..=b'5', ones @ b'0'..=b'9'] = [t[18], t[19]]
            && let Some(offset) = zone_offset(*t.last_chunk()?)
        {
            let local = minute + i64::from(tens - b'0') * 10 + i64::from(ones - b'0');
            return Some(PackedTime::new(LogTime {
                utc: local - i64::from(offset) * 60,
                offset,
            }));
        }
        self.parse_new(*t)
    }

    #[cold]
    fn parse_new(&mut self, t: [u8; CLF_TIME_LEN]) -> Option<PackedTime> {
        // Copy the bytes first: a memory-mapped file may change between two reads.
        let t = std::hint::black_box(t);
        let Some(time) = LogTime::parse_clf(&t) else {
            return parse_other(&t);
        };
        (self.start, self.digit) = (*t.first_chunk()?, t[16]);
        self.minute = Some(time.local_seconds() - digits(&t[18..20])?);
        Some(PackedTime::new(time))
    }
}

/// Parses a time that is not in the Common Log Format.
#[cold]
fn parse_other(text: &[u8]) -> Option<PackedTime> {
    LogTime::parse_any_format(text).map(PackedTime::new)
}

/// The earliest and the latest of some times. Computed without branches, because their outcome is
/// unpredictable for times within the same second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeSpan {
    first: PackedTime,
    last: PackedTime,
}

impl Default for TimeSpan {
    fn default() -> Self {
        Self {
            first: PackedTime(i64::MAX),
            last: PackedTime(i64::MIN),
        }
    }
}

impl TimeSpan {
    /// Adds a time.
    #[inline]
    pub(crate) fn add(&mut self, time: PackedTime) {
        self.first = self.first.min(time);
        self.last = self.last.max(time);
    }

    /// The first time, if any was added.
    #[must_use]
    #[inline]
    pub(crate) fn first(self) -> Option<PackedTime> {
        (self.first <= self.last).then_some(self.first)
    }

    /// The last time, if any was added.
    #[must_use]
    #[inline]
    pub(crate) fn last(self) -> Option<PackedTime> {
        (self.first <= self.last).then_some(self.last)
    }

    /// The first and the last time, if any was added.
    #[must_use]
    pub(crate) fn ends(self) -> Option<(LogTime, LogTime)> {
        (self.first <= self.last).then(|| (self.first.time(), self.last.time()))
    }
}

/// Minutes east of UTC in ` +0100`.
#[inline]
fn zone_offset(zone: [u8; 6]) -> Option<i16> {
    let [b' ', sign @ (b'+' | b'-'), rest @ ..] = zone else {
        return None;
    };
    let [a, b, c, d] = rest.map(|digit| i32::from(digit.wrapping_sub(b'0')));
    let (hours, minutes) = (a * 10 + b, c * 10 + d);
    let fits = [a, b, c, d].iter().all(|&digit| digit <= 9) && hours <= 23 && minutes <= 59;
    // Without a branch on the sign.
    let east = i32::from(sign == b'+') * 2 - 1;
    fits.then_some((east * (hours * 60 + minutes)) as i16)
}

fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |n, b| {
        b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0'))
    })
}

const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

fn month(name: &[u8]) -> Option<i64> {
    (1..)
        .zip(MONTHS.chunks_exact(3))
        .find(|(_, n)| *n == name)
        .map(|(month, _)| month)
}

fn days_in(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar. Years start in March, so that the
/// leap day is the last day.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let year_of_era = y.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a number of days since 1970-01-01: the inverse of [`days_from_civil`].
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (
        days.div_euclid(146_097) * 400 + year_of_era + i64::from(month <= 2),
        month,
        day,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text_of(utc: i64, offset: i64) -> String {
        let zone = Offset::from_seconds((offset * 60) as i32).unwrap();
        zone.to_datetime(Timestamp::from_second(utc).unwrap())
            .strftime("%d/%b/%Y:%H:%M:%S")
            .to_string()
            + &format!(
                " {}{:02}{:02}",
                if offset < 0 { '-' } else { '+' },
                offset.abs() / 60,
                offset.abs() % 60
            )
    }

    #[test]
    fn formats_as_rfc_3339() {
        let time = LogTime::parse_clf(b"29/Feb/2024:23:59:59 -0330").unwrap();
        assert_eq!(time.rfc3339(), "2024-02-29T23:59:59-03:30");
        assert_eq!(
            LogTime::parse_clf(b"01/Jan/1970:00:00:00 +0000")
                .unwrap()
                .rfc3339(),
            "1970-01-01T00:00:00+00:00"
        );
        assert_eq!(
            LogTime::parse_clf(b"31/Dec/9999:23:59:59 +0000")
                .unwrap()
                .rfc3339(),
            "9999-12-31T23:59:59+00:00"
        );
        assert_eq!(
            LogTime::parse_clf(b"31/Dec/2016:23:59:60 +0000")
                .unwrap()
                .rfc3339(),
            "2017-01-01T00:00:00+00:00"
        );
    }

    #[test]
    fn rejects_invalid_times() {
        for text in [
            "30/Feb/2024:00:00:00 +0000",
            "29/Feb/2023:00:00:00 +0000",
            "01/Foo/2024:00:00:00 +0000",
            "01/Jan/2024:24:00:00 +0000",
            "1/Jan/2024:00:00:00 +0000",
            "01/Jan/2024:00:00:00 00000",
            "",
        ] {
            assert_eq!(LogTime::parse_clf(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_local_day_starts_at_midnight_of_the_line() {
        let time = LogTime::parse_clf(b"02/Nov/2026:00:30:00 +0200").unwrap();
        let midnight = TimeBound::Local(days_from_civil(2026, 11, 2) * 86_400);
        assert!(!midnight.is_after(time));
        assert!(TimeBound::Instant(days_from_civil(2026, 11, 2) * 86_400).is_after(time));
    }

    proptest! {
        #[test]
        fn agrees_with_jiff(utc in -50_000_000_000_i64..250_000_000_000, offset in -840_i64..=840) {
            let text = text_of(utc, offset);
            prop_assume!(text.len() == CLF_TIME_LEN);
            let time = LogTime { utc, offset: offset as i16 };
            prop_assert_eq!(LogTime::parse_clf(text.as_bytes()), Some(time));
            prop_assert_eq!(time.clf().map(|clf| clf.to_vec()), Some(text.as_bytes().to_vec()));
        }

        #[test]
        fn a_formatted_time_is_parsed_back(utc: i64, offset: i16) {
            let time = LogTime { utc, offset };
            if let Some(text) = time.clf() {
                prop_assert_eq!(LogTime::parse_clf(&text), Some(time));
            }
        }

        #[test]
        fn a_span_has_the_first_and_the_last_time(times in prop::collection::vec((-100_000_000_000_i64..300_000_000_000, any::<i16>()), 0..20)) {
            let times: Vec<_> = times.into_iter().map(|(utc, offset)| LogTime { utc, offset }).collect();
            let mut span = TimeSpan::default();
            for time in &times {
                span.add(PackedTime::new(*time));
            }
            prop_assert_eq!(span.ends(), times.iter().min().copied().zip(times.iter().max().copied()));
        }

        #[test]
        fn the_clock_agrees_with_the_parser(seconds in prop::collection::vec(0_i64..4_000, 1..40), junk in "[0-9/:A-Za-z +-]{26}") {
            let mut clock = ClfTimeParser::default();
            for s in seconds {
                let text = text_of(1_790_000_000 + s, 60 * (s % 3));
                prop_assert_eq!(clock.parse(text.as_bytes()).map(PackedTime::time), LogTime::parse_clf(text.as_bytes()));
                let other = text.replace(" +", ".5 +");
                prop_assert_eq!(clock.parse(other.as_bytes()).map(PackedTime::time), LogTime::parse_any_format(other.as_bytes()));
                prop_assert_eq!(clock.parse(junk.as_bytes()).map(PackedTime::time), LogTime::parse_any_format(junk.as_bytes()));
            }
        }
    }
}
