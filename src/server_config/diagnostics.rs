//! Errors and notices about a server's configuration, with the file and line they are about.
//!
//! The messages may contain text of the configuration: the caller sanitizes them before it prints them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why no logs were found.
#[derive(Debug, Error)]
pub enum ServerConfigError {
    /// The configuration itself cannot be read.
    #[error("{}: cannot read the configuration: {source}; name it with {flag}=CONF, or name the logs themselves", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The flag that names it.
        flag: &'static str,
        /// Why.
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
        /// Why.
        source: io::Error,
    },
    /// A file that is no configuration, or a broken one.
    #[error("{location}: {what}; {server} would not start with it: name its configuration with {flag}=CONF")]
    Syntax {
        /// Where.
        location: String,
        /// What was found.
        what: String,
        /// Whose configuration it should be.
        server: &'static str,
        /// The flag that names it.
        flag: &'static str,
    },
    /// A format that is defined nowhere.
    #[error(
        "{location}: no {directive} in what was read is called '{name}'; name the whole configuration with {flag}=CONF, or the log itself \
         with its format behind --log-format"
    )]
    NoFormat {
        /// Where it is asked for.
        location: String,
        /// Its name.
        name: String,
        /// `log_format` or `LogFormat`.
        directive: &'static str,
        /// The flag that names the configuration.
        flag: &'static str,
    },
    /// A configuration without an access log that is a file.
    #[error("{}: no access log is named here that is a file{}; name the logs themselves, or another configuration with {flag}=CONF", path.display(), reasons(.notices))]
    NoLog {
        /// The configuration.
        path: PathBuf,
        /// What was left alone, in sentences.
        notices: Vec<String>,
        /// The flag that names the configuration.
        flag: &'static str,
    },
}

/// A server does not start without a file that it includes, so a missing one is missing in what was copied from there.
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

/// A line of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConfigLocation<'a> {
    pub(super) file: &'a Path,
    /// From 1.
    pub(super) line: usize,
}

impl fmt::Display for ConfigLocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// Things said, in the order in which they were met.
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
    /// Notes something of a place.
    pub(super) fn add(&mut self, location: ConfigLocation<'_>, what: impl Into<String>) {
        let what = what.into();
        match self.notices.iter_mut().find(|notice| notice.what == what) {
            Some(notice) => notice.more += 1,
            None => self.notices.push(ConfigNotice { location: location.to_string(), what, more: 0 }),
        }
    }

    /// The sentences.
    pub(super) fn into_sentences(self) -> Vec<String> {
        let sentence = |ConfigNotice { location, what, more }| match more {
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
    fn the_same_is_said_once() {
        let mut notices = ConfigNotices::default();
        for (line, what) in [(1, "a"), (2, "b"), (3, "a"), (4, "c"), (5, "c"), (6, "c")] {
            notices.add(ConfigLocation { file: Path::new("f"), line }, what);
        }
        assert_eq!(notices.into_sentences(), ["f:1: a (and in 1 more place)", "f:2: b", "f:4: c (and in 2 more places)"]);
    }
}
