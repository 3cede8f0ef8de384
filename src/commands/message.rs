//! Messages on standard error: errors, warnings, notices and hints.
//!
//! Callers pass text from outside through [`sanitized`]. Failures to write are ignored, as there is
//! nowhere to report them.

use std::io::{self, Write};
use std::path::Path;

use super::Exit;
use crate::text::redact::sanitize;

/// Prints an error.
pub(crate) fn error(text: &str) {
    write("error", text);
}

/// Prints a notice. The caller checks `-q`.
pub(crate) fn notice(text: &str) {
    write("note", text);
}

/// Prints an error about the usage and returns its exit code.
#[must_use]
pub(crate) fn usage_error(text: &str) -> Exit {
    error(&sanitized_lines(text));
    Exit::Usage
}

/// Prints a warning. The caller checks `-q`.
pub(crate) fn warning(text: &str) {
    write("warning", text);
}

/// Sanitizes and prints warnings.
pub(crate) fn warnings(texts: &[String]) {
    for text in texts {
        warning(&sanitized(text));
    }
}

/// Prints a hint about what to type.
pub(crate) fn hint(text: &str) {
    write("hint", text);
}

/// Prints a text without a label.
pub(crate) fn print_raw(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn write(kind: &str, text: &str) {
    let _ = writeln!(io::stderr().lock(), "{kind}: {text}");
}

/// Escapes text from arguments, variables, files and logs for a terminal.
#[must_use]
pub(crate) fn sanitized(text: &str) -> String {
    sanitize::escape(text.as_bytes()).into_owned()
}

/// A path, escaped.
#[must_use]
pub(crate) fn sanitized_path(path: &Path) -> String {
    sanitized(&path.to_string_lossy())
}

/// [`sanitized`] line by line: line breaks are kept.
#[must_use]
pub(crate) fn sanitized_lines(text: &str) -> String {
    text.trim_end()
        .split('\n')
        .map(sanitized)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use crate::commands::message::*;

    #[test]
    fn control_bytes_are_escaped() {
        assert_eq!(
            sanitized("a\u{1b}[31m\nü\u{202e}"),
            "a\\x1b[31m\\x0aü\\u{202e}"
        );
        assert_eq!(sanitized_lines("a\nb\u{7}\n"), "a\nb\\x07");
    }
}
