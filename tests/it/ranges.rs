//! Partial reports of byte ranges: merged in any order and as any tree, they equal one scan of the
//! whole log.

use std::fs;
use std::path::Path;

use crate::harness::{Harness, Rng, line, log};

/// Writes a partial report of a range.
fn scan_range(harness: &Harness, log: &str, range: &str, name: &str) {
    let run = harness.run([
        "scan",
        "-f",
        "partial",
        "--max-line",
        "64K",
        "--range",
        range,
        "-o",
        name,
        log,
    ]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{log} {range}");
}

/// Merges partial reports into another one.
fn merge_partials(harness: &Harness, parts: &[String], name: &str) {
    let run = harness.run(
        ["merge", "-f", "partial", "-o", name]
            .into_iter()
            .chain(parts.iter().map(String::as_str)),
    );
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{parts:?}");
}

/// The outputs of a command in all formats. The time of a table differs.
fn outputs(harness: &Harness, args: &[&str]) -> Vec<String> {
    let formats = [
        &["-f", "json"][..],
        &["-f", "csv"],
        &["-f", "csv", "--by", "answer"],
        &["--full"],
    ];
    let all = formats.map(|format| {
        let run = harness.run([&args[..1], format, &args[1..]].concat());
        assert_eq!(
            (run.code, run.stderr.as_str()),
            (0, ""),
            "{args:?} {format:?}"
        );
        run.text()
            .split_inclusive('\n')
            .filter(|line| !line.contains(" in "))
            .collect()
    });
    all.to_vec()
}

/// Logs whose lines cannot be read alone, or not by every cut.
fn logs(harness: &Harness) -> Vec<&'static str> {
    let long = line(
        "192.0.2.9",
        &format!("GET /{}.env HTTP/1.1", "x".repeat(100_000)),
        404,
    );
    let probe = line("198.51.100.7", "GET /.env?token=s3cr3t HTTP/1.1", 200);
    harness.file(
        "plain.log",
        log(60) + &probe + "no log line /etc/passwd\n\n\n" + &log(30),
    );
    harness.file(
        "unended.log",
        (log(40) + &probe).trim_end().replace('\n', "\r\n"),
    );
    harness.file("long.log", log(20) + &long + &log(20) + &long + &probe);
    harness.file(
        "bom.log",
        [b"\xef\xbb\xbf", log(30).as_bytes(), &[0; 5000]].concat(),
    );
    harness.file("one.log", &probe);
    let entry = |n: usize| {
        let target = if n % 7 == 2 { "/.git/config" } else { "/page" };
        format!(
            "{{\"time\":\"2026-11-02T08:01:{:02}+00:00\",\"remote_addr\":\"192.0.2.{n}\",\"request\":\"GET {target} HTTP/1.1\",\"status\":404,\"body_bytes_sent\":{n},\"http_user_agent\":\"curl/8\"}}\n",
            n % 60
        )
    };
    harness.file("entries.json", (0..50).map(entry).collect::<String>());
    let head = "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Date: 2026-11-02 00:00:00\n";
    let fields = "#Fields: date time cs-method cs-uri-stem cs-uri-query sc-status sc-bytes c-ip cs(User-Agent)\n";
    let others = "#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status\n";
    let first = |n: usize| {
        format!(
            "2026-11-02 08:00:{:02} GET /page/{n}/.env - 404 153 192.0.2.{n} curl/8\n",
            n % 60
        )
    };
    let second = |n: usize| {
        format!(
            "2026-11-02 09:00:{:02} 198.51.100.{n} GET /wp-login.php - 200\n",
            n % 60
        )
    };
    let (first, second) = (
        (0..30).map(first).collect::<String>(),
        (0..30).map(second).collect::<String>(),
    );
    harness.file(
        "w3c.log",
        [head, fields, &first, head, others, &second, head, fields].concat(),
    );
    vec![
        "plain.log",
        "unended.log",
        "long.log",
        "bom.log",
        "one.log",
        "entries.json",
        "w3c.log",
    ]
}

/// Cuts at random bytes, some of them equal, beyond the end, or the border of a line and one byte
/// next to it.
fn cuts(random: &mut Rng, text: &[u8]) -> Vec<u64> {
    let mut cuts: Vec<u64> = (0..=random.below(5))
        .map(|_| random.below(text.len() as u64 + 9))
        .collect();
    let newline = text
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .nth(random.below(20) as usize);
    if let Some((newline, _)) = newline {
        cuts.push(newline as u64 + random.below(3));
    }
    cuts.sort_unstable();
    cuts
}

