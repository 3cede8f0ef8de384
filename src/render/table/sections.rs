//! The sections of a report, with their columns and the order in which columns are left out on a narrow page.
//!
//! Rows are sorted already; a section prints the first `--top` of them and says how to see the rest.

use std::borrow::Cow;
use std::io::{self, Write};

use super::TablePage;
use crate::analysis::floods;
use crate::analysis::labels::{self, first};
use crate::analysis::model::{AllowedCount, AnswerDetail, AppSeen, Campaign, NetworkRow, Report, Row, RowKey};
use crate::finding::{RuleId, Severity};
use crate::number::{counted, grouped};
use crate::redact::mask::redacted;
use crate::redact::sanitize::escape;
use crate::render::grades;
use crate::render::layout::{Cell, Column, Grid, write_wrapped};
use crate::render::style::{self, BOLD, DIM};
use crate::rules::RuleSet;
use crate::time::LogTime;

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

pub(crate) fn write_answered<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    let detail = |row: &Row<'_>, cell: &dyn Fn(&AnswerDetail<'_>) -> Cell| row.answer.as_ref().map_or_else(|| Cell::new(""), cell);
    let several = report.answered.windows(2).any(|pair| site(&pair[0]) != site(&pair[1]));
    let grid = Grid::new(first(&report.answered, Some(page.top)))
        .column(Column::text("severity"), severity)
        .column(Column::text("site").rank(1).flexible(12).max_width(SITE).keep_end(), |row| site_cell(row, several))
        .column(Column::text("path").flexible(16), |row| path(row).styled(BOLD))
        .column(Column::text("status"), |row| detail(row, &|a| Cell::new(a.joined_statuses(" "))))
        .column(Column::number("bytes"), |row| detail(row, &|a| Cell::new(a.bytes.map_or_else(|| "-".to_owned(), grouped))))
        .column(Column::text("method").rank(6), |row| detail(row, &|a| Cell::new(a.method.as_str())))
        .column(Column::text("rule").rank(2).max_width(RULE), |row| rules(report.rule_set, &row.rules))
        .column(Column::number("hits").rank(1), |row| count(row.hits))
        .column(Column::text("client").rank(3).max_width(ADDRESS), |row| detail(row, &|a| clients(a, row.clients)))
        .column(Column::text("last seen").rank(4), |row| time(row.last_time))
        .column(Column::text("why").rank(5).flexible(24), |row| detail(row, &|a| Cell::new(grades::why(a)).styled(DIM)));
    section("WHAT ANSWERED", &grid, report.answered.len(), "-f csv --by answer", page, out)?;
    // A command is to be copied, so it is not cut; one that is wider than the page is left out.
    match report.answered.first().and_then(grades::command).filter(|command| command.len() + 2 <= page.width) {
        Some(command) if page.full || page.width >= WIDE => writeln!(out, "  {}", page.painter.paint(DIM, command)),
        _ => Ok(()),
    }
}

/// The least width of a page with a command.
const WIDE: usize = 120;

fn site<'r>(row: &Row<'r>) -> Option<&'r [u8]> {
    if let RowKey::Answer(.., site) = row.key { Some(site) } else { None }
}

/// The site, if there are several.
fn site_cell(row: &Row<'_>, several: bool) -> Cell {
    Cell::new(site(row).filter(|_| several).map_or_else(Cow::default, redacted))
}

/// The address of a single client, or the number of clients.
fn clients(answer: &AnswerDetail<'_>, clients: u64) -> Cell {
    Cell::new(answer.client.map_or_else(|| Cow::Owned(counted(clients, "client", "clients")), labels::client))
}

pub(crate) fn write_clients<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    let grid = Grid::new(first(&report.clients, Some(page.top)))
        .column(Column::text("severity"), severity)
        .column(Column::text("client").max_width(ADDRESS), client)
        .column(Column::text("country").rank(3), |row| Cell::new(labels::country(row.geo.as_deref())))
        .column(Column::text("network").rank(4).flexible(10).max_width(NETWORK), |row| Cell::new(labels::network(row.geo.as_deref())))
        .column(Column::number("hits"), |row| count(row.hits))
        .column(Column::number("paths").rank(4), |row| count(row.paths))
        .column(Column::number("answered").rank(1), |row| answers(row))
        .column(Column::number("other").rank(2), |row| count(row.other_requests))
        .column(Column::text("last seen").rank(5), |row| time(row.last_time))
        .column(Column::text("looks for").rank(3).flexible(12).max_width(LOOKS_FOR), |row| {
            Cell::new(labels::classes(report.rule_set, &row.rules).join(", "))
        })
        .column(Column::text("user agent").rank(6).flexible(20), |row| user_agent(row));
    section("CLIENTS", &grid, report.totals.clients as usize, "-f csv --by client", page, out)
}

