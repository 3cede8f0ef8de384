//! The fingerprint of a generation's content: its first bytes, the bytes before the offset, and
//! samples in between. And an index of the content of all watched paths.
//!
//! A fingerprint identifies the content wherever a rotation moved it: under another name, in
//! another inode, compressed. Names and times are no proof. The content itself is not stored.
//!
//! The index finds a log that was renamed or copied to an unusual name. Names matter only where the
//! content is too short to be proof. It is built only when a path has unknown content.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::{fs, io};

use super::generation::Generation;
use super::inspected_file::{FileId, InspectedFile, head_of, is_absent, is_read_error, open};
use super::watched_path::WatchedPath;
use crate::input::rotation::{file_name_bytes, is_name_variant};
use crate::log::source::{Checkpoint, ContentHash, HEAD, TAIL};

/// Maximum number of samples; when there are more, every second one is dropped.
const MAX_HISTORY: usize = 128;

/// How the content of a file relates to a known content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentMatch {
    /// Different content.
    Different,
    /// A copy that ends before the offset: it has nothing new.
    Prefix,
    /// Equal content, at least up to the offset.
    Same,
}

/// Some bytes of the content, or only their fingerprint if they come from a checkpoint.
#[derive(Debug, Clone, Default)]
struct ByteSample {
    print: ContentHash,
    bytes: Vec<u8>,
}

impl ByteSample {
    fn new(bytes: &[u8]) -> Self {
        Self {
            print: ContentHash::new(bytes),
            bytes: bytes.to_vec(),
        }
    }

    fn len(&self) -> usize {
        self.print.bytes as usize
    }
}

/// How far a content was read, and the samples that identify it.
#[derive(Debug, Clone)]
pub(super) struct ContentFingerprint {
    /// ID of the generation.
    pub(super) generation: u64,
    /// Bytes read, up to just after a newline.
    pub(super) offset: u64,
    /// Lines before `offset`.
    pub(super) lines: u64,
    head: ByteSample,
    tail: ByteSample,
    /// Earlier offsets and the bytes before them, in order. They identify a copy that was made
    /// before all was read.
    history: Vec<(u64, ContentHash)>,
}

impl ContentFingerprint {
    /// Content that starts with `head` and has `before` in front of `offset`.
    pub(super) fn new(
        generation: u64,
        head: &[u8],
        offset: u64,
        lines: u64,
        before: &[u8],
    ) -> Self {
        Self {
            generation,
            offset,
            lines,
            head: ByteSample::new(head),
            tail: ByteSample::new(before),
            history: Vec::new(),
        }
    }

    /// The content of a checkpoint.
    pub(super) fn from_checkpoint(checkpoint: &Checkpoint) -> Self {
        let Checkpoint {
            generation,
            offset,
            lines,
            head,
            tail,
            ..
        } = *checkpoint;
        let sample = |print| ByteSample {
            print,
            bytes: Vec::new(),
        };
        Self {
            generation,
            offset,
            lines,
            head: sample(head),
            tail: sample(tail),
            history: Vec::new(),
        }
    }

    /// The checkpoint of this content, for a file at `path`.
    pub(super) fn checkpoint_at(&self, path: &Path, (device, inode): FileId) -> Checkpoint {
        let Self {
            generation,
            offset,
            lines,
            ..
        } = *self;
        let path = path.as_os_str().as_bytes().to_vec();
        Checkpoint {
            generation,
            path,
            device,
            inode,
            offset,
            lines,
            head: self.head.print,
            tail: self.tail.print,
        }
    }

    /// The fingerprint of the known first bytes.
    pub(super) fn head(&self) -> ContentHash {
        self.head.print
    }

    /// Whether the text before the offset is not wanted and was not read, so that the offset may be
    /// within a line.
    pub(super) fn is_only_recorded(&self) -> bool {
        self.offset > 0 && self.lines == 0
    }

    /// Number of bytes before the offset that [`holds`](Self::holds) needs.
    pub(super) fn tail_len(&self) -> usize {
        self.tail.len()
    }

    /// Whether a file with this head, and with `before` in front of the offset, still has this
    /// content.
    pub(super) fn holds(&self, head: &[u8], before: &[u8]) -> bool {
        self.matches_head(head) && ContentHash::new(before) == self.tail.print
    }

    /// Whether `head` is exactly the known head.
    pub(super) fn has_head(&self, head: &[u8]) -> bool {
        self.head.print == ContentHash::new(head)
    }

    /// Whether the known head starts with `bytes`. False if only its fingerprint is known.
    pub(super) fn head_starts_with(&self, bytes: &[u8]) -> bool {
        !bytes.is_empty() && self.head.bytes.starts_with(bytes)
    }

    fn matches_head(&self, head: &[u8]) -> bool {
        head.get(..self.head.len())
            .is_some_and(|head| ContentHash::new(head) == self.head.print)
    }

