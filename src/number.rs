//! Numbers as a person reads them: `1,234,567`, `250 MB`, `0.31 s`, `1 probe`.
//!
//! For the table only; programs get plain digits.

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

/// Bytes in decimal units, as disks and networks count them.
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

/// How long something took.
pub(crate) fn seconds(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        0 if elapsed.as_millis() < 100 => format!("{} ms", elapsed.as_millis()),
        0..10 => format!("{:.2} s", elapsed.as_secs_f64()),
        10..60 => format!("{:.1} s", elapsed.as_secs_f64()),
        whole => format!("{} min {} s", grouped(whole / 60), whole % 60),
    }
}

#[cfg(test)]
mod tests {
    use crate::number::*;

    #[test]
    fn reads_well() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [999, 1000, 65_536, 249_870_113, 999_600, u64::MAX].map(size),
            ["999 B", "1.0 kB", "66 kB", "250 MB", "1.0 MB", "18447 PB"]
        );
        assert_eq!([3, 312, 12_340, 125_000].map(|ms| seconds(Duration::from_millis(ms))), ["3 ms", "0.31 s", "12.3 s", "2 min 5 s"]);
        assert_eq!(counted(1, "probe", "probes"), "1 probe");
        assert_eq!(counted(0, "probe", "probes"), "0 probes");
    }
}
