//! Prints the index of the reports in a folder: a row for each, with its sums, a sparkline of its
//! hits and a link to its page.
//!
//! The sums are from the pages: each has a digest of its report in its head. A report without a
//! page has a row without sums. What `verify` found is from the file that it saves.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::plots::{self, Plot, PlotItem};
use super::tables::{CellLink, TableBuilder, TableCell, truncated};
use super::{FolderLink, HtmlPage, PageOptions, Section};
use crate::log::finding::Severity;
use crate::render::layout::minute;
use crate::report::model::ReportModel;
use crate::report::verify::VerdictCounts;
use crate::text::number::{counted, grouped};
use crate::text::redact::sanitize::escape;

/// How many of the first bytes of a page contain its digest.
pub(crate) const DIGEST_BYTES: u64 = 8 * 1024;

/// Reports in the table and the plot.
const ROWS: usize = 1_000;

/// Reports in the plot.
const BARS: usize = 200;

/// What the index shows of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunDigest {
    /// The run or the period.
    label: String,
    /// The first and the last minute of the log.
    first: Option<String>,
    last: Option<String>,
    lines: u64,
    requests: u64,
    hits: u64,
    clients: u64,
    paths: u64,
    answered: u64,
    severity: Option<Severity>,
    /// New items; `None` in the first run.
    new: Option<u64>,
    /// Hits over time.
    spark: Vec<u64>,
}

impl RunDigest {
    pub(super) fn new(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Self {
        let totals = &report.totals;
        let label = options
            .label
            .or(report.period.as_deref())
            .unwrap_or_default();
        Self {
            label: truncated(escape(label.as_bytes())),
            first: totals.first_time.map(minute),
            last: totals.last_time.map(minute),
            lines: totals.sum.lines,
            requests: totals.sum.requests,
            hits: totals.sum.hits,
            clients: totals.clients,
            paths: totals.paths,
            answered: totals.answered,
            severity: totals.severity,
            new: options.news.map(|news| news.len() as u64),
            spark: plots::spark(&report.timeline),
        }
    }

    /// The digest in the first bytes of a page; `None` if there is none.
    #[must_use]
    pub(crate) fn from_page(head: &[u8]) -> Option<Self> {
        let head = String::from_utf8_lossy(head);
        let (_, rest) = head.split_once("<meta name=\"probewatch-digest\" content=\"")?;
        let (escaped, _) = rest.split_once('"')?;
        let json = escaped
            .replace("&#34;", "\"")
            .replace("&#39;", "'")
            .replace("&#60;", "<")
            .replace("&#62;", ">")
            .replace("&#38;", "&");
        serde_json::from_str(&json).ok()
    }
}

/// A report folder, and the digest of its page.
#[derive(Debug, Clone)]
pub(crate) struct IndexEntry {
    /// The folder.
    pub folder: FolderLink,
    /// `None` if the folder has no page.
    pub digest: Option<RunDigest>,
    /// `None` if the folder has no result of `verify`.
    pub verified: Option<VerifiedDigest>,
}

/// What the index shows of a result of `verify`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct VerifiedDigest {
    /// When the site was asked, RFC 3339 in UTC.
    time: String,
    totals: VerdictCounts,
}

