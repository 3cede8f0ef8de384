//! Any split comes to the same, whoever adds it up.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::engine::{Judge, Scope, Scratch};
use crate::finding::Severity;
use crate::format::LogFormat;
use crate::report::build::{Context, Material, Wanted, build};
use crate::report::evidence::read;
use crate::report::{By, Format, View, render};
use crate::rules::{RuleChoice, load};
use crate::tally::{Place, span};

/// The rules that come with the program: they have conditions on clients, and apps.
fn rules() -> &'static RuleSet {
    static SET: LazyLock<RuleSet> = LazyLock::new(|| load(&RuleChoice::default()).unwrap());
    &SET
}

/// Some lines of a log, from a place in it on.
#[derive(Debug, Clone)]
struct Piece {
    machine: Option<&'static str>,
    path: &'static str,
    generation: u64,
    offset: u64,
    lines_before: u64,
    text: String,
}

impl Piece {
    fn new(path: &'static str, lines: &[String]) -> Self {
        Self { machine: None, path, generation: 7, offset: 0, lines_before: 0, text: lines.concat() }
    }

    fn source(&self) -> SourceText {
        SourceText::new(self.path.into(), self.generation, Vec::new()).on(self.machine)
    }
}

/// What a scan of these would hand to a report; pieces of one log are one input.
struct Scanned {
    tally: Tally,
    texts: Vec<SourceText>,
    inputs: Vec<Input>,
    allow: AllowList,
}

fn scan(pieces: &[Piece]) -> Scanned {
    let asked = Scope::default();
    let judge = Judge::new(rules(), &asked);
    let (mut scratch, mut tally, mut texts, mut inputs) =
        (Scratch::default(), Tally::default(), Vec::<SourceText>::new(), Vec::<Input>::new());
    for piece in pieces {
        let source = piece.source();
        let at = texts.iter().position(|known| *known == source).unwrap_or_else(|| {
            texts.push(source.clone());
            inputs.push(Input { path: source.path.clone(), machine: piece.machine.map(str::to_owned), ..Input::default() });
            texts.len() - 1
        });
        let findings = judge.judge(piece.text.as_bytes(), &mut scratch);
        tally.absorb(&findings, Place { input: at as u32, chunk: piece.offset, offset: 0, line: piece.lines_before });
        let input = &mut inputs[at];
        input.bytes += piece.text.len() as u64;
        input.lines += findings.lines.lines;
        input.parsed += findings.lines.parsed();
        for (sum, lines) in input.formats.iter_mut().zip(findings.lines.parsed) {
            *sum += lines;
        }
        input.format = LogFormat::most_of(&input.formats).map(LogFormat::as_str);
        input.unparsed += findings.lines.unparsed;
        input.requests += findings.requests();
        (input.first_time, input.last_time) = span(input.first_time.zip(input.last_time), findings.times).unzip();
    }
    Scanned { tally: tally.named(scratch.names), texts, inputs, allow: AllowList::default() }
}

const ALL: Wanted = Wanted { answered: true, pairs: true, clients: true, paths: true, rules: true, most: None };

