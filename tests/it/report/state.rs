//! The state of `report` (F5, F6, F8, F11-F13, F15, F16, F18-F20): damaged, foreign, writable by
//! others, moved, old; and `--status`, `--dry-run`, `--reset` and `--from-start`.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::harness::{Out, QUICK, Sums, entries, report, report_ok, snapshot};
use super::mounts::{self, mounting};
use super::site::{LOG, Site, numbered};
use crate::harness::{Harness, Run, is_installed, line};

const STATE: &str = "state/report.json";

/// A site with an earlier run, and five new lines.
fn site(harness: &Harness) -> Site<'_> {
    let mut site = Site::new(harness);
    site.write(10);
    site.run(&[]);
    site.write(5);
    site
}

/// Runs, which must fail before anything is read or written.
fn refused(site: &Site<'_>, args: &[&str], what: &str) -> Run {
    let before = snapshot(&site.harness.path("out"));
    let run = site.try_run(args);
    assert_eq!(
        (run.code, run.stdout.len()),
        (2, 0),
        "{what}: {}",
        run.stderr
    );
    assert!(snapshot(&site.harness.path("out")) == before, "{what}");
    run
}

/// What can be wrong with a state, and how to cause it.
type Damage = (&'static str, fn(Vec<u8>) -> Vec<u8>);

const DAMAGES: [Damage; 6] = [
    ("empty", |_| Vec::new()),
    ("torn", |bytes| bytes[..bytes.len() / 2].to_vec()),
    ("without its end", |bytes| bytes[..bytes.len() - 1].to_vec()),
    ("a flipped bit", |mut bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        bytes
    }),
    ("something else", |_| b"{}\n".to_vec()),
    ("zeros", |bytes| vec![0; bytes.len()]),
];

/// F5. Starts neither at the start, which would repeat hits, nor at the end, which would lose some.
#[test]
fn a_damaged_state_is_refused() {
    for (what, damage) in DAMAGES {
        let harness = Harness::new();
        let mut site = site(&harness);
        let good = fs::read(harness.path(STATE)).unwrap();
        let bad = damage(good.clone());
        fs::write(harness.path(STATE), &bad).unwrap();
        for args in [
            &[][..],
            &["--always"],
            &["--from-start"],
            &["--dry-run"],
            &["--status"],
        ] {
            let run = refused(&site, args, what);
            assert!(
                run.stderr.contains(STATE) && run.stderr.contains("--reset"),
                "{what} {args:?}: {}",
                run.stderr
            );
            assert!(
                !run.stderr.contains("--reset-state"),
                "that is a flag of follow: {}",
                run.stderr
            );
            assert!(fs::read(harness.path(STATE)).unwrap() == bad, "{what}");
        }
        assert!(
            fs::read(harness.path("state/report.json.bad")).unwrap() == bad,
            "{what}: a copy is kept"
        );
        // With the good state back it continues.
        fs::write(harness.path(STATE), good).unwrap();
        fs::remove_file(harness.path("state/report.json.bad")).unwrap();
        site.write(2);
        site.run(&[]);
        site.assert_complete(what);
    }
}

/// F5. With `--reset` it starts as on the first run, and its folders get new numbers.
#[test]
fn reset_starts_again() {
    for damaged in [true, false] {
        let harness = Harness::new();
        let site = site(&harness);
        let first = Out::read(&harness);
        if damaged {
            fs::write(harness.path(STATE), "").unwrap();
        }
        site.run(&["--reset"]);
        let _ = fs::remove_file(harness.path("state/report.json.bad"));
        let out = Out::read(&harness);
        assert_eq!(out.folders.len(), 2, "{:?}", out.names());
        assert_eq!(
            out.folders[0].report, first.folders[0].report,
            "what was reported stays"
        );
        assert!(out.last().name.starts_with("000002-"), "{:?}", out.names());
        out.last()
            .sums()
            .assert_same(&site.expected(), "everything is read once more");
        assert_eq!(out.latest.as_deref(), Some(out.last().name.as_str()));
        // Every path is new again.
        let paths = out
            .last()
            .rows("new.csv")
            .iter()
            .filter(|row| row["kind"] == "path")
            .count();
        assert_eq!(paths, 15);
    }
}

