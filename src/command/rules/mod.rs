//! `probewatch rules`: shows the rules a scan would use, tries them, and makes rules of one's own.

mod add;
mod cover;
mod file;
mod import;
mod lint;
mod list;
mod show;
mod test;

pub use add::{Added, FILE, add};
pub use cover::cover;
pub use import::{Imported, import};
pub use lint::lint;
pub use list::list;
pub use show::show;
pub use test::test;

use super::{Exit, message};
use crate::engine::{Matcher, WorkerState};
use crate::finding::RuleId;
use crate::rules::{Case, RuleChoice, RuleSet, load};

/// The rule with this id; else it is told which one may be meant.
pub(super) fn named(rules: &RuleSet, id: &str) -> Result<RuleId, Exit> {
    let number = rules.rules().iter().position(|rule| rule.id == id);
    number.map(|number| RuleId(number as u16)).ok_or_else(|| {
        let meant = rules.nearest(id).map(|id| format!(" (did you mean '{id}'?)")).unwrap_or_default();
        message::refused(&format!("no rule is called '{id}'{meant}; `probewatch rules list` shows them all"))
    })
}

fn with_rules(choice: &RuleChoice, then: impl FnOnce(&RuleSet) -> Exit) -> Exit {
    match load(choice) {
        Ok(rules) => {
            message::warnings(rules.warnings());
            then(&rules)
        }
        Err(error) => message::refused(&error.to_string()),
    }
}

/// Runs cases against rules.
struct CaseRunner<'r> {
    matcher: Matcher<'r>,
    scratch: WorkerState,
}

impl<'r> CaseRunner<'r> {
    fn new(rules: &'r RuleSet) -> Self {
        Self { matcher: Matcher::new(rules), scratch: WorkerState::default() }
    }

    /// The rules that match a case.
    fn matched(&mut self, case: &Case) -> Vec<RuleId> {
        let verdict = self.matcher.match_uncached(&case.log_entry(), &mut self.scratch);
        self.scratch.rules(verdict).to_vec()
    }
}

/// `1 rule`, `2 rules`.
fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
