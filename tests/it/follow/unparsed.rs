//! Logs whose lines do not parse, and files that are no logs: each is named once, and the lines of the former are matched.

use std::fs::OpenOptions;
use std::io::Write as _;

use super::follower::{Follower, Said};
use crate::harness::{Harness, line};

const ODD: &str = "22 Nov 10:00 | 192.0.2.7 | GET /.git/config | 404\n";
const ERROR: &str =
    "2026/11/22 10:00:00 [error] 12#12: *3 open() \"/srv/.git/config\" failed, client: 192.0.2.7, request: \"GET /.git/config HTTP/1.1\"\n";

fn append(harness: &Harness, name: &str, text: &str) {
    OpenOptions::new().append(true).open(harness.path(name)).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn logs_that_do_not_parse_are_reported_at_the_start_and_matched() {
    let harness = Harness::new();
    std::fs::create_dir(harness.path("logs")).unwrap();
    harness.file("logs/access.log", line("192.0.2.1", "GET / HTTP/1.1", 200));
    harness.file("logs/odd.log", ODD);
    harness.file("logs/error.log", ERROR);
    harness.file("logs/random.log", (0..2000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<_>>());
    let mut follower = Follower::start(&mut harness.command(["follow", "-f", "ndjson", "--only", "vcs/git", "logs"]));
    let named = |said: &Said, name: &str, what: &str| said.notices.lines().any(|line| line.contains(name) && line.contains(what));
    follower.until("each is named before a line comes", |said| {
        named(said, "odd.log", "none of its 1 lines")
            && named(said, "error.log", "a server's error log")
            && named(said, "random.log", "binary")
    });
    append(&harness, "logs/error.log", ERROR);
    append(&harness, "logs/random.log", &ODD.repeat(2));
    append(&harness, "logs/odd.log", ODD);
    follower.until("a line of the log is matched", |said| !said.hits.is_empty());
    append(&harness, "logs/access.log", &line("192.0.2.1", "GET /.git/config HTTP/1.1", 404));
    follower.until("and so is one that parses", |said| said.hits.len() > 1);
    let notices = follower.notices();
    for name in ["odd.log", "error.log", "random.log"] {
        assert_eq!(notices.matches(&format!("{name}: ")).count(), 1, "{notices}");
    }
    assert!(!notices.contains("access.log: "), "{notices}");
    let sources = |said: &Said| said.hits.iter().map(|hit| hit.0["source"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    follower.until("nothing else is", |said| sources(said) == ["logs/odd.log", "logs/access.log"]);
}
