//! The access logs of nginx: `access_log` and `log_format`, wherever `include` leads.
//!
//! Source: <https://nginx.org/en/docs/http/ngx_http_log_module.html>. What `if=` leaves out, and who asked at all, is not known;
//! logs of `stream` are none of requests and are left alone.

mod parser;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use self::parser::NginxDirective;
use super::diagnostics::{ConfigLocation, ConfigNotices};
use super::path_pattern::from_variables;
use super::{ConfiguredFormat, ConfiguredLog, ConfiguredLogs, LogFormatEscape, ServerConfigError, config_files};

const FLAG: &str = "--from-nginx";

/// Where a directive stands, as far as that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NginxContext {
    Main,
    Http,
    Server,
    Location,
    Stream,
}

/// An `access_log`, before all formats are known.
struct NginxLog {
    path: PathBuf,
    format: Option<Vec<u8>>,
    location: String,
    note: Option<String>,
}

/// A reading under way.
struct NginxInterpreter {
    /// The folder that includes start at.
    folder: PathBuf,
    logs: Vec<NginxLog>,
    error_logs: Vec<PathBuf>,
    formats: HashMap<Vec<u8>, ConfiguredFormat>,
    notices: ConfigNotices,
    /// The first server that says nothing of logs.
    server_without_log: Option<String>,
    depth: usize,
}

/// The access logs that the configuration at `path` names.
///
/// # Errors
///
/// A file that cannot be read or is no configuration, a format that is defined nowhere, no log at all.
pub fn read_nginx(path: &Path) -> Result<ConfiguredLogs, ServerConfigError> {
    let text = config_files::read(path).map_err(|source| ServerConfigError::Unreadable { path: path.to_owned(), flag: FLAG, source })?;
    let folder = config_files::folder(path);
    let (logs, error_logs, formats, notices) = (Vec::new(), Vec::new(), HashMap::new(), ConfigNotices::default());
    let mut interpreter = NginxInterpreter { folder, logs, error_logs, formats, notices, server_without_log: None, depth: 0 };
    // The configuration of a single site is welcome too: what stands in no http block is read as if it did.
    let has_log = interpreter.file(path, &text, NginxContext::Main)?;
    if let (false, Some(location)) = (has_log, interpreter.server_without_log.take()) {
        let note = Some("no access_log is named for this server, so it writes the default one".to_owned());
        interpreter.logs.push(NginxLog { path: default_log(&interpreter.folder), format: None, location, note });
    }
    let found = interpreter.logs.drain(..).map(|raw| resolve(raw, &interpreter.formats)).collect::<Result<Vec<_>, _>>()?;
    let logs =
        ConfiguredLogs { found: super::dedup(found), error_logs: interpreter.error_logs, notices: interpreter.notices.into_sentences() };
    if logs.found.is_empty() {
        return Err(ServerConfigError::NoLog { path: path.to_owned(), notices: logs.notices, flag: FLAG });
    }
    Ok(logs)
}

impl NginxInterpreter {
    /// Reads a text; whether it says where the requests of its level go.
    fn file(&mut self, file: &Path, text: &[u8], level: NginxContext) -> Result<bool, ServerConfigError> {
        let directives = parser::parse(text).map_err(|wrong| syntax(ConfigLocation { file, line: wrong.line }, &wrong.what))?;
        self.level(file, &directives, level)
    }

    fn level(&mut self, file: &Path, directives: &[NginxDirective], level: NginxContext) -> Result<bool, ServerConfigError> {
        let mut has_log = false;
        for directive in directives {
            has_log |= self.directive(ConfigLocation { file, line: directive.line }, directive, level)?;
        }
        Ok(has_log)
    }

    fn directive(
        &mut self,
        location: ConfigLocation<'_>,
        directive: &NginxDirective,
        level: NginxContext,
    ) -> Result<bool, ServerConfigError> {
        let mut inner = |level| self.level(location.file, directive.block.as_deref().unwrap_or_default(), level);
        match (directive.word(0).unwrap_or_default(), level) {
            (b"include", _) => return self.include(location, directive, level),
            (b"http", NginxContext::Main) => return inner(NginxContext::Http),
            (b"stream", NginxContext::Main) | (b"server", NginxContext::Stream) => drop(inner(NginxContext::Stream)?),
            (b"server", NginxContext::Main | NginxContext::Http) => {
                let has_log = inner(NginxContext::Server)?;
                if !has_log {
                    self.server_without_log.get_or_insert(location.to_string());
                }
            }
            (
                b"location" | b"if" | b"limit_except",
                NginxContext::Main | NginxContext::Http | NginxContext::Server | NginxContext::Location,
            ) => {
                inner(NginxContext::Location)?;
            }
            (b"access_log", NginxContext::Stream) => {
                self.notices.add(location, "an access_log of stream holds connections, not requests; left alone");
            }
            (b"access_log", _) => return self.access_log(location, directive).map(|()| true),
            (b"error_log", _) => self.error_log(directive),
            (b"log_format", NginxContext::Main | NginxContext::Http) => self.log_format(directive),
            _ => {}
        }
        Ok(false)
    }

