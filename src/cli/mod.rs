//! The command line: its flags, its help, and which command runs.
//!
//! Typed flags, variables and the configuration file become [`Flags`] each, `config` makes plain
//! settings of them, and a command does the work.

mod args;
mod help;
mod sources;

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};
use clap_complete::Shell;

use self::args::{
    BLOCK, DIFF, EXPLAIN, FOLLOW, FORMATS, FlagsOf, LEARN, MERGE, REPORT, RulesCommand, SCAN,
    VERIFY,
};
use crate::commands::explain::ExplainOptions;
use crate::commands::{self, Exit, ScanSettings, message};
use crate::config::value::word;
use crate::config::{self, Environment, Flags};
use crate::os::allocator;
use crate::render::OutputFormat;
use crate::render::block::BlockFormat;
use crate::render::schema::Topic;
use crate::rules::RuleChoice;

/// Who is probing my site, for what, and what answered?
///
/// Reads the access logs of nginx and Apache and reports who is probing, for what, and what
/// answered.
#[derive(Debug, Clone, Parser)]
#[command(name = "probewatch", bin_name = "probewatch", version, after_help = help::ROOT)]
#[command(args_override_self = true, arg_required_else_help = true)]
struct Cli {
    /// What to do.
    #[command(subcommand)]
    command: CliCommand,
}

/// A subcommand.
#[derive(Debug, Clone, Subcommand)]
enum CliCommand {
    /// Report the probes in access logs
    #[command(after_help = help::SCAN_SHORT, after_long_help = help::SCAN_LONG)]
    Scan(FlagsOf<SCAN>),
    /// Report probes as they happen, through every log rotation
    #[command(after_help = help::FOLLOW_SHORT, after_long_help = help::FOLLOW_LONG)]
    Follow(FlagsOf<FOLLOW>),
    /// Write CSV reports of what is new since the last run, for cron
    #[command(after_help = help::REPORT_SHORT, after_long_help = help::REPORT_LONG)]
    Report(FlagsOf<REPORT>),
    /// Write a block list for a firewall, a web server or an abuse desk
    ///
    /// From reports or logs: clients that clearly probe, at no cost in ordinary requests.
    /// probewatch itself blocks nothing.
    #[command(after_help = help::BLOCK_SHORT, after_long_help = help::BLOCK_LONG)]
    Block {
        /// Format of the list: plain, nft, ipset, nginx, ... [default: plain]
        ///
        /// plain, nft, ipset, nginx (deny lines), nginx-geo (a geo block), apache, crowdsec,
        /// fail2ban, abuseipdb, abuse-mail, csv. Described below.
        #[arg(
            short,
            long,
            value_name = "FORMAT",
            value_enum,
            hide_possible_values = true,
            help_heading = "Block lists"
        )]
        format: Option<BlockFormat>,
        /// Settings.
        #[command(flatten)]
        flags: FlagsOf<BLOCK>,
    },
    /// Explain why a line matches, or why it does not
    ///
    /// Prints how a line is parsed and decoded, which rules match and where, and which rules almost
    /// match and what they lack.
    #[command(after_help = help::EXPLAIN_SHORT, after_long_help = help::EXPLAIN_LONG)]
    Explain {
        /// The line.
        #[command(flatten)]
        options: ExplainOptions,
        /// Settings.
        #[command(flatten)]
        flags: FlagsOf<EXPLAIN>,
    },
    /// List the known log formats, or detect the format of a log
    #[command(after_help = help::FORMATS)]
    Formats {
        /// Logs, or - for standard input; without one, lists known formats
        ///
        /// The first 64 KiB of each log are read. A log may be compressed.
        #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath)]
        files: Vec<PathBuf>,
        /// Settings.
        #[command(flatten)]
        flags: FlagsOf<FORMATS>,
    },
    /// Propose rules for unlisted paths that probers request
    #[command(after_help = help::LEARN_SHORT, after_long_help = help::LEARN_LONG)]
    Learn(FlagsOf<LEARN>),
    /// Merge reports of many hosts or days into one
    ///
    /// Counts are added, and findings that depend on the whole log are decided again for all logs
    /// together.
    #[command(after_help = help::MERGE_SHORT, after_long_help = help::MERGE_LONG)]
    Merge {
        /// JSON reports, folders with a report.json, or - for standard input
        ///
        /// As 'probewatch scan -f json' and 'probewatch report' write them.
        #[arg(value_name = "REPORT", value_hint = ValueHint::AnyPath, required = true)]
        reports: Vec<PathBuf>,
        /// Settings.
        #[command(flatten)]
        flags: FlagsOf<MERGE>,
    },
    /// Print the differences between two reports
    ///
    /// Answers, rules, paths and clients that are new, gone, more or less frequent; the most
    /// important first.
    #[command(after_help = help::DIFF_SHORT, after_long_help = help::DIFF_LONG)]
    Diff {
        /// The earlier report: JSON, or a folder with a report.json
        #[arg(value_name = "OLD", value_hint = ValueHint::AnyPath)]
        old: PathBuf,
        /// The later report
        #[arg(value_name = "NEW", value_hint = ValueHint::AnyPath)]
        new: PathBuf,
        /// Settings.
        #[command(flatten)]
        flags: FlagsOf<DIFF>,
    },
    /// Ask your own site what it gives today for the paths that answered
    ///
    /// Requests each path of a report with a distinct or an uncertain answer, by the system's curl,
    /// beside two paths that do not exist.
    #[command(after_help = help::VERIFY_SHORT, after_long_help = help::VERIFY_LONG)]
    Verify(FlagsOf<VERIFY>),
    /// List, show, test and make rules
    #[command(subcommand, arg_required_else_help = true, after_help = help::RULES)]
    Rules(RulesCommand),
    /// Print the completions of a shell
    #[command(after_help = help::COMPLETIONS)]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Describe every column and key of the outputs
    ///
    /// JSON, NDJSON and rule files as JSON Schema, CSV as text; all of them as text without an
    /// argument.
    #[command(after_help = help::SCHEMA)]
    Schema {
        /// Output to describe
        ///
        /// csv: the columns of every table; json, ndjson, rules, verified: the JSON Schema of a
        /// report, a hit, a rule file or a result of verify.
        #[arg(value_enum)]
        output: Option<Topic>,
    },
    /// Print the manual as a man page
    #[command(after_help = help::MAN)]
    Man {
        /// Print only the page of this subcommand, or `finds`
        ///
        /// The page `finds` states what to do with each kind of find.
        #[arg(value_name = "SUBCOMMAND")]
        only: Option<String>,
    },
}

