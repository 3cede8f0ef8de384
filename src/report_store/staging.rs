//! The folders of a run while they are written: in `.run-N.tmp`, which only the owner may enter.
//!
//! Nothing here changes what readers see. After any failure there is no [`Run`] to commit.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use rustix::fs::FileType;

use super::disk::{FolderHandle, NewFile, PendingSync, sync_all};
use super::name::{ReportDirName, replacement_name, staging_name};
use super::{Access, LATEST, REPORT, ReportStore, ReportStoreError, Run, is_report};

/// The size of the write buffer.
const BUFFER: usize = 64 * 1024;

/// The files of a report folder.
const REPORT_FILES: [&str; 9] = [
    REPORT,
    "answered.csv",
    "clients.csv",
    "new.csv",
    "pairs.csv",
    "paths.csv",
    "report.html",
    "rules.csv",
    "summary.txt",
];

/// Ends the name of what is left of a report. It is not the name of a report folder, so nothing
/// else is done with it.
const REMAINS_SUFFIX: &str = ".incomplete";

/// How many written files and folders may be open before they are synced.
const MAX_PENDING_SYNCS: usize = 64;

/// The folders of one run. They are removed if it is dropped before [`finish`](Self::finish).
#[derive(Debug)]
pub(crate) struct Staging<'a> {
    store: &'a ReportStore,
    run: u64,
    /// `.run-N.tmp`.
    folder: FolderHandle,
    /// The folder of new files.
    current: Option<FolderHandle>,
    folders: Vec<String>,
    /// Number of files that were created and not finished.
    unfinished: usize,
    /// Files and folders that are finished but maybe not on disk.
    pending_syncs: Vec<PendingSync>,
    finished: bool,
}

/// A file in a staged folder. It is complete after [`finish`](Self::finish), and on disk after
/// [`Staging::finish`].
#[derive(Debug)]
pub(crate) struct StagedFile<'s> {
    out: BufWriter<NewFile>,
    folder: &'s FolderHandle,
    name: String,
    unfinished: &'s mut usize,
    pending_syncs: &'s mut Vec<PendingSync>,
}

impl ReportStore {
    /// Starts a run. Call it after [`recover`](Self::recover).
    ///
    /// # Errors
    ///
    /// The folder cannot be created, or its group cannot be set.
    pub(crate) fn stage(&self, run: u64) -> Result<Staging<'_>, ReportStoreError> {
        self.record_owner()?;
        // The group is set now so that an error shows early; the mode gives access to the owner
        // only.
        let staging_folder = self.folder.create_folder(
            &staging_name(run),
            Access {
                group: self.access.group,
                ..Access::PRIVATE
            },
        )?;
        Ok(Staging {
            store: self,
            run,
            folder: staging_folder,
            current: None,
            folders: Vec::new(),
            unfinished: 0,
            pending_syncs: Vec::new(),
            finished: false,
        })
    }

    /// The target of `latest` after these folders are published: the run's own folder, or that of
    /// the latest period.
    fn latest_with(&self, folders: &[String]) -> Result<Option<String>, ReportStoreError> {
        let parse = |name: &String| ReportDirName::parse(name).map(|parsed| (parsed, name.clone()));
        let Some((last, name)) = folders.iter().filter_map(parse).max() else {
            return Ok(None);
        };
        if last.is_run() {
            return Ok(Some(name));
        }
        let existing = self
            .report_folders()?
            .into_iter()
            .filter(|(_, existing)| existing.is_same_kind(last))
            .map(|(name, parsed)| (parsed, name));
        let mut latest = (last, name);
        for candidate in existing.filter(|(parsed, _)| *parsed > last) {
            if candidate > latest && is_report(&self.folder, &candidate.1)? {
                latest = candidate;
            }
        }
        Ok(Some(latest.1))
    }
}

