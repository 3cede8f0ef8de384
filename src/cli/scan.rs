//! The flags of `scan`, in groups as `--help` shows them.
//!
//! Each is an `Option` or a list without a default, so that what was not said stays visible: the same types hold what
//! the environment and the configuration file say, and `config` lays one over the other. Nothing is decided here.

#![expect(clippy::doc_markdown, reason = "comments on flags are the help, and a terminal shows backticks as they are")]

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args, ValueHint};
use serde::Deserialize;

use super::client::ClientArgs;
use super::words::FailOn;
use crate::config::bounds::When;
use crate::config::file::{word, words};
use crate::config::formats::{FieldKey, FormatText};
use crate::config::value::{Count, SeverityOverride, Size};
use crate::finding::Severity;
use crate::input::Mmap;
use crate::log_entry::Outcome;
use crate::render::{Color, GroupBy, OutputFormat};

/// Everything `scan` can be told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct ScanArgs {
    /// What to read.
    #[command(flatten)]
    pub input: InputArgs,
    /// Which rules.
    #[command(flatten)]
    pub rules: RuleArgs,
    /// Who asked.
    #[command(flatten)]
    pub client: ClientArgs,
    /// What to report.
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// How and where to print it.
    #[command(flatten)]
    pub output: OutputArgs,
    /// How hard to work.
    #[command(flatten)]
    pub performance: PerformanceArgs,
    /// The configuration file.
    #[command(flatten)]
    pub other: OtherArgs,
}

/// What to read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Deserialize)]
#[command(next_help_heading = "Input")]
#[serde(default, rename_all = "kebab-case")]
pub struct InputArgs {
    /// Files, folders, globs, or - for standard input
    ///
    /// Folders are read with everything in them. Without a path, standard input is read when something is piped in.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, help_heading = None)]
    pub paths: Vec<PathBuf>,

    /// Format of the logs: a name, or a format string of nginx or Apache [default: auto]
    ///
    /// auto finds out for each line. probewatch formats shows the names that are known. A string is the one of log_format or
    /// LogFormat, as it stands in the server's configuration; quote it for the shell.
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<FormatText>,

    /// What a key of JSON lines means: client=ip,target=uri (repeatable)
    ///
    /// For keys that are not recognised. Meanings are client, host, time, request, method, target, path, query, protocol,
    /// status, bytes, referer, user_agent.
    #[arg(long, value_name = "MEANING=KEY", value_delimiter = ',')]
    pub field: Vec<FieldKey>,

    /// Read the logs that nginx's configuration names [default CONF: /etc/nginx/nginx.conf]
    ///
    /// Each access_log, in its log_format, with what it was rotated to. What is left alone is said. The word behind it is the
    /// configuration: write PATH before it, or --from-nginx=CONF. auto is where packages put it.
    #[arg(long, value_name = "CONF", num_args = 0..=1, default_missing_value = "auto", value_hint = ValueHint::FilePath)]
    pub from_nginx: Option<PathBuf>,

    /// Read the logs that Apache's configuration names [default CONF: apache2.conf or httpd.conf]
    ///
    /// Each CustomLog, in its LogFormat, as for --from-nginx. auto is where packages put it:
    /// /etc/apache2/apache2.conf, /etc/httpd/conf/httpd.conf and others.
    #[arg(long, value_name = "CONF", num_args = 0..=1, default_missing_value = "auto", value_hint = ValueHint::FilePath)]
    pub from_apache: Option<PathBuf>,

    /// Longest line to look at: 65536, 512K, 1M [default: 1M]
    ///
    /// In bytes; K, M and G are powers of 1024. Longer lines are counted as oversized and not held in memory.
    #[arg(long, value_name = "BYTES")]
    pub max_line: Option<Size>,

    /// Leave out files that were last written to before this: 2d, 36h, 2026-11-01
    ///
    /// By the time of a file's last change, and whatever its lines say; --since goes by the lines. An age counts back from
    /// the start of the run; 2026-11-01 and 2026-11-01T08:00 are meant in the time zone of this system. How many files were
    /// left out is said on standard error.
    #[arg(long, value_name = "TIME")]
    pub newer_than: Option<When>,
}

/// Which rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Deserialize)]
#[command(next_help_heading = "Rules")]
#[serde(default, rename_all = "kebab-case")]
pub struct RuleArgs {
    /// Add rules of your own from a file or folder (repeatable)
    ///
    /// One with the id of a built-in rule replaces it.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub rules: Vec<PathBuf>,

    /// Leave the built-in rules out
    #[arg(long, action = ArgAction::SetTrue)]
    pub no_builtin: Option<bool>,

    /// Leave these rules out (repeatable, or a,b)
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub disable: Vec<String>,

