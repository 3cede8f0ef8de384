//! Looks through the files that a log was rotated to: for the rest of a text that was truncated, for lines that came late
//! to a closed log, and for whole generations that came and went between two looks.
//!
//! A sibling whose text is known is never read again; one that nobody knows was written since the last look, because all
//! that were there at the first one were noted.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::content::{ContentFingerprint, ContentMatch};
use super::content_index::IndexMatch;
use super::file_stat::FileId;
use super::generation::{Generation, GenerationState};
use super::generation_reader::GenerationReader;
use super::inspected_file::{InspectedFile, open};
use super::siblings::{SiblingFile, is_copy, shares_content};
use super::start::{bytes_before, start_after_copy};
use super::watched_path::{OldGeneration, PollContext, WatchedPath};
use crate::input::magic;
use crate::input::rotation_names::RotationRank;
use crate::source::HEAD;

/// Siblings are looked through this often, whatever happens: nobody tells of a late line in a closed log.
const EVERY: Duration = Duration::from_secs(15);
/// So soon after a rotation, and so many times.
const SOON: Duration = Duration::from_millis(400);
const RESCANS: u32 = 3;
/// How often the list of siblings is read anew when one of them went away meanwhile.
const TRIES: u32 = 3;

/// Texts that are kept in mind though no file of them was met lately.
const MAX_UNSEEN: usize = 64;

/// What is to be done with a sibling.
pub(super) enum SiblingAction {
    /// Nothing, as long as it stays as it is.
    Ignore,
    /// It is still being written; to be looked at again.
    Retry,
    /// Nobody knows it; to be looked at again when all that are known are. It may be packed from one that is read just now.
    Unknown,
    /// It is to be read.
    Read(Box<Generation>),
}

impl WatchedPath {
    /// Something was rotated: the siblings are others now.
    pub(super) fn schedule_scan(&mut self) {
        self.finished_siblings.clear();
        self.scan_at = None;
        self.rescans = RESCANS;
    }

    /// Looks through the siblings.
    pub(super) fn scan_siblings(&mut self, context: &mut PollContext<'_>) {
        self.scans += 1;
        if context.others.is_none() {
            self.known_siblings.clear();
        }
        self.scan_at = Some(context.now + if self.rescans > 0 { SOON } else { EVERY });
        self.rescans = self.rescans.saturating_sub(1);
        let mut found = Vec::new();
        for _ in 0..TRIES {
            if self.scan_once(&mut found, context) {
                break;
            }
            context.listings.clear();
        }
        self.search_moved(&mut found, context);
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        if !found.is_empty() {
            self.moved = true;
        }
        let at = self.generations.iter().position(|log| log.state == GenerationState::Live).unwrap_or(self.generations.len());
        let later = self.scan_at.is_none();
        self.generations.splice(at..at, found.into_iter().map(|(_, log)| log));
        for log in &mut self.generations {
            if let GenerationState::Truncated { may_recover } = &mut log.state {
                *may_recover = later;
                self.scan_at = None;
            }
        }
        self.prune_unseen();
    }

    /// Forgets the oldest texts that no file holds any more.
    fn prune_unseen(&mut self) {
        let gone = self.old_generations.iter().filter(|past| past.last_seen_scan < self.scans).count();
        let mut surplus = gone.saturating_sub(MAX_UNSEEN);
        let scans = self.scans;
        self.old_generations.retain(|past| {
            let forgotten = surplus > 0 && past.last_seen_scan < scans;
            surplus -= usize::from(forgotten);
            !forgotten
        });
    }

    /// Whether the rest of a truncated log holds up what comes after it.
    pub(super) fn is_blocking(log: &Generation) -> bool {
        match log.state {
            GenerationState::Truncated { may_recover } => may_recover,
            GenerationState::Live | GenerationState::Done => false,
            GenerationState::Draining | GenerationState::Closing => log.content.is_some() && !log.caught_up && !log.mismatched,
        }
    }

