//! Reports of tallies above their budget: after any merge, write and read, the true counts are
//! within the error bounds.

use std::collections::BTreeMap;
use std::fmt::Debug;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::report::merge::tests::*;
use crate::report::snapshot::read_rows;
use crate::tally::Budget;

/// A request: client, path, status, and one of two hosts.
type Request = (u8, u8, u16, bool);

const SMALL: Budget = Budget {
    cells: 40,
    clients: 24,
    text: usize::MAX,
};
/// Enough for two pairs with as many cells as are kept of one, and the same for a client and a
/// path.
const OF_MANY_SIZES: Budget = Budget {
    cells: 160,
    clients: 24,
    text: usize::MAX,
};

/// Two overlapping rules: one for the paths below 40, one for those from 30 on.
fn two_rules() -> &'static RuleSet {
    static SET: LazyLock<RuleSet> = LazyLock::new(|| {
        let rule = |id: &str, paths: std::ops::Range<u8>| {
            let paths: Vec<String> = paths.map(|n| format!("\"/p{n}\"")).collect();
            format!(
                "[[rule]]\nid = \"{id}\"\ntitle = \"A rule\"\nclass = \"backup\"\nseverity = \"low\"\npaths = [{}]\n",
                paths.join(", ")
            )
        };
        let text = [rule("own/first", 0..40), rule("own/second", 30..80)].concat();
        crate::rules::check(std::path::Path::new("own.toml"), &text).unwrap()
    });
    &SET
}

/// The exact tally of some requests, from line `before` of a log on. Each path has its own size, so
/// that it is no soft 404.
fn part(requests: &[Request], before: u64) -> Scanned {
    sized_part(requests, before, |_, what| 1000 + u32::from(what))
}

/// A log with sizes by the index of the request and the path.
fn sized_part(requests: &[Request], before: u64, size: impl Fn(u32, u8) -> u32) -> Scanned {
    let mut all = Tally::default();
    let mut inputs = Vec::new();
    let asked = ScanOptions::default();
    let line_scanner = LineScanner::new(two_rules(), &asked);
    let sources = [false, true].map(|second| {
        SourceInfo::new(b"access.log".into(), 7, Vec::new()).with_host(Some(if second {
            "web2"
        } else {
            "web1"
        }))
    });
    for (input, second) in [(0, false), (1, true)] {
        let of_host = (0..)
            .zip(requests)
            .filter(|(_, request)| request.3 == second);
        let line = |(at, (who, what, status, _)): (u32, &Request)| {
            get(
                &format!("192.0.2.{who}"),
                &format!("/p{what}"),
                *status,
                size(at, *what),
            )
        };
        let text: String = of_host.map(line).collect();
        let mut worker_state = WorkerState::default();
        let findings = line_scanner.scan(text.as_bytes(), &mut worker_state);
        let mut tally = Tally::default();
        tally.add_findings(
            &findings,
            LinePosition {
                input,
                chunk: before * 1000,
                offset: 0,
                line: before,
            },
        );
        all.merge(tally.with_names(worker_state.names));
        inputs.push(InputSummary {
            path: b"access.log".into(),
            log_host: sources[input as usize]
                .log_host
                .as_deref()
                .map(str::to_owned),
            counts: LineTotals {
                lines: findings.lines.lines,
                parsed: findings.lines.lines,
                requests: findings.requests(),
                ..LineTotals::default()
            },
            ..InputSummary::default()
        });
    }
    Scanned {
        tally: all,
        sources: sources.into(),
        inputs,
        allow: AllowList::default(),
    }
}

fn prune(scanned: Scanned) -> Scanned {
    prune_to(SMALL, scanned)
}

fn prune_to(budget: Budget, scanned: Scanned) -> Scanned {
    let mut tally = Tally::with_budget(budget);
    tally.merge(scanned.tally);
    Scanned { tally, ..scanned }
}

fn pair_json(scanned: &Scanned) -> String {
    printed(two_rules(), scanned, OutputFormat::Json, GroupBy::Pair)
}

