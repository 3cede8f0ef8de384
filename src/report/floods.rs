//! The floods of a report: clients that sent, or paths that received, more requests than a rule
//! with a `window` allows.
//!
//! [`alerting`](crate::alerting) decides which minutes make a flood. Here they become rows and
//! sentences.

use std::borrow::Cow;
use std::cmp::Reverse;

use foldhash::HashMap;

use super::model::FloodRow;
use super::rows::{self, RowItem, count_distinct};
use crate::alerting::Flood;
use crate::collections::intern::SymbolTables;
use crate::judge::flood_index::FloodOwner;
use crate::judge::report_input::ReportInput;
use crate::judge::rule_status::LogAnalysis;
use crate::log::finding::RuleId;
use crate::log::time::LogTime;
use crate::rules::{By, Rule, Window};
use crate::soft_404::MethodClass;
use crate::tally::{MinuteCounts, union_span};
use crate::text::number::{counted, counted_more, grouped};

/// The rows of floods with a reported hit: the most severe first, then those with most requests.
pub(crate) fn flood_rows<'a>(
    analysis: &LogAnalysis<'a>,
    items: &[RowItem<'a>],
) -> Vec<FloodRow<'a>> {
    let tally = analysis.input.tally;
    let mut members: Vec<((RuleId, FloodOwner<'a>), &RowItem<'a>)> = Vec::new();
    for item in items {
        let path = if item.view.path == SymbolTables::OTHER {
            b""
        } else {
            tally.path(item.view.path)
        };
        for &rule in item.rules {
            let owner = match analysis.input.rules.rule(rule) {
                Rule {
                    window: Some(Window { by: By::Path, .. }),
                    ..
                } => FloodOwner::Path(path),
                rule if rule.counts_requests() => FloodOwner::Client(item.view.client),
                _ => continue,
            };
            // A campaign is one row, however many its clients are.
            if !analysis.guesses().is_in_campaign(rule, item.view.client) {
                members.push(((rule, owner), item));
            }
        }
    }
    members.sort_by_key(|(key, _)| *key);
    let groups = members.chunk_by(|a, b| a.0 == b.0);
    let mut rows: Vec<FloodRow<'a>> = groups.filter_map(|group| row(analysis, group)).collect();
    rows.sort_by(|a, b| {
        let rank = |row: &FloodRow<'_>| Reverse((row.severity, row.requests));
        let tie = |row: &FloodRow<'a>| (row.rule, row.client, row.path, row.first_minute);
        rank(a).cmp(&rank(b)).then_with(|| tie(a).cmp(&tie(b)))
    });
    rows
}

fn row<'a>(
    analysis: &LogAnalysis<'a>,
    group: &[((RuleId, FloodOwner<'a>), &RowItem<'a>)],
) -> Option<FloodRow<'a>> {
    let (rule, owner) = group[0].0;
    let items: Vec<&RowItem<'a>> = group.iter().map(|(_, item)| *item).collect();
    let mut floods = analysis.floods().floods(rule, owner);
    let slow = guesses(&items);
    if floods.is_empty() {
        floods = slow.as_slice();
    }
    // The first of several.
    let largest = floods
        .iter()
        .copied()
        .reduce(|a, b| if b.requests > a.requests { b } else { a })?;
    let (method, path) = commonest(&analysis.input, &items);
    let proof = rows::best_sample(&items);
    let offset = proof.time.map_or(0, |time| time.offset);
    let begins = |minute: i64| LogTime {
        utc: minute.saturating_mul(MinuteCounts::SECONDS),
        offset,
    };
    let rule = analysis.input.rules.rule(rule);
    Some(FloodRow {
        rule: &rule.id,
        severity: rule.severity,
        client: if let FloodOwner::Client(client) = owner {
            Some(analysis.input.tally.client(client))
        } else {
            None
        },
        method,
        path: if let FloodOwner::Path(path) = owner {
            path
        } else {
            path
        }
        .into(),
        clients: count_distinct(items.iter().map(|item| item.view.client)).max(1),
        has_more_clients: items
            .iter()
            .any(|item| item.view.client == SymbolTables::OTHER),
        paths: count_distinct(items.iter().map(|item| item.view.path)).max(1),
        requests: largest.requests,
        minutes: largest.minutes(),
        first_minute: begins(largest.first_minute),
        last_minute: begins(largest.last_minute),
        floods: floods.len() as u64,
        sample: rows::sample(&analysis.input, proof),
    })
}

/// All requests of a client as one flood: it guesses, however slowly. `None` where no request has a
/// time.
fn guesses(items: &[&RowItem<'_>]) -> Option<Flood> {
    let (first, last) = items.iter().fold(None, |times, item| {
        union_span(times, item.view.cell.times())
    })?;
    let minute = |time: LogTime| time.utc.div_euclid(MinuteCounts::SECONDS);
    let requests = items.iter().map(|item| item.view.cell.hits).sum();
    Some(Flood {
        first_minute: minute(first),
        last_minute: minute(last),
        requests,
    })
}

/// The most frequent method and path, the first by text of several.
pub(super) fn commonest<'a>(
    report_input: &ReportInput<'a>,
    items: &[&RowItem<'a>],
) -> (MethodClass, &'a [u8]) {
    let mut sums: HashMap<(&'a [u8], u8), u64> = HashMap::default();
    for view in items
        .iter()
        .map(|item| &item.view)
        .filter(|view| view.path != SymbolTables::OTHER)
    {
        *sums
            .entry((report_input.tally.path(view.path), view.method as u8))
            .or_default() += view.cell.hits;
    }
    let largest = sums
        .into_iter()
        .max_by_key(|&(key, requests)| (requests, Reverse(key)));
    largest.map_or((MethodClass::Get, b""), |((path, method), _)| {
        (MethodClass::from_u8(method), path)
    })
}

/// The number of clients of a flood.
pub(crate) fn senders(flood: &FloodRow<'_>) -> String {
    counted_more(flood.clients, flood.has_more_clients, "client", "clients")
}

/// Minutes, or days if they are more than two.
fn span(minutes: u64) -> String {
    const DAY: u64 = 24 * 60;
    if minutes > 2 * DAY {
        counted(minutes.div_ceil(DAY), "day", "days")
    } else {
        counted(minutes, "minute", "minutes")
    }
}

/// A flood in one line: `flood/login: 203.0.113.7 sent 64 POST /wp-login.php within 5 minutes`.
pub(crate) fn describe(flood: &FloodRow<'_>) -> String {
    let target = if flood.path.is_empty() {
        Cow::Borrowed("requests")
    } else {
        Cow::Owned(format!("{} {}", flood.method.as_str(), flood.path))
    };
    let requests = grouped(flood.requests);
    let more_paths = match flood.paths {
        0 | 1 => String::new(),
        paths => format!(" and {}", counted(paths - 1, "other path", "other paths")),
    };
    let subject = match flood.client {
        Some(client) => format!("{client} sent {requests} {target}{more_paths}"),
        None => format!("{} sent {requests} {target}", senders(flood)),
    };
    let more_floods = match flood.floods {
        0 | 1 => String::new(),
        floods => format!(", the most of {} floods", grouped(floods)),
    };
    format!(
        "{}: {subject} within {}{more_floods}",
        flood.rule,
        span(flood.minutes)
    )
}
