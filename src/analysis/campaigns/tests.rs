//! Campaigns from logs: the same for any split, any order of merges and any number of threads.

use std::sync::LazyLock;

use proptest::prelude::*;

use crate::analysis::build::{LogAnalysis, ReportFilter, RowSelection, build};
use crate::analysis::campaigns::*;
use crate::analysis::model::InputSummary;
use crate::engine::{LineScanner, ScanOptions, WorkerState};
use crate::rules::{AllowList, RuleChoice, RuleSet, load};
use crate::source::SourceInfo;
use crate::tally::{LinePosition, Tally};

static RULES: LazyLock<RuleSet> = LazyLock::new(|| load(&RuleChoice::default()).unwrap());

const LIST: [&str; 6] = ["/.env", "/.git/config", "/backup.sql", "/phpinfo.php", "/wp-config.php.bak", "/.aws/credentials"];

/// One request: the client's network and number, the path, the status, and the minute.
type Request = (u8, u8, String, u16, u8);

fn line((network, client, path, status, minute): &Request) -> String {
    let client = if *network == 9 { "-".to_owned() } else { format!("192.0.{network}.{client}") };
    format!("{client} - - [02/Nov/2026:08:{minute:02}:00 +0000] \"GET {path} HTTP/1.1\" {status} {} \"-\" \"x\"\n", path.len())
}

/// The campaigns of a log, printed; the log is split into runs of `cut` lines, which are merged in this order.
fn campaigns_of(lines: &[String], cut: usize, reversed: bool, threads: usize) -> String {
    let scope = ScanOptions::default();
    let line_scanner = LineScanner::new(&RULES, &scope);
    let (mut tallies, mut offset, mut before, mut runs) = (Vec::new(), 0, 0, Vec::new());
    for part in lines.chunks(cut) {
        let (text, mut scratch, mut tally) = (part.concat(), WorkerState::default(), Tally::default());
        tally.add_findings(&line_scanner.scan(text.as_bytes(), &mut scratch), LinePosition { input: 0, chunk: offset, offset: 0, line: 0 });
        tallies.push(tally.with_names(scratch.names));
        runs.push((offset, part.len() as u64));
        offset += text.len() as u64;
        before += part.len();
    }
    assert_eq!(before, lines.len());
    if reversed {
        tallies.reverse();
    }
    let tally = tallies.into_iter().reduce(|mut sum, other| {
        sum.merge(other);
        sum
    });
    let (tally, allow) = (tally.unwrap_or_default(), AllowList::default());
    let texts = [SourceInfo::new(b"access.log".to_vec(), 7, runs)];
    let report_input = ReportInput {
        rules: &RULES,
        tally: &tally,
        texts: &texts,
        inputs: &[InputSummary::default()],
        without_time: 0,
        filter: ReportFilter { min_severity: Severity::Low, ..ReportFilter::default() },
        allow: &allow,
    };
    let wanted = RowSelection::COMPLETE;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let analysis = LogAnalysis::new(&report_input);
    let report = pool.install(|| build(&report_input, &analysis, wanted));
    report.campaigns.iter().map(printed).collect()
}

/// A campaign as a paragraph.
fn printed(one: &Campaign<'_>) -> String {
    let Campaign { key, severity, clients, networks, paths, hits, answered, first_time, last_time, sample_paths, sample } = one;
    let times = [first_time, last_time].map(|time| time.unwrap().rfc3339());
    let paths_of_it: Vec<_> = sample_paths.iter().map(|path| redacted(path)).collect();
    format!(
        "key {key}\n{severity}, {clients} clients of {networks} networks, {paths} paths\n{hits} hits, {answered} answered, {times:?}\n\
         {paths_of_it:?}\nline {}: {} {:?}\n\n",
        sample.line,
        redacted(sample.target),
        sample.status
    )
}

fn requests_list(network: u8, client: u8, paths: &[&str]) -> Vec<Request> {
    (0..).zip(paths).map(|(minute, path)| (network, client, (*path).to_owned(), 404, minute)).collect()
}

#[test]
fn three_networks_with_one_list() {
    let mut requests: Vec<_> = (1..=3).flat_map(|network| requests_list(network, network + 10, &LIST)).collect();
    requests[2].3 = 200;
    requests.push((1, 77, "/.env".into(), 404, 59));
    requests.push((1, 11, "/shell.php".into(), 404, 58));
    requests.extend((1..4).flat_map(|client| requests_list(9, client, &["/a/.env", "/b/.env", "/c/.env", "/d/.env", "/e/.env"])));
    insta::assert_snapshot!(campaigns_of(&requests.iter().map(line).collect::<Vec<_>>(), 1000, false, 2));
}

#[test]
fn the_key_depends_on_the_list() {
    let key = |requests: Vec<Request>| {
        let text = campaigns_of(&requests.iter().map(line).collect::<Vec<_>>(), 1000, false, 1);
        text.lines().find(|line| line.starts_with("key ")).map(ToOwned::to_owned)
    };
    let three = |list: &[&str]| (1..=3).flat_map(|network| requests_list(network, 1, list)).collect::<Vec<_>>();
    let whole = key(three(&LIST));
    assert!(whole.is_some());
    let other_day: Vec<_> = (4..=8).flat_map(|network| requests_list(network, 9, &LIST)).map(|r| (r.0, r.1, r.2, 403, 30)).collect();
    assert_eq!(key(other_day.clone()), whole);
    let interrupted: Vec<_> = other_day.into_iter().enumerate().filter(|(at, _)| *at != 7).map(|(_, request)| request).collect();
    assert_eq!(key(interrupted), whole);
    assert_ne!(key(three(&LIST[..5])), whole);
}

fn any_log() -> impl Strategy<Value = Vec<String>> {
    let list = (1..6_u8, 0..3_u8, 0..3 * LIST.len(), any::<u16>()).prop_map(|(network, client, without, status)| {
        let mut requests = requests_list(network, client, &LIST);
        if without < LIST.len() {
            requests.remove(without);
        }
        requests[usize::from(status) % 5].3 = [200, 301, 403, 404, 500][usize::from(status) % 5];
        requests
    });
    let other = (
        1..10_u8,
        0..3_u8,
        prop::sample::select(vec!["/", "/index.html", "/.env", "/x.php", "/?q=../../etc/passwd", "/r4nd0m.bak"]),
        0..60_u8,
    )
        .prop_map(|(network, client, path, minute)| vec![(network, client, path.to_owned(), 404, minute)]);
    let parts = prop::collection::vec(prop_oneof![1 => list, 1 => other], 0..16);
    (parts, any::<prop::sample::Index>()).prop_map(|(parts, turn)| {
        let mut lines: Vec<String> = parts.concat().iter().map(line).collect();
        let turn = if lines.is_empty() { 0 } else { turn.index(lines.len()) };
        lines.rotate_left(turn);
        lines
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_split_order_and_number_of_threads(log in any_log(), cut in 1..20_usize, threads in 1..5_usize) {
        let whole = campaigns_of(&log, log.len().max(1), false, 1);
        prop_assert_eq!(&campaigns_of(&log, cut, false, threads), &whole);
        prop_assert_eq!(&campaigns_of(&log, cut, true, 1), &whole);
    }
}
