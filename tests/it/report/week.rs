//! A week of hourly runs on the logs of a few sites, rotated and compressed every day.
//!
//! For real logs, with sizes and times: `benches/week.sh`.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::harness::{Out, Sums, full, report_ok};
use super::novelty::{Reference, new_keys};
use crate::harness::{Harness, Rng, line, sized};

/// The largest state of a run.
const MOST_STATE: u64 = 5 << 20;

const SITES: [&str; 3] = ["blog", "shop", "wiki"];

const PROBES: [&str; 10] = [
    "/.git/config",
    "/.env",
    "/phpinfo.php",
    "/dump.sql",
    "/actuator/env",
    "/server-status",
    "/.aws/credentials",
    "/.svn/entries",
    "/db.sql",
    "/id_rsa",
];

/// The lines of a site in an hour.
fn hour(rng: &mut Rng, day: u64, hour: u64) -> String {
    let mut text = String::new();
    for n in 0..rng.below(12) {
        let client = format!("198.51.{}.{}", rng.below(3), rng.below(200));
        let path = match rng.below(8) {
            0 => PROBES[rng.below(10) as usize].to_owned(),
            1 => format!("/{}{}", rng.below(40), PROBES[rng.below(10) as usize]),
            _ => format!("/page/{}", rng.below(500)),
        };
        let status = if rng.below(30) == 0 { 200 } else { 404 };
        let time = format!("{:02}/Nov/2026:{hour:02}:{:02}:00", day + 1, 5 * n);
        let line = line(&client, &format!("GET {path} HTTP/1.1"), status)
            .replace("02/Nov/2026:08:01:00", &time);
        // Of different sizes: otherwise the history of a site would show a soft 404.
        text += &sized(&line, rng.size());
    }
    text
}

/// As logrotate does at midnight with `create`, `compress` and `delaycompress`.
fn rotate(harness: &Harness, site: &str, day: u64) {
    let path = |suffix: &str| harness.path(format!("log/{site}.log{suffix}"));
    if day > 0 {
        let compressed = std::process::Command::new("gzip")
            .arg(path(".1"))
            .status()
            .unwrap();
        assert!(compressed.success());
        fs::rename(path(".1.gz"), path(&format!(".{}.gz", 100 - day))).unwrap();
    }
    fs::rename(path(""), path(".1")).unwrap();
    fs::write(path(""), "").unwrap();
}

/// Findings of rules that depend on other lines belong to the run that reads them, and do not add
/// up.
const LOCAL: [&str; 4] = [
    "--min-severity",
    "info",
    "--disable",
    crate::invariants::CONTEXTUAL,
];

/// The classes of the probes: with only these, a run starts in a third of the time, and there are
/// hundreds of runs.
const CLASSES: [&str; 7] = [
    "backup",
    "cloud",
    "config-exposure",
    "debug",
    "java",
    "phpinfo",
    "vcs-exposure",
];

/// The rules to use: all in the full test.
fn rules() -> Vec<&'static str> {
    let classes = CLASSES
        .iter()
        .filter(|_| !full())
        .flat_map(|class| ["--only", class]);
    LOCAL.into_iter().chain(classes).collect()
}

fn replayed(args: &[&str]) {
    let harness = Harness::new();
    fs::create_dir(harness.path("log")).unwrap();
    let (mut rng, mut reference, mut all) = (Rng::new(), Reference::default(), String::new());
    for site in SITES {
        harness.file(format!("log/{site}.log"), "");
    }
    let (rules, mut seen) = (rules(), BTreeSet::new());
    for day in 0..7 {
        let mut expected = BTreeSet::new();
        for h in 0..24 {
            let mut of_hour = String::new();
            for site in SITES {
                let more = hour(&mut rng, day, h);
                let path = harness.path(format!("log/{site}.log"));
                fs::write(&path, fs::read_to_string(&path).unwrap() + &more).unwrap();
                harness.file(format!("{site}.new"), &more);
                of_hour += &more;
            }
            if h == 23 {
                for site in SITES {
                    rotate(&harness, site, day);
                }
            }
            report_ok(
                &harness,
                &[
                    &rules[..],
                    args,
                    &["log/blog.log", "log/shop.log", "log/wiki.log"],
                ]
                .concat(),
            );
            let scanned: Value = harness
                .json([&rules[..], &["blog.new", "shop.new", "wiki.new"]].concat())
                .1;
            expected.extend(reference.take(&scanned));
            all += &of_hour;
        }
        let out = Out::read(&harness);
        let of_day: BTreeSet<_> = out
            .folders
            .iter()
            .flat_map(|folder| new_keys(folder.rows("new.csv")))
            .filter(|key| !seen.contains(key))
            .collect();
        assert_eq!(of_day, expected, "what is new on day {day}");
        seen.extend(of_day);
    }
    harness.file("all.log", all);
    Out::read(&harness).sums().assert_same(
        &Sums::scanned(&harness, &[&["all.log"][..], &rules].concat()),
        "a week",
    );
    let state = fs::metadata(harness.path("state/report.json"))
        .unwrap()
        .len();
    assert!(state < MOST_STATE, "{state} bytes of state");
}

#[test]
fn a_week_of_hourly_runs() {
    replayed(&[]);
}

#[test]
fn a_week_of_hourly_runs_with_a_folder_a_day() {
    replayed(&["--daily"]);
}
