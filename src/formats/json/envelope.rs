//! Lines in JSON objects: what docker, the journal, fluent-bit, Splunk and others wrap around a log
//! line.
//!
//! Which string is the line is decided by what it is, never by the name of its key: it must read as
//! a request, and the object must have none of its own. Strings that a client writes are never read
//! so: those with the role of a field, those in headers, queries, cookies and bodies, and those
//! whose keys say so. An object with a method or a request line is a request itself, even if its
//! keys are not known.

use super::keys::{KeyCache, KeyRole, ObjectKind};
use super::tokenizer::Tokenizer;
use super::values::{self, KeyPath};
use super::{JsonLineParser, values::FieldCollector};
use crate::formats::TimeField;
use crate::formats::fields::FieldSlot;
use memchr::{memchr, memchr3};

/// The most strings of an object that may be a line.
const MAX_TEXTS: usize = 4;

/// The shortest line with a request, `"GET / HTTP/1.0" 200`.
const MIN_TEXT: usize = 20;

/// Words in the keys of texts that a client writes.
const OF_CLIENT: [&[u8]; 12] = [
    b"agent",
    b"refer",
    b"cookie",
    b"header",
    b"query",
    b"param",
    b"body",
    b"form",
    b"url",
    b"uri",
    b"path",
    b"forwarded",
];

/// The strings of an object that may be a log line, as written, and the time of the object.
#[derive(Debug)]
pub(in crate::formats) struct EnclosedTexts<'a> {
    texts: [&'a [u8]; MAX_TEXTS],
    count: usize,
    /// Another string is a method or a request line.
    has_request: bool,
    collector: FieldCollector<'a>,
}

impl<'a> EnclosedTexts<'a> {
    /// The texts with their escapes; none if there are more than can be tried.
    pub(in crate::formats) fn texts(&self) -> &[&'a [u8]] {
        self.texts
            .get(..self.count)
            .filter(|_| !self.has_request)
            .unwrap_or_default()
    }

    /// The time of the object.
    pub(in crate::formats) fn time<'b>(&'b self, buffer: &'b mut Vec<u8>) -> TimeField<'b> {
        self.collector.time(buffer)
    }

    /// Adds a value of the object.
    fn take(&mut self, path: KeyPath<'_, 'a>, role: KeyRole, walk: &Tokenizer<'a>) {
        self.collector.add(role, walk.value, walk.escaped);
        self.has_request |= is_request(walk.value);
        let is_free = role.slot == FieldSlot::Unused
            && !role.forwarded
            && role.within != ObjectKind::Closed
            && !path.is_pair();
        if !is_free || !may_be_line(walk.value) || path.names().any(is_of_client) {
            return;
        }
        if let Some(text) = self.texts.get_mut(self.count) {
            *text = walk.value;
        }
        self.count += 1;
    }
}

impl JsonLineParser {
    /// The strings of an object that may be a log line; `None` if it is not a valid object.
    #[cold]
    pub(in crate::formats) fn enclosed_texts<'a>(
        &self,
        line: &'a [u8],
        keys: &mut KeyCache,
    ) -> Option<EnclosedTexts<'a>> {
        let mut found = EnclosedTexts {
            texts: [b""; MAX_TEXTS],
            count: 0,
            has_request: false,
            collector: FieldCollector::new(),
        };
        values::visit(&self.roles, line, keys, |path, role, walk| {
            found.take(path, role, walk);
        })?;
        Some(found)
    }
}

/// Whether a text may be a log line: it has blanks or is an object, and a path or a quote.
pub(in crate::formats) fn may_be_line(text: &[u8]) -> bool {
    text.len() >= MIN_TEXT
        && memchr3(b' ', b'\t', b'{', text).is_some()
        && memchr(b'/', text).is_some()
}

/// Whether a text is a method, or starts like a request line.
pub(in crate::formats) fn is_request(text: &[u8]) -> bool {
    let (method, target) = text.split_at(memchr(b' ', text).unwrap_or(text.len()));
    let is_target = matches!(target, [] | [b' ', b'/', ..]) || target.starts_with(b" http");
    is_target
        && matches!(
            method,
            b"GET"
                | b"POST"
                | b"HEAD"
                | b"PUT"
                | b"DELETE"
                | b"OPTIONS"
                | b"PATCH"
                | b"CONNECT"
                | b"PROPFIND"
        )
}

fn is_of_client(key: &[u8]) -> bool {
    let key = key.to_ascii_lowercase();
    OF_CLIENT
        .iter()
        .any(|word| memchr::memmem::find(&key, word).is_some())
}

/// Writes the line that a JSON string holds to `buffer`, without its end; `false` if it has invalid
/// escapes or is not one line.
pub(in crate::formats) fn unescape_line(text: &[u8], buffer: &mut Vec<u8>) -> bool {
    buffer.clear();
    if !unescape(text, buffer) {
        return false;
    }
    for ending in [b'\n', b'\r'] {
        if buffer.last() == Some(&ending) {
            buffer.pop();
        }
    }
    memchr(b'\n', buffer).is_none()
}

