//! Explains one request: what rules see, which rules match and where, and which nearly match.
//!
//! It searches for the same literals in the same views as [`Matcher`] and checks the same
//! conditions, but caches nothing, does not stop at the first failed condition, and keeps all
//! positions. Tests compare the two. It is never part of the line loop. The request may be typed
//! instead of a log line: a request line, a path or a URL.
//!
//! The explanation is plain data, which `render` prints. Views are in original case: case folding
//! changes no length, so positions in the folded views are valid here.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::matcher::{TARGET, search_request};
use super::worker_state::ReDecodeBuffers;
use super::{Matcher, ParsedRequest};
use crate::log::finding::{RuleId, Severity};
use crate::log::log_entry::{LogEntry, Outcome, RequestLine};
use crate::rules::{
    Field, LiteralHits, LiteralMatch, Literals, Regions, RequestFacts, Requirement,
    RequirementCheck, RuleSet, TextSpan, TextView, bit,
};
use crate::text::normalize::{AltDecoding, DecodeRound, Normalizer, PathReading, rounds, unescape};

/// The explanation of a request.
#[derive(Debug, Clone)]
pub(crate) struct Explanation<'r> {
    /// The views that rules look at.
    pub texts: DecodedTexts,
    /// The decoding steps of the target and the headers, if any.
    pub trails: Vec<DecodeSteps>,
    /// The rules that match, by id.
    pub matches: Vec<RuleExplanation<'r>>,
    /// The rules that nearly match, the nearest first; or the one requested rule, near or not.
    pub near_misses: Vec<RuleExplanation<'r>>,
}

/// The rules by which a scan reports a request that is sent with a method and gets one of some
/// statuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MatchesByStatus {
    /// The method.
    pub method: String,
    /// The statuses, which make no difference.
    pub statuses: Vec<u16>,
    /// The rules; none if a scan reports nothing.
    pub rules: Vec<RuleId>,
}

/// A status of each kind that rules distinguish: found, moved, without permission, not there, and a
/// failure of the server.
const STATUSES: [u16; 5] = [200, 301, 403, 404, 500];

/// Explains requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Explainer<'r> {
    rules: &'r RuleSet,
    matcher: Matcher<'r>,
    /// The lowest severity that a scan reports.
    min_severity: Severity,
    /// Apps named by `--app`.
    apps: &'r [RuleId],
}

impl<'r> Explainer<'r> {
    /// An explainer for scans with these rules, this lowest severity and these apps.
    #[must_use]
    pub(crate) fn new(rules: &'r RuleSet, min_severity: Severity, apps: &'r [RuleId]) -> Self {
        Self {
            rules,
            matcher: Matcher::new(rules),
            min_severity,
            apps,
        }
    }

