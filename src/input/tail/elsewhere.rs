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

use super::family::{base_of, is_variant};
use super::place::Place;
use super::probe::{Probe, head_of, open};
use super::stamp::Id;
use super::text::{Likeness, Text};
use crate::source::{Fingerprint, HEAD, TAIL};

/// What is known of the text of a file.
#[derive(Debug)]
pub(super) enum Elsewhere {
    /// Nothing.
    Nobody,
    /// It is a text whose own file is gone: that is gone on with here.
    Moved(Text),
    /// So many bytes of it are a copy of what another log's file holds.
    Copy(u64),
}

/// A text that a place knows.
#[derive(Debug)]
struct Entry {
    place: usize,
    text: Text,
    id: Id,
    path: PathBuf,
    /// The file that held it when it was last looked at.
    file: Option<Arc<fs::File>>,
    is_taken: bool,
}

/// The texts that all places know, by their beginnings.
#[derive(Debug, Default)]
pub(super) struct Others {
    known: Vec<Entry>,
    by_head: HashMap<Fingerprint, Vec<usize>>,
    lengths: BTreeSet<u32>,
    /// The paths that lead to files which places of other paths hold.
    names: HashMap<Id, PathBuf>,
    /// Texts that go on elsewhere: the place that had one, and its name.
    pub(super) taken: Vec<(usize, u64)>,
}

impl Others {
    /// What these places know now; those that `are_to_ask` do not know of their new files yet.
    pub(super) fn of(places: &[Place], are_to_ask: &BTreeSet<usize>) -> Self {
        let mut others = Self::default();
        for (index, place) in places.iter().enumerate() {
            others.add(index, place);
            others.names.extend(place.alias.map(|id| (id, place.path.clone())));
            if !are_to_ask.contains(&index) {
                others.add_begun(index, place);
            }
        }
        others
    }

    /// Learns the files of a place that were empty, and hold text now which it is about to see.
    fn add_begun(&mut self, index: usize, place: &Place) {
        for log in place.logs.iter().filter(|log| log.text.is_none()) {
            let head = log.file().and_then(|file| head_of(file).ok()).filter(|head| !head.is_empty());
            let text = head.map(|head| Text::new(0, &head, 0, 0, &[]));
            if let (Some(text), Some(file)) = (text, log.file().map(Arc::clone)) {
                let (id, path) = (log.stamp.id, log.path.clone());
                self.learn(Entry { place: index, text, id, path, file: Some(file), is_taken: false });
            }
        }
    }

    /// Learns what a place knows, which may know more by now.
    pub(super) fn add(&mut self, index: usize, place: &Place) {
        for past in &place.past {
            self.learn(Entry { place: index, text: past.text.clone(), id: past.id, path: past.path.clone(), file: None, is_taken: false });
        }
        for log in &place.logs {
            let Some(text) = log.text.clone() else { continue };
            let file = log.file().filter(|_| !log.suspect).map(Arc::clone);
            self.learn(Entry { place: index, text, id: log.stamp.id, path: log.path.clone(), file, is_taken: false });
        }
    }

    fn learn(&mut self, known: Entry) {
        let head = known.text.head();
        let there = self.by_head.entry(head).or_default();
        if !there.iter().any(|&index| self.known[index].text.generation == known.text.generation) {
            self.lengths.insert(head.bytes);
            there.push(self.known.len());
            self.known.push(known);
        }
    }

    /// What is known elsewhere of the text of a file at `path` that place `asks` looks into. `ids`: that file, and the one
    /// that the place's own path leads to.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub(super) fn ask(&mut self, asks: usize, path: &Path, ids: [Option<Id>; 2], probe: &mut Probe) -> io::Result<Elsewhere> {
        let mut copied = 0;
        for index in self.alike(probe.head()) {
            let known = &mut self.known[index];
            if known.place == asks || known.is_taken {
                continue;
            }
            let file = known.file.clone().filter(|file| is_held(&known.text, file)).or_else(|| still_there(known));
            if let Some(file) = file {
                let common = common(&file, probe)?;
                // Two logs that are written at once may begin with the same lines.
                let is_proof = ids.contains(&Some(known.id)) || file.metadata()?.nlink() == 0;
                let mut names = [Some(&known.path), self.names.get(&known.id)].into_iter().flatten();
                if is_proof || names.any(|name| is_variant(&base_of(name), &base_of(path))) {
                    copied = copied.max(common);
                }
            } else if known.text.likeness(probe)? == Likeness::Same {
                known.is_taken = true;
                self.taken.push((known.place, known.text.generation));
                return Ok(Elsewhere::Moved(known.text.clone()));
            }
        }
        Ok(if copied > 0 { Elsewhere::Copy(copied) } else { Elsewhere::Nobody })
    }

    /// The texts that begin as `head` does.
    fn alike(&self, head: &[u8]) -> Vec<usize> {
        let prints = self.lengths.iter().filter_map(|&length| head.get(..length as usize)).map(Fingerprint::new);
        let alike = prints.filter_map(|print| self.by_head.get(&print)).flatten();
        // And those of which more is known than the file has.
        let is_longer =
            |&index: &usize| self.known[index].text.head().bytes as usize > head.len() && self.known[index].text.is_begun_with(head);
        let longer = (0..self.known.len()).filter(|_| head.len() < HEAD).filter(is_longer);
        alike.copied().chain(longer).collect()
    }
}

/// The file that a text was last met in, if it lies there still.
fn still_there(known: &Entry) -> Option<Arc<fs::File>> {
    let (file, stamp) = open(&known.path).ok().filter(|(_, stamp)| stamp.id == known.id)?;
    (is_held(&known.text, &file) && stamp.links > 0).then_some(file)
}

/// Whether a file holds a text, as far as that was read.
fn is_held(text: &Text, file: &Arc<fs::File>) -> bool {
    let likeness = Probe::new(file).and_then(|mut probe| text.likeness(&mut probe));
    matches!(likeness, Ok(Likeness::Same))
}

/// The bytes that both files begin with, where one of them ends there; 0 where they differ before that.
fn common(file: &Arc<fs::File>, probe: &mut Probe) -> io::Result<u64> {
    let mut other = Probe::new(file)?;
    let (Some(here), Some(there)) = (probe.full_len(), other.full_len()) else { return Ok(0) };
    let common = here.min(there);
    let count = TAIL.min(usize::try_from(common).unwrap_or(TAIL));
    let head = HEAD.min(usize::try_from(common).unwrap_or(HEAD));
    let same = probe.head().get(..head) == other.head().get(..head) && probe.before(common, count)? == other.before(common, count)?;
    Ok(if same { common } else { 0 })
}
