//! Why an action cannot begin, in words that say what to do.
//!
//! Messages hold paths as they are: show them through `report::sanitize`.

use std::io;
use std::path::PathBuf;

use crate::system::errno_message;

/// What does not work at the start. A wrong command line, as a rule: the exit code is 2 for a program, 4 for the others.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    /// The program cannot be started.
    #[error("cannot start {}: {}; --exec takes the path of a program, or a name in PATH, and no arguments: put those in a script", program.display(), errno_message(error))]
    Exec {
        /// As the user named it.
        program: PathBuf,
        /// What the system said. Part of the message, and so no `source` that would say it twice.
        error: io::Error,
    },
    /// The file cannot be opened.
    #[error("cannot open {}: {}; choose another --alert-file: a regular file, no link, in a folder you may write to", path.display(), errno_message(error))]
    File {
        /// As the user named it.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Nobody listens at the socket.
    #[error("cannot reach the system's log at {}: {}; is a log daemon running? --syslog=PATH names another datagram socket", path.display(), errno_message(error))]
    Syslog {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}
