//! Rule files, and the set they compile to.
//!
//! Rules are data (`rules/README.md` is their format): this room reads them, says what is wrong with them, and turns
//! them into two searches for literals and a list of conditions. It never looks at a log; that is `engine`'s part.

mod allow;
mod automaton;
mod builtin;
mod case;
mod check;
mod compile;
mod condition;
mod definition;
pub mod draft;
mod error;
mod excuse;
mod fold;
mod glob;
pub mod import;
mod lines;
pub mod lint;
mod literals;
mod load;
pub mod network;
mod pattern;
pub mod plain;
mod prefilter;
mod set;
mod texts;
mod told;
mod window;
mod words;
mod written;

pub use allow::{AllowEntry, AllowList};
pub use case::Case;
pub use check::{Asks, Check, Span, View};
pub use compile::MOST_RULES;
pub use condition::{Condition, Request, Shape};
#[cfg(test)]
pub(crate) use definition::PAYLOADS;
pub use definition::{Answer, CLASSES, Field, WithClient};
pub use error::RuleError;
pub(crate) use error::nearest;
pub use literals::{Literals, Marks, Regions, Sighting, bit};
pub use load::{RuleChoice, check, family, load};
pub use set::{Rule, RuleSet};
pub use window::{By, Window};
pub use written::written;
