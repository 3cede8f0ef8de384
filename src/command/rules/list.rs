//! `probewatch rules list`: a line a rule.

use std::fmt::Write as _;

use super::super::{Exit, stdout};
use super::with_rules;
use crate::report::sanitize::text;
use crate::rules::RuleChoice;

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
