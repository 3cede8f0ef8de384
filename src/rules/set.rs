//! The compiled rule set: what reports print of a rule, and what the engine matches.

use std::sync::{Arc, OnceLock};

use super::builtin;
use super::condition::Condition;
use super::definition::{
    APP_FAMILY, AnswerMeaning, Attribution, Case, Class, RuleNotes, WithClient,
};
use super::error::nearest;
use super::guess::Guess;
use super::literals::Literals;
use super::window::Window;
use crate::log::finding::{RuleId, Severity};
use crate::soft_404::RuleSubject;

/// A rule: what reports print of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// `family/name`.
    pub(crate) id: String,
    /// What it finds.
    pub(crate) title: String,
    /// Its class.
    pub(crate) class: String,
    /// How bad a hit would be.
    pub(crate) severity: Severity,
    /// What a 2xx means.
    pub(crate) answer: AnswerMeaning,
    /// What it is after, if not what its class is.
    pub(crate) wants: Option<String>,
    /// What to do if it was answered, if not what its class says.
    pub(crate) remedy: Option<String>,
    /// It matches only if the client made other requests as well.
    pub(crate) with_client: Option<WithClient>,
    /// A single request is no finding; many within a window are.
    pub(crate) window: Option<Window>,
    /// A single request is an attempt to log in; many by clients that send little else are
    /// findings.
    pub(crate) guess: Option<Guess>,
    /// Apps on whose sites such requests are ordinary.
    pub(crate) unless_app: Vec<String>,
    /// It is app evidence: an ordinary request that is never reported.
    pub(crate) is_app_evidence: bool,
    /// What it looks for, for soft 404 detection.
    pub(crate) subject: RuleSubject,
    /// See [`Rule::notes`]; those of a built-in rule are read when they are needed.
    pub(crate) notes: OnceLock<RuleNotes>,
    /// Ordinary requests that may look like this.
    pub(crate) false_positives: Vec<String>,
    /// Requests it must match.
    pub(crate) must_match: Vec<Case>,
    /// Requests it must not match.
    pub(crate) must_not_match: Vec<Case>,
}

impl Rule {
    /// The ID: the family and the name, as in `dotfiles/env`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What the rule finds, in a few words.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The class, such as `vcs-exposure`. `probewatch rules list` shows all classes.
    #[must_use]
    pub fn class(&self) -> &str {
        &self.class
    }

    /// The severity of a hit without a distinct answer.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// The IDs of the vulnerabilities that the rule finds probes for.
    #[must_use]
    pub fn cve(&self) -> &[String] {
        &self.notes().cve
    }

    /// Vulnerabilities, techniques and references.
    pub(crate) fn notes(&self) -> &RuleNotes {
        self.notes.get_or_init(|| builtin::notes(&self.id))
    }

    /// The CVE ids of a request; `text` is its path and target in lower case.
    pub(crate) fn cves_of<'r>(&'r self, text: &[u8]) -> impl Iterator<Item = &'r str> {
        let all = self.cve().iter().filter(|_| self.notes().of.is_none());
        all.chain(self.entries_in(text).flat_map(|entry| &entry.cve))
            .map(String::as_str)
    }

    /// The products of a request, with the same text.
    pub(crate) fn products_of<'r>(&'r self, text: &[u8]) -> impl Iterator<Item = &'r str> {
        self.entries_in(text)
            .filter_map(|entry| entry.product.as_deref())
    }

    fn entries_in<'r>(&'r self, text: &[u8]) -> impl Iterator<Item = &'r Attribution> {
        self.notes()
            .of
            .iter()
            .flatten()
            .filter(move |entry| entry.is_in(text))
    }

    /// URLs of what is known about it.
    #[must_use]
    pub fn references(&self) -> &[String] {
        &self.notes().references
    }

    /// What such a request is after: a sentence; empty for the evidence of an app.
    #[must_use]
    pub(crate) fn wants(&self) -> &str {
        self.wants
            .as_deref()
            .unwrap_or_else(|| Class::find(&self.class).map_or("", |class| class.wants))
    }

    /// What to do if it was answered: a sentence; empty for the evidence of an app.
    #[must_use]
    pub(crate) fn remedy(&self) -> &str {
        self.remedy
            .as_deref()
            .unwrap_or_else(|| Class::find(&self.class).map_or("", |class| class.remedy))
    }

    /// Whether a 2xx means that the requested resource exists.
    #[must_use]
    pub(crate) fn exposes(&self) -> bool {
        self.answer == AnswerMeaning::Exposes
    }

    /// Whether a matching request is a finding by its line alone, whatever its client and its
    /// frequency.
    #[must_use]
    pub(crate) fn is_certain(&self) -> bool {
        self.with_client.is_none() && !self.counts_requests()
    }

    /// Whether no single request is a finding, but many are.
    #[must_use]
    pub(crate) fn counts_requests(&self) -> bool {
        self.window.is_some() || self.guess.is_some()
    }

    /// Whether it judges a client by what else it requests.
    #[must_use]
    pub(crate) fn judges_clients(&self) -> bool {
        self.guess.is_some() || self.window.is_some_and(|window| window.others.is_some())
    }

    /// The numbers of requests that are findings: `20 requests by one client within 60s`; empty for
    /// other rules.
    #[must_use]
    pub(crate) fn counts_text(&self) -> String {
        let counts = [
            self.window.map(|window| window.to_string()),
            self.guess.map(|guess| guess.to_string()),
        ];
        counts
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", or at ")
    }

    /// The app that this is evidence of.
    #[must_use]
    pub(crate) fn app(&self) -> Option<&str> {
        self.id
            .strip_prefix(APP_FAMILY)?
            .strip_prefix('/')
            .filter(|_| self.is_app_evidence)
    }

    /// The severity of a hit: one level higher if it was answered and the answer exposes something.
    #[must_use]
    pub(crate) fn effective_severity(&self, answered: bool) -> Severity {
        if answered && self.exposes() {
            self.severity.escalated()
        } else {
            self.severity
        }
    }
}

