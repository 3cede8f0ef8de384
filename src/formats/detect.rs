//! Detects the format of a log from its first lines, for `probewatch formats` and messages. Also
//! recognizes other kinds of files, and the field of a forwarded client.
//!
//! A scan parses each line by itself and does not need this. Lines are read here exactly as a scan
//! reads them.

use std::sync::Arc;

use memchr::memchr;
use memchr::memmem::find;

use super::builtin::{DISCOVERED, FormatDefinition, FormatId, FormatReader, Formats};
use super::bytes::is_shaped;
use super::discover::Layout;
use super::line_prefix::LinePrefix;
use super::reader::{LineContext, LineKind, LogReader};
use super::{ClientPosition, FieldKind, Frame, Layouts, W3cHeader};
use crate::log::client::Client;

/// The formats of the first lines of a log.
#[derive(Debug, Clone, Default)]
pub(crate) struct Detected {
    /// The number of lines examined.
    pub lines: u64,
    /// The detected formats, the most frequent first.
    pub found: Vec<DetectedFormat>,
    /// The number of directive lines.
    pub own: u64,
    /// The number of lines in no known format.
    pub unread: u64,
    /// The first of those, and what it looks like.
    pub first_unread: Option<(Vec<u8>, Option<&'static str>)>,
}

/// A format of some lines.
#[derive(Debug, Clone)]
pub(crate) struct DetectedFormat {
    /// The format.
    pub format: FormatId,
    /// A more specific format of the same lines: `nginx_main` is `combined` with another field.
    pub exactly: Option<FormatId>,
    /// The writer of the prefix of each line.
    pub prefix: Option<LinePrefix>,
    /// The number of lines.
    pub lines: u64,
    /// The number of its first line, from 1.
    pub line: u64,
    /// The format string as a word of a shell, if the layout of the line was discovered.
    pub string: Option<String>,
    /// The fields of the first line.
    pub fields: Vec<SplitField>,
}

/// A field of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SplitField {
    /// As in the format: `$remote_addr`, `request.uri`, `cs-method`.
    pub name: String,
    /// Its meaning; `None` if it is not used.
    pub kind: Option<String>,
    /// Its text as logged.
    pub text: Vec<u8>,
}

/// Detects the formats of lines.
#[derive(Debug)]
pub(crate) struct Detector<'f> {
    context: LineContext<'f>,
    log_reader: LogReader,
    detected: Detected,
}

impl<'f> Detector<'f> {
    /// Creates a detector for these formats, the layouts discovered in the log, and lines up to
    /// `max_line` bytes.
    #[must_use]
    pub(crate) fn new(
        formats: &'f Formats,
        first: &'f [FormatId],
        layouts: Option<Arc<Layouts>>,
        max_line: usize,
    ) -> Self {
        let context = LineContext {
            formats,
            preferred: first,
            header: W3cHeader::None,
            layouts,
            clients: ClientPosition::Unknown,
            max_line,
        };
        Self {
            context,
            log_reader: LogReader::default(),
            detected: Detected::default(),
        }
    }

    /// Examines the next line, without its newline.
    pub(crate) fn push_line(&mut self, text: &[u8]) {
        if self.detected.lines == 0 {
            self.context.header = W3cHeader::from_log_start(text, self.context.max_line);
        }
        self.detected.lines += 1;
        let (read, _) = self.log_reader.line(text, &mut self.context);
        let clf = Frame::locate(text, None).map(|frame| FormatId(frame.format() as u8));
        match (read, clf) {
            (LineKind::Directive, _) => self.detected.own += 1,
            (
                LineKind::As(format)
                | LineKind::AsDoubtful(format)
                | LineKind::WithoutClient(format),
                _,
            )
            | (LineKind::AsIs, Some(format)) => {
                self.count(format, text, read == LineKind::AsIs);
            }
            (LineKind::AsIs, None) => {
                self.detected.unread += 1;
                self.detected
                    .first_unread
                    .get_or_insert_with(|| (text.to_vec(), recognize(text)));
            }
        }
    }

    /// Returns the result.
    #[must_use]
    pub(crate) fn finish(mut self) -> Detected {
        // The sort is stable: of equal counts, the first format stays first.
        self.detected
            .found
            .sort_by_key(|found| std::cmp::Reverse(found.lines));
        self.detected
    }

