//! Prints a report as tables for people: a headline, then answers, clients, paths, rules and line
//! counts. Also prints the differences of two reports, and how far logs were read.
//!
//! Fits the given width. Programs read CSV or JSON: the layout of tables may change. The headline
//! is one sentence with what matters most; it names inputs that could not be fully read, as the
//! report is then incomplete. Rows are sorted already: a section prints the first `--top` of them
//! and how to see the rest. Columns are left out on a narrow page. The line counts of all inputs
//! add up; with many inputs only those with a problem are listed.

use std::borrow::Cow;

use anstyle::Style;

use super::layout::{
    self, ALARM, BOLD, DIM, Grid, PLAIN, TextCell, TextPage, WARNING, minute_in, span, styled,
};
use super::{GroupBy, RenderOptions, grades};
use crate::log::client::Client;
use crate::log::finding::Severity;
use crate::log::log_entry::Outcome;
use crate::log::time::LogTime;
use crate::render::timeline::TimelineText;
use crate::report::diff::{AnswerNow, Change, DiffRow};
use crate::report::labels::{self, first};
use crate::report::model::{
    AllowedCount, AnswerDetail, AppSeen, Campaign, DayRow, NetworkRow, ReportModel, Row,
};
use crate::report::notes::accuracy_note;
use crate::report::novelty::ItemKind;
use crate::report::status::{LogStage, LogStatus, ReadStatus};
use crate::report::{campaigns, floods};
use crate::scan::input_summary::skipped_sentence;
use crate::scan::input_summary::{InputSummary, LineTotals};
use crate::text::number::{counted, counted_more, grouped, seconds, size};
use crate::text::redact::sanitize::escape;

/// The report as text.
pub(crate) fn report(report: &ReportModel<'_>, options: &RenderOptions) -> String {
    if options.by.is_none() && !options.full {
        return short_report(report, options);
    }
    let mut text_page = TextPage::new(options);
    let page = &mut text_page;
    write_opening(report, page, true);
    match options.by {
        None => {
            write_answered(report, page);
            write_grades(report, page);
            write_floods(report, page);
            write_clients(report, page);
            write_networks(report, page);
            write_paths(report, page);
            write_rules(report, page);
            write_campaigns(report, page);
            write_days(report, page);
        }
        Some(GroupBy::Pair) => write_pairs(report, page),
        Some(GroupBy::Client) => write_clients(report, page),
        Some(GroupBy::Path) => write_paths(report, page),
        Some(GroupBy::Rule) => write_rules(report, page),
        Some(GroupBy::Answer) => {
            write_answered(report, page);
            write_grades(report, page);
        }
    }
    write_suppressed(report, page);
    write_accounting(report, page);
    text_page.text
}

/// Writes a section with at most `page.top` rows.
type WriteSection = fn(&ReportModel<'_>, &mut TextPage);

/// The sections of the short table in the order of the page.
const SECTIONS: [WriteSection; 6] = [
    write_answered,
    write_grades,
    write_floods,
    write_clients,
    write_networks,
    write_suppressed,
];
const ANSWERED: usize = 0;
const GRADES: usize = 1;
const FLOODS: usize = 2;
const CLIENTS: usize = 3;
const NETWORKS: usize = 4;
const SUPPRESSED: usize = 5;

/// Which rows a screen gets first: what answered, what that means, and something of each section;
/// then more of what a person reads first. [`usize::MAX`] is as many as fit.
const ROWS_BY_IMPORTANCE: [(usize, usize); 12] = [
    (ANSWERED, 2),
    (GRADES, 1),
    (CLIENTS, 2),
    (FLOODS, 1),
    (NETWORKS, 3),
    (SUPPRESSED, 1),
    (GRADES, 2),
    (ANSWERED, 5),
    (CLIENTS, 5),
    (FLOODS, 3),
    (ANSWERED, usize::MAX),
    (CLIENTS, usize::MAX),
];

/// The most rows of each section with `--top`.
const ROWS_WITH_TOP: [(usize, usize); 6] = [
    (ANSWERED, usize::MAX),
    (GRADES, 2),
    (FLOODS, 3),
    (CLIENTS, usize::MAX),
    (NETWORKS, usize::MAX),
    (SUPPRESSED, 1),
];

/// The short table: no more lines than the screen has, but for one answer, the problems and the line
/// counts, which are never left out. With `--top` each section has that many rows instead.
fn short_report(report: &ReportModel<'_>, options: &RenderOptions) -> String {
    let lines = |text: &str| memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let part = |write: &dyn Fn(&mut TextPage)| {
        let mut page = TextPage::new(options);
        write(&mut page);
        page.text
    };
    let mut opening = part(&|page| write_opening(report, page, true));
    let accounting = part(&|page| write_short_accounting(report, page));
    // An answer, with its headings and how to see the others, matters more than the timeline.
    if lines(&opening) + lines(&accounting) + 6 > options.page_height() {
        opening = part(&|page| write_opening(report, page, false));
    }
    let (steps, limit, room) = match options.top {
        // The last line is for the next prompt.
        None => (
            &ROWS_BY_IMPORTANCE[..],
            usize::MAX,
            options
                .page_height()
                .saturating_sub(1 + lines(&opening) + lines(&accounting)),
        ),
        Some(top) => (&ROWS_WITH_TOP[..], top, usize::MAX),
    };
    let mut texts = SECTIONS.map(|_| String::new());
    let mut tops = SECTIONS.map(|_| 0);
    for &(section, most) in steps {
        let others: usize = texts
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != section)
            .map(|(_, text)| lines(text))
            .sum();
        let room = room.saturating_sub(others);
        // One answer is written in any case.
        let least = usize::from(section == ANSWERED).min(limit);
        let mut top = room.min(most).min(limit).max(least);
        while top > tops[section] {
            let text = part(&|page| {
                page.top = top;
                SECTIONS[section](report, page);
            });
            let excess = lines(&text).saturating_sub(room);
            if excess == 0 || top == least {
                (texts[section], tops[section]) = (text, top);
            } else {
                // A row has a line at least.
                top = top.saturating_sub(excess).max(least);
            }
        }
    }
    [opening, texts.concat(), accounting].concat()
}

