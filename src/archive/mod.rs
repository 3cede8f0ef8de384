//! The folder of `--out`: folders of reports that appear whole or not at all, the link to the latest, and how long they
//! are kept.
//!
//! A run writes its folders into `.run-N.tmp` ([`Staging`]), on disk. Then the run is committed: whoever keeps the state
//! writes down that run N was the last one. Only then do the folders move to their places ([`Archive::publish`]). Ended
//! at any instant, by a signal or by a power cut, the next run finds out by the state what was committed, and finishes
//! it or takes it away ([`Archive::settle`]).
//!
//! Everything happens relative to the folder that was opened, which one run holds at a time. No symbolic link in it is
//! followed, nothing that is not ours is replaced or removed. Knows no logs and no states, and nothing of what reports
//! say, but for who wrote them. Two states cannot share one `--out` ([`Archive::of_state`]).

mod disk;
mod durable;
mod error;
mod name;
mod owner;
mod publish;
mod retention;
mod staging;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access as Right, AtFlags, CWD, FileType, FlockOperation, Mode, OFlags};
use rustix::fs::{accessat, flock, fsync, mkdir, openat, statat};
use rustix::io::Errno;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use self::disk::Folder;
use self::durable::AT_ONCE;
use self::name::Name;
use crate::system::ignore_sigxfsz;
pub use error::ArchiveError;
pub use name::run_folder;
pub use staging::{StagedFile, Staging};

/// The link to the folder that holds the latest.
const LATEST: &str = "latest";

/// The file by which a folder is known as ours.
const REPORT: &str = "report.json";

/// Bytes at its beginning in which it says who wrote it.
const SIGNED_WITHIN: u64 = 256;

/// Who may read the reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The rights to a file, `0o600` say. A folder may be entered by whoever may read what is in it.
    pub mode: u32,
    /// The group that files and folders belong to, where it is not the one they would have.
    pub group: Option<u32>,
}

impl Access {
    fn file_mode(self) -> u32 {
        self.mode & 0o777
    }

    fn folder_mode(self) -> u32 {
        self.file_mode() | (self.file_mode() & 0o444) >> 2 | 0o700
    }
}

/// A run whose folders are complete. A state that names it says that it was committed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its number, from 1.
    pub number: u64,
    /// Its folders in `--out`.
    pub folders: Vec<String>,
}

/// Which folders are kept; neither: all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keep {
    /// So many of the latest; runs, days and hours each for themselves.
    pub runs: Option<usize>,
    /// Those of runs that were, or of periods that ended, less long ago than this.
    pub age: Option<Duration>,
}

/// The folder of `--out`, held by this run until it is dropped.
#[derive(Debug)]
pub struct Archive {
    folder: Folder,
    access: Access,
    /// The state whose runs these are; `None` where nobody said.
    state: Option<PathBuf>,
    /// Files that are made to last at a time.
    at_once: usize,
}

impl Archive {
    /// Opens the folder and holds it. Makes it, but not the one above it. It may be reached through a symbolic link that
    /// is ours, or root's.
    ///
    /// # Errors
    ///
    /// Another run holds it; it cannot be made or written to; something that is no link has the place of `latest`.
    pub fn open(dir: &Path, access: Access) -> Result<Self, ArchiveError> {
        ignore_sigxfsz();
        // Without a slash at the end, which would lead through a link.
        let dir: PathBuf = dir.components().collect();
        let folder = open_folder(&dir, access)?;
        accessat(folder.fd(), ".", Right::WRITE_OK | Right::EXEC_OK, AtFlags::empty())
            .map_err(|error| ArchiveError::failed("write to", dir.clone(), error))?;
        // On the folder itself, so that no file has to lie there. Some network file systems know no such lock.
        if flock(folder.fd(), FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(ArchiveError::Held { path: dir });
        }
        let archive = Self { folder, access, state: None, at_once: AT_ONCE };
        archive.check_latest()?;
        Ok(archive)
    }

    /// The same by one thread: slower, and always in the same order.
    #[must_use]
    pub fn one_by_one(self) -> Self {
        Self { at_once: 1, ..self }
    }

