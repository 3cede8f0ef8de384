//! Numbers for people: `1,234,567`, `250 MB`, `0.31 s`, `1 probe`; and compact ones for the live
//! view: `1.2M`, `5.6 MB`.
//!
//! Programs get plain digits instead.

use std::time::Duration;

/// With a comma at every third digit.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count and its noun.
pub(crate) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// A part in percent of the whole, which is not 0: `8.7 %`, or `less than 0.1 %`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    match u128::from(part) * 1_000 / u128::from(whole) {
        0 if part > 0 => "less than 0.1 %".to_owned(),
        tenths => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}

/// A count and its noun, of which there are more if memory was limited.
pub(crate) fn counted_more(n: u64, has_more: bool, one: &str, many: &str) -> String {
    format!(
        "{}{}",
        if has_more { MORE_THAN } else { "" },
        counted(n, one, many)
    )
}

/// What precedes a number that is a lower bound.
pub(crate) const MORE_THAN: &str = "more than ";

/// Bytes in decimal units.
#[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = usize::from(value < 9.95);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// A duration.
pub(crate) fn seconds(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        0 if elapsed.as_millis() < 100 => format!("{} ms", elapsed.as_millis()),
        0..10 => format!("{:.2} s", elapsed.as_secs_f64()),
        10..60 => format!("{:.1} s", elapsed.as_secs_f64()),
        whole => format!("{} min {} s", grouped(whole / 60), whole % 60),
    }
}

/// A count in at most six columns: with a unit from 100,000 on.
pub(crate) fn compact(n: u64) -> String {
    const UNITS: [(u64, char); 5] = [
        (1_000, 'k'),
        (1_000_000, 'M'),
        (1_000_000_000, 'G'),
        (1_000_000_000_000, 'T'),
        (1_000_000_000_000_000, 'P'),
    ];
    match n {
        0..1_000 => n.to_string(),
        1_000..100_000 => format!("{},{:03}", n / 1_000, n % 1_000),
        _ => {
            let (unit, letter) = UNITS
                .into_iter()
                .rfind(|(unit, _)| n / unit > 0)
                .unwrap_or((1, ' '));
            match n / unit {
                whole @ 0..10 => format!("{whole}.{}{letter}", n % unit / (unit / 10).max(1)),
                whole => format!("{whole}{letter}"),
            }
        }
    }
}

/// Tenths as a number: `0.3`; without a decimal from ten on.
pub(crate) fn compact_tenths(tenths: u64) -> String {
    match tenths {
        0 => "0".to_owned(),
        1..100 => format!("{}.{}", tenths / 10, tenths % 10),
        _ => compact(tenths / 10),
    }
}

/// Bytes in decimal units, compact.
pub(crate) fn compact_size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", compact_tenths(bytes / 100)),
        1_000_000..1_000_000_000 => format!("{} MB", compact_tenths(bytes / 100_000)),
        _ => format!("{} GB", compact_tenths(bytes / 100_000_000)),
    }
}

/// A compact count and its noun.
pub(crate) fn compact_counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", compact(n), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use crate::text::number::*;

    #[test]
    fn reads_well() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [999, 1000, 65_536, 249_870_113, 999_600, u64::MAX].map(size),
            ["999 B", "1.0 kB", "66 kB", "250 MB", "1.0 MB", "18447 PB"]
        );
        assert_eq!(
            [3, 312, 12_340, 125_000].map(|ms| seconds(Duration::from_millis(ms))),
            ["3 ms", "0.31 s", "12.3 s", "2 min 5 s"]
        );
        assert_eq!(counted(1, "probe", "probes"), "1 probe");
        assert_eq!(counted(0, "probe", "probes"), "0 probes");
    }

    #[test]
    fn compact_numbers_read_well() {
        assert_eq!(
            [
                0,
                999,
                1_000,
                12_045,
                99_999,
                100_000,
                999_999,
                1_250_000,
                12_500_000,
                u64::MAX
            ]
            .map(compact),
            [
                "0", "999", "1,000", "12,045", "99,999", "100k", "999k", "1.2M", "12M", "18446P"
            ]
        );
        assert_eq!(
            [0, 3, 99, 100, 12_345].map(compact_tenths),
            ["0", "0.3", "9.9", "10", "1,234"]
        );
        assert_eq!(
            [0, 999, 1_500, 66_000, 5_600_000, 7_000_000_000].map(compact_size),
            ["0 B", "999 B", "1.5 kB", "66 kB", "5.6 MB", "7.0 GB"]
        );
        assert_eq!(compact_counted(1, "hit", "hits"), "1 hit");
    }
}
