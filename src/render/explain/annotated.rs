//! Redacted text that knows which column shows which byte, so that ranges of bytes can be
//! highlighted.
//!
//! Lays out single lines.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use crate::render::layout::width;
use crate::text::redact::mask::secrets_in_decoded;
use crate::text::redact::sanitize;

/// A redacted text, and its pieces.
#[derive(Debug)]
pub(crate) struct AnnotatedText {
    /// The whole text.
    pub(crate) text: String,
    pieces: Vec<TextPiece>,
}

/// A character, an escape or a mask, which is never split.
#[derive(Debug)]
struct TextPiece {
    /// Where it is in the text.
    shown: Range<usize>,
    width: usize,
    bytes: Range<usize>,
}

/// A line of a text, and the columns of each range.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AnnotatedLine {
    /// Pieces of text, each with whether a range covers it.
    pub(crate) parts: Vec<(String, bool)>,
    /// The columns of each range.
    pub(crate) columns: Vec<Range<usize>>,
}

const MASK: &str = "***";
const CUT: &str = "…";
/// Columns that fit any piece with `…` on both sides.
const MIN_COLUMNS: usize = 16;

impl AnnotatedText {
    /// `text`, decoded from `logged`.
    pub(crate) fn new(text: &[u8], logged: &[u8]) -> Self {
        let mut annotated = Self {
            text: String::new(),
            pieces: Vec::new(),
        };
        let mut at = 0;
        for secret in secrets_in_decoded(logged, text) {
            annotated.push_plain(text, at..secret.start);
            at = secret.end;
            annotated.push(MASK, MASK.len(), secret);
        }
        annotated.push_plain(text, at..text.len());
        annotated
    }

    fn push(&mut self, shown: &str, width: usize, bytes: Range<usize>) {
        let start = self.text.len();
        self.text.push_str(shown);
        self.pieces.push(TextPiece {
            shown: start..self.text.len(),
            width,
            bytes,
        });
    }

    fn push_plain(&mut self, text: &[u8], range: Range<usize>) {
        let mut at = range.start;
        for chunk in text[range].utf8_chunks() {
            for c in chunk.valid().chars() {
                let bytes = at..at + c.len_utf8();
                at = bytes.end;
                let mut buffer = [0; 4];
                let shown = match c.width() {
                    // A combining mark is escaped, as it has no column of its own.
                    Some(0) => format!("\\u{{{:x}}}", u32::from(c)).into(),
                    _ => sanitize::escape(c.encode_utf8(&mut buffer).as_bytes()),
                };
                self.push(&shown, width(&shown), bytes);
            }
            for byte in chunk.invalid() {
                let shown = format!("\\x{byte:02x}");
                self.push(&shown, shown.len(), at..at + 1);
                at += 1;
            }
        }
    }

    /// The text of a range; a secret that overlaps it is masked as a whole.
    pub(crate) fn part(&self, range: &Range<usize>) -> &str {
        let start = self
            .pieces
            .partition_point(|piece| piece.bytes.end <= range.start);
        let mut covered = self.pieces[start..]
            .iter()
            .take_while(|piece| piece.bytes.start < range.end);
        let Some(first) = covered.next() else {
            return "";
        };
        let last = covered.last().unwrap_or(first);
        &self.text[first.shown.start..last.shown.end]
    }

    /// The part of the text that fits `room` columns and shows the first range.
    pub(crate) fn line(&self, ranges: &[Range<usize>], room: usize) -> AnnotatedLine {
        let (start, end) = self.window(ranges, room);
        let mut line = AnnotatedLine {
            parts: Vec::new(),
            columns: vec![0..0; ranges.len()],
        };
        let mut column = 0;
        if start > 0 {
            push(&mut line.parts, CUT, false);
            column += 1;
        }
        for piece in &self.pieces[start..end] {
            let covering = ranges
                .iter()
                .zip(&mut line.columns)
                .filter(|(range, _)| overlaps(&piece.bytes, range));
            let mut is_covered = false;
            for (_, columns) in covering {
                is_covered = true;
                let start = if columns.end == 0 {
                    column
                } else {
                    columns.start
                };
                *columns = start..column + piece.width;
            }
            push(&mut line.parts, &self.text[piece.shown.clone()], is_covered);
            column += piece.width;
        }
        if end < self.pieces.len() {
            push(&mut line.parts, CUT, false);
        }
        line
    }

