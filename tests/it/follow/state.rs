//! Runs that stop and start again (F3, F5, F9-F13): with a state, each hit is reported exactly once
//! after a clean stop; after a kill nothing is lost, and repeated hits have the same ID.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use rustix::process::Signal;

use super::follower::{Follower, MODES, command, follow};
use super::oracle::{Hit, at_least_once, exactly_once, on_disk};
use super::stage;
use super::writer::{Reopen, Writer};
use crate::harness::{Harness, finish, skip, wait};

const STATE: [&str; 3] = ["--state", "state", "log/access.log"];

/// Moves the log away as logrotate does; the writer keeps its open file.
fn rotate(harness: &Harness, round: u64) {
    fs::rename(
        harness.path("log/access.log"),
        harness.path(format!("log/access.log.{round}")),
    )
    .unwrap();
    File::create(harness.path("log/access.log")).unwrap();
}

/// Repeats runs with a busy writer and rotations; each run is ended by `end`, the last one cleanly.
fn again_and_again(
    mode: &[&str],
    rounds: u64,
    end: impl Fn(Follower) -> Vec<Hit>,
) -> (Harness, Vec<Vec<Hit>>) {
    let (harness, writer) = stage();
    let args = [mode, &STATE].concat();
    let busy = writer.go(Reopen::Every(200));
    let mut runs = Vec::new();
    for round in 0..rounds {
        let mut follower = follow(&harness, &args);
        follower.until("some hits", |stderr| stderr.hits.len() > 150);
        rotate(&harness, 2 * round);
        follower.until("hits after a rotation", |stderr| stderr.hits.len() > 400);
        runs.push(end(follower));
        rotate(&harness, 2 * round + 1);
    }
    let writer = busy.stop();
    let seen = |runs: &[Vec<Hit>]| {
        runs.iter()
            .flatten()
            .filter_map(Hit::number)
            .collect::<std::collections::BTreeSet<_>>()
    };
    let seen = seen(&runs);
    let mut follower = follow(&harness, &args);
    follower.until_seen((0..writer.next()).filter(|number| !seen.contains(number)));
    runs.push(follower.end().hits);
    (harness, runs)
}

#[test]
fn clean_stops_report_each_line_once() {
    for mode in MODES {
        for signal in [Signal::TERM, Signal::INT] {
            let (harness, runs) =
                again_and_again(mode, 3, |follower| follower.end_with(signal).output.hits);
            let runs: Vec<_> = runs.iter().map(Vec::as_slice).collect();
            exactly_once(&on_disk(&harness.path("log")), &runs).unwrap();
        }
    }
}

#[test]
fn kills_lose_nothing_and_repeated_hits_have_the_same_id() {
    for mode in MODES {
        let (harness, runs) = again_and_again(mode, 6, |follower| follower.kill().hits);
        let runs: Vec<_> = runs.iter().map(Vec::as_slice).collect();
        at_least_once(&on_disk(&harness.path("log")), &runs).unwrap();
    }
}

/// F1 with few rounds: killed at any time from the start on, also before any output.
#[test]
fn kills_at_any_moment() {
    let (harness, writer) = stage();
    let busy = writer.go(Reopen::Every(200));
    let mut runs = Vec::new();
    let mut rng = crate::harness::Rng::new();
    for round in 0..12 {
        let mut follower = follow(&harness, &STATE);
        if round % 2 == 0 {
            follower.until("a hit", |stderr| !stderr.hits.is_empty());
        }
        std::thread::sleep(std::time::Duration::from_millis(rng.below(60)));
        runs.push(follower.kill().hits);
        if round % 3 == 0 {
            rotate(&harness, round);
        }
    }
    let writer = busy.stop();
    let seen: std::collections::BTreeSet<_> =
        runs.iter().flatten().filter_map(Hit::number).collect();
    let mut follower = follow(&harness, &STATE);
    follower.until_seen((0..writer.next()).filter(|number| !seen.contains(number)));
    runs.push(follower.end().hits);
    at_least_once(
        &on_disk(&harness.path("log")),
        &runs.iter().map(Vec::as_slice).collect::<Vec<_>>(),
    )
    .unwrap();
}

