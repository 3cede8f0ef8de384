//! Walks through one JSON object, step by step, without looking back.
//!
//! Nothing is decoded or kept, and nothing recurs: depth is a number, and there is an end to it. It is no judge of JSON. What
//! hand-written formats of servers get wrong is let through where it cannot be mistaken: a comma before the end, nothing or a dash
//! where a number was meant, several numbers, bare quotes within a text. What stops before its last brace is broken. Source: RFC 8259.

use memchr::memchr2;

use super::layout_cache::bare;
use crate::formats::bytes::marks_of_16;

/// How deep objects and arrays may lie in one another; deeper lines are broken. `serde_json` stops at 128.
const MAX_DEPTH: u32 = 64;
/// The name of what lies in an array.
const NO_KEY: MemberName<'static> = MemberName { name: b"", expected: false };

/// A place in a line, and what stands there. The parts stand in fields of their own: to hand them on as one value would cost more than to
/// find them.
#[derive(Debug)]
pub(super) struct Tokenizer<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
    /// One bit for each level, the lowest for the innermost: whether it is an array.
    arrays: u64,
    /// Whether nothing stood yet on this level.
    fresh: bool,
    /// The name of the last member.
    pub(super) key: MemberName<'a>,
    /// The last value as it is written: a text without its quotes, or a number or a word; `null` is empty.
    pub(super) value: &'a [u8],
    /// Whether there is a backslash or a bare quote in it.
    pub(super) escaped: bool,
    /// Where the last value begins and ends in a line that begins with its brace, without its quotes, with spaces behind a number.
    pub(super) span: (usize, usize),
}

/// The name of a member, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemberName<'a> {
    /// Without its quotes; empty in an array.
    pub(super) name: &'a [u8],
    /// Whether it is the one that was expected.
    pub(super) expected: bool,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonToken {
    /// A member that is a text, a number or a word.
    Value,
    /// A member that is an object.
    Object,
    /// A member that is an array.
    Array,
    /// The innermost object or array ends.
    Close,
    /// The whole object ends, and nothing follows.
    End,
}

impl<'a> Tokenizer<'a> {
    /// Starts behind the first brace. `None` where a line has none.
    pub(super) fn new(line: &'a [u8]) -> Option<Self> {
        let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii_start();
        (text.first() == Some(&b'{')).then_some(Self {
            text,
            at: 1,
            depth: 1,
            arrays: 0,
            fresh: true,
            key: NO_KEY,
            value: b"",
            escaped: false,
            span: (0, 0),
        })
    }

    /// The next step; `None` where the line is broken. A name that is as `expected` is not searched for its end.
    #[inline]
    pub(super) fn next(&mut self, expected: &[u8]) -> Option<JsonToken> {
        let mut byte = self.peek()?;
        if !self.fresh && byte == b',' {
            self.at += 1;
            byte = self.peek()?;
        } else if !self.fresh && !matches!(byte, b'}' | b']') {
            return None;
        }
        if let b'}' | b']' = byte {
            return self.close(byte);
        }
        self.fresh = false;
        self.key = if self.in_array() { NO_KEY } else { self.name(byte, expected)? };
        match self.peek()? {
            b'"' => self.string(),
            b'{' => self.open(false),
            b'[' => self.open(true),
            _ => self.bare(),
        }
    }

    fn in_array(&self) -> bool {
        self.arrays & 1 == 1
    }

