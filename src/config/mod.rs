//! From flags of several sources to the plain values that a command works with.
//!
//! Precedence: flag, environment variable, configuration file, default. Knows no command line:
//! `cli` turns flags, variables and the file into a [`Flags`] each. Opens only lists of proxies and
//! the server configurations whose logs are requested.
//!
//! Errors explain what is wrong with the settings, and what to type instead. Text from arguments
//! and files is escaped before it gets there.

mod clients;
mod flags;
pub(crate) mod time_spec;
pub(crate) mod value;

pub(crate) use self::clients::ClientError;
pub(crate) use self::flags::Flags;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, io};

use jiff::tz::TimeZone;
use rustix::fs::{FileType, fstat};

use self::time_spec::TimeSpec;
use self::value::{
    ByteSize, Cost, DurationArg, FieldKey, FileMode, LevelOrNever, LogFormatSpec, OnOff,
    PositiveCount, PrefixBits, RangeSpec, word,
};
use crate::alerting::FIND_SEVERITY;
use crate::commands::explain::ExplainSettings;
use crate::commands::formats::FormatsSettings;
use crate::commands::message::sanitized;
use crate::commands::verify::SaveTo;
use crate::commands::{
    BlockListSettings, BlockSettings, BlockTarget, DiffSettings, FollowSettings, LearnSettings,
    MergeSettings, ReportFilterSettings, ReportSettings, ReportTask, ScanSettings, StateSettings,
    VerifySettings,
};
use crate::formats::FormatChoice;
use crate::input::exclude::NewerThan;
use crate::input::read::MAX_LINE;
use crate::log::finding::Severity;
use crate::log::time::{PeriodRule, PeriodUnit, TimeBound};
use crate::render::OutputFormat;
use crate::render::block::BlockFormat;
use crate::report_store::Retention;
use crate::rules::RuleChoice;
use crate::server_config::{self, ConfiguredLogs, ServerConfigError};

/// The default of `--min-probers`.
pub(crate) const MIN_PROBERS: usize = 3;

/// The default of `--poll-interval`.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The default of `--quiet-for`.
pub(crate) const DEFAULT_QUIET_FOR: Duration = Duration::from_secs(5);

/// The default of `--cooldown`.
pub(crate) const COOLDOWN: Duration = Duration::from_secs(600);

/// The default of `--mode`.
pub(crate) const MODE: u32 = 0o600;

/// The default of `--notify-level`.
pub(crate) const NOTIFY_LEVEL: Severity = Severity::High;

/// The value of `--from-nginx` and `--from-apache` for the path that packages use.
const SERVER_CONFIG_AUTO: &str = "auto";

/// The default of `--ttl`.
pub(crate) const BLOCK_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The default of `verify --pause`: a site is not to notice the requests.
pub(crate) const VERIFY_PAUSE: Duration = Duration::from_secs(1);

/// The default of `verify --max-requests`.
pub(crate) const VERIFY_REQUESTS: usize = 200;

/// The start of the name of every variable that sets a flag: `--top` is `PROBEWATCH_TOP`.
pub(crate) const PREFIX: &str = "PROBEWATCH_";

/// What a run finds around it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Environment {
    /// Environment variables whose names start with [`PREFIX`], sorted by name.
    pub variables: Vec<(OsString, OsString)>,
    /// The start of the run, in seconds since 1970-01-01T00:00:00Z.
    pub now: i64,
    /// Whether standard input may contain a log: it is neither a terminal nor a character device.
    pub stdin_is_given: bool,
    /// The time zone of times without an offset.
    pub zone: LocalZone,
}

/// The time zone of times without an offset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LocalZone {
    /// UTC.
    #[default]
    Utc,
    /// The zone of the system. Only a time that needs it reads it, because that lists all zones.
    System,
}

impl LocalZone {
    /// The zone; `None` is UTC.
    fn zone(self) -> Option<TimeZone> {
        match self {
            Self::Utc => None,
            Self::System => TimeZone::try_system().ok(),
        }
    }
}

