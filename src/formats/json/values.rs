//! Visits every value of a line, with its role, in one pass, collects the values and converts them
//! to [`Fields`].
//!
//! Most JSON escapes are those that [`unescape`](crate::text::normalize::unescape) undoes, and are
//! kept. Others are converted to those: `\/` and escaped ASCII letters to the character itself,
//! characters above `7f` to the `\xHH` of their UTF-8 bytes, bare quotes to `\x22`. Half a
//! surrogate pair is kept, because the original byte is unknown.

use memchr::memchr2;

use super::keys::{
    IN_PAYLOAD, KeyCache, KeyRole, KeyRoles, KeyScope, ObjectKind, REMOTE_HOST, is_payload,
};
use super::tokenizer::{JsonToken, MemberName, Tokenizer};
use crate::formats::fields::{FieldSlot, TextBuffers};
use crate::formats::{Escapes, Fields, RequestField, TimeField, iso_time};
use crate::log::client::Client;
use crate::log::log_entry::is_known_method;
use crate::log::time::{CLF_TIME_LEN, LogTime};

/// The maximum depth at which members are visited.
const MAX_LEVELS: usize = 8;

/// The path of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyPath<'p, 'a> {
    levels: &'p [OpenLevel<'a>],
    name: &'a [u8],
}

impl<'a> KeyPath<'_, 'a> {
    /// The keys, the outermost first; array elements have none.
    pub(super) fn names(self) -> impl Iterator<Item = &'a [u8]> {
        self.levels
            .iter()
            .skip(1)
            .map(|level| level.name)
            .chain([self.name])
            .filter(|name| !name.is_empty())
    }

    /// Whether it is in an object with `name` and `value`.
    pub(super) fn is_pair(self) -> bool {
        matches!(
            self.levels.last(),
            Some(OpenLevel {
                kind: LevelKind::Pair(_),
                ..
            })
        )
    }
}

/// An open object or array.
#[derive(Debug, Clone, Copy)]
struct OpenLevel<'a> {
    name: &'a [u8],
    context: ObjectKind,
    scope: KeyScope,
    kind: LevelKind<'a>,
}

#[derive(Debug, Clone, Copy)]
enum LevelKind<'a> {
    Object,
    /// An array, and the role of its first element; the others have none, except in the field of
    /// the forwarded client.
    Array(KeyRole),
    /// `{"name":"Host","value":"example.org"}`, and the value of `name`.
    Pair(&'a [u8]),
}

/// Passes each value of a line, with its path and role, to `take`, in order; `None` if the line is
/// not a valid JSON object.
pub(super) fn visit<'a>(
    roles: &KeyRoles,
    line: &'a [u8],
    keys: &mut KeyCache,
    mut take: impl FnMut(KeyPath<'_, 'a>, KeyRole, &Tokenizer<'a>),
) -> Option<()> {
    let mut walk = Tokenizer::new(line)?;
    let mut open = OpenLevels::new();
    keys.begin(roles.fingerprint());
    loop {
        match walk.next(keys.expected())? {
            JsonToken::Value => {
                let (role, _) = open.role(roles, keys, walk.key);
                let name = open.pair_name(walk.key.name, walk.value);
                take(
                    KeyPath {
                        levels: open.levels(),
                        name,
                    },
                    role,
                    &walk,
                );
            }
            step @ (JsonToken::Object | JsonToken::Array) => {
                let (role, scope) = open.role(roles, keys, walk.key);
                open.enter(walk.key.name, role, scope, step == JsonToken::Array);
            }
            JsonToken::Close => open.leave(),
            JsonToken::End => return Some(()),
        }
    }
}

/// The open objects and arrays.
struct OpenLevels<'a> {
    levels: [OpenLevel<'a>; MAX_LEVELS],
    depth: usize,
    /// The number of open levels beyond the limit.
    skipped_levels: usize,
}

impl<'a> OpenLevels<'a> {
    fn new() -> Self {
        let line = OpenLevel {
            name: b"",
            context: ObjectKind::Anywhere,
            scope: KeyScope::Line,
            kind: LevelKind::Object,
        };
        Self {
            levels: [line; MAX_LEVELS],
            depth: 1,
            skipped_levels: 0,
        }
    }

