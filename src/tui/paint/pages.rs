//! Draws the pages of keys and of logs.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::text::escape_and_truncate;
use super::super::view::ViewState;
use super::super::visible_rows::VisibleRows;
use super::canvas::CellWidth::{Rest, Right};
use super::canvas::{BOLD, Canvas, CanvasCell, DIM, REVERSED};
use crate::number::{compact_counted, compact_size};

/// Columns of the keys.
const KEY: u16 = 14;

/// Keys and symbols, and what they mean.
const HELP: [(&str, &str); 19] = [
    ("q", "quit (also Ctrl-C)"),
    ("p or space", "pause the display; counting continues"),
    ("/", "filter: hits whose client, path, target or rule contains a text"),
    ("Esc", "back; on the first page: clear the filter"),
    ("Tab, ← →", "next or previous panel"),
    ("↑ ↓ j k", "select a row (also PgUp, PgDn, Home and End)"),
    ("Enter", "open the latest hits of a client, path or rule, with details"),
    ("s", "sort rows: worst, most hits or latest first"),
    ("l", "logs, with the unread bytes of each"),
    ("Ctrl-L", "redraw"),
    ("", ""),
    ("ANSWERED", "probes that got a distinct answer"),
    ("2!", "hits of this row with a distinct answer"),
    ("1,000+", "there were more; the least important were dropped"),
    ("the bars", "the last hour by this host's clock, a column per minute"),
    ("the times", "by the log's clock"),
    ("with a filter", "the tables count the latest 5,000 hits only"),
    ("***", "replaces what looks like a secret"),
    (r"\x1b", "an escaped control byte"),
];

/// Draws the page of keys.
pub(super) fn draw_help(area: Rect, canvas: &mut Canvas<'_>) {
    canvas.heading(Rect { height: area.height.min(1), ..area }, "KEYS AND SYMBOLS", "", REVERSED);
    for (y, (key, what)) in (1..).zip(HELP) {
        canvas.text(area, 0, y, key, BOLD);
        canvas.text(area, KEY, y, what, Style::new());
    }
}

/// Draws the page of logs, those with the most unread bytes first.
pub(super) fn draw_logs(shown: &VisibleRows<'_>, view: &mut ViewState, area: Rect, canvas: &mut Canvas<'_>) {
    let snapshot = shown.snapshot;
    let (head, list) = (Rect { height: area.height.min(1), ..area }, area.height.saturating_sub(1));
    let note = format!("{} unread", compact_size(snapshot.lag));
    canvas.heading(head, &compact_counted(snapshot.log_count as u64, "LOG", "LOGS"), &note, REVERSED);
    view.logs_from = view.logs_from.min(snapshot.logs.len().saturating_sub(list.into()));
    for (y, log) in (1..area.height).zip(&snapshot.logs[view.logs_from..]) {
        let style = if log.lag >= 1_000_000 { canvas.warning() } else { Style::new() };
        let cells = [
            CanvasCell::new(Rest, 0, String::from(escape_and_truncate(&log.path))),
            CanvasCell::new(Right(12), 2, compact_counted(log.lines, "line", "lines")).styled(DIM),
            CanvasCell::new(Right(14), 1, format!("{} unread", compact_size(log.lag))).styled(style),
        ];
        canvas.line(area, y, &cells, false);
    }
}
