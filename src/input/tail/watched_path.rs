//! One path that is followed: the log it leads to, those it led to before, and what is known of older ones.
//!
//! Looks and never reads lines. The path may lead anywhere at any time; what counts is the file that was opened, and its
//! text.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Notice;
use super::content::ContentFingerprint;
use super::content_index::{ContentIndex, IndexMatch};
use super::file_stat::{FileId, FileStat, is_bind_mounted_file};
use super::generation::GenerationIds;
use super::generation::{Generation, GenerationState};
use super::generation_reader::GenerationReader;
use super::inspected_file::{InspectedFile, open};
use super::recognize::is_truncated_prefix;
use super::siblings::FolderListings;
use super::start::StartAt;
use super::{ExplicitInputs, moved_files};
use crate::input::permission::describe_denied;
use crate::input::rotation_names::{RotationRank, file_name_bytes, parent_folder, rank};
use crate::source::Checkpoint;

/// A log that was quiet for so long rests.
const IDLE_AFTER: Duration = Duration::from_secs(10);
/// A path that leads nowhere for so long is worth a word.
const MISSING: Duration = Duration::from_secs(3);

/// What a look needs from outside.
pub(super) struct PollContext<'a> {
    pub(super) now: Instant,
    pub(super) generation_ids: &'a mut GenerationIds,
    pub(super) notices: &'a mut Vec<Notice>,
    /// Which place holds which file.
    pub(super) owners: &'a HashMap<FileId, usize>,
    pub(super) listings: &'a mut FolderListings,
    /// Texts of a state that no place has claimed.
    pub(super) unclaimed: &'a mut Vec<OldGeneration>,
    /// The number of the place that looks.
    pub(super) place: usize,
    /// All is read once, and no more.
    pub(super) once: bool,
    /// The files that were given.
    pub(super) given: &'a ExplicitInputs,
    /// What other places know, once all of them looked.
    pub(super) others: Option<&'a mut ContentIndex>,
    /// There are no others.
    pub(super) is_only_path: bool,
}

impl PollContext<'_> {
    /// Asks the other places about the text of a file; `None` where they are to be asked when all of them looked.
    pub(super) fn find_elsewhere(
        &mut self,
        path: &Path,
        ids: [Option<FileId>; 2],
        inspected: &mut InspectedFile,
    ) -> io::Result<Option<IndexMatch>> {
        match &mut self.others {
            _ if self.is_only_path => Ok(Some(IndexMatch::None)),
            Some(others) => others.find(self.place, path, ids, inspected).map(Some),
            None => Ok(None),
        }
    }

    /// Whether another place holds this file.
    pub(super) fn is_held_by_other(&self, id: FileId) -> bool {
        self.owners.get(&id).is_some_and(|place| *place != self.place)
    }

    pub(super) fn notice(&mut self, path: &Path, what: impl Into<String>) {
        self.notices.push(Notice { path: path.to_owned(), what: what.into(), problem: false });
    }

    pub(super) fn problem(&mut self, path: &Path, what: impl Into<String>) {
        self.notices.push(Notice { path: path.to_owned(), what: what.into(), problem: true });
    }
}

/// A generation that is not read any more.
#[derive(Debug)]
pub(super) struct OldGeneration {
    pub(super) content: ContentFingerprint,
    pub(super) id: FileId,
    pub(super) path: PathBuf,
    /// The scan that last met its file.
    pub(super) last_seen_scan: u64,
}

/// Whether a state knows a log or one that it was rotated to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateKnowledge {
    Known,
    Unknown,
    /// And at the first look only those siblings are read that were given.
    UnknownExplicitOnly,
}

/// What the path of a place leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathRole {
    /// The log.
    Generation,
    /// A packed file, which is read as siblings are.
    Compressed,
    /// It is not asked for: only files were given that its log was rotated to.
    NotRequested,
}

