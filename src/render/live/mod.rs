//! Output of a live run: a line per hit, per count of folded repeats, and per alert.
//!
//! Uses no file, clock or screen. The `follow` command decides what is printed when; the analysis decides whether an answer
//! is distinct.

pub(crate) mod alert;
pub(crate) mod fold;
pub(crate) mod line;