/// Why no command was run.
enum Error {
    /// A flag or a variable is wrong.
    Clap(clap::Error),
    /// The settings are wrong.
    Config(config::Error),
}

impl From<clap::Error> for Error {
    fn from(error: clap::Error) -> Self {
        Self::Clap(error)
    }
}

impl From<config::Error> for Error {
    fn from(error: config::Error) -> Self {
        Self::Config(error)
    }
}

/// Runs the command that the command line names.
#[must_use]
pub(crate) fn run() -> Exit {
    allocator::set_mmap_threshold();
    let done = parse(env::args_os())
        .map_err(Error::Clap)
        .and_then(|cli| dispatch(cli.command, &Environment::capture()));
    done.unwrap_or_else(|error| match error {
        Error::Clap(error) => help::print_error(error),
        Error::Config(error) => {
            message::error(&error.to_string());
            if let Some(hint) = error.hint {
                message::hint(hint);
            }
            Exit::Usage
        }
    })
}

fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut args: Vec<_> = args.into_iter().collect();
    help::replace_help_command(&mut args);
    let command = if help::wants_full(&args) {
        help::full(complete_command())
    } else {
        Cli::command()
    };
    command
        .try_get_matches_from(args)
        .and_then(|matches| Cli::from_arg_matches(&matches))
}

/// The command line with the flags of all subcommands.
#[must_use]
pub(crate) fn complete_command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// The command line with the variable of each flag in the long help, for the man page.
#[must_use]
pub(crate) fn documented_command() -> clap::Command {
    complete_command().mut_subcommands(sources::with_env_help)
}