/// Partial reports of all ranges between the cuts.
fn scan_ranges(harness: &Harness, log: &str, cuts: &[u64]) -> Vec<String> {
    let starts = [&[0], cuts].concat();
    let end = |at: usize| cuts.get(at).map(u64::to_string).unwrap_or_default();
    let each = starts.iter().enumerate().map(|(at, start)| {
        let name = format!("{log}.{at}.partial");
        scan_range(harness, log, &format!("{start}-{}", end(at)), &name);
        name
    });
    each.collect()
}

/// Merges random groups of parts until few are left.
fn merge_as_tree(harness: &Harness, random: &mut Rng, mut parts: Vec<String>) -> Vec<String> {
    let mut round = 0;
    while parts.len() > 2 {
        let mut group = Vec::new();
        for _ in 0..2 + random.below(2).min(parts.len() as u64 - 2) {
            group.push(parts.swap_remove(random.below(parts.len() as u64) as usize));
        }
        let name = format!("{round}.tree");
        merge_partials(harness, &group, &name);
        parts.push(name);
        round += 1;
    }
    parts
}

#[test]
fn any_ranges_merged_as_any_tree_equal_one_scan() {
    let harness = Harness::new();
    let mut random = Rng::new();
    for log in logs(&harness) {
        let text = fs::read(harness.path(log)).unwrap();
        let whole = outputs(&harness, &["scan", "--max-line", "64K", log]);
        let partial = harness.path("whole.partial");
        assert_eq!(
            harness
                .run([
                    "scan",
                    "-f",
                    "partial",
                    "--max-line",
                    "64K",
                    "-o",
                    "whole.partial",
                    log
                ])
                .code,
            0
        );
        assert_eq!(
            outputs(&harness, &["merge", "whole.partial"]),
            whole,
            "{log}"
        );
        for _ in 0..4 {
            let cuts = cuts(&mut random, &text);
            let parts = scan_ranges(&harness, log, &cuts);
            merge_partials(&harness, &parts, "merged.partial");
            assert_eq!(
                fs::read(harness.path("merged.partial")).unwrap(),
                fs::read(&partial).unwrap(),
                "{log} at {cuts:?}"
            );
            let mut roots = merge_as_tree(&harness, &mut random, parts);
            roots.reverse();
            let args: Vec<&str> = ["merge"]
                .into_iter()
                .chain(roots.iter().map(String::as_str))
                .collect();
            assert_eq!(outputs(&harness, &args), whole, "{log} at {cuts:?}");
        }
    }
}

#[test]
fn ranges_at_every_byte_count_every_line_once() {
    let harness = Harness::new();
    harness.file("tiny.log", "\nGET /.env\r\nx\n\n203.0.113.9 /.git/config");
    let whole = harness.json(["-q", "tiny.log"]).1["totals"]["lines"].clone();
    for cut in 0..40 {
        let lines = [
            format!("0-{cut}"),
            format!("{cut}-{cut}"),
            format!("{cut}-"),
        ]
        .map(|range| {
            let report = harness.json(["-q", "--range", &range, "tiny.log"]).1;
            report["totals"]["lines"].as_u64().unwrap()
        });
        assert_eq!(
            (lines.iter().sum::<u64>(), lines[1]),
            (whole.as_u64().unwrap(), 0),
            "{cut}"
        );
    }
}

#[test]
fn partials_of_many_logs_merge_with_json_reports() {
    let harness = Harness::new();
    harness.file("a.log", log(80));
    harness.file(
        "b.log",
        log(50) + &line("203.0.113.5", "GET /.env HTTP/1.1", 200),
    );
    let whole = outputs(&harness, &["scan", "a.log", "b.log"]);
    scan_range(&harness, "a.log", "0-1K", "a1");
    scan_range(&harness, "a.log", "1K-", "a2");
    harness.run(["scan", "-f", "json", "-o", "b.json", "b.log"]);
    harness.run([
        "scan", "-f", "json", "--range", "1K-", "-o", "a2.json", "a.log",
    ]);
    for parts in [
        ["a1", "b.json", "a2"],
        ["a2", "a1", "b.json"],
        ["a2.json", "b.json", "a1"],
    ] {
        assert_eq!(outputs(&harness, &[&["merge"], &parts[..]].concat()), whole);
    }
    let piped = harness.run_with_stdin(
        ["merge", "-f", "json", "a1", "-", "b.json"],
        &fs::read(harness.path("a2")).unwrap(),
    );
    assert_eq!(
        piped.text(),
        harness.run(["scan", "-f", "json", "a.log", "b.log"]).text()
    );
    assert_eq!(
        harness.run(["diff", "b.json", "b.json"]).text(),
        "No difference.\n"
    );
}

