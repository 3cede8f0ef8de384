//! One watched path: the generation that it leads to, older ones that are still read, and known old
//! ones.
//!
//! Polling reads no lines. The path may lead to another file at any time; what counts is the open
//! file and its content.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io};

use super::content::{ContentFingerprint, ContentIndex, IndexMatch};
use super::generation::{Generation, GenerationIds, GenerationReader, GenerationState};
use super::inspected_file::{
    FileId, FileStat, InspectedFile, is_absent, is_bind_mounted_file, open,
};
use super::recognize::is_truncated_prefix;
use super::siblings::{FolderListings, targets};
use super::start::StartAt;
use super::{ExplicitInputs, Notice, recognize};
use crate::input::find::describe_denied;
use crate::input::rotation::{RotationRank, bases, file_name_bytes, parent_folder, rank};
use crate::log::source::Checkpoint;

/// A log without new data for this long is idle.
const IDLE_AFTER: Duration = Duration::from_secs(10);
/// A path that is missing for this long is reported.
const MISSING: Duration = Duration::from_secs(3);

/// What a poll needs from the tail.
pub(super) struct PollContext<'a> {
    pub(super) now: Instant,
    pub(super) generation_ids: &'a mut GenerationIds,
    pub(super) notices: &'a mut Vec<Notice>,
    /// Index of the watched path that holds each file.
    pub(super) owners: &'a HashMap<FileId, usize>,
    pub(super) listings: &'a mut FolderListings,
    /// Old generations from the checkpoints that no path has claimed.
    pub(super) unclaimed: &'a mut Vec<OldGeneration>,
    /// The index of the path that is polled.
    pub(super) path_index: usize,
    /// Whether all logs are read once, without following them.
    pub(super) once: bool,
    /// The files named on the command line.
    pub(super) explicit: &'a ExplicitInputs,
    /// The content of other paths; available once all of them were polled.
    pub(super) content_index: Option<&'a mut ContentIndex>,
    /// There is only one path.
    pub(super) is_only_path: bool,
    /// Number of files that may still be opened.
    pub(super) spare_files: usize,
}

impl PollContext<'_> {
    /// Searches the content of a file among the other paths; `None` if they must be polled first.
    pub(super) fn find_elsewhere(
        &mut self,
        path: &Path,
        ids: [Option<FileId>; 2],
        inspected: &mut InspectedFile,
    ) -> io::Result<Option<IndexMatch>> {
        match &mut self.content_index {
            _ if self.is_only_path => Ok(Some(IndexMatch::None)),
            Some(others) => others.find(self.path_index, path, ids, inspected).map(Some),
            None => Ok(None),
        }
    }

    /// Whether another path holds this file.
    pub(super) fn is_held_by_other(&self, id: FileId) -> bool {
        self.owners
            .get(&id)
            .is_some_and(|index| *index != self.path_index)
    }

    pub(super) fn notice(&mut self, path: &Path, what: impl Into<String>) {
        self.notices.push(Notice {
            path: path.to_owned(),
            what: what.into(),
            problem: false,
        });
    }

    pub(super) fn problem(&mut self, path: &Path, what: impl Into<String>) {
        self.notices.push(Notice {
            path: path.to_owned(),
            what: what.into(),
            problem: true,
        });
    }
}

/// A generation that is not read any more.
#[derive(Debug)]
pub(super) struct OldGeneration {
    pub(super) content: ContentFingerprint,
    pub(super) id: FileId,
    pub(super) path: PathBuf,
    /// Number of the last scan that found its file.
    pub(super) last_seen_scan: u64,
    /// Its file was closed to limit the number of open files, and its path leads elsewhere since:
    /// it may have lines that were not read.
    pub(super) may_have_more: bool,
}

impl OldGeneration {
    /// A generation that was read as far as it was wanted, and whose file the scan `last_seen_scan`
    /// found.
    pub(super) fn new(
        content: ContentFingerprint,
        id: FileId,
        path: PathBuf,
        last_seen_scan: u64,
    ) -> Self {
        Self {
            content,
            id,
            path,
            last_seen_scan,
            may_have_more: false,
        }
    }
}

/// Checkpoints that no path has claimed, by the names of the logs that they may be of: comparing
/// each with each path would take seconds for thousands of logs.
pub(super) struct UnclaimedIndex {
    generations: Vec<Option<OldGeneration>>,
    by_base: HashMap<Vec<u8>, Vec<usize>>,
}

