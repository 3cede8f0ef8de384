//! Parses lines by a compiled format string.
//!
//! A field ends where the next literal text of the format starts. A line is parsed once from left
//! to right; nothing is allocated or decoded. A line that does not match is in another format, or
//! cut off.
//!
//! Simple formats have a fast path, for lines with client, time and request line in their usual
//! form, and quotes only where the format has them. All other lines go through [`CapturedFields`],
//! with the same result where both apply.

mod compile;
mod field;
mod format_string;
pub(super) mod pairs;
mod readings;

pub(super) use self::field::Encoding;
pub(super) use compile::compile;
pub(super) use readings::ReadingBuffers;

use self::field::{CapturedFields, Delimiter, FieldMatcher, RequestForm, TimeFormat, TrimMode};
use self::pairs::PairList;
use self::readings::{FormatSection, Language, Unknown, sections};
use super::fast_values::FastValues;
use super::fields::FieldSlot;
use super::items::{FieldItem, FieldShape, FormatError, FormatItem};
use super::{
    Escapes, FieldBuffers, FieldKind, Fields, RequestField, TimeField, apache, iso_time, nginx, w3c,
};
use crate::formats::bytes::{are_within, begins};
use crate::formats::clf::{is_bare, is_escaped};
use crate::log::client::Client;
use crate::log::time::LogTime;

/// The `escape=` parameter of an nginx `log_format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NginxEscape {
    /// `\xHH` for quotes, backslashes, control characters and bytes above 0x7e; a dash for an empty
    /// value.
    #[default]
    Default,
    /// JSON escapes; an empty text for an empty value.
    Json,
    /// No escaping.
    None,
    /// `#HH`, as in `HAProxy`. nginx does not have it, but other products' formats are written in
    /// nginx syntax too.
    Hash,
    /// Columns that may be in quotes, in which a quote is written twice (RFC 4180).
    Csv,
    /// Pairs `key=value` in any order, a value in quotes if it has a blank.
    Logfmt,
}

/// Whether columns may be quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quotes {
    /// A quote is literal.
    Never,
    /// A column that starts with a quote ends with one. Another quote in it is written twice.
    Doubled,
}

/// The field in the place of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientField {
    /// The address of the peer; or the format has no client.
    Peer,
    /// A list of a proxy that writes the log itself. Its client may have sent all but one of
    /// several addresses.
    ProxyList,
    /// A header. Any client may send it, so the client is unknown.
    Header,
    /// A header that the user named as the one of trusted proxies. The address of the peer is not
    /// logged.
    Forwarded,
}

/// Parses lines of one format.
#[derive(Debug, Clone)]
pub struct FormatLineParser {
    /// The literal text before the first field.
    start: Box<[u8]>,
    fields: Box<[FieldMatcher]>,
    /// The name of each field, and its kind.
    field_names: Box<[(String, FieldKind)]>,
    escapes: Escapes,
    encoding: Encoding,
    time: TimeFormat,
    request_form: RequestForm,
    client: ClientField,
    /// The values of each field; empty for columns.
    languages: Box<[Language]>,
    /// A text is not escaped by the server.
    is_unescaped: bool,
    /// The parts of the format that a client may have read wrongly.
    sections: Box<[FormatSection]>,
    /// Parses columns: more may follow, and a directive is no row.
    is_columns: bool,
    /// The format has runs of blanks: each run in a line is read as a single one.
    is_spaced: bool,
    /// The fields that have keys.
    pairs: Option<PairList>,
    /// The fast path for lines in the usual form.
    fast_path: Option<FastPath>,
}

impl FormatLineParser {
    /// Compiles an unquoted nginx `log_format`: `$remote_addr [$time_local] ...`.
    ///
    /// Source: nginx `ngx_http_log_module`. In addition to nginx variables, there are `$time` (in
    /// any known format), `$url` (host and target in one) and `$absolute_request` (a request line
    /// with an absolute URL), for the formats of other products. Any other name is accepted as a
    /// field without a meaning.
    ///
    /// # Errors
    ///
    /// The string is not a format, has ambiguous fields, or has no request.
    pub fn nginx(format: &str, escape: NginxEscape) -> Result<Self, FormatError> {
        let (escapes, encoding) = match escape {
            // Servers that write CSV or pairs by a format string escape as usual.
            NginxEscape::Default | NginxEscape::Json | NginxEscape::Csv | NginxEscape::Logfmt => {
                (Escapes::Written, Encoding::No)
            }
            NginxEscape::None => (Escapes::None, Encoding::No),
            NginxEscape::Hash => (Escapes::None, Encoding::Hash),
        };
        let items = nginx::items(format)?;
        let parser = match escape {
            NginxEscape::Csv => compile(items, escapes).and_then(compile::to_columns),
            NginxEscape::Logfmt => compile::pairs(items, escapes),
            _ => compile(items, escapes).map(|parser| parser.with_encoding(encoding)),
        };
        parser.map_err(|e| e.about(format))
    }

