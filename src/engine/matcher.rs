//! Matches one request against the rules.
//!
//! Literals are found first, in one pass over bytes that need no decoding. The other conditions are
//! checked only for rules with a literal hit. The matcher depends on one request and nothing else.

use std::cell::Cell;

use super::ParsedRequest;
use super::candidates::each_candidate;
use super::verdict_cache::{Dependencies, HeaderClass, Verdict};
use super::worker_state::{MatchBuffers, ReDecodeBuffers, WorkerState};
use crate::collections::intern::SymbolTables;
use crate::formats::Headers;
use crate::log::finding::{RuleId, Severity, UnmatchedAnswer};
use crate::log::log_entry::LogEntry;
use crate::rules::{Field, LiteralHits, Literals, Regions, RequestFacts, RuleSet, bit};
use crate::text::normalize::{
    AltDecoding, DecodedViews, DecodingSource, Normalizer, PathReading, unescape,
};
use crate::text::short_bytes::append;

/// The fields of an alternative decoding of the target: it counts as query.
pub(super) const TARGET: [Field; 2] = [Field::Query, Field::Target];

/// Matches requests against a rule set.
#[derive(Debug, Clone, Copy)]
pub struct Matcher<'r> {
    rules: &'r RuleSet,
    /// Some rule without literals can match a GET, POST or HEAD request.
    unanchored_ordinary: bool,
}

impl<'r> Matcher<'r> {
    /// A matcher for `rules`.
    #[must_use]
    pub fn new(rules: &'r RuleSet) -> Self {
        let ordinary = |&rule: &u16| rules.condition(rule).may_be_ordinary();
        Self {
            rules,
            unanchored_ordinary: rules.unanchored().iter().any(ordinary),
        }
    }

    /// Whether a request with this status may match the rule for unknown names.
    #[must_use]
    #[inline]
    pub fn may_be_unknown(&self, status: Option<u16>) -> bool {
        !self.rules.unknown().is_empty() && UnmatchedAnswer::new(status, None).may_be_unknown_name()
    }

    /// The verdict of a log entry with these headers, as the line has them.
    pub fn verdict(
        &self,
        record: &LogEntry<'_>,
        headers: Headers<'_>,
        worker: &mut WorkerState,
    ) -> Verdict {
        let mut copy = std::mem::take(&mut worker.buffers.copy);
        copy.clear();
        let (first, second) = headers.key();
        let parts = [
            Some(record.request),
            record.referer,
            record.user_agent,
            Some(first),
            second,
        ];
        let ends = parts.map(|part| {
            append(&mut copy, part.unwrap_or_default());
            copy.len()
        });
        let entry = LogEntry {
            request: &copy[..ends[0]],
            referer: record.referer.map(|_| &copy[ends[0]..ends[1]]),
            user_agent: record.user_agent.map(|_| &copy[ends[1]..ends[2]]),
            // The cache knows no user.
            user: None,
            ..*record
        };
        let first = &copy[ends[2]..ends[3]];
        let headers = second.map_or(Headers::quoted(first), |_| {
            Headers::parsed(first, &copy[ends[3]..])
        });
        let verdict = self.match_and_cache(&entry, headers, worker);
        worker.buffers.copy = copy;
        verdict
    }

    fn match_and_cache(
        &self,
        entry: &LogEntry<'_>,
        headers: Headers<'_>,
        worker: &mut WorkerState,
    ) -> Verdict {
        let key = worker
            .cache
            .key(entry.request, headers, self.may_be_unknown(entry.status));
        if let Some(verdict) = worker
            .cache
            .fetch_shared(key, entry.status, &mut worker.names)
        {
            return verdict;
        }
        let parsed = ParsedRequest::new(entry);
        worker.buffers.clear(self.rules.rules().len());
        let cached_class = worker.cache.class(key);
        let class = match cached_class {
            Some(class) if !class.is_marked() => class,
            _ => self.scan_headers(&parsed, worker),
        };
        if cached_class.is_none() {
            worker.cache.insert_headers(key, class);
            // The request may be cached with these headers.
            if let Some(verdict) = worker.cache.get(key, entry.status) {
                return verdict;
            }
        }
        let used = self.match_request(&parsed, self.may_be_unknown(entry.status), worker);
        let verdict = worker.intern_verdict();
        worker
            .cache
            .insert(key, class, entry.status, used, verdict, &worker.names);
        verdict
    }

