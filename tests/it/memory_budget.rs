//! Very many clients and paths: memory is limited, frequent entries are exact, and the report
//! states what is not.
//!
//! `PROBEWATCH_TEST_LINES` sets more lines than the default; each has its own client and path,
//! except for the frequent ones.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use serde_json::Value;

use crate::harness::{Harness, Run, line};
use crate::memory::run_measured;

/// The limit in the README, in KiB: with two threads, and for each additional one.
const BUDGET: u64 = 192 << 10;
const A_THREAD: u64 = 8 << 10;

/// Lines between two of the same frequent pair, and the number of such pairs.
const EVERY: u64 = 400;
const HEAVY: u64 = 10;
/// Lines between two of a client that always requests new paths, and of a path that new clients
/// always request.
const SPREAD: u64 = 50;

fn lines() -> u64 {
    std::env::var("PROBEWATCH_TEST_LINES")
        .ok()
        .and_then(|lines| lines.parse().ok())
        .unwrap_or(400_000)
}

/// Client and path of a line.
fn client_and_path(n: u64) -> (String, String) {
    let unique = |n: u64| format!("10.{}.{}.{}", n >> 16 & 255, n >> 8 & 255, n & 255);
    if n % EVERY < HEAVY {
        return (
            format!("192.0.2.{}", n % EVERY),
            format!("/heavy{}/.env", n % EVERY),
        );
    }
    match n % SPREAD {
        20 => ("198.51.100.1".into(), format!("/{n}/.env")),
        30 => (unique(n), "/everyone/.env".into()),
        // If a network is used up, clients repeat with other paths.
        _ => (unique(n), format!("/{n}/.env")),
    }
}

fn write_log(harness: &Harness, lines: u64) {
    let mut file = BufWriter::new(File::create(harness.path("access.log")).unwrap());
    let mut line = String::new();
    for n in 0..lines {
        let (client, path) = client_and_path(n);
        line.clear();
        let _ = writeln!(
            line,
            "{client} - - [02/Nov/2026:08:01:00 +0000] \"GET {path} HTTP/1.1\" 404 5 \"-\" \"Mozilla/5.0\""
        );
        file.write_all(line.as_bytes()).unwrap();
    }
    file.flush().unwrap();
}

fn row<'r>(report: &'r Value, list: &str, key: &[(&str, &str)]) -> &'r Value {
    let is_it = |row: &&Value| key.iter().all(|(name, text)| row[name] == *text);
    report[list]
        .as_array()
        .unwrap()
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("{list} has no {key:?}"))
}

fn scan(harness: &Harness, threads: &str) -> (Run, Value) {
    // To a file: pipes are not read while memory is measured.
    let (run, most) = run_measured(&mut harness.command([
        "scan",
        "-f",
        "json",
        "-j",
        threads,
        "-o",
        "report.json",
        "access.log",
    ]));
    let further = threads.parse::<u64>().unwrap().saturating_sub(2);
    assert!(
        most > 0 && most <= BUDGET + further * A_THREAD,
        "{most} KiB with {threads} threads"
    );
    let report =
        serde_json::from_slice(&std::fs::read(harness.path("report.json")).unwrap()).unwrap();
    (run, report)
}

/// J1.
#[test]
fn frequent_entries_are_exact_among_very_many() {
    let (harness, lines) = (Harness::new(), lines());
    write_log(&harness, lines);
    for threads in ["1", "2", "7"] {
        let (run, report) = scan(&harness, threads);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stderr.contains("note: Approximate: "), "{}", run.stderr);
        let of = |value: &Value| value.as_u64().unwrap();
        let (totals, bound) = (&report["totals"], &report["approximate"]);
        assert_eq!(
            (of(&totals["hits"]), of(&report["rules"][0]["hits"])),
            (lines, lines)
        );
        let pairs: u64 = report["pairs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| of(&row["hits"]))
            .sum();
        assert_eq!(pairs + of(&bound["rest_hits"]), lines);
        let within = |hits: u64, truth: u64, bound: &Value| {
            assert!(
                hits <= truth && truth <= hits + of(bound),
                "{hits}, {truth}, {bound}"
            );
        };
        for n in 0..HEAVY {
            let truth = (lines - n).div_ceil(EVERY);
            let (client, path) = client_and_path(n);
            within(
                of(&row(&report, "pairs", &[("client", &client), ("path", &path)])["hits"]),
                truth,
                &bound["pairs"],
            );
            within(
                of(&row(&report, "clients", &[("client", &client)])["hits"]),
                truth,
                &bound["clients"],
            );
            within(
                of(&row(&report, "paths", &[("path", &path)])["hits"]),
                truth,
                &bound["paths"],
            );
        }
        let spread = |rest: u64| {
            (0..lines)
                .filter(|n| n % SPREAD == rest && n % EVERY >= HEAVY)
                .count() as u64
        };
        within(
            of(&row(&report, "clients", &[("client", "198.51.100.1")])["hits"]),
            spread(20),
            &bound["clients"],
        );
        within(
            of(&row(&report, "paths", &[("path", "/everyone/.env")])["hits"]),
            spread(30),
            &bound["paths"],
        );
        // The first rows are the frequent ones, in the same order for any number of threads.
        let first: Vec<_> = report["pairs"]
            .as_array()
            .unwrap()
            .iter()
            .take(HEAVY as usize)
            .map(|row| row["path"].as_str().unwrap())
            .collect();
        assert!(
            first.iter().all(|path| path.starts_with("/heavy")),
            "{first:?}"
        );
        // N / M: 21,000 pairs are kept in any case.
        assert!(of(&bound["pairs"]) * 21_000 <= lines, "{bound}");
    }
}

