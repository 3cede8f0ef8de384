//! From texts in their slots to the fields of a line.
//!
//! What a product codes once more (`+` for a space, `%22`, `#22`) is undone here, into room that is kept between lines.
//! Escapes stay: they are undone with the request.

use super::Plan;
use super::field::{Slot, Trim};
use crate::format::{Asked, Fields, Room, When, iso};
use crate::log_entry::RequestLine;
use crate::time::LogTime;

/// How texts are coded beside or instead of escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Coded {
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
pub(super) enum AskedForm {
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
pub(super) enum TimeForm {
    /// As the Common Log Format has it.
    Clf,
    /// In a form that can be told.
    Written,
    /// In a form of `strftime`.
    Strftime(String),
    /// Day and time of the day in fields of their own.
    Apart,
}

/// The texts of a line, each in its slot.
#[derive(Debug, Default)]
pub(super) struct Filled<'a>([Option<&'a [u8]>; Slot::COUNT]);

impl<'a> Filled<'a> {
    /// Puts a text into its slot. A dash is what a log writes for nothing; but a request may be a dash.
    #[inline]
    pub(super) fn put(&mut self, slot: Slot, text: &'a [u8], trim: Trim) {
        let text = match trim {
            Trim::Nothing => text,
            Trim::Port => without_port(text),
            Trim::QueryMark => text.strip_prefix(b"?").unwrap_or(text),
        };
        self.0[slot as usize] = Some(text).filter(|text| !matches!(text, [b'-']) || slot == Slot::Request);
    }

