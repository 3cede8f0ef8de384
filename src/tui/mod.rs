//! The live view of `follow --tui`: current hits, clients, alerts and answers on one terminal
//! screen.
//!
//! [`Dashboard`] is the model: it takes requests, hits, alerts and keys, keeps bounded data, and
//! draws. It uses no clock, file or terminal. [`Screen`] is the terminal: it is set up, drawn to,
//! and restored, also when the process panics. Text of a log is redacted before it is stored.

mod dashboard;
mod hourly;
mod paint;
mod row;
mod terminal;
mod text;
mod top;
mod view;

pub(crate) use self::terminal::{KeyReader, Screen, ScreenError, TerminalInput, spawn_key_reader};
pub(crate) use dashboard::{Dashboard, LogRow};
pub(crate) use view::TuiCommand;

#[cfg(test)]
mod tests;
