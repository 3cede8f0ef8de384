//! Rules that an earlier report told of and that this set does not know: enough of them to report by, nothing to match with.

use super::compile::without_patterns;
use super::error::RuleError;
use super::set::{Rule, RuleSet};
use crate::finding::RuleId;

impl RuleSet {
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
    pub fn reporting_also(&self, others: &[Rule]) -> Result<Self, RuleError> {
        let mut rules: Vec<Rule> = self.rules.iter().chain(others).cloned().collect();
        rules.sort_by(|a, b| a.id.cmp(&b.id));
        without_patterns(rules)
    }
}