    #[inline]
    fn get(&self, slot: Slot) -> &'a [u8] {
        self.0[slot as usize].unwrap_or_default()
    }

    /// The fields of the line.
    #[inline]
    pub(super) fn fields(&self, plan: &Plan, room: &'a mut Room) -> Fields<'a> {
        let coded = plan.coded;
        let Room { forwarded, request, target, query, referer, user_agent, time, .. } = room;
        let (host, asked) = match plan.asked {
            AskedForm::Line => (self.get(Slot::Host), Asked::Line(coded.decode(self.get(Slot::Request), request))),
            AskedForm::LineWithUrl => self.line_with_url(coded.decode(self.get(Slot::Request), request)),
            AskedForm::Url => self.url(coded.decode(self.get(Slot::Url), target)),
            AskedForm::Parts => (self.get(Slot::Host), self.parts(coded, target, query)),
        };
        Fields {
            client: if plan.first_address { first_of(self.get(Slot::Client)) } else { self.get(Slot::Client) },
            forwarded: coded.decode_header(self.get(Slot::Forwarded), forwarded),
            host,
            time: self.time(&plan.time, time),
            asked,
            status: self.get(Slot::Status),
            bytes: self.get(Slot::Bytes),
            referer: coded.decode_header(self.get(Slot::Referer), referer),
            user_agent: coded.decode_header(self.get(Slot::UserAgent), user_agent),
            escapes: plan.escapes,
        }
    }

    /// The host of its own field, or else that of an address.
    fn host_or(&self, other: &'a [u8]) -> &'a [u8] {
        if self.get(Slot::Host).is_empty() { other } else { self.get(Slot::Host) }
    }

    fn line_with_url(&self, request: &'a [u8]) -> (&'a [u8], Asked<'a>) {
        let RequestLine { method, target, protocol } = RequestLine::parse(request);
        if method.is_empty() || memchr::memmem::find(target, b"://").is_none() {
            return (self.get(Slot::Host), Asked::Line(request));
        }
        let (host, target) = split_url(target);
        (self.host_or(host), Asked::Parts { method, target, query: b"", protocol })
    }

    fn url(&self, url: &'a [u8]) -> (&'a [u8], Asked<'a>) {
        let (host, target) = split_url(url);
        let (method, protocol) = (self.get(Slot::Method), self.get(Slot::Protocol));
        (self.host_or(host), Asked::Parts { method, target, query: b"", protocol })
    }

    fn parts(&self, coded: Coded, target: &'a mut Vec<u8>, query: &'a mut Vec<u8>) -> Asked<'a> {
        let (method, protocol) = (self.get(Slot::Method), self.get(Slot::Protocol));
        let whole = self.get(Slot::Target);
        if !whole.is_empty() {
            return Asked::Parts { method, target: coded.decode(whole, target), query: b"", protocol };
        }
        let apart = self.get(Slot::Query);
        Asked::Parts { method, target: coded.decode(self.get(Slot::Path), target), query: coded.decode(apart, query), protocol }
    }

    #[inline]
    fn time(&self, form: &TimeForm, room: &'a mut Vec<u8>) -> When<'a> {
        let time = self.get(Slot::Time);
        let rewritten = match form {
            TimeForm::Clf => return When::Clf(time),
            TimeForm::Apart => iso::date_and_time_to_clf(self.get(Slot::Date), self.get(Slot::TimeOfDay), room),
            TimeForm::Written | TimeForm::Strftime(_) => iso::to_clf(time, room),
        };
        if rewritten {
            return When::Clf(room);
        }
        When::Read(match form {
            TimeForm::Clf | TimeForm::Written => LogTime::parse_written(time),
            TimeForm::Apart => LogTime::parse_date_and_time(self.get(Slot::Date), self.get(Slot::TimeOfDay)),
            TimeForm::Strftime(pattern) => LogTime::parse_written(time).or_else(|| by_pattern(pattern, time)),
        })
    }
}

/// The first address of a header.
fn first_of(header: &[u8]) -> &[u8] {
    header.iter().position(|b| *b == b',').map_or(header, |end| &header[..end])
}

impl Coded {
    /// A text that is no header.
    #[inline]
    fn decode<'a>(self, text: &'a [u8], room: &'a mut Vec<u8>) -> &'a [u8] {
        match self {
            Self::No | Self::Plus => text,
            Self::Percent => undo(b'%', text, room),
            Self::Hash => undo(b'#', text, room),
        }
    }

    #[inline]
    fn decode_header<'a>(self, text: &'a [u8], room: &'a mut Vec<u8>) -> &'a [u8] {
        if self == Self::Plus { spaced(text, room) } else { self.decode(text, room) }
    }
}

/// A space for each `+`.
fn spaced<'a>(text: &'a [u8], room: &'a mut Vec<u8>) -> &'a [u8] {
    if memchr::memchr(b'+', text).is_none() {
        return text;
    }
    room.clear();
    room.extend(text.iter().map(|&b| if b == b'+' { b' ' } else { b }));
    room
}

/// Undoes `%HH` or `#HH` once.
fn undo<'a>(mark: u8, text: &'a [u8], room: &'a mut Vec<u8>) -> &'a [u8] {
    if memchr::memchr(mark, text).is_none() {
        return text;
    }
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    room.clear();
    let mut rest = text;
    while let [byte, behind @ ..] = rest {
        let coded = match behind {
            [high, low, behind @ ..] if *byte == mark => digit(*high).zip(digit(*low)).map(|(high, low)| (high << 4 | low, behind)),
            _ => None,
        };
        let (byte, behind) = coded.unwrap_or((*byte, behind));
        room.push(byte);
        rest = behind;
    }
    room
}

/// Host and target of an address, its scheme before it or not.
fn split_url(url: &[u8]) -> (&[u8], &[u8]) {
    let scheme = memchr::memmem::find(url, b"://").filter(|end| url[..*end].iter().all(u8::is_ascii_alphanumeric));
    let rest = scheme.map_or(url, |end| &url[end + 3..]);
    let end = rest.iter().position(|b| matches!(b, b'/' | b'?')).unwrap_or(rest.len());
    let (host, target) = rest.split_at(end);
    (host, if target.is_empty() { b"/" } else { target })
}

/// An address without the port behind it.
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