impl Environment {
    /// The environment of this process, now.
    #[must_use]
    pub(crate) fn capture() -> Self {
        let has_prefix = |name: &OsString| name.as_encoded_bytes().starts_with(PREFIX.as_bytes());
        let mut variables: Vec<_> = env::vars_os()
            .filter(|(name, _)| has_prefix(name))
            .collect();
        variables.sort();
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX);
        Self {
            variables,
            now,
            stdin_is_given: stdin_is_given(),
            zone: LocalZone::System,
        }
    }
}

/// Whether standard input is a pipe, a file or a socket. A terminal waits for a person, and cron
/// and service managers connect a character device such as /dev/null, which is empty.
fn stdin_is_given() -> bool {
    let stdin = io::stdin();
    let is_device = || {
        fstat(&stdin)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice)
    };
    !stdin.is_terminal() && !is_device()
}

/// The settings of a scan.
///
/// # Errors
///
/// [`Error::NothingToRead`], [`Error::NoTime`], [`Error::Server`], [`Error::Clients`].
pub(crate) fn scan_settings(
    flags: Flags,
    environment: &Environment,
) -> Result<ScanSettings, Error> {
    if flags.has_no_input() && !environment.stdin_is_given {
        return Err(Error::NothingToRead);
    }
    check_partial(&flags)?;
    let logs = server_logs(&flags)?;
    let (since, until) = bounds(&flags, environment.now)?;
    let client = clients::settings(&flags)?;
    let quiet = flags.is_quiet();
    let newer = |time: TimeSpec| NewerThan {
        as_typed: time.to_string(),
        since: time.instant(environment.now, || environment.zone.zone()),
    };
    let rules = rule_choice(&flags);
    Ok(ScanSettings {
        paths: flags.paths,
        newer_than: flags.newer_than.map(newer),
        found: logs.logs,
        error_logs: logs.error_logs,
        config_notices: logs.notices,
        format: flags.format.unwrap_or_default(),
        by: flags.by,
        full: flags.full.unwrap_or(false),
        output: flags.output.filter(|path| path != Path::new("-")),
        formats: format_choice(flags.log_format, flags.field),
        rules,
        client,
        apps: flags.app,
        allow: flags.allow,
        min_severity: flags.min_severity.unwrap_or(Severity::DEFAULT_MIN),
        outcomes: flags.outcome,
        since,
        until,
        top: flags.top.map(PositiveCount::get),
        fail_on: flags.fail_on.and_then(|LevelOrNever(level)| level),
        threads: flags.threads.map(PositiveCount::get),
        mmap: flags.mmap.unwrap_or_default(),
        color: flags.color.unwrap_or_default(),
        progress: !flags.no_progress.unwrap_or(false),
        quiet,
        stats: flags.stats.unwrap_or(false),
        range: flags.range.map(RangeSpec::range),
        source: flags.source,
        max_line: flags.max_line.map_or(MAX_LINE, ByteSize::bytes),
    })
}

/// A partial report contains all clients.
fn check_partial(flags: &Flags) -> Result<(), Error> {
    let is_hidden = flags.format == Some(OutputFormat::Partial)
        && clients::anonymize(flags.anonymize.as_ref()).is_some();
    if is_hidden {
        Err(Error::HiddenPartial)
    } else {
        Ok(())
    }
}

/// The settings of an `explain` of `line`, by `rule` alone, with the answer graded by `log`.
#[must_use]
pub(crate) fn explain_settings(
    line: OsString,
    rule: Option<String>,
    log: Option<PathBuf>,
    flags: Flags,
) -> ExplainSettings {
    let (quiet, rules) = (flags.is_quiet(), rule_choice(&flags));
    ExplainSettings {
        line,
        rule,
        log,
        formats: format_choice(flags.log_format, flags.field),
        rules,
        apps: flags.app,
        allow: flags.allow,
        prefix: flags.ipv6_prefix.and_then(PrefixBits::prefix),
        min_severity: flags.min_severity.unwrap_or(Severity::DEFAULT_MIN),
        max_line: flags.max_line.map_or(MAX_LINE, ByteSize::bytes),
        format: flags.format.unwrap_or_default(),
        color: flags.color.unwrap_or_default(),
        quiet,
    }
}

