//! The few colours of a report, and the one place that decides whether an escape is written.
//!
//! Colour only repeats what the words say: a report without it reads the same.

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

/// Writes in colour, or not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Painter {
    pub(crate) color: bool,
}

impl Painter {
    /// The text in this style; without colour the text alone.
    pub(crate) fn paint(self, style: Style, text: impl Display) -> String {
        if self.color && style != PLAIN { format!("{style}{text}{style:#}") } else { text.to_string() }
    }
    /// Adds the text to a line, in this style or without colour alone.
    pub(crate) fn push(self, style: Style, text: &str, line: &mut String) {
        if self.color && style != PLAIN {
            // Writing to a `String` does not fail.
            let _ = write!(line, "{style}{text}{style:#}");
        } else {
            line.push_str(text);
        }
    }
}