fn dispatch(command: CliCommand, environment: &Environment) -> Result<Exit, Error> {
    let complete = |typed: Box<Flags>| with_sources(*typed, environment);
    Ok(match command {
        CliCommand::Scan(flags) => commands::scan::run(&scan_settings(flags.0, environment)?),
        CliCommand::Follow(flags) => {
            commands::follow::run(&config::follow_settings(complete(flags.0)?, environment)?)
        }
        CliCommand::Report(flags) => {
            commands::report::run(&config::report_settings(complete(flags.0)?, environment)?)
        }
        CliCommand::Block { format, flags } => commands::block::run(&config::block_settings(
            format,
            complete(flags.0)?,
            environment,
        )?),
        CliCommand::Explain { options, flags } => {
            commands::explain::run(&config::common_settings(complete(flags.0)?), &options)
        }
        CliCommand::Formats { files, flags } => commands::formats::run(&ScanSettings {
            paths: files,
            ..config::common_settings(complete(flags.0)?)
        }),
        CliCommand::Learn(flags) => {
            commands::learn::run(&config::learn_settings(complete(flags.0)?, environment)?)
        }
        CliCommand::Merge { reports, flags } => commands::merge::run(&config::merge_settings(
            "merge",
            reports,
            complete(flags.0)?,
        )?),
        CliCommand::Diff { old, new, flags } => {
            let settings = config::merge_settings("diff", Vec::new(), complete(flags.0)?)?;
            commands::diff::run(&settings, &old, &new)
        }
        CliCommand::Verify(flags) => {
            commands::verify::run(&config::verify_settings(complete(flags.0)?, environment)?)
        }
        CliCommand::Rules(command) => rules(command, environment)?,
        CliCommand::Completions { shell } => {
            commands::reference::run_completions(complete_command(), shell)
        }
        CliCommand::Schema { output } => commands::reference::run_schema(output),
        CliCommand::Man { only } => {
            commands::reference::run_man(&documented_command(), only.as_deref())
        }
    })
}

fn scan_settings(typed: Box<Flags>, environment: &Environment) -> Result<ScanSettings, Error> {
    // Only the flag conflicts with formats without rows: a variable or the file may set rows for
    // other runs.
    let has_by = typed.by.is_some();
    let flags = with_sources(*typed, environment)?;
    let instead_of_rows = flags
        .format
        .filter(|_| has_by)
        .and_then(|format| match format {
            OutputFormat::Html => Some("a page has all sections".to_owned()),
            OutputFormat::Partial => Some("a partial report has no rows".to_owned()),
            OutputFormat::Prometheus => {
                Some("prometheus prints counts by class and outcome, not rows".to_owned())
            }
            hits => hits
                .hit_format()
                .map(|_| format!("{} prints hits, not rows", word(&hits))),
        });
    match instead_of_rows {
        Some(has) => Err(config::Error::no_rows(&has).into()),
        None => Ok(config::scan_settings(flags, environment)?),
    }
}

fn rules(command: RulesCommand, environment: &Environment) -> Result<Exit, Error> {
    let choice = |typed: Box<Flags>| {
        with_sources(*typed, environment).map(|flags| config::rule_choice(&flags))
    };
    Ok(match command {
        RulesCommand::List { class, flags } => {
            commands::rules::list(&choice(flags.0)?, class.as_deref())
        }
        RulesCommand::Show { id, flags } => commands::rules::show(&choice(flags.0)?, &id),
        RulesCommand::Test { paths, only } => commands::rules::test(&RuleChoice {
            only,
            ..only_rules(paths)
        }),
        RulesCommand::Cover { file, flags } => commands::rules::cover(&choice(flags.0)?, &file),
        RulesCommand::Lint { paths } => commands::rules::lint(&only_rules(paths)),
        RulesCommand::Export { folder } => commands::rules::export(&folder),
        RulesCommand::Add(options) => commands::rules::add(&options),
        RulesCommand::Import(options) => commands::rules::import(&options),
    })
}

/// Only the rules of these files; the built-in ones if no file is named.
fn only_rules(paths: Vec<PathBuf>) -> RuleChoice {
    RuleChoice {
        no_builtin: !paths.is_empty(),
        paths,
        ..RuleChoice::default()
    }
}

/// The typed flags over the variables over the configuration file. Warns of unknown variables.
fn with_sources(typed: Flags, environment: &Environment) -> Result<Flags, Error> {
    let is_quiet = typed.is_quiet();
    let flags = over_sources(typed, environment);
    if !flags.as_ref().map_or(is_quiet, Flags::is_quiet) {
        for warning in sources::unknown_vars(&environment.variables) {
            message::warning(&warning);
        }
    }
    flags
}

fn over_sources(typed: Flags, environment: &Environment) -> Result<Flags, Error> {
    let flags = typed.over(sources::from_variables(&environment.variables)?);
    let file = flags
        .config
        .as_deref()
        .map(sources::from_file)
        .transpose()?
        .unwrap_or_default();
    Ok(flags.over(file))
}

#[cfg(test)]
mod tests;
