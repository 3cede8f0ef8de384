//! The settings of commands as plain values, whether they came from flags, environment variables or
//! a file.

use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use crate::formats::FormatChoice;
use crate::input::exclude::NewerThan;
use crate::input::{ByteRange, Mmap};
use crate::judge::report_input::ReportFilter;
use crate::log::client::{ClientIpSource, Ipv6Prefix};
use crate::log::finding::{RuleId, Severity};
use crate::log::log_entry::Outcome;
use crate::log::time::{PeriodRule, TimeBound};
use crate::render::block::BlockFormat;
use crate::render::{Color, GroupBy, OutputFormat};
use crate::report::block_list::BlockListOptions;
use crate::report::verify::Origin;
use crate::report_store::Retention;
use crate::rules::RuleChoice;
use crate::server_config::ConfiguredLog;

/// The settings that all commands share.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own, and all combinations occur"
)]
pub(crate) struct ScanSettings {
    /// Files, folders, globs and `-`; empty for standard input, unless `found` has logs. For
    /// `merge` and `diff`, reports.
    pub paths: Vec<PathBuf>,
    /// Files last modified before this are left out.
    pub newer_than: Option<NewerThan>,
    /// The logs from server configurations, with their formats.
    pub found: Vec<ConfiguredLog>,
    /// The error logs from these configurations. They are not read, even if a glob matches them.
    pub error_logs: Vec<PathBuf>,
    /// What was skipped or is unusual in these configurations, as sentences that are not sanitized.
    pub config_notices: Vec<String>,
    /// The output format.
    pub format: OutputFormat,
    /// The rows of a CSV, or the only section of a table; `None` for all sections.
    pub by: Option<GroupBy>,
    /// All sections of a table.
    pub full: bool,
    /// The output file; `None` is standard output.
    pub output: Option<PathBuf>,
    /// The formats of the logs.
    pub formats: FormatChoice,
    /// Which rules to use.
    pub rules: RuleChoice,
    /// How clients are identified and shown.
    pub client: ClientSettings,
    /// Apps that run on every site.
    pub apps: Vec<String>,
    /// Allow lists.
    pub allow: Vec<PathBuf>,
    /// The severity from which findings are reported.
    pub min_severity: Severity,
    /// Reports only these outcomes; all if empty.
    pub outcomes: Vec<Outcome>,
    /// Lines before this are skipped.
    pub since: Option<TimeBound>,
    /// Lines from this time on are skipped.
    pub until: Option<TimeBound>,
    /// Rows in each section; `None` is the default of the format.
    pub top: Option<usize>,
    /// Exit code 1 if a finding has at least this severity.
    pub fail_on: Option<Severity>,
    /// Number of worker threads; `None` is one for each core.
    pub threads: Option<usize>,
    /// When to map files into memory.
    pub mmap: Mmap,
    /// When to use colours.
    pub color: Color,
    /// Whether a progress bar may be shown.
    pub progress: bool,
    /// No notices on standard error, but errors.
    pub quiet: bool,
    /// Prints statistics of each stage on standard error.
    pub stats: bool,
    /// Only the lines of this byte range of the one input are read.
    pub range: Option<ByteRange>,
    /// The name of standard input in reports.
    pub source: Option<PathBuf>,
    /// The longest line that is read, in bytes.
    pub max_line: usize,
}

impl ScanSettings {
    /// Which hits to report, with the rules of the apps.
    #[must_use]
    pub(crate) fn report_filter<'a>(&'a self, apps: &'a [RuleId]) -> ReportFilter<'a> {
        ReportFilter {
            min_severity: self.min_severity,
            outcomes: &self.outcomes,
            apps,
        }
    }
}

/// How clients are identified and shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientSettings {
    /// The field with the client's address if a proxy writes the log; `None` uses the logged
    /// client.
    pub origin: Option<ClientIpSource>,
    /// The networks of trusted proxies. Their addresses in that field are skipped, and they are
    /// never block candidates.
    pub trusted: Vec<IpNet>,
    /// Files with ranges of proxies of content delivery networks, and the word for none.
    pub proxy_ranges: Vec<PathBuf>,
    /// The length of the IPv6 prefix that counts as one client; `None` for single addresses.
    pub prefix: Option<Ipv6Prefix>,
    /// How clients are hidden.
    pub anonymize: Anonymize,
    /// Whether secrets in targets are masked.
    pub redact: bool,
    /// GeoIP databases.
    pub geoip: Vec<PathBuf>,
}