    fn levels(&self) -> &[OpenLevel<'a>] {
        &self.levels[..self.depth]
    }

    /// The role of the next value, and the scope of its members.
    #[inline]
    fn role(
        &mut self,
        roles: &KeyRoles,
        keys: &mut KeyCache,
        key: MemberName<'a>,
    ) -> (KeyRole, KeyScope) {
        let level = &mut self.levels[self.depth - 1];
        match &mut level.kind {
            _ if self.skipped_levels > 0 => (KeyRole::NOTHING, KeyScope::Elsewhere),
            LevelKind::Object => {
                let (context, scope) = (level.context, level.scope);
                keys.role(scope, key, |name| self.look_up(roles, context, name))
            }
            LevelKind::Array(first) => {
                let role = *first;
                // A header of several lines continues a list.
                let is_list = role.forwarded || role.slot == FieldSlot::Forwarded;
                *first = if is_list { role } else { KeyRole::NOTHING };
                (role, KeyScope::Elsewhere)
            }
            LevelKind::Pair(header) if key.name == b"value" => {
                let header = *header;
                (
                    self.look_up(roles, ObjectKind::Headers, header),
                    KeyScope::Elsewhere,
                )
            }
            LevelKind::Pair(_) => (KeyRole::NOTHING, KeyScope::Elsewhere),
        }
    }

    fn look_up(&self, roles: &KeyRoles, context: ObjectKind, name: &[u8]) -> KeyRole {
        let mut path = [&b""[..]; MAX_LEVELS];
        let mut length = 0;
        for level in self.levels().iter().filter(|level| !level.name.is_empty()) {
            path[length] = level.name;
            length += 1;
        }
        let in_payload = self
            .levels()
            .iter()
            .any(|level| is_payload(level.context, level.name));
        roles.role(context, &path[..length], in_payload, name)
    }

    /// Remembers the `name` of a pair for the `value` that follows; returns the key of a value.
    #[inline]
    fn pair_name(&mut self, name: &'a [u8], text: &'a [u8]) -> &'a [u8] {
        match &mut self.levels[self.depth - 1].kind {
            LevelKind::Pair(header) if name == b"name" => *header = text,
            LevelKind::Pair(header) if name == b"value" => return header,
            _ => {}
        }
        name
    }

    fn enter(&mut self, name: &'a [u8], role: KeyRole, scope: KeyScope, array: bool) {
        if self.depth == MAX_LEVELS || self.skipped_levels > 0 {
            self.skipped_levels += 1;
            return;
        }
        let above = &self.levels[self.depth - 1];
        let in_headers =
            matches!(above.kind, LevelKind::Array(_)) && above.context == ObjectKind::Headers;
        let (context, kind) = match (array, above.kind) {
            // Objects in array elements are lists of something else.
            (false, LevelKind::Array(_)) if in_headers => {
                (ObjectKind::Headers, LevelKind::Pair(b""))
            }
            (false, LevelKind::Array(_)) | (true, LevelKind::Array(_) | LevelKind::Pair(_)) => {
                (ObjectKind::Closed, LevelKind::Object)
            }
            (true, _) => (role.within, LevelKind::Array(role)),
            (false, _) => (role.within, LevelKind::Object),
        };
        let kind = if array && !matches!(kind, LevelKind::Array(_)) {
            LevelKind::Array(KeyRole::NOTHING)
        } else {
            kind
        };
        self.levels[self.depth] = OpenLevel {
            name,
            context,
            scope,
            kind,
        };
        self.depth += 1;
    }

    fn leave(&mut self) {
        if self.skipped_levels > 0 {
            self.skipped_levels -= 1;
        } else {
            // The top level is left by the last token.
            self.depth = self.depth.max(2) - 1;
        }
    }
}

