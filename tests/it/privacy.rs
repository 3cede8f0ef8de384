//! H12: with `--anonymize`, no output contains a client's address, and secrets are shown only on
//! request.

use std::fs;
use std::io::{BufRead as _, BufReader};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Harness, line, spawn, wait};

/// Addresses in the log: as clients, in targets, in user agents and in unparsed lines.
const ADDRESSES: [&str; 6] = [
    "203.0.113.77",
    "203.0.113.78",
    "198.51.100.9",
    "2001:db8:1:2::9",
    "192.0.2.55",
    "192.0.2.66",
];

fn stage() -> Harness {
    let harness = Harness::new();
    let probes: String = ["/.env", "/.git/config", "/wp-login.php", "/backup.sql"]
        .iter()
        .flat_map(|path| {
            ADDRESSES[..4]
                .iter()
                .map(move |client| line(client, &format!("GET {path} HTTP/1.1"), 404))
        })
        .collect();
    let answered = line(
        "203.0.113.77",
        "GET /.git/config?x=http://192.0.2.55:80/a&password=hunter2 HTTP/1.1",
        200,
    );
    let agent = line(
        "203.0.113.78",
        "GET /.env?ip=2001%3Adb8%3A1%3A2%3A%3A9 HTTP/1.1",
        200,
    )
    .replace("Mozilla", "x (http://192.0.2.66/) Mozilla");
    let raw = "192.0.2.66 - - no log line /etc/passwd from 198.51.100.9\n";
    harness.file(
        "access.log",
        probes + &answered + &agent + raw + &line("dsl-1.isp.example", "GET /.env HTTP/1.1", 404),
    );
    harness.file("key", "0123456789abcdef0123456789abcdef\n");
    harness
}

fn assert_hidden(text: &str, what: &str) {
    for address in ADDRESSES
        .iter()
        .chain(&["2001%3Adb8%3A1%3A2%3A%3A9", "dsl-1.isp.example"])
    {
        assert!(!text.contains(address), "{address} in {what}: {text}");
    }
}

const HOWS: [&str; 2] = ["--anonymize", "--anonymize=key:key"];

#[test]
fn no_report_of_a_scan_contains_a_client() {
    let harness = stage();
    for how in HOWS {
        for args in [
            &["scan"][..],
            &["scan", "-f", "csv"],
            &["scan", "-f", "csv", "--by", "client"],
            &["scan", "-f", "json"],
            &["scan", "-f", "ndjson"],
            &["scan", "--by", "path", "--no-redact"],
        ] {
            let run = harness.run([args, &[how, "access.log"]].concat());
            assert_eq!(run.code, 0, "{}", run.stderr);
            assert!(!run.stdout.is_empty());
            assert_hidden(&run.text(), &format!("{args:?} {how}"));
            assert_hidden(&run.stderr, "standard error");
        }
    }
    let (_, report) = harness.json(["--anonymize", "access.log"]);
    assert_eq!(
        (&report["anonymized"], &report["evidence"]),
        (&"truncate".into(), &serde_json::Value::Null)
    );
    let text = harness
        .run(["scan", "-f", "csv", "--anonymize", "access.log"])
        .text();
    assert!(
        text.contains("203.0.113.0/24,")
            && text.contains("2001:db8:1::/48,")
            && text.contains("http://192.0.2.0:80/a"),
        "{text}"
    );
}

#[test]
fn anonymizing_changes_no_finding() {
    let harness = stage();
    let open = harness.json(["access.log"]).1;
    for how in HOWS {
        let hidden = harness.json([how, "access.log"]).1;
        assert_eq!(hidden["totals"], open["totals"]);
        for list in ["clients", "pairs", "paths", "rules"] {
            let counts = |report: &serde_json::Value| {
                let mut counts: Vec<_> = report[list]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|row| row["hits"].to_string() + &row["severity"].to_string())
                    .collect();
                counts.sort();
                counts
            };
            assert_eq!(counts(&hidden), counts(&open), "{list}");
        }
    }
}

