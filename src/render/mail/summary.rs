//! The page: what a run found, for whoever opens its folder.
//!
//! A page, no more: each section shows its first rows and names the table that has all.

use std::io::{self, Write};

use super::content::{AnsweredPath, TopClient};
use super::{RunSummary, candidates, content};
use crate::analysis::block_candidates::BlockDecision;
use crate::analysis::floods::describe;
use crate::analysis::labels::{self, first};
use crate::analysis::model::{Campaign, Report};
use crate::analysis::novelty::NewItem;
use crate::analysis::seen::NoveltyKind;
use crate::number::{counted, grouped};
use crate::redact::sanitize::escape;
use crate::render::grades;
use crate::render::layout::{Cell, Column, Grid, write_wrapped};
use crate::render::style::{PLAIN, Painter};
use crate::render::table::{headline, minute};

/// Columns of a line.
const WIDTH: usize = 78;
/// Rows of a section.
const ROWS: usize = 8;
/// Sites that answer anything.
const SITES: usize = 4;

/// The page goes to a file: no colour.
const PLAIN_PAINTER: Painter = Painter { color: false };

/// Writes the page.
pub(crate) fn write<W: Write>(page: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    opening(page, out)?;
    answered(page, out)?;
    news(page, out)?;
    floods(page, out)?;
    campaigns(page, out)?;
    top_clients(page, out)?;
    block(page, out)?;
    lines(page, out)?;
    notes(page, out)
}

fn opening<W: Write>(page: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let host = page.host.map(|host| format!(" on {host}")).unwrap_or_default();
    wrapped(&format!("{}{host}", page.label), 0, out)?;
    wrapped(&headline::sentence(page.report).0, 0, out)?;
    match (page.report.totals.sum.first_time, page.report.totals.sum.last_time) {
        (Some(first), Some(last)) => wrapped(&format!("{} to {}", minute(first), minute(last)), 0, out),
        _ => Ok(()),
    }
}

fn answered<W: Write>(page: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let answers = content::answers(page);
    let clients = |told: &AnsweredPath<'_>| match told.row.answer.as_ref().and_then(|answer| answer.client) {
        Some(one) => labels::client(one).into_owned(),
        None => counted(told.row.clients, "client", "clients"),
    };
    let grid = Grid::new(first(&answers, Some(ROWS)))
        .column(Column::text("new"), |told| Cell::new(if told.is_new { "new" } else { "" }))
        .column(Column::text("severity"), |told| Cell::new(told.row.severity.as_str()))
        .column(Column::text("path").flexible(24), |told| Cell::new(&told.place))
        .column(Column::text("answer"), |told| Cell::new(told.response()))
        .column(Column::number("hits").rank(1), |told| Cell::new(grouped(told.row.hits)))
        .column(Column::text("client").rank(2), |told| Cell::new(clients(told)));
    section("WHAT ANSWERED", &grid, answers.len(), "answered.csv", out)?;
    grades(page, out)
}

/// Sites that answer anything, and what is uncertain.
fn grades<W: Write>(page: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let sentences: Vec<String> = first(&page.report.soft_404, Some(SITES)).iter().map(grades::sentence).collect();
    let uncertain = page.report.uncertain.len() as u64;
    if sentences.is_empty() && uncertain == 0 {
        return Ok(());
    }
    writeln!(out)?;
    sentences.iter().try_for_each(|sentence| wrapped(sentence, 2, out))?;
    match page.report.soft_404.len().saturating_sub(SITES) {
        0 => {}
        more => wrapped(&format!("… and {} more sites that answer anything: report.json", grouped(more as u64)), 2, out)?,
    }
    match uncertain {
        0 => Ok(()),
        n => wrapped(&format!("{} may be soft 404s: report.json", counted(n, "answer", "answers")), 2, out),
    }
}

/// Rules never seen before, and how many of the rest. New answers are marked among the answers, new campaigns among them.
fn news<W: Write>(page: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    if page.is_first {
        return heading("WHAT IS NEW", out).and_then(|()| wrapped("This is the first run: from now on, what is new is told.", 2, out));
    }
    if page.news.is_empty() {
        return Ok(());
    }
    heading("WHAT IS NEW", out)?;
    let count = |kind, one, many| match content::news_of(page, kind).count() as u64 {
        0 => None,
        n => Some(counted(n, one, many)),
    };
    let counts = [
        count(NoveltyKind::Answer, "answer", "answers"),
        count(NoveltyKind::Campaign, "campaign", "campaigns"),
        count(NoveltyKind::Rule, "rule", "rules"),
        count(NoveltyKind::Path, "path", "paths"),
        count(NoveltyKind::Client, "client", "clients"),
    ];
    wrapped(&format!("{}: new.csv", counts.into_iter().flatten().collect::<Vec<_>>().join(", ")), 2, out)?;
    let rules: Vec<&NewItem<'_>> = content::news_of(page, NoveltyKind::Rule).collect();
    Grid::new(first(&rules, Some(ROWS)))
        .column(Column::text("severity"), |news| Cell::new(news.severity.as_str()))
        .column(Column::text("rule"), |news| Cell::new(&news.key))
        .column(Column::number("hits"), |news| Cell::new(grouped(news.hits)))
        .column(Column::text("what it finds").rank(1).flexible(16), |news| Cell::new(content::rule_title(page.report, &news.key)))
        .write(WIDTH, PLAIN_PAINTER, out)?;
    more(rules.len(), "new.csv", out)
}