    /// Compiles an unquoted Apache `LogFormat`: `%h %l %u %t "%r" %>s %b`.
    ///
    /// Source: Apache `mod_log_config`.
    ///
    /// # Errors
    ///
    /// The string is not a format, has ambiguous fields, or has no request.
    pub fn apache(format: &str) -> Result<Self, FormatError> {
        compile(apache::items(format)?, Escapes::Written).map_err(|e| e.about(format))
    }

    /// Compiles a format of either server, distinguished by `$` and `%`, or a whole configuration
    /// directive: `log_format main '...' '...';`, `LogFormat "..." name`.
    ///
    /// # Errors
    ///
    /// As [`nginx`](Self::nginx) and [`apache`](Self::apache), and a quote is not closed.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        format_string::parse(text)
    }

    /// Creates a parser for a list of columns; more columns may follow. Without quotes, columns are
    /// not escaped; with quotes, backslashes escape bytes in all columns, but no quotes.
    #[must_use]
    pub fn columns(field_names: &[(&str, FieldKind)], separator: u8, quoted: Quotes) -> Self {
        compile::columns(field_names, separator, quoted)
    }

    /// Parses a line without its newline; `None` if it does not match.
    #[must_use]
    #[inline]
    pub fn read<'a>(&self, line: &'a [u8], buffers: &'a mut FieldBuffers) -> Option<Fields<'a>> {
        let mut filled = CapturedFields::default();
        let FieldBuffers {
            texts,
            spaced,
            readings,
            ..
        } = buffers;
        let line = if self.is_spaced {
            single_blanks(line, spaced)
        } else {
            line
        };
        let unknown = self.texts(line, readings, |number, text| {
            let field = &self.fields[number];
            if field.slot != FieldSlot::Unused {
                filled.set(field.slot, text, field.trim);
            }
        })?;
        Some(filled.fields(self, unknown, texts))
    }

    /// Passes the number and the text of each field to `put`, in order. Returns what is unknown;
    /// `None` if the line does not match.
    #[inline]
    fn texts<'a>(
        &self,
        line: &'a [u8],
        readings: &mut ReadingBuffers,
        mut put: impl FnMut(usize, &'a [u8]),
    ) -> Option<Unknown> {
        let mut unknown = Unknown::default();
        let mut rest = self.after_start(line)?;
        if self.is_columns
            && memchr::memchr(b'"', rest).is_some()
            && self.quoted_columns(rest, |_, _| ())
        {
            self.quoted_columns(rest, put);
            return Some(unknown);
        }
        let (mut number, mut sections) = (0, self.sections.iter().peekable());
        let positional = self
            .pairs
            .as_ref()
            .map_or(self.fields.len(), PairList::before);
        while let Some(field) = self.fields.get(number).filter(|_| number < positional) {
            if let Some(section) = sections.next_if(|section| section.first == number) {
                rest = section.read(&self.fields, rest, readings, &mut unknown, &mut put)?;
                number += section.len();
                continue;
            }
            let (text, suffix) = field.take(rest)?;
            put(number, text);
            rest = suffix;
            number += 1;
        }
        if let Some(pairs) = &self.pairs {
            return pairs.read(rest, put).map(|()| unknown);
        }
        (rest.is_empty() || self.is_columns).then_some(unknown)
    }

    /// Passes columns to `put`, some of which are in quotes with separators inside; `false` if the
    /// line has as many columns as were declared without regard to quotes, or not as many with
    /// regard to them. So a client, whose quotes could only join columns, cannot move a column of a
    /// server that writes no quotes.
    #[cold]
    fn quoted_columns<'a>(&self, line: &'a [u8], mut put: impl FnMut(usize, &'a [u8])) -> bool {
        if self.has_declared_columns(line) {
            return false;
        }
        let mut rest = Some(line);
        for (number, field) in self.fields.iter().enumerate() {
            let Some((text, suffix)) = rest.and_then(|rest| field.take_quoted(rest)) else {
                return false;
            };
            put(number, text);
            rest = Some(suffix).filter(|suffix| !suffix.is_empty());
        }
        rest.is_none()
    }

    /// Parses a line on the fast path, if the format has one, and emits the same fields as
    /// [`read`](Self::read); `false` if it cannot. `first_quote` returns the position of the first
    /// quote from an offset on.
    #[expect(
        clippy::inline_always,
        reason = "in the line loop; so large an answer would go through memory"
    )]
    #[inline(always)]
    pub(super) fn read_fast(
        &self,
        line: &[u8],
        first_quote: impl Fn(usize) -> Option<usize>,
        buffers: &mut FieldBuffers,
        emit: impl FnOnce(&Fields<'_>),
    ) -> bool {
        let Some(fast_path) = self
            .fast_path
            .as_ref()
            .filter(|_| begins(line, &self.start))
        else {
            return false;
        };
        fast_path.emit(
            &self.fields,
            (line, self.start.len()),
            first_quote,
            &mut buffers.texts.time,
            emit,
        )
    }

    /// Whether texts that [`read_fast`](Self::read_fast) emits have no bare quote.
    #[inline]
    pub(super) fn is_quoted(&self) -> bool {
        self.fast_path
            .as_ref()
            .is_some_and(|fast_path| fast_path.is_quoted)
    }

    /// Also reads the field of the forwarded client: a header, or a variable of that name.
    #[must_use]
    pub fn with_forwarded(mut self, header: &FieldKind) -> Self {
        let called = |(written, _): &(String, FieldKind)| matches!(header, FieldKind::Header(name) if is_named(written, name));
        let wanted = self
            .field_names
            .iter()
            .position(|(_, m)| m == header)
            .or_else(|| self.field_names.iter().position(called));
        match wanted.and_then(|at| self.fields.get_mut(at)) {
            Some(field) if field.slot == FieldSlot::Unused => field.slot = FieldSlot::Forwarded,
            Some(field) if field.slot == FieldSlot::Client && self.client != ClientField::Peer => {
                self.client = ClientField::Forwarded;
            }
            _ => return self,
        }
        self.with_sections()
    }

    /// The header in the place of the client, if any client can send it; as in the format.
    #[must_use]
    pub fn client_header(&self) -> Option<&str> {
        let at = self
            .fields
            .iter()
            .position(|field| field.slot == FieldSlot::Client)
            .filter(|_| self.client == ClientField::Header)?;
        match &self.field_names.get(at)?.1 {
            FieldKind::Header(name) => Some(name),
            _ => None,
        }
    }

    /// Whether a field has this kind and its values are used.
    pub(super) fn reads(&self, kind: &FieldKind) -> bool {
        let slot = FieldSlot::from_kind(kind);
        slot != FieldSlot::Unused && self.fields.iter().any(|field| field.slot == slot)
    }

    /// Whether a line has as many columns as were declared, without regard to quotes.
    pub(super) fn has_declared_columns(&self, line: &[u8]) -> bool {
        let separator = self.fields.first().map_or(b' ', FieldMatcher::key);
        memchr::memchr_iter(separator, line).count() + 1 == self.fields.len()
    }

    /// Whether a row has a value of its kind in each of the columns of the time, the client and the
    /// status that the format has. A missing value is of any kind.
    pub(super) fn has_kinds(&self, row: &Fields<'_>) -> bool {
        // An address or a name.
        let is_of_client = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_:[]%".contains(byte);
        let has_time = [FieldKind::Time, FieldKind::Date];
        row.has_plausible_status()
            && row.client.iter().all(is_of_client)
            && (row.time != TimeField::Parsed(None)
                || !has_time.iter().any(|kind| self.reads(kind)))
    }

    /// Whether it reads the field of the forwarded client.
    #[must_use]
    pub fn has_forwarded(&self) -> bool {
        self.client == ClientField::Forwarded
            || self
                .fields
                .iter()
                .any(|field| field.slot == FieldSlot::Forwarded)
    }

    /// The name, kind and text of each field of a line. For display: this allocates.
    #[must_use]
    pub fn split(&self, line: &[u8]) -> Option<Vec<(&str, &FieldKind, Vec<u8>)>> {
        let (mut split, mut spaced) = (Vec::new(), Vec::new());
        let line = if self.is_spaced {
            single_blanks(line, &mut spaced)
        } else {
            line
        };
        self.texts(line, &mut ReadingBuffers::default(), |number, text| {
            let (name, kind) = &self.field_names[number];
            split.push((name.as_str(), kind, text.to_vec()));
        })?;
        Some(split)
    }

    /// Whether a line may be in this format, with a time and an address or no client, as far as its
    /// first two fields show.
    pub(super) fn may_read(&self, line: &[u8]) -> bool {
        // Where fields may be read in several ways, the first ones are not known before the others.
        let checked = self.sections.first().map_or(2, |section| section.first);
        if self.is_spaced || self.is_columns || self.pairs.is_some() {
            return true;
        }
        let Some(mut rest) = self.after_start(line) else {
            return false;
        };
        for (number, field) in self.fields.iter().take(checked.min(2)).enumerate() {
            // An address has no blank.
            let is_client =
                number == 0 && field.slot == FieldSlot::Client && self.client == ClientField::Peer;
            if is_client && field.key() == b' ' && !field.is_word(rest) {
                return false;
            }
            let Some((text, after)) = field.take(rest) else {
                return false;
            };
            if is_client
                && field.trim == TrimMode::Nothing
                && !matches!(text, b"" | b"-")
                && Client::parse(text).address().is_none()
            {
                return false;
            }
            let is_time = || text.len() >= MIN_TIME && LogTime::parse_any_format(text).is_some();
            if field.slot == FieldSlot::Time && self.time == TimeFormat::Written && !is_time() {
                return false;
            }
            rest = after;
        }
        true
    }

    /// Whether each line of the format begins with the same text.
    pub(super) fn starts_with_literal(&self) -> bool {
        !self.start.is_empty()
    }

    #[inline]
    fn after_start<'a>(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        let is_remark = self.is_columns && w3c::is_directive(line);
        if is_remark || !begins(line, &self.start) {
            None
        } else {
            line.get(self.start.len()..)
        }
    }

    /// Sets an additional encoding of texts.
    pub(super) fn with_encoding(self, encoding: Encoding) -> Self {
        Self { encoding, ..self }.with_sections()
    }

    /// Decides which parts of the format a client may have read wrongly, and whether there is a
    /// fast path.
    fn with_sections(self) -> Self {
        // Only an escaped text has neither quotes nor control characters.
        let escapes = match (self.escapes, self.encoding) {
            _ if self.is_unescaped => None,
            (Escapes::None, Encoding::No | Encoding::Plus | Encoding::Percent) => None,
            (escapes, _) => Some(escapes),
        };
        let parser = Self {
            sections: sections(
                &self.fields[..self.languages.len()],
                &self.languages,
                escapes,
            ),
            ..self
        };
        Self {
            fast_path: FastPath::from_parser(&parser),
            ..parser
        }
    }
}