/// A followed path.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and all combinations occur")]
pub(super) struct WatchedPath {
    pub(super) path: PathBuf,
    /// The same from the root on.
    pub(super) absolute: PathBuf,
    pub(super) named: bool,
    /// A pattern or a folder led to it.
    pub(super) from_pattern: bool,
    /// Where its siblings are, and what their names begin with.
    pub(super) folder: PathBuf,
    pub(super) base: Vec<u8>,
    /// Oldest first; the live one, where there is one, is the last.
    pub(super) generations: Vec<Generation>,
    pub(super) old_generations: Vec<OldGeneration>,
    /// What to do with text that nobody knows.
    pub(super) start_at: StartAt,
    /// Siblings in which there is nothing more to find, as they were then.
    pub(super) finished_siblings: HashMap<FileId, (u64, (i64, i64))>,
    /// Subfolders in which a text of this family was met.
    pub(super) rotated_folders: BTreeSet<PathBuf>,
    /// The number of the next scan for siblings, and when it is due.
    pub(super) scans: u64,
    pub(super) scan_at: Option<Instant>,
    /// The last of them that looks for what was read under any name.
    pub(super) search_until_scan: u64,
    /// Scans that follow the next one soon: while names are passed on, a list of them may miss one.
    pub(super) rescans: u32,
    /// It met a text that another place may know: the size of its file.
    pub(super) undecided: Option<u64>,
    /// Files that are held changed.
    pub(super) moved: bool,
    /// Another place holds the file that the path leads to.
    pub(super) alias: Option<FileId>,
    /// Siblings that another place holds.
    pub(super) wanted_siblings: Vec<(FileId, PathBuf)>,
    /// Whether a state knows it.
    pub(super) known: StateKnowledge,
    /// What the path itself is to it.
    pub(super) role: PathRole,
    /// Siblings whose texts the present scan knew.
    pub(super) known_siblings: Vec<(RotationRank, FileStat)>,
    /// Since when the path leads nowhere, and whether that was said.
    pub(super) missing: Option<(Instant, bool)>,
    /// Whether it was looked at whether the file is mounted by itself.
    mount_checked: bool,
    /// What was last said to be wrong with the path.
    last_problem: Option<String>,
}

impl WatchedPath {
    /// A place at `path`. `begin`: what to do with text that is there at the first look and that nobody knows.
    pub(super) fn new(path: PathBuf, named: bool, start_at: StartAt) -> Self {
        let (folder, base) = (parent_folder(&path), file_name_bytes(&path));
        Self {
            absolute: std::path::absolute(&path).unwrap_or_else(|_| path.clone()),
            path,
            named,
            from_pattern: false,
            folder,
            base,
            generations: Vec::new(),
            old_generations: Vec::new(),
            start_at,
            finished_siblings: HashMap::new(),
            rotated_folders: BTreeSet::new(),
            scans: 0,
            scan_at: None,
            search_until_scan: moved_files::SCANS,
            rescans: 0,
            undecided: None,
            moved: false,
            alias: None,
            wanted_siblings: Vec::new(),
            known: StateKnowledge::Unknown,
            role: PathRole::Generation,
            known_siblings: Vec::new(),
            missing: None,
            mount_checked: false,
            last_problem: None,
        }
    }

    /// Whether a path may be this one, or one that its log was rotated to.
    pub(super) fn is_self_or_sibling(&self, path: &Path) -> bool {
        path == self.path || path == self.absolute || self.is_sibling(path)
    }

    /// Whether a path may be one that its log was rotated to.
    pub(super) fn is_sibling(&self, path: &Path) -> bool {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let near = |folder: &Path| folder == self.folder || Some(folder) == self.absolute.parent();
        (near(folder) || folder.parent().is_some_and(near)) && rank(&self.base, name.as_bytes()).is_some()
    }

    /// The files that are held here.
    pub(super) fn ids(&self) -> impl Iterator<Item = FileId> {
        self.generations.iter().filter(|log| !matches!(log.state, GenerationState::Truncated { .. })).map(|log| log.stat.id)
    }