/// The settings of a `formats` of these files.
#[must_use]
pub(crate) fn formats_settings(files: Vec<PathBuf>, flags: Flags) -> FormatsSettings {
    FormatsSettings {
        paths: files,
        formats: format_choice(flags.log_format, flags.field),
        max_line: flags.max_line.map_or(MAX_LINE, ByteSize::bytes),
        format: flags.format.unwrap_or_default(),
        color: flags.color.unwrap_or_default(),
    }
}

/// The settings of a `learn`.
///
/// # Errors
///
/// Errors of a scan, [`Error::NoFormat`], [`Error::SameOutput`].
pub(crate) fn learn_settings(
    mut flags: Flags,
    environment: &Environment,
) -> Result<LearnSettings, Error> {
    let (min_probers, emit_rules) = (
        flags.min_probers.map_or(MIN_PROBERS, PositiveCount::get),
        flags.emit_rules.take(),
    );
    let scan = scan_settings(flags, environment)?;
    if !matches!(
        scan.format,
        OutputFormat::Table | OutputFormat::Csv | OutputFormat::Json
    ) {
        return Err(Error::NoFormat {
            command: "learn",
            format: word(&scan.format),
        });
    }
    if let Some(file) = &emit_rules {
        let to_stdout = file == Path::new("-");
        if scan
            .output
            .as_ref()
            .map_or(to_stdout, |output| output == file)
        {
            let output = if to_stdout {
                "standard output".to_owned()
            } else {
                sanitized(&file.to_string_lossy())
            };
            return Err(Error::SameOutput { output });
        }
    }
    Ok(LearnSettings {
        scan: ScanSettings {
            range: None,
            source: None,
            ..scan
        },
        min_probers,
        emit_rules,
    })
}

/// The settings of a `follow`.
///
/// # Errors
///
/// Errors of a scan, [`Error::NothingToFollow`], [`Error::OnlyLive`], [`Error::MetricsName`].
pub(crate) fn follow_settings(
    mut flags: Flags,
    environment: &Environment,
) -> Result<FollowSettings, Error> {
    if flags
        .format
        .is_some_and(|format| format != OutputFormat::Table && format.hit_format().is_none())
    {
        return Err(Error::OnlyLive);
    }
    if flags.has_no_input() {
        return Err(Error::NothingToFollow);
    }
    let is_pipe = names_stdin(&flags);
    if is_pipe && (flags.paths.len() > 1 || flags.state.is_some() || flags.tui == Some(true)) {
        return Err(Error::PipeAlone);
    }
    let duration = |given: Option<DurationArg>, default: Duration| {
        given.map_or(default, DurationArg::duration)
    };
    let state = state_settings(&mut flags);
    let (exec, alert_file, syslog) = (
        flags.exec.take(),
        flags.alert_file.take(),
        flags.syslog.take(),
    );
    let poll = flags.poll.unwrap_or(false);
    let poll_interval = duration(flags.poll_interval, POLL_INTERVAL);
    let fold = flags.fold != Some(OnOff::Off);
    let quiet_for = duration(flags.quiet_for, DEFAULT_QUIET_FOR);
    let tui = flags.tui.unwrap_or(false);
    let alert_severity = flags.alert_severity.unwrap_or(FIND_SEVERITY);
    let cooldown = duration(flags.cooldown, COOLDOWN);
    let metrics = metrics_file(&mut flags)?;
    let scan = scan_settings(flags, environment)?;
    Ok(FollowSettings {
        scan,
        state,
        poll,
        poll_interval,
        fold,
        quiet_for,
        tui,
        alert_severity,
        cooldown,
        exec,
        alert_file,
        syslog,
        metrics,
    })
}