    fn count(&mut self, format: FormatId, text: &[u8], is_clf: bool) {
        let unwrapped = self.log_reader.unwrapped().filter(|_| !is_clf);
        let prefix = unwrapped.map(|(prefix, _)| prefix);
        let existing = self
            .detected
            .found
            .iter_mut()
            .find(|found| found.format == format && found.prefix == prefix);
        if let Some(found) = existing {
            found.lines += 1;
            return;
        }
        let inner = unwrapped.map_or(text, |(_, inner)| inner);
        let (exactly, fields) = self.split(format, inner);
        let line = self.detected.lines;
        let layout = self
            .context
            .layouts
            .iter()
            .flat_map(|layouts| layouts.all())
            .find(|layout| layout.parser().split(inner).is_some());
        let string = layout.filter(|_| format == DISCOVERED).map(Layout::word);
        self.detected.found.push(DetectedFormat {
            format,
            exactly,
            prefix,
            lines: 1,
            line,
            string,
            fields,
        });
    }

    /// The fields of a line, and the most specific format.
    fn split(&self, format: FormatId, text: &[u8]) -> (Option<FormatId>, Vec<SplitField>) {
        let formats = self.context.formats;
        match &formats.format(format).reader {
            FormatReader::Json => (
                by_marker(formats, text),
                formats
                    .json()
                    .split(text)
                    .map(from_json)
                    .unwrap_or_default(),
            ),
            FormatReader::Discovered => (
                None,
                self.context
                    .layouts
                    .iter()
                    .flat_map(|layouts| layouts.all())
                    .find_map(|layout| split(layout.parser(), text))
                    .unwrap_or_default(),
            ),
            FormatReader::W3c => (
                None,
                self.context
                    .header
                    .columns()
                    .and_then(|parser| split(parser, text))
                    .unwrap_or_default(),
            ),
            FormatReader::Strings(_) => (
                None,
                split_by_parsers(formats.format(format), text).unwrap_or_default(),
            ),
            FormatReader::Clf => {
                let split_fields = split_by_parsers(formats.format(format), text);
                let more = formats
                    .ids()
                    .filter(|id| formats.format(*id).is_clf && *id != format);
                let exactly = more
                    .into_iter()
                    .find_map(|id| Some((id, split_by_parsers(formats.format(id), text)?)));
                match (split_fields, exactly) {
                    (Some(split_fields), _) => (None, split_fields),
                    (None, Some((id, fields))) => (Some(id), fields),
                    (None, None) => (None, Vec::new()),
                }
            }
        }
    }
}

/// The product whose marker text is in the line.
fn by_marker(formats: &Formats, text: &[u8]) -> Option<FormatId> {
    let is_in_text = |marker: &String| find(text, marker.as_bytes()).is_some();
    formats
        .ids()
        .find(|id| formats.format(*id).marker.as_ref().is_some_and(is_in_text))
}

fn split_by_parsers(format: &FormatDefinition, text: &[u8]) -> Option<Vec<SplitField>> {
    format
        .parsers()
        .iter()
        .find_map(|parser| split(parser, text))
}

fn split(parser: &super::FormatLineParser, text: &[u8]) -> Option<Vec<SplitField>> {
    let split = |(name, kind, text): (&str, &FieldKind, Vec<u8>)| SplitField {
        name: name.to_owned(),
        kind: kind_name(kind),
        text,
    };
    Some(parser.split(text)?.into_iter().map(split).collect())
}

fn from_json(fields: Vec<(String, &[u8], FieldKind)>) -> Vec<SplitField> {
    let split = |(name, text, kind): (String, &[u8], FieldKind)| SplitField {
        name,
        kind: kind_name(&kind),
        text: text.to_vec(),
    };
    fields.into_iter().map(split).collect()
}

/// The name of a kind; that of a header is the header's name.
fn kind_name(kind: &FieldKind) -> Option<String> {
    match kind {
        FieldKind::Other => None,
        FieldKind::Header(name) => Some(format!("header {name}")),
        other => Some(other.as_str().to_owned()),
    }
}

/// What a line without a frame looks like; `None` if it is not recognized.
#[must_use]
pub(crate) fn recognize(line: &[u8]) -> Option<&'static str> {
    match line {
        [b'{', ..] => Some("JSON lines"),
        [b'#', rest @ ..]
            if rest.starts_with(b"Fields:")
                || rest.starts_with(b"Software:")
                || rest.starts_with(b"Version:") =>
        {
            Some("a W3C extended log")
        }
        _ if is_error_log(line) => Some("a server's error log"),
        _ if is_binary(line) => Some("binary data"),
        _ if find(line, b"] \"").is_some() => {
            Some("an access log after the prefix of another writer")
        }
        _ => None,
    }
}

/// Whether a line is from an nginx or Apache error log: `2026/11/02 08:01:00 [error] ...`,
/// `[Mon Nov 02 08:01:00.1 2026] [core:error] ...`.
#[must_use]
pub(crate) fn is_error_log(line: &[u8]) -> bool {
    // Other programs write a time and brackets too.
    let level = |text: &[u8]| {
        let name = text
            .split(|byte| *byte == b']')
            .next()
            .and_then(|name| name.rsplit(|byte| *byte == b':').next());
        name.is_some_and(|name| LEVELS.contains(&name) || name.starts_with(b"trace"))
    };
    if is_shaped(line, NGINX_ERROR) {
        return level(&line[NGINX_ERROR.len()..]);
    }
    is_shaped(line, b"[Aaa Aaa 00 00:00:00")
        && find(line, b"] [").is_some_and(|at| level(&line[at + 3..]))
}

