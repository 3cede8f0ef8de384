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

pub(crate) use self::flags::Flags;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, io};

use jiff::tz::TimeZone;
use rustix::fs::{FileType, fstat};

use self::value::{LevelOrNever, PrefixBits, word};
use crate::alerting::FIND_SEVERITY;
use crate::commands::message::{sanitized, sanitized_path};
use crate::commands::{
    Anonymize, BlockSettings, ClientSettings, FollowSettings, LearnSettings, ReportSettings,
    ReportTask, ScanSettings, StateSettings, VerifySettings,
};
use crate::formats::FormatChoice;
use crate::input::exclude::NewerThan;
use crate::input::read::MAX_LINE;
use crate::log::finding::Severity;
use crate::log::time::{PeriodRule, PeriodUnit, TimeBound};
use crate::os::system::unix_now;
use crate::render::OutputFormat;
use crate::render::block::BlockFormat;
use crate::report::block_list::BlockListOptions;
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
pub(crate) const SERVER_CONFIG_AUTO: &str = "auto";

/// The default of `--ttl`.
pub(crate) const BLOCK_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The default of `verify --pause`: a site is not to notice the requests.
pub(crate) const VERIFY_PAUSE: Duration = Duration::from_secs(1);

/// The default of `verify --max-requests`.
pub(crate) const VERIFY_REQUESTS: usize = 200;

/// The start of the name of every variable that sets a flag: `--top` is `PROBEWATCH_TOP`.
pub(crate) const PREFIX: &str = "PROBEWATCH_";

