//! The flags of `formats`. Those it shares with `scan` are spelled and layered like there.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::explain::ExplainFormat;
use super::scan::{InputArgs, OtherArgs, OutputArgs, ScanArgs};
use crate::config::formats::{FieldKey, FormatText};
use crate::render::{Color, OutputFormat};

/// Everything `formats` can be told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct FormatsArgs {
    /// Logs to look at, or - for standard input; none lists the formats that are known
    ///
    /// The first 64 KiB of each are looked at; a log may be packed.
    #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,

    /// Try this format first: a name, or a format string of nginx or Apache
    #[arg(long, value_name = "FORMAT", help_heading = "Input")]
    pub log_format: Option<FormatText>,

    /// What a key of JSON lines means: client=ip,target=uri (repeatable)
    #[arg(long, value_name = "MEANING=KEY", value_delimiter = ',', help_heading = "Input")]
    pub field: Vec<FieldKey>,

    /// What to print: table, json [default: table]
    #[arg(short, long, value_name = "FORMAT", value_enum, hide_possible_values = true, help_heading = "Output")]
    pub format: Option<ExplainFormat>,

    /// When to colour: auto, always, never [default: auto]
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true, help_heading = "Output")]
    pub color: Option<Color>,

    /// The configuration file.
    #[command(flatten)]
    pub other: OtherArgs,
}

impl FormatsArgs {
    /// The logs, and the rest as `scan` would be told it.
    #[must_use]
    pub fn split(self) -> (Vec<PathBuf>, ScanArgs) {
        let format = self.format.map(|format| match format {
            ExplainFormat::Table => OutputFormat::Table,
            ExplainFormat::Json => OutputFormat::Json,
        });
        let args = ScanArgs {
            input: InputArgs { log_format: self.log_format, field: self.field, ..InputArgs::default() },
            output: OutputArgs { format, color: self.color, ..OutputArgs::default() },
            other: self.other,
            ..ScanArgs::default()
        };
        (self.files, args)
    }
}
