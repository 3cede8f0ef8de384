//! Logs that change during a scan: truncated, rewritten, appended to, replaced, removed, punched.
//!
//! In every case, a hit is a line of the log that was opened, at the reported offset, and lost
//! lines are reported. A disk with read errors (A10) would need a device mapper and is not tested.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::Value;

use crate::harness::{Harness, Rng, Run, finish, line, log, skip, spawn, wait};

/// The size of a chunk of a scan.
const RANGE: usize = 1 << 20;

/// At least this many bytes of lines, in which every fortieth line is a probe for a path that names
/// `generation`.
fn old_log(generation: &str, bytes: usize) -> String {
    long_lines(generation, bytes, 0)
}

/// The same with longer paths.
fn long_lines(generation: &str, bytes: usize, more: usize) -> String {
    let tail = "x".repeat(more);
    let mut text = String::with_capacity(bytes + more + 200);
    for n in 0.. {
        let folder = if n % 40 == 0 { ".git" } else { "page" };
        text += &line(
            &format!("192.0.2.{}", n % 250),
            &format!("GET /{folder}/{generation}-{n}{tail} HTTP/1.1"),
            404,
        );
        if text.len() >= bytes {
            break;
        }
    }
    text
}

/// A folder on disk, and one in memory if the system has that.
fn places(test: &str) -> Vec<Harness> {
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        skip(test, "no /dev/shm");
        return vec![Harness::new()];
    }
    vec![Harness::new(), Harness::within(memory)]
}

/// Scans `access.log`, which is changed while the scan is paused after chunk number `chunk`.
fn scan_changed(harness: &Harness, chunk: u32, args: &[&str], change: impl FnOnce(&Path)) -> Run {
    let [barrier, reached, go] =
        ["barrier", "barrier.reached", "barrier.go"].map(|name| harness.path(name));
    let mut command = harness.command(
        ["scan", "--only", "vcs/git", "access.log"]
            .iter()
            .chain(args),
    );
    command
        .env("PROBEWATCH_PAUSE_AT", format!("chunk:{chunk}"))
        .env("PROBEWATCH_PAUSE_FILE", barrier);
    let mut child = spawn(&mut command);
    while !reached.exists() {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it came to chunk {chunk}"
        );
        thread::sleep(Duration::from_millis(1));
    }
    change(&harness.path("access.log"));
    fs::write(&go, "").unwrap();
    let run = wait(child);
    fs::remove_file(reached).unwrap();
    fs::remove_file(go).unwrap();
    run
}

/// The lines of a log with their numbers, by offset.
struct Lines<'a>(HashMap<u64, (u64, &'a str)>);

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let mut at = 0;
        let place = |(number, line): (usize, &'a str)| {
            let place = (at, (number as u64 + 1, line));
            at += line.len() as u64;
            place
        };
        Self(text.split_inclusive('\n').enumerate().map(place).collect())
    }

    /// Whether a hit is a line of this log, at its offset.
    fn has(&self, hit: &Value) -> bool {
        let request = format!("GET {} HTTP/1.1", hit["target"].as_str().unwrap());
        let reported = line(
            hit["client"].as_str().unwrap(),
            &request,
            hit["status"].as_u64().unwrap_or_default() as u16,
        );
        self.0
            .get(&hit["offset"].as_u64().unwrap())
            .is_some_and(|(_, line)| *line == reported)
    }

    /// The same, and its line number is right too.
    fn has_numbered(&self, hit: &Value) -> bool {
        self.has(hit) && self.0[&hit["offset"].as_u64().unwrap()].0 == hit["line"].as_u64().unwrap()
    }
}

/// How many probes [`old_log`] puts into a text.
fn probes(text: &str) -> usize {
    text.lines().filter(|line| line.contains("/.git/")).count()
}

fn rewrite(path: &Path, text: &str) {
    let file = OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(path)
        .unwrap();
    file.write_all_at(text.as_bytes(), 0).unwrap();
}

fn truncate(path: &Path, len: usize) {
    OpenOptions::new()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(len as u64)
        .unwrap();
}

