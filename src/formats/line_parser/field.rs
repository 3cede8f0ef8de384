//! Matches one field of a format in a line, and converts captured texts to the fields of the line.
//!
//! A field ends where its suffix, the literal text after it, starts. Clients may put such text into
//! a field, so a quoted field ends at an unescaped quote, and a number must follow where the next
//! field is a number. A line that does not match is in another format. Matching never fails or
//! allocates.
//!
//! Encodings of products (`+` for a space, `%22`, `#22`) are undone into reused buffers; escapes
//! are undone later, with the request.

use memchr::memchr;

use super::{ClientField, FormatLineParser, Quotes, Unknown};
use crate::formats::bytes::{begins, marks_of_16};
use crate::formats::clf::is_escaped;
use crate::formats::fields::{FieldSlot, TextBuffers};
use crate::formats::{Fields, RequestField, TimeField, iso_time};
use crate::log::client::Client;
use crate::log::log_entry::RequestLine;
use crate::log::time::LogTime;

/// The part of a field that is not part of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrimMode {
    /// None.
    Nothing,
    /// The port after an address.
    Port,
    /// The question mark before a query.
    QueryMark,
}

/// A field and its suffix, compactly stored for the line loop.
#[derive(Debug, Clone)]
pub(super) struct FieldMatcher {
    /// The first eight bytes of the suffix.
    word: u64,
    /// The relevant bits of `word`.
    mask: u64,
    /// The literal text after the field; may be empty for the last field.
    suffix: Box<[u8]>,
    /// The first byte of the suffix.
    key: u8,
    /// Whether a number follows the suffix.
    number_follows: bool,
    pub(super) trim: TrimMode,
    pub(super) slot: FieldSlot,
    pub(super) stop: Delimiter,
}

/// How the end of a field is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delimiter {
    /// The first match, usually near.
    Near,
    /// The first match, possibly far away.
    Far,
    /// The match after this many others, as the field contains the same text.
    After(u16),
    /// The first match after the field's blanks, of which there are this many.
    Blanks(u16),
    /// After this many bytes, usually.
    Width(u16),
    /// The first match that is not a separator between two values.
    List,
    /// The first unescaped quote that matches, usually near.
    NearQuote,
    /// The first unescaped quote that matches, possibly far away.
    FarQuote,
    /// The first space after a protocol, for a request without quotes.
    Protocol,
    /// The end of the line.
    End {
        /// The field must not contain an unescaped quote.
        quoted: bool,
        /// The field is a number.
        number: bool,
    },
    /// A separator.
    Column {
        /// Whether the column may be quoted and then contain the separator.
        quotes: Quotes,
        /// The last column, which more columns may follow.
        last: bool,
    },
}

impl FieldMatcher {
    /// Creates a field that ends at `suffix`, found by `stop`.
    pub(super) fn new(slot: FieldSlot, stop: Delimiter, suffix: &[u8]) -> Self {
        let (mut word, mut mask) = ([0; 8], [0; 8]);
        for (at, byte) in suffix.iter().take(8).enumerate() {
            (word[at], mask[at]) = (*byte, u8::MAX);
        }
        Self {
            word: u64::from_le_bytes(word),
            mask: u64::from_le_bytes(mask),
            suffix: suffix.into(),
            key: suffix.first().copied().unwrap_or_default(),
            number_follows: false,
            trim: TrimMode::Nothing,
            slot,
            stop,
        }
    }

    /// Sets how the value is trimmed, and whether a number follows.
    pub(super) fn with(self, trim: TrimMode, number_follows: bool) -> Self {
        Self {
            number_follows,
            trim,
            ..self
        }
    }

    /// The field with another literal text after it.
    pub(super) fn ending_at(self, suffix: &[u8]) -> Self {
        Self::new(self.slot, self.stop, suffix).with(self.trim, false)
    }

    /// The first byte of the text after the field.
    pub(super) fn key(&self) -> u8 {
        self.key
    }

    /// The literal text after the field.
    pub(super) fn suffix(&self) -> &[u8] {
        &self.suffix
    }

