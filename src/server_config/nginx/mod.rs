//! Reads the access logs of nginx: `access_log` and `log_format`, including files from `include`.
//!
//! Source: <https://nginx.org/en/docs/http/ngx_http_log_module.html>. Conditions of `if=` are
//! reported, not evaluated. Logs of `stream` contain no requests and are skipped.

mod parser;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use self::parser::NginxDirective;
use super::diagnostics::{ConfigLocation, ConfigNotices, Server};
use super::{
    ConfiguredFormat, ConfiguredLog, ConfiguredLogs, LogFormatEscape, MAX_DEPTH, ServerConfigError,
    config_folder, from_variables, is_pattern, matching_files, prefix_of, read_config, read_main,
    resolve,
};

const NGINX: &Server = &Server {
    name: "nginx",
    flag: "--from-nginx",
    format_directive: "log_format",
};

/// The context of a directive, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NginxContext {
    Main,
    Http,
    Server,
    Location,
    Stream,
}

/// An `access_log`, with the name of its format.
type NginxLog = ConfiguredLog<Option<Vec<u8>>>;

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
    let text = read_main(path, NGINX)?;
    let mut interpreter = NginxInterpreter {
        folder: config_folder(path),
        logs: Vec::new(),
        error_logs: Vec::new(),
        formats: HashMap::new(),
        notices: ConfigNotices::default(),
        server_without_log: None,
        depth: 0,
    };
    // The configuration of a single site is accepted too: directives outside of an http block are
    // read as if inside.
    let sets_log = interpreter.file(path, &text, NginxContext::Main)?;
    if let (false, Some(location)) = (sets_log, interpreter.server_without_log.take()) {
        let note =
            Some("no access_log is named for this server, so it writes the default one".to_owned());
        interpreter.logs.push(NginxLog {
            path: default_log(&interpreter.folder),
            format: None,
            location,
            note,
        });
    }
    let NginxInterpreter {
        logs,
        error_logs,
        formats,
        notices,
        ..
    } = interpreter;
    let format_of = |name: Option<Vec<u8>>| match name.as_deref() {
        None | Some(b"combined") => Ok(ConfiguredFormat::Named("combined")),
        Some(name) => formats
            .get(name)
            .cloned()
            .ok_or_else(|| String::from_utf8_lossy(name).into_owned()),
    };
    Ok(ConfiguredLogs {
        error_logs,
        ..resolve(path, NGINX, logs, notices, format_of)?
    })
}

impl NginxInterpreter {
    /// Reads a file. Returns whether it sets the log of its context.
    fn file(
        &mut self,
        file: &Path,
        text: &[u8],
        context: NginxContext,
    ) -> Result<bool, ServerConfigError> {
        let directives = parser::parse(text).map_err(|wrong| {
            let line = wrong.line;
            ConfigLocation { file, line }.syntax(&wrong.what, NGINX)
        })?;
        self.context(file, &directives, context)
    }

    fn context(
        &mut self,
        file: &Path,
        directives: &[NginxDirective],
        context: NginxContext,
    ) -> Result<bool, ServerConfigError> {
        let mut sets_log = false;
        for directive in directives {
            sets_log |= self.directive(
                ConfigLocation {
                    file,
                    line: directive.line,
                },
                directive,
                context,
            )?;
        }
        Ok(sets_log)
    }

