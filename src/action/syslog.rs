//! `--syslog`: every alert as a message of RFC 5424, as a datagram to the local socket of the system's log.
//!
//! The facility is `daemon`, not `authpriv`: programs that ban addresses read the log of the latter, and an attacker
//! chooses part of our text. Messages never wait for the daemon; the socket is looked up again after an error.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::error::ActionError;
use super::queue::Queue;
use super::trouble::Trouble;
use crate::finding::Severity;
use crate::system::errno_message;

/// `daemon` of RFC 5424, table 1.
const FACILITY: u8 = 3;

/// Bytes of a message: what RFC 5424, 6.1, wants every receiver to take.
const MOST_BYTES: usize = 2_048;

/// Characters of a host name: RFC 5424, 6.
const MOST_HOST: usize = 255;

/// Where a message was cut.
const CUT: &str = "…";

/// The socket, and what is still to be sent.
#[derive(Debug)]
pub(super) struct Syslog {
    path: PathBuf,
    /// `None` after an error.
    socket: Option<UnixDatagram>,
    host: String,
    queue: Queue,
    trouble: Trouble,
}

impl Syslog {
    pub(super) fn connect(path: PathBuf) -> Result<Self, ActionError> {
        match connect(&path) {
            Ok(socket) => {
                let trouble = Trouble::new(format!("--syslog {}", path.display()));
                Ok(Self { path, socket: Some(socket), host: host(), queue: Queue::default(), trouble })
            }
            Err(error) => Err(ActionError::Syslog { path, error }),
        }
    }

    pub(super) fn tell(&mut self, severity: Severity, text: &str, now: Instant) {
        self.queue.push(message(severity, &jiff::Timestamp::now(), &self.host, std::process::id(), text).as_bytes());
        self.send(now);
    }

    pub(super) fn turn(&mut self, now: Instant, notices: &mut Vec<String>) {
        self.send(now);
        self.trouble.tell(&mut self.queue, now, notices);
    }

    pub(super) fn finish(mut self, now: Instant, notices: &mut Vec<String>) {
        self.try_all(now);
        self.trouble.finish(&self.queue, notices);
    }

    fn send(&mut self, now: Instant) {
        if !self.queue.is_empty() && self.trouble.may_try(now) {
            self.try_all(now);
        }
    }

    fn try_all(&mut self, now: Instant) {
        while !self.queue.is_empty() {
            match self.try_first() {
                Ok(()) => self.trouble.over(),
                // The daemon is slow. That is no trouble until the queue is full, and is told then.
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    self.trouble.met(&errno_message(&error), now);
                    return;
                }
            }
        }
    }

    fn try_first(&mut self) -> io::Result<()> {
        let Some(message) = self.queue.get(0) else { return Ok(()) };
        // A daemon that was started again has a new socket at the old path: one more look before this is an error.
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

/// The whole message: header, no structured data, and the text with the byte order mark that says it is UTF-8.
fn message(severity: Severity, time: &jiff::Timestamp, host: &str, process: u32, text: &str) -> String {
    let priority = FACILITY * 8 + level(severity);
    let mut message = format!("<{priority}>1 {time:.6} {host} probewatch {process} alert - \u{feff}");
    let room = MOST_BYTES - message.len();
    // The text was escaped where it was rendered; a line break would still make two messages of one in some daemons.
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

/// RFC 5424, table 2. Emergency and alert are left out: daemons show those to everyone who is logged in.
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
    let fits = (1..=MOST_HOST).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic());
    if fits { name } else { "-".into() }
}

#[cfg(test)]
mod tests;