    /// Keep only these rules or classes (repeatable, or a,b)
    #[arg(long, value_name = "ID|CLASS", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub only: Vec<String>,

    /// Change the severity of a rule without editing it (repeatable)
    ///
    /// Levels are info, low, medium, high, critical.
    #[arg(long, value_name = "ID=LEVEL", value_delimiter = ',')]
    pub severity: Vec<SeverityOverride>,

    /// Find the literals of rules without the prefilter; the report is the same
    // For tests, and for whoever doubts that it is.
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    pub no_prefilter: Option<bool>,
}

/// What to report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Deserialize)]
#[command(next_help_heading = "What to report")]
#[serde(default, rename_all = "kebab-case")]
pub struct SelectionArgs {
    /// Report from this level on [default: low]
    ///
    /// Levels are info, low, medium, high, critical.
    #[arg(long, value_name = "LEVEL", value_enum, hide_possible_values = true)]
    #[serde(deserialize_with = "word")]
    pub min_severity: Option<Severity>,

    /// Say that this app runs here: its own pages are no news (repeatable, or a,b)
    ///
    /// wordpress, joomla, drupal and others: 'probewatch rules list --only app' shows them. Apps are found out from what
    /// a site answers; this is for logs that do not show it.
    #[arg(long, value_name = "APP", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub app: Vec<String>,

    /// Leave out what this file allows: clients, paths, agents (repeatable)
    ///
    /// A TOML file of [[allow]] tables, each with a reason and any of clients, paths and agents. What it leaves out is
    /// counted in the report.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub allow: Vec<PathBuf>,

    /// Keep only these outcomes: answered, denied, not_found, ...
    ///
    /// Separated by commas. There are answered (2xx, 304), redirected (other 3xx), auth_required (401, 407), denied
    /// (403, 405, 429, 444, 451), not_found (404, 410), rejected (other 4xx), error (5xx), unknown.
    #[arg(long, value_name = "OUTCOME,...", value_enum, value_delimiter = ',', hide_possible_values = true)]
    #[serde(deserialize_with = "words")]
    pub outcome: Vec<Outcome>,

    /// Look at lines from this time on: 24h, 7d, 2026-11-01
    ///
    /// By the log's own time. 90s, 30m, 24h, 7d and 2w count back from the start of the run; 2026-11-01 and
    /// 2026-11-01T08:00 are meant in the offset each line was written in; 2026-11-01T08:00:00+01:00 is the same instant
    /// for all lines. Lines without a time are kept and counted.
    /// A log that was last written to more than 15 hours before is not read: no line of it is that late.
    #[arg(long, value_name = "TIME")]
    pub since: Option<When>,

    /// Look at lines before this time
    ///
    /// The time itself is excluded. Written as for --since.
    /// Of a log and what it was rotated to, a file is not read that begins more than a day later.
    #[arg(long, value_name = "TIME")]
    pub until: Option<When>,

    /// Rows in each section of a table [default: 10]
    ///
    /// CSV and JSON are complete unless this is given.
    #[arg(long, value_name = "N")]
    pub top: Option<Count>,

    /// Exit 1 when something at or above this level is found
    ///
    /// Levels are info, low, medium, high, critical; never takes back what a variable or the file says. [default: never]
    #[arg(long, value_name = "LEVEL", value_enum, hide_possible_values = true)]
    #[serde(deserialize_with = "word")]
    pub fail_on: Option<FailOn>,
}

/// How and where to print it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Deserialize)]
#[command(next_help_heading = "Output")]
#[serde(default, rename_all = "kebab-case")]
pub struct OutputArgs {
    /// What to print: table, csv, json, ndjson [default: table]
    ///
    /// A table is aligned text for a person, json one document, ndjson one JSON object a hit.
    #[arg(short, long, value_name = "FORMAT", value_enum, hide_possible_values = true)]
    #[serde(deserialize_with = "word")]
    pub format: Option<OutputFormat>,

    /// What a row of table or CSV is: pair, client, path, rule, answer
    ///
    /// A pair is a client, a path and an outcome; an answer is a path with a distinct answer. A table shows only this
    /// section; CSV is by pair by default; JSON always has them all.
    #[arg(long, value_name = "ROW", value_enum, hide_possible_values = true)]
    #[serde(deserialize_with = "word")]
    pub by: Option<GroupBy>,

    /// Show all sections of the table
    ///
    /// Paths, rules, campaigns, and where the lines of each input went. The table fits a screen without it.
    #[arg(long, action = ArgAction::SetTrue)]
    pub full: Option<bool>,

