//! `probewatch rules lint`: what is odd about rules that load and pass their cases.

use std::fmt::Write as _;

use super::super::message::shown;
use super::super::{Exit, message, stdout};
use super::{Judge, counted};
use crate::rules::RuleChoice;
use crate::rules::lint::Lint;

/// Prints what is odd about the rules of the choice, a line each.
#[must_use]
pub fn lint(choice: &RuleChoice) -> Exit {
    let lint = match Lint::load(choice) {
        Ok(lint) => lint,
        Err(error) => return message::refused(&error.to_string()),
    };
    let mut judge = Judge::new(lint.set());
    let complaints = lint.diagnostics(|case| judge.matched(case));
    let rules = lint.set().rules().len();
    if complaints.is_empty() {
        return stdout::print(format!("{}: nothing odd\n", counted(rules, "rule")).as_bytes());
    }
    let mut out = String::new();
    for complaint in &complaints {
        let _ = writeln!(out, "{}", shown(&complaint.to_string()));
    }
    let _ = writeln!(out, "{}: {}", counted(rules, "rule"), counted(complaints.len(), "odd thing"));
    match stdout::print(out.as_bytes()) {
        Exit::Success => Exit::Usage,
        failed => failed,
    }
}
