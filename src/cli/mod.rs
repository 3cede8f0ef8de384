//! The command line: its flags, its help, and which command runs.
//!
//! Typed flags, variables and the configuration file become [`Flags`] each, `config` makes plain
//! settings of them, and a command does the work.

mod args;
mod help;
mod lazy;
mod sources;

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

use self::args::{
    BlockArgs, DiffArgs, ExplainArgs, FOLLOW, FlagsOf, FormatsArgs, LEARN, MergeArgs, REPORT,
    RULE_SET, RulesCommand, SCAN, VERIFY,
};
use self::lazy::Lazy;
use crate::commands::rules::{AddOptions, ImportOptions};
use crate::commands::{self, Exit, message};
use crate::config::value::word;
use crate::config::{self, Environment, Flags};
use crate::os::allocator;
use crate::render::OutputFormat;
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
    Scan(Lazy<FlagsOf<SCAN>>),
    /// Report probes as they happen, through every log rotation
    #[command(after_help = help::FOLLOW_SHORT, after_long_help = help::FOLLOW_LONG)]
    Follow(Lazy<FlagsOf<FOLLOW>>),
    /// Write CSV reports of what is new since the last run, for cron
    #[command(after_help = help::REPORT_SHORT, after_long_help = help::REPORT_LONG)]
    Report(Lazy<FlagsOf<REPORT>>),
    /// Write a block list for a firewall, a web server or an abuse desk
    ///
    /// From reports or logs: clients that clearly probe, at no cost in ordinary requests.
    /// probewatch itself blocks nothing.
    #[command(after_help = help::BLOCK_SHORT, after_long_help = help::BLOCK_LONG)]
    Block(Lazy<BlockArgs>),
    /// Explain why a line matches, or why it does not
    ///
    /// Prints how a line is parsed and decoded, which rules match and where, and which rules almost
    /// match and what they lack.
    #[command(after_help = help::EXPLAIN_SHORT, after_long_help = help::EXPLAIN_LONG)]
    Explain(Lazy<ExplainArgs>),
    /// List the known log formats, or detect the format of a log
    #[command(after_help = help::FORMATS)]
    Formats(Lazy<FormatsArgs>),
    /// Propose rules for unlisted paths that probers request
    #[command(after_help = help::LEARN_SHORT, after_long_help = help::LEARN_LONG)]
    Learn(Lazy<FlagsOf<LEARN>>),
    /// Merge reports of many hosts or days into one
    ///
    /// Counts are added, and findings that depend on the whole log are decided again for all logs
    /// together.
    #[command(after_help = help::MERGE_SHORT, after_long_help = help::MERGE_LONG)]
    Merge(Lazy<MergeArgs>),
    /// Print the differences between two reports
    ///
    /// Answers, rules, paths and clients that are new, gone, more or less frequent; the most
    /// important first.
    #[command(after_help = help::DIFF_SHORT, after_long_help = help::DIFF_LONG)]
    Diff(Lazy<DiffArgs>),
    /// Ask your own site what it gives today for the paths that answered
    ///
    /// Requests each path of a report with a distinct or an uncertain answer, by the system's curl,
    /// beside two paths that do not exist.
    #[command(after_help = help::VERIFY_SHORT, after_long_help = help::VERIFY_LONG)]
    Verify(Lazy<FlagsOf<VERIFY>>),
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

impl From<config::Error> for Error {
    fn from(error: config::Error) -> Self {
        Self::Config(error)
    }
}

/// Runs the command that the command line names.
#[must_use]
pub(crate) fn run() -> Exit {
    allocator::set_mmap_threshold();
    match parse(env::args_os()) {
        Ok(cli) => dispatch(cli.command, &Environment::capture()),
        Err(error) => help::print_error(error),
    }
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
    complete_command().mut_subcommands(|command| match command.get_name() {
        "scan" | "follow" | "report" | "block" | "explain" | "formats" | "learn" | "merge"
        | "diff" | "verify" => sources::with_env_help(command),
        "rules" => command.mut_subcommands(|command| match command.get_name() {
            "list" | "show" | "cover" => sources::with_env_help(command),
            _ => command,
        }),
        _ => command,
    })
}

