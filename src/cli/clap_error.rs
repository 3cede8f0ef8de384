//! Errors and help of clap. An error quotes the command line, which may contain control characters, so it is escaped.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::commands::message::sanitized;
use crate::commands::{Exit, stdout};

/// Prints help and version on standard output, and an error on standard error.
#[must_use]
pub(super) fn print(error: clap::Error) -> Exit {
    let error = sanitize_error(error);
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

/// Escapes what clap quotes of the command line, and drops suggestions of hidden flags.
fn sanitize_error(mut error: clap::Error) -> clap::Error {
    let quoted: Vec<(ContextKind, ContextValue)> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(text) => Some((kind, ContextValue::String(sanitized(text)))),
            ContextValue::Strings(texts) => Some((kind, ContextValue::Strings(texts.iter().map(|t| sanitized(t)).collect()))),
            _ => None,
        })
        .collect();
    for (kind, value) in quoted {
        error.insert(kind, value);
    }
    if let Some(ContextValue::String(flag)) = error.get(ContextKind::SuggestedArg)
        && is_hidden(&super::command(), flag)
    {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Suggested);
    }
    error
}

/// Whether this is a hidden flag of the command or of one of its subcommands.
fn is_hidden(command: &clap::Command, flag: &str) -> bool {
    let is_flag = |argument: &clap::Arg| argument.get_long() == flag.strip_prefix("--");
    command.get_arguments().any(|argument| argument.is_hide_set() && is_flag(argument))
        || command.get_subcommands().any(|command| is_hidden(command, flag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    #[test]
    fn a_hidden_flag_is_not_suggested() {
        let text = |flag: &str| {
            let error = cli::command().try_get_matches_from(["probewatch", "scan", flag, "x"]).expect_err("a mistake");
            sanitize_error(error).render().to_string()
        };
        for flag in ["--nope", "--no-prefilte", "--no-prefix"] {
            assert!(!text(flag).contains("prefilter") && text(flag).contains(flag), "{}", text(flag));
        }
        assert!(text("--no-buildin").contains("--no-builtin"), "{}", text("--no-buildin"));
    }

    #[test]
    fn an_error_quotes_nothing_unescaped() {
        for args in [vec!["--\u{1b}[2Jx"], vec!["scan", "--top", "\u{1b}[2J"], vec!["scan", "-f", "\u{1b}[2J"], vec!["\u{1b}[2J"]] {
            let all = std::iter::once("probewatch").chain(args.iter().copied());
            let error = cli::command().try_get_matches_from(all).expect_err("a mistake");
            let text = sanitize_error(error).render().to_string();
            assert!(!text.contains('\u{1b}') && text.contains("\\x1b"), "{text}");
        }
    }
}
