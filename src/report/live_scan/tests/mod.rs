//! Live scans compared with a scan of the same bytes, and what only a live scan does: wait, promote
//! hits later, drop old data.

mod finds;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;

use crate::engine::ScanOptions;
use crate::formats::{FormatChoice, Formats};
use crate::input::read::Chunk;
use crate::judge::report_input::ReportFilter;
use crate::log::finding::Severity;
use crate::report::live_scan::*;
use crate::report::model;
use crate::rules::{RuleChoice, RuleSet, load};
use crate::soft_404::Answer;

static RULES: LazyLock<RuleSet> = LazyLock::new(|| load(&RuleChoice::default()).expect("rules"));
static FORMATS: LazyLock<Formats> = LazyLock::new(|| Formats::builtin().expect("formats"));
/// Formats of which one is requested that no test has. Then no layout is discovered: more lines may
/// show another one.
static REQUESTED: LazyLock<Formats> = LazyLock::new(|| {
    Formats::new(&FormatChoice {
        requested: Some("envoy".to_owned()),
        ..FormatChoice::default()
    })
    .expect("formats")
});

/// Reports all rules from severity low.
const LOW: ReportFilter<'_> = ReportFilter {
    min_severity: Severity::Low,
    outcomes: &[],
    apps: &[],
};

fn job(scan_options: &ScanOptions) -> ScanJob<'_> {
    ScanJob {
        rules: &RULES,
        scan_options,
        formats: &FORMATS,
        prefix: None,
    }
}

fn line(client: u8, request: &str, status: u16) -> String {
    format!(
        "192.0.2.{client} - - [02/Nov/2026:08:01:00 +0000] \"{request}\" {status} 512 \"-\" \"Mozilla/5.0\"\n"
    )
}

/// The offset, line and rules of each reported hit, in order.
type ReportedHits = Vec<(u64, u64, Vec<String>, Option<Answer>, Option<&'static str>)>;

fn feed(
    stream: &mut LiveScan<'_>,
    path: &str,
    named: bool,
    (offset, lines_before): (u64, u64),
    lines: &str,
) -> ReportedHits {
    let chunk = Chunk {
        offset,
        body: Body::Lines(lines.as_bytes()),
    };
    let line_chunk = LineChunk {
        log: u32::from(path.as_bytes()[0]),
        generation: 7,
        path: Path::new(path),
        origin: InputOrigin::new(named, !named),
        fresh: true,
        lines_before,
        chunk,
    };
    let mut reported = Vec::new();
    let each = &mut |live: &LiveHit<'_>| {
        let model::ReportedHit {
            id,
            line,
            answer,
            context,
            ..
        } = live.hit;
        if live.is_reported()
            && live
                .change
                .is_none_or(|change| change == AnswerEvent::Regraded)
        {
            let ids = live
                .hit
                .rules
                .iter()
                .map(|&rule| RULES.rule(rule).id.clone())
                .collect();
            reported.push((id.offset, line, ids, answer, context));
        }
        Ok::<(), Infallible>(())
    };
    let Ok(_) = stream.process(&line_chunk, Duration::ZERO, each);
    reported
}

/// Feeds a text in chunks of N lines.
fn in_chunks(stream: &mut LiveScan<'_>, text: &str, lines: usize) -> ReportedHits {
    let (mut reported, mut offset, mut before) = (Vec::new(), 0, 0);
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    for part in all.chunks(lines) {
        let part = part.concat();
        reported.extend(feed(stream, "a.log", true, (offset, before), &part));
        offset += part.len() as u64;
        before += part.lines().count() as u64;
    }
    reported
}

/// Each line as it was first reported, without its grade.
fn first_reports(reported: &ReportedHits) -> ReportedHits {
    let mut seen = BTreeSet::new();
    let first = reported
        .iter()
        .filter(|reported| seen.insert(reported.1))
        .cloned();
    first
        .map(|(offset, line, rules, _, context)| (offset, line, rules, None, context))
        .collect()
}

/// The final grade of each line.
fn final_answers(reported: &ReportedHits, stream: &mut LiveScan<'_>) -> Vec<(u64, Option<Answer>)> {
    let mut last: BTreeMap<u64, Option<Answer>> = reported
        .iter()
        .map(|reported| (reported.1, reported.3))
        .collect();
    let Ok(()) = stream.regrade_all(Duration::ZERO, &mut |live: &LiveHit<'_>| {
        last.insert(live.hit.line, live.hit.answer);
        Ok::<(), Infallible>(())
    });
    last.into_iter().collect()
}

