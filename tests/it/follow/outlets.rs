//! Standard output that is full, closed or slow (E25, G2, G4, G6, G7, G14), and the output for
//! people.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::process::Stdio;

use rustix::process::Signal;

use super::follower::{FOLLOW, Follower, command, follow};
use super::oracle::{Hit, at_least_once, on_disk};
use super::signals::until_stuck;
use super::stage;
use crate::harness::{Harness, is_installed, line, skip};

/// G2.
#[test]
fn a_full_device() {
    let (harness, _) = stage();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = Follower::start_to(&mut command(&harness, &["log"]), full.into()).ended();
    assert_eq!(ended.code(), 4, "{}", ended.output.notices);
    assert!(!ended.output.notices.is_empty());
}

/// G4, G14. The disk is full in the middle of a line; what was not written completely is reported
/// by the next run.
#[test]
fn a_disk_that_fills_up() {
    if !is_installed("prlimit") {
        return skip("G14", "there is no prlimit");
    }
    let (harness, mut writer) = stage();
    writer.write(490);
    let args = ["--state", "state", "log/access.log"];
    let output = harness.path("out");
    let file = File::create(&output).unwrap();
    let mut limited = harness.under(&["prlimit", "--fsize=50001"], FOLLOW.iter().chain(&args));
    let ended = Follower::start_to(&mut limited, file.into()).ended();
    assert_eq!(ended.code(), 4, "{}", ended.output.notices);
    let text = fs::read_to_string(&output).unwrap();
    // A partial line at the end does not report its hit.
    let first: Vec<Hit> = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| Hit(serde_json::from_str(line).unwrap()))
        .collect();
    assert!(!first.is_empty() && first.len() < 500, "{}", first.len());
    let mut follower = follow(&harness, &args);
    follower.until_seen(first.len() as u64..500);
    at_least_once(
        &on_disk(&harness.path("log")),
        &[&first, &follower.end().hits],
    )
    .unwrap();
}

/// G6. The reader closes the pipe between two lines: no error is printed, and the rest is reported
/// by the next run.
#[test]
fn a_reader_that_closes_the_pipe() {
    let (harness, _) = stage();
    fs::write(harness.path("log/access.log"), "").unwrap();
    let args = ["--state", "state", "log/access.log"];
    let mut follower = Follower::start_unread(&mut command(&harness, &args));
    follower.hang_up();
    let mut writer = super::Writer::open(harness.path("log/access.log"));
    writer.write(5);
    let ended = follower.ended();
    assert_eq!((ended.code(), ended.output.notices.as_str()), (141, ""));
    let mut follower = follow(&harness, &args);
    follower.until_seen(0..5);
    assert_eq!(follower.end().hits.len(), 5);
}

/// G7. No descriptor of the process replaces a closed one, and no hit is lost in one.
#[test]
fn closed_streams() {
    for closed in [">&-", "2>&-", ">&- 2>&-"] {
        let (harness, _) = stage();
        let before = fs::read(harness.path("log/access.log")).unwrap();
        let line = format!(
            r#"exec "$0" {} --state state log/access.log {closed}"#,
            FOLLOW.join(" ")
        );
        let mut follower = Follower::start(&mut harness.shell(&line));
        if closed.starts_with('>') {
            assert_eq!(follower.ended().code(), 4, "{closed}");
            assert!(!harness.path("state/follow.json").exists(), "{closed}");
            continue;
        }
        follower.until_seen(0..10);
        assert_eq!(follower.end_with(Signal::TERM).code(), 143, "{closed}");
        assert_eq!(fs::read(harness.path("log/access.log")).unwrap(), before);
        let state = fs::read_to_string(harness.path("state/follow.json")).unwrap();
        assert!(!state.contains("n=00000"), "{closed}: {state}");
    }
}

