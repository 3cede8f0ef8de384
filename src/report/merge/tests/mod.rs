//! Any split of the logs merges to the same report, in any order.

mod bounded;
mod floods;

use std::sync::LazyLock;

use proptest::prelude::*;

use crate::engine::{LineScanner, ScanOptions, WorkerState};
use crate::formats::LogFormat;
use crate::render::{GroupBy, OutputFormat, RenderOptions, render};
use crate::report::build::{LogAnalysis, RowSelection, build};
use crate::report::fixture;
use crate::report::merge::*;
use crate::report::snapshot::{read, write_partial};
use crate::rules::{RuleChoice, load};
use crate::scan::input_summary::LineTotals;
use crate::tally::{LinePosition, union_span};

/// The built-in rules: they have client conditions and apps.
fn rules() -> &'static RuleSet {
    static SET: LazyLock<RuleSet> = LazyLock::new(|| load(&RuleChoice::default()).unwrap());
    &SET
}

/// Consecutive lines of a log.
#[derive(Debug, Clone)]
struct Piece {
    log_host: Option<&'static str>,
    path: &'static str,
    generation: u64,
    offset: u64,
    lines_before: u64,
    text: String,
}

impl Piece {
    fn new(path: &'static str, lines: &[String]) -> Self {
        Self {
            log_host: None,
            path,
            generation: 7,
            offset: 0,
            lines_before: 0,
            text: lines.concat(),
        }
    }

    fn source(&self) -> SourceInfo {
        SourceInfo::new(self.path.into(), self.generation, Vec::new()).with_host(self.log_host)
    }
}

/// The input of a report on these pieces; pieces of one log are one input.
struct Scanned {
    tally: Tally,
    sources: Vec<SourceInfo>,
    inputs: Vec<InputSummary>,
    allow: AllowList,
}

fn scan(pieces: &[Piece]) -> Scanned {
    let asked = ScanOptions {
        windows: true,
        ..ScanOptions::default()
    };
    let line_scanner = LineScanner::new(rules(), &asked);
    let (mut worker_state, mut tally, mut sources, mut inputs) = (
        WorkerState::default(),
        Tally::default(),
        Vec::<SourceInfo>::new(),
        Vec::<InputSummary>::new(),
    );
    for piece in pieces {
        let source = piece.source();
        let at = sources
            .iter()
            .position(|known| *known == source)
            .unwrap_or_else(|| {
                sources.push(source.clone());
                inputs.push(InputSummary {
                    path: source.path.clone(),
                    log_host: piece.log_host.map(str::to_owned),
                    ..InputSummary::default()
                });
                sources.len() - 1
            });
        let findings = line_scanner.scan(piece.text.as_bytes(), &mut worker_state);
        tally.add_findings(
            &findings,
            LinePosition {
                input: at as u32,
                chunk: piece.offset,
                offset: 0,
                line: piece.lines_before,
            },
        );
        let input = &mut inputs[at];
        input.counts.bytes += piece.text.len() as u64;
        input.counts.lines += findings.lines.lines;
        input.counts.parsed += findings.lines.parsed();
        for (sum, lines) in input.formats.iter_mut().zip(findings.lines.parsed) {
            *sum += lines;
        }
        input.format = LogFormat::most_frequent(&input.formats, &input.others);
        input.counts.unparsed += findings.lines.unparsed;
        input.counts.requests += findings.requests();
        (input.first_time, input.last_time) =
            union_span(input.first_time.zip(input.last_time), findings.times).unzip();
    }
    Scanned {
        tally: tally.with_names(worker_state.names),
        sources,
        inputs,
        allow: AllowList::default(),
    }
}

