//! A format string, compiled: which text of a line is which field.
//!
//! The literal texts of the format stand between the fields, and a field ends where the next text begins. A line is
//! gone through once, from the left; nothing is allocated, decoded or believed. A line that does not fit has no fields:
//! it is of another format, or cut.

mod compile;
mod error;
mod field;
mod filled;
mod pasted;
mod plain;
mod short;

pub use error::FormatError;

pub(super) use compile::compile;

use self::field::{Field, Slot};
pub(super) use self::filled::Coded;

use self::filled::{AskedForm, Filled, TimeForm};
use self::short::Short;
use super::begins::begins;
use super::part::{Named, Part, Shape};
use super::{Escapes, Fields, Meaning, Room, apache, nginx};

/// How nginx escapes the texts of a `log_format`, `escape=` there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NginxEscape {
    /// `\xHH` for quotes, backslashes, controls and bytes above 0x7e; a dash for nothing.
    #[default]
    Default,
    /// As JSON has it; an empty text for nothing.
    Json,
    /// Not at all.
    None,
    /// `#HH`, as `HAProxy` does it; nginx has no such thing, but the formats of others are written in its way too.
    Hash,
}

/// Whether a column may stand between quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quotes {
    /// A quote stands for itself.
    Never,
    /// A column that begins with a quote ends with one.
    Around,
}

/// A format, ready to read lines.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The text before the first field.
    start: Box<[u8]>,
    fields: Box<[Field]>,
    /// Each field as written in the format, and what it means.
    names: Box<[(String, Meaning)]>,
    escapes: Escapes,
    coded: Coded,
    time: TimeForm,
    asked: AskedForm,
    /// A header stands for the client: it may name several.
    first_address: bool,
    /// A list of columns: more may follow, and a line that begins with `#` is a remark.
    is_columns: bool,
    /// How lines that are written as usual are read.
    short: Option<Short>,
}

impl Plan {
    /// Compiles the text of an nginx `log_format`, its quotes taken away: `$remote_addr [$time_local] ...`.
    ///
    /// Source: nginx `ngx_http_log_module`. Beside the variables of nginx there are `$time` (in any form that can be told), `$url`
    /// (host and target in one), `$absolute_request` (a request line with a whole address in it) and every other name for what
    /// means nothing to us, so that the formats of other products can be written down too.
    ///
    /// # Errors
    ///
    /// Where it is no format, does not tell its fields apart, or has no request in it.
    pub fn nginx(format: &str, escape: NginxEscape) -> Result<Self, FormatError> {
        let (escapes, coded) = match escape {
            NginxEscape::Default | NginxEscape::Json => (Escapes::Written, Coded::No),
            NginxEscape::None => (Escapes::None, Coded::No),
            NginxEscape::Hash => (Escapes::None, Coded::Hash),
        };
        compile(nginx::parts(format)?, escapes).map(|plan| plan.coded(coded)).map_err(|e| e.about(format))
    }

    /// Compiles what stands behind the name in a `log_format`: `escape=json '{...' '...}'`.
    ///
    /// # Errors
    ///
    /// As [`nginx`](Self::nginx), and where a quote is not closed.
    pub fn nginx_written(text: &str) -> Result<Self, FormatError> {
        pasted::nginx(text)
    }

    /// Compiles the text of an Apache `LogFormat`, its quotes taken away: `%h %l %u %t "%r" %>s %b`.
    ///
    /// Source: Apache `mod_log_config`.
    ///
    /// # Errors
    ///
    /// Where it is no format, does not tell its fields apart, or has no request in it.
    pub fn apache(format: &str) -> Result<Self, FormatError> {
        compile(apache::parts(format)?, Escapes::Written).map_err(|e| e.about(format))
    }

