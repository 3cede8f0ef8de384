//! The files that a log may have been rotated to, and whether two files hold the same text.
//!
//! Lists and compares; what is to be done with a sibling is for others to say.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::content::ContentMatch;
use super::file_stat::FileStat;
use super::generation::Generation;
use super::inspected_file::InspectedFile;
use super::listing::FolderListings;
use super::watched_path::{PathRole, WatchedPath};
use crate::input::rotation_names::{RotationRank, has_compression_suffix};
use crate::input::sparse::read_full_at;
use crate::source::TAIL;

/// A file that may be a sibling.
pub(super) struct SiblingFile {
    pub(super) rank: RotationRank,
    pub(super) path: PathBuf,
    pub(super) stat: FileStat,
    /// In a subfolder, which may be another log's.
    pub(super) below: bool,
}

impl WatchedPath {
    /// The siblings there are: plain ones before packed ones, and the larger first, so that the fullest copy is met first.
    pub(super) fn siblings(&self, listings: &mut FolderListings) -> Vec<SiblingFile> {
        let mut siblings = Vec::new();
        let here = listings.get(&self.folder);
        for (rank, name) in here.rotated(&self.base) {
            add(rank, self.folder.join(OsStr::from_bytes(name)), false, &mut siblings);
        }
        for folder in &here.below {
            // Those that `olddir` took there, unless a log of its own of that name lies there.
            let below = listings.get(folder);
            for (rank, name) in below.rotated(&self.base).filter(|_| !below.has(&self.base)) {
                add(rank, folder.join(OsStr::from_bytes(name)), true, &mut siblings);
            }
        }
        if self.role == PathRole::Compressed {
            add(RotationRank::Index(Reverse(0)), self.path.clone(), false, &mut siblings);
        }
        siblings.sort_by_key(|sibling| (has_compression_suffix(&sibling.path), u64::MAX - sibling.stat.size));
        siblings
    }
}

/// Whether a file begins with the text of a log, as far as it was read.
pub(super) fn shares_content(log: &Generation, inspected: &mut InspectedFile) -> io::Result<bool> {
    log.content.as_ref().map_or(Ok(false), |content| Ok(content.compare(inspected)? != ContentMatch::Different))
}

/// Whether a file is a copy of what a log's own file holds.
pub(super) fn is_copy(log: &Generation, inspected: &mut InspectedFile) -> io::Result<bool> {
    let Some(file) = log.file() else {
        return shares_content(log, inspected);
    };
    let mut head = vec![0; inspected.head().len()];
    let read = read_full_at(file, &mut head, 0)?;
    if read < head.len() || head != inspected.head() || head.is_empty() {
        return Ok(false);
    }
    if inspected.compressed() {
        return Ok(true);
    }
    let len = inspected.likely_len();
    let count = TAIL.min(usize::try_from(len).unwrap_or(TAIL));
    let mut here = vec![0; count];
    let read = read_full_at(file, &mut here, len - count as u64)?;
    Ok(read == count && inspected.before(len, count)?.as_deref() == Some(&here))
}

fn add(rank: RotationRank, path: PathBuf, below: bool, siblings: &mut Vec<SiblingFile>) {
    if let Ok(metadata) = fs::metadata(&path)
        && metadata.is_file()
    {
        siblings.push(SiblingFile { rank, path, stat: FileStat::from_metadata(&metadata), below });
    }
}
