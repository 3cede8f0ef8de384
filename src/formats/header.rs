//! The columns that a W3C extended log names in lines of its own, `#Fields: date time ...`, as they are in force where a
//! run of lines begins.
//!
//! Only a log that begins with such lines is one: anywhere else they are lines like others. Source: W3C working draft
//! WD-logfile-960323.

use std::sync::Arc;

use memchr::memchr;
use memchr::memmem::rfind;

use super::Plan;
use super::w3c;

/// What lines of its own a log has, up to somewhere in it.
#[derive(Debug, Clone, Default)]
pub enum Header {
    /// It is no W3C extended log.
    #[default]
    None,
    /// It is one, with these columns; `None` before they are named, and where they name nothing that we ask for.
    Columns(Option<Arc<Plan>>),
}

/// The lines that such a log can begin with.
const DIRECTIVES: [&[u8]; 8] =
    [b"#Version:", b"#Fields:", b"#Software:", b"#Date:", b"#Start-Date:", b"#End-Date:", b"#Remark:", b"#GMT-Offset:"];
const FIELDS: &[u8] = b"#Fields:";

impl Header {
    /// The header of a log that begins with these lines, before the first of them. Lines over the limit say nothing here as
    /// elsewhere, as they are not always held.
    #[must_use]
    pub fn of_log(lines: &[u8], max_line: usize) -> Self {
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
    pub fn behind(self, lines: &[u8], max_line: usize) -> Self {
        match self {
            Self::None => Self::None,
            Self::Columns(_) => Self::last_of(lines, max_line).unwrap_or(self),
        }
    }

    /// The header that the last of these lines to name columns comes to, whatever stands before.
    #[must_use]
    pub fn last_of(lines: &[u8], max_line: usize) -> Option<Self> {
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
    pub fn columns(&self) -> Option<&Arc<Plan>> {
        match self {
            Self::None => None,
            Self::Columns(columns) => columns.as_ref(),
        }
    }

    fn named_by(line: &[u8]) -> Self {
        // A copy: the line may be of a map, and what is remembered of it must be what was read.
        let line = line.strip_suffix(b"\r").unwrap_or(line).to_vec();
        Self::Columns(w3c::directive(&line).map(Arc::new))
    }
}

/// The line that begins at a place, without its newline.
fn line_at(lines: &[u8], at: usize) -> &[u8] {
    let rest = lines.get(at..).unwrap_or_default();
    &rest[..memchr(b'\n', rest).unwrap_or(rest.len()).min(rest.len())]
}
