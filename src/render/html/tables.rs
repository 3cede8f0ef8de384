//! Tables of a page: columns, cells and rows.
//!
//! Cells hold text that is safe to show. A long text is cut, so that a page stays small.

use std::borrow::Cow;

use super::{FolderLink, Section};
use crate::log::finding::Severity;
use crate::log::time::LogTime;
use crate::render::layout::minute_in;
use crate::report::model::ReportModel;
use crate::text::number::grouped;

/// The most characters of a cell.
const MAX_CHARS: usize = 300;

/// The most characters of a cell that is not broken.
const MAX_ONE_LINE: usize = 28;

/// The most rows of a table without a filter.
const MAX_ROWS_WITHOUT_FILTER: usize = 5;

/// A table with its rows.
#[derive(Debug, Default)]
pub(super) struct TableView {
    pub(super) caption: String,
    /// The name of each column, and whether it has numbers.
    pub(super) columns: Vec<(&'static str, bool)>,
    pub(super) rows: Vec<TableRow>,
    /// How many rows were left out, and where they are.
    pub(super) more: Option<String>,
}

/// A row.
#[derive(Debug, Default)]
pub(super) struct TableRow {
    pub(super) cells: Vec<TableCell>,
    /// Something was answered.
    pub(super) is_alarm: bool,
}

/// A cell: its text, and by what it is sorted where that differs.
#[derive(Debug, Default)]
pub(super) struct TableCell {
    pub(super) text: String,
    pub(super) class: &'static str,
    pub(super) value: Option<i64>,
    pub(super) link: Option<CellLink>,
    /// The path of a sparkline.
    pub(super) spark: Option<String>,
}

/// Where a cell leads. No text of a log is in a link.
#[derive(Debug)]
pub(super) enum CellLink {
    /// To the page of a report beside the index.
    Folder(FolderLink),
    /// To the rows of this client or path among the clients and paths, or to those of a day.
    Pairs(Option<String>),
}

impl TableCell {
    /// The cell of a client or a path, with a link to its rows among the clients and paths, if it
    /// has some.
    pub(super) fn linked(self, has_rows: bool) -> Self {
        Self {
            link: has_rows.then_some(CellLink::Pairs(None)),
            ..self
        }
    }

    /// A path or a target, which may break anywhere.
    pub(super) fn code<'t>(text: impl Into<Cow<'t, str>>) -> Self {
        let text = truncated(text.into());
        Self {
            class: if text.chars().count() > MAX_ONE_LINE {
                "c l"
            } else {
                "c"
            },
            text,
            ..Self::default()
        }
    }

    pub(super) fn count(n: u64) -> Self {
        Self {
            text: grouped(n),
            class: if n == 0 { "n z" } else { "n" },
            ..Self::default()
        }
    }

    /// A number that may be unknown.
    pub(super) fn number(n: Option<u64>) -> Self {
        n.map_or_else(
            || Self {
                text: "-".to_owned(),
                class: "n z",
                value: Some(-1),
                ..Self::default()
            },
            Self::count,
        )
    }

    pub(super) fn severity(severity: Severity) -> Self {
        const CLASSES: [&str; 5] = ["s s0", "s s1", "s s2", "s s3", "s s4"];
        let rank = severity as u8;
        Self {
            text: severity.as_str().to_owned(),
            class: CLASSES[usize::from(rank)],
            value: Some(rank.into()),
            ..Self::default()
        }
    }

    fn time(time: Option<LogTime>, zone: i16) -> Self {
        let Some(time) = time else {
            return Self {
                value: Some(i64::MIN),
                ..Self::default()
            };
        };
        Self {
            text: minute_in(time, zone),
            class: "t",
            value: Some(time.utc),
            ..Self::default()
        }
    }
}

/// A text that is safe to show. A short one stays on one line.
impl<'t, T: Into<Cow<'t, str>>> From<T> for TableCell {
    fn from(text: T) -> Self {
        let text = truncated(text.into());
        Self {
            class: if text.chars().count() > MAX_ONE_LINE {
                "p"
            } else {
                ""
            },
            text,
            ..Self::default()
        }
    }
}

