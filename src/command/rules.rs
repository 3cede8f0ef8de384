//! PLACEHOLDER, to be replaced: `probewatch rules`.

use crate::cli::{Exit, message};
use crate::rules::RuleChoice;

/// Lists the rules of the choice, or those of one class.
#[must_use]
pub fn list(_choice: &RuleChoice, _class: Option<&str>) -> Exit {
    message::error("rules list: not built yet");
    Exit::Usage
}

/// Prints one rule.
#[must_use]
pub fn show(_choice: &RuleChoice, _id: &str) -> Exit {
    message::error("rules show: not built yet");
    Exit::Usage
}

/// Runs the cases of the rules of the choice.
#[must_use]
pub fn test(_choice: &RuleChoice) -> Exit {
    message::error("rules test: not built yet");
    Exit::Usage
}