fn with_report<R>(
    rules: &RuleSet,
    scanned: &Scanned,
    use_it: impl FnOnce(&ReportModel<'_>) -> R,
) -> R {
    let report_input = fixture::report_input(
        rules,
        &scanned.tally,
        &scanned.sources,
        &scanned.inputs,
        &scanned.allow,
    );
    let analysis = LogAnalysis::new(&report_input);
    use_it(&build(&analysis, RowSelection::COMPLETE))
}

fn printed(rules: &RuleSet, scanned: &Scanned, format: OutputFormat, by: GroupBy) -> String {
    let view = RenderOptions {
        format,
        by: Some(by),
        ..RenderOptions::default()
    };
    let mut out = Vec::new();
    with_report(rules, scanned, |report| render(report, &view, &mut out)).unwrap();
    String::from_utf8(out).unwrap()
}

fn json(scanned: &Scanned) -> String {
    printed(rules(), scanned, OutputFormat::Json, GroupBy::Pair)
}

/// Merges reports in JSON.
fn merged(reports: &[String]) -> Scanned {
    from_merged(merger(rules(), reports).finish(|_| false).unwrap())
}

/// Merges two halves of the reports, and joins them.
fn joined(reports: &[String]) -> Scanned {
    let [first, second] =
        <[_; 2]>::from(reports.split_at(reports.len() / 2)).map(|half| merger(rules(), half));
    from_merged(
        first
            .join(second)
            .unwrap()
            .unwrap()
            .finish(|_| false)
            .unwrap(),
    )
}

fn merger<'r>(rules: &'r RuleSet, reports: &[String]) -> ReportMerger<'r> {
    let mut merger = ReportMerger::new(rules);
    for report in reports {
        merger.add(read(report.as_bytes(), rules).unwrap()).unwrap();
    }
    merger
}

fn from_merged(whole: MergedReport) -> Scanned {
    let MergedReport {
        tally,
        sources,
        inputs,
        allow,
        rules,
        ..
    } = whole;
    assert!(rules.is_none(), "all rules are known");
    Scanned {
        tally,
        sources,
        inputs,
        allow,
    }
}

/// Each byte of a report and of a partial report, in turn: refused, or the same report, and never
/// another one.
#[test]
fn a_flipped_bit_never_gives_another_report() {
    let line = |client: &str| {
        format!(
            "{client} - - [10/Nov/2026:10:00:00 +0000] \"GET /.env HTTP/1.1\" 200 512 \"-\" \"curl/8\"\n"
        )
    };
    let scanned = scan(&[Piece::new(
        "a.log",
        &["192.0.2.1", "2001:db8::1", "192.0.2.2"].map(line),
    )]);
    let (mut json, mut partial) = (Vec::new(), Vec::new());
    let view = RenderOptions {
        format: OutputFormat::Json,
        ..RenderOptions::default()
    };
    with_report(rules(), &scanned, |report| {
        let report = ReportModel {
            log_host: Some("web1".into()),
            period: Some("2026-11-10".into()),
            ..report.clone()
        };
        render(&report, &view, &mut json)?;
        write_partial(&report, &mut partial)
    })
    .unwrap();
    let merged = |bytes: &[u8]| {
        let mut merger = ReportMerger::new(rules());
        merger.add(read(bytes, rules()).ok()?).ok()?;
        let whole = merger.finish(|_| false).ok()?;
        let others: Vec<_> = whole
            .rules
            .iter()
            .flat_map(RuleSet::rules)
            .map(|rule| rule.id.clone())
            .collect();
        let MergedReport {
            tally,
            sources,
            inputs,
            allow,
            ..
        } = whole;
        Some((
            others,
            printed(
                rules(),
                &Scanned {
                    tally,
                    sources,
                    inputs,
                    allow,
                },
                OutputFormat::Csv,
                GroupBy::Pair,
            ),
        ))
    };
    for bytes in [json, partial] {
        let whole = merged(&bytes).unwrap();
        let flipped = (0..bytes.len()).map(|at| {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            (at, merged(&flipped))
        });
        let refused = flipped.filter(|(at, report)| {
            assert!(
                report.as_ref().is_none_or(|report| *report == whole),
                "byte {at} of {}",
                String::from_utf8_lossy(&bytes)
            );
            report.is_none()
        });
        assert!(refused.count() > 100);
    }
}

