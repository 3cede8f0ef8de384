//! Every flag that sets a setting, declared once: its name, its type and its help. Each is a
//! variable and a key of the configuration file too.
//!
//! The first line of a flag's comment is its help in `-h`, at most 12 words; `--help` adds the
//! paragraph. Every flag is an `Option` or a list without a default, so that "not given" differs
//! from any value, and the flags of one source can be put over those of another. Which subcommand
//! has which flags is not known here.

#![expect(
    clippy::doc_markdown,
    reason = "comments on flags are the help, and a terminal shows backticks as they are"
)]

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{
    NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser as _,
};
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, ValueEnum, ValueHint};

use super::time_spec::TimeSpec;
use super::value::{self, LevelOrNever, PrefixBits, ProxySource};
use crate::commands::Anonymize;
use crate::formats::FieldKind;
use crate::input::{ByteRange, Mmap};
use crate::log::finding::Severity;
use crate::log::log_entry::Outcome;
use crate::render::block::BlockFormat;
use crate::render::{Color, GroupBy, OutputFormat};
use crate::report::verify::Origin;

/// Declares [`Flags`], and what visits each of its fields.
macro_rules! flags {
    (
        $(#[$paths_attr:meta])* $paths:ident: $paths_type:ty,
        $($heading:literal { $($(#[$attr:meta])* $flag:ident: $type:ty,)+ })+
    ) => {
        /// The flags of one source: those that were typed, the variables, or the configuration
        /// file.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
        pub(crate) struct Flags {
            $(#[$paths_attr])* pub(crate) $paths: $paths_type,
            $($($(#[$attr])* #[arg(help_heading = $heading)] pub(crate) $flag: $type,)+)+
        }

        impl Flags {
            /// The flags that arguments give. A subcommand need not have all of them.
            pub(crate) fn given(matches: &mut ArgMatches) -> Self {
                Self {
                    $paths: Given::given(matches, stringify!($paths)),
                    $($($flag: Given::given(matches, stringify!($flag)),)+)+
                }
            }

            /// These flags, completed by those of `lower`. A list replaces a list, and `daily` or
            /// `hourly` replaces both.
            #[must_use]
            pub(crate) fn over(self, mut lower: Self) -> Self {
                if self.daily.or(self.hourly).is_some() {
                    (lower.daily, lower.hourly) = (None, None);
                }
                Self {
                    $paths: self.$paths.over(lower.$paths),
                    $($($flag: self.$flag.over(lower.$flag),)+)+
                }
            }
        }
    };
}

/// The value of a flag, which may not be given.
trait Given {
    /// The value that the arguments give.
    fn given(matches: &mut ArgMatches, flag: &str) -> Self;

    /// This value if it is given, else `lower`.
    #[must_use]
    fn over(self, lower: Self) -> Self;
}

/// Whether an argument gives this flag. A switch that is not typed has a value too: it is off.
fn is_given(matches: &ArgMatches, flag: &str) -> bool {
    matches!(matches.try_contains_id(flag), Ok(true))
        && matches.value_source(flag) == Some(ValueSource::CommandLine)
}

impl<T: Clone + Send + Sync + 'static> Given for Option<T> {
    fn given(matches: &mut ArgMatches, flag: &str) -> Self {
        if is_given(matches, flag) {
            matches.remove_one(flag)
        } else {
            None
        }
    }

    fn over(self, lower: Self) -> Self {
        self.or(lower)
    }
}

impl<T: Clone + Send + Sync + 'static> Given for Vec<T> {
    fn given(matches: &mut ArgMatches, flag: &str) -> Self {
        if is_given(matches, flag) {
            matches.remove_many(flag).into_iter().flatten().collect()
        } else {
            Self::new()
        }
    }

    fn over(self, lower: Self) -> Self {
        if self.is_empty() { lower } else { self }
    }
}

flags! {
    /// Files, folders, globs, or - for standard input
    ///
    /// Folders are read recursively. Without a path, standard input is read if it is piped.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    paths: Vec<PathBuf>,

    "Input" {
        /// Scan only lines that begin in these bytes: 0-64M, 64M-
        ///
        /// Of one uncompressed file. A range that begins in a line starts at the next one; the last
        /// number may be left out. K, M, G and T are units. Ranges that meet count every line once;
        /// 'probewatch merge' joins them.
        #[arg(long, value_name = "FROM-TO", value_parser = value::byte_range)]
        range: Option<ByteRange>,

        /// Name of standard input in reports [default: -]
        #[arg(long, value_name = "NAME")]
        source: Option<PathBuf>,

        /// Log format: name or nginx/Apache format string [default: auto]
        ///
        /// auto detects the format of each line. 'probewatch formats' lists the names. Quote a
        /// format string for the shell.
        #[arg(long, value_name = "FORMAT", value_parser = value::log_format)]
        log_format: Option<String>,

        /// Meaning of a JSON key, such as client=ip (repeatable, or a,b)
        ///
        /// For keys that are not recognized. Meanings are client, host, time, request, method,
        /// target, path, query, protocol, status, bytes, referer, user_agent.
        #[arg(long, value_name = "MEANING=KEY", value_delimiter = ',', hide_short_help = true, value_parser = value::field_key)]
        field: Vec<(FieldKind, String)>,

        /// Read the logs that nginx's configuration names
        ///
        /// In their log_format, with their rotated files; skipped directives are reported. Write
        /// PATH before it, or --from-nginx=CONF.
        #[arg(long, value_name = "CONF", num_args = 0..=1, default_missing_value = "auto", value_hint = ValueHint::FilePath)]
        from_nginx: Option<PathBuf>,

        /// Read the logs that Apache's configuration names
        ///
        /// In their LogFormat; otherwise like --from-nginx. Without CONF, each is read from where
        /// packages put it.
        #[arg(long, value_name = "CONF", num_args = 0..=1, default_missing_value = "auto", value_hint = ValueHint::FilePath)]
        from_apache: Option<PathBuf>,

        /// Longest line to parse, in bytes: 65536, 512K [default: 1M]
        ///
        /// K, M and G are powers of 1024. Longer lines are counted as oversized.
        #[arg(long, value_name = "BYTES", hide_short_help = true, value_parser = value::line_length)]
        max_line: Option<usize>,

        /// Skip files last modified before this: 2d, 36h, 2026-11-01
        ///
        /// By the file's modification time, with dates in this system's time zone; --since goes by
        /// the times of lines.
        #[arg(long, value_name = "TIME")]
        newer_than: Option<TimeSpec>,

        /// Continue where the last run with this folder stopped
        ///
        /// Across rotations too. The folder is created if missing. A log that the state knows is
        /// always read from where it stopped.
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        state: Option<PathBuf>,

        /// Begin with what the logs contain already, rotated files included
        ///
        /// Without it and without a state, follow begins at the end of the logs, and report at the
        /// start of the named ones.
        #[arg(long, action = ArgAction::SetTrue)]
        from_start: Option<bool>,

        /// Discard the state and begin a new one
        #[arg(long, visible_alias = "reset", action = ArgAction::SetTrue, hide_short_help = true)]
        reset_state: Option<bool>,

        /// Use a state folder that other users can write to
        #[arg(long, action = ArgAction::SetTrue, hide_short_help = true)]
        insecure_state: Option<bool>,

        /// Poll only: do not use inotify
        #[arg(long, action = ArgAction::SetTrue)]
        poll: Option<bool>,

        /// How often to check all logs, even without events [default: 250ms]
        #[arg(long, value_name = "DURATION", hide_short_help = true, value_parser = value::duration)]
        poll_interval: Option<Duration>,
    }

    "Rules" {
        /// Add rules from a file or folder (repeatable)
        ///
        /// A rule with the ID of a built-in rule replaces it.
        #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
        rules: Vec<PathBuf>,

        /// Do not load the built-in rules
        #[arg(long, action = ArgAction::SetTrue, hide_short_help = true)]
        no_builtin: Option<bool>,

        /// Disable these rules (repeatable, or a,b)
        #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
        disable: Vec<String>,

        /// Use only these rules or classes (repeatable, or a,b)
        #[arg(long, value_name = "ID|CLASS", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
        only: Vec<String>,

        /// Change the severity of a rule (repeatable, or a,b)
        ///
        /// Levels are info, low, medium, high, critical.
        #[arg(long, value_name = "ID=LEVEL", value_delimiter = ',', value_parser = value::severity_override)]
        severity: Vec<(String, Severity)>,

        /// Match the literals of rules without the prefilter
        // For tests: the report is the same.
        #[arg(long, hide = true, action = ArgAction::SetTrue)]
        no_prefilter: Option<bool>,
    }

    "Clients" {
        /// Take the client from this field, such as x-forwarded-for
        ///
        /// The log must contain it. It counts if a --trusted-proxy or an unlogged peer wrote it: of
        /// a list, the last other address.
        #[arg(long, value_name = "FIELD", value_parser = value::field_name)]
        client_from: Option<String>,

        /// Addresses of your own proxies (repeatable, or a,b)
        ///
        /// @FILE has one a line, with # comments. Never block candidates.
        #[arg(long, value_name = "CIDR|@FILE", value_delimiter = ',')]
        trusted_proxy: Vec<ProxySource>,

        /// Count the IPv6 addresses of a prefix as one client: 64
        ///
        /// Shown as 2001:db8::/64. With 128 each address is one client.
        #[arg(long, value_name = "BITS", hide_short_help = true)]
        ipv6_prefix: Option<PrefixBits>,

        /// Hide clients: truncate (if no value is given), key:FILE, off
        ///
        /// truncate prints networks, key:FILE pseudonyms. Such a report cannot be merged and
        /// contains no block candidates. With --geoip it has the country and network of each
        /// client, but no city.
        #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "truncate", value_parser = value::anonymize)]
        anonymize: Option<Anonymize>,

        /// Add country and network of clients, from MMDB files (repeatable)
        ///
        /// A database of GeoLite2, DB-IP or IPinfo, which you provide; none is downloaded. Each
        /// field is that of the first database that has it, so name one of cities or countries and
        /// one of AS numbers. A file is held in memory.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        geoip: Vec<PathBuf>,

        /// Show passwords, tokens and session IDs in targets as logged
        ///
        /// By default they are ***. The part of a report that merge reads never contains them.
        #[arg(long, action = ArgAction::SetTrue, hide_short_help = true)]
        no_redact: Option<bool>,

        /// Ranges of CDN proxies, or none of the built-in (repeatable)
        ///
        /// Beside those of Cloudflare and Fastly: Cloudflare's ips-v4, Fastly's public-ip-list,
        /// AWS's ip-ranges.json (CloudFront), or one network a line. They are never block
        /// candidates.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
        proxy_ranges: Vec<PathBuf>,
    }

    "What to report" {
        /// Report only this severity and above [default: low]
        ///
        /// Levels are info, low, medium, high, critical.
        #[arg(long, value_name = "LEVEL", value_enum, hide_possible_values = true)]
        min_severity: Option<Severity>,

        /// Do not report this app's normal pages (repeatable, or a,b)
        ///
        /// Their severity becomes info. For logs that do not show the app; 'probewatch rules list --only
        /// app' lists all apps.
        #[arg(long, value_name = "APP", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
        app: Vec<String>,

        /// Exclude what this file allows: clients, paths, agents (repeatable)
        ///
        /// A TOML file of [[allow]] tables, each with a reason and any of clients, paths and
        /// agents. Excluded requests are counted.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        allow: Vec<PathBuf>,

        /// Report only these outcomes: answered, denied, not_found, ...
        ///
        /// answered (2xx, 304), redirected (other 3xx), auth_required (401, 407), denied (403, 405,
        /// 429, 444, 451), not_found (404, 410), rejected (other 4xx), error (5xx), unknown;
        /// separated by commas.
        #[arg(long, value_name = "OUTCOME,...", value_enum, value_delimiter = ',', hide_possible_values = true)]
        outcome: Vec<Outcome>,

        /// Skip lines before this time: 24h, 7d, 2026-11-01
        ///
        /// By the log's own time. 90s, 1h30m, 24h, 7d and 2w count back from the start of the run.
        /// A date, and a time without an offset, is local to each line. Lines without a time are
        /// kept and counted.
        #[arg(long, value_name = "TIME")]
        since: Option<TimeSpec>,

        /// Skip lines at or after this time
        ///
        /// Written as for --since.
        #[arg(long, value_name = "TIME")]
        until: Option<TimeSpec>,

        /// Exit 1 on a finding at or above this level
        ///
        /// Levels are info, low, medium, high, critical, never. [default: never]
        #[arg(long, value_name = "LEVEL", value_enum, hide_possible_values = true)]
        fail_on: Option<LevelOrNever>,

        /// Independent probers that a proposed path needs [default: 3]
        ///
        /// Clients of the same IPv4 /24 or IPv6 /64 count as one.
        #[arg(long, value_name = "N", value_parser = value::count)]
        min_probers: Option<usize>,
    }

    "Output" {
        /// Format: table, csv, json, ndjson, html, ecs, ocsf, prometheus, ... [default: table]
        ///
        /// html is one page for a browser that requests nothing: -f html -o page.html. ndjson, ecs
        /// (9.4.0) and ocsf (1.5.0) print one object per hit; prometheus prints counts. partial is
        /// the smallest file that 'probewatch merge' reads.
        #[arg(short, long, value_name = "FORMAT", value_enum, hide_possible_values = true)]
        format: Option<OutputFormat>,

        /// Rows in each section [default: as fit, 10 with --full]
        ///
        /// A table without both fits the terminal, or 24 lines; a page has 1,000. CSV and JSON are
        /// complete; shortened JSON cannot be merged.
        #[arg(long, value_name = "N", value_parser = value::count)]
        top: Option<usize>,

        /// Row of a table or CSV: pair, client, path, rule, answer
        ///
        /// An answer is a path with a distinct answer. A table prints only this section; CSV is by
        /// pair by default; JSON has all.
        #[arg(long, value_name = "ROW", value_enum, hide_possible_values = true)]
        by: Option<GroupBy>,

        /// Print all sections of the table
        ///
        /// Adds paths, rules, campaigns and the line counts of each input.
        #[arg(long, action = ArgAction::SetTrue)]
        full: Option<bool>,

        /// Write the report to this file; - is standard output
        ///
        /// The file is replaced atomically when the report is complete.
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,

        /// When to use colours: auto, always, never [default: auto]
        #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true)]
        color: Option<Color>,

        /// Show no progress bar
        #[arg(long, action = ArgAction::SetTrue, hide_short_help = true)]
        no_progress: Option<bool>,

        /// Suppress notices on standard error, but not errors and warnings
        #[arg(short, long, action = ArgAction::SetTrue)]
        quiet: Option<bool>,

        /// Print statistics of each stage on standard error
        #[arg(long, action = ArgAction::SetTrue, hide_short_help = true)]
        stats: Option<bool>,

        /// Fold repeats of a client and rule: on, off [default: on]
        ///
        /// ndjson, ecs and ocsf always print every hit.
        #[arg(long, value_name = "WHEN", value_parser = PossibleValuesParser::new(["on", "off"]).map(|word| word == "on"), hide_possible_values = true)]
        fold: Option<bool>,

        /// Idle time before a folded count is printed [default: 5s]
        #[arg(long, value_name = "DURATION", hide_short_help = true, value_parser = value::duration)]
        quiet_for: Option<Duration>,

        /// Show a live view that fills the terminal
        ///
        /// Press ? in it for the keys.
        #[arg(long, action = ArgAction::SetTrue)]
        tui: Option<bool>,

        /// Write counts for Prometheus to this file, NAME.prom, for node_exporter
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        metrics: Option<PathBuf>,

        /// Write the proposals to this file as rules, for review
        ///
        /// Replaced atomically; not used until --rules names it. --top limits it. - is standard
        /// output, if the report goes to a file.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        emit_rules: Option<PathBuf>,
    }

    "Performance" {
        /// Worker threads [default: one per core]
        ///
        /// The report is the same with any number.
        #[arg(short = 'j', long, value_name = "N", value_parser = value::count)]
        threads: Option<usize>,

        /// When to memory-map files: auto, always, never [default: auto]
        ///
        /// auto maps large files on local file systems. A file that cannot be mapped is read.
        #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true, hide_short_help = true)]
        mmap: Option<Mmap>,
    }

    "Alerts" {
        /// Raise alerts for answered probes from this severity on [default: high]
        #[arg(long, value_name = "LEVEL", value_enum, hide_possible_values = true)]
        alert_severity: Option<Severity>,

        /// Log time before the same alert is raised again [default: 10m]
        #[arg(long, value_name = "DURATION", value_parser = value::duration)]
        cooldown: Option<Duration>,

        /// Send each alert to this program as a line of JSON
        ///
        /// On its standard input. One process gets all alerts; it is started without a shell or
        /// arguments, and restarted when it ends.
        #[arg(long, value_name = "PROGRAM", value_hint = ValueHint::CommandName)]
        exec: Option<PathBuf>,

        /// Append each alert to this file as a line of JSON
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        alert_file: Option<PathBuf>,

        /// Send each alert to syslog [default socket: /dev/log]
        ///
        /// In the format of RFC 5424. --syslog=PATH names another socket.
        #[arg(long, value_name = "SOCKET", num_args = 0..=1, require_equals = true, default_missing_value = "/dev/log", value_hint = ValueHint::FilePath)]
        syslog: Option<PathBuf>,
    }

    "Reports" {
        /// Write the folders of reports to this folder
        ///
        /// A run with something to report creates one folder, complete or not at all; 'latest'
        /// links to the newest.
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        out: Option<PathBuf>,

        /// Write one folder for each day of the log
        ///
        /// Lines that are read later are added to the folder of their day.
        #[arg(long, action = ArgAction::SetTrue, conflicts_with = "hourly")]
        daily: Option<bool>,

        /// Write one folder for each hour of the log
        #[arg(long, action = ArgAction::SetTrue)]
        hourly: Option<bool>,

        /// Time zone of days and hours: Europe/Berlin [default: each line's own]
        #[arg(long, value_name = "ZONE", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
        timezone: Option<String>,

        /// Create a folder even if nothing is new
        #[arg(long, action = ArgAction::SetTrue, hide_short_help = true)]
        always: Option<bool>,

        /// Write a page for a browser too, with an index
        ///
        /// report.html in each folder, and index.html beside them, which lists the folders that --keep
        /// leaves.
        #[arg(long, action = ArgAction::SetTrue)]
        html: Option<bool>,

        /// Delete folders older than this: 90d, 12w
        #[arg(long, value_name = "DURATION", value_parser = value::duration)]
        keep: Option<Duration>,

        /// Keep only the newest N folders
        #[arg(long, value_name = "N", value_parser = value::count)]
        keep_runs: Option<usize>,

        /// Permissions of the files, in octal [default: 0600]
        #[arg(long, value_name = "MODE", hide_short_help = true, value_parser = value::file_mode)]
        mode: Option<u32>,

        /// Group of the files and folders
        #[arg(long, value_name = "GROUP", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
        group: Option<String>,

        /// Name of this host in merged reports [default: its host name]
        #[arg(long, value_name = "HOST", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
        log_host: Option<String>,

        /// Print a summary, for cron to mail, from this level [default: high]
        ///
        /// Levels are info, low, medium, high, critical, never. Answers and news count, but new
        /// clients alone send no mail.
        #[arg(long, value_name = "LEVEL", value_enum, hide_possible_values = true)]
        notify_level: Option<LevelOrNever>,

        /// Replace the block list in this file after each run (repeatable)
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        block_out: Vec<PathBuf>,

        /// Format of that list, as in 'probewatch block --help' (repeatable)
        #[arg(long, value_name = "FORMAT", value_enum, value_delimiter = ',', hide_possible_values = true, hide_short_help = true)]
        block_format: Vec<BlockFormat>,
    }

    "Block lists" {
        /// Name at most N clients, the worst first
        ///
        /// In a block list, and among the block candidates of a report.
        #[arg(long, visible_alias = "max", value_name = "N", hide_short_help = true, value_parser = value::count)]
        max_block: Option<usize>,

        /// Ordinary requests that a block may cost [default: 0]
        ///
        /// Requests of the address that are no probe. For IPv6, those of its /64 network.
        #[arg(long, value_name = "N", value_parser = value::cost)]
        max_cost: Option<u64>,

        /// How long an entry stays after its last probe [default: 24h]
        ///
        /// By the log's time and this machine's clock.
        #[arg(long, value_name = "DURATION", value_parser = value::duration)]
        ttl: Option<Duration>,

        /// List a whole /24 from N probers on [default N: 3]
        ///
        /// Only where no other client of the logs is in it.
        #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "3", value_parser = value::count)]
        aggregate: Option<usize>,

        /// Never list ranges of search engines, from this file (repeatable)
        ///
        /// The JSON that Google and Bing publish for their crawlers, or one network a line. You
        /// provide it; none is downloaded.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        verified_bots: Vec<PathBuf>,
    }

    "Run" {
        /// Wait until a run in progress ends, instead of failing
        #[arg(long, action = ArgAction::SetTrue)]
        wait: Option<bool>,

        /// Print what a run would report, and change nothing
        #[arg(long, action = ArgAction::SetTrue)]
        dry_run: Option<bool>,

        /// Print how far each log was read, and how much is unread
        #[arg(long, action = ArgAction::SetTrue, conflicts_with = "dry_run")]
        status: Option<bool>,
    }

    "Requests" {
        /// Your own site: https://example.com
        ///
        /// Scheme, host and port. No other host is asked. Of a log with hosts, only rows of this
        /// one count.
        #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
        site: Option<Origin>,

        /// Time from one request to the next [default: 1s]
        #[arg(long, value_name = "DURATION", value_parser = value::duration)]
        pause: Option<Duration>,

        /// Send at most N requests, controls included [default: 200]
        #[arg(long, value_name = "N", value_parser = value::count)]
        max_requests: Option<usize>,

        /// Trust the certificates in this file alone, as 'curl --cacert'
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        cacert: Option<PathBuf>,
    }

    "Other" {
        /// Read settings from this TOML file
        ///
        /// Its keys are names of flags, as in min-severity = "medium"; paths lists the inputs.
        /// Relative paths start at its folder.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
    }
}

impl Flags {
    /// Whether notices are suppressed.
    #[must_use]
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet.unwrap_or(false)
    }

    /// Whether no log is named.
    pub(super) fn has_no_input(&self) -> bool {
        self.paths.is_empty() && self.from_nginx.is_none() && self.from_apache.is_none()
    }
}

impl ValueEnum for Severity {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.as_str()))
    }
}
