//! Parses the time formats that occur in logs.
//!
//! The format is detected from the text alone. Anything else is `None`: a missing year is not guessed, and zone names are
//! not looked up. A time without an offset is UTC. Sources: ISO 8601 and RFC 3339; RFC 9110, 5.6.7 (`Mon, 02 Nov 2026
//! 08:01:00 GMT`); nginx `$msec` and `$time_iso8601`; `HAProxy`'s configuration manual, 8.2.3 (`%t`); W3C extended log
//! file format (`date`, `time`).

use super::{LogTime, days_from_civil, days_in, digits, month};

/// Longer texts are not parsed. RFC 3339 with nine fractional digits has 35 bytes, Go's `time.String` has 39.
const MAX_LEN: usize = 64;
/// Smaller numbers are durations, not times. In seconds since 1970, this is in 1973.
const FIRST: u64 = 100_000_000;

impl LogTime {
    /// Parses a time in any supported format: the Common Log Format, with or without brackets; ISO 8601 and RFC 3339
    /// with an optional fraction, `T` or a space, and an optional offset (default UTC); `Mon, 02 Nov 2026 08:01:00
    /// GMT`; `06/Feb/2009:12:14:14.655`; and numbers since 1970 in s, ms, µs or ns, distinguished by their size (from
    /// 1973 on). Fractions are truncated.
    #[must_use]
    pub fn parse_any_format(text: &[u8]) -> Option<Self> {
        let text = text.trim_ascii();
        let text = text.strip_prefix(b"[").and_then(|t| t.strip_suffix(b"]")).unwrap_or(text).trim_ascii();
        if text.len() > MAX_LEN {
            return None;
        }
        match text {
            [_, _, b'/', ..] => Self::parse_clf(text).or_else(|| slash_date(text)),
            [_, _, _, _, b'-' | b'/', ..] => iso(text),
            [b'A'..=b'Z' | b'a'..=b'z', ..] => http_date(text),
            _ => epoch(text),
        }
    }

    /// Parses a date and a time in separate fields, `2026-11-02` and `08:01:00`, in UTC as in the W3C format.
    #[must_use]
    pub fn parse_date_and_time(date: &[u8], time: &[u8]) -> Option<Self> {
        let (day, rest) = day(date)?;
        let (seconds, after) = clock(time)?;
        (rest.is_empty() && after.is_empty()).then(|| at(day, seconds, 0))
    }
}

/// A time from a day, the seconds of that day and the offset in minutes.
fn at(day: i64, seconds: i64, offset: i16) -> LogTime {
    LogTime { utc: day * 86_400 + seconds - i64::from(offset) * 60, offset }
}

/// The day number of a valid date.
fn civil(year: i64, month: i64, day: i64) -> Option<i64> {
    ((1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day)).then(|| days_from_civil(year, month, day))
}

/// Parses `2026-11-02` or `2026/11/02`; returns the day and the rest.
fn day(text: &[u8]) -> Option<(i64, &[u8])> {
    let (t, rest) = text.split_at_checked(10)?;
    let same = t[4] == t[7] && matches!(t[4], b'-' | b'/');
    let day = civil(digits(&t[..4])?, digits(&t[5..7])?, digits(&t[8..])?)?;
    same.then_some((day, rest))
}

/// Parses `08:01:00` with an optional fraction; returns the seconds of the day and the rest.
fn clock(text: &[u8]) -> Option<(i64, &[u8])> {
    let (t, rest) = text.split_at_checked(8)?;
    let (hour, minute, second) = (digits(&t[..2])?, digits(&t[3..5])?, digits(&t[6..])?);
    let fits = t[2] == b':' && t[5] == b':' && hour <= 23 && minute <= 59 && second <= 60;
    fits.then(|| (hour * 3_600 + minute * 60 + second, after_fraction(rest)))
}

/// The text after an optional fraction of a second.
fn after_fraction(text: &[u8]) -> &[u8] {
    let [b'.' | b',', rest @ ..] = text else { return text };
    let length = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    if length == 0 { text } else { &rest[length..] }
}

