//! Which flags each subcommand has: those of [`Flags`] that are settings, and its own.

#![expect(
    clippy::doc_markdown,
    reason = "comments on flags are the help, and a terminal shows backticks as they are"
)]

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{
    NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, Resettable, TypedValueParser,
};
use clap::{
    Arg, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand, ValueEnum, ValueHint,
};

use super::help;
use crate::config::Flags;
use crate::log::finding::Severity;
use crate::render::OutputFormat;
use crate::render::block::BlockFormat;
use crate::rules::Class;
use crate::rules::import::ImportFormat;

/// The flags of a subcommand that are settings.
#[derive(Debug, Clone)]
pub(super) struct FlagsOf<const SET: usize>(pub(super) Flags);

impl<const SET: usize> Args for FlagsOf<SET> {
    #[expect(clippy::expect_used, reason = "a test makes every subcommand")]
    fn augment_args(command: Command) -> Command {
        let FlagSet { names, adapt } = flag_set(SET);
        let declared = Flags::augment_args(Command::new("all"));
        let flag = |name: &str| {
            declared
                .get_arguments()
                .find(|flag| flag.get_id() == name)
                .expect("a set names declared flags")
                .clone()
        };
        // The order in the help is that of the set.
        let flags = names
            .iter()
            .flat_map(|names| names.split(' '))
            .map(|name| flag(name).display_order(Resettable::Reset));
        adapt(command.args(flags))
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
        Ok(Self(Flags::given(matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flags of a subcommand, in the order of its help.
struct FlagSet {
    /// Names of declared flags, separated by blanks.
    names: &'static [&'static str],
    /// Changes what the subcommand says of a flag otherwise.
    adapt: fn(Command) -> Command,
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

/// The flags of a subcommand.
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn flag_set(of: usize) -> FlagSet {
    match of {
        SCAN => FlagSet {
            names: &[
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
            ],
            adapt: |command| command.mut_arg("proxy_ranges", in_one_line),
        },
        FOLLOW => FlagSet {
            names: &[
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
            ],
            adapt: |command| {
                command.mut_arg("paths", of_growing_logs).mut_arg("format", |flag| {
                    flag.help("What to print: table, ndjson, ecs, ocsf [default: table]").long_help(
                        "What to print: table, ndjson, ecs, ocsf [default: table]\n\ntable is a line per hit and a summary at the end; \
                         ndjson, ecs (9.4.0) and ocsf (1.5.0) print only the hits, one JSON object per line.",
                    )
                })
            },
        },
        REPORT => FlagSet {
            names: &[
                "paths",
                STATE,
                FORMAT,
                SOURCES,
                "out daily hourly timezone always html keep keep_runs mode group log_host notify_level",
                "block_out block_format wait dry_run status",
                BLOCK_LIST,
                RULES,
                CLIENTS,
                "proxy_ranges",
                HIDE,
                "min_severity outcome",
                APPS,
                "metrics quiet threads config",
            ],
            adapt: |command| {
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
            },
        },
        LEARN => FlagSet {
            names: &[
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
            ],
            adapt: |command| command.mut_arg("format", of_rows),
        },
        EXPLAIN => FlagSet {
            names: &[FORMAT, RULES, "min_severity app format color config"],
            adapt: |command| {
                command
                    .mut_arg("format", of_text)
                    .mut_arg("min_severity", |flag| {
                        let help = "Mark rules below this severity as not reported [default: low]";
                        flag.help(help).long_help(format!(
                            "{help}\n\nLevels are info, low, medium, high, critical."
                        ))
                    })
            },
        },
        FORMATS => FlagSet {
            names: &[FORMAT, "format color config"],
            adapt: |command| command.mut_arg("format", of_text),
        },
        DIFF => FlagSet {
            names: &[
                RULES,
                "min_severity outcome app format top output color quiet config",
            ],
            adapt: |command| command.mut_arg("format", of_rows),
        },
        MERGE => FlagSet {
            names: &[
                RULES,
                "min_severity outcome app format top output color quiet config",
                "anonymize geoip fail_on by full",
            ],
            adapt: |command| {
                command.mut_arg("format", |flag| {
                    let help = "What to print: table, csv, json, html, partial [default: table]";
                    flag.help(help).long_help(format!(
                        "{help}\n\nhtml is one page for a browser that requests nothing: -f html -o page.html. partial is the smallest file that \
                         merge reads."
                    ))
                })
            },
        },
        BLOCK => FlagSet {
            names: &[
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
            ],
            adapt: |command| command.mut_arg("paths", of_reports_and_logs),
        },
        VERIFY => FlagSet {
            names: &[
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
            ],
            adapt: |command| {
                let help = "Print the URLs, and send nothing";
                // A variable may name the site too, so that clap does not require it.
                let command = command
                    .override_usage("probewatch verify [OPTIONS] --site <URL> [PATH]...")
                    .mut_arg("dry_run", |flag| flag.help(help).help_heading("Requests"));
                command.mut_arg("paths", of_reports_and_logs).mut_arg("format", |flag| in_one_line(of_text(flag))).mut_arg(
                    "output",
                    |flag| {
                        let help = "Save the result as JSON here [default: beside report.json]";
                        flag.help(help).long_help(format!(
                            "{help}\n\nAs verified.json in the folder of the only report, if that is called report.json; - saves nothing."
                        ))
                    },
                )
            },
        },
        RULE_SET.. => FlagSet {
            names: &[RULES, "config"],
            adapt: |command| command.disable_help_flag(true).arg(help::flag()),
        },
    }
}

/// A flag whose paragraph is in the help of another subcommand.
fn in_one_line(flag: Arg) -> Arg {
    flag.long_help(Resettable::Reset)
}

/// The paths of `follow` and `report`.
fn of_growing_logs(paths: Arg) -> Arg {
    let help = "Logs, folders of logs, or globs";
    paths.help(help).long_help(format!(
        "{help}\n\nLogs that appear later are read too. A rotated log is read under its new names, so its newest name is enough."
    ))
}

/// The paths of `block` and `verify`.
fn of_reports_and_logs(paths: Arg) -> Arg {
    let help = "Reports, folders with a report.json, logs, or -";
    paths.help(help).long_help(format!(
        "{help}\n\nA report is JSON of 'probewatch scan' or 'report'. Other files are read as logs, and so are folders, recursively."
    ))
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
    let help = "What to print: table, json [default: table]";
    let words = [
        ("table", "Text for a person"),
        ("json", "One JSON object per line"),
    ];
    let parser = PossibleValuesParser::new(
        words.map(|(word, meaning)| PossibleValue::new(word).help(meaning)),
    )
    .map(parsed);
    format
        .value_parser(parser)
        .help(help)
        .long_help(format!("{help}\n\njson prints one object per line."))
}

/// A flag of `block` in the help of `report`: one line, among what a run writes. 'probewatch block --help'
/// describes it.
fn of_block(flag: Arg) -> Arg {
    flag.hide_short_help(true)
        .help_heading("Reports")
        .long_help(Resettable::Reset)
}

/// The arguments of `block`.
#[derive(Debug, Clone, Args)]
pub(super) struct BlockArgs {
    /// Format of the list: plain, nft, ipset, nginx, ... [default: plain]
    ///
    /// plain, nft, ipset, nginx (deny lines), nginx-geo (a geo block), apache, crowdsec, fail2ban,
    /// abuseipdb, abuse-mail, csv. Described below.
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        value_enum,
        hide_possible_values = true,
        help_heading = "Block lists"
    )]
    pub(super) format: Option<BlockFormat>,

    /// Settings.
    #[command(flatten)]
    pub(super) flags: FlagsOf<BLOCK>,
}

/// The arguments of `explain`.
#[derive(Debug, Clone, Args)]
pub(super) struct ExplainArgs {
    /// A log line in quotes, FILE:LINE, or - for standard input
    ///
    /// A request line (GET /x), a path or a URL is taken as a request. The file of FILE:LINE may be
    /// compressed.
    #[arg(value_name = "LINE", value_hint = ValueHint::AnyPath)]
    pub(super) line: OsString,

    /// Grade the answer by this log, which is scanned whole
    ///
    /// FILE:LINE is graded by its own file by default. The log may be compressed.
    #[arg(long = "in", value_name = "LOG", value_hint = ValueHint::FilePath, help_heading = "Input")]
    pub(super) log: Option<PathBuf>,

    /// Explain this rule alone: everything it requires, met or not
    #[arg(long, value_name = "ID", help_heading = "Rules", value_parser = NonEmptyStringValueParser::new())]
    pub(super) rule: Option<String>,

    /// Settings.
    #[command(flatten)]
    pub(super) flags: FlagsOf<EXPLAIN>,
}

/// The arguments of `formats`.
#[derive(Debug, Clone, Args)]
pub(super) struct FormatsArgs {
    /// Logs, or - for standard input; without one, lists known formats
    ///
    /// The first 64 KiB of each log are read. A log may be compressed.
    #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(super) files: Vec<PathBuf>,

    /// Settings.
    #[command(flatten)]
    pub(super) flags: FlagsOf<FORMATS>,
}

/// The arguments of `merge`.
#[derive(Debug, Clone, Args)]
pub(super) struct MergeArgs {
    /// JSON reports, folders with a report.json, or - for standard input
    ///
    /// As 'probewatch scan -f json' and 'probewatch report' write them.
    #[arg(value_name = "REPORT", value_hint = ValueHint::AnyPath, required = true)]
    pub(super) reports: Vec<PathBuf>,

    /// Settings.
    #[command(flatten)]
    pub(super) flags: FlagsOf<MERGE>,
}

/// The arguments of `diff`.
#[derive(Debug, Clone, Args)]
pub(super) struct DiffArgs {
    /// The earlier report: JSON, or a folder with a report.json
    #[arg(value_name = "OLD", value_hint = ValueHint::AnyPath)]
    pub(super) old: PathBuf,

    /// The later report
    #[arg(value_name = "NEW", value_hint = ValueHint::AnyPath)]
    pub(super) new: PathBuf,

    /// Settings.
    #[command(flatten)]
    pub(super) flags: FlagsOf<DIFF>,
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
        flags: Box<FlagsOf<RULE_SET>>,
    },
    /// Print one rule as it is written
    Show {
        /// ID of the rule, such as dotfiles/env
        #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
        id: String,
        /// Settings.
        #[command(flatten)]
        flags: Box<FlagsOf<RULE_SET>>,
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
        flags: Box<FlagsOf<RULE_SET>>,
    },
    /// Write a rule for your own paths
    ///
    /// Appends a rule for one or more paths, with its test cases, to a rule file. A path that a
    /// rule matches already is not added.
    #[command(after_help = help::ADD)]
    Add(AddArgs),
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
    Import(ImportArgs),
}

/// The flags of `rules add`.
#[derive(Debug, Clone, Args)]
pub(super) struct AddArgs {
    /// Paths that only a prober requests, such as /old-admin.php
    #[arg(value_name = "PATH", required = true, value_parser = NonEmptyStringValueParser::new())]
    pub(super) paths: Vec<String>,
    /// Class of the rule, such as panel
    #[arg(long, default_value = "exposure", hide_possible_values = true, value_parser = PossibleValuesParser::new(Class::ids()))]
    pub(super) class: String,
    /// Severity of the rule: info, low, medium, high, critical
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "medium",
        value_enum,
        hide_possible_values = true
    )]
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
