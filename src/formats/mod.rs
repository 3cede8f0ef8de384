//! Log formats: parsing lines into fields.
//!
//! Every format yields the same fields. A line of the Common Log Format and its extensions is
//! parsed in two steps, because most lines match no rule: [`Frame::locate`] finds the fields that
//! all lines need, [`Frame::record`] splits the headers. A [`reader`] parses lines of other formats
//! to [`Fields`], which an [`EntryBuffer`] holds. Parsing never fails: a line in no known format
//! has no fields, and a malformed field is `None`.

mod apache;
pub(crate) mod builtin;
pub(crate) mod bytes;
mod clf;
mod client_position;
pub(crate) mod detect;
mod discover;
mod entry_buffer;
mod fast_values;
mod fields;
mod host;
mod iso_time;
mod items;
mod json;
mod line_parser;
pub(crate) mod line_prefix;
mod loose_clf;
mod nginx;
pub(crate) mod reader;
mod shape;
mod unwrap;
pub(crate) mod w3c;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub(crate) use self::detect::{ForwardedLines, is_binary, is_error_log, is_report, recognize};
use crate::log::finding::OtherFormatCounts;
pub use builtin::{FormatChoice, FormatId, Formats};
pub(crate) use clf::is_escaped;
pub use clf::{Frame, Headers};
pub use client_position::ClientPosition;
pub(crate) use client_position::client_position;
pub use discover::Layouts;
pub(crate) use discover::is_status;
pub use entry_buffer::EntryBuffer;
pub use fields::FieldBuffers;
pub(crate) use fields::{Escapes, FieldKind, Fields, RequestField, TimeField};
pub(crate) use items::FormatError;
pub use json::JsonLineParser;
pub use line_parser::FormatLineParser;
pub(crate) use line_parser::NginxEscape;
pub(crate) use shape::{line_shape, may_be_log_line};
pub use w3c::W3cHeader;
pub(crate) use w3c::is_directive;

/// An access log format that the engine parses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// nginx `combined`, Apache `combined`.
    #[default]
    Combined,
    /// Apache `common`, the Common Log Format.
    Common,
    /// Apache `vhost_combined`: host and port, then combined.
    VhostCombined,
}

impl LogFormat {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Combined, Self::Common, Self::VhostCombined];

    /// The name of the most frequent format, the first of equals. `lines` are in the order of
    /// [`ALL`](Self::ALL); other formats follow by name.
    #[must_use]
    pub fn most_frequent(lines: &[u64; 3], others: &OtherFormatCounts) -> Option<Arc<str>> {
        let builtin = Self::ALL
            .into_iter()
            .zip(lines)
            .map(|(format, lines)| (format.as_str(), *lines));
        let all = builtin.chain(others.iter().map(|(name, lines)| (&**name, lines)));
        let max_lines = all
            .clone()
            .map(|(_, lines)| lines)
            .max()
            .filter(|&lines| lines > 0)?;
        all.into_iter()
            .find(|(_, lines)| *lines == max_lines)
            .map(|(name, _)| name.into())
    }

    /// The name in options and configurations.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Combined => "combined",
            Self::Common => "common",
            Self::VhostCombined => "vhost_combined",
        }
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|f| f.as_str() == name)
            .ok_or_else(|| {
                format!(
                    "no log format is called '{name}'; there are combined, common, vhost_combined"
                )
            })
    }
}