/// F6.
#[test]
fn leftovers_of_a_killed_run_are_removed() {
    let harness = Harness::new();
    let site = site(&harness);
    harness.file("state/report.json.tmp", "half");
    fs::create_dir(harness.path("out/.run-2.tmp")).unwrap();
    harness.file("out/.run-2.tmp/pairs.csv", "half");
    symlink("nowhere", harness.path("out/.latest.tmp")).unwrap();
    site.run(&[]);
    // Not created by probewatch.
    assert_eq!(
        fs::read_link(harness.path("out/.latest.tmp")).unwrap(),
        Path::new("nowhere")
    );
    fs::remove_file(harness.path("out/.latest.tmp")).unwrap();
    assert_eq!(
        site.assert_complete("leftovers of a killed run")
            .folders
            .len(),
        2
    );
}

/// F8. The rules differ from those of earlier runs: this is reported once, and the run continues.
#[test]
fn changed_rules() {
    let harness = Harness::new();
    let mut site = site(&harness);
    assert!(
        !site.run(&[]).stderr.contains("rules"),
        "nothing has changed"
    );
    site.write(5);
    let more = [&["--only", "dotfiles/env", LOG][..], &QUICK].concat();
    let run = report_ok(&harness, &more);
    assert_eq!(
        (run.stderr.lines().count(), run.stderr.contains("rules")),
        (1, true),
        "{}",
        run.stderr
    );
    site.write(5);
    assert!(
        !report_ok(&harness, &more).stderr.contains("rules"),
        "printed twice"
    );
    site.assert_complete("other rules that find the same");
}

/// F11, F13. A state that others may write to cannot be trusted.
#[test]
fn a_state_that_others_may_write_to() {
    let harness = Harness::new();
    let site = site(&harness);
    for (place, bits) in [
        ("state", 0o777),
        ("state", 0o720),
        (STATE, 0o666),
        (STATE, 0o620),
        ("state/report.lock", 0o666),
    ] {
        let before = fs::metadata(harness.path(place)).unwrap().permissions();
        fs::set_permissions(harness.path(place), fs::Permissions::from_mode(bits)).unwrap();
        let run = refused(&site, &[], place);
        assert!(run.stderr.contains(place), "{place}: {}", run.stderr);
        if place == "state" {
            assert!(run.stderr.contains("--insecure-state"), "{}", run.stderr);
            assert_eq!(site.try_run(&["--insecure-state", "--dry-run"]).code, 0);
        }
        fs::set_permissions(harness.path(place), before).unwrap();
    }
    site.run(&[]);
    site.assert_complete("rights that were taken away again");
}

/// F13.
#[test]
fn a_folder_of_others_may_be_trusted() {
    let harness = Harness::new();
    let site = site(&harness);
    fs::set_permissions(harness.path("state"), fs::Permissions::from_mode(0o777)).unwrap();
    site.run(&["--insecure-state"]);
    site.assert_complete("a state that others could write to");
}

/// F12, K2. Links in the state folder are not followed.
#[test]
fn links_in_the_state() {
    let harness = Harness::new();
    let site = site(&harness);
    for file in [STATE, "state/report.lock"] {
        let (target, aside) = (harness.file("target", "precious"), harness.path("aside"));
        fs::rename(harness.path(file), &aside).unwrap();
        symlink(&target, harness.path(file)).unwrap();
        let run = refused(&site, &[], file);
        assert!(
            run.stderr.contains(file) && run.stderr.contains("link"),
            "{}",
            run.stderr
        );
        assert_eq!(fs::read(&target).unwrap(), b"precious");
        fs::remove_file(harness.path(file)).unwrap();
        fs::rename(&aside, harness.path(file)).unwrap();
    }
    let target = harness.file("target", "precious");
    symlink(&target, harness.path("state/report.json.tmp")).unwrap();
    site.run(&[]);
    assert_eq!(fs::read(&target).unwrap(), b"precious");
    site.assert_complete("a link where the new state is written");
}

/// F15. Device and inode numbers are hints: the content identifies the log.
#[test]
fn logs_on_another_device() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(10);
    let old = site.harness.path("log/access.log.1");
    site.rotate();
    site.reopen();
    site.write(10);
    let run = mounts::report(&[&QUICK[..], &["log"]].concat());
    let script = format!(
        "{run}; cp -a log copy; mount -t tmpfs -o size=1m none log; cp -a copy/. log/; {run}\n\
         cat more >> log/access.log; {run}; rm -rf copy; cp -a log copy; umount log; rm -rf log; mv copy log"
    );
    let more: String = (100..103).map(numbered).collect();
    harness.file("more", &more);
    let Some(run) = mounting("F15", &harness, &script) else {
        return;
    };
    assert_eq!(run.text(), "exit 0\nexit 0\nexit 0\n", "{}", run.stderr);
    assert!(old.exists());
    fs::write(
        harness.path("all.log"),
        fs::read_to_string(harness.path("all.log")).unwrap() + &more,
    )
    .unwrap();
    assert_eq!(site.assert_complete("another device").folders.len(), 2);
}

