//! Merges reports: counts are added, time spans are joined, samples are kept, and the whole is
//! analysed again.
//!
//! The order and grouping of the parts do not matter: logs are identified by host and path, entries
//! of allow lists by their text, rules by their ids, and each list is sorted. The result keeps to a
//! [`Budget`] like a tally of logs: up to it, the sums are exact if all parts are; above it, their
//! error is bounded. This module reads no file and prints nothing.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::model::ReportModel;
use super::snapshot::{AllowOrigin, ReportSnapshot, SnapshotError, roundtrip};
use crate::formats::LogFormat;
use crate::judge::report_input::{ReportFilter, ReportInput};
use crate::log::client::{self, Client, Ipv6Prefix};
use crate::log::finding::RuleId;
use crate::log::source::{LineSpan, SourceInfo};
use crate::rules::{AllowList, MAX_RULES, Rule, RuleError, RuleSet};
use crate::scan::input_summary::InputSummary;
use crate::tally::{Budget, ImportRemap, Tally, union_span};
use crate::text::redact::sanitize::escape;

/// Why reports cannot be merged.
#[derive(Debug, Error)]
pub enum MergeError {
    /// More rules than rule numbers.
    #[error(
        "the reports have more than {0} rules; merge fewer of them, or pass their rule files with --rules"
    )]
    TooManyRules(usize),
    /// More entries than entry numbers.
    #[error("the reports have more than {0} entries of allow lists; merge fewer of them")]
    TooManyEntries(usize),
    /// The rules are invalid.
    #[error(transparent)]
    Rules(#[from] RuleError),
    /// The reports group IPv6 clients differently.
    #[error(
        "the reports group IPv6 clients differently: one {0}, another {1}; write them again with the same --ipv6-prefix"
    )]
    Prefixes(String, String),
    /// Parts of a log are missing.
    #[error(
        "{log}: bytes {start} to {end} are in no report; scan them with --range {start}-{end}, or leave this log out"
    )]
    Gap { log: String, start: u64, end: u64 },
    /// Parts of a log are in several reports.
    #[error(
        "{log}: bytes {start} to {end} are in two reports of different ranges; give one of them"
    )]
    Overlap { log: String, start: u64, end: u64 },
    /// A report of this run has no snapshot.
    #[error(transparent)]
    Part(#[from] SnapshotError),
}

/// A merge of reports.
#[derive(Debug)]
pub struct ReportMerger<'r> {
    known: &'r RuleSet,
    /// Rules that only the reports have, in the order of the reports. Their numbers follow the
    /// known ones until the merge is finished.
    unknown: Vec<Rule>,
    tally: Tally,
    /// The inputs of all reports, sorted by host and path; the same log of the same host is one
    /// input.
    inputs: Vec<(SourceInfo, InputSummary)>,
    /// The entries of allow lists, sorted by file, line and reason.
    allowed: Vec<AllowOrigin>,
    without_time: u64,
    log_hosts: BTreeSet<Option<String>>,
    periods: BTreeSet<Option<String>>,
    /// How IPv6 clients are grouped, if there are any.
    prefixes: BTreeSet<Option<Ipv6Prefix>>,
    /// The ranges of each report that has nothing else.
    ranges: BTreeSet<Vec<SourceRange>>,
    /// Ranges of a log may be missing: the result is merged again.
    allows_gaps: bool,
    /// Parts that are not in the tally yet, with the numbers of their own inputs and the numbers of
    /// their unknown rules; and their cells.
    pending: Vec<(ReportSnapshot, Vec<RuleId>)>,
    pending_cells: usize,
}

/// Parts that wait for each other, and their cells: enough that numbering inputs takes little of
/// the time, few enough that their memory does not matter.
const MAX_PENDING_PARTS: usize = 512;
const MAX_PENDING_CELLS: usize = 1 << 14;

/// The merged reports, as the input of a new report.
#[derive(Debug)]
pub struct MergedReport {
    /// The rules, if the reports have rules that the known set does not.
    pub rules: Option<RuleSet>,
    /// All hits.
    pub tally: Tally,
    /// The logs, by number of the input.
    pub sources: Vec<SourceInfo>,
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
    pub fn report_input<'a>(
        &'a self,
        rules: &'a RuleSet,
        filter: ReportFilter<'a>,
    ) -> ReportInput<'a> {
        let Self {
            tally,
            sources,
            inputs,
            allow,
            without_time,
            ..
        } = self;
        ReportInput {
            rules,
            tally,
            sources,
            inputs,
            without_time: *without_time,
            filter,
            allow,
        }
    }
}

