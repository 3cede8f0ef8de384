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

use super::content::{Likeness, Text};
use super::content_index::Elsewhere;
use super::file_stat::Id;
use super::generation::{Log, Role};
use super::generation_reader::Reader;
use super::inspected_file::{Probe, open};
use super::siblings::{Sibling, is_copy, resembles};
use super::start::{before, begin_behind};
use super::watched_path::{Past, Place, Surroundings};
use crate::input::magic;
use crate::input::rotation_names::Rank;
use crate::source::HEAD;

/// Siblings are looked through this often, whatever happens: nobody tells of a late line in a closed log.
const EVERY: Duration = Duration::from_secs(15);
/// So soon after a rotation, and so many times.
const SOON: Duration = Duration::from_millis(400);
const RESCANS: u32 = 3;
/// How often the list of siblings is read anew when one of them went away meanwhile.
const TRIES: u32 = 3;

/// Texts that are kept in mind though no file of them was met lately.
const GONE: usize = 64;

/// What is to be done with a sibling.
pub(super) enum Verdict {
    /// Nothing, as long as it stays as it is.
    Settled,
    /// It is still being written; to be looked at again.
    Later,
    /// Nobody knows it; to be looked at again when all that are known are. It may be packed from one that is read just now.
    New,
    /// It is to be read.
    Read(Box<Log>),
}

impl Place {
    /// Something was rotated: the siblings are others now.
    pub(super) fn scan_soon(&mut self) {
        self.settled.clear();
        self.scan_at = None;
        self.rescans = RESCANS;
    }

    /// Looks through the siblings.
    pub(super) fn scan(&mut self, around: &mut Surroundings<'_>) {
        self.scans += 1;
        if around.others.is_none() {
            self.known_siblings.clear();
        }
        self.scan_at = Some(around.now + if self.rescans > 0 { SOON } else { EVERY });
        self.rescans = self.rescans.saturating_sub(1);
        let mut found = Vec::new();
        for _ in 0..TRIES {
            if self.scan_once(&mut found, around) {
                break;
            }
            around.listings.clear();
        }
        self.scan_away(&mut found, around);
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        if !found.is_empty() {
            self.moved = true;
        }
        let at = self.logs.iter().position(|log| log.role == Role::Live).unwrap_or(self.logs.len());
        let later = self.scan_at.is_none();
        self.logs.splice(at..at, found.into_iter().map(|(_, log)| log));
        for log in &mut self.logs {
            if let Role::Lost { hopeful } = &mut log.role {
                *hopeful = later;
                self.scan_at = None;
            }
        }
        self.forget();
    }

    /// Forgets the oldest texts that no file holds any more.
    fn forget(&mut self) {
        let gone = self.past.iter().filter(|past| past.met < self.scans).count();
        let mut surplus = gone.saturating_sub(GONE);
        let scans = self.scans;
        self.past.retain(|past| {
            let forgotten = surplus > 0 && past.met < scans;
            surplus -= usize::from(forgotten);
            !forgotten
        });
    }

    /// Whether the rest of a truncated log holds up what comes after it.
    pub(super) fn is_blocking(log: &Log) -> bool {
        match log.role {
            Role::Lost { hopeful } => hopeful,
            Role::Live | Role::Done => false,
            Role::Draining | Role::Closing => log.text.is_some() && !log.caught_up && !log.suspect,
        }
    }

    /// Goes through the list once; `false` if a file of it was gone before it could be opened.
    fn scan_once(&mut self, found: &mut Vec<(Rank, Log)>, around: &mut Surroundings<'_>) -> bool {
        let mut complete = true;
        let folders = self.old_folders.len();
        let siblings = self.siblings(around.listings);
        let met: HashSet<Id> = siblings.iter().map(|sibling| sibling.stamp.id).collect();
        self.settled.retain(|id, _| met.contains(id));
        let mut new = Vec::new();
        for sibling in siblings {
            let id = sibling.stamp.id;
            if let Some(log) = self.logs.iter_mut().find(|log| log.stamp.id == id && !matches!(log.role, Role::Lost { .. })) {
                if log.role != Role::Live {
                    self.note_folder(&sibling);
                }
                continue;
            }
            if around.held_elsewhere(id) {
                self.wanted.push((id, sibling.path));
                continue;
            }
            let taken = found.iter().any(|(_, log)| log.stamp.id == id);
            if taken || self.settled.get(&id) == Some(&sibling.stamp.content()) {
                self.meet(id);
                continue;
            }
            match self.judge(&sibling, around) {
                Ok(Verdict::New) => new.push(sibling),
                verdict => complete &= self.go_by(verdict, sibling, found, around),
            }
        }
        for sibling in new {
            let verdict = self.judge_new(&sibling, found, around);
            complete &= self.go_by(verdict, sibling, found, around);
        }
        // Others in a folder that turned out to be ours may be ours too.
        complete && self.old_folders.len() == folders
    }

