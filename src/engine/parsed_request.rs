//! A parsed request and its shape, as rules see it.
//!
//! It borrows from the line and decodes nothing.

use super::candidates::each_candidate;
use crate::log::log_entry::{LogEntry, RequestLine, is_known_method};
use crate::rules::RequestShape;
use crate::text::normalize::PathReading;
use crate::text::short_bytes::is_printable_ascii;

/// A parsed request, as rules see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParsedRequest<'a> {
    /// The parsed request line, as logged.
    pub line: RequestLine<'a>,
    /// The whole request line.
    pub request: &'a [u8],
    /// Its shape, if it is unusual.
    pub shape: Option<RequestShape>,
    /// The status code.
    pub status: Option<u16>,
    /// The referer as logged.
    pub referer: Option<&'a [u8]>,
    /// The user agent as logged.
    pub user_agent: Option<&'a [u8]>,
}

impl<'a> ParsedRequest<'a> {
    /// The request of a log entry.
    #[must_use]
    pub(crate) fn new(record: &LogEntry<'a>) -> Self {
        let line = RequestLine::parse(record.request);
        let of_line = shape(&line).filter(|shape| {
            *shape != RequestShape::NoMethod || !is_method_left_out(&line, record.status)
        });
        Self {
            line,
            request: record.request,
            shape: of_line
                .or_else(|| is_refused_login(record).then_some(RequestShape::RefusedLogin)),
            status: record.status,
            referer: record.referer,
            user_agent: record.user_agent,
        }
    }

    /// The request with its path read in another way; `None` if that is the same path. `buffer` is
    /// for its text.
    #[must_use]
    pub(super) fn read_as<'t>(
        &self,
        reading: PathReading,
        buffer: &'t mut Vec<u8>,
    ) -> Option<ParsedRequest<'t>>
    where
        'a: 't,
    {
        let RequestLine {
            method,
            target,
            protocol,
        } = self.line;
        // Files are changed by the paths of interfaces, which follow a script:
        // `PUT /index.php/notes/1`.
        if reading == PathReading::PathInfo && !matches!(method, b"GET" | b"HEAD" | b"POST") {
            return None;
        }
        // A request without a method is only a target.
        let start = if method.is_empty() {
            0
        } else {
            method.len() + 1
        };
        let target = reading.rewrite(self.request, start..start + target.len(), buffer)?;
        let request = &buffer[..];
        Some(ParsedRequest {
            line: RequestLine {
                method,
                target: &request[target],
                protocol,
            },
            request,
            ..*self
        })
    }

    /// A request in an unparsed line. It has no shape: else each line of an error log would be a
    /// request without a method.
    #[must_use]
    pub(crate) fn from_raw(text: &'a [u8]) -> Self {
        Self {
            line: RequestLine::parse(text),
            request: text,
            shape: None,
            status: None,
            referer: None,
            user_agent: None,
        }
    }

    /// The requests in an unparsed line: `take` gets each.
    pub(crate) fn each_in(text: &[u8], mut take: impl FnMut(&ParsedRequest<'_>)) {
        each_candidate(text, &mut Vec::new(), |request, status| {
            take(&ParsedRequest {
                status,
                ..ParsedRequest::from_raw(request)
            });
        });
    }
}

/// The shape of a request; `None` for ordinary requests and for empty ones, which clients leave
/// that close the connection.
fn shape(line: &RequestLine<'_>) -> Option<RequestShape> {
    if line.target.first() == Some(&b'/') && !line.method.is_empty() {
        return (!is_known_method(line.method)).then_some(RequestShape::UnknownMethod);
    }
    if line.method.is_empty() {
        return match line.target {
            b"" | b"-" => None,
            text if !is_printable_ascii(text) || holds_escape(text) => Some(RequestShape::Binary),
            _ => Some(RequestShape::NoMethod),
        };
    }
    let scheme = memchr::memmem::find(line.target, b"://")
        .filter(|&scheme| scheme > 0)
        .map(|scheme| &line.target[..scheme]);
    if scheme.is_some_and(|name| {
        name.iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    }) {
        return Some(RequestShape::Absolute);
    }
    // Words of which the first could be a method: `name Yarn`, `DELETE your logs`.
    let is_text = line.protocol.is_empty()
        && (!is_known_method(line.method) || memchr::memchr(b' ', line.target).is_some());
    is_text.then_some(RequestShape::NoMethod)
}

/// Whether the format has no method, as the answer shows: a server refuses a request line that is
/// only a path, since HTTP/1.0 (RFC 1945, section 4.1) with the status 400. Others refuse it with
/// 405, 501 or 505, or close the connection.
fn is_method_left_out(line: &RequestLine<'_>, status: Option<u16>) -> bool {
    let is_refused = matches!(
        status,
        None | Some(..=199 | 400 | 405 | 408 | 444 | 499 | 501 | 505)
    );
    line.method.is_empty()
        && !is_refused
        && (line.target.starts_with(b"/") || memchr::memmem::find(line.target, b"://").is_some())
}

/// Whether the client sent a user name, and the server refused it or its password.
pub(super) fn is_refused_login(record: &LogEntry<'_>) -> bool {
    record.status == Some(401) && record.user.is_some()
}

/// Whether the log writer escaped an unprintable byte: `\x16`, or `\n` as Apache writes it.
fn holds_escape(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        rest = &rest[at + 1..];
        let is_escape = match rest {
            [b'x', high, low, ..] | [b'u', b'0', b'0', high, low, ..] => {
                is_unprintable(*high, *low)
            }
            [b'n' | b'r' | b't' | b'v' | b'b' | b'f', ..] => true,
            _ => false,
        };
        if is_escape {
            return true;
        }
        // The text after a literal backslash is no escape.
        rest = rest.strip_prefix(b"\\").unwrap_or(rest);
    }
    false
}

/// Whether two hexadecimal digits are a byte outside of printable ASCII.
fn is_unprintable(high: u8, low: u8) -> bool {
    matches!(high, b'0' | b'1' | b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F')
        || (high == b'7' && matches!(low, b'f' | b'F'))
}
