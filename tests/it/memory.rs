//! Measures the anonymous memory of a run: pages of mapped files do not count.

use std::fs;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use crate::harness::{Harness, Run, line, spawn, wait};

/// The limit for any input above a tiny one: 64 MiB, in KiB.
const ALLOWED: u64 = 64 << 10;

/// Runs a command to its end. Returns its result and its highest anonymous memory in KiB.
pub(crate) fn run_measured(command: &mut Command) -> (Run, u64) {
    let mut child = spawn(command);
    let mut most = 0;
    // The pipes are not read meanwhile: the output of these tests is short.
    while child.try_wait().unwrap().is_none() {
        most = most.max(anonymous(&child));
        thread::sleep(Duration::from_millis(1));
    }
    (wait(child), most)
}

/// The current anonymous memory; `None` after the end.
fn anonymous(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok())
        .unwrap_or(0)
}

/// Runs a command that may take little more memory than the scan of a single line.
pub(crate) fn bounded(command: &mut Command) -> Run {
    let harness = Harness::new();
    harness.file("one.log", line("192.0.2.1", "GET / HTTP/1.1", 200));
    let (_, baseline) = run_measured(&mut harness.command(["scan", "one.log"]));
    let (run, most) = run_measured(command);
    assert!(most > 0, "its memory was never seen");
    assert!(
        most <= baseline + ALLOWED,
        "{most} KiB, and {baseline} KiB for one line"
    );
    run
}
