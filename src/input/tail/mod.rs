//! Follows logs that are being written: every line that still exists on disk, once, through every rotation.
//!
//! What is followed is a *generation*: an open file and its text. A path is only where to look for the next one; see
//! `place`. All of it runs on the caller's thread and waits for nothing: [`Tail::look`] sees what happened,
//! [`Tail::read`] gives the new lines. What the lines say is none of its business.

mod claimed_length;
mod content;
mod content_index;
mod discovery;
mod drain;
mod explicit_inputs;
mod file_stat;
mod generation;
mod generation_reader;
mod inspected_file;
mod moved_files;
mod read_once;
mod recognize;
mod sibling_scan;
mod siblings;
mod start;
#[cfg(test)]
mod tests;
mod watched_path;
pub mod watcher;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::content::ContentFingerprint;
use self::content_index::ContentIndex;
use self::discovery::{LogCandidate, LogDiscovery};
use self::file_stat::FileId;
use self::generation::GenerationIds;
use self::generation::{Generation, GenerationState};
use self::siblings::FolderListings;
use self::start::StartAt;
use self::watched_path::{OldGeneration, PathRole, PollContext, StateKnowledge, WatchedPath};
use super::chunk::Chunk;
use crate::source::Checkpoint;

/// Folders and globs are looked through this often for what is new in them.
const DISCOVER_EVERY: Duration = Duration::from_secs(1);
/// A log that rests is looked at each time that so many looks are taken, unless something wakes it before.
const IDLE_POLL_EVERY: usize = 4;
/// Paths that are followed at most.
const MAX_PATHS: usize = 10_000;

/// How to follow.
#[derive(Debug, Clone)]
pub struct TailOptions {
    /// What is done with what is there when a log is met for the first time.
    pub start: StartPosition,
    /// The longest line that is held, in bytes without the newline.
    pub max_line: usize,
    /// Bytes of one log that are read in a turn.
    pub block: usize,
}

/// What is read of what is there already when a log is met that no state knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartPosition {
    /// Nothing: its lines from now on.
    End,
    /// Everything, packed and rotated files too.
    Start,
    /// The files that were given, from their start. What they were rotated to and was not given is noted as old.
    ExplicitInputs,
}

/// Lines of one log, in their order.
#[derive(Debug, Clone, Copy)]
pub struct LineChunk<'a> {
    /// The number of the generation within this run, from 0, never given twice.
    pub log: u32,
    /// Names the generation for good: the first part of every `id`.
    pub generation: u64,
    /// Where it was last seen.
    pub path: &'a Path,
    /// Asked for by its name, as against found in a folder or by a glob.
    pub named: bool,
    /// Asked for by a pattern or a folder, which may lead to files of other kinds.
    pub from_pattern: bool,
    /// No state knows this log or one that it was rotated to.
    pub fresh: bool,
    /// Lines of the generation before these.
    pub lines_before: u64,
    /// The lines; its offset is the second part of every `id`.
    pub chunk: Chunk<'a>,
}

