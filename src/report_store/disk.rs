//! Open folders and all operations in them: by name, one level at a time, without following
//! symbolic links.
//!
//! Every system call that changes the disk or syncs it is made in this file, so that tests can let
//! each of them fail, or end a run before it. Folders are removed entry by entry, and never across
//! a file system boundary.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, RenameFlags, Stat};
use rustix::fs::{
    fchmod, fchown, fstat, fsync, linkat, mkdirat, openat, readlinkat, renameat, renameat_with,
    statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

#[cfg(test)]
pub(super) use super::tests::faults::{failpoint, in_listing_order};
use super::{Access, ReportStoreError};
use crate::os::atomic_file::AtomicFile;

type Result<T> = std::result::Result<T, ReportStoreError>;

/// What a system call does to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code, reason = "tests look at it"))]
pub(super) enum Syscall {
    /// Creates an entry.
    Add,
    /// Creates a hard link. Not every file system supports this.
    Link,
    /// Moves an entry out of a folder, or into it.
    Move,
    /// Swaps two entries. Not every system supports this.
    Exchange,
    /// Removes an entry.
    Remove,
    /// Changes a file, or permissions.
    Change,
    /// Syncs to disk.
    Sync,
}

/// Runs before each system call. Tests replace it to inject failures.
#[cfg(not(test))]
#[allow(
    clippy::unnecessary_wraps,
    reason = "it fails where a test wants it to"
)]
pub(super) fn failpoint(_: Syscall, _: BorrowedFd<'_>) -> rustix::io::Result<()> {
    Ok(())
}

/// The order of a listing is that of the file system. Tests replace this with any other order.
#[cfg(not(test))]
fn in_listing_order(names: Vec<OsString>) -> Vec<OsString> {
    names
}

/// Only the owner may enter, until the permissions are set.
const PRIVATE: Mode = Mode::RWXU;

/// The deepest nesting of folders that are removed.
const MAX_DEPTH: usize = 32;

/// An open folder. Renaming it does not change which folder this is.
#[derive(Debug)]
pub(super) struct FolderHandle {
    fd: OwnedFd,
    /// For messages.
    path: PathBuf,
}

impl FolderHandle {
    pub(super) fn new(fd: OwnedFd, path: PathBuf) -> Self {
        Self { fd, path }
    }

    /// The path of an entry, for messages.
    pub(super) fn path(&self, name: impl AsRef<std::path::Path>) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Creates a folder in it.
    pub(super) fn create_folder(&self, name: &str, access: Access) -> Result<Self> {
        let made = failpoint(Syscall::Add, self.fd())
            .and_then(|()| mkdirat(&self.fd, name, PRIVATE))
            .and_then(|()| self.open(name));
        let folder = Self {
            fd: made.map_err(|error| self.failed("make", name, error))?,
            path: self.path(name),
        };
        folder
            .set_access(access)
            .map_err(|error| self.failed("set the rights of", name, error))?;
        Ok(folder)
    }

    /// Sets the permissions of the folder. The setgid bit is kept.
    pub(super) fn set_access(&self, access: Access) -> io::Result<()> {
        let inherited = Mode::from_raw_mode(fstat(&self.fd)?.st_mode) & Mode::SGID;
        set_rights(
            self.fd(),
            access.group,
            Mode::from_raw_mode(access.folder_mode()) | inherited,
        )
    }

