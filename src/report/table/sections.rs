//! The sections of a report: what is in each, and in which order its columns give way.
//!
//! Rows come sorted; a section cuts them to `--top` and says how to see the rest.

use std::borrow::Cow;
use std::io::{self, Write};

use super::Page;
use super::answered::{self, Answer};
use super::layout::{Cell, Column, Grid};
use super::number::{counted, grouped};
use crate::client::Client;
use crate::finding::{RuleId, Severity};
use crate::report::facts::{self, first};
use crate::report::mask::shown;
use crate::report::model::{CatchAll, Report, Row};
use crate::report::style::{self, BOLD, DIM};
use crate::rules::RuleSet;
use crate::time::LogTime;

/// Room for any address; a longer text is cut.
const ADDRESS: usize = 39;

/// Room for most rule ids.
const RULE: usize = 28;

pub(super) fn write_answered<W: Write>(report: &Report<'_>, page: Page, out: &mut W) -> io::Result<()> {
    let answers = answered::by_path(&report.answered);
    let grid = Grid::of(first(&answers, Some(page.top)))
        .column(Column::text("severity"), |a| severity(a.severity))
        .column(Column::text("path").flexible(24), |a| path(a.row).styled(BOLD))
        .column(Column::text("rule").rank(2).most(RULE), |a| rules(report.rule_set, &a.rules))
        .column(Column::text("status").rank(5), |a| statuses(a))
        .column(Column::number("hits").rank(1), |a| count(a.answered))
        .column(Column::text("client").rank(1).most(ADDRESS), |a| clients(&a.clients))
        .column(Column::text("last seen").rank(4), |a| time(a.last_time))
        .column(Column::text("as asked").rank(7).flexible(24), |a| target(a.row));
    section("WHAT ANSWERED", &grid, answers.len(), "-f json", page, out)
}

pub(super) fn write_clients<W: Write>(report: &Report<'_>, page: Page, out: &mut W) -> io::Result<()> {
    let grid = Grid::of(first(&report.clients, Some(page.top)))
        .column(Column::text("severity"), |row| severity(row.severity))
        .column(Column::text("client").most(ADDRESS), client)
        .column(Column::number("hits"), |row| count(row.hits))
        .column(Column::number("paths").rank(4), |row| count(row.paths))
        .column(Column::number("answered").rank(1), |row| answers(row))
        .column(Column::number("other").rank(2), |row| count(row.other_requests))
        .column(Column::text("last seen").rank(5), |row| time(row.last_time))
        .column(Column::text("looks for").rank(3).flexible(12), |row| Cell::new(facts::classes(report.rule_set, &row.rules).join(", ")))
        .column(Column::text("user agent").rank(6).flexible(20), |row| user_agent(row));
    section("CLIENTS", &grid, report.totals.clients as usize, "-f csv --by client", page, out)
}

pub(super) fn write_paths<W: Write>(report: &Report<'_>, page: Page, out: &mut W) -> io::Result<()> {
    let grid = Grid::of(first(&report.paths, Some(page.top)))
        .column(Column::text("severity"), |row| severity(row.severity))
        .column(Column::text("path").flexible(32), path)
        .column(Column::number("hits"), |row| count(row.hits))
        .column(Column::number("clients").rank(1), |row| count(row.clients))
        .column(Column::number("answered").rank(2), |row| answers(row))
        .column(Column::text("rule").rank(4).most(RULE), |row| rules(report.rule_set, &row.rules))
        .column(Column::text("last seen").rank(5), |row| time(row.last_time))
        .column(Column::text("as asked").rank(6).flexible(24), target);
    section("PATHS", &grid, report.totals.paths as usize, "-f csv --by path", page, out)
}

