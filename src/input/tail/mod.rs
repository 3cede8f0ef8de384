//! Follows logs that are being written: returns every line that is still on disk exactly once,
//! across all rotations.
//!
//! The unit of following is a *generation*: an open file and its content. A path only shows where
//! to look for the next generation; see `watched_path`. Everything runs on the caller's thread
//! without blocking: [`Tail::poll`] detects changes and [`Tail::read`] returns new lines. The
//! meaning of the lines is up to the caller.

mod content;
mod discovery;
mod drain;
mod generation;
mod inspected_file;
mod read_once;
mod recognize;
mod siblings;
mod start;
mod watched_path;
pub(crate) mod watcher;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::content::{ContentFingerprint, ContentIndex};
use self::discovery::{LogCandidate, LogDiscovery};
use self::generation::{Generation, GenerationIds, GenerationState};
use self::inspected_file::FileId;
use self::siblings::FolderListings;
use self::start::StartAt;
use self::watched_path::{
    OldGeneration, PathRole, PollContext, StateKnowledge, UnclaimedIndex, WatchedPath,
};
use super::find::InputOrigin;
use super::read::Chunk;
use crate::log::source::Checkpoint;

/// Interval between searches of folders and globs for new logs.
const DISCOVER_EVERY: Duration = Duration::from_secs(1);
/// An idle log is polled at every fourth full poll: every second at the default interval.
const IDLE_POLL_EVERY: usize = 4;
/// An idle log whose changes events report is polled every three seconds. Network file systems have
/// no events for changes of other hosts. A thousand idle logs then cost less than half a percent of
/// a core.
const WATCHED_IDLE_POLL_EVERY: usize = 12;
/// Number of paths that are checked for a file to close before one of the current path is closed:
/// checking all of them for each file would take quadratic time.
const CLOSE_STEPS: usize = 16;
/// Maximum number of watched paths.
const MAX_PATHS: usize = 10_000;

/// How to follow logs.
#[derive(Debug, Clone)]
pub(crate) struct TailOptions {
    /// Where to start in a log without a checkpoint.
    pub start: StartPosition,
    /// The longest line that is kept in memory, in bytes without the newline.
    pub max_line: usize,
    /// Bytes to read from one log before the next log gets its turn.
    pub block: usize,
    /// Maximum number of logs whose files are kept open. Deleted and renamed files that were not
    /// read to their end are kept open regardless.
    pub max_open: usize,
}

/// Which existing lines are read from a log without a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartPosition {
    /// None: only lines that are written from now on.
    End,
    /// All, including compressed and rotated files.
    Start,
    /// The files named on the command line, from their start. Rotated siblings that were not named
    /// are recorded as old.
    ExplicitInputs,
}

/// Lines of one log, in order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineChunk<'a> {
    /// Number of the generation within this run, from 0; never reused.
    pub log: u32,
    /// Permanent ID of the generation: the first part of every `id`.
    pub generation: u64,
    /// Its last known path.
    pub path: &'a Path,
    /// How it was found.
    pub origin: InputOrigin,
    /// There is no checkpoint of this log or of one that it was rotated to.
    pub fresh: bool,
    /// Number of lines of the generation before these.
    pub lines_before: u64,
    /// The lines. The chunk's offset is the second part of every `id`.
    pub chunk: Chunk<'a>,
}

/// An event that the user should know about, reported once. Path and text may contain any bytes:
/// the caller sanitizes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    /// The log or the folder.
    pub path: PathBuf,
    /// What happened, to print after the path and a space: `was truncated`.
    pub what: String,
    /// Whether something could not be read, or not completely.
    pub problem: bool,
}

/// The status of a log that is followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogView<'a> {
    /// Its last known path.
    pub path: &'a Path,
    /// ID of the generation.
    pub generation: u64,
    /// Bytes read and returned.
    pub offset: u64,
    /// Lines read and returned.
    pub lines: u64,
    /// Bytes of its file that are not read yet.
    pub lag: u64,
    /// Whether the part that was read ends in an unfinished line.
    pub pending: bool,
    /// Whether its path still leads to this file.
    pub live: bool,
}