    /// Explains a request; with `only`, for this rule alone.
    #[must_use]
    pub(crate) fn explain(
        &self,
        parsed: &ParsedRequest<'_>,
        only: Option<RuleId>,
    ) -> Explanation<'r> {
        let mut accounts = self.accounts(parsed, only, &PathReading::ALL);
        accounts.retain(|account| only.is_none_or(|rule| rule == account.rule));
        let (mut matches, mut near_misses): (Vec<_>, Vec<_>) =
            accounts.into_iter().partition(RuleExplanation::matches);
        if only.is_none() {
            near_misses.retain(RuleExplanation::is_near);
        }
        matches.sort_by_key(|account| account.rule);
        near_misses.sort_by_cached_key(|account| (account.distance(), account.rule));
        Explanation {
            texts: DecodedTexts::from_request(parsed),
            trails: DecodeSteps::all_of(parsed),
            matches,
            near_misses,
        }
    }

    /// What a scan reports of a typed request, whatever its status: with its method, or with GET
    /// and with POST if only a path was typed. Empty if neither makes a difference.
    #[must_use]
    pub(crate) fn by_status(&self, typed: &InputRequest) -> Vec<MatchesByStatus> {
        let mut groups: Vec<MatchesByStatus> = Vec::new();
        for request in typed.with_methods() {
            let method = String::from_utf8_lossy(RequestLine::parse(&request).method).into_owned();
            for status in STATUSES {
                let entry = LogEntry {
                    request: &request,
                    status: Some(status),
                    ..typed.record()
                };
                let matches = self.explain(&ParsedRequest::new(&entry), None).matches;
                let reported = matches
                    .iter()
                    .filter(|account| account.suppressed_by.is_none());
                let rules: Vec<_> = reported.map(|account| account.rule).collect();
                match groups
                    .iter_mut()
                    .find(|group| group.method == method && group.rules == rules)
                {
                    Some(group) => group.statuses.push(status),
                    None => groups.push(MatchesByStatus {
                        method: method.clone(),
                        statuses: vec![status],
                        rules,
                    }),
                }
            }
        }
        if groups.iter().any(|group| group.rules != groups[0].rules) {
            groups
        } else {
            Vec::new()
        }
    }

    /// The explanations of all candidate rules, and of `also`, with the path also read in these
    /// ways.
    fn accounts(
        &self,
        parsed: &ParsedRequest<'_>,
        also: Option<RuleId>,
        readings: &[PathReading],
    ) -> Vec<RuleExplanation<'r>> {
        let [mut target, mut referer, mut agent] = [(); 3].map(|()| Normalizer::default());
        let mut buffer = Vec::new();
        let mut literal_matches = LiteralMatches::new(self.rules.rules().len());
        let literals = self.rules.request_literals();
        let (views, raw) = search_request(
            literals,
            parsed,
            &mut target,
            &mut buffer,
            |text, regions| {
                literal_matches.take(literals, text, regions);
            },
        );
        self.matcher
            .add_unanchored(parsed, &mut literal_matches.literal_hits);
        let headers = self.rules.header_literals();
        let referer = header(
            headers,
            Field::Referer,
            parsed.referer,
            &mut referer,
            &mut literal_matches,
        );
        let agent = header(
            headers,
            Field::UserAgent,
            parsed.user_agent,
            &mut agent,
            &mut literal_matches,
        );
        let [status_was_used, exception_was_used] = [const { Cell::new(false) }; 2];
        let request = RequestFacts {
            method: parsed.line.method,
            resolved: views.resolved,
            status: parsed.status,
            status_was_used: &status_was_used,
            exception_was_used: &exception_was_used,
            shape: parsed.shape,
        };
        let field = |field| match field {
            Field::Path => views.path,
            Field::Query => views.query,
            Field::Target => views.target,
            Field::Referer => referer,
            Field::UserAgent => agent,
            Field::Method => &raw[..parsed.line.method.len()],
            Field::Raw => raw,
        };
        let mut alternatives = self.alternatives(parsed, readings);
        let mut candidates = literal_matches.candidates(also);
        candidates.extend(alternatives.keys().map(|rule| rule.0));
        candidates.sort_unstable();
        candidates.dedup();
        let mut account = |rule: RuleId, extra: u16| {
            let checks = self.rules.condition(rule.0).checks(
                literal_matches.literal_hits.of(rule.0) | extra,
                &request,
                field,
            );
            let suppressed_by = self.suppressed_by(rule, parsed.status);
            let alternative = alternatives.remove(&rule);
            let (seen, is_candidate) = (
                literal_matches.of_rule(rule.0),
                extra != 0 || literal_matches.is_candidate(rule.0),
            );
            RuleExplanation {
                rule,
                checks,
                seen,
                is_candidate,
                alternative,
                suppressed_by,
            }
        };
        let unknown = self.rules.unknown();
        let others = candidates
            .into_iter()
            .map(RuleId)
            .filter(|rule| !unknown.contains(rule));
        let mut accounts: Vec<_> = others.map(|rule| account(rule, 0)).collect();
        let is_of_line = |account: &RuleExplanation<'_>| {
            account.matches() && self.matcher.is_of_line(account.rule)
        };
        let is_unknown =
            self.matcher.may_be_unknown(parsed.status) && !accounts.iter().any(is_of_line);
        for &rule in unknown
            .iter()
            .filter(|rule| is_unknown || also == Some(**rule))
        {
            accounts.push(account(rule, if is_unknown { bit::UNKNOWN } else { 0 }));
        }
        accounts
    }

    /// The alternative decodings of the target and the headers that a rule matches; the first one
    /// of each rule.
    fn alternatives(
        &self,
        parsed: &ParsedRequest<'_>,
        readings: &[PathReading],
    ) -> BTreeMap<RuleId, AlternativeDecoding> {
        let mut second = ReDecodeBuffers::default();
        let mut alternatives = BTreeMap::new();
        let headers = [
            (Field::Referer, parsed.referer),
            (Field::UserAgent, parsed.user_agent),
        ];
        let headers = headers
            .into_iter()
            .filter_map(|(field, text)| Some((vec![field], field, text?)));
        for (fields, field, text) in
            std::iter::once((TARGET.to_vec(), Field::Target, parsed.line.target)).chain(headers)
        {
            self.matcher
                .match_redecoded(&fields, text, &mut second, |rule, reading, text| {
                    alternatives
                        .entry(rule)
                        .or_insert_with(|| AlternativeDecoding {
                            field,
                            reading: AlternativeKind::Run(reading),
                            text: text.to_vec(),
                        });
                });
        }
        let mut buffer = Vec::new();
        for &reading in readings {
            let Some(other) = parsed.read_as(reading, &mut buffer) else {
                continue;
            };
            let path = Normalizer::default().views(other.line.target).path.to_vec();
            let is_match = |account: &RuleExplanation<'_>| {
                account.matches()
                    && self.matcher.is_tried(account.rule, reading)
                    && !self.rules.unknown().contains(&account.rule)
            };
            for account in self
                .accounts(&other, None, &[])
                .into_iter()
                .filter(is_match)
            {
                let alternative = AlternativeDecoding {
                    field: Field::Target,
                    reading: AlternativeKind::Path(reading),
                    text: path.clone(),
                };
                alternatives.entry(account.rule).or_insert(alternative);
            }
        }
        alternatives
    }

    /// Why a scan would not report a match of this rule.
    fn suppressed_by(&self, rule: RuleId, status: Option<u16>) -> Option<SuppressedBy> {
        if self.rules.rule(rule).is_app_evidence {
            return Some(SuppressedBy::AppEvidence);
        }
        if let Some(app) = self
            .rules
            .suppressed_by_apps(rule)
            .iter()
            .find(|app| self.apps.contains(app))
        {
            return (self.min_severity > Severity::Info).then_some(SuppressedBy::App(*app));
        }
        if self.rules.rule(rule).with_client.is_some() {
            return Some(SuppressedBy::Client);
        }
        if self.rules.rule(rule).counts_requests() {
            return Some(SuppressedBy::Window);
        }
        let severity = self
            .rules
            .rule(rule)
            .effective_severity(Outcome::from_status(status) == Outcome::Answered);
        (severity < self.min_severity).then_some(SuppressedBy::BelowMinSeverity {
            severity,
            least: self.min_severity,
        })
    }
}

