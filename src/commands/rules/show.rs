//! `probewatch rules show`: one rule as a page to read.

use std::fmt::Write as _;

use super::super::{Exit, stdout};
use super::{named, with_rules};
use crate::redact::sanitize::escape;
use crate::rules::{Answer, Case, Rule, RuleChoice, written};

/// Prints one rule.
#[must_use]
pub fn show(choice: &RuleChoice, id: &str) -> Exit {
    with_rules(choice, |rules| match named(rules, id) {
        Ok(rule) => stdout::print(page(rules.rule(rule), written(choice, id).as_deref()).as_bytes()),
        Err(exit) => exit,
    })
}

/// A rule as a page to read: in words, then as it stands in its file.
fn page(rule: &Rule, written: Option<&str>) -> String {
    let answer = match rule.answer {
        Answer::Exposes => "a 2xx means that it is there",
        Answer::Inconclusive => "a 2xx tells nothing",
    };
    let cwe: Vec<_> = rule.cwe.iter().map(|n| format!("CWE-{n}")).collect();
    let mut out = format!("{}\n  {}\n\n", rule.id, escape(rule.title.as_bytes()));
    let facts = [
        ("class", rule.class.clone()),
        ("severity", rule.severity.to_string()),
        ("answer", answer.to_owned()),
        ("window", rule.window.map(|window| format!("no finding by itself, only at {window}")).unwrap_or_default()),
        ("cve", rule.cve.join(", ")),
        ("cwe", cwe.join(", ")),
        ("att&ck", rule.attack.join(", ")),
    ];
    for (name, fact) in facts.iter().filter(|(_, fact)| !fact.is_empty()) {
        let _ = writeln!(out, "  {name:9} {}", escape(fact.as_bytes()));
    }
    if let Some(table) = written {
        let _ = writeln!(out, "\n  as written");
        for line in table.lines() {
            let _ = writeln!(out, "    {}", escape(line.as_bytes()));
        }
        return out;
    }
    let cases = |cases: &[Case]| cases.iter().map(|c| c.request.clone()).collect::<Vec<_>>();
    for (name, lines) in [
        ("references", rule.references.clone()),
        ("looks like it, but is ordinary", rule.false_positives.clone()),
        ("must_match", cases(&rule.must_match)),
        ("must_not_match", cases(&rule.must_not_match)),
    ] {
        if !lines.is_empty() {
            let _ = writeln!(out, "\n  {name}");
        }
        for line in lines {
            let _ = writeln!(out, "    {}", escape(line.as_bytes()));
        }
    }
    out
}
