//! `probewatch rules`: shows the rules a scan would use, and runs the cases they carry.

use std::fmt::Write as _;

use super::{Exit, message, stdout};
use crate::engine::{Matcher, Scratch};
use crate::report::sanitize::text;
use crate::rules::{Answer, Case, Rule, RuleChoice, RuleSet, load};

/// Lists the rules of the choice, or those of one class.
#[must_use]
pub fn list(choice: &RuleChoice, class: Option<&str>) -> Exit {
    let choice = RuleChoice { only: class.map_or_else(|| choice.only.clone(), |c| vec![c.to_owned()]), ..choice.clone() };
    with_rules(&choice, |rules| {
        let id = rules.rules().iter().map(|r| r.id.len()).max().unwrap_or(0);
        let class = rules.rules().iter().map(|r| r.class.len()).max().unwrap_or(0);
        let mut out = String::new();
        for rule in rules.rules() {
            let _ = writeln!(out, "{:id$}  {:class$}  {:8}  {}", rule.id, rule.class, rule.severity, text(rule.title.as_bytes()));
        }
        stdout::print(out.as_bytes())
    })
}

/// Prints one rule.
#[must_use]
pub fn show(choice: &RuleChoice, id: &str) -> Exit {
    with_rules(choice, |rules| {
        if let Some(rule) = rules.rules().iter().find(|rule| rule.id == id) {
            return stdout::print(page(rule).as_bytes());
        }
        let meant = rules.nearest(id).map(|id| format!(" (did you mean '{id}'?)")).unwrap_or_default();
        message::refused(&format!("no rule is called '{id}'{meant}; `probewatch rules list` shows them all"))
    })
}

/// Runs the cases of the rules of the choice.
#[must_use]
pub fn test(choice: &RuleChoice) -> Exit {
    with_rules(choice, |rules| {
        let (mut cases, mut wrong) = (0, Vec::new());
        let matcher = Matcher::new(rules);
        let mut scratch = Scratch::default();
        for (number, rule) in rules.rules().iter().enumerate() {
            for (case, expected) in rule.hits.iter().map(|c| (c, true)).chain(rule.misses.iter().map(|c| (c, false))) {
                cases += 1;
                let verdict = matcher.verdict(&case.record(), b"", &mut scratch);
                if scratch.rules(verdict).iter().any(|id| usize::from(id.0) == number) != expected {
                    wrong.push(complaint(rule, case, expected));
                }
            }
        }
        for complaint in &wrong {
            message::error(complaint);
        }
        if wrong.is_empty() {
            return stdout::print(format!("{} rules, {cases} cases: all as they should be\n", rules.rules().len()).as_bytes());
        }
        message::hint("a hit must match its rule and a miss must not; mend the rule or the case");
        Exit::Usage
    })
}

fn with_rules(choice: &RuleChoice, then: impl FnOnce(&RuleSet) -> Exit) -> Exit {
    match load(choice) {
        Ok(rules) => {
            rules.warnings().iter().for_each(|w| message::warning(w));
            then(&rules)
        }
        Err(error) => message::refused(&error.to_string()),
    }
}

fn complaint(rule: &Rule, case: &Case, expected: bool) -> String {
    let request = text(case.request.as_bytes());
    let mut what = if expected {
        format!("{}: does not match its hit '{request}'", rule.id)
    } else {
        format!("{}: matches its miss '{request}'", rule.id)
    };
    for (name, header) in [("user agent", &case.user_agent), ("referer", &case.referer)] {
        if let Some(header) = header {
            let _ = write!(what, ", {name} '{}'", text(header.as_bytes()));
        }
    }
    what
}

/// A rule as a page to read.
fn page(rule: &Rule) -> String {
    let answer = match rule.answer {
        Answer::Exposes => "a 2xx means that it is there",
        Answer::Inconclusive => "a 2xx tells nothing",
    };
    let cwe: Vec<_> = rule.cwe.iter().map(|n| format!("CWE-{n}")).collect();
    let mut out = format!("{}\n  {}\n\n", rule.id, text(rule.title.as_bytes()));
    let facts = [
        ("class", rule.class.clone()),
        ("severity", rule.severity.to_string()),
        ("answer", answer.to_owned()),
        ("cve", rule.cve.join(", ")),
        ("cwe", cwe.join(", ")),
        ("att&ck", rule.attack.join(", ")),
    ];
    for (name, fact) in facts.iter().filter(|(_, fact)| !fact.is_empty()) {
        let _ = writeln!(out, "  {name:9} {}", text(fact.as_bytes()));
    }
    let cases = |cases: &[Case]| cases.iter().map(|c| c.request.clone()).collect::<Vec<_>>();
    for (name, lines) in [
        ("references", rule.references.clone()),
        ("looks like it, but is ordinary", rule.false_positives.clone()),
        ("hits", cases(&rule.hits)),
        ("misses", cases(&rule.misses)),
    ] {
        if !lines.is_empty() {
            let _ = writeln!(out, "\n  {name}");
        }
        for line in lines {
            let _ = writeln!(out, "    {}", text(line.as_bytes()));
        }
    }
    out
}
