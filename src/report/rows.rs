//! Groups cells into rows and sorts the rows.
//!
//! Groups are ranked while they are counted, and only the requested rows are built. The order of
//! the cells does not matter. The share of a tally's [overflow](Tally::overflow_cells) is added to
//! the rows of pairs, clients and paths. Its hits have no site and are in other cells as well, so
//! totals, rules and answers never count them.

#[cfg(doc)]
use crate::tally::Tally;

use std::borrow::{Borrow, Cow};
use std::cmp::Reverse;
use std::hash::Hash;

use foldhash::HashMap;
use rayon::prelude::*;

use super::labels::{self, Attributed};
use super::model::{ClientHits, HostRow, Row, RowKey, SampleRequest};
use crate::collections::intern::{InternKey, Interner, SymbolTables};
use crate::engine::ParsedRequest;
use crate::judge::report_input::ReportInput;
use crate::judge::rule_status::{Decision, LogAnalysis, OverflowDecision};
use crate::log::finding::{RuleId, Severity};
use crate::log::log_entry::{LogEntry, Outcome};
use crate::log::source::{RequestId, SourceInfo};
use crate::soft_404::{Answer, Grade};
use crate::tally::{self, CellView, SampleContentView, union_span};
use crate::text::redact::LogText;

/// A cell and the decision for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowItem<'a> {
    pub(crate) view: CellView<'a>,
    pub(crate) rules: &'a [RuleId],
    pub(crate) outcome: Outcome,
    pub(crate) severity: Severity,
    /// The answer is distinct.
    pub(crate) answered: bool,
    /// The grade of an answer that could expose something.
    pub(crate) grade: Option<Grade>,
}

/// The items of rows, in two lists that hold different hits; indices continue from the first list
/// to the second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowItems<'i, 'a>(pub(crate) &'i [RowItem<'a>], pub(crate) &'i [RowItem<'a>]);

impl<'a> RowItems<'_, 'a> {
    fn at(self, index: u32) -> RowItem<'a> {
        let at = index as usize;
        *self.0.get(at).unwrap_or_else(|| &self.1[at - self.0.len()])
    }
}

impl<'a> RowItem<'a> {
    pub(crate) fn new(
        analysis: &'a LogAnalysis<'a>,
        view: CellView<'a>,
        decision: &Decision,
    ) -> Self {
        let Decision {
            severity,
            answered,
            grade,
            ..
        } = *decision;
        Self {
            view,
            rules: analysis.list(decision),
            outcome: Outcome::from_status(view.status),
            severity,
            answered,
            grade,
        }
    }

    pub(crate) fn has_grade(&self, answer: Answer) -> bool {
        self.grade.is_some_and(|grade| grade.answer == answer)
    }
}

pub(crate) fn by_pair<'a>(
    report_input: &ReportInput<'a>,
    items: RowItems<'_, 'a>,
    most: usize,
) -> Vec<Row<'a>> {
    let members = members(items, |i| {
        (!i.view.is_other()).then_some((i.view.client, i.view.path, i.outcome))
    });
    let key = |i: &RowItem<'a>| {
        RowKey::Pair(
            report_input.tally.client(i.view.client),
            report_input.tally.path(i.view.path).into(),
            i.outcome,
        )
    };
    grouped(report_input, &members, most, |(_, at)| items.at(at), key)
}

pub(crate) fn by_client<'a>(
    report_input: &ReportInput<'a>,
    items: RowItems<'_, 'a>,
    most: usize,
) -> Vec<Row<'a>> {
    let members = members(items, |i| {
        Some(i.view.client).filter(|&client| client != SymbolTables::OTHER)
    });
    let key = |i: &RowItem<'a>| RowKey::Client(report_input.tally.client(i.view.client));
    grouped(report_input, &members, most, |(_, at)| items.at(at), key)
}

/// The hits of each client, without rows.
pub(crate) fn client_hits<'a>(
    report_input: &ReportInput<'a>,
    items: RowItems<'_, 'a>,
) -> Vec<ClientHits<'a>> {
    let members = members(items, |i| {
        Some(i.view.client).filter(|&client| client != SymbolTables::OTHER)
    });
    let (groups, _) = rank_groups(&members, |(_, at)| items.at(at));
    let of_client = |group: &RowGroup<u32>| {
        let (.., answered, hits) = group.rank;
        ClientHits {
            client: report_input.tally.client(group.first.0),
            hits,
            answered,
        }
    };
    groups.iter().map(of_client).collect()
}