    /// The verdict of a log entry without a line; it is not cached.
    pub fn match_uncached(&self, record: &LogEntry<'_>, worker: &mut WorkerState) -> Verdict {
        self.match_parsed(
            &ParsedRequest::new(record),
            self.may_be_unknown(record.status),
            worker,
        )
    }

    /// The verdict of an unparsed line: the rules that match any request in it, and the path of the
    /// first that a rule matches, which is then in `buffers.matched`.
    pub fn match_raw(&self, text: &[u8], worker: &mut WorkerState) -> Verdict {
        let mut candidate = std::mem::take(&mut worker.buffers.candidate);
        let mut matched = std::mem::take(&mut worker.buffers.matched);
        matched.clear();
        let mut verdict = Verdict::default();
        each_candidate(text, &mut candidate, |request, status| {
            // A line without a client is of no prober.
            let parsed = ParsedRequest {
                status,
                ..ParsedRequest::from_raw(request)
            };
            let next = self.match_parsed(&parsed, false, worker);
            if next.rules == SymbolTables::EMPTY_RULES {
                return;
            }
            if verdict.rules == SymbolTables::EMPTY_RULES {
                matched.extend_from_slice(request);
                verdict = next;
                return;
            }
            let mut rules: Vec<RuleId> = [verdict.rules, next.rules]
                .iter()
                .flat_map(|rules| worker.names.rules.resolve(*rules).iter().copied())
                .collect();
            rules.sort_unstable();
            rules.dedup();
            verdict.rules = worker.names.rules.intern(&*rules, Box::from);
        });
        (worker.buffers.candidate, worker.buffers.matched) = (candidate, matched);
        verdict
    }

    fn match_parsed(
        &self,
        parsed: &ParsedRequest<'_>,
        may_be_unknown: bool,
        worker: &mut WorkerState,
    ) -> Verdict {
        worker.buffers.clear(self.rules.rules().len());
        self.scan_headers(parsed, worker);
        self.match_request(parsed, may_be_unknown, worker);
        worker.intern_verdict()
    }

    /// Finds literals in the headers, and returns the class of the headers.
    fn scan_headers(&self, parsed: &ParsedRequest<'_>, worker: &mut WorkerState) -> HeaderClass {
        let WorkerState { buffers, cache, .. } = worker;
        let MatchBuffers {
            referer,
            agent,
            literal_hits,
            redecode,
            rules,
            ..
        } = buffers;
        let literals = self.rules.header_literals();
        for (field, text, normalizer) in [
            (Field::Referer, parsed.referer, referer),
            (Field::UserAgent, parsed.user_agent, agent),
        ] {
            let Some(text) = text.filter(|text| !cache.is_empty_header(text)) else {
                continue;
            };
            let folded = normalizer.folded_header(text);
            let is_found =
                literals.find_hits(folded, &Regions::only(field, folded.len()), literal_hits);
            if !self.match_redecoded(&[field], text, redecode, |rule, _, _| rules.push(rule))
                && !is_found
            {
                cache.insert_empty_header(text);
            }
        }
        cache.classify(parsed.referer.is_some(), literal_hits, rules)
    }

    /// Finds the rules that match, after the headers were searched; returns what the verdict
    /// depends on besides the request.
    fn match_request(
        &self,
        parsed: &ParsedRequest<'_>,
        may_be_unknown: bool,
        worker: &mut WorkerState,
    ) -> Dependencies {
        let unknown = if may_be_unknown {
            self.rules.unknown()
        } else {
            &[]
        };
        let mut used = self.match_target(parsed, unknown, worker);
        let mut buffer = std::mem::take(&mut worker.buffers.reading);
        for reading in PathReading::ALL {
            let Some(other) = parsed.read_as(reading, &mut buffer) else {
                continue;
            };
            let rules_so_far = std::mem::take(&mut worker.buffers.rules);
            worker.buffers.clear(self.rules.rules().len());
            self.scan_headers(&other, worker);
            used = used.union(self.match_target(&other, &[], worker));
            worker
                .buffers
                .rules
                .retain(|&rule| self.is_tried(rule, reading));
            worker.buffers.rules.extend(rules_so_far);
        }
        worker.buffers.reading = buffer;
        let MatchBuffers {
            target,
            rules,
            path,
            ..
        } = &mut worker.buffers;
        rules.sort_unstable();
        rules.dedup();
        if !unknown.is_empty() && rules.iter().any(|&rule| self.is_of_line(rule)) {
            rules.retain(|rule| !unknown.contains(rule));
        }
        if rules
            .iter()
            .any(|&rule| !self.rules.rule(rule).is_app_evidence)
        {
            // Again, to get the original case.
            path.extend_from_slice(target.views(parsed.line.target).resolved);
        }
        used
    }

