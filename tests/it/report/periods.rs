//! `--daily` and `--hourly`: a folder for each period of the log's time, and late lines in the
//! right folder.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::harness::{Out, QUICK, Sums, report, report_ok, snapshot};
use crate::harness::{Harness, finish, line};

/// A probe at this time, `02/Nov/2026:08:01:00 +0000`.
fn at(number: u64, time: &str) -> String {
    line(
        "192.0.2.7",
        &format!("GET /{number:07}/.git/config HTTP/1.1"),
        404,
    )
    .replace("02/Nov/2026:08:01:00 +0000", time)
}

/// Lines as a server adds them, with the period that each belongs to.
struct Log<'a> {
    harness: &'a Harness,
    text: String,
    periods: BTreeMap<String, String>,
    next: u64,
}

impl<'a> Log<'a> {
    fn new(harness: &'a Harness) -> Self {
        Self {
            harness,
            text: String::new(),
            periods: BTreeMap::new(),
            next: 0,
        }
    }

    fn add(&mut self, time: &str, period: &str) {
        let line = at(self.next, time);
        self.next += 1;
        self.periods
            .entry(period.to_owned())
            .or_default()
            .push_str(&line);
        self.text.push_str(&line);
    }

    /// Runs on these lines, and checks that every folder has the lines of its period.
    fn run(&self, args: &[&str]) -> Out {
        self.harness.file("access.log", &self.text);
        report_ok(self.harness, &[&QUICK, args, &["access.log"]].concat());
        let out = Out::read(self.harness);
        assert_eq!(
            out.names(),
            self.periods.keys().map(String::as_str).collect::<Vec<_>>()
        );
        for folder in &out.folders {
            self.harness.file("period.log", &self.periods[&folder.name]);
            let expected = Sums::scanned(self.harness, &[&["period.log"][..], &QUICK].concat());
            folder.sums().assert_same(&expected, &folder.name);
            assert_eq!(folder.report["period"], Value::from(folder.name.as_str()));
        }
        out
    }
}

#[test]
fn one_folder_per_day() {
    let harness = Harness::new();
    let mut log = Log::new(&harness);
    for (time, day) in [
        ("30/Oct/2026:23:59:59 +0000", "2026-10-30"),
        ("31/Oct/2026:00:00:00 +0000", "2026-10-31"),
        ("31/Oct/2026:12:00:00 +0000", "2026-10-31"),
        ("02/Nov/2026:08:01:00 +0000", "2026-11-02"),
    ] {
        log.add(time, day);
    }
    let out = log.run(&["--daily"]);
    assert_eq!(out.latest.as_deref(), Some("2026-11-02"));
    // More lines of an existing day, and a new one.
    log.add("02/Nov/2026:20:01:00 +0000", "2026-11-02");
    log.add("03/Nov/2026:00:00:01 +0000", "2026-11-03");
    let out = log.run(&["--daily"]);
    assert_eq!(out.latest.as_deref(), Some("2026-11-03"));
}

#[test]
fn one_folder_per_hour() {
    let harness = Harness::new();
    let mut log = Log::new(&harness);
    for hour in [22, 23] {
        for minute in [0, 30, 59] {
            log.add(
                &format!("31/Oct/2026:{hour}:{minute:02}:00 +0000"),
                &format!("2026-10-31T{hour}"),
            );
        }
        log.run(&["--hourly"]);
    }
    log.add("01/Nov/2026:00:00:00 +0000", "2026-11-01T00");
    log.run(&["--hourly"]);
}

