//! What clap has to say, made harmless: it quotes the command line, and a command line may hold anything.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::command::message::shown;
use crate::command::{Exit, stdout};

/// Prints what clap has to say: help and version on standard output, errors on standard error.
#[must_use]
pub(crate) fn clap(error: clap::Error) -> Exit {
    let error = harmless(error);
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match error.print() {
            Ok(()) => Exit::Success,
            Err(failure) => stdout::failed(&failure),
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
mod tests {
    use super::*;
    use crate::cli;

    #[test]
    fn clap_quotes_nothing_unescaped() {
        for args in [vec!["--\u{1b}[2Jx"], vec!["scan", "--top", "\u{1b}[2J"], vec!["scan", "-f", "\u{1b}[2J"], vec!["\u{1b}[2J"]] {
            let all = std::iter::once("probewatch").chain(args.iter().copied());
            let error = cli::command().try_get_matches_from(all).expect_err("a mistake");
            let text = harmless(error).render().to_string();
            assert!(!text.contains('\u{1b}') && text.contains("\\x1b"), "{text}");
        }
    }
}