    /// The next byte that is no space.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.text.get(self.at)? {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    #[inline]
    fn name(&mut self, byte: u8, expected: &[u8]) -> Option<MemberName<'a>> {
        if byte != b'"' {
            return None;
        }
        let start = self.at + 1;
        let end = start + expected.len();
        let is_expected = !expected.is_empty() && self.text.get(start..end) == Some(expected) && self.text.get(end) == Some(&b'"');
        let end = if is_expected { end } else { string_end(self.text, start)?.0 };
        self.at = end + 1;
        let key = MemberName { name: self.text.get(start..end)?, expected: is_expected };
        let colon = self.peek()? == b':';
        self.at += 1;
        colon.then_some(key)
    }

    #[inline]
    fn string(&mut self) -> Option<JsonToken> {
        let start = self.at + 1;
        let (mut end, mut escaped) = string_end(self.text, start)?;
        if !self.closes(end) {
            end = self.end_after_quotes(end)?;
            escaped = true;
        }
        self.at = end + 1;
        (self.value, self.escaped, self.span) = (self.text.get(start..end)?, escaped, (start, end));
        Some(JsonToken::Value)
    }

    /// Whether the quote at `end` is followed by what may follow a value.
    #[inline]
    fn closes(&self, end: usize) -> bool {
        let rest = self.text.get(end + 1..).unwrap_or_default();
        matches!(rest, [b',' | b'}' | b']', ..]) || matches!(rest.trim_ascii_start(), [b',' | b'}' | b']', ..])
    }

    /// The rare case: a writer that escapes no quotes.
    #[cold]
    fn end_after_quotes(&self, mut end: usize) -> Option<usize> {
        while !self.closes(end) {
            end = string_end(self.text, end + 1)?.0;
        }
        Some(end)
    }

    /// A number, a word, or what a server wrote where it had none: up to what ends a value.
    #[inline]
    fn bare(&mut self) -> Option<JsonToken> {
        let start = self.at;
        loop {
            match *self.text.get(self.at)? {
                b'}' | b']' => break,
                b',' if self.in_array() || self.begins_member(self.at + 1) => break,
                b'"' | b'\\' | b'{' | b'[' => return None,
                _ => self.at += 1,
            }
        }
        (self.value, self.escaped, self.span) = (bare(self.text.get(start..self.at)?), false, (start, self.at));
        Some(JsonToken::Value)
    }

    /// Whether behind a comma at `at` a name begins, or the end. `0.001, 0.002` is one value where nginx wrote it unquoted.
    fn begins_member(&self, at: usize) -> bool {
        matches!(self.text.get(at..).unwrap_or_default().trim_ascii_start(), [b'"' | b'}', ..])
    }

    fn open(&mut self, array: bool) -> Option<JsonToken> {
        self.at += 1;
        self.depth += 1;
        self.arrays = self.arrays << 1 | u64::from(array);
        self.fresh = true;
        (self.depth <= MAX_DEPTH).then_some(if array { JsonToken::Array } else { JsonToken::Object })
    }

    fn close(&mut self, byte: u8) -> Option<JsonToken> {
        if self.in_array() != (byte == b']') {
            return None;
        }
        self.at += 1;
        self.depth -= 1;
        self.arrays >>= 1;
        self.fresh = false;
        if self.depth > 0 {
            return Some(JsonToken::Close);
        }
        // A line of a large array ends in a comma.
        let rest = self.text.get(self.at..)?.trim_ascii();
        matches!(rest, b"" | b",").then_some(JsonToken::End)
    }
}

/// Where the text that begins at `start` ends, and whether a backslash stands in it.
#[inline]
pub(super) fn string_end(text: &[u8], start: usize) -> Option<(usize, bool)> {
    let (mut at, mut escaped) = (start, false);
    loop {
        at += quote_or_backslash(text.get(at..)?)?;
        if text.get(at) == Some(&b'"') {
            return Some((at, escaped));
        }
        escaped = true;
        at += 2;
    }
}

