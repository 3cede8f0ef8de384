//! Prints a finished report: a file a format.
//!
//! Renderers write what [`crate::analysis::model`] holds. They read no log, decide nothing and know no command line.

pub mod csv;
pub mod diff;
pub mod explain;
pub mod formats;
mod grades;
mod json;
pub(crate) mod layout;
pub mod live;
pub mod mail;
pub mod ndjson;
pub mod proposals;
pub mod rule_file;
pub mod schema;
pub mod sink;
pub mod skipped;
mod style;
pub mod table;

use std::io::{self, Write};

pub use self::csv::write_answered;
use crate::analysis::model::Report;

/// Rows in each section of a table unless `--top` says otherwise.
pub const TABLE_ROWS: usize = 10;

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Aligned text for a person.
    #[default]
    Table,
    /// One CSV table.
    Csv,
    /// One JSON document.
    Json,
    /// One JSON object a hit.
    Ndjson,
}

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// A client, a path and an outcome.
    #[default]
    Pair,
    /// A client.
    Client,
    /// A path.
    Path,
    /// A rule.
    Rule,
    /// A site's path with a distinct answer.
    Answer,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// On a terminal that can.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How to print a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct View {
    /// What to print.
    pub format: Format,
    /// What a row of a CSV is, pairs where `None`; for a table the one section to print, all where `None`.
    pub by: Option<By>,
    /// Rows in each section; `None` is ten for a table, all for CSV and JSON.
    pub top: Option<usize>,
    /// All sections of a table, and where the lines of each input went.
    pub full: bool,
    /// Columns of the terminal, for a table; 0 is unknown.
    pub width: u16,
    /// Whether a table is coloured.
    pub color: bool,
}

/// Writes a finished report to `out`, and flushes nothing: that is the business of whoever opened it.
///
/// NDJSON has no end to wait for: its hits go out one by one through [`ndjson::write`], and this writes nothing.
///
/// # Errors
///
/// Those of `out`, as they came.
pub fn render<W: Write>(report: &Report<'_>, view: &View, out: &mut W) -> io::Result<()> {
    match view.format {
        Format::Table => table::write(report, view, out),
        Format::Csv => csv::write(report, view.by.unwrap_or_default(), view.top, out),
        Format::Json => json::write(report, view.top, out),
        Format::Ndjson => Ok(()),
    }
}
