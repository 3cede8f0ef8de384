//! What is said on standard error: one clear message, and a hint what to type.
//!
//! Text that came from outside passes [`shown`] before it is put in a message. A failure to write here is nobody's
//! business: there is no place left to tell it.

use std::io::{self, Write};

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Exit;

/// Says what went wrong.
pub fn error(text: &str) {
    say("error", text);
}

/// Says what may be not as it was meant. The caller knows whether `-q` was given.
pub fn warning(text: &str) {
    say("warning", text);
}

/// Says what to type instead.
pub fn hint(text: &str) {
    say("hint", text);
}

fn say(kind: &str, text: &str) {
    let _ = writeln!(io::stderr().lock(), "{kind}: {text}");
}

/// Text from arguments, variables and files, made harmless for a terminal: control bytes, and the marks that turn the
/// direction of writing, are escaped.
#[must_use]
pub fn shown(text: &str) -> String {
    // The one place to hand over to `report`'s sanitising.
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// [`shown`] line by line, for a text whose line breaks are ours.
#[must_use]
pub fn shown_lines(text: &str) -> String {
    text.trim_end().split('\n').map(shown).collect::<Vec<_>>().join("\n")
}

/// Prints what clap has to say: help and version on standard output, errors on standard error.
#[must_use]
pub fn clap(error: clap::Error) -> Exit {
    let error = harmless(error);
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match error.print() {
            Ok(()) => Exit::Success,
            Err(failure) => super::stdout::failed(&failure),
        },
        _ => {
            let _ = error.print();
            Exit::Usage
        }
    }
}

/// Escapes what clap quotes of the command line.
fn harmless(mut error: clap::Error) -> clap::Error {
    let quoted: Vec<(ContextKind, ContextValue)> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(text) => Some((kind, ContextValue::String(shown(text)))),
            ContextValue::Strings(texts) => Some((kind, ContextValue::Strings(texts.iter().map(|t| shown(t)).collect()))),
            _ => None,
        })
        .collect();
    for (kind, value) in quoted {
        error.insert(kind, value);
    }
    error
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::cli;

    #[test]
    fn control_bytes_are_escaped() {
        assert_eq!(shown("a\u{1b}[31m\nü\u{202e}"), "a\\u{1b}[31m\\nü\\u{202e}");
        assert_eq!(shown_lines("a\nb\u{7}\n"), "a\nb\\u{7}");
    }

    #[test]
    fn clap_quotes_nothing_unescaped() {
        for args in [vec!["--\u{1b}[2Jx"], vec!["scan", "--top", "\u{1b}[2J"], vec!["scan", "-f", "\u{1b}[2J"], vec!["\u{1b}[2J"]] {
            let all = std::iter::once("probewatch").chain(args.iter().copied());
            let error = cli::command().try_get_matches_from(all).expect_err("a mistake");
            let text = harmless(error).render().to_string();
            assert!(!text.contains('\u{1b}') && text.contains("\\u{1b}"), "{text}");
        }
    }
}
