//! A page of labelled lines that fit a width. Knows no rule and no log.

use std::io::{self, Write};

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::render::RenderOptions;
use crate::render::style::{BOLD, DIM, PLAIN, Painter};

/// Where lines go, and how wide they may be.
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

    /// A text behind a margin, on as many lines as it takes.
    pub(crate) fn text(&mut self, margin: usize, style: Style, text: &str) -> io::Result<()> {
        for line in wrapped(text, self.width.saturating_sub(margin)) {
            writeln!(self.out, "{:margin$}{}", "", self.painter.paint(style, line))?;
        }
        Ok(())
    }

    /// A label of `column` columns and a text beside it, on as many lines as it takes. The label is text of ours.
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

    /// Labelled texts below each other.
    pub(crate) fn rows(&mut self, rows: &[(String, String)]) -> io::Result<()> {
        let column = rows.iter().map(|(label, _)| label.width()).max().unwrap_or(0);
        rows.iter().try_for_each(|(label, text)| self.labelled(2, column, label, text))
    }

    pub(crate) fn plain(&mut self, margin: usize, text: &str) -> io::Result<()> {
        self.text(margin, PLAIN, text)
    }
}

/// Lines of at most `room` columns, broken at spaces, and within a word that is longer than a line.
pub(crate) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let room = room.max(2);
    let mut lines = vec![String::new()];
    let mut taken = 0;
    for (number, word) in text.split(' ').enumerate() {
        let width = word.width();
        let blank = usize::from(number > 0);
        if taken > 0 && taken + blank + width > room && (width <= room || taken * 2 > room) {
            lines.push(String::new());
            taken = 0;
        } else if blank > 0 {
            push(&mut lines, " ");
            taken += 1;
        }
        for c in word.chars() {
            let width = c.width().unwrap_or(0);
            if taken + width > room {
                lines.push(String::new());
                taken = 0;
            }
            push(&mut lines, c.encode_utf8(&mut [0; 4]));
            taken += width;
        }
    }
    for line in &mut lines {
        line.truncate(line.trim_end_matches(' ').len());
    }
    lines
}

fn push(lines: &mut [String], text: &str) {
    if let Some(line) = lines.last_mut() {
        line.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use crate::render::explain::page::*;
    use proptest::prelude::*;

    #[test]
    fn breaks_at_spaces_and_within_long_words() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("ab cdefghij", 6), ["ab cde", "fghij"]);
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
        assert_eq!(wrapped("", 4), [""]);
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide_and_nothing_is_lost(text in "[a-z日 ]{0,80}", room in 2_usize..30) {
            let lines = wrapped(&text, room);
            prop_assert!(lines.iter().all(|line| line.width() <= room), "{lines:?}");
            prop_assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        }
    }
}