    /// The pieces to show: from the start if the first range fits, else from a little before that
    /// range.
    fn window(&self, ranges: &[Range<usize>], room: usize) -> (usize, usize) {
        let room = room.max(MIN_COLUMNS);
        let fits_from = |start: usize| {
            let mut left = room - usize::from(start > 0);
            let all = self.pieces[start..]
                .iter()
                .map(|piece| piece.width)
                .sum::<usize>()
                <= left;
            left -= usize::from(!all);
            let fitting = self.pieces[start..].iter().take_while(|piece| {
                let fits = piece.width <= left;
                left = left.saturating_sub(if fits { piece.width } else { left });
                fits
            });
            start + fitting.count()
        };
        let covered = |piece: &TextPiece| ranges.iter().any(|range| overlaps(&piece.bytes, range));
        let first = self.pieces.iter().position(covered).unwrap_or(0);
        let last = first
            + self.pieces[first..]
                .iter()
                .take_while(|piece| covered(piece))
                .count();
        if last <= fits_from(0) {
            return (0, fits_from(0));
        }
        // A third of the columns for the text before the range, or less for a long range.
        let covered_width = self.pieces[first..last]
            .iter()
            .map(|piece| piece.width)
            .sum::<usize>();
        let mut before = (room / 3).min(room.saturating_sub(covered_width + 2));
        let start = first
            - self.pieces[..first]
                .iter()
                .rev()
                .take_while(|piece| {
                    let fits = piece.width <= before;
                    before = before.saturating_sub(piece.width);
                    fits
                })
                .count();
        (start, fits_from(start))
    }
}

fn push(parts: &mut Vec<(String, bool)>, text: &str, is_covered: bool) {
    match parts.last_mut() {
        Some((last, covered)) if *covered == is_covered => last.push_str(text),
        _ => parts.push((text.to_owned(), is_covered)),
    }
}

fn overlaps(bytes: &Range<usize>, range: &Range<usize>) -> bool {
    bytes.start < range.end && range.start < bytes.end
}

#[cfg(test)]
mod tests {
    use crate::render::explain::annotated::*;
    use proptest::prelude::*;

    fn drawn(text: &[u8], range: Range<usize>, room: usize) -> String {
        let line = AnnotatedText::new(text, text).line(&[range], room);
        let text: String = line.parts.iter().map(|(text, _)| text.as_str()).collect();
        let columns = &line.columns[0];
        format!(
            "{text}\n{:start$}{}",
            "",
            "^".repeat(columns.len()),
            start = columns.start
        )
    }

    #[test]
    fn a_range_is_highlighted() {
        assert_eq!(drawn(b"/a/.env", 2..7, 40), "/a/.env\n  ^^^^^");
        assert_eq!(drawn(b"/\x00\xff'x", 3..4, 40), "/\\x00\\xff'x\n         ^");
        assert_eq!(drawn(b"/\x00x", 1..2, 40), "/\\x00x\n ^^^^");
        assert_eq!(drawn("/日本'".as_bytes(), 7..8, 40), "/日本'\n     ^");
        assert_eq!(
            drawn("/e\u{301}'".as_bytes(), 4..5, 40),
            "/e\\u{301}'\n         ^"
        );
    }

    #[test]
    fn a_secret_is_masked_as_a_whole() {
        assert_eq!(
            drawn(b"/?token=abcdef&x='", 10..12, 40),
            "/?token=***&x='\n        ^^^"
        );
        let annotated = AnnotatedText::new(b"/?password=a&b c&x=<", b"/?password=a%26b%2520c&x=<");
        assert_eq!(annotated.text, "/?password=***&x=<");
        assert_eq!(annotated.part(&(11..13)), "***");
    }

    #[test]
    fn a_long_text_is_cut_around_the_range() {
        let text = format!("/{}.env{}", "a".repeat(100), "b".repeat(100));
        assert_eq!(
            drawn(text.as_bytes(), 101..105, 20),
            "…aaaaaa.envbbbbbbbb…\n       ^^^^"
        );
        assert_eq!(drawn(text.as_bytes(), 0..1, 16), "/aaaaaaaaaaaaaa…\n^");
        assert_eq!(
            drawn(text.as_bytes(), 98..205, 16),
            "…aaa.envbbbbbbb…\n ^^^^^^^^^^^^^^"
        );
    }

    proptest! {
        #[test]
        fn lines_fit_and_show_the_range(text in any::<Vec<u8>>(), start in any::<prop::sample::Index>(), room in MIN_COLUMNS..60) {
            let start = start.index(text.len() + 1);
            let annotated = AnnotatedText::new(&text, &text);
            let range = start..text.len().min(start + 1);
            let line = annotated.line(std::slice::from_ref(&range), room);
            let shown: String = line.parts.iter().map(|(text, _)| text.as_str()).collect();
            let width = shown.chars().map(|c| c.width().unwrap_or(0)).sum::<usize>();
            prop_assert!(width <= room, "{width} > {room}: {shown}");
            prop_assert_eq!(start < text.len(), !line.columns[0].is_empty());
            prop_assert!(line.columns[0].is_empty() || line.columns[0].end <= width);
        }
    }
}
