//! The differences of two reports: new and former answers, and rules, paths and clients with more
//! or fewer hits.
//!
//! Both reports are analysed with the same rules, so that differences come from the logs. Only
//! counts are compared: a [`ReportIndex`] holds those of one report.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::notes::accuracy_note;
use super::novelty::ItemKind;
use crate::log::client::{Client, ClientKey};
use crate::log::finding::Severity;
use crate::log::log_entry::Outcome;
use crate::report::build::{Decision, LogAnalysis};
use crate::report::model::ReportModel;
use crate::soft_404::Answer;
use crate::tally::{CellView, ErrorBound};
use crate::text::redact::LogText;

/// How a count changed. The most important comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    /// It has hits only after.
    New,
    /// It has more hits.
    More,
    /// It has fewer hits.
    Fewer,
    /// It has no hits any more; for rules, paths and clients.
    Gone,
    /// It was an answer and is none any more.
    Now(AnswerNow),
}

/// The present condition of a path that had a distinct answer. The most important comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AnswerNow {
    /// It may still have a distinct answer.
    Uncertain,
    /// No hit requested it, so the answer may still be there.
    NotRequested,
    /// It is answered, but no reported rule says that this exposes anything: a page of an app that
    /// the site runs.
    Ordinary,
    /// It is neither answered nor refused: a redirect, a bad request, a rate limit, a server error.
    Unanswered,
    /// It receives the site's answer to unknown paths.
    Soft404,
    /// It is refused: not found, or not permitted.
    Refused,
}

impl AnswerNow {
    /// Every value, in the order of the rows.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 6] = [
        Self::Uncertain,
        Self::NotRequested,
        Self::Ordinary,
        Self::Unanswered,
        Self::Soft404,
        Self::Refused,
    ];

    /// The word in reports.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Uncertain => Answer::Uncertain.as_str(),
            Self::NotRequested => "not_requested",
            Self::Ordinary => "ordinary",
            Self::Unanswered => "unanswered",
            Self::Soft404 => Answer::Soft404.as_str(),
            Self::Refused => "refused",
        }
    }
}

impl Change {
    /// The word in reports.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::More => "more",
            Self::Fewer => "fewer",
            Self::Gone => "gone",
            Self::Now(fate) => fate.as_str(),
        }
    }

    fn from_counts(before: u64, after: u64) -> Option<Self> {
        match (before, after) {
            (same, other) if same == other => None,
            (0, _) => Some(Self::New),
            (_, 0) => Some(Self::Gone),
            _ if after > before => Some(Self::More),
            _ => Some(Self::Fewer),
        }
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiffRow {
    /// Its kind.
    pub kind: ItemKind,
    /// Its key, safe to print.
    pub key: String,
    /// How it changed.
    pub change: Change,
    /// The highest severity, before or after.
    pub severity: Severity,
    /// Hits before; for an answer, answered hits.
    pub before: u64,
    /// Hits after.
    pub after: u64,
    /// For a path that was requested but has no distinct answer any more: its most frequent status.
    pub status: Option<u16>,
}

/// Lists the differences, most important first.
#[must_use]
pub(crate) fn diff(old: &ReportIndex, new: &ReportIndex) -> Vec<DiffRow> {
    let mut both: BTreeMap<&DiffSubject, [(Severity, u64); 2]> = BTreeMap::new();
    for (report, at) in [(old, 0), (new, 1)] {
        for (subject, (severity, hits)) in report.subjects() {
            both.entry(subject).or_insert([(Severity::Info, 0); 2])[at] = (*severity, *hits);
        }
    }
    let row = |(subject, [before, after]): (&DiffSubject, [(Severity, u64); 2])| {
        let (change, status) = match Change::from_counts(before.1, after.1)? {
            Change::Gone if subject.kind() == ItemKind::Answer => {
                let (fate, status) = new.answer_now(subject);
                (Change::Now(fate), status)
            }
            change => (change, None),
        };
        let severity = before.0.max(after.0);
        Some(DiffRow {
            kind: subject.kind(),
            key: subject.to_text(),
            change,
            severity,
            before: before.1,
            after: after.1,
            status,
        })
    };
    let mut rows: Vec<DiffRow> = both.into_iter().filter_map(row).collect();
    // The sort is stable, so rows that are equal in all this stay sorted by key.
    rows.sort_by_key(|row| {
        (
            row.kind,
            row.change,
            Reverse(row.severity),
            Reverse(row.before.abs_diff(row.after)),
        )
    });
    rows
}

/// Notes for a report that is not exact.
#[must_use]
pub(crate) fn notes(old: &ReportIndex, new: &ReportIndex) -> Vec<String> {
    let note = |(report, so): (&ReportIndex, &str)| {
        Some(format!("{} {so}", accuracy_note(report.approximate()?)))
    };
    let old = (
        old,
        "That is the old report: what is new may have been there before.",
    );
    let new = (
        new,
        "That is the new report: what is gone or not requested may still be there.",
    );
    [old, new].into_iter().filter_map(note).collect()
}

/// A row that can be in both reports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DiffSubject {
    Answer(Box<[u8]>, Box<[u8]>),
    Rule(String),
    Path(Box<[u8]>),
    Client(ClientKey),
}

