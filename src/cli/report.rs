//! The flags of `report`: those of `scan` that mean something to it, and its own.
//!
//! What it shares with `scan` becomes a [`ScanArgs`], so that variables and the configuration file are laid below it in
//! the same way.

#![expect(clippy::doc_markdown, reason = "comments on flags are the help, and a terminal shows backticks as they are")]

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args, ValueHint};
use serde::Deserialize;

use super::client::ClientArgs;
use super::own::OwnArgs;
use super::scan::{InputArgs, OtherArgs, OutputArgs, PerformanceArgs, RuleArgs, ScanArgs, SelectionArgs};
use super::state::StateArgs;
use super::words::FailOn;
use crate::config::file::word;
use crate::config::formats::{FieldKey, FormatText};
use crate::config::value::{Count, FileMode, Size, Span};
use crate::finding::Severity;
use crate::log_entry::Outcome;

/// Everything `report` can be told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct ReportArgs {
    /// What to read.
    #[command(flatten)]
    pub input: ReportInputArgs,
    /// Where it goes on from.
    #[command(flatten)]
    pub state: StateArgs,
    /// What nothing else is told.
    #[command(flatten)]
    pub own: ReportOwnArgs,
    /// Which rules.
    #[command(flatten)]
    pub rules: RuleArgs,
    /// Who asked.
    #[command(flatten)]
    pub client: ClientArgs,
    /// What to report.
    #[command(flatten)]
    pub shared: ReportSharedArgs,
    /// The configuration file.
    #[command(flatten)]
    pub other: OtherArgs,
}

/// What to read, in words that fit here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Input")]
pub struct ReportInputArgs {
    /// Logs, folders of logs, or globs
    ///
    /// The first run reads what is named. Later ones read on from there, in what it was rotated to as well: of a log that is
    /// rotated the newest file is enough.
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
}

/// What only `report` can be told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ReportOwnArgs {
    /// Write the reports to folders in this one
    ///
    /// A run that has something to tell makes one folder, whole or not at all; 'latest' leads to the newest.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Reports")]
    pub out: Option<PathBuf>,

    /// A folder for each day of the log
    ///
    /// Lines that come later are added to the folder of the day they belong to.
    #[arg(long, action = ArgAction::SetTrue, conflicts_with = "hourly", help_heading = "Reports")]
    pub daily: Option<bool>,

    /// A folder for each hour of the log
    #[arg(long, action = ArgAction::SetTrue, help_heading = "Reports")]
    pub hourly: Option<bool>,

    /// Where days and hours begin: Europe/Berlin, UTC [default: as each line was written]
    #[arg(long, value_name = "ZONE", value_parser = NonEmptyStringValueParser::new(), help_heading = "Reports")]
    pub timezone: Option<String>,

    /// Make a folder even when there is nothing new
    #[arg(long, action = ArgAction::SetTrue, help_heading = "Reports")]
    pub always: Option<bool>,

    /// Delete folders older than this: 90d, 12w
    #[arg(long, value_name = "TIME", help_heading = "Reports")]
    pub keep: Option<Span>,

    /// Delete all folders but the newest so many
    #[arg(long, value_name = "N", help_heading = "Reports")]
    pub keep_runs: Option<Count>,

    /// Permissions of the files, in octal [default: 0600]
    #[arg(long, value_name = "MODE", help_heading = "Reports")]
    pub mode: Option<FileMode>,

    /// Group of the files and folders
    #[arg(long, value_name = "GROUP", value_parser = NonEmptyStringValueParser::new(), help_heading = "Reports")]
    pub group: Option<String>,

    /// Name of this machine in reports that are merged [default: its host name]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), help_heading = "Reports")]
    pub machine: Option<String>,

    /// Print a summary, for cron to mail, when something is this bad [default: high]
    ///
    /// Levels are info, low, medium, high, critical; never is there too. What counts is what was answered, and rules, answers
    /// and campaigns that were never seen before: of a client more nobody is told.
    #[arg(long, value_name = "LEVEL", value_enum, hide_possible_values = true, help_heading = "Reports")]
    #[serde(deserialize_with = "word")]
    pub notify_level: Option<FailOn>,

    /// Name so many clients to block at most
    #[arg(long, value_name = "N", help_heading = "Reports")]
    pub max_block: Option<Count>,

    /// Wait for a run that is under way, instead of giving up
    #[arg(long, action = ArgAction::SetTrue, help_heading = "Run")]
    pub wait: Option<bool>,

    /// Print what a run would report, and change nothing
    #[arg(long, action = ArgAction::SetTrue, help_heading = "Run")]
    pub dry_run: Option<bool>,

    /// Print what is known of each log, and how much of it is not read yet
    #[arg(long, action = ArgAction::SetTrue, conflicts_with = "dry_run", help_heading = "Run")]
    pub status: Option<bool>,
}

