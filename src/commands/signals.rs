//! Stops a run cleanly on SIGINT and SIGTERM: work ends after the current chunk, and no partial
//! output is left. A second signal ends the process immediately. In a `follow`, SIGHUP reloads the
//! rules, and SIGUSR1 prints a summary.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;

use super::Exit;

/// Whether a signal arrived that stops the run, and its exit code.
#[derive(Debug, Default)]
pub(super) struct StopSignal {
    received: Arc<AtomicBool>,
    exit_code: Arc<AtomicUsize>,
}

/// Installs the handlers. If that fails, the default action of the signals stays.
pub(super) fn listen() -> StopSignal {
    let stop = StopSignal::default();
    for (signal, exit) in [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated)] {
        // Registered before the flag is set, so that only a second signal ends the process.
        let _ = flag::register_conditional_shutdown(
            signal,
            i32::from(exit.code()),
            Arc::clone(&stop.received),
        );
        stop.register(signal, exit);
    }
    stop
}

/// Listens for signals of which a second one does not end the process: the terminal must be
/// restored first.
pub(super) fn listen_without_force() -> StopSignal {
    let stop = StopSignal::default();
    stop.register(SIGINT, Exit::Interrupted);
    stop.register(SIGTERM, Exit::Terminated);
    stop
}

impl StopSignal {
    fn register(&self, signal: i32, exit: Exit) {
        let _ = flag::register_usize(
            signal,
            Arc::clone(&self.exit_code),
            usize::from(exit.code()),
        );
        let _ = flag::register(signal, Arc::clone(&self.received));
    }

    /// Is set when a signal arrives.
    pub(super) fn flag(&self) -> &AtomicBool {
        &self.received
    }

    /// The exit code, if a signal arrived.
    pub(super) fn exit(&self) -> Option<Exit> {
        let code = self.exit_code.load(Ordering::SeqCst);
        [Exit::Interrupted, Exit::Terminated]
            .into_iter()
            .find(|exit| usize::from(exit.code()) == code)
    }
}

/// The signals of a `follow` that arrived since the last check.
#[derive(Debug)]
pub(super) struct FollowSignals {
    stop: StopSignal,
    reload: Arc<AtomicBool>,
    summary: Arc<AtomicBool>,
}

impl FollowSignals {
    /// Installs the handlers. If that fails, the default action of a signal stays. With
    /// `has_terminal`, no signal ends the process immediately.
    pub(super) fn listen(has_terminal: bool) -> Self {
        let stop = if has_terminal {
            listen_without_force()
        } else {
            listen()
        };
        let signals = Self {
            stop,
            reload: Arc::default(),
            summary: Arc::default(),
        };
        let _ = flag::register(SIGHUP, Arc::clone(&signals.reload));
        let _ = flag::register(SIGUSR1, Arc::clone(&signals.summary));
        signals
    }

    /// The exit code, if the run must end.
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
