//! Draws the live view at any size: a title line, the page, and a line of keys at the bottom.
//!
//! The overview has all panels on one page: answers at the top, and as many others as fit below.
//! The last hour is drawn as bars, a column per minute, the newest at the right. Other pages show
//! the latest hits of a client, path or rule, the logs, and the keys.
//!
//! Lines of cells are cut to the columns of their buffer, and no size panics. Colour adds no
//! information; without it there is bold, dim and reversed text.

use std::borrow::Cow;
use std::iter::repeat_n;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::dashboard;
use super::hourly::{HourlySeries, MINUTES, TrafficCounts};
use super::row::{AlertRow, HitRow};
use super::text::{clock, escape_and_truncate, split_to_width};
use super::top::{TopEntry, TopTable};
use super::view::{Panel, PanelItem, ScreenPage, ViewState, VisibleRows};
use crate::log::finding::Severity;
use crate::log::time::LogTime;
use crate::render::layout::{truncate, width};
use crate::render::timeline::{BARS, TimelineText};
use crate::text::number::{compact, compact_counted, compact_size, compact_tenths};
use crate::text::redact::sanitize;

/// Draws everything. `since` is how many hits came since the pause began, if it is paused.
pub(super) fn draw(
    visible_rows: &VisibleRows<'_>,
    view: &mut ViewState,
    since: Option<u64>,
    color: bool,
    frame: &mut Frame<'_>,
) {
    let (title, rest) = split(frame.area(), 1);
    let keys = u16::from(rest.height >= 2);
    let (body, keys) = split(rest, rest.height - keys);
    let canvas = &mut Canvas {
        buffer: frame.buffer_mut(),
        color,
    };
    draw_title(visible_rows, since, title, canvas);
    match view.page.clone() {
        ScreenPage::Overview => draw_overview(visible_rows, view, body, canvas),
        ScreenPage::Details(panel, name) => {
            draw_subject(panel, &name, visible_rows, view, body, canvas);
        }
        ScreenPage::Logs => draw_logs(visible_rows, view, body, canvas),
        ScreenPage::Help => draw_help(body, canvas),
    }
    draw_keys(visible_rows, view, keys, canvas);
}

/// Draws the first line. `since` is how many hits came since the pause began.
fn draw_title(
    visible_rows: &VisibleRows<'_>,
    since: Option<u64>,
    area: Rect,
    canvas: &mut Canvas<'_>,
) {
    let (rate, snapshot) = (visible_rows.snapshot.hour.rate(), visible_rows.snapshot);
    let lag_style = if snapshot.lag >= 1_000_000 {
        canvas.warning()
    } else {
        Style::new()
    };
    let mut parts: Vec<(Cow<'_, str>, Style)> = vec![("probewatch".into(), BOLD)];
    if let Some(since) = since {
        parts.push((
            format!(" PAUSED, {} since ", compact_counted(since, "hit", "hits")).into(),
            canvas.alarm().add_modifier(Modifier::REVERSED),
        ));
    }
    parts.push((
        format!("{} requests/s", compact_tenths(rate.requests)).into(),
        Style::new(),
    ));
    parts.push((format!("{} hits/s", compact_tenths(rate.hits)).into(), BOLD));
    parts.push((
        format!("lag {}", compact_size(snapshot.lag)).into(),
        lag_style,
    ));
    if snapshot.log_count > 0 {
        let logs = match snapshot.logs.as_slice() {
            [log] => escape_and_truncate(&log.path).into(),
            _ => compact_counted(snapshot.log_count as u64, "log", "logs"),
        };
        parts.push((logs.into(), DIM));
    }
    let mut x = 0;
    for (part, style) in parts {
        let fits = x + 2 + width(&part) as u16 <= area.width;
        // A name can be cut; a number cannot.
        if x == 0 || fits || style == DIM {
            x += canvas.text(area, x, 0, &part, style) + 2;
        }
    }
}

/// Draws the last line.
fn draw_keys(
    visible_rows: &VisibleRows<'_>,
    view: &ViewState,
    area: Rect,
    canvas: &mut Canvas<'_>,
) {
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
            compact(visible_rows.hits.len() as u64),
            compact_counted(visible_rows.snapshot.hits.len() as u64, "hit", "hits")
        );
        x += canvas.text(area, 0, 0, &note, REVERSED) + 1;
    }
    for (key, what) in key_names(view) {
        let columns = usize::from(area.width.saturating_sub(x));
        if width(key) + 1 + width(what) > columns {
            break;
        }
        x += canvas.text(area, x, 0, key, BOLD) + 1;
        x += canvas.text(area, x, 0, what, DIM) + 2;
    }
}

