//! Columns that fit a width: aligned, the less important ones left out, the flexible ones cut with `…`.
//!
//! Measures by display width and knows no report. What does not fit at all is never written past the width, unless the
//! width is below [`NARROWEST`].

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthChar;

use crate::redact::sanitize::escape;
use crate::render::style::{DIM, PLAIN, Pen};

/// The narrowest page that is laid out; a narrower one gets lines of this length.
pub(crate) const NARROWEST: usize = 40;

/// Before every row, and between two columns.
const INDENT: &str = "  ";

/// One cell. Its text is sanitised whatever it was before.
#[derive(Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn new(content: impl AsRef<str>) -> Self {
        Self { text: escape(content.as_ref().as_bytes()).into_owned(), style: PLAIN }
    }

    pub(crate) fn styled(self, style: Style) -> Self {
        Self { style, ..self }
    }
}

/// A column: its head, and how it gives way when room is short.
#[derive(Debug)]
pub(crate) struct Column {
    head: &'static str,
    is_number: bool,
    /// 0 is never left out; the highest goes first.
    rank: u8,
    /// The width it can be cut to; `None` cuts nothing.
    least: Option<usize>,
    /// The width it never exceeds.
    most: usize,
    /// What is left of a cut text: its end, as for file names.
    keeps_end: bool,
    cells: Vec<Cell>,
}

impl Column {
    pub(crate) fn text(head: &'static str) -> Self {
        Self { head, is_number: false, rank: 0, least: None, most: usize::MAX, keeps_end: false, cells: Vec::new() }
    }

    pub(crate) fn number(head: &'static str) -> Self {
        Self { is_number: true, ..Self::text(head) }
    }

    pub(crate) fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    pub(crate) fn flexible(self, least: usize) -> Self {
        Self { least: Some(least), ..self }
    }

    pub(crate) fn most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    pub(crate) fn keep_end(self) -> Self {
        Self { keeps_end: true, ..self }
    }

    /// The width at which nothing is cut that need not be.
    fn natural(&self) -> usize {
        let widest = self.cells.iter().map(|cell| width(&cell.text)).max().unwrap_or(0);
        widest.max(width(self.head)).min(self.most)
    }

    fn least(&self) -> usize {
        self.least.map_or(self.natural(), |least| least.min(self.natural()))
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(|cell| cell.text.is_empty())
    }
}

/// Rows of something, a column at a time.
#[derive(Debug)]
pub(crate) struct Grid<'r, T> {
    rows: &'r [T],
    columns: Vec<Column>,
}

impl<'r, T> Grid<'r, T> {
    pub(crate) fn of(rows: &'r [T]) -> Self {
        Self { rows, columns: Vec::new() }
    }

    /// Adds a column; one without a single text is left out.
    pub(crate) fn column(mut self, mut column: Column, cell: impl Fn(&'r T) -> Cell) -> Self {
        column.cells = self.rows.iter().map(cell).collect();
        if !column.is_empty() {
            self.columns.push(column);
        }
        self
    }

    /// Writes the heads and the rows, none wider than `page`.
    pub(crate) fn write<W: Write>(&self, page: usize, pen: Pen, out: &mut W) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let fitted = self.fit(page);
        let heads: Vec<_> = self.columns.iter().map(|column| Cell::new(column.head).styled(DIM)).collect();
        write_line(&fitted, pen, out, |column| &heads[column])?;
        for row in 0..self.rows.len() {
            write_line(&fitted, pen, out, |column| &self.columns[column].cells[row])?;
        }
        Ok(())
    }

    /// The columns that have room, and how wide each is.
    fn fit(&self, page: usize) -> Vec<Fitted> {
        let mut fitted: Vec<_> = self.columns.iter().enumerate().map(|(i, column)| Fitted::of(i, column)).collect();
        while taken(&fitted) > page
            && let Some(last) = (0..fitted.len()).filter(|&i| fitted[i].rank > 0).max_by_key(|&i| fitted[i].rank)
        {
            fitted.remove(last);
        }
        let too_much = taken(&fitted).saturating_sub(page);
        if let Some(widest) = fitted.iter_mut().max_by_key(|column| column.width) {
            widest.width = widest.width.saturating_sub(too_much);
        }
        let mut spare = page.saturating_sub(taken(&fitted));
        let mut by_rank: Vec<_> = fitted.iter_mut().collect();
        by_rank.sort_by_key(|column| column.rank);
        for column in by_rank {
            let more = spare.min(column.natural - column.width);
            column.width += more;
            spare -= more;
        }
        fitted
    }
}

