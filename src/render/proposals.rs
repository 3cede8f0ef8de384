//! Prints what `learn` proposes.

use std::io::{self, Write};

use super::{OutputFormat, RenderOptions, csv, json, table};
use crate::analysis::proposals::Proposals;

/// Writes the proposals to `out` in the format of the view.
///
/// # Errors
///
/// Those of `out`, as they came.
pub fn render<W: Write>(proposals: &Proposals<'_>, options: &RenderOptions, out: &mut W) -> io::Result<()> {
    match options.format {
        OutputFormat::Csv => csv::proposals::write(proposals, options.top, out),
        OutputFormat::Json => json::proposals::write(proposals, options.top, out),
        OutputFormat::Table | OutputFormat::Ndjson => table::proposals::write(proposals, options, out),
    }
}
