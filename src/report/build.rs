//! Builds a report out of merged tallies: decides the context, groups cells into rows, and puts rows in order.
//!
//! Reads no log and prints nothing.

use std::time::Duration;

use super::model::{CatchAll, Input, Report, Row, Totals};
use super::rows::{self, Item};
use crate::context::{CatchAlls, Evidence};
use crate::finding::{RuleId, Severity};
use crate::record::Outcome;
use crate::rules::RuleSet;
use crate::source::SourceText;
use crate::tally::{CellView, Scope, Tally};

/// What a report is made of.
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    /// The rules that were used.
    pub rules: &'a RuleSet,
    /// All hits.
    pub tally: &'a Tally,
    /// The inputs' texts, by number.
    pub texts: &'a [SourceText],
    /// Cells below this are left out.
    pub min_severity: Severity,
}

/// The rows that are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a list of what there is, each wanted or not")]
pub struct Wanted {
    /// What answered.
    pub answered: bool,
    /// Pair rows.
    pub pairs: bool,
    /// Client rows.
    pub clients: bool,
    /// Path rows.
    pub paths: bool,
    /// Rule rows.
    pub rules: bool,
    /// The first so many of each, all where `None`; what answered is always whole.
    pub most: Option<usize>,
}

/// Status and size of an answer, and who gave it.
pub type AnswerKey<'a> = (Scope<'a>, u16, Option<u64>);

/// What the whole log shows.
#[derive(Debug)]
pub struct Context<'a> {
    catch_alls: CatchAlls<AnswerKey<'a>>,
}

impl<'a> Context<'a> {
    /// Decides the context from all cells.
    #[must_use]
    pub fn of(material: &Material<'a>) -> Self {
        let Material { rules, tally, .. } = *material;
        let classes = |list: &[RuleId]| -> Vec<&'a str> {
            list.iter().map(|&r| rules.rule(r)).filter(|r| r.exposes()).map(|r| r.class.as_str()).collect()
        };
        let answers: Vec<_> =
            tally.cells().filter_map(|view| Some((answer_key(&view)?, view.path, classes(tally.rules(view.rules))))).collect();
        let evidence = answers.iter().map(|(answer, path, classes)| Evidence { answer: *answer, path: *path, classes });
        Self { catch_alls: CatchAlls::weigh(evidence) }
    }

    /// Whether an answer is one that everything gets.
    #[must_use]
    pub fn is_catch_all(&self, answer: &AnswerKey<'_>) -> bool {
        self.catch_alls.contains(answer)
    }
}

fn answer_key<'a>(view: &CellView<'a>) -> Option<AnswerKey<'a>> {
    let (site, bytes) = view.answer?;
    Some((site.scope(), view.status?, bytes))
}

/// How bad a hit is: its worst rule, those that expose one level up where the answer means something.
#[must_use]
pub fn severity(rules: &RuleSet, matched: &[RuleId], answered: bool) -> Severity {
    matched.iter().map(|&id| rules.rule(id).severity_when(answered)).max().unwrap_or(Severity::Info)
}

/// Builds the report. `inputs` come with line-local counts of hits; what the context takes below the level is taken
/// off them here.
#[must_use]
pub fn build<'a>(material: &Material<'a>, context: &Context<'_>, mut inputs: Vec<Input>, without_time: u64, wanted: Wanted) -> Report<'a> {
    let mut items = Vec::new();
    for view in material.tally.cells() {
        let item = item(material, context, view);
        if item.severity >= material.min_severity {
            items.push(item);
        } else if let Some((site, _)) = view.answer {
            inputs[site.input as usize].hits -= view.cell.hits;
        }
    }
    let most = wanted.most.unwrap_or(usize::MAX);
    let rows = |wanted: bool, group: fn(&Material<'a>, &[Item<'a>], usize) -> Vec<Row<'a>>, most| {
        if wanted { group(material, &items, most) } else { Vec::new() }
    };
    let ((pairs, clients), (paths, (rules, answered))) = rayon::join(
        || rayon::join(|| rows(wanted.pairs, rows::by_pair, most), || rows(wanted.clients, rows::by_client, most)),
        || {
            let last = || (rows(wanted.rules, rows::by_rule, most), rows(wanted.answered, rows::answered, usize::MAX));
            rayon::join(|| rows(wanted.paths, rows::by_path, most), last)
        },
    );
    Report {
        rule_set: material.rules,
        totals: totals(&items, &inputs, without_time),
        answered,
        catch_all: catch_alls(material, context, &items),
        inputs,
        pairs,
        clients,
        paths,
        rules,
        elapsed: Duration::ZERO,
    }
}

fn item<'a>(material: &Material<'a>, context: &Context<'_>, view: CellView<'a>) -> Item<'a> {
    let rules = material.tally.rules(view.rules);
    let answer = answer_key(&view);
    let catch_all = answer.is_some_and(|answer| context.is_catch_all(&answer));
    let answered = answer.is_some() && !catch_all;
    Item { view, rules, outcome: Outcome::of(view.status), severity: severity(material.rules, rules, answered), answered, catch_all }
}

fn totals(items: &[Item<'_>], inputs: &[Input], without_time: u64) -> Totals {
    let mut totals = Totals { sum: sum(inputs), without_time, ..Totals::default() };
    for item in items {
        let hits = item.view.cell.hits;
        totals.outcomes[item.outcome as usize] += hits;
        totals.answered += if item.answered { hits } else { 0 };
        totals.catch_all += if item.catch_all { hits } else { 0 };
        totals.severity = totals.severity.max(Some(item.severity));
    }
    totals.clients = rows::distinct(items.iter().map(|i| i.view.client)).len() as u64;
    totals.paths = rows::distinct(items.iter().map(|i| i.view.path)).len() as u64;
    let lists = rows::distinct(items.iter().map(|i| i.rules));
    totals.rules = rows::distinct(lists.into_iter().flatten()).len() as u64;
    totals
}

fn sum(inputs: &[Input]) -> Input {
    let mut sum = Input::default();
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
        let times = |i: &Input| i.first_time.zip(i.last_time);
        (sum.first_time, sum.last_time) = crate::tally::span(times(&sum), times(input)).unzip();
    }
    sum
}

fn catch_alls<'a>(material: &Material<'a>, context: &Context<'_>, items: &[Item<'a>]) -> Vec<CatchAll<'a>> {
    let mut found: Vec<CatchAll<'a>> = Vec::new();
    let mut keys: Vec<AnswerKey<'a>> = Vec::new();
    for item in items.iter().filter(|i| i.catch_all) {
        let Some(key) = answer_key(&item.view) else { continue };
        let hits = item.view.cell.hits;
        if let Some(at) = keys.iter().position(|k| *k == key) {
            found[at].hits += hits;
            continue;
        }
        let site = match key.0 {
            Scope::Host(host) => host,
            Scope::Input(input) => &material.texts[input as usize].path,
        };
        let paths = context.catch_alls.paths(&key) as u64;
        found.push(CatchAll { site, status: key.1, bytes: key.2, paths, hits });
        keys.push(key);
    }
    found.sort_by(|a, b| (b.hits, a.site, a.status, a.bytes).cmp(&(a.hits, b.site, b.status, b.bytes)));
    found
}