fn key_names(view: &ViewState) -> Vec<(&'static str, &'static str)> {
    let pause = ("p", if view.paused { "resume" } else { "pause" });
    match view.page {
        ScreenPage::Overview if !view.filter.is_empty() => {
            vec![
                ("Esc", "all"),
                ("q", "quit"),
                pause,
                ("Tab", "panel"),
                ("Enter", "open"),
                ("?", "help"),
            ]
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
        ScreenPage::Details(..) => vec![
            ("Esc", "back"),
            ("q", "quit"),
            pause,
            ("↑↓", "row"),
            ("/", "filter"),
            ("?", "help"),
        ],
        ScreenPage::Logs | ScreenPage::Help => vec![("Esc", "back"), ("q", "quit"), ("↑↓", "move")],
    }
}

/// On a page with fewer columns or rows only the answers and the focused panel are shown.
const NARROW_PAGE: u16 = 60;
const LOW_PAGE: u16 = 17;

/// From these columns on three panels are side by side.
const WIDE_PAGE: u16 = 110;

/// Rows of the timeline: bars, and marks of answers.
const TIMELINE_ROWS: u16 = 2;

/// From these rows on bars are three rows high, and the timeline is shown.
const HIGH_PAGE: u16 = 34;

/// A panel and its area.
type PlacedPanel = (Panel, Rect);

/// Draws the page.
fn draw_overview(
    visible_rows: &VisibleRows<'_>,
    view: &mut ViewState,
    area: Rect,
    canvas: &mut Canvas<'_>,
) {
    let bar_rows = match area.height {
        0..8 => 0,
        8..LOW_PAGE => 1,
        LOW_PAGE..HIGH_PAGE => 2,
        _ => 6,
    };
    let (top, rest) = split(area, bar_rows);
    draw_hour(&visible_rows.snapshot.hour, top, canvas);
    let (top, rest) = split(
        rest,
        if area.height < HIGH_PAGE {
            0
        } else {
            TIMELINE_ROWS
        },
    );
    draw_timeline(visible_rows, top, canvas);
    for (panel, area) in panel_layout(rest, view.focus) {
        draw_panel(visible_rows, view, panel, area, canvas);
    }
}

/// The area of each panel.
fn panel_layout(area: Rect, focus: Panel) -> Vec<PlacedPanel> {
    let share = |part: u16| (area.height * part / 20).max(3);
    if area.width < NARROW_PAGE || area.height < LOW_PAGE - 3 {
        return narrow_layout(area, focus);
    }
    let (answered, rest) = split(area, share(4));
    if area.width >= WIDE_PAGE {
        let (tables, rest) = split(rest, share(6));
        let (latest, alerts) = split(rest, rest.height / 2);
        let [clients, paths, rules] = columns(tables);
        return placed_panels([answered, clients, paths, rules, latest, alerts]);
    }
    let (upper, rest) = split(rest, share(6));
    let (lower, alerts) = split(rest, share(5));
    let ([clients, paths], [rules, latest]) = (columns(upper), columns(lower));
    placed_panels([answered, clients, paths, rules, latest, alerts])
}

/// The panels in these areas, in the order of the screen.
fn placed_panels(areas: [Rect; 6]) -> Vec<PlacedPanel> {
    Panel::ALL.into_iter().zip(areas).collect()
}

/// The answers, and the focused panel.
fn narrow_layout(area: Rect, focus: Panel) -> Vec<PlacedPanel> {
    if focus == Panel::Answered || area.height < 6 {
        return vec![(focus, area)];
    }
    let (answered, rest) = split(area, (area.height / 3).max(2));
    vec![(Panel::Answered, answered), (focus, rest)]
}

/// The first rows of an area, and the others.
fn split(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    (
        Rect {
            height: rows,
            ..area
        },
        Rect {
            y: area.y + rows,
            height: area.height - rows,
            ..area
        },
    )
}

/// Equal columns with a blank between them.
fn columns<const N: usize>(area: Rect) -> [Rect; N] {
    let n = N as u16;
    std::array::from_fn(|i| {
        let start = (u32::from(area.width + 1) * i as u32 / u32::from(n)) as u16;
        let end = (u32::from(area.width + 1) * (i as u32 + 1) / u32::from(n)) as u16;
        Rect {
            x: area.x + start,
            width: (end - start).saturating_sub(1),
            ..area
        }
    })
}

fn draw_panel(
    visible_rows: &VisibleRows<'_>,
    view: &mut ViewState,
    panel: Panel,
    area: Rect,
    canvas: &mut Canvas<'_>,
) {
    let items = visible_rows.items(panel);
    let focused = view.focus == panel;
    let (head, list) = split(area, 1);
    let style = match panel {
        _ if focused => REVERSED,
        Panel::Answered if !items.is_empty() => canvas.alarm(),
        _ => BOLD,
    };
    canvas.heading(head, &panel_title(visible_rows, panel, focused), "", style);
    if items.is_empty() {
        canvas.text(list, 0, 0, empty_text(panel), DIM);
        return;
    }
    let visible = usize::from(list.height);
    let first = view.cursor(panel).scroll(&items, visible);
    let chosen = focused.then(|| view.cursor(panel).position(&items));
    let page_items: Vec<PanelItem<'_>> = items.into_iter().skip(first).take(visible).collect();
    draw_rows(
        panel,
        &page_items,
        false,
        chosen.map(|at| at - first),
        list,
        canvas,
    );
}

fn panel_title(visible_rows: &VisibleRows<'_>, panel: Panel, focused: bool) -> String {
    let word = match panel {
        Panel::Answered => "ANSWERED",
        Panel::Clients => "CLIENTS",
        Panel::Paths => "PATHS",
        Panel::Rules => "RULES",
        Panel::Latest => "LATEST HITS",
        Panel::Alerts => "ALERTS",
    };
    let title = match visible_rows.tables.of(panel).map(TopTable::len) {
        None => word.to_owned(),
        Some((kept, false)) => format!("{word} {}", compact(kept as u64)),
        Some((kept, true)) => format!("{word} {}+", compact(kept as u64)),
    };
    if focused { format!(" {title} ") } else { title }
}

fn empty_text(panel: Panel) -> &'static str {
    match panel {
        Panel::Answered => "no probe got a distinct answer",
        Panel::Alerts => "no alert yet",
        _ => "no hit yet",
    }
}

