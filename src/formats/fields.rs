//! The parsed fields of a line of any format, and the kinds of fields.
//!
//! The parsers produce these. Texts are not decoded, and clients control most of them.

use super::json::{KeyCache, LayoutCache};
use super::line_parser::ReadingBuffers;
use crate::log::client::Client;
use crate::log::time::LogTime;
use std::fmt;
use std::str::FromStr;

/// The meaning of a field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// The client address.
    Client,
    /// The virtual host, with an optional port.
    Host,
    /// The time in any format.
    Time,
    /// The date, if the time of day is in a separate field.
    Date,
    /// The time of day.
    TimeOfDay,
    /// The request line, `GET / HTTP/1.1`.
    Request,
    /// `GET`.
    Method,
    /// The request target: path and query, or an absolute URL.
    Target,
    /// The path, if the query is in a separate field.
    Path,
    /// The query, with or without its question mark.
    Query,
    /// `HTTP/1.1`.
    Protocol,
    /// The status code.
    Status,
    /// Bytes sent.
    Bytes,
    /// The `Referer` header.
    Referer,
    /// The `User-Agent` header.
    UserAgent,
    /// The user that the server logs, from `Authorization` or a certificate.
    User,
    /// Another header of the request, its name in lower case: `x-forwarded-for`.
    Header(String),
    /// Not used.
    Other,
}

impl FieldKind {
    /// Every kind that an option may name, in the order of messages.
    pub const NAMED: [Self; 15] = [
        Self::Client,
        Self::Host,
        Self::Time,
        Self::Date,
        Self::TimeOfDay,
        Self::Request,
        Self::Method,
        Self::Target,
        Self::Path,
        Self::Query,
        Self::Protocol,
        Self::Status,
        Self::Bytes,
        Self::Referer,
        Self::UserAgent,
    ];

    /// The name in options: `client`, `user_agent`; for other headers the header name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Client => "client",
            Self::Host => "host",
            Self::Time => "time",
            Self::Date => "date",
            Self::TimeOfDay => "time_of_day",
            Self::Request => "request",
            Self::Method => "method",
            Self::Target => "target",
            Self::Path => "path",
            Self::Query => "query",
            Self::Protocol => "protocol",
            Self::Status => "status",
            Self::Bytes => "bytes",
            Self::Referer => "referer",
            Self::UserAgent => "user_agent",
            Self::User => "user",
            Self::Header(name) => name,
            Self::Other => "other",
        }
    }
}

/// The place of a field among the values of a line: what the parsers look for, in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum FieldSlot {
    Client,
    /// The header of proxies with the addresses of clients.
    Forwarded,
    Host,
    Time,
    Date,
    TimeOfDay,
    Request,
    Method,
    /// The target exactly as the client sent it.
    Sent,
    /// Path and query, or an absolute URL.
    Target,
    /// The path; the query may follow or be a separate field.
    Path,
    Query,
    Protocol,
    Status,
    Bytes,
    Referer,
    UserAgent,
    User,
    /// An absolute URL, which has the host.
    Url,
    /// No field that is used.
    Unused,
}

impl FieldSlot {
    /// The number of fields that are used.
    pub(super) const COUNT: usize = Self::Unused as usize;

    /// The slot of a kind; other headers have none.
    pub(super) fn from_kind(kind: &FieldKind) -> Self {
        match kind {
            FieldKind::Client => Self::Client,
            FieldKind::Host => Self::Host,
            FieldKind::Time => Self::Time,
            FieldKind::Date => Self::Date,
            FieldKind::TimeOfDay => Self::TimeOfDay,
            FieldKind::Request => Self::Request,
            FieldKind::Method => Self::Method,
            FieldKind::Target => Self::Target,
            FieldKind::Path => Self::Path,
            FieldKind::Query => Self::Query,
            FieldKind::Protocol => Self::Protocol,
            FieldKind::Status => Self::Status,
            FieldKind::Bytes => Self::Bytes,
            FieldKind::Referer => Self::Referer,
            FieldKind::UserAgent => Self::UserAgent,
            FieldKind::User => Self::User,
            FieldKind::Header(_) | FieldKind::Other => Self::Unused,
        }
    }

    /// The field kind.
    pub(super) fn kind(self) -> FieldKind {
        let slot = match self {
            Self::Forwarded => return FieldKind::Header("x-forwarded-for".to_owned()),
            Self::Sent | Self::Url => Self::Target,
            slot => slot,
        };
        let mut kinds = FieldKind::NAMED.into_iter().chain([FieldKind::User]);
        kinds
            .find(|kind| Self::from_kind(kind) == slot)
            .unwrap_or(FieldKind::Other)
    }
}

impl fmt::Display for FieldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for FieldKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::NAMED
            .into_iter()
            .find(|m| m.as_str() == name)
            .ok_or_else(|| {
                let names = Self::NAMED.map(|m| m.as_str().to_owned()).join(", ");
                format!("no field of a log is called '{name}'; there are {names}")
            })
    }
}

/// The time of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeField<'a> {
    /// A time that is not parsed yet, without brackets, usually in the Common Log Format:
    /// `02/Nov/2026:08:01:00 +0000`.
    Text(&'a [u8]),
    /// A parsed time; `None` if it is missing or invalid.
    Parsed(Option<LogTime>),
}