    /// Whether a rule is tried on a path read in this way. A script of the site with a path after
    /// it is an ordinary address, so it is nothing that rules count or that shows an app.
    pub(super) fn is_tried(&self, rule: RuleId, reading: PathReading) -> bool {
        reading == PathReading::Fragment || self.is_of_line(rule)
    }

    /// Whether a rule makes a request a finding by its line alone.
    pub(super) fn is_of_line(&self, rule: RuleId) -> bool {
        let rule = self.rules.rule(rule);
        rule.is_certain() && !rule.is_app_evidence
    }

    /// Matches one decoding of the target. The rules `unknown` are tried if no other rule matches
    /// by the line alone.
    fn match_target(
        &self,
        parsed: &ParsedRequest<'_>,
        unknown: &[RuleId],
        worker: &mut WorkerState,
    ) -> Dependencies {
        let MatchBuffers {
            target,
            referer,
            agent,
            raw,
            literal_hits,
            redecode,
            rules,
            ..
        } = &mut worker.buffers;
        let literals = self.rules.request_literals();
        let find = |text: &[u8], regions: &Regions| {
            literals.find_hits(text, regions, literal_hits);
        };
        let (views, raw) = search_request(literals, parsed, target, raw, find);
        self.add_unanchored(parsed, literal_hits);
        self.match_redecoded(&TARGET, parsed.line.target, redecode, |rule, _, _| {
            rules.push(rule);
        });
        // Whether a request without a method has a shape depends on its status.
        let is_status_used = parsed.line.method.is_empty();
        if literal_hits.touched().is_empty() && rules.is_empty() && unknown.is_empty() {
            return Dependencies::STATUS.if_used(is_status_used);
        }
        let [referer, agent] = [(parsed.referer, referer), (parsed.user_agent, agent)]
            .map(|(text, normalizer)| text.map_or(&b""[..], |text| normalizer.folded_header(text)));
        let used_status = Cell::new(is_status_used);
        let [asked_class, asked_headers] = [const { Cell::new(false) }; 2];
        let header = |sent: Option<&[u8]>, folded| {
            // The class includes whether the header is there.
            asked_class.set(true);
            asked_headers.set(asked_headers.get() || sent.is_some());
            folded
        };
        let request = RequestFacts {
            method: parsed.line.method,
            resolved: views.resolved,
            status: parsed.status,
            status_was_used: &used_status,
            exception_was_used: &asked_class,
            shape: parsed.shape,
        };
        let field = |field| match field {
            Field::Path => views.path,
            Field::Query => views.query,
            Field::Target => views.target,
            Field::Referer => header(parsed.referer, referer),
            Field::UserAgent => header(parsed.user_agent, agent),
            Field::Method => &raw[..parsed.line.method.len()],
            Field::Raw => raw,
        };
        let holds = |&&rule: &&u16| {
            self.rules
                .condition(rule)
                .holds(literal_hits.of(rule), &request, field)
        };
        rules.extend(
            literal_hits
                .touched()
                .iter()
                .filter(holds)
                .map(|&r| RuleId(r)),
        );
        if !rules.iter().any(|&rule| self.is_of_line(rule)) {
            let holds = |rule: &&RuleId| {
                self.rules.condition(rule.0).holds(
                    literal_hits.of(rule.0) | bit::UNKNOWN,
                    &request,
                    field,
                )
            };
            rules.extend(unknown.iter().filter(holds));
        }
        Dependencies::STATUS
            .if_used(used_status.get())
            .union(Dependencies::CLASS.if_used(asked_class.get()))
            .union(Dependencies::HEADERS.if_used(asked_headers.get()))
    }

