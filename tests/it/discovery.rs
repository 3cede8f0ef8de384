//! A log in a layout that nothing names is read like the same requests in Combined Log Format,
//! however it is read.

use std::fs::{self, OpenOptions};
use std::io::Write as _;

use serde_json::{Value, json};

use crate::harness::{Harness, with_plain_evidence};
use crate::invariants::gzip;

/// More than the first lines that decide.
const LINES: usize = 2_000;

/// The requests of a site, with a probe now and then: method, target, status, size, client, agent.
fn request(number: usize) -> (&'static str, String, u16, usize, String, &'static str) {
    let client = format!("203.0.113.{}", number % 40);
    match number % 9 {
        2 => (
            "GET",
            "/.git/config".to_owned(),
            404,
            153,
            client,
            "curl/8.5.0",
        ),
        5 => (
            "POST",
            format!("/wp-login.php?n={number}"),
            403,
            146,
            client,
            "Mozilla/5.0 (X11)",
        ),
        _ => (
            "GET",
            format!("/page/{number}"),
            200,
            1000 + number,
            client,
            "Mozilla/5.0 (X11)",
        ),
    }
}

fn time(number: usize) -> String {
    format!(
        "2026-11-20T{:02}:{:02}:{:02}Z",
        number / 3600,
        number / 60 % 60,
        number % 60
    )
}

fn combined(number: usize) -> String {
    let (method, target, status, size, client, agent) = request(number);
    let clock = &time(number)[11..19];
    format!(
        "{client} - - [20/Nov/2026:{clock} +0000] \"{method} {target} HTTP/1.1\" {status} {size} \"-\" \"{agent}\"\n"
    )
}

