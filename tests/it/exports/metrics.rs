//! Metrics: what `scan`, `report` and `follow` write, what `promtool` accepts, and what the samples
//! name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::long_log;
use crate::follow::follower::DEADLINE;
use crate::harness::{Harness, finish, is_installed, line, skip, spawn, wait};

/// The samples of a text by name and labels, without fractions.
fn samples(text: &str) -> BTreeMap<String, u64> {
    assert!(text.ends_with('\n'), "{text}");
    let samples = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (
                name.to_owned(),
                value.split('.').next().unwrap().parse().unwrap(),
            )
        });
    let all: Vec<(String, u64)> = samples.collect();
    let map: BTreeMap<_, _> = all.iter().cloned().collect();
    assert_eq!(map.len(), all.len(), "a series occurs twice:\n{text}");
    map
}

/// The sum of the series of a metric.
fn sum(samples: &BTreeMap<String, u64>, metric: &str) -> u64 {
    samples
        .iter()
        .filter(|(name, _)| name.split('{').next() == Some(metric))
        .map(|(_, value)| value)
        .sum()
}

/// `promtool check metrics` has nothing to complain of.
fn check_with_promtool(harness: &Harness, text: &str) {
    if !is_installed("promtool") {
        return skip("promtool check metrics", "promtool is not installed");
    }
    harness.file("check.prom", text);
    let mut promtool = harness.program("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::from(
        fs::File::open(harness.path("check.prom")).unwrap(),
    ));
    let run = finish(&mut promtool);
    assert_eq!(
        (run.code, run.text().as_str(), run.stderr.as_str()),
        (0, "", ""),
        "{text}"
    );
}

fn read(harness: &Harness, name: &str) -> String {
    fs::read_to_string(harness.path(name)).unwrap()
}

