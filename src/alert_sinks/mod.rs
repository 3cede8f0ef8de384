//! Where alerts go besides the screen: a program, a file, the system's log; and what systemd is told.
//!
//! Only what was asked for is done, and nothing of it holds up the reading of logs: what a place does not take waits in a
//! bounded queue, and what does not fit is counted and told. No shell is used, and no text of a log ever stands in an
//! argument or in the environment of a program. What comes in is rendered and escaped already.
//!
//! Notices hold paths as the user named them: show them through `report::sanitize`.

mod exec;
mod failure_notifier;
mod file;
mod queue;
mod syslog;
mod systemd;

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use self::exec::ExecSink;
use self::file::FileSink;
use self::syslog::SyslogSink;
use crate::finding::Severity;
use crate::system::reason;
pub use systemd::SystemdNotifier;

/// The local socket of the system's log.
pub const LOG_SOCKET: &str = "/dev/log";

/// What does not work at the start. A wrong command line, as a rule: the exit code is 2 for a program, 4 for the others.
#[derive(Debug, thiserror::Error)]
pub enum AlertSinkError {
    /// The program cannot be started.
    #[error("cannot start {}: {}; --exec takes the path of a program, or a name in PATH, and no arguments: put those in a script", program.display(), reason(error))]
    Exec {
        /// As the user named it.
        program: PathBuf,
        /// What the system said. Part of the message, and so no `source` that would say it twice.
        error: io::Error,
    },
    /// The file cannot be opened.
    #[error("cannot open {}: {}; choose another --alert-file: a regular file, no link, in a folder you may write to", path.display(), reason(error))]
    File {
        /// As the user named it.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Nobody listens at the socket.
    #[error("cannot reach the system's log at {}: {}; is a log daemon running? --syslog=PATH names another datagram socket", path.display(), reason(error))]
    Syslog {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// What was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlertSinkSettings {
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
pub struct AlertSinks {
    exec: Option<ExecSink>,
    file: Option<FileSink>,
    syslog: Option<SyslogSink>,
}

impl AlertSinks {
    /// Starts the program, opens the file, connects to the log.
    ///
    /// # Errors
    ///
    /// The first of these that fails: what does not work at the start was most likely mistyped. Later trouble is told by
    /// [`poll`](Self::turn), and tried again.
    pub fn new(settings: AlertSinkSettings) -> Result<Self, AlertSinkError> {
        let now = Instant::now();
        Ok(Self {
            file: settings.alert_file.map(FileSink::open).transpose()?,
            syslog: settings.syslog.map(SyslogSink::connect).transpose()?,
            // The program last, so that it is not started for nothing.
            exec: settings.exec.map(|program| ExecSink::start(program, settings.exec_silent, now)).transpose()?,
        })
    }

    /// Hands an alert to every place: `json` to the program and the file, one line with its newline; `text` to the log.
    pub fn send_alert(&mut self, severity: Severity, json: &[u8], text: &str) {
        let now = Instant::now();
        if let Some(exec) = &mut self.exec {
            exec.send_alert(json);
        }
        if let Some(file) = &mut self.file {
            file.send_alert(json, now);
        }
        if let Some(syslog) = &mut self.syslog {
            syslog.send_alert(severity, text, now);
        }
    }

    /// To be called now and then, four times a second, say: tries again what waits, starts a program again that ended.
    /// Returns what there is to tell the user, in sentences.
    pub fn poll(&mut self) -> Vec<String> {
        let now = Instant::now();
        let mut notices = Vec::new();
        if let Some(exec) = &mut self.exec {
            exec.poll(now, &mut notices);
        }
        if let Some(file) = &mut self.file {
            file.poll(now, &mut notices);
        }
        if let Some(syslog) = &mut self.syslog {
            syslog.poll(now, &mut notices);
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