    fn include(
        &mut self,
        location: ConfigLocation<'_>,
        directive: &NginxDirective,
        level: NginxContext,
    ) -> Result<bool, ServerConfigError> {
        let name = directive.word(1).ok_or_else(|| syntax(location, "an include of nothing"))?;
        let path = self.folder.join(OsStr::from_bytes(name));
        let files = if config_files::is_pattern(name) { config_files::matching(&path) } else { vec![path] };
        if self.depth == config_files::MAX_DEPTH {
            return Err(syntax(location, "includes that go round in a circle"));
        }
        self.depth += 1;
        let mut has_log = false;
        for path in files {
            let refused = |source: io::Error| ServerConfigError::Include { location: location.to_string(), path: path.clone(), source };
            has_log |= self.file(&path, &config_files::read(&path).map_err(refused)?, level)?;
        }
        self.depth -= 1;
        Ok(has_log)
    }

    fn log_format(&mut self, directive: &NginxDirective) {
        let Some(name) = directive.word(1) else { return };
        let escape = match directive.word(2) {
            Some(b"escape=json") => Some(LogFormatEscape::Json),
            Some(b"escape=none") => Some(LogFormatEscape::None),
            Some(b"escape=default") => Some(LogFormatEscape::Default),
            _ => None,
        };
        let strings = directive.words.get(if escape.is_some() { 3 } else { 2 }..).unwrap_or_default();
        let text = String::from_utf8_lossy(&strings.concat()).into_owned();
        self.formats.insert(name.to_vec(), ConfiguredFormat::Nginx { escape: escape.unwrap_or_default(), text });
    }

    /// Source: <https://nginx.org/en/docs/ngx_core_module.html#error_log>.
    fn error_log(&mut self, directive: &NginxDirective) {
        let Some(name) = directive.word(1) else { return };
        let is_file = name != b"stderr" && ![&b"syslog:"[..], b"memory:", b"/dev/"].iter().any(|other| name.starts_with(other));
        if is_file {
            self.error_logs.push(absolute(&self.folder, PathBuf::from(OsStr::from_bytes(name))));
        }
    }

    fn access_log(&mut self, location: ConfigLocation<'_>, directive: &NginxDirective) -> Result<(), ServerConfigError> {
        let name = directive.word(1).ok_or_else(|| syntax(location, "an access_log without a path"))?;
        if let Some(reason) = skip_reason(name) {
            self.notices.add(location, reason);
            return Ok(());
        }
        let pattern = from_variables(name);
        let is_pattern = pattern.is_pattern();
        let options = directive.words.get(2..).unwrap_or_default();
        let odd = notes(name, is_pattern, options);
        for what in &odd {
            self.notices.add(location, what);
        }
        let format = options.first().filter(|word| !is_option(word)).cloned();
        let path = absolute(&self.folder, PathBuf::from(OsStr::from_bytes(&pattern.finish())));
        let note = (!odd.is_empty()).then(|| odd.join("; "));
        self.logs.push(NginxLog { path, format, location: location.to_string(), note });
        Ok(())
    }
}

/// Why a log is no file that can be read, where it is none.
fn skip_reason(name: &[u8]) -> Option<String> {
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

fn resolve(raw: NginxLog, formats: &HashMap<Vec<u8>, ConfiguredFormat>) -> Result<ConfiguredLog, ServerConfigError> {
    let NginxLog { path, format, location, note } = raw;
    let format = match format.as_deref() {
        None | Some(b"combined") => ConfiguredFormat::Named("combined"),
        Some(name) => formats.get(name).cloned().ok_or_else(|| ServerConfigError::NoFormat {
            location: location.clone(),
            name: String::from_utf8_lossy(name).into_owned(),
            directive: "log_format",
            flag: FLAG,
        })?,
    };
    Ok(ConfiguredLog { path, format, from: location, note })
}

fn syntax(location: ConfigLocation<'_>, what: &str) -> ServerConfigError {
    ServerConfigError::Syntax { location: location.to_string(), what: what.to_owned(), server: "nginx", flag: FLAG }
}

/// Folders that nginx may have been built for, whose configuration lies elsewhere.
const PREFIXES: [&str; 3] = ["/usr/share/nginx", "/var/lib/nginx", "/usr/local/nginx"];

/// Where all packages write requests to when nothing is said.
const PACKAGED: &str = "/var/log/nginx/access.log";

/// A name of a log, from the root on where it can be known; `folder` is that of the configuration.
fn absolute(folder: &Path, name: PathBuf) -> PathBuf {
    if name.is_absolute() {
        return name;
    }
    let prefixes = || std::iter::once(prefix_of(folder)).chain(PREFIXES.iter().map(PathBuf::from));
    let there = prefixes().map(|prefix| prefix.join(&name)).find(|path| path.parent().is_some_and(Path::is_dir));
    there.unwrap_or_else(|| prefix_of(folder).join(name))
}

/// The log that is written where none is named.
fn default_log(folder: &Path) -> PathBuf {
    let beside = prefix_of(folder).join("logs/access.log");
    if folder.ends_with("conf") || beside.is_file() { beside } else { PathBuf::from(PACKAGED) }
}

/// The prefix of a configuration that lies in `PREFIX` or `PREFIX/conf`.
fn prefix_of(folder: &Path) -> PathBuf {
    match folder.parent() {
        Some(parent) if folder.ends_with("conf") => parent.to_owned(),
        _ => folder.to_owned(),
    }
}

#[cfg(test)]
mod tests;
