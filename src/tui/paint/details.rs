//! The page of one client, path or rule: its latest hits, and everything that is kept of the chosen one.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::hit_row::HitRow;
use super::super::snapshot::HITS;
use super::super::text::split_to_width;
use super::super::view::ViewState;
use super::super::visible_rows::{DetailSubject, PanelItem, VisibleRows};
use super::canvas::{BOLD, Canvas, DIM, REVERSED};
use super::rows;
use crate::number::{compact, compact_counted};

/// Rows of the list that stay before the proof is given any.
const MIN_ROWS: u16 = 4;

/// Columns of the labels of the proof.
const LABEL: u16 = 9;

/// Draws the page.
pub(super) fn draw(subject: &DetailSubject, shown: &VisibleRows<'_>, view: &mut ViewState, area: Rect, canvas: &mut Canvas<'_>) {
    let items = shown.hits_of(subject);
    canvas.heading(Rect { height: area.height.min(1), ..area }, subject.name(), &summary(subject, shown), REVERSED);
    let area = Rect { y: area.y + area.height.min(1), height: area.height.saturating_sub(1), ..area };
    if items.is_empty() {
        let why =
            if shown.filter.is_empty() { "none of its hits is kept any more" } else { "none of its hits that are kept matches the filter" };
        canvas.text(area, 0, 0, why, DIM);
        return;
    }
    let at = view.detail_cursor().position(&items);
    let proof = if let Some(PanelItem::Hit(row)) = items.get(at) { proof(row, area.width) } else { Vec::new() };
    let proof_rows = (proof.len() as u16 + 1).min(area.height.saturating_sub(MIN_ROWS));
    let list = Rect { height: area.height - proof_rows, ..area };
    let first = view.detail_cursor().scroll(&items, list.height.into());
    let seen: Vec<_> = items.into_iter().skip(first).take(list.height.into()).collect();
    rows::draw_hits(&seen, matches!(subject, DetailSubject::Client(_)), at - first, list, canvas);
    draw_proof(&proof, Rect { y: area.y + list.height, height: proof_rows, ..area }, canvas);
}

/// `24 hits · 2 answered · worst critical`, as far as they are known.
fn summary(subject: &DetailSubject, shown: &VisibleRows<'_>) -> String {
    let Some(entry) = subject.entry(&shown.snapshot.tables) else {
        return format!("not among the latest {} hits", compact(HITS as u64));
    };
    let answered = if entry.answered > 0 { format!(" · {} answered", compact(entry.answered)) } else { String::new() };
    format!("{}{answered} · worst {}", compact_counted(entry.hits, "hit", "hits"), entry.severity)
}

/// A label and a line of what it says; no label where a text goes on.
type DetailLines = Vec<(&'static str, String)>;

/// All there is to say of a hit.
fn proof(row: &HitRow, page: u16) -> DetailLines {
    let status = row.status.map(|status| format!("{status} ")).unwrap_or_default();
    let said = [
        ("rules", Some(&*row.rules)),
        ("answer", Some(&*format!("{status}{}", row.outcome))),
        ("target", Some(&*row.target)),
        ("line", Some(&*row.place)),
        ("decoded", row.decoded.as_deref()),
        ("path", Some(&*row.path).filter(|path| *path != &*row.target && Some(*path) != row.decoded.as_deref())),
        ("host", row.host.as_deref()),
        ("agent", row.agent.as_deref()),
    ];
    let room = usize::from(page.saturating_sub(LABEL)).max(1);
    let mut proof = Vec::new();
    for (label, text) in said {
        let lines = split_to_width(text.unwrap_or_default(), room).into_iter().map(str::to_owned);
        let labels = std::iter::once(label).chain(std::iter::repeat(""));
        proof.extend(labels.zip(lines));
    }
    proof
}

fn draw_proof(proof: &DetailLines, area: Rect, canvas: &mut Canvas<'_>) {
    canvas.heading(Rect { height: area.height.min(1), ..area }, "CHOSEN HIT", "", BOLD);
    for (y, (label, text)) in (1..).zip(proof) {
        canvas.text(area, 0, y, label, DIM);
        canvas.text(area, LABEL, y, text, Style::new());
    }
}
