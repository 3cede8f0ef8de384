//! Rule files, and the compiled rule set.
//!
//! Rules are data; `rules/README.md` describes their format. This module reads rule files, reports their errors, and compiles them to
//! two literal searches and a list of conditions. It never reads a log: `engine` does.

mod allow;
mod automaton;
pub mod builder;
mod builtin;
mod case;
mod case_folding;
mod compile;
mod condition;
mod definition;
mod error;
mod exceptions;
mod glob;
pub mod import;
mod lines;
pub mod lint;
mod literals;
mod load;
pub mod path_list;
mod pattern;
mod prefilter;
mod set;
mod source_text;
mod window;

pub use self::condition::{Requirement, RequirementCheck, TextSpan, TextView};
pub use allow::{AllowEntry, AllowList};
pub use case::Case;
pub use compile::MOST_RULES;
pub use condition::{Condition, RequestFacts, RequestShape};
#[cfg(test)]
pub(crate) use definition::PAYLOADS;
pub use definition::{Answer, CLASSES, Field, WithClient, schema};
pub use error::RuleError;
pub(crate) use error::nearest;
pub use literals::{LiteralHits, LiteralMatch, Literals, Regions, bit};
pub use load::{RuleChoice, check, family, load};
pub use set::{Rule, RuleSet};
pub use source_text::source_text;
pub use window::{By, Window};
