//! What wakes the run: something happened in a folder, or a key was pressed. Waits, and gathers what comes close together.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::input::tail::wake::{Wake, Woken};
use crate::tui::Input;

/// A log that is being written to rings without end; so long is listened before it is read.
const BATCH_DELAY: Duration = Duration::from_millis(20);

/// A caller at the door.
#[derive(Debug)]
pub(super) enum FollowEvent {
    /// Something happened in a folder.
    Woken(Woken),
    /// Something came from the terminal.
    Input(Input),
}

/// Where it rings.
#[derive(Debug)]
pub(super) struct EventQueue {
    wake: Wake,
    sender: Sender<FollowEvent>,
    rings: Receiver<FollowEvent>,
}

/// What came.
#[derive(Debug, Default)]
pub(super) struct EventBatch {
    /// Something may have happened to anything.
    pub(super) all: bool,
    /// Something happened to these.
    pub(super) paths: BTreeSet<PathBuf>,
    /// What came from the terminal, in order.
    pub(super) inputs: Vec<Input>,
}

impl EventQueue {
    /// Listens to folders, unless they are only to be looked at now and then.
    pub(super) fn new(poll_only: bool) -> Self {
        let (sender, rings) = channel();
        let ring = sender.clone();
        // A bell that is gone has nobody left to hear it.
        let wake = Wake::new(poll_only, move |woken| drop(ring.send(FollowEvent::Woken(woken))));
        Self { wake, sender, rings }
    }

    /// Another way to ring.
    pub(super) fn sender(&self) -> Sender<FollowEvent> {
        self.sender.clone()
    }

    /// Listens to just these folders; a sentence, once, where that cannot be.
    pub(super) fn watch(&mut self, folders: &BTreeSet<PathBuf>) -> Option<String> {
        self.wake.watch(folders)
    }

    /// Waits so long at most.
    pub(super) fn wait(&self, most: Duration) -> EventBatch {
        let mut all = EventBatch::default();
        match self.rings.recv_timeout(most) {
            Ok(first) => {
                let is_input = matches!(first, FollowEvent::Input(_));
                all.take(first);
                if !is_input {
                    thread::sleep(BATCH_DELAY);
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

impl EventBatch {
    fn take(&mut self, ring: FollowEvent) {
        match ring {
            FollowEvent::Woken(Woken::All) => self.all = true,
            FollowEvent::Woken(Woken::Paths(paths)) => self.paths.extend(paths),
            FollowEvent::Input(input) => self.inputs.push(input),
        }
    }
}
