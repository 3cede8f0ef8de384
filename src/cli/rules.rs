//! The flags of `rules`.

use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{Args, Subcommand, ValueHint};

use super::args::RuleSetFlags;
use super::help;
use crate::finding::Severity;
use crate::rules::CLASSES;
use crate::rules::import::ImportFormat;

/// The subcommands of `rules`.
#[derive(Debug, Clone, Subcommand)]
pub(super) enum RulesCommand {
    /// List the rules that a scan would use
    List {
        /// Only rules of this class
        #[arg(long, help_heading = "Rules", value_parser = NonEmptyStringValueParser::new())]
        class: Option<String>,
        /// Settings.
        #[command(flatten)]
        flags: RuleSetFlags,
    },
    /// Print one rule as it is written
    Show {
        /// ID of the rule, such as dotfiles/env
        #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
        id: String,
        /// Settings.
        #[command(flatten)]
        flags: RuleSetFlags,
    },
    /// Run the test cases that rules contain
    ///
    /// Matches each case as a scan would. Neither variables nor a configuration file change what is tested.
    Test {
        /// Rule files, path lists or folders to test [default: built-in rules]
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
        /// Test only these rules or classes (repeatable, or a,b)
        #[arg(long, value_name = "ID|CLASS", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
        only: Vec<String>,
    },
    /// Report problems in rules: duplicates, slow literals, missing cases
    ///
    /// Finds literals in two rules, rules that match nothing which another does not, literals so common that they cost time on
    /// every line, and rules without cases. Exits with 2 if it found a problem.
    #[command(after_help = help::LINT)]
    Lint {
        /// Rule files, path lists or folders to check [default: built-in rules]
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
    },
    /// List the paths of a list that no rule matches, and why
    ///
    /// Reads one path per line, up to a tab, and matches each alone. Prints the paths that do not match for every status, with
    /// the reason and the rules, separated by tabs.
    Cover {
        /// File with one path per line
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Settings.
        #[command(flatten)]
        flags: RuleSetFlags,
    },
    /// Write a rule for your own paths
    ///
    /// Appends a rule for one or more paths, with its test cases, to a rule file. A path that a rule matches already is not
    /// added.
    #[command(after_help = help::ADD)]
    Add(AddArgs),
    /// Convert rules of other tools to a rule file
    ///
    /// Reads word lists, CRS .data files, Sigma rules for web servers and nuclei templates. What cannot be converted is listed
    /// with the reason.
    #[command(after_help = help::IMPORT)]
    Import(ImportArgs),
}

/// The flags of `rules add`.
#[derive(Debug, Clone, Args)]
pub(super) struct AddArgs {
    /// Paths that only a prober requests, such as /old-admin.php
    #[arg(value_name = "PATH", required = true, value_parser = NonEmptyStringValueParser::new())]
    pub(super) paths: Vec<String>,
    /// Class of the rule, such as panel
    #[arg(long, default_value = "exposure", hide_possible_values = true, value_parser = PossibleValuesParser::new(CLASSES))]
    pub(super) class: String,
    /// Severity of the rule: info, low, medium, high, critical
    #[arg(long, value_name = "LEVEL", default_value = "medium", value_enum, hide_possible_values = true)]
    pub(super) severity: Severity,
    /// Title of the rule [default: made from the path]
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(super) title: Option<String>,
    /// ID of the rule, family/name [default: made from the path]
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(super) id: Option<String>,
    /// Rule file to append to; created if missing
    #[arg(long, default_value = crate::commands::rules::FILE, value_hint = ValueHint::FilePath)]
    pub(super) file: PathBuf,
}

/// The flags of `rules import`.
#[derive(Debug, Clone, Args)]
pub(super) struct ImportArgs {
    /// Files and folders to import
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub(super) files: Vec<PathBuf>,
    /// Kind of the files: wordlist, crs-data, sigma, nuclei [default: detected]
    #[arg(long, value_name = "KIND", value_enum, hide_possible_values = true)]
    pub(super) from: Option<ImportFormat>,
    /// Rule file to write [default: standard output]
    ///
    /// A file that an import wrote is replaced.
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub(super) file: Option<PathBuf>,
}
