//! Lays out text in columns that fit a width: less important columns are left out, flexible ones
//! are cut with `…`. Also the colours of a report, and how it writes a minute.
//!
//! Measures by display width. No line is wider than the page, which has at least [`MIN_WIDTH`]
//! columns. Only [`Painter`] writes colour escapes. Colour adds no information: a report without it
//! has the same content.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::iter::repeat_n;

use anstyle::{AnsiColor, Style};
use textwrap::{WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthChar;

use crate::log::finding::Severity;
use crate::log::time::LogTime;
use crate::render::{RenderOptions, TABLE_ROWS};
use crate::text::number::grouped;
use crate::text::redact::sanitize::escape;

/// The least columns of a page; a narrower terminal gets lines of this length.
pub(crate) const MIN_WIDTH: usize = 40;

/// Before every row, and between two columns.
const INDENT: &str = "  ";

/// One cell. Its text is always escaped.
#[derive(Debug)]
pub(crate) struct TextCell {
    text: String,
    style: Style,
}

/// A cell in this style.
pub(crate) fn styled<'t>(content: impl Into<Cow<'t, str>>, style: Style) -> TextCell {
    TextCell {
        text: escape(content.into().as_bytes()).into_owned(),
        style,
    }
}

impl<'t, T: Into<Cow<'t, str>>> From<T> for TextCell {
    fn from(content: T) -> Self {
        styled(content, PLAIN)
    }
}

/// A column: its head, and how it shrinks on a narrow page.
#[derive(Debug)]
struct Column {
    head: &'static str,
    is_number: bool,
    /// The highest rank is left out first; 0 never is.
    rank: u8,
    /// The width it can be cut to; `None`: it is not cut.
    min_width: Option<usize>,
    /// The widest it is while another column lacks room.
    max_width: usize,
    /// A cut text keeps its end, as for file names.
    keep_end: bool,
    cells: Vec<TextCell>,
    /// The width of its head or its widest cell.
    full_width: usize,
}

impl Column {
    /// The width of its widest cell, or its maximum.
    fn natural_width(&self) -> usize {
        self.full_width.min(self.max_width)
    }

    fn min_width(&self) -> usize {
        self.min_width
            .map_or(self.natural_width(), |min| min.min(self.natural_width()))
    }
}

/// A table, built column by column. A column whose cells are all empty is left out.
#[derive(Debug)]
pub(crate) struct Grid<'r, T> {
    rows: &'r [T],
    columns: Vec<Column>,
}

impl<'r, T> Grid<'r, T> {
    pub(crate) fn new(rows: &'r [T]) -> Self {
        Self {
            rows,
            columns: Vec::new(),
        }
    }

