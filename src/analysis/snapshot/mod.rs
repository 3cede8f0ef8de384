//! What a report was made of, told along with it in JSON, so that reports can be added up and the context decided anew.
//!
//! It holds every cell of the tally, whatever the report shows of it, in one order for any number of threads: adding up the
//! parts gives the bytes of the whole. Texts are masked like all others; where that makes two keys look the same, a hash of
//! what was logged keeps them apart. Of a tally that let go of something it tells by how much all of it may be too low. What is read back may come from anywhere: it is checked, bounded, and never trusted
//! with a panic.

mod error;
mod guarded;
mod ranks;
mod read;
mod rebuild;
mod rows;
mod samples;
mod sources;
mod sums;
mod tell;
mod told_rule;
mod write;

pub use self::error::SnapshotError;
pub use self::read::read;
pub(crate) use self::write::SnapshotJson;

use self::rebuild::SnapshotDecoder;
use self::tell::{SnapshotEncoder, transfer};
use super::model::{InputSummary, Report};
use crate::client::Ipv6Prefix;
use crate::rules::Rule;
use crate::source::SourceInfo;
use crate::tally::Tally;

/// What a report was made of.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotSource<'a> {
    /// All hits.
    pub tally: &'a Tally,
    /// The inputs' texts, by number.
    pub texts: &'a [SourceInfo],
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
    pub prefix: Option<Ipv6Prefix>,
    /// All hits. Rules that are not known have numbers behind those of the set that was asked, in the order of `unknown_rules`.
    pub tally: Tally,
    /// The inputs' texts, by number; they number no lines, as samples know theirs.
    pub texts: Vec<SourceInfo>,
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
    let Some(teller) = SnapshotEncoder::new(report) else { return Err(SnapshotError::Cut) };
    let mut rebuild = SnapshotDecoder::new(report.rule_set);
    transfer(&teller, &mut rebuild).map_err(SnapshotError::Damaged)?;
    let (log_host, period, prefix) = (report.log_host.clone(), report.period.clone(), report.prefix);
    Ok(ReportSnapshot { log_host, period, prefix, ..rebuild.finish() })
}

#[cfg(test)]
mod tests;