/// The best value of each field so far.
#[derive(Debug)]
pub(super) struct FieldCollector<'a> {
    values: [&'a [u8]; FieldSlot::COUNT],
    ranks: [u8; FieldSlot::COUNT],
    /// One bit per field: whether the value contains a backslash or a bare quote.
    escaped: u32,
    /// One bit per field: whether there is another address of the same rank.
    disputed: u32,
    /// Whether there is a key for the user, outside of payloads and in one.
    has_user_key: [bool; 2],
    /// Whether there is a key for the request or its target.
    has_target_key: bool,
    /// The field of the forwarded client, outside of payloads and in one.
    forwarded: [&'a [u8]; 2],
}

/// The rank of a missing value.
const NO_RANK: u8 = u8::MAX;

impl<'a> FieldCollector<'a> {
    pub(super) fn new() -> Self {
        Self {
            values: [b""; FieldSlot::COUNT],
            ranks: [NO_RANK; FieldSlot::COUNT],
            escaped: 0,
            disputed: 0,
            has_user_key: [false; 2],
            has_target_key: false,
            forwarded: [b""; 2],
        }
    }

    /// Adds a value, unless a better one was found.
    #[inline]
    pub(super) fn add(&mut self, role: KeyRole, text: &'a [u8], escaped: bool) {
        let in_payload = usize::from(role.rank >= IN_PAYLOAD);
        self.has_user_key[in_payload] |= role.slot == FieldSlot::User;
        self.has_target_key |= matches!(
            role.slot,
            FieldSlot::Request | FieldSlot::Sent | FieldSlot::Target | FieldSlot::Path
        );
        if matches!(text, b"" | b"-") {
            return;
        }
        // The last line of the header is that of the nearest proxy.
        if role.forwarded {
            self.forwarded[in_payload] = text;
        }
        let Some(rank) = self.ranks.get(role.slot as usize) else {
            return;
        };
        if role.rank < *rank {
            self.take(role, text, escaped);
        } else if role.rank == *rank {
            self.compare(role.slot, text);
        }
    }

    /// Remembers a client that is not the one with the same rank.
    fn compare(&mut self, slot: FieldSlot, text: &[u8]) {
        let parse = |text| Client::parse(Client::without_marks(text));
        let is_other = matches!(slot, FieldSlot::Client | FieldSlot::Forwarded)
            && parse(text) != parse(self.get(slot));
        self.disputed |= u32::from(is_other) << slot as u32;
    }

    /// Stores a better value if it has a valid shape for its field.
    fn take(&mut self, role: KeyRole, text: &'a [u8], escaped: bool) {
        let shaped = match role.slot {
            FieldSlot::Time => time_shaped(text),
            FieldSlot::Status => status(text).map(|status| (FieldSlot::Status, status)),
            FieldSlot::Bytes => integer(text).map(|bytes| (FieldSlot::Bytes, bytes)),
            // nginx's `server_name _` is not a host name.
            FieldSlot::Host => (text != b"_").then_some((FieldSlot::Host, text)),
            // A duration, or a count.
            FieldSlot::Request if is_known_method(text) => Some((FieldSlot::Method, text)),
            FieldSlot::Request => (!text.iter().all(|b| b.is_ascii_digit() || *b == b'.'))
                .then_some((FieldSlot::Request, text)),
            // API Gateway's `routeKey`: `GET /pets`, or `$default`.
            FieldSlot::Path => match memchr::memchr(b' ', text) {
                Some(end) if is_known_method(&text[..end]) => {
                    Some((FieldSlot::Path, &text[end + 1..]))
                }
                _ => (!text.starts_with(b"$")).then_some((FieldSlot::Path, text)),
            },
            slot => Some((slot, text)),
        };
        let Some((slot, text)) = shaped else { return };
        let at = slot as usize;
        if role.rank < self.ranks[at] {
            (self.ranks[at], self.values[at]) = (role.rank, text);
            self.escaped = self.escaped & !(1 << at) | u32::from(escaped) << at;
            self.disputed &= !(1 << at);
        }
    }

    fn get(&self, slot: FieldSlot) -> &'a [u8] {
        self.values[slot as usize]
    }

    fn rank(&self, slot: FieldSlot) -> u8 {
        self.ranks[slot as usize]
    }

    fn unescaped_value(&self, slot: FieldSlot, buffers: &'a mut Vec<u8>) -> &'a [u8] {
        rewritten(
            self.get(slot),
            self.escaped & 1 << slot as u32 != 0,
            buffers,
        )
    }

    /// The fields; `None` if the line describes no request.
    pub(super) fn fields(&mut self, buffers: &'a mut TextBuffers) -> Option<Fields<'a>> {
        self.leave_out_payload();
        self.use_host_as_client();
        // What is left of a payload is what the line is about.
        self.ranks
            .iter_mut()
            .filter(|rank| (IN_PAYLOAD..NO_RANK).contains(*rank))
            .for_each(|rank| *rank -= IN_PAYLOAD);
        if !self.is_request() {
            return None;
        }
        let TextBuffers {
            time,
            request,
            query,
            protocol,
            referer,
            user_agent,
            user,
            ..
        } = buffers;
        let time = self.time(time);
        let protocol = self::protocol(rewrite_short(self.get(FieldSlot::Protocol), protocol));
        let (request, host) = self.request(protocol, request, query);
        let has_client = !self.get(FieldSlot::Client).is_empty();
        let fields = Fields {
            forwarded: if self.forwarded[0].is_empty() {
                self.forwarded[1]
            } else {
                self.forwarded[0]
            },
            is_without_peer: !has_client && !self.get(FieldSlot::Forwarded).is_empty(),
            host,
            time,
            request,
            status: self.get(FieldSlot::Status),
            bytes: self.get(FieldSlot::Bytes),
            referer: self.unescaped_value(FieldSlot::Referer, referer),
            user_agent: self.unescaped_value(FieldSlot::UserAgent, user_agent),
            user: self.unescaped_value(FieldSlot::User, user),
            escapes: Escapes::Written,
            ..Fields::default()
        };
        let slot = if has_client {
            FieldSlot::Client
        } else {
            FieldSlot::Forwarded
        };
        if self.disputed & 1 << slot as u32 != 0 {
            return Some(Fields {
                is_client_doubtful: true,
                ..fields
            });
        }
        Some(fields.with_client_or_list(self.get(slot)))
    }

    /// Whether the line has a request line; or a target with a client, a method or a status; or a
    /// client and a status, and a key for the target, which a bad request lacks.
    fn is_request(&self) -> bool {
        let known = |slots: &[FieldSlot]| slots.iter().any(|slot| !self.get(*slot).is_empty());
        let has_target = known(&[
            FieldSlot::Request,
            FieldSlot::Sent,
            FieldSlot::Target,
            FieldSlot::Path,
        ]);
        (has_target && known(&[FieldSlot::Client, FieldSlot::Method, FieldSlot::Status]))
            || (self.has_target_key && known(&[FieldSlot::Client]) && known(&[FieldSlot::Status]))
            || memchr::memmem::find(self.get(FieldSlot::Request), b" HTTP").is_some()
    }

    /// Drops what is in payloads if the line has a request outside of them: a request line, or two
    /// of its target, method and status. One may be of the program that ships the log, as the
    /// `path` of the file.
    fn leave_out_payload(&mut self) {
        let has = |slots: &[FieldSlot]| slots.iter().any(|slot| self.rank(*slot) < IN_PAYLOAD);
        let has_target = has(&[FieldSlot::Sent, FieldSlot::Target, FieldSlot::Path]);
        let parts = [
            has_target,
            has(&[FieldSlot::Method]),
            has(&[FieldSlot::Status]),
        ];
        if has(&[FieldSlot::Request]) || parts.into_iter().filter(|has| *has).count() >= 2 {
            (self.has_user_key[1], self.forwarded[1]) = (false, b"");
            for at in 0..FieldSlot::COUNT {
                if self.ranks[at] >= IN_PAYLOAD {
                    (self.ranks[at], self.values[at]) = (NO_RANK, b"");
                    self.disputed &= !(1 << at);
                }
            }
        }
    }

    /// Without a client, a `host` that is an address is the client if there is a key for the user,
    /// as Tomcat, Fluentd and Vector write the fields of the Common Log Format. Any other host is
    /// what the client sent.
    fn use_host_as_client(&mut self) {
        let (client, host) = (FieldSlot::Client as usize, FieldSlot::Host as usize);
        let is_remote = match self.ranks[host] {
            REMOTE_HOST => self.has_user_key[0],
            rank => self.has_user_key[1] && rank == REMOTE_HOST + IN_PAYLOAD,
        };
        if is_remote
            && self.values[client].is_empty()
            && Client::parse(self.values[host]).address().is_some()
        {
            self.values[client] = std::mem::take(&mut self.values[host]);
        }
    }

    pub(super) fn time<'b>(&self, buffers: &'b mut Vec<u8>) -> TimeField<'b>
    where
        'a: 'b,
    {
        let text = self.get(FieldSlot::Time);
        if text.is_empty() {
            return TimeField::Parsed(LogTime::parse_date_and_time(
                self.get(FieldSlot::Date),
                self.get(FieldSlot::TimeOfDay),
            ));
        }
        parse_time(text, buffers)
    }

    /// The request and its host.
    fn request(
        &self,
        protocol: &'static [u8],
        request: &'a mut Vec<u8>,
        query: &'a mut Vec<u8>,
    ) -> (RequestField<'a>, &'a [u8]) {
        let host = self.get(FieldSlot::Host);
        let slot = self.request_source();
        let text = self.unescaped_value(slot, request);
        if slot == FieldSlot::Request && !is_target(text) {
            return (RequestField::Line(text), host);
        }
        // An absolute URL that was sent is kept: it is a proxy request.
        let address = if slot == FieldSlot::Sent {
            None
        } else {
            split_url(text)
        };
        let (host, target) = match address {
            Some((named, target)) if host.is_empty() || is_same_host(host, named) => {
                (if host.is_empty() { named } else { host }, target)
            }
            _ => (host, text),
        };
        let joins = self.rank(FieldSlot::Query) <= 1
            || matches!(slot, FieldSlot::Sent | FieldSlot::Path | FieldSlot::Request);
        let query = if joins && memchr::memchr(b'?', target).is_none() {
            self.unescaped_value(FieldSlot::Query, query)
        } else {
            b""
        };
        let query = query.strip_prefix(b"?").unwrap_or(query);
        (
            RequestField::Parts {
                method: self.get(FieldSlot::Method),
                target,
                query,
                protocol,
            },
            host,
        )
    }

    /// The field with the request: one that the user named, otherwise the most specific.
    fn request_source(&self) -> FieldSlot {
        const BY_SPECIFICITY: [FieldSlot; 4] = [
            FieldSlot::Request,
            FieldSlot::Sent,
            FieldSlot::Target,
            FieldSlot::Path,
        ];
        let first = |at_most: u8| {
            BY_SPECIFICITY
                .into_iter()
                .find(|slot| self.rank(*slot) <= at_most)
        };
        first(0)
            .or_else(|| first(NO_RANK - 1))
            .unwrap_or(FieldSlot::Request)
    }
}

/// Parses the text of a time field.
#[expect(
    clippy::inline_always,
    reason = "in the line loop; so large an answer would go through memory"
)]
#[inline(always)]
pub(super) fn parse_time<'a>(text: &'a [u8], buffers: &'a mut Vec<u8>) -> TimeField<'a> {
    if let Some(time) = clf(text) {
        return TimeField::Text(time);
    }
    if iso_time::iso_time_to_clf(text, buffers) {
        return TimeField::Text(buffers);
    }
    TimeField::Parsed(unescaped_value(text, buffers))
}

