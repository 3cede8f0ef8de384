//! A hostile text as columns of a terminal, with places in its bytes to be marked.
//!
//! Masks and escapes like every output, but remembers which column shows which byte. It lays out single lines and knows
//! no rule.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use crate::redact::mask::secrets_in_decoded;
use crate::redact::sanitize;

/// A text fit for an output, piece by piece.
#[derive(Debug)]
pub(crate) struct AnnotatedText {
    pieces: Vec<TextPiece>,
}

/// What is not taken apart: a character, an escape, a mask.
#[derive(Debug)]
struct TextPiece {
    shown: PieceText,
    width: usize,
    bytes: Range<usize>,
}

#[derive(Debug)]
enum PieceText {
    Char(char),
    Text(Box<str>),
}

/// A line of a text, and which of its columns lie in which of the places.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AnnotatedLine {
    /// Pieces of text, each with whether any place covers it.
    pub(crate) parts: Vec<(String, bool)>,
    /// For each place the columns it covers.
    pub(crate) columns: Vec<Range<usize>>,
}

const MASK: &str = "***";
const CUT: &str = "…";
/// Columns that any piece fits into, with a cut on both sides.
const LEAST: usize = 16;

impl AnnotatedText {
    /// `text`, which came of `logged`.
    pub(crate) fn new(text: &[u8], logged: &[u8]) -> Self {
        let mut pieces = Vec::new();
        let mut at = 0;
        for secret in secrets_in_decoded(logged, text) {
            push_plain(&mut pieces, text, at..secret.start);
            at = secret.end;
            pieces.push(TextPiece { shown: PieceText::Text(MASK.into()), width: MASK.len(), bytes: secret });
        }
        push_plain(&mut pieces, text, at..text.len());
        Self { pieces }
    }

    /// What the bytes of a place show; a secret that begins or ends in it is masked whole.
    pub(crate) fn text(&self, place: &Range<usize>) -> String {
        let start = self.pieces.partition_point(|piece| piece.bytes.end <= place.start);
        join(self.pieces[start..].iter().take_while(|piece| piece.bytes.start < place.end))
    }

    /// All of it.
    pub(crate) fn whole(&self) -> String {
        join(&self.pieces)
    }

    /// As much of the text as fits into `room` columns, with the first of the places in it.
    pub(crate) fn line(&self, places: &[Range<usize>], room: usize) -> AnnotatedLine {
        let (start, end) = self.window(places, room);
        let mut line = AnnotatedLine { parts: Vec::new(), columns: vec![0..0; places.len()] };
        let mut column = 0;
        if start > 0 {
            push(&mut line.parts, CUT, false);
            column += 1;
        }
        for piece in &self.pieces[start..end] {
            let covering = places.iter().zip(&mut line.columns).filter(|(place, _)| meets(&piece.bytes, place));
            let mut is_covered = false;
            for (_, columns) in covering {
                is_covered = true;
                let start = if columns.end == 0 { column } else { columns.start };
                *columns = start..column + piece.width;
            }
            push(&mut line.parts, &join([piece]), is_covered);
            column += piece.width;
        }
        if end < self.pieces.len() {
            push(&mut line.parts, CUT, false);
        }
        line
    }

    /// The pieces to show: from the start where that has room for the first place, else from a little before it.
    fn window(&self, places: &[Range<usize>], room: usize) -> (usize, usize) {
        let room = room.max(LEAST);
        let fits_from = |start: usize| {
            let mut left = room - usize::from(start > 0);
            let all = self.pieces[start..].iter().map(|piece| piece.width).sum::<usize>() <= left;
            left -= usize::from(!all);
            let fitting = self.pieces[start..].iter().take_while(|piece| {
                let fits = piece.width <= left;
                left = left.saturating_sub(if fits { piece.width } else { left });
                fits
            });
            start + fitting.count()
        };
        let covered = |piece: &TextPiece| places.iter().any(|place| meets(&piece.bytes, place));
        let first = self.pieces.iter().position(covered).unwrap_or(0);
        let last = first + self.pieces[first..].iter().take_while(|piece| covered(piece)).count();
        if last <= fits_from(0) {
            return (0, fits_from(0));
        }
        // A third of the room for what stands before it, less where the place itself needs it.
        let taken = self.pieces[first..last].iter().map(|piece| piece.width).sum::<usize>();
        let mut before = (room / 3).min(room.saturating_sub(taken + 2));
        let start = first - self.pieces[..first].iter().rev().take_while(|piece| take(&mut before, piece.width)).count();
        (start, fits_from(start))
    }
}

fn join<'p>(pieces: impl IntoIterator<Item = &'p TextPiece>) -> String {
    let mut text = String::new();
    for piece in pieces {
        match &piece.shown {
            PieceText::Char(c) => text.push(*c),
            PieceText::Text(shown) => text.push_str(shown),
        }
    }
    text
}

