//! Escapes text of a log before it is printed.
//!
//! A character that a terminal or a spreadsheet could act on, or that cannot be seen, is *unsafe*
//! and becomes `\xNN` (a byte) or `\u{..}` (a character). Everything else is unchanged. Nothing is
//! decoded: the literal text `\x1b` is harmless and stays.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar;

use crate::text::short_bytes::is_printable_ascii;

/// Combining marks allowed in a row. Vietnamese needs two and pointed Hebrew three; many of them
/// cover the lines around.
const MAX_COMBINING_MARKS: usize = 4;

/// The text of these bytes with unsafe characters escaped. Escaping it again changes nothing.
#[must_use]
pub(crate) fn escape(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if is_printable_ascii(bytes) || !is_unsafe(text) => Cow::Borrowed(text),
        _ => Cow::Owned(escape_owned(bytes)),
    }
}

/// Escapes bytes so that they can be read back without loss with
/// [`unescaped`](crate::log::source::unescaped).
///
/// Every backslash, every byte that is not UTF-8 and every byte of an unsafe character is written
/// as `\xNN`. For keys of reports that a program reads again; people get [`escape`].
#[must_use]
pub(crate) fn escape_lossless(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if is_printable_ascii(bytes) && memchr::memchr(b'\\', bytes).is_none() => {
            Cow::Borrowed(text)
        }
        _ => Cow::Owned(escape_lossless_owned(bytes)),
    }
}

fn escape_lossless_owned(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 16);
    let mut marks = CombiningMarks::default();
    let mut utf8 = [0; 4];
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\\' || is_unsafe_char(c) || marks.exceeded_by(c) {
                marks = CombiningMarks::default();
                push_bytes(&mut out, c.encode_utf8(&mut utf8).as_bytes());
            } else {
                out.push(c);
            }
        }
        if !chunk.invalid().is_empty() {
            marks = CombiningMarks::default();
            push_bytes(&mut out, chunk.invalid());
        }
    }
    out
}

fn push_bytes(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a `String` does not fail.
        let _ = write!(out, "\\x{byte:02x}");
    }
}

/// Puts a `'` before a cell that a spreadsheet would run as a formula: one that begins with
/// `= + - @`, a tab or a carriage return (already escaped to `\x09` and `\x0d`), or a full-width
/// form of these, also after spaces or quotes.
///
/// A single `-` is a log's empty field, not a formula, and is unchanged.
#[must_use]
pub(crate) fn csv_guard(cell: Cow<'_, str>) -> Cow<'_, str> {
    let first = cell.trim_start_matches(|c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '＂' | '＇' | '“' | '”' | '‘' | '’')
    });
    let formula = first.starts_with([
        '=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫', '−',
    ]) || first.starts_with(r"\x09")
        || first.starts_with(r"\x0d");
    if formula && cell != "-" {
        Cow::Owned(format!("'{cell}"))
    } else {
        cell
    }
}

fn is_unsafe(text: &str) -> bool {
    let mut marks = CombiningMarks::default();
    text.chars()
        .any(|c| is_unsafe_char(c) || marks.exceeded_by(c))
}