/// Columns of `requests `.
const BAR_LABEL_WIDTH: u16 = 9;

/// Columns of `  12,345/h`.
const SUM_WIDTH: u16 = 10;

/// Draws requests above hits, in equal parts of `area`; with a single row only hits.
fn draw_hour(hour: &HourlySeries, area: Rect, canvas: &mut Canvas<'_>) {
    let (upper, lower) = split(area, area.height / 2);
    let style = canvas.in_color(Color::Cyan);
    draw_series(
        hour,
        "requests",
        |counts| counts.requests,
        upper,
        style,
        canvas,
    );
    let style = canvas.warning();
    draw_series(hour, "hits", |counts| counts.hits, lower, style, canvas);
}

/// Draws the hits by the log's clock, as far as they have a time.
fn draw_timeline(visible_rows: &VisibleRows<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    if area.height < TIMELINE_ROWS {
        return;
    }
    canvas.text(area, 0, 0, "by time", DIM);
    let offset = visible_rows
        .snapshot
        .hits
        .back()
        .and_then(|hit| hit.time)
        .map_or(0, |time| time.offset);
    let columns = area.width.saturating_sub(BAR_LABEL_WIDTH);
    let Some(text) = TimelineText::new(
        &visible_rows.snapshot.timeline.timeline(),
        offset,
        columns.into(),
    ) else {
        return;
    };
    canvas.text(area, BAR_LABEL_WIDTH, 0, &text.bars, canvas.warning());
    canvas.text(
        area,
        BAR_LABEL_WIDTH,
        1,
        text.marks.as_deref().unwrap_or_default(),
        canvas.alarm(),
    );
}

