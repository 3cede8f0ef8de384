//! Merges reports: counts are added, time spans are joined, samples are kept, and the whole is analysed again.
//!
//! The order and grouping of the parts do not matter: logs are identified by host and path, entries of allow lists by
//! their text, rules by their ids, and each list is sorted. The result keeps to a [`Budget`] like a tally of logs: up
//! to it, the sums are exact if all parts are; above it, their error is bounded. This module reads no file and prints
//! nothing.

use std::collections::BTreeSet;

use thiserror::Error;

use super::build::{ReportFilter, ReportInput};
use super::model::{InputSummary, Report};
use super::snapshot::{AllowOrigin, ReportSnapshot, SnapshotError, roundtrip};
use crate::client::{self, Client, Ipv6Prefix};
use crate::finding::RuleId;
use crate::formats::LogFormat;
use crate::rules::{AllowList, MOST_RULES, Rule, RuleError, RuleSet};
use crate::source::SourceInfo;
use crate::tally::{Budget, ImportRemap, Tally, union_span};

/// Why reports cannot be merged.
#[derive(Debug, Error)]
pub enum MergeError {
    /// More rules than rule numbers.
    #[error("the reports have more than {0} rules; merge fewer of them, or pass their rule files with --rules")]
    TooManyRules(usize),
    /// More entries than entry numbers.
    #[error("the reports have more than {0} entries of allow lists; merge fewer of them")]
    TooManyEntries(usize),
    /// The rules are invalid.
    #[error(transparent)]
    Rules(#[from] RuleError),
    /// The reports group IPv6 clients differently.
    #[error("the reports group IPv6 clients differently: one {0}, another {1}; write them again with the same --ipv6-prefix")]
    Prefixes(String, String),
    /// A report of this run has no snapshot.
    #[error(transparent)]
    Part(#[from] SnapshotError),
}

/// A merge of reports.
#[derive(Debug)]
pub struct ReportMerger<'r> {
    known: &'r RuleSet,
    unknown: UnknownRules,
    tally: Tally,
    sources: MergedInputs,
    allowed: MergedAllowEntries,
    without_time: u64,
    log_hosts: BTreeSet<Option<String>>,
    periods: BTreeSet<Option<String>>,
    /// How IPv6 clients are grouped, if there are any.
    prefixes: BTreeSet<Option<Ipv6Prefix>>,
}

/// The merged reports, as the input of a new report.
#[derive(Debug)]
pub struct MergedReport {
    /// The rules, if the reports have rules that the known set does not.
    pub rules: Option<RuleSet>,
    /// All hits.
    pub tally: Tally,
    /// The inputs' texts, by number.
    pub texts: Vec<SourceInfo>,
    /// The inputs by the same numbers, without hits.
    pub inputs: Vec<InputSummary>,
    /// The entries of the allow lists.
    pub allow: AllowList,
    /// Lines without a time, if a time range was given.
    pub without_time: u64,
    /// The host, if it is the same in all reports.
    pub log_host: Option<String>,
    /// The day or hour, if it is the same in all reports.
    pub period: Option<String>,
    /// Which IPv6 addresses are one client.
    pub prefix: Option<Ipv6Prefix>,
    /// The ids of rules that only the reports have, sorted.
    pub unknown_rules: Vec<String>,
}

impl MergedReport {
    /// The input of a report on all of it.
    #[must_use]
    pub fn report_input<'a>(&'a self, rules: &'a RuleSet, filter: ReportFilter<'a>) -> ReportInput<'a> {
        let Self { tally, texts, inputs, allow, without_time, .. } = self;
        ReportInput { rules, tally, texts, inputs, without_time: *without_time, filter, allow }
    }
}

impl<'r> ReportMerger<'r> {
    /// An empty merge. All snapshots must be decoded with these rules.
    #[must_use]
    pub fn new(rules: &'r RuleSet) -> Self {
        Self::with_budget(rules, Budget::STANDARD)
    }

    /// The same with another budget.
    #[must_use]
    pub fn with_budget(rules: &'r RuleSet, budget: Budget) -> Self {
        Self {
            known: rules,
            unknown: UnknownRules::default(),
            tally: Tally::with_budget(budget),
            sources: MergedInputs::default(),
            allowed: MergedAllowEntries::default(),
            without_time: 0,
            log_hosts: BTreeSet::new(),
            periods: BTreeSet::new(),
            prefixes: BTreeSet::new(),
        }
    }

