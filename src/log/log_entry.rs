//! A request and its response as logged.
//!
//! Plain data: borrowed bytes, not decoded. A field that could not be read is `None`.

use std::fmt;

use clap::ValueEnum;

use crate::log::time::LogTime;
use crate::text::short_bytes::append;

/// The fields of one line, borrowed from it. Text is as logged, with the log writer's escapes still
/// in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogEntry<'a> {
    /// The client address, as logged.
    pub client: &'a [u8],
    /// The virtual host without the port, if the format has one.
    pub host: Option<&'a [u8]>,
    /// The time of the log.
    pub time: Option<LogTime>,
    /// The quoted request line, `GET / HTTP/1.1`, or what the client sent instead.
    pub request: &'a [u8],
    /// The status code, if it has three digits.
    pub status: Option<u16>,
    /// Bytes sent, if the log has a number.
    pub bytes: Option<u64>,
    /// The `Referer` header, `None` if the log has `-` or no such field.
    pub referer: Option<&'a [u8]>,
    /// The `User-Agent` header, `None` if the log has `-` or no such field.
    pub user_agent: Option<&'a [u8]>,
    /// The user, `None` if the log has `-` or no such field. A client can send any name.
    pub user: Option<&'a [u8]>,
}

/// The fields that a stored entry may lack, as bits of its first byte.
mod present {
    pub(super) const HOST: u8 = 1;
    pub(super) const TIME: u8 = 1 << 1;
    pub(super) const STATUS: u8 = 1 << 2;
    pub(super) const BYTES: u8 = 1 << 3;
    pub(super) const REFERER: u8 = 1 << 4;
    pub(super) const USER_AGENT: u8 = 1 << 5;
    pub(super) const USER: u8 = 1 << 6;
}

/// The most bytes of what a stored entry has besides the lengths of texts and the texts.
const MAX_NUMBERS: usize =
    1 + size_of::<i64>() + size_of::<i16>() + size_of::<u16>() + size_of::<u64>();
/// The bytes of the length of a text.
const LENGTH: usize = size_of::<u32>();

impl<'a> LogEntry<'a> {
    /// Appends the entry to `out` in a form that [`restore`](Self::restore) reads without parsing:
    /// which fields are present, the numbers, the lengths of the texts, and the texts.
    pub fn store(&self, out: &mut Vec<u8>) {
        use present::{BYTES, HOST, REFERER, STATUS, TIME, USER, USER_AGENT};
        let optional = [
            (HOST, self.host),
            (REFERER, self.referer),
            (USER_AGENT, self.user_agent),
            (USER, self.user),
        ];
        let texts = || {
            [Some(self.client), Some(self.request)]
                .into_iter()
                .chain(optional.map(|(_, text)| text))
                .flatten()
        };
        // Every hit is stored: room for all is made once.
        out.reserve(MAX_NUMBERS + texts().map(|text| text.len() + LENGTH).sum::<usize>());
        let at = out.len();
        out.push(0);
        let mut bits = 0;
        if let Some(LogTime { utc, offset }) = self.time {
            bits |= TIME;
            out.extend_from_slice(&utc.to_le_bytes());
            out.extend_from_slice(&offset.to_le_bytes());
        }
        if let Some(status) = self.status {
            bits |= STATUS;
            out.extend_from_slice(&status.to_le_bytes());
        }
        if let Some(bytes) = self.bytes {
            bits |= BYTES;
            out.extend_from_slice(&bytes.to_le_bytes());
        }
        for (bit, _) in optional.iter().filter(|(_, text)| text.is_some()) {
            bits |= bit;
        }
        out[at] = bits;
        texts().for_each(|text| out.extend_from_slice(&(text.len() as u32).to_le_bytes()));
        // The bytes of a memory map may change, their number does not.
        texts().for_each(|text| append(out, text));
    }

