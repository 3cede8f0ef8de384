//! Reads on in the logs that a path led to before, and closes them when nothing comes any more.
//!
//! A writer may hold a rotated file for long, so quiet is what counts; but a deleted file takes up its disk as long as
//! it is open, so there is an end to it.

use std::fs::File;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::content::ContentMatch;
use super::file_stat::FileStat;
use super::generation::{Generation, GenerationState, ReadStep};
use super::inspected_file::InspectedFile;
use super::siblings::is_copy;
use super::start::{StartAt, start_after_copy, start_generation};
use super::watched_path::{OldGeneration, PollContext, StateKnowledge, WatchedPath};
use super::{LineChunk, TailOptions, moved_files};
use crate::input::chunk::Chunk;

/// A file without a name is closed when it was quiet for so long; a lost text is given up.
const QUIET: Duration = Duration::from_secs(5);
/// A file that still has a name is.
const QUIET_LINKED: Duration = Duration::from_secs(60);
/// A file without a name is closed after so long in any case.
const UNLINKED: Duration = Duration::from_secs(60);
/// Logs of one path that are open beside the live one.
const OPEN: usize = 64;

impl WatchedPath {
    /// Looks whether anything came to the logs that the path does not lead to any more.
    pub(super) fn poll_old(&mut self, context: &mut PollContext<'_>) {
        let mut changed = false;
        for log in self.generations.iter_mut().filter(|log| log.state != GenerationState::Live) {
            let Some(Ok(metadata)) = log.file().map(|file| file.metadata()) else { continue };
            let stat = FileStat::from_metadata(&metadata);
            if stat.links == 0 {
                log.unlinked_since.get_or_insert(context.now);
            }
            if stat == log.stat && !log.mismatched {
                continue;
            }
            if stat.size != log.stat.size {
                log.quiet_since = context.now;
            }
            log.stat = stat;
            log.mismatched = log.content.is_some() && (stat.size < log.offset() || matches!(log.holds(), Ok(false)));
            changed |= log.mismatched || log.content.is_none();
        }
        if changed {
            self.restart_changed_files(context);
        }
    }

    /// Gives a text to the files of old logs that hold a new one.
    fn restart_changed_files(&mut self, context: &mut PollContext<'_>) {
        while let Some(index) = self.generations.iter().position(|log| log.mismatched && log.state != GenerationState::Live) {
            self.split_generation(index, context);
        }
        let empty = |log: &&Generation| log.state == GenerationState::Draining && log.content.is_none() && log.stat.size > 0;
        let started: Vec<_> = self.generations.iter().filter(empty).map(|log| log.stat).collect();
        for stat in started {
            self.start_old(stat, context);
        }
    }

    /// A file that was empty when it was rotated away, or was truncated since, holds text now.
    fn start_old(&mut self, stat: FileStat, context: &mut PollContext<'_>) {
        let Some(log) = self.generations.iter().find(|log| log.stat.id == stat.id && log.content.is_none()) else { return };
        let Some(file) = log.file().map(Arc::clone) else { return };
        // What comes to a file that was held while it was empty is new, whatever copies there may be of it.
        let is_rewritten = log.is_rewritten;
        if is_rewritten && self.is_copy_of_live(&file) {
            self.repoll(stat);
            return;
        }
        let copied = if is_rewritten { self.copied_from_another(&file, stat) } else { None };
        let begun = match copied {
            Some(len) => start_after_copy(&file, len, context.generation_ids).map(Some),
            None => start_generation(&file, StartAt::FirstLine, context.generation_ids),
        };
        let Ok(Some(content)) = begun else { return };
        let number = context.generation_ids.next();
        if let Some(log) = self.generations.iter_mut().find(|log| log.stat.id == stat.id && log.content.is_none()) {
            log.set_content(content, number);
        }
    }

    /// Whether a file is a copy of the live one, which has no text yet: where that one begins is to be decided first.
    fn is_copy_of_live(&self, file: &Arc<File>) -> bool {
        let Some(live) = self.generations.last().filter(|log| log.state == GenerationState::Live && log.content.is_none()) else {
            return false;
        };
        InspectedFile::new(file).and_then(|mut probe| is_copy(live, &mut probe)).unwrap_or(false)
    }

    /// Has the next look take a file without a text for one that changed.
    fn repoll(&mut self, stat: FileStat) {
        if let Some(log) = self.generations.iter_mut().find(|log| log.stat.id == stat.id && log.content.is_none()) {
            log.stat.size = 0;
        }
    }

    /// The bytes at the beginning of a file that are known from another log: all of them where the log's own file holds the same,
    /// and else as many as were read of that.
    fn copied_from_another(&self, file: &Arc<File>, stat: FileStat) -> Option<u64> {
        let mut inspected = InspectedFile::new(file).ok()?;
        let others = self.generations.iter().filter(|log| log.stat.id != stat.id || matches!(log.state, GenerationState::Truncated { .. }));
        let mut copied = None;
        for log in others {
            let Some(content) = &log.content else { continue };
            if log.file().is_some() && is_copy(log, &mut inspected).unwrap_or(false) {
                copied = copied.max(Some(inspected.likely_len()));
            } else if matches!(content.compare(&mut inspected), Ok(ContentMatch::Same)) {
                copied = copied.max(Some(content.offset));
            }
        }
        copied
    }

