//! Writes a report to standard output or, atomically, to a file.
//!
//! A file has mode 0600 (0644 for metrics) whatever the umask. Its name never has half a report.
//!
//! Errors name the output as the user named it, escaped, and give advice.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::os::atomic_file::{AtomicFile, folder_of};
use crate::os::system::{check_stdout, continues_line, errno_message, ignore_sigxfsz};
use crate::text::redact::sanitize::escape;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Bytes of the write buffer: reports are made of small pieces.
const BUFFER: usize = 64 * 1024;

/// An output. [`commit`](Self::commit) makes what was written final; without it a file stays as it
/// was.
#[derive(Debug)]
pub(crate) struct Sink {
    /// As the user named it; `None` is standard output.
    path: Option<PathBuf>,
    target: SinkTarget,
}

#[derive(Debug)]
enum SinkTarget {
    /// Standard output, a device or a named pipe: nothing to replace.
    Direct(BufWriter<BlockingWriter>),
    /// A temporary file in the folder of the final one.
    Staged(BufWriter<AtomicFile>),
}

impl Sink {
    /// Standard output, buffered. If it is a file that ends within a line, a newline is written
    /// first: a killed run may have left half a line.
    ///
    /// # Errors
    ///
    /// Standard output was closed before the process started.
    pub(crate) fn stdout() -> Result<Self, SinkError> {
        let stdout = check_stdout()
            .and_then(|()| io::stdout().as_fd().try_clone_to_owned())
            .map_err(|error| SinkError::new(None, "write", error))?;
        ignore_sigxfsz();
        let mut out = BufWriter::with_capacity(BUFFER, BlockingWriter(stdout));
        if continues_line(io::stdout()) {
            // The newline goes into the buffer, which cannot fail.
            let _ = out.write_all(b"\n");
        }
        Ok(Self {
            path: None,
            target: SinkTarget::Direct(out),
        })
    }

    /// Whether it is a terminal, which acts on the bytes of binary data.
    #[must_use]
    pub(crate) fn is_terminal(&self) -> bool {
        match &self.target {
            SinkTarget::Direct(file) => file.get_ref().0.is_terminal(),
            SinkTarget::Staged(_) => false,
        }
    }

    /// The file at `path`, which is unchanged until the commit. Create it before a scan begins: a
    /// missing or unwritable folder is an error here. An existing device or named pipe is written
    /// directly.
    ///
    /// # Errors
    ///
    /// The file cannot be created, or `path` is something that a report cannot replace: a folder, a
    /// socket, a disk, or a system link such as `/dev/stdout`.
    pub(crate) fn file(path: &Path) -> Result<Self, SinkError> {
        Self::file_with_mode(path, 0o600)
    }

    /// Like [`file`](Self::file), but a file that every user may read: with mode 0644 whatever the
    /// umask.
    ///
    /// # Errors
    ///
    /// As for [`file`](Self::file).
    pub(crate) fn public_file(path: &Path) -> Result<Self, SinkError> {
        Self::file_with_mode(path, 0o644)
    }

    fn file_with_mode(path: &Path, mode: u32) -> Result<Self, SinkError> {
        ignore_sigxfsz();
        let target = open(path, mode).map_err(|error| SinkError::new(Some(path), "open", error))?;
        Ok(Self {
            path: Some(path.to_owned()),
            target,
        })
    }

    /// Whether this writes to, or would replace, the file with this device and inode, such as an
    /// input.
    #[must_use]
    pub(crate) fn is_same_file(&self, dev: u64, ino: u64) -> bool {
        match (&self.target, &self.path) {
            (SinkTarget::Staged(_), Some(path)) => fs::metadata(path)
                .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == (dev, ino)),
            (SinkTarget::Direct(file), _) => rustix::fs::fstat(&file.get_ref().0)
                .is_ok_and(|metadata| (metadata.st_dev, metadata.st_ino) == (dev, ino)),
            (SinkTarget::Staged(_), None) => false,
        }
    }

    /// The error for a failed write, with the output's name and advice. [`SinkError::BrokenPipe`]
    /// if the reader is gone.
    #[must_use]
    pub(crate) fn explain(&self, error: io::Error) -> SinkError {
        SinkError::new(self.path.as_deref(), "write", error)
    }

    /// Makes what was written final: flushes, and syncs and renames a file.
    ///
    /// # Errors
    ///
    /// A step fails; the file is then as it was.
    pub(crate) fn commit(self) -> Result<(), SinkError> {
        let path = self.path.as_deref();
        let fail = |step| move |error| SinkError::new(path, step, error);
        match self.target {
            SinkTarget::Direct(mut file) => file.flush().map_err(fail("write")),
            SinkTarget::Staged(file) => {
                let file = file
                    .into_inner()
                    .map_err(|unflushed| fail("write")(unflushed.into_error()))?;
                file.sync().map_err(fail("write"))?;
                file.replace().map_err(fail("replace"))
            }
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            SinkTarget::Direct(file) => file.write(bytes),
            SinkTarget::Staged(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            SinkTarget::Direct(file) => file.flush(),
            SinkTarget::Staged(file) => file.flush(),
        }
    }
}

