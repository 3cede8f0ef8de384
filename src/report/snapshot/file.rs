//! The two files that hold a snapshot: a JSON report, and a partial report, the smallest file that
//! can be merged.
//!
//! A snapshot is one zstd frame of JSON rows, a line each, so its text is never in memory. In a
//! JSON report it is Base64 text; a partial report is a header of eight bytes, the last of which is
//! the version, and the frame. The same report gives the same bytes. No input causes a panic, or
//! uses much more memory than its own size.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read, Write};

use base64::engine::general_purpose::STANDARD;
use base64::read::DecoderReader;
use base64::write::EncoderStringWriter;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::decode::SnapshotDecoder;
use super::encode::SnapshotEncoder;
use super::frame::{FrameReader, FrameWriter};
use super::rows::SnapshotRow;
use super::{ReportSnapshot, SCHEMA_VERSION, SnapshotError};
use crate::report::model::ReportModel;
use crate::rules::RuleSet;
use crate::scan::input_summary::LineTotals;
use crate::text::redact::sanitize::escape;

/// The first bytes of a partial report. No text starts with the first one.
const MAGIC: [u8; 7] = *b"\x8cPWPART";
/// The compression level of a partial report: higher ones take a multiple of the time for a few
/// percent.
const PARTIAL_LEVEL: i32 = 9;
/// The compression level of the snapshot in a JSON report, which is a small part of it: level 9
/// takes ten times as long and saves a quarter.
const JSON_LEVEL: i32 = 1;
/// The bytes of text that are decompressed at once.
const BUFFER: usize = 64 << 10;
/// The most bytes of a row. A line has at most 1 MiB by default, and escapes make it longer.
const LONGEST: u64 = 64 << 20;
/// The most bytes of a JSON report without its rows: a hundred times those of a full tally.
const MOST_JSON: u64 = 1 << 30;
/// The first bytes of a JSON report; its first keys are in them.
const HEAD: u64 = 128;

/// Writes the snapshot of a report as a partial report, without a flush.
///
/// # Errors
///
/// Errors of `out`.
pub(crate) fn write_partial<W: Write>(report: &ReportModel<'_>, out: &mut W) -> io::Result<()> {
    out.write_all(&MAGIC)?;
    out.write_all(&[SCHEMA_VERSION as u8])?;
    SnapshotEncoder::new(report).map_or(Ok(()), |encoder| write_rows(&encoder, PARTIAL_LEVEL, out))
}

fn write_rows(encoder: &SnapshotEncoder<'_>, level: i32, out: &mut impl Write) -> io::Result<()> {
    let mut frame = FrameWriter::new(out, level)?;
    encoder.for_each(|row| {
        serde_json::to_writer(&mut frame, &row)?;
        frame.write_all(b"\n")
    })?;
    frame.finish()
}

/// The snapshot in a JSON report, and its rules, because a reader may want to know which of them
/// mean that an answer exposes something; `null` in a truncated report.
#[derive(Debug, Serialize)]
pub(crate) struct PackedSnapshot {
    rules: Box<RawValue>,
    packed: String,
}

impl PackedSnapshot {
    /// Compresses the snapshot of a complete report; `None` if it is truncated.
    ///
    /// # Errors
    ///
    /// Errors of the compressor.
    pub(crate) fn new(report: &ReportModel<'_>, is_whole: bool) -> io::Result<Option<Self>> {
        let Some(encoder) = is_whole.then(|| SnapshotEncoder::new(report)).flatten() else {
            return Ok(None);
        };
        let mut text = EncoderStringWriter::new(&STANDARD);
        write_rows(&encoder, JSON_LEVEL, &mut text)?;
        Ok(Some(Self {
            rules: to_raw_value(&encoder.rules().collect::<Vec<_>>())?,
            packed: text.into_inner(),
        }))
    }
}

impl JsonSchema for PackedSnapshot {
    fn schema_name() -> Cow<'static, str> {
        "Evidence".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["object", "null"],
            "properties": {
                "rules": {
                    "type": "array",
                    "items": { "type": "object" },
                    "description": "Rules of the counts: `id`, `title`, `class`, `severity`, and whether an answer `exposes` something."
                },
                "packed": {
                    "type": "string",
                    "contentEncoding": "base64",
                    "contentMediaType": "application/zstd",
                    "description": "Counts, as compressed JSON."
                }
            },
            "required": ["rules", "packed"],
            "additionalProperties": false
        })
    }
}

/// What a merge reads of a JSON report.
#[derive(Deserialize)]
struct Document<'a> {
    schema_version: u32,
    generated_by: String,
    /// [`LineTotals`], if the version is ours. Their hits are those of the severities that the
    /// report prints.
    #[serde(borrow)]
    totals: Option<&'a RawValue>,
    log_host: Option<String>,
    period: Option<String>,
    ipv6_prefix: Option<u8>,
    anonymized: Option<String>,
    #[serde(borrow)]
    evidence: Option<Evidence<'a>>,
}

