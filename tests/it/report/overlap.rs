//! Two runs at a time, and changes during a run (F3, F9, F10, G9).
//!
//! A run that is stopped at a chosen call (`interrupt`) holds the lock as long as the test needs.

use std::fs::{self, File};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};

use super::harness::{Out, QUICK, command, snapshot};
use super::interrupt::{Interrupt, can_trace};
use super::site::{LOG, Site};
use crate::follow::follower::DEADLINE;
use crate::harness::{Harness, finish, spawn, wait};

/// A site with an earlier run and new lines.
fn site(harness: &Harness) -> Site<'_> {
    let mut site = Site::new(harness);
    site.write(10);
    site.run(&[]);
    site.write(5);
    site
}

/// F9.
#[test]
fn the_second_run_ends_at_once() {
    if !can_trace("F9") {
        return;
    }
    let harness = Harness::new();
    let site = site(&harness);
    let first = Interrupt::at(&harness, "fsync", 1, &Site::args(&[]));
    let before = snapshot(&harness.path("state"));
    for args in [&[][..], &["--always"], &["--reset"]] {
        let second = site.try_run(args);
        assert_eq!(
            (second.code, second.stdout.len()),
            (5, 0),
            "{args:?}: {}",
            second.stderr
        );
        assert!(
            second
                .stderr
                .contains("state/report.lock: held by another run"),
            "{}",
            second.stderr
        );
        assert!(second.stderr.contains("--wait"), "{}", second.stderr);
    }
    assert!(snapshot(&harness.path("state")) == before);
    // Status and dry run need no lock.
    for look in ["--status", "--dry-run"] {
        assert_eq!(site.try_run(&[look]).code, 0, "{look}");
    }
    assert_eq!(first.resume().code, 0);
    site.assert_complete("after a second run that was refused");
}

