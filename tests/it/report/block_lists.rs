//! The block lists that `report` keeps: replaced after each commit, expired without new lines, and complete after any crash.

use std::fs;

use jiff::Timestamp;

use super::harness::{Out, report, report_ok};
use super::interrupt::{can_trace, output, traced, was_killed};
use crate::harness::{Harness, line};

/// The flags of two lists.
const LISTS: [&str; 8] = ["--block-out", "block.txt", "--block-format", "plain", "--block-out", "block.nft", "--block-format", "nft"];
const LONG: [&str; 2] = ["--ttl", "36500d"];

fn prober(client: &str) -> String {
    ["/.git/config", "/.env", "/phpinfo.php"].iter().map(|path| line(client, &format!("GET {path} HTTP/1.1"), 404)).collect()
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
    let entries: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
    let nft = fs::read_to_string(harness.path("block.nft")).unwrap();
    assert!(entries.iter().all(|entry| nft.contains(&format!("  {entry}"))), "{nft}");
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
    assert_eq!(run(&harness, &[]), ["9.9.9.9", "203.0.113.9", "2001:db8::/64"]);
    // Nothing new: the same files.
    let before = fs::metadata(harness.path("block.nft")).unwrap().modified().unwrap();
    assert_eq!(run(&harness, &[]).len(), 3);
    assert_eq!(fs::metadata(harness.path("block.nft")).unwrap().modified().unwrap(), before);
    // An ordinary request of a listed client, and of a neighbour in its /64.
    add(&harness, &(visitor("9.9.9.9") + &visitor("2001:db8::2")));
    assert_eq!(run(&harness, &[]), ["203.0.113.9"]);
    assert_eq!(run(&harness, &["--max-cost", "1"]).len(), 3);
    // Sheltered from now on.
    assert_eq!(run(&harness, &["--trusted-proxy", "203.0.113.9"]), [""; 0]);
}

#[test]
fn lists_of_days_count_each_line_once() {
    let harness = Harness::new();
    let days = prober("203.0.113.9") + &prober("203.0.113.9").replace("02/Nov", "03/Nov") + &prober("9.9.9.9").replace("02/Nov", "03/Nov");
    add(&harness, &days);
    assert_eq!(run(&harness, &["--daily"]), ["9.9.9.9", "203.0.113.9"]);
    add(&harness, &prober("9.9.9.9").replace("02/Nov", "03/Nov"));
    assert_eq!(run(&harness, &["--daily"]), ["9.9.9.9", "203.0.113.9"]);
    let nft = fs::read_to_string(harness.path("block.nft")).unwrap();
    assert!(nft.contains("9.9.9.9, # 6 probes of 3 paths") && nft.contains("203.0.113.9 # 6 probes of 3 paths"), "{nft}");
}

#[test]
fn a_run_without_new_lines_expires_entries() {
    let harness = Harness::new();
    let then = Timestamp::from_second(Timestamp::now().as_second() - 3_600).unwrap();
    let time = then.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string();
    add(&harness, &prober("203.0.113.9").replace("02/Nov/2026:08:01:00 +0000", &time));
    assert_eq!(run(&harness, &["--ttl", "2h"]), ["203.0.113.9"]);
    report_ok(&harness, &[&LISTS[..], &["--ttl", "30m", "access.log"]].concat());
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
        (&["--block-out", "x", "--block-format", "abuseipdb"], "is a report to others"),
        (&["--block-out", "x", "--block-format", "nft", "--block-out", "x", "--block-format", "plain"], "twice"),
        (&["--block-out", "x", "--block-format", "nft", "--anonymize"], "--anonymize hides them"),
        (&["--block-out", "access.log", "--block-format", "nft"], "where a log is read"),
    ] {
        let run = report(&harness, &[args, &["access.log"]].concat());
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{args:?}: {}", run.stderr);
    }
    let run = report(&harness, &["--block-out", "gone/x", "--block-format", "nft", "access.log"]);
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
        let options = ["-e", &format!("trace={calls}"), "-e", &format!("inject={calls}:signal=KILL:when={point}")];
        let traced = output(&mut traced(&harness, &options, &[&LISTS[..], &LONG, &["-j1", "access.log"]].concat()));
        let left = fs::read(harness.path("block.txt")).unwrap();
        let state = fs::read_to_string(harness.path("state/report.json")).unwrap();
        was_pending |= state.contains("\"is_published\":false");
        assert!(left == old || String::from_utf8_lossy(&left).contains("\n9.9.9.9\n203.0.113.9\n"), "{point}");
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
