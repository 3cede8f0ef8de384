//! Knows the text of a file that its own path does not know: a log that was renamed or copied to a name that no rotation
//! gives.
//!
//! Compares texts; a name decides only where a short text proves too little. Asked once for each file that is new to its
//! path, so that what all paths know is gathered for that alone.

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
use crate::input::rotation_names::{file_name_bytes, is_name_variant};
use crate::source::{Fingerprint, HEAD, TAIL};

/// What is known of the text of a file.
#[derive(Debug)]
pub(super) enum IndexMatch {
    /// Nothing.
    None,
    /// It is a text whose own file is gone: that is gone on with here.
    Moved(ContentFingerprint),
    /// So many bytes of it are a copy of what another log's file holds.
    Copy(u64),
}

/// A text that a place knows.
#[derive(Debug)]
struct KnownContent {
    place: usize,
    content: ContentFingerprint,
    id: FileId,
    path: PathBuf,
    /// The file that held it when it was last looked at.
    file: Option<Arc<fs::File>>,
    is_taken: bool,
}

/// The texts that all places know, by their beginnings.
#[derive(Debug, Default)]
pub(super) struct ContentIndex {
    known: Vec<KnownContent>,
    by_head: HashMap<Fingerprint, Vec<usize>>,
    lengths: BTreeSet<u32>,
    /// The paths that lead to files which places of other paths hold.
    names: HashMap<FileId, PathBuf>,
    /// Texts that go on elsewhere: the place that had one, and its name.
    pub(super) taken: Vec<(usize, u64)>,
}

impl ContentIndex {
    /// What these places know now; those that `are_to_ask` do not know of their new files yet.
    pub(super) fn new(places: &[WatchedPath], are_to_ask: &BTreeSet<usize>) -> Self {
        let mut others = Self::default();
        for (index, place) in places.iter().enumerate() {
            others.add(index, place);
            others.names.extend(place.alias.map(|id| (id, place.path.clone())));
            if !are_to_ask.contains(&index) {
                others.add_starting(index, place);
            }
        }
        others
    }

    /// Learns the files of a place that were empty, and hold text now which it is about to see.
    fn add_starting(&mut self, index: usize, place: &WatchedPath) {
        for log in place.generations.iter().filter(|log| log.content.is_none()) {
            let head = log.file().and_then(|file| head_of(file).ok()).filter(|head| !head.is_empty());
            let content = head.map(|head| ContentFingerprint::new(0, &head, 0, 0, &[]));
            if let (Some(content), Some(file)) = (content, log.file().map(Arc::clone)) {
                let (id, path) = (log.stat.id, log.path.clone());
                self.insert(KnownContent { place: index, content: content, id, path, file: Some(file), is_taken: false });
            }
        }
    }

    /// Learns what a place knows, which may know more by now.
    pub(super) fn add(&mut self, index: usize, place: &WatchedPath) {
        for past in &place.old_generations {
            self.insert(KnownContent {
                place: index,
                content: past.content.clone(),
                id: past.id,
                path: past.path.clone(),
                file: None,
                is_taken: false,
            });
        }
        for log in &place.generations {
            let Some(content) = log.content.clone() else { continue };
            let file = log.file().filter(|_| !log.mismatched).map(Arc::clone);
            self.insert(KnownContent { place: index, content: content, id: log.stat.id, path: log.path.clone(), file, is_taken: false });
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

    /// What is known elsewhere of the text of a file at `path` that place `asking` looks into. `ids`: that file, and the one
    /// that the place's own path leads to.
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
            if known.place == asking || known.is_taken {
                continue;
            }
            let file = known.file.clone().filter(|file| file_holds(&known.content, file)).or_else(|| open_known(known));
            if let Some(file) = file {
                let common = common(&file, inspected)?;
                // Two logs that are written at once may begin with the same lines.
                let is_proof = ids.contains(&Some(known.id)) || file.metadata()?.nlink() == 0;
                let mut names = [Some(&known.path), self.names.get(&known.id)].into_iter().flatten();
                if is_proof || names.any(|name| is_name_variant(&file_name_bytes(name), &file_name_bytes(path))) {
                    copied = copied.max(common);
                }
            } else if known.content.compare(inspected)? == ContentMatch::Same {
                known.is_taken = true;
                self.taken.push((known.place, known.content.generation));
                return Ok(IndexMatch::Moved(known.content.clone()));
            }
        }
        Ok(if copied > 0 { IndexMatch::Copy(copied) } else { IndexMatch::None })
    }

    /// The texts that begin as `head` does.
    fn candidates_for(&self, head: &[u8]) -> Vec<usize> {
        let prints = self.lengths.iter().filter_map(|&length| head.get(..length as usize)).map(Fingerprint::new);
        let candidates_for = prints.filter_map(|print| self.by_head.get(&print)).flatten();
        // And those of which more is known than the file has.
        let is_longer = |&index: &usize| {
            self.known[index].content.head().bytes as usize > head.len() && self.known[index].content.head_starts_with(head)
        };
        let longer = (0..self.known.len()).filter(|_| head.len() < HEAD).filter(is_longer);
        candidates_for.copied().chain(longer).collect()
    }
}

/// The file that a text was last met in, if it lies there still.
fn open_known(known: &KnownContent) -> Option<Arc<fs::File>> {
    let (file, stat) = open(&known.path).ok().filter(|(_, stat)| stat.id == known.id)?;
    (file_holds(&known.content, &file) && stat.links > 0).then_some(file)
}

/// Whether a file holds a text, as far as that was read.
fn file_holds(content: &ContentFingerprint, file: &Arc<fs::File>) -> bool {
    let compare = InspectedFile::new(file).and_then(|mut inspected| content.compare(&mut inspected));
    matches!(compare, Ok(ContentMatch::Same))
}

/// The bytes that both files begin with, where one of them ends there; 0 where they differ before that.
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
