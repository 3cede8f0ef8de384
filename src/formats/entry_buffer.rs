//! The fields of lines in other formats than the Common Log Format, for the line loop: it reads a
//! block of lines first, and then matches them.
//!
//! Texts that a line has as they are sent are referenced in the line; those that a parser
//! assembled, or that need escaping, are kept here. Nothing is decoded: a text has the escapes of
//! log writers, which matching undoes.

use std::ops::Range;

use memchr::memchr3;

use super::bytes::are_within;
use super::host::host;
use super::reader::{LineKind, RelativeRequest};
use super::{Escapes, Fields, Frame, Headers, RequestField, TimeField, clf};
use crate::log::log_entry::LogEntry;
use crate::log::time::{CLF_TIME_LEN, ClfTimeParser, PackedTime};
use crate::text::short_bytes::append;

/// The fields of some lines. Keeps its buffers.
#[derive(Debug, Default)]
pub struct EntryBuffer {
    text: Vec<u8>,
    /// The address range of the current line in memory.
    line: Range<usize>,
    /// How each line was read.
    kinds: Vec<LineKind>,
    /// The fields of each line; those of a line that stays as it is are empty.
    entries: Vec<EntryParts>,
    clock: ClfTimeParser,
}

/// The fields of a line.
#[derive(Debug, Clone, Copy, Default)]
struct EntryParts {
    client: ByteSpan,
    user: ByteSpan,
    host: Option<ByteSpan>,
    time: Option<PackedTime>,
    request: ByteSpan,
    status: Option<u16>,
    bytes: Option<u64>,
    headers: HeaderSpans,
}

/// The `Referer` and `User-Agent` headers.
#[derive(Debug, Clone, Copy)]
enum HeaderSpans {
    /// As a line in the Common Log Format ends.
    Quoted(ByteSpan),
    Parsed {
        referer: Option<ByteSpan>,
        user_agent: Option<ByteSpan>,
    },
}

impl Default for HeaderSpans {
    fn default() -> Self {
        Self::Parsed {
            referer: None,
            user_agent: None,
        }
    }
}

/// The range of a text, in the line or in the buffer.
#[derive(Debug, Clone, Copy, Default)]
struct ByteSpan {
    start: u32,
    end: u32,
    in_buffer: bool,
}

/// The longest user; a longer one is cut.
const MAX_USER: usize = 256;

impl ByteSpan {
    #[inline]
    fn bytes<'a>(self, line: &'a [u8], buffer: &'a [u8]) -> &'a [u8] {
        &(if self.in_buffer { buffer } else { line })[self.start as usize..self.end as usize]
    }
}

impl EntryBuffer {
    /// Removes all lines.
    pub fn clear(&mut self) {
        self.text.clear();
        self.kinds.clear();
        self.entries.clear();
    }

    /// Starts a line.
    pub(super) fn begin(&mut self, line: &[u8]) {
        let start = line.as_ptr().addr();
        self.line = start..start + line.len();
    }

    /// Ends the line, which may have no fields.
    pub(super) fn end(&mut self, kind: LineKind) {
        self.kinds.push(kind);
        self.entries.resize(self.kinds.len(), EntryParts::default());
    }

    /// How each line was read.
    #[must_use]
    pub fn kinds(&self) -> &[LineKind] {
        &self.kinds
    }

