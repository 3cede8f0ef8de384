//! Who is probing my site, for what, and what answered?

pub mod cli;
pub mod client;
pub mod command;
pub mod config;
pub mod finding;
pub mod format;
pub mod input;
pub mod record;
pub mod report;
pub mod rules;
pub mod time;
