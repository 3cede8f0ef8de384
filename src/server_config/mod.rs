//! Reads the access logs and their formats from the configuration of a web server.
//!
//! Reads configuration files only: opens no log, contacts no server and runs no program. Nothing is guessed: a
//! variable in a file name becomes a glob, and skipped directives are reported.

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

/// Paths of the nginx configuration in packages and source builds. `nginx -t` prints the path in use.
pub const NGINX_CONFIG_PATHS: [&str; 5] = [
    "/etc/nginx/nginx.conf",
    "/usr/local/nginx/conf/nginx.conf",
    "/usr/local/etc/nginx/nginx.conf",
    "/usr/local/openresty/nginx/conf/nginx.conf",
    "/opt/homebrew/etc/nginx/nginx.conf",
];

/// Paths of the Apache configuration in packages and source builds.
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
    /// The file, or a glob if its name has parts that only the server knows.
    pub path: PathBuf,
    /// The format of its lines.
    pub format: ConfiguredFormat,
    /// Where it is configured: `file:line`. Unsanitized.
    pub location: String,
    /// What is unusual about it, to print after its path. May contain text of the configuration: sanitize it.
    pub note: Option<String>,
}

/// A log format from a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfiguredFormat {
    /// The text of an nginx `log_format`: its strings joined, with the quoting and escapes of the configuration
    /// removed.
    Nginx {
        /// How values are escaped.
        escape: LogFormatEscape,
        /// The text with its variables.
        text: String,
    },
    /// The text of an Apache `LogFormat`, with the quoting of the configuration removed.
    Apache(String),
    /// A format that needs no definition: `combined`, `common` or `vhost_combined`.
    Named(&'static str),
}

/// How an nginx `log_format` escapes values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormatEscape {
    /// `\xHH`.
    #[default]
    Default,
    /// JSON string escapes.
    Json,
    /// No escapes.
    None,
}

/// The logs of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfiguredLogs {
    /// The logs in the order of the configuration. A path with two formats is listed twice.
    pub logs: Vec<ConfiguredLog>,
    /// The error logs, which a glob of an access log may match too.
    pub error_logs: Vec<PathBuf>,
    /// Skipped and unusual directives, as sentences. They contain text of the configuration: sanitize them.
    pub notices: Vec<String>,
}

/// The first path that exists.
#[must_use]
pub fn first_existing(places: &[&str]) -> Option<PathBuf> {
    places.iter().map(Path::new).find(|location| location.is_file()).map(Path::to_owned)
}

/// Removes duplicates: several sites may write the same log in the same format.
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
