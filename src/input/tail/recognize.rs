//! Recognizes content that was read before: in another file, under another name, or before a
//! restart.
//!
//! Only the content counts. `content` searches the other paths for content that this path does not
//! have.
//!
//! Content that was being read and is not where a rotation would have put it is searched under
//! unusual names: in files that were moved or copied manually, and in the old target of a changed
//! symbolic link. A file of unknown content belongs to another log.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::memchr_iter;

use super::content::{ContentFingerprint, ContentMatch, IndexMatch, common};
use super::drain::proves_copy;
use super::generation::{Generation, GenerationReader, GenerationState};
use super::inspected_file::{FileId, FileStat, InspectedFile};
use super::siblings::{FoundSiblings, SiblingAction, SiblingFile};
use super::start::{StartAt, start_after_copy, start_generation, too_short};
use super::watched_path::{OldGeneration, PathRole, PollContext, WatchedPath};
use crate::input::magic;
use crate::input::rotation::{RotationRank, file_name_bytes, is_name_variant, parent_folder, rank};
use crate::input::sparse::read_full_at;
use crate::log::source::{HEAD, TAIL};

/// Number of scans after a start, or after a log was closed, that search for moved files.
pub(super) const MAX_SEARCH_SCANS: u64 = 6;
/// Bytes that are compared at a time.
const BLOCK: usize = 64 << 10;
/// Maximum number of folders beside that of a link's target that are searched for a file of the
/// same name.
const MAX_FOLDERS: usize = 1000;

/// A copy of a file that the path led to before.
enum CopyOfPrevious {
    /// It is still being copied.
    Incomplete,
    /// Its first N bytes are the copy.
    Complete(u64),
}

/// Whether equal first bytes of two files prove that one is a copy. A single line may be logged
/// twice in the same second, before and after a rotation.
fn is_proof(head: &[u8], len: u64) -> bool {
    let equal = &head[..head.len().min(usize::try_from(len).unwrap_or(usize::MAX))];
    equal.len() == HEAD || memchr_iter(b'\n', equal).nth(1).is_some()
}

/// The number of equal first bytes of two files.
fn equal_len(one: &File, other: &File) -> io::Result<u64> {
    let (mut here, mut there, mut at) = (vec![0; BLOCK], vec![0; BLOCK], 0);
    loop {
        let read = read_full_at(one, &mut here, at)?.min(read_full_at(other, &mut there, at)?);
        let equal = here[..read]
            .iter()
            .zip(&there[..read])
            .take_while(|(one, other)| one == other)
            .count();
        at += equal as u64;
        if equal < BLOCK {
            return Ok(at);
        }
    }
}

impl WatchedPath {
    /// Identifies the content of the live file: known or new.
    pub(super) fn identify(
        &mut self,
        file: &Arc<File>,
        stat: FileStat,
        poll: &mut PollContext<'_>,
    ) -> io::Result<Option<ContentFingerprint>> {
        let mut inspected = InspectedFile::new(file)?;
        if inspected.compressed() || !matches!(magic::detect(inspected.head()), Ok(None)) {
            if poll.once {
                self.role = PathRole::Compressed;
            } else if self.named {
                self.report_problem_once(
                    poll,
                    "is compressed; only uncompressed logs are followed",
                );
            }
            return Ok(None);
        }
        if too_short(inspected.head()) {
            return Ok(None);
        }
        if let Some(known) = self.recognize(&mut inspected, stat.id, poll)? {
            return Ok(Some(known));
        }
        // If it is not read from the start, it does not matter whose content it is.
        if self.start_at == StartAt::FirstLine {
            match self.copy_of_previous(stat, &mut inspected, poll)? {
                Some(CopyOfPrevious::Incomplete) => {
                    self.repoll(stat);
                    return Ok(None);
                }
                Some(CopyOfPrevious::Complete(len)) => {
                    return start_after_copy(file, len, poll.generation_ids).map(Some);
                }
                None => {}
            }
            match poll.find_elsewhere(&self.path, [Some(stat.id), None], &mut inspected)? {
                None => {
                    self.undecided = Some(stat.size);
                    return Ok(None);
                }
                Some(IndexMatch::Moved(content)) => return Ok(Some(content)),
                Some(IndexMatch::PartialCopy(_)) if stat.is_recent() && !poll.once => {
                    self.repoll(stat);
                    return Ok(None);
                }
                Some(IndexMatch::Copy(len) | IndexMatch::PartialCopy(len)) => {
                    return start_after_copy(file, len, poll.generation_ids).map(Some);
                }
                Some(IndexMatch::None) => {}
            }
        }
        if poll.once && self.is_known_prefix(&mut inspected)? {
            poll.notice(&self.path, "starts like a log that was read further: perhaps an older copy; read again from its start");
        }
        start_generation(file, self.start_at, poll.generation_ids)
    }