/// Writes the headline, the time range of the logs, and the timeline.
fn write_opening(report: &ReportModel<'_>, page: &mut TextPage, has_timeline: bool) {
    write_headline(headline(report), page);
    if let (Some(first), Some(last)) = (report.totals.first_time, report.totals.last_time) {
        let parts: Vec<_> = [span(first, last)]
            .into_iter()
            .chain(report.probe_share())
            .collect();
        page.wrapped(0, DIM, &parts.join(". "));
    }
    // In the time zone of the first line.
    let (timeline, zone) = (&report.timeline, report.zone());
    if has_timeline
        && let Some(TimelineText { bars, marks }) =
            TimelineText::new(timeline, zone, page.width.saturating_sub(2))
    {
        page.line(&format!("  {bars}"));
        if let Some(marks) = marks {
            page.line(&format!("  {}", page.painter.paint(ALARM, marks)));
        }
    }
}

/// Writes the sentence that says what matters most.
fn write_headline((sentence, is_alarm): (String, bool), page: &mut TextPage) {
    page.wrapped(0, if is_alarm { ALARM } else { BOLD }, &sentence);
}

/// The sentence, and whether something was answered.
pub(crate) fn headline(report: &ReportModel<'_>) -> (String, bool) {
    let (totals, hits) = (&report.totals, report.totals.sum.hits);
    let clients = || counted_more(totals.clients, totals.has_more_clients, "client", "clients");
    let unknown = totals.outcomes[Outcome::Unknown as usize];
    let has_no_status = hits > 0 && unknown == hits;
    let probes = || format!("{} from {}", counted(hits, "probe", "probes"), clients());
    let result = match (totals.answered, hits) {
        (0, 0)
            if totals.sum.lines == 0
                && report
                    .inputs
                    .iter()
                    .any(|input| input.skipped_whole.is_some()) =>
        {
            "No line is in the time range".to_owned()
        }
        (0, 0) if totals.sum.lines == 0 => "The logs have no lines".to_owned(),
        (0, 0) if totals.sum.parsed == 0 => {
            format!(
                "None of {} could be parsed: probewatch cannot tell whether there were probes",
                counted_lines(report)
            )
        }
        (0, 0) if is_outside_of_range(report) => {
            format!("None of {} is in the time range", counted_lines(report))
        }
        (0, 0) if is_much(totals.sum.unparsed, totals.sum.lines) => {
            let unparsed = grouped(totals.sum.unparsed);
            format!(
                "No probes found; {unparsed} of {} are in no known format",
                counted_lines(report)
            )
        }
        (0, 0) => format!("No probes found in {}", counted_lines(report)),
        (0, _) if totals.sum.parsed == 0 => format!(
            "No line could be parsed: probewatch cannot tell what answered; {}",
            probes()
        ),
        (0, _) if has_no_status => format!(
            "The log has no status: probewatch cannot tell what answered; {}",
            probes()
        ),
        (0, _) if is_much(unknown, hits) => {
            let many = grouped(unknown);
            format!(
                "{many} of {} are in lines without a readable status: probewatch cannot tell whether they were answered",
                probes()
            )
        }
        (0, _) if totals.uncertain > 0 => {
            format!(
                "No answer stands out, {} uncertain; {}",
                are(report.uncertain.len() as u64),
                probes()
            )
        }
        (0, _) => format!("Nothing answered; {}", probes()),
        (1, 1) => format!(
            "The only probe was answered{}",
            worst_answer(report, ", and is")
        ),
        (answered, _) => {
            let was = if answered == 1 { "was" } else { "were" };
            format!(
                "{} of {} probes from {} {was} answered{}",
                grouped(answered),
                grouped(hits),
                clients(),
                worst_answer(report, ", the worst")
            )
        }
    };
    // More may have been answered than are known to be.
    let is_said = hits == 0 || totals.sum.parsed == 0 || is_much(unknown, hits);
    let in_doubt = if unknown > totals.answered && (totals.answered > 0 || !is_said) {
        let (are, lines) = if unknown == 1 {
            ("is", "a line")
        } else {
            ("are", "lines")
        };
        format!(
            "; {} of them {are} in {lines} without a readable status",
            grouped(unknown)
        )
    } else {
        String::new()
    };
    let damaged = report
        .inputs
        .iter()
        .filter(|input| input.problem.is_some())
        .count() as u64;
    let incomplete = match damaged {
        0 => String::new(),
        n => format!(
            "; {} could not be fully read",
            counted(n, "input", "inputs")
        ),
    };
    (
        format!("{result}{in_doubt}{incomplete}."),
        totals.answered > 0,
    )
}

/// Whether so many lines or probes are unknown that it may not go unsaid: one in a hundred. Fewer
/// are lines that broke, and clients that left before they got an answer.
pub(crate) fn is_much(unknown: u64, all: u64) -> bool {
    unknown > 0 && unknown * 100 >= all
}

/// Whether lines were parsed, and none of them is in the time range.
fn is_outside_of_range(report: &ReportModel<'_>) -> bool {
    let sum = &report.totals.sum;
    sum.parsed > 0 && sum.requests == 0 && sum.unparsed == 0
}

fn counted_lines(report: &ReportModel<'_>) -> String {
    counted(report.totals.sum.lines, "line", "lines")
}

fn are(answers: u64) -> String {
    if answers == 1 {
        "1 is".to_owned()
    } else {
        format!("{} are", grouped(answers))
    }
}

/// The severity of the worst answer, after `words`.
fn worst_answer(report: &ReportModel<'_>, words: &str) -> String {
    let worst = report.answered.iter().map(|row| row.severity).max();
    worst.map_or_else(String::new, |severity| format!("{words} {severity}"))
}

/// Columns of the longest address; a longer text is cut.
const ADDRESS: usize = 39;

/// Columns of classes: a scanner has thirty.
const LOOKS_FOR: usize = 40;

