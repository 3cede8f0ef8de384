//! Signals (F3, F4): a clean stop, an immediate end, a reload of rules, a summary.

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
        assert_eq!(
            (
                ended.code(),
                ended.output.hits.len(),
                ended.output.other.len()
            ),
            (code, 11, 0),
            "{}",
            ended.output.notices
        );
    }
}

/// F3. With a full pipe the first signal cannot stop the run; the second one ends the process.
#[test]
fn a_second_int_ends_the_process() {
    let (harness, mut writer) = stage();
    writer.write(3000);
    let follower = Follower::start_unread(&mut command(&harness, &["log"]));
    until_stuck(&follower);
    follower.signal(Signal::INT);
    // Signals of one kind are not queued: the first must have been handled before the second is
    // sent.
    std::thread::sleep(Duration::from_millis(100));
    if follower.process_state() != 'Z' {
        follower.signal(Signal::INT);
    }
    assert_eq!(follower.ended().code(), 130);
}

/// Waits until it blocks in a write: it sleeps and uses no CPU time.
pub(super) fn until_stuck(follower: &Follower) {
    let (mut before, mut calm) = (0, 0);
    follower.until_process("the pipe is full", |follower| {
        let taken = follower.processor_time();
        calm = if taken == before && taken > 0 && follower.process_state() == 'S' {
            calm + 1
        } else {
            0
        };
        before = taken;
        std::thread::sleep(Duration::from_millis(10));
        calm > 40
    });
}

fn rule(name: &str, paths: &str) -> String {
    format!(
        "family = \"t\"\ntitle = \"t\"\n[[rule]]\nid = \"t/{name}\"\ntitle = \"t\"\nclass = \"misconfig\"\nseverity = \"high\"\n\
         must_match = []\nmust_not_match = []\npaths = [{paths}]\n"
    )
}

/// F4. New rules apply to later lines; invalid ones change nothing, and an error is printed.
#[test]
fn hup_reloads_the_rules() {
    let harness = Harness::new();
    harness.file("rules.toml", rule("door", "\"/one\""));
    harness.file(
        "access.log",
        harness::line("192.0.2.1", "GET /one/0 HTTP/1.1", 404),
    );
    let args = [
        "follow",
        "-f",
        "ndjson",
        "--from-start",
        "--no-builtin",
        "--rules",
        "rules.toml",
        "access.log",
    ];
    let mut follower = Follower::start(&mut harness.command(args));
    follower.until("the first rule", |result| result.hits.len() == 1);
    harness.file("rules.toml", rule("door", "\"/one\", \"/two\""));
    follower.signal(Signal::HUP);
    let mut log = std::fs::OpenOptions::new()
        .append(true)
        .open(harness.path("access.log"))
        .unwrap();
    let mut request = |path: &str| {
        std::io::Write::write_all(
            &mut log,
            harness::line("192.0.2.1", &format!("GET {path} HTTP/1.1"), 404).as_bytes(),
        )
        .unwrap();
        std::thread::sleep(Duration::from_millis(20));
    };
    until_known(&follower, 1, || request("/two/1"));
    follower.until("the new rule", |result| {
        result.hits.iter().any(|hit| hit.0["target"] == "/two/1")
    });
    let quiet = follower.notices();
    harness.file("rules.toml", "rule = 1\n");
    follower.signal(Signal::HUP);
    follower.until("the new rules are refused", |result| {
        result.notices[quiet.len()..].contains("rules.toml")
    });
    request("/two/2");
    follower.until("the rules before", |result| {
        result.hits.iter().any(|hit| hit.0["target"] == "/two/2")
    });
    harness.file("rules.toml", rule("gate", "\"/three\""));
    follower.signal(Signal::HUP);
    let hits = follower.hits();
    until_known(&follower, hits, || request("/three/1"));
    // The rule has the number of the one before.
    let is_gate =
        |hit: &serde_json::Value| hit["target"] == "/three/1" && hit["rules"][0] == "t/gate";
    follower.until("rules after broken ones", |result| {
        result.hits.iter().any(|hit| is_gate(&hit.0))
    });
    follower.end();
}

/// It does not print when it has reloaded, so the test sends requests until it has.
fn until_known(follower: &Follower, hits: usize, mut request: impl FnMut()) {
    follower.until_process("new rules", |follower| {
        request();
        follower.hits() > hits
    });
}

/// USR1 prints to standard error, while hits continue as JSON lines on standard output.
#[test]
fn usr1_prints_a_summary() {
    let (harness, _) = stage();
    let mut follower = follow(&harness, &["log"]);
    follower.until_seen(0..10);
    let before = follower.notices();
    follower.signal(Signal::USR1);
    follower.until("a summary", |result| {
        result.notices[before.len()..].contains("10")
    });
    let first = follower.notices();
    let mut writer = Writer::from(harness.path("log/access.log"), 10);
    writer.write(5);
    follower.until_seen(10..15);
    follower.signal(Signal::USR1);
    follower.until("another", |result| {
        result.notices[first.len()..].contains("15")
    });
    let result = follower.end();
    assert_eq!(
        (result.hits.len(), result.other.len()),
        (15, 0),
        "{:?}",
        result.other
    );
    assert!(
        result.notices.contains("192.0.2.7"),
        "no client in the summary: {}",
        result.notices
    );
}

/// Many signals at the same time stop nothing and lose nothing.
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
        follower.until("it goes on", |result| result.hits.len() > hits + 50);
    }
    super::assert_complete(&harness, follower, &mut busy.stop());
}