#[derive(Deserialize)]
struct Evidence<'a> {
    #[serde(borrow)]
    packed: Cow<'a, str>,
}

/// Reads the snapshot of a partial or a JSON report. Its rules are those of `rules` that have the
/// same id.
///
/// # Errors
///
/// The input cannot be read, is no report, is of another version, has no snapshot, or is damaged.
pub fn read(mut input: impl Read, rules: &RuleSet) -> Result<ReportSnapshot, SnapshotError> {
    let mut head = Vec::new();
    input
        .by_ref()
        .take(MAGIC.len() as u64 + 1)
        .read_to_end(&mut head)?;
    if let Some([version]) = head.strip_prefix(&MAGIC) {
        check_version(u32::from(*version))?;
        return read_rows(FrameReader::new(input), rules);
    }
    input.by_ref().take(HEAD).read_to_end(&mut head)?;
    if !starts_like_report(&head) {
        return Err(SnapshotError::Foreign(
            "its first keys are not 'schema_version' and 'generated_by'".into(),
        ));
    }
    let mut text = Vec::new();
    RowSkipper::new(head.as_slice().chain(input))
        .take(MOST_JSON)
        .read_to_end(&mut text)?;
    let document: Document<'_> =
        serde_json::from_slice(&text).map_err(|error| SnapshotError::Damaged(shown(&error)))?;
    if !document.generated_by.starts_with("probewatch ") {
        return Err(SnapshotError::Foreign("another program wrote it".into()));
    }
    check_version(document.schema_version)?;
    let Some(evidence) = &document.evidence else {
        return Err(if document.anonymized.is_some() {
            SnapshotError::Hidden
        } else {
            SnapshotError::Cut
        });
    };
    let snapshot = read_rows(
        FrameReader::new(DecoderReader::new(evidence.packed.as_bytes(), &STANDARD)),
        rules,
    )?;
    document.check(&snapshot).map_err(SnapshotError::Damaged)?;
    Ok(snapshot)
}

/// An error that may quote the file.
fn shown(error: &serde_json::Error) -> String {
    escape(error.to_string().as_bytes()).into_owned()
}

/// Whether these first bytes of a file are those of a JSON report.
pub(crate) fn starts_like_report(head: &[u8]) -> bool {
    let has = |part: &[u8]| memchr::memmem::find(head, part).is_some();
    head.trim_ascii_start().first() == Some(&b'{')
        && has(b"\"schema_version\"")
        && has(b"\"generated_by\"")
}

fn check_version(version: u32) -> Result<(), SnapshotError> {
    match version {
        SCHEMA_VERSION => Ok(()),
        newer if newer > SCHEMA_VERSION => Err(SnapshotError::Newer(newer)),
        older => Err(SnapshotError::Older(older)),
    }
}

/// Reads the rows of a snapshot.
///
/// # Errors
///
/// They cannot be read or are damaged.
pub fn read_rows(text: impl Read, rules: &RuleSet) -> Result<ReportSnapshot, SnapshotError> {
    let mut decoder = SnapshotDecoder::new(rules);
    let mut text = BufReader::with_capacity(BUFFER, text);
    let mut line = Vec::new();
    let damaged = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            SnapshotError::Damaged(error.to_string())
        }
        _ => SnapshotError::Io(error),
    };
    while text
        .by_ref()
        .take(LONGEST)
        .read_until(b'\n', &mut line)
        .map_err(damaged)?
        > 0
    {
        if !line.ends_with(b"\n") {
            return Err(SnapshotError::Damaged(
                "it ends within a row, or has one longer than any line of a log".into(),
            ));
        }
        let row: SnapshotRow<'_> =
            serde_json::from_slice(&line).map_err(|error| SnapshotError::Damaged(shown(&error)))?;
        decoder.row(row).map_err(SnapshotError::Damaged)?;
        line.clear();
    }
    decoder.finish().map_err(SnapshotError::Damaged)
}

impl Document<'_> {
    /// Compares what the document says with its snapshot.
    fn check(&self, snapshot: &ReportSnapshot) -> Result<(), String> {
        let escaped = |text: &Option<String>| {
            text.as_ref()
                .map(|text| escape(text.as_bytes()).into_owned())
        };
        let bits = snapshot.prefix.map(crate::log::client::Ipv6Prefix::bits);
        if (
            escaped(&self.log_host),
            escaped(&self.period),
            self.ipv6_prefix,
        ) != (snapshot.log_host.clone(), snapshot.period.clone(), bits)
        {
            return Err(
                "its host, its period or its 'ipv6_prefix' is not that of its evidence".into(),
            );
        }
        let sums = LineTotals::sum(&snapshot.inputs);
        let totals = self
            .totals
            .map(|totals| serde_json::from_str::<LineTotals>(totals.get()));
        let totals = totals
            .transpose()
            .map_err(|error| shown(&error))?
            .map(|totals| LineTotals { hits: 0, ..totals });
        match totals {
            Some(totals) if totals != sums => Err(format!(
                "its totals have {totals:?}, and its inputs {sums:?}"
            )),
            _ => Ok(()),
        }
    }
}

