//! Prints what `learn` proposes.

use std::io::{self, Write};

use super::{Format, View, csv, json, table};
use crate::analysis::proposals::Proposals;

/// Writes the proposals to `out` in the format of the view.
///
/// # Errors
///
/// Those of `out`, as they came.
pub fn render<W: Write>(proposals: &Proposals<'_>, view: &View, out: &mut W) -> io::Result<()> {
    match view.format {
        Format::Csv => csv::proposals::write(proposals, view.top, out),
        Format::Json => json::proposals::write(proposals, view.top, out),
        Format::Table | Format::Ndjson => table::proposals::write(proposals, view, out),
    }
}
