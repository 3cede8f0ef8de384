//! The paths of logs from server configurations: all rotated files for a scan, and only the current
//! log for `follow`.
//!
//! Servers create their logs when they start, so a missing one was never written or was removed.
//! That results in a notice, not in an error. Log files are not opened here.

use std::path::{Path, PathBuf};

use super::{ScanSettings, message};
use crate::formats::builtin::UnknownFormat;
use crate::formats::{FormatError, FormatLineParser, Formats, NginxEscape};
use crate::input::rotation;
use crate::server_config::{ConfiguredFormat, ConfiguredLog, LogFormatEscape};

/// The given paths and all files of the configured logs, and notices about missing logs.
pub(super) fn files(settings: &ScanSettings) -> (Vec<PathBuf>, Vec<String>) {
    let (mut paths, mut notices) = (settings.paths.clone(), Vec::new());
    for log in distinct(&settings.found) {
        match rotation::rotated_files(&log.path) {
            Ok(files) if files.is_empty() => notices.push(missing_log_notice(log)),
            Ok(files) => {
                let (errors, files): (Vec<_>, Vec<_>) = files
                    .into_iter()
                    .partition(|file| is_error_log(settings, file));
                notices.extend(errors.iter().map(|file| {
                    format!(
                        "{}: an error_log in the configuration; left out",
                        file.display()
                    )
                }));
                push_new(&mut paths, files);
            }
            // The error is reported when the log is read.
            Err(_) => push_new(&mut paths, [log.path.clone()]),
        }
    }
    if paths.is_empty() {
        // None of the logs exists: the error is the same as for any path.
        return (logs(settings), Vec::new());
    }
    (paths, notices)
}

/// The given paths and the configured logs, whether they exist or not.
pub(super) fn logs(settings: &ScanSettings) -> Vec<PathBuf> {
    let mut paths = settings.paths.clone();
    push_new(
        &mut paths,
        distinct(&settings.found).map(|log| log.path.clone()),
    );
    paths
}

/// The given paths and the configured logs with at least one file; all logs if none has a file.
pub(super) fn existing_logs(settings: &ScanSettings) -> Vec<PathBuf> {
    let mut paths = settings.paths.clone();
    let existing = distinct(&settings.found)
        .filter(|log| rotation::rotated_files(&log.path).map_or(true, |files| !files.is_empty()));
    push_new(&mut paths, existing.map(|log| log.path.clone()));
    if paths.is_empty() {
        logs(settings)
    } else {
        paths
    }
}

/// The formats of this run: the named ones, the one that was given, and those of the configured
/// logs. If a configured format does not compile, the format of each line is detected.
pub(super) fn formats(settings: &ScanSettings) -> Result<Formats, UnknownFormat> {
    let logs = settings.found.iter().filter_map(|log| {
        let (text, compile_format) = compile_format(&log.format)?;
        Some((log.path.clone(), text, compile_format.ok()))
    });
    let formats = Formats::new(&settings.formats)?.with_logs(logs, rotation::belongs_to_log)?;
    Ok(match &settings.client.origin {
        Some(origin) => formats.with_client_ip_source(origin.clone()),
        None => formats,
    })
}

/// Compiles a configured format; `None` if it has a name.
fn compile_format(
    format: &ConfiguredFormat,
) -> Option<(String, Result<FormatLineParser, FormatError>)> {
    match format {
        ConfiguredFormat::Nginx { escape, text } => {
            let (written, escape) = match escape {
                LogFormatEscape::Default => (text.clone(), NginxEscape::Default),
                LogFormatEscape::Json => (format!("escape=json '{text}'"), NginxEscape::Json),
                LogFormatEscape::None => (format!("escape=none '{text}'"), NginxEscape::None),
            };
            Some((written, FormatLineParser::nginx(text, escape)))
        }
        ConfiguredFormat::Apache(text) => Some((text.clone(), FormatLineParser::apache(text))),
        ConfiguredFormat::Named(_) => None,
    }
}

/// Prints what was skipped in the configurations, unless `-q` is given.
pub(super) fn print_skipped(settings: &ScanSettings) {
    for notice in settings.config_notices.iter().filter(|_| !settings.quiet) {
        message::notice(&message::sanitized(notice));
    }
}

/// Whether a file is a configured error log, or rotated from one.
fn is_error_log(settings: &ScanSettings, file: &Path) -> bool {
    // Some configurations write both logs into one file.
    let is_access_log = |log: &&PathBuf| settings.found.iter().any(|found| found.path == **log);
    settings
        .error_logs
        .iter()
        .filter(|log| !is_access_log(log))
        .any(|log| rotation::belongs_to_log(log, file))
}

fn missing_log_notice(log: &ConfiguredLog) -> String {
    format!(
        "{}: configured in {}, but does not exist yet; left out",
        log.path.display(),
        log.location
    )
}

/// Each path once: a log may have several formats.
fn distinct(found: &[ConfiguredLog]) -> impl Iterator<Item = &ConfiguredLog> {
    found
        .iter()
        .enumerate()
        .filter(|(at, log)| !found[..*at].iter().any(|other| other.path == log.path))
        .map(|(_, log)| log)
}

fn push_new(paths: &mut Vec<PathBuf>, more: impl IntoIterator<Item = PathBuf>) {
    for path in more {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
}
