//! Prints what differs between two reports.

use std::io::{self, Write};

use super::{Format, View, csv, json, table};
use crate::analysis::diff::DiffRow;

/// Writes what differs to `out` in the format of the view. Notes are for people: only a table has them.
///
/// # Errors
///
/// Those of `out`, as they came.
pub fn render<W: Write>(rows: &[DiffRow], notes: &[String], view: &View, out: &mut W) -> io::Result<()> {
    match view.format {
        Format::Csv => csv::diff::write(rows, view.top, out),
        Format::Json => json::diff::write(rows, view.top, out),
        Format::Table | Format::Ndjson => table::diff::write(rows, notes, view, out),
    }
}
