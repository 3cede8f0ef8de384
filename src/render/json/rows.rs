//! How the document is laid out: a line a key, and in its lists a line a row, so that `grep` finds whole rows.
//!
//! Decides on white space only.

use std::io::{self, Write};

use serde_json::ser::Formatter;

/// Breaks lines at the outer two levels, in the lists of the evidence, and nowhere else.
#[derive(Default)]
pub(crate) struct RowLineFormatter {
    depth: usize,
    /// Whether the list of rows at hand has one already.
    has_rows: bool,
}

/// The depth inside the document's own braces, inside a list of it, and inside a list of its evidence.
const DOCUMENT: usize = 1;
const LIST: usize = 2;
const EVIDENCE_LIST: usize = 3;

impl Formatter for RowLineFormatter {
    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        out.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        out.write_all(if self.depth < DOCUMENT { b"\n}" } else { b"}" })
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        match (self.depth, first) {
            (DOCUMENT, true) => out.write_all(b"\n  "),
            (DOCUMENT, false) => out.write_all(b",\n  "),
            (_, true) => Ok(()),
            (_, false) => out.write_all(b","),
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(if self.depth == DOCUMENT { b": " } else { b":" })
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        if matches!(self.depth, LIST | EVIDENCE_LIST) {
            self.has_rows = false;
        }
        out.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        // Rows of the document hold lists no higher than a level deeper.
        out.write_all(if matches!(self.depth + 1, LIST | EVIDENCE_LIST) && self.has_rows { b"\n  ]" } else { b"]" })
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        if matches!(self.depth, LIST | EVIDENCE_LIST) {
            self.has_rows = true;
            out.write_all(b"\n    ")?;
        }
        Ok(())
    }
}
