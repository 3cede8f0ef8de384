//! What a command was asked to do, in plain values: flags, environment and file are forgotten here.

use std::path::PathBuf;
use std::time::Duration;

use crate::finding::Severity;
use crate::format::LogFormat;
use crate::input::Mmap;
use crate::record::Outcome;
use crate::report::{By, Color, Format};
use crate::rules::RuleChoice;
use crate::time::Bound;

/// Everything `scan` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Files, folders, globs and `-`; empty for standard input.
    pub paths: Vec<PathBuf>,
    /// What to print.
    pub format: Format,
    /// What a row of a CSV is; for a table the one section to print, all where `None`.
    pub by: Option<By>,
    /// Where to print it; `None` is standard output.
    pub output: Option<PathBuf>,
    /// The format of the log; `None` finds out.
    pub log_format: Option<LogFormat>,
    /// Which rules.
    pub rules: RuleChoice,
    /// Apps that run on every site.
    pub apps: Vec<String>,
    /// Files that say what is allowed.
    pub allow: Vec<PathBuf>,
    /// Report from this level on.
    pub min_severity: Severity,
    /// Keep only these outcomes; all where empty.
    pub outcomes: Vec<Outcome>,
    /// Lines before this are not looked at.
    pub since: Option<Bound>,
    /// Lines from this on are not looked at.
    pub until: Option<Bound>,
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

/// Everything `follow` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own, and all settings occur")]
pub struct FollowSettings {
    /// Logs, folders and globs; one at least.
    pub paths: Vec<PathBuf>,
    /// One JSON object a hit, instead of lines for people.
    pub ndjson: bool,
    /// Report what is in the logs already.
    pub from_start: bool,
    /// Where to go on from, and where to note how far it came.
    pub state: Option<PathBuf>,
    /// Forget what the state says.
    pub reset_state: bool,
    /// Use a state folder that others may write to.
    pub insecure_state: bool,
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
    /// The format of the logs; `None` finds out.
    pub log_format: Option<LogFormat>,
    /// Which rules.
    pub rules: RuleChoice,
    /// Apps that run on every site.
    pub apps: Vec<String>,
    /// Files that say what is allowed.
    pub allow: Vec<PathBuf>,
    /// Report from this level on.
    pub min_severity: Severity,
    /// Keep only these outcomes; all where empty.
    pub outcomes: Vec<Outcome>,
    /// Rows in each section of the summary; `None` is the table's default.
    pub top: Option<usize>,
    /// When to colour.
    pub color: Color,
    /// No notices on standard error; errors stay.
    pub quiet: bool,
    /// The longest line that is looked at, in bytes.
    pub max_line: usize,
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
