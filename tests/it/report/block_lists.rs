//! The block lists that `report` keeps: replaced after each commit, expired without new lines, and
//! complete after any crash.

use std::fs;

use jiff::Timestamp;

use super::harness::{Out, report, report_ok};
use super::interrupt::{can_trace, output, traced, was_killed};
use crate::harness::{Harness, line};

/// The flags of two lists.
const LISTS: [&str; 8] = [
    "--block-out",
    "block.txt",
    "--block-format",
    "plain",
    "--block-out",
    "block.nft",
    "--block-format",
    "nft",
];
const LONG: [&str; 2] = ["--ttl", "36500d"];

fn prober(client: &str) -> String {
    ["/.git/config", "/.env", "/phpinfo.php"]
        .iter()
        .map(|path| line(client, &format!("GET {path} HTTP/1.1"), 404))
        .collect()
}

fn visitor(client: &str) -> String {
    line(client, "GET /page HTTP/1.1", 200)
}

fn add(harness: &Harness, text: &str) {
    let path = harness.path("access.log");
    let before = fs::read_to_string(&path).unwrap_or_default();
    fs::write(path, before + text).unwrap();
}

/// The entries of the plain list; the other has the same.
fn entries(harness: &Harness) -> Vec<String> {
    let text = fs::read_to_string(harness.path("block.txt")).unwrap();
    let entries: Vec<_> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    let nft = fs::read_to_string(harness.path("block.nft")).unwrap();
    assert!(
        entries
            .iter()
            .all(|entry| nft.contains(&format!("  {entry}"))),
        "{nft}"
    );
    entries
}

fn run(harness: &Harness, args: &[&str]) -> Vec<String> {
    report_ok(harness, &[args, &LISTS, &LONG, &["access.log"]].concat());
    Out::read(harness);
    entries(harness)
}

