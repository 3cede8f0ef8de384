//! Writes down again what a line of any format says, as a line that [`Frame`](super::Frame) reads.
//!
//! ```text
//! [host:80 ]client - - [time] "request" status bytes "referer" "agent"
//! ```
//!
//! An attacker writes most of it, so nothing of a field may end that field: a bare quote, a newline, a backslash at the
//! end, a space in an address. What is missing is written in a form that has the same length as what is usual, because
//! the fast way through a line counts bytes: a time of dashes, `---` for a status. Nothing is decoded.

use super::bytes::marks_of_8;
use super::{Escapes, Fields, Frame, RequestField, TimeField};
use crate::time::{CLF_TIME_LEN, LogTime};

/// What stands for a time that is not known.
const UNKNOWN_TIME: &[u8; CLF_TIME_LEN] = b"--/---/----:--:--:-- -----";

/// What stands for a status that is not known.
const UNKNOWN_STATUS: &[u8; 3] = b"---";

/// The longest name of a host (RFC 1035).
const MAX_HOST: usize = 253;

/// Bytes that stand in the name of a host, or at least harm nobody there.
const HOST_BYTES: [bool; 256] = {
    let mut bytes = [true; 256];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte] = byte > 0x20 && !matches!(byte as u8, b'"' | b'\\' | b'[' | b']' | b':' | 0x7f);
        byte += 1;
    }
    bytes
};

/// What stands behind a host, between a client and the time, behind the time, and behind the request.
pub(super) const BEHIND_HOST: &[u8] = b":80 ";
const BEFORE_TIME: &[u8] = b" - - [";
const BEHIND_TIME: &[u8] = b"] \"";
const BEHIND_REQUEST: &[u8] = b"\" ";
/// What stands between status and bytes, and between the headers.
pub(super) const IN_ANSWER: &[u8] = b" ";
pub(super) const BETWEEN_HEADERS: &[u8] = b"\" \"";
/// Quotes from the request on, without the one that it begins with; and those of the headers.
const QUOTES: usize = 1 + HEADER_QUOTES;
pub(super) const HEADER_QUOTES: usize = 4;

/// More digits than any number of bytes has.
const MAX_DIGITS: usize = 20;

/// Writes fields as a line of `combined`, or `vhost_combined` where a host is known, without a newline, behind what is
/// in `line` already.
pub fn write(fields: &Fields<'_>, line: &mut Vec<u8>) {
    write_host(fields.host, line);
    let start = line.len();
    line.extend_from_slice(fields.client);
    // The copy is looked at, here and below: a file may change between two looks.
    if !is_plain_client(&line[start..]) {
        line.truncate(start);
        write_rare_client(fields.client, line);
    }
    write_time(fields.time, line);
    let start = line.len();
    let mut ends_badly = false;
    write_texts(fields, line, |text, line| {
        line.extend_from_slice(text);
        ends_badly |= line.ends_with(b"\\");
    });
    if ends_badly || !is_clean(&line[start..], QUOTES, fields.escapes) {
        line.truncate(start);
        write_texts(fields, line, |text, line| write_escaped(text, fields.escapes, line));
    }
}

/// Writes the line of a frame whose texts need no escapes.
pub fn write_frame(frame: &Frame<'_>, line: &mut Vec<u8>) {
    write_host(frame.host.unwrap_or_default(), line);
    let time = if is_time(frame.time) { frame.time } else { UNKNOWN_TIME };
    for text in [frame.client, BEFORE_TIME, time, BEHIND_TIME, frame.request, BEHIND_REQUEST, frame.answer(), b" ", frame.headers] {
        line.extend_from_slice(text);
    }
}

/// The length of that line, without its host.
pub(super) const fn length(client: usize, request: usize, answer: usize, headers: usize) -> usize {
    client + BEFORE_TIME.len() + CLF_TIME_LEN + BEHIND_TIME.len() + request + BEHIND_REQUEST.len() + answer + 1 + headers
}

/// All that follows the time; `write` writes a text between its quotes.
#[inline]
fn write_texts(fields: &Fields<'_>, line: &mut Vec<u8>, mut write: impl FnMut(&[u8], &mut Vec<u8>)) {
    write_request(fields.asked, line, &mut write);
    line.extend_from_slice(BEHIND_REQUEST);
    write_answer(fields, line);
    line.push(b' ');
    write_headers(fields, line, write);
}

