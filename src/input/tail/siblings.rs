//! Lists the rotated siblings of a log, and checks whether two files have the same content.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::content::ContentMatch;
use super::file_stat::FileStat;
use super::generation::Generation;
use super::inspected_file::InspectedFile;
use super::watched_path::{PathRole, WatchedPath};
use crate::input::rotation::{RotationRank, has_compression_suffix, rank};
use crate::input::sparse::read_full_at;
use crate::source::TAIL;

/// A file that may be a sibling.
pub(super) struct SiblingFile {
    pub(super) rank: RotationRank,
    pub(super) path: PathBuf,
    pub(super) stat: FileStat,
    /// It is in a subfolder, and may belong to another log.
    pub(super) below: bool,
}

impl WatchedPath {
    /// The siblings: uncompressed files first, and larger ones first, so that the most complete copy comes first.
    pub(super) fn siblings(&self, listings: &mut FolderListings) -> Vec<SiblingFile> {
        let mut siblings = Vec::new();
        let here = listings.get(&self.folder);
        for (rank, name) in here.rotated(&self.base) {
            add(rank, self.folder.join(OsStr::from_bytes(name)), false, &mut siblings);
        }
        for folder in &here.below {
            // With `olddir`, unless the subfolder has a log of the same name.
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

/// Whether a file starts with the content of a log, as far as it was read.
pub(super) fn shares_content(log: &Generation, inspected: &mut InspectedFile) -> io::Result<bool> {
    log.content.as_ref().map_or(Ok(false), |content| Ok(content.compare(inspected)? != ContentMatch::Different))
}

/// Whether a file is a copy of a log's own file.
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

/// The entries of a folder.
#[derive(Debug, Default)]
pub(super) struct FolderListing {
    /// Names of files, sorted.
    names: Vec<Vec<u8>>,
    /// Subfolders.
    pub(super) below: Vec<PathBuf>,
}

impl FolderListing {
    fn read(folder: &Path) -> Self {
        let mut listing = Self::default();
        let Ok(entries) = fs::read_dir(folder) else { return listing };
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                listing.below.push(entry.path());
            } else {
                listing.names.push(entry.file_name().into_vec());
            }
        }
        listing.names.sort_unstable();
        listing
    }

    /// Whether there is a file of this name.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        self.names.binary_search_by(|other| other.as_slice().cmp(name)).is_ok()
    }

    /// The names of all files.
    pub(super) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(Vec::as_slice)
    }

    /// The names that a log called `base` may have been rotated to.
    pub(super) fn rotated(&self, base: &[u8]) -> impl Iterator<Item = (RotationRank, &[u8])> {
        // Both `access.log.1` and `access-20261101.log` start with the part of the name before the last dot.
        let dot = base.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0).unwrap_or(base.len());
        let stem = base[..dot].to_vec();
        let first = self.names.partition_point(|name| name.as_slice() < stem.as_slice());
        let base = base.to_vec();
        let near = self.names[first..].iter().take_while(move |name| name.starts_with(&stem));
        near.filter_map(move |name| Some((rank(&base, name)?, name.as_slice())))
    }
}

/// The folders that were listed in one poll, so that each is read once for all logs.
#[derive(Debug, Default)]
pub(super) struct FolderListings(HashMap<PathBuf, Arc<FolderListing>>);

impl FolderListings {
    /// The entries of `folder` when it was first listed.
    pub(super) fn get(&mut self, folder: &Path) -> Arc<FolderListing> {
        if let Some(listing) = self.0.get(folder) {
            return Arc::clone(listing);
        }
        let listing = Arc::new(FolderListing::read(folder));
        self.0.insert(folder.to_owned(), Arc::clone(&listing));
        listing
    }

    /// Drops all listings.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
