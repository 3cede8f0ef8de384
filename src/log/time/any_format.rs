//! Parses the time formats that occur in logs.
//!
//! The format is detected from the text alone. Anything else is `None`: a missing year is not
//! guessed, and zone names are not looked up. A time without an offset is UTC. The most frequent
//! forms have functions of their own; all others are rows of [`FORMS`]. A text that two rows read
//! differently, `04/10/2026 08:01:00`, is no time.
//!
//! Sources: ISO 8601 and RFC 3339; RFC 9110, 5.6.7 (`Mon, 02 Nov 2026 08:01:00 GMT` and its
//! obsolete forms); nginx `$msec` and `$time_iso8601`; `HAProxy`'s configuration manual, 8.2.3
//! (`%t`); W3C extended log file format (`date`, `time`); the names of months in the locales of
//! glibc.

use super::{LogTime, days_from_civil, days_in, digits, month};

/// Longer texts are not parsed. RFC 3339 with nine fractional digits has 35 bytes, Go's
/// `time.String` has 39.
const MAX_LEN: usize = 64;
/// Smaller numbers are durations, not times. In seconds since 1970, this is in 1973.
const FIRST: u64 = 100_000_000;

impl LogTime {
    /// Parses a time in any supported format: the Common Log Format, with or without brackets or
    /// quotes; ISO 8601 and RFC 3339 with an optional fraction, `T` or a space, and an optional
    /// offset (default UTC); `Mon, 02 Nov 2026 08:01:00 GMT`; `06/Feb/2009:12:14:14.655`; a row of
    /// `FORMS`; and numbers since 1970 in s, ms, µs or ns, distinguished by their size (from 1973
    /// on). Fractions are truncated.
    #[must_use]
    pub fn parse_any_format(text: &[u8]) -> Option<Self> {
        let text = text.trim_ascii();
        let enclosed = |open: &[u8], close: &[u8]| text.strip_prefix(open)?.strip_suffix(close);
        let text = enclosed(b"[", b"]")
            .or_else(|| enclosed(b"\"", b"\""))
            .unwrap_or(text)
            .trim_ascii();
        if text.len() > MAX_LEN {
            return None;
        }
        let usual = match text {
            [_, _, b'/', ..] => Self::parse_clf(text).or_else(|| slash_date(text)),
            [_, _, _, _, b'-' | b'/', ..] => iso(text),
            [b'A'..=b'Z' | b'a'..=b'z', ..] => http_date(text),
            _ => compact(text).or_else(|| epoch(text)),
        };
        usual.or_else(|| by_form(text))
    }

    /// Parses a date and a time in separate fields, `2026-11-02` and `08:01:00`, in UTC as in the
    /// W3C format.
    #[must_use]
    pub fn parse_date_and_time(date: &[u8], time: &[u8]) -> Option<Self> {
        let (day, rest) = day(date)?;
        let (seconds, after) = clock(time)?;
        (rest.is_empty() && after.is_empty()).then(|| at(day, seconds, 0))
    }
}

/// A time from a day, the seconds of that day and the offset in minutes.
fn at(day: i64, seconds: i64, offset: i16) -> LogTime {
    LogTime {
        utc: day * 86_400 + seconds - i64::from(offset) * 60,
        offset,
    }
}

