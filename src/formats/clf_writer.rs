//! Writes the fields of a line of any format as a line that [`Frame`](super::Frame) parses.
//!
//! ```text
//! [host:80 ]client - user [time] "request" status bytes "referer" "agent"
//! ```
//!
//! Clients control most of the text, so no field may end early: bare quotes, newlines, a trailing backslash and spaces in an
//! address are escaped or cut. Missing values are written with their usual length, because the fast parser counts bytes: a time
//! of dashes, `---` for a status. Nothing is decoded.
//!
//! The most frequent forms of ISO 8601 times are converted byte by byte, without computing the time. All others are parsed by
//! [`LogTime::parse_any_format`](crate::time::LogTime::parse_any_format).

use super::bytes::marks_of_8;
use super::{Escapes, Fields, Frame, RequestField, TimeField};
use crate::client::Client;
use crate::time::{CLF_TIME_LEN, LogTime};

/// Stands for an unknown time.
const UNKNOWN_TIME: &[u8; CLF_TIME_LEN] = b"--/---/----:--:--:-- -----";

/// Stands for an unknown status.
const UNKNOWN_STATUS: &[u8; 3] = b"---";

/// The longest host name (RFC 1035).
const MAX_HOST: usize = 253;

/// Bytes that are allowed in a host name; other bytes could end the field.
const HOST_BYTES: [bool; 256] = {
    let mut bytes = [true; 256];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte] = byte > 0x20 && !matches!(byte as u8, b'"' | b'\\' | b'[' | b']' | b':' | 0x7f);
        byte += 1;
    }
    bytes
};

/// The literal texts after a host, between client and time, after the time, and after the request.
pub(super) const AFTER_HOST: &[u8] = b":80 ";
const BEFORE_USER: &[u8] = b" - ";
const BEFORE_TIME: &[u8] = b" [";
const AFTER_TIME: &[u8] = b"] \"";
const AFTER_REQUEST: &[u8] = b"\" ";
/// The text between status and bytes, and the text between the headers.
pub(super) const IN_ANSWER: &[u8] = b" ";
pub(super) const BETWEEN_HEADERS: &[u8] = b"\" \"";
/// The number of quotes from the request on, without the opening one, and that of the headers.
const QUOTES: usize = 1 + HEADER_QUOTES;
pub(super) const HEADER_QUOTES: usize = 4;

/// The longest user; a longer one is cut.
const MAX_USER: usize = 256;

/// The most digits of a number of bytes.
const MAX_DIGITS: usize = 20;

/// Appends the fields to `line`, in the format `combined`, or `vhost_combined` if a host is known, without a newline.
pub(crate) fn write(fields: &Fields<'_>, line: &mut Vec<u8>) {
    write_host(fields.host, line);
    let start = line.len();
    line.extend_from_slice(fields.client);
    // Checks are made on the copy, here and below: a memory-mapped file may change between two reads.
    if !is_plain_client(&line[start..]) {
        line.truncate(start);
        write_rare_client(fields.client, line);
    }
    write_user(fields.user, line);
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

/// Writes a frame whose texts need no escaping.
pub fn write_frame(frame: &Frame<'_>, line: &mut Vec<u8>) {
    write_host(frame.host.unwrap_or_default(), line);
    let time = if is_time(frame.time) { frame.time } else { UNKNOWN_TIME };
    line.extend_from_slice(frame.client);
    write_user(frame.user, line);
    for text in [BEFORE_TIME, time, AFTER_TIME, frame.request, AFTER_REQUEST, frame.answer(), b" ", frame.headers] {
        line.extend_from_slice(text);
    }
}

/// The length of such a line, without its host.
pub(super) const fn length(client: usize, user: usize, request: usize, answer: usize, headers: usize) -> usize {
    client
        + BEFORE_USER.len()
        + user
        + BEFORE_TIME.len()
        + CLF_TIME_LEN
        + AFTER_TIME.len()
        + request
        + AFTER_REQUEST.len()
        + answer
        + 1
        + headers
}

/// Writes everything after the time; `write` writes the text between two quotes.
#[inline]
fn write_texts(fields: &Fields<'_>, line: &mut Vec<u8>, mut write: impl FnMut(&[u8], &mut Vec<u8>)) {
    write_request(fields.request, line, &mut write);
    line.extend_from_slice(AFTER_REQUEST);
    write_answer(fields, line);
    line.push(b' ');
    write_headers(fields, line, write);
}

/// Writes the request.
#[inline]
pub(super) fn write_request(request: RequestField<'_>, line: &mut Vec<u8>, mut write: impl FnMut(&[u8], &mut Vec<u8>)) {
    match request {
        RequestField::Line(text) => write(text, line),
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
            // Without a method, a protocol would be read as part of the target.
            if !method.is_empty() && !protocol.is_empty() {
                line.push(b' ');
                write(protocol, line);
            }
        }
    }
}

