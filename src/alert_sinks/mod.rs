//! The destinations of alerts besides the terminal: a program, a file and syslog. Also notifies
//! systemd.
//!
//! Nothing here delays the reading of logs: what a sink does not accept waits in a bounded queue,
//! and what exceeds the queue is counted and reported. No shell is used, and text from logs is
//! never passed in an argument or an environment variable. Alerts are rendered and escaped by the
//! caller.
//!
//! Notices contain paths as the user gave them: pass them through `redact::sanitize` before
//! printing.

mod exec;
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
use crate::log::finding::Severity;
use crate::os::system::errno_message;
pub(crate) use exec::ChildSettings;
pub(crate) use systemd::SystemdNotifier;

/// A sink that cannot be opened at the start, probably because of a mistyped option. The exit code
/// is 2 for a program and 4 for the others.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AlertSinkError {
    /// The program cannot be started.
    #[error("cannot start {}: {}; --exec takes the path of a program, or a name in PATH, and no arguments: put those in a script", program.display(), errno_message(error))]
    Exec {
        /// The program as the user gave it.
        program: PathBuf,
        /// The system's error. It is part of the message, and so not a `source`.
        error: io::Error,
    },
    /// The file cannot be opened.
    #[error("cannot open {}: {}; choose another --alert-file: a regular file, no link, in a folder you may write to", path.display(), errno_message(error))]
    File {
        /// The path as the user gave it.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// No daemon listens on the socket.
    #[error("cannot reach the system's log at {}: {}; is a log daemon running? --syslog=PATH names another datagram socket", path.display(), errno_message(error))]
    Syslog {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// Which sinks to open.
#[derive(Debug, Clone, Default)]
pub(crate) struct AlertSinkSettings {
    /// The program that gets each alert as a line on its standard input: a path, or a name to look
    /// up in `PATH`.
    pub exec: Option<PathBuf>,
    /// How it is started.
    pub child: ChildSettings,
    /// The file that each alert is appended to.
    pub alert_file: Option<PathBuf>,
    /// The datagram socket of syslog, usually `/dev/log`.
    pub syslog: Option<PathBuf>,
}

/// The open sinks.
#[derive(Debug, Default)]
pub(crate) struct AlertSinks {
    exec: Option<ExecSink>,
    file: Option<FileSink>,
    syslog: Option<SyslogSink>,
}

impl AlertSinks {
    /// Starts the program, opens the file and connects to syslog.
    ///
    /// # Errors
    ///
    /// The first sink that fails. Later failures are returned by [`poll`](Self::poll) as notices,
    /// and retried.
    pub(crate) fn new(settings: AlertSinkSettings) -> Result<Self, AlertSinkError> {
        let now = Instant::now();
        Ok(Self {
            file: settings.alert_file.map(FileSink::open).transpose()?,
            syslog: settings.syslog.map(SyslogSink::connect).transpose()?,
            // The program last, so that it is not started if another sink fails.
            exec: settings
                .exec
                .map(|program| ExecSink::start(program, settings.child, now))
                .transpose()?,
        })
    }

    /// Sends an alert to every sink: `json`, one line with its newline, to the program and the
    /// file; `text` to syslog.
    pub(crate) fn send_alert(&mut self, severity: Severity, json: &[u8], text: &str) {
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

    /// Retries queued alerts and restarts a program that ended. Call it about four times a second.
    /// Returns notices for the user.
    pub(crate) fn poll(&mut self) -> Vec<String> {
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

    /// Retries queued alerts one last time and ends the program: closes its standard input and
    /// sends SIGTERM after two seconds. Takes at most four and a half seconds. Returns notices for
    /// the user.
    #[must_use]
    pub(crate) fn finish(self) -> Vec<String> {
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
mod tests {
    use std::fs;
    use std::os::unix::net::UnixDatagram;
    use std::process::Command;

    use crate::alert_sinks::*;

    #[test]
    fn an_alert_is_sent_to_every_sink() {
        let folder = tempfile::tempdir().unwrap();
        let [program, out, file, log] =
            ["program", "out", "alerts", "log"].map(|name| folder.path().join(name));
        let script = format!("#!/bin/sh\nexec cat > '{}'\n", out.display());
        // Another process writes it: see the tests of `exec`.
        let written = Command::new("sh")
            .args(["-c", "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\""])
            .arg(&program)
            .arg(script)
            .status();
        assert!(written.unwrap().success());
        let socket = UnixDatagram::bind(&log).unwrap();
        let settings = AlertSinkSettings {
            exec: Some(program),
            child: ChildSettings {
                silent: true,
                open_file_limit: None,
            },
            alert_file: Some(file.clone()),
            syslog: Some(log),
        };
        let mut sinks = AlertSinks::new(settings).unwrap();
        let hostile = b"{\"target\":\"/$(touch here);`id`\"}\n";
        sinks.send_alert(Severity::High, hostile, "probing: /$(touch here)");
        assert_eq!(sinks.poll(), [""; 0]);
        assert_eq!(sinks.finish(), [""; 0]);
        assert_eq!(
            (fs::read(out).unwrap(), fs::read(file).unwrap()),
            (hostile.to_vec(), hostile.to_vec())
        );
        let mut bytes = [0; 4096];
        let length = socket.recv(&mut bytes).unwrap();
        assert!(bytes[..length].ends_with("\u{feff}probing: /$(touch here)".as_bytes()));
    }

    #[test]
    fn without_sinks_nothing_happens() {
        let mut sinks = AlertSinks::new(AlertSinkSettings::default()).unwrap();
        sinks.send_alert(Severity::Critical, b"{}\n", "x");
        assert_eq!((sinks.poll(), sinks.finish()), (vec![], vec![]));
    }

    #[test]
    fn the_program_is_not_started_if_another_sink_fails() {
        let folder = tempfile::tempdir().unwrap();
        let settings = AlertSinkSettings {
            exec: Some("/nowhere".into()),
            syslog: Some(folder.path().join("log")),
            ..AlertSinkSettings::default()
        };
        assert!(matches!(
            AlertSinks::new(settings),
            Err(AlertSinkError::Syslog { .. })
        ));
        let settings = AlertSinkSettings {
            exec: Some("/nowhere".into()),
            ..AlertSinkSettings::default()
        };
        assert!(matches!(
            AlertSinks::new(settings),
            Err(AlertSinkError::Exec { .. })
        ));
    }
}