    /// Goes through the list once; `false` if a file of it was gone before it could be opened.
    fn scan_once(&mut self, found: &mut Vec<(RotationRank, Generation)>, context: &mut PollContext<'_>) -> bool {
        let mut complete = true;
        let folders = self.rotated_folders.len();
        let siblings = self.siblings(context.listings);
        let met: HashSet<FileId> = siblings.iter().map(|sibling| sibling.stat.id).collect();
        self.finished_siblings.retain(|id, _| met.contains(id));
        let mut new = Vec::new();
        for sibling in siblings {
            let id = sibling.stat.id;
            if let Some(log) =
                self.generations.iter_mut().find(|log| log.stat.id == id && !matches!(log.state, GenerationState::Truncated { .. }))
            {
                if log.state != GenerationState::Live {
                    self.record_folder(&sibling);
                }
                continue;
            }
            if context.is_held_by_other(id) {
                self.wanted_siblings.push((id, sibling.path));
                continue;
            }
            let taken = found.iter().any(|(_, log)| log.stat.id == id);
            if taken || self.finished_siblings.get(&id) == Some(&sibling.stat.content()) {
                self.mark_seen(id);
                continue;
            }
            match self.classify(&sibling, context) {
                Ok(SiblingAction::Unknown) => new.push(sibling),
                verdict => complete &= self.apply_action(verdict, sibling, found, context),
            }
        }
        for sibling in new {
            let verdict = self.classify_unknown(&sibling, found, context);
            complete &= self.apply_action(verdict, sibling, found, context);
        }
        // Others in a folder that turned out to be ours may be ours too.
        complete && self.rotated_folders.len() == folders
    }

