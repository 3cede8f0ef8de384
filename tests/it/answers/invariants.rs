//! Invariants of grades: the order of lines, files, threads and many other probes do not change the
//! grade of an answer.

use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use super::generated::any_log;
use crate::harness::{Harness, Rng, Run, line, sized};

/// Answers to different probes of a site that answers 200 to anything, each of 14 to 19 KB.
fn flood(rng: &mut Rng, paths: usize) -> Vec<String> {
    const NAMES: [&str; 8] = [
        ".env",
        ".git/config",
        "phpinfo.php",
        "id_rsa",
        "db.sql",
        "actuator/env",
        "wp-login.php",
        "backup.zip",
    ];
    (0..paths)
        .map(|n| {
            let path = format!("/{}/{}", rng.below(1 << 40), NAMES[n % NAMES.len()]);
            sized(
                &line("198.51.100.7", &format!("GET {path} HTTP/1.1"), 200),
                14_000 + rng.below(5_000),
            )
        })
        .collect()
}

fn get(path: &str, bytes: u64) -> String {
    sized(
        &line("192.0.2.1", &format!("GET {path} HTTP/1.1"), 200),
        bytes,
    )
}

fn head(path: &str) -> String {
    sized(&line("192.0.2.9", &format!("HEAD {path} HTTP/1.1"), 200), 0)
}

/// Path, grade and reason of each answered row, sorted.
fn grades(harness: &Harness, args: &[&str]) -> Vec<String> {
    let report = harness.json(args).1;
    let lists = ["answered", "uncertain"].map(|list| report[list].as_array().unwrap().clone());
    let mut rows: Vec<_> = lists
        .iter()
        .flatten()
        .map(|row| format!("{} {} {}", row["path"], row["answer"], row["reason"]))
        .collect();
    rows.push(format!("soft 404: {}", report["totals"]["soft_404"]));
    rows.sort();
    rows
}

fn is_distinct(harness: &Harness, log: &str, path: &str) -> bool {
    let is_path = |row: &Value| row["path"] == path;
    harness.json([log]).1["answered"]
        .as_array()
        .unwrap()
        .iter()
        .any(is_path)
}

#[test]
fn many_soft_404s_do_not_hide_an_exposed_file() {
    let harness = Harness::new();
    let mut rng = Rng::new();
    let mut lines = flood(&mut rng, 80_000);
    for (at, secret) in [
        (0, "/.env"),
        (40_000, "/.git/config"),
        (80_002, "/config/id_rsa"),
    ] {
        lines.insert(at, get(secret, 300 + at as u64 / 100));
    }
    harness.file("access.log", lines.concat());
    for secret in ["/.env", "/.git/config", "/config/id_rsa"] {
        assert!(is_distinct(&harness, "access.log", secret), "{secret}");
    }
    let totals = &harness.json(["access.log"]).1["totals"];
    // Of the eight names, seven expose something wherever they are.
    assert_eq!(
        (totals["soft_404"].as_u64(), totals["answered"].as_u64()),
        (Some(70_000), Some(3)),
        "{totals}"
    );
}

/// The answer to a HEAD request shows nothing about the content of a GET.
#[test]
fn head_requests_do_not_hide_an_exposed_file() {
    let harness = Harness::new();
    let heads: String = [
        "/.env",
        "/backup.zip",
        "/phpinfo.php",
        "/actuator/env",
        "/id_rsa",
    ]
    .map(head)
    .concat();
    let refused: String = (0..40)
        .map(|n| line("192.0.2.2", &format!("GET /{n}/phpinfo.php HTTP/1.1"), 404))
        .collect();
    harness.file("access.log", get("/.env", 612) + &heads + &refused);
    assert!(is_distinct(&harness, "access.log", "/.env"));
}

/// A page of the same size as the file makes its answer uncertain, but not a soft 404.
#[test]
fn a_page_of_equal_size_does_not_hide_an_exposed_file() {
    let harness = Harness::new();
    let padded: String = ["/.env?pad=1", "/.env?pad=22", "/search/.env"]
        .map(|path| get(path, 612))
        .concat();
    harness.file("access.log", get("/.env", 612) + &padded);
    let rows = grades(&harness, &["access.log"]);
    assert!(
        rows.iter().any(|row| row.starts_with("\"/.env\" ")),
        "{rows:?}"
    );
}