/// Columns of a host, or of the end of a log's path.
const SITE: usize = 30;

/// Columns of the name of an autonomous system.
const NETWORK: usize = 24;

/// Columns of most rule IDs.
const RULE: usize = 28;

fn write_answered(report: &ReportModel<'_>, page: &mut TextPage) {
    let detail = |row: &Row<'_>, cell: &dyn Fn(&AnswerDetail<'_>) -> String| {
        row.answer.as_deref().map(cell).unwrap_or_default()
    };
    let several = report
        .answered
        .windows(2)
        .any(|pair| pair[0].key.site() != pair[1].key.site());
    Grid::new(first(&report.answered, Some(page.top)))
        .text("severity", severity)
        .text(
            "site", // If there are several.
            |row| row.key.site().filter(|_| several).unwrap_or_default(),
        )
        .rank(1)
        .flexible(12)
        .max_width(SITE)
        .keep_end()
        .text("path", |row| styled(grades::first_path(row), BOLD))
        .flexible(16)
        .number("paths", |row| detail(row, &|a| members(a.members.len())))
        .text("status", |row| detail(row, &|a| a.joined_statuses(" ")))
        .number("bytes", |row| {
            detail(row, &|a| a.bytes.map_or_else(|| "-".to_owned(), grouped))
        })
        .text("method", |row| {
            detail(row, &|a| a.method.as_str().to_owned())
        })
        .rank(6)
        .text("rule", |row| {
            labels::worst_rule(report.rule_set, &row.rules)
        })
        .rank(2)
        .max_width(RULE)
        .count("hits", |row| row.hits)
        .rank(1)
        .text("client", |row| detail(row, &|a| clients(a, row.clients)))
        .rank(3)
        .max_width(ADDRESS)
        .text("last seen", |row| time(report, row.last_time))
        .rank(4)
        .text("why", |row| styled(detail(row, &grades::why), DIM))
        .rank(5)
        .flexible(24)
        .section(
            "WHAT ANSWERED",
            report.answered.len(),
            "-f csv --by answer",
            page,
        );
    if page.full {
        for leak in first(&report.answered, Some(page.top))
            .iter()
            .filter_map(grades::members)
        {
            page.wrapped(2, DIM, &leak);
        }
    }
    // A command is to be copied, so it is not cut; one that is wider than the page is left out.
    if (page.full || page.width >= WIDE)
        && let Some(command) = report.answered.first().and_then(grades::command)
        && command.len() + 2 <= page.width
    {
        page.line(&format!("  {}", page.painter.paint(DIM, command)));
    }
}

/// The number of paths of a leak that has several.
fn members(count: usize) -> String {
    if count > 1 {
        grouped(count as u64)
    } else {
        String::new()
    }
}

/// The least width of a page with a command.
const WIDE: usize = 120;

/// The address of a single client, or the number of clients.
fn clients(answer: &AnswerDetail<'_>, clients: u64) -> String {
    match answer.client {
        Some(client) => client.redacted().into_owned(),
        None => counted(clients, "client", "clients"),
    }
}

fn write_clients(report: &ReportModel<'_>, page: &mut TextPage) {
    Grid::new(first(&report.clients, Some(page.top)))
        .text("severity", severity)
        .text("client", client)
        .max_width(ADDRESS)
        .text("country", |row| labels::country(row.geo.as_deref()))
        .rank(3)
        .text("network", |row| labels::network(row.geo.as_deref()))
        .rank(4)
        .flexible(16)
        .max_width(NETWORK)
        .count("hits", |row| row.hits)
        .count("paths", |row| row.paths)
        .rank(4)
        .number("answered", |row| count(row.answered, true))
        .rank(1)
        .count("other requests", |row| row.other_requests)
        .rank(2)
        .text("last seen", |row| time(report, row.last_time))
        .rank(5)
        .text("looks for", |row| {
            labels::classes(report.rule_set, &row.rules).join(", ")
        })
        .rank(3)
        .flexible(12)
        .max_width(LOOKS_FOR)
        .text("user agent", |row| {
            styled(row.sample.user_agent.unwrap_or_default(), DIM)
        })
        .rank(6)
        .flexible(20)
        .section(
            "CLIENTS",
            report.totals.clients as usize,
            "-f csv --by client",
            page,
        );
}

/// Writes the networks, if any is known.
fn write_networks(report: &ReportModel<'_>, page: &mut TextPage) {
    if report.networks.iter().all(|row| row.asn.is_none()) {
        return;
    }
    Grid::new(first(&report.networks, Some(page.top)))
        .text("AS", |row| {
            row.asn
                .map_or_else(|| "-".to_owned(), |asn| asn.to_string())
        })
        .rank(1)
        .text("network", |row| network_name(row))
        .flexible(16)
        .max_width(2 * NETWORK)
        .count("hits", |row| row.hits)
        .count("clients", |row| row.clients)
        .count("answered", |row| row.answered)
        .rank(2)
        .text("countries", |row| row.countries.join(" "))
        .rank(3)
        .flexible(9)
        .max_width(NETWORK)
        .section("NETWORKS", report.networks.len(), "-f json", page);
}

/// Days with hits, the latest first: of many days the first rows are shown.
fn write_days(report: &ReportModel<'_>, page: &mut TextPage) {
    let days: Vec<&DayRow> = report
        .days
        .iter()
        .rev()
        .filter(|day| day.hits > 0)
        .collect();
    Grid::new(first(&days, Some(page.top)))
        .text("day (UTC)", |row| row.date())
        .count("hits", |row| row.hits)
        .count("requests", |row| row.requests)
        .number("share", |row| row.share())
        .count("clients", |row| row.clients)
        .section("DAYS", days.len(), "-f json", page);
}

fn network_name(row: &NetworkRow) -> Cow<'_, str> {
    let unnamed = if row.asn.is_some() { "-" } else { "unknown" };
    labels::geo_name(row.as_name.as_ref()).unwrap_or(Cow::Borrowed(unnamed))
}

