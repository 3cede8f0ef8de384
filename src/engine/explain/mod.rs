//! Explains one request: what the rules see of it, which match and where, and which nearly do.
//!
//! The twin of [`Matcher`], for a person: it searches for the same literals in the same views and asks the same
//! conditions, but remembers nothing, stops at no first no, and keeps every place. Tests hold the two together. It is
//! never part of the line loop.

mod account;
mod texts;
mod typed;

use std::cell::Cell;
use std::collections::BTreeMap;

pub use account::{Account, Mark, Reread, RereadAs, Seen, Withheld, literal};
pub use texts::{Texts, Trail};
pub use typed::Typed;

use super::matcher::{TARGET, search_request};
use super::scratch::SecondLook;
use super::{Matcher, Probe};
use crate::finding::{RuleId, Severity};
use crate::log_entry::Outcome;
use crate::normalize::Normalizer;
use crate::rules::{Field, Literals, Marks, Regions, Request, RuleSet, Sighting, Span, View};

/// What there is to say of a request.
#[derive(Debug, Clone)]
pub struct Explanation<'r> {
    /// The views that rules look at.
    pub texts: Texts,
    /// How the target and the headers were decoded, where something was.
    pub trails: Vec<Trail>,
    /// The rules that match, by id.
    pub matches: Vec<Account<'r>>,
    /// The rules that nearly match, the nearest first; or, where one rule was asked for, that rule, be it near or not.
    pub misses: Vec<Account<'r>>,
}

/// Explains requests.
#[derive(Debug, Clone, Copy)]
pub struct Explainer<'r> {
    rules: &'r RuleSet,
    matcher: Matcher<'r>,
    /// A scan reports rules from this level on.
    min_severity: Severity,
    /// Apps that are said to run.
    apps: &'r [RuleId],
}

impl<'r> Explainer<'r> {
    /// An explainer of `rules`, for scans that report from `min_severity` on where these `apps` are said to run.
    #[must_use]
    pub fn new(rules: &'r RuleSet, min_severity: Severity, apps: &'r [RuleId]) -> Self {
        Self { rules, matcher: Matcher::new(rules), min_severity, apps }
    }

