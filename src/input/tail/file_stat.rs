//! File metadata that shows whether a file changed.
//!
//! Different metadata means that the file may have changed; the content must be compared to be sure.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

/// Device and inode.
pub(super) type FileId = (u64, u64);

/// The coarsest timestamps of supported file systems. A file changed more recently may change again with the same
/// timestamp.
const TIMESTAMP_GRANULARITY: Duration = Duration::from_secs(2);

/// The metadata of a file at one poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FileStat {
    /// Device and inode.
    pub(super) id: FileId,
    /// Its size in bytes.
    pub(super) size: u64,
    /// Number of names (hard links).
    pub(super) links: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStat {
    /// Takes the relevant fields of `metadata`.
    pub(super) fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            id: (metadata.dev(), metadata.ino()),
            size: metadata.len(),
            links: metadata.nlink(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Size and modification time, which do not change when a file is renamed.
    pub(super) fn size_and_mtime(&self) -> (u64, (i64, i64)) {
        (self.size, self.modified)
    }

    /// Whether the file was modified before the other one.
    pub(super) fn is_before(&self, other: &Self) -> bool {
        self.modified < other.modified
    }

    /// Whether the file was not modified for `time`. False for a modification time in the future.
    pub(super) fn is_unmodified_for(&self, time: Duration) -> bool {
        SystemTime::now().duration_since(system_time(self.modified)).is_ok_and(|since| since >= time)
    }

    /// Whether the file changed so recently that another change might leave the same metadata.
    pub(super) fn is_recent(&self) -> bool {
        SystemTime::now().duration_since(system_time(self.changed)).map_or(true, |since| since < TIMESTAMP_GRANULARITY)
    }
}

fn system_time((seconds, nanoseconds): (i64, i64)) -> SystemTime {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::new(seconds, u32::try_from(nanoseconds).unwrap_or(0))
}

/// Whether the file at `path` is mounted by itself, without its folder, as containers do. A rotation outside of the
/// container is not visible through such a mount. `false` if unknown.
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
    fn a_temporary_file_is_not_bind_mounted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(!is_bind_mounted_file(file.path()));
        assert!(!is_bind_mounted_file(Path::new("/nowhere/at/all")));
    }
}
