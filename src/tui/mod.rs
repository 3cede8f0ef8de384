//! The live view of `follow --tui`: what is asked right now, by whom, and what answered, on one screen of a terminal.
//!
//! [`Dashboard`] is the model: it is told of requests, hits and alerts, keeps a bounded picture of them, takes keys and
//! draws. It asks no clock, reads no file and knows no terminal. [`Screen`] is the terminal: it is entered, drawn on, and
//! given back as it was, also when the process panics. Every text from a log is masked and escaped before it is kept.

mod alarm;
mod dashboard;
#[cfg(test)]
mod fixture;
mod hour;
mod keys;
mod number;
mod paint;
mod picture;
mod row;
mod screen;
mod shown;
mod text;
mod top;
mod view;

#[cfg(test)]
mod tests;

pub use dashboard::{Dashboard, LogRow};
pub use keys::{Input, Keys, spawn_keys};
pub use screen::{Screen, ScreenError, leave};
pub use view::Command;
