//! The signals that a long run listens to: INT and TERM end it cleanly, HUP has the rules read again, USR1 asks for a summary.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGUSR1};
use signal_hook::flag;

use crate::commands::Exit;
use crate::commands::signals::{self, StopSignal};

/// What came since it was last asked for.
#[derive(Debug)]
pub(super) struct Signals {
    stop: StopSignal,
    reload: Arc<AtomicBool>,
    summary: Arc<AtomicBool>,
}

impl Signals {
    /// Listens from now on. Where the system will not let us, its own way of dealing with a signal stays.
    /// `has_terminal`: no signal may end it at once.
    pub(super) fn listen(has_terminal: bool) -> Self {
        let stop = if has_terminal { signals::listen_without_force() } else { signals::listen() };
        let signals = Self { stop, reload: Arc::default(), summary: Arc::default() };
        let _ = flag::register(SIGHUP, Arc::clone(&signals.reload));
        let _ = flag::register(SIGUSR1, Arc::clone(&signals.summary));
        signals
    }

    /// How to end, if it is to end.
    pub(super) fn stop(&self) -> Option<Exit> {
        self.stop.exit()
    }

    /// Whether the rules are to be read again.
    pub(super) fn take_reload(&self) -> bool {
        self.reload.swap(false, Ordering::Relaxed)
    }

    /// Whether a summary is wanted.
    pub(super) fn take_summary(&self) -> bool {
        self.summary.swap(false, Ordering::Relaxed)
    }
}
