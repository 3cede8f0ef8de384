//! The directives of an Apache `LogFormat`, and what they mean.
//!
//! Source: Apache `mod_log_config` (custom log formats), `mod_logio` (`%I %O %S %^FB`), `mod_ssl` (`%{..}x %{..}c`). A
//! directive that is not known is refused: what it would write, and how far, cannot be guessed.

use super::Meaning;
use super::part::{Named, Part, Shape};
use super::plan::FormatError;

/// Takes a format apart.
pub(super) fn parts(format: &str) -> Result<Vec<Part>, FormatError> {
    let mut parts = Vec::new();
    let mut rest = format;
    while let Some((text, behind)) = rest.split_once('%') {
        parts.push(Part::Text(unescaped(text)));
        let item = Item::read(behind)?;
        rest = &behind[item.length..];
        parts.extend(item.parts()?);
    }
    parts.push(Part::Text(unescaped(rest)));
    Ok(parts)
}

/// A text with `\"`, `\\`, `\t` and the like undone, as `mod_log_config` and the configuration's quotes do it.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = text.bytes().peekable();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        let stands_for = match (byte, bytes.peek()) {
            (b'\\', Some(b'n')) => b'\n',
            (b'\\', Some(b'r')) => b'\r',
            (b'\\', Some(b't')) => b'\t',
            (b'\\', Some(quoted @ (b'"' | b'\'' | b'\\'))) => *quoted,
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.push(stands_for);
        bytes.next();
    }
    out
}

/// One directive, `%!200,304{Referer}i`.
struct Item<'a> {
    /// As written, with the percent sign.
    written: String,
    /// What stands in braces.
    argument: &'a str,
    /// `>` or `<`: of a request that was redirected within, the last one or the first.
    last: bool,
    /// `^` before it: two letters follow.
    long: bool,
    letter: char,
    /// In bytes, without the percent sign.
    length: usize,
}

impl<'a> Item<'a> {
    /// Reads what stands behind a percent sign.
    fn read(text: &'a str) -> Result<Self, FormatError> {
        let (mut argument, mut last, mut at) = ("", false, 0);
        while let Some(c) = text[at..].chars().next() {
            at += c.len_utf8();
            match c {
                '!' | ',' | '0'..='9' | '<' => {}
                '>' => last = true,
                '{' => {
                    let end = text[at..].find('}');
                    let end = end.ok_or_else(|| FormatError::Unclosed { found: format!("%{text}"), expected: '}' })?;
                    argument = &text[at..at + end];
                    at += end + 1;
                }
                _ => {
                    let long = c == '^';
                    let length = if long { at + text[at..].chars().take(2).map(char::len_utf8).sum::<usize>() } else { at };
                    return Ok(Self { written: format!("%{}", &text[..length]), argument, last, long, letter: c, length });
                }
            }
        }
        Err(FormatError::Unknown { found: format!("%{text}") })
    }

    fn field(&self, meaning: Meaning) -> Named {
        Named::new(self.written.as_str(), meaning)
    }

    /// What it writes.
    fn parts(&self) -> Result<Vec<Part>, FormatError> {
        let field = |meaning| self.field(meaning);
        let number = |meaning| field(meaning).shaped(Shape::Number);
        let peer = u8::from(self.argument == "c");
        Ok(vec![Part::Field(match self.letter {
            '%' => return Ok(vec![Part::Text(b"%".to_vec())]),
            't' => return Ok(self.time()),
            _ if self.long => field(Meaning::Other),
            'h' | 'a' => field(Meaning::Client).ranked(peer),
            'r' => field(Meaning::Request),
            'm' => field(Meaning::Method),
            'U' => field(Meaning::Path),
            'q' => field(Meaning::Query).shaped(Shape::QueryMark),
            'H' => field(Meaning::Protocol),
            's' => number(Meaning::Status).ranked(u8::from(!self.last)),
            'b' | 'B' => number(Meaning::Bytes),
            'O' => number(Meaning::Bytes).ranked(1),
            'v' => field(Meaning::Host),
            'V' => field(Meaning::Host).ranked(1),
            'p' => field(Meaning::Other).shaped(Shape::Port),
            'i' => self.header(),
            'D' | 'T' | 'I' | 'S' | 'k' => number(Meaning::Other),
            // Of `mod_ssl`, always with braces; `%{c}a` is another thing.
            'c' | 'x' if self.argument.is_empty() => return Err(FormatError::Unknown { found: self.written.clone() }),
            'A' | 'C' | 'c' | 'e' | 'f' | 'L' | 'l' | 'n' | 'o' | 'P' | 'R' | 'u' | 'X' | 'x' => field(Meaning::Other),
            _ => return Err(FormatError::Unknown { found: self.written.clone() }),
        })])
    }

    fn header(&self) -> Named {
        let header = self.argument.to_ascii_lowercase();
        match header.as_str() {
            "referer" => self.field(Meaning::Referer),
            "user-agent" => self.field(Meaning::UserAgent),
            "host" => self.field(Meaning::Host).ranked(2),
            _ => self.field(Meaning::Header(header)).shaped(Shape::List),
        }
    }

    /// `%t` brings its brackets with it; `%{...}t` is a pattern of `strftime`, or one of a few words.
    fn time(&self) -> Vec<Part> {
        let pattern = self.argument.trim_start_matches("begin:").trim_start_matches("end:");
        let time = |shape| Part::Field(self.field(Meaning::Time).shaped(shape));
        let text = |text: &str| Part::Text(text.as_bytes().to_vec());
        match pattern {
            "" | "[%d/%b/%Y:%H:%M:%S %z]" | "[%d/%b/%Y:%T %z]" => vec![text("["), time(Shape::Clf), text("]")],
            "%d/%b/%Y:%H:%M:%S %z" | "%d/%b/%Y:%T %z" => vec![time(Shape::Clf)],
            "sec" | "msec" | "usec" => vec![time(Shape::Written)],
            "msec_frac" | "usec_frac" => vec![Part::Field(self.field(Meaning::Other).shaped(Shape::Fraction))],
            _ => vec![time(Shape::Strftime(pattern.to_owned()))],
        }
    }
}
