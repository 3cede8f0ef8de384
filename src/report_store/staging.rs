//! The folders of a run while they are written: in `.run-N.tmp`, where only their owner sees them.
//!
//! Nothing here takes a place that readers look at. Whatever goes wrong, or is left half done, there is no [`Run`] to
//! commit.

use std::io::{self, BufWriter, Write};

use rustix::fs::FileType;

use super::disk::{FolderHandle, NewFile};
use super::disk::{PendingSync, sync_all};
use super::name::ReportDirName;
use super::publish::replacement_name;
use super::{Access, LATEST, REPORT, ReportStore, ReportStoreError, Run};

/// Bytes held back before a write: reports are made of small pieces.
const BUFFER: usize = 64 * 1024;

/// Files and folders that are held open until all of them are made to last.
const MAX_PENDING_SYNCS: usize = 64;

/// The folders of one run. Dropped before [`finish`](Self::finish), they are removed.
#[derive(Debug)]
pub struct Staging<'a> {
    store: &'a ReportStore,
    run: u64,
    /// `.run-N.tmp`.
    staging_folder: FolderHandle,
    /// The folder that files go to.
    current: Option<FolderHandle>,
    folders: Vec<String>,
    /// Files that were begun and not completed.
    unfinished: usize,
    /// Files and folders that are complete, and perhaps not on disk.
    pending_syncs: Vec<PendingSync>,
    finished: bool,
}

/// A file of a folder. It is complete after [`done`](Self::done) only, and on disk when all of them are.
#[derive(Debug)]
pub struct StagedFile<'s> {
    out: BufWriter<NewFile>,
    folder: &'s FolderHandle,
    name: String,
    unfinished: &'s mut usize,
    pending_syncs: &'s mut Vec<PendingSync>,
}

/// What the folder of a run is called until it has its place.
pub(super) fn staging_name(run: u64) -> String {
    format!(".run-{run}.tmp")
}

impl ReportStore {
    /// Begins the folders of a run. To be called after [`recover`](Self::settle).
    ///
    /// # Errors
    ///
    /// The folder cannot be made, or not given to the group.
    pub fn stage(&self, run: u64) -> Result<Staging<'_>, ReportStoreError> {
        self.record_owner()?;
        // Given to the group so that one that is refused is heard of at once; the rights are the owner's alone.
        let staging_folder = self.folder.create_folder(&staging_name(run), Access { mode: 0o600, group: self.access.group })?;
        Ok(Staging {
            store: self,
            run,
            staging_folder,
            current: None,
            folders: Vec::new(),
            unfinished: 0,
            pending_syncs: Vec::new(),
            finished: false,
        })
    }

    /// The folder that `latest` should lead to once these have their places: a run's own, or the latest of the periods.
    fn latest_with(&self, folders: &[String]) -> Result<Option<String>, ReportStoreError> {
        let known = |name: &String| ReportDirName::parse(name).map(|parsed| (parsed, name.clone()));
        let Some((last, name)) = folders.iter().filter_map(known).max() else { return Ok(None) };
        if last.is_run() {
            return Ok(Some(name));
        }
        let there = self.report_folders()?.into_iter().filter(|(_, there)| there.is_same_kind(last)).map(|(name, parsed)| (parsed, name));
        let mut latest = (last, name);
        for candidate in there.filter(|(parsed, _)| *parsed > last) {
            if candidate > latest && self.is_report(&candidate.1)? {
                latest = candidate;
            }
        }
        Ok(Some(latest.1))
    }
}

