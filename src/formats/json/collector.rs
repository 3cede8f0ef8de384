//! The values of a line that were believed, put together to [`Fields`].

use super::escapes::rewritten;
use super::role::{JsonField, KeyRole, SLOTS};
use super::tokenizer::Tokenizer;
use super::visitor::{KeyPath, ValueVisitor};
use crate::client::Client;
use crate::formats::fields::FieldBuffers;
use crate::formats::{Escapes, Fields, RequestField, TimeField, iso};
use crate::time::{CLF_TIME_LEN, LogTime};

/// The best value of each slot so far.
#[derive(Debug)]
pub(super) struct FieldCollector<'a> {
    values: [&'a [u8]; SLOTS],
    ranks: [u8; SLOTS],
    /// One bit for each slot: whether a backslash or a bare quote stands in it.
    escaped: u32,
    forwarded: &'a [u8],
}

/// The last rank, that of nothing.
const NO_RANK: u8 = u8::MAX;

impl<'a> ValueVisitor<'a> for FieldCollector<'a> {
    #[inline]
    fn value(&mut self, _: KeyPath<'_, 'a>, role: KeyRole, walk: &Tokenizer<'a>) {
        self.add(role, walk.value, walk.escaped);
    }
}

impl<'a> FieldCollector<'a> {
    pub(super) fn new() -> Self {
        Self { values: [b""; SLOTS], ranks: [NO_RANK; SLOTS], escaped: 0, forwarded: b"" }
    }

    /// Believes a value if nothing stronger was there.
    #[inline]
    pub(super) fn add(&mut self, role: KeyRole, text: &'a [u8], escaped: bool) {
        if role.forwarded && self.forwarded.is_empty() && text != b"-" {
            self.forwarded = text;
        }
        let Some(rank) = self.ranks.get(role.slot as usize) else { return };
        if role.rank < *rank && !matches!(text, b"" | b"-") {
            self.take(role, text, escaped);
        }
    }

    /// Takes a value that is better than what was there, if it is shaped like one of its slot.
    fn take(&mut self, role: KeyRole, text: &'a [u8], escaped: bool) {
        let shaped = match role.slot {
            JsonField::Time => time_shaped(text),
            JsonField::Status => status(text).map(|status| (JsonField::Status, status)),
            JsonField::Bytes => whole(text).map(|bytes| (JsonField::Bytes, bytes)),
            // nginx's `server_name _` is no host's name.
            JsonField::Host => (text != b"_").then_some((JsonField::Host, text)),
            slot => Some((slot, text)),
        };
        let Some((slot, text)) = shaped else { return };
        let at = slot as usize;
        if role.rank < self.ranks[at] {
            (self.ranks[at], self.values[at]) = (role.rank, text);
            self.escaped = self.escaped & !(1 << at) | u32::from(escaped) << at;
        }
    }