/// F15. The same file with another inode, as in a restored backup.
#[test]
fn copied_logs() {
    let harness = Harness::new();
    let mut site = site(&harness);
    for name in ["log/access.log", "log/access.log.1"] {
        fs::copy(harness.path(LOG), harness.path("copy")).unwrap();
        fs::rename(harness.path("copy"), harness.path(LOG)).unwrap();
        site.reopen();
        site.write(2);
        site.run(&[]);
        site.assert_complete(name);
        site.rotate();
        site.reopen();
    }
}

/// F16. An older copy of a log: new lines in it are reported, with a notice that some may be
/// repeated.
#[test]
fn an_older_copy_of_a_log() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(10);
    site.run(&[]);
    fs::copy(harness.path(LOG), harness.path("backup")).unwrap();
    site.write(10);
    site.run(&[]);
    fs::copy(harness.path("backup"), harness.path(LOG)).unwrap();
    site.reopen();
    site.write(5);
    let run = site.run(&[]);
    assert_eq!(run.stderr, "", "cron would mail it after each copytruncate");
    let summary = Out::read(&harness).last().summary.clone();
    assert!(summary.contains(LOG), "missing in the summary: {summary}");
    let (sums, expected) = (Out::read(&harness).sums(), site.expected());
    assert!(
        sums.get("lines") >= expected.get("lines"),
        "lost: {} of {}",
        sums.get("lines"),
        expected.get("lines")
    );
    assert!(
        sums.get("lines") <= expected.get("lines") + 10,
        "more than the copy holds came again: {}",
        sums.get("lines")
    );
    for number in 20..25 {
        assert_eq!(hits_of(&harness, number), 1, "the new line {number}");
    }
    assert_eq!(site.run(&[]).text(), "", "and then there is nothing new");
}

/// How often the line with this number was reported.
fn hits_of(harness: &Harness, number: u64) -> u64 {
    let path = format!("/{number:07}/.git/config");
    let out = Out::read(harness);
    let rows = out
        .folders
        .iter()
        .flat_map(|folder| folder.rows("pairs.csv"))
        .filter(|row| row["path"] == path);
    rows.map(|row| super::harness::number(row, "hits")).sum()
}

/// F18. Nothing new: no folder, no output, no change.
#[test]
fn a_run_with_nothing_new() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(10);
    site.run(&[]);
    let before = snapshot(&harness.path("out"));
    for _ in 0..3 {
        let run = site.run(&[]);
        assert_eq!((run.text().as_str(), run.stderr.as_str()), ("", ""));
        assert!(snapshot(&harness.path("out")) == before);
    }
    // A folder that was requested contains an empty report.
    assert_eq!(site.run(&["--always"]).text(), "");
    let out = site.assert_complete("a folder with nothing in it");
    assert_eq!(
        (
            out.folders.len(),
            out.last().report["totals"]["lines"].as_u64()
        ),
        (2, Some(0))
    );
    assert!(out.folders[1].name.starts_with("000002-"));
}

/// F18.
#[test]
fn an_empty_log_and_a_missing_one() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    assert_eq!(site.run(&[]).text(), "");
    assert_eq!(Out::read(&harness).folders.len(), 0);
    fs::remove_file(harness.path(LOG)).unwrap();
    let run = site.try_run(&[]);
    assert!([0, 3].contains(&run.code), "{}: {}", run.code, run.stderr);
    site.reopen();
    site.write(3);
    site.run(&[]);
    site.assert_complete("a log that came");
}

/// F19. Times do not matter: all lines have the same one, with every kind of rotation.
#[test]
fn lines_of_one_second() {
    let harness = Harness::new();
    let mut site = site(&harness);
    site.rotate();
    site.write(3);
    site.reopen();
    site.write(400);
    site.run(&[]);
    site.assert_complete("renamed");
    fs::copy(harness.path(LOG), harness.path("log/access.log.0")).unwrap();
    File::options()
        .write(true)
        .open(harness.path(LOG))
        .unwrap()
        .set_len(0)
        .unwrap();
    // Longer than what was truncated, before the next run.
    site.write(600);
    site.run(&[]);
    site.assert_complete("cut and regrown");
}

