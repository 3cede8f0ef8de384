//! One benchmark for each stage, on text generated in memory: no files, no threads, the same bytes
//! each time. Each first checks the number of results against what was generated, so that no stage
//! without work is measured.
//!
//! `cargo bench --bench stages` measures, `cargo test --benches` runs each once. `compare.sh`
//! measures complete runs.

#![allow(clippy::unwrap_used, reason = "a stage that fails has nothing to time")]

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, Criterion, Throughput};
use probewatch::internals::engine::{LineScanner, Matcher, ScanOptions, WorkerState};
use probewatch::internals::formats::{Frame, Headers};
use probewatch::internals::intern::SymbolTables;
use probewatch::internals::log_entry::LogEntry;
use probewatch::internals::normalize::Normalizer;
use probewatch::internals::rules::{self, RuleChoice, RuleSet};
use probewatch::internals::tally::{LinePosition, Tally};

/// Lines of the log; every `PROBES`th is a probe.
const LINES: usize = 8192;
const PROBES: usize = 8;

/// Probes as sent, plain and encoded. Each must match a rule.
const PROBE_TARGETS: [&str; 12] = [
    "/.env",
    "/.git/config",
    "/wp-content/plugins/hellopress/wp_filemanager.php",
    "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
    "/phpmyadmin/index.php",
    "/actuator/heapdump",
    "/%252e%2565nv",
    "//api//%2egit/HEAD",
    "/cgi-bin/.%2e/.%2e/.%2e/.%2e/bin/sh",
    "/?id=1/**/union/**/select/**/1,2,3",
    "/?q=%3Cscript%3Ealert(1)%3C/script%3E",
    "/?x=%24%7Bjndi%3Aldap%3A%2F%2F192.0.2.9%2Fa%7D",
];

/// Normal pages; `#` is replaced by a number. None may match.
const PAGES: [&str; 8] = [
    "/",
    "/news/#/",
    "/static/css/site.#.css",
    "/static/js/app.#.js",
    "/img/photo-#.jpg",
    "/search?q=garden+chairs&page=#",
    "/caf%C3%A9/menu-#",
    "/products/chair-#?colour=green",
];

const AGENTS: [&str; 4] = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/604.1",
    "-",
];

/// A deterministic random number generator (xorshift, Marsaglia 2003).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len())]
    }
}

/// The log, in the combined format.
fn log() -> String {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    (0..LINES)
        .map(|n| {
            let is_probe = n % PROBES == PROBES - 1;
            let page = numbers.below(4000).to_string();
            let target = if is_probe { numbers.one_of(&PROBE_TARGETS).to_owned() } else { numbers.one_of(&PAGES).replace('#', &page) };
            let (status, bytes) = if is_probe { (404, 153) } else { (200, 300 + numbers.below(60_000)) };
            let (client, agent) = (numbers.below(250), numbers.one_of(&AGENTS));
            let (minute, second) = (n / 60 % 60, n % 60);
            format!(
                "192.0.2.{client} - - [02/Nov/2026:08:{minute:02}:{second:02} +0000] \"GET {target} HTTP/1.1\" {status} {bytes} \"-\" \"{agent}\"\n"
            )
        })
        .collect::<Vec<_>>()
        .concat()
}

/// Each record, and its headers as the line has them.
fn records(log: &str) -> Vec<(LogEntry<'_>, Headers<'_>)> {
    let frames = log
        .lines()
        .map(|line| Frame::locate(line.as_bytes(), None).unwrap());
    frames
        .map(|frame| (frame.record(None), frame.headers))
        .collect()
}

fn frames(group: &mut BenchmarkGroup<'_, WallTime>, log: &str) {
    let count = || {
        let statuses = log
            .lines()
            .filter_map(|line| Frame::locate(black_box(line.as_bytes()), None)?.status);
        statuses.filter(|&status| status == 404).count()
    };
    assert_eq!(count(), LINES / PROBES);
    group
        .throughput(Throughput::Bytes(log.len() as u64))
        .bench_function("frames", |b| b.iter(count));
}

