//! Notifies systemd about the state of the service: ready, reloading, stopping, a status text, and the watchdog.
//!
//! Does nothing without `NOTIFY_SOCKET` in the environment. Failures are reported once and never stop the run.

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
        let watchdog = sd_notify::watchdog_enabled().filter(|interval| is_enabled && !interval.is_zero());
        Self { is_enabled, watchdog, last_watchdog: None, sent_status: None, next_status: None, notice: None, has_warned: false }
    }

    /// How often [`poll`](Self::poll) must be called at least. The manager ends a service that is silent for twice as long.
    #[must_use]
    pub(crate) fn watchdog_interval(&self) -> Option<Duration> {
        self.watchdog.map(|interval| interval / 2)
    }

    /// Notifies that the service is ready, after the start or a reload.
    pub(crate) fn ready(&mut self) {
        self.send(&[NotifyState::Ready]);
    }

    /// Notifies that a reload begins. Call [`ready`](Self::ready) afterwards, also if the reload failed.
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

    /// Sets the status text of `systemctl status`. It is sent when it changes, at most once a second.
    pub(crate) fn status(&mut self, next_status: &str) {
        if !self.is_enabled {
            return;
        }
        // A line break would begin another message.
        let next_status: String = next_status.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_STATUS_CHARS).collect();
        self.next_status =
            Some(next_status).filter(|next_status| self.sent_status.as_ref().is_none_or(|(sent_status, _)| sent_status != next_status));
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
        if self.sent_status.as_ref().is_some_and(|(_, when)| now < *when + STATUS_INTERVAL) {
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
        let mut message = states.iter().map(NotifyState::to_string).collect::<Vec<_>>().join("\n");
        message.push('\n');
        if let Err(error) = send(message.as_bytes())
            && !self.has_warned
        {
            self.has_warned = true;
            self.notice = Some(format!("cannot notify the service manager: {error}"));
        }
    }
}

/// Sends one message as described in `sd_notify(3)`, without blocking. `sd_notify` only formats the messages, because it would
/// block on a slow manager.
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
mod tests;