fn draw_series(
    hour: &HourlySeries,
    name: &str,
    of: impl Fn(TrafficCounts) -> u64,
    area: Rect,
    style: Style,
    canvas: &mut Canvas<'_>,
) {
    let Some(base) = area.height.checked_sub(1) else {
        return;
    };
    let counts: Vec<_> = hour.minutes().map(of).collect();
    let sum = format!("{}/h", compact(counts.iter().sum()));
    let columns = area.width.saturating_sub(BAR_LABEL_WIDTH + SUM_WIDTH);
    // Twice as wide on a wide page.
    let wide = (columns / MINUTES as u16).clamp(1, 2);
    let minutes = usize::from(columns / wide).min(MINUTES);
    let max_count = counts.iter().copied().max().unwrap_or(0).max(1);
    canvas.text(area, 0, base, name, DIM);
    for (column, &count) in counts[MINUTES - minutes..].iter().enumerate() {
        let x = BAR_LABEL_WIDTH + column as u16 * wide;
        for (row, bar) in (0..).zip(column_of(count, max_count, area.height)) {
            let bar: String = repeat_n(bar, wide.into()).collect();
            canvas.text(area, x, row, &bar, style);
        }
    }
    canvas.text(
        area,
        BAR_LABEL_WIDTH + minutes as u16 * wide + 1,
        base,
        &sum,
        BOLD,
    );
}

/// The pieces of a bar from the top down. A count above 0 is always visible.
fn column_of(count: u64, max_count: u64, rows: u16) -> impl Iterator<Item = char> {
    let eighths = u128::from(count) * u128::from(rows) * 8 / u128::from(max_count);
    let eighths = (eighths as usize).max(usize::from(count > 0));
    (0..usize::from(rows))
        .rev()
        .map(move |row| BARS[eighths.saturating_sub(row * 8).min(8)])
}

/// Columns of a severity, a time of day, a count and a method.
const SEVERITY_WIDTH: u16 = 8;
const TIME_WIDTH: u16 = 8;
const HITS_WIDTH: u16 = 6;
const METHOD_WIDTH: u16 = 7;

/// Columns of `auth_required`.
const OUTCOME_WIDTH: u16 = 13;

/// Draws the rows of a panel, without the client of hits where they are all of one; the selected
/// one is reversed.
fn draw_rows(
    panel: Panel,
    items: &[PanelItem<'_>],
    of_one_client: bool,
    chosen: Option<usize>,
    area: Rect,
    canvas: &mut Canvas<'_>,
) {
    let client = widest(items, area.width, |item| match item {
        PanelItem::Entry(_, entry) => &entry.sample.client,
        PanelItem::Hit(row) => &row.client,
        PanelItem::Alert(_) => "",
    });
    for (y, item) in items.iter().enumerate().take(area.height.into()) {
        let cells = match item {
            PanelItem::Entry(_, entry) if panel == Panel::Answered => {
                answered(entry, client, area.width, canvas)
            }
            PanelItem::Entry(name, entry) => name_cells(name, entry, canvas),
            PanelItem::Hit(row) => {
                let mut cells = hit(row, client, area.width, canvas);
                if of_one_client {
                    cells.remove(3);
                }
                cells
            }
            PanelItem::Alert(row) => alert(row, canvas),
        };
        canvas.line(area, y as u16, &cells, chosen == Some(y));
    }
}

/// The columns of the widest text, up to a third of the page.
fn widest<'i>(
    items: &'i [PanelItem<'_>],
    page: u16,
    text: impl Fn(&'i PanelItem<'_>) -> &'i str,
) -> u16 {
    let widest = items
        .iter()
        .map(|item| width(text(item)))
        .max()
        .unwrap_or(0);
    (widest as u16).min(page / 3)
}