/// Targets that need no decoding, and targets that do.
fn targets(group: &mut BenchmarkGroup<'_, WallTime>) {
    let (disguised, plain): (Vec<&str>, Vec<&str>) = PROBE_TARGETS
        .iter()
        .partition(|target| target.contains(['%', '*', '\\']));
    for (name, targets, expected) in [("plain", plain, 6), ("disguised", disguised, 6)] {
        let mut normalizer = Normalizer::default();
        // A plain target is returned unchanged; an encoded one becomes shorter.
        let mut changed = || {
            targets
                .iter()
                .filter(|t| normalizer.views(black_box(t.as_bytes())).target != t.as_bytes())
                .count()
        };
        assert_eq!(targets.len(), expected);
        assert_eq!(changed() > 0, name == "disguised");
        let bytes = targets.iter().map(|t| t.len() as u64).sum();
        group
            .throughput(Throughput::Bytes(bytes))
            .bench_function(format!("targets, {name}"), |b| b.iter(&mut changed));
    }
}

/// A new scratch computes every verdict; a used one has many in its cache.
fn verdicts(group: &mut BenchmarkGroup<'_, WallTime>, rules: &RuleSet, log: &str) {
    let (matcher, records) = (Matcher::new(rules), records(log));
    // As in the line loop: the cache is asked first.
    let found = |record: &LogEntry<'_>, headers, scratch: &mut WorkerState| {
        let known = scratch.cached_verdict(
            record.request,
            headers,
            record.status,
            matcher.may_be_unknown(record.status),
        );
        known
            .unwrap_or_else(|| matcher.verdict(record, headers, scratch))
            .rules
            != SymbolTables::EMPTY_RULES
    };
    let hits = |scratch: &mut WorkerState| {
        records
            .iter()
            .filter(|(record, headers)| found(record, *headers, scratch))
            .count()
    };
    let mut used = WorkerState::default();
    assert_eq!(hits(&mut used), LINES / PROBES);
    assert_eq!(
        hits(&mut used),
        LINES / PROBES,
        "what is remembered is the same"
    );
    group.throughput(Throughput::Elements(LINES as u64));
    group.bench_function("verdicts, fresh", |b| {
        b.iter_batched_ref(WorkerState::default, hits, BatchSize::PerIteration);
    });
    group.bench_function("verdicts, used", |b| b.iter(|| hits(&mut used)));
}

fn judging(group: &mut BenchmarkGroup<'_, WallTime>, rules: &RuleSet, log: &str) {
    let scope = ScanOptions::default();
    let line_scanner = LineScanner::new(rules, &scope);
    let mut scratch = WorkerState::default();
    let findings = line_scanner.scan(log.as_bytes(), &mut scratch);
    assert_eq!(
        (
            findings.lines.lines,
            findings.lines.parsed(),
            findings.hits.len()
        ),
        (LINES as u64, LINES as u64, LINES / PROBES)
    );
    group.throughput(Throughput::Bytes(log.len() as u64));
    let mut judging = || {
        let findings = line_scanner.scan(black_box(log.as_bytes()), &mut scratch);
        scratch.recycle(findings);
    };
    group.bench_function("judging", |b| b.iter(&mut judging));
}

fn tallying(group: &mut BenchmarkGroup<'_, WallTime>, rules: &RuleSet, log: &str) {
    let scope = ScanOptions::default();
    let findings =
        LineScanner::new(rules, &scope).scan(log.as_bytes(), &mut WorkerState::default());
    let tally = || {
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
        tally
    };
    assert_eq!(
        tally().cells().map(|view| view.cell.hits).sum::<u64>(),
        (LINES / PROBES) as u64
    );
    group
        .throughput(Throughput::Elements(findings.hits.len() as u64))
        .bench_function("tallying", |b| b.iter(tally));
}

fn loading(group: &mut BenchmarkGroup<'_, WallTime>, rules: &RuleSet) {
    let choice = RuleChoice::default();
    assert!(rules.rules().len() > 300);
    group.throughput(Throughput::Elements(rules.rules().len() as u64));
    group.bench_function("loading rules", |b| {
        b.iter(|| rules::load(&choice).unwrap());
    });
}

fn main() {
    let (rules, log) = (rules::load(&RuleChoice::default()).unwrap(), log());
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("stages");
    group.sample_size(30);
    frames(&mut group, &log);
    targets(&mut group);
    verdicts(&mut group, &rules, &log);
    judging(&mut group, &rules, &log);
    tallying(&mut group, &rules, &log);
    loading(&mut group, &rules);
    group.finish();
    criterion.final_summary();
}