    /// Explains a request; with `only`, by this rule alone.
    #[must_use]
    pub fn explain(&self, probe: &Probe<'_>, only: Option<RuleId>) -> Explanation<'r> {
        let mut accounts = self.accounts(probe, only);
        accounts.retain(|account| only.is_none_or(|rule| rule == account.rule));
        let (mut matches, mut misses): (Vec<_>, Vec<_>) = accounts.into_iter().partition(Account::matches);
        if only.is_none() {
            misses.retain(Account::is_near);
        }
        matches.sort_by_key(|account| account.rule);
        misses.sort_by_cached_key(|account| (account.distance(), account.rule));
        Explanation { texts: Texts::of(probe), trails: Trail::all_of(probe), matches, misses }
    }

    /// What the rules say that a scan would ask about the request, `also` in any case.
    fn accounts(&self, probe: &Probe<'_>, also: Option<RuleId>) -> Vec<Account<'r>> {
        let [mut target, mut referer, mut agent] = [(); 3].map(|()| Normalizer::default());
        let mut buffer = Vec::new();
        let mut sightings = Sightings::new(self.rules.rules().len());
        let literals = self.rules.request_literals();
        let (views, raw) = search_request(literals, probe, &mut target, &mut buffer, |text, regions| {
            sightings.take(literals, text, regions);
        });
        self.matcher.mark_unanchored(probe, &mut sightings.marks);
        let headers = self.rules.header_literals();
        let referer = header(headers, Field::Referer, probe.referer, &mut referer, &mut sightings);
        let agent = header(headers, Field::UserAgent, probe.user_agent, &mut agent, &mut sightings);
        let [status_was_asked, excuse_was_asked] = [const { Cell::new(false) }; 2];
        let request = Request {
            method: probe.line.method,
            resolved: views.resolved,
            status: probe.status,
            status_was_asked: &status_was_asked,
            excuse_was_asked: &excuse_was_asked,
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
        let mut rereads = self.rereads(probe);
        let mut candidates = sightings.candidates(also);
        candidates.extend(rereads.keys().map(|rule| rule.0));
        candidates.sort_unstable();
        candidates.dedup();
        let mut account = |rule: u16| {
            let checks = self.rules.condition(rule).checks(sightings.marks.of(rule), &request, field);
            let withheld = self.withheld(RuleId(rule), probe.status);
            let reread = rereads.remove(&RuleId(rule));
            let (seen, is_candidate) = (sightings.of(rule), sightings.is_candidate(rule));
            Account { rule: RuleId(rule), checks, seen, is_candidate, reread, withheld }
        };
        candidates.into_iter().map(&mut account).collect()
    }

    /// What the target and the headers are read again as, by the rule that matches then; the first reading of each.
    fn rereads(&self, probe: &Probe<'_>) -> BTreeMap<RuleId, Reread> {
        let mut second = SecondLook::default();
        let mut rereads = BTreeMap::new();
        let headers = [(Field::Referer, probe.referer), (Field::UserAgent, probe.user_agent)];
        let headers = headers.into_iter().filter_map(|(field, text)| Some((vec![field], field, text?)));
        for (fields, field, text) in std::iter::once((TARGET.to_vec(), Field::Target, probe.line.target)).chain(headers) {
            self.matcher.read_again(&fields, text, &mut second, |rule, reading, text| {
                rereads.entry(rule).or_insert_with(|| Reread { field, reading: RereadAs::Run(reading), text: text.to_vec() });
            });
        }
        let mut room = Vec::new();
        if let Some(whole) = probe.with_fragment(&mut room) {
            let path = Normalizer::default().views(whole.line.target).path.to_vec();
            for account in self.accounts(&whole, None).into_iter().filter(Account::matches) {
                let reread = Reread { field: Field::Target, reading: RereadAs::Fragment, text: path.clone() };
                rereads.entry(account.rule).or_insert(reread);
            }
        }
        rereads
    }

    /// Why a scan would not report a match of this rule.
    fn withheld(&self, rule: RuleId, status: Option<u16>) -> Option<Withheld> {
        if self.rules.rule(rule).is_sign {
            return Some(Withheld::Sign);
        }
        if let Some(app) = self.rules.silenced_by(rule).iter().find(|app| self.apps.contains(app)) {
            return (self.min_severity > Severity::Info).then_some(Withheld::App(*app));
        }
        if self.rules.rule(rule).with_client.is_some() {
            return Some(Withheld::Client);
        }
        if self.rules.rule(rule).window.is_some() {
            return Some(Withheld::Window);
        }
        let severity = self.rules.rule(rule).severity_when(Outcome::of(status) == Outcome::Answered);
        (severity < self.min_severity).then_some(Withheld::BelowMinSeverity { severity, least: self.min_severity })
    }
}

/// Searches a header, and gives it decoded and in lower case.
fn header<'a>(
    literals: &Literals,
    field: Field,
    text: Option<&[u8]>,
    normalizer: &'a mut Normalizer,
    sightings: &mut Sightings,
) -> &'a [u8] {
    let Some(text) = text else { return b"" };
    let folded = normalizer.folded_header(text);
    sightings.take(literals, folded, &Regions::only(field, folded.len()));
    folded
}

/// Every literal that was found, and the marks they left.
#[derive(Debug)]
struct Sightings {
    marks: Marks,
    seen: BTreeMap<u16, OfRule>,
}

/// What was seen of a rule: of each view the first few places that count, and that do not.
#[derive(Debug, Default)]
struct OfRule {
    seen: Vec<Seen>,
    counts: [[u8; 2]; 8],
}

/// Places that are kept of a rule in a view. A long line may hold a literal a million times.
const KEPT: u8 = 16;

impl Sightings {
    fn new(rules: usize) -> Self {
        let mut marks = Marks::default();
        marks.clear(rules);
        Self { marks, seen: BTreeMap::new() }
    }

    fn take(&mut self, literals: &Literals, text: &[u8], regions: &Regions) {
        literals.sight(text, regions, |Sighting { rule, wanted, bits, range }| {
            if bits != 0 {
                self.marks.add(rule, bits);
            }
            let of_rule = self.seen.entry(rule).or_default();
            for (view, range) in regions.around(&range) {
                of_rule.take(Seen { counts: account::leaves(bits, view), wanted, span: Span { view, range } });
            }
        });
    }

    /// The rules of which something was seen, or that are asked whatever was seen.
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

    /// What was seen of a rule, by place.
    fn of(&self, rule: u16) -> Vec<Seen> {
        let mut seen = self.seen.get(&rule).map(|of_rule| of_rule.seen.clone()).unwrap_or_default();
        seen.sort_by_key(|seen| (!seen.counts, seen.span.view, seen.span.range.start, seen.span.range.end));
        seen.dedup();
        seen
    }
}

impl OfRule {
    fn take(&mut self, seen: Seen) {
        let view = match seen.span.view {
            View::Field(field) => field as usize,
            View::Resolved => 7,
        };
        let count = &mut self.counts[view][usize::from(seen.counts)];
        if *count < KEPT {
            *count += 1;
            self.seen.push(seen);
        }
    }
}