    /// The greatest number of a run that has a folder; 0 without one. The next run must have a greater one, and a greater
    /// one than the state knows: folders may have been removed, and a state may have been reset.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn last_number(&self) -> Result<u64, ArchiveError> {
        let numbers = self.ours()?.into_iter().map(|(_, name)| if let Name::Run { number, .. } = name { number } else { 0 });
        Ok(numbers.max().unwrap_or(0))
    }

    /// Opens a file of a folder, a period's report to be added to say; `None` where there is no such folder or file.
    ///
    /// # Errors
    ///
    /// The name is none of ours; it is a link, or something else that is no folder or no file; or it cannot be read.
    pub fn open_file(&self, folder: &str, file: &str) -> Result<Option<File>, ArchiveError> {
        self.known(folder)?;
        let Some(folder) = self.folder.enter(folder)? else { return Ok(None) };
        folder.read(file)
    }

    /// Everything that has a name of ours, with what the name says.
    fn ours(&self) -> Result<Vec<(String, Name)>, ArchiveError> {
        let names = self.folder.names()?.into_iter().filter_map(|name| name.into_string().ok());
        Ok(names.filter_map(|name| Name::parse(&name).map(|parsed| (name, parsed))).collect())
    }

    /// What the name of a folder says.
    fn known(&self, folder: &str) -> Result<Name, ArchiveError> {
        Name::parse(folder).ok_or_else(|| ArchiveError::foreign(self.folder.path(folder), "this is no name of a run or of a period"))
    }

    /// Whether a folder with a name of ours holds a report of ours.
    fn is_ours(&self, name: &str) -> Result<bool, ArchiveError> {
        if self.folder.kind(name)? != Some(FileType::Directory) {
            return Ok(false);
        }
        let Some(folder) = self.folder.enter(name)? else { return Ok(false) };
        if folder.kind(REPORT)? != Some(FileType::RegularFile) {
            return Ok(false);
        }
        let Some(report) = folder.read(REPORT)? else { return Ok(false) };
        let mut head = Vec::new();
        let read = report.take(SIGNED_WITHIN).read_to_end(&mut head);
        read.map_err(|error| ArchiveError::failed("read", folder.path(REPORT), error))?;
        Ok(memchr::memmem::find(&head, b"probewatch").is_some())
    }

    fn check_latest(&self) -> Result<(), ArchiveError> {
        match self.folder.kind(LATEST)? {
            None | Some(FileType::Symlink) => Ok(()),
            Some(_) => Err(ArchiveError::foreign(self.folder.path(LATEST), "it should be a link to the latest report")),
        }
    }
}

fn open_folder(dir: &Path, access: Access) -> Result<Folder, ArchiveError> {
    let made = match mkdir(dir, Mode::RWXU) {
        Err(Errno::EXIST) => false,
        done => done.map(|()| true).map_err(|error| ArchiveError::failed("make", dir.to_owned(), error))?,
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = match openat(CWD, dir, flags | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP) => {
            trusted_link(dir)?;
            openat(CWD, dir, flags, Mode::empty())
        }
        done => done,
    };
    let failed = |step| move |error: std::io::Error| ArchiveError::failed(step, dir.to_owned(), error);
    let folder = Folder::new(opened.map_err(|error| failed("open")(error.into()))?, dir.to_owned());
    if made {
        folder.admit(access).map_err(failed("set the rights of"))?;
        // A power cut must not take the folder away, with reports in it that are counted as made.
        if let Ok(above) = openat(folder.fd(), "..", flags, Mode::empty()) {
            match fsync(&above) {
                Err(Errno::INVAL | Errno::NOTSUP) => {}
                done => done.map_err(|error| failed("make")(error.into()))?,
            }
        }
    }
    Ok(folder)
}

/// A link that others made could lead to whatever they like.
fn trusted_link(dir: &Path) -> Result<(), ArchiveError> {
    match statat(CWD, dir, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(link) if FileType::from_raw_mode(link.st_mode).is_symlink() && ![geteuid().as_raw(), 0].contains(&link.st_uid) => {
            Err(ArchiveError::in_the_way(dir.to_owned(), "it is a symbolic link of another user", "name the folder it leads to"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
