//! Text that a terminal, a spreadsheet, a parser or the reader's eye would interpret. It is printed
//! as plain text.
//!
//! The harness rejects raw control and bidirectional characters in all output; the tests here check
//! what is printed instead.

use serde_json::Value;

use crate::harness::{EXE, Harness, finish, is_installed, log, skip};

const FORMATS: [&[&str]; 7] = [
    &["scan", "-f", "table", "access.log"],
    &["scan", "-f", "csv", "access.log"],
    &["scan", "-f", "csv", "--by", "client", "access.log"],
    &["scan", "-f", "csv", "--by", "path", "access.log"],
    &["scan", "-f", "csv", "--by", "rule", "access.log"],
    &["scan", "-f", "json", "access.log"],
    &["scan", "-f", "ndjson", "access.log"],
];

/// A probe with any bytes in its query, referrer and user agent.
fn probe(query: &[u8], referer: &[u8], agent: &[u8]) -> Vec<u8> {
    let head: &[u8] = b"192.0.2.1 - - [02/Nov/2026:08:01:00 +0000] \"GET /.env?x=";
    [
        head,
        query,
        b" HTTP/1.1\" 200 512 \"",
        referer,
        b"\" \"",
        agent,
        b"\"\n",
    ]
    .concat()
}

/// A harness with this log as access.log.
fn harness(log: impl AsRef<[u8]>) -> Harness {
    let harness = Harness::new();
    harness.file("access.log", log);
    harness
}

/// The one object of a log of one probe.
fn object(log: impl AsRef<[u8]>) -> Value {
    let run = harness(log).run(["scan", "-f", "ndjson", "access.log"]);
    let mut objects = run.objects();
    assert_eq!(objects.len(), 1, "{}", run.stderr);
    objects.remove(0)
}

/// The rows of a CSV as lists of cells; fails if a row has more or fewer cells than the header.
fn cells(csv: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(csv.as_bytes());
    reader
        .records()
        .map(|row| row.unwrap().iter().map(str::to_owned).collect())
        .collect()
}

/// Bytes with an effect, and how they are printed.
const ACTING: [(&[u8], &str); 12] = [
    (b"\x1b[2J", r"\x1b[2J"),
    (b"\x1b]0;title\x07", r"\x1b]0;title\x07"),
    (b"\x1b]52;c;eA==\x07", r"\x1b]52;c;eA==\x07"),
    (b"a\x08\x08b", r"a\x08\x08b"),
    (b"\x9b31m", r"\x9b31m"),
    (b"\xc2\x9b31m", r"\u{9b}31m"),
    (b"a\x7f", r"a\x7f"),
    (b"a\rb", r"a\x0db"),
    (b"a\0b", r"a\x00b"),
    (b"\xe2\x80\xaegol.exe", r"\u{202e}gol.exe"),
    (b"a\xe2\x80\x8bb\xef\xbb\xbf", r"a\u{200b}b\u{feff}"),
    (b"a\xe2\x80\xa8b", r"a\u{2028}b"),
];

/// H1, H2, H3.
#[test]
fn active_text_is_escaped() {
    for (bytes, shown) in ACTING {
        let text = probe(bytes, bytes, bytes);
        let object = object(&text);
        assert_eq!(object["target"], format!("/.env?x={shown}"));
        assert_eq!(
            (&object["referer"], &object["user_agent"]),
            (&Value::from(shown), &Value::from(shown))
        );
        let harness = harness(&text);
        for args in FORMATS {
            let run = harness.run(args);
            assert_eq!(run.code, 0, "{}", run.stderr);
            assert!(run.text().contains("env"), "{}", run.text());
        }
        let wide = finish(harness.command(FORMATS[0]).env("COLUMNS", "300")).text();
        assert!(wide.contains(shown), "{shown}: {wide}");
        assert!(harness.run(FORMATS[2]).text().contains(shown), "{shown}");
    }
}

