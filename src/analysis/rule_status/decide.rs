//! What one hit comes to, once it is known what becomes of each of its rules.
//!
//! Knows no tally: a scan asks the whole log, `follow` what it has seen so far, and both decide alike.

use super::Decision;
use crate::finding::{RuleId, Severity};
use crate::log_entry::Outcome;
use crate::rules::RuleSet;
use crate::soft_404::{Answer, Grade};

/// What becomes of one rule that a request matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleStatus {
    Active,
    /// On a site that runs this app it is `info`, whatever was answered.
    Suppressed(RuleId),
    /// The client is nobody to whom it applies, or it asked too rarely.
    Dropped,
}

/// What a hit by `matched` comes to, whatever outcomes are asked for; the rules that are reported, those from `level` on,
/// go to `kept`.
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
    /// The same for a hit with this outcome: one that is not asked for is neither reported nor missed.
    pub(crate) fn filter_outcome(self, outcomes: &[Outcome], outcome: Outcome) -> Self {
        if outcomes.is_empty() || outcomes.contains(&outcome) {
            return self;
        }
        Self { reported: false, suppressed_by: None, ..self }
    }
}

/// What makes these rules a finding besides the line: who asks, `client`, or how often, `flood`. `None` where a line alone does.
pub(crate) fn required_context(rules: &RuleSet, list: &[RuleId]) -> Option<&'static str> {
    let is_of_client = |rule: &RuleId| rules.rule(*rule).with_client.is_some();
    match list.iter().any(|rule| rules.rule(*rule).is_certain()) {
        true => None,
        false if list.iter().any(is_of_client) => Some("client"),
        false => Some("flood"),
    }
}
