//! The folder of `--out`: report folders that appear complete or not at all, the link to the latest
//! report, and retention.
//!
//! A run writes its folders to `.run-N.tmp` ([`Staging`]) and syncs them. Then the caller commits
//! the run by saving a state that says that run N was the last one. Only then are the folders moved
//! to their final names ([`ReportStore::publish`]). If a run is interrupted at any point, by a
//! signal or a power cut, the next run reads from the state what was committed, and publishes it or
//! removes it ([`ReportStore::recover`]).
//!
//! All paths are relative to the open folder, which one run locks at a time. No symbolic link in it
//! is followed, and only report folders are replaced or removed. The module does not depend on
//! logs, states or the contents of reports, except that `report.json` names its generator.
//!
//! Two states cannot share one `--out` ([`ReportStore::for_state`]): a run of one state would
//! remove what the other has committed but not published, and logs that both read would count twice
//! in the report of a day. The file `.state` contains the inode of the folder and the path of the
//! state file. A copied folder has another inode, so its `.state` does not count.
//!
//! Messages of errors contain paths as they are: pass them through `redact::sanitize` before
//! printing.

mod disk;
mod name;
mod publish;
mod retention;
mod staging;

pub(crate) use name::run_folder_name;
pub(crate) use retention::{Retention, RetentionClock};
pub(crate) use staging::{StagedFile, Staging};

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    Access as Right, AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, accessat, flock, fstat,
    fsync, mkdir, openat, statat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use self::disk::{FolderHandle, SYNC_THREADS};
use self::name::ReportDirName;
use crate::os::system::{errno_message, ignore_sigxfsz};

/// The link to the latest report folder.
const LATEST: &str = "latest";

/// The file that identifies a folder as a report.
const REPORT: &str = "report.json";

/// The first bytes of that file, which contain the name of the generator.
const SIGNATURE_BYTES: u64 = 256;

/// The permissions of the reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    /// The mode of files, such as `0o600`. Whoever may read the files may enter the folder.
    pub mode: u32,
    /// The group of files and folders, if it is not the default one.
    pub group: Option<u32>,
}

impl Access {
    const PRIVATE: Self = Self {
        mode: 0o600,
        group: None,
    };

    fn file_mode(self) -> u32 {
        self.mode & 0o777
    }

    fn folder_mode(self) -> u32 {
        self.file_mode() | (self.file_mode() & 0o444) >> 2 | 0o700
    }
}

/// A run whose folders are complete. It is committed when a saved state contains it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The run's number, from 1.
    pub number: u64,
    /// The names of its folders in `--out`.
    pub folders: Vec<String>,
}

/// The folder of `--out`, locked until this is dropped.
#[derive(Debug)]
pub(crate) struct ReportStore {
    folder: FolderHandle,
    access: Access,
    /// The state file whose runs these are, if the caller named it.
    state: Option<PathBuf>,
    /// How many syncs run at a time.
    sync_threads: usize,
}

impl ReportStore {
    /// Opens and locks the folder, and creates it if its parent exists. Its path may be a symbolic
    /// link owned by this user or root.
    ///
    /// # Errors
    ///
    /// Another run holds the lock; the folder cannot be created or written to; or `latest` exists
    /// and is not a link.
    pub(crate) fn open(dir: &Path, access: Access) -> Result<Self, ReportStoreError> {
        ignore_sigxfsz();
        // A trailing slash would follow a link.
        let dir: PathBuf = dir.components().collect();
        let folder = open_folder(&dir, access)?;
        accessat(
            folder.fd(),
            ".",
            Right::WRITE_OK | Right::EXEC_OK,
            AtFlags::empty(),
        )
        .map_err(|error| ReportStoreError::failed("write to", dir.clone(), error))?;
        // The folder itself is locked, so that no lock file is needed. Some network file systems do
        // not support that.
        if flock(folder.fd(), FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(ReportStoreError::Held { path: dir });
        }
        let store = Self {
            folder,
            access,
            state: None,
            sync_threads: SYNC_THREADS,
        };
        store.check_latest()?;
        Ok(store)
    }

    /// Syncs with one thread: slower, but in a fixed order.
    #[must_use]
    pub(crate) fn single_threaded(self) -> Self {
        Self {
            sync_threads: 1,
            ..self
        }
    }

