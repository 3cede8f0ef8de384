//! `probewatch explain`: how it reads its argument, what it prints, and that it agrees with a scan.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{Harness, Run, finish, line};
use crate::invariants::gzip;

const RULES: &str = r#"
family = "mine"
title = "Rules of our own"

[[rule]]
id = "mine/env"
title = "Environment file"
class = "config-exposure"
severity = "high"
paths = ["/.env", "/env.bak"]
must_match = ["GET /.env"]
must_not_match = ["GET /"]

[[rule]]
id = "mine/union"
title = "UNION SELECT"
class = "sqli"
severity = "medium"
fields = ["query", "user_agent"]
words = ["union"]
regex = 'union\s+select'
must_match = ["GET /?q=union+select"]
must_not_match = ["GET /"]

[[rule]]
id = "mine/gone"
title = "Old page"
class = "panel"
severity = "low"
paths = ["/old-panel"]
methods = ["POST", "PUT"]
statuses = [404, 410]
must_match = ["POST /old-panel"]
must_not_match = ["GET /"]

[[rule]]
id = "mine/linked"
title = "Panel that nobody links to"
class = "panel"
severity = "low"
answer = "inconclusive"
fields = ["path", "referer"]
words = ["/panel"]
unless = { referer = "://" }
must_match = ["GET /panel"]
must_not_match = ["GET /"]

[[rule]]
id = "mine/bot"
title = "A bot that says so"
class = "scanner-agent"
severity = "info"
agents = ["evilbot"]
must_match = [{ request = "GET /", user_agent = "evilbot/1" }]
must_not_match = ["GET /"]

[[rule]]
id = "mine/script"
title = "Script in a folder of pictures"
class = "webshell"
severity = "high"
path_glob = "/pictures/**/*.php"
must_match = ["GET /pictures/a.php"]
must_not_match = ["GET /"]
"#;

fn harness() -> Harness {
    let harness = Harness::new();
    harness.file("my.toml", RULES);
    harness
}

fn explain(harness: &Harness, columns: &str, args: &[&str]) -> Run {
    let ours = ["explain", "--no-builtin", "--rules", "my.toml"];
    finish(
        harness
            .command(ours.iter().chain(args))
            .env("COLUMNS", columns),
    )
}

fn combined(request: &str, status: u16, referer: &str, agent: &str) -> String {
    format!(
        r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "{request}" {status} 512 "{referer}" "{agent}""#
    )
}

