//! Stops a run cleanly on SIGINT and SIGTERM: work ends after the current chunk, and no partial output is left. A second
//! signal ends the process immediately.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::Exit;

/// Whether a signal arrived, and which.
#[derive(Debug, Default)]
pub(super) struct StopSignal {
    came: Arc<AtomicBool>,
    which: Arc<AtomicUsize>,
}

/// Installs the handlers. If that fails, the default action of the signals stays.
pub(super) fn listen() -> StopSignal {
    let stop = StopSignal::default();
    for (signal, exit) in [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated)] {
        // Registered before the flag is set, so that only a second signal ends the process.
        let _ = flag::register_conditional_shutdown(signal, i32::from(exit.code()), Arc::clone(&stop.came));
        stop.register(signal, exit);
    }
    stop
}

/// The same, but a second signal does not end the process: the terminal must be restored first.
pub(super) fn listen_without_force() -> StopSignal {
    let stop = StopSignal::default();
    stop.register(SIGINT, Exit::Interrupted);
    stop.register(SIGTERM, Exit::Terminated);
    stop
}

impl StopSignal {
    fn register(&self, signal: i32, exit: Exit) {
        let _ = flag::register_usize(signal, Arc::clone(&self.which), usize::from(exit.code()));
        let _ = flag::register(signal, Arc::clone(&self.came));
    }

    /// Is set when a signal arrives.
    pub(super) fn flag(&self) -> &AtomicBool {
        &self.came
    }

    /// The exit code, if a signal arrived.
    pub(super) fn exit(&self) -> Option<Exit> {
        let code = self.which.load(Ordering::SeqCst);
        [Exit::Interrupted, Exit::Terminated].into_iter().find(|exit| usize::from(exit.code()) == code)
    }
}
