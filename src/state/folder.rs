//! The `--state` folder: locked by one run, replaced atomically and durably, rejected if other
//! users could modify it.
//!
//! All operations are relative to the opened folder, so they still apply if the folder is renamed.
//! The folder itself may be a symbolic link, as systemd creates one for `DynamicUser=`; files in it
//! may not.
//!
//! The lock is a separate file, because the state file is replaced on every save. The system
//! releases the lock when the process ends, for any reason. Taking the lock never blocks. The lock
//! file is never deleted: otherwise two runs could each lock a different file.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{io, thread};

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, fchmod, flock, fstat, ftruncate, mkdir,
    open, openat, statat,
};
use rustix::io::{Errno, pread, pwrite};
use rustix::process::geteuid;

use super::{PersistedState, StateError, decode, encode};
use crate::os::atomic_file::{AtomicFile, remove, sync_folder};
use crate::os::system::ignore_sigxfsz;

/// The largest state that is read: about a million logs.
const MAX_BYTES: u64 = 256 << 20;

/// The delay between attempts to take a lock.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// A state folder, locked by this run until it is dropped.
#[derive(Debug)]
pub struct StateFolder {
    file: StateFile,
    /// Holds the lock while it is open.
    _lock: OwnedFd,
}

/// The location of a state file.
#[derive(Debug)]
struct StateFile {
    /// As given by the user, for messages.
    dir: PathBuf,
    /// The name of the file.
    name: String,
    folder: OwnedFd,
}

impl StateFolder {
    /// Opens and locks `NAME.json` in `dir`, and removes leftovers of a killed run. Creates the
    /// folder with mode 0700, but not its parents. With `insecure`, other users may own the folder
    /// or have write access.
    ///
    /// # Errors
    ///
    /// Another run holds the lock; other users could modify the folder; or a system call failed.
    pub fn open(dir: &Path, name: &str, insecure: bool) -> Result<Self, StateError> {
        Self::open_waiting(dir, name, insecure, &AtomicBool::new(true))
    }

    /// Like [`open`](Self::open), but waits while another run holds the lock, until `stop` is set.
    ///
    /// # Errors
    ///
    /// Another run held the lock until `stop` was set; other users could modify the folder; or a
    /// system call failed.
    pub fn open_waiting(
        dir: &Path,
        name: &str,
        insecure: bool,
        stop: &AtomicBool,
    ) -> Result<Self, StateError> {
        ignore_sigxfsz();
        let folder = open_folder(dir, insecure)?;
        let lock = lock(&folder, &format!("{name}.lock"), dir, stop)?;
        let state = Self {
            file: StateFile {
                dir: dir.to_owned(),
                name: format!("{name}.json"),
                folder,
            },
            _lock: lock,
        };
        let staged = state.file.staged();
        state
            .file
            .remove(&staged)
            .map_err(|error| StateError::failed("remove", &dir.join(staged), error))?;
        Ok(state)
    }

