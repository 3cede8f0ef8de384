//! Properties of grades that only the library can show, because the command has fixed chunk sizes
//! and space for 85,000 groups: a log may be cut into any chunks, and a tally that evicted groups
//! gives the same grades as an exact one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use probewatch::internals::engine::{LineScanner, ScanOptions, WorkerState};
use probewatch::internals::report::build::{
    LogAnalysis, ReportFilter, ReportInput, RowSelection, build,
};
use probewatch::internals::report::model::{InputSummary, Row, RowKey};
use probewatch::internals::rules::{AllowList, RuleChoice, RuleSet, load};
use probewatch::internals::soft_404::{Answer, Reason};
use probewatch::internals::source::SourceInfo;
use probewatch::internals::tally::{Budget, LinePosition, Tally};
use proptest::prelude::*;

use super::generated::{any_log, any_refusing_log};

/// Without the rules that need the client's other requests: of some clients these are dropped.
static RULES: LazyLock<RuleSet> = LazyLock::new(|| {
    let choice = crate::invariants::CONTEXTUAL
        .split(',')
        .fold(RuleChoice::new(), RuleChoice::except);
    load(&choice).unwrap()
});

/// A quarter of the requests of a log here.
const SMALL: Budget = Budget {
    cells: 100,
    clients: 200,
    text: usize::MAX,
};
/// How many groups of pairs with an answered request it holds.
const ANSWERED: usize = 10;

/// The grade of each host and path whose answer is not a soft 404, with its reason.
type Grades = BTreeMap<(String, String), (Answer, Reason)>;

/// Scans chunks of `chunk` lines and merges them into `empty`. The text records where the chunks
/// begin.
fn tally_of(lines: &[String], chunk: usize, empty: Tally) -> (Tally, [SourceInfo; 1]) {
    let scope = ScanOptions::default();
    let line_scanner = LineScanner::new(&RULES, &scope);
    let (mut whole, mut offset, mut runs) = (empty, 0, Vec::new());
    for part in lines.chunks(chunk) {
        let (text, mut worker_state, mut tally) =
            (part.concat(), WorkerState::default(), Tally::default());
        tally.add_findings(
            &line_scanner.scan(text.as_bytes(), &mut worker_state),
            LinePosition {
                input: 0,
                chunk: offset,
                offset: 0,
                line: 0,
            },
        );
        whole.merge(tally.with_names(worker_state.names));
        runs.push((offset, part.len() as u64));
        offset += text.len() as u64;
    }
    (whole, [SourceInfo::new(b"access.log".to_vec(), 7, runs)])
}

fn grades_of((tally, sources): &(Tally, [SourceInfo; 1])) -> Grades {
    let allow = AllowList::default();
    let report_input = ReportInput {
        rules: &RULES,
        tally,
        sources,
        inputs: &[InputSummary::default()],
        without_time: 0,
        filter: ReportFilter::default(),
        allow: &allow,
    };
    let context = LogAnalysis::new(&report_input);
    let report = build(
        &context,
        RowSelection {
            answered: true,
            ..RowSelection::default()
        },
    );
    report
        .answered
        .iter()
        .chain(&report.uncertain)
        .map(grade_of)
        .collect()
}

fn grade_of(row: &Row<'_>) -> ((String, String), (Answer, Reason)) {
    let (RowKey::Answer(host, path, _), Some(detail)) = (row.key, &row.answer) else {
        panic!("{row:?}")
    };
    (
        (host.unwrap_or_default().to_string(), path.to_string()),
        (detail.grade.answer, detail.grade.reason),
    )
}

/// Checks that a tally that evicted groups has the grades of an exact one, except for those it
/// calls uncertain.
fn assert_agree(bounded: &Grades, exact: &Grades) {
    for (row, (answer, reason)) in bounded {
        let expected = exact.get(row).map_or(Answer::Soft404, |grade| grade.0);
        assert!(
            *answer == Answer::Uncertain || *answer == expected,
            "{row:?} is {answer:?} ({reason:?}), exactly it is {expected:?}"
        );
    }
}

/// The groups of the pairs of a client and a path of which one or more was answered: a tally keeps
/// a pair as a whole.
fn answered(tally: &Tally) -> usize {
    let pairs: BTreeSet<(u32, u32)> = tally
        .cells()
        .filter(|view| view.answered)
        .map(|view| (view.client, view.path))
        .collect();
    tally
        .cells()
        .filter(|view| pairs.contains(&(view.client, view.path)))
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chunk_sizes_do_not_change_grades(lines in any_log(1..4, 5..60), chunk in 1_usize..20) {
        let whole = grades_of(&tally_of(&lines, lines.len(), Tally::default()));
        prop_assert_eq!(grades_of(&tally_of(&lines, chunk, Tally::default())), whole);
    }

    #[test]
    fn evicted_groups_do_not_change_grades(lines in any_log(3..5, 90..140), chunk in 5_usize..60) {
        let bounded = tally_of(&lines, chunk, Tally::with_budget(SMALL));
        prop_assume!(bounded.0.error_bound().is_some());
        assert_agree(&grades_of(&bounded), &grades_of(&tally_of(&lines, lines.len(), Tally::default())));
    }

    /// Refused requests are evicted first.
    #[test]
    fn answers_that_fit_keep_their_grades(lines in any_refusing_log(3..5, 90..140), chunk in 5_usize..60) {
        let (bounded, exact) = (tally_of(&lines, chunk, Tally::with_budget(SMALL)), tally_of(&lines, lines.len(), Tally::default()));
        prop_assume!(bounded.0.error_bound().is_some() && answered(&exact.0) <= ANSWERED);
        prop_assert_eq!(grades_of(&bounded), grades_of(&exact));
    }
}