    /// Whether the live file is a copy of one that the path led to before: whether it has all that
    /// was in that one by then. It may have been moved away and copied back, and both may have
    /// grown since.
    fn copy_of_previous(
        &self,
        stat: FileStat,
        inspected: &mut InspectedFile,
        poll: &PollContext<'_>,
    ) -> io::Result<Option<CopyOfPrevious>> {
        for log in self
            .generations
            .iter()
            .filter(|log| log.state == GenerationState::Draining && log.stat.id != stat.id)
        {
            let (Some(retired_len), Some(previous)) = (log.retired_len, log.file()) else {
                continue;
            };
            let len = match common(&previous, inspected)? {
                0 => equal_len(&previous, inspected.file())?,
                len => len,
            };
            if len >= retired_len && is_proof(inspected.head(), len) {
                let is_growing = len == inspected.likely_len() && len < previous.metadata()?.len();
                let is_complete = poll.once || !is_growing || !stat.is_recent();
                return Ok(Some(if is_complete {
                    CopyOfPrevious::Complete(len)
                } else {
                    CopyOfPrevious::Incomplete
                }));
            }
            if len == inspected.likely_len() && len > 0 && stat.is_recent() && !poll.once {
                return Ok(Some(CopyOfPrevious::Incomplete));
            }
        }
        Ok(None)
    }

    /// Drops a content that another path continues.
    pub(super) fn drop_content(&mut self, generation: u64) {
        self.old_generations
            .retain(|old| old.content.generation != generation);
        let is_it = |log: &Generation| {
            log.content
                .as_ref()
                .is_some_and(|content| content.generation == generation)
        };
        self.generations.retain(|log| {
            !is_it(log) || log.has_file() && !log.is_compressed() && !log.is_borrowed
        });
        self.generations
            .iter_mut()
            .filter(|log| is_it(log))
            .for_each(Generation::clear_content);
        self.files_changed = true;
    }