    /// The greatest number of a run with a folder, or 0. The next run needs a number greater than
    /// this and greater than that of the state, because folders may have been removed and states
    /// reset.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub(crate) fn last_run_number(&self) -> Result<u64, ReportStoreError> {
        let numbers = self.report_folders()?.into_iter().map(|(_, name)| {
            if let ReportDirName::Run { number, .. } = name {
                number
            } else {
                0
            }
        });
        Ok(numbers.max().unwrap_or(0))
    }

    /// Opens a file of a report folder, such as the report of a period to be extended; `None` if
    /// the folder or the file does not exist.
    ///
    /// # Errors
    ///
    /// The name is not a report folder's name; the file or folder is a link or another kind of
    /// entry; or it cannot be read.
    pub(crate) fn open_file(
        &self,
        folder: &str,
        file: &str,
    ) -> Result<Option<File>, ReportStoreError> {
        match self.open_report(folder)? {
            Some(folder) => folder.open_file(file),
            None => Ok(None),
        }
    }

    /// The first `most` bytes of such a file.
    ///
    /// # Errors
    ///
    /// As for [`open_file`](Self::open_file).
    pub(crate) fn read_start(
        &self,
        folder: &str,
        file: &str,
        most: u64,
    ) -> Result<Option<Vec<u8>>, ReportStoreError> {
        match self.open_report(folder)? {
            Some(folder) => folder.read_start(file, most),
            None => Ok(None),
        }
    }

    fn open_report(&self, folder: &str) -> Result<Option<FolderHandle>, ReportStoreError> {
        self.parse_name(folder)?;
        self.folder.open_folder(folder)
    }

    /// All entries with the name of a report folder, with the parsed name.
    fn report_folders(&self) -> Result<Vec<(String, ReportDirName)>, ReportStoreError> {
        let names = self
            .folder
            .names()?
            .into_iter()
            .filter_map(|name| name.into_string().ok());
        Ok(names
            .filter_map(|name| ReportDirName::parse(&name).map(|parsed| (name, parsed)))
            .collect())
    }

    /// Parses the name of a report folder.
    fn parse_name(&self, folder: &str) -> Result<ReportDirName, ReportStoreError> {
        ReportDirName::parse(folder).ok_or_else(|| {
            ReportStoreError::not_a_report(
                self.folder.path(folder),
                "this is not the name of a run or a period",
            )
        })
    }

    fn check_latest(&self) -> Result<(), ReportStoreError> {
        match self.folder.entry_type(LATEST)? {
            None | Some(FileType::Symlink) => Ok(()),
            Some(_) => Err(ReportStoreError::not_a_report(
                self.folder.path(LATEST),
                "it is not a link to the latest report",
            )),
        }
    }
}

/// Whether an entry of this folder is a report.
fn is_report(parent: &FolderHandle, name: &str) -> Result<bool, ReportStoreError> {
    if parent.entry_type(name)? != Some(FileType::Directory) {
        return Ok(false);
    }
    let Some(folder) = parent.open_folder(name)? else {
        return Ok(false);
    };
    if folder.entry_type(REPORT)? != Some(FileType::RegularFile) {
        return Ok(false);
    }
    let head = folder.read_start(REPORT, SIGNATURE_BYTES)?;
    Ok(head.is_some_and(|head| memchr::memmem::find(&head, b"probewatch").is_some()))
}

fn open_folder(dir: &Path, access: Access) -> Result<FolderHandle, ReportStoreError> {
    let made = match mkdir(dir, Mode::RWXU) {
        Err(Errno::EXIST) => false,
        done => done
            .map(|()| true)
            .map_err(|error| ReportStoreError::failed("make", dir.to_owned(), error))?,
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = match openat(CWD, dir, flags | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP) => {
            trusted_link(dir)?;
            openat(CWD, dir, flags, Mode::empty())
        }
        done => done,
    };
    let failed =
        |step| move |error: io::Error| ReportStoreError::failed(step, dir.to_owned(), error);
    let folder = FolderHandle::new(
        opened.map_err(|error| failed("open")(error.into()))?,
        dir.to_owned(),
    );
    if made {
        folder
            .set_access(access)
            .map_err(failed("set the rights of"))?;
        // A power cut must not undo the creation of the folder after reports in it were committed.
        if let Ok(above) = openat(folder.fd(), "..", flags, Mode::empty()) {
            match fsync(&above) {
                Err(Errno::INVAL | Errno::NOTSUP) => {}
                done => done.map_err(|error| failed("make")(error.into()))?,
            }
        }
    }
    Ok(folder)
}

/// A link of another user could point anywhere.
fn trusted_link(dir: &Path) -> Result<(), ReportStoreError> {
    match statat(CWD, dir, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(link)
            if FileType::from_raw_mode(link.st_mode).is_symlink()
                && ![geteuid().as_raw(), 0].contains(&link.st_uid) =>
        {
            Err(ReportStoreError::in_the_way(
                dir.to_owned(),
                "it is a symbolic link of another user",
                "name the folder it leads to",
            ))
        }
        _ => Ok(()),
    }
}

/// The file that names the state.
const OWNER: &str = ".state";

/// Its name while it is written.
const NEW_OWNER: &str = ".state.tmp";

/// The longest inode and path together.
const MAX_OWNER_BYTES: u64 = 4096 + 32;

impl ReportStore {
    /// Opens the store for a state, whose file has this absolute path and may not exist yet. Call
    /// it before [`recover`](Self::recover). The folder belongs to the state from the next
    /// [`stage`](Self::stage) on.
    ///
    /// # Errors
    ///
    /// The folder belongs to another state whose file exists.
    pub(crate) fn for_state(self, state: PathBuf) -> Result<Self, ReportStoreError> {
        match self
            .owner()?
            .filter(|owner| *owner != state && is_there(owner))
        {
            Some(owner) => Err(ReportStoreError::Shared {
                path: self.folder.path(OWNER),
                owner,
            }),
            None => Ok(Self {
                state: Some(state),
                ..self
            }),
        }
    }