/// Minutes east of UTC in `Z`, `+01:00`, `+0100`, `+01`, `GMT`, ` +0000 UTC`; an empty text is UTC.
fn zone(text: &[u8]) -> Option<i16> {
    let text = text.trim_ascii();
    let (sign, rest) = match text {
        [] | b"Z" | b"z" | b"UTC" | b"GMT" => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let (hours, rest) = rest.split_at_checked(2)?;
    let rest = rest.strip_prefix(b":").unwrap_or(rest);
    let (minutes, name) = rest.split_at_checked(2).unwrap_or((b"00", rest));
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    let named = name.is_empty() || name[0] == b' ' && name[1..].iter().all(u8::is_ascii_uppercase);
    (hours <= 23 && minutes <= 59 && named).then_some((sign * (hours * 60 + minutes)) as i16)
}

/// `2026-11-02T08:01:00.123+01:00` and its variants.
fn iso(text: &[u8]) -> Option<LogTime> {
    let (day, rest) = day(text)?;
    let [b'T' | b't' | b' ' | b'_', rest @ ..] = rest else { return None };
    let (seconds, rest) = clock(rest)?;
    Some(at(day, seconds, zone(rest)?))
}

/// `06/Feb/2009:12:14:14.655`, with an optional offset.
fn slash_date(text: &[u8]) -> Option<LogTime> {
    let (t, rest) = text.split_at_checked(12)?;
    let fits = [t[2], t[6], t[11]] == *b"//:";
    let day = civil(digits(&t[7..11])?, month(&t[3..6])?, digits(&t[..2])?)?;
    let (seconds, rest) = clock(rest)?;
    let zone = zone(rest)?;
    fits.then(|| at(day, seconds, zone))
}

/// `Mon, 02 Nov 2026 08:01:00 GMT`.
fn http_date(text: &[u8]) -> Option<LogTime> {
    let (t, rest) = text.split_at_checked(17)?;
    let fits = [t[3], t[4], t[7], t[11], t[16]] == *b",    ";
    let day = civil(digits(&t[12..16])?, month(&t[8..11])?, digits(&t[5..7])?)?;
    let (seconds, rest) = clock(rest)?;
    let zone = zone(rest)?;
    fits.then(|| at(day, seconds, zone))
}

/// A number since 1970, in the unit that fits its size; also `1.7935e9`, as Java and Lua write large numbers.
fn epoch(text: &[u8]) -> Option<LogTime> {
    let end = text.iter().position(|b| matches!(b, b'e' | b'E')).unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(end);
    let dot = mantissa.iter().position(|&b| b == b'.').unwrap_or(mantissa.len());
    let (whole, fraction) = (&mantissa[..dot], mantissa.get(dot + 1..).unwrap_or_default());
    digits_of(fraction)?;
    let number = match exponent {
        [] => digits_of(whole)?,
        [_, b'+', power @ ..] | [_, power @ ..] => scale_by_power(whole, fraction, power)?,
    };
    let seconds = match number {
        ..FIRST => return None,
        FIRST..100_000_000_000 => number,
        100_000_000_000..100_000_000_000_000 => number / 1_000,
        100_000_000_000_000..100_000_000_000_000_000 => number / 1_000_000,
        _ => number / 1_000_000_000,
    };
    let utc = i64::try_from(seconds).ok().filter(|_| !whole.is_empty())?;
    Some(LogTime { utc, offset: 0 })
}

/// The integer part of `whole.fraction` times ten to the power.
fn scale_by_power(whole: &[u8], fraction: &[u8], power: &[u8]) -> Option<u64> {
    let power = usize::try_from(digits_of(power)?).ok().filter(|&p| !power.is_empty() && p <= 19)?;
    let moved = &fraction[..power.min(fraction.len())];
    let number = moved.iter().try_fold(digits_of(whole)?, |n, b| push(n, *b))?;
    (moved.len()..power).try_fold(number, |n, _| push(n, b'0'))
}

/// Parses a number; no digits are 0. `None` if it is not a number or too large.
fn digits_of(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0, |n, b| push(n, *b))
}

