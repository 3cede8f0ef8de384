//! A report does not depend on how its log is read: with any number of threads, with maps or reads,
//! plain, compressed or piped, with or without the prefilter.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use serde_json::Value;

use crate::harness::{Harness, line, log, skip, with_plain_evidence};

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn threads_maps_and_compression_do_not_change_the_report() {
    let harness = Harness::new();
    let text = log(60_000);
    harness.file("access.log", &text);
    for format in ["json", "ndjson", "csv"] {
        let expected = harness.run(["scan", "-f", format, "-j1", "--mmap", "never", "access.log"]);
        assert_eq!(expected.code, 0, "{}", expected.stderr);
        for threads in ["1", "2", "8"] {
            for mmap in ["always", "never"] {
                let run = harness.run([
                    "scan",
                    "-f",
                    format,
                    "-j",
                    threads,
                    "--mmap",
                    mmap,
                    "access.log",
                ]);
                assert!(
                    run.stdout == expected.stdout,
                    "{format}, {threads} threads, mmap {mmap}"
                );
            }
        }
    }
    let plain = harness.run(["scan", "-f", "ndjson", "access.log"]).text();
    harness.file("access.log", gzip(text.as_bytes()));
    assert!(
        harness.run(["scan", "-f", "ndjson", "access.log"]).text() == plain,
        "compressed"
    );
}

/// Checks that a log has the same report plain, compressed and piped, apart from its name.
fn assert_same_for_every_way_of_reading(text: &[u8]) {
    let harness = Harness::new();
    harness.file("plain.log", text);
    harness.file("compressed.log", gzip(text));
    for format in ["csv", "json"] {
        let plain = harness.run(["scan", "-f", format, "plain.log"]);
        assert!(plain.text().contains("plain.log"), "{}", plain.stderr);
        let compressed = harness.run(["scan", "-f", format, "compressed.log"]);
        let piped = harness.run_with_stdin(["scan", "-f", format, "-"], text);
        let compressed_pipe = harness.run_with_stdin(["scan", "-f", format, "-"], &gzip(text));
        for (run, name) in [
            (compressed, "compressed.log"),
            (piped, "-"),
            (compressed_pipe, "-"),
        ] {
            assert_eq!(run.code, plain.code, "{}", run.stderr);
            assert!(
                with_plain_evidence(&run.text())
                    == with_plain_evidence(&plain.text()).replace("plain.log", name),
                "{format} of {name}"
            );
        }
    }
}

#[test]
fn plain_compressed_and_piped_logs_have_the_same_report() {
    assert_same_for_every_way_of_reading(log(20_000).as_bytes());
}

/// Checks that the report of these logs is the same without the prefilter.
fn assert_same_without_the_prefilter(harness: &Harness, logs: &[&str]) {
    for format in ["json", "ndjson", "csv"] {
        let of = |more: &[&str]| {
            harness.run(
                ["scan", "-f", format, "--min-severity", "info"]
                    .iter()
                    .chain(more)
                    .chain(logs),
            )
        };
        let (with, without) = (of(&[]), of(&["--no-prefilter"]));
        assert_eq!(
            (with.code, with.stderr),
            (without.code, without.stderr),
            "{logs:?}"
        );
        assert!(with.stdout == without.stdout, "{format} of {logs:?}");
        assert!(
            format == "ndjson" || !with.stdout.is_empty(),
            "{format} of {logs:?}: nothing"
        );
    }
}

#[test]
fn samples_have_the_same_report_without_the_prefilter() {
    assert_same_without_the_prefilter(
        &Harness::new(),
        &[concat!(env!("CARGO_MANIFEST_DIR"), "/samples")],
    );
}

/// The totals of a report that depend on single lines: of all lines, and the hits and outcomes of
/// each pair.
fn sums(report: &Value) -> BTreeMap<String, u64> {
    let totals = [
        "bytes",
        "lines",
        "parsed",
        "unparsed",
        "oversized",
        "requests",
        "hits",
    ];
    let mut sums: BTreeMap<_, _> = totals
        .iter()
        .map(|name| ((*name).to_owned(), report["totals"][name].as_u64().unwrap()))
        .collect();
    for (rows, key) in [("clients", "client"), ("paths", "path"), ("rules", "rule")] {
        for row in report[rows].as_array().unwrap() {
            let of_row = |what: &str| format!("{rows} {} {what}", row[key]);
            sums.insert(of_row("hits"), row["hits"].as_u64().unwrap());
            for (outcome, hits) in row["outcomes"].as_object().unwrap() {
                sums.insert(of_row(outcome), hits.as_u64().unwrap());
            }
        }
    }
    sums
}