    /// Reads an entry that [`store`](Self::store) wrote. `None` if it was not.
    #[must_use]
    pub fn restore(stored: &'a [u8]) -> Option<Self> {
        use present::{BYTES, HOST, REFERER, STATUS, TIME, USER, USER_AGENT};
        let (&[bits], mut rest) = stored.split_first_chunk()?;
        let mut entry = Self::default();
        if bits & TIME != 0 {
            let utc = i64::from_le_bytes(take(&mut rest)?);
            entry.time = Some(LogTime {
                utc,
                offset: i16::from_le_bytes(take(&mut rest)?),
            });
        }
        if bits & STATUS != 0 {
            entry.status = Some(u16::from_le_bytes(take(&mut rest)?));
        }
        if bits & BYTES != 0 {
            entry.bytes = Some(u64::from_le_bytes(take(&mut rest)?));
        }
        let mut lengths = [None; 6];
        let is_present = [true, true]
            .into_iter()
            .chain([HOST, REFERER, USER_AGENT, USER].map(|field| bits & field != 0));
        for (length, _) in lengths
            .iter_mut()
            .zip(is_present)
            .filter(|(_, is_present)| *is_present)
        {
            *length = Some(u32::from_le_bytes(take(&mut rest)?) as usize);
        }
        let mut texts = [None; 6];
        for (text, length) in texts.iter_mut().zip(lengths) {
            if let Some(length) = length {
                let (first, after) = rest.split_at_checked(length)?;
                (*text, rest) = (Some(first), after);
            }
        }
        let [client, request, host, referer, user_agent, user] = texts;
        Some(Self {
            client: client?,
            request: request?,
            host,
            referer,
            user_agent,
            user,
            ..entry
        })
    }
}

/// Takes bytes from the start of a text.
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*first)
}

/// A parsed request line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestLine<'a> {
    /// `GET`; empty if the request has no method.
    pub method: &'a [u8],
    /// The request target as logged; the whole request if it has no method.
    pub target: &'a [u8],
    /// `HTTP/1.1`; empty if there is none.
    pub protocol: &'a [u8],
}

impl<'a> RequestLine<'a> {
    /// Parses a request line. A target may contain spaces: the method ends at the first space, the
    /// protocol begins at the last ` HTTP/`.
    #[must_use]
    pub(crate) fn parse(request: &'a [u8]) -> Self {
        let no_method = Self {
            method: b"",
            target: request,
            protocol: b"",
        };
        let Some(space) = memchr::memchr(b' ', &request[..request.len().min(MAX_METHOD + 1)])
        else {
            return no_method;
        };
        let method = &request[..space];
        if method.is_empty()
            || !method
                .iter()
                .all(|b| b.is_ascii_alphabetic() || matches!(b, b'-' | b'_'))
        {
            return no_method;
        }
        let rest = &request[space + 1..];
        match protocol_at(rest) {
            Some(end) => Self {
                method,
                target: &rest[..end],
                protocol: &rest[end + 1..],
            },
            None if rest.starts_with(b"HTTP/") => Self {
                method,
                target: b"",
                protocol: rest,
            },
            None => match unusual_protocol(rest) {
                Some(start) => Self {
                    method,
                    target: &rest[..start - 1],
                    protocol: &rest[start..],
                },
                None => Self {
                    method,
                    target: rest,
                    protocol: b"",
                },
            },
        }
    }

    /// Whether the target has a query.
    #[must_use]
    pub(crate) fn has_query(&self) -> bool {
        memchr::memchr(b'?', self.target).is_some()
    }

    /// Bytes of the target as sent beyond those of its path as resolved, at most 255: a query, and
    /// what encoding adds.
    #[must_use]
    pub(crate) fn len_beyond(&self, path: &[u8]) -> u8 {
        u8::try_from(self.target.len().saturating_sub(path.len())).unwrap_or(u8::MAX)
    }
}

/// Whether a method is in the IANA registry (<https://www.iana.org/assignments/http-methods>), or
/// in common use without registration: caches, devices, mail servers, RPC over HTTP, BITS.
#[must_use]
pub(crate) fn is_known_method(method: &[u8]) -> bool {
    const METHODS: [&str; 60] = [
        "GET",
        "POST",
        "HEAD",
        "OPTIONS",
        "PUT",
        "DELETE",
        "PATCH",
        "CONNECT",
        "TRACE",
        "PROPFIND",
        "PROPPATCH",
        "REPORT",
        "MKCOL",
        "COPY",
        "MOVE",
        "LOCK",
        "UNLOCK",
        "SEARCH",
        "ACL",
        "BASELINE-CONTROL",
        "BIND",
        "CHECKIN",
        "CHECKOUT",
        "LABEL",
        "LINK",
        "MERGE",
        "MKACTIVITY",
        "MKCALENDAR",
        "MKREDIRECTREF",
        "MKWORKSPACE",
        "ORDERPATCH",
        "PRI",
        "QUERY",
        "REBIND",
        "UNBIND",
        "UNCHECKOUT",
        "UNLINK",
        "UPDATE",
        "UPDATEREDIRECTREF",
        "VERSION-CONTROL",
        "PURGE",
        "BAN",
        "REFRESH",
        "NOTIFY",
        "SUBSCRIBE",
        "UNSUBSCRIBE",
        "M-SEARCH",
        "POLL",
        "BPROPFIND",
        "BPROPPATCH",
        "BCOPY",
        "BMOVE",
        "BDELETE",
        "RPC_IN_DATA",
        "RPC_OUT_DATA",
        "BITS_POST",
        "CCM_POST",
        "TRACK",
        "DEBUG",
        "SOURCE",
    ];
    METHODS.iter().any(|known| known.as_bytes() == method)
}

