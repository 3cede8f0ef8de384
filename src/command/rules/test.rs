//! `probewatch rules test`: runs the cases that rules carry, in the engine of a scan.

use std::fmt::Write as _;

use super::super::{Exit, message, stdout};
use super::{CaseRunner, counted, with_rules};
use crate::report::sanitize::text;
use crate::rules::{Case, Rule, RuleChoice};

/// Runs the cases of the chosen rules. A built-in rule without cases is an error, another one a notice.
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
    let request = text(case.request.as_bytes());
    let mut what = if expected {
        format!("{}: does not match its must_match case '{request}'", rule.id)
    } else {
        format!("{}: matches its must_not_match case '{request}'", rule.id)
    };
    for (name, header) in [("user agent", &case.user_agent), ("referer", &case.referer)] {
        if let Some(header) = header {
            let _ = write!(what, ", {name} '{}'", text(header.as_bytes()));
        }
    }
    what
}