    /// Splits the field off `rest`: returns its text and the text after the suffix.
    #[inline]
    pub(super) fn take<'a>(&self, rest: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let length = match self.stop {
            Delimiter::Near => self.near(rest)?,
            Delimiter::NearQuote => self.quote(rest, find_byte)?,
            Delimiter::FarQuote => self.quote(rest, memchr)?,
            Delimiter::Width(width) if self.fits(rest, usize::from(width)) => usize::from(width),
            Delimiter::End { quoted, number } => self.end(rest, quoted, number)?,
            Delimiter::Column {
                quotes: Quotes::Never,
                last: false,
            } => find_byte(self.key, rest)?,
            Delimiter::Far | Delimiter::Width(_) => self.first(rest, memchr)?,
            Delimiter::After(others) => self.suffix_positions(rest).nth(usize::from(others))?,
            Delimiter::Blanks(blanks) => self.after_blanks(rest, blanks)?,
            Delimiter::List => self.suffix_positions(rest).find(|at| !is_gap(rest, *at))?,
            Delimiter::Protocol => self.request(rest)?,
            Delimiter::Column { quotes, last } => return self.column(rest, quotes, last),
        };
        Some((rest.get(..length)?, rest.get(length + self.suffix.len()..)?))
    }

    /// Whether the field, after which there is a blank, can end at the first one.
    pub(super) fn is_word(&self, rest: &[u8]) -> bool {
        find_byte(self.key, rest).is_some_and(|end| self.fits(rest, end))
    }

    /// Whether the field can end at `at`.
    #[inline]
    pub(super) fn fits(&self, rest: &[u8], at: usize) -> bool {
        let Some(text) = rest.get(at..) else {
            return false;
        };
        let fits = match text.first_chunk() {
            Some(start) if self.suffix.len() <= 8 => {
                (u64::from_le_bytes(*start) ^ self.word) & self.mask == 0
            }
            _ => begins(text, &self.suffix),
        };
        fits && (!self.number_follows
            || matches!(text.get(self.suffix.len()), Some(b'0'..=b'9' | b'-')))
    }

    /// The first match, which is usually near.
    #[inline]
    pub(super) fn near(&self, rest: &[u8]) -> Option<usize> {
        self.first(rest, find_byte)
    }

    /// The first match.
    #[inline]
    fn first(&self, rest: &[u8], find: impl Fn(u8, &[u8]) -> Option<usize>) -> Option<usize> {
        let mut from = 0;
        loop {
            let at = from + find(self.key, rest.get(from..)?)?;
            if self.fits(rest, at) {
                return Some(at);
            }
            from = at + 1;
        }
    }

    /// The first match that this number of blanks precedes.
    fn after_blanks(&self, rest: &[u8], blanks: u16) -> Option<usize> {
        let from = match usize::from(blanks).checked_sub(1) {
            Some(others) => memchr::memchr_iter(b' ', rest).nth(others)? + 1,
            None => 0,
        };
        Some(from + self.first(rest.get(from..)?, memchr)?)
    }

    /// All matches.
    fn suffix_positions(&self, rest: &[u8]) -> impl Iterator<Item = usize> {
        memchr::memchr_iter(self.key, rest).filter(|at| self.fits(rest, *at))
    }

    #[inline]
    fn quote(&self, rest: &[u8], find: impl Fn(u8, &[u8]) -> Option<usize>) -> Option<usize> {
        let first = find(b'"', rest)?;
        let is_bare = first == 0 || rest[first - 1] != b'\\';
        if is_bare && self.fits(rest, first) {
            Some(first)
        } else {
            self.quote_after_others(rest)
        }
    }

    /// The rare case: the field contains quotes. Writers that do not escape may leave a backslash
    /// before the closing quote, so an escaped quote is the second choice.
    #[cold]
    fn quote_after_others(&self, rest: &[u8]) -> Option<usize> {
        self.suffix_positions(rest)
            .find(|at| !is_escaped(rest, *at))
            .or_else(|| self.suffix_positions(rest).next())
    }

    /// The end of a request without quotes that contains spaces.
    fn request(&self, rest: &[u8]) -> Option<usize> {
        let is_after_protocol = |at: &usize| {
            let word = rest[..*at].rsplit(|b| *b == b' ').next();
            word.is_some_and(|word| word.starts_with(b"HTTP/"))
        };
        self.suffix_positions(rest)
            .find(is_after_protocol)
            .or_else(|| self.suffix_positions(rest).next())
    }

    fn end(&self, rest: &[u8], quoted: bool, number: bool) -> Option<usize> {
        let (text, suffix) = rest.split_at_checked(rest.len().checked_sub(self.suffix.len())?)?;
        if !begins(suffix, &self.suffix) {
            return None;
        }
        let is_number = |text: &[u8]| {
            text.iter()
                .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-'))
        };
        if quoted && has_bare_quote(text) || number && !is_number(text) {
            return None;
        }
        Some(text.len())
    }

    /// Takes a column that may be quoted, although the format does not say so.
    pub(super) fn take_quoted<'a>(&self, rest: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        match self.stop {
            Delimiter::Column { last, .. } => self.column(rest, Quotes::Doubled, last),
            _ => self.take(rest),
        }
    }

    fn column<'a>(
        &self,
        rest: &'a [u8],
        quotes: Quotes,
        last: bool,
    ) -> Option<(&'a [u8], &'a [u8])> {
        let separator = self.key;
        let ends = |at: usize| rest.get(at).is_none_or(|b| *b == separator);
        let (text, end) = if let Some(inside) = rest
            .strip_prefix(b"\"")
            .filter(|_| quotes == Quotes::Doubled)
        {
            // Nothing may follow the closing quote but a separator: else a client could end its
            // column.
            doubled_end(inside)
                .filter(|close| ends(close + 2))
                .map(|close| (&inside[..close], close + 2))?
        } else {
            let end = find_byte(separator, rest).unwrap_or(rest.len());
            (rest.get(..end)?, end)
        };
        match rest.get(end..)? {
            [_, suffix @ ..] => Some((text, suffix)),
            [] => last.then_some((text, &[])),
        }
    }
}