/// What a run finds around it.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    /// Environment variables whose names start with [`PREFIX`], sorted by name.
    pub variables: Vec<(OsString, OsString)>,
    /// The start of the run, in seconds since 1970-01-01T00:00:00Z.
    pub now: i64,
    /// Whether standard input may contain a log: it is neither a terminal nor a character device.
    pub stdin_is_given: bool,
    /// The time zone of times without an offset; `None` is UTC. Only a time that needs it reads it,
    /// because that lists all zones.
    pub zone: fn() -> Option<TimeZone>,
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
        Self {
            variables,
            now: unix_now().cast_signed(),
            stdin_is_given: stdin_is_given(),
            zone: || TimeZone::try_system().ok(),
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

/// The settings that all commands share. Those of clients and times that have to be read or
/// checked, and the logs of server configurations, are not among them.
#[must_use]
pub(crate) fn common_settings(flags: Flags) -> ScanSettings {
    let (quiet, rules) = (flags.is_quiet(), rule_choice(&flags));
    ScanSettings {
        paths: flags.paths,
        newer_than: None,
        found: Vec::new(),
        error_logs: Vec::new(),
        config_notices: Vec::new(),
        format: flags.format.unwrap_or_default(),
        by: flags.by,
        full: flags.full.unwrap_or(false),
        output: flags.output.filter(|path| path != Path::new("-")),
        formats: FormatChoice {
            requested: flags.log_format.filter(|format| format != "auto"),
            fields: flags.field,
        },
        rules,
        client: ClientSettings {
            origin: None,
            trusted: Vec::new(),
            proxy_ranges: flags.proxy_ranges,
            prefix: flags.ipv6_prefix.and_then(PrefixBits::prefix),
            anonymize: flags.anonymize.unwrap_or_default(),
            redact: !flags.no_redact.unwrap_or(false),
            geoip: flags.geoip,
        },
        apps: flags.app,
        allow: flags.allow,
        min_severity: flags.min_severity.unwrap_or(Severity::DEFAULT_MIN),
        outcomes: flags.outcome,
        since: None,
        until: None,
        top: flags.top,
        fail_on: flags.fail_on.and_then(|LevelOrNever(level)| level),
        threads: flags.threads,
        mmap: flags.mmap.unwrap_or_default(),
        color: flags.color.unwrap_or_default(),
        progress: !flags.no_progress.unwrap_or(false),
        quiet,
        stats: flags.stats.unwrap_or(false),
        range: flags.range,
        source: flags.source,
        max_line: flags.max_line.unwrap_or(MAX_LINE),
    }
}

/// The settings of a scan.
pub(crate) fn scan_settings(
    flags: Flags,
    environment: &Environment,
) -> Result<ScanSettings, Error> {
    if flags.has_no_input() && !environment.stdin_is_given {
        return Err(Error::new(
            "nothing to read: no path is given, and standard input is a terminal or a device",
            "name a log or a folder of logs, such as: probewatch scan /var/log/nginx/",
        ));
    }
    check_partial(&flags)?;
    let logs = server_logs(&flags)?;
    let (since, until) = bounds(&flags, environment.now)?;
    let (origin, trusted) = clients::origin_and_proxies(&flags)?;
    let newer_than = flags.newer_than.as_ref().map(|time| NewerThan {
        as_typed: time.to_string(),
        since: time.instant(environment.now, environment.zone),
    });
    let common = common_settings(flags);
    Ok(ScanSettings {
        newer_than,
        found: logs.logs,
        error_logs: logs.error_logs,
        config_notices: logs.notices,
        since,
        until,
        client: ClientSettings {
            origin,
            trusted,
            ..common.client
        },
        ..common
    })
}

/// A partial report contains all clients.
fn check_partial(flags: &Flags) -> Result<(), Error> {
    if flags.format == Some(OutputFormat::Partial) && hides_clients(flags) {
        Err(Error::new(
            "a partial report contains the clients, so --anonymize does not apply to it",
            "remove --anonymize here, and type it with the last merge: probewatch merge --anonymize FILE...",
        ))
    } else {
        Ok(())
    }
}

fn hides_clients(flags: &Flags) -> bool {
    !matches!(flags.anonymize, None | Some(Anonymize::Off))
}

/// The settings of a `learn`.
pub(crate) fn learn_settings(
    flags: Flags,
    environment: &Environment,
) -> Result<LearnSettings, Error> {
    let (min_probers, emit_rules) = (flags.min_probers, flags.emit_rules.clone());
    let scan = scan_settings(
        Flags {
            range: None,
            source: None,
            ..flags
        },
        environment,
    )?;
    if !matches!(
        scan.format,
        OutputFormat::Table | OutputFormat::Csv | OutputFormat::Json
    ) {
        return Err(Error::no_format("learn", &word(&scan.format)));
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
                sanitized_path(file)
            };
            return Err(Error::new(
                format!("the report and --emit-rules would both go to {output}"),
                "name two files, or remove --output to print the report on standard output",
            ));
        }
    }
    Ok(LearnSettings {
        scan,
        min_probers: min_probers.unwrap_or(MIN_PROBERS),
        emit_rules,
    })
}

/// The settings of a `follow`.
pub(crate) fn follow_settings(
    flags: Flags,
    environment: &Environment,
) -> Result<FollowSettings, Error> {
    if flags
        .format
        .is_some_and(|format| format != OutputFormat::Table && format.hit_format().is_none())
    {
        return Err(Error::new(
            "follow prints only table, ndjson, ecs or ocsf: csv, json, html, prometheus and partial need a complete log",
            "type -f ndjson, or remove -f; 'probewatch scan' prints CSV, JSON and pages; --metrics FILE writes metrics",
        ));
    }
    if flags.has_no_input() {
        return Err(Error::new(
            "nothing to follow: name logs, folders or globs, or - for a pipe",
            "type: probewatch follow /var/log/nginx/access.log",
        ));
    }
    let is_pipe = names_stdin(&flags);
    if is_pipe && (flags.paths.len() > 1 || flags.state.is_some() || flags.tui == Some(true)) {
        return Err(Error::new(
            "follow - reads a pipe alone: it has no state, because a pipe cannot be read again, and no live view, which reads the keyboard",
            "omit the other paths, --state and --tui",
        ));
    }
    check_metrics(&flags)?;
    Ok(FollowSettings {
        scan: live_settings(&flags, environment)?,
        state: state_settings(&flags),
        poll: flags.poll.unwrap_or(false),
        poll_interval: flags.poll_interval.unwrap_or(POLL_INTERVAL),
        fold: flags.fold.unwrap_or(true),
        quiet_for: flags.quiet_for.unwrap_or(DEFAULT_QUIET_FOR),
        tui: flags.tui.unwrap_or(false),
        alert_severity: flags.alert_severity.unwrap_or(FIND_SEVERITY),
        cooldown: flags.cooldown.unwrap_or(COOLDOWN),
        exec: flags.exec,
        alert_file: flags.alert_file,
        syslog: flags.syslog,
        metrics: flags.metrics,
    })
}

