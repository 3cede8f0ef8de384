//! The file `index.html` in the folder of `--out`, which is replaced atomically. Its content is the caller's.
//!
//! A file of that name that is not an index of reports is neither replaced nor removed.

use std::io::{Read, Write};

use rustix::fs::FileType;

use super::{ReportStore, ReportStoreError, SIGNATURE_BYTES};

/// The file.
const INDEX: &str = "index.html";

/// Its name while it is written.
pub(super) const NEW_INDEX: &str = ".index.html.tmp";

/// What its first bytes contain.
const SIGNATURE: &[u8] = b"<meta name=\"generator\" content=\"probewatch ";

impl ReportStore {
    /// Checks that the index can be replaced, before anything is written.
    ///
    /// # Errors
    ///
    /// Something else has its name.
    pub(crate) fn check_index(&self) -> Result<(), ReportStoreError> {
        let in_the_way = |what| Err(ReportStoreError::not_a_report(self.folder.path(INDEX), what));
        match self.folder.entry_type(INDEX)? {
            None => return Ok(()),
            Some(FileType::RegularFile) => {}
            Some(_) => return in_the_way("the index of reports belongs there, and it is not a file"),
        }
        let head = self.read_index(SIGNATURE_BYTES * 8)?.unwrap_or_default();
        if memchr::memmem::find(&head, SIGNATURE).is_none() {
            return in_the_way("the index of reports belongs there, and it is another page");
        }
        Ok(())
    }

    /// The names of all report folders, the newest first.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub(crate) fn reports(&self) -> Result<Vec<String>, ReportStoreError> {
        let mut folders = self.report_folders()?;
        folders.sort_unstable_by(|(_, a), (_, b)| b.cmp(a));
        let mut names = Vec::with_capacity(folders.len());
        for (name, _) in folders {
            if self.is_report(&name)? {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Replaces the index: a reader finds the old one or the new one. Does nothing if it has this content already.
    ///
    /// # Errors
    ///
    /// Something else has its name, or a system call failed. The next call does it.
    pub(crate) fn replace_index(&self, content: &[u8]) -> Result<(), ReportStoreError> {
        self.check_index()?;
        if self.read_index(content.len() as u64 + 1)?.is_some_and(|there| there == content) {
            return Ok(());
        }
        self.folder.remove(NEW_INDEX)?;
        let mut file = self.folder.create_file(NEW_INDEX, self.access)?;
        file.write_all(content).map_err(|error| ReportStoreError::failed("write", self.folder.path(INDEX), error))?;
        file.into_pending_sync().sync()?;
        self.folder.rename(NEW_INDEX, &self.folder, INDEX)?;
        self.folder.sync()
    }

    /// The first bytes of the index; `None` if there is none.
    fn read_index(&self, most: u64) -> Result<Option<Vec<u8>>, ReportStoreError> {
        let Some(file) = self.folder.open_file(INDEX)? else { return Ok(None) };
        let mut text = Vec::new();
        let read = file.take(most).read_to_end(&mut text);
        read.map_err(|error| ReportStoreError::failed("read", self.folder.path(INDEX), error))?;
        Ok(Some(text))
    }
}
