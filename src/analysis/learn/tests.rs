//! Proposals from small logs; they do not depend on how the log is split.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::analysis::build::ReportFilter;
use crate::engine::{LineScanner, ScanOptions, WorkerState};
use crate::finding::Severity;
use crate::rules::{AllowList, CLASSES, RuleChoice, RuleSet, load};
use crate::tally::LinePosition;

/// A few rules, independent of the built-in ones.
static RULES: LazyLock<RuleSet> = LazyLock::new(|| {
    let rule = |id: &str, class: &str, path: &str| {
        format!("[[rule]]\nid = \"a/{id}\"\ntitle = \"x\"\nclass = \"{class}\"\nseverity = \"low\"\npaths = [\"{path}\"]\n")
    };
    let text = rule("x", "exposure", PROBES[0]) + &rule("y", "webshell", PROBES[1]) + &rule("z", "webshell", PROBES[2]);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    load(&RuleChoice { paths: vec![file.path().to_owned()], no_builtin: true, ..RuleChoice::default() }).expect("rules")
});

/// Three paths that rules match.
const PROBES: [&str; 3] = ["/.env", "/probe.php", "/shell.php"];

/// A line; each client is in a network of its own.
fn line(client: usize, path: &str, status: u16, referer: &str) -> String {
    let time = format!("02/Nov/2026:08:{:02}:00 +0000", client % 60);
    format!("10.{}.{}.7 - - [{time}] \"GET {path} HTTP/1.1\" {status} 9 \"{referer}\" \"x\"\n", client / 256, client % 256)
}

/// A client that sends three probes and this request.
fn prober(client: usize, path: &str) -> String {
    PROBES.iter().chain([&path]).map(|path| line(client, path, 404, "-")).collect()
}

/// The tally of runs of lines, each scanned by the given worker, merged in the order of the workers.
fn tally(runs: &[String], workers: &[usize]) -> Tally {
    let scope = ScanOptions { unlisted: true, ..ScanOptions::default() };
    let line_scanner = LineScanner::new(&RULES, &scope);
    let mut all = Tally::default();
    for worker in 0..=workers.iter().copied().max().unwrap_or(0) {
        let (mut scratch, mut own) = (WorkerState::default(), Tally::default());
        for (number, run) in runs.iter().enumerate().filter(|(number, _)| workers[*number] == worker) {
            let findings = line_scanner.scan(run.as_bytes(), &mut scratch);
            own.add_findings(&findings, LinePosition { input: 0, chunk: number as u64, offset: 0, line: 0 });
            scratch.recycle(findings);
        }
        all.merge(own.with_names(scratch.names));
    }
    all
}

fn text() -> [SourceInfo; 1] {
    [SourceInfo::new(b"a.log".to_vec(), 0, vec![(0, 0)])]
}

