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
use std::path::{Path, PathBuf};

use super::family::{Rank, base_of, folder_of, rank};
use super::log::{Log, Role};
use super::place::{Past, Place, Surroundings};
use super::probe::{Probe, open};
use super::reader::Reader;
use super::scan::Verdict;
use super::sibling::Sibling;
use super::stamp::Stamp;
use super::text::Likeness;

/// The scans behind a start, or behind a log that was closed, that look for what was read: one, and those that follow soon.
pub(super) const SCANS: u64 = 6;
/// Folders beside that of a link's file that are looked into, by the file's name.
const FOLDERS: usize = 1000;

impl Place {
    /// Looks for the texts that the present scan did not meet, and for late lines of those that were found like that.
    pub(super) fn scan_away(&mut self, found: &mut Vec<(Rank, Log)>, around: &mut Surroundings<'_>) {
        let known = self.past.iter().map(|past| &past.path).filter(|path| !self.is_family(path)).cloned();
        let mut paths: BTreeSet<_> = known.collect();
        if self.misses(around) {
            paths.extend(self.away(around));
        }
        for path in paths {
            let Ok(metadata) = fs::metadata(&path) else { continue };
            let stamp = Stamp::of(&metadata);
            let is_held = self.ids().any(|held| held == stamp.id) || found.iter().any(|(_, log)| log.stamp.id == stamp.id);
            let is_settled = self.settled.get(&stamp.id) == Some(&stamp.content());
            if !metadata.is_file() || is_held || is_settled || around.held_elsewhere(stamp.id) && !self.has_lost() {
                continue;
            }
            let sibling = Sibling { rank: Rank::Index(Reverse(0)), path, stamp, below: false };
            match self.read_away(&sibling, around) {
                Ok(Verdict::Read(log)) => found.push((sibling.rank, *log)),
                Ok(Verdict::Later) => self.scan_at = None,
                Ok(Verdict::Settled | Verdict::New) => drop(self.settled.insert(stamp.id, stamp.content())),
                // It is gone, or is none of ours to read.
                Err(_) => {}
            }
        }
    }

    /// Whether a text that is not read any more was last met in this file, under a name that no rotation gives.
    pub(super) fn was_met_at(&self, path: &Path) -> bool {
        let is_here = |past: &Past| {
            past.path.file_name() == path.file_name() && past.path.parent() == Some(&self.folder) && path.parent() == self.absolute.parent()
        };
        self.past.iter().any(|past| past.path == path || is_here(past))
    }

    fn has_lost(&self) -> bool {
        self.logs.iter().any(|log| matches!(log.role, Role::Lost { .. }))
    }

    /// Whether a text was being read that was not met.
    fn misses(&self, around: &Surroundings<'_>) -> bool {
        let is_near = |past: &Past| past.path.parent() == Some(&self.folder);
        self.has_lost()
            || self.scans <= self.search_until && (self.past.iter().any(|past| self.is_missed(past)) || around.strays.iter().any(is_near))
    }

    /// Whether the path led to this text when the state was kept, and no file that was met holds it.
    fn is_missed(&self, past: &Past) -> bool {
        past.path == self.path && past.id != (0, 0) && past.met < self.scans
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

    /// Sees whether a file holds a text that is missed.
    fn read_away(&mut self, sibling: &Sibling, around: &mut Surroundings<'_>) -> io::Result<Verdict> {
        let (file, stamp) = open(&sibling.path)?;
        if stamp.id != sibling.stamp.id {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut probe = Probe::new(&file)?;
        if probe.trouble().is_some() && !probe.has_settled() {
            return Ok(Verdict::Later);
        }
        if probe.head().is_empty() {
            return Ok(Verdict::Settled);
        }
        for log in self.logs.iter_mut().filter(|log| matches!(log.role, Role::Lost { .. })) {
            let Some(text) = &log.text else { continue };
            if text.likeness(&mut probe)? == Likeness::Same {
                if !probe.is_whole() {
                    return Ok(Verdict::Later);
                }
                log.role = Role::Draining;
                log.go_on_in(Reader::new(&mut probe, log.offset()), sibling.stamp, around.now);
                log.path.clone_from(&sibling.path);
                self.moved = true;
                return Ok(Verdict::Settled);
            }
        }
        let verdict = if around.held_elsewhere(stamp.id) { None } else { self.known_past(&mut probe, sibling, around)? };
        Ok(verdict.unwrap_or(Verdict::Settled))
    }
}