/// Searches a header; returns it decoded and in lower case.
fn header<'a>(
    literals: &Literals,
    field: Field,
    text: Option<&[u8]>,
    normalizer: &'a mut Normalizer,
    found: &mut LiteralMatches,
) -> &'a [u8] {
    let Some(text) = text else { return b"" };
    let folded = normalizer.folded_header(text);
    found.take(literals, folded, &Regions::only(field, folded.len()));
    folded
}

/// All literals that were found, and the hits of each rule.
#[derive(Debug)]
struct LiteralMatches {
    literal_hits: LiteralHits,
    seen: BTreeMap<u16, RuleMatches>,
}

/// The literals found of a rule: of each view the first few in the right place, and in a wrong one.
#[derive(Debug, Default)]
struct RuleMatches {
    seen: Vec<FoundLiteral>,
    counts: [[u8; 2]; 8],
}

/// Most literals kept of a rule in a view. A long line may hold a literal a million times.
const MAX_LITERALS_PER_VIEW: u8 = 16;

impl LiteralMatches {
    fn new(rules: usize) -> Self {
        let mut literal_hits = LiteralHits::default();
        literal_hits.clear(rules);
        Self {
            literal_hits,
            seen: BTreeMap::new(),
        }
    }

    fn take(&mut self, literals: &Literals, text: &[u8], regions: &Regions) {
        literals.find_all(
            text,
            regions,
            |LiteralMatch {
                 rule,
                 wanted,
                 bits,
                 range,
             }| {
                if bits != 0 {
                    self.literal_hits.add(rule, bits);
                }
                let of_rule = self.seen.entry(rule).or_default();
                for (view, range) in regions.around(&range) {
                    of_rule.take(FoundLiteral {
                        counts: leaves(bits, view),
                        wanted,
                        span: TextSpan { view, range },
                    });
                }
            },
        );
    }

