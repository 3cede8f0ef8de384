//! The folder of `--out`: folders of reports that appear whole or not at all, the link to the latest, and how long they
//! are kept.
//!
//! A run writes its folders into `.run-N.tmp` ([`Staging`]), on disk. Then the run is committed: whoever keeps the state
//! writes down that run N was the last one. Only then do the folders move to their places ([`ReportStore::publish`]). Ended
//! at any instant, by a signal or by a power cut, the next run finds out by the state what was committed, and finishes
//! it or takes it away ([`ReportStore::recover`]).
//!
//! Everything happens relative to the folder that was opened, which one run holds at a time. No symbolic link in it is
//! followed, nothing that is not ours is replaced or removed. Knows no logs and no states, and nothing of what reports
//! say, but for who wrote them. Two states cannot share one `--out` ([`ReportStore::for_state`]).

mod disk;
mod error;
mod name;
mod owner;
mod publish;
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

use self::disk::FolderHandle;
use self::disk::SYNC_THREADS;
use self::name::ReportDirName;
use crate::system::survive_size_limit;
pub use error::ReportStoreError;
pub use name::run_folder_name;
pub use staging::{StagedFile, Staging};

/// The link to the folder that holds the latest.
const LATEST: &str = "latest";

/// The file by which a folder is known as ours.
const REPORT: &str = "report.json";

/// Bytes at its beginning in which it says who wrote it.
const SIGNATURE_BYTES: u64 = 256;

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
pub struct Retention {
    /// So many of the latest; runs, days and hours each for themselves.
    pub runs: Option<usize>,
    /// Those of runs that were, or of periods that ended, less long ago than this.
    pub age: Option<Duration>,
}

/// The folder of `--out`, held by this run until it is dropped.
#[derive(Debug)]
pub struct ReportStore {
    folder: FolderHandle,
    access: Access,
    /// The state whose runs these are; `None` where nobody said.
    state: Option<PathBuf>,
    /// Files that are made to last at a time.
    sync_threads: usize,
}

impl ReportStore {
    /// Opens the folder and holds it. Makes it, but not the one above it. It may be reached through a symbolic link that
    /// is ours, or root's.
    ///
    /// # Errors
    ///
    /// Another run holds it; it cannot be made or written to; something that is no link has the place of `latest`.
    pub fn open(dir: &Path, access: Access) -> Result<Self, ReportStoreError> {
        survive_size_limit();
        // Without a slash at the end, which would lead through a link.
        let dir: PathBuf = dir.components().collect();
        let folder = open_folder(&dir, access)?;
        accessat(folder.fd(), ".", Right::WRITE_OK | Right::EXEC_OK, AtFlags::empty())
            .map_err(|error| ReportStoreError::failed("write to", dir.clone(), error))?;
        // On the folder itself, so that no file has to lie there. Some network file systems know no such lock.
        if flock(folder.fd(), FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(ReportStoreError::Held { path: dir });
        }
        let store = Self { folder, access, state: None, sync_threads: SYNC_THREADS };
        store.check_latest()?;
        Ok(store)
    }

    /// The same by one thread: slower, and always in the same order.
    #[must_use]
    pub fn single_threaded(self) -> Self {
        Self { sync_threads: 1, ..self }
    }

    /// The greatest number of a run that has a folder; 0 without one. The next run must have a greater one, and a greater
    /// one than the state knows: folders may have been removed, and a state may have been reset.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn last_run_number(&self) -> Result<u64, ReportStoreError> {
        let numbers =
            self.report_folders()?.into_iter().map(|(_, name)| if let ReportDirName::Run { number, .. } = name { number } else { 0 });
        Ok(numbers.max().unwrap_or(0))
    }

    /// Opens a file of a folder, a period's report to be added to say; `None` where there is no such folder or file.
    ///
    /// # Errors
    ///
    /// The name is none of ours; it is a link, or something else that is no folder or no file; or it cannot be read.
    pub fn open_file(&self, folder: &str, file: &str) -> Result<Option<File>, ReportStoreError> {
        self.parse_name(folder)?;
        let Some(folder) = self.folder.open_folder(folder)? else { return Ok(None) };
        folder.open_file(file)
    }

    /// Everything that has a name of ours, with what the name says.
    fn report_folders(&self) -> Result<Vec<(String, ReportDirName)>, ReportStoreError> {
        let names = self.folder.names()?.into_iter().filter_map(|name| name.into_string().ok());
        Ok(names.filter_map(|name| ReportDirName::parse(&name).map(|parsed| (name, parsed))).collect())
    }

    /// What the name of a folder says.
    fn parse_name(&self, folder: &str) -> Result<ReportDirName, ReportStoreError> {
        ReportDirName::parse(folder)
            .ok_or_else(|| ReportStoreError::not_a_report(self.folder.path(folder), "this is no name of a run or of a period"))
    }

    /// Whether a folder with a name of ours holds a report of ours.
    fn is_report(&self, name: &str) -> Result<bool, ReportStoreError> {
        if self.folder.entry_type(name)? != Some(FileType::Directory) {
            return Ok(false);
        }
        let Some(folder) = self.folder.open_folder(name)? else { return Ok(false) };
        if folder.entry_type(REPORT)? != Some(FileType::RegularFile) {
            return Ok(false);
        }
        let Some(report) = folder.open_file(REPORT)? else { return Ok(false) };
        let mut head = Vec::new();
        let read = report.take(SIGNATURE_BYTES).read_to_end(&mut head);
        read.map_err(|error| ReportStoreError::failed("read", folder.path(REPORT), error))?;
        Ok(memchr::memmem::find(&head, b"probewatch").is_some())
    }

    fn check_latest(&self) -> Result<(), ReportStoreError> {
        match self.folder.entry_type(LATEST)? {
            None | Some(FileType::Symlink) => Ok(()),
            Some(_) => Err(ReportStoreError::not_a_report(self.folder.path(LATEST), "it should be a link to the latest report")),
        }
    }
}

fn open_folder(dir: &Path, access: Access) -> Result<FolderHandle, ReportStoreError> {
    let made = match mkdir(dir, Mode::RWXU) {
        Err(Errno::EXIST) => false,
        done => done.map(|()| true).map_err(|error| ReportStoreError::failed("make", dir.to_owned(), error))?,
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = match openat(CWD, dir, flags | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP) => {
            trusted_link(dir)?;
            openat(CWD, dir, flags, Mode::empty())
        }
        done => done,
    };
    let failed = |step| move |error: std::io::Error| ReportStoreError::failed(step, dir.to_owned(), error);
    let folder = FolderHandle::new(opened.map_err(|error| failed("open")(error.into()))?, dir.to_owned());
    if made {
        folder.set_access(access).map_err(failed("set the rights of"))?;
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
fn trusted_link(dir: &Path) -> Result<(), ReportStoreError> {
    match statat(CWD, dir, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(link) if FileType::from_raw_mode(link.st_mode).is_symlink() && ![geteuid().as_raw(), 0].contains(&link.st_uid) => {
            Err(ReportStoreError::in_the_way(dir.to_owned(), "it is a symbolic link of another user", "name the folder it leads to"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
