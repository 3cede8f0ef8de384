//! Prints a report as a page for a browser: one file that requests nothing, with plots, and tables to sort and filter.
//!
//! The style and the script of the page are the only ones that its content policy allows, by their hashes. All text of a log is
//! redacted here and escaped by the template, and none is part of a link. Tables hold the first rows only: CSV has all.

pub(crate) mod index;
mod plots;
mod sections;
mod tables;

use std::io::{self, Write};
use std::sync::LazyLock;

use askama::Template;
use sha2::{Digest as _, Sha256};

use self::index::RunDigest;
use self::plots::{HeatMap, Plot};
use self::tables::TableView;
use super::PAGE_ROWS;
use super::table::{headline, minute};
use crate::analysis::model::{InputSummary, Report};
use crate::analysis::novelty::NewItem;
use crate::number::{counted, grouped, size};
use crate::redact::sanitize::escape;
use crate::time::LogTime;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

static STYLE_HASH: LazyLock<String> = LazyLock::new(|| hash(STYLE));
static SCRIPT_HASH: LazyLock<String> = LazyLock::new(|| hash(SCRIPT));

/// What a page has beside the report.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PageOptions<'a> {
    /// Rows of each table; `None` is 1,000.
    pub top: Option<usize>,
    /// When the page is made, in seconds since 1970.
    pub made_at: Option<i64>,
    /// What the report covers, such as `Run 12`.
    pub label: Option<&'a str>,
    /// What no run before has seen; `None` where no run was before.
    pub news: Option<&'a [NewItem<'a>]>,
    /// Further notes, a sentence each.
    pub notes: &'a [String],
}

impl PageOptions<'_> {
    fn rows(&self) -> usize {
        self.top.unwrap_or(PAGE_ROWS)
    }
}

/// A page, as the template shows it.
#[derive(Debug, Template)]
#[template(path = "page.html", config = "src/render/html/askama.toml")]
struct Page {
    style: &'static str,
    script: &'static str,
    style_hash: &'static str,
    script_hash: &'static str,
    version: &'static str,
    digest: Option<String>,
    title: String,
    kicker: String,
    headline: String,
    is_alarm: bool,
    facts: Vec<Fact>,
    about: Vec<String>,
    sections: Vec<Section>,
    footer: String,
}

/// A number of the header.
#[derive(Debug)]
struct Fact {
    name: &'static str,
    value: String,
    is_alarm: bool,
}

impl Fact {
    fn new(name: &'static str, n: u64) -> Self {
        Self { name, value: grouped(n), is_alarm: false }
    }
}

/// A section: sentences, a plot, a heat map and a table, as far as it has them.
#[derive(Debug, Default)]
struct Section {
    id: &'static str,
    title: &'static str,
    /// Number of items, for the list of sections.
    count: Option<String>,
    sentences: Vec<String>,
    plot: Option<Plot>,
    heat: Option<HeatMap>,
    table: Option<TableView>,
    /// The table repeats the plot in numbers, and is closed at first.
    folded: bool,
}

impl Page {
    fn new(title: String, headline: String) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        Self {
            style: STYLE,
            script: SCRIPT,
            style_hash: &STYLE_HASH,
            script_hash: &SCRIPT_HASH,
            version,
            digest: None,
            kicker: String::new(),
            title,
            headline,
            is_alarm: false,
            facts: Vec::new(),
            about: Vec::new(),
            sections: Vec::new(),
            footer: format!("Made by probewatch {version}. This page requests nothing from the network."),
        }
    }

    fn write<W: Write>(&self, out: &mut W) -> io::Result<()> {
        // Errors of `out` are the only ones.
        self.write_into(out)?;
        writeln!(out)
    }
}

/// Writes the page of a report.
///
/// # Errors
///
/// Those of `out`.
pub(crate) fn write<W: Write>(report: &Report<'_>, options: &PageOptions<'_>, out: &mut W) -> io::Result<()> {
    page(report, options).write(out)
}

fn page(report: &Report<'_>, options: &PageOptions<'_>) -> Page {
    let (sentence, is_alarm) = headline(report);
    let subject = subject(report, options);
    let totals = &report.totals;
    let answered = Fact { is_alarm: totals.answered > 0, ..Fact::new("answered", totals.answered) };
    Page {
        digest: serde_json::to_string(&RunDigest::new(report, options)).ok(),
        kicker: subject.clone(),
        is_alarm,
        facts: vec![
            answered,
            Fact::new("hits", totals.sum.hits),
            Fact::new("clients", totals.clients),
            Fact::new("paths", totals.paths),
            Fact::new("requests", totals.sum.requests),
            Fact::new("lines", totals.sum.lines),
        ],
        about: about(report, options),
        sections: sections::all(report, options),
        ..Page::new(format!("{sentence} {subject}"), sentence)
    }
}

/// What the page is about, for the line above the headline.
fn subject(report: &Report<'_>, options: &PageOptions<'_>) -> String {
    let label =
        options.label.or(report.period.as_deref()).map(|label| format!(": {}", tables::cut(escape(label.as_bytes())))).unwrap_or_default();
    let host = report.log_host.as_deref().map(|host| format!(" on {}", tables::cut(escape(host.as_bytes())))).unwrap_or_default();
    format!("probewatch report{label}{host}")
}

/// When, from what and by which version.
fn about(report: &Report<'_>, options: &PageOptions<'_>) -> Vec<String> {
    let sum = &report.totals.sum;
    let mut about = Vec::new();
    match (sum.first_time, sum.last_time) {
        (Some(first), Some(last)) => about.push(format!("The log begins {} and ends {}.", with_offset(first), with_offset(last))),
        _ => about.push("No line of the log has a time.".to_owned()),
    }
    about.push(format!("Read from {}, {} of text.", inputs(&report.inputs), size(sum.bytes)));
    let by = env!("CARGO_PKG_VERSION");
    about.push(match options.made_at {
        Some(utc) => format!("Made {} UTC by probewatch {by}.", minute(LogTime { utc, offset: 0 })),
        None => format!("Made by probewatch {by}."),
    });
    if let Some(how) = report.hidden {
        about.push(format!("Clients are hidden (--anonymize {how})."));
    }
    about
}

/// The name of a single input, or the number of several.
fn inputs(inputs: &[InputSummary]) -> String {
    match inputs {
        [one] if one.path == b"-" => "standard input".to_owned(),
        [one] => tables::cut(escape(&one.path)),
        many => counted(many.len() as u64, "input", "inputs"),
    }
}

/// `2026-11-02 08:01 +01:00`.
fn with_offset(time: LogTime) -> String {
    let full = time.rfc3339();
    format!("{} {}", minute(time), full.get(19..).unwrap_or_default())
}

/// The hash of an element's text in a content policy.
fn hash(text: &str) -> String {
    base64(&Sha256::digest(text.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            text.push(if digit > chunk.len() { '=' } else { char::from(DIGITS[value as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests;