/// Where the first quote or backslash is. Most texts are short: sixteen bytes are looked at before a search begins.
#[inline]
fn quote_or_backslash(text: &[u8]) -> Option<usize> {
    let Some((start, rest)) = text.split_first_chunk::<16>() else { return memchr2(b'"', b'\\', text) };
    let marks = marks_of_16(*start, b'"') | marks_of_16(*start, b'\\');
    if marks != 0 { Some(marks.trailing_zeros() as usize / 8) } else { memchr2(b'"', b'\\', rest).map(|at| at + 16) }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use crate::formats::json::tokenizer::*;
    use proptest::prelude::*;

    /// The steps of a line, `!` where it breaks.
    fn steps(line: &str) -> String {
        let Some(mut tokenizer) = Tokenizer::new(line.as_bytes()) else { return "!".into() };
        let mut steps = String::new();
        loop {
            let step = tokenizer.next(b"");
            let [name, value] = [tokenizer.key.name, tokenizer.value].map(String::from_utf8_lossy);
            match step {
                None => return steps + "!",
                Some(JsonToken::Value) => write!(steps, "{name}={value}{} ", if tokenizer.escaped { "*" } else { "" }).unwrap(),
                Some(JsonToken::Object) => write!(steps, "{name}{{ ").unwrap(),
                Some(JsonToken::Array) => write!(steps, "{name}[ ").unwrap(),
                Some(JsonToken::Close) => steps += "} ",
                Some(JsonToken::End) => return steps + ".",
            }
        }
    }

    #[test]
    fn walks_through_objects_and_arrays() {
        for (line, expected) in [
            ("{}", "."),
            (r#"{"a":"b","c":12,"d":null,"e":true}"#, "a=b c=12 d= e=true ."),
            (" { \"a\" : \"b\" , \"c\" : [ 1 , \"x\" , [ ] , { } ] } \r", "a=b c[ =1 =x [ } { } } ."),
            (r#"{"a":{"b":{"c":-1.5e3}}},"#, "a{ b{ c=-1.5e3 } } ."),
            (r#"{"a":"\"\\","b":"\\"}"#, r#"a=\"\\* b=\\* ."#),
            ("\u{feff}{\"a\":\"ü\"}", "a=ü ."),
        ] {
            assert_eq!(steps(line), expected, "{line}");
        }
    }

    #[test]
    fn what_servers_get_wrong_is_let_through() {
        for (line, expected) in [
            (r#"{"a":"b",}"#, "a=b ."),
            (r#"{"a":,"b":-,"c":}"#, "a= b=- c= ."),
            (r#"{"a":0.001, 0.002,"b":1}"#, "a=0.001, 0.002 b=1 ."),
            (r#"{"a":"GET /?q="x" HTTP/1.1","b":1}"#, r#"a=GET /?q="x" HTTP/1.1* b=1 ."#),
            (r#"{"a":"\x22\x5C","b":"c"}"#, r"a=\x22\x5C* b=c ."),
        ] {
            assert_eq!(steps(line), expected, "{line}");
        }
    }

    #[test]
    fn broken_lines_break() {
        for line in [
            "",
            "[]",
            "a",
            "{",
            r#"{"a"#,
            r#"{"a""#,
            r#"{"a":"#,
            r#"{"a":"b"#,
            r#"{"a":"b\"#,
            r#"{"a":"b""#,
            r#"{"a":1"#,
            r#"{"a":1]"#,
            r#"{"a":[1}"#,
            r#"{"a":1}x"#,
            r#"{"a":1}{"a":1}"#,
            "{a:1}",
            r#"{"a" 1}"#,
            r#"{"a":1 "b":2}"#,
            r#"{"a":"b" "c":2}"#,
            r#"{,"a":1}"#,
            r#"{"a":b"c"}"#,
        ] {
            assert!(steps(line).ends_with('!'), "{line}: {}", steps(line));
        }
        let deep = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n), "]".repeat(n));
        assert!(steps(&deep(63)).ends_with('.'));
        assert!(steps(&deep(64)).ends_with('!'));
        assert!(steps(&format!("{{\"a\":{}", "{\"a\":".repeat(1_000_000))).ends_with('!'));
    }

    #[test]
    fn an_expected_name_is_the_same_name() {
        let line = br#"{"status":1,"stat":2,"status\"":3}"#;
        let mut tokenizer = Tokenizer::new(line).unwrap();
        let mut names = Vec::new();
        while let Some(JsonToken::Value) = tokenizer.next(b"status") {
            names.push((tokenizer.key.name, tokenizer.key.expected));
        }
        assert_eq!(names, [(&b"status"[..], true), (b"stat", false), (br#"status\""#, false)]);
    }

    proptest! {
        #[test]
        fn the_first_quote_or_backslash_is_found(text in prop::collection::vec(prop::sample::select(b"a\"\\#]!\x80\xa2\xdc".to_vec()), 0..40)) {
            prop_assert_eq!(quote_or_backslash(&text), text.iter().position(|b| matches!(b, b'"' | b'\\')));
        }

        #[test]
        fn any_bytes_end(line in prop::collection::vec(prop::sample::select(b"{}[]\":,\\u0a \xff-".to_vec()), 0..60)) {
            let mut line = line;
            line.insert(0, b'{');
            let mut tokenizer = Tokenizer::new(&line).unwrap();
            let mut steps = 0;
            while !matches!(tokenizer.next(b"a"), None | Some(JsonToken::End)) {
                steps += 1;
                prop_assert!(steps <= line.len());
            }
        }
    }
}
