//! `--syslog`: sends every alert as an RFC 5424 message in a datagram to the local syslog socket.
//!
//! The facility is `daemon`, not `authpriv`: programs that ban addresses read the log of the latter, and attackers control
//! part of the text. Sends never block. After an error the socket is opened again.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::AlertSinkError;
use super::queue::{AlertQueue, FailureNotifier};
use crate::finding::Severity;
use crate::system::errno_message;

/// `daemon` of RFC 5424, table 1.
const FACILITY: u8 = 3;

/// The longest message in bytes, which RFC 5424, 6.1, asks every receiver to accept.
const MAX_BYTES: usize = 2_048;

/// The longest host name: RFC 5424, 6.
const MAX_HOST_CHARS: usize = 255;

/// Marks the end of a truncated message.
const CUT: &str = "…";

/// The socket, and the messages that are not sent yet.
#[derive(Debug)]
pub(super) struct SyslogSink {
    path: PathBuf,
    /// `None` after an error.
    socket: Option<UnixDatagram>,
    host: String,
    queue: AlertQueue,
    failures: FailureNotifier,
}

impl SyslogSink {
    pub(super) fn connect(path: PathBuf) -> Result<Self, AlertSinkError> {
        match connect(&path) {
            Ok(socket) => {
                let failures = FailureNotifier::new(format!("--syslog {}", path.display()));
                Ok(Self { path, socket: Some(socket), host: host(), queue: AlertQueue::default(), failures })
            }
            Err(error) => Err(AlertSinkError::Syslog { path, error }),
        }
    }

    pub(super) fn send_alert(&mut self, severity: Severity, text: &str, now: Instant) {
        self.queue.push(message(severity, &jiff::Timestamp::now(), &self.host, std::process::id(), text).as_bytes());
        self.send(now);
    }

    pub(super) fn poll(&mut self, now: Instant, notices: &mut Vec<String>) {
        self.send(now);
        self.failures.collect(&mut self.queue, now, notices);
    }

    pub(super) fn finish(mut self, now: Instant, notices: &mut Vec<String>) {
        self.try_all(now);
        self.failures.finish(&self.queue, notices);
    }

    fn send(&mut self, now: Instant) {
        if !self.queue.is_empty() && self.failures.should_try(now) {
            self.try_all(now);
        }
    }

    fn try_all(&mut self, now: Instant) {
        while !self.queue.is_empty() {
            match self.try_first() {
                Ok(()) => self.failures.recovered(),
                // The daemon is slow. That is reported only when the queue is full.
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    self.failures.failed(&errno_message(&error), now);
                    return;
                }
            }
        }
    }

    fn try_first(&mut self) -> io::Result<()> {
        let Some(message) = self.queue.get(0) else { return Ok(()) };
        // A restarted daemon has a new socket at the same path: reconnect once before this is an error.
        let old = self.socket.take().map(|socket| (send(&socket, message), socket));
        let socket = match old {
            Some((Err(error), socket)) if error.kind() == ErrorKind::WouldBlock => {
                self.socket = Some(socket);
                return Err(error);
            }
            Some((Ok(()), socket)) => socket,
            _ => {
                let socket = connect(&self.path)?;
                send(&socket, message)?;
                socket
            }
        };
        self.socket = Some(socket);
        self.queue.pop();
        Ok(())
    }
}

fn connect(path: &Path) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.connect(path)?;
    Ok(socket)
}

fn send(socket: &UnixDatagram, message: &[u8]) -> io::Result<()> {
    loop {
        match socket.send(message) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            sent => return sent.map(|_| ()),
        }
    }
}

/// The message: header, no structured data, and the text with the byte order mark of UTF-8.
fn message(severity: Severity, time: &jiff::Timestamp, host: &str, process: u32, text: &str) -> String {
    let priority = FACILITY * 8 + level(severity);
    let mut message = format!("<{priority}>1 {time:.6} {host} probewatch {process} alert - \u{feff}");
    let room = MAX_BYTES - message.len();
    // The text is escaped already, but some daemons split messages at line breaks.
    let text = text.trim_end().replace(char::is_control, " ");
    if text.len() <= room {
        message.push_str(&text);
    } else {
        let end = (0..=room - CUT.len()).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        message.push_str(&text[..end]);
        message.push_str(CUT);
    }
    message
}

/// RFC 5424, table 2. Emergency and alert are not used: daemons show those to all logged-in users.
fn level(severity: Severity) -> u8 {
    match severity {
        Severity::Critical => 2,
        Severity::High => 3,
        Severity::Medium => 4,
        Severity::Low => 5,
        Severity::Info => 6,
    }
}

fn host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let fits = (1..=MAX_HOST_CHARS).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic());
    if fits { name } else { "-".into() }
}

#[cfg(test)]
mod tests;