/// The settings of a scan of growing logs, of which all new lines are read.
fn live_settings(flags: &Flags, environment: &Environment) -> Result<ScanSettings, Error> {
    Ok(ScanSettings {
        since: None,
        until: None,
        ..scan_settings(flags.clone(), environment)?
    })
}

/// The settings of a `report`.
pub(crate) fn report_settings(
    flags: Flags,
    environment: &Environment,
) -> Result<ReportSettings, Error> {
    let task = match (flags.status, flags.dry_run) {
        (Some(true), _) => ReportTask::Status,
        (_, Some(true)) => ReportTask::DryRun,
        _ => ReportTask::Run,
    };
    if flags.has_no_input() && task != ReportTask::Status || names_stdin(&flags) {
        return Err(Error::new(
            "nothing to report on: name logs, folders or globs; standard input cannot be used",
            "type: probewatch report --state DIR --out DIR /var/log/nginx/, or for a pipe: probewatch scan -",
        ));
    }
    if flags.state.is_none() {
        return Err(Error::new(
            "report needs a folder for its state: --state is missing",
            "type: probewatch report --state /var/lib/probewatch --out DIR PATH, or for a single run: probewatch scan PATH",
        ));
    }
    if flags.out.is_none() && task == ReportTask::Run {
        return Err(Error::new(
            "report needs a folder for its reports: --out is missing",
            "type: probewatch report --out /srv/reports --state DIR PATH, or add --dry-run to write nothing",
        ));
    }
    let period_rule = period(&flags)?;
    check_metrics(&flags)?;
    let block_lists = block_lists(&flags)?;
    // A report never reads standard input, so a `--status` without paths lacks nothing.
    let scan = live_settings(
        &flags,
        &Environment {
            stdin_is_given: true,
            ..environment.clone()
        },
    )?;
    if !block_lists.is_empty() && hides_clients(&flags) {
        return Err(Error::hidden_block_list());
    }
    Ok(ReportSettings {
        block: block_options(&flags, &scan, environment),
        scan,
        state: state_settings(&flags),
        task,
        out: flags.out,
        period_rule,
        always: flags.always.unwrap_or(false),
        html: flags.html.unwrap_or(false),
        keep: Retention {
            runs: flags.keep_runs,
            age: flags.keep,
        },
        mode: flags.mode.unwrap_or(MODE),
        group: flags.group,
        log_host: flags.log_host,
        notify_level: flags
            .notify_level
            .map_or(Some(NOTIFY_LEVEL), |LevelOrNever(level)| level),
        metrics: flags.metrics,
        wait: flags.wait.unwrap_or(false),
        block_lists,
        verified_bots: flags.verified_bots,
    })
}