/// How clients are hidden.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Anonymize {
    /// Not at all.
    #[default]
    Off,
    /// Shows only their network.
    Truncate,
    /// Shows a pseudonym made with the key in this file.
    Key(PathBuf),
}

/// Where to keep the state between runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StateSettings {
    /// The folder of the state.
    pub dir: Option<PathBuf>,
    /// Starts with existing lines, including rotated logs.
    pub from_start: bool,
    /// Discards the existing state.
    pub reset: bool,
    /// Accepts a state folder that others may write to.
    pub insecure: bool,
}

/// The settings of `follow`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FollowSettings {
    /// Shared with `scan`; at least one path.
    pub scan: ScanSettings,
    /// Where to keep the state.
    pub state: StateSettings,
    /// Polls only, without inotify.
    pub poll: bool,
    /// The interval between polls.
    pub poll_interval: Duration,
    /// Folds repeated hits of a client and a rule, in line output.
    pub fold: bool,
    /// Prints a folded count after the client was idle this long.
    pub quiet_for: Duration,
    /// Shows the live view.
    pub tui: bool,
    /// The minimum severity of answered probes that raise an alert.
    pub alert_severity: Severity,
    /// The time in the log until the same alert is raised again.
    pub cooldown: Duration,
    /// A program that gets each alert on its standard input.
    pub exec: Option<PathBuf>,
    /// A file that each alert is appended to.
    pub alert_file: Option<PathBuf>,
    /// The syslog socket.
    pub syslog: Option<PathBuf>,
    /// The file of metrics.
    pub metrics: Option<PathBuf>,
}

/// What `report` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportTask {
    /// Writes reports.
    Run,
    /// Prints what a run would report, and changes nothing.
    DryRun,
    /// Prints how far the logs were read.
    Status,
}

/// The settings of `report`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReportSettings {
    /// Shared with `scan`; at least one path, except for the status.
    pub scan: ScanSettings,
    /// Where to keep the state; its folder is always set.
    pub state: StateSettings,
    /// What to do.
    pub task: ReportTask,
    /// The folder of the report folders; set if anything is written.
    pub out: Option<PathBuf>,
    /// Writes a folder for each of these periods of the log's time, instead of one for each run.
    pub period_rule: Option<PeriodRule>,
    /// Writes a folder even if there is nothing new.
    pub always: bool,
    /// Writes pages and their index.
    pub html: bool,
    /// Which folders to keep.
    pub keep: Retention,
    /// The mode of the files.
    pub mode: u32,
    /// The group of files and folders.
    pub group: Option<String>,
    /// The name of this host in reports; `None` is its host name.
    pub log_host: Option<String>,
    /// Prints a summary from this severity on.
    pub notify_level: Option<Severity>,
    /// The file of metrics.
    pub metrics: Option<PathBuf>,
    /// Waits for a run that holds the lock.
    pub wait: bool,
    /// The block lists that each run replaces.
    pub block_lists: Vec<(PathBuf, BlockFormat)>,
    /// What they may name, and how many block candidates there are in a report.
    pub block: BlockListOptions,
    /// Files with ranges of search engines, which are never listed.
    pub verified_bots: Vec<PathBuf>,
}

/// The settings of `block`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockSettings {
    /// What is read; the paths may be reports.
    pub scan: ScanSettings,
    /// The format of the list.
    pub format: BlockFormat,
    /// What it may name.
    pub options: BlockListOptions,
    /// Files with ranges of search engines, which are never listed.
    pub verified_bots: Vec<PathBuf>,
}

/// The settings of `verify`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VerifySettings {
    /// What is read; the paths may be reports.
    pub scan: ScanSettings,
    /// The site that is asked.
    pub site: Origin,
    /// Prints the URLs and sends nothing.
    pub dry_run: bool,
    /// The least time from the start of a request to that of the next one.
    pub pause: Duration,
    /// The most requests.
    pub max_requests: usize,
    /// The certificates that `curl` trusts; `None` for those of the system.
    pub cacert: Option<PathBuf>,
    /// Where the result is saved, `-` for nowhere; by default beside a `report.json`, if that is the
    /// only input.
    pub save: Option<PathBuf>,
    /// The start of the run, in seconds since 1970.
    pub now: i64,
}

/// The settings of `learn`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LearnSettings {
    /// Shared with `scan`.
    pub scan: ScanSettings,
    /// How many independent probers a proposal needs.
    pub min_probers: usize,
    /// The file for the proposed rules; `-` is standard output.
    pub emit_rules: Option<PathBuf>,
}
