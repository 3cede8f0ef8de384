//! Prefixes that other programs write before a log line: syslog, docker, the Kubernetes container runtime.
//!
//! Only finds the log line after the prefix; the prefix itself is not interpreted. Sources: RFC 3164 and RFC 5424,
//! docs.docker.com/engine/logging/drivers/json-file, the Kubernetes CRI log format (kubernetes/design-proposals:
//! kubelet-cri-logging).

use memchr::memchr;
use memchr::memmem::find;

/// The writer of a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinePrefix {
    /// A syslog daemon.
    Syslog,
    /// A Kubernetes container runtime: `2026-11-02T08:01:00.669794202Z stdout F `.
    Cri,
    /// The `json-file` driver of docker: `{"log":"...\n","stream":"stdout","time":"..."}`.
    Docker,
}

impl LinePrefix {
    /// The name for messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Syslog => "syslog",
            Self::Cri => "a container runtime (CRI)",
            Self::Docker => "docker (json-file)",
        }
    }
}

/// The log line after a prefix, and the writer of the prefix. A line that must be unescaped is written to `buffer`.
#[must_use]
pub(crate) fn strip_prefix<'a>(line: &'a [u8], buffer: &'a mut Vec<u8>) -> Option<(LinePrefix, &'a [u8])> {
    match line.first()? {
        b'{' => unescaped(line, buffer).then_some((LinePrefix::Docker, buffer.as_slice())),
        b'<' => Some((LinePrefix::Syslog, after_priority(line)?)),
        b'0'..=b'9' => after_cri(line).map(|line| (LinePrefix::Cri, line)).or_else(|| Some((LinePrefix::Syslog, after_iso(line)?))),
        b'A'..=b'Z' => Some((LinePrefix::Syslog, after_bsd(line)?)),
        _ => None,
    }
}

/// `<190>Nov  2 08:01:00 web nginx: ` of RFC 3164, `<190>1 2026-11-02T08:01:00Z web nginx - - - ` of RFC 5424.
fn after_priority(line: &[u8]) -> Option<&[u8]> {
    let close = line.iter().take(5).position(|&b| b == b'>')?;
    let digits = &line[1..close];
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let rest = &line[close + 1..];
    match rest.strip_prefix(b"1 ") {
        Some(rest) => after_structured(rest),
        // The time may be missing: `<190>nginx: `.
        None => after_bsd(rest).or_else(|| after_iso(rest)).or_else(|| after_tag(rest)),
    }
}

/// Skips time, host, app, process, message ID and structured data of RFC 5424, and an optional UTF-8 byte-order mark.
fn after_structured(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line;
    for _ in 0..5 {
        rest = after_word(rest)?;
    }
    let message = match rest {
        [b'-', b' ', message @ ..] => message,
        [b'[', ..] => after_elements(rest)?,
        _ => return None,
    };
    Some(message.strip_prefix(b"\xef\xbb\xbf").unwrap_or(message))
}

/// Skips `[id name="value" ...][...] `; quotes, backslashes and brackets in values are escaped.
fn after_elements(mut rest: &[u8]) -> Option<&[u8]> {
    while rest.first() == Some(&b'[') {
        let (mut quoted, mut escaped) = (false, false);
        let close = rest.iter().position(|&b| {
            let is_end = b == b']' && !quoted;
            quoted ^= b == b'"' && !escaped;
            escaped = b == b'\\' && !escaped;
            is_end
        })?;
        rest = &rest[close + 1..];
    }
    rest.strip_prefix(b" ")
}

/// `Nov  2 08:01:00 web nginx[12]: `.
fn after_bsd(line: &[u8]) -> Option<&[u8]> {
    const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let (stamp, rest) = line.split_at_checked(16)?;
    let is_month = MONTHS.chunks(3).any(|month| stamp.starts_with(month));
    let is_time = is_shaped(&stamp[3..], b" d0 00:00:00 ");
    (is_month && is_time).then(|| after_tag(after_word(rest)?))?
}

/// `2026-11-02T08:01:00.123456+00:00 web nginx: `, as rsyslog writes it to files since 2022.
fn after_iso(line: &[u8]) -> Option<&[u8]> {
    is_shaped(line, b"0000-00-00T00:00:00").then(|| after_tag(after_word(after_word(line)?)?))?
}

/// `nginx: `, `nginx[12]: `: a word that ends in a colon.
fn after_tag(line: &[u8]) -> Option<&[u8]> {
    let space = memchr(b' ', line.get(..line.len().min(80))?)?;
    (space > 1 && line[space - 1] == b':').then(|| &line[space + 1..])
}

/// `2026-11-02T08:01:00.669794202Z stdout F `; `P` marks a partial line.
fn after_cri(line: &[u8]) -> Option<&[u8]> {
    if !is_shaped(line, b"0000-00-00T00:00:00") {
        return None;
    }
    let rest = after_word(line)?;
    let rest = rest.strip_prefix(b"stdout ").or_else(|| rest.strip_prefix(b"stderr "))?;
    rest.strip_prefix(b"F ").or_else(|| rest.strip_prefix(b"F:").and_then(after_word))
}

fn after_word(line: &[u8]) -> Option<&[u8]> {
    let space = memchr(b' ', line)?;
    (space > 0).then(|| &line[space + 1..])
}

