//! `summary.txt`: one page on what a run found.
//!
//! Each section has a few rows and names the file with all of them.

use super::RunSummary;
use super::content::{self, AnsweredPath, TopClient};
use crate::render::layout::{Grid, PLAIN, TextPage, span};
use crate::render::{RenderOptions, grades, table};
use crate::report::campaigns::guess_sentences;
use crate::report::floods::describe;
use crate::report::labels::{self, first};
use crate::report::model::Campaign;
use crate::report::novelty::{ItemKind, NewItem};
use crate::text::number::{counted, grouped};
use crate::text::redact::sanitize::escape;

/// The most columns of a line.
const WIDTH: usize = 78;
/// The most rows of a section.
const ROWS: usize = 8;
/// The most sites that answer anything.
const SITES: usize = 4;

/// The summary as text.
pub(crate) fn text(summary: &RunSummary<'_>) -> String {
    // No colour, as it is a file.
    let mut text_page = TextPage {
        width: WIDTH,
        top: ROWS,
        ..TextPage::new(&RenderOptions::default())
    };
    let page = &mut text_page;
    opening(summary, page);
    answered(summary, page);
    withdrawn(summary, page);
    news(summary, page);
    floods(summary, page);
    campaigns(summary, page);
    top_clients(summary, page);
    block(summary, page);
    lines(summary, page);
    notes(summary, page);
    text_page.text
}

fn opening(summary: &RunSummary<'_>, page: &mut TextPage) {
    let host = summary
        .host
        .map(|host| format!(" on {host}"))
        .unwrap_or_default();
    page.wrapped(0, PLAIN, &format!("{}{host}", summary.label));
    page.wrapped(0, PLAIN, &table::headline(summary.report).0);
    let totals = &summary.report.totals;
    if let (Some(first), Some(last)) = (totals.first_time, totals.last_time) {
        page.wrapped(0, PLAIN, &span(first, last));
    }
}

fn answered(summary: &RunSummary<'_>, page: &mut TextPage) {
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
        .text("new", |answer| if answer.is_new { "new" } else { "" })
        .text("severity", |answer| answer.row.severity.as_str())
        .text("path", |answer| &answer.label)
        .flexible(24)
        .text("answer", AnsweredPath::response)
        .number("hits", |answer| grouped(answer.row.hits))
        .rank(1)
        .text("client", clients)
        .rank(2);
    section("WHAT ANSWERED", &grid, answers.len(), "answered.csv", page);
    grades(summary, page);
}

/// The answers of earlier reports that proved to be soft 404s.
fn withdrawn(summary: &RunSummary<'_>, page: &mut TextPage) {
    let withdrawn = summary.withdrawn;
    if withdrawn.is_empty() {
        return;
    }
    page.heading("WITHDRAWN");
    let why = "Earlier reports listed these answers. They are what the site gives to any path.";
    page.wrapped(2, PLAIN, why);
    Grid::new(first(withdrawn, Some(ROWS)))
        .text("severity", |answer| answer.severity.as_str())
        .text("path", |answer| &answer.key)
        .flexible(24)
        .write(page);
    more(withdrawn.len(), "", page);
}

/// Sites that answer anything, and the number of uncertain answers.
fn grades(summary: &RunSummary<'_>, page: &mut TextPage) {
    let sites = &summary.report.soft_404;
    let uncertain = summary.report.uncertain.len() as u64;
    if sites.is_empty() && uncertain == 0 {
        return;
    }
    page.line("");
    for site in first(sites, Some(SITES)) {
        page.wrapped(2, PLAIN, &grades::sentence(site));
    }
    let more = sites.len().saturating_sub(SITES) as u64;
    if more > 0 {
        let more = grouped(more);
        let rest = format!("… and {more} more sites that answer anything: report.json");
        page.wrapped(2, PLAIN, &rest);
    }
    if uncertain > 0 {
        let answers = counted(uncertain, "answer", "answers");
        let doubt = format!("{answers} may be soft 404s: report.json");
        page.wrapped(2, PLAIN, &doubt);
    }
}

/// New rules, and counts of other news. New answers and campaigns are marked in their sections.
fn news(summary: &RunSummary<'_>, page: &mut TextPage) {
    if summary.news.is_empty() && !summary.is_first {
        return;
    }
    page.heading("WHAT IS NEW");
    if summary.is_first {
        let why = "This is the first run; later reports list what is new.";
        return page.wrapped(2, PLAIN, why);
    }
    let count = |kind, one, many| match content::news_of(summary, kind).count() as u64 {
        0 => None,
        n => Some(counted(n, one, many)),
    };
    let counts = [
        count(ItemKind::Answer, "answer", "answers"),
        count(ItemKind::Campaign, "campaign", "campaigns"),
        count(ItemKind::Rule, "rule", "rules"),
        count(ItemKind::Path, "path", "paths"),
        count(ItemKind::Client, "client", "clients"),
    ];
    let counts: Vec<_> = counts.into_iter().flatten().collect();
    page.wrapped(2, PLAIN, &format!("{}: new.csv", counts.join(", ")));
    let rules: Vec<&NewItem<'_>> = content::news_of(summary, ItemKind::Rule).collect();
    Grid::new(first(&rules, Some(ROWS)))
        .text("severity", |news| news.severity.as_str())
        .text("rule", |news| &news.key)
        .count("hits", |news| news.hits)
        .text("what it finds", |news| {
            content::rule_title(summary.report, &news.key)
        })
        .rank(1)
        .flexible(16)
        .write(page);
    more(rules.len(), ": new.csv", page);
}

