//! What systemd is told of a running service: that it is ready, reloads or stops, what it does, and that it lives.
//!
//! Without `NOTIFY_SOCKET` in the environment nothing happens, and no socket is made. A manager that does not listen is
//! told of once and never a reason to stop.

use std::env;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

use sd_notify::NotifyState;

/// Between two texts of what goes on.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// Characters of such a text.
const MAX_STATUS_CHARS: usize = 200;

/// The service manager, if there is one.
#[derive(Debug)]
pub struct SystemdNotifier {
    is_enabled: bool,
    /// How often it wants to hear that we live, and when it did.
    watchdog: Option<Duration>,
    last_watchdog: Option<Instant>,
    /// What was told last, and when.
    told: Option<(String, Instant)>,
    /// What is to be told next.
    text: Option<String>,
    failures: Option<String>,
    has_warned: bool,
}

impl SystemdNotifier {
    /// The manager that the environment names.
    #[must_use]
    pub fn from_environment() -> Self {
        let is_enabled = env::var_os("NOTIFY_SOCKET").is_some_and(|socket| !socket.is_empty());
        let watchdog = sd_notify::watchdog_enabled().filter(|interval| is_enabled && !interval.is_zero());
        Self { is_enabled, watchdog, last_watchdog: None, told: None, text: None, failures: None, has_warned: false }
    }

    /// How often [`poll`](Self::turn) must be called at least, where the manager ends a service that is silent for twice
    /// as long.
    #[must_use]
    pub fn watchdog_interval(&self) -> Option<Duration> {
        self.watchdog.map(|interval| interval / 2)
    }

    /// Everything is set up: logs are watched, the state is held. Also the end of a reload.
    pub fn ready(&mut self) {
        self.send(&[NotifyState::Ready]);
    }

    /// Begins to reload. [`ready`](Self::ready) must follow, also when nothing came of it.
    pub fn reloading(&mut self) {
        // Newer managers want to know since when; see sd_notify(3) on RELOADING=1.
        match NotifyState::monotonic_usec_now() {
            Ok(since) => self.send(&[NotifyState::Reloading, since]),
            Err(_) => self.send(&[NotifyState::Reloading]),
        }
    }

    /// Begins to stop.
    pub fn stopping(&mut self) {
        self.send(&[NotifyState::Stopping]);
    }

    /// What goes on, for `systemctl status`. Told when it changes, and once a second at most.
    pub fn status(&mut self, text: &str) {
        if !self.is_enabled {
            return;
        }
        // A line break would begin another message.
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_STATUS_CHARS).collect();
        self.text = Some(text).filter(|text| self.told.as_ref().is_none_or(|(told, _)| told != text));
        self.send_status(Instant::now());
    }

    /// To be called now and then, at least as often as [`watchdog_interval`](Self::pulse) says: tells that we live. Returns what there
    /// is to tell the user.
    pub fn poll(&mut self) -> Option<String> {
        let now = Instant::now();
        if let Some(watchdog_interval) = self.watchdog_interval()
            // Twice as often as it must be: turns do not come at the very instant.
            && self.last_watchdog.is_none_or(|last_watchdog| now >= last_watchdog + watchdog_interval / 2)
        {
            self.last_watchdog = Some(now);
            self.send(&[NotifyState::Watchdog]);
        }
        self.send_status(now);
        self.failures.take()
    }

    fn send_status(&mut self, now: Instant) {
        if self.told.as_ref().is_some_and(|(_, when)| now < *when + STATUS_INTERVAL) {
            return;
        }
        if let Some(text) = self.text.take() {
            self.send(&[NotifyState::Status(&text)]);
            self.told = Some((text, now));
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
            self.failures = Some(format!("the service manager does not listen: {error}"));
        }
    }
}

/// Sends one message, as `sd_notify(3)` says, and waits for nobody: a manager that does not read holds up no log. That is why
/// the library is asked for the words alone.
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