/// The request.
#[inline]
pub(super) fn write_request(asked: RequestField<'_>, line: &mut Vec<u8>, mut write: impl FnMut(&[u8], &mut Vec<u8>)) {
    match asked {
        RequestField::Line(request) => write(request, line),
        RequestField::Parts { method, target, query, protocol } => {
            if !method.is_empty() {
                write(method, line);
                line.push(b' ');
            }
            write(target, line);
            if !query.is_empty() {
                line.push(b'?');
                write(query, line);
            }
            // A request without a method is no request line: a protocol behind it would be read as part of the target.
            if !method.is_empty() && !protocol.is_empty() {
                line.push(b' ');
                write(protocol, line);
            }
        }
    }
}

/// Status and bytes.
#[inline]
pub(super) fn write_answer(fields: &Fields<'_>, line: &mut Vec<u8>) {
    let Fields { status, bytes, .. } = *fields;
    match (status.try_into(), word(bytes)) {
        // Both are looked at once, and written at once.
        (Ok(code), Some(word)) if is_code(code) && are_digits(word, bytes.len()) => {
            let [a, b, c] = code.map(u128::from);
            let answer = a | b << 8 | c << 16 | u128::from(b' ') << 24 | u128::from(word) << 32;
            let start = line.len();
            line.extend_from_slice(&answer.to_le_bytes());
            line.truncate(start + status.len() + IN_ANSWER.len() + bytes.len());
        }
        _ => write_rare_answer(status, bytes, line),
    }
}

/// What is no code of three digits is written as [`UNKNOWN_STATUS`], and what is no number as a dash.
#[cold]
fn write_rare_answer(status: &[u8], bytes: &[u8], line: &mut Vec<u8>) {
    line.extend_from_slice(<&[u8; 3]>::try_from(status).ok().filter(|code| is_code(**code)).unwrap_or(UNKNOWN_STATUS));
    line.extend_from_slice(IN_ANSWER);
    let start = line.len();
    line.extend_from_slice(bytes.get(..MAX_DIGITS).unwrap_or(bytes));
    if bytes.is_empty() || bytes.len() > MAX_DIGITS || !line[start..].iter().all(u8::is_ascii_digit) {
        line.truncate(start);
        line.push(b'-');
    }
}

#[inline]
fn is_code(code: [u8; 3]) -> bool {
    code.iter().fold(true, |are, byte| are & byte.is_ascii_digit())
}

/// The headers, each between its quotes.
#[inline]
pub(super) fn write_headers(fields: &Fields<'_>, line: &mut Vec<u8>, mut write: impl FnMut(&[u8], &mut Vec<u8>)) {
    line.push(b'"');
    write(dash_for_nothing(fields.referer), line);
    line.extend_from_slice(BETWEEN_HEADERS);
    write(dash_for_nothing(fields.user_agent), line);
    line.push(b'"');
}

/// Whether texts can stand for status and bytes as they are.
#[inline]
pub(super) fn is_answer(status: &[u8], bytes: &[u8]) -> bool {
    status.try_into().is_ok_and(is_code) && word(bytes).is_some_and(|word| are_digits(word, bytes.len()))
}

fn dash_for_nothing(header: &[u8]) -> &[u8] {
    if header.is_empty() { b"-" } else { header }
}

/// Whether no byte of a text ends it: the only quotes are so many of the line itself. Written so that many bytes are looked at
/// at once.
#[inline]
pub(super) fn is_clean(texts: &[u8], own_quotes: usize, escapes: Escapes) -> bool {
    let meant = if escapes == Escapes::None { b'\\' } else { b'\n' };
    let (mut quotes, mut others) = (0, 0);
    for chunk in texts.chunks(usize::from(u8::MAX)) {
        let (q, o) = chunk.iter().fold((0_u8, 0_u8), |(quotes, others), &b| {
            (quotes + u8::from(b == b'"'), others | u8::from(b == b'\n') | u8::from(b == meant))
        });
        quotes += usize::from(q);
        others |= o;
    }
    quotes == own_quotes && others == 0
}

