//! Makes many files and folders outlast a power cut, at once: a disk takes little longer for all of them than for one.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::fsync;
use rustix::io::Errno;

use super::ArchiveError;
use super::disk::{Call, pass};

/// How many are waited for at a time, as a rule.
pub(super) const AT_ONCE: usize = 16;

/// Something that was written and may not be on disk.
#[derive(Debug)]
pub(super) struct Unsynced {
    pub(super) fd: OwnedFd,
    /// For messages.
    pub(super) path: PathBuf,
    pub(super) is_folder: bool,
}

impl Unsynced {
    /// Some network file systems know no such thing for folders and say so.
    pub(super) fn sync(&self) -> Result<(), ArchiveError> {
        self.judge(pass(Call::Sync, self.fd.as_fd()).and_then(|()| fsync(&self.fd)))
    }

    fn judge(&self, done: rustix::io::Result<()>) -> Result<(), ArchiveError> {
        match done {
            Err(Errno::INVAL | Errno::NOTSUP) if self.is_folder => Ok(()),
            done => done.map_err(|error| ArchiveError::failed("write", self.path.clone(), error)),
        }
    }
}

/// Makes all of them last, `at_once` of them at a time.
///
/// # Errors
///
/// One of them did not; which of the others did is not known.
pub(super) fn sync_all(items: &[Unsynced], at_once: usize) -> Result<(), ArchiveError> {
    for item in items {
        item.judge(pass(Call::Sync, item.fd.as_fd()))?;
    }
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), ArchiveError> {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            item.judge(fsync(&item.fd))?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        // One thread is enough, only slower: a limit on them is no fault.
        let helpers = (1..items.len().min(at_once)).map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok());
        let helpers: Vec<_> = helpers.collect();
        let mut done = work();
        for helper in helpers {
            // Nothing in it panics.
            done = done.and(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    })
}