#[test]
fn order_files_and_threads_do_not_change_grades() {
    let harness = Harness::new();
    let mut rng = Rng::new();
    let mut lines = flood(&mut rng, 3_000);
    lines.extend([
        get("/.env", 300),
        get("/.git/config", 92),
        get("/info.php", 14_500),
        head("/.env"),
    ]);
    lines.extend((0..200).map(|n| line("192.0.2.3", &format!("GET /{n}/.env HTTP/1.1"), 404)));
    harness.file("whole.log", lines.concat());
    let expected = grades(&harness, &["whole.log"]);
    assert!(expected.len() > 2, "{expected:?}");
    for threads in ["1", "2", "8"] {
        assert_eq!(
            grades(&harness, &["--threads", threads, "whole.log"]),
            expected,
            "{threads} threads"
        );
    }
    for round in 0..3 {
        for at in (1..lines.len()).rev() {
            lines.swap(at, rng.below(at as u64 + 1) as usize);
        }
        harness.file("whole.log", lines.concat());
        assert_eq!(
            grades(&harness, &["whole.log"]),
            expected,
            "shuffled, round {round}"
        );
        // The parts of a rotated log belong to one site.
        let cut = rng.below(lines.len() as u64) as usize;
        harness.file("part.log", lines[cut..].concat());
        harness.file("part.log.1", lines[..cut].concat());
        assert_eq!(
            grades(&harness, &["part.log", "part.log.1"]),
            expected,
            "cut before line {cut}"
        );
    }
}

/// The answers of a report without the lines that show them: every row, and every site that answers
/// anything.
fn answers(run: &Run) -> Vec<String> {
    let report = run.json();
    let mut all = Vec::new();
    for list in ["answered", "uncertain"] {
        for row in report[list].as_array().unwrap() {
            let mut text = list.to_owned();
            for name in [
                "site", "path", "status", "bytes", "method", "reason", "why", "severity", "rules",
                "hits", "clients",
            ] {
                write!(text, " {}", row[name]).unwrap();
            }
            all.push(text);
        }
    }
    all.extend(
        report["soft_404"]
            .as_array()
            .unwrap()
            .iter()
            .map(|site| format!("soft_404 {site}")),
    );
    all.sort();
    all
}

fn scan(harness: &Harness, threads: &str, lines: &[String]) -> Vec<String> {
    harness.file("access.log", lines.concat());
    answers(&harness.run(["scan", "-f", "json", "--threads", threads, "access.log"]))
}

/// The same lines spread over several chunks of 1 MiB: each line is followed by 50 KB of requests
/// for a page.
fn spread_over_chunks(lines: &[String]) -> Vec<String> {
    let page = line("203.0.113.7", "GET /assets/style.css HTTP/1.1", 200);
    let host = if lines[0].starts_with("www") {
        "www0.example.com:80 "
    } else {
        ""
    };
    let between = format!("{host}{page}").repeat(500);
    lines
        .iter()
        .map(|line| format!("{line}{between}"))
        .collect()
}

/// Scans each part of a log alone and merges the reports. The parts are named like a rotated log.
fn merged(harness: &Harness, lines: &[String], mut cuts: Vec<usize>) -> Vec<String> {
    cuts.extend([0, lines.len()]);
    cuts.sort_unstable();
    let mut args = vec!["merge".to_owned(), "-f".to_owned(), "json".to_owned()];
    for (n, cut) in cuts.windows(2).enumerate() {
        let log = if n == 0 {
            "access.log".to_owned()
        } else {
            format!("access.log.{n}")
        };
        let report = format!("{n}.json");
        harness.file(&log, lines[cut[0]..cut[1]].concat());
        let run = harness.run(["scan", "-f", "json", "-o", &report, &log]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        args.push(report);
    }
    answers(&harness.run(args))
}

/// The most frequent answer of a path decides, however many inputs and clients share its requests.
#[test]
fn the_most_frequent_answer_is_that_of_all_inputs() {
    let harness = Harness::new();
    let at = |minute: u32, client: &str, method: &str| {
        format!(
            "{client} - - [02/Nov/2026:08:{minute:02}:00 +0000] \"{method} /admin/.env HTTP/1.1\" 200 - \"-\" \"Mozilla/5.0\"\n"
        )
    };
    let (early, late) = (
        at(23, "198.51.100.3", "HEAD"),
        at(29, "198.51.100.5", "GET"),
    );
    let last = at(32, "198.51.100.6", "GET");
    let whole = scan(&harness, "1", &[early.clone(), late.clone(), last.clone()]);
    harness.file("access.log", last);
    harness.file("access.log.1", early + &late);
    let parts = answers(&harness.run(["scan", "-f", "json", "access.log", "access.log.1"]));
    assert_eq!(whole, parts);
    assert!(
        whole[0].contains("/admin/.env") && whole[0].contains("\"GET\""),
        "{whole:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn grades_do_not_depend_on_how_a_log_is_read(
        (lines, shuffled) in any_log(1..4, 5..60).prop_flat_map(|lines| (Just(lines.clone()), Just(lines).prop_shuffle())),
        cuts in prop::collection::vec(any::<Index>(), 0..4),
    ) {
        let harness = Harness::new();
        let expected = scan(&harness, "1", &lines);
        prop_assert_eq!(&scan(&harness, "8", &shuffled), &expected, "shuffled, 8 threads");
        prop_assert_eq!(&scan(&harness, "2", &spread_over_chunks(&lines)), &expected, "several chunks, 2 threads");
        let cuts = cuts.iter().map(|cut| cut.index(shuffled.len() + 1)).collect();
        prop_assert_eq!(&merged(&harness, &shuffled, cuts), &expected, "shuffled, in parts that were merged");
    }
}
