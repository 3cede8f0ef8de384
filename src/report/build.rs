//! Builds a report from merged tallies and their analysis: groups cells into rows and sorts the
//! rows.
//!
//! Reads no log and prints nothing.

pub(crate) use crate::judge::rule_status::Decision;
pub use crate::judge::rule_status::LogAnalysis;
use std::time::Duration;

use foldhash::HashMap;

use super::answers;
use super::class_hits::class_hits;
use super::model::{AllowedCount, AppSeen, ReportModel, Row, SnapshotSource, Timeline, Totals};
use super::rows::{self, MissingHits, OverflowItems, RowItem, RowItems};
use super::{campaigns, floods, soft_404, timeline};
use crate::collections::intern::SymbolTables;
use crate::judge::report_input::ReportInput;
use crate::log::finding::RuleId;
use crate::scan::input_summary::{InputSummary, LineTotals};
use crate::soft_404::Answer;
use crate::tally::{ErrorBound, Site, Tally};
use crate::text::number::{counted, percent};

/// The rows to build.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a list of what there is, each wanted or not"
)]
pub struct RowSelection {
    /// Distinct and uncertain answers.
    pub answered: bool,
    /// Pair rows.
    pub pairs: bool,
    /// Client rows.
    pub clients: bool,
    /// Path rows.
    pub paths: bool,
    /// Rule rows.
    pub rules: bool,
    /// Campaigns that request a list of paths, always all. Those that guess passwords are few and
    /// always present.
    pub campaigns: bool,
    /// Virtual hosts, always all.
    pub hosts: bool,
    /// The hits of every client, for the list of networks.
    pub networks: bool,
    /// The most rows of each kind, all where `None`; answers are always all.
    pub most: Option<usize>,
}

impl RowSelection {
    /// All rows, without the list of networks.
    pub const COMPLETE: Self = Self {
        answered: true,
        pairs: true,
        clients: true,
        paths: true,
        rules: true,
        campaigns: true,
        hosts: true,
        networks: false,
        most: None,
    };

    /// Whether the hits of every client are needed, for the list of networks.
    #[must_use]
    pub fn with_networks(self, networks: bool) -> Self {
        Self { networks, ..self }
    }
}

/// Builds the first rows of one kind.
type RowsBy<'a> = fn(&ReportInput<'a>, RowItems<'_, 'a>, usize) -> Vec<Row<'a>>;