    /// Adds a snapshot.
    ///
    /// # Errors
    ///
    /// There are too many rules or entries, or the reports group IPv6 clients differently.
    pub fn add(&mut self, snapshot: ReportSnapshot) -> Result<(), MergeError> {
        self.check_prefix(&snapshot)?;
        let ReportSnapshot { log_host, period, prefix: _, tally, texts, inputs, allowed, without_time, unknown_rules } = snapshot;
        let first = self.known.rules().len();
        let rules = self.unknown.add(unknown_rules, first)?;
        let (mine, theirs) = self.sources.add(texts, inputs);
        let (my_allowed, their_allowed) = self.allowed.add(&allowed)?;
        if !is_identity(&mine) || !is_identity(&my_allowed) {
            let new = ImportRemap { inputs: &mine, rules: &Some, allowed: &my_allowed };
            self.tally = std::mem::take(&mut self.tally).remapped(&new);
        }
        let rule = |rule: RuleId| usize::from(rule.0).checked_sub(first).map_or(Some(rule), |at| rules.get(at).copied());
        self.tally.merge(tally.remapped(&ImportRemap { inputs: &theirs, rules: &rule, allowed: &their_allowed }));
        self.without_time += without_time;
        self.log_hosts.insert(log_host);
        self.periods.insert(period);
        Ok(())
    }

    /// A prefix cannot be split into addresses, and addresses that were counted one by one lack what their prefix would
    /// need.
    fn check_prefix(&mut self, snapshot: &ReportSnapshot) -> Result<(), MergeError> {
        let counted =
            |prefix: Option<Ipv6Prefix>| prefix.map_or_else(|| "by addresses".to_owned(), |prefix| format!("by /{}", prefix.bits()));
        if has_ipv6(snapshot) {
            self.prefixes.insert(snapshot.prefix);
        }
        match self.prefixes.iter().copied().collect::<Vec<_>>().as_slice() {
            [one, other, ..] => Err(MergeError::Prefixes(counted(*one), counted(*other))),
            _ => Ok(()),
        }
    }

    /// Adds a report of this run, as if it had been written and read.
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add); the report has no snapshot.
    pub fn add_report(&mut self, part: &Report<'_>) -> Result<(), MergeError> {
        self.add(roundtrip(part)?)
    }

    /// Finishes the merge. Rules that only the reports have are dropped if `is_left_out` returns true.
    ///
    /// # Errors
    ///
    /// The rules are invalid.
    pub fn finish(self, is_left_out: impl Fn(&Rule) -> bool) -> Result<MergedReport, MergeError> {
        let (rules, tally, unknown_rules) =
            self.unknown.resolve(self.known, self.tally, self.sources.len(), self.allowed.len(), is_left_out)?;
        let (texts, inputs) = self.sources.into_parts();
        Ok(MergedReport {
            rules,
            tally,
            texts,
            inputs,
            allow: self.allowed.into_list(),
            without_time: self.without_time,
            log_host: only(self.log_hosts),
            period: only(self.periods),
            prefix: self.prefixes.into_iter().next().flatten(),
            unknown_rules,
        })
    }
}

/// Whether a report has IPv6 clients or prefixes.
fn has_ipv6(snapshot: &ReportSnapshot) -> bool {
    let ReportSnapshot { tally, prefix, .. } = snapshot;
    (0..tally.client_counts().len() as u32).any(|number| match tally.client(number) {
        Client::V6(_) => true,
        Client::Text(text) => prefix.is_some() && client::parse_prefix(text).is_some(),
        Client::V4(_) => false,
    })
}

/// Whether no number changes.
fn is_identity<N: Copy + Into<u64>>(new: &[N]) -> bool {
    (0..).zip(new).all(|(old, new)| old == (*new).into())
}

fn only(of: BTreeSet<Option<String>>) -> Option<String> {
    if of.len() == 1 { of.into_iter().next().flatten() } else { None }
}

/// Separates the problems of one input.
const ALSO: &str = "; also: ";

/// The inputs of all reports, sorted by host and path; the same log of the same host is one input.
#[derive(Debug, Default)]
pub(crate) struct MergedInputs {
    each: Vec<(SourceInfo, InputSummary)>,
}

impl MergedInputs {
    pub(crate) fn len(&self) -> usize {
        self.each.len()
    }

    /// Adds inputs. Returns the new numbers of the earlier ones and of the added ones.
    pub(crate) fn add(&mut self, texts: Vec<SourceInfo>, inputs: Vec<InputSummary>) -> (Vec<u32>, Vec<u32>) {
        let here = self.each.len();
        let all = std::mem::take(&mut self.each).into_iter().chain(texts.into_iter().zip(inputs));
        let mut all: Vec<_> = all.enumerate().collect();
        all.sort_by(|(_, a), (_, b)| key(&a.0).cmp(&key(&b.0)));
        let mut numbers = vec![0; all.len()];
        for (old, (text, input)) in all {
            match self.each.last_mut().filter(|(known, _)| key(known) == key(&text)) {
                Some((_, sum)) => add(sum, &input),
                None => self.each.push((text, input)),
            }
            numbers[old] = (self.each.len() - 1) as u32;
        }
        let theirs = numbers.split_off(here);
        (numbers, theirs)
    }

    pub(crate) fn into_parts(self) -> (Vec<SourceInfo>, Vec<InputSummary>) {
        self.each.into_iter().unzip()
    }
}

fn key(text: &SourceInfo) -> (Option<&str>, &[u8]) {
    (text.log_host.as_deref(), &text.path)
}