    pub(crate) fn text<C: Into<TextCell>>(
        self,
        head: &'static str,
        cell: impl Fn(&'r T) -> C,
    ) -> Self {
        self.column(head, false, cell)
    }

    /// A column whose cells are aligned at the right.
    pub(crate) fn number<C: Into<TextCell>>(
        self,
        head: &'static str,
        cell: impl Fn(&'r T) -> C,
    ) -> Self {
        self.column(head, true, cell)
    }

    /// A column of counts; a zero is dim.
    pub(crate) fn count(self, head: &'static str, count: impl Fn(&'r T) -> u64) -> Self {
        self.number(head, move |row| {
            let n = count(row);
            styled(grouped(n), if n == 0 { DIM } else { PLAIN })
        })
    }

    fn column<C: Into<TextCell>>(
        mut self,
        head: &'static str,
        is_number: bool,
        cell: impl Fn(&'r T) -> C,
    ) -> Self {
        let cells: Vec<_> = self.rows.iter().map(|row| cell(row).into()).collect();
        let widths = cells.iter().map(|cell: &TextCell| width(&cell.text));
        self.columns.push(Column {
            head,
            is_number,
            rank: 0,
            min_width: None,
            max_width: usize::MAX,
            keep_end: false,
            full_width: widths.fold(width(head), usize::max),
            cells,
        });
        self
    }

    /// When the last column is left out: that of the highest rank first, one of rank 0 never.
    pub(crate) fn rank(self, rank: u8) -> Self {
        self.with_last(|column| column.rank = rank)
    }

    /// The last column can be cut to this width.
    pub(crate) fn flexible(self, min_width: usize) -> Self {
        self.with_last(|column| column.min_width = Some(min_width))
    }

    /// The last column is not wider than this while another one lacks room.
    pub(crate) fn max_width(self, max_width: usize) -> Self {
        self.with_last(|column| column.max_width = max_width)
    }

    /// A cut text of the last column keeps its end, as for file names.
    pub(crate) fn keep_end(self) -> Self {
        self.with_last(|column| column.keep_end = true)
    }

    fn with_last(mut self, change: impl FnOnce(&mut Column)) -> Self {
        if let Some(column) = self.columns.last_mut() {
            change(column);
        }
        self
    }

    /// Writes the heads and the rows, none wider than the page.
    pub(crate) fn write(&self, page: &mut TextPage) {
        if self.rows.is_empty() {
            return;
        }
        let fitted = self.fit(page.width);
        let heads = fitted.iter().map(|(column, _)| (column.head, DIM));
        write_line(&fitted, heads, page);
        for row in 0..self.rows.len() {
            let cells = fitted.iter().map(|(column, _)| &column.cells[row]);
            let cells = cells.map(|cell| (cell.text.as_str(), cell.style));
            write_line(&fitted, cells, page);
        }
    }

    /// The columns that fit, and their widths.
    fn fit(&self, page: usize) -> Vec<FittedColumn<'_>> {
        let mut fitted: Vec<_> = self
            .columns
            .iter()
            .filter(|column| column.cells.iter().any(|cell| !cell.text.is_empty()))
            .map(|column| (column, column.min_width()))
            .collect();
        while total_width(&fitted) > page
            && let Some(last) = (0..fitted.len())
                .filter(|&i| fitted[i].0.rank > 0)
                .max_by_key(|&i| fitted[i].0.rank)
        {
            fitted.remove(last);
        }
        let too_much = total_width(&fitted).saturating_sub(page);
        if let Some((_, widest)) = fitted.iter_mut().max_by_key(|(_, width)| *width) {
            *widest = widest.saturating_sub(too_much);
        }
        let mut spare = page.saturating_sub(total_width(&fitted));
        let mut by_rank: Vec<_> = fitted.iter_mut().collect();
        by_rank.sort_by_key(|(column, _)| column.rank);
        // What no column needs, columns that are limited get.
        for wanted in [Column::natural_width, |column: &Column| column.full_width] {
            for (column, width) in &mut by_rank {
                let more = spare.min(wanted(column) - *width);
                *width += more;
                spare -= more;
            }
        }
        fitted
    }
}

/// A column that fits, and its width.
type FittedColumn<'c> = (&'c Column, usize);

