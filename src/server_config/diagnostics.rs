//! Errors and notices about a server's configuration, with the file and line they are about.
//!
//! The messages may contain text of the configuration: the caller sanitizes them before it prints
//! them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A web server, as messages name it.
#[derive(Debug)]
pub(crate) struct Server {
    /// Its name.
    pub(super) name: &'static str,
    /// The flag that names its configuration.
    pub(super) flag: &'static str,
    /// The directive that defines a format.
    pub(super) format_directive: &'static str,
}

/// Why no logs were found.
#[derive(Debug, Error)]
pub(crate) enum ServerConfigError {
    /// The configuration itself cannot be read.
    #[error("{}: cannot read the configuration: {source}; name it with {}=CONF, or name the logs themselves", path.display(), .server.flag)]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The server.
        server: &'static Server,
        /// The reason.
        source: io::Error,
    },
    /// A file that the configuration includes cannot be read.
    #[error(
        "{location}: includes {}, which cannot be read: {source}; {}, or name the logs themselves",
        path.display(),
        advice(source)
    )]
    Include {
        /// Where it is included.
        location: String,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file with a syntax error, or one that is not a configuration.
    #[error(
        "{location}: {what}; {} would not start with it; pass its configuration with {}=CONF",
        .server.name,
        .server.flag
    )]
    Syntax {
        /// The location.
        location: String,
        /// The error.
        what: String,
        /// The server.
        server: &'static Server,
    },
    /// A format that is not defined.
    #[error(
        "{location}: no {} is named '{name}'; pass the whole configuration with {}=CONF, or the log itself with --log-format",
        .server.format_directive,
        .server.flag
    )]
    NoFormat {
        /// Where it is used.
        location: String,
        /// Its name.
        name: String,
        /// The server.
        server: &'static Server,
    },
    /// A configuration without an access log in a file.
    #[error("{}: names no access log that is a file{}; name the logs themselves, or another configuration with {}=CONF", path.display(), reasons(.notices), .server.flag)]
    NoLog {
        /// The configuration.
        path: PathBuf,
        /// Skipped directives, as sentences.
        notices: Vec<String>,
        /// The server.
        server: &'static Server,
    },
}

/// A server does not start without an included file, so the file is probably missing in a copy of
/// the configuration.
fn advice(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::NotFound {
        "read the configuration where the server runs"
    } else {
        "run as a user who may read all of it"
    }
}

fn reasons(notices: &[String]) -> String {
    match notices {
        [] => String::new(),
        notices => format!(" ({})", notices.join(", ")),
    }
}

/// A line of a configuration file.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConfigLocation<'a> {
    pub(super) file: &'a Path,
    /// Starts at 1.
    pub(super) line: usize,
}

impl ConfigLocation<'_> {
    /// The error of what is wrong here.
    pub(super) fn syntax(self, what: &str, server: &'static Server) -> ServerConfigError {
        ServerConfigError::Syntax {
            location: self.to_string(),
            what: what.to_owned(),
            server,
        }
    }

    /// The error of a file that is included here and cannot be read.
    pub(super) fn include(self, path: &Path, source: io::Error) -> ServerConfigError {
        ServerConfigError::Include {
            location: self.to_string(),
            path: path.to_owned(),
            source,
        }
    }
}

impl fmt::Display for ConfigLocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// Notices, each reported once with its first location: a server with a hundred sites may have
/// `access_log off` a hundred times.
#[derive(Debug, Default)]
pub(super) struct ConfigNotices {
    notices: Vec<ConfigNotice>,
}

#[derive(Debug)]
struct ConfigNotice {
    location: String,
    what: String,
    more: usize,
}

impl ConfigNotices {
    /// Adds a notice, or counts it if it was added before.
    pub(super) fn add(&mut self, location: ConfigLocation<'_>, what: impl Into<String>) {
        let what = what.into();
        match self.notices.iter_mut().find(|notice| notice.what == what) {
            Some(notice) => notice.more += 1,
            None => self.notices.push(ConfigNotice {
                location: location.to_string(),
                what,
                more: 0,
            }),
        }
    }

    /// The notices as sentences.
    pub(super) fn into_sentences(self) -> Vec<String> {
        let sentence = |ConfigNotice {
                            location,
                            what,
                            more,
                        }| match more {
            0 => format!("{location}: {what}"),
            1 => format!("{location}: {what} (and in 1 more place)"),
            more => format!("{location}: {what} (and in {more} more places)"),
        };
        self.notices.into_iter().map(sentence).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_notice_is_reported_once() {
        let mut notices = ConfigNotices::default();
        for (line, what) in [(1, "a"), (2, "b"), (3, "a"), (4, "c"), (5, "c"), (6, "c")] {
            notices.add(
                ConfigLocation {
                    file: Path::new("f"),
                    line,
                },
                what,
            );
        }
        assert_eq!(
            notices.into_sentences(),
            [
                "f:1: a (and in 1 more place)",
                "f:2: b",
                "f:4: c (and in 2 more places)"
            ]
        );
    }
}
