//! Which state reports to the folder of `--out`: in `.state` there, the inode of the folder and the path of the state's file.
//!
//! Two states must not share a folder: what one run has committed and not put in its place yet, a run of the other state
//! would take for a leftover, and logs that both read would be counted twice in the report of a day. A folder that was
//! copied has another inode than its `.state` says, and is no state's.

use std::ffi::OsStr;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::fstat;

use super::{Access, ReportStore, ReportStoreError};

/// The file that names the state.
const OWNER: &str = ".state";

/// The same while it is written.
pub(super) const NEW_OWNER: &str = ".state.tmp";

/// No path and inode together are longer.
const MAX_OWNER_BYTES: u64 = 4096 + 32;

impl ReportStore {
    /// The same for the runs of a state, whose file is, or will be, at this absolute path. To be called before
    /// [`recover`](Self::settle). The folder is that state's from the next [`stage`](Self::stage) on.
    ///
    /// # Errors
    ///
    /// The folder is that of another state, whose file is still there.
    pub fn for_state(self, state: PathBuf) -> Result<Self, ReportStoreError> {
        match self.owner()?.filter(|owner| *owner != state && is_there(owner)) {
            Some(owner) => Err(ReportStoreError::Shared { path: self.folder.path(OWNER), owner }),
            None => Ok(Self { state: Some(state), ..self }),
        }
    }

    /// The path of the state that reports here; `None` where none is known.
    fn owner(&self) -> Result<Option<PathBuf>, ReportStoreError> {
        let Some(file) = self.folder.open_file(OWNER)? else { return Ok(None) };
        let mut text = Vec::new();
        let read = file.take(MAX_OWNER_BYTES).read_to_end(&mut text);
        read.map_err(|error| ReportStoreError::failed("read", self.folder.path(OWNER), error))?;
        let path = text.strip_prefix(self.inode_line()?.as_bytes()).filter(|path| !path.is_empty());
        Ok(path.map(|path| OsStr::from_bytes(path).into()))
    }

    /// What stands before the path.
    fn inode_line(&self) -> Result<String, ReportStoreError> {
        let stat = fstat(self.folder.fd()).map_err(|error| ReportStoreError::failed("look at", self.folder.path(OWNER), error))?;
        Ok(format!("{}\n", stat.st_ino))
    }

    /// Writes down whose folder it is. On disk before any run is: [`Staging::finish`](super::Staging::finish) makes the
    /// names in the folder last.
    pub(super) fn record_owner(&self) -> Result<(), ReportStoreError> {
        let Some(state) = &self.state else { return Ok(()) };
        if self.owner()?.as_ref() == Some(state) {
            return Ok(());
        }
        self.folder.remove(NEW_OWNER)?;
        let mut file = self.folder.create_file(NEW_OWNER, Access { mode: 0o600, group: None })?;
        let written = file.write_all(&[self.inode_line()?.as_bytes(), state.as_os_str().as_bytes()].concat());
        written.map_err(|error| ReportStoreError::failed("write", self.folder.path(OWNER), error))?;
        file.into_pending_sync().sync()?;
        self.folder.rename(NEW_OWNER, &self.folder, OWNER)
    }
}

/// Whether a state is there, as far as this user may see: one that may not be looked at is.
fn is_there(state: &Path) -> bool {
    let gone = |kind| matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory);
    !state.symlink_metadata().is_err_and(|error| gone(error.kind()))
}
