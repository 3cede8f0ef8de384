//! Requests of the owner and visitors of an app in normal use are not reported, and attacks among
//! them are.
//!
//! The logs are in `tests/cases/ordinary`, one for each app, and those of self-hosters' apps in its
//! folder `apps`; the README there says which were recorded and which were written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{Harness, sized};

/// Attacks on any site.
const EVERYWHERE: [&str; 2] = ["GET /.env", "GET /uploads/c99.php?cmd=id"];

/// The second app of a log: Element's pages and the home server that they talk to have one host.
const MATRIX: (&str, &str) = ("element.home.example", "synapse");

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/ordinary")
}

/// Each log of a folder with its name.
fn logs_in(folder: &Path) -> BTreeMap<String, String> {
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let logs = paths.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    logs.map(|path| {
        (
            path.file_stem().unwrap().to_str().unwrap().to_owned(),
            fs::read_to_string(&path).unwrap(),
        )
    })
    .collect()
}

/// Each log of a self-hosters' app with its name.
fn apps() -> BTreeMap<String, String> {
    logs_in(&folder().join("apps"))
}

/// Each log with its name.
fn logs() -> BTreeMap<String, String> {
    let mut logs = logs_in(&folder());
    logs.extend(apps());
    logs
}

/// Attacks by the name of the log they belong to.
fn attacks() -> BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(folder().join("attacks.tsv")).unwrap();
    let mut attacks: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in text.lines() {
        let (log, request) = line
            .split_once('\t')
            .unwrap_or_else(|| panic!("a line without a tab: {line}"));
        attacks
            .entry(log.to_owned())
            .or_default()
            .push(request.to_owned());
    }
    attacks
}

