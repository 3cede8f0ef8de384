//! Every field of every hit has a name and a type of the schema, in more than 10,000 hits.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;

use regex::Regex;
use serde_json::Value;

use super::long_log;
use crate::harness::{Harness, line, skip};

/// What a field may have.
struct Field {
    kind: &'static str,
    is_list: bool,
    is_required: bool,
    values: Vec<&'static str>,
}

impl Field {
    /// From the columns after the name: type, list, possibly whether it is required, values.
    fn new(
        kind: &'static str,
        list: &str,
        is_required: bool,
        values: Option<&&'static str>,
    ) -> Self {
        let values = values.map_or_else(Vec::new, |values| values.split(',').collect());
        Self {
            kind,
            is_list: list == "list",
            is_required,
            values,
        }
    }

    /// What is wrong with one item.
    fn check(&self, value: &Value, at: &str, errors: &mut BTreeSet<String>) {
        let text = value.as_str();
        let is_right = match self.kind {
            "keyword" | "wildcard" | "match_only_text" | "string" => text.is_some(),
            "long" | "integer" => value.is_i64() || value.is_u64(),
            "timestamp" => value.as_i64().is_some_and(|time| time > 1_000_000_000_000),
            "boolean" => value.is_boolean(),
            "ip" => text.is_some_and(|text| text.parse::<IpAddr>().is_ok()),
            "date" => text.is_some_and(|text| {
                Regex::new(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$")
                    .unwrap()
                    .is_match(text)
            }),
            "any" => true,
            other => panic!("no type is called {other}"),
        };
        let shown = text.map_or_else(|| value.to_string(), str::to_owned);
        if !is_right {
            errors.insert(format!("{at} is {value}, not {}", self.kind));
        } else if !self.values.is_empty() && !self.values.contains(&shown.as_str()) {
            errors.insert(format!("{at} is {value}, not one of {:?}", self.values));
        }
    }
}

/// The rows of a table, split at tabs.
fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').collect())
}

/// The fields of ECS by dotted name.
fn ecs() -> BTreeMap<&'static str, Field> {
    rows(include_str!("ecs.tsv"))
        .map(|row| (row[0], Field::new(row[1], row[2], false, row.get(3))))
        .collect()
}

/// The attributes of OCSF by object and name.
fn ocsf() -> BTreeMap<(&'static str, &'static str), Field> {
    rows(include_str!("ocsf.tsv"))
        .map(|row| {
            (
                (row[0], row[1]),
                Field::new(row[2], row[3], row[4] == "required", row.get(5)),
            )
        })
        .collect()
}

/// The items of a value that should be a list or not.
fn items<'v>(
    field: &Field,
    value: &'v Value,
    at: &str,
    errors: &mut BTreeSet<String>,
) -> Vec<&'v Value> {
    match value.as_array() {
        Some(items) if field.is_list => items.iter().collect(),
        None if !field.is_list => vec![value],
        _ => {
            errors.insert(format!("{at} is {value}: list or not?"));
            vec![]
        }
    }
}

fn check_ecs(
    fields: &BTreeMap<&str, Field>,
    value: &Value,
    at: &str,
    errors: &mut BTreeSet<String>,
) {
    if at == "labels" {
        // An object of any keywords.
        let is_flat = value
            .as_object()
            .is_some_and(|labels| labels.values().all(Value::is_string));
        assert!(is_flat, "labels: {value}");
        return;
    }
    match (fields.get(at), value.as_object()) {
        (Some(field), None) => {
            for item in items(field, value, at, errors) {
                field.check(item, at, errors);
            }
        }
        (None, Some(object)) => {
            for (name, inner) in object {
                let path = if at.is_empty() {
                    name.clone()
                } else {
                    format!("{at}.{name}")
                };
                check_ecs(fields, inner, &path, errors);
            }
        }
        (Some(_), Some(_)) => drop(errors.insert(format!("{at} is an object"))),
        (None, None) => drop(errors.insert(format!("{at} is no field of the schema"))),
    }
}

