//! Grades of answers while a log is followed: alerts for sites that answer anything and for a lone answer, and the last grades of
//! a log that was read to its end.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;

use proptest::prelude::*;
use serde_json::Value;

use super::actions::objects;
use super::follower::{Follower, Said};
use crate::answers::generated::any_log;
use crate::answers::probes::PATHS;
use crate::harness::{Harness, line, sized};

/// Follows `access.log` from its start, with alerts in a file.
fn follow(harness: &Harness) -> Follower {
    Follower::start(&mut harness.command(["follow", "-f", "ndjson", "--from-start", "--alert-file", "alerts", "access.log"]))
}

fn append(harness: &Harness, text: &str) {
    let mut log = OpenOptions::new().append(true).create(true).open(harness.path("access.log")).unwrap();
    log.write_all(text.as_bytes()).unwrap();
}

/// The latest answer that was reported for each line.
fn answers<'h>(hits: impl IntoIterator<Item = &'h Value>) -> BTreeMap<u64, Value> {
    hits.into_iter().map(|hit| (hit["line"].as_u64().unwrap(), hit["answer"].clone())).collect()
}

fn answers_of(said: &Said) -> BTreeMap<u64, Value> {
    answers(said.hits.iter().map(|hit| &hit.0))
}

/// Probes for unlike paths, all answered with 200. Ten clients of one network are no campaign, and none of them requests so many
/// paths that it raises an alert of its own.
fn answered_probes(size: impl Fn(usize, &str) -> u64) -> Vec<String> {
    let probe = |(n, path): (usize, &&str)| {
        let request = format!("GET {path} HTTP/1.1");
        sized(&line(&format!("198.51.100.{}", n % 10), &request, 200), size(n, path))
    };
    PATHS.iter().enumerate().map(probe).collect()
}

/// The first answer may be content; the later ones show that it is not.
#[test]
fn a_soft_404_site_raises_one_alert_at_most() {
    let sites = [
        ("one size", answered_probes(|_, _| 612)),
        ("an echo", answered_probes(|_, path| 1_300 + path.len() as u64)),
        ("a token", answered_probes(|n, _| 2_100 + (n * 7 % 13) as u64)),
    ];
    for (name, lines) in sites {
        let harness = Harness::new();
        harness.file("whole.log", lines.concat());
        let hits = answers(&harness.run(["scan", "-f", "ndjson", "whole.log"]).objects()).len();
        assert!(hits >= 60, "{hits}");
        append(&harness, &lines[0]);
        let mut follower = follow(&harness);
        // Graded while nothing else is known of the site.
        follower.until("the first probe", |said| !said.hits.is_empty());
        append(&harness, &lines[1..].concat());
        follower.until("all probes", |said| answers_of(said).len() == hits);
        follower.end();
        let alerts = objects(&harness.path("alerts"));
        assert!(alerts.len() <= 1, "{name}: {alerts:#?}");
    }
}

/// The alert needs no second line.
#[test]
fn a_single_answer_raises_an_alert_at_once() {
    let harness = Harness::new();
    harness.file("access.log", "");
    let mut follower = follow(&harness);
    append(&harness, &line("192.0.2.1", "GET /.env HTTP/1.1", 200));
    follower.until_process("an alert", |_| !objects(&harness.path("alerts")).is_empty());
    follower.until("the hit", |said| said.hits.len() == 1);
    let said = follower.end();
    assert_eq!(answers_of(&said), BTreeMap::from([(1, "distinct".into())]));
    let alerts = objects(&harness.path("alerts"));
    assert_eq!((alerts.len(), &alerts[0]["kind"]), (1, &"answered".into()), "{alerts:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn grades_at_the_end_agree_with_a_scan(lines in any_log(1..4, 5..60)) {
        let harness = Harness::new();
        harness.file("access.log", lines.concat());
        let expected = answers(&harness.run(["scan", "-f", "ndjson", "access.log"]).objects());
        let mut follower = follow(&harness);
        follower.until("every hit of the scan", |said| {
            let seen = answers_of(said);
            expected.keys().all(|line| seen.contains_key(line))
        });
        let mut found = answers_of(&follower.end());
        found.retain(|line, answer| answer != "uncertain" || !expected.contains_key(line));
        for (line, answer) in found {
            prop_assert_eq!(Some(&answer), expected.get(&line), "line {}: {}", line, lines[line as usize - 1]);
        }
    }
}
