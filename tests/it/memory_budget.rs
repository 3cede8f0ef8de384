//! Very many clients and paths: memory has a limit, what was asked for most is right, and the report says what is not.
//!
//! `PROBEWATCH_TEST_LINES` asks for more lines than the few that are quick; each has a client and a path of its own, but
//! for the heavy ones.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use serde_json::Value;

use crate::harness::{Harness, Run, line};
use crate::memory::watched;

/// What the README promises, in KiB: with two threads, and for each one more.
const BUDGET: u64 = 192 << 10;
const A_THREAD: u64 = 8 << 10;

/// Lines between two of the same heavy pair, and how many there are of those.
const EVERY: u64 = 400;
const HEAVY: u64 = 10;
/// Lines between two of a client that asks for ever new paths, and of a path that ever new clients ask for.
const SPREAD: u64 = 50;

fn lines() -> u64 {
    std::env::var("PROBEWATCH_TEST_LINES").ok().and_then(|lines| lines.parse().ok()).unwrap_or(400_000)
}

/// Client and path of a line.
fn asked(n: u64) -> (String, String) {
    let unique = |n: u64| format!("10.{}.{}.{}", n >> 16 & 255, n >> 8 & 255, n & 255);
    if n % EVERY < HEAVY {
        return (format!("192.0.2.{}", n % EVERY), format!("/heavy{}/.env", n % EVERY));
    }
    match n % SPREAD {
        20 => ("198.51.100.1".into(), format!("/{n}/.env")),
        30 => (unique(n), "/everyone/.env".into()),
        // Beyond what one network holds, clients come again, with other paths.
        _ => (unique(n), format!("/{n}/.env")),
    }
}

fn write_log(harness: &Harness, lines: u64) {
    let mut file = BufWriter::new(File::create(harness.path("access.log")).unwrap());
    let mut line = String::new();
    for n in 0..lines {
        let (client, path) = asked(n);
        line.clear();
        let _ = writeln!(line, "{client} - - [02/Nov/2026:08:01:00 +0000] \"GET {path} HTTP/1.1\" 404 5 \"-\" \"Mozilla/5.0\"");
        file.write_all(line.as_bytes()).unwrap();
    }
    file.flush().unwrap();
}

fn row<'r>(report: &'r Value, list: &str, key: &[(&str, &str)]) -> &'r Value {
    let is_it = |row: &&Value| key.iter().all(|(name, text)| row[name] == *text);
    report[list].as_array().unwrap().iter().find(is_it).unwrap_or_else(|| panic!("{list} has no {key:?}"))
}

fn scan(harness: &Harness, threads: &str) -> (Run, Value) {
    // Into a file: nobody empties a pipe while the memory is watched.
    let (run, most) = watched(&mut harness.command(["scan", "-f", "json", "-j", threads, "-o", "report.json", "access.log"]));
    let further = threads.parse::<u64>().unwrap().saturating_sub(2);
    assert!(most > 0 && most <= BUDGET + further * A_THREAD, "{most} KiB with {threads} threads");
    let report = serde_json::from_slice(&std::fs::read(harness.path("report.json")).unwrap()).unwrap();
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
        assert_eq!((of(&totals["hits"]), of(&report["rules"][0]["hits"])), (lines, lines));
        let pairs: u64 = report["pairs"].as_array().unwrap().iter().map(|row| of(&row["hits"])).sum();
        assert_eq!(pairs + of(&bound["rest_hits"]), lines);
        let within = |hits: u64, truth: u64, bound: &Value| assert!(hits <= truth && truth <= hits + of(bound), "{hits}, {truth}, {bound}");
        for n in 0..HEAVY {
            let truth = (lines - n).div_ceil(EVERY);
            let (client, path) = asked(n);
            within(of(&row(&report, "pairs", &[("client", &client), ("path", &path)])["hits"]), truth, &bound["pairs"]);
            within(of(&row(&report, "clients", &[("client", &client)])["hits"]), truth, &bound["clients"]);
            within(of(&row(&report, "paths", &[("path", &path)])["hits"]), truth, &bound["paths"]);
        }
        let spread = |rest: u64| (0..lines).filter(|n| n % SPREAD == rest && n % EVERY >= HEAVY).count() as u64;
        within(of(&row(&report, "clients", &[("client", "198.51.100.1")])["hits"]), spread(20), &bound["clients"]);
        within(of(&row(&report, "paths", &[("path", "/everyone/.env")])["hits"]), spread(30), &bound["paths"]);
        // The rows that come first are the heavy ones, in the same order whoever counted.
        let first: Vec<_> =
            report["pairs"].as_array().unwrap().iter().take(HEAVY as usize).map(|row| row["path"].as_str().unwrap()).collect();
        assert!(first.iter().all(|path| path.starts_with("/heavy")), "{first:?}");
        // N / M: 21,000 cells of pairs stay whatever comes.
        assert!(of(&bound["pairs"]) * 21_000 <= lines, "{bound}");
    }
}

/// Files that each hold the same probe: more than there is room for combinations of client, path and input.
const FILES: u64 = 86_000;

/// Writes them, in memory where there is such a folder: a disk takes a minute.
fn write_files() -> Harness {
    let memory = Path::new("/dev/shm");
    let harness = if memory.is_dir() { Harness::within(memory) } else { Harness::new() };
    let line = line("192.0.2.1", "GET /.env HTTP/1.1", 404);
    std::fs::create_dir(harness.path("logs")).unwrap();
    std::thread::scope(|scope| {
        for part in 0..2 {
            let (harness, line) = (&harness, &line);
            scope.spawn(move || (0..FILES).filter(|n| n % 2 == part).for_each(|n| drop(harness.file(format!("logs/{n}.log"), line))));
        }
    });
    harness
}

/// J2.
#[test]
fn one_line_in_very_many_files_is_one_row_with_all_hits() {
    let harness = write_files();
    let pairs = harness.run(["scan", "-f", "csv", "--by", "pair", "logs"]);
    // A report that is not exact says so here.
    assert_eq!((pairs.code, pairs.stderr.as_str()), (0, ""));
    let text = pairs.text();
    let [names, row] = text.lines().collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("one pair:\n{text}"));
    let of = |name: &str| names.split(',').zip(row.split(',')).find(|(known, _)| *known == name).map(|(_, value)| value.to_owned());
    assert_eq!(
        ["client", "path", "outcome", "hits"].map(of),
        ["192.0.2.1", "/.env", "not_found", "86000"].map(|value| Some(value.to_owned())),
        "{row}"
    );
}
