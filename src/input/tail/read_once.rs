//! Reads everything that exists now and stops, for `report`, where `follow` would continue.
//!
//! Waits for nothing. A compressed file that is still being written and an unfinished line are left
//! for the next run. An unfinished line is returned only if its file cannot grow any more.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::content::ContentFingerprint;
use super::generation::{Generation, GenerationState};
use super::inspected_file::{FileStat, InspectedFile, head_of};
use super::siblings::SiblingFile;
use super::start::{StartAt, start_generation};
use super::watched_path::{OldGeneration, PathRole, PollContext, StateKnowledge, WatchedPath};
use super::{ExplicitInputs, LineChunk, Notice, Tail};
use crate::input::magic;
use crate::input::rotation::{RotationRank, path_without_compression_suffix};

/// A rotated file that was not modified for this long is considered final.
const FINAL_AFTER: Duration = Duration::from_secs(60);
/// Rounds needed to read, return the unfinished line, and close.
const ROUNDS: usize = 3;

impl Tail {
    /// Reads everything that exists now without waiting. Unfinished last lines are left, except in
    /// a compressed file, or in a rotated file that was not modified for a minute.
    #[cfg(test)]
    pub(crate) fn read_once(&mut self, now: Instant, each: &mut dyn FnMut(LineChunk<'_>)) {
        self.read_once_until(now, &AtomicBool::new(false), each);
    }

    /// Reads once, but ends early when `pause` is set: then more may be left to read, and the
    /// checkpoints are those of everything that was returned.
    pub(crate) fn read_once_until(
        &mut self,
        now: Instant,
        pause: &AtomicBool,
        each: &mut dyn FnMut(LineChunk<'_>),
    ) {
        for round in 0..ROUNDS {
            // The caller may have measured the first backlog.
            if round > 0 || !self.once {
                self.measure_backlog(now);
            }
            let mut has_new = false;
            let mut each = |lines: LineChunk<'_>| {
                has_new = true;
                each(lines);
            };
            while !pause.load(Ordering::Relaxed) && self.read(&mut each) {}
            if pause.load(Ordering::Relaxed) {
                return;
            }
            if !has_new && self.watched.iter().all(WatchedPath::is_at_rest) {
                break;
            }
        }
        let Self {
            watched, notices, ..
        } = self;
        for path in watched {
            path.report_missing(notices);
        }
    }

    /// Finds what there is to read without reading it. [`logs`](Self::logs) then gives the amount.
    pub(crate) fn measure_backlog(&mut self, now: Instant) {
        self.once = true;
        self.force_full_poll();
        self.poll(now, None);
    }

    /// Watches all paths that the arguments lead to.
    pub(super) fn discover_explicit(&mut self) {
        let mut explicit = ExplicitInputs::default();
        let candidates = self.discovery.all(&mut explicit, &mut self.notices);
        self.explicit = explicit;
        self.add_all(candidates);
    }
}

impl PollContext<'_> {
    /// Whether a sibling was named on the command line, or is being compressed from a file that
    /// was.
    fn is_explicit(&self, sibling: &SiblingFile) -> bool {
        let uncompressed = path_without_compression_suffix(&sibling.path);
        self.explicit.ids.contains(&sibling.stat.id)
            || uncompressed != sibling.path
                && self.explicit.paths.contains(&uncompressed)
                && !uncompressed.exists()
    }
}

impl WatchedPath {
    /// Whether a sibling of unknown content is recorded as old instead of read.
    pub(super) fn is_old_at_start(&self, sibling: &SiblingFile, poll: &PollContext<'_>) -> bool {
        if self.scans != 1 {
            return false;
        }
        self.start_at == StartAt::End
            || self.known == StateKnowledge::UnknownExplicitOnly && !poll.is_explicit(sibling)
    }

    /// Whether a sibling of unknown content does not belong to this path.
    pub(super) fn is_unrelated(&self, sibling: &SiblingFile, poll: &PollContext<'_>) -> bool {
        if poll.once && poll.is_explicit(sibling) {
            return false;
        }
        self.role == PathRole::NotRequested
            || sibling.below && !self.is_in_rotated_folder(&sibling.path)
    }

    /// Whether another round would find nothing, if this one read nothing: no scan is due, only a
    /// log that its path leads to is open, and what it contains is known. What is written from now
    /// on is left for the next run.
    fn is_at_rest(&self) -> bool {
        let is_known = |log: &Generation| log.content.is_some() || log.stat.size == 0;
        let rests = |log: &Generation| {
            log.state == GenerationState::Live && is_known(log) && !log.mismatched
        };
        self.scan_at.is_some() && self.undecided.is_none() && self.generations.iter().all(rests)
    }

