//! Attacks on resources: rules with huge automata, lines that match everywhere, very many keys.
//! Time and memory stay in proportion, or the rule is refused.
//!
//! Nothing is timed: a search that is not linear would not end.

use std::fmt::Write as _;
use std::process::Command;

use crate::harness::{Harness, Run, finish, is_installed, line, log, skip};

const HEAD: &str = "family = \"x\"\ntitle = \"x\"\n";

/// A rule with these conditions.
fn rule(id: &str, conditions: &str) -> String {
    format!(
        "[[rule]]\nid = \"{id}\"\ntitle = \"t\"\nclass = \"rce\"\nseverity = \"high\"\nmust_match = []\nmust_not_match = []\n{conditions}\n"
    )
}

/// Scans with these rules only, with as much memory as a small server has.
fn with_rules(harness: &Harness, rules: &str, log: &str) -> Run {
    harness.file("rules.toml", rules);
    let args = [
        "scan",
        "-j2",
        "-f",
        "json",
        "--no-builtin",
        "--rules",
        "rules.toml",
        log,
    ];
    finish(&mut modest(harness, &args))
}

fn modest(harness: &Harness, args: &[&str]) -> Command {
    if is_installed("prlimit") {
        return harness.under(&["prlimit", "--as=600000000"], args);
    }
    skip("the limit on memory", "there is no prlimit");
    harness.command(args)
}

/// J4.
#[test]
fn rules_with_huge_automata_are_refused() {
    let harness = Harness::new();
    harness.file("access.log", log(10));
    let regex = |regex: &str| {
        format!(
            "{HEAD}{}",
            rule("x/bomb", &format!("words = [\"zz\"]\nregex = '{regex}'"))
        )
    };
    let many: String = (0..100_000)
        .map(|n| rule(&format!("x/r{n}"), &format!("paths = [\"/probe{n}\"]")))
        .collect();
    let cases = [
        (regex("a{5}{5}{5}{5}{5}{5}"), "rules.toml:4: rule 'x/bomb'"),
        (
            regex(&"ab?c*".repeat(200_000)),
            "rules.toml:4: rule 'x/bomb'",
        ),
        (
            regex(&format!("{}a{}", "(".repeat(10_000), ")".repeat(10_000))),
            "rules.toml:4: rule 'x/bomb'",
        ),
        (
            regex(&format!("{}a{}", "(".repeat(2_000), ")".repeat(2_000))),
            "rules.toml:4: rule 'x/bomb'",
        ),
        (
            regex(r"(?:\w{1,500}){1,500}"),
            "rules.toml:4: rule 'x/bomb'",
        ),
        (format!("{HEAD}{many}"), "100000 rules are too many"),
    ];
    for (rules, named) in cases {
        let run = with_rules(&harness, &rules, "access.log");
        assert_eq!((run.code, run.stdout.len()), (2, 0), "{named}");
        assert!(run.stderr.contains(named), "{named}: {}", run.stderr);
        assert!(
            run.stderr.len() < 40_000,
            "{named}: the message repeats {} bytes of the rule",
            run.stderr.len()
        );
    }
}

/// J5.
#[test]
fn classic_regex_bombs_run_in_linear_time() {
    let harness = Harness::new();
    // Just below the longest line, with a last letter that makes each rule fail.
    harness.file(
        "access.log",
        line(
            "192.0.2.1",
            &format!("GET /?{}! HTTP/1.1", "a".repeat(1_000_000)),
            200,
        )
        .repeat(3),
    );
    for regex in [
        "(a+)+$",
        "(a|a)*$",
        "(a|aa)+$",
        "(.*a){12}$",
        "(a*)*b",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
    ] {
        let run = with_rules(
            &harness,
            &format!(
                "{HEAD}{}",
                rule("x/a", &format!("words = ['aaaa']\nregex = '{regex}'"))
            ),
            "access.log",
        );
        assert_eq!(
            (run.code, &run.json()["totals"]["parsed"]),
            (0, &3.into()),
            "{regex}: {}",
            run.stderr
        );
    }
}

/// J6.
#[test]
fn a_line_that_matches_everywhere_is_one_hit() {
    let harness = Harness::new();
    harness.file(
        "access.log",
        line(
            "192.0.2.1",
            &format!("GET /?{} HTTP/1.1", "a".repeat(1_000_000)),
            200,
        ),
    );
    let many: String = (1..=200)
        .map(|n| {
            rule(
                &format!("x/a{n}"),
                &format!("words = ['{}']\nregex = 'a+'", "a".repeat(n)),
            )
        })
        .collect();
    let run = with_rules(&harness, &format!("{HEAD}{many}"), "access.log");
    let report = run.json();
    assert_eq!(
        (
            run.code,
            &report["totals"]["hits"],
            &report["totals"]["rules"]
        ),
        (0, &1.into(), &200.into()),
        "{}",
        run.stderr
    );
    harness.file(
        "access.log",
        line(
            "192.0.2.1",
            &format!(
                "GET /?{} HTTP/1.1",
                "/.env%2e%2e/<script>union select".repeat(30_000)
            ),
            200,
        ),
    );
    let report = finish(&mut modest(&harness, &["scan", "-f", "json", "access.log"])).json();
    assert_eq!(report["totals"]["hits"], 1);
}