/// H1.
#[test]
fn output_on_a_terminal_is_escaped() {
    let harness = harness(
        ACTING
            .iter()
            .flat_map(|(bytes, _)| probe(bytes, bytes, bytes))
            .collect::<Vec<_>>(),
    );
    if !is_installed("script") {
        return skip("output_on_a_terminal_is_escaped", "there is no script");
    }
    for format in ["table", "csv", "json", "ndjson"] {
        let line =
            format!("script -qec '{EXE} scan -f {format} --color never access.log gone' /dev/null");
        let output = harness.shell(&line).output().unwrap();
        let text = String::from_utf8(output.stdout).expect("a terminal gets UTF-8");
        assert!(text.contains("/.env"), "{text}");
        // The terminal adds a carriage return to each newline.
        let acting = text
            .replace("\r\n", "\n")
            .chars()
            .find(|c| (c.is_control() && *c != '\n') || matches!(c, '\u{200b}' | '\u{202e}'));
        assert_eq!(acting, None, "{format}: {text:?}");
    }
}

/// H3.
#[test]
fn wide_characters_and_combining_marks_keep_columns_aligned() {
    let flood = format!("a{}", "\u{301}".repeat(400));
    let wide = "日本語".repeat(40);
    let harness = harness(
        [
            probe(b"1", b"-", flood.as_bytes()),
            probe(b"2", b"-", wide.as_bytes()),
        ]
        .concat(),
    );
    for args in FORMATS {
        assert!(
            !harness.run(args).text().contains(&"\u{301}".repeat(5)),
            "{args:?}"
        );
    }
    let text = harness.run(["scan", "access.log"]).text();
    assert!(
        text.lines().all(|line| line.chars().count() <= 400),
        "{text}"
    );
}

/// H4.
#[test]
fn escaped_text_is_not_unescaped() {
    let object = object(probe(br"\x1b[2J", br"\x1b", br"\x22\x1b[31m"));
    assert_eq!(object["target"], r"/.env?x=\x1b[2J");
    assert_eq!(object["referer"], r"\x1b");
    assert_eq!(object["user_agent"], r"\x22\x1b[31m");
}

/// H5.
#[test]
fn decoded_text_is_escaped() {
    let object = object(probe(b"%1b%5b2J%0d%0a%e2%80%ae%00", b"-", b"-"));
    assert_eq!(object["target"], "/.env?x=%1b%5b2J%0d%0a%e2%80%ae%00");
    assert_eq!(object["decoded"], r"/.env?x=\x1b[2J\x0d\x0a\u{202e}\x00");
    let text = b"192.0.2.1 - - [02/Nov/2026:08:01:00 +0000] \"GET /a%1b%5b2J%e2%80%ae/.env HTTP/1.1\" 404 5 \"-\" \"-\"\n";
    let harness = harness(text);
    for args in FORMATS {
        assert!(
            harness
                .run([args, &["--full"]].concat())
                .text()
                .contains("env"),
            "{args:?}"
        );
    }
}

/// H6.
#[test]
fn csv_cells_are_not_formulas() {
    let formulas = [
        "=cmd|'/c'!A1",
        "+1+1",
        "-1+1",
        "@SUM(A1)",
        " =1",
        r#"\"=1"#,
        "＝1",
        "\t=1",
        "\r=1",
    ];
    for formula in formulas {
        let by_client = harness(probe(b"", b"-", formula.as_bytes()))
            .run(FORMATS[2])
            .text();
        let agent = cells(&by_client)[1][9].clone();
        let escaped =
            agent.starts_with('\'') || (agent.starts_with('\\') && !formula.contains(['\t', '\r']));
        assert!(escaped, "{formula:?}: {agent}");
    }
    // The client is the first field of the line, whatever its content; the target is the requested
    // one.
    let line =
        "=1+1 - - [02/Nov/2026:08:01:00 +0000] \"GET =cmd/.env HTTP/1.1\" 404 5 \"-\" \"-\"\n";
    for args in &FORMATS[1..4] {
        for cell in cells(&harness(line).run(*args).text()).concat() {
            assert!(!cell.starts_with(['=', '+', '@']), "{args:?}: {cell}");
        }
    }
}