/// Without home pages: their sizes are known at every line of their chunk, also before theirs.
fn any_log() -> impl Strategy<Value = String> {
    let request = prop_oneof![
        Just("GET /.env HTTP/1.1"),
        Just("GET /about HTTP/1.1"),
        Just("GET /c99.php HTTP/1.1"),
        Just("GET /r57.php HTTP/1.1"),
        Just("GET /abcd.php HTTP/1.1"),
        Just("GET /.git/config HTTP/1.1"),
        Just("GET /?q=%27+union+select+1 HTTP/1.1"),
    ];
    let line = (
        request,
        1_u8..5,
        prop_oneof![Just(200_u16), Just(404), Just(301)],
    );
    prop::collection::vec(line, 0..40).prop_map(|lines| {
        lines
            .into_iter()
            .map(|(request, client, status)| self::line(client, request, status))
            .collect()
    })
}

proptest! {
    #[test]
    fn cuts_change_nothing_and_sums_are_those_of_a_scan(text in any_log(), cut in 1_usize..8) {
        let scan_options = ScanOptions::default();
        let (mut merged, mut cut_up) = (LiveScan::new(job(&scan_options), LOW, LiveState::default()), LiveScan::new(job(&scan_options), LOW, LiveState::default()));
        let (one, other) = (in_chunks(&mut merged, &text, usize::MAX), in_chunks(&mut cut_up, &text, cut));
        prop_assert_eq!(first_reports(&one), first_reports(&other));
        prop_assert_eq!(final_answers(&one, &mut merged), final_answers(&other, &mut cut_up));
        let one = first_reports(&one);
        let mut worker_state = WorkerState::default();
        let findings = LineScanner::new(&RULES, &scan_options).scan(text.as_bytes(), &mut worker_state);
        let mut tally = Tally::default();
        tally.add_findings(&findings, LinePosition { input: 0, chunk: 0, offset: 0, line: 0 });
        let tally = tally.with_names(worker_state.names);
        let sources = [SourceInfo::new(b"a.log".to_vec(), 7, vec![(0, 0)])];
        let allow = &scan_options.allow;
        let report_input = ReportInput { rules: &RULES, tally: &tally, sources: &sources, inputs: &[InputSummary::default()], without_time: 0, filter: LOW, allow };
        let context = LogAnalysis::new(&report_input);
        let report = build(&context, RowSelection { pairs: true, ..RowSelection::default() });
        let rows = |report: &ReportModel<'_>| report.pairs.iter().map(|row| (format!("{:?}", row.key), row.hits, row.answered, row.sample.line)).collect::<Vec<_>>();
        let expected = rows(&report);
        for stream in [&mut merged, &mut cut_up] {
            let (found, since) = stream.summary(RowSelection { pairs: true, ..RowSelection::default() }, |report, since| (rows(report), since));
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(since, SummaryStart::Start);
        }
        // A late hit is reported once. A scan has no more hits, but may have fewer: a client whose
        // later requests are ordinary is no prober at the end, and its unknown names are no hits
        // then.
        let lines: BTreeSet<u64> = one.iter().map(|reported| reported.1).collect();
        prop_assert_eq!(lines.len(), one.len());
        prop_assert!(lines.len() as u64 >= report.totals.outcomes.iter().sum::<u64>());
    }
}

/// Lines of many formats, with or without a W3C header.
fn any_mixed_log() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        3 => Just(line(1, "GET /.env HTTP/1.1", 404)),
        2 => Just("{\"ip\":\"192.0.2.9\",\"time\":\"2026-11-02T08:01:00Z\",\"request\":\"GET /.git/config HTTP/1.1\",\"status\":404}\n".to_owned()),
        2 => Just("2026-11-02 08:01:00 192.0.2.8 GET /c99.php - 404\n".to_owned()),
        1 => Just("#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status\n".to_owned()),
        1 => Just("#Fields: date time cs-method\n".to_owned()),
        1 => Just("GET /.env and no format\n".to_owned()),
    ];
    (any::<bool>(), prop::collection::vec(line, 0..40)).prop_map(|(is_w3c, lines)| {
        if is_w3c { "#Version: 1.0\n" } else { "" }.to_owned() + &lines.concat()
    })
}

proptest! {
    #[test]
    fn formats_do_not_depend_on_cuts(text in any_mixed_log(), cut in 1_usize..8) {
        let scan_options = ScanOptions::default();
        let job = ScanJob { formats: &REQUESTED, ..job(&scan_options) };
        let (mut merged, mut cut_up) = (LiveScan::new(job, LOW, LiveState::default()), LiveScan::new(job, LOW, LiveState::default()));
        let (one, other) = (in_chunks(&mut merged, &text, usize::MAX), in_chunks(&mut cut_up, &text, cut));
        prop_assert_eq!(&one, &other);
        for reported in &one {
            let line = text.lines().nth(reported.1 as usize - 1).unwrap();
            prop_assert!(text[reported.0 as usize..].starts_with(line), "line {} is not at {}", reported.1, reported.0);
        }
        let sums = |stream: &mut LiveScan<'_>| stream.summary(RowSelection::default(), |report, _| report.totals.sum);
        prop_assert_eq!(sums(&mut merged), sums(&mut cut_up));
    }
}

