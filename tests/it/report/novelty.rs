//! `new.csv` against a slow reference: everything that a scan of a run's lines finds and no scan of
//! earlier lines has found.

use std::collections::BTreeSet;

use serde_json::Value;

use super::harness::{Out, Row, number, report_ok};
use crate::harness::{Harness, Rng, line, sized};

/// The kinds that are determined by the rows of a report, in the order of the table.
pub(super) const KINDS: [&str; 4] = ["answer", "rule", "path", "client"];

/// The reference: every key of every kind seen so far.
#[derive(Default)]
pub(super) struct Reference {
    seen: BTreeSet<(String, String)>,
}

impl Reference {
    /// What is new in a report over these lines.
    pub(super) fn take(&mut self, report: &Value) -> BTreeSet<(String, String)> {
        let rows = |list: &str| report[list].as_array().unwrap().clone();
        let keys = |list: &str, key: &str| {
            rows(list)
                .iter()
                .map(|row| text(row, key))
                .collect::<Vec<_>>()
        };
        let answers: Vec<_> = rows("answered")
            .iter()
            .map(|row| match row["sample"]["host"].as_str() {
                Some(host) => format!("{host}{}", text(row, "path")),
                None => text(row, "path"),
            })
            .collect();
        let found = [
            ("answer", answers),
            ("rule", keys("rules", "rule")),
            ("path", keys("paths", "path")),
            ("client", keys("clients", "client")),
        ];
        let found = found
            .into_iter()
            .flat_map(|(kind, keys)| keys.into_iter().map(move |key| (kind.to_owned(), key)));
        found.filter(|key| self.seen.insert(key.clone())).collect()
    }
}

fn text(row: &Value, key: &str) -> String {
    row[key].as_str().unwrap().to_owned()
}

/// The kinds and keys of a table, without campaigns.
pub(super) fn new_keys(rows: &[Row]) -> BTreeSet<(String, String)> {
    let new_keys: Vec<_> = rows
        .iter()
        .filter(|row| row["kind"] != "campaign")
        .map(|row| (row["kind"].clone(), row["key"].clone()))
        .collect();
    let set: BTreeSet<_> = new_keys.iter().cloned().collect();
    assert_eq!(
        set.len(),
        new_keys.len(),
        "a thing is new once: {new_keys:?}"
    );
    set
}

const PROBES: [&str; 12] = [
    "/.git/config",
    "/.env",
    "/wp-login.php",
    "/phpinfo.php",
    "/backup.zip",
    "/actuator/env",
    "/server-status",
    "/.aws/credentials",
    "/xmlrpc.php",
    "/.svn/entries",
    "/db.sql",
    "/id_rsa",
];

/// Lines of one hour: some probes, of which few are answered, and pages.
fn lines(rng: &mut Rng, count: u64) -> String {
    (0..count)
        .map(|_| {
            let client = format!("192.0.2.{}", rng.below(60));
            let probe = PROBES[rng.below(12) as usize];
            let path = match rng.below(10) {
                0..3 => probe.to_owned(),
                3 => format!("/site{}{probe}", rng.below(20)),
                _ => format!("/page/{}.png", rng.below(100)),
            };
            let status = if rng.below(25) == 0 { 200 } else { 404 };
            // Of different sizes: no two answers count as one soft 404.
            sized(
                &line(&client, &format!("GET {path} HTTP/1.1"), status),
                rng.size(),
            )
        })
        .collect()
}

#[test]
fn new_lists_what_no_earlier_run_has_seen() {
    let harness = Harness::new();
    let (mut rng, mut reference, mut all) = (Rng::new(), Reference::default(), String::new());
    for run in 0..25 {
        let more = lines(&mut rng, if run == 7 { 1 } else { 40 });
        all += &more;
        harness.file("access.log", &all);
        harness.file("new.log", &more);
        report_ok(&harness, &["access.log"]);
        let out = Out::read(&harness);
        assert_eq!(out.folders.len(), run + 1);
        let expected = reference.take(&harness.json(["new.log"]).1);
        let rows = out.last().rows("new.csv");
        assert_eq!(new_keys(rows), expected, "run {run}");
        assert_sorted(rows);
    }
    assert!(
        KINDS
            .iter()
            .all(|kind| reference.seen.iter().any(|(seen, _)| seen == kind)),
        "some kind never came"
    );
}

/// Answers first, and in each kind the most severe first.
fn assert_sorted(rows: &[Row]) {
    let kinds = ["answer", "rule", "path", "client", "campaign"];
    let levels = ["critical", "high", "medium", "low", "info"];
    let at = |list: &[&str], word: &str| {
        list.iter()
            .position(|known| *known == word)
            .unwrap_or_else(|| panic!("what is {word}?"))
    };
    let order: Vec<_> = rows
        .iter()
        .map(|row| (at(&kinds, &row["kind"]), at(&levels, &row["severity"])))
        .collect();
    assert!(order.is_sorted(), "{order:?}");
    for row in rows {
        assert!(
            number(row, "hits") > 0 && !row["first_time"].is_empty(),
            "{row:?}"
        );
        assert!(
            !row["sample_target"].is_empty()
                && row["source"] == "access.log"
                && number(row, "line") > 0,
            "{row:?}"
        );
    }
}

