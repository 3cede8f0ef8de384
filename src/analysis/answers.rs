//! Rows of answers: one per leak, which is a path, or several paths of one tree.
//!
//! What one tool lays down in a folder, such as a repository, is one leak, and so are paths of one folder that rules of one class
//! match. Paths at the root are leaks of their own. Grades nothing itself.

use std::cmp::Reverse;

use foldhash::{HashMap, HashSet};

use super::labels;
use super::model::{AnswerDetail, LeakMember, Row, RowKey};
use super::report_input::ReportInput;
use super::rows::{RowItem, RowItems, distinct, members, row};
use super::rule_status::LogAnalysis;
use crate::client::Client;
use crate::finding::Severity;
use crate::intern::SymbolTables;
use crate::soft_404::{Answer, Grade, repository_folder};
use crate::tally::Site;

/// One path of a site, and its hits with the wanted grade.
struct AnsweredPath<'a> {
    site: Site<'a>,
    path: &'a [u8],
    items: Vec<RowItem<'a>>,
    row: Row<'a>,
}

/// Paths that are one leak.
struct Leak<'a> {
    /// The folder that holds them, if there are several.
    folder: &'a [u8],
    paths: Vec<AnsweredPath<'a>>,
}

/// The leaks with an answer of this grade; paths that also have a better grade are left out.
pub(crate) fn by_answer<'a>(
    report_input: &ReportInput<'a>,
    analysis: &LogAnalysis<'a>,
    items: &[RowItem<'a>],
    answer: Answer,
) -> Vec<Row<'a>> {
    let leaks = leaks(report_input, answered_paths(report_input, analysis, items, answer));
    let mut rows: Vec<Row<'a>> = leaks.into_iter().map(|leak| leak.row(report_input, analysis)).collect();
    // Logs of two hosts may have the same name.
    let tie = |row: &Row<'a>| (row.key, row.sample.log_host, row.sample.offset);
    rows.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| tie(a).cmp(&tie(b))));
    rows
}

/// The order of rows, the most important first.
fn rank(row: &Row<'_>) -> Reverse<(Severity, u64, u64)> {
    Reverse((row.severity, row.answered, row.hits))
}

fn answered_paths<'a>(
    report_input: &ReportInput<'a>,
    analysis: &LogAnalysis<'a>,
    items: &[RowItem<'a>],
    answer: Answer,
) -> Vec<AnsweredPath<'a>> {
    let site_and_path = |i: &RowItem<'a>| (analysis.site_root(i.view.site), i.view.path);
    let is_better = |i: &&RowItem<'a>| i.grade.is_some_and(|grade| grade.answer > answer);
    let better: HashSet<_> = items.iter().filter(is_better).map(site_and_path).collect();
    let is_in = |i: &RowItem<'a>| i.has_grade(answer) && i.view.path != SymbolTables::OTHER && !better.contains(&site_and_path(i));
    let mut members = members(RowItems(items, &[]), |i| is_in(i).then(|| site_and_path(i)));
    members.sort_by_key(|((site, path), at)| (*site, *path, *at));
    let of_path = |group: &[((Site<'a>, u32), u32)]| {
        let items: Vec<RowItem<'a>> = group.iter().map(|(_, at)| items[*at as usize]).collect();
        let (site, path) = (group[0].0.0, report_input.tally.path(group[0].0.1));
        AnsweredPath { site, path, row: row_of(report_input, analysis, &items, path), items }
    };
    members.chunk_by(|a, b| a.0 == b.0).map(of_path).collect()
}

/// A row that names the rules that the path itself matched, and is as severe as they are: what another rule finds in a query says
/// nothing about the file.
fn row_of<'a>(report_input: &ReportInput<'a>, analysis: &LogAnalysis<'a>, items: &[RowItem<'a>], path: &'a [u8]) -> Row<'a> {
    let site = analysis.site_root(items[0].view.site);
    let host = if let Site::Host(host) = site { Some(host) } else { None };
    let mut row = row(report_input, items, RowKey::Answer(host, path, report_input.site_name(site)));
    row.rules.to_mut().retain(|&rule| report_input.rules.rule(rule).exposes());
    let severities = row.rules.iter().map(|&rule| analysis.severity_of(rule, items[0].view.site, row.answered > 0));
    row.severity = severities.max().unwrap_or(row.severity);
    row
}

