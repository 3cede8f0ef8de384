//! Prints what differs between two reports.

use std::io::{self, Write};

use super::{OutputFormat, RenderOptions, csv, json, table};
use crate::analysis::diff::Row;

/// Writes what differs to `out` in the format of the view. Notes are for people: only a table has them.
///
/// # Errors
///
/// Those of `out`, as they came.
pub fn render<W: Write>(rows: &[Row], notes: &[String], options: &RenderOptions, out: &mut W) -> io::Result<()> {
    match options.format {
        OutputFormat::Csv => csv::diff::write(rows, options.top, out),
        OutputFormat::Json => json::diff::write(rows, options.top, out),
        OutputFormat::Table | OutputFormat::Ndjson => table::diff::write(rows, notes, options, out),
    }
}