/// A line for each campaign that guesses passwords, and for each flood.
fn floods(summary: &RunSummary<'_>, page: &mut TextPage) {
    let floods = &summary.report.floods;
    let guesses: Vec<String> = guess_sentences(summary.report).collect();
    if floods.is_empty() && guesses.is_empty() {
        return;
    }
    page.heading("FLOODS");
    let shown = first(floods, Some(ROWS)).iter().map(describe);
    for sentence in guesses.into_iter().chain(shown) {
        page.wrapped(2, PLAIN, &sentence);
    }
    more(floods.len(), ": report.json", page);
}

fn campaigns(summary: &RunSummary<'_>, page: &mut TextPage) {
    let campaigns = &summary.report.campaigns;
    let is_new = |campaign: &Campaign<'_>| {
        !summary.is_first
            && content::news_of(summary, ItemKind::Campaign).any(|news| news.key == campaign.key)
    };
    let paths = |campaign: &Campaign<'_>| labels::joined(&campaign.sample_paths);
    let grid = Grid::new(first(campaigns, Some(ROWS)))
        .text("new", |campaign| if is_new(campaign) { "new" } else { "" })
        .count("networks", |campaign| campaign.networks)
        .count("clients", |campaign| campaign.clients)
        .rank(2)
        .count("paths", |campaign| campaign.paths)
        .text("such as", paths)
        .flexible(20);
    section("CAMPAIGNS", &grid, campaigns.len(), "report.json", page);
}

fn top_clients(summary: &RunSummary<'_>, page: &mut TextPage) {
    let top = content::top_clients(summary.report, ROWS);
    let classes = |client: &TopClient<'_>| {
        labels::classes(summary.report.rule_set, &client.row.rules).join(", ")
    };
    let grid = Grid::new(&top)
        .count("hits", |client| client.hits)
        .text("client", TopClient::name)
        .count("paths", |client| client.paths)
        .rank(1)
        .count("answered", |client| client.answered)
        .rank(2)
        .text("may block", |client| {
            client.row.block.as_ref().map_or("", |block| block.label())
        })
        .rank(3)
        .text("looks for", classes)
        .rank(4)
        .flexible(12);
    let left = summary
        .report
        .clients
        .len()
        .saturating_sub(top.iter().map(|client| client.clients as usize).sum());
    section("TOP CLIENTS", &grid, top.len() + left, "clients.csv", page);
}

fn block(summary: &RunSummary<'_>, page: &mut TextPage) {
    let found = content::gather_candidates(summary.report);
    if found.addresses == 0 && found.edges.is_empty() {
        return;
    }
    page.heading("BLOCK CANDIDATES");
    if found.addresses > 0 {
        let addresses = counted(found.addresses, "address", "addresses");
        let cost = found.cost();
        page.wrapped(2, PLAIN, &format!("{addresses}, {cost}."));
    }
    for edges in &found.edges {
        page.wrapped(2, PLAIN, &format!("{edges}."));
    }
    if found.left_out > 0 {
        let more = grouped(found.left_out);
        page.wrapped(2, PLAIN, &format!("--max-block left out {more} more."));
    }
    Grid::new(first(&found.lines, Some(ROWS)))
        .text("address", |line| &line.name)
        .number("addresses", |line| {
            if line.addresses > 1 {
                grouped(line.addresses)
            } else {
                String::new()
            }
        })
        .count("probes", |line| line.hits)
        .count("paths", |line| line.paths)
        .count("ordinary", |line| line.cost)
        .text("network", |line| &line.network)
        .rank(1)
        .flexible(10)
        .write(page);
    more(found.lines.len(), ": clients.csv, block_candidate", page);
}

fn lines(summary: &RunSummary<'_>, page: &mut TextPage) {
    page.heading("WHERE EACH LINE WENT");
    let sum = &summary.report.totals.sum;
    let parts: Vec<_> = sum
        .parts()
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", grouped(n)))
        .collect();
    let inputs = counted(summary.report.inputs.len() as u64, "log", "logs");
    let lines = counted(sum.lines, "line", "lines");
    let where_they_went = format!("{lines} of {inputs}: {}", parts.join(", "));
    page.wrapped(2, PLAIN, &where_they_went);
}

fn notes(summary: &RunSummary<'_>, page: &mut TextPage) {
    let notes = content::notes(summary, |input| escape(&input.path).into_owned());
    if notes.is_empty() {
        return;
    }
    page.heading("NOTES");
    for note in notes {
        page.wrapped(2, PLAIN, &note);
    }
}

fn section<T>(title: &str, grid: &Grid<'_, T>, rows: usize, file: &str, page: &mut TextPage) {
    if rows > 0 {
        page.heading(title);
        grid.write(page);
        more(rows, &format!(": {file}"), page);
    }
}

/// Writes how many rows were left out, and `location`: the file that has them.
fn more(rows: usize, location: &str, page: &mut TextPage) {
    let more = rows.saturating_sub(ROWS) as u64;
    if more > 0 {
        let rest = format!("… and {} more{location}", grouped(more));
        page.wrapped(2, PLAIN, &rest);
    }
}