/// The start of a line of an nginx error log, and the levels that follow.
const NGINX_ERROR: &[u8] = b"0000/00/00 00:00:00 [";
const LEVELS: [&[u8]; 8] = [
    b"emerg", b"alert", b"crit", b"error", b"warn", b"notice", b"info", b"debug",
];

/// The number of bytes that are examined for binary data.
const BINARY_HEAD: usize = 1024;
/// Too few bytes to decide: of this many random bytes, about seven are control characters.
const BINARY_LEAST: usize = 64;
/// Text is binary if more than one byte in this many is a control character. Random bytes have one
/// in nine, and text has none: nearly all servers escape what clients send, and otherwise some
/// lines parse.
const BINARY_SHARE: usize = 20;

/// Whether a file that starts with these lines is a report: its JSON, a table whose columns name
/// rules and severities, or its text. It may lie beside the logs, and its rows have the paths of
/// requests.
pub(crate) fn is_report(lines: &[u8]) -> bool {
    let header = lines
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    let has = |name: &[u8]| {
        header
            .split(|&byte| byte == b',')
            .any(|column| column == name)
    };
    let is_json = lines.starts_with(b"{\n  \"schema_version\"");
    let is_text = || find(lines, b"\nWHERE EACH LINE WENT\n").is_some();
    is_json || has(b"severity") && (has(b"rules") || has(b"rule")) || is_text()
}

/// Whether a text with this start is binary data. NUL bytes do not count, because logs may have
/// holes.
#[must_use]
pub(crate) fn is_binary(head: &[u8]) -> bool {
    let bytes = head.iter().take(BINARY_HEAD).filter(|byte| **byte != 0);
    let (mut all, mut controls) = (0, 0);
    for byte in bytes {
        all += 1;
        controls +=
            usize::from(matches!(byte, 1..=8 | 0x0b | 0x0c | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f));
    }
    all >= BINARY_LEAST && controls * BINARY_SHARE > all
}

/// The quoted fields of a combined line, which the client controls: request, referer and user
/// agent.
const OWN_FIELDS: usize = 3;

/// Counts of lines, and of those with addresses in a field for the forwarded client.
///
/// A proxy writes the field into every line. Any client can send it to a server without a proxy, so
/// single lines mean nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ForwardedLines {
    lines: u64,
    forwarded: u64,
}

impl ForwardedLines {
    /// The number of lines of a sample: a share of one half is seen with a standard error of 6 %.
    pub(crate) const SAMPLE: usize = 64;

    /// Counts this many lines that are evenly spread over these.
    pub(crate) fn in_sample(lines: &[u8], count: usize) -> Self {
        let (mut counts, mut next) = (Self::default(), 0);
        for number in 0..count {
            let from = (lines.len() / count * number).max(next);
            // The sample starts with the first line, and each other one after a newline.
            let Some(rest) = lines.get(from..) else { break };
            let is_start = from == next;
            let skipped = if is_start {
                0
            } else {
                memchr(b'\n', rest).map_or(rest.len(), |end| end + 1)
            };
            let rest = &rest[skipped..];
            let line = &rest[..memchr(b'\n', rest).unwrap_or(rest.len())];
            next = from + skipped + line.len() + 1;
            counts.count(line);
        }
        counts
    }

    fn count(&mut self, line: &[u8]) {
        let has_field = match line.first() {
            None | Some(b'#') => return,
            Some(b'{') => in_json(line),
            _ => in_quotes(line),
        };
        self.lines += 1;
        self.forwarded += u64::from(has_field);
    }

    /// Adds the counts of other lines.
    pub(crate) fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.forwarded += other.forwarded;
    }

    /// Whether more than half of the lines have the field.
    #[must_use]
    pub(crate) fn are_most(self) -> bool {
        self.forwarded * 2 > self.lines
    }
}

/// `"http_x_forwarded_for": "192.0.2.7, 10.0.0.1"`, under any key with this word.
fn in_json(line: &[u8]) -> bool {
    find(&line.to_ascii_lowercase(), b"forwarded").is_some() && super::json::has_forwarded(line)
}

