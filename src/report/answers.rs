//! Rows of answers: one per leak, which is a path, or several paths of one tree.
//!
//! What one tool lays down in a folder, such as a repository, is one leak, and so are paths of one
//! folder that rules of one class match. Paths at the root are leaks of their own. Grades nothing
//! itself.

use std::cmp::Reverse;

use foldhash::{HashMap, HashSet};

use super::labels;
use super::model::{AnswerDetail, LeakMember, Row, RowKey};
use super::rows::{RowItem, distinct, row};
use crate::alerting::LeakPlace;
use crate::collections::intern::SymbolTables;
use crate::judge::report_input::ReportInput;
use crate::judge::rule_status::LogAnalysis;
use crate::judge::site::SiteName;
use crate::log::client::Client;
use crate::log::finding::{RuleId, Severity};
use crate::rules::RuleSet;
use crate::soft_404::{Answer, Grade, repository_folder};
use crate::tally::Site;
use crate::text::redact::LogText;

/// One path of a site, and its hits with the wanted grade.
struct GradedItems<'a> {
    site: Site<'a>,
    path: &'a [u8],
    /// The path as printed. Reports have no other, and a merged report has the rows of a report on
    /// all logs.
    shown: String,
    items: Vec<RowItem<'a>>,
    row: Row<'a>,
    place: Place,
}

/// The leak that a path is part of.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    leak: usize,
    /// The number of slashes of a folder that it is in with other paths of the leak.
    depth: Option<usize>,
}

/// The status that asks for a log-in.
const UNAUTHORIZED: u16 = 401;

/// The leaks with a distinct answer, and those with an uncertain one, from `items` with a grade; a
/// path is in the rows of its best grade. `all` shows where others were asked for a log-in.
pub(crate) fn by_answer<'a>(
    analysis: &LogAnalysis<'a>,
    items: &[&RowItem<'a>],
    all: &[RowItem<'a>],
) -> (Vec<Row<'a>>, Vec<Row<'a>>) {
    let is_locked = |i: &&RowItem<'a>| i.view.status == Some(UNAUTHORIZED);
    let locked: HashSet<_> = all
        .iter()
        .filter(is_locked)
        .map(|i| (analysis.site_root(i.view.site), i.view.path))
        .collect();
    let of_grade = |answer| {
        let mut paths = answered_paths(analysis, items, answer);
        find_leaks(&analysis.input, &mut paths);
        let mut rows = Vec::new();
        while let Some(last) = paths.pop() {
            let leak = last.place.leak;
            let mut of_leak = vec![last];
            of_leak.extend(std::iter::from_fn(|| {
                paths.pop_if(|before| before.place.leak == leak)
            }));
            of_leak.reverse();
            rows.push(leak_row(analysis, &locked, of_leak));
            // A path takes as much memory as its row.
            if paths.len() < paths.capacity() / 2 {
                paths.shrink_to_fit();
            }
        }
        // Logs of two hosts may have the same name.
        let tie = |row: &Row<'a>| (row.key, row.sample.log_host, row.sample.id.offset);
        rows.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| tie(a).cmp(&tie(b))));
        rows
    };
    (of_grade(Answer::Distinct), of_grade(Answer::Uncertain))
}

/// The order of rows, the most important first.
fn rank(row: &Row<'_>) -> Reverse<(Severity, u64, u64)> {
    Reverse((row.severity, row.answered, row.hits))
}

fn answered_paths<'a>(
    analysis: &LogAnalysis<'a>,
    items: &[&RowItem<'a>],
    answer: Answer,
) -> Vec<GradedItems<'a>> {
    let site_and_path = |i: &RowItem<'a>| (analysis.site_root(i.view.site), i.view.path);
    let is_better = |i: &&RowItem<'a>| i.grade.is_some_and(|grade| grade.answer > answer);
    let better: HashSet<_> = items
        .iter()
        .copied()
        .filter(is_better)
        .map(site_and_path)
        .collect();
    let is_in = |i: &RowItem<'a>| {
        i.has_grade(answer)
            && i.view.path != SymbolTables::OTHER
            && !better.contains(&site_and_path(i))
    };
    let mut members: Vec<_> = (0_u32..)
        .zip(items)
        .filter(|(_, i)| is_in(i))
        .map(|(at, i)| (site_and_path(i), at))
        .collect();
    members.sort_by_key(|((site, path), at)| (*site, *path, *at));
    let of_path = |group: &[((Site<'a>, u32), u32)]| {
        let items: Vec<RowItem<'a>> = group.iter().map(|(_, at)| *items[*at as usize]).collect();
        let (site, path) = (group[0].0.0, analysis.input.tally.path(group[0].0.1));
        let shown = LogText::new(path).redacted().into_owned();
        GradedItems {
            site,
            path,
            shown,
            row: row_of(analysis, &items, path),
            items,
            place: Place::default(),
        }
    };
    members.chunk_by(|a, b| a.0 == b.0).map(of_path).collect()
}

/// A row that names the rules that the path itself matched, and is as severe as they are: what
/// another rule finds in a query says nothing about the file.
fn row_of<'a>(analysis: &LogAnalysis<'a>, items: &[RowItem<'a>], path: &'a [u8]) -> Row<'a> {
    let site = analysis.site_root(items[0].view.site);
    let mut row = row(
        &analysis.input,
        items,
        RowKey::Answer(
            site.host().map(LogText::new),
            path.into(),
            analysis.input.site_name(site).into(),
        ),
    );
    row.rules
        .to_mut()
        .retain(|&rule| analysis.input.rules.rule(rule).exposes());
    let severities = row
        .rules
        .iter()
        .map(|&rule| analysis.severity_of(rule, items[0].view.site, row.answered > 0));
    row.severity = severities.max().unwrap_or(row.severity);
    row
}

