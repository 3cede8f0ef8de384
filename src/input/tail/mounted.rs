//! Tells whether a path is a file that was mounted by itself, as containers do.
//!
//! Such a path leads to the same file for ever: a rotation outside cannot be seen from within. Says so and no more.

use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

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