    /// Reports a sibling that cannot be read once, and records it by its first bytes.
    pub(super) fn record_unreadable(
        &mut self,
        inspected: &InspectedFile,
        sibling: &SiblingFile,
        poll: &mut PollContext<'_>,
    ) -> io::Result<()> {
        let raw = head_of(inspected.file())?;
        let what = match (magic::detect(&raw), inspected.head_error()) {
            (Err(unread), _) => unread.to_string(),
            (Ok(Some(_)), Some(last_problem)) => last_problem.to_owned(),
            (Ok(_), _) => return Ok(()),
        };
        if let Some(known) = self
            .old_generations
            .iter_mut()
            .find(|old| old.content.offset > 0 && old.content.has_head(&raw))
        {
            known.last_seen_scan = self.scans;
            return Ok(());
        }
        if !self.is_old_at_start(sibling, poll) && !self.is_unrelated(sibling, poll) {
            poll.problem(&sibling.path, format!("cannot be read: {what}"));
        }
        let content = ContentFingerprint::new(
            poll.generation_ids.generation(&raw),
            &raw,
            sibling.stat.size.max(1),
            0,
            &[],
        );
        self.old_generations.push(OldGeneration::new(
            content,
            sibling.stat.id,
            sibling.path.clone(),
            self.scans,
        ));
        Ok(())
    }

    /// Starts a sibling; with its only line unfinished, if the file is final.
    pub(super) fn start_sibling(
        sibling: &SiblingFile,
        inspected: &InspectedFile,
        poll: &mut PollContext<'_>,
    ) -> io::Result<Option<ContentFingerprint>> {
        let start_at = if poll.once && sibling.stat.is_unmodified_for(FINAL_AFTER) {
            StartAt::PartialLine
        } else {
            StartAt::FirstLine
        };
        start_generation(inspected.file(), start_at, poll.generation_ids)
    }

    /// Whether a generation that its path does not lead to any more is closed when reading once:
    /// when it is final and was read to its end.
    pub(super) fn is_finished(log: &mut Generation) -> bool {
        match log.state {
            GenerationState::Done => true,
            GenerationState::Live
            | GenerationState::Truncated { .. }
            | GenerationState::Closing => false,
            GenerationState::Draining
                if log.is_compressed()
                    || log.mismatched
                    || !log.stat.is_unmodified_for(FINAL_AFTER) =>
            {
                false
            }
            GenerationState::Draining => {
                if log.caught_up && log.is_unfinished() {
                    log.state = GenerationState::Closing;
                }
                log.content.is_none() && log.stat.size > 0
            }
        }
    }

    /// Whether a sibling of unknown content is older than all known ones, by its number and by its
    /// modification time: then it was restored from a backup and is not new. Both are needed,
    /// because some tools count upwards and clocks change.
    pub(super) fn is_restored_backup(&self, sibling: &SiblingFile, poll: &PollContext<'_>) -> bool {
        let is_older = |(rank, stat): &(RotationRank, FileStat)| {
            sibling.rank.is_older(rank) && sibling.stat.is_before(stat)
        };
        self.known == StateKnowledge::Known
            && !poll.is_explicit(sibling)
            && !self.known_siblings.is_empty()
            && self.known_siblings.iter().all(is_older)
    }

    /// Reports paths and content that should have been read and were not found.
    fn report_missing(&mut self, notices: &mut Vec<Notice>) {
        let mut report = |what: String, problem| {
            notices.push(Notice {
                path: self.path.clone(),
                what,
                problem,
            });
        };
        let is_empty = self.generations.is_empty() && self.old_generations.is_empty();
        if self.named
            && self.role == PathRole::Log
            && self.missing.is_some()
            && (self.known != StateKnowledge::Known || is_empty)
        {
            report("no such file".to_owned(), true);
        }
        self.report_vanished(notices);
    }

    /// Reports the content of the checkpoint that no file has any more.
    pub(super) fn report_vanished(&mut self, notices: &mut Vec<Notice>) {
        for old in &mut self.old_generations {
            // The path led to this content when the checkpoint was written.
            let was_live = old.path == self.path && old.id != (0, 0) && old.content.offset > 0;
            if was_live && old.last_seen_scan < self.scans && self.role != PathRole::NotRequested {
                old.id = (0, 0);
                let read = old.content.offset;
                let what = format!(
                    "is not the log that was read up to byte {read}, and that log was not found: lines that were added to it since may have \
                     been passed over"
                );
                notices.push(Notice {
                    path: self.path.clone(),
                    what,
                    problem: false,
                });
            }
        }
    }
}