/// Late lines go to their day, whose folder is replaced and has a note about it.
#[test]
fn late_lines_go_to_their_day() {
    let harness = Harness::new();
    let mut log = Log::new(&harness);
    for day in 1..=3 {
        log.add(
            &format!("{day:02}/Nov/2026:08:00:00 +0000"),
            &format!("2026-11-{day:02}"),
        );
    }
    let before = log.run(&["--daily"]);
    log.add("01/Nov/2026:23:00:00 +0000", "2026-11-01");
    log.add("01/Nov/2026:23:00:00 +0000", "2026-11-01");
    log.add("04/Nov/2026:08:00:00 +0000", "2026-11-04");
    let untouched = snapshot(&harness.path("out/2026-11-02"));
    let out = log.run(&["--daily"]);
    assert!(
        out.folders[0].summary.contains("came late"),
        "{}",
        out.folders[0].summary
    );
    assert!(
        !before.folders[0].summary.contains("came late"),
        "{}",
        before.folders[0].summary
    );
    assert!(
        !out.folders[3].summary.contains("came late"),
        "{}",
        out.folders[3].summary
    );
    assert!(
        snapshot(&harness.path("out/2026-11-02")) == untouched,
        "a day without new lines is left alone"
    );
    // Late lines alone are new.
    log.add("02/Nov/2026:23:00:00 +0000", "2026-11-02");
    let out = log.run(&["--daily"]);
    assert_eq!(
        out.latest.as_deref(),
        Some("2026-11-04"),
        "the newest day, whatever was written last"
    );
}

/// Nothing new: nothing changes.
#[test]
fn a_run_with_nothing_new() {
    let harness = Harness::new();
    let mut log = Log::new(&harness);
    log.add("02/Nov/2026:08:01:00 +0000", "2026-11-02");
    log.run(&["--daily"]);
    let before = snapshot(&harness.path("out"));
    let run = report(&harness, &[&QUICK[..], &["--daily", "access.log"]].concat());
    assert_eq!(
        (run.code, run.text().as_str(), run.stderr.as_str()),
        (0, "", "")
    );
    assert!(snapshot(&harness.path("out")) == before);
}

#[test]
fn periods_in_the_offset_of_each_line() {
    let harness = Harness::new();
    let mut log = Log::new(&harness);
    log.add("01/Nov/2026:23:30:00 -0500", "2026-11-01");
    log.add("02/Nov/2026:00:30:00 +0900", "2026-11-02");
    log.add("01/Nov/2026:23:30:00 +1300", "2026-11-01");
    log.run(&["--daily"]);
}

#[test]
fn periods_in_a_given_time_zone() {
    let harness = Harness::new();
    if !std::path::Path::new("/usr/share/zoneinfo/Europe/Berlin").exists() {
        return crate::harness::skip("--timezone", "there are no time zones here");
    }
    let mut log = Log::new(&harness);
    log.add("01/Jul/2026:22:30:00 +0000", "2026-07-02");
    log.add("01/Jul/2026:21:30:00 +0000", "2026-07-01");
    log.add("01/Jul/2026:19:30:00 -0400", "2026-07-02");
    log.add("01/Dec/2026:22:30:00 +0000", "2026-12-01");
    log.add("01/Dec/2026:23:30:00 +0000", "2026-12-02");
    log.run(&["--daily", "--timezone", "Europe/Berlin"]);
}

/// The hour that occurs twice in autumn has one folder; the one that is skipped in spring has none.
#[test]
fn hours_repeated_or_skipped_by_daylight_saving() {
    let harness = Harness::new();
    if !std::path::Path::new("/usr/share/zoneinfo/Europe/Berlin").exists() {
        return crate::harness::skip("--timezone, in autumn", "there are no time zones here");
    }
    let mut log = Log::new(&harness);
    log.add("29/Mar/2026:00:30:00 +0000", "2026-03-29T01");
    log.add("29/Mar/2026:01:30:00 +0000", "2026-03-29T03");
    log.add("24/Oct/2026:23:30:00 +0000", "2026-10-25T01");
    log.add("25/Oct/2026:00:30:00 +0000", "2026-10-25T02");
    log.add("25/Oct/2026:01:30:00 +0000", "2026-10-25T02");
    log.add("25/Oct/2026:02:30:00 +0000", "2026-10-25T03");
    log.run(&["--hourly", "--timezone", "Europe/Berlin"]);
}

