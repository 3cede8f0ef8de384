//! The summary of a run for people: `summary.txt`, and a mail of a few lines if something is notable.
//!
//! The most important comes first: answers, what is new, top clients, block candidates. Programs read CSV or JSON: the
//! layout may change.

mod candidates;
mod content;
mod message;
mod summary;

use std::io::{self, Write};
use std::path::Path;

use crate::analysis::model::Report;
use crate::analysis::novelty::{NewItem, NoveltyKind};
use crate::finding::Severity;

/// The most lines of a mail.
pub(crate) const MAIL_LINES: usize = message::LINES;

/// The data of a summary and a mail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunSummary<'a> {
    /// The report, with all its answers and clients.
    pub report: &'a Report<'a>,
    /// What no run before has seen.
    pub news: &'a [NewItem<'a>],
    /// What the report covers, for people: `Run 12`, or the period, `2026-11-20`.
    pub label: &'a str,
    /// The host the logs are from, if known.
    pub host: Option<&'a str>,
    /// It is the first run: everything is new, so nothing is marked as new.
    pub is_first: bool,
    /// The final folder of the files.
    pub folder: &'a Path,
    /// Further notes, a sentence each: late lines, counts that are bounds. Problems of inputs are not among them.
    pub notes: &'a [String],
    /// The least severity for a mail.
    pub level: Severity,
}

/// Whether a mail is due: for an answer or a flood, or a new answer, rule or campaign, at or above the level. New paths and
/// clients are too frequent for a mail, and in the first run everything is new.
#[must_use]
pub(crate) fn is_notable(summary: &RunSummary<'_>) -> bool {
    let is_rare_news = |news: &NewItem<'_>| {
        matches!(news.kind, NoveltyKind::Answer | NoveltyKind::Rule | NoveltyKind::Campaign) && news.severity >= summary.level
    };
    summary.report.answered.iter().any(|row| row.severity >= summary.level)
        || summary.report.floods.iter().any(|flood| flood.severity >= summary.level)
        || (!summary.is_first && summary.news.iter().any(is_rare_news))
}

/// Writes `summary.txt`.
///
/// # Errors
///
/// Those of `out`.
pub(crate) fn write_summary<W: Write>(summary: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    summary::write(summary, out)
}

/// Writes the mail, whether [`is_notable`] or not.
///
/// # Errors
///
/// Those of `out`.
pub(crate) fn write_mail<W: Write>(summary: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    message::write(summary, out)
}

#[cfg(test)]
mod tests;