    /// Adds how far everything here was read. A path without any text has a checkpoint too: it says that the path was
    /// followed, so that what comes there is new.
    pub(super) fn checkpoints(&self, checkpoints: &mut Vec<Checkpoint>) {
        for past in &self.old_generations {
            checkpoints.push(past.content.checkpoint_at(&past.path, past.id));
        }
        for log in &self.generations {
            let id = if matches!(log.state, GenerationState::Truncated { .. }) || log.stat.links == 0 { (0, 0) } else { log.stat.id };
            checkpoints.extend(log.content.as_ref().map(|content| content.checkpoint_at(&log.path, id)));
        }
        if self.role != PathRole::NotRequested
            && !self.generations.iter().any(|log| log.state == GenerationState::Live && log.content.is_some())
        {
            let nothing = ContentFingerprint::new(0, b"", 0, 0, b"");
            checkpoints.push(nothing.checkpoint_at(&self.path, (0, 0)));
        }
    }

    /// Whether nothing has come for a while, and nothing is to be finished: a thousand such logs would cost more than the
    /// one that is written to.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        let [log] = self.generations.as_slice() else { return false };
        let rests = log.state == GenerationState::Live && log.content.is_some() && !log.mismatched && self.rescans == 0;
        rests && now.saturating_duration_since(log.quiet_since) >= IDLE_AFTER
    }

    /// The log that the path leads to.
    fn live(&mut self) -> Option<&mut Generation> {
        self.generations.last_mut().filter(|log| log.state == GenerationState::Live)
    }

    /// Looks at the path and at the logs it led to before. Reads nothing but heads.
    pub(super) fn poll(&mut self, context: &mut PollContext<'_>) {
        match fs::metadata(&self.path) {
            _ if self.role != PathRole::Generation => {}
            Ok(found) if found.is_file() => self.path_found(FileStat::from_metadata(&found), context),
            Ok(_) => self.report_unreadable(context, "is not a file; only files are followed"),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => self.path_missing(context),
            Err(error) => self.report_unreadable(context, &self.reason(&error)),
        }
        self.poll_old(context);
    }

    /// Looks through the siblings if it is time, and closes what is done with. Behind the look at all paths, so that
    /// what is listed then is no older than what was seen of them.
    pub(super) fn finish_poll(&mut self, context: &mut PollContext<'_>) {
        if self.scan_at.is_none_or(|at| at <= context.now) {
            self.scan_siblings(context);
        }
        self.close_finished(context);
        if self.last_problem.is_none() {
            self.start_at = StartAt::FirstLine;
        }
    }

    fn path_found(&mut self, stat: FileStat, context: &mut PollContext<'_>) {
        if self.live().is_some_and(|live| live.stat.id == stat.id) {
            self.path_unchanged(stat, context);
        } else if self.alias != Some(stat.id) || !context.is_held_by_other(stat.id) {
            self.path_replaced(context);
        }
    }

    /// The path leads where it led before.
    fn path_unchanged(&mut self, stat: FileStat, context: &mut PollContext<'_>) {
        let Some(live) = self.live() else { return };
        if live.stat == stat && !live.mismatched && !stat.is_recent() && context.others.is_none() {
            return;
        }
        if live.stat.size != stat.size {
            live.quiet_since = context.now;
        }
        let changed = live.stat != stat;
        live.stat = stat;
        if live.content.is_none() {
            // It may have held a text that was copied and truncated since.
            if changed {
                self.schedule_scan();
            }
            if stat.size > 0 {
                self.start_live(context);
            }
        } else if stat.size < live.offset() || matches!(live.holds(), Ok(false)) {
            self.live_truncated(context);
        } else {
            live.mismatched = false;
        }
    }

    /// The live file was truncated.
    fn live_truncated(&mut self, context: &mut PollContext<'_>) {
        let Some(live) = self.generations.len().checked_sub(1) else { return };
        let cut = self.split_generation(live, context);
        let start = std::mem::replace(&mut self.start_at, if cut { StartAt::End } else { StartAt::FirstLine });
        self.start_live(context);
        self.start_at = start;
        context.notice(&self.path, "was truncated");
    }

    /// A file holds another text than the one that was read: what was not read of that must be elsewhere, if it is
    /// anywhere, and the file is another log's. Whether the new text is what is left of the old one.
    pub(super) fn split_generation(&mut self, index: usize, context: &mut PollContext<'_>) -> bool {
        let old = &mut self.generations[index];
        let Some(file) = old.file().map(Arc::clone) else { return false };
        let mut new = Generation::new(old.path.clone(), GenerationReader::Plain(Arc::clone(&file)), old.stat, None, context.now);
        new.state = if old.state == GenerationState::Live { GenerationState::Live } else { GenerationState::Draining };
        new.unlinked_since = old.unlinked_since;
        new.is_rewritten = true;
        let cut = is_truncated_prefix(old, &file);
        old.detach_file(context.now);
        self.generations.insert(index + 1, new);
        self.schedule_scan();
        cut
    }

    /// The path leads to a file that is not the live one.
    fn path_replaced(&mut self, context: &mut PollContext<'_>) {
        let (file, stat) = match open(&self.path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.path_missing(context),
            Err(error) => return self.report_unreadable(context, &self.reason(&error)),
        };
        if self.live().is_some_and(|live| live.stat.id == stat.id) {
            return self.path_unchanged(stat, context);
        }
        self.path_reappeared(context);
        self.retire_live(context.now);
        self.alias = None;
        if let Some(again) = self.generations.iter().position(|log| log.stat.id == stat.id && log.file().is_some()) {
            let mut log = self.generations.remove(again);
            log.state = GenerationState::Live;
            log.unlinked_since = None;
            self.generations.push(log);
            return self.path_unchanged(stat, context);
        }
        self.moved = true;
        if context.is_held_by_other(stat.id) {
            self.alias = Some(stat.id);
            return;
        }
        self.generations.push(Generation::new(self.path.clone(), GenerationReader::Plain(file), stat, None, context.now));
        if !std::mem::replace(&mut self.mount_checked, true) && is_bind_mounted_file(&self.path) {
            context.notice(&self.path, "is a mounted file: a rotation outside cannot be seen here; mount its folder");
        }
        self.start_live(context);
    }

    /// Gives the live file its text, if it has any by now.
    fn start_live(&mut self, context: &mut PollContext<'_>) {
        let Some(live) = self.live() else { return };
        let (Some(file), stat) = (live.file().map(Arc::clone), live.stat) else { return };
        match self.identify(&file, stat, context) {
            Ok(content) => {
                let number = content.is_some().then(|| context.generation_ids.next());
                if let (Some(live), Some(content), Some(number)) = (self.live(), content, number) {
                    live.set_content(content, number);
                }
            }
            Err(error) => self.report_problem_once(context, &format!("cannot be read: {error}")),
        }
        if self.role == PathRole::Compressed {
            self.generations.pop();
            self.moved = true;
        }
    }

    /// The path leads elsewhere from now on: what it led to is read until nothing comes any more.
    fn retire_live(&mut self, now: Instant) {
        if let Some(live) = self.live() {
            live.state = GenerationState::Draining;
            live.caught_up = false;
            live.quiet_since = now;
            live.count_links();
        }
        self.schedule_scan();
    }

    fn path_missing(&mut self, context: &mut PollContext<'_>) {
        if self.live().is_some() {
            self.retire_live(context.now);
        }
        let (since, told) = self.missing.get_or_insert((context.now, false));
        let never = self.generations.is_empty() && self.old_generations.is_empty();
        if self.named && !context.once && !*told && (never || context.now.duration_since(*since) >= MISSING) {
            *told = true;
            let what = if never { "is not there yet; waiting for it" } else { "is gone; waiting for it to come back" };
            context.notice(&self.path, what);
        }
    }

    fn path_reappeared(&mut self, context: &mut PollContext<'_>) {
        self.last_problem = None;
        if self.missing.take().is_some_and(|(_, told)| told) {
            context.notice(&self.path, "is there now");
        }
    }

    /// Why the path cannot be opened, and which group may read it.
    fn reason(&self, error: &io::Error) -> String {
        if error.kind() == io::ErrorKind::PermissionDenied { describe_denied(&self.path) } else { error.to_string() }
    }

    /// The path leads to something that cannot be read now; what was opened before is read on.
    fn report_unreadable(&mut self, context: &mut PollContext<'_>, what: &str) {
        self.report_problem_once(context, what);
    }

    /// Says what is wrong, once.
    pub(super) fn report_problem_once(&mut self, context: &mut PollContext<'_>, what: &str) {
        if self.last_problem.as_deref() != Some(what) {
            self.last_problem = Some(what.to_owned());
            context.problem(&self.path, what);
        }
    }
}