/// The most important response to the hits of one path.
#[derive(Debug, Default)]
struct PathOutcome {
    best: Option<(bool, AnswerNow)>,
    /// Hits by status, of the hits with this response.
    statuses: BTreeMap<u16, u64>,
}

/// The counts of one of two reports.
#[derive(Debug, Default)]
pub(crate) struct ReportIndex {
    subjects: BTreeMap<DiffSubject, (Severity, u64)>,
    /// By answer: the responses to requests for the path without a distinct answer.
    outcomes: BTreeMap<DiffSubject, PathOutcome>,
    pub(crate) approximate: Option<ErrorBound>,
}

impl ReportIndex {
    /// Indexes a report. It must have been built from this analysis, with all its rules, paths and
    /// clients.
    #[must_use]
    pub(crate) fn new(analysis: &LogAnalysis<'_>, report: &ReportModel<'_>) -> Self {
        let mut index = Self {
            approximate: report.approximate,
            ..Self::default()
        };
        for row in report
            .rules
            .iter()
            .chain(&report.paths)
            .chain(&report.clients)
        {
            let rule = row
                .key
                .rule()
                .map(|rule| DiffSubject::Rule(report.rule_set.rule(rule).id.clone()));
            let client = || {
                row.key
                    .client()
                    .map(|client: Client<'_>| DiffSubject::Client(ClientKey::from(&client)))
            };
            if let Some(subject) = rule.or_else(client).or_else(|| {
                row.key
                    .path()
                    .map(|path| DiffSubject::Path(path.raw().into()))
            }) {
                index.add(subject, row.severity, row.hits);
            }
        }
        // The hits of an evicted pair are still known by path.
        for (view, decision) in analysis.cells_with_path() {
            let host = view.site.host().unwrap_or_default();
            let answer =
                DiffSubject::Answer(host.into(), analysis.input.tally.path(view.path).into());
            match answer_now(&view, decision) {
                None => index.add(answer, decision.severity, view.cell.hits),
                Some(fate) => {
                    let exposes = analysis
                        .input
                        .tally
                        .rule_list(view.rules)
                        .iter()
                        .any(|&rule| report.rule_set.rule(rule).exposes());
                    index.add_outcome(answer, (exposes, fate), view.status, view.cell.hits);
                }
            }
        }
        index
    }

    pub(crate) fn add(&mut self, subject: DiffSubject, severity: Severity, hits: u64) {
        let (worst, sum) = self.subjects.entry(subject).or_insert((severity, 0));
        *worst = severity.max(*worst);
        *sum += hits;
    }

    /// Records hits without a distinct answer. Rules that look for something exposed take
    /// precedence.
    pub(crate) fn add_outcome(
        &mut self,
        answer: DiffSubject,
        (exposes, fate): (bool, AnswerNow),
        status: Option<u16>,
        hits: u64,
    ) {
        let outcome = self.outcomes.entry(answer).or_default();
        // The first values matter most.
        let rank = |(exposes, fate): (bool, AnswerNow)| (!exposes, fate);
        match outcome.best {
            Some(best) if rank(best) < rank((exposes, fate)) => return,
            Some(best) if best == (exposes, fate) => {}
            _ => {
                *outcome = PathOutcome {
                    best: Some((exposes, fate)),
                    statuses: BTreeMap::new(),
                }
            }
        }
        if let Some(status) = status {
            *outcome.statuses.entry(status).or_default() += hits;
        }
    }

    /// The present condition of a former answer, and its most frequent status, the lowest of
    /// several.
    pub(crate) fn answer_now(&self, answer: &DiffSubject) -> (AnswerNow, Option<u16>) {
        let Some((outcome, (_, fate))) = self
            .outcomes
            .get(answer)
            .and_then(|outcome| Some((outcome, outcome.best?)))
        else {
            return (AnswerNow::NotRequested, None);
        };
        let status = outcome
            .statuses
            .iter()
            .max_by_key(|(status, hits)| (**hits, Reverse(**status)))
            .map(|(status, _)| *status);
        (fate, status)
    }

    /// The most that its rows may lack, if it is not exact.
    #[must_use]
    pub(crate) fn approximate(&self) -> Option<&ErrorBound> {
        self.approximate.as_ref()
    }

    pub(crate) fn subjects(&self) -> &BTreeMap<DiffSubject, (Severity, u64)> {
        &self.subjects
    }
}

/// The condition of a path by one cell; `None` for a distinct answer that is reported.
fn answer_now(view: &CellView<'_>, decision: &Decision) -> Option<AnswerNow> {
    match (
        Outcome::from_status(view.status),
        decision.grade.map(|grade| grade.answer),
    ) {
        (Outcome::Answered, Some(Answer::Distinct)) if decision.reported => None,
        (Outcome::Answered, Some(Answer::Uncertain)) => Some(AnswerNow::Uncertain),
        (Outcome::Answered, Some(Answer::Soft404)) => Some(AnswerNow::Soft404),
        (Outcome::Answered, _) => Some(AnswerNow::Ordinary),
        _ if view.response().is_refusal() => Some(AnswerNow::Refused),
        _ => Some(AnswerNow::Unanswered),
    }
}

impl DiffSubject {
    pub(crate) fn kind(&self) -> ItemKind {
        match self {
            Self::Answer(..) => ItemKind::Answer,
            Self::Rule(_) => ItemKind::Rule,
            Self::Path(_) => ItemKind::Path,
            Self::Client(_) => ItemKind::Client,
        }
    }

    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Answer(host, path) => format!("{}{}", LogText::new(host), LogText::new(path)),
            Self::Rule(id) => id.clone(),
            Self::Path(path) => LogText::new(path).to_string(),
            Self::Client(client) => client.client().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    //! The differences and their order.

