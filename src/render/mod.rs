//! Prints a finished report, in one module per format.
//!
//! Renderers write what [`crate::report::model`] holds. They read no log, make no decision and do
//! not depend on the command line.

mod attack;
pub(crate) mod block;
pub(crate) mod csv;
pub(crate) mod ecs;
pub(crate) mod explain;
pub(crate) mod formats;
pub(crate) mod grades;
mod hit_fields;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod layout;
pub(crate) mod live;
pub(crate) mod mail;
pub(crate) mod ndjson;
pub(crate) mod ocsf;
pub(crate) mod prometheus;
pub(crate) mod proposals;
mod row_lines;
pub(crate) mod schema;
pub(crate) mod sink;
pub(crate) mod table;
pub(crate) mod timeline;
pub(crate) mod verify;

use std::io::{self, Write};

pub(crate) use self::ndjson::HitTexts;
use clap::ValueEnum;

use crate::report::build::RowSelection;
use crate::report::diff::DiffRow;
use crate::report::learn::Proposals;
use crate::report::model::{ReportModel, ReportedHit};
use crate::report::snapshot::write_partial;
use crate::rules::RuleSet;

/// Rows in each section of a table unless `--top` sets another number.
pub(crate) const TABLE_ROWS: usize = 10;

/// Rows in each table of a page unless `--top` sets another number.
pub(crate) const PAGE_ROWS: usize = 1_000;

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum OutputFormat {
    /// Aligned text.
    #[default]
    Table,
    /// One CSV table.
    Csv,
    /// One JSON document.
    Json,
    /// One JSON object per hit.
    Ndjson,
    /// One page for a browser.
    Html,
    /// One object of the Elastic Common Schema per hit.
    Ecs,
    /// One OCSF Detection Finding per hit.
    Ocsf,
    /// Counts for Prometheus.
    Prometheus,
    /// Evidence alone, compressed, for merge.
    Partial,
}

/// A format that prints single hits, one per line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HitFormat {
    /// Our own objects.
    Ndjson,
    /// The Elastic Common Schema.
    Ecs,
    /// The Open Cybersecurity Schema Framework.
    Ocsf,
}

impl OutputFormat {
    /// The format of a hit, if hits are printed and not a report.
    pub(crate) fn hit_format(self) -> Option<HitFormat> {
        match self {
            Self::Ndjson => Some(HitFormat::Ndjson),
            Self::Ecs => Some(HitFormat::Ecs),
            Self::Ocsf => Some(HitFormat::Ocsf),
            _ => None,
        }
    }
}

impl HitFormat {
    /// Appends one hit and its newline. `now`, in seconds since 1970, is the time of a finding
    /// where the request has none. `texts` are those of earlier hits.
    pub(crate) fn write(
        self,
        hit: &ReportedHit<'_>,
        rules: &RuleSet,
        now: i64,
        texts: &mut HitTexts,
        out: &mut Vec<u8>,
    ) {
        match self {
            Self::Ndjson => ndjson::write(hit, rules, texts, out),
            Self::Ecs => ecs::write(hit, rules, out),
            Self::Ocsf => ocsf::write(hit, rules, now, out),
        }
    }
}

/// What a row of CSV is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum GroupBy {
    /// A client, a path and an outcome.
    #[default]
    Pair,
    /// A client.
    Client,
    /// A path.
    Path,
    /// A rule.
    Rule,
    /// A path with a distinct answer.
    Answer,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal that supports it.
    #[default]
    Auto,
    Always,
    Never,
}

/// How to print a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RenderOptions {
    /// The format of a report.
    pub format: OutputFormat,
    /// What a row of a CSV is, pairs where `None`; for a table the one section to print, all where
    /// `None`.
    pub by: Option<GroupBy>,
    /// Rows in each section; `None` is ten for a table, 1,000 for a page, all for CSV and JSON.
    pub top: Option<usize>,
    /// All sections of a table, and where the lines of each input went.
    pub full: bool,
    /// Columns of the terminal, for a table; 0 is unknown.
    pub width: u16,
    /// Lines of the terminal, for a table without `by` and `full`; 0 is unknown.
    pub height: u16,
    /// Whether a table is coloured.
    pub color: bool,
    /// Whether a table is the summary of `follow`, which has no other format of a whole report and
    /// no `--full`.
    pub is_live: bool,
    /// When a page is made, in seconds since 1970.
    pub made_at: Option<i64>,
}

