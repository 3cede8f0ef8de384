//! Reads a descriptor that may have nothing to say for hours, without going deaf to the caller.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::stop;

/// How long a silent pipe is waited for before `stop` is looked at: 100 ms.
const POLL_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// A pipe, a terminal, or a file without a length.
#[derive(Debug)]
pub(super) struct PollingReader<'a, F> {
    pub(super) fd: F,
    pub(super) stop: &'a AtomicBool,
}

impl<F: AsFd> Read for PollingReader<'_, F> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            stop::check(self.stop)?;
            match poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&POLL_TIMEOUT)) {
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            match rustix::io::read(&self.fd, &mut *out) {
                Ok(read) => return Ok(read),
                // Someone else was faster, or the descriptor has no one behind it yet.
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Counts what is read from a file.
#[derive(Debug)]
pub(super) struct CountingReader<'a, R> {
    source: R,
    progress: &'a AtomicU64,
    bytes: u64,
}

impl<'a, R> CountingReader<'a, R> {
    /// Adds to `progress` whatever is read from `source`.
    pub(super) fn new(source: R, progress: &'a AtomicU64) -> Self {
        Self { source, progress, bytes: 0 }
    }

    /// Bytes read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl<R: Read> Read for CountingReader<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(out)?;
        self.bytes += read as u64;
        self.progress.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
