//! The settings that one source gives: the flags, the variables or the configuration file.
//!
//! Every setting is an `Option` or a list without a default, so that "not given" differs from any value, and one layer
//! can be merged over another. Its key in the file is its name with hyphens, which is the flag's long name too.

use std::path::PathBuf;

use serde::Deserialize;

use super::choice::{LevelOrNever, OnOff, de_enum, de_enum_list};
use super::time_spec::TimeSpec;
use super::value::{
    AnonymizeSpec, ByteSize, DurationArg, FieldKey, FieldName, FileMode, LogFormatSpec, PositiveCount, PrefixBits, ProxySource,
    SeverityOverride,
};
use crate::finding::Severity;
use crate::input::Mmap;
use crate::log_entry::Outcome;
use crate::render::{Color, GroupBy, OutputFormat};

/// Declares [`Layer`] and what has to visit each of its fields.
macro_rules! layer {
    (
        lists { $($(#[$list_attr:meta])* $list:ident: $item:ty,)+ }
        values { $($(#[$value_attr:meta])* $value:ident: $type:ty,)+ }
        switches { $($switch:ident,)+ }
    ) => {
        /// The settings that one source gives. Each has the meaning of the flag with its name.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
        #[serde(default, rename_all = "kebab-case")]
        #[expect(missing_docs, reason = "the flags document them")]
        pub struct Layer {
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
            pub fn drop_unset_switches(mut self) -> Self {
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
        app: String,
        allow: PathBuf,
        #[serde(deserialize_with = "de_enum_list")]
        outcome: Outcome,
    }
    values {
        #[serde(skip)]
        config: PathBuf,
        log_format: LogFormatSpec,
        from_nginx: PathBuf,
        from_apache: PathBuf,
        max_line: ByteSize,
        newer_than: TimeSpec,
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
        machine: String,
        #[serde(deserialize_with = "de_enum")]
        notify_level: LevelOrNever,
        max_block: PositiveCount,
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
    pub fn merge_under(self, mut lower: Self) -> Self {
        if self.daily.or(self.hourly).is_some() {
            (lower.daily, lower.hourly) = (None, None);
        }
        self.merge_fields_under(lower)
    }

    /// Whether notices are suppressed.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.quiet.unwrap_or(false)
    }

    /// Whether no log is named.
    pub(super) fn has_no_input(&self) -> bool {
        self.paths.is_empty() && self.from_nginx.is_none() && self.from_apache.is_none()
    }

    /// The keys of the configuration file: all settings but the name of the file itself.
    pub fn keys() -> impl Iterator<Item = String> {
        Self::FIELDS.iter().filter(|name| **name != "config").map(|name| name.replace('_', "-"))
    }
}