fn with_report<R>(rules: &RuleSet, scanned: &Scanned, use_it: impl FnOnce(&Report<'_>) -> R) -> R {
    let material = Material {
        rules,
        tally: &scanned.tally,
        texts: &scanned.texts,
        min_severity: Severity::Low,
        outcomes: &[],
        apps: &[],
        allow: &scanned.allow,
    };
    let context = Context::of(&material);
    use_it(&build(&material, &context, scanned.inputs.clone(), 0, ALL))
}

fn printed(rules: &RuleSet, scanned: &Scanned, format: Format, by: By) -> String {
    let view = View { format, by: Some(by), ..View::default() };
    let mut out = Vec::new();
    with_report(rules, scanned, |report| render(report, &view, &mut out)).unwrap();
    String::from_utf8(out).unwrap()
}

fn json(scanned: &Scanned) -> String {
    printed(rules(), scanned, Format::Json, By::Pair)
}

/// Adds up reports in JSON.
fn merged(reports: &[String]) -> Scanned {
    let mut merged = Merged::new(rules());
    for report in reports {
        merged.add(read(report.as_bytes(), rules()).unwrap()).unwrap();
    }
    of_whole(merged.finish(|_| false).unwrap())
}

fn of_whole(whole: Whole) -> Scanned {
    let Whole { tally, texts, inputs, allow, rules, .. } = whole;
    assert!(rules.is_none(), "all rules are known");
    Scanned { tally, texts, inputs, allow }
}

/// A line of a log in which something may be found.
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
    let client = prop::sample::select(vec!["192.0.2.1", "192.0.2.2", "2001:db8::7", "host.example", "198.51.100.9"]);
    let host = prop::sample::select(vec!["", "", "shop.example:443 ", "Blog.Example:80 ", "token=abc:80 "]);
    let agent = prop::sample::select(vec!["Mozilla/5.0", "curl/8", "-", "x?password=hunter2", "sqlmap/1.8"]);
    let size = prop::sample::select(vec![512_u32, 512, 512, 7, 8, 9]);
    (client, host, target, status, agent, size, 0_u32..60).prop_map(|(client, host, target, status, agent, size, second)| {
        if agent == "curl/8" && second % 7 == 0 {
            return format!("{client} no log line at all {target}\n");
        }
        format!("{host}{client} - - [02/Nov/2026:08:01:{second:02} +0100] \"GET {target} HTTP/1.1\" {status} {size} \"-\" \"{agent}\"\n")
    })
}

/// Lines in pieces: of several logs on several machines, and of one log cut in several.
fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let logs = [(None, "a.log"), (None, "a.log.1"), (None, "b.log"), (Some("web1"), "a.log"), (Some("web2"), "a.log")];
    let one = (prop::sample::select(logs.to_vec()), prop::collection::vec(line(), 0..25));
    prop::collection::vec(one, 1..7).prop_map(|each| {
        let mut pieces: Vec<Piece> = Vec::new();
        for ((machine, path), lines) in each {
            let before = pieces.iter().rev().find(|piece| (piece.machine, piece.path) == (machine, path));
            let (offset, lines_before) = before
                .map_or((0, 0), |piece| (piece.offset + piece.text.len() as u64, piece.lines_before + piece.text.lines().count() as u64));
            pieces.push(Piece { machine, offset, lines_before, ..Piece::new(path, &lines) });
        }
        pieces
    })
}

/// The inputs in the order in which reports are added up.
fn sorted(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.sort_by_key(|piece| (piece.machine, piece.path));
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_split_in_any_order_and_grouping_is_the_whole(pieces in pieces(), order in any::<u64>(), cut in any::<prop::sample::Index>()) {
        let whole = scan(&sorted(pieces.clone()));
        let mut parts: Vec<String> = pieces.iter().map(|piece| json(&scan(std::slice::from_ref(piece)))).collect();
        let turn = order as usize % parts.len();
        parts.rotate_left(turn);
        if order % 2 == 0 {
            parts.reverse();
        }
        let at = cut.index(parts.len() + 1);
        let groups: Vec<String> = [&parts[..at], &parts[at..]].iter().filter(|group| !group.is_empty()).map(|group| json(&merged(group))).collect();
        for result in [merged(&parts), merged(&groups)] {
            prop_assert_eq!(json(&result), json(&whole));
            for by in [By::Pair, By::Client, By::Path, By::Rule] {
                prop_assert_eq!(printed(rules(), &result, Format::Csv, by), printed(rules(), &whole, Format::Csv, by));
            }
        }
    }

    #[test]
    fn a_part_of_this_run_is_as_if_it_were_written_and_read(pieces in pieces()) {
        let parts: Vec<Scanned> = pieces.iter().map(|piece| scan(std::slice::from_ref(piece))).collect();
        let written: Vec<String> = parts.iter().map(json).collect();
        let mut told = Merged::new(rules());
        for (number, part) in parts.iter().enumerate() {
            if number % 2 == 0 {
                with_report(rules(), part, |report| told.add_part(report)).unwrap();
            } else {
                told.add(read(written[number].as_bytes(), rules()).unwrap()).unwrap();
            }
        }
        prop_assert_eq!(json(&of_whole(told.finish(|_| false).unwrap())), json(&merged(&written)));
    }
}