/// The position of the last ` HTTP/`.
fn protocol_at(rest: &[u8]) -> Option<usize> {
    // Nearly all requests end in one of these.
    if let [
        ..,
        b' ',
        b'H',
        b'T',
        b'T',
        b'P',
        b'/',
        b'0'..=b'9',
        b'.',
        b'0'..=b'9',
    ] = rest
    {
        return Some(rest.len() - 9);
    }
    memchr::memmem::rfind(rest, b" HTTP/")
}

/// The start of a protocol that few servers log: Apache accepts `http/1.1` if configured so, and
/// Hypercorn writes the version alone.
fn unusual_protocol(rest: &[u8]) -> Option<usize> {
    let start = memchr::memrchr(b' ', rest)? + 1;
    let is_protocol = match rest[start..].split_at_checked(5) {
        Some((name, version)) => {
            name.eq_ignore_ascii_case(b"HTTP/")
                && version.iter().all(|b| b.is_ascii_digit() || *b == b'.')
        }
        None => matches!(
            &rest[start..],
            b"1.0" | b"1.1" | b"2" | b"2.0" | b"3" | b"3.0"
        ),
    };
    is_protocol.then_some(start)
}

/// Longest method. `UPDATEREDIRECTREF`, the longest one in the IANA registry, has 17 letters.
const MAX_METHOD: usize = 24;

/// The kind of response that a method requests. Sizes can be compared only between responses with a
/// body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum MethodClass {
    /// GET, or a request without a method: the content of the path.
    #[default]
    Get,
    /// POST, PUT and PATCH: the result of a request body.
    Post,
    /// HEAD: no body.
    Head,
    /// OPTIONS and others: the response is unrelated to the content of the path.
    Other,
}

impl MethodClass {
    /// The class of a method as logged.
    #[must_use]
    pub fn from_method(method: &[u8]) -> Self {
        match method {
            b"GET" | b"" => Self::Get,
            b"POST" | b"PUT" | b"PATCH" => Self::Post,
            b"HEAD" => Self::Head,
            _ => Self::Other,
        }
    }

    /// The class with this number; [`Other`](Self::Other) for unknown numbers.
    #[must_use]
    pub fn from_u8(number: u8) -> Self {
        match number {
            0 => Self::Get,
            1 => Self::Post,
            2 => Self::Head,
            _ => Self::Other,
        }
    }

    /// The name of the class in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Head => "HEAD",
            Self::Other => "OTHER",
        }
    }
}

/// What the server answered, by status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
#[value(rename_all = "snake_case")]
#[repr(u8)]
pub enum Outcome {
    /// 2xx, 304.
    Answered,
    /// Other 3xx.
    Redirected,
    /// 401, 407.
    AuthRequired,
    /// 403, 405, 429, 444, 451.
    Denied,
    /// 404, 410.
    NotFound,
    /// Other 4xx.
    Rejected,
    /// 5xx.
    Error,
    /// 1xx, or no status.
    Unknown,
}

impl Outcome {
    /// All outcomes, in the order of reports.
    pub const ALL: [Self; 8] = [
        Self::Answered,
        Self::Redirected,
        Self::AuthRequired,
        Self::Denied,
        Self::NotFound,
        Self::Rejected,
        Self::Error,
        Self::Unknown,
    ];