/// The pairs of `--block-out` and `--block-format`.
fn block_lists(flags: &Flags) -> Result<Vec<(PathBuf, BlockFormat)>, Error> {
    let (paths, formats) = (&flags.block_out, &flags.block_format);
    if paths.len() != formats.len() {
        return Err(Error::new(
            format!(
                "{} of --block-out and {} of --block-format: each list needs both",
                paths.len(),
                formats.len(),
            ),
            "type --block-out /var/lib/probewatch/block.nft --block-format nft, once for each list",
        ));
    }
    if let Some(format) = formats.iter().find(|format| format.is_abuse_report()) {
        return Err(Error::new(
            format!(
                "--block-format {} is a report to others, not a list that each run can replace",
                word(format),
            ),
            "type: probewatch block --format abuseipdb -o abuse.csv REPORT",
        ));
    }
    if let Some((_, path)) = paths
        .iter()
        .enumerate()
        .find(|(at, path)| paths[..*at].contains(path))
    {
        return Err(Error::new(
            format!(
                "--block-out names {} twice: each list needs a file of its own",
                sanitized_path(path),
            ),
            "name another file, or remove one of the two",
        ));
    }
    Ok(paths.iter().cloned().zip(formats.iter().copied()).collect())
}

fn block_options(
    flags: &Flags,
    scan: &ScanSettings,
    environment: &Environment,
) -> BlockListOptions {
    BlockListOptions {
        max_cost: flags.max_cost.unwrap_or(0),
        max: flags.max_block,
        ttl: flags.ttl.unwrap_or(BLOCK_TTL),
        aggregate: flags.aggregate,
        proxies_are_known: !scan.client.trusted.is_empty(),
        now: environment.now,
    }
}

/// The settings of a `block` in this format.
pub(crate) fn block_settings(
    format: Option<BlockFormat>,
    flags: Flags,
    environment: &Environment,
) -> Result<BlockSettings, Error> {
    let format = format.unwrap_or_default();
    let flags = Flags {
        // Formats of other commands may be in a variable or in the file.
        format: None,
        // Abuse reports name addresses, so nothing is aggregated there.
        aggregate: flags.aggregate.filter(|_| !format.is_abuse_report()),
        ..flags
    };
    let scan = scan_settings(flags.clone(), environment)?;
    if hides_clients(&flags) {
        return Err(Error::hidden_block_list());
    }
    Ok(BlockSettings {
        options: block_options(&flags, &scan, environment),
        scan,
        format,
        verified_bots: flags.verified_bots,
    })
}

/// The settings of a `verify`.
pub(crate) fn verify_settings(
    mut flags: Flags,
    environment: &Environment,
) -> Result<VerifySettings, Error> {
    Ok(VerifySettings {
        save: flags.output.take(),
        site: flags.site.take().ok_or_else(|| {
            Error::new(
                "verify asks your own site: --site is missing",
                "type: probewatch verify --site https://example.com REPORT",
            )
        })?,
        dry_run: flags.dry_run.unwrap_or(false),
        pause: flags.pause.unwrap_or(VERIFY_PAUSE),
        max_requests: flags.max_requests.unwrap_or(VERIFY_REQUESTS),
        cacert: flags.cacert.take(),
        now: environment.now,
        scan: scan_settings(flags, environment)?,
    })
}

/// The name that `--metrics` requires also keeps a log or another file from being replaced by
/// mistake.
fn check_metrics(flags: &Flags) -> Result<(), Error> {
    match &flags.metrics {
        Some(file) if file.extension().is_none_or(|extension| extension != "prom") => {
            Err(Error::without_hint(format!(
                "--metrics '{}': the name must end in .prom, because node_exporter reads no other file",
                sanitized_path(file),
            )))
        }
        _ => Ok(()),
    }
}

fn period(flags: &Flags) -> Result<Option<PeriodRule>, Error> {
    let unit = match (flags.daily, flags.hourly) {
        (_, Some(true)) => PeriodUnit::Hour,
        (Some(true), _) => PeriodUnit::Day,
        _ if flags.timezone.is_some() => {
            return Err(Error::new(
                "--timezone applies to --daily and --hourly, and neither is given",
                "add --daily or --hourly, or remove --timezone",
            ));
        }
        _ => return Ok(None),
    };
    if hides_clients(flags) {
        return Err(Error::new(
            "--anonymize cannot be combined with --daily or --hourly: they add later lines to a report, which needs the addresses",
            "remove --daily and --hourly: each run then writes its own folder",
        ));
    }
    PeriodRule::new(unit, flags.timezone.as_deref())
        .map(Some)
        .map_err(|error| Error::without_hint(format!("--timezone: {error}")))
}

