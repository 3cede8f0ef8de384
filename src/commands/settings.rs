//! What a command was asked to do, in plain values: flags, environment and file are forgotten here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;

use crate::client::{ClientIpSource, Ipv6Prefix};
use crate::finding::Severity;
use crate::formats::FormatChoice;
use crate::input::exclude::NewerThan;
use crate::input::{Mmap, rotated_files};
use crate::record::Outcome;
use crate::render::{Color, GroupBy, OutputFormat};
use crate::report_store::Keep;
use crate::rules::RuleChoice;
use crate::server_config::ConfiguredLog;
use crate::time::{PeriodRule, TimeBound};

/// Everything `scan` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own, and all combinations occur")]
pub struct Settings {
    /// Files, folders, globs and `-`; empty for standard input, unless `found` has logs.
    pub paths: Vec<PathBuf>,
    /// Files that were last written to before this are left out.
    pub newer_than: Option<NewerThan>,
    /// Logs that the configurations of servers name, with their formats.
    pub found: Vec<ConfiguredLog>,
    /// Files that these configurations name for errors: no access logs, though a pattern of one may lead to them.
    pub error_logs: Vec<PathBuf>,
    /// What these configurations say that is left alone or odd, in sentences that are not sanitised.
    pub left: Vec<String>,
    /// What to print.
    pub format: OutputFormat,
    /// What a row of a CSV is; for a table the one section to print, all where `None`.
    pub by: Option<GroupBy>,
    /// All sections of a table.
    pub full: bool,
    /// Where to print it; `None` is standard output.
    pub output: Option<PathBuf>,
    /// The formats of the logs.
    pub formats: FormatChoice,
    /// Which rules.
    pub rules: RuleChoice,
    /// Who asked, and how much of that is told.
    pub client: ClientSettings,
    /// Apps that run on every site.
    pub apps: Vec<String>,
    /// Files that say what is allowed.
    pub allow: Vec<PathBuf>,
    /// Report from this level on.
    pub min_severity: Severity,
    /// Keep only these outcomes; all where empty.
    pub outcomes: Vec<Outcome>,
    /// Lines before this are not looked at.
    pub since: Option<TimeBound>,
    /// Lines from this on are not looked at.
    pub until: Option<TimeBound>,
    /// Rows in each section; `None` is the format's own default.
    pub top: Option<usize>,
    /// Exit 1 when something at or above this was found.
    pub fail_on: Option<Severity>,
    /// Worker threads; `None` is one a core.
    pub threads: Option<usize>,
    /// When to map files.
    pub mmap: Mmap,
    /// When to colour.
    pub color: Color,
    /// Whether a progress bar may be shown.
    pub progress: bool,
    /// No notices on standard error; errors stay.
    pub quiet: bool,
    /// Print what each stage came to on standard error.
    pub stats: bool,
    /// The longest line that is looked at, in bytes.
    pub max_line: usize,
}

/// Who asked, and how much of that is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSettings {
    /// Where proxies wrote who asked; `None` takes the client as logged.
    pub origin: Option<ClientIpSource>,
    /// The networks of proxies: believed in `origin`, and never to be blocked.
    pub trusted: Vec<IpNet>,
    /// Which IPv6 addresses are one client; `None` for each by itself.
    pub prefix: Option<Ipv6Prefix>,
    /// How clients are hidden.
    pub anonymize: Option<Anonymize>,
    /// Whether secrets in targets are hidden.
    pub redact: bool,
}

/// How clients are hidden.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Anonymize {
    /// Only their network is told.
    Truncate,
    /// A pseudonym is told, made with the key in this file.
    Key(PathBuf),
}

impl Settings {
    /// What a server's configuration says of this file, or of the log that was rotated to it: more than once where it says more
    /// than one format.
    pub fn named<'a>(&'a self, file: &Path) -> impl Iterator<Item = &'a ConfiguredLog> {
        self.found.iter().filter(move |log| rotated_files::belongs(&log.path, file))
    }
}