/// A log line that may match.
fn line() -> impl Strategy<Value = String> {
    let target = prop::sample::select(vec![
        "/",
        "/index.html",
        "/.env",
        "/.git/config",
        "/wp-login.php",
        "/wp-content/themes/x/style.css",
        "/wp-includes/js/jquery.js",
        "/wp-admin/",
        "/phpinfo.php",
        "/backup.sql",
        "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
        "/?id=1+union+select+1",
        "/cgi-bin/.%2e/.%2e/bin/sh",
        "/actuator/env",
        "/.aws/credentials",
        "/server-status",
        "/.env?token=abcdefgh",
        "/xmlrpc.php",
        "/.git/config%00",
        "/a/../.env",
        "/.git/\\xff",
        "/shell.php?password=a%26b",
    ]);
    let status = prop::sample::select(vec!["200", "200", "200", "404", "403", "301", "-", "500"]);
    let client = prop::sample::select(vec![
        "192.0.2.1",
        "192.0.2.2",
        "2001:db8::7",
        "host.example",
        "198.51.100.9",
    ]);
    let host = prop::sample::select(vec![
        "",
        "",
        "shop.example:443 ",
        "Blog.Example:80 ",
        "token=abc:80 ",
    ]);
    let agent = prop::sample::select(vec![
        "Mozilla/5.0",
        "curl/8",
        "-",
        "x?password=hunter2",
        "sqlmap/1.8",
    ]);
    let size = prop::sample::select(vec![512_u32, 512, 512, 7, 8, 9]);
    let day = prop::sample::select(vec![
        "02/Nov/2026:08:01",
        "02/Nov/2026:08:01",
        "02/Nov/2026:08:03",
        "02/Nov/2026:11:59",
        "19/Dec/2026:08:01",
    ]);
    (client, host, target, status, agent, size, 0_u32..60, day).prop_map(|(client, host, target, status, agent, size, second, day)| {
        if agent == "curl/8" && second % 7 == 0 {
            return format!("{client} no log line at all {target}\n");
        }
        format!("{host}{client} - - [{day}:{second:02} +0100] \"GET {target} HTTP/1.1\" {status} {size} \"-\" \"{agent}\"\n")
    })
}

/// Logs in pieces: several logs of several hosts, and one log in several pieces.
fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let logs = [
        (None, "a.log"),
        (None, "a.log.1"),
        (None, "b.log"),
        (Some("web1"), "a.log"),
        (Some("web2"), "a.log"),
    ];
    let one = (
        prop::sample::select(logs.to_vec()),
        prop::collection::vec(line(), 0..25),
    );
    prop::collection::vec(one, 1..7).prop_map(|each| {
        let mut pieces: Vec<Piece> = Vec::new();
        for ((log_host, path), lines) in each {
            let before = pieces
                .iter()
                .rev()
                .find(|piece| (piece.log_host, piece.path) == (log_host, path));
            let (offset, lines_before) = before.map_or((0, 0), |piece| {
                (
                    piece.offset + piece.text.len() as u64,
                    piece.lines_before + piece.text.lines().count() as u64,
                )
            });
            pieces.push(Piece {
                log_host,
                offset,
                lines_before,
                ..Piece::new(path, &lines)
            });
        }
        pieces
    })
}

/// The sums of the timeline are the totals, by outcome, and all hits with a time have an hour.
fn check_timeline(report: &str) {
    let report: serde_json::Value = serde_json::from_str(report).unwrap();
    let buckets = report["timeline"].as_array().unwrap();
    let sum = |key: &dyn Fn(&serde_json::Value) -> u64| buckets.iter().map(key).sum::<u64>();
    assert_eq!(
        sum(&|bucket| bucket["hits"].as_u64().unwrap()),
        report["totals"]["hits"]
    );
    for (outcome, hits) in report["totals"]["outcomes"].as_object().unwrap() {
        assert_eq!(
            sum(&|bucket| bucket["by_outcome"][outcome].as_u64().unwrap()),
            *hits,
            "{outcome}"
        );
    }
    let timed = sum(&|bucket| {
        if bucket["from"].is_null() {
            0
        } else {
            bucket["hits"].as_u64().unwrap()
        }
    });
    let hours = report["hours"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|day| day.as_array().unwrap());
    assert_eq!(hours.map(|hits| hits.as_u64().unwrap()).sum::<u64>(), timed);
    assert!(buckets.len() <= 401, "{}", buckets.len());
}

