//! Rule files and the set they compile to.
//!
//! Rules are data: nothing here looks at a log.

use std::path::PathBuf;

use crate::finding::{RuleId, Severity};

/// Which rules a run uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleChoice {
    /// Files and folders of further rules; one with the id of a built-in rule replaces it.
    pub paths: Vec<PathBuf>,
    /// Leave the built-in rules out.
    pub no_builtin: bool,
    /// Ids to leave out.
    pub disable: Vec<String>,
    /// Ids and classes to keep; all where empty.
    pub only: Vec<String>,
    /// Severities that replace those the rules give.
    pub severity: Vec<(String, Severity)>,
}

/// What a 2xx to a probe tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// What was asked for is there.
    Exposes,
    /// Nothing.
    Inconclusive,
}

/// What reports print of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// `family/name`.
    pub id: String,
    /// What it finds.
    pub title: String,
    /// Its class.
    pub class: String,
    /// How bad a hit would be.
    pub severity: Severity,
    /// What a 2xx tells.
    pub answer: Answer,
    /// CVE ids.
    pub cve: Vec<String>,
}

/// A compiled set of rules, sorted by id.
#[derive(Debug)]
pub struct RuleSet {
    rules: Vec<Rule>,
}

impl RuleSet {
    /// A set that matches nothing, for tests of what reports print.
    #[cfg(test)]
    pub(crate) fn of(rules: Vec<Rule>) -> Self {
        Self { rules }
    }

    /// The rule with this id.
    #[must_use]
    pub fn rule(&self, id: RuleId) -> &Rule {
        &self.rules[usize::from(id.0)]
    }
}