    /// The rules with a literal, and `also`.
    fn candidates(&self, also: Option<RuleId>) -> Vec<u16> {
        let mut rules: Vec<_> = self
            .seen
            .keys()
            .copied()
            .chain(self.literal_hits.touched().iter().copied())
            .chain(also.map(|rule| rule.0))
            .collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    fn is_candidate(&self, rule: u16) -> bool {
        self.literal_hits.of(rule) != 0
    }

    /// The literals of a rule, by position.
    fn of_rule(&self, rule: u16) -> Vec<FoundLiteral> {
        let mut seen = self
            .seen
            .get(&rule)
            .map(|of_rule| of_rule.seen.clone())
            .unwrap_or_default();
        seen.sort_by_key(|seen| {
            (
                !seen.counts,
                seen.span.view,
                seen.span.range.start,
                seen.span.range.end,
            )
        });
        seen.dedup();
        seen
    }
}

impl RuleMatches {
    fn take(&mut self, seen: FoundLiteral) {
        let view = match seen.span.view {
            TextView::Field(field) => field as usize,
            TextView::Resolved => 7,
        };
        let count = &mut self.counts[view][usize::from(seen.counts)];
        if *count < MAX_LITERALS_PER_VIEW {
            *count += 1;
            self.seen.push(seen);
        }
    }
}

/// Why one rule matches a request or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleExplanation<'r> {
    /// The rule.
    pub rule: RuleId,
    /// Its requirements, checked.
    pub checks: Vec<RequirementCheck<'r>>,
    /// Its literals that were found, those in the right place first.
    pub seen: Vec<FoundLiteral>,
    /// A scan checks the rule: one of its literals is in the right place, or it has none.
    pub is_candidate: bool,
    /// The alternative decoding that it matches.
    pub alternative: Option<AlternativeDecoding>,
    /// Why a scan would not report the match.
    pub suppressed_by: Option<SuppressedBy>,
}

/// An alternative decoding of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AlternativeDecoding {
    /// The target or a header.
    pub field: Field,
    /// The kind of decoding.
    pub reading: AlternativeKind,
    /// The decoded text.
    pub text: Vec<u8>,
}

/// The kind of an alternative decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AlternativeKind {
    /// As a database, a shell or a script reads it.
    Run(AltDecoding),
    /// As a server may read the path.
    Path(PathReading),
}

/// A literal that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundLiteral {
    /// Where.
    pub span: TextSpan,
    /// The kinds of literal it can be; bits of [`bit`].
    pub wanted: u16,
    /// Whether it is where the rule requires it.
    pub counts: bool,
}

/// Why a match is not reported, or not alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SuppressedBy {
    /// The rule is below `--min-severity`.
    BelowMinSeverity {
        /// The severity of the hit.
        severity: Severity,
        /// The level.
        least: Severity,
    },
    /// The rule is app evidence.
    AppEvidence,
    /// The request is ordinary on a site that runs this app, which `--app` names.
    App(RuleId),
    /// It counts only if its client made other requests as well.
    Client,
    /// It counts only as one of many within a window.
    Window,
}

impl<'r> RuleExplanation<'r> {
    /// Whether the rule matches.
    #[must_use]
    pub(crate) fn matches(&self) -> bool {
        self.alternative.is_some() || self.matches_itself()
    }