#[cold]
fn unescaped_value(text: &[u8], buffers: &mut Vec<u8>) -> Option<LogTime> {
    LogTime::parse_any_format(rewrite_short(text, buffers))
}

/// Unescapes a short text; a slash or a plus sign may be escaped.
fn rewrite_short<'b>(text: &'b [u8], short: &'b mut Vec<u8>) -> &'b [u8] {
    rewritten(text, memchr::memchr(b'\\', text).is_some(), short)
}

/// The field of a value with the name of a time: a time, a date, or a time of day. A duration is
/// none of them.
#[inline]
pub(super) fn time_shaped(text: &[u8]) -> Option<(FieldSlot, &[u8])> {
    match text {
        [_, _, b':', _, _, b':', ..] => Some((FieldSlot::TimeOfDay, text)),
        [_, _, _, _, b'-', _, _, b'-', _, _] => Some((FieldSlot::Date, text)),
        _ => (text.len() >= 10).then_some((FieldSlot::Time, text)),
    }
}

/// The three digits of a status, `404` or `404 Not Found`.
#[inline]
pub(super) fn status(text: &[u8]) -> Option<&[u8]> {
    let (code, rest) = text.split_at_checked(3)?;
    (code.iter().all(u8::is_ascii_digit) && matches!(rest, [] | [b' ' | b'.', ..])).then_some(code)
}