fn escape_owned(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 16);
    let mut marks = CombiningMarks::default();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_unsafe_char(c) || marks.exceeded_by(c) {
                marks = CombiningMarks::default();
                push_escaped(&mut out, c);
            } else {
                out.push(c);
            }
        }
        for byte in chunk.invalid() {
            marks = CombiningMarks::default();
            // Writing to a `String` does not fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

fn push_escaped(out: &mut String, c: char) {
    let code = u32::from(c);
    let _ = if c.is_ascii() {
        write!(out, "\\x{code:02x}")
    } else {
        write!(out, "\\u{{{code:x}}}")
    };
}

/// Counts combining marks in a row.
#[derive(Default)]
struct CombiningMarks(usize);

impl CombiningMarks {
    fn exceeded_by(&mut self, c: char) -> bool {
        // A safe character of width 0 is a combining mark.
        self.0 = if !c.is_ascii() && c.width() == Some(0) {
            self.0 + 1
        } else {
            0
        };
        self.0 > MAX_COMBINING_MARKS
    }
}

/// Whether a terminal could act on a character, or it cannot be seen: controls, the bidirectional
/// controls of UAX #9, line and paragraph separators, and the default-ignorable code points of
/// Unicode (zero-width, fillers, variation selectors, tags).
fn is_unsafe_char(c: char) -> bool {
    matches!(
        c,
        '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use crate::log::source::unescaped;
    use crate::text::redact::sanitize::*;
    use proptest::prelude::*;

    fn csv_cell(bytes: &[u8]) -> Cow<'_, str> {
        csv_guard(escape(bytes))
    }

    #[test]
    fn unsafe_characters_are_escaped() {
        let cases: [(&[u8], &str); 14] = [
            (b"/plain?a=b", "/plain?a=b"),
            (b"\x1b[2J", r"\x1b[2J"),
            (b"\x1b]52;c;eA==\x07", r"\x1b]52;c;eA==\x07"),
            (b"a\tb\r\nc\0", r"a\x09b\x0d\x0ac\x00"),
            (b"\x7f", r"\x7f"),
            (b"\x9b31m", r"\x9b31m"),
            ("\u{9b}31m".as_bytes(), r"\u{9b}31m"),
            (b"\xc3(", r"\xc3("),
            (b"\xed\xa0\x80", r"\xed\xa0\x80"),
            ("a\u{202e}txt.exe".as_bytes(), r"a\u{202e}txt.exe"),
            (
                "a\u{200b}b\u{feff}\u{ad}".as_bytes(),
                r"a\u{200b}b\u{feff}\u{ad}",
            ),
            ("\u{e0041}\u{fe0f}".as_bytes(), r"\u{e0041}\u{fe0f}"),
            (
                br"already \x1b written \u{202e} out",
                r"already \x1b written \u{202e} out",
            ),
            ("/größe/日本/שלום".as_bytes(), "/größe/日本/שלום"),
        ];
        for (bytes, shown) in cases {
            assert_eq!(escape(bytes), shown);
        }
    }

    #[test]
    fn clean_text_is_borrowed() {
        for clean in ["", "/index.php?id=1", "/größe", "e\u{301}\u{302}"] {
            assert!(
                matches!(escape(clean.as_bytes()), Cow::Borrowed(_)),
                "{clean}"
            );
        }
    }

    #[test]
    fn too_many_combining_marks_are_escaped() {
        let flood = format!("a{}", "\u{301}".repeat(9));
        assert_eq!(
            escape(flood.as_bytes()),
            "a\u{301}\u{301}\u{301}\u{301}\\u{301}\u{301}\u{301}\u{301}\u{301}"
        );
    }

    #[test]
    fn formulas_are_guarded() {
        let formulas = [
            "=1+1", "+1", "-1+1", "@SUM(A1)", " =1", "\"=1", "' \"@x", "＝1", "＋1", "－1", "＠x",
            "\t=1", "\r", "--", "\u{a0}=1",
        ];
        for cell in formulas {
            assert!(csv_cell(cell.as_bytes()).starts_with('\''), "{cell}");
        }
        for cell in [
            "",
            "-",
            "a=1",
            "/x",
            "1-1",
            "Mozilla/5.0",
            "\"quoted\"",
            "203.0.113.7",
            "::1",
        ] {
            assert_eq!(csv_cell(cell.as_bytes()), cell);
        }
    }

    fn hostile_text() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            any::<Vec<u8>>(),
            any::<String>().prop_map(String::into_bytes),
            prop::sample::select(vec![
                "\x1b[0m", "\u{202e}", "\u{9b}", "\u{301}", "\u{200d}", "\r\n", "=", "\"",
                "\u{2028}", "\\x1b"
            ])
            .prop_map(|s| s.as_bytes().to_vec()),
        ];
        prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
    }

    #[test]
    fn lossless_escapes_stay_readable() {
        let cases: [(&[u8], &str); 5] = [
            (b"/.git/config", "/.git/config"),
            ("/größe/日本".as_bytes(), "/größe/日本"),
            (b"a\xff\x1b", r"a\xff\x1b"),
            (br"a\xff", r"a\x5cxff"),
            ("\u{202e}x".as_bytes(), r"\xe2\x80\xaex"),
        ];
        for (bytes, shown) in cases {
            assert_eq!(escape_lossless(bytes), shown);
        }
    }

    proptest! {
        #[test]
        fn no_unsafe_character_remains(bytes in hostile_text()) {
            let shown = escape(&bytes);
            prop_assert!(!shown.chars().any(|c| c.is_control() || is_unsafe_char(c)));
            prop_assert!(!is_unsafe(&shown));
        }

        #[test]
        fn escaping_is_idempotent(bytes in hostile_text()) {
            let once = escape(&bytes).into_owned();
            prop_assert_eq!(escape(once.as_bytes()), once.as_str());
            let cell = csv_cell(&bytes).into_owned();
            prop_assert!(cell == "-" || !cell.starts_with(['=', '+', '-', '@']));
        }

        #[test]
        fn printable_ascii_is_unchanged(line in "[ -~]{0,80}") {
            prop_assert_eq!(escape(line.as_bytes()), line.as_str());
        }

        #[test]
        fn lossless_escapes_read_back_and_are_safe(bytes: Vec<u8>, chars in r"([a/\\]|\\x[0-9a-f]{2}|.|\u{301}{6}|\u{202e}){0,20}") {
            for bytes in [bytes, chars.into_bytes()] {
                let written = escape_lossless(&bytes);
                prop_assert_eq!(escape(written.as_bytes()), &*written, "safe");
                prop_assert_eq!(unescaped(&written), Some(bytes.clone()));
            }
        }
    }
}
