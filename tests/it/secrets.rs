//! H12: no output shows a secret of a log. The secrets are those of `cases/secrets.txt`; the
//! parameters of `cases/ordinary_params.txt` are shown as they are.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use regex::bytes::{Regex, RegexBuilder};
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Harness, Rng, spawn, wait, with_plain_evidence};

/// The lines of a file of cases.
fn cases(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cases")
        .join(name);
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

/// A text with secrets in place of their forms, and what of each would show it: its first and its
/// last characters.
fn with_secrets(form: &str, rng: &mut Rng) -> (String, Vec<String>) {
    let (mut text, mut shown) = (String::new(), Vec::new());
    let mut rest = form;
    // A `{` that begins no form is one of JSON.
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let kind = after.bytes().next().unwrap_or(b' ');
        let length = after
            .get(1..)
            .and_then(|after| after.split_once('}'))
            .and_then(|(length, _)| length.parse::<usize>().ok());
        let (Some(length), Some(letters)) = (length, letters(kind)) else {
            text.push('{');
            rest = after;
            continue;
        };
        let secret: String = (0..length)
            .map(|at| letter(letters, kind, at, rng))
            .collect();
        // Enough that chance does not make it: of digits all.
        let part = match kind {
            b'd' => length,
            b'x' => 11,
            b'u' => 8,
            _ => 6,
        };
        text.push_str(&secret);
        shown.extend([
            secret[..part].to_owned(),
            secret[length - part..].to_owned(),
        ]);
        rest = &after[after.find('}').unwrap() + 1..];
    }
    text.push_str(rest);
    assert!(!shown.is_empty(), "{form}");
    (text, shown)
}

fn letters(kind: u8) -> Option<&'static [u8]> {
    match kind {
        b'm' => Some(b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789"),
        b'l' => Some(b"abcdefghijklmnopqrstuvwxyz"),
        b'd' => Some(b"0123456789"),
        b'x' => Some(b"0123456789abcdef"),
        b'u' => Some(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
        _ => None,
    }
}

/// A character of a secret; a mixed one has all kinds.
fn letter(letters: &[u8], kind: u8, at: usize, rng: &mut Rng) -> char {
    let of = |letters: &[u8], rng: &mut Rng| {
        char::from(letters[rng.below(letters.len() as u64) as usize])
    };
    match (kind, at % 4) {
        (b'm', 0) => of(&letters[..24], rng),
        (b'm', 1) => of(&letters[24..48], rng),
        (b'm', 2) => of(&letters[48..], rng),
        _ => of(letters, rng),
    }
}

/// Every byte but letters and digits percent-encoded.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        let _ = if byte.is_ascii_alphanumeric() {
            write!(encoded, "{}", char::from(byte))
        } else {
            write!(encoded, "%{byte:02X}")
        };
        encoded
    })
}

/// A field as nginx writes it.
fn logged(field: &str) -> String {
    field.replace('\\', r"\x5C").replace('"', r"\x22")
}

/// A log in which every text is in all fields that may hold it, the parts of secrets, and how many
/// lines there are.
fn log_with_secrets() -> (String, Vec<String>, u32) {
    let mut rng = Rng::new();
    let (mut log, mut shown, mut lines) = (String::new(), Vec::new(), 0);
    for (number, form) in cases("secrets.txt").iter().enumerate() {
        let mut fields = |target: &dyn Fn(&str) -> String,
                          referer: &dyn Fn(&str) -> String,
                          agent: &dyn Fn(&str) -> String| {
            let (text, parts) = with_secrets(form, &mut rng);
            shown.extend(parts);
            lines += 1;
            let (target, referer, agent) = (target(&text), referer(&text), agent(&text));
            // Each client sends six requests, so that most are block candidates.
            let client = lines / 6;
            // Some are answered, each with its own size, and so alerts.
            let answer = if lines % 4 == 0 {
                format!("200 {}", rng.size())
            } else {
                "404 153".to_owned()
            };
            let _ = writeln!(
                log,
                "192.0.{}.{} - - [02/Nov/2026:08:{:02}:{:02} +0000] \"GET {} HTTP/1.1\" {answer} \"{}\" \"{}\"",
                2 + client / 250,
                client % 250,
                lines / 60 % 60,
                lines % 60,
                logged(&target),
                logged(&referer),
                logged(&agent)
            );
        };
        let probe = |_: &str| format!("/p{number}/.env");
        let none = |_: &str| "-".to_owned();
        if form.starts_with(' ') {
            fields(&probe, &none, &|text| format!("tool{text}"));
            fields(
                &probe,
                &|text| format!("https://a.example/?x={}", encoded(text)),
                &none,
            );
            fields(
                &|text| format!("/p{number}/.env?x={}", encoded(text)),
                &none,
                &none,
            );
        } else if form.starts_with('/') {
            fields(
                &|text| format!("/p{number}{text}?x=/etc/passwd"),
                &none,
                &none,
            );
            fields(
                &|text| format!("/p{number}/.env?next={}", encoded(text)),
                &none,
                &none,
            );
            fields(&probe, &|text| format!("https://a.example{text}"), &none);
        } else {
            let query = |text: &str| text.replace(' ', "%20");
            fields(
                &|text| format!("/p{number}/.env?x=1&{}", query(text)),
                &none,
                &none,
            );
            fields(
                &|text| format!("/p{number}/.env?{}&x=1", query(text)),
                &none,
                &none,
            );
            fields(
                &|text| format!("/p{number}/.env?next=%2Fa%3F{}%26x%3D1", encoded(text)),
                &none,
                &none,
            );
            fields(
                &probe,
                &|text| format!("https://a.example/?x=1&{}", query(text)),
                &none,
            );
            fields(&probe, &none, &|text| {
                format!("Mozilla/5.0 (+https://a.example/?x=1&{})", query(text))
            });
        }
    }
    (log, shown, lines)
}

