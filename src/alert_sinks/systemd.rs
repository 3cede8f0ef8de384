//! Notifies systemd about the state of the service: ready, reloading, stopping, a status text, and
//! the watchdog.
//!
//! Does nothing without `NOTIFY_SOCKET` in the environment. Failures are reported once and never
//! stop the run.

use std::env;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

use sd_notify::NotifyState;

/// The least time between two status texts.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// The longest status text in characters.
const MAX_STATUS_CHARS: usize = 200;

/// The connection to the service manager, if there is one.
#[derive(Debug)]
pub(crate) struct SystemdNotifier {
    is_enabled: bool,
    /// The interval of the watchdog, and when it was last notified.
    watchdog: Option<Duration>,
    last_watchdog: Option<Instant>,
    /// The status text sent last, and when.
    sent_status: Option<(String, Instant)>,
    /// The status text to send next.
    next_status: Option<String>,
    notice: Option<String>,
    has_warned: bool,
}

impl SystemdNotifier {
    /// Reads the environment variables of the service manager.
    #[must_use]
    pub(crate) fn from_environment() -> Self {
        let is_enabled = env::var_os("NOTIFY_SOCKET").is_some_and(|socket| !socket.is_empty());
        let watchdog =
            sd_notify::watchdog_enabled().filter(|interval| is_enabled && !interval.is_zero());
        Self {
            is_enabled,
            watchdog,
            last_watchdog: None,
            sent_status: None,
            next_status: None,
            notice: None,
            has_warned: false,
        }
    }

    /// How often [`poll`](Self::poll) must be called at least. The manager ends a service that is
    /// silent for twice as long.
    #[must_use]
    pub(crate) fn watchdog_interval(&self) -> Option<Duration> {
        self.watchdog.map(|interval| interval / 2)
    }

    /// Notifies that the service is ready, after the start or a reload.
    pub(crate) fn ready(&mut self) {
        self.send(&[NotifyState::Ready]);
    }

    /// Notifies that a reload begins. Call [`ready`](Self::ready) afterwards, also if the reload
    /// failed.
    pub(crate) fn reloading(&mut self) {
        // Recent versions need the start time; see `RELOADING=1` in sd_notify(3).
        match NotifyState::monotonic_usec_now() {
            Ok(since) => self.send(&[NotifyState::Reloading, since]),
            Err(_) => self.send(&[NotifyState::Reloading]),
        }
    }

    /// Notifies that the service is stopping.
    pub(crate) fn stopping(&mut self) {
        self.send(&[NotifyState::Stopping]);
    }

    /// Sets the status text of `systemctl status`. It is sent when it changes, at most once a
    /// second.
    pub(crate) fn status(&mut self, next_status: &str) {
        if !self.is_enabled {
            return;
        }
        // A line break would begin another message.
        let next_status: String = next_status
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(MAX_STATUS_CHARS)
            .collect();
        self.next_status = Some(next_status).filter(|next_status| {
            self.sent_status
                .as_ref()
                .is_none_or(|(sent_status, _)| sent_status != next_status)
        });
        self.send_status(Instant::now());
    }

    /// Sends the watchdog notification and a pending status text. Returns a notice for the user.
    pub(crate) fn poll(&mut self) -> Option<String> {
        let now = Instant::now();
        if let Some(watchdog_interval) = self.watchdog_interval()
            // Twice as often as required, because calls may be late.
            && self.last_watchdog.is_none_or(|last_watchdog| now >= last_watchdog + watchdog_interval / 2)
        {
            self.last_watchdog = Some(now);
            self.send(&[NotifyState::Watchdog]);
        }
        self.send_status(now);
        self.notice.take()
    }

    fn send_status(&mut self, now: Instant) {
        if self
            .sent_status
            .as_ref()
            .is_some_and(|(_, when)| now < *when + STATUS_INTERVAL)
        {
            return;
        }
        if let Some(next_status) = self.next_status.take() {
            self.send(&[NotifyState::Status(&next_status)]);
            self.sent_status = Some((next_status, now));
        }
    }

