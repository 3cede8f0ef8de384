//! The summary of a run for people: `summary.txt`, and a mail of a few lines if something is
//! notable.
//!
//! The most important comes first: answers, what is new, top clients, block candidates. Programs
//! read CSV or JSON: the layout may change.

mod content;
mod message;
mod summary;

use std::path::Path;

pub(crate) use self::message::text as mail_text;
pub(crate) use self::summary::text as summary_text;
use crate::log::finding::Severity;
use crate::report::model::ReportModel;
use crate::report::novelty::{ItemKind, NewItem};
use crate::report::withdrawn::WithdrawnAnswer;

/// The most lines of a mail.
pub(crate) const MAIL_LINES: usize = message::LINES;

/// The data of a summary and a mail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunSummary<'a> {
    /// The report, with all its answers and clients.
    pub report: &'a ReportModel<'a>,
    /// What no run before has seen.
    pub news: &'a [NewItem<'a>],
    /// Answers of earlier reports that are withdrawn.
    pub withdrawn: &'a [WithdrawnAnswer],
    /// What the report covers, for people: `Run 12`, or the period, `2026-11-20`.
    pub label: &'a str,
    /// The host the logs are from, if known.
    pub host: Option<&'a str>,
    /// It is the first run: everything is new, so nothing is marked as new.
    pub is_first: bool,
    /// The final folder of the files.
    pub folder: &'a Path,
    /// Further notes, a sentence each: late lines, counts that are bounds. Problems of inputs are
    /// not among them.
    pub notes: &'a [String],
    /// The least severity for a mail.
    pub level: Severity,
}