impl<'r> ReportMerger<'r> {
    /// An empty merge. All snapshots must be decoded with these rules.
    #[must_use]
    pub fn new(rules: &'r RuleSet) -> Self {
        Self::with_budget(rules, Budget::STANDARD)
    }

    /// A merger with another budget.
    #[must_use]
    pub fn with_budget(rules: &'r RuleSet, budget: Budget) -> Self {
        Self {
            known: rules,
            unknown: Vec::new(),
            tally: Tally::with_budget(budget),
            inputs: Vec::new(),
            allowed: Vec::new(),
            without_time: 0,
            log_hosts: BTreeSet::new(),
            periods: BTreeSet::new(),
            prefixes: BTreeSet::new(),
            ranges: BTreeSet::new(),
            allows_gaps: false,
            pending: Vec::new(),
            pending_cells: 0,
        }
    }

    /// Allows that ranges of a log are missing. The result is a part that is merged again.
    #[must_use]
    pub fn allow_gaps(self) -> Self {
        Self {
            allows_gaps: true,
            ..self
        }
    }

    /// Adds a snapshot. Ignores the same ranges if they were added before, as a repeated task
    /// writes them.
    ///
    /// # Errors
    ///
    /// There are too many rules or entries, or the reports group IPv6 clients differently.
    pub fn add(&mut self, mut snapshot: ReportSnapshot) -> Result<(), MergeError> {
        self.check_prefix(&snapshot)?;
        if ranges_only(&snapshot).is_some_and(|ranges| !self.ranges.insert(ranges)) {
            return Ok(());
        }
        let rules = self.number_rules(std::mem::take(&mut snapshot.unknown_rules))?;
        self.without_time += snapshot.without_time;
        self.log_hosts.insert(snapshot.log_host.take());
        self.periods.insert(snapshot.period.take());
        self.pending_cells += snapshot.tally.len();
        self.pending.push((snapshot, rules));
        if self.pending.len() >= MAX_PENDING_PARTS || self.pending_cells >= MAX_PENDING_CELLS {
            self.merge_pending()
        } else {
            Ok(())
        }
    }

    /// Merges the parts that were added since the last call. New inputs change the numbers of
    /// others: numbering many parts at once does that work once.
    fn merge_pending(&mut self) -> Result<(), MergeError> {
        self.pending_cells = 0;
        let (mut sources, mut inputs, mut allowed, mut tallies) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (part, rules) in self.pending.drain(..) {
            tallies.push((part.tally, rules, part.inputs.len(), part.allowed.len()));
            sources.extend(part.sources);
            inputs.extend(part.inputs);
            allowed.extend(part.allowed);
        }
        let others = sources.into_iter().zip(inputs).collect();
        let (renumbered, added) = add_inputs(&mut self.inputs, others);
        let (renumbered_allowed, added_allowed) = add_entries(&mut self.allowed, &allowed)?;
        if !is_identity(&renumbered) || !is_identity(&renumbered_allowed) {
            let new = ImportRemap {
                inputs: &renumbered,
                rules: &Some,
                allowed: &renumbered_allowed,
            };
            self.tally = std::mem::take(&mut self.tally).remapped(&new);
        }
        let first = self.known.rules().len();
        let (mut added, mut added_allowed) = (added.as_slice(), added_allowed.as_slice());
        // A merge reads all cells of the first tally, so parts are merged into a small one.
        let mut batch = Tally::default();
        for (tally, rules, inputs, allowed) in tallies {
            let rule = |rule: RuleId| {
                usize::from(rule.0)
                    .checked_sub(first)
                    .map_or(Some(rule), |at| rules.get(at).copied())
            };
            let new = ImportRemap {
                inputs: &added[..inputs],
                rules: &rule,
                allowed: &added_allowed[..allowed],
            };
            batch.merge_deferred(tally.remapped(&new));
            (added, added_allowed) = (&added[inputs..], &added_allowed[allowed..]);
        }
        self.tally.merge_deferred(batch);
        Ok(())
    }

    /// A prefix cannot be split into addresses, and addresses that were counted one by one lack
    /// what their prefix would need.
    fn check_prefix(&mut self, snapshot: &ReportSnapshot) -> Result<(), MergeError> {
        if has_ipv6(snapshot) {
            self.prefixes.insert(snapshot.prefix);
        }
        self.check_prefixes()
    }

