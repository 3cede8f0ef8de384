//! What can be wrong with a server's configuration: the file and line, what was found, and what to type next.
//!
//! The messages hold text of the configuration: whoever prints them sanitises them.

use std::io;
use std::path::PathBuf;

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
