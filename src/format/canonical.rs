//! Writes down again what a line of any format says, as a line that [`Frame`](super::Frame) reads.
//!
//! ```text
//! [host:80 ]client - - [time] "request" status bytes "referer" "agent"
//! ```
//!
//! An attacker writes most of it, so nothing of a field may end that field: a bare quote, a newline, a backslash at the
//! end, a space in an address. What is missing is written in a form that has the same length as what is usual, because
//! the fast way through a line counts bytes: a time of dashes, `---` for a status. Nothing is decoded.

use super::{Asked, Escapes, Fields, When};
use crate::time::{CLF_TIME_LEN, LogTime};

/// What stands for a time that is not known.
const NO_TIME: &[u8; CLF_TIME_LEN] = b"--/---/----:--:--:-- -----";

/// What stands for a status that is not known.
const NO_STATUS: &[u8; 3] = b"---";

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

/// More digits than any number of bytes has.
const MAX_DIGITS: usize = 20;

/// Writes fields as a line of `combined`, or `vhost_combined` where a host is known, without a newline, behind what is
/// in `line` already.
pub fn write(fields: &Fields<'_>, line: &mut Vec<u8>) {
    write_host(fields.host, line);
    let start = line.len();
    line.extend_from_slice(fields.client);
    let end = line.len();
    write_time(fields.time, line);
    if !is_address(line, start, end) {
        line.truncate(start);
        write_rare_client(fields.client, line);
        write_time(fields.time, line);
    }
    let start = line.len();
    let mut ends_badly = false;
    write_texts(fields, line, |text, line| {
        line.extend_from_slice(text);
        ends_badly |= line.ends_with(b"\\");
    });
    // The copy is looked at: a file may change between two looks.
    if ends_badly || !is_clean(&line[start..], fields.escapes) {
        line.truncate(start);
        write_texts(fields, line, |text, line| write_escaped(text, fields.escapes, line));
    }
}

/// All that follows the time; `write` writes a text between its quotes.
#[inline]
fn write_texts(fields: &Fields<'_>, line: &mut Vec<u8>, mut write: impl FnMut(&[u8], &mut Vec<u8>)) {
    match fields.asked {
        Asked::Line(request) => write(request, line),
        Asked::Parts { method, target, query, protocol } => {
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
    line.extend_from_slice(b"\" ");
    write_status(fields.status, line);
    line.push(b' ');
    write_bytes(fields.bytes, line);
    line.extend_from_slice(b" \"");
    write(dash_for_nothing(fields.referer), line);
    line.extend_from_slice(b"\" \"");
    write(dash_for_nothing(fields.user_agent), line);
    line.push(b'"');
}

fn dash_for_nothing(header: &[u8]) -> &[u8] {
    if header.is_empty() { b"-" } else { header }
}

/// Whether no byte of a text ends it: the only quotes are those of the line itself. Written so that many bytes are looked at at
/// once.
#[inline]
fn is_clean(texts: &[u8], escapes: Escapes) -> bool {
    const QUOTES: usize = 5;
    let meant = if escapes == Escapes::None { b'\\' } else { b'\n' };
    let (mut quotes, mut others) = (0, 0);
    for chunk in texts.chunks(usize::from(u8::MAX)) {
        let (q, o) = chunk.iter().fold((0_u8, 0_u8), |(quotes, others), &b| {
            (quotes + u8::from(b == b'"'), others | u8::from(b == b'\n') | u8::from(b == meant))
        });
        quotes += usize::from(q);
        others |= o;
    }
    quotes == QUOTES && others == 0
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
            line.extend_from_slice(b":80 ");
        }
    }
}

/// Whether what stands in the line from `start` to `end` has no byte that no address has, sixteen bytes at a time: something longer
/// stands behind.
#[inline]
fn is_address(line: &[u8], start: usize, end: usize) -> bool {
    let harmless = |at| line.get(at..).and_then(<[u8]>::first_chunk).is_some_and(|text| is_harmless(*text, end - at));
    start < end && (start..end).step_by(16).all(harmless)
}

/// Whether none of the first bytes is a space, a control or a quote.
#[inline]
fn is_harmless(text: [u8; 16], length: usize) -> bool {
    const ONES: u128 = u128::MAX / 255;
    const HIGH: u128 = ONES << 7;
    // What stands behind counts as a harmless byte.
    let inside = 1_u128.checked_shl(8 * length as u32).unwrap_or(0).wrapping_sub(1);
    let text = u128::from_le_bytes(text) & inside | (ONES * u128::from(b'0')) & !inside;
    let has_zero = |bytes: u128| bytes.wrapping_sub(ONES) & !bytes & HIGH;
    let has_low = text.wrapping_sub(ONES * 0x21) & !text & HIGH;
    has_low | has_zero(text ^ (ONES * u128::from(b'"'))) | has_zero(text ^ (ONES * 0x7f)) == 0
}

