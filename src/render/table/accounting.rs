//! Line counts of every input, which add up, and the problems of inputs.
//!
//! With many inputs only those with a problem are listed.

use std::borrow::Cow;
use std::io::{self, Write};

use super::TablePage;
use crate::analysis::model::{InputSummary, Report};
use crate::analysis::notes::accuracy_note;
use crate::number::{counted, grouped, seconds, size};
use crate::redact::sanitize::escape;
use crate::render::layout::{Cell, Column, Grid, write_wrapped};
use crate::render::skipped;
use crate::render::style::{BOLD, DIM, WARNING};

/// A row of the table: an input, or the sum of all.
struct AccountingLine<'r> {
    name: Cow<'r, str>,
    input: &'r InputSummary,
    is_sum: bool,
}

/// Writes the section, the problems and the summary line.
pub(crate) fn write<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    let lines = lines(report, page.top);
    page.heading("WHERE EACH LINE WENT", out)?;
    if !lines.is_empty() {
        grid(&lines).write(page.width, page.painter, out)?;
    }
    write_notes(report, page, out)?;
    let sum = &report.totals.sum;
    let last = format!("{}, {} in {}", counted(sum.lines, "line", "lines"), size(sum.bytes), seconds(report.elapsed));
    writeln!(out)?;
    write_wrapped(&last, 0, page.width, (page.painter, DIM), out)
}

/// Writes the problems, the summary line, and how to see more.
pub(crate) fn write_short<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    write_notes(report, page, out)?;
    let sum = &report.totals.sum;
    let rest = [(sum.unparsed, "unparsed"), (sum.oversized, "oversized"), (sum.skipped, "skipped"), (sum.pending, "pending")];
    let rest: Vec<_> = rest.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {} {what}", grouped(n))).collect();
    let inputs = match report.inputs.len() {
        1 => String::new(),
        n => format!(" of {}", counted(n as u64, "input", "inputs")),
    };
    let lines = counted(sum.lines, "line", "lines");
    let read = format!("{lines}{inputs}: {} parsed{}", grouped(sum.parsed), rest.concat());
    writeln!(out)?;
    write_wrapped(&format!("{read}; {} in {}", size(sum.bytes), seconds(report.elapsed)), 0, page.width, (page.painter, DIM), out)?;
    if sum.hits == 0 {
        return Ok(());
    }
    write_wrapped("--full shows paths, rules, campaigns and each input.", 0, page.width, (page.painter, DIM), out)
}

/// The inputs, or only those with a problem if there are more than `top`; and the sum of all.
fn lines<'r>(report: &'r Report<'_>, top: usize) -> Vec<AccountingLine<'r>> {
    let many = report.inputs.len() > top;
    let shown = report.inputs.iter().filter(|input| !many || input.problem.is_some()).take(top);
    let mut lines: Vec<_> = shown.map(|input| AccountingLine { name: escape(&input.path), input, is_sum: false }).collect();
    if report.inputs.len() != 1 {
        let name = format!("all {}", counted(report.inputs.len() as u64, "input", "inputs"));
        lines.push(AccountingLine { name: name.into(), input: &report.totals.sum, is_sum: true });
    }
    lines
}

fn grid<'g>(lines: &'g [AccountingLine<'g>]) -> Grid<'g, AccountingLine<'g>> {
    let count = |name, field: fn(&InputSummary) -> u64| {
        // A column of zeros is left out before the other counts.
        let rank = if lines.iter().all(|line| field(line.input) == 0) { 4 } else { 1 };
        (Column::number(name).rank(rank), move |line: &'g AccountingLine<'g>| number(field(line.input), line.is_sum))
    };
    let mut grid =
        Grid::new(lines).column(Column::text("input").flexible(12).keep_end(), |line| emphasis(Cell::new(&line.name), line.is_sum));
    for (column, cell) in [
        count("lines", |input| input.lines),
        count("parsed", |input| input.parsed),
        count("unparsed", |input| input.unparsed),
        count("oversized", |input| input.oversized),
        count("skipped", |input| input.skipped),
        count("pending", |input| input.pending),
    ] {
        grid = grid.column(column, cell);
    }
    grid.column(Column::number("hits").rank(5), |line| number(line.input.hits, line.is_sum))
        .column(Column::text("format").rank(6), |line| Cell::new(format(line.input)).styled(DIM))
}

fn format(input: &InputSummary) -> &str {
    input.format.as_deref().unwrap_or(if input.skipped_whole.is_some() { "not read" } else { "" })
}

fn number(n: u64, is_sum: bool) -> Cell {
    let cell = Cell::new(grouped(n));
    if n == 0 { cell.styled(DIM) } else { emphasis(cell, is_sum) }
}

fn emphasis(cell: Cell, is_sum: bool) -> Cell {
    if is_sum { cell.styled(BOLD) } else { cell }
}

/// Writes problems of inputs, skipped inputs, and which counts are bounds.
fn write_notes<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    write_problems(report, page, out)?;
    if report.totals.without_time > 0 {
        let many = counted(report.totals.without_time, "line without a time was", "lines without a time were");
        page.note(&format!("{many} kept: --since and --until need one."), out)?;
    }
    if let Some(sentence) = skipped::sentence(&report.inputs) {
        page.note(&sentence, out)?;
    }
    if let Some(bound) = &report.approximate {
        page.note(&accuracy_note(bound), out)?;
    }
    Ok(())
}

fn write_problems<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    let problems: Vec<_> = report.inputs.iter().filter_map(|input| Some((escape(&input.path), input.problem.as_ref()?))).collect();
    for (i, (path, problem)) in problems.iter().take(page.top).enumerate() {
        if i == 0 {
            writeln!(out)?;
        }
        write_wrapped(&format!("{path}: {problem}"), 2, page.width, (page.painter, WARNING), out)?;
    }
    page.more(problems.len(), " with a problem", "", out)
}
