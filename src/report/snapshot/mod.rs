//! The snapshot of a report: the data it was made of, stored in the JSON report under `evidence`
//! and alone in a partial report, so that reports can be merged and analysed again.
//!
//! It holds every cell of the tally, whatever rows the report prints, in an order that does not
//! depend on threads: a merge of the parts gives the same bytes as one scan. Texts are redacted as
//! in all outputs; where two keys become equal, a hash of the logged text keeps them distinct. A
//! tally that is not exact includes its error bounds. A snapshot is untrusted input: it is
//! validated, its size is limited, and it cannot cause a panic.

mod decode;
mod encode;
mod file;
mod frame;
mod rows;

use std::io;

use thiserror::Error;

use self::decode::SnapshotDecoder;
use self::encode::SnapshotEncoder;
pub use self::file::read;
#[cfg(any(test, feature = "internals"))]
pub use self::file::read_rows;
pub(crate) use self::file::{PackedSnapshot, starts_like_report, write_partial};
use super::model::ReportModel;
use crate::log::client::Ipv6Prefix;
use crate::log::source::SourceInfo;
use crate::rules::Rule;
use crate::scan::input_summary::InputSummary;
use crate::tally::Tally;

/// The entry of an allow list, as an earlier report stored it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllowOrigin {
    /// The file of the list.
    pub file: String,
    /// The first line of the entry, from 1.
    pub line: usize,
    /// Why it is allowed.
    pub reason: String,
}

/// A decoded snapshot.
#[derive(Debug, Default)]
pub struct ReportSnapshot {
    /// The host whose logs were read, if known.
    pub log_host: Option<String>,
    /// The day or hour of the report, if the run was split into periods.
    pub period: Option<String>,
    /// Which IPv6 addresses count as one client.
    pub prefix: Option<Ipv6Prefix>,
    /// All hits. Unknown rules have the numbers after the known ones, in the order of
    /// `unknown_rules`.
    pub tally: Tally,
    /// The logs, by number of the input, without line numbers: each sample stores its own.
    pub sources: Vec<SourceInfo>,
    /// The inputs, by the same numbers, without hits.
    pub inputs: Vec<InputSummary>,
    /// Entries of allow lists, by the numbers of [`Tally::allowed`].
    pub allowed: Vec<AllowOrigin>,
    /// Lines without a time, if a time range was given.
    pub without_time: u64,
    /// Rules in the report that the rule set does not have.
    pub unknown_rules: Vec<Rule>,
}

/// Encodes a report and decodes it in memory: the same result as writing and reading it, without
/// log lines and secrets.
///
/// # Errors
///
/// [`SnapshotError::Damaged`] where a count is out of range; [`SnapshotError::Cut`] where the
/// report has no snapshot.
pub(crate) fn roundtrip(report: &ReportModel<'_>) -> Result<ReportSnapshot, SnapshotError> {
    let Some(encoder) = SnapshotEncoder::new(report) else {
        return Err(SnapshotError::Cut);
    };
    let mut decoder = SnapshotDecoder::new(report.rule_set);
    encoder
        .for_each(|row| decoder.row(row))
        .and_then(|()| decoder.finish())
        .map_err(SnapshotError::Damaged)
}

/// The `schema_version` of reports that this version writes and reads.
pub(crate) const SCHEMA_VERSION: u32 = 10;

/// Why a report cannot be read. The caller prefixes the name of the file.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is no report.
    #[error(
        "is no report: {0}; give files written by `probewatch scan -f json`, `-f partial` or `probewatch report`"
    )]
    Foreign(String),
    /// A later version wrote it.
    #[error(
        "is a report of schema_version {0}, and this probewatch reads {SCHEMA_VERSION}; use the one that wrote it, or a newer one"
    )]
    Newer(u32),
    /// An older version wrote it.
    #[error(
        "is a report of schema_version {0}, and this probewatch reads {SCHEMA_VERSION}; scan the logs again with it"
    )]
    Older(u32),
    /// It was truncated.
    #[error("has no evidence because of --top; write it again without --top")]
    Cut,
    /// Its clients are hidden.
    #[error(
        "has no evidence because its clients are hidden; write it again without --anonymize, and anonymize the merged report"
    )]
    Hidden,
    /// It is incomplete or was modified.
    #[error("is damaged: {0}; write it again, or leave it out")]
    Damaged(String),
}

#[cfg(test)]
mod tests;