/// A reader that leaves out the rows of a report, which a merge does not need: lines in the form
/// that this program writes them. The lists are then empty. Any other text is unchanged.
pub(crate) struct RowSkipper<R> {
    from: BufReader<R>,
    /// The start of a line that may be a row, until it is known.
    line: Vec<u8>,
    /// Bytes of `line` that were read.
    given: usize,
    is_line_start: bool,
}

/// How a row begins.
const ROW_START: &[u8] = b"    {\"";

impl<R: Read> RowSkipper<R> {
    pub(crate) fn new(from: R) -> Self {
        Self {
            from: BufReader::with_capacity(ROWS_BUFFER, from),
            line: Vec::new(),
            given: 0,
            is_line_start: true,
        }
    }

    /// Skips rows. The next line, if it only begins like a row, is in `line` then.
    fn skip_rows(&mut self) -> io::Result<()> {
        loop {
            self.line.clear();
            self.given = 0;
            // Almost all rows are in the buffer with their end.
            let buffer = self.from.fill_buf()?;
            if let Some(end) = memchr::memchr(b'\n', buffer) {
                if !is_row(&buffer[..end]) {
                    return Ok(());
                }
                self.from.consume(end + 1);
                continue;
            }
            if !buffer.starts_with(&ROW_START[..ROW_START.len().min(buffer.len())]) {
                return Ok(());
            }
            self.from
                .by_ref()
                .take(LONGEST)
                .read_until(b'\n', &mut self.line)?;
            if !is_row(self.line.strip_suffix(b"\n").unwrap_or_default()) {
                return Ok(());
            }
        }
    }
}

/// Whether a line without its end is a row, or a row and a comma.
fn is_row(line: &[u8]) -> bool {
    line.starts_with(ROW_START) && line.strip_suffix(b",").unwrap_or(line).ends_with(b"}")
}

impl<R: Read> Read for RowSkipper<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.is_line_start && self.given == self.line.len() {
            self.skip_rows()?;
        }
        if self.given < self.line.len() {
            let read = (&self.line[self.given..]).read(out)?;
            self.given += read;
            self.is_line_start = self.given == self.line.len() && self.line.ends_with(b"\n");
            return Ok(read);
        }
        let buffer = self.from.fill_buf()?;
        let line = memchr::memchr(b'\n', buffer).map_or(buffer, |end| &buffer[..=end]);
        let read = (&line[..]).read(out)?;
        self.is_line_start = read > 0 && line[read - 1] == b'\n';
        self.from.consume(read);
        Ok(read)
    }
}

/// The size of the buffer that rows are searched for in.
const ROWS_BUFFER: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::report::snapshot::file::*;

    /// A reader that gives a few bytes at a time.
    struct Pieces<'t>(&'t [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let most = out.len().min(self.1);
            self.0.read(&mut out[..most])
        }
    }

    fn without_rows(text: &str, piece: usize) -> String {
        let mut out = String::new();
        RowSkipper::new(Pieces(text.as_bytes(), piece))
            .read_to_string(&mut out)
            .unwrap();
        out
    }

    #[test]
    fn rows_are_left_out() {
        let report = "{\n  \"totals\": {\"hits\":1},\n  \"pairs\": [\n    {\"client\":\"a\"},\n    {\"client\":\"b\"}\n  ],\n  \"evidence\": \"x\"\n}\n";
        let short =
            "{\n  \"totals\": {\"hits\":1},\n  \"pairs\": [\n  ],\n  \"evidence\": \"x\"\n}\n";
        for piece in [1, 3, 7, 1000] {
            assert_eq!(without_rows(report, piece), short);
        }
        for other in [
            "",
            "    {\n      \"a\": 1\n    }",
            "    {\"a\": {\n",
            "    {\"cut\":1",
            "    ",
            "x    {\"a\":1}\n",
            "\u{8c}",
        ] {
            for piece in [1, 4, 1000] {
                assert_eq!(without_rows(other, piece), other);
            }
        }
    }

    proptest! {
        #[test]
        fn other_lines_are_unchanged(lines in "(   ? ?[{]?\"?[a}],?\n?){0,12}", piece in 1..9_usize) {
            let kept: String = lines.split_inclusive('\n').filter(|line| !line.ends_with('\n') || !is_row(line.trim_end().as_bytes())).collect();
            prop_assert_eq!(without_rows(&lines, piece), kept);
        }
    }
}
