//! Floods: requests that are reported only if one client sends many, with the same result in
//! `scan`, `report`, `merge` and `follow`.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use super::follower::Follower;
use crate::harness::{Harness, line};

/// A login at a second of the day.
fn log_in(client: &str, at: u32, path: &str) -> String {
    let (hour, minute, second) = (8 + at / 3_600, at / 60 % 60, at % 60);
    line(client, &format!("POST {path} HTTP/1.1"), 200)
        .replace("08:01:00", &format!("{hour:02}:{minute:02}:{second:02}"))
}

/// One client tries 64 passwords in five minutes, one 20 within two minutes and one 19; many log in
/// once; one line has no client.
fn lines() -> Vec<String> {
    let mut lines: Vec<(u32, String)> = (0..64)
        .map(|n| {
            (
                n * 4 + 20,
                log_in("203.0.113.7", n * 4 + 20, "/wp-login.php"),
            )
        })
        .collect();
    lines.extend((0..20).map(|n| {
        (
            600 + n * 5,
            log_in("198.51.100.1", 600 + n * 5, "/users/sign_in"),
        )
    }));
    lines.extend((0..19).map(|n| (900 + n, log_in("198.51.100.2", 900 + n, "/login"))));
    lines.extend((0..200).map(|n| (n * 7, log_in(&format!("192.0.2.{n}"), n * 7, "/login"))));
    lines.extend((0..50).map(|n| (1_000 + n, log_in("-", 1_000 + n, "/login"))));
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

/// The client and rule of each flood.
fn floods(report: &Value) -> BTreeSet<(String, String)> {
    let text = |flood: &Value, name: &str| flood[name].as_str().unwrap().to_owned();
    report["floods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flood| (text(flood, "rule"), text(flood, "client")))
        .collect()
}

fn expected_floods() -> BTreeSet<(String, String)> {
    ["203.0.113.7", "198.51.100.1"]
        .map(|client| ("flood/login".to_owned(), client.to_owned()))
        .into()
}

#[test]
fn a_login_flood_is_on_the_first_page() {
    let harness = Harness::new();
    harness.file("access.log", lines().concat());
    let table = harness.run(["scan", "access.log"]);
    let text = table.text();
    assert!(
        text.contains("  flood/login: 203.0.113.7 sent 64 POST /wp-login.php within 5 minutes\n"),
        "{text}"
    );
    assert!(text.lines().count() <= 24, "{text}");
    let (_, report) = harness.json(["access.log"]);
    assert_eq!(floods(&report), expected_floods());
    let flood = &report["floods"][0];
    for (name, value) in [
        ("severity", "medium"),
        ("method", "POST"),
        ("path", "/wp-login.php"),
    ] {
        assert_eq!(flood[name], value);
    }
    assert_eq!(
        (&flood["requests"], &flood["minutes"], &flood["floods"]),
        (&64.into(), &5.into(), &1.into())
    );
    assert_eq!(
        (&flood["first_minute"], &flood["last_minute"]),
        (
            &"2026-11-02T08:00:00+00:00".into(),
            &"2026-11-02T08:04:00+00:00".into()
        )
    );
    let rows = harness
        .run(["scan", "-f", "csv", "--by", "rule", "access.log"])
        .text();
    assert!(
        rows.lines()
            .any(|row| row.starts_with("flood/login,default-login,medium,,84,2,")),
        "{rows}"
    );
    let rows = harness
        .run(["scan", "-f", "csv", "--by", "client", "access.log"])
        .text();
    assert!(
        rows.lines()
            .any(|row| row.starts_with("203.0.113.7,64,") && row.ends_with(",flood/login,,,,,")),
        "{rows}"
    );
    let hits = harness
        .run(["scan", "-f", "ndjson", "access.log"])
        .objects();
    assert_eq!(hits.len(), 84);
    // Requests that another rule reports are reported without a flood too.
    let by_number: Vec<&Value> = hits
        .iter()
        .filter(|hit| hit["context"] == "flood")
        .collect();
    assert_eq!(by_number.len(), 20);
    assert!(
        by_number
            .iter()
            .all(|hit| hit["client"] == "198.51.100.1" && hit["rules"][0] == "flood/login"),
        "{}",
        hits[0]
    );
    assert_eq!(
        harness
            .run(["scan", "--fail-on", "medium", "access.log"])
            .code,
        1
    );
}

#[test]
fn floods_do_not_depend_on_order_threads_or_splits() {
    let harness = Harness::new();
    let lines = lines();
    harness.file("access.log", lines.concat());
    let json = |threads: &str| {
        harness
            .run(["scan", "-f", "json", "--threads", threads, "access.log"])
            .text()
    };
    let whole = json("1");
    assert_eq!((json("2"), json("8")), (whole.clone(), whole));
    let mut backwards = lines.clone();
    backwards.reverse();
    harness.file("backwards.log", backwards.concat());
    assert_eq!(
        floods(&harness.json(["backwards.log"]).1),
        expected_floods()
    );
    // Each log alone has half of every flood.
    let half = |odd: usize| {
        lines
            .iter()
            .enumerate()
            .filter(move |(n, _)| n % 2 == odd)
            .map(|(_, line)| line.as_str())
            .collect::<String>()
    };
    for (name, odd) in [("a", 0), ("b", 1)] {
        harness.file(format!("{name}.log"), half(odd));
        let run = harness.run([
            "scan",
            "-f",
            "json",
            "-o",
            &format!("{name}.json"),
            &format!("{name}.log"),
        ]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let merged = harness.run(["merge", "-f", "json", "b.json", "a.json"]);
    assert_eq!(
        merged.text(),
        harness.run(["scan", "-f", "json", "a.log", "b.log"]).text()
    );
    assert_eq!(floods(&merged.json()), expected_floods());
}

#[test]
fn follow_raises_the_floods_that_a_scan_finds() {
    let harness = Harness::new();
    let mut lines = lines();
    // Servers write lines slightly out of order.
    for chunk in lines.chunks_mut(7) {
        chunk.reverse();
    }
    harness.file("access.log", lines.concat());
    let args = [
        "follow",
        "-f",
        "ndjson",
        "--from-start",
        "--alert-file",
        "alerts.ndjson",
        "access.log",
    ];
    let follower = Follower::start(&mut harness.command(args));
    let alerts = || -> Vec<Value> {
        let text = fs::read_to_string(harness.path("alerts.ndjson")).unwrap_or_default();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    };
    follower.until_process("two floods are reported", |_| alerts().len() >= 2);
    follower.end_with(Signal::INT);
    let raised: BTreeSet<(String, String)> = alerts()
        .iter()
        .map(|alert| {
            (
                alert["rule"].as_str().unwrap().to_owned(),
                alert["client"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    assert_eq!(raised, floods(&harness.json(["access.log"]).1));
    assert_eq!(raised, expected_floods());
}

#[test]
fn the_summary_of_a_report_lists_floods() {
    let harness = Harness::new();
    harness.file("access.log", lines().concat());
    let run = harness.run([
        "report",
        "--out",
        "out",
        "--state",
        "state",
        "--notify-level",
        "medium",
        "access.log",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let sentence = "flood/login: 203.0.113.7 sent 64 POST /wp-login.php within 5 minutes";
    assert!(
        run.text()
            .lines()
            .any(|line| line.starts_with(&sentence[..50])),
        "{}",
        run.text()
    );
    let folders = fs::read_dir(harness.path("out"))
        .unwrap()
        .filter_map(Result::ok)
        .map(|entry| entry.path());
    let folder = folders
        .filter(|path| path.join("summary.txt").exists())
        .min()
        .unwrap();
    let page = fs::read_to_string(folder.join("summary.txt")).unwrap();
    assert!(page.contains(sentence), "{page}");
    let report: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("report.json")).unwrap()).unwrap();
    assert_eq!(floods(&report), expected_floods());
}
