//! An index of the content that all watched paths know, to recognize a log that was renamed or copied to an unusual
//! name.
//!
//! Compares content. Names matter only where the content is too short to be proof. It is built only when a path finds
//! unknown content.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::content::{ContentFingerprint, ContentMatch};
use super::file_stat::FileId;
use super::inspected_file::{InspectedFile, head_of, open};
use super::watched_path::WatchedPath;
use crate::input::rotation::{file_name_bytes, is_name_variant};
use crate::source::{Fingerprint, HEAD, TAIL};

/// The result of a search.
#[derive(Debug)]
pub(super) enum IndexMatch {
    /// Unknown content.
    None,
    /// Known content whose own file is gone: it continues here.
    Moved(ContentFingerprint),
    /// The first N bytes are a copy of another log's file.
    Copy(u64),
}

/// Content that a path knows.
#[derive(Debug)]
struct KnownContent {
    path_index: usize,
    content: ContentFingerprint,
    id: FileId,
    path: PathBuf,
    /// The file that had it at the last poll.
    file: Option<Arc<fs::File>>,
    is_taken: bool,
}

/// The content that all paths know, by the fingerprint of its head.
#[derive(Debug, Default)]
pub(super) struct ContentIndex {
    known: Vec<KnownContent>,
    by_head: HashMap<Fingerprint, Vec<usize>>,
    lengths: BTreeSet<u32>,
    /// Paths of files that other paths hold.
    names: HashMap<FileId, PathBuf>,
    /// Content that continues elsewhere: the path that had it, and its generation.
    pub(super) taken: Vec<(usize, u64)>,
}

impl ContentIndex {
    /// Indexes the content of all paths. Paths in `unidentified` have not identified their new files yet.
    pub(super) fn new(watched_paths: &[WatchedPath], unidentified: &BTreeSet<usize>) -> Self {
        let mut others = Self::default();
        for (index, watched) in watched_paths.iter().enumerate() {
            others.add(index, watched);
            others.names.extend(watched.alias.map(|id| (id, watched.path.clone())));
            if !unidentified.contains(&index) {
                others.add_starting(index, watched);
            }
        }
        others
    }

    /// Adds the files of a path that were empty and have content now, which the path is about to identify.
    fn add_starting(&mut self, index: usize, watched: &WatchedPath) {
        for log in watched.generations.iter().filter(|log| log.content.is_none()) {
            let head = log.file().and_then(|file| head_of(file).ok()).filter(|head| !head.is_empty());
            let content = head.map(|head| ContentFingerprint::new(0, &head, 0, 0, &[]));
            if let (Some(content), Some(file)) = (content, log.file().map(Arc::clone)) {
                let (id, path) = (log.stat.id, log.path.clone());
                self.insert(KnownContent { path_index: index, content, id, path, file: Some(file), is_taken: false });
            }
        }
    }

    /// Adds the content that a path knows now.
    pub(super) fn add(&mut self, index: usize, watched: &WatchedPath) {
        for old in &watched.old_generations {
            self.insert(KnownContent {
                path_index: index,
                content: old.content.clone(),
                id: old.id,
                path: old.path.clone(),
                file: None,
                is_taken: false,
            });
        }
        for log in &watched.generations {
            let Some(content) = log.content.clone() else { continue };
            let file = log.file().filter(|_| !log.mismatched).map(Arc::clone);
            self.insert(KnownContent { path_index: index, content, id: log.stat.id, path: log.path.clone(), file, is_taken: false });
        }
    }

    fn insert(&mut self, known: KnownContent) {
        let head = known.content.head();
        let there = self.by_head.entry(head).or_default();
        if !there.iter().any(|&index| self.known[index].content.generation == known.content.generation) {
            self.lengths.insert(head.bytes);
            there.push(self.known.len());
            self.known.push(known);
        }
    }

    /// Searches the content of a file at `path` among all paths except `asking`. `ids` are this file and the one that
    /// the searching path leads to.
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
        let mut copied = 0;
        for index in self.candidates_for(inspected.head()) {
            let known = &mut self.known[index];
            if known.path_index == asking || known.is_taken {
                continue;
            }
            let file = known.file.clone().filter(|file| file_holds(&known.content, file)).or_else(|| open_known(known));
            if let Some(file) = file {
                let common = common(&file, inspected)?;
                // Two logs that are written at the same time may start with the same lines.
                let is_proof = ids.contains(&Some(known.id)) || file.metadata()?.nlink() == 0;
                let mut names = [Some(&known.path), self.names.get(&known.id)].into_iter().flatten();
                if is_proof || names.any(|name| is_name_variant(&file_name_bytes(name), &file_name_bytes(path))) {
                    copied = copied.max(common);
                }
            } else if known.content.compare(inspected)? == ContentMatch::Same {
                known.is_taken = true;
                self.taken.push((known.path_index, known.content.generation));
                return Ok(IndexMatch::Moved(known.content.clone()));
            }
        }
        Ok(if copied > 0 { IndexMatch::Copy(copied) } else { IndexMatch::None })
    }

    /// The entries whose head matches `head`.
    fn candidates_for(&self, head: &[u8]) -> Vec<usize> {
        let prints = self.lengths.iter().filter_map(|&length| head.get(..length as usize)).map(Fingerprint::new);
        let candidates_for = prints.filter_map(|print| self.by_head.get(&print)).flatten();
        // And entries whose known head is longer than the file.
        let is_longer = |&index: &usize| {
            self.known[index].content.head().bytes as usize > head.len() && self.known[index].content.head_starts_with(head)
        };
        let longer = (0..self.known.len()).filter(|_| head.len() < HEAD).filter(is_longer);
        candidates_for.copied().chain(longer).collect()
    }
}

/// The last known file of an entry, if it still exists with this content.
fn open_known(known: &KnownContent) -> Option<Arc<fs::File>> {
    let (file, stat) = open(&known.path).ok().filter(|(_, stat)| stat.id == known.id)?;
    (file_holds(&known.content, &file) && stat.links > 0).then_some(file)
}

/// Whether a file has this content, as far as it was read.
fn file_holds(content: &ContentFingerprint, file: &Arc<fs::File>) -> bool {
    let compare = InspectedFile::new(file).and_then(|mut inspected| content.compare(&mut inspected));
    matches!(compare, Ok(ContentMatch::Same))
}

/// The number of equal first bytes if one file is the start of the other; otherwise 0.
fn common(file: &Arc<fs::File>, inspected: &mut InspectedFile) -> io::Result<u64> {
    let mut other = InspectedFile::new(file)?;
    let (Some(here), Some(there)) = (inspected.full_len(), other.full_len()) else { return Ok(0) };
    let common = here.min(there);
    let count = TAIL.min(usize::try_from(common).unwrap_or(TAIL));
    let head = HEAD.min(usize::try_from(common).unwrap_or(HEAD));
    let same =
        inspected.head().get(..head) == other.head().get(..head) && inspected.before(common, count)? == other.before(common, count)?;
    Ok(if same { common } else { 0 })
}
