//! Searches for content under unusual names: files that were moved or copied by hand, and the old target of a changed
//! symbolic link.
//!
//! Runs only for content that was being read and is not where a rotation would have put it. Only the content counts:
//! a file of unknown content belongs to another log.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::content::ContentMatch;
use super::file_stat::FileStat;
use super::generation::{Generation, GenerationState};
use super::generation_reader::GenerationReader;
use super::inspected_file::{InspectedFile, open};
use super::sibling_scan::SiblingAction;
use super::siblings::SiblingFile;
use super::watched_path::{OldGeneration, PollContext, WatchedPath};
use crate::input::rotation::{RotationRank, file_name_bytes, parent_folder, rank};

/// Number of scans after a start, or after a log was closed, that search for moved files.
pub(super) const SCANS: u64 = 6;
/// Maximum number of folders beside that of a link's target that are searched for a file of the same name.
const FOLDERS: usize = 1000;

impl WatchedPath {
    /// Searches for content that the current scan did not find, and for late lines in files that were found this way.
    pub(super) fn search_moved(&mut self, found: &mut Vec<(RotationRank, Generation)>, poll: &mut PollContext<'_>) {
        let known = self.old_generations.iter().map(|old| &old.path).filter(|path| !self.is_self_or_sibling(path)).cloned();
        let mut paths: BTreeSet<_> = known.collect();
        if self.is_searching(poll) {
            paths.extend(self.moved_candidates(poll));
        }
        for path in paths {
            let Ok(metadata) = fs::metadata(&path) else { continue };
            let stat = FileStat::from_metadata(&metadata);
            let file_holds = self.ids().any(|held| held == stat.id) || found.iter().any(|(_, log)| log.stat.id == stat.id);
            let is_settled = self.finished_siblings.get(&stat.id) == Some(&stat.size_and_mtime());
            if !metadata.is_file() || file_holds || is_settled || poll.is_held_by_other(stat.id) && !self.has_truncated() {
                continue;
            }
            let sibling = SiblingFile { rank: RotationRank::Index(Reverse(0)), path, stat, below: false };
            match self.match_moved(&sibling, found, poll) {
                Ok(SiblingAction::Read(log)) => found.push((sibling.rank, *log)),
                Ok(SiblingAction::Retry) => self.scan_at = None,
                Ok(SiblingAction::Ignore | SiblingAction::Unknown) => drop(self.finished_siblings.insert(stat.id, stat.size_and_mtime())),
                // It is gone, or may not be read.
                Err(_) => {}
            }
        }
    }

    /// Whether a closed generation was last seen in this file, under a name that no rotation gives.
    pub(super) fn was_seen_at(&self, path: &Path) -> bool {
        let is_here = |old: &OldGeneration| {
            old.path.file_name() == path.file_name() && old.path.parent() == Some(&self.folder) && path.parent() == self.absolute.parent()
        };
        self.old_generations.iter().any(|old| old.path == path || is_here(old))
    }

    fn has_truncated(&self) -> bool {
        self.generations.iter().any(|log| matches!(log.state, GenerationState::Truncated { .. }))
    }

    /// Whether content that was being read is missing.
    fn is_searching(&self, poll: &PollContext<'_>) -> bool {
        let is_in_folder = |old: &OldGeneration| old.path.parent() == Some(&self.folder);
        self.has_truncated()
            || self.scans <= self.search_until_scan
                && (self.old_generations.iter().any(|old| self.is_missing(old)) || poll.unclaimed.iter().any(is_in_folder))
    }

    /// Whether the path led to this content when the checkpoint was written, and no scanned file has it.
    fn is_missing(&self, old: &OldGeneration) -> bool {
        old.path == self.path && old.id != (0, 0) && old.last_seen_scan < self.scans
    }

    /// The files that may have the content.
    fn moved_candidates(&self, poll: &mut PollContext<'_>) -> BTreeSet<PathBuf> {
        let mut paths = BTreeSet::new();
        let target = fs::canonicalize(&self.path).ok().filter(|target| target.parent() != self.absolute.parent());
        let beside = target.as_ref().map(|target| parent_folder(target));
        for folder in beside.iter().chain([&self.folder]) {
            let listing = poll.listings.get(folder);
            let is_away = |name: &&[u8]| *name != self.base && (folder != &self.folder || rank(&self.base, name).is_none());
            paths.extend(listing.names().filter(is_away).map(|name| folder.join(OsStr::from_bytes(name))));
        }
        // With one folder per day, the file has the same name in another folder.
        if let (Some(target), Some(above)) = (&target, beside.as_deref().and_then(|folder| folder.parent())) {
            let folders = poll.listings.get(above);
            let same = folders.below.iter().take(FOLDERS).map(|folder| folder.join(OsStr::from_bytes(&file_name_bytes(target))));
            paths.extend(same.filter(|path| path != target));
        }
        paths
    }

    /// Checks whether a file has missing content.
    fn match_moved(
        &mut self,
        sibling: &SiblingFile,
        found: &[(RotationRank, Generation)],
        poll: &mut PollContext<'_>,
    ) -> io::Result<SiblingAction> {
        let (file, stat) = open(&sibling.path)?;
        if stat.id != sibling.stat.id {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut inspected = InspectedFile::new(&file)?;
        if inspected.head_error().is_some() && !inspected.is_stable() {
            return Ok(SiblingAction::Retry);
        }
        if inspected.head().is_empty() {
            return Ok(SiblingAction::Ignore);
        }
        for log in self.generations.iter_mut().filter(|log| matches!(log.state, GenerationState::Truncated { .. })) {
            let Some(content) = &log.content else { continue };
            if content.compare(&mut inspected)? == ContentMatch::Same {
                if !inspected.is_whole() {
                    return Ok(SiblingAction::Retry);
                }
                log.state = GenerationState::Draining;
                log.resume_in(GenerationReader::new(&mut inspected, log.offset()), sibling.stat, poll.now);
                log.path.clone_from(&sibling.path);
                self.files_changed = true;
                return Ok(SiblingAction::Ignore);
            }
        }
        let action = if poll.is_held_by_other(stat.id) { None } else { self.match_old(&mut inspected, sibling, found, poll)? };
        Ok(action.unwrap_or(SiblingAction::Ignore))
    }
}
