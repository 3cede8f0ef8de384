//! How much memory of its own a run takes: the pages of a mapped file are the system's and do not count.

use std::fs;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use crate::harness::{Harness, Run, line, spawn, wait};

/// What any input may cost above a tiny one: 64 MiB, in the kibibytes that the system counts in.
const ALLOWED: u64 = 64 << 10;

/// Runs a command to its end; the run, and the most anonymous memory that was seen, in KiB.
pub(crate) fn watched(command: &mut Command) -> (Run, u64) {
    let mut child = spawn(command);
    let mut most = 0;
    // Nobody empties the pipes meanwhile: the reports of these tests are short.
    while child.try_wait().unwrap().is_none() {
        most = most.max(anonymous(&child));
        thread::sleep(Duration::from_millis(1));
    }
    (wait(child), most)
}

/// Anonymous memory now; nothing of one that has ended.
fn anonymous(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

/// Runs a command that may take little more memory than the scan of a single line does.
pub(crate) fn bounded(command: &mut Command) -> Run {
    let harness = Harness::new();
    harness.file("one.log", line("192.0.2.1", "GET / HTTP/1.1", 200));
    let (_, baseline) = watched(&mut harness.command(["scan", "one.log"]));
    let (run, most) = watched(command);
    assert!(most > 0, "its memory was never seen");
    assert!(most <= baseline + ALLOWED, "{most} KiB, and {baseline} KiB for one line");
    run
}
