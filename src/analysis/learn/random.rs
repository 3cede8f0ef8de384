//! SymbolTables that a machine made up: hashes and numbers, which say nothing of what the next prober asks for.

/// Digits in a row; a date has eight, a year four.
const NUMBER: usize = 6;

/// Hexadecimal digits in a row, letters and digits among them.
const HASH: usize = 10;

/// Whether a part of the path looks made up.
pub(crate) fn is_machine_generated(path: &str) -> bool {
    let runs = |of: fn(&u8) -> bool| path.as_bytes().chunk_by(move |a, b| of(a) && of(b));
    let is_hash = |run: &[u8]| {
        let digits = run.iter().filter(|b| b.is_ascii_digit()).count();
        run.len() >= HASH && digits >= 2 && run.len() - digits >= 2 && run[0].is_ascii_hexdigit()
    };
    runs(u8::is_ascii_digit).any(|run| run.len() >= NUMBER) || runs(u8::is_ascii_hexdigit).any(is_hash)
}

#[cfg(test)]
mod tests {
    use crate::analysis::learn::random::*;

    #[test]
    fn names_of_machines() {
        for path in ["/123456.php", "/a/5f4dcc3b5aa765d61d83/x", "/id-20260102.zip", "/7f3a-0123456789ab"] {
            assert!(is_machine_generated(path), "{path}");
        }
        for path in ["/root11.php", "/2026/backup.zip", "/phpmyadmin-4.8.5/", "/feedbacked/facade.php", "/wp1/12345.php", "/"] {
            assert!(!is_machine_generated(path), "{path}");
        }
    }
}