    fn check_prefixes(&self) -> Result<(), MergeError> {
        let counted = |prefix: Option<Ipv6Prefix>| {
            prefix.map_or_else(
                || "by addresses".to_owned(),
                |prefix| format!("by /{}", prefix.bits()),
            )
        };
        match self.prefixes.iter().copied().collect::<Vec<_>>().as_slice() {
            [one, other, ..] => Err(MergeError::Prefixes(counted(*one), counted(*other))),
            _ => Ok(()),
        }
    }

    /// Adds all of another merge, whose snapshots were decoded with the same rules. Returns `None`
    /// if both have the same ranges of a log: they count once, and are added already.
    ///
    /// # Errors
    ///
    /// As for [`add`](Self::add).
    pub fn join(mut self, mut other: Self) -> Result<Option<Self>, MergeError> {
        self.merge_pending()?;
        other.merge_pending()?;
        if !self.ranges.is_disjoint(&other.ranges) {
            return Ok(None);
        }
        self.ranges.append(&mut other.ranges);
        self.log_hosts.append(&mut other.log_hosts);
        self.periods.append(&mut other.periods);
        self.prefixes.append(&mut other.prefixes);
        self.check_prefixes()?;
        self.without_time += other.without_time;
        let rules = self.number_rules(other.unknown)?;
        let (sources, inputs) = other.inputs.into_iter().unzip();
        let part = ReportSnapshot {
            tally: other.tally,
            sources,
            inputs,
            allowed: other.allowed,
            ..ReportSnapshot::default()
        };
        self.pending.push((part, rules));
        self.merge_pending()?;
        Ok(Some(self))
    }

    /// Adds a report of this run, as if it had been written and read.
    ///
    /// # Errors
    ///
    /// As for [`add`](Self::add); the report has no snapshot.
    pub fn add_report(&mut self, part: &ReportModel<'_>) -> Result<(), MergeError> {
        self.add(roundtrip(part)?)
    }

    /// Finishes the merge. Rules that only the reports have are dropped if `is_left_out` returns
    /// true.
    ///
    /// # Errors
    ///
    /// The rules are invalid; ranges of a log overlap, or some are missing.
    pub fn finish(
        mut self,
        is_left_out: impl Fn(&Rule) -> bool,
    ) -> Result<MergedReport, MergeError> {
        self.merge_pending()?;
        self.tally.enforce_budget();
        let joined = join_ranges(&mut self.inputs, self.allows_gaps)?;
        if !joined.is_empty() {
            self.tally
                .renumber_lines(|input, generation, offset, line| {
                    let ranges = joined.get(&(input, generation));
                    ranges.map_or(line, |ranges| line + lines_before(ranges, offset))
                });
        }
        let (rules, unknown_rules) = self.resolve_rules(is_left_out)?;
        let (sources, inputs) = self.inputs.into_iter().unzip();
        Ok(MergedReport {
            rules,
            tally: self.tally,
            sources,
            inputs,
            allow: AllowList::from_report(
                self.allowed
                    .into_iter()
                    .map(|entry| (entry.file, entry.line, entry.reason)),
            ),
            without_time: self.without_time,
            log_host: only(self.log_hosts),
            period: only(self.periods),
            prefix: self.prefixes.into_iter().next().flatten(),
            unknown_rules,
        })
    }

    /// Adds rules that only a report has. Returns their numbers.
    fn number_rules(&mut self, others: Vec<Rule>) -> Result<Vec<RuleId>, MergeError> {
        others
            .into_iter()
            .map(|rule| self.number_rule(rule))
            .collect()
    }

    fn number_rule(&mut self, rule: Rule) -> Result<RuleId, MergeError> {
        let at = self
            .unknown
            .iter()
            .position(|known| known.id == rule.id)
            .unwrap_or(self.unknown.len());
        match self.unknown.get_mut(at) {
            // Reports may disagree about a rule; their order must not matter.
            Some(known) if weight(&rule) > weight(known) => *known = rule,
            Some(_) => {}
            None => self.unknown.push(rule),
        }
        let number = self.known.rules().len() + at;
        if number >= MAX_RULES {
            Err(MergeError::TooManyRules(MAX_RULES))
        } else {
            Ok(RuleId(number as u16))
        }
    }