pub(crate) fn by_path<'a>(
    report_input: &ReportInput<'a>,
    items: RowItems<'_, 'a>,
    most: usize,
) -> Vec<Row<'a>> {
    let members = members(items, |i| {
        Some(i.view.path).filter(|&path| path != SymbolTables::OTHER)
    });
    let key = |i: &RowItem<'a>| RowKey::Path(report_input.tally.path(i.view.path).into());
    grouped(report_input, &members, most, |(_, at)| items.at(at), key)
}

/// A cell is in the row of each of its rules, and counts there only for that rule.
#[expect(
    clippy::expect_used,
    reason = "members are made of the rules of their items"
)]
pub(crate) fn by_rule<'a>(
    analysis: &LogAnalysis<'a>,
    items: &[RowItem<'a>],
    most: usize,
) -> Vec<Row<'a>> {
    let of_rule = |(rule, at): (RuleId, u32)| {
        let item = &items[at as usize];
        let rules = item
            .rules
            .chunks(1)
            .find(|one| one[0] == rule)
            .expect("the item is a member of its rules");
        let answered = item.answered && analysis.input.rules.rule(rule).exposes();
        RowItem {
            rules,
            answered,
            severity: analysis.severity_of(rule, item.view.site, answered),
            ..*item
        }
    };
    let members = (0..)
        .zip(items)
        .flat_map(|(at, item)| item.rules.iter().map(move |&rule| (rule, at)))
        .collect::<Vec<_>>();
    grouped(&analysis.input, &members, most, of_rule, |i| {
        RowKey::Rule(i.rules[0])
    })
}

/// The group of each item that has one, and the item's index.
fn members<'a, G>(
    items: RowItems<'_, 'a>,
    group: impl Fn(&RowItem<'a>) -> Option<G>,
) -> Vec<(G, u32)> {
    (0..)
        .zip(items.0.iter().chain(items.1))
        .filter_map(|(at, item)| Some((group(item)?, at)))
        .collect()
}

/// The rank of a row: first those with a distinct answer, then by severity, answered hits and hits.
type Rank = (bool, Severity, u64, u64);

/// The rank of a group and the number of its items.
struct RowGroup<G> {
    rank: Rank,
    first: (G, u32),
    len: usize,
}

impl InternKey for u32 {}
impl InternKey for RuleId {}
impl InternKey for (u32, u32, Outcome) {}

/// All groups, and the group number of each member.
fn rank_groups<'a, G: Hash + Eq + Copy + InternKey>(
    members: &[(G, u32)],
    item: impl Fn((G, u32)) -> RowItem<'a>,
) -> (Vec<RowGroup<G>>, Vec<u32>) {
    let (mut numbers, mut groups) = (Interner::default(), Vec::new());
    let rank_groups = |&member: &(G, u32)| {
        let number = numbers.intern(&member.0, |group| *group);
        if number as usize == groups.len() {
            groups.push(RowGroup {
                rank: (false, Severity::Info, 0, 0),
                first: member,
                len: 0,
            });
        }
        let group = &mut groups[number as usize];
        group.rank = plus(group.rank, &item(member));
        group.len += 1;
        number
    };
    let of_members = members.iter().map(rank_groups).collect();
    (groups, of_members)
}

/// Rows that one thread builds at least: a row takes a microsecond, and a task as long.
const MIN_ROWS: usize = 64;

