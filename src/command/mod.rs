//! What the subcommands do, one file each: wiring only.

pub mod rules;
pub mod scan;