impl VerifiedDigest {
    /// The digest of a saved result; `None` if it is none.
    #[must_use]
    pub(crate) fn from_json(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    /// The day, and what came of the paths.
    fn cell(&self) -> TableCell {
        let day = self.time.split('T').next().unwrap_or_default();
        escape(format!("{day}: {}", self.totals.sentence()).as_bytes()).into()
    }
}

/// Writes the index of these reports, the newest first.
///
/// # Errors
///
/// Errors of `out`.
pub(crate) fn write<W: Write>(
    entries: &[IndexEntry],
    host: Option<&str>,
    out: &mut W,
) -> io::Result<()> {
    page(entries, host).write(out)
}

fn page(entries: &[IndexEntry], host: Option<&str>) -> HtmlPage {
    let digests = || entries.iter().filter_map(|entry| entry.digest.as_ref());
    let host = host
        .map(|host| format!(" on {}", escape(host.as_bytes())))
        .unwrap_or_default();
    let answered = digests().filter(|digest| digest.answered > 0).count() as u64;
    let headline = match entries.len() as u64 {
        0 => "There are no reports yet.".to_owned(),
        all => format!(
            "{}, {} with an answer.",
            counted(all, "report", "reports"),
            grouped(answered)
        ),
    };
    let sum = |field: fn(&RunDigest) -> u64| grouped(digests().map(field).sum());
    HtmlPage {
        kicker: format!("probewatch reports{host}"),
        facts: vec![
            ("answered", sum(|digest| digest.answered), answered > 0),
            ("hits", sum(|digest| digest.hits), false),
            ("requests", sum(|digest| digest.requests), false),
            ("lines", sum(|digest| digest.lines), false),
        ],
        sections: trend(entries).into_iter().chain(reports(entries)).collect(),
        ..HtmlPage::new(format!("probewatch reports{host}"), headline)
    }
}

/// Hits of each report, the oldest first.
fn trend(entries: &[IndexEntry]) -> Option<Section> {
    let shown: Vec<(&FolderLink, &RunDigest)> = entries
        .iter()
        .filter_map(|entry| Some((&entry.folder, entry.digest.as_ref()?)))
        .take(BARS)
        .collect();
    let items: Vec<PlotItem> = shown
        .iter()
        .rev()
        .map(|(folder, digest)| item(folder, digest))
        .collect();
    let (first, last) = (shown.last()?, shown.first()?);
    let mut plot = Plot::new(&items, &["o4", "o0"]);
    plot.caption = format!(
        "Hits of each report, the oldest first: {} to {}.",
        name(first),
        name(last)
    );
    plot.ticks = if shown.len() > 1 {
        vec![name(first), name(last)]
    } else {
        vec![name(first)]
    };
    for (at, (folder, digest)) in (0..)
        .zip(shown.iter().rev())
        .filter(|(_, (_, digest))| digest.answered > 0)
    {
        let answered = grouped(digest.answered);
        let title = format!("{}: {answered} answered", name(&(folder, digest)));
        plot.marks.push((at * 10, title));
    }
    let key = |class, name: &str, value: u64| (class, name.to_owned(), grouped(value));
    plot.legend = vec![
        key(
            "o4",
            "not answered",
            shown
                .iter()
                .map(|(_, digest)| digest.hits.saturating_sub(digest.answered))
                .sum(),
        ),
        key(
            "o0",
            "answered",
            shown
                .iter()
                .map(|(_, digest)| digest.answered.min(digest.hits))
                .sum(),
        ),
    ];
    Some(Section {
        id: "trend",
        title: "Trend",
        plot: Some(plot),
        ..Section::default()
    })
}

fn item(folder: &FolderLink, digest: &RunDigest) -> PlotItem {
    let answered = digest.answered.min(digest.hits);
    let title = format!(
        "{}: {}, {} answered",
        name(&(folder, digest)),
        counted(digest.hits, "hit", "hits"),
        grouped(digest.answered)
    );
    (title, vec![digest.hits - answered, answered])
}

/// The label of a report, or the name of its folder.
fn name((folder, digest): &(&FolderLink, &RunDigest)) -> String {
    if digest.label.is_empty() {
        folder.to_string()
    } else {
        escape(digest.label.as_bytes()).into_owned()
    }
}

fn reports(entries: &[IndexEntry]) -> Option<Section> {
    let of = |entry: &IndexEntry, cell: &dyn Fn(&RunDigest) -> TableCell| {
        entry.digest.as_ref().map_or_else(TableCell::default, cell)
    };
    let count = |entry: &IndexEntry, field: fn(&RunDigest) -> u64| {
        of(entry, &|digest| TableCell::count(field(digest)))
    };
    let text = |entry: &IndexEntry, field: fn(&RunDigest) -> Option<&str>| {
        of(entry, &|digest| TableCell {
            class: "t",
            ..escape(field(digest).unwrap_or_default().as_bytes()).into()
        })
    };
    TableBuilder::new(entries, ROWS)
        .text("report", report_cell)
        .number("hits", |entry| count(entry, |digest| digest.hits))
        .text("hits over time", |entry| {
            of(entry, &|digest| TableCell {
                spark: plots::spark_path(&digest.spark),
                ..TableCell::default()
            })
        })
        .number("answered", |entry| count(entry, |digest| digest.answered))
        .text("worst", |entry| {
            of(entry, &|digest| {
                digest
                    .severity
                    .map_or_else(TableCell::default, TableCell::severity)
            })
        })
        .text("verified", |entry| {
            entry
                .verified
                .as_ref()
                .map_or_else(TableCell::default, VerifiedDigest::cell)
        })
        .number("clients", |entry| count(entry, |digest| digest.clients))
        .number("paths", |entry| count(entry, |digest| digest.paths))
        .number("new", |entry| {
            of(entry, &|digest| {
                digest.new.map_or_else(TableCell::default, TableCell::count)
            })
        })
        .number("requests", |entry| count(entry, |digest| digest.requests))
        .number("lines", |entry| count(entry, |digest| digest.lines))
        .text("log begins", |entry| {
            text(entry, |digest| digest.first.as_deref())
        })
        .text("log ends", |entry| {
            text(entry, |digest| digest.last.as_deref())
        })
        .alarm(|entry| {
            entry
                .digest
                .as_ref()
                .is_some_and(|digest| digest.answered > 0)
        })
        .section(
            ("reports", "Reports"),
            "The reports in this folder, the newest first",
            entries.len() as u64,
            "the folder",
        )
}

/// The folder, with a link to its page if there is one.
fn report_cell(entry: &IndexEntry) -> TableCell {
    let link = entry
        .digest
        .is_some()
        .then(|| CellLink::Folder(entry.folder.clone()));
    TableCell {
        link,
        ..entry.folder.to_string().into()
    }
}