/// The file has the mode that `node_exporter` needs, and nothing is beside it.
fn check_file(harness: &Harness) {
    let mode = fs::metadata(harness.path("prom/probewatch.prom"))
        .unwrap()
        .permissions()
        .mode()
        & 0o7777;
    let names: Vec<_> = fs::read_dir(harness.path("prom"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!((mode, names), (0o644, vec!["probewatch.prom".into()]));
}

#[test]
fn a_scan_prints_the_sums_of_its_report_as_gauges() {
    let harness = Harness::new();
    long_log(&harness);
    fs::write(
        harness.path("access.log"),
        read(&harness, "access.log") + "no log line\n",
    )
    .unwrap();
    let run = harness.run(["scan", "-f", "prometheus", "access.log"]);
    let text = run.text();
    let (_, report) = harness.json(["access.log"]);
    let (samples, totals) = (samples(&text), &report["totals"]);
    for (metric, key) in [
        ("hits", "hits"),
        ("answered_hits", "answered"),
        ("lines", "lines"),
        ("unparsed_lines", "unparsed"),
        ("size_bytes", "bytes"),
    ] {
        assert_eq!(
            sum(&samples, &format!("probewatch_scan_{metric}")),
            totals[key].as_u64().unwrap(),
            "{metric}"
        );
    }
    for (outcome, hits) in totals["outcomes"].as_object().unwrap() {
        let label = format!("outcome=\"{outcome}\"");
        let of_outcome: u64 = samples
            .iter()
            .filter(|(name, _)| name.contains(&label))
            .map(|(_, value)| value)
            .sum();
        assert_eq!(of_outcome, hits.as_u64().unwrap(), "{outcome}");
    }
    assert!(samples["probewatch_scan_files"] == 1 && sum(&samples, "probewatch_scan_hits") > 0);
    assert!(
        !text.contains("81.2.69") && !text.contains(".git"),
        "{text}"
    );
    assert_eq!(
        harness
            .run(["scan", "-f", "prometheus", "-j1", "access.log"])
            .text(),
        text
    );
    check_with_promtool(&harness, &text);
}

#[test]
fn a_report_counts_over_the_life_of_its_state() {
    let harness = Harness::new();
    for folder in ["log", "prom"] {
        fs::create_dir(harness.path(folder)).unwrap();
    }
    let log = harness.path("log/access.log");
    let run = || {
        let line = "umask 077; \"$0\" report --state state --out out --daily --metrics prom/probewatch.prom log/access.log";
        let run = finish(&mut harness.shell(line));
        assert_eq!(run.code, 0, "{}", run.stderr);
        check_file(&harness);
        samples(&read(&harness, "prom/probewatch.prom"))
    };
    let series = |name: &str| format!("probewatch_{name}{{command=\"report\",state=\"state\"}}");
    let mut text = line("192.0.2.10", "GET /.env HTTP/1.1", 404)
        + "no log line\n"
        + &line("192.0.2.11", "GET / HTTP/1.1", 200);
    fs::write(&log, &text).unwrap();
    let first = run();
    assert_eq!(
        (
            first[&series("lines_total")],
            first[&series("unparsed_lines_total")]
        ),
        (3, 1)
    );
    assert_eq!(
        (
            sum(&first, "probewatch_hits_total"),
            first[&series("files")],
            first[&series("lag_bytes")]
        ),
        (1, 1, 0)
    );
    let not_found = "probewatch_hits_total{command=\"report\",state=\"state\",class=\"config-exposure\",outcome=\"not_found\"}";
    assert_eq!(first[not_found], 1);
    assert_eq!(sum(&first, "probewatch_answered_hits_total"), 0);

    // The folder of the day is merged with the new lines; its earlier hits are not counted again.
    text += &line("192.0.2.10", "GET /.git/config HTTP/1.1", 200);
    text += &line("192.0.2.10", "GET /.env HTTP/1.1", 404);
    text += "192.0.2.10 - - [unfinished";
    fs::write(&log, &text).unwrap();
    let second = run();
    assert_eq!(
        (
            second[&series("lines_total")],
            sum(&second, "probewatch_hits_total"),
            second[not_found]
        ),
        (5, 3, 2)
    );
    assert_eq!(sum(&second, "probewatch_answered_hits_total"), 1);
    assert_eq!(second[&series("lag_bytes")], 26);

    // A run without new lines.
    let third = run();
    let counters = |samples: &BTreeMap<String, u64>| {
        samples
            .clone()
            .into_iter()
            .filter(|(name, _)| name.contains("_total"))
            .collect::<Vec<_>>()
    };
    assert_eq!(counters(&third), counters(&second));
    check_with_promtool(&harness, &read(&harness, "prom/probewatch.prom"));
}

#[test]
fn a_file_that_cannot_be_written_is_found_before_a_line_is_read() {
    let harness = Harness::new();
    harness.file("access.log", line("192.0.2.10", "GET /.env HTTP/1.1", 404));
    for args in [
        &["report", "--state", "state", "--out", "out"][..],
        &["follow", "--state", "state"],
    ] {
        let run =
            harness.run(
                args.iter()
                    .chain(&["--metrics", "missing/probewatch.prom", "access.log"]),
            );
        assert!(
            run.code == 4
                && run.stderr.contains("missing/probewatch.prom")
                && run.stderr.contains("folder of --metrics"),
            "{args:?}: {}",
            run.stderr
        );
        assert!(run.stdout.is_empty());
    }
    assert_eq!(
        fs::read_dir(harness.path("out")).map_or(0, Iterator::count),
        0
    );
    // A dry run writes nothing.
    let run = harness.run([
        "report",
        "--state",
        "state",
        "--out",
        "out",
        "--dry-run",
        "--metrics",
        "x.prom",
        "access.log",
    ]);
    assert!(
        run.code == 0 && !harness.path("x.prom").exists(),
        "{}",
        run.stderr
    );
}

/// Waits until the file of metrics meets a condition.
fn until(
    harness: &Harness,
    what: &str,
    done: impl Fn(&BTreeMap<String, u64>) -> bool,
) -> BTreeMap<String, u64> {
    let start = Instant::now();
    loop {
        let text = fs::read_to_string(harness.path("prom/probewatch.prom")).unwrap_or_default();
        if !text.is_empty() {
            let samples = samples(&text);
            if done(&samples) {
                return samples;
            }
        }
        assert!(
            start.elapsed() < DEADLINE,
            "{what}: it does not come\n{text}"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_follow_counts_while_it_runs_and_goes_on_after_a_restart() {
    let harness = Harness::new();
    fs::create_dir(harness.path("prom")).unwrap();
    let log = harness.file("access.log", line("192.0.2.10", "GET /.env HTTP/1.1", 404));
    let start = || {
        let args = [
            "follow",
            "-f",
            "ecs",
            "-q",
            "--from-start",
            "--state",
            "state",
            "--metrics",
            "prom/probewatch.prom",
            "access.log",
        ];
        spawn(&mut harness.command(args))
    };
    let hits = |samples: &BTreeMap<String, u64>| sum(samples, "probewatch_hits_total");
    let child = start();
    until(&harness, "the first hit", |samples| hits(samples) == 1);
    check_file(&harness);
    let more = line("192.0.2.10", "GET /.git/config HTTP/1.1", 200) + "no log line\n";
    fs::write(&log, fs::read_to_string(&log).unwrap() + &more).unwrap();
    let samples = until(&harness, "the second hit", |samples| hits(samples) == 2);
    assert_eq!(
        (
            sum(&samples, "probewatch_lines_total"),
            sum(&samples, "probewatch_unparsed_lines_total")
        ),
        (3, 1)
    );
    assert_eq!(
        (
            sum(&samples, "probewatch_answered_hits_total"),
            sum(&samples, "probewatch_lag_bytes")
        ),
        (1, 0)
    );
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let run = wait(child);
    assert_eq!(run.code, 143, "{}", run.stderr);
    let events = run.objects();
    assert_eq!(
        events
            .iter()
            .map(|event| &event["rule"]["id"])
            .collect::<Vec<_>>(),
        ["dotfiles/env", "vcs/git"]
    );

    fs::write(
        &log,
        fs::read_to_string(&log).unwrap() + &line("192.0.2.12", "GET /.env HTTP/1.1", 404),
    )
    .unwrap();
    let child = start();
    let samples = until(&harness, "the third hit", |samples| hits(samples) == 3);
    assert_eq!(sum(&samples, "probewatch_lines_total"), 4);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(wait(child).objects().len(), 1);
    check_file(&harness);
    check_with_promtool(&harness, &read(&harness, "prom/probewatch.prom"));
}

/// The folder of the samples.
fn sample(name: &str) -> String {
    fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("samples")
            .join(name),
    )
    .unwrap()
}

/// The metrics that `report` and `follow` write.
fn written() -> BTreeSet<String> {
    let harness = Harness::new();
    harness.file("access.log", line("192.0.2.10", "GET /.env HTTP/1.1", 404));
    let run = harness.run([
        "report",
        "--state",
        "state",
        "--out",
        "out",
        "--metrics",
        "x.prom",
        "access.log",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    read(&harness, "x.prom")
        .lines()
        .filter_map(|line| Some(line.strip_prefix("# TYPE ")?.split(' ').next()?.to_owned()))
        .collect()
}

#[test]
fn samples_name_only_metrics_that_are_written() {
    let written = written();
    let name = Regex::new(r"\bprobewatch_[a-z_]+").unwrap();
    let named = |text: &str| {
        name.find_iter(text)
            .map(|found| found.as_str().to_owned())
            .collect::<BTreeSet<_>>()
    };
    for file in [
        "prometheus/probewatch.rules.yml",
        "prometheus/probewatch.test.yml",
    ] {
        let named = named(&sample(file));
        assert!(
            !named.is_empty() && named.is_subset(&written),
            "{file}: {:?}",
            named.difference(&written)
        );
    }
    // The dashboard shows all of them.
    assert_eq!(named(&sample("grafana/probewatch.json")), written);
}

#[test]
fn the_dashboard_has_panels_with_a_data_source_to_choose() {
    let dashboard: Value = serde_json::from_str(&sample("grafana/probewatch.json")).unwrap();
    assert_eq!(dashboard["templating"]["list"][0]["type"], "datasource");
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels
        .iter()
        .map(|panel| panel["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids.len(), panels.len());
    for panel in panels {
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty() && !panel["title"].as_str().unwrap().is_empty());
        for target in targets.iter().chain([panel]) {
            assert_eq!(
                target["datasource"]["uid"], "${datasource}",
                "{}",
                panel["title"]
            );
        }
    }
}

#[test]
fn the_sample_alerts_fire() {
    if !is_installed("promtool") {
        return skip("promtool test rules", "promtool is not installed");
    }
    let mut promtool = Harness::new().program("promtool");
    promtool
        .args(["test", "rules", "probewatch.test.yml"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/samples/prometheus"));
    let run = finish(&mut promtool);
    assert!(
        run.code == 0 && run.text().contains("SUCCESS"),
        "{}{}",
        run.text(),
        run.stderr
    );
}
