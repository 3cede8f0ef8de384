//! Replaces a file atomically: writes it under another name in the same folder, syncs it, and
//! renames it. A reader, and a run after a power failure, finds the old file or the new one. A
//! symbolic link of that name is replaced, not followed.
//!
//! A run that is killed leaves the other name, and the next run that writes into the folder removes
//! it: a regular file of this user that is called `.probewatch-XXXXXX.tmp`, was not written to for
//! ten minutes, and that no process has locked. Each run locks its own until it ends. Nothing else
//! is removed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, fchmod, flock, fstat, fsync, open,
    openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The other name, with six characters in between.
const PREFIX: &str = ".probewatch-";
const SUFFIX: &str = ".tmp";

/// How long a file was not written to before it counts as left: a run may have created it and not
/// locked it yet.
const LEFT_AFTER: Duration = Duration::from_secs(600);

/// How many names are tried.
const MAX_TRIES: u64 = 100;

/// A file that is being written. [`replace`](Self::replace) gives it its name; without that it is
/// removed.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    file: File,
    folder: OwnedFd,
    name: OsString,
    /// The other name, until it is renamed.
    staged: Option<OsString>,
}

impl AtomicFile {
    /// Will replace the file at `path`. Has this mode, without the bits of the umask. Removes what
    /// killed runs left in the folder.
    ///
    /// # Errors
    ///
    /// It cannot be created.
    pub(crate) fn beside(path: &Path, mode: u32) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        // A folder may allow writing and not reading. It cannot be synced then.
        let folder = match open(folder_of(path), flags | OFlags::RDONLY, Mode::empty()) {
            Err(Errno::ACCESS) => open(folder_of(path), flags | OFlags::PATH, Mode::empty()),
            done => done,
        }?;
        // If this fails, the next run does it.
        let _ = remove_left(folder.as_fd());
        let random = RandomState::new();
        for number in 0..MAX_TRIES {
            let staged = format!("{PREFIX}{:06x}{SUFFIX}", random.hash_one(number) >> 40);
            match Self::create(
                folder.as_fd(),
                staged.as_ref(),
                path.file_name().unwrap_or_default(),
                mode,
            ) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    let created = created?;
                    // On a file system without locks, no run removes it.
                    let _ = flock(&created.file, FlockOperation::NonBlockingLockExclusive);
                    return Ok(created);
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Will replace the file `name` in a folder that other runs do not write to at the same time: a
    /// file called `staged` was left by an earlier one.
    ///
    /// # Errors
    ///
    /// It cannot be created.
    pub(crate) fn in_locked(
        folder: BorrowedFd<'_>,
        staged: &str,
        name: &str,
        mode: u32,
    ) -> io::Result<Self> {
        remove(folder, staged.as_ref())?;
        Self::create(folder, staged.as_ref(), name.as_ref(), mode)
    }

    fn create(folder: BorrowedFd<'_>, staged: &OsStr, name: &OsStr, mode: u32) -> io::Result<Self> {
        let folder = folder.try_clone_to_owned()?;
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(&folder, staged, flags, Mode::from_raw_mode(mode))?);
        Ok(Self {
            file,
            folder,
            name: name.to_owned(),
            staged: Some(staged.to_owned()),
        })
    }

    /// Sets its mode, whatever the umask.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(fchmod(&self.file, Mode::from_raw_mode(mode))?)
    }

    /// Syncs its content to disk.
    ///
    /// # Errors
    ///
    /// The disk fails or is full.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Gives it its name. Call [`sync`](Self::sync) before, and [`sync_folder`](Self::sync_folder)
    /// after it.
    ///
    /// # Errors
    ///
    /// The file of that name is unchanged.
    pub(crate) fn rename(&mut self) -> io::Result<()> {
        if let Some(staged) = &self.staged {
            renameat(&self.folder, staged, &self.folder, &self.name)?;
            self.staged = None;
        }
        Ok(())
    }

    /// Makes the rename durable.
    ///
    /// # Errors
    ///
    /// The file has its name, but a power failure may bring back the old one.
    pub(crate) fn sync_folder(&self) -> io::Result<()> {
        sync_folder(self.folder.as_fd())
    }

    /// [Renames](Self::rename) it and makes that durable.
    ///
    /// # Errors
    ///
    /// A step failed.
    pub(crate) fn replace(mut self) -> io::Result<()> {
        self.rename()?;
        self.sync_folder()
    }
}

