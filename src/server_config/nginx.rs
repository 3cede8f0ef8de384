//! The access logs of nginx: `access_log` and `log_format`, wherever `include` leads.
//!
//! Source: <https://nginx.org/en/docs/http/ngx_http_log_module.html>. What `if=` leaves out, and who asked at all, is not known;
//! logs of `stream` are none of requests and are left alone.

mod default;
mod lua;
mod words;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use self::words::Directive;
use super::notices::Notices;
use super::pattern::of_variables;
use super::place::Place;
use super::{Escape, FormatText, Found, Logs, ServerError, conf};

const FLAG: &str = "--from-nginx";

/// Where a directive stands, as far as that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Main,
    Http,
    Server,
    Location,
    Stream,
}

/// An `access_log`, before all formats are known.
struct Raw {
    path: PathBuf,
    format: Option<Vec<u8>>,
    place: String,
    note: Option<String>,
}

/// A reading under way.
struct Reading {
    /// The folder that includes start at.
    folder: PathBuf,
    raws: Vec<Raw>,
    error_logs: Vec<PathBuf>,
    formats: HashMap<Vec<u8>, FormatText>,
    notices: Notices,
    /// The first server that says nothing of logs.
    silent: Option<String>,
    depth: usize,
}

/// The access logs that the configuration at `path` names.
///
/// # Errors
///
/// A file that cannot be read or is no configuration, a format that is defined nowhere, no log at all.
pub fn nginx(path: &Path) -> Result<Logs, ServerError> {
    let text = conf::read(path).map_err(|source| ServerError::Unreadable { path: path.to_owned(), flag: FLAG, source })?;
    let folder = conf::folder(path);
    let (raws, error_logs, formats, notices) = (Vec::new(), Vec::new(), HashMap::new(), Notices::default());
    let mut reading = Reading { folder, raws, error_logs, formats, notices, silent: None, depth: 0 };
    // The configuration of a single site is welcome too: what stands in no http block is read as if it did.
    let own = reading.file(path, &text, Level::Main)?;
    if let (false, Some(place)) = (own, reading.silent.take()) {
        let note = Some("no access_log is named for this server, so it writes the default one".to_owned());
        reading.raws.push(Raw { path: default::log(&reading.folder), format: None, place, note });
    }
    let found = reading.raws.drain(..).map(|raw| resolved(raw, &reading.formats)).collect::<Result<Vec<_>, _>>()?;
    let logs = Logs { found: super::once(found), error_logs: reading.error_logs, notices: reading.notices.sentences() };
    if logs.found.is_empty() {
        return Err(ServerError::NoLog { path: path.to_owned(), notices: logs.notices, flag: FLAG });
    }
    Ok(logs)
}

impl Reading {
    /// Reads a text; whether it says where the requests of its level go.
    fn file(&mut self, file: &Path, text: &[u8], level: Level) -> Result<bool, ServerError> {
        let directives = words::parse(text).map_err(|wrong| syntax(Place { file, line: wrong.line }, &wrong.what))?;
        self.level(file, &directives, level)
    }

    fn level(&mut self, file: &Path, directives: &[Directive], level: Level) -> Result<bool, ServerError> {
        let mut own = false;
        for directive in directives {
            own |= self.directive(Place { file, line: directive.line }, directive, level)?;
        }
        Ok(own)
    }

    fn directive(&mut self, place: Place<'_>, directive: &Directive, level: Level) -> Result<bool, ServerError> {
        let mut inner = |level| self.level(place.file, directive.block.as_deref().unwrap_or_default(), level);
        match (directive.word(0).unwrap_or_default(), level) {
            (b"include", _) => return self.include(place, directive, level),
            (b"http", Level::Main) => return inner(Level::Http),
            (b"stream", Level::Main) | (b"server", Level::Stream) => drop(inner(Level::Stream)?),
            (b"server", Level::Main | Level::Http) => {
                let own = inner(Level::Server)?;
                if !own {
                    self.silent.get_or_insert(place.to_string());
                }
            }
            (b"location" | b"if" | b"limit_except", Level::Main | Level::Http | Level::Server | Level::Location) => {
                inner(Level::Location)?;
            }
            (b"access_log", Level::Stream) => {
                self.notices.say(place, "an access_log of stream holds connections, not requests; left alone");
            }
            (b"access_log", _) => return self.access_log(place, directive).map(|()| true),
            (b"error_log", _) => self.error_log(directive),
            (b"log_format", Level::Main | Level::Http) => self.log_format(directive),
            _ => {}
        }
        Ok(false)
    }

    fn include(&mut self, place: Place<'_>, directive: &Directive, level: Level) -> Result<bool, ServerError> {
        let name = directive.word(1).ok_or_else(|| syntax(place, "an include of nothing"))?;
        let path = self.folder.join(OsStr::from_bytes(name));
        let files = if conf::is_pattern(name) { conf::matching(&path) } else { vec![path] };
        if self.depth == conf::DEEPEST {
            return Err(syntax(place, "includes that go round in a circle"));
        }
        self.depth += 1;
        let mut own = false;
        for path in files {
            let refused = |source: io::Error| ServerError::Include { place: place.to_string(), path: path.clone(), source };
            own |= self.file(&path, &conf::read(&path).map_err(refused)?, level)?;
        }
        self.depth -= 1;
        Ok(own)
    }

