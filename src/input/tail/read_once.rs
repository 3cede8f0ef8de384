//! Reads everything that is there now, and leaves: what `report` does where `follow` stays.
//!
//! Waits for nothing. What is not finished, a packed file that is being written or a line without its end, is left for
//! the next time; only where nothing more can come is an unfinished line told.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::content::ContentFingerprint;
use super::file_stat::FileStat;
use super::generation::{Generation, GenerationState};
use super::inspected_file::{InspectedFile, head_of};
use super::siblings::SiblingFile;
use super::start::{StartAt, start_generation};
use super::watched_path::{OldGeneration, PathRole, PollContext, StateKnowledge, WatchedPath};
use super::{ExplicitInputs, LineChunk, Notice, Tail};
use crate::input::magic;
use crate::input::rotation_names::{RotationRank, path_without_compression_suffix};

/// To a rotated file that nobody wrote to for so long nothing more comes.
const FINAL_AFTER: Duration = Duration::from_secs(60);
/// Read, told to the end, closed.
const ROUNDS: usize = 3;

impl Tail {
    /// Reads everything that is there now, and waits for nothing. Unfinished last lines stay, unless nothing more can come:
    /// to a packed file, or to a rotated one that was not written to for a minute.
    pub fn read_once(&mut self, now: Instant, each: &mut dyn FnMut(LineChunk<'_>)) {
        self.read_once_until(now, &AtomicBool::new(false), each);
    }

    /// The same, but ends when `stop` is set: how far it came then says nothing that is to be kept.
    pub fn read_once_until(&mut self, now: Instant, stop: &AtomicBool, each: &mut dyn FnMut(LineChunk<'_>)) {
        for _ in 0..ROUNDS {
            self.measure_backlog(now);
            while !stop.load(Ordering::Relaxed) && self.read(now, each) {}
        }
        let Self { watched, notices, .. } = self;
        for path in watched {
            path.report_missing(notices);
        }
    }

    /// Sees what there is to read, without reading it: [`logs`](Self::logs) then says how much that is.
    pub fn measure_backlog(&mut self, now: Instant) {
        self.once = true;
        self.force_full_poll();
        self.poll(now, None);
    }

    /// Makes places of all that the arguments lead to.
    pub(super) fn discover_explicit(&mut self) {
        let mut given = ExplicitInputs::default();
        let candidates = self.discovery.all(&mut given, &mut self.notices);
        self.given = given;
        for candidate in candidates {
            if self.is_full(&candidate) {
                return;
            }
            self.add(candidate);
        }
    }
}

impl PollContext<'_> {
    /// Whether a sibling was given, or is packed just now from one that was.
    fn is_explicit(&self, sibling: &SiblingFile) -> bool {
        let unpacked = path_without_compression_suffix(&sibling.path);
        self.given.ids.contains(&sibling.stat.id) || unpacked != sibling.path && self.given.paths.contains(&unpacked) && !unpacked.exists()
    }
}

impl WatchedPath {
    /// Whether a sibling whose text nobody knows is not to be read.
    pub(super) fn is_old_at_start(&self, sibling: &SiblingFile, context: &PollContext<'_>) -> bool {
        if self.scans != 1 {
            return false;
        }
        self.start_at == StartAt::End || self.known == StateKnowledge::UnknownExplicitOnly && !context.is_explicit(sibling)
    }

    /// Whether a sibling whose text nobody knows is nothing to this place.
    pub(super) fn is_unrelated(&self, sibling: &SiblingFile, context: &PollContext<'_>) -> bool {
        if context.once && context.is_explicit(sibling) {
            return false;
        }
        self.role == PathRole::NotRequested || sibling.below && !self.is_in_rotated_folder(&sibling.path)
    }

