//! Lays out one line of a stream: each cell begins at its column, or after a gap if the cell before it is too long. Later
//! cells return to their columns when they can.
//!
//! A stream has no last row, so columns cannot be measured first as in a table. No line is wider than the page, except by
//! [`push_uncut`](LineLayout::push_uncut).

use anstyle::Style;

use crate::render::layout::{truncate, width};
use crate::render::style::Painter;

/// The current line, and the width of the page.
#[derive(Debug)]
pub(crate) struct LineLayout {
    text: String,
    /// Columns used so far.
    taken: usize,
    pub(crate) page: usize,
    /// The least blanks between two cells.
    pub(crate) gap: usize,
    pub(crate) painter: Painter,
}

impl LineLayout {
    pub(crate) fn new(page: usize, gap: usize, painter: Painter) -> Self {
        Self { text: String::new(), taken: 0, page, gap, painter }
    }

    /// Columns left for a cell that begins at `stop`.
    pub(crate) fn remaining(&self, stop: usize) -> usize {
        self.page.saturating_sub(self.start(stop))
    }

    /// Adds a cell, cut to `most` columns and to the page. Its text must be redacted.
    pub(crate) fn push_cell(&mut self, stop: usize, style: Style, text: &str, most: usize) {
        let cell = truncate(text, most.min(self.remaining(stop)));
        self.push_uncut(stop, style, &cell);
    }

    /// Adds a cell without cutting it, even if it is wider than the page.
    pub(crate) fn push_uncut(&mut self, stop: usize, style: Style, cell: &str) {
        if cell.is_empty() {
            return;
        }
        let start = self.start(stop);
        self.text.extend(std::iter::repeat_n(' ', start - self.taken));
        self.painter.push(style, cell, &mut self.text);
        self.taken = start + width(cell);
    }

    /// The line with its newline.
    pub(crate) fn finish(&mut self) -> &str {
        self.text.push('\n');
        &self.text
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.taken = 0;
    }

    /// Where a cell for `stop` begins.
    fn start(&self, stop: usize) -> usize {
        if self.taken == 0 { stop } else { stop.max(self.taken + self.gap) }
    }
}

#[cfg(test)]
mod tests {
    use crate::render::live::line_layout::*;
    use crate::render::style::PLAIN;

    #[test]
    fn cells_return_to_their_columns() {
        let mut layout = LineLayout::new(20, 1, Painter { color: false });
        let mut line = |cells: [&str; 3]| {
            layout.clear();
            for (stop, cell) in [0, 4, 10].into_iter().zip(cells) {
                layout.push_cell(stop, PLAIN, cell, 8);
            }
            layout.finish().to_owned()
        };
        assert_eq!(line(["a", "b", "c"]), "a   b     c\n");
        assert_eq!(line(["abcdef", "b", "c"]), "abcdef b  c\n");
        assert_eq!(line(["a", "", "日本語日本"]), "a         日本語…\n");
        assert_eq!(line(["abcdefghi", "abcdefgh", "c"]), "abcdefg… abcdefgh c\n");
        assert_eq!(line(["", "b", ""]), "    b\n");
    }
}