#[test]
fn a_key_gives_the_same_pseudonyms_in_every_run() {
    let harness = stage();
    harness.file("other", "fedcba9876543210fedcba9876543210");
    let clients = |key: &str, log: &str| {
        let found = harness
            .run([
                "scan",
                "-f",
                "ndjson",
                &format!("--anonymize=key:{key}"),
                log,
            ])
            .objects();
        found
            .iter()
            .map(|hit| hit["client"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    harness.file(
        "next.log",
        line("::ffff:203.0.113.77", "GET /.env HTTP/1.1", 404),
    );
    let first = clients("key", "access.log");
    assert_eq!(clients("key", "next.log"), first[..1]);
    assert!(
        first[0].starts_with("anon-") && first[0].len() == 21,
        "{first:?}"
    );
    assert_ne!(clients("other", "next.log"), first[..1]);
    for (key, what) in [("nowhere", "cannot be read"), ("short", "head -c 32")] {
        harness.file("short", "0123");
        let run = harness.run(["scan", &format!("--anonymize=key:{key}"), "access.log"]);
        assert_eq!((run.code, run.stdout.len()), (2, 0));
        assert!(
            run.stderr.contains(what) && run.stderr.contains(key),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn no_file_of_a_report_contains_a_client() {
    let harness = stage();
    for how in HOWS {
        let (state, out) = (format!("state{}", how.len()), format!("out{}", how.len()));
        let run = harness.run([
            "report",
            "--state",
            &state,
            "--out",
            &out,
            "--notify-level",
            "low",
            how,
            "access.log",
        ]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_hidden(&run.text(), "the mail");
        assert!(!run.stdout.is_empty());
        let mut files = 0;
        for file in fs::read_dir(harness.path(format!("{out}/latest"))).unwrap() {
            let file = file.unwrap().path();
            assert_hidden(
                &fs::read_to_string(&file).unwrap(),
                &file.display().to_string(),
            );
            files += 1;
        }
        assert_eq!(files, 8);
        let clients =
            fs::read_to_string(harness.path(format!("{out}/latest/clients.csv"))).unwrap();
        assert!(
            clients.contains("block_candidate") && clients.contains("its address is hidden"),
            "{clients}"
        );
        let summary =
            fs::read_to_string(harness.path(format!("{out}/latest/summary.txt"))).unwrap();
        assert!(
            summary.contains("--anonymize") && !summary.contains("BLOCK CANDIDATES"),
            "{summary}"
        );
        // What was reported before is recognised, anonymized or not.
        let run = harness.run([
            "report",
            "--state",
            &state,
            "--out",
            &out,
            "--always",
            "access.log",
        ]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let run = harness.run([
        "report",
        "--state",
        "s",
        "--out",
        "o",
        "--daily",
        "--anonymize",
        "access.log",
    ]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--daily"), "{}", run.stderr);
}

#[test]
fn anonymized_reports_are_not_merged_and_merged_ones_can_be_anonymized() {
    let harness = stage();
    for (name, args) in [("hidden.json", &["--anonymize"][..]), ("open.json", &[])] {
        let run = harness.run([&["scan", "-f", "json", "-o", name, "access.log"], args].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    for args in [
        ["merge", "open.json", "hidden.json"],
        ["diff", "open.json", "hidden.json"],
    ] {
        let run = harness.run(args);
        assert_eq!(run.code, 2);
        assert!(
            run.stderr.contains("hidden.json") && run.stderr.contains("without --anonymize"),
            "{}",
            run.stderr
        );
    }
    for format in ["table", "csv", "json"] {
        let run = harness.run(["merge", "-f", format, "--anonymize", "open.json"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_hidden(&run.text(), format);
        assert!(run.text().contains("203.0.113.0/24"), "{}", run.text());
    }
}

#[test]
fn follow_shows_no_client_in_lines_objects_alerts_and_summaries() {
    for args in [
        &["--anonymize"][..],
        &["--anonymize=key:key", "-f", "ndjson"],
    ] {
        let harness = stage();
        let mut child = spawn(
            &mut harness.command(
                [
                    &["follow", "--from-start", "--alert-file", "alerts.json"],
                    args,
                    &["access.log"],
                ]
                .concat(),
            ),
        );
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // The last probe of the log is reported after all others.
        let mut printed = String::new();
        let until = |line: &str| {
            line.contains("/.env") && (line.contains("***") || line.contains("\"line\":20"))
        };
        for line in &mut lines {
            let line = line.unwrap();
            printed.push_str(&line);
            printed.push('\n');
            if until(&line) {
                break;
            }
        }
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        printed.extend(lines.map(|line| line.unwrap() + "\n"));
        let run = wait(child);
        assert_eq!(run.code, 130, "{}", run.stderr);
        assert_hidden(&printed, "standard output");
        assert_hidden(&run.stderr, "standard error");
        let alerts = fs::read_to_string(harness.path("alerts.json")).unwrap();
        assert!(alerts.contains("\"client\""), "{alerts}");
        assert_hidden(&alerts, "the alerts");
    }
}

/// H12.
#[test]
fn secrets_are_shown_only_on_request() {
    let harness = stage();
    for args in [
        &["scan", "-f", "csv"][..],
        &["scan", "-f", "json"],
        &["scan", "-f", "ndjson"],
    ] {
        let masked = harness.run([args, &["access.log"]].concat()).text();
        assert!(
            masked.contains("password=***") && !masked.contains("hunter2"),
            "{masked}"
        );
        let open = harness
            .run([args, &["--no-redact", "access.log"]].concat())
            .text();
        assert!(open.contains("password=hunter2"), "{open}");
    }
    // Merged reports contain none.
    let run = harness.run([
        "scan",
        "-f",
        "json",
        "--no-redact",
        "-o",
        "open.json",
        "access.log",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let merged = harness.run(["merge", "-f", "json", "open.json"]).text();
    assert!(
        merged.contains("password=***") && !merged.contains("hunter2"),
        "{merged}"
    );
    // New findings are anonymized too.
    harness.file("reset.log", line("192.0.2.1", "GET /.env HTTP/1.1", 404));
    let args = [
        "report",
        "--state",
        "state",
        "--out",
        "out",
        "--no-redact",
        "reset.log",
    ];
    assert_eq!(harness.run(args).code, 0);
    harness.file(
        "reset.log",
        line("192.0.2.1", "GET /.env HTTP/1.1", 404)
            + &line(
                "192.0.2.1",
                "GET /reset-password/0123456789abcdef0123/.env HTTP/1.1",
                200,
            ),
    );
    assert_eq!(harness.run(args).code, 0);
    let new = fs::read_to_string(harness.path("out/latest/new.csv")).unwrap();
    assert!(
        new.contains("path,/reset-password/0123456789abcdef0123/.env,") && !new.contains("***"),
        "{new}"
    );
    let run = finish_with(&harness, "PROBEWATCH_NO_REDACT", "1");
    assert!(run.contains("hunter2"));
}

fn finish_with(harness: &Harness, variable: &str, value: &str) -> String {
    crate::harness::finish(
        harness
            .command(["scan", "-f", "csv", "access.log"])
            .env(variable, value),
    )
    .text()
}

/// A line of an unknown format may hold anything, so messages about it show its shape only.
#[test]
fn a_message_about_an_unknown_format_shows_nothing_of_its_lines() {
    // No path, so that no layout is discovered.
    const LINES: &str =
        "login bob s3cretWord 203.0.113.77 \"open sesame\" 7f3a9c0d1e apikey=Zx81 pw=Qq71\n";
    const PARTS: [&str; 9] = [
        "203.0.113",
        "login",
        "bob",
        "s3cret",
        "sesame",
        "7f3a9c0d1e",
        "Zx81",
        "Qq71",
        "apikey",
    ];
    let harness = Harness::new();
    harness.file("odd.log", LINES.repeat(3));
    let mut texts = Vec::new();
    for privacy in [&[][..], &["--anonymize"], &["--no-redact"]] {
        for format in ["table", "csv", "json", "html"] {
            let run = harness.run([&["scan", "-f", format, "odd.log"], privacy].concat());
            assert_eq!(run.code, 3, "{}", run.stderr);
            assert!(
                run.stderr.contains(
                    "The shape of its first line: WORD WORD WORD ADDRESS \"TEXT\" WORD WORD WORD"
                ),
                "{}",
                run.stderr
            );
            texts.extend([run.text(), run.stderr]);
        }
        let run = harness.run(
            [
                &[
                    "report", "--state", "state", "--out", "out", "--always", "odd.log",
                ],
                privacy,
            ]
            .concat(),
        );
        assert_eq!(run.code, 3, "{}", run.stderr);
        texts.extend([run.text(), run.stderr]);
        for file in fs::read_dir(harness.path("out/latest")).unwrap() {
            texts.push(fs::read_to_string(file.unwrap().path()).unwrap());
        }
        fs::remove_dir_all(harness.path("state")).unwrap();
        fs::remove_dir_all(harness.path("out")).unwrap();
    }
    for args in [
        &["formats", "odd.log"][..],
        &["formats", "-f", "json", "odd.log"],
    ] {
        let run = harness.run(args);
        texts.extend([run.text(), run.stderr]);
    }
    for text in &texts {
        let shown: Vec<_> = PARTS
            .into_iter()
            .filter(|part| text.contains(part))
            .collect();
        assert!(shown.is_empty(), "{shown:?} in {text}");
    }
    assert!(
        texts
            .iter()
            .filter(|text| text.contains("WORD ADDRESS"))
            .count()
            > 12,
        "{texts:#?}"
    );
}

/// The spellings of one IPv4 and one IPv6 address that are hidden.
fn spellings() -> Vec<String> {
    let base64 = |text: &str| STANDARD.encode(text);
    let digits = "20010db8000100020000000000000009";
    let nibbles = digits
        .chars()
        .rev()
        .flat_map(|digit| [digit, '.'])
        .collect::<String>()
        + "ip6.arpa";
    [
        "81.2.69.142",
        "081.002.069.142",
        "0121.02.0105.0216",
        "0x51.0x2.0x45.0x8e",
        "0x5102458e",
        "81-2-69-142",
        "81_2_69_142",
        "ip-81-2-69-142.example.net",
        "dsl81-2-69-142.example.net",
        "142.69.2.81.in-addr.arpa",
        "142-69-2-81.dsl.example.net",
        "81.2.69.142.dsl.example.net",
        "%38%31%2E2%2e69.%31%34%32",
        "81%252E2%252E69%252E142",
        "81%2D2%2D69%2D142",
        "2001:db8:1:2::9",
        "2001%3Adb8%3A1%3A2%3A%3A9",
        "2001-db8-1-2--9.example.net",
        "%u0038%u0031.2.69%u002e142",
        "81&period;2&period;69&period;142",
        "81%26%2346;2.69.142",
        "%ef%bc%98%ef%bc%91.2.69.142",
        "81%c0%ae2%c0%ae69%c0%ae142",
        "2001%u003adb8&colon;1:2::9",
        "ip:2001:db8:1:2::9",
        "2001:db8:1:2:3:4:5:6:80",
        "v6-2001-db8-1-2--9",
        "backup81.2.69.142.sql",
        "ip81.2.69.142",
        "81.2.69.142abc",
        "/..81.2.69.142",
        "81.2.69.142.20261120",
        "2026-11-27-81-2-69-142",
        "81%e3%80%822%e3%80%8269%e3%80%82142",
        "81%ef%bd%a12%ef%bd%a169%ef%bd%a1142",
        "81%5b.%5d2%5b.%5d69%5b.%5d142",
        "81%2c2%2c69%2c142",
    ]
    .map(str::to_owned)
    .into_iter()
    .chain(
        [u32::from_be_bytes([81, 2, 69, 142])]
            .into_iter()
            .flat_map(|bits: u32| [bits.to_string(), format!("0{bits:o}")]),
    )
    .chain([
        base64("81.2.69.142"),
        base64("http://81.2.69.142/x"),
        base64(&base64("from 81.2.69.142 on")),
        nibbles,
    ])
    .chain([
        format!("select+{}", base64("81.2.69.142")),
        base64("frank@mail.example.org"),
        base64(r#"{"user":"frank"}"#),
    ])
    .chain([
        base64("a?b?c? 81.2.69.142"),
        format!("id-{}", base64("81.2.69.142")),
        format!("{}_v2", base64("81.2.69.142 ")),
    ])
    .collect()
}

/// People in a log. A state has hashes in Base64, where a name of four letters occurs by chance.
const PEOPLE: [&str; 9] = [
    "alice",
    "alice.smith@example.org",
    "alice.smith%40example.org",
    "bob+x@mail.example.org",
    "bob%u0040mail.example.org",
    "bob@ex%C3%A4mple.org",
    "carol",
    "deborah",
    "5550100",
];

/// A log with hosts in which everything is a hit and some of it is answered.
fn log_of_spellings() -> String {
    let agent = "Mozilla/5.0 (X11; Linux x86_64) Chrome/120.0.0.0";
    let mut lines = 0;
    let mut line = |host: &str, target: &str, referer: &str, agent: &str| {
        lines += 1;
        let answer = if lines % 3 == 0 {
            format!("200 {}", 700 + lines * 97)
        } else {
            "404 153".to_owned()
        };
        let client = if lines % 2 == 0 {
            "81.2.69.142"
        } else {
            "2001:db8:1:2::9"
        };
        format!(
            "{host}:80 {client} - carol [02/Nov/2026:08:01:{:02} +0000] \"GET {target} HTTP/1.1\" {answer} \"{referer}\" \"{agent}\"\n",
            lines % 60
        )
    };
    let mut log = String::new();
    for (number, spelling) in spellings().iter().enumerate() {
        // The name of a host has no capital letters, and so no Base64.
        let host = if spelling.contains(['%', ':', '=', '/', '&']) || spelling.ends_with("_v2") {
            "81.2.69.142"
        } else {
            spelling
        };
        log += &line(host, &format!("/a{number}/.env"), "-", agent);
        log += &line("www.example.org", &format!("/{spelling}/.env"), "-", agent);
        log += &line(
            "www.example.org",
            &format!("/b{number}/.env?a={spelling}&b=1"),
            "-",
            agent,
        );
        log += &line(
            "www.example.org",
            &format!("/c{number}/.env?u=http://{spelling}/x.sh"),
            &format!("http://{spelling}/"),
            agent,
        );
        log += &line(
            "www.example.org",
            &format!("/d{number}/.env"),
            "-",
            &format!("tool {spelling}"),
        );
    }
    for (number, person) in PEOPLE.iter().enumerate() {
        for name in [
            "user",
            "log",
            "login",
            "email",
            "user_login",
            "billing[email]",
            "emailAddress",
            "username[$ne]",
            "phone",
        ] {
            log += &line(
                "www.example.org",
                &format!("/e{number}/.env?x=1&{name}={person}&y=2"),
                &format!("https://a.example/?{name}={person}"),
                agent,
            );
        }
        if person.contains("mple.org") {
            log += &line(
                "www.example.org",
                &format!("/{person}/.env?q={person}"),
                "-",
                &format!("tool (+mailto:{person})"),
            );
        }
    }
    log += &line("www.example.org", "/g/.env", "-", "tool (0x5102458e; x)");
    log += &line(
        "www.example.org",
        "/h/.env?%u0075ser=carol&us&#101;r=carol&users[]=carol",
        "https://a.example/?x=1%26us%26%23101;r%3Dcarol",
        agent,
    );
    log += &line(
        "www.example.org",
        "/i/.env?x=%3Cuser%3Ecarol%3C/user%3E",
        "-",
        agent,
    );
    log += &line(
        "www.example.org",
        "/j/.env?user=a%20carol&login=a%26carol&email=a%23carol&phone=a%2520carol",
        "-",
        agent,
    );
    log += &line(
        "www.example.org",
        "/x=https://carol:pw@ftp/user=a%20carol/.env",
        "-",
        agent,
    );
    log + &line(
        "www.example.org",
        "/f/.env?u=https://deborah@ftp.example.org/&v=https://carol:pw@ftp/",
        "-",
        agent,
    )
}

/// The spellings and people in an output.
fn shown_in(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let wanted = spellings().into_iter().chain(PEOPLE.map(str::to_owned));
    wanted
        .map(|wanted| wanted.to_lowercase())
        .filter(|wanted| text.contains(wanted))
        .collect()
}

#[test]
fn no_output_shows_an_address_in_any_spelling_or_a_person() {
    let harness = Harness::new();
    harness.file("access.log", log_of_spellings());
    harness.file("key", "0123456789abcdef0123456789abcdef\n");
    let open = harness.run(["scan", "-f", "ndjson", "access.log"]);
    let lines = log_of_spellings().lines().count();
    assert_eq!(
        (open.objects().len(), shown_in(&open.text()).len()),
        (lines, spellings().len() + PEOPLE.len()),
        "all is there"
    );
    let mut leaks = Vec::new();
    for how in HOWS {
        for args in [
            "scan --full",
            "scan -f csv",
            "scan -f csv --by client",
            "scan -f csv --by path",
            "scan -f csv --by answer",
            "scan -f csv --by rule",
            "scan -f json",
            "scan -f ndjson",
            "scan -f ndjson --no-redact",
            "scan -f html",
            "scan -f ecs",
            "scan -f ocsf",
            "scan -f prometheus",
        ] {
            let args: Vec<_> = args.split(' ').chain([how, "access.log"]).collect();
            let run = crate::harness::finish(harness.command(&args).env("COLUMNS", "1000"));
            assert!(run.code == 0 && !run.stdout.is_empty(), "{}", run.stderr);
            leaks.extend(
                shown_in(&(run.text() + &run.stderr))
                    .into_iter()
                    .map(|shown| format!("{shown} in {args:?}")),
            );
        }
        let (state, out) = (format!("state{}", how.len()), format!("out{}", how.len()));
        let args = [
            "report",
            "--html",
            "--state",
            &state,
            "--out",
            &out,
            "--notify-level",
            "low",
            how,
            "access.log",
        ];
        let run = harness.run(args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        leaks.extend(
            shown_in(&run.text())
                .into_iter()
                .map(|shown| format!("{shown} in the mail")),
        );
        let kept = fs::read_to_string(harness.path(format!("{state}/report.json"))).unwrap();
        assert!(kept.contains(r#""listed":["#), "{kept}");
        leaks.extend(
            shown_in(&kept)
                .into_iter()
                .map(|shown| format!("{shown} in the state")),
        );
        for file in fs::read_dir(harness.path(format!("{out}/latest"))).unwrap() {
            let file = file.unwrap().path();
            let shown = shown_in(&fs::read_to_string(&file).unwrap());
            leaks.extend(
                shown
                    .into_iter()
                    .map(|shown| format!("{shown} in {}", file.display())),
            );
        }
        let args = [
            "follow",
            "--from-start",
            "--alert-file",
            "alerts.json",
            how,
            "-f",
            "ndjson",
            "access.log",
        ];
        let mut child = spawn(&mut harness.command(args));
        let mut printed = String::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            printed += &line.unwrap();
            if printed.contains("/f/.env") {
                let _ = kill_process(Pid::from_child(&child), Signal::INT);
            }
        }
        wait(child);
        printed += &fs::read_to_string(harness.path("alerts.json")).unwrap_or_default();
        leaks.extend(
            shown_in(&printed)
                .into_iter()
                .map(|shown| format!("{shown} in follow {how}")),
        );
    }
    assert!(leaks.is_empty(), "{leaks:#?}");
}

#[test]
fn ordinary_numbers_and_names_stay_readable() {
    let harness = Harness::new();
    let targets = [
        "/v1.2.3.4/.env",
        "/.env?id=12345678",
        "/.env?t=1700000000",
        "/20261127/.env",
        "/npm/jquery@3.6.0.min.js/.env",
        "/.env?d=2026-11-27",
        "/550e8400-e29b-41d4-a716-446655440000/.env",
        "/.env?u=http://127.0.0.1/",
        "/.env?u=http://2130706433/",
        "/.env?u=http://0x7f000001/",
        "/.env?error_log=on&lang=en&type=user",
        "/img_345678901.jpg/.env",
        "/.env?h=d41d8cd98f00b204e9800998ecf8427e",
        "/@scope/x/.env",
        "/.env?q=some-long-words-with_underscores",
        "/.env?a=1-2-3",
        "/.env?x=08:01:00",
        "/.env?user_agent=x",
        "/backup_2026_11_27_13_45_59.sql/.env",
        "/.env?x=char(104,101,108,108,111)",
    ];
    let agents = [
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Chrome/120.0.0.0 Safari/537.36",
        "Mozilla/5.0 MicroMessenger/8.0.0.1841(0x28005235) UCBrowser/13.4.0.1306",
    ];
    let line = |(number, target): (usize, &&str)| {
        line("203.0.113.9", &format!("GET {target} HTTP/1.1"), 404)
            .replace("Mozilla/5.0", agents[number % 2])
    };
    harness.file(
        "access.log",
        targets.iter().enumerate().map(line).collect::<String>(),
    );
    let objects = harness
        .run(["scan", "-f", "ndjson", "--anonymize", "access.log"])
        .objects();
    assert_eq!(objects.len(), targets.len());
    for (number, (object, target)) in objects.iter().zip(targets).enumerate() {
        assert_eq!(object["target"], target);
        assert_eq!(object["user_agent"], agents[number % 2]);
    }
}
