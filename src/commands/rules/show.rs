//! `probewatch rules list` and `rules show`: one line for each rule, or one rule in full.

use std::fmt::Write as _;

use super::super::{Exit, stdout};
use super::{find_rule, with_rules};
use crate::redact::sanitize::escape;
use crate::rules::{Answer, Case, Rule, RuleChoice, source_text};

/// Lists the selected rules, or those of one class.
#[must_use]
pub fn list(choice: &RuleChoice, class: Option<&str>) -> Exit {
    let choice = RuleChoice { only: class.map_or_else(|| choice.only.clone(), |c| vec![c.to_owned()]), ..choice.clone() };
    with_rules(&choice, |rules| {
        // Rules that detect apps are always selected, but are listed only on request.
        let options = |rule: &&Rule| !rule.is_app_evidence || choice.only.iter().any(|o| *o == rule.class || *o == rule.id);
        let id = rules.rules().iter().map(|r| r.id.len()).max().unwrap_or(0);
        let class = rules.rules().iter().map(|r| r.class.len()).max().unwrap_or(0);
        let mut out = String::new();
        for rule in rules.rules().iter().filter(options) {
            let window = rule.window.map(|window| format!(" (at {window})")).unwrap_or_default();
            let title = escape(rule.title.as_bytes());
            let _ = writeln!(out, "{:id$}  {:class$}  {:8}  {title}{window}", rule.id, rule.class, rule.severity);
        }
        stdout::print(out.as_bytes())
    })
}

/// Prints one rule.
#[must_use]
pub fn show(choice: &RuleChoice, id: &str) -> Exit {
    with_rules(choice, |rules| match find_rule(rules, id) {
        Ok(rule) => stdout::print(page(rules.rule(rule), source_text(choice, id).as_deref()).as_bytes()),
        Err(exit) => exit,
    })
}

/// A rule in readable form, then as written in its file.
fn page(rule: &Rule, source_text: Option<&str>) -> String {
    let answer = match rule.answer {
        Answer::Exposes => "a 2xx means that the path exists",
        Answer::Inconclusive => "a 2xx means nothing",
    };
    let cwe: Vec<_> = rule.cwe.iter().map(|n| format!("CWE-{n}")).collect();
    let mut out = format!("{}\n  {}\n\n", rule.id, escape(rule.title.as_bytes()));
    let facts = [
        ("class", rule.class.clone()),
        ("severity", rule.severity.to_string()),
        ("answer", answer.to_owned()),
        ("window", rule.window.map(|window| format!("not reported by itself, only at {window}")).unwrap_or_default()),
        ("cve", rule.cve.join(", ")),
        ("cwe", cwe.join(", ")),
        ("att&ck", rule.attack.join(", ")),
    ];
    for (name, fact) in facts.iter().filter(|(_, fact)| !fact.is_empty()) {
        let _ = writeln!(out, "  {name:9} {}", escape(fact.as_bytes()));
    }
    if let Some(table) = source_text {
        let _ = writeln!(out, "\n  as written");
        for line in table.lines() {
            let _ = writeln!(out, "    {}", escape(line.as_bytes()));
        }
        return out;
    }
    let cases = |cases: &[Case]| cases.iter().map(|c| c.request.clone()).collect::<Vec<_>>();
    for (name, lines) in [
        ("references", rule.references.clone()),
        ("false positives", rule.false_positives.clone()),
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
