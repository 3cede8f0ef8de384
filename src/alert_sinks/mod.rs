//! Where alerts go besides the screen: a program, a file, the system's log; and what systemd is told.
//!
//! Only what was asked for is done, and nothing of it holds up the reading of logs: what a place does not take waits in a
//! bounded queue, and what does not fit is counted and told. No shell is used, and no text of a log ever stands in an
//! argument or in the environment of a program. What comes in is rendered and escaped already.
//!
//! Notices hold paths as the user named them: show them through `report::sanitize`.

mod error;
mod exec;
mod file;
mod queue;
mod service;
mod syslog;
mod trouble;

use std::path::PathBuf;
use std::time::Instant;

use self::exec::Exec;
use self::file::AlertFile;
use self::syslog::Syslog;
use crate::finding::Severity;
pub use error::ActionError;
pub use service::Service;

/// The local socket of the system's log.
pub const LOG_SOCKET: &str = "/dev/log";

/// What was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The program that gets each alert as a line on its standard input: a path, or a name to look for in `PATH`.
    pub exec: Option<PathBuf>,
    /// The program's standard error goes nowhere, as the screen is ours; otherwise it is that of probewatch.
    pub exec_silent: bool,
    /// The file that each alert is appended to.
    pub alert_file: Option<PathBuf>,
    /// The datagram socket of the system's log: [`LOG_SOCKET`] as a rule.
    pub syslog: Option<PathBuf>,
}

/// The places that were asked for.
#[derive(Debug, Default)]
pub struct Actions {
    exec: Option<Exec>,
    file: Option<AlertFile>,
    syslog: Option<Syslog>,
}

impl Actions {
    /// Starts the program, opens the file, connects to the log.
    ///
    /// # Errors
    ///
    /// The first of these that fails: what does not work at the start was most likely mistyped. Later trouble is told by
    /// [`turn`](Self::turn), and tried again.
    pub fn new(wanted: Wanted) -> Result<Self, ActionError> {
        let now = Instant::now();
        Ok(Self {
            file: wanted.alert_file.map(AlertFile::open).transpose()?,
            syslog: wanted.syslog.map(Syslog::connect).transpose()?,
            // The program last, so that it is not started for nothing.
            exec: wanted.exec.map(|program| Exec::start(program, wanted.exec_silent, now)).transpose()?,
        })
    }

    /// Hands an alert to every place: `json` to the program and the file, one line with its newline; `text` to the log.
    pub fn tell(&mut self, severity: Severity, json: &[u8], text: &str) {
        let now = Instant::now();
        if let Some(exec) = &mut self.exec {
            exec.tell(json);
        }
        if let Some(file) = &mut self.file {
            file.tell(json, now);
        }
        if let Some(syslog) = &mut self.syslog {
            syslog.tell(severity, text, now);
        }
    }

    /// To be called now and then, four times a second, say: tries again what waits, starts a program again that ended.
    /// Returns what there is to tell the user, in sentences.
    pub fn turn(&mut self) -> Vec<String> {
        let now = Instant::now();
        let mut notices = Vec::new();
        if let Some(exec) = &mut self.exec {
            exec.turn(now, &mut notices);
        }
        if let Some(file) = &mut self.file {
            file.turn(now, &mut notices);
        }
        if let Some(syslog) = &mut self.syslog {
            syslog.turn(now, &mut notices);
        }
        notices
    }

    /// Tries what waits one last time and ends the program: its standard input is closed, and after two seconds it is sent
    /// SIGTERM. Takes four seconds and a half at most. Returns what there is to tell the user, in sentences.
    #[must_use]
    pub fn finish(self) -> Vec<String> {
        let now = Instant::now();
        let mut notices = Vec::new();
        if let Some(file) = self.file {
            file.finish(now, &mut notices);
        }
        if let Some(syslog) = self.syslog {
            syslog.finish(now, &mut notices);
        }
        if let Some(exec) = self.exec {
            exec.finish(&mut notices);
        }
        notices
    }
}

#[cfg(test)]
mod tests;
