//! The command line: what can be typed, what the help says, and who is called.
//!
//! Nothing is done here. What was typed becomes plain values in `config`; a subcommand does the work and says how the
//! run ends.

pub mod client;
pub mod explain;
pub mod follow;
pub mod formats;
mod help;
pub mod learn;
pub mod merge;
pub mod own;
mod refusal;
pub mod report;
pub mod rules;
pub mod scan;
pub mod state;
pub mod words;

use std::path::PathBuf;

use clap::{Arg, ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

use self::explain::ExplainArgs;
use self::follow::FollowArgs;
use self::formats::FormatsArgs;
use self::learn::LearnArgs;
use self::merge::{DiffArgs, MergeArgs};
use self::own::OwnArgs;
use self::report::ReportArgs;
use self::rules::RulesCommand;
use self::scan::{OtherArgs, RuleArgs, ScanArgs};
use crate::allocator;
use crate::commands::rules::{AddOptions, ImportOptions};
use crate::commands::{self, Exit, message};
use crate::config::{self, Surroundings, environment};
use crate::render::OutputFormat;
use crate::render::schema::Topic;
use crate::rules::RuleChoice;

/// Who is probing my site, for what, and what answered?
///
/// Reads the access logs of nginx and Apache and says who is probing, for what, and what answered.
#[derive(Debug, Clone, Parser)]
#[command(name = "probewatch", bin_name = "probewatch", version, after_help = help::ROOT)]
#[command(args_override_self = true, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// A subcommand.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Report the probes in access logs
    #[command(after_help = help::SCAN_SHORT, after_long_help = help::SCAN_LONG)]
    Scan(Box<ScanArgs>),
    /// Report probes as they happen, and lose no line to any rotation
    #[command(after_help = help::FOLLOW_SHORT, after_long_help = help::FOLLOW_LONG)]
    Follow(Box<FollowArgs>),
    /// Write CSV reports of what came since the last run, for cron
    #[command(after_help = help::REPORT_SHORT, after_long_help = help::REPORT_LONG)]
    Report(Box<ReportArgs>),
    /// Explain why a line matches, or why it does not
    ///
    /// Says what is seen in a line, how it is decoded, which rules match and where, and which nearly do and why they do not.
    #[command(after_help = help::EXPLAIN_SHORT, after_long_help = help::EXPLAIN_LONG)]
    Explain(Box<ExplainArgs>),
    /// Show which log formats are known, and what a log is written in
    #[command(after_help = help::FORMATS)]
    Formats(Box<FormatsArgs>),
    /// Propose rules for unlisted paths that probers ask for
    #[command(after_help = help::LEARN_SHORT, after_long_help = help::LEARN_LONG)]
    Learn(Box<LearnArgs>),
    /// Add up reports of many machines or days
    ///
    /// Counts add, firsts and lasts widen, and the context is decided anew from all of them: what a whole log shows, its parts show
    /// together.
    #[command(after_help = help::MERGE_SHORT, after_long_help = help::MERGE_LONG)]
    Merge(Box<MergeArgs>),
    /// Say what differs between two reports
    ///
    /// Answers, rules, paths and clients that are new, gone, or were met more or less often; what matters most comes first.
    #[command(after_help = help::DIFF_SHORT, after_long_help = help::DIFF_LONG)]
    Diff(Box<DiffArgs>),
    /// List, show, test and make rules
    #[command(subcommand, arg_required_else_help = true, after_help = help::RULES)]
    Rules(RulesCommand),
    /// Print the completions of a shell
    #[command(after_help = help::COMPLETIONS)]
    Completions {
        /// Shell to print them for
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Describe every column and key of the outputs
    ///
    /// Prints each with its type, unit and meaning: JSON Schema for JSON, NDJSON and rule files, text for CSV. Without an argument it
    /// lists all of them as text.
    #[command(after_help = help::SCHEMA)]
    Schema {
        /// Output to describe
        #[arg(value_enum)]
        output: Option<Topic>,
    },
    /// Print the manual as a man page
    #[command(after_help = help::MAN)]
    Man {
        /// Print the page of this subcommand only
        #[arg(value_name = "SUBCOMMAND")]
        only: Option<String>,
    },
}

/// Does what the command line asks for.
#[must_use]
pub fn run() -> Exit {
    allocator::set_mmap_threshold();
    let parsed = command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(cli) => dispatch(cli.command, &Surroundings::here()),
        Err(error) => refusal::clap(error),
    }
}