    use super::*;
    use crate::render::{OutputFormat, RenderOptions, render_diff};

    fn report(subjects: &[(DiffSubject, Severity, u64)]) -> ReportIndex {
        let mut report = ReportIndex::default();
        for (subject, severity, hits) in subjects {
            report.add(subject.clone(), *severity, *hits);
        }
        report
    }

    fn answer(host: &[u8], path: &[u8]) -> DiffSubject {
        DiffSubject::Answer(host.into(), path.into())
    }

    fn path(path: &[u8]) -> DiffSubject {
        DiffSubject::Path(path.into())
    }

    fn old_and_new() -> (ReportIndex, ReportIndex) {
        let old = report(&[
            (answer(b"", b"/old"), Severity::High, 2),
            (DiffSubject::Rule("dotfiles/env".into()), Severity::High, 5),
            (path(b"/same"), Severity::Low, 7),
            (path(b"/less"), Severity::Low, 7),
            (
                path(b"/reset-password/0123456789abcdef0123"),
                Severity::Low,
                1,
            ),
        ]);
        let new = report(&[
            (answer(b"shop.example", b"/.env"), Severity::Critical, 1),
            (answer(b"shop.example", b"/=cmd"), Severity::Critical, 1),
            (
                DiffSubject::Rule("dotfiles/env".into()),
                Severity::Critical,
                1205,
            ),
            (path(b"/same"), Severity::Medium, 7),
            (path(b"/less"), Severity::Low, 3),
            (path(b"/low"), Severity::Low, 900),
            (path(b"/\x1b[2J"), Severity::High, 1),
        ]);
        (old, new)
    }

