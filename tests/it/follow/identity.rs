//! The identity of logs (E10-E13, E27): by content, never by name, inode or times.

use std::fs::{self, FileTimes, OpenOptions};
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

use super::follower::{MODES, follow};
use super::oracle::{exactly_once, on_disk};
use super::writer::Writer;
use super::{assert_complete, stage};
use crate::harness;

/// E10. A new file may get the inode of a deleted one. That cannot happen while a follower holds it
/// open, so the follower is stopped then.
#[test]
fn a_new_log_with_the_inode_of_the_old_one() {
    let (harness, mut writer) = stage();
    let path = harness.path("log/access.log");
    let args = ["--state", "state", "log/access.log"];
    let mut reused = false;
    let mut runs = Vec::new();
    let mut written = 0;
    for _ in 0..4 {
        let mut follower = follow(&harness, &args);
        follower.until_seen(written..writer.next());
        runs.push(follower.end());
        exactly_once(
            &on_disk(&harness.path("log")),
            &runs
                .iter()
                .map(|run| run.hits.as_slice())
                .collect::<Vec<_>>(),
        )
        .unwrap();
        written = writer.next();
        let inode = fs::metadata(&path).unwrap().ino();
        fs::remove_file(&path).unwrap();
        drop(writer);
        writer = Writer::from(&path, written);
        writer.write(12);
        reused |= fs::metadata(&path).unwrap().ino() == inode;
    }
    if !reused {
        harness::skip("E10", "this file system gives no inode again at once");
    }
}

/// E10. The same while the follower runs.
#[test]
fn removed_and_made_again() {
    for mode in MODES {
        let (harness, mut writer) = stage();
        let mut follower = follow(&harness, &[mode, &["log/access.log"]].concat());
        follower.until_seen(0..10);
        for _ in 0..5 {
            fs::remove_file(harness.path("log/access.log")).unwrap();
            writer.reopen();
            writer.write(3);
            follower.until_seen([writer.next() - 1]);
        }
        assert_complete(&harness, follower, &mut writer);
    }
}

/// E11. All logs, and their replacements, have the same first bytes, more than are hashed.
#[test]
fn logs_with_the_same_start() {
    let (harness, _) = stage();
    let head: String = (0..30)
        .map(|_| harness::line("192.0.2.9", "GET /health HTTP/1.1", 200))
        .collect();
    let args = ["--state", "state", "log"];
    let mut runs = Vec::new();
    for round in 0..3 {
        let mut logs: Vec<_> = (1..4)
            .map(|n| {
                let path = harness.file(format!("log/site{n}.log"), &head);
                Writer::from(path, n * 1000 + round * 100)
            })
            .collect();
        let mut follower = follow(&harness, &args);
        for log in &mut logs {
            log.write(3);
            follower.until_seen([log.next() - 1]);
        }
        runs.push(follower.end().hits);
        for n in (1..4).filter(|_| round < 2) {
            let name = |old: u64| {
                harness.path(if old == 0 {
                    format!("log/site{n}.log")
                } else {
                    format!("log/site{n}.log.{old}")
                })
            };
            for old in (0..=round).rev() {
                fs::rename(name(old), name(old + 1)).unwrap();
            }
        }
    }
    exactly_once(
        &on_disk(&harness.path("log")),
        &runs.iter().map(Vec::as_slice).collect::<Vec<_>>(),
    )
    .unwrap();
}

/// E12.
#[test]
fn a_log_of_one_short_line_is_read_at_once() {
    let (harness, _) = stage();
    let mut follower = follow(&harness, &["log"]);
    follower.until_seen(0..10);
    let mut short = Writer::from(harness.path("log/short.log"), 500);
    short.write(1);
    follower.until_seen([500]);
    assert_complete(&harness, follower, &mut short);
}

/// E13. It waits with one notice, and reads the log when it appears, and when it appears again.
#[test]
fn a_log_that_does_not_exist_yet() {
    for mode in MODES {
        let (harness, _) = stage();
        let path = harness.path("log/late.log");
        let mut follower = follow(
            &harness,
            &[mode, &["log/access.log", "log/late.log"]].concat(),
        );
        follower.until_seen(0..10);
        let mut late = Writer::from(&path, 100);
        late.write(5);
        follower.until_seen(100..105);
        fs::remove_file(&path).unwrap();
        let mut other = Writer::from(harness.path("log/access.log"), 200);
        other.write(1);
        follower.until_seen([200]);
        late.reopen();
        late.write(5);
        follower.until_seen(105..110);
        let result = assert_complete(&harness, follower, &mut late);
        // Once before it appeared, and once after it was removed, if that was noticed.
        let count = result
            .notices
            .lines()
            .filter(|line| line.contains("late.log") && line.contains("waiting"))
            .count();
        assert!(
            (1..=2).contains(&count),
            "reported {count} times: {}",
            result.notices
        );
    }
}

/// E27. File times do not matter.
#[test]
fn times_of_files_do_not_matter() {
    let (harness, mut writer) = stage();
    let path = harness.path("log/access.log");
    let args = ["--state", "state", "log/access.log"];
    let times = [
        SystemTime::UNIX_EPOCH,
        SystemTime::now() + Duration::from_secs(20 * 365 * 24 * 3600),
    ];
    let mut runs = Vec::new();
    for time in times {
        let mut follower = follow(&harness, &args);
        for time in times {
            OpenOptions::new()
                .append(true)
                .open(&path)
                .unwrap()
                .set_times(FileTimes::new().set_modified(time).set_accessed(time))
                .unwrap();
            writer.write(3);
            follower.until_seen([writer.next() - 1]);
        }
        runs.push(follower.end());
        OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .set_times(FileTimes::new().set_modified(time))
            .unwrap();
    }
    exactly_once(
        &on_disk(&harness.path("log")),
        &[&runs[0].hits, &runs[1].hits],
    )
    .unwrap();
}