    /// The fields of a line and its time. `line` is its text.
    #[must_use]
    #[expect(
        clippy::inline_always,
        reason = "in the line loop; so large an answer would go through memory"
    )]
    #[inline(always)]
    pub(crate) fn frame<'a>(
        &'a self,
        number: usize,
        line: &'a [u8],
    ) -> (Frame<'a>, Option<PackedTime>) {
        let EntryParts {
            client,
            user,
            host,
            time,
            request,
            status,
            bytes,
            headers,
        } = self.entries[number];
        let text = |span: ByteSpan| span.bytes(line, &self.text);
        let header = |span: Option<ByteSpan>| span.map_or(&b"-"[..], text);
        let frame = Frame {
            client: text(client),
            host: host.map(text),
            time: b"",
            request: text(request),
            status,
            bytes,
            headers: match headers {
                HeaderSpans::Quoted(headers) => Headers::quoted(text(headers)),
                HeaderSpans::Parsed {
                    referer,
                    user_agent,
                } => Headers::parsed(header(referer), header(user_agent)),
            },
            user: text(user),
        };
        (frame, time)
    }

    /// The fields of a line. `line` is its text.
    #[must_use]
    pub fn entry<'a>(&'a self, number: usize, line: &'a [u8]) -> LogEntry<'a> {
        let (frame, time) = self.frame(number, line);
        frame.record(time.map(PackedTime::time))
    }

    /// Adds the fields of the line.
    #[inline]
    pub(super) fn push(&mut self, fields: &Fields<'_>) {
        let escapes = fields.escapes;
        self.push_with(fields, |buffer, text| buffer.escaped_span(text, escapes));
    }

    /// Adds the fields of the line. Its texts need no escaping.
    #[inline]
    pub(super) fn push_unescaped(&mut self, fields: &Fields<'_>) {
        self.push_with(fields, Self::span);
    }

    /// Adds the fields of a line in the Common Log Format, which is a part of the current line.
    pub(super) fn push_frame(&mut self, frame: &Frame<'_>) {
        // Most lines match no rule, so the headers are not split here.
        let (headers, _) = frame.headers.key();
        let parts = EntryParts {
            client: self.span(frame.client),
            user: self.span(frame.user),
            host: frame.host.map(|host| self.span(host)),
            time: self.clock.parse(frame.time),
            request: self.span(frame.request),
            status: frame.status,
            bytes: frame.bytes,
            headers: HeaderSpans::Quoted(self.span(headers)),
        };
        self.entries.push(parts);
    }

    /// Removes the fields of the line, which is of another format.
    pub(super) fn retract(&mut self) {
        self.entries.truncate(self.kinds.len());
    }

    /// Whether the fields of the line have a time.
    pub(super) fn has_time(&self) -> bool {
        self.entries
            .last()
            .is_some_and(|entry| entry.time.is_some())
    }

    /// Adds the fields of such a line, with this host and request.
    pub(super) fn push_relative(
        &mut self,
        frame: &Frame<'_>,
        &RelativeRequest { host: name, parts }: &RelativeRequest<'_>,
    ) {
        let [method, target, protocol] = parts;
        // The text between two quotes needs no escapes.
        let request = self.joined_request([method, target, b"", protocol], Escapes::Written);
        let host = host(name).map(|host| self.span(host));
        self.push_frame(frame);
        if let Some(entry) = self.entries.last_mut() {
            (entry.request, entry.host) = (request, host.or(entry.host));
        }
    }

    #[inline]
    fn push_with(&mut self, fields: &Fields<'_>, span: impl Fn(&mut Self, &[u8]) -> ByteSpan) {
        let header = |buffer: &mut Self, text: &[u8]| {
            (!matches!(text, b"" | b"-")).then(|| span(buffer, text))
        };
        let parts = EntryParts {
            client: self.client(fields.client),
            user: self.span(&fields.user[..fields.user.len().min(MAX_USER)]),
            host: host(fields.host).map(|host| self.span(host)),
            time: match fields.time {
                TimeField::Text(text) if text.len() == CLF_TIME_LEN => self.clock.parse(text),
                TimeField::Text(_) | TimeField::Parsed(_) => fields
                    .time
                    .parse()
                    .and_then(PackedTime::in_four_digit_years),
            },
            request: match fields.request {
                RequestField::Line(text) => span(self, text),
                RequestField::Parts {
                    method,
                    target,
                    query,
                    protocol,
                } => self.joined_request([method, target, query, protocol], fields.escapes),
            },
            status: status(fields.status),
            bytes: clf::number(fields.bytes),
            headers: HeaderSpans::Parsed {
                referer: header(self, fields.referer),
                user_agent: header(self, fields.user_agent),
            },
        };
        self.entries.push(parts);
    }

    /// The client up to the first byte that no address and no host name has; a dash if there is
    /// none.
    #[inline]
    fn client(&mut self, client: &[u8]) -> ByteSpan {
        let is_end = |byte: &u8| matches!(byte, 0..=b' ' | b'"' | 0x7f);
        let is_plain = are_within(client, b'#', b'~');
        let end = if is_plain {
            client.len()
        } else {
            client.iter().position(is_end).unwrap_or(client.len())
        };
        self.span(if end == 0 { b"-" } else { &client[..end] })
    }

    /// The span of a request line that is assembled from its parts.
    #[inline]
    fn joined_request(
        &mut self,
        [method, target, query, protocol]: [&[u8]; 4],
        escapes: Escapes,
    ) -> ByteSpan {
        let start = self.text.len();
        // Without a method, a protocol would be read as part of the target.
        let protocol = if method.is_empty() { b"" } else { protocol };
        let parts = [
            ("", method, " "),
            ("", target, ""),
            ("?", query, ""),
            (" ", protocol, ""),
        ];
        self.push_parts(parts, None);
        // The copy is checked: a memory-mapped file may change between two reads.
        if memchr3(b'"', b'\\', b'\n', &self.text[start..]).is_some() {
            self.text.truncate(start);
            self.push_parts(parts, Some(escapes));
        }
        ByteSpan {
            start: start as u32,
            end: self.text.len() as u32,
            in_buffer: true,
        }
    }

    /// Appends the parts of a request that are not empty, with what is before and after each;
    /// escaped with `escapes`.
    #[inline]
    fn push_parts(&mut self, parts: [(&str, &[u8], &str); 4], escapes: Option<Escapes>) {
        for (before, part, after) in parts.into_iter().filter(|(_, part, _)| !part.is_empty()) {
            append(&mut self.text, before.as_bytes());
            let at = self.text.len();
            append(&mut self.text, part);
            if let Some(escapes) =
                escapes.filter(|escapes| needs_escaping(&self.text[at..], *escapes))
            {
                escape(at, escapes, &mut self.text);
            }
            append(&mut self.text, after.as_bytes());
        }
    }

    /// The span of a text, which is copied if it is not in the line.
    #[inline]
    fn span(&mut self, text: &[u8]) -> ByteSpan {
        let start = text.as_ptr().addr();
        if start >= self.line.start && start + text.len() <= self.line.end {
            let start = (start - self.line.start) as u32;
            return ByteSpan {
                start,
                end: start + text.len() as u32,
                in_buffer: false,
            };
        }
        self.copied_span(text)
    }

    /// The span of a text, which is copied if it is not in the line or needs escaping.
    #[inline]
    fn escaped_span(&mut self, text: &[u8], escapes: Escapes) -> ByteSpan {
        if !needs_escaping(text, escapes) {
            return self.span(text);
        }
        let start = self.text.len();
        self.text.extend_from_slice(text);
        escape(start, escapes, &mut self.text);
        ByteSpan {
            start: start as u32,
            end: self.text.len() as u32,
            in_buffer: true,
        }
    }

    fn copied_span(&mut self, text: &[u8]) -> ByteSpan {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(text);
        ByteSpan {
            start,
            end: self.text.len() as u32,
            in_buffer: true,
        }
    }
}

