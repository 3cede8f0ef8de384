//! The flags of `rules`.

use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{Args, Subcommand, ValueHint};

use super::help;
use super::scan::{OtherArgs, RuleArgs};
use crate::finding::Severity;
use crate::rules::CLASSES;
use crate::rules::import::ImportFormat;

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
    /// Run the test cases of rules
    ///
    /// Runs the `must_match` and `must_not_match` cases of rules through the engine of a scan. Neither the environment nor
    /// a configuration file changes what is tested.
    Test {
        /// Rule files, lists of paths and folders to test instead of the built-in rules
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
        /// Test only these rules or classes (repeatable, or a,b)
        #[arg(long, value_name = "ID|CLASS", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
        only: Vec<String>,
    },
    /// Say what is odd about rules: twice the same, slow, without cases
    ///
    /// Looks for literals that stand in two rules, rules that find nothing which another does not, literals so common
    /// that they cost time on every line, and rules without cases. Exits with 2 when it found something.
    #[command(after_help = help::LINT)]
    Lint {
        /// Rule files, lists of paths and folders to look at instead of the built-in rules
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
    },
    /// Say which paths of a list no rule finds, and why
    ///
    /// Reads one path a line, up to a tab, and judges each alone. Prints the paths that are not found whatever the
    /// answer was, with the reason and the rules, separated by tabs.
    Cover {
        /// List of paths
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Which rules.
        #[command(flatten)]
        choice: RuleArgs,
        /// The configuration file.
        #[command(flatten)]
        other: OtherArgs,
    },
    /// Write a rule for paths of your own
    ///
    /// Writes a rule for one or more paths, with its cases, at the end of a rule file. A path that a rule finds already
    /// is not added.
    #[command(after_help = help::ADD)]
    Add(AddArgs),
    /// Turn rules of other tools into a rule file
    ///
    /// Reads word lists, CRS .data files, Sigma rules for web servers and nuclei templates. What could not be carried
    /// over is named with the reason.
    #[command(after_help = help::IMPORT)]
    Import(ImportArgs),
}

/// The flags of `rules add`.
#[derive(Debug, Clone, Args)]
pub struct AddArgs {
    /// Paths that nobody has any business to ask for, such as /old-admin.php
    #[arg(value_name = "PATH", required = true, value_parser = NonEmptyStringValueParser::new())]
    pub paths: Vec<String>,
    /// Class of the rule, such as panel
    #[arg(long, default_value = "exposure", hide_possible_values = true, value_parser = PossibleValuesParser::new(CLASSES))]
    pub class: String,
    /// How bad it is when someone asks: info, low, medium, high, critical
    #[arg(long, value_name = "LEVEL", default_value = "medium", value_enum, hide_possible_values = true)]
    pub severity: Severity,
    /// Title of the rule [default: made of the path]
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub title: Option<String>,
    /// Id of the rule, family/name [default: made of the path]
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub id: Option<String>,
    /// Rule file; it is made where there is none
    #[arg(long, default_value = crate::commands::rules::FILE, value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}

/// The flags of `rules import`.
#[derive(Debug, Clone, Args)]
pub struct ImportArgs {
    /// Files and folders to import
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// What they are: wordlist, crs-data, sigma, nuclei [default: found out for each]
    #[arg(long, value_name = "KIND", value_enum, hide_possible_values = true)]
    pub from: Option<ImportFormat>,
    /// Rule file to write; one that an import wrote is replaced [default: standard output]
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
}