fn severity(severity: Severity, rank: u8, canvas: &Canvas<'_>) -> CanvasCell<'static> {
    let style = canvas.severity(severity);
    left(SEVERITY_WIDTH, rank, severity.as_str(), style)
}

fn time<'t>(time: Option<LogTime>, rank: u8) -> CanvasCell<'t> {
    left(TIME_WIDTH, rank, clock(time), DIM)
}

/// Client, status, severity, path, hits and time of the latest hit; on a wide page the rules.
fn answered<'t>(
    entry: &'t TopEntry,
    client: u16,
    page: u16,
    canvas: &Canvas<'_>,
) -> Vec<CanvasCell<'t>> {
    let row = &entry.sample;
    let status = row
        .status
        .map_or(String::new(), |status| status.to_string());
    let mut cells = vec![
        left(client, 0, &*row.client, BOLD),
        left(3, 3, status, Style::new()),
        severity(entry.severity, 2, canvas),
        rest(&*row.path, canvas.alarm()),
        right(HITS_WIDTH, 4, compact(entry.hits), Style::new()),
        time(row.time, 5),
    ];
    if page >= 100 {
        cells.insert(4, left(page / 5, 6, &*row.rules, Style::new()));
    }
    cells
}

/// Name, answers, severity and hits.
fn name_cells<'t>(name: &'t str, entry: &TopEntry, canvas: &Canvas<'_>) -> Vec<CanvasCell<'t>> {
    let (answered, style) = if entry.answered > 0 {
        (format!("{}!", compact(entry.answered)), BOLD)
    } else {
        (String::new(), Style::new())
    };
    vec![
        rest(name, style),
        right(4, 3, answered, canvas.alarm()),
        severity(entry.severity, 1, canvas),
        right(HITS_WIDTH, 2, compact(entry.hits), Style::new()),
    ]
}

/// Time, severity, outcome, client, method and target; on a wide page the rules.
fn hit<'t>(row: &'t HitRow, client: u16, page: u16, canvas: &Canvas<'_>) -> Vec<CanvasCell<'t>> {
    let (outcome, target) = if row.answered {
        (canvas.alarm(), canvas.alarm())
    } else {
        (DIM, Style::new())
    };
    let mut cells = vec![
        time(row.time, 3),
        severity(row.severity, 2, canvas),
        left(OUTCOME_WIDTH, 5, row.outcome.as_str(), outcome),
        left(client, 1, &*row.client, Style::new()),
        left(METHOD_WIDTH, 6, &*row.method, Style::new()),
        rest(&*row.target, target),
    ];
    if page >= 90 {
        cells.push(left(page / 5, 4, &*row.rules, DIM));
    }
    cells
}

fn alert<'t>(row: &'t AlertRow, canvas: &Canvas<'_>) -> Vec<CanvasCell<'t>> {
    let level = match row.severity {
        Some(level) => severity(level, 1, canvas),
        None => left(SEVERITY_WIDTH, 1, "notice", DIM),
    };
    vec![time(row.time, 2), level, rest(&*row.text, Style::new())]
}

/// The least rows of the list; details get the others.
const MIN_ROWS: u16 = 4;

/// Columns of the labels of details.
const DETAIL_LABEL_WIDTH: u16 = 9;

