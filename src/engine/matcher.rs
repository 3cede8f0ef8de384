//! Asks the rules about one request.
//!
//! First the literals, in one pass over bytes that need no decoding; then, only for rules whose literals occurred, the
//! rest of their conditions. It sees one request and nothing else.

use std::cell::Cell;

use super::memory::Asked;
use super::scratch::{Desk, Scratch, SecondLook, Verdict};
use crate::finding::{RuleId, Severity};
use crate::normalize::{Normalizer, Reading, Source, Views, unescape};
use crate::record::{Record, RequestLine};
use crate::rules::{Field, Literals, Marks, Regions, Request, RuleSet, Shape};

/// A request as the rules are asked about it.
#[derive(Debug, Clone, Copy)]
pub struct Probe<'a> {
    /// The request as logged, taken apart.
    pub line: RequestLine<'a>,
    /// The same in one piece.
    pub request: &'a [u8],
    /// Its shape, where it has one worth a word.
    pub shape: Option<Shape>,
    /// The status code.
    pub status: Option<u16>,
    /// The referer as logged.
    pub referer: Option<&'a [u8]>,
    /// The user agent as logged.
    pub user_agent: Option<&'a [u8]>,
}

impl<'a> Probe<'a> {
    /// The request of a record.
    #[must_use]
    pub fn of_record(record: &Record<'a>) -> Self {
        let line = RequestLine::parse(record.request);
        Self {
            line,
            request: record.request,
            shape: shape(&line),
            status: record.status,
            referer: record.referer,
            user_agent: record.user_agent,
        }
    }

    /// A line that no format explains: a request line that stands in it, or all of it. Such a line has no shape: every
    /// error log would be full of requests without a method.
    #[must_use]
    pub fn of_raw(text: &'a [u8]) -> Self {
        let nothing = RequestLine { method: b"", target: text, protocol: b"" };
        let (line, request) = embedded(text).map_or((nothing, text), |request| (RequestLine::parse(request), request));
        Self { line, request, shape: None, status: None, referer: None, user_agent: None }
    }
}

/// The request line that stands in a line of some other format, `... "GET / HTTP/1.1" ...`.
fn embedded(text: &[u8]) -> Option<&[u8]> {
    let protocol = memchr::memmem::find(text, b" HTTP/")?;
    let start = memchr::memrchr(b'"', &text[..protocol])? + 1;
    let length = text[protocol + 1..].iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.')).count();
    Some(&text[start..protocol + 1 + length])
}

/// The shape of a request; `None` for ordinary ones and for empty ones, which a client that hangs up leaves.
fn shape(line: &RequestLine<'_>) -> Option<Shape> {
    if line.target.first() == Some(&b'/') && !line.method.is_empty() {
        return (!is_known_method(line.method)).then_some(Shape::UnknownMethod);
    }
    if line.method.is_empty() {
        let printable = |text: &[u8]| text.iter().all(|b| matches!(b, b' '..=b'~'));
        return match line.target {
            b"" | b"-" => None,
            text if !printable(text) || holds_escape(text) => Some(Shape::Binary),
            _ => Some(Shape::NoMethod),
        };
    }
    let scheme = memchr::memmem::find(line.target, b"://")?;
    let named = scheme > 0 && line.target[..scheme].iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    named.then_some(Shape::Absolute)
}