/// F9.
#[test]
fn the_second_run_waits_with_wait() {
    let harness = Harness::new();
    let site = site(&harness);
    let lock = File::open(harness.path("state/report.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let mut second = spawn(&mut command(&harness, &Site::args(&["--wait"])));
    // It has tried the lock by then, and a run that does not wait has ended.
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(400) {
        assert!(second.try_wait().unwrap().is_none(), "it does not wait");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(Out::read(&harness).folders.len(), 1);
    drop(lock);
    let second = wait(second);
    assert_eq!(second.code, 0, "{}", second.stderr);
    assert_eq!(site.assert_complete("a run that waited").folders.len(), 2);
}

/// F9.
#[test]
fn a_waiting_run_can_be_stopped() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let harness = Harness::new();
        let site = site(&harness);
        let lock = File::open(harness.path("state/report.lock")).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        let before = snapshot(&harness.path("out"));
        let mut second = spawn(&mut command(&harness, &Site::args(&["--wait"])));
        // Repeated, because the first signal may come before the handler is installed, and then it
        // ends the process immediately.
        let start = Instant::now();
        std::thread::sleep(Duration::from_millis(300));
        while second.try_wait().unwrap().is_none() {
            let _ = kill_process(Pid::from_child(&second), signal);
            assert!(start.elapsed() < DEADLINE, "it does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(wait(second).code, code);
        assert!(snapshot(&harness.path("out")) == before);
        drop(lock);
        site.run(&[]);
        site.assert_complete("after a waiting run that was stopped");
    }
}

/// F9.
#[test]
fn many_runs_at_once() {
    let harness = Harness::new();
    let mut site = site(&harness);
    for round in 0..5 {
        site.write(20);
        let runs: Vec<_> = (0..6)
            .map(|n| {
                spawn(&mut command(
                    &harness,
                    &Site::args(if n % 2 == 0 { &[] } else { &["--wait"] }),
                ))
            })
            .collect();
        let codes: Vec<_> = runs.into_iter().map(|run| wait(run).code).collect();
        for (n, code) in codes.iter().enumerate() {
            assert!(
                *code == 0 || *code == 5 && n % 2 == 0,
                "round {round}: {codes:?}"
            );
        }
        site.assert_complete("many runs at once");
    }
}

/// F10.
#[test]
fn the_lock_ends_with_its_process() {
    if !can_trace("F10") {
        return;
    }
    let harness = Harness::new();
    let mut site = site(&harness);
    let first = Interrupt::at(&harness, "fsync", 3, &Site::args(&[]));
    first.kill();
    site.write(5);
    site.run(&[]);
    site.assert_complete("after a run that was killed");
}

/// F3. Stopped before the commit: nothing is committed, printed or left.
#[test]
fn a_signal_before_the_commit() {
    if !can_trace("F3") {
        return;
    }
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let harness = Harness::new();
        let site = site(&harness);
        let before = (
            snapshot(&harness.path("out")),
            fs::read(harness.path("state/report.json")).unwrap(),
        );
        let interrupt = Interrupt::at(&harness, "flock", 1, &Site::args(&[]));
        interrupt.signal(signal);
        let run = interrupt.resume();
        assert_eq!((run.code, run.stdout.len()), (code, 0), "{}", run.stderr);
        assert!(
            before
                == (
                    snapshot(&harness.path("out")),
                    fs::read(harness.path("state/report.json")).unwrap()
                )
        );
        site.run(&[]);
        site.assert_complete("after a signal");
    }
}

/// F3. At any time of the signal, the run is done completely or not at all.
#[test]
fn a_signal_during_the_commit() {
    if !can_trace("F3, within the commit") {
        return;
    }
    for when in [1, 5, 9, 10, 11] {
        let harness = Harness::new();
        let site = site(&harness);
        let interrupt = Interrupt::at(&harness, "fsync", when, &Site::args(&[]));
        interrupt.signal(Signal::TERM);
        let run = interrupt.resume();
        assert!(
            [0, 143].contains(&run.code),
            "{when}: {} {}",
            run.code,
            run.stderr
        );
        let folders = Out::read(&harness).folders.len();
        assert_eq!(
            folders,
            if run.code == 0 { 2 } else { 1 },
            "{when}: exit {} and {folders} folders",
            run.code
        );
        site.run(&[]);
        site.assert_complete("after a signal during the commit");
    }
}

/// F3. Blocked in reading a log, it ends with the second signal at the latest.
#[test]
fn a_signal_at_any_moment() {
    for round in 0..20 {
        let harness = Harness::new();
        let site = site(&harness);
        let child = spawn(&mut command(&harness, &Site::args(&[])));
        std::thread::sleep(Duration::from_millis(round));
        let _ = kill_process(Pid::from_child(&child), Signal::TERM);
        // Before anyone listens the system ends it; that is a kill like any other.
        let output = child.wait_with_output().unwrap();
        assert!(
            output
                .status
                .code()
                .is_none_or(|code| [0, 143].contains(&code)),
            "{round}: {:?}",
            output.status
        );
        site.run(&[]);
        site.assert_complete("after a signal at any time");
    }
}

/// G9. The folder for reports is removed while they are written.
#[test]
fn the_folder_is_removed_during_the_run() {
    if !can_trace("G9") {
        return;
    }
    for when in [1, 4, 8] {
        let harness = Harness::new();
        let mut site = site(&harness);
        let first = Out::read(&harness).sums();
        let interrupt = Interrupt::at(&harness, "fsync", when, &Site::args(&[]));
        fs::rename(harness.path("out"), harness.path("away")).unwrap();
        fs::remove_dir_all(harness.path("away")).unwrap();
        let run = interrupt.resume();
        assert_eq!(
            (run.code, run.stdout.len()),
            (4, 0),
            "{when}: {}",
            run.stderr
        );
        assert!(run.stderr.contains("out"), "{}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        site.write(3);
        site.run(&[]);
        let second = Out::read(&harness).sums();
        assert_eq!(
            first.get("hits") + second.get("hits"),
            site.lines(),
            "{when}: the lines of the failed run are reported by the next"
        );
    }
}

/// The log is rotated, compressed and truncated between its reading and the commit.
#[test]
fn a_rotation_during_a_run() {
    if !can_trace("a rotation within a run") {
        return;
    }
    for how in ["rename", "pack", "copytruncate"] {
        let harness = Harness::new();
        let mut site = site(&harness);
        let interrupt = Interrupt::at(&harness, "fsync", 2, &Site::args(&[]));
        site.write(4);
        if how == "copytruncate" {
            fs::copy(
                harness.path("log/access.log"),
                harness.path("log/access.log.1"),
            )
            .unwrap();
            File::options()
                .write(true)
                .open(harness.path("log/access.log"))
                .unwrap()
                .set_len(0)
                .unwrap();
        } else {
            site.rotate();
            site.reopen();
        }
        if how == "pack" {
            site.pack(1);
        }
        site.write(4);
        assert_eq!(interrupt.resume().code, 0, "{how}");
        site.run(&[]);
        site.assert_complete(how);
    }
}

/// The folder of reports is one state's, by whatever name the state is given.
#[test]
fn two_states_cannot_share_an_out() {
    let harness = Harness::new();
    let mut site = site(&harness);
    site.run(&[]);
    let other = |state: &str, more: &[&str]| {
        let args = [
            "report",
            "--state",
            state,
            "--out",
            "out",
            "--from-start",
            "--daily",
        ];
        finish(&mut harness.command(args.iter().chain(&QUICK).chain(more).chain(&[LOG])))
    };
    let before = (
        snapshot(&harness.path("out")),
        snapshot(&harness.path("state")),
    );
    for more in [&[][..], &["--always"], &["--reset"], &["--wait"]] {
        let run = other("other", more);
        assert_eq!(
            (run.code, run.stdout.len()),
            (2, 0),
            "{more:?}: {}",
            run.stderr
        );
        assert!(
            run.stderr.contains("out/.state: the state ")
                && run
                    .stderr
                    .contains("/state/report.json reports to this folder"),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr
                .contains("give every --state an --out of its own"),
            "{}",
            run.stderr
        );
        assert!(
            !harness.path("other/report.json").exists(),
            "it counts nothing as reported"
        );
    }
    assert!(
        (
            snapshot(&harness.path("out")),
            snapshot(&harness.path("state"))
        ) == before
    );
    // The same state by another name.
    std::os::unix::fs::symlink("state", harness.path("link")).unwrap();
    site.write(5);
    assert_eq!(other("link", &[]).code, 0);
    // A state that was moved is the same one still.
    fs::rename(harness.path("state"), harness.path("moved")).unwrap();
    site.write(5);
    let run = other("moved", &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(other("state", &[]).code, 2);
}
