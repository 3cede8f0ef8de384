//! Which state writes to the folder of `--out`. The file `.state` there contains the inode of the folder and the path of the
//! state file.
//!
//! Two states must not share a folder: a run of one state would remove what the other has committed but not published, and
//! logs that both read would count twice in the report of a day. A copied folder has another inode, so its `.state` does not
//! count.

use std::ffi::OsStr;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::fstat;

use super::{Access, ReportStore, ReportStoreError};

/// The file that names the state.
const OWNER: &str = ".state";

/// Its name while it is written.
pub(super) const NEW_OWNER: &str = ".state.tmp";

/// The longest inode and path together.
const MAX_OWNER_BYTES: u64 = 4096 + 32;

impl ReportStore {
    /// Opens the store for a state, whose file has this absolute path and may not exist yet. Call it before
    /// [`recover`](Self::recover). The folder belongs to the state from the next [`stage`](Self::stage) on.
    ///
    /// # Errors
    ///
    /// The folder belongs to another state whose file exists.
    pub fn for_state(self, state: PathBuf) -> Result<Self, ReportStoreError> {
        match self.owner()?.filter(|owner| *owner != state && is_there(owner)) {
            Some(owner) => Err(ReportStoreError::Shared { path: self.folder.path(OWNER), owner }),
            None => Ok(Self { state: Some(state), ..self }),
        }
    }

    /// The path of the state that the folder belongs to; `None` if unknown.
    fn owner(&self) -> Result<Option<PathBuf>, ReportStoreError> {
        let Some(file) = self.folder.open_file(OWNER)? else { return Ok(None) };
        let mut text = Vec::new();
        let read = file.take(MAX_OWNER_BYTES).read_to_end(&mut text);
        read.map_err(|error| ReportStoreError::failed("read", self.folder.path(OWNER), error))?;
        let path = text.strip_prefix(self.inode_line()?.as_bytes()).filter(|path| !path.is_empty());
        Ok(path.map(|path| OsStr::from_bytes(path).into()))
    }

    /// The line before the path.
    fn inode_line(&self) -> Result<String, ReportStoreError> {
        let stat = fstat(self.folder.fd()).map_err(|error| ReportStoreError::failed("look at", self.folder.path(OWNER), error))?;
        Ok(format!("{}\n", stat.st_ino))
    }

    /// Records the owner, before any run is committed: [`Staging::finish`](super::Staging::finish) syncs the folder.
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

/// Whether a state file exists. One that this user may not access counts as existing.
fn is_there(state: &Path) -> bool {
    let gone = |kind| matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory);
    !state.symlink_metadata().is_err_and(|error| gone(error.kind()))
}
