//! What only the whole shows. Each answer is a pure function of merged evidence, so it is the same for any split of a log.

mod catch_all;

pub use catch_all::{CatchAlls, Evidence};