/// The settings of a `report`.
///
/// # Errors
///
/// Errors of a scan, [`Error::NothingToReport`], [`Error::NoState`], [`Error::NoOut`],
/// [`Error::NoPeriod`], [`Error::Zone`].
pub(crate) fn report_settings(
    mut flags: Flags,
    environment: &Environment,
) -> Result<ReportSettings, Error> {
    let task = match (
        flags.status.unwrap_or(false),
        flags.dry_run.unwrap_or(false),
    ) {
        (true, _) => ReportTask::Status,
        (_, true) => ReportTask::DryRun,
        _ => ReportTask::Run,
    };
    if flags.has_no_input() && task != ReportTask::Status || names_stdin(&flags) {
        return Err(Error::NothingToReport);
    }
    if flags.state.is_none() {
        return Err(Error::NoState);
    }
    if flags.out.is_none() && task == ReportTask::Run {
        return Err(Error::NoOut);
    }
    let cut = period(&flags)?;
    let state = state_settings(&mut flags);
    let (out, group, log_host) = (flags.out.take(), flags.group.take(), flags.log_host.take());
    let (always, html) = (flags.always.unwrap_or(false), flags.html.unwrap_or(false));
    let keep = Retention {
        runs: flags.keep_runs.map(PositiveCount::get),
        age: flags.keep.map(DurationArg::duration),
    };
    let mode = flags.mode.map_or(MODE, FileMode::bits);
    let notify_level = flags
        .notify_level
        .map_or(Some(NOTIFY_LEVEL), |LevelOrNever(level)| level);
    let max_block = flags.max_block.map(PositiveCount::get);
    let wait = flags.wait.unwrap_or(false);
    let metrics = metrics_file(&mut flags)?;
    let (block_lists, block) = (block_targets(&mut flags)?, block_list_settings(&mut flags));
    // A report never reads standard input, so a `--status` without paths lacks nothing.
    let scan = scan_settings(
        flags,
        &Environment {
            stdin_is_given: true,
            ..environment.clone()
        },
    )?;
    if !block_lists.is_empty() && scan.client.anonymize.is_some() {
        return Err(Error::HiddenBlockList);
    }
    Ok(ReportSettings {
        scan,
        state,
        task,
        out,
        cut,
        always,
        html,
        keep,
        mode,
        group,
        log_host,
        notify_level,
        max_block,
        metrics,
        wait,
        block_lists,
        block,
    })
}

/// The pairs of `--block-out` and `--block-format`.
fn block_targets(flags: &mut Flags) -> Result<Vec<BlockTarget>, Error> {
    let (paths, formats) = (
        std::mem::take(&mut flags.block_out),
        std::mem::take(&mut flags.block_format),
    );
    if paths.len() != formats.len() {
        return Err(Error::BlockPairs {
            files: paths.len(),
            formats: formats.len(),
        });
    }
    if let Some(format) = formats.iter().find(|format| format.is_abuse_report()) {
        return Err(Error::BlockReport(word(format)));
    }
    if let Some(path) = paths
        .iter()
        .enumerate()
        .find_map(|(at, path)| paths[..at].contains(path).then_some(path))
    {
        return Err(Error::BlockTwice(sanitized(&path.to_string_lossy())));
    }
    Ok(paths
        .into_iter()
        .zip(formats)
        .map(|(path, format)| BlockTarget { path, format })
        .collect())
}

fn block_list_settings(flags: &mut Flags) -> BlockListSettings {
    BlockListSettings {
        max_cost: flags.max_cost.map_or(0, Cost::get),
        max: flags.max_block.map(PositiveCount::get),
        ttl: flags.ttl.map_or(BLOCK_TTL, DurationArg::duration),
        aggregate: flags.aggregate.map(PositiveCount::get),
        verified: std::mem::take(&mut flags.verified_bots),
    }
}