fn sum(reports: &[String], budget: Budget) -> Scanned {
    let mut merged = ReportMerger::with_budget(two_rules(), budget);
    for report in reports {
        merged
            .add(read(report.as_bytes(), two_rules()).unwrap())
            .unwrap();
    }
    from_merged(merged.finish(|_| false).unwrap())
}

type Sums<K> = BTreeMap<K, u64>;

/// Hits by pair, client and path, and requests by client.
#[derive(Default)]
struct Counted {
    pairs: Sums<(String, String)>,
    clients: Sums<String>,
    paths: Sums<String>,
    requests: Sums<String>,
}

fn counted(tally: &Tally) -> Counted {
    let mut counted = Counted::default();
    let client = |number| tally.client(number).to_string();
    let path = |number| String::from_utf8_lossy(tally.path(number)).into_owned();
    let rest = crate::collections::intern::SymbolTables::OTHER;
    for view in tally.cells() {
        if !view.is_other() {
            *counted
                .pairs
                .entry((client(view.client), path(view.path)))
                .or_default() += view.cell.hits;
        }
        if view.client != rest {
            *counted.clients.entry(client(view.client)).or_default() += view.cell.hits;
        }
    }
    for view in tally
        .cells()
        .filter(|view| view.path != rest)
        .chain(tally.path_cells())
    {
        *counted.paths.entry(path(view.path)).or_default() += view.cell.hits;
    }
    for view in tally.overflow_cells() {
        let row = match (view.client, view.path) {
            (of, number) if of == rest => counted.paths.entry(path(number)).or_default(),
            (number, of) if of == rest => counted.clients.entry(client(number)).or_default(),
            (of_client, of_path) => counted
                .pairs
                .entry((client(of_client), path(of_path)))
                .or_default(),
        };
        *row += view.cell.hits;
    }
    for (number, count) in (0..).zip(tally.client_counts()) {
        *counted.requests.entry(client(number)).or_default() += count.requests;
    }
    counted
}

fn check<K: Ord + Debug>(
    truth: &Sums<K>,
    counted: &Sums<K>,
    floor: u64,
    error: impl Fn(&K) -> Option<u64>,
) {
    for (key, hits) in counted {
        assert!(
            *hits <= truth.get(key).copied().unwrap_or(0),
            "{key:?} has {hits} and no more than {:?}",
            truth.get(key)
        );
    }
    for (key, &hits) in truth {
        let most = counted.get(key).copied().unwrap_or(0) + error(key).unwrap_or(floor);
        assert!(hits <= most, "{key:?}: {hits} is more than {most}");
    }
}

/// Checks that the true count of every key is within its bounds.
fn check_bounds(truth: &Tally, tally: &Tally) {
    let (truth, counted, floor) = (counted(truth), counted(tally), tally.error_floor());
    let mut errors = BTreeMap::new();
    for view in tally.cells().filter(|view| !view.is_other()) {
        let key = (
            tally.client(view.client).to_string(),
            String::from_utf8_lossy(tally.path(view.path)).into_owned(),
        );
        assert!(
            errors
                .insert(key, view.error())
                .is_none_or(|error| error == view.error()),
            "a pair has one error"
        );
    }
    check(&truth.pairs, &counted.pairs, floor.pairs, |key| {
        errors.get(key).copied()
    });
    let count = |client: &String| {
        tally
            .client_counts()
            .get(tally.client_number(Client::parse(client.as_bytes()))? as usize)
    };
    check(&truth.clients, &counted.clients, floor.clients, |client| {
        Some(count(client)?.error)
    });
    check(
        &truth.requests,
        &counted.requests,
        floor.requests,
        |client| Some(count(client)?.missed),
    );
    let missed: Sums<String> = (0..)
        .zip(tally.path_errors())
        .map(|(number, error)| {
            (
                String::from_utf8_lossy(tally.path(number)).into_owned(),
                *error,
            )
        })
        .collect();
    let of_path = |path: &String| {
        missed
            .get(path)
            .copied()
            .or_else(|| counted.paths.get(path).map(|_| 0))
    };
    check(&truth.paths, &counted.paths, floor.paths, of_path);
}

