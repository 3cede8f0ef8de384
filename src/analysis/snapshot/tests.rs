//! Untrusted reports are decoded, or rejected with a reason.

use std::io::{Read, Write};

use proptest::prelude::*;

use crate::analysis::fixture;
use crate::analysis::snapshot::frame::{FrameReader, FrameWriter, packed};
use crate::analysis::snapshot::*;
use crate::render::{OutputFormat, RenderOptions, render};
use crate::rules::{RuleChoice, load};
use crate::tally::Budget;

/// A document with this snapshot.
fn document(evidence: &str) -> String {
    format!("{{\"schema_version\": 8, \"generated_by\": \"probewatch 1.2.3\", \"inputs\": [], \"evidence\": {evidence}}}\n")
}

const RULES: &str = r#"[
    {"id":"dotfiles/env","title":"Environment file","class":"exposure","severity":"high","exposes":true,"with_client":null,"window":false,"unless_app":[],"is_app_evidence":false,"subject":"path","cve":[]},
    {"id":"later/unheard-of","title":"Later","class":"cve","severity":"critical","exposes":true,"with_client":[3,["cve"]],"window":false,"unless_app":["wordpress"],"is_app_evidence":false,"subject":"product","cve":["CVE-2030-1"]}]"#;
const INPUTS: &str = r#"[{"log_host":null,"path":"a.log","bytes":9,"lines":1,"parsed":1,"formats":[1,0,0],"unparsed":0,"oversized":0,"skipped":0,"pending":0,"requests":1,"times":[[1793577600,60],[1793577600,60]],"problem":null}]"#;
const CELL: &str = r#"[0,0,0,200,0,1,true,true,0,512,0,3,0,[[1793577600,60],[1793577600,60]],[[1793577600,60],"00000000000000ff",0,1,"/.env?x",null,"curl"]]"#;

