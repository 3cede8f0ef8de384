//! What a line of any format says, field by field, and what a field can mean.
//!
//! Plain data between those who take lines apart and `clf_writer`, which writes them down again. Nothing here is
//! decoded, and nothing is believed: an attacker writes most of it.

use super::json::{KeyCache, LayoutCache};
use crate::time::LogTime;
use std::fmt;
use std::str::FromStr;

/// What a field of a line means to us.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// The address that asked.
    Client,
    /// The virtual host, with a port or without.
    Host,
    /// TimeField, in a form of its own.
    Time,
    /// The day alone, where the time stands in a field of its own.
    Date,
    /// The time of the day alone.
    TimeOfDay,
    /// The request line, `GET / HTTP/1.1`.
    Request,
    /// `GET`.
    Method,
    /// The request target: path and query, or a whole address.
    Target,
    /// The path alone, where the query stands in a field of its own.
    Path,
    /// The query alone, with its question mark or without.
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
    /// Another header of the request, its name in lower case: `x-forwarded-for`.
    Header(String),
    /// Nothing that we ask for.
    Other,
}

impl FieldKind {
    /// Every kind that has a name of its own, in the order in which a message lists them.
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

    /// The name that people type: `client`, `user_agent`; of another header its own.
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
            Self::Header(name) => name,
            Self::Other => "other",
        }
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
        Self::NAMED.into_iter().find(|m| m.as_str() == name).ok_or_else(|| {
            let names = Self::NAMED.map(|m| m.as_str().to_owned()).join(", ");
            format!("no field of a log is called '{name}'; there are {names}")
        })
    }
}

/// TimeField, as far as it was read already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeField<'a> {
    /// As the Common Log Format has it, without the brackets: `02/Nov/2026:08:01:00 +0000`.
    Clf(&'a [u8]),
    /// Written otherwise, and read; `None` where it makes no sense or stands nowhere.
    Parsed(Option<LogTime>),
}

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestField<'a> {
    /// The request line in one piece.
    Line(&'a [u8]),
    /// Its parts; what stands nowhere is empty.
    Parts {
        /// `GET`.
        method: &'a [u8],
        /// Path and query, or the path where there is a `query`.
        target: &'a [u8],
        /// The query where it stands apart, without its question mark.
        query: &'a [u8],
        /// `HTTP/1.1`.
        protocol: &'a [u8],
    },
}

/// How much the texts of a line were escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escapes {
    /// As nginx (`default` and `json`) and Apache do it: `\xHH`, `\"`, `\\`, `\n`, `\u00HH`.
    Written,
    /// Not at all: a quote or a backslash stands for itself.
    None,
}

/// One line, taken apart. Slices are of the line, or of buffers that the reader keeps where something had to be put together. What
/// stands nowhere, and what a log has `-` for, is empty or a dash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields<'a> {
    /// The address that asked.
    pub client: &'a [u8],
    /// The field that names the real client, where one was asked for: the text of `X-Forwarded-For` or the like.
    pub forwarded: &'a [u8],
    /// The virtual host.
    pub host: &'a [u8],
    /// TimeField.
    pub time: TimeField<'a>,
    /// What was asked for.
    pub asked: RequestField<'a>,
    /// The status code.
    pub status: &'a [u8],
    /// Bytes sent.
    pub bytes: &'a [u8],
    /// The `Referer` header.
    pub referer: &'a [u8],
    /// The `User-Agent` header.
    pub user_agent: &'a [u8],
    /// How request, referer and agent were escaped.
    pub escapes: Escapes,
}

impl Default for Fields<'_> {
    fn default() -> Self {
        Self {
            client: b"",
            forwarded: b"",
            host: b"",
            time: TimeField::Parsed(None),
            asked: RequestField::Line(b""),
            status: b"",
            bytes: b"",
            referer: b"",
            user_agent: b"",
            escapes: Escapes::Written,
        }
    }
}

/// Buffers of a reader, one for each field that may have to be put together. What is in them holds for one line.
#[derive(Debug, Default, Clone)]
pub struct FieldBuffers {
    /// The address that asked.
    pub client: Vec<u8>,
    /// The field that names the real client.
    pub forwarded: Vec<u8>,
    /// The virtual host.
    pub host: Vec<u8>,
    /// TimeField.
    pub time: Vec<u8>,
    /// The request line.
    pub request: Vec<u8>,
    /// `GET`.
    pub method: Vec<u8>,
    /// Path and query, or the path alone.
    pub target: Vec<u8>,
    /// The query, where it stands apart.
    pub query: Vec<u8>,
    /// `HTTP/1.1`.
    pub protocol: Vec<u8>,
    /// The status code.
    pub status: Vec<u8>,
    /// Bytes sent.
    pub bytes: Vec<u8>,
    /// The `Referer` header.
    pub referer: Vec<u8>,
    /// The `User-Agent` header.
    pub user_agent: Vec<u8>,
    /// A line that was written down again.
    pub(super) line: Vec<u8>,
    /// Which field of it is the client is unknown.
    pub(super) is_without_client: bool,
    /// The names of the JSON line before.
    pub(super) keys: KeyCache,
    /// The layouts of JSON lines before.
    pub(super) layouts: LayoutCache,
}

#[cfg(test)]
mod tests {
    use crate::formats::fields::*;

    #[test]
    fn a_name_is_that_of_its_meaning() {
        for kind in FieldKind::NAMED {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let message = "ip".parse::<FieldKind>().unwrap_err();
        assert!(message.contains("'ip'") && message.contains("client, host, time"), "{message}");
    }
}