    fn log_format(&mut self, directive: &Directive) {
        let Some(name) = directive.word(1) else { return };
        let escape = match directive.word(2) {
            Some(b"escape=json") => Some(Escape::Json),
            Some(b"escape=none") => Some(Escape::None),
            Some(b"escape=default") => Some(Escape::Default),
            _ => None,
        };
        let strings = directive.words.get(if escape.is_some() { 3 } else { 2 }..).unwrap_or_default();
        let text = String::from_utf8_lossy(&strings.concat()).into_owned();
        self.formats.insert(name.to_vec(), FormatText::Nginx { escape: escape.unwrap_or_default(), text });
    }

    /// Source: <https://nginx.org/en/docs/ngx_core_module.html#error_log>.
    fn error_log(&mut self, directive: &Directive) {
        let Some(name) = directive.word(1) else { return };
        let is_file = name != b"stderr" && ![&b"syslog:"[..], b"memory:", b"/dev/"].iter().any(|other| name.starts_with(other));
        if is_file {
            self.error_logs.push(default::absolute(&self.folder, PathBuf::from(OsStr::from_bytes(name))));
        }
    }

    fn access_log(&mut self, place: Place<'_>, directive: &Directive) -> Result<(), ServerError> {
        let name = directive.word(1).ok_or_else(|| syntax(place, "an access_log without a path"))?;
        if let Some(reason) = left_alone(name) {
            self.notices.say(place, reason);
            return Ok(());
        }
        let pattern = of_variables(name);
        let is_pattern = pattern.is_pattern();
        let options = directive.words.get(2..).unwrap_or_default();
        let odd = notes(name, is_pattern, options);
        for what in &odd {
            self.notices.say(place, what);
        }
        let format = options.first().filter(|word| !is_option(word)).cloned();
        let path = default::absolute(&self.folder, PathBuf::from(OsStr::from_bytes(&pattern.finish())));
        let note = (!odd.is_empty()).then(|| odd.join("; "));
        self.raws.push(Raw { path, format, place: place.to_string(), note });
        Ok(())
    }
}

/// Why a log is no file that can be read, where it is none.
fn left_alone(name: &[u8]) -> Option<String> {
    let shown = String::from_utf8_lossy(name);
    if name == b"off" {
        Some("access_log off: what is asked here is in no log".to_owned())
    } else if name.starts_with(b"syslog:") {
        Some(format!("access_log {shown} goes to the system's log; left alone"))
    } else if name.starts_with(b"/dev/") || name.starts_with(b"/proc/") {
        Some(format!("access_log {shown} goes to a device; left alone"))
    } else if name.starts_with(b"$") {
        Some(format!("access_log {shown}: the folder is known to the server only; left alone, name the logs themselves"))
    } else {
        None
    }
}

/// What is odd about a log.
fn notes(name: &[u8], is_pattern: bool, options: &[Vec<u8>]) -> Vec<String> {
    let mut notes = Vec::new();
    if is_pattern {
        notes.push(format!("access_log {}: its variables are known to the server only; taken as a pattern", String::from_utf8_lossy(name)));
    }
    if let Some(condition) = options.iter().find_map(|word| word.strip_prefix(b"if=")) {
        let (log, condition) = (String::from_utf8_lossy(name), String::from_utf8_lossy(condition));
        notes.push(format!("access_log {log} holds only requests for which {condition} is neither 0 nor empty"));
    }
    if options.iter().any(|word| word == b"gzip" || word.starts_with(b"gzip=")) {
        notes.push(format!("access_log {} is written packed: it can be scanned, but not followed", String::from_utf8_lossy(name)));
    }
    notes
}

fn is_option(word: &[u8]) -> bool {
    word == b"gzip" || [&b"gzip="[..], b"buffer=", b"flush=", b"if="].iter().any(|option| word.starts_with(option))
}

fn resolved(raw: Raw, formats: &HashMap<Vec<u8>, FormatText>) -> Result<Found, ServerError> {
    let Raw { path, format, place, note } = raw;
    let format = match format.as_deref() {
        None | Some(b"combined") => FormatText::Named("combined"),
        Some(name) => formats.get(name).cloned().ok_or_else(|| ServerError::NoFormat {
            place: place.clone(),
            name: String::from_utf8_lossy(name).into_owned(),
            directive: "log_format",
            flag: FLAG,
        })?,
    };
    Ok(Found { path, format, from: place, note })
}

fn syntax(place: Place<'_>, what: &str) -> ServerError {
    ServerError::Syntax { place: place.to_string(), what: what.to_owned(), server: "nginx", flag: FLAG }
}

#[cfg(test)]
mod tests;
