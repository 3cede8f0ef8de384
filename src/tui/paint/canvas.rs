//! Writes lines of cells to a buffer, cut to its columns. No size panics.
//!
//! Colour repeats what the words say; without it there is bold, dim and reversed text.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::super::text::{truncate, width};
use crate::finding::Severity;

/// The least columns of the flexible cell of a line; other cells are left out first.
const MIN_FLEXIBLE: u16 = 12;

/// The style of less important text.
pub(super) const DIM: Style = Style::new().add_modifier(Modifier::DIM);

/// The style of important text.
pub(super) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// The style of the focused heading.
pub(super) const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED).add_modifier(Modifier::BOLD);

/// The width of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellWidth {
    /// These columns.
    Columns(u16),
    /// These columns, right-aligned.
    Right(u16),
    /// The remaining columns; at most one cell of a line.
    Rest,
}

/// A text in a line.
#[derive(Debug, Clone)]
pub(super) struct CanvasCell<'t> {
    text: Cow<'t, str>,
    style: Style,
    cell_width: CellWidth,
    /// The highest rank is left out first; 0 never is.
    rank: u8,
}

impl<'t> CanvasCell<'t> {
    pub(super) fn new(cell_width: CellWidth, rank: u8, text: impl Into<Cow<'t, str>>) -> Self {
        Self { text: text.into(), style: Style::new(), cell_width, rank }
    }

    pub(super) fn styled(self, style: Style) -> Self {
        Self { style, ..self }
    }

    fn columns(&self) -> u16 {
        match self.cell_width {
            CellWidth::Columns(n) | CellWidth::Right(n) => n,
            CellWidth::Rest => 0,
        }
    }
}

/// A buffer to draw on.
#[derive(Debug)]
pub(super) struct Canvas<'f> {
    pub(super) buffer: &'f mut Buffer,
    pub(super) color: bool,
}

impl Canvas<'_> {
    /// Writes a text, cut at the right edge of `area`. Returns its columns.
    pub(super) fn text(&mut self, area: Rect, x: u16, y: u16, text: &str, style: Style) -> u16 {
        let area = area.intersection(self.buffer.area);
        if x >= area.width || y >= area.height {
            return 0;
        }
        let columns_left = usize::from(area.width - x);
        let (end, _) = self.buffer.set_stringn(area.x + x, area.y + y, truncate(text, columns_left), columns_left, style);
        end - area.x - x
    }

    /// Writes cells as a line; a selected line is reversed.
    pub(super) fn line(&mut self, area: Rect, y: u16, cells: &[CanvasCell<'_>], chosen: bool) {
        if y >= area.height {
            return;
        }
        let (fitting, rest) = fit(cells, area.width);
        let mut x = 0_u16;
        for cell in fitting {
            let columns = if cell.cell_width == CellWidth::Rest { rest } else { cell.columns() };
            let shown = truncate(&cell.text, columns.into());
            let before = match cell.cell_width {
                CellWidth::Right(_) => columns.saturating_sub(width(&shown) as u16),
                CellWidth::Columns(_) | CellWidth::Rest => 0,
            };
            self.text(area, x.saturating_add(before), y, &shown, cell.style);
            x = x.saturating_add(columns).saturating_add(1);
        }
        if chosen {
            let row = Rect { y: area.y.saturating_add(y), height: 1, ..area }.intersection(self.buffer.area);
            self.buffer.set_style(row, Style::new().add_modifier(Modifier::REVERSED));
        }
    }

    /// Writes a title and a rule to the right edge, with a note at its end if it fits.
    pub(super) fn heading(&mut self, area: Rect, title: &str, note: &str, style: Style) {
        let used = self.text(area, 0, 0, title, style);
        let note_columns = width(note) as u16;
        let rule = area.width.saturating_sub(used + 1);
        let rule = if note.is_empty() || rule < note_columns + 3 { rule } else { rule - note_columns - 1 };
        self.text(area, used + 1, 0, &"─".repeat(rule.into()), DIM);
        if !note.is_empty() {
            self.text(area, used + rule + 2, 0, note, DIM);
        }
    }

    /// The style of answers and critical severities.
    pub(super) fn alarm(&self) -> Style {
        self.in_color(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// The style of medium severities and lag.
    pub(super) fn warning(&self) -> Style {
        self.in_color(Color::Yellow)
    }

    /// The style of a severity.
    pub(super) fn severity(&self, severity: Severity) -> Style {
        match severity {
            Severity::Critical => self.alarm(),
            Severity::High => self.in_color(Color::Red),
            Severity::Medium => self.warning(),
            Severity::Low => Style::new(),
            Severity::Info => DIM,
        }
    }

    /// This colour, or none without colours.
    pub(super) fn in_color(&self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }
}

/// The cells that fit, and the columns of the flexible one.
fn fit<'c, 't>(cells: &'c [CanvasCell<'t>], page: u16) -> (Vec<&'c CanvasCell<'t>>, u16) {
    let mut fitting: Vec<_> = cells.iter().collect();
    loop {
        let gaps = fitting.len().saturating_sub(1) as u16;
        let used = fitting.iter().map(|cell| cell.columns()).fold(gaps, u16::saturating_add);
        let min_rest = if fitting.iter().any(|cell| cell.cell_width == CellWidth::Rest) { MIN_FLEXIBLE } else { 0 };
        if used.saturating_add(min_rest) <= page {
            return (fitting, page - used);
        }
        let Some(worst) = (0..fitting.len()).filter(|&i| fitting[i].rank > 0).max_by_key(|&i| fitting[i].rank) else {
            return (fitting, page.saturating_sub(used));
        };
        fitting.remove(worst);
    }
}
