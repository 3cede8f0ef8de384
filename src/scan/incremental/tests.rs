//! Incremental scans compared with a slow reference: one scanner over whole texts, line by line,
//! and a sum by period.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::LazyLock;

use proptest::prelude::*;
use tempfile::TempDir;

use crate::engine::{LineScanner, ScanOptions, WorkerState};
use crate::formats::reader::{LineContext, LineKind, LogReader, each};
use crate::formats::{ClientPosition, FormatChoice, Formats};
use crate::input::tail::{StartPosition, TailOptions};
use crate::log::log_entry::LogEntry;
use crate::log::source::Checkpoint;
use crate::log::time::PeriodUnit;
use crate::rules::{RuleChoice, RuleSet, load};
use crate::scan::incremental::*;
use crate::tally::LinePosition;

static RULES: LazyLock<RuleSet> = LazyLock::new(|| load(&RuleChoice::default()).expect("rules"));
static FORMATS: LazyLock<Formats> = LazyLock::new(|| Formats::builtin().expect("formats"));
/// Formats of which one is requested that no test has: then no layout is discovered.
static REQUESTED: LazyLock<Formats> = LazyLock::new(|| {
    Formats::new(&FormatChoice {
        requested: Some("envoy".to_owned()),
        ..FormatChoice::default()
    })
    .expect("formats")
});
static NOT: AtomicBool = AtomicBool::new(false);
const NOW: LogTime = LogTime {
    utc: 1_700_000_000,
    offset: 0,
};

/// A folder of logs, and the saved read positions.
struct TestLogs {
    folder: TempDir,
    state: Option<Vec<Checkpoint>>,
    formats: &'static Formats,
}

impl TestLogs {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            state: None,
            formats: &FORMATS,
        }
    }

    fn append(&self, name: &str, text: &[u8]) {
        let path = self.folder.path().join(name);
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .unwrap()
            .write_all(text)
            .unwrap();
    }

    fn run(
        &mut self,
        names: &[&str],
        period_rule: Option<&PeriodRule>,
        block: usize,
        most: usize,
    ) -> IncrementalResult {
        let paths: Vec<PathBuf> = names
            .iter()
            .map(|name| self.folder.path().join(name))
            .collect();
        let mut tail = Tail::new(
            paths,
            TailOptions {
                start: StartPosition::ExplicitInputs,
                max_line: 1000,
                block,
                max_open: 1000,
            },
            self.state.take(),
        );
        let scan_options = ScanOptions {
            max_line: 1000,
            ..ScanOptions::default()
        };
        let job = ScanJob {
            rules: &RULES,
            scan_options: &scan_options,
            formats: self.formats,
            prefix: None,
        };
        let options = IncrementalOptions {
            stop: &NOT,
            now: NOW,
            period_rule,
            max_bytes: u64::MAX,
        };
        let (used, buffers) = mpsc::channel();
        let mut scanner = BatchScanner::new(&job, &options, most, used);
        tail.read_once(Instant::now(), &mut |line_chunk| {
            scanner.take(LineBatch::new(&line_chunk, &buffers));
        });
        let increment = scanner.finish(&mut tail);
        self.state = Some(tail.checkpoints());
        increment
    }
}

/// A line at this many seconds after midnight of 2 November 2026.
fn line(seconds: u32, request: &str, status: u16) -> String {
    let (day, hour, minute, second) = (
        2 + seconds / 86_400,
        seconds / 3600 % 24,
        seconds / 60 % 60,
        seconds % 60,
    );
    let client = seconds % 7;
    format!(
        "192.0.2.{client} - - [{day:02}/Nov/2026:{hour:02}:{minute:02}:{second:02} +0000] \"{request}\" {status} 512 \"-\" \"Mozilla/5.0\"\n"
    )
}

/// A tally in a fixed order, without IDs.
type Cells = Vec<(String, String, Vec<String>, Option<u16>, u64, u64, u64)>;

