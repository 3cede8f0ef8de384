//! Writes labelled lines that fit a width.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use crate::render::RenderOptions;
use crate::render::layout::wrap;
use crate::render::style::{BOLD, DIM, PLAIN, Painter};

/// A page of labelled lines.
#[derive(Debug)]
pub(crate) struct ExplainPage<'w, W> {
    pub(crate) out: &'w mut W,
    pub(crate) width: usize,
    pub(crate) painter: Painter,
}

impl<'w, W: Write> ExplainPage<'w, W> {
    pub(crate) fn new(options: &RenderOptions, out: &'w mut W) -> Self {
        Self { out, width: options.page_width(), painter: Painter { color: options.color } }
    }

    pub(crate) fn heading(&mut self, title: &str) -> io::Result<()> {
        writeln!(self.out, "\n{}", self.painter.paint(BOLD, title))
    }

    /// Writes a text with a margin, wrapped.
    pub(crate) fn text(&mut self, margin: usize, style: Style, text: &str) -> io::Result<()> {
        for line in wrapped(text, self.width.saturating_sub(margin)) {
            writeln!(self.out, "{:margin$}{}", "", self.painter.paint(style, line))?;
        }
        Ok(())
    }

    /// Writes a label of `column` columns and a text, wrapped. The label is not text of a log.
    pub(crate) fn labelled(&mut self, margin: usize, column: usize, label: &str, text: &str) -> io::Result<()> {
        let indent = margin + column + 2;
        for (number, line) in wrapped(text, self.width.saturating_sub(indent)).into_iter().enumerate() {
            if number == 0 && !label.is_empty() {
                let label = self.painter.paint(DIM, format!("{label:column$}"));
                writeln!(self.out, "{:margin$}{label}  {line}", "")?;
            } else {
                writeln!(self.out, "{:indent$}{line}", "")?;
            }
        }
        Ok(())
    }

    /// Writes labelled texts with aligned labels.
    pub(crate) fn rows(&mut self, rows: &[(String, String)]) -> io::Result<()> {
        let column = rows.iter().map(|(label, _)| label.width()).max().unwrap_or(0);
        rows.iter().try_for_each(|(label, text)| self.labelled(2, column, label, text))
    }

    pub(crate) fn plain(&mut self, margin: usize, text: &str) -> io::Result<()> {
        self.text(margin, PLAIN, text)
    }
}

/// Lines of at most `room` columns, broken at spaces, and within words that are longer than a line.
pub(crate) fn wrapped(text: &str, room: usize) -> Vec<Cow<'_, str>> {
    wrap(text, room.max(2), true)
}

#[cfg(test)]
mod tests {
    use crate::render::explain::page::*;
    use proptest::prelude::*;

    #[test]
    fn breaks_at_spaces_and_within_long_words() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("ab cdefghij", 6), ["ab", "cdefgh", "ij"]);
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
        assert_eq!(wrapped("", 4), [""]);
    }

    proptest! {
        #[test]
        fn lines_fit_and_keep_all_words(text in "[a-z日 ]{0,80}", room in 2_usize..30) {
            let lines = wrapped(&text, room);
            prop_assert!(lines.iter().all(|line| line.width() <= room), "{lines:?}");
            prop_assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        }
    }
}