    /// Reads the state without a lock and without writing anything. `None` if no run has saved a
    /// state.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load), and other users could modify the folder.
    pub fn peek<T: PersistedState>(
        dir: &Path,
        name: &str,
        insecure: bool,
    ) -> Result<Option<T>, StateError> {
        let folder = match enter_folder(dir, false, insecure) {
            Err(StateError::Failed { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            done => done?,
        };
        let file = StateFile {
            dir: dir.to_owned(),
            name: format!("{name}.json"),
            folder,
        };
        let Some(bytes) = file.read(T::RESET_FLAG)? else {
            return Ok(None);
        };
        decode(&bytes)
            .map(Some)
            .map_err(|what| file.damaged::<T>(what, None))
    }

    /// The path of the state file, for messages.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.file.path()
    }

    /// Loads the state; `None` on the first run. The state is durable when this returns: a power
    /// failure cannot bring back an older one.
    ///
    /// # Errors
    ///
    /// The state is damaged or of an unsupported version (a copy is then kept next to it), is a
    /// symbolic link, could be modified by other users, or cannot be read.
    pub fn load<T: PersistedState>(&self) -> Result<Option<T>, StateError> {
        let Some(bytes) = self.file.read(T::RESET_FLAG)? else {
            return Ok(None);
        };
        let state = decode(&bytes)
            .map_err(|what| self.file.damaged::<T>(what, self.file.save_copy(&bytes)))?;
        // A killed or failed run may have renamed the file without syncing it. Sync before anything
        // derived from it reaches the disk.
        sync_folder(self.file.folder.as_fd())
            .map_err(|error| StateError::failed("read", &self.path(), error))?;
        Ok(Some(state))
    }

    /// Replaces the state: durable when this returns, unchanged when it fails. The exception is the
    /// last step, syncing the folder: if that fails, the new state is in place, but a power failure
    /// may bring back the old one. After a failure, [`load`](Self::load) returns the state that is
    /// present.
    ///
    /// # Errors
    ///
    /// The state cannot be written, renamed into place, or made durable.
    pub fn save<T: PersistedState>(&self, state: &T) -> Result<(), StateError> {
        let bytes =
            encode(state).map_err(|error| StateError::failed("write", &self.path(), error))?;
        self.file.write_file(&self.file.name, &bytes)
    }

    /// How many bytes of logs the last run read at once, if it was killed before it ended.
    #[must_use]
    pub fn unfinished(&self) -> Option<u64> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = openat(
            &self.file.folder,
            self.file.unfinished(),
            flags,
            Mode::empty(),
        )
        .ok()?;
        let mut text = String::new();
        let read = File::from(file)
            .take(32)
            .read_to_string(&mut text)
            .ok()
            .and_then(|_| text.trim_end().parse().ok());
        // It is there, so a run was killed. A number that is not there, as a disk was full, is
        // none.
        Some(read.unwrap_or(0))
    }

    /// Records that a run reads this many bytes of logs at once, until its [`end`](Self::end). If
    /// it is killed before, the record stays for the next run.
    ///
    /// # Errors
    ///
    /// The record cannot be written.
    pub fn begin(&self, bytes: u64) -> Result<(), StateError> {
        let name = self.file.unfinished();
        let written = || -> io::Result<()> {
            let flags = OFlags::WRONLY
                | OFlags::CREATE
                | OFlags::TRUNC
                | OFlags::NOFOLLOW
                | OFlags::CLOEXEC;
            // Not synced: after a power failure it does not matter.
            let mut file = File::from(openat(
                &self.file.folder,
                &name,
                flags,
                Mode::RUSR | Mode::WUSR,
            )?);
            file.write_all(format!("{bytes}\n").as_bytes())
        };
        written().map_err(|error| StateError::failed("write", &self.file.dir.join(&name), error))
    }

    /// Records that a run has ended.
    pub fn end(&self) {
        // If this fails, the next run reads less at once, which does no harm.
        let _ = self.file.remove(&self.file.unfinished());
    }

    /// Deletes the state: the next [`load`](Self::load) is that of a first run. Succeeds if there
    /// is none.
    ///
    /// # Errors
    ///
    /// The file cannot be removed.
    pub fn reset(&self) -> Result<(), StateError> {
        let removed = self
            .file
            .remove(&self.file.name)
            .and_then(|()| sync_folder(self.file.folder.as_fd()));
        removed.map_err(|error| StateError::failed("remove", &self.path(), error))
    }
}

impl StateFile {
    fn path(&self) -> PathBuf {
        self.dir.join(&self.name)
    }

    fn damaged<T: PersistedState>(&self, what: String, copy_path: Option<PathBuf>) -> StateError {
        StateError::Damaged {
            path: self.path(),
            what,
            copy_path,
            reset: T::RESET_FLAG,
        }
    }

    fn staged(&self) -> String {
        format!("{}.tmp", self.name)
    }

    fn unfinished(&self) -> String {
        format!("{}.unfinished", self.name)
    }