/// What the paths of a leak have in common: the site, a folder, and a class of rules.
type LeakKey<'a, 'p> = (Site<'a>, &'p str, &'p str);

/// The one class of all paths in a tree of one tool.
const TREE: &str = "";

/// The folders of a path in which others are members of its leak: its own, and the one that it is
/// in.
const NEAR_FOLDERS: usize = 2;

/// Finds the leaks that paths belong to, and sorts the paths by them.
fn find_leaks<'a>(report_input: &ReportInput<'a>, paths: &mut [GradedItems<'a>]) {
    // A folder comes before what is below it.
    let order = |answered: &GradedItems<'a>| (answered.site, folders(&answered.shown).count());
    paths.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| tie(a).cmp(&tie(b))));
    let mut numbers: HashMap<LeakKey<'a, '_>, usize> = HashMap::default();
    let (mut places, mut count) = (Vec::with_capacity(paths.len()), 0);
    for answered in &*paths {
        let (classes, above) = place_of(report_input.rules, &answered.shown, &answered.row.rules);
        let keys = || {
            above
                .iter()
                .map(|&folder| keys(answered.site, folder, &classes))
        };
        let known = keys().flatten().find_map(|key| {
            Some(Place {
                leak: *numbers.get(&key)?,
                depth: Some(depth(key.1)),
            })
        });
        let place = known.unwrap_or(Place {
            leak: count,
            depth: None,
        });
        count = count.max(place.leak + 1);
        for key in keys().take(NEAR_FOLDERS).flatten() {
            numbers.entry(key).or_insert(place.leak);
        }
        places.push(place);
    }
    for (answered, place) in paths.iter_mut().zip(places) {
        answered.place = place;
    }
    paths.sort_by_key(|answered| answered.place.leak);
}

/// The classes of a path, and the folders in which another path of one of them is a member of the
/// same leak, the nearest first.
fn place_of<'p>(
    rules: &'p RuleSet,
    shown: &'p str,
    of_path: &[RuleId],
) -> (Vec<&'p str>, Vec<&'p str>) {
    match tree_folder(shown) {
        Some(folder) => (vec![TREE], vec![folder]),
        None => (labels::classes(rules, of_path), folders(shown).collect()),
    }
}

/// The most folders of a path, the nearest, by which a live log recognizes the leak.
const MAX_FOLDERS: usize = 16;

/// The place of a path among the leaks of its site, where paths are seen one at a time: two of them
/// are one leak if their rows would be.
pub(crate) fn leak_place(
    rules: &RuleSet,
    site: SiteName<'_>,
    path: &[u8],
    matched: &[RuleId],
) -> LeakPlace {
    let shown = LogText::new(path).redacted();
    let of_path: Vec<RuleId> = matched
        .iter()
        .copied()
        .filter(|&rule| rules.rule(rule).exposes())
        .collect();
    let (classes, above) = place_of(rules, &shown, &of_path);
    let hashes = |folders: usize| {
        let folders = above.iter().take(folders.min(MAX_FOLDERS));
        folders
            .flat_map(|folder| {
                classes
                    .iter()
                    .map(move |class| site.hash(format!("{folder}\0{class}").as_bytes()))
            })
            .collect()
    };
    LeakPlace {
        path: site.hash(shown.as_bytes()),
        near: hashes(NEAR_FOLDERS),
        above: hashes(MAX_FOLDERS),
    }
}

fn keys<'a, 'p>(site: Site<'a>, folder: &'p str, classes: &[&'p str]) -> Vec<LeakKey<'a, 'p>> {
    classes.iter().map(|&class| (site, folder, class)).collect()
}

/// What decides between paths that are equal otherwise.
fn tie<'r>(answered: &'r GradedItems<'_>) -> (&'r str, Option<&'r str>, u64) {
    (
        &answered.shown,
        answered.row.sample.log_host,
        answered.row.sample.id.offset,
    )
}