/// The settings of a `block` in this format.
///
/// # Errors
///
/// Errors of a scan, [`Error::HiddenBlockList`].
pub(crate) fn block_settings(
    format: Option<BlockFormat>,
    mut flags: Flags,
    environment: &Environment,
) -> Result<BlockSettings, Error> {
    // Formats of other commands may be in a variable or in the file.
    flags.format = None;
    let list = block_list_settings(&mut flags);
    let scan = scan_settings(flags, environment)?;
    if scan.client.anonymize.is_some() {
        return Err(Error::HiddenBlockList);
    }
    Ok(BlockSettings {
        scan,
        format: format.unwrap_or_default(),
        list,
        now: environment.now,
    })
}

/// The settings of a `verify`.
///
/// # Errors
///
/// Errors of a scan, [`Error::NoSite`].
pub(crate) fn verify_settings(
    mut flags: Flags,
    environment: &Environment,
) -> Result<VerifySettings, Error> {
    let save = match flags.output.take() {
        None => SaveTo::ReportFolder,
        Some(file) if file == Path::new("-") => SaveTo::Nowhere,
        Some(file) => SaveTo::File(file),
    };
    Ok(VerifySettings {
        site: flags.site.take().ok_or(Error::NoSite)?,
        dry_run: flags.dry_run.unwrap_or(false),
        pause: flags.pause.map_or(VERIFY_PAUSE, DurationArg::duration),
        max_requests: flags
            .max_requests
            .map_or(VERIFY_REQUESTS, PositiveCount::get),
        cacert: flags.cacert.take(),
        save,
        now: environment.now,
        scan: scan_settings(flags, environment)?,
    })
}

/// The file of `--metrics`. The required name also keeps a log or another file from being replaced
/// by mistake.
fn metrics_file(flags: &mut Flags) -> Result<Option<PathBuf>, Error> {
    match flags.metrics.take() {
        Some(file) if file.extension().is_none_or(|extension| extension != "prom") => {
            Err(Error::MetricsName(sanitized(&file.to_string_lossy())))
        }
        file => Ok(file),
    }
}

fn period(flags: &Flags) -> Result<Option<PeriodRule>, Error> {
    let unit = match (flags.daily.unwrap_or(false), flags.hourly.unwrap_or(false)) {
        (_, true) => PeriodUnit::Hour,
        (true, _) => PeriodUnit::Day,
        _ if flags.timezone.is_some() => return Err(Error::NoPeriod),
        _ => return Ok(None),
    };
    clients::check_periods(flags)?;
    PeriodRule::new(unit, flags.timezone.as_deref())
        .map(Some)
        .map_err(Error::Zone)
}

fn names_stdin(flags: &Flags) -> bool {
    flags.paths.iter().any(|path| path == Path::new("-"))
}

fn state_settings(flags: &mut Flags) -> StateSettings {
    StateSettings {
        dir: flags.state.take(),
        from_start: flags.from_start.unwrap_or(false),
        reset: flags.reset_state.unwrap_or(false),
        insecure: flags.insecure_state.unwrap_or(false),
    }
}

/// The settings of a `merge` of these reports.
///
/// # Errors
///
/// [`Error::NoHits`], [`Error::NoFormat`].
pub(crate) fn merge_settings(
    reports: Vec<PathBuf>,
    mut flags: Flags,
) -> Result<MergeSettings, Error> {
    let geoip = std::mem::take(&mut flags.geoip);
    let (by, full) = (flags.by, flags.full.unwrap_or(false));
    let fail_on = flags.fail_on.and_then(|LevelOrNever(level)| level);
    Ok(MergeSettings {
        reports,
        by,
        full,
        fail_on,
        geoip,
        filter: stored_report_settings("merge", flags)?,
    })
}

/// The settings of a `diff` of these reports.
///
/// # Errors
///
/// [`Error::NoHits`], [`Error::NoFormat`].
pub(crate) fn diff_settings(
    old: PathBuf,
    new: PathBuf,
    flags: Flags,
) -> Result<DiffSettings, Error> {
    if flags.format == Some(OutputFormat::Html) {
        return Err(Error::NoFormat {
            command: "diff",
            format: "html".to_owned(),
        });
    }
    if flags.format == Some(OutputFormat::Partial) {
        return Err(Error::NoFormat {
            command: "diff",
            format: "partial".to_owned(),
        });
    }
    Ok(DiffSettings {
        old,
        new,
        filter: stored_report_settings("diff", flags)?,
    })
}

