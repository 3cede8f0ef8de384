//! Asks the rules about one request.
//!
//! First the literals, in one pass over bytes that need no decoding; then, only for rules whose literals occurred, the
//! rest of their conditions. It sees one request and nothing else.

use std::cell::Cell;

use super::Probe;
use super::key::Class;
use super::memory::Asked;
use super::scratch::{Desk, Scratch, SecondLook, Verdict};
use crate::finding::{RuleId, Severity};
use crate::log_entry::LogEntry;
use crate::normalize::{Normalizer, Reading, Source, Views, unescape};
use crate::rules::{Field, Literals, Marks, Regions, Request, RuleSet};

/// What a target is read again as: all query.
pub(super) const TARGET: [Field; 2] = [Field::Query, Field::Target];

/// The rules, ready to be asked.
#[derive(Debug, Clone, Copy)]
pub struct Matcher<'r> {
    rules: &'r RuleSet,
    /// Some rule asks for GET, POST or HEAD and for nothing else that literals find.
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
    pub fn verdict(&self, record: &LogEntry<'_>, headers: &[u8], scratch: &mut Scratch) -> Verdict {
        let mut copy = std::mem::take(&mut scratch.desk.copy);
        copy.clear();
        let parts = [Some(record.request), record.referer, record.user_agent, Some(headers)];
        let ends = parts.map(|part| {
            copy.extend_from_slice(part.unwrap_or_default());
            copy.len()
        });
        let own = LogEntry {
            request: &copy[..ends[0]],
            referer: record.referer.map(|_| &copy[ends[0]..ends[1]]),
            user_agent: record.user_agent.map(|_| &copy[ends[1]..ends[2]]),
            ..*record
        };
        let verdict = self.judge_and_remember(&own, &copy[ends[2]..], scratch);
        scratch.desk.copy = copy;
        verdict
    }

    fn judge_and_remember(&self, own: &LogEntry<'_>, headers: &[u8], scratch: &mut Scratch) -> Verdict {
        let key = scratch.memory.key(own.request, headers);
        if let Some(verdict) = scratch.memory.learn(key, own.status, &mut scratch.names) {
            return verdict;
        }
        let probe = Probe::of_record(own);
        scratch.desk.clear(self.rules.rules().len());
        let known = scratch.memory.class(key);
        let class = match known {
            Some(class) if !class.is_marked() => class,
            _ => self.read_headers(&probe, scratch),
        };
        if known.is_none() {
            scratch.memory.remember_headers(key, class);
            // The request may be an old one.
            if let Some(verdict) = scratch.memory.recall(key, own.status) {
                return verdict;
            }
        }
        let asked = self.judge(&probe, scratch);
        let verdict = scratch.conclude();
        scratch.memory.remember(key, class, own.status, asked, verdict, &scratch.names);
        verdict
    }

    /// What the rules say of a record that stands in no line; nothing is remembered of it.
    pub fn lone_verdict(&self, record: &LogEntry<'_>, scratch: &mut Scratch) -> Verdict {
        self.judge_afresh(&Probe::of_record(record), scratch)
    }

    /// What the rules say of a line that no format explains.
    pub fn raw_verdict(&self, text: &[u8], scratch: &mut Scratch) -> Verdict {
        self.judge_afresh(&Probe::of_raw(text), scratch)
    }

    fn judge_afresh(&self, probe: &Probe<'_>, scratch: &mut Scratch) -> Verdict {
        scratch.desk.clear(self.rules.rules().len());
        self.read_headers(probe, scratch);
        self.judge(probe, scratch);
        scratch.conclude()
    }

    /// Marks what stands in the headers, and says what they are to the rules.
    fn read_headers(&self, probe: &Probe<'_>, scratch: &mut Scratch) -> Class {
        let Scratch { desk, memory, .. } = scratch;
        let Desk { referer, agent, marks, second, rules, .. } = desk;
        let literals = self.rules.header_literals();
        for (field, text, normalizer) in [(Field::Referer, probe.referer, referer), (Field::UserAgent, probe.user_agent, agent)] {
            let Some(text) = text.filter(|text| !memory.knows_silent(text)) else { continue };
            let folded = normalizer.folded_header(text);
            let marked = literals.mark(folded, &Regions::only(field, folded.len()), marks);
            if !self.read_again(&[field], text, second, |rule, _, _| rules.push(rule)) && !marked {
                memory.remember_silent(text);
            }
        }
        memory.classify(probe.referer.is_some(), marks, rules)
    }

    /// Works out which rules match, the headers being marked already, and says what was asked for besides the request.
    fn judge(&self, probe: &Probe<'_>, scratch: &mut Scratch) -> Asked {
        let mut asked = self.judge_target(probe, scratch);
        let mut room = std::mem::take(&mut scratch.desk.fragment);
        if let Some(whole) = probe.with_fragment(&mut room) {
            let found = std::mem::take(&mut scratch.desk.rules);
            scratch.desk.clear(self.rules.rules().len());
            self.read_headers(&whole, scratch);
            asked = asked.and(self.judge_target(&whole, scratch));
            scratch.desk.rules.extend(found);
        }
        scratch.desk.fragment = room;
        let Desk { target, rules, path, .. } = &mut scratch.desk;
        rules.sort_unstable();
        rules.dedup();
        if rules.iter().any(|&rule| !self.rules.rule(rule).is_sign) {
            // Once more, with its case.
            path.extend_from_slice(target.views(probe.line.target).resolved);
        }
        asked
    }

    /// The same of one reading of the target.
    fn judge_target(&self, probe: &Probe<'_>, scratch: &mut Scratch) -> Asked {
        let Desk { target, referer, agent, raw, marks, second, rules, .. } = &mut scratch.desk;
        let literals = self.rules.request_literals();
        let mark = |text: &[u8], regions: &Regions| {
            literals.mark(text, regions, marks);
        };
        let (views, raw) = search_request(literals, probe, target, raw, mark);
        self.mark_unanchored(probe, marks);
        self.read_again(&TARGET, probe.line.target, second, |rule, _, _| rules.push(rule));
        if marks.touched().is_empty() && rules.is_empty() {
            return Asked::default();
        }
        let [referer, agent] = [(probe.referer, referer), (probe.user_agent, agent)]
            .map(|(text, normalizer)| text.map_or(&b""[..], |text| normalizer.folded_header(text)));
        let [asked_status, asked_class, asked_headers] = [const { Cell::new(false) }; 3];
        let header = |sent: Option<&[u8]>, folded| {
            // The class says that there is none.
            asked_class.set(true);
            asked_headers.set(asked_headers.get() || sent.is_some());
            folded
        };
        let request = Request {
            method: probe.line.method,
            resolved: views.resolved,
            status: probe.status,
            status_was_asked: &asked_status,
            excuse_was_asked: &asked_class,
            shape: probe.shape,
        };
        let field = |field| match field {
            Field::Path => views.path,
            Field::Query => views.query,
            Field::Target => views.target,
            Field::Referer => header(probe.referer, referer),
            Field::UserAgent => header(probe.user_agent, agent),
            Field::Method => &raw[..probe.line.method.len()],
            Field::Raw => raw,
        };
        let holds = |&&rule: &&u16| self.rules.condition(rule).holds(marks.of(rule), &request, field);
        rules.extend(marks.touched().iter().filter(holds).map(|&r| RuleId(r)));
        Asked { status: asked_status.get(), class: asked_class.get(), headers: asked_headers.get() }
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
    // As a rule there is no `..` to resolve.
    let is_resolved = views.resolved == views.path;
    for (field, text) in [
        (Field::Path, views.path),
        (Field::Query, views.query),
        (Field::Target, views.target),
        (Field::Method, &raw[..line.method.len()]),
        (Field::Raw, raw),
    ] {
        if literals.look_at(field) && !text.is_empty() {
            let resolved = (is_resolved && field == Field::Path).then_some(0..text.len());
            search(text, &Regions { resolved, ..Regions::only(field, text.len()) });
        }
    }
    if !is_resolved || !literals.look_at(Field::Path) {
        search(views.resolved, &Regions { resolved: Some(0..views.resolved.len()), ..Regions::default() });
    }
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