/// Undoes JSON escapes; `false` if there are invalid ones.
fn unescape(text: &[u8], buffer: &mut Vec<u8>) -> bool {
    let mut rest = text;
    while let Some(backslash) = memchr(b'\\', rest) {
        buffer.extend_from_slice(&rest[..backslash]);
        let Some((escaped, after)) = escape(&rest[backslash + 1..]) else {
            return false;
        };
        let mut utf_8 = [0; 4];
        buffer.extend_from_slice(escaped.encode_utf8(&mut utf_8).as_bytes());
        rest = after;
    }
    buffer.extend_from_slice(rest);
    true
}

/// The character of an escape after its backslash, and the rest. Half a surrogate pair is a
/// replacement character.
fn escape(text: &[u8]) -> Option<(char, &[u8])> {
    let (first, rest) = text.split_first()?;
    let unescaped_byte = match first {
        b'"' | b'\\' | b'/' => char::from(*first),
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => return unicode(rest),
        _ => return None,
    };
    Some((unescaped_byte, rest))
}

fn unicode(text: &[u8]) -> Option<(char, &[u8])> {
    let (high, rest) = unit(text)?;
    if let Some(low) = rest.strip_prefix(b"\\u").and_then(unit)
        && let Some(Ok(both)) = char::decode_utf16([high, low.0]).next()
        && both > '\u{ffff}'
    {
        return Some((both, low.1));
    }
    Some((
        char::from_u32(u32::from(high)).unwrap_or(char::REPLACEMENT_CHARACTER),
        rest,
    ))
}

fn unit(text: &[u8]) -> Option<(u16, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let digits = std::str::from_utf8(digits)
        .ok()
        .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    Some((u16::from_str_radix(digits, 16).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(line: &str) -> Vec<String> {
        let parser = JsonLineParser::new();
        let found = parser
            .enclosed_texts(line.as_bytes(), &mut KeyCache::default())
            .unwrap();
        found
            .texts()
            .iter()
            .map(|text| String::from_utf8(text.to_vec()).unwrap())
            .collect()
    }

    #[test]
    fn any_key_may_have_the_line_but_not_those_of_a_client() {
        let line = "1.2.3.4 - - [x] GET /";
        for (object, is_found) in [
            (r#"{"log":"LINE","stream":"stdout"}"#, true),
            (r#"{"result":{"_raw":"LINE"}}"#, true),
            (r#"{"fields":{"whatever":"LINE"}}"#, true),
            (r#"{"user_agent":"LINE"}"#, false),
            (r#"{"http_x_agent_1":"LINE"}"#, false),
            (r#"{"request":{"headers":{"X-Log":["LINE"]}}}"#, false),
            (r#"{"headers":[{"name":"X-Log","value":"LINE"}]}"#, false),
            (r#"{"cookies":{"a":"LINE"}}"#, false),
            (r#"{"my_cookies":{"a":"LINE"}}"#, false),
            (r#"{"body":"LINE"}"#, false),
            (r#"{"referer":"LINE"}"#, false),
            (r#"{"request_uri":"LINE"}"#, false),
            (r#"{"anfrage":"GET / HTTP/1.1","programm":"LINE"}"#, false),
            (r#"{"methode":"GET","programm":"LINE"}"#, false),
        ] {
            let expected: &[String] = if is_found { &[line.to_owned()] } else { &[] };
            assert_eq!(texts(&object.replace("LINE", line)), expected, "{object}");
        }
        let many = |count: usize| {
            format!(
                "{{{}}}",
                (0..count)
                    .map(|n| format!("\"k{n}\":\"{line}\""))
                    .collect::<Vec<_>>()
                    .join(",")
            )
        };
        assert_eq!(
            (
                texts(&many(MAX_TEXTS)).len(),
                texts(&many(MAX_TEXTS + 1)).len()
            ),
            (MAX_TEXTS, 0)
        );
    }

    #[test]
    fn texts_of_several_lines_are_no_line() {
        let mut buffer = Vec::new();
        assert!(unescape_line(br"a\tb\r\n", &mut buffer));
        assert_eq!(buffer, b"a\tb");
        assert!(!unescape_line(br"a\nb", &mut buffer) && !unescape_line(br"a\q", &mut buffer));
    }

    proptest! {
        #[test]
        fn a_written_line_is_unescaped(text in "[^\n\r]{0,80}") {
            let json = serde_json::to_string(&(text.clone() + "\n")).unwrap();
            let mut buffer = Vec::new();
            prop_assert!(unescape_line(&json.as_bytes()[1..json.len() - 1], &mut buffer));
            prop_assert_eq!(String::from_utf8(buffer).unwrap(), text);
        }
    }
}