/// E25. The log is the buffer: a slow reader stops the reading.
#[test]
fn a_slow_reader() {
    const LINES: u64 = 8000;
    let (harness, mut writer) = stage();
    let mut follower = Follower::start_unread(&mut command(&harness, &["log"]));
    follower.until_process("it is up", |follower| {
        follower.processor_time() > 0 && follower.memory("VmRSS") > 5_000
    });
    // 32 MB in long lines.
    let mut log = OpenOptions::new()
        .append(true)
        .open(harness.path("log/access.log"))
        .unwrap();
    let agent = "x".repeat(4000);
    for n in writer.next()..LINES {
        log.write_all(
            super::writer::line(n)
                .replace("Mozilla/5.0", &agent)
                .as_bytes(),
        )
        .unwrap();
    }
    until_stuck(&follower);
    let most = follower.memory("VmHWM");
    follower.read();
    follower.until_seen(0..LINES);
    writer = super::Writer::from(harness.path("log/access.log"), LINES);
    let all = follower.memory("VmHWM");
    super::assert_complete(&harness, follower, &mut writer);
    assert!(
        most < 150_000 && all < 150_000,
        "{most} kB before it was read, {all} kB after"
    );
}

/// One line per hit, escaped for terminals, and a summary at the end.
#[test]
fn prints_lines_and_a_summary() {
    let harness = Harness::new();
    let hostile = line(
        "192.0.2.66",
        "GET /.git/config?x=\u{1b}[2J\u{202e}evil\u{9b}31m HTTP/1.1",
        404,
    );
    harness.file(
        "access.log",
        line("192.0.2.1", "GET /.git/config HTTP/1.1", 404) + &hostile,
    );
    let mut follower =
        Follower::start(&mut harness.command(["follow", "--from-start", "access.log"]));
    follower.until("two lines", |result| {
        ["192.0.2.1 ", "192.0.2.66"]
            .iter()
            .all(|client| result.other.iter().any(|line| line.contains(client)))
    });
    let before = follower.lines();
    let result = follower.end();
    let text = result.other.concat();
    let acts = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(
        !text.contains(acts) && text.contains(r"\x1b[2J"),
        "{text:?}"
    );
    assert!(result.other.len() > before, "no summary: {text}");
}

/// Repeats of one client and rule are printed as a count after the client was idle; with
/// `--fold off` each is a line.
#[test]
fn repeats_are_folded() {
    for (fold, whole) in [("on", false), ("off", true)] {
        let harness = Harness::new();
        let text: String = (0..40)
            .map(|n| {
                line(
                    "192.0.2.5",
                    &format!("GET /.git/config?n={n} HTTP/1.1"),
                    404,
                )
            })
            .collect();
        harness.file("access.log", text);
        let args = [
            "follow",
            "--from-start",
            "--fold",
            fold,
            "--quiet-for",
            "500ms",
            "access.log",
        ];
        let mut follower = Follower::start(&mut harness.command(args));
        let of_client = |lines: &[String]| {
            lines
                .iter()
                .filter(|line| line.contains("192.0.2.5"))
                .count()
        };
        if whole {
            follower.until("each of them", |result| of_client(&result.other) >= 40);
        } else {
            follower.until("the count", |result| {
                result
                    .other
                    .iter()
                    .any(|line| line.contains("39") && line.contains("192.0.2.5"))
            });
            assert!(follower.lines() < 10);
        }
        follower.end();
    }
}

/// Usage errors are reported immediately.
#[test]
fn inputs_that_cannot_be_followed_are_refused() {
    let harness = Harness::new();
    for args in [
        ["follow", "--poll-interval=never", "log"],
        ["follow", "--no-such-option", "log"],
        ["follow", "-f", "csv"],
    ] {
        let mut command = harness.command(args);
        let ended = Follower::start(command.stdin(Stdio::null())).ended();
        assert_eq!(ended.code(), 2, "{args:?}: {}", ended.output.notices);
    }
}

/// After `kill -9` in the middle of a line, the next run starts a new line and prints the partial
/// one completely.
#[test]
fn a_partial_line_of_a_killed_run_is_ended() {
    let (harness, mut writer) = stage();
    writer.write(3);
    fs::write(harness.path("out"), "{\"id\":\"half").unwrap();
    let output = OpenOptions::new()
        .append(true)
        .open(harness.path("out"))
        .unwrap();
    let args = ["--state", "state", "--from-start", "log/access.log"];
    let follower = Follower::start_to(&mut command(&harness, &args), output.into());
    let whole = |text: &str| {
        text.lines()
            .filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
            .count()
    };
    follower.until_process("three whole hits", |_| {
        fs::read_to_string(harness.path("out")).is_ok_and(|text| whole(&text) >= 3)
    });
    follower.end();
    let text = fs::read_to_string(harness.path("out")).unwrap();
    assert!(text.starts_with("{\"id\":\"half\n"), "{text}");
    assert_eq!(whole(&text), text.lines().count() - 1);
}
