//! Untrusted reports are decoded, or rejected with a reason.

use std::io::{Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use crate::render::{OutputFormat, RenderOptions, render};
use crate::report::fixture;
use crate::report::snapshot::frame::{FrameReader, FrameWriter};
use crate::report::snapshot::*;
use crate::rules::{RuleChoice, load};
use crate::tally::Budget;

/// A report with this evidence.
fn document(evidence: &str) -> String {
    format!(
        "{{\"schema_version\": 10, \"generated_by\": \"probewatch 1.2.3\", \"inputs\": [], \"evidence\": {evidence}}}\n"
    )
}

/// Evidence of these rows.
fn packed(rows: &str) -> String {
    let mut frame = Vec::with_capacity(1 << 20);
    zstd_safe::compress(&mut frame, rows.as_bytes(), 1).unwrap();
    format!("{{\"rules\":[],\"packed\":\"{}\"}}", STANDARD.encode(frame))
}

const HEAD: &str = r#"{"head":{"log_host":null,"period":null,"ipv6_prefix":null,"time_unit":60,"has_hours":true,"without_time":4,"days":{"20759":3},"uncounted":0,"floor":null}}"#;
const ENV_RULE: &str = r#"{"rule":{"id":"dotfiles/env","title":"Environment file","class":"exposure","severity":"high","exposes":true,"with_client":null,"window":false,"unless_app":[],"is_app_evidence":false,"subject":"path","cve":[]}}"#;
const LATER_RULE: &str = r#"{"rule":{"id":"later/unheard-of","title":"Later","class":"cve","severity":"critical","exposes":true,"with_client":[3,["cve"]],"window":false,"unless_app":["wordpress"],"is_app_evidence":false,"subject":"product","cve":["CVE-2030-1"]}}"#;
const INPUT: &str = r#"{"input":{"path":"a.log","log_host":null,"bytes":9,"lines":1,"parsed":1,"formats":[1,0,0],"others":[],"unparsed":0,"oversized":0,"skipped":0,"pending":0,"requests":1,"hits":0,"first_time":[1793577600,60],"last_time":[1793577600,60],"problem":null,"warning":null,"skipped_whole":null,"spans":[]}}"#;
const CELL: &str = r#"{"cell":[0,0,0,200,0,1,true,true,0,512,0,3,0,[[1793577600,60],[1793577600,60]],[[1793577600,60],0,0,1,"/.env?x",null,0,null]]}"#;

fn rows() -> Vec<String> {
    let rows = [
        HEAD,
        ENV_RULE,
        LATER_RULE,
        INPUT,
        r#"{"host":""}"#,
        r#"{"host":"shop.example"}"#,
        r#"{"client":["192.0.2.1",1,0]}"#,
        r#"{"path":"/.env"}"#,
        r#"{"list":[0,1]}"#,
        r#"{"generation":255}"#,
        r#"{"agent":"curl"}"#,
        CELL,
        r#"{"minute":[0,null,0,29892960,3]}"#,
        r#"{"minute":[null,0,0,29892960,2]}"#,
        r#"{"home_page":[null,1,[512,7]]}"#,
        r#"{"site_path":[0,null,255,[0,1],{"shape":[5,1,0,1,4,false],"flags":1,"get":[[512,0]],"post":[],"partial":[],"clients":[7],"hours":[[499000,499001],null]}]}"#,
        r#"{"allowed":["allow.toml",3,"ours",2]}"#,
    ];
    rows.map(str::to_owned).to_vec()
}

/// The rows of a tally that is not exact.
fn bounded_rows() -> Vec<String> {
    let cell = CELL.replace("512,0,3,0", "512,0,3,5");
    let rest = |client: &str, path: &str| cell.replacen("[0,0", &format!("[{client},{path}"), 1);
    let overflow = cell.replacen(
        "200,0,1,true,true,0,512,0,3,5",
        "200,0,null,true,false,0,null,0,2,0",
        1,
    );
    let cells = [
        cell.clone(),
        rest("0", "null"),
        rest("null", "null"),
        rest("null", "0"),
        overflow,
    ];
    let mut rows = rows();
    rows[0] = HEAD.replace(
        "\"floor\":null",
        r#""floor":{"pairs":7,"clients":8,"requests":9,"paths":10}"#,
    );
    let at = rows.iter().position(|row| row == CELL).unwrap();
    rows.splice(at..=at, cells);
    rows.extend([
        r#"{"client_error":[0,4,6]}"#.to_owned(),
        r#"{"path_error":[0,2]}"#.to_owned(),
    ]);
    rows
}

fn text(rows: &[String]) -> String {
    rows.iter().flat_map(|row| [row, "\n"]).collect()
}

fn decoded(rows: &[String]) -> Result<ReportSnapshot, SnapshotError> {
    read_rows(text(rows).as_bytes(), builtin())
}

/// These rows with another one for the first row of that kind, which is `{"kind":...}`.
fn with(rows: Vec<String>, kind: &str, row: &str) -> String {
    let mut rows = rows;
    let at = rows
        .iter()
        .position(|known| known.starts_with(&format!("{{\"{kind}\"")))
        .unwrap();
    rows[at] = if row.is_empty() {
        String::new()
    } else {
        format!("{{\"{kind}\":{row}}}")
    };
    rows.retain(|row| !row.is_empty());
    text(&rows)
}

fn builtin() -> &'static crate::rules::RuleSet {
    static SET: std::sync::LazyLock<crate::rules::RuleSet> =
        std::sync::LazyLock::new(|| load(&RuleChoice::default()).unwrap());
    &SET
}

