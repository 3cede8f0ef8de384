//! Which flags each command has, made of the groups in [`flags`](super::flags), and the flags of `rules`.

#![expect(clippy::doc_markdown, reason = "comments on flags are the help, and a terminal shows backticks as they are")]

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, Resettable};
use clap::{Arg, Args, Subcommand, ValueHint};

use super::flags::{
    AlertArgs, AllowArgs, AnonymizeArgs, AppArgs, BlockCountArgs, BlockListArgs, BlockOutArgs, BlockPathArgs, ClientArgs, ColorArgs,
    ConfigArgs, EmitRulesArgs, FailOnArgs, FileAgeArgs, GeoIpArgs, LiveArgs, LogFormatArgs, LogPathArgs, LogSourceArgs, MetricsArgs,
    MmapArgs, OutcomeArgs, OutputFileArgs, PrintArgs, ProgressArgs, ProposalArgs, ProxyRangeArgs, QuietArgs, RedactArgs, ReportFolderArgs,
    RowArgs, RuleArgs, ScanPartArgs, ScanPathArgs, SeverityArgs, StateArgs, StatsArgs, TaskArgs, TextFormatArgs, ThreadArgs, TimeRangeArgs,
    WatchArgs,
};
use super::help;
use crate::analysis::verify::Origin;
use crate::config::Layer;
use crate::config::value::{DurationArg, PositiveCount};
use crate::log::finding::Severity;
use crate::render::block::BlockFormat;
use crate::rules::Class;
use crate::rules::import::ImportFormat;

