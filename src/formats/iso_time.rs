//! Converts the most frequent forms of ISO 8601 times to Common Log Format times byte by byte,
//! without computing the time, because the line loop caches the minute of the latter. All other
//! forms are parsed by [`LogTime::parse_any_format`](crate::log::time::LogTime::parse_any_format).

use crate::log::time::CLF_TIME_LEN;

const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// Converts `2026-11-02T08:01:00.123+01:00` to `02/Nov/2026:08:01:00 +0100`; `false` for any other
/// form.
#[inline]
pub(super) fn iso_time_to_clf(text: &[u8], out: &mut Vec<u8>) -> bool {
    let Some((date, [b'T', rest @ ..])) = text.split_first_chunk::<10>() else {
        return false;
    };
    let Some((time, rest)) = rest.split_first_chunk::<8>() else {
        return false;
    };
    let rest = match rest {
        [b'.', b'0'..=b'9', fraction @ ..] => {
            match fraction.iter().position(|b| !b.is_ascii_digit()) {
                Some(end) => &fraction[end..],
                None => return false,
            }
        }
        _ => rest,
    };
    let zone = match *rest {
        [b'Z'] => *b"+0000",
        [sign @ (b'+' | b'-'), a, b, b':', c, d] | [sign @ (b'+' | b'-'), a, b, c, d] => {
            [sign, a, b, c, d]
        }
        _ => return false,
    };
    write_converted_time(date, *time, zone, out)
}

/// Writes `2026-11-02` and `08:01:00`, in UTC, as a time of the Common Log Format.
#[inline]
pub(super) fn iso_date_and_time_to_clf(date: &[u8], time: &[u8], out: &mut Vec<u8>) -> bool {
    match (date.try_into(), time.try_into()) {
        (Ok(date), Ok(time)) => write_converted_time(date, time, *b"+0000", out),
        _ => false,
    }
}

/// Writes in place: copying an assembled time would stall the CPU.
#[inline]
fn write_converted_time(date: &[u8; 10], time: [u8; 8], zone: [u8; 5], out: &mut Vec<u8>) -> bool {
    let [
        y1,
        y2,
        y3,
        y4,
        b'-',
        m1 @ b'0'..=b'1',
        m2 @ b'0'..=b'9',
        b'-',
        d1,
        d2,
    ] = *date
    else {
        return false;
    };
    let month = usize::from((m1 - b'0') * 10 + m2 - b'0');
    let Some(month) = month.checked_sub(1).and_then(|month| MONTHS.get(month)) else {
        return false;
    };
    out.resize(CLF_TIME_LEN, b' ');
    let Some(clf) = out.first_chunk_mut::<CLF_TIME_LEN>() else {
        return false;
    };
    clf[..2].copy_from_slice(&[d1, d2]);
    clf[2] = b'/';
    clf[3..6].copy_from_slice(*month);
    clf[6] = b'/';
    clf[7..11].copy_from_slice(&[y1, y2, y3, y4]);
    clf[11] = b':';
    clf[12..20].copy_from_slice(&time);
    clf[20] = b' ';
    clf[21..].copy_from_slice(&zone);
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::log::time::LogTime;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn agrees_with_the_reader_of_times(text in "(20|99|00)[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{0,9})?(Z|[+-][0-2][0-9]:?[0-6][0-9]|z|)", at in 0_usize..40, byte: u8) {
            let mut text = text.into_bytes();
            let mut out = Vec::new();
            if iso_time_to_clf(&text, &mut out) {
                prop_assert_eq!(LogTime::parse_clf(&out), LogTime::parse_any_format(&text));
            }
            if let Some((time, date)) = text.get(11..19).zip(text.get(..10)) {
                let clf = iso_date_and_time_to_clf(date, time, &mut out).then(|| LogTime::parse_clf(&out)).flatten();
                prop_assert_eq!(clf, LogTime::parse_date_and_time(date, time));
            }
            if let Some(place) = text.get_mut(at) {
                *place = byte;
            }
            if iso_time_to_clf(&text, &mut out) {
                prop_assert_eq!(LogTime::parse_clf(&out), LogTime::parse_any_format(&text));
            }
        }
    }

    #[test]
    fn only_frequent_forms_are_converted() {
        for (text, expected) in [
            ("2026-11-02T08:01:00Z", Some("02/Nov/2026:08:01:00 +0000")),
            (
                "2026-11-02T08:01:00.000001-03:30",
                Some("02/Nov/2026:08:01:00 -0330"),
            ),
            (
                "2026-11-02T08:01:00+0100",
                Some("02/Nov/2026:08:01:00 +0100"),
            ),
            ("2026-11-02 08:01:00Z", None),
            ("2026-13-02T08:01:00Z", None),
            ("2026-11-02T08:01:00", None),
            ("2026-11-02T08:01:00.Z", None),
            ("", None),
        ] {
            let mut out = Vec::new();
            let written = iso_time_to_clf(text.as_bytes(), &mut out).then_some(&out[..]);
            assert_eq!(written, expected.map(str::as_bytes), "{text}");
        }
    }
}
