//! Runs that end and begin again (F3, F5, F9-F13): by their state, exactly once after a clean stop; after a kill nothing
//! is lost, and what comes again comes with the same id.

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

/// Moves the log away as logrotate does; the writer keeps what it has open.
fn rotate(harness: &Harness, round: u64) {
    fs::rename(harness.path("log/access.log"), harness.path(format!("log/access.log.{round}"))).unwrap();
    File::create(harness.path("log/access.log")).unwrap();
}

/// Runs again and again under a busy writer and its rotations; each run is ended by `end`, the last one cleanly.
fn again_and_again(mode: &[&str], rounds: u64, end: impl Fn(Follower) -> Vec<Hit>) -> (Harness, Vec<Vec<Hit>>) {
    let (harness, writer) = stage();
    let args = [mode, &STATE].concat();
    let busy = writer.go(Reopen::Every(200));
    let mut runs = Vec::new();
    for round in 0..rounds {
        let mut follower = follow(&harness, &args);
        follower.until("some hits", |said| said.hits.len() > 150);
        rotate(&harness, 2 * round);
        follower.until("hits behind a rotation", |said| said.hits.len() > 400);
        runs.push(end(follower));
        rotate(&harness, 2 * round + 1);
    }
    let writer = busy.stop();
    let seen = |runs: &[Vec<Hit>]| runs.iter().flatten().filter_map(Hit::number).collect::<std::collections::BTreeSet<_>>();
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
            let (harness, runs) = again_and_again(mode, 3, |follower| follower.end_with(signal).said.hits);
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

/// F1, in small: killed at any moment from the start on, also before it said anything.
#[test]
fn kills_at_any_moment() {
    let (harness, writer) = stage();
    let busy = writer.go(Reopen::Every(200));
    let mut runs = Vec::new();
    let mut rng = crate::harness::Rng::new();
    for round in 0..12 {
        let mut follower = follow(&harness, &STATE);
        if round % 2 == 0 {
            follower.until("a hit", |said| !said.hits.is_empty());
        }
        std::thread::sleep(std::time::Duration::from_millis(rng.below(60)));
        runs.push(follower.kill().hits);
        if round % 3 == 0 {
            rotate(&harness, round);
        }
    }
    let writer = busy.stop();
    let seen: std::collections::BTreeSet<_> = runs.iter().flatten().filter_map(Hit::number).collect();
    let mut follower = follow(&harness, &STATE);
    follower.until_seen((0..writer.next()).filter(|number| !seen.contains(number)));
    runs.push(follower.end().hits);
    at_least_once(&on_disk(&harness.path("log")), &runs.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
}

/// What a run appended to a file: whole hits, behind the newline that ends the half line of a run before it, and before half a line
/// of its own if it was killed.
fn appended(text: &str, is_behind_half: bool) -> Vec<Hit> {
    let text = if is_behind_half { text.strip_prefix('\n').expect("the half line goes on") } else { text };
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    whole.lines().map(|line| Hit(serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))).collect()
}

/// The same with hits that are appended to a file. `benches/kills.sh` does this for hours.
#[test]
fn kills_at_any_moment_of_runs_that_append_to_a_file() {
    let (rig, writer) = stage();
    let busy = writer.go(Reopen::Every(200));
    let path = rig.path("hits.ndjson");
    let text = || fs::read_to_string(&path).unwrap_or_default();
    let start = || {
        let file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
        Follower::start_to(&mut command(&rig, &STATE), file.into())
    };
    let (mut runs, mut dice) = (Vec::new(), crate::harness::Rng::new());
    let mut run = |before: &str| {
        let now = text();
        if now.len() > before.len() {
            runs.push(appended(&now[before.len()..], !before.is_empty() && !before.ends_with('\n')));
        }
    };
    for round in 0..12 {
        let before = text();
        let follower = start();
        if round % 2 == 0 {
            follower.until_process("a hit", |_| text().len() > before.len());
        }
        std::thread::sleep(std::time::Duration::from_millis(dice.below(60)));
        follower.kill();
        run(&before);
        if round % 3 == 0 {
            rotate(&rig, round);
        }
    }
    busy.stop();
    let disk = on_disk(&rig.path("log"));
    let before = text();
    let follower = start();
    let is_there = |text: &str, number: u64| text.contains(&format!("?n={number:0digits$}\"", digits = super::oracle::DIGITS));
    follower.until_process("each line", |_| disk.keys().all(|number| is_there(&text(), *number)));
    follower.end();
    run(&before);
    at_least_once(&disk, &runs.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
}

/// F3. The half that was read is not done: its line belongs to the next run.
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

/// F18. A run with nothing new says nothing, and the next one goes on.
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
        let idle = Follower::start(command(&harness, &STATE).env("NOTIFY_SOCKET", harness.path("ready")));
        super::actions::until_told(&socket, "READY=1");
        assert_eq!(idle.end().hits.len(), 0);
        fs::remove_file(harness.path("ready")).unwrap();
    }
    exactly_once(&on_disk(&harness.path("log")), &runs.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
}

/// F9, F10. Held by another run: 5, at once, and the other goes on. Its death lets it go.
#[test]
fn only_one_run_at_a_time() {
    let (harness, mut writer) = stage();
    let mut first = follow(&harness, &STATE);
    first.until_seen(0..10);
    let second = finish(&mut command(&harness, &STATE));
    assert_eq!((second.code, second.stdout.len()), (5, 0), "{}", second.stderr);
    assert!(second.stderr.contains("state"), "{}", second.stderr);
    writer.write(5);
    first.until_seen(10..15);
    let first = first.kill();
    writer.write(5);
    let mut third = follow(&harness, &STATE);
    third.until_seen(15..20);
    at_least_once(&on_disk(&harness.path("log")), &[&first.hits, &third.end().hits]).unwrap();
}

/// The state after a run, and its files: the state itself, and the lock.
fn with_state() -> (Harness, Vec<PathBuf>) {
    let (harness, _) = stage();
    let mut follower = follow(&harness, &STATE);
    follower.until_seen(0..10);
    follower.end();
    let entries = fs::read_dir(harness.path("state")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = entries.collect();
    assert_eq!(files.len(), 2, "{files:?}");
    (harness, files)
}

/// Tries to follow, which must be refused before anything is read.
fn refused(harness: &Harness, what: &str) -> String {
    let run = wait(crate::harness::spawn(&mut command(harness, &STATE)));
    assert_eq!((run.code, run.stdout.len()), (2, 0), "{what}: {}", run.stderr);
    run.stderr
}

/// F5. Neither from the start, which would double, nor from the end, which would lose.
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
        let file = files.iter().find(|file| file.extension().is_some_and(|name| name == "json")).unwrap();
        fs::write(file, damage(fs::read(file).unwrap())).unwrap();
        let before = fs::read(file).unwrap();
        for _ in 0..2 {
            let said = refused(&harness, what);
            assert!(said.contains("state/follow.json"), "{what}: {said}");
            assert!(said.contains("--reset-state"), "{what}: {said}");
            assert_eq!(fs::read(file).unwrap(), before, "{what}");
        }
        // Told so, it begins anew.
        let mut follower = follow(&harness, &["--reset-state", "--state", "state", "log/access.log"]);
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

/// F11, F13. What others may write to says nothing that can be relied on.
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

/// F12, K2. No link leads out of the state.
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

/// What is written is for nobody else, whatever the mask of the caller is (G12).
#[test]
fn the_state_is_private() {
    let (harness, _) = stage();
    let mut command = harness.under(&["sh", "-c", r#"umask 000; exec "$@""#, "sh"], super::follower::FOLLOW.iter().chain(&STATE));
    let mut follower = Follower::start(&mut command);
    follower.until_seen(0..10);
    follower.end();
    for entry in fs::read_dir(harness.path("state")).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", entry.path().display());
    }
    assert_eq!(fs::metadata(harness.path("state")).unwrap().permissions().mode() & 0o077, 0);
}

/// G3. A state that cannot be written is an error, not a run without one.
#[test]
fn a_state_that_cannot_be_written() {
    let (harness, _) = stage();
    if !std::path::Path::new("/proc/self").exists() {
        return skip("G3", "no /proc");
    }
    let run = finish(&mut command(&harness, &["--state", "/proc/self/state", "log/access.log"]));
    assert!([2, 4].contains(&run.code), "{}: {}", run.code, run.stderr);
    assert_eq!(run.stdout.len(), 0);
}