    /// Whether a file has the start of known content and ends before it.
    fn is_known_prefix(&mut self, inspected: &mut InspectedFile) -> io::Result<bool> {
        for old in &mut self.old_generations {
            if old.content.compare(inspected)? == ContentMatch::Prefix {
                old.id = (0, 0);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Claims an unclaimed checkpoint for a file that was followed under an unrelated name before a
    /// restart, or for a copy of its first part.
    pub(super) fn claim_content(
        &mut self,
        inspected: &mut InspectedFile,
        (id, path): (FileId, &Path),
        poll: &mut PollContext<'_>,
    ) -> io::Result<()> {
        for index in 0..poll.unclaimed.len() {
            let unclaimed_one = &poll.unclaimed[index];
            // If nothing was read of it, its head alone is weak evidence as long as another file
            // has it too.
            let is_likely = || {
                unclaimed_one.content.offset > 0
                    || unclaimed_one.id == id
                    || is_name_variant(
                        &file_name_bytes(&unclaimed_one.path),
                        &file_name_bytes(path),
                    )
                    || !is_at(&unclaimed_one.content, &unclaimed_one.path)
            };
            let is_it = match unclaimed_one.content.compare(inspected)? {
                ContentMatch::Same => is_likely(),
                // A copy of a part of what was read, beside it.
                ContentMatch::Prefix => {
                    unclaimed_one.content.offset > 0
                        && unclaimed_one.path.parent() == path.parent()
                        && proves_copy(inspected)
                }
                ContentMatch::Different => false,
            };
            if is_it {
                self.old_generations.push(poll.unclaimed.remove(index));
                break;
            }
        }
        Ok(())
    }

    /// Takes the content of a file from old generations, or from those that lost their file.
    fn recognize(
        &mut self,
        inspected: &mut InspectedFile,
        id: FileId,
        poll: &mut PollContext<'_>,
    ) -> io::Result<Option<ContentFingerprint>> {
        let path = self.path.clone();
        self.claim_content(inspected, (id, &path), poll)?;
        let mut index_found = None;
        for (index, old) in self.old_generations.iter().enumerate() {
            let same_inode = old.id == id;
            if (index_found.is_none() || same_inode)
                && old.content.compare(inspected)? == ContentMatch::Same
            {
                index_found = Some(index);
            }
        }
        if let Some(index) = index_found {
            return Ok(Some(self.old_generations.remove(index).content));
        }
        for index in 0..self.generations.len() {
            let log = &self.generations[index];
            let is_lost =
                !log.has_file() || log.state == GenerationState::Draining && log.stat.links == 0;
            if let Some(content) = log
                .content
                .as_ref()
                .filter(|content| is_lost && content.offset > 0)
                && content.compare(inspected)? == ContentMatch::Same
            {
                self.files_changed = true;
                return Ok(self.generations.remove(index).content);
            }
        }
        Ok(None)
    }

    /// The siblings, and the file of the path itself, that another path holds. Unless it `keeps`
    /// them, the siblings are not returned again.
    pub(super) fn wanted(&mut self, keeps: bool) -> Vec<(FileId, PathBuf)> {
        let mut wanted = if keeps {
            self.wanted_siblings.clone()
        } else {
            std::mem::take(&mut self.wanted_siblings)
        };
        wanted.extend(self.alias.map(|id| (id, self.path.clone())));
        wanted
    }

    /// Releases a generation whose file is at `path` now, if that path does not belong to this one;
    /// optionally only if its file is closed.
    pub(super) fn release(
        &mut self,
        id: FileId,
        path: &Path,
        only_closed: bool,
    ) -> Option<Generation> {
        let is_given = |log: &Generation| {
            log.stat.id == id
                && log.state == GenerationState::Draining
                && !log.is_compressed()
                && (log.is_closed() || !only_closed)
        };
        let index = self
            .generations
            .iter()
            .position(is_given)
            .filter(|_| !self.is_self_or_sibling(path))?;
        self.files_changed = true;
        Some(self.generations.remove(index))
    }

    /// Takes over a generation whose file is at `path` now.
    pub(super) fn adopt(&mut self, mut log: Generation, path: PathBuf) {
        self.files_changed = true;
        if path == self.path {
            self.alias = None;
            log.state = GenerationState::Live;
            log.unlinked_since = None;
            log.moved_to = None;
            log.former_path = Some(std::mem::replace(&mut log.path, path));
            self.generations.push(log);
        } else {
            log.moved_to = None;
            log.former_path = Some(std::mem::replace(&mut log.path, path));
            self.generations.insert(0, log);
        }
    }
}

/// Whether a path still leads to a content: its file is there, and was neither truncated nor
/// replaced.
fn is_at(content: &ContentFingerprint, path: &Path) -> bool {
    let compare = || content.compare(&mut InspectedFile::new(&Arc::new(File::open(path)?))?);
    compare().is_ok_and(|found| found == ContentMatch::Same)
}

/// Whether `file` has only the start of what was read of `log`: the rest was cut off, and no new
/// content begun.
pub(super) fn is_truncated_prefix(log: &Generation, file: &Arc<File>) -> bool {
    let compare = |content: &ContentFingerprint| {
        let mut inspected = InspectedFile::new(file)?;
        let enough = inspected.likely_len() >= TAIL as u64;
        Ok::<_, io::Error>(enough && content.compare(&mut inspected)? == ContentMatch::Prefix)
    };
    log.content
        .as_ref()
        .is_some_and(|content| compare(content).unwrap_or(false))
}

impl WatchedPath {
    /// Searches for content that the current scan did not find, and for late lines in files that
    /// were found this way.
    pub(super) fn search_moved(&mut self, found: &mut FoundSiblings, poll: &mut PollContext<'_>) {
        let old_paths = self
            .old_generations
            .iter()
            .map(|old| &old.path)
            .filter(|path| !self.is_self_or_sibling(path))
            .cloned();
        let mut paths: BTreeSet<_> = old_paths.collect();
        if self.is_searching(poll) {
            paths.extend(self.moved_candidates(poll));
        }
        for path in paths {
            let Ok(metadata) = fs::metadata(&path) else {
                continue;
            };
            let stat = FileStat::from_metadata(&metadata);
            let is_this = |log: &Generation| log.has_file() && log.stat.id == stat.id;
            let is_read = found.contains(stat.id) || self.generations.iter().any(is_this);
            if !metadata.is_file()
                || is_read
                || self.is_settled(&stat)
                || poll.is_held_by_other(stat.id) && !self.has_truncated()
            {
                continue;
            }
            let sibling = SiblingFile {
                rank: RotationRank::Index(Reverse(0)),
                path,
                stat,
                below: false,
                target: None,
            };
            match self.match_moved(&sibling, found, poll) {
                Ok(SiblingAction::Read(log, head)) => found.push(sibling.rank, *log, head),
                Ok(SiblingAction::Retry) => self.scan_at = None,
                // It is not settled: it may be a sibling under another name, which waits for the
                // other paths to be polled. An error means that it is gone, or may not be read.
                Ok(SiblingAction::Ignore | SiblingAction::Unknown) | Err(_) => {}
            }
        }
    }

    /// Whether a closed generation was last seen in this file, under a name that no rotation gives.
    pub(super) fn was_seen_at(&self, path: &Path) -> bool {
        let is_here = |old: &OldGeneration| {
            old.path.file_name() == path.file_name()
                && old.path.parent() == Some(&self.folder)
                && path.parent() == self.absolute.parent()
        };
        self.old_generations
            .iter()
            .any(|old| old.path == path || is_here(old))
    }

    fn has_truncated(&self) -> bool {
        self.generations.iter().any(|log| !log.has_file())
    }

    /// Whether content that was being read is missing.
    fn is_searching(&self, poll: &PollContext<'_>) -> bool {
        let is_in_folder = |old: &OldGeneration| old.path.parent() == Some(&self.folder);
        self.has_truncated()
            || self.scans <= self.search_until_scan
                && (self.old_generations.iter().any(|old| self.is_missing(old))
                    || poll.unclaimed.iter().any(is_in_folder))
    }

    /// Whether the path led to this content when the checkpoint was written, and no scanned file
    /// has it.
    fn is_missing(&self, old: &OldGeneration) -> bool {
        old.path == self.path && old.id != (0, 0) && old.last_seen_scan < self.scans
    }

    /// The files that may have the content.
    fn moved_candidates(&self, poll: &mut PollContext<'_>) -> BTreeSet<PathBuf> {
        let mut paths = BTreeSet::new();
        let target = fs::canonicalize(&self.path)
            .ok()
            .filter(|target| target.parent() != self.absolute.parent());
        let beside = target.as_ref().map(|target| parent_folder(target));
        for folder in beside.iter().chain([&self.folder]) {
            let listing = poll.listings.get(folder);
            let is_away = |name: &&[u8]| {
                *name != self.base && (folder != &self.folder || rank(&self.base, name).is_none())
            };
            paths.extend(
                listing
                    .names()
                    .filter(is_away)
                    .map(|name| folder.join(OsStr::from_bytes(name))),
            );
        }
        // With one folder per day, the file has the same name in another folder.
        if let (Some(target), Some(above)) = (
            &target,
            beside.as_deref().and_then(|folder| folder.parent()),
        ) {
            let folders = poll.listings.get(above);
            let same = folders
                .below
                .iter()
                .take(MAX_FOLDERS)
                .map(|folder| folder.join(OsStr::from_bytes(&file_name_bytes(target))));
            paths.extend(same.filter(|path| path != target));
        }
        paths
    }

    /// Checks whether a file has missing content.
    fn match_moved(
        &mut self,
        sibling: &SiblingFile,
        found: &FoundSiblings,
        poll: &mut PollContext<'_>,
    ) -> io::Result<SiblingAction> {
        let mut inspected = sibling.inspect()?;
        if inspected.head_error().is_some() && !inspected.is_stable() {
            return Ok(SiblingAction::Retry);
        }
        if inspected.head().is_empty() {
            return Ok(SiblingAction::Ignore);
        }
        for log in self.generations.iter_mut().filter(|log| !log.has_file()) {
            let Some(content) = &log.content else {
                continue;
            };
            if content.compare(&mut inspected)? == ContentMatch::Same {
                if !inspected.is_whole() {
                    return Ok(SiblingAction::Retry);
                }
                let reader = GenerationReader::new(&mut inspected, log.offset())?;
                log.state = GenerationState::Draining;
                log.resume_in(reader, sibling.stat, poll.now);
                log.path.clone_from(&sibling.path);
                log.is_borrowed = poll.is_held_by_other(sibling.stat.id);
                self.files_changed = true;
                return Ok(SiblingAction::Ignore);
            }
        }
        let action = if poll.is_held_by_other(sibling.stat.id) {
            None
        } else {
            self.match_old(&mut inspected, sibling, found, poll)?
        };
        Ok(action.unwrap_or(SiblingAction::Ignore))
    }
}
