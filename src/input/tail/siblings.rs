//! The rotated siblings of a log: lists them, checks whether two files have the same content, and
//! scans them for the unread rest of truncated content, for late lines of a closed log, and for
//! whole generations that appeared and were rotated away between two polls.
//!
//! A sibling with known content is not read again. Unknown content was written since the last poll,
//! because all siblings of the first poll were recorded.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::ops::Bound;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::content::{ContentFingerprint, ContentMatch, IndexMatch};
use super::generation::{Generation, GenerationReader, GenerationState};
use super::inspected_file::{FileId, FileStat, InspectedFile, is_absent, mount_of, open};
use super::start::{bytes_before, line_start, resume_offset, start_after_copy};
use super::watched_path::{OldGeneration, PathRole, PollContext, StateKnowledge, WatchedPath};
use crate::input::magic;
use crate::input::rotation::{
    RotationRank, bases, compressed_names, file_name_bytes, has_compression_suffix, parent_folder,
    sequence_digits, strip_compression_suffix,
};
use crate::input::sparse::read_full_at;
use crate::log::source::{HEAD, TAIL};
use crate::os::system::list_folder;

/// Interval between scans without a reason: a late line in a closed log causes no event.
const SCAN_INTERVAL: Duration = Duration::from_secs(15);
/// Interval and number of the quick scans after a rotation.
const RESCAN_DELAY: Duration = Duration::from_millis(400);
const MAX_RESCANS: u32 = 3;
/// How often to list the siblings again if one of them disappeared meanwhile.
const MAX_TRIES: u32 = 3;
/// Maximum number of targets of other dates that are siblings: nearly three years of days.
const MAX_TARGETS: usize = 1000;
/// Maximum number of old generations without a file.
const MAX_UNSEEN: usize = 64;

/// A file that may be a sibling.
pub(super) struct SiblingFile {
    pub(super) rank: RotationRank,
    pub(super) path: PathBuf,
    pub(super) stat: FileStat,
    /// It is in a subfolder, and may belong to another log.
    pub(super) below: bool,
    /// Its date or number, if a symbolic link leads to it, or to a file whose name differs from its
    /// name only there.
    pub(super) target: Option<RotationRank>,
}

impl SiblingFile {
    /// Opens the file. It is not found if another file has its name by now.
    pub(super) fn inspect(&self) -> io::Result<InspectedFile> {
        let (file, stat) = open(&self.path)?;
        if stat.id != self.stat.id {
            return Err(io::ErrorKind::NotFound.into());
        }
        InspectedFile::new(&file)
    }
}

impl WatchedPath {
    /// The siblings: uncompressed files first, and larger ones first, so that the most complete
    /// copy comes first. If the path or a sibling is a symbolic link to a file with a date or a
    /// running number in its path, files of other dates or numbers are siblings too: the link may
    /// have led to them between two polls.
    fn siblings(&mut self, poll: &mut PollContext<'_>) -> Vec<SiblingFile> {
        let (mut named, mut links) = (Vec::new(), Vec::new());
        let here = poll.listings.get(&self.folder);
        if let Some(error) = &here.error {
            let what = format!(
                "is in a folder that cannot be listed, so rotated files are not found: {error}"
            );
            if error.kind() != io::ErrorKind::PermissionDenied {
                self.report_sibling_problem(poll, what);
            } else if self.sibling_problems.insert(what.clone()) {
                // Logs without rotation can be read there.
                poll.notice(&self.path, what);
            }
        }
        for (rank, name) in here.rotated(&self.base) {
            let path = self.folder.join(OsStr::from_bytes(name));
            if here.links.iter().any(|link| link == name) {
                links.push(path.clone());
                // The target of a rotated link may have been compressed since.
                named.extend(compressed_target(&path).map(|target| (rank.clone(), target, false)));
            }
            named.push((rank, path, false));
        }
        for folder in &here.below {
            // With `olddir`, unless the subfolder has a log of the same name.
            let below = poll.listings.get(folder);
            let rotated = below.rotated(&self.base).filter(|_| !below.has(&self.base));
            named.extend(
                rotated.map(|(rank, name)| (rank, folder.join(OsStr::from_bytes(name)), true)),
            );
        }
        if self.role == PathRole::Compressed {
            named.push((RotationRank::Index(Reverse(0)), self.path.clone(), false));
        }
        let rotated = named.len();
        links.extend(self.is_link.then(|| self.path.clone()));
        for link in links {
            named.extend(
                targets(&link, poll.listings)
                    .into_iter()
                    .map(|(rank, path)| (rank, path, false)),
            );
        }
        let (mut siblings, mut indices) =
            (Vec::<SiblingFile>::new(), HashMap::<FileId, usize>::new());
        for (index, (rank, path, below)) in named.into_iter().enumerate() {
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_file() => {
                    let stat = FileStat::from_metadata(&metadata);
                    let target = (index >= rotated).then(|| rank.clone());
                    if target.is_some()
                        && let Some(&known) = indices.get(&stat.id)
                    {
                        siblings[known].target = target;
                        continue;
                    }
                    indices.insert(stat.id, siblings.len());
                    siblings.push(SiblingFile {
                        rank,
                        path,
                        stat,
                        below,
                        target,
                    });
                }
                Ok(_) => {}
                Err(error) if is_absent(&error) => {}
                Err(error) => self.report_sibling_problem(poll, unreadable_sibling(&path, &error)),
            }
        }
        siblings.sort_by_key(|sibling| {
            (
                has_compression_suffix(&sibling.path),
                u64::MAX - sibling.stat.size,
            )
        });
        siblings
    }
}