#[test]
fn the_same_ranges_count_once_and_others_must_meet() {
    let harness = Harness::new();
    harness.file("a.log", log(80));
    let whole = outputs(&harness, &["scan", "a.log"]);
    for (name, range) in [
        ("one", "0-1000"),
        ("two", "1000-3000"),
        ("three", "3000-"),
        ("again", "1000-3000"),
        ("wide", "1000-4000"),
    ] {
        scan_range(&harness, "a.log", range, name);
    }
    assert_eq!(
        fs::read(harness.path("two")).unwrap(),
        fs::read(harness.path("again")).unwrap()
    );
    assert_eq!(
        outputs(&harness, &["merge", "one", "two", "again", "three"]),
        whole
    );
    merge_partials(&harness, &["two".into(), "again".into()], "both");
    assert_eq!(
        outputs(&harness, &["merge", "three", "both", "one", "two"]),
        whole
    );
    merge_partials(&harness, &["one".into(), "two".into()], "half");
    let gap = "are in no report; scan them with --range";
    let overlap = "are in two reports";
    for (parts, message) in [
        (&["one", "two"][..], gap),
        (&["two", "three"], gap),
        (&["one", "three"], gap),
        (&["one"], gap),
        (&["one", "two", "wide", "three"], overlap),
        (&["half", "two", "three"], overlap),
        (&["two", "half", "three"], overlap),
    ] {
        let run = harness.run([&["merge"], parts].concat());
        assert_eq!((run.code, run.text().as_str()), (2, ""), "{parts:?}");
        assert!(
            run.stderr.contains(message) && run.stderr.contains("a.log"),
            "{parts:?}: {}",
            run.stderr
        );
    }
    let run = harness.run(["merge", "-f", "partial", "one", "two", "wide"]);
    assert!(
        run.code == 2 && run.stderr.contains(overlap),
        "{}",
        run.stderr
    );
    merge_partials(
        &harness,
        &["one".into(), "two".into(), "three".into()],
        "all",
    );
    let run = harness.run(["merge", "all", "two"]);
    assert!(run.code == 2 && run.stderr.contains(gap), "{}", run.stderr);
}

#[test]
fn a_log_that_grew_between_ranges_is_refused_unless_they_meet() {
    let harness = Harness::new();
    let text = log(80);
    harness.file("a.log", &text[..5000]);
    for (name, range) in [("one", "0-3000"), ("two", "3000-8000")] {
        scan_range(&harness, "a.log", range, name);
    }
    harness.file("a.log", &text);
    for (name, range) in [
        ("two-later", "3000-8000"),
        ("three", "8000-"),
        ("rest", "5000-"),
    ] {
        scan_range(&harness, "a.log", range, name);
    }
    assert_eq!(
        outputs(&harness, &["merge", "three", "one", "two-later"]),
        outputs(&harness, &["scan", "a.log"])
    );
    // A line was written in part when the second range was read.
    for parts in [["one", "two", "three"], ["one", "two", "rest"]] {
        let run = harness.run([&["merge"], &parts[..]].concat());
        assert!(
            run.code == 2 && run.stderr.contains("bytes 5000 to"),
            "{}",
            run.stderr
        );
    }
    let run = harness.run(["merge", "one", "two", "two-later", "three"]);
    assert!(
        run.code == 2 && run.stderr.contains("are in two reports"),
        "{}",
        run.stderr
    );
    // Another log of the same name has ranges of its own.
    harness.file(
        "a.log",
        line("192.0.2.200", "GET /other HTTP/1.1", 200) + &text,
    );
    scan_range(&harness, "a.log", "8000-", "other");
    let run = harness.run(["merge", "one", "two-later", "other"]);
    assert!(
        run.code == 2 && run.stderr.contains("are in no report"),
        "{}",
        run.stderr
    );
}

