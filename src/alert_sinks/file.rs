//! `--alert-file`: appends every alert as one line, with one write, to a file that may be rotated.
//!
//! The file is created with mode 0600; an existing file keeps its mode. Symbolic links are not
//! followed, only regular files are written to, and nothing is truncated. A line that was written
//! in part is completed when there is space again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::OFlags;

use super::AlertSinkError;
use super::queue::AlertQueue;
use crate::os::system::{continues_line, errno_message, ignore_sigxfsz};

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
}

impl FileSink {
    pub(super) fn open(path: PathBuf) -> Result<Self, AlertSinkError> {
        ignore_sigxfsz();
        match open(&path) {
            Ok(file) => {
                let queue = AlertQueue::new(format!("--alert-file {}", path.display()));
                let is_torn = continues_line(&file);
                Ok(Self {
                    path,
                    file: Some(file),
                    queue,
                    is_torn,
                    partial_bytes: 0,
                })
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
        self.queue.collect(now, notices);
    }

    pub(super) fn finish(mut self, now: Instant, notices: &mut Vec<String>) {
        self.try_all(now);
        self.queue.finish(notices);
    }

    fn write(&mut self, now: Instant) {
        if !self.queue.is_empty() && self.queue.should_try(now) {
            self.try_all(now);
        }
    }

    fn try_all(&mut self, now: Instant) {
        while !self.queue.is_empty() {
            match self.try_first() {
                Ok(()) => self.queue.recovered(),
                Err(error) => {
                    self.queue.failed(&errno_message(&error), now);
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
        while let Some(rest) = self
            .queue
            .get(0)
            .map(|line| &line[self.partial_bytes..])
            .filter(|rest| !rest.is_empty())
        {
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

    /// Closes the file if it is no longer the one at its path. A partial line is written again from
    /// its start.
    fn close_if_moved(&mut self) {
        if self
            .file
            .as_ref()
            .is_some_and(|file| !is_at(file, &self.path))
        {
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
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;
    use std::time::Duration;

    use rustix::process::{Resource, Rlimit, setrlimit};
    use tempfile::TempDir;

    use crate::alert_sinks::file::*;

    fn temporary_folder() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("alerts.ndjson");
        (folder, path)
    }

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn appends_to_an_existing_file() {
        let (_folder, path) = temporary_folder();
        let now = Instant::now();
        FileSink::open(path.clone())
            .unwrap()
            .send_alert(b"1\n", now);
        assert_eq!((read(&path).as_str(), mode(&path)), ("1\n", 0o600));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let mut file = FileSink::open(path.clone()).unwrap();
        file.send_alert(b"2\n", now);
        fs::write(&path, "").unwrap();
        file.send_alert(b"3\n", now);
        assert_eq!(
            (read(&path).as_str(), mode(&path)),
            ("3\n", 0o640),
            "cut by someone else, it begins at the start"
        );
    }

    #[test]
    fn a_rotated_file_is_closed() {
        let (folder, path) = temporary_folder();
        let rotated = folder.path().join("alerts.ndjson.1");
        let (now, mut notices) = (Instant::now(), Vec::new());
        let mut file = FileSink::open(path.clone()).unwrap();
        file.send_alert(b"1\n", now);
        fs::rename(&path, &rotated).unwrap();
        file.send_alert(b"2\n", now);
        assert_eq!(
            (read(&rotated).as_str(), read(&path).as_str(), mode(&path)),
            ("1\n", "2\n", 0o600)
        );
        fs::remove_file(&path).unwrap();
        file.poll(now, &mut notices);
        assert!(
            file.file.is_none() && !path.exists(),
            "the old file is closed, and the new one is created on demand"
        );
        file.send_alert(b"3\n", now);
        fs::rename(&path, &rotated).unwrap();
        fs::write(&path, "made by another\n").unwrap();
        file.send_alert(b"4\n", now);
        assert_eq!(
            (read(&rotated).as_str(), read(&path).as_str()),
            ("3\n", "made by another\n4\n")
        );
        file.finish(now, &mut notices);
        assert_eq!(notices, [""; 0]);
    }

    #[test]
    fn only_regular_files_are_accepted() {
        let (folder, path) = temporary_folder();
        let target = folder.path().join("target");
        let refusal = |path: &Path| FileSink::open(path.to_owned()).unwrap_err().to_string();
        let advice =
            "choose another --alert-file: a regular file, no link, in a folder you may write to";
        for there in [false, true] {
            if there {
                fs::write(&target, "text").unwrap();
            }
            let _ = fs::remove_file(&path);
            symlink(&target, &path).unwrap();
            assert_eq!(
                refusal(&path),
                format!(
                    "cannot open {}: too many levels of symbolic links; {advice}",
                    path.display()
                )
            );
            assert_eq!(target.exists(), there);
        }
        assert_eq!(read(&target), "text");
        assert_eq!(
            refusal(Path::new("/dev/null")),
            format!("cannot open /dev/null: it is not a regular file; {advice}")
        );
        assert!(refusal(folder.path()).contains("is a directory"));
        assert!(refusal(&folder.path().join("no/such")).contains("no such file or directory"));
    }

    #[test]
    fn a_failure_is_reported_once_and_nothing_is_lost() {
        let (folder, path) = temporary_folder();
        let (start, mut notices) = (Instant::now(), Vec::new());
        let mut file = FileSink::open(path.clone()).unwrap();
        fs::remove_file(&path).unwrap();
        symlink(folder.path(), &path).unwrap();
        for second in 0..5 {
            let now = start + Duration::from_secs(second);
            file.send_alert(format!("{second}\n").as_bytes(), now);
            file.poll(now, &mut notices);
        }
        let prefix = format!("--alert-file {}", path.display());
        assert_eq!(
            notices,
            [format!(
                "{prefix}: too many levels of symbolic links; retrying, with up to 1000 alerts in the queue"
            )]
        );
        fs::remove_file(&path).unwrap();
        file.poll(start + Duration::from_secs(4), &mut notices);
        assert!(!path.exists(), "not tried again within a second");
        file.poll(start + Duration::from_secs(5), &mut notices);
        assert_eq!(read(&path), "0\n1\n2\n3\n4\n");
        assert_eq!(notices[1..], [format!("{prefix}: works again")]);
    }

    #[test]
    fn lost_alerts_are_reported_at_the_end() {
        let (folder, path) = temporary_folder();
        let (now, mut notices) = (Instant::now(), Vec::new());
        let mut file = FileSink::open(path.clone()).unwrap();
        folder.close().unwrap();
        file.send_alert(b"1\n", now);
        file.send_alert(b"2\n", now);
        file.finish(now, &mut notices);
        assert_eq!(
            notices[1..],
            [format!(
                "--alert-file {}: 2 alerts were not delivered",
                path.display()
            )]
        );
    }

    fn limit(bytes: Option<u64>) {
        setrlimit(
            Resource::Fsize,
            Rlimit {
                current: bytes,
                maximum: None,
            },
        )
        .unwrap();
    }

    /// Runs in its own process, because the limit is per process.
    #[test]
    #[ignore = "run by `a_line_that_did_not_fit_is_finished_later`"]
    fn write_past_the_size_limit() {
        let path = PathBuf::from(std::env::var_os("PROBEWATCH_TEST_FILE").unwrap());
        let (start, mut notices) = (Instant::now(), Vec::new());
        let mut file = FileSink::open(path.clone()).unwrap();
        file.send_alert(b"the first\n", start);
        limit(Some(15));
        file.send_alert(b"the second\n", start);
        file.send_alert(b"the third\n", start);
        assert_eq!(read(&path), "the first\nthe s");
        file.poll(start, &mut notices);
        assert!(
            notices[0].contains(": file too large; retrying"),
            "{notices:?}"
        );
        limit(None);
        file.poll(start + Duration::from_secs(1), &mut notices);
        assert_eq!(read(&path), "the first\nthe second\nthe third\n");
        limit(Some(35));
        file.send_alert(b"the fourth\n", start + Duration::from_secs(1));
        fs::rename(&path, path.with_extension("1")).unwrap();
        limit(None);
        file.poll(start + Duration::from_secs(2), &mut notices);
        assert_eq!(read(&path), "the fourth\n", "whole in the new file");
    }

    #[test]
    fn a_partial_line_is_completed_later() {
        let (_folder, path) = temporary_folder();
        let run = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "alert_sinks::file::tests::write_past_the_size_limit",
            ])
            .env("PROBEWATCH_TEST_FILE", &path)
            .output()
            .unwrap();
        assert!(
            run.status.success(),
            "{}",
            String::from_utf8_lossy(&run.stdout)
        );
        assert_eq!(read(&path), "the fourth\n");
    }

    /// A killed run may have left half an alert.
    #[test]
    fn a_partial_line_in_the_file_is_ended_first() {
        let (_folder, path) = temporary_folder();
        let now = Instant::now();
        for (left, after) in [
            ("{\"kind\":\"an", "{\"kind\":\"an\n1\n2\n"),
            ("0\n", "0\n1\n2\n"),
            ("", "1\n2\n"),
        ] {
            fs::write(&path, left).unwrap();
            let mut file = FileSink::open(path.clone()).unwrap();
            file.send_alert(b"1\n", now);
            file.send_alert(b"2\n", now);
            assert_eq!(read(&path), after);
        }
    }
}