/// F20. A state of a newer version is refused.
#[test]
fn a_state_of_a_newer_version() {
    let harness = Harness::new();
    let site = site(&harness);
    let state = fs::read_to_string(harness.path(STATE)).unwrap();
    let (head, rest) = state.split_once(':').unwrap();
    let newer = format!(
        "{head}:99{}",
        rest.trim_start_matches(|c: char| c.is_ascii_digit())
    );
    fs::write(harness.path(STATE), &newer).unwrap();
    let run = refused(&site, &[], "a newer version");
    assert!(
        run.stderr.contains("99") && run.stderr.contains("newer"),
        "{}",
        run.stderr
    );
    assert_eq!(fs::read_to_string(harness.path(STATE)).unwrap(), newer);
}

/// The state of `follow` in the same folder is separate.
#[test]
fn the_state_of_follow_is_not_touched() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    fs::create_dir(harness.path("state")).unwrap();
    fs::set_permissions(harness.path("state"), fs::Permissions::from_mode(0o700)).unwrap();
    harness.file("state/follow.json", "of follow");
    site.write(5);
    site.run(&[]);
    assert_eq!(
        fs::read_to_string(harness.path("state/follow.json")).unwrap(),
        "of follow"
    );
    assert_eq!(Out::read_as(&harness.path("out"), 0o600).folders.len(), 1);
}

/// Status and dry run change nothing, not even a lock.
#[test]
fn status_and_dry_run_change_nothing() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(10);
    for look in ["--status", "--dry-run"] {
        assert_eq!(site.try_run(&[look]).code, 0, "{look}");
        assert!(
            entries(&harness.path("out")).is_empty() && entries(&harness.path("state")).is_empty(),
            "{look} created a file"
        );
    }
    site.run(&[]);
    site.write(5);
    let before = (
        snapshot(&harness.path("state")),
        snapshot(&harness.path("out")),
    );
    let status = site.run(&["--status"]).text();
    assert!(status.contains(LOG), "{status}");
    let dry = site.run(&["--dry-run"]);
    assert!(
        dry.text().contains('5') && !dry.text().contains("15"),
        "what a run would report: {}",
        dry.text()
    );
    assert!(
        before
            == (
                snapshot(&harness.path("state")),
                snapshot(&harness.path("out"))
            )
    );
    assert!(fs::metadata(harness.path("out/latest")).is_ok());
    site.run(&[]);
    site.assert_complete("after --status");
}

/// `--status` prints how far each log was read and how many bytes are left.
#[test]
fn status_shows_the_lag() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(10);
    site.run(&[]);
    let (calm, length) = (site.run(&["--status"]).text(), numbered(10).len());
    site.write(1);
    let lagging = site.run(&["--status"]).text();
    assert_ne!(calm, lagging, "one line more to read makes no difference");
    assert!(
        lagging.contains(&length.to_string()),
        "{length} bytes are not read: {lagging}"
    );
    // A removed log is still listed.
    fs::remove_file(harness.path(LOG)).unwrap();
    assert!(site.run(&["--status"]).text().contains(LOG));
}

/// The first run reads only the given files.
#[test]
fn the_first_run_reads_the_given_logs() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(10);
    site.rotate();
    site.reopen();
    site.write(5);
    site.run(&[]);
    assert_eq!(Out::read(&harness).sums().get("hits"), 5);
    // And later, files that existed then are old.
    site.write(5);
    site.rotate();
    site.reopen();
    site.write(5);
    site.run(&[]);
    assert_eq!(Out::read(&harness).sums().get("hits"), 15);
}

/// Each of several names of one log, and more logs, once each.
#[test]
fn logs_with_several_names_are_read_once() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(10);
    site.rotate();
    site.reopen();
    site.write(5);
    symlink("access.log", harness.path("log/link.log")).unwrap();
    fs::hard_link(harness.path(LOG), harness.path("log/hard.log")).unwrap();
    let args = [
        &QUICK[..],
        &[
            "log/access.log",
            "log/access.log",
            "log/link.log",
            "log/hard.log",
            "log",
            "log/*",
        ],
    ]
    .concat();
    for _ in 0..2 {
        report_ok(&harness, &args);
        site.assert_complete("several names");
        site.write(5);
    }
}