/// Declares sets of flags that are made of groups.
macro_rules! combine {
    ($($(#[$attr:meta])* $set:ident { $($field:ident: $group:ty,)+ })+) => {$(
        #[derive(Debug, Clone, Default, Args)]
        $(#[$attr])*
        pub(super) struct $set {
            $(#[command(flatten)] pub(super) $field: $group,)+
        }

        impl $set {
            /// The settings of these flags.
            pub(super) fn into_layer(self) -> Layer {
                Layer::default()$(.merge_under(self.$field.into_layer()))+
            }
        }
    )+};
}

combine! {
    /// The flags of `scan`.
    #[command(mut_arg("proxy_ranges", |arg| arg.long_help(Resettable::Reset)))]
    ScanArgs {
        paths: ScanPathArgs,
        log_format: LogFormatArgs,
        sources: LogSourceArgs,
        file_age: FileAgeArgs,
        part: ScanPartArgs,
        rules: RuleArgs,
        client: ClientArgs,
        proxy_ranges: ProxyRangeArgs,
        anonymize: AnonymizeArgs,
        geoip: GeoIpArgs,
        redact: RedactArgs,
        severity: SeverityArgs,
        outcome: OutcomeArgs,
        app: AppArgs,
        allow: AllowArgs,
        time_range: TimeRangeArgs,
        fail_on: FailOnArgs,
        print: PrintArgs,
        rows: RowArgs,
        output_file: OutputFileArgs,
        color: ColorArgs,
        progress: ProgressArgs,
        quiet: QuietArgs,
        stats: StatsArgs,
        threads: ThreadArgs,
        mmap: MmapArgs,
        config: ConfigArgs,
    }

    /// The flags of `follow`.
    #[command(mut_arg("format", |arg| arg.help("What to print: table, ndjson, ecs, ocsf [default: table]")
        .long_help("What to print: table, ndjson, ecs, ocsf [default: table]\n\ntable is a line per hit and a summary at the end; \
            ndjson, ecs (9.4.0) and ocsf (1.5.0) print only the hits, one JSON object per line.")))]
    FollowArgs {
        paths: LogPathArgs,
        state: StateArgs,
        log_format: LogFormatArgs,
        sources: LogSourceArgs,
        watch: WatchArgs,
        rules: RuleArgs,
        client: ClientArgs,
        anonymize: AnonymizeArgs,
        geoip: GeoIpArgs,
        redact: RedactArgs,
        severity: SeverityArgs,
        outcome: OutcomeArgs,
        app: AppArgs,
        allow: AllowArgs,
        print: PrintArgs,
        live: LiveArgs,
        metrics: MetricsArgs,
        color: ColorArgs,
        quiet: QuietArgs,
        alerts: AlertArgs,
        config: ConfigArgs,
    }

    /// The flags of `report`.
    #[command(mut_arg("threads", |arg| arg.hide_short_help(true).help_heading("Run")),
        mut_arg("geoip", |arg| arg.long_help(Resettable::Reset)),
        mut_arg("max_cost", of_block), mut_arg("ttl", of_block), mut_arg("aggregate", of_block), mut_arg("verified_bots", of_block),
        mut_arg("max_block", of_block), mut_arg("proxy_ranges", |arg| arg.long_help(Resettable::Reset)), mut_arg("metrics", |arg| arg.hide_short_help(true)))]
    ReportArgs {
        paths: LogPathArgs,
        state: StateArgs,
        log_format: LogFormatArgs,
        sources: LogSourceArgs,
        folders: ReportFolderArgs,
        block_out: BlockOutArgs,
        task: TaskArgs,
        block: BlockListArgs,
        block_count: BlockCountArgs,
        rules: RuleArgs,
        client: ClientArgs,
        proxy_ranges: ProxyRangeArgs,
        anonymize: AnonymizeArgs,
        geoip: GeoIpArgs,
        redact: RedactArgs,
        severity: SeverityArgs,
        outcome: OutcomeArgs,
        app: AppArgs,
        allow: AllowArgs,
        metrics: MetricsArgs,
        quiet: QuietArgs,
        threads: ThreadArgs,
        config: ConfigArgs,
    }

    /// The flags of `learn`.
    #[command(mut_arg("format", |arg| arg.help(FORMAT_HELP_WITHOUT_NDJSON).long_help(FORMAT_HELP_WITHOUT_NDJSON)))]
    LearnArgs {
        paths: ScanPathArgs,
        log_format: LogFormatArgs,
        sources: LogSourceArgs,
        file_age: FileAgeArgs,
        rules: RuleArgs,
        client: ClientArgs,
        proposals: ProposalArgs,
        app: AppArgs,
        allow: AllowArgs,
        time_range: TimeRangeArgs,
        emit_rules: EmitRulesArgs,
        print: PrintArgs,
        output_file: OutputFileArgs,
        color: ColorArgs,
        progress: ProgressArgs,
        quiet: QuietArgs,
        threads: ThreadArgs,
        mmap: MmapArgs,
        config: ConfigArgs,
    }

    /// The flags of `explain` that are settings.
    #[command(mut_arg("min_severity", |arg| arg.help("Mark rules below this severity as not reported [default: low]")
        .long_help("Mark rules below this severity as not reported [default: low]\n\nLevels are info, low, medium, high, critical.")))]
    ExplainFlags {
        log_format: LogFormatArgs,
        rules: RuleArgs,
        severity: SeverityArgs,
        app: AppArgs,
        format: TextFormatArgs,
        color: ColorArgs,
        config: ConfigArgs,
    }

    /// The flags of `formats`.
    FormatsFlags {
        log_format: LogFormatArgs,
        format: TextFormatArgs,
        color: ColorArgs,
        config: ConfigArgs,
    }

    /// The flags that `merge` and `diff` share: how reports that were written before are printed.
    #[command(mut_arg("format", |arg| arg.help(FORMAT_HELP_WITHOUT_NDJSON).long_help(FORMAT_HELP_WITHOUT_NDJSON)))]
    StoredReportArgs {
        rules: RuleArgs,
        severity: SeverityArgs,
        outcome: OutcomeArgs,
        app: AppArgs,
        print: PrintArgs,
        output_file: OutputFileArgs,
        color: ColorArgs,
        quiet: QuietArgs,
        config: ConfigArgs,
    }

    /// The flags of `merge`.
    #[command(mut_arg("format", |arg| arg.help(FORMAT_HELP_WITHOUT_HITS).long_help(FORMAT_HELP_WITHOUT_HITS_LONG)))]
    MergeFlags {
        stored: StoredReportArgs,
        anonymize: AnonymizeArgs,
        geoip: GeoIpArgs,
        fail_on: FailOnArgs,
        rows: RowArgs,
    }

    /// The flags of `block` that are settings.
    BlockFlags {
        paths: BlockPathArgs,
        block: BlockListArgs,
        block_count: BlockCountArgs,
        log_format: LogFormatArgs,
        sources: LogSourceArgs,
        file_age: FileAgeArgs,
        rules: RuleArgs,
        client: ClientArgs,
        proxy_ranges: ProxyRangeArgs,
        geoip: GeoIpArgs,
        severity: SeverityArgs,
        app: AppArgs,
        allow: AllowArgs,
        time_range: TimeRangeArgs,
        output_file: OutputFileArgs,
        progress: ProgressArgs,
        quiet: QuietArgs,
        threads: ThreadArgs,
        mmap: MmapArgs,
        config: ConfigArgs,
    }

    /// The flags of `verify` that are settings.
    #[command(mut_arg("format", |arg| arg.long_help(Resettable::Reset)),
        mut_arg("output", |arg| arg.help("Save the result as JSON here [default: beside report.json]")
            .long_help("Save the result as JSON here [default: beside report.json]\n\nAs verified.json in the folder of the only report, if that \
                is called report.json; - saves nothing.")))]
    VerifyFlags {
        paths: BlockPathArgs,
        log_format: LogFormatArgs,
        sources: LogSourceArgs,
        file_age: FileAgeArgs,
        rules: RuleArgs,
        client: ClientArgs,
        severity: SeverityArgs,
        app: AppArgs,
        allow: AllowArgs,
        time_range: TimeRangeArgs,
        format: TextFormatArgs,
        output_file: OutputFileArgs,
        color: ColorArgs,
        progress: ProgressArgs,
        quiet: QuietArgs,
        threads: ThreadArgs,
        mmap: MmapArgs,
        config: ConfigArgs,
    }

    /// The flags of `rules list`, `show` and `cover`; the help is the last.
    #[command(disable_help_flag = true, arg(help::flag()))]
    RuleSetFlags {
        rules: RuleArgs,
        config: ConfigArgs,
    }

    /// Every flag that is a setting: each is a variable and a key of the configuration file.
    AllArgs {
        scan: ScanArgs,
        state: StateArgs,
        watch: WatchArgs,
        live: LiveArgs,
        alerts: AlertArgs,
        folders: ReportFolderArgs,
        task: TaskArgs,
        proposals: ProposalArgs,
        emit_rules: EmitRulesArgs,
        block_out: BlockOutArgs,
        block: BlockListArgs,
        block_count: BlockCountArgs,
        metrics: MetricsArgs,
    }
}