/// What is remembered from one run to the next, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StateSettings {
    /// Where to go on from, and where to note how far it came.
    pub dir: Option<PathBuf>,
    /// Begin with what is in the logs already, the rotated ones too.
    pub from_start: bool,
    /// Forget what the state says.
    pub reset: bool,
    /// Use a state folder that others may write to.
    pub insecure: bool,
}

/// Everything `follow` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own, and all settings occur")]
pub struct FollowSettings {
    /// What it shares with a scan; one path at least.
    pub scan: Settings,
    /// Where it goes on from.
    pub state: StateSettings,
    /// One JSON object a hit, instead of lines for people.
    pub ndjson: bool,
    /// Ask the system for no events.
    pub poll: bool,
    /// How often to look at all logs.
    pub poll_interval: Duration,
    /// Fold repeats of a client and a rule; lines only.
    pub fold: bool,
    /// How long a client rests before its folded hits are told.
    pub quiet_for: Duration,
    /// Show the live view.
    pub tui: bool,
    /// After how long the same alert is raised again, by the log's time.
    pub cooldown: Duration,
    /// Gets each alert on its standard input.
    pub exec: Option<PathBuf>,
    /// Gets each alert appended.
    pub alert_file: Option<PathBuf>,
    /// The socket of the system's log.
    pub syslog: Option<PathBuf>,
}

/// What a `report` is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// A run.
    Run,
    /// Say what a run would report, and change nothing.
    DryRun,
    /// Say how far the logs were read.
    Status,
}

/// Everything `report` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportSettings {
    /// What it shares with a scan; one path at least, unless it is only to say how far the logs were read.
    pub scan: Settings,
    /// Where it goes on from; a folder always.
    pub state: StateSettings,
    /// What to do.
    pub task: Task,
    /// The folder of the reports' folders; there unless nothing is written.
    pub out: Option<PathBuf>,
    /// A folder for each of these periods by the log's time, in place of one for each run.
    pub cut: Option<PeriodRule>,
    /// Make a folder even when there is nothing new.
    pub always: bool,
    /// Which folders to keep.
    pub keep: Keep,
    /// Permissions of the files.
    pub mode: u32,
    /// Group of the files and folders.
    pub group: Option<String>,
    /// What this machine is called; `None` is its host name.
    pub machine: Option<String>,
    /// Print a summary from this level on.
    pub notify_level: Option<Severity>,
    /// So many clients to block at most.
    pub max_block: Option<usize>,
    /// Wait for a run that is under way.
    pub wait: bool,
}

/// Everything `learn` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearnSettings {
    /// What it shares with a scan.
    pub scan: Settings,
    /// Independent probers that a proposal needs.
    pub min_probers: usize,
    /// Where the proposals go as rules; `-` is standard output.
    pub emit_rules: Option<PathBuf>,
}

/// What `merge` and `diff` both need to know: how reports are told again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetoldSettings {
    /// Which rules.
    pub rules: RuleChoice,
    /// How clients are hidden.
    pub anonymize: Option<Anonymize>,
    /// Apps that run on every site.
    pub apps: Vec<String>,
    /// Report from this level on.
    pub min_severity: Severity,
    /// Keep only these outcomes; all where empty.
    pub outcomes: Vec<Outcome>,
    /// What to print.
    pub format: OutputFormat,
    /// Rows in each section; `None` is the format's own default.
    pub top: Option<usize>,
    /// Where to print it; `None` is standard output.
    pub output: Option<PathBuf>,
    /// When to colour.
    pub color: Color,
    /// No notices on standard error; errors stay.
    pub quiet: bool,
}

/// Everything `merge` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeSettings {
    /// The reports, or the folders they lie in; `-` is standard input.
    pub reports: Vec<PathBuf>,
    /// What a row of a CSV is; for a table the one section to print, all where `None`.
    pub by: Option<GroupBy>,
    /// All sections of a table.
    pub full: bool,
    /// Exit 1 when something at or above this was found.
    pub fail_on: Option<Severity>,
    /// How they are told again.
    pub retold: RetoldSettings,
}

/// Everything `diff` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffSettings {
    /// The report before, or the folder it lies in.
    pub old: PathBuf,
    /// The report after, or the folder it lies in.
    pub new: PathBuf,
    /// How they are told again.
    pub retold: RetoldSettings,
}