/// The command line as clap knows it, with each flag's variable in the long help.
#[must_use]
pub fn command() -> clap::Command {
    let documented = |command| help_last(environment::documented(command));
    Cli::command().mut_subcommands(|command| match command.get_name() {
        "scan" | "follow" | "report" | "explain" | "formats" | "learn" | "merge" | "diff" => documented(command),
        "rules" => command.mut_subcommands(|command| match command.get_name() {
            "list" | "show" => documented(command),
            _ => command,
        }),
        _ => command,
    })
}

/// Moves `--help` from the top, where clap puts flags without a heading, to the end.
fn help_last(command: clap::Command) -> clap::Command {
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help);
    let help = help.help("Print help: -h in short, --help in full").help_heading("Other");
    command.disable_help_flag(true).arg(help)
}

fn dispatch(command: Command, here: &Surroundings) -> Exit {
    match command {
        Command::Scan(args) => scan(*args, here),
        Command::Follow(args) => follow(*args, here),
        Command::Report(args) => report(*args, here),
        Command::Explain(args) => explain(*args, here),
        Command::Formats(args) => formats(*args, here),
        Command::Learn(args) => learn(*args, here),
        Command::Merge(args) => merge(*args, here),
        Command::Diff(args) => diff(*args, here),
        Command::Rules(asked) => rules(asked, here),
        Command::Completions { shell } => commands::completions::run(self::command(), shell),
        Command::Schema { output } => commands::schema::run(output),
        Command::Man { only } => commands::man::run(self::command(), only.as_deref()),
    }
}

fn scan(args: ScanArgs, here: &Surroundings) -> Exit {
    // A file or a variable may choose rows for the runs that print some.
    let chooses_rows = args.output.by.is_some();
    let settings = layered(args, here).and_then(|asked| match asked.output.format {
        Some(OutputFormat::Ndjson) if chooses_rows => Err(config::Error::ByNdjson),
        _ => config::settings(asked, here),
    });
    match settings {
        Ok(settings) => commands::scan::run(&settings),
        Err(error) => refused(error),
    }
}

fn follow(args: FollowArgs, here: &Surroundings) -> Exit {
    let (shared, own) = args.split();
    let settings = layered_own(shared, own, here).and_then(|(shared, own)| config::follow_settings(shared, own, here));
    match settings {
        Ok(settings) => commands::follow::run(&settings),
        Err(error) => refused(error),
    }
}

fn report(args: ReportArgs, here: &Surroundings) -> Exit {
    let (shared, own) = args.split();
    let settings = layered_own(shared, own, here).and_then(|(shared, own)| config::report_settings(shared, own, here));
    match settings {
        Ok(settings) => commands::report::run(&settings),
        Err(error) => refused(error),
    }
}

fn explain(args: ExplainArgs, here: &Surroundings) -> Exit {
    let (line, rule, log, args) = args.split();
    match layered(args, here) {
        Ok(asked) => commands::explain::run(&config::explain_settings(line, rule, log, asked)),
        Err(error) => refused(error),
    }
}

fn formats(args: FormatsArgs, here: &Surroundings) -> Exit {
    let (paths, args) = args.split();
    match layered(args, here) {
        Ok(asked) => commands::formats::run(&config::formats_settings(paths, asked)),
        Err(error) => refused(error),
    }
}

fn learn(args: LearnArgs, here: &Surroundings) -> Exit {
    let (shared, own) = args.split();
    let settings = layered_own(shared, own.into(), here).and_then(|(shared, own)| config::learn_settings(shared, own.learn, here));
    match settings {
        Ok(settings) => commands::learn::run(&settings),
        Err(error) => refused(error),
    }
}

fn merge(args: MergeArgs, here: &Surroundings) -> Exit {
    let (reports, shared) = args.split();
    match layered(shared, here).and_then(|asked| config::merge_settings(reports, asked)) {
        Ok(settings) => commands::merge::run(&settings),
        Err(error) => refused(error),
    }
}

fn diff(args: DiffArgs, here: &Surroundings) -> Exit {
    let ([old, new], shared) = args.split();
    match layered(shared, here).and_then(|asked| config::diff_settings(old, new, asked)) {
        Ok(settings) => commands::diff::run(&settings),
        Err(error) => refused(error),
    }
}