impl AsFd for AtomicFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(staged) = &self.staged {
            // Otherwise a later run removes it.
            let _ = remove(self.folder.as_fd(), staged);
        }
    }
}

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Removes a file, if there is one.
///
/// # Errors
///
/// It cannot be removed.
pub(crate) fn remove(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        done => Ok(done?),
    }
}

/// Syncs the names in a folder to disk. Some network file systems cannot do that for folders, and a
/// folder may be open without the right to read it.
///
/// # Errors
///
/// The disk fails or is full.
pub(crate) fn sync_folder(folder: BorrowedFd<'_>) -> io::Result<()> {
    match fsync(folder) {
        Err(Errno::INVAL | Errno::NOTSUP | Errno::BADF) => Ok(()),
        done => Ok(done?),
    }
}

/// Removes the files that killed runs left in a folder.
fn remove_left(folder: BorrowedFd<'_>) -> io::Result<()> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let latest = now.saturating_sub(LEFT_AFTER.as_secs()).cast_signed();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let found = if is_staged(name) {
            statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?
        } else {
            continue;
        };
        let is_file = FileType::from_raw_mode(found.st_mode).is_file();
        if !is_file || found.st_uid != geteuid().as_raw() || found.st_mtime > latest {
            continue;
        }
        let file = openat(
            folder,
            name,
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        if fstat(&file)?.st_ino == found.st_ino
            && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            remove(folder, name)?;
        }
    }
    Ok(())
}

/// Whether it is the name of a file that is being written.
fn is_staged(name: &OsStr) -> bool {
    let middle = name
        .as_bytes()
        .strip_prefix(PREFIX.as_bytes())
        .and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
    middle.is_some_and(|middle| middle.len() == 6 && middle.iter().all(u8::is_ascii_alphanumeric))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Files that look left, but are too young, locked, a link, a folder, or of another name, stay.
    #[test]
    fn only_left_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - LEFT_AFTER - Duration::from_secs(1);
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str, time| {
            let file = File::create(path(name)).unwrap();
            file.set_modified(time).unwrap();
            file
        };
        for left in [".probewatch-Ab12xY.tmp", ".probewatch-000000.tmp"] {
            write(left, old);
        }
        write(".probewatch-young1.tmp", old + Duration::from_secs(11));
        let locked = write(".probewatch-locked.tmp", old);
        flock(&locked, FlockOperation::NonBlockingLockExclusive).unwrap();
        for name in [
            ".probewatch-1234567.tmp",
            ".probewatch-12345.tmp",
            ".probewatch-12-456.tmp",
            "probewatch-123456.tmp",
            ".probewatch-123456",
        ] {
            write(name, old);
        }
        symlink(".probewatch-12345.tmp", path(".probewatch-linked.tmp")).unwrap();
        fs::create_dir(path(".probewatch-folder.tmp")).unwrap();
        let mut written = AtomicFile::beside(&path("list"), 0o600).unwrap();
        written.write_all(b"text").unwrap();
        written.replace().unwrap();
        let mut names: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let expected = [
            ".probewatch-12-456.tmp",
            ".probewatch-12345.tmp",
            ".probewatch-123456",
            ".probewatch-1234567.tmp",
            ".probewatch-folder.tmp",
            ".probewatch-linked.tmp",
            ".probewatch-locked.tmp",
            ".probewatch-young1.tmp",
            "list",
            "probewatch-123456.tmp",
        ];
        assert_eq!(names, expected);
        // A run that ends gives up its lock.
        drop(locked);
        drop(AtomicFile::beside(&path("list"), 0o600).unwrap());
        assert!(!path(".probewatch-locked.tmp").exists());
    }
}
