//! `probewatch rules list`: a line a rule.

use std::fmt::Write as _;

use super::super::{Exit, stdout};
use super::with_rules;
use crate::redact::sanitize::escape;
use crate::rules::{Rule, RuleChoice};

/// Lists the rules of the choice, or those of one class.
#[must_use]
pub fn list(choice: &RuleChoice, class: Option<&str>) -> Exit {
    let choice = RuleChoice { only: class.map_or_else(|| choice.only.clone(), |c| vec![c.to_owned()]), ..choice.clone() };
    with_rules(&choice, |rules| {
        // Signs of apps are no rules of any other class, though every choice leaves them in.
        let asked = |rule: &&Rule| !rule.is_sign || choice.only.iter().any(|o| *o == rule.class || *o == rule.id);
        let id = rules.rules().iter().map(|r| r.id.len()).max().unwrap_or(0);
        let class = rules.rules().iter().map(|r| r.class.len()).max().unwrap_or(0);
        let mut out = String::new();
        for rule in rules.rules().iter().filter(asked) {
            let window = rule.window.map(|window| format!(" (at {window})")).unwrap_or_default();
            let title = escape(rule.title.as_bytes());
            let _ = writeln!(out, "{:id$}  {:class$}  {:8}  {title}{window}", rule.id, rule.class, rule.severity);
        }
        stdout::print(out.as_bytes())
    })
}