/// An integer, which may be written with a fraction of zero, or with a sign as `HAProxy` does for a
/// connection that was aborted.
#[inline]
pub(super) fn integer(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let text = text.strip_suffix(b".0").unwrap_or(text);
    (!text.is_empty() && text.iter().all(u8::is_ascii_digit)).then_some(text)
}

/// A Common Log Format time with or without brackets, recognized by its separators. The rest is
/// validated when the time is written and parsed.
fn clf(text: &[u8]) -> Option<&[u8]> {
    let text = text
        .strip_prefix(b"[")
        .and_then(|t| t.strip_suffix(b"]"))
        .unwrap_or(text);
    let time: &[u8; CLF_TIME_LEN] = text.try_into().ok()?;
    // Compares whole words, because most lines have such a time.
    let has = |from: usize, marks: [u8; 8]| {
        let word = time[from..]
            .first_chunk()
            .map_or(0, |word| u64::from_le_bytes(*word));
        let mask = marks.map(|mark| if mark == 0 { 0 } else { u8::MAX });
        word & u64::from_le_bytes(mask) == u64::from_le_bytes(marks)
    };
    (has(0, *b"\0\0/\0\0\0/\0") && has(8, *b"\0\0\0:\0\0:\0") && has(16, *b"\0:\0\0 \0\0\0"))
        .then_some(text)
}

