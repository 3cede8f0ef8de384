//! What a column of a log is, by what all of its values look like.

use crate::formats::bytes::begins;
use crate::log::client::Client;
use crate::log::log_entry::{RequestLine, is_known_method};
use crate::log::time::LogTime;

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A request line.
    Request,
    /// A request line with an absolute URL.
    AbsoluteRequest,
    Method,
    Path,
    Url,
    Query,
    Protocol,
    /// An address, with a port after each.
    Address {
        ported: bool,
    },
    /// Some values are several addresses.
    Addresses,
    /// Date and time of day, in this many words.
    Time(u16),
    /// Seconds since 1970, or a part of them.
    Epoch,
    Date,
    TimeOfDay,
    Status,
    Number,
    Host,
    Agent,
    /// A URL, often missing.
    Referer,
    Other,
}

/// One text of each line.
#[derive(Debug, Clone)]
pub(super) struct LogColumn<'l> {
    pub(super) values: Vec<&'l [u8]>,
    /// Between double quotes.
    pub(super) is_quoted: bool,
    pub(super) kind: Kind,
}

/// A kind is certain if this many of ten values have it.
pub(super) const CERTAIN: usize = 9;

impl<'l> LogColumn<'l> {
    pub(super) fn new(values: Vec<&'l [u8]>, is_quoted: bool) -> Self {
        let kind = kind(&values);
        Self {
            values,
            is_quoted,
            kind,
        }
    }

    pub(super) fn is_address(&self) -> bool {
        matches!(self.kind, Kind::Address { .. } | Kind::Addresses)
    }

    /// The values that are not missing.
    pub(super) fn present(&self) -> impl Iterator<Item = &'l [u8]> {
        present(&self.values)
    }

    pub(super) fn is_constant(&self) -> bool {
        let mut values = self.present();
        let first = values.next();
        values.all(|value| Some(value) == first)
    }

    pub(super) fn has_each(&self) -> bool {
        self.present().count() == self.values.len()
    }
}

/// Whether a text stands for a missing value.
pub(in crate::formats) fn is_missing(text: &[u8]) -> bool {
    matches!(text, b"" | b"-" | b"(empty)")
}

fn present<'l>(values: &[&'l [u8]]) -> impl Iterator<Item = &'l [u8]> {
    values.iter().copied().filter(|value| !is_missing(value))
}

/// Whether a condition holds for nine of ten values, of those that are not missing.
fn are(values: &[&[u8]], is: impl Fn(&[u8]) -> bool) -> bool {
    let (mut all, mut other) = (0, 0);
    for value in present(values) {
        all += 1;
        other += usize::from(!is(value));
        // Most conditions are false for the first values already.
        if other * 10 > values.len() * (10 - CERTAIN) {
            return false;
        }
    }
    all > 0 && other * 10 <= all * (10 - CERTAIN)
}

fn kind(values: &[&[u8]]) -> Kind {
    let has = |is: fn(&[u8]) -> bool| present(values).any(is);
    let most = |is: fn(&[u8]) -> bool| {
        present(values).filter(|value| is(value)).count() * 2 > present(values).count()
    };
    if are(values, is_address) {
        let v4 = || present(values).filter(|value| value.contains(&b'.'));
        let is_ported =
            |value: &[u8]| is_ported_v4(value) || value.starts_with(b"[") && !value.ends_with(b"]");
        let ported = if v4().next().is_some() {
            v4().all(is_ported_v4)
        } else {
            present(values).all(is_ported)
        };
        return Kind::Address { ported };
    }
    if are(values, |value| is_address(value) || is_address_list(value)) {
        return Kind::Addresses;
    }
    // Each line has a request; clients may send one in another field.
    let is_of_most = present(values).count() * 2 > values.len();
    if is_of_most && are(values, is_request) {
        return if most(|value| is_url(RequestLine::parse(value).target)) {
            Kind::AbsoluteRequest
        } else {
            Kind::Request
        };
    }
    if is_of_most && are(values, is_known_method) {
        return Kind::Method;
    }
    if are(values, |value| begins(value, b"HTTP/")) {
        return Kind::Protocol;
    }
    if are(values, is_date_and_time) {
        return Kind::Time(words(values));
    }
    if are(values, |value| {
        LogTime::parse_date_and_time(value, b"00:00:00").is_some()
    }) {
        return Kind::Date;
    }
    if are(values, |value| {
        LogTime::parse_date_and_time(b"2026-01-01", value).is_some()
    }) {
        return Kind::TimeOfDay;
    }
    if are(values, is_status) {
        return Kind::Status;
    }
    if are(values, is_epoch) {
        return Kind::Epoch;
    }
    if are(values, |value| value.iter().all(u8::is_ascii_digit)) {
        return Kind::Number;
    }
    // Some clients send blanks in a target; no path has them in most lines.
    if are(values, |value| value.starts_with(b"/")) && most(|value| !value.contains(&b' ')) {
        return Kind::Path;
    }
    if are(values, is_url) {
        return if present(values).count() == values.len() {
            Kind::Url
        } else {
            Kind::Referer
        };
    }
    if are(values, is_host) {
        return Kind::Host;
    }
    // Clients send what they want as their agent, in most lines of a flood; a browser is in any log
    // of a site.
    if most(is_agent) || has(|value| value.starts_with(b"Mozilla/")) {
        return Kind::Agent;
    }
    if are(values, is_query) && has(|value| value.contains(&b'=')) {
        return Kind::Query;
    }
    Kind::Other
}

