//! What the report is shown on: how wide it is, and whether it has colours.

use std::env;
use std::io::{self, IsTerminal};

use crate::render::Color;

/// Columns where nothing else is known.
const WIDTH: u16 = 100;

/// A place to read a table on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Screen {
    pub(super) width: u16,
    pub(super) color: bool,
}

/// The screen a report goes to: standard output, or a file.
pub(super) fn of(color: Color, to_file: bool) -> Screen {
    let terminal = !to_file && io::stdout().is_terminal();
    let width = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let size = if terminal { terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0) } else { None };
    Screen { width: width.or(size).unwrap_or(WIDTH), color: colored(color, terminal) }
}

/// <https://no-color.org>, and terminals that say they cannot.
fn colored(color: Color, terminal: bool) -> bool {
    let forbidden = || env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty()) || env::var_os("TERM").is_some_and(|t| t == "dumb");
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => terminal && !forbidden(),
    }
}
