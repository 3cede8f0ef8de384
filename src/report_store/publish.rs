//! From committed to visible: folders take their places, what they replace goes, and what no run committed goes too.
//!
//! Every step can be done again, and the disk alone tells which were done: a folder that still lies in `.run-N.tmp` has
//! not got its place. Nothing is removed before what takes its place is on disk.
//!
//! A folder that replaces another changes places with it in one step, where the system can do that: whoever looks finds
//! the one or the other. Then one of them lies in `.run-N.tmp` before and after, under the same name. Which of them it is,
//! a second name of the new one's report tells, which was on disk before.

use std::time::SystemTime;

use rustix::fs::FileType;

use super::disk::FolderHandle;
use super::name::ReportDirName;
use super::owner::NEW_OWNER;
use super::staging::staging_name;
use super::{LATEST, REPORT, ReportStore, ReportStoreError, Retention, Run};

/// What stands before the name of a folder that another replaced, in `.run-N.tmp`.
const REPLACED_PREFIX: &str = ".old-";

/// What stands before the name of a folder that is to replace another, in `.run-N.tmp`: the second name of its report.
const REPLACEMENT_PREFIX: &str = ".new-";

/// What stands before the name of a folder that is being removed.
const REMOVED_PREFIX: &str = ".gone-";

impl ReportStore {
    /// Puts the folders of a run that was committed in their places, and makes `latest` lead there. Fails half way? Then
    /// the next [`recover`](Self::settle) does the rest.
    ///
    /// # Errors
    ///
    /// Something is in the way, the folders are gone, or the system refuses.
    pub fn publish(&self, run: &Run) -> Result<(), ReportStoreError> {
        self.move_into_place(run)?;
        for name in &run.folders {
            if self.folder.entry_type(name)? != Some(FileType::Directory) {
                return Err(ReportStoreError::Lost { path: self.folder.path(name) });
            }
        }
        Ok(())
    }

    /// Finishes what the run before left: puts the folders of the one that was committed last in their places, as the
    /// state knows it, and removes whatever else a run left. To be called before anything else, with the state as it is
    /// on disk. Folders that somebody removed since are not missed.
    ///
    /// # Errors
    ///
    /// Something is in the way, or the system refuses; the next call goes on.
    pub fn recover(&self, committed: Option<&Run>) -> Result<(), ReportStoreError> {
        if let Some(run) = committed {
            self.move_into_place(run)?;
        }
        for name in self.folder.names()?.into_iter().filter_map(|name| name.into_string().ok()) {
            if is_staging(&name) {
                self.rollback(&name)?;
                self.folder.remove(&name)?;
            } else if name.strip_prefix(REMOVED_PREFIX).is_some_and(|name| ReportDirName::parse(name).is_some()) {
                self.remove_or_defer(&name)?;
            } else if name == NEW_OWNER {
                self.folder.remove(&name)?;
            }
        }
        Ok(())
    }

    /// Removes what readers may still have open, which over a network is no instant matter: the next run tries again.
    pub(super) fn remove_or_defer(&self, name: &str) -> Result<(), ReportStoreError> {
        match self.folder.remove(name) {
            Err(error) if error.is_busy() => Ok(()),
            done => done,
        }
    }

    fn move_into_place(&self, run: &Run) -> Result<(), ReportStoreError> {
        let name = staging_name(run.number);
        let Some(staging_folder) = self.folder.open_folder(&name)? else { return Ok(()) };
        for folder in &run.folders {
            self.move_folder_into_place(&staging_folder, folder)?;
        }
        if staging_folder.entry_type(LATEST)?.is_some() {
            self.check_latest()?;
            staging_folder.rename(LATEST, &self.folder, LATEST)?;
        }
        // The new names first: a power cut then leaves a folder under two names rather than under none.
        self.folder.sync()?;
        staging_folder.sync()?;
        self.folder.remove(&name)
    }

    fn move_folder_into_place(&self, staging_folder: &FolderHandle, name: &str) -> Result<(), ReportStoreError> {
        let parsed = self.parse_name(name)?;
        if !is_pending(staging_folder, name)? {
            return Ok(());
        }
        match self.folder.entry_type(name)? {
            None => staging_folder.rename(name, &self.folder, name),
            Some(FileType::Directory) if !parsed.is_run() => self.replace(staging_folder, name),
            Some(_) => Err(ReportStoreError::not_a_report(self.folder.path(name), "it has the place of a report that is ready")),
        }
    }