impl UnclaimedIndex {
    pub(super) fn new(unclaimed: Vec<OldGeneration>) -> Self {
        let mut by_base: HashMap<_, Vec<usize>> = HashMap::new();
        for (index, old) in unclaimed.iter().enumerate() {
            let name = file_name_bytes(&old.path);
            let names: BTreeSet<_> = bases(&name)
                .map(|(base, _)| base)
                .chain([name.clone()])
                .collect();
            for base in names {
                by_base.entry(base).or_default().push(index);
            }
        }
        Self {
            generations: unclaimed.into_iter().map(Some).collect(),
            by_base,
        }
    }

    /// Takes those of a path and of its rotated siblings, in their order.
    pub(super) fn take(&mut self, watched: &WatchedPath) -> Vec<OldGeneration> {
        let Self {
            generations,
            by_base,
        } = self;
        let indices = by_base.get(&watched.base).into_iter().flatten();
        indices
            .filter_map(|&index| {
                generations[index].take_if(|old| watched.is_self_or_sibling(&old.path))
            })
            .collect()
    }

    /// Those that were not taken, in their order.
    pub(super) fn into_rest(self) -> Vec<OldGeneration> {
        self.generations.into_iter().flatten().collect()
    }
}

/// Whether the checkpoints contain a log or one of its rotated siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateKnowledge {
    Known,
    Unknown,
    /// Unknown, and the first scan reads only siblings that were named on the command line.
    UnknownExplicitOnly,
}

/// What the path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathRole {
    /// The log.
    Log,
    /// A compressed file, which is read as siblings are.
    Compressed,
    /// The path itself was not requested: only rotated siblings of its log were. Or it is a rotated
    /// sibling of another path.
    NotRequested,
}

/// A watched path.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and all combinations occur"
)]
pub(super) struct WatchedPath {
    pub(super) path: PathBuf,
    /// The absolute path.
    pub(super) absolute: PathBuf,
    pub(super) named: bool,
    /// It was found by a glob or in a folder.
    pub(super) from_pattern: bool,
    /// The folder of its siblings, and the start of their names.
    pub(super) folder: PathBuf,
    pub(super) base: Vec<u8>,
    /// Oldest first. The live one, if there is one, is the last.
    pub(super) generations: Vec<Generation>,
    pub(super) old_generations: Vec<OldGeneration>,
    /// Where to start in unknown content that exists at the first poll.
    pub(super) start_at: StartAt,
    /// Siblings with nothing more to read, and their metadata at that moment.
    pub(super) finished_siblings: HashMap<FileId, FileStat>,
    /// Subfolders that contain known content of this log.
    pub(super) rotated_folders: BTreeSet<PathBuf>,
    /// Number of the next scan for siblings, and when it is due.
    pub(super) scans: u64,
    pub(super) scan_at: Option<Instant>,
    /// The last scan that searches under unusual names too.
    pub(super) search_until_scan: u64,
    /// Number of quick rescans left: while files are being renamed, a listing may miss one.
    pub(super) rescans: u32,
    /// Size of a file whose content may belong to another path; 0 if it is compressed.
    pub(super) undecided: Option<u64>,
    /// The set of files held here changed.
    pub(super) files_changed: bool,
    /// The file of the path, if another path holds it.
    pub(super) alias: Option<FileId>,
    /// Siblings that another path holds.
    pub(super) wanted_siblings: Vec<(FileId, PathBuf)>,
    /// Whether there is a checkpoint of it.
    pub(super) known: StateKnowledge,
    /// What the path itself is to it.
    pub(super) role: PathRole,
    /// Siblings that the current scan recognized.
    pub(super) known_siblings: Vec<(RotationRank, FileStat)>,
    /// The latest date or number of the targets of links that the current scan recognized.
    pub(super) known_target: Option<RotationRank>,
    /// Since when the path is missing, and whether that was reported.
    pub(super) missing: Option<(Instant, bool)>,
    /// Whether the path was a symbolic link when it last led to another file.
    pub(super) is_link: bool,
    /// Whether it was checked for a bind mount.
    mount_checked: bool,
    /// The last problem of the path that was reported.
    last_problem: Option<String>,
    /// The problems of its siblings that were reported.
    pub(super) sibling_problems: BTreeSet<String>,
}

