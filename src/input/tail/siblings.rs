//! The files that a log may have been rotated to, and whether two files hold the same text.
//!
//! Lists and compares; what is to be done with a sibling is for others to say.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::content::Likeness;
use super::file_stat::Stamp;
use super::generation::Log;
use super::inspected_file::Probe;
use super::listing::Listings;
use super::watched_path::{Leads, Place};
use crate::input::rotation_names::{Rank, is_packed_by_name};
use crate::input::sparse::read_full_at;
use crate::source::TAIL;

/// A file that may be a sibling.
pub(super) struct Sibling {
    pub(super) rank: Rank,
    pub(super) path: PathBuf,
    pub(super) stamp: Stamp,
    /// In a subfolder, which may be another log's.
    pub(super) below: bool,
}

impl Place {
    /// The siblings there are: plain ones before packed ones, and the larger first, so that the fullest copy is met first.
    pub(super) fn siblings(&self, listings: &mut Listings) -> Vec<Sibling> {
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
        if self.leads == Leads::Packed {
            add(Rank::Index(Reverse(0)), self.path.clone(), false, &mut siblings);
        }
        siblings.sort_by_key(|sibling| (is_packed_by_name(&sibling.path), u64::MAX - sibling.stamp.size));
        siblings
    }
}

/// Whether a file begins with the text of a log, as far as it was read.
pub(super) fn resembles(log: &Log, probe: &mut Probe) -> io::Result<bool> {
    log.text.as_ref().map_or(Ok(false), |text| Ok(text.likeness(probe)? != Likeness::Other))
}

/// Whether a file is a copy of what a log's own file holds.
pub(super) fn is_copy(log: &Log, probe: &mut Probe) -> io::Result<bool> {
    let Some(file) = log.file() else {
        return resembles(log, probe);
    };
    let mut head = vec![0; probe.head().len()];
    let read = read_full_at(file, &mut head, 0)?;
    if read < head.len() || head != probe.head() || head.is_empty() {
        return Ok(false);
    }
    if probe.packed() {
        return Ok(true);
    }
    let len = probe.likely_len();
    let count = TAIL.min(usize::try_from(len).unwrap_or(TAIL));
    let mut here = vec![0; count];
    let read = read_full_at(file, &mut here, len - count as u64)?;
    Ok(read == count && probe.before(len, count)?.as_deref() == Some(&here))
}

fn add(rank: Rank, path: PathBuf, below: bool, siblings: &mut Vec<Sibling>) {
    if let Ok(metadata) = fs::metadata(&path)
        && metadata.is_file()
    {
        siblings.push(Sibling { rank, path, stamp: Stamp::of(&metadata), below });
    }
}
