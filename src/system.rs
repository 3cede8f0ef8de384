//! What all writers of files need of the system: its words for a failure, its signal for a file that is too long, and whether a
//! file ends within a line.
//!
//! Writes nothing and advises nothing: what to do about a failure depends on what was to be written.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::fs::{FileType, OFlags, SeekFrom};
use signal_hook::consts::SIGXFSZ;

/// The system's words without their number, and in the middle of a sentence.
pub(crate) fn reason(error: &io::Error) -> String {
    let message = error.to_string();
    let words = message.split(" (os error ").next().unwrap_or(&message);
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Past a file size limit (`ulimit -f`) the system sends a signal that ends the process, unless someone listens; then
/// the write fails like any other.
pub(crate) fn survive_size_limit() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_fit_into_a_sentence() {
        assert_eq!(reason(&io::Error::from_raw_os_error(libc::ENOSPC)), "no space left on device");
        assert_eq!(reason(&io::Error::other("Élan lost")), "élan lost");
        assert_eq!(reason(&io::Error::other("")), "");
    }
}
