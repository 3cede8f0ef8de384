//! System calls that all writers need: error messages, the signal of the file size limit, whether a file ends within a line, and
//! whether standard output is open.
//!
//! It writes nothing.

#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "what runs before the standard library starts"))]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FileType, OFlags, SeekFrom};
use signal_hook::consts::SIGXFSZ;

/// The message of a system error without its number, in lower case for the middle of a sentence.
pub(crate) fn errno_message(error: &io::Error) -> String {
    let message = error.to_string();
    let words = message.split(" (os error ").next().unwrap_or(&message);
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Ignores the signal that ends a process which exceeds the file size limit (`ulimit -f`), so that the write fails instead.
pub(crate) fn ignore_sigxfsz() {
    // On failure the signal stays as it was; write anyway.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Whether the next write continues a line: a killed run may have left half a line. `false` if the file is not regular or not
/// readable.
pub(crate) fn continues_line(file: impl AsFd) -> bool {
    last_byte(file.as_fd()).is_ok_and(|last| last.is_some_and(|byte| byte != b'\n'))
}

/// The byte before the position of the next write, if any.
fn last_byte(file: impl AsFd) -> io::Result<Option<u8>> {
    let status = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let appends = rustix::fs::fcntl_getfl(&file)?.contains(OFlags::APPEND);
    let end = if appends { u64::try_from(status.st_size).unwrap_or(0) } else { rustix::fs::seek(&file, SeekFrom::Current(0))? };
    let Some(last) = end.checked_sub(1) else { return Ok(None) };
    // The descriptor may be open for writing only.
    let readable = File::open(format!("/dev/fd/{}", file.as_fd().as_raw_fd()))?;
    let mut byte = [0];
    Ok((readable.read_at(&mut byte, last)? == 1).then_some(byte[0]))
}

/// Whether standard output was closed when the process started. Set once, before `main`. The standard library opens `/dev/null`
/// instead, so it cannot be detected later, and a report would be lost silently.
static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Called by the dynamic loader (`.init_array`), before the standard library checks the descriptors.
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

/// Whether standard output was closed when the process started (`>&-`).
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
