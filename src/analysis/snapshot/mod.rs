//! What a report was made of, told along with it in JSON, so that reports can be added up and the context decided anew.
//!
//! It holds every cell of the tally, whatever the report shows of it, in one order for any number of threads: adding up the
//! parts gives the bytes of the whole. Texts are masked like all others; where that makes two keys look the same, a hash of
//! what was logged keeps them apart. Of a tally that let go of something it tells by how much all of it may be too low. What is read back may come from anywhere: it is checked, bounded, and never trusted
//! with a panic.

mod decode;
mod encode;
mod inputs;
mod json;
mod read;
mod rows;

pub(crate) use self::json::SnapshotJson;
pub use self::read::read;
use std::io;

use thiserror::Error;

use self::decode::SnapshotDecoder;
use self::encode::{SnapshotEncoder, transfer};
use super::model::{InputSummary, Report};
use crate::client::Prefix;
use crate::rules::Rule;
use crate::source::SourceText;
use crate::tally::Tally;

/// What a report was made of.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotSource<'a> {
    /// All hits.
    pub tally: &'a Tally,
    /// The inputs' texts, by number.
    pub texts: &'a [SourceText],
}

/// An entry of an allow list that an earlier report told of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllowOrigin {
    /// The list.
    pub file: String,
    /// The line the entry begins at, from 1.
    pub line: usize,
    /// Why it is allowed.
    pub reason: String,
}

/// What an earlier report told.
#[derive(Debug, Default)]
pub struct ReportSnapshot {
    /// The machine it speaks of, where that was said.
    pub log_host: Option<String>,
    /// The day or hour it speaks of, where it was cut into such.
    pub period: Option<String>,
    /// Which IPv6 addresses it counts as one client.
    pub prefix: Option<Prefix>,
    /// All hits. Rules that are not known have numbers behind those of the set that was asked, in the order of `unknown_rules`.
    pub tally: Tally,
    /// The inputs' texts, by number; they number no lines, as samples know theirs.
    pub texts: Vec<SourceText>,
    /// The inputs, by the same numbers, without hits.
    pub inputs: Vec<InputSummary>,
    /// Entries of allow lists, by the numbers of [`Tally::allowed`].
    pub allowed: Vec<AllowOrigin>,
    /// Lines without a time, where a window asked for one.
    pub without_time: u64,
    /// Rules that occur and that the set does not know, as the report tells of them.
    pub unknown_rules: Vec<Rule>,
}

/// What a report tells, without writing it down: the lines of its samples are forgotten, and secrets with them.
///
/// # Errors
///
/// [`SnapshotError::Damaged`] where a count is beyond all bounds; [`SnapshotError::Cut`] where it has none.
pub fn roundtrip(report: &Report<'_>) -> Result<ReportSnapshot, SnapshotError> {
    let Some(encoder) = SnapshotEncoder::new(report) else { return Err(SnapshotError::Cut) };
    let mut decoder = SnapshotDecoder::new(report.rule_set);
    transfer(&encoder, &mut decoder).map_err(SnapshotError::Damaged)?;
    let (log_host, period, prefix) = (report.log_host.clone(), report.period.clone(), report.prefix);
    Ok(ReportSnapshot { log_host, period, prefix, ..decoder.finish() })
}

/// The version of the document this reads.
pub(crate) const READS_SCHEMA: u32 = 4;

/// Why a report cannot be read back.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("is no report: {0}; name files that `probewatch scan -f json` or `probewatch report` wrote")]
    Foreign(String),
    /// A later version wrote it.
    #[error("is a report of schema_version {0}, and this probewatch reads {READS_SCHEMA}; use the one that wrote it, or a newer one")]
    Newer(u32),
    /// An earlier version wrote it.
    #[error("is a report of schema_version {0}, and this probewatch reads {READS_SCHEMA}; scan the logs again with it")]
    Older(u32),
    /// It was cut.
    #[error("holds no evidence, as it was cut by --top; write it again without --top")]
    Cut,
    /// Its clients are hidden.
    #[error("holds no evidence, as its clients are hidden; write it again without --anonymize, and hide them in the merged one")]
    Hidden,
    /// It is not whole, or not as it was written.
    #[error("is damaged: {0}; write it again, or leave it out")]
    Damaged(String),
}

#[cfg(test)]
mod tests;
