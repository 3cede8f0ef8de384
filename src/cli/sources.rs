//! Environment variables and the configuration file: every flag that is a setting can be set by
//! both, as `--top` by `PROBEWATCH_TOP` and by `top = 3`.
//!
//! Variables and keys become arguments, which clap parses like those that are typed: the names are
//! made from the flags, so that no flag lacks one, and a value means the same everywhere. The
//! variables are passed in. The file is TOML and read only when it is named; a key that is not a
//! setting is an error.

use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Args, Command, ValueHint};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::block::NO_BUILTIN_RANGES;
use crate::commands::message::{sanitized, sanitized_lines, sanitized_path};
use crate::config::{Error, Flags, PREFIX, SERVER_CONFIG_AUTO};
use crate::rules;

/// Variables that stop a scan at a fixed point; only builds for tests read them.
const TEST_ONLY: &[&str] = if cfg!(feature = "failpoints") {
    &["PROBEWATCH_PAUSE_AT", "PROBEWATCH_PAUSE_FILE"]
} else {
    &[]
};

/// Every flag that is a setting. To declare them takes time, so without a variable nothing does.
pub(super) fn all_flags() -> Command {
    Flags::augment_args(Command::new("probewatch")).disable_help_flag(true)
}

/// The variable of a flag, by its long name.
fn variable(long: &str) -> String {
    format!("{PREFIX}{}", long.replace('-', "_").to_uppercase())
}

/// The long name of the flag of a variable.
fn long(variable: &str) -> Option<String> {
    Some(
        variable
            .strip_prefix(PREFIX)?
            .replace('_', "-")
            .to_lowercase(),
    )
}

/// Adds the name of each flag's variable to its long help, for all subcommands.
#[must_use]
pub(super) fn with_env_help(command: Command) -> Command {
    let command = command.mut_subcommands(with_env_help);
    // A command with settings has the flag for their file.
    if command
        .get_arguments()
        .all(|flag| flag.get_id() != "config")
    {
        return command;
    }
    let flags = all_flags();
    // The formats of a block list are others than those of a report, and no setting.
    let has_other_formats = command.get_name() == "block";
    command.mut_args(|arg| {
        let is_setting = |long: &&str| {
            flags
                .get_arguments()
                .any(|flag| flag.get_long() == Some(*long))
        };
        let Some(long) = arg
            .get_long()
            .filter(|long| !(has_other_formats && *long == "format"))
            .filter(is_setting)
        else {
            return arg;
        };
        let variable = variable(long);
        let help = arg
            .get_long_help()
            .or(arg.get_help())
            .map(ToString::to_string)
            .unwrap_or_default();
        arg.long_help(format!("{help}\n[env: {variable}]"))
    })
}

/// The settings of the variables. An empty variable is unset.
///
/// # Errors
///
/// Clap's, with the name of the variable in place of the flag.
pub(super) fn from_variables(variables: &[(OsString, OsString)]) -> Result<Flags, clap::Error> {
    if variables.is_empty() {
        return Ok(Flags::default());
    }
    let flags = all_flags();
    let mut arguments = vec![OsString::from("probewatch")];
    for flag in flags.get_arguments() {
        let Some(long) = flag.get_long() else {
            continue;
        };
        let name = variable(long);
        for (_, value) in variables
            .iter()
            .filter(|(n, v)| n == name.as_str() && !v.is_empty())
        {
            arguments.extend(to_args(flag, long, value));
        }
    }
    parsed(flags, arguments).map_err(|error| with_var_name(error, variables))
}

/// The settings of arguments, in which switches have a value.
fn parsed(flags: Command, arguments: Vec<OsString>) -> Result<Flags, clap::Error> {
    let mut matches = flags
        .args_override_self(true)
        .mut_args(with_value)
        .try_get_matches_from(arguments)?;
    Ok(Flags::given(&mut matches))
}

/// The settings in the file at `path`. Relative paths in it start at its folder.
///
/// # Errors
///
/// It cannot be read, or is wrong: with the line and a mark under the mistake.
pub(super) fn from_file(path: &Path) -> Result<Flags, Error> {
    let name = || sanitized_path(path);
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::unreadable(&name(), &source))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    from_text(&text, folder).map_err(|message| {
        Error::without_hint(format!("{}: {}", name(), sanitized_lines(&message)))
    })
}