/// Draws the page.
fn draw_subject(
    panel: Panel,
    name: &str,
    visible_rows: &VisibleRows<'_>,
    view: &mut ViewState,
    area: Rect,
    canvas: &mut Canvas<'_>,
) {
    let items = visible_rows.hits_of(panel, name);
    let entry = visible_rows.snapshot.tables.of(panel);
    let summary = summary(entry.and_then(|table| table.get(name)));
    canvas.heading(area, name, &summary, REVERSED);
    let (_, area) = split(area, 1);
    if items.is_empty() {
        let why = if visible_rows.filter.is_empty() {
            "its hits are no longer kept"
        } else {
            "none of its kept hits matches the filter"
        };
        canvas.text(area, 0, 0, why, DIM);
        return;
    }
    let at = view.opened.position(&items);
    let lines = if let Some(PanelItem::Hit(row)) = items.get(at) {
        details(row, area.width)
    } else {
        Vec::new()
    };
    let detail_rows = (lines.len() as u16 + 1).min(area.height.saturating_sub(MIN_ROWS));
    let (list, details) = split(area, area.height - detail_rows);
    let first = view.opened.scroll(&items, list.height.into());
    let page_items: Vec<_> = items
        .into_iter()
        .skip(first)
        .take(list.height.into())
        .collect();
    draw_rows(
        Panel::Latest,
        &page_items,
        panel == Panel::Clients,
        Some(at - first),
        list,
        canvas,
    );
    canvas.heading(details, "SELECTED HIT", "", BOLD);
    for (y, (label, text)) in (1..).zip(&lines) {
        canvas.text(details, 0, y, label, DIM);
        canvas.text(details, DETAIL_LABEL_WIDTH, y, text, Style::new());
    }
}

/// `24 hits · 2 answered · worst critical`.
fn summary(entry: Option<&TopEntry>) -> String {
    let Some(entry) = entry else {
        return format!(
            "not among the latest {} hits",
            compact(dashboard::HITS as u64)
        );
    };
    let answered = if entry.answered > 0 {
        format!(" · {} answered", compact(entry.answered))
    } else {
        String::new()
    };
    format!(
        "{}{answered} · worst {}",
        compact_counted(entry.hits, "hit", "hits"),
        entry.severity
    )
}

/// The details of a hit, as lines with a label; an empty label continues a text.
fn details(row: &HitRow, page: u16) -> Vec<(&'static str, String)> {
    let status = row
        .status
        .map(|status| format!("{status} "))
        .unwrap_or_default();
    let fields = [
        ("rules", Some(&*row.rules)),
        ("answer", Some(&*format!("{status}{}", row.outcome))),
        ("target", Some(&*row.target)),
        ("line", Some(&*row.location)),
        ("decoded", row.decoded.as_deref()),
        (
            "path",
            Some(&*row.path)
                .filter(|path| *path != &*row.target && Some(*path) != row.decoded.as_deref()),
        ),
        ("host", row.host.as_deref()),
        ("agent", row.agent.as_deref()),
    ];
    let columns = usize::from(page.saturating_sub(DETAIL_LABEL_WIDTH)).max(1);
    let mut labelled = Vec::new();
    for (label, text) in fields {
        let lines = split_to_width(text.unwrap_or_default(), columns)
            .into_iter()
            .map(str::to_owned);
        let labels = std::iter::once(label).chain(std::iter::repeat(""));
        labelled.extend(labels.zip(lines));
    }
    labelled
}

/// Columns of the keys.
const KEY_WIDTH: u16 = 14;

/// Keys and symbols, and what they mean.
const HELP: [(&str, &str); 20] = [
    ("q", "quit (also Ctrl-C)"),
    ("p or space", "pause the display; counting continues"),
    (
        "/",
        "filter: hits whose client, path, target or rule contains a text",
    ),
    ("Esc", "back; on the first page: clear the filter"),
    ("Tab, ← →", "next or previous panel"),
    ("↑ ↓ j k", "select a row (also PgUp, PgDn, Home and End)"),
    (
        "Enter",
        "open the latest hits of a client, path or rule, with details",
    ),
    ("s", "sort rows: worst, most hits or latest first"),
    ("l", "logs, with the unread bytes of each"),
    ("Ctrl-L", "redraw"),
    ("", ""),
    ("ANSWERED", "probes that got a distinct answer"),
    ("2!", "hits of this row with a distinct answer"),
    (
        "1,000+",
        "there were more; the least important were dropped",
    ),
    (
        "the bars",
        "the last hour by this host's clock, a column per minute",
    ),
    (
        "by time",
        "all hits by the log's clock, in a window of at least 36 rows",
    ),
    ("the times", "by the log's clock"),
    (
        "with a filter",
        "the tables count the latest 5,000 hits only",
    ),
    ("***", "replaces what looks like a secret"),
    (r"\x1b", "an escaped control byte"),
];