    /// Opens a folder in it; `None` if it does not exist.
    pub(super) fn open_folder(&self, name: &str) -> Result<Option<Self>> {
        match self.open(name) {
            Ok(fd) => Ok(Some(Self {
                fd,
                path: self.path(name),
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => Err(ReportStoreError::not_a_report(
                self.path(name),
                "it is not a folder of reports",
            )),
            Err(error) => Err(self.failed("open", name, error)),
        }
    }

    fn open(&self, name: &str) -> rustix::io::Result<OwnedFd> {
        openat(
            &self.fd,
            name,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )
    }

    /// Creates a file in it.
    pub(super) fn create_file(&self, name: &str, access: Access) -> Result<NewFile> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = failpoint(Syscall::Add, self.fd())
            .and_then(|()| openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR));
        let file = NewFile {
            file: made
                .map_err(|error| self.failed("make", name, error))?
                .into(),
            path: self.path(name),
        };
        let rights = Mode::from_raw_mode(access.file_mode());
        set_rights(file.fd(), access.group, rights)
            .map_err(|error| self.failed("set the rights of", name, error))?;
        Ok(file)
    }

    /// Opens a file in it for reading; `None` if it does not exist.
    pub(super) fn open_file(&self, name: &str) -> Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => {
                return Err(ReportStoreError::not_a_report(
                    self.path(name),
                    "it is a symbolic link",
                ));
            }
            Err(error) => return Err(self.failed("read", name, error)),
        };
        let stat = fstat(&file).map_err(|error| self.failed("read", name, error))?;
        if !FileType::from_raw_mode(stat.st_mode).is_file() {
            return Err(ReportStoreError::not_a_report(
                self.path(name),
                "it is not a regular file",
            ));
        }
        Ok(Some(file.into()))
    }

    /// The first `most` bytes of a file in it; `None` if it does not exist.
    pub(super) fn read_start(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>> {
        let Some(file) = self.open_file(name)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        file.take(most)
            .read_to_end(&mut bytes)
            .map_err(|error| self.failed("read", name, error))?;
        Ok(Some(bytes))
    }

    /// The type of an entry; `None` if it does not exist.
    pub(super) fn entry_type(&self, name: &str) -> Result<Option<FileType>> {
        Ok(self
            .stat(name)?
            .map(|stat| FileType::from_raw_mode(stat.st_mode)))
    }

    /// Whether the name still refers to the open file.
    pub(super) fn refers_to(&self, name: &str, fd: BorrowedFd<'_>) -> Result<bool> {
        let known = fstat(fd).map_err(|error| self.failed("look at", name, error))?;
        Ok(self
            .stat(name)?
            .is_some_and(|stat| (stat.st_dev, stat.st_ino) == (known.st_dev, known.st_ino)))
    }

    /// Whether two names refer to the same file, or to copies of it: copying a folder may separate
    /// the names of a file, and some file systems give each name an inode of its own. `false` if
    /// one of them does not exist.
    pub(super) fn is_same_file(&self, name: &str, other: &Self, its: &str) -> Result<bool> {
        let (Some(one), Some(another)) = (self.stat(name)?, other.stat(its)?) else {
            return Ok(false);
        };
        if (one.st_dev, one.st_ino) == (another.st_dev, another.st_ino) {
            return Ok(true);
        }
        if one.st_size != another.st_size {
            return Ok(false);
        }
        let (Some(one), Some(another)) = (self.open_file(name)?, other.open_file(its)?) else {
            return Ok(false);
        };
        is_same_content(one, another).map_err(|error| self.failed("read", name, error))
    }

    /// The size of a file in bytes; `None` if it does not exist.
    pub(super) fn size(&self, name: &str) -> Result<Option<u64>> {
        Ok(self.stat(name)?.map(|stat| stat.st_size.cast_unsigned()))
    }

    fn stat(&self, name: &str) -> Result<Option<Stat>> {
        match statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(self.failed("look at", name, error)),
        }
    }

    /// The names of all entries, unordered.
    pub(super) fn names(&self) -> Result<Vec<OsString>> {
        let read = || -> rustix::io::Result<Vec<OsString>> {
            let mut names = Vec::new();
            for entry in Dir::read_from(&self.fd)? {
                let name = entry?.file_name().to_bytes().to_vec();
                if !matches!(name.as_slice(), b"." | b"..") {
                    names.push(OsString::from_vec(name));
                }
            }
            Ok(names)
        };
        read()
            .map(in_listing_order)
            .map_err(|error| self.failed("list", "", error))
    }

    /// Replaces the file `name` in it; `staged` is its name while it is written. The rename is not
    /// synced.
    pub(super) fn replace_file(
        &self,
        staged: &str,
        name: &str,
        content: &[u8],
        access: Access,
    ) -> Result<()> {
        let replace = || -> io::Result<()> {
            failpoint(Syscall::Add, self.fd())?;
            let mut file = AtomicFile::in_locked(self.fd(), staged, name, 0o600)?;
            set_rights(
                file.as_fd(),
                access.group,
                Mode::from_raw_mode(access.file_mode()),
            )?;
            failpoint(Syscall::Change, file.as_fd())?;
            file.write_all(content)?;
            failpoint(Syscall::Sync, file.as_fd())?;
            file.sync()?;
            failpoint(Syscall::Move, self.fd())?;
            file.rename()
        };
        replace().map_err(|error| self.failed("write", name, error))
    }

    /// Moves an entry to another folder on the same file system.
    pub(super) fn rename(&self, name: &str, to: &Self, new: &str) -> Result<()> {
        let done =
            failpoint(Syscall::Move, self.fd()).and_then(|()| failpoint(Syscall::Move, to.fd()));
        done.and_then(|()| renameat(&self.fd, name, &to.fd, new))
            .map_err(|error| to.failed("put in its place", new, error))
    }

    /// Swaps two entries of the same name in two folders, atomically. Returns false if the system
    /// or the file system cannot do that.
    pub(super) fn exchange(&self, name: &str, with: &Self) -> Result<bool> {
        let done = failpoint(Syscall::Exchange, self.fd())
            .and_then(|()| failpoint(Syscall::Exchange, with.fd()));
        match done
            .and_then(|()| renameat_with(&self.fd, name, &with.fd, name, RenameFlags::EXCHANGE))
        {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
            Err(error) => Err(with.failed("put in its place", name, error)),
        }
    }

    /// Creates a hard link in another folder. Returns false on file systems without hard links.
    pub(super) fn hard_link(&self, name: &str, to: &Self, new: &str) -> Result<bool> {
        match failpoint(Syscall::Link, to.fd())
            .and_then(|()| linkat(&self.fd, name, &to.fd, new, AtFlags::empty()))
        {
            Ok(()) => Ok(true),
            Err(Errno::PERM | Errno::NOTSUP | Errno::NOSYS | Errno::MLINK) => Ok(false),
            Err(error) => Err(to.failed("make", new, error)),
        }
    }

    /// Creates a symbolic link. Does nothing on file systems without symbolic links.
    pub(super) fn create_symlink(&self, target: &str, name: &str) -> Result<()> {
        match failpoint(Syscall::Add, self.fd()).and_then(|()| symlinkat(target, &self.fd, name)) {
            Err(Errno::PERM | Errno::NOTSUP | Errno::NOSYS) => Ok(()),
            done => done.map_err(|error| self.failed("make", name, error)),
        }
    }

    /// The target of a symbolic link; `None` if it is not one.
    pub(super) fn symlink_target(&self, name: &str) -> Option<String> {
        readlinkat(&self.fd, name, Vec::new())
            .ok()?
            .into_string()
            .ok()
    }

    /// Removes an entry and everything in it. Does nothing if it does not exist.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        self.remove_entry(name.as_ref(), 0)
    }

    fn remove_entry(&self, name: &std::ffi::OsStr, depth: usize) -> Result<()> {
        let failed = |error| self.failed("remove", name, error);
        let unlink = |flags| match failpoint(Syscall::Remove, self.fd())
            .and_then(|()| unlinkat(&self.fd, name, flags))
        {
            Err(Errno::NOENT) => Ok(()),
            done => done.map_err(failed),
        };
        match statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(()),
            Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_dir() => {}
            done => return done.map_err(failed).and_then(|_| unlink(AtFlags::empty())),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = Self {
            fd: openat(&self.fd, name, flags, Mode::empty()).map_err(failed)?,
            path: self.path(name),
        };
        let (here, there) = (
            fstat(&self.fd).map_err(failed)?,
            fstat(&folder.fd).map_err(failed)?,
        );
        if here.st_dev != there.st_dev || depth == MAX_DEPTH {
            let what = "it contains another file system, or too many levels of folders";
            return Err(ReportStoreError::in_the_way(
                folder.path,
                what,
                "remove that first",
            ));
        }
        for entry in folder.names()? {
            folder.remove_entry(&entry, depth + 1)?;
        }
        unlink(AtFlags::REMOVEDIR)
    }

    /// Syncs the folder.
    pub(super) fn sync(&self) -> Result<()> {
        let fd = self
            .fd
            .try_clone()
            .map_err(|error| self.failed("write", "", error))?;
        PendingSync {
            fd,
            path: self.path.clone(),
            is_folder: true,
        }
        .sync()
    }

    /// Closes the folder, except for the sync.
    pub(super) fn into_pending_sync(self) -> PendingSync {
        PendingSync {
            fd: self.fd,
            path: self.path,
            is_folder: true,
        }
    }

    fn failed(
        &self,
        step: &'static str,
        name: impl AsRef<std::path::Path>,
        error: impl Into<io::Error>,
    ) -> ReportStoreError {
        // Joining an empty name would add a slash.
        let name = name.as_ref();
        let path = if name.as_os_str().as_bytes().is_empty() {
            self.path.clone()
        } else {
            self.path(name)
        };
        ReportStoreError::failed(step, path, error)
    }
}