/// The proposals for the whole log.
fn learned<T>(tally: &Tally, texts: &[SourceInfo], min_probers: usize, then: impl FnOnce(&Proposals<'_>) -> T) -> T {
    let allow = AllowList::default();
    let report_input = ReportInput {
        rules: &RULES,
        tally,
        texts,
        inputs: &[],
        without_time: 0,
        filter: ReportFilter { min_severity: Severity::Low, ..ReportFilter::default() },
        allow: &allow,
    };
    then(&learn(&report_input, &LogAnalysis::new(&report_input), min_probers))
}

/// The proposed paths of a log.
fn proposed(log: &str) -> Vec<String> {
    let (tally, texts) = (tally(&[log.to_owned()], &[0]), text());
    learned(&tally, &texts, 3, |learned| learned.rules.iter().map(|proposal| proposal.path.to_owned()).collect())
}

fn probers(path: &str) -> String {
    (0..3).map(|client| prober(client, path)).collect()
}

#[test]
fn paths_of_three_probers_are_proposed() {
    assert_eq!(proposed(&probers("/Unlisted.php?a=b")), ["/unlisted.php"]);
    assert_eq!(proposed(&(0..2).map(|client| prober(client, "/unlisted.php")).collect::<String>()), [""; 0]);
}

#[test]
fn clients_of_one_network_are_one_prober() {
    let log = probers("/unlisted.php").replace("10.0.2.7", "10.0.1.8");
    assert_eq!(proposed(&log), [""; 0]);
}

#[test]
fn pages_that_a_normal_client_received_are_not_proposed() {
    for (status, is_proposed) in [(200, false), (304, false), (301, false), (404, true), (403, true)] {
        let log = probers("/unlisted.php") + &line(9, "/unlisted.php", status, "-");
        assert_eq!(proposed(&log).len(), usize::from(is_proposed), "{status}");
    }
    let below = probers("/unlisted") + &line(9, "/unlisted/page", 200, "-");
    assert_eq!(proposed(&below), [""; 0]);
}

#[test]
fn removed_pages_of_search_engines_are_not_proposed() {
    let crawlers: String = (10..12).map(|client| line(client, "/unlisted.php", 404, "-")).collect();
    assert_eq!(proposed(&(probers("/unlisted.php") + &crawlers)), [""; 0]);
}

#[test]
fn linked_pages_are_not_proposed() {
    let linked = |referer: &str| proposed(&(probers("/unlisted.php") + &line(0, "/unlisted.php", 200, referer)));
    assert_eq!(linked("https://example.org/menu"), [""; 0]);
    assert_eq!(linked("https://example.org/unlisted.php"), ["/unlisted.php"]);
}

#[test]
fn pages_that_many_clients_received_are_not_proposed() {
    let log = |clients: usize| (0..clients).map(|n| prober(n, "/x") + &line(n, "/unlisted.php", 200, "-")).collect::<String>();
    assert!(proposed(&log(63)).contains(&"/unlisted.php".to_owned()));
    assert_eq!(proposed(&log(64)), ["/x"]);
}

#[test]
fn a_client_with_few_probes_among_many_requests_is_no_prober() {
    let pages = |client: usize| (0..20).map(|n| line(client, &format!("/page/{n}"), 200, "-")).collect::<String>();
    let log: String = (0..3).map(|client| prober(client, "/unlisted.php") + &pages(client)).collect();
    assert_eq!(proposed(&log), [""; 0]);
}

#[test]
fn machine_generated_paths_are_counted() {
    let (tally, texts) = (tally(&[probers("/x/1234567.php")], &[0]), text());
    assert_eq!(learned(&tally, &texts, 3, |learned| (learned.rules.len(), learned.random)), (0, 1));
}

#[test]
fn a_proposal_has_all_details() {
    let log = prober(2, "/Zero%2ephp") + &prober(1, "/zero.php?token=1") + &prober(0, "/zero.php") + &line(5, "/zero.php", 403, "-");
    let (tally, texts) = (tally(&[log], &[0]), text());
    learned(&tally, &texts, 3, |learned| {
        let [proposal] = &*learned.rules else { panic!("{learned:?}") };
        assert_eq!((proposal.probers, proposal.others, proposal.requests), (3, 1, 4));
        assert_eq!(proposal.statuses, [(Some(403), 1), (Some(404), 3)]);
        assert_eq!((proposal.example.line, proposal.example.status), (12, Some(404)));
        assert_eq!((proposal.example.source, proposal.example.target), (&b"a.log"[..], &b"/zero.php"[..]));
        assert_eq!((&*proposal.rule, proposal.class), ("learned/php-webshell", "webshell"));
    });
}

/// A line of the log of a small site with probes.
fn any_line() -> impl Strategy<Value = String> {
    let path = prop_oneof![
        Just("/api"),
        Just("/api"),
        Just("/old.php"),
        Just("/Old.php?x"),
        Just("/linked"),
        Just("/x/y.zip"),
        Just("/7654321.php"),
        prop::sample::select(&PROBES[..]),
        prop::sample::select(&PROBES[..]),
    ];
    let referer = prop_oneof![Just("-"), Just("-"), Just("-"), Just("http://h/linked"), Just("http://h/p")];
    let status = prop::sample::select(vec![200, 200, 301, 404, 404, 404]);
    (0..90_usize, path, status, referer).prop_map(|(client, path, status, referer)| line(client, path, status, referer))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_split_gives_the_same_proposals(
        lines in prop::collection::vec(any_line(), 0..600),
        cuts in prop::collection::vec(0_usize..600, 0..12),
        workers in prop::collection::vec(0_usize..4, 13),
        min_probers in 1_usize..4,
    ) {
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(lines.len())).chain([0, lines.len()]).collect();
        cuts.sort_unstable();
        let runs: Vec<String> = cuts.windows(2).map(|cut| lines[cut[0]..cut[1]].concat()).collect();
        let texts = text();
        let proposals = |workers: &[usize]| learned(&tally(&runs, workers), &texts, min_probers, |learned| format!("{learned:?}"));
        let alone = proposals(&vec![0; runs.len()]);
        prop_assert_eq!(&proposals(&workers[..runs.len()]), &alone);
        let backwards: Vec<_> = (0..runs.len()).rev().collect();
        prop_assert_eq!(&proposals(&backwards), &alone);
    }
}

#[test]
fn kind_by_name() {
    for (path, kind) in [
        ("/.aws/x", PathKind::Dot),
        ("/app/.foorc", PathKind::Dot),
        ("/site.tar.gz", PathKind::Backup),
        ("/config.php.bak", PathKind::Backup),
        ("/index.php~", PathKind::Backup),
        ("/admin/index.php", PathKind::Php),
        ("/x.php7", PathKind::Php),
        ("/administrator/", PathKind::Admin),
        ("/geoserver/web", PathKind::Other),
    ] {
        assert_eq!(PathKind::from_path(path), kind, "{path}");
    }
}

#[test]
fn a_word_suggests_a_possible_class() {
    let hinted = |path: &str| PathKind::from_path(path).class_hint(path);
    assert_eq!(hinted("/phpmyadmln/pma/index.php"), Some("db-admin"));
    assert_eq!(hinted("/wp-old/x.php"), Some("wordpress"));
    assert_eq!((hinted("/wp-old.zip"), hinted("/root.php")), (None, None));
}

#[test]
fn every_class_exists() {
    let hinted = HINTS.iter().map(|(_, class)| class);
    for kind in [PathKind::Dot, PathKind::Backup, PathKind::Php, PathKind::Admin, PathKind::Other] {
        for class in kind.classes().iter().chain(hinted.clone()) {
            assert!(CLASSES.contains(class), "{class}");
        }
    }
}