/// A status of three digits.
#[inline]
fn status(text: &[u8]) -> Option<u16> {
    let &[a, b, c] = <&[u8; 3]>::try_from(text).ok()?;
    clf::status_code(a, b, c)
}

/// Whether a text differs from how a log writer with escapes would write it: it has a bare quote or
/// a newline, ends with a backslash, or its backslashes are literal.
#[inline]
fn needs_escaping(text: &[u8], escapes: Escapes) -> bool {
    let special = if escapes == Escapes::None {
        b'\\'
    } else {
        b'\n'
    };
    // All bytes are read: without an early exit, the compiler vectorizes the loop.
    text.ends_with(b"\\")
        || text.iter().fold(0, |any, &byte| {
            any | u8::from(byte == b'"') | u8::from(byte == b'\n') | u8::from(byte == special)
        }) > 0
}

/// Escapes the text at the end of a buffer, from `start` on.
#[cold]
fn escape(start: usize, escapes: Escapes, buffer: &mut Vec<u8>) {
    let end = buffer.len();
    let mut at = start;
    while at < end {
        let mut kept = if escapes == Escapes::None {
            0
        } else {
            escape_length(&buffer[at..end])
        };
        if kept > 0 {
            buffer.extend_from_within(at..at + kept);
        } else if escapes == Escapes::Doubled && buffer[at..end].starts_with(b"\"\"") {
            buffer.extend_from_slice(br"\x22");
            kept = 2;
        } else {
            match buffer[at] {
                b'"' => buffer.extend_from_slice(br"\x22"),
                b'\\' => buffer.extend_from_slice(br"\x5C"),
                b'\n' => buffer.extend_from_slice(br"\x0A"),
                other => buffer.push(other),
            }
        }
        at += kept.max(1);
    }
    buffer.drain(start..end);
}