/// Whether the text of a request field is only the target.
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
    let rest = text
        .strip_prefix(b"https://")
        .or_else(|| text.strip_prefix(b"http://"))?;
    if rest.contains(&b' ') {
        return None;
    }
    let end = rest
        .iter()
        .position(|b| matches!(b, b'/' | b'?' | b'#'))
        .unwrap_or(rest.len());
    let (host, target) = rest.split_at(end);
    let host = host
        .iter()
        .rposition(|&b| b == b'@')
        .map_or(host, |at| &host[at + 1..]);
    (!host.is_empty()).then_some((host, if target.is_empty() { b"/" } else { target }))
}

/// Whether two hosts are equal apart from their ports.
fn is_same_host(one: &[u8], other: &[u8]) -> bool {
    let name = |host: &'_ [u8]| {
        let digits = host.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        let end = host.len() - digits;
        if digits > 0 && end > 0 && host[end - 1] == b':' {
            end - 1
        } else {
            host.len()
        }
    };
    one[..name(one)].eq_ignore_ascii_case(&other[..name(other)])
}

/// The protocol as in a request line; empty for a scheme.
fn protocol(text: &[u8]) -> &'static [u8] {
    let number = text
        .strip_prefix(b"HTTP/")
        .or_else(|| text.strip_prefix(b"http/"))
        .unwrap_or(text);
    match number {
        b"0.9" => b"HTTP/0.9",
        b"1.0" => b"HTTP/1.0",
        b"1.1" => b"HTTP/1.1",
        b"2" | b"2.0" | b"h2" => b"HTTP/2.0",
        b"3" | b"3.0" | b"h3" => b"HTTP/3.0",
        _ => b"",
    }
}

/// The text, rewritten into `buffers` if necessary.
fn rewritten<'a>(text: &'a [u8], escaped: bool, buffers: &'a mut Vec<u8>) -> &'a [u8] {
    if !escaped {
        return text;
    }
    rewrite(text, buffers);
    buffers
}

fn rewrite(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut rest = text;
    while let Some(at) = memchr2(b'\\', b'"', rest) {
        out.extend_from_slice(&rest[..at]);
        let taken = unescape_first(&rest[at..], out);
        rest = &rest[at + taken..];
    }
    out.extend_from_slice(rest);
}

/// Rewrites the escape or quote at the start of `text`; returns its length.
fn unescape_first(text: &[u8], out: &mut Vec<u8>) -> usize {
    match text {
        [b'"', ..] => hex(b'"', out),
        // A trailing backslash would escape the next character written.
        [_] => out.extend_from_slice(br"\\"),
        [_, b'/', ..] => out.push(b'/'),
        [_, b'u', digits @ ..] => {
            if let Some((letter, length)) = letter(digits) {
                return letter_out(letter, &text[..length], out);
            }
            out.extend_from_slice(br"\u");
        }
        [_, other, ..] => out.extend_from_slice(&[b'\\', *other]),
        [] => {}
    }
    if let [b'"', ..] = text {
        1
    } else {
        text.len().min(2)
    }
}

