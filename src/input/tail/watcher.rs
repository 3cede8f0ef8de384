//! Watches folders, so that a change is noticed before the next poll.
//!
//! An event only means that polling is worthwhile. The system may report too much, too little or
//! nothing (overlay, mount, network), so all logs are still polled regularly. Only folders are
//! watched, since a watch on a file ends with its name.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io, thread};

use notify::event::{AccessKind, AccessMode};
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// A change event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WatchEvent {
    /// These paths changed.
    Paths(Vec<PathBuf>),
    /// Anything may have changed.
    All,
}

/// The watches on folders.
#[derive(Debug)]
pub(crate) struct FolderWatcher {
    watcher: Option<RecommendedWatcher>,
    /// The watched folders and their device and inode.
    watched: HashMap<PathBuf, (u64, u64)>,
    /// Whether all folders are watched.
    is_complete: bool,
    /// Why there is no watcher, until it is reported.
    error: Option<String>,
    reported: bool,
}

impl FolderWatcher {
    /// Starts watching; `send` is called on another thread. With `poll_only`, it is never called.
    pub(crate) fn new(poll_only: bool, send: impl Fn(WatchEvent) + Send + 'static) -> Self {
        let mut new = Self {
            watcher: None,
            watched: HashMap::new(),
            is_complete: false,
            error: None,
            reported: false,
        };
        if poll_only {
            return new;
        }
        let handle = move |event: notify::Result<Event>| {
            if let Some(event_of) = event_of(event) {
                send(event_of);
            }
        };
        // Without a thread for its events, the watcher panics.
        match thread::Builder::new()
            .spawn(|| ())
            .map_err(notify::Error::io)
            .and_then(|_| notify::recommended_watcher(handle))
        {
            Ok(watcher) => new.watcher = Some(watcher),
            Err(error) => new.error = Some(reason(&error)),
        }
        new
    }

    /// Watches exactly these folders. Call it at every full poll, because a folder that was removed
    /// and created again is another one. Returns a message, once, if not everything can be watched;
    /// the caller then polls more often.
    pub(crate) fn watch(&mut self, folders: &BTreeSet<PathBuf>) -> Option<String> {
        if let Some(watcher) = &mut self.watcher {
            let refused = update(watcher, &mut self.watched, folders);
            self.is_complete = refused.is_none();
            self.error = self.error.take().or(refused);
        }
        let reason = self.error.take()?;
        if std::mem::replace(&mut self.reported, true) {
            return None;
        }
        Some(format!(
            "cannot be watched for changes ({reason}); polling instead"
        ))
    }

    /// Whether an event reports a change in any of the folders, unless the system reports too
    /// little.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }
}

/// Updates the watches; returns why one failed, if one did.
fn update(
    system: &mut RecommendedWatcher,
    watched: &mut HashMap<PathBuf, (u64, u64)>,
    folders: &BTreeSet<PathBuf>,
) -> Option<String> {
    let mut refused = None;
    watched.retain(|folder, id| {
        let stays = folders.contains(folder) && identity(folder) == Some(*id);
        if !stays {
            // The watch may be gone with its folder.
            let _ = system.unwatch(folder);
        }
        stays
    });
    for folder in folders {
        if watched.contains_key(folder) {
            continue;
        }
        let Some(id) = identity(folder) else { continue };
        match system.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => drop(watched.insert(folder.clone(), id)),
            Err(error) if is_gone(&error) => {}
            Err(error) => refused = Some(reason(&error)),
        }
    }
    refused
}

fn identity(folder: &Path) -> Option<(u64, u64)> {
    fs::metadata(folder)
        .ok()
        .map(|metadata| (metadata.dev(), metadata.ino()))
}

fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => error.kind() == io::ErrorKind::NotFound,
        _ => false,
    }
}

fn reason(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => {
            "the system's limit of watches, fs.inotify.max_user_watches, is reached".to_owned()
        }
        ErrorKind::Io(error) if error.raw_os_error() == Some(libc::EMFILE) => {
            "the system's limit of watchers, fs.inotify.max_user_instances, is reached".to_owned()
        }
        ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    }
}

/// Converts a system event. Opening and reading a file is no change, not least because this process
/// does it too.
fn event_of(event: notify::Result<Event>) -> Option<WatchEvent> {
    let Ok(event) = event else {
        return Some(WatchEvent::All);
    };
    if event.need_rescan() || event.paths.is_empty() {
        return Some(WatchEvent::All);
    }
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
        EventKind::Access(_) => return None,
        _ => {}
    }
    Some(WatchEvent::Paths(event.paths))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    /// Waits for an event about `path`.
    fn receives_event_for(receiver: &Receiver<WatchEvent>, path: &Path) -> bool {
        loop {
            match receiver.recv_timeout(Duration::from_secs(20)) {
                Ok(WatchEvent::Paths(paths)) if paths.iter().any(|event_of| event_of == path) => {
                    return true;
                }
                Ok(_) => {}
                Err(_) => return false,
            }
        }
    }

    #[test]
    fn a_recreated_folder_is_watched_again() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("logs");
        let (sender, receiver) = channel();
        let mut watcher = FolderWatcher::new(false, move |event_of| drop(sender.send(event_of)));
        let folders = BTreeSet::from([folder.clone()]);
        for round in 0..2 {
            assert_eq!(watcher.watch(&folders), None);
            fs::create_dir(&folder).unwrap();
            assert_eq!(watcher.watch(&folders), None);
            assert!(watcher.is_complete());
            let log = folder.join(format!("access.log.{round}"));
            fs::write(&log, "line\n").unwrap();
            assert!(receives_event_for(&receiver, &log));
            fs::remove_dir_all(&folder).unwrap();
        }
    }

    #[test]
    fn no_event_is_sent_when_polling() {
        let folder = tempfile::tempdir().unwrap();
        let mut watcher = FolderWatcher::new(true, |_| panic!("sent"));
        assert_eq!(
            watcher.watch(&BTreeSet::from([folder.path().to_owned()])),
            None
        );
        fs::write(folder.path().join("log"), "").unwrap();
        assert!(watcher.watcher.is_none() && !watcher.is_complete());
    }

    #[test]
    fn a_failure_is_reported_once() {
        let mut watcher = FolderWatcher::new(true, |_| {});
        watcher.error = Some("limit".to_owned());
        let message = watcher.watch(&BTreeSet::new()).unwrap();
        assert!(message.contains("(limit)"), "{message}");
        watcher.error = Some("limit".to_owned());
        assert_eq!(watcher.watch(&BTreeSet::new()), None);
    }
}
