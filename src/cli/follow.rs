//! The flags of `follow`: those of `scan` that mean something to it, and its own.
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
use super::scan::{InputArgs, OtherArgs, OutputArgs, RuleArgs, ScanArgs, SelectionArgs};
use super::state::StateArgs;
use super::words::Switch;
use crate::config::file::word;
use crate::config::formats::{FieldKey, FormatText};
use crate::config::value::{Count, Span};
use crate::finding::Severity;
use crate::log_entry::Outcome;
use crate::render::{Color, OutputFormat};

/// Everything `follow` can be told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct FollowArgs {
    /// What to follow.
    #[command(flatten)]
    pub input: FollowInputArgs,
    /// Where it goes on from.
    #[command(flatten)]
    pub state: StateArgs,
    /// What nothing else is told.
    #[command(flatten)]
    pub own: FollowOwnArgs,
    /// Which rules.
    #[command(flatten)]
    pub rules: RuleArgs,
    /// Who asked.
    #[command(flatten)]
    pub client: ClientArgs,
    /// What to report, and how to print it.
    #[command(flatten)]
    pub shared: FollowSharedArgs,
    /// The configuration file.
    #[command(flatten)]
    pub other: OtherArgs,
}

/// What to follow, in words that fit here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Input")]
pub struct FollowInputArgs {
    /// Logs, folders of logs, or globs; a log need not be there yet
    ///
    /// In a folder, and for a glob, logs that appear later are followed too.
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

    /// Follow the logs that nginx's configuration names [default CONF: /etc/nginx/nginx.conf]
    ///
    /// Each access_log, in its log_format, with what it was rotated to. What is left alone is said. The word behind it is the
    /// configuration: write PATH before it, or --from-nginx=CONF. auto is where packages put it.
    #[arg(long, value_name = "CONF", num_args = 0..=1, default_missing_value = "auto", value_hint = ValueHint::FilePath)]
    pub from_nginx: Option<PathBuf>,

    /// Follow the logs that Apache's configuration names [default CONF: apache2.conf or httpd.conf]
    ///
    /// Each CustomLog, in its LogFormat, as for --from-nginx. auto is where packages put it:
    /// /etc/apache2/apache2.conf, /etc/httpd/conf/httpd.conf and others.
    #[arg(long, value_name = "CONF", num_args = 0..=1, default_missing_value = "auto", value_hint = ValueHint::FilePath)]
    pub from_apache: Option<PathBuf>,

    /// Longest line to look at: 65536, 512K, 1M [default: 1M]
    ///
    /// In bytes; K, M and G are powers of 1024. Longer lines are counted as oversized and not held in memory.
    #[arg(long, value_name = "BYTES")]
    pub max_line: Option<crate::config::value::Size>,
}

/// What only `follow` can be told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct FollowOwnArgs {
    /// Look at the logs now and then only, and ask the system for no events
    #[arg(long, action = ArgAction::SetTrue, help_heading = "Input")]
    pub poll: Option<bool>,

    /// How often to look at all logs, events or not [default: 250ms]
    #[arg(long, value_name = "TIME", help_heading = "Input")]
    pub poll_interval: Option<Span>,

    /// Fold repeats of a client and a rule into a count: on, off [default: on]
    ///
    /// For lines only: ndjson has every hit.
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true, help_heading = "Output")]
    #[serde(deserialize_with = "word")]
    pub fold: Option<Switch>,

    /// Tell a folded count when its client rests for so long [default: 5s]
    #[arg(long, value_name = "TIME", help_heading = "Output")]
    pub quiet_for: Option<Span>,

    /// Show a live view of the whole terminal
    ///
    /// Press ? in it for the keys.
    #[arg(long, action = ArgAction::SetTrue, help_heading = "Output")]
    pub tui: Option<bool>,

    /// Raise the same alert again only after so long, by the log's time [default: 10m]
    #[arg(long, value_name = "TIME", help_heading = "Alerts")]
    pub cooldown: Option<Span>,

    /// Give each alert to this program, a line of JSON on its standard input
    ///
    /// One process for all of them, started without a shell and without arguments; it is started again when it ends.
    #[arg(long, value_name = "PROGRAM", value_hint = ValueHint::CommandName, help_heading = "Alerts")]
    pub exec: Option<PathBuf>,

    /// Append each alert to this file, a line of JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Alerts")]
    pub alert_file: Option<PathBuf>,

    /// Send each alert to the system's log [default socket: /dev/log]
    ///
    /// As RFC 5424 says. Another socket is named with --syslog=PATH.
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, require_equals = true, default_missing_value = "/dev/log", value_hint = ValueHint::FilePath, help_heading = "Alerts")]
    pub syslog: Option<PathBuf>,
}