/// The inputs in the order of a merged report.
fn sorted(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.sort_by_key(|piece| (piece.log_host, piece.path));
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_split_order_and_grouping_merges_to_the_whole(pieces in pieces(), order in any::<u64>(), cut in any::<prop::sample::Index>()) {
        let whole = scan(&sorted(pieces.clone()));
        let mut parts: Vec<String> = pieces.iter().map(|piece| json(&scan(std::slice::from_ref(piece)))).collect();
        let turn = order as usize % parts.len();
        parts.rotate_left(turn);
        if order % 2 == 0 {
            parts.reverse();
        }
        let at = cut.index(parts.len() + 1);
        let groups: Vec<String> = [&parts[..at], &parts[at..]].iter().filter(|group| !group.is_empty()).map(|group| json(&merged(group))).collect();
        for result in [merged(&parts), merged(&groups), joined(&parts)] {
            prop_assert_eq!(json(&result), json(&whole));
            check_timeline(&json(&result));
            for by in [GroupBy::Pair, GroupBy::Client, GroupBy::Path, GroupBy::Rule] {
                prop_assert_eq!(printed(rules(), &result, OutputFormat::Csv, by), printed(rules(), &whole, OutputFormat::Csv, by));
            }
        }
    }

    #[test]
    fn adding_a_report_equals_writing_and_reading_it(pieces in pieces()) {
        let parts: Vec<Scanned> = pieces.iter().map(|piece| scan(std::slice::from_ref(piece))).collect();
        let written: Vec<String> = parts.iter().map(json).collect();
        let mut merger = ReportMerger::new(rules());
        for (number, part) in parts.iter().enumerate() {
            if number % 2 == 0 {
                with_report(rules(), part, |report| merger.add_report(report)).unwrap();
            } else {
                merger.add(read(written[number].as_bytes(), rules()).unwrap()).unwrap();
            }
        }
        prop_assert_eq!(json(&from_merged(merger.finish(|_| false).unwrap())), json(&merged(&written)));
    }
}

#[test]
fn hits_without_a_time_are_the_last_bucket() {
    let lines = [
        "192.0.2.1 - - [02/Nov/2026:08:01:00 +0100] \"GET /.env HTTP/1.1\" 404 7 \"-\" \"-\"\n",
        "192.0.2.1 - - [-] \"GET /.env HTTP/1.1\" 404 7 \"-\" \"-\"\n",
        "192.0.2.2 no log line /.git/config\n",
    ];
    let report = json(&scan(&[Piece::new("a.log", &lines.map(str::to_owned))]));
    check_timeline(&report);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let ends: Vec<_> = report["timeline"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| (&bucket["from"], &bucket["to"]))
        .collect();
    assert_eq!(ends.first().unwrap().0, "2026-11-02T07:01:00Z");
    assert!(ends.last().unwrap().0.is_null() && ends.last().unwrap().1.is_null());
    assert_eq!(report["hours"][0][8], 1);
}

/// The rows of a report, sorted, without separators.
fn rows(text: &str) -> Vec<String> {
    let mut rows: Vec<String> = text
        .lines()
        .map(|line| line.trim_end_matches(',').to_owned())
        .collect();
    rows.sort();
    rows
}

