//! Drains the generations that a path led to before, and closes them when no more data comes.
//!
//! A writer may keep a rotated file open for long, so the time without new data decides. A deleted
//! file occupies disk space while it is open, so that time is short, unless the writer may not have
//! opened a new file yet.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{io, mem};

use super::content::{ContentFingerprint, ContentMatch, IndexMatch};
use super::generation::{Generation, GenerationState};
use super::inspected_file::{FileStat, InspectedFile};
use super::siblings::is_copy;
use super::start::{StartAt, start_after_copy, start_generation, too_short};
use super::watched_path::{OldGeneration, PollContext, StateKnowledge, WatchedPath};
use super::{LineChunk, Notice, TailOptions, recognize};
use crate::input::find::InputOrigin;
use crate::input::read::Chunk;
use crate::log::source::HEAD;

/// A deleted file is closed after this time without new data. The search for the rest of truncated
/// content ends then too.
const CLOSE_DELETED_AFTER: Duration = Duration::from_secs(5);
/// A file that still has a name is closed after this time without new data.
const CLOSE_LINKED_AFTER: Duration = Duration::from_secs(60);
/// A deleted file of a path that has no line yet: the server may still write to it, until it opens
/// the path again.
const CLOSE_UNREPLACED_AFTER: Duration = Duration::from_secs(60);
/// Maximum number of open old generations per path.
const MAX_OPEN: usize = 64;

impl WatchedPath {
    /// Checks for new data in generations that the path no longer leads to.
    pub(super) fn poll_old(&mut self, poll: &mut PollContext<'_>) {
        self.lose_replaced();
        let mut changed = false;
        let is_polled = |log: &&mut Generation| {
            log.state != GenerationState::Live && log.has_file() && !log.is_compressed()
        };
        for log in self.generations.iter_mut().filter(is_polled) {
            let stat = match log.current_stat() {
                Ok(Some(stat)) => stat,
                Ok(None) => continue,
                Err(error) => {
                    poll.notices.extend(log.failed(&error));
                    continue;
                }
            };
            if stat.links == 0 {
                log.unlinked_since.get_or_insert(poll.now);
            }
            if stat == log.stat && !log.mismatched && !stat.is_recent() {
                continue;
            }
            if stat.size != log.stat.size {
                log.quiet_since = poll.now;
            }
            let holds = match log.reopen() {
                Ok(true) if stat.size < log.offset() => Ok(false),
                Ok(true) => log.holds(),
                // Its path leads to another file since its metadata were read; the next poll finds
                // that.
                Ok(false) => continue,
                Err(error) => Err(error),
            };
            if let Err(error) = &holds {
                poll.notices.extend(log.failed(error));
            }
            log.stat = stat;
            log.mismatched = log.content.is_some() && matches!(holds, Ok(false));
            changed |= log.mismatched || log.content.is_none();
        }
        if changed {
            self.restart_changed_files(poll);
        }
    }

    /// Gives up old generations whose closed files no scan found under another name.
    fn lose_replaced(&mut self) {
        let scans = self.scans;
        let is_lost = |log: &Generation| {
            log.state != GenerationState::Live
                && log.is_closed()
                && log.retired_scan < scans
                && matches!(log.current_stat(), Ok(None))
        };
        while let Some(index) = self.generations.iter().position(is_lost) {
            self.lose_closed(index);
        }
    }

    /// Starts new generations for old files with new content.
    fn restart_changed_files(&mut self, poll: &mut PollContext<'_>) {
        while let Some(index) = self
            .generations
            .iter()
            .position(|log| log.mismatched && log.state != GenerationState::Live)
        {
            self.split_generation(index, poll);
        }
        let empty = |log: &&Generation| {
            log.state == GenerationState::Draining && log.content.is_none() && log.stat.size > 0
        };
        let started: Vec<_> = self
            .generations
            .iter()
            .filter(empty)
            .map(|log| log.stat)
            .collect();
        for stat in started {
            self.start_old(stat, poll);
        }
    }

    /// Starts a generation in a file that was empty when it was rotated, or was truncated since.
    fn start_old(&mut self, stat: FileStat, poll: &mut PollContext<'_>) {
        let Some(log) = self
            .generations
            .iter()
            .find(|log| log.stat.id == stat.id && log.content.is_none())
        else {
            return;
        };
        let Some(file) = log.file() else { return };
        let (is_rewritten, path) = (log.is_rewritten, log.path.clone());
        let identified = self.identify_old(&file, stat, (is_rewritten, &path), poll);
        let Some(log) = self
            .generations
            .iter_mut()
            .find(|log| log.stat.id == stat.id && log.content.is_none())
        else {
            return;
        };
        match identified {
            Ok(Some(content)) => log.set_content(content, poll.generation_ids.next()),
            Ok(None) => {}
            Err(error) => poll.notices.extend(log.failed(&error)),
        }
    }

