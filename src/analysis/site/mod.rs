//! What only the whole shows. Each answer is a pure function of merged evidence, so it is the same for any split of a log.

mod apps;
mod campaigns;
mod memory;
mod probers;

pub use apps::Apps;
pub use campaigns::{Campaign, campaigns};
pub use memory::{Memory, RuleHashes, Site};
pub use probers::Probers;
