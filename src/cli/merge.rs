//! The flags of `merge` and of `diff`: those of `scan` that mean something to reports that were written before.
//!
//! They become a [`ScanArgs`], so that variables and the configuration file are laid below them in the same way.

#![expect(clippy::doc_markdown, reason = "comments on flags are the help, and a terminal shows backticks as they are")]

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args, ValueHint};

use super::client::MergePrivacyArgs;
use super::scan::{OtherArgs, OutputArgs, RuleArgs, ScanArgs, SelectionArgs};
use super::words::FailOn;
use crate::config::value::Count;
use crate::finding::Severity;
use crate::log_entry::Outcome;
use crate::render::{Color, GroupBy, OutputFormat};

/// Everything `merge` can be told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct MergeArgs {
    /// Reports in JSON, or folders that hold a report.json; - is standard input
    ///
    /// As 'probewatch scan -f json' and 'probewatch report' write them.
    #[arg(value_name = "REPORT", value_hint = ValueHint::AnyPath, required = true)]
    pub reports: Vec<PathBuf>,

    /// Which rules.
    #[command(flatten)]
    pub rules: RuleArgs,

    /// How they are told again.
    #[command(flatten)]
    pub retold: RetoldArgs,

    /// How much is told.
    #[command(flatten)]
    pub privacy: MergePrivacyArgs,

    /// Exit 1 when something at or above this level is found
    ///
    /// Levels are info, low, medium, high, critical; never takes back what a variable or the file says. [default: never]
    #[arg(long, value_name = "LEVEL", value_enum, hide_possible_values = true, help_heading = "What to report")]
    pub fail_on: Option<FailOn>,

    /// What a row of table or CSV is: pair, client, path, rule, answer
    ///
    /// As for a scan: a table shows only this section, and CSV is by pair by default.
    #[arg(long, value_name = "ROW", value_enum, hide_possible_values = true, help_heading = "Output")]
    pub by: Option<GroupBy>,

    /// Show all sections of the table
    #[arg(long, action = ArgAction::SetTrue, help_heading = "Output")]
    pub full: Option<bool>,

    /// The configuration file.
    #[command(flatten)]
    pub other: OtherArgs,
}

/// Everything `diff` can be told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct DiffArgs {
    /// The report before: JSON, or a folder that holds a report.json
    #[arg(value_name = "OLD", value_hint = ValueHint::AnyPath)]
    pub old: PathBuf,

    /// The report after
    #[arg(value_name = "NEW", value_hint = ValueHint::AnyPath)]
    pub new: PathBuf,

    /// Which rules.
    #[command(flatten)]
    pub rules: RuleArgs,

    /// How they are told again.
    #[command(flatten)]
    pub retold: RetoldArgs,

    /// The configuration file.
    #[command(flatten)]
    pub other: OtherArgs,
}

/// What both can be told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct RetoldArgs {
    /// Report from this level on [default: low]
    ///
    /// Levels are info, low, medium, high, critical. Whatever a report was told, it holds everything.
    #[arg(long, value_name = "LEVEL", value_enum, hide_possible_values = true, help_heading = "What to report")]
    pub min_severity: Option<Severity>,

    /// Say that this app runs there: its own pages are no news (repeatable, or a,b)
    ///
    /// 'probewatch rules list --only app' shows them. What a scan was told is not in its report.
    #[arg(long, value_name = "APP", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), help_heading = "What to report")]
    pub app: Vec<String>,

    /// Keep only these outcomes: answered, denied, not_found, ...
    ///
    /// Separated by commas. There are answered (2xx, 304), redirected (other 3xx), auth_required (401, 407), denied
    /// (403, 405, 429, 444, 451), not_found (404, 410), rejected (other 4xx), error (5xx), unknown.
    #[arg(
        long,
        value_name = "OUTCOME,...",
        value_enum,
        value_delimiter = ',',
        hide_possible_values = true,
        help_heading = "What to report"
    )]
    pub outcome: Vec<Outcome>,

    /// Rows in each section of a table [default: 10]
    ///
    /// CSV and JSON are complete unless this is given. JSON that was cut cannot be merged again.
    #[arg(long, value_name = "N", help_heading = "What to report")]
    pub top: Option<Count>,

    /// What to print: table, csv, json [default: table]
    ///
    /// A table is aligned text for a person, json one document.
    #[arg(short, long, value_name = "FORMAT", value_enum, hide_possible_values = true, help_heading = "Output")]
    pub format: Option<OutputFormat>,

    /// Write to a file; - is standard output
    ///
    /// The file is replaced in one step when everything is written.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// When to colour: auto, always, never [default: auto]
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true, help_heading = "Output")]
    pub color: Option<Color>,

    /// No notices on standard error; errors stay
    #[arg(short, long, action = ArgAction::SetTrue, help_heading = "Output")]
    pub quiet: Option<bool>,
}

impl MergeArgs {
    /// The reports, and what is shared with a scan.
    #[must_use]
    pub fn split(self) -> (Vec<PathBuf>, ScanArgs) {
        let mut shared = self.retold.shared(self.rules, self.other);
        shared.selection.fail_on = self.fail_on;
        shared.output.by = self.by;
        shared.output.full = self.full;
        shared.client.privacy.anonymize = self.privacy.anonymize;
        (self.reports, shared)
    }
}

impl DiffArgs {
    /// The two reports, and what is shared with a scan.
    #[must_use]
    pub fn split(self) -> ([PathBuf; 2], ScanArgs) {
        ([self.old, self.new], self.retold.shared(self.rules, self.other))
    }
}

impl RetoldArgs {
    fn shared(self, rules: RuleArgs, other: OtherArgs) -> ScanArgs {
        let Self { min_severity, app, outcome, top, format, output, color, quiet } = self;
        let selection = SelectionArgs { min_severity, app, outcome, top, ..SelectionArgs::default() };
        let output = OutputArgs { format, output, color, quiet, ..OutputArgs::default() };
        ScanArgs { rules, selection, output, other, ..ScanArgs::default() }
    }
}
