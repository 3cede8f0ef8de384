//! The layout of a JSON document: a line per key, and in its lists a line per row, so that `grep`
//! finds whole rows. Rows may be rendered before, by several threads, and are then written as they
//! are.
//!
//! Knows no key and no row.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;

/// Rows of a list that were rendered before, separated as [`RowLineFormatter`] separates rows. It
/// writes them as they are.
pub(super) struct RenderedRows(pub(super) Vec<u8>);

impl RenderedRows {
    /// Renders a row.
    ///
    /// # Errors
    ///
    /// The row cannot be serialized.
    pub(super) fn push(&mut self, row: &impl Serialize) -> serde_json::Result<()> {
        if !self.0.is_empty() {
            self.0.extend_from_slice(ROW_SEPARATOR);
        }
        serde_json::to_writer(&mut self.0, row)
    }
}

impl Serialize for RenderedRows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

/// What is between two rows.
const ROW_SEPARATOR: &[u8] = b",\n    ";

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

    /// Writes [`RenderedRows`]. A document contains no other bytes.
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
        struct WrittenRows(Vec<RenderedRows>);
        impl Serialize for WrittenRows {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(&self.0)
            }
        }
        let row = |hits: u32| BTreeMap::from([("client", vec![]), ("hits", vec![hits, 2])]);
        for rows in [vec![], vec![row(1)], vec![row(1), row(3), row(4)]] {
            let render = |rows: &[BTreeMap<_, _>]| {
                let mut rendered = RenderedRows(Vec::new());
                for row in rows {
                    rendered.push(row).unwrap();
                }
                rendered
            };
            let rendered = rows.chunks(2).map(render).collect();
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
