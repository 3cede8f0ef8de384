//! Rewrites an ISO 8601 time as the Common Log Format has it, letter by letter: nothing is counted, so it costs little.
//!
//! Only the forms that logs are full of. What is not of them, and what may be no time at all, is left to
//! [`LogTime::parse_written`](crate::time::LogTime::parse_written).

use crate::time::CLF_TIME_LEN;

const MONTHS: [&[u8; 3]; 12] = [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// `2026-11-02T08:01:00.123+01:00` as `02/Nov/2026:08:01:00 +0100`; `None` for any other form.
#[inline]
pub(super) fn clf(text: &[u8]) -> Option<[u8; CLF_TIME_LEN]> {
    let (date, rest) = text.split_first_chunk::<10>()?;
    let [b'T', rest @ ..] = rest else { return None };
    let (time, rest) = rest.split_first_chunk::<8>()?;
    let zone = match rest {
        [b'.', fraction @ ..] => &fraction[fraction.iter().position(|b| !b.is_ascii_digit()).filter(|digits| *digits > 0)?..],
        _ => rest,
    };
    let zone = match *zone {
        [b'Z'] => *b"+0000",
        [sign @ (b'+' | b'-'), a, b, b':', c, d] | [sign @ (b'+' | b'-'), a, b, c, d] => [sign, a, b, c, d],
        _ => return None,
    };
    written(*date, *time, zone)
}

/// `2026-11-02` and `08:01:00`, in UTC.
#[inline]
pub(super) fn clf_of_date_and_time(date: &[u8], time: &[u8]) -> Option<[u8; CLF_TIME_LEN]> {
    written(date.try_into().ok()?, time.try_into().ok()?, *b"+0000")
}

fn written(date: [u8; 10], time: [u8; 8], zone: [u8; 5]) -> Option<[u8; CLF_TIME_LEN]> {
    let [y1, y2, y3, y4, b'-', m1 @ b'0'..=b'1', m2 @ b'0'..=b'9', b'-', d1, d2] = date else { return None };
    let month = usize::from((m1 - b'0') * 10 + m2 - b'0');
    let month = MONTHS.get(month.checked_sub(1)?)?;
    let mut clf = *b"00/Jan/0000:00:00:00 +0000";
    clf[..2].copy_from_slice(&[d1, d2]);
    clf[3..6].copy_from_slice(*month);
    clf[7..11].copy_from_slice(&[y1, y2, y3, y4]);
    clf[12..20].copy_from_slice(&time);
    clf[21..].copy_from_slice(&zone);
    Some(clf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::LogTime;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn agrees_with_the_reader_of_times(text in "(20|99|00)[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{0,9})?(Z|[+-][0-2][0-9]:?[0-6][0-9]|z|)", at in 0_usize..40, byte: u8) {
            let mut text = text.into_bytes();
            if let Some(clf) = clf(&text) {
                prop_assert_eq!(LogTime::parse_clf(&clf), LogTime::parse_written(&text));
            }
            if let Some((time, date)) = text.get(11..19).zip(text.get(..10)) {
                let clf = clf_of_date_and_time(date, time).and_then(|clf| LogTime::parse_clf(&clf));
                prop_assert_eq!(clf, LogTime::parse_date_and_time(date, time));
            }
            if let Some(place) = text.get_mut(at) {
                *place = byte;
            }
            if let Some(clf) = clf(&text) {
                prop_assert_eq!(LogTime::parse_clf(&clf), LogTime::parse_written(&text));
            }
        }
    }

    #[test]
    fn rewrites_the_usual_forms_only() {
        for (text, expected) in [
            ("2026-11-02T08:01:00Z", Some("02/Nov/2026:08:01:00 +0000")),
            ("2026-11-02T08:01:00.000001-03:30", Some("02/Nov/2026:08:01:00 -0330")),
            ("2026-11-02T08:01:00+0100", Some("02/Nov/2026:08:01:00 +0100")),
            ("2026-11-02 08:01:00Z", None),
            ("2026-13-02T08:01:00Z", None),
            ("2026-11-02T08:01:00", None),
            ("2026-11-02T08:01:00.Z", None),
            ("", None),
        ] {
            assert_eq!(clf(text.as_bytes()).as_ref().map(<[u8; 26]>::as_slice), expected.map(str::as_bytes), "{text}");
        }
    }
}
