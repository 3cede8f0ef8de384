//! What a live run tells while it goes on: a line a hit, a line for repeats that were folded, a line an alert.
//!
//! Renders what it is given and keeps no file, clock or screen. Who is told when is the business of `command`; whether an
//! answer means something, of the context.

pub mod alert;
pub mod fold;
pub mod line;
mod line_layout;
