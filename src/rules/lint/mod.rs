//! Lints for rules that load: redundant rules, common literals, missing cases, unsafe exceptions.
//!
//! It reports problems and changes nothing. It uses the engine only through a function of the caller.

mod common;
mod exceptions;
mod literal;
mod metadata;
mod redundancy;

use std::fmt;

pub(super) use self::common::is_common;
pub use self::common::is_ordinary;

use super::case::Case;
use super::compile::compile;
use super::error::RuleError;
use super::load::{LocatedRule, RuleChoice, selected_rules};
use super::set::RuleSet;
use crate::finding::RuleId;

/// The level of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LintLevel {
    /// The rule is wrong.
    Error,
    /// The rule could be better.
    Warning,
}

/// A problem of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file.
    pub file: String,
    /// The line of the rule's id, from 1.
    pub line: usize,
    /// The rule.
    pub id: String,
    /// How bad it is.
    pub level: LintLevel,
    /// The problem.
    pub what: String,
    /// How to fix it.
    pub advice: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, id, level, what, advice } = self;
        let level = if *level == LintLevel::Error { "error" } else { "warning" };
        write!(f, "{file}:{line}: {level}: rule '{id}': {what}; {advice}")
    }
}

/// Rules to check.
#[derive(Debug)]
pub struct Lint {
    rules: Vec<LocatedRule>,
    set: RuleSet,
}

impl Lint {
    /// Loads the selected rules.
    ///
    /// # Errors
    ///
    /// Those of [`load`](super::load): rules that do not load are not checked.
    pub fn load(choice: &RuleChoice) -> Result<Self, RuleError> {
        let rules = selected_rules(choice)?.rules;
        let set = compile(rules.clone())?;
        Ok(Self { rules, set })
    }

    /// The same rules compiled, in the same order.
    #[must_use]
    pub fn set(&self) -> &RuleSet {
        &self.set
    }

    /// All diagnostics, by file and line. `verdict` returns the rules that match a case.
    pub fn diagnostics(&self, verdict: impl FnMut(&Case) -> Vec<RuleId>) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for rule in &self.rules {
            metadata::check(rule, &mut found);
            common::check(rule, &mut found);
            exceptions::check(rule, &mut found);
        }
        redundancy::check(&self.rules, verdict, &mut found);
        found.sort_by(|a, b| (&a.file, a.line, a.level, &a.what).cmp(&(&b.file, b.line, b.level, &b.what)));
        found
    }
}

/// Adds a diagnostic of a rule.
fn report(rule: &LocatedRule, level: LintLevel, what: String, advice: &str, found: &mut Vec<Diagnostic>) {
    let id = rule.definition.id.clone();
    found.push(Diagnostic { file: rule.file.clone(), line: rule.line, id, level, what, advice: advice.to_owned() });
}

/// The first few items of a list, quoted, and the number of the others.
fn few<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 5;
    let items: Vec<_> = items.into_iter().map(|item| format!("'{}'", item.escape_debug())).collect();
    let shown = items[..items.len().min(SHOWN)].join(", ");
    match items.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
