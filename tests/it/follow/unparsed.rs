//! Logs whose lines do not parse, and files that are not logs: each is reported once, and the lines
//! of the former are matched.

use std::fs::OpenOptions;
use std::io::Write as _;

use super::follower::{Follower, FollowerOutput};
use crate::harness::{Harness, line};

const ODD: &str = "at ten somebody sent GET /.git/config to us\n";
const ERROR: &str = "2026/11/22 10:00:00 [error] 12#12: *3 open() \"/srv/.git/config\" failed, client: 192.0.2.7, request: \"GET /.git/config HTTP/1.1\"\n";

fn append(harness: &Harness, name: &str, text: &str) {
    OpenOptions::new()
        .append(true)
        .open(harness.path(name))
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

#[test]
fn logs_that_do_not_parse_are_reported_at_the_start_and_matched() {
    let harness = Harness::new();
    std::fs::create_dir(harness.path("logs")).unwrap();
    harness.file("logs/access.log", line("192.0.2.1", "GET / HTTP/1.1", 200));
    harness.file("logs/access-odd.log", ODD);
    harness.file("logs/error.log", ERROR);
    harness.file(
        "logs/random.log",
        (0..2000_u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect::<Vec<_>>(),
    );
    let mut follower = Follower::start(
        &mut harness.command(["follow", "-f", "ndjson", "--only", "vcs/git", "logs"]),
    );
    let named = |output: &FollowerOutput, name: &str, what: &str| {
        output
            .notices
            .lines()
            .any(|line| line.contains(name) && line.contains(what))
    };
    follower.until("each is reported before a line is written", |output| {
        named(output, "access-odd.log", "none of its 1 lines")
            && named(output, "error.log", "a server's error log")
            && named(output, "random.log", "binary")
    });
    append(&harness, "logs/error.log", ERROR);
    append(&harness, "logs/random.log", &ODD.repeat(2));
    append(&harness, "logs/access-odd.log", ODD);
    follower.until("a line of the log is matched", |output| {
        !output.hits.is_empty()
    });
    append(
        &harness,
        "logs/access.log",
        &line("192.0.2.1", "GET /.git/config HTTP/1.1", 404),
    );
    follower.until("and so is one that parses", |output| output.hits.len() > 1);
    let notices = follower.notices();
    for name in ["access-odd.log", "error.log", "random.log"] {
        assert_eq!(
            notices.matches(&format!("{name}: ")).count(),
            1,
            "{notices}"
        );
    }
    assert!(!notices.contains("access.log: "), "{notices}");
    let sources = |output: &FollowerOutput| {
        output
            .hits
            .iter()
            .map(|hit| hit.0["source"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    follower.until("nothing else is", |output| {
        sources(output) == ["logs/access-odd.log", "logs/access.log"]
    });
}

/// The layout of a log is discovered in what stands in it, and again with each line while these are
/// few.
#[test]
fn a_live_log_in_another_layout_is_read() {
    let line = |second: u32, status: u16| {
        format!(
            "2026-11-22 10:00:{second:02} | 192.0.2.{second} | GET /.git/config | {status} | 153\n"
        )
    };
    let harness = Harness::new();
    harness.file("app.log", "");
    let mut follower = Follower::start(&mut harness.command([
        "follow",
        "-f",
        "ndjson",
        "--from-start",
        "--only",
        "vcs/git",
        "app.log",
    ]));
    for second in 1..6 {
        append(&harness, "app.log", &line(second, 400 + second as u16));
        follower.until("each line is read", |output| {
            output.hits.len() == second as usize
        });
    }
    let output = follower.end();
    for (hit, second) in output.hits.iter().zip(1_u64..) {
        let expected = (
            format!("192.0.2.{second}"),
            400 + second,
            format!("2026-11-22T10:00:{second:02}+00:00"),
        );
        let found = (
            hit.0["client"].as_str().unwrap(),
            hit.0["status"].as_u64().unwrap(),
            hit.0["time"].as_str().unwrap(),
        );
        assert_eq!(found, (&*expected.0, expected.1, &*expected.2));
    }
    assert_eq!(
        output.notices.matches("is read as").count(),
        1,
        "{}",
        output.notices
    );
}
