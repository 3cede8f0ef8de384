//! The flags of `explain`. Those it shares with `scan` are spelled and layered like there.

#![expect(clippy::doc_markdown, reason = "comments on flags are the help, and a terminal shows backticks as they are")]

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum, ValueHint};

use super::scan::{InputArgs, OtherArgs, OutputArgs, RuleArgs, ScanArgs, SelectionArgs};
use crate::config::formats::{FieldKey, FormatText};
use crate::finding::Severity;
use crate::render::{Color, OutputFormat};

/// Everything `explain` can be told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ExplainArgs {
    /// A log line in quotes, FILE:LINE, or - for lines on standard input
    ///
    /// FILE:LINE is taken for a line of a file where a file of that name is there; the file may be packed (gz,
    /// zst, bz2, xz). A request line (GET /x), a path or a URL is taken as a request; FILE:LINE is told as a scan reads it.
    #[arg(value_name = "LINE", value_hint = ValueHint::AnyPath)]
    pub line: OsString,

    /// Grade the answer by this log, which is scanned whole
    ///
    /// Whether an answer is what the site says to anything shows in what else the site answered and refused. FILE:LINE is graded
    /// by its own file unless this names another log. The log may be packed.
    #[arg(long = "in", value_name = "LOG", value_hint = ValueHint::FilePath, help_heading = "Input")]
    pub log: Option<PathBuf>,

    /// Format of the line: a name, or a format string of nginx or Apache [default: auto]
    #[arg(long, value_name = "FORMAT", help_heading = "Input")]
    pub log_format: Option<FormatText>,

    /// What a key of a JSON line means: client=ip,target=uri (repeatable)
    #[arg(long, value_name = "MEANING=KEY", value_delimiter = ',', help_heading = "Input")]
    pub field: Vec<FieldKey>,

    /// Explain this rule alone: all that it asks for, met or not
    #[arg(long, value_name = "ID", help_heading = "Rules", value_parser = NonEmptyStringValueParser::new())]
    pub rule: Option<String>,

    /// Which rules.
    #[command(flatten)]
    pub rules: RuleArgs,

    /// Say of rules below this level that a scan would not report them [default: low]
    ///
    /// Levels are info, low, medium, high, critical.
    #[arg(long, value_name = "LEVEL", value_enum, hide_possible_values = true, help_heading = "Output")]
    pub min_severity: Option<Severity>,

    /// Say that this app runs there: what is ordinary then is told (repeatable, or a,b)
    #[arg(long, value_name = "APP", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), help_heading = "Output")]
    pub app: Vec<String>,

    /// What to print: table, json [default: table]
    ///
    /// A table is text for a person, json one JSON object a line.
    #[arg(short, long, value_name = "FORMAT", value_enum, hide_possible_values = true, help_heading = "Output")]
    pub format: Option<ExplainFormat>,

    /// When to colour: auto, always, never [default: auto]
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true, help_heading = "Output")]
    pub color: Option<Color>,

    /// The configuration file.
    #[command(flatten)]
    pub other: OtherArgs,
}

/// How an explanation can be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExplainFormat {
    /// Text for a person
    Table,
    /// One JSON object a line
    Json,
}

impl ExplainArgs {
    /// The line, the rule, the log that answers are graded by, and the settings that `scan` has too.
    #[must_use]
    pub fn split(self) -> (OsString, Option<String>, Option<PathBuf>, ScanArgs) {
        let format = self.format.map(|format| match format {
            ExplainFormat::Table => OutputFormat::Table,
            ExplainFormat::Json => OutputFormat::Json,
        });
        let args = ScanArgs {
            input: InputArgs { log_format: self.log_format, field: self.field, ..InputArgs::default() },
            rules: self.rules,
            selection: SelectionArgs { min_severity: self.min_severity, app: self.app, ..SelectionArgs::default() },
            output: OutputArgs { format, color: self.color, ..OutputArgs::default() },
            other: self.other,
            ..ScanArgs::default()
        };
        (self.line, self.rule, self.log, args)
    }
}