/// Whether a field such as `$real_ip` or `%{Real-IP}e` has this name; dashes and underscores are
/// equal.
fn is_named(written: &str, name: &str) -> bool {
    let bare = written
        .trim_start_matches(['$', '%', '{'])
        .split('}')
        .next()
        .unwrap_or_default();
    let letters = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    letters(bare) == letters(name)
}

/// What the fast path needs of a format.
#[derive(Debug, Clone)]
struct FastPath {
    /// The value slot of each field.
    value_slots: Box<[FieldSlot]>,
    is_clf: bool,
    /// The request is in one field, and not in parts.
    has_request_line: bool,
    escapes: Escapes,
    /// Request, referer and agent are between quotes and escaped, so that they have no bare quote.
    is_quoted: bool,
    checked: Box<[CheckedPart]>,
}

/// A part that ends at a quote, and that a client may have read wrongly.
#[derive(Debug, Clone, Copy)]
struct CheckedPart {
    first: usize,
    last: usize,
    /// Its blanks if no client did; any number where its time shows which they are.
    blanks: Option<usize>,
    /// The bytes between its last field and the quote.
    gap: usize,
}

impl FastPath {
    /// `None` if the format is not simple.
    fn from_parser(parser: &FormatLineParser) -> Option<Self> {
        let is_clf = parser.time == TimeFormat::Clf;
        let has_request_line = parser.request_form == RequestForm::Line;
        let is_simple = parser.encoding == Encoding::No
            && (has_request_line || parser.request_form == RequestForm::Parts)
            && parser.client == ClientField::Peer
            && !(parser.is_columns || parser.is_spaced || parser.pairs.is_some());
        let are_anchored = parser
            .sections
            .iter()
            .filter(|section| !section.is_anchored_time())
            .count()
            <= 1;
        if !is_simple || !are_anchored || !is_clf && parser.time != TimeFormat::Written {
            return None;
        }
        let mut checked = Vec::new();
        for section in &parser.sections {
            let (first, last) = (section.first, section.first + section.len() - 1);
            match section.before_quote() {
                Some((blanks, gap)) => checked.push(CheckedPart {
                    first,
                    last,
                    blanks,
                    gap,
                }),
                None if section.is_anchored_time() => {}
                None => return None,
            }
        }
        let value_slots = parser
            .fields
            .iter()
            .map(value_slot)
            .collect::<Option<Box<[_]>>>()?;
        let has = |slot| parser.fields.iter().any(|field| field.slot == slot);
        // Which of them counts depends on the line.
        if has(FieldSlot::Target) && (has(FieldSlot::Path) || has(FieldSlot::Query)) {
            return None;
        }
        let is_text = |slot| {
            matches!(
                slot,
                FieldSlot::Request | FieldSlot::Referer | FieldSlot::UserAgent
            )
        };
        let is_quoted = parser.escapes == Escapes::Written
            && value_slots
                .iter()
                .zip(&parser.fields)
                .all(|(p, field)| !is_text(*p) || is_quoted(field));
        Some(Self {
            value_slots,
            is_clf,
            has_request_line,
            escapes: parser.escapes,
            is_quoted,
            checked: checked.into(),
        })
    }

