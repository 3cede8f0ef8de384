//! The signals of a long run: INT and TERM stop it, HUP reloads the rules, USR1 prints a summary.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGUSR1};
use signal_hook::flag;

use crate::commands::Exit;
use crate::commands::signals::{self, StopSignal};

/// The signals that arrived since the last check.
#[derive(Debug)]
pub(super) struct Signals {
    stop: StopSignal,
    reload: Arc<AtomicBool>,
    summary: Arc<AtomicBool>,
}

impl Signals {
    /// Installs the handlers. If that fails, the default action of a signal stays. With `has_terminal`, no signal ends the
    /// process immediately.
    pub(super) fn listen(has_terminal: bool) -> Self {
        let stop = if has_terminal { signals::listen_without_force() } else { signals::listen() };
        let signals = Self { stop, reload: Arc::default(), summary: Arc::default() };
        let _ = flag::register(SIGHUP, Arc::clone(&signals.reload));
        let _ = flag::register(SIGUSR1, Arc::clone(&signals.summary));
        signals
    }

    /// The exit code, if the run is to end.
    pub(super) fn stop(&self) -> Option<Exit> {
        self.stop.exit()
    }

    /// Whether to reload the rules.
    pub(super) fn take_reload(&self) -> bool {
        self.reload.swap(false, Ordering::Relaxed)
    }

    /// Whether to print a summary.
    pub(super) fn take_summary(&self) -> bool {
        self.summary.swap(false, Ordering::Relaxed)
    }
}
