//! Waits for events: changes in watched folders and input from the terminal. Events that are close together form a batch.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::input::tail::watcher::{FolderWatcher, WatchEvent};
use crate::tui::TerminalInput;

/// How long to collect events before logs are read. A busy log causes events all the time.
const BATCH_DELAY: Duration = Duration::from_millis(20);

/// An event.
#[derive(Debug)]
pub(super) enum FollowEvent {
    /// Something changed in a watched folder.
    Changed(WatchEvent),
    /// Input from the terminal.
    Input(TerminalInput),
}

/// The queue of events, with the watcher that feeds it.
#[derive(Debug)]
pub(super) struct EventQueue {
    watcher: FolderWatcher,
    sender: Sender<FollowEvent>,
    events: Receiver<FollowEvent>,
}

/// Events that arrived together.
#[derive(Debug, Default)]
pub(super) struct EventBatch {
    /// Anything may have changed.
    pub(super) poll_all: bool,
    /// The paths that changed.
    pub(super) paths: BTreeSet<PathBuf>,
    /// Input from the terminal, in order.
    pub(super) inputs: Vec<TerminalInput>,
}

impl EventQueue {
    /// Watches folders, unless logs are only polled.
    pub(super) fn new(poll_only: bool) -> Self {
        let (sender, events) = channel();
        let changes = sender.clone();
        // The receiver is dropped at the end of the run, so a send error is ignored.
        let watcher = FolderWatcher::new(poll_only, move |event| drop(changes.send(FollowEvent::Changed(event))));
        Self { watcher, sender, events }
    }

    /// A sender for other sources of events.
    pub(super) fn sender(&self) -> Sender<FollowEvent> {
        self.sender.clone()
    }

    /// Watches exactly these folders. Returns a notice, once, if that is not possible.
    pub(super) fn watch(&mut self, folders: &BTreeSet<PathBuf>) -> Option<String> {
        self.watcher.watch(folders)
    }

    /// Whether all folders are watched.
    pub(super) fn is_complete(&self) -> bool {
        self.watcher.is_complete()
    }

    /// Waits for events until the timeout.
    pub(super) fn wait(&self, timeout: Duration) -> EventBatch {
        let mut batch = EventBatch::default();
        match self.events.recv_timeout(timeout) {
            Ok(first) => {
                let is_input = matches!(first, FollowEvent::Input(_));
                batch.take(first);
                if !is_input {
                    thread::sleep(BATCH_DELAY);
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        for event in self.events.try_iter() {
            batch.take(event);
        }
        batch
    }
}

impl EventBatch {
    fn take(&mut self, event: FollowEvent) {
        match event {
            FollowEvent::Changed(WatchEvent::All) => self.poll_all = true,
            FollowEvent::Changed(WatchEvent::Paths(paths)) => self.paths.extend(paths),
            FollowEvent::Input(input) => self.inputs.push(input),
        }
    }
}