fn cells(tally: &Tally) -> Cells {
    let cell = |view: crate::tally::CellView<'_>| {
        let rules = tally
            .rule_list(view.rules)
            .iter()
            .map(|&rule| RULES.rule(rule).id.clone())
            .collect();
        let position = view.sample().position;
        let path = String::from_utf8_lossy(tally.path(view.path)).into_owned();
        (
            format!("{:?}", tally.client(view.client)),
            path,
            rules,
            view.status,
            view.cell.hits,
            position.chunk + position.offset,
            position.line,
        )
    };
    let mut cells: Cells = tally.cells().map(cell).collect();
    cells.sort();
    cells
}

fn requests(tally: &Tally) -> u64 {
    tally
        .client_counts()
        .iter()
        .map(|count| count.requests)
        .sum()
}

/// The reference: the tally and the lines of each period, scanned line by line.
fn reference(
    text: &str,
    period_rule: Option<&PeriodRule>,
) -> BTreeMap<Option<Period>, (Tally, u64)> {
    let scan_options = ScanOptions {
        max_line: 1000,
        ..ScanOptions::default()
    };
    let line_scanner = LineScanner::new(&RULES, &scan_options);
    let time = |line: &str| {
        let at = line.find('[')?;
        (line.len() <= 1000).then_some(())?;
        LogTime::parse_clf(line.get(at + 1..at + 27)?.as_bytes())
    };
    let of =
        |line: &str| period_rule.and_then(|period_rule| Some(period_rule.period_of(time(line)?)));
    let first = text
        .lines()
        .find_map(of)
        .or(period_rule.map(|period_rule| period_rule.period_of(NOW)));
    let mut period = first;
    let mut parts: BTreeMap<_, (Tally, u64)> = BTreeMap::new();
    let mut offset = 0;
    for (number, line) in (0..).zip(text.split_inclusive('\n')) {
        period = of(line.trim_end_matches('\n')).or(period);
        let mut worker_state = WorkerState::default();
        let findings = line_scanner.scan(line.as_bytes(), &mut worker_state);
        let mut one = Tally::default();
        one.add_findings(
            &findings,
            LinePosition {
                input: 0,
                chunk: offset,
                offset: 0,
                line: number,
            },
        );
        let part = parts.entry(period).or_default();
        part.0.merge(one.with_names(worker_state.names));
        part.1 += 1;
        offset += line.len() as u64;
    }
    parts
}

fn assert_same(increment: &IncrementalResult, text: &str, period_rule: Option<&PeriodRule>) {
    let expected = reference(text, period_rule);
    let periods: Vec<_> = increment.parts.iter().map(|part| part.period).collect();
    assert_eq!(periods, expected.keys().copied().collect::<Vec<_>>());
    for (part, (tally, lines)) in increment.parts.iter().zip(expected.values()) {
        assert_eq!(part.lines, *lines, "{:?}", part.period);
        assert_eq!(cells(&part.tally), cells(tally), "{:?}", part.period);
        assert_eq!(requests(&part.tally), requests(tally));
        let input = &part.inputs[0];
        assert_eq!(
            input.counts.lines,
            input.counts.parsed
                + input.counts.unparsed
                + input.counts.oversized
                + input.counts.skipped
                + input.counts.pending
        );
        assert_eq!(input.counts.lines, *lines);
    }
    let bytes: u64 = increment
        .parts
        .iter()
        .map(|part| part.inputs[0].counts.bytes)
        .sum();
    let longest = text.lines().map(str::len).max().unwrap_or(0);
    assert!(longest > 1000 || bytes == text.len() as u64);
}