/// The parts that are always exact: the totals and the rows of rules.
fn exact_parts(report: &str) -> serde_json::Value {
    let mut report: serde_json::Value = serde_json::from_str(report).unwrap();
    let bare = |mut row: serde_json::Value| {
        let object = row.as_object_mut().unwrap();
        // The number of evicted keys is unknown.
        object.remove("clients");
        object.remove("paths");
        row
    };
    let totals = bare(report["totals"].take());
    let rules: Vec<_> = report["rules"]
        .as_array()
        .unwrap()
        .iter()
        .cloned()
        .map(bare)
        .collect();
    serde_json::json!([totals, rules, report["inputs"]])
}

/// Whether these requests need no more than the budget.
fn fits(tally: &Tally) -> bool {
    let counted = counted(tally);
    tally.len() <= SMALL.cells
        && counted.requests.len() <= SMALL.clients
        && counted.paths.len() <= SMALL.cells * 3 / 2
}

/// A few clients send many requests, and many a few.
fn request() -> impl Strategy<Value = Request> {
    let few_or_many = |few: u8, many: u8| prop_oneof![0..few, 0..many];
    let status = prop::sample::select(vec![404_u16, 404, 403, 200]);
    (
        few_or_many(4, 60),
        few_or_many(3, 90),
        status,
        any::<bool>(),
    )
}

fn one_after_another(parts: &[Vec<Request>]) -> Vec<Scanned> {
    let before = parts.iter().scan(0, |lines, part| {
        Some(std::mem::replace(lines, *lines + part.len() as u64))
    });
    parts
        .iter()
        .zip(before)
        .map(|(requests, before)| part(requests, before))
        .collect()
}

#[test]
fn a_prune_that_evicts_nothing_changes_no_report() {
    // One more client than the budget, and each has a cell, so all stay.
    let requests: Vec<Request> = (0..=SMALL.clients as u8)
        .map(|who| (who, 0, 404, false))
        .collect();
    let report = pair_json(&part(&requests, 0));
    let again = sum(std::slice::from_ref(&report), SMALL);
    assert!(again.tally.is_exact());
    assert_eq!(pair_json(&again), report);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn after_any_eviction_bounds_hold_and_sums_are_exact(
        parts in prop::collection::vec(prop::collection::vec(request(), 0..120), 1..7),
        cut in any::<prop::sample::Index>(),
        parts_are_bounded in any::<bool>(),
    ) {
        let parts = one_after_another(&parts);
        let exact: Vec<String> = parts.iter().map(pair_json).collect();
        let truth = sum(&exact, Budget::STANDARD);
        prop_assert_eq!(truth.tally.error_bound(), None);
        let reports: Vec<String> = if parts_are_bounded { parts.into_iter().map(|part| pair_json(&prune(part))).collect() } else { exact };
        let at = cut.index(reports.len() + 1);
        let groups: Vec<String> =
            [&reports[..at], &reports[at..]].into_iter().filter(|group| !group.is_empty()).map(|group| pair_json(&sum(group, SMALL))).collect();
        for result in [sum(&reports, SMALL), sum(&groups, SMALL)] {
            check_bounds(&truth.tally, &result.tally);
            prop_assert!(result.tally.len() <= SMALL.cells);
            let (report, truly) = (pair_json(&result), pair_json(&truth));
            prop_assert_eq!(exact_parts(&report), exact_parts(&truly));
            // Above the budget it may still be exact, if nothing was evicted.
            let is_exact = result.tally.error_bound().is_none();
            prop_assert!(is_exact || !fits(&truth.tally));
            let value: serde_json::Value = serde_json::from_str(&report).unwrap();
            prop_assert_eq!(value["approximate"].is_null(), is_exact);
            let is_whole = result.tally.is_exact();
            let rows = rows_of(&report);
            prop_assert_eq!(rows.contains("\"floor\":null"), is_whole);
            for bound in ["\n{\"client_error\"", "\n{\"path_error\""] {
                prop_assert!(!is_whole || !rows.contains(bound));
            }
            prop_assert!(is_exact || !is_whole);
            if is_whole {
                prop_assert_eq!(&report, &truly);
            }
            // Reading prunes it again if it exceeds the limit of a tally that is not exact.
            let again = sum(std::slice::from_ref(&report), SMALL);
            check_bounds(&truth.tally, &again.tally);
            prop_assert_eq!(exact_parts(&pair_json(&again)), exact_parts(&truly));
            if is_whole {
                prop_assert_eq!(pair_json(&again), report);
            }
            for by in [GroupBy::Pair, GroupBy::Client, GroupBy::Path, GroupBy::Rule] {
                printed(two_rules(), &result, OutputFormat::Csv, by);
            }
            prop_assert_eq!(printed(two_rules(), &result, OutputFormat::Table, GroupBy::Rule).contains("Approximate: "), !is_exact);
        }
    }

    #[test]
    fn adding_a_report_keeps_the_bounds_of_the_written_one(
        parts in prop::collection::vec(prop::collection::vec(request(), 60..160), 2..4),
    ) {
        let parts: Vec<Scanned> = one_after_another(&parts).into_iter().map(prune).collect();
        let mut merged = ReportMerger::with_budget(two_rules(), SMALL);
        for part in &parts {
            with_report(two_rules(), part, |report| merged.add_report(report)).unwrap();
        }
        let result = from_merged(merged.finish(|_| false).unwrap());
        let written: Vec<String> = parts.iter().map(pair_json).collect();
        prop_assert_eq!(pair_json(&result), pair_json(&sum(&written, SMALL)));
    }
}

