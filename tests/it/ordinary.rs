//! What the owner and the visitors of an app ask for in its ordinary use is no finding, and an attack beside it is.
//!
//! The logs are in `tests/cases/ordinary`, one for each app; the README there says which were recorded and which were written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{Harness, sized};

/// Attacks that are one on every site.
const EVERYWHERE: [&str; 2] = ["GET /.env", "GET /uploads/c99.php?cmd=id"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/ordinary")
}

/// Each log by its name.
fn logs() -> BTreeMap<String, String> {
    let paths = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let logs = paths.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    logs.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap())).collect()
}

/// Attacks by the name of the log they belong to.
fn attacks() -> BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(folder().join("attacks.tsv")).unwrap();
    let mut attacks: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in text.lines() {
        let (log, request) = line.split_once('\t').unwrap_or_else(|| panic!("a line without a tab: {line}"));
        attacks.entry(log.to_owned()).or_default().push(request.to_owned());
    }
    attacks
}

/// The rules of each line that is a finding, by the number of the line, from 1.
fn findings(log: &str) -> BTreeMap<usize, String> {
    let harness = Harness::new();
    harness.file("access.log", log);
    let run = harness.run(["scan", "-f", "ndjson", "access.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let number = |hit: &serde_json::Value| usize::try_from(hit["line"].as_u64().unwrap()).unwrap();
    run.objects().iter().map(|hit| (number(hit), hit["rules"].to_string())).collect()
}

/// An answered request by a client that names itself as a program of the owner would.
fn answered(client: &str, request: &str, bytes: u64) -> String {
    let line = format!(
        "{client} - - [24/Nov/2026:10:00:00 +0000] \"{request} HTTP/1.1\" 200 512 \"https://www.example/\" \"WordPress/6.8 mirall/3.15 (Nextcloud)\"\n"
    );
    sized(&line, bytes)
}

#[test]
fn requests_of_owners_and_visitors_are_not_reported() {
    let mut wrong = String::new();
    let logs = logs();
    assert!(logs.len() >= 25, "{} logs", logs.len());
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
    let attacks = attacks();
    let mut missed = String::new();
    for (name, log) in logs() {
        let requests = attacks.get(&name).unwrap_or_else(|| panic!("no attack on {name}"));
        let owner = log.split(' ').next().unwrap();
        for client in ["192.0.2.9", owner] {
            let requests: Vec<&str> = requests.iter().map(String::as_str).chain(EVERYWHERE).collect();
            let lines = requests.iter().zip(1..).map(|(request, n)| answered(client, request, 2_000 + 37 * n));
            let found = findings(&(log.clone() + &lines.collect::<String>()));
            let first = log.lines().count() + 1;
            for (request, number) in requests.iter().zip(first..).filter(|(_, number)| !found.contains_key(number)) {
                let _ = writeln!(missed, "{name}\tby {client}\tline {number}\t{request}");
            }
            let ordinary: Vec<_> = found.range(..first).collect();
            assert!(ordinary.is_empty(), "{name}: ordinary, and a finding beside an attack: {ordinary:?}");
        }
    }
    assert!(missed.is_empty(), "attacks that are no finding:\n{missed}");
}