fn write_paths(report: &ReportModel<'_>, page: &mut TextPage) {
    Grid::new(first(&report.paths, Some(page.top)))
        .text("severity", severity)
        .text("path", Row::path_or_target)
        .flexible(32)
        .count("hits", |row| row.hits)
        .count("clients", |row| row.clients)
        .rank(1)
        .number("answered", |row| count(row.answered, true))
        .rank(2)
        .text("rule", |row| {
            labels::worst_rule(report.rule_set, &row.rules)
        })
        .rank(4)
        .max_width(RULE)
        .text("last seen", |row| time(report, row.last_time))
        .rank(5)
        .text("as requested", target)
        .rank(6)
        .flexible(24)
        .section(
            "PATHS",
            report.totals.paths as usize,
            "-f csv --by path",
            page,
        );
}

fn write_rules(report: &ReportModel<'_>, page: &mut TextPage) {
    let of = |row: &Row<'_>| row.key.rule().map(|rule| report.rule_set.rule(rule));
    Grid::new(first(&report.rules, Some(page.top)))
        .text("severity", severity)
        .text("rule", |row| of(row).map_or("", |rule| &rule.id))
        .flexible(20)
        .count("hits", |row| row.hits)
        .count("clients", |row| row.clients)
        .rank(1)
        .count("paths", |row| row.paths)
        .rank(4)
        .number("answered", |row| count(row.answered, true))
        .rank(2)
        .text("last seen", |row| time(report, row.last_time))
        .rank(5)
        .text("what it finds", |row| {
            of(row).map_or("", |rule| &rule.title)
        })
        .rank(3)
        .flexible(20)
        .text("cve", cve)
        .rank(6)
        .section(
            "RULES",
            report.totals.rules as usize,
            "-f csv --by rule",
            page,
        );
}

fn write_pairs(report: &ReportModel<'_>, page: &mut TextPage) {
    Grid::new(first(&report.pairs, Some(page.top)))
        .text("severity", severity)
        .text("client", |row| client(row))
        .rank(1)
        .max_width(ADDRESS)
        .text("path", Row::path_or_target)
        .flexible(20)
        .text("outcome", |row| {
            let outcome = row.key.outcome().map_or("", Outcome::as_str);
            styled(outcome, emphasis(row.answered > 0))
        })
        .rank(2)
        .count("hits", |row| row.hits)
        .rank(1)
        .text("rule", |row| {
            labels::worst_rule(report.rule_set, &row.rules)
        })
        .rank(4)
        .max_width(RULE)
        .text("last seen", |row| time(report, row.last_time))
        .rank(5)
        .text("as requested", target)
        .rank(6)
        .flexible(24)
        .section(
            "CLIENTS AND PATHS",
            report.pairs.len(),
            "-f csv --by pair",
            page,
        );
}

fn write_campaigns(report: &ReportModel<'_>, page: &mut TextPage) {
    let paths = |campaign: &Campaign<'_>| labels::joined(&campaign.sample_paths);
    Grid::new(first(&report.campaigns, Some(page.top)))
        .text("severity", |c| severity_word(c.severity, c.answered > 0))
        .count("networks", |c| c.networks)
        .count("clients", |c| c.clients)
        .rank(1)
        .count("paths", |c| c.paths)
        .count("hits", |c| c.hits)
        .rank(2)
        .text("last seen", |c| time(report, c.last_time))
        .rank(3)
        .text("such as", paths)
        .flexible(20)
        .section("CAMPAIGNS", report.campaigns.len(), "-f json", page);
}

/// Writes a sentence for each site that answers anything, whose answers are not in the first
/// section, and the uncertain answers.
fn write_grades(report: &ReportModel<'_>, page: &mut TextPage) {
    let sites = first(&report.soft_404, Some(page.top));
    page.paragraph(sites.iter().map(grades::sentence));
    page.more(
        report.soft_404.len(),
        [" that answers anything", " that answer anything"],
        "-f json",
    );
    write_uncertain(report, page);
}

/// Writes a line for each campaign that guesses passwords, and for each flood.
fn write_floods(report: &ReportModel<'_>, page: &mut TextPage) {
    let shown = first(&report.floods, Some(page.top));
    let guesses = campaigns::guess_sentences(report);
    page.paragraph(guesses.chain(shown.iter().map(floods::describe)));
    page.more(report.floods.len(), [" flood", " floods"], "-f json");
}

/// Writes a note for each detected app, and for each allow entry that matched.
fn write_suppressed(report: &ReportModel<'_>, page: &mut TextPage) {
    let apps = first(&report.apps, Some(page.top));
    page.paragraph(apps.iter().map(app_note));
    page.more(report.apps.len(), [" app", " apps"], "-f json");
    let used: Vec<_> = report
        .allowed
        .iter()
        .filter(|entry| entry.requests > 0)
        .collect();
    let shown = first(&used, Some(page.top)).iter().copied();
    page.paragraph(shown.map(allowed_note));
    page.more(used.len(), [" allow entry", " allow entries"], "-f json");
}

fn app_note(seen: &AppSeen<'_>) -> String {
    let site = seen
        .site
        .map_or_else(|| " here (--app)".to_owned(), |site| format!(" on {site}"));
    let title = escape(seen.title.as_bytes());
    match seen.silenced {
        0 => format!(
            "{title} runs{site}: a request for one of its own pages is no probe there. There was none."
        ),
        n => {
            let many = counted(
                n,
                "request for its own pages is",
                "requests for its own pages are",
            );
            format!(
                "{title} runs{site}: {many} no probes and left out; --min-severity info shows them."
            )
        }
    }
}

fn allowed_note(entry: &AllowedCount<'_>) -> String {
    let many = counted(entry.requests, "request", "requests");
    format!(
        "Allowed by {}:{}, {}: {many} left out.",
        escape(entry.file.as_bytes()),
        entry.line,
        escape(entry.reason.as_bytes())
    )
}

