//! Reads out of a web server's own configuration which access logs it writes, and in which formats.
//!
//! Reads configuration files and nothing else: no log is opened, no server is asked and no program run. What cannot be known
//! from the files is not guessed: a variable in a name becomes a pattern, and what is left alone is said.

mod apache;
mod config_files;
mod diagnostics;
#[cfg(test)]
mod fixture;
mod nginx;
mod path_pattern;

use std::path::{Path, PathBuf};

pub use apache::read_apache;
pub use diagnostics::ServerConfigError;
pub use nginx::read_nginx;

/// Where packages and sources put the configuration of nginx. `nginx -t` prints the place.
pub const NGINX_CONFIG_PATHS: [&str; 5] = [
    "/etc/nginx/nginx.conf",
    "/usr/local/nginx/conf/nginx.conf",
    "/usr/local/etc/nginx/nginx.conf",
    "/usr/local/openresty/nginx/conf/nginx.conf",
    "/opt/homebrew/etc/nginx/nginx.conf",
];

/// Where packages and sources put the configuration of Apache.
///
/// Source: <https://cwiki.apache.org/confluence/display/HTTPD/DistrosDefaultLayout>.
pub const APACHE_CONFIG_PATHS: [&str; 7] = [
    "/etc/apache2/apache2.conf",
    "/etc/httpd/conf/httpd.conf",
    "/etc/apache2/httpd.conf",
    "/usr/local/etc/apache24/httpd.conf",
    "/usr/local/apache2/conf/httpd.conf",
    "/opt/homebrew/etc/httpd/httpd.conf",
    "/opt/bitnami/apache/conf/httpd.conf",
];

/// An access log that a configuration names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredLog {
    /// The file, or a pattern of files where its name holds something that only the server knows.
    pub path: PathBuf,
    /// How its lines are written.
    pub format: ConfiguredFormat,
    /// Where that is said: `file:line`. May hold what the path of the file holds: sanitise it.
    pub from: String,
    /// What is odd about it, to be put behind its path. May hold text of the configuration: sanitise it.
    pub note: Option<String>,
}

/// A format, as a configuration says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfiguredFormat {
    /// The text of an nginx `log_format`: its strings joined, quotes and backslashes of the configuration undone.
    Nginx {
        /// How values are escaped.
        escape: LogFormatEscape,
        /// The text with its variables.
        text: String,
    },
    /// The text of an Apache `LogFormat`, the quotes of the configuration undone.
    Apache(String),
    /// One that needs no definition: `combined`, `common` or `vhost_combined`.
    Named(&'static str),
}

/// How an nginx `log_format` escapes values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormatEscape {
    /// `\xHH`.
    #[default]
    Default,
    /// As JSON strings want it.
    Json,
    /// Not at all.
    None,
}

/// What a configuration came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfiguredLogs {
    /// The logs, in the order in which they are named. A path that is written in two formats is there twice.
    pub found: Vec<ConfiguredLog>,
    /// The files that errors are written to, which a pattern of a log may lead to as well.
    pub error_logs: Vec<PathBuf>,
    /// What was left alone and why, and what is odd, in sentences. They hold text of the configuration: sanitise them.
    pub notices: Vec<String>,
}

/// The first of these places that there is.
#[must_use]
pub fn first_existing(places: &[&str]) -> Option<PathBuf> {
    places.iter().map(Path::new).find(|location| location.is_file()).map(Path::to_owned)
}

/// These, each once: several sites may write one log in one format.
fn dedup(logs: Vec<ConfiguredLog>) -> Vec<ConfiguredLog> {
    let mut kept: Vec<ConfiguredLog> = Vec::new();
    for log in logs {
        match kept.iter_mut().find(|other| other.path == log.path && other.format == log.format) {
            Some(first) => first.note = first.note.take().filter(|_| log.note.is_some()),
            None => kept.push(log),
        }
    }
    kept
}
