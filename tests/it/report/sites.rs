//! What a run knows about sites from earlier runs: a soft 404 that no single run could recognise.
//!
//! The logs have no virtual hosts: a site is a log with its rotated siblings.

use std::fs::{self, OpenOptions};
use std::io::Write as _;

use super::harness::{Folder, Out, report_ok};
use crate::harness::{Harness, line, sized};

/// Five different paths of more than three classes; neither half of them shows a soft 404.
const HALVES: [&[&str]; 2] = [
    &["/.git/config", "/.env"],
    &["/phpinfo.php", "/id_rsa", "/actuator/env"],
];

/// Adds lines to a log in which these paths were answered with this many bytes each. Each log has
/// its own client.
fn answered(harness: &Harness, log: &str, paths: &[&str], bytes: impl Fn(usize) -> u64) {
    let client = format!("198.51.100.{}", log.len());
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(harness.path(log))
        .unwrap();
    for (n, path) in paths.iter().enumerate() {
        let line = sized(
            &line(&client, &format!("GET {path} HTTP/1.1"), 200),
            bytes(n),
        );
        file.write_all(line.as_bytes()).unwrap();
    }
}

/// Runs on the folder of logs. Returns the mail and the folder of the run.
fn run(harness: &Harness) -> (String, Folder) {
    let mail = report_ok(harness, &["logs"]).text();
    (mail, Out::read(harness).folders.pop().unwrap())
}

fn harness() -> Harness {
    let harness = Harness::new();
    fs::create_dir(harness.path("logs")).unwrap();
    harness
}

/// The paths that count as answered, sorted.
fn counted(folder: &Folder) -> Vec<String> {
    let mut paths: Vec<_> = folder
        .rows("answered.csv")
        .iter()
        .map(|row| row["path"].clone())
        .collect();
    paths.sort();
    paths
}

fn sorted(paths: &[&str]) -> Vec<String> {
    let mut paths: Vec<_> = paths.iter().map(|&path| path.to_owned()).collect();
    paths.sort();
    paths
}

#[test]
fn a_soft_404_is_recognised_over_two_runs() {
    let harness = harness();
    let (one, others) = (&HALVES[0][..1], HALVES[1]);
    answered(&harness, "logs/first.log", one, |_| 512);
    let (mail, first) = run(&harness);
    assert_eq!(
        counted(&first),
        sorted(one),
        "nothing speaks against it yet"
    );
    assert_ne!(mail, "");

    answered(&harness, "logs/first.log", others, |_| 512);
    // The same answer on another site, which has given no others.
    answered(&harness, "logs/two.log", one, |_| 512);
    let (_, second) = run(&harness);
    let rows = second.rows("answered.csv");
    assert_eq!(counted(&second), sorted(one));
    assert!(
        rows.iter().all(|row| row["source"] == "logs/two.log"),
        "{rows:?}"
    );
    // They are reported with their grade.
    assert_eq!(
        (
            &second.report["totals"]["answered"],
            &second.report["totals"]["soft_404"]
        ),
        (&1.into(), &3.into())
    );

    // From now on it is known: a known probe with this answer causes no mail, also after a
    // rotation.
    fs::rename(
        harness.path("logs/first.log"),
        harness.path("logs/first.log.1"),
    )
    .unwrap();
    answered(&harness, "logs/first.log", &others[..1], |_| 512);
    let (mail, third) = run(&harness);
    assert_eq!(
        (counted(&third).len(), mail.as_str()),
        (0, ""),
        "{}",
        third.summary
    );
    assert_eq!(third.report["totals"]["hits"], 1);
    // And an answer of a very different size on the same site counts.
    answered(&harness, "logs/first.log", &["/.git/config"], |_| 9_001);
    let (mail, fourth) = run(&harness);
    assert_eq!(counted(&fourth), ["/.git/config"]);
    assert_ne!(mail, "");
}

/// The same lines with different sizes are distinct answers in both runs.
#[test]
fn distinct_answers_count_in_both_runs() {
    let harness = harness();
    for (number, paths) in HALVES.into_iter().enumerate() {
        answered(&harness, "logs/first.log", paths, |n| {
            100 << (3 * number + n)
        });
        let (mail, folder) = run(&harness);
        assert_eq!(counted(&folder), sorted(paths), "run {number}");
        assert_ne!(mail, "", "run {number}");
    }
}

/// The history of a site is discarded with the state.
#[test]
fn a_reset_discards_the_history_of_sites() {
    let harness = harness();
    answered(&harness, "logs/first.log", HALVES[1], |_| 512);
    run(&harness);
    fs::remove_file(harness.path("logs/first.log")).unwrap();
    answered(&harness, "logs/first.log", &HALVES[0][..1], |_| 512);
    report_ok(&harness, &["--reset", "logs"]);
    assert_eq!(counted(Out::read(&harness).last()), sorted(&HALVES[0][..1]));
}