    /// Does what was found to be right with a sibling; `false` if it was gone before it could be opened.
    fn apply_action(
        &mut self,
        verdict: io::Result<SiblingAction>,
        sibling: SiblingFile,
        found: &mut Vec<(RotationRank, Generation)>,
        context: &mut PollContext<'_>,
    ) -> bool {
        match verdict {
            Ok(SiblingAction::Ignore | SiblingAction::Unknown) => {
                self.finished_siblings.insert(sibling.stat.id, sibling.stat.content());
            }
            Ok(SiblingAction::Retry) => self.scan_at = None,
            Ok(SiblingAction::Read(log)) => found.push((sibling.rank, *log)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return false,
            Err(error) => {
                self.report_problem_once(context, &format!("has a sibling that cannot be read: {}: {error}", sibling.path.display()))
            }
        }
        true
    }

    /// Sees what a sibling is.
    fn classify(&mut self, sibling: &SiblingFile, context: &mut PollContext<'_>) -> io::Result<SiblingAction> {
        let (file, stat) = open(&sibling.path)?;
        if stat.id != sibling.stat.id {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut inspected = InspectedFile::new(&file)?;
        if inspected.head_error().is_some() && !inspected.is_stable() {
            return Ok(SiblingAction::Retry);
        }
        let readable = inspected.compressed() || matches!(magic::detect(inspected.head()), Ok(None));
        if !readable || inspected.head().is_empty() {
            if context.once {
                self.record_unreadable(&inspected, &file, sibling, context)?;
            }
            return Ok(SiblingAction::Ignore);
        }
        if let Some(verdict) = self.match_known(&mut inspected, &file, sibling, context)? {
            self.record_folder(sibling);
            self.known_siblings.push((sibling.rank.clone(), sibling.stat));
            return Ok(verdict);
        }
        Ok(SiblingAction::Unknown)
    }

    /// Sees what to do with a sibling whose text nobody knows, when it is clear which are known.
    fn classify_unknown(
        &mut self,
        sibling: &SiblingFile,
        found: &mut [(RotationRank, Generation)],
        context: &mut PollContext<'_>,
    ) -> io::Result<SiblingAction> {
        let (file, stat) = open(&sibling.path)?;
        if stat.id != sibling.stat.id {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut inspected = InspectedFile::new(&file)?;
        for (_, log) in found {
            // A file that is being packed lies there twice.
            if is_copy(log, &mut inspected)? {
                let is_final = inspected.compressed() && inspected.is_whole();
                return self.record_copy(is_final, &inspected, &file, sibling, context);
            }
        }
        if context.once && self.is_restored_backup(sibling, context) {
            context.notice(&sibling.path, "is older than what was read before; not read");
            return self.record_old(&inspected, &file, sibling, context);
        }
        self.start_unknown(&mut inspected, &file, sibling, context)
    }

    /// What to do with a sibling whose text is known; `None` if it is not.
    fn match_known(
        &mut self,
        inspected: &mut InspectedFile,
        file: &Arc<File>,
        sibling: &SiblingFile,
        context: &mut PollContext<'_>,
    ) -> io::Result<Option<SiblingAction>> {
        for index in 0..self.generations.len() {
            let log = &mut self.generations[index];
            if !matches!(log.state, GenerationState::Truncated { .. }) {
                if is_copy(log, inspected)? {
                    let final_copy = inspected.compressed() && inspected.is_whole();
                    return self.record_copy(final_copy, inspected, file, sibling, context).map(Some);
                }
                if shares_content(log, inspected)? {
                    // Truncated just now, if its file does not hold the text any more: then this is where the rest is.
                    log.mismatched = !log.holds()?;
                    return Ok(Some(if log.mismatched { SiblingAction::Retry } else { SiblingAction::Ignore }));
                }
                continue;
            }
            let Some(content) = &log.content else { continue };
            match content.compare(inspected)? {
                ContentMatch::Different => {}
                _ if !inspected.is_whole() => return Ok(Some(SiblingAction::Retry)),
                ContentMatch::Prefix => {
                    // Copied before all was read: there is nothing to be found that was not told.
                    return self.record_copy(true, inspected, file, sibling, context).map(Some);
                }
                ContentMatch::Same => {
                    log.state = GenerationState::Draining;
                    log.resume_in(GenerationReader::new(inspected, content.offset), sibling.stat, context.now);
                    log.path.clone_from(&sibling.path);
                    self.moved = true;
                    return Ok(Some(SiblingAction::Ignore));
                }
            }
        }
        self.match_old(inspected, sibling, context)
    }

    /// A copy that holds less than a text's known beginning is not known by that from a state's print of it: it is noted
    /// as a text of its own, once nothing more comes to it.
    fn record_copy(
        &mut self,
        is_final: bool,
        inspected: &InspectedFile,
        file: &Arc<File>,
        sibling: &SiblingFile,
        context: &mut PollContext<'_>,
    ) -> io::Result<SiblingAction> {
        let known = self.old_generations.iter().any(|past| past.id == sibling.stat.id && past.content.offset == inspected.likely_len());
        let short = inspected.head().len() < HEAD && !known;
        if is_final && short { self.record_old(inspected, file, sibling, context) } else { Ok(SiblingAction::Ignore) }
    }

    pub(super) fn match_old(
        &mut self,
        inspected: &mut InspectedFile,
        sibling: &SiblingFile,
        context: &mut PollContext<'_>,
    ) -> io::Result<Option<SiblingAction>> {
        self.claim_content(inspected, (sibling.stat.id, &sibling.path), context)?;
        let mut shorter = false;
        let mut same = None;
        for (index, past) in self.old_generations.iter_mut().enumerate() {
            // A copy that was noted while it was made is known by its inode, and of its text more may have been read elsewhere.
            let known = (past.content.offset, past.id == sibling.stat.id);
            match past.content.compare(inspected)? {
                ContentMatch::Different => continue,
                ContentMatch::Prefix => shorter = true,
                ContentMatch::Same if same.is_none_or(|(most, _)| known > most) => same = Some((known, index)),
                ContentMatch::Same => {}
            }
            past.last_seen_scan = self.scans;
        }
        let Some((_, index)) = same else {
            let verdict = || if inspected.is_whole() { SiblingAction::Ignore } else { SiblingAction::Retry };
            return Ok(shorter.then(verdict));
        };
        let past = &mut self.old_generations[index];
        past.id = sibling.stat.id;
        past.path.clone_from(&sibling.path);
        let more = if inspected.compressed() {
            !inspected.claims_length(past.content.offset)
        } else {
            inspected.likely_len() > past.content.offset
        };
        if !more {
            return Ok(Some(SiblingAction::Ignore));
        }
        if !inspected.is_whole() {
            return Ok(Some(SiblingAction::Retry));
        }
        let past = self.old_generations.remove(index);
        Ok(Some(SiblingAction::Read(Box::new(reopen(past.content, inspected, sibling, context)))))
    }

    /// What to do with a sibling whose text nobody knows.
    fn start_unknown(
        &mut self,
        inspected: &mut InspectedFile,
        file: &Arc<File>,
        sibling: &SiblingFile,
        context: &mut PollContext<'_>,
    ) -> io::Result<SiblingAction> {
        if self.is_old_at_start(sibling, context) {
            return self.record_old(inspected, file, sibling, context);
        }
        if self.is_unrelated(sibling, context) {
            return Ok(SiblingAction::Ignore);
        }
        if !inspected.is_whole() {
            return Ok(SiblingAction::Retry);
        }
        let copied = match context.find_elsewhere(&sibling.path, [Some(sibling.stat.id), self.alias], inspected)? {
            None => {
                self.undecided = Some(sibling.stat.size);
                return Ok(SiblingAction::Retry);
            }
            Some(IndexMatch::Moved(content)) => return Ok(SiblingAction::Read(Box::new(reopen(content, inspected, sibling, context)))),
            Some(IndexMatch::Copy(len)) => Some(len),
            Some(IndexMatch::None) => None,
        };
        if copied.is_some() && copied == inspected.full_len() {
            return self.record_old(inspected, file, sibling, context);
        }
        let content = if let Some(len) = copied.filter(|_| !inspected.compressed()) {
            Some(start_after_copy(file, len, context.generation_ids)?)
        } else if inspected.compressed() {
            Some(ContentFingerprint::new(context.generation_ids.generation(inspected.head()), inspected.head(), 0, 0, &[]))
        } else {
            Self::start_sibling(sibling, file, context)?
        };
        let Some(content) = content else { return Ok(SiblingAction::Ignore) };
        Ok(SiblingAction::Read(Box::new(reopen(content, inspected, sibling, context))))
    }

    /// A sibling that was there at the first look is not to be read; what comes to it later is.
    fn record_old(
        &mut self,
        inspected: &InspectedFile,
        file: &Arc<File>,
        sibling: &SiblingFile,
        context: &mut PollContext<'_>,
    ) -> io::Result<SiblingAction> {
        let generation = context.generation_ids.generation(inspected.head());
        let content = if inspected.compressed() {
            // Any length but none says that nothing of it is wanted.
            ContentFingerprint::new(generation, inspected.head(), inspected.likely_len().max(1), 0, &[])
        } else {
            let end = inspected.likely_len();
            ContentFingerprint::new(generation, inspected.head(), end, 0, &bytes_before(file, end)?)
        };
        self.old_generations.push(OldGeneration {
            content: content,
            id: sibling.stat.id,
            path: sibling.path.clone(),
            last_seen_scan: self.scans,
        });
        Ok(SiblingAction::Ignore)
    }

    /// Whether a text of this family was met in the folder that this file lies in.
    pub(super) fn is_in_rotated_folder(&self, path: &Path) -> bool {
        path.parent().is_some_and(|folder| self.rotated_folders.contains(folder))
    }

    fn record_folder(&mut self, sibling: &SiblingFile) {
        if let (true, Some(folder)) = (sibling.below, sibling.path.parent())
            && self.rotated_folders.insert(folder.to_owned())
        {
            self.finished_siblings.clear();
        }
    }

    fn mark_seen(&mut self, id: FileId) {
        for past in self.old_generations.iter_mut().filter(|past| past.id == id) {
            past.last_seen_scan = self.scans;
        }
    }
}

/// A log that is read to the end of a sibling.
fn reopen(content: ContentFingerprint, inspected: &mut InspectedFile, sibling: &SiblingFile, context: &mut PollContext<'_>) -> Generation {
    let reader = GenerationReader::new(inspected, content.offset);
    let mut log = Generation::new(sibling.path.clone(), reader, sibling.stat, Some(content), context.now);
    log.number = context.generation_ids.next();
    log.state = GenerationState::Draining;
    log
}
