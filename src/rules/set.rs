//! The compiled set: what reports print of a rule, and what the engine asks.

use std::sync::Arc;

use super::Case;
use super::compile::without_patterns;
use super::condition::Condition;
use super::definition::{APP_FAMILY, Answer, WithClient};
use super::error::{RuleError, nearest};
use super::literals::Literals;
use super::window::Window;
use crate::finding::{RuleId, Severity};
use crate::soft_404::Subject;

/// What a rule says of itself.
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
    /// Matches only where the client asked for other things as well.
    pub with_client: Option<WithClient>,
    /// A request is no finding by itself; so many within a span are told of.
    pub window: Option<Window>,
    /// Apps whose sites are asked for this every day.
    pub unless_app: Vec<String>,
    /// It is the sign of an app: ordinary, and never reported.
    pub is_app_evidence: bool,
    /// What it looks for, as far as it matters for telling a soft 404 from content.
    pub subject: Subject,
    /// CVE ids.
    pub cve: Vec<String>,
    /// MITRE ATT&CK techniques.
    pub attack: Vec<String>,
    /// CWE numbers.
    pub cwe: Vec<u32>,
    /// Pages to read.
    pub references: Vec<String>,
    /// Ordinary requests that may look like this.
    pub false_positives: Vec<String>,
    /// Requests it must match.
    pub must_match: Vec<Case>,
    /// Requests it must not match.
    pub must_not_match: Vec<Case>,
}

impl Rule {
    /// Whether a 2xx means that what was asked for is there.
    #[must_use]
    pub fn exposes(&self) -> bool {
        self.answer == Answer::Exposes
    }

    /// Whether a request that matches is a finding for what stands in its line, whoever asked and however often.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.with_client.is_none() && self.window.is_none()
    }

    /// The name of the app that this is a sign of.
    #[must_use]
    pub fn app(&self) -> Option<&str> {
        self.id.strip_prefix(APP_FAMILY)?.strip_prefix('/').filter(|_| self.is_app_evidence)
    }

    /// How bad a hit is: one level more where it was answered and the answer means something.
    #[must_use]
    pub fn effective_severity(&self, answered: bool) -> Severity {
        if answered && self.exposes() { self.severity.escalated() } else { self.severity }
    }
}

/// The sign of an app among rules, by the app's name.
pub(super) fn sign_of(rules: &[Rule], app: &str) -> Option<RuleId> {
    rules.iter().position(|rule| rule.app() == Some(app)).map(|number| RuleId(number as u16))
}

/// A compiled set of rules, sorted by id, so that sorted [`RuleId`]s are sorted ids.
#[derive(Debug)]
pub struct RuleSet {
    pub(super) rules: Vec<Rule>,
    pub(super) conditions: Vec<Condition>,
    pub(super) request: Literals,
    pub(super) headers: Literals,
    pub(super) unanchored: Vec<u16>,
    pub(super) warnings: Vec<String>,
    /// The signs of the apps that each rule is silenced by.
    pub(super) suppressed_by_apps: Vec<Vec<RuleId>>,
}

impl RuleSet {
    /// The rule with this id.
    #[must_use]
    pub fn rule(&self, id: RuleId) -> &Rule {
        &self.rules[usize::from(id.0)]
    }

    /// What each rule looks for, by number.
    #[must_use]
    pub fn subjects(&self) -> Arc<[Subject]> {
        self.rules.iter().map(|rule| rule.subject).collect()
    }

    /// All rules, by id.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The sign of an app, by the app's name.
    #[must_use]
    pub fn app(&self, name: &str) -> Option<RuleId> {
        sign_of(&self.rules, name)
    }

    /// The app that is most like this name, when one is like it at all.
    #[must_use]
    pub fn nearest_app(&self, name: &str) -> Option<String> {
        nearest(name, self.rules.iter().filter_map(Rule::app))
    }

    /// The signs of the apps on whose sites a rule says nothing.
    #[must_use]
    pub fn suppressed_by_apps(&self, rule: RuleId) -> &[RuleId] {
        &self.suppressed_by_apps[usize::from(rule.0)]
    }

    /// The id that is most like this one, when one is like it at all.
    #[must_use]
    pub fn nearest(&self, id: &str) -> Option<String> {
        nearest(id, self.rules.iter().map(|rule| rule.id.as_str()))
    }

    /// What must hold for a rule, by its number.
    #[must_use]
    pub fn condition(&self, rule: u16) -> &Condition {
        &self.conditions[usize::from(rule)]
    }

    /// The literals that are looked for in a request.
    #[must_use]
    pub fn request_literals(&self) -> &Literals {
        &self.request
    }

    /// The literals that are looked for in the referer and the user agent.
    #[must_use]
    pub fn header_literals(&self) -> &Literals {
        &self.headers
    }

    /// Rules without a literal, which ask for a method or a shape alone.
    #[must_use]
    pub fn unanchored(&self) -> &[u16] {
        &self.unanchored
    }

    /// What is odd about the rules, though not wrong.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The number of the rule with this id.
    #[must_use]
    pub fn number_of(&self, id: &str) -> Option<RuleId> {
        self.rules.binary_search_by(|rule| rule.id.as_str().cmp(id)).ok().map(|number| RuleId(number as u16))
    }

    /// These rules and others, to report by. It matches no line any more.
    ///
    /// # Errors
    ///
    /// The library that looks for literals would not start.
    pub fn with_unknown_rules(&self, others: &[Rule]) -> Result<Self, RuleError> {
        let mut rules: Vec<Rule> = self.rules.iter().chain(others).cloned().collect();
        rules.sort_by(|a, b| a.id.cmp(&b.id));
        without_patterns(rules)
    }
}