    /// Gives the tally the numbers of the rule set of the merged report. Returns that set, if it is
    /// not the known one, and the ids of the added rules.
    fn resolve_rules(
        &mut self,
        is_left_out: impl Fn(&Rule) -> bool,
    ) -> Result<(Option<RuleSet>, Vec<String>), MergeError> {
        if self.unknown.is_empty() {
            return Ok((None, Vec::new()));
        }
        let kept: Vec<Rule> = self
            .unknown
            .iter()
            .filter(|rule| !is_left_out(rule))
            .cloned()
            .collect();
        let set = self.known.with_unknown_rules(&kept)?;
        let of_known = self
            .known
            .rules()
            .iter()
            .chain(&self.unknown)
            .map(|rule| set.number_of(&rule.id));
        let numbers: Vec<Option<RuleId>> = of_known.collect();
        let inputs: Vec<u32> = (0..self.inputs.len() as u32).collect();
        let allowed: Vec<u16> = (0..=u16::MAX).take(self.allowed.len()).collect();
        let new = ImportRemap {
            inputs: &inputs,
            rules: &|rule| numbers[usize::from(rule.0)],
            allowed: &allowed,
        };
        self.tally = std::mem::take(&mut self.tally).remapped(&new);
        let mut ids: Vec<String> = kept.into_iter().map(|rule| rule.id).collect();
        ids.sort();
        Ok((Some(set), ids))
    }
}

/// A range of the log of a host.
type SourceRange = (Option<String>, Vec<u8>, LineSpan);

/// The ranges of a report that has no other input.
fn ranges_only(snapshot: &ReportSnapshot) -> Option<Vec<SourceRange>> {
    let is_whole = |input: &InputSummary| input.spans.is_empty();
    if snapshot.inputs.is_empty() || snapshot.inputs.iter().any(is_whole) {
        return None;
    }
    let ranges = snapshot.sources.iter().zip(&snapshot.inputs);
    let ranges = ranges.flat_map(|(source, input)| {
        input.spans.iter().map(|span| {
            (
                source.log_host.as_deref().map(str::to_owned),
                source.path.clone(),
                *span,
            )
        })
    });
    let mut ranges: Vec<SourceRange> = ranges.collect();
    ranges.sort();
    Some(ranges)
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
    if of.len() == 1 {
        of.into_iter().next().flatten()
    } else {
        None
    }
}

/// Separates the problems of one input.
const ALSO: &str = "; also: ";

/// Adds inputs. Returns the new numbers of the earlier ones and of the added ones.
fn add_inputs(
    merged: &mut Vec<(SourceInfo, InputSummary)>,
    others: Vec<(SourceInfo, InputSummary)>,
) -> (Vec<u32>, Vec<u32>) {
    let here = merged.len();
    let mut all: Vec<_> = merged.drain(..).chain(others).enumerate().collect();
    all.sort_by(|(_, a), (_, b)| key(&a.0).cmp(&key(&b.0)));
    let mut numbers = vec![0; all.len()];
    for (old, (source, input)) in all {
        match merged
            .last_mut()
            .filter(|(known, _)| key(known) == key(&source))
        {
            Some((_, sum)) => add(sum, &input),
            None => merged.push((source, input)),
        }
        numbers[old] = (merged.len() - 1) as u32;
    }
    let theirs = numbers.split_off(here);
    (numbers, theirs)
}

/// The logs whose ranges were joined: an input and a generation, and for each range its offset and
/// the lines before it.
type JoinedRanges = BTreeMap<(u32, u64), Vec<(u64, u64)>>;

/// Joins the ranges of each log into one input. Returns the joined ones.
///
/// # Errors
///
/// Ranges overlap, or some are missing unless `allows_gaps`.
fn join_ranges(
    inputs: &mut [(SourceInfo, InputSummary)],
    allows_gaps: bool,
) -> Result<JoinedRanges, MergeError> {
    let mut joined = JoinedRanges::new();
    for (number, (source, input)) in (0..).zip(inputs) {
        let mut spans = std::mem::take(&mut input.spans);
        spans.sort_unstable();
        let has_others = input.counts.lines > spans.iter().map(|span| span.lines).sum();
        for of_generation in spans.chunk_by(|a, b| a.generation == b.generation) {
            let generation = of_generation[0].generation;
            // The ranges with lines may have been joined by an earlier merge.
            if has_others && of_generation.iter().all(|range| range.start == range.end) {
                continue;
            }
            match missing_part(of_generation).map_err(|(start, end)| MergeError::Overlap {
                log: name(source),
                start,
                end,
            })? {
                None => {
                    _ = joined.insert((number, generation), first_lines(of_generation));
                }
                Some(_) if allows_gaps => input.spans.extend_from_slice(of_generation),
                Some((start, end)) => {
                    return Err(MergeError::Gap {
                        log: name(source),
                        start,
                        end,
                    });
                }
            }
        }
    }
    Ok(joined)
}

