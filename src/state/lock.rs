//! The lock of a state: a separate file, because the state file is replaced on every save.
//!
//! The system releases the lock when the process ends, for any reason. Taking the lock never blocks. The lock file is
//! never deleted: otherwise two runs could each lock a different file.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, fchmod, flock, fstat, ftruncate, openat, statat};
use rustix::io::{Errno, pread, pwrite};
use rustix::process::geteuid;

use super::StateError;

/// The number of attempts when the lock file is replaced concurrently.
const LOCK_ATTEMPTS: usize = 3;

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(super) struct StateLock {
    /// The lock is held while this is open.
    _file: OwnedFd,
}

impl StateLock {
    /// Takes the lock `name` in `folder`; `path` is its name in messages.
    ///
    /// # Errors
    ///
    /// Another run holds the lock; another user could; or it cannot be created.
    pub(super) fn take(folder: BorrowedFd<'_>, name: &str, path: &Path) -> Result<Self, StateError> {
        for _ in 0..LOCK_ATTEMPTS {
            let file = open(folder, name).map_err(|error| refusal(path, error))?;
            let stat = fstat(&file).map_err(|error| StateError::failed("lock", path, error))?;
            trusted(path, &stat)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => return Err(StateError::Locked { path: path.to_owned(), by: holder(&file) }),
                done => done.map_err(|error| StateError::failed("lock", path, error))?,
            }
            // The file may have been replaced between opening and locking; then the lock is on a deleted file.
            if statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|now| (now.st_dev, now.st_ino) == (stat.st_dev, stat.st_ino)) {
                sign(&file);
                return Ok(Self { _file: file });
            }
        }
        Err(StateError::Locked { path: path.to_owned(), by: None })
    }
}

fn open(folder: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let private = Mode::RUSR | Mode::WUSR;
    match openat(folder, name, flags | OFlags::CREATE | OFlags::EXCL, private) {
        // The umask may have cleared bits.
        Ok(file) => fchmod(&file, private).map(|()| file),
        Err(Errno::EXIST) => openat(folder, name, flags, Mode::empty()),
        Err(error) => Err(error),
    }
}

/// Any process that can open the file could hold the lock forever.
fn trusted(path: &Path, stat: &Stat) -> Result<(), StateError> {
    let insecure = |what: String, advice: &'static str| Err(StateError::insecure(path, what, advice));
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return insecure("it is not a regular file".into(), "delete it");
    }
    if stat.st_uid != geteuid().as_raw() {
        return insecure(format!("it belongs to another user ({})", stat.st_uid), "delete it, or run as that user");
    }
    if stat.st_mode & 0o077 != 0 {
        return insecure(
            format!("others could hold the lock (mode {:04o})", stat.st_mode & 0o7777),
            "delete it or take their rights away (chmod 600)",
        );
    }
    Ok(())
}

fn refusal(path: &Path, error: Errno) -> StateError {
    match error {
        Errno::LOOP => StateError::insecure(path, "it is a symbolic link", "delete it"),
        error => StateError::failed("lock", path, error),
    }
}

/// Writes our process ID for the message of other runs. A full disk is not an error here.
fn sign(file: &OwnedFd) {
    if ftruncate(file, 0).is_ok() {
        let _ = pwrite(file.as_fd(), format!("{}\n", std::process::id()).as_bytes(), 0);
    }
}

fn holder(file: &OwnedFd) -> Option<u32> {
    let mut text = [0; 16];
    let read = pread(file, &mut text, 0).ok()?;
    std::str::from_utf8(&text[..read]).ok()?.trim_end().parse().ok()
}