    fn directive(
        &mut self,
        location: ConfigLocation<'_>,
        directive: &NginxDirective,
        context: NginxContext,
    ) -> Result<bool, ServerConfigError> {
        let mut inner = |context| {
            self.context(
                location.file,
                directive.block.as_deref().unwrap_or_default(),
                context,
            )
        };
        match (directive.word(0).unwrap_or_default(), context) {
            (b"include", _) => return self.include(location, directive, context),
            (b"http", NginxContext::Main) => return inner(NginxContext::Http),
            (b"stream", NginxContext::Main) | (b"server", NginxContext::Stream) => {
                inner(NginxContext::Stream)?;
            }
            (b"server", NginxContext::Main | NginxContext::Http) => {
                let sets_log = inner(NginxContext::Server)?;
                if !sets_log {
                    self.server_without_log.get_or_insert(location.to_string());
                }
            }
            (
                b"location" | b"if" | b"limit_except",
                NginxContext::Main
                | NginxContext::Http
                | NginxContext::Server
                | NginxContext::Location,
            ) => {
                inner(NginxContext::Location)?;
            }
            (b"access_log", NginxContext::Stream) => {
                self.notices.add(
                    location,
                    "access_log of stream contains connections, not requests; skipped",
                );
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
        let name = directive
            .word(1)
            .ok_or_else(|| location.syntax("an include without a path", NGINX))?;
        let path = self.folder.join(OsStr::from_bytes(name));
        let files = if is_pattern(name) {
            matching_files(&path).map_err(|source| location.include(&path, source))?
        } else {
            vec![path]
        };
        if self.depth == MAX_DEPTH {
            return Err(location.syntax("include cycle", NGINX));
        }
        self.depth += 1;
        let mut sets_log = false;
        for path in files {
            let text = read_config(&path).map_err(|source| location.include(&path, source))?;
            sets_log |= self.file(&path, &text, context)?;
        }
        self.depth -= 1;
        Ok(sets_log)
    }

    fn log_format(&mut self, directive: &NginxDirective) {
        let Some(name) = directive.word(1) else {
            return;
        };
        let escape = match directive.word(2) {
            Some(b"escape=json") => Some(LogFormatEscape::Json),
            Some(b"escape=none") => Some(LogFormatEscape::None),
            Some(b"escape=default") => Some(LogFormatEscape::Default),
            _ => None,
        };
        let strings = directive
            .words
            .get(if escape.is_some() { 3 } else { 2 }..)
            .unwrap_or_default();
        let text = String::from_utf8_lossy(&strings.concat()).into_owned();
        self.formats.insert(
            name.to_vec(),
            ConfiguredFormat::Nginx {
                escape: escape.unwrap_or_default(),
                text,
            },
        );
    }

    /// Source: <https://nginx.org/en/docs/ngx_core_module.html#error_log>.
    fn error_log(&mut self, directive: &NginxDirective) {
        let Some(name) = directive.word(1) else {
            return;
        };
        let is_file = name != b"stderr"
            && ![&b"syslog:"[..], b"memory:", b"/dev/"]
                .iter()
                .any(|other| name.starts_with(other));
        if is_file {
            self.error_logs.push(absolute(
                &self.folder,
                PathBuf::from(OsStr::from_bytes(name)),
            ));
        }
    }

    fn access_log(
        &mut self,
        location: ConfigLocation<'_>,
        directive: &NginxDirective,
    ) -> Result<(), ServerConfigError> {
        let name = directive
            .word(1)
            .ok_or_else(|| location.syntax("an access_log without a path", NGINX))?;
        if let Some(reason) = skip_reason(name) {
            self.notices.add(location, reason);
            return Ok(());
        }
        let pattern = from_variables(name);
        let is_pattern = pattern.is_pattern();
        let options = directive.words.get(2..).unwrap_or_default();
        let log_notes = notes(name, is_pattern, options);
        for what in &log_notes {
            self.notices.add(location, what);
        }
        let format = options.first().filter(|word| !is_option(word)).cloned();
        let path = absolute(
            &self.folder,
            PathBuf::from(OsStr::from_bytes(&pattern.finish())),
        );
        let note = (!log_notes.is_empty()).then(|| log_notes.join("; "));
        self.logs.push(NginxLog {
            path,
            format,
            location: location.to_string(),
            note,
        });
        Ok(())
    }
}

/// Why a log is not a readable file, if it is not one.
fn skip_reason(name: &[u8]) -> Option<String> {
    let log_text = String::from_utf8_lossy(name);
    if name == b"off" {
        Some("access_log off: these requests are not logged".to_owned())
    } else if name.starts_with(b"syslog:") {
        Some(format!(
            "access_log {log_text} goes to the system log; skipped"
        ))
    } else if name.starts_with(b"/dev/") || name.starts_with(b"/proc/") {
        Some(format!("access_log {log_text} is a device; skipped"))
    } else if name.starts_with(b"$") {
        Some(format!(
            "access_log {log_text}: its folder is known only to the server; skipped: name the logs themselves"
        ))
    } else {
        None
    }
}

/// What is unusual about a log.
fn notes(name: &[u8], is_pattern: bool, options: &[Vec<u8>]) -> Vec<String> {
    let mut notes = Vec::new();
    if is_pattern {
        notes.push(format!(
            "access_log {}: its variables are known only to the server; used as a pattern",
            String::from_utf8_lossy(name)
        ));
    }
    if let Some(condition) = options.iter().find_map(|word| word.strip_prefix(b"if=")) {
        let (log, condition) = (
            String::from_utf8_lossy(name),
            String::from_utf8_lossy(condition),
        );
        notes.push(format!(
            "access_log {log} contains only requests for which {condition} is neither 0 nor empty"
        ));
    }
    if options
        .iter()
        .any(|word| word == b"gzip" || word.starts_with(b"gzip="))
    {
        notes.push(format!(
            "access_log {} is written compressed: it can be scanned, but not followed",
            String::from_utf8_lossy(name)
        ));
    }
    notes
}

fn is_option(word: &[u8]) -> bool {
    word == b"gzip"
        || [&b"gzip="[..], b"buffer=", b"flush=", b"if="]
            .iter()
            .any(|option| word.starts_with(option))
}

/// Prefixes that nginx packages are built with, whose configuration is in another folder.
const PREFIXES: [&str; 3] = ["/usr/share/nginx", "/var/lib/nginx", "/usr/local/nginx"];

/// The default access log of all packages.
const PACKAGED: &str = "/var/log/nginx/access.log";

/// The absolute path of a log, if it can be determined; `folder` is that of the configuration.
///
/// nginx resolves relative names against the prefix that it was built with, which the configuration
/// does not contain. The prefix whose folder exists is used. Sources: `nginx -V` of Debian
/// (`--prefix=/usr/share/nginx --http-log-path=/var/log/nginx/access.log`), of nginx.org's packages
/// (`--prefix=/etc/nginx`) and of Alpine (`--prefix=/var/lib/nginx`), and
/// <https://nginx.org/en/docs/configure.html> (`/usr/local/nginx`).
fn absolute(folder: &Path, name: PathBuf) -> PathBuf {
    if name.is_absolute() {
        return name;
    }
    let prefixes = || std::iter::once(prefix_of(folder)).chain(PREFIXES.iter().map(Path::new));
    let existing = prefixes()
        .map(|prefix| prefix.join(&name))
        .find(|path| path.parent().is_some_and(Path::is_dir));
    existing.unwrap_or_else(|| prefix_of(folder).join(name))
}

/// The log that nginx writes if none is configured.
fn default_log(folder: &Path) -> PathBuf {
    let beside = prefix_of(folder).join("logs/access.log");
    if folder.ends_with("conf") || beside.is_file() {
        beside
    } else {
        PathBuf::from(PACKAGED)
    }
}

#[cfg(test)]
mod tests {
    //! Tests of reading nginx configurations.

    use crate::server_config::fixture::{self, ConfigFixture};
    use crate::server_config::nginx::*;

    const MAIN: &str = r#"log_format main '$remote_addr [$time_local] "$request" ' '$status';"#;

    fn read(files: ConfigFixture<'_>) -> Result<ConfiguredLogs, String> {
        fixture::read(files, "nginx.conf", read_nginx)
    }

    fn read_text(text: &str) -> Result<ConfiguredLogs, String> {
        read(&[("nginx.conf", text)])
    }

    /// Paths and locations of the logs.
    fn locations(logs: &ConfiguredLogs) -> Vec<(&str, &str)> {
        logs.logs
            .iter()
            .map(|log| (log.path.to_str().unwrap(), log.location.as_str()))
            .collect()
    }

    #[test]
    fn logs_of_every_context_with_their_formats() {
        let text = format!(
            "user www-data; # access_log /no;\nhttp {{\n access_log /l/a main buffer=32k flush=5s;\n {MAIN}\n \
             log_format api escape=json '{{\"a\":\"$remote_addr\"}}';\n log_format raw escape=none \"$request\\t$status\";\n \
             server {{ access_log \"/l/b c\" api; access_log /l/d raw;\n location / {{ if ($x) {{ access_log /l/e combined; }} }} }}\n \
             server {{ access_log /l/f; }} }}\n"
        );
        let logs = read_text(&text).unwrap();
        let locations = locations(&logs);
        assert_eq!(
            locations,
            [
                ("/l/a", "nginx.conf:3"),
                ("/l/b c", "nginx.conf:7"),
                ("/l/d", "nginx.conf:7"),
                ("/l/e", "nginx.conf:8"),
                ("/l/f", "nginx.conf:9")
            ]
        );
        let nginx = |escape, text: &str| ConfiguredFormat::Nginx {
            escape,
            text: text.to_owned(),
        };
        assert_eq!(
            logs.logs[0].format,
            nginx(
                LogFormatEscape::Default,
                "$remote_addr [$time_local] \"$request\" $status"
            )
        );
        assert_eq!(
            logs.logs[1].format,
            nginx(LogFormatEscape::Json, "{\"a\":\"$remote_addr\"}")
        );
        assert_eq!(
            logs.logs[2].format,
            nginx(LogFormatEscape::None, "$request\t$status")
        );
        assert_eq!(
            (&logs.logs[3].format, &logs.logs[4].format),
            (
                &ConfiguredFormat::Named("combined"),
                &ConfiguredFormat::Named("combined")
            )
        );
        assert!(logs.notices.is_empty(), "{:?}", logs.notices);
    }

    #[test]
    fn includes_are_relative_to_the_configuration_folder() {
        let logs = read(&[
            (
                "nginx.conf",
                "include modules/*.conf;\nhttp { include mime.types; include conf.d/*.conf; include sites/*; }",
            ),
            ("mime.types", "types { text/html html; }"),
            ("conf.d/b.conf", "access_log /l/b main;"),
            ("conf.d/a.conf", "include snippets/formats.conf;"),
            ("conf.d/.hidden.conf", "access_log /l/hidden;"),
            ("snippets/formats.conf", MAIN),
            ("sites/x", "server {\n access_log logs/x main; }"),
        ]);
        let logs = logs.unwrap();
        assert_eq!(
            locations(&logs),
            [("/l/b", "conf.d/b.conf:1"), ("logs/x", "sites/x:2")]
        );
    }

    #[test]
    fn a_server_without_access_log_writes_the_default_log() {
        for (text, has_default) in [
            ("http { server { listen 80; } }", true),
            ("http { server { location / { access_log /l/a; } } }", true),
            ("http { server { access_log /l/a; } }", false),
            ("http { access_log /l/a; server { } }", false),
            (
                "http { access_log off; server { access_log /l/a; } server { } }",
                false,
            ),
            ("server { access_log /l/a; }", false),
        ] {
            let logs = read_text(text).unwrap();
            let default = logs
                .logs
                .iter()
                .any(|log| log.path == Path::new("/var/log/nginx/access.log"));
            assert_eq!(default, has_default, "{text}: {logs:?}");
        }
    }

    #[test]
    fn logs_that_are_not_files_are_skipped_and_reported() {
        let text = "http {\n access_log /l/a;\n access_log syslog:server=10.0.0.1 combined;\n access_log off;\n server { access_log off; }\n \
                    access_log /dev/stdout;\n access_log $root/x.log;\n access_log /l/$host.log;\n access_log /l/c combined if=$loggable;\n \
                    access_log /l/z.gz combined gzip=4;\n}\nstream { server { access_log /l/s basic; } }\n";
        let logs = read_text(text).unwrap();
        assert_eq!(
            logs.notices,
            [
                "nginx.conf:3: access_log syslog:server=10.0.0.1 goes to the system log; skipped",
                "nginx.conf:4: access_log off: these requests are not logged (and in 1 more place)",
                "nginx.conf:6: access_log /dev/stdout is a device; skipped",
                "nginx.conf:7: access_log $root/x.log: its folder is known only to the server; skipped: name the logs themselves",
                "nginx.conf:8: access_log /l/$host.log: its variables are known only to the server; used as a pattern",
                "nginx.conf:9: access_log /l/c contains only requests for which $loggable is neither 0 nor empty",
                "nginx.conf:10: access_log /l/z.gz is written compressed: it can be scanned, but not followed",
                "nginx.conf:12: access_log of stream contains connections, not requests; skipped",
            ]
        );
        let paths: Vec<_> = logs
            .logs
            .iter()
            .map(|log| log.path.to_str().unwrap())
            .collect();
        assert_eq!(paths, ["/l/a", "/l/*.log", "/l/c", "/l/z.gz"]);
        assert!(
            logs.logs[0].note.is_none()
                && logs.logs[2].note.as_ref().unwrap().contains("$loggable")
        );
    }

    #[test]
    fn a_log_is_listed_once_per_format() {
        let text = format!(
            "http {{ {MAIN} server {{ access_log /l/a main; }} server {{ access_log /l/a; }} server {{ access_log /l/a main if=$x; }} }}"
        );
        let logs = read_text(&text).unwrap();
        assert_eq!(logs.logs.len(), 2);
        // The first server logs all of its requests there.
        assert!(logs.logs.iter().all(|log| log.note.is_none()));
    }

    #[test]
    fn errors_name_the_location_and_what_to_type() {
        let circle = [
            ("nginx.conf", "http { include a.conf; }"),
            ("a.conf", "include a.conf;"),
        ];
        let cases: [(ConfigFixture<'_>, &str, &str); 7] = [
            (
                &[("nginx.conf", "http {\n access_log /l/a main; }")],
                "nginx.conf:2: no log_format",
                "--log-format",
            ),
            (
                &[("nginx.conf", "http {\n include gone.conf; }")],
                "nginx.conf:2: includes gone.conf, which cannot",
                "name the logs themselves",
            ),
            (
                &[("nginx.conf", "http {\n\n access_log /l/a }")],
                "nginx.conf:3: a '}'",
                "--from-nginx=CONF",
            ),
            (
                &[("nginx.conf", "http {\n access_log off; }")],
                "names no access log that is a file",
                "nginx.conf:2: access_log off",
            ),
            (
                &[("nginx.conf", "192.0.2.1 - - [x] \"GET / HTTP/1.1\" 200 1\n")],
                "nginx.conf:1: a directive without a ';' at its end",
                "nginx would",
            ),
            (
                &[("other.conf", "")],
                "nginx.conf: cannot read",
                "--from-nginx=CONF",
            ),
            (&circle, "a.conf:1: include cycle", "--from-nginx=CONF"),
        ];
        for (files, what, advice) in cases {
            let text = read(files).unwrap_err();
            assert!(text.contains(what) && text.contains(advice), "{text}");
        }
    }
}