pub(super) fn write_rules<W: Write>(report: &Report<'_>, page: Page, out: &mut W) -> io::Result<()> {
    let of = |row: &Row<'_>| row.key.rule().map(|rule| report.rule_set.rule(rule));
    let grid = Grid::of(first(&report.rules, Some(page.top)))
        .column(Column::text("severity"), |row| severity(row.severity))
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

pub(super) fn write_pairs<W: Write>(report: &Report<'_>, page: Page, out: &mut W) -> io::Result<()> {
    let grid = Grid::of(first(&report.pairs, Some(page.top)))
        .column(Column::text("severity"), |row| severity(row.severity))
        .column(Column::text("client").rank(1).most(ADDRESS), |row| client(row))
        .column(Column::text("path").flexible(20), path)
        .column(Column::text("outcome").rank(2), |row| outcome(row))
        .column(Column::number("hits").rank(1), |row| count(row.hits))
        .column(Column::text("rule").rank(4).most(RULE), |row| rules(report.rule_set, &row.rules))
        .column(Column::text("last seen").rank(5), |row| time(row.last_time))
        .column(Column::text("as asked").rank(6).flexible(24), target);
    section("CLIENTS AND PATHS", &grid, report.pairs.len(), "-f csv --by pair", page, out)
}

/// Says in words which sites answer everything, since their answers are missing from the first section.
pub(super) fn write_catch_all<W: Write>(report: &Report<'_>, page: Page, out: &mut W) -> io::Result<()> {
    for site in first(&report.catch_all, Some(page.top)) {
        page.note(&catch_all(site), out)?;
    }
    page.more(report.catch_all.len(), " that say the same to everything", "", out)
}

fn catch_all(site: &CatchAll<'_>) -> String {
    let bytes = site.bytes.map_or_else(String::new, |bytes| format!(" and the same {}", counted(bytes, "byte", "bytes")));
    format!(
        "{} says {}{bytes} to everything: {}, asked for {}, are not counted as answered.",
        shown(site.site),
        site.status,
        counted(site.paths, "probed path", "probed paths"),
        counted(site.hits, "time", "times"),
    )
}

fn section<T, W: Write>(title: &str, grid: &Grid<'_, T>, rows: usize, all: &str, page: Page, out: &mut W) -> io::Result<()> {
    if rows == 0 {
        return Ok(());
    }
    page.heading(title, out)?;
    grid.write(page.width, page.pen, out)?;
    page.more(rows, "", &format!(", or {all}"), out)
}

fn severity(severity: Severity) -> Cell {
    Cell::new(severity.as_str()).styled(style::of(severity))
}

fn client(row: &Row<'_>) -> Cell {
    Cell::new(row.key.client().map_or_else(Cow::default, facts::client))
}

/// The address of one, the number of several.
fn clients(clients: &[Client<'_>]) -> Cell {
    match clients {
        [one] => Cell::new(facts::client(*one)),
        several => Cell::new(counted(several.len() as u64, "client", "clients")),
    }
}

/// The path; where a request had none, what it said instead.
fn path(row: &Row<'_>) -> Cell {
    match row.shown_path() {
        Some(path) if !path.is_empty() => Cell::new(path),
        _ => Cell::new(shown(row.sample.target)),
    }
}

/// The target as it was asked for, where the path does not say it all.
fn target(row: &Row<'_>) -> Cell {
    let target = shown(row.sample.target);
    let is_told = row.shown_path().is_some_and(|path| path.is_empty() || path == target);
    if is_told { Cell::new("") } else { Cell::new(target).styled(DIM) }
}

fn user_agent(row: &Row<'_>) -> Cell {
    Cell::new(row.sample.user_agent.map_or_else(Cow::default, shown)).styled(DIM)
}

fn outcome(row: &Row<'_>) -> Cell {
    let cell = Cell::new(row.key.outcome().map_or("", |outcome| outcome.as_str()));
    if row.answered > 0 { cell.styled(BOLD) } else { cell }
}

fn statuses(answer: &Answer<'_>) -> Cell {
    Cell::new(answer.statuses.iter().map(u16::to_string).collect::<Vec<_>>().join(" "))
}

fn rules(set: &RuleSet, rules: &[RuleId]) -> Cell {
    Cell::new(facts::worst_rule(set, rules))
}

/// The first CVE id, and how many more: half an id leads nowhere.
fn cve(set: &RuleSet, row: &Row<'_>) -> Cell {
    match facts::cves(set, &row.rules).as_slice() {
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
