//! Looks through the files that a log was rotated to: for the rest of a text that was truncated, for lines that came late
//! to a closed log, and for whole generations that came and went between two looks.
//!
//! A sibling whose text is known is never read again; one that nobody knows was written since the last look, because all
//! that were there at the first one were noted.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::begin::{Begin, before, begin};
use super::family::Rank;
use super::listing::Listings;
use super::log::{Log, Role};
use super::place::{Past, Place, Surroundings, open};
use super::probe::Probe;
use super::reader::Reader;
use super::stamp::{Id, Stamp};
use super::text::{Likeness, Text};
use crate::input::hole::read_full_at;
use crate::input::magic::{self, Packing};
use crate::source::{HEAD, TAIL};

/// Siblings are looked through this often, whatever happens: nobody tells of a late line in a closed log.
const EVERY: Duration = Duration::from_secs(15);
/// So soon after a rotation, and so many times.
const SOON: Duration = Duration::from_millis(400);
const RESCANS: u32 = 3;
/// How often the list of siblings is read anew when one of them went away meanwhile.
const TRIES: u32 = 3;

/// Texts that are kept in mind though no file of them was met lately.
const GONE: usize = 64;

/// A file that may be a sibling.
struct Sibling {
    rank: Rank,
    path: PathBuf,
    stamp: Stamp,
    /// In a subfolder, which may be another log's.
    below: bool,
}

