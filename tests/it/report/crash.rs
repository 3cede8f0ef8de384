//! Killed at any time (F1): the reports of all runs add up to exactly the lines written.
//!
//! The times are random here; `every_call` tests every system call of the commit.

use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::harness::{Out, QUICK, command, full, report_ok};
use super::site::Site;
use crate::harness::{Harness, Rng, line};

/// Rounds of the full test, and of the short one; `CRASH_ROUNDS` sets another number.
const ROUNDS: [u64; 2] = [400, 120];
/// Runs are killed within this time in microseconds, or within the duration of a run if that is
/// longer.
const WITHIN: u64 = 30_000;

/// Writes lines of this many days, rotates and compresses between runs that are killed, and sums
/// up.
fn killed(rounds: u64, args: &[&str], days: u64, also_while_it_runs: bool) {
    let harness = Harness::new();
    let mut site = Site::new(&harness).over_days(days);
    site.write(20);
    let start = Instant::now();
    site.run(args);
    let within = WITHIN.max(start.elapsed().as_micros() as u64 * 5 / 4);
    let (mut rng, mut kills) = (Rng::new(), 0);
    for round in 0..rounds {
        site.write(rng.below(20));
        if round % 3 == 0 {
            site.begin_line(10 + rng.below(60) as usize);
        }
        let rotates = round % 5 == 4;
        if rotates && !also_while_it_runs {
            rotate(&mut site);
        }
        let mut child = command(&harness, &Site::args(args))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        if rotates && also_while_it_runs {
            rotate(&mut site);
        }
        thread::sleep(Duration::from_micros(rng.below(within)));
        // It may have ended before.
        let _ = kill_process(Pid::from_child(&child), Signal::KILL);
        let status = child.wait().unwrap();
        kills += u64::from(status.signal() == Some(Signal::KILL.as_raw()));
        assert!(
            status.code().is_none_or(|code| code == 0),
            "round {round}: {status}"
        );
        // What a reader sees is complete at any time.
        if round % 10 == 0 {
            Out::visible(&harness.path("out"), 0o600);
        }
    }
    assert!(
        kills * 8 > rounds,
        "{kills} of {rounds} runs were killed: this tests nothing"
    );
    site.finish_line();
    site.run(args);
    let out = site.assert_complete(&format!("{kills} of {rounds} runs were killed"));
    assert!(!out.folders.is_empty());
}

/// The old log is compressed one rotation later, so that a server may still write to it.
fn rotate(site: &mut Site<'_>) {
    site.finish_line();
    site.rotate();
    site.write(2);
    site.reopen();
    site.pack(2);
    site.write(1);
}

fn rounds() -> u64 {
    let otherwise = ROUNDS[usize::from(!full())];
    std::env::var("CRASH_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(otherwise)
}

/// F1.
#[test]
fn kills_at_any_moment() {
    killed(rounds(), &[], 1, false);
}

/// F1. Several days, because the order in which a file system lists them matters.
#[test]
fn kills_at_any_moment_of_runs_that_replace_days() {
    killed(rounds() / 2, &["--daily"], 4, false);
}

/// F1.
#[test]
fn kills_at_any_moment_of_runs_that_replace_hours() {
    killed(rounds() / 4, &["--hourly"], 3, false);
}

/// F1.
#[test]
fn kills_while_the_log_is_rotated() {
    killed(rounds() / 4, &[], 1, true);
}

/// If memory was the reason, a run that reads as much at once would be killed again.
#[test]
fn a_killed_run_is_followed_by_one_that_reads_less_at_once() {
    // With so many lines, the run still reads when it is killed, on a slow machine too.
    let (harness, count) = (Harness::new(), 150_000);
    let args = [&QUICK[..], &["access.log"]].concat();
    let text: String = (0..count)
        .map(|n| line("192.0.2.1", &format!("GET /{n}/.git/config HTTP/1.1"), 404))
        .collect();
    harness.file("access.log", &text);
    let mut child = command(&harness, &args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !harness.path("state/report.json.unfinished").exists() {
        assert_eq!(
            child.try_wait().unwrap(),
            None,
            "it ended before it read a log"
        );
    }
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
    report_ok(&harness, &args);
    let lines = |out: &Out| {
        out.folders
            .iter()
            .map(|folder| folder.report["totals"]["lines"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    let batches = lines(&Out::read(&harness));
    assert!(
        batches.len() >= 2 && batches.iter().all(|lines| *lines < count),
        "{batches:?} of {} bytes",
        text.len()
    );
    assert_eq!(batches.iter().sum::<u64>(), count);
    // That run ended, so the next one reads everything at once.
    fs::OpenOptions::new()
        .append(true)
        .open(harness.path("access.log"))
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    report_ok(&harness, &args);
    assert_eq!(lines(&Out::read(&harness)).len(), batches.len() + 1);
}
