//! `samples/README.md` agrees with a scan of the samples, number by number.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{Harness, Run, finish};

/// The folder of the samples.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Files in the folder that are not logs. In folders inside it there are no logs.
const NO_LOGS: [&str; 7] = [
    "README.md",
    "guide.md",
    "probewatch-report.service",
    "probewatch-report.timer",
    "probewatch.cron",
    "probewatch.rotate",
    "probewatch.service",
];

/// The folder of files that enforce block lists.
const BLOCK: &str = "block";

fn readme() -> String {
    fs::read_to_string(Path::new(ROOT).join("samples/README.md")).unwrap()
}

/// The rows of the table whose header starts with `first`: each cell without its backquotes.
fn table(first: &str) -> Vec<Vec<String>> {
    let text = readme();
    let is_head = |line: &&str| {
        line.strip_prefix("| ")
            .is_some_and(|rest| rest.starts_with(first))
    };
    let lines = text
        .lines()
        .skip_while(|line| !is_head(line))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells = |line: &str| {
        line.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().trim_matches('`').to_owned())
            .collect()
    };
    let rows: Vec<_> = lines.map(cells).collect();
    assert!(!rows.is_empty(), "no table with the head {first}");
    rows
}

fn scan(args: &[&str]) -> Run {
    finish(
        Harness::new()
            .command(["scan"].iter().chain(args))
            .current_dir(ROOT),
    )
}

fn report(log: &str) -> Value {
    let run = scan(&["-f", "json", &format!("samples/{log}")]);
    // One has a line of an error log.
    if log == "mixed.log" {
        assert!(
            run.code == 3
                && run
                    .stderr
                    .contains("1 of 13 lines that match a rule are in no known format"),
            "{}",
            run.stderr
        );
    } else {
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{log}");
    }
    run.json()
}

#[test]
fn the_table_of_samples_is_correct() {
    for row in table("log ") {
        let totals = &report(&row[0])["totals"];
        let stated: Vec<u64> = row[1..7].iter().map(|cell| cell.parse().unwrap()).collect();
        let found = [
            "lines", "unparsed", "hits", "clients", "answered", "soft_404",
        ]
        .map(|name| totals[name].as_u64().unwrap());
        assert_eq!(
            stated, found,
            "{}: lines, unparsed, hits, clients, answered, soft 404",
            row[0]
        );
    }
}

#[test]
fn every_sample_is_in_the_table() {
    let entries = fs::read_dir(Path::new(ROOT).join("samples"))
        .unwrap()
        .map(Result::unwrap);
    let files = entries.filter(|entry| entry.path().is_file());
    let mut there: Vec<_> = files
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    there.retain(|name| !NO_LOGS.contains(&name.as_str()));
    there.sort();
    let listed: Vec<_> = table("log ")
        .into_iter()
        .map(|row| row[0].clone())
        .collect();
    assert_eq!(there, listed);
}

/// Each file that enforces a block list is in the table, by its name or that of its folder.
#[test]
fn every_file_for_block_lists_is_in_the_table() {
    let mut there: Vec<_> = fs::read_dir(Path::new(ROOT).join("samples").join(BLOCK))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    there.sort();
    let names = |row: Vec<String>| {
        row[0]
            .split(", ")
            .map(|name| name.trim_matches(['`', '/']).to_owned())
            .collect::<Vec<_>>()
    };
    let mut listed: Vec<_> = table("file ").into_iter().flat_map(names).collect();
    listed.sort();
    assert_eq!(there, listed);
}

#[test]
fn the_table_of_outcomes_is_correct() {
    let report = report("outcomes.log");
    let outcomes = report["totals"]["outcomes"].as_object().unwrap();
    let rows = table("outcome ");
    assert_eq!(rows.len(), outcomes.len());
    for row in rows {
        assert_eq!(row[1], outcomes[&row[0]].to_string(), "{}", row[0]);
    }
}

#[test]
fn the_readme_of_the_samples_shows_the_report() {
    let run = scan(&["samples/"]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (0, ""),
        "scripts and documents beside the logs are not named"
    );
    let text = run.text();
    let headline = text.lines().next().unwrap();
    assert!(
        readme().lines().any(|line| line == headline),
        "samples/README.md does not show: {headline}"
    );
}

/// The README shows part of this report: every line of its first block is in the report.
#[test]
fn the_readme_shows_this_report() {
    let page = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let shown = page
        .split("```text\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let run = finish(
        Harness::new()
            .command(["scan", "samples/"])
            .current_dir(ROOT)
            .env("COLUMNS", "100"),
    );
    let text = run.text();
    let mut lines = text.lines();
    for line in shown
        .lines()
        .filter(|line| !line.is_empty() && *line != "...")
    {
        assert!(
            lines.any(|printed| printed == line),
            "the report does not print, or not here: {line}"
        );
    }
}
