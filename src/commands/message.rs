//! What is said on standard error: one clear message, and a hint what to type.
//!
//! Text that came from outside passes [`shown`] before it is put in a message. A failure to write here is nobody's
//! business: there is no place left to tell it.

use std::io::{self, Write};

use super::Exit;
use crate::redact::sanitize;

/// Says what went wrong.
pub fn error(text: &str) {
    say("error", text);
}

/// Says what may be worth knowing. The caller knows whether `-q` was given.
pub fn notice(text: &str) {
    say("note", text);
}

/// Says that nothing was started, line by line for what came of a file.
#[must_use]
pub fn refused(text: &str) -> Exit {
    error(&shown_lines(text));
    Exit::Usage
}

/// Says what may be not as it was meant. The caller knows whether `-q` was given.
pub fn warning(text: &str) {
    say("warning", text);
}

/// Says each of these, which quote what came from outside.
pub fn warnings(texts: &[String]) {
    for text in texts {
        warning(&shown(text));
    }
}

/// Says what to type instead.
pub fn hint(text: &str) {
    say("hint", text);
}

/// Prints a text as it is: figures that were asked for.
pub fn plain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn say(kind: &str, text: &str) {
    let _ = writeln!(io::stderr().lock(), "{kind}: {text}");
}

/// Text from arguments, variables, files and logs, made harmless for a terminal.
#[must_use]
pub fn shown(text: &str) -> String {
    sanitize::escape(text.as_bytes()).into_owned()
}

/// [`shown`] line by line, for a text whose line breaks are ours.
#[must_use]
pub fn shown_lines(text: &str) -> String {
    text.trim_end().split('\n').map(shown).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use crate::commands::message::*;

    #[test]
    fn control_bytes_are_escaped() {
        assert_eq!(shown("a\u{1b}[31m\nü\u{202e}"), "a\\x1b[31m\\x0aü\\u{202e}");
        assert_eq!(shown_lines("a\nb\u{7}\n"), "a\nb\\x07");
    }
}
