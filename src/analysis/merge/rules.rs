//! Rules that only the reports know: numbered behind the known ones while reports are added up, and put among them at the end.

use super::MergeError;
use crate::finding::RuleId;
use crate::rules::{MOST_RULES, Rule, RuleSet};
use crate::tally::{ImportRemap, Tally};

/// Rules in the order they were met.
#[derive(Debug, Default)]
pub(crate) struct UnknownRules {
    rules: Vec<Rule>,
}

impl UnknownRules {
    /// Adds others, and gives the numbers they have behind the `first` known ones.
    pub(crate) fn add(&mut self, others: Vec<Rule>, first: usize) -> Result<Vec<RuleId>, MergeError> {
        others.into_iter().map(|rule| self.number(rule, first)).collect()
    }

    fn number(&mut self, rule: Rule, first: usize) -> Result<RuleId, MergeError> {
        let at = self.rules.iter().position(|known| known.id == rule.id).unwrap_or(self.rules.len());
        match self.rules.get_mut(at) {
            // Reports may not agree on it; which of them came first must not matter.
            Some(known) if weight(&rule) > weight(known) => *known = rule,
            Some(_) => {}
            None => self.rules.push(rule),
        }
        let number = first + at;
        if number >= MOST_RULES { Err(MergeError::TooManyRules(MOST_RULES)) } else { Ok(RuleId(number as u16)) }
    }

    /// The rules to report by, a tally that knows them, and the ids of those that were not known.
    pub(crate) fn resolve(
        self,
        known: &RuleSet,
        tally: Tally,
        inputs: usize,
        allowed: usize,
        is_left_out: impl Fn(&Rule) -> bool,
    ) -> Result<(Option<RuleSet>, Tally, Vec<String>), MergeError> {
        if self.rules.is_empty() {
            return Ok((None, tally, Vec::new()));
        }
        let kept: Vec<Rule> = self.rules.iter().filter(|rule| !is_left_out(rule)).cloned().collect();
        let set = known.with_unknown_rules(&kept)?;
        let of_known = known.rules().iter().chain(&self.rules).map(|rule| set.number_of(&rule.id));
        let numbers: Vec<Option<RuleId>> = of_known.collect();
        let inputs: Vec<u32> = (0..inputs as u32).collect();
        let allowed: Vec<u16> = (0..=u16::MAX).take(allowed).collect();
        let new = ImportRemap { inputs: &inputs, rules: &|rule| numbers[usize::from(rule.0)], allowed: &allowed };
        let mut ids: Vec<String> = kept.into_iter().map(|rule| rule.id).collect();
        ids.sort();
        Ok((Some(set), tally.remapped(&new), ids))
    }
}

/// A total order of what reports can say of a rule, the worst last.
fn weight(rule: &Rule) -> impl Ord + '_ {
    (
        rule.severity,
        rule.exposes(),
        &rule.class,
        &rule.title,
        &rule.cve,
        &rule.unless_app,
        &rule.with_client,
        rule.is_app_evidence,
        rule.window,
    )
}