/// Writes status and bytes.
#[inline]
pub(super) fn write_answer(fields: &Fields<'_>, line: &mut Vec<u8>) {
    let Fields { status, bytes, .. } = *fields;
    match (status.try_into(), word(bytes)) {
        // Both are checked at once and written at once.
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

/// Writes an invalid status as [`UNKNOWN_STATUS`], and an invalid number as a dash.
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

/// Writes the quoted headers.
#[inline]
pub(super) fn write_headers(fields: &Fields<'_>, line: &mut Vec<u8>, mut write: impl FnMut(&[u8], &mut Vec<u8>)) {
    line.push(b'"');
    write(dash_for_nothing(fields.referer), line);
    line.extend_from_slice(BETWEEN_HEADERS);
    write(dash_for_nothing(fields.user_agent), line);
    line.push(b'"');
}

/// Whether texts are a valid status and size.
#[inline]
pub(super) fn is_answer(status: &[u8], bytes: &[u8]) -> bool {
    status.try_into().is_ok_and(is_code) && word(bytes).is_some_and(|word| are_digits(word, bytes.len()))
}

fn dash_for_nothing(header: &[u8]) -> &[u8] {
    if header.is_empty() { b"-" } else { header }
}

/// Whether no byte ends a text early: all quotes are those of the line itself. Written for auto-vectorization.
#[inline]
pub(super) fn is_clean(texts: &[u8], own_quotes: usize, escapes: Escapes) -> bool {
    let special = if escapes == Escapes::None { b'\\' } else { b'\n' };
    let (mut quotes, mut others) = (0, 0);
    for chunk in texts.chunks(usize::from(u8::MAX)) {
        let (q, o) = chunk.iter().fold((0_u8, 0_u8), |(quotes, others), &b| {
            (quotes + u8::from(b == b'"'), others | u8::from(b == b'\n') | u8::from(b == special))
        });
        quotes += usize::from(q);
        others |= o;
    }
    quotes == own_quotes && others == 0
}

/// The host of a field with an optional port. `None` if it is empty, too long, or has a byte that hosts do not have. An
/// IPv6 address has brackets.
#[must_use]
pub(crate) fn host(field: &[u8]) -> Option<&[u8]> {
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

/// Writes nothing without a valid host. Checks are made on the copy, here and below: a memory-mapped file may change
/// between two reads.
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
            line.extend_from_slice(AFTER_HOST);
        }
    }
}

/// Whether a text can be written as a client unchanged.
#[inline]
pub(super) fn is_plain_client(client: &[u8]) -> bool {
    match (client.first_chunk::<8>(), client.last_chunk::<8>()) {
        // The bytes in the middle may be checked twice.
        (Some(first), Some(last)) if client.len() <= 16 => is_harmless(*first) & is_harmless(*last),
        _ => !client.is_empty() && !client.iter().copied().any(ends_client),
    }
}

/// Whether a byte is a space, a control character or a quote.
fn ends_client(byte: u8) -> bool {
    matches!(byte, 0..=b' ' | b'"' | 0x7f)
}

/// Whether none of the bytes ends a client.
#[inline]
fn is_harmless(text: [u8; 8]) -> bool {
    const ONES: u64 = u64::MAX / 255;
    let bytes = u64::from_le_bytes(text);
    let has_low = bytes.wrapping_sub(ONES * 0x21) & !bytes & (ONES << 7);
    has_low | marks_of_8(text, b'"') | marks_of_8(text, 0x7f) == 0
}

/// Writes the client up to the first invalid byte.
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

/// Writes the user and the text before it. One that could be taken for a client or end the field is escaped.
fn write_user(user: &[u8], line: &mut Vec<u8>) {
    line.extend_from_slice(BEFORE_USER);
    let start = line.len();
    line.extend_from_slice(user);
    if !is_plain_user(&line[start..]) {
        write_rare_user(start, line);
    }
}

