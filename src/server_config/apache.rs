//! The access logs of Apache: `CustomLog`, `TransferLog` and `GlobalLog`, with what `LogFormat` says of them.
//!
//! Source: <https://httpd.apache.org/docs/2.4/mod/mod_log_config.html>. Both branches of what depends on modules are read, as only
//! the server knows its modules; `ErrorLog` and the forensic log are none of requests and are left alone.

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

/// The access logs that the configuration at `path` names.
///
/// # Errors
///
/// A file that cannot be read or is no configuration, a format that is defined nowhere, no log at all.
pub fn read_apache(path: &Path) -> Result<ConfiguredLogs, ServerConfigError> {
    let text = config_files::read(path).map_err(|source| ServerConfigError::Unreadable { path: path.to_owned(), flag: FLAG, source })?;
    let mut interpreter = ApacheInterpreter::new(&config_files::folder(path));
    interpreter.file(path, &text)?;
    let found = std::mem::take(&mut interpreter.logs).into_iter().map(|raw| resolve(raw, &interpreter)).collect::<Result<Vec<_>, _>>()?;
    let logs = ConfiguredLogs { found: super::dedup(found), error_logs: Vec::new(), notices: interpreter.notices.into_sentences() };
    if logs.found.is_empty() {
        return Err(ServerConfigError::NoLog { path: path.to_owned(), notices: logs.notices, flag: FLAG });
    }
    Ok(logs)
}

/// The file that the first word of a `CustomLog` leads to, and what is odd about it; `None`, and a notice, where it is none.
fn target(word: &[u8], root: &Path, location: ConfigLocation<'_>, notices: &mut ConfigNotices) -> Option<(PathBuf, Option<String>)> {
    let shown = String::from_utf8_lossy(word);
    let pattern = match word.strip_prefix(b"|") {
        Some(command) => {
            let file = piped_log::file(command);
            if file.is_none() {
                notices.add(location, format!("a log that is piped to `{shown}` has no file that is known; left alone"));
            }
            file?
        }
        None if word.starts_with(b"syslog:") || word.starts_with(b"journald:") => {
            notices.add(location, format!("{shown} goes to the system's log; left alone"));
            return None;
        }
        None => from_unexpanded(word),
    };
    let is_pattern = pattern.is_pattern();
    let path = PathBuf::from(OsStr::from_bytes(&pattern.finish()));
    if path.starts_with("/dev") || path.starts_with("/proc") {
        notices.add(location, format!("{shown} goes to a device; left alone"));
        return None;
    }
    if is_pattern && path.components().next().is_some_and(|first| first.as_os_str().as_encoded_bytes().contains(&b'*')) {
        notices.add(location, format!("{shown}: the folder is known to the server only; left alone, name the logs themselves"));
        return None;
    }
    let note = is_pattern.then(|| format!("{shown}: part of the name is known to the server only; taken as a pattern"));
    if let Some(what) = &note {
        notices.add(location, what);
    }
    Some((root.join(path), note))
}

/// A name in which a macro's parameter, or a variable that is defined nowhere, may be left.
fn from_unexpanded(name: &[u8]) -> PathPattern {
    if name.contains(&b'$') { from_variables(name) } else { name.iter().copied().fold(PathPattern::default(), PathPattern::with) }
}

fn resolve(raw: ApacheLog, interpreter: &ApacheInterpreter) -> Result<ConfiguredLog, ServerConfigError> {
    let ApacheLog { path, format, site, location, note } = raw;
    let format = match &format {
        None => interpreter.default_format(site).map_or(ConfiguredFormat::Named("common"), ConfiguredFormat::Apache),
        Some(name) => match (interpreter.format(name, site), name.as_str()) {
            (Some(text), _) => ConfiguredFormat::Apache(text),
            (None, text) if text.contains('%') => ConfiguredFormat::Apache(text.to_owned()),
            // The file of a single site does not say what everybody calls so.
            (None, "combined") => ConfiguredFormat::Named("combined"),
            (None, "common") => ConfiguredFormat::Named("common"),
            (None, "vhost_combined") => ConfiguredFormat::Named("vhost_combined"),
            (None, name) => {
                return Err(ServerConfigError::NoFormat { location, name: name.to_owned(), directive: "LogFormat", flag: FLAG });
            }
        },
    };
    Ok(ConfiguredLog { path, format, from: location, note })
}

fn syntax(location: ConfigLocation<'_>, what: &str) -> ServerConfigError {
    ServerConfigError::Syntax { location: location.to_string(), what: what.to_owned(), server: "Apache", flag: FLAG }
}

#[cfg(test)]
mod tests;