fn rejection(text: &str) -> String {
    read(text.as_bytes(), builtin())
        .map(|_| ())
        .unwrap_err()
        .to_string()
}

/// Why the rows are rejected.
fn rows_rejection(rows: &str) -> String {
    let error = rejection(&document(&packed(rows)));
    assert_eq!(
        read_rows(rows.as_bytes(), builtin())
            .unwrap_err()
            .to_string(),
        error
    );
    error
}

#[test]
fn a_snapshot_is_decoded() {
    let evidence = decoded(&rows()).unwrap();
    assert_eq!(
        evidence
            .unknown_rules
            .iter()
            .map(|rule| rule.id.as_str())
            .collect::<Vec<_>>(),
        ["later/unheard-of"]
    );
    assert_eq!(
        (
            evidence.tally.len(),
            evidence.without_time,
            evidence.inputs.len()
        ),
        (1, 4, 1)
    );
    assert_eq!(evidence.inputs[0].format.as_deref(), Some("combined"));
    let view = evidence.tally.cells().next().unwrap();
    let cell = view.cell;
    assert_eq!(
        (view.status, view.bytes, cell.hits),
        (Some(200), Some(512), 3)
    );
    assert_eq!(evidence.tally.path(view.path), b"/.env");
    let crate::tally::SampleContentView::Imported(sample) = view.sample().content else {
        panic!("{cell:?}")
    };
    assert_eq!(
        (sample.generation, sample.line, &*sample.target),
        (255, 1, &b"/.env?x"[..])
    );
    assert_eq!(
        (sample.host.as_deref(), sample.user_agent.as_deref()),
        (Some(&b"shop.example"[..]), Some(&b"curl"[..]))
    );
    assert_eq!(
        evidence.allowed,
        [AllowOrigin {
            file: "allow.toml".into(),
            line: 3,
            reason: "ours".into()
        }]
    );
}

#[test]
fn error_bounds_are_decoded() {
    let tally = decoded(&bounded_rows()).unwrap().tally;
    let errors: Vec<_> = tally
        .cells()
        .map(|view| (view.is_other(), view.error()))
        .collect();
    assert_eq!(
        errors,
        [(false, 5), (true, 0), (true, 0)],
        "evicted hits are complete"
    );
    assert_eq!(
        tally
            .path_cells()
            .map(|view| (tally.path(view.path), view.cell.hits))
            .collect::<Vec<_>>(),
        [(&b"/.env"[..], 3)]
    );
    let overflow: Vec<_> = tally
        .overflow_cells()
        .map(|view| {
            (
                view.client,
                view.path,
                view.status,
                view.bytes,
                view.cell.hits,
            )
        })
        .collect();
    assert_eq!(overflow, [(0, 0, Some(200), None, 2)]);
    let count = tally.client_counts()[0];
    assert_eq!(
        (
            count.requests,
            count.error,
            count.missed,
            tally.path_error(0)
        ),
        (1, 4, 6, 2)
    );
    assert_eq!(
        tally.error_floor(),
        crate::tally::ErrorFloor {
            pairs: 7,
            clients: 8,
            requests: 9,
            paths: 10
        }
    );
    assert_eq!(
        tally.error_bound().unwrap().rest_hits,
        4,
        "two are in the overflow"
    );
}