/// J7.
#[test]
fn an_invalid_rule_is_reported_with_its_line() {
    let harness = Harness::new();
    harness.file("access.log", log(10));
    let cases = [
        (
            rule("x/a", "words = ['zzz']") + &rule("x/a", "words = ['yyy']"),
            "rules.toml:12: rule 'x/a': this id is already used",
        ),
        (rule("x/a", "word = ['zzz']"), "line 10, column 1"),
        (
            rule("x/a", "words = ['']"),
            "rules.toml:4: rule 'x/a': words: an empty text",
        ),
        (rule("x/a", ""), "rules.toml:4: rule 'x/a'"),
        (rule("x/a", "regex = 'a'"), "rules.toml:4: rule 'x/a'"),
        (
            rule("x/a", "paths = ['/']"),
            "rules.toml:4: rule 'x/a': paths: '/' is in every path",
        ),
        (
            rule("x/a", "words = ['zzz']\nregex = '(a'"),
            "rules.toml:4: rule 'x/a': regex",
        ),
        (
            rule("x/a", "words = ['zzz']\nregex = 'a(?=b)'"),
            "rules.toml:4: rule 'x/a': regex",
        ),
        (rule("X A", "words = ['zzz']"), "rules.toml:4: rule 'X A'"),
        ("[[rule]]\nid = 'x/a'\n".to_owned(), "line 3"),
        ("rule = 1\n\u{1}".to_owned(), "line 4"),
    ];
    for (rules, named) in cases {
        let run = with_rules(&harness, &format!("{HEAD}{rules}"), "access.log");
        assert_eq!(
            (run.code, run.stdout.len()),
            (2, 0),
            "{named}: {}",
            run.stderr
        );
        assert!(
            run.stderr.contains("rules.toml") && run.stderr.contains(named),
            "{named}: {}",
            run.stderr
        );
    }
    let run = with_rules(
        &harness,
        &format!("{HEAD}{}", rule("x/a", "words = ['zzz']\nregex = ''")),
        "access.log",
    );
    assert!(
        run.stderr
            .contains("rule 'x/a': its regex matches the empty text"),
        "{}",
        run.stderr
    );
}

/// J7.
#[test]
fn rule_files_with_crlf_or_a_byte_order_mark_load() {
    let harness = Harness::new();
    harness.file("access.log", log(10));
    let plain = format!("{HEAD}{}", rule("x/git", "paths = ['/.git']"));
    for rules in [
        plain.clone(),
        plain.replace('\n', "\r\n"),
        format!("\u{feff}{plain}"),
        plain.trim_end().to_owned(),
    ] {
        let run = with_rules(&harness, &rules, "access.log");
        assert_eq!(
            (run.code, run.json()["rules"][0]["rule"].as_str()),
            (0, Some("x/git")),
            "{}",
            run.stderr
        );
    }
}

/// J9.
#[test]
fn very_many_clients_and_paths() {
    // As many as can certainly be distinguished.
    const LINES: u32 = 80_000;
    let harness = Harness::new();
    let mut text = String::new();
    for n in 0..LINES {
        let [_, a, b, c] = n.to_be_bytes();
        let _ = writeln!(
            text,
            "10.{a}.{b}.{c} - - [02/Nov/2026:08:01:00 +0000] \"GET /{n}/.env HTTP/1.1\" 404 5 \"-\" \"agent {n}\""
        );
    }
    harness.file("access.log", text);
    let run = harness.run(["scan", "-f", "json", "-j2", "access.log"]);
    let report = run.json();
    assert_eq!(
        (run.code, &report["approximate"]),
        (0, &serde_json::Value::Null),
        "{}",
        run.stderr
    );
    for count in ["hits", "clients", "paths"] {
        assert_eq!(report["totals"][count], LINES, "{count}");
    }
}

