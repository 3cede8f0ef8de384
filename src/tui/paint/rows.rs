//! The rows of each panel as cells.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::alert_row::AlertRow;
use super::super::hit_row::HitRow;
use super::super::text::{clock, width};
use super::super::top::TopEntry;
use super::super::visible_rows::{Panel, PanelItem};
use super::canvas::CellWidth::{Columns, Rest, Right};
use super::canvas::{BOLD, Canvas, CanvasCell, DIM};
use crate::finding::Severity;
use crate::number::compact;

/// Columns of the longest severity, a time of day, a count, a method.
const SEVERITY: u16 = 8;
const TIME: u16 = 8;
const HITS: u16 = 6;
const METHOD: u16 = 7;

/// Columns of `auth_required`.
const OUTCOME: u16 = 13;

/// Draws the rows of a panel; `chosen` is reversed.
pub(super) fn draw(panel: Panel, items: &[PanelItem<'_>], chosen: Option<usize>, area: Rect, canvas: &mut Canvas<'_>) {
    let client = widest(items, area.width, |item| match item {
        PanelItem::Entry(_, entry) => &entry.sample.client,
        PanelItem::Hit(row) => &row.client,
        PanelItem::Alert(_) => "",
    });
    for (y, item) in items.iter().enumerate().take(area.height.into()) {
        let cells = match item {
            PanelItem::Entry(_, entry) if panel == Panel::Answered => answered(entry, client, area.width, canvas),
            PanelItem::Entry(name, entry) => named(name, entry, canvas),
            PanelItem::Hit(row) => hit(row, client, area.width, canvas),
            PanelItem::Alert(row) => alert(row, canvas),
        };
        canvas.line(area, y as u16, &cells, chosen == Some(y));
    }
}

/// The columns that the widest of some texts needs, up to a third of the page.
fn widest<'i>(items: &'i [PanelItem<'_>], page: u16, text: impl Fn(&'i PanelItem<'_>) -> &'i str) -> u16 {
    let widest = items.iter().map(|item| width(text(item))).max().unwrap_or(0);
    (widest as u16).min(page / 3)
}

fn severity(severity: Severity, rank: u8, canvas: &Canvas<'_>) -> CanvasCell<'static> {
    CanvasCell::new(Columns(SEVERITY), rank, severity.as_str()).styled(canvas.severity(severity))
}

/// Client, status, path, hits, the time of the latest; the rules where there is room.
fn answered<'t>(entry: &'t TopEntry, client: u16, page: u16, canvas: &Canvas<'_>) -> Vec<CanvasCell<'t>> {
    let row = &entry.sample;
    let status = row.status.map_or(String::new(), |status| status.to_string());
    let mut cells = vec![
        CanvasCell::new(Columns(client), 0, &*row.client).styled(BOLD),
        CanvasCell::new(Columns(3), 3, status),
        severity(entry.severity, 2, canvas),
        CanvasCell::new(Rest, 0, &*row.path).styled(canvas.alarm()),
        CanvasCell::new(Right(HITS), 4, compact(entry.hits)),
        CanvasCell::new(Columns(TIME), 5, clock(row.time)).styled(DIM),
    ];
    if page >= 100 {
        cells.insert(4, CanvasCell::new(Columns(page / 5), 6, &*row.rules));
    }
    cells
}

/// A name, how bad, how often; how many of these were answered.
fn named<'t>(name: &'t str, entry: &TopEntry, canvas: &Canvas<'_>) -> Vec<CanvasCell<'t>> {
    let answered = if entry.answered > 0 { format!("{}!", compact(entry.answered)) } else { String::new() };
    let style = if entry.answered > 0 { BOLD } else { Style::new() };
    vec![
        CanvasCell::new(Rest, 0, name).styled(style),
        CanvasCell::new(Right(4), 3, answered).styled(canvas.alarm()),
        severity(entry.severity, 1, canvas),
        CanvasCell::new(Right(HITS), 2, compact(entry.hits)),
    ]
}

/// Time, severity, outcome, client, method, target, rules: what there is room for.
fn hit<'t>(row: &'t HitRow, client: u16, page: u16, canvas: &Canvas<'_>) -> Vec<CanvasCell<'t>> {
    let (outcome, target) = if row.answered { (canvas.alarm(), canvas.alarm()) } else { (DIM, Style::new()) };
    let mut cells = vec![
        CanvasCell::new(Columns(TIME), 3, clock(row.time)).styled(DIM),
        severity(row.severity, 2, canvas),
        CanvasCell::new(Columns(OUTCOME), 5, row.outcome.as_str()).styled(outcome),
        CanvasCell::new(Columns(client), 1, &*row.client),
        CanvasCell::new(Columns(METHOD), 6, &*row.method),
        CanvasCell::new(Rest, 0, &*row.target).styled(target),
    ];
    if page >= 90 {
        cells.push(CanvasCell::new(Columns(page / 5), 4, &*row.rules).styled(DIM));
    }
    cells
}

/// The latest hits of something: the client only where they are of many.
pub(super) fn draw_hits(items: &[PanelItem<'_>], of_one_client: bool, chosen: usize, area: Rect, canvas: &mut Canvas<'_>) {
    let client = if of_one_client {
        0
    } else {
        widest(items, area.width, |item| match item {
            PanelItem::Hit(row) => &row.client,
            PanelItem::Entry(..) | PanelItem::Alert(_) => "",
        })
    };
    for (y, item) in items.iter().enumerate().take(area.height.into()) {
        let PanelItem::Hit(row) = item else { continue };
        let mut cells = hit(row, client, area.width, canvas);
        if of_one_client {
            cells.remove(3);
        }
        canvas.line(area, y as u16, &cells, y == chosen);
    }
}

fn alert<'t>(row: &'t AlertRow, canvas: &Canvas<'_>) -> Vec<CanvasCell<'t>> {
    let how_bad = match row.severity {
        Some(level) => severity(level, 1, canvas),
        None => CanvasCell::new(Columns(SEVERITY), 1, "notice").styled(DIM),
    };
    vec![CanvasCell::new(Columns(TIME), 2, clock(row.time)).styled(DIM), how_bad, CanvasCell::new(Rest, 0, &*row.text)]
}