/// What `scan` can be told as well, in words that fit here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "What to report")]
pub struct ReportSharedArgs {
    /// Report from this level on [default: low]
    ///
    /// Levels are info, low, medium, high, critical.
    #[arg(long, value_name = "LEVEL", value_enum, hide_possible_values = true)]
    pub min_severity: Option<Severity>,

    /// Say that this app runs here: its own pages are no news (repeatable, or a,b)
    ///
    /// 'probewatch rules list --only app' shows them. Apps are found out from what a site answers; this is for logs that do
    /// not show it.
    #[arg(long, value_name = "APP", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub app: Vec<String>,

    /// Leave out what this file allows: clients, paths, agents (repeatable)
    ///
    /// A TOML file of [[allow]] tables, as for a scan. Its clients are never to be blocked.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub allow: Vec<PathBuf>,

    /// Keep only these outcomes: answered, denied, not_found, ...
    ///
    /// Separated by commas; 'probewatch scan --help' says which statuses they are.
    #[arg(long, value_name = "OUTCOME,...", value_enum, value_delimiter = ',', hide_possible_values = true)]
    pub outcome: Vec<Outcome>,

    /// Worker threads [default: one a core]
    #[arg(short = 'j', long, value_name = "N", help_heading = "Run")]
    pub threads: Option<Count>,

    /// No notices on standard error; errors stay
    #[arg(short, long, action = ArgAction::SetTrue, help_heading = "Run")]
    pub quiet: Option<bool>,
}

impl ReportArgs {
    /// What is shared with a scan, and what is not.
    #[must_use]
    pub fn split(self) -> (ScanArgs, OwnArgs) {
        let Self { input, state, own, rules, client, shared, other } = self;
        let ReportInputArgs { paths, log_format, field, from_nginx, from_apache, max_line } = input;
        let ReportSharedArgs { min_severity, app, allow, outcome, threads, quiet } = shared;
        let input = InputArgs { paths, log_format, field, from_nginx, from_apache, max_line, ..InputArgs::default() };
        let selection = SelectionArgs { min_severity, app, allow, outcome, ..SelectionArgs::default() };
        let output = OutputArgs { quiet, ..OutputArgs::default() };
        let performance = PerformanceArgs { threads, ..PerformanceArgs::default() };
        let shared = ScanArgs { input, rules, client, selection, output, performance, other };
        (shared, OwnArgs { state: state.as_given(), report: own.as_given(), ..OwnArgs::default() })
    }
}

impl ReportOwnArgs {
    /// These, and what `below` says where they say nothing.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        let has_unit = self.daily.or(self.hourly).is_some();
        Self {
            out: self.out.or(below.out),
            daily: self.daily.or(below.daily.filter(|_| !has_unit)),
            hourly: self.hourly.or(below.hourly.filter(|_| !has_unit)),
            timezone: self.timezone.or(below.timezone),
            always: self.always.or(below.always),
            keep: self.keep.or(below.keep),
            keep_runs: self.keep_runs.or(below.keep_runs),
            mode: self.mode.or(below.mode),
            group: self.group.or(below.group),
            machine: self.machine.or(below.machine),
            notify_level: self.notify_level.or(below.notify_level),
            max_block: self.max_block.or(below.max_block),
            wait: self.wait.or(below.wait),
            dry_run: self.dry_run.or(below.dry_run),
            status: self.status.or(below.status),
        }
    }

    /// Forgets the switches that are off: see [`ScanArgs::as_given`].
    #[must_use]
    pub fn as_given(mut self) -> Self {
        let Self { daily, hourly, always, wait, dry_run, status, .. } = &mut self;
        for switch in [daily, hourly, always, wait, dry_run, status] {
            switch.take_if(|on| !*on);
        }
        self
    }
}