/// The length of the escape at the start of `text` that `normalize` can undo; zero if there is
/// none.
fn escape_length(text: &[u8]) -> usize {
    match text {
        [b'\\', b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => 4,
        [b'\\', b'u', b'0', b'0', high, low, ..]
            if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
        {
            6
        }
        [
            b'\\',
            b'"' | b'\\' | b'/' | b'n' | b'r' | b't' | b'v' | b'b' | b'f',
            ..,
        ] => 2,
        _ => 0,
    }
}

/// The fields of a line as a text in the order of the Combined Log Format, for tests of parsers.
#[cfg(test)]
pub(super) fn entry_text(fields: &Fields<'_>) -> Vec<u8> {
    let mut buffer = EntryBuffer::default();
    buffer.begin(b"");
    buffer.push(fields);
    let entry = buffer.entry(0, b"");
    let number = |number: Option<u64>, none: &str| {
        number
            .map_or(none.to_owned(), |number| number.to_string())
            .into_bytes()
    };
    let host = entry
        .host
        .map_or(Vec::new(), |host| [host, b":80 "].concat());
    let time = entry
        .time
        .and_then(crate::log::time::LogTime::clf)
        .unwrap_or(*b"--/---/----:--:--:-- -----");
    let or_dash = |text: Option<&[u8]>| text.unwrap_or(b"-").to_vec();
    let before = [
        &host[..],
        entry.client,
        b" - ",
        &or_dash(entry.user),
        b" [",
        &time,
        b"] \"",
        entry.request,
        b"\" ",
    ]
    .concat();
    let response = [
        number(entry.status.map(u64::from), "---"),
        number(entry.bytes, "-"),
    ]
    .join(&b' ');
    [
        before,
        response,
        b" \"".to_vec(),
        or_dash(entry.referer),
        b"\" \"".to_vec(),
        or_dash(entry.user_agent),
        b"\"".to_vec(),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::log::time::LogTime;
    use crate::text::normalize::unescape;

    fn buffer_of(fields: &Fields<'_>) -> EntryBuffer {
        let mut buffer = EntryBuffer::default();
        buffer.begin(b"");
        buffer.push(fields);
        buffer.end(LineKind::AsIs);
        buffer
    }

    fn entry(buffer: &EntryBuffer) -> LogEntry<'_> {
        buffer.entry(0, b"")
    }

    fn sent(text: &[u8], escapes: Escapes) -> Vec<u8> {
        let mut sent = text.to_vec();
        if escapes == Escapes::Written {
            unescape(text, &mut sent);
        }
        sent
    }

    #[test]
    fn fields_are_stored_as_they_are() {
        let time = LogTime::parse_clf(b"02/Nov/2026:08:01:00 +0000");
        let fields = Fields {
            client: b"192.0.2.7",
            host: b"example.org:8080",
            time: TimeField::Text(b"02/Nov/2026:08:01:00 +0000"),
            request: RequestField::Parts {
                method: b"GET",
                target: b"/a",
                query: b"b=1",
                protocol: b"HTTP/1.1",
            },
            status: b"200",
            bytes: b"5",
            user_agent: b"curl/8",
            user: b"Jo Doe",
            ..Fields::default()
        };
        let expected = LogEntry {
            client: b"192.0.2.7",
            host: Some(b"example.org"),
            time,
            request: b"GET /a?b=1 HTTP/1.1",
            status: Some(200),
            bytes: Some(5),
            referer: None,
            user_agent: Some(b"curl/8"),
            user: Some(b"Jo Doe"),
        };
        assert_eq!(entry(&buffer_of(&fields)), expected);
        let fields = Fields {
            host: b"a b",
            time: TimeField::Parsed(time),
            ..fields
        };
        assert_eq!(
            entry(&buffer_of(&fields)),
            LogEntry {
                host: None,
                ..expected
            }
        );
    }

    #[test]
    fn missing_and_invalid_values_are_none() {
        let nothing = LogEntry {
            client: b"-",
            ..LogEntry::default()
        };
        assert_eq!(entry(&buffer_of(&Fields::default())), nothing);
        let invalid = Fields {
            client: b"a\"b",
            time: TimeField::Text(b"] \"GET /evil HTTP/1.1\" 200 1"),
            status: b"20",
            bytes: b"123456789012345678901",
            request: RequestField::Parts {
                method: b"",
                target: b"/a",
                query: b"",
                protocol: b"HTTP/1.0",
            },
            ..Fields::default()
        };
        assert_eq!(
            entry(&buffer_of(&invalid)),
            LogEntry {
                client: b"a",
                request: b"/a",
                ..LogEntry::default()
            }
        );
        let user = vec![b'u'; 300];
        assert_eq!(
            entry(&buffer_of(&Fields {
                user: &user,
                ..Fields::default()
            }))
            .user
            .map(<[u8]>::len),
            Some(256)
        );
    }

    #[test]
    fn texts_have_the_escapes_of_log_writers() {
        for (text, escapes, expected) in [
            (br#"a"b"#.as_slice(), Escapes::Written, r"a\x22b"),
            (br#"a""b"c\"d"#, Escapes::Doubled, r#"a\x22b\x22c\"d"#),
            (br#"a\"b\\"#, Escapes::Written, r#"a\"b\\"#),
            (br"a\", Escapes::Written, r"a\x5C"),
            (br#"\a"b"#, Escapes::Written, r"\x5Ca\x22b"),
            (b"a\\\nb", Escapes::Written, r"a\x5C\x0Ab"),
            (
                br#"\x41\"\u0041"#,
                Escapes::None,
                r"\x5Cx41\x5C\x22\x5Cu0041",
            ),
            (b"a\tb", Escapes::None, "a\tb"),
        ] {
            let fields = Fields {
                request: RequestField::Line(text),
                escapes,
                ..Fields::default()
            };
            assert_eq!(
                String::from_utf8_lossy(entry(&buffer_of(&fields)).request),
                expected
            );
        }
    }

    /// Bytes that may need escaping.
    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            3 => "[a-z0-9/.:]{1,6}".prop_map(String::into_bytes),
            1 => prop::sample::select(vec![" ", "\"", "\\", "\n", "\r", "\0", "] \"", "-", r"\x2", r"\x22", r"\u00", "\\\"", " HTTP/1.1"])
                .prop_map(|s| s.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..4),
        ];
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn unescaped_texts_are_those_that_were_sent(texts in prop::collection::vec(hostile(), 6..7), parts: bool, bare: bool) {
            let escapes = if bare { Escapes::None } else { Escapes::Written };
            let [method, target, query, protocol, referer, user_agent] = texts.as_slice() else { unreachable!() };
            let request = if parts { RequestField::Parts { method, target, query, protocol } } else { RequestField::Line(target) };
            let buffer = buffer_of(&Fields { request, referer, user_agent, escapes, ..Fields::default() });
            let entry = entry(&buffer);
            let of = |text: Option<&[u8]>| {
                let mut found = Vec::new();
                unescape(text.unwrap_or_default(), &mut found);
                found
            };
            let [method, target, query, protocol] = [method, target, query, protocol].map(|text| sent(text, escapes));
            let mut expected = target;
            if parts {
                if !query.is_empty() {
                    expected = [&expected, &b"?"[..], &query].concat();
                }
                if !method.is_empty() {
                    let protocol = if protocol.is_empty() { Vec::new() } else { [b" ", &protocol[..]].concat() };
                    expected = [&method, &b" "[..], &expected, &protocol].concat();
                }
            }
            prop_assert_eq!(of(Some(entry.request)), expected);
            let header = |text: &[u8]| if text == b"-" { Vec::new() } else { sent(text, escapes) };
            prop_assert_eq!(of(entry.referer), header(referer));
            prop_assert_eq!(of(entry.user_agent), header(user_agent));
        }
    }
}