    /// Identifies the content of such a file: a copy, the content of another path, or new. `None`
    /// if it is too short, or if the live file or other paths must be checked first.
    fn identify_old(
        &mut self,
        file: &Arc<File>,
        stat: FileStat,
        (is_rewritten, path): (bool, &Path),
        poll: &mut PollContext<'_>,
    ) -> io::Result<Option<ContentFingerprint>> {
        let mut inspected = InspectedFile::new(file)?;
        if too_short(inspected.head()) {
            return Ok(None);
        }
        if self.is_copy_of_live(is_rewritten, &mut inspected) {
            self.repoll(stat);
            return Ok(None);
        }
        if let Some(len) = self.copied_from_another(is_rewritten, stat, &mut inspected) {
            return start_after_copy(file, len, poll.generation_ids).map(Some);
        }
        match poll.find_elsewhere(path, [Some(stat.id), self.alias], &mut inspected)? {
            None => {
                self.undecided = Some(stat.size);
                self.repoll(stat);
                Ok(None)
            }
            Some(IndexMatch::Moved(content)) => Ok(Some(content)),
            Some(IndexMatch::Copy(len) | IndexMatch::PartialCopy(len)) => {
                start_after_copy(file, len, poll.generation_ids).map(Some)
            }
            Some(IndexMatch::None) => {
                start_generation(file, StartAt::FirstLine, poll.generation_ids)
            }
        }
    }

    /// Whether a file is a copy of the live one, which has no content yet: the start of the live
    /// one is decided first.
    fn is_copy_of_live(&self, is_rewritten: bool, inspected: &mut InspectedFile) -> bool {
        let Some(live) = self
            .generations
            .last()
            .filter(|log| log.state == GenerationState::Live && log.content.is_none())
        else {
            return false;
        };
        (is_rewritten || proves_copy(inspected)) && is_copy(live, inspected).unwrap_or(false)
    }

    /// Makes the next poll treat a file without content as changed.
    pub(super) fn repoll(&mut self, stat: FileStat) {
        if let Some(log) = self
            .generations
            .iter_mut()
            .find(|log| log.stat.id == stat.id && log.content.is_none())
        {
            log.stat.size = 0;
        }
    }

    /// Number of first bytes of a file that are a copy of another generation's content: all, if
    /// that generation's file has them too, otherwise those that were read. A few lines in a file
    /// that was empty may be other lines with the same bytes, unless their own file was truncated.
    fn copied_from_another(
        &self,
        is_rewritten: bool,
        stat: FileStat,
        inspected: &mut InspectedFile,
    ) -> Option<u64> {
        let is_proof = is_rewritten || proves_copy(inspected);
        let others = self
            .generations
            .iter()
            .filter(|log| log.stat.id != stat.id || !log.has_file());
        let mut copied = None;
        for log in others.filter(|log| is_proof || !log.has_file()) {
            let Some(content) = &log.content else {
                continue;
            };
            if log.file().is_some() && is_copy(log, inspected).unwrap_or(false) {
                copied = copied.max(Some(inspected.likely_len()));
            } else if matches!(content.compare(inspected), Ok(ContentMatch::Same)) {
                copied = copied.max(Some(content.offset));
            }
        }
        copied
    }

    /// Closes generations that are done.
    pub(super) fn close_finished(&mut self, poll: &mut PollContext<'_>) {
        let logs = mem::take(&mut self.generations);
        let has_new = logs
            .iter()
            .any(|log| log.state == GenerationState::Live && log.content.is_some());
        for mut log in logs {
            let should_close = if poll.once {
                Self::is_finished(&mut log)
            } else {
                should_close(&mut log, has_new, poll)
            };
            if should_close && !start_unfinished(&mut log, poll) {
                self.files_changed = true;
                self.close_old(log, poll);
            } else {
                self.generations.push(log);
            }
        }
        let open = self
            .generations
            .iter()
            .filter(|log| log.state == GenerationState::Draining && log.caught_up)
            .count();
        for _ in MAX_OPEN..open {
            let closable = self
                .generations
                .iter_mut()
                .filter(|log| log.state == GenerationState::Draining && log.caught_up);
            if let Some(log) = closable.min_by_key(|log| log.quiet_since) {
                log.state = GenerationState::Closing;
            }
        }
    }

    /// Closes a generation and keeps only its fingerprint.
    fn close_old(&mut self, log: Generation, poll: &mut PollContext<'_>) {
        if let Some(damage) = log.damage().filter(|_| !log.is_unchanged_since_resume()) {
            poll.problem(&log.path, format!("is damaged: {damage}"));
        }
        let id = if log.stat.links == 0 {
            (0, 0)
        } else {
            log.stat.id
        };
        self.search_until_scan = self.scans + recognize::MAX_SEARCH_SCANS;
        if let Some(content) = log.content {
            self.old_generations
                .push(OldGeneration::new(content, id, log.path, self.scans));
        }
    }