fn open(path: &Path, mode: u32) -> io::Result<SinkTarget> {
    let refuse = |why: &str| Err(io::Error::other(why.to_owned()));
    if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return refuse("it names a folder");
    }
    match fs::symlink_metadata(path).map(|metadata| metadata.file_type()) {
        Ok(kind) if kind.is_char_device() || kind.is_fifo() => {
            let device = OpenOptions::new().write(true).open(path)?;
            Ok(SinkTarget::Direct(BufWriter::with_capacity(
                BUFFER,
                BlockingWriter(device.into()),
            )))
        }
        Ok(kind) if kind.is_dir() => refuse("it is a folder"),
        Ok(kind) if kind.is_symlink() && is_system_link(path) => {
            refuse("it is a link of the system")
        }
        Ok(kind) if kind.is_file() || kind.is_symlink() => stage(path, mode),
        Ok(_) => refuse("it is neither a file nor a pipe"),
        Err(error) if error.kind() == ErrorKind::NotFound => stage(path, mode),
        Err(error) => Err(error),
    }
}

/// Whether a link is one like `/dev/stdout` or `/proc/self/fd/1`, which a report must not replace.
/// `/dev/shm` is an ordinary folder.
fn is_system_link(link: &Path) -> bool {
    fs::canonicalize(folder_of(link)).is_ok_and(|folder| {
        folder.starts_with("/proc")
            || folder.starts_with("/sys")
            || (folder.starts_with("/dev") && !folder.starts_with("/dev/shm"))
    })
}

fn stage(path: &Path, mode: u32) -> io::Result<SinkTarget> {
    let file = AtomicFile::beside(path, mode)?;
    file.set_mode(mode)?;
    Ok(SinkTarget::Staged(BufWriter::with_capacity(BUFFER, file)))
}

/// Writes directly to a descriptor, and waits while a non-blocking one is not ready.
///
/// Another process may have made standard output non-blocking; `std` treats a slow reader then as
/// an error.
#[derive(Debug)]
struct BlockingWriter(OwnedFd);

