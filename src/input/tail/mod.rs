//! Follows logs that are being written: every line that still exists on disk, once, through every rotation.
//!
//! What is followed is a *generation*: an open file and its text. A path is only where to look for the next one; see
//! `place`. All of it runs on the caller's thread and waits for nothing: [`Tail::look`] sees what happened,
//! [`Tail::read`] gives the new lines. What the lines say is none of its business.

mod away;
mod begin;
mod catch_up;
mod claim;
mod discover;
mod drain;
mod elsewhere;
pub(super) mod family;
mod given;
mod known;
mod listing;
mod log;
mod mounted;
mod notice;
mod numbers;
mod place;
mod probe;
mod reader;
mod scan;
mod sibling;
mod stamp;
#[cfg(test)]
mod tests;
mod text;
pub mod wake;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use self::notice::Notice;

use self::begin::Begin;
use self::discover::{Candidate, Discovery};
use self::elsewhere::Others;
use self::listing::Listings;
use self::log::{Log, Role};
use self::numbers::Numbers;
use self::place::{Known, Leads, Past, Place, Surroundings};
use self::stamp::Id;
use self::text::Text;
use super::chunk::Chunk;
use crate::source::Checkpoint;

/// Folders and globs are looked through this often for what is new in them.
const DISCOVER_EVERY: Duration = Duration::from_secs(1);
/// A log that rests is looked at each time that so many looks are taken, unless something wakes it before.
const RESTS: usize = 4;
/// Paths that are followed at most.
const MOST: usize = 10_000;

/// How to follow.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is done with what is there when a log is met for the first time.
    pub begin: First,
    /// The longest line that is held, in bytes without the newline.
    pub max_line: usize,
    /// Bytes of one log that are read in a turn.
    pub block: usize,
}

/// What is read of what is there already when a log is met that no state knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// Nothing: its lines from now on.
    End,
    /// Everything, packed and rotated files too.
    Start,
    /// The files that were given, from their start. What they were rotated to and was not given is noted as old.
    Given,
}

/// Lines of one log, in their order.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The number of the generation within this run, from 0, never given twice.
    pub log: u32,
    /// Names the generation for good: the first part of every `id`.
    pub generation: u64,
    /// Where it was last seen.
    pub path: &'a Path,
    /// Asked for by its name, as against found in a folder or by a glob.
    pub named: bool,
    /// Asked for by a pattern or a folder, which may lead to files of other kinds.
    pub is_open: bool,
    /// No state knows this log or one that it was rotated to.
    pub fresh: bool,
    /// Lines of the generation before these.
    pub lines_before: u64,
    /// The lines; its offset is the second part of every `id`.
    pub chunk: Chunk<'a>,
}

/// A log that is being followed.
#[derive(Debug, Clone, Copy)]
pub struct LogView<'a> {
    /// Where it was last seen.
    pub path: &'a Path,
    /// Names the generation.
    pub generation: u64,
    /// Bytes that are done.
    pub offset: u64,
    /// Lines that are done.
    pub lines: u64,
    /// Bytes of its file that are not.
    pub lag: u64,
    /// An unfinished line stands at its end, as far as it was read.
    pub pending: bool,
    /// Whether its path leads to it still.
    pub live: bool,
}