impl TimeField<'_> {
    /// The time; `None` if it is missing or invalid.
    #[must_use]
    pub(crate) fn parse(self) -> Option<LogTime> {
        match self {
            Self::Text(text) => LogTime::parse_any_format(text),
            Self::Parsed(time) => time,
        }
    }
}

/// The request of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestField<'a> {
    /// The request line.
    Line(&'a [u8]),
    /// The parts of the request; missing ones are empty.
    Parts {
        /// `GET`.
        method: &'a [u8],
        /// Path and query, or the path if there is a `query`.
        target: &'a [u8],
        /// The query if it is in a separate field, without its question mark.
        query: &'a [u8],
        /// `HTTP/1.1`.
        protocol: &'a [u8],
    },
}

/// The escaping of the texts of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escapes {
    /// That of nginx (`default` and `json`) and Apache: `\xHH`, `\"`, `\\`, `\n`, `\u00HH`.
    Written,
    /// As `Written`, in columns of CSV, where a quote is written twice.
    Doubled,
    /// None: quotes and backslashes are literal.
    None,
}

/// The fields of a line. Slices refer to the line, or to buffers where a value had to be assembled.
/// Missing values are empty or a dash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields<'a> {
    /// The client address.
    pub client: &'a [u8],
    /// The line has something in the place of the client, but a client may have sent it. Then
    /// `client` is empty.
    pub is_client_doubtful: bool,
    /// The format logs `forwarded` in the place of the client, without the peer that sent it.
    pub is_without_peer: bool,
    /// The field with the forwarded client, such as `X-Forwarded-For`, if it is requested.
    pub forwarded: &'a [u8],
    /// The virtual host.
    pub host: &'a [u8],
    /// The time.
    pub time: TimeField<'a>,
    /// The request.
    pub request: RequestField<'a>,
    /// The status code.
    pub status: &'a [u8],
    /// Bytes sent.
    pub bytes: &'a [u8],
    /// The `Referer` header.
    pub referer: &'a [u8],
    /// The `User-Agent` header.
    pub user_agent: &'a [u8],
    /// The user.
    pub user: &'a [u8],
    /// The escaping of request, referer and agent.
    pub escapes: Escapes,
}

impl<'a> Fields<'a> {
    /// Whether the status has three digits or is missing.
    pub(super) fn has_plausible_status(&self) -> bool {
        matches!(
            self.status,
            [] | [b'-'] | [b'0'..=b'9', b'0'..=b'9', b'0'..=b'9']
        )
    }

    /// Adds what stands in the place of the client: an address, or a list of a forwarded field.
    /// Clients may have sent all of a list, so its only public address is the client; otherwise the
    /// client is unknown, unless the user named the proxies.
    #[must_use]
    pub(super) fn with_client_or_list(self, text: &'a [u8]) -> Self {
        // Most clients are written without marks.
        let is_bare = |b: &u8| b.is_ascii_alphanumeric();
        let text = if text.first().is_some_and(is_bare) && text.last().is_some_and(is_bare) {
            text
        } else {
            Client::without_marks(text)
        };
        if memchr::memchr(b',', text).is_none() {
            return Self {
                client: text,
                ..self
            };
        }
        let client = Client::only_public_in(text).unwrap_or_default();
        let forwarded = if self.forwarded.is_empty() {
            text
        } else {
            self.forwarded
        };
        Self {
            client,
            forwarded,
            is_without_peer: true,
            is_client_doubtful: client.is_empty(),
            ..self
        }
    }
}

impl Default for Fields<'_> {
    fn default() -> Self {
        Self {
            client: b"",
            is_client_doubtful: false,
            is_without_peer: false,
            forwarded: b"",
            host: b"",
            time: TimeField::Parsed(None),
            request: RequestField::Line(b""),
            status: b"",
            bytes: b"",
            referer: b"",
            user_agent: b"",
            user: b"",
            escapes: Escapes::Written,
        }
    }
}

/// Buffers of a parser; reused for each line, so that reading a line does not allocate.
#[derive(Debug, Default, Clone)]
pub struct FieldBuffers {
    pub(super) texts: TextBuffers,
    /// A line with single blanks.
    pub(super) spaced: Vec<u8>,
    /// The readings of a line that a client may have made ambiguous.
    pub(super) readings: ReadingBuffers,
    /// The keys of the last JSON line.
    pub(super) keys: KeyCache,
    /// The layouts of recent JSON lines.
    pub(super) layouts: LayoutCache,
}

/// The values of a line that must be assembled.
#[derive(Debug, Default, Clone)]
pub(super) struct TextBuffers {
    pub(super) forwarded: Vec<u8>,
    pub(super) time: Vec<u8>,
    pub(super) request: Vec<u8>,
    /// Path and query, or the path.
    pub(super) target: Vec<u8>,
    /// The query, if it is separate.
    pub(super) query: Vec<u8>,
    pub(super) protocol: Vec<u8>,
    pub(super) referer: Vec<u8>,
    pub(super) user_agent: Vec<u8>,
    pub(super) user: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use crate::formats::fields::*;

    #[test]
    fn a_name_parses_to_its_kind() {
        for kind in FieldKind::NAMED {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let message = "ip".parse::<FieldKind>().unwrap_err();
        assert!(
            message.contains("'ip'") && message.contains("client, host, time"),
            "{message}"
        );
    }
}