/// A1 and A4. With one thread, the first range was complete before the second was truncated.
#[test]
fn a_log_truncated_to_nothing_yields_what_was_read_before() {
    let text = old_log("old", 3 * RANGE);
    for harness in places("a log truncated to nothing, in memory") {
        harness.file("access.log", &text);
        let run = scan_changed(
            &harness,
            2,
            &["-f", "ndjson", "-j1", "--mmap", "always"],
            |log| truncate(log, 0),
        );
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(
            run.stderr.contains("truncated during the scan"),
            "{}",
            run.stderr
        );
        let (lines, hits) = (Lines::of(&text), run.objects());
        assert!(hits.iter().all(|hit| lines.has_numbered(hit)));
        let settled = probes(&text[..=RANGE + text[RANGE..].find('\n').unwrap()]);
        assert_eq!(hits.len(), settled);

        harness.file("access.log", &text);
        let run = scan_changed(
            &harness,
            2,
            &["-f", "json", "-j1", "--mmap", "always"],
            |log| truncate(log, 0),
        );
        let (report, read) = (
            run.json(),
            lines
                .0
                .values()
                .filter(|(_, line)| line.contains("192.0.2"))
                .count() as u64,
        );
        assert_eq!(report["totals"]["hits"], settled);
        assert!(report["totals"]["lines"].as_u64().unwrap() < read);
        assert!(
            report["inputs"][0]["problem"]
                .as_str()
                .unwrap()
                .starts_with("truncated during the scan")
        );
    }
}

/// A1 with several threads: which ranges were complete is chance, but their content is not.
#[test]
fn a_log_truncated_under_many_threads_yields_only_its_own_lines() {
    let text = old_log("old", 6 * RANGE);
    for harness in places("a log truncated under many threads, in memory") {
        for chunk in [1, 3] {
            harness.file("access.log", &text);
            let run = scan_changed(
                &harness,
                chunk,
                &["-f", "ndjson", "-j4", "--mmap", "always"],
                |log| truncate(log, 0),
            );
            let (lines, hits) = (Lines::of(&text), run.objects());
            assert!(hits.iter().all(|hit| lines.has(hit)));
            assert!(hits.len() < probes(&text));
            assert_eq!(run.code, 3, "{}", run.stderr);
        }
    }
}

/// A2. The rest of the last page reads as zeros, without a signal.
#[test]
fn a_log_truncated_within_a_page_ends_there() {
    let text = old_log("old", 4 * RANGE / 3);
    let page_end = RANGE.next_multiple_of(4096) + 4000;
    let text = &text[..page_end + text[page_end..].find('\n').unwrap() - 300];
    let text = &text[..=text.rfind('\n').unwrap()];
    let left = RANGE + 2500;
    let kept = &text[..=text[..left].rfind('\n').unwrap()];
    assert!(
        kept.len() < left && text.len() < RANGE + 4096,
        "the cut must go through a line of the last page"
    );
    for harness in places("a log truncated within its last page, in memory") {
        for mmap in ["always", "never"] {
            harness.file("access.log", text);
            let run = scan_changed(&harness, 1, &["-f", "json", "-j1", "--mmap", mmap], |log| {
                truncate(log, left);
            });
            let report = run.json();
            assert_eq!(run.code, 3, "{}", run.stderr);
            assert!(
                run.stderr.contains("truncated during the scan"),
                "{}",
                run.stderr
            );
            let expected = (kept.lines().count(), 0, probes(kept));
            let sums = &report["totals"];
            assert_eq!(
                (
                    sums["parsed"].clone(),
                    sums["unparsed"].clone(),
                    sums["hits"].clone()
                ),
                (expected.0.into(), 0.into(), expected.2.into())
            );
        }
    }
}

/// A3. The map shows the new log without any fault.
#[test]
fn a_log_truncated_and_regrown_is_never_mixed_with_the_new_one() {
    let (old, new) = (old_log("old", 3 * RANGE), old_log("new", 6 * RANGE));
    for harness in places("a log truncated and regrown, in memory") {
        for (mmap, threads) in [
            ("always", "1"),
            ("always", "4"),
            ("never", "1"),
            ("never", "4"),
        ] {
            for chunk in [1, 2] {
                harness.file("access.log", &old);
                let args = ["-f", "ndjson", "-j", threads, "--mmap", mmap];
                let run = scan_changed(&harness, chunk, &args, |log| rewrite(log, &new));
                let (lines, hits) = (Lines::of(&old), run.objects());
                assert!(
                    hits.iter().all(|hit| lines.has(hit)),
                    "{mmap}, {threads} threads, chunk {chunk}"
                );
                assert!(hits.len() < probes(&old));
                assert_eq!(
                    run.code, 3,
                    "{mmap}, {threads} threads, chunk {chunk}: {}",
                    run.stderr
                );
                assert!(
                    run.stderr.contains("replaced during the scan"),
                    "{}",
                    run.stderr
                );
            }
        }
    }
}