    /// Does what was found to be right with a sibling; `false` if it was gone before it could be opened.
    fn go_by(
        &mut self,
        verdict: io::Result<Verdict>,
        sibling: Sibling,
        found: &mut Vec<(Rank, Log)>,
        around: &mut Surroundings<'_>,
    ) -> bool {
        match verdict {
            Ok(Verdict::Settled | Verdict::New) => drop(self.settled.insert(sibling.stamp.id, sibling.stamp.content())),
            Ok(Verdict::Later) => self.scan_at = None,
            Ok(Verdict::Read(log)) => found.push((sibling.rank, *log)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return false,
            Err(error) => self.trouble(around, &format!("has a sibling that cannot be read: {}: {error}", sibling.path.display())),
        }
        true
    }

    /// Sees what a sibling is.
    fn judge(&mut self, sibling: &Sibling, around: &mut Surroundings<'_>) -> io::Result<Verdict> {
        let (file, stamp) = open(&sibling.path)?;
        if stamp.id != sibling.stamp.id {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut probe = Probe::new(&file)?;
        if probe.trouble().is_some() && !probe.has_settled() {
            return Ok(Verdict::Later);
        }
        let readable = probe.packed() || matches!(magic::packing(probe.head()), Ok(None));
        if !readable || probe.head().is_empty() {
            if around.once {
                self.refuse(&probe, &file, sibling, around)?;
            }
            return Ok(Verdict::Settled);
        }
        if let Some(verdict) = self.known(&mut probe, &file, sibling, around)? {
            self.note_folder(sibling);
            self.known_siblings.push((sibling.rank.clone(), sibling.stamp));
            return Ok(verdict);
        }
        Ok(Verdict::New)
    }

    /// Sees what to do with a sibling whose text nobody knows, when it is clear which are known.
    fn judge_new(&mut self, sibling: &Sibling, found: &mut [(Rank, Log)], around: &mut Surroundings<'_>) -> io::Result<Verdict> {
        let (file, stamp) = open(&sibling.path)?;
        if stamp.id != sibling.stamp.id {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut probe = Probe::new(&file)?;
        for (_, log) in found {
            // A file that is being packed lies there twice.
            if is_copy(log, &mut probe)? {
                let is_final = probe.packed() && probe.is_whole();
                return self.note_copy(is_final, &probe, &file, sibling, around);
            }
        }
        if around.once && self.is_put_there(sibling, around) {
            around.notice(&sibling.path, "is older than what was read before; not read");
            return self.note_old(&probe, &file, sibling, around);
        }
        self.unknown(&mut probe, &file, sibling, around)
    }

    /// What to do with a sibling whose text is known; `None` if it is not.
    fn known(
        &mut self,
        probe: &mut Probe,
        file: &Arc<File>,
        sibling: &Sibling,
        around: &mut Surroundings<'_>,
    ) -> io::Result<Option<Verdict>> {
        for index in 0..self.logs.len() {
            let log = &mut self.logs[index];
            if !matches!(log.role, Role::Lost { .. }) {
                if is_copy(log, probe)? {
                    let final_copy = probe.packed() && probe.is_whole();
                    return self.note_copy(final_copy, probe, file, sibling, around).map(Some);
                }
                if resembles(log, probe)? {
                    // Truncated just now, if its file does not hold the text any more: then this is where the rest is.
                    log.suspect = !log.holds()?;
                    return Ok(Some(if log.suspect { Verdict::Later } else { Verdict::Settled }));
                }
                continue;
            }
            let Some(text) = &log.text else { continue };
            match text.likeness(probe)? {
                Likeness::Other => {}
                _ if !probe.is_whole() => return Ok(Some(Verdict::Later)),
                Likeness::Shorter => {
                    // Copied before all was read: there is nothing to be found that was not told.
                    return self.note_copy(true, probe, file, sibling, around).map(Some);
                }
                Likeness::Same => {
                    log.role = Role::Draining;
                    log.go_on_in(Reader::new(probe, text.offset), sibling.stamp, around.now);
                    log.path.clone_from(&sibling.path);
                    self.moved = true;
                    return Ok(Some(Verdict::Settled));
                }
            }
        }
        self.known_past(probe, sibling, around)
    }

    /// A copy that holds less than a text's known beginning is not known by that from a state's print of it: it is noted
    /// as a text of its own, once nothing more comes to it.
    fn note_copy(
        &mut self,
        is_final: bool,
        probe: &Probe,
        file: &Arc<File>,
        sibling: &Sibling,
        around: &mut Surroundings<'_>,
    ) -> io::Result<Verdict> {
        let known = self.past.iter().any(|past| past.id == sibling.stamp.id && past.text.offset == probe.likely_len());
        let short = probe.head().len() < HEAD && !known;
        if is_final && short { self.note_old(probe, file, sibling, around) } else { Ok(Verdict::Settled) }
    }

    pub(super) fn known_past(
        &mut self,
        probe: &mut Probe,
        sibling: &Sibling,
        around: &mut Surroundings<'_>,
    ) -> io::Result<Option<Verdict>> {
        self.claim(probe, (sibling.stamp.id, &sibling.path), around)?;
        let mut shorter = false;
        let mut same = None;
        for (index, past) in self.past.iter_mut().enumerate() {
            // A copy that was noted while it was made is known by its inode, and of its text more may have been read elsewhere.
            let known = (past.text.offset, past.id == sibling.stamp.id);
            match past.text.likeness(probe)? {
                Likeness::Other => continue,
                Likeness::Shorter => shorter = true,
                Likeness::Same if same.is_none_or(|(most, _)| known > most) => same = Some((known, index)),
                Likeness::Same => {}
            }
            past.met = self.scans;
        }
        let Some((_, index)) = same else {
            let verdict = || if probe.is_whole() { Verdict::Settled } else { Verdict::Later };
            return Ok(shorter.then(verdict));
        };
        let past = &mut self.past[index];
        past.id = sibling.stamp.id;
        past.path.clone_from(&sibling.path);
        let more = if probe.packed() { !probe.claims(past.text.offset) } else { probe.likely_len() > past.text.offset };
        if !more {
            return Ok(Some(Verdict::Settled));
        }
        if !probe.is_whole() {
            return Ok(Some(Verdict::Later));
        }
        let past = self.past.remove(index);
        Ok(Some(Verdict::Read(Box::new(reopened(past.text, probe, sibling, around)))))
    }

    /// What to do with a sibling whose text nobody knows.
    fn unknown(&mut self, probe: &mut Probe, file: &Arc<File>, sibling: &Sibling, around: &mut Surroundings<'_>) -> io::Result<Verdict> {
        if self.is_to_be_noted(sibling, around) {
            return self.note_old(probe, file, sibling, around);
        }
        if self.is_foreign(sibling, around) {
            return Ok(Verdict::Settled);
        }
        if !probe.is_whole() {
            return Ok(Verdict::Later);
        }
        let copied = match around.elsewhere(&sibling.path, [Some(sibling.stamp.id), self.alias], probe)? {
            None => {
                self.undecided = Some(sibling.stamp.size);
                return Ok(Verdict::Later);
            }
            Some(Elsewhere::Moved(text)) => return Ok(Verdict::Read(Box::new(reopened(text, probe, sibling, around)))),
            Some(Elsewhere::Copy(len)) => Some(len),
            Some(Elsewhere::Nobody) => None,
        };
        if copied.is_some() && copied == probe.full_len() {
            return self.note_old(probe, file, sibling, around);
        }
        let text = if let Some(len) = copied.filter(|_| !probe.packed()) {
            Some(begin_behind(file, len, around.numbers)?)
        } else if probe.packed() {
            Some(Text::new(around.numbers.generation(probe.head()), probe.head(), 0, 0, &[]))
        } else {
            Self::begin_rested(sibling, file, around)?
        };
        let Some(text) = text else { return Ok(Verdict::Settled) };
        Ok(Verdict::Read(Box::new(reopened(text, probe, sibling, around))))
    }

    /// A sibling that was there at the first look is not to be read; what comes to it later is.
    fn note_old(&mut self, probe: &Probe, file: &Arc<File>, sibling: &Sibling, around: &mut Surroundings<'_>) -> io::Result<Verdict> {
        let generation = around.numbers.generation(probe.head());
        let text = if probe.packed() {
            // Any length but none says that nothing of it is wanted.
            Text::new(generation, probe.head(), probe.likely_len().max(1), 0, &[])
        } else {
            let end = probe.likely_len();
            Text::new(generation, probe.head(), end, 0, &before(file, end)?)
        };
        self.past.push(Past { text, id: sibling.stamp.id, path: sibling.path.clone(), met: self.scans });
        Ok(Verdict::Settled)
    }

    /// Whether a text of this family was met in the folder that this file lies in.
    pub(super) fn is_ours(&self, path: &Path) -> bool {
        path.parent().is_some_and(|folder| self.old_folders.contains(folder))
    }

    fn note_folder(&mut self, sibling: &Sibling) {
        if let (true, Some(folder)) = (sibling.below, sibling.path.parent())
            && self.old_folders.insert(folder.to_owned())
        {
            self.settled.clear();
        }
    }

    fn meet(&mut self, id: Id) {
        for past in self.past.iter_mut().filter(|past| past.id == id) {
            past.met = self.scans;
        }
    }
}

/// A log that is read to the end of a sibling.
fn reopened(text: Text, probe: &mut Probe, sibling: &Sibling, around: &mut Surroundings<'_>) -> Log {
    let reader = Reader::new(probe, text.offset);
    let mut log = Log::new(sibling.path.clone(), reader, sibling.stamp, Some(text), around.now);
    log.number = around.numbers.next();
    log.role = Role::Draining;
    log
}