fn total_width(columns: &[FittedColumn<'_>]) -> usize {
    columns.iter().map(|(_, width)| INDENT.len() + width).sum()
}

fn write_line<'c>(
    columns: &[FittedColumn<'_>],
    cells: impl Iterator<Item = (&'c str, Style)>,
    page: &mut TextPage,
) {
    let mut blanks = 0;
    for (&(column, column_width), (text, style)) in columns.iter().zip(cells) {
        let text = if column.keep_end {
            truncate_start(text, column_width)
        } else {
            truncate(text, column_width)
        };
        let rest = column_width.saturating_sub(width(&text));
        let (before, after) = if column.is_number {
            (rest, 0)
        } else {
            (0, rest)
        };
        // Blanks are written only before a text, so that no line ends in one.
        blanks += INDENT.len() + before;
        if !text.is_empty() {
            page.text.extend(repeat_n(' ', blanks));
            page.painter.push(style, &text, &mut page.text);
            blanks = 0;
        }
        blanks += after;
    }
    page.text.push('\n');
}

/// A page of plain text, kept in memory until it is complete.
#[derive(Debug)]
pub(crate) struct TextPage {
    pub(crate) width: usize,
    /// The most rows of a section.
    pub(crate) top: usize,
    /// All sections are written, and all their details.
    pub(crate) full: bool,
    /// The page is of `follow`, where no flag shows more.
    pub(crate) is_live: bool,
    pub(crate) painter: Painter,
    /// What was written.
    pub(crate) text: String,
}

impl TextPage {
    pub(crate) fn new(options: &RenderOptions) -> Self {
        Self {
            width: options.page_width(),
            top: options.top.unwrap_or(TABLE_ROWS),
            full: options.full,
            is_live: options.is_live,
            painter: Painter {
                color: options.color,
            },
            text: String::new(),
        }
    }

    /// Writes a line as it is.
    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes a heading and the blank line before it.
    pub(crate) fn heading(&mut self, title: &str) {
        self.line("");
        self.line(&self.painter.paint(BOLD, title));
    }

    /// Writes a text as indented lines, broken between words. A word longer than a line is cut.
    pub(crate) fn wrapped(&mut self, indent: usize, style: Style, text: &str) {
        let room = self.width.saturating_sub(indent).max(1);
        for line in wrap(&escape(text.as_bytes()), room, false) {
            self.text.extend(repeat_n(' ', indent));
            self.line(&self.painter.paint(style, truncate(&line, room)));
        }
    }

    /// Writes a paragraph between sections.
    pub(crate) fn note(&mut self, text: &str) {
        self.paragraph([text]);
    }

    /// Writes a paragraph of sentences, if any, each on lines of its own.
    pub(crate) fn paragraph<T: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = T>) {
        for (number, text) in texts.into_iter().enumerate() {
            if number == 0 {
                self.line("");
            }
            self.wrapped(2, PLAIN, text.as_ref());
        }
    }

    /// Writes how many of `all` rows were left out, and how to see them: by `--top`, or in another
    /// format, if one has them. `what` names one, and several.
    pub(crate) fn more(&mut self, all: usize, what: [&str; 2], format: &str) {
        let more = all.saturating_sub(self.top);
        if more > 0 {
            let or = if format.is_empty() || self.is_live {
                String::new()
            } else {
                format!(", or {format}")
            };
            let what = what[usize::from(more > 1)];
            let rest = format!("… and {} more{what}: --top {all}{or}", grouped(more as u64));
            self.wrapped(2, DIM, &rest);
        }
    }
}

/// The display width of a text, in columns.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The text, or its beginning and `…` if it is wider than `max`.
pub(crate) fn truncate(text: &str, max: usize) -> Cow<'_, str> {
    if width(text) <= max {
        return Cow::Borrowed(text);
    }
    let mut taken = 0;
    let begins = text.chars().take_while(|c| {
        taken += c.width().unwrap_or(0);
        taken < max
    });
    begins.chain((max > 0).then_some('…')).collect()
}

/// The text, or `…` and its end if it is wider than `max`.
pub(crate) fn truncate_start(text: &str, max: usize) -> Cow<'_, str> {
    let reversed = |text: &str| text.chars().rev().collect::<String>();
    Cow::Owned(reversed(&truncate(&reversed(text), max)))
}

/// Lines of at most `room` columns, broken between words. A longer word is broken as well if
/// `break_words`, else its line is too wide.
pub(crate) fn wrap(text: &str, room: usize, break_words: bool) -> Vec<Cow<'_, str>> {
    let options = textwrap::Options::new(room)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(break_words);
    textwrap::wrap(text, options)
}

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const ALARM: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();

/// The colour of a severity.
pub(crate) fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Critical => ALARM,
        Severity::High => AnsiColor::Red.on_default(),
        Severity::Medium => WARNING,
        Severity::Low => PLAIN,
        Severity::Info => DIM,
    }
}

/// Writes text with or without colour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Painter {
    pub(crate) color: bool,
}

impl Painter {
    /// The text in this style, or unchanged without colour.
    pub(crate) fn paint(self, style: Style, text: impl Display) -> String {
        if self.color && style != PLAIN {
            format!("{style}{text}{style:#}")
        } else {
            text.to_string()
        }
    }

    /// Adds the text to a line, in this style or unchanged without colour.
    pub(crate) fn push(self, style: Style, text: &str, line: &mut String) {
        if self.color && style != PLAIN {
            // Writing to a `String` does not fail.
            let _ = write!(line, "{style}{text}{style:#}");
        } else {
            line.push_str(text);
        }
    }
}