fn push(number: u64, digit: u8) -> Option<u64> {
    let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
    number.checked_mul(10)?.checked_add(digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> String {
        LogTime::parse_any_format(text.as_bytes()).map_or_else(|| "none".into(), LogTime::rfc3339)
    }

    #[test]
    fn parses_every_format() {
        for (text, time) in [
            ("02/Nov/2026:08:01:00 +0100", "2026-11-02T08:01:00+01:00"),
            ("[02/Nov/2026:08:01:00 -0330]", "2026-11-02T08:01:00-03:30"),
            ("06/Feb/2009:12:14:14.655", "2009-02-06T12:14:14+00:00"),
            ("06/Feb/2009:12:14:14.655 +0200", "2009-02-06T12:14:14+02:00"),
            ("2026-11-02T08:01:00+01:00", "2026-11-02T08:01:00+01:00"),
            ("2024-12-29T11:42:47.503803974Z", "2024-12-29T11:42:47+00:00"),
            ("2026-11-02 08:01:00,123", "2026-11-02T08:01:00+00:00"),
            ("2026-11-02T08:01:00.5-0800", "2026-11-02T08:01:00-08:00"),
            ("2026-11-02T08:01:00+02", "2026-11-02T08:01:00+02:00"),
            ("2026/11/02 08:01:00", "2026-11-02T08:01:00+00:00"),
            ("2026-11-02 08:01:00.123456789 +0100 CET", "2026-11-02T08:01:00+01:00"),
            ("Mon, 02 Nov 2026 08:01:00 GMT", "2026-11-02T08:01:00+00:00"),
            ("1683355579", "2023-05-06T06:46:19+00:00"),
            ("1683355579.981", "2023-05-06T06:46:19+00:00"),
            ("1683355579981", "2023-05-06T06:46:19+00:00"),
            ("1683355579981123", "2023-05-06T06:46:19+00:00"),
            ("1683355579981123456", "2023-05-06T06:46:19+00:00"),
            ("1.683355579981E9", "2023-05-06T06:46:19+00:00"),
            ("1.6833555e+09", "2023-05-06T06:45:00+00:00"),
            (" 1683355579 ", "2023-05-06T06:46:19+00:00"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00+00:00"),
        ] {
            assert_eq!(read(text), time, "{text}");
        }
    }

    #[test]
    fn other_texts_are_none() {
        for text in [
            "",
            "-",
            "[]",
            "0.005",
            "12",
            "99999999",
            "2026-11-02",
            "08:01:00",
            "2026-02-30T00:00:00Z",
            "2026-11-02T24:00:00Z",
            "2026-13-02T08:01:00Z",
            "2026-11-02T08:01:00+1",
            "2026-11-02T08:01:00 CET",
            "2026-11/02T08:01:00Z",
            "32/Nov/2026:08:01:00",
            "02/Nov/2026 08:01:00",
            "Mon, 02 Nov 2026",
            "99999999999999999999999",
            "1e99",
            "1.5e",
            "1683355579x",
            "-1683355579",
            ".1683355579",
            "yesterday",
        ] {
            assert_eq!(read(text), "none", "{text}");
        }
    }

    #[test]
    fn a_date_and_a_time_are_combined() {
        let read = |date: &str, time: &str| LogTime::parse_date_and_time(date.as_bytes(), time.as_bytes()).map(LogTime::rfc3339);
        assert_eq!(read("2026-11-02", "08:01:00").as_deref(), Some("2026-11-02T08:01:00+00:00"));
        assert_eq!(read("2026-11-02", "08:01:00.25").as_deref(), Some("2026-11-02T08:01:00+00:00"));
        for (date, time) in [("2026-11-02", ""), ("", "08:01:00"), ("2026-11-02T", "08:01:00"), ("2026-11-02", "08:01:00Z")] {
            assert_eq!(read(date, time), None, "{date} {time}");
        }
    }

    proptest! {
        #[test]
        fn rfc_3339_is_parsed_back(utc in 0_i64..250_000_000_000, offset in -840_i16..=840) {
            let time = LogTime { utc, offset };
            prop_assert_eq!(LogTime::parse_any_format(time.rfc3339().as_bytes()), Some(time));
        }

        #[test]
        fn a_number_is_the_same_time_in_each_unit(utc in 100_000_000_i64..18_000_000_000, rest in 0_u32..1_000_000_000) {
            let time = Some(LogTime { utc, offset: 0 });
            for text in [format!("{utc}"), format!("{utc}.{rest:09}"), format!("{utc}{:03}", rest / 1_000_000), format!("{utc}{:06}", rest / 1_000), format!("{utc}{rest:09}")] {
                prop_assert_eq!(LogTime::parse_any_format(text.as_bytes()), time, "{}", text);
            }
        }

        #[test]
        fn any_bytes_are_a_time_or_none(text in prop::collection::vec(any::<u8>(), 0..80), digits in "[0-9TZ:./,+eE -]{0,40}") {
            let _ = LogTime::parse_any_format(&text);
            let _ = LogTime::parse_any_format(digits.as_bytes());
            let _ = LogTime::parse_date_and_time(&text, digits.as_bytes());
        }
    }
}
