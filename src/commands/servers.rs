//! The logs that the configurations of servers name, as paths for those who read: a scan wants every file of a log, a follower
//! the log.
//!
//! A server opens its logs when it starts, so one that is not there was never written or was taken away: that is said, and is
//! no failure. What is in the files is not looked at.

use std::path::{Path, PathBuf};

use super::{Settings, message};
use crate::formats::builtin::UnknownFormat;
use crate::formats::{FormatError, FormatLineParser, Formats, NginxEscape};
use crate::input::rotated_files;
use crate::server_config::{ConfiguredFormat, ConfiguredLog, LogFormatEscape};

/// What was given, and every file of the logs that are named; and what is to be said of those that are not there.
pub(super) fn files(settings: &Settings) -> (Vec<PathBuf>, Vec<String>) {
    let (mut paths, mut notices) = (settings.paths.clone(), Vec::new());
    for log in distinct(&settings.found) {
        match rotated_files::files(&log.path) {
            Ok(files) if files.is_empty() => notices.push(missing(log)),
            Ok(files) => {
                let (errors, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| is_error_log(settings, file));
                notices.extend(errors.iter().map(|file| format!("{}: named as error_log in the configuration; left out", file.display())));
                add(&mut paths, files);
            }
            // Whoever reads it says why it cannot be read.
            Err(_) => add(&mut paths, [log.path.clone()]),
        }
    }
    if paths.is_empty() {
        // None is there: that is a failure, and is told as of any path.
        return (logs(settings), Vec::new());
    }
    (paths, notices)
}

/// What was given, and the logs that are named, there or not.
pub(super) fn logs(settings: &Settings) -> Vec<PathBuf> {
    let mut paths = settings.paths.clone();
    add(&mut paths, distinct(&settings.found).map(|log| log.path.clone()));
    paths
}

/// What was given, and the logs that are named of which anything is there; all where nothing is.
pub(super) fn present(settings: &Settings) -> Vec<PathBuf> {
    let mut paths = settings.paths.clone();
    let there = distinct(&settings.found).filter(|log| rotated_files::files(&log.path).map_or(true, |files| !files.is_empty()));
    add(&mut paths, there.map(|log| log.path.clone()));
    if paths.is_empty() { logs(settings) } else { paths }
}

/// The formats that are known in this run: those that have a name, the one that was given, and those of the logs that are named.
/// One that cannot be compiled is none: each line of such a log is read as what it is.
pub(super) fn formats(settings: &Settings) -> Result<Formats, UnknownFormat> {
    let logs = settings.found.iter().filter_map(|log| {
        let (text, plan) = plan(&log.format)?;
        Some((log.path.clone(), text, plan.ok()))
    });
    let formats = Formats::new(&settings.formats)?.with_logs(logs, rotated_files::belongs)?;
    Ok(match &settings.client.origin {
        Some(origin) => formats.with_client_ip_source(origin.clone()),
        None => formats,
    })
}

/// What a configuration says of a format, compiled; nothing where the format has a name.
fn plan(format: &ConfiguredFormat) -> Option<(String, Result<FormatLineParser, FormatError>)> {
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

/// Says what was left alone in the configurations, unless notices are unwanted.
pub(super) fn tell(settings: &Settings) {
    for notice in settings.left.iter().filter(|_| !settings.quiet) {
        message::notice(&message::shown(notice));
    }
}

/// Whether a configuration names a file for errors, or one that it was rotated from.
fn is_error_log(settings: &Settings, file: &Path) -> bool {
    // Some write both into one file.
    let is_access_log = |log: &&PathBuf| settings.found.iter().any(|found| found.path == **log);
    settings.error_logs.iter().filter(|log| !is_access_log(log)).any(|log| rotated_files::belongs(log, file))
}

fn missing(log: &ConfiguredLog) -> String {
    format!("{}: named in {}, and not there yet; left out", log.path.display(), log.from)
}

/// Each path once: it may be written in several formats.
fn distinct(found: &[ConfiguredLog]) -> impl Iterator<Item = &ConfiguredLog> {
    found.iter().enumerate().filter(|(at, log)| !found[..*at].iter().any(|other| other.path == log.path)).map(|(_, log)| log)
}

fn add(paths: &mut Vec<PathBuf>, more: impl IntoIterator<Item = PathBuf>) {
    for path in more {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
}
