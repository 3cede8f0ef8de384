//! Reads everything that is there now, and leaves: what `report` does where `follow` stays.
//!
//! Waits for nothing. What is not finished, a packed file that is being written or a line without its end, is left for
//! the next time; only where nothing more can come is an unfinished line told.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::content::Text;
use super::file_stat::Stamp;
use super::generation::{Log, Role};
use super::inspected_file::{Probe, head_of};
use super::siblings::Sibling;
use super::start::{Begin, begin};
use super::watched_path::{Known, Leads, Past, Place, Surroundings};
use super::{Given, Notice, Piece, Tail};
use crate::input::magic;
use crate::input::rotation_names::{Rank, unpacked_path};

/// To a rotated file that nobody wrote to for so long nothing more comes.
const RESTED: Duration = Duration::from_secs(60);
/// Read, told to the end, closed.
const ROUNDS: usize = 3;

impl Tail {
    /// Reads everything that is there now, and waits for nothing. Unfinished last lines stay, unless nothing more can come:
    /// to a packed file, or to a rotated one that was not written to for a minute.
    pub fn catch_up(&mut self, now: Instant, each: &mut dyn FnMut(Piece<'_>)) {
        self.catch_up_until(now, &AtomicBool::new(false), each);
    }

    /// The same, but ends when `stop` is set: how far it came then says nothing that is to be kept.
    pub fn catch_up_until(&mut self, now: Instant, stop: &AtomicBool, each: &mut dyn FnMut(Piece<'_>)) {
        for _ in 0..ROUNDS {
            self.survey(now);
            while !stop.load(Ordering::Relaxed) && self.read(now, each) {}
        }
        let Self { places, notices, .. } = self;
        for place in places {
            place.tell_absence(notices);
        }
    }

    /// Sees what there is to read, without reading it: [`logs`](Self::logs) then says how much that is.
    pub fn survey(&mut self, now: Instant) {
        self.once = true;
        self.wake();
        self.look(now, None);
    }

    /// Makes places of all that the arguments lead to.
    pub(super) fn discover_all(&mut self) {
        let mut given = Given::default();
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

impl Surroundings<'_> {
    /// Whether a sibling was given, or is packed just now from one that was.
    fn is_given(&self, sibling: &Sibling) -> bool {
        let unpacked = unpacked_path(&sibling.path);
        self.given.ids.contains(&sibling.stamp.id) || unpacked != sibling.path && self.given.paths.contains(&unpacked) && !unpacked.exists()
    }
}

impl Place {
    /// Whether a sibling whose text nobody knows is not to be read.
    pub(super) fn is_to_be_noted(&self, sibling: &Sibling, around: &Surroundings<'_>) -> bool {
        if self.scans != 1 {
            return false;
        }
        self.begin == Begin::End || self.known == Known::NotAndOnlyGiven && !around.is_given(sibling)
    }

    /// Whether a sibling whose text nobody knows is nothing to this place.
    pub(super) fn is_foreign(&self, sibling: &Sibling, around: &Surroundings<'_>) -> bool {
        if around.once && around.is_given(sibling) {
            return false;
        }
        self.leads == Leads::Nowhere || sibling.below && !self.is_ours(&sibling.path)
    }

    /// Says, once, that a sibling holds what cannot be read, and notes it by its first bytes.
    pub(super) fn refuse(&mut self, probe: &Probe, file: &Arc<File>, sibling: &Sibling, around: &mut Surroundings<'_>) -> io::Result<()> {
        let raw = head_of(file)?;
        let what = match (magic::packing(&raw), probe.trouble()) {
            (Err(unread), _) => unread.to_string(),
            (Ok(Some(_)), Some(trouble)) => trouble.to_owned(),
            (Ok(_), _) => return Ok(()),
        };
        if let Some(known) = self.past.iter_mut().find(|past| past.text.offset > 0 && past.text.is_begun_by(&raw)) {
            known.met = self.scans;
            return Ok(());
        }
        if !self.is_to_be_noted(sibling, around) && !self.is_foreign(sibling, around) {
            around.problem(&sibling.path, format!("cannot be read: {what}"));
        }
        let text = Text::new(around.numbers.generation(&raw), &raw, sibling.stamp.size.max(1), 0, &[]);
        self.past.push(Past { text, id: sibling.stamp.id, path: sibling.path.clone(), met: self.scans });
        Ok(())
    }

    /// Begins with the one line of a sibling that has no whole one, if none can become of it.
    pub(super) fn begin_rested(sibling: &Sibling, file: &Arc<File>, around: &mut Surroundings<'_>) -> io::Result<Option<Text>> {
        let how = if around.once && sibling.stamp.has_rested(RESTED) { Begin::Last } else { Begin::Start };
        begin(file, how, around.numbers)
    }

    /// Whether a log that its path does not lead to any more is to be closed, in one reading: when nothing more can come
    /// and it was told to its end.
    pub(super) fn is_finished(log: &mut Log) -> bool {
        match log.role {
            Role::Done => true,
            Role::Live | Role::Lost { .. } | Role::Closing => false,
            Role::Draining if log.is_packed() || log.suspect || !log.stamp.has_rested(RESTED) => false,
            Role::Draining => {
                if log.caught_up && log.is_unfinished() {
                    log.role = Role::Closing;
                }
                log.text.is_none() && log.stamp.size > 0
            }
        }
    }

    /// Whether a sibling whose text nobody knows is older than all that are known, by its number and by its time: it was put
    /// there since, and is nothing new. One of the two alone proves nothing: some count upwards, and clocks are set.
    pub(super) fn is_put_there(&self, sibling: &Sibling, around: &Surroundings<'_>) -> bool {
        let is_older = |(rank, stamp): &(Rank, Stamp)| sibling.rank.is_older(rank) && sibling.stamp.is_before(stamp);
        self.known == Known::Yes && !around.is_given(sibling) && !self.known_siblings.is_empty() && self.known_siblings.iter().all(is_older)
    }

    /// Says what was to be read and is not to be found.
    fn tell_absence(&mut self, notices: &mut Vec<Notice>) {
        let mut say = |what: String, problem| notices.push(Notice { path: self.path.clone(), what, problem });
        let is_empty = self.logs.is_empty() && self.past.is_empty();
        if self.named && self.leads == Leads::Log && self.missing.is_some() && (self.known != Known::Yes || is_empty) {
            say("no such file".to_owned(), true);
        }
        for past in &mut self.past {
            // What the path led to when the state was kept.
            let was_live = past.path == self.path && past.id != (0, 0) && past.text.offset > 0;
            if was_live && past.met < self.scans && self.leads != Leads::Nowhere {
                past.id = (0, 0);
                let read = past.text.offset;
                say(format!("is another log than the one that was read up to byte {read}, and that is not to be found any more"), false);
            }
        }
    }
}
