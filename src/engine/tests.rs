//! The engine against the cases that rules carry, and its laws.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::finding::Findings;
use crate::rules::{RuleChoice, RuleSet, load};

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
        for (cases, expected) in [(&rule.hits, true), (&rule.misses, false)] {
            assert!(cases.len() >= 2, "{}: two hits and two misses each", rule.id);
            for case in cases {
                let verdict = matcher.verdict(&case.record(), b"", &mut scratch);
                if scratch.rules(verdict).iter().any(|id| usize::from(id.0) == number) != expected {
                    wrong.push(format!("{}: {} {case:?}", rule.id, if expected { "must hit" } else { "must miss" }));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
        prop_assert_eq!(whole.lines, sum);
        prop_assert_eq!(sum.lines, sum.parsed() + sum.unparsed + sum.oversized);
    }
}