/// Builds the rows of the first groups only. Items are large, and most belong to groups that are
/// not requested, so groups are ranked in one pass without sorting the items.
#[expect(clippy::expect_used, reason = "the groups are chosen here")]
fn grouped<'a, G: Hash + Eq + Copy + Sync + InternKey>(
    report_input: &ReportInput<'a>,
    members: &[(G, u32)],
    most: usize,
    item: impl Fn((G, u32)) -> RowItem<'a> + Sync,
    key: impl Fn(&RowItem<'a>) -> RowKey<'a>,
) -> Vec<Row<'a>> {
    let Some(&any) = members.first() else {
        return Vec::new();
    };
    let (groups, of_members) = rank_groups(members, &item);
    let order = |(number, group): (usize, &RowGroup<G>)| {
        (Reverse(group.rank), key(&item(group.first)), number)
    };
    let mut chosen: Vec<_> = groups.iter().enumerate().map(order).collect();
    if most < chosen.len() {
        chosen.select_nth_unstable(most);
        chosen.truncate(most);
    }
    chosen.par_sort_unstable();
    let mut positions = vec![None; groups.len()];
    let mut count = 0;
    for &(.., number) in &chosen {
        positions[number] = Some(count);
        count += groups[number].len;
    }
    let mut of_chosen = vec![any; count];
    for (&member, number) in members.iter().zip(of_members) {
        if let Some(position) = &mut positions[number as usize] {
            of_chosen[*position] = member;
            *position += 1;
        }
    }
    let row = |items: &mut Vec<RowItem<'a>>, (_, key, number): &(_, RowKey<'a>, usize)| {
        // The position is now where the members of the group end.
        let end = positions[*number].expect("each chosen group has a position");
        items.clear();
        items.extend(
            of_chosen[end - groups[*number].len..end]
                .iter()
                .map(|&member| item(member)),
        );
        row(report_input, items, *key)
    };
    chosen
        .par_iter()
        .with_min_len(MIN_ROWS)
        .map_init(Vec::new, row)
        .collect()
}

fn plus((is_answered, worst, answered, hits): Rank, item: &RowItem<'_>) -> Rank {
    let n = item.view.cell.hits;
    (
        is_answered || item.answered,
        worst.max(item.severity),
        answered + if item.answered { n } else { 0 },
        hits + n,
    )
}

/// Builds a row from its items; there is at least one.
pub(super) fn row<'a>(
    report_input: &ReportInput<'a>,
    items: &[RowItem<'a>],
    key: RowKey<'a>,
) -> Row<'a> {
    let (_, severity, answered, hits) = items.iter().fold((false, Severity::Info, 0, 0), plus);
    let rules = distinct_rules(items);
    let mut about = if labels::depend_on_request(report_input.rules, &rules) {
        let of_item = |item: &RowItem<'a>| {
            let path = if item.view.path == SymbolTables::OTHER {
                b""
            } else {
                report_input.tally.path(item.view.path)
            };
            Attributed::new(
                report_input.rules,
                item.rules,
                &[path, sample(report_input, item.view.sample()).target.raw()],
            )
        };
        Attributed::union(&items.iter().map(of_item).collect::<Vec<_>>())
    } else {
        Attributed::new(report_input.rules, &rules, &[])
    };
    about.cves.shrink_to_fit();
    about.products.shrink_to_fit();
    let mut row = Row {
        key,
        severity,
        rules,
        about,
        hits,
        outcomes: [0; 8],
        answered,
        uncertain: 0,
        soft_404: 0,
        answer: None,
        clients: count_at_least_one(items, |i| i.view.client),
        paths: count_at_least_one(items, |i| i.view.path),
        requests: 0,
        geo: None,
        block: None,
        other_requests: 0,
        status: commonest_status(items),
        first_time: None,
        last_time: None,
        sample: sample(report_input, best_sample(items)),
    };
    for item in items {
        let hits = item.view.cell.hits;
        row.outcomes[item.outcome as usize] += hits;
        row.uncertain += if item.has_grade(Answer::Uncertain) {
            hits
        } else {
            0
        };
        row.soft_404 += if item.has_grade(Answer::Soft404) {
            hits
        } else {
            0
        };
        (row.first_time, row.last_time) =
            union_span(row.first_time.zip(row.last_time), item.view.cell.times()).unzip();
    }
    if let RowKey::Client(_) = key {
        row.requests = report_input
            .tally
            .client_counts()
            .get(items[0].view.client as usize)
            .map_or(0, |count| count.requests);
    }
    row
}

