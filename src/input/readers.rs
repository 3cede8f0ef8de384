//! Readers around other readers: ones that can be cancelled, that poll a pipe, that count bytes,
//! and that look ahead.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// How long a pipe is polled before `stop` is checked again: 100 ms.
const POLL_TIMEOUT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Fails once `stop` is set. The error has no kind of its own: a caller that gets one checks
/// `stop`.
///
/// # Errors
///
/// `stop` is set.
pub(super) fn check_stop(stop: &AtomicBool) -> io::Result<()> {
    if stop.load(Ordering::Relaxed) {
        Err(io::Error::other("stopped"))
    } else {
        Ok(())
    }
}

/// A reader that fails once `stop` is set.
#[derive(Debug)]
pub(super) struct CancellableReader<'a, R> {
    pub(super) source: R,
    pub(super) stop: &'a AtomicBool,
}

impl<R: Read> Read for CancellableReader<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        check_stop(self.stop)?;
        self.source.read(out)
    }
}

/// Reads a pipe, a terminal, or a file without a length, and checks `stop` while no bytes come.
#[derive(Debug)]
pub(super) struct PollingReader<'a, F> {
    pub(super) fd: F,
    pub(super) stop: &'a AtomicBool,
}

impl<F: AsFd> Read for PollingReader<'_, F> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            check_stop(self.stop)?;
            match poll(
                &mut [PollFd::new(&self.fd, PollFlags::IN)],
                Some(&POLL_TIMEOUT),
            ) {
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            match rustix::io::read(&self.fd, &mut *out) {
                Ok(read) => return Ok(read),
                // Another reader took the bytes, or the pipe has no writer yet.
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Counts the bytes that are read from a file.
#[derive(Debug)]
pub(super) struct CountingReader<'a, R> {
    source: R,
    progress: &'a AtomicU64,
    bytes: u64,
}

impl<'a, R> CountingReader<'a, R> {
    /// Adds to `progress` the number of bytes that are read from `source`.
    pub(super) fn new(source: R, progress: &'a AtomicU64) -> Self {
        Self {
            source,
            progress,
            bytes: 0,
        }
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

/// A source whose first bytes were read ahead, for sources that cannot be rewound. An error during
/// the read-ahead is returned after the bytes before it were read.
#[derive(Debug)]
pub(super) struct PeekReader<R> {
    head: Vec<u8>,
    position: usize,
    error: Option<io::Error>,
    rest: R,
}

impl<R: Read> PeekReader<R> {
    /// Reads the first `len` bytes of `source`, or all if there are fewer.
    pub(super) fn new(source: R, len: usize) -> Self {
        let mut peeked = Self {
            head: vec![0; len],
            position: 0,
            error: None,
            rest: source,
        };
        let mut filled = 0;
        while filled < len {
            match peeked.rest.read(&mut peeked.head[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    peeked.error = Some(error);
                    break;
                }
            }
        }
        peeked.head.truncate(filled);
        peeked
    }

    /// The first bytes.
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The error, if it came before the first byte.
    pub(super) fn take_initial_error(&mut self) -> Option<io::Error> {
        if self.head.is_empty() {
            self.error.take()
        } else {
            None
        }
    }

    /// Skips the first `len` bytes when reading.
    pub(super) fn skip(&mut self, len: usize) {
        self.position = len;
    }

    /// The source, positioned after the first bytes.
    pub(super) fn rest(&self) -> &R {
        &self.rest
    }
}

impl<R: Read> Read for PeekReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let ahead = &self.head[self.position..];
        if !ahead.is_empty() {
            let read = ahead.len().min(out.len());
            out[..read].copy_from_slice(&ahead[..read]);
            self.position += read;
            return Ok(read);
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => self.rest.read(out),
        }
    }
}