/// What `scan` can be told as well, in words that fit here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "What to report")]
pub struct FollowSharedArgs {
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
    /// A TOML file of [[allow]] tables, as for a scan.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub allow: Vec<PathBuf>,

    /// Keep only these outcomes: answered, denied, not_found, ...
    ///
    /// Separated by commas; 'probewatch scan --help' says which statuses they are.
    #[arg(long, value_name = "OUTCOME,...", value_enum, value_delimiter = ',', hide_possible_values = true)]
    pub outcome: Vec<Outcome>,

    /// Rows in each section of the summary [default: 10]
    #[arg(long, value_name = "N")]
    pub top: Option<Count>,

    /// What to print: table, ndjson [default: table]
    ///
    /// table is a line a hit for a person, and a summary at the end; ndjson one JSON object a hit, and nothing else on
    /// standard output.
    #[arg(short, long, value_name = "FORMAT", value_enum, hide_possible_values = true, help_heading = "Output")]
    pub format: Option<OutputFormat>,

    /// When to colour: auto, always, never [default: auto]
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true, help_heading = "Output")]
    pub color: Option<Color>,

    /// No notices on standard error; errors stay
    #[arg(short, long, action = ArgAction::SetTrue, help_heading = "Output")]
    pub quiet: Option<bool>,
}

impl FollowArgs {
    /// What is shared with a scan, and what is not.
    #[must_use]
    pub fn split(self) -> (ScanArgs, OwnArgs) {
        let Self { input, state, own, rules, client, shared, other } = self;
        let FollowInputArgs { paths, log_format, field, from_nginx, from_apache, max_line } = input;
        let FollowSharedArgs { min_severity, app, allow, outcome, top, format, color, quiet } = shared;
        let input = InputArgs { paths, log_format, field, from_nginx, from_apache, max_line, ..InputArgs::default() };
        let selection = SelectionArgs { min_severity, app, allow, outcome, top, ..SelectionArgs::default() };
        let output = OutputArgs { format, color, quiet, ..OutputArgs::default() };
        let shared = ScanArgs { input, rules, client, selection, output, other, ..ScanArgs::default() };
        (shared, OwnArgs { state: state.as_given(), follow: own.as_given(), ..OwnArgs::default() })
    }
}

impl FollowOwnArgs {
    /// These, and what `below` says where they say nothing.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        Self {
            poll: self.poll.or(below.poll),
            poll_interval: self.poll_interval.or(below.poll_interval),
            fold: self.fold.or(below.fold),
            quiet_for: self.quiet_for.or(below.quiet_for),
            tui: self.tui.or(below.tui),
            cooldown: self.cooldown.or(below.cooldown),
            exec: self.exec.or(below.exec),
            alert_file: self.alert_file.or(below.alert_file),
            syslog: self.syslog.or(below.syslog),
        }
    }

    /// Forgets the switches that are off: see [`ScanArgs::as_given`].
    #[must_use]
    pub fn as_given(mut self) -> Self {
        for switch in [&mut self.poll, &mut self.tui] {
            switch.take_if(|on| !*on);
        }
        self
    }
}
