//! Adds reports up: counts add, firsts and lasts widen, samples are kept, and the context is decided anew from all of it.
//!
//! Parts may come in any order and in any groups: logs are told apart by their machine and their path, entries of allow lists by
//! what they say, rules by their ids, and each of these is brought into one order. What they come to keeps to a [`Budget`], as
//! a tally of logs does: up to it the sum is exact if all parts are; above it, it says by how much it may be too low. It reads no file and prints nothing.

mod allow;
mod rules;
mod sources;

use std::collections::BTreeSet;

use thiserror::Error;

use self::allow::MergedAllowEntries;
use self::rules::UnknownRules;
use self::sources::MergedInputs;
use crate::analysis::model::{InputSummary, Report};
use crate::analysis::snapshot::{ReportSnapshot, SnapshotError, roundtrip};
use crate::client::{Client, Ipv6Prefix, network};
use crate::finding::RuleId;
use crate::rules::{AllowList, Rule, RuleError, RuleSet};
use crate::source::SourceInfo;
use crate::tally::{Budget, ImportRemap, Tally};

/// Why reports cannot be added up.
#[derive(Debug, Error)]
pub enum MergeError {
    /// There are not so many numbers.
    #[error("the reports speak of more than {0} rules; merge fewer of them, or give --rules the files they came from")]
    TooManyRules(usize),
    /// There are not so many numbers.
    #[error("the reports speak of more than {0} entries of allow lists; merge fewer of them")]
    TooManyEntries(usize),
    /// The rules would not start.
    #[error(transparent)]
    Rules(#[from] RuleError),
    /// Clients of one cannot be told from those of another.
    #[error("the reports count IPv6 clients otherwise: one {0}, another {1}; write them again with the same --ipv6-prefix")]
    Prefixes(String, String),
    /// A part of this run cannot be told.
    #[error(transparent)]
    Part(#[from] SnapshotError),
}

/// Reports that are being added up.
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
    /// How IPv6 clients are counted, where there are any.
    prefixes: BTreeSet<Option<Ipv6Prefix>>,
}

/// What they come to, to build a report from.
#[derive(Debug)]
pub struct MergedReport {
    /// The rules, where they are not those that were known: rules that only the reports know are among them.
    pub rules: Option<RuleSet>,
    /// All hits.
    pub tally: Tally,
    /// The inputs' texts, by number.
    pub texts: Vec<SourceInfo>,
    /// The inputs by the same numbers, without hits.
    pub inputs: Vec<InputSummary>,
    /// What was allowed.
    pub allow: AllowList,
    /// Lines without a time, where a window asked for one.
    pub without_time: u64,
    /// The machine that all of them speak of.
    pub log_host: Option<String>,
    /// The day or hour that all of them speak of.
    pub period: Option<String>,
    /// Which IPv6 addresses are one client.
    pub prefix: Option<Ipv6Prefix>,
    /// The ids of rules that only the reports know, sorted.
    pub unknown_rules: Vec<String>,
}

impl<'r> ReportMerger<'r> {
    /// Nothing yet. All evidence must have been read for these rules.
    #[must_use]
    pub fn new(rules: &'r RuleSet) -> Self {
        Self::with_budget(rules, Budget::STANDARD)
    }

    /// The same, with a budget of its own.
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

    /// Adds what a report told.
    ///
    /// # Errors
    ///
    /// There are more rules or entries than numbers, or IPv6 clients are counted otherwise.
    pub fn add(&mut self, evidence: ReportSnapshot) -> Result<(), MergeError> {
        self.check_prefix(&evidence)?;
        let ReportSnapshot { log_host, period, prefix: _, tally, texts, inputs, allowed, without_time, unknown_rules } = evidence;
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

    /// A group cannot be taken apart, and of addresses that were counted one by one not all is known that their group needs.
    fn check_prefix(&mut self, evidence: &ReportSnapshot) -> Result<(), MergeError> {
        let counted =
            |prefix: Option<Ipv6Prefix>| prefix.map_or_else(|| "by addresses".to_owned(), |prefix| format!("by /{}", prefix.bits()));
        if has_ipv6(evidence) {
            self.prefixes.insert(evidence.prefix);
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
    /// Those of [`add`](Self::add); the report has no evidence.
    pub fn add_report(&mut self, part: &Report<'_>) -> Result<(), MergeError> {
        self.add(roundtrip(part)?)
    }

    /// What it comes to. Of rules that only the reports know, those that `is_left_out` names count nothing.
    ///
    /// # Errors
    ///
    /// The rules would not start.
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

/// Whether a report has IPv6 clients, or groups of them.
fn has_ipv6(evidence: &ReportSnapshot) -> bool {
    let ReportSnapshot { tally, prefix, .. } = evidence;
    (0..tally.client_counts().len() as u32).any(|number| match tally.client(number) {
        Client::V6(_) => true,
        Client::Text(text) => prefix.is_some() && network::parse_prefix(text).is_some(),
        Client::V4(_) => false,
    })
}

/// Whether numbers stay what they are.
fn is_identity<N: Copy + Into<u64>>(new: &[N]) -> bool {
    (0..).zip(new).all(|(old, new)| old == (*new).into())
}

fn only(of: BTreeSet<Option<String>>) -> Option<String> {
    if of.len() == 1 { of.into_iter().next().flatten() } else { None }
}

#[cfg(test)]
mod tests;
