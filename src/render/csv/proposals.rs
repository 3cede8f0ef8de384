//! Proposals as CSV, a row a path. The columns may grow at the end, never move.

use std::borrow::Cow;
use std::io::{self, Write};

use ::csv::{Terminator, WriterBuilder};

use super::{count, into_io, time};
use crate::analysis::labels::first;
use crate::analysis::proposals::{Proposal, Proposals};
use crate::redact::sanitize::{guard, text};

/// A column: its name, and what it says of a proposal.
type Column = (&'static str, for<'r> fn(&'r Proposal<'_>) -> Cow<'r, str>);

const COLUMNS: &[Column] = &[
    ("path", |row| row.path.into()),
    ("probers", |row| count(row.probers)),
    ("others", |row| count(row.others)),
    ("requests", |row| count(row.requests)),
    ("answered", |row| count(row.answered())),
    ("statuses", |row| row.status_words().join(";").into()),
    ("rule", |row| row.rule.as_str().into()),
    ("class", |row| row.class.into()),
    ("severity", |row| row.severity.as_str().into()),
    ("first_time", |row| time(row.first_time)),
    ("last_time", |row| time(row.last_time)),
    ("status", |row| row.example.status.map_or_else(Cow::default, |status| count(status.into()))),
    ("sample_target", |row| row.example.shown_target()),
    ("source", |row| text(row.example.source)),
    ("line", |row| count(row.example.line)),
];

/// The names of the columns.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ["rank"].into_iter().chain(COLUMNS.iter().map(|(name, _)| *name))
}

/// Writes the first `top` proposals.
pub(crate) fn write<W: Write>(proposals: &Proposals<'_>, top: Option<usize>, out: W) -> io::Result<()> {
    let mut csv = WriterBuilder::new().terminator(Terminator::Any(b'\n')).from_writer(out);
    csv.write_record(names()).map_err(into_io)?;
    for (rank, row) in (1..).zip(first(&proposals.proposals, top)) {
        csv.write_field(count(rank).as_bytes()).map_err(into_io)?;
        for (_, cell) in COLUMNS {
            csv.write_field(guard(cell(row)).as_bytes()).map_err(into_io)?;
        }
        csv.write_record(None::<&[u8]>).map_err(into_io)?;
    }
    csv.flush()
}
