//! One of two reports, as far as they are compared: what was met, how bad it was, and how often.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{AnswerNow, DiffKind};
use crate::analysis::build::{Decision, LogAnalysis, ReportInput};
use crate::analysis::labels;
use crate::analysis::model::{Approximation, Report};
use crate::client::{Client, ClientKey};
use crate::finding::Severity;
use crate::log_entry::Outcome;
use crate::redact::mask::redacted;
use crate::soft_404::Answer;
use crate::tally::{CellView, Site};

/// Something that can be in both.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DiffSubject {
    Answer(Box<[u8]>, Box<[u8]>),
    Rule(String),
    Path(Box<[u8]>),
    Client(OrderedClient),
}

/// A client in the order of reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderedClient(ClientKey);

impl PartialOrd for OrderedClient {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OrderedClient {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.client().cmp(&other.0.client())
    }
}

/// What the hits of one path came to: those that matter most decide.
#[derive(Debug, Default)]
struct PathOutcome {
    best: Option<(bool, AnswerNow)>,
    /// Hits by status of those that decide.
    statuses: BTreeMap<u16, u64>,
}

/// One of two reports.
#[derive(Debug, Default)]
pub struct ReportIndex {
    subjects: BTreeMap<DiffSubject, (Severity, u64)>,
    /// By answer: what requests for the path came to that got no distinct answer.
    outcomes: BTreeMap<DiffSubject, PathOutcome>,
    pub(crate) approximate: Option<Approximation>,
}

impl ReportIndex {
    /// What a report says; it was built from this, with all its rules, paths and clients.
    #[must_use]
    pub fn new(material: &ReportInput<'_>, context: &LogAnalysis<'_>, report: &Report<'_>) -> Self {
        let mut side = Self { approximate: report.approximate, ..Self::default() };
        for row in report.rules.iter().chain(&report.paths).chain(&report.clients) {
            let rule = row.key.rule().map(|rule| DiffSubject::Rule(report.rule_set.rule(rule).id.clone()));
            let client = || row.key.client().map(|client: Client<'_>| DiffSubject::Client(OrderedClient(ClientKey::from(&client))));
            if let Some(thing) = rule.or_else(client).or_else(|| row.key.path().map(|path| DiffSubject::Path(path.into()))) {
                side.add(thing, row.severity, row.hits);
            }
        }
        // What was let go of a pair is still known of its path.
        let cells = material.tally.cells().zip(context.decisions()).filter(|(view, _)| !view.is_other());
        for (view, decision) in cells.chain(material.tally.path_cells().zip(context.path_decisions())) {
            let host = if let Site::Host(host) = view.site { host } else { &[] };
            let answer = DiffSubject::Answer(host.into(), material.tally.path(view.path).into());
            match answer_now(&view, decision) {
                None => side.add(answer, decision.severity, view.cell.hits),
                Some(fate) => {
                    let exposes = material.tally.rule_list(view.rules).iter().any(|&rule| report.rule_set.rule(rule).exposes());
                    side.add_outcome(answer, (exposes, fate), view.status, view.cell.hits);
                }
            }
        }
        side
    }

    pub(crate) fn add(&mut self, thing: DiffSubject, severity: Severity, hits: u64) {
        let (worst, sum) = self.subjects.entry(thing).or_insert((severity, 0));
        *worst = severity.max(*worst);
        *sum += hits;
    }

    /// Takes in hits that got no distinct answer. Those of rules that look for something to be exposed come before others.
    pub(crate) fn add_outcome(&mut self, answer: DiffSubject, (exposes, fate): (bool, AnswerNow), status: Option<u16>, hits: u64) {
        let met = self.outcomes.entry(answer).or_default();
        // The first fates matter most.
        let rank = |(exposes, fate): (bool, AnswerNow)| (!exposes, fate);
        match met.best {
            Some(best) if rank(best) < rank((exposes, fate)) => return,
            Some(best) if best == (exposes, fate) => {}
            _ => *met = PathOutcome { best: Some((exposes, fate)), statuses: BTreeMap::new() },
        }
        if let Some(status) = status {
            *met.statuses.entry(status).or_default() += hits;
        }
    }

    /// What became of an answer that is none here, and the commonest status, the lowest of equals.
    pub(crate) fn answer_now(&self, answer: &DiffSubject) -> (AnswerNow, Option<u16>) {
        let Some((met, (_, fate))) = self.outcomes.get(answer).and_then(|met| Some((met, met.best?))) else {
            return (AnswerNow::NotRequested, None);
        };
        let status = met.statuses.iter().max_by_key(|(status, hits)| (**hits, Reverse(**status))).map(|(status, _)| *status);
        (fate, status)
    }

    /// By how much it may be too low, where it is not exact.
    #[must_use]
    pub fn approximate(&self) -> Option<&Approximation> {
        self.approximate.as_ref()
    }

    pub(crate) fn subjects(&self) -> &BTreeMap<DiffSubject, (Severity, u64)> {
        &self.subjects
    }
}

/// What a cell says of its path; `None` where it is a distinct answer that is reported.
fn answer_now(view: &CellView<'_>, decision: &Decision) -> Option<AnswerNow> {
    match (Outcome::of(view.status), decision.grade.map(|grade| grade.answer)) {
        (Outcome::Answered, Some(Answer::Distinct)) if decision.reported => None,
        (Outcome::Answered, Some(Answer::Uncertain)) => Some(AnswerNow::Uncertain),
        (Outcome::Answered, Some(Answer::Soft404)) => Some(AnswerNow::Soft404),
        (Outcome::Answered, _) => Some(AnswerNow::Ordinary),
        _ if view.response().is_refusal() => Some(AnswerNow::Refused),
        _ => Some(AnswerNow::Unanswered),
    }
}

impl DiffSubject {
    pub(crate) fn kind(&self) -> DiffKind {
        match self {
            Self::Answer(..) => DiffKind::Answer,
            Self::Rule(_) => DiffKind::Rule,
            Self::Path(_) => DiffKind::Path,
            Self::Client(_) => DiffKind::Client,
        }
    }

    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Answer(host, path) => format!("{}{}", redacted(host), redacted(path)),
            Self::Rule(id) => id.clone(),
            Self::Path(path) => redacted(path).into_owned(),
            Self::Client(OrderedClient(client)) => labels::client(client.client()).into_owned(),
        }
    }
}
