//! `--alert-file`: appends every alert as one line, with one write, to a file that may be rotated.
//!
//! The file is created with mode 0600; an existing file keeps its mode. Symbolic links are not followed, only regular files
//! are written to, and nothing is truncated. A line that was written in part is completed when there is space again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::OFlags;

use super::AlertSinkError;
use super::queue::{AlertQueue, FailureNotifier};
use crate::system::{continues_line, errno_message, ignore_sigxfsz};

/// The file, and the lines that are not written yet.
#[derive(Debug)]
pub(super) struct FileSink {
    path: PathBuf,
    /// `None` after a rotation or an error, until the next write.
    file: Option<File>,
    queue: AlertQueue,
    /// The file ends in the middle of a line, as a killed run leaves it.
    is_torn: bool,
    /// Bytes of the first line that are written.
    partial_bytes: usize,
    failures: FailureNotifier,
}

impl FileSink {
    pub(super) fn open(path: PathBuf) -> Result<Self, AlertSinkError> {
        ignore_sigxfsz();
        match open(&path) {
            Ok(file) => {
                let failures = FailureNotifier::new(format!("--alert-file {}", path.display()));
                let is_torn = continues_line(&file);
                Ok(Self { path, file: Some(file), queue: AlertQueue::default(), is_torn, partial_bytes: 0, failures })
            }
            Err(error) => Err(AlertSinkError::File { path, error }),
        }
    }

    pub(super) fn send_alert(&mut self, line: &[u8], now: Instant) {
        self.queue.push(line);
        self.write(now);
    }

    pub(super) fn poll(&mut self, now: Instant, notices: &mut Vec<String>) {
        self.close_if_moved();
        self.write(now);
        self.failures.collect(&mut self.queue, now, notices);
    }

    pub(super) fn finish(mut self, now: Instant, notices: &mut Vec<String>) {
        self.try_all(now);
        self.failures.finish(&self.queue, notices);
    }

    fn write(&mut self, now: Instant) {
        if !self.queue.is_empty() && self.failures.should_try(now) {
            self.try_all(now);
        }
    }

    fn try_all(&mut self, now: Instant) {
        while !self.queue.is_empty() {
            match self.try_first() {
                Ok(()) => self.failures.recovered(),
                Err(error) => {
                    self.failures.failed(&errno_message(&error), now);
                    return;
                }
            }
        }
    }

    /// Writes the rest of the first line.
    fn try_first(&mut self) -> io::Result<()> {
        self.close_if_moved();
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
        while let Some(rest) = self.queue.get(0).map(|line| &line[self.partial_bytes..]).filter(|rest| !rest.is_empty()) {
            match file.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => self.partial_bytes += written,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.queue.pop();
        self.partial_bytes = 0;
        Ok(())
    }

    /// Closes the file if it is no longer the one at its path. A partial line is written again from its start.
    fn close_if_moved(&mut self) {
        if self.file.as_ref().is_some_and(|file| !is_at(file, &self.path)) {
            self.file = None;
            self.partial_bytes = 0;
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
            // The umask may have cleared bits.
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
            file
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => options.open(path)?,
        Err(error) => return Err(error),
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

#[cfg(test)]
mod tests;
