//! A server that writes numbered lines: each is a probe whose target contains its number.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::harness;

/// The line with this number.
pub(super) fn line(number: u64) -> String {
    harness::line(
        "192.0.2.7",
        &format!("GET /.git/config?n={number:07} HTTP/1.1"),
        404,
    )
}

/// An open log, as a server holds it.
pub(super) struct Writer {
    path: PathBuf,
    log: File,
    next: u64,
}

impl Writer {
    /// Opens or creates a log.
    pub(super) fn open(path: impl AsRef<Path>) -> Self {
        Self::from(path, 0)
    }

    /// Starts with this number.
    pub(super) fn from(path: impl AsRef<Path>, first: u64) -> Self {
        let path = path.as_ref().to_owned();
        Self {
            log: append(&path),
            path,
            next: first,
        }
    }

    /// Writes this many lines, each with one write.
    pub(super) fn write(&mut self, lines: u64) {
        for _ in 0..lines {
            self.log.write_all(line(self.next).as_bytes()).unwrap();
            self.next += 1;
        }
    }

    /// Writes the next line in parts that end at these offsets, and calls `between` after each but
    /// the last.
    pub(super) fn write_in_parts(&mut self, ends: &[usize], mut between: impl FnMut(&mut Self)) {
        let line = line(self.next);
        let mut start = 0;
        for &end in ends {
            self.log.write_all(&line.as_bytes()[start..end]).unwrap();
            between(self);
            start = end;
        }
        self.log.write_all(&line.as_bytes()[start..]).unwrap();
        self.next += 1;
    }

    /// As nginx does on USR1.
    pub(super) fn reopen(&mut self) {
        self.log = append(&self.path);
    }

    /// The next number, which is also the number of lines if the first was 0.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Continues to write in a thread.
    pub(super) fn go(self, reopen: Reopen) -> BusyWriter {
        let over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&over);
        BusyWriter {
            over,
            thread: Some(thread::spawn(move || self.run(&until, &reopen))),
        }
    }

    fn run(mut self, over: &AtomicBool, reopen: &Reopen) -> Self {
        while !over.load(Ordering::Relaxed) {
            self.write(4);
            if reopen.is_due(self.next) {
                self.reopen();
            }
            // About 3,000 lines per second.
            thread::sleep(Duration::from_millis(1));
        }
        self
    }
}

/// When a server reopens its log.
pub(super) enum Reopen {
    /// Never.
    Never,
    /// After this many lines.
    Every(u64),
    /// When this file exists, which it then removes: it replaces a signal to nginx.
    Signalled(PathBuf),
}

impl Reopen {
    fn is_due(&self, lines: u64) -> bool {
        match self {
            Self::Never => false,
            Self::Every(every) => lines.is_multiple_of(*every),
            Self::Signalled(flag) => std::fs::remove_file(flag).is_ok(),
        }
    }
}

/// A writer in a thread.
pub(super) struct BusyWriter {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Writer>>,
}

impl BusyWriter {
    /// Waits for its last line.
    pub(super) fn stop(mut self) -> Writer {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for BusyWriter {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

fn append(path: &Path) -> File {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap()
}
