//! What page and mail say in the same words.
//!
//! Text of a log leaves here masked and escaped.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::Page;
use crate::client::{Client, Network};
use crate::finding::RuleId;
use crate::news::Kind;
use crate::report::blocks::{self, Block};
use crate::report::facts;
use crate::report::mask::shown;
use crate::report::model::{Input, Key, Report, Row};
use crate::report::news::News;
use crate::report::table::number::counted;

/// A site's path with a distinct answer.
#[derive(Debug)]
pub(super) struct Answered<'r> {
    pub(super) row: &'r Row<'r>,
    /// The path, with its host before it where there are several.
    pub(super) place: String,
    /// It never answered before.
    pub(super) is_new: bool,
}

impl Answered<'_> {
    /// The status and the size: `200, 412 bytes`.
    pub(super) fn response(&self) -> String {
        let Some(answer) = &self.row.answer else { return String::new() };
        let statuses = answer.joined_statuses(" ");
        match answer.bytes {
            Some(bytes) => format!("{statuses}, {}", counted(bytes, "byte", "bytes")),
            None => statuses,
        }
    }
}

/// The answers: what is new first, then the worst.
pub(super) fn answers<'r>(page: &Page<'r>) -> Vec<Answered<'r>> {
    let rows = &page.report.answered;
    let host = |row: &'r Row<'r>| if let Key::Answer(host, ..) = row.key { host } else { None };
    let several = rows.windows(2).any(|pair| host(&pair[0]) != host(&pair[1]));
    let answer = |row: &'r Row<'r>| {
        let path = path(row);
        let is_new = !page.is_first && new(page, Kind::Answer).any(|news| is_at(&news.key, &path));
        let host = host(row).filter(|_| several).map(shown).unwrap_or_default();
        Answered { place: format!("{host}{path}"), row, is_new }
    };
    let mut answers: Vec<_> = rows.iter().map(answer).collect();
    answers.sort_by_key(|answer| Reverse((answer.is_new, answer.row.severity, answer.row.hits)));
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

/// Who asked: a client, or all clients of an IPv6 network, who are one party.
#[derive(Debug)]
pub(super) struct Asker<'r> {
    /// The row of the worst of them.
    pub(super) row: &'r Row<'r>,
    /// What was made of it, where somebody asked whom one could block.
    pub(super) block: Option<&'r Block>,
    pub(super) clients: u64,
    pub(super) hits: u64,
    /// Distinct paths, at least.
    pub(super) paths: u64,
    pub(super) answered: u64,
}

impl Asker<'_> {
    /// The address, or the network.
    pub(super) fn who(&self) -> String {
        match (self.row.key.client(), self.clients) {
            (Some(client), 1) => facts::client(client).into_owned(),
            (Some(client), _) => blocks::network(client).map(|network| network.to_string()).unwrap_or_default(),
            (None, _) => String::new(),
        }
    }
}

/// Who asked most.
pub(super) fn asked_most<'r>(report: &'r Report<'r>, most: usize) -> Vec<Asker<'r>> {
    let judged = report.blocks.as_deref().unwrap_or_default().iter().map(Some).chain(std::iter::repeat(None));
    let mut request_clients: Vec<Asker<'r>> = Vec::new();
    let mut networks: HashMap<Network<'r>, usize> = HashMap::new();
    for (row, block) in report.clients.iter().zip(judged) {
        let network = row.key.client().filter(|client| matches!(client, Client::V6(_))).map(Network::of);
        let at = network.map_or(request_clients.len(), |network| *networks.entry(network).or_insert(request_clients.len()));
        if at == request_clients.len() {
            request_clients.push(Asker { row, block, clients: 0, hits: 0, paths: 0, answered: 0 });
        }
        let asker = &mut request_clients[at];
        asker.clients += 1;
        asker.hits += row.hits;
        asker.paths = asker.paths.max(block.map_or(row.paths, |block| block.party.paths));
        asker.answered += row.answered;
    }
    request_clients.sort_by_key(|asker| Reverse(asker.hits));
    request_clients.truncate(most);
    request_clients
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

/// Everything a reader must know besides: what could not be read first, a log called as `name` says.
pub(super) fn notes(page: &Page<'_>, name: impl Fn(&Input) -> String) -> Vec<String> {
    let problem = |input: &Input| Some(format!("{}: {}", name(input), input.problem.as_ref()?));
    page.report.inputs.iter().filter_map(problem).chain(page.notes.iter().cloned()).collect()
}
