//! The partial report: a snapshot alone, compressed; the smallest file that can be merged.
//!
//! A header of eight bytes, the last of which is the version, and one zstd frame. Its text is a JSON report without rows, so a
//! snapshot has one form in all files. The same report gives the same bytes.

use std::io::{self, Read, Write};

use serde::Serialize;

use super::frame::{FrameReader, FrameWriter};
use super::read::{RowSkipper, read};
use super::{READS_SCHEMA, ReportSnapshot, SnapshotError, SnapshotJson};
use crate::analysis::model::ReportModel;
use crate::client::Ipv6Prefix;
use crate::rules::RuleSet;

/// The first bytes of a partial report. No text starts with the first one.
const MAGIC: [u8; 7] = *b"\x8cPWPART";
/// The version of the header and the compression. The version of the text is in the text.
const VERSION: u8 = 1;
/// The compression level of a partial report: higher ones take a multiple of the time for a few percent.
const LEVEL: i32 = 9;
/// The text of a partial report: the keys of a JSON report that a merge reads.
#[derive(Serialize)]
struct PartialDocument<'a> {
    schema_version: u32,
    generated_by: &'static str,
    log_host: Option<&'a str>,
    period: Option<&'a str>,
    ipv6_prefix: Option<u8>,
    evidence: SnapshotJson<'a>,
}

/// Writes the snapshot of a report as a partial report, without a flush.
///
/// # Errors
///
/// Those of `out`.
pub(crate) fn write_partial<W: Write>(report: &ReportModel<'_>, generated_by: &'static str, out: &mut W) -> io::Result<()> {
    out.write_all(&MAGIC)?;
    out.write_all(&[VERSION])?;
    let document = PartialDocument {
        schema_version: READS_SCHEMA,
        generated_by,
        log_host: report.log_host.as_deref(),
        period: report.period.as_deref(),
        ipv6_prefix: report.prefix.map(Ipv6Prefix::bits),
        evidence: SnapshotJson::new(report, true),
    };
    let mut frame = FrameWriter::new(out, LEVEL)?;
    serde_json::to_writer(&mut frame, &document)?;
    frame.finish()
}

/// Reads the snapshot of a partial or a JSON report. Its rules are those of `rules` that have the same id.
///
/// # Errors
///
/// Those of [`read`], and another version.
pub(crate) fn read_any(mut input: impl Read, rules: &RuleSet) -> Result<ReportSnapshot, SnapshotError> {
    let mut head = Vec::with_capacity(MAGIC.len() + 1);
    input.by_ref().take(MAGIC.len() as u64 + 1).read_to_end(&mut head)?;
    match head.strip_prefix(&MAGIC) {
        Some([VERSION]) => read(FrameReader::new(input), rules).map_err(|error| match error {
            SnapshotError::Foreign(what) => SnapshotError::Damaged(what),
            error => error,
        }),
        Some([version]) => Err(SnapshotError::OtherPartial(*version)),
        _ => read(RowSkipper::new(head.as_slice().chain(input)), rules),
    }
}