    /// Extends the head, which was just verified.
    pub(super) fn extend_head(&mut self, head: &[u8], before: &[u8]) {
        if head.len() > self.head.bytes.len() {
            self.head = ByteSample::new(head);
        }
        if self.tail.bytes.is_empty() {
            self.tail.bytes = before.to_vec();
        }
    }

    /// Advances past `bytes`, which end a line.
    pub(super) fn advance(&mut self, bytes: &[u8], lines: u64) {
        self.offset += bytes.len() as u64;
        self.lines += lines;
        let kept = TAIL.saturating_sub(bytes.len()).min(self.tail.bytes.len());
        let mut tail = self.tail.bytes[self.tail.bytes.len() - kept..].to_vec();
        tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL)..]);
        self.set_tail(&tail);
    }

    /// Advances past NULs.
    pub(super) fn skip_nuls(&mut self, nuls: u64) {
        let last = TAIL.min(usize::try_from(nuls).unwrap_or(TAIL));
        self.offset += nuls - last as u64;
        self.advance(&[0; TAIL][..last], 0);
    }

    /// Advances to `offset`, which `before` precedes.
    pub(super) fn skip_to(&mut self, offset: u64, lines: u64, before: &[u8]) {
        self.offset = offset;
        self.lines += lines;
        self.set_tail(before);
    }

    fn set_tail(&mut self, tail: &[u8]) {
        self.tail = ByteSample::new(tail);
        if self.history.len() == MAX_HISTORY {
            let mut keep = false;
            self.history.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.history.push((self.offset, self.tail.print));
    }

    /// Compares a file with this content.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn compare(&self, file: &mut InspectedFile) -> io::Result<ContentMatch> {
        if !self.matches_head(file.head()) {
            let known = self.head.bytes.get(..file.head().len());
            let within = file.head().len() < self.head.len()
                && file.head().contains(&b'\n')
                && known == Some(file.head());
            return Ok(if within {
                ContentMatch::Prefix
            } else {
                ContentMatch::Different
            });
        }
        // Less than a line can be the start of many logs.
        let is_weak = self.head.len() < HEAD && !file.head()[..self.head.len()].contains(&b'\n');
        if is_weak {
            let same = file.known_len() == Some(self.head.len() as u64);
            return Ok(if same {
                ContentMatch::Same
            } else {
                ContentMatch::Different
            });
        }
        if self.offset == 0 {
            return Ok(ContentMatch::Same);
        }
        if self.tail.len() == 0 {
            // A compressed sibling that existed at the first poll: nothing of it is wanted.
            return Ok(ContentMatch::Prefix);
        }
        if self.head.len() == HEAD && file.claims_length(self.offset) {
            return Ok(ContentMatch::Same);
        }
        if let Some(before) = file.before(self.offset, self.tail.len())? {
            return Ok(if ContentHash::new(&before) == self.tail.print {
                ContentMatch::Same
            } else {
                ContentMatch::Different
            });
        }
        self.compare_truncated(file)
    }

    /// Whether a file that ends before the offset is a copy of this content, according to the
    /// stored samples.
    fn compare_truncated(&self, file: &mut InspectedFile) -> io::Result<ContentMatch> {
        let len = file.known_len().unwrap_or(self.offset);
        let at = self.history.partition_point(|(offset, _)| *offset <= len);
        let Some((offset, print)) = at.checked_sub(1).and_then(|last| self.history.get(last))
        else {
            return Ok(ContentMatch::Prefix);
        };
        let same = file
            .before(*offset, print.bytes as usize)?
            .is_some_and(|before| ContentHash::new(&before) == *print);
        Ok(if same {
            ContentMatch::Prefix
        } else {
            ContentMatch::Different
        })
    }
}

/// The result of a search.
#[derive(Debug)]
pub(super) enum IndexMatch {
    /// Unknown content.
    None,
    /// Known content whose own file is gone: it continues here.
    Moved(ContentFingerprint),
    /// The first N bytes are a copy of another log's file, or of content that was read from one
    /// that is gone.
    Copy(u64),
    /// The whole file is a copy of the first N bytes of another log's file, and may be growing to
    /// its length.
    PartialCopy(u64),
}

/// Content of a path.
#[derive(Debug)]
struct KnownContent {
    path_index: usize,
    content: ContentFingerprint,
    id: FileId,
    path: PathBuf,
    /// The file that had it at the last poll, while it is open, and where it can be opened.
    file: Weak<fs::File>,
    location: PathBuf,
    /// The path that it was followed by before.
    former_path: Option<PathBuf>,
    is_taken: bool,
}