/// The host of a field that may name a port too; `None` where it is none: empty, too long, or with a byte in it that no
/// host has. An IPv6 address has brackets.
#[must_use]
pub fn host(field: &[u8]) -> Option<&[u8]> {
    let end = match field {
        [b'[', inside @ ..] => inside.iter().position(|b| !matches!(b, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b':' | b'.' | b'%')),
        _ => Some(field.iter().position(|b| !HOST_BYTES[usize::from(*b)]).unwrap_or(field.len())),
    };
    let (host, port) = match field {
        [b'[', ..] => field.split_at_checked(end? + 2).filter(|(host, _)| host.ends_with(b"]"))?,
        _ => field.split_at_checked(end?)?,
    };
    let port_is_fine = match port {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    (port_is_fine && !host.is_empty() && host.len() <= MAX_HOST && host != b"-").then_some(host)
}

/// Nothing where there is no host. The copy is looked at, here and below: a file may change between two looks.
fn write_host(field: &[u8], line: &mut Vec<u8>) {
    if field.is_empty() {
        return;
    }
    let start = line.len();
    line.extend_from_slice(field);
    match host(&line[start..]).map(<[u8]>::len) {
        None => line.truncate(start),
        Some(length) => {
            line.truncate(start + length);
            line.extend_from_slice(BEHIND_HOST);
        }
    }
}

/// Whether a text can stand for a client as it is.
#[inline]
pub(super) fn is_plain_client(client: &[u8]) -> bool {
    match (client.first_chunk::<8>(), client.last_chunk::<8>()) {
        // What stands in the middle is looked at twice.
        (Some(first), Some(last)) if client.len() <= 16 => is_harmless(*first) & is_harmless(*last),
        _ => !client.is_empty() && !client.iter().copied().any(ends_client),
    }
}

/// Whether a byte is a space, a control or a quote.
fn ends_client(byte: u8) -> bool {
    matches!(byte, 0..=b' ' | b'"' | 0x7f)
}

/// Whether none of the bytes is one that ends a client.
#[inline]
fn is_harmless(text: [u8; 8]) -> bool {
    const ONES: u64 = u64::MAX / 255;
    let bytes = u64::from_le_bytes(text);
    let has_low = bytes.wrapping_sub(ONES * 0x21) & !bytes & (ONES << 7);
    has_low | marks_of_8(text, b'"') | marks_of_8(text, 0x7f) == 0
}

/// The address up to the first byte that none has.
#[cold]
fn write_rare_client(client: &[u8], line: &mut Vec<u8>) {
    let start = line.len();
    line.extend_from_slice(client);
    if let Some(end) = line[start..].iter().copied().position(ends_client) {
        line.truncate(start + end);
    }
    if line.len() == start {
        line.push(b'-');
    }
}

/// The time in its brackets, and what stands before and behind them.
#[inline]
fn write_time(time: TimeField<'_>, line: &mut Vec<u8>) {
    line.extend_from_slice(BEFORE_TIME);
    write_time_field(time, line);
    line.extend_from_slice(BEHIND_TIME);
}

/// The time without its brackets.
#[inline]
pub(super) fn write_time_field(time: TimeField<'_>, line: &mut Vec<u8>) {
    match time {
        TimeField::Clf(text) => line.extend_from_slice(<&[u8; CLF_TIME_LEN]>::try_from(text).unwrap_or(UNKNOWN_TIME)),
        TimeField::Parsed(time) => line.extend_from_slice(&time.and_then(LogTime::clf).unwrap_or(*UNKNOWN_TIME)),
    }
    if let Some(copy) = line.last_chunk_mut::<CLF_TIME_LEN>()
        && !may_be_time(copy)
    {
        *copy = *UNKNOWN_TIME;
    }
}

/// Whether a text can stand for a time as it is.
#[inline]
fn is_time(text: &[u8]) -> bool {
    text.try_into().is_ok_and(may_be_time)
}

/// Whether no byte ends a time.
#[inline]
fn may_be_time(text: &[u8; CLF_TIME_LEN]) -> bool {
    let fits = |b: &u8| matches!(b, b' ' | b'!' | b'#'..=b'Z' | b'a'..=b'z');
    text.iter().fold(true, |fit, b| fit & fits(b))
}

/// A text of one to eight bytes, looked at once; zeros stand behind it.
#[inline]
fn word(text: &[u8]) -> Option<u64> {
    let last = text.len().checked_sub(1)?;
    match (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        (Some(first), Some(end)) if last < 8 => {
            Some(u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*end)) << (8 * (last - 3)))
        }
        (None, _) => Some([0, text.len() / 2, last].iter().fold(0, |word, at| word | u64::from(text[*at]) << (8 * at))),
        _ => None,
    }
}