fn names_stdin(flags: &Flags) -> bool {
    flags.paths.iter().any(|path| path == Path::new("-"))
}

fn state_settings(flags: &Flags) -> StateSettings {
    StateSettings {
        dir: flags.state.clone(),
        from_start: flags.from_start.unwrap_or(false),
        reset: flags.reset_state.unwrap_or(false),
        insecure: flags.insecure_state.unwrap_or(false),
    }
}

/// The settings of a command that reads these reports: `merge` or `diff`.
pub(crate) fn merge_settings(
    command: &'static str,
    reports: Vec<PathBuf>,
    flags: Flags,
) -> Result<ScanSettings, Error> {
    check_partial(&flags)?;
    let settings = ScanSettings {
        paths: reports,
        ..common_settings(flags)
    };
    let format = word(&settings.format);
    match settings.format {
        OutputFormat::Html | OutputFormat::Partial if command == "diff" => {
            Err(Error::no_format(command, &format))
        }
        OutputFormat::Prometheus => Err(Error::no_format(command, &format)),
        hits if hits.hit_format().is_some() => Err(Error::new(
            format!("{command} does not print {format}: a report contains no single hits"),
            "type -f table, -f csv or -f json",
        )),
        _ => Ok(settings),
    }
}

/// The rules to load.
#[must_use]
pub(crate) fn rule_choice(flags: &Flags) -> RuleChoice {
    RuleChoice {
        paths: flags.rules.clone(),
        no_builtin: flags.no_builtin.unwrap_or(false),
        disable: flags.disable.clone(),
        only: flags.only.clone(),
        severity: flags.severity.clone(),
        no_prefilter: flags.no_prefilter.unwrap_or(false),
        with_cases: false,
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
        return Err(Error::new(
            format!(
                "no line is between --since {from} and --until {to}: the first is not before the second",
            ),
            "--until is exclusive: for the first day of November type --since 2026-11-01 --until 2026-11-02",
        ));
    }
    Ok((since, until))
}

/// The logs that the configurations of servers name.
fn server_logs(flags: &Flags) -> Result<ConfiguredLogs, Error> {
    let mut all = ConfiguredLogs::default();
    let mut add = |logs: Result<ConfiguredLogs, ServerConfigError>| -> Result<(), Error> {
        let logs = logs.map_err(|error| Error::without_hint(sanitized(&error.to_string())))?;
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

/// Why a run was not started. Text from arguments and files is escaped.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Error {
    message: String,
    /// What to type instead, where the message does not contain it.
    pub(crate) hint: Option<&'static str>,
}

impl Error {
    fn new(message: impl Into<String>, hint: &'static str) -> Self {
        Self {
            message: message.into(),
            hint: Some(hint),
        }
    }

    /// An error that contains what to type.
    pub(crate) fn without_hint(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }

    /// `--by` with a format without rows.
    pub(crate) fn no_rows(has: &str) -> Self {
        Error::new(
            format!("--by applies to table and csv; {has}"),
            "type -f csv with --by, or remove --by",
        )
    }

    /// The configuration file cannot be read.
    pub(crate) fn unreadable(path: &str, source: &io::Error) -> Self {
        Error::new(
            format!("cannot read the configuration file '{path}': {source}"),
            "name an existing file with --config or PROBEWATCH_CONFIG, or use neither",
        )
    }

    fn no_format(command: &str, format: &str) -> Self {
        Error::new(
            format!("{command} does not print {format}"),
            "type -f table, -f csv or -f json",
        )
    }

    fn hidden_block_list() -> Self {
        Error::new(
            "a block list needs the addresses of clients, and --anonymize hides them",
            "remove --anonymize, PROBEWATCH_ANONYMIZE and the key 'anonymize', or type --anonymize=off",
        )
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
