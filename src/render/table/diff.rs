//! Prints what differs between two reports: a sentence, then sections for answers, rules, paths and clients.

use std::io::{self, Write};

use super::TablePage;
use crate::analysis::diff::{AnswerNow, Change, DiffKind, DiffRow};
use crate::number::{counted, grouped};
use crate::render::RenderOptions;
use crate::render::layout::{Cell, Column, Grid, write_wrapped};
use crate::render::style::{self, ALARM, BOLD};

/// Writes the rows, if any, and the notes.
pub(crate) fn write<W: Write>(rows: &[DiffRow], notes: &[String], options: &RenderOptions, out: &mut W) -> io::Result<()> {
    let page = TablePage::new(options);
    let (sentence, is_alarm) = headline(rows);
    write_wrapped(&sentence, 0, page.width, (page.painter, if is_alarm { ALARM } else { BOLD }), out)?;
    for of_kind in rows.chunk_by(|a, b| a.kind == b.kind) {
        page.heading(title(of_kind[0].kind), out)?;
        grid(&of_kind[..page.top.min(of_kind.len())]).write(page.width, page.painter, out)?;
        page.more(of_kind.len(), "", ", or -f csv", out)?;
    }
    notes.iter().try_for_each(|note| page.note(note, out))
}

/// The sentence, and whether there is a new answer.
fn headline(rows: &[DiffRow]) -> (String, bool) {
    if rows.is_empty() {
        return ("No difference.".into(), false);
    }
    let new = |kind| rows.iter().filter(|row| row.kind == kind && row.change == Change::New).count() as u64;
    let now =
        |fates: &[AnswerNow]| rows.iter().filter(|row| matches!(row.change, Change::Now(fate) if fates.contains(&fate))).count() as u64;
    let mut parts = Vec::new();
    let mut add = |n, one: &str, many: &str| {
        if n > 0 {
            parts.push(counted(n, one, many));
        }
    };
    add(new(DiffKind::Answer), "path answers that did not", "paths answer that did not");
    add(now(&[AnswerNow::Refused, AnswerNow::Unanswered]), "path no longer answers", "paths no longer answer");
    let no_longer_distinct = now(&[AnswerNow::Uncertain, AnswerNow::Soft404, AnswerNow::Ordinary]);
    add(no_longer_distinct, "answer is no longer distinct", "answers are no longer distinct");
    add(now(&[AnswerNow::NotRequested]), "path that answered was not requested", "paths that answered were not requested");
    add(new(DiffKind::Rule), "new rule", "new rules");
    add(new(DiffKind::Path), "new path", "new paths");
    add(new(DiffKind::Client), "new client", "new clients");
    let rest = || counted(rows.len() as u64, "count differs", "counts differ");
    (format!("{}.", if parts.is_empty() { rest() } else { parts.join(", ") }), new(DiffKind::Answer) > 0)
}

fn title(kind: DiffKind) -> &'static str {
    match kind {
        DiffKind::Answer => "WHAT ANSWERS",
        DiffKind::Rule => "RULES",
        DiffKind::Path => "PATHS",
        DiffKind::Client => "CLIENTS",
    }
}

fn grid(rows: &[DiffRow]) -> Grid<'_, DiffRow> {
    Grid::new(rows)
        .column(Column::text("change"), |row| emphasis(Cell::new(change(row)), row))
        .column(Column::text("severity").rank(2), |row| Cell::new(row.severity.as_str()).styled(style::for_severity(row.severity)))
        .column(Column::text(rows.first().map_or("", |row| row.kind.as_str())).flexible(20), |row| emphasis(Cell::new(&row.key), row))
        .column(Column::number("before").rank(1), |row| Cell::new(grouped(row.before)))
        .column(Column::number("after").rank(1), |row| Cell::new(grouped(row.after)))
}

/// The change in words, with the status if it is not answered any more.
fn change(row: &DiffRow) -> String {
    let word = row.change.as_str().replace('_', " ");
    match (row.change, row.status) {
        (Change::Now(AnswerNow::Refused | AnswerNow::Unanswered), Some(status)) => format!("{word} {status}"),
        _ => word,
    }
}

fn emphasis(cell: Cell, row: &DiffRow) -> Cell {
    if row.change == Change::New { cell.styled(BOLD) } else { cell }
}
