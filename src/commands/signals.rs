//! Ends a run cleanly on SIGINT and SIGTERM: the work stops at the next chunk and nothing half-made is left. A second
//! signal ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::Exit;

/// Whether a signal came, and which.
#[derive(Debug, Default)]
pub(super) struct StopSignal {
    came: Arc<AtomicBool>,
    which: Arc<AtomicUsize>,
}

/// Listens from now on. Where the system will not let us, its own way of ending a process stays.
pub(super) fn listen() -> StopSignal {
    let stop = StopSignal::default();
    for (signal, exit) in [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated)] {
        // Before the flag is set by the same signal: only the second one must find it.
        let _ = flag::register_conditional_shutdown(signal, i32::from(exit.code()), Arc::clone(&stop.came));
        stop.register(signal, exit);
    }
    stop
}

/// The same, but no signal ends it at once: whoever has taken the terminal must give it back first.
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

    /// Becomes true when a signal comes.
    pub(super) fn flag(&self) -> &AtomicBool {
        &self.came
    }

    /// How to end, if a signal came.
    pub(super) fn exit(&self) -> Option<Exit> {
        let code = self.which.load(Ordering::SeqCst);
        [Exit::Interrupted, Exit::Terminated].into_iter().find(|exit| usize::from(exit.code()) == code)
    }
}
