//! One of two reports, as far as they are compared: what was met, how bad it was, and how often.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Fate, Kind};
use crate::client::{Client, ClientKey};
use crate::finding::Severity;
use crate::log_entry::Outcome;
use crate::report::build::{Context, Decision, Material};
use crate::report::facts;
use crate::report::mask::shown;
use crate::report::model::{Approximate, Report};
use crate::soft_404::Answer;
use crate::tally::{CellView, Scope};

/// Something that can be in both.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    Answer(Box<[u8]>, Box<[u8]>),
    Rule(String),
    Path(Box<[u8]>),
    Client(Address),
}

/// A client in the order of reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address(ClientKey);

impl PartialOrd for Address {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Address {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.client().cmp(&other.0.client())
    }
}

/// What the hits of one path came to: those that matter most decide.
#[derive(Debug, Default)]
struct Met {
    best: Option<(bool, Fate)>,
    /// Hits by status of those that decide.
    statuses: BTreeMap<u16, u64>,
}

/// One of two reports.
#[derive(Debug, Default)]
pub struct Side {
    things: BTreeMap<Thing, (Severity, u64)>,
    /// By answer: what requests for the path came to that got no distinct answer.
    fates: BTreeMap<Thing, Met>,
    pub(super) approximate: Option<Approximate>,
}

impl Side {
    /// What a report says; it was built from this, with all its rules, paths and clients.
    #[must_use]
    pub fn of(material: &Material<'_>, context: &Context<'_>, report: &Report<'_>) -> Self {
        let mut side = Self { approximate: report.approximate, ..Self::default() };
        for row in report.rules.iter().chain(&report.paths).chain(&report.clients) {
            let rule = row.key.rule().map(|rule| Thing::Rule(report.rule_set.rule(rule).id.clone()));
            let client = || row.key.client().map(|client: Client<'_>| Thing::Client(Address(ClientKey::from(&client))));
            if let Some(thing) = rule.or_else(client).or_else(|| row.key.path().map(|path| Thing::Path(path.into()))) {
                side.add(thing, row.severity, row.hits);
            }
        }
        // What was let go of a pair is still known of its path.
        let cells = material.tally.cells().zip(context.decisions()).filter(|(view, _)| !view.is_rest());
        for (view, decision) in cells.chain(material.tally.path_cells().zip(context.path_decisions())) {
            let host = if let Scope::Host(host) = view.site { host } else { &[] };
            let answer = Thing::Answer(host.into(), material.tally.path(view.path).into());
            match fate(&view, decision) {
                None => side.add(answer, decision.severity, view.cell.hits),
                Some(fate) => {
                    let exposes = material.tally.rules(view.rules).iter().any(|&rule| report.rule_set.rule(rule).exposes());
                    side.meet(answer, (exposes, fate), view.status, view.cell.hits);
                }
            }
        }
        side
    }

    pub(super) fn add(&mut self, thing: Thing, severity: Severity, hits: u64) {
        let (worst, sum) = self.things.entry(thing).or_insert((severity, 0));
        *worst = severity.max(*worst);
        *sum += hits;
    }

    /// Takes in hits that got no distinct answer. Those of rules that look for something to be exposed come before others.
    pub(super) fn meet(&mut self, answer: Thing, (exposes, fate): (bool, Fate), status: Option<u16>, hits: u64) {
        let met = self.fates.entry(answer).or_default();
        // The first fates matter most.
        let rank = |(exposes, fate): (bool, Fate)| (!exposes, fate);
        match met.best {
            Some(best) if rank(best) < rank((exposes, fate)) => return,
            Some(best) if best == (exposes, fate) => {}
            _ => *met = Met { best: Some((exposes, fate)), statuses: BTreeMap::new() },
        }
        if let Some(status) = status {
            *met.statuses.entry(status).or_default() += hits;
        }
    }

    /// What became of an answer that is none here, and the commonest status, the lowest of equals.
    pub(super) fn fate(&self, answer: &Thing) -> (Fate, Option<u16>) {
        let Some((met, (_, fate))) = self.fates.get(answer).and_then(|met| Some((met, met.best?))) else {
            return (Fate::NotRequested, None);
        };
        let status = met.statuses.iter().max_by_key(|(status, hits)| (**hits, Reverse(**status))).map(|(status, _)| *status);
        (fate, status)
    }

    /// By how much it may be too low, where it is not exact.
    #[must_use]
    pub fn approximate(&self) -> Option<&Approximate> {
        self.approximate.as_ref()
    }

    pub(super) fn things(&self) -> &BTreeMap<Thing, (Severity, u64)> {
        &self.things
    }
}

/// What a cell says of its path; `None` where it is a distinct answer that is reported.
fn fate(view: &CellView<'_>, decision: &Decision) -> Option<Fate> {
    match (Outcome::of(view.status), decision.grade.map(|grade| grade.answer)) {
        (Outcome::Answered, Some(Answer::Distinct)) if decision.reported => None,
        (Outcome::Answered, Some(Answer::Uncertain)) => Some(Fate::Uncertain),
        (Outcome::Answered, Some(Answer::Soft404)) => Some(Fate::Soft404),
        (Outcome::Answered, _) => Some(Fate::Ordinary),
        _ if view.response().is_refusal() => Some(Fate::Refused),
        _ => Some(Fate::Unanswered),
    }
}

impl Thing {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Answer(..) => Kind::Answer,
            Self::Rule(_) => Kind::Rule,
            Self::Path(_) => Kind::Path,
            Self::Client(_) => Kind::Client,
        }
    }

    pub(super) fn shown(&self) -> String {
        match self {
            Self::Answer(host, path) => format!("{}{}", shown(host), shown(path)),
            Self::Rule(id) => id.clone(),
            Self::Path(path) => shown(path).into_owned(),
            Self::Client(Address(client)) => facts::client(client.client()).into_owned(),
        }
    }
}