/// Draws the page of keys.
fn draw_help(area: Rect, canvas: &mut Canvas<'_>) {
    canvas.heading(area, "KEYS AND SYMBOLS", "", REVERSED);
    for (y, (key, what)) in (1..).zip(HELP) {
        canvas.text(area, 0, y, key, BOLD);
        canvas.text(area, KEY_WIDTH, y, what, Style::new());
    }
}

/// Draws the page of logs, those with the most unread bytes first.
fn draw_logs(
    visible_rows: &VisibleRows<'_>,
    view: &mut ViewState,
    area: Rect,
    canvas: &mut Canvas<'_>,
) {
    let snapshot = visible_rows.snapshot;
    let title = compact_counted(snapshot.log_count as u64, "LOG", "LOGS");
    let note = format!("{} unread", compact_size(snapshot.lag));
    canvas.heading(area, &title, &note, REVERSED);
    let rows = usize::from(area.height.saturating_sub(1));
    view.logs_from = view.logs_from.min(snapshot.logs.len().saturating_sub(rows));
    for (y, log) in (1..area.height).zip(&snapshot.logs[view.logs_from..]) {
        let style = if log.lag >= 1_000_000 {
            canvas.warning()
        } else {
            Style::new()
        };
        let path = String::from(escape_and_truncate(&log.path));
        let lines = compact_counted(log.lines, "line", "lines");
        let unread = format!("{} unread", compact_size(log.lag));
        let cells = [
            rest(path, Style::new()),
            right(12, 2, lines, DIM),
            right(14, 1, unread, style),
        ];
        canvas.line(area, y, &cells, false);
    }
}

/// The least columns of the flexible cell of a line; other cells are left out first.
const MIN_FLEXIBLE: u16 = 12;

/// The style of less important text.
const DIM: Style = Style::new().add_modifier(Modifier::DIM);

/// The style of important text.
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// The style of the focused heading.
const REVERSED: Style = Style::new()
    .add_modifier(Modifier::REVERSED)
    .add_modifier(Modifier::BOLD);

/// A text in a line.
#[derive(Debug, Clone)]
struct CanvasCell<'t> {
    text: Cow<'t, str>,
    style: Style,
    /// `None`: the remaining columns; at most one cell of a line.
    columns: Option<u16>,
    is_right: bool,
    /// The highest rank is left out first; 0 never is.
    rank: u8,
}

/// A cell of these columns, aligned at the left.
fn left<'t>(columns: u16, rank: u8, text: impl Into<Cow<'t, str>>, style: Style) -> CanvasCell<'t> {
    CanvasCell {
        text: text.into(),
        style,
        columns: Some(columns),
        is_right: false,
        rank,
    }
}

/// A cell of these columns, aligned at the right.
fn right(columns: u16, rank: u8, text: String, style: Style) -> CanvasCell<'static> {
    CanvasCell {
        is_right: true,
        ..left(columns, rank, text, style)
    }
}

/// A cell of the remaining columns.
fn rest<'t>(text: impl Into<Cow<'t, str>>, style: Style) -> CanvasCell<'t> {
    CanvasCell {
        columns: None,
        ..left(0, 0, text, style)
    }
}

/// A buffer to draw on.
#[derive(Debug)]
struct Canvas<'f> {
    buffer: &'f mut Buffer,
    color: bool,
}

