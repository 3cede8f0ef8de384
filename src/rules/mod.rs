//! Rule files, and the compiled rule set.
//!
//! Rules are data; `rules/README.md` describes their format. This module reads rule files, reports
//! their errors, and compiles them to two literal searches and a list of conditions. It never reads
//! a log: `engine` does.

mod allow;
pub(crate) mod builder;
mod builtin;
mod case_folding;
mod compile;
mod condition;
mod definition;
mod error;
mod exceptions;
mod glob;
mod guess;
pub(crate) mod import;
mod lines;
pub(crate) mod lint;
mod literal_table;
mod literals;
mod load;
pub(crate) mod path_list;
mod pattern;
mod prefilter;
mod set;
mod window;

pub(crate) use self::condition::{Requirement, RequirementCheck, TextSpan};
pub use allow::AllowList;
pub(crate) use compile::MAX_RULES;
pub(crate) use condition::RequestFacts;
pub(crate) use definition::{
    AnswerMeaning, CLASSES, Case, Class, Field, RequestShape, RuleNotes, TextView, WithClient,
    schema,
};
pub(crate) use error::RuleError;
pub(crate) use error::nearest;
pub(crate) use guess::{Guess, GuessStats, is_little_else};
pub(crate) use literals::{LiteralHits, LiteralMatch, Literals, Regions, bit};
pub use load::{RuleChoice, check, load};
pub(crate) use load::{exported_files, family, source_text};
pub use set::{Rule, RuleSet};
pub(crate) use window::{By, Window};
