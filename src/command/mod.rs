//! What the subcommands do, one file each: wiring only.

pub mod completions;
pub mod man;
pub mod rules;
pub mod scan;
