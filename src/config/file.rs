//! The configuration file: TOML whose keys are the long names of flags.
//!
//! Read only when it is named. A key that is not a setting is an error.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::value::{AnonymizeSpec, ProxySource};
use super::{Error, Layer, SERVER_CONFIG_AUTO};
use crate::commands::message::{sanitized, sanitized_lines};
use crate::rules;

/// A setting for tests, which neither the help nor an error message lists.
const HIDDEN: &str = "no-prefilter";

/// The settings in the file at `path`. Relative paths in it start at its folder.
///
/// # Errors
///
/// [`Error::Unreadable`]; [`Error::File`] with the line and a mark under the mistake.
pub fn read(path: &Path) -> Result<Layer, Error> {
    let name = || sanitized(&path.to_string_lossy());
    let text = std::fs::read_to_string(path).map_err(|source| Error::Unreadable { path: name(), source })?;
    let layer = parse(&text).map_err(|error| Error::File { path: name(), message: sanitized_lines(&error.to_string()) })?;
    Ok(resolve_relative_paths(path.parent().unwrap_or(Path::new("")), layer))
}

/// The settings in `text`.
///
/// # Errors
///
/// An unknown key or a wrong value, with the line and a mark under it.
pub fn parse(text: &str) -> Result<Layer, toml::de::Error> {
    // Keys first, because the error that serde would report for an unknown key suggests none.
    toml::from_str::<BTreeMap<SettingKey, toml::Value>>(text)?;
    toml::from_str(text)
}

fn resolve_relative_paths(folder: &Path, mut layer: Layer) -> Layer {
    let lists = layer.paths.iter_mut().chain(&mut layer.rules).chain(&mut layer.allow).chain(&mut layer.geoip);
    let files = [&mut layer.output, &mut layer.emit_rules, &mut layer.state, &mut layer.alert_file, &mut layer.out];
    let servers =
        [&mut layer.from_nginx, &mut layer.from_apache].into_iter().flatten().filter(|conf| conf.as_os_str() != SERVER_CONFIG_AUTO);
    let proxies = layer.trusted_proxy.iter_mut().filter_map(|source| if let ProxySource::File(path) = source { Some(path) } else { None });
    let key = layer.anonymize.iter_mut().filter_map(|spec| if let AnonymizeSpec::Key(path) = spec { Some(path) } else { None });
    let paths = lists.chain(files.into_iter().flatten()).chain(servers).chain(proxies).chain(key);
    for path in paths.filter(|path| path.as_os_str() != "-") {
        *path = folder.join(&*path);
    }
    layer
}

/// The name of a setting.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SettingKey(String);

impl<'de> Deserialize<'de> for SettingKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        let mut keys: Vec<_> = Layer::keys().collect();
        if keys.contains(&key) {
            return Ok(Self(key));
        }
        keys.retain(|key| key != HIDDEN);
        let nearest = rules::nearest(&key, keys.iter().map(String::as_str));
        let advice = nearest.map(|nearest| format!("; did you mean '{nearest}'?")).unwrap_or_default();
        Err(D::Error::custom(format!("no setting is called '{}'{advice}\nthe settings are {}", sanitized(&key), keys.join(", "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;

    fn error(text: &str) -> String {
        parse(text).expect_err("a mistake").to_string()
    }

    #[test]
    fn an_unknown_key_is_marked_and_the_keys_are_listed() {
        let text = error("threads = 2\nmin_severity = \"high\"\n");
        for part in
            ["line 2, column 1", "2 | min_severity = \"high\"\n  | ^^^^^^^^^^^^", "did you mean 'min-severity'?", "log-format", "paths"]
        {
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
            ("min-severity = 'hgih'", "type info, low, medium, high or critical"),
            ("outcome = ['answered', 'x']", "not_found"),
            ("outcome = 'answered'", "expected a sequence"),
            ("stats = 1", "expected a boolean"),
            ("since = 'yesterday'", "24h"),
            ("severity = ['a/b=low', 'a/b']", "'a/b': not a rule and its level; type ID=LEVEL"),
        ];
        for (line, advice) in cases {
            let text = error(line);
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
            "trusted-proxy = ['@ours.txt', '10.0.0.0/8']\nanonymize = 'key:secret'\npaths = ['logs', '/var/log', '-']\nrules = ['my.toml']\ngeoip = ['city.mmdb']\noutput = '-'\nmin-severity = 'high'\nemit-rules = 'new.toml'\nfrom-nginx = 'n.conf'\nfrom-apache = 'auto'",
        )
        .expect("written");
        let layer = read(&file).expect("fine");
        assert_eq!(layer.emit_rules, Some(folder.path().join("new.toml")));
        assert_eq!(layer.paths, [folder.path().join("logs"), "/var/log".into(), "-".into()]);
        assert_eq!((layer.from_nginx, layer.from_apache), (Some(folder.path().join("n.conf")), Some("auto".into())));
        assert_eq!(layer.rules, [folder.path().join("my.toml")]);
        assert_eq!(layer.geoip, [folder.path().join("city.mmdb")]);
        assert_eq!(layer.trusted_proxy[0], ProxySource::File(folder.path().join("ours.txt")));
        assert_eq!(layer.anonymize, Some(AnonymizeSpec::Key(folder.path().join("secret"))));
        assert_eq!(layer.output, Some("-".into()));
        assert_eq!(layer.min_severity, Some(Severity::High));
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