    /// Puts a folder of `staging_folder` in the place of another. Where that takes two steps, there is none for an instant.
    fn replace(&self, staging_folder: &FolderHandle, name: &str) -> Result<(), ReportStoreError> {
        if staging_folder.entry_type(&replacement_name(name))?.is_some() && staging_folder.exchange(name, &self.folder)? {
            return Ok(());
        }
        let old = format!("{REPLACED_PREFIX}{name}");
        // Of an earlier attempt, after which somebody put another folder there.
        staging_folder.remove(&old)?;
        self.folder.rename(name, staging_folder, &old)?;
        staging_folder.rename(name, &self.folder, name)
    }

    /// Gives folders back that were about to be replaced by a run of which no state knows any more: whoever reset the
    /// state did not mean them.
    fn rollback(&self, staging_folder: &str) -> Result<(), ReportStoreError> {
        if self.folder.entry_type(staging_folder)? != Some(FileType::Directory) {
            return Ok(());
        }
        let Some(staging_folder) = self.folder.open_folder(staging_folder)? else { return Ok(()) };
        let mut moved = false;
        for old in staging_folder.names()?.into_iter().filter_map(|name| name.into_string().ok()) {
            let Some(name) = old.strip_prefix(REPLACED_PREFIX).filter(|name| ReportDirName::parse(name).is_some()) else { continue };
            if self.folder.entry_type(name)?.is_none() {
                staging_folder.rename(&old, &self.folder, name)?;
                moved = true;
            }
        }
        // As with new ones, before what is left here is removed.
        if moved { self.folder.sync().and_then(|()| staging_folder.sync()) } else { Ok(()) }
    }
}

impl ReportStore {
    /// Removes the folders that need not be kept. Returns how many. By names and the given time alone: what was copied
    /// or touched is as old as before.
    ///
    /// # Errors
    ///
    /// A folder cannot be read or removed; those before it are gone.
    pub fn prune(&self, keep: Retention, now: SystemTime) -> Result<usize, ReportStoreError> {
        let mut report_folders = self.report_folders()?;
        report_folders.sort_unstable_by(|(_, a), (_, b)| b.cmp(a));
        let latest = self.folder.symlink_target(LATEST);
        // Kind by kind, and of each the latest first.
        let (mut before, mut rank, mut removed): (Option<ReportDirName>, usize, usize) = (None, 0, 0);
        for (name, parsed) in report_folders {
            if !self.is_report(&name)? {
                continue;
            }
            rank = if before.replace(parsed).is_some_and(|other| other.is_same_kind(parsed)) { rank + 1 } else { 0 };
            let is_kept = keep.runs.is_none_or(|runs| rank < runs) && keep.age.is_none_or(|age| parsed.age(now) < age);
            if is_kept || latest.as_deref() == Some(&name) {
                continue;
            }
            self.remove_report(&name)?;
            removed += 1;
        }
        Ok(removed)
    }

    /// In one step for whoever looks: there, or not.
    fn remove_report(&self, name: &str) -> Result<(), ReportStoreError> {
        let gone = format!("{REMOVED_PREFIX}{name}");
        self.folder.remove(&gone)?;
        self.folder.rename(name, &self.folder, &gone)?;
        self.remove_or_defer(&gone)
    }
}

/// The name by which the report of a folder in `.run-N.tmp` is known again when that has changed places with another.
pub(super) fn replacement_name(folder: &str) -> String {
    format!("{REPLACEMENT_PREFIX}{folder}")
}

/// Whether a folder in `.run-N.tmp` has not got its place; what lies there under its name may be what it replaced.
fn is_pending(staging_folder: &FolderHandle, name: &str) -> Result<bool, ReportStoreError> {
    let Some(there) = staging_folder.open_folder(name)? else { return Ok(false) };
    let second = replacement_name(name);
    Ok(staging_folder.entry_type(&second)?.is_none() || staging_folder.is_same_file(&second, &there, REPORT)?)
}

/// `.run-N.tmp`, exactly as it is written.
fn is_staging(name: &str) -> bool {
    let number = name.strip_prefix(".run-").and_then(|rest| rest.strip_suffix(".tmp"));
    number.and_then(|number| number.parse().ok()).is_some_and(|number: u64| staging_name(number) == name)
}