/// The settings in the text of a configuration file, whose relative paths start at `folder`.
///
/// # Errors
///
/// An unknown key or a wrong value, with the line and a mark under it.
pub(super) fn from_text(text: &str, folder: &Path) -> Result<Flags, String> {
    let table = DeTable::parse(text).map_err(|error| error.to_string())?;
    let flags = all_flags().mut_args(|flag| flag.value_delimiter(Resettable::Reset));
    let (mut arguments, mut paths) = (
        vec![OsString::from("probewatch")],
        vec![OsString::from("--")],
    );
    let mut entries: Vec<_> = table.get_ref().iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in &entries {
        let Some(flag) = flags
            .get_arguments()
            .find(|flag| flag_key(flag) == Some(key.get_ref()))
        else {
            return Err(marked(
                text,
                key.span(),
                &unknown_key(&flags, key.get_ref()),
            ));
        };
        let values = values(flag, value).map_err(|(span, message)| marked(text, span, &message))?;
        let values = values
            .into_iter()
            .map(|value| starting_at(folder, flag, value));
        match flag.get_long() {
            Some(long) => arguments.extend(values.map(|value| argument(long, &value))),
            None => paths.extend(values),
        }
    }
    arguments.extend(paths);
    parsed(flags, arguments).map_err(|error| {
        let name = flag_of(&error);
        let entry = entries
            .iter()
            .find(|(key, _)| Some(key.get_ref().as_ref()) == name.as_deref());
        let error = match name {
            Some(name) => with_name(error, name),
            None => error,
        };
        let message = error.render().to_string();
        let message = message
            .split("\n\nFor more information")
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        entry.map_or_else(
            || message.to_owned(),
            |(_, value)| marked(text, value.span(), message),
        )
    })
}

/// The key of a flag in the configuration file. The file does not name another one.
fn flag_key(flag: &Arg) -> Option<&str> {
    Some(flag.get_long().unwrap_or(flag.get_id().as_str())).filter(|key| *key != "config")
}

/// The value of a flag, in which a relative path starts at `folder`.
fn starting_at(folder: &Path, flag: &Arg, value: String) -> OsString {
    // What precedes a path, and the word for none.
    let (prefix, word) = match (flag.get_id().as_str(), flag.get_value_hint()) {
        ("trusted_proxy", _) => ("@", "-"),
        ("anonymize", _) => ("key:", "-"),
        ("from_nginx" | "from_apache", _) => ("", SERVER_CONFIG_AUTO),
        ("proxy_ranges", _) => ("", NO_BUILTIN_RANGES),
        // A socket.
        ("syslog", _) => return value.into(),
        (_, ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath) => ("", "-"),
        _ => return value.into(),
    };
    match value.strip_prefix(prefix) {
        Some(path) if !path.is_empty() && path != "-" && path != word => {
            let mut value = OsString::from(prefix);
            value.push(folder.join(path));
            value
        }
        _ => value.into(),
    }
}

/// The texts of a value: those of a list, one for any other setting, and none for a switch that is
/// off, as nothing is below the file.
fn values(flag: &Arg, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, (Range<usize>, String)> {
    let wrong = |expected: &str| {
        (
            value.span(),
            format!(
                "found a TOML {}; type {expected}",
                value.get_ref().type_str()
            ),
        )
    };
    match (flag.get_action(), value.get_ref()) {
        (ArgAction::Append, DeValue::Array(items)) => items.iter().map(scalar).collect(),
        (ArgAction::Append, _) => Err(wrong("a list, such as ['a', 'b']")),
        (ArgAction::SetTrue, DeValue::Boolean(is_on)) => {
            Ok(is_on.then(|| is_on.to_string()).into_iter().collect())
        }
        (ArgAction::SetTrue, _) => Err(wrong("true or false")),
        _ => Ok(vec![scalar(value)?]),
    }
}

/// The text of a value. A number and a date need no quotes.
fn scalar(value: &Spanned<DeValue<'_>>) -> Result<String, (Range<usize>, String)> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Datetime(time) => Ok(time.to_string()),
        other => Err((
            value.span(),
            format!(
                "found a TOML {}; type text in quotes, or a number",
                other.type_str()
            ),
        )),
    }
}

fn unknown_key(flags: &Command, key: &str) -> String {
    let keys: Vec<_> = flags
        .get_arguments()
        .filter(|flag| !flag.is_hide_set())
        .filter_map(flag_key)
        .collect();
    let advice = rules::nearest(key, keys.iter().copied())
        .map(|nearest| format!("; did you mean '{nearest}'?"))
        .unwrap_or_default();
    format!(
        "no setting is called '{}'{advice}\nthe settings are {}",
        sanitized(key),
        keys.join(", ")
    )
}

/// A message with the line of a text and a mark under its part, like the messages about TOML's
/// syntax.
fn marked(text: &str, part: Range<usize>, message: &str) -> String {
    let start = text[..part.start]
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let number = text[..start].matches('\n').count() + 1;
    let before = text[start..part.start].chars().count();
    let marks = "^".repeat(
        text[part.start..part.end.min(start + line.len())]
            .chars()
            .count()
            .max(1),
    );
    let margin = " ".repeat(number.to_string().len());
    let column = before + 1;
    format!(
        "TOML parse error at line {number}, column {column}\n{margin} |\n{number} | {line}\n{margin} | {:before$}{marks}\n{message}\n",
        ""
    )
}

