//! Builds a report out of merged tallies and what the context makes of them: groups cells into rows, and puts rows in order.
//!
//! Reads no log and prints nothing.

use std::time::Duration;

use super::campaigns;
use super::floods;
use super::model::{Approximation, InputSummary, Report, Row, Totals};
use super::overflow::{MissingHits, OverflowItems};
use super::rows::{self, RowItem, RowItems};
pub use super::rule_status::{Decision, LogAnalysis};
use super::snapshot::SnapshotSource;
use super::soft_404;
use super::suppressed;
use crate::finding::{RuleId, Severity};
use crate::log_entry::Outcome;
use crate::rules::{AllowList, RuleSet};
use crate::soft_404::Answer;
use crate::source::SourceInfo;
use crate::tally::{CellView, ErrorBound, Site, Tally};

/// What a report is made of.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    /// The rules that were used.
    pub rules: &'a RuleSet,
    /// All hits.
    pub tally: &'a Tally,
    /// The inputs' texts, by number.
    pub texts: &'a [SourceInfo],
    /// Rules below this are left out, an answer that means something counted as one level more.
    pub min_severity: Severity,
    /// Outcomes to report; all where empty.
    pub outcomes: &'a [Outcome],
    /// Apps that are said to run everywhere.
    pub apps: &'a [RuleId],
    /// What is allowed.
    pub allow: &'a AllowList,
}

/// The rows that are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a list of what there is, each wanted or not")]
pub struct RowSelection {
    /// What answered, and what is uncertain.
    pub answered: bool,
    /// Pair rows.
    pub pairs: bool,
    /// Client rows.
    pub clients: bool,
    /// Path rows.
    pub paths: bool,
    /// Rule rows.
    pub rules: bool,
    /// Campaigns, always whole.
    pub campaigns: bool,
    /// The first so many of each, all where `None`; what answered is always whole.
    pub most: Option<usize>,
}

/// The first rows of one kind.
type RowsBy<'a> = fn(&ReportInput<'a>, RowItems<'_, 'a>, usize) -> Vec<Row<'a>>;

/// Builds the report. `inputs` come without hits: which lines count as such is decided here.
#[must_use]
pub fn build<'a>(
    material: &ReportInput<'a>,
    context: &'a LogAnalysis<'a>,
    mut inputs: Vec<InputSummary>,
    without_time: u64,
    wanted: RowSelection,
) -> Report<'a> {
    count_hits(material, context, &mut inputs);
    let mut items = Vec::with_capacity(material.tally.len());
    let mut others: Vec<u64> =
        material.tally.client_counts().iter().map(|count| count.requests.saturating_sub(count.allowed + count.error)).collect();
    for (view, decision) in material.tally.cells().zip(context.decisions()) {
        // Lines that no format explains belong to a client without a name, and are no requests.
        if let Some(others) = others.get_mut(view.client as usize).filter(|_| decision.matched) {
            *others = others.saturating_sub(view.cell.hits);
        }
        if decision.reported {
            items.push(row_item(context, view, decision));
        }
    }
    let overflow = OverflowItems::new(material, context);
    for (client, hits) in &overflow.matched {
        if let Some(others) = others.get_mut(*client as usize) {
            *others = others.saturating_sub(*hits);
        }
    }
    let folded = material.tally.path_cells().zip(context.path_decisions()).filter(|(_, decision)| decision.reported);
    let of_paths: Vec<_> = folded.map(|(view, decision)| row_item(context, view, decision)).collect();
    // What was let go of a pair is still known of its path.
    let of_answers: Vec<_> =
        items.iter().filter(|item| !item.view.is_other()).chain(&of_paths).filter(|item| item.grade.is_some()).copied().collect();
    let most = wanted.most.unwrap_or(usize::MAX);
    let rows = |wanted: bool, group: RowsBy<'a>, more: &[RowItem<'a>]| {
        if wanted { group(material, RowItems(&items, more), most) } else { Vec::new() }
    };
    let by_pair = || rows(wanted.pairs, rows::by_pair, &overflow.pairs);
    let by_client = || rows(wanted.clients, rows::by_client, &overflow.clients);
    let by_path = || rows(wanted.paths, rows::by_path, &[&*of_paths, &*overflow.paths].concat());
    let totals = || totals(&items, &of_paths, &inputs, without_time);
    let campaigns = || if wanted.campaigns { campaigns::campaign_rows(material, &items) } else { Vec::new() };
    let graded = |answer| if wanted.answered { rows::by_answer(material, context, &of_answers, answer) } else { Vec::new() };
    let answers = || (graded(Answer::Distinct), graded(Answer::Uncertain));
    let by_rule = || if wanted.rules { rows::by_rule(material, context, &items, most) } else { Vec::new() };
    let last = || rayon::join(answers, || rayon::join(campaigns, totals));
    // What takes longest begins first.
    let ((pairs, mut clients), (rules, (paths, ((answered, uncertain), (campaigns, totals))))) =
        rayon::join(|| rayon::join(by_pair, by_client), || rayon::join(by_rule, || rayon::join(by_path, last)));
    for row in &mut clients {
        let number = row.key.client().and_then(|client| material.tally.client_number(client));
        row.other_requests = number.and_then(|number| others.get(number as usize).copied()).unwrap_or(0);
    }
    Report {
        rule_set: material.rules,
        log_host: None,
        period: None,
        prefix: None,
        hidden: None,
        totals,
        approximate: approximate(material.tally, &items, &overflow),
        answered,
        uncertain,
        soft_404: soft_404::sites(material, context, &of_answers),
        campaigns,
        floods: floods::flood_rows(material, context, &items),
        apps: suppressed::apps(material, context),
        allowed: suppressed::allowed(material),
        inputs,
        pairs,
        clients,
        blocks: None,
        paths,
        rules,
        elapsed: Duration::ZERO,
        evidence: Some(SnapshotSource { tally: material.tally, texts: material.texts }),
    }
}