#[test]
fn the_text_of_an_explanation() {
    let harness = harness();
    let request = "GET /shop/..%2f%252eenv?password=hunter2&id=1+%75nion/**/select+1 HTTP/1.1";
    let text = combined(
        request,
        200,
        "https://www.example.org/panel%3Cb",
        r"evilbot/1 \x1b[2J union of bots",
    );
    for columns in ["80", "200"] {
        let run = explain(&harness, columns, &[&text]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        let width: usize = columns.parse().unwrap();
        assert!(
            run.text()
                .lines()
                .all(|line| line.chars().count() <= width && line.trim_end() == line),
            "{}",
            run.text()
        );
        insta::assert_snapshot!(format!("explain_{columns}"), run.text());
    }
}

#[test]
fn every_reason_has_a_text() {
    let harness = harness();
    let referred = combined("GET /panel HTTP/1.1", 404, "http://x.example.org/", "x");
    let bot = combined("GET / HTTP/1.1", 404, "-", "evilbot/1");
    let refused = combined("POST /old-panel HTTP/1.1", 200, "-", "x");
    for (text, explain_text) in [
        (
            "GET /?q=union+of+two",
            "the regex matches nothing in the query: union\\s+select",
        ),
        (&refused, "status is 200, not 404 or 410"),
        ("GET /old-panel", "method is GET, not POST or PUT"),
        (
            "POST /old-panel",
            "there is no status, and the rule requires 404 or 410",
        ),
        (&referred, "excluded by unless: '://' is in the referer"),
        (
            &bot,
            "matches, but a scan would not report it: info is below --min-severity low",
        ),
        (&bot, "1 rule matches; a scan would report none."),
        (
            "GET /env.bakery",
            "'/env.bak' is in the path, but not as whole segments where the rule looks",
        ),
        (
            "GET /?f=/env.bak",
            "'/env.bak' is in the query, not in the path",
        ),
        (
            "GET /pictures/a.png",
            "'/pictures/' is in the path, but the path ends differently",
        ),
        (
            "GET /?q=union+select",
            "1 rule matches: mine/union, medium.",
        ),
        ("GET /nothing", "No rule matches."),
    ] {
        let run = explain(&harness, "200", &[text]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(
            run.text().contains(explain_text),
            "{explain_text}: {}",
            run.text()
        );
    }
}

#[test]
fn an_explanation_of_one_rule_lists_all_its_conditions() {
    let harness = harness();
    for (rule, request, lines) in [
        (
            "mine/gone",
            "GET /",
            &[
                "mine/gone does not match.",
                "no   paths",
                "no   methods",
                "no   statuses",
            ][..],
        ),
        (
            "mine/union",
            "GET /?q=select",
            &[
                "no   words",
                "the query or user agent does not contain 'union'",
                "no   regex",
            ],
        ),
        (
            "mine/union",
            "GET /?q=union+select",
            &[
                "mine/union matches.",
                "yes  words",
                "yes  regex",
                "matches 'union select' in the query",
            ],
        ),
        ("mine/linked", "GET /panel", &["yes  unless"]),
    ] {
        let text = explain(&harness, "200", &["--rule", rule, request]).text();
        assert!(
            lines.iter().all(|line| text.contains(line)),
            "{rule} {request}: {text}"
        );
    }
    let run = explain(&harness, "80", &["--rule", "mine/evn", "GET /"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("did you mean 'mine/env'?"),
        "{}",
        run.stderr
    );
}

#[test]
fn typed_requests_are_recognised() {
    let harness = harness();
    for text in [
        "GET /.env",
        "/.env",
        "https://www.example.org/.env",
        "HEAD /a/%2eenv HTTP/1.0",
    ] {
        let text = explain(&harness, "80", &[text]).text();
        assert!(
            text.contains("Not a log line; read as a request.")
                && text.contains("1 rule matches: mine/env, high."),
            "{text}"
        );
    }
    for text in ["hello", r#"Nov  2 08:01:00 web: "GET / HTTP/1.1""#] {
        let text = explain(&harness, "80", &[text]).text();
        assert!(text.contains("This line has no known format"), "{text}");
    }
    let run = explain(
        &harness,
        "80",
        &[
            "--log-format",
            "common",
            &format!(
                "example.org:80 {}",
                combined("GET / HTTP/1.1", 200, "-", "x")
            ),
        ],
    );
    assert!(
        run.text().contains("This line has no known format"),
        "{}",
        run.text()
    );
}

#[test]
fn line_numbers_agree_with_those_of_a_scan() {
    let harness = harness();
    let mut log = b"\xef\xbb\xbf".to_vec();
    log.extend(b"\n\0\0\0\0");
    log.extend(
        line("192.0.2.1", "GET /a HTTP/1.1", 200)
            .replace('\n', "\r\n")
            .into_bytes(),
    );
    log.extend(format!("{}\n", "x".repeat(3_000)).bytes());
    log.extend(line("192.0.2.2", "GET /.env HTTP/1.1", 404).into_bytes());
    log.extend(b"GET /.env\n");
    harness.file("plain.log", &log);
    harness.file("compressed.log", gzip(&log));
    for name in ["plain.log", "compressed.log"] {
        let scan = harness
            .run([
                "scan",
                "--no-builtin",
                "--rules",
                "my.toml",
                "-f",
                "ndjson",
                name,
            ])
            .objects();
        let line = scan[0]["line"].as_u64().unwrap();
        assert_eq!((line, scan[0]["client"].as_str()), (4, Some("192.0.2.2")));
        let objects = explain(&harness, "80", &["-f", "json", &format!("{name}:{line}")]).objects();
        assert_eq!(
            (
                objects[0]["line"].as_u64(),
                objects[0]["client"].as_str(),
                objects.len()
            ),
            (Some(4), Some("192.0.2.2"), 1)
        );
        let text = explain(&harness, "80", &[&format!("{name}:4")]).text();
        assert!(
            text.contains(&format!("{name}:4. A line of the format combined.")),
            "{text}"
        );
        // In a file it is read as in a scan.
        let text = explain(&harness, "80", &[&format!("{name}:5")]).text();
        assert!(text.contains("This line has no known format"), "{text}");
        let run = explain(&harness, "80", &[&format!("{name}:6")]);
        assert!(
            run.code == 2 && run.stderr.contains("has 5 lines, and no line 6"),
            "{}",
            run.stderr
        );
        let run = explain(&harness, "80", &[&format!("{name}:0")]);
        assert!(
            run.code == 2 && run.stderr.contains("type 1 or more"),
            "{}",
            run.stderr
        );
    }
    let limited = finish(
        harness
            .command(["explain", "plain.log:3"])
            .env("PROBEWATCH_MAX_LINE", "2000"),
    );
    assert!(
        limited.code == 0
            && limited
                .stderr
                .contains("longer than --max-line (2000 bytes)"),
        "{}",
        limited.stderr
    );
}

#[test]
fn a_file_name_is_not_read_as_a_line() {
    let harness = harness();
    harness.file("access.log", line("192.0.2.1", "GET / HTTP/1.1", 200));
    let run = explain(&harness, "80", &["access.log"]);
    assert!(
        run.code == 2
            && run
                .stderr
                .contains("type 'access.log:1' for its first line"),
        "{}",
        run.stderr
    );
    let run = explain(&harness, "80", &["gone.log:3"]);
    assert!(
        run.code == 0 && run.stderr.contains("no file is called 'gone.log'"),
        "{}",
        run.stderr
    );
    let absolute = harness.path("access.log");
    let run = explain(&harness, "80", &[absolute.to_str().unwrap()]);
    assert!(
        run.code == 0 && run.stderr.contains("read as the path of a request"),
        "{}",
        run.stderr
    );
}

#[test]
fn unreadable_input_is_reported() {
    let harness = harness();
    harness.file("compressed.zip", b"PK\x03\x04 and so on");
    let run = explain(&harness, "80", &["compressed.zip:1"]);
    assert!(
        run.code == 3 && run.stderr.contains("compressed.zip: is a zip archive"),
        "{}",
        run.stderr
    );
    let whole = gzip(
        line("192.0.2.1", "GET /.env HTTP/1.1", 200)
            .repeat(500)
            .as_bytes(),
    );
    harness.file("cut.gz", &whole[..whole.len() / 2]);
    let run = explain(&harness, "80", &["cut.gz:499"]);
    assert!(
        run.code == 3 && run.stderr.starts_with("error: cut.gz: "),
        "{}",
        run.stderr
    );
    let run = explain(&harness, "80", &["--only", "mine/nothing", "GET /"]);
    assert!(
        run.code == 2 && run.stderr.contains("mine/nothing"),
        "{}",
        run.stderr
    );
    assert_eq!(harness.run(["explain"]).code, 2);
}

/// The README shows part of a real explanation: every line of its block is printed, in this order.
#[test]
fn the_readme_shows_an_explanation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("README.md")).unwrap();
    let (_, rest) = page.split_once("probewatch explain samples/").unwrap();
    let place = format!("samples/{}", rest.lines().next().unwrap());
    let shown = rest
        .split("```text\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let run = finish(
        Harness::new()
            .command(["explain", &place])
            .current_dir(root)
            .env("COLUMNS", "100"),
    );
    let text = run.text();
    let mut lines = text.lines();
    for line in shown
        .lines()
        .filter(|line| !line.is_empty() && *line != "...")
    {
        assert!(
            lines.any(|printed| printed == line),
            "the explanation does not print, or not here: {line}\n{text}"
        );
    }
}

/// The rules that explanations report for each line.
fn explained(objects: &[Value]) -> Vec<(u64, Vec<String>)> {
    let rules = |object: &Value| {
        let matches = object["matches"].as_array().unwrap().iter();
        matches
            .filter(|rule| rule["suppressed"].is_null())
            .map(|rule| rule["rule"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let found = objects
        .iter()
        .map(|object| (object["line"].as_u64().unwrap(), rules(object)));
    found.filter(|(_, rules)| !rules.is_empty()).collect()
}

#[test]
fn explanations_and_scans_agree_line_by_line() {
    let harness = Harness::new();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    // Without sites that answer 200 to everything: their grades depend on other lines.
    for name in [
        "answered.log",
        "disguised.log",
        "mixed.log",
        "outcomes.log",
        "quiet.log",
        "rotated.log.1.gz",
    ] {
        let bytes = fs::read(samples.join(name)).unwrap();
        harness.file(name, &bytes);
        let scan = harness.run(["scan", "-f", "ndjson", name]).objects();
        let ids = |rules: &Value| {
            rules
                .as_array()
                .unwrap()
                .iter()
                .map(|rule| rule.as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let scanned: Vec<_> = scan
            .iter()
            .map(|hit| (hit["line"].as_u64().unwrap(), ids(&hit["rules"])))
            .collect();
        let run = harness.run_with_stdin(["explain", "-f", "json", "-"], &bytes);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(explained(&run.objects()), scanned, "{name}");
        assert_eq!(scanned.is_empty(), name == "quiet.log", "{name}");
    }
}

/// A request with a response size.
fn sized(client: &str, request: &str, status: u16, bytes: u32) -> String {
    format!(
        "{client} - - [02/Nov/2026:08:01:00 +0000] \"{request} HTTP/1.1\" {status} {bytes} \"-\" \"curl/8\"\n"
    )
}

/// A site that answers anything with 612 bytes, refuses GET of one path, and has one file.
fn anything() -> String {
    let paths = [
        "/.env",
        "/.git/config",
        "/backup.sql",
        "/phpinfo.php",
        "/wp-config.php.bak",
        "/id_rsa",
        "/actuator/env",
        "/.aws/credentials",
    ];
    let mut log: String = paths
        .iter()
        .map(|path| sized("192.0.2.9", &format!("GET {path}"), 200, 612))
        .collect();
    log += &sized("192.0.2.9", "GET /.svn/entries", 200, 48_211);
    log += &sized("192.0.2.9", "GET /.DS_Store", 404, 9);
    log
}

#[test]
fn answers_are_graded_with_the_whole_log() {
    let harness = Harness::new();
    harness.file("access.log", anything());
    harness.file("compressed.log.gz", gzip(anything().as_bytes()));
    for log in ["access.log", "compressed.log.gz"] {
        let run = finish(
            harness
                .command(["explain", &format!("{log}:1")])
                .env("COLUMNS", "100"),
        );
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        let section = format!(
            "\nANSWER\n  grade      soft 404: what the site answers to anything\n  \
             reason     612 bytes, as unlike paths got\n  \
             site       {log}: 9 probed paths answered, 1 refused\n  \
             soft 404s  612 bytes\n  \
             same size  /id_rsa (612 bytes), /backup.sql (612 bytes), /.git/config (612 bytes)\n\n"
        );
        assert!(run.text().contains(&section), "{}", run.text());
        // A soft 404 does not raise the severity.
        assert!(
            run.text().contains("1 rule matches: dotfiles/env, high."),
            "{}",
            run.text()
        );
    }
    let text = harness.run(["explain", "access.log:9"]).text();
    assert!(
        text.contains("grade      distinct: unlike what the site answers to anything"),
        "{text}"
    );
    assert!(!text.contains("same size"), "{text}");
    // Requests that were not answered, or expose nothing, have no grade.
    for line in ["access.log:10", "GET /.env"] {
        assert!(
            !harness.run(["explain", line]).text().contains("ANSWER"),
            "{line}"
        );
    }
}

#[test]
fn a_pasted_line_is_graded_with_the_given_log() {
    let harness = Harness::new();
    let home = sized("192.0.2.1", "GET /", 200, 5_120).repeat(3);
    let refused =
        sized("192.0.2.9", "GET /.env", 403, 9) + &sized("192.0.2.8", "GET /.env", 404, 9);
    harness.file(
        "access.log",
        home + &refused + &anything().replace("GET /.env", "GET /.env.local"),
    );
    let answer = |line: &str, args: &[&str]| {
        let run = harness.run([&["explain", "-f", "json"], args, &[line.trim_end()]].concat());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        run.objects()[0]["answer"].clone()
    };
    let post = sized("192.0.2.9", "POST /.env", 200, 700);
    let graded = answer(&post, &["--in", "access.log"]);
    assert_eq!(
        (graded["grade"].as_str(), graded["reason"].as_str()),
        (Some("soft_404"), Some("refused_to_get"))
    );
    assert_eq!(graded["get_refused"], serde_json::json!([403, 404]));
    assert_eq!(graded["site"].as_str(), Some("access.log"));
    let page = answer(
        &sized("192.0.2.9", "GET /config.php.bak", 200, 5_120),
        &["--in", "access.log"],
    );
    assert_eq!(
        (page["reason"].as_str(), &page["home_sizes"]),
        (Some("home_page"), &serde_json::json!([[5_120, 5_120]]))
    );
    let same = answer(
        &sized("192.0.2.9", "GET /config.php.bak", 200, 612),
        &["--in", "access.log"],
    );
    assert_eq!(
        (same["grade"].as_str(), same["reason"].as_str()),
        (Some("soft_404"), Some("same_size"))
    );
    assert_eq!(same["similar"].as_array().unwrap().len(), 3);
    assert!(
        same["similar"]
            .as_array()
            .unwrap()
            .iter()
            .all(|other| other["bytes"] == 612),
        "{same}"
    );
    assert_eq!(same["soft_404_sizes"], serde_json::json!([[612, 612]]));
    // Without the log there is no grade, and the severity is that of a distinct answer.
    let unknown = answer(&post, &[]);
    assert!(
        unknown["grade"].is_null() && unknown["why"].as_str().unwrap().contains("--in LOG"),
        "{unknown}"
    );
    let text = harness.run(["explain", post.trim_end()]).text();
    assert!(
        text.contains("The grade of the answer depends on the whole log; --in LOG names it."),
        "{text}"
    );
    // Requests that were not answered have none.
    assert!(
        answer(
            &sized("192.0.2.9", "GET /.env", 404, 9),
            &["--in", "access.log"]
        )
        .is_null()
    );
    let only = harness
        .run([
            "explain",
            "--rule",
            "dotfiles/env",
            "--in",
            "access.log",
            post.trim_end(),
        ])
        .text();
    assert!(
        only.contains("dotfiles/env matches.")
            && only.contains("700 bytes; GET of the path was refused"),
        "{only}"
    );
}

#[test]
fn a_log_that_cannot_be_used_is_refused() {
    let harness = Harness::new();
    harness.file("access.log", anything());
    let env = sized("192.0.2.9", "GET /.env", 200, 612);
    let env = env.trim_end();
    let run = harness.run(["explain", "--in", "gone.log", env]);
    assert!(
        run.code == 3 && run.stderr.contains("--in: gone.log: "),
        "{} {}",
        run.code,
        run.stderr
    );
    let run = harness.run(["explain", "--in", ".", env]);
    assert!(
        run.code == 2 && run.stderr.contains("is not one file"),
        "{}",
        run.stderr
    );
    let run = harness.run(["explain", "--in", "-", "-"]);
    assert!(
        run.code == 2 && run.stderr.contains("cannot both be standard input"),
        "{}",
        run.stderr
    );
    let run = harness.run_with_stdin(["explain", "--in", "-", env], anything().as_bytes());
    assert!(
        run.code == 0 && run.text().contains("grade      soft 404"),
        "{}",
        run.text()
    );
    // Answers of a damaged log are graded with what can be read.
    let whole = gzip(anything().repeat(500).as_bytes());
    harness.file("cut.gz", &whole[..whole.len() / 2]);
    let run = harness.run(["explain", "--in", "cut.gz", env]);
    assert!(
        run.code == 3
            && run.stderr.contains("cut.gz")
            && run.text().contains("grade      soft 404"),
        "{} {}",
        run.stderr,
        run.text()
    );
}

#[test]
fn grades_of_explanations_and_scans_agree() {
    let harness = Harness::new();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let mut graded = 0;
    for name in [
        "answered.log",
        "soft-404.log",
        "outcomes.log",
        "rotated.log.1.gz",
    ] {
        let bytes = fs::read(samples.join(name)).unwrap();
        harness.file(name, &bytes);
        let scan = harness.run(["scan", "-f", "ndjson", name]).objects();
        let explained = harness
            .run_with_stdin(["explain", "-f", "json", "--in", name, "-"], &bytes)
            .objects();
        for hit in &scan {
            let line = explained
                .iter()
                .find(|object| object["line"] == hit["line"])
                .unwrap();
            assert_eq!(
                line["answer"]["grade"], hit["answer"],
                "{name}:{}",
                hit["line"]
            );
            graded += usize::from(!hit["answer"].is_null());
        }
        // A line of a file is graded with that file.
        if let Some(hit) = scan.iter().find(|hit| !hit["answer"].is_null()) {
            let objects = harness
                .run(["explain", "-f", "json", &format!("{name}:{}", hit["line"])])
                .objects();
            assert_eq!(
                objects[0]["answer"]["grade"], hit["answer"],
                "{name}:{}",
                hit["line"]
            );
        }
    }
    assert!(graded > 10, "{graded}");
}

#[test]
fn secrets_and_control_bytes_are_not_printed() {
    let harness = harness();
    let secrets = "GET /.env?password=hunter2%26more%2520yet&x=union%1b[2J\u{202e}+select HTTP/1.1";
    let text = combined(
        secrets,
        404,
        "https://bob:hunter2@example.org/?token=hunter2",
        "evilbot union%0d%0aselect password=hunter2",
    );
    for args in [
        &[&*text][..],
        &["-f", "json", &text],
        &["--rule", "mine/union", &text],
    ] {
        let run = explain(&harness, "80", args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        // Every run is checked for control bytes.
        assert!(
            !run.text().contains("hunter2") && !run.text().contains("yet"),
            "{}",
            run.text()
        );
        assert!(run.text().contains("***"), "{}", run.text());
    }
}

#[test]
fn colour_is_used_on_request_and_changes_no_text() {
    let harness = harness();
    let plain = explain(&harness, "80", &["GET /.env"]).text();
    let args = [
        "explain",
        "--no-builtin",
        "--rules",
        "my.toml",
        "--color",
        "always",
        "GET /.env",
    ];
    let coloured = harness
        .command(args)
        .env("COLUMNS", "80")
        .output()
        .unwrap()
        .stdout;
    let coloured = String::from_utf8(coloured).unwrap();
    assert_ne!(coloured, plain);
    let mut bare = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        bare.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    assert_eq!(bare + rest, plain);
}

#[test]
fn conditions_beyond_the_line_are_mentioned() {
    let harness = Harness::new();
    let explain_text = |args: &[&str]| harness.run(["explain"].iter().chain(args)).text();
    let login =
        r#"192.0.2.1 - - [02/Nov/2026:08:01:00 +0000] "GET /wp-login.php HTTP/1.1" 403 5 "-" "-""#;
    assert!(
        explain_text(&[login]).contains("wordpress/login-refused")
            && !explain_text(&[login]).contains("suppressed")
    );
    assert!(
        explain_text(&["--app", "wordpress", login])
            .contains("suppressed by app wordpress (--app)")
    );
    let script =
        r#"192.0.2.1 - - [02/Nov/2026:08:01:00 +0000] "GET /some-page.php HTTP/1.1" 404 5 "-" "-""#;
    assert!(
        explain_text(&[script]).contains("also requested 3 distinct paths that rules of"),
        "{}",
        explain_text(&[script])
    );
    let quoted = explain_text(&["GET /?id=1+un/**/ion+sel/**/ect+1,2"]);
    assert!(quoted.contains("the target decoded another way, comments within words as nothing: /?id=1+union+select+1,2"), "{quoted}");
    let object: Value = serde_json::from_str(&explain_text(&[
        "-f",
        "json",
        "GET /?id=1+un/**/ion+sel/**/ect+1,2",
    ]))
    .unwrap();
    assert_eq!(object["matches"][0]["read_again"]["field"], "target");
    assert_eq!(object["read_as"], "request");
    let requirement = &object["matches"][0]["requirements"][0];
    assert!(
        requirement["holds"] == false && requirement["result"].is_string(),
        "{object}"
    );
}