/// The quote that ends a column, in which each other quote is written twice.
fn doubled_end(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let quote = from + memchr(b'"', text.get(from..)?)?;
        if text.get(quote + 1) != Some(&b'"') {
            return Some(quote);
        }
        from = quote + 2;
    }
}

/// Whether `text` contains an unescaped quote.
fn has_bare_quote(text: &[u8]) -> bool {
    memchr(b'"', text).is_some() && memchr::memchr_iter(b'"', text).any(|at| !is_escaped(text, at))
}

/// Whether the space at `at` is between two values of a list.
fn is_gap(text: &[u8], at: usize) -> bool {
    let before = text.get(at.wrapping_sub(1)).copied();
    text.get(at) == Some(&b' ')
        && (matches!(before, Some(b',' | b';'))
            || text[at + 1..].starts_with(b": ")
            || text[..at].ends_with(b" :"))
}

/// The first `key` in `text`; checks the first bytes before it calls a search.
#[inline]
fn find_byte(key: u8, text: &[u8]) -> Option<usize> {
    if let Some(start) = text.first_chunk::<16>() {
        let marks = marks_of_16(*start, key);
        if marks != 0 {
            return Some(marks.trailing_zeros() as usize / 8);
        }
    }
    memchr(key, text)
}

/// An encoding of texts, in addition to or instead of escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::formats) enum Encoding {
    /// None.
    No,
    /// `+` for a space in headers: IIS.
    Plus,
    /// `%HH` once more in all texts: `CloudFront`.
    Percent,
    /// `#HH`: `HAProxy`.
    Hash,
}

/// How the request is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestForm {
    /// As a request line.
    Line,
    /// As a request line with an absolute URL.
    LineWithUrl,
    /// Host and target in one field, with optional fields for method and protocol.
    Url,
    /// Method, target or path and query, protocol.
    Parts,
}

/// The format of the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TimeFormat {
    /// Common Log Format.
    Clf,
    /// Any format that can be detected.
    Written,
    /// A `strftime` format.
    Strftime(String),
    /// Date and time of day in separate fields.
    DateAndTime,
}

/// The captured texts of a line, by slot.
#[derive(Debug, Default)]
pub(super) struct CapturedFields<'a>([Option<&'a [u8]>; FieldSlot::COUNT]);

impl<'a> CapturedFields<'a> {
    /// Stores a captured text. A dash is an empty value, except as a request.
    #[inline]
    pub(super) fn set(&mut self, slot: FieldSlot, text: &'a [u8], trim: TrimMode) {
        let text = match trim {
            TrimMode::Nothing => text,
            TrimMode::Port => without_port(text),
            TrimMode::QueryMark => text.strip_prefix(b"?").unwrap_or(text),
        };
        self.0[slot as usize] =
            Some(text).filter(|text| !matches!(text, [b'-']) || slot == FieldSlot::Request);
    }

