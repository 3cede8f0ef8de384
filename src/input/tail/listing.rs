//! The names in folders, read once for all the logs of a look.
//!
//! Names only, in order, so that a log finds what it may have been rotated to without going through those of all others.

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::input::rotation_names::{RotationRank, rank};

/// What lies in one folder.
#[derive(Debug, Default)]
pub(super) struct FolderListing {
    /// Names of what is no folder, sorted.
    names: Vec<Vec<u8>>,
    /// The folders below.
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

    /// Whether a file of this name lies there.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        self.names.binary_search_by(|other| other.as_slice().cmp(name)).is_ok()
    }

    /// The names of all files.
    pub(super) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(Vec::as_slice)
    }

    /// The names that a log called `base` may have been rotated to.
    pub(super) fn rotated(&self, base: &[u8]) -> impl Iterator<Item = (RotationRank, &[u8])> {
        // Both `access.log.1` and `access-20261101.log` begin with what is before the last dot.
        let dot = base.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0).unwrap_or(base.len());
        let stem = base[..dot].to_vec();
        let first = self.names.partition_point(|name| name.as_slice() < stem.as_slice());
        let base = base.to_vec();
        let near = self.names[first..].iter().take_while(move |name| name.starts_with(&stem));
        near.filter_map(move |name| Some((rank(&base, name)?, name.as_slice())))
    }
}

/// The folders that were read in one look.
#[derive(Debug, Default)]
pub(super) struct FolderListings(HashMap<PathBuf, Arc<FolderListing>>);

impl FolderListings {
    /// What lies in `folder`, as it was when it was first asked for.
    pub(super) fn get(&mut self, folder: &Path) -> Arc<FolderListing> {
        if let Some(listing) = self.0.get(folder) {
            return Arc::clone(listing);
        }
        let listing = Arc::new(FolderListing::read(folder));
        self.0.insert(folder.to_owned(), Arc::clone(&listing));
        listing
    }

    /// What was read is out of date.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
