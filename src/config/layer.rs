//! The settings of one source: the flags, the variables or the configuration file.
//!
//! Every setting is an `Option` or a list without a default, so that "not given" differs from any value, and one layer can be
//! merged over another. Its key in the file is its name with hyphens, which is the flag's long name too. The file is TOML and
//! read only when it is named; a key that is not a setting is an error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::choice::{LevelOrNever, OnOff, de_enum, de_enum_list};
use super::time_spec::TimeSpec;
use super::value::{
    AnonymizeSpec, ByteSize, Cost, DurationArg, FieldKey, FieldName, FileMode, LogFormatSpec, PositiveCount, PrefixBits, ProxySource,
    RangeSpec, SeverityOverride,
};
use super::{Error, SERVER_CONFIG_AUTO};
use crate::block::NO_BUILTIN_RANGES;
use crate::commands::message::{sanitized, sanitized_lines};
use crate::finding::Severity;
use crate::input::Mmap;
use crate::log_entry::Outcome;
use crate::render::block::BlockFormat;
use crate::render::{Color, GroupBy, OutputFormat};
use crate::rules;

/// Declares [`Layer`] and what has to visit each of its fields.
macro_rules! layer {
    (
        lists { $($(#[$list_attr:meta])* $list:ident: $item:ty,)+ }
        values { $($(#[$value_attr:meta])* $value:ident: $type:ty,)+ }
        switches { $($switch:ident,)+ }
    ) => {
        /// The settings of one source. Each has the meaning of the flag with its name.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
        #[serde(default, rename_all = "kebab-case")]
        pub(crate) struct Layer {
            $($(#[$list_attr])* pub $list: Vec<$item>,)+
            $($(#[$value_attr])* pub $value: Option<$type>,)+
            $(pub $switch: Option<bool>,)+
        }

        impl Layer {
            const FIELDS: &[&str] = &[$(stringify!($list),)+ $(stringify!($value),)+ $(stringify!($switch),)+];

            fn merge_fields_under(self, lower: Self) -> Self {
                Self {
                    $($list: if self.$list.is_empty() { lower.$list } else { self.$list },)+
                    $($value: self.$value.or(lower.$value),)+
                    $($switch: self.$switch.or(lower.$switch),)+
                }
            }

            /// Makes switches that are off unset. A switch that was not typed is parsed as `false`, and a command line
            /// cannot turn a switch off; a variable and the file can.
            #[must_use]
            pub(crate) fn drop_unset_switches(mut self) -> Self {
                $(self.$switch.take_if(|on| !*on);)+
                self
            }
        }
    };
}

layer! {
    lists {
        paths: PathBuf,
        field: FieldKey,
        rules: PathBuf,
        disable: String,
        only: String,
        severity: SeverityOverride,
        trusted_proxy: ProxySource,
        geoip: PathBuf,
        app: String,
        allow: PathBuf,
        #[serde(deserialize_with = "de_enum_list")]
        outcome: Outcome,
        verified_bots: PathBuf,
        proxy_ranges: PathBuf,
        block_out: PathBuf,
        #[serde(deserialize_with = "de_enum_list")]
        block_format: BlockFormat,
    }
    values {
        #[serde(skip)]
        config: PathBuf,
        log_format: LogFormatSpec,
        from_nginx: PathBuf,
        from_apache: PathBuf,
        max_line: ByteSize,
        newer_than: TimeSpec,
        range: RangeSpec,
        source: PathBuf,
        client_from: FieldName,
        ipv6_prefix: PrefixBits,
        anonymize: AnonymizeSpec,
        #[serde(deserialize_with = "de_enum")]
        min_severity: Severity,
        since: TimeSpec,
        until: TimeSpec,
        top: PositiveCount,
        #[serde(deserialize_with = "de_enum")]
        fail_on: LevelOrNever,
        #[serde(deserialize_with = "de_enum")]
        format: OutputFormat,
        #[serde(deserialize_with = "de_enum")]
        by: GroupBy,
        output: PathBuf,
        #[serde(deserialize_with = "de_enum")]
        color: Color,
        threads: PositiveCount,
        #[serde(deserialize_with = "de_enum")]
        mmap: Mmap,
        min_probers: PositiveCount,
        emit_rules: PathBuf,
        state: PathBuf,
        poll_interval: DurationArg,
        #[serde(deserialize_with = "de_enum")]
        fold: OnOff,
        quiet_for: DurationArg,
        #[serde(deserialize_with = "de_enum")]
        alert_severity: Severity,
        cooldown: DurationArg,
        exec: PathBuf,
        alert_file: PathBuf,
        syslog: PathBuf,
        out: PathBuf,
        timezone: String,
        keep: DurationArg,
        keep_runs: PositiveCount,
        mode: FileMode,
        group: String,
        log_host: String,
        #[serde(deserialize_with = "de_enum")]
        notify_level: LevelOrNever,
        max_block: PositiveCount,
        max_cost: Cost,
        ttl: DurationArg,
        aggregate: PositiveCount,
        metrics: PathBuf,
    }
    switches {
        no_builtin,
        no_prefilter,
        no_redact,
        full,
        no_progress,
        quiet,
        stats,
        from_start,
        reset_state,
        insecure_state,
        poll,
        tui,
        daily,
        hourly,
        always,
        html,
        wait,
        dry_run,
        status,
    }
}

impl Layer {
    /// These settings, completed by those of `lower`. A list replaces a list, and `daily` or `hourly` replaces both.
    #[must_use]
    pub(crate) fn merge_under(self, mut lower: Self) -> Self {
        if self.daily.or(self.hourly).is_some() {
            (lower.daily, lower.hourly) = (None, None);
        }
        self.merge_fields_under(lower)
    }

    /// Whether notices are suppressed.
    #[must_use]
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet.unwrap_or(false)
    }

    /// Whether no log is named.
    pub(super) fn has_no_input(&self) -> bool {
        self.paths.is_empty() && self.from_nginx.is_none() && self.from_apache.is_none()
    }

    /// The keys of the configuration file: all settings but the name of the file itself.
    pub(crate) fn keys() -> impl Iterator<Item = String> {
        Self::FIELDS.iter().filter(|name| **name != "config").map(|name| name.replace('_', "-"))
    }
}

/// A setting for tests, which neither the help nor an error message lists.
const HIDDEN: &str = "no-prefilter";

/// The settings in the file at `path`. Relative paths in it start at its folder.
///
/// # Errors
///
/// [`Error::Unreadable`]; [`Error::File`] with the line and a mark under the mistake.
pub(crate) fn read_file(path: &Path) -> Result<Layer, Error> {
    let name = || sanitized(&path.to_string_lossy());
    let text = std::fs::read_to_string(path).map_err(|source| Error::Unreadable { path: name(), source })?;
    let layer = parse_file(&text).map_err(|error| Error::File { path: name(), message: sanitized_lines(&error.to_string()) })?;
    Ok(resolve_relative_paths(path.parent().unwrap_or(Path::new("")), layer))
}

/// The settings in `text`.
///
/// # Errors
///
/// An unknown key or a wrong value, with the line and a mark under it.
pub(crate) fn parse_file(text: &str) -> Result<Layer, toml::de::Error> {
    // Keys first, because the error that serde would report for an unknown key suggests none.
    toml::from_str::<BTreeMap<SettingKey, toml::Value>>(text)?;
    toml::from_str(text)
}

fn resolve_relative_paths(folder: &Path, mut layer: Layer) -> Layer {
    let lists = layer.paths.iter_mut().chain(&mut layer.rules).chain(&mut layer.allow).chain(&mut layer.geoip);
    let lists = lists.chain(&mut layer.verified_bots).chain(&mut layer.block_out);
    let ranges = layer.proxy_ranges.iter_mut().filter(|file| file.as_os_str() != NO_BUILTIN_RANGES);
    let files = [&mut layer.output, &mut layer.emit_rules, &mut layer.state, &mut layer.alert_file, &mut layer.out, &mut layer.metrics];
    let servers =
        [&mut layer.from_nginx, &mut layer.from_apache].into_iter().flatten().filter(|conf| conf.as_os_str() != SERVER_CONFIG_AUTO);
    let proxies = layer.trusted_proxy.iter_mut().filter_map(|source| if let ProxySource::File(path) = source { Some(path) } else { None });
    let key = layer.anonymize.iter_mut().filter_map(|spec| if let AnonymizeSpec::Key(path) = spec { Some(path) } else { None });
    let paths = lists.chain(ranges).chain(files.into_iter().flatten()).chain(servers).chain(proxies).chain(key);
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
        parse_file(text).expect_err("a mistake").to_string()
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
        let bare = parse_file("since = 2026-11-01\nuntil = 2026-11-02T08:00:00Z\nmax-line = 1048576").expect("fine");
        let quoted = parse_file("since = '2026-11-01'\nuntil = '2026-11-02T08:00:00Z'\nmax-line = '1M'").expect("fine");
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
        let layer = read_file(&file).expect("fine");
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
        assert!(read_file(&file).expect_err("missing").to_string().contains("a\\x1b.toml"));
        std::fs::write(&file, "\u{1b}[2J = 1").expect("written");
        let text = read_file(&file).expect_err("wrong").to_string();
        assert!(!text.contains('\u{1b}') && text.contains("line 1"), "{text}");
    }
}