fn stored_report_settings(
    command: &'static str,
    flags: Flags,
) -> Result<ReportFilterSettings, Error> {
    let format = flags.format.unwrap_or_default();
    if format.hit_format().is_some() {
        return Err(Error::NoHits {
            command,
            format: word(&format),
        });
    }
    if format == OutputFormat::Prometheus {
        return Err(Error::NoFormat {
            command,
            format: word(&format),
        });
    }
    check_partial(&flags)?;
    Ok(ReportFilterSettings {
        rules: rule_choice(&flags),
        anonymize: clients::anonymize(flags.anonymize.as_ref()),
        quiet: flags.is_quiet(),
        apps: flags.app,
        min_severity: flags.min_severity.unwrap_or(Severity::DEFAULT_MIN),
        outcomes: flags.outcome,
        format,
        top: flags.top.map(PositiveCount::get),
        output: flags.output.filter(|path| path != Path::new("-")),
        color: flags.color.unwrap_or_default(),
    })
}

/// The rules to load.
#[must_use]
pub(crate) fn rule_choice(flags: &Flags) -> RuleChoice {
    RuleChoice {
        paths: flags.rules.clone(),
        no_builtin: flags.no_builtin.unwrap_or(false),
        disable: flags.disable.clone(),
        only: flags.only.clone(),
        severity: flags
            .severity
            .iter()
            .map(|change| (change.id.clone(), change.level))
            .collect(),
        no_prefilter: flags.no_prefilter.unwrap_or(false),
        with_cases: false,
    }
}

fn format_choice(format: Option<LogFormatSpec>, fields: Vec<FieldKey>) -> FormatChoice {
    let fields = fields
        .into_iter()
        .map(|FieldKey { meaning, key }| (meaning, key))
        .collect();
    FormatChoice {
        requested: format.and_then(LogFormatSpec::format),
        fields,
    }
}

fn bounds(flags: &Flags, now: i64) -> Result<(Option<TimeBound>, Option<TimeBound>), Error> {
    let (from, to) = (flags.since.as_ref(), flags.until.as_ref());
    let (since, until) = (
        from.map(|time| time.bound(now)),
        to.map(|time| time.bound(now)),
    );
    if let (Some(from), Some(to), Some(since), Some(until)) = (from, to, since, until)
        && time_spec::is_empty(since, until)
    {
        return Err(Error::NoTime {
            since: from.to_string(),
            until: to.to_string(),
        });
    }
    Ok((since, until))
}

/// The logs that the configurations of servers name.
fn server_logs(flags: &Flags) -> Result<ConfiguredLogs, Error> {
    let mut all = ConfiguredLogs::default();
    let mut add = |logs: Result<ConfiguredLogs, ServerConfigError>| -> Result<(), Error> {
        let logs = logs.map_err(|error| Error::Server(sanitized(&error.to_string())))?;
        all.logs.extend(logs.logs);
        all.error_logs.extend(logs.error_logs);
        all.notices.extend(logs.notices);
        Ok(())
    };
    if let Some(path) = &flags.from_nginx {
        add(server_config::read_nginx(&server_config_path(
            path,
            &server_config::NGINX_CONFIG_PATHS,
        )))?;
    }
    if let Some(path) = &flags.from_apache {
        add(server_config::read_apache(&server_config_path(
            path,
            &server_config::APACHE_CONFIG_PATHS,
        )))?;
    }
    Ok(all)
}

/// The path of a server's configuration. Where `auto` finds none it is the most usual path, for the
/// error message.
fn server_config_path(given: &Path, usual: &[&str]) -> PathBuf {
    if given.as_os_str() != SERVER_CONFIG_AUTO {
        return given.to_owned();
    }
    server_config::first_existing(usual)
        .unwrap_or_else(|| usual.first().map(PathBuf::from).unwrap_or_default())
}