impl Staging<'_> {
    /// Begins a folder; files go there from now on. One of a period that is there already will be replaced.
    ///
    /// # Errors
    ///
    /// The name is none of ours, has been used, or leads to something that no report of ours may replace; or the folder
    /// cannot be made.
    pub fn folder(&mut self, name: &str) -> Result<(), ReportStoreError> {
        let parsed = self.store.parse_name(name)?;
        let there = self.store.folder.entry_type(name)?;
        let is_replaceable = there == Some(FileType::Directory) && !parsed.is_run() && self.store.is_report(name)?;
        if there.is_some() && !is_replaceable {
            let what =
                if parsed.is_run() { "there is such a run already" } else { "it is no folder of reports, or its report.json is gone" };
            return Err(ReportStoreError::not_a_report(self.store.folder.path(name), what));
        }
        self.close_current()?;
        self.current = Some(self.staging_folder.create_folder(name, self.store.access)?);
        self.folders.push(name.to_owned());
        Ok(())
    }

    /// Begins a file in the folder that was begun last.
    ///
    /// # Errors
    ///
    /// There is no folder, or the file is there already or cannot be made.
    pub fn file(&mut self, name: &str) -> Result<StagedFile<'_>, ReportStoreError> {
        let Some(folder) = &self.current else { return Err(ReportStoreError::vanished(&self.staging_folder.path(name))) };
        let file = folder.create_file(name, self.store.access)?;
        self.unfinished += 1;
        let (unfinished, pending_syncs) = (&mut self.unfinished, &mut self.pending_syncs);
        Ok(StagedFile { out: BufWriter::with_capacity(BUFFER, file), folder, name: name.to_owned(), unfinished, pending_syncs })
    }

    /// Makes everything last. What is returned is to be committed: written to a state, on disk. Until then a
    /// [`recover`](Archive::settle) with the run that was committed last takes it all away.
    ///
    /// # Errors
    ///
    /// A file was not completed, something of it was removed meanwhile, or the system refuses.
    pub fn finish(mut self) -> Result<Run, ReportStoreError> {
        self.close_current()?;
        sync_all(&self.pending_syncs, self.store.sync_threads)?;
        if let Some(latest) = self.store.latest_with(&self.folders)? {
            self.staging_folder.create_symlink(&latest, LATEST)?;
        }
        self.staging_folder.sync()?;
        for name in &self.folders {
            if self.staging_folder.entry_type(name)? != Some(FileType::Directory) {
                return Err(ReportStoreError::vanished(&self.staging_folder.path(name)));
            }
        }
        let out = &self.store.folder;
        if !out.refers_to(&staging_name(self.run), self.staging_folder.fd())? {
            return Err(ReportStoreError::vanished(&self.staging_folder.path("")));
        }
        out.sync()?;
        self.finished = true;
        Ok(Run { number: self.run, folders: std::mem::take(&mut self.folders) })
    }

    fn close_current(&mut self) -> Result<(), ReportStoreError> {
        let Some(folder) = self.current.take() else { return Ok(()) };
        if self.unfinished > 0 || folder.entry_type(REPORT)? != Some(FileType::RegularFile) {
            let what = "its files were not completed";
            return Err(ReportStoreError::in_the_way(folder.path(""), what, "run it again"));
        }
        if let Some(name) = self.folders.last()
            && self.store.folder.entry_type(name)?.is_some()
        {
            folder.hard_link(REPORT, &self.staging_folder, &replacement_name(name))?;
        }
        self.pending_syncs.push(folder.into_pending_sync());
        if self.pending_syncs.len() >= MAX_PENDING_SYNCS {
            sync_all(&self.pending_syncs, self.store.sync_threads)?;
            self.pending_syncs.clear();
        }
        Ok(())
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // The next run would remove it too.
            let _ = self.store.folder.remove(&staging_name(self.run));
        }
    }
}

impl StagedFile<'_> {
    /// Completes the file.
    ///
    /// # Errors
    ///
    /// It cannot be written, or was removed meanwhile.
    pub fn finish(mut self) -> Result<(), ReportStoreError> {
        self.out.flush().map_err(|error| self.explain(error))?;
        if !self.folder.refers_to(&self.name, self.out.get_ref().fd())? {
            return Err(ReportStoreError::vanished(&self.folder.path(&self.name)));
        }
        // Nothing is left in the buffer.
        self.pending_syncs.push(self.out.into_parts().0.into_pending_sync());
        *self.unfinished -= 1;
        Ok(())
    }

    /// Names the file and what to do about a failed write to it.
    #[must_use]
    pub fn explain(&self, error: io::Error) -> ReportStoreError {
        ReportStoreError::failed("write", self.folder.path(&self.name), error)
    }
}

impl Write for StagedFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
