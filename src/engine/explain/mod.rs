//! Explains one request: what rules see, which rules match and where, and which nearly match.
//!
//! It searches for the same literals in the same views as [`Matcher`] and checks the same conditions, but caches nothing, does not
//! stop at the first failed condition, and keeps all positions. Tests compare the two. It is never part of the line loop.

mod decoding;
mod input;
mod rule;

use std::cell::Cell;
use std::collections::BTreeMap;

pub use decoding::{DecodeSteps, DecodedTexts};
pub use input::InputRequest;
pub use rule::{AlternativeDecoding, AlternativeKind, FoundBy, FoundLiteral, RuleExplanation, SuppressedBy, literal};

use super::matcher::{TARGET, search_request};
use super::worker_state::ReDecodeBuffers;
use super::{Matcher, ParsedRequest};
use crate::finding::{RuleId, Severity};
use crate::log_entry::Outcome;
use crate::normalize::Normalizer;
use crate::rules::{Field, LiteralHits, LiteralMatch, Literals, Regions, RequestFacts, RuleSet, TextSpan, TextView};

/// The explanation of a request.
#[derive(Debug, Clone)]
pub struct Explanation<'r> {
    /// The views that rules look at.
    pub texts: DecodedTexts,
    /// The decoding steps of the target and the headers, if any.
    pub trails: Vec<DecodeSteps>,
    /// The rules that match, by id.
    pub matches: Vec<RuleExplanation<'r>>,
    /// The rules that nearly match, the nearest first; or the one requested rule, near or not.
    pub near_misses: Vec<RuleExplanation<'r>>,
}

