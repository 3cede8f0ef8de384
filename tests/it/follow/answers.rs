//! Grades of answers while a log is followed: alerts for sites that answer anything, alerts for
//! single answers, and the final grades of a log.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;

use proptest::prelude::*;
use serde_json::Value;

use super::actions::objects;
use super::follower::{Follower, FollowerOutput};
use crate::answers::generated::any_log;
use crate::answers::probes::PATHS;
use crate::harness::{Harness, line, sized};

/// Follows `access.log` from its start, with alerts in a file.
fn follow(harness: &Harness) -> Follower {
    Follower::start(&mut harness.command([
        "follow",
        "-f",
        "ndjson",
        "--from-start",
        "--alert-file",
        "alerts",
        "access.log",
    ]))
}

fn append(harness: &Harness, text: &str) {
    let mut log = OpenOptions::new()
        .append(true)
        .create(true)
        .open(harness.path("access.log"))
        .unwrap();
    log.write_all(text.as_bytes()).unwrap();
}

/// The latest reported grade for each line.
fn answers<'h>(hits: impl IntoIterator<Item = &'h Value>) -> BTreeMap<u64, Value> {
    hits.into_iter()
        .map(|hit| (hit["line"].as_u64().unwrap(), hit["answer"].clone()))
        .collect()
}

fn answers_of(result: &FollowerOutput) -> BTreeMap<u64, Value> {
    answers(result.hits.iter().map(|hit| &hit.0))
}

/// Probes for different paths, all answered with 200. Ten clients of one network are no campaign,
/// and none requests enough paths for an alert of its own.
fn answered_probes(size: impl Fn(usize, &str) -> u64) -> Vec<String> {
    let probe = |(n, path): (usize, &&str)| {
        let request = format!("GET {path} HTTP/1.1");
        sized(
            &line(&format!("198.51.100.{}", n % 10), &request, 200),
            size(n, path),
        )
    };
    PATHS.iter().enumerate().map(probe).collect()
}

/// The first answer may be real content; the later ones show that it is not.
#[test]
fn a_soft_404_site_raises_one_alert_at_most_and_withdraws_it() {
    let sites = [
        ("one size", answered_probes(|_, _| 612)),
        (
            "an echo",
            answered_probes(|_, path| 1_300 + path.len() as u64),
        ),
        (
            "a token",
            answered_probes(|n, _| 2_100 + (n * 7 % 13) as u64),
        ),
    ];
    for (name, lines) in sites {
        let harness = Harness::new();
        harness.file("whole.log", lines.concat());
        let hits = answers(&harness.run(["scan", "-f", "ndjson", "whole.log"]).objects()).len();
        assert!(hits >= 60, "{hits}");
        append(&harness, &lines[0]);
        let mut follower = follow(&harness);
        // Graded before anything else is known about the site.
        follower.until("the first probe", |result| !result.hits.is_empty());
        append(&harness, &lines[1..].concat());
        follower.until("all probes", |result| answers_of(result).len() == hits);
        follower.end();
        let alerts = objects(&harness.path("alerts"));
        let of_kind = |kind: &str| alerts.iter().filter(|alert| alert["kind"] == kind).count();
        assert!(
            of_kind("answered") <= 1 && of_kind("withdrawn") == of_kind("answered"),
            "{name}: {alerts:#?}"
        );
    }
}

/// The alert needs only one line: it is raised within a minute, or at the end.
#[test]
fn a_single_answer_raises_an_alert() {
    for is_at_end in [true, false] {
        let harness = Harness::new();
        harness.file("access.log", "");
        let mut follower = follow(&harness);
        append(&harness, &line("192.0.2.1", "GET /.env HTTP/1.1", 200));
        follower.until("the hit", |result| result.hits.len() == 1);
        if !is_at_end {
            append(
                &harness,
                &line("192.0.2.2", "GET /about HTTP/1.1", 200).replace(":08:01:00 ", ":08:01:30 "),
            );
            follower.until_process("an alert", |_| !objects(&harness.path("alerts")).is_empty());
        }
        let result = follower.end();
        assert_eq!(
            answers_of(&result),
            BTreeMap::from([(1, "distinct".into())])
        );
        let alerts = objects(&harness.path("alerts"));
        assert_eq!(
            (alerts.len(), &alerts[0]["kind"]),
            (1, &"answered".into()),
            "{alerts:#?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn grades_at_the_end_agree_with_a_scan(lines in any_log(1..4, 5..60)) {
        let harness = Harness::new();
        harness.file("access.log", lines.concat());
        let expected = answers(&harness.run(["scan", "-f", "ndjson", "access.log"]).objects());
        let mut follower = follow(&harness);
        follower.until("every hit of the scan", |result| {
            let seen = answers_of(result);
            expected.keys().all(|line| seen.contains_key(line))
        });
        let mut found = answers_of(&follower.end());
        found.retain(|line, answer| answer != "uncertain" || !expected.contains_key(line));
        for (line, answer) in found {
            prop_assert_eq!(Some(&answer), expected.get(&line), "line {}: {}", line, lines[line as usize - 1]);
        }
    }
}