/// Writes the number of uncertain answers, and the first three paths.
fn write_uncertain(report: &ReportModel<'_>, page: &mut TextPage) {
    /// Paths that are named.
    const SHOWN: usize = 3;
    let rows = &report.uncertain;
    if rows.is_empty() {
        return;
    }
    // Several hosts may have answered one path.
    let mut paths = Vec::new();
    for path in rows.iter().filter_map(|row| row.key.path()) {
        if paths.len() <= SHOWN && !paths.contains(&path) {
            paths.push(path);
        }
    }
    let more = if paths.len() > SHOWN { ", …" } else { "" };
    paths.truncate(SHOWN);
    let are = if rows.len() == 1 { "is" } else { "are" };
    let see = if page.is_live { "" } else { ", see -f json" };
    page.note(&format!(
        "{} {are} uncertain{see}: {}{more}",
        counted(rows.len() as u64, "answer", "answers"),
        paths
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    ));
}

impl<T> Grid<'_, T> {
    /// Writes the first of `all` rows under a title, and how to see the others.
    fn section(&self, title: &str, all: usize, format: &str, page: &mut TextPage) {
        if all > 0 {
            page.heading(title);
            self.write(page);
            page.more(all, [""; 2], format);
        }
    }
}

/// The severity, in colour only if something answered.
fn severity(row: &Row<'_>) -> TextCell {
    severity_word(row.severity, row.answered > 0)
}

fn severity_word(severity: Severity, is_answered: bool) -> TextCell {
    styled(
        severity.as_str(),
        if is_answered {
            layout::severity_style(severity)
        } else {
            PLAIN
        },
    )
}

fn client<'r>(row: &Row<'r>) -> Cow<'r, str> {
    row.key.client().map(Client::redacted).unwrap_or_default()
}

/// The target as requested, if it is not the path.
fn target(row: &Row<'_>) -> TextCell {
    styled(row.target_beside_path().unwrap_or_default(), DIM)
}

/// The first CVE ID and the number of others: a cut ID would be useless.
fn cve(row: &Row<'_>) -> String {
    match row.about.cves.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [one, more @ ..] => format!("{one} +{}", more.len()),
    }
}

/// A count; a zero is dim.
fn count(n: u64, is_important: bool) -> TextCell {
    styled(
        grouped(n),
        if n == 0 { DIM } else { emphasis(is_important) },
    )
}

fn time(report: &ReportModel<'_>, time: Option<LogTime>) -> TextCell {
    styled(
        time.map(|time| minute_in(time, report.zone()))
            .unwrap_or_default(),
        DIM,
    )
}

/// A row of the table: an input, or the sum of all.
struct AccountingLine<'r> {
    name: Cow<'r, str>,
    counts: &'r LineTotals,
    format: &'r str,
    is_sum: bool,
}

/// Writes the section, the problems and the summary line.
fn write_accounting(report: &ReportModel<'_>, page: &mut TextPage) {
    let lines = accounting_lines(report, if page.full { usize::MAX } else { page.top });
    page.heading("WHERE EACH LINE WENT");
    accounting_grid(&lines).write(page);
    write_notes(report, page);
    let sum = &report.totals.sum;
    let last = format!(
        "{}, {} in {}",
        counted(sum.lines, "line", "lines"),
        size(sum.bytes),
        seconds(report.elapsed)
    );
    page.line("");
    page.wrapped(0, DIM, &last);
}

/// Writes the problems, the summary line, and how to see more.
fn write_short_accounting(report: &ReportModel<'_>, page: &mut TextPage) {
    write_notes(report, page);
    let sum = &report.totals.sum;
    let rest: Vec<_> = sum
        .parts()
        .into_iter()
        .skip(1)
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!(", {} {what}", grouped(n)))
        .collect();
    let inputs = match report.inputs.len() {
        1 => String::new(),
        n => format!(" of {}", counted(n as u64, "input", "inputs")),
    };
    let lines = counted(sum.lines, "line", "lines");
    let read = format!(
        "{lines}{inputs}: {} parsed{}",
        grouped(sum.parsed),
        rest.concat()
    );
    page.line("");
    page.wrapped(
        0,
        DIM,
        &format!("{read}; {} in {}", size(sum.bytes), seconds(report.elapsed)),
    );
    if sum.hits > 0 && !page.is_live {
        let more = "--full shows paths, rules, campaigns and each input.";
        page.wrapped(0, DIM, more);
    }
}

/// The inputs, or only those with a problem if there are more than `top`; and the sum of all.
fn accounting_lines<'r>(report: &'r ReportModel<'_>, top: usize) -> Vec<AccountingLine<'r>> {
    let many = report.inputs.len() > top;
    let shown = report
        .inputs
        .iter()
        .filter(|input| !many || input.remarks().next().is_some())
        .take(top);
    let mut lines: Vec<_> = shown
        .map(|input| AccountingLine {
            name: escape(&input.path),
            counts: &input.counts,
            format: format_name(input),
            is_sum: false,
        })
        .collect();
    if report.inputs.len() != 1 {
        let name = format!(
            "all {}",
            counted(report.inputs.len() as u64, "input", "inputs")
        );
        lines.push(AccountingLine {
            name: name.into(),
            counts: &report.totals.sum,
            format: "",
            is_sum: true,
        });
    }
    lines
}

