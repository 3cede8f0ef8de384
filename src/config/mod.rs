//! What a run was asked to do, in plain values: flags, environment and file are forgotten here.
//!
//! Precedence: flag, environment variable, configuration file, default. Reads no log and opens nothing but the
//! configuration file, lists of proxies, and the configurations of servers whose logs are asked for.

pub mod bounds;
mod clients;
pub mod environment;
mod error;
pub mod file;
pub mod formats;
mod servers;
mod surroundings;
pub mod value;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::clients::ClientError;
pub use self::error::Error;
use self::formats::{FieldKey, FormatText};
pub use self::surroundings::{Surroundings, stdin_is_given};
use crate::cli::learn::LearnOwnArgs;
use crate::cli::own::OwnArgs;
use crate::cli::scan::{RuleArgs, ScanArgs};
use crate::cli::state::StateArgs;
use crate::cli::words::{FailOn, Switch};
use crate::commands::explain::ExplainSettings;
use crate::commands::formats::FormatsSettings;
use crate::commands::message::sanitized;
use crate::commands::{
    DiffSettings, FollowSettings, LearnSettings, MergeSettings, ReportFilterSettings, ReportSettings, ReportTask, ScanSettings,
    StateSettings,
};
use crate::finding::Severity;
use crate::formats::FormatChoice;
use crate::input::exclude::NewerThan;
use crate::input::read::MAX_LINE;
use crate::render::OutputFormat;
use crate::report_store::Retention;
use crate::rules::RuleChoice;
use crate::time::{PeriodRule, PeriodUnit, TimeBound};

/// Report from this level on where nothing else is said.
pub const MIN_SEVERITY: Severity = Severity::Low;

/// Independent probers that a proposal needs where nothing else is said.
pub const MIN_PROBERS: usize = 3;

/// How often `follow` looks at all logs where nothing else is said.
pub const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// How long a client rests before its folded hits are told, where nothing else is said.
pub const QUIET_FOR: Duration = Duration::from_secs(5);

/// After how long the same alert is raised again, where nothing else is said.
pub const COOLDOWN: Duration = Duration::from_secs(600);

/// Permissions of a report's files where nothing else is said.
pub const MODE: u32 = 0o600;

/// A report's summary is printed from this level on where nothing else is said.
pub const NOTIFY_LEVEL: Severity = Severity::High;

/// Lays the flags over the environment over the configuration file.
///
/// # Errors
///
/// Whatever is wrong with the environment or the file.
pub fn layered(flags: ScanArgs, own: OwnArgs, here: &Surroundings) -> Result<(ScanArgs, OwnArgs), Error> {
    let (variables, own_variables) = environment::read(&here.variables).map_err(Error::Variable)?;
    let asked = flags.or(variables);
    let (file, own_file) = asked.other.config.as_deref().map(file::read).transpose()?.unwrap_or_default();
    Ok((asked.or(file), own.or(own_variables).or(own_file)))
}

/// The settings of a scan: what was asked for, and the defaults where nothing was.
///
/// # Errors
///
/// [`Error::NothingToRead`], [`Error::NoTime`], [`Error::Server`]; those of `--client-from` and of lists of proxies.
pub fn settings(asked: ScanArgs, here: &Surroundings) -> Result<ScanSettings, Error> {
    if asked.input.names_nothing() && !here.stdin_is_given {
        return Err(Error::NothingToRead);
    }
    let logs = servers::logs(&asked.input)?;
    let (since, until) = bounds(&asked, here.now)?;
    let quiet = asked.quiet();
    let newer = |when: bounds::When| NewerThan { as_typed: when.to_string(), since: when.instant(here.now, here.zone.as_ref()) };
    let ScanArgs { input, rules, client, selection, output, performance, other: _ } = asked;
    Ok(ScanSettings {
        paths: input.paths,
        newer_than: input.newer_than.map(newer),
        found: logs.found,
        error_logs: logs.error_logs,
        config_notices: logs.notices,
        format: output.format.unwrap_or_default(),
        by: output.by,
        full: output.full.unwrap_or(false),
        output: output.output.filter(|path| path != Path::new("-")),
        formats: format_choice(input.log_format, input.field),
        rules: rule_choice(rules),
        client: clients::settings(client)?,
        apps: selection.app,
        allow: selection.allow,
        min_severity: selection.min_severity.unwrap_or(MIN_SEVERITY),
        outcomes: selection.outcome,
        since,
        until,
        top: selection.top.map(value::Count::get),
        fail_on: selection.fail_on.and_then(|FailOn(level)| level),
        threads: performance.threads.map(value::Count::get),
        mmap: performance.mmap.unwrap_or_default(),
        color: output.color.unwrap_or_default(),
        progress: !output.no_progress.unwrap_or(false),
        quiet,
        stats: output.stats.unwrap_or(false),
        max_line: input.max_line.map_or(MAX_LINE, value::Size::bytes),
    })
}