/// One step of a poll of a watched path.
type PollStep = fn(&mut WatchedPath, &mut PollContext<'_>);

/// All logs that are followed.
#[derive(Debug)]
pub(crate) struct Tail {
    options: TailOptions,
    discovery: LogDiscovery,
    discover_at: Option<Instant>,
    watched: Vec<WatchedPath>,
    index: HashMap<PathBuf, usize>,
    /// Index of the watched path that holds each file.
    owners: HashMap<FileId, usize>,
    /// Old generations from the checkpoints that no path has claimed yet.
    unclaimed: Vec<OldGeneration>,
    /// The paths of the checkpoints.
    state_paths: Vec<PathBuf>,
    /// The checkpoints are empty: every log that exists now is new.
    all_is_new: bool,
    generation_ids: GenerationIds,
    notices: Vec<Notice>,
    buffer: Vec<u8>,
    /// The path to read first in the next round.
    next_to_read: usize,
    /// Number of open files, and the path whose files are closed next.
    open_files: usize,
    next_to_close: usize,
    /// Counts full polls, up to `idle_poll_every`.
    poll_count: usize,
    /// An idle log is polled at one of this many full polls.
    idle_poll_every: usize,
    /// The next full poll includes idle logs.
    full_poll_due: bool,
    /// Whether all logs are read once, without following them.
    once: bool,
    /// The files named on the command line, for reading once.
    explicit: ExplicitInputs,
    /// The folder that relative paths start at; empty if it is unknown.
    current_dir: PathBuf,
}

/// The files named on the command line.
#[derive(Debug, Default)]
struct ExplicitInputs {
    ids: HashSet<FileId>,
    paths: HashSet<PathBuf>,
}

impl Tail {
    /// Follows `paths`: files, which need not exist yet, folders and globs. `known` are checkpoints
    /// of an earlier run: their logs are continued, and other logs found by the same paths are new
    /// and read from their start.
    #[must_use]
    pub(crate) fn new(
        paths: Vec<PathBuf>,
        options: TailOptions,
        known: Option<Vec<Checkpoint>>,
    ) -> Self {
        let mut generation_ids = GenerationIds::default();
        let all_is_new =
            options.start == StartPosition::End && known.as_ref().is_some_and(Vec::is_empty);
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
            unclaimed: known
                .iter()
                .filter(|known| known.head.bytes > 0)
                .map(old_from_checkpoint)
                .collect(),
            all_is_new,
            generation_ids,
            notices: Vec::new(),
            buffer: Vec::new(),
            next_to_read: 0,
            open_files: 0,
            next_to_close: 0,
            poll_count: 0,
            idle_poll_every: IDLE_POLL_EVERY,
            full_poll_due: true,
            once: false,
            explicit: ExplicitInputs::default(),
            current_dir: std::env::current_dir().unwrap_or_default(),
        }
    }

    /// Detects new logs, rotations and truncations. Opens files and reads only the bytes that
    /// identify them. `only` are paths with reported changes; `None` polls everything.
    pub(crate) fn poll(&mut self, now: Instant, only: Option<&BTreeSet<PathBuf>>) {
        if self.discover_at.is_none_or(|at| at <= now)
            || only.is_some_and(|paths| self.is_new(paths))
        {
            if self.discover_at.is_none() || only.is_some() || !self.discovery.is_unchanged() {
                if self.once {
                    self.discover_explicit();
                } else {
                    self.discover();
                }
            }
            self.discover_at = Some(now + DISCOVER_EVERY);
        }
        let changed_paths = only.map(|paths| self.changed_paths(paths));
        let indices: Vec<usize> = changed_paths.map_or_else(
            || self.due_paths(now),
            |changed_paths| changed_paths.into_iter().collect(),
        );
        let mut listings = FolderListings::default();
        self.open_files = self.watched.iter().map(WatchedPath::open_files).sum();
        for step in [WatchedPath::poll as PollStep, WatchedPath::finish_poll] {
            for index in &indices {
                self.poll_path(*index, now, &mut listings, step, None);
            }
            self.resolve_undecided(&indices, now, &mut listings, step);
            self.transfer_logs(true);
        }
        self.transfer_logs(false);
        if self.watched.iter_mut().fold(false, |changed, watched| {
            std::mem::take(&mut watched.files_changed) | changed
        }) {
            self.owners.clear();
            for (index, watched) in self.watched.iter().enumerate() {
                self.owners.extend(watched.ids().map(|id| (id, index)));
            }
        }
    }

    /// Includes idle logs in the next full poll, because any of them may have changed.
    pub(crate) fn force_full_poll(&mut self) {
        self.full_poll_due = true;
    }

    /// Sets whether events report changes, so that idle logs are polled less often.
    pub(crate) fn set_watched(&mut self, is_watched: bool) {
        self.idle_poll_every = if is_watched {
            WATCHED_IDLE_POLL_EVERY
        } else {
            IDLE_POLL_EVERY
        };
    }

    /// The paths to poll now: all that are not idle, and a part of the idle ones.
    fn due_paths(&mut self, now: Instant) -> Vec<usize> {
        self.poll_count = (self.poll_count + 1) % self.idle_poll_every;
        let (poll_count, full_poll_due) =
            (self.poll_count, std::mem::take(&mut self.full_poll_due));
        let is_due = |(index, watched): (usize, &WatchedPath)| {
            (full_poll_due || index % self.idle_poll_every == poll_count || !watched.is_idle(now))
                .then_some(index)
        };
        self.watched.iter().enumerate().filter_map(is_due).collect()
    }

    /// Polls those paths again whose content may belong to another path, now that all other paths
    /// were polled.
    fn resolve_undecided(
        &mut self,
        indices: &[usize],
        now: Instant,
        listings: &mut FolderListings,
        step: PollStep,
    ) {
        let mut undecided = self.undecided(indices, step);
        if undecided.is_empty() {
            return;
        }
        let polled: HashSet<usize> = indices.iter().copied().collect();
        let others: Vec<usize> = (0..self.watched.len())
            .filter(|index| !polled.contains(index))
            .collect();
        for index in &others {
            self.poll_path(*index, now, listings, WatchedPath::poll, None);
        }
        undecided.extend(self.undecided(&others, WatchedPath::poll));
        self.transfer_logs(true);
        // Larger files first, so that a copy is compared with its original.
        undecided.sort_by_key(|(size, index, _)| {
            (
                Reverse(*size),
                self.watched[*index].path.as_os_str().len(),
                *index,
            )
        });
        let mut content_index = ContentIndex::new(
            &self.watched,
            &undecided.iter().map(|(_, index, _)| *index).collect(),
        );
        for (_, index, step) in undecided {
            self.poll_path(index, now, listings, step, Some(&mut content_index));
            for (owner, generation) in content_index.taken.drain(..) {
                self.watched[owner].drop_content(generation);
            }
            content_index.add(index, &self.watched[index]);
        }
    }

    /// The paths to poll again, with the step, and the size of the file that is undecided.
    fn undecided(&mut self, indices: &[usize], step: PollStep) -> Vec<(u64, usize, PollStep)> {
        let mut undecided = Vec::new();
        for &index in indices {
            undecided.extend(
                self.watched[index]
                    .undecided
                    .take()
                    .map(|size| (size, index, step)),
            );
        }
        undecided
    }

    fn poll_path(
        &mut self,
        index: usize,
        now: Instant,
        listings: &mut FolderListings,
        step: PollStep,
        content_index: Option<&mut ContentIndex>,
    ) {
        let is_only_path = self.watched.len() == 1;
        let spare_files = self.options.max_open.saturating_sub(self.open_files);
        let Some(watched) = self.watched.get_mut(index) else {
            return;
        };
        let open_before = watched.open_files();
        let Self {
            generation_ids,
            notices,
            owners,
            unclaimed,
            once,
            explicit,
            ..
        } = self;
        let once = *once;
        step(
            watched,
            &mut PollContext {
                now,
                generation_ids,
                notices,
                owners,
                listings,
                unclaimed,
                path_index: index,
                once,
                explicit,
                content_index,
                is_only_path,
                spare_files,
            },
        );
        if watched.files_changed {
            owners.extend(watched.ids().map(|id| (id, index)));
        }
        self.count_open_files(index, open_before);
    }

    /// Counts the files that a path opened or closed, where `before` were open. Over the limit,
    /// closes files of other paths that were read to their end, and then those of this path.
    fn count_open_files(&mut self, index: usize, before: usize) {
        self.open_files =
            (self.open_files + self.watched[index].open_files()).saturating_sub(before);
        for _ in 0..CLOSE_STEPS.min(self.watched.len()) {
            if self.open_files <= self.options.max_open {
                return;
            }
            self.next_to_close = (self.next_to_close + 1) % self.watched.len();
            if self.next_to_close != index {
                self.close_files(self.next_to_close, true);
            }
        }
        self.close_files(index, false);
    }

    /// Closes files of a path until at most the maximum number are open.
    fn close_files(&mut self, index: usize, only_read: bool) {
        let watched = &mut self.watched[index];
        let open = watched.open_files();
        let surplus = self.open_files.saturating_sub(self.options.max_open);
        watched.close_files(open.saturating_sub(surplus), only_read);
        self.open_files -= open - watched.open_files();
    }

    /// Transfers logs to the paths that they belong to by their current names, if their own paths
    /// no longer lead to them. Needed for renamed logs of a folder. Closed files are transferred as
    /// soon as possible, because they can only be opened by their current names.
    fn transfer_logs(&mut self, only_closed: bool) {
        for index in 0..self.watched.len() {
            for (id, path) in self.watched[index].wanted(only_closed) {
                let Some(holder) = self
                    .owners
                    .get(&id)
                    .copied()
                    .filter(|holder| *holder != index)
                else {
                    continue;
                };
                if let Some(log) = self
                    .watched
                    .get_mut(holder)
                    .and_then(|holder| holder.release(id, &path, only_closed))
                {
                    self.owners.insert(id, index);
                    self.watched[index].adopt(log, path);
                }
            }
        }
    }

    /// Whether there is a generation that no returned checkpoint contains. The checkpoints must be
    /// saved before its first line is reported.
    #[must_use]
    pub(crate) fn has_new_generation(&self) -> bool {
        self.generation_ids.fresh
    }

    /// Reads at most one block of each log with new data and passes the whole lines to `each`.
    /// Returns whether more can be read at once.
    pub(crate) fn read(&mut self, each: &mut dyn FnMut(LineChunk<'_>)) -> bool {
        let count = self.watched.len();
        let mut more = false;
        for step in 0..count {
            more |= self.read_path((self.next_to_read + step) % count, each);
        }
        self.next_to_read = if count == 0 {
            0
        } else {
            (self.next_to_read + 1) % count
        };
        more
    }

    /// Reads at most one block of each generation of a path. Returns whether more can be read at
    /// once.
    fn read_path(&mut self, index: usize, each: &mut dyn FnMut(LineChunk<'_>)) -> bool {
        let open_before = self.watched[index].open_files();
        let more =
            self.watched[index].read(&self.options, &mut self.buffer, &mut self.notices, each);
        if self.watched[index].open_files() != open_before {
            self.count_open_files(index, open_before);
        }
        more
    }

    /// Checkpoints of everything that was read and returned.
    pub(crate) fn checkpoints(&mut self) -> Vec<Checkpoint> {
        self.generation_ids.fresh = false;
        let mut checkpoints = Vec::new();
        for unclaimed_one in &self.unclaimed {
            checkpoints.push(
                unclaimed_one
                    .content
                    .checkpoint_at(&unclaimed_one.path, unclaimed_one.id),
            );
        }
        for watched in &self.watched {
            watched.checkpoints(&mut checkpoints);
        }
        checkpoints
    }

    /// Returns the notices since the last call.
    pub(crate) fn notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// The folders to watch for changes.
    #[must_use]
    pub(crate) fn folders(&self) -> BTreeSet<PathBuf> {
        let mut folders: BTreeSet<PathBuf> = self.discovery.folders().iter().cloned().collect();
        for watched in &self.watched {
            if !folders.contains(&watched.folder) {
                folders.insert(watched.folder.clone());
            }
        }
        folders
    }

    /// The logs that are followed.
    pub(crate) fn logs(&self) -> impl Iterator<Item = LogView<'_>> {
        self.watched
            .iter()
            .flat_map(|watched| &watched.generations)
            .filter_map(|log| view(log, self.once))
    }

    /// Whether one of these paths may be a log that is not watched yet.
    fn is_new(&self, paths: &BTreeSet<PathBuf>) -> bool {
        self.discovery.may_find_new() && paths.iter().any(|path| !self.index.contains_key(path))
    }

    /// The watched paths that changes were reported for. A changed sibling triggers a scan of the
    /// siblings.
    fn changed_paths(&mut self, paths: &BTreeSet<PathBuf>) -> BTreeSet<usize> {
        let mut changed_paths = BTreeSet::new();
        for path in paths {
            if let Some(index) = self.index.get(path) {
                changed_paths.insert(*index);
                if self.watched[*index].role != PathRole::NotRequested {
                    continue;
                }
            }
            for (index, watched) in self
                .watched
                .iter_mut()
                .enumerate()
                .filter(|(_, watched)| watched.is_sibling(path) || watched.was_seen_at(path))
            {
                changed_paths.insert(index);
                watched.scan_at = None;
            }
        }
        changed_paths
    }

    /// Watches every path that is not watched yet and is not a rotated file of a watched log.
    fn discover(&mut self) {
        let candidates = self.discovery.candidates(&mut self.notices);
        let new: Vec<_> = {
            let followed: HashSet<&Path> = self.index.keys().map(PathBuf::as_path).collect();
            let is_old = |candidate: &LogCandidate| {
                !candidate.named && discovery::base_in(&candidate.path, &followed).is_some()
            };
            candidates
                .into_iter()
                .filter(|new| !followed.contains(new.path.as_path()) && !is_old(new))
                .collect()
        };
        let known = self.watched.len();
        self.add_all(new);
        self.leave_rotated(known);
    }

    /// Watches paths that are not watched yet, up to the maximum number.
    fn add_all(&mut self, candidates: Vec<LogCandidate>) {
        if candidates.is_empty() {
            return;
        }
        let mut unclaimed = UnclaimedIndex::new(std::mem::take(&mut self.unclaimed));
        for candidate in candidates {
            if self.is_full(&candidate) {
                break;
            }
            self.add(candidate, &mut unclaimed);
        }
        self.unclaimed = unclaimed.into_rest();
    }

    /// Leaves rotated files that were found before their logs to these logs, which are those after
    /// the first `known` paths. The path of such a file leads to other rotated files from now on.
    fn leave_rotated(&mut self, known: usize) {
        let (known, new) = self.watched.split_at_mut(known);
        let logs: HashSet<&Path> = new.iter().map(|log| log.path.as_path()).collect();
        if logs.is_empty() {
            return;
        }
        for rotated in known
            .iter_mut()
            .filter(|path| !path.named && discovery::base_in(&path.path, &logs).is_some())
        {
            rotated.role = PathRole::NotRequested;
        }
    }

    /// Whether the maximum number of paths is reached; reports it.
    fn is_full(&mut self, candidate: &LogCandidate) -> bool {
        let is_full = self.watched.len() == MAX_PATHS;
        if is_full {
            self.discovery
                .report_full(&candidate.path, MAX_PATHS, &mut self.notices);
        }
        is_full
    }

    fn add(&mut self, candidate: LogCandidate, unclaimed: &mut UnclaimedIndex) {
        let LogCandidate {
            path,
            named,
            argument_folder,
            from_pattern,
            is_absent,
        } = candidate;
        if self.index.contains_key(&path) {
            return;
        }
        let absolute =
            std::path::absolute(self.current_dir.join(&path)).unwrap_or_else(|_| path.clone());
        let mut watched = WatchedPath::new(path.clone(), absolute, named);
        watched.from_pattern = from_pattern;
        let is_known = self.all_is_new
            || self.is_known_to_state(&watched, argument_folder.as_deref())
            || self.discover_at.is_some();
        if !is_known && self.options.start == StartPosition::End {
            watched.start_at = StartAt::End;
        }
        watched.role = if is_absent {
            PathRole::NotRequested
        } else {
            PathRole::Log
        };
        watched.known = match self.options.start {
            _ if is_known => StateKnowledge::Known,
            StartPosition::ExplicitInputs => StateKnowledge::UnknownExplicitOnly,
            StartPosition::Start | StartPosition::End => StateKnowledge::Unknown,
        };
        watched.old_generations = unclaimed.take(&watched);
        // Change events may use the absolute path.
        self.index
            .insert(watched.absolute.clone(), self.watched.len());
        self.index.insert(path, self.watched.len());
        self.watched.push(watched);
    }

    /// Whether the checkpoints contain this path, or others found by the same argument: then the
    /// log is new since.
    fn is_known_to_state(&self, watched: &WatchedPath, argument_folder: Option<&Path>) -> bool {
        let folder = argument_folder.unwrap_or(&watched.folder);
        let is_near = |known: &PathBuf| {
            watched.is_self_or_sibling(known) || watched.from_pattern && known.starts_with(folder)
        };
        self.state_paths.iter().any(is_near)
    }
}

/// The status of a log. A log without a line has one only when reading once, where all input must
/// be accounted for.
fn view(log: &Generation, once: bool) -> Option<LogView<'_>> {
    let (path, live) = (log.path.as_path(), log.state == GenerationState::Live);
    let Some(content) = &log.content else {
        let size = log.stat.size;
        return (once && size > 0).then_some(LogView {
            path,
            generation: 0,
            offset: 0,
            lines: 0,
            lag: size,
            pending: true,
            live,
        });
    };
    let lag = if log.is_compressed() {
        0
    } else {
        log.stat.size.saturating_sub(content.offset)
    };
    let pending = log.is_unfinished() && log.state != GenerationState::Done;
    Some(LogView {
        path,
        generation: content.generation,
        offset: content.offset,
        lines: content.lines,
        lag,
        pending,
        live,
    })
}

/// The generation of a checkpoint.
fn old_from_checkpoint(checkpoint: &Checkpoint) -> OldGeneration {
    let content = ContentFingerprint::from_checkpoint(checkpoint);
    OldGeneration::new(
        content,
        (checkpoint.device, checkpoint.inode),
        checkpoint_path(checkpoint),
        0,
    )
}

/// The path of a checkpoint.
fn checkpoint_path(checkpoint: &Checkpoint) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(checkpoint.path.clone()))
}

#[cfg(test)]
mod tests;