/// The folder in which one tool lays down what a path is a part of: a repository, or the packages
/// that a development server gives.
fn tree_folder(path: &str) -> Option<&str> {
    let repository = repository_folder(path.as_bytes()).map(|folder| &path[..folder.len()]);
    repository.or_else(|| folders(path).find(|folder| folder.ends_with("/node_modules")))
}

/// The path as a folder, and the folders it is in, the nearest first, without the root.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    let path = path.strip_suffix('/').unwrap_or(path);
    std::iter::successors(Some(path), |folder| {
        folder.rfind('/').map(|slash| &path[..slash])
    })
    .filter(|folder| !folder.is_empty())
}

/// The number of slashes.
fn depth(folder: &str) -> usize {
    folder.bytes().filter(|&b| b == b'/').count()
}

/// The row of the paths of a leak, in the order in which they were found: that of the only path, or
/// one of the folder that holds them with the details of the most important path.
fn leak_row<'a>(
    analysis: &LogAnalysis<'a>,
    locked: &HashSet<(Site<'a>, u32)>,
    mut paths: Vec<GradedItems<'a>>,
) -> Row<'a> {
    let within = |folder: &'a [u8], answered: &GradedItems<'a>| {
        let slash = answered
            .place
            .depth
            .and_then(|depth| memchr::memchr_iter(b'/', answered.path).nth(depth));
        slash
            .filter(|&end| end < folder.len())
            .map_or(folder, |end| &answered.path[..=end])
    };
    let folder = paths.iter().fold(paths[0].path, within);
    paths.sort_by(|a, b| {
        rank(&a.row)
            .cmp(&rank(&b.row))
            .then_with(|| tie(a).cmp(&tie(b)))
    });
    let mut details: Vec<AnswerDetail<'a>> = paths
        .iter()
        .map(|answered| detail(analysis, &answered.items))
        .collect();
    let member = |(answered, detail): (&GradedItems<'a>, &AnswerDetail<'a>)| LeakMember {
        path: answered.path.into(),
        severity: answered.row.severity,
        statuses: detail.statuses.clone(),
        bytes: detail.bytes,
        hits: answered.row.hits,
    };
    let members: Vec<LeakMember<'a>> = paths.iter().zip(&details).map(member).collect();
    let (mut first_detail, first) = (details.swap_remove(0), paths.swap_remove(0));
    let is_locked = |item: &RowItem<'a>| locked.contains(&(first.site, item.view.path));
    first_detail.needs_login = first.row.sample.user.is_some() && first.items.iter().any(is_locked);
    if members.len() == 1 {
        return Row {
            answer: Some(Box::new(first_detail)),
            ..first.row
        };
    }
    let items: Vec<RowItem<'a>> = paths
        .iter()
        .chain([&first])
        .flat_map(|answered| answered.items.iter().copied())
        .collect();
    let answer = AnswerDetail {
        client: only_client(&analysis.input, &items),
        members,
        ..first_detail
    };
    let row = row_of(analysis, &items, folder);
    Row {
        answer: Some(Box::new(answer)),
        sample: first.row.sample,
        ..row
    }
}

/// The answers of one path: one with content decides, then the most frequent one, then the
/// earliest.
fn detail<'a>(analysis: &LogAnalysis<'a>, items: &[RowItem<'a>]) -> AnswerDetail<'a> {
    let response = |i: &RowItem<'a>| (i.view.method, i.view.bytes);
    // Cells differ by client and input too, and a log that is split has more inputs.
    let mut hits: HashMap<_, u64> = HashMap::default();
    for item in items {
        *hits.entry(response(item)).or_default() += item.view.cell.hits;
    }
    let order = |a: &&RowItem<'a>, b: &&RowItem<'a>| {
        let first = |i: &RowItem<'a>| {
            (
                i.view.response().size().is_some(),
                hits.get(&response(i)).copied(),
            )
        };
        first(a)
            .cmp(&first(b))
            .then_with(|| b.view.sample().order(&a.view.sample()))
    };
    let best = items.iter().max_by(order).unwrap_or(&items[0]);
    AnswerDetail {
        statuses: distinct(items.iter().filter_map(|i| i.view.status)),
        bytes: best.view.bytes,
        method: best.view.method,
        grade: best.grade.unwrap_or(Grade::DISTINCT),
        client: only_client(&analysis.input, items),
        is_known_host: analysis.is_known_host(best.view.site),
        needs_login: false,
        members: Vec::new(),
    }
}

/// The client, if there is only one.
fn only_client<'a>(report_input: &ReportInput<'a>, items: &[RowItem<'a>]) -> Option<Client<'a>> {
    let clients = distinct(items.iter().map(|i| i.view.client));
    let client = <[u32; 1]>::try_from(clients)
        .ok()
        .filter(|one| one[0] != SymbolTables::OTHER);
    client.map(|[one]| report_input.tally.client(one))
}
