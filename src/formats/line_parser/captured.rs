//! From texts in their slots to the fields of a line.
//!
//! What a product codes once more (`+` for a space, `%22`, `#22`) is undone here, into buffers that is kept between lines.
//! Escapes stay: they are undone with the request.

use super::FormatLineParser;
use super::field::{CaptureSlot, TrimMode};
use crate::formats::{FieldBuffers, Fields, RequestField, TimeField, iso};
use crate::log_entry::RequestLine;
use crate::time::LogTime;

/// How texts are encoding beside or instead of escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::formats) enum Encoding {
    /// Not at all.
    No,
    /// `+` for a space in headers: IIS.
    Plus,
    /// `%HH` once more in all texts: `CloudFront`.
    Percent,
    /// `#HH`: `HAProxy`.
    Hash,
}

/// How it is said what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestForm {
    /// The request line in one piece.
    Line,
    /// The request line with a whole address in it.
    LineWithUrl,
    /// Host and target in one, perhaps with method and protocol elsewhere.
    Url,
    /// Method, target or path and query, protocol.
    Parts,
}

/// How the time is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TimeFormat {
    /// As the Common Log Format has it.
    Clf,
    /// In a form that can be told.
    Written,
    /// In a form of `strftime`.
    Strftime(String),
    /// Day and time of the day in fields of their own.
    DateAndTime,
}

/// The texts of a line, each in its slot.
#[derive(Debug, Default)]
pub(super) struct CapturedFields<'a>([Option<&'a [u8]>; CaptureSlot::COUNT]);

impl<'a> CapturedFields<'a> {
    /// Puts a text into its slot. A dash is what a log writes for nothing; but a request may be a dash.
    #[inline]
    pub(super) fn put(&mut self, slot: CaptureSlot, text: &'a [u8], trim: TrimMode) {
        let text = match trim {
            TrimMode::Nothing => text,
            TrimMode::Port => without_port(text),
            TrimMode::QueryMark => text.strip_prefix(b"?").unwrap_or(text),
        };
        self.0[slot as usize] = Some(text).filter(|text| !matches!(text, [b'-']) || slot == CaptureSlot::Request);
    }

    #[inline]
    fn get(&self, slot: CaptureSlot) -> &'a [u8] {
        self.0[slot as usize].unwrap_or_default()
    }

    /// The fields of the line.
    #[inline]
    pub(super) fn fields(&self, parser: &FormatLineParser, buffers: &'a mut FieldBuffers) -> Fields<'a> {
        let encoding = parser.encoding;
        let FieldBuffers { forwarded, request, target, query, referer, user_agent, time, .. } = buffers;
        let (host, asked) = match parser.asked {
            RequestForm::Line => {
                (self.get(CaptureSlot::Host), RequestField::Line(encoding.decode(self.get(CaptureSlot::Request), request)))
            }
            RequestForm::LineWithUrl => self.line_with_url(encoding.decode(self.get(CaptureSlot::Request), request)),
            RequestForm::Url => self.url(encoding.decode(self.get(CaptureSlot::Url), target)),
            RequestForm::Parts => (self.get(CaptureSlot::Host), self.parts(encoding, target, query)),
        };
        Fields {
            client: if parser.client_is_list { client_is_list(self.get(CaptureSlot::Client)) } else { self.get(CaptureSlot::Client) },
            forwarded: encoding.decode_header(self.get(CaptureSlot::Forwarded), forwarded),
            host,
            time: self.time(&parser.time, time),
            asked,
            status: self.get(CaptureSlot::Status),
            bytes: self.get(CaptureSlot::Bytes),
            referer: encoding.decode_header(self.get(CaptureSlot::Referer), referer),
            user_agent: encoding.decode_header(self.get(CaptureSlot::UserAgent), user_agent),
            escapes: parser.escapes,
        }
    }

    /// The host of its own field, or else that of an address.
    fn host_or(&self, other: &'a [u8]) -> &'a [u8] {
        if self.get(CaptureSlot::Host).is_empty() { other } else { self.get(CaptureSlot::Host) }
    }

    fn line_with_url(&self, request: &'a [u8]) -> (&'a [u8], RequestField<'a>) {
        let RequestLine { method, target, protocol } = RequestLine::parse(request);
        if method.is_empty() || memchr::memmem::find(target, b"://").is_none() {
            return (self.get(CaptureSlot::Host), RequestField::Line(request));
        }
        let (host, target) = split_url(target);
        (self.host_or(host), RequestField::Parts { method, target, query: b"", protocol })
    }

    fn url(&self, url: &'a [u8]) -> (&'a [u8], RequestField<'a>) {
        let (host, target) = split_url(url);
        let (method, protocol) = (self.get(CaptureSlot::Method), self.get(CaptureSlot::Protocol));
        (self.host_or(host), RequestField::Parts { method, target, query: b"", protocol })
    }

    fn parts(&self, encoding: Encoding, target: &'a mut Vec<u8>, query: &'a mut Vec<u8>) -> RequestField<'a> {
        let (method, protocol) = (self.get(CaptureSlot::Method), self.get(CaptureSlot::Protocol));
        let whole = self.get(CaptureSlot::Target);
        if !whole.is_empty() {
            return RequestField::Parts { method, target: encoding.decode(whole, target), query: b"", protocol };
        }
        let apart = self.get(CaptureSlot::Query);
        RequestField::Parts {
            method,
            target: encoding.decode(self.get(CaptureSlot::Path), target),
            query: encoding.decode(apart, query),
            protocol,
        }
    }

    #[inline]
    fn time(&self, form: &TimeFormat, buffers: &'a mut Vec<u8>) -> TimeField<'a> {
        let time = self.get(CaptureSlot::Time);
        let rewritten = match form {
            TimeFormat::Clf => return TimeField::Clf(time),
            TimeFormat::DateAndTime => iso::date_and_time_to_clf(self.get(CaptureSlot::Date), self.get(CaptureSlot::TimeOfDay), buffers),
            TimeFormat::Written | TimeFormat::Strftime(_) => iso::to_clf(time, buffers),
        };
        if rewritten {
            return TimeField::Clf(buffers);
        }
        TimeField::Parsed(match form {
            TimeFormat::Clf | TimeFormat::Written => LogTime::parse_any_format(time),
            TimeFormat::DateAndTime => LogTime::parse_date_and_time(self.get(CaptureSlot::Date), self.get(CaptureSlot::TimeOfDay)),
            TimeFormat::Strftime(pattern) => LogTime::parse_any_format(time).or_else(|| by_pattern(pattern, time)),
        })
    }
}

/// The first address of a header.
fn client_is_list(header: &[u8]) -> &[u8] {
    header.iter().position(|b| *b == b',').map_or(header, |end| &header[..end])
}

impl Encoding {
    /// A text that is no header.
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
        if self == Self::Plus { spaced(text, buffers) } else { self.decode(text, buffers) }
    }
}