impl KnownContent {
    /// The content of a generation of the path `path_index`.
    fn new(path_index: usize, log: &Generation, content: ContentFingerprint) -> Self {
        let file = log
            .open_file()
            .filter(|_| !log.mismatched)
            .map(Arc::downgrade)
            .unwrap_or_default();
        let (path, location, former_path) = (
            log.path.clone(),
            log.location().to_owned(),
            log.former_path.clone(),
        );
        Self {
            path_index,
            content,
            id: log.stat.id,
            path,
            file,
            location,
            former_path,
            is_taken: false,
        }
    }

    /// Its paths, where `aliases` are those of files that other paths hold.
    fn names<'n>(
        &'n self,
        aliases: &'n HashMap<FileId, PathBuf>,
    ) -> impl Iterator<Item = &'n PathBuf> {
        [
            Some(&self.path),
            self.former_path.as_ref(),
            aliases.get(&self.id),
        ]
        .into_iter()
        .flatten()
    }
}

/// Entries with one head. A file is checked once, when the head is first searched: comparing each
/// log with each would take a minute for thousands of equal ones.
#[derive(Debug, Default)]
struct SameHead {
    generations: HashSet<u64>,
    unchecked: Vec<usize>,
    /// Those whose file has the content no more, and those whose file has no name: they may be
    /// anywhere.
    anywhere: Vec<usize>,
    /// The others, by file, and by what equal or extended names have in common.
    by_id: HashMap<FileId, Vec<usize>>,
    by_name: HashMap<Vec<u8>, Vec<usize>>,
}

/// The content of all paths, by the fingerprint of its head.
#[derive(Debug, Default)]
pub(super) struct ContentIndex {
    known: Vec<KnownContent>,
    by_head: HashMap<ContentHash, SameHead>,
    lengths: BTreeSet<u32>,
    /// Paths of files that other paths hold.
    names: HashMap<FileId, PathBuf>,
    /// Content that continues elsewhere: the path that had it, and its generation.
    pub(super) taken: Vec<(usize, u64)>,
}

impl ContentIndex {
    /// Indexes the content of all paths. Paths in `unidentified` have not identified their new
    /// files yet.
    pub(super) fn new(watched_paths: &[WatchedPath], unidentified: &BTreeSet<usize>) -> Self {
        let mut others = Self::default();
        for (index, watched) in watched_paths.iter().enumerate() {
            others.add(index, watched);
            others
                .names
                .extend(watched.alias.map(|id| (id, watched.path.clone())));
            if !unidentified.contains(&index) {
                others.add_starting(index, watched);
            }
        }
        others
    }

    /// Adds the files of a path that were empty and have content now, which the path is about to
    /// identify.
    fn add_starting(&mut self, index: usize, watched: &WatchedPath) {
        for log in watched
            .generations
            .iter()
            .filter(|log| log.content.is_none())
        {
            let head = log
                .file()
                .and_then(|file| head_of(&file).ok())
                .filter(|head| !head.is_empty());
            if let Some(content) = head.map(|head| ContentFingerprint::new(0, &head, 0, 0, &[])) {
                self.insert(KnownContent::new(index, log, content));
            }
        }
    }

    /// Adds the present content of a path.
    pub(super) fn add(&mut self, index: usize, watched: &WatchedPath) {
        for old in &watched.old_generations {
            self.insert(KnownContent {
                path_index: index,
                content: old.content.clone(),
                id: old.id,
                path: old.path.clone(),
                file: Weak::new(),
                location: old.path.clone(),
                former_path: None,
                is_taken: false,
            });
        }
        for log in &watched.generations {
            let Some(content) = log.content.clone() else {
                continue;
            };
            self.insert(KnownContent::new(index, log, content));
        }
    }

    fn insert(&mut self, known: KnownContent) {
        let head = known.content.head();
        let same_head = self.by_head.entry(head).or_default();
        if same_head.generations.insert(known.content.generation) {
            self.lengths.insert(head.bytes);
            same_head.unchecked.push(self.known.len());
            self.known.push(known);
        }
    }

