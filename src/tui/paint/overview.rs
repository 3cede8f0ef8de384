//! All panels on one page: what answered at the top, the others below it, as many as there is room for.

use ratatui::layout::Rect;

use super::super::view::ViewState;
use super::super::visible_rows::{Panel, PanelItem, VisibleRows};
use super::canvas::{BOLD, Canvas, DIM, REVERSED};
use super::{bars, rows};
use crate::number::compact;

/// Below these columns or rows there is room for one panel at a time, besides what answered.
const NARROW: u16 = 60;
const LOW: u16 = 17;

/// From these columns on three panels stand side by side.
const WIDE: u16 = 110;

/// From these rows on bars are three rows high.
const HIGH: u16 = 34;

/// A panel and its place.
type PlacedPanel = (Panel, Rect);

/// Draws the page.
pub(super) fn draw(shown: &VisibleRows<'_>, view: &mut ViewState, area: Rect, canvas: &mut Canvas<'_>) {
    let bar_rows = match area.height {
        0..8 => 0,
        8..LOW => 1,
        LOW..HIGH => 2,
        _ => 6,
    };
    let (top, rest) = split(area, bar_rows);
    bars::draw(&shown.snapshot.hour, top, canvas);
    for (panel, place) in places(rest, view.focus()) {
        draw_panel(shown, view, panel, place, canvas);
    }
}

/// Where each panel goes.
fn places(area: Rect, focus: Panel) -> Vec<PlacedPanel> {
    let share = |part: u16| (area.height * part / 20).max(3);
    if area.width < NARROW || area.height < LOW - 3 {
        return few(area, focus);
    }
    let (answered, rest) = split(area, share(4));
    if area.width >= WIDE {
        let (tables, rest) = split(rest, share(6));
        let (latest, alerts) = split(rest, rest.height / 2);
        let [clients, paths, rules] = columns(tables);
        return vec![
            (Panel::Answered, answered),
            (Panel::Clients, clients),
            (Panel::Paths, paths),
            (Panel::Rules, rules),
            (Panel::Latest, latest),
            (Panel::Alerts, alerts),
        ];
    }
    let (upper, rest) = split(rest, share(6));
    let (lower, alerts) = split(rest, share(5));
    let ([clients, paths], [rules, latest]) = (columns(upper), columns(lower));
    vec![
        (Panel::Answered, answered),
        (Panel::Clients, clients),
        (Panel::Paths, paths),
        (Panel::Rules, rules),
        (Panel::Latest, latest),
        (Panel::Alerts, alerts),
    ]
}

/// What answered, and the panel that keys act on.
fn few(area: Rect, focus: Panel) -> Vec<PlacedPanel> {
    if focus == Panel::Answered || area.height < 6 {
        return vec![(focus, area)];
    }
    let (answered, rest) = split(area, (area.height / 3).max(2));
    vec![(Panel::Answered, answered), (focus, rest)]
}

/// The first rows of an area, and the others.
fn split(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    (Rect { height: rows, ..area }, Rect { y: area.y + rows, height: area.height - rows, ..area })
}

/// Equal columns, one blank between them.
fn columns<const N: usize>(area: Rect) -> [Rect; N] {
    let n = N as u16;
    std::array::from_fn(|i| {
        let start = (u32::from(area.width + 1) * i as u32 / u32::from(n)) as u16;
        let end = (u32::from(area.width + 1) * (i as u32 + 1) / u32::from(n)) as u16;
        Rect { x: area.x + start, width: (end - start).saturating_sub(1), ..area }
    })
}

fn draw_panel(shown: &VisibleRows<'_>, view: &mut ViewState, panel: Panel, area: Rect, canvas: &mut Canvas<'_>) {
    let items = shown.items(panel);
    let focused = view.focus() == panel;
    let (head, list) = split(area, 1);
    let style = match panel {
        _ if focused => REVERSED,
        Panel::Answered if !items.is_empty() => canvas.alarm(),
        _ => BOLD,
    };
    canvas.heading(head, &title(shown, panel, focused), "", style);
    if items.is_empty() {
        canvas.text(list, 0, 0, nothing(panel), DIM);
        return;
    }
    let visible = usize::from(list.height);
    let first = view.cursor(panel).scroll(&items, visible);
    let chosen = focused.then(|| view.cursor(panel).position(&items));
    let seen: Vec<PanelItem<'_>> = items.into_iter().skip(first).take(visible).collect();
    rows::draw(panel, &seen, chosen.map(|at| at - first), list, canvas);
}

fn title(shown: &VisibleRows<'_>, panel: Panel, focused: bool) -> String {
    let tables = shown.tables;
    let counted = |word: &str, (kept, more): (usize, bool)| format!("{word} {}{}", compact(kept as u64), if more { "+" } else { "" });
    let title = match panel {
        Panel::Answered => counted("ANSWERED", tables.answered.len()),
        Panel::Clients => counted("CLIENTS", tables.clients.len()),
        Panel::Paths => counted("PATHS", tables.paths.len()),
        Panel::Rules => counted("RULES", tables.rules.len()),
        Panel::Latest => "LATEST HITS".to_owned(),
        Panel::Alerts => "ALERTS".to_owned(),
    };
    if focused { format!(" {title} ") } else { title }
}

fn nothing(panel: Panel) -> &'static str {
    match panel {
        Panel::Answered => "no probe got an answer that tells it anything",
        Panel::Clients | Panel::Paths | Panel::Rules | Panel::Latest => "no hit yet",
        Panel::Alerts => "no alert yet",
    }
}
