//! What page and mail say in the same words.
//!
//! Text of a log leaves here masked and escaped.

use std::cmp::Reverse;

use super::Page;
use crate::finding::RuleId;
use crate::news::Kind;
use crate::report::blocks::Block;
use crate::report::mask::shown;
use crate::report::model::{Input, Report, Row};
use crate::report::news::News;
use crate::report::sanitize::text;
use crate::report::table::answered::{self, Answer};

/// A path that answered.
#[derive(Debug)]
pub(super) struct Answered<'r> {
    pub(super) answer: Answer<'r>,
    /// The path, with its host in front where there are several.
    pub(super) place: String,
    /// It never answered before.
    pub(super) is_new: bool,
}

/// The answers by path: what is new first, then the worst.
pub(super) fn answers<'r>(page: &Page<'r>) -> Vec<Answered<'r>> {
    let rows = &page.report.answered;
    let host = |row: &'r Row<'r>| row.sample.host;
    let several = rows.windows(2).any(|pair| host(&pair[0]) != host(&pair[1]));
    let mut answers: Vec<_> = answered::by_path(rows)
        .into_iter()
        .map(|answer| {
            let path = path(answer.row);
            let is_new = !page.is_first && new(page, Kind::Answer).any(|news| is_at(&news.key, &path));
            let host = host(answer.row).filter(|_| several).map(shown).unwrap_or_default();
            Answered { place: format!("{host}{path}"), answer, is_new }
        })
        .collect();
    answers.sort_by_key(|told| Reverse((told.is_new, told.answer.severity, told.answer.answered)));
    answers
}

/// News of one kind.
pub(super) fn new<'p, 'a>(page: &'p Page<'a>, kind: Kind) -> impl Iterator<Item = &'a News<'a>> + use<'p, 'a> {
    page.news.iter().filter(move |news| news.kind == kind)
}

/// Whether a key is this path, be it with a host in front.
fn is_at(key: &str, path: &str) -> bool {
    key.strip_suffix(path).is_some_and(|host| !host.contains('/'))
}

/// The clients that asked most, and what was made of each where somebody asked whom one could block.
pub(super) fn asked_most<'r>(report: &'r Report<'r>, most: usize) -> Vec<(&'r Row<'r>, Option<&'r Block>)> {
    let judged = report.blocks.as_deref().unwrap_or_default().iter().map(Some).chain(std::iter::repeat(None));
    let mut rows: Vec<_> = report.clients.iter().zip(judged).collect();
    rows.sort_by_key(|(row, _)| Reverse(row.hits));
    rows.truncate(most);
    rows
}

/// The path of a row or, where a request had none, what it said instead.
pub(super) fn path(row: &Row<'_>) -> String {
    row.shown_path().filter(|path| !path.is_empty()).unwrap_or_else(|| shown(row.sample.target)).into_owned()
}

/// What the worst of a row's rules looks for, in words.
pub(super) fn title<'r>(report: &Report<'r>, rules: &[RuleId]) -> &'r str {
    // Of equals the first: rules come sorted.
    rules.iter().rev().map(|&rule| report.rule_set.rule(rule)).max_by_key(|rule| rule.severity).map_or("", |rule| &rule.title)
}

/// What a rule of this name looks for, in words; the name, where it is not known.
pub(super) fn title_of<'r>(report: &Report<'r>, id: &'r str) -> &'r str {
    report.rule_set.rules().iter().find(|rule| rule.id == id).map_or(id, |rule| &rule.title)
}

/// Everything a reader must know besides: what could not be read first.
pub(super) fn notes(page: &Page<'_>) -> Vec<String> {
    let problem = |input: &Input| Some(format!("{}: {}", text(&input.path), input.problem.as_ref()?));
    page.report.inputs.iter().filter_map(problem).chain(page.notes.iter().cloned()).collect()
}