/// Something to tell, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The log, or the folder. May hold any byte.
    pub path: PathBuf,
    /// What, to be put behind the path and a blank: `was truncated`.
    pub what: String,
    /// Something could not be read, or not all of it.
    pub problem: bool,
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
type PollStep = fn(&mut WatchedPath, &mut PollContext<'_>);

/// Everything that is followed.
#[derive(Debug)]
pub struct Tail {
    options: TailOptions,
    discovery: LogDiscovery,
    discover_at: Option<Instant>,
    watched: Vec<WatchedPath>,
    index: HashMap<PathBuf, usize>,
    /// Which place holds which file.
    owners: HashMap<FileId, usize>,
    /// Texts of a state that no place has claimed yet.
    unclaimed: Vec<OldGeneration>,
    /// The paths of that state.
    state_paths: Vec<PathBuf>,
    /// There is a state, and no log was met before it was kept: all that is there now is new.
    all_is_new: bool,
    generation_ids: GenerationIds,
    notices: Vec<Notice>,
    buffer: Vec<u8>,
    /// The first place to read at the next turn.
    next_to_read: usize,
    /// Counts looks at everything, up to [`IDLE_POLL_EVERY`].
    poll_count: usize,
    /// No log may rest through the next of them.
    full_poll_due: bool,
    /// All is read once, and no more.
    once: bool,
    /// The files that were given for that.
    given: ExplicitInputs,
}

/// The files that were given to a reading.
#[derive(Debug, Default)]
struct ExplicitInputs {
    ids: HashSet<FileId>,
    paths: HashSet<PathBuf>,
}

impl Tail {
    /// Follows `paths`: files, which need not be there yet, folders and globs. `known` are the checkpoints of a state:
    /// what they name is gone on with, and what is new beside it is read from its start.
    #[must_use]
    pub fn new(paths: Vec<PathBuf>, options: TailOptions, known: Option<Vec<Checkpoint>>) -> Self {
        let mut generation_ids = GenerationIds::default();
        let all_is_new = options.start == StartPosition::End && known.as_ref().is_some_and(Vec::is_empty);
        let known = known.unwrap_or_default();
        for checkpoint in &known {
            generation_ids.note(checkpoint.generation);
        }
        let state_paths: Vec<_> = known.iter().map(checkpoint_path).collect();
        Self {
            options,
            discovery: LogDiscovery::new(paths, &state_paths),
            discover_at: None,
            watched: Vec::new(),
            index: HashMap::new(),
            owners: HashMap::new(),
            state_paths,
            unclaimed: known.iter().filter(|known| known.head.bytes > 0).map(old_from_checkpoint).collect(),
            all_is_new,
            generation_ids,
            notices: Vec::new(),
            buffer: Vec::new(),
            next_to_read: 0,
            poll_count: 0,
            full_poll_due: true,
            once: false,
            given: ExplicitInputs::default(),
        }
    }

    /// Sees what happened: new logs, rotations, truncations. Opens files and reads nothing but the bytes they are known
    /// by. `only` are paths that something happened to; `None` looks at everything.
    pub fn poll(&mut self, now: Instant, only: Option<&BTreeSet<PathBuf>>) {
        if self.discover_at.is_none_or(|at| at <= now) || only.is_some_and(|paths| self.is_new(paths)) {
            if self.discover_at.is_none() || only.is_some() || !self.discovery.is_unchanged() {
                if self.once { self.discover_explicit() } else { self.discover() }
            }
            self.discover_at = Some(now + DISCOVER_EVERY);
        }
        let changed_paths = only.map(|paths| self.changed_paths(paths));
        let places: Vec<usize> = changed_paths.map_or_else(|| self.due_paths(now), |changed_paths| changed_paths.into_iter().collect());
        let mut listings = FolderListings::default();
        for look in [WatchedPath::poll as PollStep, WatchedPath::finish_poll] {
            for place in &places {
                self.poll_path(*place, now, &mut listings, look, None);
            }
            self.resolve_undecided(&places, now, &mut listings, look);
        }
        for place in 0..self.watched.len() {
            self.transfer_logs(place);
        }
        if self.watched.iter_mut().fold(false, |moved, place| std::mem::take(&mut place.moved) | moved) {
            self.owners.clear();
            for (index, place) in self.watched.iter().enumerate() {
                self.owners.extend(place.ids().map(|id| (id, index)));
            }
        }
    }

    /// Lets no log rest through the next look at everything: something may have happened to any.
    pub fn force_full_poll(&mut self) {
        self.full_poll_due = true;
    }

    /// The places whose turn it is: all but those that rest, and some of those.
    fn due_paths(&mut self, now: Instant) -> Vec<usize> {
        self.poll_count = (self.poll_count + 1) % IDLE_POLL_EVERY;
        let (poll_count, full_poll_due) = (self.poll_count, std::mem::take(&mut self.full_poll_due));
        let is_due = |(index, place): (usize, &WatchedPath)| {
            (full_poll_due || index % IDLE_POLL_EVERY == poll_count || !place.is_idle(now)).then_some(index)
        };
        self.watched.iter().enumerate().filter_map(is_due).collect()
    }

    /// Has those places look again that met a text which another one may know, now that all others looked.
    fn resolve_undecided(&mut self, places: &[usize], now: Instant, listings: &mut FolderListings, look: PollStep) {
        let mut undecided = self.undecided(places, look);
        if undecided.is_empty() {
            return;
        }
        let looked: HashSet<usize> = places.iter().copied().collect();
        let others: Vec<usize> = (0..self.watched.len()).filter(|index| !looked.contains(index)).collect();
        for index in &others {
            self.poll_path(*index, now, listings, WatchedPath::poll, None);
        }
        undecided.extend(self.undecided(&others, WatchedPath::poll));
        // The longest first, so that a copy is met behind what it was copied from.
        undecided.sort_by_key(|(size, index, _)| (Reverse(*size), self.watched[*index].path.as_os_str().len(), *index));
        let mut others = ContentIndex::new(&self.watched, &undecided.iter().map(|(_, index, _)| *index).collect());
        for (_, index, look) in undecided {
            self.poll_path(index, now, listings, look, Some(&mut others));
            for (place, generation) in others.taken.drain(..) {
                self.watched[place].drop_content(generation);
            }
            others.add(index, &self.watched[index]);
        }
    }

    /// The places that are to look again, how, and the sizes of the files that they met.
    fn undecided(&mut self, places: &[usize], look: PollStep) -> Vec<(u64, usize, PollStep)> {
        let mut undecided = Vec::new();
        for &index in places {
            undecided.extend(self.watched[index].undecided.take().map(|size| (size, index, look)));
        }
        undecided
    }

    fn poll_path(&mut self, index: usize, now: Instant, listings: &mut FolderListings, look: PollStep, others: Option<&mut ContentIndex>) {
        let is_only_path = self.watched.len() == 1;
        let Some(place) = self.watched.get_mut(index) else { return };
        let Self { generation_ids, notices, owners, unclaimed, once, given, .. } = self;
        let once = *once;
        look(
            place,
            &mut PollContext { now, generation_ids, notices, owners, listings, unclaimed, place: index, once, given, others, is_only_path },
        );
        if place.moved {
            owners.extend(place.ids().map(|id| (id, index)));
        }
    }

    /// Gives a place the logs that belong to it now, by their names, if another place has them whose path does not lead
    /// to them any more: logs of a folder that were renamed.
    fn transfer_logs(&mut self, index: usize) {
        for (id, path) in self.watched[index].take_wanted() {
            let Some(holder) = self.owners.get(&id).copied().filter(|holder| *holder != index) else { continue };
            if let Some(log) = self.watched.get_mut(holder).and_then(|holder| holder.release(id, &path)) {
                self.owners.insert(id, index);
                self.watched[index].adopt(log, path);
            }
        }
    }

    /// Whether a generation was found that no checkpoint given out so far names: they are to be kept before its first
    /// line is told.
    #[must_use]
    pub fn has_new_generation(&self) -> bool {
        self.generation_ids.fresh
    }

    /// Reads at most one block of each log that has something new, and hands out the whole lines. Whether there is more
    /// at once.
    pub fn read(&mut self, _now: Instant, each: &mut dyn FnMut(LineChunk<'_>)) -> bool {
        let count = self.watched.len();
        let mut more = false;
        for step in 0..count {
            let index = (self.next_to_read + step) % count;
            more |= self.watched[index].read(&self.options, &mut self.buffer, each);
        }
        self.next_to_read = if count == 0 { 0 } else { (self.next_to_read + 1) % count };
        more
    }

    /// How far everything was read and handed out.
    pub fn checkpoints(&mut self) -> Vec<Checkpoint> {
        self.generation_ids.fresh = false;
        let mut checkpoints = Vec::new();
        for unclaimed_one in &self.unclaimed {
            checkpoints.push(unclaimed_one.content.checkpoint_at(&unclaimed_one.path, unclaimed_one.id));
        }
        for place in &self.watched {
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
        for place in &self.watched {
            if !folders.contains(&place.folder) {
                folders.insert(place.folder.clone());
            }
        }
        folders
    }

    /// The logs that are being followed.
    pub fn logs(&self) -> impl Iterator<Item = LogView<'_>> {
        self.watched.iter().flat_map(|place| &place.generations).filter_map(|log| view(log, self.once))
    }

    /// Whether one of these paths may be a log that is not followed yet.
    fn is_new(&self, paths: &BTreeSet<PathBuf>) -> bool {
        self.discovery.may_find_new() && paths.iter().any(|path| !self.index.contains_key(path))
    }

    /// The places that something happened to. A sibling that changed is a reason to look through the siblings.
    fn changed_paths(&mut self, paths: &BTreeSet<PathBuf>) -> BTreeSet<usize> {
        let mut changed_paths = BTreeSet::new();
        for path in paths {
            if let Some(index) = self.index.get(path) {
                changed_paths.insert(*index);
                continue;
            }
            for (index, place) in self.watched.iter_mut().enumerate().filter(|(_, place)| place.is_sibling(path)) {
                changed_paths.insert(index);
                place.scan_at = None;
            }
        }
        changed_paths
    }

    /// Makes a place of every path that is not followed yet, and is not what a followed log was rotated to.
    fn discover(&mut self) {
        let candidates = self.discovery.candidates(&mut self.notices);
        let new: Vec<_> = {
            let followed: HashSet<&Path> = self.index.keys().map(PathBuf::as_path).collect();
            let is_old = |candidate: &LogCandidate| !candidate.named && discovery::base_in(&candidate.path, &followed).is_some();
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
    fn is_full(&mut self, candidate: &LogCandidate) -> bool {
        let is_full = self.watched.len() == MAX_PATHS;
        if is_full {
            self.discovery.report_full(&candidate.path, MAX_PATHS, &mut self.notices);
        }
        is_full
    }

    fn add(&mut self, candidate: LogCandidate) {
        let LogCandidate { path, named, argument, from_pattern, is_absent } = candidate;
        if self.index.contains_key(&path) {
            return;
        }
        let is_known = self.all_is_new || self.is_known_to_state(&path, !from_pattern, &argument) || self.discover_at.is_some();
        let begin = if is_known || self.options.start != StartPosition::End { StartAt::FirstLine } else { StartAt::End };
        let mut place = WatchedPath::new(path.clone(), named, begin);
        place.from_pattern = from_pattern;
        place.role = if is_absent { PathRole::NotRequested } else { PathRole::Generation };
        place.known = match self.options.start {
            _ if is_known => StateKnowledge::Known,
            StartPosition::ExplicitInputs => StateKnowledge::UnknownExplicitOnly,
            StartPosition::Start | StartPosition::End => StateKnowledge::Unknown,
        };
        let (mine, others) =
            std::mem::take(&mut self.unclaimed).into_iter().partition(|unclaimed_one| place.is_self_or_sibling(&unclaimed_one.path));
        (place.old_generations, self.unclaimed) = (mine, others);
        // Whoever tells of changes may name it from the root on.
        self.index.insert(place.absolute.clone(), self.watched.len());
        self.index.insert(path, self.watched.len());
        self.watched.push(place);
    }

    /// Whether the state knows this path, or others that the same argument led to: then it is new since.
    fn is_known_to_state(&self, path: &Path, named: bool, argument: &Path) -> bool {
        let near = WatchedPath::new(path.to_owned(), named, StartAt::FirstLine);
        let folder = if argument.is_dir() { argument.to_owned() } else { near.folder.clone() };
        self.state_paths.iter().any(|known| near.is_self_or_sibling(known) || !named && known.starts_with(&folder))
    }
}

/// How a log stands. One without a line has nothing to say of itself but to who reads once and must account for it.
fn view(log: &Generation, once: bool) -> Option<LogView<'_>> {
    let (path, live) = (log.path.as_path(), log.state == GenerationState::Live);
    let Some(content) = &log.content else {
        let size = log.stat.size;
        return (once && size > 0).then_some(LogView { path, generation: 0, offset: 0, lines: 0, lag: size, pending: true, live });
    };
    let lag = if log.is_compressed() { 0 } else { log.stat.size.saturating_sub(content.offset) };
    let pending = log.is_unfinished() && log.state != GenerationState::Done;
    Some(LogView { path, generation: content.generation, offset: content.offset, lines: content.lines, lag, pending, live })
}

/// The text that a checkpoint speaks of.
fn old_from_checkpoint(checkpoint: &Checkpoint) -> OldGeneration {
    OldGeneration {
        content: ContentFingerprint::from_checkpoint(checkpoint),
        id: (checkpoint.device, checkpoint.inode),
        path: checkpoint_path(checkpoint),
        last_seen_scan: 0,
    }
}

/// The path of a checkpoint.
fn checkpoint_path(checkpoint: &Checkpoint) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(checkpoint.path.clone()))
}
