//! What a line says: its entry, its client and its time; what a rule found in it; and which log it
//! is from.
//!
//! Plain data. Does not read logs and does not parse lines.

pub(crate) mod client;
pub(crate) mod days;
pub(crate) mod finding;
pub(crate) mod log_entry;
pub(crate) mod source;
pub(crate) mod time;
