//! Exports for other tools: hits as ECS and OCSF against the released schemas, and metrics against
//! `promtool` and the samples.
//!
//! The schemas are the subsets in `ecs.tsv` and `ocsf.tsv`: a field that they do not list is a
//! violation.

mod metrics;
mod schemas;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::harness::Harness;

/// Requests of the built-in rules' own cases.
fn requests_of_rules() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let case =
        regex::Regex::new(r#"["'](?:GET|POST|PUT|HEAD|PROPFIND|OPTIONS) /[^"'\\\n]*["']"#).unwrap();
    let mut requests: Vec<String> = Vec::new();
    for file in fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|file| file.extension().is_some_and(|e| e == "toml"))
    {
        let text = fs::read_to_string(file).unwrap();
        requests.extend(
            case.find_iter(&text)
                .map(|found| found.as_str().trim_matches(['"', '\'']).to_owned()),
        );
    }
    requests.sort();
    requests.dedup();
    requests
}

/// A log with all requests of the rules' cases, of many clients, with all kinds of answers and of
/// text.
fn long_log(harness: &Harness) {
    const CLIENTS: [&str; 5] = [
        "81.2.69.7",
        "2001:db8:85a3::8a2e:370:7334",
        "89.160.20.130",
        "scanner.example.net",
        "-",
    ];
    const AGENTS: [&str; 4] = [
        "curl/8.5.0",
        "-",
        r"\x1b]0;owned\x07",
        "Mozilla/5.0 \u{202e} (日本語)",
    ];
    const STATUSES: [&str; 7] = [
        "200 5120", "404 153", "301 0", "403 9", "500 -", "- -", "401 12",
    ];
    let mut log = String::new();
    for (number, request) in (0..).zip(requests_of_rules().iter().cycle().take(40_000)) {
        let of = |all: &[&'static str]| all[(number / 7) % all.len()];
        let (second, minute) = (number % 60, number / 60 % 60);
        let host = ["shop.example:443", "-", "[2001:db8::1]:80", "shop.example"][number % 4];
        let _ = writeln!(
            log,
            "{host} {} - - [02/Nov/2026:{:02}:{minute:02}:{second:02} +0130] \"{request} HTTP/{}\" {} \"{}\" \"{}\"",
            CLIENTS[number % 5],
            number / 3_600 % 24,
            ["1.0", "1.1", "2.0"][number % 3],
            STATUSES[number % 7],
            ["-", "https://bob:hunter2@example.com/?token=abc"][number % 2],
            of(&AGENTS),
        );
    }
    harness.file("access.log", log);
}