/// F3. An incomplete line is reported when it is complete, and its first part counts as pending.
#[test]
fn a_partly_written_line() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(5);
    for bytes in [1, 30, 80] {
        site.begin_line(bytes);
        site.run(&[]);
        let before = snapshot(&harness.path("out"));
        assert_eq!(site.run(&[]).text(), "", "half a line is nothing new");
        assert!(snapshot(&harness.path("out")) == before);
        site.assert_complete("half a line");
        site.finish_line();
        site.run(&[]);
        site.assert_complete("and its other half");
        site.write(2);
    }
}

/// A rotated log whose last line has no newline: after a while nothing more can follow.
#[test]
fn the_last_line_of_a_rotated_log_needs_no_newline() {
    let harness = Harness::new();
    let mut site = site(&harness);
    site.begin_line(60);
    site.rotate();
    site.drop_line();
    site.reopen();
    site.write(2);
    site.run(&[]);
    let lines = Out::read(&harness).sums().get("lines");
    assert_eq!(lines, 17);
    let old = File::options()
        .append(true)
        .open(harness.path("log/access.log.1"))
        .unwrap();
    old.set_modified(SystemTime::now() - Duration::from_secs(3600))
        .unwrap();
    site.run(&[]);
    assert_eq!(
        Out::read(&harness).sums().get("lines"),
        18,
        "the half line is a line"
    );
    site.write(1);
    site.run(&[]);
    assert_eq!(Out::read(&harness).sums().get("lines"), 19, "and once");
}

/// E27. Times of files, of lines and in names do not matter.
#[test]
fn clocks_that_jump() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(10);
    site.run(&[]);
    for (seconds, year) in [
        (0, "1970"),
        (4_102_444_800, "2100"),
        (1_000_000_000, "2001"),
    ] {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        site.write(5);
        site.put(&numbered(site.lines() + 1_000).replace("/Nov/2026:", &format!("/Nov/{year}:")));
        File::options()
            .append(true)
            .open(harness.path(LOG))
            .unwrap()
            .set_modified(time)
            .unwrap();
        // The clock of the last run was wrong.
        let out = Out::read(&harness);
        let last = out.last().name.clone();
        let other = format!("{}-{year}0101T000000Z", last.split('-').next().unwrap());
        fs::rename(
            harness.path("out").join(&last),
            harness.path("out").join(&other),
        )
        .unwrap();
        site.run(if year == "1970" {
            &[]
        } else {
            &["--keep", "36500d"]
        });
        let out = site.assert_complete(year);
        assert_eq!(
            out.latest.as_deref(),
            Some(out.last().name.as_str()),
            "{year}"
        );
        site.rotate();
        site.reopen();
    }
    assert_eq!(Out::read(&harness).folders.len(), 4);
}

/// The change time, which no tool can set back.
fn changed(path: &Path) -> SystemTime {
    SystemTime::UNIX_EPOCH
        + Duration::from_secs(fs::metadata(path).unwrap().ctime().unsigned_abs() + 1)
}

/// A damaged input results in 3, does not stop the others, and does not count again.
#[test]
fn a_damaged_input_does_not_stop_the_others() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(10);
    fs::create_dir(harness.path("bad")).unwrap();
    let broken = harness.file(
        "bad/broken.gz",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03broken",
    );
    // One that has just changed may still be being written.
    while !SystemTime::now()
        .duration_since(changed(&broken))
        .is_ok_and(|since| since >= Duration::from_secs(2))
    {
        std::thread::sleep(Duration::from_millis(50));
    }
    let args = [&QUICK[..], &[LOG, "bad/broken.gz", "bad/gone.log"]].concat();
    let run = report(&harness, &args);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(
        run.stderr.contains("bad/broken.gz") && run.stderr.contains("bad/gone.log"),
        "{}",
        run.stderr
    );
    let out = Out::read(&harness);
    assert_eq!(out.sums().get("hits"), 10);
    let named = |name: &str| {
        out.last().report["inputs"]
            .as_array()
            .unwrap()
            .iter()
            .any(|i| i["path"] == name && i["problem"].is_string())
    };
    assert!(named("bad/broken.gz"), "{}", out.last().report["inputs"]);
    site.write(5);
    report(&harness, &args);
    assert_eq!(Out::read(&harness).sums().get("hits"), 15);
}