/// What is said of the formats of logs.
#[must_use]
pub fn format_choice(format: Option<FormatText>, fields: Vec<FieldKey>) -> FormatChoice {
    let fields = fields.into_iter().map(|FieldKey { meaning, key }| (meaning, key)).collect();
    FormatChoice { requested: format.and_then(FormatText::asked), fields }
}

/// What `explain` is asked: the line, the rule that is meant, the log that answers are graded by, and what a scan would be told.
#[must_use]
pub fn explain_settings(line: OsString, rule: Option<String>, log: Option<PathBuf>, asked: ScanArgs) -> ExplainSettings {
    let quiet = asked.quiet();
    let ScanArgs { input, rules, client, selection, output, .. } = asked;
    ExplainSettings {
        line,
        rule,
        log,
        formats: format_choice(input.log_format, input.field),
        rules: rule_choice(rules),
        apps: selection.app,
        allow: selection.allow,
        prefix: client.ipv6_prefix.and_then(value::PrefixBits::prefix),
        min_severity: selection.min_severity.unwrap_or(MIN_SEVERITY),
        max_line: input.max_line.map_or(MAX_LINE, value::Size::bytes),
        format: output.format.unwrap_or_default(),
        color: output.color.unwrap_or_default(),
        quiet,
    }
}

/// What `formats` is asked: the logs, and what a scan would be told.
#[must_use]
pub fn formats_settings(paths: Vec<PathBuf>, asked: ScanArgs) -> FormatsSettings {
    let ScanArgs { input, output, .. } = asked;
    FormatsSettings {
        paths,
        formats: format_choice(input.log_format, input.field),
        max_line: input.max_line.map_or(MAX_LINE, value::Size::bytes),
        format: output.format.unwrap_or_default(),
        color: output.color.unwrap_or_default(),
    }
}

/// The settings of a `learn`.
///
/// # Errors
///
/// Those of a scan, [`Error::NoNdjson`], [`Error::OnePlace`].
pub fn learn_settings(asked: ScanArgs, own: LearnOwnArgs, here: &Surroundings) -> Result<LearnSettings, Error> {
    let scan = settings(asked, here)?;
    if scan.format == OutputFormat::Ndjson {
        return Err(Error::NoNdjson);
    }
    if let Some(file) = &own.emit_rules {
        let to_stdout = file == Path::new("-");
        if scan.output.as_ref().map_or(to_stdout, |output| output == file) {
            let place = if to_stdout { "standard output".to_owned() } else { sanitized(&file.to_string_lossy()) };
            return Err(Error::OnePlace { place });
        }
    }
    Ok(LearnSettings { scan, min_probers: own.min_probers.map_or(MIN_PROBERS, value::Count::get), emit_rules: own.emit_rules })
}

/// The settings of a `follow`.
///
/// # Errors
///
/// [`Error::NothingToFollow`], [`Error::OnlyLive`].
pub fn follow_settings(asked: ScanArgs, own: OwnArgs, here: &Surroundings) -> Result<FollowSettings, Error> {
    if matches!(asked.output.format, Some(OutputFormat::Csv | OutputFormat::Json)) {
        return Err(Error::OnlyLive);
    }
    if asked.input.names_nothing() || asked.input.paths.iter().any(|path| path == Path::new("-")) {
        return Err(Error::NothingToFollow);
    }
    let scan = settings(asked, here)?;
    let OwnArgs { state, follow: own, .. } = own;
    let given_or = |span: Option<value::Span>, default: Duration| span.map_or(default, value::Span::duration);
    Ok(FollowSettings {
        ndjson: scan.format == OutputFormat::Ndjson,
        scan,
        state: state_settings(state),
        poll: own.poll.unwrap_or(false),
        poll_interval: given_or(own.poll_interval, POLL_INTERVAL),
        fold: own.fold != Some(Switch::Off),
        quiet_for: given_or(own.quiet_for, QUIET_FOR),
        tui: own.tui.unwrap_or(false),
        cooldown: given_or(own.cooldown, COOLDOWN),
        exec: own.exec,
        alert_file: own.alert_file,
        syslog: own.syslog,
    })
}

