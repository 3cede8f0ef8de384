//! Environment variables: every flag that is a setting can be set by a variable, as `--top` by `PROBEWATCH_TOP`.
//!
//! The names are made from the flags, so that no flag lacks one, and clap parses the values. The variables are passed in.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Args, Command, FromArgMatches};

use super::args::AllArgs;
use crate::commands::message::sanitized;
use crate::config::{Layer, PREFIX};
use crate::rules;

/// Variables that stop a scan at a fixed point; only builds for tests read them.
const TEST_ONLY: &[&str] = if cfg!(feature = "failpoints") { &["PROBEWATCH_PAUSE_AT", "PROBEWATCH_PAUSE_FILE"] } else { &[] };

/// Every flag that is a setting. To declare them takes time, so without a variable nothing does.
pub(super) fn all_flags() -> Command {
    AllArgs::augment_args(Command::new("probewatch")).disable_help_flag(true)
}

/// The variable of a flag, by its long name.
fn variable(long: &str) -> String {
    format!("{PREFIX}{}", long.replace('-', "_").to_uppercase())
}

/// The long name of the flag of a variable.
fn long(variable: &str) -> Option<String> {
    Some(variable.strip_prefix(PREFIX)?.replace('_', "-").to_lowercase())
}

/// Adds the name of each flag's variable to its long help.
#[must_use]
pub(super) fn with_env_help(command: Command) -> Command {
    let flags = all_flags();
    // The formats of a block list are others than those of a report, and no setting.
    let has_other_formats = command.get_name() == "block";
    command.mut_args(|arg| {
        let is_setting = |long: &&str| flags.get_arguments().any(|flag| flag.get_long() == Some(*long));
        let Some(long) = arg.get_long().filter(|long| !(has_other_formats && *long == "format")).filter(is_setting) else {
            return arg;
        };
        let variable = variable(long);
        let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
        arg.long_help(format!("{help}\n[env: {variable}]"))
    })
}

/// The settings of the variables. An empty variable is unset.
///
/// # Errors
///
/// Clap's, with the name of the variable in place of the flag.
pub(super) fn read(variables: &[(OsString, OsString)]) -> Result<Layer, clap::Error> {
    if variables.is_empty() {
        return Ok(Layer::default());
    }
    let flags = all_flags();
    let mut arguments = vec![OsString::from("probewatch")];
    for flag in flags.get_arguments() {
        let Some(long) = flag.get_long() else { continue };
        let name = variable(long);
        for (_, value) in variables.iter().filter(|(n, v)| n == name.as_str() && !v.is_empty()) {
            arguments.extend(to_args(flag, long, value));
        }
    }
    flags
        .args_override_self(true)
        .mut_args(with_value)
        .try_get_matches_from(arguments)
        .and_then(|matches| AllArgs::from_arg_matches(&matches))
        .map(AllArgs::into_layer)
        .map_err(|error| with_var_name(error, variables))
}

/// The arguments that a variable replaces: one for each part of a list.
fn to_args(flag: &Arg, long: &str, value: &OsStr) -> Vec<OsString> {
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

/// Gives switches a value, because a variable always has one.
fn with_value(arg: Arg) -> Arg {
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

/// Puts the name of the variable into an error, in which clap names the flag, or nothing if the value is not UTF-8.
fn with_var_name(mut error: clap::Error, variables: &[(OsString, OsString)]) -> clap::Error {
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

/// A warning for each variable that has the prefix but no flag, with the nearest name.
pub(super) fn unknown_vars(variables: &[(OsString, OsString)]) -> Vec<String> {
    if variables.is_empty() {
        return Vec::new();
    }
    let flags = all_flags();
    let known_variables: Vec<String> = flags.get_arguments().filter_map(Arg::get_long).map(variable).collect();
    let visible: Vec<&str> = flags.get_arguments().filter(|flag| !flag.is_hide_set()).filter_map(Arg::get_long).collect();
    variables
        .iter()
        .map(|(name, _)| name.to_string_lossy())
        .filter(|name| name.starts_with(PREFIX) && !known_variables.iter().any(|k| k == name) && !TEST_ONLY.contains(&name.as_ref()))
        .map(|name| {
            let nearest = long(&name).and_then(|long| rules::nearest(&long, visible.iter().copied())).map(|long| variable(&long));
            let advice = nearest.map_or_else(|| "'probewatch man' lists them".to_owned(), |n| format!("did you mean {n}?"));
            format!("unknown variable {}; {advice}", sanitized(&name))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn switches_can_be_off_and_an_empty_variable_is_unset() {
        let read =
            read(&set(&[("PROBEWATCH_STATS", "Off"), ("PROBEWATCH_QUIET", "1"), ("PROBEWATCH_NO_BUILTIN", ""), ("PROBEWATCH_TOP", "")]));
        let layer = read.expect("fine");
        assert_eq!((layer.stats, layer.quiet, layer.no_builtin), (Some(false), Some(true), None));
        assert_eq!(layer.top, None);
    }

    #[test]
    fn lists_are_separated_by_commas() {
        let layer = read(&set(&[("PROBEWATCH_RULES", "a.toml,,b c.toml"), ("PROBEWATCH_ONLY", "x/y")])).expect("fine");
        assert_eq!(layer.rules, ["a.toml", "b c.toml"].map(std::path::PathBuf::from));
        assert_eq!(layer.only, ["x/y"]);
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
    fn an_unknown_variable_is_reported_with_the_nearest_name() {
        let warnings =
            unknown_vars(&set(&[("PROBEWATCH_MIN_SEVERTY", "high"), ("PROBEWATCH_TOP", "3"), ("HOME", "/"), ("PROBEWATCH_\u{1b}", "")]));
        assert_eq!(
            warnings,
            [
                "unknown variable PROBEWATCH_MIN_SEVERTY; did you mean PROBEWATCH_MIN_SEVERITY?",
                "unknown variable PROBEWATCH_\\x1b; 'probewatch man' lists them",
            ]
        );
        assert!(!unknown_vars(&set(&[("PROBEWATCH_", "")])).is_empty());
        let pauses = unknown_vars(&set(&[("PROBEWATCH_PAUSE_AT", "x"), ("PROBEWATCH_PAUSE_FILE", "x")]));
        assert_eq!(pauses.is_empty(), cfg!(feature = "failpoints"));
    }
}