/// The complete hits that a run appended to a file. A newline before them ends a partial line of
/// the run before, and a partial line follows them if the run was killed.
fn appended(text: &str, follows_partial_line: bool) -> Vec<Hit> {
    let text = if follows_partial_line {
        text.strip_prefix('\n')
            .expect("the partial line is continued")
    } else {
        text
    };
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    whole
        .lines()
        .map(|line| {
            Hit(serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        })
        .collect()
}

/// F1. The same with hits that are appended to a file. `benches/kills.sh` repeats this for hours.
#[test]
fn kills_at_any_moment_of_runs_that_append_to_a_file() {
    let (harness, writer) = stage();
    let busy = writer.go(Reopen::Every(200));
    let path = harness.path("hits.ndjson");
    let text = || fs::read_to_string(&path).unwrap_or_default();
    let start = || {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .unwrap();
        Follower::start_to(&mut command(&harness, &STATE), file.into())
    };
    let (mut runs, mut rng) = (Vec::new(), crate::harness::Rng::new());
    let mut run = |before: &str| {
        let now = text();
        if now.len() > before.len() {
            runs.push(appended(
                &now[before.len()..],
                !before.is_empty() && !before.ends_with('\n'),
            ));
        }
    };
    for round in 0..12 {
        let before = text();
        let follower = start();
        if round % 2 == 0 {
            follower.until_process("a hit", |_| text().len() > before.len());
        }
        std::thread::sleep(std::time::Duration::from_millis(rng.below(60)));
        follower.kill();
        run(&before);
        if round % 3 == 0 {
            rotate(&harness, round);
        }
    }
    busy.stop();
    let disk = on_disk(&harness.path("log"));
    let before = text();
    let follower = start();
    let is_there = |text: &str, number: u64| {
        text.contains(&format!(
            "?n={number:0digits$}\"",
            digits = super::oracle::DIGITS
        ))
    };
    follower.until_process("each line", |_| {
        disk.keys().all(|number| is_there(&text(), *number))
    });
    follower.end();
    run(&before);
    at_least_once(&disk, &runs.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
}

/// F3. A partial line is not consumed: it belongs to the next run.
#[test]
fn a_stop_in_the_middle_of_a_line() {
    let (harness, mut writer) = stage();
    let mut follower = Some(follow(&harness, &STATE));
    let mut runs = Vec::new();
    writer.write_in_parts(&[50], |_| {
        let mut follower = follower.take().unwrap();
        follower.until_seen(0..10);
        runs.push(follower.end().hits);
    });
    writer.write(5);
    let mut follower = follow(&harness, &STATE);
    follower.until_seen(10..16);
    runs.push(follower.end().hits);
    exactly_once(&on_disk(&harness.path("log")), &[&runs[0], &runs[1]]).unwrap();
}

/// F18. A run with nothing new prints nothing, and the next one continues.
#[test]
fn a_run_with_nothing_new() {
    let (harness, mut writer) = stage();
    let mut runs = Vec::new();
    for _ in 0..3 {
        writer.write(1);
        let mut follower = follow(&harness, &STATE);
        follower.until_seen([writer.next() - 1]);
        runs.push(follower.end().hits);
        let socket = super::actions::socket(&harness.path("ready"));
        let idle =
            Follower::start(command(&harness, &STATE).env("NOTIFY_SOCKET", harness.path("ready")));
        super::actions::read_until(&socket, "READY=1");
        assert_eq!(idle.end().hits.len(), 0);
        fs::remove_file(harness.path("ready")).unwrap();
    }
    exactly_once(
        &on_disk(&harness.path("log")),
        &runs.iter().map(Vec::as_slice).collect::<Vec<_>>(),
    )
    .unwrap();
}

/// F9, F10. Locked by another run: exits with 5 immediately, and the other run continues. The lock
/// ends with its process.
#[test]
fn only_one_run_at_a_time() {
    let (harness, mut writer) = stage();
    let mut first = follow(&harness, &STATE);
    first.until_seen(0..10);
    let second = finish(&mut command(&harness, &STATE));
    assert_eq!(
        (second.code, second.stdout.len()),
        (5, 0),
        "{}",
        second.stderr
    );
    assert!(second.stderr.contains("state"), "{}", second.stderr);
    writer.write(5);
    first.until_seen(10..15);
    let first = first.kill();
    writer.write(5);
    let mut third = follow(&harness, &STATE);
    third.until_seen(15..20);
    at_least_once(
        &on_disk(&harness.path("log")),
        &[&first.hits, &third.end().hits],
    )
    .unwrap();
}

/// The state after a run, and its files: the state itself, and the lock.
fn with_state() -> (Harness, Vec<PathBuf>) {
    let (harness, _) = stage();
    let mut follower = follow(&harness, &STATE);
    follower.until_seen(0..10);
    follower.end();
    let entries = fs::read_dir(harness.path("state"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files: Vec<_> = entries.collect();
    assert_eq!(files.len(), 2, "{files:?}");
    (harness, files)
}

/// Tries to follow, which must fail before anything is read.
fn refused(harness: &Harness, what: &str) -> String {
    let run = wait(crate::harness::spawn(&mut command(harness, &STATE)));
    assert_eq!(
        (run.code, run.stdout.len()),
        (2, 0),
        "{what}: {}",
        run.stderr
    );
    run.stderr
}

/// F5. Starts neither at the start, which would repeat hits, nor at the end, which would lose some.
#[test]
fn a_damaged_state_is_refused() {
    for (what, damage) in [
        ("empty", (|_| Vec::new()) as fn(Vec<u8>) -> Vec<u8>),
        ("torn", |bytes| bytes[..bytes.len() / 2].to_vec()),
        ("a flipped bit", |mut bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            bytes
        }),
        ("something else", |_| b"{}\n".to_vec()),
    ] {
        let (harness, files) = with_state();
        let file = files
            .iter()
            .find(|file| file.extension().is_some_and(|name| name == "json"))
            .unwrap();
        fs::write(file, damage(fs::read(file).unwrap())).unwrap();
        let before = fs::read(file).unwrap();
        for _ in 0..2 {
            let stderr = refused(&harness, what);
            assert!(stderr.contains("state/follow.json"), "{what}: {stderr}");
            assert!(stderr.contains("--reset-state"), "{what}: {stderr}");
            assert_eq!(fs::read(file).unwrap(), before, "{what}");
        }
        // With `--reset` it starts again.
        let mut follower = follow(
            &harness,
            &["--reset-state", "--state", "state", "log/access.log"],
        );
        follower.until_seen(0..10);
        follower.end();
    }
}

/// F6.
#[test]
fn leftovers_of_a_killed_run_are_ignored() {
    let (harness, files) = with_state();
    for file in &files {
        let mut name = file.clone().into_os_string();
        name.push(".tmp");
        fs::write(name, "half").unwrap();
    }
    let mut writer = Writer::from(harness.path("log/access.log"), 10);
    writer.write(5);
    let mut follower = follow(&harness, &STATE);
    follower.until_seen(10..15);
    assert_eq!(follower.end().hits.len(), 5);
}

/// F11, F13. A state that others may write to cannot be trusted.
#[test]
fn a_state_that_others_may_write_to_is_refused() {
    let (harness, files) = with_state();
    let places = files.iter().cloned().chain([harness.path("state")]);
    for place in places {
        let before = fs::metadata(&place).unwrap().permissions();
        fs::set_permissions(&place, fs::Permissions::from_mode(before.mode() | 0o022)).unwrap();
        refused(&harness, &place.display().to_string());
        fs::set_permissions(&place, before).unwrap();
    }
    let mut writer = Writer::from(harness.path("log/access.log"), 10);
    writer.write(1);
    let mut follower = follow(&harness, &STATE);
    follower.until_seen([10]);
    assert_eq!(follower.end().hits.len(), 1);
}

/// F12, K2. Links in the state folder are not followed.
#[test]
fn links_in_the_state_are_refused() {
    let (harness, files) = with_state();
    for file in &files {
        let target = harness.file("target", "precious");
        let aside = harness.path("aside");
        fs::rename(file, &aside).unwrap();
        symlink(&target, file).unwrap();
        refused(&harness, &file.display().to_string());
        assert_eq!(fs::read(&target).unwrap(), b"precious");
        fs::remove_file(file).unwrap();
        fs::rename(&aside, file).unwrap();
    }
}

/// The files are private with any umask (G12).
#[test]
fn the_state_is_private() {
    let (harness, _) = stage();
    let mut command = harness.under(
        &["sh", "-c", r#"umask 000; exec "$@""#, "sh"],
        super::follower::FOLLOW.iter().chain(&STATE),
    );
    let mut follower = Follower::start(&mut command);
    follower.until_seen(0..10);
    follower.end();
    for entry in fs::read_dir(harness.path("state")).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(
            entry.metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "{}",
            entry.path().display()
        );
    }
    assert_eq!(
        fs::metadata(harness.path("state"))
            .unwrap()
            .permissions()
            .mode()
            & 0o077,
        0
    );
}

/// G3. A state that cannot be written is an error.
#[test]
fn a_state_that_cannot_be_written() {
    let (harness, _) = stage();
    if !std::path::Path::new("/proc/self").exists() {
        return skip("G3", "no /proc");
    }
    let run = finish(&mut command(
        &harness,
        &["--state", "/proc/self/state", "log/access.log"],
    ));
    assert!([2, 4].contains(&run.code), "{}: {}", run.code, run.stderr);
    assert_eq!(run.stdout.len(), 0);
}
