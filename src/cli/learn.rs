//! The flags of `learn`: those of `scan` that mean something to it, and its own.
//!
//! What it shares with `scan` becomes a [`ScanArgs`], so that variables and the configuration file are laid below it in
//! the same way.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args, ValueHint};
use serde::Deserialize;

use super::client::LearnClientArgs;
use super::scan::{InputArgs, OtherArgs, OutputArgs, PerformanceArgs, RuleArgs, ScanArgs, SelectionArgs};
use crate::config::bounds::When;
use crate::config::value::Count;
use crate::render::{Color, OutputFormat};

/// Everything `learn` can be told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct LearnArgs {
    /// What to read.
    #[command(flatten)]
    pub input: InputArgs,
    /// Which rules.
    #[command(flatten)]
    pub rules: RuleArgs,
    /// Who asked.
    #[command(flatten)]
    pub client: LearnClientArgs,
    /// What nothing else is told.
    #[command(flatten)]
    pub own: LearnOwnArgs,
    /// What to look at, and how to print it.
    #[command(flatten)]
    pub shared: LearnSharedArgs,
    /// How hard to work.
    #[command(flatten)]
    pub performance: PerformanceArgs,
    /// The configuration file.
    #[command(flatten)]
    pub other: OtherArgs,
}

/// What only `learn` can be told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct LearnOwnArgs {
    /// Propose what so many independent probers asked for [default: 3]
    ///
    /// Neighbours, an IPv4 /24 or an IPv6 /64, count as one.
    #[arg(long, value_name = "N", help_heading = "What to report")]
    pub min_probers: Option<Count>,

    /// Write the proposals as rules to a file, to review
    ///
    /// The file is replaced in one step, and nothing uses it until it is given to --rules. It holds all proposals, unless
    /// --top is given. - is standard output, where the report goes to a file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub emit_rules: Option<PathBuf>,
}

/// What `scan` can be told as well, in words that fit here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct LearnSharedArgs {
    /// Say that this app runs here: who asks for its own pages is no prober (repeatable, or a,b)
    ///
    /// 'probewatch rules list --only app' shows them. Apps are found out from what a site answers; this is for logs that do
    /// not show it.
    #[arg(long, value_name = "APP", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), help_heading = "What to report")]
    pub app: Vec<String>,

    /// Leave out what this file allows: clients, paths, agents (repeatable)
    ///
    /// A TOML file of [[allow]] tables, as for a scan: what they name makes nobody a prober.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "What to report")]
    pub allow: Vec<PathBuf>,

    /// Look at lines from this time on: 24h, 7d, 2026-11-01
    ///
    /// By the log's own time. 90s, 30m, 24h, 7d and 2w count back from the start of the run; 2026-11-01 and
    /// 2026-11-01T08:00 are meant in the offset each line was written in; 2026-11-01T08:00:00+01:00 is the same instant
    /// for all lines. Lines without a time are kept and counted.
    /// A log that was last written to more than 15 hours before is not read: no line of it is that late.
    #[arg(long, value_name = "TIME", help_heading = "What to report")]
    pub since: Option<When>,

    /// Look at lines before this time
    ///
    /// The time itself is excluded. Written as for --since.
    /// Of a log and what it was rotated to, a file is not read that begins more than a day later.
    #[arg(long, value_name = "TIME", help_heading = "What to report")]
    pub until: Option<When>,

    /// Proposals in a table [default: 10]
    ///
    /// CSV, JSON and the rule file are complete unless this is given.
    #[arg(long, value_name = "N", help_heading = "What to report")]
    pub top: Option<Count>,

    /// What to print: table, csv, json [default: table]
    ///
    /// A table is aligned text for a person, json one document.
    #[arg(short, long, value_name = "FORMAT", value_enum, hide_possible_values = true, help_heading = "Output")]
    pub format: Option<OutputFormat>,

    /// Write the report to a file; - is standard output
    ///
    /// The file is replaced in one step when the report is complete.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// When to colour: auto, always, never [default: auto]
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true, help_heading = "Output")]
    pub color: Option<Color>,

    /// Show no progress bar
    #[arg(long, action = ArgAction::SetTrue, help_heading = "Output")]
    pub no_progress: Option<bool>,

    /// No notices on standard error; errors stay
    #[arg(short, long, action = ArgAction::SetTrue, help_heading = "Output")]
    pub quiet: Option<bool>,
}

impl LearnArgs {
    /// What is shared with a scan, and what is not.
    #[must_use]
    pub fn split(self) -> (ScanArgs, LearnOwnArgs) {
        let Self { input, rules, client, own, shared, performance, other } = self;
        let LearnSharedArgs { app, allow, since, until, top, format, output, color, no_progress, quiet } = shared;
        let selection = SelectionArgs { app, allow, since, until, top, ..SelectionArgs::default() };
        let output = OutputArgs { format, output, color, no_progress, quiet, ..OutputArgs::default() };
        (ScanArgs { input, rules, client: client.shared(), selection, output, performance, other }, own)
    }
}

impl LearnOwnArgs {
    /// These, and what `below` says where they say nothing.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        Self { min_probers: self.min_probers.or(below.min_probers), emit_rules: self.emit_rules.or(below.emit_rules) }
    }
}
