//! More logs than a process may open files: all of them are followed, through rotations and
//! restarts.
//!
//! The limits are those of `ulimit -n`, soft and hard.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;

use super::follower::{DEADLINE, FOLLOW, Follower};
use super::oracle::{exactly_once, on_disk};
use super::writer::line;
use crate::harness::{Harness, is_installed, skip};

/// Logs in one folder, and the number of the next line.
struct Logs {
    harness: Harness,
    count: usize,
    next: u64,
}

impl Logs {
    fn new(count: usize) -> Self {
        let harness = Harness::new();
        fs::create_dir(harness.path("log")).unwrap();
        Self {
            harness,
            count,
            next: 0,
        }
    }

    fn path(&self, number: usize, ending: &str) -> std::path::PathBuf {
        self.harness
            .path("log")
            .join(format!("site{number:04}.access.log{ending}"))
    }

    fn append(&mut self, number: usize, lines: u64) {
        let mut log = fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(self.path(number, ""))
            .unwrap();
        for _ in 0..lines {
            log.write_all(line(self.next).as_bytes()).unwrap();
            self.next += 1;
        }
    }

    /// Writes to all logs.
    fn write(&mut self, lines: u64) {
        for number in 0..self.count {
            self.append(number, lines);
        }
    }

    /// Rotates all logs, each with a line before and one after its rotation.
    fn rotate(&mut self) {
        for number in 0..self.count {
            for old in (1..5).rev() {
                if self.path(number, &format!(".{old}")).exists() {
                    fs::rename(
                        self.path(number, &format!(".{old}")),
                        self.path(number, &format!(".{}", old + 1)),
                    )
                    .unwrap();
                }
            }
            self.append(number, 1);
            fs::rename(self.path(number, ""), self.path(number, ".1")).unwrap();
            self.append(number, 1);
        }
    }

    /// A follower that may have this number of files open.
    fn follow(&self, limit: usize, args: &[&str]) -> Follower {
        let limit = format!("--nofile={limit}:{limit}");
        Follower::start(&mut self.harness.under(
            &["prlimit", &limit],
            FOLLOW.iter().chain(args).chain(&["log"]),
        ))
    }

    fn assert_complete(&self, outputs: &[super::FollowerOutput]) {
        for output in outputs {
            assert!(!output.notices.contains("open files"), "{}", output.notices);
        }
        let hits: Vec<&[super::oracle::Hit]> = outputs
            .iter()
            .map(|output| output.hits.as_slice())
            .collect();
        exactly_once(&on_disk(&self.harness.path("log")), &hits).unwrap();
    }
}

fn can_limit(test: &str) -> bool {
    let can = is_installed("prlimit");
    if !can {
        skip(test, "there is no prlimit");
    }
    can
}

#[test]
fn sixty_logs_are_followed_through_rotations_with_forty_descriptors() {
    if !can_limit("many logs with few descriptors") {
        return;
    }
    for args in [
        &[][..],
        &["--state", "state"],
        &["--poll", "--poll-interval", "100ms"],
    ] {
        let mut logs = Logs::new(60);
        logs.write(3);
        let mut follower = logs.follow(40, args);
        follower.until_seen(0..logs.next);
        for _ in 0..3 {
            logs.rotate();
            follower.until_seen(0..logs.next);
        }
        assert!(follower.descriptors().len() < 40);
        logs.assert_complete(&[follower.end()]);
    }
}

#[test]
fn a_killed_follower_continues_with_few_descriptors() {
    if !can_limit("a killed follower of many logs") {
        return;
    }
    let mut logs = Logs::new(60);
    logs.write(3);
    let mut follower = logs.follow(40, &["--state", "state"]);
    follower.until_seen(0..logs.next);
    let first = follower.end();
    logs.rotate();
    logs.rotate();
    let mut follower = logs.follow(40, &["--state", "state"]);
    follower.until_seen(first.hits.len() as u64..logs.next);
    logs.assert_complete(&[first, follower.end()]);
}

#[test]
fn a_thousand_logs_are_followed_through_two_rotations_with_the_usual_limit() {
    if !can_limit("a thousand logs") {
        return;
    }
    let mut logs = Logs::new(1000);
    logs.write(4);
    let mut follower = logs.follow(1024, &["--state", "state"]);
    follower.until_seen(0..logs.next);
    let start = std::time::Instant::now();
    for _ in 0..2 {
        logs.rotate();
        logs.write(2);
        follower.until_seen(0..logs.next);
    }
    assert!(start.elapsed() < DEADLINE);
    logs.assert_complete(&[follower.end()]);
}

/// The limit is raised for `follow` alone.
#[test]
fn the_program_of_exec_gets_the_inherited_limit() {
    if !can_limit("the limit of --exec") {
        return;
    }
    let logs = Logs::new(1);
    logs.harness.file("log/site0000.access.log", "");
    let script = logs.harness.file(
        "hook",
        format!(
            "#!/bin/sh\nsleep 0.3\nulimit -Sn > '{}'\n",
            logs.harness.path("limit").display()
        ),
    );
    fs::set_permissions(logs.harness.path("hook"), fs::Permissions::from_mode(0o700)).unwrap();
    let args = FOLLOW.iter().copied().chain(["--exec", "./hook", "log"]);
    let follower = Follower::start(&mut logs.harness.under(&["prlimit", "--nofile=100:900"], args));
    follower.until_process("the program runs", |_| {
        fs::read_to_string(logs.harness.path("limit")).is_ok_and(|limit| limit.ends_with('\n'))
    });
    assert_eq!(
        fs::read_to_string(logs.harness.path("limit")).unwrap(),
        "100\n",
        "{script:?}"
    );
    let limits =
        fs::read_to_string(format!("/proc/{}/limits", follower.pid().as_raw_nonzero())).unwrap();
    let own = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))
        .unwrap();
    assert_eq!(own.split_whitespace().nth(3), Some("900"), "{own}");
    follower.end_with(Signal::TERM);
}