/// A column of the table: its head, and its count.
type CountColumn = (&'static str, fn(&LineTotals) -> u64);

fn accounting_grid<'g>(lines: &'g [AccountingLine<'g>]) -> Grid<'g, AccountingLine<'g>> {
    let mut grid = Grid::new(lines)
        .text("input", |line| styled(&*line.name, emphasis(line.is_sum)))
        .flexible(INPUT.max(distinct_end(lines)))
        .keep_end();
    let counts: [CountColumn; 6] = [
        ("lines", |counts| counts.lines),
        ("parsed", |counts| counts.parsed),
        ("unparsed", |counts| counts.unparsed),
        ("oversized", |counts| counts.oversized),
        ("skipped", |counts| counts.skipped),
        ("pending", |counts| counts.pending),
    ];
    for (name, field) in counts {
        // A column of zeros is left out before the other counts.
        let is_zero = lines.iter().all(|line| field(line.counts) == 0);
        grid = grid
            .number(name, |line| count(field(line.counts), line.is_sum))
            .rank(if is_zero { 4 } else { 1 });
    }
    grid.number("hits", |line| count(line.counts.hits, line.is_sum))
        .rank(5)
        .text("format", |line| styled(line.format, DIM))
        .rank(6)
}

/// The least columns of an input's name, of which the end is shown.
const INPUT: usize = 12;

/// The columns that show the ends of two names differently, with the `…` before them:
/// `access.log.1.gz` of two folders needs more than its name. At most half a narrow page.
fn distinct_end(lines: &[AccountingLine<'_>]) -> usize {
    let mut reversed: Vec<String> = lines
        .iter()
        .map(|line| line.name.chars().rev().collect())
        .collect();
    reversed.sort_unstable();
    let common = |pair: &[String]| {
        pair[0]
            .chars()
            .zip(pair[1].chars())
            .take_while(|(a, b)| a == b)
            .count()
    };
    reversed
        .windows(2)
        .map(|pair| common(pair) + 2)
        .max()
        .unwrap_or(0)
        .min(layout::MIN_WIDTH / 2)
}

fn format_name(input: &InputSummary) -> &str {
    input
        .format
        .as_deref()
        .unwrap_or(if input.skipped_whole.is_some() {
            "not read"
        } else {
            ""
        })
}

fn emphasis(is_important: bool) -> Style {
    if is_important { BOLD } else { PLAIN }
}

/// Writes problems of inputs, skipped inputs, and which counts are bounds.
fn write_notes(report: &ReportModel<'_>, page: &mut TextPage) {
    let mut problems = Vec::new();
    for input in &report.inputs {
        problems.extend(input.remarks().map(|remark| (&input.path, remark)));
    }
    for (i, (path, problem)) in problems.iter().take(page.top).enumerate() {
        if i == 0 {
            page.line("");
        }
        page.wrapped(2, WARNING, &format!("{}: {problem}", escape(path)));
    }
    page.more(problems.len(), [" with a problem"; 2], "");
    let notes = [
        without_time(report.totals.without_time),
        skipped_sentence(&report.inputs),
        report.proxied_sentence(),
        report.approximate.as_ref().map(accuracy_note),
    ];
    for note in notes.iter().flatten() {
        page.note(note);
    }
}

/// Says that lines without a time were kept, if there are any.
pub(super) fn without_time(lines: u64) -> Option<String> {
    let many = counted(
        lines,
        "line without a time was",
        "lines without a time were",
    );
    (lines > 0).then(|| format!("{many} kept: --since and --until need one."))
}

/// The differences of two reports, if any, and the notes, as text.
pub(crate) fn diff(rows: &[DiffRow], notes: &[String], options: &RenderOptions) -> String {
    let mut page = TextPage::new(options);
    write_headline(diff_headline(rows), &mut page);
    for of_kind in rows.chunk_by(|a, b| a.kind == b.kind) {
        page.heading(diff_title(of_kind[0].kind));
        diff_grid(first(of_kind, Some(page.top))).write(&mut page);
        page.more(of_kind.len(), [""; 2], "-f csv");
    }
    for note in notes {
        page.note(note);
    }
    page.text
}

/// The sentence, and whether there is a new answer.
fn diff_headline(rows: &[DiffRow]) -> (String, bool) {
    if rows.is_empty() {
        return ("No difference.".into(), false);
    }
    let new = |kind| {
        rows.iter()
            .filter(|row| row.kind == kind && row.change == Change::New)
            .count() as u64
    };
    let now = |fates: &[AnswerNow]| {
        rows.iter()
            .filter(|row| matches!(row.change, Change::Now(fate) if fates.contains(&fate)))
            .count() as u64
    };
    let mut parts = Vec::new();
    let mut add = |n, one: &str, many: &str| {
        if n > 0 {
            parts.push(counted(n, one, many));
        }
    };
    add(
        new(ItemKind::Answer),
        "path answers that did not",
        "paths answer that did not",
    );
    add(
        now(&[AnswerNow::Refused, AnswerNow::Unanswered]),
        "path no longer answers",
        "paths no longer answer",
    );
    let no_longer_distinct = now(&[
        AnswerNow::Uncertain,
        AnswerNow::Soft404,
        AnswerNow::Ordinary,
    ]);
    add(
        no_longer_distinct,
        "answer is no longer distinct",
        "answers are no longer distinct",
    );
    add(
        now(&[AnswerNow::NotRequested]),
        "path that answered was not requested",
        "paths that answered were not requested",
    );
    add(new(ItemKind::Rule), "new rule", "new rules");
    add(new(ItemKind::Path), "new path", "new paths");
    add(new(ItemKind::Client), "new client", "new clients");
    let rest = || counted(rows.len() as u64, "count differs", "counts differ");
    (
        format!(
            "{}.",
            if parts.is_empty() {
                rest()
            } else {
                parts.join(", ")
            }
        ),
        new(ItemKind::Answer) > 0,
    )
}

fn diff_title(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Answer => "WHAT ANSWERS",
        ItemKind::Rule => "RULES",
        ItemKind::Path => "PATHS",
        ItemKind::Client => "CLIENTS",
        ItemKind::Campaign => "CAMPAIGNS",
    }
}

fn diff_grid(rows: &[DiffRow]) -> Grid<'_, DiffRow> {
    Grid::new(rows)
        .text("change", |row| {
            styled(change_words(row), emphasis(row.change == Change::New))
        })
        .text("severity", |row| {
            styled(row.severity.as_str(), layout::severity_style(row.severity))
        })
        .rank(2)
        .text(rows.first().map_or("", |row| row.kind.as_str()), |row| {
            styled(&row.key, emphasis(row.change == Change::New))
        })
        .flexible(20)
        .number("before", |row| grouped(row.before))
        .rank(1)
        .number("after", |row| grouped(row.after))
        .rank(1)
}