#[test]
fn lists_collect_what_all_runs_see() {
    let harness = Harness::new();
    add(&harness, &(prober("203.0.113.9") + &visitor("192.0.2.1")));
    assert_eq!(run(&harness, &[]), ["203.0.113.9"]);
    add(&harness, &(prober("9.9.9.9") + &prober("2001:db8::1")));
    assert_eq!(
        run(&harness, &[]),
        ["9.9.9.9", "203.0.113.9", "2001:db8::/64"]
    );
    // Nothing new: the same files.
    let before = fs::metadata(harness.path("block.nft"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(run(&harness, &[]).len(), 3);
    assert_eq!(
        fs::metadata(harness.path("block.nft"))
            .unwrap()
            .modified()
            .unwrap(),
        before
    );
    // An ordinary request of a listed client, and of a neighbour in its /64.
    add(&harness, &(visitor("9.9.9.9") + &visitor("2001:db8::2")));
    assert_eq!(run(&harness, &[]), ["203.0.113.9"]);
    assert_eq!(run(&harness, &["--max-cost", "1"]).len(), 3);
    // Sheltered from now on.
    assert_eq!(run(&harness, &["--trusted-proxy", "203.0.113.9"]), [""; 0]);
}

/// This many ordinary requests, each of another client.
fn visitors(hour: usize, requests: usize) -> String {
    (0..requests)
        .map(|n| visitor(&format!("192.0.{hour}.{n}")))
        .collect::<String>()
        .replace(":08:01:00", &format!(":{hour:02}:01:00"))
}

/// As many probes of a client, in this hour of that day.
fn scan(client: &str, (day, hour): (usize, usize), probes: usize) -> String {
    let paths = ["/.git/config", "/.env", "/phpinfo.php", "/id_rsa"]
        .iter()
        .cycle()
        .take(probes);
    let log: String = paths
        .map(|path| line(client, &format!("GET {path} HTTP/1.1"), 404))
        .collect();
    log.replace(
        "02/Nov/2026:08:01",
        &format!("{day:02}/Nov/2026:{hour:02}:02"),
    )
}

#[test]
fn a_possible_proxy_is_judged_by_what_all_runs_saw() {
    let harness = Harness::new();
    // A scan beside ten visitors: in this hour alone, its client may be a proxy.
    add(
        &harness,
        &(visitors(1, 10) + &scan("203.0.113.9", (2, 1), 200)),
    );
    let first = report_ok(&harness, &[&LISTS[..], &LONG, &["access.log"]].concat());
    assert_eq!(entries(&harness), [""; 0]);
    assert!(
        first
            .stderr
            .contains("203.0.113.9/32 makes nearly all requests and may be a proxy"),
        "{}",
        first.stderr
    );
    assert!(
        first
            .stderr
            .contains("the list is empty: 1 candidate: 1 may be a proxy (--trusted-proxy)"),
        "{}",
        first.stderr
    );
    // The next hour shows that it is none.
    add(&harness, &visitors(2, 10));
    assert_eq!(run(&harness, &[]), ["203.0.113.9"]);

    // A proxy in an hour with few requests of it, and a scan through it alone.
    let harness = Harness::new();
    add(
        &harness,
        &(scan("203.0.113.9", (2, 1), 90) + &visitors(1, 1)),
    );
    run(&harness, &["--max-cost", "50"]);
    add(&harness, &scan("203.0.113.9", (2, 2), 90));
    assert_eq!(run(&harness, &["--max-cost", "50"]), [""; 0]);
}

#[test]
fn a_scan_all_day_is_no_proxy_if_others_visit() {
    let harness = Harness::new();
    for (day, hour) in [(2, 1), (2, 12), (3, 2), (3, 3)] {
        add(
            &harness,
            &(visitors(hour, 10).replace("02/Nov", &format!("{day:02}/Nov"))
                + &scan("203.0.113.9", (day, hour), 200)),
        );
        let expected: &[&str] = if day == 2 { &[] } else { &["203.0.113.9"] };
        assert_eq!(run(&harness, &[]), expected, "{day} {hour}");
    }
}

#[test]
fn ordinary_requests_before_the_first_probe_count() {
    let harness = Harness::new();
    let office: String = (0..300).map(|_| visitor("198.51.100.7")).collect();
    add(
        &harness,
        &(office + &visitor("198.51.100.8") + &visitors(1, 30)),
    );
    assert_eq!(run(&harness, &[]), [""; 0]);
    // One of the many there probes in an hour without visits.
    add(&harness, &scan("198.51.100.7", (2, 9), 4));
    assert_eq!(run(&harness, &[]), [""; 0]);
    // Two days later the address may be another's.
    add(&harness, &visitors(1, 1).replace("02/Nov", "04/Nov"));
    assert_eq!(run(&harness, &[]), [""; 0]);
    add(
        &harness,
        &(visitors(1, 1).replace("02/Nov", "06/Nov") + &scan("198.51.100.8", (6, 1), 4)),
    );
    assert_eq!(run(&harness, &[]), ["198.51.100.8"]);
}

#[test]
fn lists_of_days_count_each_line_once() {
    let harness = Harness::new();
    let days = prober("203.0.113.9")
        + &prober("203.0.113.9").replace("02/Nov", "03/Nov")
        + &prober("9.9.9.9").replace("02/Nov", "03/Nov");
    add(&harness, &days);
    assert_eq!(run(&harness, &["--daily"]), ["9.9.9.9", "203.0.113.9"]);
    add(&harness, &prober("9.9.9.9").replace("02/Nov", "03/Nov"));
    assert_eq!(run(&harness, &["--daily"]), ["9.9.9.9", "203.0.113.9"]);
    let nft = fs::read_to_string(harness.path("block.nft")).unwrap();
    assert!(
        nft.contains("9.9.9.9, # 6 probes of 3 paths")
            && nft.contains("203.0.113.9 # 6 probes of 3 paths"),
        "{nft}"
    );
}

#[test]
fn a_run_without_new_lines_expires_entries() {
    let harness = Harness::new();
    let then = Timestamp::from_second(Timestamp::now().as_second() - 3_600).unwrap();
    let time = then.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string();
    add(
        &harness,
        &prober("203.0.113.9").replace("02/Nov/2026:08:01:00 +0000", &time),
    );
    assert_eq!(run(&harness, &["--ttl", "2h"]), ["203.0.113.9"]);
    report_ok(
        &harness,
        &[&LISTS[..], &["--ttl", "30m", "access.log"]].concat(),
    );
    assert_eq!(entries(&harness), [""; 0]);
    // It is deleted, and not only left out.
    assert_eq!(run(&harness, &[]), [""; 0]);
}

#[test]
fn a_missing_list_is_written_again_and_wrong_ones_are_refused() {
    let harness = Harness::new();
    add(&harness, &prober("203.0.113.9"));
    assert_eq!(run(&harness, &[]), ["203.0.113.9"]);
    fs::remove_file(harness.path("block.txt")).unwrap();
    assert_eq!(run(&harness, &[]), ["203.0.113.9"]);
    for (args, part) in [
        (&["--block-out", "x"][..], "each list needs both"),
        (&["--block-format", "nft"], "each list needs both"),
        (
            &["--block-out", "x", "--block-format", "abuseipdb"],
            "is a report to others",
        ),
        (
            &[
                "--block-out",
                "x",
                "--block-format",
                "nft",
                "--block-out",
                "x",
                "--block-format",
                "plain",
            ],
            "twice",
        ),
        (
            &["--block-out", "x", "--block-format", "nft", "--anonymize"],
            "--anonymize hides them",
        ),
        (
            &["--block-out", "access.log", "--block-format", "nft"],
            "where a log is read",
        ),
    ] {
        let run = report(&harness, &[args, &["access.log"]].concat());
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{args:?}: {}", run.stderr);
    }
    let run = report(
        &harness,
        &[
            "--block-out",
            "gone/x",
            "--block-format",
            "nft",
            "access.log",
        ],
    );
    assert_eq!(run.code, 4, "{}", run.stderr);
}

/// Killed at every rename, a list is the old or the new one, and the next run completes it.
#[test]
fn killed_between_the_commit_and_the_lists() {
    if !can_trace("block lists of a killed report") {
        return;
    }
    let mut killed = 0;
    let mut was_pending = false;
    for point in 1..100 {
        let harness = Harness::new();
        add(&harness, &prober("203.0.113.9"));
        assert_eq!(run(&harness, &[]), ["203.0.113.9"]);
        let old = fs::read(harness.path("block.txt")).unwrap();
        add(&harness, &prober("9.9.9.9"));
        let calls = "?rename,?renameat,?renameat2";
        let options = [
            "-e",
            &format!("trace={calls}"),
            "-e",
            &format!("inject={calls}:signal=KILL:when={point}"),
        ];
        let traced = output(&mut traced(
            &harness,
            &options,
            &[&LISTS[..], &LONG, &["-j1", "access.log"]].concat(),
        ));
        let left = fs::read(harness.path("block.txt")).unwrap();
        let state = fs::read_to_string(harness.path("state/report.json")).unwrap();
        was_pending |= state.contains("\"is_published\":false");
        assert!(
            left == old || String::from_utf8_lossy(&left).contains("\n9.9.9.9\n203.0.113.9\n"),
            "{point}"
        );
        assert_eq!(run(&harness, &[]), ["9.9.9.9", "203.0.113.9"], "{point}");
        let state = fs::read_to_string(harness.path("state/report.json")).unwrap();
        assert!(state.contains("\"is_published\":true"), "{point}");
        if !was_killed(&traced) {
            break;
        }
        killed += 1;
    }
    assert!(killed >= 4 && was_pending, "killed {killed} times");
}
