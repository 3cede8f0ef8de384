//! Who is probing my site, for what, and what answered?

pub mod client;
pub mod clients;
pub mod config;
pub mod context;
pub mod engine;
pub mod finding;
pub mod format;
pub mod input;
pub mod intern;
pub mod normalize;
pub mod record;
pub mod report;
pub mod rules;
pub mod source;
pub mod tally;
pub mod time;