/// The rows of the snapshot of a report.
fn rows_of(report: &str) -> String {
    let report: serde_json::Value = serde_json::from_str(report).unwrap();
    let frame = STANDARD
        .decode(report["evidence"]["packed"].as_str().unwrap())
        .unwrap();
    let mut rows = Vec::with_capacity(1 << 20);
    zstd_safe::decompress(&mut rows, &frame).unwrap();
    String::from_utf8(rows).unwrap()
}

/// A report with error bounds in JSON, and the rows of its snapshot.
fn bounded_report() -> &'static (String, String) {
    static REPORT: LazyLock<(String, String)> = LazyLock::new(|| {
        let requests: Vec<Request> = (0..160)
            .map(|n| {
                (
                    n % 50,
                    n % 90,
                    if n % 3 == 0 { 200 } else { 404 },
                    n % 2 == 0,
                )
            })
            .collect();
        let report = pair_json(&prune(part(&requests, 0)));
        let rows = rows_of(&report);
        (report, rows)
    });
    &REPORT
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// A modified report is rejected, or can be merged and written.
    #[test]
    fn damage_is_never_a_panic(at in any::<prop::sample::Index>(), length in 0_usize..6, put in prop::sample::select(vec![
        "", "0", "1", "-1", "77", "4294967295", "1125899906842623", "null", "null,null", "[", "]", "true", "false,", ",", "\"",
    ])) {
        let (report, rows) = bounded_report();
        let text = rows.as_bytes();
        let at = at.index(text.len());
        let damaged = [&text[..at], put.as_bytes(), &text[(at + length).min(text.len())..]].concat();
        if let Ok(evidence) = read_rows(&*damaged, two_rules()) {
            let mut merged = ReportMerger::with_budget(two_rules(), SMALL);
            merged.add(evidence).unwrap();
            merged.add(read(report.as_bytes(), two_rules()).unwrap()).unwrap();
            let MergedReport { tally, sources, inputs, allow, rules, .. } = merged.finish(|_| false).unwrap();
            let rules = rules.as_ref().unwrap_or(two_rules());
            let scanned = Scanned { tally, sources, inputs, allow };
            for format in [OutputFormat::Json, OutputFormat::Csv, OutputFormat::Table] {
                printed(rules, &scanned, format, GroupBy::Path);
            }
        }
    }
}

