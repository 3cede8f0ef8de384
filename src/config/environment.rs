//! The flags of `scan`, `learn`, `follow` and `report` as environment variables: `--top` is `PROBEWATCH_TOP`.
//!
//! The names are made from the flags, so that none can be forgotten. The variables are passed in; nothing here asks the
//! process for them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Args, Command, FromArgMatches};

use crate::cli::own::OwnArgs;
use crate::cli::scan::ScanArgs;
use crate::commands::message::sanitized;

/// What the names of all variables begin with.
pub const PREFIX: &str = "PROBEWATCH_";

/// Variables that stop a scan at a known place; only tests are built to know them.
const TEST_ONLY: &[&str] = if cfg!(feature = "failpoints") { &["PROBEWATCH_PAUSE_AT", "PROBEWATCH_PAUSE_FILE"] } else { &[] };

/// The flags of `scan`, by themselves.
pub(super) fn flags() -> Command {
    ScanArgs::augment_args(Command::new("probewatch")).disable_help_flag(true)
}

/// The same, and those that only one subcommand has.
pub(super) fn all_flags() -> Command {
    OwnArgs::augment_args(flags())
}

/// The variable of a flag, by its long name.
fn variable(long: &str) -> String {
    format!("{PREFIX}{}", long.replace('-', "_").to_uppercase())
}

/// The flag of a variable.
fn long(variable: &str) -> Option<String> {
    Some(variable.strip_prefix(PREFIX)?.replace('_', "-").to_lowercase())
}

/// Adds to the long help of a command's flags which variable says the same.
#[must_use]
pub fn documented(command: Command) -> Command {
    let flags = all_flags();
    command.mut_args(|arg| {
        let Some(long) = arg.get_long().filter(|l| flags.get_arguments().any(|f| f.get_long() == Some(*l))) else {
            return arg;
        };
        let variable = variable(long);
        let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
        arg.long_help(format!("{help}\n[env: {variable}]"))
    })
}

/// What the variables say. An empty one says nothing.
///
/// # Errors
///
/// Clap's, with the name of the variable where the flag would be.
pub fn read(variables: &[(OsString, OsString)]) -> Result<(ScanArgs, OwnArgs), clap::Error> {
    let flags = all_flags();
    let mut arguments = vec![OsString::from("probewatch")];
    for flag in flags.get_arguments() {
        let Some(long) = flag.get_long() else { continue };
        let name = variable(long);
        for (_, value) in variables.iter().filter(|(n, v)| n == name.as_str() && !v.is_empty()) {
            arguments.extend(spelled(flag, long, value));
        }
    }
    flags
        .args_override_self(true)
        .mut_args(valued)
        .try_get_matches_from(arguments)
        .and_then(|matches| Ok((ScanArgs::from_arg_matches(&matches)?, OwnArgs::from_arg_matches(&matches)?)))
        .map_err(|error| blamed(error, variables))
}

/// A variable as the arguments it stands for: one for each part of a list.
fn spelled(flag: &Arg, long: &str, value: &OsStr) -> Vec<OsString> {
    let argument = |value: &OsStr| {
        let mut argument = OsString::from(format!("--{long}="));
        argument.push(value);
        argument
    };
    match flag.get_action() {
        ArgAction::Append => {
            value.as_bytes().split(|b| *b == b',').filter(|part| !part.is_empty()).map(|part| argument(OsStr::from_bytes(part))).collect()
        }
        _ => vec![argument(value)],
    }
}

/// A variable always has a value, so a switch takes one here.
fn valued(arg: Arg) -> Arg {
    match arg.get_action() {
        ArgAction::SetTrue => arg.action(ArgAction::Set).num_args(1).value_parser(switch),
        _ => arg,
    }
}

fn switch(text: &str) -> Result<bool, &'static str> {
    match text.to_lowercase().as_str() {
        "1" | "true" | "yes" | "on" | "y" | "t" => Ok(true),
        "0" | "false" | "no" | "off" | "n" | "f" => Ok(false),
        _ => Err("neither on nor off; type 1 or 0"),
    }
}

