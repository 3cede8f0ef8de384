//! The folder of `--state`: held by one run, its file replaced whole and on disk, refused where others could touch it.
//!
//! Everything happens relative to the folder that was opened, so a folder renamed under us stays ours. The folder itself
//! may be reached through a symbolic link, as systemd makes one for `DynamicUser=`; nothing in it may be one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fchmod, fstat, fsync, mkdir, open, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::lock::Lock;
use super::written::{decode, encode};
use super::{Kept, StateError};
use crate::system::ignore_sigxfsz;

/// Bytes of a state that is read at most: about a million logs.
const MOST: u64 = 256 << 20;

/// How long a lock that is waited for is left alone.
const PAUSE: Duration = Duration::from_millis(100);

/// A state folder that this run holds until it is dropped.
#[derive(Debug)]
pub struct StateFolder {
    place: Place,
    _lock: Lock,
}

/// Where a state lies.
#[derive(Debug)]
struct Place {
    /// As the user named it, for messages.
    dir: PathBuf,
    /// The state's file.
    name: String,
    folder: OwnedFd,
}

impl StateFolder {
    /// Opens and locks `NAME.json` in `dir`, and removes what a killed run left there. Makes the folder, with mode 0700,
    /// but not the one above it. `insecure`: also where others own the folder or may write to it.
    ///
    /// # Errors
    ///
    /// Another run holds the lock; others could touch what is in the folder; or it cannot be had.
    pub fn open(dir: &Path, name: &str, insecure: bool) -> Result<Self, StateError> {
        Self::wait(dir, name, insecure, &AtomicBool::new(true))
    }

    /// As [`open`](Self::open), and where another run holds the lock, tries again until it does not, or until `stop`.
    ///
    /// # Errors
    ///
    /// Another run held the lock until `stop`; others could touch what is in the folder; or it cannot be had.
    pub fn wait(dir: &Path, name: &str, insecure: bool, stop: &AtomicBool) -> Result<Self, StateError> {
        ignore_sigxfsz();
        let folder = open_folder(dir, insecure)?;
        let lock = lock(&folder, &format!("{name}.lock"), dir, stop)?;
        let state = Self { place: Place { dir: dir.to_owned(), name: format!("{name}.json"), folder }, _lock: lock };
        let staged = state.place.staged();
        state.place.remove(&staged).map_err(|error| StateError::failed("remove", &dir.join(staged), error))?;
        Ok(state)
    }

    /// What the last run left, for whoever only wants to know: holds nothing, waits for nothing and writes nothing. `None`
    /// where no run left anything.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load), and others could touch what is in the folder.
    pub fn peek<T: Kept>(dir: &Path, name: &str, insecure: bool) -> Result<Option<T>, StateError> {
        let folder = match enter_folder(dir, false, insecure) {
            Err(StateError::Failed { error, .. }) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            done => done?,
        };
        let place = Place { dir: dir.to_owned(), name: format!("{name}.json"), folder };
        let Some(bytes) = place.read(T::RESET)? else { return Ok(None) };
        decode(&bytes).map(Some).map_err(|what| place.damaged::<T>(what, None))
    }

    /// The state's file, for messages.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.place.path()
    }

    /// What the last run left; `None` on the first. No power cut takes it back: it is on disk when this returns.
    ///
    /// # Errors
    ///
    /// It is damaged or of another version (a copy is then kept beside it), a link, within reach of others, or cannot be
    /// read.
    pub fn load<T: Kept>(&self) -> Result<Option<T>, StateError> {
        let Some(bytes) = self.place.read(T::RESET)? else { return Ok(None) };
        let state = decode(&bytes).map_err(|what| self.place.damaged::<T>(what, self.place.keep(&bytes)))?;
        // A run that was killed, or failed, just before this may have put it there: what follows from it must not be on
        // disk sooner.
        sync_folder(&self.place.folder).map_err(|error| StateError::failed("read", &self.path(), error))?;
        Ok(Some(state))
    }

    /// Replaces the state: on disk when this returns, and what it was when it fails; but for the very last step, making
    /// the folder durable: when that fails the new state has its place, and a power cut may bring the old one back.
    /// After a failure [`load`](Self::load) tells which of them there is, and only that may be acted upon.
    ///
    /// # Errors
    ///
    /// It cannot be written, put in its place, or made durable.
    pub fn save<T: Kept>(&self, state: &T) -> Result<(), StateError> {
        let bytes = encode(state).map_err(|error| StateError::failed("write", &self.path(), error))?;
        self.place.put(&self.place.name, &bytes)
    }

    /// Forgets everything: the next [`load`](Self::load) is that of a first run. No fault where there is nothing.
    ///
    /// # Errors
    ///
    /// The file cannot be removed.
    pub fn reset(&self) -> Result<(), StateError> {
        let removed = self.place.remove(&self.place.name).and_then(|()| sync_folder(&self.place.folder));
        removed.map_err(|error| StateError::failed("remove", &self.path(), error))
    }
}

impl Place {
    fn path(&self) -> PathBuf {
        self.dir.join(&self.name)
    }

    fn damaged<T: Kept>(&self, what: String, kept: Option<PathBuf>) -> StateError {
        StateError::Damaged { path: self.path(), what, kept, reset: T::RESET }
    }

    fn staged(&self) -> String {
        format!("{}.tmp", self.name)
    }

