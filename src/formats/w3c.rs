//! The W3C extended log format: a log declares its columns in header lines,
//! `#Fields: date time ...`, which may be repeated with other columns.
//!
//! Sources: W3C WD-logfile-960323; Microsoft, IIS "W3C Extended Log File Format"; AWS,
//! "`CloudFront` standard logging reference". IIS writes `+` for a space in headers; `CloudFront`
//! separates columns by tabs and percent-encodes texts once more.

use super::FieldKind;
use super::line_parser::{Encoding, FormatLineParser, Quotes};
use crate::log::client::Client;
use memchr::memchr;
use memchr::memmem::rfind;
use std::sync::Arc;

/// Whether a line is a directive or a comment. It has no address, no path and no protocol: with one
/// of them it is a request, in a log whose first field is a header that the client chose.
#[must_use]
pub(crate) fn is_directive(line: &[u8]) -> bool {
    let is_of_request = |word: &[u8]| {
        word.starts_with(b"/")
            || word.starts_with(b"HTTP/")
            || Client::parse_address(word).is_some()
    };
    line.first() == Some(&b'#')
        && !line
            .split(|byte| b" \t|;,\"'".contains(byte))
            .any(is_of_request)
}

/// The parser for the lines after `#Fields: date time cs-method ...`; `None` for any other line.
#[must_use]
pub(crate) fn directive(line: &[u8]) -> Option<FormatLineParser> {
    let text = line.strip_prefix(b"#")?;
    let (name, columns) = text.split_at(memchr(b':', text)?);
    if !name.eq_ignore_ascii_case(b"Fields") {
        return None;
    }
    let columns = String::from_utf8_lossy(&columns[1..]);
    let names: Vec<(&str, FieldKind)> = columns
        .split_ascii_whitespace()
        .map(|name| (name, kind(name)))
        .collect();
    let has_target = names
        .iter()
        .any(|(_, m)| matches!(m, FieldKind::Path | FieldKind::Target | FieldKind::Request));
    has_target.then(|| parser(&names, columns.contains('\t')))
}

/// `CloudFront` separates the column names by spaces and the columns by tabs.
fn parser(names: &[(&str, FieldKind)], tabs: bool) -> FormatLineParser {
    let is_cloudfront = names.iter().any(|(name, _)| name.starts_with("x-edge-"));
    let separator = if is_cloudfront || tabs { b'\t' } else { b' ' };
    let with_encoding = if is_cloudfront {
        Encoding::Percent
    } else {
        Encoding::Plus
    };
    let best = names
        .iter()
        .filter(|(_, m)| *m == FieldKind::Host)
        .map(|(name, _)| *name)
        .min_by_key(|name| host_rank(name));
    // Of several hosts, use the one that the client requested.
    let chosen: Vec<_> = names
        .iter()
        .map(|(name, m)| {
            (
                *name,
                if *m == FieldKind::Host && Some(*name) != best {
                    FieldKind::Other
                } else {
                    m.clone()
                },
            )
        })
        .collect();
    FormatLineParser::columns(&chosen, separator, Quotes::Never).with_encoding(with_encoding)
}

fn host_rank(name: &str) -> u8 {
    match name.to_ascii_lowercase().as_str() {
        "x-host-header" => 0,
        _ => 1,
    }
}

fn kind(column: &str) -> FieldKind {
    let name = column.to_ascii_lowercase();
    match name.as_str() {
        "date" => FieldKind::Date,
        "time" => FieldKind::TimeOfDay,
        "c-ip" => FieldKind::Client,
        "cs-method" => FieldKind::Method,
        "cs-uri" => FieldKind::Target,
        "cs-uri-stem" => FieldKind::Path,
        "cs-uri-query" => FieldKind::Query,
        "cs-version" | "cs-protocol-version" => FieldKind::Protocol,
        "sc-status" => FieldKind::Status,
        "sc-bytes" => FieldKind::Bytes,
        "cs-host" | "x-host-header" | "cs(host)" => FieldKind::Host,
        "cs(referer)" => FieldKind::Referer,
        "cs(user-agent)" => FieldKind::UserAgent,
        "cs-username" => FieldKind::User,
        "x-forwarded-for" => FieldKind::Header(name),
        _ => match name
            .strip_prefix("cs(")
            .and_then(|rest| rest.strip_suffix(')'))
        {
            Some(header) => FieldKind::Header(header.to_owned()),
            None => FieldKind::Other,
        },
    }
}

/// The header in force at some line of a log.
#[derive(Debug, Clone, Default)]
pub enum W3cHeader {
    /// Not a W3C extended log.
    #[default]
    None,
    /// A W3C extended log with these columns; `None` before they are declared, and if none of them
    /// is usable.
    Columns(Option<Arc<FormatLineParser>>),
}

/// The directives that such a log may start with.
const DIRECTIVES: [&[u8]; 8] = [
    b"#Version:",
    b"#Fields:",
    b"#Software:",
    b"#Date:",
    b"#Start-Date:",
    b"#End-Date:",
    b"#Remark:",
    b"#GMT-Offset:",
];
const FIELDS: &[u8] = b"#Fields:";

impl W3cHeader {
    /// The header before the first line of a log that starts with these lines. Oversized lines are
    /// ignored, because they are not always held in memory.
    #[must_use]
    pub fn from_log_start(lines: &[u8], max_line: usize) -> Self {
        let first = line_at(lines, 0);
        let is_w3c = first.len() <= max_line
            && DIRECTIVES
                .iter()
                .any(|directive| first.starts_with(directive))
            && is_directive(first);
        if is_w3c {
            Self::Columns(None)
        } else {
            Self::None
        }
    }

    /// Whether it is a W3C extended log.
    #[must_use]
    pub fn is_w3c(&self) -> bool {
        matches!(self, Self::Columns(_))
    }

    /// The header after these lines.
    #[must_use]
    pub fn after(self, lines: &[u8], max_line: usize) -> Self {
        match self {
            Self::None => Self::None,
            Self::Columns(_) => Self::last_in(lines, max_line).unwrap_or(self),
        }
    }

    /// The header of the last `#Fields` line in `lines`.
    #[must_use]
    pub fn last_in(lines: &[u8], max_line: usize) -> Option<Self> {
        let mut end = lines.len();
        loop {
            let at = rfind(&lines[..end], FIELDS)?;
            let line = line_at(lines, at);
            if (at == 0 || lines[at - 1] == b'\n') && line.len() <= max_line && is_directive(line) {
                return Some(Self::named_by(line));
            }
            end = at;
        }
    }

    /// Whether a line is a directive; its columns replace the current ones.
    pub(super) fn take(&mut self, line: &[u8]) -> bool {
        let is_own = self.is_w3c() && is_directive(line);
        if is_own && line.starts_with(FIELDS) {
            *self = Self::named_by(line);
        }
        is_own
    }

    /// The current columns.
    #[must_use]
    pub fn columns(&self) -> Option<&Arc<FormatLineParser>> {
        match self {
            Self::None => None,
            Self::Columns(columns) => columns.as_ref(),
        }
    }

    fn named_by(line: &[u8]) -> Self {
        // A copy, because a memory-mapped file may change between two reads.
        let line = line.strip_suffix(b"\r").unwrap_or(line).to_vec();
        Self::Columns(directive(&line).map(Arc::new))
    }
}

/// The line that starts at an offset, without its newline.
fn line_at(lines: &[u8], at: usize) -> &[u8] {
    let rest = lines.get(at..).unwrap_or_default();
    &rest[..memchr(b'\n', rest).unwrap_or(rest.len()).min(rest.len())]
}