/// Writes the networks, if any is known.
pub(crate) fn write_networks<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    if report.networks.iter().all(|row| row.asn.is_none()) {
        return Ok(());
    }
    let grid = Grid::new(first(&report.networks, Some(page.top)))
        .column(Column::text("AS").rank(1), |row| Cell::new(row.asn.map_or_else(|| "-".to_owned(), |asn| asn.to_string())))
        .column(Column::text("network").flexible(16).max_width(2 * NETWORK), |row| Cell::new(network_name(row)))
        .column(Column::number("hits"), |row| count(row.hits))
        .column(Column::number("clients"), |row| count(row.clients))
        .column(Column::number("answered").rank(2), |row| count(row.answered))
        .column(Column::text("countries").rank(3).flexible(8).max_width(NETWORK), |row| Cell::new(row.countries.join(" ")));
    section("NETWORKS", &grid, report.networks.len(), "-f json", page, out)
}

fn network_name(row: &NetworkRow) -> Cow<'_, str> {
    let unnamed = if row.asn.is_some() { "-" } else { "unknown" };
    labels::geo_name(row.as_name.as_ref()).unwrap_or(Cow::Borrowed(unnamed))
}

pub(crate) fn write_paths<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    let grid = Grid::new(first(&report.paths, Some(page.top)))
        .column(Column::text("severity"), severity)
        .column(Column::text("path").flexible(32), path)
        .column(Column::number("hits"), |row| count(row.hits))
        .column(Column::number("clients").rank(1), |row| count(row.clients))
        .column(Column::number("answered").rank(2), |row| answers(row))
        .column(Column::text("rule").rank(4).max_width(RULE), |row| rules(report.rule_set, &row.rules))
        .column(Column::text("last seen").rank(5), |row| time(row.last_time))
        .column(Column::text("as requested").rank(6).flexible(24), target);
    section("PATHS", &grid, report.totals.paths as usize, "-f csv --by path", page, out)
}

pub(crate) fn write_rules<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    let of = |row: &Row<'_>| row.key.rule().map(|rule| report.rule_set.rule(rule));
    let grid = Grid::new(first(&report.rules, Some(page.top)))
        .column(Column::text("severity"), severity)
        .column(Column::text("rule").flexible(20), |row| Cell::new(of(row).map_or("", |rule| &rule.id)))
        .column(Column::number("hits"), |row| count(row.hits))
        .column(Column::number("clients").rank(1), |row| count(row.clients))
        .column(Column::number("paths").rank(4), |row| count(row.paths))
        .column(Column::number("answered").rank(2), |row| answers(row))
        .column(Column::text("last seen").rank(5), |row| time(row.last_time))
        .column(Column::text("what it finds").rank(3).flexible(20), |row| Cell::new(of(row).map_or("", |rule| &rule.title)))
        .column(Column::text("cve").rank(6), |row| cve(report.rule_set, row));
    section("RULES", &grid, report.totals.rules as usize, "-f csv --by rule", page, out)
}

pub(crate) fn write_pairs<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    let grid = Grid::new(first(&report.pairs, Some(page.top)))
        .column(Column::text("severity"), severity)
        .column(Column::text("client").rank(1).max_width(ADDRESS), |row| client(row))
        .column(Column::text("path").flexible(20), path)
        .column(Column::text("outcome").rank(2), |row| outcome(row))
        .column(Column::number("hits").rank(1), |row| count(row.hits))
        .column(Column::text("rule").rank(4).max_width(RULE), |row| rules(report.rule_set, &row.rules))
        .column(Column::text("last seen").rank(5), |row| time(row.last_time))
        .column(Column::text("as requested").rank(6).flexible(24), target);
    section("CLIENTS AND PATHS", &grid, report.pairs.len(), "-f csv --by pair", page, out)
}

pub(crate) fn write_campaigns<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    let paths = |campaign: &Campaign<'_>| campaign.sample_paths.iter().map(|path| redacted(path)).collect::<Vec<_>>().join(" ");
    let grid = Grid::new(first(&report.campaigns, Some(page.top)))
        .column(Column::text("severity"), |c| severity_word(c.severity, c.answered > 0))
        .column(Column::number("networks"), |c| count(c.networks))
        .column(Column::number("clients").rank(1), |c| count(c.clients))
        .column(Column::number("paths"), |c| count(c.paths))
        .column(Column::number("hits").rank(2), |c| count(c.hits))
        .column(Column::text("last seen").rank(3), |c| time(c.last_time))
        .column(Column::text("such as").flexible(20), |c| Cell::new(paths(c)));
    section("CAMPAIGNS", &grid, report.campaigns.len(), "-f json", page, out)
}

/// Writes a sentence for each site that answers anything, whose answers are not in the first section, and the uncertain answers.
pub(crate) fn write_grades<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    for site in first(&report.soft_404, Some(page.top)) {
        page.note(&grades::sentence(site), out)?;
    }
    page.more(report.soft_404.len(), " that answer anything", ", or -f json", out)?;
    match uncertain(report) {
        Some(sentence) => page.note(&sentence, out),
        None => Ok(()),
    }
}

