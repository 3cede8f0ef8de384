//! Groups cells into rows and puts rows in order.
//!
//! Cells are sorted by what a row is about and walked once; a row is a sum. The order of the cells does not matter.

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::HashSet;

use super::build::Material;
use super::context::Context;
use super::model::{Key, Row, Sample};
use crate::engine::Probe;
use crate::finding::{RuleId, Severity};
use crate::format::Frame;
use crate::names::Names;
use crate::record::{Outcome, Record};
use crate::source::SourceText;
use crate::tally::{self, CellView, Proof, Scope, span};
use crate::time::LogTime;

/// A cell and what was decided about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) view: CellView<'a>,
    pub(super) rules: &'a [RuleId],
    pub(super) outcome: Outcome,
    pub(super) severity: Severity,
    /// The answer means something.
    pub(super) answered: bool,
    pub(super) catch_all: bool,
}

pub(super) fn by_pair<'a>(material: &Material<'a>, items: &[Item<'a>], most: usize) -> Vec<Row<'a>> {
    grouped(
        material,
        items.iter().filter(|i| !i.view.is_rest()).collect(),
        most,
        |i| (i.view.client, i.view.path, i.outcome),
        |i| Key::Pair(material.tally.client(i.view.client), material.tally.path(i.view.path), i.outcome),
    )
}

/// The pairs that got an answer that means something, whole.
pub(super) fn answered<'a>(material: &Material<'a>, items: &[Item<'a>], most: usize) -> Vec<Row<'a>> {
    let pair = |i: &Item<'_>| (i.view.client, i.view.path);
    let pairs: HashSet<_> = items.iter().filter(|i| i.answered && !i.view.is_rest()).map(pair).collect();
    let of_them: Vec<_> = items.iter().filter(|i| i.outcome == Outcome::Answered && pairs.contains(&pair(i))).copied().collect();
    by_pair(material, &of_them, most)
}

/// The sites' paths that gave such an answer: what got another one is left out.
pub(super) fn by_answer<'a>(material: &Material<'a>, items: &[Item<'a>], most: usize) -> Vec<Row<'a>> {
    let host = |i: &Item<'a>| match i.view.site {
        Scope::Host(host) => Some(host),
        Scope::Input(_) => None,
    };
    let answered = items.iter().filter(|i| i.answered && i.view.path != Names::REST).collect();
    grouped(material, answered, most, |i| (host(i), i.view.path), |i| Key::Answer(host(i), material.tally.path(i.view.path)))
}

pub(super) fn by_client<'a>(material: &Material<'a>, items: &[Item<'a>], most: usize) -> Vec<Row<'a>> {
    let items = items.iter().filter(|i| i.view.client != Names::REST).collect();
    grouped(material, items, most, |i: &Item<'_>| i.view.client, |i| Key::Client(material.tally.client(i.view.client)))
}

/// `folded` is what was let go of the pairs of each path.
pub(super) fn by_path<'a>(material: &Material<'a>, items: &[Item<'a>], folded: &[Item<'a>], most: usize) -> Vec<Row<'a>> {
    let items = items.iter().chain(folded).filter(|i| i.view.path != Names::REST).collect();
    grouped(material, items, most, |i: &Item<'_>| i.view.path, |i| Key::Path(material.tally.path(i.view.path)))
}

/// A cell goes into the row of each of its rules, and counts there for what that rule makes of it.
pub(super) fn by_rule<'a>(material: &Material<'a>, context: &Context<'a>, items: &[Item<'a>], most: usize) -> Vec<Row<'a>> {
    let of_rule = |item: &Item<'a>, rules: &'a [RuleId]| {
        let answered = item.answered && material.rules.rule(rules[0]).exposes();
        Item { rules, answered, severity: context.severity_of(rules[0], item.view.site, answered), ..*item }
    };
    let each: Vec<_> = items.iter().flat_map(|item| item.rules.chunks(1).map(move |rule| of_rule(item, rule))).collect();
    grouped(material, each, most, |i| i.rules[0], |i| Key::Rule(i.rules[0]))
}