impl Write for BlockingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(&self.0, bytes) {
                Err(Errno::AGAIN) => wait(&self.0)?,
                result => return Ok(result?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits until a write is possible or would fail. Continues after a signal.
fn wait(file: &impl AsFd) -> io::Result<()> {
    match poll(&mut [PollFd::new(file, PollFlags::OUT)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// An output could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SinkError {
    /// The reader of the output is gone. Nothing is printed; the exit code is 141.
    #[error("the reader of {output} is gone")]
    BrokenPipe {
        /// The output.
        output: String,
    },
    /// Anything else; the exit code is 4.
    #[error("cannot {step} {output}: {reason}; {advice}", reason = errno_message(error))]
    Failed {
        /// The output, as the user named it.
        output: String,
        /// The step that failed: `open`, `write` or `replace`.
        step: &'static str,
        /// What to do about it.
        advice: &'static str,
        /// The error of the system. It is part of the message, so it is not a `source`, which would
        /// print it twice.
        error: io::Error,
    },
}

impl SinkError {
    fn new(path: Option<&Path>, step: &'static str, error: io::Error) -> Self {
        let output = path.map_or_else(
            || "standard output".into(),
            |path| escape(path.as_os_str().as_bytes()).into_owned(),
        );
        if error.kind() == ErrorKind::BrokenPipe {
            return Self::BrokenPipe { output };
        }
        Self::Failed {
            advice: advice(error.kind(), path.is_some()),
            output,
            step,
            error,
        }
    }
}

fn advice(kind: ErrorKind, is_file: bool) -> &'static str {
    match (kind, is_file) {
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, true) => {
            "free some space or choose another --output"
        }
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, false) => {
            "free some space or write elsewhere"
        }
        (ErrorKind::FileTooLarge, _) => {
            "raise the file size limit (ulimit -f) or narrow the report with --top"
        }
        (ErrorKind::NotFound | ErrorKind::NotADirectory, true) => {
            "make the folder first or choose another --output"
        }
        (ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem, true) => {
            "choose an --output in a folder you may write to"
        }
        (_, true) => "choose another --output; `-` is standard output",
        (_, false) => "choose a file with --output",
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    use rustix::process::{Resource, Rlimit, setrlimit};
    use tempfile::TempDir;

    use crate::render::sink::*;

    /// A folder with an old report in it, and the report's path.
    fn old_report() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.csv");
        fs::write(&path, "old").unwrap();
        (folder, path)
    }

    fn names(folder: &TempDir) -> Vec<String> {
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_commit_replaces_and_a_drop_does_not() {
        let (folder, path) = old_report();
        let mut sink = Sink::file(&path).unwrap();
        sink.write_all(b"half").unwrap();
        sink.flush().unwrap();
        drop(sink);
        assert_eq!(fs::read(&path).unwrap(), b"old");

        let mut sink = Sink::file(&path).unwrap();
        sink.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old", "until the commit");
        sink.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
            0o600
        );
        assert_eq!(names(&folder), ["report.csv"]);
    }

    #[test]
    fn a_link_is_replaced_and_its_target_unchanged() {
        let (folder, path) = old_report();
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        let mut sink = Sink::file(&link).unwrap();
        sink.write_all(b"new").unwrap();
        sink.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert!(fs::symlink_metadata(&link).unwrap().is_file());
    }

    #[test]
    fn an_irreplaceable_output_is_an_error_when_opened() {
        let (folder, path) = old_report();
        let refusal = |path: &Path| Sink::file(path).unwrap_err().to_string();
        let shown = path.display();
        assert_eq!(
            refusal(&path.join("x")),
            format!(
                "cannot open {shown}/x: not a directory; make the folder first or choose another --output"
            )
        );
        assert!(
            refusal(&folder.path().join("no/such"))
                .contains("no such file or directory; make the folder first")
        );
        assert!(refusal(folder.path()).contains("it is a folder; choose another --output"));
        assert!(refusal(Path::new("/")).contains("it names a folder"));
        assert!(refusal(Path::new("/dev/stdout")).contains(
            "it is a link of the system; choose another --output; `-` is standard output"
        ));
        assert_eq!(names(&folder), ["report.csv"]);
    }

    #[test]
    fn a_full_device_is_an_error() {
        let mut sink = Sink::file(Path::new("/dev/full")).unwrap();
        sink.write_all(b"row").unwrap();
        assert_eq!(
            sink.commit().unwrap_err().to_string(),
            "cannot write /dev/full: no space left on device; free some space or choose another --output"
        );
        let mut sink = Sink::file(Path::new("/dev/null")).unwrap();
        sink.write_all(b"row").unwrap();
        sink.commit().unwrap();
        assert!(
            fs::metadata("/dev/null")
                .unwrap()
                .file_type()
                .is_char_device(),
            "written to, not replaced"
        );
    }

    #[test]
    fn a_removed_folder_is_an_error() {
        let (folder, path) = old_report();
        let sink = Sink::file(&path).unwrap();
        folder.close().unwrap();
        assert!(
            sink.commit()
                .unwrap_err()
                .to_string()
                .starts_with("cannot replace ")
        );
    }

    #[test]
    fn an_input_is_recognised_by_device_and_inode() {
        let (folder, path) = old_report();
        let metadata = fs::metadata(&path).unwrap();
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        for name in [
            &path,
            &link,
            &folder
                .path()
                .join("../")
                .join(folder.path().file_name().unwrap())
                .join("report.csv"),
        ] {
            assert!(
                Sink::file(name)
                    .unwrap()
                    .is_same_file(metadata.dev(), metadata.ino()),
                "{}",
                name.display()
            );
        }
        assert!(
            !Sink::file(&folder.path().join("other"))
                .unwrap()
                .is_same_file(metadata.dev(), metadata.ino())
        );
    }

    #[test]
    fn a_closed_pipe_is_an_error_of_its_own() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let error = BlockingWriter(writer.into()).write(b"row").unwrap_err();
        assert!(matches!(
            Sink::stdout().unwrap().explain(error),
            SinkError::BrokenPipe { .. }
        ));
    }

    #[test]
    fn a_slow_reader_is_awaited() {
        let (mut reader, writer) = io::pipe().unwrap();
        rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).unwrap();
        let report = vec![b'x'; 1 << 20];
        let sent = report.clone();
        let writing = std::thread::spawn(move || BlockingWriter(writer.into()).write_all(&sent));
        let mut got = Vec::new();
        io::Read::read_to_end(&mut reader, &mut got).unwrap();
        writing.join().unwrap().unwrap();
        assert_eq!(got.len(), report.len());
    }

    /// Runs in a process of its own, as the limit is per process.
    #[test]
    #[ignore = "run by `a_size_limit_is_an_error`"]
    fn write_past_the_size_limit() {
        setrlimit(
            Resource::Fsize,
            Rlimit {
                current: Some(4096),
                maximum: Some(4096),
            },
        )
        .unwrap();
        let mut sink = Sink::file(Path::new(
            &std::env::var_os("PROBEWATCH_TEST_SINK").unwrap(),
        ))
        .unwrap();
        let error = sink.write_all(&vec![b'x'; 200_000]).unwrap_err();
        let message = sink.explain(error).to_string();
        assert!(
            message.contains("file too large; raise the file size limit (ulimit -f)"),
            "{message}"
        );
    }

    #[test]
    fn a_size_limit_is_an_error() {
        let (folder, path) = old_report();
        let run = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "render::sink::tests::write_past_the_size_limit",
            ])
            .env("PROBEWATCH_TEST_SINK", &path)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&run.stdout);
        assert!(
            run.status.success() && printed.contains("1 passed"),
            "{printed}"
        );
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(&folder), ["report.csv"]);
    }
}
