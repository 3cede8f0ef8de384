//! Whether a regex needs case folding to match lower-case text, and the syntax of its automaton,
//! which the build script shares.
//!
//! Reads the source of the regex and errs on the safe side: in doubt it needs folding. It compiles
//! nothing.

use std::iter::Peekable;
use std::slice::Iter;

use regex_automata::util::syntax;

/// The syntax of the automaton of a regex: it matches bytes, and a dot matches a newline too.
pub(super) fn syntax_of(source: &str) -> syntax::Config {
    syntax::Config::new()
        .case_insensitive(needs_case_folding(source))
        .unicode(false)
        .utf8(false)
        .dot_matches_new_line(true)
}

/// Whether the regex may contain a capital letter: alone, in a range, or in the rest of a negated
/// class.
pub(super) fn needs_case_folding(source: &str) -> bool {
    if source.contains("[:upper:]") || source.contains("[:^") {
        return true;
    }
    let mut reader = RegexReader {
        rest: source.as_bytes().iter().peekable(),
        depth: 0,
        last: None,
    };
    while let Some(byte) = reader.rest.next() {
        if reader.step(*byte).is_none() {
            return true;
        }
    }
    false
}

/// The position in a regex.
struct RegexReader<'s> {
    rest: Peekable<Iter<'s, u8>>,
    /// Nesting of classes.
    depth: usize,
    /// The previous literal, which may begin a range.
    last: Option<u8>,
}

impl RegexReader<'_> {
    /// Reads a byte; `None` if there may be a capital letter.
    fn step(&mut self, byte: u8) -> Option<()> {
        let in_class = self.depth > 0;
        match byte {
            b'\\' => self.last = self.escape()?,
            b'[' => {
                self.depth += 1;
                self.last = None;
                self.rest.next_if_eq(&&b'^');
                // A bracket at the start of a class is a literal, and begins no range.
                self.rest.next_if_eq(&&b']');
            }
            b']' if in_class => {
                self.depth -= 1;
                self.last = None;
            }
            b'-' if in_class && self.rest.peek().is_some_and(|next| **next != b']') => {
                self.range()?;
            }
            // A class operator.
            b'&' | b'~' if in_class && self.rest.peek() == Some(&&byte) => return None,
            b'(' if !in_class && self.rest.next_if_eq(&&b'?').is_some() => self.flags()?,
            b'A'..=b'Z' => return None,
            literal => self.last = Some(literal),
        }
        Some(())
    }

    /// Reads an escape: a literal, or a class with both cases or neither.
    #[expect(
        clippy::option_option,
        reason = "no literal, and no way to tell, are two things"
    )]
    fn escape(&mut self) -> Option<Option<u8>> {
        match self.rest.next()? {
            b'x' => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                let value = (digit(self.rest.next()?)? << 4 | digit(self.rest.next()?)?) as u8;
                (!value.is_ascii_uppercase()).then_some(Some(value))
            }
            b'p' | b'P' | b'u' | b'U' | b'0'..=b'9' => None,
            b'a' => Some(Some(0x07)),
            b'f' => Some(Some(0x0c)),
            b't' => Some(Some(b'\t')),
            b'n' => Some(Some(b'\n')),
            b'r' => Some(Some(b'\r')),
            b'v' => Some(Some(0x0b)),
            letter if letter.is_ascii_alphabetic() => Some(None),
            other => Some(Some(*other)),
        }
    }

    /// Reads the end of a range that began with the previous literal.
    fn range(&mut self) -> Option<()> {
        let end = match self.rest.next()? {
            b'\\' => self.escape()??,
            b'[' | b'-' => return None,
            end => *end,
        };
        let start = self.last.take()?;
        (start > b'Z' || end < b'A').then_some(())
    }

    /// Reads the flags of a group; `None` if they include `i`.
    fn flags(&mut self) -> Option<()> {
        while let Some(flag) = self
            .rest
            .next_if(|byte| byte.is_ascii_lowercase() || **byte == b'-')
        {
            if *flag == b'i' {
                return None;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use regex::bytes::RegexBuilder;

    #[test]
    fn capital_letters_are_found_in_any_position() {
        for source in [
            "A",
            "aB",
            "[A-Z]",
            "[+-_]",
            "[!-~]",
            r"\x41",
            r"[\x20-\x60]",
            "(?i)a",
            "(?xi: a)",
            "[[:upper:]]",
            "[[:^lower:]]",
            r"[\w--[a-z]]",
            r"[\w&&[^a-z]]",
            "[]-C]",
            "[^]-C]",
        ] {
            assert!(needs_case_folding(source), "{source}");
        }
        for source in [
            "a",
            r"\W\D\S\B",
            "[a-z0-9_-]",
            "[^a-z]",
            "[]a]",
            "[^]-]",
            r"[\x00-\x1f]",
            "(?x) a # b",
            "(?:a|b)",
            "[0-9]",
            "&&",
            r"[\]-]",
            "[{-~]",
        ] {
            assert!(!needs_case_folding(source), "{source}");
        }
    }

    fn any_regex() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[a-zA-Z/;=.!-]",
            Just("(?:".to_owned()),
            Just("(?i:".to_owned()),
            Just("(?x: ".to_owned()),
            Just(")".to_owned()),
            Just("|".to_owned()),
            "[*+?]",
            "\\[\\^?[a-z0-9A-Z!_~&-]{1,6}\\]",
            "\\[[+!-;_`A-f]-[a-zA-f{~^_`]\\]",
            "\\\\[wWsSdDbBtn.\\[\\]-]",
            "\\\\x[0-7][0-9a-f]",
            Just("[[:^lower:]]".to_owned()),
            Just("[[:punct:]]".to_owned()),
        ];
        prop::collection::vec(piece, 1..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, max_global_rejects: 50_000, ..ProptestConfig::default() })]
        #[test]
        fn case_folding_changes_nothing_without_capital_letters(source in any_regex(), texts in prop::collection::vec("[a-z0-9 -@\\[-~\n]{0,8}", 8)) {
            prop_assume!(!needs_case_folding(&source));
            let build = |folds| RegexBuilder::new(&source).case_insensitive(folds).unicode(false).dot_matches_new_line(true).build();
            if let (Ok(plain), Ok(folding)) = (build(false), build(true)) {
                for text in &texts {
                    let found = |regex: &regex::bytes::Regex| regex.find(text.as_bytes()).map(|found| found.range());
                    prop_assert_eq!(found(&plain), found(&folding), "{} in {:?}", &source, text);
                }
            }
        }
    }
}