/// `"192.0.2.7, 10.0.0.1"` after the user agent.
fn in_quotes(line: &[u8]) -> bool {
    let quoted = line
        .split(|&byte| byte == b'"')
        .skip(1)
        .step_by(2)
        .skip(OWN_FIELDS);
    let is_address = |part: &[u8]| Client::parse_address(part.trim_ascii()).is_some();
    quoted
        .into_iter()
        .any(|field| field.split(|&byte| byte == b',').all(is_address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_are_binary_and_text_is_not() {
        let mut state = 7_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        };
        let bytes: Vec<u8> = (0..2000).map(|_| random()).collect();
        assert!(is_binary(&bytes) && is_binary(&bytes[..300]));
        let with =
            |controls: usize, all: usize| [vec![1; controls], vec![b'x'; all - controls]].concat();
        assert!(is_binary(&with(4, 64)) && !is_binary(&with(63, 63)));
        assert!(is_binary(&with(52, 1024)) && !is_binary(&with(51, 1024)));
        // Later bytes and holes do not count.
        assert!(!is_binary(&[with(0, 1024), with(1000, 1000)].concat()));
        assert!(!is_binary(&[vec![0; 1000], with(3, 64)].concat()));
        let other = "Журнал: \t\x1b[31mошибка\x1b[0m\r\n".repeat(9);
        assert!(!is_binary(other.as_bytes()) && !is_binary(&[0xc6; 500]));
    }

    #[test]
    fn recognizes_other_logs() {
        for (line, name) in [
            (
                "2026/11/02 08:01:00 [error] 12#12: *1 open()",
                Some("a server's error log"),
            ),
            (
                "[Mon Nov 02 08:01:00.123456 2026] [core:error] [pid 1]",
                Some("a server's error log"),
            ),
            (r#"{"time":"2026"}"#, Some("JSON lines")),
            ("#Fields: date time", Some("a W3C extended log")),
            ("# a heading", None),
            ("hello", None),
        ] {
            assert_eq!(recognize(line.as_bytes()), name, "{line}");
        }
    }

    #[test]
    fn most_lines_of_a_proxied_log_have_addresses_after_the_user_agent() {
        let are_most = |lines: &str| {
            ForwardedLines::in_sample(lines.as_bytes(), ForwardedLines::SAMPLE).are_most()
        };
        let combined =
            r#"10.0.0.1 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x""#;
        for (suffix, has) in [
            ("", false),
            (r#" "-""#, false),
            (r#" "192.0.2.7""#, true),
            (r#" "192.0.2.7, 2001:db8::1" 0.004"#, true),
            (r#" 0.1 "upstream""#, false),
        ] {
            assert_eq!(are_most(&format!("{combined}{suffix}\n")), has, "{suffix}");
        }
        // Fields that the client controls do not count.
        assert!(!are_most(&combined.replace("\"x\"", "\"192.0.2.7\"")));
        for (line, has) in [
            (
                r#"{"remote_addr":"10.0.0.1","http_x_forwarded_for":"192.0.2.7"}"#,
                true,
            ),
            (
                r#"{"request":{"headers":{"X-Forwarded-For":["192.0.2.7"]}}}"#,
                true,
            ),
            (
                r#"{"remote_addr":"10.0.0.1","http_x_forwarded_for":"-","request":"GET / HTTP/1.1"}"#,
                false,
            ),
            (
                r#"{"remote_addr":"10.0.0.1","http_user_agent":"Forwarded: for=1.2.3.4"}"#,
                false,
            ),
            (
                r#"{"remote_addr":"10.0.0.1","http_user_agent":"\"forwarded\": \"1.2.3.4\""}"#,
                false,
            ),
            (r#"{"remote_addr":"10.0.0.1"}"#, false),
        ] {
            assert_eq!(are_most(line), has, "{line}");
        }
    }

    #[test]
    fn half_of_the_lines_are_not_most() {
        let (with, without) = (
            r#"1.1.1.1 - - [t] "GET / HTTP/1.1" 200 1 "-" "x" "192.0.2.7""#,
            r#"1.1.1.1 - - [t] "GET / HTTP/1.1" 200 1 "-" "x" "-""#,
        );
        let log = |forwarded: usize, all: usize| -> String {
            (0..all)
                .flat_map(|n| [if n < forwarded { with } else { without }, "\n"])
                .collect()
        };
        for (forwarded, all, are_most) in [
            (1, 1, true),
            (1, 2, false),
            (2, 3, true),
            (10, 20, false),
            (20, 64, false),
            (33, 64, true),
            (400, 1000, false),
            (700, 1000, true),
        ] {
            assert_eq!(
                ForwardedLines::in_sample(log(forwarded, all).as_bytes(), ForwardedLines::SAMPLE)
                    .are_most(),
                are_most,
                "{forwarded} of {all}"
            );
        }
        let mut sum = ForwardedLines::in_sample(log(30, 30).as_bytes(), ForwardedLines::SAMPLE);
        sum.add(ForwardedLines::in_sample(
            log(0, 30).as_bytes(),
            ForwardedLines::SAMPLE,
        ));
        assert!(!sum.are_most() && !ForwardedLines::default().are_most());
    }
}