/// Builds the report.
#[must_use]
pub fn build<'a>(analysis: &'a LogAnalysis<'a>, selection: RowSelection) -> ReportModel<'a> {
    let mut inputs = analysis.input.inputs.to_vec();
    count_hits(analysis, &mut inputs);
    let mut items = Vec::with_capacity(analysis.input.tally.len());
    let mut other_requests: Vec<u64> = analysis
        .input
        .tally
        .client_counts()
        .iter()
        .map(|count| count.requests.saturating_sub(count.allowed + count.error))
        .collect();
    for (view, decision) in analysis.cells() {
        // Lines that no format matches belong to a client without a name, and are no requests.
        if let Some(other_requests) = other_requests
            .get_mut(view.client as usize)
            .filter(|_| decision.matched)
        {
            *other_requests = other_requests.saturating_sub(view.cell.hits);
        }
        if decision.reported {
            items.push(RowItem::new(analysis, view, decision));
        }
    }
    let overflow = OverflowItems::new(analysis);
    for (client, hits) in &overflow.matched {
        if let Some(other_requests) = other_requests.get_mut(*client as usize) {
            *other_requests = other_requests.saturating_sub(*hits);
        }
    }
    let folded = analysis
        .path_cells()
        .filter(|(_, decision)| decision.reported);
    let of_paths: Vec<_> = folded
        .map(|(view, decision)| RowItem::new(analysis, view, decision))
        .collect();
    // The hits of an evicted pair are still known by path.
    let of_answers: Vec<_> = items
        .iter()
        .filter(|item| !item.view.is_other())
        .chain(&of_paths)
        .filter(|item| item.grade.is_some())
        .collect();
    let most = selection.most.unwrap_or(usize::MAX);
    let rows = |is_selected: bool, group: RowsBy<'a>, more: &[RowItem<'a>]| {
        if is_selected {
            group(&analysis.input, RowItems(&items, more), most)
        } else {
            Vec::new()
        }
    };
    let by_pair = || rows(selection.pairs, rows::by_pair, &overflow.pairs);
    let by_client = || rows(selection.clients, rows::by_client, &overflow.clients);
    let by_path = || {
        rows(
            selection.paths,
            rows::by_path,
            &[&*of_paths, &*overflow.paths].concat(),
        )
    };
    // A path that is lighter than the floor has no cells at all; the evicted pairs of others are in
    // `of_paths`.
    let has_evicted_paths = analysis
        .input
        .tally
        .path_errors()
        .iter()
        .any(|error| *error > 0)
        || analysis.input.tally.error_floor().paths > 0;
    let totals = || {
        totals(
            &items,
            &of_paths,
            has_evicted_paths,
            &inputs,
            analysis.input.without_time,
        )
    };
    let campaigns = || {
        let lists = if selection.campaigns {
            campaigns::campaign_rows(&analysis.input, &items)
        } else {
            Vec::new()
        };
        [campaigns::guess_rows(analysis, &items), lists].concat()
    };
    // First, while there are no other rows: it takes twice as much memory as its own.
    let (answered, uncertain) = if selection.answered {
        answers::by_answer(analysis, &of_answers, &items)
    } else {
        (Vec::new(), Vec::new())
    };
    let by_rule = || {
        if selection.rules {
            rows::by_rule(analysis, &items, most)
        } else {
            Vec::new()
        }
    };
    // Rows of all clients have their hits.
    let client_hits = if selection.networks && (selection.most.is_some() || !selection.clients) {
        rows::client_hits(&analysis.input, RowItems(&items, &overflow.clients))
    } else {
        Vec::new()
    };
    let last = || rayon::join(campaigns, totals);
    let timeline = || {
        (
            Timeline::new(analysis.input.tally, &items),
            timeline::day_rows(analysis.input.tally, &items),
        )
    };
    let hosts = || {
        if selection.hosts {
            rows::by_host(&items)
        } else {
            Vec::new()
        }
    };
    let sites = || {
        (
            soft_404::sites(analysis, &of_answers),
            floods::flood_rows(analysis, &items),
        )
    };
    let classes = || rayon::join(|| class_hits(analysis.input.rules, &items), hosts);
    let sums = || rayon::join(timeline, || rayon::join(sites, classes));
    // The longest task starts first.
    let rows = || {
        rayon::join(
            || rayon::join(by_pair, by_client),
            || rayon::join(by_rule, || rayon::join(by_path, last)),
        )
    };
    let (((pairs, mut clients), (rules, (paths, (campaigns, totals)))), sums) =
        rayon::join(rows, sums);
    let ((timeline, days), ((soft_404, floods), (classes, hosts))) = sums;
    for row in &mut clients {
        let number = row
            .key
            .client()
            .and_then(|client| analysis.input.tally.client_number(client));
        row.other_requests = number
            .and_then(|number| other_requests.get(number as usize).copied())
            .unwrap_or(0);
    }
    ReportModel {
        rule_set: analysis.input.rules,
        log_host: None,
        period: None,
        prefix: None,
        hidden: None,
        proxied: None,
        totals,
        approximate: approximate(analysis.input.tally, &items, &overflow),
        timeline: timeline.with_answers(&answered),
        days,
        answered,
        uncertain,
        soft_404,
        campaigns,
        floods,
        classes,
        hosts,
        networks: Vec::new(),
        client_hits,
        apps: apps(analysis),
        allowed: allowed(&analysis.input),
        inputs,
        pairs,
        clients,
        has_blocks: false,
        paths,
        rules,
        elapsed: Duration::ZERO,
        evidence: Some(SnapshotSource {
            tally: analysis.input.tally,
            sources: analysis.input.sources,
        }),
    }
}

/// Counts the hits of each input.
pub(crate) fn count_hits(analysis: &LogAnalysis<'_>, inputs: &mut [InputSummary]) {
    for (view, _) in analysis.cells().filter(|(_, decision)| decision.reported) {
        inputs[view.input as usize].counts.hits += view.cell.hits;
    }
}

impl ReportModel<'_> {
    /// The time zone of the first line, in minutes east of UTC: tables show the zone of a time only
    /// where it is another.
    pub(crate) fn zone(&self) -> i16 {
        self.totals.first_time.map_or(0, |first| first.offset)
    }

    /// The part of all requests that probes are: `Probes are 8.7 % of 1,234 requests.` `None`
    /// without any.
    #[must_use]
    pub(crate) fn probe_share(&self) -> Option<String> {
        let LineTotals { hits, requests, .. } = self.totals.sum;
        (hits > 0 && requests > 0).then(|| {
            format!(
                "Probes are {} of {}.",
                // Probes in lines that are in no known format are no requests.
                percent(hits, requests.max(hits)),
                counted(requests, "request", "requests")
            )
        })
    }

    /// A sentence on what the addresses of the clients show.
    #[must_use]
    pub(crate) fn proxied_sentence(&self) -> Option<String> {
        self.proxied
            .map(|proxied| proxied.sentence(self.hidden.is_some()))
    }

    /// Sums its inputs again after a change.
    pub fn recount(&mut self) {
        self.totals.sum_up(&self.inputs);
    }
}

