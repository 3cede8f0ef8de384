//! System calls that several commands need: error messages, the time, the names in a folder, the limits of
//! file sizes and of open files, whether a file ends within a line, and whether standard output is
//! open.
//!
//! It writes nothing.

#![cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "what runs before the standard library starts")
)]

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, SeekFrom, statat};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use signal_hook::consts::SIGXFSZ;

/// Locks a mutex. A poisoned lock is used as is, because a panic ends the program anyway.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The message of a system error without its number, in lower case for the middle of a sentence.
pub(crate) fn errno_message(error: &io::Error) -> String {
    let message = error.to_string();
    let words = message.split(" (os error ").next().unwrap_or(&message);
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

/// Seconds since 1970.
pub(crate) fn unix_now() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// The names in a folder, sorted, and what each is. The empty path is the current folder.
///
/// Not by `std::fs::read_dir`, which ends the process if the folder cannot be closed.
///
/// # Errors
///
/// The folder cannot be read to its end.
pub(crate) fn list_folder(folder: &Path) -> io::Result<Vec<(OsString, FileType)>> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let opened = rustix::fs::open(
        folder,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let mut entries = Vec::new();
    for entry in Dir::new(opened)? {
        let entry = entry?;
        let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Not every file system lists the types.
            FileType::Unknown => {
                let found = statat(CWD, folder.join(&name), AtFlags::SYMLINK_NOFOLLOW);
                found.map_or(FileType::Unknown, |found| {
                    FileType::from_raw_mode(found.st_mode)
                })
            }
            kind => kind,
        };
        entries.push((name, kind));
    }
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(entries)
}

/// Ignores the signal that ends a process which exceeds the file size limit (`ulimit -f`), so that
/// the write fails instead.
pub(crate) fn ignore_sigxfsz() {
    // On failure the signal stays as it was; write anyway.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// The limit of open files of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenFileLimit {
    /// The limit when the process started.
    inherited: Rlimit,
    /// The soft limit now; `None` if there is none.
    current: Option<u64>,
}

impl OpenFileLimit {
    /// Raises the soft limit to the hard one. It is as low as 1,024 by default for programs that
    /// call `select`.
    pub(crate) fn raise() -> Self {
        let inherited = getrlimit(Resource::Nofile);
        let raised = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: inherited.maximum,
                ..inherited
            },
        );
        // On failure the limit stays as it was.
        Self {
            inherited,
            current: if raised.is_ok() {
                inherited.maximum
            } else {
                inherited.current
            },
        }
    }

    /// The number of logs to keep open: half of the limit. The other half is for state, reports,
    /// alerts, folders that are listed, and files that must stay open because they have no name any
    /// more.
    pub(crate) fn open_logs(self) -> usize {
        self.current
            .and_then(|limit| usize::try_from(limit / 2).ok())
            .unwrap_or(usize::MAX)
    }

    /// Gives another process the limit that this one started with.
    pub(crate) fn restore_in(self, process: Pid) {
        // The process may have ended. A program may run with the higher limit too.
        let _ = prlimit(Some(process), Resource::Nofile, self.inherited);
    }
}

/// Whether the next write continues a line: a killed run may have left half a line. `false` if the
/// file is not regular or not readable.
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
    let end = if appends {
        u64::try_from(status.st_size).unwrap_or(0)
    } else {
        rustix::fs::seek(&file, SeekFrom::Current(0))?
    };
    let Some(last) = end.checked_sub(1) else {
        return Ok(None);
    };
    // The descriptor may be open for writing only.
    let readable = File::open(format!("/dev/fd/{}", file.as_fd().as_raw_fd()))?;
    let mut byte = [0];
    Ok((readable.read_at(&mut byte, last)? == 1).then_some(byte[0]))
}

/// Whether standard output was closed when the process started. Set once, before `main`. The
/// standard library opens `/dev/null` instead, so it cannot be detected later, and a report would
/// be lost silently.
static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Called by the dynamic loader (`.init_array`), before the standard library checks the
/// descriptors.
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

/// Checks that what is written to standard output is not lost.
///
/// # Errors
///
/// It was closed when the process started (`>&-`).
pub(crate) fn check_stdout() -> io::Result<()> {
    if STDOUT_WAS_CLOSED.load(Ordering::Relaxed) {
        Err(io::Error::other("it is closed"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_open_files_are_logs() {
        let inherited = Rlimit {
            current: Some(1024),
            maximum: None,
        };
        for (current, logs) in [
            (Some(1024), 512),
            (Some(40), 20),
            (Some(1), 0),
            (None, usize::MAX),
        ] {
            assert_eq!(OpenFileLimit { inherited, current }.open_logs(), logs);
        }
    }

    #[test]
    fn errno_messages_fit_into_a_sentence() {
        assert_eq!(
            errno_message(&io::Error::from_raw_os_error(libc::ENOSPC)),
            "no space left on device"
        );
        assert_eq!(errno_message(&io::Error::other("Élan lost")), "élan lost");
        assert_eq!(errno_message(&io::Error::other("")), "");
    }
}