/// The rules of each reported line, by line number from 1.
fn findings(log: &str) -> BTreeMap<usize, String> {
    let harness = Harness::new();
    harness.file("access.log", log);
    let run = harness.run(["scan", "-f", "ndjson", "access.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let number = |hit: &serde_json::Value| usize::try_from(hit["line"].as_u64().unwrap()).unwrap();
    run.objects()
        .iter()
        .map(|hit| (number(hit), hit["rules"].to_string()))
        .collect()
}

/// An answered request by a client with the user agent of a program that owners use.
fn answered(client: &str, request: &str, bytes: u64) -> String {
    let line = format!(
        "{client} - - [24/Nov/2026:10:00:00 +0000] \"{request} HTTP/1.1\" 200 512 \"https://www.example/\" \"WordPress/6.8 mirall/3.15 (Nextcloud)\"\n"
    );
    sized(&line, bytes)
}

/// The parts of a line in combined format: client, time, method, target, status, bytes, referer and
/// user agent.
fn parts(line: &str) -> [&str; 8] {
    let [head, request, answer, referer, _, agent, ""] = line.split('"').collect::<Vec<_>>()[..]
    else {
        panic!("quotes in {line}")
    };
    let (client, time) = head.split_once(" - - [").unwrap();
    let (method, rest) = request.split_once(' ').unwrap();
    let (status, bytes) = answer.trim().split_once(' ').unwrap();
    [
        client,
        time.trim_end_matches("] "),
        method,
        rest.trim_end_matches(" HTTP/1.1"),
        status,
        bytes,
        referer,
        agent,
    ]
}

/// The requests of all apps and the given attacks on each, every line rewritten. Whether each line
/// is an attack, too.
fn together(
    attacks: &BTreeMap<String, Vec<String>>,
    rewritten: impl Fn(&str, [&str; 8]) -> String,
) -> (String, Vec<bool>) {
    let (mut text, mut is_attack) = (String::new(), Vec::new());
    for (name, log) in apps() {
        let requests = attacks.get(&name).map_or(&[][..], Vec::as_slice);
        let planted: String = requests
            .iter()
            .zip(1..)
            .map(|(request, n)| answered("192.0.2.9", request, 2_000 + 37 * n))
            .collect();
        for (line, planted) in log
            .lines()
            .map(|line| (line, false))
            .chain(planted.lines().map(|line| (line, true)))
        {
            text.push_str(&rewritten(&name, parts(line)));
            text.push('\n');
            is_attack.push(planted);
        }
    }
    (text, is_attack)
}

/// Panics unless the findings are the attacks and nothing else.
fn assert_only_attacks(log: &str, is_attack: &[bool]) {
    let found = findings(log);
    let lines = log.lines().zip(is_attack).zip(1..);
    let wrong: Vec<_> = lines
        .filter(|((_, attack), n)| **attack != found.contains_key(n))
        .map(|((line, _), n)| (found.get(&n), line))
        .collect();
    assert!(wrong.is_empty(), "missed or wrongly reported: {wrong:#?}");
}

#[test]
fn apps_that_share_a_reverse_proxy_and_its_log_are_told_apart() {
    let (log, is_attack) = together(
        &attacks(),
        |name, [client, time, method, target, status, bytes, referer, agent]| {
            format!(
                "[{time}] - {status} {status} - {method} https {name}.home.example \"{target}\" [Client {client}] [Length {bytes}] [Gzip -] [Sent-to 192.0.2.5] \"{agent}\" \"{referer}\""
            )
        },
    );
    assert_only_attacks(&log, &is_attack);

    // Each site shows its app and no other, as the report says what runs where.
    let harness = Harness::new();
    harness.file("access.log", &log);
    let report: serde_json::Value =
        serde_json::from_slice(&harness.run(["scan", "-f", "json", "access.log"]).stdout).unwrap();
    let text = |app: &serde_json::Value, key: &str| app[key].as_str().unwrap().to_owned();
    let shown = report["apps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|app| (text(app, "site"), text(app, "app")));
    let shown: BTreeSet<(String, String)> = shown
        .filter(|(site, app)| (site.as_str(), app.as_str()) != MATRIX)
        .collect();
    let expected = |name: &String| {
        (
            format!("{name}.home.example"),
            name.trim_end_matches("-clients").to_owned(),
        )
    };
    assert_eq!(shown, apps().keys().map(expected).collect());
}

#[test]
fn apps_in_folders_of_one_site_are_recognized() {
    let (log, is_attack) = together(
        &BTreeMap::new(),
        |name, [client, time, method, target, status, bytes, referer, agent]| {
            format!(
                "{client} - - [{time}] \"{method} /{name}{target} HTTP/1.1\" {status} {bytes} \"{referer}\" \"{agent}\""
            )
        },
    );
    assert_only_attacks(&log, &is_attack);
}

#[test]
fn requests_of_owners_and_visitors_are_not_reported() {
    let mut wrong = String::new();
    let logs = logs();
    assert!(
        logs.len() >= 80 && apps().len() >= 55,
        "{} logs",
        logs.len()
    );
    for (name, log) in &logs {
        let lines: Vec<&str> = log.lines().collect();
        assert!(lines.len() >= 10, "{name} has {} lines", lines.len());
        for (number, rules) in findings(log) {
            let _ = writeln!(wrong, "{name}\t{rules}\t{}", lines[number - 1]);
        }
    }
    assert!(wrong.is_empty(), "flagged though ordinary:\n{wrong}");
}

#[test]
fn attacks_among_them_are_reported_for_every_client() {
    let (attacks, apps) = (attacks(), apps());
    let mut missed = String::new();
    for (name, log) in logs() {
        let requests = attacks
            .get(&name)
            .unwrap_or_else(|| panic!("no attack on {name}"));
        let owner = log.split(' ').next().unwrap();
        // The unknown client's attacks on the apps are in the log of the reverse proxy.
        let unknown = (!apps.contains_key(&name)).then_some("192.0.2.9");
        for client in unknown.into_iter().chain([owner]) {
            let requests: Vec<&str> = requests
                .iter()
                .map(String::as_str)
                .chain(EVERYWHERE)
                .collect();
            let lines = requests
                .iter()
                .zip(1..)
                .map(|(request, n)| answered(client, request, 2_000 + 37 * n));
            let found = findings(&(log.clone() + &lines.collect::<String>()));
            let first = log.lines().count() + 1;
            for (request, number) in requests
                .iter()
                .zip(first..)
                .filter(|(_, number)| !found.contains_key(number))
            {
                let _ = writeln!(missed, "{name}\tby {client}\tline {number}\t{request}");
            }
            let ordinary: Vec<_> = found.range(..first).collect();
            assert!(
                ordinary.is_empty(),
                "{name}: ordinary, and a finding beside an attack: {ordinary:?}"
            );
        }
    }
    assert!(missed.is_empty(), "attacks that are no finding:\n{missed}");
}