    /// Searches the content of a file at `path` among all paths except `asking`. `ids` are this
    /// file and the one that the searching path leads to.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub(super) fn find(
        &mut self,
        asking: usize,
        path: &Path,
        ids: [Option<FileId>; 2],
        inspected: &mut InspectedFile,
    ) -> io::Result<IndexMatch> {
        let (mut copied, mut is_partial) = (0, false);
        for index in self.candidates_for(inspected.head(), path, ids) {
            let known = &mut self.known[index];
            if known.path_index == asking || known.is_taken {
                continue;
            }
            // A file that cannot be read is reported by its own path.
            let Ok(file) = file_of(known) else { continue };
            if let Some(file) = file {
                let common = common(&file, inspected)?;
                // Two logs that are written at the same time may start with the same lines.
                let is_proof = ids.contains(&Some(known.id)) || file.metadata()?.nlink() == 0;
                let mut names = known.names(&self.names);
                if is_proof
                    || names
                        .any(|name| is_name_variant(&file_name_bytes(name), &file_name_bytes(path)))
                {
                    copied = copied.max(common);
                    is_partial |=
                        common == inspected.likely_len() && common < file.metadata()?.len();
                }
                continue;
            }
            match known.content.compare(inspected)? {
                ContentMatch::Different => {}
                ContentMatch::Prefix => {
                    copied =
                        copied.max(inspected.full_len()?.unwrap_or(0).min(known.content.offset));
                }
                ContentMatch::Same => {
                    known.is_taken = true;
                    self.taken
                        .push((known.path_index, known.content.generation));
                    return Ok(IndexMatch::Moved(known.content.clone()));
                }
            }
        }
        Ok(match copied {
            0 => IndexMatch::None,
            len if is_partial => IndexMatch::PartialCopy(len),
            len => IndexMatch::Copy(len),
        })
    }

    /// The entries whose head matches `head`, and that a file at `path` may be a copy or the
    /// continuation of.
    fn candidates_for(
        &mut self,
        head: &[u8],
        path: &Path,
        ids: [Option<FileId>; 2],
    ) -> BTreeSet<usize> {
        let mut candidates = BTreeSet::new();
        let lengths = self
            .lengths
            .iter()
            .filter_map(|&length| head.get(..length as usize));
        for print in lengths.map(ContentHash::new) {
            let Some(same_head) = self.by_head.get_mut(&print) else {
                continue;
            };
            for index in std::mem::take(&mut same_head.unchecked) {
                let known = &self.known[index];
                match file_of(known).and_then(|file| file.map(|file| file.metadata()).transpose()) {
                    Ok(Some(found)) if found.nlink() > 0 => {
                        same_head.by_id.entry(known.id).or_default().push(index);
                        for name in known.names(&self.names) {
                            same_head
                                .by_name
                                .entry(common_start(name).to_vec())
                                .or_default()
                                .push(index);
                        }
                    }
                    _ => same_head.anywhere.push(index),
                }
            }
            let same_file = ids
                .into_iter()
                .flatten()
                .filter_map(|id| same_head.by_id.get(&id));
            let same_name = same_head.by_name.get(common_start(path));
            candidates.extend(
                same_file
                    .chain(same_name)
                    .chain([&same_head.anywhere])
                    .flatten(),
            );
        }
        // And entries whose known head is longer than the file.
        let is_longer = |index: &usize| {
            self.known[*index].content.head().bytes as usize > head.len()
                && self.known[*index].content.head_starts_with(head)
        };
        candidates.extend(
            (0..self.known.len())
                .filter(|_| head.len() < HEAD)
                .filter(is_longer),
        );
        candidates
    }
}

/// The first letters and digits of a file's name. Those of a [variant](is_name_variant) are the
/// same.
fn common_start(path: &Path) -> &[u8] {
    let name = path.file_name().unwrap_or_default().as_bytes();
    name.split(|byte| !byte.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default()
}

/// The file of an entry, if it has the content.
fn file_of(known: &KnownContent) -> io::Result<Option<Arc<fs::File>>> {
    match known.file.upgrade() {
        Some(file) if file_holds(&known.content, &file)? => Ok(Some(file)),
        _ => open_known(known),
    }
}

/// The last known file of an entry, if it still exists with this content.
fn open_known(known: &KnownContent) -> io::Result<Option<Arc<fs::File>>> {
    let (file, stat) = match open(&known.location) {
        Ok(opened) => opened,
        // It is no file any more, or may not be read.
        Err(error)
            if !is_read_error(&error)
                || is_absent(&error)
                || error.kind() == io::ErrorKind::PermissionDenied =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let is_it = stat.id == known.id && stat.links > 0 && file_holds(&known.content, &file)?;
    Ok(is_it.then_some(file))
}

/// Whether a file has this content, as far as it was read.
fn file_holds(content: &ContentFingerprint, file: &Arc<fs::File>) -> io::Result<bool> {
    Ok(content.compare(&mut InspectedFile::new(file)?)? == ContentMatch::Same)
}

/// The number of equal first bytes if one file is the start of the other; otherwise 0.
pub(super) fn common(file: &Arc<fs::File>, inspected: &mut InspectedFile) -> io::Result<u64> {
    let mut other = InspectedFile::new(file)?;
    let (Some(here), Some(there)) = (inspected.full_len()?, other.full_len()?) else {
        return Ok(0);
    };
    let common = here.min(there);
    let count = TAIL.min(usize::try_from(common).unwrap_or(TAIL));
    let head = HEAD.min(usize::try_from(common).unwrap_or(HEAD));
    let same = inspected.head().get(..head) == other.head().get(..head)
        && inspected.before(common, count)? == other.before(common, count)?;
    Ok(if same { common } else { 0 })
}