/// Says which variable is to blame, where clap names the flag or, of bytes that are no text, nothing.
fn blamed(mut error: clap::Error, variables: &[(OsString, OsString)]) -> clap::Error {
    if error.kind() == ErrorKind::InvalidUtf8
        && let Some((name, _)) = variables.iter().find(|(_, value)| value.to_str().is_none())
    {
        return clap::Error::raw(ErrorKind::InvalidUtf8, format!("the value of {} is not UTF-8\n", sanitized(&name.to_string_lossy())));
    }
    if let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) {
        let long = flag.trim_start_matches('-').split([' ', '=']).next().unwrap_or_default();
        let name = variable(long);
        error.insert(ContextKind::InvalidArg, ContextValue::String(name));
    }
    error
}

/// A warning for each variable that begins like ours and is none, with the nearest one that is.
#[must_use]
pub fn strangers(variables: &[(OsString, OsString)]) -> Vec<String> {
    let flags = all_flags();
    let known: Vec<String> = flags.get_arguments().filter_map(Arg::get_long).map(variable).collect();
    variables
        .iter()
        .map(|(name, _)| name.to_string_lossy())
        .filter(|name| name.starts_with(PREFIX) && !known.iter().any(|k| k == name) && !TEST_ONLY.contains(&name.as_ref()))
        .map(|name| {
            let nearest = long(&name).and_then(|long| nearest(&long)).map(|long| variable(&long));
            let advice = nearest.map_or_else(|| "'probewatch scan --help' lists them".to_owned(), |n| format!("did you mean {n}?"));
            format!("nothing reads the variable {}; {advice}", sanitized(&name))
        })
        .collect()
}

/// The flag with the name most like `long`: clap's own suggestion for it.
pub(super) fn nearest(long: &str) -> Option<String> {
    let error = all_flags().try_get_matches_from(["probewatch", &format!("--{long}")]).err()?;
    match error.get(ContextKind::SuggestedArg)? {
        ContextValue::String(flag) => Some(flag.trim_start_matches('-').to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn switches_can_say_no_and_an_empty_variable_says_nothing() {
        let read =
            read(&set(&[("PROBEWATCH_STATS", "Off"), ("PROBEWATCH_QUIET", "1"), ("PROBEWATCH_NO_BUILTIN", ""), ("PROBEWATCH_TOP", "")]));
        let (args, _) = read.expect("fine");
        assert_eq!((args.output.stats, args.output.quiet, args.rules.no_builtin), (Some(false), Some(true), None));
        assert_eq!(args.selection.top, None);
    }

    #[test]
    fn lists_are_separated_by_commas() {
        let (args, _) = read(&set(&[("PROBEWATCH_RULES", "a.toml,,b c.toml"), ("PROBEWATCH_ONLY", "x/y")])).expect("fine");
        assert_eq!(args.rules.rules, ["a.toml", "b c.toml"].map(std::path::PathBuf::from));
        assert_eq!(args.rules.only, ["x/y"]);
    }

    #[test]
    fn a_wrong_value_names_its_variable() {
        let cases = [
            ("PROBEWATCH_MIN_SEVERITY", "hgih", "'high'"),
            ("PROBEWATCH_THREADS", "0", "type 1 or more"),
            ("PROBEWATCH_STATS", "maybe", "type 1 or 0"),
            ("PROBEWATCH_OUTCOME", "answered,x", "not_found"),
        ];
        for (name, value, advice) in cases {
            let text = read(&set(&[(name, value)])).expect_err("wrong").render().to_string();
            assert!(text.contains(name) && text.contains(advice) && !text.contains("--"), "{text}");
        }
    }

    #[test]
    fn a_stranger_is_told_of_with_the_nearest_name() {
        let told =
            strangers(&set(&[("PROBEWATCH_MIN_SEVERTY", "high"), ("PROBEWATCH_TOP", "3"), ("HOME", "/"), ("PROBEWATCH_\u{1b}", "")]));
        assert_eq!(
            told,
            [
                "nothing reads the variable PROBEWATCH_MIN_SEVERTY; did you mean PROBEWATCH_MIN_SEVERITY?",
                "nothing reads the variable PROBEWATCH_\\x1b; 'probewatch scan --help' lists them",
            ]
        );
        assert!(!strangers(&set(&[("PROBEWATCH_", "")])).is_empty());
        let pauses = strangers(&set(&[("PROBEWATCH_PAUSE_AT", "x"), ("PROBEWATCH_PAUSE_FILE", "x")]));
        assert_eq!(pauses.is_empty(), cfg!(feature = "failpoints"));
    }
}
