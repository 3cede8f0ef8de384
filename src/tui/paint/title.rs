//! The first line: the logs, how much comes, how far behind we are. And the last one: the keys, or the filter.

use std::borrow::Cow;

use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::super::number::{counted, short, size, tenths};
use super::super::shown::Shown;
use super::super::text::{of_machine, width};
use super::super::view::{Page, View};
use super::canvas::{BOLD, Canvas, DIM, REVERSED};
use crate::redact::sanitize;

/// Draws the first line. `since` is how many hits came since the picture was frozen.
pub(super) fn draw(shown: &Shown<'_>, since: Option<u64>, area: Rect, canvas: &mut Canvas<'_>) {
    let (rate, picture) = (shown.picture.hour.rate(), shown.picture);
    let lag_style = if picture.lag >= 1_000_000 { canvas.warning() } else { Style::new() };
    let mut parts: Vec<(Cow<'_, str>, Style)> = vec![("probewatch".into(), BOLD)];
    if let Some(since) = since {
        parts.push((format!(" PAUSED, {} since ", counted(since, "hit", "hits")).into(), canvas.alarm().add_modifier(Modifier::REVERSED)));
    }
    parts.push((format!("{} requests/s", tenths(rate.requests)).into(), Style::new()));
    parts.push((format!("{} hits/s", tenths(rate.hits)).into(), BOLD));
    parts.push((format!("lag {}", size(picture.lag)).into(), lag_style));
    if picture.log_count > 0 {
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

fn logs<'p>(shown: &Shown<'p>) -> Cow<'p, str> {
    match shown.picture.logs.as_slice() {
        [log] => Cow::Owned(of_machine(&log.path).into()),
        _ => Cow::Owned(counted(shown.picture.log_count as u64, "log", "logs")),
    }
}

/// Draws the last line.
pub(super) fn draw_keys(shown: &Shown<'_>, view: &View, paused: bool, area: Rect, canvas: &mut Canvas<'_>) {
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
            short(shown.hits.len() as u64),
            counted(shown.picture.hits.len() as u64, "hit", "hits")
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

fn keys(view: &View, paused: bool) -> Vec<(&'static str, &'static str)> {
    let pause = ("p", if paused { "go on" } else { "pause" });
    match view.page {
        Page::Overview if !view.filter.is_empty() => {
            vec![("Esc", "all"), ("q", "quit"), pause, ("Tab", "panel"), ("Enter", "open"), ("?", "help")]
        }
        Page::Overview => vec![
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
        Page::Opened(_) => vec![("Esc", "back"), ("q", "quit"), pause, ("↑↓", "row"), ("/", "filter"), ("?", "help")],
        Page::Logs | Page::Help => vec![("Esc", "back"), ("q", "quit"), ("↑↓", "move")],
    }
}
