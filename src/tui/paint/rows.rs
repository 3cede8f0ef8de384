//! The rows of each panel as cells.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::alarm::AlarmRow;
use super::super::number::short;
use super::super::row::HitRow;
use super::super::shown::{Item, Panel};
use super::super::text::{clock, width};
use super::super::top::Entry;
use super::canvas::Room::{Columns, Rest, Right};
use super::canvas::{BOLD, Canvas, Cell, DIM};
use crate::finding::Severity;

/// Columns of the longest severity, a time of day, a count, a method.
const SEVERITY: u16 = 8;
const TIME: u16 = 8;
const HITS: u16 = 6;
const METHOD: u16 = 7;

/// Columns of `auth_required`.
const OUTCOME: u16 = 13;

/// Draws the rows of a panel; `chosen` is reversed.
pub(super) fn draw(panel: Panel, items: &[Item<'_>], chosen: Option<usize>, area: Rect, canvas: &mut Canvas<'_>) {
    let client = widest(items, area.width, |item| match item {
        Item::Entry(_, entry) => &entry.sample.client,
        Item::Hit(row) => &row.client,
        Item::Alarm(_) => "",
    });
    for (y, item) in items.iter().enumerate().take(area.height.into()) {
        let cells = match item {
            Item::Entry(_, entry) if panel == Panel::Answered => answered(entry, client, area.width, canvas),
            Item::Entry(name, entry) => named(name, entry, canvas),
            Item::Hit(row) => hit(row, client, area.width, canvas),
            Item::Alarm(row) => alarm(row, canvas),
        };
        canvas.line(area, y as u16, &cells, chosen == Some(y));
    }
}

/// The columns that the widest of some texts needs, up to a third of the page.
fn widest<'i>(items: &'i [Item<'_>], page: u16, text: impl Fn(&'i Item<'_>) -> &'i str) -> u16 {
    let widest = items.iter().map(|item| width(text(item))).max().unwrap_or(0);
    (widest as u16).min(page / 3)
}

fn severity(severity: Severity, rank: u8, canvas: &Canvas<'_>) -> Cell<'static> {
    Cell::new(Columns(SEVERITY), rank, severity.as_str()).styled(canvas.severity(severity))
}

/// Client, status, path, hits, the time of the latest; the rules where there is room.
fn answered<'t>(entry: &'t Entry, client: u16, page: u16, canvas: &Canvas<'_>) -> Vec<Cell<'t>> {
    let row = &entry.sample;
    let status = row.status.map_or(String::new(), |status| status.to_string());
    let mut cells = vec![
        Cell::new(Columns(client), 0, &*row.client).styled(BOLD),
        Cell::new(Columns(3), 3, status),
        severity(entry.severity, 2, canvas),
        Cell::new(Rest, 0, &*row.path).styled(canvas.alarm()),
        Cell::new(Right(HITS), 4, short(entry.hits)),
        Cell::new(Columns(TIME), 5, clock(row.time)).styled(DIM),
    ];
    if page >= 100 {
        cells.insert(4, Cell::new(Columns(page / 5), 6, &*row.rules));
    }
    cells
}

/// A name, how bad, how often; how many of these were answered.
fn named<'t>(name: &'t str, entry: &Entry, canvas: &Canvas<'_>) -> Vec<Cell<'t>> {
    let answered = if entry.answered > 0 { format!("{}!", short(entry.answered)) } else { String::new() };
    let style = if entry.answered > 0 { BOLD } else { Style::new() };
    vec![
        Cell::new(Rest, 0, name).styled(style),
        Cell::new(Right(4), 3, answered).styled(canvas.alarm()),
        severity(entry.severity, 1, canvas),
        Cell::new(Right(HITS), 2, short(entry.hits)),
    ]
}

/// Time, severity, outcome, client, method, target, rules: what there is room for.
fn hit<'t>(row: &'t HitRow, client: u16, page: u16, canvas: &Canvas<'_>) -> Vec<Cell<'t>> {
    let (outcome, target) = if row.answered { (canvas.alarm(), canvas.alarm()) } else { (DIM, Style::new()) };
    let mut cells = vec![
        Cell::new(Columns(TIME), 3, clock(row.time)).styled(DIM),
        severity(row.severity, 2, canvas),
        Cell::new(Columns(OUTCOME), 5, row.outcome.as_str()).styled(outcome),
        Cell::new(Columns(client), 1, &*row.client),
        Cell::new(Columns(METHOD), 6, &*row.method),
        Cell::new(Rest, 0, &*row.target).styled(target),
    ];
    if page >= 90 {
        cells.push(Cell::new(Columns(page / 5), 4, &*row.rules).styled(DIM));
    }
    cells
}

/// The latest hits of something: the client only where they are of many.
pub(super) fn draw_hits(items: &[Item<'_>], of_one_client: bool, chosen: usize, area: Rect, canvas: &mut Canvas<'_>) {
    let client = if of_one_client {
        0
    } else {
        widest(items, area.width, |item| match item {
            Item::Hit(row) => &row.client,
            Item::Entry(..) | Item::Alarm(_) => "",
        })
    };
    for (y, item) in items.iter().enumerate().take(area.height.into()) {
        let Item::Hit(row) = item else { continue };
        let mut cells = hit(row, client, area.width, canvas);
        if of_one_client {
            cells.remove(3);
        }
        canvas.line(area, y as u16, &cells, y == chosen);
    }
}

fn alarm<'t>(row: &'t AlarmRow, canvas: &Canvas<'_>) -> Vec<Cell<'t>> {
    let how_bad = match row.severity {
        Some(level) => severity(level, 1, canvas),
        None => Cell::new(Columns(SEVERITY), 1, "notice").styled(DIM),
    };
    vec![Cell::new(Columns(TIME), 2, clock(row.time)).styled(DIM), how_bad, Cell::new(Rest, 0, &*row.text)]
}