    /// `reset` is the flag that resets the state.
    fn read(&self, reset: &str) -> Result<Option<Vec<u8>>, StateError> {
        let path = self.path();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match openat(&self.folder, &self.name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => {
                return Err(StateError::insecure(
                    &path,
                    "it is a symbolic link",
                    reset_advice(reset),
                ));
            }
            Err(error) => return Err(StateError::failed("read", &path, error)),
        };
        let stat = fstat(&file).map_err(|error| StateError::failed("read", &path, error))?;
        check_trusted(&path, &stat, reset)?;
        let mut bytes = Vec::with_capacity(usize::try_from(stat.st_size).unwrap_or(0) + 1);
        File::from(file)
            .take(MAX_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|error| StateError::failed("read", &path, error))?;
        Ok(Some(bytes))
    }

    /// Keeps a copy of an untrusted state, for diagnosis.
    fn save_copy(&self, bytes: &[u8]) -> Option<PathBuf> {
        let name = format!("{}.bad", self.name);
        self.write_file(&name, bytes)
            .ok()
            .map(|()| self.dir.join(name))
    }

    fn write_file(&self, name: &str, bytes: &[u8]) -> Result<(), StateError> {
        let failed = |step| move |error| StateError::failed(step, &self.dir.join(name), error);
        let write = || -> io::Result<AtomicFile> {
            let mut file = AtomicFile::in_locked(self.folder.as_fd(), &self.staged(), name, 0o600)?;
            file.set_mode(0o600)?;
            file.write_all(bytes)?;
            file.sync()?;
            Ok(file)
        };
        write()
            .map_err(failed("write"))?
            .replace()
            .map_err(failed("replace"))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        remove(self.folder.as_fd(), name.as_ref())
    }
}

fn reset_advice(reset: &str) -> String {
    format!("delete it, or start as on the first run with {reset}")
}

fn lock(
    folder: &OwnedFd,
    name: &str,
    dir: &Path,
    stop: &AtomicBool,
) -> Result<OwnedFd, StateError> {
    loop {
        match take_lock(folder.as_fd(), name, &dir.join(name)) {
            Err(StateError::Locked { .. }) if !stop.load(Ordering::Relaxed) => {
                thread::sleep(LOCK_RETRY_INTERVAL);
            }
            done => return done,
        }
    }
}

fn open_folder(dir: &Path, insecure: bool) -> Result<OwnedFd, StateError> {
    let is_new = match mkdir(dir, Mode::RWXU) {
        Err(Errno::EXIST) => false,
        done => done
            .map(|()| true)
            .map_err(|error| StateError::failed("make", dir, error))?,
    };
    enter_folder(dir, is_new, insecure)
}

fn enter_folder(dir: &Path, is_new: bool, insecure: bool) -> Result<OwnedFd, StateError> {
    let had = || -> io::Result<(OwnedFd, Stat)> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(dir, flags, Mode::empty())?;
        if is_new {
            fchmod(&folder, Mode::RWXU)?;
            // Sync the parent, so that a power failure cannot remove the folder. Without access to
            // the parent nothing more can be done.
            openat(&folder, "..", flags, Mode::empty())
                .map_or(Ok(()), |above| sync_folder(above.as_fd()))?;
        }
        let stat = fstat(&folder)?;
        Ok((folder, stat))
    };
    let (folder, stat) = had().map_err(|error| StateError::failed("open", dir, error))?;
    if !insecure {
        check_private(dir, &stat)?;
    }
    Ok(folder)
}

/// Users with write access to the folder can replace the files in it.
fn check_private(dir: &Path, stat: &Stat) -> Result<(), StateError> {
    if ![geteuid().as_raw(), 0].contains(&stat.st_uid) {
        let what = format!("the folder belongs to another user ({})", stat.st_uid);
        return Err(StateError::insecure(
            dir,
            what,
            "choose one that is yours, or trust it with --insecure-state",
        ));
    }
    if stat.st_mode & 0o022 != 0 {
        let what = format!(
            "others may write to the folder (mode {:04o})",
            stat.st_mode & 0o7777
        );
        return Err(StateError::insecure(
            dir,
            what,
            "take their rights away (chmod go-w), or trust them with --insecure-state",
        ));
    }
    Ok(())
}

