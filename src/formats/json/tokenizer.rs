//! Tokenizes a JSON object in one pass.
//!
//! Nothing is decoded or allocated, and nesting is limited instead of recursive. It is not a
//! validator: common errors of hand-written log formats are accepted where they are unambiguous,
//! such as a trailing comma, an empty value or a dash instead of a number, several numbers, and
//! bare quotes in a string. A line that ends before its last brace is malformed. Source: RFC 8259.

use memchr::memchr2;

use crate::formats::bytes::marks_of_16;

/// The maximum nesting depth; deeper lines are malformed. `serde_json` stops at 128.
const MAX_DEPTH: u32 = 64;
/// The key of an array element.
const NO_KEY: MemberName<'static> = MemberName {
    name: b"",
    expected: false,
};

/// A position in a line, and the current token. The parts of the token are separate fields, because
/// returning them as one value would cost more than finding them.
#[derive(Debug)]
pub(super) struct Tokenizer<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
    /// One bit per level, the lowest for the innermost: whether it is an array.
    arrays: u64,
    /// Whether this level has no member yet.
    fresh: bool,
    /// The key of the last member.
    pub(super) key: MemberName<'a>,
    /// The last value as written: a string without quotes, a number or a word; `null` is empty.
    pub(super) value: &'a [u8],
    /// Whether it contains a backslash or a bare quote.
    pub(super) escaped: bool,
    /// The range of the last value in a line that starts with a brace, without quotes, including
    /// spaces after a number.
    pub(super) span: (usize, usize),
}

/// A key as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemberName<'a> {
    /// Without its quotes; empty in an array.
    pub(super) name: &'a [u8],
    /// Whether it is the expected key.
    pub(super) expected: bool,
}

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonToken {
    /// A string, a number or a word.
    Value,
    /// The start of an object.
    Object,
    /// The start of an array.
    Array,
    /// The end of the innermost object or array.
    Close,
    /// The end of the whole object and the line.
    End,
}

impl<'a> Tokenizer<'a> {
    /// Starts after the first brace; `None` if there is none.
    pub(super) fn new(line: &'a [u8]) -> Option<Self> {
        let text = line
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(line)
            .trim_ascii_start();
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

    /// The next token; `None` if the line is malformed. If the key is `expected`, its end is not
    /// searched for.
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
        self.key = if self.in_array() {
            NO_KEY
        } else {
            self.name(byte, expected)?
        };
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

    /// The next byte that is not whitespace.
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
        let is_expected = !expected.is_empty()
            && self.text.get(start..end) == Some(expected)
            && self.text.get(end) == Some(&b'"');
        let end = if is_expected {
            end
        } else {
            string_end(self.text, start)?.0
        };
        self.at = end + 1;
        let key = MemberName {
            name: self.text.get(start..end)?,
            expected: is_expected,
        };
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

    /// Whether the quote at `end` ends a value.
    #[inline]
    fn closes(&self, end: usize) -> bool {
        let rest = self.text.get(end + 1..).unwrap_or_default();
        matches!(rest, [b',' | b'}' | b']', ..])
            || matches!(rest.trim_ascii_start(), [b',' | b'}' | b']', ..])
    }

    /// The rare case: the writer does not escape quotes.
    #[cold]
    fn end_after_quotes(&self, mut end: usize) -> Option<usize> {
        while !self.closes(end) {
            end = string_end(self.text, end + 1)?.0;
        }
        Some(end)
    }

    /// A number, a word, or whatever was written instead, up to the end of the value.
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
        (self.value, self.escaped, self.span) = (
            bare(self.text.get(start..self.at)?),
            false,
            (start, self.at),
        );
        Some(JsonToken::Value)
    }

    /// Whether a key or the end of the object follows a comma. `0.001, 0.002` is one value, as
    /// nginx may write it unquoted.
    fn begins_member(&self, at: usize) -> bool {
        matches!(
            self.text.get(at..).unwrap_or_default().trim_ascii_start(),
            [b'"' | b'}', ..]
        )
    }

    fn open(&mut self, array: bool) -> Option<JsonToken> {
        self.at += 1;
        self.depth += 1;
        self.arrays = self.arrays << 1 | u64::from(array);
        self.fresh = true;
        (self.depth <= MAX_DEPTH).then_some(if array {
            JsonToken::Array
        } else {
            JsonToken::Object
        })
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
        // A line of a large array ends with a comma.
        let rest = self.text.get(self.at..)?.trim_ascii();
        // The last one of an array ends with its bracket.
        matches!(rest, b"" | b"," | b"]" | b"],").then_some(JsonToken::End)
    }
}