/// What the paths of a leak have in common: the site, a folder, and a class of rules.
type LeakKey<'a, 'r> = (Site<'a>, &'a [u8], &'r str);

/// The one class of all paths in a tree of one tool.
const TREE: &str = "";

/// The leaks that paths belong to, in no order.
fn leaks<'a>(report_input: &ReportInput<'a>, mut paths: Vec<AnsweredPath<'a>>) -> Vec<Leak<'a>> {
    // A folder comes before what is below it.
    paths.sort_by_key(|answered| (answered.site, folders(answered.path).count(), answered.path));
    let mut leaks: Vec<Leak<'a>> = Vec::new();
    let mut numbers: HashMap<LeakKey<'a, '_>, usize> = HashMap::default();
    for answered in paths {
        let (site, path) = (answered.site, answered.path);
        let tree = tree_folder(path);
        let classes = match tree {
            Some(_) => vec![TREE],
            None => labels::classes(report_input.rules, &answered.row.rules),
        };
        let above: Vec<&'a [u8]> = tree.map_or_else(|| folders(path).collect(), |folder| vec![folder]);
        let keys = |folder: &&'a [u8]| classes.iter().map(|&class| (site, *folder, class)).collect::<Vec<LeakKey<'a, '_>>>();
        let known = above.iter().flat_map(keys).find_map(|key| Some((key.1, *numbers.get(&key)?)));
        let (folder, number) = known.unwrap_or((path, leaks.len()));
        // Its own folder, and the one that it is in.
        for key in above.iter().take(2).flat_map(keys) {
            numbers.entry(key).or_insert(number);
        }
        if number == leaks.len() {
            leaks.push(Leak { folder, paths: Vec::new() });
        }
        leaks[number].add(folder, answered);
    }
    leaks
}

/// The folder in which one tool lays down what a path is a part of: a repository, or the packages that a development server gives.
fn tree_folder(path: &[u8]) -> Option<&[u8]> {
    let packages = || folders(path).find(|folder| folder.ends_with(b"/node_modules"));
    repository_folder(path).or_else(packages)
}

/// The path as a folder, and the folders it is in, the nearest first, without the root.
fn folders(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let parent = |folder: &&[u8]| folder.iter().rposition(|&b| b == b'/').map(|slash| &path[..slash]);
    std::iter::successors(Some(path), parent).filter(|folder| !folder.is_empty())
}

impl<'a> Leak<'a> {
    fn add(&mut self, folder: &'a [u8], answered: AnsweredPath<'a>) {
        if folder.len() < self.folder.len() {
            // With the slash after it.
            self.folder = answered.path.get(..=folder.len()).unwrap_or(folder);
        }
        self.paths.push(answered);
    }

    /// The row: that of the only path, or one of the folder with the details of the most important path.
    fn row(mut self, report_input: &ReportInput<'a>, analysis: &LogAnalysis<'a>) -> Row<'a> {
        self.paths.sort_by(|a, b| rank(&a.row).cmp(&rank(&b.row)).then_with(|| a.path.cmp(b.path)));
        let details = self.paths.iter().map(|answered| detail(report_input, analysis, &answered.items));
        let mut details: Vec<AnswerDetail<'a>> = details.collect();
        let member = |(answered, detail): (&AnsweredPath<'a>, &AnswerDetail<'a>)| LeakMember {
            path: answered.path,
            severity: answered.row.severity,
            statuses: detail.statuses.clone(),
            bytes: detail.bytes,
            hits: answered.row.hits,
        };
        let members: Vec<LeakMember<'a>> = self.paths.iter().zip(&details).map(member).collect();
        let (first_detail, first) = (details.swap_remove(0), self.paths.swap_remove(0));
        if members.len() == 1 {
            return Row { answer: Some(Box::new(first_detail)), ..first.row };
        }
        let items: Vec<RowItem<'a>> = self.paths.iter().chain([&first]).flat_map(|answered| answered.items.iter().copied()).collect();
        let answer = AnswerDetail { client: only_client(report_input, &items), members, ..first_detail };
        let row = row_of(report_input, analysis, &items, self.folder);
        Row { answer: Some(Box::new(answer)), sample: first.row.sample, ..row }
    }
}

/// The answers of one path: one with content decides, then the most frequent one, then the earliest.
fn detail<'a>(report_input: &ReportInput<'a>, analysis: &LogAnalysis<'a>, items: &[RowItem<'a>]) -> AnswerDetail<'a> {
    let response = |i: &RowItem<'a>| (i.view.method, i.view.bytes);
    // Cells differ by client and input too, and a log that is split has more inputs.
    let mut hits: HashMap<_, u64> = HashMap::default();
    for item in items {
        *hits.entry(response(item)).or_default() += item.view.cell.hits;
    }
    let order = |a: &&RowItem<'a>, b: &&RowItem<'a>| {
        let first = |i: &RowItem<'a>| (i.view.response().size().is_some(), hits.get(&response(i)).copied());
        first(a).cmp(&first(b)).then_with(|| b.view.sample().order(&a.view.sample()))
    };
    let best = items.iter().max_by(order).unwrap_or(&items[0]);
    AnswerDetail {
        statuses: distinct(items.iter().filter_map(|i| i.view.status)),
        bytes: best.view.bytes,
        method: best.view.method,
        grade: best.grade.unwrap_or(Grade::DISTINCT),
        client: only_client(report_input, items),
        is_known_host: analysis.is_known_host(best.view.site),
        members: Vec::new(),
    }
}

/// The client, if there is only one.
fn only_client<'a>(report_input: &ReportInput<'a>, items: &[RowItem<'a>]) -> Option<Client<'a>> {
    let clients = distinct(items.iter().map(|i| i.view.client));
    let client = <[u32; 1]>::try_from(clients).ok().filter(|one| one[0] != SymbolTables::OTHER);
    client.map(|[one]| report_input.tally.client(one))
}