    /// Parses a line after its literal start and emits its fields; `false` if it is not simple.
    #[expect(
        clippy::inline_always,
        reason = "in the line loop; so large an answer would go through memory"
    )]
    #[inline(always)]
    fn emit(
        &self,
        fields: &[FieldMatcher],
        (line, start): (&[u8], usize),
        first_quote: impl Fn(usize) -> Option<usize>,
        time: &mut Vec<u8>,
        emit: impl FnOnce(&Fields<'_>),
    ) -> bool {
        let mut values = FastValues::new(line);
        let (mut at, mut part_end) = (start, None);
        for (number, (field, slot)) in fields.iter().zip(&self.value_slots).enumerate() {
            if let Some(part) = self.checked.iter().find(|part| part.first == number) {
                let has_blanks = |text| part.blanks.is_none_or(|blanks| blanks_in(text) == blanks);
                part_end = first_quote(at).filter(|quote| {
                    !line[..*quote].ends_with(b"\\") && has_blanks(&line[at..*quote])
                });
                if part_end.is_none() {
                    return false;
                }
            }
            let Some(end) = end(field, line, at, &first_quote) else {
                return false;
            };
            // A field that takes the quote is another reading.
            if self
                .checked
                .iter()
                .any(|part| part.last == number && part_end != Some(end + part.gap))
            {
                return false;
            }
            // A quote before the request is of no server: the other path decides.
            if *slot == FieldSlot::Client
                && !(end - at <= MAX_IPV4 && are_within(&line[at..end], b'.', b'9'))
                && (first_quote(at).is_some_and(|quote| quote < end) || !is_bare(&line[at..end]))
            {
                return false;
            }
            values.set_span(*slot, at, end);
            at = end + field.suffix().len();
        }
        let is_read = at == line.len() && u32::try_from(at).is_ok();
        if is_read {
            emit(&self.fields(&values, time));
        }
        is_read
    }

    #[expect(
        clippy::inline_always,
        reason = "in the line loop; so large an answer would go through memory"
    )]
    #[inline(always)]
    fn fields<'a>(&self, values: &FastValues<'a>, buffers: &'a mut Vec<u8>) -> Fields<'a> {
        // A dash is an empty value, except as a request.
        let value = |slot| {
            Some(values.get(slot))
                .filter(|text| *text != b"-")
                .unwrap_or_default()
        };
        let time = value(FieldSlot::Time);
        Fields {
            client: value(FieldSlot::Client),
            host: value(FieldSlot::Host),
            time: TimeField::Text(
                if !self.is_clf && iso_time::iso_time_to_clf(time, buffers) {
                    buffers
                } else {
                    time
                },
            ),
            request: if self.has_request_line {
                RequestField::Line(values.get(FieldSlot::Request))
            } else {
                RequestField::Parts {
                    method: value(FieldSlot::Method),
                    target: value(FieldSlot::Target),
                    query: value(FieldSlot::Query),
                    protocol: value(FieldSlot::Protocol),
                }
            },
            status: value(FieldSlot::Status),
            bytes: value(FieldSlot::Bytes),
            referer: value(FieldSlot::Referer),
            user_agent: value(FieldSlot::UserAgent),
            user: value(FieldSlot::User),
            escapes: self.escapes,
            ..Fields::default()
        }
    }
}