/// Explains requests.
#[derive(Debug, Clone, Copy)]
pub struct Explainer<'r> {
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
    pub fn new(rules: &'r RuleSet, min_severity: Severity, apps: &'r [RuleId]) -> Self {
        Self { rules, matcher: Matcher::new(rules), min_severity, apps }
    }

    /// Explains a request; with `only`, for this rule alone.
    #[must_use]
    pub fn explain(&self, probe: &ParsedRequest<'_>, only: Option<RuleId>) -> Explanation<'r> {
        let mut accounts = self.accounts(probe, only);
        accounts.retain(|account| only.is_none_or(|rule| rule == account.rule));
        let (mut matches, mut near_misses): (Vec<_>, Vec<_>) = accounts.into_iter().partition(RuleExplanation::matches);
        if only.is_none() {
            near_misses.retain(RuleExplanation::is_near);
        }
        matches.sort_by_key(|account| account.rule);
        near_misses.sort_by_cached_key(|account| (account.distance(), account.rule));
        Explanation { texts: DecodedTexts::of(probe), trails: DecodeSteps::all_of(probe), matches, near_misses }
    }

    /// The explanations of all candidate rules, and of `also`.
    fn accounts(&self, probe: &ParsedRequest<'_>, also: Option<RuleId>) -> Vec<RuleExplanation<'r>> {
        let [mut target, mut referer, mut agent] = [(); 3].map(|()| Normalizer::default());
        let mut buffer = Vec::new();
        let mut found = LiteralMatches::new(self.rules.rules().len());
        let literals = self.rules.request_literals();
        let (views, raw) = search_request(literals, probe, &mut target, &mut buffer, |text, regions| {
            found.take(literals, text, regions);
        });
        self.matcher.mark_unanchored(probe, &mut found.marks);
        let headers = self.rules.header_literals();
        let referer = header(headers, Field::Referer, probe.referer, &mut referer, &mut found);
        let agent = header(headers, Field::UserAgent, probe.user_agent, &mut agent, &mut found);
        let [status_was_used, exception_was_used] = [const { Cell::new(false) }; 2];
        let request = RequestFacts {
            method: probe.line.method,
            resolved: views.resolved,
            status: probe.status,
            status_was_used: &status_was_used,
            exception_was_used: &exception_was_used,
            shape: probe.shape,
        };
        let field = |field| match field {
            Field::Path => views.path,
            Field::Query => views.query,
            Field::Target => views.target,
            Field::Referer => referer,
            Field::UserAgent => agent,
            Field::Method => &raw[..probe.line.method.len()],
            Field::Raw => raw,
        };
        let mut alternatives = self.alternatives(probe);
        let mut candidates = found.candidates(also);
        candidates.extend(alternatives.keys().map(|rule| rule.0));
        candidates.sort_unstable();
        candidates.dedup();
        let mut account = |rule: u16| {
            let checks = self.rules.condition(rule).checks(found.marks.of(rule), &request, field);
            let suppressed_by = self.suppressed_by(RuleId(rule), probe.status);
            let alternative = alternatives.remove(&RuleId(rule));
            let (seen, is_candidate) = (found.of(rule), found.is_candidate(rule));
            RuleExplanation { rule: RuleId(rule), checks, seen, is_candidate, alternative, suppressed_by }
        };
        candidates.into_iter().map(&mut account).collect()
    }

    /// The alternative decodings of the target and the headers that a rule matches; the first one of each rule.
    fn alternatives(&self, probe: &ParsedRequest<'_>) -> BTreeMap<RuleId, AlternativeDecoding> {
        let mut second = ReDecodeBuffers::default();
        let mut alternatives = BTreeMap::new();
        let headers = [(Field::Referer, probe.referer), (Field::UserAgent, probe.user_agent)];
        let headers = headers.into_iter().filter_map(|(field, text)| Some((vec![field], field, text?)));
        for (fields, field, text) in std::iter::once((TARGET.to_vec(), Field::Target, probe.line.target)).chain(headers) {
            self.matcher.match_redecoded(&fields, text, &mut second, |rule, reading, text| {
                alternatives.entry(rule).or_insert_with(|| AlternativeDecoding {
                    field,
                    reading: AlternativeKind::Run(reading),
                    text: text.to_vec(),
                });
            });
        }
        let mut room = Vec::new();
        if let Some(whole) = probe.with_fragment(&mut room) {
            let path = Normalizer::default().views(whole.line.target).path.to_vec();
            for account in self.accounts(&whole, None).into_iter().filter(RuleExplanation::matches) {
                let alternative = AlternativeDecoding { field: Field::Target, reading: AlternativeKind::Fragment, text: path.clone() };
                alternatives.entry(account.rule).or_insert(alternative);
            }
        }
        alternatives
    }

    /// Why a scan would not report a match of this rule.
    fn suppressed_by(&self, rule: RuleId, status: Option<u16>) -> Option<SuppressedBy> {
        if self.rules.rule(rule).is_app_evidence {
            return Some(SuppressedBy::Sign);
        }
        if let Some(app) = self.rules.suppressed_by_apps(rule).iter().find(|app| self.apps.contains(app)) {
            return (self.min_severity > Severity::Info).then_some(SuppressedBy::App(*app));
        }
        if self.rules.rule(rule).with_client.is_some() {
            return Some(SuppressedBy::Client);
        }
        if self.rules.rule(rule).window.is_some() {
            return Some(SuppressedBy::Window);
        }
        let severity = self.rules.rule(rule).effective_severity(Outcome::of(status) == Outcome::Answered);
        (severity < self.min_severity).then_some(SuppressedBy::BelowMinSeverity { severity, least: self.min_severity })
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
    marks: LiteralHits,
    seen: BTreeMap<u16, RuleMatches>,
}

/// The literals found of a rule: of each view the first few in the right place, and in a wrong one.
#[derive(Debug, Default)]
struct RuleMatches {
    seen: Vec<FoundLiteral>,
    counts: [[u8; 2]; 8],
}

/// Most literals kept of a rule in a view. A long line may hold a literal a million times.
const KEPT: u8 = 16;

impl LiteralMatches {
    fn new(rules: usize) -> Self {
        let mut marks = LiteralHits::default();
        marks.clear(rules);
        Self { marks, seen: BTreeMap::new() }
    }

    fn take(&mut self, literals: &Literals, text: &[u8], regions: &Regions) {
        literals.find_all(text, regions, |LiteralMatch { rule, wanted, bits, range }| {
            if bits != 0 {
                self.marks.add(rule, bits);
            }
            let of_rule = self.seen.entry(rule).or_default();
            for (view, range) in regions.around(&range) {
                of_rule.take(FoundLiteral { counts: rule::leaves(bits, view), wanted, span: TextSpan { view, range } });
            }
        });
    }

    /// The rules with a literal, and `also`.
    fn candidates(&self, also: Option<RuleId>) -> Vec<u16> {
        let mut rules: Vec<_> =
            self.seen.keys().copied().chain(self.marks.touched().iter().copied()).chain(also.map(|rule| rule.0)).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    fn is_candidate(&self, rule: u16) -> bool {
        self.marks.of(rule) != 0
    }

    /// The literals of a rule, by position.
    fn of(&self, rule: u16) -> Vec<FoundLiteral> {
        let mut seen = self.seen.get(&rule).map(|of_rule| of_rule.seen.clone()).unwrap_or_default();
        seen.sort_by_key(|seen| (!seen.counts, seen.span.view, seen.span.range.start, seen.span.range.end));
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
        if *count < KEPT {
            *count += 1;
            self.seen.push(seen);
        }
    }
}