/// Finds any part of a secret.
struct Leaks(Regex);

impl Leaks {
    fn new(shown: &[String]) -> Self {
        Self(
            RegexBuilder::new(&shown.join("|"))
                .size_limit(1 << 28)
                .build()
                .unwrap(),
        )
    }

    /// The parts of secrets in an output, each with the text around it.
    fn add(&self, output: &[u8], what: &str, leaks: &mut Vec<String>) {
        for found in self.0.find_iter(output) {
            let around =
                &output[found.start().saturating_sub(90)..(found.end() + 40).min(output.len())];
            leaks.push(format!("{what}: {}", around.escape_ascii()));
        }
    }
}

fn assert_none(leaks: &[String]) {
    let first: Vec<&str> = leaks.iter().map(String::as_str).take(40).collect();
    assert!(
        leaks.is_empty(),
        "{} parts of secrets are shown, such as\n{}",
        leaks.len(),
        first.join("\n")
    );
}

#[test]
fn there_are_enough_kinds() {
    assert!(cases("secrets.txt").len() >= 170);
    assert!(cases("ordinary_params.txt").len() >= 60);
}

#[test]
fn no_output_of_a_scan_shows_a_secret() {
    let (log, shown, lines) = log_with_secrets();
    let secrets = Leaks::new(&shown);
    let harness = Harness::new();
    harness.file("access.log", log);
    let mut leaks = Vec::new();
    let hits = harness.run(["scan", "-f", "ndjson", "access.log"]);
    assert_eq!(
        hits.objects().len(),
        lines as usize,
        "every line is a hit: {}",
        hits.stderr
    );
    for args in [
        &["scan", "-f", "ndjson"][..],
        &["scan", "-f", "ndjson", "--anonymize"],
        &["scan", "-f", "ecs"],
        &["scan", "-f", "ocsf"],
        &["scan", "-f", "table", "--full"],
        &["scan", "-f", "table", "--by", "path", "--top", "100000"],
        &["scan", "-f", "csv"],
        &["scan", "-f", "csv", "--by", "client"],
        &["scan", "-f", "csv", "--by", "path"],
        &["scan", "-f", "csv", "--by", "rule"],
        &["scan", "-f", "html"],
        &["scan", "-f", "json"],
        &["scan", "-f", "prometheus"],
        &["learn"],
        &["formats"],
        &["formats", "-f", "json"],
    ] {
        let run = crate::harness::finish(
            harness
                .command([args, &["access.log"]].concat())
                .env("COLUMNS", "1000"),
        );
        assert!(
            run.code == 0 && !run.stdout.is_empty(),
            "{args:?}: {}",
            run.stderr
        );
        let text = if args.contains(&"json") && args[0] == "scan" {
            with_plain_evidence(&run.text())
        } else {
            run.text()
        };
        secrets.add(text.as_bytes(), &args.join(" "), &mut leaks);
        secrets.add(run.stderr.as_bytes(), "standard error", &mut leaks);
    }
    for line in (1..=lines).step_by(13) {
        for format in ["table", "json"] {
            let run = harness.run(["explain", "-f", format, &format!("access.log:{line}")]);
            assert_eq!(run.code, 0, "{}", run.stderr);
            secrets.add(&run.stdout, &format!("explain -f {format}"), &mut leaks);
        }
    }
    assert_none(&leaks);
}

