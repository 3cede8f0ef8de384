//! The flags of `rules`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Subcommand, ValueHint};

use super::scan::{OtherArgs, RuleArgs};

/// What `rules` can do.
#[derive(Debug, Clone, Subcommand)]
pub enum RulesCommand {
    /// List the rules a scan would use
    List {
        /// Only rules of this class
        #[arg(long, help_heading = "Rules", value_parser = NonEmptyStringValueParser::new())]
        class: Option<String>,
        /// Which rules.
        #[command(flatten)]
        choice: RuleArgs,
        /// The configuration file.
        #[command(flatten)]
        other: OtherArgs,
    },
    /// Print one rule: what it looks for, and its cases
    Show {
        /// Id of the rule, such as dotfiles/env
        #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
        id: String,
        /// Which rules.
        #[command(flatten)]
        choice: RuleArgs,
        /// The configuration file.
        #[command(flatten)]
        other: OtherArgs,
    },
    /// Run the hits and misses that rules hold
    ///
    /// Runs the hits and misses that rules hold through the engine of a scan. Neither the environment nor a
    /// configuration file changes what is tested.
    Test {
        /// Rule files and folders to test instead of the built-in rules
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
        /// Test only these rules or classes (repeatable, or a,b)
        #[arg(long, value_name = "ID|CLASS", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
        only: Vec<String>,
    },
}