    /// Compiles a format of either server, told apart by `$` and `%`, or a whole directive as it stands in a
    /// configuration: `log_format main '...' '...';`, `LogFormat "..." name`.
    ///
    /// # Errors
    ///
    /// As [`nginx_written`](Self::nginx_written) and [`apache`](Self::apache).
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        pasted::either(text)
    }

    /// The plan of a list of columns; more may follow. Bare ones are not escaped; where there are quotes around some, backslashes in
    /// any of them escape.
    #[must_use]
    pub fn columns(names: &[(&str, Meaning)], separator: u8, quoted: Quotes) -> Self {
        compile::columns(names, separator, quoted)
    }

    /// Reads a line, which comes without its newline; `None` where it does not fit.
    #[must_use]
    #[inline]
    pub fn read<'a>(&self, line: &'a [u8], room: &'a mut Room) -> Option<Fields<'a>> {
        let mut filled = Filled::default();
        let mut rest = self.behind_start(line)?;
        for field in &self.fields {
            let (text, behind) = field.take(rest)?;
            if let Some(slot) = field.slot {
                filled.put(slot, text, field.trim);
            }
            rest = behind;
        }
        (rest.is_empty() || self.is_columns).then(|| filled.fields(self, room))
    }

    /// Tells the fields of a line that is written as usual, where the plan has a short way for those: what [`read`](Self::read)
    /// would say; whether it did. `first_quote` says where the first quote stands from a place on.
    #[expect(clippy::inline_always, reason = "in the line loop; so large an answer would go through memory")]
    #[inline(always)]
    pub(super) fn tell_short(
        &self,
        line: &[u8],
        first_quote: impl Fn(usize) -> Option<usize>,
        room: &mut Room,
        tell: impl FnOnce(&Fields<'_>),
    ) -> bool {
        let Some(short) = self.short.as_ref().filter(|_| begins(line, &self.start)) else { return false };
        short.tell(&self.fields, (line, self.start.len()), first_quote, &mut room.time, tell)
    }

    /// The same plan, which also reads the field that names the real client: a header, or a variable of that name.
    #[must_use]
    pub fn with_forwarded(mut self, header: &Meaning) -> Self {
        let called = |(written, _): &(String, Meaning)| matches!(header, Meaning::Header(name) if is_called(written, name));
        let wanted = self.names.iter().position(|(_, m)| m == header).or_else(|| self.names.iter().position(called));
        // A field that stands for the client already stays what it is.
        if let Some(field) = wanted.and_then(|at| self.fields.get_mut(at)).filter(|f| f.slot.is_none()) {
            field.slot = Some(Slot::Forwarded);
            self.short = None;
        }
        self
    }

    /// Whether it reads the field that names the real client.
    #[must_use]
    pub fn has_forwarded(&self) -> bool {
        self.fields.iter().any(|field| field.slot == Some(Slot::Forwarded))
    }

    /// Every field as written, and what it means.
    pub fn meanings(&self) -> impl Iterator<Item = (&str, &Meaning)> {
        self.names.iter().map(|(name, meaning)| (name.as_str(), meaning))
    }

    /// Every field of a line as written in the format, with its text. For people: this allocates.
    #[must_use]
    pub fn split<'a>(&self, line: &'a [u8]) -> Option<Vec<(&str, &'a [u8])>> {
        let mut split = Vec::new();
        let mut rest = self.behind_start(line)?;
        for (field, (name, _)) in self.fields.iter().zip(&self.names) {
            let (text, behind) = field.take(rest)?;
            split.push((name.as_str(), text));
            rest = behind;
        }
        (rest.is_empty() || self.is_columns).then_some(split)
    }

    #[inline]
    fn behind_start<'a>(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        let is_remark = self.is_columns && line.first() == Some(&b'#');
        if is_remark || !begins(line, &self.start) { None } else { line.get(self.start.len()..) }
    }

    /// The same plan, of lines whose texts are coded once more.
    pub(super) fn coded(self, coded: Coded) -> Self {
        let plan = Self { coded, ..self };
        Self { short: Short::of(&plan), ..plan }
    }
}

/// Whether a field as written, `$real_ip` or `%{Real-IP}e`, is called `name`, dashes or underscores in it.
fn is_called(written: &str, name: &str) -> bool {
    let bare = written.trim_start_matches(['$', '%', '{']).split('}').next().unwrap_or_default();
    let letters = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    letters(bare) == letters(name)
}

#[cfg(test)]
mod tests;