    /// `reset` is the flag that forgets the state.
    fn read(&self, reset: &str) -> Result<Option<Vec<u8>>, StateError> {
        let path = self.path();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match openat(&self.folder, &self.name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(StateError::insecure(&path, "it is a symbolic link", forget(reset))),
            Err(error) => return Err(StateError::failed("read", &path, error)),
        };
        let stat = fstat(&file).map_err(|error| StateError::failed("read", &path, error))?;
        trusted(&path, &stat, reset)?;
        let mut bytes = Vec::with_capacity(usize::try_from(stat.st_size).unwrap_or(0) + 1);
        File::from(file).take(MOST).read_to_end(&mut bytes).map_err(|error| StateError::failed("read", &path, error))?;
        Ok(Some(bytes))
    }

    /// A copy of a state that cannot be trusted, for whoever wants to know what happened.
    fn keep(&self, bytes: &[u8]) -> Option<PathBuf> {
        let name = format!("{}.bad", self.name);
        self.put(&name, bytes).ok().map(|()| self.dir.join(name))
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StateError> {
        let staged = self.staged();
        let write = self.write(&staged, bytes).map_err(|error| StateError::failed("write", &self.dir.join(name), error));
        let replace = write.and_then(|()| {
            let done = renameat(&self.folder, &staged, &self.folder, name).map_err(io::Error::from);
            done.and_then(|()| sync_folder(&self.folder)).map_err(|error| StateError::failed("replace", &self.dir.join(name), error))
        });
        if replace.is_err() {
            // The next run would remove it too.
            let _ = self.remove(&staged);
        }
        replace
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        // The lock is ours, so whatever has this name is left over.
        self.remove(name)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let private = Mode::RUSR | Mode::WUSR;
        let mut file = File::from(openat(&self.folder, name, flags, private)?);
        // The umask may have taken bits away; it cannot have added any.
        fchmod(&file, private)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.folder, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            done => Ok(done?),
        }
    }
}

fn forget(reset: &str) -> String {
    format!("delete it, or start as on the first run with {reset}")
}

fn lock(folder: &OwnedFd, name: &str, dir: &Path, stop: &AtomicBool) -> Result<Lock, StateError> {
    loop {
        match Lock::take(folder.as_fd(), name, &dir.join(name)) {
            Err(StateError::Held { .. }) if !stop.load(Ordering::Relaxed) => thread::sleep(PAUSE),
            done => return done,
        }
    }
}

fn open_folder(dir: &Path, insecure: bool) -> Result<OwnedFd, StateError> {
    let made = match mkdir(dir, Mode::RWXU) {
        Err(Errno::EXIST) => false,
        done => done.map(|()| true).map_err(|error| StateError::failed("make", dir, error))?,
    };
    enter_folder(dir, made, insecure)
}

fn enter_folder(dir: &Path, made: bool, insecure: bool) -> Result<OwnedFd, StateError> {
    let had = || -> io::Result<(OwnedFd, Stat)> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(dir, flags, Mode::empty())?;
        if made {
            fchmod(&folder, Mode::RWXU)?;
            // A power cut must not take it away, with the state in it. Who may not look above cannot do more.
            openat(&folder, "..", flags, Mode::empty()).map_or(Ok(()), |above| sync_folder(&above))?;
        }
        let stat = fstat(&folder)?;
        Ok((folder, stat))
    };
    let (folder, stat) = had().map_err(|error| StateError::failed("open", dir, error))?;
    if !insecure {
        private(dir, &stat)?;
    }
    Ok(folder)
}

/// Whoever may write to the folder may replace what is in it.
fn private(dir: &Path, stat: &Stat) -> Result<(), StateError> {
    if ![geteuid().as_raw(), 0].contains(&stat.st_uid) {
        let what = format!("the folder belongs to another user ({})", stat.st_uid);
        return Err(StateError::insecure(dir, what, "choose one that is yours, or trust it with --insecure-state"));
    }
    if stat.st_mode & 0o022 != 0 {
        let what = format!("others may write to the folder (mode {:04o})", stat.st_mode & 0o7777);
        return Err(StateError::insecure(dir, what, "take their rights away (chmod go-w), or trust them with --insecure-state"));
    }
    Ok(())
}

/// A state that others wrote could make us pass over whatever they like.
fn trusted(path: &Path, stat: &Stat, reset: &str) -> Result<(), StateError> {
    let insecure = |what: String, advice: &'static str| Err(StateError::insecure(path, what, advice));
    let refuse = |what: String| Err(StateError::insecure(path, what, forget(reset)));
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return refuse("it is no regular file".into());
    }
    if stat.st_uid != geteuid().as_raw() {
        return insecure(format!("it belongs to another user ({})", stat.st_uid), "run as that user, or make it yours (chown)");
    }
    if stat.st_mode & 0o022 != 0 {
        return insecure(format!("others may write to it (mode {:04o})", stat.st_mode & 0o7777), "take their rights away (chmod 600)");
    }
    if stat.st_size.cast_unsigned() >= MOST {
        return refuse(format!("it is too big for a state ({} bytes)", stat.st_size));
    }
    Ok(())
}

/// Makes a rename durable. Some network file systems know no such thing for folders and say so.
fn sync_folder(folder: &OwnedFd) -> io::Result<()> {
    match fsync(folder) {
        Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
        done => Ok(done?),
    }
}
