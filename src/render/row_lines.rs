//! The layout of a JSON document: a line per key, and in its lists a line per row, so that `grep`
//! finds whole rows. Rows may be rendered before, by several threads, and are then written as they
//! are.
//!
//! Knows no key and no row.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;

/// The bytes of a usual row.
const USUAL_ROW_BYTES: usize = 640;

/// Rendered rows in one buffer: a buffer for each of them would be allocated by one thread and
/// freed by another.
pub(super) struct RenderedRows {
    text: Vec<u8>,
    /// Where each row ends.
    ends: Vec<usize>,
}

impl RenderedRows {
    /// Room for this many rows.
    pub(super) fn with_capacity(rows: usize) -> Self {
        Self {
            text: Vec::with_capacity(rows * USUAL_ROW_BYTES),
            ends: Vec::with_capacity(rows),
        }
    }

    /// Renders a row.
    ///
    /// # Errors
    ///
    /// The row cannot be serialized.
    pub(super) fn push(&mut self, row: &impl Serialize) -> serde_json::Result<()> {
        serde_json::to_writer(&mut self.text, row)?;
        self.ends.push(self.text.len());
        Ok(())
    }

    /// The rows, in the order in which they were rendered.
    pub(super) fn iter(&self) -> impl Iterator<Item = RenderedRow<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, end)| RenderedRow(&self.text[start..*end]))
    }
}

/// A rendered row. [`RowLineFormatter`] writes it as it is.
pub(super) struct RenderedRow<'a>(&'a [u8]);

impl Serialize for RenderedRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// Breaks lines at the outer two levels, in the lists of the evidence, and nowhere else.
#[derive(Default)]
pub(super) struct RowLineFormatter {
    depth: usize,
    /// Whether the current list has a row already.
    has_rows: bool,
}

/// The depth inside the document's own braces, inside a list of it, and inside a list of its
/// evidence.
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
        // Lists within a row are deeper.
        out.write_all(
            if matches!(self.depth + 1, LIST | EVIDENCE_LIST) && self.has_rows {
                b"\n  ]"
            } else {
                b"]"
            },
        )
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

    /// Writes a [`RenderedRow`]. A document contains no other bytes.
    fn write_byte_array<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        rendered: &[u8],
    ) -> io::Result<()> {
        out.write_all(rendered)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::ser::SerializeSeq;
    use serde_json::ser::Serializer as JsonSerializer;

    use super::*;

    #[derive(Serialize)]
    struct TwoKeys<L> {
        version: u32,
        rows: L,
    }

    fn written(document: &impl Serialize) -> String {
        let mut out = Vec::new();
        document
            .serialize(&mut JsonSerializer::with_formatter(
                &mut out,
                RowLineFormatter::default(),
            ))
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rendered_rows_are_written_like_others() {
        struct WrittenRows(RenderedRows);
        impl Serialize for WrittenRows {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut rows = serializer.serialize_seq(None)?;
                self.0
                    .iter()
                    .try_for_each(|row| rows.serialize_element(&row))?;
                rows.end()
            }
        }
        let row = |hits: u32| BTreeMap::from([("client", vec![]), ("hits", vec![hits, 2])]);
        for rows in [vec![], vec![row(1)], vec![row(1), row(3), row(4)]] {
            let mut rendered = RenderedRows::with_capacity(rows.len());
            for row in &rows {
                rendered.push(row).unwrap();
            }
            assert_eq!(
                written(&TwoKeys {
                    version: 1,
                    rows: WrittenRows(rendered)
                }),
                written(&TwoKeys { version: 1, rows })
            );
        }
        let expected =
            "{\n  \"version\": 1,\n  \"rows\": [\n    {\"client\":[],\"hits\":[1,2]}\n  ]\n}";
        assert_eq!(
            written(&TwoKeys {
                version: 1,
                rows: [row(1)]
            }),
            expected
        );
    }
}