/// Five web shells and a script with an inconspicuous name.
fn hunter() -> Vec<String> {
    let asks = [
        "/c99.php",
        "/r57.php",
        "/wso.php",
        "/b374k.php",
        "/alfa.php",
        "/shell.php",
    ];
    asks.iter()
        .map(|path| line(1, &format!("GET {path} HTTP/1.1"), 404))
        .collect()
}

#[test]
fn a_hit_is_reported_once_its_client_is_a_prober() {
    let scan_options = ScanOptions::default();
    let mut stream = LiveScan::new(job(&scan_options), LOW, LiveState::default());
    let odd = line(1, "GET /abcd.php HTTP/1.1", 404);
    assert_eq!(
        in_chunks(&mut stream, &odd, 1),
        [],
        "a name that says nothing"
    );
    let reported = in_chunks(&mut stream, &hunter().concat(), 1);
    let late: Vec<_> = reported
        .iter()
        .filter(|reported| reported.4 == Some("client"))
        .collect();
    assert_eq!(late.len(), 1, "{reported:?}");
    assert_eq!(
        (late[0].0, late[0].1, &late[0].2[..]),
        (0, 1, &["prober/unknown".to_owned()][..])
    );
    let after = in_chunks(&mut stream, &odd, 1);
    assert_eq!(after[0].4, Some("client"), "from then on at once");
    assert_eq!(
        in_chunks(&mut stream, &line(2, "GET /abcd.php HTTP/1.1", 404), 1),
        [],
        "another client"
    );
}

#[test]
fn a_redirected_name_is_reported_once_probes_are_redirected_too() {
    const NONE: [u64; 0] = [];
    let scan_options = ScanOptions::default();
    let mut stream = LiveScan::new(job(&scan_options), LOW, LiveState::default());
    let odd = line(1, "GET /abcd.php HTTP/1.1", 302);
    let late = |reported: ReportedHits| {
        reported
            .into_iter()
            .filter(|hit| hit.4 == Some("client"))
            .map(|hit| hit.1)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        late(in_chunks(
            &mut stream,
            &(odd.clone() + &hunter().concat()),
            1
        )),
        NONE,
        "its probes got 404"
    );
    let redirected = hunter().concat().replace("\" 404 ", "\" 302 ");
    let two: String = redirected.split_inclusive('\n').take(2).collect();
    assert_eq!(
        late(in_chunks(&mut stream, &(odd.clone() + &two), 1)),
        NONE,
        "two are too few"
    );
    assert_eq!(
        late(in_chunks(&mut stream, &redirected, 1)),
        [1, 1],
        "both requests for the name, each the first line of its text"
    );
    assert_eq!(
        late(in_chunks(&mut stream, &odd, 1)),
        [1],
        "from then on at once"
    );
    assert_eq!(
        late(in_chunks(
            &mut stream,
            &odd.replace("\" 302 ", "\" 301 "),
            1
        )),
        NONE,
        "its probes got no permanent redirect"
    );
    assert_eq!(
        late(in_chunks(
            &mut stream,
            &line(1, "POST /abcd.php HTTP/1.1", 200),
            1
        )),
        NONE,
        "another answer"
    );
}

#[test]
fn only_the_newest_lines_are_pending() {
    let scan_options = ScanOptions::default();
    let mut stream = LiveScan::new(job(&scan_options), LOW, LiveState::default());
    let many: String = (0..40_u8)
        .map(|n| {
            line(
                1,
                &format!(
                    "GET /abc{}{}.php HTTP/1.1",
                    char::from(b'a' + n / 8),
                    char::from(b'k' + n % 8)
                ),
                404,
            )
        })
        .collect();
    assert_eq!(in_chunks(&mut stream, &many, 7), []);
    let late = in_chunks(&mut stream, &hunter().concat(), 7)
        .into_iter()
        .filter(|reported| reported.4 == Some("client"));
    assert_eq!(
        late.map(|reported| reported.1).collect::<Vec<_>>(),
        (25..=40).collect::<Vec<_>>()
    );
}

