//! `summary.txt`: one page on what a run found.
//!
//! Each section has a few rows and names the file with all of them.

use std::io::{self, Write};

use super::RunSummary;
use super::content::{self, AnsweredPath, TopClient};
use crate::render::layout::{Column, Grid, PLAIN, Painter, TextCell, span, write_wrapped};
use crate::render::{grades, table};
use crate::report::campaigns::guess_sentences;
use crate::report::floods::describe;
use crate::report::labels::{self, first};
use crate::report::model::{BlockDecision, Campaign};
use crate::report::novelty::{NewItem, NoveltyKind};
use crate::text::number::{counted, grouped};
use crate::text::redact::sanitize::escape;

/// The most columns of a line.
const WIDTH: usize = 78;
/// The most rows of a section.
const ROWS: usize = 8;
/// The most sites that answer anything.
const SITES: usize = 4;

/// No colour, as it is a file.
const PLAIN_PAINTER: Painter = Painter { color: false };

/// Writes the summary.
pub(crate) fn write<W: Write>(summary: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    opening(summary, out)?;
    answered(summary, out)?;
    withdrawn(summary, out)?;
    news(summary, out)?;
    floods(summary, out)?;
    campaigns(summary, out)?;
    top_clients(summary, out)?;
    block(summary, out)?;
    lines(summary, out)?;
    notes(summary, out)
}

fn opening<W: Write>(summary: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let host = summary
        .host
        .map(|host| format!(" on {host}"))
        .unwrap_or_default();
    wrapped(&format!("{}{host}", summary.label), 0, out)?;
    wrapped(&table::headline(summary.report).0, 0, out)?;
    match (
        summary.report.totals.first_time,
        summary.report.totals.last_time,
    ) {
        (Some(first), Some(last)) => wrapped(&span(first, last), 0, out),
        _ => Ok(()),
    }
}

fn answered<W: Write>(summary: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let answers = content::answers(summary);
    let clients = |answer: &AnsweredPath<'_>| match answer
        .row
        .answer
        .as_ref()
        .and_then(|answer| answer.client)
    {
        Some(one) => one.to_string(),
        None => counted(answer.row.clients, "client", "clients"),
    };
    let grid = Grid::new(first(&answers, Some(ROWS)))
        .column(Column::text("new"), |answer| {
            TextCell::new(if answer.is_new { "new" } else { "" })
        })
        .column(Column::text("severity"), |answer| {
            TextCell::new(answer.row.severity.as_str())
        })
        .column(Column::text("path").flexible(24), |answer| {
            TextCell::new(&answer.label)
        })
        .column(Column::text("answer"), |answer| {
            TextCell::new(answer.response())
        })
        .column(Column::number("hits").rank(1), |answer| {
            TextCell::new(grouped(answer.row.hits))
        })
        .column(Column::text("client").rank(2), |answer| {
            TextCell::new(clients(answer))
        });
    section("WHAT ANSWERED", &grid, answers.len(), "answered.csv", out)?;
    grades(summary, out)
}

/// The answers of earlier reports that proved to be soft 404s.
fn withdrawn<W: Write>(summary: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let withdrawn = summary.withdrawn;
    if withdrawn.is_empty() {
        return Ok(());
    }
    heading("WITHDRAWN", out)?;
    wrapped(
        "Earlier reports listed these answers. They are what the site gives to any path.",
        2,
        out,
    )?;
    Grid::new(first(withdrawn, Some(ROWS)))
        .column(Column::text("severity"), |answer| {
            TextCell::new(answer.severity.as_str())
        })
        .column(Column::text("path").flexible(24), |answer| {
            TextCell::new(&answer.key)
        })
        .write(WIDTH, PLAIN_PAINTER, out)?;
    match withdrawn.len().saturating_sub(ROWS) {
        0 => Ok(()),
        more => wrapped(&format!("… and {} more", grouped(more as u64)), 2, out),
    }
}