/// Why a run was not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// No path, and standard input is not piped.
    #[error("nothing to read: no path is given, and standard input is a terminal or a device")]
    NothingToRead,
    /// No line can be between the two.
    #[error(
        "no line is between --since {since} and --until {until}: the first is not before the second"
    )]
    NoTime {
        /// `--since` as it was typed.
        since: String,
        /// `--until` as it was typed.
        until: String,
    },
    /// The configuration file cannot be read.
    #[error("cannot read the configuration file '{path}': {source}")]
    Unreadable {
        /// The file, escaped.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The configuration of a server is wrong or missing. Holds the message, escaped.
    #[error("{0}")]
    Server(String),
    /// The configuration file is wrong.
    #[error("{path}: {message}")]
    File {
        /// The file, escaped.
        path: String,
        /// What is wrong, with the line and a mark under it.
        message: String,
    },
    /// A format of hits or of metrics has no rows.
    #[error("--by applies to table and csv; {format} prints {what}, not rows")]
    ByFormat {
        /// The format.
        format: String,
        /// What it prints.
        what: &'static str,
    },
    /// A page has all sections.
    #[error("--by applies to table and csv; a page has all sections")]
    ByHtml,
    /// No path to follow.
    #[error("nothing to follow: name logs, folders or globs, or - for a pipe")]
    NothingToFollow,
    /// A pipe with what it cannot have.
    #[error(
        "follow - reads a pipe alone: it has no state, because a pipe cannot be read again, and no live view, which reads the keyboard"
    )]
    PipeAlone,
    /// `follow` never ends, so a document would never be complete.
    #[error(
        "follow prints only table, ndjson, ecs or ocsf: csv, json, html, prometheus and partial need a complete log"
    )]
    OnlyLive,
    /// No path to report on, or standard input.
    #[error("nothing to report on: name logs, folders or globs; standard input cannot be used")]
    NothingToReport,
    /// `report` without a state.
    #[error("report needs a folder for its state: --state is missing")]
    NoState,
    /// `report` without a folder for reports.
    #[error("report needs a folder for its reports: --out is missing")]
    NoOut,
    /// `verify` without a site.
    #[error("verify asks your own site: --site is missing")]
    NoSite,
    /// A time zone without periods.
    #[error("--timezone applies to --daily and --hourly, and neither is given")]
    NoPeriod,
    /// No such time zone. Holds the message.
    #[error("--timezone: {0}")]
    Zone(String),
    /// A partial report is for `merge`.
    #[error("--by applies to table and csv; a partial report has no rows")]
    ByPartial,
    /// Without its clients a partial report could not be merged.
    #[error("a partial report contains the clients, so --anonymize does not apply to it")]
    HiddenPartial,
    /// A command that has no such format.
    #[error("{command} does not print {format}")]
    NoFormat {
        /// The command.
        command: &'static str,
        /// The format.
        format: String,
    },
    /// A report has counts, not hits.
    #[error("{command} does not print {format}: a report contains no single hits")]
    NoHits {
        /// The command.
        command: &'static str,
        /// The format.
        format: String,
    },
    /// A file of metrics that would not be read. Holds its name, escaped.
    #[error(
        "--metrics '{0}': the name must end in .prom, because node_exporter reads no other file"
    )]
    MetricsName(String),
    /// The settings on clients are wrong.
    #[error(transparent)]
    Clients(#[from] ClientError),
    /// Each block list needs a file and a format.
    #[error("{files} of --block-out and {formats} of --block-format: each list needs both")]
    BlockPairs {
        /// Files.
        files: usize,
        /// Formats.
        formats: usize,
    },
    /// Two block lists in one file. Holds the file, escaped.
    #[error("--block-out names {0} twice: each list needs a file of its own")]
    BlockTwice(String),
    /// An abuse report is sent once; a list is replaced by every run. Holds the format.
    #[error("--block-format {0} is a report to others, not a list that each run can replace")]
    BlockReport(String),
    /// A block list names addresses.
    #[error("a block list needs the addresses of clients, and --anonymize hides them")]
    HiddenBlockList,
    /// The report and the rules would overwrite each other.
    #[error("the report and --emit-rules would both go to {output}")]
    SameOutput {
        /// The file, escaped, or standard output.
        output: String,
    },
}