/// Whether the first bytes of a word, at least one of its eight, are digits.
#[inline]
fn are_digits(word: u64, length: usize) -> bool {
    const ONES: u64 = u64::MAX / 255;
    // What stands behind counts as a digit.
    let word = word | (ONES * u64::from(b'0')).checked_shl(8 * length as u32).unwrap_or(0);
    (word.wrapping_add(ONES * 0x46) | word.wrapping_sub(ONES * u64::from(b'0'))) & ONES << 7 == 0
}

/// Writes a text so that it can stand between quotes. What is read is a copy, as above.
fn write_escaped(text: &[u8], escapes: Escapes, line: &mut Vec<u8>) {
    let start = line.len();
    line.extend_from_slice(text);
    let end = line.len();
    let mut at = start;
    while at < end {
        let known = if escapes == Escapes::Written { escape_length(&line[at..end]) } else { 0 };
        if known > 0 {
            line.extend_from_within(at..at + known);
        } else {
            match line[at] {
                b'"' => line.extend_from_slice(br"\x22"),
                b'\\' => line.extend_from_slice(br"\x5C"),
                b'\n' => line.extend_from_slice(br"\x0A"),
                other => line.push(other),
            }
        }
        at += known.max(1);
    }
    line.drain(start..end);
}

/// The length of the escape that `text` begins with, as `normalize` undoes them; zero where it begins with none.
fn escape_length(text: &[u8]) -> usize {
    match text {
        [b'\\', b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => 4,
        [b'\\', b'u', b'0', b'0', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => 6,
        [b'\\', b'"' | b'\\' | b'/' | b'n' | b'r' | b't' | b'v' | b'b' | b'f', ..] => 2,
        _ => 0,
    }
}

/// Where what lines say is put.
pub(super) trait FieldSink {
    /// Puts the fields of a line there.
    fn put(&mut self, fields: &Fields<'_>);
    /// Puts a line of the engine's own formats there.
    fn put_line(&mut self, line: &[u8]);
    /// The length of all lines that were put there, as they are written down.
    fn length(&self) -> usize;
}

impl FieldSink for Vec<u8> {
    #[inline]
    fn put(&mut self, fields: &Fields<'_>) {
        write(fields, self);
    }

    fn put_line(&mut self, line: &[u8]) {
        self.extend_from_slice(line);
    }

    fn length(&self) -> usize {
        self.len()
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::clf_writer::FieldSink;
    use crate::formats::clf_writer::*;
    use crate::formats::reader::LineKind;
    use crate::formats::{Frame, FrameBuffer, LogFormat};
    use crate::normalize::unescape;
    use proptest::prelude::*;

    #[test]
    fn a_size_is_written_where_it_is_one() {
        let write_bytes = |bytes: &[u8], line: &mut Vec<u8>| {
            line.push(b'x');
            write_answer(&Fields { status: b"200", bytes, ..Fields::default() }, line);
        };
        for size in ["0", "12", "304", "2730", "10221", "123456", "1234567", "12345678", "123456789", "18446744073709551615"] {
            let mut text = size.as_bytes().to_vec();
            for at in 0..text.len() {
                for byte in [b'/', b':', b' ', 0, 0x80, 0xba, 0xff, b'"'] {
                    let digit = std::mem::replace(&mut text[at], byte);
                    let mut line = Vec::new();
                    write_bytes(&text, &mut line);
                    assert_eq!(line, b"x200 -", "{size} with {byte} at {at}");
                    text[at] = digit;
                }
            }
            let mut line = Vec::new();
            write_bytes(&text, &mut line);
            assert_eq!(line, [b"x200 ", &text[..]].concat());
        }
        for none in ["", "-", "123456789012345678901"] {
            let mut line = Vec::new();
            write_bytes(none.as_bytes(), &mut line);
            assert_eq!(line, b"x200 -");
        }
    }

    fn line(fields: &Fields<'_>) -> String {
        let mut line = Vec::new();
        write(fields, &mut line);
        String::from_utf8(line).unwrap()
    }

    fn sent(text: &[u8], escapes: Escapes) -> Vec<u8> {
        let mut sent = text.to_vec();
        if escapes == Escapes::Written {
            unescape(text, &mut sent);
        }
        sent
    }

    #[test]
    fn writes_what_apache_would() {
        let fields = Fields {
            client: b"192.0.2.7",
            host: b"example.org:8080",
            time: TimeField::Clf(b"02/Nov/2026:08:01:00 +0000"),
            asked: RequestField::Parts { method: b"GET", target: b"/a", query: b"b=1", protocol: b"HTTP/1.1" },
            status: b"200",
            bytes: b"5",
            referer: b"",
            user_agent: b"curl/8",
            ..Fields::default()
        };
        let common = r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /a?b=1 HTTP/1.1" 200 5 "-" "curl/8""#;
        assert_eq!(line(&fields), format!("example.org:80 {common}"));
        assert_eq!(line(&Fields { host: b"-", ..fields }), common);
        let time = TimeField::Parsed(LogTime::parse_clf(b"02/Nov/2026:08:01:00 +0000"));
        assert_eq!(line(&Fields { host: b"a b", time, ..fields }), common);
    }

    #[test]
    fn what_is_missing_keeps_its_place() {
        let empty = r#"- - - [--/---/----:--:--:-- -----] "" --- - "-" "-""#;
        assert_eq!(line(&Fields::default()), empty);
        let hostile = Fields {
            client: b"a\"b",
            time: TimeField::Clf(b"] \"GET /evil HTTP/1.1\" 200 1"),
            status: b"20",
            bytes: b"123456789012345678901",
            asked: RequestField::Parts { method: b"", target: b"/a", query: b"", protocol: b"HTTP/1.0" },
            ..Fields::default()
        };
        assert_eq!(line(&hostile), r#"a - - [--/---/----:--:--:-- -----] "/a" --- - "-" "-""#);
    }

    #[test]
    fn a_text_never_ends_its_field() {
        for (text, escapes, written) in [
            (br#"a"b"#.as_slice(), Escapes::Written, r"a\x22b"),
            (br#"a\"b\\"#, Escapes::Written, r#"a\"b\\"#),
            (br"a\", Escapes::Written, r"a\x5C"),
            (br#"\a"b"#, Escapes::Written, r"\x5Ca\x22b"),
            (b"a\\\nb", Escapes::Written, r"a\x5C\x0Ab"),
            (br#"\x41\"\u0041"#, Escapes::None, r"\x5Cx41\x5C\x22\x5Cu0041"),
            (b"a\tb", Escapes::None, "a\tb"),
        ] {
            let fields = Fields { asked: RequestField::Line(text), escapes, ..Fields::default() };
            assert_eq!(line(&fields), format!(r#"- - - [--/---/----:--:--:-- -----] "{written}" --- - "-" "-""#));
        }
    }

    #[test]
    fn knows_hosts() {
        for (field, expected) in [
            ("example.org", Some("example.org")),
            ("example.org:443", Some("example.org")),
            ("example.org:", Some("example.org")),
            ("[2001:db8::1]:443", Some("[2001:db8::1]")),
            ("_", Some("_")),
            ("b\u{fc}cher.example", Some("b\u{fc}cher.example")),
            ("2001:db8::1", None),
            ("example.org:http", None),
            ("[::1]x", None),
            ("[a b]", None),
            ("a b", None),
            ("a\"b", None),
            (r"a\x22", None),
            ("-", None),
            (":80", None),
            ("", None),
        ] {
            assert_eq!(host(field.as_bytes()), expected.map(str::as_bytes), "{field}");
        }
        assert_eq!(host(&[b'a'; 254]), None);
    }

    /// Bytes that attack a line, more often than any others.
    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            3 => "[a-z0-9/.:]{1,6}".prop_map(String::into_bytes),
            1 => prop::sample::select(vec![" ", "\"", "\\", "\n", "\r", "\0", "] \"", "\" 200 1 ", "[", "]", "-", " - ", ":80", r"\x2", r"\x22", r"\u00", "\\\"", " HTTP/1.1"])
                .prop_map(|s| s.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..4),
        ];
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn a_line_says_what_was_written(
            texts in prop::collection::vec(hostile(), 7..8),
            client in prop_oneof![Just(b"192.0.2.7".to_vec()), Just(b"2001:db8::1".to_vec()), hostile()],
            host_field in prop_oneof![Just(b"www.example.org:80".to_vec()), Just(Vec::new()), hostile()],
            clf in prop_oneof![Just(b"02/Nov/2026:08:01:00 +0000".to_vec()), hostile(), prop::collection::vec(any::<u8>(), 26)],
            read in prop::option::of((any::<i64>(), -1_500_i16..1_500)),
            parts: bool, bare: bool, status in 0_u32..2_000,
        ) {
            let escapes = if bare { Escapes::None } else { Escapes::Written };
            let read = read.map(|(utc, offset)| LogTime { utc: utc % 100_000_000_000, offset });
            let status = status.to_string();
            let [method, target, query, protocol, referer, user_agent, bytes] = texts.as_slice() else { unreachable!() };
            let asked = if parts { RequestField::Parts { method, target, query, protocol } } else { RequestField::Line(target) };
            let time = if parts { TimeField::Parsed(read) } else { TimeField::Clf(&clf) };
            let fields = Fields {
                client: &client, forwarded: b"", host: &host_field, time, asked, status: status.as_bytes(), bytes, referer, user_agent, escapes
            };
            let mut line = Vec::new();
            write(&fields, &mut line);
            prop_assert!(!line.contains(&b'\n'));
            let frame = Frame::locate(&line, None).unwrap();
            let record = frame.record(LogTime::parse_clf(frame.time));

            let end = client.iter().position(|b| matches!(b, 0..=b' ' | b'"' | 0x7f)).unwrap_or(client.len());
            prop_assert_eq!(record.client, if end == 0 { b"-" } else { &client[..end] });
            prop_assert_eq!(record.host, host(&host_field));
            prop_assert_eq!(record.time, if parts { read.filter(|t| t.clf().is_some()) } else { LogTime::parse_clf(&clf) });
            prop_assert_eq!(record.status, Some(&status).filter(|s| s.len() == 3).map(|s| s.parse().unwrap()));
            prop_assert_eq!(record.bytes, std::str::from_utf8(bytes).ok().filter(|b| !b.starts_with('+') && b.len() <= 20).and_then(|b| b.parse().ok()));

            let request = match asked {
                RequestField::Line(line) => sent(line, escapes),
                RequestField::Parts { .. } => {
                    let [method, target, query, protocol] = [method, target, query, protocol].map(|t| sent(t, escapes));
                    let mut request = if method.is_empty() { Vec::new() } else { [&method[..], b" "].concat() };
                    request.extend(&target);
                    if !query.is_empty() {
                        request.extend([b"?", &query[..]].concat());
                    }
                    if !method.is_empty() && !protocol.is_empty() {
                        request.extend([b" ", &protocol[..]].concat());
                    }
                    request
                }
            };
            let [mut found, mut found_referer, mut found_agent] = [const { Vec::new() }; 3];
            unescape(record.request, &mut found);
            prop_assert_eq!(found, request);
            unescape(record.referer.unwrap_or_default(), &mut found_referer);
            unescape(record.user_agent.unwrap_or_default(), &mut found_agent);
            let header = |text: &[u8]| if text == b"-" { Vec::new() } else { sent(text, escapes) };
            prop_assert_eq!(found_referer, header(referer));
            prop_assert_eq!(found_agent, header(user_agent));
            let format = if record.host.is_some() { LogFormat::VhostCombined } else { LogFormat::Combined };
            prop_assert_eq!(frame.format(), format);

            let mut buffer = FrameBuffer::default();
            buffer.begin(b"");
            buffer.put(&fields);
            buffer.end(LineKind::AsIs);
            prop_assert_eq!(buffer.length(), line.len());
            if let Some(parts) = buffer.frame(0, b"") {
                let mut of_parts = Vec::new();
                write_frame(&parts, &mut of_parts);
                prop_assert_eq!(String::from_utf8_lossy(&of_parts), String::from_utf8_lossy(&line));
                prop_assert_eq!(parts.record(LogTime::parse_clf(parts.time)), record);
                prop_assert_eq!((parts.headers, parts.format()), (frame.headers, format));
            } else {
                prop_assert_eq!(buffer.rewritten_line(0), Some(&line[..]));
            }
        }
    }
}
