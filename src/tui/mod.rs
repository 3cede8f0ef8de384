//! The live view of `follow --tui`: what is asked right now, by whom, and what answered, on one screen of a terminal.
//!
//! [`Dashboard`] is the model: it is told of requests, hits and alerts, keeps a bounded snapshot of them, takes keys and
//! draws. It asks no clock, reads no file and knows no terminal. [`Screen`] is the terminal: it is entered, drawn on, and
//! given back as it was, also when the process panics. Every text from a log is masked and escaped before it is kept.

mod alert_row;
mod dashboard;
#[cfg(test)]
mod fixture;
mod hit_row;
mod hourly;
mod keys;
mod paint;
mod screen;
mod snapshot;
mod text;
mod top;
mod view;
mod visible_rows;

#[cfg(test)]
mod tests;

pub use dashboard::{Dashboard, LogRow};
pub use keys::{KeyReader, TerminalInput, spawn_key_reader};
pub use screen::{Screen, ScreenError, restore_terminal};
pub use view::TuiCommand;