/// Inputs, rules and entries get new numbers in a merge; so do those of evicted cells.
#[test]
fn evicted_cells_are_renumbered_too() {
    let requests: Vec<Request> = (0..80).map(|n| (n % 50, n, 200, n % 2 == 0)).collect();
    let bounded = prune(part(&requests, 0));
    assert!(
        bounded.tally.path_cells().count() > 0 && bounded.tally.cells().any(|view| view.is_other())
    );
    let other = {
        let mut other = part(&[(1, 1, 404, false)], 0);
        other.inputs[0].path = b"a.log".into();
        other.sources[0] = SourceInfo::new(b"a.log".into(), 7, Vec::new()).with_host(Some("web1"));
        other
    };
    let both = sum(&[pair_json(&other), pair_json(&bounded)], SMALL);
    assert_eq!(
        both.inputs
            .iter()
            .map(|input| &*input.path)
            .collect::<Vec<_>>(),
        [&b"a.log"[..], b"access.log", b"access.log"]
    );
    let lines_of = |scanned: &Scanned, input: u32| -> (u64, u64) {
        let hits = |views: &mut dyn Iterator<Item = crate::tally::CellView<'_>>| {
            views
                .filter(|view| view.input == input)
                .map(|v| v.cell.hits)
                .sum()
        };
        (
            hits(&mut scanned.tally.cells()),
            hits(&mut scanned.tally.path_cells()),
        )
    };
    assert_eq!(lines_of(&both, 1).0, lines_of(&bounded, 0).0);
    assert_eq!(lines_of(&both, 2).0, lines_of(&bounded, 1).0);
    assert!(lines_of(&bounded, 1).1 > 0 && lines_of(&both, 2).1 > 0);
    assert!(
        both.tally
            .cells()
            .chain(both.tally.path_cells())
            .all(|view| view.input == view.sample().position.input)
    );
}

/// A client that receives many sizes of one path, and one that receives one size.
fn of_many_sizes(before: u64) -> Scanned {
    let requests: Vec<Request> = (0..300_u16)
        .map(|n| (u8::from(n % 10 == 0), 1, 200, n % 3 == 0))
        .collect();
    sized_part(&requests, before, |at, _| {
        if at % 10 == 0 { 999 } else { 1000 + at }
    })
}

/// Rows of pairs, clients and paths with their hits.
fn rows(report: &str) -> Vec<(String, u64)> {
    let report: serde_json::Value = serde_json::from_str(report).unwrap();
    let row = |row: &serde_json::Value| {
        (
            format!("{} {}", row["client"], row["path"]),
            row["hits"].as_u64().unwrap(),
        )
    };
    let mut rows: Vec<_> = ["pairs", "clients", "paths"]
        .iter()
        .flat_map(|list| report[list].as_array().unwrap())
        .map(row)
        .collect();
    rows.sort();
    rows
}

#[test]
fn the_overflow_of_a_pair_is_written_read_and_merged() {
    let [one, other] = [0, 300].map(of_many_sizes);
    let truth = pair_json(&sum(
        &[pair_json(&one), pair_json(&other)],
        Budget::STANDARD,
    ));
    let bounded = [one, other].map(|part| pair_json(&prune_to(OF_MANY_SIZES, part)));
    let result = sum(&bounded, OF_MANY_SIZES);
    assert!(result.tally.overflow_cells().count() >= 3 && result.tally.error_bound().is_none());
    let report = pair_json(&result);
    assert_eq!(rows(&report), rows(&truth));
    assert_eq!(exact_parts(&report), exact_parts(&truth));
    assert_eq!(
        pair_json(&sum(std::slice::from_ref(&report), Budget::STANDARD)),
        report,
        "nothing is lost that was written"
    );
    // The answers in the overflow have no site, and are uncertain.
    let value: serde_json::Value = serde_json::from_str(&report).unwrap();
    let pair = value["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["hits"] == 540)
        .unwrap();
    let of = |name: &str| pair[name].as_u64().unwrap();
    assert_eq!(
        (of("answered") + of("uncertain"), of("answered") < 100),
        (540, true),
        "{pair}"
    );
}
