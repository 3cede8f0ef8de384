//! Recognizes content that was read before: in another file, under another name, or before a restart.
//!
//! Only the content counts. `content_index` searches the other paths for content that this path does not know.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::content::{ContentFingerprint, ContentMatch};
use super::content_index::IndexMatch;
use super::file_stat::{FileId, FileStat};
use super::generation::{Generation, GenerationState};
use super::inspected_file::InspectedFile;
use super::start::{StartAt, start_after_copy, start_generation, too_short};
use super::watched_path::{PathRole, PollContext, WatchedPath};
use crate::input::magic;
use crate::input::rotation::{file_name_bytes, is_name_variant};
use crate::source::TAIL;

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
                self.report_problem_once(poll, "is compressed; only uncompressed logs are followed");
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
            match poll.find_elsewhere(&self.path, [Some(stat.id), None], &mut inspected)? {
                None => {
                    self.undecided = Some(stat.size);
                    return Ok(None);
                }
                Some(IndexMatch::Moved(content)) => return Ok(Some(content)),
                Some(IndexMatch::Copy(len)) => return start_after_copy(file, len, poll.generation_ids).map(Some),
                Some(IndexMatch::None) => {}
            }
        }
        if poll.once && self.is_known_prefix(&mut inspected)? {
            poll.notice(&self.path, "starts like a log that was read further: perhaps an older copy; read again from its start");
        }
        start_generation(file, self.start_at, poll.generation_ids)
    }

    /// Drops a content that another path continues.
    pub(super) fn drop_content(&mut self, generation: u64) {
        self.old_generations.retain(|old| old.content.generation != generation);
        let is_it = |log: &Generation| log.content.as_ref().is_some_and(|content| content.generation == generation);
        self.generations.retain(|log| !is_it(log) || log.file().is_some());
        self.generations.iter_mut().filter(|log| is_it(log)).for_each(Generation::clear_content);
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

    /// Claims an unclaimed checkpoint for a file that was followed under an unrelated name before a restart.
    pub(super) fn claim_content(
        &mut self,
        inspected: &mut InspectedFile,
        (id, path): (FileId, &Path),
        poll: &mut PollContext<'_>,
    ) -> io::Result<()> {
        for index in 0..poll.unclaimed.len() {
            let unclaimed_one = &poll.unclaimed[index];
            // If nothing was read of it, its head alone is weak evidence.
            let likely = unclaimed_one.content.offset > 0
                || unclaimed_one.id == id
                || is_name_variant(&file_name_bytes(&unclaimed_one.path), &file_name_bytes(path))
                || !unclaimed_one.path.exists();
            if likely && unclaimed_one.content.compare(inspected)? == ContentMatch::Same {
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
        let mut found = None;
        for (index, old) in self.old_generations.iter().enumerate() {
            let same_inode = old.id == id;
            if (found.is_none() || same_inode) && old.content.compare(inspected)? == ContentMatch::Same {
                found = Some(index);
            }
        }
        if let Some(index) = found {
            return Ok(Some(self.old_generations.remove(index).content));
        }
        for index in 0..self.generations.len() {
            let log = &self.generations[index];
            let gone =
                matches!(log.state, GenerationState::Truncated { .. }) || log.state == GenerationState::Draining && log.stat.links == 0;
            if let Some(content) = log.content.as_ref().filter(|content| gone && content.offset > 0)
                && content.compare(inspected)? == ContentMatch::Same
            {
                self.files_changed = true;
                return Ok(self.generations.remove(index).content);
            }
        }
        Ok(None)
    }

    /// The siblings, and the file of the path itself, that another path holds.
    pub(super) fn take_wanted(&mut self) -> Vec<(FileId, PathBuf)> {
        let mut wanted = std::mem::take(&mut self.wanted_siblings);
        wanted.extend(self.alias.map(|id| (id, self.path.clone())));
        wanted
    }

    /// Releases a generation whose file is at `path` now, if that path does not belong to this one.
    pub(super) fn release(&mut self, id: FileId, path: &Path) -> Option<Generation> {
        let is_given = |log: &Generation| log.stat.id == id && log.state == GenerationState::Draining && !log.is_compressed();
        let index = self.generations.iter().position(is_given).filter(|_| !self.is_self_or_sibling(path))?;
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
            log.path = path;
            self.generations.push(log);
        } else {
            log.path = path;
            self.generations.insert(0, log);
        }
    }
}

/// Whether `file` has only the start of what was read of `log`: the rest was cut off, and no new content begun.
pub(super) fn is_truncated_prefix(log: &Generation, file: &Arc<File>) -> bool {
    let compare = |content: &ContentFingerprint| {
        let mut inspected = InspectedFile::new(file)?;
        let enough = inspected.likely_len() >= TAIL as u64;
        Ok::<_, io::Error>(enough && content.compare(&mut inspected)? == ContentMatch::Prefix)
    };
    log.content.as_ref().is_some_and(|content| compare(content).unwrap_or(false))
}