/// J10.
#[test]
fn many_long_lines() {
    const LONGEST: usize = 1 << 20;
    let harness = Harness::new();
    let frame = line("192.0.2.1", "GET /.env? HTTP/1.1", 200).len() - 1;
    // One byte less than the longest line, the longest, and one that is too long.
    for (length, parsed) in [(LONGEST - 1, 24), (LONGEST, 24), (LONGEST + 1, 0)] {
        let text = line(
            "192.0.2.1",
            &format!("GET /.env?{} HTTP/1.1", "x".repeat(length - frame)),
            200,
        )
        .repeat(24);
        harness.file("access.log", format!("{}{text}{}", log(10), log(10)));
        for mmap in ["always", "never"] {
            let run = finish(&mut modest(
                &harness,
                &["scan", "-f", "json", "-j2", "--mmap", mmap, "access.log"],
            ));
            let totals = &run.json()["totals"];
            assert_eq!(
                (run.code, &totals["parsed"], &totals["lines"]),
                (0, &(20 + parsed).into(), &44.into()),
                "{length} {mmap}: {}",
                run.stderr
            );
            assert_eq!(totals["oversized"], 24 - parsed);
        }
    }
}

/// Whether a line over the limit is read as a whole depends on how the log is read; its problem
/// does not.
#[test]
fn an_only_line_that_is_too_long_is_reported_in_the_same_words() {
    const LONGEST: usize = 1 << 20;
    let harness = Harness::new();
    for length in [LONGEST + 1, LONGEST + 100_000, 2 * LONGEST, 4 * LONGEST] {
        for end in ["", "\n", "\nshort\n"] {
            let text = "x".repeat(length) + end;
            harness.file("access.log", &text);
            let problem = |run: Run| {
                let problem = run.json()["inputs"][0]["problem"]
                    .as_str()
                    .unwrap()
                    .to_owned();
                (run.code, problem)
            };
            let args = ["scan", "-f", "json", "-j2", "--mmap"];
            let [mapped, read] = ["always", "never"]
                .map(|mmap| problem(harness.run(args.iter().chain(&[mmap, "access.log"]))));
            let piped =
                problem(harness.run_with_stdin(["scan", "-f", "json", "-"], text.as_bytes()));
            assert_eq!((&mapped, &piped), (&read, &read), "{length} {end:?}");
            assert!(
                mapped.0 == 3
                    && mapped.1.contains("in a known format")
                    && !mapped.1.contains("First line"),
                "{mapped:?}"
            );
        }
    }
}

/// A limit that is too low results in a message and exit code 4 or 2, and prints no part of a
/// report. A thread that std or glibc cannot set up ends the process by a signal, also while
/// another thread prints our message: few limits do that, and none of them ends with code 0.
#[test]
fn running_out_of_memory_prints_a_message() {
    if !is_installed("prlimit") {
        return skip("no memory", "there is no prlimit");
    }
    let harness = Harness::new();
    harness.file("access.log", log(10));
    let run = |megabytes: u32| {
        let limit = format!("--as={megabytes}000000");
        let output = harness
            .under(&["prlimit", &limit], ["scan", "-j2", "access.log"])
            .output()
            .unwrap();
        (
            output.status.code(),
            output.stdout,
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    // Below, the program itself cannot be loaded.
    let started = (20..200)
        .map(run)
        .skip_while(|(_, _, stderr)| !stderr.starts_with("error: "));
    let failed: Vec<_> = started.take_while(|(code, ..)| *code != Some(0)).collect();
    assert!(failed.len() < 150, "it never succeeds");
    let is_of_a_thread_start = |stderr: &str| {
        stderr.contains("Fatal glibc error") || stderr.contains("panicked at /rustc/")
    };
    let mut thread_starts = 0;
    for (code, stdout, stderr) in &failed {
        assert!(stdout.is_empty(), "{code:?}: {stderr}");
        if is_of_a_thread_start(stderr) {
            thread_starts += 1;
            continue;
        }
        assert!(
            matches!(code, Some(2 | 4)) && stderr.starts_with("error: "),
            "{code:?}: {stderr}"
        );
    }
    assert!(thread_starts <= 3, "{failed:?}");
    assert!(
        failed
            .iter()
            .any(|(code, _, stderr)| *code == Some(4) && stderr.contains("ulimit -v")),
        "{failed:?}"
    );
}

/// Empty lines are not matched against rules.
#[test]
fn empty_lines_are_counted() {
    let harness = Harness::new();
    harness.file(
        "access.log",
        [
            b"\n".repeat(1_000_000).as_slice(),
            line("192.0.2.1", "GET /.env HTTP/1.1", 404).as_bytes(),
        ]
        .concat(),
    );
    let (run, report) = harness.json(["access.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        (
            &report["totals"]["lines"],
            &report["totals"]["unparsed"],
            &report["totals"]["hits"]
        ),
        (&1_000_001.into(), &1_000_000.into(), &1.into())
    );
}
