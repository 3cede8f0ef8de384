//! The last hour as bars, a column a minute, the newest at the right.

use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::bar::NINE_LEVELS;

use super::super::hourly::{HourlySeries, MINUTES, TrafficCounts};
use super::canvas::{BOLD, Canvas, DIM};
use crate::number::compact;

/// Columns of `requests `.
const LABEL: u16 = 9;

/// Columns of `  12,345/h`.
const SUM: u16 = 10;

/// Eighths of a row.
const EIGHTHS: u64 = 8;

/// Draws requests above hits, in equal parts of `area`; hits alone where there is one row.
pub(super) fn draw(hour: &HourlySeries, area: Rect, canvas: &mut Canvas<'_>) {
    let rows = area.height / 2;
    if rows > 0 {
        let style = canvas.in_color(Color::Cyan);
        series(hour, "requests", |counts| counts.requests, Rect { height: rows, ..area }, style, canvas);
    }
    let style = canvas.warning();
    series(hour, "hits", |counts| counts.hits, Rect { y: area.y + rows, height: area.height - rows, ..area }, style, canvas);
}

fn series(hour: &HourlySeries, name: &str, of: impl Fn(TrafficCounts) -> u64, area: Rect, style: Style, canvas: &mut Canvas<'_>) {
    let Some(base) = area.height.checked_sub(1) else { return };
    let counts: Vec<_> = hour.minutes().map(of).collect();
    let sum = format!("{}/h", compact(counts.iter().sum()));
    let room = area.width.saturating_sub(LABEL + SUM);
    // Twice as wide where there is room for it.
    let wide = (room / MINUTES as u16).clamp(1, 2);
    let shown = usize::from(room / wide).min(MINUTES);
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    canvas.text(area, 0, base, name, DIM);
    for (column, &count) in counts[MINUTES - shown..].iter().enumerate() {
        let x = LABEL + column as u16 * wide;
        for (row, bar) in column_of(count, most, area.height).into_iter().enumerate() {
            canvas.text(area, x, row as u16, &bar.repeat(wide.into()), style);
        }
    }
    canvas.text(area, LABEL + shown as u16 * wide + 1, base, &sum, BOLD);
}

/// The pieces of a bar from the top down. What is not nothing is seen.
fn column_of(count: u64, most: u64, rows: u16) -> Vec<&'static str> {
    let full = u128::from(rows) * u128::from(EIGHTHS);
    let height = (u128::from(count) * full / u128::from(most)) as u64;
    let height = height.max(u64::from(count > 0));
    (0..u64::from(rows)).rev().map(|row| piece(height.saturating_sub(row * EIGHTHS).min(EIGHTHS))).collect()
}

fn piece(eighths: u64) -> &'static str {
    match eighths {
        0 => NINE_LEVELS.empty,
        1 => NINE_LEVELS.one_eighth,
        2 => NINE_LEVELS.one_quarter,
        3 => NINE_LEVELS.three_eighths,
        4 => NINE_LEVELS.half,
        5 => NINE_LEVELS.five_eighths,
        6 => NINE_LEVELS.three_quarters,
        7 => NINE_LEVELS.seven_eighths,
        _ => NINE_LEVELS.full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_high_as_its_count() {
        assert_eq!(column_of(0, 10, 2), [" ", " "]);
        assert_eq!(column_of(1, 1_000, 2), [" ", "▁"]);
        assert_eq!(column_of(3, 4, 2), ["▄", "█"]);
        assert_eq!(column_of(u64::MAX, u64::MAX, 2), ["█", "█"]);
    }
}
