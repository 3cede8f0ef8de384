//! Where a report goes: standard output, or a file that is the old one or the new one at every instant.
//!
//! A file is written beside its final place, with mode 0600 whatever the umask, and takes the place by a rename once it
//! is whole and on disk. It never follows a symbolic link at that place, never leaves half a report, and never takes a
//! short write for success.

mod error;
mod patient;

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Stdout, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

pub use self::error::SinkError;
use self::error::Step;
use self::patient::Patient;
use crate::system::{continues_line, ignore_sigxfsz, stdout_was_closed};

/// Bytes held back before a write: reports are made of small pieces.
const BUFFER: usize = 64 * 1024;

/// A place for a report. What was written counts only after [`commit`](Self::commit); dropped before that, a file stays
/// what it was.
#[derive(Debug)]
pub struct Sink {
    /// As the user named it; `None` is standard output.
    path: Option<PathBuf>,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Stdout(BufWriter<Patient<Stdout>>),
    /// A device or a named pipe: nothing to replace.
    Device(BufWriter<Patient<File>>),
    /// The file to be, in the folder of its final place.
    Staged {
        file: BufWriter<NamedTempFile>,
        /// Held open so that the rename can be made durable; `None` in a folder that may be written but not read.
        folder: Option<File>,
    },
}

impl Sink {
    /// Standard output, buffered. A descriptor that is not ready is waited for. A file that ends within a line gets a newline first:
    /// a run that was killed may have left half a line.
    #[must_use]
    pub fn stdout() -> Self {
        ignore_sigxfsz();
        let mut out = BufWriter::with_capacity(BUFFER, Patient::new(io::stdout()));
        if continues_line(io::stdout()) {
            // It stays in the buffer, which cannot fail.
            let _ = out.write_all(b"\n");
        }
        Self { path: None, target: Target::Stdout(out) }
    }

    /// [`stdout`](Self::stdout), where there is one.
    ///
    /// # Errors
    ///
    /// When it was closed before the process began.
    pub fn open_stdout() -> Result<Self, SinkError> {
        if stdout_was_closed() {
            return Err(SinkError::new(None, Step::Write, io::Error::other("it is closed")));
        }
        Ok(Self::stdout())
    }

    /// The file at `path`, which stays as it is until the commit. To be made before a scan begins: a folder that is not
    /// there or may not be written fails now. An existing device or named pipe is written directly.
    ///
    /// # Errors
    ///
    /// When the file cannot be made, or something that no report can replace has its place: a folder, a socket, a disk,
    /// a link of the system such as `/dev/stdout`.
    pub fn file(path: &Path) -> Result<Self, SinkError> {
        ignore_sigxfsz();
        let target = open(path).map_err(|error| SinkError::new(Some(path), Step::Open, error))?;
        Ok(Self { path: Some(path.to_owned()), target })
    }

    /// Whether writing here would write to, or replace, the file with this device and inode: an input, say.
    #[must_use]
    pub fn is_same_file(&self, dev: u64, ino: u64) -> bool {
        match (&self.target, &self.path) {
            (Target::Staged { .. }, Some(path)) => fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (dev, ino)),
            (Target::Device(file), _) => file.get_ref().is_same_file(dev, ino),
            (Target::Stdout(stdout), _) => stdout.get_ref().is_same_file(dev, ino),
            (Target::Staged { .. }, None) => false,
        }
    }

    /// Names the output and what to do about a failed write to it. [`SinkError::BrokenPipe`] where the reader went away.
    #[must_use]
    pub fn explain(&self, error: io::Error) -> SinkError {
        SinkError::new(self.path.as_deref(), Step::Write, error)
    }

    /// Makes what was written count: flushes, and puts a file in its place, on disk.
    ///
    /// # Errors
    ///
    /// When anything of this fails; the file is then what it was.
    pub fn commit(self) -> Result<(), SinkError> {
        let path = self.path.as_deref();
        let fail = |step| move |error| SinkError::new(path, step, error);
        match self.target {
            Target::Stdout(mut stdout) => stdout.flush().map_err(fail(Step::Write)),
            Target::Device(mut device) => device.flush().map_err(fail(Step::Write)),
            Target::Staged { file, folder } => {
                let file = file.into_inner().map_err(|unflushed| fail(Step::Write)(unflushed.into_error()))?;
                file.as_file().sync_all().map_err(fail(Step::Write))?;
                file.persist(path.unwrap_or(Path::new(""))).map_err(|kept| fail(Step::Replace)(kept.error))?;
                folder.map_or(Ok(()), |folder| sync_folder(&folder)).map_err(fail(Step::Replace))
            }
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Stdout(out) => out.write(bytes),
            Target::Device(out) => out.write(bytes),
            Target::Staged { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Stdout(out) => out.flush(),
            Target::Device(out) => out.flush(),
            Target::Staged { file, .. } => file.flush(),
        }
    }
}

fn open(path: &Path) -> io::Result<Target> {
    let refuse = |why: &str| Err(io::Error::other(why.to_owned()));
    if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return refuse("it names a folder");
    }
    match fs::symlink_metadata(path).map(|there| there.file_type()) {
        Ok(kind) if kind.is_char_device() || kind.is_fifo() => {
            let device = OpenOptions::new().write(true).open(path)?;
            Ok(Target::Device(BufWriter::with_capacity(BUFFER, Patient::new(device))))
        }
        Ok(kind) if kind.is_dir() => refuse("it is a folder"),
        Ok(kind) if kind.is_symlink() && is_of_the_system(path) => refuse("it is a link of the system"),
        Ok(kind) if kind.is_file() || kind.is_symlink() => stage(path),
        Ok(_) => refuse("it is neither a file nor a pipe"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => stage(path),
        Err(error) => Err(error),
    }
}

/// `/dev/stdout` and `/proc/self/fd/1` are links that a report must not replace. `/dev/shm` is a folder like any other.
fn is_of_the_system(link: &Path) -> bool {
    fs::canonicalize(folder_of(link)).is_ok_and(|folder| {
        folder.starts_with("/proc") || folder.starts_with("/sys") || (folder.starts_with("/dev") && !folder.starts_with("/dev/shm"))
    })
}

fn stage(path: &Path) -> io::Result<Target> {
    let folder = folder_of(path);
    let private = Permissions::from_mode(0o600);
    let file = tempfile::Builder::new().prefix(".probewatch-").suffix(".tmp").permissions(private.clone()).tempfile_in(folder)?;
    // The umask may have taken bits away; it cannot have added any.
    file.as_file().set_permissions(private)?;
    Ok(Target::Staged { file: BufWriter::with_capacity(BUFFER, file), folder: File::open(folder).ok() })
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a rename durable. Some network file systems know no such thing for folders and say so.
fn sync_folder(folder: &File) -> io::Result<()> {
    match rustix::fs::fsync(folder.as_fd()) {
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOTSUP) => Ok(()),
        done => Ok(done?),
    }
}

#[cfg(test)]
mod tests;