/// A compressed log that is given by itself is read once, whatever its name is later.
#[test]
fn a_compressed_log_given_by_itself() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(10);
    site.rotate();
    site.pack(1);
    for name in ["log/access.log.1.gz", "log/access.log.2.gz"] {
        report_ok(&harness, &[&QUICK[..], &[name]].concat());
        site.assert_complete(name);
        let _ = fs::rename(
            harness.path("log/access.log.1.gz"),
            harness.path("log/access.log.2.gz"),
        );
    }
}

/// K4. Lines of logs are in reports, never in notices or in the state, which has the paths of
/// listed answers alone.
#[test]
fn the_state_holds_no_line() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.put(&line(
        "192.0.2.1",
        "GET /shop/.git/config?q=s3cr3t-in-a-line&token=s3cr3t HTTP/1.1",
        200,
    ));
    site.put("s3cr3t is no line of any log\n");
    let run = site.run(&[]);
    assert!(!run.stderr.contains("s3cr3t"), "{}", run.stderr);
    for (name, _) in entries(&harness.path("state")) {
        let bytes = fs::read(harness.path("state").join(&name)).unwrap();
        assert!(memchr::memmem::find(&bytes, b"s3cr3t").is_none(), "{name}");
    }
    let out = Out::read(&harness);
    assert!(
        !out.last().summary.contains("token=s3cr3t"),
        "a secret in the summary"
    );
    Sums::of([&out.last().report]).assert_same(&site.expected(), "odd lines");
}

/// F13. Nothing is read if the folder is not trusted, also for other users than its owner.
#[test]
fn a_folder_that_belongs_to_another_user() {
    let harness = Harness::new();
    let site = site(&harness);
    if !rustix::process::geteuid().is_root() || !is_installed("setpriv") {
        return crate::harness::skip("F13, another user", "needs root");
    }
    std::os::unix::fs::chown(harness.path("state"), Some(65534), None).unwrap();
    let run = refused(&site, &[], "of another user");
    assert!(run.stderr.contains("another user"), "{}", run.stderr);
}

/// A state with changed values, as `report` would write it.
fn rewritten(state: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut whole: Value = serde_json::from_slice(state).unwrap();
    change(&mut whole["state"]);
    let (version, body) = (
        whole["probewatch-state"].as_u64().unwrap(),
        whole["state"].to_string(),
    );
    let checksum = xxh3_64_with_seed(body.as_bytes(), version);
    format!(
        "{{\"probewatch-state\":{version},\"checksum\":\"{checksum:016x}\",\"state\":{body}}}\n"
    )
    .into_bytes()
}

/// F17. Deleted logs do not slow down runs, and are dropped from the state after sixty days.
#[test]
fn a_hundred_thousand_deleted_logs() {
    let harness = Harness::new();
    let mut site = site(&harness);
    let state = rewritten(&fs::read(harness.path(STATE)).unwrap(), |state| {
        let known = state["logs"]["checkpoints"][0].clone();
        let mut absent = serde_json::Map::new();
        let logs = state["logs"]["checkpoints"].as_array_mut().unwrap();
        for number in 1..100_000_u64 {
            let mut gone = known.clone();
            gone["generation"] = number.into();
            gone["path"] = format!("{}/gone/{number}.log", harness.path("").display()).into();
            gone["inode"] = (1_000_000_000 + number).into();
            gone["head"]["hash"] = number.into();
            logs.push(gone);
            absent.insert(number.to_string(), 1.into());
        }
        // One is missing since yesterday.
        let yesterday = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_secs()
            - 24 * 60 * 60;
        absent.insert("7".into(), yesterday.into());
        state["logs"]["absent"] = absent.into();
    });
    fs::write(harness.path(STATE), state).unwrap();
    let start = Instant::now();
    site.run(&[]);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    let left: Value = serde_json::from_slice(&fs::read(harness.path(STATE)).unwrap()).unwrap();
    assert_eq!(
        left["state"]["logs"]["checkpoints"]
            .as_array()
            .unwrap()
            .len(),
        2,
        "the log, and the one that is missing since yesterday"
    );
    assert_eq!(
        left["state"]["logs"]["absent"].as_object().unwrap().len(),
        1
    );
    site.write(5);
    site.run(&[]);
    site.assert_complete("a state with many logs");
}
