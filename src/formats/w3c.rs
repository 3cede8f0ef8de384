//! The W3C extended log format: a log that names its columns itself, in a line that may come again with other names.
//!
//! Sources: W3C WD-logfile-960323; Microsoft, IIS "W3C Extended Log File Format"; AWS, "`CloudFront` standard logging
//! reference". IIS writes `+` for a space in headers; `CloudFront` separates by tabs and percent-encodes texts once more.

use super::FieldKind;
use super::line_parser::{Encoding, FormatLineParser, Quotes};
use memchr::memchr;
use memchr::memmem::rfind;
use std::sync::Arc;

/// Whether a line is a directive or a remark, and no request.
#[must_use]
pub fn is_comment(line: &[u8]) -> bool {
    line.starts_with(b"#")
}

/// The plan that a line `#Fields: date time cs-method ...` makes for the lines below it; `None` for any other line.
#[must_use]
pub fn directive(line: &[u8]) -> Option<FormatLineParser> {
    let text = line.strip_prefix(b"#")?;
    let (name, columns) = text.split_at(memchr(b':', text)?);
    if !name.eq_ignore_ascii_case(b"Fields") {
        return None;
    }
    let columns = String::from_utf8_lossy(&columns[1..]);
    let names: Vec<(&str, FieldKind)> = columns.split_ascii_whitespace().map(|name| (name, kind(name))).collect();
    let asks = names.iter().any(|(_, m)| matches!(m, FieldKind::Path | FieldKind::Target | FieldKind::Request));
    asks.then(|| plan(&names, columns.contains('\t')))
}

/// `CloudFront` names its columns with spaces between and separates them by tabs.
fn plan(names: &[(&str, FieldKind)], tabs: bool) -> FormatLineParser {
    let is_cloudfront = names.iter().any(|(name, _)| name.starts_with("x-edge-"));
    let separator = if is_cloudfront || tabs { b'\t' } else { b' ' };
    let with_encoding = if is_cloudfront { Encoding::Percent } else { Encoding::Plus };
    let best = names.iter().filter(|(_, m)| *m == FieldKind::Host).map(|(name, _)| *name).min_by_key(|name| host_rank(name));
    // Of several hosts the one that the client asked for.
    let chosen: Vec<_> = names
        .iter()
        .map(|(name, m)| (*name, if *m == FieldKind::Host && Some(*name) != best { FieldKind::Other } else { m.clone() }))
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
        "x-forwarded-for" => FieldKind::Header(name),
        _ => match name.strip_prefix("cs(").and_then(|rest| rest.strip_suffix(')')) {
            Some(header) => FieldKind::Header(header.to_owned()),
            None => FieldKind::Other,
        },
    }
}

/// What lines of its own a log has, up to somewhere in it.
#[derive(Debug, Clone, Default)]
pub enum W3cHeader {
    /// It is no W3C extended log.
    #[default]
    None,
    /// It is one, with these columns; `None` before they are named, and where they name nothing that we ask for.
    Columns(Option<Arc<FormatLineParser>>),
}

/// The lines that such a log can begin with.
const DIRECTIVES: [&[u8]; 8] =
    [b"#Version:", b"#Fields:", b"#Software:", b"#Date:", b"#Start-Date:", b"#End-Date:", b"#Remark:", b"#GMT-Offset:"];
const FIELDS: &[u8] = b"#Fields:";

impl W3cHeader {
    /// The header of a log that begins with these lines, before the first of them. Lines over the limit say nothing here as
    /// elsewhere, as they are not always held.
    #[must_use]
    pub fn from_log_start(lines: &[u8], max_line: usize) -> Self {
        let first = line_at(lines, 0);
        let is_w3c = first.len() <= max_line && DIRECTIVES.iter().any(|directive| first.starts_with(directive));
        if is_w3c { Self::Columns(None) } else { Self::None }
    }

    /// Whether the log has lines of its own.
    #[must_use]
    pub fn is_w3c(&self) -> bool {
        matches!(self, Self::Columns(_))
    }

    /// The header behind these lines.
    #[must_use]
    pub fn after(self, lines: &[u8], max_line: usize) -> Self {
        match self {
            Self::None => Self::None,
            Self::Columns(_) => Self::last_in(lines, max_line).unwrap_or(self),
        }
    }

    /// The header that the last of these lines to name columns comes to, whatever stands before.
    #[must_use]
    pub fn last_in(lines: &[u8], max_line: usize) -> Option<Self> {
        let mut end = lines.len();
        loop {
            let at = rfind(&lines[..end], FIELDS)?;
            let line = line_at(lines, at);
            if (at == 0 || lines[at - 1] == b'\n') && line.len() <= max_line {
                return Some(Self::named_by(line));
            }
            end = at;
        }
    }

    /// Whether a line is one of the log's own; takes over the columns that it names.
    pub(super) fn take(&mut self, line: &[u8]) -> bool {
        let is_own = self.is_w3c() && line.first() == Some(&b'#');
        if is_own && line.starts_with(FIELDS) {
            *self = Self::named_by(line);
        }
        is_own
    }

    /// The columns in force.
    #[must_use]
    pub fn columns(&self) -> Option<&Arc<FormatLineParser>> {
        match self {
            Self::None => None,
            Self::Columns(columns) => columns.as_ref(),
        }
    }

    fn named_by(line: &[u8]) -> Self {
        // A copy: the line may be of a map, and what is remembered of it must be what was read.
        let line = line.strip_suffix(b"\r").unwrap_or(line).to_vec();
        Self::Columns(directive(&line).map(Arc::new))
    }
}

/// The line that begins at a place, without its newline.
fn line_at(lines: &[u8], at: usize) -> &[u8] {
    let rest = lines.get(at..).unwrap_or_default();
    &rest[..memchr(b'\n', rest).unwrap_or(rest.len()).min(rest.len())]
}