/// A6. Lines after the original end belong to the next run.
#[test]
fn appended_lines_are_not_read() {
    let text = old_log("old", 2 * RANGE);
    for mmap in ["always", "never"] {
        let harness = Harness::new();
        harness.file("access.log", &text);
        let run = scan_changed(&harness, 1, &["-f", "ndjson", "--mmap", mmap], |log| {
            let mut log = OpenOptions::new().append(true).open(log).unwrap();
            log.write_all(old_log("new", RANGE).as_bytes()).unwrap();
            log.write_all(b"192.0.2.1 - - [02/Nov/2026:08:01:00 +0000] \"GET /.git/half")
                .unwrap();
        });
        assert_whole(&run, &text);
    }
}

/// A7 and A8. The open log is read to its end, whatever happens to its name.
#[test]
fn a_log_replaced_or_removed_is_read_to_its_end() {
    let text = old_log("old", 2 * RANGE);
    for mmap in ["always", "never"] {
        let harness = Harness::new();
        harness.file("access.log", &text);
        let new = harness.file("new.log", old_log("new", 3 * RANGE));
        assert_whole(
            &scan_changed(&harness, 1, &["-f", "ndjson", "--mmap", mmap], |log| {
                fs::rename(new, log).unwrap();
            }),
            &text,
        );
        harness.file("access.log", &text);
        assert_whole(
            &scan_changed(&harness, 1, &["-f", "ndjson", "--mmap", mmap], |log| {
                fs::remove_file(log).unwrap();
            }),
            &text,
        );
    }
}

/// Every probe of `text` was found, without a problem.
fn assert_whole(run: &Run, text: &str) {
    let (lines, hits) = (Lines::of(text), run.objects());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(hits.iter().all(|hit| lines.has_numbered(hit)));
    assert_eq!(hits.len(), probes(text));
}

/// A9. The hole is reported, and the lines around it count.
#[test]
fn a_hole_punched_during_a_scan_loses_only_its_lines() {
    const HOLE: std::ops::Range<u64> = RANGE as u64 + (64 << 10)..RANGE as u64 + (128 << 10);
    let text = old_log("old", 3 * RANGE);
    for (mmap, harness) in ["always", "never"].into_iter().flat_map(|mmap| {
        places("a punched hole, in memory")
            .into_iter()
            .map(move |harness| (mmap, harness))
    }) {
        harness.file("access.log", &text);
        let run = scan_changed(
            &harness,
            1,
            &["-f", "ndjson", "-j1", "--mmap", mmap],
            |log| punch(log, HOLE),
        );
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(run.stderr.contains("NUL bytes"), "{}", run.stderr);
        let (lines, hits) = (Lines::of(&text), run.objects());
        // The line in which the hole begins continues after it: it may be a hit, but without a
        // client.
        let (whole, torn): (Vec<_>, Vec<_>) = hits.iter().partition(|hit| lines.has(hit));
        assert!(
            torn.len() <= 1
                && torn.iter().all(|hit| hit["client"] == "-"
                    && HOLE.contains(&(hit["offset"].as_u64().unwrap() + 200)))
        );
        let outside = |(at, (_, line)): &(&u64, &(u64, &str))| {
            **at + line.len() as u64 <= HOLE.start || **at >= HOLE.end
        };
        let expected = lines
            .0
            .iter()
            .filter(outside)
            .filter(|(_, (_, line))| line.contains("/.git/"))
            .count();
        assert_eq!(whole.len(), expected);
    }
}

/// Punches a hole into a file; writes zeros if the tool is missing.
fn punch(path: &Path, range: std::ops::Range<u64>) {
    let [offset, length] = [range.start, range.end - range.start].map(|n| n.to_string());
    let args = ["-p", "-o", &offset, "-l", &length];
    let punched = Command::new("fallocate")
        .args(args)
        .arg(path)
        .stderr(Stdio::null())
        .status();
    if !punched.is_ok_and(|status| status.success()) {
        skip(
            "a punched hole",
            "fallocate -p does not work here; zeros were written instead",
        );
        let zeros = vec![0; (range.end - range.start) as usize];
        OpenOptions::new()
            .write(true)
            .open(path)
            .unwrap()
            .write_all_at(&zeros, range.start)
            .unwrap();
    }
}

