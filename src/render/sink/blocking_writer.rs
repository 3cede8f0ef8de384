//! A descriptor that is waited for instead of given up.
//!
//! Someone else may have made standard output non-blocking, and a slow reader is then an error like any other to
//! `std`. Buffers nothing.

use std::io::{self, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Writes straight to a descriptor.
#[derive(Debug)]
pub(crate) struct BlockingWriter<F>(F);

impl<F: AsFd> BlockingWriter<F> {
    pub(crate) fn new(file: F) -> Self {
        Self(file)
    }

    /// Whether this is the file with this device and inode.
    pub(crate) fn is_same_file(&self, dev: u64, ino: u64) -> bool {
        rustix::fs::fstat(&self.0).is_ok_and(|there| (there.st_dev, there.st_ino) == (dev, ino))
    }
}

impl<F: AsFd> Write for BlockingWriter<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(&self.0, bytes) {
                Err(Errno::AGAIN) => wait(&self.0)?,
                done => return Ok(done?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits until there is room, or until a write would say what is wrong. A signal is no reason to stop.
fn wait(file: &impl AsFd) -> io::Result<()> {
    match poll(&mut [PollFd::new(file, PollFlags::OUT)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