/// The compressed file that took the place of the target of a symbolic link.
fn compressed_target(link: &Path) -> Option<PathBuf> {
    let target = fs::read_link(link).ok().filter(|_| !link.exists())?;
    compressed_names(&parent_folder(link).join(target)).find(|path| path.exists())
}

/// The target of the symbolic link `path` and the files whose paths differ from it only in the
/// digits of dates or of a running number, with these digits. None if it has no such digits.
pub(super) fn targets(path: &Path, listings: &mut FolderListings) -> Vec<(RotationRank, PathBuf)> {
    // The target may have been compressed since.
    let target =
        fs::canonicalize(path).or_else(|_| Ok(parent_folder(path).join(fs::read_link(path)?)));
    let Ok::<PathBuf, io::Error>(target) = target else {
        return Vec::new();
    };
    let is_date = sequence_digits(target.as_os_str().as_bytes());
    if !is_date.contains(&true) {
        return Vec::new();
    }
    let (mut found, mut at) = (vec![PathBuf::new()], 0);
    let mut components = target.components().peekable();
    while let Some(component) = components.next() {
        let name = component.as_os_str().as_bytes();
        let digits = &is_date[at..at + name.len()];
        // A separator follows, except after the root, which is one.
        at += if component == Component::RootDir {
            1
        } else {
            name.len() + 1
        };
        if !digits.contains(&true) {
            for folder in &mut found {
                folder.push(component);
            }
            continue;
        }
        let alike = |other: &[u8]| {
            let same = |((&one, &other), &is_date): ((&u8, &u8), &bool)| {
                if is_date {
                    other.is_ascii_digit()
                } else {
                    one == other
                }
            };
            other.len() == name.len() && name.iter().zip(other).zip(digits).all(same)
        };
        let is_last = components.peek().is_none();
        found = found
            .iter()
            .flat_map(|folder| listings.get(folder).entries_like(folder, is_last, alike))
            .collect();
        // The newest ones.
        found.sort_unstable_by(|one, other| other.cmp(one));
        found.truncate(MAX_TARGETS);
    }
    // A number that is no date in another path may belong to another log.
    found.retain(|file| {
        sequence_digits(strip_compression_suffix(file.as_os_str().as_bytes())) == is_date
    });
    let date = |file: &PathBuf| {
        let bytes = file.as_os_str().as_bytes().iter().zip(&is_date);
        RotationRank::Date(
            bytes
                .filter(|(_, is_date)| **is_date)
                .map(|(byte, _)| *byte)
                .collect(),
        )
    };
    found.into_iter().map(|file| (date(&file), file)).collect()
}

fn unreadable_sibling(path: &Path, error: &io::Error) -> String {
    format!(
        "has a sibling that cannot be read: {}: {error}",
        path.display()
    )
}

/// Whether a file starts with the content of a log, as far as it was read.
pub(super) fn shares_content(log: &Generation, inspected: &mut InspectedFile) -> io::Result<bool> {
    log.content.as_ref().map_or(Ok(false), |content| {
        Ok(content.compare(inspected)? != ContentMatch::Different)
    })
}

