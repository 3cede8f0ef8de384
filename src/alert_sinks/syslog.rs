//! `--syslog`: sends every alert as an RFC 5424 message in a datagram to the local syslog socket.
//!
//! The facility is `daemon`, not `authpriv`: programs that ban addresses read the log of the
//! latter, and attackers control part of the text. Sends never block. After an error the socket is
//! opened again.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::AlertSinkError;
use super::queue::AlertQueue;
use crate::log::finding::Severity;
use crate::os::system::errno_message;

/// `daemon` of RFC 5424, table 1.
const FACILITY: u8 = 3;

/// The longest message in bytes, which every receiver should accept (RFC 5424, section 6.1).
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
}

impl SyslogSink {
    pub(super) fn connect(path: PathBuf) -> Result<Self, AlertSinkError> {
        match connect(&path) {
            Ok(socket) => {
                let queue = AlertQueue::new(format!("--syslog {}", path.display()));
                Ok(Self {
                    path,
                    socket: Some(socket),
                    host: host(),
                    queue,
                })
            }
            Err(error) => Err(AlertSinkError::Syslog { path, error }),
        }
    }

    pub(super) fn send_alert(&mut self, severity: Severity, text: &str, now: Instant) {
        self.queue.push(
            message(
                severity,
                &jiff::Timestamp::now(),
                &self.host,
                std::process::id(),
                text,
            )
            .as_bytes(),
        );
        self.send(now);
    }

    pub(super) fn poll(&mut self, now: Instant, notices: &mut Vec<String>) {
        self.send(now);
        self.queue.collect(now, notices);
    }

    pub(super) fn finish(mut self, now: Instant, notices: &mut Vec<String>) {
        self.try_all(now);
        self.queue.finish(notices);
    }

    fn send(&mut self, now: Instant) {
        if !self.queue.is_empty() && self.queue.should_try(now) {
            self.try_all(now);
        }
    }