    /// Whether the rule matches the request as it is decoded.
    #[must_use]
    pub(crate) fn matches_itself(&self) -> bool {
        self.is_candidate && self.checks.iter().all(|check| check.holds)
    }

    /// The requirements that are not met.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &RequirementCheck<'r>> {
        self.checks.iter().filter(|check| !check.holds)
    }

    /// Where parts of the rule were found, and by what: literals in the right place, then regexes.
    /// Words count only in a field where the regex was tried.
    #[must_use]
    pub(crate) fn spans(&self) -> Vec<(PatternKind, &TextSpan)> {
        let literals = self
            .seen
            .iter()
            .filter(|seen| seen.counts)
            .map(|seen| (PatternKind::Literal(seen.wanted), &seen.span));
        let regexes = self
            .checks
            .iter()
            .filter_map(|check| Some((PatternKind::from_check(check)?, check.found.as_ref()?)));
        let matched = self
            .checks
            .iter()
            .find(|check| matches!(check.requirement, Requirement::Regex(..)))
            .and_then(|check| check.found.as_ref());
        let is_beside = |kind: PatternKind, span: &TextSpan| match (kind, matched) {
            (PatternKind::Literal(wanted), Some(regex)) => {
                wanted >= bit::PATHS || span.view == regex.view
            }
            _ => true,
        };
        literals
            .chain(regexes)
            .filter(|(kind, span)| is_beside(*kind, span))
            .collect()
    }

    /// How far the rule is from a match: missing requirements, then the length of the literals
    /// found.
    fn distance(&self) -> (usize, usize) {
        (
            self.lacks(),
            usize::MAX - self.longest(true).max(self.longest(false)),
        )
    }

    /// Whether the rule nearly matches: a distinctive literal is in the right place and little is
    /// missing, or only the place is wrong.
    fn is_near(&self) -> bool {
        match self.lacks() {
            1 => {
                self.longest(true) >= MIN_DISTINCTIVE_LEN
                    || self.longest(false) > MIN_DISTINCTIVE_LEN
            }
            2 => self.longest(true) >= MIN_DISTINCTIVE_LEN,
            _ => false,
        }
    }

    /// The missing requirements that do not follow from others: a regex is tried only where a word
    /// was found.
    pub(crate) fn lacking(&self) -> impl Iterator<Item = &RequirementCheck<'r>> {
        let is_missing = |requirement: fn(&Requirement<'_>) -> bool| {
            self.missing().any(|check| requirement(&check.requirement))
        };
        let no_word = is_missing(|requirement| matches!(requirement, Requirement::Word(_)));
        let no_glob =
            is_missing(|requirement| matches!(requirement, Requirement::Literal(bit::GLOB)));
        let follows = move |requirement: &Requirement<'_>| {
            matches!(requirement, Requirement::Regex(..)) && no_word
                || matches!(requirement, Requirement::Glob(_)) && no_glob
        };
        self.missing()
            .filter(move |check| !follows(&check.requirement))
    }

    fn lacks(&self) -> usize {
        self.lacking().count()
    }

    /// The longest literal that was found in the right place, or in another one.
    fn longest(&self, counts: bool) -> usize {
        let elsewhere = |seen: &&FoundLiteral| {
            !matches!(seen.span.view, TextView::Field(Field::Raw | Field::Method))
        };
        let seen = self
            .seen
            .iter()
            .filter(|seen| seen.counts == counts)
            .filter(|seen| counts || elsewhere(seen));
        seen.map(|seen| seen.span.range.len()).max().unwrap_or(0)
    }
}

/// The shortest distinctive literal: `/.` occurs in every hidden file.
const MIN_DISTINCTIVE_LEN: usize = 4;

/// The kind of pattern that a span was found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PatternKind {
    /// A literal; bits of [`bit`] say of what kind.
    Literal(u16),
    /// A glob.
    Glob,
    /// The regex.
    Regex,
    /// An exception.
    Unless,
}

