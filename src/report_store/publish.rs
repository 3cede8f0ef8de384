//! Publishes committed runs, removes what was not committed, and replaces `index.html`.
//!
//! Every step can be repeated, and `.run-N.tmp` alone shows which steps were done: a new folder
//! that is still in it is not published. So nothing in it is removed. When all folders are in place
//! and synced, it is renamed to `.gone-.run-N.tmp` as a whole, and that is synced. Only what has a
//! name with `.gone-` is emptied, and nothing is decided from what is left there.
//!
//! A folder that replaces another is swapped with it atomically where the system supports that, so
//! readers always find one of them. Before and after the swap, a folder of the same name is in
//! `.run-N.tmp`. To find out which one it is, the new `report.json` has a second name, `.new-DAY`,
//! from before the commit on. Without hard links that is an empty file, and the folders are
//! replaced in two steps instead.
//!
//! The content of `index.html` is the caller's. A file of that name that is not an index of reports
//! is neither replaced nor removed.

use rustix::fs::FileType;

use super::disk::FolderHandle;
use super::name::{ReportDirName, replacement_name, staging_name};
use super::{
    LATEST, NEW_OWNER, REPORT, ReportStore, ReportStoreError, Run, SIGNATURE_BYTES, is_report,
};

/// The prefix of a replaced folder in `.run-N.tmp`.
const REPLACED_PREFIX: &str = ".old-";

/// The prefix of a folder that is being removed.
const REMOVED_PREFIX: &str = ".gone-";

/// Ends a name with one of these prefixes if the name without it exists.
const NEXT: char = '+';

/// The index of reports.
const INDEX_FILE: &str = "index.html";
/// The name of the index while it is written.
pub(super) const NEW_INDEX: &str = ".index.html.tmp";
/// What the first bytes of an index contain.
const INDEX_SIGNATURE: &[u8] = b"<meta name=\"generator\" content=\"probewatch ";

impl ReportStore {
    /// Moves the folders of a committed run to their final names and updates `latest`. If it fails
    /// half way, the next [`recover`](Self::recover) does the rest.
    ///
    /// # Errors
    ///
    /// Something is in the way, the folders were removed, or a system call failed.
    pub(crate) fn publish(&self, run: &Run) -> Result<(), ReportStoreError> {
        self.move_into_place(run)?;
        for name in &run.folders {
            if self.folder.entry_type(name)? != Some(FileType::Directory) {
                return Err(ReportStoreError::Lost {
                    path: self.folder.path(name),
                });
            }
        }
        Ok(())
    }

    /// Finishes what an earlier run left: publishes the folders of the run that the state contains,
    /// and removes everything else that runs left. Call it first, with the state as it is on disk.
    /// Published folders that were removed since are ignored.
    ///
    /// # Errors
    ///
    /// Something is in the way, or a system call failed. The next call continues.
    pub(crate) fn recover(&self, committed: Option<&Run>) -> Result<(), ReportStoreError> {
        if let Some(run) = committed {
            self.move_into_place(run)?;
        }
        let mut removed = Vec::new();
        for name in self
            .folder
            .names()?
            .into_iter()
            .filter_map(|name| name.into_string().ok())
        {
            if is_staging(&name) {
                self.rollback(&name)?;
                removed.push(name);
            } else if is_removed(&name) {
                removed.push(name);
            } else if name == NEW_OWNER || name == NEW_INDEX {
                self.folder.remove(&name)?;
            }
        }
        self.discard(&removed)
    }

    /// Removes folders under names with `.gone-`: the rename makes a folder disappear in one step,
    /// for readers and for later runs. It is synced first, so that no power cut brings back a
    /// folder that was emptied in part.
    pub(super) fn discard(&self, names: &[String]) -> Result<(), ReportStoreError> {
        let mut gone = Vec::with_capacity(names.len());
        for name in names {
            if is_removed(name) {
                gone.push(name.clone());
                continue;
            }
            let removed = free_name(&self.folder, REMOVED_PREFIX, name)?;
            self.folder.rename(name, &self.folder, &removed)?;
            gone.push(removed);
        }
        if gone.is_empty() {
            return Ok(());
        }
        self.folder.sync()?;
        gone.iter().try_for_each(|name| self.remove_or_defer(name))
    }

    /// Removes a folder that readers may still have open. Over a network that may fail; then the
    /// next run tries again.
    fn remove_or_defer(&self, name: &str) -> Result<(), ReportStoreError> {
        match self.folder.remove(name) {
            Err(error) if error.is_busy() => Ok(()),
            done => done,
        }
    }

    fn move_into_place(&self, run: &Run) -> Result<(), ReportStoreError> {
        let name = staging_name(run.number);
        let Some(staging_folder) = self.folder.open_folder(&name)? else {
            return Ok(());
        };
        for folder in &run.folders {
            self.move_folder_into_place(&staging_folder, folder)?;
        }
        if staging_folder.entry_type(LATEST)?.is_some() {
            self.check_latest()?;
            staging_folder.rename(LATEST, &self.folder, LATEST)?;
        }
        // The new names first, so that a power cut leaves a folder under two names rather than
        // none.
        self.folder.sync()?;
        staging_folder.sync()?;
        self.discard(&[name])
    }

    fn move_folder_into_place(
        &self,
        staging_folder: &FolderHandle,
        name: &str,
    ) -> Result<(), ReportStoreError> {
        let parsed = self.parse_name(name)?;
        if !is_pending(staging_folder, name)? {
            return Ok(());
        }
        match self.folder.entry_type(name)? {
            None => staging_folder.rename(name, &self.folder, name),
            Some(FileType::Directory) if !parsed.is_run() => self.replace(staging_folder, name),
            Some(_) => Err(ReportStoreError::not_a_report(
                self.folder.path(name),
                "a finished report belongs there",
            )),
        }
    }