/// Whether a method is in the IANA registry (<https://www.iana.org/assignments/http-methods>), or one that servers and
/// their clients use without having asked: caches, devices, mail servers, RPC over HTTP, BITS.
fn is_known_method(method: &[u8]) -> bool {
    const METHODS: [&str; 60] = [
        "GET",
        "POST",
        "HEAD",
        "OPTIONS",
        "PUT",
        "DELETE",
        "PATCH",
        "CONNECT",
        "TRACE",
        "PROPFIND",
        "PROPPATCH",
        "REPORT",
        "MKCOL",
        "COPY",
        "MOVE",
        "LOCK",
        "UNLOCK",
        "SEARCH",
        "ACL",
        "BASELINE-CONTROL",
        "BIND",
        "CHECKIN",
        "CHECKOUT",
        "LABEL",
        "LINK",
        "MERGE",
        "MKACTIVITY",
        "MKCALENDAR",
        "MKREDIRECTREF",
        "MKWORKSPACE",
        "ORDERPATCH",
        "PRI",
        "QUERY",
        "REBIND",
        "UNBIND",
        "UNCHECKOUT",
        "UNLINK",
        "UPDATE",
        "UPDATEREDIRECTREF",
        "VERSION-CONTROL",
        "PURGE",
        "BAN",
        "REFRESH",
        "NOTIFY",
        "SUBSCRIBE",
        "UNSUBSCRIBE",
        "M-SEARCH",
        "POLL",
        "BPROPFIND",
        "BPROPPATCH",
        "BCOPY",
        "BMOVE",
        "BDELETE",
        "RPC_IN_DATA",
        "RPC_OUT_DATA",
        "BITS_POST",
        "CCM_POST",
        "TRACK",
        "DEBUG",
        "SOURCE",
    ];
    METHODS.iter().any(|known| known.as_bytes() == method)
}

/// Whether the log writer had to escape a byte that cannot be printed: `\x16`, or `\n` as Apache has it.
fn holds_escape(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        rest = &rest[at + 1..];
        let is_escape = match rest {
            [b'x', high, low, ..] | [b'u', b'0', b'0', high, low, ..] => is_unprintable(*high, *low),
            [b'n' | b'r' | b't' | b'v' | b'b' | b'f', ..] => true,
            _ => false,
        };
        if is_escape {
            return true;
        }
        // What stands behind a backslash that was sent is no escape.
        rest = rest.strip_prefix(b"\\").unwrap_or(rest);
    }
    false
}

/// Whether two hexadecimal digits are a byte that is no printable ASCII.
fn is_unprintable(high: u8, low: u8) -> bool {
    matches!(high, b'0' | b'1' | b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F') || (high == b'7' && matches!(low, b'f' | b'F'))
}

/// What a target is read again as: all query.
pub(super) const TARGET: [Field; 2] = [Field::Query, Field::Target];

/// The rules, ready to be asked.
#[derive(Debug, Clone, Copy)]
pub struct Matcher<'r> {
    rules: &'r RuleSet,
    /// Some rule asks for GET, POST or HEAD and for nothing else that the automata find.
    unanchored_ordinary: bool,
}

impl<'r> Matcher<'r> {
    /// Makes ready to ask `rules`.
    #[must_use]
    pub fn new(rules: &'r RuleSet) -> Self {
        let ordinary = |&rule: &u16| rules.condition(rule).may_be_ordinary();
        Self { rules, unanchored_ordinary: rules.unanchored().iter().any(ordinary) }
    }

    /// What the rules say of a record; `headers` is what stands between the size and the end of the line.
    pub fn verdict(&self, record: &Record<'_>, headers: &[u8], scratch: &mut Scratch) -> Verdict {
        let mut copy = std::mem::take(&mut scratch.desk.copy);
        copy.clear();
        let parts = [Some(record.request), record.referer, record.user_agent, Some(headers)];
        let ends = parts.map(|part| {
            copy.extend_from_slice(part.unwrap_or_default());
            copy.len()
        });
        let own = Record {
            request: &copy[..ends[0]],
            referer: record.referer.map(|_| &copy[ends[0]..ends[1]]),
            user_agent: record.user_agent.map(|_| &copy[ends[1]..ends[2]]),
            ..*record
        };
        let verdict = self.judge_and_remember(&own, &copy[ends[2]..], scratch);
        scratch.desk.copy = copy;
        verdict
    }