/// Compares what is left of two files.
fn is_same_content(one: File, another: File) -> io::Result<bool> {
    let (mut one, mut another) = (BufReader::new(one), BufReader::new(another));
    loop {
        let (a, b) = (one.fill_buf()?, another.fill_buf()?);
        let length = a.len().min(b.len());
        if length == 0 || a[..length] != b[..length] {
            return Ok(a.is_empty() && b.is_empty());
        }
        one.consume(length);
        another.consume(length);
    }
}

/// The group first: otherwise the old group could read for an instant with the new mode.
fn set_rights(fd: BorrowedFd<'_>, group: Option<u32>, mode: Mode) -> io::Result<()> {
    if let Some(group) = group {
        failpoint(Syscall::Change, fd)?;
        fchown(fd, None, Some(Gid::from_raw(group)))?;
    }
    failpoint(Syscall::Change, fd)?;
    Ok(fchmod(fd, mode)?)
}

/// A file that is being written.
#[derive(Debug)]
pub(super) struct NewFile {
    file: File,
    /// For messages.
    path: PathBuf,
}

impl NewFile {
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Closes the file, except for the sync.
    pub(super) fn into_pending_sync(self) -> PendingSync {
        PendingSync {
            fd: self.file.into(),
            path: self.path,
            is_folder: false,
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        failpoint(Syscall::Change, self.fd())?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How many syncs run at a time by default.
pub(super) const SYNC_THREADS: usize = 16;

/// A file or folder that was written and may not be on disk yet.
#[derive(Debug)]
pub(super) struct PendingSync {
    pub(super) fd: OwnedFd,
    /// For messages.
    pub(super) path: PathBuf,
    pub(super) is_folder: bool,
}

impl PendingSync {
    /// Some network file systems cannot sync folders, and return an error.
    pub(super) fn sync(&self) -> Result<()> {
        self.check_result(failpoint(Syscall::Sync, self.fd.as_fd()).and_then(|()| fsync(&self.fd)))
    }

    fn check_result(&self, done: rustix::io::Result<()>) -> Result<()> {
        match done {
            Err(Errno::INVAL | Errno::NOTSUP) if self.is_folder => Ok(()),
            done => {
                done.map_err(|error| ReportStoreError::failed("write", self.path.clone(), error))
            }
        }
    }
}

/// Syncs all items, `sync_threads` at a time. A disk takes little longer for all of them than for
/// one.
///
/// # Errors
///
/// One of them could not be synced; the others may or may not be.
pub(super) fn sync_all(items: &[PendingSync], sync_threads: usize) -> Result<()> {
    for item in items {
        item.check_result(failpoint(Syscall::Sync, item.fd.as_fd()))?;
    }
    let next = AtomicUsize::new(0);
    let work = || -> Result<()> {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            item.check_result(fsync(&item.fd))?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        // If threads cannot be started, fewer of them do the work.
        let helpers = (1..items.len().min(sync_threads))
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok());
        let helpers: Vec<_> = helpers.collect();
        let mut done = work();
        for helper in helpers {
            // Nothing in it panics.
            done = done.and(
                helper
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            );
        }
        done
    })
}