/// Whether a file is a copy of a log's own file.
pub(super) fn is_copy(log: &Generation, inspected: &mut InspectedFile) -> io::Result<bool> {
    let Some(file) = log.file() else {
        return shares_content(log, inspected);
    };
    let mut head = vec![0; inspected.head().len()];
    let read = read_full_at(&file, &mut head, 0)?;
    if read < head.len() || head != inspected.head() || head.is_empty() {
        return Ok(false);
    }
    if inspected.compressed() {
        return Ok(true);
    }
    let len = inspected.likely_len();
    let count = TAIL.min(usize::try_from(len).unwrap_or(TAIL));
    let mut here = vec![0; count];
    let read = read_full_at(&file, &mut here, len - count as u64)?;
    Ok(read == count && inspected.before(len, count)?.as_deref() == Some(&here))
}

/// Ranks and indices of names, by the names of the logs that they may be rotated files of.
type RotatedNames = HashMap<Vec<u8>, Vec<(RotationRank, usize)>>;

/// The entries of a folder.
#[derive(Debug, Default)]
pub(super) struct FolderListing {
    /// Names of files, sorted.
    names: Vec<Vec<u8>>,
    /// Indices of names by the names of the logs that they may be rotated files of, once it is
    /// needed: comparing each with each would take a minute for thousands of logs.
    rotated: OnceLock<RotatedNames>,
    /// Names of symbolic links.
    links: Vec<Vec<u8>>,
    /// Subfolders.
    pub(super) below: Vec<PathBuf>,
    /// Why it is incomplete. The user may have no permission to list a folder whose files can be
    /// read.
    error: Option<io::Error>,
}

impl FolderListing {
    fn read(folder: &Path) -> Self {
        let mut listing = Self::default();
        let entries = list_folder(folder).unwrap_or_else(|error| {
            listing.error = Some(error).filter(|error| !is_absent(error));
            Vec::new()
        });
        for (name, kind) in entries {
            if kind.is_dir() {
                listing.below.push(folder.join(name));
                continue;
            }
            let name = name.into_vec();
            listing
                .links
                .extend(kind.is_symlink().then(|| name.clone()));
            listing.names.push(name);
        }
        listing
    }

    /// Whether there is a file of this name.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        self.names
            .binary_search_by(|other| other.as_slice().cmp(name))
            .is_ok()
    }

    /// The names of all files.
    pub(super) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(Vec::as_slice)
    }

    /// The paths of the files, or else of the subfolders, whose names are `alike`. Files may be
    /// compressed.
    fn entries_like(
        &self,
        folder: &Path,
        files: bool,
        alike: impl Fn(&[u8]) -> bool,
    ) -> Vec<PathBuf> {
        if files {
            let names = self
                .names()
                .filter(|name| alike(strip_compression_suffix(name)));
            return names
                .map(|name| folder.join(OsStr::from_bytes(name)))
                .collect();
        }
        self.below
            .iter()
            .filter(|below| alike(&file_name_bytes(below)))
            .cloned()
            .collect()
    }

    /// The names that a log called `base` may have been rotated to.
    pub(super) fn rotated(&self, base: &[u8]) -> impl Iterator<Item = (RotationRank, &[u8])> {
        let rotated = self.rotated.get_or_init(|| {
            let mut rotated: HashMap<_, Vec<(RotationRank, usize)>> = HashMap::new();
            for (index, name) in self.names.iter().enumerate() {
                for (base, rank) in bases(name) {
                    let known = rotated.entry(base).or_default();
                    if known.last().is_none_or(|(_, last)| *last != index) {
                        known.push((rank, index));
                    }
                }
            }
            rotated
        });
        rotated
            .get(base)
            .into_iter()
            .flatten()
            .map(|(rank, index)| (rank.clone(), self.names[*index].as_slice()))
    }
}

/// The folders that were listed in one poll, so that each is read once for all logs.
#[derive(Debug, Default)]
pub(super) struct FolderListings {
    listings: HashMap<PathBuf, Arc<FolderListing>>,
    mounts: HashMap<PathBuf, Option<u64>>,
}

impl FolderListings {
    /// The entries of `folder` when it was first listed.
    pub(super) fn get(&mut self, folder: &Path) -> Arc<FolderListing> {
        if let Some(listing) = self.listings.get(folder) {
            return Arc::clone(listing);
        }
        let listing = Arc::new(FolderListing::read(folder));
        self.listings
            .insert(folder.to_owned(), Arc::clone(&listing));
        listing
    }

