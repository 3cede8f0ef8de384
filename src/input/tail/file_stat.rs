//! What the system says of a file: enough to see that nothing happened to it.
//!
//! A different stamp says that something may have changed, and no more than that.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

/// Device and inode.
pub(super) type FileId = (u64, u64);

/// Times of files are this coarse at worst: a change so young may have had another before it that shows the same time.
const TIMESTAMP_GRANULARITY: Duration = Duration::from_secs(2);

/// What was seen of a file in one look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FileStat {
    /// Which file.
    pub(super) id: FileId,
    /// Its size in bytes.
    pub(super) size: u64,
    /// Names that lead to it.
    pub(super) links: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStat {
    /// The stamp that `metadata` holds.
    pub(super) fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            id: (metadata.dev(), metadata.ino()),
            size: metadata.len(),
            links: metadata.nlink(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// What stays the same while a file is renamed.
    pub(super) fn content(&self) -> (u64, (i64, i64)) {
        (self.size, self.modified)
    }

    /// Whether the file was last written to before another one was.
    pub(super) fn is_before(&self, other: &Self) -> bool {
        self.modified < other.modified
    }

    /// Whether nothing was written to the file for so long. A time that is yet to come says nothing.
    pub(super) fn is_unmodified_for(&self, time: Duration) -> bool {
        SystemTime::now().duration_since(system_time(self.modified)).is_ok_and(|since| since >= time)
    }

    /// Whether the file was changed so lately that the next change might show the same stamp.
    pub(super) fn is_recent(&self) -> bool {
        SystemTime::now().duration_since(system_time(self.changed)).map_or(true, |since| since < TIMESTAMP_GRANULARITY)
    }
}

fn system_time((seconds, nanoseconds): (i64, i64)) -> SystemTime {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::new(seconds, u32::try_from(nanoseconds).unwrap_or(0))
}

/// Whether the file at `path` was mounted alone, its folder without it. `false` where the system does not say.
pub(super) fn is_bind_mounted_file(path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    let mount = |path: &Path| {
        let found = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
        (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
    };
    match (mount(&path), path.parent().and_then(mount)) {
        (Some(file), Some(folder)) => file != folder,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usual_file_is_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(!is_bind_mounted_file(file.path()));
        assert!(!is_bind_mounted_file(Path::new("/nowhere/at/all")));
    }
}