/// Requests of the longest paths that web servers accept: 55 MB of them, which is more text than is
/// kept.
const LONG_PATHS: usize = 7_000;

/// A client chooses the length of its paths. Few of them are far from 85,000 combinations.
#[test]
fn long_paths_take_no_more_memory_than_many() {
    let harness = Harness::new();
    // A letter that few rules search for.
    let long = "y".repeat(7_800);
    let lines = (0..LONG_PATHS).map(|n| {
        line(
            &format!("10.0.{}.{}", n >> 8 & 255, n & 255),
            &format!("GET /{n}{long}/.env HTTP/1.1"),
            404,
        )
    });
    harness.file("access.log", lines.collect::<String>());
    let (run, report) = scan(&harness, "2");
    assert_eq!(
        (run.code, report["totals"]["hits"].as_u64()),
        (0, Some(LONG_PATHS as u64)),
        "{}",
        run.stderr
    );
    // Twice: the second run reads the report of the first one again, though its text compresses to
    // a thousandth.
    for run in ["first", "second"] {
        let (report, most) = run_measured(&mut harness.command([
            "report",
            "--daily",
            "-q",
            "-j2",
            "--state",
            "state",
            "--out",
            "out",
            "access.log",
        ]));
        assert_eq!(report.code, 0, "{run}: {}", report.stderr);
        assert!(most > 0 && most <= BUDGET, "{most} KiB in the {run} run");
        let more = line("192.0.2.1", "GET /.git/config HTTP/1.1", 404);
        File::options()
            .append(true)
            .open(harness.path("access.log"))
            .unwrap()
            .write_all(more.as_bytes())
            .unwrap();
    }
    let merged = harness.run(["merge", "-q", "-f", "csv", "--by", "rule", "report.json"]);
    assert_eq!((merged.code, merged.stderr.as_str()), (0, ""));
}

/// Hosts that answered, each once.
const HOSTS: usize = 60_000;

/// A client chooses the names of hosts too.
#[test]
fn very_many_hosts_take_no_more_memory_than_clients() {
    let harness = Harness::new();
    let line = |n: usize| {
        let client = format!("10.{}.{}.{}", n >> 16, n >> 8 & 255, n & 255);
        format!(
            "h{n}.example:80 {}",
            line(&client, "GET /.env HTTP/1.1", 200)
        )
    };
    harness.file("access.log", (0..HOSTS).map(line).collect::<String>());
    let args = [
        "report",
        "-q",
        "-j2",
        "--state",
        "state",
        "--out",
        "out",
        "access.log",
    ];
    let (report, most) = run_measured(&mut harness.command(args));
    assert_eq!(report.code, 0, "{}", report.stderr);
    assert!(most > 0 && most <= BUDGET, "{most} KiB");
}

/// Files with the same probe: more combinations of client, path and input than are kept.
const FILES: u64 = 86_000;

/// Writes them in memory if possible: a disk takes a minute.
fn write_files() -> Harness {
    let memory = Path::new("/dev/shm");
    let harness = if memory.is_dir() {
        Harness::within(memory)
    } else {
        Harness::new()
    };
    let line = line("192.0.2.1", "GET /.env HTTP/1.1", 404);
    std::fs::create_dir(harness.path("logs")).unwrap();
    std::thread::scope(|scope| {
        for part in 0..2 {
            let (harness, line) = (&harness, &line);
            scope.spawn(move || {
                (0..FILES)
                    .filter(|n| n % 2 == part)
                    .for_each(|n| drop(harness.file(format!("logs/{n}.log"), line)));
            });
        }
    });
    harness
}

/// J2.
#[test]
fn one_line_in_very_many_files_is_one_row_with_all_hits() {
    let harness = write_files();
    let pairs = harness.run(["scan", "-f", "csv", "--by", "pair", "logs"]);
    // A report that is not exact states it here.
    assert_eq!((pairs.code, pairs.stderr.as_str()), (0, ""));
    let text = pairs.text();
    let [names, row] = text
        .lines()
        .collect::<Vec<_>>()
        .try_into()
        .unwrap_or_else(|_| panic!("one pair:\n{text}"));
    let of = |name: &str| {
        names
            .split(',')
            .zip(row.split(','))
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.to_owned())
    };
    assert_eq!(
        ["client", "path", "outcome", "hits"].map(of),
        ["192.0.2.1", "/.env", "not_found", "86000"].map(|value| Some(value.to_owned())),
        "{row}"
    );
}