/// The app evidence among rules, by app name.
pub(super) fn evidence_rule(rules: &[Rule], app: &str) -> Option<RuleId> {
    let id = format!("{APP_FAMILY}/{app}");
    let number = rules
        .binary_search_by(|rule| rule.id.cmp(&id))
        .ok()
        .filter(|&number| rules[number].is_app_evidence)?;
    Some(RuleId(number as u16))
}

/// A compiled set of rules.
///
/// Made with [`RuleSet::builtin`] or [`RuleSet::load`], and shared by any number of scans.
#[derive(Debug)]
pub struct RuleSet {
    /// Sorted by ID, so that sorted [`RuleId`]s are sorted IDs.
    pub(super) rules: Vec<Rule>,
    pub(super) conditions: Vec<Condition>,
    pub(super) request: Literals,
    pub(super) headers: Literals,
    pub(super) unanchored: Vec<u16>,
    pub(super) unknown: Vec<RuleId>,
    pub(super) warnings: Vec<String>,
    /// The evidence of the apps that suppress each rule.
    pub(super) suppressed_by_apps: Vec<Vec<RuleId>>,
}

impl RuleSet {
    /// The rule with this id.
    #[must_use]
    pub(crate) fn rule(&self, id: RuleId) -> &Rule {
        &self.rules[usize::from(id.0)]
    }

    /// The subject of each rule, by number.
    #[must_use]
    pub(crate) fn subjects(&self) -> Arc<[RuleSubject]> {
        self.rules.iter().map(|rule| rule.subject).collect()
    }

    /// All rules, sorted by ID, and the evidence of apps, whose class is `app`.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The evidence of an app, by app name.
    #[must_use]
    pub(crate) fn app(&self, name: &str) -> Option<RuleId> {
        evidence_rule(&self.rules, name)
    }

    /// The app most similar to this name, if one is similar.
    #[must_use]
    pub(crate) fn nearest_app(&self, name: &str) -> Option<String> {
        nearest(name, self.rules.iter().filter_map(Rule::app))
    }

    /// The evidence of the apps on whose sites a rule is suppressed.
    #[must_use]
    pub(crate) fn suppressed_by_apps(&self, rule: RuleId) -> &[RuleId] {
        &self.suppressed_by_apps[usize::from(rule.0)]
    }

    /// The id most similar to this one, if one is similar.
    #[must_use]
    pub(crate) fn nearest(&self, id: &str) -> Option<String> {
        nearest(id, self.rules.iter().map(|rule| rule.id.as_str()))
    }

    /// The condition of a rule, by its number.
    #[must_use]
    pub(crate) fn condition(&self, rule: u16) -> &Condition {
        &self.conditions[usize::from(rule)]
    }

    /// The literals to find in a request.
    #[must_use]
    pub(crate) fn request_literals(&self) -> &Literals {
        &self.request
    }

    /// The literals to find in the referer and the user agent.
    #[must_use]
    pub(crate) fn header_literals(&self) -> &Literals {
        &self.headers
    }

    /// Rules without literals, which have only a method or a shape.
    #[must_use]
    pub(crate) fn unanchored(&self) -> &[u16] {
        &self.unanchored
    }

    /// The rules for requests that no other rule matches by their line alone.
    #[must_use]
    pub(crate) fn unknown(&self) -> &[RuleId] {
        &self.unknown
    }

    /// What is probably wrong with the selected rules, as sentences: an app that no rule defines.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The number of the rule with this id.
    #[must_use]
    pub(crate) fn number_of(&self, id: &str) -> Option<RuleId> {
        self.rules
            .binary_search_by(|rule| rule.id.as_str().cmp(id))
            .ok()
            .map(|number| RuleId(number as u16))
    }
}