    #[inline]
    fn get(&self, slot: FieldSlot) -> &'a [u8] {
        self.0[slot as usize].unwrap_or_default()
    }

    /// The fields of the line.
    #[inline]
    pub(super) fn fields(
        &self,
        parser: &FormatLineParser,
        unknown: Unknown,
        buffers: &'a mut TextBuffers,
    ) -> Fields<'a> {
        let encoding = parser.encoding;
        let TextBuffers {
            forwarded,
            request,
            target,
            query,
            referer,
            user_agent,
            time,
            ..
        } = buffers;
        let (host, request_field) = match parser.request_form {
            RequestForm::Line => (
                self.get(FieldSlot::Host),
                RequestField::Line(encoding.decode(self.get(FieldSlot::Request), request)),
            ),
            RequestForm::LineWithUrl => {
                self.line_with_url(encoding.decode(self.get(FieldSlot::Request), request))
            }
            RequestForm::Url => self.url(encoding.decode(self.get(FieldSlot::Url), target)),
            RequestForm::Parts => (
                self.get(FieldSlot::Host),
                self.parts(encoding, target, query),
            ),
        };
        let in_place = self.get(FieldSlot::Client);
        let (client, listed) = match parser.client {
            _ if unknown.client => (&b""[..], &b""[..]),
            ClientField::Forwarded => (&b""[..], in_place),
            ClientField::Header => (&b""[..], self.get(FieldSlot::Forwarded)),
            // What is no address, the client sent.
            ClientField::ProxyList
                if memchr(b',', in_place).is_some()
                    || in_place != b"-" && Client::parse_address(in_place).is_none() =>
            {
                (&b""[..], self.get(FieldSlot::Forwarded))
            }
            ClientField::ProxyList | ClientField::Peer => {
                (in_place, self.get(FieldSlot::Forwarded))
            }
        };
        Fields {
            client,
            is_client_doubtful: client.is_empty() && (unknown.client || !in_place.is_empty()),
            is_without_peer: parser.client == ClientField::Forwarded,
            forwarded: encoding
                .decode_header(if unknown.forwarded { b"" } else { listed }, forwarded),
            host,
            time: self.time(&parser.time, time),
            request: request_field,
            status: self.get(FieldSlot::Status),
            bytes: self.get(FieldSlot::Bytes),
            referer: encoding.decode_header(self.get(FieldSlot::Referer), referer),
            user_agent: encoding.decode_header(self.get(FieldSlot::UserAgent), user_agent),
            user: self.get(FieldSlot::User),
            escapes: parser.escapes,
        }
    }

    /// The host field, or the host of a URL.
    fn host_or(&self, other: &'a [u8]) -> &'a [u8] {
        if self.get(FieldSlot::Host).is_empty() {
            other
        } else {
            self.get(FieldSlot::Host)
        }
    }

    fn line_with_url(&self, request: &'a [u8]) -> (&'a [u8], RequestField<'a>) {
        let RequestLine {
            method,
            target,
            protocol,
        } = RequestLine::parse(request);
        if method.is_empty() || memchr::memmem::find(target, b"://").is_none() {
            return (self.get(FieldSlot::Host), RequestField::Line(request));
        }
        let (host, target) = split_url(target);
        (
            self.host_or(host),
            RequestField::Parts {
                method,
                target,
                query: b"",
                protocol,
            },
        )
    }

    fn url(&self, url: &'a [u8]) -> (&'a [u8], RequestField<'a>) {
        let (host, target) = split_url(url);
        let (method, protocol) = (self.get(FieldSlot::Method), self.get(FieldSlot::Protocol));
        (
            self.host_or(host),
            RequestField::Parts {
                method,
                target,
                query: b"",
                protocol,
            },
        )
    }

    fn parts(
        &self,
        encoding: Encoding,
        target: &'a mut Vec<u8>,
        query: &'a mut Vec<u8>,
    ) -> RequestField<'a> {
        let (method, protocol) = (self.get(FieldSlot::Method), self.get(FieldSlot::Protocol));
        let whole = self.get(FieldSlot::Target);
        if !whole.is_empty() {
            return RequestField::Parts {
                method,
                target: encoding.decode(whole, target),
                query: b"",
                protocol,
            };
        }
        let apart = self.get(FieldSlot::Query);
        RequestField::Parts {
            method,
            target: encoding.decode(self.get(FieldSlot::Path), target),
            query: encoding.decode(apart, query),
            protocol,
        }
    }

    #[inline]
    fn time(&self, form: &TimeFormat, buffers: &'a mut Vec<u8>) -> TimeField<'a> {
        let time = self.get(FieldSlot::Time);
        let rewritten = match form {
            TimeFormat::Clf => return TimeField::Text(time),
            TimeFormat::DateAndTime => iso_time::iso_date_and_time_to_clf(
                self.get(FieldSlot::Date),
                self.get(FieldSlot::TimeOfDay),
                buffers,
            ),
            TimeFormat::Written | TimeFormat::Strftime(_) => {
                iso_time::iso_time_to_clf(time, buffers)
            }
        };
        if rewritten {
            return TimeField::Text(buffers);
        }
        TimeField::Parsed(match form {
            TimeFormat::Clf | TimeFormat::Written => LogTime::parse_any_format(time),
            TimeFormat::DateAndTime => LogTime::parse_date_and_time(
                self.get(FieldSlot::Date),
                self.get(FieldSlot::TimeOfDay),
            ),
            TimeFormat::Strftime(pattern) => {
                LogTime::parse_any_format(time).or_else(|| by_pattern(pattern, time))
            }
        })
    }
}

