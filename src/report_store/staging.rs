//! The folders of a run while they are written: in `.run-N.tmp`, where only their owner sees them.
//!
//! Nothing here takes a place that readers look at. Whatever goes wrong, or is left half done, there is no [`Run`] to
//! commit.

use std::io::{self, BufWriter, Write};

use rustix::fs::FileType;

use super::disk::{Folder, NewFile};
use super::durable::{Unsynced, sync_all};
use super::name::Name;
use super::publish::second_name;
use super::{Access, Archive, ArchiveError, LATEST, REPORT, Run};

/// Bytes held back before a write: reports are made of small pieces.
const BUFFER: usize = 64 * 1024;

/// Files and folders that are held open until all of them are made to last.
const MOST_UNSYNCED: usize = 64;

/// The folders of one run. Dropped before [`finish`](Self::finish), they are removed.
#[derive(Debug)]
pub struct Staging<'a> {
    archive: &'a Archive,
    run: u64,
    /// `.run-N.tmp`.
    room: Folder,
    /// The folder that files go to.
    current: Option<Folder>,
    folders: Vec<String>,
    /// Files that were begun and not completed.
    unfinished: usize,
    /// Files and folders that are complete, and perhaps not on disk.
    unsynced: Vec<Unsynced>,
    finished: bool,
}

/// A file of a folder. It is complete after [`done`](Self::done) only, and on disk when all of them are.
#[derive(Debug)]
pub struct StagedFile<'s> {
    out: BufWriter<NewFile>,
    folder: &'s Folder,
    name: String,
    unfinished: &'s mut usize,
    unsynced: &'s mut Vec<Unsynced>,
}

/// What the folder of a run is called until it has its place.
pub(super) fn room_name(run: u64) -> String {
    format!(".run-{run}.tmp")
}

impl Archive {
    /// Begins the folders of a run. To be called after [`settle`](Self::settle).
    ///
    /// # Errors
    ///
    /// The folder cannot be made, or not given to the group.
    pub fn stage(&self, run: u64) -> Result<Staging<'_>, ArchiveError> {
        self.note_owner()?;
        // Given to the group so that one that is refused is heard of at once; the rights are the owner's alone.
        let room = self.folder.make(&room_name(run), Access { mode: 0o600, group: self.access.group })?;
        Ok(Staging { archive: self, run, room, current: None, folders: Vec::new(), unfinished: 0, unsynced: Vec::new(), finished: false })
    }

    /// The folder that `latest` should lead to once these have their places: a run's own, or the latest of the periods.
    fn latest_with(&self, folders: &[String]) -> Result<Option<String>, ArchiveError> {
        let known = |name: &String| Name::parse(name).map(|parsed| (parsed, name.clone()));
        let Some((last, name)) = folders.iter().filter_map(known).max() else { return Ok(None) };
        if last.is_run() {
            return Ok(Some(name));
        }
        let there = self.ours()?.into_iter().filter(|(_, there)| there.is_like(last)).map(|(name, parsed)| (parsed, name));
        let mut latest = (last, name);
        for candidate in there.filter(|(parsed, _)| *parsed > last) {
            if candidate > latest && self.is_ours(&candidate.1)? {
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
    pub fn folder(&mut self, name: &str) -> Result<(), ArchiveError> {
        let parsed = self.archive.known(name)?;
        let there = self.archive.folder.kind(name)?;
        let is_replaceable = there == Some(FileType::Directory) && !parsed.is_run() && self.archive.is_ours(name)?;
        if there.is_some() && !is_replaceable {
            let what =
                if parsed.is_run() { "there is such a run already" } else { "it is no folder of reports, or its report.json is gone" };
            return Err(ArchiveError::foreign(self.archive.folder.path(name), what));
        }
        self.close_current()?;
        self.current = Some(self.room.make(name, self.archive.access)?);
        self.folders.push(name.to_owned());
        Ok(())
    }

    /// Begins a file in the folder that was begun last.
    ///
    /// # Errors
    ///
    /// There is no folder, or the file is there already or cannot be made.
    pub fn file(&mut self, name: &str) -> Result<StagedFile<'_>, ArchiveError> {
        let Some(folder) = &self.current else { return Err(ArchiveError::vanished(&self.room.path(name))) };
        let file = folder.create(name, self.archive.access)?;
        self.unfinished += 1;
        let (unfinished, unsynced) = (&mut self.unfinished, &mut self.unsynced);
        Ok(StagedFile { out: BufWriter::with_capacity(BUFFER, file), folder, name: name.to_owned(), unfinished, unsynced })
    }

    /// Makes everything last. What is returned is to be committed: written to a state, on disk. Until then a
    /// [`settle`](Archive::settle) with the run that was committed last takes it all away.
    ///
    /// # Errors
    ///
    /// A file was not completed, something of it was removed meanwhile, or the system refuses.
    pub fn finish(mut self) -> Result<Run, ArchiveError> {
        self.close_current()?;
        sync_all(&self.unsynced, self.archive.at_once)?;
        if let Some(latest) = self.archive.latest_with(&self.folders)? {
            self.room.link(&latest, LATEST)?;
        }
        self.room.sync()?;
        for name in &self.folders {
            if self.room.kind(name)? != Some(FileType::Directory) {
                return Err(ArchiveError::vanished(&self.room.path(name)));
            }
        }
        let out = &self.archive.folder;
        if !out.has(&room_name(self.run), self.room.fd())? {
            return Err(ArchiveError::vanished(&self.room.path("")));
        }
        out.sync()?;
        self.finished = true;
        Ok(Run { number: self.run, folders: std::mem::take(&mut self.folders) })
    }

    fn close_current(&mut self) -> Result<(), ArchiveError> {
        let Some(folder) = self.current.take() else { return Ok(()) };
        if self.unfinished > 0 || folder.kind(REPORT)? != Some(FileType::RegularFile) {
            let what = "its files were not completed";
            return Err(ArchiveError::in_the_way(folder.path(""), what, "run it again"));
        }
        if let Some(name) = self.folders.last()
            && self.archive.folder.kind(name)?.is_some()
        {
            folder.hard_link(REPORT, &self.room, &second_name(name))?;
        }
        self.unsynced.push(folder.unsynced());
        if self.unsynced.len() >= MOST_UNSYNCED {
            sync_all(&self.unsynced, self.archive.at_once)?;
            self.unsynced.clear();
        }
        Ok(())
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // The next run would remove it too.
            let _ = self.archive.folder.remove(&room_name(self.run));
        }
    }
}

impl StagedFile<'_> {
    /// Completes the file.
    ///
    /// # Errors
    ///
    /// It cannot be written, or was removed meanwhile.
    pub fn done(mut self) -> Result<(), ArchiveError> {
        self.out.flush().map_err(|error| self.explain(error))?;
        if !self.folder.has(&self.name, self.out.get_ref().fd())? {
            return Err(ArchiveError::vanished(&self.folder.path(&self.name)));
        }
        // Nothing is left in the buffer.
        self.unsynced.push(self.out.into_parts().0.unsynced());
        *self.unfinished -= 1;
        Ok(())
    }

    /// Names the file and what to do about a failed write to it.
    #[must_use]
    pub fn explain(&self, error: io::Error) -> ArchiveError {
        ArchiveError::failed("write", self.folder.path(&self.name), error)
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