fn get(client: &str, target: &str, status: u16, bytes: u32) -> String {
    format!(
        "{client} - - [02/Nov/2026:08:01:00 +0000] \"GET {target} HTTP/1.1\" {status} {bytes} \"-\" \"x\"\n"
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// Paths with a secret are sorted by the logged text first and by the redacted text after a
    /// merge, so rows that are equal in all else may swap.
    #[test]
    fn paths_with_secrets_merge_to_the_same_rows(lines in prop::collection::vec((0_u8..3, 0_u8..4, prop::bool::ANY), 1..40), cut in any::<prop::sample::Index>()) {
        let line = |(client, secret, answered): &(u8, u8, bool)| {
            let target = format!("/.git/reset-password/0123456789abcdef012{secret}/.git/config");
            get(&format!("192.0.2.{client}"), &target, if *answered { 200 } else { 404 }, 9)
        };
        let lines: Vec<String> = lines.iter().map(line).collect();
        let at = cut.index(lines.len());
        let pieces = [Piece::new("a.log", &lines[..at]), Piece { generation: 8, ..Piece::new("b.log", &lines[at..]) }];
        let whole = scan(&pieces);
        let parts: Vec<String> = pieces.iter().rev().map(|piece| json(&scan(std::slice::from_ref(piece)))).collect();
        let result = merged(&parts);
        prop_assert!(!json(&result).contains("0123456789abcdef"), "no secret is printed");
        prop_assert_eq!(rows(&json(&result)), rows(&json(&whole)));
        prop_assert_eq!(json(&merged(&[json(&result)])), json(&result), "written twice");
        for by in [GroupBy::Pair, GroupBy::Client, GroupBy::Path, GroupBy::Rule] {
            let [result, whole] = [&result, &whole].map(|scanned| rows(&printed(rules(), scanned, OutputFormat::Csv, by)));
            prop_assert_eq!(result, whole);
        }
    }
}

/// The JSON report as a value.
fn value(scanned: &Scanned) -> serde_json::Value {
    serde_json::from_str(&json(scanned)).unwrap()
}

const PROBES: [&str; 6] = [
    "/.env",
    "/.git/config",
    "/phpinfo.php",
    "/backup.sql",
    "/.aws/credentials",
    "/.svn/entries",
];

#[test]
fn decisions_are_made_again_for_the_whole() {
    let probes: Vec<String> = PROBES
        .iter()
        .map(|probe| get("192.0.2.1", probe, 200, 512))
        .collect();
    let parts: Vec<String> = ["access.log", "access.log.1", "access.log.2"]
        .iter()
        .zip(probes.chunks(2))
        .map(|(path, lines)| json(&scan(&[Piece::new(path, lines)])))
        .collect();
    for part in &parts {
        let part: serde_json::Value = serde_json::from_str(part).unwrap();
        assert_eq!(
            (&part["totals"]["answered"], &part["totals"]["uncertain"]),
            (&0.into(), &2.into())
        );
    }
    // A log and its rotated siblings are one site.
    let apart = value(&merged(&parts));
    assert_eq!(
        (&apart["totals"]["answered"], &apart["totals"]["soft_404"]),
        (&0.into(), &6.into())
    );
    // A log that is read in parts is one site.
    let one: Vec<String> = probes
        .chunks(2)
        .map(|lines| json(&scan(&[Piece::new("access.log", lines)])))
        .collect();
    let one = value(&merged(&one));
    assert_eq!(
        (&one["totals"]["answered"], &one["totals"]["soft_404"]),
        (&0.into(), &6.into())
    );
    assert_eq!(one["soft_404"][0]["paths"], 6);
}

#[test]
fn logs_of_one_name_on_two_hosts_stay_separate() {
    let probes: Vec<String> = PROBES
        .iter()
        .map(|probe| get("192.0.2.1", probe, 200, 512))
        .collect();
    let on = |log_host, lines| Piece {
        log_host,
        ..Piece::new("access.log", lines)
    };
    let parts = [
        on(Some("web1"), &probes[..3]),
        on(Some("web2"), &probes[3..]),
    ]
    .map(|piece| json(&scan(&[piece])));
    let both = value(&merged(&parts));
    assert_eq!(
        (
            &both["totals"]["soft_404"],
            both["inputs"].as_array().unwrap().len()
        ),
        (&6.into(), 2)
    );
    assert_eq!(
        (
            &both["inputs"][0]["log_host"],
            &both["inputs"][1]["log_host"]
        ),
        (&"web1".into(), &"web2".into())
    );
    assert_eq!(
        both["clients"][0]["sample"]["log_host"], "web2",
        "the host of its most severe probe"
    );
    let unnamed =
        [on(None, &probes[..3]), on(None, &probes[3..])].map(|piece| json(&scan(&[piece])));
    let one = value(&merged(&unnamed));
    assert_eq!(
        (
            &one["totals"]["soft_404"],
            one["inputs"].as_array().unwrap().len()
        ),
        (&6.into(), 1)
    );
    assert_eq!(one["inputs"][0].get("log_host"), None);
}

const OWN: &str = r#"
[[rule]]
id = "own/admin"
title = "Our old admin"
class = "panel"
severity = "high"
cve = ["CVE-2030-0001"]
paths = ["/old-admin"]

[[rule]]
id = "own/guess"
title = "Guesses"
class = "exposure"
severity = "medium"
paths = ["/guess"]
with_client = { distinct_paths = 2, classes = ["panel", "backup"] }

[[rule]]
id = "zz/key"
title = "Key"
class = "backup"
severity = "low"
paths = ["/key"]
"#;

#[test]
fn unknown_rules_are_taken_from_the_report() {
    let file = std::path::Path::new("own.toml");
    let own = crate::rules::check(file, OWN).unwrap();
    let (_, last) = OWN.rsplit_once("\n\n").unwrap();
    let fewer = crate::rules::check(file, last).unwrap();
    let asked = ScanOptions::default();
    let mut worker_state = WorkerState::default();
    let log: String = ["/old-admin", "/key", "/guess", "/other"]
        .map(|target| get("192.0.2.1", target, 200, 512))
        .concat();
    let findings = LineScanner::new(&own, &asked).scan(log.as_bytes(), &mut worker_state);
    let mut tally = Tally::default();
    tally.add_findings(
        &findings,
        LinePosition {
            input: 0,
            chunk: 0,
            offset: 0,
            line: 0,
        },
    );
    let inputs = vec![InputSummary {
        path: b"a.log".to_vec(),
        counts: LineTotals {
            lines: 4,
            parsed: 4,
            ..LineTotals::default()
        },
        formats: [4, 0, 0],
        format: Some("combined".into()),
        ..InputSummary::default()
    }];
    let sources = vec![SourceInfo::new(b"a.log".to_vec(), 7, Vec::new())];
    let scanned = Scanned {
        tally: tally.with_names(worker_state.names),
        sources,
        inputs,
        allow: AllowList::default(),
    };
    let written = printed(&own, &scanned, OutputFormat::Json, GroupBy::Pair);
    let report_by = |rules: &RuleSet, is_joined: bool, is_left_out: &dyn Fn(&Rule) -> bool| {
        let half = || merger(rules, std::slice::from_ref(&written));
        let merged = if is_joined {
            ReportMerger::new(rules).join(half()).unwrap().unwrap()
        } else {
            half()
        };
        let MergedReport {
            rules: more,
            tally,
            sources,
            inputs,
            allow,
            unknown_rules,
            ..
        } = merged.finish(is_left_out).unwrap();
        (
            printed(
                more.as_ref().unwrap_or(rules),
                &Scanned {
                    tally,
                    sources,
                    inputs,
                    allow,
                },
                OutputFormat::Json,
                GroupBy::Pair,
            ),
            unknown_rules,
        )
    };
    assert_eq!(
        report_by(&own, false, &|_| false),
        (written.clone(), vec![])
    );
    for is_joined in [false, true] {
        let (by_fewer, unknown) = report_by(&fewer, is_joined, &|_| false);
        assert_eq!(by_fewer, written);
        assert_eq!(unknown, ["own/admin", "own/guess"]);
    }
    let (left, unknown) = report_by(&fewer, false, &|rule| rule.class == "panel");
    assert_eq!(unknown, ["own/guess"]);
    let left: serde_json::Value = serde_json::from_str(&left).unwrap();
    assert_eq!(
        left["rules"].as_array().unwrap().len(),
        1,
        "without the panel rule the client requests too few paths for the other: {left}"
    );
    assert_eq!(
        (
            &left["totals"]["hits"],
            &left["clients"][0]["other_requests"]
        ),
        (&1.into(), &3.into())
    );
}

#[test]
fn allowed_requests_add_up_by_entry() {
    let with = |entries: &[(&str, usize, u64)]| {
        let mut scanned = scan(&[Piece::new("a.log", &[get("192.0.2.1", "/.env", 404, 9)])]);
        scanned.allow = AllowList::from_report(
            entries
                .iter()
                .map(|(file, line, _)| ((*file).to_owned(), *line, "ours".to_owned())),
        );
        for (entry, (.., requests)) in (0..).zip(entries) {
            scanned.tally.insert_allowed(entry, *requests);
        }
        json(&scanned)
    };
    let parts = [
        with(&[("b.toml", 1, 5)]),
        with(&[("a.toml", 9, 1), ("b.toml", 1, 2)]),
        with(&[("a.toml", 3, 0)]),
    ];
    let all = value(&merged(&parts));
    assert_eq!(value(&joined(&parts)), all);
    let rows: Vec<_> = all["allowed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["file"].as_str().unwrap(),
                row["line"].as_u64().unwrap(),
                row["requests"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(rows, [("a.toml", 3, 0), ("a.toml", 9, 1), ("b.toml", 1, 7)]);
}

#[test]
fn each_problem_of_an_input_is_listed_once() {
    let part = |path, problem: Option<&str>| {
        let mut scanned = scan(&[Piece::new(path, &[get("192.0.2.1", "/.env", 404, 9)])]);
        scanned.inputs[0].problem = problem.map(str::to_owned);
        json(&scanned)
    };
    let parts = [
        part("a.log", Some("torn")),
        part("a.log", None),
        part("a.log", Some("odd")),
        part("a.log", Some("torn")),
        part("b.log", None),
    ];
    let whole = merged(&parts);
    assert_eq!(
        whole
            .inputs
            .iter()
            .map(|input| input.problem.as_deref())
            .collect::<Vec<_>>(),
        [Some("odd; also: torn"), None]
    );
    let grouped = merged(&[json(&merged(&parts[..3])), json(&merged(&parts[3..]))]);
    assert_eq!(json(&grouped), json(&whole));
}
