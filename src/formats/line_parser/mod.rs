//! A format string, compiled: which text of a line is which field.
//!
//! The literal texts of the format stand between the fields, and a field ends where the next text begins. A line is
//! gone through once, from the left; nothing is allocated, decoded or believed. A line that does not fit has no fields:
//! it is of another format, or cut.

mod captured;
mod clf_compatible;
mod compile;
mod fast_path;
mod field;
mod format_string;

pub use format_string::FormatError;

pub(super) use compile::compile;

pub(super) use self::captured::Encoding;
use self::field::{CaptureSlot, FieldMatcher};

use self::captured::{CapturedFields, RequestForm, TimeFormat};
use self::fast_path::FastPath;
use super::bytes::begins;
use super::items::{FieldItem, FieldShape, FormatItem};
use super::{Escapes, FieldBuffers, FieldKind, Fields, apache, nginx};

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
pub struct FormatLineParser {
    /// The text before the first field.
    start: Box<[u8]>,
    fields: Box<[FieldMatcher]>,
    /// Each field as written in the format, and what it means.
    field_names: Box<[(String, FieldKind)]>,
    escapes: Escapes,
    encoding: Encoding,
    time: TimeFormat,
    asked: RequestForm,
    /// A header stands for the client: it may name several.
    client_is_list: bool,
    /// A list of columns: more may follow, and a line that begins with `#` is a remark.
    is_columns: bool,
    /// How lines that are written as usual are read.
    fast_path: Option<FastPath>,
}

impl FormatLineParser {
    /// Compiles the text of an nginx `log_format`, its quotes taken away: `$remote_addr [$time_local] ...`.
    ///
    /// Source: nginx `ngx_http_log_module`. Beside the variables of nginx there are `$time` (in any form that can be told), `$url`
    /// (host and target in one), `$absolute_request` (a request line with a whole address in it) and every other name for what
    /// means nothing to us, so that the formats of other products can be written down too.
    ///
    /// # Errors
    ///
    /// Where it is no format, does not emit its fields apart, or has no request in it.
    pub fn nginx(format: &str, escape: NginxEscape) -> Result<Self, FormatError> {
        let (escapes, encoding) = match escape {
            NginxEscape::Default | NginxEscape::Json => (Escapes::Written, Encoding::No),
            NginxEscape::None => (Escapes::None, Encoding::No),
            NginxEscape::Hash => (Escapes::None, Encoding::Hash),
        };
        compile(nginx::items(format)?, escapes).map(|parser| parser.with_encoding(encoding)).map_err(|e| e.about(format))
    }

    /// Compiles what stands suffix the name in a `log_format`: `escape=json '{...' '...}'`.
    ///
    /// # Errors
    ///
    /// As [`nginx`](Self::nginx), and where a quote is not closed.
    pub fn nginx_written(text: &str) -> Result<Self, FormatError> {
        format_string::nginx(text)
    }

    /// Compiles the text of an Apache `LogFormat`, its quotes taken away: `%h %l %u %t "%r" %>s %b`.
    ///
    /// Source: Apache `mod_log_config`.
    ///
    /// # Errors
    ///
    /// Where it is no format, does not emit its fields apart, or has no request in it.
    pub fn apache(format: &str) -> Result<Self, FormatError> {
        compile(apache::items(format)?, Escapes::Written).map_err(|e| e.about(format))
    }

