//! Prints a text that is ready on standard output: completions and man pages. Reports have writers of their own.

use std::io::{self, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Exit, message};

/// Prints `text`. A reader that has left ends it silently; any other failure is told.
#[must_use]
pub fn print(text: &[u8]) -> Exit {
    match write(&mut io::stdout().lock(), text) {
        Ok(()) => Exit::Success,
        Err(error) => failed(&error),
    }
}

/// Tells of a failed write, and says what it means.
#[must_use]
pub fn failed(error: &io::Error) -> Exit {
    let exit = Exit::of_write(error);
    if exit == Exit::Output {
        message::error(&format!("cannot write to standard output: {error}"));
    }
    exit
}

/// Whether nobody can read standard output any more.
pub(super) fn is_deserted() -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0 && fds[0].revents().intersects(PollFlags::ERR))
}

fn write(out: &mut impl Write, text: &[u8]) -> io::Result<()> {
    out.write_all(text)?;
    out.flush()
}