    /// Replaces a published folder by one from `staging_folder`. If they cannot be swapped, no
    /// folder exists for an instant.
    fn replace(&self, staging_folder: &FolderHandle, name: &str) -> Result<(), ReportStoreError> {
        let can_tell_apart = staging_folder
            .size(&replacement_name(name))?
            .is_some_and(|bytes| bytes > 0);
        if can_tell_apart && staging_folder.exchange(name, &self.folder)? {
            return Ok(());
        }
        let old = free_name(staging_folder, REPLACED_PREFIX, name)?;
        self.folder.rename(name, staging_folder, &old)?;
        staging_folder.rename(name, &self.folder, name)
    }

    /// Moves replaced folders back if no state contains the run that replaced them, as after a
    /// reset of the state.
    fn rollback(&self, staging_folder: &str) -> Result<(), ReportStoreError> {
        if self.folder.entry_type(staging_folder)? != Some(FileType::Directory) {
            return Ok(());
        }
        let Some(staging_folder) = self.folder.open_folder(staging_folder)? else {
            return Ok(());
        };
        let mut moved = false;
        for old in staging_folder
            .names()?
            .into_iter()
            .filter_map(|name| name.into_string().ok())
        {
            let Some(name) = old
                .strip_prefix(REPLACED_PREFIX)
                .filter(|name| ReportDirName::parse(name).is_some())
            else {
                continue;
            };
            if self.folder.entry_type(name)?.is_none() && is_report(&staging_folder, &old)? {
                staging_folder.rename(&old, &self.folder, name)?;
                moved = true;
            }
        }
        // The new names first, as above.
        if moved {
            self.folder.sync().and_then(|()| staging_folder.sync())
        } else {
            Ok(())
        }
    }
}

/// Whether a folder in `.run-N.tmp` is not published yet. After a swap, the folder of that name
/// there is the replaced one.
fn is_pending(staging_folder: &FolderHandle, name: &str) -> Result<bool, ReportStoreError> {
    let Some(there) = staging_folder.open_folder(name)? else {
        return Ok(false);
    };
    let second = replacement_name(name);
    match staging_folder.size(&second)? {
        // Not swapped: that needs a second name with the content of the report.
        None | Some(0) => Ok(true),
        Some(_) => staging_folder.is_same_file(&second, &there, REPORT),
    }
}

/// A name with this prefix that does not exist in the folder.
fn free_name(folder: &FolderHandle, prefix: &str, name: &str) -> Result<String, ReportStoreError> {
    let mut free = format!("{prefix}{name}");
    while folder.entry_type(&free)?.is_some() {
        free.push(NEXT);
    }
    Ok(free)
}

/// Whether a name is that of a folder that is being removed.
fn is_removed(name: &str) -> bool {
    let name = name
        .strip_prefix(REMOVED_PREFIX)
        .map(|name| name.trim_end_matches(NEXT));
    name.is_some_and(|name| is_staging(name) || ReportDirName::parse(name).is_some())
}

/// Whether a name is `.run-N.tmp`.
fn is_staging(name: &str) -> bool {
    let number = name
        .strip_prefix(".run-")
        .and_then(|rest| rest.strip_suffix(".tmp"));
    number
        .and_then(|number| number.parse().ok())
        .is_some_and(|number: u64| staging_name(number) == name)
}

impl ReportStore {
    /// Checks that the index can be replaced, before anything is written.
    ///
    /// # Errors
    ///
    /// Something else has its name.
    pub(crate) fn check_index(&self) -> Result<(), ReportStoreError> {
        let in_the_way = |what| {
            Err(ReportStoreError::not_a_report(
                self.folder.path(INDEX_FILE),
                what,
            ))
        };
        match self.folder.entry_type(INDEX_FILE)? {
            None => return Ok(()),
            Some(FileType::RegularFile) => {}
            Some(_) => {
                return in_the_way("the index of reports belongs there, and it is not a file");
            }
        }
        let head = self
            .folder
            .read_start(INDEX_FILE, SIGNATURE_BYTES * 8)?
            .unwrap_or_default();
        if memchr::memmem::find(&head, INDEX_SIGNATURE).is_none() {
            return in_the_way("the index of reports belongs there, and it is another page");
        }
        Ok(())
    }

    /// The names of all report folders, the newest first.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub(crate) fn reports(&self) -> Result<Vec<String>, ReportStoreError> {
        let mut folders = self.report_folders()?;
        folders.sort_unstable_by(|(_, a), (_, b)| b.cmp(a));
        let mut names = Vec::with_capacity(folders.len());
        for (name, _) in folders {
            if is_report(&self.folder, &name)? {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Replaces the index: a reader finds the old one or the new one. Does nothing if it has this
    /// content already.
    ///
    /// # Errors
    ///
    /// Something else has its name, or a system call failed. The next call does it.
    pub(crate) fn replace_index(&self, content: &[u8]) -> Result<(), ReportStoreError> {
        self.check_index()?;
        if self
            .folder
            .read_start(INDEX_FILE, content.len() as u64 + 1)?
            .is_some_and(|there| there == content)
        {
            return Ok(());
        }
        self.folder
            .replace_file(NEW_INDEX, INDEX_FILE, content, self.access)?;
        self.folder.sync()
    }
}
