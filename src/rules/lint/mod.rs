//! What is odd about rules, though they load: what says a thing twice, what costs time on every line, what proves
//! nothing of itself.
//!
//! It reads rules and says what to do; it changes nothing, and it asks the engine only through the caller, who has one.

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

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LintLevel {
    /// It is wrong.
    Error,
    /// It could be better.
    Warning,
}

/// What is said of one rule.
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
    /// What is odd.
    pub what: String,
    /// What to do about it.
    pub advice: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, id, level, what, advice } = self;
        let level = if *level == LintLevel::Error { "error" } else { "warning" };
        write!(f, "{file}:{line}: {level}: rule '{id}': {what}; {advice}")
    }
}

/// Rules to look at.
#[derive(Debug)]
pub struct Lint {
    rules: Vec<LocatedRule>,
    set: RuleSet,
}

impl Lint {
    /// Reads the chosen rules.
    ///
    /// # Errors
    ///
    /// What [`load`](super::load) says of them: rules that do not load are not looked at.
    pub fn load(choice: &RuleChoice) -> Result<Self, RuleError> {
        let rules = selected_rules(choice)?.rules;
        let set = compile(rules.clone())?;
        Ok(Self { rules, set })
    }

    /// The same rules compiled, numbered in the same order.
    #[must_use]
    pub fn set(&self) -> &RuleSet {
        &self.set
    }

    /// Everything that is odd, by file and line. `verdict` says which rules match a case.
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

/// Collects complaints about one rule.
fn report(rule: &LocatedRule, level: LintLevel, what: String, advice: &str, found: &mut Vec<Diagnostic>) {
    let id = rule.definition.id.clone();
    found.push(Diagnostic { file: rule.file.clone(), line: rule.line, id, level, what, advice: advice.to_owned() });
}

/// The first few of a list, quoted, and how many more there are.
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