/// Hours in an offset with half an hour, over several runs, and with late lines.
#[test]
fn late_lines_with_another_offset() {
    let harness = Harness::new();
    if !std::path::Path::new("/usr/share/zoneinfo/Asia/Kolkata").exists() {
        return crate::harness::skip("--timezone, late lines", "there are no time zones here");
    }
    let args = ["--hourly", "--timezone", "Asia/Kolkata"];
    let mut log = Log::new(&harness);
    log.add("01/Nov/2026:17:29:59 +0000", "2026-11-01T22");
    log.add("01/Nov/2026:17:30:00 +0000", "2026-11-01T23");
    log.add("01/Nov/2026:18:30:00 +0000", "2026-11-02T00");
    log.run(&args);
    // The same hour in three offsets, and already reported.
    log.add("01/Nov/2026:23:29:59 +0530", "2026-11-01T23");
    log.add("01/Nov/2026:12:45:00 -0500", "2026-11-01T23");
    log.add("01/Nov/2026:18:29:59 +0000", "2026-11-01T23");
    let untouched = snapshot(&harness.path("out/2026-11-01T22"));
    let out = log.run(&args);
    assert!(
        out.folders[1].summary.contains("3 lines of it came late"),
        "{}",
        out.folders[1].summary
    );
    assert!(snapshot(&harness.path("out/2026-11-01T22")) == untouched);
    assert_eq!(out.latest.as_deref(), Some("2026-11-02T00"));
    // Without a time zone each line counts in its own offset: in other folders, and no line is
    // reported twice.
    let text = log.text.clone() + &at(99, "01/Nov/2026:18:45:00 +0000");
    harness.file("access.log", &text);
    report_ok(
        &harness,
        &[&QUICK[..], &["--hourly", "access.log"]].concat(),
    );
    let out = Out::read(&harness);
    assert_eq!(
        out.names(),
        [
            "2026-11-01T18",
            "2026-11-01T22",
            "2026-11-01T23",
            "2026-11-02T00"
        ]
    );
    out.sums().assert_same(
        &Sums::scanned(&harness, &[&["access.log"][..], &QUICK].concat()),
        "two clocks",
    );
}

/// A day of a distant time zone contains lines of two days of the log.
#[test]
fn days_in_a_distant_time_zone() {
    let harness = Harness::new();
    if !std::path::Path::new("/usr/share/zoneinfo/Pacific/Auckland").exists() {
        return crate::harness::skip("--timezone, far away", "there are no time zones here");
    }
    let mut log = Log::new(&harness);
    let args = ["--daily", "--timezone", "Pacific/Auckland"];
    log.add("01/Nov/2026:10:59:59 +0000", "2026-11-01");
    log.add("01/Nov/2026:11:00:00 +0000", "2026-11-02");
    log.run(&args);
    log.add("02/Nov/2026:10:59:59 +0000", "2026-11-02");
    log.add("02/Nov/2026:11:00:00 +0000", "2026-11-03");
    log.run(&args);
}

#[test]
fn an_invalid_time_zone_is_refused() {
    let harness = Harness::new();
    harness.file("access.log", at(1, "02/Nov/2026:08:01:00 +0000"));
    for zone in ["Mars/Olympus", "../../etc/passwd", ""] {
        let run = report(&harness, &["--daily", "--timezone", zone, "access.log"]);
        assert_eq!(
            (run.code, run.stdout.len()),
            (2, 0),
            "{zone}: {}",
            run.stderr
        );
        assert!(!harness.path("out").join("latest").exists());
    }
}

/// A line without a time belongs to the period of the line before it, also across runs and if there
/// is none yet.
#[test]
fn lines_without_a_time() {
    let harness = Harness::new();
    let odd = "GET /odd/.git/config is no line of any log\n";
    harness.file(
        "access.log",
        odd.to_owned()
            + &at(1, "01/Nov/2026:08:00:00 +0000")
            + odd
            + &at(2, "02/Nov/2026:08:00:00 +0000")
            + odd,
    );
    let args = [&QUICK[..], &["--daily", "access.log"]].concat();
    // The lines without a time are in no known format either.
    assert_eq!(report(&harness, &args).code, 3);
    let lines = |out: &Out| {
        out.folders
            .iter()
            .map(|folder| (folder.name.clone(), folder.sums().get("lines")))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        lines(&Out::read(&harness)),
        [("2026-11-01".to_owned(), 3), ("2026-11-02".to_owned(), 2)]
    );
    let text = fs::read_to_string(harness.path("access.log")).unwrap();
    harness.file("access.log", text + odd);
    assert_eq!(report(&harness, &args).code, 3);
    let out = Out::read(&harness);
    out.sums().assert_same(
        &Sums::scanned(&harness, &[&["access.log"][..], &QUICK].concat()),
        "odd lines",
    );
}