/// The number of distinct clients or paths, at least one: evicted ones cannot be counted. Most rows
/// have one item.
fn count_at_least_one<'a, I: Borrow<RowItem<'a>>>(
    items: &[I],
    number: impl Fn(&RowItem<'a>) -> u32,
) -> u64 {
    if items.len() == 1 {
        return 1;
    }
    let numbers = items.iter().map(|item| number(item.borrow()));
    distinct(numbers.filter(|&number| number != SymbolTables::OTHER))
        .len()
        .max(1) as u64
}

/// The distinct rules of items, sorted.
fn distinct_rules<'a>(items: &[RowItem<'a>]) -> Cow<'a, [RuleId]> {
    match items {
        [item] if item.rules.is_sorted_by(|rule, next| rule < next) => Cow::Borrowed(item.rules),
        _ => Cow::Owned(distinct(
            items.iter().flat_map(|item| item.rules.iter().copied()),
        )),
    }
}

/// One row per virtual host, most hits first.
pub(crate) fn by_host<'a>(items: &[RowItem<'a>]) -> Vec<HostRow<'a>> {
    let mut hosts: HashMap<&'a [u8], Vec<&RowItem<'a>>> = HashMap::default();
    for item in items {
        if let Some(host) = item.view.site.host() {
            hosts.entry(host).or_default().push(item);
        }
    }
    let hits = |items: &mut dyn Iterator<Item = &&RowItem<'a>>| {
        items.map(|item| item.view.cell.hits).sum()
    };
    let row = |(host, items): (&'a [u8], Vec<&RowItem<'a>>)| HostRow {
        host: host.into(),
        hits: hits(&mut items.iter()),
        clients: count_at_least_one(&items, |item| item.view.client),
        paths: count_at_least_one(&items, |item| item.view.path),
        answered: hits(&mut items.iter().filter(|item| item.answered)),
    };
    let mut rows: Vec<_> = hosts.into_iter().map(row).collect();
    rows.sort_unstable_by_key(|row| (Reverse(row.hits), row.host));
    rows
}

/// The number of distinct values, without [`SymbolTables::OTHER`].
pub(crate) fn count_distinct(numbers: impl Iterator<Item = u32>) -> u64 {
    let mut seen = Vec::new();
    let mut count = 0;
    for number in numbers.filter(|&number| number != SymbolTables::OTHER) {
        let at = number as usize;
        if at >= seen.len() {
            seen.resize(at + 1, false);
        }
        count += u64::from(!std::mem::replace(&mut seen[at], true));
    }
    count
}

/// Distinct values, sorted.
pub(crate) fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// The most frequent status, the lowest of several; lines without a status do not count.
fn commonest_status(items: &[RowItem<'_>]) -> Option<u16> {
    if let [item] = items {
        return item.view.status;
    }
    let mut statuses: Vec<_> = items
        .iter()
        .filter_map(|i| Some((i.view.status?, i.view.cell.hits)))
        .collect();
    statuses.sort_unstable();
    let sums = statuses
        .chunk_by(|a, b| a.0 == b.0)
        .map(|same| (same.iter().map(|s| s.1).sum::<u64>(), Reverse(same[0].0)));
    sums.max().map(|(_, Reverse(status))| status)
}

/// The sample of the most severe cell, the earliest of several.
pub(crate) fn best_sample<'a, I: Borrow<RowItem<'a>>>(items: &[I]) -> tally::SampleView<'a> {
    let best = items[1..]
        .iter()
        .map(Borrow::borrow)
        .fold(items[0].borrow(), |best, item| {
            let order = item
                .severity
                .cmp(&best.severity)
                .reverse()
                .then_with(|| item.view.sample().order(&best.view.sample()));
            if order.is_lt() { item } else { best }
        });
    best.view.sample()
}

pub(crate) fn sample<'a>(
    report_input: &ReportInput<'a>,
    sample: tally::SampleView<'a>,
) -> SampleRequest<'a> {
    sample_request(
        &report_input.sources[sample.position.input as usize],
        sample,
    )
}

/// A sample as a report prints it, from a log line or from an imported sample.
pub(crate) fn sample_request<'a>(
    log: &'a SourceInfo,
    sample: tally::SampleView<'a>,
) -> SampleRequest<'a> {
    let (position, log_host, source) = (sample.position, log.log_host.as_deref(), &*log.path);
    let offset = position.chunk + position.offset;
    match sample.content {
        SampleContentView::Line { text: line, parsed } => {
            let (record, probe) = restore(line, parsed);
            SampleRequest {
                id: RequestId {
                    generation: log.generation,
                    offset,
                },
                log_host,
                source,
                line: log.line_number(position.chunk, position.line),
                target: probe.line.target.into(),
                status: record.status,
                host: record.host.map(LogText::new),
                user_agent: record.user_agent.map(LogText::new),
                user: record.user.map(LogText::new),
            }
        }
        SampleContentView::Imported(imported) => SampleRequest {
            id: RequestId {
                generation: imported.generation,
                offset,
            },
            log_host,
            source,
            line: imported.line,
            target: LogText::new(&imported.target),
            status: imported.status,
            host: imported.host.as_deref().map(LogText::new),
            user_agent: imported.user_agent.as_deref().map(LogText::new),
            user: imported.user.as_deref().map(LogText::new),
        },
    }
}