/// Whether a text can be written as a user unchanged.
pub(super) fn is_plain_user(user: &[u8]) -> bool {
    (1..=MAX_USER).contains(&user.len()) && !user.iter().copied().any(ends_client) && Client::parse_address(user).is_none()
}

/// Escapes the user at the end of a line, from `start` on: blanks, quotes, control characters, and what makes it an address.
#[cold]
pub(super) fn write_rare_user(start: usize, line: &mut Vec<u8>) {
    let mut user = line.split_off(start);
    user.truncate(MAX_USER);
    let is_address = Client::parse_address(&user).is_some();
    if user.is_empty() {
        line.push(b'-');
    }
    for byte in user {
        if ends_client(byte) || is_address && matches!(byte, b'.' | b':') {
            line.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
        } else {
            line.push(byte);
        }
    }
}

/// Writes the time with its brackets and the texts around it.
#[inline]
fn write_time(time: TimeField<'_>, line: &mut Vec<u8>) {
    line.extend_from_slice(BEFORE_TIME);
    write_time_field(time, line);
    line.extend_from_slice(AFTER_TIME);
}

/// Writes the time without brackets.
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

/// Whether a text can be written as a time unchanged.
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

/// A text of one to eight bytes in one word, padded with zeros.
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

/// Whether the first bytes of a word, at least one of eight, are digits.
#[inline]
fn are_digits(word: u64, length: usize) -> bool {
    const ONES: u64 = u64::MAX / 255;
    // The bytes after them count as digits.
    let word = word | (ONES * u64::from(b'0')).checked_shl(8 * length as u32).unwrap_or(0);
    (word.wrapping_add(ONES * 0x46) | word.wrapping_sub(ONES * u64::from(b'0'))) & ONES << 7 == 0
}

/// Escapes a text for use between quotes. Reads from a copy, as above.
fn write_escaped(text: &[u8], escapes: Escapes, line: &mut Vec<u8>) {
    let start = line.len();
    line.extend_from_slice(text);
    let end = line.len();
    let mut at = start;
    while at < end {
        let escape_len = if escapes == Escapes::Written { escape_length(&line[at..end]) } else { 0 };
        if escape_len > 0 {
            line.extend_from_within(at..at + escape_len);
        } else {
            match line[at] {
                b'"' => line.extend_from_slice(br"\x22"),
                b'\\' => line.extend_from_slice(br"\x5C"),
                b'\n' => line.extend_from_slice(br"\x0A"),
                other => line.push(other),
            }
        }
        at += escape_len.max(1);
    }
    line.drain(start..end);
}

