//! `learn`: the proposals, their independence of how logs are read, and the rules it writes.

use std::fs;

use serde_json::Value;

use crate::harness::{Harness, Run, line};
use crate::invariants::gzip;

/// Rules of the test, because the built-in rules change often.
const RULES: &str = r#"
[[rule]]
id = "mine/env"
title = "x"
class = "config-exposure"
severity = "high"
paths = ["/.env"]

[[rule]]
id = "mine/shells"
title = "x"
class = "webshell"
severity = "high"
paths = ["/probe.php", "/shell.php"]
"#;

/// A client in its own network that requests what the rules match, and these paths.
fn prober(client: usize, paths: &[&str]) -> String {
    let known = ["/.env", "/probe.php", "/shell.php"];
    known
        .iter()
        .chain(paths)
        .map(|path| {
            line(
                &format!("10.0.{client}.1"),
                &format!("GET {path} HTTP/1.1"),
                404,
            )
        })
        .collect()
}

fn probers(paths: &[&str]) -> String {
    (0..3).map(|client| prober(client, paths)).collect()
}

fn harness(log: impl AsRef<[u8]>) -> Harness {
    let harness = Harness::new();
    harness.file("base.toml", RULES);
    harness.file("access.log", log);
    harness
}

const LEARN: [&str; 4] = ["learn", "--no-builtin", "--rules", "base.toml"];

fn learn(harness: &Harness, args: &[&str]) -> Run {
    harness.run(LEARN.iter().chain(args))
}

