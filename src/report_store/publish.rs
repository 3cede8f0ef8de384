//! From committed to visible: folders take their places, what they replace goes, and what no run committed goes too.
//!
//! Every step can be done again, and the disk alone tells which were done: a folder that still lies in `.run-N.tmp` has
//! not got its place. Nothing is removed before what takes its place is on disk.
//!
//! A folder that replaces another changes places with it in one step, where the system can do that: whoever looks finds
//! the one or the other. Then one of them lies in `.run-N.tmp` before and after, under the same name. Which of them it is,
//! a second name of the new one's report tells, which was on disk before.

use rustix::fs::FileType;

use super::disk::Folder;
use super::name::Name;
use super::owner::NEW_OWNER;
use super::staging::room_name;
use super::{Archive, ArchiveError, LATEST, REPORT, Run};

/// What stands before the name of a folder that another replaced, in `.run-N.tmp`.
const OLD: &str = ".old-";

/// What stands before the name of a folder that is to replace another, in `.run-N.tmp`: the second name of its report.
const NEW: &str = ".new-";

/// What stands before the name of a folder that is being removed.
pub(super) const GONE: &str = ".gone-";

impl Archive {
    /// Puts the folders of a run that was committed in their places, and makes `latest` lead there. Fails half way? Then
    /// the next [`settle`](Self::settle) does the rest.
    ///
    /// # Errors
    ///
    /// Something is in the way, the folders are gone, or the system refuses.
    pub fn publish(&self, run: &Run) -> Result<(), ArchiveError> {
        self.place(run)?;
        for name in &run.folders {
            if self.folder.kind(name)? != Some(FileType::Directory) {
                return Err(ArchiveError::Lost { path: self.folder.path(name) });
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
    pub fn settle(&self, committed: Option<&Run>) -> Result<(), ArchiveError> {
        if let Some(run) = committed {
            self.place(run)?;
        }
        for name in self.folder.names()?.into_iter().filter_map(|name| name.into_string().ok()) {
            if is_room(&name) {
                self.put_back(&name)?;
                self.folder.remove(&name)?;
            } else if name.strip_prefix(GONE).is_some_and(|name| Name::parse(name).is_some()) {
                self.discard(&name)?;
            } else if name == NEW_OWNER {
                self.folder.remove(&name)?;
            }
        }
        Ok(())
    }

    /// Removes what readers may still have open, which over a network is no instant matter: the next run tries again.
    pub(super) fn discard(&self, name: &str) -> Result<(), ArchiveError> {
        match self.folder.remove(name) {
            Err(error) if error.is_busy() => Ok(()),
            done => done,
        }
    }

    fn place(&self, run: &Run) -> Result<(), ArchiveError> {
        let name = room_name(run.number);
        let Some(room) = self.folder.enter(&name)? else { return Ok(()) };
        for folder in &run.folders {
            self.place_folder(&room, folder)?;
        }
        if room.kind(LATEST)?.is_some() {
            self.check_latest()?;
            room.rename(LATEST, &self.folder, LATEST)?;
        }
        // The new names first: a power cut then leaves a folder under two names rather than under none.
        self.folder.sync()?;
        room.sync()?;
        self.folder.remove(&name)
    }

    fn place_folder(&self, room: &Folder, name: &str) -> Result<(), ArchiveError> {
        let parsed = self.known(name)?;
        if !waits(room, name)? {
            return Ok(());
        }
        match self.folder.kind(name)? {
            None => room.rename(name, &self.folder, name),
            Some(FileType::Directory) if !parsed.is_run() => self.replace(room, name),
            Some(_) => Err(ArchiveError::foreign(self.folder.path(name), "it has the place of a report that is ready")),
        }
    }

    /// Puts a folder of `room` in the place of another. Where that takes two steps, there is none for an instant.
    fn replace(&self, room: &Folder, name: &str) -> Result<(), ArchiveError> {
        if room.kind(&second_name(name))?.is_some() && room.exchange(name, &self.folder)? {
            return Ok(());
        }
        let old = format!("{OLD}{name}");
        // Of an earlier attempt, after which somebody put another folder there.
        room.remove(&old)?;
        self.folder.rename(name, room, &old)?;
        room.rename(name, &self.folder, name)
    }

    /// Gives folders back that were about to be replaced by a run of which no state knows any more: whoever reset the
    /// state did not mean them.
    fn put_back(&self, room: &str) -> Result<(), ArchiveError> {
        if self.folder.kind(room)? != Some(FileType::Directory) {
            return Ok(());
        }
        let Some(room) = self.folder.enter(room)? else { return Ok(()) };
        let mut moved = false;
        for old in room.names()?.into_iter().filter_map(|name| name.into_string().ok()) {
            let Some(name) = old.strip_prefix(OLD).filter(|name| Name::parse(name).is_some()) else { continue };
            if self.folder.kind(name)?.is_none() {
                room.rename(&old, &self.folder, name)?;
                moved = true;
            }
        }
        // As with new ones, before what is left here is removed.
        if moved { self.folder.sync().and_then(|()| room.sync()) } else { Ok(()) }
    }
}

/// The name by which the report of a folder in `.run-N.tmp` is known again when that has changed places with another.
pub(super) fn second_name(folder: &str) -> String {
    format!("{NEW}{folder}")
}

/// Whether a folder in `.run-N.tmp` has not got its place; what lies there under its name may be what it replaced.
fn waits(room: &Folder, name: &str) -> Result<bool, ArchiveError> {
    let Some(there) = room.enter(name)? else { return Ok(false) };
    let second = second_name(name);
    Ok(room.kind(&second)?.is_none() || room.shares(&second, &there, REPORT)?)
}

/// `.run-N.tmp`, exactly as it is written.
fn is_room(name: &str) -> bool {
    let number = name.strip_prefix(".run-").and_then(|rest| rest.strip_suffix(".tmp"));
    number.and_then(|number| number.parse().ok()).is_some_and(|number: u64| room_name(number) == name)
}