/// A line for each client that sent, or path that got, too many requests.
fn floods<W: Write>(page: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let Report { floods, rule_set, .. } = page.report;
    if floods.is_empty() {
        return Ok(());
    }
    heading("MANY REQUESTS AT ONCE", out)?;
    first(floods, Some(ROWS)).iter().try_for_each(|flood| wrapped(&describe(rule_set, flood), 2, out))?;
    more(floods.len(), "report.json", out)
}

fn campaigns<W: Write>(page: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let campaigns = &page.report.campaigns;
    let is_new =
        |campaign: &Campaign<'_>| !page.is_first && content::news_of(page, NoveltyKind::Campaign).any(|news| news.key == campaign.key);
    let paths = |campaign: &Campaign<'_>| {
        campaign.sample_paths.iter().map(|path| crate::redact::mask::redacted(path)).collect::<Vec<_>>().join(" ")
    };
    let grid = Grid::new(first(campaigns, Some(ROWS)))
        .column(Column::text("new"), |campaign| Cell::new(if is_new(campaign) { "new" } else { "" }))
        .column(Column::number("networks"), |campaign| Cell::new(grouped(campaign.networks)))
        .column(Column::number("clients").rank(2), |campaign| Cell::new(grouped(campaign.clients)))
        .column(Column::number("paths"), |campaign| Cell::new(grouped(campaign.paths)))
        .column(Column::text("such as").flexible(20), |campaign| Cell::new(paths(campaign)));
    section("ONE LIST, MANY NETWORKS", &grid, campaigns.len(), "report.json", out)
}

fn top_clients<W: Write>(page: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let top = content::top_clients(page.report, ROWS);
    let classes = |client: &TopClient<'_>| labels::classes(page.report.rule_set, &client.row.rules).join(", ");
    let grid = Grid::new(&top)
        .column(Column::number("hits"), |client| Cell::new(grouped(client.hits)))
        .column(Column::text("client"), |client| Cell::new(client.who()))
        .column(Column::number("paths").rank(1), |client| Cell::new(grouped(client.paths)))
        .column(Column::number("answered").rank(2), |client| Cell::new(grouped(client.answered)))
        .column(Column::text("to block").rank(3), |client| Cell::new(client.block.map(BlockDecision::label).unwrap_or_default()))
        .column(Column::text("looks for").rank(4).flexible(12), |client| Cell::new(classes(client)));
    let left = page.report.clients.len().saturating_sub(top.iter().map(|client| client.clients as usize).sum());
    section("WHO ASKED MOST", &grid, top.len() + left, "clients.csv", out)
}

fn block<W: Write>(page: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let found = candidates::gather(page.report);
    if found.addresses == 0 {
        return Ok(());
    }
    heading("WHOM ONE COULD BLOCK", out)?;
    wrapped(&format!("{}, {}.", counted(found.addresses, "address", "addresses"), found.cost()), 2, out)?;
    if found.left_out > 0 {
        wrapped(&format!("--max-block left out {} more.", grouped(found.left_out)), 2, out)?;
    }
    Grid::new(first(&found.lines, Some(ROWS)))
        .column(Column::text("address"), |line| Cell::new(&line.who))
        .column(Column::number("addresses"), |line| Cell::new(if line.addresses > 1 { grouped(line.addresses) } else { String::new() }))
        .column(Column::number("probes"), |line| Cell::new(grouped(line.hits)))
        .column(Column::number("paths"), |line| Cell::new(grouped(line.paths)))
        .column(Column::number("ordinary"), |line| Cell::new(grouped(line.cost)))
        .write(WIDTH, PLAIN_PAINTER, out)?;
    more(found.lines.len(), "clients.csv, block_candidate", out)
}

fn lines<W: Write>(page: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    heading("WHERE EACH LINE WENT", out)?;
    let sum = &page.report.totals.sum;
    let parts: Vec<_> = [
        (sum.parsed, "parsed"),
        (sum.unparsed, "unparsed"),
        (sum.oversized, "oversized"),
        (sum.skipped, "skipped"),
        (sum.pending, "pending"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, what)| format!("{} {what}", grouped(n)))
    .collect();
    let inputs = counted(page.report.inputs.len() as u64, "log", "logs");
    wrapped(&format!("{} of {inputs}: {}", counted(sum.lines, "line", "lines"), parts.join(", ")), 2, out)
}

fn notes<W: Write>(page: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let notes = content::notes(page, |input| escape(&input.path).into_owned());
    if notes.is_empty() {
        return Ok(());
    }
    heading("NOTES", out)?;
    notes.iter().try_for_each(|note| wrapped(note, 2, out))
}

fn section<T, W: Write>(title: &str, grid: &Grid<'_, T>, rows: usize, file: &str, out: &mut W) -> io::Result<()> {
    if rows == 0 {
        return Ok(());
    }
    heading(title, out)?;
    grid.write(WIDTH, PLAIN_PAINTER, out)?;
    more(rows, file, out)
}

fn heading<W: Write>(title: &str, out: &mut W) -> io::Result<()> {
    writeln!(out, "\n{title}")
}

fn more<W: Write>(rows: usize, file: &str, out: &mut W) -> io::Result<()> {
    match rows.saturating_sub(ROWS) {
        0 => Ok(()),
        more => wrapped(&format!("… and {} more: {file}", grouped(more as u64)), 2, out),
    }
}

fn wrapped<W: Write>(text: &str, indent: usize, out: &mut W) -> io::Result<()> {
    write_wrapped(text, indent, WIDTH, (PLAIN_PAINTER, PLAIN), out)
}