/// The change in words, with the status if it is not answered any more.
fn change_words(row: &DiffRow) -> String {
    let word = row.change.as_str().replace('_', " ");
    match (row.change, row.status) {
        (Change::Now(AnswerNow::Refused | AnswerNow::Unanswered), Some(status)) => {
            format!("{word} {status}")
        }
        _ => word,
    }
}

/// How far logs were read, as text.
pub(crate) fn status(status: &ReadStatus, options: &RenderOptions) -> String {
    let mut page = TextPage::new(options);
    page.wrapped(0, BOLD, &status_headline(status));
    if let Some((number, folders)) = &status.last_run {
        let last = format!(
            "The last report is from run {number}: {}",
            folders.join(", ")
        );
        page.wrapped(0, DIM, &last);
    }
    if !status.logs.is_empty() {
        page.heading("LOGS");
        status_grid(&status.logs).write(&mut page);
    }
    page.text
}

fn status_headline(status: &ReadStatus) -> String {
    let lagging = status.logs.iter().filter(|log| log.lag > 0).count() as u64;
    let lag: u64 = status.logs.iter().map(|log| log.lag).sum();
    match (status.logs.len() as u64, lagging) {
        (0, _) => "No log has been read yet.".to_owned(),
        (all, 0) => format!("{} read to the end.", counted(all, "log was", "logs were")),
        (all, lagging) => format!(
            "{} not read yet, in {lagging} of {}.",
            size(lag),
            counted(all, "log", "logs")
        ),
    }
}