    fn send(&mut self, states: &[NotifyState<'_>]) {
        if !self.is_enabled {
            return;
        }
        let mut message = states
            .iter()
            .map(NotifyState::to_string)
            .collect::<Vec<_>>()
            .join("\n");
        message.push('\n');
        if let Err(error) = send(message.as_bytes())
            && !self.has_warned
        {
            self.has_warned = true;
            self.notice = Some(format!("cannot notify the service manager: {error}"));
        }
    }
}

/// Sends one message as described in `sd_notify(3)`, without blocking. `sd_notify` only formats the
/// messages, because it would block on a slow manager.
fn send(message: &[u8]) -> io::Result<()> {
    let name = env::var_os("NOTIFY_SOCKET").unwrap_or_default();
    let manager = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(&name)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.send_to_addr(message, &manager).map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;
    use std::path::Path;
    use std::process::Command;

    use crate::alert_sinks::systemd::*;

    /// Runs in its own process, because the environment is per process. Prints what happened.
    #[test]
    #[ignore = "run by the tests below"]
    fn serve() {
        let mut systemd = SystemdNotifier::from_environment();
        let mut notices = Vec::new();
        systemd.ready();
        systemd.status("following 3 logs\nWATCHDOG=trigger");
        systemd.status("sent later: less than a second has passed");
        systemd.status("following 4 logs");
        systemd.reloading();
        systemd.ready();
        notices.extend(systemd.poll());
        systemd.next_status = None;
        systemd.sent_status = None;
        systemd.status("following 5 logs");
        notices.extend(systemd.poll());
        systemd.stopping();
        let text = format!(
            "\npulse {:?}, notices {notices:?}\n",
            systemd.watchdog_interval()
        );
        io::Write::write_all(&mut io::stdout(), text.as_bytes()).unwrap();
    }

    /// Runs it with a manager. Returns the line it printed.
    fn run(socket: Option<&Path>, watchdog: Option<&str>) -> String {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args([
            "--ignored",
            "--nocapture",
            "--exact",
            "alert_sinks::systemd::tests::serve",
        ]);
        for (name, value) in [
            ("NOTIFY_SOCKET", socket.map(Path::as_os_str)),
            ("WATCHDOG_USEC", watchdog.map(AsRef::as_ref)),
        ] {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let run = command.env_remove("WATCHDOG_PID").output().unwrap();
        assert!(run.status.success(), "{run:?}");
        let text = String::from_utf8(run.stdout).unwrap();
        text.lines()
            .find(|line| line.starts_with("pulse "))
            .unwrap()
            .to_owned()
    }

    #[test]
    fn the_manager_is_notified() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        assert_eq!(
            run(Some(&path), Some("60000000")),
            "pulse Some(30s), notices []"
        );
        let mut messages = Vec::new();
        let mut bytes = [0; 4096];
        while let Ok(length) = socket.recv(&mut bytes) {
            messages.push(String::from_utf8(bytes[..length].to_vec()).unwrap());
        }
        let since = messages[2]
            .strip_prefix("RELOADING=1\nMONOTONIC_USEC=")
            .unwrap()
            .trim_end()
            .parse::<u64>();
        assert!(since.is_ok());
        messages.remove(2);
        assert_eq!(
            messages,
            [
                "READY=1\n",
                "STATUS=following 3 logs WATCHDOG=trigger\n",
                "READY=1\n",
                "WATCHDOG=1\n",
                "STATUS=following 5 logs\n",
                "STOPPING=1\n"
            ]
        );
    }

    #[test]
    fn without_a_manager_nothing_happens() {
        assert_eq!(run(None, Some("60000000")), "pulse None, notices []");
        assert_eq!(run(Some(Path::new("")), None), "pulse None, notices []");
    }

    #[test]
    fn a_missing_manager_is_reported_once() {
        let text = run(Some(Path::new("/nowhere/notify")), None);
        assert!(text.starts_with("pulse None, notices [\"cannot notify the service manager: No such file or directory"), "{text}");
        assert_eq!(text.matches("cannot notify").count(), 1);
    }
}