    fn judge_and_remember(&self, own: &Record<'_>, headers: &[u8], scratch: &mut Scratch) -> Verdict {
        let asked = self.judge(&Probe::of_record(own), scratch);
        let verdict = scratch.conclude();
        let memory = &mut scratch.memory;
        let is_clean = |header: Option<&[u8]>| header.is_none_or(|header| memory.knows_clean(header));
        if is_clean(own.referer) && is_clean(own.user_agent) {
            memory.remember_clean(headers);
        }
        memory.remember(memory.key(own.request, headers), own.status, asked, verdict);
        verdict
    }

    /// What the rules say of a line that no format explains.
    pub fn raw_verdict(&self, text: &[u8], scratch: &mut Scratch) -> Verdict {
        self.judge(&Probe::of_raw(text), scratch);
        scratch.conclude()
    }

    /// Works out which rules match, and says what was asked for besides the request.
    fn judge(&self, probe: &Probe<'_>, scratch: &mut Scratch) -> Asked {
        let Scratch { desk, memory, .. } = scratch;
        let Desk { target, referer, agent, raw, marks, second, rules, path, .. } = desk;
        rules.clear();
        path.clear();
        marks.clear(self.rules.rules().len());
        let literals = self.rules.request_literals();
        let mark = |text: &[u8], regions: &Regions| {
            literals.mark(text, regions, marks);
        };
        let (views, raw) = search_request(literals, probe, target, raw, mark);
        self.mark_unanchored(probe, marks);
        self.read_again(&TARGET, probe.line.target, second, |rule, _, _| rules.push(rule));
        let mut header = |field, text: Option<&[u8]>, normalizer| {
            let Some(text) = text else { return b"".as_slice() };
            let is_new = !memory.knows_clean(text);
            let (folded, marked) = mark_header(self.rules.header_literals(), field, text, is_new, normalizer, marks);
            if is_new && !self.read_again(&[field], text, second, |rule, _, _| rules.push(rule)) && !marked {
                memory.remember_clean(text);
            }
            folded
        };
        let referer = header(Field::Referer, probe.referer, referer);
        let agent = header(Field::UserAgent, probe.user_agent, agent);
        if marks.touched().is_empty() && rules.is_empty() {
            return Asked::default();
        }
        let asked_headers = Cell::new(false);
        let header = |text| {
            asked_headers.set(true);
            text
        };
        let asked_status = Cell::new(false);
        let request = Request {
            method: probe.line.method,
            resolved: views.resolved,
            status: probe.status,
            status_was_asked: &asked_status,
            shape: probe.shape,
        };
        let field = |field| match field {
            Field::Path => views.path,
            Field::Query => views.query,
            Field::Target => views.target,
            Field::Referer => header(referer),
            Field::UserAgent => header(agent),
            Field::Method => &raw[..probe.line.method.len()],
            Field::Raw => raw,
        };
        let holds = |&&rule: &&u16| self.rules.condition(rule).holds(marks.of(rule), &request, field);
        rules.extend(marks.touched().iter().filter(holds).map(|&r| RuleId(r)));
        rules.sort_unstable();
        rules.dedup();
        if rules.iter().any(|&rule| !self.rules.rule(rule).is_sign) {
            // Once more, as it was written.
            path.extend_from_slice(target.views(probe.line.target).resolved);
        }
        Asked { headers: asked_headers.get(), status: asked_status.get() }
    }

    /// Asks what else a text may mean, and tells of each rule that holds then, by which reading, and what it read; whether any literal stands in it then. Only rules that ask for nothing but words are
    /// asked, those that are sure of what they see. A target is read as if it were all query.
    pub(super) fn read_again(
        &self,
        fields: &[Field],
        text: &[u8],
        second: &mut SecondLook,
        mut found: impl FnMut(RuleId, Reading, &[u8]),
    ) -> bool {
        let SecondLook { reader, marks } = second;
        let (source, literals) = match fields {
            [Field::Referer | Field::UserAgent] => (Source::Header, self.rules.header_literals()),
            _ => (Source::Target, self.rules.request_literals()),
        };
        let mut any = false;
        if !reader.take(text, source) {
            return any;
        }
        for reading in Reading::ALL {
            let Some(text) = reader.read(reading) else { continue };
            marks.clear(self.rules.rules().len());
            any |= literals.mark(text, &Regions::each(fields, text.len()), marks);
            let is_sure = |rule: u16| self.rules.rule(RuleId(rule)).severity >= Severity::Medium;
            let holds = |&&rule: &&u16| is_sure(rule) && self.rules.condition(rule).holds_in(fields, marks.of(rule), text);
            marks.touched().iter().filter(holds).for_each(|&rule| found(RuleId(rule), reading, text));
        }
        any
    }