/// Writes a line for each flood.
pub(crate) fn write_floods<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    let shown = first(&report.floods, Some(page.top));
    if !shown.is_empty() {
        writeln!(out)?;
    }
    for flood in shown {
        write_wrapped(&floods::describe(report.rule_set, flood), 2, page.width, (page.painter, style::PLAIN), out)?;
    }
    page.more(report.floods.len(), " floods", ", or -f json", out)
}

/// Writes a note for each detected app, and for each allow entry that matched.
pub(crate) fn write_suppressed<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    for seen in first(&report.apps, Some(page.top)) {
        page.note(&app_note(seen), out)?;
    }
    page.more(report.apps.len(), " apps", ", or -f json", out)?;
    let used: Vec<_> = report.allowed.iter().filter(|entry| entry.requests > 0).collect();
    for entry in first(&used, Some(page.top)) {
        page.note(&allowed_note(entry), out)?;
    }
    page.more(used.len(), " allow entries", ", or -f json", out)
}

fn app_note(seen: &AppSeen<'_>) -> String {
    let site = seen.site.map_or_else(|| " here (--app)".to_owned(), |site| format!(" on {}", redacted(site)));
    let title = escape(seen.title.as_bytes());
    match seen.silenced {
        0 => format!("{title} runs{site}; no request for its own pages was left out."),
        n => {
            let many = counted(n, "request for its own pages is", "requests for its own pages are");
            format!("{title} runs{site}: {many} left out; --min-severity info shows them.")
        }
    }
}

fn allowed_note(entry: &AllowedCount<'_>) -> String {
    let many = counted(entry.requests, "request", "requests");
    format!("Allowed by {}:{}, {}: {many} left out.", escape(entry.file.as_bytes()), entry.line, escape(entry.reason.as_bytes()))
}

/// The number of uncertain answers, and the first three.
fn uncertain(report: &Report<'_>) -> Option<String> {
    /// Answers that are named.
    const SHOWN: usize = 3;
    let rows = &report.uncertain;
    let shown: Vec<_> = rows.iter().take(SHOWN).map(|row| row.shown_path().unwrap_or_default().into_owned()).collect();
    let more = if rows.len() > SHOWN { ", …" } else { "" };
    let are = if rows.len() == 1 { "is" } else { "are" };
    (!rows.is_empty())
        .then(|| format!("{} {are} uncertain, see -f json: {}{more}", counted(rows.len() as u64, "answer", "answers"), shown.join(", ")))
}

fn section<T, W: Write>(title: &str, grid: &Grid<'_, T>, rows: usize, all: &str, page: TablePage, out: &mut W) -> io::Result<()> {
    if rows == 0 {
        return Ok(());
    }
    page.heading(title, out)?;
    grid.write(page.width, page.painter, out)?;
    page.more(rows, "", &format!(", or {all}"), out)
}

/// The severity, in colour only if something answered.
fn severity(row: &Row<'_>) -> Cell {
    severity_word(row.severity, row.answered > 0)
}

fn severity_word(severity: Severity, is_answered: bool) -> Cell {
    Cell::new(severity.as_str()).styled(if is_answered { style::for_severity(severity) } else { style::PLAIN })
}

fn client(row: &Row<'_>) -> Cell {
    Cell::new(row.key.client().map_or_else(Cow::default, labels::client))
}

/// The path, or the target of a request without one.
fn path(row: &Row<'_>) -> Cell {
    match row.shown_path() {
        Some(path) if !path.is_empty() => Cell::new(path),
        _ => Cell::new(redacted(row.sample.target)),
    }
}

/// The target as requested, if it is not the path.
fn target(row: &Row<'_>) -> Cell {
    let target = redacted(row.sample.target);
    let is_path = row.shown_path().is_some_and(|path| path.is_empty() || path == target);
    if is_path { Cell::new("") } else { Cell::new(target).styled(DIM) }
}

fn user_agent(row: &Row<'_>) -> Cell {
    Cell::new(row.sample.user_agent.map_or_else(Cow::default, redacted)).styled(DIM)
}

fn outcome(row: &Row<'_>) -> Cell {
    let cell = Cell::new(row.key.outcome().map_or("", |outcome| outcome.as_str()));
    if row.answered > 0 { cell.styled(BOLD) } else { cell }
}

fn rules(set: &RuleSet, rules: &[RuleId]) -> Cell {
    Cell::new(labels::worst_rule(set, rules))
}

/// The first CVE ID and the number of others: a cut ID would be useless.
fn cve(set: &RuleSet, row: &Row<'_>) -> Cell {
    match labels::cves(set, &row.rules).as_slice() {
        [] => Cell::new(""),
        [one] => Cell::new(one),
        [one, more @ ..] => Cell::new(format!("{one} +{}", more.len())),
    }
}

fn count(n: u64) -> Cell {
    let cell = Cell::new(grouped(n));
    if n == 0 { cell.styled(DIM) } else { cell }
}

fn answers(row: &Row<'_>) -> Cell {
    let cell = count(row.answered);
    if row.answered > 0 { cell.styled(BOLD) } else { cell }
}

fn time(time: Option<LogTime>) -> Cell {
    Cell::new(time.map(super::minute).unwrap_or_default()).styled(DIM)
}