fn lists() -> Vec<(&'static str, String)> {
    vec![
        ("rules", RULES.into()),
        ("inputs", INPUTS.into()),
        ("hosts", r#"["","shop.example"]"#.into()),
        ("clients", r#"[["192.0.2.1",1,0]]"#.into()),
        ("paths", r#"["/.env"]"#.into()),
        ("lists", "[[0,1]]".into()),
        ("cells", format!("[{CELL}]")),
        ("minutes", "[[0,null,0,29892960,3],[null,0,0,29892960,2]]".into()),
        ("uncounted", "0".into()),
        ("app_evidence", "[]".into()),
        ("home_pages", "[[null,1,[512,7]]]".into()),
        ("site_paths", r#"[[0,null,"00000000000000ff",[5,1,0,1,4,false],[0,1],1,[[512,0]],[],[],[7],[[499000,499001],null]]]"#.into()),
        ("allowed", r#"[["allow.toml",3,"ours",2]]"#.into()),
        ("without_time", "4".into()),
    ]
}

/// The same for a tally that is not exact.
fn bounded_lists() -> Vec<(&'static str, String)> {
    let rest = |cell: &str, client: &str, path: &str| cell.replacen("[0,0", &format!("[{client},{path}"), 1).replacen("\"curl\"", "0", 1);
    let overflow = CELL.replacen("200,0,1,true,true,0,512,0,3", "200,0,null,true,false,0,null,0,2", 1).replacen("\"curl\"", "0", 1);
    let cells = [CELL.to_owned(), rest(CELL, "0", "null"), rest(CELL, "null", "null"), rest(CELL, "null", "0"), overflow];
    let mut lists = lists();
    lists.iter_mut().find(|(known, _)| *known == "cells").unwrap().1 = format!("[{}]", cells.join(",").replace("512,0,3,0", "512,0,3,5"));
    lists.push(("floor", r#"{"pairs":7,"clients":8,"requests":9,"paths":10}"#.into()));
    lists.push(("client_errors", "[[0,4,6]]".into()));
    lists.push(("path_errors", "[[0,2]]".into()));
    lists
}

fn written(lists: &[(&str, String)]) -> String {
    let lists: Vec<String> = lists.iter().map(|(name, list)| format!("\"{name}\":{list}")).collect();
    document(&format!("{{{}}}", lists.join(",")))
}

/// The same with another text for one list.
fn with(name: &str, text: &str) -> String {
    let mut lists = lists();
    lists.iter_mut().find(|(known, _)| *known == name).unwrap().1 = text.into();
    written(&lists)
}

fn builtin() -> &'static crate::rules::RuleSet {
    static SET: std::sync::LazyLock<crate::rules::RuleSet> = std::sync::LazyLock::new(|| load(&RuleChoice::default()).unwrap());
    &SET
}

fn rejection(text: &str) -> String {
    read(text.as_bytes(), builtin()).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_snapshot_is_decoded() {
    let evidence = read(written(&lists()).as_bytes(), builtin()).unwrap();
    assert_eq!(evidence.unknown_rules.iter().map(|rule| rule.id.as_str()).collect::<Vec<_>>(), ["later/unheard-of"]);
    assert_eq!((evidence.tally.len(), evidence.without_time, evidence.inputs.len()), (1, 4, 1));
    assert_eq!(evidence.inputs[0].format.as_deref(), Some("combined"));
    let view = evidence.tally.cells().next().unwrap();
    let cell = view.cell;
    assert_eq!((view.status, view.bytes, cell.hits), (Some(200), Some(512), 3));
    assert_eq!(evidence.tally.path(view.path), b"/.env");
    let crate::tally::SampleContentView::Imported(sample) = view.sample().content else { panic!("{cell:?}") };
    assert_eq!((sample.generation, sample.line, &*sample.target), (255, 1, &b"/.env?x"[..]));
    assert_eq!((sample.host.as_deref(), sample.user_agent.as_deref()), (Some(&b"shop.example"[..]), Some(&b"curl"[..])));
    assert_eq!(evidence.allowed, [AllowOrigin { file: "allow.toml".into(), line: 3, reason: "ours".into() }]);
}

#[test]
fn error_bounds_are_decoded() {
    let tally = read(written(&bounded_lists()).as_bytes(), builtin()).unwrap().tally;
    let errors: Vec<_> = tally.cells().map(|view| (view.is_other(), view.error())).collect();
    assert_eq!(errors, [(false, 5), (true, 0), (true, 0)], "evicted hits are complete");
    assert_eq!(tally.path_cells().map(|view| (tally.path(view.path), view.cell.hits)).collect::<Vec<_>>(), [(&b"/.env"[..], 3)]);
    let overflow: Vec<_> = tally.overflow_cells().map(|view| (view.client, view.path, view.status, view.bytes, view.cell.hits)).collect();
    assert_eq!(overflow, [(0, 0, Some(200), None, 2)]);
    let count = tally.client_counts()[0];
    assert_eq!((count.requests, count.error, count.missed, tally.path_error(0)), (1, 4, 6, 2));
    assert_eq!(tally.error_floor(), crate::tally::ErrorFloor { pairs: 7, clients: 8, requests: 9, paths: 10 });
    assert_eq!(tally.error_bound().unwrap().rest_hits, 4, "two are in the overflow");
}

#[test]
fn invalid_bounds_are_rejected() {
    let with = |name: &str, text: &str| {
        let mut lists = bounded_lists();
        lists.iter_mut().find(|(known, _)| *known == name).unwrap().1 = text.into();
        written(&lists)
    };
    let without = |name: &str| written(&bounded_lists().into_iter().filter(|(known, _)| *known != name).collect::<Vec<_>>());
    let cases = [
        (with("floor", r#"{"pairs":18446744073709551615,"clients":8,"requests":9,"paths":10}"#), "more than any log"),
        (with("floor", "[]"), "is damaged"),
        (with("client_errors", "[[1,4,6]]"), "client 1"),
        (with("client_errors", "[[4294967295,4,6]]"), "client 4294967295"),
        (with("client_errors", "[[0,1125899906842624,6]]"), "more than any log"),
        (with("path_errors", "[[1,2]]"), "path 1"),
        (with("path_errors", "[[0,18446744073709551615]]"), "more than any log"),
        (without("path_errors"), "'path_errors' is missing"),
        (without("client_errors"), "'path_errors' is in the wrong place"),
        (without("floor"), "'client_errors' is in the wrong place"),
        (written(&bounded_lists()).replacen("[0,null,", "[4294967295,null,", 1), "client 4294967295"),
        (written(&bounded_lists()).replacen("[0,null,", "[-1,null,", 1), "is damaged"),
        (written(&bounded_lists()).replace("\"/.env?x\"", "null"), "without a target"),
        (written(&bounded_lists()).replacen("[null,null,0,200,0,1,", "[null,null,0,200,0,null,", 1), "without a host, a client and a path"),
        (written(&bounded_lists()).replacen("3,5,[[", "3,18446744073709551615,[[", 1), "more than any log"),
    ];
    for (text, expected) in cases {
        let error = rejection(&text);
        assert!(error.contains("is damaged") && error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn compressed_evidence_is_as_good_as_lists_and_checked_like_them() {
    let pack = |text: &str| {
        let mut frame = Vec::with_capacity(1 << 20);
        zstd_safe::compress(&mut frame, text.as_bytes(), 1).unwrap();
        format!("\"{}\"", base64::Engine::encode(&base64::engine::general_purpose::STANDARD, frame))
    };
    let plain = |lists: &[(&str, String)]| {
        let lists: Vec<String> = lists.iter().map(|(name, list)| format!("\"{name}\":{list}")).collect();
        format!("{{{}}}", lists.join(","))
    };
    let with_rules = |packed: &str| document(&format!("{{\"rules\":{RULES},\"packed\":{packed}}}"));
    let decoded = |text: &str| {
        let ReportSnapshot { inputs, allowed, tally, without_time, unknown_rules, .. } = read(text.as_bytes(), builtin()).unwrap();
        (inputs, allowed, tally.len(), without_time, unknown_rules.len())
    };
    let others = plain(&lists()[1..]);
    let packed = pack(&others);
    assert_eq!(decoded(&with_rules(&packed)), decoded(&document(&plain(&lists()))));
    let cases = [
        (pack("{}"), "the list 'inputs' is missing"),
        (pack(&plain(&lists())), "the list 'rules' is in the wrong place"),
        (pack(&format!("{{\"packed\":{packed}}}")), "the list 'inputs' is missing"),
        (pack(&format!("{others} 1")), "trailing characters"),
        (format!("0,\"packed\":{packed}"), "is damaged"),
        (pack("[]"), "is damaged"),
        (pack(""), "is damaged"),
        (packed.replacen('"', "\"A", 1), "is damaged"),
        (format!("{}\"", &packed[..packed.len() / 2]), "is damaged"),
        ("\"%%%\"".into(), "is damaged"),
        (pack(&" ".repeat(20 << 20)), "far larger"),
    ];
    for (text, expected) in cases {
        let error = rejection(&with_rules(&text));
        assert!(error.contains("is damaged") && error.contains(expected), "{error}");
    }
    assert!(rejection(&document(&format!("{{\"packed\":{packed}}}"))).contains("the list 'rules' is missing"));
    assert!(rejection(&document(&packed)).contains("is damaged"));
}

/// A client chooses its requests, and so how well they compress.
#[test]
fn text_is_read_again_however_much_smaller_its_compressed_data_could_be() {
    let row = |n: usize| format!("GET /{n}{} HTTP/1.1", "y".repeat(8_000));
    let alike: Vec<_> = (0..1_500).map(row).collect();
    // Some of them hardly compress.
    let numbers =
        |n: usize| (0..2_000_u64).map(|at| ((n as u64 * 2_000 + at).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40).to_string()).collect();
    let mixed = (0..1_500).map(|n| if n / 100 % 5 == 4 { numbers(n) } else { row(n) }).collect();
    for rows in [alike, mixed, vec!["y".repeat(30 << 20)]] {
        let text = serde_json::to_vec(&rows).unwrap();
        assert!(text.len() > 10 << 20, "less than a reader allows in any case");
        let in_base64 = packed(&rows).unwrap();
        for level in [1, 9] {
            let mut frame = Vec::new();
            let mut writer = FrameWriter::new(&mut frame, level).unwrap();
            writer.write_all(&text).unwrap();
            writer.finish().unwrap();
            let mut again = Vec::new();
            FrameReader::new(frame.as_slice()).read_to_end(&mut again).unwrap();
            assert!(again == text);
            // The ratio of this text without the limit is above 5,000.
            assert!(text.len() / frame.len() < 1_000, "{} bytes as {}", text.len(), frame.len());
        }
        let mut again = Vec::new();
        unpack(&in_base64).read_to_end(&mut again).unwrap();
        assert!(again == text);
    }
}

#[test]
fn foreign_and_damaged_files_have_different_errors() {
    let cases = [
        (String::new(), "is no report"),
        ("not json".into(), "is no report"),
        ("{}".into(), "is no report"),
        ("[1,2]".into(), "is no report"),
        ("{\"schema_version\":8,\"generated_by\":\"goaccess 1.7\"}".into(), "is no report"),
        ("{\"evidence\":{}}".into(), "is no report"),
        (
            "{\"schema_version\":1,\"generated_by\":\"probewatch 0.1\"}".into(),
            "schema_version 1, and this probewatch reads 8; scan the logs again",
        ),
        ("{\"schema_version\":9,\"generated_by\":\"probewatch 9\"}".into(), "schema_version 9"),
        (document("null"), "--top"),
        (document("{}"), "the list 'rules' is missing"),
        (document("[]"), "is damaged"),
        (document("null").replace("\"inputs\": []", "\"evidence\": null"), "is damaged"),
        (written(&lists()).replace("}\n", ""), "is damaged"),
        (format!("{}x", written(&lists())), "is damaged"),
    ];
    for (text, expected) in cases {
        let error = rejection(&text);
        assert!(error.contains(expected), "{text}: {error}");
    }
    let mut turned = lists();
    turned.swap(3, 4);
    assert!(rejection(&written(&turned)).contains("'paths' is in the wrong place"));
}

#[test]
fn invalid_rows_are_rejected() {
    let cell = |from: &str, to: &str| with("cells", &format!("[{}]", CELL.replacen(from, to, 1)));
    let cases = [
        (cell("[0,0,0", "[1,0,0"), "client 1"),
        (cell("[0,0,0", "[0,1,0"), "path 1"),
        (cell("[0,0,0", "[0,0,4294967295"), "list of rules 4294967295"),
        (cell("200,0,1", "200,1,1"), "input 1"),
        (cell("200,0,1", "200,0,2"), "host 2"),
        (cell("200", "99999"), "is damaged"),
        (cell("[1793577600,60]", "[9223372036854775807,60]"), "no time"),
        (cell("[1793577600,60]", "[1793577600,32767]"), "no time"),
        (cell("3,0,[[", "18446744073709551615,0,[["), "more than any log"),
        (cell("\"00000000000000ff\"", "\"xyz\""), "generation"),
        (cell("\"00000000000000ff\"", "7"), "generation 7"),
        (cell("\"00000000000000ff\",0", "\"00000000000000ff\",18446744073709551615"), "out of range"),
        (cell("\"curl\"", "0"), "user agent 0"),
        (cell("\"curl\"", "-1"), "is damaged"),
        (with("lists", "[[2]]"), "rule 2"),
        (with("inputs", &INPUTS.replace("\"lines\":1", "\"lines\":2")), "an input has 2 lines, and its parts have 1"),
        (with("hosts", "[\"shop.example\"]"), "first host"),
        (with("hosts", "[\"\",\"\"]"), "first host"),
        (with("paths", r#"["/a\\x4"]"#), "backslash"),
        (with("rules", &RULES.replace("later/unheard-of", "../\\u001b[2J")), "is no id of a rule"),
        (with("rules", &RULES.replace("\"class\":\"cve\"", "\"class\":\"=cmd,x\"")), "is no class of a rule"),
        (with("app_evidence", "[[9,0,null,[],[]]]"), "rule 9"),
        (with("app_evidence", "[[0,0,null,null,null]]"), "more clients saw an app"),
        (with("home_pages", "[[1,null,[5]]]"), "input 1"),
        (with("home_pages", "[[null,9,[5]]]"), "host 9"),
        (with("home_pages", "[[null,0,[-5]]]"), "is damaged"),
        (with("site_paths", r#"[[0,null,"xyz",[5,1,0,1,4,false],[0],1,[],[],[],[],[null,null]]]"#), "no hash of a path"),
        (with("site_paths", r#"[[0,null,"ff",[5,1,0,1,4,false],[9],1,[],[],[],[],[null,null]]]"#), "rule 9"),
        (with("minutes", "[[9,null,0,29892960,3]]"), "client 9"),
        (with("minutes", "[[null,9,0,29892960,3]]"), "path 9"),
        (with("minutes", "[[0,null,9,29892960,3]]"), "list of rules 9"),
        (with("minutes", "[[0,0,0,29892960,3]]"), "neither those of one client"),
        (with("minutes", "[[0,null,0,9223372036854775807,3]]"), "no time of a log"),
        (with("minutes", "[[0,null,0,29892960,18446744073709551615]]"), "more than any log"),
        (with("uncounted", "18446744073709551615"), "more than any log"),
        (with("rules", &RULES.replace("\"window\":false", "\"window\":true,\"counts\":[\"client\",1,60]")), "no window of a rule"),
        (with("inputs", "[]"), "input 0"),
        (with("without_time", "99999999999999999999"), "is damaged"),
        (with("clients", &format!("[{}]", ["[\"192.0.2.1\",1000000000000000,0]"; 2].join(","))), "more than any log"),
    ];
    for (text, expected) in cases {
        let error = rejection(&text);
        assert!(error.contains("is damaged") && error.contains(expected), "{text}: {error}");
        assert!(!error.contains('\u{1b}'), "{error:?}");
    }
}

#[test]
fn a_report_without_snapshot_is_rejected_and_an_empty_one_is_not() {
    let rules = fixture::rules();
    let mut out = Vec::new();
    render(&fixture::report(rules), &RenderOptions { format: OutputFormat::Json, ..RenderOptions::default() }, &mut out).unwrap();
    assert!(matches!(read(&*out, rules), Err(SnapshotError::Cut)));
    let empty = lists()
        .into_iter()
        .map(|(name, _)| (name, if ["without_time", "uncounted"].contains(&name) { "0".into() } else { "[]".to_owned() }))
        .collect::<Vec<_>>();
    assert!(read(written(&empty).as_bytes(), rules).unwrap().tally.is_empty());
}

proptest! {
    #[test]
    fn damage_is_never_a_panic(is_bounded in any::<bool>(), at in any::<prop::sample::Index>(), length in 0_usize..12, put in prop::sample::select(vec![
        "", "0", "-1", "9", "99999999999", "null", "[", "]", "{}", "\"", "\\", ",", "true", "\u{1b}", "1e308", "\"\\ud800\"", "[[[[",
    ])) {
        let text = written(&if is_bounded { bounded_lists() } else { lists() }).into_bytes();
        let at = at.index(text.len());
        let end = (at + length).min(text.len());
        let damaged = [&text[..at], put.as_bytes(), &text[end..]].concat();
        if let Ok(evidence) = read(&*damaged, builtin()) {
            // What was decoded can be encoded: numbers are in range, and times can be printed.
            let mut merged = Tally::with_budget(Budget { cells: 20, clients: 1, text: usize::MAX });
            merged.merge(evidence.tally.clone());
            let mut small = Tally::with_budget(Budget { cells: 1, clients: 1, text: usize::MAX });
            small.merge(evidence.tally.clone());
            small.merge(merged.clone());
            prop_assert!(small.error_bound().is_some() || small.len() <= 1);
            merged.merge(evidence.tally);
            for view in merged.cells() {
                prop_assert!(view.cell.times().is_none_or(|(first, last)| !first.rfc3339().is_empty() && !last.rfc3339().is_empty()));
            }
        }
    }
}