fn status_grid(logs: &[LogStatus]) -> Grid<'_, LogStatus> {
    Grid::new(logs)
        .text("log", |log| escape(&log.path))
        .flexible(12)
        .keep_end()
        .text("state", |log| {
            styled(
                log.stage.as_str(),
                if log.stage == LogStage::Live {
                    PLAIN
                } else {
                    DIM
                },
            )
        })
        .number("lines read", |log| grouped(log.lines))
        .rank(1)
        .number("bytes read", |log| grouped(log.read))
        .rank(2)
        .number("not read", |log| {
            styled(grouped(log.lag), if log.lag == 0 { DIM } else { BOLD })
        })
        .text("", |log| {
            if log.pending {
                "last line incomplete"
            } else {
                ""
            }
        })
        .rank(3)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::OutputFormat;
    use super::*;
    use crate::render::layout::MIN_WIDTH;
    use crate::report::fixture;

    fn table(model: &ReportModel<'_>, options: RenderOptions) -> String {
        report(model, &options)
    }

    fn wide(width: u16) -> RenderOptions {
        RenderOptions {
            format: OutputFormat::Table,
            width,
            ..RenderOptions::default()
        }
    }

    #[test]
    fn tables_at_every_width() {
        let rules = fixture::rules();
        let report = fixture::report(rules);
        insta::assert_snapshot!("80", table(&report, wide(80)));
        insta::assert_snapshot!("120", table(&report, wide(120)));
        insta::assert_snapshot!("200", table(&report, wide(200)));
    }

    #[test]
    fn clients_have_their_country_and_network_where_there_is_room() {
        let rules = fixture::rules();
        let report = fixture::report_with_networks(rules);
        insta::assert_snapshot!("networks_80", table(&report, wide(80)));
        let wide_text = table(
            &report,
            RenderOptions {
                full: true,
                ..wide(160)
            },
        );
        for part in [
            "country  network ",
            "DE       Example Hosting",
            "\nNETWORKS\n",
            "64500  Example Hosting and Colocation GmbH  1,200",
        ] {
            assert!(wide_text.contains(part), "{part} in {wide_text}");
        }
        for width in 40..260 {
            for full in [false, true] {
                for line in table(
                    &report,
                    RenderOptions {
                        full,
                        ..wide(width)
                    },
                )
                .lines()
                {
                    assert!(layout::width(line) <= width.into(), "{width}: {line}");
                }
            }
        }
    }

    #[test]
    fn by_prints_one_section() {
        let rules = fixture::rules();
        let report = fixture::report(rules);
        insta::assert_snapshot!(
            "pairs",
            table(
                &report,
                RenderOptions {
                    by: Some(GroupBy::Pair),
                    top: Some(5),
                    ..wide(100)
                }
            )
        );
        for (by, title) in [
            (GroupBy::Client, "CLIENTS"),
            (GroupBy::Path, "PATHS"),
            (GroupBy::Rule, "RULES"),
        ] {
            let text = table(
                &report,
                RenderOptions {
                    by: Some(by),
                    ..wide(80)
                },
            );
            let titles: Vec<_> = text
                .lines()
                .filter(|line| {
                    line.starts_with(char::is_uppercase) && !line.contains(char::is_lowercase)
                })
                .collect();
            assert_eq!(titles, [title, "WHERE EACH LINE WENT"]);
        }
    }

    #[test]
    fn a_report_without_hits_is_short() {
        let rules = fixture::rules();
        insta::assert_snapshot!("quiet", table(&fixture::empty(rules), wide(80)));
    }

    #[test]
    fn colour_does_not_change_the_text() {
        let rules = fixture::rules();
        let report = fixture::report(rules);
        let colored = table(
            &report,
            RenderOptions {
                color: true,
                ..wide(80)
            },
        );
        assert!(colored.contains("\u{1b}[1m\u{1b}[31mcritical\u{1b}[0m"));
        let bare = regex::Regex::new("\u{1b}\\[[0-9;]*m")
            .unwrap()
            .replace_all(&colored, "")
            .into_owned();
        assert_eq!(bare, table(&report, wide(80)));
        assert!(!bare.contains(|c: char| c.is_control() && c != '\n'));
    }

    #[test]
    fn the_short_table_fits_the_screen_and_fills_it() {
        let rules = fixture::rules();
        let report = fixture::report(rules);
        let of_screen = |width, height| {
            table(
                &report,
                RenderOptions {
                    height,
                    ..wide(width)
                },
            )
        };
        for width in [40, 60, 80, 120, 200] {
            for height in 4..=70 {
                let text = of_screen(width, height);
                let (lines, answers) = (
                    text.lines().count(),
                    text.matches("\n  critical").count() + text.matches("\n  high").count(),
                );
                assert!(
                    lines < height.into() || answers <= 1,
                    "{width} x {height}: {lines} lines\n{text}"
                );
            }
        }
        assert_eq!(
            of_screen(100, 0),
            of_screen(100, 24),
            "without a terminal a table has 24 lines"
        );
        assert!(
            !of_screen(200, 60).contains("more:"),
            "all rows are shown where there is room"
        );
    }

    #[test]
    fn the_summary_of_follow_names_only_its_flags() {
        let report = fixture::report(fixture::rules());
        let text = table(
            &report,
            RenderOptions {
                is_live: true,
                top: Some(1),
                ..wide(120)
            },
        );
        let flag = regex::Regex::new("(?:^|[ (])(--?[a-z][a-z-]*)").unwrap();
        let lines = text.lines().filter(|line| !line.starts_with("  curl "));
        let flags: BTreeSet<_> = lines
            .flat_map(|line| flag.captures_iter(line))
            .map(|found| found[1].to_owned())
            .collect();
        assert_eq!(Vec::from_iter(flags), ["--min-severity", "--top"], "{text}");
    }

    #[test]
    fn lines_fit_every_width() {
        let rules = fixture::rules();
        let report = fixture::report(rules);
        for width in (0..260).chain([u16::MAX]) {
            for by in [None, Some(GroupBy::Pair), Some(GroupBy::Client)] {
                let page = if width == 0 {
                    80
                } else {
                    usize::from(width).max(MIN_WIDTH)
                };
                for line in table(&report, RenderOptions { by, ..wide(width) }).lines() {
                    assert!(layout::width(line) <= page, "{width}: {line}");
                    assert_eq!(line.trim_end(), line);
                }
            }
        }
    }

    #[test]
    fn many_inputs_are_summed() {
        let rules = fixture::rules();
        let mut report = fixture::report(rules);
        let intact = report.inputs[0].clone();
        report.inputs.extend(std::iter::repeat_n(intact, 20));
        let text = table(
            &report,
            RenderOptions {
                full: true,
                ..wide(120)
            },
        );
        assert!(text.contains("all 22 inputs"));
        assert_eq!(
            text.matches("\n  /var/log/nginx/access.log ").count(),
            21,
            "--full shows each input: {text}"
        );
        assert!(text.contains("access.log.2.gz: the archive ends"));
        assert!(
            table(
                &report,
                RenderOptions {
                    top: Some(0),
                    ..wide(80)
                }
            )
            .contains("… and 1 more with a problem: --top 1")
        );
    }

    #[test]
    fn headlines() {
        let rules = fixture::rules();
        let mut report = fixture::report(rules);
        report.inputs.truncate(1);
        let mut of_counts = |hits, answered| {
            (report.totals.sum.hits, report.totals.answered) = (hits, answered);
            headline(&report).0
        };
        assert_eq!(
            of_counts(1204, 3),
            "3 of 1,204 probes from 18 clients were answered, the worst critical."
        );
        assert_eq!(
            of_counts(2, 1),
            "1 of 2 probes from 18 clients was answered, the worst critical."
        );
        assert_eq!(
            of_counts(1, 1),
            "The only probe was answered, and is critical."
        );
        assert_eq!(
            of_counts(1204, 0),
            "Nothing answered; 1,204 probes from 18 clients; 1 of them is in a line without a readable \
             status."
        );
        assert_eq!(of_counts(0, 0), "No probes found in 1,234,868 lines.");
        report.totals.sum.unparsed = 20_000;
        assert_eq!(
            headline(&report).0,
            "No probes found; 20,000 of 1,234,868 lines are in no known format."
        );
        (report.totals.sum.unparsed, report.totals.sum.requests) = (0, 0);
        assert_eq!(
            headline(&report).0,
            "None of 1,234,868 lines is in the time range."
        );
        report.totals.outcomes = [0; 8];
        (
            report.totals.sum.hits,
            report.totals.outcomes[Outcome::Unknown as usize],
        ) = (200, 2);
        let unknown = "2 of 200 probes from 18 clients are in lines without a readable status: probewatch cannot tell whether they were \
                       answered.";
        assert_eq!(headline(&report).0, unknown);
        report.totals.answered = 1;
        let in_doubt = "1 of 200 probes from 18 clients was answered, the worst critical; 2 of them are in lines without a readable \
                        status.";
        assert_eq!(headline(&report).0, in_doubt);
        (
            report.totals.answered,
            report.totals.outcomes[Outcome::Unknown as usize],
        ) = (0, 1);
        assert_eq!(
            headline(&report).0,
            "Nothing answered; 200 probes from 18 clients; 1 of them is in a line without a readable \
             status."
        );
        report.totals.sum.hits = 0;
        report.totals.sum.lines = 0;
        assert_eq!(headline(&report), ("The logs have no lines.".into(), false));
        report.inputs[0].problem = Some("gone".into());
        assert_eq!(
            headline(&report).0,
            "The logs have no lines; 1 input could not be fully read."
        );
    }

    fn shown(read: &ReadStatus, width: u16) -> String {
        let options = RenderOptions {
            width,
            ..RenderOptions::default()
        };
        status(read, &options)
    }

    #[test]
    fn prints_how_much_is_not_read() {
        let log = |path: &str, stage, lag| LogStatus {
            path: path.into(),
            stage,
            lines: 12_345,
            read: 1_234_567,
            lag,
            pending: lag > 0,
        };
        let logs = vec![
            log("/var/log/nginx/access.log", LogStage::Live, 4_096),
            log("/var/log/nginx/access.log.1", LogStage::Done, 0),
        ];
        let status = ReadStatus {
            last_run: Some((12, vec!["000012-20261121T000500Z".into()])),
            logs,
        };
        insta::assert_snapshot!(shown(&status, 100));
        assert!(
            shown(&status, 40)
                .lines()
                .all(|line| line.chars().count() <= 40)
        );
        assert_eq!(
            shown(&ReadStatus::default(), 80),
            "No log has been read yet.\n"
        );
    }
}