/// A forged state could make runs skip any lines.
fn check_trusted(path: &Path, stat: &Stat, reset: &str) -> Result<(), StateError> {
    let insecure =
        |what: String, advice: &'static str| Err(StateError::insecure(path, what, advice));
    let refuse = |what: String| Err(StateError::insecure(path, what, reset_advice(reset)));
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return refuse("it is not a regular file".into());
    }
    if stat.st_uid != geteuid().as_raw() {
        return insecure(
            format!("it belongs to another user ({})", stat.st_uid),
            "run as that user, or make it yours (chown)",
        );
    }
    if stat.st_mode & 0o022 != 0 {
        return insecure(
            format!(
                "others may write to it (mode {:04o})",
                stat.st_mode & 0o7777
            ),
            "take their rights away (chmod 600)",
        );
    }
    if stat.st_size.cast_unsigned() >= MAX_BYTES {
        return refuse(format!(
            "it is too big for a state ({} bytes)",
            stat.st_size
        ));
    }
    Ok(())
}

/// The number of attempts when the lock file is replaced concurrently.
const LOCK_ATTEMPTS: usize = 3;

/// Takes the lock `name` in `folder`, which is held while the file is open; `path` is its name in
/// messages.
///
/// # Errors
///
/// Another run holds the lock; another user could; or it cannot be created.
fn take_lock(folder: BorrowedFd<'_>, name: &str, path: &Path) -> Result<OwnedFd, StateError> {
    for _ in 0..LOCK_ATTEMPTS {
        let file = open_lock(folder, name).map_err(|error| open_error(path, error))?;
        let stat = fstat(&file).map_err(|error| StateError::failed("lock", path, error))?;
        check_lock_is_trusted(path, &stat)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {
                return Err(StateError::Locked {
                    path: path.to_owned(),
                    by: read_pid(&file),
                });
            }
            done => done.map_err(|error| StateError::failed("lock", path, error))?,
        }
        // The file may have been replaced between opening and locking; then the lock is on a
        // deleted file.
        if statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|now| (now.st_dev, now.st_ino) == (stat.st_dev, stat.st_ino))
        {
            write_pid(&file);
            return Ok(file);
        }
    }
    Err(StateError::Locked {
        path: path.to_owned(),
        by: None,
    })
}

fn open_lock(folder: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
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
fn check_lock_is_trusted(path: &Path, stat: &Stat) -> Result<(), StateError> {
    let insecure =
        |what: String, advice: &'static str| Err(StateError::insecure(path, what, advice));
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return insecure("it is not a regular file".into(), "delete it");
    }
    if stat.st_uid != geteuid().as_raw() {
        return insecure(
            format!("it belongs to another user ({})", stat.st_uid),
            "delete it, or run as that user",
        );
    }
    if stat.st_mode & 0o077 != 0 {
        return insecure(
            format!(
                "others could hold the lock (mode {:04o})",
                stat.st_mode & 0o7777
            ),
            "delete it or take their rights away (chmod 600)",
        );
    }
    Ok(())
}

fn open_error(path: &Path, error: Errno) -> StateError {
    match error {
        Errno::LOOP => StateError::insecure(path, "it is a symbolic link", "delete it"),
        error => StateError::failed("lock", path, error),
    }
}

/// Writes our process ID for the message of other runs. A full disk is not an error here.
fn write_pid(file: &OwnedFd) {
    if ftruncate(file, 0).is_ok() {
        let _ = pwrite(
            file.as_fd(),
            format!("{}\n", std::process::id()).as_bytes(),
            0,
        );
    }
}

fn read_pid(file: &OwnedFd) -> Option<u32> {
    let mut text = [0; 16];
    let read = pread(file, &mut text, 0).ok()?;
    std::str::from_utf8(&text[..read])
        .ok()?
        .trim_end()
        .parse()
        .ok()
}
