//! The colours of a report. Only [`Painter`] writes colour escapes.
//!
//! Colour repeats what the words say: a report without it has the same text.

use std::fmt::{Display, Write as _};

use anstyle::{AnsiColor, Style};

use crate::finding::Severity;

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const ALARM: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();

/// The colour of a severity.
pub(crate) fn for_severity(severity: Severity) -> Style {
    match severity {
        Severity::Critical => ALARM,
        Severity::High => AnsiColor::Red.on_default(),
        Severity::Medium => WARNING,
        Severity::Low => PLAIN,
        Severity::Info => DIM,
    }
}

/// Writes text with or without colour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Painter {
    pub(crate) color: bool,
}

impl Painter {
    /// The text in this style, or unchanged without colour.
    pub(crate) fn paint(self, style: Style, text: impl Display) -> String {
        if self.color && style != PLAIN { format!("{style}{text}{style:#}") } else { text.to_string() }
    }

    /// Adds the text to a line, in this style or unchanged without colour.
    pub(crate) fn push(self, style: Style, text: &str, line: &mut String) {
        if self.color && style != PLAIN {
            // Writing to a `String` does not fail.
            let _ = write!(line, "{style}{text}{style:#}");
        } else {
            line.push_str(text);
        }
    }
}
