//! The public API of the library. A report equals what the command prints of the same logs.
//!
//! Uses no other item of the crate: a program that depends on it can use the same.

use std::fs::{self, File};
use std::io::{self, Read};
use std::time::{Duration, UNIX_EPOCH};

use probewatch::{Error, GroupBy, Report, RuleChoice, RuleSet, Scanner, Severity};
use serde_json::Value;

use crate::harness::Harness;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples");

fn scanner() -> Scanner {
    Scanner::new(RuleSet::builtin().unwrap())
}

fn text_of(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn strings(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().unwrap())
        .collect()
}

/// The standard output of a scan with these arguments.
fn printed(args: &[&str]) -> String {
    let run = Harness::new().run([&["scan", "-q"], args].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    String::from_utf8(run.stdout).unwrap()
}

fn clients(report: &Report) -> Vec<&str> {
    report
        .clients()
        .iter()
        .map(|row| row.client.as_str())
        .collect()
}

#[test]
fn documents_have_the_bytes_that_the_command_prints() {
    let report = scanner().scan_path(SAMPLES).unwrap();
    assert_eq!(
        text_of(|out| report.write_json(out)),
        printed(&["-f", "json", SAMPLES])
    );
    let by = [
        ("pair", GroupBy::Pair),
        ("client", GroupBy::Client),
        ("path", GroupBy::Path),
        ("rule", GroupBy::Rule),
        ("answer", GroupBy::Answer),
    ];
    for (word, by) in by {
        assert_eq!(
            text_of(|out| report.write_csv(by, out)),
            printed(&["-f", "csv", "--by", word, SAMPLES]),
            "{word}"
        );
    }
    let first_lines = |text: &str| text.lines().take(9).map(str::to_owned).collect::<Vec<_>>();
    let table = text_of(|out| report.write_table(100, out));
    assert_eq!(first_lines(&table), first_lines(&printed(&[SAMPLES])));
}

#[test]
fn rows_have_the_values_of_the_json_document() {
    let report = scanner().scan_path(SAMPLES).unwrap();
    let json: Value = serde_json::from_str(&printed(&["-f", "json", SAMPLES])).unwrap();
    let rows = |list: &str| json[list].as_array().unwrap().clone();
    assert_eq!(report.clients().len(), rows("clients").len());
    for (row, expected) in report.clients().iter().zip(rows("clients")) {
        assert_eq!(row.client, expected["client"].as_str().unwrap());
        assert_eq!(row.severity.as_str(), expected["severity"]);
        let counts = [
            ("hits", row.hits),
            ("requests", row.requests),
            ("other_requests", row.other_requests),
            ("answered", row.answered),
        ];
        for (key, count) in counts.into_iter().chain([("paths", row.paths)]) {
            assert_eq!(count, expected[key], "{key} of {}", row.client);
        }
        assert_eq!(row.rules, strings(&expected["rules"]));
        assert_eq!(row.address, row.client.parse().ok());
        assert_eq!(
            (row.sample.line, row.sample.source.as_str()),
            (
                expected["sample"]["line"].as_u64().unwrap(),
                expected["sample"]["source"].as_str().unwrap()
            )
        );
        assert_eq!(
            row.sample.user_agent.as_deref(),
            expected["sample"]["user_agent"].as_str()
        );
    }
    assert_eq!(report.paths().len(), rows("paths").len());
    for (row, expected) in report.paths().iter().zip(rows("paths")) {
        assert_eq!(
            (row.path.as_str(), row.hits),
            (
                expected["path"].as_str().unwrap(),
                expected["hits"].as_u64().unwrap()
            )
        );
        assert_eq!(
            (row.clients, row.sample.target.as_str()),
            (
                expected["clients"].as_u64().unwrap(),
                expected["sample"]["target"].as_str().unwrap()
            )
        );
    }
    assert_eq!(report.answers().len(), rows("answered").len());
    for (row, expected) in report.answers().iter().zip(rows("answered")) {
        assert_eq!(
            (row.site.as_str(), row.why.as_str()),
            (
                expected["site"].as_str().unwrap(),
                expected["why"].as_str().unwrap()
            )
        );
        assert_eq!(
            (Value::from(row.statuses.clone()), Value::from(row.bytes)),
            (expected["status"].clone(), expected["bytes"].clone())
        );
    }
    let (counts, totals) = (report.counts(), &json["totals"]);
    for (key, count) in [
        ("lines", counts.lines),
        ("parsed", counts.parsed),
        ("hits", counts.hits),
        ("bytes", counts.bytes),
    ] {
        assert_eq!(count, totals[key], "{key}");
    }
    assert_eq!(
        report.severity().map(Severity::as_str),
        totals["severity"].as_str()
    );
    let paths: Vec<_> = report
        .inputs()
        .iter()
        .map(|input| input.path.as_str())
        .collect();
    assert_eq!(
        paths,
        rows("inputs")
            .iter()
            .map(|input| input["path"].as_str().unwrap())
            .collect::<Vec<_>>()
    );
    // The other files of the folder do not look like logs.
    assert!(report.notices().is_empty(), "{:?}", report.notices());
}

#[test]
fn a_reader_gives_the_rows_of_its_file() {
    let path = format!("{SAMPLES}/answered.log");
    let of_path = scanner().scan_path(&path).unwrap();
    let of_reader = scanner()
        .scan_reader(&path, File::open(&path).unwrap())
        .unwrap();
    assert_eq!(
        (of_reader.counts(), of_reader.clients(), of_reader.answers()),
        (of_path.counts(), of_path.clients(), of_path.answers())
    );
    let packed = format!("{SAMPLES}/rotated.log.1.gz");
    let of_reader = scanner()
        .scan_reader("memory", fs::read(&packed).unwrap().as_slice())
        .unwrap();
    assert_eq!(
        of_reader.counts(),
        scanner().scan_path(&packed).unwrap().counts()
    );
    assert_eq!(of_reader.inputs()[0].path, "memory");
}

#[test]
fn several_paths_are_one_report() {
    let paths = ["answered.log", "outcomes.log"].map(|name| format!("{SAMPLES}/{name}"));
    let both = scanner().scan_paths(&paths).unwrap();
    let each = paths
        .iter()
        .map(|path| scanner().scan_path(path).unwrap().counts().hits);
    assert_eq!(both.counts().hits, each.sum::<u64>());
    assert_eq!(both.inputs().len(), 2);
}

#[test]
fn settings_change_what_is_reported() {
    let log = br#"10.0.0.1 - - [02/Nov/2026:08:00:00 +0000] "GET /.git/config HTTP/1.1" 404 9 "-" "-" "203.0.113.9"
10.0.0.1 - - [02/Nov/2026:09:00:00 +0000] "GET /.env HTTP/1.1" 404 9 "-" "-" "203.0.113.10"
"#;
    let scan = |scanner: &Scanner| scanner.scan_reader("access.log", log.as_slice()).unwrap();
    assert_eq!(clients(&scan(&scanner())), ["10.0.0.1"]);
    let format = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for""#;
    let proxied = scanner()
        .log_format(format)
        .unwrap()
        .client_from("x-forwarded-for", ["10.0.0.0/8"])
        .unwrap();
    let mut found = scan(&proxied);
    assert_eq!(found.clients().len(), 2);
    assert!(clients(&found).contains(&"203.0.113.9"));
    let nine = UNIX_EPOCH + Duration::from_secs(1_793_610_000);
    found = scan(&scanner().since(nine));
    assert_eq!(
        (
            found.paths().len(),
            found.paths()[0].path.as_str(),
            found.paths()[0].first_time
        ),
        (1, "/.env", Some(nine))
    );
    found = scan(&scanner().until(nine));
    assert_eq!(
        (found.paths().len(), found.paths()[0].path.as_str()),
        (1, "/.git/config")
    );
    assert!(
        scan(&scanner().min_severity(Severity::Critical))
            .clients()
            .is_empty()
    );
    let rules = RuleSet::load(&RuleChoice::new().only("vcs-exposure")).unwrap();
    assert!(
        rules
            .rules()
            .iter()
            .any(|rule| rule.id() == "vcs/git" && rule.class() == "vcs-exposure")
    );
    assert_eq!(scan(&Scanner::new(rules)).paths().len(), 1);
    let rules = RuleSet::load(
        &RuleChoice::new()
            .except("vcs/git")
            .severity("dotfiles/env", Severity::Info),
    )
    .unwrap();
    assert!(scan(&Scanner::new(rules)).paths().is_empty());
}

#[test]
fn a_rule_file_is_read() {
    let harness = Harness::new();
    let file = harness.file("my.toml", "[[rule]]\nid = \"mine/old-admin\"\ntitle = \"The old back office\"\nclass = \"panel\"\nseverity = \"high\"\npaths = [\"/old-admin\"]\n");
    let rules = RuleSet::load(&RuleChoice::new().without_builtin().file(&file)).unwrap();
    assert_eq!(
        rules
            .rules()
            .iter()
            .map(|rule| (rule.id(), rule.severity()))
            .collect::<Vec<_>>(),
        [("mine/old-admin", Severity::High)]
    );
    let line =
        br#"203.0.113.9 - - [02/Nov/2026:08:00:00 +0000] "GET /old-admin HTTP/1.1" 404 9 "-" "-""#;
    assert_eq!(
        Scanner::new(rules)
            .scan_reader("access.log", line.as_slice())
            .unwrap()
            .clients()[0]
            .rules,
        ["mine/old-admin"]
    );
}

#[test]
fn errors_name_what_is_wrong() {
    let harness = Harness::new();
    let missing = harness.path("missing.log");
    let error = scanner().scan_path(&missing).unwrap_err();
    assert!(
        matches!(&error, Error::Unreadable { path, .. } if *path == missing),
        "{error:?}"
    );
    assert!(error.to_string().contains("missing.log"), "{error}");
    assert!(matches!(
        scanner().scan_path(harness.path("*.log")),
        Err(Error::NoMatch(_))
    ));
    assert!(matches!(
        scanner().log_format("nonsense"),
        Err(Error::Format(_))
    ));
    assert!(matches!(
        scanner().client_from("x-real-ip", ["everyone"]),
        Err(Error::TrustedProxy(_))
    ));
    let error = RuleSet::load(&RuleChoice::new().only("vcs/gti")).unwrap_err();
    assert!(
        matches!(error, Error::Rules(_)) && error.to_string().contains("vcs/git"),
        "{error}"
    );
    let damaged = fs::read(format!("{SAMPLES}/rotated.log.1.gz")).unwrap();
    let report = scanner()
        .scan_reader("access.log.gz", &damaged[..damaged.len() / 2])
        .unwrap();
    assert!(report.counts().lines > 0 && report.inputs()[0].problem.is_some());
    // One of several inputs is no error.
    let paths = [missing, format!("{SAMPLES}/quiet.log").into()];
    assert_eq!(
        scanner()
            .scan_paths(&paths)
            .unwrap()
            .inputs()
            .iter()
            .filter(|input| input.problem.is_some())
            .count(),
        1
    );
}

/// A reader that fails after some bytes.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            Err(io::Error::other("the disk is gone"))
        } else {
            self.0.read(out)
        }
    }
}

#[test]
fn a_reader_that_fails_keeps_the_lines_before() {
    let log = fs::read(format!("{SAMPLES}/answered.log")).unwrap();
    let report = scanner().scan_reader("access.log", Failing(&log)).unwrap();
    assert!(report.counts().hits > 0);
    assert!(
        report.inputs()[0]
            .problem
            .as_ref()
            .unwrap()
            .contains("the disk is gone")
    );
    let error = scanner()
        .scan_reader("access.log", Failing(b""))
        .unwrap_err();
    assert_eq!(error.to_string(), "access.log: the disk is gone");
}

#[test]
fn scanners_are_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Scanner>();
    is_shared::<Report>();
    is_shared::<RuleSet>();
    is_shared::<Error>();
}
