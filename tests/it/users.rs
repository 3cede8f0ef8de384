//! The user of the log: a field of hits and of the samples of rows, hidden with `--anonymize`, and
//! no excuse for anything.

use serde_json::Value;

use crate::harness::{Harness, assert_conserved};

const TIME: &str = "[02/Nov/2026:08:01:00 +0000]";

fn line(user: &str) -> String {
    format!("192.0.2.7 - {user} {TIME} \"GET /.env HTTP/1.1\" 404 153 \"-\" \"curl/8\"\n")
}

/// The `user` of each hit.
fn users(hits: &[Value]) -> Vec<Option<&str>> {
    hits.iter().map(|hit| hit["user"].as_str()).collect()
}

#[test]
fn the_user_of_each_text_format_is_a_field_of_hits() {
    let harness = Harness::new();
    let w3c = "#Fields: date time c-ip cs-username cs-method cs-uri-stem sc-status\n2026-11-02 08:01:00 192.0.2.7 EXAMPLE\\jane GET /.env 404\n";
    let own = "192.0.2.7|jane|02/Nov/2026:08:01:00 +0000|GET /.env HTTP/1.1|404\n";
    let format = "$remote_addr|$remote_user|$time_local|$request|$status";
    let ends = format!("192.0.2.7 {TIME} \"GET /.env HTTP/1.1\" 404 jane\n");
    for (log, args, user) in [
        (line("jane"), vec![], Some("jane")),
        (line("-"), vec![], None),
        (line("Jane Doe"), vec![], Some("Jane Doe")),
        (
            format!("www.example.org:443 {}", line("jane")),
            vec![],
            Some("jane"),
        ),
        (w3c.to_owned(), vec![], Some("EXAMPLE\\jane")),
        (own.to_owned(), vec!["--log-format", format], Some("jane")),
        (
            ends,
            vec!["--log-format", "%h %t \"%r\" %>s %u"],
            Some("jane"),
        ),
    ] {
        harness.file("access.log", &log);
        let hits = harness
            .run(
                ["scan", "-f", "ndjson", "access.log"]
                    .into_iter()
                    .chain(args),
            )
            .objects();
        assert_eq!(users(&hits), [user], "{log}");
        assert_eq!(
            (&hits[0]["client"], &hits[0]["target"]),
            (&"192.0.2.7".into(), &"/.env".into()),
            "{log}"
        );
    }
}

#[test]
fn rows_have_the_user_of_their_sample_also_after_a_merge() {
    let harness = Harness::new();
    harness.file("access.log", line("jane"));
    let (_, report) = harness.json(["access.log"]);
    for rows in ["pairs", "clients", "paths", "rules"] {
        assert_eq!(report[rows][0]["sample"]["user"], "jane", "{rows}");
    }
    for by in ["pair", "client", "path"] {
        let table = harness
            .run(["scan", "-f", "csv", "--by", by, "access.log"])
            .text();
        let (names, row) = table.trim_end().split_once('\n').unwrap();
        let user = names
            .split(',')
            .zip(row.split(','))
            .find(|(name, _)| *name == "user");
        assert_eq!(user, Some(("user", "jane")), "{table}");
    }
    assert_eq!(
        harness
            .run(["scan", "-f", "json", "-o", "a.json", "access.log"])
            .code,
        0
    );
    let merged = harness.run(["merge", "-f", "json", "a.json"]);
    assert_eq!(merged.json()["pairs"][0]["sample"]["user"], "jane");
    let again = harness.run(["scan", "-f", "ecs", "access.log"]).objects();
    assert_eq!(again[0]["user"]["name"], "jane");
}

#[test]
fn anonymize_hides_users() {
    let harness = Harness::new();
    harness.file("access.log", line("jane") + &line("jane@example.org"));
    for format in ["ndjson", "json", "csv", "html", "table", "ecs", "ocsf"] {
        let text = harness
            .run([
                "scan",
                "-f",
                format,
                "--anonymize",
                "truncate",
                "access.log",
            ])
            .text();
        assert!(!text.contains("jane"), "{format}: {text}");
    }
    let hits = harness
        .run([
            "scan",
            "-f",
            "ndjson",
            "--anonymize",
            "truncate",
            "access.log",
        ])
        .objects();
    assert_eq!(users(&hits), [Some("***"); 2]);
}

/// No text in the place of a user hides the hit, its client or its time, or reaches an output
/// unescaped.
#[test]
fn a_hostile_user_hides_nothing() {
    let harness = Harness::new();
    let long = "x".repeat(5_000);
    let names = [
        "192.0.2.99",
        "192.0.2.99:80",
        "2001:db8::1",
        "- -",
        "a [02/Nov/2026:08:01:00",
        "a] ",
        "\\",
        "a\\",
        "\u{1b}[31m",
        "\u{202e}x",
        "=1+1",
        "a\\\"b",
        "- 192.0.2.99 -",
        "host:80",
        long.as_str(),
        "é",
    ];
    for name in names {
        for prefix in ["", "www.example.org:80 "] {
            harness.file("access.log", format!("{prefix}{}", line(name)));
            let hits = harness
                .run(["scan", "-f", "ndjson", "access.log"])
                .objects();
            assert_eq!(hits.len(), 1, "{name}");
            let hit = &hits[0];
            let user = hit["user"].as_str().unwrap_or_default();
            assert!(!user.contains(['\u{1b}', '\u{202e}']), "{name}: {user}");
            assert_eq!(
                (&hit["target"], &hit["status"]),
                (&"/.env".into(), &404.into()),
                "{name}: {hit}"
            );
            let (_, report) = harness.json(["access.log"]);
            assert_conserved(&report);
            assert_eq!(report["totals"]["hits"], 1, "{name}");
        }
    }
    // A name excuses nothing.
    harness.file("access.log", line("admin").replace(" 404 ", " 200 "));
    let (_, report) = harness.json(["access.log"]);
    assert_eq!(report["answered"].as_array().unwrap().len(), 1, "{report}");
}