    fn printed(rows: &[DiffRow], format: OutputFormat) -> String {
        let mut out = Vec::new();
        render_diff(
            rows,
            &[],
            &RenderOptions {
                format,
                width: 80,
                ..RenderOptions::default()
            },
            &mut out,
        )
        .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_most_important_rows_come_first() {
        let (old, new) = old_and_new();
        let rows = diff(&old, &new);
        assert_eq!(
            printed(&rows, OutputFormat::Csv),
            "kind,key,change,severity,hits_before,hits_after,status_after\n\
             answer,shop.example/.env,new,critical,0,1,\n\
             answer,shop.example/=cmd,new,critical,0,1,\n\
             answer,/old,not_requested,high,2,0,\n\
             rule,dotfiles/env,more,critical,5,1205,\n\
             path,/\\x1b[2J,new,high,0,1,\n\
             path,/low,new,low,0,900,\n\
             path,/less,fewer,low,7,3,\n\
             path,/reset-password/***,gone,low,1,0,\n"
        );
        insta::assert_snapshot!("table", printed(&rows, OutputFormat::Table));
        let json: serde_json::Value =
            serde_json::from_str(&printed(&rows, OutputFormat::Json)).unwrap();
        assert_eq!(json.as_array().unwrap().len(), rows.len());
        assert_eq!(
            json[3],
            serde_json::json!({"kind": "rule", "key": "dotfiles/env", "change": "more", "severity": "critical", "hits_before": 5, "hits_after": 1205, "status_after": null})
        );
    }

    #[test]
    fn a_former_answer_has_its_present_condition() {
        let gone = [
            ("/refused", 1),
            ("/redirected", 2),
            ("/app", 3),
            ("/maybe", 4),
            ("/soft", 5),
            ("/nothing", 6),
        ];
        let subjects: Vec<_> = gone
            .iter()
            .map(|(path, hits)| (answer(b"a.example", path.as_bytes()), Severity::High, *hits))
            .collect();
        let old = report(&subjects);
        let mut new = report(&[(path(b"/refused"), Severity::High, 1)]);
        let mut meet = |path: &str, exposes: bool, fate: AnswerNow, status: u16, hits: u64| {
            new.add_outcome(
                answer(b"a.example", path.as_bytes()),
                (exposes, fate),
                Some(status),
                hits,
            );
        };
        // The most frequent status, the lowest of several; a hit of a rule that exposes nothing
        // does not count beside others.
        meet("/refused", false, AnswerNow::Ordinary, 200, 90);
        meet("/refused", true, AnswerNow::Refused, 404, 1);
        meet("/refused", true, AnswerNow::Refused, 403, 1);
        meet("/refused", false, AnswerNow::Unanswered, 500, 90);
        meet("/redirected", false, AnswerNow::Unanswered, 301, 1);
        meet("/app", true, AnswerNow::Ordinary, 200, 1);
        // The most important condition decides, in any order.
        meet("/maybe", true, AnswerNow::Refused, 404, 9);
        meet("/maybe", true, AnswerNow::Uncertain, 200, 1);
        meet("/maybe", true, AnswerNow::Soft404, 200, 9);
        meet("/soft", true, AnswerNow::Soft404, 304, 1);
        meet("/soft", true, AnswerNow::Refused, 404, 9);
        // Another host is another answer.
        new.add_outcome(
            answer(b"b.example", b"/nothing"),
            (true, AnswerNow::Refused),
            Some(404),
            1,
        );
        let rows: Vec<DiffRow> = diff(&old, &new)
            .into_iter()
            .filter(|row| row.kind == ItemKind::Answer)
            .collect();
        assert_eq!(
            printed(&rows, OutputFormat::Csv),
            "kind,key,change,severity,hits_before,hits_after,status_after\n\
             answer,a.example/maybe,uncertain,high,4,0,200\n\
             answer,a.example/nothing,not_requested,high,6,0,\n\
             answer,a.example/app,ordinary,high,3,0,200\n\
             answer,a.example/redirected,unanswered,high,2,0,301\n\
             answer,a.example/soft,soft_404,high,5,0,304\n\
             answer,a.example/refused,refused,high,1,0,403\n"
        );
        insta::assert_snapshot!("former_answers", printed(&rows, OutputFormat::Table));
        let json: serde_json::Value =
            serde_json::from_str(&printed(&rows, OutputFormat::Json)).unwrap();
        assert_eq!(
            (&json[5]["change"], &json[5]["status_after"]),
            (&"refused".into(), &403.into())
        );
        assert!(
            rows.iter()
                .map(|row| row.change)
                .eq(AnswerNow::ALL.map(Change::Now))
        );
    }

    #[test]
    fn a_report_does_not_differ_from_itself() {
        let (old, _) = old_and_new();
        let rows = diff(&old, &old);
        assert_eq!(rows, []);
        assert_eq!(printed(&rows, OutputFormat::Table), "No difference.\n");
        assert_eq!(
            printed(&rows, OutputFormat::Csv),
            "kind,key,change,severity,hits_before,hits_after,status_after\n"
        );
        assert_eq!(printed(&rows, OutputFormat::Json), "[]\n");
    }

    #[test]
    fn approximate_reports_get_a_note() {
        let (old, mut new) = old_and_new();
        assert_eq!(notes(&old, &new), [""; 0]);
        new.approximate = Some(ErrorBound {
            pairs: 3,
            rest_hits: 9,
            ..Default::default()
        });
        let printed = notes(&old, &new);
        assert!(
            printed.len() == 1
                && printed[0].ends_with("what is gone or not requested may still be there."),
            "{printed:?}"
        );
        let mut out = Vec::new();
        render_diff(
            &diff(&old, &new),
            &printed,
            &RenderOptions {
                format: OutputFormat::Table,
                width: 80,
                ..RenderOptions::default()
            },
            &mut out,
        )
        .unwrap();
        assert!(
            String::from_utf8(out)
                .unwrap()
                .contains("  Approximate: memory was limited")
        );
    }
}