/// Whether an input was not matched because it is binary data.
fn has_binary_input(report: &Value) -> bool {
    report["inputs"].as_array().unwrap().iter().any(|input| {
        input["problem"]
            .as_str()
            .is_some_and(|problem| problem.contains("binary"))
    })
}

/// The rules with `with_client`.
pub(crate) const CONTEXTUAL: &str = "prober/redirected,prober/unknown,prober/script-answered,prober/script-post-answered,\
    prober/product-answered,prober/hidden-answered,prober/page-answered,prober/listing-answered,\
    prober/service-answered,prober/underscore-answered";

/// Checks that a log split between two lines has the same totals, in one run and in two.
fn assert_sums_of_a_split(text: &[u8]) {
    let harness = Harness::new();
    let middle = text.len() / 2;
    let middle = middle
        + text[middle..]
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(text.len() - middle, |at| at + 1);
    harness.file("whole.log", text);
    harness.file("1.log", &text[..middle]);
    harness.file("2.log", &text[middle..]);
    // Down to info, and without rules that depend on other requests of a client, so that no row is
    // left out because of other lines.
    let report = |paths: &[&str]| {
        harness
            .json(
                ["--min-severity", "info", "--disable", CONTEXTUAL]
                    .iter()
                    .chain(paths),
            )
            .1
    };
    let (whole, halves) = (report(&["whole.log"]), report(&["1.log", "2.log"]));
    // Binary data is not matched, and of a few lines a half may be binary where the whole is not.
    if has_binary_input(&whole) || has_binary_input(&halves) {
        return;
    }
    let of = |paths: &[&str]| sums(&report(paths));
    let whole = sums(&whole);
    assert_eq!(sums(&halves), whole, "both in one run");
    let mut added = of(&["1.log"]);
    for (name, n) in of(&["2.log"]) {
        *added.entry(name).or_default() += n;
    }
    assert_eq!(added, whole, "a run for each");
}

/// Parts of probes, plain and encoded.
const PIECES: [&str; 32] = [
    "/",
    "a",
    "?",
    "&q=",
    "=",
    "%",
    "%25",
    "%2e",
    "..",
    ";",
    "+",
    "%00",
    "%0a",
    "%c0%ae",
    "%uff0e",
    r"\x5C",
    r"\x16",
    r"\n",
    "&#60;",
    "<script>",
    "' or 1=1",
    "un/**/ion",
    " select 1,2",
    "/etc/passwd",
    ";c'a't ",
    ".env",
    ".git/config",
    "wp-login.php",
    "${jndi:ldap:",
    "PHNjcmlwdD4=",
    "sqlmap",
    "http://192.0.2.9/",
];

/// Text of a few pieces.
fn any_pieces() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..8)
        .prop_map(|pieces| pieces.concat())
}

/// A line of a log, or something else.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let request = prop_oneof![
        Just("GET / HTTP/1.1".to_owned()),
        Just("GET /.git/config HTTP/1.1".to_owned()),
        Just("POST /wp-login.php HTTP/1.0".to_owned()),
        Just("GET /cgi-bin/.%2e/.%2e/bin/sh HTTP/1.1".to_owned()),
        Just(r"\x16\x03\x01".to_owned()),
        Just(String::new()),
        "GET /[a-c.%/]{0,12}\\?id=[0-9' a-f=]{0,12} HTTP/1.1",
        any_pieces().prop_map(|pieces| format!("GET /{pieces} HTTP/1.1")),
        any_pieces(),
    ];
    let fields = (
        0..4_u8,
        prop::sample::select(vec![200_u16, 301, 403, 404, 500]),
        0..59_u8,
        request,
    );
    let common = fields.prop_map(|(client, status, second, request)| {
        format!(
            "192.0.2.{client} - - [02/Nov/2026:08:01:{second:02} +0000] \"{request}\" {status} 512"
        )
    });
    let headers = r#" "-" "Mozilla/5.0""#;
    prop_oneof![
        2 => (common.clone(), any_pieces(), any_pieces()).prop_map(|(line, referer, agent)| format!("{line} \"{referer}\" \"{agent}\"").into_bytes()),
        4 => common.clone().prop_map(move |line| (line + headers).into_bytes()),
        2 => common.clone().prop_map(String::into_bytes),
        2 => common.prop_map(move |line| format!("example.org:443 {line}{headers}").into_bytes()),
        // Never starts with the magic bytes of a binary format.
        1 => (prop::sample::select(vec![0_u8, b'x', 0x80]), prop::collection::vec(any::<u8>(), 0..80)).prop_map(|(first, rest)| [vec![first], rest].concat()),
        1 => Just(b"once upon a time GET /.env".to_vec()),
        1 => Just(Vec::new()),
    ]
}