impl WatchedPath {
    /// Watches `path`, whose absolute path is `absolute`. All its content is new.
    pub(super) fn new(path: PathBuf, absolute: PathBuf, named: bool) -> Self {
        let (folder, base) = (parent_folder(&path), file_name_bytes(&path));
        Self {
            path,
            absolute,
            named,
            from_pattern: false,
            folder,
            base,
            generations: Vec::new(),
            old_generations: Vec::new(),
            start_at: StartAt::FirstLine,
            finished_siblings: HashMap::new(),
            rotated_folders: BTreeSet::new(),
            scans: 0,
            scan_at: None,
            search_until_scan: recognize::MAX_SEARCH_SCANS,
            rescans: 0,
            undecided: None,
            files_changed: false,
            alias: None,
            wanted_siblings: Vec::new(),
            known: StateKnowledge::Unknown,
            role: PathRole::Log,
            known_siblings: Vec::new(),
            known_target: None,
            missing: None,
            is_link: false,
            mount_checked: false,
            last_problem: None,
            sibling_problems: BTreeSet::new(),
        }
    }

    /// Whether `path` is this path or may be a rotated sibling.
    pub(super) fn is_self_or_sibling(&self, path: &Path) -> bool {
        path == self.path || path == self.absolute || self.is_sibling(path)
    }

