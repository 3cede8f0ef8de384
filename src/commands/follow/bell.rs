//! What wakes the run: something happened in a folder, or a key was pressed. Waits, and gathers what comes close together.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::input::tail::watcher::{FolderWatcher, WatchEvent};
use crate::tui::TerminalInput;

/// A log that is being written to rings without end; so long is listened before it is read.
const GATHER: Duration = Duration::from_millis(20);

/// A caller at the door.
#[derive(Debug)]
pub(super) enum Ring {
    /// Something happened in a folder.
    Woken(WatchEvent),
    /// Something came from the terminal.
    Input(TerminalInput),
}

/// Where it rings.
#[derive(Debug)]
pub(super) struct Bell {
    wake: FolderWatcher,
    sender: Sender<Ring>,
    rings: Receiver<Ring>,
}

/// What came.
#[derive(Debug, Default)]
pub(super) struct Rung {
    /// Something may have happened to anything.
    pub(super) all: bool,
    /// Something happened to these.
    pub(super) paths: BTreeSet<PathBuf>,
    /// What came from the terminal, in order.
    pub(super) inputs: Vec<TerminalInput>,
}

impl Bell {
    /// Listens to folders, unless they are only to be looked at now and then.
    pub(super) fn new(poll_only: bool) -> Self {
        let (sender, rings) = channel();
        let ring = sender.clone();
        // A bell that is gone has nobody left to hear it.
        let wake = FolderWatcher::new(poll_only, move |woken| drop(ring.send(Ring::Woken(woken))));
        Self { wake, sender, rings }
    }

    /// Another way to ring.
    pub(super) fn sender(&self) -> Sender<Ring> {
        self.sender.clone()
    }

    /// Listens to just these folders; a sentence, once, where that cannot be.
    pub(super) fn watch(&mut self, folders: &BTreeSet<PathBuf>) -> Option<String> {
        self.wake.watch(folders)
    }

    /// Waits so long at most.
    pub(super) fn wait(&self, most: Duration) -> Rung {
        let mut all = Rung::default();
        match self.rings.recv_timeout(most) {
            Ok(first) => {
                let is_input = matches!(first, Ring::Input(_));
                all.take(first);
                if !is_input {
                    thread::sleep(GATHER);
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        for ring in self.rings.try_iter() {
            all.take(ring);
        }
        all
    }
}

impl Rung {
    fn take(&mut self, ring: Ring) {
        match ring {
            Ring::Woken(WatchEvent::All) => self.all = true,
            Ring::Woken(WatchEvent::Paths(paths)) => self.paths.extend(paths),
            Ring::Input(input) => self.inputs.push(input),
        }
    }
}