/// Sites that answer anything, and the number of uncertain answers.
fn grades<W: Write>(summary: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let sentences: Vec<String> = first(&summary.report.soft_404, Some(SITES))
        .iter()
        .map(grades::sentence)
        .collect();
    let uncertain = summary.report.uncertain.len() as u64;
    if sentences.is_empty() && uncertain == 0 {
        return Ok(());
    }
    writeln!(out)?;
    sentences
        .iter()
        .try_for_each(|sentence| wrapped(sentence, 2, out))?;
    match summary.report.soft_404.len().saturating_sub(SITES) {
        0 => {}
        more => wrapped(
            &format!(
                "… and {} more sites that answer anything: report.json",
                grouped(more as u64)
            ),
            2,
            out,
        )?,
    }
    match uncertain {
        0 => Ok(()),
        n => wrapped(
            &format!(
                "{} may be soft 404s: report.json",
                counted(n, "answer", "answers")
            ),
            2,
            out,
        ),
    }
}

/// New rules, and counts of other news. New answers and campaigns are marked in their sections.
fn news<W: Write>(summary: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    if summary.is_first {
        return heading("WHAT IS NEW", out).and_then(|()| {
            wrapped(
                "This is the first run; later reports list what is new.",
                2,
                out,
            )
        });
    }
    if summary.news.is_empty() {
        return Ok(());
    }
    heading("WHAT IS NEW", out)?;
    let count = |kind, one, many| match content::news_of(summary, kind).count() as u64 {
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
    wrapped(
        &format!(
            "{}: new.csv",
            counts.into_iter().flatten().collect::<Vec<_>>().join(", ")
        ),
        2,
        out,
    )?;
    let rules: Vec<&NewItem<'_>> = content::news_of(summary, NoveltyKind::Rule).collect();
    Grid::new(first(&rules, Some(ROWS)))
        .column(Column::text("severity"), |news| {
            TextCell::new(news.severity.as_str())
        })
        .column(Column::text("rule"), |news| TextCell::new(&news.key))
        .column(Column::number("hits"), |news| {
            TextCell::new(grouped(news.hits))
        })
        .column(Column::text("what it finds").rank(1).flexible(16), |news| {
            TextCell::new(content::rule_title(summary.report, &news.key))
        })
        .write(WIDTH, PLAIN_PAINTER, out)?;
    more(rules.len(), "new.csv", out)
}

/// A line for each campaign that guesses passwords, and for each flood.
fn floods<W: Write>(summary: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let floods = &summary.report.floods;
    let guesses: Vec<String> = guess_sentences(summary.report).collect();
    if floods.is_empty() && guesses.is_empty() {
        return Ok(());
    }
    heading("FLOODS", out)?;
    guesses
        .iter()
        .try_for_each(|sentence| wrapped(sentence, 2, out))?;
    first(floods, Some(ROWS))
        .iter()
        .try_for_each(|flood| wrapped(&describe(flood), 2, out))?;
    more(floods.len(), "report.json", out)
}

fn campaigns<W: Write>(summary: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let campaigns = &summary.report.campaigns;
    let is_new = |campaign: &Campaign<'_>| {
        !summary.is_first
            && content::news_of(summary, NoveltyKind::Campaign).any(|news| news.key == campaign.key)
    };
    let paths = |campaign: &Campaign<'_>| labels::joined(&campaign.sample_paths);
    let grid = Grid::new(first(campaigns, Some(ROWS)))
        .column(Column::text("new"), |campaign| {
            TextCell::new(if is_new(campaign) { "new" } else { "" })
        })
        .column(Column::number("networks"), |campaign| {
            TextCell::new(grouped(campaign.networks))
        })
        .column(Column::number("clients").rank(2), |campaign| {
            TextCell::new(grouped(campaign.clients))
        })
        .column(Column::number("paths"), |campaign| {
            TextCell::new(grouped(campaign.paths))
        })
        .column(Column::text("such as").flexible(20), |campaign| {
            TextCell::new(paths(campaign))
        });
    section("CAMPAIGNS", &grid, campaigns.len(), "report.json", out)
}