/// `2026-11-02 08:01`, in the log's own time zone.
pub(crate) fn minute(time: LogTime) -> String {
    let full = time.rfc3339();
    full.get(..16).unwrap_or(&full).replace('T', " ")
}

/// `2026-11-02 08:01 +01:00`.
pub(crate) fn minute_with_zone(time: LogTime) -> String {
    let full = time.rfc3339();
    format!("{} {}", minute(time), full.get(19..).unwrap_or_default())
}

/// The minute, with its zone where that differs from the zone of the report, in minutes east of
/// UTC.
pub(crate) fn minute_in(time: LogTime, zone: i16) -> String {
    if time.offset == zone {
        minute(time)
    } else {
        minute_with_zone(time)
    }
}

/// `2026-11-02 08:01 to 2026-11-02 19:30`, with the zones where they differ.
pub(crate) fn span(first: LogTime, last: LogTime) -> String {
    let minute = if first.offset == last.offset {
        minute
    } else {
        minute_with_zone
    };
    format!("{} to {}", minute(first), minute(last))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::render::layout::*;

    fn page(width: usize) -> TextPage {
        TextPage {
            width,
            ..TextPage::new(&RenderOptions::default())
        }
    }

    fn lines(rows: &[(&str, u64, &str)], width: usize) -> String {
        let mut page = page(width);
        Grid::new(rows)
            .text("name", |row| row.0)
            .flexible(6)
            .number("hits", |row| row.1.to_string())
            .rank(1)
            .text("note", |row| row.2)
            .rank(2)
            .write(&mut page);
        page.text
    }

    #[test]
    fn columns_shrink_in_the_order_of_their_ranks() {
        let rows = [("/a/long/path", 7, "x"), ("/日本語", 1234, "")];
        assert_eq!(
            lines(&rows, 40),
            "  name          hits  note\n  /a/long/path     7  x\n  /日本語       1234\n"
        );
        assert_eq!(
            lines(&rows, 22),
            "  name      hits  note\n  /a/long…     7  x\n  /日本語   1234\n"
        );
        assert_eq!(
            lines(&rows, 19),
            "  name         hits\n  /a/long/pa…     7\n  /日本語      1234\n"
        );
        assert_eq!(lines(&rows, 9), "  name\n  /a/lon…\n  /日本語\n");
    }

    #[test]
    fn a_limited_column_gets_what_no_other_needs() {
        let rows = [("a-name-of-24-characters", "b".repeat(20))];
        let last_line = |width: usize| {
            let mut page = page(width);
            let grid = Grid::new(&rows)
                .text("x", |row| row.0)
                .max_width(8)
                .text("y", |row| row.1.as_str())
                .flexible(5);
            grid.write(&mut page);
            page.text.lines().last().unwrap().to_owned()
        };
        assert_eq!(last_line(32), "  a-name-…  bbbbbbbbbbbbbbbbbbbb");
        assert_eq!(last_line(40), "  a-name-of-24-ch…  bbbbbbbbbbbbbbbbbbbb");
        assert_eq!(
            last_line(80),
            "  a-name-of-24-characters  bbbbbbbbbbbbbbbbbbbb"
        );
    }

    #[test]
    fn an_empty_column_is_left_out() {
        assert_eq!(lines(&[("a", 1, "")], 40), "  name  hits\n  a        1\n");
    }

    #[test]
    fn cuts_by_display_width() {
        assert_eq!(truncate("日本語", 6), "日本語");
        assert_eq!(truncate("日本語", 5), "日本…");
        assert_eq!(truncate("日本語", 4), "日…");
        assert_eq!(truncate("ab", 1), "…");
        assert_eq!(truncate("ab", 0), "");
        assert_eq!(truncate_start("/var/log/access.log", 11), "…access.log");
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide(names in prop::collection::vec((any::<String>(), any::<u64>(), any::<String>()), 0..5), page in 10_usize..200) {
            let rows: Vec<_> = names.iter().map(|(name, hits, note)| (name.as_str(), *hits, note.as_str())).collect();
            for line in lines(&rows, page).lines() {
                prop_assert!(width(line) <= page, "{} > {page}: {line}", width(line));
            }
        }
    }
}