/// Counts into each input the lines of it that are hits.
pub fn count_hits(material: &ReportInput<'_>, context: &LogAnalysis<'_>, inputs: &mut [InputSummary]) {
    for (view, _) in material.tally.cells().zip(context.decisions()).filter(|(_, decision)| decision.reported) {
        inputs[view.input as usize].hits += view.cell.hits;
    }
}

impl Report<'_> {
    /// Sums its inputs anew, after they were changed.
    pub fn recount(&mut self) {
        self.totals.sum = sum(&self.inputs);
    }
}

pub(crate) fn row_item<'a>(context: &'a LogAnalysis<'a>, view: CellView<'a>, decision: &Decision) -> RowItem<'a> {
    let Decision { severity, answered, grade, .. } = *decision;
    RowItem { view, rules: context.list(decision), outcome: Outcome::of(view.status), severity, answered, grade }
}

/// What the tally says of itself, hits that may be reported or not, and the reported hits that no pair holds.
fn approximate(tally: &Tally, items: &[RowItem<'_>], overflow: &OverflowItems<'_>) -> Option<Approximation> {
    let ErrorBound { pairs, clients, requests, paths, uncounted, .. } = tally.error_bound().unwrap_or_default();
    let MissingHits { pairs: of_pair, clients: of_client, paths: of_path } = overflow.missing;
    let rest_hits = sum_hits(items.iter().filter(|item| item.view.is_other()));
    let bound = Approximation {
        pairs: pairs + of_pair,
        clients: clients + of_client,
        requests,
        paths: paths + of_path,
        // What was read back may count more in the overflow.
        rest_hits: rest_hits.saturating_sub(sum_hits(overflow.pairs.iter())),
        uncounted,
    };
    (bound != Approximation::default()).then_some(bound)
}

fn sum_hits<'i>(items: impl Iterator<Item = &'i RowItem<'i>>) -> u64 {
    items.map(|item| item.view.cell.hits).sum()
}

fn totals(items: &[RowItem<'_>], of_paths: &[RowItem<'_>], inputs: &[InputSummary], without_time: u64) -> Totals {
    let mut totals = Totals { sum: sum(inputs), without_time, ..Totals::default() };
    for item in items {
        let hits = item.view.cell.hits;
        totals.outcomes[item.outcome as usize] += hits;
        totals.answered += if item.answered { hits } else { 0 };
        totals.uncertain += if item.has_grade(Answer::Uncertain) { hits } else { 0 };
        totals.soft_404 += if item.has_grade(Answer::Soft404) { hits } else { 0 };
        totals.severity = totals.severity.max(Some(item.severity));
        if !item.has_grade(Answer::Soft404) {
            totals.fail_severity = totals.fail_severity.max(Some(item.severity));
        }
    }
    totals.clients = rows::count_distinct(items.iter().map(|i| i.view.client));
    totals.paths = rows::count_distinct(items.iter().chain(of_paths).map(|i| i.view.path));
    totals.rules = rows::count_distinct(items.iter().flat_map(|i| i.rules).map(|rule| rule.0.into()));
    totals
}

fn sum(inputs: &[InputSummary]) -> InputSummary {
    let mut sum = InputSummary::default();
    for input in inputs {
        sum.bytes += input.bytes;
        sum.lines += input.lines;
        sum.parsed += input.parsed;
        sum.unparsed += input.unparsed;
        sum.oversized += input.oversized;
        sum.skipped += input.skipped;
        sum.pending += input.pending;
        sum.requests += input.requests;
        sum.hits += input.hits;
        let times = |i: &InputSummary| i.first_time.zip(i.last_time);
        (sum.first_time, sum.last_time) = crate::tally::union_span(times(&sum), times(input)).unzip();
    }
    sum
}

/// A site as a reader knows it: its host, or the input where hosts are not logged; of rotated inputs the log itself, if it is there.
pub(crate) fn site_name<'a>(material: &ReportInput<'a>, site: Site<'a>) -> &'a [u8] {
    match site {
        Site::Host(host) => host,
        Site::Input(input) => {
            let text = &material.texts[input as usize];
            let home = text.family_key();
            let log = material.texts.iter().find(|other| other.path == home.1 && other.family_key() == home);
            &log.unwrap_or(text).path
        }
    }
}
