//! Which flags each subcommand has: those of [`Flags`] that are settings, and its own.

use std::path::PathBuf;

use clap::builder::{
    NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, Resettable, TypedValueParser,
};
use clap::{
    Arg, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand, ValueEnum, ValueHint,
};

use super::help;
use crate::commands::rules::{AddOptions, ImportOptions};
use crate::config::Flags;
use crate::render::OutputFormat;

/// The flags of a subcommand that are settings. They are declared only if the subcommand is named:
/// to declare those of all subcommands takes a tenth of the time of a small scan.
#[derive(Debug, Clone)]
pub(super) struct FlagsOf<const SET: usize>(pub(super) Box<Flags>);

impl<const SET: usize> Args for FlagsOf<SET> {
    fn augment_args(command: Command) -> Command {
        command.defer(declare::<SET>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const SET: usize> FromArgMatches for FlagsOf<SET> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Self::from_arg_matches_mut(&mut matches.clone())
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        Ok(Self(Box::new(Flags::given(matches))))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Flags that several subcommands have.
const FORMAT: &str = "log_format field";
const SOURCES: &str = "from_nginx from_apache max_line";
const RULES: &str = "rules no_builtin disable only severity no_prefilter";
const CLIENTS: &str = "client_from trusted_proxy ipv6_prefix";
const HIDE: &str = "anonymize geoip no_redact";
const APPS: &str = "app allow";
const TIMES: &str = "since until";
const STATE: &str = "state from_start reset_state insecure_state";
const BLOCK_LIST: &str = "max_cost ttl aggregate verified_bots max_block";
const SPEED: &str = "threads mmap";

/// Which subcommands [`FlagsOf`] is of.
pub(super) const SCAN: usize = 0;
pub(super) const FOLLOW: usize = 1;
pub(super) const REPORT: usize = 2;
pub(super) const LEARN: usize = 3;
pub(super) const EXPLAIN: usize = 4;
pub(super) const FORMATS: usize = 5;
pub(super) const DIFF: usize = 6;
pub(super) const MERGE: usize = 7;
pub(super) const BLOCK: usize = 8;
pub(super) const VERIFY: usize = 9;
pub(super) const RULE_SET: usize = 10;

/// Declares the flags of a subcommand in the order of its help, `--help` last, with what it says of
/// a flag otherwise than other subcommands.
#[expect(clippy::expect_used, reason = "a test makes every subcommand")]
fn declare<const SET: usize>(command: Command) -> Command {
    let declared = Flags::augment_args(Command::new("all"));
    let flag = |name: &str| {
        declared
            .get_arguments()
            .find(|flag| flag.get_id() == name)
            .expect("a set names declared flags")
            .clone()
    };
    let with = |names: &[&str]| {
        // The order in the help is that of the set.
        let flags = names
            .iter()
            .flat_map(|names| names.split(' '))
            .map(|name| flag(name).display_order(Resettable::Reset));
        command.disable_help_flag(true).args(flags)
    };
    let command = match SET {
        SCAN => with(&[
            "paths",
            FORMAT,
            SOURCES,
            "newer_than range source",
            RULES,
            CLIENTS,
            "proxy_ranges",
            HIDE,
            "min_severity outcome",
            APPS,
            TIMES,
            "fail_on format top by full output color no_progress quiet stats",
            SPEED,
            "config",
        ])
        .mut_arg("proxy_ranges", in_one_line),
        FOLLOW => with(&[
            "paths",
            STATE,
            FORMAT,
            SOURCES,
            "poll poll_interval",
            RULES,
            CLIENTS,
            HIDE,
            "min_severity outcome",
            APPS,
            "format top fold quiet_for tui metrics color quiet",
            "alert_severity cooldown exec alert_file syslog config",
        ])
        .mut_arg("paths", of_growing_logs)
        .mut_arg("format", |flag| {
            with_help(
                flag,
                "What to print: table, ndjson, ecs, ocsf [default: table]",
                "table is a line per hit and a summary at the end; ndjson, ecs (9.4.0) and \
                 ocsf (1.5.0) print only the hits, one JSON object per line.",
            )
        }),
        REPORT => {
            let command = with(&[
                "paths",
                STATE,
                FORMAT,
                SOURCES,
                "out daily hourly timezone always html keep keep_runs mode group",
                "log_host notify_level",
                "block_out block_format wait dry_run status",
                BLOCK_LIST,
                RULES,
                CLIENTS,
                "proxy_ranges",
                HIDE,
                "min_severity outcome",
                APPS,
                "metrics quiet threads config",
            ]);
            let command = ["geoip", "proxy_ranges"]
                .into_iter()
                .fold(command, |command, flag| command.mut_arg(flag, in_one_line));
            let command = BLOCK_LIST
                .split(' ')
                .fold(command, |command, flag| command.mut_arg(flag, of_block));
            command
                .mut_arg("paths", of_growing_logs)
                .mut_arg("threads", |flag| {
                    flag.hide_short_help(true).help_heading("Run")
                })
                .mut_arg("metrics", |flag| flag.hide_short_help(true))
        }
        LEARN => with(&[
            "paths",
            FORMAT,
            SOURCES,
            "newer_than",
            RULES,
            CLIENTS,
            "min_probers",
            APPS,
            TIMES,
            "emit_rules format top output color no_progress quiet",
            SPEED,
            "config",
        ])
        .mut_arg("format", of_rows),
        EXPLAIN => with(&[FORMAT, RULES, "min_severity app format color config"])
            .mut_arg("format", of_text)
            .mut_arg("min_severity", |flag| {
                with_help(
                    flag,
                    "Mark rules below this severity as not reported [default: low]",
                    "Levels are info, low, medium, high, critical.",
                )
            }),
        FORMATS => with(&[FORMAT, "format color config"]).mut_arg("format", of_text),
        DIFF => with(&[
            RULES,
            "min_severity outcome app format top output color quiet config",
        ])
        .mut_arg("format", of_rows),
        MERGE => with(&[
            RULES,
            "min_severity outcome app format top output color quiet config",
            "anonymize geoip fail_on by full",
        ])
        .mut_arg("format", |flag| {
            with_help(
                flag,
                "What to print: table, csv, json, html, partial [default: table]",
                "html is one page for a browser that requests nothing: -f html -o page.html. \
                 partial is the smallest file that merge reads.",
            )
        }),
        BLOCK => with(&[
            "paths",
            BLOCK_LIST,
            FORMAT,
            SOURCES,
            "newer_than",
            RULES,
            CLIENTS,
            "proxy_ranges geoip min_severity",
            APPS,
            TIMES,
            "output no_progress quiet",
            SPEED,
            "config",
        ])
        .mut_arg("paths", of_reports_and_logs),
        VERIFY => with(&[
            "site dry_run pause max_requests cacert",
            "paths",
            FORMAT,
            SOURCES,
            "newer_than",
            RULES,
            CLIENTS,
            "min_severity",
            APPS,
            TIMES,
            "format output color no_progress quiet",
            SPEED,
            "config",
        ])
        // A variable may name the site too, so that clap does not require it.
        .override_usage("probewatch verify [OPTIONS] --site <URL> [PATH]...")
        .mut_arg("dry_run", |flag| {
            flag.help("Print the URLs, and send nothing")
                .help_heading("Requests")
        })
        .mut_arg("paths", of_reports_and_logs)
        .mut_arg("format", |flag| in_one_line(of_text(flag)))
        .mut_arg("output", |flag| {
            with_help(
                flag,
                "Save the result as JSON here [default: beside report.json]",
                "As verified.json in the folder of the only report, if that is called \
                     report.json; - saves nothing.",
            )
        }),
        RULE_SET.. => with(&[RULES, "config"]),
    };
    command.arg(help::flag())
}

/// Replaces the help of a flag: its line, and the paragraph of `--help`.
fn with_help(flag: Arg, line: &'static str, paragraph: &str) -> Arg {
    flag.help(line).long_help(format!("{line}\n\n{paragraph}"))
}

/// A flag whose paragraph is in the help of another subcommand.
fn in_one_line(flag: Arg) -> Arg {
    flag.long_help(Resettable::Reset)
}

/// The paths of `follow` and `report`.
fn of_growing_logs(paths: Arg) -> Arg {
    with_help(
        paths,
        "Logs, folders of logs, or globs",
        "Logs that appear later are read too. A rotated log is read under its new names, so its \
         newest name is enough.",
    )
}

/// The paths of `block` and `verify`.
fn of_reports_and_logs(paths: Arg) -> Arg {
    with_help(
        paths,
        "Reports, folders with a report.json, logs, or -",
        "A report is JSON of 'probewatch scan' or 'report'. Other files are read as logs, and so \
         are folders, recursively.",
    )
}

/// The format of commands that print neither hits nor pages.
fn of_rows(format: Arg) -> Arg {
    let help = "What to print: table, csv, json [default: table]";
    format.help(help).long_help(help)
}

/// The format of commands that print text for a person, or JSON.
fn of_text(format: Arg) -> Arg {
    #[expect(clippy::expect_used, reason = "both words are formats")]
    let parsed = |word: String| OutputFormat::from_str(&word, true).expect("a format");
    let words = [
        ("table", "Text for a person"),
        ("json", "One JSON object per line"),
    ];
    let parser = PossibleValuesParser::new(
        words.map(|(word, meaning)| PossibleValue::new(word).help(meaning)),
    )
    .map(parsed);
    with_help(
        format.value_parser(parser),
        "What to print: table, json [default: table]",
        "json prints one object per line.",
    )
}

/// A flag of `block` in the help of `report`: one line, among what a run writes. 'probewatch block --help'
/// describes it.
fn of_block(flag: Arg) -> Arg {
    flag.hide_short_help(true)
        .help_heading("Reports")
        .long_help(Resettable::Reset)
}

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
        flags: FlagsOf<RULE_SET>,
    },
    /// Print one rule as it is written
    Show {
        /// ID of the rule, such as dotfiles/env
        #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
        id: String,
        /// Settings.
        #[command(flatten)]
        flags: FlagsOf<RULE_SET>,
    },
    /// Run the test cases that rules contain
    ///
    /// Matches each case as a scan would. Neither variables nor a configuration file change what is
    /// tested.
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
    /// Finds literals in two rules, rules that match nothing which another does not, literals so
    /// common that they cost time on every line, and rules without cases. Exits with 2 if it found
    /// a problem.
    #[command(after_help = help::LINT)]
    Lint {
        /// Rule files, path lists or folders to check [default: built-in rules]
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
    },
    /// List the paths of a list that no rule matches, and why
    ///
    /// Reads one path per line, up to a tab, and matches each alone. Prints the paths that do not
    /// match for every status, with the reason and the rules, separated by tabs.
    Cover {
        /// File with one path per line
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Settings.
        #[command(flatten)]
        flags: FlagsOf<RULE_SET>,
    },
    /// Write a rule for your own paths
    ///
    /// Appends a rule for one or more paths, with its test cases, to a rule file. A path that a
    /// rule matches already is not added.
    #[command(after_help = help::ADD)]
    Add(AddOptions),
    /// Write the built-in rules to a folder, a file each family
    ///
    /// `--no-builtin --rules FOLDER` reads such a folder in place of the built-in rules. So hosts
    /// get new rules without a new program. Each file names its version and the oldest program that
    /// reads it.
    Export {
        /// Folder to create, or an empty one
        #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
    /// Convert rules of other tools to a rule file
    ///
    /// Reads word lists, CRS .data files, Sigma rules for web servers and nuclei templates. What
    /// cannot be converted is listed with the reason.
    #[command(after_help = help::IMPORT)]
    Import(ImportOptions),
}
