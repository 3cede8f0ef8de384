//! One of two reports, as far as they are compared: what was met, how bad it was, and how often.

use std::collections::BTreeMap;

use super::Kind;
use crate::client::{Client, ClientKey};
use crate::finding::Severity;
use crate::record::Outcome;
use crate::report::build::{Context, Material};
use crate::report::facts;
use crate::report::mask::shown;
use crate::report::model::{Approximate, Report};
use crate::tally::Scope;

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

/// One of two reports.
#[derive(Debug, Default)]
pub struct Side {
    things: BTreeMap<Thing, (Severity, u64)>,
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
            if decision.reported && decision.answered && Outcome::of(view.status) == Outcome::Answered {
                let host = if let Scope::Host(host) = view.site { host } else { &[] };
                side.add(Thing::Answer(host.into(), material.tally.path(view.path).into()), decision.severity, view.cell.hits);
            }
        }
        side
    }

    pub(super) fn add(&mut self, thing: Thing, severity: Severity, hits: u64) {
        let (worst, sum) = self.things.entry(thing).or_insert((severity, 0));
        *worst = severity.max(*worst);
        *sum += hits;
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