fn dispatch(command: CliCommand, environment: &Environment) -> Exit {
    match command {
        CliCommand::Scan(args) => scan(args.into_args().0, environment),
        CliCommand::Follow(args) => {
            let settings = |flags| config::follow_settings(flags, environment);
            start(
                args.into_args().0,
                environment,
                settings,
                commands::follow::run,
            )
        }
        CliCommand::Report(args) => {
            let settings = |flags| config::report_settings(flags, environment);
            start(
                args.into_args().0,
                environment,
                settings,
                commands::report::run,
            )
        }
        CliCommand::Block(args) => {
            let BlockArgs { format, flags } = args.into_args();
            let settings = |flags| config::block_settings(format, flags, environment);
            start(flags.0, environment, settings, commands::block::run)
        }
        CliCommand::Explain(args) => {
            let ExplainArgs {
                line,
                log,
                rule,
                flags,
            } = args.into_args();
            let settings = |flags| Ok(config::explain_settings(line, rule, log, flags));
            start(flags.0, environment, settings, commands::explain::run)
        }
        CliCommand::Formats(args) => {
            let FormatsArgs { files, flags } = args.into_args();
            let settings = |flags| Ok(config::formats_settings(files, flags));
            start(flags.0, environment, settings, commands::formats::run)
        }
        CliCommand::Learn(args) => {
            let settings = |flags| config::learn_settings(flags, environment);
            start(
                args.into_args().0,
                environment,
                settings,
                commands::learn::run,
            )
        }
        CliCommand::Merge(args) => {
            let MergeArgs { reports, flags } = args.into_args();
            start(
                flags.0,
                environment,
                |flags| config::merge_settings(reports, flags),
                commands::merge::run,
            )
        }
        CliCommand::Diff(args) => {
            let DiffArgs { old, new, flags } = args.into_args();
            start(
                flags.0,
                environment,
                |flags| config::diff_settings(old, new, flags),
                commands::diff::run,
            )
        }
        CliCommand::Verify(args) => {
            let settings = |flags| config::verify_settings(flags, environment);
            start(
                args.into_args().0,
                environment,
                settings,
                commands::verify::run,
            )
        }
        CliCommand::Rules(command) => rules(command, environment),
        CliCommand::Completions { shell } => {
            commands::reference::run_completions(complete_command(), shell)
        }
        CliCommand::Schema { output } => commands::reference::run_schema(output),
        CliCommand::Man { only } => {
            commands::reference::run_man(&documented_command(), only.as_deref())
        }
    }
}

fn scan(flags: Flags, environment: &Environment) -> Exit {
    // Only the flag conflicts with formats without rows: a variable or the file may set rows for
    // other runs.
    let has_by = flags.by.is_some();
    let settings = |flags: Flags| match flags.format {
        Some(OutputFormat::Html) if has_by => Err(config::Error::ByHtml),
        Some(OutputFormat::Partial) if has_by => Err(config::Error::ByPartial),
        Some(OutputFormat::Prometheus) if has_by => Err(config::Error::ByFormat {
            format: "prometheus".to_owned(),
            what: "counts by class and outcome",
        }),
        Some(format) if has_by && format.hit_format().is_some() => Err(config::Error::ByFormat {
            format: word(&format),
            what: "hits",
        }),
        _ => config::scan_settings(flags, environment),
    };
    start(flags, environment, settings, commands::scan::run)
}

fn rules(command: RulesCommand, environment: &Environment) -> Exit {
    let with_rules = |flags: Box<FlagsOf<RULE_SET>>, run: &dyn Fn(&RuleChoice) -> Exit| {
        start(
            flags.0,
            environment,
            |flags| Ok(config::rule_choice(&flags)),
            run,
        )
    };
    match command {
        RulesCommand::List { class, flags } => with_rules(flags, &|rules| {
            commands::rules::list(rules, class.as_deref())
        }),
        RulesCommand::Show { id, flags } => {
            with_rules(flags, &|rules| commands::rules::show(rules, &id))
        }
        RulesCommand::Test { paths, only } => commands::rules::test(&RuleChoice {
            only,
            ..only_rules(paths)
        }),
        RulesCommand::Cover { file, flags } => {
            with_rules(flags, &|rules| commands::rules::cover(rules, &file))
        }
        RulesCommand::Lint { paths } => commands::rules::lint(&only_rules(paths)),
        RulesCommand::Export { folder } => commands::rules::export(&folder),
        RulesCommand::Add(args) => commands::rules::add(&AddOptions {
            paths: args.paths,
            class: args.class,
            severity: args.severity,
            title: args.title,
            id: args.id,
            file: args.file,
        }),
        RulesCommand::Import(args) => commands::rules::import(&ImportOptions {
            paths: args.files,
            origin: args.from,
            file: args.file,
        }),
    }
}

/// Only the rules of these files; the built-in ones if no file is named.
fn only_rules(paths: Vec<PathBuf>) -> RuleChoice {
    RuleChoice {
        no_builtin: !paths.is_empty(),
        paths,
        ..RuleChoice::default()
    }
}

/// Makes settings of the flags and runs a command with them.
fn start<S>(
    typed: Flags,
    environment: &Environment,
    settings: impl FnOnce(Flags) -> Result<S, config::Error>,
    run: impl FnOnce(&S) -> Exit,
) -> Exit {
    match with_sources(typed, environment).and_then(|flags| Ok(settings(flags)?)) {
        Ok(settings) => run(&settings),
        Err(Error::Clap(error)) => help::print_error(error),
        Err(Error::Config(error)) => {
            message::error(&error.to_string());
            if let Some(hint) = error.hint() {
                message::hint(hint);
            }
            Exit::Usage
        }
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
    let flags = typed.over(sources::from_variables(&environment.variables).map_err(Error::Clap)?);
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