fn rules(asked: RulesCommand, here: &Surroundings) -> Exit {
    let choice = |rules: RuleArgs, other: OtherArgs| {
        let args = ScanArgs { rules, other, ..ScanArgs::default() };
        layered(args, here).map(|asked| config::rule_choice(asked.rules))
    };
    let done = match asked {
        RulesCommand::List { class, choice: rules, other } => choice(rules, other).map(|c| commands::rules::list(&c, class.as_deref())),
        RulesCommand::Show { id, choice: rules, other } => choice(rules, other).map(|c| commands::rules::show(&c, &id)),
        RulesCommand::Test { paths, only } => Ok(commands::rules::test(&RuleChoice { only, ..these(paths) })),
        RulesCommand::Cover { file, choice: rules, other } => choice(rules, other).map(|c| commands::rules::cover(&c, &file)),
        RulesCommand::Lint { paths } => Ok(commands::rules::lint(&these(paths))),
        RulesCommand::Add(args) => Ok(commands::rules::add(&AddOptions {
            paths: args.paths,
            class: args.class,
            severity: args.severity,
            title: args.title,
            id: args.id,
            file: args.file,
        })),
        RulesCommand::Import(args) => Ok(commands::rules::import(&ImportOptions { paths: args.files, origin: args.from, file: args.file })),
    };
    done.unwrap_or_else(refused)
}

/// The rules of these files and no others; the built-in ones where none is named.
fn these(paths: Vec<PathBuf>) -> RuleChoice {
    RuleChoice { no_builtin: !paths.is_empty(), paths, ..RuleChoice::default() }
}

/// The flags over the environment over the file; says on the way which variables nobody reads.
fn layered(args: ScanArgs, here: &Surroundings) -> Result<ScanArgs, config::Error> {
    layered_own(args, OwnArgs::default(), here).map(|(asked, _)| asked)
}

/// The same, and what only one subcommand is told.
fn layered_own(args: ScanArgs, own: OwnArgs, here: &Surroundings) -> Result<(ScanArgs, OwnArgs), config::Error> {
    let args = args.as_given();
    let quiet = args.quiet();
    let asked = config::layered(args, own, here);
    if !asked.as_ref().map_or(quiet, |(asked, _)| asked.quiet()) {
        for warning in environment::strangers(&here.variables) {
            message::warning(&warning);
        }
    }
    asked
}

fn refused(error: config::Error) -> Exit {
    match error {
        config::Error::Variable(error) => refusal::clap(error),
        error => {
            message::error(&error.to_string());
            if let Some(hint) = error.hint() {
                message::hint(hint);
            }
            Exit::Usage
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(args: &[&str]) -> String {
        let all = std::iter::once(&"probewatch").chain(args);
        command().try_get_matches_from(all).expect_err("a mistake").render().to_string()
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn a_mistake_is_answered_with_what_to_type() {
        let cases: [(&[&str], &str); 8] = [
            (&["scan", "--min-severty", "high"], "'--min-severity'"),
            (&["scna"], "'scan'"),
            (&["scan", "--min-severity", "hgih"], "'high'"),
            (&["scan", "--threads", "0"], "type 1 or more"),
            (&["scan", "--max-line", "1Q"], "type a number of bytes"),
            (&["scan", "--since", "yesterday"], "24h"),
            (&["scan", "--severity", "dotfiles/env"], "type ID=LEVEL"),
            (&["scan", "--outcome", "answered,denid"], "'denied'"),
        ];
        for (args, expected) in cases {
            let text = refusal(args);
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn short_help_fits_a_terminal() {
        assert!(refusal(&["explain", "-h"]).lines().all(|line| line.len() <= 100));
        let text = refusal(&["scan", "-h"]);
        for heading in ["Arguments:", "Input:", "Rules:", "What to report:", "Output:", "Performance:", "Other:", "Examples:"] {
            assert!(text.contains(heading), "{heading} in {text}");
        }
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    }

    #[test]
    fn long_help_names_variables_precedence_and_exit_codes() {
        let text = refusal(&["scan", "--help"]);
        for part in ["[env: PROBEWATCH_MIN_SEVERITY]", "Precedence:", "Exit codes:"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn the_last_of_a_repeated_flag_wins() {
        let matches = command().try_get_matches_from(["probewatch", "scan", "-q", "-q", "--top", "3", "--top", "4", "x"]);
        let cli = Cli::from_arg_matches(&matches.expect("fine")).expect("fine");
        let Command::Scan(args) = cli.command else { panic!("not a scan") };
        assert_eq!(args.selection.top.map(config::value::Count::get), Some(4));
    }
}