fn check_ocsf(
    fields: &BTreeMap<(&str, &str), Field>,
    object: &str,
    value: &Value,
    errors: &mut BTreeSet<String>,
) {
    let Some(attributes) = value.as_object() else {
        errors.insert(format!("{object} is {value}"));
        return;
    };
    for ((_, name), _) in fields
        .iter()
        .filter(|((of, _), field)| *of == object && field.is_required)
    {
        if !attributes.contains_key(*name) {
            errors.insert(format!("{object} lacks {name}"));
        }
    }
    for (name, inner) in attributes {
        let at = format!("{object}.{name}");
        let Some(field) = fields.get(&(object, name.as_str())) else {
            errors.insert(format!("{at} is no attribute of the schema"));
            continue;
        };
        for item in items(field, inner, &at, errors) {
            if fields.keys().any(|(of, _)| *of == field.kind) {
                check_ocsf(fields, field.kind, item, errors);
            } else {
                field.check(item, &at, errors);
            }
        }
    }
    check_constraints(object, value, errors);
}

/// Objects of OCSF that need at least one of some attributes.
fn check_constraints(object: &str, value: &Value, errors: &mut BTreeSet<String>) {
    let needed: &[&str] = match object {
        "attack" => &["tactic", "technique", "sub_technique"],
        "analytic" | "technique" | "tactic" => &["name", "uid"],
        "network_endpoint" => &["ip", "uid", "name", "hostname"],
        "url" => &["url_string", "path"],
        "evidences" => &["src_endpoint", "url", "data"],
        "autonomous_system" => &["number", "name"],
        "location" => &["city", "country"],
        "vulnerability" => &["cve", "cwe"],
        _ => return,
    };
    if needed.iter().all(|name| value.get(name).is_none()) {
        errors.insert(format!("{object} has none of {needed:?}"));
    }
}

/// The violations of the hits of `args` in both formats, and the number of hits.
fn violations(harness: &Harness, args: &[&str]) -> (BTreeSet<String>, usize) {
    let mut errors = BTreeSet::new();
    let objects = |format| {
        let run = harness.run(
            ["scan", "-f", format, "--min-severity", "info", "-q"]
                .iter()
                .chain(args),
        );
        assert!([0, 3].contains(&run.code), "{format}: {}", run.stderr);
        run.objects()
    };
    let (fields, events) = (ecs(), objects("ecs"));
    for event in &events {
        check_ecs(&fields, event, "", &mut errors);
        assert_eq!(event["ecs"]["version"], "9.4.0");
    }
    let (fields, findings) = (ocsf(), objects("ocsf"));
    for finding in &findings {
        check_ocsf(&fields, "detection_finding", finding, &mut errors);
    }
    assert_eq!(events.len(), findings.len());
    (errors, events.len())
}

#[test]
fn ten_thousand_hits_have_no_violation() {
    let harness = Harness::new();
    long_log(&harness);
    harness.file("city.mmdb", crate::geoip::cities());
    harness.file("asn.mmdb", crate::geoip::systems());
    let (errors, hits) = violations(
        &harness,
        &["--geoip", "city.mmdb", "--geoip", "asn.mmdb", "access.log"],
    );
    assert_eq!(errors, BTreeSet::new());
    assert!(hits > 10_000, "only {hits} hits");
    let samples = format!("{}/samples", env!("CARGO_MANIFEST_DIR"));
    assert_eq!(violations(&harness, &[&samples]).0, BTreeSet::new());
    for anonymize in ["--anonymize=truncate", "--ipv6-prefix=64"] {
        assert_eq!(
            violations(&harness, &[anonymize, "access.log"]).0,
            BTreeSet::new(),
            "{anonymize}"
        );
    }
}

/// Names a folder of real logs in `PROBEWATCH_TEST_LOGS`.
#[test]
fn hits_of_real_logs_have_no_violation() {
    let Some(logs) = std::env::var_os("PROBEWATCH_TEST_LOGS").map(PathBuf::from) else {
        return skip("real logs", "PROBEWATCH_TEST_LOGS names no folder");
    };
    let (errors, hits) = violations(&Harness::new(), &[logs.to_str().unwrap()]);
    assert_eq!(errors, BTreeSet::new());
    let _ = writeln!(
        std::io::stderr(),
        "{hits} hits of real logs have no violation"
    );
}

