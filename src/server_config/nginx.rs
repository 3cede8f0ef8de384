//! Reads the access logs of nginx: `access_log` and `log_format`, including files from `include`.
//!
//! Source: <https://nginx.org/en/docs/http/ngx_http_log_module.html>. Conditions of `if=` are reported, not
//! evaluated. Logs of `stream` contain no requests and are skipped.

mod parser;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use self::parser::NginxDirective;
use super::diagnostics::{ConfigLocation, ConfigNotices};
use super::{
    ConfiguredFormat, ConfiguredLog, ConfiguredLogs, LogFormatEscape, MAX_DEPTH, ServerConfigError, config_folder, from_variables,
    is_pattern, matching_files, read_config,
};

const FLAG: &str = "--from-nginx";

/// The context of a directive, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NginxContext {
    Main,
    Http,
    Server,
    Location,
    Stream,
}

/// An `access_log`; its format is resolved after everything was read.
struct NginxLog {
    path: PathBuf,
    format: Option<Vec<u8>>,
    location: String,
    note: Option<String>,
}

/// Collects the logs of a configuration.
struct NginxInterpreter {
    /// The folder that includes are relative to.
    folder: PathBuf,
    logs: Vec<NginxLog>,
    error_logs: Vec<PathBuf>,
    formats: HashMap<Vec<u8>, ConfiguredFormat>,
    notices: ConfigNotices,
    /// Location of the first server without an `access_log`.
    server_without_log: Option<String>,
    depth: usize,
}

/// Reads the access logs of the configuration at `path`.
///
/// # Errors
///
/// A file cannot be read or is not a configuration, a format is not defined, or there is no log.
pub(crate) fn read_nginx(path: &Path) -> Result<ConfiguredLogs, ServerConfigError> {
    let text = read_config(path).map_err(|source| ServerConfigError::Unreadable { path: path.to_owned(), flag: FLAG, source })?;
    let folder = config_folder(path);
    let (logs, error_logs, formats, notices) = (Vec::new(), Vec::new(), HashMap::new(), ConfigNotices::default());
    let mut interpreter = NginxInterpreter { folder, logs, error_logs, formats, notices, server_without_log: None, depth: 0 };
    // The configuration of a single site is accepted too: directives outside of an http block are read as if inside.
    let sets_log = interpreter.file(path, &text, NginxContext::Main)?;
    if let (false, Some(location)) = (sets_log, interpreter.server_without_log.take()) {
        let note = Some("no access_log is named for this server, so it writes the default one".to_owned());
        interpreter.logs.push(NginxLog { path: default_log(&interpreter.folder), format: None, location, note });
    }
    let found = interpreter.logs.drain(..).map(|log| resolve(log, &interpreter.formats)).collect::<Result<Vec<_>, _>>()?;
    let logs =
        ConfiguredLogs { logs: super::dedup(found), error_logs: interpreter.error_logs, notices: interpreter.notices.into_sentences() };
    if logs.logs.is_empty() {
        return Err(ServerConfigError::NoLog { path: path.to_owned(), notices: logs.notices, flag: FLAG });
    }
    Ok(logs)
}

impl NginxInterpreter {
    /// Reads a file. Returns whether it sets the log of its context.
    fn file(&mut self, file: &Path, text: &[u8], context: NginxContext) -> Result<bool, ServerConfigError> {
        let directives = parser::parse(text).map_err(|wrong| syntax(ConfigLocation { file, line: wrong.line }, &wrong.what))?;
        self.context(file, &directives, context)
    }

    fn context(&mut self, file: &Path, directives: &[NginxDirective], context: NginxContext) -> Result<bool, ServerConfigError> {
        let mut sets_log = false;
        for directive in directives {
            sets_log |= self.directive(ConfigLocation { file, line: directive.line }, directive, context)?;
        }
        Ok(sets_log)
    }

