//! `--alert-file`: every alert appended as one line, one write each, to a file that may be rotated.
//!
//! Made with mode 0600; one that is there keeps its mode. Never follows a link in its place, never writes to anything but
//! a regular file, and never cuts one. A line that did not fit is finished once there is room.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::OFlags;

use super::error::ActionError;
use super::queue::Queue;
use super::trouble::Trouble;
use crate::system::{continues_line, errno_message, ignore_sigxfsz};

/// The file, and what is still to be written to it.
#[derive(Debug)]
pub(super) struct AlertFile {
    path: PathBuf,
    /// `None` between a rotation, or an error, and the next write.
    file: Option<File>,
    queue: Queue,
    /// The file ends within a line: a run that was killed may have left half a line.
    is_torn: bool,
    /// Bytes of the first line that are written.
    part: usize,
    trouble: Trouble,
}

impl AlertFile {
    pub(super) fn open(path: PathBuf) -> Result<Self, ActionError> {
        ignore_sigxfsz();
        match open(&path) {
            Ok(file) => {
                let trouble = Trouble::new(format!("--alert-file {}", path.display()));
                let is_torn = continues_line(&file);
                Ok(Self { path, file: Some(file), queue: Queue::default(), is_torn, part: 0, trouble })
            }
            Err(error) => Err(ActionError::File { path, error }),
        }
    }

    pub(super) fn tell(&mut self, line: &[u8], now: Instant) {
        self.queue.push(line);
        self.write(now);
    }

    pub(super) fn turn(&mut self, now: Instant, notices: &mut Vec<String>) {
        self.let_go_when_moved();
        self.write(now);
        self.trouble.tell(&mut self.queue, now, notices);
    }

    pub(super) fn finish(mut self, now: Instant, notices: &mut Vec<String>) {
        self.try_all(now);
        self.trouble.finish(&self.queue, notices);
    }

    fn write(&mut self, now: Instant) {
        if !self.queue.is_empty() && self.trouble.may_try(now) {
            self.try_all(now);
        }
    }

    fn try_all(&mut self, now: Instant) {
        while !self.queue.is_empty() {
            match self.try_first() {
                Ok(()) => self.trouble.over(),
                Err(error) => {
                    self.trouble.met(&errno_message(&error), now);
                    return;
                }
            }
        }
    }

    /// Writes what is left of the first line.
    fn try_first(&mut self) -> io::Result<()> {
        self.let_go_when_moved();
        let file = match &mut self.file {
            Some(file) => file,
            empty => {
                let file = empty.insert(open(&self.path)?);
                self.is_torn = continues_line(&*file);
                file
            }
        };
        if self.is_torn {
            file.write_all(b"\n")?;
            self.is_torn = false;
        }
        while let Some(rest) = self.queue.get(0).map(|line| &line[self.part..]).filter(|rest| !rest.is_empty()) {
            match file.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => self.part += written,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.queue.pop();
        self.part = 0;
        Ok(())
    }

    /// Lets go of a file that no longer is the one at its path. A line that was begun there begins anew elsewhere.
    fn let_go_when_moved(&mut self) {
        if self.file.as_ref().is_some_and(|file| !is_at(file, &self.path)) {
            self.file = None;
            self.part = 0;
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(there)) => id(ours) == id(there),
        _ => false,
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = OpenOptions::new();
    options.append(true).mode(0o600).custom_flags(flags);
    let file = match options.clone().create_new(true).open(path) {
        Ok(file) => {
            // The umask may have taken bits away; it cannot have added any.
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
            file
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => options.open(path)?,
        Err(error) => return Err(error),
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

#[cfg(test)]
mod tests;
