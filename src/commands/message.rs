//! What is said on standard error: one clear message, and a hint what to type.
//!
//! Text that came from outside passes [`sanitized`] before it is put in a message. A failure to write here is nobody's
//! business: there is no place left to tell it.

use std::io::{self, Write};

use super::Exit;
use crate::redact::sanitize;

/// Says what went wrong.
pub fn error(text: &str) {
    write("error", text);
}

/// Says what may be worth knowing. The caller knows whether `-q` was given.
pub fn notice(text: &str) {
    write("note", text);
}

/// Says that nothing was started, line by line for what came of a file.
#[must_use]
pub fn usage_error(text: &str) -> Exit {
    error(&sanitized_lines(text));
    Exit::Usage
}

/// Says what may be not as it was meant. The caller knows whether `-q` was given.
pub fn warning(text: &str) {
    write("warning", text);
}

/// Says each of these, which quote what came from outside.
pub fn warnings(texts: &[String]) {
    for text in texts {
        warning(&sanitized(text));
    }
}

/// Says what to type instead.
pub fn hint(text: &str) {
    write("hint", text);
}

/// Prints a text as it is: figures that were asked for.
pub fn print_raw(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn write(kind: &str, text: &str) {
    let _ = writeln!(io::stderr().lock(), "{kind}: {text}");
}

/// Text from arguments, variables, files and logs, made harmless for a terminal.
#[must_use]
pub fn sanitized(text: &str) -> String {
    sanitize::text(text.as_bytes()).into_owned()
}

/// [`sanitized`] line by line, for a text whose line breaks are ours.
#[must_use]
pub fn sanitized_lines(text: &str) -> String {
    text.trim_end().split('\n').map(sanitized).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use crate::commands::message::*;

    #[test]
    fn control_bytes_are_escaped() {
        assert_eq!(sanitized("a\u{1b}[31m\nü\u{202e}"), "a\\x1b[31m\\x0aü\\u{202e}");
        assert_eq!(sanitized_lines("a\nb\u{7}\n"), "a\nb\\x07");
    }
}