impl Error {
    /// What to type instead, where the message does not contain it.
    #[must_use]
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NothingToRead => {
                Some("name a log or a folder of logs, such as: probewatch scan /var/log/nginx/")
            }
            Self::NoTime { .. } => Some(
                "--until is exclusive: for the first day of November type --since 2026-11-01 --until 2026-11-02",
            ),
            Self::Unreadable { .. } => {
                Some("name an existing file with --config or PROBEWATCH_CONFIG, or use neither")
            }
            Self::NothingToFollow => Some("type: probewatch follow /var/log/nginx/access.log"),
            Self::PipeAlone => Some("omit the other paths, --state and --tui"),
            Self::NothingToReport => Some(
                "type: probewatch report --state DIR --out DIR /var/log/nginx/, or for a pipe: probewatch scan -",
            ),
            Self::NoState => Some(
                "type: probewatch report --state /var/lib/probewatch --out DIR PATH, or for a single run: probewatch scan PATH",
            ),
            Self::NoOut => Some(
                "type: probewatch report --out /srv/reports --state DIR PATH, or add --dry-run to write nothing",
            ),
            Self::NoSite => Some("type: probewatch verify --site https://example.com REPORT"),
            Self::NoPeriod => Some("add --daily or --hourly, or remove --timezone"),
            Self::ByFormat { .. } | Self::ByHtml | Self::ByPartial => {
                Some("type -f csv with --by, or remove --by")
            }
            Self::OnlyLive => Some(
                "type -f ndjson, or remove -f; 'probewatch scan' prints CSV, JSON and pages; --metrics FILE writes metrics",
            ),
            Self::HiddenPartial => Some(
                "remove --anonymize here, and type it with the last merge: probewatch merge --anonymize FILE...",
            ),
            Self::NoFormat { .. } | Self::NoHits { .. } => Some("type -f table, -f csv or -f json"),
            Self::SameOutput { .. } => {
                Some("name two files, or remove --output to print the report on standard output")
            }
            Self::Clients(error) => error.hint(),
            Self::BlockPairs { .. } => Some(
                "type --block-out /var/lib/probewatch/block.nft --block-format nft, once for each list",
            ),
            Self::BlockTwice(_) => Some("name another file, or remove one of the two"),
            Self::BlockReport(_) => {
                Some("type: probewatch block --format abuseipdb -o abuse.csv REPORT")
            }
            Self::HiddenBlockList => Some(
                "remove --anonymize, PROBEWATCH_ANONYMIZE and the key 'anonymize', or type --anonymize=off",
            ),
            Self::Zone(_) | Self::Server(_) | Self::File { .. } | Self::MetricsName(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_server_configuration_is_named_with_the_flag() {
        for (flags, part) in [
            (
                Flags {
                    from_nginx: Some("gone\u{1b}.conf".into()),
                    ..Flags::default()
                },
                "--from-nginx=CONF",
            ),
            (
                Flags {
                    from_apache: Some("gone\u{1b}.conf".into()),
                    ..Flags::default()
                },
                "--from-apache=CONF",
            ),
        ] {
            let text = server_logs(&flags).expect_err("missing").to_string();
            assert!(
                text.contains(part) && text.contains("gone\\x1b.conf: cannot read"),
                "{text}"
            );
        }
        assert_eq!(
            server_logs(&Flags::default()).expect("nothing"),
            ConfiguredLogs::default()
        );
        let auto = Path::new(SERVER_CONFIG_AUTO);
        assert_eq!(
            server_config_path(auto, &["/nowhere/a", "/dev/null/b"]),
            Path::new("/nowhere/a")
        );
    }
}
