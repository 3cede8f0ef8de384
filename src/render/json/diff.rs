//! What differs between two reports as a JSON list, an object a change. The keys are a promise: additions only.

use std::io::{self, Write};

use serde::Serialize;

use crate::analysis::diff::Row;
use crate::analysis::labels::first;
use crate::finding::Severity;

#[derive(Serialize)]
struct DiffObject<'a> {
    kind: &'static str,
    key: &'a str,
    change: &'static str,
    severity: Severity,
    hits_before: u64,
    hits_after: u64,
    status_after: Option<u16>,
}

/// Writes the first `top` rows, a line each.
pub(crate) fn write<W: Write>(rows: &[Row], top: Option<usize>, mut out: W) -> io::Result<()> {
    out.write_all(b"[")?;
    for (number, row) in first(rows, top).iter().enumerate() {
        out.write_all(if number == 0 { b"\n  " } else { b",\n  " })?;
        serde_json::to_writer(&mut out, &object(row))?;
    }
    out.write_all(if first(rows, top).is_empty() { b"]\n" } else { b"\n]\n" })
}

fn object(row: &Row) -> DiffObject<'_> {
    DiffObject {
        kind: row.kind.as_str(),
        key: &row.key,
        change: row.change.as_str(),
        severity: row.severity,
        hits_before: row.before,
        hits_after: row.after,
        status_after: row.status,
    }
}
