//! `probewatch rules lint` and `rules test`: warnings about rules, and the cases that rules carry.

use std::fmt::Write as _;

use super::super::message::sanitized;
use super::super::{Exit, message, stdout};
use super::{CaseRunner, counted, with_rules};
use crate::redact::sanitize::escape;
use crate::rules::lint::Lint;
use crate::rules::{Case, Rule, RuleChoice};

/// Prints the diagnostics of the selected rules, one per line.
#[must_use]
pub fn lint(choice: &RuleChoice) -> Exit {
    let lint = match Lint::load(choice) {
        Ok(lint) => lint,
        Err(error) => return message::usage_error(&error.to_string()),
    };
    let mut runner = CaseRunner::new(lint.set());
    let diagnostics = lint.diagnostics(|case| runner.matched(case));
    let rules = lint.set().rules().len();
    if diagnostics.is_empty() {
        return stdout::print(format!("{}: nothing odd\n", counted(rules, "rule")).as_bytes());
    }
    let mut out = String::new();
    for diagnostic in &diagnostics {
        let _ = writeln!(out, "{}", sanitized(&diagnostic.to_string()));
    }
    let _ = writeln!(out, "{}: {}", counted(rules, "rule"), counted(diagnostics.len(), "odd thing"));
    match stdout::print(out.as_bytes()) {
        Exit::Success => Exit::Usage,
        failed => failed,
    }
}

/// Runs the cases of the selected rules. A built-in rule without cases is an error, another one a notice.
#[must_use]
pub fn test(choice: &RuleChoice) -> Exit {
    with_rules(choice, |rules| {
        let (mut cases, mut wrong, mut bare) = (0, Vec::new(), Vec::new());
        let mut runner = CaseRunner::new(rules);
        for (number, rule) in rules.rules().iter().enumerate() {
            if rule.must_match.is_empty() || rule.must_not_match.is_empty() {
                bare.push(rule);
            }
            for (case, expected) in rule.must_match.iter().map(|c| (c, true)).chain(rule.must_not_match.iter().map(|c| (c, false))) {
                cases += 1;
                if runner.matched(case).iter().any(|id| usize::from(id.0) == number) != expected {
                    wrong.push(failure(rule, case, expected));
                }
            }
        }
        let is_builtin = !choice.no_builtin;
        for rule in bare {
            let (key, untested) = if rule.must_match.is_empty() { ("must_match", "matches") } else { ("must_not_match", "leaves alone") };
            if is_builtin {
                wrong.push(format!("{}: has no {key} cases", rule.id));
            } else {
                message::notice(&format!("{}: has no {key} cases, so what it {untested} is not tested; give it two of each kind", rule.id));
            }
        }
        for failure in &wrong {
            message::error(failure);
        }
        if wrong.is_empty() {
            return stdout::print(format!("{}, {}: all passed\n", counted(rules.rules().len(), "rule"), counted(cases, "case")).as_bytes());
        }
        message::hint("a rule must match its must_match cases and none of its must_not_match cases; fix the rule or the case");
        Exit::Usage
    })
}

fn failure(rule: &Rule, case: &Case, expected: bool) -> String {
    let request = escape(case.request.as_bytes());
    let mut what = if expected {
        format!("{}: does not match its must_match case '{request}'", rule.id)
    } else {
        format!("{}: matches its must_not_match case '{request}'", rule.id)
    };
    for (name, header) in [("user agent", &case.user_agent), ("referer", &case.referer)] {
        if let Some(header) = header {
            let _ = write!(what, ", {name} '{}'", escape(header.as_bytes()));
        }
    }
    what
}