/// The first part of a log that is in none of its sorted ranges; `Err` with the first part that is
/// in two.
fn missing_part(ranges: &[LineSpan]) -> Result<Option<(u64, u64)>, (u64, u64)> {
    let (mut end, mut missing) = (0, None);
    for range in ranges.iter().filter(|range| range.start < range.end) {
        if range.start < end {
            return Err((range.start, range.end.min(end)));
        }
        if range.start > end {
            missing = missing.or(Some((end, range.start)));
        }
        end = range.end;
    }
    let log_len = ranges.iter().map(|range| range.log_len).max().unwrap_or(0);
    Ok(missing.or((end < log_len).then_some((end, log_len))))
}

/// The lines before the range of an offset.
fn lines_before(ranges: &[(u64, u64)], offset: u64) -> u64 {
    let before = ranges.partition_point(|(start, _)| *start <= offset);
    before.checked_sub(1).map_or(0, |before| ranges[before].1)
}

/// The offset of each range, and the lines before it.
fn first_lines(ranges: &[LineSpan]) -> Vec<(u64, u64)> {
    let mut lines = 0;
    let mut before = |range: &LineSpan| {
        lines += range.lines;
        (range.start, lines - range.lines)
    };
    ranges
        .iter()
        .filter(|range| range.start < range.end)
        .map(&mut before)
        .collect()
}

/// The name of a log in messages.
fn name(source: &SourceInfo) -> String {
    let path = escape(&source.path);
    source.log_host.as_deref().map_or_else(
        || path.clone().into_owned(),
        |host| format!("{host}: {path}"),
    )
}

fn key(source: &SourceInfo) -> (Option<&str>, &[u8]) {
    (source.log_host.as_deref(), &source.path)
}

/// Different sentences about an input, as one text.
fn all_sentences(texts: [&Option<String>; 2]) -> Option<String> {
    let sentences: BTreeSet<&str> = texts
        .into_iter()
        .flatten()
        .flat_map(|text| text.split(ALSO))
        .collect();
    let sentences: Vec<&str> = sentences.into_iter().collect();
    (!sentences.is_empty()).then(|| sentences.join(ALSO))
}

fn add(sum: &mut InputSummary, other: &InputSummary) {
    sum.counts += other.counts;
    for (sum, lines) in sum.formats.iter_mut().zip(other.formats) {
        *sum += lines;
    }
    sum.others.add(&other.others);
    sum.format = LogFormat::most_frequent(&sum.formats, &sum.others);
    let times = |input: &InputSummary| input.first_time.zip(input.last_time);
    (sum.first_time, sum.last_time) = union_span(times(sum), times(other)).unzip();
    sum.spans.extend_from_slice(&other.spans);
    // If one report read it, it was read.
    sum.skipped_whole = sum.skipped_whole.and(other.skipped_whole);
    sum.problem = all_sentences([&sum.problem, &other.problem]);
    sum.warning = all_sentences([&sum.warning, &other.warning]);
}

/// Adds entries of allow lists. Returns the new numbers of the earlier ones and of the added ones.
fn add_entries(
    merged: &mut Vec<AllowOrigin>,
    others: &[AllowOrigin],
) -> Result<(Vec<u16>, Vec<u16>), MergeError> {
    let mut all: Vec<AllowOrigin> = merged.iter().chain(others).cloned().collect();
    all.sort();
    all.dedup();
    if all.len() > usize::from(u16::MAX) {
        return Err(MergeError::TooManyEntries(u16::MAX.into()));
    }
    let number = |entry: &AllowOrigin| all.partition_point(|known| known < entry) as u16;
    let numbers = (
        merged.iter().map(number).collect(),
        others.iter().map(number).collect(),
    );
    *merged = all;
    Ok(numbers)
}

/// A total order of the variants of a rule; the most severe is last.
fn weight(rule: &Rule) -> impl Ord + '_ {
    (
        rule.severity,
        rule.exposes(),
        &rule.class,
        &rule.title,
        rule.cve(),
        &rule.unless_app,
        &rule.with_client,
        rule.is_app_evidence,
        rule.window,
        rule.guess,
    )
}

#[cfg(test)]
mod tests;