/// What is to be done with a sibling.
enum Verdict {
    /// Nothing, as long as it stays as it is.
    Settled,
    /// It is still being written; to be looked at again.
    Later,
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
        self.scan_at = Some(around.now + if self.rescans > 0 { SOON } else { EVERY });
        self.rescans = self.rescans.saturating_sub(1);
        let mut found = Vec::new();
        for _ in 0..TRIES {
            if self.scan_once(&mut found, around) {
                break;
            }
            around.listings.clear();
        }
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
                Ok(Verdict::Settled) => {
                    self.settled.insert(id, sibling.stamp.content());
                }
                Ok(Verdict::Later) => self.scan_at = None,
                Ok(Verdict::Read(log)) => found.push((sibling.rank, *log)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => complete = false,
                Err(error) => self.trouble(around, &format!("has a sibling that cannot be read: {}: {error}", sibling.path.display())),
            }
        }
        // Others in a folder that turned out to be ours may be ours too.
        complete && self.old_folders.len() == folders
    }

    /// The siblings there are: plain ones before packed ones, and the larger first, so that the fullest copy is met first.
    fn siblings(&self, listings: &mut Listings) -> Vec<Sibling> {
        let mut siblings = Vec::new();
        let here = listings.get(&self.folder);
        for (rank, name) in here.rotated(&self.base) {
            add(rank, self.folder.join(OsStr::from_bytes(name)), false, &mut siblings);
        }
        for folder in &here.below {
            // Those that `olddir` took there, unless a log of its own of that name lies there.
            let below = listings.get(folder);
            for (rank, name) in below.rotated(&self.base).filter(|_| !below.has(&self.base)) {
                add(rank, folder.join(OsStr::from_bytes(name)), true, &mut siblings);
            }
        }
        siblings.sort_by_key(|sibling| (is_packed_by_name(&sibling.path), u64::MAX - sibling.stamp.size));
        siblings
    }

    /// Sees what a sibling is.
    fn judge(&mut self, sibling: &Sibling, around: &mut Surroundings<'_>) -> io::Result<Verdict> {
        let (file, stamp) = open(&sibling.path)?;
        if stamp.id != sibling.stamp.id {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut probe = Probe::new(&file)?;
        if probe.broken() && !probe.has_settled() {
            return Ok(Verdict::Later);
        }
        let readable = probe.packed() || matches!(magic::packing(probe.head()), Ok(Packing::Plain));
        if !readable || probe.head().is_empty() {
            return Ok(Verdict::Settled);
        }
        if let Some(verdict) = self.known(&mut probe, &file, sibling, around)? {
            self.note_folder(sibling);
            return Ok(verdict);
        }
        self.unknown(&probe, &file, sibling, around)
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
                    log.go_on_in(Reader::new(file, probe.packed(), text.offset), sibling.stamp, around.now);
                    log.path.clone_from(&sibling.path);
                    self.moved = true;
                    return Ok(Some(Verdict::Settled));
                }
            }
        }
        self.known_past(probe, file, sibling, around)
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

    fn known_past(
        &mut self,
        probe: &mut Probe,
        file: &Arc<File>,
        sibling: &Sibling,
        around: &mut Surroundings<'_>,
    ) -> io::Result<Option<Verdict>> {
        self.claim(probe, sibling.stamp.id, around)?;
        let mut shorter = false;
        let mut same = None;
        for (index, past) in self.past.iter_mut().enumerate() {
            let same_inode = past.id == sibling.stamp.id;
            match past.text.likeness(probe)? {
                Likeness::Other => continue,
                Likeness::Shorter => shorter = true,
                Likeness::Same if same.is_none() || same_inode => same = Some(index),
                Likeness::Same => {}
            }
            past.met = self.scans;
        }
        let Some(index) = same else {
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
        Ok(Some(Verdict::Read(Box::new(reopened(past.text, probe, file, sibling, around)))))
    }

    /// What to do with a sibling whose text nobody knows.
    fn unknown(&mut self, probe: &Probe, file: &Arc<File>, sibling: &Sibling, around: &mut Surroundings<'_>) -> io::Result<Verdict> {
        if self.scans == 1 && self.begin == Begin::End {
            return self.note_old(probe, file, sibling, around);
        }
        if sibling.below && !self.is_ours(&sibling.path) {
            return Ok(Verdict::Settled);
        }
        if !probe.is_whole() {
            return Ok(Verdict::Later);
        }
        let text = if probe.packed() {
            Some(Text::new(around.numbers.generation(probe.head()), probe.head(), 0, 0, &[]))
        } else {
            begin(file, Begin::Start, around.numbers)?
        };
        let Some(text) = text else { return Ok(Verdict::Settled) };
        Ok(Verdict::Read(Box::new(reopened(text, probe, file, sibling, around))))
    }

    /// A sibling that was there at the first look is not to be read; what comes to it later is.
    fn note_old(&mut self, probe: &Probe, file: &Arc<File>, sibling: &Sibling, around: &mut Surroundings<'_>) -> io::Result<Verdict> {
        let generation = around.numbers.generation(probe.head());
        let text = if probe.packed() {
            Text::new(generation, probe.head(), probe.likely_len(), 0, &[])
        } else {
            let end = probe.likely_len();
            Text::new(generation, probe.head(), end, 0, &before(file, end)?)
        };
        self.past.push(Past { text, id: sibling.stamp.id, path: sibling.path.clone(), met: self.scans });
        Ok(Verdict::Settled)
    }

    /// Whether a text of this family was met in the folder that this file lies in.
    fn is_ours(&self, path: &Path) -> bool {
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
fn reopened(text: Text, probe: &Probe, file: &Arc<File>, sibling: &Sibling, around: &mut Surroundings<'_>) -> Log {
    let reader = Reader::new(file, probe.packed(), text.offset);
    let mut log = Log::new(sibling.path.clone(), reader, sibling.stamp, Some(text), around.now);
    log.number = around.numbers.next();
    log.role = Role::Draining;
    log
}

/// Whether a file begins with the text of a log, as far as it was read.
fn resembles(log: &Log, probe: &mut Probe) -> io::Result<bool> {
    log.text.as_ref().map_or(Ok(false), |text| Ok(text.likeness(probe)? != Likeness::Other))
}

/// Whether a file is a copy of what a log's own file holds.
fn is_copy(log: &Log, probe: &mut Probe) -> io::Result<bool> {
    let Some(file) = log.file() else {
        return resembles(log, probe);
    };
    let mut head = vec![0; probe.head().len()];
    let read = read_full_at(file, &mut head, 0)?;
    if read < head.len() || head != probe.head() || head.is_empty() {
        return Ok(false);
    }
    if probe.packed() {
        return Ok(true);
    }
    let len = probe.likely_len();
    let count = TAIL.min(usize::try_from(len).unwrap_or(TAIL));
    let mut here = vec![0; count];
    let read = read_full_at(file, &mut here, len - count as u64)?;
    Ok(read == count && probe.before(len, count)?.as_deref() == Some(&here))
}

fn add(rank: Rank, path: PathBuf, below: bool, siblings: &mut Vec<Sibling>) {
    if let Ok(metadata) = fs::metadata(&path)
        && metadata.is_file()
    {
        siblings.push(Sibling { rank, path, stamp: Stamp::of(&metadata), below });
    }
}

fn is_packed_by_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| ["gz", "bz2", "xz", "zst", "Z"].iter().any(|packed| extension == *packed))
}