fn top_clients<W: Write>(summary: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let top = content::top_clients(summary.report, ROWS);
    let classes = |client: &TopClient<'_>| {
        labels::classes(summary.report.rule_set, &client.row.rules).join(", ")
    };
    let grid = Grid::new(&top)
        .column(Column::number("hits"), |client| {
            TextCell::new(grouped(client.hits))
        })
        .column(Column::text("client"), |client| {
            TextCell::new(client.name())
        })
        .column(Column::number("paths").rank(1), |client| {
            TextCell::new(grouped(client.paths))
        })
        .column(Column::number("answered").rank(2), |client| {
            TextCell::new(grouped(client.answered))
        })
        .column(Column::text("may block").rank(3), |client| {
            TextCell::new(client.block.map(BlockDecision::label).unwrap_or_default())
        })
        .column(Column::text("looks for").rank(4).flexible(12), |client| {
            TextCell::new(classes(client))
        });
    let left = summary
        .report
        .clients
        .len()
        .saturating_sub(top.iter().map(|client| client.clients as usize).sum());
    section("TOP CLIENTS", &grid, top.len() + left, "clients.csv", out)
}

fn block<W: Write>(summary: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let found = content::gather_candidates(summary.report);
    if found.addresses == 0 && found.edges.is_empty() {
        return Ok(());
    }
    heading("BLOCK CANDIDATES", out)?;
    if found.addresses > 0 {
        wrapped(
            &format!(
                "{}, {}.",
                counted(found.addresses, "address", "addresses"),
                found.cost()
            ),
            2,
            out,
        )?;
    }
    found
        .edges
        .iter()
        .try_for_each(|edges| wrapped(&format!("{edges}."), 2, out))?;
    if found.left_out > 0 {
        wrapped(
            &format!("--max-block left out {} more.", grouped(found.left_out)),
            2,
            out,
        )?;
    }
    Grid::new(first(&found.lines, Some(ROWS)))
        .column(Column::text("address"), |line| TextCell::new(&line.name))
        .column(Column::number("addresses"), |line| {
            TextCell::new(if line.addresses > 1 {
                grouped(line.addresses)
            } else {
                String::new()
            })
        })
        .column(Column::number("probes"), |line| {
            TextCell::new(grouped(line.hits))
        })
        .column(Column::number("paths"), |line| {
            TextCell::new(grouped(line.paths))
        })
        .column(Column::number("ordinary"), |line| {
            TextCell::new(grouped(line.cost))
        })
        .column(Column::text("network").rank(1).flexible(10), |line| {
            TextCell::new(&line.network)
        })
        .write(WIDTH, PLAIN_PAINTER, out)?;
    more(found.lines.len(), "clients.csv, block_candidate", out)
}

fn lines<W: Write>(summary: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    heading("WHERE EACH LINE WENT", out)?;
    let sum = &summary.report.totals.sum;
    let parts: Vec<_> = sum
        .parts()
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", grouped(n)))
        .collect();
    let inputs = counted(summary.report.inputs.len() as u64, "log", "logs");
    wrapped(
        &format!(
            "{} of {inputs}: {}",
            counted(sum.lines, "line", "lines"),
            parts.join(", ")
        ),
        2,
        out,
    )
}

fn notes<W: Write>(summary: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let notes = content::notes(summary, |input| escape(&input.path).into_owned());
    if notes.is_empty() {
        return Ok(());
    }
    heading("NOTES", out)?;
    notes.iter().try_for_each(|note| wrapped(note, 2, out))
}

fn section<T, W: Write>(
    title: &str,
    grid: &Grid<'_, T>,
    rows: usize,
    file: &str,
    out: &mut W,
) -> io::Result<()> {
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
        more => wrapped(
            &format!("… and {} more: {file}", grouped(more as u64)),
            2,
            out,
        ),
    }
}

fn wrapped<W: Write>(text: &str, indent: usize, out: &mut W) -> io::Result<()> {
    write_wrapped(text, indent, WIDTH, (PLAIN_PAINTER, PLAIN), out)
}