impl PatternKind {
    fn from_check(check: &RequirementCheck<'_>) -> Option<Self> {
        match check.requirement {
            Requirement::Glob(_) => Some(Self::Glob),
            Requirement::Regex(..) => Some(Self::Regex),
            Requirement::Not(..) => Some(Self::Unless),
            _ => None,
        }
    }

    /// The key in rule files.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Literal(kind) => literal(kind),
            Self::Glob => "path_glob",
            Self::Regex => "regex",
            Self::Unless => "unless",
        }
    }
}

/// The key of a kind of literal in rule files.
#[must_use]
pub(crate) fn literal(kind: u16) -> &'static str {
    match kind {
        bit::PATHS => "paths",
        bit::SUFFIX => "suffixes",
        bit::GLOB => "path_glob",
        bit::AGENT => "agents",
        bit::PREFIX => "raw_prefixes",
        bit::UNKNOWN => "unknown",
        _ => "words",
    }
}

/// Whether these bits can come from a literal in this view.
fn leaves(bits: u16, view: TextView) -> bool {
    let kinds = match view {
        TextView::Resolved => bit::PATHS | bit::SUFFIX | bit::GLOB,
        TextView::Field(Field::UserAgent) => bit::AGENT | bit::of_field(Field::UserAgent),
        TextView::Field(Field::Raw) => bit::PREFIX | bit::of_field(Field::Raw),
        TextView::Field(field) => bit::of_field(field),
    };
    bits & kinds != 0
}

/// A typed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InputRequest {
    /// The request line.
    pub request: Vec<u8>,
    /// The host of a URL.
    pub host: Option<Vec<u8>>,
    /// A method was typed.
    has_method: bool,
}

impl InputRequest {
    /// Parses a request line, a path or a URL; `None` if the text is none of them.
    #[must_use]
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        if let Some((host, target)) = url(text) {
            return Some(Self {
                request: [b"GET ", target.as_slice(), b" HTTP/1.1"].concat(),
                host: Some(host),
                has_method: false,
            });
        }
        if text.starts_with(b"/") {
            return Some(Self {
                request: [b"GET ", text, b" HTTP/1.1"].concat(),
                host: None,
                has_method: false,
            });
        }
        let line = RequestLine::parse(text);
        let is_method = !line.method.is_empty()
            && line
                .method
                .iter()
                .all(|b| b.is_ascii_uppercase() || *b == b'_' || *b == b'-');
        let is_target = line.target.starts_with(b"/")
            || line.target == b"*"
            || memchr::memmem::find(line.target, b"://").is_some();
        let protocol: &[u8] = if line.protocol.is_empty() {
            b" HTTP/1.1"
        } else {
            b""
        };
        (is_method && is_target).then(|| Self {
            request: [text, protocol].concat(),
            host: None,
            has_method: true,
        })
    }

    /// The request line; without a typed method also that of a POST.
    fn with_methods(&self) -> Vec<Vec<u8>> {
        let mut requests = vec![self.request.clone()];
        if let (false, Some(rest)) = (self.has_method, self.request.strip_prefix(b"GET")) {
            requests.push([b"POST", rest].concat());
        }
        requests
    }

    /// The request as a log entry without an answer.
    #[must_use]
    pub(crate) fn record(&self) -> LogEntry<'_> {
        LogEntry {
            request: &self.request,
            host: self.host.as_deref(),
            ..LogEntry::default()
        }
    }
}

/// Host and target of a URL. Browsers do not send the fragment.
fn url(text: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let rest = text
        .strip_prefix(b"https://")
        .or_else(|| text.strip_prefix(b"http://"))?;
    let rest = &rest[..memchr::memchr(b'#', rest).unwrap_or(rest.len())];
    let end = memchr::memchr2(b'/', b'?', rest).unwrap_or(rest.len());
    let (host, target) = rest.split_at(end);
    let slash: &[u8] = if target.starts_with(b"/") { b"" } else { b"/" };
    (!host.is_empty()).then(|| (host.to_vec(), [slash, target].concat()))
}