    /// Closes what is done with.
    pub(super) fn close_finished(&mut self, context: &mut PollContext<'_>) {
        let logs = mem::take(&mut self.generations);
        for mut log in logs {
            let should_close = if context.once { Self::is_finished(&mut log) } else { should_close(&mut log, context) };
            if should_close && !start_unfinished(&mut log, context) {
                self.moved = true;
                self.close_old(log, context);
            } else {
                self.generations.push(log);
            }
        }
        let open = self.generations.iter().filter(|log| log.state == GenerationState::Draining && log.caught_up).count();
        for _ in OPEN..open {
            let closable = self.generations.iter_mut().filter(|log| log.state == GenerationState::Draining && log.caught_up);
            if let Some(log) = closable.min_by_key(|log| log.quiet_since) {
                log.state = GenerationState::Closing;
            }
        }
    }

    /// Keeps of a log only what its text is known by.
    fn close_old(&mut self, log: Generation, context: &mut PollContext<'_>) {
        if let Some(damage) = log.damage().filter(|_| !log.is_unchanged_since_resume()) {
            context.problem(&log.path, format!("is damaged: {damage}"));
        }
        let id = if log.stat.links == 0 { (0, 0) } else { log.stat.id };
        self.search_until_scan = self.scans + moved_files::SCANS;
        if let Some(content) = log.content {
            self.old_generations.push(OldGeneration { content: content, id, path: log.path, last_seen_scan: self.scans });
        }
    }

    /// Gives at most one block of each log that has something new, the older logs first; whether there is more at once.
    pub(super) fn read(&mut self, options: &TailOptions, buffer: &mut Vec<u8>, each: &mut dyn FnMut(LineChunk<'_>)) -> bool {
        let mut more = false;
        for log in &mut self.generations {
            let waited = Self::is_blocking(log);
            if log.has_more() {
                more |= read_log(log, (self.named, self.from_pattern, self.known != StateKnowledge::Known), options, buffer, each);
            }
            if Self::is_blocking(log) {
                break;
            }
            // What waited for this log can go on at once.
            more |= waited;
        }
        more
    }
}

/// Gives a text to a file that never held a whole line, so that what it holds is told before it is closed; whether it
/// has one now.
fn start_unfinished(log: &mut Generation, context: &mut PollContext<'_>) -> bool {
    let Some(file) = log.file().filter(|_| log.content.is_none()).map(Arc::clone) else { return false };
    let Ok(Some(content)) = start_generation(&file, StartAt::PartialLine, context.generation_ids) else { return false };
    log.set_content(content, context.generation_ids.next());
    log.state = GenerationState::Closing;
    true
}

/// Gives one block of a log; whether there is more at once.
fn read_log(
    log: &mut Generation,
    (named, from_pattern, fresh): (bool, bool, bool),
    options: &TailOptions,
    buffer: &mut Vec<u8>,
    each: &mut dyn FnMut(LineChunk<'_>),
) -> bool {
    let path = mem::take(&mut log.path);
    let (number, generation) = (log.number, log.content.as_ref().map_or(0, |content| content.generation));
    let mut take = |lines_before: u64, chunk: Chunk<'_>| {
        each(LineChunk { log: number, generation, path: &path, named, from_pattern, fresh, lines_before, chunk });
    };
    let turn = log.read(options.block, options.max_line, buffer, &mut take);
    log.path = path;
    // What cannot be read now is tried again when something happens to it, and nothing waits for that.
    log.caught_up |= turn.is_err();
    turn.unwrap_or(ReadStep::End) == ReadStep::More
}

/// Whether a log is to be closed now. One with an unfinished line has that told first.
fn should_close(log: &mut Generation, context: &PollContext<'_>) -> bool {
    let quiet = context.now.saturating_duration_since(log.quiet_since);
    match log.state {
        GenerationState::Live => false,
        GenerationState::Truncated { .. } => quiet >= QUIET,
        GenerationState::Done => true,
        GenerationState::Closing => log.mismatched || log.content.is_none(),
        GenerationState::Draining if log.is_compressed() => false,
        GenerationState::Draining if log.mismatched => true,
        GenerationState::Draining => {
            let unlinked = log.unlinked_since.map(|since| context.now.saturating_duration_since(since));
            let limit = if unlinked.is_some() { QUIET } else { QUIET_LINKED };
            // Too little to be known again by, once it is closed and goes on.
            let weak = log.content.is_none() && log.stat.size > 0 && unlinked.is_none();
            let read = !weak && (log.content.is_none() || log.caught_up);
            let over = read && (quiet >= limit && log.is_read() || unlinked.is_some_and(|since| since >= UNLINKED));
            if over && (log.is_unfinished() || log.has_more()) {
                log.state = GenerationState::Closing;
                return false;
            }
            over
        }
    }
}