    /// The number of the mount that `folder` is on.
    pub(super) fn mount(&mut self, folder: &Path) -> Option<u64> {
        if let Some(mount) = self.mounts.get(folder) {
            return *mount;
        }
        let mount = mount_of(folder);
        self.mounts.insert(folder.to_owned(), mount);
        mount
    }

    /// Drops all listings.
    pub(super) fn clear(&mut self) {
        self.listings.clear();
    }
}

/// What to do with a sibling.
pub(super) enum SiblingAction {
    /// Nothing, as long as it does not change.
    Ignore,
    /// It is still being written; check it again.
    Retry,
    /// Unknown content. Decide after all known siblings were found: it may be a compressed copy of
    /// a file that is being read.
    Unknown,
    /// Read it; with its first bytes.
    Read(Box<Generation>, Vec<u8>),
}

/// Siblings that a scan found to read, by their first bytes: comparing each with each would take a
/// minute for thousands of them.
#[derive(Debug, Default)]
pub(super) struct FoundSiblings {
    logs: Vec<(RotationRank, Generation)>,
    ids: HashSet<FileId>,
    by_head: BTreeMap<Vec<u8>, Vec<usize>>,
    head_lengths: BTreeSet<usize>,
}

impl FoundSiblings {
    /// Adds a sibling with its first bytes.
    pub(super) fn push(&mut self, rank: RotationRank, log: Generation, mut head: Vec<u8>) {
        if let Some(content) = &log.content {
            head.truncate(content.head().bytes as usize);
        }
        self.ids.insert(log.stat.id);
        self.head_lengths.insert(head.len());
        self.by_head.entry(head).or_default().push(self.logs.len());
        self.logs.push((rank, log));
    }

    /// Whether a file is one of them.
    pub(super) fn contains(&self, id: FileId) -> bool {
        self.ids.contains(&id)
    }

    /// Those that a file with this head may be a copy of: one head starts with the other.
    fn candidates(&self, head: &[u8]) -> impl Iterator<Item = &Generation> {
        let shorter = self
            .head_lengths
            .range(..head.len())
            .filter_map(|&length| self.by_head.get(&head[..length]));
        let others = self
            .by_head
            .range::<[u8], _>((Bound::Included(head), Bound::Unbounded))
            .take_while(move |(known, _)| known.starts_with(head))
            .map(|(_, indices)| indices);
        shorter
            .chain(others)
            .flatten()
            .map(|&index| &self.logs[index].1)
    }
}

impl WatchedPath {
    /// Records that there is nothing more to read in this file until its metadata change. A recent
    /// file may change without that, so it is not recorded.
    pub(super) fn settle(&mut self, stat: FileStat) {
        if !stat.is_recent() {
            self.finished_siblings.insert(stat.id, stat);
        }
    }

    /// Whether an earlier scan found nothing more to read in this file, and it did not change
    /// since.
    pub(super) fn is_settled(&self, stat: &FileStat) -> bool {
        self.finished_siblings.get(&stat.id) == Some(stat)
    }

    /// Schedules quick scans after a rotation.
    pub(super) fn schedule_scan(&mut self) {
        self.finished_siblings.clear();
        self.scan_at = None;
        self.rescans = MAX_RESCANS;
    }

    /// Scans the siblings.
    pub(super) fn scan_siblings(&mut self, poll: &mut PollContext<'_>) {
        self.scans += 1;
        if poll.content_index.is_none() {
            self.known_siblings.clear();
            self.known_target = None;
        }
        self.scan_at = Some(
            poll.now
                + if self.rescans > 0 {
                    RESCAN_DELAY
                } else {
                    SCAN_INTERVAL
                },
        );
        self.rescans = self.rescans.saturating_sub(1);
        let mut found = FoundSiblings::default();
        for _ in 0..MAX_TRIES {
            if self.scan_once(&mut found, poll) {
                break;
            }
            poll.listings.clear();
        }
        self.search_moved(&mut found, poll);
        let mut found = found.logs;
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        if !found.is_empty() {
            self.files_changed = true;
        }
        let at = self
            .generations
            .iter()
            .position(|log| log.state == GenerationState::Live)
            .unwrap_or(self.generations.len());
        let later = self.scan_at.is_none();
        self.generations
            .splice(at..at, found.into_iter().map(|(_, log)| log));
        for log in &mut self.generations {
            if let GenerationState::Truncated { may_recover } = &mut log.state {
                *may_recover = later;
                self.scan_at = None;
            }
        }
        self.report_unread(poll);
        self.prune_unseen();
    }