/// The settings of a `report`.
///
/// # Errors
///
/// Those of a scan, [`Error::NothingToReport`], [`Error::NoState`], [`Error::NoOut`], [`Error::NoPeriod`],
/// [`Error::Clients`].
pub fn report_settings(asked: ScanArgs, own: OwnArgs, here: &Surroundings) -> Result<ReportSettings, Error> {
    let OwnArgs { state, report: own, .. } = own;
    let task = match (own.status.unwrap_or(false), own.dry_run.unwrap_or(false)) {
        (true, _) => ReportTask::Status,
        (_, true) => ReportTask::DryRun,
        _ => ReportTask::Run,
    };
    let paths = &asked.input.paths;
    if asked.input.names_nothing() && task != ReportTask::Status || paths.iter().any(|path| path == Path::new("-")) {
        return Err(Error::NothingToReport);
    }
    if state.state.is_none() {
        return Err(Error::NoState);
    }
    if own.out.is_none() && task == ReportTask::Run {
        return Err(Error::NoOut);
    }
    let unit = match (own.daily.unwrap_or(false), own.hourly.unwrap_or(false)) {
        (_, true) => Some(PeriodUnit::Hour),
        (true, _) => Some(PeriodUnit::Day),
        _ => None,
    };
    if unit.is_none() && own.timezone.is_some() {
        return Err(Error::NoPeriod);
    }
    if unit.is_some() {
        clients::check_periods(&asked.client)?;
    }
    let cut = unit.map(|unit| PeriodRule::new(unit, own.timezone.as_deref())).transpose().map_err(Error::Zone)?;
    Ok(ReportSettings {
        // Standard input is none of its inputs.
        scan: settings(asked, &Surroundings { stdin_is_given: true, ..here.clone() })?,
        state: state_settings(state),
        task,
        out: own.out,
        cut,
        always: own.always.unwrap_or(false),
        keep: Retention { runs: own.keep_runs.map(value::Count::get), age: own.keep.map(value::Span::duration) },
        mode: own.mode.map_or(MODE, value::FileMode::bits),
        group: own.group,
        machine: own.machine,
        notify_level: own.notify_level.map_or(Some(NOTIFY_LEVEL), |FailOn(level)| level),
        max_block: own.max_block.map(value::Count::get),
        wait: own.wait.unwrap_or(false),
    })
}

fn state_settings(asked: StateArgs) -> StateSettings {
    StateSettings {
        dir: asked.state,
        from_start: asked.from_start.unwrap_or(false),
        reset: asked.reset_state.unwrap_or(false),
        insecure: asked.insecure_state.unwrap_or(false),
    }
}

/// The settings of a `merge` of these reports.
///
/// # Errors
///
/// [`Error::NoLines`].
pub fn merge_settings(reports: Vec<PathBuf>, asked: ScanArgs) -> Result<MergeSettings, Error> {
    let (by, full) = (asked.output.by, asked.output.full.unwrap_or(false));
    let fail_on = asked.selection.fail_on.and_then(|FailOn(level)| level);
    Ok(MergeSettings { reports, by, full, fail_on, filter: retold_settings("merge", asked)? })
}

/// The settings of a `diff` of these reports.
///
/// # Errors
///
/// [`Error::NoLines`].
pub fn diff_settings(old: PathBuf, new: PathBuf, asked: ScanArgs) -> Result<DiffSettings, Error> {
    Ok(DiffSettings { old, new, filter: retold_settings("diff", asked)? })
}

fn retold_settings(command: &'static str, asked: ScanArgs) -> Result<ReportFilterSettings, Error> {
    let quiet = asked.quiet();
    let ScanArgs { rules, client, selection, output, .. } = asked;
    let format = output.format.unwrap_or_default();
    if format == OutputFormat::Ndjson {
        return Err(Error::NoLines(command));
    }
    Ok(ReportFilterSettings {
        rules: rule_choice(rules),
        anonymize: clients::anonymize(client.privacy.anonymize),
        apps: selection.app,
        min_severity: selection.min_severity.unwrap_or(MIN_SEVERITY),
        outcomes: selection.outcome,
        format,
        top: selection.top.map(value::Count::get),
        output: output.output.filter(|path| path != Path::new("-")),
        color: output.color.unwrap_or_default(),
        quiet,
    })
}

/// The rules that were asked for.
#[must_use]
pub fn rule_choice(asked: RuleArgs) -> RuleChoice {
    RuleChoice {
        paths: asked.rules,
        no_builtin: asked.no_builtin.unwrap_or(false),
        disable: asked.disable,
        only: asked.only,
        severity: asked.severity.into_iter().map(|o| (o.id, o.level)).collect(),
        no_prefilter: asked.no_prefilter.unwrap_or(false),
    }
}

fn bounds(asked: &ScanArgs, now: i64) -> Result<(Option<TimeBound>, Option<TimeBound>), Error> {
    let (from, to) = (asked.selection.since.as_ref(), asked.selection.until.as_ref());
    let (since, until) = (from.map(|w| w.bound(now)), to.map(|w| w.bound(now)));
    if let (Some(from), Some(to), Some(since), Some(until)) = (from, to, since, until)
        && bounds::is_empty(since, until)
    {
        return Err(Error::NoTime { since: from.to_string(), until: to.to_string() });
    }
    Ok((since, until))
}

#[cfg(test)]
mod tests;