/// A column that stays, and its width.
struct Fitted {
    column: usize,
    width: usize,
    natural: usize,
    rank: u8,
    is_number: bool,
    keeps_end: bool,
}

impl Fitted {
    fn of(i: usize, column: &Column) -> Self {
        let Column { rank, is_number, keeps_end, .. } = *column;
        Self { column: i, width: column.least(), natural: column.natural(), rank, is_number, keeps_end }
    }
}

fn taken(columns: &[Fitted]) -> usize {
    columns.iter().map(|column| INDENT.len() + column.width).sum()
}

fn write_line<'c, W: Write>(columns: &[Fitted], pen: Pen, out: &mut W, cell: impl Fn(usize) -> &'c Cell) -> io::Result<()> {
    let mut blanks = 0;
    for column in columns {
        let cell = cell(column.column);
        let text = if column.keeps_end { cut_start(&cell.text, column.width) } else { cut(&cell.text, column.width) };
        let rest = column.width.saturating_sub(width(&text));
        let (before, after) = if column.is_number { (rest, 0) } else { (0, rest) };
        // Blanks are written when something follows them: no line ends in one.
        blanks += INDENT.len() + before;
        if !text.is_empty() {
            write!(out, "{:blanks$}{}", "", pen.paint(cell.style, text))?;
            blanks = 0;
        }
        blanks += after;
    }
    writeln!(out)
}

/// The columns of a terminal a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The text, or as much of its beginning as leaves room for `…`.
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if width(text) <= most {
        return Cow::Borrowed(text);
    }
    let mut taken = 0;
    let begins = text.chars().take_while(|c| {
        taken += c.width().unwrap_or(0);
        taken < most
    });
    begins.chain((most > 0).then_some('…')).collect()
}

/// The text, or as much of its end as leaves room for `…`.
pub(crate) fn cut_start(text: &str, most: usize) -> Cow<'_, str> {
    let reversed = |text: &str| text.chars().rev().collect::<String>();
    Cow::Owned(reversed(&cut(&reversed(text), most)))
}

/// Writes a text as indented lines that break between words; a word longer than a line is cut.
pub(crate) fn write_wrapped<W: Write>(content: &str, indent: usize, page: usize, pen: (Pen, Style), out: &mut W) -> io::Result<()> {
    let room = page.saturating_sub(indent).max(1);
    let (pen, style) = pen;
    let mut line = String::new();
    for word in escape(content.as_bytes()).split(' ') {
        if !line.is_empty() && width(&line) + 1 + width(word) > room {
            writeln!(out, "{:indent$}{}", "", pen.paint(style, cut(&line, room)))?;
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "{:indent$}{}", "", pen.paint(style, cut(&line, room)))
}

#[cfg(test)]
mod tests {
    use crate::render::layout::*;
    use proptest::prelude::*;

    const NO_COLOR: Pen = Pen { color: false };

    fn lines(rows: &[(&str, u64, &str)], page: usize) -> String {
        let mut out = Vec::new();
        Grid::of(rows)
            .column(Column::text("name").flexible(6), |row| Cell::new(row.0))
            .column(Column::number("hits").rank(1), |row| Cell::new(row.1.to_string()))
            .column(Column::text("note").rank(2), |row| Cell::new(row.2))
            .write(page, NO_COLOR, &mut out)
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn gives_way_in_order() {
        let rows = [("/a/long/path", 7, "x"), ("/日本語", 1234, "")];
        assert_eq!(lines(&rows, 40), "  name          hits  note\n  /a/long/path     7  x\n  /日本語       1234\n");
        assert_eq!(lines(&rows, 22), "  name      hits  note\n  /a/long…     7  x\n  /日本語   1234\n");
        assert_eq!(lines(&rows, 19), "  name         hits\n  /a/long/pa…     7\n  /日本語      1234\n");
        assert_eq!(lines(&rows, 9), "  name\n  /a/lon…\n  /日本語\n");
    }

    #[test]
    fn an_empty_column_takes_no_room() {
        assert_eq!(lines(&[("a", 1, "")], 40), "  name  hits\n  a        1\n");
    }

    #[test]
    fn cuts_by_what_is_seen() {
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("ab", 1), "…");
        assert_eq!(cut("ab", 0), "");
        assert_eq!(cut_start("/var/log/access.log", 11), "…access.log");
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
