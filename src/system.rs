//! What all writers of files need of the system: its words for a failure, its signal for a file that is too long, whether a file
//! ends within a line, and whether there is a standard output at all.
//!
//! Writes nothing and advises nothing: what to do about a failure depends on what was to be written.

#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "what runs before the standard library starts"))]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FileType, OFlags, SeekFrom};
use signal_hook::consts::SIGXFSZ;

/// The system's words without their number, and in the middle of a sentence.
pub(crate) fn errno_message(error: &io::Error) -> String {
    let message = error.to_string();
    let words = message.split(" (os error ").next().unwrap_or(&message);
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Past a file size limit (`ulimit -f`) the system sends a signal that ends the process, unless someone listens; then
/// the write fails like any other.
pub(crate) fn ignore_sigxfsz() {
    // A failure leaves the signal as it was, which is no reason to write nothing.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Whether what is written next would continue a line of the file: a run that was killed may have left half a line. `false` for
/// anything but a regular file, and where the file may not be read.
pub(crate) fn continues_line(file: impl AsFd) -> bool {
    last_byte(file.as_fd()).is_ok_and(|last| last.is_some_and(|byte| byte != b'\n'))
}

/// The byte before the place of the next write; `None` where there is none.
fn last_byte(file: impl AsFd) -> io::Result<Option<u8>> {
    let status = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let appends = rustix::fs::fcntl_getfl(&file)?.contains(OFlags::APPEND);
    let end = if appends { u64::try_from(status.st_size).unwrap_or(0) } else { rustix::fs::seek(&file, SeekFrom::Current(0))? };
    let Some(last) = end.checked_sub(1) else { return Ok(None) };
    // The descriptor itself may be open for writing alone.
    let readable = File::open(format!("/dev/fd/{}", file.as_fd().as_raw_fd()))?;
    let mut byte = [0];
    Ok((readable.read_at(&mut byte, last)? == 1).then_some(byte[0]))
}

/// Standard output was closed when the process began. Set once, before `main`; nothing else changes it. The standard library opens
/// `/dev/null` in its place, so that later nothing shows it: a report would be lost without a word.
static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Called by the loader of the system (`.init_array`), before the standard library looks at the descriptors.
#[cfg(target_os = "linux")]
#[used]
// SAFETY: The section holds pointers to functions of C, and this is one.
#[unsafe(link_section = ".init_array")]
static LOOK_AT_STDOUT: extern "C" fn() = look_at_stdout;

#[cfg(target_os = "linux")]
extern "C" fn look_at_stdout() {
    // SAFETY: It takes two numbers, and may be called at any time (`fcntl(2)`, `signal-safety(7)`).
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    STDOUT_WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Whether standard output was closed when the process began (`>&-`).
pub(crate) fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errno_messages_fit_into_a_sentence() {
        assert_eq!(errno_message(&io::Error::from_raw_os_error(libc::ENOSPC)), "no space left on device");
        assert_eq!(errno_message(&io::Error::other("Élan lost")), "élan lost");
        assert_eq!(errno_message(&io::Error::other("")), "");
    }
}
