//! Killed, and failed, at every system call of the commit (F2, F3, F21).
//!
//! A first run with `strace` lists the calls that change something. Then each of them is the last
//! one of a run over the same files: the run is killed before the call, and the next run must
//! finish or repeat what is missing. Between two such calls the disk does not change, so these are
//! all possible states.

#![expect(
    clippy::print_stdout,
    reason = "the number of calls, shown with --nocapture"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::harness::{Out, Sums, full, snapshot};
use super::interrupt::{TracedRun, can_trace, output, traced, was_killed};
use super::site::Site;
use crate::harness::{Harness, Run, line};

/// Calls that change or sync the disk. With a question mark, because not every architecture has all
/// of them.
const CALLS: &str = "trace=?open,?openat,?openat2,?creat,?mkdir,?mkdirat,?write,?pwrite64,?writev,?fsync,?fdatasync,?syncfs,?rename,\
    ?renameat,?renameat2,?unlink,?unlinkat,?rmdir,?symlink,?symlinkat,?link,?linkat,?fchmod,?fchmodat,?fchmodat2,?chmod,?fchown,?fchownat,\
    ?chown,?truncate,?ftruncate,?flock,?utimensat,?copy_file_range,?sendfile";

/// A call of a run: its name, and its number within its thread.
type SystemCall = (String, usize);

/// The arguments of all runs here: one thread, so that each run makes the same calls.
const ONE_THREAD: [&str; 1] = ["-j1"];

/// Files from which runs start repeatedly.
struct StartingFiles {
    harness: Harness,
    args: Vec<&'static str>,
    /// What earlier runs reported.
    before: BTreeMap<String, Value>,
}

