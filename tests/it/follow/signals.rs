//! Signals (F3, F4): an end at a line boundary, an end at once, rules anew, a summary on request.

use std::time::Duration;

use rustix::process::Signal;

use super::follower::{Follower, command, follow};
use super::stage;
use super::writer::Writer;
use crate::harness::{self, Harness};

/// F3.
#[test]
fn term_and_int_stop_a_run_cleanly() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let (harness, mut writer) = stage();
        let mut follower = follow(&harness, &["log"]);
        follower.until_seen(0..10);
        writer.write(1);
        follower.until_seen([10]);
        let ended = follower.end_with(signal);
        assert_eq!((ended.code(), ended.said.hits.len(), ended.said.other.len()), (code, 11, 0), "{}", ended.said.notices);
    }
}

/// F3. Nobody reads, so the first cannot be obeyed; the second needs nobody.
#[test]
fn a_second_int_ends_the_process() {
    let (harness, mut writer) = stage();
    writer.write(3000);
    let follower = Follower::start_unread(&mut command(&harness, &["log"]));
    until_stuck(&follower);
    follower.signal(Signal::INT);
    // Signals of one kind are not counted: the first must have been taken before the second is sent.
    std::thread::sleep(Duration::from_millis(100));
    if follower.process_state() != 'Z' {
        follower.signal(Signal::INT);
    }
    assert_eq!(follower.ended().code(), 130);
}

/// Waits until it writes to a pipe that nobody reads: it sleeps, and takes no time any more.
pub(super) fn until_stuck(follower: &Follower) {
    let (mut before, mut calm) = (0, 0);
    follower.until_process("the pipe is full", |follower| {
        let taken = follower.processor_time();
        calm = if taken == before && taken > 0 && follower.process_state() == 'S' { calm + 1 } else { 0 };
        before = taken;
        std::thread::sleep(Duration::from_millis(10));
        calm > 40
    });
}

fn rules(paths: &str) -> String {
    format!(
        "family = \"t\"\ntitle = \"t\"\n[[rule]]\nid = \"t/door\"\ntitle = \"t\"\nclass = \"misconfig\"\nseverity = \"high\"\n\
         must_match = []\nmust_not_match = []\npaths = [{paths}]\n"
    )
}

/// F4. New rules hold for what comes; broken ones change nothing, and that is said.
#[test]
fn hup_reloads_the_rules() {
    let harness = Harness::new();
    harness.file("rules.toml", rules("\"/one\""));
    harness.file("access.log", harness::line("192.0.2.1", "GET /one/0 HTTP/1.1", 404));
    let args = ["follow", "-f", "ndjson", "--from-start", "--no-builtin", "--rules", "rules.toml", "access.log"];
    let mut follower = Follower::start(&mut harness.command(args));
    follower.until("the first rule", |said| said.hits.len() == 1);
    harness.file("rules.toml", rules("\"/one\", \"/two\""));
    follower.signal(Signal::HUP);
    let mut log = std::fs::OpenOptions::new().append(true).open(harness.path("access.log")).unwrap();
    let mut ask = |path: &str| {
        std::io::Write::write_all(&mut log, harness::line("192.0.2.1", &format!("GET {path} HTTP/1.1"), 404).as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    };
    until_known(&follower, 1, || ask("/two/1"));
    follower.until("the new rule", |said| said.hits.iter().any(|hit| hit.0["target"] == "/two/1"));
    let quiet = follower.notices();
    harness.file("rules.toml", "rule = 1\n");
    follower.signal(Signal::HUP);
    follower.until("the new rules are refused", |said| said.notices[quiet.len()..].contains("rules.toml"));
    ask("/two/2");
    follower.until("the rules before", |said| said.hits.iter().any(|hit| hit.0["target"] == "/two/2"));
    harness.file("rules.toml", rules("\"/three\""));
    follower.signal(Signal::HUP);
    let hits = follower.hits();
    until_known(&follower, hits, || ask("/three/1"));
    follower.until("rules after broken ones", |said| said.hits.iter().any(|hit| hit.0["target"] == "/three/1"));
    follower.end();
}

/// It does not say when it is done, so it is asked until it knows.
fn until_known(follower: &Follower, hits: usize, mut ask: impl FnMut()) {
    follower.until_process("new rules", |follower| {
        ask();
        follower.hits() > hits
    });
}

/// USR1, on standard error, while hits go on as lines of JSON on the other.
#[test]
fn usr1_prints_a_summary() {
    let (harness, _) = stage();
    let mut follower = follow(&harness, &["log"]);
    follower.until_seen(0..10);
    let before = follower.notices();
    follower.signal(Signal::USR1);
    follower.until("a summary", |said| said.notices[before.len()..].contains("10"));
    let first = follower.notices();
    let mut writer = Writer::from(harness.path("log/access.log"), 10);
    writer.write(5);
    follower.until_seen(10..15);
    follower.signal(Signal::USR1);
    follower.until("another", |said| said.notices[first.len()..].contains("15"));
    let said = follower.end();
    assert_eq!((said.hits.len(), said.other.len()), (15, 0), "{:?}", said.other);
    assert!(said.notices.contains("192.0.2.7"), "no client in the summary: {}", said.notices);
}

/// Signals that come together, again and again, end nothing and lose nothing.
#[test]
fn hup_and_usr1_under_load() {
    let (harness, writer) = stage();
    let mut follower = follow(&harness, &["log"]);
    follower.until_seen(0..10);
    let busy = writer.go(super::writer::Reopen::Never);
    for _ in 0..5 {
        let hits = follower.hits();
        follower.signal(Signal::USR1);
        follower.signal(Signal::HUP);
        follower.until("it goes on", |said| said.hits.len() > hits + 50);
    }
    super::settle(&harness, follower, &mut busy.stop());
}