/// Lines of every kind with both line ends; the last one may have none.
fn any_log() -> impl Strategy<Value = Vec<u8>> {
    (
        prop::collection::vec((any_line(), any::<bool>()), 1..120),
        any::<bool>(),
    )
        .prop_map(|(lines, whole)| {
            let ended = |(line, cr): (Vec<u8>, bool)| {
                [line, if cr { b"\r\n".to_vec() } else { b"\n".to_vec() }].concat()
            };
            let mut text: Vec<u8> = lines.into_iter().flat_map(ended).collect();
            if !whole {
                text.pop();
            }
            text
        })
}

/// Checks that threads and maps do not change the output or the exit code.
fn assert_same_however_it_is_read(text: &[u8]) {
    let harness = Harness::new();
    harness.file("access.log", text);
    for format in ["json", "ndjson"] {
        let of = |threads, mmap| {
            harness.run([
                "scan",
                "-f",
                format,
                "-j",
                threads,
                "--mmap",
                mmap,
                "access.log",
            ])
        };
        let expected = of("1", "never");
        for (threads, mmap) in [
            ("1", "always"),
            ("2", "never"),
            ("2", "always"),
            ("8", "never"),
            ("8", "always"),
        ] {
            let run = of(threads, mmap);
            assert!(
                run.stdout == expected.stdout && run.code == expected.code,
                "{format}, {threads} threads, mmap {mmap}"
            );
        }
    }
    assert!(
        harness.json(["access.log"]).1["totals"]["bytes"] == text.len(),
        "bytes of the log"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reports_do_not_depend_on_how_a_log_is_read(text in any_log()) {
        assert_same_however_it_is_read(&text);
    }

    #[test]
    fn reports_do_not_depend_on_the_prefilter(text in any_log()) {
        let harness = Harness::new();
        // There is at least one hit to compare.
        harness.file("access.log", [line("192.0.2.1", "GET /.env HTTP/1.1", 404).as_bytes(), &text].concat());
        assert_same_without_the_prefilter(&harness, &["access.log"]);
    }

    #[test]
    fn a_log_split_in_two_has_the_same_totals(text in any_log()) {
        assert_sums_of_a_split(&text);
    }
}

#[test]
fn a_long_log_split_in_two_has_the_same_totals() {
    assert_sums_of_a_split(log(30_000).as_bytes());
}

/// All logs in the folder that `PROBEWATCH_CORPORA` names, and those of its sites.
#[test]
fn corpora_have_the_same_report_without_the_prefilter() {
    let Some(folder) = std::env::var_os("PROBEWATCH_CORPORA") else {
        return skip(
            "corpora without the prefilter",
            "PROBEWATCH_CORPORA names no folder",
        );
    };
    let folders = [
        Path::new(&folder).to_owned(),
        Path::new(&folder).join("sites"),
    ];
    let mut logs: Vec<_> = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    logs.retain(|path| path.extension().is_some_and(|e| e == "gz"));
    logs.sort();
    assert!(!logs.is_empty());
    for log in logs {
        assert_same_without_the_prefilter(&Harness::new(), &[log.to_str().unwrap()]);
    }
}

/// The same invariants with logs of real sites, in the folder that `PROBEWATCH_CORPORA` names.
#[test]
fn logs_of_real_sites_satisfy_the_invariants() {
    let Some(folder) = std::env::var_os("PROBEWATCH_CORPORA") else {
        return skip("logs of real sites", "PROBEWATCH_CORPORA names no folder");
    };
    let mut logs: Vec<_> = fs::read_dir(Path::new(&folder).join("sites"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    logs.sort();
    assert!(!logs.is_empty());
    for log in logs.iter().take(3) {
        let mut text = Vec::new();
        let compressed = fs::File::open(log).unwrap();
        std::io::Read::read_to_end(
            &mut flate2::read::MultiGzDecoder::new(compressed),
            &mut text,
        )
        .unwrap();
        assert_same_however_it_is_read(&text);
        assert_same_for_every_way_of_reading(&text);
        assert_sums_of_a_split(&text);
    }
}
