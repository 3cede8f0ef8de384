//! Logs that cannot be read to their end, and more logs than a process may open files: what is not
//! read is named, with exit code 3, and the next run reads it.

use std::fs;
use std::os::unix::fs::symlink;

use super::harness::{Out, QUICK, Sums, report_ok};
use super::interrupt::{TracedRun, can_trace, output, traced};
use super::site::{LOG, Site, numbered};
use crate::harness::{Harness, finish, is_installed, skip};

const ONE_THREAD: [&str; 1] = ["-j1"];

/// A run in which reads of files whose path contains `path` fail with EIO.
fn run_with_eio(harness: &Harness, call: &str, path: &str, args: &[&str]) -> TracedRun {
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:error=EIO"));
    // A call has the path as it was given, and a descriptor has the absolute one.
    let absolute = harness.path(path);
    let options = [
        "-e",
        &trace,
        "-e",
        &inject,
        "-P",
        path,
        "-P",
        absolute.to_str().unwrap(),
    ];
    output(&mut traced(
        harness,
        &options,
        &Site::args(&[args, &ONE_THREAD].concat()),
    ))
}

#[test]
fn a_rotated_file_that_cannot_be_read_is_named() {
    if !can_trace("read errors") {
        return;
    }
    for (call, path) in [
        ("pread64", "log/access.log.1"),
        ("openat", "log/access.log.1"),
        ("statx", "log/access.log.1"),
        ("getdents64", "log"),
    ] {
        let harness = Harness::new();
        let mut site = Site::new(&harness);
        site.write(10);
        site.run(&[]);
        site.write(5);
        site.rotate();
        site.reopen();
        site.write(5);
        let run = run_with_eio(&harness, call, path, &[]);
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(3), "{call}: {stderr}");
        assert!(
            stderr.contains("access.log") && stderr.contains("Input/output error"),
            "{call}: {stderr}"
        );
        // The lines are read once the disk can be read.
        site.write(1);
        site.run(&[]);
        site.assert_complete("after the disk was read");
    }
}

/// The first blocks can be read, and a later one cannot.
#[test]
fn a_log_with_a_damaged_block_is_a_problem_of_its_input() {
    if !can_trace("read errors") {
        return;
    }
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(10_000);
    let log = harness.path(LOG);
    let args = Site::args(&ONE_THREAD);
    let trace = [
        "-e",
        "trace=pread64",
        "-e",
        "inject=pread64:error=EIO:when=8+",
        "-P",
        log.to_str().unwrap(),
    ];
    let run = output(&mut traced(&harness, &trace, &args));
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(3), "{stderr}");
    let out = Out::read(&harness);
    let problem = &out.folders[0].report["inputs"][0]["problem"];
    assert!(
        problem
            .as_str()
            .is_some_and(|problem| problem.contains("cannot be read: Input/output error")),
        "{problem} {stderr}"
    );
    site.run(&[]);
    site.assert_complete("after the disk was read");
}

#[test]
fn all_logs_are_read_with_few_descriptors() {
    if !is_installed("prlimit") {
        return skip("many logs with few descriptors", "there is no prlimit");
    }
    let harness = Harness::new();
    fs::create_dir(harness.path("log")).unwrap();
    for log in 0..200 {
        harness.file(
            format!("log/site{log:03}.log"),
            numbered(log) + &numbered(1000 + log),
        );
    }
    let args = ["report", "--state", "state", "--out", "out", "-j1", "log"]
        .iter()
        .chain(&QUICK);
    let run = finish(&mut harness.under(&["prlimit", "--nofile=32:32"], args));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expected = Sums::scanned(&harness, &[&["log"][..], &QUICK].concat());
    Sums::of(
        Out::read(&harness)
            .folders
            .iter()
            .map(|folder| &folder.report),
    )
    .assert_same(&expected, "with few descriptors");
}

/// The link is switched each day. One run found the second target empty, and no run saw the third.
#[test]
fn targets_of_a_link_that_no_run_read_are_read() {
    let harness = Harness::new();
    fs::create_dir(harness.path("log")).unwrap();
    let switch = |day: u32, text: &str| {
        harness.file(format!("log/access.202611{day}"), text);
        let _ = fs::remove_file(harness.path(LOG));
        symlink(format!("access.202611{day}"), harness.path(LOG)).unwrap();
    };
    let lines = |numbers: std::ops::Range<u64>| numbers.map(numbered).collect::<String>();
    let run = || report_ok(&harness, &[&QUICK[..], &[LOG]].concat());
    switch(23, &lines(0..20));
    switch(24, &lines(100..150));
    run();
    switch(25, "");
    run();
    harness.file("log/access.20261125", lines(200..230));
    switch(26, &lines(300..310));
    switch(27, &lines(400..440));
    run();
    harness.file(
        "all.log",
        lines(100..150) + &lines(200..230) + &lines(300..310) + &lines(400..440),
    );
    let expected = Sums::scanned(&harness, &[&["all.log"][..], &QUICK].concat());
    Sums::of(
        Out::read(&harness)
            .folders
            .iter()
            .map(|folder| &folder.report),
    )
    .assert_same(&expected, "all targets");
}
