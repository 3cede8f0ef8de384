//! Looks for a text under names that no rotation gives: what was moved or copied away by hand, and what a link led to
//! before it was switched.
//!
//! Only for a text that was being read and is not to be found where a rotation would have put it, and only by the text: a
//! file that nobody knows is another log's.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::family::{Rank, base_of, folder_of, rank};
use super::log::{Log, Role};
use super::place::{Past, Place, Surroundings};
use super::probe::{Probe, open};
use super::reader::Reader;
use super::scan::reopened;
use super::sibling::Sibling;
use super::stamp::Stamp;
use super::text::{Likeness, Text};

/// The scans behind a start that look for what was read before it: one, and those that follow it soon.
const AFTER_START: u64 = 6;
/// Folders beside that of a link's file that are looked into, by the file's name.
const FOLDERS: usize = 1000;

impl Place {
    /// Looks for the texts that the present scan did not meet.
    pub(super) fn scan_away(&mut self, found: &mut Vec<(Rank, Log)>, around: &mut Surroundings<'_>) {
        if !self.misses(around) {
            return;
        }
        for path in self.away(around) {
            let Ok(metadata) = fs::metadata(&path) else { continue };
            let (id, stamp) = (Stamp::of(&metadata).id, Stamp::of(&metadata));
            let is_held = self.ids().any(|held| held == id) || found.iter().any(|(_, log)| log.stamp.id == id);
            let is_settled = self.settled.get(&id) == Some(&stamp.content());
            if !metadata.is_file() || is_held || is_settled || around.held_elsewhere(id) && !self.has_lost() {
                continue;
            }
            let sibling = Sibling { rank: Rank::Index(Reverse(0)), path, stamp, below: false };
            match self.read_away(&sibling, around) {
                Ok(Some(log)) => found.push((sibling.rank, log)),
                Ok(None) => drop(self.settled.insert(id, stamp.content())),
                // It is gone, is being packed, or is none of ours to read.
                Err(_) => {}
            }
        }
    }

    fn has_lost(&self) -> bool {
        self.logs.iter().any(|log| matches!(log.role, Role::Lost { .. }))
    }

    /// Whether a text was being read that was not met.
    fn misses(&self, around: &Surroundings<'_>) -> bool {
        let is_near = |past: &Past| past.path.parent() == Some(&self.folder) && past.text.offset > 0;
        let is_after_start = self.scans <= AFTER_START;
        self.has_lost() || is_after_start && (self.past.iter().any(|past| self.is_missed(past)) || around.strays.iter().any(is_near))
    }

    /// Whether the path led to this text when the state was kept, and no file that was met holds it.
    fn is_missed(&self, past: &Past) -> bool {
        past.path == self.path && past.id != (0, 0) && past.text.offset > 0 && past.met < self.scans
    }

    /// The files that may hold it.
    fn away(&self, around: &mut Surroundings<'_>) -> BTreeSet<PathBuf> {
        let mut paths = BTreeSet::new();
        let target = fs::canonicalize(&self.path).ok().filter(|target| target.parent() != self.absolute.parent());
        let beside = target.as_ref().map(|target| folder_of(target));
        for folder in beside.iter().chain([&self.folder]) {
            let listing = around.listings.get(folder);
            let is_away = |name: &&[u8]| *name != self.base && (folder != &self.folder || rank(&self.base, name).is_none());
            paths.extend(listing.names().filter(is_away).map(|name| folder.join(OsStr::from_bytes(name))));
        }
        // A folder for each day: the file that is looked for has the same name in another one.
        if let (Some(target), Some(above)) = (&target, beside.as_deref().and_then(|folder| folder.parent())) {
            let folders = around.listings.get(above);
            let same = folders.below.iter().take(FOLDERS).map(|folder| folder.join(OsStr::from_bytes(&base_of(target))));
            paths.extend(same.filter(|path| path != target));
        }
        paths
    }

    /// Goes on with a text that is missed in this file, if it holds one. A log is given where one was reopened.
    fn read_away(&mut self, sibling: &Sibling, around: &mut Surroundings<'_>) -> io::Result<Option<Log>> {
        let (file, stamp) = open(&sibling.path)?;
        if stamp.id != sibling.stamp.id {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut probe = Probe::new(&file)?;
        if probe.head().is_empty() {
            return Ok(None);
        }
        let is_held = around.held_elsewhere(stamp.id);
        let lost = |log: &Log| matches!(log.role, Role::Lost { .. });
        for index in 0..self.logs.len() {
            let log = &self.logs[index];
            let Some(text) = log.text.as_ref().filter(|_| lost(log)) else { continue };
            if is_same(text, &mut probe)? {
                self.is_whole(&probe)?;
                let log = &mut self.logs[index];
                log.role = Role::Draining;
                log.go_on_in(Reader::new(&mut probe, log.offset()), sibling.stamp, around.now);
                log.path.clone_from(&sibling.path);
                self.moved = true;
                return Ok(None);
            }
        }
        if is_held {
            return Ok(None);
        }
        if !around.strays.is_empty() {
            self.claim(&mut probe, stamp.id, around)?;
        }
        for index in 0..self.past.len() {
            let past = &self.past[index];
            if past.met < self.scans && is_same(&past.text, &mut probe)? {
                self.is_whole(&probe)?;
                let past = self.past.remove(index);
                return Ok(Some(reopened(past.text, &mut probe, sibling, around)));
            }
        }
        Ok(None)
    }

    /// One that is being packed is looked at again.
    fn is_whole(&mut self, probe: &Probe) -> io::Result<()> {
        if probe.is_whole() {
            return Ok(());
        }
        self.scan_at = None;
        Err(io::ErrorKind::WouldBlock.into())
    }
}

/// Whether a file holds all that was read of a text.
fn is_same(text: &Text, probe: &mut Probe) -> io::Result<bool> {
    Ok(text.offset > 0 && text.likeness(probe)? == Likeness::Same)
}