    /// Compiles a format of either server, told apart by `$` and `%`, or a whole directive as it stands in a
    /// configuration: `log_format main '...' '...';`, `LogFormat "..." name`.
    ///
    /// # Errors
    ///
    /// As [`nginx_written`](Self::nginx_written) and [`apache`](Self::apache).
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        format_string::either(text)
    }

    /// The parser of a list of columns; more may follow. Bare ones are not escaped; where there are quotes around some, backslashes in
    /// any of them escape.
    #[must_use]
    pub fn columns(field_names: &[(&str, FieldKind)], separator: u8, quoted: Quotes) -> Self {
        compile::columns(field_names, separator, quoted)
    }

    /// Reads a line, which comes without its newline; `None` where it does not fit.
    #[must_use]
    #[inline]
    pub fn read<'a>(&self, line: &'a [u8], buffers: &'a mut FieldBuffers) -> Option<Fields<'a>> {
        let mut filled = CapturedFields::default();
        let mut rest = self.after_start(line)?;
        for field in &self.fields {
            let (text, suffix) = field.take(rest)?;
            if let Some(slot) = field.slot {
                filled.put(slot, text, field.trim);
            }
            rest = suffix;
        }
        (rest.is_empty() || self.is_columns).then(|| filled.fields(self, buffers))
    }

    /// Tells the fields of a line that is written as usual, where the parser has a fast_path way for those: what [`read`](Self::read)
    /// would say; whether it did. `first_quote` says where the first quote stands from a place on.
    #[expect(clippy::inline_always, reason = "in the line loop; so large an answer would go through memory")]
    #[inline(always)]
    pub(super) fn read_fast(
        &self,
        line: &[u8],
        first_quote: impl Fn(usize) -> Option<usize>,
        buffers: &mut FieldBuffers,
        emit: impl FnOnce(&Fields<'_>),
    ) -> bool {
        let Some(fast_path) = self.fast_path.as_ref().filter(|_| begins(line, &self.start)) else { return false };
        fast_path.emit(&self.fields, (line, self.start.len()), first_quote, &mut buffers.time, emit)
    }

    /// The same parser, which also reads the field that names the real client: a header, or a variable of that name.
    #[must_use]
    pub fn with_forwarded(mut self, header: &FieldKind) -> Self {
        let called = |(written, _): &(String, FieldKind)| matches!(header, FieldKind::Header(name) if is_named(written, name));
        let wanted = self.field_names.iter().position(|(_, m)| m == header).or_else(|| self.field_names.iter().position(called));
        // A field that stands for the client already stays what it is.
        if let Some(field) = wanted.and_then(|at| self.fields.get_mut(at)).filter(|f| f.slot.is_none()) {
            field.slot = Some(CaptureSlot::Forwarded);
            self.fast_path = None;
        }
        self
    }

    /// Whether it reads the field that names the real client.
    #[must_use]
    pub fn has_forwarded(&self) -> bool {
        self.fields.iter().any(|field| field.slot == Some(CaptureSlot::Forwarded))
    }

    /// Every field as written, and what it means.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, &FieldKind)> {
        self.field_names.iter().map(|(name, kind)| (name.as_str(), kind))
    }

    /// Every field of a line as written in the format, with its text. For people: this allocates.
    #[must_use]
    pub fn split<'a>(&self, line: &'a [u8]) -> Option<Vec<(&str, &'a [u8])>> {
        let mut split = Vec::new();
        let mut rest = self.after_start(line)?;
        for (field, (name, _)) in self.fields.iter().zip(&self.field_names) {
            let (text, suffix) = field.take(rest)?;
            split.push((name.as_str(), text));
            rest = suffix;
        }
        (rest.is_empty() || self.is_columns).then_some(split)
    }

    #[inline]
    fn after_start<'a>(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        let is_remark = self.is_columns && line.first() == Some(&b'#');
        if is_remark || !begins(line, &self.start) { None } else { line.get(self.start.len()..) }
    }

    /// The same parser, of lines whose texts are with_encoding once more.
    pub(super) fn with_encoding(self, encoding: Encoding) -> Self {
        let parser = Self { encoding, ..self };
        Self { fast_path: FastPath::of(&parser), ..parser }
    }
}

/// Whether a field as written, `$real_ip` or `%{Real-IP}e`, is called `name`, dashes or underscores in it.
fn is_named(written: &str, name: &str) -> bool {
    let bare = written.trim_start_matches(['$', '%', '{']).split('}').next().unwrap_or_default();
    let letters = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    letters(bare) == letters(name)
}

#[cfg(test)]
mod tests;