impl RenderOptions {
    /// The rows that a report in this format needs.
    #[must_use]
    pub fn rows(&self) -> RowSelection {
        let &Self {
            format,
            by,
            full,
            top: most,
            ..
        } = self;
        let is = |row: GroupBy| by.unwrap_or_default() == row;
        let shown = |row: GroupBy| by.map_or(full, |b| b == row);
        match format {
            OutputFormat::Ndjson
            | OutputFormat::Ecs
            | OutputFormat::Ocsf
            | OutputFormat::Prometheus
            | OutputFormat::Partial => RowSelection::default(),
            OutputFormat::Json => RowSelection {
                hosts: false,
                most,
                ..RowSelection::COMPLETE
            },
            OutputFormat::Html => RowSelection {
                most: Some(most.unwrap_or(PAGE_ROWS)),
                ..RowSelection::COMPLETE
            },
            OutputFormat::Csv => RowSelection {
                answered: is(GroupBy::Answer),
                pairs: is(GroupBy::Pair),
                clients: is(GroupBy::Client),
                paths: is(GroupBy::Path),
                rules: is(GroupBy::Rule),
                campaigns: false,
                hosts: false,
                networks: false,
                most,
            },
            OutputFormat::Table => RowSelection {
                answered: true,
                campaigns: full && by.is_none(),
                hosts: false,
                networks: false,
                // The section prints the number of pairs, so all are needed.
                pairs: by == Some(GroupBy::Pair),
                clients: by.is_none_or(|row| row == GroupBy::Client),
                paths: shown(GroupBy::Path),
                rules: shown(GroupBy::Rule),
                most: if by == Some(GroupBy::Pair) {
                    None
                } else {
                    Some(most.unwrap_or(TABLE_ROWS.max(self.page_height())))
                },
            },
        }
    }

    /// Columns of a page of text: those of the terminal, at least 40; 80 where they are unknown, as
    /// some terminals report 0.
    pub(crate) fn page_width(&self) -> usize {
        if self.width == 0 {
            80
        } else {
            layout::MIN_WIDTH.max(self.width.into())
        }
    }

    /// Lines of a page of text: those of the terminal; 24 where they are unknown.
    pub(crate) fn page_height(&self) -> usize {
        if self.height == 0 {
            24
        } else {
            self.height.into()
        }
    }
}

/// Writes a finished report to `out`, without a flush.
///
/// For a format of hits it writes nothing: hits are written one by one with [`HitFormat::write`].
///
/// # Errors
///
/// Errors of `out`.
pub fn render<W: Write>(
    report: &ReportModel<'_>,
    options: &RenderOptions,
    out: &mut W,
) -> io::Result<()> {
    match options.format {
        OutputFormat::Table => out.write_all(table::report(report, options).as_bytes()),
        OutputFormat::Csv => csv::write(report, options.by.unwrap_or_default(), options.top, out),
        OutputFormat::Json => json::write(report, options.top, out),
        OutputFormat::Ndjson | OutputFormat::Ecs | OutputFormat::Ocsf => Ok(()),
        OutputFormat::Partial => write_partial(report, out),
        OutputFormat::Prometheus => out.write_all(prometheus::of_report(report).as_bytes()),
        OutputFormat::Html => html::write(
            report,
            &html::PageOptions {
                top: options.top,
                made_at: options.made_at,
                ..html::PageOptions::default()
            },
            out,
        ),
    }
}

/// Writes what differs between two reports to `out`. Notes are for people: only a table has them.
///
/// # Errors
///
/// Errors of `out`.
pub(crate) fn render_diff<W: Write>(
    rows: &[DiffRow],
    notes: &[String],
    options: &RenderOptions,
    out: &mut W,
) -> io::Result<()> {
    match options.format {
        OutputFormat::Csv => csv::write_diff(rows, options.top, out),
        OutputFormat::Json => json::write_diff(rows, options.top, out),
        _ => out.write_all(table::diff(rows, notes, options).as_bytes()),
    }
}

/// Writes what `learn` proposes to `out`.
///
/// # Errors
///
/// Errors of `out`.
pub(crate) fn render_proposals<W: Write>(
    proposals: &Proposals<'_>,
    options: &RenderOptions,
    out: &mut W,
) -> io::Result<()> {
    match options.format {
        OutputFormat::Csv => csv::write_proposals(proposals, options.top, out),
        OutputFormat::Json => proposals::write_json(proposals, options.top, out),
        _ => out.write_all(proposals::table(proposals, options).as_bytes()),
    }
}