    /// Matches the alternative decodings of a text and calls `found` for each rule that matches,
    /// with the decoding and its text; returns whether any literal was found. Only rules that look
    /// for words alone, of severity medium or above, are tried. A target counts as query.
    pub(super) fn match_redecoded(
        &self,
        fields: &[Field],
        text: &[u8],
        redecode: &mut ReDecodeBuffers,
        mut on_match: impl FnMut(RuleId, AltDecoding, &[u8]),
    ) -> bool {
        let ReDecodeBuffers {
            decoder,
            literal_hits,
        } = redecode;
        let (source, literals) = match fields {
            [Field::Referer | Field::UserAgent] => {
                (DecodingSource::Header, self.rules.header_literals())
            }
            _ => (DecodingSource::Target, self.rules.request_literals()),
        };
        let mut has_literal = false;
        if !decoder.take(text, source) {
            return has_literal;
        }
        for reading in AltDecoding::ALL {
            let Some(text) = decoder.read(reading) else {
                continue;
            };
            literal_hits.clear(self.rules.rules().len());
            has_literal |=
                literals.find_hits(text, &Regions::each(fields, text.len()), literal_hits);
            let is_sure = |rule: u16| self.rules.rule(RuleId(rule)).severity >= Severity::Medium;
            let holds = |&&rule: &&u16| {
                is_sure(rule)
                    && self
                        .rules
                        .condition(rule)
                        .holds_in(fields, literal_hits.of(rule), text)
            };
            literal_hits
                .touched()
                .iter()
                .filter(holds)
                .for_each(|&rule| on_match(RuleId(rule), reading, text));
        }
        has_literal
    }

    /// Makes candidates of the rules without literals, if the request may match one.
    pub(super) fn add_unanchored(
        &self,
        parsed: &ParsedRequest<'_>,
        literal_hits: &mut LiteralHits,
    ) {
        if self.unanchored_ordinary
            || parsed.shape.is_some()
            || !matches!(parsed.line.method, b"GET" | b"POST" | b"HEAD" | b"")
        {
            for &rule in self.rules.unanchored() {
                literal_hits.add(rule, 0);
            }
        }
    }
}

/// Searches all fields of a request; returns its decoded views and the request as sent, all in
/// lower case.
pub(super) fn search_request<'a>(
    literals: &Literals,
    parsed: &ParsedRequest<'_>,
    normalizer: &'a mut Normalizer,
    raw: &'a mut Vec<u8>,
    mut search: impl FnMut(&[u8], &Regions),
) -> (DecodedViews<'a>, &'a [u8]) {
    let line = &parsed.line;
    let is_verbatim = !line.method.is_empty() && memchr::memchr(b'\\', parsed.request).is_none();
    unescape(parsed.request, raw);
    raw.make_ascii_lowercase();
    let raw = raw.as_slice();
    if is_verbatim
        && let Some(views) =
            DecodedViews::from_plain(&raw[line.method.len() + 1..][..line.target.len()])
    {
        // No rule inspects an ordinary protocol.
        let protocol = if matches!(line.protocol, b"HTTP/1.1" | b"HTTP/1.0" | b"HTTP/2.0") {
            line.protocol.len() + 1
        } else {
            0
        };
        let searched = raw.len() - protocol;
        search(
            &raw[..searched],
            &plain_regions(line.method.len(), &views, searched),
        );
        return (views, raw);
    }
    let views = normalizer.folded_views(line.target);
    // Usually there is no `..` to resolve.
    let is_resolved = views.resolved == views.path;
    for (field, text) in [
        (Field::Path, views.path),
        (Field::Query, views.query),
        (Field::Target, views.target),
        (Field::Method, &raw[..line.method.len()]),
        (Field::Raw, raw),
    ] {
        if literals.searches(field) && !text.is_empty() {
            let resolved = (is_resolved && field == Field::Path).then_some(0..text.len());
            search(
                text,
                &Regions {
                    resolved,
                    ..Regions::only(field, text.len())
                },
            );
        }
    }
    if !is_resolved || !literals.searches(Field::Path) {
        search(
            views.resolved,
            &Regions {
                resolved: Some(0..views.resolved.len()),
                ..Regions::default()
            },
        );
    }
    (views, raw)
}

/// The regions of the fields in a request that needs no decoding.
fn plain_regions(method: usize, views: &DecodedViews<'_>, searched: usize) -> Regions {
    let target = method + 1;
    let path = target..target + views.path.len();
    let end = target + views.target.len();
    let mut regions = Regions {
        resolved: Some(path.clone()),
        ..Regions::default()
    };
    regions.fields[Field::Method as usize] = Some(0..method);
    regions.fields[Field::Target as usize] = Some(target..end);
    regions.fields[Field::Query as usize] = Some((path.end + 1).min(end)..end);
    regions.fields[Field::Path as usize] = Some(path);
    regions.fields[Field::Raw as usize] = Some(0..searched);
    regions
}
