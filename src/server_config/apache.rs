//! Reads the access logs of Apache: `CustomLog`, `TransferLog` and `GlobalLog`, and the formats of `LogFormat`.
//!
//! Source: <https://httpd.apache.org/docs/2.4/mod/mod_log_config.html>. Sections that depend on modules are always
//! read, because only the server knows its modules. `ErrorLog` and the forensic log contain no requests and are
//! skipped.

mod interpreter;
mod lexer;
mod piped_log;
mod variables;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use self::interpreter::{ApacheInterpreter, ApacheLog};
use super::diagnostics::{ConfigLocation, ConfigNotices};
use super::path_pattern::{PathPattern, from_variables};
use super::{ConfiguredFormat, ConfiguredLog, ConfiguredLogs, ServerConfigError, config_files};

const FLAG: &str = "--from-apache";

/// Reads the access logs of the configuration at `path`.
///
/// # Errors
///
/// A file cannot be read or is not a configuration, a format is not defined, or there is no log.
pub fn read_apache(path: &Path) -> Result<ConfiguredLogs, ServerConfigError> {
    let text = config_files::read(path).map_err(|source| ServerConfigError::Unreadable { path: path.to_owned(), flag: FLAG, source })?;
    let mut interpreter = ApacheInterpreter::new(&config_files::folder(path));
    interpreter.file(path, &text)?;
    let found = std::mem::take(&mut interpreter.logs).into_iter().map(|log| resolve(log, &interpreter)).collect::<Result<Vec<_>, _>>()?;
    let logs = ConfiguredLogs { logs: super::dedup(found), error_logs: Vec::new(), notices: interpreter.notices.into_sentences() };
    if logs.logs.is_empty() {
        return Err(ServerConfigError::NoLog { path: path.to_owned(), notices: logs.notices, flag: FLAG });
    }
    Ok(logs)
}

/// The file of a `CustomLog`, and what is unusual about it. Adds a notice and returns `None` if it is not a file.
fn target(word: &[u8], root: &Path, location: ConfigLocation<'_>, notices: &mut ConfigNotices) -> Option<(PathBuf, Option<String>)> {
    let shown = String::from_utf8_lossy(word);
    let pattern = match word.strip_prefix(b"|") {
        Some(command) => {
            let file = piped_log::file(command);
            if file.is_none() {
                notices.add(location, format!("the file of the log piped to `{shown}` is unknown; skipped"));
            }
            file?
        }
        None if word.starts_with(b"syslog:") || word.starts_with(b"journald:") => {
            notices.add(location, format!("{shown} goes to the system log; skipped"));
            return None;
        }
        None => from_unexpanded(word),
    };
    let is_pattern = pattern.is_pattern();
    let path = PathBuf::from(OsStr::from_bytes(&pattern.finish()));
    if path.starts_with("/dev") || path.starts_with("/proc") {
        notices.add(location, format!("{shown} is a device; skipped"));
        return None;
    }
    if is_pattern && path.components().next().is_some_and(|first| first.as_os_str().as_encoded_bytes().contains(&b'*')) {
        notices.add(location, format!("{shown}: its folder is known only to the server; skipped: name the logs themselves"));
        return None;
    }
    let note = is_pattern.then(|| format!("{shown}: part of its name is known only to the server; used as a pattern"));
    if let Some(what) = &note {
        notices.add(location, what);
    }
    Some((root.join(path), note))
}

/// A name that may contain macro parameters or undefined variables.
fn from_unexpanded(name: &[u8]) -> PathPattern {
    if name.contains(&b'$') { from_variables(name) } else { name.iter().copied().fold(PathPattern::default(), PathPattern::with) }
}

fn resolve(log: ApacheLog, interpreter: &ApacheInterpreter) -> Result<ConfiguredLog, ServerConfigError> {
    let ApacheLog { path, format, site, location, note } = log;
    let format = match &format {
        None => interpreter.default_format(site).map_or(ConfiguredFormat::Named("common"), ConfiguredFormat::Apache),
        Some(name) => match (interpreter.format(name, site), name.as_str()) {
            (Some(text), _) => ConfiguredFormat::Apache(text),
            (None, text) if text.contains('%') => ConfiguredFormat::Apache(text.to_owned()),
            // The file of a single site does not contain the well-known definitions.
            (None, "combined") => ConfiguredFormat::Named("combined"),
            (None, "common") => ConfiguredFormat::Named("common"),
            (None, "vhost_combined") => ConfiguredFormat::Named("vhost_combined"),
            (None, name) => {
                return Err(ServerConfigError::NoFormat { location, name: name.to_owned(), directive: "LogFormat", flag: FLAG });
            }
        },
    };
    Ok(ConfiguredLog { path, format, location, note })
}

fn syntax(location: ConfigLocation<'_>, what: &str) -> ServerConfigError {
    ServerConfigError::Syntax { location: location.to_string(), what: what.to_owned(), server: "Apache", flag: FLAG }
}

#[cfg(test)]
mod tests;