impl Canvas<'_> {
    /// Writes a text, cut at the right edge of `area`. Returns its columns.
    fn text(&mut self, area: Rect, x: u16, y: u16, text: &str, style: Style) -> u16 {
        let area = area.intersection(self.buffer.area);
        if x >= area.width || y >= area.height {
            return 0;
        }
        let columns_left = usize::from(area.width - x);
        let (end, _) = self.buffer.set_stringn(
            area.x + x,
            area.y + y,
            truncate(text, columns_left),
            columns_left,
            style,
        );
        end - area.x - x
    }

    /// Writes cells as a line; a selected line is reversed.
    fn line(&mut self, area: Rect, y: u16, cells: &[CanvasCell<'_>], chosen: bool) {
        if y >= area.height {
            return;
        }
        let (fitting, rest) = fit(cells, area.width);
        let mut x = 0_u16;
        for cell in fitting {
            let columns = cell.columns.unwrap_or(rest);
            let shown = truncate(&cell.text, columns.into());
            let before = if cell.is_right {
                columns.saturating_sub(width(&shown) as u16)
            } else {
                0
            };
            self.text(area, x.saturating_add(before), y, &shown, cell.style);
            x = x.saturating_add(columns).saturating_add(1);
        }
        if chosen {
            let row = Rect {
                y: area.y.saturating_add(y),
                height: 1,
                ..area
            }
            .intersection(self.buffer.area);
            self.buffer
                .set_style(row, Style::new().add_modifier(Modifier::REVERSED));
        }
    }

    /// Writes a title and a rule to the right edge, with a note at its end if it fits.
    fn heading(&mut self, area: Rect, title: &str, note: &str, style: Style) {
        let used = self.text(area, 0, 0, title, style);
        let note_columns = width(note) as u16;
        let rule = area.width.saturating_sub(used + 1);
        let rule = if note.is_empty() || rule < note_columns + 3 {
            rule
        } else {
            rule - note_columns - 1
        };
        self.text(area, used + 1, 0, &"─".repeat(rule.into()), DIM);
        if !note.is_empty() {
            self.text(area, used + rule + 2, 0, note, DIM);
        }
    }

    /// The style of answers and critical severities.
    fn alarm(&self) -> Style {
        self.in_color(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// The style of medium severities and lag.
    fn warning(&self) -> Style {
        self.in_color(Color::Yellow)
    }

    /// The style of a severity.
    fn severity(&self, severity: Severity) -> Style {
        match severity {
            Severity::Critical => self.alarm(),
            Severity::High => self.in_color(Color::Red),
            Severity::Medium => self.warning(),
            Severity::Low => Style::new(),
            Severity::Info => DIM,
        }
    }

    /// This colour, or none without colours.
    fn in_color(&self, color: Color) -> Style {
        if self.color {
            Style::new().fg(color)
        } else {
            Style::new()
        }
    }
}

/// The cells that fit, and the columns of the flexible one.
fn fit<'c, 't>(cells: &'c [CanvasCell<'t>], page: u16) -> (Vec<&'c CanvasCell<'t>>, u16) {
    let mut fitting: Vec<_> = cells.iter().collect();
    loop {
        let gaps = fitting.len().saturating_sub(1) as u16;
        let used = fitting
            .iter()
            .filter_map(|cell| cell.columns)
            .fold(gaps, u16::saturating_add);
        let min_rest = if fitting.iter().any(|cell| cell.columns.is_none()) {
            MIN_FLEXIBLE
        } else {
            0
        };
        if used.saturating_add(min_rest) <= page {
            return (fitting, page - used);
        }
        let Some(worst) = (0..fitting.len())
            .filter(|&i| fitting[i].rank > 0)
            .max_by_key(|&i| fitting[i].rank)
        else {
            return (fitting, page.saturating_sub(used));
        };
        fitting.remove(worst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_proportional_to_counts() {
        assert_eq!(column_of(0, 10, 2).collect::<String>(), "  ");
        assert_eq!(column_of(1, 1_000, 2).collect::<String>(), " ▁");
        assert_eq!(column_of(3, 4, 2).collect::<String>(), "▄█");
        assert_eq!(column_of(u64::MAX, u64::MAX, 2).collect::<String>(), "██");
    }
}