/// A flag of `block` in the help of `report`: one line, among what a run writes. 'probewatch block --help' describes it.
fn of_block(flag: Arg) -> Arg {
    flag.hide_short_help(true).help_heading("Reports").long_help(Resettable::Reset)
}

/// The help of `--format` for commands that print neither hits nor pages.
const FORMAT_HELP_WITHOUT_NDJSON: &str = "What to print: table, csv, json [default: table]";

/// The help of `--format` for commands that print no hits.
const FORMAT_HELP_WITHOUT_HITS: &str = "What to print: table, csv, json, html, partial [default: table]";
const FORMAT_HELP_WITHOUT_HITS_LONG: &str = "What to print: table, csv, json, html, partial [default: table]\n\nhtml is one page for a browser that requests nothing: -f html \
    -o page.html. partial is the smallest file that merge reads.";

/// The arguments of `block`.
#[derive(Debug, Clone, Args)]
pub(super) struct BlockArgs {
    /// Format of the list: plain, nft, ipset, nginx, ... [default: plain]
    ///
    /// plain, nft, ipset, nginx (deny lines), nginx-geo (a geo block), apache, crowdsec, fail2ban, abuseipdb, abuse-mail, csv.
    /// Described below.
    #[arg(short, long, value_name = "FORMAT", value_enum, hide_possible_values = true, help_heading = "Block lists")]
    pub(super) format: Option<BlockFormat>,

    /// Settings.
    #[command(flatten)]
    pub(super) flags: BlockFlags,
}

/// The arguments of `explain`.
#[derive(Debug, Clone, Args)]
pub(super) struct ExplainArgs {
    /// A log line in quotes, FILE:LINE, or - for standard input
    ///
    /// A request line (GET /x), a path or a URL is taken as a request. The file of FILE:LINE may be compressed.
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
    pub(super) flags: ExplainFlags,
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
    pub(super) flags: FormatsFlags,
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
    pub(super) flags: MergeFlags,
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
    pub(super) flags: StoredReportArgs,
}

/// The arguments of `verify`.
#[derive(Debug, Clone, Args)]
pub(super) struct VerifyArgs {
    /// Your own site: https://example.com
    ///
    /// Scheme, host and port. No other host is asked. Of a log with hosts, only rows of this one count.
    #[arg(long, value_name = "URL", required = true, value_hint = ValueHint::Url, help_heading = "Requests")]
    pub(super) site: Origin,

    /// Print the URLs, and send nothing
    #[arg(long, help_heading = "Requests")]
    pub(super) dry_run: bool,

    /// Time from one request to the next [default: 1s]
    #[arg(long, value_name = "DURATION", help_heading = "Requests")]
    pub(super) pause: Option<DurationArg>,

    /// Send at most N requests, controls included [default: 200]
    #[arg(long, value_name = "N", help_heading = "Requests")]
    pub(super) max_requests: Option<PositiveCount>,

    /// Trust the certificates in this file alone, as 'curl --cacert'
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Requests")]
    pub(super) cacert: Option<PathBuf>,

    /// Settings.
    #[command(flatten)]
    pub(super) flags: VerifyFlags,
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
    /// Write the built-in rules to a folder, a file each family
    ///
    /// `--no-builtin --rules FOLDER` reads such a folder in place of the built-in rules. So hosts get new rules without a new program.
    /// Each file names its version and the oldest program that reads it.
    Export {
        /// Folder to create, or an empty one
        #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
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
    #[arg(long, default_value = "exposure", hide_possible_values = true, value_parser = PossibleValuesParser::new(Class::ids()))]
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