/// A5. Truncations at random times, with many workers reading the map.
///
/// Half of the truncations come after a random time, which may be before the log is opened or after
/// it was read. The others come while the scan is paused after a chunk that it has not verified
/// yet.
#[test]
fn survives_two_hundred_truncations() {
    const ROUNDS: usize = 200;
    // Four ranges for four workers, with lines so long that a round is short.
    let text = long_lines("old", 3 * RANGE + RANGE / 2, 700);
    let places = places("truncations at any moment, in memory");
    let (lines, mut rng) = (Lines::of(&text), Rng::new());
    for harness in &places {
        harness.file("master", &text);
        let started = Instant::now();
        fs::copy(harness.path("master"), harness.path("access.log")).unwrap();
        assert_eq!(truncate_after(harness, Duration::MAX, 0).code, 0);
        let whole = started.elapsed().as_micros() as u64;
        for round in 0..ROUNDS / places.len() {
            fs::copy(harness.path("master"), harness.path("access.log")).unwrap();
            let len = if rng.below(2) == 0 {
                0
            } else {
                rng.below(text.len() as u64)
            };
            if round % 2 == 0 {
                let run = truncate_after(harness, Duration::from_micros(rng.below(whole)), len);
                // If the log was truncated before it was opened, it ends in a partial line; if it
                // was truncated during the scan, it never does.
                let is_whole = run.code == 0 || run.stderr.contains(NO_KNOWN_FORMAT);
                let last_half =
                    |hit: &Value| is_whole && hit["offset"].as_u64().unwrap() + 1000 > len;
                assert_survived(&run, len, |hit| lines.has(hit) || last_half(hit));
            } else {
                let args = ["-f", "ndjson", "-j4", "--mmap", "always"];
                let run = scan_changed(harness, 1 + rng.below(4) as u32, &args, |log| {
                    truncate(log, len as usize);
                });
                assert_survived(&run, len, |hit| lines.has(hit));
                // The chunk before the pause is lost. If part of the log is left, all earlier
                // chunks may have been verified.
                assert!(
                    run.code == 3 || len > 0,
                    "a truncation to nothing was not seen: {}",
                    run.stderr
                );
            }
        }
    }
}

/// What is said of a partial line that matches a rule, if few other lines do.
const NO_KNOWN_FORMAT: &str = "are in no known format";

/// Checks that a scan of a truncated log reports only its lines. Returns whether lines were lost.
fn assert_survived(run: &Run, len: u64, is_line: impl Fn(&Value) -> bool) {
    for hit in run.objects() {
        assert!(is_line(&hit), "{len}, exit {}: {hit}", run.code);
    }
    assert!([0, 3].contains(&run.code), "{}: {}", run.code, run.stderr);
    let has_reason = run.stderr.contains("during the scan") || run.stderr.contains(NO_KNOWN_FORMAT);
    assert_eq!(run.code == 3, has_reason, "{}", run.stderr);
}

/// A scan during which the log is truncated after some time, if the scan is still running then.
fn truncate_after(harness: &Harness, delay: Duration, len: u64) -> Run {
    let log = OpenOptions::new()
        .write(true)
        .open(harness.path("access.log"))
        .unwrap();
    let over = AtomicBool::new(false);
    let command = &mut harness.command([
        "scan",
        "-f",
        "ndjson",
        "--only",
        "vcs/git",
        "-j4",
        "--mmap",
        "always",
        "access.log",
    ]);
    let (child, started) = (spawn(command), Instant::now());
    thread::scope(|scope| {
        let _stop = SetOnDrop(&over);
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if started.elapsed() >= delay {
                    log.set_len(len).unwrap();
                    break;
                }
                thread::sleep(Duration::from_micros(200));
            }
        });
        wait(child)
    })
}

