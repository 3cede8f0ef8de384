//! The configuration file: the long names of the flags of `scan`, `learn`, `follow` and `report` as TOML keys.
//!
//! Never searched for: it is read when it is named. A key that no flag has is an error, not a surprise later.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{Arg, ValueEnum};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::value::{Anonymity, Proxies};
use super::{Error, environment, servers};
use crate::cli::own::OwnArgs;
use crate::cli::scan::{OtherArgs, ScanArgs};
use crate::cli::words::listed;
use crate::commands::message::{sanitized, sanitized_lines};

/// What the file at `path` says. Relative paths in it start at its folder.
///
/// # Errors
///
/// [`Error::Unreadable`], [`Error::File`] with the line and a mark under the place.
pub fn read(path: &Path) -> Result<(ScanArgs, OwnArgs), Error> {
    let name = || sanitized(&path.to_string_lossy());
    let text = std::fs::read_to_string(path).map_err(|source| Error::Unreadable { path: name(), source })?;
    let wrong = |e: toml::de::Error| Error::File { path: name(), message: sanitized_lines(&e.to_string()) };
    let (args, own) = (parse(&text).map_err(wrong)?, parse_own(&text).map_err(wrong)?);
    Ok(below(path.parent().unwrap_or(Path::new("")), args, own))
}

/// Each group of flags takes its own keys from the text and passes over the others, so the keys are checked first.
pub(super) fn parse(text: &str) -> Result<ScanArgs, toml::de::Error> {
    toml::from_str::<BTreeMap<Key, toml::Value>>(text)?;
    Ok(ScanArgs {
        input: toml::from_str(text)?,
        rules: toml::from_str(text)?,
        client: toml::from_str(text)?,
        selection: toml::from_str(text)?,
        output: toml::from_str(text)?,
        performance: toml::from_str(text)?,
        other: OtherArgs::default(),
    })
}

/// What only one subcommand can be told, from a text whose keys were checked.
pub(super) fn parse_own(text: &str) -> Result<OwnArgs, toml::de::Error> {
    Ok(OwnArgs { learn: toml::from_str(text)?, state: toml::from_str(text)?, follow: toml::from_str(text)?, report: toml::from_str(text)? })
}

/// The keys a file may have: what they can be told, but not where the file is.
pub(super) fn keys() -> Vec<String> {
    keys_of(|_| true)
}

fn keys_of(flags: impl Fn(&Arg) -> bool) -> Vec<String> {
    let name = |arg: &Arg| arg.get_long().unwrap_or(arg.get_id().as_str()).to_owned();
    environment::all_flags().get_arguments().filter(|arg| flags(arg)).map(name).filter(|n| n != "config").collect()
}

fn below(folder: &Path, mut args: ScanArgs, mut own: OwnArgs) -> (ScanArgs, OwnArgs) {
    let input = &mut args.input;
    let read = input.paths.iter_mut().chain(&mut args.rules.rules).chain(&mut args.selection.allow);
    let servers = [&mut input.from_nginx, &mut input.from_apache].into_iter().flatten().filter(|conf| conf.as_os_str() != servers::AUTO);
    let written = [&mut own.learn.emit_rules, &mut own.state.state, &mut own.follow.alert_file, &mut own.report.out];
    let proxies = args.client.trusted_proxy.iter_mut().filter_map(|one| if let Proxies::File(path) = one { Some(path) } else { None });
    let key = args.client.privacy.anonymize.iter_mut().filter_map(|how| if let Anonymity::Key(path) = how { Some(path) } else { None });
    let read = read.chain(servers).chain(proxies).chain(key);
    let paths = read.chain(&mut args.output.output).chain(written.into_iter().flatten());
    for path in paths.filter(|p| p.as_os_str() != "-") {
        *path = folder.join(&*path);
    }
    (args, own)
}

/// A key that some flag has.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        let keys = keys();
        if keys.contains(&key) {
            return Ok(Self(key));
        }
        let keys = keys_of(|arg| !arg.is_hide_set());
        let nearest = environment::nearest(&key).filter(|n| keys.contains(n));
        let advice = nearest.map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
        Err(D::Error::custom(format!("no setting is called '{}'{advice}\nthe settings are {}", sanitized(&key), keys.join(", "))))
    }
}

/// One word of a fixed choice.
struct Word<T>(T);