/// The arguments that a variable replaces: one for each part of a list.
fn to_args(flag: &Arg, long: &str, value: &OsStr) -> Vec<OsString> {
    match flag.get_action() {
        ArgAction::Append => {
            let parts = value
                .as_bytes()
                .split(|b| *b == b',')
                .filter(|part| !part.is_empty());
            parts
                .map(|part| argument(long, OsStr::from_bytes(part)))
                .collect()
        }
        _ => vec![argument(long, value)],
    }
}

fn argument(long: &str, value: &OsStr) -> OsString {
    let mut argument = OsString::from(format!("--{long}="));
    argument.push(value);
    argument
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

/// Puts the name of the variable into an error, in which clap names the flag, or nothing if the
/// value is not UTF-8.
fn with_var_name(error: clap::Error, variables: &[(OsString, OsString)]) -> clap::Error {
    if error.kind() == ErrorKind::InvalidUtf8
        && let Some((name, _)) = variables.iter().find(|(_, value)| value.to_str().is_none())
    {
        return clap::Error::raw(
            ErrorKind::InvalidUtf8,
            format!(
                "the value of {} is not UTF-8\n",
                sanitized(&name.to_string_lossy())
            ),
        );
    }
    match flag_of(&error) {
        Some(long) => with_name(error, variable(&long)),
        None => error,
    }
}

/// The long name of the flag that an error is about.
fn flag_of(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    flag.trim_start_matches('-')
        .split([' ', '='])
        .next()
        .map(str::to_owned)
}

/// An error about something of another name than a flag.
fn with_name(mut error: clap::Error, name: String) -> clap::Error {
    error.insert(ContextKind::InvalidArg, ContextValue::String(name));
    error
}

/// A warning for each variable that has the prefix but no flag, with the nearest name.
pub(super) fn unknown_vars(variables: &[(OsString, OsString)]) -> Vec<String> {
    if variables.is_empty() {
        return Vec::new();
    }
    let flags = all_flags();
    let known_variables: Vec<String> = flags
        .get_arguments()
        .filter_map(Arg::get_long)
        .map(variable)
        .collect();
    let visible: Vec<&str> = flags
        .get_arguments()
        .filter(|flag| !flag.is_hide_set())
        .filter_map(Arg::get_long)
        .collect();
    variables
        .iter()
        .map(|(name, _)| name.to_string_lossy())
        .filter(|name| {
            name.starts_with(PREFIX)
                && !known_variables.iter().any(|k| k == name)
                && !TEST_ONLY.contains(&name.as_ref())
        })
        .map(|name| {
            let nearest = long(&name)
                .and_then(|long| rules::nearest(&long, visible.iter().copied()))
                .map(|long| variable(&long));
            let advice = nearest.map_or_else(
                || "'probewatch man' lists them".to_owned(),
                |n| format!("did you mean {n}?"),
            );
            format!("unknown variable {}; {advice}", sanitized(&name))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Anonymize;
    use crate::config::value::ProxySource;
    use crate::log::finding::Severity;

    fn set(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    #[test]
    fn switches_can_be_off_and_an_empty_variable_is_unset() {
        let read = from_variables(&set(&[
            ("PROBEWATCH_STATS", "Off"),
            ("PROBEWATCH_QUIET", "1"),
            ("PROBEWATCH_NO_BUILTIN", ""),
            ("PROBEWATCH_TOP", ""),
        ]));
        let flags = read.expect("fine");
        assert_eq!(
            (flags.stats, flags.quiet, flags.no_builtin),
            (Some(false), Some(true), None)
        );
        assert_eq!(flags.top, None);
    }

    #[test]
    fn lists_are_separated_by_commas() {
        let flags = from_variables(&set(&[
            ("PROBEWATCH_RULES", "a.toml,,b c.toml"),
            ("PROBEWATCH_ONLY", "x/y"),
        ]))
        .expect("fine");
        assert_eq!(
            flags.rules,
            ["a.toml", "b c.toml"].map(std::path::PathBuf::from)
        );
        assert_eq!(flags.only, ["x/y"]);
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
            let text = from_variables(&set(&[(name, value)]))
                .expect_err("wrong")
                .render()
                .to_string();
            assert!(
                text.contains(name) && text.contains(advice) && !text.contains("--"),
                "{text}"
            );
        }
    }

    #[test]
    fn an_unknown_variable_is_reported_with_the_nearest_name() {
        let warnings = unknown_vars(&set(&[
            ("PROBEWATCH_MIN_SEVERTY", "high"),
            ("PROBEWATCH_TOP", "3"),
            ("HOME", "/"),
            ("PROBEWATCH_\u{1b}", ""),
        ]));
        assert_eq!(
            warnings,
            [
                "unknown variable PROBEWATCH_MIN_SEVERTY; did you mean PROBEWATCH_MIN_SEVERITY?",
                "unknown variable PROBEWATCH_\\x1b; 'probewatch man' lists them",
            ]
        );
        assert!(!unknown_vars(&set(&[("PROBEWATCH_", "")])).is_empty());
        let pauses = unknown_vars(&set(&[
            ("PROBEWATCH_PAUSE_AT", "x"),
            ("PROBEWATCH_PAUSE_FILE", "x"),
        ]));
        assert_eq!(pauses.is_empty(), cfg!(feature = "failpoints"));
    }

    fn error(text: &str) -> String {
        from_text(text, Path::new("")).expect_err("a mistake")
    }

    #[test]
    fn an_unknown_key_is_marked_and_the_keys_are_listed() {
        let text = error("threads = 2\nmin_severity = \"high\"\n");
        for part in [
            "line 2, column 1",
            "2 | min_severity = \"high\"\n  | ^^^^^^^^^^^^",
            "did you mean 'min-severity'?",
            "log-format",
            "paths",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(error("config = 'x'").contains("no setting is called 'config'"));
        assert!(error("[scan]\ntop = 3").contains("no setting is called 'scan'"));
    }

    #[test]
    fn a_wrong_value_is_marked_with_what_to_type() {
        let cases = [
            ("threads = 0", "type 1 or more"),
            ("threads = true", "type text in quotes, or a number"),
            ("min-severity = 'hgih'", "a similar value exists: 'high'"),
            ("outcome = ['answered', 'x']", "not_found"),
            ("outcome = 'answered'", "type a list"),
            ("stats = 1", "type true or false"),
            ("since = 'yesterday'", "24h"),
            (
                "severity = ['a/b=low', 'a/b']",
                "not a rule and its level; type ID=LEVEL",
            ),
        ];
        for (line, advice) in cases {
            let text = error(line);
            assert!(
                text.contains(advice) && text.contains("line 1") && text.contains('^'),
                "{text}"
            );
        }
    }

    #[test]
    fn dates_and_numbers_need_no_quotes() {
        let bare = from_text(
            "since = 2026-11-01\nuntil = 2026-11-02T08:00:00Z\nmax-line = 1048576",
            Path::new(""),
        )
        .expect("fine");
        let quoted = from_text(
            "since = '2026-11-01'\nuntil = '2026-11-02T08:00:00Z'\nmax-line = '1M'",
            Path::new(""),
        )
        .expect("fine");
        assert_eq!(bare, quoted);
    }

    #[test]
    fn relative_paths_start_at_the_folder_of_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("probewatch.toml");
        std::fs::write(
            &file,
            "trusted-proxy = ['@ours.txt', '10.0.0.0/8']\nanonymize = 'key:secret'\npaths = ['logs', '/var/log', '-']\nrules = ['my.toml']\ngeoip = ['city.mmdb']\noutput = '-'\nmin-severity = 'high'\nemit-rules = 'new.toml'\nfrom-nginx = 'n.conf'\nfrom-apache = 'auto'",
        )
        .expect("written");
        let flags = from_file(&file).expect("fine");
        assert_eq!(flags.emit_rules, Some(folder.path().join("new.toml")));
        assert_eq!(
            flags.paths,
            [folder.path().join("logs"), "/var/log".into(), "-".into()]
        );
        assert_eq!(
            (flags.from_nginx, flags.from_apache),
            (Some(folder.path().join("n.conf")), Some("auto".into()))
        );
        assert_eq!(flags.rules, [folder.path().join("my.toml")]);
        assert_eq!(flags.geoip, [folder.path().join("city.mmdb")]);
        assert_eq!(
            flags.trusted_proxy[0],
            ProxySource::File(folder.path().join("ours.txt"))
        );
        assert_eq!(
            flags.anonymize,
            Some(Anonymize::Key(folder.path().join("secret")))
        );
        assert_eq!(flags.output, Some("-".into()));
        assert_eq!(flags.min_severity, Some(Severity::High));
    }

    #[test]
    fn errors_name_the_file_and_hold_no_control_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a\u{1b}.toml");
        assert!(
            from_file(&file)
                .expect_err("missing")
                .to_string()
                .contains("a\\x1b.toml")
        );
        std::fs::write(&file, "\u{1b}[2J = 1").expect("written");
        let text = from_file(&file).expect_err("wrong").to_string();
        assert!(
            !text.contains('\u{1b}') && text.contains("line 1"),
            "{text}"
        );
    }
}