/// The entry of a stored hit, and the request as rules saw it. Of a line that was not parsed, only
/// the request is known.
#[expect(
    clippy::expect_used,
    reason = "hits are stored by the line loop, and sample texts are not changed"
)]
pub(crate) fn restore(stored: &[u8], parsed: bool) -> (LogEntry<'_>, ParsedRequest<'_>) {
    if !parsed {
        return (LogEntry::default(), ParsedRequest::from_raw(stored));
    }
    let entry = LogEntry::restore(stored).expect("a parsed hit is stored as an entry");
    (entry, ParsedRequest::new(&entry))
}

/// The reported cells of the overflow, by the kind of row they belong to.
#[derive(Debug, Default)]
pub(crate) struct OverflowItems<'a> {
    pub(crate) pairs: Vec<RowItem<'a>>,
    pub(crate) clients: Vec<RowItem<'a>>,
    pub(crate) paths: Vec<RowItem<'a>>,
    /// Hits by client that may match a rule.
    pub(crate) matched: HashMap<u32, u64>,
    pub(crate) missing: MissingHits,
}

/// The most hits that a row of each kind may lack, because their status depends on the unknown
/// site.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MissingHits {
    pub(crate) pairs: u64,
    pub(crate) clients: u64,
    pub(crate) paths: u64,
}

impl<'a> OverflowItems<'a> {
    pub(crate) fn new(analysis: &'a LogAnalysis<'a>) -> Self {
        let mut overflow = Self::default();
        let mut missing: HashMap<(u32, u32), u64> = HashMap::default();
        for (view, OverflowDecision { lower, upper }) in analysis.overflow_cells() {
            let is_of_client = view.path == SymbolTables::OTHER;
            if is_of_client && upper.matched {
                *overflow.matched.entry(view.client).or_default() += view.cell.hits;
            }
            if !lower.reported && upper.reported {
                *missing.entry((view.client, view.path)).or_default() += view.cell.hits;
            }
            let items = match view.client {
                SymbolTables::OTHER => &mut overflow.paths,
                _ if is_of_client => &mut overflow.clients,
                _ => &mut overflow.pairs,
            };
            items.extend(lower.reported.then(|| RowItem::new(analysis, view, lower)));
        }
        overflow.missing = MissingHits::new(&missing);
        overflow
    }
}