    /// Makes candidates of the rules without a literal, where a request may meet one.
    pub(super) fn mark_unanchored(&self, probe: &Probe<'_>, marks: &mut Marks) {
        if self.unanchored_ordinary || probe.shape.is_some() || !matches!(probe.line.method, b"GET" | b"POST" | b"HEAD" | b"") {
            for &rule in self.rules.unanchored() {
                marks.add(rule, 0);
            }
        }
    }
}

/// Searches all of a request, piece by piece, and gives its views and the request as it was sent, all in lower case.
pub(super) fn search_request<'a>(
    literals: &Literals,
    probe: &Probe<'_>,
    normalizer: &'a mut Normalizer,
    raw: &'a mut Vec<u8>,
    mut search: impl FnMut(&[u8], &Regions),
) -> (Views<'a>, &'a [u8]) {
    let line = &probe.line;
    let is_verbatim = !line.method.is_empty() && memchr::memchr(b'\\', probe.request).is_none();
    unescape(probe.request, raw);
    raw.make_ascii_lowercase();
    let raw = raw.as_slice();
    if is_verbatim && let Some(views) = Views::of_plain(&raw[line.method.len() + 1..][..line.target.len()]) {
        // An ordinary protocol is none of any rule's business.
        let protocol = if matches!(line.protocol, b"HTTP/1.1" | b"HTTP/1.0" | b"HTTP/2.0") { line.protocol.len() + 1 } else { 0 };
        let searched = raw.len() - protocol;
        search(&raw[..searched], &plain_regions(line.method.len(), &views, searched));
        return (views, raw);
    }
    let views = normalizer.folded_views(line.target);
    for (field, text) in [
        (Field::Path, views.path),
        (Field::Query, views.query),
        (Field::Target, views.target),
        (Field::Method, &raw[..line.method.len()]),
        (Field::Raw, raw),
    ] {
        if literals.look_at(field) && !text.is_empty() {
            search(text, &Regions::only(field, text.len()));
        }
    }
    search(views.resolved, &Regions { resolved: Some(0..views.resolved.len()), ..Regions::default() });
    (views, raw)
}

/// Where the fields lie in a request that needs no decoding: all of them in one piece of bytes.
fn plain_regions(method: usize, views: &Views<'_>, searched: usize) -> Regions {
    let target = method + 1;
    let path = target..target + views.path.len();
    let end = target + views.target.len();
    let mut regions = Regions { resolved: Some(path.clone()), ..Regions::default() };
    regions.fields[Field::Method as usize] = Some(0..method);
    regions.fields[Field::Target as usize] = Some(target..end);
    regions.fields[Field::Query as usize] = Some((path.end + 1).min(end)..end);
    regions.fields[Field::Path as usize] = Some(path);
    regions.fields[Field::Raw as usize] = Some(0..searched);
    regions
}

/// Marks what stands in a header that is new, and gives it decoded and in lower case, and whether any literal stands in it.
fn mark_header<'a>(
    literals: &Literals,
    field: Field,
    text: &[u8],
    is_new: bool,
    normalizer: &'a mut Normalizer,
    marks: &mut Marks,
) -> (&'a [u8], bool) {
    let folded = normalizer.folded_header(text);
    let marked = is_new && literals.mark(folded, &Regions::only(field, folded.len()), marks);
    (folded, marked)
}