    fn directive(
        &mut self,
        location: ConfigLocation<'_>,
        directive: &NginxDirective,
        context: NginxContext,
    ) -> Result<bool, ServerConfigError> {
        let mut inner = |context| self.context(location.file, directive.block.as_deref().unwrap_or_default(), context);
        match (directive.word(0).unwrap_or_default(), context) {
            (b"include", _) => return self.include(location, directive, context),
            (b"http", NginxContext::Main) => return inner(NginxContext::Http),
            (b"stream", NginxContext::Main) | (b"server", NginxContext::Stream) => drop(inner(NginxContext::Stream)?),
            (b"server", NginxContext::Main | NginxContext::Http) => {
                let sets_log = inner(NginxContext::Server)?;
                if !sets_log {
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
                self.notices.add(location, "access_log of stream contains connections, not requests; skipped");
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
        context: NginxContext,
    ) -> Result<bool, ServerConfigError> {
        let name = directive.word(1).ok_or_else(|| syntax(location, "an include without a path"))?;
        let path = self.folder.join(OsStr::from_bytes(name));
        let files = if is_pattern(name) { matching_files(&path) } else { vec![path] };
        if self.depth == MAX_DEPTH {
            return Err(syntax(location, "include cycle"));
        }
        self.depth += 1;
        let mut sets_log = false;
        for path in files {
            let refused = |source: io::Error| ServerConfigError::Include { location: location.to_string(), path: path.clone(), source };
            sets_log |= self.file(&path, &read_config(&path).map_err(refused)?, context)?;
        }
        self.depth -= 1;
        Ok(sets_log)
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

/// Why a log is not a readable file, if it is not one.
fn skip_reason(name: &[u8]) -> Option<String> {
    let shown = String::from_utf8_lossy(name);
    if name == b"off" {
        Some("access_log off: these requests are not logged".to_owned())
    } else if name.starts_with(b"syslog:") {
        Some(format!("access_log {shown} goes to the system log; skipped"))
    } else if name.starts_with(b"/dev/") || name.starts_with(b"/proc/") {
        Some(format!("access_log {shown} is a device; skipped"))
    } else if name.starts_with(b"$") {
        Some(format!("access_log {shown}: its folder is known only to the server; skipped: name the logs themselves"))
    } else {
        None
    }
}

/// What is unusual about a log.
fn notes(name: &[u8], is_pattern: bool, options: &[Vec<u8>]) -> Vec<String> {
    let mut notes = Vec::new();
    if is_pattern {
        notes.push(format!("access_log {}: its variables are known only to the server; used as a pattern", String::from_utf8_lossy(name)));
    }
    if let Some(condition) = options.iter().find_map(|word| word.strip_prefix(b"if=")) {
        let (log, condition) = (String::from_utf8_lossy(name), String::from_utf8_lossy(condition));
        notes.push(format!("access_log {log} contains only requests for which {condition} is neither 0 nor empty"));
    }
    if options.iter().any(|word| word == b"gzip" || word.starts_with(b"gzip=")) {
        notes.push(format!("access_log {} is written compressed: it can be scanned, but not followed", String::from_utf8_lossy(name)));
    }
    notes
}

fn is_option(word: &[u8]) -> bool {
    word == b"gzip" || [&b"gzip="[..], b"buffer=", b"flush=", b"if="].iter().any(|option| word.starts_with(option))
}

fn resolve(log: NginxLog, formats: &HashMap<Vec<u8>, ConfiguredFormat>) -> Result<ConfiguredLog, ServerConfigError> {
    let NginxLog { path, format, location, note } = log;
    let format = match format.as_deref() {
        None | Some(b"combined") => ConfiguredFormat::Named("combined"),
        Some(name) => formats.get(name).cloned().ok_or_else(|| ServerConfigError::NoFormat {
            location: location.clone(),
            name: String::from_utf8_lossy(name).into_owned(),
            directive: "log_format",
            flag: FLAG,
        })?,
    };
    Ok(ConfiguredLog { path, format, location, note })
}

fn syntax(location: ConfigLocation<'_>, what: &str) -> ServerConfigError {
    ServerConfigError::Syntax { location: location.to_string(), what: what.to_owned(), server: "nginx", flag: FLAG }
}

/// Prefixes that nginx packages are built with, whose configuration is in another folder.
const PREFIXES: [&str; 3] = ["/usr/share/nginx", "/var/lib/nginx", "/usr/local/nginx"];

/// The default access log of all packages.
const PACKAGED: &str = "/var/log/nginx/access.log";

/// The absolute path of a log, if it can be determined; `folder` is that of the configuration.
///
/// nginx resolves relative names against the prefix that it was built with, which the configuration does not contain.
/// The prefix whose folder exists is used. Sources: `nginx -V` of Debian (`--prefix=/usr/share/nginx
/// --http-log-path=/var/log/nginx/access.log`), of nginx.org's packages (`--prefix=/etc/nginx`) and of Alpine
/// (`--prefix=/var/lib/nginx`), and <https://nginx.org/en/docs/configure.html> (`/usr/local/nginx`).
fn absolute(folder: &Path, name: PathBuf) -> PathBuf {
    if name.is_absolute() {
        return name;
    }
    let prefixes = || std::iter::once(prefix_of(folder)).chain(PREFIXES.iter().map(PathBuf::from));
    let there = prefixes().map(|prefix| prefix.join(&name)).find(|path| path.parent().is_some_and(Path::is_dir));
    there.unwrap_or_else(|| prefix_of(folder).join(name))
}

/// The log that nginx writes if none is configured.
fn default_log(folder: &Path) -> PathBuf {
    let beside = prefix_of(folder).join("logs/access.log");
    if folder.ends_with("conf") || beside.is_file() { beside } else { PathBuf::from(PACKAGED) }
}

/// The prefix of a configuration in `PREFIX` or `PREFIX/conf`.
fn prefix_of(folder: &Path) -> PathBuf {
    match folder.parent() {
        Some(parent) if folder.ends_with("conf") => parent.to_owned(),
        _ => folder.to_owned(),
    }
}

#[cfg(test)]
mod tests;
