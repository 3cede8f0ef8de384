//! The decision for one hit, given the status of each of its rules.
//!
//! It does not depend on a tally: a scan passes the status from the whole log, `follow` from what it has seen so far,
//! and both decide alike.

use super::Decision;
use crate::finding::{RuleId, Severity};
use crate::log_entry::Outcome;
use crate::rules::RuleSet;
use crate::soft_404::{Answer, Grade};

/// Whether a rule that a request matched applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleStatus {
    Active,
    /// The site runs this app, so the rule counts as `info`, whatever the response was.
    Suppressed(RuleId),
    /// The client does not meet its condition, or sent too few requests.
    Dropped,
}

/// The decision for a hit on the rules `matched`, whatever outcomes were requested. Rules from severity `level` on are
/// reported and go to `kept`.
pub(crate) fn decide(
    rules: &RuleSet,
    level: Severity,
    matched: &[RuleId],
    status: Option<u16>,
    standing: impl Fn(RuleId) -> RuleStatus,
    grade: impl FnOnce() -> Grade,
    kept: &mut Vec<RuleId>,
) -> Decision {
    let stands = |rule: &&RuleId| standing(**rule) == RuleStatus::Active;
    let meant = Outcome::of(status) == Outcome::Answered && matched.iter().filter(stands).any(|&rule| rules.rule(rule).exposes());
    let grade = meant.then(grade);
    let answered = grade.is_some_and(|grade| grade.answer == Answer::Distinct);
    let mut silenced = None;
    let mut decision =
        Decision { list: 0, severity: Severity::Info, reported: false, matched: false, answered, grade, suppressed_by: None };
    kept.clear();
    for &rule in matched {
        let usual = rules.rule(rule).effective_severity(answered);
        let severity = match standing(rule) {
            RuleStatus::Dropped => continue,
            RuleStatus::Active => usual,
            RuleStatus::Suppressed(app) => {
                silenced = silenced.or((usual >= level).then_some(app));
                Severity::Info
            }
        };
        decision.matched = true;
        if severity >= level {
            kept.push(rule);
            decision.severity = decision.severity.max(severity);
        }
    }
    decision.reported = !kept.is_empty();
    decision.suppressed_by = silenced.filter(|_| kept.is_empty());
    decision
}

impl Decision {
    /// Limits the decision to the requested outcomes: with any other outcome a hit is neither reported nor suppressed.
    pub(crate) fn filter_outcome(self, outcomes: &[Outcome], outcome: Outcome) -> Self {
        if outcomes.is_empty() || outcomes.contains(&outcome) {
            return self;
        }
        Self { reported: false, suppressed_by: None, ..self }
    }
}

/// What these rules require besides the line: `client`, `flood`, or `None` if the line alone is a finding.
pub(crate) fn required_context(rules: &RuleSet, list: &[RuleId]) -> Option<&'static str> {
    let is_of_client = |rule: &RuleId| rules.rule(*rule).with_client.is_some();
    match list.iter().any(|rule| rules.rule(*rule).is_certain()) {
        true => None,
        false if list.iter().any(is_of_client) => Some("client"),
        false => Some("flood"),
    }
}