/// The day number of a valid date.
fn civil(year: i64, month: i64, day: i64) -> Option<i64> {
    ((1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day))
        .then(|| days_from_civil(year, month, day))
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

/// The text after an optional fraction of a second, which some writers separate by a colon.
fn after_fraction(text: &[u8]) -> &[u8] {
    let [b'.' | b',' | b':', rest @ ..] = text else {
        return text;
    };
    let length = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    if length == 0 { text } else { &rest[length..] }
}

/// Minutes east of UTC in `Z`, `+01:00`, `+0100`, `+01`, `GMT`, ` +0000 UTC`, `GMT+0100 (CET)`; an
/// empty text is UTC.
fn zone(text: &[u8]) -> Option<i16> {
    let text = text.trim_ascii();
    let text = text
        .iter()
        .position(|&b| b == b'(')
        .filter(|_| text.ends_with(b")"))
        .map_or(text, |open| text[..open].trim_ascii());
    let (sign, rest) = match text
        .strip_prefix(b"GMT")
        .or_else(|| text.strip_prefix(b"UTC"))
        .unwrap_or(text)
    {
        [] | b"Z" | b"z" => return Some(0),
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
    let [b'T' | b't' | b' ' | b'_', rest @ ..] = rest else {
        return None;
    };
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

/// The less frequent forms of times. As in `strftime`, `%Y` is a year and `%y` its last two digits,
/// `%m` a month and `%d` a day of one or two digits, `%b` the name of a month, `%a` that of a day
/// of the week, `%T` a time of day with an optional fraction, and `%z` an optional zone; `%r` is a
/// time of day with `AM` or `PM`. A blank is one or more blanks.
const FORMS: [&str; 32] = [
    "%d/%b/%Y:%T%z",
    "%d/%b/%Y %T%z",
    "%d-%b-%Y %T%z",
    "%d-%b-%Y:%T%z",
    "%d %b %Y %T%z",
    "%d %b %Y, %T%z",
    "%d %b %Y:%T%z",
    "%d. %b %Y %T%z",
    "%a, %d %b %Y %T%z",
    "%a, %d-%b-%y %T%z",
    "%a, %d-%b-%Y %T%z",
    "%a %Y-%m-%d %T%z",
    "%a %b %d %T %Y",
    "%a %b %d %T UTC %Y",
    "%a %b %d %T GMT %Y",
    "%a %b %d %Y %T%z",
    "%b %d %Y %T%z",
    "%b %d, %Y @ %T%z",
    "%b %d, %Y %T%z",
    "%b %d, %Y %r",
    "%b %d, %Y, %r",
    "%Y %b %d %T%z",
    "%Y-%b-%d %T%z",
    "%Y-%m-%d %T%z",
    "%Y-%m-%d:%T%z",
    "%Y/%m/%d:%T%z",
    "%Y/%m/%d - %T%z",
    "%Y.%m.%d %T%z",
    "%d.%m.%Y %T%z",
    "%d.%m.%Y, %T%z",
    "%d/%m/%Y %T%z",
    "%d/%m/%Y:%T%z",
];

/// Forms with the month first, as in the United States. Without `AM` or `PM`, only a day after the
/// twelfth shows the order.
const MONTH_FIRST: [&str; 4] = [
    "%m/%d/%Y %T%z",
    "%m/%d/%Y:%T%z",
    "%m/%d/%Y %r",
    "%m/%d/%Y, %r",
];

/// The longest text of a form: `Wednesday, September 02, 2026 @ 08:01:00.123456 America`.
const MAX_FORM: usize = 64;

/// Whether a text may have one of the forms: each has a time of day, with a colon between digits,
/// and the digits of a day besides.
fn may_be_time(text: &[u8]) -> bool {
    let digits = || text.iter().filter(|byte| byte.is_ascii_digit()).count();
    let has_clock = || {
        text.windows(3)
            .any(|part| matches!(part, [b'0'..=b'9', b':', b'0'..=b'9']))
    };
    text.len() <= MAX_FORM && memchr::memchr(b':', text).is_some() && digits() >= 5 && has_clock()
}

/// A time in one of the less frequent forms; `None` if two forms read it differently.
#[cold]
fn by_form(text: &[u8]) -> Option<LogTime> {
    // No line loop can afford to try all forms on each text in brackets.
    if !may_be_time(text) {
        return None;
    }
    // A form that begins with a number has its separator after it.
    let separator = text.iter().find(|byte| !byte.is_ascii_digit());
    let begins = |form: &[u8]| {
        if text[0].is_ascii_digit() {
            form.get(2) == separator
        } else {
            matches!(form[1], b'a' | b'b')
        }
    };
    let forms = FORMS.iter().chain(&MONTH_FIRST).map(|form| form.as_bytes());
    let mut times = forms
        .filter(|form| begins(form))
        .filter_map(|form| in_form(text, form));
    let first = times.next()?;
    times.all(|other| other == first).then_some(first)
}

/// A time in this form.
fn in_form(text: &[u8], form: &[u8]) -> Option<LogTime> {
    let (mut rest, mut form) = (text, form);
    let (mut date, mut seconds, mut offset) = ([0; 3], 0, 0);
    while let [first, next @ ..] = form {
        form = next;
        if *first != b'%' {
            rest = rest.strip_prefix(&[*first])?;
            if *first == b' ' {
                rest = rest.trim_ascii_start();
            }
            continue;
        }
        let (code, next) = form.split_first()?;
        form = next;
        match code {
            b'Y' => (date[0], rest) = number(rest, 4..=4)?,
            b'y' => {
                let (year, after) = number(rest, 2..=2)?;
                // RFC 9110 would compare with the clock; POSIX begins at 69.
                (date[0], rest) = (if year < 69 { 2000 + year } else { 1900 + year }, after);
            }
            b'm' => (date[1], rest) = number(rest, 1..=2)?,
            b'b' => (date[1], rest) = month_name(rest)?,
            b'd' => (date[2], rest) = number(rest, 1..=2)?,
            b'a' => rest = &rest[name(rest).filter(|name| !name.is_empty())?.len()..],
            b'T' => (seconds, rest) = clock(rest)?,
            b'r' => (seconds, rest) = clock_of_12(rest)?,
            b'z' => (offset, rest) = (zone(rest)?, b""),
            _ => {}
        }
    }
    let [year, month, day] = date;
    rest.is_empty()
        .then(|| Some(at(civil(year, month, day)?, seconds, offset)))?
}

/// `20261102T080100Z`, `20261102080100`, `261102 08:01:00`. As milliseconds since 1970, fourteen
/// digits from 1970 on would be of the year 2594.
fn compact(text: &[u8]) -> Option<LogTime> {
    if text.get(6) == Some(&b' ') {
        let day = civil(
            2000 + digits(&text[..2])?,
            digits(&text[2..4])?,
            digits(&text[4..6])?,
        )?;
        let (seconds, rest) = clock(text[6..].trim_ascii_start())?;
        return Some(at(day, seconds, zone(rest)?));
    }
    let (date, rest) = text.split_at_checked(8)?;
    let (time, rest) = rest
        .strip_prefix(b"T")
        .unwrap_or(rest)
        .split_at_checked(6)?;
    let year = digits(&date[..4]).filter(|year| *year >= 1970)?;
    let day = civil(year, digits(&date[4..6])?, digits(&date[6..])?)?;
    let (hour, minute, second) = (
        digits(&time[..2])?,
        digits(&time[2..4])?,
        digits(&time[4..])?,
    );
    let fits = hour <= 23 && minute <= 59 && second <= 60;
    fits.then(|| {
        Some(at(
            day,
            hour * 3_600 + minute * 60 + second,
            zone(after_fraction(rest))?,
        ))
    })?
}

/// A number with this many digits, and the rest.
fn number(text: &[u8], lengths: std::ops::RangeInclusive<usize>) -> Option<(i64, &[u8])> {
    let length = text
        .iter()
        .take(*lengths.end())
        .take_while(|b| b.is_ascii_digit())
        .count();
    let (number, rest) = text.split_at(length);
    let fits = lengths.contains(&length) && !rest.first().is_some_and(u8::is_ascii_digit);
    fits.then(|| Some((digits(number)?, rest)))?
}

/// `8:01:00 PM`.
fn clock_of_12(text: &[u8]) -> Option<(i64, &[u8])> {
    let (hour, rest) = number(text, 1..=2)?;
    let ([b':', t @ ..], rest) = rest.split_at_checked(6)? else {
        return None;
    };
    let (minute, second) = (digits(t.get(..2)?)?, digits(t.get(3..)?)?);
    let (half, rest) = after_fraction(rest)
        .trim_ascii_start()
        .split_at_checked(2)?;
    let noon = if half.eq_ignore_ascii_case(b"PM") {
        12
    } else {
        0
    };
    let is_half = noon > 0 || half.eq_ignore_ascii_case(b"AM");
    let fits = t[2] == b':' && (1..=12).contains(&hour) && minute <= 59 && second <= 60 && is_half;
    fits.then_some(((hour % 12 + noon) * 3_600 + minute * 60 + second, rest))
}

/// The letters at the start of a text.
fn name(text: &[u8]) -> Option<&str> {
    let length = text
        .iter()
        .take_while(|b| b.is_ascii_alphabetic() || !b.is_ascii())
        .count();
    std::str::from_utf8(&text[..length]).ok()
}

/// The month that a text starts with, and the rest.
fn month_name(text: &[u8]) -> Option<(i64, &[u8])> {
    let name = name(text)?;
    let is_name = |known: &&str| {
        known.eq_ignore_ascii_case(name)
            || !name.is_ascii() && known.chars().eq(name.chars().flat_map(char::to_lowercase))
    };
    let (month, _) = (1..)
        .zip(MONTH_NAMES)
        .find(|(_, names)| names.iter().any(is_name))?;
    let rest = &text[name.len()..];
    Some((month, rest.strip_prefix(b".").unwrap_or(rest)))
}

/// The names of the months in lower case: abbreviated in English, German, French, Spanish, Italian,
/// Portuguese, Dutch, the languages of northern Europe, Polish, Czech, Hungarian, Romanian,
/// Turkish, Indonesian and Russian, and whole in English. No name is that of two months.
const MONTH_NAMES: [&[&str]; 12] = [
    &[
        "jan", "january", "janv", "ene", "gen", "tammi", "sty", "led", "ian", "oca", "янв",
    ],
    &[
        "feb", "february", "févr", "fév", "fev", "helmi", "lut", "úno", "febr", "şub", "фев",
    ],
    &[
        "mar", "march", "mär", "mrz", "mars", "mrt", "maalis", "bře", "márc", "мар",
    ],
    &[
        "apr", "april", "avr", "avril", "abr", "huhti", "kwi", "dub", "ápr", "nis", "апр",
    ],
    &[
        "may", "mai", "mag", "mei", "maj", "touko", "kvě", "máj", "май", "мая",
    ],
    &[
        "jun", "june", "juin", "giu", "juni", "kesä", "cze", "čen", "jún", "iun", "haz", "июн",
    ],
    &[
        "jul", "july", "juil", "lug", "juli", "heinä", "lip", "čec", "júl", "iul", "tem", "июл",
    ],
    &[
        "aug", "august", "août", "ago", "elo", "sie", "srp", "ağu", "agu", "авг",
    ],
    &[
        "sep",
        "september",
        "sept",
        "set",
        "syys",
        "wrz",
        "zář",
        "szept",
        "eyl",
        "сен",
        "сент",
    ],
    &[
        "oct", "october", "okt", "ott", "out", "loka", "paź", "říj", "eki", "окт",
    ],
    &["nov", "november", "marras", "lis", "kas", "ноя", "нояб"],
    &[
        "dec", "december", "dez", "déc", "dic", "des", "joulu", "gru", "pro", "ara", "дек",
    ],
];

/// A number since 1970, in the unit that fits its size; also `1.7935e9`, as Java and Lua write
/// large numbers.
fn epoch(text: &[u8]) -> Option<LogTime> {
    let end = text
        .iter()
        .position(|b| matches!(b, b'e' | b'E'))
        .unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(end);
    let dot = mantissa
        .iter()
        .position(|&b| b == b'.')
        .unwrap_or(mantissa.len());
    let (whole, fraction) = (
        &mantissa[..dot],
        mantissa.get(dot + 1..).unwrap_or_default(),
    );
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
    let power = usize::try_from(digits_of(power)?)
        .ok()
        .filter(|&p| !power.is_empty() && p <= 19)?;
    let moved = &fraction[..power.min(fraction.len())];
    let number = moved
        .iter()
        .try_fold(digits_of(whole)?, |n, b| push(n, *b))?;
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
            (
                "06/Feb/2009:12:14:14.655 +0200",
                "2009-02-06T12:14:14+02:00",
            ),
            ("2026-11-02T08:01:00+01:00", "2026-11-02T08:01:00+01:00"),
            (
                "2024-12-29T11:42:47.503803974Z",
                "2024-12-29T11:42:47+00:00",
            ),
            ("2026-11-02 08:01:00,123", "2026-11-02T08:01:00+00:00"),
            ("2026-11-02T08:01:00.5-0800", "2026-11-02T08:01:00-08:00"),
            ("2026-11-02T08:01:00+02", "2026-11-02T08:01:00+02:00"),
            ("2026/11/02 08:01:00", "2026-11-02T08:01:00+00:00"),
            (
                "2026-11-02 08:01:00.123456789 +0100 CET",
                "2026-11-02T08:01:00+01:00",
            ),
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
            (
                "\"02/Nov/2026:08:01:00 +0100\"",
                "2026-11-02T08:01:00+01:00",
            ),
            ("2/Nov/2026:08:01:00 +0100", "2026-11-02T08:01:00+01:00"),
            ("02/Nov/2026 08:01:00", "2026-11-02T08:01:00+00:00"),
            ("02/Nov/2026:08:01:00 GMT", "2026-11-02T08:01:00+00:00"),
            ("02/Okt/2026:08:01:00 +0200", "2026-10-02T08:01:00+02:00"),
            ("02/MÄR/2026:08:01:00 +0100", "2026-03-02T08:01:00+01:00"),
            ("02/déc./2026:08:01:00 +0100", "2026-12-02T08:01:00+01:00"),
            ("2 мая 2026 08:01:00", "2026-05-02T08:01:00+00:00"),
            ("Mon Nov  2 08:01:00 2026", "2026-11-02T08:01:00+00:00"),
            (
                "Mon Nov 02 08:01:00.123456 2026",
                "2026-11-02T08:01:00+00:00",
            ),
            (
                "Mon Nov 02 2026 08:01:00 GMT+0100 (CET)",
                "2026-11-02T08:01:00+01:00",
            ),
            (
                "Monday, 02-Nov-26 08:01:00 GMT",
                "2026-11-02T08:01:00+00:00",
            ),
            ("Mon 2026-11-02 08:01:00 UTC", "2026-11-02T08:01:00+00:00"),
            ("Nov  2 2026 08:01:00", "2026-11-02T08:01:00+00:00"),
            ("Nov 2, 2026 @ 08:01:00.123", "2026-11-02T08:01:00+00:00"),
            ("November 2, 2026 12:01:00 AM", "2026-11-02T00:01:00+00:00"),
            ("11/2/2026 12:01:00 PM", "2026-11-02T12:01:00+00:00"),
            ("11/22/2026 08:01:00", "2026-11-22T08:01:00+00:00"),
            ("22/11/2026 08:01:00", "2026-11-22T08:01:00+00:00"),
            ("11/11/2026 08:01:00", "2026-11-11T08:01:00+00:00"),
            ("02.11.2026 08:01:00", "2026-11-02T08:01:00+00:00"),
            ("2026/11/02 - 08:01:00", "2026-11-02T08:01:00+00:00"),
            ("2026-11-02 08:01:00:123", "2026-11-02T08:01:00+00:00"),
            ("2026-11-2 08:01:00", "2026-11-02T08:01:00+00:00"),
            ("20261102T080100Z", "2026-11-02T08:01:00+00:00"),
            ("20261102080100", "2026-11-02T08:01:00+00:00"),
            ("261102 08:01:00.5", "2026-11-02T08:01:00+00:00"),
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
            "02/11/2026 08:01:00",
            "02/Now/2026 08:01:00",
            "02/Nov/2026 08:01:00 CET",
            "13/13/2026 08:01:00",
            "11/2/2026 13:01:00 PM",
            "Mon, 02 Nov 2026",
            "99999999999999999999999",
            "1e99",
            "1.5e",
            "1683355579x",
            "-1683355579",
            ".1683355579",
            "yesterday",
            "261302 08:01:00",
        ] {
            assert_eq!(read(text), "none", "{text}");
        }
    }

    #[test]
    fn a_name_is_that_of_one_month() {
        let names: Vec<&str> = MONTH_NAMES.iter().copied().flatten().copied().collect();
        for name in &names {
            assert_eq!(
                names.iter().filter(|other| *other == name).count(),
                1,
                "{name}"
            );
            assert_eq!(name.to_lowercase(), *name);
        }
    }

    #[test]
    fn every_form_reads_what_it_describes() {
        // The second, after the twelfth, so that no other form reads it differently.
        for form in FORMS.iter().chain(&MONTH_FIRST) {
            let text = [
                ("%Y", "2026"),
                ("%y", "26"),
                ("%m", "11"),
                ("%d", "22"),
                ("%b", "Nov"),
                ("%a", "Sun"),
                ("%T", "20:01:00.5"),
                ("%r", "8:01:00 PM"),
                ("%z", " +0100"),
            ];
            let text = text.iter().fold((*form).to_owned(), |text, (code, value)| {
                text.replace(code, value)
            });
            let offset = if form.contains("%z") {
                "+01:00"
            } else {
                "+00:00"
            };
            assert_eq!(
                read(&text),
                format!("2026-11-22T20:01:00{offset}"),
                "{form}: {text}"
            );
        }
    }

    #[test]
    fn a_date_and_a_time_are_combined() {
        let read = |date: &str, time: &str| {
            LogTime::parse_date_and_time(date.as_bytes(), time.as_bytes()).map(LogTime::rfc3339)
        };
        assert_eq!(
            read("2026-11-02", "08:01:00").as_deref(),
            Some("2026-11-02T08:01:00+00:00")
        );
        assert_eq!(
            read("2026-11-02", "08:01:00.25").as_deref(),
            Some("2026-11-02T08:01:00+00:00")
        );
        for (date, time) in [
            ("2026-11-02", ""),
            ("", "08:01:00"),
            ("2026-11-02T", "08:01:00"),
            ("2026-11-02", "08:01:00Z"),
        ] {
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