#[test]
fn no_block_list_and_no_file_of_a_report_shows_a_secret() {
    let (log, shown, _) = log_with_secrets();
    let secrets = Leaks::new(&shown);
    let harness = Harness::new();
    harness.file("access.log", log);
    let mut leaks = Vec::new();
    for format in [
        "plain",
        "nft",
        "ipset",
        "nginx",
        "nginx-geo",
        "apache",
        "crowdsec",
        "fail2ban",
        "abuseipdb",
        "abuse-mail",
        "csv",
    ] {
        let run = harness.run(["block", "-f", format, "--ttl", "36500d", "access.log"]);
        assert!(
            run.code == 0 && run.stdout.len() > 1000,
            "{format}: {}{}",
            run.text(),
            run.stderr
        );
        secrets.add(&run.stdout, &format!("block -f {format}"), &mut leaks);
    }
    let run = harness.run([
        "report",
        "--state",
        "state",
        "--out",
        "out",
        "--notify-level",
        "low",
        "access.log",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    secrets.add(&run.stdout, "the mail", &mut leaks);
    let mut files = 0;
    for file in fs::read_dir(harness.path("out/latest")).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let text = if path.ends_with("report.json") {
            with_plain_evidence(&text)
        } else {
            text
        };
        secrets.add(text.as_bytes(), &path.display().to_string(), &mut leaks);
        files += 1;
    }
    assert_eq!(files, 8);
    // What was masked in a report stays so in one made of it.
    for format in ["json", "csv", "html"] {
        let run = harness.run(["merge", "-f", format, "out/latest/report.json"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let text = if format == "json" {
            with_plain_evidence(&run.text())
        } else {
            run.text()
        };
        secrets.add(text.as_bytes(), &format!("merge -f {format}"), &mut leaks);
    }
    assert_none(&leaks);
}

#[test]
fn no_live_line_and_no_alert_shows_a_secret() {
    let (log, shown, lines) = log_with_secrets();
    let secrets = Leaks::new(&shown);
    let mut leaks = Vec::new();
    for format in ["table", "ndjson"] {
        let harness = Harness::new();
        let line = crate::harness::line;
        // The answers of the log have one size, so they are no finds; this one is of another site.
        let find = crate::harness::sized(
            &line(
                "203.0.113.77",
                "GET /backup.sql?password=correct-horse-9 HTTP/1.1",
                200,
            ),
            48_211,
        );
        harness.file(
            "access.log",
            log.clone() + &line("198.51.100.1", "GET /last/.env HTTP/1.1", 404),
        );
        harness.file("other.log", &find);
        let args = [
            "follow",
            "--from-start",
            "--alert-file",
            "alerts.json",
            "-f",
            format,
            "other.log",
            "access.log",
        ];
        let mut child = spawn(&mut harness.command(args));
        let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut count = 0;
        for line in &mut printed {
            let line = line.unwrap();
            secrets.add(line.as_bytes(), &format!("follow -f {format}"), &mut leaks);
            count += 1;
            if line.contains("/last/.env") {
                break;
            }
        }
        // The table has one line for the probes of a client that come together.
        assert!(count >= lines / 6, "{count} lines");
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        for line in printed {
            secrets.add(
                line.unwrap().as_bytes(),
                &format!("follow -f {format}"),
                &mut leaks,
            );
        }
        let run = wait(child);
        assert_eq!(run.code, 130, "{}", run.stderr);
        let alerts = fs::read(harness.path("alerts.json")).unwrap();
        let text = String::from_utf8_lossy(&alerts);
        assert!(
            text.contains("/backup.sql?password=***") && !text.contains("correct-horse-9"),
            "a find raises an alert: {text}"
        );
        secrets.add(&alerts, "alerts", &mut leaks);
    }
    assert_none(&leaks);
}

#[test]
fn ordinary_parameters_are_shown() {
    let harness = Harness::new();
    let cases = cases("ordinary_params.txt");
    let target = |case: &String| {
        if case.starts_with('/') {
            format!("{case}?x=/etc/passwd")
        } else {
            format!("/.env?a=1&{case}&b=2")
        }
    };
    let log: String = cases
        .iter()
        .map(|case| {
            crate::harness::line("192.0.2.1", &format!("GET {} HTTP/1.1", target(case)), 404)
        })
        .collect();
    harness.file("access.log", log);
    let objects = harness
        .run(["scan", "-f", "ndjson", "access.log"])
        .objects();
    assert_eq!(objects.len(), cases.len());
    let wrong: Vec<_> = objects
        .iter()
        .zip(&cases)
        .filter(|(hit, case)| hit["target"] != target(case))
        .map(|(hit, _)| hit["target"].to_string())
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
