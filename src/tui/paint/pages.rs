//! The pages that are only read: the keys, and the logs.

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

/// Keys and what they do; one without a key goes on, or is a remark.
const HELP: [(&str, &str); 19] = [
    ("q", "quit (Ctrl-C as well)"),
    ("p or space", "pause: the snapshot stands still, counting goes on"),
    ("/", "filter: hits whose client, path, target or rule holds a text"),
    ("Esc", "back; on the first page: without the filter"),
    ("Tab, ← →", "another panel"),
    ("↑ ↓ j k", "another row; PgUp, PgDn, Home and End as well"),
    ("Enter", "the latest hits of a client, path or rule, and the proof of each"),
    ("s", "order of rows: worst, most hits, latest first"),
    ("l", "the logs: what is not yet read of each"),
    ("Ctrl-L", "draw anew"),
    ("", ""),
    ("ANSWERED", "probes that got a 2xx which tells them something"),
    ("2!", "hits of this row that were answered so"),
    ("1,000+", "there were more; those that matter least were forgotten"),
    ("the bars", "the last hour by this machine's clock, a column a minute"),
    ("the times", "by the log's clock"),
    ("with a filter", "the tables count the latest 5,000 hits only"),
    ("***", "stands for what looks like a secret"),
    (r"\x1b", "a byte that a terminal could act on"),
];

/// Draws the page of keys.
pub(super) fn draw_help(area: Rect, canvas: &mut Canvas<'_>) {
    canvas.heading(Rect { height: area.height.min(1), ..area }, "KEYS AND SIGNS", "", REVERSED);
    for (y, (key, what)) in (1..).zip(HELP) {
        canvas.text(area, 0, y, key, BOLD);
        canvas.text(area, KEY, y, what, Style::new());
    }
}

/// Draws the page of logs, those that are furthest behind first.
pub(super) fn draw_logs(shown: &VisibleRows<'_>, view: &mut ViewState, area: Rect, canvas: &mut Canvas<'_>) {
    let snapshot = shown.snapshot;
    let (head, list) = (Rect { height: area.height.min(1), ..area }, area.height.saturating_sub(1));
    let note = format!("{} not read", compact_size(snapshot.lag));
    canvas.heading(head, &compact_counted(snapshot.log_count as u64, "LOG", "LOGS"), &note, REVERSED);
    view.logs_from = view.logs_from.min(snapshot.logs.len().saturating_sub(list.into()));
    for (y, log) in (1..area.height).zip(&snapshot.logs[view.logs_from..]) {
        let style = if log.lag >= 1_000_000 { canvas.warning() } else { Style::new() };
        let cells = [
            CanvasCell::new(Rest, 0, String::from(escape_and_truncate(&log.path))),
            CanvasCell::new(Right(12), 2, compact_counted(log.lines, "line", "lines")).styled(DIM),
            CanvasCell::new(Right(14), 1, format!("{} behind", compact_size(log.lag))).styled(style),
        ];
        canvas.line(area, y, &cells, false);
    }
}