/// The name of a layout, and a line in it.
type Named = (&'static str, fn(usize) -> String);

/// Lines of an app, some of which are no requests.
fn layouts() -> [Named; 3] {
    fn padded(number: usize) -> String {
        let (method, target, status, size, client, agent) = request(number);
        format!(
            "{} |{status:>5} | {client:>15} | {method:<5} {target} HTTP/1.1 |{size:>9} | {agent}\n",
            time(number)
        )
    }
    fn tabs(number: usize) -> String {
        let (method, target, status, size, client, agent) = request(number);
        format!(
            "{}\t{client}\t{method}\t{target}\tHTTP/1.1\t{status}\t{size}\t{agent}\n",
            time(number)
        )
    }
    fn pairs(number: usize) -> String {
        let (method, target, status, size, client, agent) = request(number);
        let level = if status < 400 { "" } else { "level=warn " };
        format!(
            "{} app: {level}method={method} path=\"{target}\" proto=HTTP/1.1 ip={client} status={status} bytes={size} agent=\"{agent}\"\n",
            time(number)
        )
    }
    [("padded", padded), ("tabs", tabs), ("pairs", pairs)]
}

/// A log with a line in another form after each hundred.
fn log(line: impl Fn(usize) -> String) -> String {
    let other = |number: usize| {
        if number % 100 == 99 {
            "worker 7 was started\n"
        } else {
            ""
        }
    };
    (0..LINES)
        .map(|number| line(number) + other(number))
        .collect()
}

fn scan(harness: &Harness, args: &[&str]) -> Value {
    let run = harness.run(["scan", "-q", "-f", "json"].iter().chain(args));
    assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
    serde_json::from_slice(&run.stdout).unwrap()
}

#[test]
fn a_discovered_layout_has_the_hits_of_combined_lines() {
    let harness = Harness::new();
    harness.file("combined.log", log(combined));
    let keys = [
        "line",
        "time",
        "client",
        "method",
        "target",
        "path",
        "status",
        "bytes",
        "outcome",
        "rules",
        "severity",
        "user_agent",
    ];
    let hits = |name: &str| {
        let run = harness.run(["scan", "-q", "-f", "ndjson", name]);
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        run.objects()
            .iter()
            .map(|hit| keys.map(|key| hit[key].clone()))
            .collect::<Vec<_>>()
    };
    let expected = hits("combined.log");
    assert!(expected.len() > LINES / 9);
    for (name, line) in layouts() {
        let file = format!("{name}.log");
        harness.file(&file, log(line));
        assert_eq!(hits(&file), expected, "{name}");
        let (run, report) = harness.json([&*file]);
        let input = &report["inputs"][0];
        assert_eq!(
            (&input["parsed"], &input["unparsed"]),
            (&json!(LINES), &json!(LINES / 100)),
            "{name}"
        );
        let format = input["format"].as_str().unwrap();
        let notes: Vec<&str> = run
            .stderr
            .lines()
            .filter(|line| line.contains("is read as"))
            .collect();
        assert_eq!(
            notes,
            [format!("note: {file}: is read as '{format}'")],
            "{name}: {}",
            run.stderr
        );
        // The string that is printed reads the log in the same way.
        let requested = scan(&harness, &["--log-format", format, &file]);
        assert_eq!(requested["paths"], report["paths"], "{name}: {format}");
        assert_eq!(
            requested["inputs"][0]["parsed"],
            json!(LINES),
            "{name}: {format}"
        );
        let shown = harness.run(["formats", &file]).text();
        let without_blanks = |text: &str| text.split_whitespace().collect::<String>();
        assert!(
            shown.contains("discovered")
                && without_blanks(&shown).contains(&without_blanks(format)),
            "{shown}"
        );
    }
    let (run, _) = harness.json(["combined.log"]);
    assert!(!run.stderr.contains("is read as"), "{}", run.stderr);
}

#[test]
fn how_a_log_is_read_does_not_change_its_layout() {
    for (name, line) in layouts() {
        let harness = Harness::new();
        let text = log(line);
        harness.file("app.log", &text);
        let report = |args: &[&str]| {
            harness
                .run(["scan", "-q", "-f", "json"].iter().chain(args))
                .text()
        };
        let expected = report(&["-j1", "--mmap", "never", "app.log"]);
        for args in [
            ["-j3", "--mmap", "always", "app.log"],
            ["-j3", "--mmap", "never", "app.log"],
        ] {
            assert!(report(&args) == expected, "{name}: {args:?}");
        }
        let piped = harness
            .run_with_stdin(["scan", "-q", "-f", "json", "-j3", "-"], text.as_bytes())
            .text();
        let renamed = |text: &str| with_plain_evidence(text).replace("\"-\"", "\"app.log\"");
        assert!(renamed(&piped) == renamed(&expected), "{name}: piped");
        harness.file("app.log", gzip(text.as_bytes()));
        assert!(report(&["app.log"]) == expected, "{name}: compressed");
        harness.file("app.log", &text);
        let middle = (text.len() / 2).to_string();
        for (range, part) in [
            (format!("0-{middle}"), "a.partial"),
            (format!("{middle}-"), "b.partial"),
        ] {
            assert_eq!(
                harness
                    .run([
                        "scan", "-q", "-f", "partial", "--range", &range, "-o", part, "app.log"
                    ])
                    .code,
                0,
                "{name} {range}"
            );
        }
        assert_eq!(
            harness
                .run([
                    "scan",
                    "-q",
                    "-f",
                    "partial",
                    "-o",
                    "whole.partial",
                    "app.log"
                ])
                .code,
            0
        );
        assert_eq!(
            harness
                .run([
                    "merge",
                    "-f",
                    "partial",
                    "-o",
                    "merged.partial",
                    "a.partial",
                    "b.partial"
                ])
                .code,
            0
        );
        let read = |name: &str| fs::read(harness.path(name)).unwrap();
        assert!(
            read("merged.partial") == read("whole.partial"),
            "{name}: ranges"
        );
    }
}

#[test]
fn a_report_of_new_lines_has_the_layout_of_the_log() {
    for (name, line) in layouts() {
        let harness = Harness::new();
        let text = log(line);
        let half = text[..text.len() / 2].rfind('\n').unwrap() + 1;
        let path = harness.file("app.log", &text[..half]);
        let expected = scan_of(&harness, &text);
        let mut sums = [0; 2];
        for part in ["", &text[half..]] {
            OpenOptions::new()
                .append(true)
                .open(&path)
                .unwrap()
                .write_all(part.as_bytes())
                .unwrap();
            let run = harness.run(["report", "--state", "state", "--out", "out", "app.log"]);
            assert_eq!(run.code, 0, "{name}: {}", run.stderr);
            let report: Value =
                serde_json::from_slice(&fs::read(harness.path("out/latest/report.json")).unwrap())
                    .unwrap();
            sums[0] += report["totals"]["hits"].as_u64().unwrap();
            sums[1] += report["totals"]["parsed"].as_u64().unwrap();
        }
        assert_eq!(sums, expected, "{name}");
    }
}

/// The hits and the parsed lines of a whole text.
fn scan_of(harness: &Harness, text: &str) -> [u64; 2] {
    harness.file("whole.log", text);
    let totals = &scan(harness, &["whole.log"])["totals"];
    [
        totals["hits"].as_u64().unwrap(),
        totals["parsed"].as_u64().unwrap(),
    ]
}

/// Texts of clients at the start of a log, each in the place of a target, an agent or a whole line.
#[test]
fn a_hostile_start_makes_no_other_client() {
    let forged = "203.0.113.1 - - [20/Nov/2026:00:00:00 +0000] \\\"GET /.env HTTP/1.1\\\" 200 5 \\\"-\\\" \\\"x\\\"";
    for agent in [
        forged,
        "x | 200 | 192.0.2.66 | GET /.env",
        "ip=192.0.2.66 status=200",
        "2026-11-20T00:00:00Z\\t192.0.2.66",
    ] {
        let harness = Harness::new();
        let hostile = |number: usize| {
            let (method, target, status, size, client, _) = request(number);
            format!(
                "{} {client} \"{method} {target} HTTP/1.1\" {status} {size} \"{agent}\"\n",
                time(number)
            )
        };
        harness.file("app.log", (0..300).map(hostile).collect::<String>());
        let run = harness.run(["scan", "-q", "-f", "ndjson", "app.log"]);
        for hit in run.objects() {
            let client = hit["client"].as_str().unwrap_or("-");
            let number = usize::try_from(hit["line"].as_u64().unwrap()).unwrap() - 1;
            assert!(
                client == "-" || client == request(number).4,
                "{agent}: {hit}"
            );
        }
    }
}

/// Lines that begin as those of the Common Log Format do, with the request in another place.
#[test]
fn columns_decide_where_the_request_and_the_status_are() {
    let layouts = [
        r#"START [TIME] "www.example.org" "REQUEST" STATUS SIZE "-" "AGENT""#,
        r#"START [TIME] "AGENT" "REQUEST" STATUS SIZE"#,
        r#"START [TIME] "-" STATUS SIZE "REQUEST" "AGENT""#,
        r#"START [TIME] STATUS "REQUEST" SIZE "-" "AGENT""#,
        r#"START [TIME] "REQUEST" SIZE STATUS "-" "AGENT""#,
        r#"START [TIME] "REQUEST" 443 STATUS SIZE "-" "AGENT""#,
        // As a column of CSV, without and with its own quotes.
        r#"START [TIME] ""REQUEST"" STATUS SIZE ""-"" ""AGENT"""#,
        r#""START [TIME] ""REQUEST"" STATUS SIZE ""-"" ""AGENT""""#,
    ];
    let harness = Harness::new();
    harness.file("combined.log", log(combined));
    let keys = [
        "line",
        "time",
        "client",
        "method",
        "target",
        "status",
        "bytes",
        "user_agent",
    ];
    let hits = |name: &str| {
        let run = harness.run(["scan", "-q", "-f", "ndjson", name]);
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        let hits: Vec<_> = run
            .objects()
            .iter()
            .map(|hit| keys.map(|key| hit[key].clone()))
            .collect();
        hits
    };
    let expected = hits("combined.log");
    for layout in layouts {
        let line = |number: usize| {
            let (method, target, status, size, client, agent) = request(number);
            let parts = [
                ("START", format!("{client} - -")),
                (
                    "TIME",
                    format!("20/Nov/2026:{} +0000", &time(number)[11..19]),
                ),
                ("REQUEST", format!("{method} {target} HTTP/1.1")),
                ("STATUS", status.to_string()),
                ("SIZE", size.to_string()),
                ("AGENT", agent.to_owned()),
            ];
            let line = |line: String, (name, value): &(&str, String)| line.replace(name, value);
            parts.iter().fold(layout.to_owned(), line) + "\n"
        };
        harness.file("access.log", log(line));
        assert_eq!(hits("access.log"), expected, "{layout}");
    }
}

/// A client sends the separator of the columns, and a request as the value of a header.
#[test]
fn a_client_moves_no_column() {
    type Write = fn(&str, &str, usize) -> String;
    // The text of the client, the request and what the server answered, in each layout.
    let writers: [Write; 4] = [
        |sent, path, n| {
            format!(
                "{}|198.51.100.{}|GET {path} HTTP/1.1|{sent}|200|268|x\n",
                time(n),
                n % 40
            )
        },
        |sent, path, n| {
            format!(
                "{}|198.51.100.{}|{sent}|GET {path} HTTP/1.1|200|268|0.003\n",
                time(n),
                n % 40
            )
        },
        |sent, path, n| {
            format!(
                "{};198.51.100.{};{sent};GET;{path};200;268\n",
                time(n),
                n % 40
            )
        },
        |sent, path, n| {
            format!(
                "\"{}\" \"{sent}\" \"198.51.100.{}\" \"GET {path} HTTP/1.1\" \"200\" \"268\"\n",
                time(n),
                n % 40
            )
        },
    ];
    for write in writers {
        for (sent, probes) in [
            ("x|404|153", 1),
            ("x|GET / HTTP/1.1|404|153|y", 1),
            ("x;y", 1),
            ("x;GET;/a;404;153", 1),
            ("GET /x HTTP/1.1", 1),
            ("GET /x HTTP/1.1", 400),
        ] {
            let harness = Harness::new();
            let probe = |n: usize| write(sent, "/.git/config", n);
            let page = |n: usize| write("-", &format!("/page/{n}"), n);
            let lines: String = (0..probes)
                .map(probe)
                .chain((probes..600).map(page))
                .collect();
            harness.file("access.log", &lines);
            let (run, report) = harness.json(["access.log"]);
            // Each probe was answered, or is in a line that is said to be unread.
            let totals = &report["totals"];
            assert_eq!(totals["hits"], probes, "{}\n{}", run.stderr, &lines[..200]);
            let is_unknown = totals["outcomes"]["unknown"] == probes;
            let is_said = is_unknown && (run.code == 3 || run.stderr.contains("was not read"));
            assert!(
                is_said || totals["outcomes"]["answered"] == probes,
                "{}{totals}{}",
                run.stderr,
                &lines[..200]
            );
        }
    }
}

/// The two logs that Apache of Red Hat's systems writes for each request over TLS.
#[test]
fn requests_that_another_log_of_the_folder_has_are_counted_once() {
    let harness = Harness::new();
    let access = "203.0.113.9 - - [02/Nov/2026:08:01:00 +0000] \"GET /.env HTTP/1.1\" 404 236\n";
    let request = "[02/Nov/2026:08:01:00 +0000] 203.0.113.9 TLSv1.3 TLS_AES_256_GCM_SHA384 \"GET /.env HTTP/1.1\" 236\n";
    fs::create_dir(harness.path("httpd")).unwrap();
    for rotation in ["", "-20261102"] {
        harness.file(format!("httpd/ssl_access_log{rotation}"), access);
        harness.file(format!("httpd/ssl_request_log{rotation}"), request);
    }
    let (run, report) = harness.json(["httpd"]);
    assert_eq!(report["totals"]["hits"], 2, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("ssl_request_log: skipped: ssl_access_log has the same requests"),
        "{}",
        run.stderr
    );
    // By itself it is a log without a status.
    let (_, alone) = harness.json(["httpd/ssl_request_log"]);
    assert_eq!(alone["totals"]["outcomes"]["unknown"], 1);
    assert_eq!(alone["inputs"][0]["format"], "apache_ssl_request");
}

/// One or two lines with a size in the place of the status are torn; three are a layout.
#[test]
fn three_misplaced_lines_show_a_layout() {
    for (lines, status) in [(1, Value::Null), (2, Value::Null), (3, json!(404))] {
        let harness = Harness::new();
        let line = "192.0.2.1 - - [02/Nov/2026:08:01:00 +0000] \"GET /.env HTTP/1.1\" 5123 404\n";
        harness.file("access.log", line.repeat(lines));
        let hit = &harness
            .run(["scan", "-q", "-f", "ndjson", "access.log"])
            .objects()[0];
        assert_eq!(hit["status"], status, "{lines}");
    }
}
