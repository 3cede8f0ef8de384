//! What differs between two reports as CSV, a row a change. The columns may grow at the end, never move.

use std::borrow::Cow;
use std::io::{self, Write};

use ::csv::{Terminator, WriterBuilder};

use super::into_io;
use crate::analysis::diff::Row;
use crate::analysis::labels::first;
use crate::redact::sanitize::guard;

pub(crate) const COLUMNS: [&str; 7] = ["kind", "key", "change", "severity", "hits_before", "hits_after", "status_after"];

/// Writes the first `top` rows.
pub(crate) fn write<W: Write>(rows: &[Row], top: Option<usize>, out: W) -> io::Result<()> {
    let mut csv = WriterBuilder::new().terminator(Terminator::Any(b'\n')).from_writer(out);
    csv.write_record(COLUMNS).map_err(into_io)?;
    for row in first(rows, top) {
        let key = guard(Cow::Borrowed(&row.key));
        let (before, after) = (row.before.to_string(), row.after.to_string());
        let status = row.status.map(|status| status.to_string()).unwrap_or_default();
        let words = [row.kind.as_str(), &key, row.change.as_str(), row.severity.as_str(), &before, &after, &status];
        csv.write_record(words).map_err(into_io)?;
    }
    csv.flush()
}