/// Whether a mail is due: for an answer or a flood, a new answer, rule or campaign, or a withdrawn
/// answer, at or above the level. New paths and clients are too frequent for a mail, and in the
/// first run everything is new. A campaign that guesses passwords is worth a mail even then, but
/// not in every run, as it may last for months.
#[must_use]
pub(crate) fn is_notable(summary: &RunSummary<'_>) -> bool {
    let is_rare_news = |news: &NewItem<'_>| {
        matches!(
            news.kind,
            ItemKind::Answer | ItemKind::Rule | ItemKind::Campaign
        ) && news.severity >= summary.level
    };
    summary
        .report
        .answered
        .iter()
        .any(|row| row.severity >= summary.level)
        || summary
            .withdrawn
            .iter()
            .any(|answer| answer.severity >= summary.level)
        || summary
            .report
            .floods
            .iter()
            .any(|flood| flood.severity >= summary.level)
        || (summary.is_first
            && summary
                .report
                .campaigns
                .iter()
                .any(|campaign| campaign.guesses.is_some() && campaign.severity >= summary.level))
        || (!summary.is_first && summary.news.iter().any(is_rare_news))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use crate::block::BlockPolicy;
    use crate::log::client::Client;
    use crate::render::layout::width;
    use crate::render::mail::*;
    use crate::report::block_candidates::decide_blocks;
    use crate::report::build::LogAnalysis;
    use crate::report::fixture;
    use crate::report::model::{Campaign, Row, RowKey};
    use crate::rules::AllowList;
    use crate::tally::Tally;
    use crate::text::redact::LogText;

    /// The report of the fixture, with block candidates.
    fn report() -> ReportModel<'static> {
        let mut report = fixture::report(fixture::rules());
        add_blocks(&mut report, None);
        report
    }

    fn add_blocks(report: &mut ReportModel<'_>, max: Option<usize>) {
        let (tally, allow) = (Tally::default(), AllowList::default());
        let report_input = fixture::report_input(report.rule_set, &tally, &[], &[], &allow);
        let analysis = LogAnalysis::new(&report_input);
        let policy = BlockPolicy::new(&[], &[], &allow);
        decide_blocks(report, &analysis, &policy, max);
    }

    fn campaign<'a>(report: &ReportModel<'a>) -> Campaign<'a> {
        let row = &report.pairs[0];
        Campaign {
            answered: 0,
            key: "c0ffee01".into(),
            guesses: None,
            clients: 6,
            networks: 5,
            paths: 12,
            hits: 72,
            severity: Severity::High,
            first_time: row.first_time,
            last_time: row.last_time,
            sample_paths: vec![
                LogText::new(b"/boaform/admin/formLogin"),
                LogText::new(b"/HNAP1/"),
            ],
            sample: row.sample,
        }
    }

    /// New: one of two answers, three rules, the campaign, a path and a client.
    fn news<'a>(report: &ReportModel<'a>) -> Vec<NewItem<'a>> {
        let row = &report.pairs[0];
        let one = |kind, key: &str, severity| NewItem {
            kind,
            key: key.to_owned(),
            severity,
            hits: 3,
            first_time: row.first_time,
            sample: row.sample,
        };
        vec![
            one(
                ItemKind::Answer,
                "shop.example/backup/.env",
                Severity::Critical,
            ),
            one(ItemKind::Rule, "php/eval-stdin", Severity::High),
            one(ItemKind::Rule, "dotfiles/env", Severity::High),
            one(ItemKind::Rule, "wordpress/login", Severity::Low),
            one(ItemKind::Path, "/backup/.env", Severity::Critical),
            one(ItemKind::Client, "198.51.100.23", Severity::Critical),
            one(ItemKind::Campaign, "c0ffee01", Severity::High),
        ]
    }

    fn run_summary<'a>(report: &'a ReportModel<'a>, news: &'a [NewItem<'a>]) -> RunSummary<'a> {
        let folder = Path::new("/srv/reports/000012-20261103T000500Z");
        RunSummary {
            report,
            news,
            withdrawn: &[],
            label: "Run 12",
            host: Some("web1"),
            is_first: false,
            folder,
            notes: &[],
            level: Severity::High,
        }
    }

    #[test]
    fn a_report_with_answers() {
        let mut report = report();
        report.campaigns.push(campaign(&report));
        let news = news(&report);
        let notes = ["112 lines came late and were added to 2026-11-01.".to_owned()];
        let run = RunSummary {
            notes: &notes,
            ..run_summary(&report, &news)
        };
        assert!(is_notable(&run));
        insta::assert_snapshot!("answered_mail", mail_text(&run));
        insta::assert_snapshot!("answered_page", summary_text(&run));
    }

    #[test]
    fn a_report_without_an_answer() {
        let mut report = report();
        report.answered.clear();
        report.totals.answered = 0;
        report.inputs.truncate(1);
        let news: Vec<_> = news(&report)
            .into_iter()
            .filter(|news| news.kind == ItemKind::Rule)
            .collect();
        let run = run_summary(&report, &news);
        insta::assert_snapshot!("refused_mail", mail_text(&run));
        insta::assert_snapshot!("refused_page", summary_text(&run));
    }

    #[test]
    fn a_first_run_marks_nothing_as_new() {
        let report = report();
        let news = news(&report);
        let run = RunSummary {
            is_first: true,
            host: None,
            ..run_summary(&report, &news)
        };
        insta::assert_snapshot!("first_mail", mail_text(&run));
        insta::assert_snapshot!("first_page", summary_text(&run));
    }

    #[test]
    fn a_report_without_hits() {
        let mut report = fixture::empty(fixture::rules());
        add_blocks(&mut report, None);
        let run = run_summary(&report, &[]);
        assert!(!is_notable(&run));
        insta::assert_snapshot!("quiet_mail", mail_text(&run));
        insta::assert_snapshot!("quiet_page", summary_text(&run));
    }

    /// Many addresses of few networks, each with three paths.
    fn of_networks(report: &mut ReportModel<'static>) {
        let row = report
            .clients
            .iter()
            .find(|row| row.paths >= 3)
            .unwrap()
            .clone();
        let row = |client| Row {
            key: RowKey::Client(client),
            ..row.clone()
        };
        report.clients = (1..=40)
            .map(|n| row(Client::V6(0x2001_0db8_0001_0002 << 64 | n)))
            .collect();
        report
            .clients
            .extend((1..=5).map(|n| row(Client::V4(0xc633_6400 + n))));
        report
            .clients
            .extend((1..=2).map(|n| row(Client::V4(0xcb00_7100 + n))));
        report.pairs.clear();
    }

    #[test]
    fn addresses_of_a_network_share_a_line() {
        let mut report = report();
        of_networks(&mut report);
        add_blocks(&mut report, Some(46));
        let notes =
            ["Counts are bounds: hits of a client may be up to 1,200 more than said.".to_owned()];
        let run = RunSummary {
            notes: &notes,
            ..run_summary(&report, &[])
        };
        insta::assert_snapshot!("networks_mail", mail_text(&run));
        insta::assert_snapshot!("networks_page", summary_text(&run));
    }

    #[test]
    fn a_candidate_has_its_network_where_the_line_has_room() {
        let mut report = report();
        add_blocks(&mut report, Some(1));
        let mut lines_with = |as_name: &str| {
            report
                .clients
                .iter_mut()
                .for_each(|row| row.geo = Some(fixture::geo("DE", 64_500, as_name).into()));
            let run = run_summary(&report, &[]);
            let line = mail_text(&run)
                .lines()
                .find(|line| line.starts_with("Could block"))
                .unwrap()
                .to_owned();
            let candidates = summary_text(&run)
                .split("BLOCK CANDIDATES")
                .nth(1)
                .unwrap()
                .to_owned();
            assert!(
                line.chars().count() <= 70
                    && candidates.lines().all(|line| line.chars().count() <= 78),
                "{line}\n{candidates}"
            );
            (line, candidates)
        };
        let (line, candidates) = lines_with("X");
        assert!(line.contains(" (X, DE), at the cost of "), "{line}");
        assert!(candidates.contains("  X, DE\n"), "{candidates}");
        let (line, candidates) = lines_with("Example Hosting and Colocation GmbH");
        assert!(line.contains(" (DE), at the cost of "), "{line}");
        assert!(candidates.contains("  Example Hosting "), "{candidates}");
    }

    #[test]
    fn a_mail_is_due_for_answers_and_rare_news() {
        let mut report = report();
        let news = news(&report);
        let due = |report: &ReportModel<'_>, kind, level| {
            let news: Vec<_> = news
                .iter()
                .filter(|news| news.kind == kind)
                .cloned()
                .collect();
            is_notable(&RunSummary {
                level,
                ..run_summary(report, &news)
            })
        };
        assert!(
            due(&report, ItemKind::Path, Severity::Critical),
            "an answer, new or not"
        );
        report.answered.retain(|row| row.severity < Severity::High);
        assert!(!due(&report, ItemKind::Path, Severity::High));
        assert!(!due(&report, ItemKind::Client, Severity::High));
        for kind in [ItemKind::Answer, ItemKind::Rule, ItemKind::Campaign] {
            assert!(due(&report, kind, Severity::High), "{kind:?}");
        }
        assert!(!due(&report, ItemKind::Rule, Severity::Critical));
        assert!(
            !is_notable(&RunSummary {
                is_first: true,
                ..run_summary(&report, &news)
            }),
            "everything is new in a first run"
        );
    }

    #[test]
    fn the_same_path_of_another_host_is_another_answer() {
        let mut report = report();
        let RowKey::Answer(_, path, _) = report.answered[1].key else {
            unreachable!()
        };
        report.answered[1].key = RowKey::Answer(
            Some(LogText::new(b"blog.example")),
            path,
            LogText::new(b"blog.example"),
        );
        let run = run_summary(&report, &[]);
        assert!(
            mail_text(&run).contains("shop.example/backup/.env")
                || mail_text(&run).contains("shop.example/.git/config"),
            "{}",
            mail_text(&run)
        );
    }

    /// Texts of a log with unsafe characters or secrets.
    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            any::<Vec<u8>>(),
            any::<String>().prop_map(String::into_bytes),
            "(/[a-z]{0,60}){0,4}\\?password=hunter2[a-z]{0,9}".prop_map(String::into_bytes),
            "\u{1b}\\]0;[a-z]{0,9}\u{7}|\u{202e}[a-z日本]{0,90}|[\r\n\t ]{0,9}=cmd"
                .prop_map(String::into_bytes),
        ]
    }

    proptest! {
        #[test]
        fn any_text_fits_the_mail_and_the_summary(
            texts in prop::collection::vec(hostile(), 4),
            // The name of a log is not masked.
            (source, folder) in (any::<Vec<u8>>(), any::<String>()),
            host in prop::option::of(hostile()),
            notes in prop::collection::vec(any::<String>(), 0..3),
            report_host in prop::option::of(any::<String>()),
            problem in prop::option::of(any::<String>()),
            (hits, is_first) in (any::<u32>(), any::<bool>()),
        ) {
            let mut report = report();
            let host = host.as_deref().map(LogText::new);
            for (row, text) in report.answered.iter_mut().zip(&texts) {
                row.key = RowKey::Answer(host, LogText::new(text), host.unwrap_or(LogText::new(b"access.log")));
                row.sample.target = LogText::new(text);
            }
            report.answered.extend(report.answered.clone());
            report.clients[0].key = RowKey::Client(Client::Text(&texts[2]));
            report.clients[0].hits = u64::from(hits);
            report.totals.sum.hits = u64::from(hits);
            report.inputs[0].problem = problem;
            report.inputs[0].path = source;
            let mut list = campaign(&report);
            list.sample_paths = texts.iter().map(|text| LogText::new(text)).collect();
            list.networks = u64::MAX;
            report.campaigns = vec![list; 3];
            let news = news(&report);
            let run = RunSummary { host: report_host.as_deref(), notes: &notes, is_first, folder: Path::new(&folder), ..run_summary(&report, &news) };
            let (mail, summary) = (mail_text(&run), summary_text(&run));
            prop_assert!(mail.lines().count() <= 10, "{mail}");
            for (text, most) in [(&mail, 70), (&summary, 78)] {
                prop_assert!(!text.contains("hunter2"), "{text}");
                for line in text.split('\n') {
                    prop_assert!(width(line) <= most, "{} > {most}: {line}", width(line));
                    prop_assert!(!line.contains(char::is_control), "{line:?}");
                    prop_assert!(!line.contains('\u{202e}'), "{line:?}");
                }
            }
        }
    }
}