/// The length of the escape at the start of `text` that `normalize` can undo; zero if there is none.
fn escape_length(text: &[u8]) -> usize {
    match text {
        [b'\\', b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => 4,
        [b'\\', b'u', b'0', b'0', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => 6,
        [b'\\', b'"' | b'\\' | b'/' | b'n' | b'r' | b't' | b'v' | b'b' | b'f', ..] => 2,
        _ => 0,
    }
}

/// Receives the parsed lines.
pub(super) trait FieldSink {
    /// Adds a line by its fields.
    fn push(&mut self, fields: &Fields<'_>);
    /// Adds a line that is in an engine format.
    fn put_line(&mut self, line: &[u8]);
    /// The total length of all lines, as written.
    fn length(&self) -> usize;
}

impl FieldSink for Vec<u8> {
    #[inline]
    fn push(&mut self, fields: &Fields<'_>) {
        write(fields, self);
    }

    fn put_line(&mut self, line: &[u8]) {
        self.extend_from_slice(line);
    }

    fn length(&self) -> usize {
        self.len()
    }
}

const MONTHS: [&[u8; 3]; 12] = [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// Converts `2026-11-02T08:01:00.123+01:00` to `02/Nov/2026:08:01:00 +0100`; `false` for any other form.
#[inline]
pub(super) fn iso_time_to_clf(text: &[u8], out: &mut Vec<u8>) -> bool {
    let Some((date, [b'T', rest @ ..])) = text.split_first_chunk::<10>() else { return false };
    let Some((time, rest)) = rest.split_first_chunk::<8>() else { return false };
    let rest = match rest {
        [b'.', b'0'..=b'9', fraction @ ..] => match fraction.iter().position(|b| !b.is_ascii_digit()) {
            Some(end) => &fraction[end..],
            None => return false,
        },
        _ => rest,
    };
    let zone = match *rest {
        [b'Z'] => *b"+0000",
        [sign @ (b'+' | b'-'), a, b, b':', c, d] | [sign @ (b'+' | b'-'), a, b, c, d] => [sign, a, b, c, d],
        _ => return false,
    };
    write_converted_time(date, *time, zone, out)
}

/// The same for `2026-11-02` and `08:01:00`, in UTC.
#[inline]
pub(super) fn iso_date_and_time_to_clf(date: &[u8], time: &[u8], out: &mut Vec<u8>) -> bool {
    match (date.try_into(), time.try_into()) {
        (Ok(date), Ok(time)) => write_converted_time(date, time, *b"+0000", out),
        _ => false,
    }
}

/// Writes in place: copying an assembled time would stall the CPU.
#[inline]
fn write_converted_time(date: &[u8; 10], time: [u8; 8], zone: [u8; 5], out: &mut Vec<u8>) -> bool {
    let [y1, y2, y3, y4, b'-', m1 @ b'0'..=b'1', m2 @ b'0'..=b'9', b'-', d1, d2] = *date else { return false };
    let month = usize::from((m1 - b'0') * 10 + m2 - b'0');
    let Some(month) = month.checked_sub(1).and_then(|month| MONTHS.get(month)) else { return false };
    out.resize(CLF_TIME_LEN, b' ');
    let Some(clf) = out.first_chunk_mut::<CLF_TIME_LEN>() else { return false };
    clf[..2].copy_from_slice(&[d1, d2]);
    clf[2] = b'/';
    clf[3..6].copy_from_slice(*month);
    clf[6] = b'/';
    clf[7..11].copy_from_slice(&[y1, y2, y3, y4]);
    clf[11] = b':';
    clf[12..20].copy_from_slice(&time);
    clf[20] = b' ';
    clf[21..].copy_from_slice(&zone);
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::formats::reader::LineKind;
    use crate::formats::{Frame, FrameBuffer, LogFormat};
    use crate::normalize::unescape;
    use crate::time::LogTime;

    #[test]
    fn only_valid_sizes_are_written() {
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
    fn writes_combined_lines() {
        let fields = Fields {
            client: b"192.0.2.7",
            host: b"example.org:8080",
            time: TimeField::Clf(b"02/Nov/2026:08:01:00 +0000"),
            request: RequestField::Parts { method: b"GET", target: b"/a", query: b"b=1", protocol: b"HTTP/1.1" },
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
    fn missing_values_keep_their_length() {
        let empty = r#"- - - [--/---/----:--:--:-- -----] "" --- - "-" "-""#;
        assert_eq!(line(&Fields::default()), empty);
        let hostile = Fields {
            client: b"a\"b",
            time: TimeField::Clf(b"] \"GET /evil HTTP/1.1\" 200 1"),
            status: b"20",
            bytes: b"123456789012345678901",
            request: RequestField::Parts { method: b"", target: b"/a", query: b"", protocol: b"HTTP/1.0" },
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
            let fields = Fields { request: RequestField::Line(text), escapes, ..Fields::default() };
            assert_eq!(line(&fields), format!(r#"- - - [--/---/----:--:--:-- -----] "{written}" --- - "-" "-""#));
        }
    }

    #[test]
    fn only_valid_hosts_are_accepted() {
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

    /// Bytes that are likely to break a line.
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
        #[test]
        fn no_user_changes_another_field(
            user in prop_oneof![any::<Vec<u8>>(), "[0-9a-f.:]{1,20}".prop_map(String::into_bytes), "([- \\[\\]\"]|192\\.0\\.2\\.9){0,9}".prop_map(String::into_bytes)],
            has_host: bool, client in "192\\.0\\.2\\.7|2001:db8::7|host\\.example|-",
        ) {
            let fields = Fields {
                client: client.as_bytes(), host: if has_host { b"www.example.org" } else { b"" }, user: &user, status: b"404",
                time: TimeField::Clf(b"02/Nov/2026:08:01:00 +0000"), request: RequestField::Line(b"GET /.env HTTP/1.1"), ..Fields::default()
            };
            let mut line = Vec::new();
            write(&fields, &mut line);
            let text = String::from_utf8_lossy(&line).into_owned();
            let frame = Frame::locate_written(&line).unwrap_or_else(|| panic!("{text}"));
            let record = frame.record(LogTime::parse_clf(frame.time));
            prop_assert_eq!((record.client, record.host), (client.as_bytes(), Some(&b"www.example.org"[..]).filter(|_| has_host)), "{}", text);
            prop_assert_eq!((record.request, record.status, record.time.is_some()), (&b"GET /.env HTTP/1.1"[..], Some(404), true), "{}", text);
            let plain = user.iter().all(u8::is_ascii_alphanumeric) && !user.is_empty() && user.len() <= 256 && Client::parse_address(&user).is_none();
            prop_assert!(!plain || record.user == Some(&user), "{}", text);
            let mut again = Vec::new();
            write_frame(&frame, &mut again);
            let before_time = memchr::memmem::find(&line, b" [02/Nov").unwrap();
            prop_assert!(again.starts_with(&line[..before_time]), "written twice: {}", text);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn a_written_line_parses_to_the_same_values(
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
            let request_field = if parts { RequestField::Parts { method, target, query, protocol } } else { RequestField::Line(target) };
            let time = if parts { TimeField::Parsed(read) } else { TimeField::Clf(&clf) };
            let fields = Fields {
                client: &client, host: &host_field, time, request: request_field, status: status.as_bytes(), bytes, referer, user_agent, escapes,
                ..Fields::default()
            };
            let mut line = Vec::new();
            write(&fields, &mut line);
            prop_assert!(!line.contains(&b'\n'));
            let frame = Frame::locate_written(&line).unwrap();
            let record = frame.record(LogTime::parse_clf(frame.time));

            let end = client.iter().position(|b| matches!(b, 0..=b' ' | b'"' | 0x7f)).unwrap_or(client.len());
            prop_assert_eq!(record.client, if end == 0 { b"-" } else { &client[..end] });
            prop_assert_eq!(record.host, host(&host_field));
            prop_assert_eq!(record.time, if parts { read.filter(|t| t.clf().is_some()) } else { LogTime::parse_clf(&clf) });
            prop_assert_eq!(record.status, Some(&status).filter(|s| s.len() == 3).map(|s| s.parse().unwrap()));
            prop_assert_eq!(record.bytes, std::str::from_utf8(bytes).ok().filter(|b| !b.starts_with('+') && b.len() <= 20).and_then(|b| b.parse().ok()));

            let request = match request_field {
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
            buffer.push(&fields);
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn agrees_with_the_reader_of_times(text in "(20|99|00)[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{0,9})?(Z|[+-][0-2][0-9]:?[0-6][0-9]|z|)", at in 0_usize..40, byte: u8) {
            let mut text = text.into_bytes();
            let mut out = Vec::new();
            if iso_time_to_clf(&text, &mut out) {
                prop_assert_eq!(LogTime::parse_clf(&out), LogTime::parse_any_format(&text));
            }
            if let Some((time, date)) = text.get(11..19).zip(text.get(..10)) {
                let clf = iso_date_and_time_to_clf(date, time, &mut out).then(|| LogTime::parse_clf(&out)).flatten();
                prop_assert_eq!(clf, LogTime::parse_date_and_time(date, time));
            }
            if let Some(place) = text.get_mut(at) {
                *place = byte;
            }
            if iso_time_to_clf(&text, &mut out) {
                prop_assert_eq!(LogTime::parse_clf(&out), LogTime::parse_any_format(&text));
            }
        }
    }

    #[test]
    fn only_frequent_forms_are_converted() {
        for (text, expected) in [
            ("2026-11-02T08:01:00Z", Some("02/Nov/2026:08:01:00 +0000")),
            ("2026-11-02T08:01:00.000001-03:30", Some("02/Nov/2026:08:01:00 -0330")),
            ("2026-11-02T08:01:00+0100", Some("02/Nov/2026:08:01:00 +0100")),
            ("2026-11-02 08:01:00Z", None),
            ("2026-13-02T08:01:00Z", None),
            ("2026-11-02T08:01:00", None),
            ("2026-11-02T08:01:00.Z", None),
            ("", None),
        ] {
            let mut out = Vec::new();
            let written = iso_time_to_clf(text.as_bytes(), &mut out).then_some(&out[..]);
            assert_eq!(written, expected.map(str::as_bytes), "{text}");
        }
    }
}