fn add(sum: &mut InputSummary, other: &InputSummary) {
    sum.bytes += other.bytes;
    sum.lines += other.lines;
    sum.parsed += other.parsed;
    for (sum, lines) in sum.formats.iter_mut().zip(other.formats) {
        *sum += lines;
    }
    sum.others.add(&other.others);
    sum.format = LogFormat::most_frequent(&sum.formats, &sum.others);
    sum.unparsed += other.unparsed;
    sum.oversized += other.oversized;
    sum.skipped += other.skipped;
    sum.pending += other.pending;
    sum.requests += other.requests;
    let times = |input: &InputSummary| input.first_time.zip(input.last_time);
    (sum.first_time, sum.last_time) = union_span(times(sum), times(other)).unzip();
    // If one report read it, it was read.
    sum.skipped_whole = sum.skipped_whole.and(other.skipped_whole);
    let problems: BTreeSet<&str> = [&sum.problem, &other.problem].into_iter().flatten().flat_map(|problem| problem.split(ALSO)).collect();
    let problems: Vec<&str> = problems.into_iter().collect();
    sum.problem = (!problems.is_empty()).then(|| problems.join(ALSO));
}

/// The entries of allow lists, sorted by file, line and reason.
#[derive(Debug, Default)]
pub(crate) struct MergedAllowEntries {
    each: Vec<AllowOrigin>,
}

impl MergedAllowEntries {
    pub(crate) fn len(&self) -> usize {
        self.each.len()
    }

    /// Adds entries. Returns the new numbers of the earlier ones and of the added ones.
    pub(crate) fn add(&mut self, others: &[AllowOrigin]) -> Result<(Vec<u16>, Vec<u16>), MergeError> {
        let mut all: Vec<AllowOrigin> = self.each.iter().chain(others).cloned().collect();
        all.sort();
        all.dedup();
        if all.len() > usize::from(u16::MAX) {
            return Err(MergeError::TooManyEntries(u16::MAX.into()));
        }
        let number = |entry: &AllowOrigin| all.partition_point(|known| known < entry) as u16;
        let numbers = (self.each.iter().map(number).collect(), others.iter().map(number).collect());
        self.each = all;
        Ok(numbers)
    }

    pub(crate) fn into_list(self) -> AllowList {
        AllowList::from_report(self.each.into_iter().map(|entry| (entry.file, entry.line, entry.reason)))
    }
}

/// Rules that only the reports have, in the order of the reports. Their numbers follow the known ones until the merge
/// is finished.
#[derive(Debug, Default)]
pub(crate) struct UnknownRules {
    rules: Vec<Rule>,
}

impl UnknownRules {
    /// Adds rules. Returns their numbers, which start at `first`.
    pub(crate) fn add(&mut self, others: Vec<Rule>, first: usize) -> Result<Vec<RuleId>, MergeError> {
        others.into_iter().map(|rule| self.number(rule, first)).collect()
    }

    fn number(&mut self, rule: Rule, first: usize) -> Result<RuleId, MergeError> {
        let at = self.rules.iter().position(|known| known.id == rule.id).unwrap_or(self.rules.len());
        match self.rules.get_mut(at) {
            // Reports may disagree about a rule; their order must not matter.
            Some(known) if weight(&rule) > weight(known) => *known = rule,
            Some(_) => {}
            None => self.rules.push(rule),
        }
        let number = first + at;
        if number >= MOST_RULES { Err(MergeError::TooManyRules(MOST_RULES)) } else { Ok(RuleId(number as u16)) }
    }

    /// The rule set of the merged report, its tally, and the ids of the added rules.
    pub(crate) fn resolve(
        self,
        known: &RuleSet,
        tally: Tally,
        inputs: usize,
        allowed: usize,
        is_left_out: impl Fn(&Rule) -> bool,
    ) -> Result<(Option<RuleSet>, Tally, Vec<String>), MergeError> {
        if self.rules.is_empty() {
            return Ok((None, tally, Vec::new()));
        }
        let kept: Vec<Rule> = self.rules.iter().filter(|rule| !is_left_out(rule)).cloned().collect();
        let set = known.with_unknown_rules(&kept)?;
        let of_known = known.rules().iter().chain(&self.rules).map(|rule| set.number_of(&rule.id));
        let numbers: Vec<Option<RuleId>> = of_known.collect();
        let inputs: Vec<u32> = (0..inputs as u32).collect();
        let allowed: Vec<u16> = (0..=u16::MAX).take(allowed).collect();
        let new = ImportRemap { inputs: &inputs, rules: &|rule| numbers[usize::from(rule.0)], allowed: &allowed };
        let mut ids: Vec<String> = kept.into_iter().map(|rule| rule.id).collect();
        ids.sort();
        Ok((Some(set), tally.remapped(&new), ids))
    }
}

/// A total order of the variants of a rule; the most severe is last.
fn weight(rule: &Rule) -> impl Ord + '_ {
    (
        rule.severity,
        rule.exposes(),
        &rule.class,
        &rule.title,
        &rule.cve,
        &rule.unless_app,
        &rule.with_client,
        rule.is_app_evidence,
        rule.window,
    )
}

#[cfg(test)]
mod tests;
