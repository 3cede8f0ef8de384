//! What is new as CSV, a row an item. The columns may grow at the end, never move.

use std::io::{self, Write};

use crate::analysis::novelty::News;
use crate::redact::mask::shown;
use crate::redact::sanitize::{guard, text};
use crate::render::csv::{count, into_io, time, writer};

pub(crate) const COLUMNS: [&str; 8] = ["kind", "key", "severity", "hits", "first_time", "sample_target", "source", "line"];

/// Writes what is new, in its order.
///
/// # Errors
///
/// Those of `out`, as they came.
pub(crate) fn write_csv(news: &[News<'_>], out: impl Write) -> io::Result<()> {
    let mut csv = writer(out);
    csv.write_record(COLUMNS).map_err(into_io)?;
    for one in news {
        let cells = [
            one.kind.as_str().into(),
            one.key.as_str().into(),
            one.severity.as_str().into(),
            count(one.hits),
            time(one.first_time),
            shown(one.sample.target),
            text(one.sample.source),
            count(one.sample.line),
        ];
        csv.write_record(cells.map(guard).each_ref().map(|cell| cell.as_bytes())).map_err(into_io)?;
    }
    csv.flush()
}