impl MissingHits {
    /// The most of each kind, by client and path; one of them may be [`SymbolTables::OTHER`].
    fn new(missing: &HashMap<(u32, u32), u64>) -> Self {
        let mut largest = Self::default();
        for (&owner, &hits) in missing {
            let largest = match owner {
                (SymbolTables::OTHER, _) => &mut largest.paths,
                (_, SymbolTables::OTHER) => &mut largest.clients,
                _ => &mut largest.pairs,
            };
            *largest = hits.max(*largest);
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::engine::{LineScanner, ScanOptions, WorkerState};
    use crate::log::source::SourceInfo;
    use crate::report::build::{RowSelection, build};
    use crate::report::fixture;
    use crate::report::model::ReportModel;
    use crate::rules::AllowList;
    use crate::scan::input_summary::InputSummary;
    use crate::tally::{Budget, LinePosition, Tally};

    const RULES: &str = r#"
[[app]]
id = "shop"
title = "Shop"
paths = ["/shop.css"]

[[rule]]
id = "t/login"
title = "Log-in page of the shop"
class = "panel"
severity = "low"
paths = ["/login"]
unless_app = "shop"

[[rule]]
id = "t/key"
title = "Key"
class = "backup"
severity = "low"
paths = ["/key"]
"#;

    /// A pair of as many cells as are kept.
    const BUDGET: Budget = Budget {
        cells: 160,
        clients: 24,
        text: usize::MAX,
    };

    /// Reports one client that requests `path` on 300 hosts, after other clients loaded the page of
    /// a shop on one of them.
    fn with_report(path: &str, is_shop: bool, use_it: impl FnOnce(&ReportModel<'_>)) {
        let line = |host: u32, client: u32, path: &str, status: u16, bytes: u32| {
            format!(
                "h{host}.example:80 192.0.2.{client} - - [02/Nov/2026:08:01:00 +0000] \"GET {path} HTTP/1.1\" {status} {bytes} \"-\" \"x\"\n"
            )
        };
        let shop = (2..6)
            .filter(|_| is_shop)
            .map(|client| line(7, client, "/shop.css", 200, 1000 * client));
        let log: String = shop
            .chain((0..300).map(|host| line(host, 1, path, 404, 9)))
            .collect();
        with_log(&log, use_it);
    }

    /// Reports on a log.
    fn with_log(log: &str, use_it: impl FnOnce(&ReportModel<'_>)) {
        let rules = crate::rules::check(Path::new("t.toml"), RULES).unwrap();
        let (options, mut worker_state, mut part) = (
            ScanOptions::default(),
            WorkerState::default(),
            Tally::default(),
        );
        part.add_findings(
            &LineScanner::new(&rules, &options).scan(log.as_bytes(), &mut worker_state),
            LinePosition {
                input: 0,
                chunk: 0,
                offset: 0,
                line: 0,
            },
        );
        let mut tally = Tally::with_budget(BUDGET);
        tally.merge(part.with_names(worker_state.names));
        let (sources, allow) = (
            [SourceInfo::new(b"a.log".to_vec(), 0, vec![(0, 0)])],
            AllowList::default(),
        );
        let inputs = [InputSummary::default()];
        let report_input = fixture::report_input(&rules, &tally, &sources, &inputs, &allow);
        let analysis = LogAnalysis::new(&report_input);
        let wanted = RowSelection {
            pairs: true,
            clients: true,
            paths: true,
            ..RowSelection::default()
        };
        use_it(&build(&analysis, wanted));
    }

    #[test]
    fn rows_have_all_hits_if_the_site_does_not_matter() {
        for (path, is_shop) in [("/key", true), ("/login", false)] {
            with_report(path, is_shop, |report| {
                let hits = [&report.pairs, &report.clients, &report.paths]
                    .map(|rows| rows.iter().map(|row| row.hits).collect::<Vec<_>>());
                assert_eq!(
                    (hits, report.approximate),
                    ([[300]; 3].map(Vec::from), None),
                    "{path}"
                );
            });
        }
    }

    /// Evicted clients and paths cannot be counted.
    #[test]
    fn a_number_of_clients_is_a_lower_bound_once_some_are_evicted() {
        let line = |client: u32| {
            let [_, _, a, b] = client.to_be_bytes();
            format!(
                "10.0.{a}.{b} - - [02/Nov/2026:08:01:00 +0000] \"GET /key HTTP/1.1\" 404 9 \"-\" \"x\"\n"
            )
        };
        for (clients, shown) in [(40_u32, "from 40 clients"), (300, "from more than ")] {
            let log: String = (0..clients).map(line).collect();
            with_log(&log, |report| {
                let has_more = report.totals.clients < u64::from(clients);
                assert_eq!(
                    (report.totals.has_more_clients, report.totals.has_more_paths),
                    (has_more, false)
                );
                let (headline, _) = crate::render::table::headline(report);
                assert!(headline.contains(shown), "{headline}");
            });
        }
    }

    #[test]
    fn hits_that_an_app_may_suppress_are_in_the_error_bound() {
        with_report("/login", true, |report| {
            let bound = report.approximate.unwrap();
            for (rows, missing) in [
                (&report.pairs, bound.pairs),
                (&report.clients, bound.clients),
                (&report.paths, bound.paths),
            ] {
                assert!(
                    rows[0].hits < 299 && rows[0].hits + missing >= 299,
                    "{} {missing}",
                    rows[0].hits
                );
            }
            assert_eq!(
                report.pairs[0].hits + bound.rest_hits,
                report.totals.sum.hits
            );
            assert_eq!(report.totals.sum.hits, 299, "one host is a shop");
        });
    }
}
