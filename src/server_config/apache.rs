//! The access logs of Apache: `CustomLog`, `TransferLog` and `GlobalLog`, with what `LogFormat` says of them.
//!
//! Source: <https://httpd.apache.org/docs/2.4/mod/mod_log_config.html>. Both branches of what depends on modules are read, as only
//! the server knows its modules; `ErrorLog` and the forensic log are none of requests and are left alone.

mod lines;
mod macros;
mod pipe;
mod reading;
mod variables;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use self::reading::{Raw, Reading};
use super::notices::Notices;
use super::pattern::{Pattern, of_variables};
use super::place::Place;
use super::{FormatText, Found, Logs, ServerError, conf};

const FLAG: &str = "--from-apache";

/// The access logs that the configuration at `path` names.
///
/// # Errors
///
/// A file that cannot be read or is no configuration, a format that is defined nowhere, no log at all.
pub fn apache(path: &Path) -> Result<Logs, ServerError> {
    let text = conf::read(path).map_err(|source| ServerError::Unreadable { path: path.to_owned(), flag: FLAG, source })?;
    let mut reading = Reading::new(&conf::folder(path));
    reading.file(path, &text)?;
    let found = std::mem::take(&mut reading.raws).into_iter().map(|raw| resolved(raw, &reading)).collect::<Result<Vec<_>, _>>()?;
    let logs = Logs { found: super::once(found), error_logs: Vec::new(), notices: reading.notices.sentences() };
    if logs.found.is_empty() {
        return Err(ServerError::NoLog { path: path.to_owned(), notices: logs.notices, flag: FLAG });
    }
    Ok(logs)
}

/// The file that the first word of a `CustomLog` leads to, and what is odd about it; `None`, and a notice, where it is none.
fn target(word: &[u8], root: &Path, place: Place<'_>, notices: &mut Notices) -> Option<(PathBuf, Option<String>)> {
    let shown = String::from_utf8_lossy(word);
    let pattern = match word.strip_prefix(b"|") {
        Some(command) => {
            let file = pipe::file(command);
            if file.is_none() {
                notices.say(place, format!("a log that is piped to `{shown}` has no file that is known; left alone"));
            }
            file?
        }
        None if word.starts_with(b"syslog:") || word.starts_with(b"journald:") => {
            notices.say(place, format!("{shown} goes to the system's log; left alone"));
            return None;
        }
        None => of_unknown(word),
    };
    let is_pattern = pattern.is_pattern();
    let path = PathBuf::from(OsStr::from_bytes(&pattern.finish()));
    if path.starts_with("/dev") || path.starts_with("/proc") {
        notices.say(place, format!("{shown} goes to a device; left alone"));
        return None;
    }
    if is_pattern && path.components().next().is_some_and(|first| first.as_os_str().as_encoded_bytes().contains(&b'*')) {
        notices.say(place, format!("{shown}: the folder is known to the server only; left alone, name the logs themselves"));
        return None;
    }
    let note = is_pattern.then(|| format!("{shown}: part of the name is known to the server only; taken as a pattern"));
    if let Some(what) = &note {
        notices.say(place, what);
    }
    Some((root.join(path), note))
}

/// A name in which a macro's parameter, or a variable that is defined nowhere, may be left.
fn of_unknown(name: &[u8]) -> Pattern {
    if name.contains(&b'$') { of_variables(name) } else { name.iter().copied().fold(Pattern::default(), Pattern::with) }
}

fn resolved(raw: Raw, reading: &Reading) -> Result<Found, ServerError> {
    let Raw { path, format, site, place, note } = raw;
    let format = match &format {
        None => reading.unnamed(site).map_or(FormatText::Named("common"), FormatText::Apache),
        Some(name) => match (reading.format(name, site), name.as_str()) {
            (Some(text), _) => FormatText::Apache(text),
            (None, text) if text.contains('%') => FormatText::Apache(text.to_owned()),
            // The file of a single site does not say what everybody calls so.
            (None, "combined") => FormatText::Named("combined"),
            (None, "common") => FormatText::Named("common"),
            (None, "vhost_combined") => FormatText::Named("vhost_combined"),
            (None, name) => {
                return Err(ServerError::NoFormat { place, name: name.to_owned(), directive: "LogFormat", flag: FLAG });
            }
        },
    };
    Ok(Found { path, format, from: place, note })
}

fn syntax(place: Place<'_>, what: &str) -> ServerError {
    ServerError::Syntax { place: place.to_string(), what: what.to_owned(), server: "Apache", flag: FLAG }
}

#[cfg(test)]
mod tests;
