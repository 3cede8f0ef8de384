//! The first page of a scan at eight sizes of the terminal, over six logs: it fits, and it reads as
//! it did.

use crate::harness::{Harness, finish};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Columns and lines.
const SIZES: [(usize, usize); 8] = [
    (40, 12),
    (64, 20),
    (80, 24),
    (100, 30),
    (120, 40),
    (160, 50),
    (200, 60),
    (240, 70),
];

/// Logs of `samples`: all of them, and single ones.
const LOGS: [&str; 6] = [
    "",
    "answered.log",
    "disguised.log",
    "mixed.log",
    "quiet.log",
    "soft-404.log",
];

#[test]
fn the_first_page_fits_terminals_of_eight_sizes() {
    let harness = Harness::new();
    std::os::unix::fs::symlink(format!("{ROOT}/samples"), harness.path("samples")).unwrap();
    // It may be wrapped.
    let elapsed = regex::Regex::new(r"(?m)\s+in\s+[0-9.,]+\s+m?s$").unwrap();
    for log in LOGS {
        let mut pages = String::new();
        for (columns, lines) in SIZES {
            let mut command = harness.command(["scan", &format!("samples/{log}")]);
            let run = finish(
                command
                    .env("COLUMNS", columns.to_string())
                    .env("LINES", lines.to_string()),
            );
            let text = run.text();
            assert!([0, 3].contains(&run.code), "{log}: {}", run.stderr);
            assert!(
                text.lines().all(|line| line.chars().count() <= columns),
                "{log}, {columns} columns: {text}"
            );
            // One answer, what could not be read and the line counts are never left out; on a
            // narrow page they are wrapped.
            let least = if columns < 60 { 24 } else { 16 };
            assert!(
                text.lines().count() < lines.max(least),
                "{log}, {lines} lines: {text}"
            );
            pages.extend([
                &format!("=== {columns} x {lines}\n"),
                &*elapsed.replace_all(&text, " in TIME"),
                "\n",
            ]);
        }
        insta::assert_snapshot!(
            format!("first_page_{}", log.trim_end_matches(".log")),
            pages
        );
    }
}
