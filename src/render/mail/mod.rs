//! What a run says to a person: a page beside the tables, and a mail of a few lines when there is something to tell.
//!
//! Says only what the report and the news hold, in an order that fits a hurry: what answered, what is new, who asked most, whom
//! one could block. Programs read CSV or JSON instead: this layout promises them nothing.

mod candidates;
mod content;
mod message;
mod summary;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::Path;

use crate::analysis::model::Report;
use crate::analysis::novelty::NewItem;
use crate::analysis::seen::NoveltyKind;
use crate::finding::Severity;

/// Lines of a mail at most.
pub const MAIL_LINES: usize = message::LINES;

/// Everything a page or a mail is made of.
#[derive(Debug, Clone, Copy)]
pub struct RunSummary<'a> {
    /// The report, with its answers and clients whole.
    pub report: &'a Report<'a>,
    /// What was never seen before.
    pub news: &'a [NewItem<'a>],
    /// What the report covers, for people: `Run 12`, or the period, `2026-11-20`.
    pub label: &'a str,
    /// The host the logs are of, where that is known.
    pub host: Option<&'a str>,
    /// Nothing was seen before, so that everything is new and nothing worth telling as such.
    pub is_first: bool,
    /// Where the files are, as it will be when the run is done.
    pub folder: &'a Path,
    /// What else a reader must know, a sentence each: late lines, counts that are bounds. What is wrong with an input is
    /// said without them.
    pub notes: &'a [String],
    /// What is worth a mail.
    pub level: Severity,
}

/// Whether there is something to tell: an answer, a flood, or a rule or campaign never seen before, at or above the level. New
/// paths and clients there are every day, and in the first run all is new.
#[must_use]
pub fn is_notable(page: &RunSummary<'_>) -> bool {
    let telling = |news: &NewItem<'_>| {
        matches!(news.kind, NoveltyKind::Answer | NoveltyKind::Rule | NoveltyKind::Campaign) && news.severity >= page.level
    };
    page.report.answered.iter().any(|row| row.severity >= page.level)
        || page.report.floods.iter().any(|flood| flood.severity >= page.level)
        || (!page.is_first && page.news.iter().any(telling))
}

/// Writes the page, `summary.txt`.
///
/// # Errors
///
/// Those of `out`, as they came.
pub fn write_summary<W: Write>(page: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    summary::write(page, out)
}

/// Writes the mail. Whether it is due is the caller's to ask.
///
/// # Errors
///
/// Those of `out`, as they came.
pub fn write_mail<W: Write>(page: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    message::write(page, out)
}