/// The rows of the groups that come first; the others are not made.
fn grouped<'a, I: Borrow<Item<'a>>, G: Ord>(
    material: &Material<'a>,
    mut items: Vec<I>,
    most: usize,
    group: impl Fn(&Item<'a>) -> G,
    key: impl Fn(&Item<'a>) -> Key<'a>,
) -> Vec<Row<'a>> {
    items.sort_unstable_by_key(|i| group(i.borrow()));
    let mut groups: Vec<_> = items
        .chunk_by(|a, b| group(a.borrow()) == group(b.borrow()))
        .map(|items| ((Reverse(rank(items)), key(items[0].borrow())), items))
        .collect();
    groups.sort_unstable_by_key(|(order, _)| *order);
    groups.into_iter().take(most).map(|((_, key), items)| row(material, items, key)).collect()
}

/// What comes first: the worst, then what was answered most, then what was asked for most.
fn rank<'a, I: Borrow<Item<'a>>>(items: &[I]) -> (Severity, u64, u64) {
    items.iter().map(Borrow::borrow).fold((Severity::Info, 0, 0), |(worst, answered, hits), item| {
        let n = item.view.cell.hits;
        (worst.max(item.severity), answered + if item.answered { n } else { 0 }, hits + n)
    })
}

/// One row out of the cells that belong to it, of which there is at least one.
fn row<'a, I: Borrow<Item<'a>>>(material: &Material<'a>, items: &[I], key: Key<'a>) -> Row<'a> {
    let (severity, answered, hits) = rank(items);
    let items: Vec<&Item<'a>> = items.iter().map(Borrow::borrow).collect();
    let mut row = Row {
        key,
        severity,
        rules: distinct(items.iter().flat_map(|i| i.rules.iter().copied())),
        hits,
        outcomes: [0; 8],
        answered,
        catch_all: 0,
        clients: how_many(items.iter().map(|i| i.view.client)),
        paths: how_many(items.iter().map(|i| i.view.path)),
        requests: 0,
        other_requests: 0,
        status: commonest_status(&items),
        first_time: None,
        last_time: None,
        sample: sample(material, proof(&items)),
    };
    for item in &items {
        let hits = item.view.cell.hits;
        row.outcomes[item.outcome as usize] += hits;
        row.catch_all += if item.catch_all { hits } else { 0 };
        (row.first_time, row.last_time) = span(row.first_time.zip(row.last_time), item.view.cell.times()).unzip();
    }
    if let Key::Client(_) = key {
        row.requests = material.tally.client_counts().get(items[0].view.client as usize).map_or(0, |count| count.requests);
    }
    row
}

/// How many clients or paths these are. Of those that were let go no more is known than that there were some.
fn how_many(numbers: impl Iterator<Item = u32>) -> u64 {
    distinct(numbers.filter(|&number| number != Names::REST)).len().max(1) as u64
}

/// Distinct values, sorted.
pub(super) fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// The commonest status, the lowest of equals; a line without one counts as none.
fn commonest_status(items: &[&Item<'_>]) -> Option<u16> {
    let mut statuses: Vec<_> = items.iter().filter_map(|i| Some((i.view.status?, i.view.cell.hits))).collect();
    statuses.sort_unstable();
    let sums = statuses.chunk_by(|a, b| a.0 == b.0).map(|same| (same.iter().map(|s| s.1).sum::<u64>(), Reverse(same[0].0)));
    sums.max().map(|(_, Reverse(status))| status)
}

/// Of the most severe cells the one with the earliest line.
pub(super) fn proof<'a>(items: &[&Item<'a>]) -> &'a tally::Sample {
    let best = items[1..].iter().fold(items[0], |best, item| {
        let order = item.severity.cmp(&best.severity).reverse().then_with(|| item.view.sample().order(&best.view.sample()));
        if order.is_lt() { item } else { best }
    });
    &best.view.sample()
}

pub(super) fn sample<'a>(material: &Material<'a>, sample: &'a tally::Sample) -> Sample<'a> {
    told(&material.texts[sample.place.input as usize], sample)
}

/// A sample as a report tells it, be it a line or told before.
pub(super) fn told<'a>(text: &'a SourceText, sample: &'a tally::Sample) -> Sample<'a> {
    let (place, machine, source) = (sample.place, text.machine.as_deref(), &*text.path);
    let offset = place.chunk + place.offset;
    match &sample.proof {
        Proof::Line { text: line, parsed } => {
            let (record, probe) = reread(line, *parsed);
            Sample {
                generation: text.generation,
                offset,
                machine,
                source,
                line: text.line_number(place.chunk, place.line),
                target: probe.line.target,
                status: record.status,
                host: record.host,
                user_agent: record.user_agent,
            }
        }
        Proof::Told(told) => Sample {
            generation: told.generation,
            offset,
            machine,
            source,
            line: told.line,
            target: &told.target,
            status: told.status,
            host: told.host.as_deref(),
            user_agent: told.user_agent.as_deref(),
        },
    }
}

/// The record of a line that was kept, and what the rules were asked about it.
pub(super) fn reread(text: &[u8], parsed: bool) -> (Record<'_>, Probe<'_>) {
    let record = if parsed { Frame::locate(text, None).map(|frame| frame.record(LogTime::parse_clf(frame.time))) } else { None };
    let probe = record.as_ref().map_or_else(|| Probe::of_raw(text), Probe::of_record);
    (record.unwrap_or_default(), probe)
}
