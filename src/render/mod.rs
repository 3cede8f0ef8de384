//! Prints a finished report, in one module per format.
//!
//! Renderers write what [`crate::analysis::model`] holds. They read no log, make no decision and know no command line.

pub mod csv;
pub mod explain;
pub mod formats;
mod grades;
mod json;
pub(crate) mod layout;
pub mod live;
pub mod mail;
pub mod ndjson;
pub mod proposals;
pub mod schema;
pub mod sink;
pub mod table;
mod timeline;

use std::io::{self, Write};

pub use self::csv::write_answered;
use crate::analysis::diff::DiffRow;
use crate::analysis::learn::Proposals;
use crate::analysis::model::Report;

/// Rows in each section of a table unless `--top` says otherwise.
pub const TABLE_ROWS: usize = 10;

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputFormat {
    /// Aligned text for people.
    #[default]
    Table,
    /// One CSV table.
    Csv,
    /// One JSON document.
    Json,
    /// One JSON object per hit.
    Ndjson,
}

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupBy {
    /// A client, a path and an outcome.
    #[default]
    Pair,
    /// A client.
    Client,
    /// A path.
    Path,
    /// A rule.
    Rule,
    /// A path of a site with a distinct answer.
    Answer,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// On a terminal with colours.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How to print a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RenderOptions {
    /// The format of a report.
    pub format: OutputFormat,
    /// What a row of a CSV is, pairs where `None`; for a table the one section to print, all where `None`.
    pub by: Option<GroupBy>,
    /// Rows in each section; `None` is ten for a table, all for CSV and JSON.
    pub top: Option<usize>,
    /// All sections of a table, and where the lines of each input went.
    pub full: bool,
    /// Columns of the terminal, for a table; 0 is unknown.
    pub width: u16,
    /// Whether a table is coloured.
    pub color: bool,
}

impl RenderOptions {
    /// Columns of a page of text: those of the terminal, at least 40; 80 where they are unknown, as some terminals say 0.
    pub(crate) fn page_width(&self) -> usize {
        if self.width == 0 { 80 } else { layout::MIN_WIDTH.max(self.width.into()) }
    }
}

/// Writes a finished report to `out`, without a flush.
///
/// For NDJSON it writes nothing: hits are written one by one with [`ndjson::write`].
///
/// # Errors
///
/// Those of `out`.
pub fn render<W: Write>(report: &Report<'_>, options: &RenderOptions, out: &mut W) -> io::Result<()> {
    match options.format {
        OutputFormat::Table => table::write(report, options, out),
        OutputFormat::Csv => csv::write(report, options.by.unwrap_or_default(), options.top, out),
        OutputFormat::Json => json::write(report, options.top, out),
        OutputFormat::Ndjson => Ok(()),
    }
}

/// Writes what differs between two reports to `out`. Notes are for people: only a table has them.
///
/// # Errors
///
/// Those of `out`.
pub fn render_diff<W: Write>(rows: &[DiffRow], notes: &[String], options: &RenderOptions, out: &mut W) -> io::Result<()> {
    match options.format {
        OutputFormat::Csv => csv::write_diff(rows, options.top, out),
        OutputFormat::Json => json::write_diff(rows, options.top, out),
        OutputFormat::Table | OutputFormat::Ndjson => table::write_diff(rows, notes, options, out),
    }
}

/// Writes what `learn` proposes to `out`.
///
/// # Errors
///
/// Those of `out`.
pub fn render_proposals<W: Write>(proposals: &Proposals<'_>, options: &RenderOptions, out: &mut W) -> io::Result<()> {
    match options.format {
        OutputFormat::Csv => csv::write_proposals(proposals, options.top, out),
        OutputFormat::Json => proposals::write_json(proposals, options.top, out),
        OutputFormat::Table | OutputFormat::Ndjson => proposals::write_table(proposals, options, out),
    }
}