/// Runs with and without periods alternate with one state.
#[test]
fn lines_at_the_borders_of_periods() {
    let harness = Harness::new();
    let (mut text, mut runs) = (String::new(), Vec::new());
    for (n, args) in [&["--daily"][..], &[], &["--hourly"], &["--daily"], &[]]
        .into_iter()
        .enumerate()
    {
        text += &at(n as u64, "02/Nov/2026:08:01:00 +0000");
        harness.file("access.log", &text);
        report_ok(&harness, &[&QUICK, args, &["access.log"]].concat());
        runs.push(Out::read(&harness).folders.len());
    }
    assert_eq!(runs, [1, 2, 3, 3, 4]);
    Out::read(&harness).sums().assert_same(
        &Sums::scanned(&harness, &[&["access.log"][..], &QUICK].concat()),
        "periods and none",
    );
}

/// The merged reports of the days equal the report of all lines, and merging a report with itself
/// changes nothing.
#[test]
fn days_can_be_merged() {
    let harness = Harness::new();
    let mut log = Log::new(&harness);
    for day in 1..=5 {
        for hour in [3, 12] {
            log.add(
                &format!("{day:02}/Nov/2026:{hour:02}:00:00 +0000"),
                &format!("2026-11-{day:02}"),
            );
        }
    }
    let out = log.run(&["--daily"]);
    let reports: Vec<_> = out
        .names()
        .iter()
        .map(|name| format!("out/{name}/report.json"))
        .collect();
    let args = ["merge", "-f", "json", "--min-severity", "info"]
        .into_iter()
        .chain(reports.iter().map(String::as_str));
    let run = finish(&mut harness.command(args));
    assert_eq!(run.code, 0, "{}", run.stderr);
    Sums::of([&run.json()]).assert_same(&out.sums(), "merged");
    let run = harness.run(["diff", "-f", "csv", &reports[0], &reports[0]]);
    assert_eq!(
        (run.code, run.text().lines().count()),
        (0, 1),
        "{}",
        run.stderr
    );
}

/// What a killed run of version 0.1.0 may have left of a day: the others are reported, and it
/// starts again.
#[test]
fn a_day_without_its_report() {
    let harness = Harness::new();
    let mut log = Log::new(&harness);
    log.add("01/Nov/2026:08:00:00 +0000", "2026-11-01");
    log.add("02/Nov/2026:08:00:00 +0000", "2026-11-02");
    log.run(&["--daily"]);
    fs::remove_file(harness.path("out/2026-11-01/report.json")).unwrap();
    let new = at(8, "01/Nov/2026:09:00:00 +0000") + &at(9, "02/Nov/2026:09:00:00 +0000");
    harness.file("access.log", log.text.clone() + &new);
    let args = [&QUICK[..], &["--daily", "access.log"]].concat();
    let run = report(&harness, &args);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("out/2026-11-01: its report.json is lost, so it cannot be continued;"),
        "{}",
        run.stderr
    );
    let hint = "probewatch scan --since 2026-11-01 --until 2026-11-02 LOGS reports on what the logs still have of it";
    assert!(run.stderr.contains(hint), "{}", run.stderr);
    fs::rename(
        harness.path("out/2026-11-01.incomplete"),
        harness.path("away"),
    )
    .unwrap();
    let out = Out::read(&harness);
    assert_eq!(
        out.folders
            .iter()
            .map(|folder| folder.sums().get("lines"))
            .collect::<Vec<_>>(),
        [1, 2]
    );
    assert!(
        out.folders[0].summary.contains("its report.json was lost."),
        "{}",
        out.folders[0].summary
    );
    let (scan, _) = harness.json([
        "--since",
        "2026-11-01",
        "--until",
        "2026-11-02",
        "access.log",
    ]);
    assert_eq!(scan.code, 0, "{}", scan.stderr);
    let run = report(&harness, &args);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "printed once");
}