/// The words of most values.
fn words(values: &[&[u8]]) -> u16 {
    let blanks = present(values)
        .map(|value| memchr::memchr_iter(b' ', value).count())
        .max();
    1 + blanks.unwrap_or(0) as u16
}

fn is_address(text: &[u8]) -> bool {
    Client::parse_address(text).is_some()
}

fn is_ported_v4(text: &[u8]) -> bool {
    text.contains(&b'.')
        && memchr::memchr(b':', text)
            .is_some_and(|colon| text[colon + 1..].iter().all(u8::is_ascii_digit))
}

fn is_address_list(text: &[u8]) -> bool {
    text.contains(&b',')
        && text
            .split(|byte| *byte == b',')
            .all(|one| is_address(one.trim_ascii()))
}

/// Whether a text is a path or an absolute URL.
pub(super) fn is_target(text: &[u8]) -> bool {
    text.starts_with(b"/") || is_url(text) || text == b"*"
}

/// Whether a text is a request line.
pub(in crate::formats) fn is_request(text: &[u8]) -> bool {
    let line = RequestLine::parse(text);
    is_known_method(line.method)
        && is_target(line.target)
        && (!line.protocol.is_empty() || !line.target.contains(&b' '))
}

/// Whether a text has the form `scheme://rest`.
pub(super) fn is_url(text: &[u8]) -> bool {
    let scheme = memchr::memmem::find(text, b"://").filter(|end| *end > 1);
    scheme
        .is_some_and(|end| text[..end].iter().all(u8::is_ascii_alphabetic) && !text.contains(&b' '))
}

/// Whether a text has a date and a time of day.
fn is_date_and_time(text: &[u8]) -> bool {
    !text
        .iter()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+'))
        && LogTime::parse_any_format(text).is_some()
}

/// Numbers are times only from 2001 to 2096: smaller and larger ones are more often numbers of
/// something else.
fn is_epoch(text: &[u8]) -> bool {
    const YEARS: std::ops::Range<i64> = 1_000_000_000..4_000_000_000;
    let is_number = text
        .iter()
        .all(|byte| byte.is_ascii_digit() || *byte == b'.');
    is_number && LogTime::parse_any_format(text).is_some_and(|time| YEARS.contains(&time.utc))
}

/// Whether a text is a status code that servers send.
pub(crate) fn is_status(text: &[u8]) -> bool {
    let [a, b, c] = text else { return false };
    let digits = [a, b, c].map(|byte| u16::from(byte.wrapping_sub(b'0')));
    digits.iter().all(|digit| *digit < 10)
        && is_status_code(digits[0] * 100 + digits[1] * 10 + digits[2])
}

/// Whether servers send a status code: those of IANA's registry, of nginx (444, 494 to 499), of
/// Amazon's load balancers (460, 463, 561) and of Cloudflare (520 to 530).
pub(crate) const fn is_status_code(code: u16) -> bool {
    matches!(code, 100..=103 | 200..=208 | 226 | 300..=308 | 400..=418 | 420..=431 | 444 | 451 | 460 | 463 | 494..=499 | 500..=511 | 520..=530 | 561)
}

/// Whether a text is a host name in lower case with a top-level domain, and an optional port.
fn is_host(text: &[u8]) -> bool {
    let name = match memchr::memchr(b':', text) {
        Some(colon) if text[colon + 1..].iter().all(u8::is_ascii_digit) => &text[..colon],
        Some(_) => return false,
        None => text,
    };
    let is_label = |label: &[u8]| {
        !label.is_empty()
            && label.iter().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
            })
    };
    let labels: Vec<&[u8]> = name.split(|byte| *byte == b'.').collect();
    let is_named = labels
        .last()
        .is_some_and(|last| last.len() > 1 && last.iter().all(u8::is_ascii_alphabetic));
    labels.len() > 1 && is_named && labels.into_iter().all(is_label)
}

/// Whether a text starts with a product and a version, as user agents do.
fn is_agent(text: &[u8]) -> bool {
    let product = text.iter().position(|byte| *byte == b'/').unwrap_or(0);
    let is_name = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'%' | b' ' | b'+')
    };
    let version = text.get(product + 1..).unwrap_or_default();
    product > 1
        && text[0].is_ascii_alphabetic()
        && text[..product].iter().all(is_name)
        && version.first().is_some_and(u8::is_ascii_digit)
        && !is_status(version)
}

/// Whether a text may be a query. One without a letter or a digit, as `=>`, is an ornament of its
/// writer.
fn is_query(text: &[u8]) -> bool {
    !text.contains(&b' ')
        && text.iter().any(u8::is_ascii_alphanumeric)
        && (text.starts_with(b"?")
            || text.contains(&b'=')
            || text.iter().all(u8::is_ascii_alphanumeric))
}