/// The shortest time, seconds since 1970.
const MIN_TIME: usize = "100000000".len();

/// The longest IPv4 address, in bytes. A client of digits and dots is bare.
const MAX_IPV4: usize = 15;

/// The slot of a field; `None` if the field is not simple.
fn value_slot(field: &FieldMatcher) -> Option<FieldSlot> {
    let is_simple = matches!(
        field.stop,
        Delimiter::Near
            | Delimiter::Far
            | Delimiter::After(_)
            | Delimiter::Blanks(_)
            | Delimiter::Width(_)
            | Delimiter::List
            | Delimiter::NearQuote
            | Delimiter::FarQuote
            | Delimiter::End { .. }
    );
    if !is_simple || field.trim != TrimMode::Nothing {
        return None;
    }
    match field.slot {
        FieldSlot::Path => Some(FieldSlot::Target),
        FieldSlot::Forwarded | FieldSlot::Date | FieldSlot::TimeOfDay | FieldSlot::Url => None,
        slot => Some(slot),
    }
}

/// The line with each run of blanks as a single one, except in quotes, and without those at its
/// start.
fn single_blanks<'a>(line: &'a [u8], spaced: &'a mut Vec<u8>) -> &'a [u8] {
    let line = line.trim_ascii_start();
    if memchr::memmem::find(line, b"  ").is_none() {
        return line;
    }
    spaced.clear();
    let mut is_quoted = false;
    for (at, &byte) in line.iter().enumerate() {
        is_quoted ^= byte == b'"' && !is_escaped(line, at);
        if is_quoted || byte != b' ' || spaced.last() != Some(&b' ') {
            spaced.push(byte);
        }
    }
    spaced
}