/// All views that rules look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecodedTexts {
    fields: [Vec<u8>; 7],
    resolved: Vec<u8>,
    /// More rounds would have changed the target.
    pub round_limit: bool,
}

impl DecodedTexts {
    fn from_request(parsed: &ParsedRequest<'_>) -> Self {
        let mut fields: [Vec<u8>; 7] = Default::default();
        let mut normalizer = Normalizer::default();
        let views = normalizer.views(parsed.line.target);
        let (resolved, round_limit) = (views.resolved.to_vec(), views.round_limit);
        for (field, text) in [
            (Field::Path, views.path),
            (Field::Query, views.query),
            (Field::Target, views.target),
        ] {
            fields[field as usize] = text.to_vec();
        }
        for (field, text) in [
            (Field::Referer, parsed.referer),
            (Field::UserAgent, parsed.user_agent),
        ] {
            fields[field as usize] = text
                .map(|text| normalizer.header(text).to_vec())
                .unwrap_or_default();
        }
        let raw = &mut fields[Field::Raw as usize];
        unescape(parsed.request, raw);
        fields[Field::Method as usize] = raw[..parsed.line.method.len()].to_vec();
        Self {
            fields,
            resolved,
            round_limit,
        }
    }

    /// The text of a view.
    #[must_use]
    pub(crate) fn of_view(&self, view: TextView) -> &[u8] {
        match view {
            TextView::Field(field) => &self.fields[field as usize],
            TextView::Resolved => &self.resolved,
        }
    }
}

/// The steps of decoding a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecodeSteps {
    /// The target or a header.
    pub field: Field,
    /// As logged.
    pub logged: Vec<u8>,
    /// Without the escapes of the log writer, if there were any.
    pub sent: Option<Vec<u8>>,
    /// The rounds of decoding that changed something.
    pub rounds: Vec<DecodeRound>,
}

impl DecodeSteps {
    /// The steps of all fields that were decoded.
    fn all_of(parsed: &ParsedRequest<'_>) -> Vec<Self> {
        let fields = [
            (Field::Target, Some(parsed.line.target)),
            (Field::Referer, parsed.referer),
            (Field::UserAgent, parsed.user_agent),
        ];
        let trails = fields
            .into_iter()
            .filter_map(|(field, text)| Some(Self::new(field, text?)));
        trails
            .filter(|trail| trail.sent.is_some() || !trail.rounds.is_empty())
            .collect()
    }

    fn new(field: Field, logged: &[u8]) -> Self {
        let mut sent = Vec::new();
        unescape(logged, &mut sent);
        let rounds = rounds(&sent);
        Self {
            field,
            sent: Some(sent).filter(|sent| sent != logged),
            logged: logged.to_vec(),
            rounds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_typed_requests() {
        for (text, request, host) in [
            ("GET /.env", "GET /.env HTTP/1.1", ""),
            ("POST /x HTTP/1.0", "POST /x HTTP/1.0", ""),
            ("OPTIONS *", "OPTIONS * HTTP/1.1", ""),
            (
                "GET http://example.org/",
                "GET http://example.org/ HTTP/1.1",
                "",
            ),
            ("/a b?c=/d", "GET /a b?c=/d HTTP/1.1", ""),
            (
                "https://example.org:8080/a?b#c",
                "GET /a?b HTTP/1.1",
                "example.org:8080",
            ),
            ("http://example.org", "GET / HTTP/1.1", "example.org"),
            (
                "http://example.org?a=/b",
                "GET /?a=/b HTTP/1.1",
                "example.org",
            ),
        ] {
            let typed = InputRequest::read(text.as_bytes()).expect(text);
            assert_eq!(String::from_utf8_lossy(&typed.request), request);
            assert_eq!(
                typed.host.as_deref().unwrap_or_default(),
                host.as_bytes(),
                "{text}"
            );
        }
        for text in [
            "",
            "hello",
            "hello /world",
            "GET",
            "GET x",
            "http://",
            "[error] GET /x",
            r"\x16\x03\x01",
        ] {
            assert_eq!(InputRequest::read(text.as_bytes()), None, "{text}");
        }
    }
}