/// The proposed paths, in order.
fn proposed(harness: &Harness) -> Vec<String> {
    let run = learn(harness, &["-f", "json", "access.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value = serde_json::from_slice(&run.stdout).unwrap();
    report["proposals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["path"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn an_unmatched_path_is_proposed_until_a_normal_client_requests_it() {
    let log = probers(&["/unlisted.php?token=hidden"]);
    let harness = harness(&log);
    let table = learn(&harness, &["access.log"]).text();
    assert!(
        table.starts_with("1 unlisted path was requested by 3 independent probers or more; 3 clients are known to probe.\n"),
        "{table}"
    );
    assert!(
        table.contains("/unlisted.php")
            && table.contains("access.log:4")
            && table.contains("12 lines in 1 input"),
        "{table}"
    );
    let csv = learn(&harness, &["-f", "csv", "access.log"]).text();
    let time = "2026-11-02T08:01:00+00:00";
    let row = format!(
        "1,/unlisted.php,3,0,3,0,404,learned/php-webshell,webshell,medium,{time},{time},404,/unlisted.php,access.log,4\n"
    );
    assert!(
        csv.starts_with("rank,path,probers,others,requests,") && csv.ends_with(&row),
        "{csv}"
    );
    let json = learn(&harness, &["-f", "json", "access.log"]).text();
    assert!(!format!("{table}{csv}{json}").contains("hidden"));
    assert_eq!(proposed(&harness), ["/unlisted.php"]);

    fs::write(
        harness.path("access.log"),
        log + &line("192.0.2.1", "GET /unlisted.php HTTP/1.1", 200),
    )
    .unwrap();
    assert_eq!(proposed(&harness), [""; 0]);
    let table = learn(&harness, &["access.log"]).text();
    assert!(
        table.starts_with("No unlisted path was requested by 3 independent probers; 3 clients"),
        "{table}"
    );
}

#[test]
fn the_number_of_probers_can_be_set() {
    let harness = harness(
        (0..5)
            .map(|n| {
                prober(
                    n,
                    if n < 4 {
                        &["/four.php", "/five.php"]
                    } else {
                        &["/five.php"]
                    },
                )
            })
            .collect::<String>(),
    );
    let paths = |least: &str| {
        let text = learn(
            &harness,
            &["-f", "csv", "--min-probers", least, "access.log"],
        )
        .text();
        text.lines()
            .skip(1)
            .map(|row| row.split(',').nth(1).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(paths("4"), ["/five.php", "/four.php"]);
    assert_eq!(paths("5"), ["/five.php"]);
    assert_eq!(paths("6"), [""; 0]);
    let one = learn(
        &harness,
        &[
            "-f",
            "csv",
            "--top",
            "1",
            "--emit-rules",
            "one.toml",
            "access.log",
        ],
    )
    .text();
    assert!(
        one.lines().count() == 2 && one.contains("/five.php"),
        "{one}"
    );
    assert!(
        !fs::read_to_string(harness.path("one.toml"))
            .unwrap()
            .contains("/four.php")
    );
}

/// A larger log: a site, its visitors, and probers throughout.
fn busy() -> String {
    let words = [
        "/one.php",
        "/Two.php",
        "/old/three.zip",
        "/.four",
        "/panel/five",
        "/1234567.php",
    ];
    (0..400)
        .map(|n| {
            let pages: String = (0..100)
                .map(|page| {
                    line(
                        &format!("192.0.2.{}", (n + page) % 200),
                        &format!("GET /page/{page} HTTP/1.1"),
                        200,
                    )
                })
                .collect();
            if n % 20 == 0 {
                pages + &prober(n / 20, &words[..n / 20 % 7])
            } else {
                pages
            }
        })
        .collect()
}

#[test]
fn threads_maps_and_compression_do_not_change_the_report() {
    let log = busy();
    let harness = harness(&log);
    let run_learn = |args: &[&str]| {
        let run = learn(
            &harness,
            &[args, &["--emit-rules", "new.toml", "access.log"]].concat(),
        );
        assert_eq!(run.code, 0, "{}", run.stderr);
        (
            run.text(),
            fs::read_to_string(harness.path("new.toml")).unwrap(),
        )
    };
    for format in ["table", "csv", "json"] {
        let expected = run_learn(&["-f", format, "-j1", "--mmap", "never"]);
        assert!(
            expected.0.contains("/two.php") && expected.1.contains("/two.php"),
            "{expected:?}"
        );
        for threads in ["1", "2", "8"] {
            for mmap in ["always", "never"] {
                assert!(
                    run_learn(&["-f", format, "-j", threads, "--mmap", mmap]) == expected,
                    "{format}, {threads} threads, mmap {mmap}"
                );
            }
        }
    }
    let expected = run_learn(&["-f", "csv"]);
    harness.file("access.log", gzip(log.as_bytes()));
    assert!(run_learn(&["-f", "csv"]) == expected, "compressed");
    let piped = harness.run_with_stdin(LEARN.iter().chain(&["-f", "csv", "-"]), log.as_bytes());
    assert_eq!(
        piped.text().replace(",-,", ",access.log,"),
        expected.0,
        "{}",
        piped.stderr
    );
}

#[test]
fn proposed_rules_pass_their_tests_and_match_the_paths() {
    let harness = harness(busy());
    assert_eq!(
        learn(
            &harness,
            &["-q", "--emit-rules", "learned.toml", "access.log"]
        )
        .code,
        0
    );
    let test = harness.run(["rules", "test", "learned.toml"]);
    assert_eq!(
        (test.code, test.text().split(',').next()),
        (0, Some("4 rules")),
        "{}{}",
        test.text(),
        test.stderr
    );
    let (scan, report) = harness.json(["--no-builtin", "--rules", "learned.toml", "access.log"]);
    assert_eq!(scan.code, 0, "{}", scan.stderr);
    let mut found: Vec<_> = report["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["path"].as_str().unwrap().to_lowercase())
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "/.four",
            "/old/three.zip",
            "/one.php",
            "/panel/five",
            "/two.php"
        ]
    );
    let again = learn(
        &harness,
        &["--rules", "learned.toml", "-f", "csv", "access.log"],
    )
    .text();
    assert_eq!(again.lines().count(), 1, "{again}");
}

#[test]
fn rules_in_use_are_not_overwritten() {
    let harness = harness(busy());
    for rules in ["base.toml", "."] {
        let run = harness.run([
            "learn",
            "--rules",
            rules,
            "--emit-rules",
            "base.toml",
            "access.log",
        ]);
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(
            run.stderr
                .contains("base.toml: --emit-rules would overwrite rules that --rules reads"),
            "{}",
            run.stderr
        );
    }
    assert_eq!(
        fs::read_to_string(harness.path("base.toml")).unwrap(),
        RULES
    );
    let run = learn(&harness, &["--emit-rules", "access.log", "access.log"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(
        run.stderr.contains("--emit-rules would overwrite an input"),
        "{}",
        run.stderr
    );
}

#[test]
fn errors_are_reported_before_anything_is_read() {
    let harness = harness(busy());
    for (args, code, run_learn) in [
        (&["-f", "ndjson"][..], 2, "learn does not print ndjson"),
        (
            &["--emit-rules", "-"],
            2,
            "would both go to standard output",
        ),
        (
            &["--emit-rules", "x.toml", "-o", "x.toml"],
            2,
            "would both go to x.toml",
        ),
        (&["--emit-rules", "nowhere/x.toml"], 4, "nowhere/x.toml"),
        (&["--min-probers", "0"], 2, "type 1 or more"),
        (&["--min-severity", "high"], 2, "unexpected argument"),
    ] {
        let run = learn(&harness, &[args, &["access.log"]].concat());
        assert_eq!(run.code, code, "{args:?}: {}", run.stderr);
        assert!(
            run.stderr.contains(run_learn) && run.stdout.is_empty(),
            "{args:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn hostile_paths_are_escaped() {
    let hostile = [
        r"/a\x22]%0a[[rule]].php",
        "/%22%5d%0d%0aid=%22x.php",
        "/\u{202e}x.php",
        "/%1b[31mred.php",
        "/it's-#-a,b=c&d;e.php",
        "/back%5cslash'''.php",
        "/=cmd|'calc'!a0.php",
    ];
    let harness = harness(probers(&hostile));
    for format in ["table", "csv", "json"] {
        let run = learn(
            &harness,
            &["-f", format, "--emit-rules", "new.toml", "access.log"],
        );
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let text = fs::read_to_string(harness.path("new.toml")).unwrap();
    assert!(
        text.bytes()
            .all(|b| b == b'\n' || (b' '..=b'~').contains(&b)),
        "{text}"
    );
    assert!(text.contains("\"/=cmd|'calc'!a0.php\""), "{text}");
    let tested = harness.run(["rules", "test", "new.toml"]);
    assert_eq!(
        (tested.code, tested.text().split(',').next()),
        (0, Some("2 rules")),
        "{text}{}",
        tested.stderr
    );
}

#[test]
fn a_missing_input_is_reported() {
    let harness = harness(busy());
    let run = learn(&harness, &["-f", "csv", "access.log", "gone.log"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(
        run.stderr.contains("gone.log") && run.text().contains("/one.php"),
        "{}",
        run.stderr
    );
}

#[test]
fn allowed_clients_are_not_probers() {
    let harness = harness(probers(&["/unlisted.php"]));
    harness.file(
        "allow.toml",
        "[[allow]]\nreason = 'our own scanner'\nclients = ['10.0.1.0/24']\n",
    );
    let of = |args: &[&str]| {
        learn(
            &harness,
            &[args, &["--min-probers", "2", "-f", "json", "access.log"]].concat(),
        )
        .text()
    };
    let probers =
        |text: &str| serde_json::from_str::<Value>(text).unwrap()["totals"]["probers"].clone();
    assert!(of(&[]).contains("\"hits\":9,"), "{}", of(&[]));
    assert_eq!(
        (probers(&of(&[])), probers(&of(&["--allow", "allow.toml"]))),
        (3.into(), 2.into()),
        "{}",
        of(&[])
    );
    let wrong = learn(&harness, &["--app", "no-such-app", "access.log"]);
    assert!(
        wrong.code == 2 && wrong.stderr.contains("no app is called 'no-such-app'"),
        "{}",
        wrong.stderr
    );
}