fn is_quoted(field: &FieldMatcher) -> bool {
    matches!(
        field.stop,
        Delimiter::NearQuote | Delimiter::FarQuote | Delimiter::End { quoted: true, .. }
    )
}

fn blanks_in(text: &[u8]) -> usize {
    memchr::memchr_iter(b' ', text).count()
}

/// The end of a field that starts at `at`; `None` if it is not simple.
#[inline]
fn end(
    field: &FieldMatcher,
    line: &[u8],
    at: usize,
    first_quote: impl Fn(usize) -> Option<usize>,
) -> Option<usize> {
    // A backslash before the quote may or may not escape it.
    let is_bare = |quote: usize| quote == at || line[quote - 1] != b'\\';
    match field.stop {
        Delimiter::NearQuote | Delimiter::FarQuote => {
            first_quote(at).filter(|quote| is_bare(*quote) && field.fits(line, *quote))
        }
        Delimiter::End {
            quoted: true,
            number,
        } => {
            let end = line
                .len()
                .checked_sub(field.suffix().len())
                .filter(|end| *end >= at)?;
            let is_end = is_bare(end)
                && first_quote(at).is_none_or(|quote| quote >= end)
                && begins(&line[end..], field.suffix());
            (is_end && !number).then_some(end)
        }
        Delimiter::Width(width) => {
            Some(at + usize::from(width)).filter(|end| field.fits(line, *end))
        }
        Delimiter::Near => Some(at + field.near(line.get(at..)?)?),
        _ => Some(at + field.take(line.get(at..)?)?.0.len()),
    }
}

#[cfg(test)]
mod tests;