    /// The outcome of a status code.
    #[must_use]
    pub fn from_status(status: Option<u16>) -> Self {
        match status {
            Some(200..=299 | 304) => Self::Answered,
            Some(300..=399) => Self::Redirected,
            Some(401 | 407) => Self::AuthRequired,
            Some(403 | 405 | 429 | 444 | 451) => Self::Denied,
            Some(404 | 410) => Self::NotFound,
            Some(400..=499) => Self::Rejected,
            Some(500..=599) => Self::Error,
            _ => Self::Unknown,
        }
    }

    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Redirected => "redirected",
            Self::AuthRequired => "auth_required",
            Self::Denied => "denied",
            Self::NotFound => "not_found",
            Self::Rejected => "rejected",
            Self::Error => "error",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::str::FromStr for Outcome {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|o| o.as_str() == word)
            .ok_or_else(|| {
                let words: Vec<_> = Self::ALL.iter().map(|o| o.as_str()).collect();
                format!(
                    "no outcome is called '{word}'; there are {}",
                    words.join(", ")
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parses_request_lines() {
        let cases: [(&str, [&str; 3]); 14] = [
            ("GET / HTTP/1.1", ["GET", "/", "HTTP/1.1"]),
            ("GET /a b HTTP/1.1", ["GET", "/a b", "HTTP/1.1"]),
            (
                "GET /a HTTP/1.1 HTTP/1.1",
                ["GET", "/a HTTP/1.1", "HTTP/1.1"],
            ),
            ("GET /a http/1.1", ["GET", "/a", "http/1.1"]),
            ("GET /a 1.1", ["GET", "/a", "1.1"]),
            ("GET /a 4", ["GET", "/a 4", ""]),
            ("GET /a http/<b>", ["GET", "/a http/<b>", ""]),
            ("GET /a http", ["GET", "/a http", ""]),
            ("GET /", ["GET", "/", ""]),
            ("GET HTTP/1.1", ["GET", "", "HTTP/1.1"]),
            ("GET", ["", "GET", ""]),
            ("", ["", "", ""]),
            (r"\x16\x03\x01 x", ["", r"\x16\x03\x01 x", ""]),
            (
                "MGLNDD_198.51.100.7_443",
                ["", "MGLNDD_198.51.100.7_443", ""],
            ),
        ];
        for (line, [method, target, protocol]) in cases {
            let parsed = RequestLine::parse(line.as_bytes());
            assert_eq!(
                parsed,
                RequestLine {
                    method: method.as_bytes(),
                    target: target.as_bytes(),
                    protocol: protocol.as_bytes()
                },
                "{line}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_protocol_begins_at_the_last_one(pieces in prop::collection::vec(prop::sample::select(vec![" HTTP/", "1.1", " ", "HTTP/2.0", "2", "."]), 0..6)) {
            let text = pieces.concat();
            prop_assert_eq!(protocol_at(text.as_bytes()), text.rfind(" HTTP/"));
        }
    }

    proptest! {
        #[test]
        fn a_stored_entry_is_restored(
            texts in prop::array::uniform6(prop::option::of(prop::collection::vec(any::<u8>(), 0..40))),
            time in prop::option::of((any::<i64>(), any::<i16>())), status: Option<u16>, bytes: Option<u64>, cut in any::<prop::sample::Index>(),
        ) {
            let [client, request, host, referer, user_agent, user] = texts.each_ref().map(Option::as_deref);
            let entry = LogEntry {
                client: client.unwrap_or_default(), host, time: time.map(|(utc, offset)| LogTime { utc, offset }),
                request: request.unwrap_or_default(), status, bytes, referer, user_agent, user,
            };
            let mut stored = Vec::new();
            entry.store(&mut stored);
            prop_assert_eq!(LogEntry::restore(&stored), Some(entry));
            prop_assert_eq!(LogEntry::restore(&stored[..cut.index(stored.len())]), None);
        }
    }

    #[test]
    fn every_status_has_its_outcome() {
        let words = |s| Outcome::from_status(Some(s)).as_str();
        assert_eq!(
            [
                200, 206, 304, 301, 401, 403, 404, 410, 400, 499, 500, 100, 99
            ]
            .map(words),
            [
                "answered",
                "answered",
                "answered",
                "redirected",
                "auth_required",
                "denied",
                "not_found",
                "not_found",
                "rejected",
                "rejected",
                "error",
                "unknown",
                "unknown"
            ]
        );
        assert_eq!(Outcome::from_status(None), Outcome::Unknown);
    }
}
