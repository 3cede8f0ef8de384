//! The first line: the logs, how much comes, how far behind we are. And the last one: the keys, or the filter.

use std::borrow::Cow;

use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::super::text::{escape_and_truncate, width};
use super::super::view::{ScreenPage, ViewState};
use super::super::visible_rows::VisibleRows;
use super::canvas::{BOLD, Canvas, DIM, REVERSED};
use crate::number::{compact, compact_counted, compact_size, compact_tenths};
use crate::redact::sanitize;

/// Draws the first line. `since` is how many hits came since the snapshot was frozen.
pub(super) fn draw(shown: &VisibleRows<'_>, since: Option<u64>, area: Rect, canvas: &mut Canvas<'_>) {
    let (rate, snapshot) = (shown.snapshot.hour.rate(), shown.snapshot);
    let lag_style = if snapshot.lag >= 1_000_000 { canvas.warning() } else { Style::new() };
    let mut parts: Vec<(Cow<'_, str>, Style)> = vec![("probewatch".into(), BOLD)];
    if let Some(since) = since {
        parts.push((
            format!(" PAUSED, {} since ", compact_counted(since, "hit", "hits")).into(),
            canvas.alarm().add_modifier(Modifier::REVERSED),
        ));
    }
    parts.push((format!("{} requests/s", compact_tenths(rate.requests)).into(), Style::new()));
    parts.push((format!("{} hits/s", compact_tenths(rate.hits)).into(), BOLD));
    parts.push((format!("lag {}", compact_size(snapshot.lag)).into(), lag_style));
    if snapshot.log_count > 0 {
        parts.push((logs(shown), DIM));
    }
    let mut x = 0;
    for (part, style) in parts {
        let fits = x + 2 + width(&part) as u16 <= area.width;
        // A name can be cut; a number that is would be another number.
        if x == 0 || fits || style == DIM {
            x += canvas.text(area, x, 0, &part, style) + 2;
        }
    }
}

fn logs<'p>(shown: &VisibleRows<'p>) -> Cow<'p, str> {
    match shown.snapshot.logs.as_slice() {
        [log] => Cow::Owned(escape_and_truncate(&log.path).into()),
        _ => Cow::Owned(compact_counted(shown.snapshot.log_count as u64, "log", "logs")),
    }
}

/// Draws the last line.
pub(super) fn draw_keys(shown: &VisibleRows<'_>, view: &ViewState, paused: bool, area: Rect, canvas: &mut Canvas<'_>) {
    let filter = sanitize::escape(view.filter.as_bytes());
    if view.typing {
        let x = canvas.text(area, 0, 0, "filter: ", BOLD);
        let x = x + canvas.text(area, x, 0, &filter, Style::new());
        let x = x + canvas.text(area, x, 0, " ", REVERSED);
        canvas.text(area, x + 2, 0, "Enter keeps it, Esc clears it", DIM);
        return;
    }
    let mut x = 0;
    if !filter.is_empty() {
        let note = format!(
            " /{filter}: {} of the latest {} ",
            compact(shown.hits.len() as u64),
            compact_counted(shown.snapshot.hits.len() as u64, "hit", "hits")
        );
        x += canvas.text(area, 0, 0, &note, REVERSED) + 1;
    }
    for (key, what) in keys(view, paused) {
        let room = usize::from(area.width.saturating_sub(x));
        if width(key) + 1 + width(what) > room {
            break;
        }
        x += canvas.text(area, x, 0, key, BOLD) + 1;
        x += canvas.text(area, x, 0, what, DIM) + 2;
    }
}

fn keys(view: &ViewState, paused: bool) -> Vec<(&'static str, &'static str)> {
    let pause = ("p", if paused { "go on" } else { "pause" });
    match view.page {
        ScreenPage::Overview if !view.filter.is_empty() => {
            vec![("Esc", "all"), ("q", "quit"), pause, ("Tab", "panel"), ("Enter", "open"), ("?", "help")]
        }
        ScreenPage::Overview => vec![
            ("q", "quit"),
            ("?", "help"),
            pause,
            ("/", "filter"),
            ("Tab", "panel"),
            ("↑↓", "row"),
            ("Enter", "open"),
            ("s", view.order.as_str()),
            ("l", "logs"),
        ],
        ScreenPage::Details(_) => vec![("Esc", "back"), ("q", "quit"), pause, ("↑↓", "row"), ("/", "filter"), ("?", "help")],
        ScreenPage::Logs | ScreenPage::Help => vec![("Esc", "back"), ("q", "quit"), ("↑↓", "move")],
    }
}
