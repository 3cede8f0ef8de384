//! What only the whole shows. Each answer is a pure function of merged evidence, so it is the same for any split of a log.

mod apps;
mod campaigns;
mod catch_all;
mod memory;
mod probers;

pub use apps::Apps;
pub use campaigns::{Campaign, campaigns};
pub use catch_all::{CLASSES, CatchAlls, Evidence, PATHS};
pub use memory::{Given, Memory, Site};
pub use probers::Probers;
