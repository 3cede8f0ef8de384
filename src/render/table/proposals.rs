//! Prints proposals as a table for people.

use std::io::{self, Write};

use super::style::{BOLD, DIM};
use super::{TablePage, minute};
use crate::analysis::labels::first;
use crate::analysis::learn::{Proposal, Proposals};
use crate::number::{counted, grouped};
use crate::redact::sanitize::escape;
use crate::render::RenderOptions;
use crate::render::layout::{Cell, Column, Grid, write_wrapped};
use crate::render::skipped;

/// A proposal and its rank.
struct Ranked<'r> {
    rank: u64,
    proposal: &'r Proposal<'r>,
}

/// Writes the proposals.
pub(crate) fn write<W: Write>(proposals: &Proposals<'_>, options: &RenderOptions, out: &mut W) -> io::Result<()> {
    let page = TablePage::new(options);
    write_wrapped(&headline(proposals), 0, page.width, (page.painter, BOLD), out)?;
    if !proposals.proposals.is_empty() {
        page.heading("UNLISTED PATHS", out)?;
        let shown = first(&proposals.proposals, Some(page.top));
        let ranked: Vec<_> = (1..).zip(shown).map(|(rank, proposal)| Ranked { rank, proposal }).collect();
        grid(&ranked).write(page.width, page.painter, out)?;
        page.more(proposals.proposals.len(), "", ", or -f csv", out)?;
    }
    write_notes(proposals, page, out)
}

fn headline(proposals: &Proposals<'_>) -> String {
    let probers = counted(proposals.probers, "client is known to probe", "clients are known to probe");
    let enough = counted(proposals.min_probers, "independent prober", "independent probers");
    match proposals.proposals.len() as u64 {
        0 => format!("No unlisted path was requested by {enough}; {probers}."),
        n => format!("{} requested by {enough} or more; {probers}.", counted(n, "unlisted path was", "unlisted paths were")),
    }
}

fn grid<'g>(rows: &'g [Ranked<'g>]) -> Grid<'g, Ranked<'g>> {
    Grid::new(rows)
        .column(Column::number("rank").rank(3), |row| Cell::new(grouped(row.rank)))
        .column(Column::text("path").flexible(24), |row| Cell::new(row.proposal.path).styled(BOLD))
        .column(Column::number("probers"), |row| Cell::new(grouped(row.proposal.probers)))
        .column(Column::number("others").rank(6), |row| Cell::new(grouped(row.proposal.others)))
        .column(Column::number("requests").rank(2), |row| Cell::new(grouped(row.proposal.requests)))
        .column(Column::text("status").rank(1), |row| Cell::new(row.proposal.status_words().join(" ")))
        .column(Column::text("class").rank(4), |row| Cell::new(row.proposal.class))
        .column(Column::text("last seen").rank(7), |row| Cell::new(row.proposal.last_time.map(minute).unwrap_or_default()))
        .column(Column::text("as in").rank(5).flexible(16).keep_end(), |row| {
            let example = &row.proposal.example;
            Cell::new(format!("{}:{}", escape(example.source), example.line))
        })
}

/// Writes what was left out, what to do next, and line counts.
fn write_notes<W: Write>(proposals: &Proposals<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    if proposals.random > 0 {
        let many =
            counted(proposals.random, "more path was left out: a part of it looks", "more paths were left out: a part of them looks");
        page.note(&format!("{many} generated, like a hash or a number."), out)?;
    }
    if proposals.without_time > 0 {
        let many = counted(proposals.without_time, "line without a time was", "lines without a time were");
        page.note(&format!("{many} kept: --since and --until need one."), out)?;
    }
    if let Some(sentence) = skipped::sentence(&proposals.inputs) {
        page.note(&sentence, out)?;
    }
    if !proposals.proposals.is_empty() {
        page.note("No rule was changed. --emit-rules FILE writes them as rules to review; scan --rules FILE uses them.", out)?;
    }
    let sum = |field: fn(&crate::analysis::model::InputSummary) -> u64| proposals.inputs.iter().map(field).sum::<u64>();
    let last = format!(
        "{} in {}: {} parsed, {} unparsed, {} oversized",
        counted(sum(|i| i.lines), "line", "lines"),
        counted(proposals.inputs.len() as u64, "input", "inputs"),
        grouped(sum(|i| i.parsed)),
        grouped(sum(|i| i.unparsed)),
        grouped(sum(|i| i.oversized)),
    );
    writeln!(out)?;
    write_wrapped(&last, 0, page.width, (page.painter, DIM), out)
}