/// A space for each `+`.
fn spaced<'a>(text: &'a [u8], buffers: &'a mut Vec<u8>) -> &'a [u8] {
    if memchr::memchr(b'+', text).is_none() {
        return text;
    }
    buffers.clear();
    buffers.extend(text.iter().map(|&b| if b == b'+' { b' ' } else { b }));
    buffers
}

/// Undoes `%HH` or `#HH` once.
fn undo<'a>(mark: u8, text: &'a [u8], buffers: &'a mut Vec<u8>) -> &'a [u8] {
    if memchr::memchr(mark, text).is_none() {
        return text;
    }
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    buffers.clear();
    let mut rest = text;
    while let [byte, suffix @ ..] = rest {
        let encoding = match suffix {
            [high, low, suffix @ ..] if *byte == mark => digit(*high).zip(digit(*low)).map(|(high, low)| (high << 4 | low, suffix)),
            _ => None,
        };
        let (byte, suffix) = encoding.unwrap_or((*byte, suffix));
        buffers.push(byte);
        rest = suffix;
    }
    buffers
}

/// Host and target of an address, its scheme before it or not.
fn split_url(url: &[u8]) -> (&[u8], &[u8]) {
    let scheme = memchr::memmem::find(url, b"://").filter(|end| url[..*end].iter().all(u8::is_ascii_alphanumeric));
    let rest = scheme.map_or(url, |end| &url[end + 3..]);
    let end = rest.iter().position(|b| matches!(b, b'/' | b'?')).unwrap_or(rest.len());
    let (host, target) = rest.split_at(end);
    (host, if target.is_empty() { b"/" } else { target })
}

/// An address without the port suffix it.
fn without_port(text: &[u8]) -> &[u8] {
    match memchr::memrchr(b':', text) {
        Some(colon) if text[colon + 1..].iter().all(|b| b.is_ascii_digit() || *b == b'-') => &text[..colon],
        _ => text,
    }
}

/// The time in `text`, written by a pattern of `strftime`; UTC where the pattern has no offset.
#[cold]
fn by_pattern(pattern: &str, text: &[u8]) -> Option<LogTime> {
    let time = jiff::fmt::strtime::BrokenDownTime::parse(pattern, text).ok()?;
    let offset = time.offset().unwrap_or(jiff::tz::Offset::UTC);
    let at = time.to_datetime().ok().and_then(|local| offset.to_timestamp(local).ok()).or_else(|| time.to_timestamp().ok())?;
    Some(LogTime { utc: at.as_second(), offset: i16::try_from(offset.seconds() / 60).ok()? })
}