    /// Whether `path` may be a rotated sibling.
    pub(super) fn is_sibling(&self, path: &Path) -> bool {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return false;
        };
        let near = |folder: &Path| folder == self.folder || Some(folder) == self.absolute.parent();
        (near(folder) || folder.parent().is_some_and(near))
            && rank(&self.base, name.as_bytes()).is_some()
    }

    /// The files that are held here and by no other path.
    pub(super) fn ids(&self) -> impl Iterator<Item = FileId> {
        self.generations
            .iter()
            .filter(|log| log.has_file() && !log.is_borrowed)
            .map(|log| log.stat.id)
    }

    /// Adds the checkpoints of this path. A path without content has a checkpoint too, which
    /// records that the path was followed, so that content that appears later is new.
    pub(super) fn checkpoints(&self, checkpoints: &mut Vec<Checkpoint>) {
        for old in &self.old_generations {
            checkpoints.push(old.content.checkpoint_at(&old.path, old.id));
        }
        for log in &self.generations {
            let id = if !log.has_file() || log.stat.links == 0 {
                (0, 0)
            } else {
                log.stat.id
            };
            checkpoints.extend(
                log.content
                    .as_ref()
                    .map(|content| content.checkpoint_at(&log.path, id)),
            );
        }
        if self.role != PathRole::NotRequested
            && !self
                .generations
                .iter()
                .any(|log| log.state == GenerationState::Live && log.content.is_some())
        {
            let nothing = ContentFingerprint::new(0, b"", 0, 0, b"");
            checkpoints.push(nothing.checkpoint_at(&self.path, (0, 0)));
        }
    }

    /// Whether there was no new data for a while and nothing is unfinished. Idle logs are polled
    /// less often, since a thousand of them would cost more than one active log.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        let [log] = self.generations.as_slice() else {
            return false;
        };
        let rests = log.state == GenerationState::Live
            && log.content.is_some()
            && !log.mismatched
            && self.rescans == 0;
        rests && now.saturating_duration_since(log.quiet_since) >= IDLE_AFTER
    }

    /// The generation that the path leads to.
    fn live(&mut self) -> Option<&mut Generation> {
        self.generations
            .last_mut()
            .filter(|log| log.state == GenerationState::Live)
    }

    /// Checks the path and the generations that it led to before. Reads only the bytes that
    /// identify a file.
    pub(super) fn poll(&mut self, poll: &mut PollContext<'_>) {
        match fs::metadata(&self.path) {
            // The path was requested until the log was found that it was rotated from.
            _ if self.role == PathRole::NotRequested && self.live().is_some() => {
                self.retire_live(poll.now);
            }
            _ if self.role != PathRole::Log => {}
            Ok(metadata) if metadata.is_file() => {
                self.path_found(FileStat::from_metadata(&metadata), poll);
            }
            Ok(_) => self.report_problem_once(poll, "is not a file; only files are followed"),
            Err(error) if is_absent(&error) => self.path_missing(poll),
            Err(error) => self.report_problem_once(poll, &self.reason(&error)),
        }
        self.poll_old(poll);
    }

    /// Scans the siblings if a scan is due, and closes finished generations. Runs after all paths
    /// were polled, so that the listings are not older than the metadata.
    pub(super) fn finish_poll(&mut self, poll: &mut PollContext<'_>) {
        if self.scan_at.is_none_or(|at| at <= poll.now) {
            self.scan_siblings(poll);
        }
        self.close_finished(poll);
        if self.last_problem.is_none() {
            self.start_at = StartAt::FirstLine;
        }
    }

    fn path_found(&mut self, stat: FileStat, poll: &mut PollContext<'_>) {
        if self.live().is_some_and(|live| live.stat.id == stat.id) {
            self.path_unchanged(stat, poll);
        } else if self.alias != Some(stat.id) || !poll.is_held_by_other(stat.id) {
            self.path_replaced(poll);
        }
    }

    /// The path still leads to the same file.
    fn path_unchanged(&mut self, stat: FileStat, poll: &mut PollContext<'_>) {
        let Some(live) = self.live() else { return };
        if live.stat == stat
            && !live.mismatched
            && !stat.is_recent()
            && poll.content_index.is_none()
        {
            return;
        }
        match live.reopen() {
            Ok(true) => {}
            // The path leads to another file since its metadata were read.
            Ok(false) => return,
            Err(error) => {
                return self.report_problem_once(poll, &format!("cannot be read: {error}"));
            }
        }
        if live.stat.size != stat.size {
            live.quiet_since = poll.now;
        }
        let changed = live.stat != stat;
        live.stat = stat;
        if live.content.is_none() {
            // It may have had content that was copied and truncated since.
            if changed {
                self.schedule_scan();
            }
            if stat.size > 0 {
                self.start_live(poll);
            }
            return;
        }
        match if stat.size < live.offset() {
            Ok(false)
        } else {
            live.holds()
        } {
            Ok(true) => live.mismatched = false,
            Ok(false) => self.live_truncated(poll),
            Err(error) => poll.notices.extend(live.failed(&error)),
        }
    }

    /// The live file was truncated.
    fn live_truncated(&mut self, poll: &mut PollContext<'_>) {
        let Some(live) = self.generations.len().checked_sub(1) else {
            return;
        };
        let has_old_start = self.split_generation(live, poll);
        let start = std::mem::replace(
            &mut self.start_at,
            if has_old_start {
                StartAt::End
            } else {
                StartAt::FirstLine
            },
        );
        self.start_live(poll);
        self.start_at = start;
        poll.notice(&self.path, "was truncated");
    }

    /// Separates a file from the content that it no longer has: the unread rest must be in another
    /// file, if anywhere, and the file starts a new generation, unless another path does that.
    /// Returns whether the file still has the start of the old content.
    pub(super) fn split_generation(&mut self, index: usize, poll: &mut PollContext<'_>) -> bool {
        let old = &mut self.generations[index];
        let Some(file) = old.file() else { return false };
        let mut new = Generation::new(
            old.path.clone(),
            GenerationReader::Plain(Arc::clone(&file)),
            old.stat,
            None,
            poll.now,
        );
        new.state = if old.state == GenerationState::Live {
            GenerationState::Live
        } else {
            GenerationState::Draining
        };
        new.moved_to.clone_from(&old.moved_to);
        new.unlinked_since = old.unlinked_since;
        new.is_rewritten = true;
        let has_old_start = is_truncated_prefix(old, &file);
        let is_borrowed = old.is_borrowed;
        old.detach_file(poll.now);
        if !is_borrowed {
            self.generations.insert(index + 1, new);
        }
        self.schedule_scan();
        has_old_start
    }

    /// The path leads to another file than before.
    fn path_replaced(&mut self, poll: &mut PollContext<'_>) {
        let (file, stat) = match open(&self.path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return self.path_missing(poll);
            }
            Err(error) => return self.report_problem_once(poll, &self.reason(&error)),
        };
        if self.live().is_some_and(|live| live.stat.id == stat.id) {
            return self.path_unchanged(stat, poll);
        }
        self.path_reappeared(poll);
        self.retire_live(poll.now);
        self.alias = None;
        self.is_link = fs::symlink_metadata(&self.path).is_ok_and(|found| found.is_symlink());
        let is_again =
            |log: &Generation| log.stat.id == stat.id && log.has_file() && !log.is_compressed();
        if let Some(again) = self.generations.iter().position(is_again) {
            let mut log = self.generations.remove(again);
            log.become_live(file);
            self.generations.push(log);
            return self.path_unchanged(stat, poll);
        }
        self.files_changed = true;
        if poll.is_held_by_other(stat.id) {
            self.alias = Some(stat.id);
            return;
        }
        let had_log = !self.generations.is_empty() || !self.old_generations.is_empty();
        self.generations.push(Generation::new(
            self.path.clone(),
            GenerationReader::Plain(file),
            stat,
            None,
            poll.now,
        ));
        if !std::mem::replace(&mut self.mount_checked, true)
            && is_bind_mounted_file(&self.path, |folder| poll.listings.mount(folder))
        {
            poll.notice(&self.path, "is a mounted file: a rotation outside the container is not visible here; mount its folder");
        }
        self.start_live(poll);
        let is_resumed = self.live().is_some_and(|live| live.is_resumed());
        if self.is_link && had_log && !is_resumed && targets(&self.path, poll.listings).is_empty() {
            let what = "leads to another file now; files that it led to in between may have been passed over: none of their names shows it";
            poll.notice(&self.path, what);
        }
    }

    /// Identifies the content of the live file, if it has any.
    fn start_live(&mut self, poll: &mut PollContext<'_>) {
        let Some(live) = self.live() else { return };
        let (Some(file), stat) = (live.file(), live.stat) else {
            return;
        };
        match self.identify(&file, stat, poll) {
            Ok(content) => {
                let number = content.is_some().then(|| poll.generation_ids.next());
                if let (Some(live), Some(content), Some(number)) = (self.live(), content, number) {
                    live.set_content(content, number);
                }
            }
            Err(error) => self.report_problem_once(poll, &format!("cannot be read: {error}")),
        }
        if self.role == PathRole::Compressed {
            self.generations.pop();
            self.files_changed = true;
        }
    }

    /// The path leads elsewhere from now on. Its generation is read until no more data comes.
    fn retire_live(&mut self, now: Instant) {
        let scans = self.scans;
        if let Some(live) = self.live() {
            live.state = GenerationState::Draining;
            live.caught_up = false;
            live.quiet_since = now;
            live.retired_len = live.content.is_some().then_some(live.stat.size);
            live.retired_scan = scans;
            live.count_links();
        }
        self.schedule_scan();
    }

    /// Keeps only the fingerprint of a generation whose closed file was not found again by its
    /// inode. A scan searches the content.
    pub(super) fn lose_closed(&mut self, index: usize) {
        let log = self.generations.remove(index);
        self.files_changed = true;
        if let Some(content) = log.content {
            let (id, path) = (log.stat.id, log.path);
            self.old_generations.push(OldGeneration {
                may_have_more: true,
                ..OldGeneration::new(content, id, path, self.scans)
            });
        }
        self.search_until_scan = self.scans + recognize::MAX_SEARCH_SCANS;
        self.schedule_scan();
    }

    /// Number of files that are open.
    pub(super) fn open_files(&self) -> usize {
        self.generations.iter().filter(|log| log.is_open()).count()
    }

    /// Closes files that their paths still lead to, until at most `limit` are open here. Those are
    /// closed first that were read to their end. With `only_read`, no others are closed.
    pub(super) fn close_files(&mut self, limit: usize, only_read: bool) {
        let mut open = self.open_files();
        for is_read in [true, false]
            .into_iter()
            .filter(|is_read| *is_read || !only_read)
        {
            let logs = self.generations.iter_mut().filter(|log| log.is_open());
            for log in logs.filter(|log| (log.content.is_some() && log.is_read()) == is_read) {
                if open <= limit {
                    return;
                }
                open -= usize::from(log.close_file());
            }
        }
    }

    fn path_missing(&mut self, poll: &mut PollContext<'_>) {
        if self.live().is_some() {
            self.retire_live(poll.now);
        }
        let (since, reported) = self.missing.get_or_insert((poll.now, false));
        let never = self.generations.is_empty() && self.old_generations.is_empty();
        if self.named
            && !poll.once
            && !*reported
            && (never || poll.now.duration_since(*since) >= MISSING)
        {
            *reported = true;
            let what = if never {
                "does not exist yet; waiting for it"
            } else {
                "was removed; waiting for it to be created again"
            };
            poll.notice(&self.path, what);
        }
    }

    fn path_reappeared(&mut self, poll: &mut PollContext<'_>) {
        self.last_problem = None;
        if self.missing.take().is_some_and(|(_, reported)| reported) {
            poll.notice(&self.path, "exists now");
        }
    }

    /// Why the path cannot be opened, and which group may read it.
    fn reason(&self, error: &io::Error) -> String {
        if error.kind() == io::ErrorKind::PermissionDenied {
            describe_denied(&self.path)
        } else {
            error.to_string()
        }
    }

    /// Reports a problem of its siblings, once.
    pub(super) fn report_sibling_problem(&mut self, poll: &mut PollContext<'_>, what: String) {
        if self.sibling_problems.insert(what.clone()) {
            poll.problem(&self.path, what);
        }
    }

    /// Reports a problem unless it was the last one reported.
    pub(super) fn report_problem_once(&mut self, poll: &mut PollContext<'_>, what: &str) {
        if self.last_problem.as_deref() != Some(what) {
            self.last_problem = Some(what.to_owned());
            poll.problem(&self.path, what);
        }
    }
}