    /// The path of the state that the folder belongs to; `None` if unknown.
    fn owner(&self) -> Result<Option<PathBuf>, ReportStoreError> {
        let Some(text) = self.folder.read_start(OWNER, MAX_OWNER_BYTES)? else {
            return Ok(None);
        };
        let path = text
            .strip_prefix(self.inode_line()?.as_bytes())
            .filter(|path| !path.is_empty());
        Ok(path.map(|path| OsStr::from_bytes(path).into()))
    }

    /// The line before the path.
    fn inode_line(&self) -> Result<String, ReportStoreError> {
        let stat = fstat(self.folder.fd())
            .map_err(|error| ReportStoreError::failed("look at", self.folder.path(OWNER), error))?;
        Ok(format!("{}\n", stat.st_ino))
    }

    /// Records the owner, before any run is committed: [`Staging::finish`](Staging::finish) syncs
    /// the folder.
    fn record_owner(&self) -> Result<(), ReportStoreError> {
        let Some(state) = &self.state else {
            return Ok(());
        };
        if self.owner()?.as_ref() == Some(state) {
            return Ok(());
        }
        let content = [self.inode_line()?.as_bytes(), state.as_os_str().as_bytes()].concat();
        self.folder
            .replace_file(NEW_OWNER, OWNER, &content, Access::PRIVATE)
    }
}

/// Whether a state file exists. One that this user may not access counts as existing.
fn is_there(state: &Path) -> bool {
    let gone = |kind| matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory);
    !state
        .symlink_metadata()
        .is_err_and(|error| gone(error.kind()))
}

/// An error about the folder of `--out`. The exit code is 4, except for [`Held`](Self::Held) and
/// [`Shared`](Self::Shared).
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReportStoreError {
    /// A run with another state writes to the folder; the exit code is 5.
    #[error("{}: another run writes to this folder; wait for its end, and give every --state an --out of its own", path.display())]
    Held {
        /// The folder of `--out`.
        path: PathBuf,
    },
    /// The folder belongs to another state; the exit code is 2.
    #[error(
        "{}: the state {} reports to this folder; give every --state an --out of its own, or delete this file if that state is no longer used",
        path.display(),
        owner.display()
    )]
    Shared {
        /// The file in the folder of `--out` that names the other state.
        path: PathBuf,
        /// The other state's file.
        owner: PathBuf,
    },
    /// Something exists where a report belongs. It was not touched.
    #[error("{}: {what}; {advice}", path.display())]
    InTheWay {
        /// The path.
        path: PathBuf,
        /// What exists there.
        what: &'static str,
        /// What to do about it.
        advice: Cow<'static, str>,
    },
    /// A run was committed, but its reports were removed before they were published.
    #[error("{}: removed during the run; its lines are counted as reported, and only --reset reads them again", path.display())]
    Lost {
        /// The missing folder.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("cannot {step} {}: {}; {}", path.display(), errno_message(error), advice(error.kind()))]
    Failed {
        /// The operation, such as `write`.
        step: &'static str,
        /// The path of the operation.
        path: PathBuf,
        /// The system's error. It is part of the message, and so not a `source`.
        error: io::Error,
    },
}

impl ReportStoreError {
    fn failed(step: &'static str, path: PathBuf, error: impl Into<io::Error>) -> Self {
        Self::Failed {
            step,
            path,
            error: error.into(),
        }
    }

    fn in_the_way(path: PathBuf, what: &'static str, advice: impl Into<Cow<'static, str>>) -> Self {
        Self::InTheWay {
            path,
            what,
            advice: advice.into(),
        }
    }

    /// Something that is not a report has the name of one.
    fn not_a_report(path: PathBuf, what: &'static str) -> Self {
        Self::in_the_way(path, what, "move it away or choose another --out")
    }

    /// Something that this run created was removed by another process.
    fn vanished(path: &Path) -> Self {
        Self::failed(
            "write",
            path.to_owned(),
            io::Error::new(ErrorKind::NotFound, "it was removed during the run"),
        )
    }

    /// The folder cannot be emptied now, because another process writes to it or reads from it over
    /// a network.
    fn is_busy(&self) -> bool {
        matches!(self, Self::Failed { error, .. } if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::ResourceBusy))
    }
}

fn advice(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space or choose another --out"
        }
        ErrorKind::FileTooLarge => "raise the file size limit (ulimit -f)",
        ErrorKind::NotFound => "make the folder first or choose another --out",
        ErrorKind::PermissionDenied => {
            "choose an --out that is yours to write to, and a --group you belong to"
        }
        ErrorKind::ReadOnlyFilesystem => "choose an --out that may be written to",
        ErrorKind::CrossesDevices | ErrorKind::ResourceBusy => {
            "move it away or unmount it: what is in --out must lie on one file system"
        }
        _ => "choose another --out",
    }
}

#[cfg(test)]
mod tests;