    /// Reports content whose file is gone since it was closed to limit the number of open files, or
    /// since the checkpoint.
    fn report_unread(&mut self, poll: &mut PollContext<'_>) {
        if self.scan_at.is_none() || self.rescans > 0 && !poll.once {
            return;
        }
        for old in self
            .old_generations
            .iter_mut()
            .filter(|old| old.may_have_more)
        {
            old.may_have_more = false;
            if old.last_seen_scan < self.scans {
                let read = old.content.offset;
                poll.problem(
                    &old.path,
                    format!("was removed while it was closed, to keep to the limit of open files: lines after byte {read} were not read"),
                );
            }
        }
        if !poll.once && self.scans > self.search_until_scan {
            self.report_vanished(poll.notices);
        }
    }

    /// Drops the oldest generations that no file has any more.
    fn prune_unseen(&mut self) {
        let gone = self
            .old_generations
            .iter()
            .filter(|old| old.last_seen_scan < self.scans)
            .count();
        let mut surplus = gone.saturating_sub(MAX_UNSEEN);
        let scans = self.scans;
        self.old_generations.retain(|old| {
            let forgotten = surplus > 0 && old.last_seen_scan < scans;
            surplus -= usize::from(forgotten);
            !forgotten
        });
    }

    /// Whether later generations must wait for this one.
    pub(super) fn is_blocking(log: &Generation) -> bool {
        match log.state {
            GenerationState::Truncated { may_recover } => may_recover,
            GenerationState::Live | GenerationState::Done => false,
            GenerationState::Draining | GenerationState::Closing => {
                log.content.is_some() && !log.caught_up && !log.mismatched
            }
        }
    }

    /// Checks all siblings once; `false` if one was gone before it could be opened.
    fn scan_once(&mut self, found: &mut FoundSiblings, poll: &mut PollContext<'_>) -> bool {
        let mut complete = true;
        let folders = self.rotated_folders.len();
        let siblings = self.siblings(poll);
        let seen: HashSet<FileId> = siblings.iter().map(|sibling| sibling.stat.id).collect();
        self.finished_siblings.retain(|id, _| seen.contains(id));
        let mut new = Vec::new();
        for sibling in siblings {
            let id = sibling.stat.id;
            if let Some(log) = self
                .generations
                .iter_mut()
                .find(|log| log.stat.id == id && log.has_file())
            {
                if log.is_resumed() {
                    self.known_target = self.known_target.take().max(sibling.target.clone());
                }
                if log.state != GenerationState::Live {
                    log.moved_to = Some(sibling.path.clone());
                    self.record_folder(&sibling);
                }
                continue;
            }
            if poll.is_held_by_other(id) {
                self.wanted_siblings.push((id, sibling.path));
                continue;
            }
            if found.contains(id) || self.is_settled(&sibling.stat) {
                self.mark_seen(id);
                continue;
            }
            match self.classify_sibling(&sibling, found, poll) {
                Ok(SiblingAction::Unknown) => new.push(sibling),
                action => complete &= self.apply_action(action, sibling, found, poll),
            }
        }
        for sibling in new {
            let action = self.classify_unknown(&sibling, found, poll);
            complete &= self.apply_action(action, sibling, found, poll);
        }
        // Other files in a subfolder that was just recognized may be siblings too.
        complete && self.rotated_folders.len() == folders
    }