/// The address up to the first byte that none has.
#[cold]
fn write_rare_client(client: &[u8], line: &mut Vec<u8>) {
    let start = line.len();
    line.extend_from_slice(client);
    if let Some(end) = line[start..].iter().position(|b| matches!(b, 0..=b' ' | b'"' | 0x7f)) {
        line.truncate(start + end);
    }
    if line.len() == start {
        line.push(b'-');
    }
}

/// The time in its brackets, and what stands before and behind them.
#[inline]
fn write_time(time: When<'_>, line: &mut Vec<u8>) {
    line.extend_from_slice(b" - - [");
    match time {
        When::Clf(text) => line.extend_from_slice(<&[u8; CLF_TIME_LEN]>::try_from(text).unwrap_or(NO_TIME)),
        When::Read(time) => line.extend_from_slice(&time.and_then(LogTime::clf).unwrap_or(*NO_TIME)),
    }
    let fits = |b: &u8| matches!(b, b' ' | b'!' | b'#'..=b'Z' | b'a'..=b'z');
    if let Some(copy) = line.last_chunk_mut::<CLF_TIME_LEN>()
        && !copy.iter().fold(true, |fit, b| fit & fits(b))
    {
        *copy = *NO_TIME;
    }
    line.extend_from_slice(b"] \"");
}

/// A status has three digits, or it is none.
#[inline]
fn write_status(status: &[u8], line: &mut Vec<u8>) {
    line.extend_from_slice(<&[u8; 3]>::try_from(status).unwrap_or(NO_STATUS));
    if let Some(copy) = line.last_chunk_mut::<3>()
        && !copy.iter().all(u8::is_ascii_digit)
    {
        *copy = *NO_STATUS;
    }
}

#[inline]
fn write_bytes(bytes: &[u8], line: &mut Vec<u8>) {
    let start = line.len();
    line.extend_from_slice(bytes.get(..MAX_DIGITS).unwrap_or(bytes));
    if bytes.len() > MAX_DIGITS || !is_number(&line[start..]) {
        line.truncate(start);
        line.push(b'-');
    }
}

/// Whether a text is digits and nothing else; without a loop where it is as long as most are.
#[inline]
fn is_number(text: &[u8]) -> bool {
    let are_digits = |four: u32| (four.wrapping_add(0x4646_4646) | four.wrapping_sub(0x3030_3030)) & 0x8080_8080 == 0;
    match (text, text.first_chunk(), text.last_chunk()) {
        ([_, _, _, _, ..], Some(first), Some(last)) if text.len() <= 8 => {
            are_digits(u32::from_le_bytes(*first)) && are_digits(u32::from_le_bytes(*last))
        }
        ([a], ..) => a.is_ascii_digit(),
        ([a, b], ..) => a.is_ascii_digit() & b.is_ascii_digit(),
        ([a, b, c], ..) => a.is_ascii_digit() & b.is_ascii_digit() & c.is_ascii_digit(),
        _ => !text.is_empty() && text.iter().all(u8::is_ascii_digit),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Frame, LogFormat};
    use crate::normalize::unescape;
    use proptest::prelude::*;

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
            time: When::Clf(b"02/Nov/2026:08:01:00 +0000"),
            asked: Asked::Parts { method: b"GET", target: b"/a", query: b"b=1", protocol: b"HTTP/1.1" },
            status: b"200",
            bytes: b"5",
            referer: b"",
            user_agent: b"curl/8",
            ..Fields::default()
        };
        let common = r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /a?b=1 HTTP/1.1" 200 5 "-" "curl/8""#;
        assert_eq!(line(&fields), format!("example.org:80 {common}"));
        assert_eq!(line(&Fields { host: b"-", ..fields }), common);
        let time = When::Read(LogTime::parse_clf(b"02/Nov/2026:08:01:00 +0000"));
        assert_eq!(line(&Fields { host: b"a b", time, ..fields }), common);
    }

    #[test]
    fn what_is_missing_keeps_its_place() {
        let empty = r#"- - - [--/---/----:--:--:-- -----] "" --- - "-" "-""#;
        assert_eq!(line(&Fields::default()), empty);
        let hostile = Fields {
            client: b"a\"b",
            time: When::Clf(b"] \"GET /evil HTTP/1.1\" 200 1"),
            status: b"20",
            bytes: b"123456789012345678901",
            asked: Asked::Parts { method: b"", target: b"/a", query: b"", protocol: b"HTTP/1.0" },
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
            let fields = Fields { asked: Asked::Line(text), escapes, ..Fields::default() };
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
            let asked = if parts { Asked::Parts { method, target, query, protocol } } else { Asked::Line(target) };
            let time = if parts { When::Read(read) } else { When::Clf(&clf) };
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
                Asked::Line(line) => sent(line, escapes),
                Asked::Parts { .. } => {
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
            prop_assert_eq!(frame.format(frame.headers()), format);
        }
    }
}