/// Whether a line starts like `shape`, where `0` is any digit and `d` a digit or a space.
fn is_shaped(line: &[u8], shape: &[u8]) -> bool {
    line.len() >= shape.len()
        && line.iter().zip(shape).all(|(b, s)| match s {
            b'0' => b.is_ascii_digit(),
            b'd' => b.is_ascii_digit() || *b == b' ',
            other => b == other,
        })
}

/// Unescapes the text of `"log"` into `buffer`; `false` if there is none or it is not a single line.
fn unescaped(line: &[u8], buffer: &mut Vec<u8>) -> bool {
    const START: &[u8] = b"{\"log\":\"";
    buffer.clear();
    let Some(text) = line.strip_prefix(START) else { return false };
    // The driver's own keys follow, which distinguishes it from other objects with a key `log`.
    let Some(end) = quoted_end(text).filter(|end| find(&text[*end..], b"\"time\":").is_some()) else { return false };
    if !unescape(&text[..end], buffer) {
        return false;
    }
    for ending in [b'\n', b'\r'] {
        if buffer.last() == Some(&ending) {
            buffer.pop();
        }
    }
    memchr(b'\n', buffer).is_none()
}

/// The length of a JSON string after its opening quote.
fn quoted_end(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Undoes JSON escapes; `false` if there are invalid ones.
fn unescape(text: &[u8], buffer: &mut Vec<u8>) -> bool {
    let mut rest = text;
    while let Some(backslash) = memchr(b'\\', rest) {
        buffer.extend_from_slice(&rest[..backslash]);
        let Some((escaped, after)) = escape(&rest[backslash + 1..]) else { return false };
        let mut utf_8 = [0; 4];
        buffer.extend_from_slice(escaped.encode_utf8(&mut utf_8).as_bytes());
        rest = after;
    }
    buffer.extend_from_slice(rest);
    true
}

/// The character of an escape after its backslash, and the rest. Half a surrogate pair is a replacement character.
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
    Some((char::from_u32(u32::from(high)).unwrap_or(char::REPLACEMENT_CHARACTER), rest))
}

fn unit(text: &[u8]) -> Option<(u16, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    Some((u16::from_str_radix(digits, 16).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use crate::formats::line_prefix::*;
    use proptest::prelude::*;

    const LINE: &str = r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /?q=\"a\" HTTP/1.1" 200 612 "-" "curl/8""#;

    #[test]
    fn the_line_after_a_prefix_is_found() {
        for (before, prefix) in [
            ("<190>Nov  2 08:01:00 web nginx: ", LinePrefix::Syslog),
            ("<190>Nov 12 08:01:00 web nginx[12]: ", LinePrefix::Syslog),
            ("<14>nginx: ", LinePrefix::Syslog),
            ("Nov  2 08:01:00 web haproxy[4096]: ", LinePrefix::Syslog),
            ("2026-11-02T08:01:00.123456+00:00 web nginx: ", LinePrefix::Syslog),
            ("<190>2026-11-02T08:01:00Z web nginx: ", LinePrefix::Syslog),
            ("<190>1 2026-11-02T08:01:00Z web nginx - - - ", LinePrefix::Syslog),
            ("<190>1 2026-11-02T08:01:00Z web nginx 12 - [a b=\"x]\\\"\"][c] \u{feff}", LinePrefix::Syslog),
            ("2026-11-02T08:01:00.669794202Z stdout F ", LinePrefix::Cri),
            ("2026-11-02T08:01:00.669794202+01:00 stderr F ", LinePrefix::Cri),
        ] {
            let line = format!("{before}{LINE}");
            assert_eq!(strip_prefix(line.as_bytes(), &mut Vec::new()), Some((prefix, LINE.as_bytes())), "{line}");
        }
    }

    #[test]
    fn docker_wraps_a_line_in_json() {
        let log = serde_json::to_string(&format!("{LINE}\n")).unwrap();
        let line = format!(r#"{{"log":{log},"stream":"stdout","time":"2026-11-02T08:01:00.669794202Z"}}"#);
        assert_eq!(strip_prefix(line.as_bytes(), &mut Vec::new()), Some((LinePrefix::Docker, LINE.as_bytes())));
    }

    #[test]
    fn other_lines_have_no_prefix() {
        for line in [
            LINE,
            "",
            "Nov",
            "November was cold: ",
            "<>Nov  2 08:01:00 web nginx: x",
            "2026-11-02T08:01:00.669794202Z stdout P half a li",
            r#"{"log":"a","level":"info"}"#,
            r#"{"log":"a\nb","stream":"stdout","time":"x"}"#,
            r#"{"log":"cut\"#,
            "Nov  2 08:01:00",
            "Nov  2 08:01:00 web no tag",
        ] {
            assert_eq!(strip_prefix(line.as_bytes(), &mut Vec::new()), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn docker_lines_are_unwrapped(text in "[^\n\r]{0,80}") {
            let line = format!(r#"{{"log":{},"stream":"stdout","time":"x"}}"#, serde_json::to_string(&(text.clone() + "\n")).unwrap());
            let mut buffer = Vec::new();
            prop_assert_eq!(strip_prefix(line.as_bytes(), &mut buffer), Some((LinePrefix::Docker, text.as_bytes())));
        }

        #[test]
        fn any_bytes_are_accepted(start in prop::sample::select(vec!["<1>", "<190>1 ", "Nov  2 08:01:00 ", "{\"log\":\"", "2026-11-02T08:01:00"]), rest: Vec<u8>) {
            let line = [start.as_bytes(), &rest].concat();
            let _ = strip_prefix(&line, &mut Vec::new());
        }
    }
}