#[test]
fn invalid_bounds_are_rejected() {
    let with = |kind: &str, row: &str| with(bounded_rows(), kind, row);
    let head = |floor: &str| {
        with(
            "head",
            HEAD["{\"head\":".len()..HEAD.len() - 1]
                .replace("\"floor\":null", &format!("\"floor\":{floor}"))
                .as_str(),
        )
    };
    let bounded = || text(&bounded_rows());
    let cases = [
        (
            head(r#"{"pairs":18446744073709551615,"clients":8,"requests":9,"paths":10}"#),
            "more than any log",
        ),
        (head("[]"), "is damaged"),
        (with("client_error", "[1,4,6]"), "client 1"),
        (
            with("client_error", "[4294967295,4,6]"),
            "client 4294967295",
        ),
        (
            with("client_error", "[0,1125899906842624,6]"),
            "more than any log",
        ),
        (with("path_error", "[1,2]"), "path 1"),
        (
            with("path_error", "[0,18446744073709551615]"),
            "more than any log",
        ),
        (
            bounded().replacen("[0,null,", "[4294967295,null,", 1),
            "client 4294967295",
        ),
        (bounded().replacen("[0,null,", "[-1,null,", 1), "is damaged"),
        (bounded().replace("\"/.env?x\"", "null"), "without a target"),
        (
            bounded().replacen("[null,null,0,200,0,1,", "[null,null,0,200,0,null,", 1),
            "without a host, a client and a path",
        ),
        (
            bounded().replacen("3,5,[[", "3,18446744073709551615,[[", 1),
            "more than any log",
        ),
    ];
    for (text, expected) in cases {
        let error = rows_rejection(&text);
        assert!(
            error.contains("is damaged") && error.contains(expected),
            "{text}: {error}"
        );
    }
}

#[test]
fn a_frame_is_read_from_a_document_and_alone_and_checked() {
    let counts = |snapshot: ReportSnapshot| {
        let ReportSnapshot {
            inputs,
            allowed,
            tally,
            without_time,
            unknown_rules,
            ..
        } = snapshot;
        (
            inputs,
            allowed,
            tally.len(),
            without_time,
            unknown_rules.len(),
        )
    };
    let whole = text(&rows());
    let evidence = packed(&whole);
    let plain = counts(decoded(&rows()).unwrap());
    assert_eq!(
        counts(read(document(&evidence).as_bytes(), builtin()).unwrap()),
        plain
    );
    let frame = STANDARD
        .decode(evidence.split('"').nth(5).unwrap())
        .unwrap();
    let partial = |version: u8, frame: &[u8]| [&b"\x8cPWPART"[..], &[version], frame].concat();
    assert_eq!(
        counts(read(&*partial(10, &frame), builtin()).unwrap()),
        plain
    );
    assert!(matches!(
        read(&*partial(11, &frame), builtin()),
        Err(SnapshotError::Newer(11))
    ));
    assert!(matches!(
        read(&*partial(1, &frame), builtin()),
        Err(SnapshotError::Older(1))
    ));
    let changed = |from: &str, to: &str| evidence.replacen(from, to, 1);
    let half = &evidence[..evidence.len() / 2];
    let cases = [
        (packed(""), "it is incomplete"),
        (packed(&format!("{whole}1\n")), "is damaged"),
        (
            packed(&format!("{whole}{HEAD}\n")),
            "exactly its first row must be its head",
        ),
        (
            packed(whole.replacen(HEAD, "", 1).trim_start()),
            "exactly its first row must be its head",
        ),
        (packed(whole.trim_end()), "it ends within a row"),
        (packed("[]\n"), "is damaged"),
        (changed("\"packed\":\"", "\"packed\":\"A"), "is damaged"),
        (format!("{half}\"}}"), "is damaged"),
        ("{\"rules\":[],\"packed\":\"%%%\"}".into(), "is damaged"),
        ("{\"rules\":[],\"packed\":0}".into(), "is damaged"),
        (packed(&" ".repeat(20 << 20)), "far larger"),
    ];
    for (evidence, expected) in cases {
        let error = rejection(&document(&evidence));
        assert!(
            error.contains("is damaged") && error.contains(expected),
            "{error}"
        );
    }
    let other_host =
        document(&evidence).replacen("\"inputs\"", "\"log_host\": \"other\", \"inputs\"", 1);
    assert!(rejection(&other_host).contains("its host, its period"));
}

/// A client chooses its requests, and so how well they compress.
#[test]
fn text_is_read_again_however_much_smaller_its_compressed_data_could_be() {
    let row = |n: usize| format!("GET /{n}{} HTTP/1.1", "y".repeat(8_000));
    let alike: Vec<_> = (0..1_500).map(row).collect();
    // Some of them hardly compress.
    let numbers = |n: usize| {
        (0..2_000_u64)
            .map(|at| {
                ((n as u64 * 2_000 + at).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40).to_string()
            })
            .collect()
    };
    let mixed = (0..1_500)
        .map(|n| if n / 100 % 5 == 4 { numbers(n) } else { row(n) })
        .collect();
    for rows in [alike, mixed, vec!["y".repeat(30 << 20)]] {
        let text = serde_json::to_vec(&rows).unwrap();
        assert!(
            text.len() > 10 << 20,
            "less than a reader allows in any case"
        );
        for level in [1, 9] {
            let mut frame = Vec::new();
            let mut writer = FrameWriter::new(&mut frame, level).unwrap();
            writer.write_all(&text).unwrap();
            writer.finish().unwrap();
            let mut again = Vec::new();
            FrameReader::new(frame.as_slice())
                .read_to_end(&mut again)
                .unwrap();
            assert!(again == text);
            // The ratio of this text without the limit is above 5,000.
            assert!(
                text.len() / frame.len() < 1_000,
                "{} bytes as {}",
                text.len(),
                frame.len()
            );
        }
    }
}

#[test]
fn foreign_and_damaged_files_have_different_errors() {
    let fine = document(&packed(&text(&rows())));
    let cases = [
        (String::new(), "is no report"),
        ("not json".into(), "is no report"),
        ("{}".into(), "is no report"),
        ("[1,2]".into(), "is no report"),
        (
            "{\"schema_version\":10,\"generated_by\":\"goaccess 1.7\"}".into(),
            "is no report",
        ),
        ("{\"evidence\":{}}".into(), "is no report"),
        (
            "{\"schema_version\":1,\"generated_by\":\"probewatch 0.1\"}".into(),
            "schema_version 1, and this probewatch reads 10; scan the logs again",
        ),
        (
            "{\"schema_version\":11,\"generated_by\":\"probewatch 9\"}".into(),
            "schema_version 11",
        ),
        (document("null"), "--top"),
        (document("{}"), "missing field `packed`"),
        (document("[]"), "is damaged"),
        (
            document("null").replace("\"inputs\": []", "\"evidence\": null"),
            "is damaged",
        ),
        (fine.replace("}\n", ""), "is damaged"),
        (format!("{fine}x"), "is damaged"),
    ];
    for (text, expected) in cases {
        let error = rejection(&text);
        assert!(error.contains(expected), "{text}: {error}");
    }
    let mut turned = rows();
    turned.swap(7, 11);
    assert!(rows_rejection(&text(&turned)).contains("path 0 of 0"));
    let mut turned = rows();
    turned.splice(
        3..3,
        [
            r#"{"times":[0,[],[]]}"#.to_owned(),
            r#"{"times":[0,[],[]]}"#.to_owned(),
        ],
    );
    assert!(rows_rejection(&text(&turned)).contains("the times of a cell are in the wrong place"));
}

#[test]
fn invalid_rows_are_rejected() {
    let with = |kind: &str, row: &str| with(rows(), kind, row);
    let inner = |row: &'static str| row.split_once(':').unwrap().1.strip_suffix('}').unwrap();
    let cell = |from: &str, to: &str| with("cell", &inner(CELL).replacen(from, to, 1));
    let head = |from: &str, to: &str| with("head", &inner(HEAD).replacen(from, to, 1));
    let later =
        |from: &str, to: &str| text(&rows()).replace(LATER_RULE, &LATER_RULE.replace(from, to));
    let site = |row: &str| {
        with(
            "site_path",
            &format!(
                "[0,null,{row},{{\"shape\":[5,1,0,1,4,false],\"flags\":1,\"get\":[],\"post\":[],\"partial\":[],\"clients\":[],\"hours\":[null,null]}}]"
            ),
        )
    };
    let spans = |spans: &str| {
        with(
            "input",
            &inner(INPUT).replace("\"spans\":[]", &format!("\"spans\":[{spans}]")),
        )
    };
    let cases = [
        (cell("[0,0,0", "[1,0,0"), "client 1"),
        (cell("[0,0,0", "[0,1,0"), "path 1"),
        (
            cell("[0,0,0", "[0,0,4294967295"),
            "list of rules 4294967295",
        ),
        (cell("200,0,1", "200,1,1"), "input 1"),
        (cell("200,0,1", "200,0,2"), "host 2"),
        (cell("200", "99999"), "is damaged"),
        (
            cell("[1793577600,60]", "[9223372036854775807,60]"),
            "no time",
        ),
        (cell("[1793577600,60]", "[1793577600,32767]"), "no time"),
        (
            cell("3,0,[[", "18446744073709551615,0,[["),
            "more than any log",
        ),
        (with("generation", "\"xyz\""), "is damaged"),
        (cell("60],0,0,1", "60],7,0,1"), "generation 7"),
        (
            cell("60],0,0,1", "60],0,18446744073709551615,1"),
            "out of range",
        ),
        (cell("null,0,null", "null,1,null"), "user agent 1"),
        (cell("null,0,null", "null,-1,null"), "is damaged"),
        (with("list", "[2]"), "rule 2"),
        (
            with("input", &inner(INPUT).replace("\"lines\":1", "\"lines\":2")),
            "an input has 2 lines, and its parts have 1",
        ),
        (spans("[1,5,4,0,9]"), "no range of a log"),
        (spans("[1,0,9,10,9]"), "no range of a log"),
        (with("host", "\"shop.example\""), "first host"),
        (text(&rows()).replace("shop.example", ""), "first host"),
        (with("path", r#""/a\\x4""#), "backslash"),
        (
            later("later/unheard-of", "../\\u001b[2J"),
            "is no id of a rule",
        ),
        (
            later("\"class\":\"cve\"", "\"class\":\"=cmd,x\""),
            "is no class of a rule",
        ),
        (
            later(
                "\"window\":false",
                "\"window\":true,\"counts\":[\"client\",1,60]",
            ),
            "no window of a rule",
        ),
        (with("home_page", "[1,null,[5]]"), "input 1"),
        (with("home_page", "[null,9,[5]]"), "host 9"),
        (with("home_page", "[null,0,[-5]]"), "is damaged"),
        (site("\"xyz\",[0]"), "is damaged"),
        (site("255,[9]"), "rule 9"),
        (with("minute", "[9,null,0,29892960,3]"), "client 9"),
        (with("minute", "[null,9,0,29892960,3]"), "path 9"),
        (with("minute", "[0,null,9,29892960,3]"), "list of rules 9"),
        (
            with("minute", "[0,0,0,29892960,3]"),
            "neither those of one client",
        ),
        (
            with("minute", "[0,null,0,9223372036854775807,3]"),
            "no time of a log",
        ),
        (
            with("minute", "[0,null,0,29892960,18446744073709551615]"),
            "more than any log",
        ),
        (with("input", ""), "input 0"),
        (
            head("\"uncounted\":0", "\"uncounted\":18446744073709551615"),
            "more than any log",
        ),
        (
            head(
                "\"without_time\":4",
                "\"without_time\":99999999999999999999",
            ),
            "is damaged",
        ),
        (
            head("\"time_unit\":60", "\"time_unit\":61"),
            "no unit of time",
        ),
        (
            head("\"ipv6_prefix\":null", "\"ipv6_prefix\":200"),
            "ipv6_prefix",
        ),
        (
            with("client", "[\"192.0.2.1\",2000000000000000,0]"),
            "more than any log",
        ),
        (
            text(&rows()) + "{\"app_evidence\":[9,0,null,[],[],0]}\n",
            "rule 9",
        ),
        (
            text(&rows()) + "{\"app_evidence\":[0,0,null,null,null,0]}\n",
            "more clients saw an app",
        ),
    ];
    for (text, expected) in cases {
        let error = rows_rejection(&text);
        assert!(
            error.contains("is damaged") && error.contains(expected),
            "{text}: {error}"
        );
        assert!(!error.contains('\u{1b}'), "{error:?}");
    }
}

#[test]
fn a_report_without_snapshot_is_rejected_and_an_empty_one_is_not() {
    let rules = fixture::rules();
    let mut out = Vec::new();
    render(
        &fixture::report(rules),
        &RenderOptions {
            format: OutputFormat::Json,
            ..RenderOptions::default()
        },
        &mut out,
    )
    .unwrap();
    assert!(matches!(read(&*out, rules), Err(SnapshotError::Cut)));
    assert!(
        read(document(&packed(&format!("{HEAD}\n"))).as_bytes(), rules)
            .unwrap()
            .tally
            .is_empty()
    );
}

proptest! {
    #[test]
    fn damage_is_never_a_panic(is_bounded in any::<bool>(), at in any::<prop::sample::Index>(), length in 0_usize..12, put in prop::sample::select(vec![
        "", "0", "-1", "9", "99999999999", "null", "[", "]", "{}", "\"", "\\", ",", "true", "\u{1b}", "1e308", "\"\\ud800\"", "[[[[", "\n",
    ])) {
        let text = text(&if is_bounded { bounded_rows() } else { rows() }).into_bytes();
        let at = at.index(text.len());
        let end = (at + length).min(text.len());
        let damaged = [&text[..at], put.as_bytes(), &text[end..]].concat();
        if let Ok(evidence) = read_rows(&*damaged, builtin()) {
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
