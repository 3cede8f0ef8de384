//! Numbers in few columns: `12,345`, `1.2M`, `3.4/s`, `5.6 MB`.

/// At most six columns, from 100,000 on with a unit.
pub(super) fn short(n: u64) -> String {
    const UNITS: [(u64, char); 5] =
        [(1_000, 'k'), (1_000_000, 'M'), (1_000_000_000, 'G'), (1_000_000_000_000, 'T'), (1_000_000_000_000_000, 'P')];
    match n {
        0..1_000 => n.to_string(),
        1_000..100_000 => format!("{},{:03}", n / 1_000, n % 1_000),
        _ => {
            let (unit, letter) = UNITS.into_iter().rfind(|(unit, _)| n / unit > 0).unwrap_or((1, ' '));
            match n / unit {
                whole @ 0..10 => format!("{whole}.{}{letter}", n % unit / (unit / 10).max(1)),
                whole => format!("{whole}{letter}"),
            }
        }
    }
}

/// A number of tenths: `0.3`, and from ten on without them.
pub(super) fn tenths(tenths: u64) -> String {
    match tenths {
        0 => "0".to_owned(),
        1..100 => format!("{}.{}", tenths / 10, tenths % 10),
        _ => short(tenths / 10),
    }
}

/// Bytes in decimal units.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", tenths(bytes / 100)),
        1_000_000..1_000_000_000 => format!("{} MB", tenths(bytes / 100_000)),
        _ => format!("{} GB", tenths(bytes / 100_000_000)),
    }
}

/// A count and its noun.
pub(super) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", short(n), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_well() {
        assert_eq!(
            [0, 999, 1_000, 12_045, 99_999, 100_000, 999_999, 1_250_000, 12_500_000, u64::MAX].map(short),
            ["0", "999", "1,000", "12,045", "99,999", "100k", "999k", "1.2M", "12M", "18446P"]
        );
        assert_eq!([0, 3, 99, 100, 12_345].map(tenths), ["0", "0.3", "9.9", "10", "1,234"]);
        assert_eq!([0, 999, 1_500, 66_000, 5_600_000, 7_000_000_000].map(size), ["0 B", "999 B", "1.5 kB", "66 kB", "5.6 MB", "7.0 GB"]);
        assert_eq!(counted(1, "hit", "hits"), "1 hit");
    }
}