    fn try_all(&mut self, now: Instant) {
        while !self.queue.is_empty() {
            match self.try_first() {
                Ok(()) => self.queue.recovered(),
                // The daemon is slow. That is reported only when the queue is full.
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    self.queue.failed(&errno_message(&error), now);
                    return;
                }
            }
        }
    }

    fn try_first(&mut self) -> io::Result<()> {
        let Some(message) = self.queue.get(0) else {
            return Ok(());
        };
        // A restarted daemon has a new socket at the same path: reconnect once before this is an
        // error.
        let old = self
            .socket
            .take()
            .map(|socket| (send(&socket, message), socket));
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
fn message(
    severity: Severity,
    time: &jiff::Timestamp,
    host: &str,
    process: u32,
    text: &str,
) -> String {
    let priority = FACILITY * 8 + level(severity);
    let mut message =
        format!("<{priority}>1 {time:.6} {host} probewatch {process} alert - \u{feff}");
    let available = MAX_BYTES - message.len();
    // The text is escaped already, but some daemons split messages at line breaks.
    let text = text.trim_end().replace(char::is_control, " ");
    if text.len() <= available {
        message.push_str(&text);
    } else {
        let end = (0..=available - CUT.len())
            .rev()
            .find(|end| text.is_char_boundary(*end))
            .unwrap_or(0);
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
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let fits =
        (1..=MAX_HOST_CHARS).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic());
    if fits { name } else { "-".into() }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::Shutdown;
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    use tempfile::TempDir;

    use crate::alert_sinks::syslog::*;

    /// A daemon's socket.
    fn daemon() -> (TempDir, PathBuf, UnixDatagram) {
        let available = tempfile::tempdir().unwrap();
        let path = available.path().join("log");
        let socket = listen(&path);
        (available, path, socket)
    }

    fn listen(path: &Path) -> UnixDatagram {
        let socket = UnixDatagram::bind(path).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    }

    fn received(socket: &UnixDatagram) -> Option<String> {
        let mut bytes = [0; 8192];
        let length = socket.recv(&mut bytes).ok()?;
        Some(String::from_utf8(bytes[..length].to_vec()).unwrap())
    }

    /// Closes a daemon's socket. A child of another test may still hold it for an instant, so it is
    /// shut down first.
    fn end(socket: UnixDatagram) {
        socket.shutdown(Shutdown::Both).unwrap();
        drop(socket);
    }

    /// The texts received.
    fn texts(socket: &UnixDatagram) -> Vec<String> {
        std::iter::from_fn(|| received(socket))
            .map(|message| message.split_once('\u{feff}').unwrap().1.to_owned())
            .collect()
    }

    #[test]
    fn messages_follow_rfc_5424() {
        let time: jiff::Timestamp = "2026-11-21T18:10:45.5Z".parse().unwrap();
        let message = |severity, text: &str| message(severity, &time, "web1", 4711, text);
        assert_eq!(
            message(Severity::Critical, "größer\n"),
            "<26>1 2026-11-21T18:10:45.500000Z web1 probewatch 4711 alert - \u{feff}größer"
        );
        let priorities = Severity::ALL
            .map(|severity| message(severity, "x").split_once('>').unwrap().0.to_owned());
        assert_eq!(priorities, ["<30", "<29", "<28", "<27", "<26"]);
        assert!(message(Severity::Low, "a\nb\0c\u{9b}d").ends_with("\u{feff}a b c d"));
        for letter in ["x", "ä", "日", "🦀"] {
            for more in 0..4 {
                let long = message(Severity::Low, &("x".repeat(more) + &letter.repeat(3_000)));
                assert!(
                    (MAX_BYTES - 4..=MAX_BYTES).contains(&long.len())
                        && long.ends_with(&format!("{letter}…")),
                    "{}",
                    long.len()
                );
            }
        }
        let available = MAX_BYTES - message(Severity::Low, "").len();
        assert!(
            message(Severity::Low, &"x".repeat(available)).ends_with('x'),
            "what fits is not cut"
        );
    }

    #[test]
    fn every_alert_arrives_once() {
        let (_folder, path, socket) = daemon();
        let (now, mut notices) = (Instant::now(), Vec::new());
        let mut syslog = SyslogSink::connect(path).unwrap();
        syslog.send_alert(Severity::High, "one", now);
        let message = received(&socket).unwrap();
        let fields: Vec<_> = message.splitn(8, ' ').collect();
        assert_eq!(
            [fields[0], fields[3], fields[4], fields[5], fields[6]],
            [
                "<27>1",
                "probewatch",
                &std::process::id().to_string(),
                "alert",
                "-"
            ]
        );
        assert!(
            fields[1].parse::<jiff::Timestamp>().is_ok() && fields[2] == host(),
            "{message}"
        );
        assert_eq!(fields[7], "\u{feff}one");
        for text in ["two", "three"] {
            syslog.send_alert(Severity::Low, text, now);
        }
        syslog.finish(now, &mut notices);
        assert_eq!(
            (texts(&socket), notices),
            (vec!["two".into(), "three".into()], vec![])
        );
    }

    #[test]
    fn a_daemon_that_does_not_read_delays_nothing() {
        let (_folder, path, socket) = daemon();
        let (now, mut notices) = (Instant::now(), Vec::new());
        let prefix = format!("--syslog {}", path.display());
        let mut syslog = SyslogSink::connect(path).unwrap();
        for n in 0..5_000 {
            syslog.send_alert(Severity::Low, &n.to_string(), now);
        }
        syslog.poll(now, &mut notices);
        let mut got = texts(&socket);
        while !syslog.queue.is_empty() {
            syslog.poll(now, &mut notices);
            got.extend(texts(&socket));
        }
        assert!(
            got.len() >= super::super::queue::MAX_LINES
                && got
                    .iter()
                    .enumerate()
                    .all(|(n, text)| *text == n.to_string())
        );
        assert_eq!(
            notices,
            [format!(
                "{prefix}: {} alerts were dropped, as the queue is full",
                5_000 - got.len()
            )]
        );
    }

    #[test]
    fn a_restarted_daemon_is_found() {
        let (_folder, path, socket) = daemon();
        let (now, mut notices) = (Instant::now(), Vec::new());
        let mut syslog = SyslogSink::connect(path.clone()).unwrap();
        end(socket);
        fs::remove_file(&path).unwrap();
        let socket = listen(&path);
        syslog.send_alert(Severity::Low, "one", now);
        assert_eq!(texts(&socket), ["one"]);

        end(socket);
        for later in [0, 1, 2] {
            syslog.send_alert(
                Severity::Low,
                "while it was away",
                now + Duration::from_secs(later),
            );
            syslog.poll(now + Duration::from_secs(later), &mut notices);
        }
        fs::remove_file(&path).unwrap();
        let socket = listen(&path);
        syslog.poll(now + Duration::from_secs(3), &mut notices);
        assert_eq!(texts(&socket), ["while it was away"; 3]);
        let prefix = format!("--syslog {}: ", path.display());
        assert!(
            notices[0].starts_with(&prefix)
                && notices[0].ends_with("; retrying, with up to 1000 alerts in the queue"),
            "{notices:?}"
        );
        assert_eq!(notices[1..], [format!("{prefix}works again")]);
    }

    #[test]
    fn a_missing_socket_is_an_error() {
        let available = tempfile::tempdir().unwrap();
        let path = available.path().join("log");
        let refusal = || SyslogSink::connect(path.clone()).unwrap_err().to_string();
        let advice = "is a log daemon running? --syslog=PATH names another datagram socket";
        assert_eq!(
            refusal(),
            format!(
                "cannot reach the system's log at {}: no such file or directory; {advice}",
                path.display()
            )
        );
        let _listener = UnixListener::bind(&path).unwrap();
        assert_eq!(
            refusal(),
            format!(
                "cannot reach the system's log at {}: protocol wrong type for socket; {advice}",
                path.display()
            )
        );
    }
}