    /// Write the report to a file; - is standard output
    ///
    /// The file is replaced in one step when the report is complete.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// When to colour: auto, always, never [default: auto]
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true)]
    #[serde(deserialize_with = "word")]
    pub color: Option<Color>,

    /// Show no progress bar
    #[arg(long, action = ArgAction::SetTrue)]
    pub no_progress: Option<bool>,

    /// No notices on standard error; errors stay
    #[arg(short, long, action = ArgAction::SetTrue)]
    pub quiet: Option<bool>,

    /// Print what each stage came to on standard error
    #[arg(long, action = ArgAction::SetTrue)]
    pub stats: Option<bool>,
}

/// How hard to work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Deserialize)]
#[command(next_help_heading = "Performance")]
#[serde(default, rename_all = "kebab-case")]
pub struct PerformanceArgs {
    /// Worker threads [default: one a core]
    ///
    /// The report is the same with any number.
    #[arg(short = 'j', long, value_name = "N")]
    pub threads: Option<Count>,

    /// When to map files: auto, always, never [default: auto]
    ///
    /// Into memory, instead of reading them. auto maps large files on local file systems; a file that cannot be mapped
    /// is read all the same.
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true)]
    #[serde(deserialize_with = "word")]
    pub mmap: Option<Mmap>,
}

/// What is not asked of a scan but of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Other")]
pub struct OtherArgs {
    /// Read settings from this TOML file
    ///
    /// The names of the flags are its keys, as in min-severity = "medium"; paths is the list of what to read. Relative
    /// paths in it start at its folder. No file is read unless it is named.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
}

impl ScanArgs {
    /// These, and what `below` says where they say nothing. A list replaces a list.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        Self {
            input: self.input.or(below.input),
            rules: self.rules.or(below.rules),
            client: self.client.or(below.client),
            selection: self.selection.or(below.selection),
            output: self.output.or(below.output),
            performance: self.performance.or(&below.performance),
            other: OtherArgs { config: self.other.config.or(below.other.config) },
        }
    }

    /// Forgets the switches that are off. Clap says `false` of a switch that was not given, and a command line cannot
    /// say no; the environment and the file can.
    #[must_use]
    pub fn as_given(mut self) -> Self {
        let rules = [&mut self.rules.no_builtin, &mut self.rules.no_prefilter];
        let output = [&mut self.output.full, &mut self.output.no_progress, &mut self.output.quiet, &mut self.output.stats];
        for switch in rules.into_iter().chain(output) {
            switch.take_if(|on| !*on);
        }
        self.client.forget_off();
        self
    }

    /// Whether notices are unwanted.
    #[must_use]
    pub fn quiet(&self) -> bool {
        self.output.quiet.unwrap_or(false)
    }
}

impl InputArgs {
    /// Whether nothing is named that could be read.
    #[must_use]
    pub fn names_nothing(&self) -> bool {
        self.paths.is_empty() && self.from_nginx.is_none() && self.from_apache.is_none()
    }

    fn or(self, below: Self) -> Self {
        Self {
            paths: first(self.paths, below.paths),
            log_format: self.log_format.or(below.log_format),
            field: first(self.field, below.field),
            from_nginx: self.from_nginx.or(below.from_nginx),
            from_apache: self.from_apache.or(below.from_apache),
            max_line: self.max_line.or(below.max_line),
            newer_than: self.newer_than.or(below.newer_than),
        }
    }
}

impl RuleArgs {
    fn or(self, below: Self) -> Self {
        Self {
            rules: first(self.rules, below.rules),
            no_builtin: self.no_builtin.or(below.no_builtin),
            disable: first(self.disable, below.disable),
            only: first(self.only, below.only),
            severity: first(self.severity, below.severity),
            no_prefilter: self.no_prefilter.or(below.no_prefilter),
        }
    }
}

impl SelectionArgs {
    fn or(self, below: Self) -> Self {
        Self {
            min_severity: self.min_severity.or(below.min_severity),
            app: first(self.app, below.app),
            allow: first(self.allow, below.allow),
            outcome: first(self.outcome, below.outcome),
            since: self.since.or(below.since),
            until: self.until.or(below.until),
            top: self.top.or(below.top),
            fail_on: self.fail_on.or(below.fail_on),
        }
    }
}

impl OutputArgs {
    fn or(self, below: Self) -> Self {
        Self {
            format: self.format.or(below.format),
            by: self.by.or(below.by),
            full: self.full.or(below.full),
            output: self.output.or(below.output),
            color: self.color.or(below.color),
            no_progress: self.no_progress.or(below.no_progress),
            quiet: self.quiet.or(below.quiet),
            stats: self.stats.or(below.stats),
        }
    }
}

impl PerformanceArgs {
    fn or(self, below: &Self) -> Self {
        Self { threads: self.threads.or(below.threads), mmap: self.mmap.or(below.mmap) }
    }
}

fn first<T>(list: Vec<T>, below: Vec<T>) -> Vec<T> {
    if list.is_empty() { below } else { list }
}