impl<'de, T: ValueEnum> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        T::from_str(&text, false)
            .map(Self)
            .map_err(|_| D::Error::custom(format!("'{}' is not one of the words for this; type {}", sanitized(&text), listed::<T>())))
    }
}

/// Reads a word of a fixed choice, for `#[serde(deserialize_with)]`.
///
/// # Errors
///
/// The deserializer's.
pub fn word<'de, D: Deserializer<'de>, T: ValueEnum>(deserializer: D) -> Result<Option<T>, D::Error> {
    Word::deserialize(deserializer).map(|word| Some(word.0))
}

/// Reads a list of words of a fixed choice, for `#[serde(deserialize_with)]`.
///
/// # Errors
///
/// The deserializer's.
pub fn words<'de, D: Deserializer<'de>, T: ValueEnum>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let words = Vec::<Word<T>>::deserialize(deserializer)?;
    Ok(words.into_iter().map(|word| word.0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;

    fn refusal(text: &str) -> String {
        parse(text).expect_err("a mistake").to_string()
    }

    #[test]
    fn an_unknown_key_is_marked_and_the_keys_are_listed() {
        let text = refusal("threads = 2\nmin_severity = \"high\"\n");
        for part in
            ["line 2, column 1", "2 | min_severity = \"high\"\n  | ^^^^^^^^^^^^", "did you mean 'min-severity'?", "log-format", "paths"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(refusal("config = 'x'").contains("no setting is called 'config'"));
        assert!(refusal("[scan]\ntop = 3").contains("no setting is called 'scan'"));
    }

    #[test]
    fn a_wrong_value_is_marked_and_says_what_to_type() {
        let cases = [
            ("threads = 0", "type 1 or more"),
            ("threads = true", "type text in quotes, or a number"),
            ("min-severity = 'hgih'", "type info, low, medium, high or critical"),
            ("outcome = ['answered', 'x']", "not_found"),
            ("outcome = 'answered'", "expected a sequence"),
            ("stats = 1", "expected a boolean"),
            ("since = 'yesterday'", "24h"),
            ("severity = ['a/b=low', 'a/b']", "'a/b': not a rule and its level; type ID=LEVEL"),
        ];
        for (line, advice) in cases {
            let text = refusal(line);
            assert!(text.contains(advice) && text.contains("line 1") && text.contains('^'), "{text}");
        }
    }

    #[test]
    fn dates_and_numbers_need_no_quotes() {
        let bare = parse("since = 2026-11-01\nuntil = 2026-11-02T08:00:00Z\nmax-line = 1048576").expect("fine");
        let quoted = parse("since = '2026-11-01'\nuntil = '2026-11-02T08:00:00Z'\nmax-line = '1M'").expect("fine");
        assert_eq!(bare, quoted);
    }

    #[test]
    fn relative_paths_start_at_the_folder_of_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("probewatch.toml");
        std::fs::write(
            &file,
            "trusted-proxy = ['@ours.txt', '10.0.0.0/8']\nanonymize = 'key:secret'\npaths = ['logs', '/var/log', '-']\nrules = ['my.toml']\noutput = '-'\nmin-severity = 'high'\nemit-rules = 'new.toml'\nfrom-nginx = 'n.conf'\nfrom-apache = 'auto'",
        )
        .expect("written");
        let (args, own) = read(&file).expect("fine");
        assert_eq!(own.learn.emit_rules, Some(folder.path().join("new.toml")));
        assert_eq!(args.input.paths, [folder.path().join("logs"), "/var/log".into(), "-".into()]);
        assert_eq!((args.input.from_nginx, args.input.from_apache), (Some(folder.path().join("n.conf")), Some("auto".into())));
        assert_eq!(args.rules.rules, [folder.path().join("my.toml")]);
        assert_eq!(args.client.trusted_proxy[0], Proxies::File(folder.path().join("ours.txt")));
        assert_eq!(args.client.privacy.anonymize, Some(Anonymity::Key(folder.path().join("secret"))));
        assert_eq!(args.output.output, Some("-".into()));
        assert_eq!(args.selection.min_severity, Some(Severity::High));
    }

    #[test]
    fn errors_name_the_file_and_hold_no_control_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a\u{1b}.toml");
        assert!(read(&file).expect_err("missing").to_string().contains("a\\x1b.toml"));
        std::fs::write(&file, "\u{1b}[2J = 1").expect("written");
        let text = read(&file).expect_err("wrong").to_string();
        assert!(!text.contains('\u{1b}') && text.contains("line 1"), "{text}");
    }
}