impl ReportStore {
    /// Whether a folder that is not a report can only be what is left of one: it has no
    /// `report.json` with a content, and no entry that is not a file of a report.
    fn is_remains(&self, name: &str) -> Result<bool, ReportStoreError> {
        let Some(folder) = self.folder.open_folder(name)? else {
            return Ok(false);
        };
        for entry in folder.names()? {
            let Some(file) = entry.to_str().filter(|file| REPORT_FILES.contains(file)) else {
                return Ok(false);
            };
            let is_file = folder.entry_type(file)? == Some(FileType::RegularFile);
            if !is_file || (file == REPORT && folder.size(file)?.is_some_and(|bytes| bytes > 0)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Renames what is left of a report. Returns its new path.
    fn set_aside(&self, name: &str) -> Result<PathBuf, ReportStoreError> {
        let mut aside = format!("{name}{REMAINS_SUFFIX}");
        while self.folder.entry_type(&aside)?.is_some() {
            aside.push_str(REMAINS_SUFFIX);
        }
        self.folder.rename(name, &self.folder, &aside)?;
        Ok(self.folder.path(aside))
    }
}

impl Staging<'_> {
    /// Starts a folder, in which new files are created. It will replace an existing folder of the
    /// same period. What is left of one whose `report.json` is lost is renamed, and its new path is
    /// returned: it cannot be continued.
    ///
    /// # Errors
    ///
    /// The name is not valid, was used before, or belongs to something that is not a report; or the
    /// folder cannot be created.
    pub(crate) fn folder(&mut self, name: &str) -> Result<Option<PathBuf>, ReportStoreError> {
        let parsed = self.store.parse_name(name)?;
        self.close_current()?;
        let set_aside = match self.store.folder.entry_type(name)? {
            Some(FileType::Directory)
                if !parsed.is_run() && is_report(&self.store.folder, name)? =>
            {
                None
            }
            Some(FileType::Directory) if !parsed.is_run() && self.store.is_remains(name)? => {
                Some(self.store.set_aside(name)?)
            }
            Some(_) if parsed.is_run() => {
                return Err(ReportStoreError::not_a_report(
                    self.store.folder.path(name),
                    "this run already exists",
                ));
            }
            Some(_) => {
                let path = self.store.folder.path(name);
                let advice = format!(
                    "move it away (mv '{0}' '{0}.old') or choose another --out",
                    path.display()
                );
                return Err(ReportStoreError::in_the_way(
                    path,
                    "it is not a folder of reports",
                    advice,
                ));
            }
            None => None,
        };
        self.current = Some(self.folder.create_folder(name, self.store.access)?);
        self.folders.push(name.to_owned());
        Ok(set_aside)
    }

    /// Creates a file in the current folder.
    ///
    /// # Errors
    ///
    /// There is no folder, or the file exists or cannot be created.
    pub(crate) fn file(&mut self, name: &str) -> Result<StagedFile<'_>, ReportStoreError> {
        let Some(folder) = &self.current else {
            return Err(ReportStoreError::vanished(&self.folder.path(name)));
        };
        let file = folder.create_file(name, self.store.access)?;
        self.unfinished += 1;
        let (unfinished, pending_syncs) = (&mut self.unfinished, &mut self.pending_syncs);
        Ok(StagedFile {
            out: BufWriter::with_capacity(BUFFER, file),
            folder,
            name: name.to_owned(),
            unfinished,
            pending_syncs,
        })
    }

    /// Syncs everything. The returned run is to be committed, that is, saved in a state. Until then
    /// [`recover`](ReportStore::recover) with the previous run removes it.
    ///
    /// # Errors
    ///
    /// A file was not finished, something was removed by another process, or a system call failed.
    pub(crate) fn finish(mut self) -> Result<Run, ReportStoreError> {
        self.close_current()?;
        sync_all(&self.pending_syncs, self.store.sync_threads)?;
        if let Some(latest) = self.store.latest_with(&self.folders)? {
            self.folder.create_symlink(&latest, LATEST)?;
        }
        self.folder.sync()?;
        for name in &self.folders {
            if self.folder.entry_type(name)? != Some(FileType::Directory) {
                return Err(ReportStoreError::vanished(&self.folder.path(name)));
            }
        }
        let out = &self.store.folder;
        if !out.refers_to(&staging_name(self.run), self.folder.fd())? {
            return Err(ReportStoreError::vanished(&self.folder.path("")));
        }
        out.sync()?;
        self.finished = true;
        Ok(Run {
            number: self.run,
            folders: std::mem::take(&mut self.folders),
        })
    }

    fn close_current(&mut self) -> Result<(), ReportStoreError> {
        let Some(folder) = self.current.take() else {
            return Ok(());
        };
        if self.unfinished > 0 || folder.entry_type(REPORT)? != Some(FileType::RegularFile) {
            let what = "its files are incomplete";
            return Err(ReportStoreError::in_the_way(
                folder.path(""),
                what,
                "run it again",
            ));
        }
        // Also if nothing has that name yet: what the folder will replace is known only when it is
        // published.
        if let Some(name) = self.folders.last()
            && !self.store.parse_name(name)?.is_run()
        {
            let second = replacement_name(name);
            if !folder.hard_link(REPORT, &self.folder, &second)? {
                let empty = self.folder.create_file(&second, Access::PRIVATE)?;
                self.pending_syncs.push(empty.into_pending_sync());
            }
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
            // Otherwise the next run removes it.
            let _ = self.store.folder.remove(&staging_name(self.run));
        }
    }
}

impl StagedFile<'_> {
    /// Finishes the file.
    ///
    /// # Errors
    ///
    /// It cannot be written, or was removed by another process.
    pub(crate) fn finish(mut self) -> Result<(), ReportStoreError> {
        self.out.flush().map_err(|error| self.explain(error))?;
        if !self.folder.refers_to(&self.name, self.out.get_ref().fd())? {
            return Err(ReportStoreError::vanished(&self.folder.path(&self.name)));
        }
        // The buffer is empty.
        self.pending_syncs
            .push(self.out.into_parts().0.into_pending_sync());
        *self.unfinished -= 1;
        Ok(())
    }

    /// Turns a write error into one with the path and advice.
    #[must_use]
    pub(crate) fn explain(&self, error: io::Error) -> ReportStoreError {
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
