//! `probewatch rules lint`: problems of rules that load.

use std::fmt::Write as _;

use super::super::message::shown;
use super::super::{Exit, message, stdout};
use super::{CaseRunner, counted};
use crate::rules::RuleChoice;
use crate::rules::lint::Lint;

/// Prints the diagnostics of the chosen rules, a line each.
#[must_use]
pub fn lint(choice: &RuleChoice) -> Exit {
    let lint = match Lint::load(choice) {
        Ok(lint) => lint,
        Err(error) => return message::refused(&error.to_string()),
    };
    let mut runner = CaseRunner::new(lint.set());
    let diagnostics = lint.diagnostics(|case| runner.matched(case));
    let rules = lint.set().rules().len();
    if diagnostics.is_empty() {
        return stdout::print(format!("{}: nothing odd\n", counted(rules, "rule")).as_bytes());
    }
    let mut out = String::new();
    for diagnostic in &diagnostics {
        let _ = writeln!(out, "{}", shown(&diagnostic.to_string()));
    }
    let _ = writeln!(out, "{}: {}", counted(rules, "rule"), counted(diagnostics.len(), "problem"));
    match stdout::print(out.as_bytes()) {
        Exit::Success => Exit::Usage,
        failed => failed,
    }
}