/// What a place does when it looks.
type Look = fn(&mut Place, &mut Surroundings<'_>);

/// Everything that is followed.
#[derive(Debug)]
pub struct Tail {
    options: Options,
    discovery: Discovery,
    discover_at: Option<Instant>,
    places: Vec<Place>,
    index: HashMap<PathBuf, usize>,
    /// Which place holds which file.
    held: HashMap<Id, usize>,
    /// Texts of a state that no place has claimed yet.
    strays: Vec<Past>,
    /// The paths of that state.
    in_state: Vec<PathBuf>,
    /// There is a state, and no log was met before it was kept: all that is there now is new.
    is_begun: bool,
    numbers: Numbers,
    notices: Vec<Notice>,
    buffer: Vec<u8>,
    /// The first place to read at the next turn.
    turn: usize,
    /// Counts looks at everything, up to [`RESTS`].
    looks: usize,
    /// No log may rest through the next of them.
    woken: bool,
    /// All is read once, and no more.
    once: bool,
    /// The files that were given for that.
    given: Given,
}

/// The files that were given to a reading.
#[derive(Debug, Default)]
struct Given {
    ids: HashSet<Id>,
    paths: HashSet<PathBuf>,
}

impl Tail {
    /// Follows `paths`: files, which need not be there yet, folders and globs. `known` are the checkpoints of a state:
    /// what they name is gone on with, and what is new beside it is read from its start.
    #[must_use]
    pub fn new(paths: Vec<PathBuf>, options: Options, known: Option<Vec<Checkpoint>>) -> Self {
        let mut numbers = Numbers::default();
        let is_begun = options.begin == First::End && known.as_ref().is_some_and(Vec::is_empty);
        let known = known.unwrap_or_default();
        for checkpoint in &known {
            numbers.note(checkpoint.generation);
        }
        let in_state: Vec<_> = known.iter().map(path_of).collect();
        Self {
            options,
            discovery: Discovery::new(paths, &in_state),
            discover_at: None,
            places: Vec::new(),
            index: HashMap::new(),
            held: HashMap::new(),
            in_state,
            strays: known.iter().filter(|known| known.head.bytes > 0).map(past_of).collect(),
            is_begun,
            numbers,
            notices: Vec::new(),
            buffer: Vec::new(),
            turn: 0,
            looks: 0,
            woken: true,
            once: false,
            given: Given::default(),
        }
    }

    /// Sees what happened: new logs, rotations, truncations. Opens files and reads nothing but the bytes they are known
    /// by. `only` are paths that something happened to; `None` looks at everything.
    pub fn look(&mut self, now: Instant, only: Option<&BTreeSet<PathBuf>>) {
        if self.discover_at.is_none_or(|at| at <= now) || only.is_some_and(|paths| self.is_new(paths)) {
            if self.discover_at.is_none() || only.is_some() || !self.discovery.is_unchanged() {
                if self.once { self.discover_all() } else { self.discover() }
            }
            self.discover_at = Some(now + DISCOVER_EVERY);
        }
        let touched = only.map(|paths| self.touched(paths));
        let places: Vec<usize> = touched.map_or_else(|| self.in_turn(now), |touched| touched.into_iter().collect());
        let mut listings = Listings::default();
        for look in [Place::look as Look, Place::settle] {
            for place in &places {
                self.look_at(*place, now, &mut listings, look, None);
            }
            self.decide(&places, now, &mut listings, look);
        }
        for place in 0..self.places.len() {
            self.hand_over(place);
        }
        if self.places.iter_mut().fold(false, |moved, place| std::mem::take(&mut place.moved) | moved) {
            self.held.clear();
            for (index, place) in self.places.iter().enumerate() {
                self.held.extend(place.ids().map(|id| (id, index)));
            }
        }
    }

    /// Lets no log rest through the next look at everything: something may have happened to any.
    pub fn wake(&mut self) {
        self.woken = true;
    }

    /// The places whose turn it is: all but those that rest, and some of those.
    fn in_turn(&mut self, now: Instant) -> Vec<usize> {
        self.looks = (self.looks + 1) % RESTS;
        let (looks, woken) = (self.looks, std::mem::take(&mut self.woken));
        let is_due = |(index, place): (usize, &Place)| (woken || index % RESTS == looks || !place.is_resting(now)).then_some(index);
        self.places.iter().enumerate().filter_map(is_due).collect()
    }

    /// Has those places look again that met a text which another one may know, now that all others looked.
    fn decide(&mut self, places: &[usize], now: Instant, listings: &mut Listings, look: Look) {
        let mut undecided = self.undecided(places, look);
        if undecided.is_empty() {
            return;
        }
        let looked: HashSet<usize> = places.iter().copied().collect();
        let others: Vec<usize> = (0..self.places.len()).filter(|index| !looked.contains(index)).collect();
        for index in &others {
            self.look_at(*index, now, listings, Place::look, None);
        }
        undecided.extend(self.undecided(&others, Place::look));
        // The longest first, so that a copy is met behind what it was copied from.
        undecided.sort_by_key(|(size, index, _)| (Reverse(*size), self.places[*index].path.as_os_str().len(), *index));
        let mut others = Others::of(&self.places, &undecided.iter().map(|(_, index, _)| *index).collect());
        for (_, index, look) in undecided {
            self.look_at(index, now, listings, look, Some(&mut others));
            for (place, generation) in others.taken.drain(..) {
                self.places[place].forget_text(generation);
            }
            others.add(index, &self.places[index]);
        }
    }

    /// The places that are to look again, how, and the sizes of the files that they met.
    fn undecided(&mut self, places: &[usize], look: Look) -> Vec<(u64, usize, Look)> {
        let mut undecided = Vec::new();
        for &index in places {
            undecided.extend(self.places[index].undecided.take().map(|size| (size, index, look)));
        }
        undecided
    }

    fn look_at(&mut self, index: usize, now: Instant, listings: &mut Listings, look: Look, others: Option<&mut Others>) {
        let is_alone = self.places.len() == 1;
        let Some(place) = self.places.get_mut(index) else { return };
        let Self { numbers, notices, held, strays, once, given, .. } = self;
        let once = *once;
        look(place, &mut Surroundings { now, numbers, notices, held, listings, strays, place: index, once, given, others, is_alone });
        if place.moved {
            held.extend(place.ids().map(|id| (id, index)));
        }
    }

    /// Gives a place the logs that belong to it now, by their names, if another place has them whose path does not lead
    /// to them any more: logs of a folder that were renamed.
    fn hand_over(&mut self, index: usize) {
        for (id, path) in self.places[index].wanted() {
            let Some(holder) = self.held.get(&id).copied().filter(|holder| *holder != index) else { continue };
            if let Some(log) = self.places.get_mut(holder).and_then(|holder| holder.give_up(id, &path)) {
                self.held.insert(id, index);
                self.places[index].take_over(log, path);
            }
        }
    }

    /// Whether a generation was found that no checkpoint given out so far names: they are to be kept before its first
    /// line is told.
    #[must_use]
    pub fn has_new(&self) -> bool {
        self.numbers.fresh
    }

    /// Reads at most one block of each log that has something new, and hands out the whole lines. Whether there is more
    /// at once.
    pub fn read(&mut self, _now: Instant, each: &mut dyn FnMut(Piece<'_>)) -> bool {
        let count = self.places.len();
        let mut more = false;
        for step in 0..count {
            let index = (self.turn + step) % count;
            more |= self.places[index].read(&self.options, &mut self.buffer, each);
        }
        self.turn = if count == 0 { 0 } else { (self.turn + 1) % count };
        more
    }

    /// How far everything was read and handed out.
    pub fn checkpoints(&mut self) -> Vec<Checkpoint> {
        self.numbers.fresh = false;
        let mut checkpoints = Vec::new();
        for stray in &self.strays {
            checkpoints.push(stray.text.checkpoint_at(&stray.path, stray.id));
        }
        for place in &self.places {
            place.checkpoints(&mut checkpoints);
        }
        checkpoints
    }

    /// What happened since this was last asked that a person wants to know.
    pub fn notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// The folders in which something may happen.
    #[must_use]
    pub fn folders(&self) -> BTreeSet<PathBuf> {
        let mut folders: BTreeSet<PathBuf> = self.discovery.folders().iter().cloned().collect();
        for place in &self.places {
            if !folders.contains(&place.folder) {
                folders.insert(place.folder.clone());
            }
        }
        folders
    }

    /// The logs that are being followed.
    pub fn logs(&self) -> impl Iterator<Item = LogView<'_>> {
        self.places.iter().flat_map(|place| &place.logs).filter_map(|log| view(log, self.once))
    }

    /// Whether one of these paths may be a log that is not followed yet.
    fn is_new(&self, paths: &BTreeSet<PathBuf>) -> bool {
        self.discovery.is_open() && paths.iter().any(|path| !self.index.contains_key(path))
    }

    /// The places that something happened to. A sibling that changed is a reason to look through the siblings.
    fn touched(&mut self, paths: &BTreeSet<PathBuf>) -> BTreeSet<usize> {
        let mut touched = BTreeSet::new();
        for path in paths {
            if let Some(index) = self.index.get(path) {
                touched.insert(*index);
                continue;
            }
            for (index, place) in self.places.iter_mut().enumerate().filter(|(_, place)| place.is_sibling(path) || place.was_met_at(path)) {
                touched.insert(index);
                place.scan_at = None;
            }
        }
        touched
    }

    /// Makes a place of every path that is not followed yet, and is not what a followed log was rotated to.
    fn discover(&mut self) {
        let candidates = self.discovery.candidates(&mut self.notices);
        let new: Vec<_> = {
            let followed: HashSet<&Path> = self.index.keys().map(PathBuf::as_path).collect();
            let is_old = |candidate: &Candidate| !candidate.named && discover::base_among(&candidate.path, &followed).is_some();
            candidates.into_iter().filter(|new| !followed.contains(new.path.as_path()) && !is_old(new)).collect()
        };
        for candidate in new {
            if self.is_full(&candidate) {
                return;
            }
            self.add(candidate);
        }
    }

    /// Whether there is no room for another log; says so.
    fn is_full(&mut self, candidate: &Candidate) -> bool {
        let is_full = self.places.len() == MOST;
        if is_full {
            self.discovery.say_full(&candidate.path, MOST, &mut self.notices);
        }
        is_full
    }

    fn add(&mut self, candidate: Candidate) {
        let Candidate { path, named, argument, is_open, is_absent } = candidate;
        if self.index.contains_key(&path) {
            return;
        }
        let is_known = self.is_begun || self.is_in_state(&path, !is_open, &argument) || self.discover_at.is_some();
        let begin = if is_known || self.options.begin != First::End { Begin::Start } else { Begin::End };
        let mut place = Place::new(path.clone(), named, begin);
        place.is_open = is_open;
        place.leads = if is_absent { Leads::Nowhere } else { Leads::Log };
        place.known = match self.options.begin {
            _ if is_known => Known::Yes,
            First::Given => Known::NotAndOnlyGiven,
            First::Start | First::End => Known::Not,
        };
        let (mine, others) = std::mem::take(&mut self.strays).into_iter().partition(|stray| place.is_family(&stray.path));
        (place.past, self.strays) = (mine, others);
        // Whoever tells of changes may name it from the root on.
        self.index.insert(place.absolute.clone(), self.places.len());
        self.index.insert(path, self.places.len());
        self.places.push(place);
    }

    /// Whether the state knows this path, or others that the same argument led to: then it is new since.
    fn is_in_state(&self, path: &Path, named: bool, argument: &Path) -> bool {
        let near = Place::new(path.to_owned(), named, Begin::Start);
        let folder = if argument.is_dir() { argument.to_owned() } else { near.folder.clone() };
        self.in_state.iter().any(|known| near.is_family(known) || !named && known.starts_with(&folder))
    }
}

/// How a log stands. One without a line has nothing to say of itself but to who reads once and must account for it.
fn view(log: &Log, once: bool) -> Option<LogView<'_>> {
    let (path, live) = (log.path.as_path(), log.role == Role::Live);
    let Some(text) = &log.text else {
        let size = log.stamp.size;
        return (once && size > 0).then_some(LogView { path, generation: 0, offset: 0, lines: 0, lag: size, pending: true, live });
    };
    let lag = if log.is_packed() { 0 } else { log.stamp.size.saturating_sub(text.offset) };
    let pending = log.is_unfinished() && log.role != Role::Done;
    Some(LogView { path, generation: text.generation, offset: text.offset, lines: text.lines, lag, pending, live })
}

/// The text that a checkpoint speaks of.
fn past_of(checkpoint: &Checkpoint) -> Past {
    Past { text: Text::of(checkpoint), id: (checkpoint.device, checkpoint.inode), path: path_of(checkpoint), met: 0 }
}

/// The path of a checkpoint.
fn path_of(checkpoint: &Checkpoint) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(checkpoint.path.clone()))
}