#[test]
fn ranges_of_what_has_none_are_refused() {
    let harness = Harness::new();
    harness.file("a.log", log(80));
    harness.file("b.log", log(8));
    fs::create_dir(harness.path("folder")).unwrap();
    harness.file("folder/access.log", log(8));
    let packed = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/rotated.log.1.gz");
    assert!(Path::new(packed).exists());
    for (args, message) in [
        (
            &["--range", "0-9", "a.log", "b.log"][..],
            "--range reads one file",
        ),
        (&["--range", "0-9", "folder"], "--range reads one file"),
        (&["--range", "0-9", "?.log"], "--range reads one file"),
        (&["--range", "0-9", "-"], "cannot be used with a pipe"),
        (&["--range", "0-9", packed], "decompress it first"),
        (&["--range", "9-0", "a.log"], "its end is before its start"),
        (&["--range", "7", "a.log"], "not a range"),
        (
            &["--source", "x.log", "a.log"],
            "--source names standard input",
        ),
        (
            &["-f", "partial", "--anonymize", "a.log"],
            "--anonymize does not apply",
        ),
        (
            &["-f", "partial", "--by", "client", "a.log"],
            "a partial report has no rows",
        ),
    ] {
        let run = harness.run([&["scan"], args].concat());
        assert_eq!((run.code, run.text().as_str()), (2, ""), "{args:?}");
        assert!(run.stderr.contains(message), "{args:?}: {}", run.stderr);
    }
    let run = harness.run(["scan", "--range", "0-9", "gone.log"]);
    assert!(
        run.code == 3 && run.stderr.contains("no such file"),
        "{}",
        run.stderr
    );
    for args in [
        &["learn", "-f", "partial", "a.log"][..],
        &["diff", "-f", "partial", "a", "b"],
        &["follow", "-f", "partial", "a.log"],
    ] {
        assert_eq!(harness.run(args).code, 2, "{args:?}");
    }
}

#[test]
fn standard_input_has_the_name_of_its_source() {
    let harness = Harness::new();
    let text = log(80);
    harness.file("web1.log", &text);
    let whole = harness.run(["scan", "-f", "json", "web1.log"]).text();
    for args in [
        &["scan", "-f", "json", "--source", "web1.log"][..],
        &["scan", "-f", "json", "--source", "web1.log", "-"],
    ] {
        assert_eq!(harness.run_with_stdin(args, text.as_bytes()).text(), whole);
    }
}

#[test]
fn damaged_partials_are_refused() {
    let harness = Harness::new();
    harness.file("a.log", log(80));
    assert_eq!(
        harness
            .run(["scan", "-f", "partial", "-o", "fine", "a.log"])
            .code,
        0
    );
    let fine = fs::read(harness.path("fine")).unwrap();
    let with = |at: usize, byte: u8| [&fine[..at], &[byte], &fine[at + 1..]].concat();
    harness.file("later", with(7, 2));
    harness.file("empty", "");
    harness.file("longer", [&fine[..], b"x"].concat());
    harness.file("twice", fine.repeat(2));
    for (file, message) in [
        ("later", "a report of schema_version 2"),
        ("empty", "is no report"),
        ("a.log", "is no report"),
        ("longer", "other data follows it"),
        ("twice", "other data follows it"),
    ] {
        let run = harness.run(["merge", "fine", file]);
        assert_eq!((run.code, run.text().as_str()), (2, ""), "{file}");
        assert!(
            run.stderr.contains(file) && run.stderr.contains(message),
            "{file}: {}",
            run.stderr
        );
    }
    let step = fine.len() / 40;
    for at in (0..fine.len()).step_by(step) {
        harness.file("cut", &fine[..at]);
        harness.file("changed", with(at, !fine[at]));
        for file in ["cut", "changed"] {
            let run = harness.run(["merge", file]);
            assert_eq!((run.code, run.text().as_str()), (2, ""), "{file} at {at}");
            assert!(
                run.stderr.contains(file) && (run.stderr.contains("is damaged") || at <= 8),
                "{at}: {}",
                run.stderr
            );
        }
    }
}