    /// Reads at most one block of each generation with new data, older ones first. Returns whether
    /// more can be read at once.
    pub(super) fn read(
        &mut self,
        options: &TailOptions,
        buffer: &mut Vec<u8>,
        notices: &mut Vec<Notice>,
        each: &mut dyn FnMut(LineChunk<'_>),
    ) -> bool {
        let facts = (
            InputOrigin::new(self.named, self.from_pattern),
            self.known != StateKnowledge::Known,
        );
        let (mut more, mut lost) = (false, None);
        for (index, log) in self.generations.iter_mut().enumerate() {
            let waited = Self::is_blocking(log);
            if log.has_more() {
                match log.reopen() {
                    Ok(true) => more |= read_log(log, facts, options, buffer, notices, each),
                    Ok(false) => {
                        lost = Some(index);
                        break;
                    }
                    Err(error) => {
                        notices.extend(log.failed(&error));
                        log.caught_up = true;
                    }
                }
            }
            if Self::is_blocking(log) {
                break;
            }
            // Generations that waited for this one can be read at once.
            more |= waited;
        }
        if let Some(index) = lost {
            // The next poll finds it under another name, before later ones are read.
            self.lose_closed(index);
        }
        more
    }
}

/// Whether a file holds so much that another one with the same beginning is a copy.
pub(super) fn proves_copy(inspected: &InspectedFile) -> bool {
    inspected.head().len() == HEAD
}

/// Starts a generation in a file that never had a whole line, so that its unfinished line is
/// returned before it is closed. Returns whether it has content now.
fn start_unfinished(log: &mut Generation, poll: &mut PollContext<'_>) -> bool {
    if log.content.is_some() || log.stat.size == 0 {
        return false;
    }
    let Some(file) = log.file() else { return false };
    match start_generation(&file, StartAt::PartialLine, poll.generation_ids) {
        Ok(Some(content)) => {
            log.set_content(content, poll.generation_ids.next());
            log.state = GenerationState::Closing;
            true
        }
        Ok(None) => false,
        Err(error) => {
            poll.notices.extend(log.failed(&error));
            false
        }
    }
}

/// Reads one block of a generation. Returns whether more can be read at once.
fn read_log(
    log: &mut Generation,
    (origin, fresh): (InputOrigin, bool),
    options: &TailOptions,
    buffer: &mut Vec<u8>,
    notices: &mut Vec<Notice>,
    each: &mut dyn FnMut(LineChunk<'_>),
) -> bool {
    let path = mem::take(&mut log.path);
    let (number, generation) = (
        log.number,
        log.content.as_ref().map_or(0, |content| content.generation),
    );
    let mut take = |lines_before: u64, chunk: Chunk<'_>| {
        each(LineChunk {
            log: number,
            generation,
            path: &path,
            origin,
            fresh,
            lines_before,
            chunk,
        });
    };
    let read = log.read(options.block, options.max_line, buffer, &mut take);
    log.path = path;
    match read {
        Ok(more) => more,
        Err(error) => {
            notices.extend(log.failed(&error));
            // It is read again later; no other generation waits for that.
            log.caught_up = true;
            false
        }
    }
}

/// Whether a generation is to be closed now; `has_new` if its path has lines of a newer one. An
/// unfinished line is returned first.
fn should_close(log: &mut Generation, has_new: bool, poll: &PollContext<'_>) -> bool {
    let quiet = poll.now.saturating_duration_since(log.quiet_since);
    match log.state {
        GenerationState::Live => false,
        GenerationState::Truncated { .. } => quiet >= CLOSE_DELETED_AFTER,
        GenerationState::Done => true,
        GenerationState::Closing => log.mismatched || log.content.is_none(),
        GenerationState::Draining if log.is_compressed() => false,
        GenerationState::Draining if log.mismatched => true,
        GenerationState::Draining => {
            let is_deleted = log.unlinked_since.is_some();
            let limit = match (is_deleted, has_new) {
                (true, true) => CLOSE_DELETED_AFTER,
                (true, false) => CLOSE_UNREPLACED_AFTER,
                (false, _) => CLOSE_LINKED_AFTER,
            };
            // Too short to be recognized if it grows after it was closed.
            let weak = log.content.is_none() && log.stat.size > 0 && !is_deleted;
            let over = !weak
                && (log.content.is_none() || log.caught_up)
                && quiet >= limit
                && log.is_read();
            if over && (log.is_unfinished() || log.has_more()) {
                log.state = GenerationState::Closing;
                return false;
            }
            over
        }
    }
}