    /// Says, once, that a sibling holds what cannot be read, and notes it by its first bytes.
    pub(super) fn record_unreadable(
        &mut self,
        inspected: &InspectedFile,
        file: &Arc<File>,
        sibling: &SiblingFile,
        context: &mut PollContext<'_>,
    ) -> io::Result<()> {
        let raw = head_of(file)?;
        let what = match (magic::detect(&raw), inspected.head_error()) {
            (Err(unread), _) => unread.to_string(),
            (Ok(Some(_)), Some(last_problem)) => last_problem.to_owned(),
            (Ok(_), _) => return Ok(()),
        };
        if let Some(known) = self.old_generations.iter_mut().find(|past| past.content.offset > 0 && past.content.has_head(&raw)) {
            known.last_seen_scan = self.scans;
            return Ok(());
        }
        if !self.is_old_at_start(sibling, context) && !self.is_unrelated(sibling, context) {
            context.problem(&sibling.path, format!("cannot be read: {what}"));
        }
        let content = ContentFingerprint::new(context.generation_ids.generation(&raw), &raw, sibling.stat.size.max(1), 0, &[]);
        self.old_generations.push(OldGeneration {
            content: content,
            id: sibling.stat.id,
            path: sibling.path.clone(),
            last_seen_scan: self.scans,
        });
        Ok(())
    }

    /// Begins with the one line of a sibling that has no whole one, if none can become of it.
    pub(super) fn start_sibling(
        sibling: &SiblingFile,
        file: &Arc<File>,
        context: &mut PollContext<'_>,
    ) -> io::Result<Option<ContentFingerprint>> {
        let how = if context.once && sibling.stat.is_unmodified_for(FINAL_AFTER) { StartAt::PartialLine } else { StartAt::FirstLine };
        start_generation(file, how, context.generation_ids)
    }

    /// Whether a log that its path does not lead to any more is to be closed, in one reading: when nothing more can come
    /// and it was told to its end.
    pub(super) fn is_finished(log: &mut Generation) -> bool {
        match log.state {
            GenerationState::Done => true,
            GenerationState::Live | GenerationState::Truncated { .. } | GenerationState::Closing => false,
            GenerationState::Draining if log.is_compressed() || log.mismatched || !log.stat.is_unmodified_for(FINAL_AFTER) => false,
            GenerationState::Draining => {
                if log.caught_up && log.is_unfinished() {
                    log.state = GenerationState::Closing;
                }
                log.content.is_none() && log.stat.size > 0
            }
        }
    }

    /// Whether a sibling whose text nobody knows is older than all that are known, by its number and by its time: it was put
    /// there since, and is nothing new. One of the two alone proves nothing: some count upwards, and clocks are set.
    pub(super) fn is_restored_backup(&self, sibling: &SiblingFile, context: &PollContext<'_>) -> bool {
        let is_older = |(rank, stat): &(RotationRank, FileStat)| sibling.rank.is_older(rank) && sibling.stat.is_before(stat);
        self.known == StateKnowledge::Known
            && !context.is_explicit(sibling)
            && !self.known_siblings.is_empty()
            && self.known_siblings.iter().all(is_older)
    }

    /// Says what was to be read and is not to be found.
    fn report_missing(&mut self, notices: &mut Vec<Notice>) {
        let mut say = |what: String, problem| notices.push(Notice { path: self.path.clone(), what, problem });
        let is_empty = self.generations.is_empty() && self.old_generations.is_empty();
        if self.named && self.role == PathRole::Generation && self.missing.is_some() && (self.known != StateKnowledge::Known || is_empty) {
            say("no such file".to_owned(), true);
        }
        for past in &mut self.old_generations {
            // What the path led to when the state was kept.
            let was_live = past.path == self.path && past.id != (0, 0) && past.content.offset > 0;
            if was_live && past.last_seen_scan < self.scans && self.role != PathRole::NotRequested {
                past.id = (0, 0);
                let read = past.content.offset;
                say(format!("is another log than the one that was read up to byte {read}, and that is not to be found any more"), false);
            }
        }
    }
}