fn take(left: &mut usize, width: usize) -> bool {
    let fits = width <= *left;
    *left = left.saturating_sub(width);
    fits
}

fn push(parts: &mut Vec<(String, bool)>, text: &str, is_covered: bool) {
    match parts.last_mut() {
        Some((last, covered)) if *covered == is_covered => last.push_str(text),
        _ => parts.push((text.to_owned(), is_covered)),
    }
}

fn meets(bytes: &Range<usize>, place: &Range<usize>) -> bool {
    bytes.start < place.end && place.start < bytes.end
}

fn push_plain(pieces: &mut Vec<TextPiece>, text: &[u8], range: Range<usize>) {
    let mut at = range.start;
    for chunk in text[range].utf8_chunks() {
        for c in chunk.valid().chars() {
            let bytes = at..at + c.len_utf8();
            at = bytes.end;
            pieces.push(TextPiece::of(c, bytes));
        }
        for byte in chunk.invalid() {
            let shown = format!("\\x{byte:02x}");
            pieces.push(TextPiece { width: shown.len(), shown: PieceText::Text(shown.into()), bytes: at..at + 1 });
            at += 1;
        }
    }
}

impl TextPiece {
    /// A mark that would sit on the character before it is written out: it has no column of its own.
    fn of(c: char, bytes: Range<usize>) -> Self {
        if matches!(c, ' '..='~') {
            return Self { shown: PieceText::Char(c), width: 1, bytes };
        }
        let shown = match c.width() {
            Some(0) => format!("\\u{{{:x}}}", u32::from(c)),
            _ => sanitize::escape(c.encode_utf8(&mut [0; 4]).as_bytes()).into_owned(),
        };
        Self { width: shown.chars().map(|c| c.width().unwrap_or(0)).sum(), shown: PieceText::Text(shown.into()), bytes }
    }
}

#[cfg(test)]
mod tests {
    use crate::render::explain::annotated::*;
    use proptest::prelude::*;

    fn drawn(text: &[u8], place: Range<usize>, room: usize) -> String {
        let line = AnnotatedText::new(text, text).line(&[place], room);
        let text: String = line.parts.iter().map(|(text, _)| text.as_str()).collect();
        let columns = &line.columns[0];
        format!("{text}\n{:start$}{}", "", "^".repeat(columns.len()), start = columns.start)
    }

    #[test]
    fn marks_what_is_shown_of_a_place() {
        assert_eq!(drawn(b"/a/.env", 2..7, 40), "/a/.env\n  ^^^^^");
        assert_eq!(drawn(b"/\x00\xff'x", 3..4, 40), "/\\x00\\xff'x\n         ^");
        assert_eq!(drawn(b"/\x00x", 1..2, 40), "/\\x00x\n ^^^^");
        assert_eq!(drawn("/日本'".as_bytes(), 7..8, 40), "/日本'\n     ^");
        assert_eq!(drawn("/e\u{301}'".as_bytes(), 4..5, 40), "/e\\u{301}'\n         ^");
    }

    #[test]
    fn a_secret_stays_one() {
        assert_eq!(drawn(b"/?token=abcdef&x='", 10..12, 40), "/?token=***&x='\n        ^^^");
        let marked = AnnotatedText::new(b"/?password=a&b c&x=<", b"/?password=a%26b%2520c&x=<");
        assert_eq!(marked.whole(), "/?password=***&x=<");
        assert_eq!(marked.text(&(11..13)), "***");
    }

    #[test]
    fn a_long_text_is_cut_around_the_place() {
        let text = format!("/{}.env{}", "a".repeat(100), "b".repeat(100));
        assert_eq!(drawn(text.as_bytes(), 101..105, 20), "…aaaaaa.envbbbbbbbb…\n       ^^^^");
        assert_eq!(drawn(text.as_bytes(), 0..1, 16), "/aaaaaaaaaaaaaa…\n^");
        assert_eq!(drawn(text.as_bytes(), 98..205, 16), "…aaa.envbbbbbbb…\n ^^^^^^^^^^^^^^");
    }

    proptest! {
        #[test]
        fn fits_and_shows_its_place(text in any::<Vec<u8>>(), start in any::<prop::sample::Index>(), room in LEAST..60) {
            let start = start.index(text.len() + 1);
            let marked = AnnotatedText::new(&text, &text);
            let place = start..text.len().min(start + 1);
            let line = marked.line(std::slice::from_ref(&place), room);
            let shown: String = line.parts.iter().map(|(text, _)| text.as_str()).collect();
            let width = shown.chars().map(|c| c.width().unwrap_or(0)).sum::<usize>();
            prop_assert!(width <= room, "{width} > {room}: {shown}");
            prop_assert_eq!(start < text.len(), !line.columns[0].is_empty());
            prop_assert!(line.columns[0].is_empty() || line.columns[0].end <= width);
        }
    }
}