/// H7.
#[test]
fn csv_rows_have_as_many_cells_as_the_header() {
    let agent = br#"a\",b;c"#;
    let harness = harness(
        [
            &probe(br"\x22,;", b"-", agent)[..],
            &probe(b"a,b", b",", b"\r\0,;'")[..],
            log(100).as_bytes(),
        ]
        .concat(),
    );
    for args in &FORMATS[1..5] {
        let rows = cells(&harness.run(*args).text());
        assert!(
            rows.len() > 1 && rows.iter().all(|row| row.len() == rows[0].len()),
            "{rows:?}"
        );
    }
    let rows = cells(&harness.run(FORMATS[2]).text());
    assert_eq!(
        (rows[1][9].as_str(), rows[1][10].as_str()),
        (r#"a\",b;c"#, r"/.env?x=\x22,;")
    );
}

/// H8.
#[test]
fn json_is_valid_and_lossless() {
    let cases: [(&[u8], &str); 5] = [
        (b"\xff\xfe\x80", r"\xff\xfe\x80"),
        (b"\xed\xa0\x80\xed\xb0\x80", r"\xed\xa0\x80\xed\xb0\x80"),
        (b"\xe2\x80\xa8\xe2\x80\xa9", r"\u{2028}\u{2029}"),
        (b"</script><!--", "</script><!--"),
        (b"\xc3(\xf0\x9f\x92", r"\xc3(\xf0\x9f\x92"),
    ];
    for (bytes, shown) in cases {
        let text = probe(bytes, b"-", bytes);
        assert_eq!(object(&text)["target"], format!("/.env?x={shown}"));
        let report = harness(&text).json(["access.log"]).1;
        assert_eq!(report["clients"][0]["sample"]["user_agent"], shown);
        assert_eq!(
            report["pairs"][0]["sample"]["target"],
            format!("/.env?x={shown}")
        );
    }
}

/// Text that acts in a browser is written as it was logged, but on a page: tests of pages check
/// that.
#[test]
fn h9_text_for_a_browser_is_only_text() {
    const CORPUS: [&str; 6] = [
        "<script>alert(1)</script>",
        "</script><svg/onload=alert(1)>",
        "javascript:alert(1)//",
        "&lt;img src=x onerror=alert(1)&gt;",
        "<!--<img src='-->",
        "{{constructor.constructor('alert(1)')()}}",
    ];
    for text in CORPUS {
        let harness = harness(probe(
            text.replace(' ', "+").as_bytes(),
            text.as_bytes(),
            text.as_bytes(),
        ));
        let target = format!("/.env?x={}", text.replace(' ', "+"));
        let object = harness.run(FORMATS[6]).objects().remove(0);
        assert_eq!(
            [&object["target"], &object["referer"], &object["user_agent"]],
            [target.as_str(), text, text]
        );
        let report = harness.run(FORMATS[5]).json();
        assert_eq!(report["pairs"][0]["sample"]["target"], target);
        assert_eq!(report["clients"][0]["sample"]["user_agent"], text);
        let pairs = harness.run(FORMATS[1]).text();
        assert!(cells(&pairs)[1].contains(&target), "{pairs}");
    }
    let harness = harness(probe(b"1", b"-", b"-"));
    for command in ["follow", "diff access.log", "learn", "explain", "formats"] {
        let run = harness.run(command.split(' ').chain(["-f", "html", "access.log"]));
        assert_eq!((run.code, run.stdout.len()), (2, 0), "{command}");
        assert!(run.stderr.contains("html"), "{command}: {}", run.stderr);
    }
}

#[test]
fn standard_error_is_escaped() {
    let harness = harness(b"\x1b[2J\xff\xe2\x80\xae no line of any log\n");
    harness.file("bad.toml", "\u{1b}[2J = 1\n");
    let runs: [&[&str]; 7] = [
        &["scan", "access.log"],
        &["scan", "gone\u{1b}[2J\u{202e}.log"],
        &["scan", "gone\u{1b}[2J*"],
        &["scan", "--\u{1b}[2J", "access.log"],
        &["scan", "--only", "\u{1b}[2J\u{9b}", "access.log"],
        &["scan", "--rules", "bad.toml", "access.log"],
        &["scan", "--config", "bad.toml", "access.log"],
    ];
    for args in runs {
        let run = harness.run(args);
        assert!(run.code == 2 || run.code == 3, "{args:?}: {}", run.code);
        assert!(!run.stderr.is_empty(), "{args:?}");
    }
    assert!(
        harness
            .run(["scan", "-o", "no\u{1b}[2J/such", "access.log"])
            .stderr
            .contains(r"no\x1b[2J/such")
    );
}

/// H12.
#[test]
fn secrets_are_masked_in_every_output_and_matched_as_they_are() {
    // The name of a user is a field; `--anonymize` hides it.
    const SECRETS: [&str; 5] = [
        "hunterTwo",
        "s3cretToken",
        "eyJzdWIiOiIxIn0",
        "0123456789abcdef0123",
        "k3yValue",
    ];
    let line = |target: &str, referer: &str| {
        format!(
            "192.0.2.1 - basicUser [02/Nov/2026:08:01:00 +0000] \"GET {target} HTTP/1.1\" 200 5 \"{referer}\" \"a?api_key=k3yValue\"\n"
        )
    };
    let harness = harness(
        [
            line(
                "/.env?token=s3cretToken&password=hunterTwo",
                "https://example.com/?token=s3cretToken",
            ),
            line(
                "/.env?u=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
                "https://bob:hunterTwo@example.com/",
            ),
            line("/.env/reset-password/0123456789abcdef0123", "-"),
            line("/.env?next=%2Fx%3Ftoken%3Ds3cretToken", "-"),
        ]
        .concat(),
    );
    for args in FORMATS {
        let text = harness.run(args).text();
        assert!(text.contains("env"), "{text}");
        for secret in SECRETS {
            assert!(!text.contains(secret), "{args:?}: {secret} in {text}");
        }
    }
    assert!(
        harness
            .run(FORMATS[6])
            .text()
            .contains("/.env?token=***&password=***")
    );
}

/// H12.
#[test]
fn rules_match_text_that_reports_mask() {
    let harness = harness(probe(
        b"1&password=%3Cscript%3Ealert(1)%3C/script%3E",
        b"-",
        b"-",
    ));
    let objects = harness
        .run(["scan", "-f", "ndjson", "--only", "xss", "access.log"])
        .objects();
    assert_eq!(objects.len(), 1);
    assert!(
        objects[0]["target"]
            .as_str()
            .unwrap()
            .starts_with("/.env?x=1&password=***"),
        "{}",
        objects[0]
    );
}

/// H13.
#[test]
fn only_the_first_field_is_the_client() {
    let line = "192.0.2.1 - 203.0.113.9 [02/Nov/2026:08:01:00 +0000] \"GET http://203.0.113.9/.env?203.0.113.9 HTTP/1.1\" 404 5 \
                \"http://203.0.113.9/\" \"203.0.113.9 - - [02/Nov/2026:08:01:00 +0000]\"\n";
    let report = harness(line).json(["access.log"]).1;
    let clients: Vec<_> = report["clients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["client"].as_str().unwrap())
        .collect();
    assert_eq!(clients, ["192.0.2.1"]);
}

/// H4. A newline and sixteen hexadecimal digits end a text that was masked before, so a request
/// must not be able to send them.
#[test]
fn no_text_of_a_request_unmasks_or_shortens_it() {
    const TAIL: &str = "%0a0123456789abcdef";
    let log = format!(
        "192.0.2.1 - - [02/Nov/2026:08:01:00 +0000] \"GET /.env{TAIL}?password=hunter2%26x&y={TAIL} HTTP/1.1\" 200 5 \"/?token=a{TAIL}\" \"x{TAIL}\"\n\
         192.0.2.1 - - [02/Nov/2026:08:01:00 +0000] \"GET /.env?y={TAIL} HTTP/1.1\" 200 5 \"-\" \"-\"\n"
    );
    let harness = harness(log);
    for (privacy, password) in [
        (&[][..], "***"),
        (&["--anonymize"], "***"),
        (&["--no-redact"], "hunter2&x"),
    ] {
        let hits = harness
            .run([&["scan", "-f", "ndjson", "access.log"], privacy].concat())
            .objects();
        let decoded =
            format!("/.env\\x0a0123456789abcdef?password={password}&y=\\x0a0123456789abcdef");
        assert_eq!(hits[0]["decoded"], decoded, "{privacy:?}");
        assert_eq!(hits[0]["user_agent"], format!("x{TAIL}"));
        assert_eq!(hits[0]["path"], "/.env0123456789abcdef");
        assert_eq!(
            hits[1]["decoded"], "/.env?y=\\x0a0123456789abcdef",
            "{privacy:?}"
        );
        assert_eq!(hits[1]["target"], format!("/.env?y={TAIL}"));
    }
}
