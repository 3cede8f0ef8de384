//! The settings of one source: the flags, the variables or the configuration file.
//!
//! Every setting is an `Option` or a list without a default, so that "not given" differs from any value, and one layer can be
//! merged over another.

use std::path::{Path, PathBuf};

use super::SERVER_CONFIG_AUTO;
use super::time_spec::TimeSpec;
use super::value::{
    AnonymizeSpec, ByteSize, Cost, DurationArg, FieldKey, FieldName, FileMode, LevelOrNever, LogFormatSpec, OnOff, PositiveCount,
    PrefixBits, ProxySource, RangeSpec, SeverityOverride,
};
use crate::block::NO_BUILTIN_RANGES;
use crate::input::Mmap;
use crate::log::finding::Severity;
use crate::log::log_entry::Outcome;
use crate::render::block::BlockFormat;
use crate::render::{Color, GroupBy, OutputFormat};

/// Declares [`Layer`] and what has to visit each of its fields.
macro_rules! layer {
    (
        lists { $($list:ident: $item:ty,)+ }
        values { $($value:ident: $type:ty,)+ }
        switches { $($switch:ident,)+ }
    ) => {
        /// The settings of one source. Each has the meaning of the flag with its name.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub(crate) struct Layer {
            $(pub $list: Vec<$item>,)+
            $(pub $value: Option<$type>,)+
            $(pub $switch: Option<bool>,)+
        }

        impl Layer {
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
        outcome: Outcome,
        verified_bots: PathBuf,
        proxy_ranges: PathBuf,
        block_out: PathBuf,
        block_format: BlockFormat,
    }
    values {
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
        min_severity: Severity,
        since: TimeSpec,
        until: TimeSpec,
        top: PositiveCount,
        fail_on: LevelOrNever,
        format: OutputFormat,
        by: GroupBy,
        output: PathBuf,
        color: Color,
        threads: PositiveCount,
        mmap: Mmap,
        min_probers: PositiveCount,
        emit_rules: PathBuf,
        state: PathBuf,
        poll_interval: DurationArg,
        fold: OnOff,
        quiet_for: DurationArg,
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

    /// The settings of a file in this folder, where relative paths start.
    #[must_use]
    pub(crate) fn relative_to(mut self, folder: &Path) -> Self {
        let lists = self.paths.iter_mut().chain(&mut self.rules).chain(&mut self.allow).chain(&mut self.geoip);
        let lists = lists.chain(&mut self.verified_bots).chain(&mut self.block_out);
        let ranges = self.proxy_ranges.iter_mut().filter(|file| file.as_os_str() != NO_BUILTIN_RANGES);
        let files = [&mut self.output, &mut self.emit_rules, &mut self.state, &mut self.alert_file, &mut self.out, &mut self.metrics];
        let servers =
            [&mut self.from_nginx, &mut self.from_apache].into_iter().flatten().filter(|conf| conf.as_os_str() != SERVER_CONFIG_AUTO);
        let proxies =
            self.trusted_proxy.iter_mut().filter_map(|source| if let ProxySource::File(path) = source { Some(path) } else { None });
        let key = self.anonymize.iter_mut().filter_map(|spec| if let AnonymizeSpec::Key(path) = spec { Some(path) } else { None });
        let paths = lists.chain(ranges).chain(files.into_iter().flatten()).chain(servers).chain(proxies).chain(key);
        for path in paths.filter(|path| path.as_os_str() != "-") {
            *path = folder.join(&*path);
        }
        self
    }
}