    /// Applies an action; `false` if the file was gone before it could be opened.
    fn apply_action(
        &mut self,
        action: io::Result<SiblingAction>,
        sibling: SiblingFile,
        found: &mut FoundSiblings,
        poll: &mut PollContext<'_>,
    ) -> bool {
        match action {
            Ok(SiblingAction::Ignore | SiblingAction::Unknown) => {
                self.settle(sibling.stat);
            }
            Ok(SiblingAction::Retry) => self.scan_at = None,
            Ok(SiblingAction::Read(mut log, head)) => {
                // One scan may find more siblings than may be open.
                poll.spare_files = poll.spare_files.saturating_sub(1);
                if poll.spare_files == 0 {
                    log.close_file();
                }
                found.push(sibling.rank, *log, head);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return false,
            Err(error) => {
                self.report_sibling_problem(poll, unreadable_sibling(&sibling.path, &error));
            }
        }
        true
    }

    /// Decides what to do with a sibling.
    fn classify_sibling(
        &mut self,
        sibling: &SiblingFile,
        found: &FoundSiblings,
        poll: &mut PollContext<'_>,
    ) -> io::Result<SiblingAction> {
        let mut inspected = sibling.inspect()?;
        if inspected.head_error().is_some() && !inspected.is_stable() {
            return Ok(SiblingAction::Retry);
        }
        let readable =
            inspected.compressed() || matches!(magic::detect(inspected.head()), Ok(None));
        if !readable || inspected.head().is_empty() {
            if poll.once {
                self.record_unreadable(&inspected, sibling, poll)?;
            }
            return Ok(SiblingAction::Ignore);
        }
        if let Some(action) = self.match_known(&mut inspected, sibling, found, poll)? {
            self.record_folder(sibling);
            self.known_siblings
                .push((sibling.rank.clone(), sibling.stat));
            self.known_target = self.known_target.take().max(sibling.target.clone());
            return Ok(action);
        }
        Ok(SiblingAction::Unknown)
    }

    /// Decides what to do with a sibling of unknown content, after all known ones were found.
    fn classify_unknown(
        &mut self,
        sibling: &SiblingFile,
        found: &FoundSiblings,
        poll: &mut PollContext<'_>,
    ) -> io::Result<SiblingAction> {
        let mut inspected = sibling.inspect()?;
        let head = inspected.head().to_vec();
        for log in found.candidates(&head) {
            // Both the plain and the compressed file exist while a file is being compressed.
            if is_copy(log, &mut inspected)? {
                let is_final = inspected.compressed() && inspected.is_whole();
                return self.record_copy(is_final, &inspected, sibling, poll);
            }
        }
        if self.is_older_target(sibling) || poll.once && self.is_restored_backup(sibling, poll) {
            poll.notice(
                &sibling.path,
                "is older than what was read before; not read",
            );
            return self.record_old(&inspected, sibling, poll);
        }
        self.start_unknown(&mut inspected, sibling, poll)
    }

    /// Whether a target of an earlier date or number than a known one has unknown content: the link
    /// did not lead to it since the first poll.
    fn is_older_target(&self, sibling: &SiblingFile) -> bool {
        sibling.target.is_some()
            && self.known == StateKnowledge::Known
            && self.known_target > sibling.target
    }

    /// What to do with a sibling of known content; `None` if it is unknown.
    fn match_known(
        &mut self,
        inspected: &mut InspectedFile,
        sibling: &SiblingFile,
        found: &FoundSiblings,
        poll: &mut PollContext<'_>,
    ) -> io::Result<Option<SiblingAction>> {
        for index in 0..self.generations.len() {
            let log = &mut self.generations[index];
            if log.has_file() {
                if is_copy(log, inspected)? {
                    let final_copy = inspected.compressed() && inspected.is_whole();
                    return self
                        .record_copy(final_copy, inspected, sibling, poll)
                        .map(Some);
                }
                if shares_content(log, inspected)? {
                    // If its own file no longer has this content, it was truncated just now, and
                    // the rest is here.
                    log.mismatched = log.reopen()? && !log.holds()?;
                    return Ok(Some(if log.mismatched {
                        SiblingAction::Retry
                    } else {
                        SiblingAction::Ignore
                    }));
                }
                continue;
            }
            let Some(content) = &log.content else {
                continue;
            };
            match content.compare(inspected)? {
                ContentMatch::Different => {}
                _ if !inspected.is_whole() => return Ok(Some(SiblingAction::Retry)),
                ContentMatch::Prefix => {
                    // Copied before all was read: it contains nothing new.
                    return self.record_copy(true, inspected, sibling, poll).map(Some);
                }
                ContentMatch::Same => {
                    let reader = GenerationReader::new(inspected, content.offset)?;
                    log.state = GenerationState::Draining;
                    log.resume_in(reader, sibling.stat, poll.now);
                    log.path.clone_from(&sibling.path);
                    self.files_changed = true;
                    return Ok(Some(SiblingAction::Ignore));
                }
            }
        }
        self.match_old(inspected, sibling, found, poll)
    }

    /// A copy shorter than the known head cannot be recognized from the head's fingerprint in a
    /// checkpoint. It is recorded as content of its own, once it is final.
    fn record_copy(
        &mut self,
        is_final: bool,
        inspected: &InspectedFile,
        sibling: &SiblingFile,
        poll: &mut PollContext<'_>,
    ) -> io::Result<SiblingAction> {
        let known = self
            .old_generations
            .iter()
            .any(|old| old.id == sibling.stat.id && old.content.offset == inspected.likely_len());
        let short = inspected.head().len() < HEAD && !known;
        if is_final && short {
            self.record_old(inspected, sibling, poll)
        } else {
            Ok(SiblingAction::Ignore)
        }
    }

    /// What to do with a file of content that is not being read; `None` if it is unknown.
    pub(super) fn match_old(
        &mut self,
        inspected: &mut InspectedFile,
        sibling: &SiblingFile,
        found: &FoundSiblings,
        poll: &mut PollContext<'_>,
    ) -> io::Result<Option<SiblingAction>> {
        self.claim_content(inspected, (sibling.stat.id, &sibling.path), poll)?;
        let (same, is_prefix) = self.compare_old(inspected, sibling.stat.id)?;
        let Some(index) = same else {
            let action = || {
                if inspected.is_whole() {
                    SiblingAction::Ignore
                } else {
                    SiblingAction::Retry
                }
            };
            return Ok(is_prefix.then(action));
        };
        // The content that was read furthest counts; this scan may have found it in another file.
        let head = inspected.head().to_vec();
        for log in found.candidates(&head) {
            if is_copy(log, inspected)?
                && log.offset() >= resume_offset(&self.old_generations[index].content, inspected)?
            {
                let is_final = inspected.compressed() && inspected.is_whole();
                return self
                    .record_copy(is_final, inspected, sibling, poll)
                    .map(Some);
            }
        }
        self.resume_old(index, inspected, sibling, poll).map(Some)
    }

    /// The old generation that was read furthest of those that a file continues, and whether the
    /// file is a copy of the first part of one.
    fn compare_old(
        &mut self,
        inspected: &mut InspectedFile,
        id: FileId,
    ) -> io::Result<(Option<usize>, bool)> {
        let mut is_prefix = false;
        let (mut read, mut recorded) = (None, None);
        for (index, old) in self.old_generations.iter_mut().enumerate() {
            let furthest = if old.content.is_only_recorded() {
                &mut recorded
            } else {
                &mut read
            };
            match old.content.compare(inspected)? {
                ContentMatch::Different => continue,
                ContentMatch::Prefix => is_prefix = true,
                ContentMatch::Same => {
                    *furthest =
                        (*furthest).max(Some((old.content.offset, old.id == id, Reverse(index))));
                }
            }
            old.last_seen_scan = self.scans;
        }
        // A copy may have been recorded while it was being written, up to the middle of a line.
        let same = match (read, recorded) {
            (Some((offset, ..)), Some((end, ..)))
                if end > offset && line_start(inspected, end)? > offset =>
            {
                recorded
            }
            _ => read.or(recorded),
        };
        Ok((same.map(|(.., Reverse(index))| index), is_prefix))
    }

    /// Continues an old generation in a file that has its content, if there is more to read.
    fn resume_old(
        &mut self,
        index: usize,
        inspected: &mut InspectedFile,
        sibling: &SiblingFile,
        poll: &mut PollContext<'_>,
    ) -> io::Result<SiblingAction> {
        let old = &mut self.old_generations[index];
        old.id = sibling.stat.id;
        old.path.clone_from(&sibling.path);
        let more = if inspected.compressed() {
            !inspected.claims_length(old.content.offset)
        } else {
            inspected.likely_len() > old.content.offset
        };
        if !more {
            return Ok(SiblingAction::Ignore);
        }
        if !inspected.is_whole() {
            return Ok(SiblingAction::Retry);
        }
        let start = resume_offset(&old.content, inspected)?;
        if start < old.content.offset {
            old.content.skip_to(
                start,
                0,
                &inspected.before(start, TAIL)?.unwrap_or_default(),
            );
        }
        let action = reopen(old.content.clone(), inspected, sibling, poll)?;
        self.old_generations.remove(index);
        Ok(action)
    }

    /// What to do with a sibling of unknown content.
    fn start_unknown(
        &mut self,
        inspected: &mut InspectedFile,
        sibling: &SiblingFile,
        poll: &mut PollContext<'_>,
    ) -> io::Result<SiblingAction> {
        if self.is_old_at_start(sibling, poll) {
            return self.record_old(inspected, sibling, poll);
        }
        if self.is_unrelated(sibling, poll) {
            return Ok(SiblingAction::Ignore);
        }
        if !inspected.is_whole() {
            return Ok(SiblingAction::Retry);
        }
        let copied = match poll.find_elsewhere(
            &sibling.path,
            [Some(sibling.stat.id), self.alias],
            inspected,
        )? {
            None => {
                // Compressed files last, since each may be a copy of an uncompressed one.
                self.undecided = Some(if inspected.compressed() {
                    0
                } else {
                    sibling.stat.size
                });
                return Ok(SiblingAction::Retry);
            }
            Some(IndexMatch::Moved(content)) => {
                return reopen(content, inspected, sibling, poll);
            }
            Some(IndexMatch::Copy(len) | IndexMatch::PartialCopy(len)) => Some(len),
            Some(IndexMatch::None) => None,
        };
        if copied.is_some() && copied == inspected.full_len()? {
            return self.record_old(inspected, sibling, poll);
        }
        let content = if let Some(len) = copied.filter(|_| !inspected.compressed()) {
            Some(start_after_copy(
                inspected.file(),
                len,
                poll.generation_ids,
            )?)
        } else if inspected.compressed() {
            Some(ContentFingerprint::new(
                poll.generation_ids.generation(inspected.head()),
                inspected.head(),
                0,
                0,
                &[],
            ))
        } else {
            Self::start_sibling(sibling, inspected, poll)?
        };
        let Some(content) = content else {
            return Ok(SiblingAction::Ignore);
        };
        reopen(content, inspected, sibling, poll)
    }

    /// Records a sibling without reading it, because it existed at the first poll. Lines added
    /// later are read.
    fn record_old(
        &mut self,
        inspected: &InspectedFile,
        sibling: &SiblingFile,
        poll: &mut PollContext<'_>,
    ) -> io::Result<SiblingAction> {
        let generation = poll.generation_ids.generation(inspected.head());
        let content = if inspected.compressed() {
            // Any length other than 0 means that nothing of it is wanted.
            ContentFingerprint::new(
                generation,
                inspected.head(),
                inspected.likely_len().max(1),
                0,
                &[],
            )
        } else {
            let end = inspected.likely_len();
            ContentFingerprint::new(
                generation,
                inspected.head(),
                end,
                0,
                &bytes_before(inspected.file(), end)?,
            )
        };
        self.old_generations.push(OldGeneration::new(
            content,
            sibling.stat.id,
            sibling.path.clone(),
            self.scans,
        ));
        Ok(SiblingAction::Ignore)
    }

    /// Whether the file is in a subfolder that contains known content of this log.
    pub(super) fn is_in_rotated_folder(&self, path: &Path) -> bool {
        path.parent()
            .is_some_and(|folder| self.rotated_folders.contains(folder))
    }

    fn record_folder(&mut self, sibling: &SiblingFile) {
        if let (true, Some(folder)) = (sibling.below, sibling.path.parent())
            && self.rotated_folders.insert(folder.to_owned())
        {
            self.finished_siblings.clear();
        }
    }

    fn mark_seen(&mut self, id: FileId) {
        for old in self.old_generations.iter_mut().filter(|old| old.id == id) {
            old.last_seen_scan = self.scans;
        }
    }
}

/// Reads a generation that continues in a sibling.
fn reopen(
    content: ContentFingerprint,
    inspected: &mut InspectedFile,
    sibling: &SiblingFile,
    poll: &mut PollContext<'_>,
) -> io::Result<SiblingAction> {
    let reader = GenerationReader::new(inspected, content.offset)?;
    let mut log = Generation::new(
        sibling.path.clone(),
        reader,
        sibling.stat,
        Some(content),
        poll.now,
    );
    log.number = poll.generation_ids.next();
    log.state = GenerationState::Draining;
    Ok(SiblingAction::Read(
        Box::new(log),
        inspected.head().to_vec(),
    ))
}