    fn get(&self, slot: JsonField) -> &'a [u8] {
        self.values[slot as usize]
    }

    fn rank(&self, slot: JsonField) -> u8 {
        self.ranks[slot as usize]
    }

    fn unescaped_value(&self, slot: JsonField, buffers: &'a mut Vec<u8>) -> &'a [u8] {
        rewritten(self.get(slot), self.escaped & 1 << slot as u32 != 0, buffers)
    }

    /// The fields. `None` where the line tells of no request.
    pub(super) fn fields(&mut self, buffers: &'a mut FieldBuffers) -> Option<Fields<'a>> {
        self.use_host_as_client();
        if !self.is_request() {
            return None;
        }
        let FieldBuffers { time, request, query, protocol, referer, user_agent, .. } = buffers;
        let time = self.time(time);
        let protocol = self::protocol(rewrite_short(self.get(JsonField::Protocol), protocol));
        let (asked, host) = self.asked(protocol, request, query);
        Some(Fields {
            client: self.get(JsonField::Client),
            forwarded: self.forwarded,
            host,
            time,
            asked,
            status: self.get(JsonField::Status),
            bytes: self.get(JsonField::Bytes),
            referer: self.unescaped_value(JsonField::Referer, referer),
            user_agent: self.unescaped_value(JsonField::UserAgent, user_agent),
            escapes: Escapes::Written,
        })
    }

    /// Whether the line names a request line, or what was asked for and a client, a method or a status, or a client and a status.
    fn is_request(&self) -> bool {
        let known = |slots: &[JsonField]| slots.iter().any(|slot| !self.get(*slot).is_empty());
        let asked = known(&[JsonField::Request, JsonField::Sent, JsonField::Target, JsonField::Path]);
        (asked && known(&[JsonField::Client, JsonField::Method, JsonField::Status]))
            || (known(&[JsonField::Client]) && known(&[JsonField::Status]))
            || memchr::memmem::find(self.get(JsonField::Request), b" HTTP").is_some()
    }

    /// Where no client is named and the host is an address, it is the client: so Tomcat and others call it.
    fn use_host_as_client(&mut self) {
        let (client, host) = (JsonField::Client as usize, JsonField::Host as usize);
        if self.values[client].is_empty() && Client::parse(self.values[host]).address().is_some() {
            self.values[client] = std::mem::take(&mut self.values[host]);
        }
    }

    fn time(&self, buffers: &'a mut Vec<u8>) -> TimeField<'a> {
        let text = self.get(JsonField::Time);
        if text.is_empty() {
            return TimeField::Parsed(LogTime::parse_date_and_time(self.get(JsonField::Date), self.get(JsonField::TimeOfDay)));
        }
        when(text, buffers)
    }

    /// What was asked for, and of which host.
    fn asked(&self, protocol: &'static [u8], request: &'a mut Vec<u8>, query: &'a mut Vec<u8>) -> (RequestField<'a>, &'a [u8]) {
        let host = self.get(JsonField::Host);
        let slot = self.request_source();
        let text = self.unescaped_value(slot, request);
        if slot == JsonField::Request && !is_target(text) {
            return (RequestField::Line(text), host);
        }
        // An address as it was sent stays whole: it asks for a proxy.
        let address = if slot == JsonField::Sent { None } else { split_url(text) };
        let (host, target) = match address {
            Some((named, target)) if host.is_empty() || is_same_host(host, named) => (if host.is_empty() { named } else { host }, target),
            _ => (host, text),
        };
        let joins = self.rank(JsonField::Query) <= 1 || matches!(slot, JsonField::Sent | JsonField::Path | JsonField::Request);
        let query = if joins && memchr::memchr(b'?', target).is_none() { self.unescaped_value(JsonField::Query, query) } else { b"" };
        let query = query.strip_prefix(b"?").unwrap_or(query);
        (RequestField::Parts { method: self.get(JsonField::Method), target, query, protocol }, host)
    }

    /// The slot that says what was asked for: one that the user named, else the one that says most.
    fn request_source(&self) -> JsonField {
        const BY_SPECIFICITY: [JsonField; 4] = [JsonField::Request, JsonField::Sent, JsonField::Target, JsonField::Path];
        let first = |at_most: u8| BY_SPECIFICITY.into_iter().find(|slot| self.rank(*slot) <= at_most);
        first(0).or_else(|| first(NO_RANK - 1)).unwrap_or(JsonField::Request)
    }
}

/// What a text says that was taken for a time.
#[expect(clippy::inline_always, reason = "in the line loop; so large an answer would go through memory")]
#[inline(always)]
pub(super) fn when<'a>(text: &'a [u8], buffers: &'a mut Vec<u8>) -> TimeField<'a> {
    if let Some(time) = clf(text) {
        return TimeField::Clf(time);
    }
    if iso::to_clf(text, buffers) {
        return TimeField::Clf(buffers);
    }
    TimeField::Parsed(unescaped_value(text, buffers))
}

#[cold]
fn unescaped_value(text: &[u8], buffers: &mut Vec<u8>) -> Option<LogTime> {
    LogTime::parse_any_format(rewrite_short(text, buffers))
}

/// Rewrites a text in which a slash or a plus sign may be escaped.
fn rewrite_short<'b>(text: &'b [u8], short: &'b mut Vec<u8>) -> &'b [u8] {
    rewritten(text, memchr::memchr(b'\\', text).is_some(), short)
}

/// What a value that is called a time is: a time, or a day or the time of a day alone. How long something took is neither.
#[inline]
pub(super) fn time_shaped(text: &[u8]) -> Option<(JsonField, &[u8])> {
    match text {
        [_, _, b':', _, _, b':', ..] => Some((JsonField::TimeOfDay, text)),
        [_, _, _, _, b'-', _, _, b'-', _, _] => Some((JsonField::Date, text)),
        _ => (text.len() >= 10).then_some((JsonField::Time, text)),
    }
}

/// The three digits of a status, `404` or `404 Not FieldCollector`.
#[inline]
pub(super) fn status(text: &[u8]) -> Option<&[u8]> {
    let (code, rest) = text.split_at_checked(3)?;
    (code.iter().all(u8::is_ascii_digit) && matches!(rest, [] | [b' ' | b'.', ..])).then_some(code)
}

/// A whole number, which some write with a fraction of nothing.
#[inline]
pub(super) fn whole(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_suffix(b".0").unwrap_or(text);
    (!text.is_empty() && text.iter().all(u8::is_ascii_digit)).then_some(text)
}

/// A time of the Common Log Format, with its brackets or without, by its shape: no other form has these marks in these places. What
/// stands between them is looked at when it is unescaped_value down and read.
fn clf(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b"[").and_then(|t| t.strip_suffix(b"]")).unwrap_or(text);
    let time: &[u8; CLF_TIME_LEN] = text.try_into().ok()?;
    // In words, as a log has nothing else in most of its lines.
    let has = |from: usize, marks: [u8; 8]| {
        let word = time[from..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        let mask = marks.map(|mark| if mark == 0 { 0 } else { u8::MAX });
        word & u64::from_le_bytes(mask) == u64::from_le_bytes(marks)
    };
    (has(0, *b"\0\0/\0\0\0/\0") && has(8, *b"\0\0\0:\0\0:\0") && has(16, *b"\0:\0\0 \0\0\0")).then_some(text)
}

/// Whether what is called a request is the target alone.
#[inline]
pub(super) fn is_target(text: &[u8]) -> bool {
    match text.first() {
        Some(b'/') => true,
        Some(b'h') => split_url(text).is_some(),
        _ => false,
    }
}

/// Host and target of `https://example.org/path?query`.
fn split_url(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = text.strip_prefix(b"https://").or_else(|| text.strip_prefix(b"http://"))?;
    if rest.contains(&b' ') {
        return None;
    }
    let end = rest.iter().position(|b| matches!(b, b'/' | b'?' | b'#')).unwrap_or(rest.len());
    let (host, target) = rest.split_at(end);
    let host = host.iter().rposition(|&b| b == b'@').map_or(host, |at| &host[at + 1..]);
    (!host.is_empty()).then_some((host, if target.is_empty() { b"/" } else { target }))
}

/// Whether two hosts are one but for their ports.
fn is_same_host(one: &[u8], other: &[u8]) -> bool {
    let name = |host: &'_ [u8]| {
        let digits = host.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        let end = host.len() - digits;
        if digits > 0 && end > 0 && host[end - 1] == b':' { end - 1 } else { host.len() }
    };
    one[..name(one)].eq_ignore_ascii_case(&other[..name(other)])
}

/// The protocol as a request line has it; empty where a scheme stands in its place.
fn protocol(text: &[u8]) -> &'static [u8] {
    let number = text.strip_prefix(b"HTTP/").or_else(|| text.strip_prefix(b"http/")).unwrap_or(text);
    match number {
        b"0.9" => b"HTTP/0.9",
        b"1.0" => b"HTTP/1.0",
        b"1.1" => b"HTTP/1.1",
        b"2" | b"2.0" | b"h2" => b"HTTP/2.0",
        b"3" | b"3.0" | b"h3" => b"HTTP/3.0",
        _ => b"",
    }
}