fn any_line() -> impl Strategy<Value = String> {
    let request = prop_oneof![
        Just("GET /.env HTTP/1.1"),
        Just("GET / HTTP/1.1"),
        Just("GET /wp-login.php HTTP/1.1"),
        Just("GET /?id=1%27%20or%201=1-- HTTP/1.1"),
    ];
    prop_oneof![
        12 => (0u32..200_000, request, prop_oneof![Just(200u16), Just(404)]).prop_map(|(at, request, status)| line(at, request, status)),
        1 => Just("\\x16\\x03\\x01 no line\n".to_owned()),
        1 => Just("/.env and nothing else\n".to_owned()),
        1 => Just(format!("{}\n", "z".repeat(1500))),
        1 => Just("\n".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_split_scan_equals_the_reference(
        lines in prop::collection::vec(any_line(), 1..60),
        unit in prop_oneof![Just(None), Just(Some(PeriodUnit::Day)), Just(Some(PeriodUnit::Hour))],
        zone in prop_oneof![Just(None), Just(Some("America/New_York"))],
        block in 1500usize..9000,
        most in 1usize..20_000,
    ) {
        let period_rule = unit.map(|unit| PeriodRule::new(unit, zone).unwrap());
        let text = lines.concat();
        let mut logs = TestLogs::new();
        logs.append("access.log", text.as_bytes());
        let increment = logs.run(&["access.log"], period_rule.as_ref(), block, most);
        assert_same(&increment, &text, period_rule.as_ref());
    }

    #[test]
    fn scans_add_up(parts in prop::collection::vec(prop::collection::vec(any_line(), 1..20), 1..5), hour: bool) {
        let period_rule = PeriodRule::new(if hour { PeriodUnit::Hour } else { PeriodUnit::Day }, None).unwrap();
        let mut logs = TestLogs::new();
        let mut sums: BTreeMap<Option<Period>, (Tally, u64)> = BTreeMap::new();
        let mut text = String::new();
        for part in parts {
            // The first line has a time, so that the start of a run does not matter.
            let part = line(50_000, "GET / HTTP/1.1", 200) + &part.concat();
            logs.append("access.log", part.as_bytes());
            text += &part;
            for part in logs.run(&["access.log"], Some(&period_rule), 4096, 8192).parts {
                let sum = sums.entry(part.period).or_default();
                sum.0.merge(part.tally);
                sum.1 += part.lines;
            }
        }
        let expected = reference(&text, Some(&period_rule));
        prop_assert_eq!(sums.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for ((tally, lines), (expected, expected_lines)) in sums.values().zip(expected.values()) {
            prop_assert_eq!(lines, expected_lines);
            prop_assert_eq!(cells(tally), cells(expected));
        }
    }
}

/// A line of another format at this many seconds after midnight of 2 November 2026.
fn any_other_line() -> impl Strategy<Value = String> {
    let day = |seconds: u32| format!("2026-11-{:02}", 2 + seconds / 86_400);
    let hour = |seconds: u32| {
        format!(
            "{:02}:{:02}:{:02}",
            seconds / 3600 % 24,
            seconds / 60 % 60,
            seconds % 60
        )
    };
    let json = (0u32..200_000).prop_map(move |at| {
        format!("{{\"ip\":\"192.0.2.9\",\"time\":\"{}T{}Z\",\"request\":\"GET /.env HTTP/1.1\",\"status\":404}}\n", day(at), hour(at))
    });
    let w3c = (0u32..200_000).prop_map(move |at| {
        format!(
            "{} {} 192.0.2.8 GET /wp-login.php - 200\n",
            day(at),
            hour(at)
        )
    });
    let names = prop::sample::select(vec![
        "#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status\n",
        "#Fields: date time c-ip\n",
        "#Date: x\n",
    ]);
    let syslog = any_line().prop_map(|line| format!("<190>Nov  2 08:01:00 web nginx: {line}"));
    prop_oneof![4 => any_line(), 3 => json, 3 => w3c, 1 => names.prop_map(str::to_owned), 1 => syslog]
}

/// The lines in the Common Log Format.
fn written_down(text: &str) -> Vec<u8> {
    let header = crate::formats::W3cHeader::from_log_start(text.as_bytes(), 1000);
    let mut context = LineContext {
        formats: &FORMATS,
        preferred: &[],
        header,
        layouts: None,
        clients: ClientPosition::Unknown,
        max_line: 1000,
    };
    let mut log_reader = LogReader::default();
    let mut written = Vec::new();
    for line in each(text.as_bytes()) {
        match log_reader.line(line, &mut context) {
            (LineKind::AsIs, _) => written.extend_from_slice(line),
            (LineKind::Directive, _) => written.push(b'#'),
            (_, entry) => written.extend(combined_line(&entry.unwrap())),
        }
        written.push(b'\n');
    }
    written
}

fn combined_line(entry: &LogEntry<'_>) -> Vec<u8> {
    let host = entry
        .host
        .map_or(Vec::new(), |host| [host, b":80 "].concat());
    let time = entry
        .time
        .and_then(LogTime::clf)
        .unwrap_or(*b"--/---/----:--:--:-- -----");
    let (status, bytes) = (
        entry.status.map_or("---".to_owned(), |n| n.to_string()),
        entry.bytes.map_or("-".to_owned(), |n| n.to_string()),
    );
    let [referer, agent] = [entry.referer, entry.user_agent].map(|header| header.unwrap_or(b"-"));
    let answer = format!("\" {status} {bytes} \"");
    [
        &host,
        entry.client,
        b" - - [",
        &time,
        b"] \"",
        entry.request,
        answer.as_bytes(),
        referer,
        b"\" \"",
        agent,
        b"\"",
    ]
    .concat()
}

/// The sums of each period, without offsets and directive lines: all lines, parsed and unparsed
/// lines, and for each pair its hits and the line of its sample.
type Sums = (
    Option<Period>,
    u64,
    u64,
    u64,
    Vec<(String, String, u64, u64)>,
);

fn sums(increment: &IncrementalResult) -> Vec<Sums> {
    let cells = |tally: &Tally| {
        cells(tally)
            .into_iter()
            .map(|(client, path, _, _, hits, _, line)| (client, path, hits, line))
            .collect()
    };
    let of = |part: &PeriodResult| {
        let input = &part.inputs[0];
        (
            part.period,
            part.lines,
            input.counts.parsed,
            input.counts.unparsed + input.counts.skipped,
            cells(&part.tally),
        )
    };
    increment.parts.iter().map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_of_other_formats_are_split_by_their_time(
        runs in prop::collection::vec(prop::collection::vec(any_other_line(), 1..30), 1..3),
        is_w3c: bool,
        unit in prop_oneof![Just(None), Just(Some(PeriodUnit::Day)), Just(Some(PeriodUnit::Hour))],
        block in 1500usize..9000,
        most in 1usize..20_000,
    ) {
        let period_rule = unit.map(|unit| PeriodRule::new(unit, None).unwrap());
        let start = if is_w3c { "#Version: 1.0\n" } else { "" }.to_owned() + &line(0, "GET / HTTP/1.1", 200);
        let texts: Vec<String> = runs.iter().map(|lines| lines.concat()).collect();
        let whole = start.clone() + &texts.concat();
        let (mut logs, mut plain) = (TestLogs::new(), TestLogs::new());
        (logs.formats, plain.formats) = (&REQUESTED, &REQUESTED);
        let mut offset = 0;
        let mut written = written_down(&whole);
        for text in [start].iter().chain(&texts) {
            logs.append("access.log", text.as_bytes());
            let lines = text.lines().count();
            let end = memchr::memchr_iter(b'\n', &written).nth(lines - 1).unwrap() + 1;
            let rest = written.split_off(end);
            plain.append("access.log", &written);
            written = rest;
            let (found, expected) = (logs.run(&["access.log"], period_rule.as_ref(), block, most), plain.run(&["access.log"], period_rule.as_ref(), 4096, 8192));
            prop_assert_eq!(sums(&found), sums(&expected));
            let bytes: u64 = found.parts.iter().map(|part| part.inputs[0].counts.bytes).sum();
            let longest = text.lines().map(str::len).max().unwrap_or(0);
            prop_assert!(longest > 1000 || bytes == text.len() as u64);
            for part in &found.parts {
                for view in part.tally.cells() {
                    let at = (view.sample().position.chunk + view.sample().position.offset) as usize;
                    prop_assert!(at == 0 || whole.as_bytes()[at - 1] == b'\n', "no line begins at {}", at);
                    prop_assert!(at >= offset);
                }
            }
            offset += text.len();
        }
    }
}

#[test]
fn threads_and_batch_sizes_do_not_matter() {
    let text: String = (0..20_000)
        .map(|n| {
            line(
                n * 17 % 250_000,
                if n % 3 == 0 {
                    "GET /.env HTTP/1.1"
                } else {
                    "GET / HTTP/1.1"
                },
                404,
            )
        })
        .collect();
    let period_rule = PeriodRule::new(PeriodUnit::Hour, None).unwrap();
    let mut all: Vec<Vec<(Option<Period>, u64, Cells)>> = Vec::new();
    for (threads, block, most) in [
        (1, 4096, 1),
        (2, 65_536, 1 << 20),
        (4, 10_000, 50_000),
        (2, 200_000, 400_000),
    ] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let mut logs = TestLogs::new();
        logs.append("access.log", text.as_bytes());
        let increment = pool.install(|| logs.run(&["access.log"], Some(&period_rule), block, most));
        assert_eq!(
            increment.parts.iter().map(|part| part.lines).sum::<u64>(),
            20_000
        );
        all.push(
            increment
                .parts
                .iter()
                .map(|part| (part.period, part.lines, cells(&part.tally)))
                .collect(),
        );
    }
    assert!(
        all[0].len() > OPEN_PERIODS,
        "workers of a period are closed and opened again"
    );
    // In the last one the buffers are reused.
    assert!(all[1..].iter().all(|other| *other == all[0]));
}

/// More periods than this, so that some must wait.
const OPEN_PERIODS: usize = accumulator::MAX_OPEN;

#[test]
fn nothing_new_has_no_period() {
    let mut logs = TestLogs::new();
    logs.append("access.log", line(0, "GET / HTTP/1.1", 200).as_bytes());
    assert_eq!(logs.run(&["access.log"], None, 4096, 8192).parts.len(), 1);
    let increment = logs.run(&["access.log"], None, 4096, 8192);
    assert!(
        increment.parts.is_empty() && increment.sources.is_empty() && increment.notices.is_empty()
    );
}

#[test]
fn a_file_of_a_folder_that_is_no_log_is_skipped() {
    let mut logs = TestLogs::new();
    logs.append("access.log", line(0, "GET / HTTP/1.1", 200).as_bytes());
    logs.append("notes.txt", b"nothing\nto see\n");
    logs.append("error.log", b"2026/11/02 08:00:00 [error] 1#1: *1 open() \"/.env\" failed (2: No such file or directory)\n");
    let increment = logs.run(&[""], None, 4096, 8192);
    assert_eq!((increment.sources.len(), increment.parts[0].lines), (1, 1));
    assert_eq!(
        increment.notices.len(),
        1,
        "of the two only one is a log: {:?}",
        increment.notices
    );
    assert!(
        increment
            .notices
            .iter()
            .all(|notice| !notice.problem && notice.what.starts_with("skipped"))
    );
    // It is not mentioned again.
    logs.append("error.log", b"2026/11/02 08:00:00 [error] 1#1: *1 open() \"/.env\" failed (2: No such file or directory)\n");
    let increment = logs.run(&[""], None, 4096, 8192);
    assert!(
        increment.parts.is_empty() && increment.notices.is_empty(),
        "{:?}",
        increment.notices
    );
}

#[test]
fn a_named_file_that_is_no_log_is_a_problem() {
    let mut logs = TestLogs::new();
    logs.append("notes.txt", b"nothing\nto see\n");
    let increment = logs.run(&["notes.txt"], None, 4096, 8192);
    assert_eq!(
        (
            increment.parts[0].lines,
            increment.parts[0].inputs[0].counts.unparsed
        ),
        (2, 2)
    );
    assert_eq!(increment.notices.len(), 1, "{:?}", increment.notices);
    assert!(
        increment.notices[0].problem && increment.notices[0].what.contains("none of its 2 lines")
    );
    assert_eq!(
        increment.parts[0].inputs[0].problem.as_deref(),
        Some(increment.notices[0].what.as_str())
    );
}

#[test]
fn a_known_log_with_unparsed_lines_is_a_log() {
    for name in ["access.log", "host1"] {
        let mut logs = TestLogs::new();
        logs.append(name, line(0, "GET / HTTP/1.1", 200).as_bytes());
        logs.run(&[""], None, 4096, 8192);
        logs.append(name, b"\\x16\\x03\\x01 /.env\n");
        let increment = logs.run(&[""], None, 4096, 8192);
        assert_eq!(increment.parts[0].inputs[0].counts.unparsed, 1, "{name}");
        assert!(increment.notices.is_empty(), "{:?}", increment.notices);
    }
}

#[test]
fn lines_before_the_first_parsed_line_count() {
    let mut logs = TestLogs::new();
    let mut text = "garbage\n".repeat(500) + "/.env\n";
    text += &line(3700, "GET /.env HTTP/1.1", 200);
    logs.append("host1", text.as_bytes());
    let period_rule = PeriodRule::new(PeriodUnit::Hour, None).unwrap();
    let increment = logs.run(&[""], Some(&period_rule), 1024, 2048);
    assert_same(&increment, &text, Some(&period_rule));
    assert_eq!(increment.parts.len(), 1);
}

#[test]
fn a_log_without_times_belongs_to_the_current_period() {
    let mut logs = TestLogs::new();
    logs.append("access.log", "garbage\n".repeat(200_000).as_bytes());
    let period_rule = PeriodRule::new(PeriodUnit::Day, None).unwrap();
    let increment = logs.run(&["access.log"], Some(&period_rule), 65_536, 1 << 20);
    assert_eq!(increment.parts.len(), 1);
    assert_eq!(increment.parts[0].period.unwrap().label(), "2023-11-14");
    assert_eq!(increment.parts[0].lines, 200_000);
}

#[test]
fn an_incomplete_line_is_pending() {
    let mut logs = TestLogs::new();
    let whole = line(0, "GET / HTTP/1.1", 200) + &line(90_000, "GET / HTTP/1.1", 200);
    logs.append("access.log", (whole + "192.0.2.1 - - [").as_bytes());
    let period_rule = PeriodRule::new(PeriodUnit::Day, None).unwrap();
    let increment = logs.run(&["access.log"], Some(&period_rule), 4096, 8192);
    let inputs: Vec<_> = increment
        .parts
        .iter()
        .map(|part| {
            (
                part.lines,
                part.inputs[0].counts.lines,
                part.inputs[0].counts.pending,
            )
        })
        .collect();
    assert_eq!(inputs, [(1, 1, 0), (1, 2, 1)]);
}

#[test]
fn line_numbers_start_at_the_start_of_the_log() {
    let mut logs = TestLogs::new();
    for n in 0..3 {
        logs.append("access.log", line(n, "GET /a HTTP/1.1", 200).as_bytes());
        logs.append("access.log", line(n, "GET /.env HTTP/1.1", 404).as_bytes());
        let increment = logs.run(&["access.log"], None, 4096, 8192);
        let position = increment.parts[0]
            .tally
            .cells()
            .next()
            .unwrap()
            .sample()
            .position;
        let text = &increment.sources[position.input as usize];
        assert_eq!(
            text.line_number(position.chunk, position.line),
            u64::from(n) * 2 + 2
        );
        assert!(increment.sources[0].path.ends_with(b"access.log"));
    }
}

#[test]
fn logs_of_one_run_are_counted_separately() {
    let mut logs = TestLogs::new();
    for name in ["a.log", "b.log"] {
        logs.append(name, line(0, "GET /.env HTTP/1.1", 404).as_bytes());
    }
    fs::write(logs.folder.path().join("empty.log"), "").unwrap();
    let increment = logs.run(&["a.log", "b.log", "empty.log"], None, 4096, 8192);
    assert_eq!(
        increment.parts[0]
            .inputs
            .iter()
            .map(|input| input.counts.lines)
            .collect::<Vec<_>>(),
        [1, 1]
    );
    assert_eq!(increment.parts[0].tally.cells().count(), 2);
}

/// A scan that may read little at once continues where it paused, and nothing is lost or counted
/// twice.
#[test]
fn a_scan_that_pauses_continues_at_its_checkpoints() {
    let logs = TestLogs::new();
    let text: String = (0..20_000)
        .map(|n| line(n * 20, &format!("GET /{n}/.env HTTP/1.1"), 404))
        .collect();
    for name in ["access.log", "other.log"] {
        logs.append(name, text.as_bytes());
    }
    let scan_options = ScanOptions::default();
    let job = ScanJob {
        rules: &RULES,
        scan_options: &scan_options,
        formats: &FORMATS,
        prefix: None,
    };
    let period_rule = PeriodRule::new(PeriodUnit::Day, None).unwrap();
    for (period_rule, fewest) in [(None, 3), (Some(&period_rule), 3)] {
        let (mut checkpoints, mut scans, mut lines, mut hits) = (None, 0, 0, 0);
        loop {
            let paths = ["access.log", "other.log"]
                .map(|name| logs.folder.path().join(name))
                .to_vec();
            let options = TailOptions {
                start: StartPosition::ExplicitInputs,
                max_line: 1000,
                block: 4096,
                max_open: 1000,
            };
            let mut tail = Tail::new(paths, options, checkpoints.take());
            let options = IncrementalOptions {
                stop: &NOT,
                now: NOW,
                period_rule,
                max_bytes: 200_000,
            };
            let increment = scan_new_lines(&mut tail, &job, &options).unwrap();
            scans += 1;
            lines += increment.parts.iter().map(|part| part.lines).sum::<u64>();
            hits += increment
                .parts
                .iter()
                .flat_map(|part| part.tally.cells())
                .map(|view| view.cell.hits)
                .sum::<u64>();
            checkpoints = Some(tail.checkpoints());
            if !increment.has_more {
                break;
            }
            assert!(scans < 100, "it makes progress");
        }
        assert!(scans > fewest, "{scans} scans of {} bytes", 2 * text.len());
        assert_eq!((lines, hits), (40_000, 40_000));
    }
}

#[test]
fn a_stop_is_reported() {
    let logs = TestLogs::new();
    logs.append("access.log", line(0, "GET / HTTP/1.1", 200).as_bytes());
    let stop = AtomicBool::new(true);
    let scan_options = ScanOptions::default();
    let mut tail = Tail::new(
        vec![logs.folder.path().join("access.log")],
        TailOptions {
            start: StartPosition::ExplicitInputs,
            max_line: 1000,
            block: 4096,
            max_open: 1000,
        },
        None,
    );
    let stopped = scan_new_lines(
        &mut tail,
        &ScanJob {
            rules: &RULES,
            scan_options: &scan_options,
            formats: &FORMATS,
            prefix: None,
        },
        &IncrementalOptions {
            stop: &stop,
            now: NOW,
            period_rule: None,
            max_bytes: u64::MAX,
        },
    )
    .unwrap();
    assert!(stopped.has_more && stopped.parts.is_empty());
}