/// New entries have the right line.
#[test]
fn new_rows_have_their_line() {
    let harness = Harness::new();
    let mut rng = Rng::new();
    let text = lines(&mut rng, 300);
    for end in [100, 300] {
        let lines: Vec<_> = text.lines().take(end).collect();
        harness.file("access.log", lines.join("\n") + "\n");
        report_ok(&harness, &["access.log"]);
        for row in Out::read(&harness).last().rows("new.csv") {
            let line = lines[number(row, "line") as usize - 1];
            assert!(line.contains(&row["sample_target"]), "{row:?}: {line}");
            if row["kind"] == "client" {
                assert!(
                    line.starts_with(&format!("{} ", row["key"])),
                    "{row:?}: {line}"
                );
            }
        }
    }
}

/// The folder of a day lists everything that was first seen on that day, over any number of runs.
#[test]
fn a_day_lists_what_was_first_seen_on_it() {
    let harness = Harness::new();
    let (mut rng, mut reference, mut all) = (Rng::new(), Reference::default(), String::new());
    for day in 1..=4 {
        let mut of_day = String::new();
        let mut expected = BTreeSet::new();
        for hour in [1, 9, 17] {
            let more = lines(&mut rng, 30)
                .replace("02/Nov/2026:08", &format!("{day:02}/Nov/2026:{hour:02}"));
            of_day += &more;
            all += &more;
            harness.file("access.log", &all);
            harness.file("new.log", &more);
            report_ok(&harness, &["--daily", "access.log"]);
            expected.extend(reference.take(&harness.json(["new.log"]).1));
            let out = Out::read(&harness);
            assert_eq!(
                new_keys(out.last().rows("new.csv")),
                expected,
                "day {day}, hour {hour}"
            );
        }
    }
}

#[test]
fn new_answers_are_distinguished_by_host() {
    let harness = Harness::new();
    let at = |host: &str| {
        format!(
            "{host}:443 {}",
            line("192.0.2.1", "GET /.git/config HTTP/1.1", 200)
        )
    };
    let answers = |log: String| {
        harness.file("access.log", log);
        report_ok(&harness, &["access.log"]);
        let rows = Out::read(&harness);
        let rows = rows.last().rows("new.csv");
        rows.iter()
            .filter(|row| row["kind"] == "answer")
            .map(|row| row["key"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(answers(at("one.example")), ["one.example/.git/config"]);
    assert_eq!(
        answers(at("one.example") + &at("two.example")),
        ["two.example/.git/config"]
    );
    assert!(answers(at("one.example") + &at("two.example") + &at("two.example")).is_empty());
}

/// The same list of probes from several networks is a campaign, new once, whichever clients
/// continue it.
#[test]
fn a_campaign_is_new_once() {
    let harness = Harness::new();
    let list = &PROBES[..7];
    let from = |client: &str| {
        list.iter()
            .map(|path| line(client, &format!("GET {path} HTTP/1.1"), 404))
            .collect::<String>()
    };
    let campaigns = |log: &str| {
        harness.file("access.log", log);
        report_ok(&harness, &["access.log"]);
        let out = Out::read(&harness);
        let rows = out.last().rows("new.csv").iter();
        rows.filter(|row| row["kind"] == "campaign")
            .map(|row| row["key"].clone())
            .collect::<Vec<_>>()
    };
    let mut log = from("192.0.2.1") + &from("198.51.100.2");
    assert_eq!(campaigns(&log), [""; 0], "two networks");
    log += &["8.8.8.8", "9.9.9.9", "1.1.1.1"].map(from).concat();
    let first = campaigns(&log);
    assert_eq!(first.len(), 1);
    log += &["4.4.4.4", "5.5.5.5", "6.6.6.6"].map(from).concat();
    assert_eq!(campaigns(&log), [""; 0], "the same list once more");
    assert!(
        !Out::read(&harness).last().report["campaigns"]
            .as_array()
            .unwrap()
            .is_empty(),
        "it is in the report, but not new"
    );
}

/// A run without anything new has a table with a header and no rows.
#[test]
fn nothing_new_among_new_lines() {
    let harness = Harness::new();
    let text = line("192.0.2.1", "GET /.git/config HTTP/1.1", 404);
    harness.file("access.log", &text);
    report_ok(&harness, &["access.log"]);
    harness.file("access.log", text.repeat(2));
    report_ok(&harness, &["access.log"]);
    let out = Out::read(&harness);
    assert_eq!(
        (
            out.folders.len(),
            out.last().rows("new.csv").len(),
            out.last().rows("pairs.csv").len()
        ),
        (2, 0, 1)
    );
}