/// The end of the string that starts at `start`, and whether it contains a backslash.
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

/// The position of the first quote or backslash. Most strings are short, so sixteen bytes are
/// checked before a search.
#[inline]
fn quote_or_backslash(text: &[u8]) -> Option<usize> {
    let Some((start, rest)) = text.split_first_chunk::<16>() else {
        return memchr2(b'"', b'\\', text);
    };
    let marks = marks_of_16(*start, b'"') | marks_of_16(*start, b'\\');
    if marks != 0 {
        Some(marks.trailing_zeros() as usize / 8)
    } else {
        memchr2(b'"', b'\\', rest).map(|at| at + 16)
    }
}

/// A number or a word without surrounding spaces; `null` is empty.
pub(super) fn bare(text: &[u8]) -> &[u8] {
    match text.trim_ascii() {
        b"null" => b"",
        text => text,
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use crate::formats::json::tokenizer::*;
    use proptest::prelude::*;

    /// The tokens of a line, `!` if it is malformed.
    fn steps(line: &str) -> String {
        let Some(mut tokenizer) = Tokenizer::new(line.as_bytes()) else {
            return "!".into();
        };
        let mut steps = String::new();
        loop {
            let step = tokenizer.next(b"");
            let [name, value] = [tokenizer.key.name, tokenizer.value].map(String::from_utf8_lossy);
            match step {
                None => return steps + "!",
                Some(JsonToken::Value) => write!(
                    steps,
                    "{name}={value}{} ",
                    if tokenizer.escaped { "*" } else { "" }
                )
                .unwrap(),
                Some(JsonToken::Object) => write!(steps, "{name}{{ ").unwrap(),
                Some(JsonToken::Array) => write!(steps, "{name}[ ").unwrap(),
                Some(JsonToken::Close) => steps += "} ",
                Some(JsonToken::End) => return steps + ".",
            }
        }
    }

    #[test]
    fn objects_and_arrays_are_tokenized() {
        for (line, expected) in [
            ("{}", "."),
            (
                r#"{"a":"b","c":12,"d":null,"e":true}"#,
                "a=b c=12 d= e=true .",
            ),
            (
                " { \"a\" : \"b\" , \"c\" : [ 1 , \"x\" , [ ] , { } ] } \r",
                "a=b c[ =1 =x [ } { } } .",
            ),
            (r#"{"a":{"b":{"c":-1.5e3}}},"#, "a{ b{ c=-1.5e3 } } ."),
            (r#"{"a":1}]"#, "a=1 ."),
            (r#"{"a":"\"\\","b":"\\"}"#, r#"a=\"\\* b=\\* ."#),
            ("\u{feff}{\"a\":\"ü\"}", "a=ü ."),
        ] {
            assert_eq!(steps(line), expected, "{line}");
        }
    }

    #[test]
    fn common_errors_of_servers_are_accepted() {
        for (line, expected) in [
            (r#"{"a":"b",}"#, "a=b ."),
            (r#"{"a":,"b":-,"c":}"#, "a= b=- c= ."),
            (r#"{"a":0.001, 0.002,"b":1}"#, "a=0.001, 0.002 b=1 ."),
            (
                r#"{"a":"GET /?q="x" HTTP/1.1","b":1}"#,
                r#"a=GET /?q="x" HTTP/1.1* b=1 ."#,
            ),
            (r#"{"a":"\x22\x5C","b":"c"}"#, r"a=\x22\x5C* b=c ."),
        ] {
            assert_eq!(steps(line), expected, "{line}");
        }
    }

    #[test]
    fn malformed_lines_are_rejected() {
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
    fn an_expected_key_must_match_completely() {
        let line = br#"{"status":1,"stat":2,"status\"":3}"#;
        let mut tokenizer = Tokenizer::new(line).unwrap();
        let mut names = Vec::new();
        while let Some(JsonToken::Value) = tokenizer.next(b"status") {
            names.push((tokenizer.key.name, tokenizer.key.expected));
        }
        assert_eq!(
            names,
            [
                (&b"status"[..], true),
                (b"stat", false),
                (br#"status\""#, false)
            ]
        );
    }

    proptest! {
        #[test]
        fn the_first_quote_or_backslash_is_found(text in prop::collection::vec(prop::sample::select(b"a\"\\#]!\x80\xa2\xdc".to_vec()), 0..40)) {
            prop_assert_eq!(quote_or_backslash(&text), text.iter().position(|b| matches!(b, b'"' | b'\\')));
        }

        #[test]
        fn any_bytes_terminate(line in prop::collection::vec(prop::sample::select(b"{}[]\":,\\u0a \xff-".to_vec()), 0..60)) {
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