#[test]
fn a_hit_is_reported_again_when_its_grade_changes() {
    use Answer::{Distinct, Soft404, Uncertain};
    let scan_options = ScanOptions::default();
    let mut stream = LiveScan::new(job(&scan_options), LOW, LiveState::default());
    let log: String = ["/.env", "/.git/config", "/c99.php", "/phpinfo.php"]
        .map(|path| line(1, &format!("GET {path} HTTP/1.1"), 200))
        .concat();
    let reported = in_chunks(&mut stream, &log, 1)
        .into_iter()
        .map(|reported| (reported.1, reported.3))
        .collect::<Vec<_>>();
    let graded = |line, answer| (line, Some(answer));
    // Two responses of one size may be chance, three are not.
    let expected = [
        graded(1, Distinct),
        graded(2, Uncertain),
        graded(1, Uncertain),
        graded(3, Soft404),
        graded(1, Soft404),
        graded(2, Soft404),
        graded(4, Soft404),
    ];
    assert_eq!(reported, expected);
    let refused = line(1, "GET /.env HTTP/1.1", 404);
    assert_eq!(
        feed(&mut stream, "a.log", true, (log.len() as u64, 4), &refused)[0].3,
        None
    );
}

#[test]
fn the_response_history_survives_a_restart() {
    let scan_options = ScanOptions::default();
    let mut stream = LiveScan::new(job(&scan_options), LOW, LiveState::default());
    let log: String = ["/.env", "/.git/config", "/c99.php"]
        .map(|path| line(1, &format!("GET {path} HTTP/1.1"), 200))
        .concat();
    in_chunks(&mut stream, &log, 1);
    let sites = stream.sites(1_000).clone();
    let mut next = LiveScan::new(
        job(&scan_options),
        LOW,
        LiveState::of_earlier_runs(sites, SavedAnswers::default()),
    );
    let reported = feed(
        &mut next,
        "a.log",
        true,
        (log.len() as u64, 3),
        &line(1, "GET /backup.sql HTTP/1.1", 200),
    );
    assert_eq!(
        reported
            .iter()
            .map(|reported| reported.3)
            .collect::<Vec<_>>(),
        [Some(Answer::Soft404)]
    );
}

#[test]
fn a_file_of_a_folder_waits_for_a_parsed_line() {
    let scan_options = ScanOptions::default();
    let mut stream = LiveScan::new(job(&scan_options), LOW, LiveState::default());
    let junk = "2026/11/02 08:01:00 [error] open() \"/srv/.git/config\" failed, request: \"GET /.git/config HTTP/1.1\"\n";
    assert_eq!(feed(&mut stream, "e.log", false, (0, 0), junk), []);
    assert_eq!(
        feed(&mut stream, "n.log", true, (0, 0), junk).len(),
        1,
        "named explicitly"
    );
    let reported = feed(
        &mut stream,
        "e.log",
        false,
        (junk.len() as u64, 1),
        &line(1, "GET / HTTP/1.1", 200),
    );
    assert_eq!(
        reported
            .iter()
            .map(|reported| reported.1)
            .collect::<Vec<_>>(),
        [1],
        "then what waited is reported"
    );
    let much = junk.repeat(HEAD_BYTES / junk.len() + 1);
    assert_eq!(feed(&mut stream, "x.log", false, (0, 0), &much), []);
    let reported = feed(
        &mut stream,
        "x.log",
        false,
        (much.len() as u64, 1000),
        &line(1, "GET / HTTP/1.1", 200),
    );
    assert_eq!(
        reported,
        [],
        "so much without a line that parses was no log"
    );
}

#[test]
fn old_hits_are_dropped_and_line_counts_are_kept() {
    let scan_options = ScanOptions::default();
    let mut stream = LiveScan::new(job(&scan_options), LOW, LiveState::default());
    let first = line(1, "GET /.env HTTP/1.1", 404);
    in_chunks(&mut stream, &first, 1);
    let rows = |stream: &mut LiveScan<'_>| {
        stream.summary(RowSelection::default(), |report, since| {
            (report.totals.paths, report.totals.sum.lines, since)
        })
    };
    assert_eq!(rows(&mut stream), (1, 1, SummaryStart::Start));
    stream.state.rolling_tally.begin_period();
    assert_eq!(
        rows(&mut stream),
        (1, 1, SummaryStart::Start),
        "one era back"
    );
    in_chunks(&mut stream, &line(1, "GET /.git/config HTTP/1.1", 404), 1);
    stream.roll_up_tally();
    stream.state.rolling_tally.begin_period();
    let (paths, lines, since) = rows(&mut stream);
    assert_eq!((paths, lines), (1, 2));
    assert!(matches!(since, SummaryStart::Time(Some(_))), "{since:?}");
}