/// The error bounds of the tally, plus hits whose status is unknown, plus reported hits that are in
/// no pair.
fn approximate(
    tally: &Tally,
    items: &[RowItem<'_>],
    overflow: &OverflowItems<'_>,
) -> Option<ErrorBound> {
    let ErrorBound {
        pairs,
        clients,
        requests,
        paths,
        uncounted,
        ..
    } = tally.error_bound().unwrap_or_default();
    let MissingHits {
        pairs: of_pair,
        clients: of_client,
        paths: of_path,
    } = overflow.missing;
    let rest_hits = sum_hits(items.iter().filter(|item| item.view.is_other()));
    let bound = ErrorBound {
        pairs: pairs + of_pair,
        clients: clients + of_client,
        requests,
        paths: paths + of_path,
        // A tally that was read from a snapshot may count more in the overflow.
        rest_hits: rest_hits.saturating_sub(sum_hits(overflow.pairs.iter())),
        uncounted,
    };
    (bound != ErrorBound::default()).then_some(bound)
}

fn sum_hits<'i>(items: impl Iterator<Item = &'i RowItem<'i>>) -> u64 {
    items.map(|item| item.view.cell.hits).sum()
}

fn totals(
    items: &[RowItem<'_>],
    of_paths: &[RowItem<'_>],
    has_evicted_paths: bool,
    inputs: &[InputSummary],
    without_time: u64,
) -> Totals {
    let mut totals = Totals {
        without_time,
        ..Totals::default()
    };
    totals.sum_up(inputs);
    for item in items {
        let hits = item.view.cell.hits;
        totals.outcomes[item.outcome as usize] += hits;
        totals.answered += if item.answered { hits } else { 0 };
        totals.uncertain += if item.has_grade(Answer::Uncertain) {
            hits
        } else {
            0
        };
        totals.soft_404 += if item.has_grade(Answer::Soft404) {
            hits
        } else {
            0
        };
        totals.severity = totals.severity.max(Some(item.severity));
        if !item.has_grade(Answer::Soft404) {
            totals.fail_severity = totals.fail_severity.max(Some(item.severity));
        }
    }
    totals.clients = rows::count_distinct(items.iter().map(|i| i.view.client));
    totals.has_more_clients = items
        .iter()
        .any(|item| item.view.client == SymbolTables::OTHER);
    totals.paths = rows::count_distinct(items.iter().chain(of_paths).map(|i| i.view.path));
    totals.has_more_paths = has_evicted_paths
        && items
            .iter()
            .any(|item| item.view.path == SymbolTables::OTHER);
    totals.rules =
        rows::count_distinct(items.iter().flat_map(|i| i.rules).map(|rule| rule.0.into()));
    totals
}

/// The apps that were detected or declared, and how many requests each suppressed.
pub(crate) fn apps<'a>(analysis: &LogAnalysis<'a>) -> Vec<AppSeen<'a>> {
    let mut suppressed: HashMap<(RuleId, Site<'a>), u64> = HashMap::default();
    for (view, decision) in analysis.cells() {
        if let Some(app) = decision.suppressed_by {
            *suppressed
                .entry((app, analysis.site_root(view.site)))
                .or_default() += view.cell.hits;
        }
    }
    let sum = |app: RuleId, site: Option<Site<'a>>| match site {
        Some(site) => suppressed.get(&(app, site)).copied().unwrap_or(0),
        None => suppressed
            .iter()
            .filter(|((of, _), _)| *of == app)
            .map(|(_, hits)| hits)
            .sum(),
    };
    let seen = |(app, site): (RuleId, Option<Site<'a>>)| {
        let rule = analysis.input.rules.rule(app);
        let name = rule.app().unwrap_or(&rule.id);
        AppSeen {
            app: name,
            title: &rule.title,
            site: site.map(|site| analysis.input.site_name(site).into()),
            silenced: sum(app, site),
        }
    };
    let mut apps: Vec<_> = analysis.apps().into_iter().map(seen).collect();
    apps.sort_by(|a, b| (b.silenced, a.app, a.site).cmp(&(a.silenced, b.app, b.site)));
    apps
}

/// The requests that each entry of the allow lists removed, in the order of the lists.
pub(crate) fn allowed<'a>(report_input: &ReportInput<'a>) -> Vec<AllowedCount<'a>> {
    let requests = report_input
        .tally
        .allowed()
        .iter()
        .copied()
        .chain(std::iter::repeat(0));
    let each = report_input.allow.entries().iter().zip(requests);
    each.map(|(entry, requests)| AllowedCount {
        file: &entry.file,
        line: entry.line,
        reason: &entry.reason,
        requests,
    })
    .collect()
}