/// The validators find what they should.
#[test]
fn a_violation_is_found() {
    let mut errors = BTreeSet::new();
    let event = serde_json::json!({
        "event": {"kind": "alarm", "severity": "3"}, "log": {"offset": 1}, "source": {"ip": "x"}, "tags": "a", "@timestamp": "now",
    });
    check_ecs(&ecs(), &event, "", &mut errors);
    assert_eq!(errors.len(), 6, "{errors:?}");
    errors.clear();
    check_ocsf(
        &ocsf(),
        "evidences",
        &serde_json::json!({"http_response": {"length": 1.5}, "http_requests": []}),
        &mut errors,
    );
    assert_eq!(errors.len(), 4, "{errors:?}");
}

#[test]
fn objects_are_those_of_ndjson() {
    let harness = Harness::new();
    harness.file(
        "access.log",
        line(
            "203.0.113.66",
            "GET /.git/config?token=hunter2 HTTP/1.1",
            200,
        ) + &line("192.0.2.10", "GET /.env HTTP/1.1", 404),
    );
    let of = |format| harness.run(["scan", "-f", format, "access.log"]).objects();
    let (hits, events, findings) = (of("ndjson"), of("ecs"), of("ocsf"));
    assert_eq!(hits.len(), 2);
    for ((hit, event), finding) in hits.iter().zip(&events).zip(&findings) {
        assert_eq!(
            (&hit["id"], &hit["id"]),
            (&event["event"]["id"], &finding["metadata"]["uid"])
        );
        assert_eq!(hit["target"], event["url"]["original"]);
        assert_eq!(
            (&hit["client"], &hit["client"]),
            (
                &event["source"]["ip"],
                &finding["evidences"][0]["src_endpoint"]["ip"]
            )
        );
        assert_eq!(
            (&hit["rules"][0], &hit["rules"][0]),
            (
                &event["rule"]["id"],
                &finding["finding_info"]["analytic"]["uid"]
            )
        );
        assert_eq!(
            hit["severity"].as_str().unwrap(),
            finding["severity"].as_str().unwrap().to_lowercase()
        );
        assert_eq!(hit["time"], event["@timestamp"]);
    }
    assert_eq!(events[0]["url"]["query"], "token=***");
    assert_eq!(
        (
            &events[0]["event"]["outcome"],
            &events[1]["event"]["outcome"]
        ),
        (&"success".into(), &"failure".into())
    );
    assert!(!format!("{events:?}{findings:?}").contains("hunter2"));
}

#[test]
fn the_versions_in_the_help_are_those_that_are_written() {
    for command in ["scan", "follow"] {
        let help = Harness::new().run([command, "--help"]).text();
        assert!(
            help.contains("ecs (9.4.0)") && help.contains("ocsf (1.5.0)"),
            "{help}"
        );
    }
}

#[test]
fn formats_are_refused_where_they_have_nothing_to_print() {
    let harness = Harness::new();
    harness.file("access.log", line("192.0.2.10", "GET /.env HTTP/1.1", 404));
    for (args, message) in [
        (
            &["scan", "-f", "ecs", "--by", "client", "access.log"][..],
            "ecs prints hits, not rows",
        ),
        (
            &["scan", "-f", "prometheus", "--by", "client", "access.log"],
            "prometheus prints counts by class and outcome, not rows",
        ),
        (
            &["learn", "-f", "ocsf", "access.log"],
            "learn does not print ocsf",
        ),
        (
            &["merge", "-f", "ecs", "r.json"],
            "merge does not print ecs: a report contains no single hits",
        ),
        (
            &["merge", "-f", "prometheus", "r.json"],
            "merge does not print prometheus",
        ),
        (
            &["diff", "-f", "prometheus", "a.json", "b.json"],
            "diff does not print prometheus",
        ),
        (
            &["follow", "-f", "prometheus", "access.log"],
            "follow prints only table, ndjson, ecs or ocsf",
        ),
        (
            &["follow", "--metrics", "access.log", "access.log"],
            "--metrics 'access.log': the name must end in .prom",
        ),
    ] {
        let run = harness.run(args);
        assert!(
            run.code == 2 && run.stderr.contains(message),
            "{args:?}: {}",
            run.stderr
        );
    }
}
