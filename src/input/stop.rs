//! Ends a reading from outside, wherever it is, by an error where the next bytes would be.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

/// Fails once `stop` is set. Of no kind that means anything: whoever meets it looks at `stop` and says no more.
///
/// # Errors
///
/// It is set.
pub(super) fn check(stop: &AtomicBool) -> io::Result<()> {
    if stop.load(Ordering::Relaxed) { Err(io::Error::other("stopped")) } else { Ok(()) }
}

/// A source that breaks off once it is told to.
#[derive(Debug)]
pub(super) struct CancellableReader<'a, R> {
    pub(super) source: R,
    pub(super) stop: &'a AtomicBool,
}

impl<R: Read> Read for CancellableReader<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        check(self.stop)?;
        self.source.read(out)
    }
}