impl StartingFiles {
    /// Before the first run: neither state nor folder.
    fn first(args: &[&'static str]) -> Self {
        let harness = Harness::new();
        Site::new(&harness).write(10);
        Self::here(harness, args)
    }

    /// After a run and a rotation, with old compressed lines and new ones.
    fn later(args: &[&'static str]) -> Self {
        Self::later_over_days(args, 1)
    }

    /// The same with lines of this many days.
    fn later_over_days(args: &[&'static str], days: u64) -> Self {
        let harness = Harness::new();
        let mut site = Site::new(&harness).over_days(days);
        site.write(10);
        site.run(args);
        site.write(5);
        site.rotate();
        site.reopen();
        site.pack(1);
        site.write(5);
        Self::here(harness, args)
    }

    fn here(harness: Harness, args: &[&'static str]) -> Self {
        let args = Site::args(&[args, &ONE_THREAD].concat());
        let before = reports(&harness);
        Self {
            harness,
            args,
            before,
        }
    }

    /// A copy of the same files.
    fn copy(&self) -> Harness {
        let copy = Harness::new();
        let status = Command::new("cp")
            .args(["-a", "."])
            .arg(copy.path(""))
            .current_dir(self.harness.path(""))
            .status()
            .unwrap();
        assert!(status.success());
        copy
    }

    /// The calls of a run that change something, in order.
    fn points(&self) -> Vec<SystemCall> {
        let harness = self.copy();
        let out = output(&mut traced(&harness, &["-e", CALLS], &self.args));
        assert_eq!(
            out.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
        points(&trace(&harness, &out))
    }

    /// Runs on a copy with this injection. Returns the harness with what is left, or `None` if the
    /// call was not made.
    fn run_into(&self, point: &SystemCall, what: &str) -> (Harness, TracedRun) {
        let harness = self.copy();
        let (which, inject) = (
            format!("trace={}", point.0),
            format!("inject={}:{what}:when={}", point.0, point.1),
        );
        let out = output(&mut traced(
            &harness,
            &["-e", &which, "-e", &inject],
            &self.args,
        ));
        (harness, out)
    }

    /// Runs again; then all runs together have reported each line once.
    fn recover(&self, harness: &Harness, when: &str) {
        let seen = self.seen(harness);
        let run = crate::harness::finish(&mut super::harness::command(harness, &self.args));
        assert_eq!(run.code, 0, "{when}: {}", run.stderr);
        Out::read(harness);
        let mut all = seen;
        all.extend(reports(harness));
        let expected = Sums::scanned(
            harness,
            &[&["all.log"][..], &super::harness::QUICK].concat(),
        );
        Sums::of(all.values()).assert_same(&expected, when);
        // And a further run finds nothing new.
        let done = snapshot(&harness.path("out"));
        let again = crate::harness::finish(&mut super::harness::command(harness, &self.args));
        assert_eq!(
            (again.code, again.stdout.len()),
            (0, 0),
            "{when}: {}",
            again.stderr
        );
        assert!(
            snapshot(&harness.path("out")) == done,
            "{when}: a run with nothing new changed something"
        );
    }

    /// What a reader may have read so far, including folders that a later run removes by age.
    fn seen(&self, harness: &Harness) -> BTreeMap<String, Value> {
        let mut seen = self.before.clone();
        seen.extend(reports(harness));
        seen
    }
}

/// The visible reports, by the names of their folders.
fn reports(harness: &Harness) -> BTreeMap<String, Value> {
    Out::visible(&harness.path("out"), 0o600)
        .folders
        .into_iter()
        .map(|folder| (folder.name, folder.report))
        .collect()
}

/// The complete trace of a run that has ended. The tracer may still be writing it; its last line is
/// about the end of the process.
fn trace(harness: &Harness, run: &TracedRun) -> String {
    let end = format!("{} ", run.pid);
    let start = std::time::Instant::now();
    loop {
        let text = fs::read_to_string(harness.path("trace")).unwrap();
        let of_process = text.lines().filter_map(|line| line.strip_prefix(&end));
        if of_process
            .map(str::trim_start)
            .any(|event| event.starts_with("+++ exited with") || event.starts_with("+++ killed by"))
        {
            return text;
        }
        assert!(
            start.elapsed() < crate::follow::follower::DEADLINE,
            "the trace does not end: {text}"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Whether a write to standard error failed. If another thread made a call at the same time, the
/// trace has two lines for it.
fn is_message_lost(trace: &str) -> bool {
    let mut unfinished = BTreeSet::new();
    trace
        .lines()
        .filter_map(|line| line.split_once(' '))
        .any(|(thread, call)| {
            let call = call.trim_start();
            if call.starts_with("write(2, ") {
                unfinished.insert(thread);
            }
            let is_result =
                call.starts_with("write(2, ") || call.starts_with("<... write resumed>");
            is_result
                && !call.ends_with("<unfinished ...>")
                && unfinished.remove(thread)
                && call.contains("(INJECTED)")
        })
}

/// Parses the calls of a trace: `1234 openat(3, "x", O_CREAT) = 4`.
fn points(trace: &str) -> Vec<SystemCall> {
    let (mut counts, mut points) = (BTreeMap::<(&str, &str), usize>::new(), Vec::new());
    for line in trace.lines() {
        let Some((thread, call)) = line
            .split_once(' ')
            .map(|(thread, call)| (thread, call.trim_start()))
        else {
            continue;
        };
        let Some((name, rest)) = call.split_once('(') else {
            continue;
        };
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            continue;
        }
        let count = counts.entry((thread, name)).or_default();
        *count += 1;
        let changes =
            !name.starts_with("open") || rest.contains("O_CREAT") || rest.contains("O_TRUNC");
        let point = (name.to_owned(), *count);
        if changes && !points.contains(&point) {
            points.push(point);
        }
    }
    points
}

/// Kills a run at each of its points.
fn killed_everywhere(start: &StartingFiles) {
    let points = start.points();
    let names = |prefix: &str| {
        points
            .iter()
            .filter(|(name, _)| name.starts_with(prefix))
            .count()
    };
    // The eight files and their folder are synced, then the state; the state and the folder are
    // renamed.
    assert!(
        names("fsync") + names("fdatasync") >= 10 && names("rename") >= 2,
        "these are not the calls of a commit: {points:?}"
    );
    for point in &points {
        let (harness, out) = start.run_into(point, "signal=KILL");
        let when = format!("killed at call {} of {}", point.1, point.0);
        assert!(
            was_killed(&out),
            "not {when}: {:?} {}",
            out.status,
            String::from_utf8_lossy(&out.stderr)
        );
        start.recover(&harness, &when);
    }
    println!("killed at {} calls", points.len());
}

/// Lets each call of a run fail; in the short test, only the first, the fourth and so on of each
/// kind.
fn failed_everywhere(start: &StartingFiles, error: &str, only: &[&str]) {
    let step = if full() { 1 } else { 3 };
    let points = start.points();
    let points: Vec<_> = points
        .iter()
        .filter(|(name, _)| only.is_empty() || only.contains(&name.as_str()))
        .collect();
    let counts = format!("{error}: {} calls", points.len());
    let mut tried = 0;
    for point in points
        .into_iter()
        .filter(|(_, number)| number % step == 1 % step)
    {
        tried += 1;
        let (harness, out) = start.run_into(point, &format!("error={error}"));
        let when = format!("{error} at call {} of {}", point.1, point.0);
        let has_message = !out.stderr.is_empty() || is_message_lost(&trace(&harness, &out));
        let run = Run::of(out.output);
        // Cleanup and messages may fail without consequences; nothing else may.
        let fine: &[i32] = if point.0.contains("sync") {
            &[4]
        } else {
            &[0, 2, 4]
        };
        assert!(
            fine.contains(&run.code),
            "{when}: {} {}",
            run.code,
            run.stderr
        );
        // Calls are counted by thread: if a write fails in a thread that writes files, the first
        // one of the thread that prints the message fails too.
        assert!(
            run.code == 0 || has_message,
            "{when}: exit {} and not a word",
            run.code
        );
        start.recover(&harness, &when);
    }
    println!("{counts}, {tried} tried");
    assert!(tried > 3, "{counts}, {tried} tried");
}

/// F2.
#[test]
fn killed_at_every_call_of_the_first_run() {
    if can_trace("F2, the first run") {
        killed_everywhere(&StartingFiles::first(&[]));
    }
}

/// F2.
#[test]
fn killed_at_every_call_of_a_later_run() {
    if can_trace("F2, a later run") {
        killed_everywhere(&StartingFiles::later(&["--keep-runs", "1"]));
    }
}

/// F2.
#[test]
fn killed_at_every_call_of_a_run_that_replaces_a_folder() {
    if can_trace("F2, a folder that is replaced") {
        killed_everywhere(&StartingFiles::later(&["--daily"]));
    }
}

/// F2. Whatever the order in which the two are listed.
#[test]
fn killed_at_every_call_of_a_run_that_replaces_two_folders() {
    if can_trace("F2, two folders that are replaced") {
        killed_everywhere(&StartingFiles::later_over_days(&["--hourly"], 2));
    }
}

/// F2, with a page and an index.
#[test]
fn killed_at_every_call_of_a_run_with_a_page() {
    if can_trace("F2, a page") {
        killed_everywhere(&StartingFiles::later(&["--html", "--keep-runs", "2"]));
    }
}

/// F2. The calls that write the state come after many of their kind in another thread, and are
/// selected by file name.
#[test]
fn killed_while_the_state_is_written() {
    if !can_trace("F2, the state") {
        return;
    }
    let start = StartingFiles::later(&[]);
    for (call, met) in [
        ("fchmod", true),
        ("write", true),
        ("fsync", true),
        ("fchmod", false),
        ("write", false),
        ("fsync", false),
    ] {
        let harness = start.copy();
        let written = harness.path("state/report.json.tmp");
        let what = if met { "signal=KILL" } else { "error=EIO" };
        let (which, inject) = (format!("trace={call}"), format!("inject={call}:{what}"));
        let options = ["-P", written.to_str().unwrap(), "-e", &which, "-e", &inject];
        let out = output(&mut traced(&harness, &options, &start.args));
        let when = format!("{what} at {call} of the state");
        if met {
            assert!(
                was_killed(&out),
                "not {when}: {:?} {}",
                out.status,
                String::from_utf8_lossy(&out.stderr)
            );
            assert_eq!(
                super::harness::entries(&harness.path("out")).len(),
                4,
                "the run is staged, and has no place yet"
            );
        } else {
            assert_eq!(
                out.status.code(),
                Some(4),
                "{when}: {}",
                String::from_utf8_lossy(&out.stderr)
            );
            assert!(
                leftovers(&harness.path("out")).is_empty(),
                "{when}: {:?}",
                leftovers(&harness.path("out"))
            );
        }
        start.recover(&harness, &when);
    }
}

/// F2. Killed directly after the commit, and then at every call of the run that recovers.
#[test]
fn killed_at_every_call_of_a_recovery() {
    for args in [&[][..], &["--daily"]] {
        if !can_trace("F2, a recovery") {
            return;
        }
        let start = StartingFiles::later(args);
        let harness = start.copy();
        let out = output(&mut traced(&harness, &["-e", CALLS], &start.args));
        assert_eq!(out.status.code(), Some(0));
        let text = trace(&harness, &out);
        let commit = text
            .lines()
            .position(|line| line.contains(" rename") && line.contains("\"report.json\""));
        let commit =
            commit.unwrap_or_else(|| panic!("no rename of the state in the trace:\n{text}"));
        let upto = text.lines().take(commit + 1).collect::<Vec<_>>().join("\n");
        let all = points(&text);
        let later_calls = &all[points(&upto).len()];
        let (harness, out) = start.run_into(later_calls, "signal=KILL");
        assert!(was_killed(&out), "{later_calls:?}");
        let recovery = StartingFiles {
            harness,
            args: start.args,
            before: start.before,
        };
        let points = recovery.points();
        assert!(!points.is_empty());
        println!("killed at {} calls of a recovery", points.len());
        for point in points {
            let (harness, out) = recovery.run_into(&point, "signal=KILL");
            let when = format!(
                "killed after the commit, and again at call {} of {}",
                point.1, point.0
            );
            assert!(was_killed(&out), "not {when}: {:?}", out.status);
            recovery.recover(&harness, &when);
        }
    }
}

/// F21. A disk that fails to sync.
#[test]
fn syncs_that_fail() {
    if can_trace("F21") {
        for args in [&[][..], &["--daily"]] {
            for error in ["EIO", "ENOSPC"] {
                failed_everywhere(&StartingFiles::later(args), error, &["fsync", "fdatasync"]);
            }
        }
    }
}

/// Any other call that fails: nothing is lost and nothing is reported twice.
#[test]
fn any_call_may_fail() {
    if can_trace("any call may fail") {
        failed_everywhere(&StartingFiles::later(&["--keep-runs", "1"]), "EIO", &[]);
        failed_everywhere(&StartingFiles::later(&["--daily"]), "EACCES", &[]);
    }
}

/// F21. A failure before the commit moves no checkpoint.
#[test]
fn a_failed_run_keeps_the_state() {
    if !can_trace("F21, the state") {
        return;
    }
    let start = StartingFiles::later(&[]);
    let harness = start.copy();
    let before = fs::read(harness.path("state/report.json")).unwrap();
    let out = output(&mut traced(
        &harness,
        &[
            "-e",
            "trace=fsync,fdatasync",
            "-e",
            "inject=fsync,fdatasync:error=EIO",
        ],
        &start.args,
    ));
    let run = Run::of(out.output);
    assert_eq!((run.code, run.stdout.len()), (4, 0), "{}", run.stderr);
    assert!(
        fs::read(harness.path("state/report.json")).unwrap() == before,
        "the checkpoint has moved"
    );
    assert!(
        leftovers(&harness.path("out")).is_empty(),
        "{:?}",
        leftovers(&harness.path("out"))
    );
    start.recover(&harness, "no fsync works");
}

/// A file or a folder that cannot be read, whatever call fails: it is named, and what the others
/// have is reported.
#[test]
fn a_read_error_is_named() {
    if !can_trace("read errors") {
        return;
    }
    for (call, unread, hits) in [
        ("openat", "logs/access.log", 2),
        ("statx", "logs/access.log", 2),
        ("pread64", "logs/access.log", 2),
        ("pread64", "logs/other.log.1.gz", 2),
        ("getdents64", "logs/", 0),
        // What was read before is whole.
        ("close", "logs/", 3),
    ] {
        let harness = Harness::new();
        fs::create_dir(harness.path("logs")).unwrap();
        for (name, client) in [
            ("access.log", "81.2.69.1"),
            ("other.log", "81.2.69.2"),
            ("other.log.1", "81.2.69.3"),
        ] {
            harness.file(format!("logs/{name}"), line(client, "GET /.env", 404));
        }
        assert!(
            Command::new("gzip")
                .arg(harness.path("logs/other.log.1"))
                .status()
                .unwrap()
                .success()
        );
        let (path, which, inject) = (
            harness.path(unread),
            format!("trace={call}"),
            format!("inject={call}:error=EIO"),
        );
        let options = [
            "-P",
            unread,
            "-P",
            path.to_str().unwrap(),
            "-e",
            &which,
            "-e",
            &inject,
        ];
        let run = Run::of(
            output(&mut traced(
                &harness,
                &options,
                &["--from-start", "--always", "-j1", "logs/"],
            ))
            .output,
        );
        let when = format!("{call} of {unread}: exit {}: {}", run.code, run.stderr);
        let out = Out::read(&harness);
        let report = &out.last().report;
        assert_eq!(report["totals"]["hits"], hits, "{when}");
        assert_eq!(run.code, if hits < 3 { 3 } else { 0 }, "{when}");
        let problems: Vec<_> = report["inputs"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|input| !input["problem"].is_null())
            .collect();
        // The tracer prints the paths too.
        let is_printed = run
            .stderr
            .lines()
            .any(|line| !line.starts_with("strace:") && line.contains(unread));
        assert_eq!(
            (problems.len(), is_printed),
            if hits < 3 { (1, true) } else { (0, false) },
            "{when}: {problems:?}"
        );
        let is_named = problems
            .iter()
            .all(|input| format!("{}{}", input["path"], input["problem"]).contains(unread));
        assert!(is_named, "{when}: {problems:?}");
    }
}

/// The command with faults of `strace`. What is printed must be of the command alone.
fn with_faults(harness: &Harness, faults: &[&str], args: &[&str]) -> Run {
    let tracer = ["strace", "-D", "-f", "-qq", "-o", "trace"]
        .iter()
        .chain(faults)
        .copied()
        .collect::<Vec<_>>();
    Run::of(output(&mut harness.under(&tracer, args)).output)
}

/// A report that cannot be read is not taken for a log, whose list would be empty.
#[test]
fn a_report_that_cannot_be_read_replaces_no_block_list() {
    if !can_trace("unreadable reports") {
        return;
    }
    let harness = Harness::new();
    harness.file(
        "access.log",
        (1..4)
            .map(|number| line(&format!("81.2.69.{number}"), "GET /.env", 404))
            .collect::<String>(),
    );
    assert_eq!(
        harness
            .run(["scan", "-f", "json", "-o", "report.json", "access.log"])
            .code,
        0
    );
    harness.file("list", "192.0.2.7\n");
    let path = harness.path("report.json");
    for call in ["statx", "openat", "read"] {
        for error in ["EIO", "ENOSPC"] {
            let (trace, inject) = (
                format!("trace={call}"),
                format!("inject={call}:error={error}:when=1"),
            );
            let faults = [
                "-P",
                "report.json",
                "-P",
                path.to_str().unwrap(),
                "-e",
                &trace,
                "-e",
                &inject,
            ];
            let run = with_faults(&harness, &faults, &["block", "-o", "list", "report.json"]);
            let list = fs::read_to_string(harness.path("list")).unwrap();
            assert_eq!(
                (run.code, list.as_str()),
                (2, "192.0.2.7\n"),
                "{error} at {call}: {}",
                run.stderr
            );
            assert!(
                run.stderr.contains("report.json cannot be read"),
                "{error} at {call}: {}",
                run.stderr
            );
        }
    }
}

/// A system may refuse any thread.
#[test]
fn no_thread_can_be_started() {
    if !can_trace("threads") {
        return;
    }
    let harness = Harness::new();
    harness.file("access.log", line("81.2.69.1", "GET /.env", 404));
    for name in ["a.json", "b.json"] {
        assert_eq!(
            harness
                .run(["scan", "-f", "json", "-o", name, "access.log"])
                .code,
            0
        );
    }
    for (args, code) in [
        (&["merge", "-f", "json", "a.json", "b.json"][..], 0),
        (&["diff", "a.json", "b.json"], 0),
        (&["block", "a.json"], 0),
        (&["scan", "-f", "json", "access.log"], 0),
        (&["learn", "access.log"], 0),
        (
            &[
                "report",
                "--state",
                "state",
                "--out",
                "out",
                "--from-start",
                "access.log",
            ],
            2,
        ),
    ] {
        let run = with_faults(
            &harness,
            &[
                "-e",
                "trace=?clone,?clone3",
                "-e",
                "inject=?clone,?clone3:error=EAGAIN",
            ],
            args,
        );
        assert_eq!(run.code, code, "{args:?}: {}", run.stderr);
        assert_eq!(
            run.stdout,
            if code == 0 {
                harness.run(args).stdout
            } else {
                Vec::new()
            },
            "{args:?}"
        );
    }
    assert_eq!(
        fs::read_dir(harness.path("state")).map_or(0, |folder| folder
            .filter(|entry| entry
                .as_ref()
                .is_ok_and(|entry| entry.file_name() == "report.json"))
            .count()),
        0
    );
}

/// Each log is compared with those of related names, not with each other one.
#[test]
fn reads_of_equal_logs_grow_with_their_number() {
    if !can_trace("equal logs") {
        return;
    }
    let reads = |logs: usize| {
        let harness = Harness::new();
        fs::create_dir(harness.path("logs")).unwrap();
        for number in 0..logs {
            harness.file(
                format!("logs/site{number}.log"),
                line("81.2.69.1", "GET /.env", 404),
            );
        }
        let out = output(&mut traced(
            &harness,
            &["-e", "trace=pread64"],
            &["--from-start", "-j1", "logs/"],
        ));
        assert_eq!(
            out.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
        assert_eq!(Out::read(&harness).sums().get("hits"), logs as u64);
        trace(&harness, &out)
            .lines()
            .filter(|line| line.contains("pread64("))
            .count()
    };
    let (few, many) = (reads(20), reads(100));
    assert!(many < few * 6, "{few} reads of 20 logs, {many} of 100");
}

/// Entries that start with a dot.
fn leftovers(folder: &Path) -> Vec<String> {
    super::harness::entries(folder)
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name.starts_with('.') && name != ".state")
        .collect()
}

#[test]
fn calls_are_read_from_a_trace() {
    let trace = "7 openat(3, \"a\", O_RDONLY) = 4\n7 openat(3, \"b\", O_WRONLY|O_CREAT) = 4\n8 fsync(4 <unfinished ...>\n\
                 7 write(1, \"x(\", 2) = 2\n8 <... fsync resumed>) = 0\n7 fsync(4) = 0\n7 fsync(4) = 0\n8 +++ exited with 0 +++\n";
    let expected = [("openat", 2), ("fsync", 1), ("write", 1), ("fsync", 2)]
        .map(|(name, n)| (name.to_owned(), n));
    assert_eq!(points(trace), expected);
}

#[test]
fn a_lost_message_is_found_in_a_trace() {
    let failed = "= -1 EACCES (Permission denied) (INJECTED)";
    for (trace, expected) in [
        (format!("7 write(2, \"x\", 1) {failed}"), true),
        (
            format!(
                "7 write(2, \"x\", 1 <unfinished ...>\n8 fsync(4) = 0\n7 <... write resumed>) {failed}"
            ),
            true,
        ),
        (
            format!(
                "7 write(2, \"x\", 1 <unfinished ...>\n8 write(5, \"x\", 1) {failed}\n7 <... write resumed>) = 1"
            ),
            false,
        ),
        (
            format!("7 write(5, \"x\", 1 <unfinished ...>\n7 <... write resumed>) {failed}"),
            false,
        ),
    ] {
        assert_eq!(is_message_lost(&trace), expected, "{trace}");
    }
}