/// Stops the writer thread, also if the test fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A11. A notice is printed, and the report is the same.
#[test]
fn a_failed_memory_map_falls_back_to_reads() {
    let harness = Harness::new();
    let path = harness.file("access.log", old_log("old", RANGE));
    // Allocated only: a map would have to cover it, but it needs no disk space.
    truncate(&path, 400_000_000);
    let args = [
        "scan",
        "-f",
        "json",
        "-j1",
        "--mmap",
        "always",
        "access.log",
    ];
    let free = harness.run(args);
    let inner = harness.command(args);
    let mut limited = Command::new("prlimit");
    limited
        .arg("--as=200000000")
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(harness.path(""));
    if Command::new("prlimit").arg("--version").output().is_err() {
        return skip("a map that is refused", "prlimit is not installed");
    }
    let limited = finish(&mut limited);
    assert_eq!(
        (free.code, limited.code),
        (0, 0),
        "{}{}",
        free.stderr,
        limited.stderr
    );
    assert!(
        !free.stderr.contains("cannot be mapped") && limited.stderr.contains("cannot be mapped"),
        "{}",
        limited.stderr
    );
    assert_eq!(free.text(), limited.text());
}

/// A12. Files that report no length or a wrong one, and cannot be mapped.
#[test]
fn system_files_are_read_without_a_map() {
    let harness = Harness::new();
    for (path, lines) in [
        ("/proc/cpuinfo", 1),
        ("/proc/self/status", 10),
        ("/sys/kernel/mm/transparent_hugepage/enabled", 0),
    ] {
        if File::open(path).is_err() {
            skip("files of the system", &format!("no {path}"));
            continue;
        }
        for mmap in ["always", "never", "auto"] {
            let (run, report) = harness.json(["--mmap", mmap, path]);
            assert_eq!(run.code, 3, "{path}: {}", run.stderr);
            assert!(run.stderr.contains(path), "{}", run.stderr);
            assert!(
                report["totals"]["lines"].as_u64().unwrap() >= lines,
                "{path}: {}",
                report["totals"]
            );
            assert_eq!(report["totals"]["hits"], 0);
        }
    }
}

/// A13. A thousand files are opened while each of them is truncated and rewritten continuously.
#[test]
fn survives_files_that_shrink_and_grow() {
    const FILES: usize = 50;
    const RUNS: usize = 20;
    let harness = Harness::new();
    let text = log(200);
    let paths: Vec<_> = (0..FILES)
        .map(|n| harness.file(format!("{n}.log"), &text))
        .collect();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = SetOnDrop(&over);
        scope.spawn(|| cut_and_write(&paths, &text, &over));
        for n in 0..RUNS {
            let (run, report) =
                harness.json(["--mmap", if n % 2 == 0 { "always" } else { "never" }, "."]);
            assert!([0, 3].contains(&run.code), "{}: {}", run.code, run.stderr);
            assert!(
                report["inputs"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|input| input["hits"].as_u64() <= Some(20)),
                "{report}"
            );
        }
    });
}

/// Truncates and rewrites each file, round after round.
fn cut_and_write(paths: &[PathBuf], text: &str, over: &AtomicBool) {
    let logs: Vec<_> = paths
        .iter()
        .map(|path| OpenOptions::new().append(true).open(path).unwrap())
        .collect();
    while !over.load(Ordering::Relaxed) {
        for mut log in &logs {
            log.set_len(0).unwrap();
            log.write_all(text.as_bytes()).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    /// A14. For any position of a chunk border within a line, and lines of any length.
    #[test]
    fn a_line_across_a_chunk_border_is_read_once(before in 0..300_usize, lengths in prop::collection::vec(0..9_000_usize, 1..8)) {
        let harness = Harness::new();
        let mut text = old_log("old", RANGE - 1000 - before);
        for length in lengths {
            text += &line("192.0.2.1", &format!("GET /.git/{} HTTP/1.1", "x".repeat(length)), 404);
        }
        text += &old_log("end", 2000);
        harness.file("access.log", &text);
        let of = |mmap, threads| harness.run(["scan", "-f", "ndjson", "--only", "vcs/git", "--mmap", mmap, "-j", threads, "access.log"]);
        let expected = of("never", "1");
        assert_whole(&expected, &text);
        for (mmap, threads) in [("always", "1"), ("always", "3"), ("never", "3")] {
            prop_assert!(of(mmap, threads).stdout == expected.stdout, "{mmap}, {threads} threads");
        }
    }
}