impl Encoding {
    /// Decodes a text that is not a header.
    #[inline]
    fn decode<'a>(self, text: &'a [u8], buffers: &'a mut Vec<u8>) -> &'a [u8] {
        match self {
            Self::No | Self::Plus => text,
            Self::Percent => undo(b'%', text, buffers),
            Self::Hash => undo(b'#', text, buffers),
        }
    }

    #[inline]
    fn decode_header<'a>(self, text: &'a [u8], buffers: &'a mut Vec<u8>) -> &'a [u8] {
        if self == Self::Plus {
            spaced(text, buffers)
        } else {
            self.decode(text, buffers)
        }
    }
}

/// Replaces each `+` by a space.
fn spaced<'a>(text: &'a [u8], buffers: &'a mut Vec<u8>) -> &'a [u8] {
    if memchr(b'+', text).is_none() {
        return text;
    }
    buffers.clear();
    buffers.extend(text.iter().map(|&b| if b == b'+' { b' ' } else { b }));
    buffers
}

/// Decodes `%HH` or `#HH` once.
fn undo<'a>(mark: u8, text: &'a [u8], buffers: &'a mut Vec<u8>) -> &'a [u8] {
    if memchr(mark, text).is_none() {
        return text;
    }
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    buffers.clear();
    let mut rest = text;
    while let [byte, suffix @ ..] = rest {
        let encoding = match suffix {
            [high, low, suffix @ ..] if *byte == mark => digit(*high)
                .zip(digit(*low))
                .map(|(high, low)| (high << 4 | low, suffix)),
            _ => None,
        };
        let (byte, suffix) = encoding.unwrap_or((*byte, suffix));
        buffers.push(byte);
        rest = suffix;
    }
    buffers
}

/// Host and target of a URL with an optional scheme.
fn split_url(url: &[u8]) -> (&[u8], &[u8]) {
    let scheme = memchr::memmem::find(url, b"://")
        .filter(|end| url[..*end].iter().all(u8::is_ascii_alphanumeric));
    let rest = scheme.map_or(url, |end| &url[end + 3..]);
    let end = rest
        .iter()
        .position(|b| matches!(b, b'/' | b'?'))
        .unwrap_or(rest.len());
    let (host, target) = rest.split_at(end);
    (host, if target.is_empty() { b"/" } else { target })
}

/// An address without its port.
fn without_port(text: &[u8]) -> &[u8] {
    match memchr::memrchr(b':', text) {
        Some(colon)
            if text[colon + 1..]
                .iter()
                .all(|b| b.is_ascii_digit() || *b == b'-') =>
        {
            &text[..colon]
        }
        _ => text,
    }
}

/// Parses a time by a `strftime` pattern; UTC if the pattern has no offset.
#[cold]
fn by_pattern(pattern: &str, text: &[u8]) -> Option<LogTime> {
    let time = jiff::fmt::strtime::BrokenDownTime::parse(pattern, text).ok()?;
    let offset = time.offset().unwrap_or(jiff::tz::Offset::UTC);
    let at = time
        .to_datetime()
        .ok()
        .and_then(|local| offset.to_timestamp(local).ok())
        .or_else(|| time.to_timestamp().ok())?;
    Some(LogTime {
        utc: at.as_second(),
        offset: i16::try_from(offset.seconds() / 60).ok()?,
    })
}