/// Builds a table column by column; a column of empty cells is left out.
pub(super) struct TableBuilder<'r, T> {
    rows: &'r [T],
    table: TableView,
}

impl<'r, T> TableBuilder<'r, T> {
    /// A table of the first `most` rows.
    pub(super) fn new(rows: &'r [T], most: usize) -> Self {
        let rows = &rows[..most.min(rows.len())];
        Self {
            rows,
            table: TableView {
                rows: rows.iter().map(|_| TableRow::default()).collect(),
                ..TableView::default()
            },
        }
    }

    pub(super) fn text<C: Into<TableCell>>(
        self,
        name: &'static str,
        cell: impl Fn(&'r T) -> C,
    ) -> Self {
        self.column((name, false), cell)
    }

    /// A column of paths or targets.
    pub(super) fn code<'t, C: Into<Cow<'t, str>>>(
        self,
        name: &'static str,
        text: impl Fn(&'r T) -> C,
    ) -> Self {
        self.text(name, move |row| TableCell::code(text(row)))
    }

    pub(super) fn severity(self, severity: impl Fn(&'r T) -> Severity) -> Self {
        self.text("severity", move |row| TableCell::severity(severity(row)))
    }

    pub(super) fn number(self, name: &'static str, cell: impl Fn(&'r T) -> TableCell) -> Self {
        self.column((name, true), cell)
    }

    /// A column of counts.
    pub(super) fn count(self, name: &'static str, count: impl Fn(&'r T) -> u64) -> Self {
        self.number(name, move |row| TableCell::count(count(row)))
    }

    /// A column of times, with their zone where it is not the one of the report.
    pub(super) fn time(
        self,
        name: &'static str,
        report: &ReportModel<'_>,
        time: impl Fn(&'r T) -> Option<LogTime>,
    ) -> Self {
        self.text(name, move |row| TableCell::time(time(row), report.zone()))
    }

    fn column<C: Into<TableCell>>(
        mut self,
        head: (&'static str, bool),
        cell: impl Fn(&'r T) -> C,
    ) -> Self {
        let cells: Vec<TableCell> = self.rows.iter().map(|row| cell(row).into()).collect();
        if cells
            .iter()
            .any(|cell| !cell.text.is_empty() || cell.spark.is_some())
        {
            self.table.columns.push(head);
            for (row, cell) in self.table.rows.iter_mut().zip(cells) {
                row.cells.push(cell);
            }
        }
        self
    }

    /// Marks the rows in which something was answered.
    pub(super) fn alarm(mut self, is_alarm: impl Fn(&'r T) -> bool) -> Self {
        for (shown, row) in self.table.rows.iter_mut().zip(self.rows) {
            shown.is_alarm = is_alarm(row);
        }
        self
    }

    /// The table; `None` if it has no rows. `all` is how many rows there are, and `location` names
    /// where all of them are.
    pub(super) fn finish(self, caption: &str, all: u64, location: &str) -> Option<TableView> {
        let shown = self.rows.len() as u64;
        let more = (all > shown).then(|| {
            format!(
                "These are the first {} of {}: {location} has all.",
                grouped(shown),
                grouped(all)
            )
        });
        (shown > 0).then(|| TableView {
            caption: caption.to_owned(),
            more,
            ..self.table
        })
    }

    /// A section of this table alone.
    pub(super) fn section(
        self,
        (id, title): (&'static str, &'static str),
        caption: &str,
        all: u64,
        location: &str,
    ) -> Option<Section> {
        let table = self.finish(caption, all, location)?;
        Some(Section {
            id,
            title,
            count: Some(grouped(all)),
            table: Some(table),
            ..Section::default()
        })
    }
}

impl TableView {
    /// Whether it has a filter.
    pub(super) fn is_long(&self) -> bool {
        self.rows.len() > MAX_ROWS_WITHOUT_FILTER
    }
}

/// The text, or its beginning and `…` if it is longer than a cell may be.
pub(super) fn truncated(text: Cow<'_, str>) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}