/// Writes a letter, given its escape; returns the length of the escape.
fn letter_out(letter: char, escape: &[u8], out: &mut Vec<u8>) -> usize {
    match letter {
        '"' | '\\' | '\0'..=' ' | '\x7f' => out.extend_from_slice(escape),
        '!'..='~' => out.push(letter as u8),
        _ => letter
            .encode_utf8(&mut [0; 4])
            .bytes()
            .for_each(|byte| hex(byte, out)),
    }
    escape.len()
}

/// The letter of the digits after `\u`, and the length of the escape with its backslash; for a
/// surrogate pair, of both.
fn letter(digits: &[u8]) -> Option<(char, usize)> {
    let unit = unit(digits)?;
    if let Some(letter) = char::from_u32(unit) {
        return Some((letter, 6));
    }
    let [b'\\', b'u', low @ ..] = digits.get(4..)? else {
        return None;
    };
    let low = self::unit(low)?;
    let pair = (0xd800..0xdc00).contains(&unit) && (0xdc00..0xe000).contains(&low);
    let letter = pair
        .then(|| 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
        .and_then(char::from_u32)?;
    Some((letter, 12))
}

fn unit(digits: &[u8]) -> Option<u32> {
    digits
        .get(..4)?
        .iter()
        .try_fold(0, |n, b| Some(n << 4 | char::from(*b).to_digit(16)?))
}

fn hex(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(&[
        b'\\',
        b'x',
        DIGITS[usize::from(byte >> 4)],
        DIGITS[usize::from(byte & 15)],
    ]);
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::text::normalize::unescape;

    fn written(text: &str) -> String {
        let mut buffers = Vec::new();
        String::from_utf8(rewritten(text.as_bytes(), true, &mut buffers).to_vec()).unwrap()
    }

    #[test]
    fn only_other_escapes_are_rewritten() {
        for text in [
            r#"\"\\\n\t\u0001\u0022\u005c\u0020"#,
            r"\x22\x5C\xff",
            r"\q\",
            r"\ud800x",
            r"\udc00\ud800",
            r"\u12",
            r"\u",
            "plain",
        ] {
            let expected = text
                .strip_suffix('\\')
                .map_or(text.to_owned(), |t| format!("{t}\\\\"));
            assert_eq!(written(text), expected);
        }
        for (text, expected) in [
            (r"\/a\/", "/a/"),
            (r"\u003cscript\u003E\u0026", "<script>&"),
            (r"\u00e9\u0100\u20ac", r"\xc3\xa9\xc4\x80\xe2\x82\xac"),
            (r"\ud83d\ude00", r"\xf0\x9f\x98\x80"),
            (r#"a"b"#, r"a\x22b"),
            (r"\ufffd", r"\xef\xbf\xbd"),
        ] {
            assert_eq!(written(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_text_written_as_json_is_undone(text in ".*", ascii: bool) {
            let mut json = String::new();
            for c in serde_json::to_string(&text).unwrap().trim_matches('"').chars() {
                if ascii && !c.is_ascii() {
                    c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| write!(json, "\\u{unit:04x}").unwrap());
                } else {
                    json.push(c);
                }
            }
            // `trim_matches` also removes the quote of an escaped quote at the end.
            prop_assume!(!text.ends_with('"') && !text.starts_with('"'));
            let (mut buffers, mut sent) = (Vec::new(), Vec::new());
            unescape(rewritten(json.as_bytes(), json.contains('\\'), &mut buffers), &mut sent);
            prop_assert_eq!(String::from_utf8_lossy(&sent), text);
        }

        #[test]
        fn no_bytes_let_a_quote_through(text in prop::collection::vec(prop::sample::select(b"\\\"u0d8cx/n\xff".to_vec()), 0..40)) {
            let mut buffers = Vec::new();
            let written = rewritten(&text, true, &mut buffers);
            let mut backslashes = 0;
            for &byte in written {
                prop_assert!(byte != b'"' || backslashes % 2 == 1);
                backslashes = if byte == b'\\' { backslashes + 1 } else { 0 };
            }
            prop_assert_eq!(backslashes % 2, 0);
        }
    }
}
