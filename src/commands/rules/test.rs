//! `probewatch rules test`: runs the cases that rules carry, in the engine of a scan.

use std::fmt::Write as _;

use super::super::{Exit, message, stdout};
use super::{Judge, counted, with_rules};
use crate::redact::sanitize::escape;
use crate::rules::{Case, Rule, RuleChoice};

/// Runs the cases of the rules of the choice. A built-in rule has some; of another it is told that it has none.
#[must_use]
pub fn test(choice: &RuleChoice) -> Exit {
    with_rules(choice, |rules| {
        let (mut cases, mut wrong, mut bare) = (0, Vec::new(), Vec::new());
        let mut judge = Judge::new(rules);
        for (number, rule) in rules.rules().iter().enumerate() {
            if rule.hits.is_empty() || rule.misses.is_empty() {
                bare.push(rule);
            }
            for (case, expected) in rule.hits.iter().map(|c| (c, true)).chain(rule.misses.iter().map(|c| (c, false))) {
                cases += 1;
                if judge.matched(case).iter().any(|id| usize::from(id.0) == number) != expected {
                    wrong.push(complaint(rule, case, expected));
                }
            }
        }
        let is_builtin = !choice.no_builtin;
        for rule in bare {
            let (lacks, shows) = if rule.hits.is_empty() { ("hits", "finds") } else { ("misses", "leaves alone") };
            if is_builtin {
                wrong.push(format!("{}: has no {lacks}", rule.id));
            } else {
                message::notice(&format!("{}: has no {lacks}, so nothing shows what it {shows}; give it two of each", rule.id));
            }
        }
        for complaint in &wrong {
            message::error(complaint);
        }
        if wrong.is_empty() {
            return stdout::print(
                format!("{}, {}: all as they should be\n", counted(rules.rules().len(), "rule"), counted(cases, "case")).as_bytes(),
            );
        }
        message::hint("a hit must match its rule and a miss must not; mend the rule or the case");
        Exit::Usage
    })
}

fn complaint(rule: &Rule, case: &Case, expected: bool) -> String {
    let request = escape(case.request.as_bytes());
    let mut what = if expected {
        format!("{}: does not match its hit '{request}'", rule.id)
    } else {
        format!("{}: matches its miss '{request}'", rule.id)
    };
    for (name, header) in [("user agent", &case.user_agent), ("referer", &case.referer)] {
        if let Some(header) = header {
            let _ = write!(what, ", {name} '{}'", escape(header.as_bytes()));
        }
    }
    what
}
