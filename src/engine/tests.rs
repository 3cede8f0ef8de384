//! The engine against the cases that rules carry, and its laws.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::explain::Explainer;
use super::*;
use crate::finding::{Findings, Severity};
use crate::record::Record;
use crate::rules::{RuleChoice, RuleSet, Shape, load};

fn builtin() -> &'static RuleSet {
    static BUILTIN: LazyLock<RuleSet> = LazyLock::new(|| load(&RuleChoice::default()).unwrap());
    &BUILTIN
}

#[test]
fn every_rule_hits_and_misses_as_it_says() {
    let rules = builtin();
    let matcher = Matcher::new(rules);
    let mut scratch = Scratch::default();
    let mut wrong = Vec::new();
    for (number, rule) in rules.rules().iter().enumerate() {
        for (cases, expected) in [(&rule.must_match, true), (&rule.must_not_match, false)] {
            assert!(cases.len() >= 2, "{}: at least two cases of each kind", rule.id);
            for case in cases {
                let verdict = matcher.lone_verdict(&case.record(), &mut scratch);
                if scratch.rules(verdict).iter().any(|id| usize::from(id.0) == number) != expected {
                    wrong.push(format!("{}: {} {case:?}", rule.id, if expected { "must hit" } else { "must miss" }));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn binary_is_what_was_sent_however_it_was_escaped() {
    let shape = |request| Probe::of_record(&Record { request, ..Record::default() }).shape;
    for logged in [&br"JRMI\x00\x02K"[..], br"JRMI\u0000\u0002K", br"a\n", br"a\x7F", br"\\\n", b"a\xff"] {
        assert_eq!(shape(logged), Some(Shape::Binary), "{}", logged.escape_ascii());
    }
    for logged in [&br"stats\x5Cr\x5Cn"[..], br"stats\\r\\n", br"\\x00", br"a\u005Cn", br"a\", br"a\x0"] {
        assert_eq!(shape(logged), Some(Shape::NoMethod), "{}", logged.escape_ascii());
    }
}

/// What a run of lines came to, in a form that does not depend on how it was cut.
fn told(findings: &Findings, scratch: &Scratch, offset: u64, line: u64) -> Vec<String> {
    findings
        .hits
        .iter()
        .map(|hit| {
            let text = String::from_utf8_lossy(findings.text(hit)).into_owned();
            format!("{} {} {text} {:?}", hit.offset + offset, u64::from(hit.line) + line, scratch.names.rules.key(hit.rules))
        })
        .collect()
}

fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let request = prop_oneof![
        Just("GET /.env HTTP/1.1"),
        Just("GET /ordinary?a=1 HTTP/1.1"),
        Just("GET /?q=%27+union+select+1 HTTP/1.1"),
        Just(r"\x16\x03\x01"),
        Just("GET /a/../.git/config HTTP/1.1"),
    ];
    let parsed = (request, "192\\.0\\.2\\.[1-9]", 100_u16..600).prop_map(|(request, client, status)| {
        format!(r#"{client} - - [02/Nov/2026:08:01:00 +0000] "{request}" {status} 1 "-" "sqlmap/1.8""#).into_bytes()
    });
    prop_oneof![4 => parsed, 1 => prop::collection::vec(any::<u8>(), 0..40), 1 => Just(Vec::new())]
}

proptest! {
    #[test]
    fn a_cut_between_lines_changes_nothing(lines in prop::collection::vec(any_line(), 1..30), cut in any::<prop::sample::Index>()) {
        let rules = builtin();
        let scope = Scope::default();
        let judge = Judge::new(rules, &scope);
        let text = lines.join(&b'\n');
        let ends: Vec<_> = memchr::memchr_iter(b'\n', &text).map(|n| n + 1).chain([0]).collect();
        let cut = ends[cut.index(ends.len())];
        let mut scratch = Scratch::default();
        let whole = judge.judge(&text, &mut scratch);
        let first = judge.judge(&text[..cut], &mut scratch);
        let second = judge.judge(&text[cut..], &mut scratch);
        let mut parts = told(&first, &scratch, 0, 0);
        parts.extend(told(&second, &scratch, cut as u64, first.lines.lines));
        prop_assert_eq!(told(&whole, &scratch, 0, 0), parts);
        let mut sum = first.lines;
        sum.add(&second.lines);
        prop_assert_eq!(&whole.lines, &sum);
        prop_assert_eq!(sum.lines, sum.parsed() + sum.unparsed + sum.oversized);
    }
}

#[test]
fn lines_of_any_length_are_found_wherever_blocks_end() {
    let (rules, scope) = (builtin(), Scope::default());
    let judge = Judge::new(rules, &scope);
    let probe = |length: usize| {
        let path = "a".repeat(length);
        format!(r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /{path}/.env HTTP/1.1" 404 1 "-" "-""#)
    };
    for length in [0, 63, 64, 1_000, 65_300, 65_440, 65_460, 65_470, 70_000, 140_000] {
        for behind in ["", "\n", "\n\n", "\nx", "\0\0"] {
            let text = format!("{}\nx\n{}\n\r\n{}{behind}", probe(3), probe(length), probe(length / 2)).into_bytes();
            let mut scratch = Scratch::default();
            let whole = judge.judge(&text, &mut scratch);
            assert_eq!(whole.hits.len(), 3, "{length} {behind:?}");
            let (mut sum, mut told_each, mut at) = (crate::finding::LineCounts::default(), Vec::new(), 0);
            for line in text.split_inclusive(|&b| b == b'\n') {
                let found = judge.judge(line, &mut scratch);
                told_each.extend(told(&found, &scratch, at, sum.lines));
                sum.add(&found.lines);
                at += line.len() as u64;
            }
            assert_eq!((told(&whole, &scratch, 0, 0), &whole.lines), (told_each, &sum), "{length} {behind:?}");
        }
    }
}

/// The ids of the rules that an explanation says match.
fn explained(explainer: &Explainer<'_>, probe: &Probe<'_>) -> Vec<crate::finding::RuleId> {
    explainer.explain(probe, None).matches.iter().map(|account| account.rule).collect()
}

#[test]
fn what_is_explained_is_what_matches() {
    let rules = builtin();
    let (matcher, explainer) = (Matcher::new(rules), Explainer::new(rules, Severity::Info, &[]));
    let mut scratch = Scratch::default();
    for case in rules.rules().iter().flat_map(|rule| rule.must_match.iter().chain(&rule.must_not_match)) {
        let verdict = matcher.lone_verdict(&case.record(), &mut scratch);
        assert_eq!(explained(&explainer, &Probe::of_record(&case.record())), scratch.rules(verdict), "{case:?}");
        let line = format!(r#"x "{}" "{}""#, case.request, case.user_agent.as_deref().unwrap_or_default());
        let verdict = matcher.raw_verdict(line.as_bytes(), &mut scratch);
        assert_eq!(explained(&explainer, &Probe::of_raw(line.as_bytes())), scratch.rules(verdict), "{line}");
    }
}

#[test]
fn one_rule_alone_is_explained_whatever_it_says() {
    let rules = builtin();
    let explainer = Explainer::new(rules, Severity::Info, &[]);
    let record = Record { request: b"GET / HTTP/1.1", status: Some(200), ..Default::default() };
    for number in 0..rules.rules().len() {
        let id = crate::finding::RuleId(number as u16);
        let told = explainer.explain(&Probe::of_record(&record), Some(id));
        assert!(told.matches.is_empty() && told.misses.len() == 1, "{}", rules.rule(id).id);
        assert!(told.misses[0].missing().count() > 0, "{}: no reason", rules.rule(id).id);
    }
}

/// Requests out of pieces of those that rules speak of, as they stand there and disguised.
fn any_probe() -> impl Strategy<Value = (String, Option<String>, Option<String>, Option<u16>)> {
    let piece = |text: &Option<String>| text.clone().unwrap_or_default();
    let cases: Vec<_> = builtin()
        .rules()
        .iter()
        .flat_map(|rule| &rule.must_match)
        .map(|case| (case.request.clone(), piece(&case.referer), piece(&case.user_agent)))
        .collect();
    let pick = || prop::sample::select(cases.clone());
    let request = (pick(), pick(), any::<prop::sample::Index>(), 0..6).prop_map(|((a, ..), (b, ..), cut, how)| {
        let cut = (0..=cut.index(a.len() + 1)).rev().find(|&at| a.is_char_boundary(at)).unwrap_or(0);
        match how {
            0 => a,
            1 => format!("{}{}", &a[..cut], b.trim_start_matches("GET ")),
            2 => a.replace(['/', '.'], "%2f"),
            3 => a.replace('.', "%252e"),
            4 => format!("{}#{}", &a[..cut], b.trim_start_matches("GET ")),
            _ => format!("{}{}", b, &a[cut..]),
        }
    });
    let header = prop::option::of(pick().prop_map(|(request, referer, agent)| [request, referer, agent].concat()));
    (request, header.clone(), header, prop::option::of(prop::sample::select(vec![200_u16, 301, 404, 500])))
}

proptest! {
    #[test]
    fn an_explanation_never_disagrees((request, referer, agent, status) in any_probe()) {
        let rules = builtin();
        let record = Record {
            request: request.as_bytes(),
            referer: referer.as_deref().map(str::as_bytes),
            user_agent: agent.as_deref().map(str::as_bytes),
            status,
            ..Default::default()
        };
        let mut scratch = Scratch::default();
        let verdict = Matcher::new(rules).verdict(&record, b"x", &mut scratch);
        let probe = Probe::of_record(&record);
        let told = Explainer::new(rules, Severity::Info, &[]).explain(&probe, None);
        prop_assert_eq!(told.matches.iter().map(|account| account.rule).collect::<Vec<_>>(), scratch.rules(verdict));
        for account in told.matches.iter().chain(&told.misses) {
            prop_assert!(account.matches() || account.missing().count() > 0);
            for (_, span) in account.spans() {
                prop_assert!(told.texts.of_view(span.view).get(span.range.clone()).is_some(), "{:?}", span);
            }
        }
    }
}

proptest! {
    #[test]
    fn a_verdict_is_the_same_without_the_prefilter((request, referer, agent, status) in any_probe()) {
        static WITHOUT: LazyLock<RuleSet> = LazyLock::new(|| load(&RuleChoice { no_prefilter: true, ..RuleChoice::default() }).unwrap());
        let [referer, user_agent] = [&referer, &agent].map(|header| header.as_deref().map(str::as_bytes));
        let record = Record { request: request.as_bytes(), referer, user_agent, status, ..Default::default() };
        let [with, without] = [builtin(), &WITHOUT].map(|rules| {
            let mut scratch = Scratch::default();
            let verdict = Matcher::new(rules).verdict(&record, b"x", &mut scratch);
            scratch.rules(verdict).to_vec()
        });
        prop_assert_eq!(with, without);
    }

    #[test]
    fn what_is_remembered_and_shared_is_what_the_rules_say(
        probes in prop::collection::vec(any_probe(), 1..4),
        steps in prop::collection::vec((0..4_usize, 0..4_usize, 0..4_usize, 0..2_usize), 1..40),
    ) {
        let matcher = Matcher::new(builtin());
        let shared = std::sync::Arc::new(Shared::default());
        let mut workers = [(); 2].map(|()| Scratch::sharing(std::sync::Arc::clone(&shared)));
        let mut alone = Scratch::default();
        for (request, headers, status, worker) in steps {
            let of = |number: usize| &probes[number % probes.len()];
            let (_, referer, agent, _) = of(headers);
            let text = format!("{referer:?} {agent:?}");
            let record = Record {
                request: of(request).0.as_bytes(),
                referer: referer.as_deref().map(str::as_bytes),
                user_agent: agent.as_deref().map(str::as_bytes),
                status: of(status).3,
                ..Default::default()
            };
            let scratch = &mut workers[worker];
            let known = scratch.recall(record.request, text.as_bytes(), record.status);
            let verdict = known.unwrap_or_else(|| matcher.verdict(&record, text.as_bytes(), scratch));
            let expected = matcher.lone_verdict(&record, &mut alone);
            prop_assert_eq!(scratch.rules(verdict), alone.rules(expected), "{:?}", record);
            prop_assert_eq!(scratch.names.paths.key(verdict.path), alone.names.paths.key(expected.path));
        }
    }
}
